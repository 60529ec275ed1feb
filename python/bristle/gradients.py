"""A rollout as a function of parameters, with its derivatives: for optimizers that take arrays of NumPy.
``bristle.torch`` and ``bristle.jax`` make functions of torch and JAX of it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any

import numpy as np

from ._arguments import flag, names
from ._arrays import Floats, doubles, known, shown
from ._parameters import DIFFERENTIABLE, parameters_of
from .batch import Batch, Control, intervals
from .errors import ParameterError


class RolloutFunction:
    """The poses, twists and wrenches of a rollout as a function of named parameters.

    Every call puts all contacts of the batch to their start, changes the parameters and lets the same intervals pass. A
    call that is refused or interrupted changes nothing, but what :meth:`Batch.restore` forgets. Calls of several
    threads wait for each other. The function is that of stages solved to rounding, so that values and derivatives agree
    (docs/gradients.md); what stands in :meth:`Batch.rollout` on ``sensitivities`` holds here.

    >>> import bristle, bristle.gradients
    >>> scenario = bristle.Scenario.load("examples/push.toml", changes=["precision='f64'"])
    >>> batch = bristle.Batch(scenario, nsim=4, dt=0.05, device="cpu")
    >>> f = bristle.gradients.RolloutFunction(batch, 20, ["friction.mu_c", "body.mass"])
    >>> values, slopes = f.linearize(f.start())
    >>> slopes["pose"].shape                                # (4, 21, 3, 2)

    Args:
        batch: on the CPU in double precision. It belongs to the function from now on.
        nstep: number of intervals.
        parameters: names: of numbers that contacts are drawn with, as for :meth:`Batch.expand`, or of inputs. The value
            of ``"inputs.wrench.fx[2:5]"`` is what the control has in these intervals, of ``"inputs.wrench.fx"`` what
            it has in all.
        control: as of :meth:`Batch.rollout`; arrays are copied. An input that is a parameter in some intervals has its
            values in the others from here.
        record: which of ``pose``, ``twist`` and ``wrench`` are returned.
        every: intervals between samples.

    Raises:
        ParameterError: a name that is none or that is given twice, a number that follows from others, intervals that
            overlap, or an input without values in some intervals.
    """

    def __init__(
        self,
        batch: Batch,
        nstep: int,
        parameters: Iterable[str],
        control: Control | None = None,
        record: Iterable[str] = ("pose",),
        every: int = 1,
    ) -> None:
        if not isinstance(batch, Batch):
            raise ParameterError("batch", shown(batch), "a bristle.Batch")
        self._nstep, self._every = intervals(nstep, every)
        self._batch, self._names = batch, names("parameters", parameters)
        found = parameters_of(batch, self._names, self._nstep, "parameters")
        self._record = [known("record", name, DIFFERENTIABLE) for name in names("record", record)]
        given, maps = batch._controls(control, batch.nsim, self._nstep)
        if maps is not None:
            raise ParameterError("control", "'pressure'", "inputs alone: pressures have no derivatives here")
        self._control = {name: array.copy() for name, array in given}
        #: Columns of the parameters: expanded arrays, and inputs with their intervals.
        self._numbers: list[tuple[int, Floats]] = []
        self._inputs: list[tuple[int, str, slice]] = []
        for column, (name, held) in enumerate(found):
            entry = name.removeprefix("inputs.")
            if name.startswith("inputs.") and entry in batch.scenario.inputs:
                self._inputs.append((column, entry, slice(*(held or (0, self._nstep)))))
            elif name in self._names[:column]:
                raise ParameterError("parameters", f"{name} twice", "each number once")
            else:
                self._numbers.append((column, batch.expand(name)))
        self._check_intervals()
        self._lock = threading.Lock()

    def _check_intervals(self) -> None:
        """Makes the controls of inputs that are parameters arrays (nsim, nstep)."""
        shape = (self._batch.nsim, self._nstep)
        for entry in dict.fromkeys(entry for _, entry, _ in self._inputs):
            named = np.zeros(self._nstep, dtype=int)
            for _, other, held in self._inputs:
                named[held] += other == entry
            if named.max() > 1:
                raise ParameterError("parameters", f"inputs.{entry}", "intervals that do not overlap")
            if entry not in self._control and named.min() == 0:
                accepted = f"values of {entry} in the intervals that are no parameters"
                raise ParameterError("control", shown(list(self._control)), accepted)
            self._control[entry] = np.broadcast_to(self._control.get(entry, np.zeros((1, 1))), shape).copy()

    @property
    def batch(self) -> Batch:
        """The contacts."""
        return self._batch

    @property
    def parameters(self) -> list[str]:
        """The names of the parameters."""
        return list(self._names)

    @property
    def shapes(self) -> dict[str, tuple[int, int, int]]:
        """Shapes (nsim, samples, 3) of what is returned."""
        return dict.fromkeys(self._record, (self._batch.nsim, self._nstep // self._every + 1, 3))

    def start(self) -> Floats:
        """The present values (nsim, parameters): of an input the mean of its control, 0 without one."""
        out = np.empty((self._batch.nsim, len(self._names)))
        for column, values in self._numbers:
            out[:, column] = values
        for column, entry, held in self._inputs:
            out[:, column] = self._control[entry][:, held].mean(axis=1)
        return out

    def __call__(self, values: Any, solved: bool = True) -> dict[str, Floats]:
        """The rollout of parameters.

        Args:
            values: (nsim, parameters), or (parameters,) for all contacts.
            solved: whether stages are solved to rounding, so that values go with their derivatives. A rollout as of
                :meth:`Batch.rollout` is within the error of a step and takes a quarter of the time: enough to compare
                candidates.

        Returns:
            Arrays (nsim, nstep/every + 1, 3) by the names in ``record``.

        Raises:
            ParameterError, ScenarioError: a value out of range.
        """
        out = self._run(values, [] if flag("solved", solved) else None)
        return {name: out[name] for name in self._record}

    def linearize(self, values: Any) -> tuple[dict[str, Floats], dict[str, Floats]]:
        """The rollout of parameters, and its derivatives.

        Args:
            values: as for a call.

        Returns:
            What a call returns, and arrays (nsim, nstep/every + 1, 3, parameters) of derivatives by the same names.

        Raises:
            ParameterError, ScenarioError: a value out of range, or a parameter without derivatives.
        """
        out = self._run(values, self._names)
        return {name: out[name] for name in self._record}, {name: out[f"d{name}"] for name in self._record}

    def _run(self, values: Any, sensitivities: list[str] | None) -> dict[str, Floats]:
        shape = (self._batch.nsim, len(self._names))
        array = doubles("values", values)
        if array.shape not in (shape, shape[1:]):
            raise ParameterError("values", shown(array), f"an array of shape {shape} or {shape[1:]}")
        array = np.broadcast_to(array, shape)
        with self._lock:
            control = self._control | {entry: self._control[entry].copy() for _, entry, _ in self._inputs}
            for column, entry, held in self._inputs:
                control[entry][:, held] = array[:, column, None]
            before = [(numbers, numbers.copy()) for _, numbers in self._numbers]
            state = self._batch.save() if self._batch._core.started() else None
            is_reset = False
            try:
                for column, numbers in self._numbers:
                    numbers[:] = array[:, column]
                self._batch.reset()
                is_reset = True
                out = self._batch.rollout(self._nstep, control, self._record, self._every, sensitivities=sensitivities)
            except BaseException:
                for numbers, old in before:
                    numbers[:] = old
                if is_reset:
                    try:
                        self._batch.reset()
                    finally:
                        if state is not None:
                            self._batch.restore(state)
                raise
            self._control = control
            return out

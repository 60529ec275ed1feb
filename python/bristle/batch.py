"""Contacts that live on an engine, driven from Python."""

from __future__ import annotations

import contextlib
import math
import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import DTypeLike, NDArray

from . import _bristle
from ._arguments import flag, function, integer
from ._arguments import names as names_of
from ._arrays import Floats, as_array, doubles, indices, known, once, over, shown
from ._parameters import DIFFERENTIABLE, parameters_of
from .errors import ParameterError
from .scenario import Scenario, checked

Control = Mapping[str, Any]
Snapshot = _bristle.Snapshot

#: Inputs that are set together, by one array with a last axis of as many numbers.
_GROUPS = {
    "wrench": ("wrench.fx", "wrench.fy", "wrench.tau"),
    "twist": ("twist.vx", "twist.vy", "twist.w"),
    "gravity": ("gravity.0", "gravity.1"),
    "anchor": ("anchor.0", "anchor.1"),
    "surface": ("surface.vx", "surface.vy", "surface.w"),
    **{f"patches.{k}.surface": tuple(f"patches.{k}.surface.{name}" for name in ("vx", "vy", "w")) for k in range(16)},
}
_WIDTHS = dict(_bristle.QUANTITIES)
#: Bits of a status word after which a contact has failed.
_FAILED = 1 | 2 | 8
_MOST = 10_000_000
#: Samples that a rollout records at once, at most.
_AT_ONCE = 65


class Engine(NamedTuple):
    """The engine of a batch."""

    engine: str
    """``"cpu"`` or ``"gpu"``."""
    precision: str
    """``"f32"`` or ``"f64"``, of the bristles."""
    adapter: str
    """The processor or the GPU."""
    driver: str
    """Its driver and version; empty on the CPU."""


class Response(NamedTuple):
    """The friction under a twist."""

    wrench: Floats
    """(nsim, 3): friction wrench on the moving side at the patch origin, patch frame [N, N, N m]."""
    gain: Floats
    """(nsim, 3, 3): its derivative over the twist, one row for each component of the wrench [N s/m, N s/rad;
    N s, N m s/rad]."""


class Batch:
    """Contacts of a scenario on an engine, each at a time of its own.

    Contact k is contact k of the scenario in every batch. Its result depends on its own inputs, calls and
    reads, not on ``nsim`` or its neighbours, and has the same bits as in Rust on that engine, and as from the
    command line with samples at the same times. A batch adds up ``dt``, while the command line has multiples of
    ``record_every``. Both are the same times for a binary fraction, such as 1/128. With 0.01 they differ by up to
    some 1e-16 s, and results by rounding: of the bristles in single precision, if they have that.

    A batch returns new float64 arrays of shape (nsim, ..), which keep their numbers when the batch goes on;
    the state itself stays on the device. Reading a sample ends an integration step, so that the last bits
    depend on the times of reads. Calls release the GIL.

    A refused call changes nothing: all arguments are checked before the first contact is set or advanced,
    ``mu_c`` and ``mu_s`` as the new pair. Ctrl-C ends a call within about 0.2 s. An interrupted step has
    advanced all of its contacts or none. After an interrupted rollout all contacts are at the end of the
    same interval, with the inputs of that interval; :attr:`time` says which.

    **control** is a dictionary by the names in :attr:`Scenario.inputs`: ``normal_force`` [N, of one pad],
    ``wrench.fx``, ``wrench.fy`` [N], ``wrench.tau`` [N m], ``gravity.0``, ``gravity.1`` [m/s^2],
    ``twist.vx``, ``twist.vy`` [m/s], ``twist.w`` [rad/s], ``surface.vx``, ``surface.vy`` [m/s],
    ``surface.w`` [rad/s], ``mu_c``, ``mu_s`` [-]; or ``wrench``, ``twist``, ``surface`` (last axis 3) and
    ``gravity`` (last axis 2) as a whole; or ``pressure`` (last axes rows, columns; top row first, any unit), if
    the batch was made with ``frames``. Several patches with inputs of their own have
    ``patches.0.normal_force`` [N, of one pad], ``patches.0.surface.vx``, ``patches.0.surface.vy`` [m/s],
    ``patches.0.surface.w`` [rad/s] and their like for every patch, or ``patches.0.surface`` as a whole. A value
    holds until another is set. Arrays may have any real type, contiguous or not; all numbers must be finite.

    Args:
        scenario: the contacts are drawn from it, and step by its ``step`` and ``precision``.
        nsim: number of contacts, 1 to 1e7; the scenario's ``contacts`` if None.
        dt: the control interval [s], 1e-9 to 1e6: what one :meth:`step` advances.
        device: ``"cpu"``, ``"gpu"`` (any adapter, a software one too), or ``"auto"``: a hardware GPU, else the CPU.
        seed: of the draws, 0 to 2^63 - 1; the scenario's own if None.
        frames: whether ``pressure`` may be set. Every cell of the grid then has a bristle.

    Raises:
        ParameterError: an argument out of range.
        ScenarioError: a drawn value out of range.
        OutOfMemoryError: more contacts than there is memory for.
        DeviceError: a device that is not there, or a GPU in a child that was forked.
    """

    __slots__ = (
        "__weakref__",
        "_core",
        "_device",
        "_dt",
        "_expanded",
        "_frames",
        "_nsim",
        "_scenario",
        "_seed",
    )

    def __init__(
        self,
        scenario: Scenario,
        nsim: int | None = None,
        dt: float = 0.01,
        device: str = "auto",
        seed: int | None = None,
        *,
        frames: bool = False,
    ) -> None:
        self._scenario = checked(scenario)
        self._nsim = integer("nsim", scenario.contacts if nsim is None else nsim, 1, _MOST)
        self._dt = _interval("dt", dt)
        self._seed = integer("seed", scenario.seed if seed is None else seed, 0, 2**63 - 1)
        self._device = known("device", device, ("cpu", "gpu", "auto"))
        self._frames = flag("frames", frames)
        self._expanded: dict[str, Floats] = {}
        with _hushed():
            self._core = _bristle.Core(scenario._core, self._nsim, device, self._seed, self._frames)

    @property
    def scenario(self) -> Scenario:
        """The scenario of the contacts."""
        return self._scenario

    @property
    def nsim(self) -> int:
        """Number of contacts."""
        return self._nsim

    def __len__(self) -> int:
        return self._nsim

    @property
    def dt(self) -> float:
        """The control interval [s]."""
        return self._dt

    @property
    def engine(self) -> Engine:
        """The engine of the batch."""
        return Engine(*self._core.engine())

    @property
    def engine_time(self) -> float:
        """Wall time that the calls so far have spent in the engine [s]; the rest of a loop's time is Python's."""
        return self._core.busy()

    # Parameters and starts.

    def expand(self, name: str) -> Floats:
        """A parameter of every contact as a live array, to be changed before the first step or a reset.

        A contact takes its value when it starts: at the first step, read or save of the batch, and at each
        :meth:`reset` without a seed.

        Args:
            name: dotted path of a number of the scenario, such as ``"friction.mu_c"`` or ``"body.mass"``; also
                ``"patch.shape"`` and ``"patch.frame"`` where a contact draws one of several.

        Returns:
            The array (nsim,), float64, in the unit of the field; the same one at every call.

        Raises:
            ParameterError: no such parameter, or one that follows from others (``friction.mu_s`` where
                ``mu_s_over_mu_c`` is drawn).
        """
        if name not in self._expanded:
            names = (n for n, _ in self._scenario._core.parameters(0, self._seed))
            self._expanded[name] = self._core.expand(known("name", name, names))
        return self._expanded[name]

    def parameter(self, name: str) -> Floats:
        """The present values (nsim,), float64, of a parameter, as a copy; derived parameters too.

        Args:
            name: as in :meth:`expand`.
        """
        names = (n for n, _ in self._scenario._core.parameters(0, self._seed))
        return self._core.parameter(known("name", name, names))

    def reset(self, ids: Any = None, seed: Any = None, *, pose: Any = None, twist: Any = None) -> None:
        """Puts contacts back to their start: time 0, with the inputs of the scenario. Other contacts are not touched.

        A contact that has another number of cells than before needs another place: then the batch is made anew, which
        takes as long as at first, and the others go on with the same bits.

        Args:
            ids: indices, or a mask of nsim booleans; all if None.
            seed: draws the parameters of these contacts anew, expanded ones as well: an integer, or an array (ids,) of
                integers, one for each. Without a seed they keep their parameters, except those that an expanded array
                changes.
            pose: (3,) or (ids, 3), the initial pose [m, m, rad] in place of the one that is drawn. The contacts keep
                it in later resets without a seed.
            twist: (3,) or (ids, 3), the initial twist of a free body at its centre of mass [m/s, m/s, rad/s], likewise.

        Raises:
            ParameterError, ScenarioError: an index or a value out of range; an index that is given twice, with a seed,
                a pose or a twist for each. Nothing is reset then.
        """
        chosen = indices(ids, self._nsim)
        rows = self._nsim if chosen is None else len(chosen)
        seeds = None if seed is None else _seeds(seed, rows)
        given = [*self._initial("pose", pose, rows), *self._initial("twist", twist, rows)]
        if max(np.ndim(seed), np.ndim(pose) - 1, np.ndim(twist) - 1) > 0:
            once(chosen)
        self._core.reset(chosen, seeds, given, self._parameters())
        if seeds is not None or given:
            at: Any = slice(None) if chosen is None else chosen
            for name, array in self._expanded.items():
                array[at] = self._core.parameter(name, chosen)

    def _initial(self, name: str, value: Any, rows: int) -> list[tuple[str, Floats]]:
        """Columns (rows,) of an initial pose or twist, by the names of the parameters."""
        if value is None:
            return []
        if name == "twist" and "twist.vx" in self._scenario.inputs:
            raise ParameterError(name, shown(value), "None: the twist of these contacts is an input")
        array = np.broadcast_to(over(name, value, rows, 1, (3,))[:, 0, :], (rows, 3))
        return [(f"initial.{name}.{i}", np.ascontiguousarray(array[:, i])) for i in range(3)]

    # Time.

    def step(self, control: Control | None = None, ids: Any = None) -> None:
        """Sets inputs and advances one interval ``dt``.

        Args:
            control: inputs by name, see the class: a number, or an array (nsim,) (with ``ids`` as long as
                these), with further axes for ``wrench``, ``twist``, ``surface``, ``gravity`` and ``pressure``.
            ids: indices or a mask: only these contacts are set and advanced, each once.

        Raises:
            ParameterError: a name, shape, type or value that is not accepted, or an index that is given twice, with
                values for each; then nothing is set or advanced.
            KeyboardInterrupt: Ctrl-C; then either all of the contacts are set and advanced, or none.
            BusyError: the batch is in another call.
        """
        chosen = indices(ids, self._nsim)
        rows = self._nsim if chosen is None else len(chosen)
        controls, maps = self._controls(control, rows, 1)
        if any(len(array) > 1 for array in _all(controls, maps)):
            once(chosen)
        self._start()
        self._core.step(self._dt, controls, maps, chosen)

    def rollout(
        self,
        nstep: int,
        control: Control | None = None,
        record: Iterable[str] = ("pose", "wrench"),
        every: int = 1,
        out: MutableMapping[str, Floats] | None = None,
        progress: Callable[[int, int], object] | None = None,
        sensitivities: Iterable[str] | None = None,
    ) -> dict[str, Floats]:
        """Advances all contacts by ``nstep`` intervals and records samples, the present one first.

        With ``sensitivities`` there are also the derivatives of the recorded pose, twist and wrench over these
        parameters (docs/gradients.md): the samples are then those of stages solved to rounding, of which these are
        the derivatives, and the first is under the first inputs. They differ from the samples of a rollout without,
        whose stages end at a Newton step below 1e-4 m/s, by less than the error of a step; the contacts go on from
        the end of the latter. Contacts must be at their start, on the CPU, with ``precision = "f64"``.

        Args:
            nstep: number of intervals, >= 1.
            control: inputs by name, see the class: a number, an array (nsim,), (nstep,) or (nsim, nstep), with further
                axes for ``wrench``, ``twist``, ``surface``, ``gravity`` and ``pressure``. Value j holds from the start
                of interval j. Where nsim = nstep, write (nsim, 1) or (1, nstep).
            record: names of ``pose``, ``twist``, ``wrench``, ``slip``, ``near_limit``, ``normal_force``, ``time``.
            every: intervals between samples; ``nstep`` is a multiple of it.
            out: arrays to write to, by the names in ``record``: float64, C-contiguous, of the shapes below, none of
                which shares memory with another or with ``control``.
            progress: called as ``progress(done, nstep)`` after every few samples, and at the end; an
                exception in it ends the rollout.
            sensitivities: names of parameters. A number that the contacts are drawn with (a name for :meth:`expand`)
                moves all that the scenario makes of it: ``"friction.mu_c"`` moves ``mu_s`` where ``mu_s_over_mu_c`` is
                given, and ``"body.mass"`` the inertia of a rectangle. Numbers that follow from others
                (``"friction.mu_s"``, ``"body.inertia"``) move alone, and ``"patch.scale"`` is a factor of all lengths
                of the patch, at 1. An input moves by a constant, ``"inputs.normal_force"``, in an interval,
                ``"inputs.wrench.fx[3]"``, or in several, ``"inputs.wrench.fx[2:5]"``.

        Returns:
            Arrays (nsim, nstep/every + 1, 3) of pose, twist and wrench, (nsim, nstep/every + 1) of the
            others, float64; the arrays of ``out``, if given. Units and frames are those of the properties.
            With ``sensitivities`` also ``dpose``, ``dtwist`` and ``dwrench`` of what is recorded,
            (nsim, nstep/every + 1, 3, parameters), over the units of the parameters, NaN for a number that a contact
            does not have; and ``unconverged`` (nsim,), always a new array: how many stages have no solution to
            rounding, as at a kink of the friction law, after which the derivatives of the contact may be off.

        Raises:
            ParameterError: as :meth:`step`, in any interval; derivatives that there are none of. Then nothing is set,
                advanced or written.
            KeyboardInterrupt: Ctrl-C. After it, and after an exception in ``progress``, all contacts are at
                the end of the same interval, as if it had been the last. With ``sensitivities`` the contacts that
                are being stepped are finished first.
            OutOfMemoryError: the arrays, or samples recorded on the way, need more memory than there is.
        """
        nstep, every = intervals(nstep, every)
        recorded = dict.fromkeys(known("record", name, _WIDTHS) for name in names_of("record", record))
        progress = function("progress", progress, "a function of two integers")
        parameters = None if sensitivities is None else parameters_of(self, sensitivities, nstep, "sensitivities")
        controls, maps = self._controls(control, self._nsim, nstep)
        samples = nstep // every + 1
        over_all = [name for name in recorded if name in DIFFERENTIABLE and parameters is not None]
        shapes = {name: (self._nsim, samples, *((_WIDTHS[name],) if _WIDTHS[name] > 1 else ())) for name in recorded}
        shapes |= {f"d{name}": (self._nsim, samples, 3, len(parameters or [])) for name in over_all}
        numbers = sum(math.prod(shape) for shape in shapes.values()) if out is None else 0
        # Samples are recorded some at a time before they go to their arrays; derivatives all at once.
        kept = 11 * min(samples, _AT_ONCE) if parameters is None else (11 + 9 * len(parameters)) * samples
        _bristle.check_memory(f"{samples} samples of {self._nsim} contacts", 8 * (numbers + self._nsim * kept))
        made = {name: np.empty(of) if out is None else _given(out, name, of) for name, of in shapes.items()}
        if out is not None:
            _apart(made, _all(controls, maps))
        self._start()
        flat = [(name, made[name].reshape(self._nsim, samples, -1)) for name in recorded]
        slopes = None
        if parameters is not None:
            made["unconverged"] = np.empty(self._nsim)
            slopes = (parameters, [(name, made[f"d{name}"]) for name in over_all], made["unconverged"])
        self._core.rollout(self._dt, nstep, every, controls, maps, flat, progress, slopes)
        return made

    # What the contacts are.

    @property
    def time(self) -> Floats:
        """(nsim,): time of each contact since its start [s]."""
        return self._read("time")[:, 0]

    @property
    def pose(self) -> Floats:
        """(nsim, 3): pose of the centre of mass [m, m, rad], of the patch if its twist is prescribed; NaN
        after a failure, like all samples.
        """
        return self._read("pose")

    @property
    def twist(self) -> Floats:
        """(nsim, 3): twist at the centre of mass [m/s, m/s, rad/s], of the patch origin if it is prescribed."""
        return self._read("twist")

    @property
    def wrench(self) -> Floats:
        """(nsim, 3): friction wrench of one pad on the body, at the patch origin in the patch frame [N, N, N m], under
        the inputs at the end of the last step.
        """
        return self._read("wrench")

    @property
    def slip(self) -> Floats:
        """(nsim,): share of the normal force on bristles that slip, each faster than 1e-5 m/s [-]: 0 sticks, 1 slides
        everywhere.
        """
        return self._read("slip")[:, 0]

    @property
    def near_limit(self) -> Floats:
        """(nsim,): share of the normal force on bristles near their limit, whether they slip or not [-]:
        their length is above the share ``s_ba`` of the limit (default 0.9).
        """
        return self._read("near_limit")[:, 0]

    @property
    def normal_force(self) -> Floats:
        """(nsim,): normal force of one pad at the end of the last step [N]."""
        return self._read("normal_force")[:, 0]

    @property
    def status(self) -> NDArray[np.uint32]:
        """(nsim,), uint32: status words, 0 if all is well. Bits: 1 a velocity, 2 a friction force that is not finite,
        8 too many steps in a call (after one of these the contact has failed), 4 some steps less exact than they
        should be.
        """
        self._start()
        return self._core.status()[0]

    @property
    def failed(self) -> NDArray[np.bool_]:
        """(nsim,), bool: contacts that have failed. ``b.reset(b.failed)`` makes them clean again."""
        failed: NDArray[np.bool_] = (self.status & _FAILED) != 0
        return failed

    @property
    def steps(self) -> NDArray[np.uint64]:
        """(nsim,), uint64: integration steps that each contact has taken."""
        self._start()
        return self._core.status()[1]

    @property
    def left(self) -> NDArray[np.bool_]:
        """(nsim,), bool: contacts that have left, as ``stop_when`` of the scenario says, judged after every step. They
        stay where they are until they are reset.
        """
        return self._core.left()

    @overload
    def read(  # type: ignore[overload-overlap]
        self, names: str, ids: Any = None, out: MutableMapping[str, Any] | None = None, dtype: DTypeLike = ...
    ) -> NDArray[Any]: ...
    @overload
    def read(
        self, names: Iterable[str], ids: Any = None, out: MutableMapping[str, Any] | None = None, dtype: DTypeLike = ...
    ) -> dict[str, NDArray[Any]]: ...
    def read(
        self,
        names: str | Iterable[str],
        ids: Any = None,
        out: MutableMapping[str, Any] | None = None,
        dtype: DTypeLike = np.float32,
    ) -> NDArray[Any] | dict[str, NDArray[Any]]:
        """Observations of contacts now, the same numbers as the data sets have at the same times (docs/datasets.md).

        Quantities of :meth:`rollout` (``pose``, ``twist``, ``wrench``, ``slip``, ``near_limit``, ``normal_force``,
        ``time``), and

        - ``displacement`` [m]: how far the body's point that was at the centre of pressure has moved from its start, in
          the world (in data sets relative to the surface, where that moves); ``rotation`` [rad]: how far the body has
          turned;
        - ``since_slip`` [s]: time since a read, or a sample of a rollout, last saw bristles with 99 % of the normal
          force slip; 0 while they do, -1 if none has;
        - ``margin`` [-]: what is left to slip, ``1 - 1/k``, where ``k`` times the wrench makes the patch slip;
        - ``tactile`` [N]: normal force on every cell (rows, columns), bottom row first;
        - ``shear`` [N]: friction of every cell on the body (rows, columns, 2), in the axes of the patch;
          ``cell_nearness`` [-]: length of every bristle over its limit (rows, columns); of grids of bristles alone;
        - ``patch_wrench`` [N, N, N m]: friction of each of several patches on the body (patches, 3), at the origin of
          the patch in the axes of the whole; ``patch_normal_force`` [N], ``patch_slip`` [-], ``patch_near_limit`` [-]
          (patches,): its normal force, and the shares of that as ``slip`` and ``near_limit`` have them;
          ``patch_margin`` [-] (patches,): what is left to slip of each patch alone.

        All are NaN after a failure.

        Args:
            names: one name, or several.
            ids: indices or a mask; all contacts if None.
            out: arrays to write to, by name: C-contiguous, float32 or float64, of the shapes (ids, ..) above, none of
                which shares memory with another.
            dtype: float32 or float64, of new arrays.

        Returns:
            The array of one name, or a dictionary of arrays (ids, ..).

        Raises:
            ParameterError: a name, an index or an array that is not accepted, images of contacts with grids of several
                sizes, ``shear`` of a reduced model, or ``patch_wrench`` of contacts with one patch.
        """
        chosen = indices(ids, self._nsim)
        rows = self._nsim if chosen is None else len(chosen)
        known_names = [*_WIDTHS, *_bristle.OBSERVATIONS]
        listed = [known("names", name, known_names) for name in names_of("names", names)]
        kind = _kind(dtype)
        made: dict[str, NDArray[Any]] = {}
        nx, ny = self._core.cells() if {"tactile", "shear", "cell_nearness"} & set(listed) else (0, 0)
        images: dict[str, tuple[int, ...]] = {"tactile": (ny, nx), "cell_nearness": (ny, nx), "shear": (ny, nx, 2)}
        of_patches = {"patch_wrench", "patch_normal_force", "patch_slip", "patch_near_limit", "patch_margin"}
        if of_patches & set(listed):
            patches = self._core.patches()
            images |= {name: (patches, 3) if name == "patch_wrench" else (patches,) for name in of_patches}
        for name in listed:
            width = _WIDTHS.get(name, 1)
            shape = (rows, *images.get(name, (width,) if width > 1 else ()))
            _bristle.check_memory(f"{name} of {rows} contacts", kind.itemsize * math.prod(shape))
            made[name] = np.empty(shape, kind) if out is None else _given(out, name, shape, (np.float32, np.float64))
        if out is not None:
            _apart(made, [])
        self._start()
        if rows > 0:
            self._core.observe(chosen, [(name, array.reshape(rows, -1)) for name, array in made.items()])
        return made[listed[0]] if isinstance(names, str) else made

    def bristles(self, contact: int) -> Floats:
        """(bristles, 2): states ``zeta = sigma0 z`` [-] of the bristles of a contact, in the axes of the patch, in the
        order of the cells with pressure, bottom row first; of a reduced model two rows, [zeta_x, zeta_y], [zeta_3, 0].
        """
        number = integer("contact", contact, 0, self._nsim - 1)
        self._start()
        return self._core.bristles(number)

    def respond(self, twist: Any, dt: float | None = None) -> Response:
        """The friction if the patches moved with a twist for some time, and its derivative. No state changes.

        It computes one implicit stage over the whole time, under the inputs at the end of the last step. A
        simulator that integrates bodies itself adds the wrench and, with the gain, stays stable in steps of
        2 ms (docs/closed-loops.md).

        Args:
            twist: (3,) or (nsim, 3), at the patch origin in the patch frame [m/s, m/s, rad/s], relative to a
                surface that moves.
            dt: the time [s]; the batch's own if None.

        Returns:
            :class:`Response`; NaN for contacts that have failed.
        """
        twists = over("twist", twist, self._nsim, 1, (3,)).reshape(-1, 3)
        if len(twists) != self._nsim:
            twists = np.ascontiguousarray(np.broadcast_to(twists, (self._nsim, 3)))
        over_time = self._dt if dt is None else _interval("dt", dt)
        self._start()
        return Response(*self._core.respond(twists, over_time))

    # States.

    def save(self) -> Snapshot:
        """The state of all contacts: bristles, times and inputs. It can be pickled.

        Raises:
            OutOfMemoryError: more memory than there is.
        """
        self._start()
        return self._core.save()

    def restore(self, snapshot: Snapshot) -> None:
        """Restores a state of all contacts that this batch, or one of the same contacts, has saved. On the
        engine that saved it they go on with the same bits, on another engine within rounding. What the batch has
        noted of their past is no part of a state: ``since_slip`` begins anew, at -1 for contacts that do not slip,
        and :attr:`left` is judged anew from where they are, so that one that has left by ``stop_when.slip_for``
        goes on.

        Raises:
            ParameterError: another number of contacts, another model, or another number of cells.
        """
        if not isinstance(snapshot, _bristle.Snapshot):
            raise ParameterError("snapshot", shown(snapshot), "what Batch.save gave")
        self._start()
        self._core.restore(snapshot)

    def copy(self, source: int, targets: Any) -> None:
        """Copies state, time and inputs of one contact to others, which keep their parameters, to branch from
        one state.

        Args:
            source: index of the contact.
            targets: indices or a mask of those that take its state.

        Raises:
            ParameterError: contacts of another model or another number of cells.
        """
        chosen = indices(targets, self._nsim, "targets")
        if chosen is None:
            raise ParameterError("targets", "None", "indices, or a mask of nsim booleans")
        number = integer("source", source, 0, self._nsim - 1)
        self._start()
        self._core.copy(number, chosen)

    def __reduce__(self) -> tuple[Any, ...]:
        made = (self._scenario, self._nsim, self._dt, self._device, self._seed, self._frames)
        expanded = {name: array.copy() for name, array in self._expanded.items()}
        return _revived, (made, self._core.origins(), expanded, self._core.save() if self._core.started() else None)

    def __copy__(self) -> Batch:
        """Another batch with the same contacts in the same state, as after :meth:`restore`."""
        revive, arguments = self.__reduce__()
        copied: Batch = revive(*arguments)
        return copied

    def __deepcopy__(self, memo: Any) -> Batch:
        return self.__copy__()

    def __repr__(self) -> str:
        return f"<bristle.Batch of {self._nsim} contacts of {self._scenario.name!r}, dt = {self._dt} s>"

    # Between Python and the core.

    def _parameters(self) -> list[tuple[str, Floats]]:
        return list(self._expanded.items())

    def _start(self) -> None:
        if not self._core.started():
            self._core.start(self._parameters())

    def _read(self, name: str) -> Floats:
        self._start()
        return self._core.read(name)

    def _controls(
        self, control: Control | None, rows: int, columns: int
    ) -> tuple[list[tuple[str, Floats]], Floats | None]:
        """Controls as arrays [contacts or 1, intervals or 1], and pressure maps with the bottom row first."""
        controls: list[tuple[str, Floats]] = []
        maps = None
        if control is None:
            return controls, maps
        if not isinstance(control, Mapping):
            raise ParameterError("control", shown(control), 'a dictionary such as {"normal_force": 2.0}')
        for name, value in control.items():
            if name == "pressure":
                maps = self._maps(value, rows, columns)
            elif name in _GROUPS:
                members = _GROUPS[name]
                self._known(members[0], name)
                array = over(f"control.{name}", value, rows, columns, (len(members),))
                controls += [(member, np.ascontiguousarray(array[:, :, i])) for i, member in enumerate(members)]
            else:
                self._known(name, name)
                controls.append((name, over(f"control.{name}", value, rows, columns, ())[:, :, 0]))
        return controls, maps

    def _known(self, member: str, name: str) -> None:
        names = self._scenario.inputs
        if member not in names:
            groups = [group for group, members in _GROUPS.items() if members[0] in names]
            known("control", name, [*names, *groups, *(["pressure"] if self._frames else [])])

    def _maps(self, value: Any, rows: int, columns: int) -> Floats:
        if not self._frames:
            raise ParameterError("control", "'pressure'", "a batch that was made with frames=True")
        nx, ny = self._core.cells()
        array = over("control.pressure", value, rows, columns, (ny, nx))
        turned = array.reshape(*array.shape[:2], ny, nx)[:, :, ::-1, :]
        return np.ascontiguousarray(turned).reshape(array.shape)


def _revived(
    made: tuple[Any, ...],
    origins: tuple[list[int], list[list[tuple[str, float]]]],
    expanded: dict[str, Floats],
    snapshot: Snapshot | None,
) -> Batch:
    """The batch that has been pickled."""
    scenario, nsim, dt, device, seed, frames = made
    batch = Batch(scenario, nsim, dt, device, seed, frames=frames)
    batch._core.set_origins(*origins)
    if snapshot is not None:
        batch._start()
        batch._core.restore(snapshot)
    for name, array in expanded.items():
        batch.expand(name)[:] = array
    return batch


@contextlib.contextmanager
def _hushed() -> Iterator[None]:
    """Names a folder without a display for a while. Mesa calls it an error on stderr if there is none."""
    name = "XDG_RUNTIME_DIR"
    if name in os.environ or not sys.platform.startswith("linux"):
        yield
        return
    os.environ[name] = tempfile.gettempdir()
    try:
        yield
    finally:
        os.environ.pop(name, None)


def _seeds(seed: Any, rows: int) -> NDArray[np.uint64]:
    """A seed for all, or one for each."""
    accepted = f"an integer, or an array of {rows} integers"
    array = as_array("seed", seed, accepted)
    if array.ndim == 0:
        return np.array([integer("seed", seed, 0, 2**63 - 1)], np.uint64)
    # Without items there is no type.
    if array.shape != (rows,) or (rows > 0 and array.dtype.kind not in "iu"):
        raise ParameterError("seed", shown(array), accepted)
    low, high = (0, 0) if array.size == 0 else (int(array.min()), int(array.max()))
    if low < 0 or high > 2**63 - 1:
        raise ParameterError("seed", low if low < 0 else high, "integers from 0 to 2^63 - 1")
    return array.astype(np.uint64)


def intervals(nstep: Any, every: Any) -> tuple[int, int]:
    """The numbers of intervals of a rollout, and between its samples."""
    nstep, every = integer("nstep", nstep, 1, 2**53), integer("every", every, 1, 2**53)
    if nstep % every:
        raise ParameterError("every", every, f"a divisor of nstep = {nstep}")
    return nstep, every


def _interval(name: str, value: Any) -> float:
    array = doubles(name, value)
    is_number = array.ndim == 0 and np.asarray(value).dtype != bool
    number = float(array) if is_number else math.nan
    if not 1e-9 <= number <= 1e6:
        raise ParameterError(name, shown(value), "a time from 1e-9 to 1e6 [s]")
    return number


def _given(
    out: MutableMapping[str, Any], name: str, shape: tuple[int, ...], kinds: tuple[Any, ...] = (np.float64,)
) -> NDArray[Any]:
    if not isinstance(out, Mapping):
        raise ParameterError("out", shown(out), "a dictionary of arrays by the names of what they take")
    array = out.get(name)
    types = " or ".join(np.dtype(kind).name for kind in kinds)
    accepted = f"a C-contiguous {types} array of shape {shape} that can be written to"
    if not isinstance(array, np.ndarray):
        raise ParameterError(f"out.{name}", shown(array), accepted)
    if array.shape != shape or array.dtype not in kinds or not (array.flags.c_contiguous and array.flags.writeable):
        raise ParameterError(f"out.{name}", shown(array), accepted)
    return array


def _all(controls: list[tuple[str, Floats]], maps: Floats | None) -> list[Floats]:
    return [array for _, array in controls] + ([] if maps is None else [maps])


def _apart(made: Mapping[str, NDArray[Any]], controls: list[Floats]) -> None:
    """Refuses arrays to write to that share memory with each other, or with controls."""
    written = list(made.items())
    for k, (name, array) in enumerate(written):
        for other, second in (*written[k + 1 :], *(("control", array) for array in controls)):
            # They are contiguous, so that their bounds say it.
            if np.may_share_memory(array, second):
                raise ParameterError(f"out.{name}", f"an array that shares memory with {other}", "memory of its own")


def _kind(dtype: Any) -> np.dtype[Any]:
    """The type of new arrays. NumPy takes None for float64."""
    with contextlib.suppress(TypeError, ValueError):
        kind: np.dtype[Any] = np.dtype(dtype)
        if kind in (np.float32, np.float64):
            return kind
    raise ParameterError("dtype", shown(dtype), "float32 or float64")

"""Rollouts that JAX differentiates.

>>> import bristle, bristle.jax, jax
>>> jax.config.update("jax_enable_x64", True)
>>> scenario = bristle.Scenario.load("examples/push.toml", changes=["precision='f64'"])
>>> batch = bristle.Batch(scenario, nsim=4, dt=0.05, device="cpu")
>>> run = bristle.jax.rollout(batch, 20, ["friction.mu_c", "body.mass"])
>>> jax.grad(lambda x: run(x)["pose"][:, -1, 0].sum())(jax.numpy.array([0.4, 0.5]))

It needs the package ``jax``. docs/gradients.md says what the derivatives are, and where they mislead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .batch import Batch, Control
from .errors import ParameterError
from .gradients import RolloutFunction


def rollout(
    batch: Batch,
    nstep: int,
    parameters: Iterable[str],
    control: Control | None = None,
    record: Iterable[str] = ("pose",),
    every: int = 1,
) -> Callable[[Any], dict[str, jax.Array]]:
    """A rollout as a function of JAX, with first derivatives in both modes, also under ``jit`` and ``vmap``.

    It has a rule for derivatives forward (``custom_jvp``). They are linear in the change of the parameters, so that
    JAX turns the rule around for gradients; either costs as much as
    :meth:`bristle.gradients.RolloutFunction.linearize`. ``vmap`` calls the rollout for one after the other: contacts
    that may run together belong in the batch.

    Args:
        batch: as of :class:`bristle.gradients.RolloutFunction`, like the others.
        nstep: number of intervals.
        parameters: their names.
        control: inputs that are no parameters.
        record: which of ``pose``, ``twist`` and ``wrench`` are returned.
        every: intervals between samples.

    Returns:
        A function of an array (nsim, parameters), or (parameters,) for all contacts, that returns arrays
        (nsim, nstep/every + 1, 3) by the names in ``record``, of the type of its argument: single precision unless
        ``jax_enable_x64`` is set. It computes on the CPU in double precision. An error of the rollout, such as a
        value out of range, is one of JAX (``jax.errors.JaxRuntimeError``) with its text.

    Raises:
        ParameterError: as :class:`bristle.gradients.RolloutFunction`; of the function, an argument of another shape.
    """
    function = RolloutFunction(batch, nstep, parameters, control, record, every)
    shape = (batch.nsim, len(function.parameters))

    def outputs(values: jax.Array, more: tuple[int, ...] = ()) -> dict[str, jax.ShapeDtypeStruct]:
        struct: Any = jax.ShapeDtypeStruct
        return {name: struct((*of, *more), values.dtype) for name, of in function.shapes.items()}

    @jax.custom_jvp
    def run(values: jax.Array) -> Any:
        def call(numbers: Any) -> Any:
            return _like(function(np.asarray(numbers)), numbers.dtype)

        return jax.pure_callback(call, outputs(values), values, vmap_method="sequential")

    @run.defjvp
    def forward(primals: tuple[jax.Array], tangents: tuple[jax.Array]) -> Any:
        (values,), (change,) = primals, tangents

        def call(numbers: Any) -> Any:
            return tuple(_like(arrays, numbers.dtype) for arrays in function.linearize(np.asarray(numbers)))

        shapes = (outputs(values), outputs(values, shape[1:]))
        out, slopes = jax.pure_callback(call, shapes, values, vmap_method="sequential")
        return out, {name: jnp.einsum("nsap,np->nsa", slope, change) for name, slope in slopes.items()}

    def of_all(values: Any) -> dict[str, jax.Array]:
        array = jnp.asarray(values, dtype=jnp.result_type(float, values))
        if array.shape not in (shape, shape[1:]):
            raise ParameterError("values", f"an array of shape {array.shape}", f"shape {shape} or {shape[1:]}")
        out: dict[str, jax.Array] = run(jnp.broadcast_to(array, shape))
        return out

    return of_all


def _like(arrays: dict[str, Any], dtype: Any) -> dict[str, Any]:
    return {name: np.asarray(array, dtype=dtype) for name, array in arrays.items()}

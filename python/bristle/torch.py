"""Rollouts that torch differentiates.

>>> import bristle, bristle.torch, torch
>>> scenario = bristle.Scenario.load("examples/push.toml", changes=["precision='f64'"])
>>> batch = bristle.Batch(scenario, nsim=4, dt=0.05, device="cpu")
>>> run = bristle.torch.rollout(batch, 20, ["friction.mu_c", "body.mass"])
>>> x = torch.tensor([0.4, 0.5], dtype=torch.float64, requires_grad=True)
>>> run(x)["pose"][:, -1, 0].sum().backward()
>>> x.grad                                                  # (2,)

It needs the package ``torch``. docs/gradients.md says what the derivatives are, and where they mislead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import torch
from torch.autograd.function import once_differentiable

from ._arrays import Floats
from .batch import Batch, Control
from .gradients import RolloutFunction


def rollout(
    batch: Batch,
    nstep: int,
    parameters: Iterable[str],
    control: Control | None = None,
    record: Iterable[str] = ("pose",),
    every: int = 1,
) -> Callable[[torch.Tensor], dict[str, torch.Tensor]]:
    """A rollout as a function of torch, with first derivatives in both modes.

    Where its argument requires a gradient, the derivatives over all parameters are computed with the values, so that
    a gradient costs as much as that of :meth:`bristle.gradients.RolloutFunction.linearize`, whatever it is of.

    Args:
        batch: as of :class:`bristle.gradients.RolloutFunction`, like the others.
        nstep: number of intervals.
        parameters: their names.
        control: inputs that are no parameters.
        record: which of ``pose``, ``twist`` and ``wrench`` are returned.
        every: intervals between samples.

    Returns:
        A function of a tensor (nsim, parameters), or (parameters,) for all contacts, that returns tensors
        (nsim, nstep/every + 1, 3) by the names in ``record``, of the type and on the device of its argument. It
        computes on the CPU in double precision.

    Raises:
        ParameterError: as :class:`bristle.gradients.RolloutFunction`.
    """
    function = RolloutFunction(batch, nstep, parameters, control, record, every)
    shape = (batch.nsim, len(function.parameters))

    def run(values: torch.Tensor) -> dict[str, torch.Tensor]:
        values = torch.as_tensor(values)
        # A tensor of another shape is refused by the function.
        values = values.expand(shape) if values.shape == shape[1:] else values
        return dict(zip(function.shapes, _Rollout.apply(function, values), strict=True))

    return run


class _Rollout(torch.autograd.Function):
    """The function with its derivatives."""

    @staticmethod
    def forward(ctx: Any, function: RolloutFunction, values: torch.Tensor) -> tuple[torch.Tensor, ...]:
        numbers = values.detach().to("cpu", torch.float64).numpy()
        if ctx.needs_input_grad[1]:
            out, slopes = function.linearize(numbers)
            ctx.slopes = lambda: slopes
        else:
            out = function(numbers)
            ctx.slopes = lambda: function.linearize(numbers)[1]
        ctx.like = values.detach()[:0]
        return tuple(_tensor(array, values) for array in out.values())

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[None, torch.Tensor]:
        pairs = zip(ctx.slopes().values(), gradients, strict=True)
        of_each = [torch.einsum("nsap,nsa->np", _tensor(slope, ctx.like), gradient) for slope, gradient in pairs]
        return None, torch.stack(of_each).sum(dim=0)

    @staticmethod
    def jvp(ctx: Any, _: None, change: torch.Tensor) -> tuple[torch.Tensor, ...]:
        slopes = ctx.slopes().values()
        return tuple(torch.einsum("nsap,np->nsa", _tensor(slope, ctx.like), change) for slope in slopes)


def _tensor(array: Floats, like: torch.Tensor) -> torch.Tensor:
    return torch.from_numpy(np.ascontiguousarray(array)).to(like)

"""Names of parameters over which a rollout has derivatives."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from . import _bristle
from ._arguments import names as names_of
from ._arrays import known, shown
from .errors import ParameterError

if TYPE_CHECKING:
    from .batch import Batch

#: Quantities that have derivatives.
DIFFERENTIABLE = ("pose", "twist", "wrench")

#: A name; of an input also the intervals, from one to before another.
Named = tuple[str, tuple[int, int] | None]

#: ``[3]``, ``[2:5]``, ``[2:]``, ``[:5]`` and ``[:]``.
_INTERVALS = re.compile(r"(\d+)\]|(\d*):(\d*)\]", re.ASCII)


def parameters_of(batch: Batch, names: object, nstep: int, field: str) -> list[Named]:
    """The parameters with these names, in a rollout of ``nstep`` intervals; errors are about ``field``."""
    inputs = [f"inputs.{name}" for name in batch.scenario.inputs]
    drawn = [name for name, _ in batch.scenario._core.parameters(0, batch._seed)]
    accepted = dict.fromkeys([*drawn, *_bristle.SENSITIVITIES, *inputs])
    return [_parameter(name, accepted, inputs, nstep, field) for name in names_of(field, names)]


def _parameter(name: str, accepted: Iterable[str], inputs: list[str], nstep: int, field: str) -> Named:
    base, bracket, intervals = name.partition("[") if isinstance(name, str) else (name, "", "")
    if not bracket:
        return known(field, name, accepted), None
    if base not in inputs:
        known(field, name, [f"{name}[3]" for name in inputs])
    found = _INTERVALS.fullmatch(intervals)
    if found:
        one, start, end = found.groups()
        first = int(one or start or 0)
        last = first + 1 if one else int(end or nstep)
        if first < last <= nstep:
            return base, (first, last)
    such = f"an interval as in {base}[3] or several as in {base}[2:5], from 0 to {nstep - 1}"
    raise ParameterError(field, shown(name), such)

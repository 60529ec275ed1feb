"""Runs on a Ray cluster: every shard is a task, which is repeated if its worker was lost; then shards are
merged.

>>> import bristle, bristle.ray
>>> scenario = bristle.Scenario.load("in_hand.toml")
>>> bristle.ray.rollout(scenario, 100_000, shards=64, out="/shared/in_hand", formats=["lerobot"])

All workers and the caller must see the same directory, on one machine or on a shared file system. It needs
the package ``ray`` (``pip install 'bristle[ray]'``).
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import warnings
from collections.abc import Callable, Sequence
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import ray

from . import _bristle, datasets
from ._arrays import known
from .errors import ParameterError, RunError
from .scenario import Scenario


def bristle_shard(scenario: Scenario, out: str, shard: tuple[int, int], device: str, extras: list[str]) -> None:
    """What a worker does: a shard, or what is left of it by a worker that was lost."""
    datasets.rollout(scenario, out, device=device, shard=shard, extras=extras, mode="resume")


def bristle_merge(shards: list[str], out: str, formats: list[str], extras: list[str]) -> dict[str, Any]:
    """Joins the shards, on a worker as well, so that the caller may be a small machine."""
    return datasets.merge(shards, out, formats=formats, extras=extras, mode="resume")


def _integer(field: str, value: object, least: int, most: float, accepted: str) -> int:
    """A whole number in a range."""
    if isinstance(value, Integral) and not isinstance(value, bool):
        number = int(value)
        if least <= number <= most:
            return number
    raise ParameterError(field, repr(value), accepted)


def _resource(field: str, value: object, accepted: str, zero: bool) -> float:
    """A number of processors or GPUs: a share of one, or whole ones."""
    if isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value):
        number = float(value)
        if (number > 0 or (zero and number == 0)) and (number <= 1 or number.is_integer()):
            return number
    raise ParameterError(field, repr(value), accepted)


def _names(field: str, value: object, such: str) -> list[str]:
    """Names in a list, or another sequence that is no text."""
    if isinstance(value, Sequence) and not isinstance(value, str) and all(isinstance(name, str) for name in value):
        return list(value)
    raise ParameterError(field, repr(value), f"a list of names, such as {such}")


def rollout(
    scenario: Scenario,
    n: int | None = None,
    shards: int = 8,
    out: str | os.PathLike[str] = "runs/ray",
    *,
    formats: Sequence[str] = ("npz",),
    extras: Sequence[str] = (),
    device: str = "cpu",
    num_cpus: float = 1,
    num_gpus: float = 0,
    retries: int = 3,
    keep_shards: bool = False,
    progress: Callable[[int, int], object] | None = None,
) -> dict[str, Any]:
    """Simulates a scenario as tasks of Ray, and merges them into one run, with the bytes of a run on one
    machine.

    A task that loses its worker is repeated, and goes on after the last contact on the disk, on whatever
    processor. Results of different processors may differ by rounding; ``processors`` of the summary names all
    of them. An interrupted call may be repeated: complete shards stay as they are, and if the run is
    complete, the call only returns its summary. Arguments, and whether the directories are free, are checked
    before the first task. Shards are removed at the end, and nothing else.

    Args:
        scenario: what contacts are drawn from.
        n: how many; those that the scenario asks for if None.
        shards: into how many tasks they are divided, 1 to ``n``.
        out: directory of the run; shards are in ``<out>.shards`` beside it.
        formats: as of :func:`bristle.rollout`, at least one.
        extras: as of :func:`bristle.rollout`.
        device: as of :func:`bristle.rollout`.
        num_cpus: processors of a task: a share of one above 0, or whole ones. The CPU engine takes as many threads.
        num_gpus: GPUs of a task: 0, a share of one, or whole ones.
        retries: how often a task is repeated if its worker was lost; -1 for no limit.
        keep_shards: whether shards stay when they have been merged.
        progress: called with the numbers of complete shards and of all.

    Returns:
        The summary of the run.

    Raises:
        ParameterError: an argument out of range.
        RunError: the directory of the run or of a shard has another run, or other files.
        ray.exceptions.RayError: a task that failed more often than it may.
    """
    if not isinstance(scenario, Scenario):
        raise ParameterError("scenario", repr(scenario), "a bristle.Scenario")
    if n is not None:
        n = _integer("n", n, 1, math.inf, "a whole number of contacts, 1 or more, or None")
        scenario = Scenario.from_toml(scenario.text, scenario._base, [f"contacts={n}"], scenario.name)
    shards = _integer("shards", shards, 1, scenario.contacts, f"1 to {scenario.contacts}, one a contact")
    formats = _names("formats", formats, '["npz"]')
    if not formats:
        raise ParameterError("formats", "[]", 'at least one, such as ["npz"]')
    extras = _names("extras", extras, '["tactile"]')
    known("device", device, ("cpu", "gpu", "auto"))
    num_cpus = _resource("num_cpus", num_cpus, "a share of a processor above 0, or a whole number of them", False)
    num_gpus = _resource("num_gpus", num_gpus, "0, a share of a GPU, or a whole number of them", True)
    retries = _integer("retries", retries, -1, math.inf, "a whole number, 0 or more, or -1 for as often as it takes")
    if progress is not None and not callable(progress):
        raise ParameterError("progress", repr(progress), "a function of two numbers, or None")
    if not isinstance(out, str | os.PathLike) or "://" in os.fspath(out):
        raise ParameterError("out", str(out), "a directory that all workers see")
    # Friction of cells and patches is made while a shard is simulated, the other extras when shards are merged.
    recorded = [extra for extra in extras if extra in ("shear", "patches")]
    place = Path(out).absolute()
    found = _bristle.check_run(scenario._core, str(place), formats, extras, device, None, True)
    if found is not None:
        return dict(json.loads(found))
    beside = place.with_name(f"{place.name}.shards")
    if beside.is_symlink() or (beside.exists() and not beside.is_dir()):
        raise RunError(f"{beside} is a link or a file, where the shards are to be: expected another `out`")
    parts = [str(beside / f"{i}-of-{shards}") for i in range(1, shards + 1)]
    for i, part in enumerate(parts, 1):
        complete = _bristle.check_run(scenario._core, part, ["npz"], recorded, device, (i, shards), False)
        if complete is not None and not keep_shards:
            _bristle.check_own(part)
    if not ray.is_initialized():
        ray.init()
    threads = {"env_vars": {"RAYON_NUM_THREADS": str(max(1, round(num_cpus)))}}
    options = {"num_cpus": num_cpus, "num_gpus": num_gpus, "max_retries": retries, "runtime_env": threads}
    work = ray.remote(**options)(bristle_shard)
    shared = ray.put(scenario)
    pending = [work.remote(shared, part, (i, shards), device, recorded) for i, part in enumerate(parts, 1)]
    while pending:
        done, pending = ray.wait(pending, num_returns=1)
        ray.get(done)
        if progress is not None:
            progress(shards - len(pending), shards)
    join = ray.remote(**options)(bristle_merge)
    summary: dict[str, Any] = ray.get(join.remote(parts, str(place), formats, extras))
    if not keep_shards:
        for part in parts:
            try:
                _bristle.remove_run(part)
            except RunError as error:
                # What somebody has put there meanwhile stays, and the run is complete all the same.
                warnings.warn(f"a shard is not removed: {error}", stacklevel=2)
        # Unless others use it, too.
        with contextlib.suppress(OSError):
            beside.rmdir()
    return summary

"""Runs on a Ray cluster: shards as tasks that are repeated where a worker was lost, then merged.

>>> import bristle, bristle.ray
>>> scenario = bristle.Scenario.load("in_hand.toml")
>>> bristle.ray.rollout(scenario, 100_000, shards=64, out="/shared/in_hand", formats=["lerobot"])

All workers and the caller see the same directory: that of one machine, or one that they share.
It needs the package ``ray`` (``pip install 'bristle[ray]'``).
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import ray

from . import datasets
from .errors import ParameterError
from .scenario import Scenario


def bristle_shard(scenario: Scenario, out: str, shard: tuple[int, int], device: str, extras: list[str]) -> None:
    """What a worker does: a shard, or what is left of it by a worker that was lost."""
    datasets.rollout(scenario, out, device=device, shard=shard, extras=extras, mode="resume")


def bristle_merge(shards: list[str], out: str, formats: list[str], extras: list[str]) -> dict[str, Any]:
    """Joins the shards, on a worker as well, so that the caller may be a small machine."""
    return datasets.merge(shards, out, formats=formats, extras=extras, mode="resume")


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
    """Simulates a scenario as tasks of Ray, and merges them into one run, which has the bytes of one machine's.

    A task that loses its worker is repeated, and goes on after the last contact that is on the disk. A call that was
    interrupted may be repeated: shards that are complete stay as they are. Results of different processors may differ
    by rounding.

    Args:
        scenario: what contacts are drawn from.
        n: how many; those that the scenario asks for if None.
        shards: into how many tasks they are divided, 1 to ``n``.
        out: directory of the run; shards are in ``<out>.shards`` beside it.
        formats: as of :func:`bristle.rollout`.
        extras: as of :func:`bristle.rollout`.
        device: as of :func:`bristle.rollout`.
        num_cpus: processors of a task. The CPU engine takes as many threads.
        num_gpus: GPUs of a task.
        retries: how often a task is repeated whose worker was lost.
        keep_shards: whether shards stay when they have been merged.
        progress: called with the numbers of complete shards and of all.

    Returns:
        The summary of the run.

    Raises:
        ParameterError: an argument out of range.
        ray.exceptions.RayError: a task that failed more often than it may.
    """
    if n is not None:
        scenario = Scenario.from_toml(scenario.text, scenario._base, [f"contacts={n}"], scenario.name)
    if not 1 <= shards <= scenario.contacts:
        raise ParameterError("shards", shards, f"1 to {scenario.contacts}, one a contact")
    if "://" in str(out):
        raise ParameterError("out", str(out), "a directory that all workers see")
    place = Path(out).absolute()
    parts = [str(place.with_name(f"{place.name}.shards") / f"{i}-of-{shards}") for i in range(1, shards + 1)]
    if not ray.is_initialized():
        ray.init()
    threads = {"env_vars": {"RAYON_NUM_THREADS": str(max(1, round(num_cpus)))}}
    options = {"num_cpus": num_cpus, "num_gpus": num_gpus, "max_retries": retries, "runtime_env": threads}
    work = ray.remote(**options)(bristle_shard)
    shared = ray.put(scenario)
    # The friction of cells is made while a shard is simulated, the other extras when shards are merged.
    recorded = [extra for extra in extras if extra == "shear"]
    pending = [work.remote(shared, part, (i, shards), device, recorded) for i, part in enumerate(parts, 1)]
    while pending:
        done, pending = ray.wait(pending, num_returns=1)
        ray.get(done)
        if progress is not None:
            progress(shards - len(pending), shards)
    join = ray.remote(**options)(bristle_merge)
    summary: dict[str, Any] = ray.get(join.remote(parts, str(place), list(formats), list(extras)))
    if not keep_shards:
        shutil.rmtree(Path(parts[0]).parent)
    return summary

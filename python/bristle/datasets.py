"""Runs of a scenario to files: the datasets that ``bristle rollout`` writes, in one piece or in shards."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Sequence
from numbers import Integral
from typing import Any

from . import _bristle
from ._arguments import function, listed, path, texts
from ._arrays import known, shown
from .batch import _hushed
from .errors import ParameterError
from .scenario import Scenario, checked

_MODES = ("new", "resume", "force", "extend")


def rollout(
    scenario: Scenario,
    out: str | os.PathLike[str],
    *,
    formats: Sequence[str] = ("npz",),
    extras: Sequence[str] = (),
    device: str = "auto",
    shard: tuple[int, int] | None = None,
    mode: str = "new",
    progress: Callable[[int, int], object] | None = None,
) -> dict[str, Any]:
    """Simulates all contacts of a scenario to files (docs/datasets.md), with the bytes of ``bristle rollout``.

    Args:
        scenario: the contacts are drawn from it; ``Scenario.load(path, ["contacts=1000"])`` sets their
            number.
        out: run directory, which appears when the run is complete; only the program writes to object stores.
        formats: ``"npz"``, ``"zarr"``, ``"lerobot"``.
        extras: ``"tactile"``, ``"shear"``, ``"patches"``, ``"margin"``: optional contents of datasets; for a shard
            only ``"shear"`` and ``"patches"``.
        device: ``"cpu"``, ``"gpu"`` or ``"auto"``, as of :class:`Batch`.
        shard: ``(i, n)`` simulates part i of n, from 1, which has raw arrays alone; :func:`merge` joins them.
        mode: ``"new"``; ``"resume"`` continues an unfinished run, and returns the summary of a complete one
            if its files are unchanged; ``"force"`` replaces an existing run; ``"extend"`` adds contacts to a
            complete run. Only files of the run are removed: an error names any other file in its directory.
        progress: called some fifty times a second with the numbers of finished and of all contact-samples.

    Returns:
        The summary in ``run.json``: counts of outcomes, steps, engine, time.

    Raises:
        ParameterError: an argument out of range.
        ScenarioError: a drawn value out of range.
        RunError: the directory is not free, a file of the run is damaged or missing, or a file cannot be
            written.
        DeviceError: the device is missing or fails.
    """
    core, place, datasets = checked(scenario)._core, path("out", out), _datasets(formats, extras)
    part = None if shard is None else _part(shard)
    progress = function("progress", progress, "a function of two integers")
    known("mode", mode, _MODES)
    known("device", device, ("cpu", "gpu", "auto"))
    with _hushed():
        summary = _bristle.write_run(core, place, *datasets, device, part, mode, progress)
    return dict(json.loads(summary))


def merge(
    shards: Iterable[str | os.PathLike[str]],
    out: str | os.PathLike[str],
    *,
    formats: Sequence[str] = ("npz",),
    extras: Sequence[str] = (),
    mode: str = "new",
) -> dict[str, Any]:
    """Joins the shards of a run into its datasets, with the same bytes as from a single run.

    Args:
        shards: the directories of all shards, in any order.
        out: directory of the run.
        formats: as of :func:`rollout`.
        extras: as of :func:`rollout`.
        mode: ``"new"``, ``"resume"`` or ``"force"``, as of :func:`rollout`.

    Returns:
        The summary of the run.

    Raises:
        ParameterError: an argument out of range.
        RunError: shards are missing, damaged or of different runs, or as :func:`rollout`.
    """
    known("mode", mode, _MODES[:3])
    places = [path("shards", shard) for shard in listed("shards", shards, "a list of directories")]
    return dict(json.loads(_bristle.merge_run(places, path("out", out), *_datasets(formats, extras), mode)))


def verify(run: str | os.PathLike[str]) -> list[str]:
    """Reads every file of a run or shard, and compares it with its digest.

    Only regular files inside the directory are read.

    Args:
        run: its directory.

    Returns:
        One sentence for each damaged or missing file, with both digests; empty if all files are unchanged.

    Raises:
        RunError: a directory without a complete run.
    """
    return _bristle.verify_run(path("run", run))


def _datasets(formats: object, extras: object) -> tuple[list[str], list[str]]:
    return texts("formats", formats, '["npz"]'), texts("extras", extras, '["tactile"]')


def _part(shard: object) -> tuple[int, int]:
    """Which part of how many."""
    if isinstance(shard, tuple) and len(shard) == 2 and all(isinstance(number, Integral) for number in shard):
        index, of = map(int, shard)
        if 1 <= index <= of < 2**63 and not any(isinstance(number, bool) for number in shard):
            return index, of
    raise ParameterError("shard", shown(shard), "a tuple (i, n) of integers, for part i of n, from 1; or None")

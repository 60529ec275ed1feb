"""Runs of a scenario to files: the datasets that ``bristle rollout`` writes, in one piece or in shards."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from . import _bristle
from ._arrays import known
from .batch import _hushed
from .scenario import Scenario

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
        scenario: what contacts are drawn from; ``Scenario.load(path, ["contacts=1000"])`` says how many.
        out: directory of the run, which appears when the run is complete; stores of objects are for the program alone.
        formats: ``"npz"``, ``"zarr"``, ``"lerobot"``.
        extras: ``"tactile"``, ``"shear"``, ``"margin"``: what datasets hold on request; of a shard ``"shear"`` alone.
        device: ``"cpu"``, ``"gpu"`` or ``"auto"``, as of :class:`Batch`.
        shard: ``(i, n)`` simulates part i of n, from 1, which has raw arrays alone; :func:`merge` joins them.
        mode: ``"new"``; ``"resume"`` continues a run that was stopped and returns a complete one as it is, if its files
            are as they were written; ``"force"`` replaces a run that is there; ``"extend"`` adds contacts to a complete
            run. What is not of a run that is replaced is refused by name: nothing is removed that was not written here.
        progress: called some fifty times a second with the contact-samples that are done and all of them.

    Returns:
        The summary that ``run.json`` has: counts of outcomes, steps, engine, time.

    Raises:
        ParameterError: an argument out of range.
        ScenarioError: a drawn value out of range.
        RunError: something is in the way, a file of the run that is damaged or missing, or one that cannot be written.
        DeviceError: a device that is not there or fails.
    """
    known("mode", mode, _MODES)
    known("device", device, ("cpu", "gpu", "auto"))
    with _hushed():
        summary = _bristle.write_run(
            scenario._core, os.fspath(out), list(formats), list(extras), device, shard, mode, progress
        )
    return dict(json.loads(summary))


def merge(
    shards: Iterable[str | os.PathLike[str]],
    out: str | os.PathLike[str],
    *,
    formats: Sequence[str] = ("npz",),
    extras: Sequence[str] = (),
    mode: str = "new",
) -> dict[str, Any]:
    """Joins the shards of a run into its datasets, which have the bytes of the run in one piece.

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
        RunError: shards that are missing, damaged or of different runs, or as :func:`rollout`.
    """
    known("mode", mode, _MODES[:3])
    places = [os.fspath(shard) for shard in shards]
    return dict(json.loads(_bristle.merge_run(places, os.fspath(out), list(formats), list(extras), mode)))


def verify(run: str | os.PathLike[str]) -> list[str]:
    """Reads every file of a run or shard, and compares it with the digests that were written with it.

    Only regular files inside the directory are read.

    Args:
        run: its directory.

    Returns:
        What is damaged or missing, a sentence a file with both digests; empty if all is as it was written.

    Raises:
        RunError: a directory without a complete run.
    """
    return _bristle.verify_run(os.fspath(run))

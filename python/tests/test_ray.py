"""Runs on a Ray cluster of several worker processes, one of which is killed."""

import os
import signal
from pathlib import Path

import pytest
import ray
from test_datasets import SCENARIO, content

import bristle
import bristle.ray

WORKERS = 3


@pytest.fixture(scope="module")
def cluster():
    ray.init(num_cpus=WORKERS, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


def mortal(marks: Path):
    """A shard's task that leaves its process in ``marks``; the first process there kills itself, at its first word of
    progress, or when the shard is complete if there was none."""

    def task(scenario, out, shard, device, extras):
        (marks / str(os.getpid())).touch()

        def die(done=1, of=1):
            try:
                (marks / "killed").touch(exist_ok=False)
            except FileExistsError:
                return
            os.kill(os.getpid(), signal.SIGKILL)

        bristle.rollout(scenario, out, device=device, shard=shard, extras=extras, mode="resume", progress=die)
        die()

    return task


def test_a_run_of_which_a_worker_was_killed_is_complete_and_identical(cluster, tmp_path, monkeypatch):
    scenario = bristle.Scenario.from_toml(SCENARIO)
    n, shards, formats = 3000, 6, ["npz", "zarr", "lerobot"]
    marks, told = tmp_path / "marks", []
    marks.mkdir()
    monkeypatch.setattr(bristle.ray, "bristle_shard", mortal(marks))
    summary = bristle.ray.rollout(
        scenario, n, shards, tmp_path / "run", formats=formats, progress=lambda *done: told.append(done)
    )
    assert (marks / "killed").exists(), "no worker was killed"
    assert len(list(marks.iterdir())) > 2, "another process went on"
    assert summary["contacts"] == n
    assert told == [(i, shards) for i in range(1, shards + 1)]
    whole = bristle.Scenario.from_toml(SCENARIO, changes=[f"contacts={n}"])
    bristle.rollout(whole, tmp_path / "whole", formats=formats, device="cpu")
    assert content(tmp_path / "run") == content(tmp_path / "whole")
    assert bristle.verify(tmp_path / "run") == []
    assert not (tmp_path / "run.shards").exists()


def test_shards_are_checked(cluster, tmp_path):
    with pytest.raises(bristle.ParameterError) as error:
        bristle.ray.rollout(bristle.Scenario.from_toml(SCENARIO), 5, 6, tmp_path / "run")
    assert error.value.field == "shards"


def test_a_store_is_no_directory(tmp_path, monkeypatch):
    """It is refused before anything is computed, and no directory is made of its name."""
    monkeypatch.chdir(tmp_path)
    scenario = bristle.Scenario.from_toml(SCENARIO)
    with pytest.raises(bristle.ParameterError, match="a directory that all workers see"):
        bristle.ray.rollout(scenario, shards=2, out="s3://bucket/run")
    assert not list(tmp_path.iterdir())

"""Runs on a Ray cluster of several worker processes, one of which is killed."""

import os
import signal
import threading
import time
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


def working():
    """Processes that are at a shard, by the title that Ray gives them."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                title = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if title.startswith(b"ray::bristle_shard"):
                found.append(int(entry.name))
    return found


def test_a_run_of_which_a_worker_was_killed_is_complete_and_identical(cluster, tmp_path):
    scenario = bristle.Scenario.from_toml(SCENARIO)
    n, shards, formats = 6000, 6, ["npz", "zarr", "lerobot"]
    killed, seen, told = [], set(), []

    def kill():
        """Kills the first worker that has simulated a part of its shard."""
        deadline = time.monotonic() + 120
        while not killed and time.monotonic() < deadline:
            seen.update(working())
            begun = [
                path
                for path in tmp_path.glob("run.shards/*.partial/spool/slip")
                if path.exists() and path.stat().st_size > 0
            ]
            if begun and len(seen) >= 2:
                pid = working()[:1]
                for one in pid:
                    os.kill(one, signal.SIGKILL)
                    killed.append(one)
            time.sleep(0.005)

    killer = threading.Thread(target=kill)
    killer.start()
    summary = bristle.ray.rollout(
        scenario, n, shards, tmp_path / "run", formats=formats, progress=lambda *done: told.append(done)
    )
    killer.join()
    assert killed, "no worker was killed while it simulated"
    assert len(seen) >= 2, "the shards were simulated by several processes"
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

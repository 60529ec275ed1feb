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


@pytest.fixture
def no_tasks(monkeypatch):
    """Nothing is given to Ray, and no cluster is begun."""

    def never(*_, **__):
        raise AssertionError("a task was begun")

    for name in ("init", "remote", "put"):
        monkeypatch.setattr(ray, name, never)


def names(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("shards", 25),
        ("shards", 0),
        ("shards", 2.0),
        ("n", 0),
        ("n", 2.5),
        ("n", True),
        ("formats", ["npy"]),
        ("formats", "npz"),
        ("formats", []),
        ("extras", ["tactil"]),
        ("extras", "shear"),
        ("device", "cuda"),
        ("num_cpus", 0),
        ("num_cpus", -1),
        ("num_cpus", 1.5),
        ("num_cpus", float("nan")),
        ("num_cpus", "1"),
        ("num_gpus", -1),
        ("num_gpus", 2.5),
        ("retries", -2),
        ("retries", 1.5),
        ("retries", None),
        ("progress", 3),
        ("out", "s3://bucket/run"),
        ("out", 3),
        ("scenario", SCENARIO),
    ],
)
def test_arguments_are_checked_before_the_first_task(no_tasks, tmp_path, monkeypatch, field, value):
    monkeypatch.chdir(tmp_path)
    arguments = {"scenario": bristle.Scenario.from_toml(SCENARIO), "shards": 2, "out": tmp_path / "run", field: value}
    with pytest.raises(bristle.ParameterError) as error:
        bristle.ray.rollout(**arguments)
    assert error.value.field == field
    assert not list(tmp_path.iterdir())


def test_what_a_dataset_cannot_hold_is_refused_before_the_first_task(no_tasks, tmp_path):
    scenario = bristle.Scenario.from_toml(SCENARIO, changes=["record_every=0.03"])
    with pytest.raises(bristle.ParameterError, match="record_every"):
        bristle.ray.rollout(scenario, shards=2, out=tmp_path / "run", formats=["lerobot"])
    double = bristle.Scenario.from_toml(SCENARIO, changes=["precision=f64"])
    with pytest.raises(bristle.ParameterError, match="a GPU computes in f32"):
        bristle.ray.rollout(double, shards=2, out=tmp_path / "run", device="gpu")
    assert not list(tmp_path.iterdir())


def test_a_complete_run_is_returned_without_a_task(no_tasks, tmp_path):
    scenario = bristle.Scenario.from_toml(SCENARIO)
    summary = bristle.rollout(scenario, tmp_path / "run", device="cpu")
    shards = tmp_path / "run.shards"
    shards.mkdir()
    (shards / "notes.txt").write_text("mine")
    (tmp_path / "run/notes.txt").write_text("mine")
    before = names(tmp_path)
    assert bristle.ray.rollout(scenario, shards=2, out=tmp_path / "run") == summary
    assert names(tmp_path) == before


def test_what_is_in_the_way_is_refused_before_the_first_task(no_tasks, tmp_path):
    scenario = bristle.Scenario.from_toml(SCENARIO)
    other = bristle.Scenario.from_toml(SCENARIO, changes=["seed=9"])
    bristle.rollout(other, tmp_path / "run", device="cpu")
    bristle.rollout(other, tmp_path / "a.shards/2-of-2", device="cpu", shard=(2, 2))
    bristle.rollout(scenario, tmp_path / "b.shards/1-of-2", device="cpu", shard=(1, 2))
    (tmp_path / "b.shards/1-of-2/notes.txt").write_text("mine")
    (tmp_path / "c").mkdir()
    (tmp_path / "c/notes.txt").write_text("mine")
    (tmp_path / "d.shards").write_text("mine")
    (tmp_path / "e.shards").symlink_to(tmp_path / "c")
    # An unfinished run that is no merge.
    (tmp_path / "f.shards/1-of-2.partial/spool").mkdir(parents=True)
    (tmp_path / "f.shards/1-of-2.partial/spool/notes.txt").write_text("mine")
    before = names(tmp_path)
    for out, told in [
        ("run", r"run holds another run \(no seed, where it has 9\)"),
        ("a", r"2-of-2 holds another run \(no seed, where it has 9\)"),
        ("b", r"1-of-2/notes.txt is no file of the run"),
        ("c", r"c is no run of bristle"),
        ("d", r"d.shards is a link or a file"),
        ("e", r"e.shards is a link or a file"),
        ("f", r"1-of-2.partial is no run of bristle"),
    ]:
        with pytest.raises(bristle.RunError, match=told):
            bristle.ray.rollout(scenario, shards=2, out=tmp_path / out)
    assert names(tmp_path) == before


def test_shards_alone_are_removed(cluster, tmp_path):
    """What else is beside them stays, and so does what comes into a shard while the run is made."""
    scenario = bristle.Scenario.from_toml(SCENARIO)
    shards = tmp_path / "run.shards"
    shards.mkdir()
    (shards / "notes.txt").write_text("mine")
    bristle.rollout(scenario, shards / "1-of-3", device="cpu", shard=(1, 3))

    def put(done, of):
        if done == of:
            (shards / "2-of-2/model.pt").write_text("mine")

    with pytest.warns(UserWarning, match=r"2-of-2/model.pt is no file of the run"):
        summary = bristle.ray.rollout(scenario, shards=2, out=tmp_path / "run", progress=put)
    assert bristle.verify(tmp_path / "run") == []
    assert sorted(path.name for path in shards.iterdir()) == ["1-of-3", "2-of-2", "notes.txt"]
    assert (shards / "2-of-2/model.pt").read_text() == "mine"
    assert bristle.ray.rollout(scenario, shards=2, out=tmp_path / "run") == summary

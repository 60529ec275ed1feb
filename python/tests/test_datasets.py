"""Runs to files from Python: the bytes of the command line, shards, digests, errors."""

import copy
import hashlib
import pickle

import numpy as np
import pytest

import bristle

SCENARIO = """
duration = 0.2
record_every = 0.02
contacts = 24
[patch]
shape = "disc"
cells = 5
[friction]
mu_c = { uniform = [0.3, 0.9] }
[body]
kind = "body"
mass = { uniform = [0.5, 1.5] }
inertia = { disc = 0.05 }
[initial]
twist = [0.1, 0, 1.0]
[inputs]
tilt = { angle = 0.2 }
"""


def content(run):
    return {
        path.relative_to(run): path.read_bytes()
        for path in run.rglob("*")
        if path.is_file() and path.name != "run.json"
    }


def test_shards_are_the_run_in_one_piece(tmp_path):
    scenario = bristle.Scenario.from_toml(SCENARIO)
    formats = ["npz", "zarr", "lerobot"]
    told = []
    whole = bristle.rollout(
        scenario,
        tmp_path / "whole",
        formats=formats,
        extras=["tactile", "shear"],
        device="cpu",
        progress=lambda *n: told.append(n),
    )
    assert whole["contacts"] == 24
    assert all(done <= of == 24 * 11 for done, of in told)
    with np.load(tmp_path / "whole/trajectories.npz") as run:
        assert run["pose"].shape == (24, 11, 3)
        assert run["tactile"].shape == (24, 11, 5, 5)
        # The damper of a bristle that meets a moving body takes hundreds of newtons in single precision.
        np.testing.assert_allclose(run["shear"].sum(axis=(2, 3)), run["wrench"][..., :2], rtol=1e-6, atol=1e-5)
    parts = [tmp_path / f"{i}" for i in (1, 2, 3)]
    for i, part in enumerate(parts, 1):
        bristle.rollout(scenario, part, device="cpu", shard=(i, 3), extras=["shear"])
    with pytest.raises(bristle.RunError, match="1 of 3 shards are missing: 2/3"):
        bristle.merge([parts[0], parts[2]], tmp_path / "merged", formats=formats, extras=["tactile", "shear"])
    merged = bristle.merge(reversed(parts), tmp_path / "merged", formats=formats, extras=["tactile", "shear"])
    assert merged["status"] == whole["status"]
    assert content(tmp_path / "merged") == content(tmp_path / "whole")
    assert bristle.verify(tmp_path / "merged") == []
    (tmp_path / "merged/contacts.npz").write_bytes(b"")
    empty = hashlib.sha256(b"").hexdigest()
    (told,) = bristle.verify(tmp_path / "merged")
    assert told.startswith("contacts.npz: is damaged: expected the sha256 ") and told.endswith(f", found {empty}")
    with pytest.raises(bristle.RunError, match=r"merged/contacts\.npz: is damaged: expected the sha256"):
        bristle.merge(parts, tmp_path / "merged", formats=formats, extras=["tactile", "shear"], mode="resume")


def test_a_run_is_resumed_and_extended(tmp_path):
    scenario = bristle.Scenario.from_toml(SCENARIO)
    first = bristle.rollout(scenario, tmp_path / "run", device="cpu")
    with pytest.raises(bristle.RunError, match="exists") as error:
        bristle.rollout(scenario, tmp_path / "run", device="cpu")
    assert str(pickle.loads(pickle.dumps(error.value))) == str(error.value)
    assert bristle.rollout(scenario, tmp_path / "run", device="cpu", mode="resume") == first
    more = bristle.Scenario.from_toml(SCENARIO, changes=["contacts=30"])
    bristle.rollout(more, tmp_path / "run", device="cpu", mode="extend")
    bristle.rollout(more, tmp_path / "whole", device="cpu")
    assert content(tmp_path / "run") == content(tmp_path / "whole")


def test_arguments_are_checked(tmp_path):
    scenario = bristle.Scenario.from_toml(SCENARIO)
    for arguments, field in [
        ({"formats": ["hdf5"]}, "formats"),
        ({"extras": ["smell"]}, "extras"),
        ({"shard": (3, 2)}, "shard"),
        ({"shard": (1, 2), "formats": ["zarr"]}, "format"),
        ({"mode": "append"}, "mode"),
        ({"device": "tpu"}, "device"),
        ({"formats": ["lerobot"], "mode": "extend"}, "out"),
    ]:
        with pytest.raises(bristle.ParameterError) as error:
            bristle.rollout(scenario, tmp_path / "none", **arguments)
        assert error.value.field == field
    for out in ["s3://bucket/run", "ftp://host/run"]:
        with pytest.raises(bristle.ParameterError, match="expected a directory") as error:
            bristle.rollout(scenario, out)
        assert error.value.field == "out"
    assert list(tmp_path.iterdir()) == []


def test_an_exception_of_the_callback_stops_a_run_that_can_be_resumed(tmp_path):
    scenario = bristle.Scenario.from_toml(SCENARIO, changes=["contacts=600"])

    def stop(done, _):
        if done > 0:
            raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        bristle.rollout(scenario, tmp_path / "run", device="cpu", progress=stop)
    assert not (tmp_path / "run").exists()
    bristle.rollout(scenario, tmp_path / "run", device="cpu", mode="resume")
    bristle.rollout(scenario, tmp_path / "whole", device="cpu")
    assert content(tmp_path / "run") == content(tmp_path / "whole")


def test_a_scenario_keeps_what_it_has_read(tmp_path):
    """Copies are the scenario itself; a pickle and a run want the files as they were read."""
    np.save(tmp_path / "map.npy", np.ones((4, 4)))
    np.savez(tmp_path / "rows.npz", mass=np.array([0.6, 0.7]))
    changes = ["~patch", 'patch={ file = "map.npy", size = 0.02 }', 'table={ file = "rows.npz" }', "contacts=2"]
    changes.append("body.mass={ column = 'mass' }")
    scenario = bristle.Scenario.from_toml(SCENARIO, base=tmp_path, changes=changes)
    pickled = pickle.dumps(scenario)
    assert copy.copy(scenario) is scenario and copy.deepcopy(scenario) is scenario
    assert pickle.loads(pickled).text == scenario.text
    for change, key in [
        (lambda: np.save(tmp_path / "map.npy", np.eye(4)), "patch.file"),
        (lambda: np.savez(tmp_path / "rows.npz", mass=np.array([0.6, 0.8])), "table.file"),
    ]:
        change()
        with pytest.raises(bristle.ScenarioError, match="has changed since"):
            pickle.loads(pickled)
        with pytest.raises(bristle.ScenarioError, match=f"{key}.*has changed since"):
            bristle.rollout(scenario, tmp_path / "run")
        assert not (tmp_path / "run").exists() and not list(tmp_path.glob("run*"))
        np.save(tmp_path / "map.npy", np.ones((4, 4)))
    np.savez(tmp_path / "rows.npz", mass=np.array([0.6, 0.7]))
    bristle.rollout(scenario, tmp_path / "run")

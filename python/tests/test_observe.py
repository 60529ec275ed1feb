"""Live observations are the columns of the data sets at the same times."""

from __future__ import annotations

import numpy as np
import pytest

import bristle

TEXT = """
duration = 0.25
record_every = 0.0078125
contacts = 6
{precision}
[patch]
shape = "disc"
cells = [7, 5]
[friction]
mu_c = {{ uniform = [0.3, 0.9] }}
[body]
kind = "gripper"
mass = {{ uniform = [0.15, 0.25] }}
inertia = 5e-4
[initial]
pose = [{{ uniform = [0.0, 0.02] }}, 0.001, 0]
[inputs]
gravity = [0, -9.81]
normal_force = {{ points = [[0, 4], [0.25, 0.4]] }}
"""
EXTRAS = ["tactile", "shear", "margin"]
NAMES = ["pose", "slip", "near_limit", "margin", "tactile", "shear", "cell_nearness", "normal_force", "time"]


#: A ball in an elastic layer, whose frames begin at every second sample.
SKIN = """
cells = [7, 5]
layer = { stiffness = 5e7, shear_stiffness = 2e7 }
indenter = { shape = "sphere", radius = 0.02, every = 0.015625 }
"""


@pytest.mark.parametrize("device", ["cpu", "gpu"])
@pytest.mark.parametrize("patch", ["disc", "skin"])
def test_what_a_policy_sees_is_what_the_data_sets_have(device, patch, tmp_path):
    text = TEXT.format(precision="" if device == "gpu" else 'precision = "f64"')
    if patch == "skin":
        text = text.replace('shape = "disc"\ncells = [7, 5]\n', SKIN)
    scenario = bristle.Scenario.from_toml(text)
    bristle.rollout(scenario, tmp_path / "run", formats=["npz"], extras=EXTRAS, device=device)
    with np.load(tmp_path / "run/trajectories.npz") as run:
        stored = {name: run[name] for name in [*NAMES, "displacement", "rotation"] if name != "time"}
        stored["time"] = np.broadcast_to(run["time"], stored["slip"].shape)
    batch = bristle.Batch(scenario, 6, 1 / 128, device)
    ids = np.array([4, 0, 3])
    last = np.full(6, np.nan)
    for sample in range(33):
        if sample > 0:
            batch.step()
        seen = batch.read([*NAMES, "since_slip"], dtype=np.float64)
        some = batch.read(NAMES, ids)
        for name in NAMES:
            wanted = stored[name][:, sample]
            kind = np.float32 if wanted.dtype == np.float32 else np.float64
            # The search for the margin begins where that of the sample before has ended.
            tolerance = 1e-6 if name == "margin" else 0.0
            np.testing.assert_allclose(seen[name].astype(kind), wanted, rtol=0, atol=tolerance, err_msg=name)
            assert np.array_equal(some[name], seen[name][ids].astype(np.float32)), (name, sample)
        last[stored["slip"][:, sample] >= 0.99] = seen["time"][0]
        since = np.where(np.isnan(last), -1.0, seen["time"] - last)
        assert np.array_equal(seen["since_slip"], since), sample
    assert (seen["since_slip"] == 0).any(), "some of them slip"
    for name in ("displacement", "rotation"):
        # A GPU has the initial pose in single precision.
        np.testing.assert_allclose(batch.read(name, dtype=np.float64), stored[name], rtol=0, atol=1e-8, err_msg=name)


def test_patches_have_the_numbers_of_datasets(tmp_path):
    patches = "patches = [{ at = [0.02, 0] }, { at = [-0.01, 0.01], turn = 0.3, share = 2, friction = 0.7 }]\n"
    scenario = bristle.Scenario.from_toml(patches + TEXT.format(precision=""))
    bristle.rollout(scenario, tmp_path / "run", formats=["npz"], device="cpu", extras=["patches", "margin"])
    run = np.load(tmp_path / "run/trajectories.npz")
    batch = bristle.Batch(scenario, 3, 1 / 128, "cpu")
    for _ in range(32):
        batch.step()
    names = ["patch_wrench", "patch_normal_force", "patch_slip", "patch_near_limit", "patch_margin", "normal_force"]
    seen = batch.read(names, dtype=np.float64)
    assert seen["patch_wrench"].shape == (3, 2, 3) and seen["patch_slip"].shape == (3, 2)
    for name in names:
        np.testing.assert_allclose(seen[name], run[name][:3, -1], rtol=1e-6, atol=1e-6, err_msg=name)
    np.testing.assert_allclose(seen["patch_normal_force"].sum(axis=1), seen["normal_force"], rtol=1e-12)
    one = bristle.Batch(bristle.Scenario.from_toml(TEXT.format(precision="")), 3, device="cpu")
    with pytest.raises(bristle.ParameterError, match="0 patches"):
        one.read("patch_slip")


def test_patches_have_the_forces_and_surfaces_that_are_set(tmp_path):
    patches = (
        "patches = [{ at = [0.02, 0], normal_force = 2 }, "
        "{ at = [-0.01, 0.01], normal_force = { points = [[0, 2], [0.2, 0.5]] }, surface = { vx = 0.02 } }]\n"
    )
    text = patches + TEXT.format(precision="").replace("normal_force = { points = [[0, 4], [0.25, 0.4]] }", "")
    scenario = bristle.Scenario.from_toml(text)
    names = ["patch_wrench", "patch_normal_force", "patch_slip", "normal_force"]
    with pytest.raises(bristle.ParameterError, match="surface"):
        bristle.rollout(scenario, tmp_path / "margin", formats=["npz"], device="cpu", extras=["margin"])
    bristle.rollout(scenario, tmp_path / "run", formats=["npz"], device="cpu", extras=["patches"])
    run = np.load(tmp_path / "run/trajectories.npz")
    batch = bristle.Batch(scenario, 3, 1 / 128, "cpu")
    for _ in range(32):
        batch.step()
    with pytest.raises(bristle.ParameterError, match="patches with surfaces of their own"):
        batch.read("margin")
    seen = batch.read(names, dtype=np.float64)
    for name in names:
        np.testing.assert_allclose(seen[name], run[name][:3, -1], rtol=1e-6, atol=1e-6, err_msg=name)
    assert "normal_force" not in scenario.inputs and "patches.1.surface.w" in scenario.inputs
    batch.step({"patches.0.normal_force": 3.0, "patches.1.surface": np.array([0.0, 0.1, 0.0])})
    # What is read after a new value is set is of the step before.
    seen = batch.read(names, dtype=np.float64)
    np.testing.assert_allclose(seen["patch_normal_force"], [[3.0, 0.5]] * 3, rtol=1e-9)
    np.testing.assert_allclose(seen["normal_force"], 3.5, rtol=1e-9)
    with pytest.raises(bristle.ParameterError, match="normal_force"):
        batch.step({"normal_force": 3.0})
    with pytest.raises(bristle.ParameterError, match=r"patches\.0\.surface"):
        batch.step({"patches.0.surface": [0.0, 0.1, 0.0]})


def test_arrays_may_be_given_and_wrong_ones_are_refused():
    scenario = bristle.Scenario.from_toml(TEXT.format(precision=""))
    batch = bristle.Batch(scenario, 3, device="cpu")
    out = {"tactile": np.zeros((2, 5, 7), np.float32), "slip": np.zeros(2)}
    made = batch.read(["tactile", "slip"], [0, 2], out)
    assert made["tactile"] is out["tactile"] and out["tactile"].sum() == pytest.approx(8.0)
    assert batch.read("tactile", []).shape == (0, 5, 7)
    for arguments, field in [
        ({"names": "tactil"}, "names"),
        ({"names": "slip", "ids": [3]}, "ids"),
        ({"names": "slip", "dtype": np.int32}, "dtype"),
        ({"names": "slip", "out": {"slip": np.zeros(3, np.float16)}}, "out.slip"),
        ({"names": "tactile", "out": {"tactile": np.zeros((3, 7, 5))}}, "out.tactile"),
    ]:
        with pytest.raises(bristle.ParameterError, match=field):
            batch.read(**arguments)
    reduced = bristle.Scenario.from_toml(
        TEXT.format(precision='contact = { model = "reduced", surface = "ellipsoid" }')
    )
    with pytest.raises(bristle.ParameterError, match="shear"):
        bristle.Batch(reduced, 3, device="cpu").read("shear")

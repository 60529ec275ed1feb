"""Contacts that start again where they are: others are not touched, and a contact depends on its own seed alone."""

from __future__ import annotations

import copy
import pickle
import time

import numpy as np
import pytest

import bristle

TEXT = """
duration = 0.2
{model}
[patch]
shape = "disc"
cells = 5
[friction]
mu_c = {{ uniform = [0.3, 0.9] }}
[body]
kind = "gripper"
mass = {{ uniform = [0.15, 0.25] }}
inertia = 5e-4
[initial]
pose = [{{ uniform = [0.0, 0.02] }}, 0, 0]
[inputs]
gravity = [0, -9.81]
normal_force = 4
{more}
"""
REDUCED = 'contact = { model = "reduced", surface = "ellipsoid" }'
MODELS = {"grid": "", "reduced": REDUCED}
SEEDS = [11, 5, 2**62]


def scenario(model, more=""):
    return bristle.Scenario.from_toml(TEXT.format(model=MODELS[model], more=more))


def state(batch):
    return [batch.pose, batch.twist, batch.wrench, batch.time[:, None], batch.parameter("friction.mu_c")[:, None]]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("device", ["cpu", "gpu"])
def test_each_of_some_contacts_starts_again_from_its_own_seed(model, device):
    """The contacts of the list are those of new batches of their seeds, bit for bit, and the others go on as before."""
    drawn = scenario(model)
    batch, alone = (bristle.Batch(drawn, 6, 0.01, device) for _ in range(2))
    fresh = [bristle.Batch(drawn, 6, 0.01, device, seed=seed) for seed in SEEDS]
    for one in (batch, alone):
        for _ in range(3):
            one.step({"normal_force": 2.0})
    ids = [4, 1, 3]
    batch.reset(ids, seed=np.array(SEEDS))
    for step in range(4):
        for one in (batch, alone, *fresh):
            if step > 0:
                one.step()
        others = [0, 2, 5]
        for seen, before in zip(state(batch), state(alone), strict=True):
            assert np.array_equal(seen[others], before[others])
        for k, new in zip(ids, fresh, strict=True):
            for seen, wanted in zip(state(batch), state(new), strict=True):
                assert np.array_equal(seen[k], wanted[k]), (step, k)


@pytest.mark.parametrize("model", MODELS)
def test_initial_states_may_be_given_as_arrays(model):
    poses = np.array([[0.001, 0.002, 0.1], [0.003, -0.001, -0.2]])
    batch, other = bristle.Batch(scenario(model), 3, device="cpu"), bristle.Batch(scenario(model), 3, device="cpu")
    start = other.expand("initial.pose.0")
    batch.step()
    batch.reset([0, 2], pose=poses, twist=[0, 0.1, 0])
    np.testing.assert_allclose(batch.pose[[0, 2]], poses, rtol=1e-12)
    assert np.array_equal(batch.time, [0, 0.01, 0])
    np.testing.assert_allclose(batch.twist[[0, 2]], [[0, 0.1, 0]] * 2, rtol=1e-12)
    assert np.array_equal(batch.parameter("initial.pose.0")[[0, 2]], poses[:, 0])
    # They are what an expanded array or a scenario gives, and stay in a reset without a seed.
    start[[0, 2]] = poses[:, 0]
    for i, name in enumerate(["initial.pose.1", "initial.pose.2"]):
        other.expand(name)[[0, 2]] = poses[:, 1 + i]
    other.expand("initial.twist.1")[[0, 2]] = 0.1
    for _ in range(2):
        other.reset([0, 2])
        for one in (batch, other):
            one.step()
        assert np.array_equal(batch.pose[[0, 2]], other.pose[[0, 2]])
        batch.reset([0, 2])
    before = state(batch)
    batch.reset([], seed=[])
    for seen, old in zip(state(batch), before, strict=True):
        assert np.array_equal(seen, old)
    batch.reset([0, 2], seed=3)
    assert np.array_equal(batch.pose[:, 1], [0, batch.pose[1, 1], 0])


def test_a_reset_that_is_refused_changes_nothing():
    batch = bristle.Batch(scenario("reduced"), 3, device="cpu")
    batch.step()
    before = state(batch)
    for wrong, field in [
        ({"seed": [1, 2]}, "seed"),
        ({"seed": [1, 2, -3]}, "seed"),
        ({"seed": [1.0, 2.0, 3.0]}, "seed"),
        ({"seed": True}, "seed"),
        ({"seed": -1}, "seed"),
        ({"pose": [0, 0]}, "pose"),
        ({"pose": np.zeros((2, 3))}, "pose"),
        ({"pose": [0, 0, np.nan]}, "initial.pose.theta"),
        ({"twist": [1e12, 0, 0]}, "initial.twist"),
    ]:
        with pytest.raises((bristle.ParameterError, bristle.ScenarioError), match=field):
            batch.reset(**wrong)
        for seen, old in zip(state(batch), before, strict=True):
            assert np.array_equal(seen, old), wrong
    prescribed = bristle.Scenario.from_toml(
        'duration=1\n[patch]\nshape="disc"\ncells=5\n[friction]\n[body]\nkind="prescribed"\n[inputs]\nnormal_force=1\ntwist={vx=0.1,vy=0,w=0}\n'
    )
    with pytest.raises(bristle.ParameterError, match="twist"):
        bristle.Batch(prescribed, 2, device="cpu").reset(twist=[0, 0, 0])


def test_contacts_that_have_left_stay_where_they_are():
    """As ``stop_when`` says, until they are reset; the others go on."""
    batch = bristle.Batch(scenario("reduced", "[stop_when]\ndisplacement = 0.002"), 2, device="cpu")
    loose = np.array([0.01, 20.0])
    assert not batch.left.any()
    for _ in range(10):
        batch.step({"normal_force": loose})
    assert batch.left.tolist() == [True, False]
    moved = batch.read("displacement", dtype=np.float64)
    assert 0.002 <= moved[0] < 0.006 and moved[1] < 1e-4
    pose, times = batch.pose, batch.time
    batch.step()
    assert np.array_equal(batch.pose[0], pose[0]) and np.array_equal(batch.time, [times[0], times[1] + batch.dt])
    batch.copy(0, [1])
    assert batch.left.all()
    batch.reset(batch.left)
    assert not batch.left.any() and not batch.time.any()
    # A rollout holds them, too.
    poses = batch.rollout(20, {"normal_force": loose})["pose"]
    assert batch.left.tolist() == [True, False]
    assert np.array_equal(poses[0, -1], poses[0, -2]) and not np.array_equal(poses[0, 1], poses[0, 2])


def test_the_time_of_a_reset_does_not_grow_with_the_batch():
    """Least times of many calls in turns, so that other work on the machine does not count."""
    batches = [bristle.Batch(scenario("reduced"), n, device="cpu") for n in (256, 16_384)]
    for batch in batches:
        batch.step(ids=[0])
        batch.parameter("friction.mu_c")
    least = [np.inf, np.inf]
    for turn in range(200):
        for i, batch in enumerate(batches):
            began = time.perf_counter()
            batch.reset([7], seed=turn)
            batch.copy(7, [9])
            batch.parameter("friction.mu_c")[:1]
            least[i] = min(least[i], time.perf_counter() - began)
    # A copy of a column of 16 384 numbers is in it.
    assert least[1] < 2 * least[0], least


def test_a_restored_contact_is_judged_by_where_it_is():
    """Also in a copy and in a pickle of the batch."""
    batch = bristle.Batch(scenario("reduced", "[stop_when]\ndisplacement = 0.002"), 2, device="cpu")
    before = batch.save()
    for _ in range(10):
        batch.step({"normal_force": [0.01, 20.0]})
    assert batch.left.tolist() == [True, False]
    for other in (copy.copy(batch), pickle.loads(pickle.dumps(batch))):
        assert other.left.tolist() == [True, False]
        other.step()
        assert np.array_equal(other.time - batch.time > 0, [False, True])
    batch.restore(before)
    assert not batch.left.any() and np.array_equal(batch.read("since_slip"), [-1, -1])
    batch.step({"normal_force": 20.0})
    assert (batch.time == batch.dt).all()


def test_a_copy_does_not_know_how_long_a_contact_has_slipped():
    batch = bristle.Batch(scenario("reduced", "[stop_when]\nslip_for = 0.03"), 1, device="cpu")
    for _ in range(10):
        batch.step({"normal_force": 0.01})
    assert batch.left.all() and batch.read("since_slip") == 0
    for other in (copy.copy(batch), copy.deepcopy(batch), pickle.loads(pickle.dumps(batch))):
        assert np.array_equal(other.pose, batch.pose) and not other.left.any()
        other.step()
        assert (other.time > batch.time).all()


@pytest.mark.parametrize("device", ["cpu", "gpu"])
def test_other_cells_take_a_place_and_the_others_go_on(device):
    drawn = bristle.Scenario.from_toml(
        TEXT.format(model="", more="")
        .replace('shape = "disc"', 'shape = { choice = ["disc", "square"] }')
        .replace("cells = 5", "cells = 7")
    )

    def pose_after(batch, steps):
        for _ in range(steps):
            batch.step({"normal_force": 0.5})
        return batch.pose.copy()

    batch, alone = (bristle.Batch(drawn, 3, device=device) for _ in range(2))
    shapes = batch.expand("patch.shape")
    pose_after(batch, 2)
    for ids in ([0], [0, 0]):
        shapes[0] = 1 - shapes[0]
        batch.reset(ids)
        assert batch.time.tolist() == [0, 2 * batch.dt, 2 * batch.dt]
        assert batch.parameter("patch.shape")[0] == shapes[0]
    shapes[0] = 1 - shapes[0]
    batch.reset([0])
    new = bristle.Batch(drawn, 3, device=device)
    new.expand("patch.shape")[0] = shapes[0]
    new.reset([0])
    after = pose_after(batch, 3)
    assert np.array_equal(after[1:], pose_after(alone, 5)[1:])
    assert np.array_equal(after[0], pose_after(new, 3)[0])


def test_an_index_has_one_seed():
    batch = bristle.Batch(scenario("reduced"), 3, device="cpu")
    batch.step()
    for more in ({"seed": [1, 2]}, {"pose": np.zeros((2, 3))}):
        with pytest.raises(bristle.ParameterError, match="1 twice"):
            batch.reset([1, 1], **more)
    assert (batch.time == batch.dt).all()
    batch.reset([1, 1], seed=3)
    assert batch.time.tolist() == [batch.dt, 0, batch.dt]


def test_a_slip_at_the_start_of_a_rollout_is_seen():
    text = TEXT.format(model=REDUCED, more="").replace("normal_force = 4", "normal_force = 0.1")
    seen = []
    for more in ("", "[stop_when]\nrotation = 100.0"):
        batch = bristle.Batch(bristle.Scenario.from_toml(text + more), 1, device="cpu")
        batch.step()
        batch.step({"normal_force": 0.1})
        slip = batch.rollout(8, {"normal_force": 200.0}, record="slip")["slip"][0]
        assert slip[0] == 1 and slip[-1] == 0
        seen.append(batch.read("since_slip")[0])
    assert 0 < seen[0] == seen[1]

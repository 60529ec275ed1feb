"""Batches: inputs, steps, resets, rollouts, snapshots."""

from __future__ import annotations

import copy
import pickle
import threading

import numpy as np
import pytest
from conftest import BOX

import bristle


def batch(scenario, nsim=6, dt=1 / 64, **more):
    return bristle.Batch(scenario, nsim, dt, device="cpu", **more)


def test_samples_are_arrays_that_keep_their_numbers(box):
    b = batch(box)
    shapes = dict.fromkeys(("pose", "twist", "wrench"), (6, 3))
    shapes |= dict.fromkeys(("slip", "near_limit", "normal_force", "time"), (6,))
    before = {name: getattr(b, name) for name in shapes}
    b.step()
    for name, shape in shapes.items():
        after = getattr(b, name)
        assert after.shape == before[name].shape == shape
        assert after.dtype == np.float64
    assert np.all(before["time"] == 0) and np.all(before["pose"][:, 1:] == 0)
    assert np.all(b.time == 1 / 64) and np.all(b.pose[:, 1] < 0)
    assert b.status.dtype == np.uint32 and not b.status.any() and not b.failed.any()
    assert b.steps.dtype == np.uint64 and np.all(b.steps > 10)
    assert b.bristles(0).shape[1] == 2
    assert b.engine.engine == "cpu" and b.engine.precision == "f32"
    assert len(b) == b.nsim == 6 and b.dt == 1 / 64 and b.engine_time > 0


def test_controls_of_all_shapes_are_the_same_numbers(box):
    """A force given as one number, by contact, by interval, and by both."""
    n, steps = 6, 4
    by_both = np.linspace(1.0, 2.0, n * steps).reshape(n, steps)
    for given in (2.0, np.float32(2), np.full(n, 2), by_both[:, 0], by_both[0], by_both, by_both.astype(np.float32)):
        table = np.asarray(given, dtype=np.float64)
        table = table[:, None] if table.shape == (n,) else table
        changes = table.ndim and table.shape[-1] > 1
        table = np.broadcast_to(table, (n, steps))
        one, other = batch(box), batch(box)
        out = one.rollout(steps, {"normal_force": given}, record=["normal_force", "pose"])
        assert np.array_equal(out["normal_force"][:, 1:], table)
        for j in range(steps):
            # What holds for all intervals is set once.
            other.step({"normal_force": table[:, j]} if j == 0 or changes else None)
            assert np.array_equal(other.pose, out["pose"][:, j + 1])
    # Rows and columns of another order in memory, and every other one.
    wide = np.asfortranarray(np.repeat(by_both, 2, axis=0))[::2]
    assert not wide.flags.c_contiguous
    out, same = (batch(box).rollout(steps, {"normal_force": f})["pose"] for f in (wide, by_both))
    assert np.array_equal(out, same)


def test_groups_are_their_members(box, pushed):
    loads = np.array([[0.1, 0.2, 1e-3], [0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1e-2], [-1, 0, 0]])
    one, other = batch(box), batch(box)
    one.step({"wrench": loads, "gravity": [0, -5]})
    other.step({"wrench.fx": loads[:, 0], "wrench.fy": loads[:, 1], "wrench.tau": loads[:, 2], "gravity.1": -5})
    assert np.array_equal(one.pose, other.pose)
    assert len(np.unique(one.pose[:, 0])) > 4
    b = bristle.Batch(pushed, dt=0.5)
    out = b.rollout(2, {"twist": [[[0.01, 0, 0], [0, 0.02, 0]]]}, record=["pose"])
    assert np.allclose(out["pose"][:, 2], [0.005, 0.01, 0])
    with pytest.raises(bristle.ParameterError, match=r"one of normal_force, twist\.vx"):
        b.step({"wrench": [0, 0, 0]})


def test_some_contacts_advance_alone(box):
    b = batch(box)
    b.step({"normal_force": [3.0, 4.0]}, ids=[1, 4])
    assert b.time.tolist() == [0, 1 / 64, 0, 0, 1 / 64, 0]
    assert b.normal_force[[1, 4]].tolist() == [3, 4]
    b.step(ids=b.time == 0)
    assert np.all(b.time == 1 / 64)
    b.step({"normal_force": []}, ids=[])
    assert np.all(b.time == 1 / 64)
    b.reset(np.array([0, 5]))
    assert b.time.tolist() == [0, *[1 / 64] * 4, 0]


def test_a_rollout_writes_to_given_arrays_and_tells_its_progress(box):
    calls = []
    out = {"pose": np.empty((6, 4, 3)), "slip": np.empty((6, 4)), "more": np.empty(0)}
    b = batch(box)
    made = b.rollout(6, record=["pose", "slip"], every=2, out=out, progress=lambda *a: calls.append(a))
    assert made["pose"] is out["pose"] and sorted(made) == ["pose", "slip"]
    assert calls[-1] == (6, 6)
    assert calls == sorted(calls)
    whole = batch(box).rollout(6, record=["pose", "slip"])
    assert np.array_equal(made["pose"][:, 0], whole["pose"][:, 0])
    assert np.allclose(made["pose"], whole["pose"][:, ::2], rtol=0, atol=1e-7)
    # Samples that are read end a step: with as many of them, the bits are the same.
    assert np.array_equal(batch(box).rollout(6, every=2)["pose"], made["pose"])

    def stop(done: int, of: int) -> None:
        raise RuntimeError(f"{done} of {of}")

    with pytest.raises(RuntimeError, match="6 of 6"):
        b.rollout(6, progress=stop, every=2)
    with pytest.raises(bristle.BusyError):
        b.rollout(6, progress=lambda *_: b.pose)
    assert np.isfinite(b.pose).all()


def test_expanded_parameters_are_those_of_the_contacts(box):
    mu = np.linspace(0.2, 1.2, 6)
    b = batch(box)
    live = b.expand("friction.mu_c")
    assert np.array_equal(live, box.draw(6)["friction.mu_c"]) and b.expand("friction.mu_c") is live
    live[:] = mu
    b.step()
    assert np.array_equal(b.parameter("friction.mu_c"), mu)
    assert np.array_equal(b.parameter("friction.mu_s"), 1.2 * mu), "what follows from it follows"
    for k, m in enumerate(mu):
        text = bristle.Scenario.from_toml(BOX, changes=[f"friction.mu_c={float(m)!r}"])
        alone = batch(text)
        alone.step()
        assert np.array_equal(alone.pose[k], b.pose[k])
    # From the next start on, and of these contacts alone.
    pose = b.pose
    live[2] = 0.9
    b.step()
    assert b.parameter("friction.mu_c")[2] == mu[2]
    b.reset([2])
    assert b.parameter("friction.mu_c")[2] == 0.9 and b.time.tolist() == [1 / 32, 1 / 32, 0, *[1 / 32] * 3]
    b.step(ids=[2])
    assert not np.array_equal(pose[2], b.pose[2])
    for name, accepted in [("friction.mu_d", "mu_c"), ("body.inertia", "drawn with"), (3, "friction.mu_c")]:
        with pytest.raises(bristle.ParameterError, match=accepted):
            b.expand(name)
    live[0] = -1
    with pytest.raises(bristle.ScenarioError, match="finite number from 1e-9 to 1e6") as error:
        b.reset()
    assert error.value.field == "friction.mu_c" and error.value.value == "-1"
    assert np.all(b.time[:2] > 0), "nothing was reset"


def test_a_reset_in_part_leaves_the_others_as_they_are(box):
    """New parameters for some contacts: the others go on with the bits that they would have had."""
    whole, part = batch(box), batch(box)
    part.expand("body.mass")
    for b in (whole, part):
        b.step({"normal_force": np.linspace(1, 2, 6)})
    part.reset([0, 3], seed=99)
    mass = box.draw(6, seed=99)["body.mass"]
    assert np.array_equal(part.parameter("body.mass")[[0, 3]], mass[[0, 3]])
    assert np.array_equal(part.expand("body.mass"), part.parameter("body.mass"))
    for b in (whole, part):
        b.step(ids=[1, 2, 4, 5])
    assert np.array_equal(whole.pose[[1, 2, 4, 5]], part.pose[[1, 2, 4, 5]])
    assert np.array_equal(part.time == 0, [True, False, False, True, False, False])
    other = batch(box, seed=99)
    part.reset([0, 3])
    for b in (other, part):
        b.step(ids=[0, 3])
    assert np.array_equal(other.pose[[0, 3]], part.pose[[0, 3]])


def test_a_contact_that_is_drawn_anew_leaves_the_others_where_they_are(box):
    """Its parameters, those that follow from others too, and its motion are those of a new batch."""
    one, undisturbed, fresh = batch(box, seed=1), batch(box, seed=1), batch(box, seed=5)
    live = one.expand("body.mass")
    names = [name for name, _ in box._core.parameters(0, 1)]
    before = {name: one.parameter(name) for name in names}
    for b in (one, undisturbed):
        b.step()
    one.reset([2], seed=5)
    others = np.arange(6) != 2
    for name in names:
        after = one.parameter(name)
        assert np.array_equal(after[others], before[name][others], equal_nan=True), name
        assert np.array_equal(after[2], fresh.parameter(name)[2], equal_nan=True), name
    assert live[2] == fresh.parameter("body.mass")[2] != before["body.mass"][2]
    # What is given back is a copy.
    one.parameter("body.mass")[:] = 0.0
    assert np.all(one.parameter("body.mass") > 0.0)
    for _ in range(3):
        for b in (one, undisturbed, fresh):
            b.step()
        assert np.array_equal(one.pose[others], undisturbed.pose[others])
        assert np.array_equal(one.pose[2], fresh.pose[2]) and one.time[2] == fresh.time[2]


def test_states_are_saved_restored_and_branched(box):
    b = batch(box)
    b.step()
    snapshot = b.save()
    assert len(snapshot) == 6 and "f32" in snapshot.engine
    b.step()
    then = b.pose
    b.restore(snapshot)
    b.step()
    assert np.array_equal(b.pose, then)
    b.restore(pickle.loads(pickle.dumps(snapshot)))
    b.step()
    assert np.array_equal(b.pose, then)
    b.copy(0, [3, 4])
    assert np.array_equal(b.pose[[3, 4]], b.pose[[0, 0]])
    with pytest.raises(bristle.ParameterError, match="snapshot = 6 contacts: expected 2"):
        batch(box, nsim=2).restore(snapshot)
    with pytest.raises(bristle.ParameterError, match="damaged"):
        bristle.Snapshot.from_bytes(snapshot.to_bytes()[:-1])


@pytest.mark.parametrize("remake", [copy.copy, copy.deepcopy, lambda b: pickle.loads(pickle.dumps(b))])
def test_a_copy_goes_on_with_the_same_bits(box, remake):
    b = batch(box, seed=7)
    b.expand("friction.mu_c")[1] = 0.3
    b.step({"normal_force": 2.5})
    b.reset([4], seed=8)
    b.expand("friction.mu_c")[2] = 0.4
    same = remake(b)
    assert same.expand("friction.mu_c") is not b.expand("friction.mu_c")
    for other in (b, same):
        other.step()
        other.reset([2])
        other.step()
    assert np.array_equal(same.pose, b.pose) and np.array_equal(same.time, b.time)
    assert np.array_equal(same.parameter("friction.mu_c"), b.parameter("friction.mu_c"))
    # One that has not been started, either.
    new = batch(box)
    new.expand("friction.mu_c")[:] = 0.5
    assert np.array_equal(remake(new).rollout(2)["pose"], new.rollout(2)["pose"])
    scenario = pickle.loads(pickle.dumps(box))
    assert scenario.text == box.text and scenario.name == box.name


def test_pressure_maps_are_set_over_time():
    """Pressure on one cell alone: turned about the origin, it resists by the cell's distance."""
    text = """
duration = 1
patch = { shape = "square", cells = [3, 2], size = [0.03, 0.02] }
friction = { mu_c = 1, mu_s = 1, sigma2 = 0 }
body = { kind = "prescribed" }
inputs = { normal_force = 2, twist = { vx = 0.5, at = "origin" } }
"""
    scenario = bristle.Scenario.from_toml(text)
    b = batch(scenario, nsim=2, frames=True, dt=0.125)
    maps = np.zeros((2, 3, 2, 3))
    maps[0, :, 0, 2] = [1, 2, 3]
    maps[1, 0, 1, 0] = maps[1, 1, 0, 0] = maps[1, 2, 0, 1] = 5
    out = b.rollout(3, {"pressure": maps}, record=["wrench"])["wrench"][:, 1:]
    # Friction of -2 N along x on the cell at height y has the moment 2 y; the top row comes first.
    assert np.allclose(out[:, :, 0], -2, atol=1e-4)
    assert np.allclose(out[:, :, 2], [[0.01, 0.01, 0.01], [-0.01, 0.01, 0.01]], atol=1e-6)
    with pytest.raises(bristle.ParameterError, match="frames=True"):
        batch(scenario).step({"pressure": np.ones((2, 3))})
    for wrong in (np.ones((3, 2)), np.ones((2, 2, 2, 3)), np.zeros((2, 3)), -np.ones((2, 3))):
        with pytest.raises(bristle.ParameterError, match="pressure"):
            b.step({"pressure": wrong})


def test_a_response_is_the_derivative_of_friction(box):
    b = batch(box, nsim=3)
    b.step({"normal_force": 3.0})
    twist, dt = np.array([1e-4, -2e-4, 1e-3]), 1e-3
    wrench, gain = b.respond(twist, dt)
    assert wrench.shape == (3, 3) and gain.shape == (3, 3, 3)
    for i, h in enumerate([1e-7, 1e-7, 1e-5]):
        move = np.eye(3)[i] * h
        slope = (b.respond(twist + move, dt).wrench - b.respond(twist - move, dt).wrench) / (2 * h)
        assert np.allclose(slope, gain[:, :, i], rtol=2e-2, atol=2e-2 * np.abs(gain).max(axis=(1, 2))[:, None])


def test_two_batches_in_two_threads_and_one_batch_in_two(box):
    expected = batch(box, nsim=64).rollout(32)["pose"]
    results = {}

    def work(name):
        results[name] = batch(box, nsim=64).rollout(32)["pose"]

    threads = [threading.Thread(target=work, args=(i,)) for i in range(2)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert all(np.array_equal(results[i], expected) for i in range(2))

    shared, inside, met = batch(box, nsim=4), threading.Event(), threading.Event()

    def hold(done, of):
        inside.set()
        met.wait()

    thread = threading.Thread(target=lambda: shared.rollout(1, progress=hold))
    thread.start()
    inside.wait()
    with pytest.raises(bristle.BusyError, match="another thread"):
        shared.step()
    met.set()
    thread.join()
    shared.step()
    assert np.all(shared.time == 2 / 64)


def test_a_hundred_thousand_contacts():
    text = """
duration = 1
contact = { model = "reduced", surface = "ellipsoid" }
patch = { shape = "square", cells = 3 }
friction = { mu_c = { uniform = [0.5, 1] } }
body = { kind = "gripper", mass = 0.2, inertia = { disc = 0.05 } }
inputs = { normal_force = 0.5, gravity = [0, -9.81] }
"""
    n = 100_000
    b = batch(bristle.Scenario.from_toml(text), nsim=n, dt=2e-3)
    b.expand("friction.mu_c")[:] = np.linspace(0.5, 3.5, n)
    forces = np.full(n, 0.5)
    forces[7] = 5
    out = b.rollout(2, {"normal_force": forces}, record=["pose", "slip"])
    assert out["pose"].shape == (n, 3, 3)
    falls = out["pose"][:, 2, 1]
    # 2 mu f = 0.5 .. 3.5 N hold 1.96 N or do not.
    # What holds gives way by the deflection of its bristles alone.
    assert falls[0] < -4e-5 and abs(falls[-1]) < 5e-6 and abs(falls[7]) < 5e-6


def test_a_failed_contact_is_marked_and_spoils_nothing(box):
    scenario = bristle.Scenario.from_toml(BOX, changes=["limits.steps=100"])
    b = batch(scenario, nsim=3, dt=1 / 64)
    b.step()
    good = b.save()
    b.restore(good)
    far = bristle.Batch(scenario, 3, 1.0, device="cpu")
    far.step(ids=[1])
    assert far.status.tolist() == [0, 8, 0] and far.failed.tolist() == [False, True, False]
    assert np.isnan(far.pose[1]).all() and np.isfinite(far.pose[[0, 2]]).all()
    assert np.isnan(far.respond([0, 0, 0], 1e-3).wrench[1]).all()
    far.reset(far.failed)
    assert not far.failed.any() and np.isfinite(far.pose).all()


BELT = """
duration = 1.0
patch = { shape = "disc", cells = 7 }
friction = { mu_c = 0.4, mu_s = 0.4, sigma2 = 0.0 }
body = { kind = "world", mass = 0.5, inertia = { disc = 0.02 } }
inputs = { normal_force = 4.9, surface = { vx = 0.0, w = 0.0, at = [0.1, 0.0] } }
"""
SURFACE = ", surface = { vx = 0.0, w = 0.0, at = [0.1, 0.0] }"


def test_a_belt_is_a_control_and_carries_what_lies_on_it():
    scenario = bristle.Scenario.from_toml(BELT)
    assert {"surface.vx", "surface.vy", "surface.w"} <= set(scenario.inputs)
    batch = bristle.Batch(scenario, nsim=3, dt=0.2, device="cpu")
    batch.step({"surface": [[0.0, 0.0, 0.0], [0.1, -0.2, 0.0], [0.0, 0.0, 1.0]]})
    # What turns with a turntable around (0.1, 0) moves along -y at its origin.
    assert np.allclose(batch.twist[:2], [[0.0, 0.0, 0.0], [0.1, -0.2, 0.0]], atol=1e-5)
    x, y, _ = batch.pose[2]
    assert np.allclose(batch.twist[2], [-y, x - 0.1, 1.0], atol=1e-5) and x > 0.0 > y
    batch.step({"surface.vx": 0.3, "surface.w": 0.0})
    assert np.allclose(batch.twist[:, 0], 0.3, atol=1e-5)
    resting = bristle.Batch(bristle.Scenario.from_toml(BELT.replace(SURFACE, "")), dt=0.2)
    with pytest.raises(bristle.ParameterError, match="surface"):
        resting.step({"surface.vx": 0.1})


def test_friction_by_region_turns_what_slides():
    moving = BELT.replace(SURFACE, "") + "\ninitial = { twist = [0, 0.3, 0] }\n"
    halves = bristle.Scenario.from_toml(moving, changes=["friction.map=[[1, 0.25]]"])
    batch = bristle.Batch(halves, dt=0.02, device="cpu")
    batch.step()
    # The left half holds back its side.
    assert batch.twist[0, 1] < 0.3 and batch.twist[0, 2] > 0.1
    with pytest.raises(bristle.ScenarioError, match=r"friction\.map = 0: expected a finite number from 0\.001"):
        bristle.Scenario.from_toml(moving, changes=["friction.map=[[1, 0]]"])
    # Weak across an axis of 45 degrees: it is led along the axis.
    ribs = bristle.Scenario.from_toml(moving, changes=["friction.mu={ ratio = 0.1, angle = 0.785 }"])
    batch = bristle.Batch(ribs, dt=0.02, device="cpu")
    batch.step()
    assert abs(batch.twist[0, 0]) > 0.01
    with pytest.raises(bristle.ScenarioError, match=r"friction\.mu\.ratio = 0: expected a finite number from 0\.001"):
        bristle.Scenario.from_toml(moving, changes=["friction.mu={ ratio = 0 }"])

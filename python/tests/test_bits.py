"""Results have the bits of the program."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import BOX

import bristle

RECORD = ("time", "pose", "twist", "wrench", "slip", "near_limit", "normal_force")


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param([], id="f32"),
        pytest.param(["precision=f64", "friction.law=lugre"], id="f64"),
        pytest.param(["contact.model=reduced"], id="reduced"),
        pytest.param(["step={ tolerance = 3e-6 }"], id="adaptive"),
        pytest.param(["engine=gpu", "contacts=3"], id="gpu"),
    ],
)
def test_a_rollout_has_the_bits_of_the_command_line(cli, changes):
    text = bristle.Scenario.from_toml(BOX, changes=changes).text
    expected = cli(text)
    scenario = bristle.Scenario.from_toml(text)
    device = "gpu" if "engine=gpu" in changes else "cpu"
    b = bristle.Batch(scenario, dt=1 / 128, device=device)
    out = b.rollout(32, record=RECORD)
    assert np.array_equal(out["time"], np.broadcast_to(expected["time"], out["time"].shape))
    for name in RECORD[1:]:
        assert np.array_equal(out[name], expected[name]), name
    assert np.abs(np.diff(out["pose"], axis=1)).max() > 1e-4, "something moves"
    # Step by step, the same.
    b.reset()
    for j in range(1, 33):
        b.step()
        assert np.array_equal(b.pose, out["pose"][:, j]) and np.array_equal(b.wrench, out["wrench"][:, j])
    for name, values in scenario.draw().items():
        assert np.array_equal(values, expected[name]), name
        assert np.array_equal(b.parameter(name), expected[name]), name


def test_a_contact_is_the_same_among_any_neighbours(box):
    few, many = (bristle.Batch(box, nsim=n, dt=1 / 64, device="cpu") for n in (3, 200))
    assert np.array_equal(few.rollout(8)["pose"], many.rollout(8)["pose"][:3])


def test_parts_of_a_call_do_not_show(box):
    """Contacts that are advanced a few at a time are where they would be together."""
    whole, parts = (bristle.Batch(box, nsim=40, dt=1 / 64, device="cpu") for _ in range(2))
    for _ in range(4):
        whole.step()
        for first in range(0, 40, 7):
            parts.step(ids=np.arange(first, min(first + 7, 40)))
        assert np.array_equal(whole.pose, parts.pose)


@pytest.mark.parametrize("changes", [[], ["contact.model=reduced", "step={ tolerance = 3e-6 }"], ["patch.shape=hertz"]])
def test_a_long_rollout_under_any_control_has_the_bits_of_steps(changes):
    """Rollouts let each contact go its own way, in parts, where they can; steps do not."""
    scenario = bristle.Scenario.from_toml(BOX, changes=changes)
    rng = np.random.default_rng(4)
    forces, loads = rng.uniform(1, 2, (20, 150)), rng.normal(0, 0.3, (150, 3))
    one, other = (bristle.Batch(scenario, 20, 1 / 128, device="cpu") for _ in range(2))
    for first, last in [(0, 140), (140, 150)]:
        now = {"normal_force": forces[:, first:last], "wrench": loads[None, first:last]}
        out = one.rollout(last - first, now, record=RECORD)
        for j in range(first, last):
            assert np.array_equal(other.pose, out["pose"][:, j - first])
            other.step({"normal_force": forces[:, j], "wrench": loads[j]})
            for name in RECORD:
                assert np.array_equal(getattr(other, name), out[name][:, j - first + 1]), (name, j)
    assert np.array_equal(one.time, other.time)
    # Of contacts at different times each goes on from its own.
    one.step(ids=[3])
    other.step(ids=[3])
    out = one.rollout(2, record=["time", "pose"])
    for j in range(3):
        # What is read ends a step.
        assert np.array_equal(out["time"][:, j], other.time) and np.array_equal(out["pose"][:, j], other.pose)
        other.step()

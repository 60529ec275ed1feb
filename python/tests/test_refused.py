"""A refused call changes nothing, not even later results."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import BOX, PUSHED

import bristle

N = 6


def batch(text: str = BOX, n: int = N, **more) -> bristle.Batch:
    return bristle.Batch(bristle.Scenario.from_toml(text), n, 1 / 64, device="cpu", **more)


def last(good: float, bad: float, n: int = N) -> np.ndarray:
    values = np.full(n, float(good))
    values[-1] = bad
    return values


MAPS = np.ones((N, 11, 11))
EMPTY = np.concatenate([MAPS[1:], np.zeros((1, 11, 11))])
OVER_TIME = np.broadcast_to(last(0.6, 99.0, 4), (N, 4))


@pytest.mark.parametrize(
    "call",
    [
        lambda b: b.step({"normal_force": 3, "mu_c": 99}),
        lambda b: b.step({"normal_force": 3, "mu_c": last(0.6, 99)}),
        lambda b: b.step({"mu_c": last(0.6, -1), "normal_force": 3}),
        lambda b: b.step({"normal_force": last(3, np.nan)}),
        lambda b: b.step({"normal_force": 3, "mu_c": 0.7, "mu_s": last(0.9, 0.6)}),
        lambda b: b.step({"mu_s": last(0.9, 0.6), "mu_c": 0.7, "normal_force": 3}),
        lambda b: b.step({"normal_force": 3, "pressure": EMPTY}),
        lambda b: b.step({"pressure": MAPS, "mu_s": 1e-3}),
        lambda b: b.step({"pressure": -MAPS[0], "normal_force": 3}),
        lambda b: b.step({"normal_force": 3, "wrench": [1, 2]}),
        lambda b: b.step({"normal_force": 3}, ids=[0, N]),
        lambda b: b.rollout(4, {"normal_force": 3, "mu_c": OVER_TIME}),
        lambda b: b.rollout(4, {"mu_s": 1.0, "mu_c": np.linspace(0.5, 1.1, 4), "normal_force": 3}),
        lambda b: b.rollout(4, {"normal_force": np.broadcast_to(last(3, np.inf, 4), (N, 4))}),
        lambda b: b.rollout(2, {"normal_force": 3, "pressure": np.stack([MAPS, EMPTY], axis=1)}),
        lambda b: b.rollout(2, {"normal_force": 3}, record=["pose"], out={"pose": np.empty((N, 2, 3))}),
        lambda b: b.reset([0, N]),
        lambda b: b.reset(seed=-1),
        lambda b: b.copy(0, [1, N]),
        lambda b: b.restore(batch(PUSHED).save()),
        lambda b: b.restore(batch(n=2).save()),
        lambda b: b.respond([np.nan, 0, 0]),
        lambda b: b.respond([0, 0, 0], dt=-1),
        lambda b: b.expand("friction.mu_d"),
    ],
)
def test_a_refused_call_is_not_felt(call):
    b, other = batch(frames=True), batch(frames=True)
    for one in (b, other):
        one.step({"normal_force": 2.0})
    with pytest.raises(bristle.ParameterError):
        call(b)
    for one in (b, other):
        one.step()
    assert np.array_equal(b.time, other.time) and np.array_equal(b.normal_force, other.normal_force)
    assert np.array_equal(b.pose, other.pose) and np.array_equal(b.bristles(0), other.bristles(0))


@pytest.mark.parametrize("names", [("mu_c", "mu_s"), ("mu_s", "mu_c")])
@pytest.mark.parametrize(("mu_c", "mu_s"), [(2.0, 3.0), (0.05, 0.06), (1.5, 1.5)])
def test_coefficients_are_a_pair_in_any_order(names, mu_c, mu_s):
    """Both above the static one, both below the other, and equal."""
    values = {"mu_c": mu_c, "mu_s": mu_s}
    b = batch()
    b.step()
    b.step({name: values[name] for name in names})
    b.rollout(2, {name: np.full(2, 2 * values[name]) for name in names})
    with pytest.raises(bristle.ParameterError, match=r"inputs\.mu_s = 0\.4: expected a coefficient >= mu_c = 0\.5"):
        b.step({name: {"mu_c": 0.5, "mu_s": 0.4}[name] for name in names})
    with pytest.raises(bristle.ParameterError, match=r"inputs\.mu_c = 100: expected a coefficient > 0 and <= mu_s"):
        b.step({"mu_c": 100})


def test_samples_of_a_refused_rollout_are_not_written():
    b = batch()
    out = {"pose": np.full((N, 5, 3), 7.0)}
    with pytest.raises(bristle.ParameterError):
        b.rollout(4, {"mu_c": OVER_TIME}, record=["pose"], out=out)
    assert np.all(out["pose"] == 7)


@pytest.mark.parametrize(
    "call",
    [
        lambda b: b.step({"mu_c": 99}),
        lambda b: b.step({"mu_d": 1}),
        lambda b: b.rollout(2, {"mu_c": 99}),
        lambda b: b.bristles(99),
        lambda b: b.copy(0, [99]),
        lambda b: b.respond([np.nan, 0, 0]),
        lambda b: b.restore(batch(n=2).save()),
    ],
)
def test_a_refused_first_call_has_started_nothing(call):
    """Parameters are taken at the first call that is done."""
    b = batch()
    live = b.expand("friction.mu_c")
    drawn = live.copy()
    live[:] = 0.3
    with pytest.raises(bristle.ParameterError):
        call(b)
    assert np.array_equal(b.parameter("friction.mu_c"), drawn)
    live[:] = 0.9
    b.step()
    assert np.all(b.parameter("friction.mu_c") == 0.9)
    other = batch()
    other.expand("friction.mu_c")[:] = 0.9
    other.step()
    assert np.array_equal(b.pose, other.pose)
    # One whose start is refused has its values still.
    b = batch()
    b.expand("friction.mu_c")[2] = -1
    with pytest.raises(bristle.ScenarioError):
        b.step()
    b.expand("friction.mu_c")[2] = 0.9
    b.step()


def test_a_contact_that_is_named_twice_advances_once():
    b = batch(n=2, frames=True)
    b.step({"normal_force": 4}, ids=[1, 1])
    assert b.time.tolist() == [0, 1 / 64] and b.normal_force[1] == 4
    # Each of them would have a value of its own.
    for control in ({"normal_force": [3, 4]}, {"wrench": np.zeros((2, 3))}, {"pressure": MAPS[:2]}):
        with pytest.raises(bristle.ParameterError, match="ids = 1 twice: expected each index once"):
            b.step(control, ids=[1, 1])
    assert b.time.tolist() == [0, 1 / 64]
    many = batch(n=300)
    many.step(ids=[7] * 300)
    assert np.count_nonzero(many.time) == 1 and many.time[7] == 1 / 64

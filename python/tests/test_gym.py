"""Vector environments, by the real package."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

import bristle
from bristle.gym import PIVOT, PalmVectorEnv, PivotVectorEnv

NAMES = ["bristle/Pivot-v0", "bristle/Palm-v0"]
BOTH = [PivotVectorEnv, PalmVectorEnv]


def actions(envs, step):
    """Some actions, of environment k and the time alone."""
    k = np.arange(envs.num_envs)[:, None] + np.arange(envs.single_action_space.shape[0])
    return np.sin(1.0 + 0.7 * k + 0.1 * step).astype(np.float32)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("error")
def test_gymnasium_accepts_the_environment(name):
    check_env(gymnasium.make(name).unwrapped)
    envs = gymnasium.make_vec(name, num_envs=3)
    seen, _ = envs.reset(seed=0)
    assert seen in envs.observation_space and envs.action_space.sample().shape[0] == 3


@pytest.mark.parametrize("kind", BOTH)
def test_episodes_depend_on_seed_and_index_alone(kind):
    """Environment k is the same among few and among many, and in its second episode whenever the first has ended."""
    few, many, other = kind(3), kind(5), kind(3)
    first, more, unlike = few.reset(seed=7)[0], many.reset(seed=7)[0], other.reset(seed=8)[0]
    assert np.array_equal(first, more[:3]) and not np.array_equal(first, unlike)
    for step in range(20):
        seen, wider = few.step(actions(few, step)), many.step(actions(many, step))
        for part, rest in zip(seen[:4], wider[:4], strict=True):
            assert np.array_equal(part, rest[:3])
    # Seeds by environment; one that is None goes on with its own.
    again = few.reset(seed=[8, 7, None])[0]
    assert np.array_equal(again[0], unlike[0]) and np.array_equal(again[1], first[1])
    assert not np.array_equal(again[2], first[2])
    # The next episode has other friction and another target.
    before = few.batch.parameter("friction.mu_c").copy(), few.target.copy()
    few.reset()
    assert (few.batch.parameter("friction.mu_c") != before[0]).all() and (few.target != before[1]).all()


@pytest.mark.parametrize("kind", BOTH)
def test_a_masked_reset_leaves_the_others_alone(kind):
    envs, alone = kind(4, autoreset_mode="Disabled"), kind(4, autoreset_mode="Disabled")
    for one in (envs, alone):
        one.reset(seed=1)
        for step in range(5):
            one.step(actions(one, step))
    mask = np.array([False, True, False, False])
    seen, _ = envs.reset(seed=9, options={"reset_mask": mask})
    fresh = kind(4).reset(seed=9)[0]
    assert np.array_equal(seen[1], fresh[1])
    one, other = envs.step(actions(envs, 5)), alone.step(actions(alone, 5))
    assert np.array_equal(one[0][~mask], other[0][~mask]) and not np.array_equal(one[0][1], other[0][1])
    for wrong in (np.zeros(4, bool), np.ones(3, bool), np.ones(4)):
        with pytest.raises(ValueError, match="reset_mask"):
            envs.reset(options={"reset_mask": wrong})


def run(envs, steps):
    envs.reset(seed=3)
    return [envs.step(actions(envs, step)) for step in range(steps)]


@pytest.mark.parametrize("kind", BOTH)
def test_autoreset_modes_are_those_of_gymnasium(kind):
    """The same episodes in each mode: the next step, or the same one, starts the next episode."""
    n = kind.horizon
    later, at_once = kind(2), kind(2, autoreset_mode=AutoresetMode.SAME_STEP)
    assert later.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    one, other = run(later, n + 1), run(at_once, n)
    # Environments that ended earlier have other histories; those that last are compared.
    last = one[n - 1][3]
    assert last.any() and np.array_equal(other[n - 1][3] & last, last)
    assert np.array_equal(np.stack(other[n - 1][4]["final_obs"][last]), one[n - 1][0][last])
    assert np.array_equal(other[n - 1][0][last], one[n][0][last]), "the first observation of the next episode"
    assert np.all(one[n][1][last] == 0) and not one[n][3][last].any()
    assert other[n - 1][4]["_final_obs"][last].all()
    # Disabled: an episode that has ended waits for its reset.
    envs = kind(2, autoreset_mode="Disabled")
    envs.reset(seed=3)
    for step in range(n):
        ended = envs.step(actions(envs, step))
        if (ended[2] | ended[3]).any():
            break
    with pytest.raises(gymnasium.error.ResetNeeded):
        envs.step(actions(envs, n))
    envs.reset(options={"reset_mask": ended[2] | ended[3]})
    envs.step(actions(envs, n))


def test_a_firm_grip_holds_and_a_loose_one_drops():
    envs = PivotVectorEnv(8)
    envs.reset(seed=0)
    for _ in range(20):
        seen, rewards, ended, _, _ = envs.step(np.ones((8, 1)))
    assert np.abs(seen[:, 1]).max() < 1e-3 and not ended.any() and (rewards < 0).all()
    dropped = np.zeros(8, bool)
    for _ in range(40):
        _, rewards, ended, _, _ = envs.step(-np.ones((8, 1)))
        assert (rewards[ended] < -10).all()
        dropped |= ended
    assert dropped.all()


def test_another_scenario_may_be_given():
    slippery = bristle.Scenario.from_toml(PIVOT, changes=["friction.mu_c=0.11"])
    envs = PivotVectorEnv(2, scenario=slippery)
    envs.reset(seed=0)
    assert (envs.batch.parameter("friction.mu_c") == 0.11).all()


def test_a_reset_that_is_refused_changes_nothing():
    envs, other = PivotVectorEnv(3), PivotVectorEnv(3)
    for one in (envs, other):
        one.reset(seed=1)
    for seed in ([1, 2], [1, 2, 3, 4], [1, -2, 3], [1, 2.5, 3]):
        with pytest.raises(ValueError, match="expected a number >= 0, or 3 of them or None"):
            envs.reset(seed=seed)
    assert np.array_equal(envs.reset()[0], other.reset()[0])

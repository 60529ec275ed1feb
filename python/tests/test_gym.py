"""Vector environments, by the real package."""

from __future__ import annotations

import pickle
import subprocess
import sys

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

import bristle
from bristle.gym import PIVOT, ContactVectorEnv, Draws, HoldVectorEnv, PalmVectorEnv, PivotVectorEnv

NAMES = ["bristle/Pivot-v0", "bristle/Palm-v0", "bristle/Hold-v0"]
BOTH = [PivotVectorEnv, PalmVectorEnv]
ALL = [*BOTH, HoldVectorEnv]


def actions(envs, step):
    """Some actions, of environment k and the time alone."""
    k = np.arange(envs.num_envs)[:, None] + np.arange(envs.single_action_space.shape[0])
    scale = 0.1 if isinstance(envs, HoldVectorEnv) else 1.0
    return (scale * np.sin(1.0 + 0.7 * k + 0.1 * step)).astype(np.float32)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("error")
def test_gymnasium_accepts_the_environment(name):
    check_env(gymnasium.make(name, render_mode="rgb_array").unwrapped)
    envs = gymnasium.make_vec(name, num_envs=3)
    seen, _ = envs.reset(seed=0)
    assert seen in envs.observation_space and envs.action_space.sample().shape[0] == 3


@pytest.mark.parametrize("kind", ALL)
def test_episodes_depend_on_seed_and_index_alone(kind):
    """Environment k is the same among few and among many, and in its second episode whenever the first has ended."""
    few, many, other = kind(3), kind(5), kind(3)
    first, more, unlike = few.reset(seed=7)[0], many.reset(seed=7)[0], other.reset(seed=8)[0]
    masses = [envs.batch.parameter("body.mass") for envs in (few, many, other)]
    assert np.array_equal(first, more[:3]) and np.array_equal(masses[0], masses[1][:3])
    assert (masses[0] != masses[2]).all()
    for step in range(20):
        seen, wider = few.step(actions(few, step)), many.step(actions(many, step))
        for part, rest in zip(seen[:4], wider[:4], strict=True):
            assert np.array_equal(part, rest[:3])
    # Seeds by environment; one that is None goes on with its own.
    again = few.reset(seed=[8, 7, None])[0]
    assert np.array_equal(again[0], unlike[0]) and np.array_equal(again[1], first[1])
    now = few.batch.parameter("body.mass")
    assert (now[0], now[1]) == (masses[2][0], masses[0][1]) and now[2] != masses[0][2]
    # The next episode has other friction and another target.
    before = few.batch.parameter("friction.mu_c").copy(), few.goal()
    few.reset()
    assert (few.batch.parameter("friction.mu_c") != before[0]).all()
    assert before[1] is None or (few.goal()[:, 2] != before[1][:, 2]).all()


@pytest.mark.parametrize("kind", ALL)
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


@pytest.mark.parametrize("kind", ALL)
def test_autoreset_modes_are_those_of_gymnasium(kind):
    """The same episodes in each mode: the next step, or the same one, starts the next episode."""
    n = kind.horizon
    later, at_once = kind(9), kind(9, autoreset_mode=AutoresetMode.SAME_STEP)
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
    for seed in (True, [1, True, 3], [1, 2], [1, 2, 3, 4], [1, -2, 3], [1, 2.5, 3], [[0], [1, 2], [3]]):
        with pytest.raises(ValueError, match="expected a number >= 0, or 3 of them or None"):
            envs.reset(seed=seed)
    for options, field in [(3, "options"), ({"reset_mask": [[True], [True, False]]}, "reset_mask")]:
        with pytest.raises(bristle.ParameterError) as raised:
            envs.reset(options=options)
        assert raised.value.field == field
    assert np.array_equal(envs.reset()[0], other.reset()[0])


def test_draws_are_uniform_and_of_one_environment_alone():
    n = 20_000
    ids = np.arange(n)
    draws = Draws(np.full(n, 7), np.zeros(n, int), ids)
    first, second, normal = draws.uniform(-1, 3, 2), draws.uniform(), draws.normal(2)
    both = np.concatenate([(first + 1) / 4, second], axis=1)
    assert both.min() >= 0 and both.max() < 1
    assert np.abs(both.mean(axis=0) - 0.5).max() < 0.01 and np.abs(both.var(axis=0) - 1 / 12).max() < 0.003
    assert np.abs(np.corrcoef(both.T) - np.eye(3)).max() < 0.03
    assert np.abs(normal.mean(axis=0)).max() < 0.03 and np.abs(normal.std(axis=0) - 1).max() < 0.02
    some = Draws(np.array([7, 7]), np.array([0, 1]), np.array([5, 5]))
    again = some.uniform(-1, 3, 2)
    assert np.array_equal(again[0], first[5]) and not (again[1] == first[5]).any()
    assert np.array_equal(some.uniform()[0], second[5]) and some.seeds[0] == draws.seeds[0] != some.seeds[1]


def test_arguments_and_what_is_not_accepted():
    envs = PivotVectorEnv(2, PIVOT, horizon=7, dt=0.02)
    assert (envs.horizon, envs.dt, envs.batch.dt, PivotVectorEnv.horizon) == (7, 0.02, 0.02, 100)
    with pytest.raises(gymnasium.error.ResetNeeded, match="before the first"):
        envs.step(np.zeros((2, 1)))
    _, infos = envs.reset(seed=np.uint8(3))
    assert np.array_equal(infos["parameters"]["friction.mu_c"], envs.batch.parameter("friction.mu_c"))
    assert set(infos["parameters"]) >= {"friction.mu_c", "body.mass", "_body.mass"} and infos["_parameters"].all()
    same = PivotVectorEnv(2).reset(seed=np.array([3, 3], np.int16))[1]
    assert np.array_equal(same["parameters"]["body.mass"], infos["parameters"]["body.mass"])
    for wrong in (np.zeros(2), np.zeros((1, 1)), np.zeros((2, 2)), np.zeros((3, 1)), np.full((2, 1), np.nan)):
        with pytest.raises(ValueError, match="actions"):
            envs.step(wrong)
    ended = [envs.step(np.zeros((2, 1)))[3].all() for _ in range(7)]
    assert ended == [False] * 6 + [True], "refused actions are no steps"
    _, _, _, _, infos = envs.step(np.zeros((2, 1)))
    assert infos["_parameters"].all(), "the next episodes"
    for arguments in (
        {"horizon": 0},
        {"num_envs": 0},
        {"render_mode": "human"},
        {"dt": 0.0},
        {"scenario": "none.toml"},
    ):
        with pytest.raises((ValueError, bristle.ScenarioError)):
            PivotVectorEnv(**arguments)
    with pytest.raises(ValueError, match="actions"):
        gymnasium.make("bristle/Pivot-v0").unwrapped.step(np.zeros(2))


@pytest.mark.parametrize("name", NAMES)
def test_specs_are_text_and_pickles(name):
    env = gymnasium.make(name, horizon=5)
    text = env.spec.to_json()
    again = gymnasium.make(gymnasium.envs.registration.EnvSpec.from_json(text))
    third = gymnasium.make(pickle.loads(pickle.dumps(env.spec)))
    for one in (again, third):
        assert one.unwrapped.vector.horizon == 5
        assert np.array_equal(one.reset(seed=2)[0], env.reset(seed=2)[0])


PROCESSES = """
import gymnasium, numpy as np, bristle.gym
if __name__ == "__main__":
    kind = dict(vectorization_mode="async", vector_kwargs={"context": CONTEXT})
    apart = gymnasium.make_vec("bristle.gym:bristle/Palm-v0", num_envs=2, **kind)
    together = gymnasium.make_vec("bristle/Palm-v0", num_envs=2, vectorization_mode="sync")
    assert np.array_equal(apart.reset(seed=[1, 2])[0], together.reset(seed=[1, 2])[0])
    for step in range(3):
        act = np.full((2, 3), 0.3 * step, np.float32)
        assert np.array_equal(apart.step(act)[0], together.step(act)[0])
    apart.close()
"""


@pytest.mark.parametrize("context", ["fork", "spawn"])
def test_environments_step_in_processes(context, tmp_path):
    """As in one process with the same environments; of a program of its own, whose threads are not those of a test."""
    program = tmp_path / "program.py"
    program.write_text(PROCESSES.replace("CONTEXT", repr(context)))
    subprocess.run([sys.executable, program], check=True, timeout=300)


def red(frame):
    return int(((frame[..., 0] > 150) & (frame[..., 2] < 110)).sum())


def blue(frame):
    return int((frame[..., 2] > frame[..., 0]).sum())


@pytest.mark.parametrize("name", NAMES)
def test_pictures_show_what_sticks_and_what_slips(name):
    envs = gymnasium.make_vec(name, num_envs=2, render_mode="rgb_array")
    envs.reset(seed=1)
    first, other = envs.render()
    assert first.shape == (320, 320, 3) and first.dtype == np.uint8
    assert blue(first) > 300 > red(first), "the patch sticks"
    most = 0
    for _ in range(40):
        envs.step(-np.ones(envs.action_space.shape, np.float32))
        most = max(most, red(envs.render()[0]))
    assert most > 150, "the patch slips"
    assert (first[0, 0] == other[0, 0]).all()
    assert gymnasium.make_vec(name, num_envs=1).render() is None


class Still(ContactVectorEnv):
    """The least that an environment has."""

    text = PIVOT
    single_observation_space = gymnasium.spaces.Box(-10.0, 10.0, (3,), np.float32)
    single_action_space = gymnasium.spaces.Box(0.0, 1.0, (1,), np.float32)

    def control(self, actions):
        return {"normal_force": 10 * actions[:, 0]}

    def observe(self):
        return self.batch.pose

    def reward(self, terminated, truncated):
        return self.batch.pose[:, 2] - terminated


def test_an_environment_needs_three_methods():
    envs = Still(3, autoreset_mode="SameStep")
    seen, _ = envs.reset(seed=0)
    assert np.array_equal(seen, envs.batch.pose.astype(np.float32))
    for step in range(envs.horizon):
        seen, rewards, ended, cut, infos = envs.step(np.array([[2.0], [1.0], [0.0]]))
        if step == 20:
            assert (rewards <= 0).all() and not ended.any() and not infos["success"].any()
    assert cut.all() and np.array_equal(seen, envs.batch.pose.astype(np.float32))


class Seeing(Still):
    """What is seen is given."""

    def observe(self):
        return np.tile(self.seen, (self.num_envs, 1))


@pytest.mark.parametrize(
    ("low", "high", "kind", "seen", "wanted"),
    [
        (-5, 5, np.float32, [np.nan, np.inf, -np.inf], [0, 5, -5]),
        (-np.inf, np.inf, np.float32, [np.nan, np.inf, -np.inf], [0, 0, 0]),
        (-np.inf, np.inf, np.float32, [1e39, -1e39, 1e38], [0, 0, 1e38]),
        (1, np.inf, np.float32, [np.nan, np.inf, -np.inf], [1, 1, 1]),
        (-np.inf, np.inf, np.float64, [1e39, np.inf, -2], [1e39, 0, -2]),
        (0, 255, np.uint8, [np.nan, np.inf, -np.inf], [0, 255, 0]),
    ],
)
@pytest.mark.filterwarnings("error")
def test_observations_are_finite(low, high, kind, seen, wanted):
    class Own(Seeing):
        single_observation_space = gymnasium.spaces.Box(low, high, (3,), kind)

    envs = Own(2)
    envs.seen = np.array(seen, float)
    found, _ = envs.reset(seed=0)
    assert found.dtype == kind and np.array_equal(found, np.tile(np.array(wanted, kind), (2, 1)))
    assert found in envs.observation_space


@pytest.mark.parametrize(
    "wrong", [[["0.5"], ["1"]], np.zeros((2, 1), complex), np.zeros((2, 1), object), [[0.5], [1, 2]], "left", None]
)
def test_actions_are_real_numbers(wrong):
    envs = PivotVectorEnv(2)
    envs.reset(seed=0)
    with pytest.raises(bristle.ParameterError) as raised:
        envs.step(wrong)
    assert raised.value.field == "actions" and not envs.steps.any()


def test_an_action_has_no_masked_numbers():
    env = gymnasium.make("bristle/Pivot-v0").unwrapped
    env.reset(seed=0)
    with pytest.raises(bristle.ParameterError, match="1 masked"):
        env.step(np.ma.masked_array([0.5], mask=[True]))


@pytest.mark.parametrize(
    ("arguments", "accepted"),
    [
        ({"scenario": 3}, "a bristle.Scenario, the text of one, or its path"),
        ({"autoreset_mode": "x"}, "one of NextStep, SameStep, Disabled"),
        ({"autoreset_mode": None}, "one of NextStep, SameStep, Disabled"),
        ({"render_mode": "human"}, "one of rgb_array"),
        ({"num_envs": True}, "an integer from 1"),
        ({"horizon": 2.5}, "an integer from 1"),
    ],
)
def test_arguments_are_refused_by_name(arguments, accepted):
    with pytest.raises(bristle.ParameterError, match=accepted) as raised:
        PivotVectorEnv(**arguments)
    assert raised.value.field in arguments


def test_a_contact_that_fails_ends_its_episode():
    envs = Still(2, PIVOT + "[limits]\nsteps = 20\n", dt=1.0)
    envs.reset(seed=0)
    seen, _, ended, _, _ = envs.step(np.array([[1.0], [0.4]]))
    assert np.array_equal(ended, envs.batch.failed) and ended.any() and np.isfinite(seen).all()


class Constant(Still):
    """Controls that are one for all environments."""

    horizon = 3

    def control(self, actions):
        return {"normal_force": 10 * actions[:, 0], "gravity": (0.0, -9.81), "wrench.fx": 0.0}


def test_constant_controls_stay_as_they_are_between_episodes():
    envs = Constant(2)
    envs.reset(seed=0)
    envs.steps[0] = 1
    for _ in range(5):
        envs.step(np.ones((2, 1)))


def refused(envs, seed):
    try:
        envs.reset(seed=seed)
    except bristle.ScenarioError:
        return True
    return False


def test_an_episode_that_cannot_be_drawn_changes_nothing():
    text = PIVOT.replace("uniform = [0.15, 0.25]", "normal = [0.2, 0.07]")
    envs, other, fresh = (PivotVectorEnv(12, text) for _ in range(3))
    bad = next(seed for seed in range(99) if refused(other, seed))
    good = next(seed for seed in range(99) if not refused(other, seed))
    assert refused(fresh, bad)
    with pytest.raises(gymnasium.error.ResetNeeded):
        fresh.step(np.zeros((12, 1)))
    envs.reset(seed=good)
    assert refused(envs, bad)
    for step in range(3):
        assert np.array_equal(envs.step(actions(envs, step))[0], other.step(actions(other, step))[0])


def test_environments_without_a_seed_take_a_random_one():
    masses = []
    for _ in range(2):
        envs = PivotVectorEnv(2)
        envs.reset(seed=[1, None])
        masses.append(envs.batch.parameter("body.mass"))
    assert masses[0][0] == masses[1][0] and masses[0][1] != masses[1][1]
    # One that has begun goes on with its own seed when the other begins.
    envs, other = PivotVectorEnv(2), PivotVectorEnv(2)
    envs.reset(seed=1, options={"reset_mask": np.array([True, False])})
    envs.reset()
    other.reset(seed=1)
    other.reset()
    assert envs.batch.parameter("body.mass")[0] == other.batch.parameter("body.mass")[0]
    gymnasium.make("bristle/Pivot-v0").reset(seed=np.int64(5))

"""Vector environments of Gymnasium whose contacts are a :class:`bristle.Batch`.

>>> import gymnasium
>>> import bristle.gym
>>> envs = gymnasium.make_vec("bristle/Pivot-v0", num_envs=256)
>>> observations, infos = envs.reset(seed=1)

Every environment draws new friction, masses and grasps for each episode, from the distributions of its
scenario; ``PivotVectorEnv(scenario=...)`` takes another scenario. Episode e of environment k after
``reset(seed=s)`` is the same whatever the other environments do.

It needs the package ``gymnasium`` (``pip install 'bristle[gym]'``).
"""

from __future__ import annotations

from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from ._arrays import Floats, refuse_masked
from .batch import Batch
from .scenario import Scenario

Observations = NDArray[np.float32]
Flags = NDArray[np.bool_]

#: Observations are clipped to this size.
_FAR = 10.0

_PAD = """
duration = 1
step = { tolerance = 1e-5 }
[contact]
model = "reduced"
surface = "ellipsoid"
[patch]
shape = "square"
size = 0.02
"""

#: The scenario of :class:`PivotVectorEnv`: a held box, gripped off its centre.
PIVOT = f"""{_PAD}
[friction]
mu_c = {{ uniform = [0.4, 0.9] }}
mu_s_over_mu_c = 1.1
[body]
kind = "gripper"
mass = {{ uniform = [0.15, 0.25] }}
inertia = {{ rectangle = [0.15, 0.08] }}
[initial]
pose = [{{ uniform = [0.015, 0.03] }}, 0, 0]
[inputs]
gravity = [0, -9.81]
normal_force = 10
"""

#: The scenario of :class:`PalmVectorEnv`: a box that lies on a palm.
PALM = f"""{_PAD.replace("0.02", "0.06")}
[friction]
mu_c = {{ uniform = [0.2, 0.5] }}
mu_s_over_mu_c = 1.1
[body]
kind = "body"
mass = {{ uniform = [0.15, 0.25] }}
inertia = {{ rectangle = [0.08, 0.08] }}
[inputs]
gravity = [0, 0]
wrench = {{ fx = 0, fy = 0, tau = 0 }}
normal_force = 2
"""


class ContactVectorEnv(gymnasium.vector.VectorEnv[Observations, Floats, Floats]):
    """What both environments share: drawing, stepping and resetting contacts.

    Args:
        num_envs: how many contacts.
        scenario: from which they are drawn; the environment's own if None. It must have its inputs.
        autoreset_mode: what happens after an episode has ended, as Gymnasium defines it: ``NextStep`` (the action after
            it is ignored and starts the next episode), ``SameStep`` (the next episode starts at once, and the last
            observation is in ``infos["final_obs"]``) or ``Disabled`` (``reset`` with ``options["reset_mask"]``).
        device: as of :class:`bristle.Batch`.
    """

    metadata: dict[str, Any] = {"render_modes": [], "autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012
    #: The control interval [s], and the intervals of an episode.
    dt: ClassVar[float] = 0.01
    horizon: ClassVar[int]
    #: Text of the scenario, how many numbers an observation and an action have, and how many a target has.
    text: ClassVar[str]
    observed: ClassVar[int]
    acted: ClassVar[int]
    aimed: ClassVar[int]

    def __init__(
        self,
        num_envs: int = 1,
        scenario: Scenario | None = None,
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
        device: str = "cpu",
    ) -> None:
        self.num_envs = num_envs
        self.metadata = {**self.metadata, "autoreset_mode": AutoresetMode(autoreset_mode)}
        self._mode = AutoresetMode(autoreset_mode)
        self.single_observation_space = gymnasium.spaces.Box(-_FAR, _FAR, (self.observed,), np.float32)
        self.single_action_space = gymnasium.spaces.Box(-1.0, 1.0, (self.acted,), np.float32)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        scenario = Scenario.from_toml(self.text) if scenario is None else scenario
        self.batch = Batch(scenario, num_envs, self.dt, device=device)
        self.target: Floats = np.zeros((num_envs, self.aimed))
        self._seeds = np.zeros(num_envs, np.int64)
        self._episodes = np.full(num_envs, -1, np.int64)
        self._steps = np.zeros(num_envs, np.int64)
        self._ended: Flags = np.zeros(num_envs, np.bool_)

    # What an environment is.

    def _control(self, actions: Floats) -> dict[str, Floats]:
        """The inputs of contacts, one row of ``actions`` each."""
        raise NotImplementedError

    def _targets(self, random: np.random.Generator, n: int) -> Floats:
        """Targets of ``n`` environments."""
        raise NotImplementedError

    def _outcome(self) -> tuple[Observations, Floats, Flags, Flags]:
        """Observations, errors over the tolerance (a success is at most 1), failures, successes."""
        raise NotImplementedError

    # Gymnasium.

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observations, dict[str, Any]]:
        """Starts episodes of all environments, or of those in ``options["reset_mask"]``.

        Args:
            seed: a number, from which environment k has its seed, or one number for each environment; if
                None, new episodes of the present seeds.
            options: ``reset_mask``, (num_envs,) of booleans.
        """
        mask = np.ones(self.num_envs, np.bool_)
        if options is not None and "reset_mask" in options:
            refuse_masked("reset_mask", options["reset_mask"])
            mask = np.asarray(options["reset_mask"])
            if mask.dtype != np.bool_ or mask.shape != (self.num_envs,) or not mask.any():
                raise ValueError(f"reset_mask = {mask!r}: expected {self.num_envs} booleans, at least one of them true")
        seeds = None if seed is None or isinstance(seed, int) else list(seed)
        if seeds is not None:
            good = all(s is None or (isinstance(s, int | np.integer) and s >= 0) for s in seeds)
            if len(seeds) != self.num_envs or not good:
                raise ValueError(f"seed = {seed!r}: expected a number >= 0, or {self.num_envs} of them or None")
        super().reset(seed=seed if isinstance(seed, int) else None)
        if seed is None and (self._episodes[mask] < 0).any():
            seed = int(self.np_random.integers(2**31))
        if isinstance(seed, int):
            seeds = [seed] * self.num_envs
        if seeds is not None:
            for k in np.flatnonzero(mask):
                given = seeds[k]
                if given is not None:
                    self._seeds[k], self._episodes[k] = given, -1
        self._start(mask)
        return self._outcome()[0], {}

    def step(self, actions: Any) -> tuple[Observations, Floats, Any, Any, dict[str, Any]]:
        """Advances all environments by one interval: observations, rewards, terminations, truncations, infos.

        ``infos["success"]`` says which environments are within the tolerance of their target and nearly at rest.
        """
        refuse_masked("actions", actions)
        actions = np.clip(np.asarray(actions, np.float64).reshape(self.num_envs, self.acted), -1.0, 1.0)
        starting = self._ended.copy()
        if starting.any() and self._mode is AutoresetMode.DISABLED:
            raise gymnasium.error.ResetNeeded("an episode has ended: expected `reset` with its `reset_mask`")
        moving = np.flatnonzero(~starting)
        if len(moving):
            control = self._control(actions)
            ids = None if len(moving) == self.num_envs else moving
            self.batch.step(control if ids is None else {name: v[ids] for name, v in control.items()}, ids)
            self._steps[moving] += 1
        if starting.any():
            self._start(starting)
        observations, errors, failed, success = self._outcome()
        terminations = failed & ~starting
        truncations = (self._steps >= self.horizon) & ~terminations & ~starting
        rewards = np.where(starting, 0.0, self._rewards(errors, terminations, truncations, success))
        infos: dict[str, Any] = {"success": success & ~starting}
        self._ended = terminations | truncations
        if self._mode is AutoresetMode.SAME_STEP and self._ended.any():
            infos["final_obs"] = np.array(
                [o if e else None for o, e in zip(observations, self._ended, strict=True)], object
            )
            infos["final_info"] = {"success": infos["success"].copy(), "_success": self._ended.copy()}
            infos["_final_obs"] = infos["_final_info"] = self._ended.copy()
            self._start(self._ended.copy())
            observations = self._outcome()[0]
        return observations, rewards, terminations, truncations, infos

    def _rewards(self, errors: Floats, terminations: Flags, truncations: Flags, success: Flags) -> Floats:
        """Each interval costs the error, up to 1 at ten tolerances; the end gives 10, or costs what is left."""
        cost = np.minimum(errors / 10, 1.0)
        left = np.where(terminations, (self.horizon - self._steps) * 1.0, 0.0)
        return np.asarray(10.0 * (truncations & success) - cost - left, np.float64)

    def _start(self, mask: Flags) -> None:
        """New episodes of some environments, drawn by seed, episode and index alone."""
        self._episodes[mask] += 1
        keys = np.stack([self._seeds, self._episodes], axis=1)
        for seed, episode in np.unique(keys[mask], axis=0):
            ids = np.flatnonzero(mask & (keys == (seed, episode)).all(axis=1))
            random = np.random.default_rng([int(seed), int(episode)])
            self.batch.reset(None if len(ids) == self.num_envs else ids, int(random.integers(2**62)))
            self.target[ids] = self._targets(random, self.num_envs)[ids]
        self._steps[mask] = 0
        self._ended[mask] = False

    def close_extras(self, **_: Any) -> None:
        """There is nothing to close."""


class PivotVectorEnv(ContactVectorEnv):
    """A box hangs between two finger pads that grip it off its centre. The grip force lets it turn to a
    target angle.

    Gravity turns the box in one direction, as far as the grip permits; a grip that is too loose drops it. The
    friction is not observed.

    - Action (1,): the grip of one pad, from 1 N (-1) to 20 N (1), by its logarithm.
    - Observation (7,): target less rotation and rotation [rad]; angular velocity [rad/s] / 5; displacement of the grip
      on the box along x and y [cm]; grip, as an action; share of the episode that is over.
    - Error: the distance from the target angle over 0.05 rad. Success: at most 1, at less than 0.1 rad/s.
      Failure: the pads have slid by more than 30 mm.
    - Reward: see :meth:`ContactVectorEnv.step`; an episode is 100 intervals of 10 ms.
    """

    horizon = 100
    text = PIVOT
    observed, acted, aimed = 7, 1, 1

    def _targets(self, random: np.random.Generator, n: int) -> Floats:
        return random.uniform(-1.2, -0.3, (n, 1))

    def _control(self, actions: Floats) -> dict[str, Floats]:
        return {"normal_force": 20.0 ** ((actions[:, 0] + 1) / 2)}

    def _outcome(self) -> tuple[Observations, Floats, Flags, Flags]:
        pose, twist = self.batch.pose, self.batch.twist
        start = self.batch.parameter("initial.pose.0")
        theta, missing = pose[:, 2], self.target[:, 0] - pose[:, 2]
        # Where the pads' centre, the origin, is on the box, whose own axes have turned; at first (-start, 0).
        x = -(pose[:, 0] * np.cos(theta) + pose[:, 1] * np.sin(theta)) + start
        y = pose[:, 0] * np.sin(theta) - pose[:, 1] * np.cos(theta)
        grip = 2 * np.log(self.batch.normal_force) / np.log(20.0) - 1
        share = self._steps / self.horizon
        seen = np.stack([missing, theta, twist[:, 2] / 5, 100 * x, 100 * y, grip, share], axis=1)
        failed = (np.hypot(x, y) > 0.03) | ~np.isfinite(seen).all(axis=1)
        errors = np.abs(missing) / 0.05
        success = (errors <= 1.0) & (np.abs(twist[:, 2]) < 0.1) & ~failed
        return _observed(seen), np.nan_to_num(errors), failed, success


class PalmVectorEnv(ContactVectorEnv):
    """A box lies on a palm. The acceleration of the palm slides the box to a target pose on it.

    In the frame of the palm the acceleration is a load on the box. The palm turns slowly, so that there is no
    Coriolis force. Loads below friction do not move the box, and friction is not observed.

    - Action (3,): acceleration of the palm along x and y, -1 to 1 for 8 m/s^2, and about z, for 300 rad/s^2.
    - Observation (10,): pose less target (dm, dm, rad), in the axes of the palm; twist (dm/s, dm/s, rad/s / 5); sine
      and cosine of the rotation; speed over 0.1 m/s; share of the episode that is over.
    - Error: the largest of distance over 10 mm and angle over 0.1 rad. Success: at most 1, slower than 0.02 m/s.
      Failure: the box has left the palm, 150 mm from its centre.
    - Reward: see :meth:`ContactVectorEnv.step`; an episode is 150 intervals of 10 ms.
    """

    horizon = 150
    text = PALM
    observed, acted, aimed = 10, 3, 3

    def _targets(self, random: np.random.Generator, n: int) -> Floats:
        return random.uniform((-0.06, -0.06, -0.6), (0.06, 0.06, 0.6), (n, 3))

    def _control(self, actions: Floats) -> dict[str, Floats]:
        moment = -300.0 * actions[:, 2] * self.batch.parameter("body.inertia")
        return {"gravity": -8.0 * actions[:, :2], "wrench.tau": moment}

    def _outcome(self) -> tuple[Observations, Floats, Flags, Flags]:
        pose, twist = self.batch.pose, self.batch.twist
        missing = pose - self.target
        speed = np.hypot(twist[:, 0], twist[:, 1])
        seen = np.concatenate(
            [
                missing * (10, 10, 1),
                twist * (10, 10, 0.2),
                np.stack([np.sin(pose[:, 2]), np.cos(pose[:, 2]), speed / 0.1, self._steps / self.horizon], axis=1),
            ],
            axis=1,
        )
        failed = (np.hypot(pose[:, 0], pose[:, 1]) > 0.15) | ~np.isfinite(seen).all(axis=1)
        errors = np.maximum(np.hypot(missing[:, 0], missing[:, 1]) / 0.01, np.abs(missing[:, 2]) / 0.1)
        success = (errors <= 1.0) & (speed < 0.02) & ~failed
        return _observed(seen), np.nan_to_num(errors), failed, success


class ContactEnv(gymnasium.Env[Observations, Floats]):
    """A single environment, for tools that take no vector environments."""

    def __init__(self, vector: type[ContactVectorEnv], **arguments: Any) -> None:
        self.vector = vector(1, autoreset_mode=AutoresetMode.DISABLED, **arguments)
        self.observation_space = self.vector.single_observation_space
        self.action_space = self.vector.single_action_space

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observations, dict[str, Any]]:
        """As :meth:`ContactVectorEnv.reset`."""
        super().reset(seed=seed)
        observations, infos = self.vector.reset(seed=seed)
        return observations[0], infos

    def step(self, action: Floats) -> tuple[Observations, float, bool, bool, dict[str, Any]]:
        """As :meth:`ContactVectorEnv.step`."""
        observations, rewards, terminations, truncations, infos = self.vector.step(action)
        success = {"success": bool(infos["success"][0])}
        return observations[0], float(rewards[0]), bool(terminations[0]), bool(truncations[0]), success


def _observed(seen: Floats) -> Observations:
    return np.clip(np.nan_to_num(seen), -_FAR, _FAR).astype(np.float32)


def _single(vector: type[ContactVectorEnv]) -> Any:
    return lambda **arguments: ContactEnv(vector, **arguments)


def _several(vector: type[ContactVectorEnv]) -> Any:
    return lambda **arguments: vector(**arguments)


for _name, _vector in {"Pivot": PivotVectorEnv, "Palm": PalmVectorEnv}.items():
    gymnasium.register(id=f"bristle/{_name}-v0", entry_point=_single(_vector), vector_entry_point=_several(_vector))

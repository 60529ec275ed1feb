"""The class that environments of contacts are made from: drawing, stepping, resetting, rendering."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from os import PathLike
from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from .._arguments import integer
from .._arrays import Floats, as_array, doubles, known, shown
from ..batch import _GROUPS, Batch
from ..errors import ParameterError
from ..scenario import Scenario
from .draws import Draws
from .picture import Picture

Flags = NDArray[np.bool_]
Infos = dict[str, Any]


class ContactVectorEnv(gymnasium.vector.VectorEnv[Any, Any, Any]):
    """Environments of contacts, to be derived from: a scenario, actions, observations, a reward.

    A class of yours sets ``text``, ``single_observation_space`` and ``single_action_space`` (both ``Box``), and defines
    :meth:`control`, :meth:`observe` and :meth:`reward`; the other methods have defaults. Arrays have a row for each
    environment. ``self.batch`` has the contacts, ``self.steps`` (num_envs,) the intervals of the present episodes.

    Args:
        num_envs: how many contacts.
        scenario: from which they are drawn: a Scenario, the text of one, or a path; the class's own ``text`` if None.
        horizon: intervals of an episode, after which it is truncated; the class's own if None.
        dt: the control interval [s]; the class's own if None.
        render_mode: ``"rgb_array"`` or None.
        autoreset_mode: what happens after an episode has ended, as Gymnasium defines it: ``NextStep`` (the action after
            it is ignored and starts the next episode), ``SameStep`` (the next episode starts at once, and the last
            observation is in ``infos["final_obs"]``) or ``Disabled`` (``reset`` with ``options["reset_mask"]``).
        device: as of :class:`bristle.Batch`.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012
        "render_modes": ["rgb_array"],
        "render_fps": 50,
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }
    #: Text of the scenario.
    text: ClassVar[str]
    #: The control interval [s], and the intervals of an episode.
    dt: float = 0.01
    horizon: int = 100
    #: Extents of the object in pictures [m], along its own axes.
    size: ClassVar[tuple[float, float]] = (0.1, 0.06)
    #: Width and height of what pictures show [m].
    view: ClassVar[float] = 0.22

    def __init__(
        self,
        num_envs: int = 1,
        scenario: Scenario | str | PathLike[str] | None = None,
        *,
        horizon: int | None = None,
        dt: float | None = None,
        render_mode: str | None = None,
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
        device: str = "cpu",
    ) -> None:
        self.num_envs = integer("num_envs", num_envs, 1, 10_000_000)
        if horizon is not None:
            self.horizon = integer("horizon", horizon, 1, 2**53)
        modes = self.metadata["render_modes"]
        if render_mode not in (None, *modes):
            raise ParameterError("render_mode", shown(render_mode), f"one of {', '.join(modes)}, or None")
        self.render_mode = render_mode
        self._mode = _autoreset(autoreset_mode)
        self.metadata = {**self.metadata, "autoreset_mode": self._mode}
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self.dt = self.dt if dt is None else dt
        self.batch = Batch(_scenario(self.text if scenario is None else scenario), self.num_envs, self.dt, device)
        self.dt = self.batch.dt
        self._drawn = _drawn(self.batch.scenario)
        self._seeds = np.zeros(self.num_envs, np.int64)
        self._episodes = np.full(self.num_envs, -1, np.int64)
        self.steps = np.zeros(self.num_envs, np.int64)
        self._ended: Flags = np.zeros(self.num_envs, np.bool_)
        self._picture: Picture | None = None

    # What an environment is.

    def control(self, actions: Floats) -> Mapping[str, Any]:
        """The inputs of the contacts for the next interval, as :meth:`bristle.Batch.step` takes them.

        Args:
            actions: (num_envs, ..), within the bounds of ``single_action_space``.
        """
        raise NotImplementedError

    def observe(self) -> NDArray[Any]:
        """(num_envs, ..): what is seen now, of which the environment makes observations that are finite. Numbers are
        clipped to the bounds of ``single_observation_space``, infinite ones as well. NaN becomes 0, and so does what is
        infinite in the type of the space and has no bound; 0 is clipped, too.
        """
        raise NotImplementedError

    def reward(self, terminated: Flags, truncated: Flags) -> NDArray[Any]:
        """(num_envs,): the reward of the interval that has passed, after which episodes may be at their end."""
        raise NotImplementedError

    def terminated(self) -> Flags:
        """(num_envs,): which episodes end now by what has happened; by default those whose contact has left, as
        ``stop_when`` of the scenario says. Contacts that have failed end theirs in any case.
        """
        return self.batch.left

    def success(self) -> Flags:
        """(num_envs,): which environments are where they should be; ``infos["success"]``."""
        return np.zeros(self.num_envs, np.bool_)

    def begin(self, ids: NDArray[np.intp], draws: Draws) -> None:
        """Draws what episodes have beside their contacts, such as a target.

        Args:
            ids: the environments whose episodes begin; their contacts have been drawn.
            draws: random numbers for these environments, one row each.
        """

    def goal(self) -> Floats | None:
        """(num_envs, 3): the pose [m, m, rad] that pictures show as a goal, NaN for what has none; or None."""
        return None

    # Gymnasium.

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[NDArray[Any], Infos]:
        """Starts episodes of all environments, or of those in ``options["reset_mask"]``.

        Args:
            seed: an integer >= 0 of any type, from which all environments have theirs, or one for each environment;
                where it is None, a new episode of the present seed.
            options: ``reset_mask``, (num_envs,) of booleans.

        Returns:
            Observations, and infos with the ``parameters`` that were drawn, arrays by name.

        Raises:
            ParameterError, ScenarioError: a seed or a mask that is not accepted, or a drawn value out of range.
        """
        mask = np.ones(self.num_envs, np.bool_)
        if options is not None and not isinstance(options, Mapping):
            raise ParameterError("options", shown(options), "a dictionary, or None")
        if options is not None and "reset_mask" in options:
            accepted = f"{self.num_envs} booleans, at least one of them true"
            mask = as_array("reset_mask", options["reset_mask"], accepted)
            if mask.dtype != np.bool_ or mask.shape != (self.num_envs,) or not mask.any():
                raise ParameterError("reset_mask", shown(mask), accepted)
        given = self._given(seed)
        super().reset(seed=given if isinstance(given, int) else None)
        whole = given if isinstance(given, list) else [given] * self.num_envs
        seeds, episodes = self._seeds.copy(), self._episodes.copy()
        for k in np.flatnonzero(mask):
            own = whole[k]
            if own is not None:
                seeds[k], episodes[k] = own, -1
        # Who has never had a seed takes a random one.
        new = mask & (episodes < 0) & np.array([own is None for own in whole])
        seeds[new] = self.np_random.integers(2**31) if given is None else self.np_random.integers(2**31, size=new.sum())
        self._start(mask, seeds, episodes)
        return self._observed(), self._parameters(mask)

    def step(self, actions: Any) -> tuple[NDArray[Any], Floats, Flags, Flags, Infos]:
        """Advances all environments by one interval: observations, rewards, terminations, truncations, infos.

        ``infos["success"]`` is :meth:`success`; where an episode has begun, ``infos["parameters"]`` has what was drawn.

        Args:
            actions: (num_envs, ..), real numbers, which are clipped to the bounds of ``single_action_space``.

        Raises:
            ParameterError: actions of another shape or type, or that are not finite.
        """
        actions = self._accepted(actions)
        if (self._episodes < 0).any():
            raise gymnasium.error.ResetNeeded("`step` before the first `reset`")
        starting = self._ended.copy()
        if starting.any() and self._mode is AutoresetMode.DISABLED:
            raise gymnasium.error.ResetNeeded("an episode has ended: expected `reset` with its `reset_mask`")
        moving = np.flatnonzero(~starting)
        if len(moving):
            control, ids = self.control(actions), None if len(moving) == self.num_envs else moving
            some = control if ids is None else {name: self._rows(name, v, ids) for name, v in control.items()}
            self.batch.step(some, ids)
            self.steps[moving] += 1
        infos: Infos = {}
        if starting.any():
            self._start(starting)
            infos = self._parameters(starting)
        terminated = (self.terminated() | self.batch.failed) & ~starting
        truncated = (self.steps >= self.horizon) & ~terminated & ~starting
        rewards = np.where(starting, 0.0, self.reward(terminated, truncated))
        infos["success"] = self.success() & ~starting & ~terminated
        observations = self._observed()
        self._ended = terminated | truncated
        if self._mode is AutoresetMode.SAME_STEP and self._ended.any():
            ended = self._ended.copy()
            final = [o if e else None for o, e in zip(observations, ended, strict=True)]
            infos["final_obs"] = np.array([*final, None], object)[:-1]
            infos["final_info"] = {"success": infos["success"].copy(), "_success": ended}
            infos["_final_obs"] = infos["_final_info"] = ended
            self._start(ended)
            infos |= self._parameters(ended)
            observations = self._observed()
        return observations, rewards, terminated, truncated, infos

    def render(self) -> tuple[NDArray[np.uint8], ...] | None:
        """A picture (320, 320, 3) of every environment: the object, its goal, the patch and where it slips."""
        if self.render_mode is None:
            return None
        return tuple(self.picture(k) for k in range(self.num_envs))

    def picture(self, env: int) -> NDArray[np.uint8]:
        """The picture (320, 320, 3) of one environment."""
        self._picture = self._picture or Picture(self.batch, self.size, self.view)
        goal = self.goal()
        return self._picture.draw(env, None if goal is None else goal[env])

    def close_extras(self, **_: Any) -> None:
        """There is nothing to close."""

    # Between Gymnasium and the batch.

    def _given(self, seed: Any) -> int | list[int | None] | None:
        """A seed for all, or one or None for each."""
        if seed is None:
            return None
        accepted = f"a number >= 0, or {self.num_envs} of them or None"
        several = isinstance(seed, list | tuple) or (isinstance(seed, np.ndarray) and seed.ndim == 1)
        whole = list(seed) if several else [seed]
        try:
            if any(isinstance(s, bool | np.bool_) for s in whole):
                raise TypeError
            seeds = [None if s is None else operator.index(s) for s in whole]
        except TypeError:
            raise ParameterError("seed", shown(seed), accepted) from None
        if any(s is not None and not 0 <= s < 2**63 for s in seeds) or (several and len(seeds) != self.num_envs):
            raise ParameterError("seed", shown(seed), accepted)
        return seeds if several else seeds[0]

    def _accepted(self, actions: Any) -> Floats:
        """Actions as doubles within their bounds."""
        space = self.single_action_space
        assert isinstance(space, gymnasium.spaces.Box)
        array, shape = doubles("actions", actions), (self.num_envs, *space.shape)
        if array.shape != shape:
            raise ParameterError("actions", shown(array), f"shape {shape}")
        if not np.isfinite(array).all():
            raise ParameterError("actions", array[~np.isfinite(array)][0], "finite numbers")
        return np.asarray(np.clip(array, space.low, space.high), np.float64)

    def _rows(self, name: str, value: Any, ids: NDArray[np.intp]) -> Any:
        """A control of some environments; one value for all stays as it is."""
        array, inner = doubles(f"control.{name}", value), {"pressure": 2, **dict.fromkeys(_GROUPS, 1)}.get(name, 0)
        return array[ids] if array.ndim > inner and len(array) == self.num_envs else array

    def _observed(self) -> NDArray[Any]:
        space = self.single_observation_space
        assert isinstance(space, gymnasium.spaces.Box)
        seen, zero = self.observe(), np.clip(0, space.low, space.high)
        seen = np.where(np.isnan(seen), zero, np.clip(seen, space.low, space.high))
        with np.errstate(over="ignore"):
            seen = np.asarray(seen, space.dtype)
        return np.where(np.isfinite(seen), seen, zero).astype(seen.dtype, copy=False)

    def _start(self, mask: Flags, seeds: NDArray[Any] | None = None, episodes: NDArray[Any] | None = None) -> None:
        """New episodes of some environments, of the present seeds or others. Nothing changes if one is refused."""
        ids = np.flatnonzero(mask)
        seeds, episodes = self._seeds if seeds is None else seeds, self._episodes if episodes is None else episodes
        episodes = episodes.copy()
        episodes[ids] += 1
        draws = Draws(seeds[ids], episodes[ids], ids)
        self.batch.reset(ids, draws.seeds)
        self._seeds, self._episodes = seeds, episodes
        self.steps[ids] = 0
        self._ended[ids] = False
        self.begin(ids, draws)

    def _parameters(self, mask: Flags) -> Infos:
        """The parameters that were drawn, in the manner of Gymnasium: with masks of whom they belong to."""
        drawn: Infos = {}
        for name in self._drawn:
            drawn[name], drawn[f"_{name}"] = self.batch.parameter(name), mask
        return {"parameters": drawn, "_parameters": mask}


class ContactEnv(gymnasium.Env[Any, Any]):
    """A single environment, for tools that take no vector environments.

    Args:
        vector: the class of vector environments that it is one of.
        arguments: those of the class.
    """

    metadata = ContactVectorEnv.metadata

    def __init__(self, vector: type[ContactVectorEnv], **arguments: Any) -> None:
        self.vector = vector(1, autoreset_mode=AutoresetMode.DISABLED, **arguments)
        self.render_mode = self.vector.render_mode
        self.observation_space = self.vector.single_observation_space
        self.action_space = self.vector.single_action_space
        self._parameters: dict[str, float] = {}

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[NDArray[Any], Infos]:
        """As :meth:`ContactVectorEnv.reset`."""
        # What is no seed is refused before anything is drawn.
        self.vector._given(seed)
        seed = None if seed is None else operator.index(seed)
        super().reset(seed=seed)
        observations, infos = self.vector.reset(seed=seed)
        drawn = infos["parameters"].items()
        self._parameters = {n: float(v[0]) for n, v in drawn if not n.startswith("_")}
        return observations[0], self._infos(False)

    def step(self, action: Any) -> tuple[NDArray[Any], float, bool, bool, Infos]:
        """As :meth:`ContactVectorEnv.step`."""
        if self.vector._ended[0]:
            raise gymnasium.error.ResetNeeded("the episode has ended: expected `reset`")
        observations, rewards, ended, cut, infos = self.vector.step(doubles("action", action)[None])
        infos = self._infos(bool(infos["success"][0]))
        return observations[0], float(rewards[0]), bool(ended[0]), bool(cut[0]), infos

    def _infos(self, success: bool) -> Infos:
        """The same names after every call, as collectors of episodes want it."""
        return {"success": success, "parameters": dict(self._parameters)}

    def render(self) -> NDArray[np.uint8] | None:
        """The picture (320, 320, 3), with ``render_mode="rgb_array"``."""
        return None if self.render_mode is None else self.vector.picture(0)


def _autoreset(mode: object) -> AutoresetMode:
    """A mode from itself or its name."""
    if isinstance(mode, AutoresetMode):
        return mode
    return AutoresetMode(known("autoreset_mode", mode, [each.value for each in AutoresetMode]))


def _scenario(given: Scenario | str | PathLike[str]) -> Scenario:
    """A scenario from itself, its text, or its path; a text has several lines."""
    if isinstance(given, Scenario):
        return given
    if not isinstance(given, str | PathLike):
        raise ParameterError("scenario", shown(given), "a bristle.Scenario, the text of one, or its path")
    return Scenario.from_toml(given) if isinstance(given, str) and "\n" in given else Scenario.load(given)


def _drawn(scenario: Scenario) -> list[str]:
    """Names of the parameters that differ between contacts."""
    some = scenario.draw(8)
    return [name for name, values in some.items() if not (values == values[0]).all()]

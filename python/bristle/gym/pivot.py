"""A box between two pads turns to a target angle by the grip force."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray

from .._arrays import Floats
from .base import ContactEnv, ContactVectorEnv, Flags
from .draws import Draws

#: The scenario of :class:`PivotVectorEnv`: a held box, gripped off its centre.
PIVOT = """
duration = 1
step = { tolerance = 1e-5 }
[contact]
model = "reduced"
surface = "ellipsoid"
[patch]
shape = "square"
size = 0.02
[friction]
mu_c = { uniform = [0.4, 0.9] }
mu_s_over_mu_c = 1.1
[body]
kind = "gripper"
mass = { uniform = [0.15, 0.25] }
inertia = { rectangle = [0.15, 0.08] }
[initial]
pose = [{ uniform = [0.015, 0.03] }, 0, 0]
[inputs]
gravity = [0, -9.81]
normal_force = 10
"""


class PivotVectorEnv(ContactVectorEnv):
    """A box hangs between two finger pads that grip it off its centre. The grip force lets it turn to a
    target angle.

    Gravity turns the box in one direction, as far as the grip permits; a grip that is too loose drops it. The
    friction is not observed.

    - Action (1,): the grip of one pad, from 1 N (-1) to 20 N (1), by its logarithm.
    - Observation (7,): target less rotation and rotation [rad]; angular velocity [rad/s] / 5; displacement of the grip
      on the box along x and y [cm]; grip, as an action; share of the episode that is over.
    - Error: the distance from the target angle over 0.05 rad. Success: at most 1, at less than 0.1 rad/s.
      Termination: the pads have slid by more than 30 mm.
    - Reward of an interval: ``-min(error/10, 1)``; 10 more at the end of an episode with success; ``-1`` for every
      interval that is left where it terminates. An episode is 100 intervals of 10 ms.
    """

    text = PIVOT
    horizon = 100
    size = (0.15, 0.08)
    view = 0.33
    single_observation_space = Box(-10.0, 10.0, (7,), np.float32)
    single_action_space = Box(-1.0, 1.0, (1,), np.float32)

    def __init__(self, num_envs: int = 1, *arguments: Any, **named: Any) -> None:
        super().__init__(num_envs, *arguments, **named)
        #: (num_envs, 1): target angles [rad].
        self.target: Floats = np.zeros((self.num_envs, 1))

    def begin(self, ids: NDArray[np.intp], draws: Draws) -> None:
        """Draws targets from -1.2 to -0.3 rad."""
        self.target[ids] = draws.uniform(-1.2, -0.3)

    def goal(self) -> Floats:
        """The target angles, where the boxes are."""
        return np.concatenate([self.batch.pose[:, :2], self.target], axis=1)

    def control(self, actions: Floats) -> dict[str, Floats]:
        """The grip of one pad."""
        return {"normal_force": 20.0 ** ((actions[:, 0] + 1) / 2)}

    def observe(self) -> Floats:
        """As the class says."""
        theta, grip = self.batch.pose[:, 2], 2 * np.log(self.batch.normal_force) / np.log(20.0) - 1
        x, y = self._slid()
        missing, turning = self.target[:, 0] - theta, self.batch.twist[:, 2] / 5
        return np.stack([missing, theta, turning, 100 * x, 100 * y, grip, self.steps / self.horizon], axis=1)

    def terminated(self) -> Flags:
        """Whether the pads have slid too far."""
        return np.asarray(np.hypot(*self._slid()) > 0.03)

    def success(self) -> Flags:
        """Whether the box is at its target and nearly at rest."""
        return np.asarray((self._errors() <= 1.0) & (np.abs(self.batch.twist[:, 2]) < 0.1))

    def reward(self, terminated: Flags, truncated: Flags) -> Floats:
        """As the class says."""
        cost = np.minimum(np.nan_to_num(self._errors()) / 10, 1.0)
        left = np.where(terminated, self.horizon - self.steps, 0)
        return np.asarray(10.0 * (truncated & self.success()) - cost - left, np.float64)

    def _errors(self) -> Floats:
        return np.asarray(np.abs(self.target[:, 0] - self.batch.pose[:, 2]) / 0.05)

    def _slid(self) -> tuple[Floats, Floats]:
        """How far the pads' centre, the origin, has moved on the box [m], whose own axes have turned."""
        pose, start = self.batch.pose, self.batch.parameter("initial.pose.0")
        cos, sin = np.cos(pose[:, 2]), np.sin(pose[:, 2])
        return start - (pose[:, 0] * cos + pose[:, 1] * sin), pose[:, 0] * sin - pose[:, 1] * cos


class PivotEnv(ContactEnv):
    """One environment of :class:`PivotVectorEnv`, with its arguments."""

    def __init__(self, **arguments: Any) -> None:
        super().__init__(PivotVectorEnv, **arguments)

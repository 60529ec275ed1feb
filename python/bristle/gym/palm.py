"""A box on a palm slides to a target pose by the palm's acceleration."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray

from .._arrays import Floats
from .base import ContactEnv, ContactVectorEnv, Flags
from .draws import Draws

#: The scenario of :class:`PalmVectorEnv`: a box that lies on a palm.
PALM = """
duration = 1
step = { tolerance = 1e-5 }
[contact]
model = "reduced"
surface = "ellipsoid"
[patch]
shape = "square"
size = 0.06
[friction]
mu_c = { uniform = [0.2, 0.5] }
mu_s_over_mu_c = 1.1
[body]
kind = "body"
mass = { uniform = [0.15, 0.25] }
inertia = { rectangle = [0.08, 0.08] }
[inputs]
gravity = [0, 0]
wrench = { fx = 0, fy = 0, tau = 0 }
normal_force = 2
"""


class PalmVectorEnv(ContactVectorEnv):
    """A box lies on a palm. The acceleration of the palm slides the box to a target pose on it.

    In the frame of the palm the acceleration is a load on the box. The palm turns slowly, so that there is no
    Coriolis force. Loads below friction do not move the box, and friction is not observed.

    - Action (3,): acceleration of the palm along x and y, -1 to 1 for 8 m/s^2, and about z, for 300 rad/s^2.
    - Observation (10,): pose less target (dm, dm, rad), in the axes of the palm; twist (dm/s, dm/s, rad/s / 5); sine
      and cosine of the rotation; speed over 0.1 m/s; share of the episode that is over.
    - Error: the largest of distance over 10 mm and angle over 0.1 rad. Success: at most 1, slower than 0.02 m/s.
      Termination: the box has left the palm, 150 mm from its centre.
    - Reward of an interval: ``-min(error/10, 1)``; 10 more at the end of an episode with success; ``-1`` for every
      interval that is left where it terminates. An episode is 150 intervals of 10 ms.
    """

    text = PALM
    horizon = 150
    size = (0.08, 0.08)
    view = 0.34
    single_observation_space = Box(-10.0, 10.0, (10,), np.float32)
    single_action_space = Box(-1.0, 1.0, (3,), np.float32)

    def __init__(self, num_envs: int = 1, *arguments: Any, **named: Any) -> None:
        super().__init__(num_envs, *arguments, **named)
        #: (num_envs, 3): target poses [m, m, rad].
        self.target: Floats = np.zeros((self.num_envs, 3))

    def begin(self, ids: NDArray[np.intp], draws: Draws) -> None:
        """Draws targets within 60 mm along both axes and 0.6 rad."""
        self.target[ids] = draws.uniform((-0.06, -0.06, -0.6), (0.06, 0.06, 0.6), 3)

    def goal(self) -> Floats:
        """The target poses."""
        return self.target.copy()

    def control(self, actions: Floats) -> dict[str, Floats]:
        """The load that the palm's acceleration is on the box."""
        moment = -300.0 * actions[:, 2] * self.batch.parameter("body.inertia")
        return {"gravity": -8.0 * actions[:, :2], "wrench.tau": moment}

    def observe(self) -> Floats:
        """As the class says."""
        pose, twist = self.batch.pose, self.batch.twist
        turned = [np.sin(pose[:, 2]), np.cos(pose[:, 2])]
        rest = np.stack([*turned, self._speed() / 0.1, self.steps / self.horizon], axis=1)
        return np.concatenate([(pose - self.target) * (10, 10, 1), twist * (10, 10, 0.2), rest], axis=1)

    def terminated(self) -> Flags:
        """Whether the box has left the palm."""
        return np.asarray(np.hypot(self.batch.pose[:, 0], self.batch.pose[:, 1]) > 0.15)

    def success(self) -> Flags:
        """Whether the box is at its target and nearly at rest."""
        return np.asarray((self._errors() <= 1.0) & (self._speed() < 0.02))

    def reward(self, terminated: Flags, truncated: Flags) -> Floats:
        """As the class says."""
        cost = np.minimum(np.nan_to_num(self._errors()) / 10, 1.0)
        left = np.where(terminated, self.horizon - self.steps, 0)
        return np.asarray(10.0 * (truncated & self.success()) - cost - left, np.float64)

    def _errors(self) -> Floats:
        missing = self.batch.pose - self.target
        return np.maximum(np.hypot(missing[:, 0], missing[:, 1]) / 0.01, np.abs(missing[:, 2]) / 0.1)

    def _speed(self) -> Floats:
        return np.asarray(np.hypot(self.batch.twist[:, 0], self.batch.twist[:, 1]))


class PalmEnv(ContactEnv):
    """One environment of :class:`PalmVectorEnv`, with its arguments."""

    def __init__(self, **arguments: Any) -> None:
        super().__init__(PalmVectorEnv, **arguments)

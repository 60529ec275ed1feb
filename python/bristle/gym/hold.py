"""An unknown object is held in a shaken hand with the least grip, by tactile images."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray

from .._arrays import Floats
from .base import ContactEnv, ContactVectorEnv, Flags
from .draws import Draws

#: The scenario of :class:`HoldVectorEnv`: an object of unknown mass and friction, gripped near its centre.
HOLD = """
duration = 4
step = { tolerance = 1e-5 }
[patch]
shape = "disc"
size = 0.02
cells = 7
[friction]
mu_c = { uniform = [0.3, 0.9] }
mu_s_over_mu_c = 1.1
[body]
kind = "gripper"
mass = { uniform = [0.1, 0.4] }
inertia = { rectangle = [0.1, 0.06] }
[initial]
pose = [{ uniform = [-0.005, 0.005] }, { uniform = [-0.005, 0.005] }, 0]
[inputs]
gravity = [0, -9.81]
normal_force = 15
[stop_when]
displacement = 0.003
rotation = 0.35
"""
#: Cells of an image along each axis.
CELLS = 7
#: The grip of one pad [N]: the least and the largest.
LEAST, MOST = 0.5, 15.0
#: The largest change of the logarithm of the grip in an interval.
_RATE = 0.2


class HoldVectorEnv(ContactVectorEnv):
    """Two pads hold an object of unknown mass and friction in a hand that shakes. The grip should be the least that
    holds.

    The hand shakes along both axes of the pads with two sines each, of unknown amplitude (up to 2 m/s^2 each),
    frequency (1 to 3 Hz) and phase. Mass, friction and place of the grip are not observed: a pad feels its normal
    force and its friction.

    - Action (1,): change of the logarithm of the grip in an interval, -1 to 1 for a fifth down or up; the grip of one
      pad stays within 0.5 N to 15 N, at which it begins.
    - Observation (148,): the images of one pad, cell by cell, bottom row first: the normal force (7, 7) [N], friction
      along x and y (7, 7, 2) [N]; and the grip [N] / 15. :meth:`images` gives the images back.
    - Termination: the object has slid by 3 mm or turned by 0.35 rad in the hand. Success: it has not.
    - Reward of an interval: ``-grip/15``; ``-1`` for every interval that is left where it terminates. An episode is 400
      intervals of 10 ms.
    """

    text = HOLD
    horizon = 400
    size = (0.1, 0.06)
    view = 0.16
    single_observation_space = Box(-50.0, 50.0, (3 * CELLS**2 + 1,), np.float32)
    single_action_space = Box(-1.0, 1.0, (1,), np.float32)

    def __init__(self, num_envs: int = 1, *arguments: Any, **named: Any) -> None:
        super().__init__(num_envs, *arguments, **named)
        #: (num_envs,): grip of one pad [N].
        self.grip: Floats = np.full(self.num_envs, MOST)
        self._waves: Floats = np.zeros((self.num_envs, 3, 4))

    def begin(self, ids: NDArray[np.intp], draws: Draws) -> None:
        """Draws how the hand shakes."""
        amplitude, frequency = draws.uniform(0.0, 2.0, 4), draws.uniform(1.0, 3.0, 4)
        self._waves[ids] = np.stack([amplitude, 2 * np.pi * frequency, draws.uniform(0.0, 2 * np.pi, 4)], axis=1)
        self.grip[ids] = MOST

    def gravity(self, steps: NDArray[np.int64]) -> Floats:
        """(num_envs, 2): gravity less the acceleration of the hand [m/s^2], in the interval after so many."""
        amplitude, omega, phase = self._waves[:, 0], self._waves[:, 1], self._waves[:, 2]
        waves = amplitude * np.sin(omega * self.dt * (steps[:, None] + 0.5) + phase)
        return np.stack([waves[:, 0] + waves[:, 1], waves[:, 2] + waves[:, 3] - 9.81], axis=1)

    def control(self, actions: Floats) -> dict[str, Floats]:
        """The grip, and what the hand does."""
        self.grip = np.clip(self.grip * np.exp(_RATE * actions[:, 0]), LEAST, MOST)
        return {"normal_force": self.grip, "gravity": self.gravity(self.steps)}

    def observe(self) -> NDArray[Any]:
        """As the class says."""
        seen = self.batch.read(["tactile", "shear", "normal_force"])
        parts = [seen["tactile"], seen["shear"], seen["normal_force"][:, None] / MOST]
        return np.concatenate([part.reshape(self.num_envs, -1) for part in parts], axis=1)

    @staticmethod
    def images(observations: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Normal force (n, 7, 7) and friction (n, 7, 7, 2) of the cells [N], from observations (n, 148)."""
        n, cells = len(observations), CELLS**2
        pressed, sheared = observations[:, :cells], observations[:, cells : 3 * cells]
        return pressed.reshape(n, CELLS, CELLS), sheared.reshape(n, CELLS, CELLS, 2)

    def success(self) -> Flags:
        """Whether the object is held."""
        return ~self.batch.left

    def reward(self, terminated: Flags, truncated: Flags) -> Floats:
        """As the class says."""
        return np.asarray(-self.grip / MOST - np.where(terminated, self.horizon - self.steps, 0), np.float64)


class HoldEnv(ContactEnv):
    """One environment of :class:`HoldVectorEnv`, with its arguments."""

    def __init__(self, **arguments: Any) -> None:
        super().__init__(HoldVectorEnv, **arguments)

"""Vector environments of Gymnasium whose contacts are a :class:`bristle.Batch`.

>>> import gymnasium
>>> import bristle.gym
>>> envs = gymnasium.make_vec("bristle/Pivot-v0", num_envs=256)
>>> observations, infos = envs.reset(seed=1)

Three environments are there: ``bristle/Pivot-v0``, ``bristle/Palm-v0`` and ``bristle/Hold-v0``. Every
environment draws new friction, masses and grasps for each episode, from the distributions of its scenario;
``PivotVectorEnv(scenario=...)`` takes another scenario. Episode e of environment k after ``reset(seed=s)`` is
the same whatever the other environments do. docs/environments.md has an environment of your own in forty lines.

It needs the package ``gymnasium`` (``pip install 'bristle[gym]'``).
"""

from __future__ import annotations

import gymnasium

from .base import ContactEnv, ContactVectorEnv
from .draws import Draws
from .hold import HOLD, HoldEnv, HoldVectorEnv
from .palm import PALM, PalmEnv, PalmVectorEnv
from .pivot import PIVOT, PivotEnv, PivotVectorEnv

__all__ = [
    "HOLD",
    "PALM",
    "PIVOT",
    "ContactEnv",
    "ContactVectorEnv",
    "Draws",
    "HoldEnv",
    "HoldVectorEnv",
    "PalmEnv",
    "PalmVectorEnv",
    "PivotEnv",
    "PivotVectorEnv",
]

for _name in ("Pivot", "Palm", "Hold"):
    gymnasium.register(
        id=f"bristle/{_name}-v0",
        entry_point=f"bristle.gym:{_name}Env",
        vector_entry_point=f"bristle.gym:{_name}VectorEnv",
    )

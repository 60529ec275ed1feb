"""Thousands of LuGre and Elasto-Plastic friction patches at once, on any GPU and on the CPU.

>>> import bristle
>>> scenario = bristle.Scenario.load("examples/in_hand.toml")
>>> b = bristle.Batch(scenario, nsim=1000, dt=0.01)
>>> b.expand("friction.mu_c")[:] = 0.6
>>> b.step({"normal_force": 2.0})
>>> b.pose.shape
(1000, 3)

SI units; counter-clockwise is positive. Poses are (x, y, theta), twists (vx, vy, w), wrenches (fx, fy, tau).
"""

from ._bristle import __version__
from .batch import Batch, Engine, Response, Snapshot
from .datasets import merge, rollout, verify
from .errors import (
    BristleError,
    BusyError,
    DeviceError,
    OutOfMemoryError,
    ParameterError,
    RunError,
    ScenarioError,
)
from .fitting import Fit, Parameter, fit
from .grasps import Stability, stability
from .scenario import Scenario
from .surface import MarginGradients, Margins, Table, Torsion, WrenchGradients, limit_surface

__all__ = [
    "Batch",
    "BristleError",
    "BusyError",
    "DeviceError",
    "Engine",
    "Fit",
    "MarginGradients",
    "Margins",
    "OutOfMemoryError",
    "Parameter",
    "ParameterError",
    "Response",
    "RunError",
    "Scenario",
    "ScenarioError",
    "Snapshot",
    "Stability",
    "Table",
    "Torsion",
    "WrenchGradients",
    "__version__",
    "fit",
    "limit_surface",
    "merge",
    "rollout",
    "stability",
    "verify",
]

"""Plans how to push a box on a table to a goal pose, by gradients of the rollout, and by samples alone.

The plan is a force and a torque on the box in each of eight eighths of a second, after which the box is to lie still
at the goal. Damped Gauss-Newton steps take the derivatives of the last pose and twist over the 24 numbers. Beside it
is the cross-entropy method (CEM), which draws plans and moves its mean to the best of them. Each stops at a plan that
is good enough. Two tables follow of where a derivative says little of a change that is not small.

    python examples/python/plan_push.py
"""

from __future__ import annotations

import argparse
import time
from typing import NamedTuple

import numpy as np

import bristle
from bristle.gradients import RolloutFunction

SCENARIO = """
duration = 1
precision = "f64"
step = 5e-4
[patch]
shape = "square"
cells = 8
size = 0.08
[friction]
mu_c = 0.3
mu_s_over_mu_c = 1.1
sigma0 = 2e4
[body]
kind = "body"
mass = 0.5
inertia = { rectangle = [0.12, 0.06] }
[inputs]
tilt = { angle = 0.0 }
"""
DT = 0.03125
NSTEP, EACH = 32, 4
PLAN = (NSTEP // EACH, 3)
#: Units of the plan [N, N, N m], of the last pose [m, m, rad] and twist [m/s, m/s, rad/s], and the goal.
LOADS = np.array([1.0, 1.0, 0.03])
CLOSE, STILL = np.array([2e-3, 2e-3, 0.03]), np.array([0.02, 0.02, 0.3])
GOAL = np.array([0.15, 0.08, 0.7])
#: What the plan costs beside its goal.
EFFORT = 0.02
#: The cost of a plan that is good enough: off by half a unit in one number, for one.
ENOUGH = 0.125
#: A push along x that is above friction (1.5 N) at first.
PUSH = np.tile([1.0, 0.3, 0.3], (PLAN[0], 1)) * np.array([2.0] * 4 + [1.0] * 4)[:, None]


class Planned(NamedTuple):
    """What a planner has found."""

    plan: np.ndarray
    """(8, 3), in units."""
    cost: float
    """Its cost."""
    rollouts: int
    """Rollouts, each of one plan."""
    linearized: int
    """Rollouts with derivatives."""
    seconds: float
    """Wall time [s]."""


def rolled(contacts: int) -> RolloutFunction:
    """The rollout of as many plans at a time."""
    names = [
        f"inputs.wrench.{axis}[{k * EACH}:{(k + 1) * EACH}]" for k in range(PLAN[0]) for axis in ("fx", "fy", "tau")
    ]
    batch = bristle.Batch(bristle.Scenario.from_toml(SCENARIO), contacts, DT, device="cpu")
    return RolloutFunction(batch, NSTEP, names, record=("pose", "twist"), every=NSTEP)


def residuals(plans: np.ndarray, out: dict[str, np.ndarray]) -> np.ndarray:
    """(plans, 30): the last pose less the goal, the last twist, and the effort, each in its unit."""
    pose, twist = (out["pose"][:, -1] - GOAL) / CLOSE, out["twist"][:, -1] / STILL
    return np.concatenate([pose, twist, EFFORT * plans.reshape(len(plans), -1)], axis=1)


def costs(function: RolloutFunction, plans: np.ndarray) -> np.ndarray:
    """(plans,): half the squares of the residuals."""
    out = function((plans * LOADS).reshape(len(plans), -1), solved=False)
    return 0.5 * np.sum(residuals(plans, out) ** 2, axis=1)


def gauss_newton(start: np.ndarray, most: int = 30, enough: float = ENOUGH) -> Planned:
    """Steps (J'J + d) s = -J'r, of which all dampings d are tried at once and the best is taken."""
    began = time.perf_counter()
    dampings = 10.0 ** np.arange(-2, 6)
    one, many = rolled(1), rolled(len(dampings))
    units = np.tile(LOADS, PLAN[0])
    plan, best, rollouts, linearized = start, np.inf, 0, 0
    while linearized < most and best > enough:
        out, slopes = one.linearize((plan * LOADS).reshape(1, -1))
        linearized += 1
        r = residuals(plan[None], out)[0]
        of_pose, of_twist = (slopes[name][0, -1] * units for name in ("pose", "twist"))
        jacobian = np.concatenate([of_pose / CLOSE[:, None], of_twist / STILL[:, None], EFFORT * np.eye(units.size)])
        gain, slope = jacobian.T @ jacobian, jacobian.T @ r
        tried = plan + [np.linalg.solve(gain + d * np.eye(units.size), -slope).reshape(PLAN) for d in dampings]
        found = costs(many, tried)
        rollouts += len(tried)
        best = 0.5 * float(r @ r)
        if not np.nanmin(found) < best:
            break
        plan, best = tried[np.nanargmin(found)], float(np.nanmin(found))
    return Planned(plan, best, rollouts, linearized, time.perf_counter() - began)


def cross_entropy(start: np.ndarray, most: int = 60, enough: float = ENOUGH, draws: int = 64) -> Planned:
    """Draws plans about a mean, and moves mean and spread to those of the best eighth."""
    began = time.perf_counter()
    rng, function = np.random.default_rng(0), rolled(draws)
    mean, spread = start, np.ones(PLAN)
    plan, best, rollouts = start, np.inf, 0
    while rollouts < most * draws and best > enough:
        plans = mean + spread * rng.standard_normal((draws, *PLAN))
        found = costs(function, plans)
        rollouts += draws
        if np.nanmin(found) < best:
            plan, best = plans[np.nanargmin(found)], float(np.nanmin(found))
        elite = plans[np.argsort(found)[: draws // 8]]
        # A floor of the spread keeps it from coming to rest too early.
        mean, spread = elite.mean(axis=0), elite.std(axis=0) + 0.01
    return Planned(plan, best, rollouts, 0, time.perf_counter() - began)


def run(most_steps: int = 30, most_draws: int = 60) -> dict[str, Planned]:
    """Plans by both, from a push and from rest."""
    starts = {"from a push": PUSH, "from rest": np.zeros(PLAN)}
    by_gradients = {f"gradients, {name}": gauss_newton(start, most_steps) for name, start in starts.items()}
    return by_gradients | {f"CEM, {name}": cross_entropy(start, most_draws) for name, start in starts.items()}


def changes(function: RolloutFunction, values: np.ndarray, by: float, axis: int) -> np.ndarray:
    """(contacts, 3): where each ends, and how that changes if its parameter does, by derivative and in fact."""
    ends, slopes = function.linearize(values)
    moved = function(values + by)["pose"][:, -1, axis]
    end = ends["pose"][:, -1, axis]
    return np.stack([end, by * slopes["pose"][:, -1, axis, 0], moved - end], axis=1)


def break_away(loads: np.ndarray) -> np.ndarray:
    """[m] of a box that is pushed along x for a second, with 0.1 N more."""
    batch = bristle.Batch(bristle.Scenario.from_toml(SCENARIO), len(loads), DT, device="cpu")
    function = RolloutFunction(batch, NSTEP, "inputs.wrench.fx", {"wrench": np.zeros(3)}, every=NSTEP)
    return changes(function, loads[:, None], 0.1, 0)


def long_horizon(seconds: float) -> np.ndarray:
    """[rad] of a box whose friction acts 30 mm ahead of the push, so that it turns around; it starts turned by 0.01."""
    ahead = SCENARIO.replace('kind = "body"', 'kind = "body"\noffset = [0.03, 0.0]')
    nstep = round(seconds / DT)
    batch = bristle.Batch(bristle.Scenario.from_toml(ahead), 1, DT, device="cpu")
    function = RolloutFunction(batch, nstep, "initial.pose.2", {"wrench": [1.8, 0.0, 0.0]}, every=nstep)
    return changes(function, np.zeros((1, 1)), 0.01, 2)[0]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=30, help="of Gauss-Newton, at most")
    parser.add_argument("--draws", type=int, default=60, help="of 64 plans, at most")
    given = parser.parse_args()
    print(f"{'':>22}   cost  rollouts  with derivatives  seconds  off by")
    for name, p in run(given.steps, given.draws).items():
        pose = rolled(1)((p.plan * LOADS).reshape(1, -1))["pose"][0, -1] - GOAL
        far = f"{1e3 * np.hypot(*pose[:2]):.2f} mm, {1e3 * abs(pose[2]):.1f} mrad"
        print(f"{name:>22}: {p.cost:5.2f}  {p.rollouts:8}  {p.linearized:16}  {p.seconds:7.1f}  {far}")
    loads = np.array([0.8, 1.5, 1.58, 1.61, 1.65, 1.8, 2.5])
    print("\nload [N]  moves by [mm]  0.1 N more moves it by [mm]: derivative, in fact")
    for load, row in zip(loads, 1e3 * break_away(loads), strict=True):
        print(f"{load:8.2f}  {row[0]:13.3f}  {row[1]:39.3f}  {row[2]:7.3f}")
    print("\nafter [s]  started 0.01 rad further it has turned by [rad]: derivative, in fact")
    for seconds in (0.25, 0.5, 1.0, 2.0, 4.0):
        row = long_horizon(seconds)
        print(f"{seconds:9.2f}  {row[1]:60.3g}  {row[2]:7.3f}")

"""Which of many grasps holds best? Computes margins of tactile frames under the loads of a task.

Each frame is the pressure map of a candidate grasp, as a tactile sensor of 16 x 16 taxels would see it: one to three
bumps. The task's loads are the weight of an object that is turned in hand, and tugs on its far end. For each frame:
the grip that holds all of them, and the load that gives way first.

    python examples/python/grasp_planning.py
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import bristle


def frames(count: int, rng: np.random.Generator) -> np.ndarray:
    """Pressure maps [count, 16, 16] of one to three bumps."""
    rows, columns = np.mgrid[:16, :16]
    out = np.zeros((count, 16, 16))
    for k in range(count):
        for _ in range(rng.integers(1, 4)):
            row, column, width = rng.uniform(2, 13), rng.uniform(2, 13), rng.uniform(1, 3)
            out[k] += rng.uniform(0.3, 1) * np.exp(-((rows - row) ** 2 + (columns - column) ** 2) / (2 * width**2))
    # A taxel has a threshold.
    return np.where(out > 0.1, out, 0)


def loads(count: int, rng: np.random.Generator) -> np.ndarray:
    """Wrenches [count, 3] on the object at the origin of the sensor [N, N, N m], in all directions of gravity."""
    angle, arm = rng.uniform(0, 2 * np.pi, count), 0.05
    weight = 0.25 * 9.81 * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    centre = np.array([0.008, 0.0])
    tug = rng.normal(0, 0.3, (count, 2))
    torque = centre[0] * weight[:, 1] - centre[1] * weight[:, 0] + arm * tug[:, 1]
    # Each of two pads takes half.
    return np.column_stack([weight + tug, torque]) / 2


def run(count: int = 500, tries: int = 1000) -> dict[str, float]:
    """The best and the usual frame, and how long the query took."""
    rng = np.random.default_rng(0)
    maps, task = frames(count, rng), loads(tries, rng)
    began = time.perf_counter()
    table = bristle.limit_surface(maps, 0.02, mu=0.6, f_n=1.0, at="origin")
    factor, twist = table.query(task)
    took = time.perf_counter() - began
    # The surface grows with the grip: what holds k times a load at 1 N holds the load at 1/k N.
    grip = 1 / factor.min(axis=1)
    best = int(grip.argmin())
    worst = int(factor[best].argmin())
    return {
        "best": float(grip[best]),
        "median": float(np.median(grip)),
        "worst": float(grip.max()),
        "turns": float(abs(twist[best, worst, 2]) * table.radius[best]),
        "seconds": took,
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--frames", type=int, default=500)
    parser.add_argument("--loads", type=int, default=1000)
    arguments = parser.parse_args()
    found = run(arguments.frames, arguments.loads)
    print(f"{arguments.frames} frames under {arguments.loads} loads in {found['seconds']:.2f} s")
    print(f"grip that holds all loads: best frame {found['best']:.2f} N, median {found['median']:.2f} N, ", end="")
    print(f"worst {found['worst']:.2f} N; the best one gives way with {found['turns']:.0%} of its motion a turn")

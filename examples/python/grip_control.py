"""Grips as gently as each object allows, whatever its friction.

Boxes of unknown mass and friction are held between two pads, and pulled at times. A controller sees how much of each
patch is near its limit, every 4 ms: it tightens where more than a tenth is, and slowly loosens else. Beside it are two
grips that stay: one that would hold the mean box, and one that holds them all.

    python examples/python/grip_control.py
"""

from __future__ import annotations

import argparse

import numpy as np

import bristle

SCENARIO = """
duration = 1
step = 5e-4
[patch]
shape = "disc"
cells = 9
size = 0.015
[friction]
mu_c = { uniform = [0.3, 1.0] }
mu_s_over_mu_c = 1.1
sigma0 = 1e4
sigma1 = 20
[body]
kind = "gripper"
mass = { uniform = [0.1, 0.3] }
inertia = { rectangle = [0.1, 0.06] }
[inputs]
normal_force = 8
gravity = [0, -9.81]
"""
DT = 0.004


def pull(j: int, contacts: int) -> np.ndarray:
    """A tug downwards [N, N, N m], five times a second."""
    return np.tile([0.0, -0.8 * float(j % 50 < 10), 0.0], (contacts, 1))


def hold(contacts: int, steps: int, force: float | None, seed: int = 5) -> tuple[np.ndarray, np.ndarray]:
    """Mean grip of each contact in the second half [N], and how far it sank [m]; the controller grips if no force."""
    b = bristle.Batch(bristle.Scenario.from_toml(SCENARIO), contacts, DT, seed=seed)
    grip = np.full(contacts, 8.0 if force is None else force)
    mean = np.zeros(contacts)
    for j in range(steps):
        b.step({"normal_force": grip, "wrench": pull(j, contacts)})
        # It starts firmly; what counts is what it comes to.
        mean += (j >= steps // 2) * grip / (steps - steps // 2)
        if force is None:
            grip = np.clip(grip * np.where(b.near_limit > 0.1, 1.2, 0.995), 0.2, 20)
    return mean, -b.pose[:, 1]


def run(contacts: int = 1000, steps: int = 500) -> dict[str, tuple[float, float, float]]:
    """Of each way to grip: mean force [N], and share of objects that sank by more than 1 mm and 10 mm."""
    drawn = bristle.Scenario.from_toml(SCENARIO).draw(contacts, seed=5)
    needed = (drawn["body.mass"] * 9.81 + 0.8) / (2 * drawn["friction.mu_c"])
    ways = {"controlled": None, "for the mean": float(needed.mean()), "for all": float(1.05 * needed.max())}
    out = {}
    for name, force in ways.items():
        mean, sunk = hold(contacts, steps, force)
        out[name] = (float(mean.mean()), float(np.mean(sunk > 1e-3)), float(np.mean(sunk > 1e-2)))
    return out


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--contacts", type=int, default=1000)
    for way, (force, slipped, lost) in run(parser.parse_args().contacts).items():
        print(f"{way:>13}: {force:5.2f} N, {slipped:6.1%} slipped more than 1 mm, {lost:6.1%} more than 10 mm")

"""Learns to feel a slip before it happens, from objects of friction that nobody knows.

Boxes are gripped while their load grows; mass, friction, stiffness, patch and grip of each are drawn from the
scenario. What a tactile finger tip would measure, the forces and how far the skin has been dragged over the last 80 ms,
goes into a logistic regression that says whether the object will be sliding, faster than 10 mm/s, 50 ms later. It is
tried on boxes that it has not seen, against the best threshold on the ratio of forces, which is what a guess of the
friction coefficient comes to.

    python examples/python/slip_predictor.py
"""

from __future__ import annotations

import argparse

import numpy as np

import bristle

SCENARIO = """
duration = 1
step = 2e-3                               # soft bristles do not ask for shorter ones
[patch]
shape = { choice = ["disc", "square"] }
cells = 7
size = { uniform = [0.008, 0.02] }
[friction]
mu_c = { uniform = [0.3, 1.2] }
mu_s_over_mu_c = { uniform = [1.0, 1.2] }
sigma0 = { log_uniform = [2e3, 2e4] }     # soft finger tips: micro-slip shows before the whole patch slides
sigma1 = 10
s_ba = 0.3
v_s = { log_uniform = [1e-3, 1e-2] }
[body]
kind = "gripper"
mass = { uniform = [0.05, 0.3] }
inertia = { rectangle = [0.1, 0.06] }
[initial]
pose = [{ normal = [0, 0.004] }, 0, 0]
[inputs]
normal_force = { uniform = [1, 5] }
"""
DT = 0.01
PAST = 8
AHEAD = 5


def simulate(contacts: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Windows of measurements, force ratios, and whether the contact slips a while later."""
    steps = 100
    b = bristle.Batch(bristle.Scenario.from_toml(SCENARIO), contacts, DT, seed=seed)
    rng = np.random.default_rng(seed)
    # A pull in any direction that grows at a rate of its own.
    angle, rate = rng.uniform(0, 2 * np.pi, contacts), rng.uniform(2, 12, contacts)
    load = rate[:, None] * DT * np.arange(steps)
    wrench = np.stack([load * np.cos(angle)[:, None], load * np.sin(angle)[:, None], 0 * load], axis=2)
    out = b.rollout(steps, {"wrench": wrench}, record=["pose", "twist", "wrench", "normal_force"])
    force, grip = out["wrench"], out["normal_force"]
    ratio = np.linalg.norm(force[:, :, :2], axis=2) / grip
    torque = np.abs(force[:, :, 2]) / grip / 0.01
    moved = out["pose"] - out["pose"][:, :1]
    # The skin is dragged; a sensor sees that to some micrometres.
    dragged = np.abs(np.linalg.norm(moved[:, :, :2], axis=2) + rng.normal(0, 3e-6, ratio.shape))
    turned = np.abs(moved[:, :, 2])
    signals = np.stack([ratio, torque, np.log(1e-5 + dragged), np.log(1e-3 + turned), np.log(0.02 + ratio)], axis=2)
    samples = np.arange(PAST, steps + 1 - AHEAD, 5)
    windows = np.stack([signals[:, t - PAST : t + 1 : 4].reshape(contacts, -1) for t in samples], axis=1)
    slides = np.linalg.norm(out["twist"][:, :, :2], axis=2) > 0.01
    slips = slides[:, samples + AHEAD]
    # Only moments at which it holds: to see that it slides already is no art.
    holds = ~slides[:, samples]
    return windows[holds], ratio[:, samples][holds], slips[holds]


def features(x: np.ndarray) -> np.ndarray:
    """The measurements, their products by pairs, and one."""
    i, j = np.triu_indices(x.shape[1])
    return np.concatenate([x, x[:, i] * x[:, j], np.ones((len(x), 1))], axis=1)


def fit(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Logistic regression by Newton's method, with a small penalty."""
    weights = np.zeros(x.shape[1])
    for _ in range(8):
        p = 1 / (1 + np.exp(-np.clip(x @ weights, -30, 30)))
        hessian = (x * (p * (1 - p))[:, None]).T @ x + np.eye(x.shape[1])
        weights -= np.linalg.solve(hessian, x.T @ (p - y) + weights)
    return weights


def area_under_roc(score: np.ndarray, y: np.ndarray) -> float:
    """Share of pairs of a slip and a hold that a score puts in the right order."""
    rank = np.argsort(np.argsort(score)) + 1.0
    slips = int(y.sum())
    return float((rank[y].sum() - slips * (slips + 1) / 2) / (slips * (len(y) - slips)))


def run(contacts: int = 1000) -> dict[str, float]:
    """Trains on some contacts, and tries on others."""
    x, _, y = simulate(contacts, seed=1)
    mean, spread = x.mean(axis=0), x.std(axis=0) + 1e-9
    weights = fit(features((x - mean) / spread), y)
    x, ratio, y = simulate(contacts, seed=2)
    score = features((x - mean) / spread) @ weights
    return {
        "windows": len(y),
        "slips": float(y.mean()),
        "predictor": area_under_roc(score, y),
        "ratio": area_under_roc(ratio, y),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--contacts", type=int, default=1000)
    found = run(parser.parse_args().contacts)
    print(
        f"{found['windows']:.0f} windows of contacts not seen before, {found['slips']:.1%} slip within {AHEAD * DT} s"
    )
    print(f"area under the ROC curve: {found['predictor']:.3f}, by the ratio of forces alone {found['ratio']:.3f}")

"""Learns to hold unknown objects in a shaken hand with the least grip, by live tactile images.

The policy sees the images of one pad (the normal force and the friction of 7 x 7 cells) and sets the rate of the grip.
It remembers the largest load that it has felt, which fades, and the largest ratio of friction to normal force of a
cell. That is at most the coefficient of friction, and reaches it when the cell slips: then the ratio does not grow any
more while the grip opens. Ten weights, five before that moment and five after it, are found by the cross-entropy
method. The objects of the test are others than those that it has learned with. Their least grip is the smallest
constant one that holds, found by bisection.

    pip install 'bristle[gym]' matplotlib
    python examples/python/learn_hold.py --plot learn_hold.svg
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

from bristle.gym import HoldVectorEnv

Policy = Callable[[np.ndarray], np.ndarray]
WEIGHTS = 10
#: The share of the largest load that is forgotten in an interval.
FADES = 0.005


class Feeling:
    """What a policy makes of the images, and what it remembers."""

    def __init__(self, n: int) -> None:
        #: The largest load [N], which fades, and the largest ratio of a cell, at least that of any object.
        self.load, self.ratio = np.zeros(n), np.full(n, 0.3)
        #: Whether cells have slipped while the grip was opened, so that the ratio is the coefficient of friction.
        self.knows = np.zeros(n, bool)
        self.before, self.normal = np.full(n, 0.01), np.full(n, 15.0)

    def features(self, seen: np.ndarray) -> np.ndarray:
        """(n, WEIGHTS), of observations (n, 148)."""
        pressed, sheared = HoldVectorEnv.images(seen)
        force = np.hypot(sheared[..., 0], sheared[..., 1])
        normal, load = pressed.sum(axis=(1, 2)), np.linalg.norm(sheared.sum(axis=(1, 2)), axis=1)
        cells = np.where(pressed > 0, force / np.maximum(pressed, 1e-6), 0.0).reshape(len(seen), -1)
        largest = np.clip(cells.max(axis=1), 0.01, 2.0)
        even = np.log(np.maximum(force.sum(axis=(1, 2)) / normal, 0.005) / largest)
        self.load = np.maximum((1 - FADES) * self.load, load)
        self.ratio = np.maximum(self.ratio, largest)
        change, opened = np.log(largest / self.before), np.log(normal / self.normal) < -0.02
        self.knows |= opened & (change < 0.01) & (largest > 0.95 * self.ratio)
        self.before, self.normal = largest, normal
        gap, needed = np.log(largest / self.ratio), np.log(np.maximum(self.load, 1e-3) / normal / self.ratio)
        knows, searches = self.knows, ~self.knows
        parts = [searches, searches * gap, searches * needed, searches * even, searches * change]
        return np.stack([*parts, knows, knows * gap, knows * needed, knows * even, knows * change], axis=1)


def network(weights: np.ndarray) -> Callable[[int], Policy]:
    """The policies of ``weights`` (policies, WEIGHTS), each for an equal share of the environments."""

    def start(n: int) -> Policy:
        feeling, each = Feeling(n), np.repeat(weights, n // len(weights), axis=0)
        return lambda seen: np.tanh((each * feeling.features(seen)).sum(axis=1))[:, None]

    return start


def hand_tuned(n: int) -> Policy:
    """Holds 1.2 times the load that was felt over a coefficient of friction that every object has."""
    feeling = Feeling(n)

    def act(seen: np.ndarray) -> np.ndarray:
        feeling.features(seen)
        wanted = 1.2 * np.maximum(feeling.load, 0.3) / 0.3
        return np.clip(10 * np.log(wanted / (15 * seen[:, -1])), -1, 1)[:, None]

    return act


def at_random(n: int) -> Policy:
    """Changes the grip at random."""
    random = np.random.default_rng(3)
    return lambda seen: random.uniform(-1, 1, (n, 1))


def episode(envs: HoldVectorEnv, start: Callable[[int], Policy], seed: int) -> tuple[np.ndarray, ...]:
    """Return, whether held, and mean grip [N] (n,) of one episode of each environment."""
    seen, _ = envs.reset(seed=seed)
    policy, n = start(envs.num_envs), envs.num_envs
    total, grip, held = np.zeros(n), np.zeros(n), np.ones(n, bool)
    for _ in range(envs.horizon):
        seen, rewards, ended, _, _ = envs.step(policy(seen))
        total += rewards * held
        held &= ~ended
        grip += envs.grip / envs.horizon
    return total, held, grip


def least_grips(envs: HoldVectorEnv, seed: int) -> np.ndarray:
    """The smallest constant grips [N] (n,) that hold the objects of a seed, within a hundredth."""
    low, high = np.full(envs.num_envs, 0.5), np.full(envs.num_envs, 40.0)
    while (high / low).max() > 1.01:
        middle = np.sqrt(low * high)
        envs.reset(seed=seed)
        for _ in range(envs.horizon):
            envs.batch.step({"normal_force": middle, "gravity": envs.gravity(envs.steps)})
            envs.steps += 1
        low, high = np.where(envs.batch.left, middle, low), np.where(envs.batch.left, high, middle)
    return high


def learn(generations: int, policies: int, contacts: int, log: Callable[[int, float, float], None]) -> np.ndarray:
    """The mean of the last generation (1, WEIGHTS)."""
    random = np.random.default_rng(0)
    envs = HoldVectorEnv(policies * contacts, autoreset_mode="SameStep")
    mean, spread = np.zeros(WEIGHTS), np.ones(WEIGHTS)
    for generation in range(generations):
        weights = mean + spread * random.standard_normal((policies, WEIGHTS))
        weights[0] = mean
        total, held, _ = episode(envs, network(weights), generation)
        scores = total.reshape(policies, contacts).mean(axis=1)
        elite = weights[np.argsort(scores)[-policies // 4 :]]
        mean, spread = elite.mean(axis=0), elite.std(axis=0) + 0.1 * 0.9**generation
        log(generation, scores[0], held[:contacts].mean())
    return mean[None]


def main() -> None:
    """Learns, compares, and draws the curve."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--generations", type=int, default=40)
    arguments.add_argument("--policies", type=int, default=24)
    arguments.add_argument("--contacts", type=int, default=48, help="of each policy in a generation")
    arguments.add_argument("--plot", help="the learning curve, SVG or PNG")
    options = arguments.parse_args()
    begun, curve = time.perf_counter(), []

    def log(generation: int, score: float, held: float) -> None:
        curve.append((time.perf_counter() - begun, score, held))
        if generation % 5 == 0:
            print(f"generation {generation:3d}: return {score:7.2f}, {100 * held:3.0f} % held")

    learned = learn(options.generations, options.policies, options.contacts, log)
    print(f"learned in {time.perf_counter() - begun:.0f} s")
    envs = HoldVectorEnv(512, autoreset_mode="SameStep")
    least = least_grips(envs, 1_000_000)
    shown = {}
    for name, start in {"learned": network(learned), "hand-tuned": hand_tuned, "random": at_random}.items():
        total, held, grip = episode(envs, start, 1_000_000)
        shown[name] = total.mean()
        ratio = (grip / least)[held]
        print(
            f"{name:10s}: return {total.mean():7.2f}, {100 * held.mean():3.0f} % held, "
            f"by {np.mean(ratio) if held.any() else np.nan:.2f} times the least grip (median {np.median(ratio):.2f})"
        )
    if options.plot:
        import matplotlib.pyplot as plt

        _, axes = plt.subplots(figsize=(6, 3.6), layout="constrained")
        seconds, scores, _ = np.array(curve).T
        axes.plot(seconds, scores, label="mean of the generation")
        for i, (name, score) in enumerate(shown.items()):
            axes.axhline(score, color=f"C{i}", ls="--", label=f"{name}, held-out objects")
        axes.set(xlabel="time [s]", ylabel="return")
        axes.legend(fontsize=8)
        plt.savefig(options.plot)


if __name__ == "__main__":
    main()

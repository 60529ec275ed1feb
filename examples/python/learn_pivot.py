"""Learns to pivot a held box by the grip force, and compares with the best open-loop grip.

The policy is a small network, found by the cross-entropy method: draw many networks, keep the best, draw around them.
All networks of a generation are judged at once, each on boxes of its own. Network and open-loop grip are then tried on
friction that neither has seen.

    pip install 'bristle[gym]' matplotlib
    python examples/python/learn_pivot.py --plot learning.svg
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

import bristle
from bristle.gym import PIVOT, PivotVectorEnv

HIDDEN = 8
SIZES = [(7, HIDDEN), (HIDDEN,), (HIDDEN, 1), (1,)]
WEIGHTS = sum(int(np.prod(size)) for size in SIZES)
SEEN = [(0.5, 0.8)]
HELD_OUT = [(0.4, 0.5), (0.8, 0.9)]

Policy = Callable[[np.ndarray, np.ndarray], np.ndarray]


def environments(n: int, friction: tuple[float, float]) -> PivotVectorEnv:
    """Boxes whose Coulomb coefficient is drawn from a range."""
    changes = [f"friction.mu_c={{ uniform = [{friction[0]}, {friction[1]}] }}"]
    return PivotVectorEnv(n, bristle.Scenario.from_toml(PIVOT, changes=changes))


def episode(envs: PivotVectorEnv, policy: Policy, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return and success (n,) of one episode of each environment."""
    seen, _ = envs.reset(seed=seed)
    total, success = np.zeros(envs.num_envs), np.zeros(envs.num_envs, bool)
    running = ~success
    for _ in range(envs.horizon):
        seen, rewards, ended, cut, infos = envs.step(policy(seen, envs.target))
        total += rewards * running
        success |= running & cut & infos["success"]
        running &= ~(ended | cut)
    return total, success


def network(weights: np.ndarray) -> Policy:
    """The policies of ``weights`` (policies, WEIGHTS), each for an equal share of the environments."""
    policies = len(weights)
    first, bias, second, offset = (
        part.reshape(policies, *size)
        for part, size in zip(
            np.split(weights, np.cumsum([int(np.prod(s)) for s in SIZES])[:-1], axis=1), SIZES, strict=True
        )
    )

    def act(seen: np.ndarray, _: np.ndarray) -> np.ndarray:
        rows = seen.reshape(policies, -1, seen.shape[1])
        hidden = np.tanh(rows @ first + bias[:, None])
        return np.tanh(hidden @ second + offset[:, None]).reshape(-1, 1)

    return act


def learn(generations: int, policies: int, contacts: int, log: Callable[[int, float, float], None]) -> np.ndarray:
    """The mean of the last generation (1, WEIGHTS)."""
    random = np.random.default_rng(0)
    envs = environments(policies * contacts, SEEN[0])
    mean, spread = np.zeros(WEIGHTS), np.ones(WEIGHTS)
    for generation in range(generations):
        weights = mean + spread * random.standard_normal((policies, WEIGHTS))
        weights[0] = mean
        total, success = episode(envs, network(weights), generation)
        scores = total.reshape(policies, contacts).mean(axis=1)
        elite = weights[np.argsort(scores)[-policies // 5 :]]
        mean, spread = elite.mean(axis=0), elite.std(axis=0) + 0.1 * 0.97**generation
        log(generation, scores[0], success[:contacts].mean())
    return mean[None]


def open_loop(contacts: int) -> Policy:
    """The best of 70 profiles: loose, for a time that grows with the root of the target angle, then firm."""
    envs = environments(contacts, SEEN[0])
    best: tuple[float, Policy] = (-np.inf, network(np.zeros((1, WEIGHTS))))
    for loose in np.linspace(-0.9, 0.0, 7):
        for pace in np.linspace(0.08, 0.5, 10):

            def profile(seen: np.ndarray, target: np.ndarray, loose=loose, pace=pace) -> np.ndarray:
                return np.where(seen[:, 6:] < pace * np.sqrt(-target), loose, 1.0)

            score = episode(envs, profile, 1)[0].mean()
            if score > best[0]:
                best = (score, profile)
    return best[1]


def main() -> None:
    """Learns, compares, and draws the curve."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--generations", type=int, default=60)
    arguments.add_argument("--policies", type=int, default=40)
    arguments.add_argument("--contacts", type=int, default=32, help="of each policy in a generation")
    arguments.add_argument("--plot", help="the learning curve, SVG or PNG")
    options = arguments.parse_args()
    begun, curve = time.perf_counter(), []

    def log(generation: int, score: float, success: float) -> None:
        curve.append((time.perf_counter() - begun, score, success))
        if generation % 5 == 0:
            print(f"generation {generation:3d}: return {score:7.2f}, {100 * success:3.0f} % succeed")

    learned = network(learn(options.generations, options.policies, options.contacts, log))
    print(f"learned in {time.perf_counter() - begun:.0f} s")
    tuned = open_loop(256)
    rates = {}
    for friction in SEEN + HELD_OUT:
        for name, policy in {"learned": learned, "open loop": tuned}.items():
            total, success = episode(environments(512, friction), policy, 2)
            rates[friction, name] = success.mean()
            print(f"mu_c in {friction}: {name:9s} return {total.mean():7.2f}, {100 * success.mean():3.0f} % succeed")
    if options.plot:
        import matplotlib.pyplot as plt

        _, axes = plt.subplots(figsize=(6, 3.6), layout="constrained")
        seconds, _, success = np.array(curve).T
        axes.plot(seconds, 100 * success, label="mean of the generation, friction as learned on")
        held = np.mean([rates[friction, "learned"] for friction in HELD_OUT])
        axes.axhline(100 * held, color="C0", ls="--", label="learned, held-out friction")
        held = np.mean([rates[friction, "open loop"] for friction in HELD_OUT])
        axes.axhline(100 * held, color="C1", ls="--", label="open-loop grip, held-out friction")
        axes.set(xlabel="time [s]", ylabel="boxes at their target [%]", ylim=(0, 100))
        axes.legend(fontsize=8)
        plt.savefig(options.plot)


if __name__ == "__main__":
    main()

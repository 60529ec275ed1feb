"""The quick start of the README: 200 boxes in hand under one grip profile, coloured by their friction."""

import matplotlib.pyplot as plt
import numpy as np

import bristle

plt.style.use({"svg.fonttype": "none", "svg.hashsalt": "bristle"})

b = bristle.Batch(bristle.Scenario.load("examples/in_hand.toml"), nsim=200, dt=0.01)
mu = b.expand("friction.mu_c")  # any number of any contact, before the first step
mu[:] = np.linspace(0.5, 1.3, b.nsim)
grip = 2.0 - 1.2 * np.exp(-(((np.arange(100) - 40) / 15) ** 2))  # [N]: opens, and closes again
out = b.rollout(100, {"normal_force": grip}, record=["time", "pose"], every=2)
plt.figure(figsize=(7, 3), layout="constrained")
for time, pose, m in zip(out["time"], out["pose"], mu, strict=True):
    plt.plot(time, 1e3 * (pose[0, 1] - pose[:, 1]), color=plt.cm.viridis((m - 0.5) / 0.8), lw=0.5)
plt.gca().set(xlabel="time [s]", ylabel="sunk by [mm]", yscale="symlog", ylim=0)
plt.colorbar(plt.cm.ScalarMappable(plt.Normalize(0.5, 1.3), "viridis"), ax=plt.gca(), label="friction coefficient")
plt.savefig("quick_start.svg")

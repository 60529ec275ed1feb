"""A box between two finger pads in MuJoCo: with MuJoCo's own friction, and with bristle's.

The hand shakes for a minute under a grip that also varies; the friction cone holds the box twice over. Then the grip
opens until the box pivots about the pads under its own weight, beside bristle's own gripper.

    pip install 'bristle[mujoco]' matplotlib
    python examples/python/mujoco_hold.py --plot hold.svg
"""

from __future__ import annotations

import argparse
import time

import mujoco
import numpy as np

import bristle
from bristle.mujoco import PatchFriction

MODEL = """
<mujoco>
  <option timestep="0.002" cone="elliptic" impratio="{impratio}" noslip_iterations="{noslip}"
          iterations="100" tolerance="1e-12"/>
  <default><geom solref="0.01 1" solimp="0.95 0.99 0.001" condim="{condim}" friction="1 {torsion} 0"/></default>
  <worldbody>
    <body pos="-0.025 0 0"><joint name="left" type="slide" axis="1 0 0"/>
      <geom type="box" size="0.005 0.01 0.01" mass="0.05"/><site name="left" pos="0.005 0 0" zaxis="1 0 0"/></body>
    <body pos="0.025 0 0"><joint name="right" type="slide" axis="-1 0 0"/>
      <geom type="box" size="0.005 0.01 0.01" mass="0.05"/><site name="right" pos="-0.005 0 0" zaxis="1 0 0"/></body>
    <body name="box" pos="0 {offset} 0"><freejoint/>
      <geom type="box" size="0.02 0.075 0.04" mass="0.2"/></body>
  </worldbody>
  <actuator><motor joint="left"/><motor joint="right"/></actuator>
</mujoco>"""

#: One pad: a square of 20 mm whose pressure is even; steps by tolerance.
PATCH = """
duration = 1
precision = "f64"
step = { tolerance = 1e-6 }
[patch]
shape = "square"
cells = 11
size = 0.02
[friction]
mu_c = 1.0
mu_s = 1.0
sigma2 = 0
"""
PRESCRIBED = (
    PATCH
    + """
[body]
kind = "prescribed"
[inputs]
normal_force = 0
twist = { vx = 0, vy = 0, w = 0, at = "origin" }
"""
)
GRIPPER = (
    PATCH
    + """
[body]
kind = "gripper"
mass = 0.2
inertia = { rectangle = [0.15, 0.08] }
[initial]
pose = [0.02, 0, 0]
[inputs]
normal_force = 3
gravity = [0, -9.81]
"""
)

#: The moment that a square pad of 20 mm resists, over the force: MuJoCo's torsional coefficient [m].
TORSION = 0.00765


def shaken_grip(t: float) -> float:
    """Grip of one pad [N]."""
    return 3 + 0.5 * np.sin(6 * np.pi * t)


def shaken_gravity(t: float) -> tuple[float, float, float]:
    """Gravity in the frame of a hand that shakes at 5 Hz [m/s^2]."""
    return 0.0, 3 * np.sin(10 * np.pi * t), -9.81 + 3 * np.cos(10 * np.pi * t)


def opening_grip(t: float) -> float:
    """A grip that opens over half a second, until the pads no longer hold the moment of the weight [N]."""
    return 6.0 - 4.0 * min(max(t - 0.2, 0.0) / 0.5, 1.0)


def simulate(seconds, grip, gravity=None, own=None, offset=0.0, every=25):
    """Time [s], position y, z [m] and rotation [rad] of the box, normal force [N], and wall time of a step [s].

    ``own``: MuJoCo's settings of its own friction; bristle's if None.
    """
    settings = {"condim": 1, "impratio": 1, "noslip": 0} if own is None else {"condim": 4, "noslip": 0} | own
    model = mujoco.MjModel.from_xml_string(MODEL.format(offset=offset, torsion=TORSION, **settings))
    data = mujoco.MjData(model)
    friction = None
    if own is None:
        scenario = bristle.Scenario.from_toml(PRESCRIBED)
        friction = PatchFriction(model, scenario, object="box", pads=["left", "right"])
        friction.__enter__()
    rows = []
    begun = time.perf_counter()
    try:
        for i in range(round(seconds / model.opt.timestep)):
            data.ctrl[:] = grip(data.time)
            if gravity is not None:
                model.opt.gravity[:] = gravity(data.time)
            if friction is None:
                mujoco.mj_step(model, data)
            else:
                friction.step(data)
            if (i + 1) % every == 0:
                _, y, z, w, x = data.qpos[2:7]
                force = 0.0 if friction is None else friction.normal_force.mean()
                rows.append((data.time, y, z, 2 * np.arctan2(x, w), force))
    finally:
        if friction is not None:
            friction.__exit__()
    return np.array(rows), (time.perf_counter() - begun) / round(seconds / model.opt.timestep)


def pivot(seconds):
    """The box in MuJoCo with bristle's friction, and in bristle's own gripper under the same normal forces."""
    inside, _ = simulate(seconds, opening_grip, offset=0.02, every=1)
    gripper = bristle.Batch(bristle.Scenario.from_toml(GRIPPER), 1, 0.002, device="cpu")
    alone = gripper.rollout(len(inside), {"normal_force": inside[:, 4]}, record=["pose"])["pose"][0]
    return inside, alone[1:]


OWN = {
    "impratio 10": {"impratio": 10},
    "impratio 100": {"impratio": 100},
    "noslip solver, 20 iterations": {"impratio": 10, "noslip": 20},
}


def main() -> None:
    """Prints how fast the box creeps and how far it pivots; draws both."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--seconds", type=float, default=60.0, help="how long the hand shakes")
    arguments.add_argument("--plot", help="a picture of both experiments, SVG or PNG")
    options = arguments.parse_args()
    curves = {}
    for name, own in {**{f"MuJoCo, {name}": own for name, own in OWN.items()}, "bristle in MuJoCo": None}.items():
        path, step = simulate(options.seconds, shaken_grip, shaken_gravity, own)
        settled = path[path[:, 0] > 1.0]
        creep = (settled[-1, 2] - settled[0, 2]) / (settled[-1, 0] - settled[0, 0])
        print(f"{name:40s} creeps {1e6 * creep:9.4f} um/s, {1e6 * step:6.0f} us a step")
        curves[name] = path
    inside, alone = pivot(1.2)
    print(f"pivots to {inside[-1, 3]:.4f} rad; bristle's own gripper to {alone[-1, 2]:.4f} rad")
    if options.plot:
        import matplotlib.pyplot as plt

        _, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
        for name, path in curves.items():
            left.plot(path[:, 0], 1e3 * (path[:, 2] - path[0, 2]), label=name)
        left.set(xlabel="time [s]", ylabel="height of the box [mm]", title="Held for a minute in a shaking hand")
        left.legend(fontsize=8)
        right.plot(inside[:, 0], inside[:, 3], label="bristle in MuJoCo, steps of 2 ms")
        right.plot(inside[:, 0], alone[:, 2], "--", label="bristle's own gripper")
        right.set(xlabel="time [s]", ylabel="rotation [rad]", title="The grip opens: the box pivots")
        right.legend(fontsize=8)
        plt.savefig(options.plot)


if __name__ == "__main__":
    main()

"""Creep and cost of bristle's friction in MuJoCo and of MuJoCo's own, in four scenes that the cone holds.

``python python/benchmarks/mujoco_scenes.py`` prints a row for each scene and friction. The scenes last 3 s in steps of
2 ms, and creep is the mean over the last second. All times are the least of many blocks of ten steps.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import mujoco
import numpy as np

import bristle
from bristle.mujoco import PatchFriction

DT = 0.002
HEAD = """
<mujoco><option timestep="0.002" cone="elliptic" impratio="{impratio}" noslip_iterations="{noslip}"/>
<default><geom condim="{condim}" solref="0.01 1" friction="{mu} {torsion} 0"/></default><worldbody>"""
FLOOR = '<geom type="box" size="1 1 0.02" pos="0 0 -0.02"/>'
FINGERS = """
<body pos="-0.025 0 0"><joint name="left" type="slide" axis="1 0 0"/>
  <geom type="box" size="0.005 0.01 0.01" mass="0.05"/><site name="left" pos="0.005 0 0" zaxis="1 0 0"/></body>
<body pos="0.025 0 0"><joint name="right" type="slide" axis="-1 0 0"/>
  <geom type="box" size="0.005 0.01 0.01" mass="0.05"/><site name="right" pos="-0.005 0 0" zaxis="1 0 0"/></body>"""
MOTORS = '<motor joint="left"/><motor joint="right"/>'
BOX = """<body name="box" pos="0 0 {}"><freejoint/><geom type="box" size="0.02 0.075 0.04" mass="0.2"/></body>"""

PATCH = """
duration = 1
precision = "f64"
[patch]
shape = "{shape}"
cells = 11
size = {size}
[friction]
mu_c = {mu}
mu_s = {mu}
sigma2 = 0
[body]
kind = "prescribed"
[inputs]
normal_force = 0
twist = {{ vx = 0, vy = 0, w = 0, at = "origin" }}
"""

FRICTIONS: dict[str, dict[str, int] | None] = {
    "elliptic cones, impratio 10": {"impratio": 10, "noslip": 0},
    "elliptic cones, impratio 100": {"impratio": 100, "noslip": 0},
    "no-slip solver, 20 iterations": {"impratio": 10, "noslip": 20},
    "bristle": None,
}


class Scene(NamedTuple):
    """A model, its patches, what drives it, and how far what should stick has moved."""

    text: str
    shape: str
    size: float
    mu: float
    #: The moment that the patch resists when it spins, over the force and mu [m].
    torsion: float
    object: str
    pads: list[str]
    drive: Callable[[Any, Any, float], None]
    moved: Callable[[Any], float]


def shake(model: Any, data: Any, t: float) -> None:
    """The hand shakes at 5 Hz by 3 m/s^2, and its grip varies at 3 Hz."""
    data.ctrl[:] = 3 + 0.5 * np.sin(6 * np.pi * t)
    model.opt.gravity[:] = 0, 3 * np.sin(10 * np.pi * t), -9.81 + 3 * np.cos(10 * np.pi * t)


def push(_: Any, data: Any, t: float) -> None:
    """3 N on a block that the floor holds with 4.9 N."""
    data.xfrc_applied[1, 0] = 3 * (t > 0.5)


def turn(_: Any, data: Any, t: float) -> None:
    """The wrist turns by half a radian a second."""
    data.ctrl[:] = 0.5 * max(t - 0.3, 0), -8


def lift(_: Any, data: Any, t: float) -> None:
    """The box is lifted, and then shaken by up to five times its weight at 5 Hz."""
    turns = 10 * np.pi
    swing = min(max(t - 1, 0) / 0.5, 1) * 5 * 9.81 / turns**2 * np.sin(turns * t)
    data.ctrl[:] = 10, 10, 0.15 * min(max((t - 0.3) / 0.5, 0), 1) + swing


SCENES = {
    "box in a shaking hand": Scene(
        f"{FINGERS}{BOX.format(0)}</worldbody><actuator>{MOTORS}</actuator></mujoco>",
        *("square", 0.02, 1.0, 0.00765, "box", ["left", "right"], shake),
        lambda data: 1e6 * data.qpos[4],
    ),
    "block pushed at 60 %": Scene(
        f"""{FLOOR}<body pos="0 0 0.05"><freejoint/><geom type="box" size="0.05 0.05 0.05" mass="1"/>
        <site name="foot" pos="0 0 -0.05"/></body></worldbody></mujoco>""",
        *("square", 0.1, 0.5, 0.0383, "world", ["foot"], push),
        lambda data: 1e6 * data.qpos[0],
    ),
    "cap with friction loss [urad/s]": Scene(
        """<body pos="0 0 0.06"><joint type="slide" axis="0 0 1" name="down"/>
          <joint name="wrist" type="hinge" axis="0 0 1" damping="0.5" armature="0.01"/>
          <geom type="cylinder" size="0.02 0.01" mass="0.2"/><site name="pad" pos="0 0 -0.01"/></body>
        <body name="cap" pos="0 0 0.04"><joint name="cap" type="hinge" axis="0 0 1" frictionloss="0.05"/>
          <geom type="cylinder" size="0.02 0.01" mass="0.05"/></body></worldbody>
        <actuator><position joint="wrist" kp="20"/><motor joint="down"/></actuator></mujoco>""",
        *("disc", 0.04, 0.8, 0.0133, "cap", ["pad"], turn),
        lambda data: 1e6 * (data.qpos[2] - data.qpos[1]),
    ),
    "lifted box, shaken by 5 g": Scene(
        f"""{FLOOR}<body pos="0 0 0.05"><joint name="z" type="slide" axis="0 0 1" damping="1"/>
          <inertial mass="1" pos="0 0 0" diaginertia="0.01 0.01 0.01"/>{FINGERS}</body>{BOX.format(0.04)}</worldbody>
        <actuator>{MOTORS}<position joint="z" kp="4000" kv="100"/></actuator></mujoco>""",
        *("square", 0.02, 1.0, 0.00765, "box", ["left", "right"], lift),
        lambda data: 1e6 * (data.qpos[5] - data.qpos[0]),
    ),
}


def simulate(scene: Scene, own: dict[str, int] | None) -> tuple[float, float]:
    """Creep over the last second, and microseconds a step."""
    settings = {"condim": 1, "impratio": 1, "noslip": 0} if own is None else {"condim": 4, **own}
    text = HEAD.format(mu=scene.mu, torsion=scene.torsion * scene.mu, **settings) + scene.text
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    step = mujoco.mj_step
    if own is None:
        scenario = bristle.Scenario.from_toml(PATCH.format(shape=scene.shape, size=scene.size, mu=scene.mu))
        friction = PatchFriction(model, scenario, scene.object, scene.pads)
        friction.__enter__()

        def step(_: Any, data: Any) -> None:
            friction.step(data)

    last, blocks = 0.0, []
    for block in range(150):
        if block == 100:
            last = scene.moved(data)
        begun = time.perf_counter()
        for _ in range(10):
            scene.drive(model, data, data.time)
            step(model, data)
        blocks.append(time.perf_counter() - begun)
    return scene.moved(data) - last, 1e5 * min(blocks[25:])


def main() -> None:
    """Prints the table."""
    print("| scene | friction | creep [um/s] | a step [us] |\n|---|---|---|---|")
    for name, scene in SCENES.items():
        for friction, own in FRICTIONS.items():
            creep, cost = simulate(scene, own)
            print(f"| {name} | {friction} | {creep:.3g} | {cost:.0f} |", flush=True)


if __name__ == "__main__":
    main()

"""What friction by patches costs a step of MuJoCo: a box between two pads that sticks, and one that slides.

``python python/benchmarks/mujoco_cost.py`` steps one world, and with ``--threads`` 64 worlds in threads of Python.
``--blocks 10`` puts ten blocks beside it, with friction of MuJoCo's own on a floor.
"""

from __future__ import annotations

import argparse
import itertools
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import mujoco
import numpy as np

import bristle
from bristle.mujoco import PatchFriction

MODEL = """
<mujoco>
  <option timestep="0.002" iterations="100" tolerance="1e-12"/>
  <default><geom solref="0.01 1" condim="1"/></default>
  <worldbody>{blocks}
    <body pos="-0.025 0 0"><joint name="left" type="slide" axis="1 0 0"/>
      <geom type="box" size="0.005 0.01 0.01" mass="0.05"/><site name="left" pos="0.005 0 0" zaxis="1 0 0"/></body>
    <body pos="0.025 0 0"><joint name="right" type="slide" axis="-1 0 0"/>
      <geom type="box" size="0.005 0.01 0.01" mass="0.05"/><site name="right" pos="-0.005 0 0" zaxis="1 0 0"/></body>
    <body name="box"><freejoint/><geom type="box" size="0.02 2 2" mass="0.2"/></body>
  </worldbody>
  <actuator><motor joint="left"/><motor joint="right"/></actuator>
</mujoco>"""

FLOOR = '<geom type="box" size="5 5 0.1" pos="0 0 -5"/>'
BLOCK = """<body pos="{} 1 -4.85"><freejoint/>
  <geom type="box" size="0.05 0.05 0.05" condim="3" priority="1"/></body>"""

SCENARIO = """
duration = 1
precision = "{precision}"
step = {{ tolerance = 1e-6 }}
{contact}
[patch]
shape = "{shape}"
cells = {cells}
size = 0.02
[friction]
mu_c = 1.0
mu_s = 1.0
sigma2 = 0
[body]
kind = "prescribed"
[inputs]
normal_force = 0
twist = {{ vx = 0, vy = 0, w = 0, at = "origin" }}
"""

PATCHES = {
    "reduced": ('[contact]\nmodel = "reduced"', "square", 11),
    "grid of 121 cells": ("", "square", 11),
    "grid of 317 cells": ("", "circle", 21),
}


class World:
    """A box between pads; ``load`` [m/s^2] along z swings about it."""

    def __init__(self, patch: str, precision: str, load: float, blocks: int = 0) -> None:
        contact, shape, cells = PATCHES[patch]
        text = SCENARIO.format(precision=precision, contact=contact, shape=shape, cells=cells)
        others = FLOOR + "".join(BLOCK.format(0.5 * i) for i in range(blocks)) if blocks > 0 else ""
        self.model = mujoco.MjModel.from_xml_string(MODEL.format(blocks=others))
        self.data = mujoco.MjData(self.model)
        self.data.ctrl[:] = 3
        self.load = load
        self.friction = PatchFriction(self.model, bristle.Scenario.from_toml(text), "box", ["left", "right"])
        self.friction.__enter__()

    def begin(self) -> None:
        """The box is 4 m large, and starts anew before it has slid through."""
        self.data.qpos[2:9], self.data.qvel[:] = (0, 0, 0, 1, 0, 0, 0), 0
        self.run(20)

    def run(self, steps: int, own: bool = False, at_once: int = 1) -> float:
        """Seconds a step, of MuJoCo's own without friction if ``own``; a call of Python makes ``at_once`` of them."""
        model, data = self.model, self.data
        begun = time.perf_counter()
        for _ in range(steps // at_once):
            model.opt.gravity[:] = 0, 0.3 * np.sin(40 * data.time), -self.load * (1 + 0.05 * np.sin(60 * data.time))
            if own:
                mujoco.mj_step(model, data, at_once)
            else:
                self.friction.step(data, at_once)
        return (time.perf_counter() - begun) / steps


def costs(steps: int, blocks: int) -> None:
    """Microseconds a step of each patch, sticking and sliding: the least mean of many blocks of 100 steps."""
    for load, patch, precision in itertools.product((9.81, 60.0), PATCHES, ("f32", "f64")):
        world = World(patch, precision, load, blocks)
        world.run(200)
        ours, bare = [], []
        for _ in range(steps // 100):
            world.begin()
            ours.append(world.run(100))
            bare.append(world.run(10, own=True))
        slip = world.friction.batch.slip.mean()
        name = f"{patch}, {precision}, {'slides' if load > 30 else 'sticks'}"
        print(
            f"{name:36s} {1e6 * min(ours):6.1f} us a step, of which MuJoCo {1e6 * min(bare):5.1f} us; slip {slip:.2f}"
        )


def threads(worlds: int, steps: int) -> None:
    """How the rate of many worlds grows with threads: with patches, and of MuJoCo alone in the same turns."""
    made = [World("grid of 121 cells", "f64", 9.81) for _ in range(worlds)]
    for at_once in (1, 20):
        rates: dict[tuple[bool, int], float] = {}
        for n, own in [(1, False), (2, False), (1, True), (2, True)] * 4:
            for world in made:
                world.begin()
            with ThreadPoolExecutor(n) as pool:
                begun = time.perf_counter()
                list(pool.map(partial(World.run, steps=steps, own=own, at_once=at_once), made))
                rate = worlds * steps / (time.perf_counter() - begun)
            rates[own, n] = max(rates.get((own, n), 0.0), rate)
        shown = []
        for own in (False, True):
            one, two = rates[own, 1], rates[own, 2]
            shown.append(f"{one:.0f} steps/s in 1 thread, {two:.0f} in 2: {two / one / 2:.2f}")
        print(f"{worlds} worlds, {at_once} steps a call: {shown[0]} of twice the rate; MuJoCo alone {shown[1]}")


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--steps", type=int, default=6000)
    options.add_argument("--blocks", type=int, default=0)
    options.add_argument("--threads", action="store_true")
    chosen = options.parse_args()
    if chosen.threads:
        threads(64, chosen.steps // 20)
    else:
        costs(chosen.steps, chosen.blocks)

"""Friction inside MuJoCo, by the real package."""

from __future__ import annotations

import copy
import importlib.util
import os
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType

import mujoco
import numpy as np
import pytest

import bristle
from bristle.mujoco import PatchFriction

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "python" / "mujoco_hold.py"


@pytest.fixture(scope="module")
def hold() -> ModuleType:
    spec = importlib.util.spec_from_file_location("mujoco_hold", EXAMPLE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["mujoco_hold"] = module
    spec.loader.exec_module(module)
    return module


def creep(path):
    """Mean speed of the box after the first half second [m/s] along z, and how far it is from a straight line [m]."""
    settled = path[path[:, 0] > 0.5]
    slope, start = np.polyfit(settled[:, 0], settled[:, 2], 1)
    return slope, np.abs(settled[:, 2] - start - slope * settled[:, 0]).max()


def test_what_is_held_does_not_creep(hold):
    """The cone holds the box twice over in a shaking hand: MuJoCo's slides steadily, ours swings with its bristles."""
    ours, _ = hold.simulate(2.5, hold.shaken_grip, hold.shaken_gravity, every=10)
    slope, swing = creep(ours)
    assert abs(slope) < 1e-7 and swing < 1e-6, (slope, swing)
    assert np.abs(ours[:, 3]).max() < 1e-4
    theirs, _ = hold.simulate(2.5, hold.shaken_grip, hold.shaken_gravity, {"impratio": 10}, every=10)
    assert creep(theirs)[0] < -1e-5


def test_a_pivot_is_that_of_the_gripper(hold):
    """Bristle in MuJoCo, in steps of 2 ms, and bristle's own gripper under the same normal forces."""
    inside, alone = hold.pivot(0.9)
    turned = alone[-1, 2]
    assert turned < -0.5
    assert inside[-1, 3] == pytest.approx(turned, rel=0.02)
    assert np.abs(inside[:, 1:3] - alone[:, :2]).max() < 0.02 * np.abs(alone[-1, :2] - alone[0, :2]).max()


STEPS = [(dt, integrator) for dt in (0.001, 0.002, 0.005) for integrator in ("Euler", "implicitfast")]

#: Feet and fingers touch without friction of MuJoCo's own.
HEAD = """
<mujoco><option timestep="{dt}" integrator="{integrator}" {option}/>
<default><geom condim="1" solref="0.01 1"/></default><worldbody>"""
FLOOR = '<geom name="floor" type="box" size="1 1 0.02" pos="0 0 -0.02"/>'
#: A hand of two fingers that close along x about a box of 0.2 kg; `{at}` is along y.
HAND = """
<body pos="-0.025 {at} 0"><joint name="left" type="slide" axis="1 0 0"/>
  <geom type="box" size="0.005 0.01 0.01" mass="0.05"/><site name="left" pos="0.005 0 0" zaxis="1 0 0"/></body>
<body pos="0.025 {at} 0"><joint name="right" type="slide" axis="-1 0 0"/>
  <geom type="box" size="0.005 0.01 0.01" mass="0.05"/><site name="right" pos="-0.005 0 0" zaxis="1 0 0"/></body>"""
MOTORS = '<motor joint="left"/><motor joint="right"/>'


def patch(size, mu, shape="square", friction=""):
    """A patch that nothing loads yet."""
    return bristle.Scenario.from_toml(f"""
duration = 1
precision = "f64"
step = {{ tolerance = 1e-6 }}
[patch]
shape = "{shape}"
cells = 11
size = {size}
[friction]
mu_c = {mu}
mu_s = {mu}
sigma2 = 0
{friction}
[body]
kind = "prescribed"
[inputs]
normal_force = 0
twist = {{ vx = 0, vy = 0, w = 0, at = "origin" }}""")


def world(text, dt=0.002, integrator="Euler", option=""):
    head = HEAD.format(dt=dt, integrator=integrator, option=option)
    model = mujoco.MjModel.from_xml_string(head + text + "</mujoco>")
    return model, mujoco.MjData(model)


def block(half, name="block", at=""):
    """A block of 1 kg with a site on its bottom."""
    return f"""<body name="{name}" pos="{at or f"0 0 {half}"}"><freejoint/>
      <geom type="box" size="0.05 0.05 {half}" mass="1"/><site name="{name}_foot" pos="0 0 -{half}"/></body>"""


def run(friction, data, seconds, each=lambda t: None):
    """Steps and returns the states after them: time, qpos."""
    rows = []
    for i in range(round(seconds / friction.batch.dt)):
        each(i * friction.batch.dt)
        friction.step(data)
        rows.append((data.time, *data.qpos))
    return np.array(rows)


@pytest.mark.parametrize(("dt", "integrator"), STEPS)
@pytest.mark.parametrize("half", [0.001, 0.05])
@pytest.mark.parametrize("how", ["qfrc_applied", "xfrc_applied", "gravity"])
def test_what_is_pushed_below_its_limit_stays(dt, integrator, half, how):
    """1 kg on a floor that holds 4.9 N, pushed by 3 N in any of the ways of MuJoCo."""
    model, data = world(FLOOR + block(half) + "</worldbody>", dt, integrator)

    def push(t):
        force = 3.0 * (t >= 0.5)
        if how == "qfrc_applied":
            data.qfrc_applied[0] = force
        elif how == "xfrc_applied":
            data.xfrc_applied[1, 0] = force
        else:
            model.opt.gravity[0] = force

    with PatchFriction(model, patch(0.1, 0.5), object="world", pads=["block_foot"]) as friction:
        path = run(friction, data, 2, push)
    assert abs(path[-1, 1] - path[len(path) // 2, 1]) < 1e-7
    assert friction.batch.slip[0] == 0
    assert friction.wrench[0, :2] == pytest.approx([3, 0], abs=1e-3)
    assert friction.unconverged == 0


@pytest.mark.parametrize("option", ['jacobian="sparse"', 'solver="CG"', 'solver="PGS"', 'cone="elliptic"'])
def test_solvers_and_jacobians_of_other_kinds_hold_as_well(option):
    """A second block, with friction of MuJoCo's own, stands beside the one that is pushed."""
    other = """<body pos="0.5 0 0.05"><freejoint/>
      <geom type="box" size="0.05 0.05 0.05" mass="1" condim="3" priority="1"/></body></worldbody>"""
    model, data = world(FLOOR + block(0.05) + other, option=option)
    data.xfrc_applied[1:, 0] = 3
    with PatchFriction(model, patch(0.1, 0.5), object="world", pads=["block_foot"]) as friction:
        path = run(friction, data, 1)
    assert np.ptp(path[-250:, 1]) < 1e-7
    assert friction.wrench[0, 0] == pytest.approx(3, abs=1e-3)


@pytest.mark.parametrize(("dt", "integrator"), STEPS)
def test_a_block_on_a_belt_catches_up_as_coulomb_says(dt, integrator):
    """It lags by v^2 / (2 mu g) once it moves with the belt."""
    belt = """<body name="belt" pos="0 0 -0.02"><joint type="slide" axis="1 0 0"/>
      <geom type="box" size="5 1 0.02" mass="1e6"/></body>"""
    model, data = world(belt + block(0.05) + "</worldbody>", dt, integrator)
    speed, mu = 0.3, 0.5
    with PatchFriction(model, patch(0.1, mu, friction="sigma1 = 0"), "belt", ["block_foot"]) as friction:
        run(friction, data, 0.3)
        data.qvel[0], before = speed, data.qpos[0] - data.qpos[1]
        run(friction, data, 0.3)
    lag = data.qpos[0] - data.qpos[1] - before
    assert abs(lag - speed**2 / (2 * mu * 9.81)) < speed * dt / 2 + 1e-4
    assert abs(data.qvel[1] - speed) < 1e-3


@pytest.mark.parametrize(("dt", "integrator"), STEPS)
@pytest.mark.parametrize("how", ["damping", "friction loss", "servo"])
def test_a_cap_turns_with_the_wrist(dt, integrator, how):
    """A disc pressed by 8 N and its weight turns a cap; the angles differ by the wind-up of the bristles."""
    joint = {"damping": 'damping="0.02"', "friction loss": 'frictionloss="0.02"', "servo": ""}[how]
    servo = '<velocity joint="cap" kv="0.005"/>' if how == "servo" else ""
    model, data = world(
        f"""<body pos="0 0 0.06"><joint type="slide" axis="0 0 1" name="down"/>
          <joint name="wrist" type="hinge" axis="0 0 1" damping="0.5" armature="0.01"/>
          <geom type="cylinder" size="0.02 0.01" mass="0.2"/><site name="pad" pos="0 0 -0.01"/></body>
        <body name="cap" pos="0 0 0.04"><joint name="cap" type="hinge" axis="0 0 1" {joint}/>
          <geom type="cylinder" size="0.02 0.01" mass="0.05"/></body></worldbody>
        <actuator><position joint="wrist" kp="20"/><motor joint="down" ctrlrange="-10 10"/>{servo}</actuator>""",
        dt,
        integrator,
    )
    data.ctrl[1] = -8
    with PatchFriction(model, patch(0.04, 0.8, "disc"), object="cap", pads=["pad"]) as friction:
        run(friction, data, 0.2)
        wrist, cap = data.qpos[1:]
        for i in range(round(1.5 / dt)):
            data.ctrl[0] = min(1.5 * i * dt, 1.5)
            friction.step(data)
            stiffness = -friction.batch.respond(np.zeros(3)).gain[0, 2, 2] / dt
            wind_up = -friction.wrench[0, 2] / stiffness
            assert abs(data.qpos[2] - cap - (data.qpos[1] - wrist) - wind_up) < 1e-4
    assert data.qpos[2] - cap > 1.3


@pytest.mark.parametrize(("dt", "integrator"), STEPS)
def test_a_lift_and_a_shaken_hand(dt, integrator):
    """The box leaves the floor, and then is shaken by five times its weight; the grip varies by a tenth."""
    model, data = world(
        f"""{FLOOR}<body pos="0 0 0.05"><joint name="z" type="slide" axis="0 0 1" damping="1"/>
          <inertial mass="1" pos="0 0 0" diaginertia="0.01 0.01 0.01"/>{HAND.format(at=0)}</body>
        <body name="box" pos="0 0 0.04"><freejoint/><geom type="box" size="0.02 0.075 0.04" mass="0.2"/></body>
        </worldbody><actuator>{MOTORS}<position joint="z" kp="4000" kv="100"/></actuator>""",
        dt,
        integrator,
    )
    turns = 2 * np.pi * 5

    def lift(t):
        data.ctrl[:2] = 10 + np.sin(2 * np.pi * 5 * t)
        shake = min(max(t - 1, 0) / 0.4, 1) * 5 * 9.81 / turns**2 * np.sin(turns * t)
        data.ctrl[2] = 0.15 * min(max((t - 0.3) / 0.5, 0), 1) + shake

    with PatchFriction(model, patch(0.02, 1), object="box", pads=["left", "right"]) as friction:
        path = run(friction, data, 2.6, lift)
    against = path[:, 6] - path[:, 1]
    lifted = against[(path[:, 0] > 0.25) & (path[:, 0] < 1)]
    assert path[round(1 / dt), 6] > 0.15 and np.ptp(lifted) < 1e-5
    # Over three whole periods.
    assert abs(against[-1] - against[-1 - round(0.6 / dt)]) / 0.6 < 1e-6
    assert np.ptp(path[round(1.5 / dt) :, 1]) > 0.05
    assert friction.unconverged == 0


@pytest.mark.parametrize(("dt", "integrator"), STEPS)
def test_a_hand_that_swings_on_an_arc_keeps_the_box(dt, integrator):
    """MuJoCo moves the hand on an arc and the box on chords; the bristles see where the two are."""
    model, data = world(
        f"""<body><joint name="arm" type="hinge" axis="1 0 0"/>
          <inertial mass="1" pos="0 0 0" diaginertia="0.1 0.1 0.1"/>{HAND.format(at=0.2)}</body>
        <body name="box" pos="0 0.2 0"><freejoint/><geom type="box" size="0.02 0.02 0.04" mass="0.2"/></body>
        </worldbody><actuator>{MOTORS}<position joint="arm" kp="400" kv="10"/></actuator>""",
        dt,
        integrator,
    )

    def swing(t):
        data.ctrl[:] = 10, 10, 0.5 * (1 - np.cos(2 * np.pi * t))

    with PatchFriction(model, patch(0.02, 1), object="box", pads=["left", "right"]) as friction:
        path = run(friction, data, 3, swing)
    angle, y, z = path[:, 1], path[:, 5], path[:, 6]
    out = np.cos(angle) * y + np.sin(angle) * z
    period = round(1 / dt)
    assert abs(out[-1] - out[-1 - period]) < 1e-8
    assert np.ptp(out[-period:]) < 5e-6
    assert np.ptp(angle) > 0.9


def test_a_mocap_hand_carries_the_box():
    """A plate that the user moves drags a block on it; both move at the same speed."""
    model, data = world(
        f"""<body name="plate" mocap="true" pos="0 0 -0.02"><geom type="box" size="1 1 0.02"/></body>
        {block(0.05)}</worldbody>"""
    )

    def carry(t):
        data.mocap_pos[0, 0] = 0.05 * max(t - 0.3, 0) ** 2

    with PatchFriction(model, patch(0.1, 0.5), object="plate", pads=["block_foot"]) as friction:
        path = run(friction, data, 1.5, carry)
    against = path[:, 1] - 0.05 * np.maximum(path[:, 0] - 0.002 - 0.3, 0) ** 2
    assert np.ptp(against[path[:, 0] > 0.5]) < 1e-3
    assert data.qpos[0] > 0.06


def test_objects_and_pads_each_have_their_own_force():
    """A block of 1 kg on one of 2 kg: the lower one is pushed, and the upper one rides on it."""
    lower = """<body name="lower" pos="0 0 0.05"><freejoint/>
      <geom name="left" type="box" size="0.05 0.05 0.05" pos="-0.06 0 0" mass="0.8"/>
      <geom name="right" type="box" size="0.05 0.05 0.05" pos="0.06 0 0" mass="1.2"/>
      <site name="left" pos="-0.06 0 -0.05"/><site name="right" pos="0.06 0 -0.05"/></body>"""
    model, data = world(FLOOR + lower + block(0.05, "upper", "-0.06 0 0.15") + "</worldbody>")
    pads, objects = ["left", "right", "upper_foot"], ["world", "world", "lower"]
    with PatchFriction(model, patch(0.1, 0.5), objects, pads) as friction:
        run(friction, data, 0.5)
        # Eight corners share the weight, so that its split is a matter of their stiffness.
        assert friction.normal_force == pytest.approx([1.8 * 9.81, 1.2 * 9.81, 9.81], rel=0.15)
        assert friction.normal_force[:2].sum() == pytest.approx(3 * 9.81, rel=1e-6)
        data.xfrc_applied[1, 0] = 10
        path = run(friction, data, 1)
        assert np.ptp(path[-250:, 1]) < 1e-8 and np.abs(friction.batch.slip).max() == 0
        assert friction.wrench[:, 0].sum() == pytest.approx(10, abs=1e-3)
        # 24 N exceed what the floor holds by 9.3 N; both move with 3.1 m/s^2, which the pad between them holds.
        data.xfrc_applied[1, 0] = 24
        run(friction, data, 0.2)
    assert data.qvel[0] == pytest.approx(0.2 * (24 - 0.5 * 3 * 9.81) / 3, rel=2e-2)
    assert abs(data.qpos[0] - path[0, 1]) > 0.05
    assert friction.batch.slip[2] == 0 and friction.wrench[2, 0] == pytest.approx(-3.1, rel=5e-2)


@pytest.mark.parametrize("integrator", ["Euler", "implicitfast"])
@pytest.mark.parametrize("dt", [0.0005, 0.001, 0.002, 0.005])
def test_a_load_beyond_friction_is_not_held(dt, integrator):
    """Put on at once, in any law and model. Bristles that break loose must not come to lie beyond their limit."""
    for law, contact, ratio in [
        ("elasto-plastic", "", 1.0),
        ("elasto-plastic", "", 1.2),
        ("elasto-plastic", 'contact = { model = "reduced" }', 1.0),
        ("elasto-plastic", 'contact = { model = "reduced", surface = "ellipsoid" }', 1.0),
        ("lugre", "", 1.0),
        ("dahl", "", 1.0),
        ("viscoelasto-plastic", 'contact = { model = "reduced" }', 1.0),
    ]:
        changes = [f"friction.mu_s={0.5 * ratio}", f"friction.law='{law}'"]
        scenario = bristle.Scenario.from_toml(contact + patch(0.1, 0.5).text, changes=changes)
        for push in 0.5 * ratio * 9.81 * np.linspace(1.02, 1.5, 13):
            model, data = world(FLOOR + block(0.01) + "</worldbody>", dt, integrator)
            with PatchFriction(model, scenario, object="world", pads=["block_foot"]) as friction:
                friction.step(data, round(0.1 / dt))
                data.xfrc_applied[1, 0] = push
                friction.step(data, round(0.1 / dt))
                # Less what breaking loose takes: at most a few steps, and a millimetre a second.
                slid = (push - 0.5 * 9.81) * (0.1 - 5 * dt) - 1e-3
                case = f"{law} {contact} {ratio}: {push:.3f} N"
                assert data.qvel[0] > 0.5 * slid, case
                zeta = np.hypot(*np.moveaxis(friction.batch.bristles(0)[..., :2], -1, 0))
                assert zeta.max() < 0.5 * ratio * 1.002, case
                assert friction.unconverged <= 3, case


@pytest.mark.parametrize("dt", [0.0005, 0.001, 0.002, 0.005])
def test_a_load_beyond_friction_is_not_held_in_a_hard_grip(dt):
    """A light object, of which long steps of the body rest more easily on bristles beyond their limit."""
    box = '<body name="box"><freejoint/><geom type="box" size="0.02 0.3 0.02" mass="0.2"/></body>'
    text = f"{HAND.format(at=0)}{box}</worldbody><actuator>{MOTORS}</actuator>"
    for law, ratio in [("elasto-plastic", 1.0), ("elasto-plastic", 1.2), ("lugre", 1.0), ("dahl", 1.0)]:
        changes = [f"friction.mu_s={0.7 * ratio}", f"friction.law='{law}'"]
        scenario = bristle.Scenario.from_toml(patch(0.02, 0.7).text, changes=changes)
        for factor in np.linspace(1.02, 1.2, 13):
            model, data = world(text, dt, "Euler", 'gravity="0 0 0"')
            data.ctrl[:] = 13
            with PatchFriction(model, scenario, object="box", pads=["left", "right"]) as friction:
                friction.step(data, round(0.1 / dt))
                data.xfrc_applied[3, 1] = factor * ratio * 0.7 * 2 * 13
                friction.step(data, round(0.1 / dt))
                assert data.qvel[3] > 0.5 * (factor * ratio - 1) * 0.7 * 2 * 13 / 0.2 * 0.1, (law, ratio, factor)


@pytest.mark.parametrize("integrator", ["Euler", "implicitfast"])
def test_a_load_is_not_held_at_the_top_of_the_fall_of_friction(integrator):
    """A light object in a hard grip: in a step of 2 ms it falls from the static friction to that of sliding."""
    box = '<body name="box"><freejoint/><geom type="box" size="0.02 0.3 0.02" mass="0.2"/></body>'
    text = f"{HAND.format(at=0)}{box}</worldbody><actuator>{MOTORS}</actuator>"
    changes = ["friction.mu_s=0.91", "friction.law='viscoelasto-plastic'"]
    scenario = bristle.Scenario.from_toml(patch(0.02, 0.7).text, changes=changes)
    for factor in np.linspace(1.02, 1.1, 9):
        model, data = world(text, 0.002, integrator, 'gravity="0 0 0"')
        data.ctrl[:] = 13
        with PatchFriction(model, scenario, object="box", pads=["left", "right"]) as friction:
            friction.step(data, 100)
            data.xfrc_applied[3, 1] = factor * 0.91 * 2 * 13
            friction.step(data, 25)
            assert data.qvel[3] > 0.5 * (factor * 0.91 - 0.7) * 2 * 13 / 0.2 * 0.05, factor
            assert friction.unconverged <= 2, factor


def test_many_steps_in_a_call_are_those_of_many_calls():
    def simulate(steps):
        model, data = world(FLOOR + block(0.05) + "</worldbody>")
        data.qfrc_applied[0] = 6
        with PatchFriction(model, patch(0.1, 0.5), object="world", pads=["block_foot"]) as friction:
            for _ in range(60 // steps):
                friction.step(data, steps)
        return data.time, data.qpos.copy()

    (time, once), (other, together) = simulate(1), simulate(20)
    assert time == other and np.array_equal(once, together)


def test_worlds_in_threads_are_what_they_are_alone():
    def simulate(push):
        model, data = world(FLOOR + block(0.05) + "</worldbody>")
        with PatchFriction(model, patch(0.1, 0.5), object="world", pads=["block_foot"]) as friction:
            data.qfrc_applied[0] = push
            return run(friction, data, 0.3)

    pushes = [3.0, 5.0, 6.0, 2.0]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(simulate, pushes))
    assert all(np.array_equal(path, simulate(push)) for path, push in zip(together, pushes, strict=True))


def test_a_reset_starts_over():
    model, data = world(FLOOR + block(0.05) + "</worldbody>")
    with PatchFriction(model, patch(0.1, 0.5), object="world", pads=["block_foot"]) as friction:
        data.qfrc_applied[0] = 6
        first = run(friction, data, 0.2)
        mujoco.mj_resetData(model, data)
        friction.reset()
        assert friction.normal_force[0] == 0
        data.qfrc_applied[0] = 6
        assert np.array_equal(run(friction, data, 0.2), first)


@pytest.mark.parametrize("integrator", ["RK4", "implicit"])
def test_other_integrators_are_refused(integrator):
    model, _ = world(FLOOR + block(0.05) + "</worldbody>", integrator=integrator)
    with pytest.raises(bristle.ParameterError, match=r"integrator.*Euler or implicitfast"):
        PatchFriction(model, patch(0.1, 0.5), object="world", pads=["block_foot"])


def sliding(disturb):
    """Wrenches of a sliding block over 20 steps, before some of which something is tried."""
    model, data = world(FLOOR + block(0.05) + "</worldbody>")
    wrenches = []
    with PatchFriction(model, patch(0.1, 0.5), object="world", pads=["block_foot"]) as friction:
        data.qpos[2] -= 1e-4
        data.qvel[0] = 0.5
        disturb(model, data, friction)
        for step in range(20):
            if step % 4 == 3:
                disturb(model, data, friction)
            friction.step(data)
            wrenches.append(friction.wrench.copy())
    return np.array(wrenches)


def test_a_refused_step_is_not_felt_by_the_next():
    """Not by a block that slides, whose patches would take it for one that has jumped, nor as the first step."""

    def refuse(model, data, friction):
        for change, back in [(model.geom_condim, 1), (model.opt, int(model.opt.jacobian))]:
            if change is model.opt:
                model.opt.jacobian = mujoco.mjtJacobian.mjJAC_SPARSE
            else:
                change[:] = 3
            with pytest.raises(bristle.ParameterError):
                friction.step(data)
            if change is model.opt:
                model.opt.jacobian = back
            else:
                change[:] = back

    assert np.array_equal(sliding(refuse), sliding(lambda *_: None))


def test_a_long_call_can_be_interrupted():
    # A program that was started in the background ignores the signal.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        interrupted()
    finally:
        signal.signal(signal.SIGINT, before)


def interrupted():
    model, data = world(FLOOR + block(0.05) + "</worldbody>")
    with PatchFriction(model, patch(0.1, 0.5), object="world", pads=["block_foot"]) as friction:
        threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            friction.step(data, 10**6)
        assert data.time == pytest.approx(friction.batch.time[0], rel=1e-6)
        friction.step(data)


def test_the_twist_is_that_at_the_site_whatever_the_scenario_says():
    """A block on a patch that presses harder on one side spins."""
    ends = []
    for at in ("origin", "cop"):
        model, data = world(FLOOR + block(0.05) + "</worldbody>")
        text = patch(0.1, 0.5, "line-gradient").text
        pad = bristle.Scenario.from_toml(text.replace('at = "origin"', f'at = "{at}"'))
        data.qvel[5] = 20
        with PatchFriction(model, pad, object="world", pads=["block_foot"]) as friction:
            friction.step(data, 100)
        ends.append(data.qpos.copy())
    assert np.array_equal(*ends) and np.hypot(*ends[0][:2]) > 1e-3


def test_misuse_is_refused_and_changes_nothing():
    model, data = world(FLOOR + block(0.05) + "</worldbody>")
    friction = PatchFriction(model, patch(0.1, 0.5), object="world", pads=["block_foot"])

    def refused(field, given=data):
        before = data.time, data.qpos.copy(), data.qvel.copy(), friction.batch.time[0]
        with pytest.raises(bristle.ParameterError) as error:
            friction.step(given)
        assert error.value.field == field
        after = data.time, data.qpos, data.qvel, friction.batch.time[0]
        assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))

    with pytest.raises(bristle.ParameterError, match="MjModel"):
        PatchFriction(data, patch(0.1, 0.5), object="world", pads=["block_foot"])
    with pytest.raises(TypeError, match="make another"):
        copy.copy(friction)
    refused("step")
    with friction:
        refused("data", None)
        friction.step(data)
        with pytest.raises(bristle.ParameterError, match="with"), friction:
            pass
        friction.step(data)
        _, foreign = world(FLOOR + block(0.05) + "</worldbody>")
        refused("data", foreign)
        model.opt.timestep = 0.001
        refused("timestep")
        model.opt.timestep = 0.002
        model.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4
        refused("integrator")
        model.opt.integrator = mujoco.mjtIntegrator.mjINT_EULER
        model.opt.enableflags |= mujoco.mjtEnableBit.mjENBL_SLEEP
        refused("sleep")
        with pytest.raises(bristle.ParameterError, match="steps"):
            friction.step(data, 0)
        model.opt.enableflags = 0
        model.geom_condim[0] = 3
        refused("condim")
        model.geom_condim[0] = 1
        friction.step(data)
    refused("step")


def test_an_error_of_mujoco_is_raised(monkeypatch, tmp_path):
    """MuJoCo writes its warnings to a file in the current folder."""
    monkeypatch.chdir(tmp_path)
    text = FLOOR + block(0.05) + "</worldbody>" + '<size memory="2K"/>'
    model, data = world(text)
    with PatchFriction(model, patch(0.1, 0.5), object="world", pads=["block_foot"]) as friction:
        for _ in range(2):
            with pytest.raises(bristle.DeviceError, match="memory"):
                friction.step(data)


def test_functions_of_python_are_called():
    calls = []
    model, data = world(FLOOR + block(0.05) + "</worldbody>")
    with PatchFriction(model, patch(0.1, 0.5), object="world", pads=["block_foot"]) as friction:
        mujoco.set_mjcb_control(lambda model, data: calls.append(data.time))
        try:
            friction.step(data, 3)
        finally:
            mujoco.set_mjcb_control(None)
    assert calls == pytest.approx([0, 0.002, 0.004])


def test_two_frictions_do_not_step_the_same_data():
    """Each would leave out the pads of the other."""
    model, data = world(FLOOR + block(0.05) + block(0.05, "other", "0.5 0 0.05") + "</worldbody>")
    one, two = (PatchFriction(model, patch(0.1, 0.5), "world", [f"{name}_foot"]) for name in ("block", "other"))
    with one, two:
        one.step(data)
        with pytest.raises(bristle.ParameterError, match="another PatchFriction"):
            two.step(data)
        two.step(mujoco.MjData(model))
        one.step(data)
    with two:
        two.step(data)


def test_friction_of_mujocos_own_is_refused():
    pair = '<contact><pair geom1="floor" geom2="{}" condim="4"/></contact>'
    for text, names in [
        (FLOOR.replace("/>", ' condim="3"/>') + block(0.05) + "</worldbody>", "3 between geom 1 and floor"),
        (FLOOR + block(0.05).replace("<geom", '<geom name="g"') + "</worldbody>" + pair.format("g"), "4 between g"),
    ]:
        model, _ = world(text)
        with pytest.raises(bristle.ParameterError, match=f"condim = {names}"):
            PatchFriction(model, patch(0.1, 0.5), object="world", pads=["block_foot"])


def test_two_pads_do_not_share_a_force():
    two = """<body name="two" pos="0 0 0.05"><freejoint/>
      <geom name="a" type="box" size="0.05 0.05 0.05" mass="1"/>
      <geom name="b" type="box" size="0.05 0.05 0.05" pos="0.2 0 0" mass="1"/>
      <site name="one" pos="-0.02 0 -0.05"/><site name="same" pos="0.02 0 -0.05"/><site name="far" pos="0.2 0 -0.05"/>
    </body><body name="up" pos="0 0 0.15"><freejoint/><geom type="box" size="0.05 0.05 0.05" mass="1"/>
      <site name="up" pos="0 0 -0.05"/></body>"""
    model, _ = world(FLOOR + two + "</worldbody>")
    scenario = patch(0.02, 0.5)
    for pads, objects, geoms in [
        (["one", "same"], "world", None),
        (["one", "one"], "world", None),
        (["one", "far"], "world", ["a", "a"]),
        (["up", "one"], ["two", "up"], None),
    ]:
        with pytest.raises(bristle.ParameterError, match="the same contacts press"):
            PatchFriction(model, scenario, objects, pads, geoms)
    PatchFriction(model, scenario, "world", ["one", "far"])
    PatchFriction(model, scenario, "world", ["one", "far"], ["b", "a"])


def test_wrong_names_and_scenarios_are_refused(hold):
    model = mujoco.MjModel.from_xml_string(hold.MODEL.format(condim=1, impratio=1, noslip=0, offset=0, torsion=0))
    prescribed = bristle.Scenario.from_toml(hold.PRESCRIBED)
    for wrong, field in [
        ({"object": "bxo"}, "object"),
        ({"object": ["box", "bxo"], "pads": ["left", "right"]}, r"object\[1\]"),
        ({"object": ["box", "box"]}, "object = 2 names: expected 1"),
        ({"pads": ["left", "rigth"]}, r"pads\[1\]"),
        ({"pads": []}, "pads"),
        ({"pads": "left"}, "pads = 'left': expected a list"),
        ({"pads": 3}, "pads = 3"),
        ({"object": 3}, "object = 3"),
        ({"geoms": 3}, "geoms = 3"),
        ({"geoms": ["left"]}, r"geoms\[0\]"),
        ({"object": "world"}, r"pads\[0\].*cannot touch"),
    ]:
        with pytest.raises(bristle.ParameterError, match=field):
            PatchFriction(model, prescribed, **{"object": "box", "pads": ["left"], **wrong})
    for scenario in (bristle.Scenario.from_toml(hold.GRIPPER), 3):
        with pytest.raises(bristle.ParameterError, match="scenario"):
            PatchFriction(model, scenario, object="box", pads=["left"])

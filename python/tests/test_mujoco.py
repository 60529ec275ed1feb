"""Friction inside MuJoCo, by the real package."""

from __future__ import annotations

import importlib.util
import sys
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


def test_wrong_names_and_scenarios_are_refused(hold):
    model = mujoco.MjModel.from_xml_string(hold.MODEL.format(condim=1, impratio=1, noslip=0, offset=0, torsion=0))
    prescribed = bristle.Scenario.from_toml(hold.PRESCRIBED)
    for wrong, field in [({"object": "bxo"}, "object"), ({"pads": ["left", "rigth"]}, r"pads\[1\]")]:
        with pytest.raises(bristle.ParameterError, match=field):
            PatchFriction(model, prescribed, **{"object": "box", "pads": ["left"], **wrong})
    with pytest.raises(bristle.ParameterError, match="scenario"):
        PatchFriction(model, bristle.Scenario.from_toml(hold.GRIPPER), object="box", pads=["left"])


def test_errors_of_the_callback_are_raised_by_the_step(hold):
    model = mujoco.MjModel.from_xml_string(hold.MODEL.format(condim=1, impratio=1, noslip=0, offset=0, torsion=0))
    data = mujoco.MjData(model)
    data.qvel[:] = 1.0
    friction = PatchFriction(model, bristle.Scenario.from_toml(hold.PRESCRIBED), object="box", pads=["left"])

    def fails(*_):
        raise ValueError("no answer")

    with friction:
        friction._implicit = fails
        with pytest.raises(ValueError, match="no answer"):
            friction.step(data)
    assert mujoco.get_mjcb_passive() is None

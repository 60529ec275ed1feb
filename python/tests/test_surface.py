"""Limit surfaces against known results."""

from __future__ import annotations

import json
import math
import subprocess

import numpy as np
import pytest
from conftest import BOX

import bristle


def test_a_square_has_its_torque_and_its_margins():
    table = bristle.limit_surface(np.ones((21, 21)), 0.02, mu=0.5, f_n=10)
    # mean distance from the centre of a square of side a: a (sqrt 2 + asinh 1)/6
    radius = 0.02 * (math.sqrt(2) + math.asinh(1)) / 6
    assert len(table) == 1 and np.allclose(table.radius, radius, rtol=1e-12)
    wrench = table.wrench([[1, 0, 0], [0, 0, 2], [0, 0, 0]])
    assert np.allclose(wrench, [[[-5, 0, 0], [0, 0, -5 * radius], [0, 0, 0]]], atol=1e-12)
    factor, twist = table.query([[2, 0, 0], [0, 0, 0.01], [0, 0, 0]])
    assert np.allclose(factor[0, :2], [2.5, 5 * radius / 0.01], rtol=1e-9) and factor[0, 2] == np.inf
    assert np.allclose(twist[0], [[1, 0, 0], [0, 0, 1 / radius], [0, 0, 0]], atol=1e-6)
    assert np.array_equal(table.margin([2, 0, 0]), factor[:, :1])
    assert np.array_equal(table.direction([2, 0, 0]), twist[:, :1])


def test_all_tables_and_loads_are_those_of_one():
    rng = np.random.default_rng(1)
    maps, mu, f_n = rng.random((4, 8, 9)), rng.uniform(0.3, 1, 4), rng.uniform(1, 9, 4)
    loads = rng.normal(size=(4, 40, 3)) * [1, 1, 0.005]
    for at in ("cop", "origin"):
        tables = bristle.limit_surface(maps, (0.018, 0.016), mu=mu, f_n=f_n, at=at)
        factor, twist = tables.query(loads)
        shared = tables.margin(loads[0])
        assert factor.shape == (4, 40) and twist.shape == (4, 40, 3)
        for k in range(4):
            one = bristle.limit_surface(maps[k], (0.018, 0.016), mu=mu[k], f_n=f_n[k], at=at)
            assert np.array_equal(one.margin(loads[k])[0], factor[k])
            assert np.array_equal(one.margin(loads[0])[0], shared[k])
        # The twist at slip is the one whose friction is the load, grown to the surface.
        slipping = tables.wrench(twist)
        assert np.allclose(-slipping, loads * factor[:, :, None], rtol=1e-6, atol=1e-6)


def test_rows_are_from_the_top():
    map = np.zeros((5, 5))
    map[0, 4] = map[0, 3] = 1
    table = bristle.limit_surface(map, 0.05)
    assert np.allclose(table.cop, [[0.015, 0.02]])
    moved = bristle.limit_surface(map, 0.05, at="origin")
    assert np.allclose(moved.wrench([1, 0, 0])[0, 0], [-1, 0, 0.02])


def test_nodes_are_wrenches_of_their_twists():
    map = np.arange(1.0, 26).reshape(5, 5)
    for at in ("cop", "origin"):
        table = bristle.limit_surface(map, f_n=3, at=at)
        twists, wrenches = table.nodes(6)
        assert twists.shape == wrenches.shape == (1, 25, 7, 3)
        assert np.allclose(table.wrench(twists.reshape(-1, 3)).reshape(wrenches.shape), wrenches, atol=1e-9)


@pytest.mark.parametrize("friction", ["map=[[1, 0.25]]", "mu={ ratio = 0.3, angle = 0.4 }"])
def test_nodes_know_friction_by_region_and_by_direction(friction):
    scenario = bristle.Scenario.from_toml(BOX, changes=["contacts=2", f"friction.{friction}"])
    for at in ("cop", "origin"):
        table = bristle.limit_surface(scenario, at=at, rule="points")
        twists, wrenches = table.nodes(6)
        of_twists = table.wrench(twists.reshape(2, -1, 3)).reshape(wrenches.shape)
        assert np.allclose(of_twists, wrenches, atol=1e-9)
        plain = bristle.limit_surface(bristle.Scenario.from_toml(BOX, changes=["contacts=2"]), at=at, rule="points")
        assert not np.allclose(plain.wrench([1.0, 0.5, 0.0]), table.wrench([1.0, 0.5, 0.0]))


def test_the_contacts_of_a_scenario_have_surfaces():
    scenario = bristle.Scenario.from_toml(BOX)
    table = bristle.limit_surface(scenario)
    drawn = scenario.draw()
    assert np.array_equal(table.mu, drawn["friction.mu_c"]) and len(table) == 12
    # Bristles stand at the centres of their cells.
    points = bristle.limit_surface(scenario, rule="points")
    assert np.allclose(points.radius, drawn["patch.torsional_radius"], rtol=1e-9)
    assert np.all(bristle.limit_surface(scenario, mu=1, f_n=2).f_n == 2)


def test_a_pad_as_one_number_is_that_of_the_command_line(program, tmp_path):
    maps = np.random.default_rng(2).random((2, 7, 7))
    pads = bristle.limit_surface(maps, 0.02, mu=[0.5, 0.8], f_n=3).torsion()
    for k, mu in enumerate((0.5, 0.8)):
        text = f"mu = {mu}\nf_n = 3\n[patch]\nsize = 0.02\npressure = {maps[k].tolist()}\n"
        (tmp_path / "pad.toml").write_text(text)
        done = subprocess.run([program, "torsion", tmp_path / "pad.toml", "--json"], check=True, capture_output=True)
        said = json.loads(done.stdout)
        assert np.allclose(pads.radius[k], said["r"], rtol=1e-13) and np.isclose(pads.moment[k], said["moment"])
        assert np.allclose(pads.mujoco[k], said["mujoco"]["friction"], rtol=1e-13)
        assert np.isclose(pads.patch_radius[k], said["sdf"]["patch_radius"], rtol=1e-13)
        assert np.isclose(pads.spinning[k], said["bullet"]["spinning_friction"], rtol=1e-13)
        for rule in ("ellipsoid", "cylinder"):
            error = said["error"][rule]
            assert np.allclose(getattr(pads, rule)[k], [error[key] for key in ("most", "least", "mean")], atol=1e-9)
    assert np.all(pads.cylinder[:, 0] > pads.ellipsoid[:, 0]) and np.all(pads.ellipsoid[:, 1] <= 0)
    with pytest.raises(bristle.ParameterError, match="cells or points"):
        bristle.limit_surface(maps, rule="bilinear").torsion()


def test_mujoco_holds_the_ellipsoid_of_the_number():
    """A ball that slides and spins on a plane: MuJoCo's friction is on the cone of what it is told."""
    mujoco = pytest.importorskip("mujoco")
    pad = bristle.limit_surface(np.ones((9, 9)), 0.02, mu=0.6).torsion()
    sliding, torsional = pad.mujoco[0]
    model = mujoco.MjModel.from_xml_string(f"""
        <mujoco>
          <option cone="elliptic" gravity="0 0 0"/>
          <worldbody>
            <geom type="plane" size="1 1 1" condim="4" friction="0 0 0"/>
            <body pos="0 0 0.02">
              <joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 0 1"/><joint type="hinge" axis="0 0 1"/>
              <geom type="sphere" size="0.02" condim="4" mass="0.2" friction="{sliding} {torsional}"/>
            </body>
          </worldbody>
        </mujoco>""")
    data = mujoco.MjData(model)
    data.qfrc_applied[1] = -5.0
    for _ in range(500):
        mujoco.mj_step(model, data)
    for speed, spin in [(1.0, 0.0), (0.0, 100.0), (0.5, 100.0)]:
        data.qvel[:] = [speed, 0, spin]
        mujoco.mj_forward(model, data)
        force = np.zeros(6)
        mujoco.mj_contactForce(model, data, 0, force)
        on_cone = (force[1] ** 2 + force[2] ** 2) / sliding**2 + (force[3] / torsional) ** 2
        assert np.isclose(on_cone, force[0] ** 2, rtol=1e-6), (speed, spin, force)


def test_what_is_refused():
    refused = [
        (lambda: bristle.limit_surface(np.zeros((3, 3))), "contact 0: pressure"),
        (lambda: bristle.limit_surface(-np.ones((3, 3))), "pressure"),
        (lambda: bristle.limit_surface(np.ones(3)), "a map"),
        (lambda: bristle.limit_surface("square"), "array of real numbers"),
        (lambda: bristle.limit_surface(np.ones((3, 3)), size=0), "a finite number from 1e-9 to 1e6"),
        (lambda: bristle.limit_surface(np.ones((3, 3)), size=[1, 2, 3]), "width and height"),
        (lambda: bristle.limit_surface(np.ones((3, 3)), mu=0), "finite numbers > 0"),
        (lambda: bristle.limit_surface(np.ones((3, 3)), f_n=[1, 2]), r"shape \(1,\)"),
        (lambda: bristle.limit_surface(np.ones((3, 3)), rule="cell"), "did you mean 'cells'"),
        (lambda: bristle.limit_surface(np.ones((3, 3)), at="centre"), "one of cop, origin"),
        (lambda: bristle.limit_surface(np.ones((3, 3))).margin([1, 2]), r"shape \(3,\)"),
        (lambda: bristle.limit_surface(np.ones((3, 3))).margin([np.nan, 0, 0]), "a finite number"),
        (lambda: bristle.limit_surface(np.ones((3, 3)), rule="bilinear").margin([1, 0, 0]), "cells or points"),
        (lambda: bristle.limit_surface(np.ones((3, 3))).nodes(0), "n_ls"),
    ]
    for call, message in refused:
        with pytest.raises(bristle.ParameterError, match=message):
            call()

"""Derivatives of margins and wrenches against differences of what tables return."""

from __future__ import annotations

import numpy as np
import pytest

import bristle

SIZE = (0.02, 0.016)
RNG = np.random.default_rng(3)
MAPS = np.maximum(RNG.random((3, 4, 5)) - 0.2, 0)
MU, F_N = RNG.uniform(0.3, 1, 3), RNG.uniform(1, 9, 3)
LOADS = RNG.normal(size=(3, 6, 3)) * [1, 1, 0.005]
TWISTS = RNG.normal(size=(3, 6, 3)) * [0.01, 0.01, 1]


def tables(maps=MAPS, mu=MU, f_n=F_N, at="origin", rule="cells"):
    return bristle.limit_surface(maps, SIZE, mu=mu, f_n=f_n, at=at, rule=rule)


def difference(f, step):
    """The derivative of f at 0, of order four."""
    return (8 * (f(step) - f(-step)) - (f(2 * step) - f(-2 * step))) / (12 * step)


def changed(at, by):
    """The maps with the pressure of one cell changed."""
    maps = MAPS.copy()
    maps[:, at[0], at[1]] += by
    return maps


def full_cells():
    """The cells with pressure in all maps, of which some are not on the middle rows."""
    cells = np.argwhere(np.all(MAPS > 0.1, axis=0))
    assert {0, 3} & set(cells[:, 0])
    return cells


@pytest.mark.parametrize("at", ["cop", "origin"])
def test_margins_change_as_their_gradients_say(at):
    found = tables(at=at).margin_gradients(LOADS)
    factor, twist = tables(at=at).query(LOADS)
    assert np.allclose(found.factor, factor, rtol=1e-11) and np.allclose(found.twist, twist, atol=1e-5)
    scale = found.factor
    for j, step in enumerate([1e-3, 1e-3, 5e-6]):
        moved = difference(lambda h, j=j: tables(at=at).margin(LOADS + h * np.eye(3)[j]), step)
        assert np.all(np.abs(found.load[..., j] - moved) * [1, 1, 0.005][j] <= 1e-6 * scale)
    assert np.allclose(found.mu, difference(lambda h: tables(mu=MU + h, at=at).margin(LOADS), 0.01), rtol=1e-7)
    assert np.allclose(found.f_n, difference(lambda h: tables(f_n=F_N + h, at=at).margin(LOADS), 0.1), rtol=1e-7)
    assert found.pressure.shape == (3, 6, 4, 5)
    by_pressure = found.pressure / MAPS.sum(axis=(1, 2))[:, None, None, None]
    for cell in full_cells():
        moved = difference(lambda h, cell=cell: tables(changed(cell, h), at=at).margin(LOADS), 1e-2)
        assert np.all(np.abs(by_pressure[:, :, cell[0], cell[1]] - moved) <= 1e-6 * (scale + np.abs(moved)))
    shares = MAPS / MAPS.sum(axis=(1, 2), keepdims=True)
    assert np.allclose(np.sum(shares[:, None] * found.pressure, axis=(2, 3)), 0, atol=1e-10 * scale.max())
    assert np.allclose(np.sum(LOADS * found.load, axis=2), -scale, rtol=1e-10)


def test_a_step_along_the_gradient_of_the_pressures_holds_more():
    table = tables()
    found = table.margin_gradients(LOADS[0, 0])
    better = MAPS + 1e-3 * MAPS * found.pressure[:, 0] / np.abs(found.pressure).max()
    assert np.all(tables(better).margin(LOADS[0, 0]) > found.factor)


@pytest.mark.parametrize("at", ["cop", "origin"])
def test_wrenches_change_as_their_gradients_say(at):
    found = tables(at=at).wrench_gradients(TWISTS)
    wrench = tables(at=at).wrench(TWISTS)
    unit = np.array([1, 1, 0.005])
    most = (MU * F_N)[:, None, None]
    assert np.allclose(found.wrench, wrench, rtol=1e-12) and found.twist.shape == (3, 6, 3, 3)
    assert np.allclose(found.mu, wrench / MU[:, None, None]) and np.allclose(found.f_n, wrench / F_N[:, None, None])
    for j, step in enumerate([1e-5, 1e-5, 1e-3]):
        moved = difference(lambda h, j=j: tables(at=at).wrench(TWISTS + h * np.eye(3)[j]), step)
        scale = np.linalg.norm(found.twist / unit[:, None] / unit, axis=(2, 3))[..., None]
        assert np.all(np.abs(found.twist[..., j] - moved) / unit / unit[j] <= 1e-6 * scale)
    assert found.pressure.shape == (3, 6, 4, 5, 3)
    by_pressure = found.pressure / MAPS.sum(axis=(1, 2))[:, None, None, None, None]
    for cell in full_cells():
        moved = difference(lambda h, cell=cell: tables(changed(cell, h), at=at).wrench(TWISTS), 1e-2)
        assert np.all(np.abs(by_pressure[:, :, cell[0], cell[1]] - moved) / unit <= 1e-6 * most)


def test_one_load_no_load_and_rest():
    table = bristle.limit_surface(np.ones((5, 5)), 0.02, mu=0.5, f_n=10)
    found = table.margin_gradients([[2, 0, 0], [0, 0, 0]])
    assert np.allclose(found.load[0, 0], [-1.25, 0, 0], atol=1e-10) and np.isclose(found.mu[0, 0], 5)
    assert found.factor[0, 1] == np.inf and np.all(np.isnan(found.load[0, 1])) and np.isnan(found.mu[0, 1])
    assert table.margin_gradients([2, 0, 0]).pressure.shape == (1, 1, 5, 5)
    rest = table.wrench_gradients([0, 0, 0])
    assert np.all(np.isnan(rest.twist)) and np.all(rest.pressure == 0) and np.all(rest.wrench == 0)


def test_what_is_refused():
    table, bilinear = tables(), tables(rule="bilinear")
    refused = [
        (lambda: table.margin_gradients([1, 2]), r"shape \(3,\)"),
        (lambda: table.margin_gradients([np.nan, 0, 0]), "a finite number"),
        (lambda: table.wrench_gradients([np.inf, 0, 0]), "a finite number"),
        (lambda: bilinear.margin_gradients([1, 0, 0]), "cells or points"),
        (lambda: bilinear.wrench_gradients([1, 0, 0]), "cells or points"),
    ]
    for call, message in refused:
        with pytest.raises(bristle.ParameterError, match=message):
            call()

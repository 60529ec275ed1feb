"""The answers of the benchmark of engines, and bristle in it."""

from __future__ import annotations

import importlib.util
import math
import sys
from types import ModuleType

import numpy as np
import pytest
from conftest import ROOT

import bristle


@pytest.fixture(scope="module")
def engines() -> ModuleType:
    spec = importlib.util.spec_from_file_location("engines", ROOT / "python" / "benchmarks" / "engines.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["engines"] = module
    spec.loader.exec_module(module)
    return module


def test_loads_at_the_limit_are_those_of_a_disc(engines):
    """Sums over rings against the integrals of the package."""
    x = (np.arange(101) + 0.5) / 50.5 - 1
    table = bristle.limit_surface(np.hypot(x, x[:, None]) < 1, 2 * engines.RADIUS)
    for angle in np.radians([0, 20, 45, 70, 90]):
        load = [math.cos(angle), 0, engines.TORSION * math.sin(angle)]
        assert engines.held(angle) == pytest.approx(table.margin(load)[0, 0], rel=3e-3)


def test_the_converged_path_keeps_the_laws_of_sliding(engines):
    """A disc that only slides loses the speed mu f_n t/m, one that only turns stops after J w^2/(2 mu r f_n)."""
    run = engines.Run(0.12, engines.constant(0), twist=(2.0, 0, 0))
    pose, twist = engines.converged(run, dt=1e-4)
    deceleration = engines.LIMIT / engines.MASS
    assert twist[0] == pytest.approx(2 - 0.12 * deceleration, abs=1e-3)
    assert pose[0] == pytest.approx(0.24 - deceleration * 0.12**2 / 2, rel=1e-3)
    run = engines.Run(0.3, engines.constant(0), twist=(0, 0, 30.0))
    pose, twist = engines.converged(run, dt=1e-4)
    exact = engines.INERTIA * 30**2 / (2 * engines.LIMIT * engines.TORSION)
    assert pose[2] == pytest.approx(exact, rel=2e-3) and abs(twist[2]) < 1e-3


@pytest.mark.parametrize("model", ["distributed", "reduced"])
def test_bristle_holds_and_pushes_as_the_answers_say(engines, model):
    ours = engines.Bristle(model)
    assert engines.creep(ours) < 1e-6 and engines.shaken(ours) < 1e-6
    assert engines.isotropy(ours) < 1 and engines.loop(ours) < 0.1 and engines.static(ours) < 1.5

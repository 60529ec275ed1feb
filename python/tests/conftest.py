from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import bristle

ROOT = Path(__file__).resolve().parents[2]

#: A box in hand, of a few cells, whose inputs are held for 1/128 s: the ends of such intervals have no rounding.
BOX = """
contacts = 12
seed = 3
duration = 0.25
record_every = 0.0078125
engine = "cpu"
[patch]
shape = "disc"
cells = 11
[friction]
mu_c = { uniform = [0.5, 1.0] }
[body]
kind = "gripper"
mass = { uniform = [0.15, 0.25] }
inertia = { rectangle = [0.15, 0.08] }
[initial]
pose = [{ normal = [0.002, 0.002] }, 0, 0]
[inputs]
hold = 0.0078125
gravity = [0, -9.81]
normal_force = { mean = { uniform = [1.5, 1.9] }, sines = [{ amplitude = 0.8, frequency = 2 }] }
"""

#: A patch that is moved.
PUSHED = """
duration = 1
contacts = 5
[patch]
shape = "square"
cells = 3
[body]
kind = "prescribed"
[inputs]
normal_force = 2
twist = { vx = 0.01 }
"""


@pytest.fixture
def box() -> bristle.Scenario:
    return bristle.Scenario.from_toml(BOX)


@pytest.fixture
def pushed() -> bristle.Scenario:
    return bristle.Scenario.from_toml(PUSHED)


@pytest.fixture(scope="session")
def program() -> str:
    """The program of the command line."""
    program = os.environ.get("BRISTLE", str(ROOT / "target" / "release" / "bristle"))
    assert shutil.which(program), f"no program {program}: `cargo build --release` makes it"
    return program


@pytest.fixture(scope="session")
def cli(program: str, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., dict[str, np.ndarray]]:
    """Runs a scenario by the command line, and gives its arrays."""

    def run(text: str, *arguments: str) -> dict[str, np.ndarray]:
        folder = tmp_path_factory.mktemp("run")
        (folder / "scenario.toml").write_text(text)
        out = folder / "out"
        command = [program, "rollout", folder / "scenario.toml", "--out", out, *arguments]
        subprocess.run(command, check=True, capture_output=True)
        with np.load(out / "trajectories.npz") as arrays, np.load(out / "contacts.npz") as drawn:
            return {**arrays, **drawn}

    return run

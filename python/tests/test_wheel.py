"""The wheel is small, and one serves all versions of Python."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

import bristle

VERSIONS = ("3.11", "3.12", "3.13")

TRY = """
import sys, bristle, numpy as np
b = bristle.Batch(bristle.Scenario.load(sys.argv[1]), nsim=3, dt=0.01, device="cpu")
b.step({"normal_force": np.ones(3)})
assert b.pose.shape == (3, 3) and b.normal_force.tolist() == [1, 1, 1]
print(b.pose.tobytes().hex())
"""


def interpreter(version: str) -> str | None:
    """A Python that can make environments: one on the path, or one that pyenv keeps beside it."""
    kept = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = [shutil.which(f"python{version}"), *map(str, sorted(kept.glob(f"{version}.*/bin/python{version}")))]
    try_it = ["-c", "import ensurepip, venv"]
    return next((p for p in found if p and not subprocess.run([p, *try_it], capture_output=True).returncode), None)


def wheel() -> Path:
    folder = Path(os.environ.get("BRISTLE_WHEELS", ROOT / "target" / "python" / "wheels"))
    found = sorted(folder.glob("bristle-*.whl"))
    assert len(found) == 1, f"expected one wheel in {folder}: `cargo xtask test` makes it"
    return found[0]


def test_the_wheel_is_small_and_for_all_versions():
    assert wheel().stat().st_size < 15 << 20
    assert "-cp311-abi3-" in wheel().name
    assert bristle.__version__ in wheel().name


@pytest.mark.parametrize("version", VERSIONS)
def test_the_wheel_serves(version, tmp_path):
    python = interpreter(version)
    if python is None:
        pytest.skip(f"there is no Python {version}")
    run = [sys.executable, "-c", TRY, ROOT / "examples" / "in_hand.toml"]
    expected = subprocess.run(run, check=True, capture_output=True, text=True).stdout
    subprocess.run([python, "-m", "venv", tmp_path / "env"], check=True)
    pip = [tmp_path / "env" / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, wheel()], check=True)
    run[0] = tmp_path / "env" / "bin" / "python"
    assert subprocess.run(run, check=True, capture_output=True, text=True).stdout == expected

"""A call that needs more memory than there is raises an error with both numbers."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from conftest import BOX

import bristle


@pytest.fixture
def scarce():
    """Says how much memory there is left."""
    yield bristle._bristle.pretend_free
    bristle._bristle.pretend_free(None)


def test_memory_that_is_not_there(scarce):
    scenario = bristle.Scenario.from_toml(BOX)
    b = bristle.Batch(scenario, 100, 1 / 64, device="cpu")
    b.step()
    table = bristle.limit_surface(np.ones((10, 8, 8)))
    calls = {
        "a batch of 100000 contacts": lambda: bristle.Batch(scenario, 100_000, device="cpu"),
        "1001 samples of 100 contacts": lambda: b.rollout(1000),
        "a snapshot of 100 contacts": b.save,
        "the parameters of 10000 contacts": lambda: scenario.draw(10_000),
        "1000 tables of 8 x 8 cells": lambda: bristle.limit_surface(np.ones((1000, 8, 8))),
        "10000 vectors of 10 tables": lambda: table.query(np.ones((10_000, 3))),
        "10 tables of ": lambda: table.nodes(100),
        "3 loads of 100 grasps of 2 contacts": lambda: bristle.stability(
            np.ones((100, 2, 3)), np.ones((2, 3)), np.ones((3, 6)), 0.5
        ),
    }
    pose = b.pose
    scarce(20_000)
    for what, call in calls.items():
        with pytest.raises(MemoryError, match=what) as raised:
            call()
        error = raised.value
        assert isinstance(error, bristle.OutOfMemoryError) and isinstance(error, bristle.BristleError)
        assert error.free == 20_000 < error.bytes
        assert "20.00 kB are free: expected " in str(error)
    scarce(None)
    assert np.array_equal(b.pose, pose) and np.all(b.time == 1 / 64)
    b.step()


LIMITED = """
import resource, sys
import bristle
size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (size + (2 << 30),) * 2)
scenario = bristle.Scenario.from_toml(sys.argv[1])
try:
    bristle.Batch(scenario, 10_000_000, device="cpu")
except MemoryError as error:
    assert 10_000_000 * 1000 < error.bytes and error.free < 2 << 30, error
    assert "a batch of 10000000 contacts" in str(error), error
else:
    raise SystemExit("there is no batch of so many contacts")
b = bristle.Batch(scenario, 100, device="cpu")
b.step()
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="it reads /proc, and limits the address space")
def test_a_process_whose_address_space_is_limited_is_not_aborted():
    done = subprocess.run([sys.executable, "-c", LIMITED, BOX], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr

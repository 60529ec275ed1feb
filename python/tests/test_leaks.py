"""What is dropped is freed."""

from __future__ import annotations

import gc
from pathlib import Path

import numpy as np
import pytest

import bristle


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="it reads the memory of the process from /proc")
def test_ten_thousand_batches_leave_nothing(box):
    def memory() -> int:
        gc.collect()
        return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

    def live_and_die() -> None:
        b = bristle.Batch(box, 2, 1 / 256, device="cpu")
        b.expand("friction.mu_c")[:] = 0.7
        b.rollout(1, {"normal_force": np.ones(2)})
        b.restore(b.save())

    for _ in range(1000):
        live_and_die()
    before = memory()
    for _ in range(10_000):
        live_and_die()
    # A batch takes some 100 KB: a thousandth of them would show.
    assert memory() - before < 8 << 20

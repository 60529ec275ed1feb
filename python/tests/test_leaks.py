"""Dropped objects are freed. The memory of Rust is counted in ``crates/data/tests/memory.rs``."""

from __future__ import annotations

import gc
import tracemalloc

import numpy as np

import bristle


def test_batches_leave_no_objects(box):
    def live_and_die() -> None:
        b = bristle.Batch(box, 2, 1 / 256, device="cpu")
        b.expand("friction.mu_c")[:] = 0.7
        b.rollout(1, {"normal_force": np.ones(2)})
        b.restore(b.save())

    def memory() -> int:
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        for _ in range(20):
            live_and_die()
        before = memory()
        for _ in range(200):
            live_and_die()
        # The smallest object that each could leave has as much.
        assert memory() - before < 200 * 48
    finally:
        tracemalloc.stop()

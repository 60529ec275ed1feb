"""Ctrl-C ends a call between two contacts, not after it."""

from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import pytest
from conftest import BOX

import bristle


@pytest.mark.parametrize("call", ["step", "rollout"])
def test_a_call_is_interrupted_inside_an_interval(call):
    """One interval of all contacts would take minutes; some have passed it when the call ends, and most have not."""
    n = 20_000
    scenario = bristle.Scenario.from_toml(BOX, changes=["patch.cells=21", "inputs.hold=10", "limits.steps=1000000000"])
    b = bristle.Batch(scenario, n, 1.0, device="cpu")
    if call == "step":
        b.step(ids=[0])
        assert b.time[0] == 1

    def interrupt() -> None:
        time.sleep(0.3)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        b.step() if call == "step" else b.rollout(3)
    thread.join()
    # Where the contacts of a rollout stand is known only to their engine.
    assert call == "rollout" or 0 < np.count_nonzero(b.time[1:]) < n / 2
    b.reset()
    assert not b.time.any()

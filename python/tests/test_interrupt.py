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
    # A rollout, in which each goes its own way, goes back to its last samples; of a step some have done theirs.
    assert np.count_nonzero(b.time[1:]) < n / 2
    assert b.time.any() == (call == "step")
    b.reset()
    assert not b.time.any()


@pytest.mark.parametrize("model", ["distributed", "reduced"])
def test_what_was_interrupted_goes_on_as_if_it_had_not_been(model):
    scenario = bristle.Scenario.from_toml(BOX, changes=[f"contact.model={model}"])
    one, other = (bristle.Batch(scenario, 500, 1 / 128, device="cpu") for _ in range(2))
    one.rollout(3)
    other.rollout(3)
    thread = threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT))
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        one.rollout(200_000)
    thread.join()
    while other.time[0] < one.time[0]:
        other.rollout(1)
    assert np.array_equal(one.time, other.time)
    assert np.array_equal(one.rollout(2)["pose"], other.rollout(2)["pose"])

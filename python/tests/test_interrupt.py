"""Ctrl-C ends a call early, and undoes an unfinished step."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest
from conftest import BOX

import bristle


@pytest.fixture(autouse=True)
def ctrl_c_raises() -> Iterator[None]:
    """A process that a shell has started in the background ignores Ctrl-C, and so do its children."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupt_call(of: str = bristle.batch.__file__) -> threading.Thread:
    """Sends Ctrl-C when the main thread is in a call of a module, as a rule well inside of it."""
    main = threading.main_thread().ident

    def send() -> None:
        while sys._current_frames()[main].f_code.co_filename != of:
            time.sleep(0.001)
        time.sleep(0.3)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=send)
    thread.start()
    return thread


@pytest.mark.parametrize("call", ["step", "rollout", "rollout of coefficients"])
def test_a_call_that_is_interrupted_inside_an_interval_is_undone(call):
    """One interval of all contacts would take long; when the call ends all are where they were, with their inputs."""
    n = 2000
    scenario = bristle.Scenario.from_toml(BOX, changes=["patch.cells=21", "inputs.hold=10", "limits.steps=1000000000"])
    b = bristle.Batch(scenario, n, 5.0, device="cpu")
    b.step(ids=[0])
    if call != "step":
        b.reset([0])
    before = b.save().to_bytes()
    mu = np.array([0.5, 0.4, 0.3])
    calls = {
        "step": lambda: b.step({"normal_force": 3.0}),
        "rollout": lambda: b.rollout(3, {"normal_force": np.array([3.0, 2.0, 1.0])}),
        "rollout of coefficients": lambda: b.rollout(3, {"mu_c": mu, "mu_s": mu + 0.1}),
    }

    thread = interrupt_call()
    with pytest.raises(KeyboardInterrupt):
        calls[call]()
    thread.join()
    # To read a sample is to end a step, so that the state comes first.
    after = b.save().to_bytes()
    assert after == before, (len(after), len(before))
    assert np.count_nonzero(b.time) == (call == "step")


@pytest.mark.parametrize("model", ["distributed", "reduced"])
def test_what_was_interrupted_goes_on_as_if_it_had_not_been(model):
    scenario = bristle.Scenario.from_toml(BOX, changes=[f"contact.model={model}"])
    one, other = (bristle.Batch(scenario, 500, 1 / 128, device="cpu") for _ in range(2))
    one.rollout(3)
    other.rollout(3)
    thread = interrupt_call()
    with pytest.raises(KeyboardInterrupt):
        one.rollout(200_000)
    thread.join()
    while other.time[0] < one.time[0]:
        other.rollout(1)
    assert np.array_equal(one.time, other.time)
    assert np.array_equal(one.rollout(2)["pose"], other.rollout(2)["pose"])


def test_stability_of_many_grasps_ends():
    n = 200_000
    rng = np.random.default_rng(0)
    position = rng.normal(size=(n, 4, 3))
    thread = interrupt_call(bristle.grasps.__file__)
    with pytest.raises(KeyboardInterrupt):
        bristle.stability(position, -position, [0, 0, -1, 0, 0, 0], 0.5)
    thread.join()

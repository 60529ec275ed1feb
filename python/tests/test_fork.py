"""A child that is forked works on the CPU, and raises on a GPU."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import tempfile

import numpy as np
import pytest
from conftest import BOX, PUSHED

import bristle

#: A child that takes so long hangs [s]; none takes a hundredth of it.
HANGS = 300


def batch(n: int, device: str = "cpu") -> np.ndarray:
    """Contacts in one group of lanes or in several."""
    b = bristle.Batch(bristle.Scenario.from_toml(BOX), n, 1 / 64, device=device)
    b.step({"normal_force": 2.0})
    b.rollout(2)
    b.restore(b.save())
    b.reset([0], seed=3)
    return b.pose


def surfaces(n: int) -> None:
    """Tables, and their answers."""
    table = bristle.limit_surface(np.ones((n, 8, 8)))
    table.query(np.ones((600, 3)))
    table.wrench(np.ones((600, 3)))
    table.nodes(4)
    bristle.limit_surface(bristle.Scenario.from_toml(BOX))


def grasps(n: int) -> None:
    """Stability of pinches."""
    pinch = np.broadcast_to([[-0.05, 0, 0], [0.05, 0, 0]], (n, 2, 3))
    assert bristle.stability(pinch, -pinch, [0, 0, -1, 0, 0, 0], 0.5, torsion=0.01).holds.all()


def runs(_: int) -> None:
    """Files, which several threads write."""
    scenario = bristle.Scenario.from_toml(BOX)
    scenario.draw(100)
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "run")
        formats, extras = ["npz", "zarr", "lerobot"], ["tactile", "shear", "margin"]
        bristle.rollout(scenario, out, formats=formats, extras=extras, device="cpu")
        assert bristle.verify(out) == []
        shards = [os.path.join(folder, f"{i}") for i in (1, 2)]
        for i, shard in enumerate(shards, 1):
            bristle.rollout(scenario, shard, shard=(i, 2), device="cpu")
        bristle.merge(shards, os.path.join(folder, "merged"))


def grandchild(n: int) -> None:
    """What a child forks computes, too."""
    batch(n)
    assert exit_code(batch, n) == 0


def exit_code(function, *arguments) -> int | None:
    """What becomes of a child that calls a function; None if it hangs."""
    child = multiprocessing.get_context("fork").Process(target=function, args=arguments)
    child.start()
    child.join(HANGS)
    if child.is_alive():
        child.kill()
        child.join()
        return None
    return child.exitcode


def on_the_cpu() -> None:
    for function, n in ((batch, 1), (batch, 64), (surfaces, 4), (grasps, 4), (runs, 0)):
        function(n)
    kept = bristle.Batch(bristle.Scenario.from_toml(BOX), 64, 1 / 64, device="cpu")
    kept.step()
    table = bristle.limit_surface(np.ones((4, 8, 8)))

    def go_on() -> None:
        """What the parent made is there, as it was; the parent's own does not change."""
        kept.step()
        assert np.all(kept.time == 2 / 64)
        table.query(np.ones((600, 3)))

    works = [
        (batch, 1),
        (batch, 8),
        (batch, 64),
        (surfaces, 1),
        (surfaces, 4),
        (grasps, 4),
        (runs, 0),
        (grandchild, 8),
        (go_on,),
    ]
    for function, *arguments in works:
        assert exit_code(function, *arguments) == 0, (function.__name__, arguments)
    assert np.all(kept.time == 1 / 64)
    batch(64)


def on_a_gpu() -> None:
    scenario = bristle.Scenario.from_toml(PUSHED)
    kept = bristle.Batch(scenario, 3, 1e-3, device="gpu")
    kept.step()
    auto = bristle.Batch(scenario, 3, device="auto").engine.engine

    def raises(call) -> None:
        with pytest.raises(bristle.DeviceError, match="forked") as error:
            call()
        assert "spawn" in str(error.value)

    def child() -> None:
        raises(kept.step)
        raises(lambda: kept.pose)
        raises(lambda: bristle.Batch(scenario, 3, device="gpu"))
        if auto == "gpu":
            raises(lambda: bristle.Batch(scenario, 3))
        else:
            bristle.Batch(scenario, 3).step()
        batch(64)

    assert exit_code(child) == 0
    kept.step()
    assert np.all(kept.time == 2e-3)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.parametrize("where", ["on_the_cpu", "on_a_gpu"])
def test_a_child_that_is_forked(where):
    """In a process of its own: what other tests have imported may not survive a fork."""
    done = subprocess.run([sys.executable, __file__, where], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


if __name__ == "__main__":
    globals()[sys.argv[1]]()

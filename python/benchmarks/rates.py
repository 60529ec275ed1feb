"""The cost of Python: rates of rollouts against the command line, and the time of a call outside the engine.

    cargo build --release && target/python/env/bin/python python/benchmarks/rates.py

All are ratios within one run, in turns: a busy machine changes their noise, not what they say.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import bristle

ROOT = Path(__file__).resolve().parents[2]
TURNS = 5


def import_time() -> None:
    """Seconds that `import bristle` takes in a new interpreter that has NumPy."""
    code = "import numpy, time; t = time.perf_counter(); import bristle; print(time.perf_counter() - t)"
    times = [float(subprocess.check_output([sys.executable, "-c", code])) for _ in range(TURNS)]
    print(f"import: {min(times) * 1e3:.0f} ms beside NumPy's (at most 100)")


def rollouts() -> None:
    """Simulated contact-seconds a second of processor time, by both."""
    program = ROOT / "target" / "release" / "bristle"
    scenario = ROOT / "examples" / "in_hand.toml"
    for name, n, changes in [("grid", 512, []), ("reduced", 4096, ["contact.model=reduced"])]:
        changes = [*changes, "duration=0.5", "engine=cpu"]
        ratios = []
        for _ in range(TURNS):
            with tempfile.TemporaryDirectory() as folder:
                sets = [word for change in changes for word in ("--set", change)]
                out = Path(folder) / "out"
                command = [program, "rollout", scenario, "-n", str(n), "--out", out, *sets]
                subprocess.run(command, check=True, capture_output=True)
                run = json.loads((out / "run.json").read_text())
            b = bristle.Batch(bristle.Scenario.load(scenario, changes), n, 0.01, device="cpu")
            b.save()
            began = time.perf_counter()
            b.rollout(50, record=("pose", "twist", "wrench", "slip", "near_limit", "normal_force"))
            ratios.append((time.perf_counter() - began) / seconds(run))
        shown = ", ".join(f"{r:.3f}" for r in ratios)
        print(f"rollout, {name}: {statistics.median(ratios):.3f} of the command line's time ({shown}; at most 1.05)")


def seconds(run: dict) -> float:
    """What a run says of the time in its engine."""
    return float(run["summary"]["wall_s"])


def calls() -> None:
    """Time of a call beyond what its engine takes, of 4096 contacts with a new grip each."""
    scenario = bristle.Scenario.load(ROOT / "examples" / "in_hand.toml", ["contact.model=reduced", "inputs.hold=10"])
    b = bristle.Batch(scenario, 4096, 1e-3, device="cpu")
    grips = np.random.default_rng(0).uniform(1.5, 2, (200, 4096))
    b.step()
    more = []
    for grip in grips:
        control = {"normal_force": grip}
        before, began = b.engine_time, time.perf_counter()
        b.step(control)
        took = time.perf_counter() - began
        more.append(took - (b.engine_time - before))
    least, median = min(more) * 1e6, statistics.median(more) * 1e6
    print(f"step of 4096 contacts: {median:.0f} us beside the engine (at most 50), at least {least:.0f}")


def best(call: Callable[[], object], turns: int = 50) -> float:
    """Least time of a call [us]."""
    times = []
    for _ in range(turns):
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    return min(times) * 1e6


def resets() -> None:
    """Times of calls that touch few contacts of many, and of reading a parameter."""
    for name, model in [("reduced", ["contact.model=reduced"]), ("grids", [])]:
        scenario = bristle.Scenario.load(ROOT / "examples" / "in_hand.toml", model)
        for n in (256, 16_384 if model else 4096):
            b = bristle.Batch(scenario, n, 0.01, device="cpu")
            b.step(ids=[0])
            b.parameter("friction.mu_c")
            seeds = iter(range(10**6))
            one = best(lambda b=b, s=seeds: b.reset([7], next(s)))
            many = best(lambda b=b, s=seeds: b.reset(np.arange(64), np.arange(64) + next(s)))
            copy, read = best(lambda b=b: b.copy(0, [9])), best(lambda b=b: b.parameter("friction.mu_c"))
            print(
                f"{n} {name}: reset of one {one:.0f} us (at most 110), of 64 {many:.0f} us (at most 740), "
                f"copy {copy:.0f} us, parameter {read:.0f} us (at most 20)"
            )


def resident() -> int:
    """Memory of this process [byte], without what was freed."""
    ctypes.CDLL(None).malloc_trim(0)
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def growth(precision: str, n: int) -> int:
    """Bytes that a batch of reduced contacts adds, with its poses."""
    changes = ["contact.model=reduced", f"precision='{precision}'"]
    scenario = bristle.Scenario.load(ROOT / "examples" / "in_hand.toml", changes)
    before = resident()
    b = bristle.Batch(scenario, n, 1e-4, device="cpu")
    # Calls that take long keep a state to go back to, until it is known that they do not.
    while b.time[0] < 19.5e-4:
        b.step()
        b.pose  # noqa: B018
    return resident() - before


def memory() -> None:
    """Memory that the engine and the package take for a reduced contact, by batches of two sizes."""
    for precision in ("f32", "f64"):
        few, many = 8192, 40_960
        # In new processes: memory that was freed before would be used again.
        code = "import sys, rates; print(rates.growth(sys.argv[1], int(sys.argv[2])))"
        command = [sys.executable, "-c", code, precision]
        folder = Path(__file__).parent
        grown = [int(subprocess.check_output([*command, str(n)], cwd=folder)) for n in (few, many)]
        each = (grown[1] - grown[0]) / (many - few)
        print(f"memory of a reduced contact, {precision}: {each:.0f} bytes (at most 2000)")


def environments() -> None:
    """Rate of 4096 Pivots in episodes that end at different times, and the share of the engine."""
    from bristle.gym import PivotVectorEnv

    few = PivotVectorEnv(1024)
    few.reset(seed=0)
    reset = best(lambda: few.reset(seed=np.arange(1024)))
    envs = PivotVectorEnv(4096)
    envs.reset(seed=np.arange(4096))
    rng = np.random.default_rng(0)
    envs.steps[:] = rng.integers(0, envs.horizon, 4096)
    for _ in range(3):
        began, before = time.perf_counter(), envs.batch.engine_time
        for _ in range(50):
            envs.step(rng.uniform(-1, 1, (4096, 1)))
        took = time.perf_counter() - began
        share = (envs.batch.engine_time - before) / took
        print(f"4096 Pivots: {50 * 4096 / took:.0f} env-steps/s, {100 * share:.0f} % in the engine (at least 90)")
    print(f"reset of 1024 Pivots from a seed each: {1e-3 * reset:.1f} ms (at most 20)")


def steps() -> None:
    """Calls of `step` against one `rollout` of as many intervals, from one state, after the first calls."""
    scenario = bristle.Scenario.load(ROOT / "examples" / "in_hand.toml", ["contact.model=reduced"])
    for n in (64, 512, 4096):
        b = bristle.Batch(scenario, n, 0.01, device="cpu")
        for _ in range(3):
            b.step()
        state = b.save()
        times: dict[str, list[float]] = {"calls": [], "read": [], "rollout": []}
        for _ in range(TURNS + 40_000 // n):
            for name, taken in times.items():
                b.restore(state)
                b.pose  # noqa: B018
                began = time.perf_counter()
                if name == "rollout":
                    b.rollout(20, record="pose")
                for _ in range(0 if name == "rollout" else 20):
                    b.step()
                    if name == "read":
                        b.pose  # noqa: B018
                taken.append(time.perf_counter() - began)
        calls, read, rollout = (statistics.median(taken) for taken in times.values())
        print(
            f"step of {n} reduced contacts: {calls / rollout:.2f} of the time of a rollout, "
            f"and with its poses {read / rollout:.2f} (at most 1.1)"
        )


def interrupted(call: Callable[[], object]) -> float:
    """Seconds from Ctrl-C to the exception in a call that takes longer than a second."""
    sent = []

    def interrupt() -> None:
        time.sleep(1)
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    try:
        call()
    except KeyboardInterrupt:
        return time.perf_counter() - sent[0]
    raise RuntimeError("the call ended before Ctrl-C")


def interrupts() -> None:
    """Time from Ctrl-C to the exception, in an interval that would take minutes."""
    scenario = bristle.Scenario.load(ROOT / "examples" / "in_hand.toml")
    times: list[float] = []
    for _ in range(TURNS):
        b = bristle.Batch(scenario, 20_000, 1.0, device="cpu")
        b.save()
        times.append(interrupted(b.step))
    print(f"Ctrl-C: {max(times):.2f} s at most (of {len(times)}; at most 0.2)")


def surfaces() -> None:
    """Margins of 500 tactile frames under 1000 loads each."""
    rng = np.random.default_rng(0)
    maps = np.maximum(rng.random((500, 16, 16)) - 0.3, 0)
    loads = rng.normal(size=(1000, 3)) * [1, 1, 0.005]
    times = []
    for _ in range(TURNS):
        began = time.perf_counter()
        bristle.limit_surface(maps, mu=0.6, f_n=2, at="origin").query(loads)
        times.append(time.perf_counter() - began)
    print(f"500 frames x 1000 loads: {min(times):.2f} s (at most 1)")


def grasps() -> None:
    """Stability of 10,000 grasps of 4 soft fingers, and the time from Ctrl-C to the exception in a long call."""
    rng = np.random.default_rng(0)
    n = 10_000
    position = rng.normal(size=(n, 4, 3)) * 0.05
    normal = -position + rng.normal(size=position.shape) * 0.01
    force = rng.normal(size=(n, 1, 3))
    load = np.concatenate([force, np.cross(0.1 * rng.normal(size=force.shape), force)], axis=2)
    fingers = {"mu": 0.6, "most": 20, "torsion": 0.004, "fixed": [0, 0, -5, 0, 0, 0]}
    times = []
    for _ in range(TURNS):
        began = time.perf_counter()
        of = bristle.stability(position, normal, load, **fingers)
        times.append(time.perf_counter() - began)
    shown = f"{of.holds.mean():.0%} hold, {of.solved.sum()} solved"
    print(f"{n} grasps of 4 contacts: {min(times):.1f} to {max(times):.1f} s (at most 10; {shown})")
    loads = np.repeat(load, 20, axis=1)
    ends = [interrupted(lambda: bristle.stability(position, normal, loads, **fingers)) for _ in range(TURNS)]
    print(f"Ctrl-C in these: {max(ends):.2f} s at most (of {TURNS}; at most 0.2)")


if __name__ == "__main__":
    for measure in (import_time, memory, calls, resets, environments, steps, surfaces, grasps, interrupts, rollouts):
        measure()

"""Friction identified from recordings."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
import tomllib

import numpy as np
import pytest

import bristle

#: Of a spring that slides at a limit, which is what this law is without viscosity.
FIT = """
[patch]
shape = "square"
cells = 1
size = 0.001
[friction]
law = "viscoelasto-plastic"
mu_c = 0.6
mu_s_over_mu_c = 1.0
sigma0 = 1e4
sigma1 = 0
sigma2 = 0
[body]
kind = "prescribed"
[fit]
share = 0.6
starts = 2
[fit.recording]
time = { column = "t" }
[fit.recording.inputs]
normal_force = { column = "fn" }
position.x = { column = "x", unit = "mm" }
[fit.recording.compare]
wrench.fx = { column = "force", sign = 1 }
[fit.unknowns]
"friction.mu_c" = {}
"friction.sigma0" = {}
"""

MU, SIGMA0, OFFSET = 0.42, 3000.0, 0.05


def friction(x: np.ndarray, mu: float, sigma0: float) -> np.ndarray:
    """Force (N) of the spring that slides, under 5 N."""
    z, force = 0.0, np.zeros(len(x))
    for i in range(1, len(x)):
        z = np.clip(z + x[i] - x[i - 1], -mu / sigma0, mu / sigma0)
        force[i] = -5.0 * sigma0 * z
    return force


def recording(rows: int = 800) -> dict[str, np.ndarray]:
    """Strokes of 2 mm back and forth in 2 s under 5 N."""
    t = 0.01 * np.arange(rows)
    x = 2e-3 * np.abs((t % 2.0) - 1.0)
    force = friction(x, MU, SIGMA0) + OFFSET
    noise = 0.03 * np.random.default_rng(1).normal(size=rows)
    return {"t": t, "x": 1e3 * x, "fn": np.full(rows, 5.0), "force": force + noise}


def test_the_numbers_are_those_that_the_recording_was_made_with():
    fit = bristle.fit(recording(), FIT)
    for name, truth in [("friction.mu_c", MU), ("friction.sigma0", SIGMA0), ("wrench.fx.offset", OFFSET)]:
        of = fit[name]
        # Twice the 90 % interval of each.
        assert of.identifiable and abs(of.value - truth) < of.high - of.low < 0.1 * truth, of
    assert fit.converged and not fit.interrupted and fit.seconds > 0
    (noise,) = fit.noise
    assert abs(noise["residual"] - 0.03) < 0.004 and abs(noise["sensor"] - 0.03) < 0.006
    assert fit.held_out[0]["ratio"] < 1.2
    assert fit.json["parameters"][0]["name"] == fit.parameters[0].name
    with pytest.raises(KeyError):
        fit["friction.mu"]
    # A contact of the fitted scenario has the fitted coefficient.
    scenario = bristle.Scenario.from_toml(fit.scenario)
    assert scenario.draw(1)["friction.mu_c"][0] == fit["friction.mu_c"].value
    assert "<section" in fit.page and "srcdoc" in fit._repr_html_() and "mu_c = 0.42" in repr(fit)


def test_files_and_dictionaries_are_the_same_as_arrays_and_text(tmp_path):
    columns = recording()
    np.savez(tmp_path / "a.npz", **columns)
    (tmp_path / "fit.toml").write_text(FIT)
    said = []
    whole = bristle.fit([tmp_path / "a.npz"], tmp_path / "fit.toml", out=tmp_path / "out", progress=said.append)
    assert "starts" in said and "intervals" in said
    other = bristle.fit(columns, tomllib.loads(FIT))
    assert [p.value for p in other.parameters] == [p.value for p in whole.parameters]
    written = json.loads((tmp_path / "out" / "fit.json").read_text())
    assert written["parameters"] == whole.json["parameters"]
    assert (tmp_path / "out" / "scenario.toml").read_text() == whole.scenario
    assert (tmp_path / "out" / "fit.html").read_text() == whole.page
    with pytest.raises(bristle.ParameterError, match="out"):
        bristle.fit(columns, FIT, out=tmp_path / "out")


def test_laws_samples_and_experiments(tmp_path):
    (tmp_path / "slow.toml").write_text("duration = 2\n[inputs]\nnormal_force = 5\ntwist = { vx = 1e-4 }\n")
    fit = bristle.fit(
        recording(),
        FIT,
        changes=["fit.samples=100"],
        compare=["dahl", "viscoelasto-plastic"],
        next=[tmp_path / "slow.toml"],
    )
    assert fit.json["compare"]["best"] == fit.json["law"] == "viscoelasto-plastic"
    (experiment,) = fit.json["next"]
    assert [known["name"] for known in experiment["then"]] == [known["name"] for known in fit.json["now"]]
    samples = fit.posterior["friction.mu_c"]
    mu = fit["friction.mu_c"]
    assert samples.shape == (100,) and mu.low < samples.mean() < mu.high
    # As many lie between the ends as a 90 % interval says, of samples that are correlated.
    assert 0.6 < np.mean((samples > mu.low) & (samples < mu.high)) <= 1.0


def test_an_interrupt_keeps_the_best_so_far():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:

        def stop(what: str) -> None:
            if what == "intervals":
                os.kill(os.getpid(), signal.SIGINT)

        fit = bristle.fit(recording(), FIT, progress=stop)
        assert fit.interrupted and not fit.converged
        assert abs(fit["friction.mu_c"].value - MU) < 0.01
        with pytest.raises(KeyboardInterrupt):
            bristle.fit(recording(), FIT, progress=lambda what: os.kill(os.getpid(), signal.SIGINT))
    finally:
        signal.signal(signal.SIGINT, before)


def test_what_progress_raises_is_raised():
    def fail(what: str) -> None:
        raise ZeroDivisionError(what)

    with pytest.raises(ZeroDivisionError):
        bristle.fit(recording(), FIT, progress=fail)


def test_other_threads_go_on_while_it_searches():
    ticks, done = [], threading.Event()

    def tick() -> None:
        while not done.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    bristle.fit(recording(), FIT)
    done.set()
    thread.join()
    assert len(ticks) > 20


@pytest.mark.parametrize(
    ("recordings", "scenario", "error", "part"),
    [
        ([], FIT, bristle.ParameterError, "recordings = none: expected at least one"),
        (3, FIT, bristle.ParameterError, "recordings.0 = 3: expected a path"),
        ({"t": np.zeros((2, 2))}, FIT, bristle.ParameterError, "recordings.0.t = an array of shape"),
        ({"t": np.arange(9.0)}, FIT, bristle.ParameterError, "normal_force.column = fn: expected one of 0 `t`"),
        ({**recording(), "t": -np.arange(800.0)}, FIT, bristle.ParameterError, "increase"),
        ("nothing.csv", FIT, bristle.ParameterError, "nothing.csv"),
        (recording(), "nothing.toml", bristle.ScenarioError, "nothing.toml"),
        (recording(), FIT.replace("mu_c = 0.6", "mu_c = -1"), bristle.ScenarioError, "mu_c = -1"),
        (recording(), FIT.replace('"friction.mu_c"', '"friction.mu"'), bristle.ScenarioError, "friction.mu"),
    ],
)
def test_bad_input_is_refused(recordings, scenario, error, part):
    with pytest.raises(error) as caught:
        bristle.fit(recordings, scenario)
    assert part in str(caught.value)


def test_scipy_finds_the_same_numbers_and_deviations():
    """The same law in a few lines, fitted by another program to the part that the fit has."""
    from scipy.optimize import least_squares

    made = recording()
    x, measured = 1e-3 * made["x"], made["force"]
    part = slice(1, int(np.searchsorted(made["t"], 0.6 * made["t"][-1] + 1e-9)))

    def residual(p: np.ndarray) -> np.ndarray:
        return (friction(x, np.exp(p[0]), np.exp(p[1])) + p[2] - measured)[part]

    found = least_squares(residual, [np.log(0.6), np.log(1e4), 0.0], diff_step=1e-6, xtol=1e-14, ftol=1e-14)
    n, k = len(found.fun), 3
    covariance = np.linalg.inv(found.jac.T @ found.jac) * (found.fun @ found.fun) / (n - k)
    deviation = np.sqrt(np.diag(covariance))
    fit = bristle.fit(made, FIT)
    for p, sd, name in zip(found.x, deviation, ("friction.mu_c", "friction.sigma0", "wrench.fx.offset"), strict=True):
        own = fit[name]
        values = np.array([own.value, own.low, own.high])
        values = values if name.endswith("offset") else np.log(values)
        assert abs(values[0] - p) < 0.05 * sd, name
        # 90 % of a normal distribution lie within 1.645 deviations. The fit does not know that the noise is white.
        np.testing.assert_allclose((values[2] - values[1]) / 2, 1.645 * sd, rtol=0.3, err_msg=name)

"""Derivatives of rollouts against differences of rollouts of other parameters, and what is refused."""

from __future__ import annotations

import copy
import os
import pickle
import signal
import threading

import conftest
import numpy as np
import pytest

import bristle

#: The box in hand, with an amplitude that is drawn.
BOX = conftest.BOX.replace("amplitude = 0.8", "amplitude = { uniform = [0.7, 0.9] }")
EXACT = "precision = 'f64'"
NSTEP = 16
QUANTITIES = ("pose", "twist", "wrench")
SIZES = ("patch.size", "patch.scale")

#: A box on a table, whose weight presses it, and which is pushed beyond its friction.
TABLE = """
contacts = 4
duration = 0.125
seed = 5
precision = "f64"
[patch]
shape = "square"
cells = 6
size = 0.04
[friction]
mu_c = { uniform = [0.3, 0.5] }
mu_s_over_mu_c = 1.2
sigma0 = 1e4
[body]
kind = "body"
mass = { uniform = [0.4, 0.6] }
inertia = { rectangle = [0.12, 0.06] }
offset = [0.004, 0.002]
[inputs]
tilt = { angle = 0.1 }
[inputs.wrench]
fx = { points = [[0.0, 0.0], [0.0625, { uniform = [2.8, 3.2] }], [0.125, 1.0]] }
"""


def batch(text: str, nsim: int | None = None, dt: float = 0.0078125, **arguments) -> bristle.Batch:
    changes = [] if "precision" in text else [EXACT]
    return bristle.Batch(bristle.Scenario.from_toml(text, changes=changes), nsim, dt, device="cpu", **arguments)


def solved(b: bristle.Batch, control=None, nstep: int = NSTEP) -> np.ndarray:
    """Pose, twist and wrench (nsim, samples, 9) of solved stages from the start."""
    b.reset()
    out = b.rollout(nstep, control, QUANTITIES, sensitivities=[])
    return np.concatenate([out[name] for name in QUANTITIES], axis=-1)


def derivatives(b: bristle.Batch, names, control=None, nstep: int = NSTEP) -> np.ndarray:
    """(nsim, samples, 9, parameters)."""
    b.reset()
    out = b.rollout(nstep, control, QUANTITIES, sensitivities=names)
    assert np.all(out["unconverged"] == 0)
    return np.concatenate([out[f"d{name}"] for name in QUANTITIES], axis=2)


def difference(of, h: float) -> np.ndarray:
    """The derivative at 0 by Richardson's extrapolation of central differences."""
    wide, narrow = ((of(step) - of(-step)) / (2 * step) for step in (h, h / 2))
    return (4 * narrow - wide) / 3


def error(found: np.ndarray, wanted: np.ndarray) -> float:
    """The largest difference of two derivatives, of each of the nine numbers over the largest of its kind."""
    largest = 0.0
    for of in range(0, 9, 3):
        for part in (slice(of, of + 2), slice(of + 2, of + 3)):
            scale = np.abs(wanted[..., part]).max()
            largest = max(largest, np.abs(found[..., part] - wanted[..., part]).max() / max(scale, 1e-12))
    return largest


def check(found: np.ndarray, of, h: float, name: str) -> None:
    """A derivative is the limit of difference quotients: of some step, where no bristle is at a kink within it."""
    errors = []
    for step in (h, h / 10, 10 * h):
        wanted = difference(of, step)
        assert np.abs(wanted[..., 6:8]).max() > 0, f"{name} has an effect on the force"
        errors.append(error(found, wanted))
        if errors[-1] <= 1e-6:
            return
    raise AssertionError(f"{name}: {errors}")


def redrawn(b: bristle.Batch, name: str):
    """The rollout of another value of a number that contacts are drawn with."""
    values = b.expand(name)
    before = values.copy()

    def at(step: float) -> np.ndarray:
        values[:] = before + step
        return solved(b)

    return at


@pytest.mark.parametrize(
    ("text", "name", "h"),
    [
        (BOX, "friction.mu_c", 1e-6),
        (BOX, "friction.sigma0", 10.0),
        (BOX, "body.mass", 1e-7),
        (BOX, "body.inertia.rectangle.0", 1e-7),
        (BOX, "initial.pose.0", 1e-8),
        (BOX, "initial.twist.1", 1e-7),
        (BOX, "inputs.gravity.1", 1e-5),
        (BOX, "inputs.normal_force.mean", 1e-6),
        (BOX, "inputs.normal_force.sines.0.amplitude", 1e-6),
        (BOX, "patch.size", 1e-8),
        (TABLE, "friction.mu_c", 1e-6),
        (TABLE, "friction.mu_s_over_mu_c", 1e-6),
        (TABLE, "friction.v_s", 1e-9),
        (TABLE, "body.mass", 1e-6),
        (TABLE, "body.offset.1", 1e-8),
        (TABLE, "inputs.tilt.angle", 1e-6),
        (TABLE, "inputs.wrench.fx.points.1.1", 1e-6),
    ],
)
def test_a_number_of_the_scenario_moves_all_that_follows_from_it(text, name, h):
    b = batch(text, 4)
    check(derivatives(b, [name])[..., 0], redrawn(b, name), h, name)


@pytest.mark.parametrize(
    ("name", "h"),
    [
        ("inputs.wrench.fx[3]", 1e-6),
        ("inputs.wrench.fy[4:9]", 1e-6),
        ("inputs.wrench.tau", 1e-8),
        ("inputs.normal_force[:8]", 1e-6),
        ("inputs.gravity.0[2:]", 1e-6),
        ("inputs.mu_c[5:7]", 1e-7),
    ],
)
def test_an_input_moves_in_its_intervals(name, h):
    b = batch(TABLE)
    rng = np.random.default_rng(1)
    control = {
        "wrench.fx": rng.uniform(3, 4, (4, NSTEP)),
        "wrench.fy": rng.uniform(-1, 1, NSTEP),
        "wrench.tau": rng.uniform(-0.03, 0.03, (1, NSTEP)),
        "normal_force": rng.uniform(4, 6, (4, NSTEP)),
        "gravity.0": 0.1,
        "mu_c": np.full((4, NSTEP), 0.2),
        "mu_s": 0.25,
    }
    base, _, intervals = name.removeprefix("inputs.").partition("[")
    first, colon, last = intervals.rstrip("]").partition(":")
    first = int(first or 0)
    last = int(last or NSTEP) if colon or not intervals else first + 1

    def at(step: float) -> np.ndarray:
        values = np.broadcast_to(np.asarray(control[base]), (4, NSTEP)).copy()
        values[:, first:last] += step
        return solved(b, {**control, base: values})

    check(derivatives(b, [name], control)[..., 0], at, h, name)


def test_a_prescribed_motion_has_derivatives_of_its_wrench(pushed):
    b = batch(pushed.text, 2, 0.01)
    control = {"twist.vx": np.linspace(0.005, 0.02, 8), "twist.w": 0.3}

    def at(step: float) -> np.ndarray:
        moved = control["twist.vx"].copy()
        moved[2] += step
        return solved(b, {**control, "twist.vx": moved}, 8)

    found = derivatives(b, ["inputs.twist.vx[2]"], control, 8)[..., 0]
    check(found, at, 1e-6, "twist")
    assert np.allclose(found[:, 3:, 0].max(), 0.01, rtol=0.1), "it comes a centimetre further for each metre a second"


def test_names_of_the_engine_move_alone():
    b = batch(TABLE)
    names = ["friction.mu_c", "friction.mu_s_over_mu_c", "friction.mu_s", "body.mass", "body.inertia", "patch.scale"]
    of_ratio = derivatives(b, names)
    mu_c, mu_s = b.parameter("friction.mu_c")[:, None, None], of_ratio[..., 2]
    assert np.allclose(of_ratio[..., 1], mu_c * mu_s, rtol=1e-9, atol=1e-12)
    alone = batch(TABLE.replace("mu_s_over_mu_c = 1.2", "mu_s = 0.6").replace("{ rectangle = [0.12, 0.06] }", "8e-4"))
    alone.expand("friction.mu_c")[:] = b.parameter("friction.mu_c")
    alone.expand("friction.mu_s")[:] = b.parameter("friction.mu_s")
    alone.expand("body.inertia")[:] = b.parameter("body.inertia")
    found = derivatives(alone, names[:1] + names[2:])
    assert np.allclose(of_ratio[..., 0], found[..., 0] + 1.2 * found[..., 1], rtol=1e-8, atol=1e-10)
    follows = b.parameter("body.inertia") / b.parameter("body.mass")
    both = found[..., 2] + follows[:, None, None] * found[..., 3]
    assert np.allclose(of_ratio[..., 3], both, rtol=1e-8, atol=1e-10)
    size = derivatives(b, ["patch.size"])[..., 0]
    assert np.allclose(0.04 * size, of_ratio[..., 5], rtol=1e-8, atol=1e-9)


def test_the_layout_and_out():
    b = batch(BOX, 3)
    names = ["friction.mu_c", "body.mass", "initial.pose.0"]
    whole = b.rollout(8, record=QUANTITIES, sensitivities=names)
    b.reset()
    some = b.rollout(8, record=["twist", "slip"], every=4, sensitivities=names)
    assert set(some) == {"twist", "slip", "dtwist", "unconverged"} and some["unconverged"].shape == (3,)
    assert some["dtwist"].shape == (3, 3, 3, 3) and some["slip"].shape == (3, 3)
    assert np.allclose(some["dtwist"], whole["dtwist"][:, ::4], rtol=1e-5, atol=1e-8)
    assert np.array_equal(whole["dpose"][:, 0, :, 2], np.tile([1.0, 0, 0], (3, 1))), "it starts there"
    b.reset()
    out = {name: np.empty_like(whole[name]) for name in ("pose", "dpose")}
    given = b.rollout(8, record="pose", out=out, sensitivities=names)
    assert given["dpose"] is out["dpose"] and np.array_equal(out["dpose"], whole["dpose"])
    assert np.array_equal(out["pose"], whole["pose"])
    b.reset()
    with pytest.raises(bristle.ParameterError, match=r"out.dpose = None: expected .*\(3, 9, 3, 3\)"):
        b.rollout(8, record="pose", out={"pose": out["pose"]}, sensitivities=names)
    one = batch(BOX, 1).rollout(8, sensitivities=names)
    assert np.array_equal(one["dpose"][0], whole["dpose"][0]), "a contact does not depend on its neighbours"


def test_the_contacts_go_on_as_after_a_rollout_without():
    b, plain = batch(BOX), batch(BOX)
    control = {"normal_force": np.linspace(2, 1, NSTEP)}
    with_them = b.rollout(NSTEP, control, sensitivities=["friction.mu_c"])
    without = plain.rollout(NSTEP, control)
    assert np.array_equal(b.pose, plain.pose) and np.array_equal(b.time, plain.time)
    assert np.array_equal(b.normal_force, plain.normal_force) and b.engine_time > 0
    moved = np.ptp(without["pose"], axis=1).max()
    assert 0 < np.abs(with_them["pose"] - without["pose"]).max() < 1e-3 * moved


def test_from_a_reset_a_new_seed_and_a_copy():
    b = batch(BOX, 3)
    b.rollout(4)
    b.reset(pose=[0.001, 0.002, 0.3], seed=11)
    other = copy.copy(b)
    revived = pickle.loads(pickle.dumps(b))
    found = [each.rollout(8, sensitivities="friction.mu_c") for each in (b, other, revived)]
    assert all(np.array_equal(each["dpose"], found[0]["dpose"]) for each in found)
    assert np.array_equal(found[0]["pose"][:, 0], np.tile([0.001, 0.002, 0.3], (3, 1)))


def test_a_number_at_the_end_of_its_range():
    """`sigma2` = 0 and `mu_s` = `mu_c` can change to one side alone."""
    b = batch(TABLE.replace("mu_s_over_mu_c = 1.2", "mu_s_over_mu_c = 1.0\nsigma2 = 0"))
    names = ["friction.sigma2", "friction.mu_s_over_mu_c"]
    found = derivatives(b, names)
    start = solved(b)
    for j, name in enumerate(names):
        values = b.expand(name)
        before = values.copy()
        values[:] = before + 1e-6
        moved = (solved(b) - start) / 1e-6
        values[:] = before
        assert error(found[..., j], moved) < 1e-3, name


def test_a_reduced_contact():
    """Of one bristle on an ellipsoid, and on a limit surface, whose table scales with the patch."""
    b = batch(BOX + '[contact]\nmodel = "reduced"\nsurface = "ellipsoid"\n', 3)
    for name, h in [("friction.mu_c", 1e-5), ("patch.size", 1e-7), ("initial.pose.0", 1e-7)]:
        check(derivatives(b, [name])[..., 0], redrawn(b, name), h, name)
    size, scale = np.moveaxis(derivatives(batch(BOX + '[contact]\nmodel = "reduced"\n', 3), SIZES), -1, 0)
    assert np.allclose(0.02 * size, scale, rtol=1e-8, atol=1e-9 * np.abs(scale).max()) and np.abs(scale).max() > 0


def test_a_call_that_is_interrupted_changes_nothing():
    """Ctrl-C comes in the middle of it, and ends it before its other contacts are stepped."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    b, alone = batch(BOX, 400), batch(BOX, 2)
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    try:
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            b.rollout(256, {"normal_force": 2.0}, sensitivities=["friction.mu_c"] * 16)
    finally:
        timer.join()
        signal.signal(signal.SIGINT, before)
    assert np.all(b.time == 0) and not np.any(b.normal_force == 2.0)
    assert np.array_equal(b.rollout(4)["pose"][:2], alone.rollout(4)["pose"])


@pytest.mark.parametrize(
    ("text", "names", "words"),
    [
        (BOX, ["friction.mu"], "one of .*; did you mean 'friction.mu_s' or 'friction.mu_c'"),
        (BOX, [3], "one of "),
        (BOX, ["friction.mu_c[2]"], r"one of inputs.normal_force\[3\]"),
        (BOX, ["inputs.twist.vx"], "one of "),
        (BOX, ["inputs.wrench.fx[8]"], r"an interval as in inputs.wrench.fx\[3\] or several .* from 0 to 7"),
        (BOX, ["inputs.wrench.fx[5:5]"], "an interval as in"),
        (BOX, ["inputs.wrench.fx[-1]"], "an interval as in"),
        (BOX, ["inputs.wrench.fx[1"], "an interval as in"),
        (BOX, ["body.pads"], "a number of friction, body, `patch.size`, initial state or inputs|body.pads"),
        (BOX, ["body.offset.0"], "kind `body`"),
        (BOX, ["patch.torsional_radius"], "not one that follows from others"),
        (
            BOX.replace("frequency = 2", "frequency = { uniform = [1, 2] }"),
            ["inputs.normal_force.sines.0.frequency"],
            "not its times or frequencies",
        ),
        (BOX.replace("cells = 11", "cells = 11\nsize = [0.02, 0.03]"), ["patch.size.0"], "scales the patch as a whole"),
        ("patches = [{ at = [0.01, 0] }, { turn = 0.3 }]\n" + BOX, ["patches.1.turn"], "scales the patch as a whole"),
        ("patches = [{ at = [0.01, 0] }, { friction = 0.3 }]\n" + BOX, ["patches.1.friction"], "scales the patch"),
        ("patches = [{ at = [0.01, 0] }, { turn = 0.3 }]\n" + BOX, ["patch.size"], "scales the patch as a whole"),
        (BOX.replace("[patch]", "[stop_when]\ndisplacement = 0.1\n[patch]"), [], "a scenario without `stop_when`"),
        ("precision = 'f32'" + BOX, [], 'device = "cpu", and precision = "f64"'),
        (
            BOX.replace('"disc"', '"hertz"\nradius = 1.0').replace("hold = 0.0078125", ""),
            ["inputs.normal_force"],
            "a map that does not: it has no derivative over that",
        ),
    ],
)
def test_what_is_refused(text, names, words):
    b = batch(text, 3)
    with pytest.raises(bristle.ParameterError, match=words) as caught:
        b.rollout(8, {"gravity": [3.0, 0.0]}, sensitivities=names)
    assert caught.value.field.startswith("sensitivities")
    assert np.array_equal(b.rollout(2)["pose"], batch(text, 3).rollout(2)["pose"]), "nothing is changed"


def test_a_gpu_is_refused():
    b = bristle.Batch(bristle.Scenario.from_toml(BOX), 2, device="gpu")
    with pytest.raises(bristle.ParameterError, match=r"engine gpu in f32: expected device = \"cpu\""):
        b.rollout(2, sensitivities=["friction.mu_c"])


def test_contacts_on_their_way_are_refused():
    b = batch(BOX, 3)
    b.step(ids=[1])
    with pytest.raises(bristle.ParameterError, match=r"contact 1: .*contacts at their start: `reset`") as caught:
        b.rollout(4, sensitivities=[])
    assert caught.value.contact == 1
    b.reset()
    b.rollout(4, sensitivities=[])


def test_intervals_that_end_between_samples_are_refused_unless_a_control_has_them():
    b = batch(BOX, 3)
    with pytest.raises(bristle.ParameterError, match="whose ends are samples"):
        b.rollout(8, every=4, sensitivities=["inputs.normal_force[2]"])
    b.rollout(8, {"normal_force": np.full(8, 2.0)}, every=4, sensitivities=["inputs.normal_force[2]"])
    b.reset()
    b.rollout(8, every=4, sensitivities=["inputs.normal_force[4:]"])


POINT = """
duration = 1
step = 1e-3
precision = "f64"
[contact]
model = "point"
[contact.point]
law = "LAW"
slider_mass = 0.001
[friction]
mu_c = 0.4
mu_s_over_mu_c = 1.0
sigma2 = 0
[body]
kind = "world"
mass = 2
[initial]
twist = [3.0, 0.0, 0.0]
[inputs]
normal_force = 5
"""


def test_a_point_that_slides_loses_speed_in_proportion_to_its_friction():
    b = batch(POINT.replace("LAW", "implicit").replace("slider_mass = 0.001", ""), 1)
    out = b.rollout(4, None, QUANTITIES, sensitivities=["friction.mu_c", "body.mass", "initial.twist.0"])
    time = np.arange(5) * b.dt
    # v = v0 - mu f_N t/m; x = v0 t - mu f_N t (t + h)/(2 m), as a step h moves the point with the velocity at its end
    h = b.dt / 8
    np.testing.assert_allclose(out["dtwist"][0, :, 0, 0], -2.5 * time, rtol=1e-12)
    np.testing.assert_allclose(out["dtwist"][0, :, 0, 1], 0.4 * 5 / 4 * time, rtol=1e-12)
    np.testing.assert_allclose(out["dpose"][0, :, 0, 2], time, rtol=1e-12)
    np.testing.assert_allclose(out["dpose"][0, :, 0, 0], -1.25 * time * (time + h), rtol=1e-12)


def test_numbers_of_a_point_and_the_law_gms_are_refused():
    b = batch(POINT.replace("LAW", "viscoelasto-plastic"), 1)
    with pytest.raises(bristle.ParameterError, match="slider_mass"):
        b.rollout(2, sensitivities=["contact.point.slider_mass"])
    b = batch(POINT.replace("LAW", "gms").replace("slider_mass = 0.001", ""), 1)
    with pytest.raises(bristle.ParameterError, match="gms"):
        b.rollout(2, sensitivities=["friction.mu_c"])


def test_maps_that_are_set_are_refused():
    b = batch(BOX, 2, frames=True)
    maps = np.ones((11, 11))
    with pytest.raises(bristle.ParameterError, match="a control without `pressure`"):
        b.rollout(2, {"pressure": maps}, sensitivities=[])


def test_the_first_example_of_the_page(monkeypatch):
    page = (conftest.ROOT / "docs" / "gradients.md").read_text()
    monkeypatch.chdir(conftest.ROOT)
    code = page.split("```python\n")[1].split("```")[0]
    names = {"bristle": bristle}
    exec(code, names)
    shapes = tuple(names["out"][name].shape for name in ("pose", "dpose"))
    assert str(shapes)[1:-1] in code

"""Errors have the field, the value, the accepted values, and the place."""

from __future__ import annotations

import copy
import inspect
import os
import pickle
import subprocess
import sys
import tomllib

import numpy as np
import pytest
from conftest import BOX, PUSHED

import bristle


def test_a_scenario_error_has_its_line_and_what_may_have_been_meant():
    with pytest.raises(bristle.ScenarioError) as raised:
        bristle.Scenario.from_toml(BOX.replace("mass =", "mas ="), name="box.toml")
    error = raised.value
    assert (error.file, error.line, error.column) == ("box.toml", 14, 1)
    assert error.suggestion == "`mass`" and "did you mean `mass`?" in str(error)
    assert "one of `kind`, `mass`" in error.accepted
    assert "mas = { uniform" in str(error) and "^^^" in str(error), "the line is shown"
    with pytest.raises(bristle.ScenarioError) as raised:
        bristle.Scenario.from_toml(BOX, changes=["friction.mu_c=-1"])
    error = raised.value
    assert (error.field, error.value, error.accepted) == ("friction.mu_c", "-1", "a finite number from 1e-9 to 1e6")
    assert error.line == 11
    assert isinstance(error, ValueError) and isinstance(error, bristle.BristleError)
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error) and vars(again) == vars(error)
    with pytest.raises(bristle.ScenarioError, match="key=value"):
        bristle.Scenario.from_toml(BOX, changes=["friction"])
    with pytest.raises(bristle.ScenarioError, match="nowhere"):
        bristle.Scenario.load("nowhere.toml")


ERRORS = {
    bristle.BristleError: ("text",),
    bristle.ParameterError: ("dt", "0", "a time", 3, 2),
    bristle.ScenarioError: ("text", "body.mass", "-1", "a number", "box.toml", 3, 4, "`mass`"),
    bristle.DeviceError: ("text",),
    bristle.OutOfMemoryError: ("text", 5, 3),
    bristle.RunError: ("text",),
    bristle.BusyError: ("text",),
}


def test_errors_are_copied_and_pickled_with_all_that_they_carry():
    public = {of for of in vars(bristle.errors).values() if inspect.isclass(of) and issubclass(of, Exception)}
    assert public == set(ERRORS)
    for kind, arguments in ERRORS.items():
        error = kind(*arguments)
        error.add_note("a note")
        pickled = [pickle.loads(pickle.dumps(error, protocol)) for protocol in range(pickle.HIGHEST_PROTOCOL + 1)]
        for again in (*pickled, copy.copy(error), copy.deepcopy(error)):
            assert type(again) is kind and again is not error
            assert (str(again), again.args, vars(again)) == (str(error), error.args, vars(error))


def test_a_dictionary_without_end_is_refused():
    itself: dict[str, object] = {}
    itself["patch"] = itself
    deep: object = 1.0
    for _ in range(10_000):
        deep = [deep]

    class Endless:
        def tolist(self):
            return self

    for table in [itself, {"duration": deep}, {"duration": Endless()}]:
        with pytest.raises(bristle.ParameterError, match="nested at most 64 deep"):
            bristle.Scenario.from_dict(table)


def test_a_dictionary_is_a_scenario():
    table = {
        "duration": 1,
        "patch": {"pressure": np.array([[0, 1], [2, 3.0]], dtype=np.float32), "size": (0.02, np.float64(0.01))},
        "friction": {"mu_c": {"uniform": [0.4, 0.8]}, "law": "lugre"},
        "body": {"kind": "prescribed"},
        "inputs": {"normal_force": {"points": [[0, 1], [1, 2]], "hold": 0.1}, "twist": {"vx": 0.01}},
    }
    scenario = bristle.Scenario.from_dict(table)
    assert scenario.duration == 1 and scenario.contacts == 1 and scenario.seed == 0
    assert scenario.inputs == ("normal_force", "twist.vx", "twist.vy", "twist.w", "mu_c", "mu_s")
    assert 0.4 <= scenario.draw()["friction.mu_c"][0] <= 0.8
    assert "pressure = [[0.0, 1.0], [2.0, 3.0]]" in scenario.text.replace("\n    ", "").replace(",]", "]")
    for key, value in [("duration", None), ("duration", {1: 2}), ("duration", object()), ("seed", 2**70)]:
        with pytest.raises(bristle.ParameterError) as raised:
            bristle.Scenario.from_dict({**table, key: value})
        assert raised.value.field == key
    with pytest.raises(bristle.ScenarioError, match="duration"):
        bristle.Scenario.from_dict({**table, "duration": float("nan")})


def test_masked_numbers_are_refused_by_name_wherever_arrays_are_taken():
    def hidden(values, *masked):
        return np.ma.masked_array(values, mask=[k in masked for k in range(len(values))])

    maps = np.ma.masked_array(np.ones((2, 3)), mask=[[False] * 3, [False, True, True]])
    loads = [hidden([1.0, 0.0, 0.0], 2), hidden([1.0, 0.0, 0.0])]
    batch = bristle.Batch(bristle.Scenario.from_toml(BOX), 2, device="cpu")
    before = batch.pose.copy()
    for field, count, call in [
        ("patch", 2, lambda: bristle.limit_surface(maps)),
        ("mu", 1, lambda: bristle.limit_surface(np.ones((2, 4, 4)), mu=hidden([1.0, 2.0], 0))),
        ("loads", 1, lambda: bristle.limit_surface(np.ones((4, 4))).margin(loads)),
        ("control.normal_force", 1, lambda: batch.step({"normal_force": hidden([1.0, 2.0], 1)})),
        ("ids", 1, lambda: batch.reset(hidden([0, 1], 0))),
    ]:
        with pytest.raises(bristle.ParameterError) as raised:
            call()
        assert raised.value.field == field, field
        assert f"a masked array with {count} masked" in str(raised.value) and "filled" in str(raised.value)
    assert np.array_equal(batch.pose, before)
    assert len(bristle.limit_surface(np.ma.masked_array(np.ones((2, 2)), mask=False))) == 1, "nothing is masked"
    with pytest.raises(bristle.ParameterError, match=r"patch\.pressure\.1\.1 = None"):
        bristle.Scenario.from_dict({"duration": 1, "patch": {"pressure": maps}})


def test_arrays_that_look_like_images_or_flat_frames_are_questioned():
    for shape, part in [((480, 640, 3), "image with colours"), ((300, 256), "300 flat frames of 16 x 16 cells")]:
        with pytest.raises(bristle.ParameterError, match=part) as raised:
            bristle.limit_surface(np.ones(shape))
        assert raised.value.field == "patch"
    assert len(bristle.limit_surface(np.ones((1, 5, 16)))) == 1
    assert len(bristle.limit_surface(np.ones((5, 4, 4), np.float16))) == 5


def test_what_clip_has_changed_is_told():
    patch = {"pressure": [[9, 4]], "unit": "kPa", "baseline": 5, "clip": True}
    table = {"duration": 1, "patch": patch, "body": {"kind": "gripper", "mass": 1, "inertia": 1}}
    assert bristle.Scenario.from_dict(table).clipped == {"readings": 1, "of": 2, "lowest": -1.0}
    del patch["clip"], patch["baseline"]
    assert bristle.Scenario.from_dict(table).clipped is None


def test_times_of_another_clock_are_refused_with_both_ranges():
    points = {"points": [[1764093600.0, 1], [1764093600.5, 2]]}
    table = {
        "duration": 1,
        "body": {"kind": "gripper", "mass": 1, "inertia": 1},
        "inputs": {"normal_force": points},
    }
    with pytest.raises(bristle.ScenarioError, match=r"1764093600 to 1764093600\.5 s.* 0 to 1 s.*times_from") as raised:
        bristle.Scenario.from_dict(table)
    assert raised.value.field == "inputs.normal_force"
    points["times_from"] = "first"
    bristle.Scenario.from_dict(table)


@pytest.mark.parametrize(
    ("arguments", "field", "accepted"),
    [
        ({"nsim": 0}, "nsim", "an integer from 1"),
        ({"nsim": 2.5}, "nsim", "an integer from 1"),
        ({"nsim": 10**12}, "nsim", "an integer from 1"),
        ({"nsim": True}, "nsim", "an integer from 1"),
        ({"dt": 0}, "dt", "1e-9 to 1e6"),
        ({"dt": np.nan}, "dt", "1e-9 to 1e6"),
        ({"dt": [0.01, 0.02]}, "dt", "1e-9 to 1e6"),
        ({"device": "cuda"}, "device", "one of cpu, gpu, auto"),
        ({"dt": True}, "dt", "1e-9 to 1e6"),
        ({"seed": -1}, "seed", "an integer from 0"),
        ({"frames": "no"}, "frames", "True or False"),
        ({"frames": 1}, "frames", "True or False"),
        ({"scenario": BOX}, "scenario", "Scenario.load"),
    ],
)
def test_arguments_of_a_batch(box, arguments, field, accepted):
    with pytest.raises(bristle.ParameterError, match=accepted) as raised:
        bristle.Batch(**{"scenario": box, "device": "cpu", **arguments})
    assert raised.value.field == field


@pytest.mark.parametrize(
    ("control", "accepted"),
    [
        ({"normal_forces": 1}, "did you mean 'normal_force'"),
        ({"twist.vx": 1}, "one of normal_force"),
        ({3: 1}, "one of normal_force"),
        ({"normal_force": "2"}, "array of real numbers"),
        ({"normal_force": 1j}, "array of real numbers"),
        ({"normal_force": [1, 2]}, r"a number or \(5,\)"),
        ({"normal_force": [[1, 2], [3]]}, "numbers in an array"),
        ({"normal_force": None}, "array of real numbers"),
        ({"normal_force": np.ones((5, 2))}, r"a number or \(5,\)"),
        ({"normal_force": [1, 2, np.nan, 4, 5]}, "contact 2: inputs.normal_force = NaN: expected a finite number"),
        ({"normal_force": np.inf}, "a finite number"),
        ({"wrench": [1, 2]}, r"shape \(3,\) or \(5, 3\)"),
        ({"wrench": np.ones((5, 2))}, r"shape \(3,\) or \(5, 3\)"),
        ({"mu_c": -1}, "a finite number from 1e-9 to 1e6"),
        ({"mu_c": 1e-300}, "inputs.mu_c = 1e-300: expected a finite number from 1e-9 to 1e6"),
        ({"normal_force": [1, 2, 3, 1.7e308, 5]}, "contact 3: inputs.normal_force = 1.7e308: expected a finite number"),
        ([1], "a dictionary"),
    ],
)
def test_controls_that_cannot_be(box, control, accepted):
    b = bristle.Batch(box, nsim=5, device="cpu")
    with pytest.raises(bristle.ParameterError, match=accepted):
        b.step(control)
    assert not b.time.any() and np.all(b.normal_force != 0), "nothing was done"


def test_arguments_of_calls(box):
    b = bristle.Batch(box, nsim=5, device="cpu")
    refused = [
        (lambda: b.step(ids=[5]), "ids = 5: expected indices from 0 to 4"),
        (lambda: b.step(ids=[-1]), "ids = -1"),
        (lambda: b.step(ids=[0.5]), "a mask of 5 booleans"),
        (lambda: b.step(ids=[True, False]), "a mask of 5 booleans"),
        (lambda: b.reset(seed=-1), "seed = -1"),
        (lambda: b.rollout(0), "nstep = 0"),
        (lambda: b.rollout(5, every=2), "a divisor of nstep = 5"),
        (lambda: b.rollout(2, record=["poses"]), "did you mean 'pose'"),
        (lambda: b.rollout(2, record=[None]), "one of pose"),
        (lambda: b.rollout(2, progress=3), "a function"),
        (lambda: b.rollout(2, out={}), "out.pose = None: expected a C-contiguous float64 array of shape"),
        (lambda: b.rollout(5, {"normal_force": np.ones(5)}), r"\(5, 1\) for one value a contact"),
        (lambda: b.rollout(3, {"normal_force": np.ones((3, 5))}), r"\(5,\) or \(3,\) or \(5, 3\)"),
        (lambda: b.copy(9, [1]), "source = 9"),
        (lambda: b.copy(0, None), "targets"),
        (lambda: b.restore(b"x"), "what Batch.save gave"),
        (lambda: b.respond([1, 2]), r"shape \(3,\) or \(5, 3\)"),
        (lambda: b.respond([np.nan, 0, 0]), "a finite number"),
        (lambda: b.bristles(5), "contact = 5"),
        (lambda: bristle.Snapshot.from_bytes(b"x"), "snapshot"),
    ]
    for call, message in refused:
        with pytest.raises(bristle.ParameterError, match=message):
            call()
    for out in (np.empty((5, 3, 3), dtype=np.float32), np.empty((3, 3, 5)).T, np.empty((5, 2, 3))):
        with pytest.raises(bristle.ParameterError, match="C-contiguous"):
            b.rollout(2, record=["pose"], out={"pose": out})
    frozen = np.empty((5, 3, 3))
    frozen.flags.writeable = False
    with pytest.raises(bristle.ParameterError, match="can be written to"):
        b.rollout(2, record="pose", out={"pose": frozen})
    assert not b.time.any()


def test_every_argument_is_refused_by_its_name(box, tmp_path):
    b = bristle.Batch(box, nsim=5, device="cpu")
    both, one = np.empty((5, 3, 3)), np.empty((5, 3))
    loads = np.zeros((5, 3, 3))
    run = tmp_path / "run"
    for field, value, call in [
        ("ids", "[[0], [1, 2]]", lambda: b.step(ids=[[0], [1, 2]])),
        ("ids", "[[0], [1, 2]]", lambda: b.read("pose", [[0], [1, 2]])),
        ("targets", "[[0], [1, 2]]", lambda: b.copy(0, [[0], [1, 2]])),
        ("targets", "9", lambda: b.copy(0, [9])),
        ("seed", "[[0], [1, 2]]", lambda: b.reset(seed=[[0], [1, 2]])),
        ("names", "3", lambda: b.read(3)),
        ("dtype", "'zzz'", lambda: b.read("pose", dtype="zzz")),
        ("dt", "True", lambda: b.respond([0, 0, 0], True)),
        ("out", "3", lambda: b.read("pose", out=3)),
        ("record", "3", lambda: b.rollout(2, record=3)),
        ("sensitivities", "3", lambda: b.rollout(2, sensitivities=3)),
        ("out.pose", "an array that shares", lambda: b.rollout(2, out={"pose": both, "wrench": both})),
        (
            "out.wrench",
            "an array that shares",
            lambda: b.read(["wrench", "pose"], out=dict.fromkeys(["wrench", "pose"], one)),
        ),
        (
            "out.wrench",
            "an array that shares memory with control",
            lambda: b.rollout(2, {"wrench.fx": loads.ravel()[:5]}, record="wrench", out={"wrench": loads}),
        ),
        ("n", "-1", lambda: box.draw(-1)),
        ("n", "2.0", lambda: box.draw(2.0)),
        ("n", "True", lambda: box.draw(True)),
        ("seed", "-1", lambda: box.draw(2, seed=-1)),
        ("seed", "False", lambda: box.draw(2, seed=False)),
        ("changes", "'contacts=5'", lambda: bristle.Scenario.from_toml(BOX, changes="contacts=5")),
        ("changes", "'contacts=5'", lambda: bristle.Scenario.load("box.toml", "contacts=5")),
        ("changes", "5", lambda: bristle.Scenario.from_dict({}, changes=[5])),
        ("dictionary", "3", lambda: bristle.Scenario.from_dict(3)),
        ("text", "b'", lambda: bristle.Scenario.from_toml(BOX.encode())),
        ("name", "3", lambda: bristle.Scenario.from_toml(BOX, name=3)),
        ("base", "3", lambda: bristle.Scenario.from_toml(BOX, base=3)),
        ("path", "3", lambda: bristle.Scenario.load(3)),
        ("scenario", "'box.toml'", lambda: bristle.rollout("box.toml", run)),
        ("out", "3", lambda: bristle.rollout(box, 3)),
        ("formats", "'npz'", lambda: bristle.rollout(box, run, formats="npz")),
        ("extras", "3", lambda: bristle.rollout(box, run, extras=[3])),
        ("shard", "[1, 2]", lambda: bristle.rollout(box, run, shard=[1, 2])),
        ("shard", "(1, 2.0)", lambda: bristle.rollout(box, run, shard=(1, 2.0))),
        ("shard", "(True, 2)", lambda: bristle.rollout(box, run, shard=(True, 2))),
        ("shard", "(-1, 2)", lambda: bristle.rollout(box, run, shard=(-1, 2))),
        ("progress", "3", lambda: bristle.rollout(box, run, device="cpu", progress=3)),
        ("shards", "'run'", lambda: bristle.merge("run", run)),
        ("shards", "3", lambda: bristle.merge([3], run)),
        ("run", "3", lambda: bristle.verify(3)),
        ("n_ls", "True", lambda: bristle.limit_surface(np.ones((3, 3))).nodes(True)),
        ("scenario", "3", lambda: bristle.fit({"time": [0.0]}, 3)),
        ("out", "3", lambda: bristle.fit({"time": [0.0]}, {}, out=3)),
        ("force", "'no'", lambda: bristle.fit({"time": [0.0]}, {}, force="no")),
        ("next", "'push.toml'", lambda: bristle.fit({"time": [0.0]}, {}, next="push.toml")),
        ("progress", "3", lambda: bristle.fit({"time": [0.0]}, {}, progress=3)),
    ]:
        with pytest.raises(bristle.ParameterError) as raised:
            call()
        assert raised.value.field == field, raised.value
        assert raised.value.value.startswith(value), raised.value
    assert not b.time.any() and not list(tmp_path.iterdir())


def test_a_quantity_that_is_named_twice_is_recorded_once(box):
    b, other = (bristle.Batch(box, nsim=5, device="cpu") for _ in range(2))
    twice = b.rollout(2, record=["pose", "slip", "pose"])
    once = other.rollout(2, record=["pose", "slip"])
    assert list(twice) == list(once) and all(np.array_equal(twice[name], once[name]) for name in once)


def test_lists_of_another_length_are_refused(box):
    dictionary = tomllib.loads(BOX)
    for pose in ([0, 0], [0, 0, 0, 0], np.zeros(4)):
        dictionary["initial"] = {"pose": pose}
        with pytest.raises(bristle.ScenarioError, match=f"invalid length {len(pose)}, expected an array of length 3"):
            bristle.Scenario.from_dict(dictionary)
    dictionary["initial"] = {"pose": np.zeros(3)}
    bristle.Scenario.from_dict(dictionary)


def test_messages_do_not_echo_what_is_long(box):
    long = "x" * 1_000_000
    b = bristle.Batch(box, nsim=5, device="cpu")
    for call in (
        lambda: bristle.Scenario.from_toml(f"duration = '{long}'"),
        lambda: bristle.Scenario.from_toml(BOX, changes=[f"friction.{long}=1"]),
        lambda: bristle.Scenario.from_dict({"duration": {1: long}}),
        lambda: bristle.Scenario.from_dict({"duration": [long, None]}),
        lambda: bristle.Batch(box, device=long),
        lambda: b.step({long: 1}),
        lambda: b.step({"normal_force": long}),
        lambda: b.expand(long),
        lambda: b.rollout(2, record=[long]),
    ):
        with pytest.raises(bristle.BristleError) as raised:
            call()
        assert len(str(raised.value)) < 3000
        assert all(len(str(value)) < 3000 for value in vars(raised.value).values())


def test_more_threads_than_can_be_started_are_refused():
    code = "import bristle"
    environment = {**os.environ, "RAYON_NUM_THREADS": "20000"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "RAYON_NUM_THREADS = 20000: expected 1 to 1024 threads, or 0 for one a core" in done.stderr


def test_precision_and_device_must_fit():
    scenario = bristle.Scenario.from_toml(PUSHED, changes=["precision=f64"])
    assert bristle.Batch(scenario).engine[:2] == ("cpu", "f64")
    with pytest.raises(bristle.ParameterError, match="a GPU computes in f32"):
        bristle.Batch(scenario, device="gpu")

"""Stability of grasps against statics and the command line."""

from __future__ import annotations

import itertools
import json
import subprocess

import numpy as np
import pytest

import bristle

#: Two fingers that press against each other.
PINCH = np.array([[-0.05, 0, 0], [0.05, 0, 0]])
#: An object of 1 N.
WEIGHT = [0, 0, -1, 0, 0, 0]


def test_a_pinch_holds_what_statics_says():
    """2 mu f_n of weight, 2 e f_n of moment about the line of the fingers, and both by the ellipsoid."""
    mu, most, torsion = np.array([0.3, 0.6, 1.1]), 8.0, 0.004
    loads = np.array([WEIGHT, [0, 0, 0, 0.001, 0, 0], [0, 1.2, -0.5, 0.006, 0, 0], [0, 0, 0, 0, 1, 0]])
    of = bristle.stability(np.broadcast_to(PINCH, (3, 2, 3)), -PINCH, loads, mu, most=most, torsion=torsion)
    for k, m in enumerate(mu):
        share = [np.hypot(np.hypot(w[1], w[2]) / (2 * m * most), w[3] / (2 * torsion * most)) for w in loads[:3]]
        assert np.allclose(of.factors[k, :3, 1], 1 / np.array(share), rtol=1e-6)
        # The fingers hold a moment across their line by forces in opposite directions.
        assert np.isclose(of.factors[k, 3, 1], 0.1 * m * most, rtol=1e-6)
    assert np.array_equal(of.holds, (of.factors[:, :, 0] <= 1) & (of.factors[:, :, 1] >= 1))
    assert of.solved.all() and of.holds.any() and not of.holds.all()
    # The gentlest grip has nothing left where it holds a weight alone, and the forces are of the object.
    held = of.force[:, 0]
    assert np.allclose(held.sum(axis=1), [0, 0, 1]) and np.allclose(held[:, 0, 0], 1 / (2 * mu), rtol=1e-5)
    assert np.allclose(of.margin[:, 0], 0, atol=1e-6) and np.nanmax(of.residual) <= 1e-6
    assert np.isnan(of.force[~of.holds]).all() and np.isnan(of.residual[~of.holds]).all()


def test_what_is_fixed_does_not_grow():
    """A block of 30 N on three feet slides at mu 30 N; its weight as the load holds without end."""
    feet = np.array([[1.0, 0, 0], [-0.5, 0.8, 0], [-0.5, -0.8, 0]])
    up = np.broadcast_to([0, 0, 2.0], (3, 3))
    push = bristle.stability(feet, up, [5, 0, 0, 0, 0, 0], 0.5, fixed=[0, 0, -30, 0, 0, 0])
    assert np.allclose(push.factors, [[[0, 3]]], atol=1e-6) and push.holds.all()
    weight = bristle.stability(feet, up, [0, 0, -30, 0, 0, 0], 0.5)
    assert np.array_equal(weight.factors, [[[0, np.inf]]]) and np.isnan(weight.twist).all()
    lift = bristle.stability(feet, up, [5, 0, 0, 0, 0, 0], 0.5, fixed=[0, 0, 1, 0, 0, 0])
    assert not lift.holds.any() and np.isnan(lift.factors).all() and np.isfinite(lift.twist).all()


def random_grasps(n: int, contacts: int, seed: int = 3) -> dict[str, np.ndarray]:
    """Fingers around an object, which press to its middle but for a part."""
    rng = np.random.default_rng(seed)
    position = rng.normal(size=(n, contacts, 3)) * 0.05
    return {
        "position": position,
        "normal": -position + rng.normal(size=position.shape) * 0.01,
        "load": rng.normal(size=(n, 2, 6)) * [1, 1, 1, 0.01, 0.01, 0.01],
        "mu": rng.uniform(0, 1, (n, contacts)),
        "most": rng.uniform(1, 20, (n, contacts)),
        "torsion": rng.uniform(0, 0.01, (n, contacts)) * rng.integers(0, 2, (n, contacts)),
        "tangent": rng.normal(size=position.shape),
        "fixed": rng.normal(size=(n, 6)) * [1, 1, 1, 0.01, 0.01, 0.01],
    }


def file_of(of: dict[str, np.ndarray], g: int, k: int, cone: str) -> str:
    """A grasp under a load as a stability file."""
    lines = [f"cone = {cone}"]
    for name, w in (("fixed", of["fixed"][g]), ("load", of["load"][g, k])):
        lines.append(f"{name} = {{ force = {w[:3].tolist()}, moment = {w[3:].tolist()} }}")
    for c in range(of["mu"].shape[1]):
        lines.append("[[contacts]]")
        keys = ("position", "normal", "tangent", "mu", "torsion", "most")
        lines += [f"{key} = {of[key][g, c].tolist()}" for key in keys if of[key][g, c].tolist() != np.inf]
    return "\n".join(lines)


@pytest.mark.parametrize(
    "cone", ["circle", {"pyramid": 6, "kind": "inner", "angle": 0.2}, {"pyramid": 5, "kind": "outer"}]
)
def test_answers_are_those_of_the_command_line(cone, program, tmp_path):
    of = random_grasps(6, 4)
    of["most"][::2] = np.inf
    found = bristle.stability(**of, cone=cone)
    assert found.solved.all() and 0 < found.holds.sum() < 12
    text = (
        json.dumps(cone)
        if cone == "circle"
        else "{" + ", ".join(f"{k} = {json.dumps(v)}" for k, v in cone.items()) + "}"
    )
    path = tmp_path / "grasp.toml"
    for g, k in itertools.product(range(6), range(2)):
        path.write_text(file_of(of, g, k, text))
        done = subprocess.run([program, "stability", path, "--json"], check=True, capture_output=True)
        said = json.loads(done.stdout)
        assert said["holds"] == found.holds[g, k]
        factors = [np.nan, np.nan] if said["factors"] is None else [np.inf if f is None else f for f in said["factors"]]
        assert np.array_equal(found.factors[g, k], factors, equal_nan=True)
        if said["motion"] is not None:
            twist = said["motion"]["twists"][0]
            assert np.array_equal(found.twist[g, k], twist["velocity"] + twist["turn"])
        if said["holds"]:
            assert found.residual[g, k] == said["residual"]
            for name in ("force", "torsion", "margin"):
                assert np.array_equal(getattr(found, name)[g, k], [contact[name] for contact in said["contacts"]])


def test_a_grasp_has_the_bits_that_it_has_alone():
    of = random_grasps(40, 3)
    together = bristle.stability(**of)
    for g in (0, 7, 39):
        alone = bristle.stability(**{name: array[g : g + 1] for name, array in of.items()})
        assert all(np.array_equal(a[0], b[g], equal_nan=True) for a, b in zip(alone, together, strict=True))


def test_contacts_that_are_not_there_are_as_if_left_out():
    of = random_grasps(2, 5)
    present = np.array([[True, True, False, True, False], [True] * 5])
    fewer = bristle.stability(**{name: v[:1, present[0]] if v.shape[1] == 5 else v[:1] for name, v in of.items()})
    for name in ("position", "normal", "mu", "most", "torsion", "tangent"):
        of[name][~present] = np.nan
    found = bristle.stability(**of, present=present)
    assert np.array_equal(found.factors[0], fewer.factors[0], equal_nan=True)
    for k in range(2):
        assert np.array_equal(found.force[0, k][present[0]], fewer.force[0, k], equal_nan=True)
        assert not fewer.holds[0, k] or not found.force[0, k][~present[0]].any()
    assert np.array_equal(found.holds[0], fewer.holds[0]) and found.solved.all()


def test_numbers_may_be_one_of_all_of_each_contact_or_of_each_grasp():
    points = np.broadcast_to(PINCH, (3, 2, 3))
    each = np.array([[0.3, 0.5], [0.4, 0.5], [0.6, 0.5]])

    def most(mu):
        return bristle.stability(points, -PINCH, WEIGHT, mu, most=4, torsion=0.1).factors[:, 0, 1]

    assert np.array_equal(most([0.3, 0.5]), most(np.broadcast_to(each[0], (3, 2))))
    assert np.array_equal(most(each[:, 0]), most(np.repeat(each[:, :1], 2, axis=1)))
    assert np.array_equal(most(each[:, :1]), most(each[:, 0]))
    assert np.array_equal(most(0.5), most([[0.5, 0.5]]))
    none = bristle.stability(np.zeros((4, 0, 3)), np.zeros((4, 0, 3)), WEIGHT, 1)
    assert none.force.shape == (4, 1, 0, 3) and not none.holds.any() and none.solved.all()
    assert bristle.stability(points, -PINCH, np.zeros((0, 6)), 1).factors.shape == (3, 0, 2)
    assert bristle.stability(points[:0], points[:0], WEIGHT, 1).twist.shape == (0, 1, 6)


def test_what_is_refused_names_its_grasp_and_contact():
    def call(**change):
        of = {name: array.copy() for name, array in random_grasps(5, 3).items()}
        for name, (index, value) in change.items():
            of[name][index] = value
        return bristle.stability(**of)

    for change, field, grasp, contact, message in [
        ({"mu": ((3, 1), -1)}, "mu", 3, 1, "grasp 3, contact 1: mu = -1: expected a finite number from 0 to 1e6"),
        ({"position": ((2, 0, 1), np.nan)}, "position", 2, 0, "position = NaN: expected a finite number from -1e9"),
        ({"normal": ((4, 2), 0)}, "normal", 4, 2, "a finite vector that is not zero"),
        ({"most": ((0, 2), 0)}, "most", 0, 2, r"from 1e-12 to 1e12 \[N\], or inf"),
        ({"torsion": ((1, 0), np.inf)}, "torsion", 1, 0, r"from 0 to 1e6 \[m\]"),
        ({"load": ((3, 1, 4), np.inf)}, "load.1.moment.1", 3, None, "grasp 3: load.1.moment.1 = inf"),
        ({"fixed": ((2, 0), np.nan)}, "fixed.force.0", 2, None, "grasp 2: fixed.force.0 = NaN"),
    ]:
        with pytest.raises(bristle.ParameterError, match=message) as raised:
            call(**change)
        assert (raised.value.field, raised.value.grasp, raised.value.contact) == (field, grasp, contact)
    points = np.broadcast_to(PINCH, (4, 2, 3))
    square = np.broadcast_to(PINCH, (2, 2, 3))
    masked = np.ma.masked_array([0.5, 0.5], mask=[True, False])
    for arguments, options, message in [
        ((PINCH[0], PINCH, WEIGHT, 1), {}, r"position = .*expected an array \(grasps, contacts, 3\)"),
        ((points, PINCH[0], WEIGHT, 1), {}, r"normal = .*shape \(4, 2, 3\), or \(2, 3\)"),
        ((points, -PINCH, WEIGHT[:3], 1), {}, r"load = .*shape \(6,\), \(loads, 6\) or \(4, loads, 6\)"),
        ((points, -PINCH, np.ones((4, 6)), 1), {}, r"\(4, 1, 6\) for one a grasp: there are as many"),
        ((points, -PINCH, WEIGHT, [1, 1, 1]), {}, r"mu = .*or shape \(2,\), \(4,\) or \(4, 2\)"),
        ((square, -PINCH, WEIGHT, [1, 1]), {}, r"mu = .*expected \(1, 2\) for one number a contact, or \(2, 1\)"),
        ((points, -PINCH, WEIGHT, "high"), {}, "mu = .*array of real numbers"),
        ((points, -PINCH, WEIGHT, masked), {}, "mu = a masked array with 1 masked"),
        ((points, -PINCH, WEIGHT, 1), {"fixed": np.ones((3, 6))}, r"fixed = .*shape \(6,\) or \(4, 6\)"),
        ((points, -PINCH, WEIGHT, 1), {"present": [1, 0]}, r"present = .*booleans of shape \(4, 2\)"),
        ((points, -PINCH, WEIGHT, 1), {"cone": "square"}, 'cone = .*expected "circle", or a pyramid such as'),
        ((points, -PINCH, WEIGHT, 1), {"cone": {"pyramid": 2}}, "cone.pyramid = 2: expected an integer from 3 to 1024"),
        ((points, -PINCH, WEIGHT, 1), {"cone": {"pyramid": 8, "kind": "iner"}}, "did you mean 'inner'"),
        ((points, -PINCH, WEIGHT, 1), {"cone": {"pyramid": 8.5}}, "cone.pyramid = 8.5: expected an integer"),
        ((points, -PINCH, WEIGHT, 1), {"cone": {"pyramid": 8, "angle": "0.5"}}, "cone.angle = .*real numbers"),
        ((points, -PINCH, WEIGHT, 1), {"present": [[True], [True, False]]}, "present = .*booleans of shape"),
        ((points, -PINCH, WEIGHT, 1), {"cone": {"pyramid": 8, "angle": np.inf}}, "cone.angle = inf"),
        ((points, -PINCH, WEIGHT, 1), {"tangent": PINCH}, "grasp 0, contact 0: tangent = .*not along the normal"),
    ]:
        with pytest.raises(bristle.ParameterError, match=message):
            bristle.stability(*arguments, **options)


def test_a_grasp_without_an_answer_does_not_disturb_the_others():
    """Where lengths differ by 1e14 the solver has no answer that can be verified."""
    points = np.stack([PINCH, PINCH, PINCH])
    points[1] = [[-1e9, 0, 0], [1e-9, 1e9, 0]]
    of = bristle.stability(points, -PINCH, [0, 0, -1, 0, 0, 1e-9], 0.5, torsion=1e-6)
    one = bristle.stability(PINCH, -PINCH, [0, 0, -1, 0, 0, 1e-9], 0.5, torsion=1e-6)
    assert np.array_equal(of.force[[0, 2]], one.force[[0, 0]]) and of.solved[[0, 2]].all()
    assert of.solved[1] or (not of.holds[1] and np.isnan(of.factors[1]).all() and np.isnan(of.force[1]).all())

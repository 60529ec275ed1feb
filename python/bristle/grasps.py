"""Stability of grasps: whether contacts with friction hold an object under loads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import _bristle
from ._arguments import integer
from ._arrays import Floats, as_array, doubles, known, shown
from .errors import ParameterError

Flags = NDArray[np.bool_]


class Stability(NamedTuple):
    """Which grasps hold which loads, and how far the loads may grow.

    Numbers that there are not are NaN: forces of a load that does not hold, factors if none is held, a motion if
    every larger load is held.
    """

    holds: Flags
    """(grasps, loads): whether contact forces inside the friction cones balance ``fixed`` and the load."""
    factors: Floats
    """(grasps, loads, 2): the least and the largest factor >= 0 of the load that is held [-]; the second may be
    infinite."""
    force: Floats
    """(grasps, loads, contacts, 3): forces on the object that balance the load [N], with the least sum of normal
    parts, the gentlest grip; in the frame of ``position``."""
    torsion: Floats
    """(grasps, loads, contacts): moments about the normals beside these forces [N m]."""
    margin: Floats
    """(grasps, loads, contacts): friction that these forces leave, docs/model.md (203) and (210) [N]."""
    twist: Floats
    """(grasps, loads, 6): motion of the object that proves that no larger factor is held, or that the load is not:
    velocity of its point at the origin [m/s], angular velocity [rad/s]."""
    residual: Floats
    """(grasps, loads): distance of the forces from balance, as a share of the loads [-]; at most 1e-6."""
    solved: Flags
    """(grasps, loads): whether the solver came to an answer that was verified; where not, ``holds`` is False."""


def stability(
    position: Any,
    normal: Any,
    load: Any,
    mu: Any,
    *,
    fixed: Any = None,
    most: Any = np.inf,
    torsion: Any = 0.0,
    tangent: Any = None,
    present: Any = None,
    cone: str | Mapping[str, Any] = "circle",
) -> Stability:
    """Whether grasps hold an object under loads, by which factors the loads may change, and with which forces.

    A load holds if forces f_i inside the friction cones balance it, sum of J_i^T f_i + fixed + load = 0
    (docs/model.md, (207) to (210)); each contact has |f_t| <= mu f_n and 0 <= f_n <= most, and with ``torsion``
    (|f_t|/mu)^2 + (moment/torsion)^2 <= f_n^2. The answers are those of ``bristle stability`` (docs/stability.md),
    which has several bodies and contacts between them, too. Grasps and loads are solved in parallel, each for
    itself, all numbers in one right-handed frame of each grasp. Ctrl-C ends a call.

    An array of one number a contact is a number, (contacts,), (grasps,) or (grasps, contacts); where there are as
    many contacts as grasps, (1, contacts) or (grasps, 1).

    Args:
        position: where the contacts are [m], -1e9 to 1e9: (grasps, contacts, 3), or (contacts, 3) of one grasp.
        normal: directions into the object, of any length but zero: of the shape of ``position``, or (contacts, 3)
            of all grasps.
        load: what grows, wrenches on the object (fx, fy, fz, mx, my, mz) about the origin [N, N m], each -1e12 to
            1e12: (6,) or (loads, 6) of all grasps, or (grasps, loads, 6). A force that acts ``at`` a point has the
            moment ``np.cross(at, force)``.
        mu: coefficients of friction [-], 0 to 1e6, one a contact.
        fixed: what does not grow, such as the weight: wrenches as ``load``, (6,) or (grasps, 6); zero if None.
        most: largest normal forces [N], 1e-12 to 1e12 or infinite, one a contact: what a finger can press.
        torsion: largest moments about the normal for a normal force of 1 N [m], 0 to 1e6, one a contact: zero of
            a point, ``mu * table.radius`` of a patch of :func:`limit_surface`.
        tangent: directions whose parts across the normal are the first axes of pyramids, shaped as ``normal``; x if
            None, or y where x is within 45 degrees of the normal.
        present: (grasps, contacts) booleans, which contacts there are, for grasps with fewer contacts than others;
            all if None. The numbers of others are not read, and their forces are zero.
        cone: ``"circle"``, or a pyramid ``{"pyramid": n, "kind": "inner", "angle": 0.0}`` with n sides, 3 to 1024,
            ``"inner"`` or ``"outer"``, turned by an angle [rad] from the tangent.

    Returns:
        :class:`Stability`. Factors and forces are within 1e-6; of a load closer to its limit either answer is
        possible.

    Raises:
        ParameterError: another shape, or a number out of range, with the indices of its grasp and contact; nothing
            is solved.
        OutOfMemoryError: answers that need more memory than there is.
    """
    points = doubles("position", position)
    points = points[np.newaxis] if points.ndim == 2 else points
    if points.ndim != 3 or points.shape[2] != 3:
        raise ParameterError("position", shown(position), "an array (grasps, contacts, 3), or (contacts, 3) of one")
    grasps, contacts, _ = points.shape
    loads = _loads(load, grasps)
    numbers = [_each(name, of, (grasps, contacts)) for name, of in (("mu", mu), ("most", most), ("torsion", torsion))]
    return Stability(
        *_bristle.stability(
            points,
            _directions("normal", normal, points),
            None if tangent is None else _directions("tangent", tangent, points),
            np.stack(numbers, axis=2),
            _present(present, (grasps, contacts)),
            _fixed(fixed, grasps),
            loads,
            _pyramid(cone),
        )
    )


def _directions(name: str, value: Any, points: Floats) -> Floats:
    """One vector a contact."""
    array = doubles(name, value)
    if array.shape not in (points.shape, points.shape[1:]):
        raise ParameterError(name, shown(array), f"shape {points.shape}, or {points.shape[1:]} of all grasps")
    return np.ascontiguousarray(np.broadcast_to(array, points.shape))


def _each(name: str, value: Any, shape: tuple[int, int]) -> Floats:
    """One number a contact."""
    array = doubles(name, value)
    grasps, contacts = shape
    if array.ndim == 1 and len(array) == grasps == contacts > 1:
        accepted = f"(1, {contacts}) for one number a contact, or ({grasps}, 1) for one a grasp: there are as many"
        raise ParameterError(name, shown(array), accepted)
    if array.shape == (grasps,) != (contacts,):
        array = array[:, np.newaxis]
    fits = array.ndim <= 2 and all(n in (1, of) for n, of in zip(array.shape[::-1], shape[::-1], strict=False))
    if not fits:
        raise ParameterError(name, shown(array), f"a number, or shape ({contacts},), ({grasps},) or {shape}")
    return np.broadcast_to(array, shape)


def _loads(value: Any, grasps: int) -> Floats:
    """Loads as (grasps or 1, loads, 6)."""
    array = doubles("load", value)
    if array.ndim == 2 and len(array) == grasps > 1:
        accepted = (
            f"(1, {grasps}, 6) for the loads of all grasps, or ({grasps}, 1, 6) for one a grasp: there are as many"
        )
        raise ParameterError("load", shown(array), accepted)
    shape = (1,) * (3 - array.ndim) + array.shape
    if len(shape) != 3 or shape[2] != 6 or shape[0] not in (1, grasps):
        raise ParameterError("load", shown(array), f"shape (6,), (loads, 6) or ({grasps}, loads, 6)")
    return array.reshape(shape)


def _fixed(value: Any, grasps: int) -> Floats:
    """What is fixed as (grasps or 1, 6)."""
    array = np.zeros(6) if value is None else doubles("fixed", value)
    if array.shape not in ((6,), (1, 6), (grasps, 6)):
        raise ParameterError("fixed", shown(array), f"shape (6,) or ({grasps}, 6)")
    return array.reshape(-1, 6)


def _present(value: Any, shape: tuple[int, int]) -> Flags | None:
    """Which contacts there are."""
    if value is None:
        return None
    accepted = f"booleans of shape {shape}"
    array = as_array("present", value, accepted)
    if array.dtype != bool or array.shape != shape:
        raise ParameterError("present", shown(array), accepted)
    return np.ascontiguousarray(array)


def _pyramid(cone: Any) -> tuple[int, str, float] | None:
    """Sides, kind and angle; None for a circle."""
    if isinstance(cone, str) and cone == "circle":
        return None
    if not isinstance(cone, Mapping) or "pyramid" not in cone:
        raise ParameterError("cone", shown(cone), '"circle", or a pyramid such as {"pyramid": 8, "kind": "inner"}')
    for key in cone:
        known("cone", key, ("pyramid", "kind", "angle"))
    kind = known("cone.kind", cone.get("kind", "inner"), ("inner", "outer"))
    angle = doubles("cone.angle", cone.get("angle", 0.0))
    if angle.ndim > 0:
        raise ParameterError("cone.angle", shown(angle), "a number")
    return integer("cone.pyramid", cone["pyramid"], 3, 1024), kind, float(angle)

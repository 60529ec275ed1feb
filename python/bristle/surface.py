"""Limit surfaces: which loads a patch holds, and how it slips."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from . import _bristle
from ._arguments import integer
from ._arrays import Floats, doubles, known, shown
from .errors import ParameterError
from .scenario import Scenario


class Margins(NamedTuple):
    """How far loads may grow before patches slip, and how the patches then move."""

    factor: Floats
    """(tables, loads): the largest k with k times the load on the limit surface [-]; the load holds if it is 1 or more;
    infinite for no load."""
    twist: Floats
    """(tables, loads, 3): twist at slip, of which (vx, vy, r w) at the centre of pressure has length one [-, -, 1/m];
    zero for no load."""


class MarginGradients(NamedTuple):
    """Margins and their exact derivatives, docs/model.md, section 7.5.

    They are those of the numbers that :meth:`Table.query` returns: with ``at="cop"`` a load moves along with the
    centre of pressure, with ``at="origin"`` it stays. Where the twist at slip is not unique the factor has a kink,
    and these are the derivatives for one of the twists. For no load all derivatives are NaN.
    """

    factor: Floats
    """(tables, loads): factors as those of ``query`` [-]."""
    twist: Floats
    """(tables, loads, 3): twists as those of ``query``."""
    load: Floats
    """(tables, loads, 3): derivatives of the factor by the load [1/N, 1/N, 1/(N m)]."""
    pressure: Floats
    """(tables, loads, rows, columns): by the pressure of each cell, also of cells without pressure [-], top row first
    as in maps, with all other pressures and the normal force held. Its unit of pressure is the sum of all pressures:
    for the map's own unit divide by ``map.sum()``. As only shares count, the sum of share times derivative is 0."""
    mu: Floats
    """(tables, loads): by the coefficient of friction [-]."""
    f_n: Floats
    """(tables, loads): by the normal force, with the map held [1/N]."""


class WrenchGradients(NamedTuple):
    """Wrenches of steady sliding and their exact derivatives, docs/model.md, section 7.5.

    They are those of the numbers that :meth:`Table.wrench` returns. By the rule ``points`` a wrench jumps where the
    centre of rotation crosses the centre of a cell; these are the derivatives beside the jump.
    """

    wrench: Floats
    """(tables, twists, 3): wrenches on the moving body [N, N, N m]."""
    twist: Floats
    """(tables, twists, 3, 3): derivatives of each component by (vx, vy, w) [N s/m, N s/m, N s; .. N s, N s, N m s];
    symmetric; NaN at rest, where friction jumps."""
    pressure: Floats
    """(tables, twists, rows, columns, 3): by the pressure of each cell [N, N, N m], top row first, in the unit of
    ``MarginGradients.pressure``."""
    mu: Floats
    """(tables, twists, 3): by the coefficient of friction [N, N, N m]."""
    f_n: Floats
    """(tables, twists, 3): by the normal force, with the map held [-, -, m]."""


class Torsion(NamedTuple):
    """What to write into the files of simulators for pads, and how far off these simulators are.

    Simulators have one number for torsional friction at each contact point. With one contact point at the centre of
    pressure they hold the patch's largest moment mu r f_n exactly, and loads of force and moment together more or less
    than the patch. Where pads touch at several points, the forces at these have a moment already.
    """

    radius: Floats
    """(tables,): torsional radius r [m]: PhysX' ``minTorsionalPatchRadius`` (moment <= mu times it times f_n)."""
    moment: Floats
    """(tables,): largest moment about the normal, mu r f_n [N m]."""
    mujoco: Floats
    """(tables, 2): ``friction`` of a geom with ``condim="4"``: sliding mu [-], torsional mu r [m]."""
    patch_radius: Floats
    """(tables,): ``patch_radius`` of SDF in Gazebo [m], 16 r/(3 pi), with ``coefficient`` mu."""
    spinning: Floats
    """(tables,): ``spinning_friction`` of URDF in Bullet [m], mu r, for another body with lateral friction 1."""
    ellipsoid: Floats
    """(tables, 3): error of MuJoCo's elliptic cone: largest, least, and mean size over loads (fx, fy, tau/r)
    in all directions [-]; of a load, by how much the factor to its limit is larger than that of the patch."""
    cylinder: Floats
    """(tables, 3): the same of limits of force and moment that do not know of each other, as in PhysX, Gazebo and
    Bullet."""


class Table:
    """Limit surfaces of patches, each with its coefficient of friction and normal force.

    All vectors are (x, y, turn) triples in the patch frame, at the centre of pressure of each patch or at the
    origin of its grid (``at`` of :func:`limit_surface`). Queries are computed for all tables at once, in
    parallel, from the integrals of each patch, not by interpolation (docs/model.md, section 7).
    """

    __slots__ = ("_core",)

    def __init__(self, core: _bristle.Surfaces) -> None:
        self._core = core

    def __len__(self) -> int:
        return len(self._core)

    @property
    def mu(self) -> Floats:
        """(tables,): coefficients of friction [-]."""
        return self._core.mu()

    @property
    def f_n(self) -> Floats:
        """(tables,): normal forces [N]."""
        return self._core.f_n()

    @property
    def radius(self) -> Floats:
        """(tables,): torsional radii [m]: torque of pure rotation about the centre of pressure over mu f_n."""
        return self._core.radius()

    @property
    def cop(self) -> Floats:
        """(tables, 2): centres of pressure in the patch frame [m]."""
        return self._core.cop()

    def query(self, loads: Any) -> Margins:
        """Margins and directions of slip under loads, found together.

        Args:
            loads: wrenches on the body [N, N, N m]: (3,), (loads, 3) for all tables, or (tables, loads, 3).

        Returns:
            :class:`Margins`, with one load in place of (3,).

        Raises:
            ParameterError: another shape, a load that is not finite, or tables by the rule ``bilinear``, which has no
                dissipation.
        """
        return Margins(*self._core.margin(self._vectors("loads", loads)))

    def margin(self, loads: Any) -> Floats:
        """(tables, loads): the factors of :meth:`query`."""
        return self.query(loads).factor

    def direction(self, loads: Any) -> Floats:
        """(tables, loads, 3): the twists at slip of :meth:`query`."""
        return self.query(loads).twist

    def torsion(self) -> Torsion:
        """The patches as single numbers, docs/closed-loops.md; as ``bristle torsion`` prints them.

        Raises:
            ParameterError: tables by the rule ``bilinear``.
        """
        ellipsoid, cylinder = self._core.torsion()
        radius, mu = self.radius, self.mu
        spin = mu * radius
        mujoco = np.stack([mu, spin], axis=1)
        gazebo = 16 * radius / (3 * math.pi)
        return Torsion(radius, spin * self.f_n, mujoco, gazebo, spin, ellipsoid, cylinder)

    def wrench(self, twists: Any) -> Floats:
        """The friction wrenches of steady sliding.

        Args:
            twists: [m/s, m/s, rad/s], of any size: (3,), (twists, 3) for all tables, or (tables, twists, 3).

        Returns:
            (tables, twists, 3): wrenches on the moving body [N, N, N m]; zero at rest.
        """
        return self._core.wrench(self._vectors("twists", twists))

    def margin_gradients(self, loads: Any) -> MarginGradients:
        """Margins with their derivatives by the load, the pressure map, friction and normal force.

        Args:
            loads: wrenches on the body as for :meth:`query`.

        Raises:
            ParameterError: as for :meth:`query`, or maps with different numbers of cells.
        """
        factor, twist, load, pressure, mu, f_n = self._core.margin_gradients(self._vectors("loads", loads))
        return MarginGradients(factor, twist, load, self._as_maps(pressure), mu, f_n)

    def wrench_gradients(self, twists: Any) -> WrenchGradients:
        """Friction wrenches of steady sliding with their derivatives by the twist, the pressure map, friction and
        normal force.

        Args:
            twists: as for :meth:`wrench`.

        Raises:
            ParameterError: another shape, a twist that is not finite, tables by the rule ``bilinear``, or maps with
                different numbers of cells.
        """
        wrench, twist, pressure, mu, f_n = self._core.wrench_gradients(self._vectors("twists", twists))
        return WrenchGradients(wrench, twist, self._as_maps(pressure), mu, f_n)

    def nodes(self, n_ls: int = 20) -> tuple[Floats, Floats]:
        """Twists and wrenches on a grid of directions, to draw or to learn from.

        Args:
            n_ls: steps over 90 degrees, 1 to 1000.

        Returns:
            Two arrays (tables, 4 n_ls + 1, n_ls + 1, 3) over theta and phi, docs/model.md (101).
        """
        return self._core.nodes(integer("n_ls", n_ls, 1, 1000))

    def __repr__(self) -> str:
        return f"<bristle.Table of {len(self)} limit surfaces>"

    def _as_maps(self, cells: Floats) -> Floats:
        """Numbers of cells, axis 2 from the bottom row, as those of maps with the top row first."""
        rows, columns = self._core.grids()[0] if len(self) > 0 else (0, 0)
        return cells.reshape(*cells.shape[:2], rows, columns, *cells.shape[3:])[:, :, ::-1]

    def _vectors(self, name: str, value: Any) -> Floats:
        array = doubles(name, value)
        shape = (1,) * (3 - array.ndim) + array.shape
        if len(shape) != 3 or shape[2] != 3 or shape[0] not in (1, len(self)):
            raise ParameterError(name, shown(array), f"shape (3,), (n, 3) or ({len(self)}, n, 3)")
        return array.reshape(shape)


def limit_surface(
    patch: Any,
    size: float | tuple[float, float] = 0.02,
    *,
    mu: Any = None,
    f_n: Any = None,
    rule: str = "cells",
    at: str = "cop",
) -> Table:
    """Limit surfaces of pressure maps, or of the contacts of a scenario.

    Args:
        patch: a pressure map (rows, columns) or maps (tables, rows, columns), top row first, >= 0 in any
            unit; or a :class:`Scenario`, of which the patches of its contacts at the start are used. A map
            (rows, columns) with a shape like flat frames, such as (300, 256), must be given as (1, rows,
            columns).
        size: width and height of the grid [m], or one number for both. Without effect on a scenario.
        mu: coefficient of friction [-], > 0, a number or (tables,); 1 if None, for a scenario the ``mu_c`` of
            its contacts.
        f_n: normal force [N], >= 0, a number or (tables,); 1 if None, for a scenario the normal force of its
            contacts at the start.
        rule: how cells are integrated: ``"cells"`` (exact), ``"points"`` (at centres, as for bristles), or
            ``"bilinear"``.
        at: where loads, wrenches and twists are: ``"cop"`` (centre of pressure) or ``"origin"`` (of the grid).

    Raises:
        ParameterError: an argument out of range, a map that is empty, negative or not finite, or an array of the
            shape of an image with colours or of flat frames.
    """
    known("rule", rule, ("cells", "points", "bilinear"))
    known("at", at, ("cop", "origin"))
    if isinstance(patch, Scenario):
        core = _bristle.Surfaces.of_scenario(patch._core, patch.contacts, patch.seed, rule, at)
        if mu is None and f_n is None:
            return Table(core)
        return Table(core.under(_each("mu", mu, core.mu()), _each("f_n", f_n, core.f_n())))
    maps = doubles("patch", patch)
    _question(maps)
    maps = maps[np.newaxis] if maps.ndim == 2 else maps
    if maps.ndim != 3 or 0 in maps.shape:
        raise ParameterError("patch", shown(maps), "a map (rows, columns), maps (tables, rows, columns), or a Scenario")
    both = doubles("size", size)
    if both.shape not in ((), (2,)):
        raise ParameterError("size", shown(size), "a length [m], or width and height")
    width, height = np.broadcast_to(both, (2,)).tolist()
    one = np.ones(len(maps))
    turned = np.ascontiguousarray(maps[:, ::-1, :])
    made = (_each("mu", mu, one), _each("f_n", f_n, one))
    return Table(_bristle.Surfaces.of_maps(turned, (width, height), *made, rule, at))


def _question(maps: Floats) -> None:
    """Refuses an array of a shape that maps rarely have: an image with colours, or frames whose cells are in a row."""
    if maps.ndim == 3 and maps.shape[2] in (1, 3, 4) and min(maps.shape[:2]) >= 16:
        found = f"{shown(maps)}, which looks like an image with colours"
        raise ParameterError("patch", found, "a map (rows, columns), such as `image.mean(axis=2)`")
    if maps.ndim == 2:
        frames, cells = maps.shape
        side = math.isqrt(cells)
        is_long = 2 * min(frames, cells) < max(frames, cells)
        if side * side == cells and side >= 4 and frames != cells and (side >= 16 or is_long):
            found = f"{shown(maps)}, which looks like {frames} flat frames of {side} x {side} cells"
            accepted = f"maps (tables, rows, columns): reshape({frames}, {side}, {side}) of them"
            raise ParameterError("patch", found, f"{accepted}, or reshape(1, {frames}, {cells}) of a single map")


def _each(name: str, value: Any, otherwise: Floats) -> list[float]:
    """One number a table."""
    if value is None:
        return list(otherwise.tolist())
    array = doubles(name, value)
    if array.shape not in ((), otherwise.shape):
        raise ParameterError(name, shown(array), f"a number or an array of shape {otherwise.shape}")
    low = 0.0 if name == "f_n" else np.nextafter(0.0, 1.0)
    if not bool(np.all(np.isfinite(array) & (array >= low))):
        raise ParameterError(name, shown(value), "finite numbers >= 0" if name == "f_n" else "finite numbers > 0")
    return list(np.broadcast_to(array, otherwise.shape).tolist())

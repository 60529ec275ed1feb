"""Friction of contact patches inside MuJoCo.

MuJoCo keeps the normal forces. bristle adds the tangential force and the torsional moment of each patch. A
contact is stiff (millions of newtons a metre), and explicit coupling in steps of 2 ms explodes. So
:meth:`PatchFriction.step` solves for the friction at the end of the step, under all forces that MuJoCo applies
in that step.

It needs the package ``mujoco`` (``pip install 'bristle[mujoco]'``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import mujoco as _mujoco
import numpy as np

from ._arrays import Floats, shown
from .batch import Batch
from .errors import ParameterError
from .scenario import Scenario

_EULER = int(_mujoco.mjtIntegrator.mjINT_EULER)
_INTEGRATORS = {_EULER: _mujoco.mj_Euler, int(_mujoco.mjtIntegrator.mjINT_IMPLICITFAST): _mujoco.mj_implicit}
#: Most evaluations of MuJoCo's step, most Newton steps between two of them, most halvings of a Newton step.
_MOST_TRIALS, _MOST_NEWTON, _MOST_HALVINGS = 30, 30, 12
#: Largest error of the friction at the end of a step, as a share of the largest normal force.
_TOLERANCE = 1e-5
#: Normal force that the patches are told where there is none, so that their wrench over it is known [N].
_LEAST_FORCE = 1e-9
#: Share of the displacement by which patch and geometry differ that one step takes back.
_FEEDBACK = 0.5


class _Pad(NamedTuple):
    site: int
    body: int
    object: int
    #: Geoms of the body whose contacts with the object press the pad.
    geoms: frozenset[int]


class PatchFriction:
    """Friction between objects and the pads that touch them, one patch a pad.

    A pad is a site of the model: the patch lies in its xy plane, centred on it, fixed to the body of the site.
    Friction acts on the object and, opposite, on the body of the pad. The normal force of a pad is the sum over the
    contacts of its body with its object; if several pads share both bodies, over the contacts of the pad's own geom.
    These contacts must have ``condim="1"``, so that MuJoCo leaves their friction alone.

    >>> friction = PatchFriction(model, scenario, object="box", pads=["left", "right"])
    >>> with friction:
    ...     for _ in range(1000):
    ...         friction.step(data)

    Each step solves ``v' = G(J^T W(J v'))``. G is MuJoCo's own step from generalized forces to the velocity at its
    end: actuators, passive and applied forces, constraints, and the damping of its integrator. J gives the twist of
    the object against the pad, and W is the wrench of the patch after that twist (:meth:`bristle.Batch.respond`),
    under the normal force of the same step. What MuJoCo's positions move beyond ``J v'`` (arcs of hinges, motion
    of mocap bodies) the patches follow within a few steps.

    Many objects of this class may step at one time, each in a thread of its own.

    Args:
        model: ``mujoco.MjModel`` with ``integrator`` Euler or implicitfast, without sleep; its timestep is read once.
        scenario: of kind ``prescribed``, with ``inputs.twist.at = "origin"``: patch, friction and tolerance of the
            pads; contact k of it is pad k.
        object: name of the body that all pads touch, or a name for each pad.
        pads: names of sites.
        geoms: names of geoms, one a pad, whose contacts alone press it. By default the geom of the body that is
            nearest to the site if several pads share both bodies, else all geoms of the body.

    Attributes:
        batch: the patches as a :class:`bristle.Batch`, whose ``slip`` and ``wrench`` may be read between steps.
        normal_force: (pads,) of the last step [N].
        wrench: (pads, 3) on the object at the site, in its axes, as applied in the last step [N, N, N m].

    Raises:
        ParameterError: a name that the model does not have, a scenario of another kind, another integrator, friction
            of MuJoCo's own between a pad and its object, or two pads with one normal force.
    """

    def __init__(
        self,
        model: Any,
        scenario: Scenario,
        object: str | Sequence[str],
        pads: Sequence[str],
        geoms: Sequence[str] | None = None,
    ) -> None:
        if "twist.vx" not in scenario.inputs:
            raise ParameterError("scenario", scenario.name, 'one with body.kind = "prescribed"')
        self._model = model
        self._dt = float(model.opt.timestep)
        self._check_options()
        self._pads = _pads(model, object, pads, geoms)
        for k, pad in enumerate(self._pads):
            _check_geoms(model, k, pad)
        self.batch = Batch(scenario, len(self._pads), self._dt, device="cpu")
        self._inside = False
        self.reset()

    def __enter__(self) -> PatchFriction:
        if self._inside:
            raise ParameterError("with", "a friction that is in its context", "one `with` at a time")
        self._check_options()
        self._inside = True
        return self

    def __exit__(self, *_: object) -> None:
        self._inside = False

    def reset(self) -> None:
        """Puts the patches back to their start, without load, as after ``mj_resetData``."""
        n = len(self._pads)
        self.batch.reset()
        self.normal_force: Floats = np.zeros(n)
        self.wrench: Floats = np.zeros((n, 3))
        self._told: Floats = np.zeros(n)
        self._time = -1.0
        self._twist: Floats = np.zeros(3 * n)
        self._geometry = _Geometry(self._pads, self._dt)

    def step(self, data: Any) -> None:
        """Advances MuJoCo and the patches by one step of the model, inside ``with``, in place of ``mj_step``.

        Args:
            data: an ``mujoco.MjData`` of the model.

        Raises:
            ParameterError: outside of ``with``; data of another model; another integrator or timestep than at first;
                a contact between a pad and its object that has friction of MuJoCo's own. Then the state is that before
                the step.
            DeviceError: an error of a patch.
        """
        if not self._inside:
            raise ParameterError("step", "a call outside of the context", "a call within `with friction:`")
        if getattr(data, "model", None) is not self._model:
            raise ParameterError("data", shown(data), "an MjData of the model")
        self._check_options()
        self._tell()
        _mujoco.mj_step1(self._model, data)
        _mujoco.mj_fwdActuation(self._model, data)
        step = _Step(self._model, data, self._dt, self.batch, self._told, self._pads, self._geometry.offset(data))
        wrench = step.solve(self.wrench.reshape(-1), self._twist)
        step.finish(wrench)
        self.normal_force, self.wrench = step.normal, wrench.reshape(-1, 3)
        moved = step.rows @ data.qvel
        self._twist = moved + step.offset
        self._geometry.note(data, moved)
        self._told = np.maximum(self.normal_force, _LEAST_FORCE)
        self.batch.step({"normal_force": self._told, "twist": self._twist.reshape(-1, 3)})
        self._time = self.batch.time[0]

    def _check_options(self) -> None:
        option = self._model.opt
        if int(option.integrator) not in _INTEGRATORS:
            name = _mujoco.mjtIntegrator(option.integrator).name
            raise ParameterError("integrator", name, "Euler or implicitfast")
        if float(option.timestep) != self._dt:
            raise ParameterError("timestep", option.timestep, f"{self._dt}, as at first")
        if option.enableflags & int(_mujoco.mjtEnableBit.mjENBL_SLEEP):
            raise ParameterError("sleep", "enabled", "a model whose bodies do not sleep")

    def _tell(self) -> None:
        """Gives patches a normal force if they have none, as at their start or after a reset of the batch."""
        if self.batch.time[0] != self._time:
            self._told = self.batch.normal_force
            if np.any(self._told < _LEAST_FORCE):
                self._told = np.maximum(self._told, _LEAST_FORCE)
                self.batch.step({"normal_force": self._told, "twist": np.zeros((len(self._pads), 3))})


class _Geometry:
    """What positions move beyond the twists ``J v``, which are of first order in the step."""

    def __init__(self, pads: Sequence[_Pad], dt: float) -> None:
        self._pads, self._dt = pads, dt
        self._poses: list[tuple[Floats, ...]] = []
        self._end: Floats = np.zeros(0)
        self._moved: Floats = np.zeros((len(pads), 3))
        self._given: Floats = np.zeros((len(pads), 3))
        self._behind: Floats = np.zeros((len(pads), 3))

    def offset(self, data: Any) -> Floats:
        """(3 pads,): twists that the patches are to be given beyond ``J v`` in this step [m/s, rad/s].

        That of the step before, and a share of what the patches are behind the geometry.
        """
        old, self._poses = self._poses, [self._pose(data, pad) for pad in self._pads]
        if not old or not np.array_equal(self._end, data.qpos):
            self._behind[:] = self._given[:] = 0
        else:
            beyond = np.array([_moved(*pair) for pair in zip(old, self._poses, strict=True)]) - self._moved
            self._behind += beyond - self._given
            self._given = beyond + _FEEDBACK * self._behind
        return self._given.reshape(-1) / self._dt

    def note(self, data: Any, twist: Floats) -> None:
        """Notes the end of a step, in which ``J v`` was a twist."""
        self._end = data.qpos.copy()
        self._moved = twist.reshape(-1, 3) * self._dt

    @staticmethod
    def _pose(data: Any, pad: _Pad) -> tuple[Floats, ...]:
        site, body = data.site_xmat[pad.site].reshape(3, 3), data.xmat[pad.object].reshape(3, 3)
        return data.site_xpos[pad.site].copy(), site.copy(), data.xpos[pad.object].copy(), body.copy()


def _moved(old: tuple[Floats, ...], new: tuple[Floats, ...]) -> Floats:
    """Displacement of the object's point at the old site against the site, in its axes [m, m, rad]."""
    (site, axes, body, turned), (site1, axes1, body1, turned1) = old, new
    shift = axes1.T @ (body1 + turned1 @ (turned.T @ (site - body)) - site1)
    turn = axes1.T @ turned1 @ turned.T @ axes
    return np.array([shift[0], shift[1], 0.5 * (turn[1, 0] - turn[0, 1])])


class _Step:
    """One step of MuJoCo as a function of the wrenches, from its position stage on."""

    def __init__(
        self, model: Any, data: Any, dt: float, batch: Batch, told: Floats, pads: Sequence[_Pad], offset: Floats
    ) -> None:
        self._model, self._data, self._dt, self._batch, self._told = model, data, dt, batch, told
        self.offset = offset
        self.rows = _jacobian(model, data, pads)
        self._efc = _contacts(model, data, pads)
        self._passive = data.qfrc_passive.copy()
        self.normal: Floats = np.zeros(len(pads))
        self._forward = _INTEGRATORS[int(model.opt.integrator)]

    def solve(self, wrench: Floats, twist: Floats) -> Floats:
        """The wrenches (3 pads,) that friction has after the twists that they lead to.

        MuJoCo's step is evaluated, and then Newton's method goes on its linear model, whose matrix S is
        ``du/dwrench``, until the two agree. The energy ``R^T S R`` of the error R falls along a Newton direction,
        so that a step that does not lower it is halved.
        """
        self._evaluate(wrench)
        self._linearise()
        force, gain, slope = self._friction(self._u, self.normal)
        error = wrench - force
        energy = float(error @ self._s @ error)
        for _ in range(_MOST_TRIALS):
            if self._size(error, gain, self.normal) < _TOLERANCE:
                break
            target = self._on_linear_model(wrench, twist, (error, gain, slope, energy))
            share, acceleration = 1.0, self._data.qacc.copy()
            for _ in range(_MOST_HALVINGS):
                tried = wrench + share * (target - wrench)
                # An exact guess where no constraint changes its state: MuJoCo's solver then has nothing to round off.
                self._evaluate(tried, acceleration + self._x @ (tried - wrench))
                force, gain, slope = self._friction(self._u, self.normal)
                error = tried - force
                if error @ self._s @ error < energy:
                    break
                share *= 0.5
            wrench = tried
            self._linearise()
            energy = float(error @ self._s @ error)
        return wrench

    def finish(self, wrench: Floats) -> None:
        """Takes the step under the wrenches that were evaluated last."""
        m, d = self._model, self._data
        d.qfrc_passive[:] = self._passive + self.rows.T @ wrench
        d.qacc_warmstart[:] = d.qacc
        _mujoco.mj_step2(m, d)

    def _evaluate(self, wrench: Floats, acceleration: Floats | None = None) -> None:
        """MuJoCo's step under wrenches: twists and normal forces. The state is then that before."""
        m, d = self._model, self._data
        d.qfrc_passive[:] = self._passive + self.rows.T @ wrench
        if acceleration is not None:
            d.qacc_warmstart[:] = acceleration
        _mujoco.mj_fwdAcceleration(m, d)
        _mujoco.mj_fwdConstraint(m, d)
        state = (d.qpos, d.qvel, d.act, d.qacc_warmstart, d.history, d.plugin_state)
        kept, time = [array.copy() for array in state], d.time
        self._forward(m, d)
        self._u = self.rows @ d.qvel + self.offset
        for array, before in zip(state, kept, strict=True):
            array[:] = before
        d.time = time
        self.normal = np.array([d.efc_force[rows].sum() for rows in self._efc])

    def _linearise(self) -> None:
        """``S = du/dwrench``, ``T = dN/dwrench`` and ``X = dqacc/dwrench`` while no constraint changes its state."""
        m, d = self._model, self._data
        mass = np.zeros((m.nv, m.nv))
        _mujoco.mj_fullM(m, d, mass)
        jacobian = np.zeros((d.nefc, m.nv))
        if _mujoco.mj_isSparse(m) and d.nefc:
            _mujoco.mju_sparse2dense(jacobian, d.efc_J, d.efc_J_rownnz, d.efc_J_rowadr, d.efc_J_colind)
        else:
            jacobian[:] = d.efc_J.reshape(d.nefc, m.nv)
        kind, force = d.efc_type, d.efc_force
        is_friction = (kind == _mujoco.mjtConstraint.mjCNSTR_FRICTION_DOF) | (
            kind == _mujoco.mjtConstraint.mjCNSTR_FRICTION_TENDON
        )
        is_active = np.where(is_friction, np.abs(force) < d.efc_frictionloss, force > 0)
        stiff = np.where(is_active | (kind == _mujoco.mjtConstraint.mjCNSTR_EQUALITY), d.efc_D, 0.0)
        self._x = np.linalg.solve(mass + jacobian.T @ (stiff[:, None] * jacobian), self.rows.T)
        if m.opt.integrator == _EULER:
            implicit = mass + self._dt * np.diag(m.dof_damping)
        else:
            gain = np.zeros((m.nv, m.nv))
            _mujoco.mju_sparse2dense(gain, d.qDeriv, m.D_rownnz, m.D_rowadr, m.D_colind)
            implicit = mass - self._dt * gain
        self._s = self._dt * self.rows @ np.linalg.solve(implicit, mass @ self._x)
        change = -stiff[:, None] * (jacobian @ self._x)
        self._t = np.array([change[rows].sum(axis=0) for rows in self._efc])

    def _on_linear_model(self, wrench: Floats, twist: Floats, start: tuple[Floats, Floats, Floats, float]) -> Floats:
        """The wrenches that solve the problem on the linear model about ``wrench``."""

        def evaluate(x: Floats) -> tuple[Floats, Floats, Floats, float]:
            normal = np.maximum(self.normal + self._t @ (x - wrench), 0)
            force, gain, slope = self._friction(self._u + self._s @ (x - wrench), normal)
            return x - force, gain, slope, float((x - force) @ self._s @ (x - force))

        # What sticks goes on as in the step before: there friction is linear, and one Newton step is enough.
        size = len(wrench)
        small = 1e-9 * np.trace(self._s) / size * np.eye(size)
        x = wrench + np.linalg.solve(self._s + small, twist - self._u)
        now = evaluate(x)
        if not now[3] < start[3]:
            x, now = wrench, start
        for _ in range(_MOST_NEWTON):
            error, gain, slope, energy = now
            if self._size(error, gain, self.normal) < 0.1 * _TOLERANCE:
                break
            full = np.linalg.solve(np.eye(size) - gain @ self._s - slope @ self._t, -error)
            share = 1.0
            for _ in range(_MOST_HALVINGS):
                now = evaluate(x + share * full)
                if now[3] < energy:
                    break
                share *= 0.5
            x = x + share * full
        return x

    def _friction(self, twist: Floats, normal: Floats) -> tuple[Floats, Floats, Floats]:
        """Wrenches (3 pads,) under normal forces, and their derivatives over twists and normal forces."""
        n = len(normal)
        wrench, gain = self._batch.respond(twist.reshape(-1, 3))
        wrench, gain = wrench / self._told[:, None], gain / self._told[:, None, None]
        blocks, slope = np.zeros((n, 3, n, 3)), np.zeros((n, 3, n))
        for k in range(n):
            blocks[k, :, k] = normal[k] * gain[k]
            slope[k, :, k] = wrench[k]
        return (normal[:, None] * wrench).reshape(-1), blocks.reshape(3 * n, 3 * n), slope.reshape(3 * n, n)

    @staticmethod
    def _size(error: Floats, gain: Floats, normal: Floats) -> float:
        """An error of wrenches over the largest normal force; of moments over the arm at which friction acts."""
        diagonal = np.abs(np.diag(gain)).reshape(-1, 3)
        along, about = diagonal[:, 0], diagonal[:, 2]
        arm = np.sqrt(np.divide(about, along, out=np.ones_like(about), where=(along > 0) & (about > 0)))
        each = np.abs(error.reshape(-1, 3))
        return float(max(each[:, :2].max(), (each[:, 2] / arm).max()) / max(normal.max(), _LEAST_FORCE))


def _jacobian(model: Any, data: Any, pads: Sequence[_Pad]) -> Floats:
    """(3 pads, nv): rows that give the twist of each object against its pad, at the site in its axes."""
    rows = np.zeros((len(pads), 3, model.nv))
    along, about = np.zeros((3, model.nv)), np.zeros((3, model.nv))
    for row, pad in zip(rows, pads, strict=True):
        axes = data.site_xmat[pad.site].reshape(3, 3).T
        for body, sign in ((pad.object, 1.0), (pad.body, -1.0)):
            _mujoco.mj_jac(model, data, along, about, data.site_xpos[pad.site], body)
            row[:2] += sign * (axes[:2] @ along)
            row[2] += sign * (axes[2] @ about)
    return rows.reshape(-1, model.nv)


def _contacts(model: Any, data: Any, pads: Sequence[_Pad]) -> list[list[int]]:
    """Rows of the constraints that press each pad."""
    found: list[list[int]] = [[] for _ in pads]
    bodies = model.geom_bodyid
    for i in range(data.ncon):
        contact = data.contact[i]
        for geom, other in (contact.geom, contact.geom[::-1]):
            for k, pad in enumerate(pads):
                if geom in pad.geoms and other >= 0 and bodies[other] == pad.object and contact.efc_address >= 0:
                    if contact.dim > 1:
                        raise _own_friction(model, int(geom), int(other), int(contact.dim))
                    found[k].append(int(contact.efc_address))
    return found


def _pads(model: Any, object: str | Sequence[str], pads: Sequence[str], geoms: Sequence[str] | None) -> list[_Pad]:
    """The pads by their names."""
    objects = [object] * len(pads) if isinstance(object, str) else list(object)
    for field, names in (("object", objects), ("geoms", geoms)):
        if names is not None and len(names) != len(pads):
            raise ParameterError(field, f"{len(names)} names", f"{len(pads)}, one for each pad")
    if not pads:
        raise ParameterError("pads", shown(pads), "the name of at least one site")
    kinds = _mujoco.mjtObj
    sites = [_id(model, kinds.mjOBJ_SITE, f"pads[{k}]", name) for k, name in enumerate(pads)]
    bodies = [int(model.site_bodyid[site]) for site in sites]
    field = "object" if isinstance(object, str) else "object[{}]"
    touched = [_id(model, kinds.mjOBJ_BODY, field.format(k), name) for k, name in enumerate(objects)]
    between = [frozenset(pair) for pair in zip(bodies, touched, strict=True)]
    made: list[_Pad] = []
    for k, (site, body, other) in enumerate(zip(sites, bodies, touched, strict=True)):
        if body == other:
            raise ParameterError(f"pads[{k}]", shown(pads[k]), "a site of another body than the object")
        own = range(model.body_geomadr[body], model.body_geomadr[body] + model.body_geomnum[body])
        if geoms is not None:
            chosen = [_id(model, kinds.mjOBJ_GEOM, f"geoms[{k}]", geoms[k])]
            if chosen[0] not in own:
                raise ParameterError(f"geoms[{k}]", shown(geoms[k]), "a geom of the pad's body")
        elif between.count(between[k]) > 1 and len(own) > 0:
            chosen = [min(own, key=lambda geom: _distance(model, site, geom))]
        else:
            chosen = list(own)
        made.append(_Pad(site, body, other, frozenset(chosen)))
    _check_shared(pads, made, between)
    return made


def _check_shared(names: Sequence[str], pads: Sequence[_Pad], between: Sequence[frozenset[int]]) -> None:
    """No two pads take the normal force of one contact."""
    for k, pad in enumerate(pads):
        for j in range(k):
            if between[k] == between[j] and (pad.body != pads[j].body or pad.geoms & pads[j].geoms):
                value = f"{shown(names[j])} and {shown(names[k])}, which the same contacts press"
                raise ParameterError("pads", value, "one pad for each geom (`geoms` names them)")


def _distance(model: Any, site: int, geom: int) -> float:
    """From a site to the box around a geom of its body [m]."""
    axes = np.zeros(9)
    _mujoco.mju_quat2Mat(axes, model.geom_quat[geom])
    at = axes.reshape(3, 3).T @ (model.site_pos[site] - model.geom_pos[geom])
    middle, half = model.geom_aabb[geom][:3], model.geom_aabb[geom][3:]
    return float(np.linalg.norm(np.maximum(np.abs(at - middle) - half, 0)))


def _check_geoms(model: Any, k: int, pad: _Pad) -> None:
    """A pad can touch its object, and MuJoCo adds no friction of its own where it does."""
    first, count = model.body_geomadr[pad.object], model.body_geomnum[pad.object]
    pairs = [(geom, other) for geom in sorted(pad.geoms) for other in range(first, first + count)]
    touching = [(*pair, dim) for pair in pairs if (dim := _dim(model, *pair)) > 0]
    if not touching:
        raise ParameterError(f"pads[{k}]", "a site whose body cannot touch the object", "geoms that collide")
    for geom, other, dim in touching:
        if dim > 1:
            raise _own_friction(model, geom, other, dim)


def _dim(model: Any, a: int, b: int) -> int:
    """``condim`` of the contacts of two geoms; 0 if they do not collide."""
    for pair in range(model.npair):
        if {int(model.pair_geom1[pair]), int(model.pair_geom2[pair])} == {a, b}:
            return int(model.pair_dim[pair])
    one, two = model.geom_contype, model.geom_conaffinity
    if not (one[a] & two[b] or one[b] & two[a]):
        return 0
    first, second = model.geom_priority[a], model.geom_priority[b]
    dims = model.geom_condim
    return int(max(dims[a], dims[b]) if first == second else dims[a if first > second else b])


def _own_friction(model: Any, geom: int, other: int, dim: int) -> ParameterError:
    names = [_mujoco.mj_id2name(model, _mujoco.mjtObj.mjOBJ_GEOM, g) or f"geom {g}" for g in (geom, other)]
    return ParameterError("condim", f"{dim} between {names[0]} and {names[1]}", "1, so that MuJoCo adds no friction")


def _id(model: Any, kind: Any, field: str, name: str) -> int:
    found = int(_mujoco.mj_name2id(model, kind, name)) if isinstance(name, str) else -1
    if found < 0:
        what = {int(_mujoco.mjtObj.mjOBJ_BODY): "body", int(_mujoco.mjtObj.mjOBJ_SITE): "site"}.get(int(kind), "geom")
        raise ParameterError(field, shown(name), f"the name of a {what} of the model")
    return found

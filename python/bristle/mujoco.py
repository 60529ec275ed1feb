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
from weakref import WeakValueDictionary

import mujoco as _mujoco
import numpy as np

from . import _bristle, _mujoco_abi
from ._arguments import integer, listed
from ._arrays import Floats, shown
from .batch import Batch
from .errors import ParameterError
from .scenario import Scenario, checked

#: Euler and implicitfast, also in the native part.
_INTEGRATORS = (int(_mujoco.mjtIntegrator.mjINT_EULER), int(_mujoco.mjtIntegrator.mjINT_IMPLICITFAST))
_SLEEP = int(_mujoco.mjtEnableBit.mjENBL_SLEEP)
_MOST_STEPS = 2**31
#: Largest error of the friction of a patch after a step that it takes by itself, as a share of the Coulomb friction.
_TOLERANCE = 1e-3
#: Who steps data, by their addresses. Each keeps its data, so that an address is not used anew meanwhile.
_STEPPED: WeakValueDictionary[int, PatchFriction] = WeakValueDictionary()


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
        scenario: of kind ``prescribed``: patches and friction of the pads; contact k of it is pad k. Its ``step`` has
            no effect, as a patch chooses its own steps within each step of the model, nor has ``inputs.twist.at``: the
            twist is that at the site.
        object: name of the body that all pads touch, or a name for each pad.
        pads: names of sites.
        geoms: names of geoms, one a pad, whose contacts alone press it. By default the geom of the body that is
            nearest to the site if several pads share both bodies, else all geoms of the body.

    Attributes:
        batch: the patches as a :class:`bristle.Batch`, whose ``slip`` and ``wrench`` may be read between steps.

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
        if not isinstance(model, _mujoco.MjModel):
            raise ParameterError("model", shown(model), "a mujoco.MjModel")
        if "twist.vx" not in checked(scenario).inputs:
            raise ParameterError("scenario", scenario.name, 'one with body.kind = "prescribed"')
        if model.nv == 0:
            raise ParameterError("model", "no degree of freedom", "a model in which something moves")
        self._model = model
        self._dt = float(model.opt.timestep)
        self._check_options()
        self._pads = _pads(model, object, pads, geoms)
        for k, pad in enumerate(self._pads):
            _check_geoms(model, k, pad)
        changes = [f"step={_step(scenario, self._dt)}", 'inputs.twist.at="origin"']
        once = Scenario.from_toml(scenario.text, scenario._base, changes, scenario.name)
        self.batch = Batch(once, len(self._pads), self._dt, device="cpu")
        # A call that is refused must not take the batch back to before its start.
        self.batch.time  # noqa: B018
        self._sparse = int(_mujoco.mj_isSparse(model))
        layout = _mujoco_abi.layout() | {"is_sparse": self._sparse, "sleep": _SLEEP}
        pads_ = [(pad.site, pad.body, pad.object, sorted(pad.geoms)) for pad in self._pads]
        bodies = model.geom_bodyid.tolist()
        self._coupling = _bristle.Coupling(self.batch._core, _mujoco_abi.functions(), layout, pads_, bodies, self._dt)
        self._inside = False
        self._data: Any = None

    def __enter__(self) -> PatchFriction:
        if self._inside:
            raise ParameterError("with", "a friction that is in its context", "one `with` at a time")
        self._check_options()
        self._inside = True
        return self

    def __exit__(self, *_: object) -> None:
        self._inside = False
        self._release()

    def __copy__(self) -> PatchFriction:
        raise TypeError("a PatchFriction is no value: make another one of the model and its scenario")

    @property
    def normal_force(self) -> Floats:
        """(pads,): normal forces of the last step [N]."""
        return self._coupling.normal_force()

    @property
    def wrench(self) -> Floats:
        """(pads, 3): wrenches of the last step on the objects at the sites, in their axes [N, N, N m]."""
        return self._coupling.wrench()

    @property
    def unconverged(self) -> int:
        """Steps since the reset whose friction is off by more than 1e-5 of the normal force."""
        return self._coupling.counts()[3]

    def reset(self) -> None:
        """Puts the patches back to their start, without load, as after ``mj_resetData``."""
        self.batch.reset()
        self._coupling.reset()

    def step(self, data: Any, steps: int = 1) -> None:
        """Advances MuJoCo and the patches by a step of the model, inside ``with``, in place of ``mj_step``.

        Python's lock is free meanwhile. Ctrl-C ends the call between two steps.

        Args:
            data: an ``mujoco.MjData`` of the model.
            steps: how many steps, under the same controls.

        Raises:
            ParameterError: outside of ``with``; data of another model, or that another PatchFriction steps; another
                integrator or timestep than at first; a contact between a pad and its object that has friction of
                MuJoCo's own. Then the state is that before the step.
            DeviceError: an error of a patch, or of MuJoCo, such as too little memory in the model's arena. An exception
                in a function of Python that MuJoCo calls (``set_mjcb_control``) ends the process instead.
        """
        if not self._inside:
            raise ParameterError("step", "a call outside of the context", "a call within `with friction:`")
        if data is None or data is not self._data:
            self._take(data)
        if _mujoco.mj_isSparse(self._model) != self._sparse:
            raise ParameterError("jacobian", "another than at first", "no change between sparse and dense")
        self._coupling.step(self._model._address, data._address, integer("steps", steps, 1, _MOST_STEPS))

    def _take(self, data: Any) -> None:
        """Data that are stepped from now on, until the end of the context."""
        if not isinstance(data, _mujoco.MjData) or data.model is not self._model:
            raise ParameterError("data", shown(data), "an MjData of the model")
        if _STEPPED.get(data._address, self) is not self:
            raise ParameterError("data", "data that another PatchFriction steps", "one PatchFriction for all pads")
        self._release()
        self._data = data
        _STEPPED[data._address] = self

    def _release(self) -> None:
        if self._data is not None:
            _STEPPED.pop(self._data._address, None)
        self._data = None

    def _check_options(self) -> None:
        option = self._model.opt
        if int(option.integrator) not in _INTEGRATORS:
            name = _mujoco.mjtIntegrator(option.integrator).name
            raise ParameterError("integrator", name, "Euler or implicitfast")
        if float(option.timestep) != self._dt:
            raise ParameterError("timestep", option.timestep, f"{self._dt}, as at first")
        if option.enableflags & _SLEEP:
            raise ParameterError("sleep", "enabled", "a model whose bodies do not sleep")


def _step(scenario: Scenario, dt: float) -> str:
    """How the patches step through ``dt`` after their twists are known.

    A step of second order extrapolates from within it. If it is as long as ``dt``, a bristle that breaks loose comes
    to up to twice its limit. At rest it stays there, its friction falls steeply along the load, and long steps of the
    body rest at the top. A tolerance leaves no bristle beyond its limit. A point contact has none; its steps are of
    first order and do not extrapolate.
    """
    if scenario._core.is_point:
        return repr(dt)
    return f"{{ tolerance = {_TOLERANCE}, longest = {dt!r} }}"


def _pads(model: Any, object: str | Sequence[str], pads: Sequence[str], geoms: Sequence[str] | None) -> list[_Pad]:
    """The pads by their names."""
    pads = listed("pads", pads, "a list of names of sites")
    geoms = None if geoms is None else listed("geoms", geoms, "a list of names of geoms, or None")
    of_each = "the name of a body, or a list of one for each pad"
    objects = [object] * len(pads) if isinstance(object, str) else listed("object", object, of_each)
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

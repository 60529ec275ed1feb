"""Friction of contact patches inside MuJoCo.

MuJoCo keeps the normal forces. bristle adds the tangential force and the torsional moment of each patch
through the passive-force callback. It solves for the object's twist and the friction at the end of a step
together, by the wrench and its derivative from :meth:`bristle.Batch.respond`. A contact is stiff (millions of
newtons a metre), and explicit coupling in steps of 2 ms explodes.

It needs the package ``mujoco`` (``pip install 'bristle[mujoco]'``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mujoco as _mujoco
import numpy as np

from ._arrays import Floats, shown
from .batch import Batch
from .errors import ParameterError
from .scenario import Scenario

#: Most Newton steps of a time step of the simulator, and most halvings of one of them.
_MOST_NEWTON, _MOST_HALVINGS = 30, 12
#: Largest error of the end-of-step momentum, as the energy of the velocity error [J].
_ENERGY = 1e-18


class PatchFriction:
    """Friction between an object and the pads that hold it, one patch a pad.

    A pad is a site of the model: the patch lies in its xy plane, centred on it, fixed to the body of the site. Contacts
    between the pads' geoms and the object must have ``condim="1"``, so that MuJoCo leaves their friction alone.

    >>> friction = PatchFriction(model, scenario, object="box", pads=["left", "right"])
    >>> with friction:
    ...     for _ in range(1000):
    ...         friction.step(data)

    Friction acts on the object and, opposite, on the pads. Normal forces are taken from MuJoCo's contacts
    after the step before, so that they lag by one step. Other forces are taken at the start of the step, and
    forces of actuators and constraints from the step before: their change over one step is coupled
    explicitly.

    Args:
        model: an ``mujoco.MjModel``; steps with ``integrator`` Euler or implicitfast.
        scenario: of kind ``prescribed``, with ``inputs.twist.at = "origin"``: patch, friction and tolerance of the
            pads; contact k of it is pad k.
        object: name of the body that is held.
        pads: names of sites.

    Attributes:
        batch: the patches as a :class:`bristle.Batch`, whose ``slip`` and ``wrench`` may be read between steps.
        normal_force: (pads,) of the step before [N].

    Raises:
        ParameterError: a name that the model does not have, or a scenario of another kind.
    """

    def __init__(self, model: Any, scenario: Scenario, object: str, pads: Sequence[str]) -> None:
        if "twist.vx" not in scenario.inputs:
            raise ParameterError("scenario", scenario.name, 'one with body.kind = "prescribed"')
        self._model = model
        self._object = _id(model, _mujoco.mjtObj.mjOBJ_BODY, "object", object)
        self._sites = [_id(model, _mujoco.mjtObj.mjOBJ_SITE, f"pads[{k}]", name) for k, name in enumerate(pads)]
        self._bodies = [int(model.site_bodyid[site]) for site in self._sites]
        self._dt = float(model.opt.timestep)
        self.batch = Batch(scenario, len(self._sites), self._dt, device="cpu")
        self.normal_force: Floats = np.zeros(len(self._sites))
        self._rows: Floats = np.zeros((len(self._sites), 3, model.nv))
        self._fault: BaseException | None = None

    def __enter__(self) -> PatchFriction:
        _mujoco.set_mjcb_passive(self._passive)
        return self

    def __exit__(self, *_: object) -> None:
        _mujoco.set_mjcb_passive(None)

    def step(self, data: Any) -> None:
        """Advances MuJoCo and the patches by one step of the model, inside ``with``.

        Raises:
            DeviceError, ParameterError: an error of a patch in the callback; then the step is not complete.
        """
        _mujoco.mj_step(self._model, data)
        if self._fault is not None:
            fault, self._fault = self._fault, None
            raise fault
        self.normal_force = self._normal_forces(data)
        self._jacobian(data)
        self.batch.step({"normal_force": self.normal_force, "twist": self._rows @ data.qvel})

    def _normal_forces(self, data: Any) -> Floats:
        """Normal force of each pad [N]: the sum over the contacts of its body with the object."""
        force, sums = np.zeros(6), np.zeros(len(self._sites))
        bodies = self._model.geom_bodyid
        for i in range(data.ncon):
            pair = {int(bodies[geom]) for geom in data.contact[i].geom}
            if self._object in pair and len(pair) == 2:
                for k, body in enumerate(self._bodies):
                    if body in pair:
                        _mujoco.mj_contactForce(self._model, data, i, force)
                        sums[k] += force[0]
        return sums

    def _jacobian(self, data: Any) -> None:
        """Rows that give the twist of the object against each pad, at the site in its axes."""
        for k, (site, body) in enumerate(zip(self._sites, self._bodies, strict=True)):
            axes = data.site_xmat[site].reshape(3, 3).T
            both = []
            for moved in (self._object, body):
                along, about = np.zeros((3, self._model.nv)), np.zeros((3, self._model.nv))
                _mujoco.mj_jac(self._model, data, along, about, data.site_xpos[site], moved)
                both.append(np.vstack([axes[:2] @ along, axes[2:] @ about]))
            self._rows[k] = both[0] - both[1]

    def _passive(self, model: Any, data: Any) -> None:
        """Adds friction to the passive forces. MuJoCo prints errors of a callback, so they are raised later."""
        if model is not self._model and model.nv != self._model.nv:
            return
        try:
            self._jacobian(data)
            rows = self._rows.reshape(-1, model.nv)
            data.qfrc_passive += rows.T @ self._implicit(model, data, rows)
        except BaseException as fault:
            self._fault = fault

    def _implicit(self, model: Any, data: Any, rows: Floats) -> Floats:
        """The wrenches (3 pads,) at the end of the step, where the velocity v solves ``M (v - free) = dt J^T W(J v)``.

        Newton's method. The kinetic energy of the error falls along its direction, so that a step that does not lower
        it is halved.
        """
        bias, mass = np.zeros(model.nv), np.zeros((model.nv, model.nv))
        _mujoco.mj_rne(model, data, 0, bias)
        _mujoco.mj_fullM(model, data, mass)
        other = data.qfrc_passive + data.qfrc_applied + data.qfrc_actuator - bias
        inverse = np.linalg.inv(mass)
        free = data.qvel + self._dt * (inverse @ other)

        def evaluate(v: Floats) -> tuple[Floats, Floats, Floats, float]:
            wrench, gain = self.batch.respond((rows @ v).reshape(-1, 3))
            force = wrench.reshape(-1)
            blocks = np.zeros((force.size, force.size))
            for k, block in enumerate(gain):
                blocks[3 * k : 3 * k + 3, 3 * k : 3 * k + 3] = block
            residual = mass @ (v - free) - self._dt * (rows.T @ force)
            return force, blocks, residual, float(residual @ inverse @ residual)

        v = data.qvel.copy()
        now = evaluate(v)
        for _ in range(_MOST_NEWTON):
            _, blocks, residual, energy = now
            if energy < _ENERGY:
                break
            full = np.linalg.solve(mass - self._dt * rows.T @ blocks @ rows, -residual)
            share = 1.0
            for _ in range(_MOST_HALVINGS):
                now = evaluate(v + share * full)
                if now[3] < energy:
                    break
                share *= 0.5
            v = v + share * full
        return now[0]


def _id(model: Any, kind: Any, field: str, name: str) -> int:
    found = int(_mujoco.mj_name2id(model, kind, name))
    if found < 0:
        what = "body" if kind == _mujoco.mjtObj.mjOBJ_BODY else "site"
        raise ParameterError(field, shown(name), f"the name of a {what} of the model")
    return found

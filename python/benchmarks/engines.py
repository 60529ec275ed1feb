"""Eight tests of a pad under friction, with known answers, in bristle and in other engines: errors and cost.

    target/python/env/bin/python python/benchmarks/engines.py [--engine NAME ..] [--test NAME ..] [--json FILE]

The pad is a disc of 10 mm with even pressure on a body that moves in a plane. Engines that have points of contact have
one, with the torsional friction that ``bristle torsion`` prints for the disc. MuJoCo is in the requirements of the
tests; PyBullet, Drake and Genesis are left out unless they are installed (docs/engines.md has versions and settings).
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import importlib.metadata
import json
import math
import time
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

MASS, RADIUS = 0.2, 0.01
#: Of a disc of 6 cm.
INERTIA = MASS * 0.03**2 / 2
#: Friction torque of pure rotation over mu f_n: 2/3 of the radius.
TORSION = 2 / 3 * RADIUS
MU, GRIP = 0.5, 4.0
GRAVITY = 9.81
#: Stiffness and damping of bristles per normal force [1/m, s/m]: those of the paper's table.
SIGMA0, SIGMA1 = 1e6, 8e2


@dataclasses.dataclass
class Run:
    """What moves: loads (fx, fy, tau) at the centre of mass and normal forces at times, a start, and coefficients."""

    seconds: float
    load: Callable[[Floats], Floats]
    grip: Callable[[Floats], Floats] = lambda t: np.full_like(t, GRIP)
    twist: tuple[float, float, float] = (0.0, 0.0, 0.0)
    #: The pad's place, from the centre of mass [m].
    offset: float = 0.0
    mu: float = MU
    #: Static coefficient; as ``mu`` if None.
    mu_s: float | None = None


class Engine(Protocol):
    """An engine that runs a pad: poses (x, y, theta) and twists at the ends of all steps, the start first."""

    name: str
    dt: float

    def __call__(self, run: Run) -> tuple[Floats, Floats]:
        """What the body does in a run."""
        ...


def times(run: Run, dt: float) -> Floats:
    """The starts of all steps."""
    return np.arange(round(run.seconds / dt)) * dt


class Bristle:
    """A grid of 21 x 21 bristles, or one reduced bristle on the limit surface."""

    dt = 2e-3

    def __init__(self, model: str) -> None:
        self.model = model
        self.name = f"bristle, {model}"

    def batch(self, run: Run, n: int = 1) -> Any:
        """Pads at the start of a run."""
        import bristle

        text = f"""
            duration = {run.seconds}
            step = {{ tolerance = 1e-6 }}
            contact = {{ model = "{self.model}" }}
            [patch]
            shape = "disc"
            size = {2 * RADIUS}
            [friction]
            mu_c = {run.mu}
            mu_s = {run.mu if run.mu_s is None else run.mu_s}
            sigma0 = {SIGMA0}
            sigma1 = {SIGMA1}
            sigma2 = 0
            [body]
            kind = "body"
            mass = {MASS}
            inertia = {INERTIA}
            offset = [{run.offset}, 0]
            [initial]
            twist = {list(run.twist)}
            [inputs]
            normal_force = {GRIP}
            wrench = {{ fx = 0, fy = 0, tau = 0 }}
        """
        return bristle.Batch(bristle.Scenario.from_toml(text), n, self.dt, device="cpu")

    def controls(self, run: Run) -> dict[str, Floats]:
        """The inputs of a run."""
        t = times(run, self.dt)
        return {"normal_force": run.grip(t)[np.newaxis], "wrench": run.load(t)[np.newaxis]}

    def rollout(self, run: Run, n: int) -> Callable[[], object]:
        """What runs `n` pads at once."""
        batch, controls = self.batch(run, n), self.controls(run)
        steps = len(times(run, self.dt))
        return lambda: batch.rollout(steps, controls, every=steps)

    def __call__(self, run: Run) -> tuple[Floats, Floats]:
        """What the body does in a run."""
        controls = self.controls(run)
        out = self.batch(run).rollout(len(times(run, self.dt)), controls, record=("pose", "twist"))
        return out["pose"][0], out["twist"][0]


class MuJoCo:
    """One contact of ``condim`` 4 with elliptic cones."""

    dt = 2e-3

    def __init__(self, noslip: int) -> None:
        self.noslip = noslip
        self.name = "MuJoCo, no-slip" if noslip else "MuJoCo"

    def __call__(self, run: Run) -> tuple[Floats, Floats]:
        """What the body does in a run."""
        import mujoco

        model = mujoco.MjModel.from_xml_string(f"""
            <mujoco>
              <option timestep="{self.dt}" cone="elliptic" impratio="10" gravity="0 0 0" integrator="implicitfast"
                      noslip_iterations="{self.noslip}"/>
              <default><geom condim="4" friction="{run.mu} {run.mu * TORSION} 0"/></default>
              <worldbody>
                <geom type="plane" size="10 10 1"/>
                <body pos="0 0 0.02">
                  <joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 1 0"/><joint type="slide" axis="0 0 1"/>
                  <joint type="hinge" axis="0 0 1"/>
                  <inertial pos="0 0 0" mass="{MASS}" diaginertia="{INERTIA} {INERTIA} {INERTIA}"/>
                  <geom type="sphere" size="0.02" pos="{run.offset} 0 0"/>
                </body>
              </worldbody>
            </mujoco>""")
        data = mujoco.MjData(model)
        t = times(run, self.dt)
        loads, grips = run.load(t), run.grip(t)
        data.qfrc_applied[2] = -grips[0]
        for _ in range(250):
            mujoco.mj_step(model, data)
        data.qpos[[0, 1, 3]], data.qvel[[0, 1, 3]] = 0, run.twist
        rows = [(data.qpos.copy(), data.qvel.copy())]
        for load, grip in zip(loads, grips, strict=True):
            data.qfrc_applied[:] = [load[0], load[1], -grip, load[2]]
            mujoco.mj_step(model, data)
            rows.append((data.qpos.copy(), data.qvel.copy()))
        poses, twists = (np.array(of)[:, [0, 1, 3]] for of in zip(*rows, strict=True))
        return poses, twists


class PyBullet:
    """One contact of a sphere with ``spinningFriction``, in the steps of 1/240 s that its guide advises."""

    name = "PyBullet"
    dt = 1 / 240

    def __call__(self, run: Run) -> tuple[Floats, Floats]:
        """What the body does in a run."""
        import pybullet as p

        client = p.connect(p.DIRECT)
        try:
            return self._run(p, run)
        finally:
            p.disconnect(client)

    def _run(self, p: Any, run: Run) -> tuple[Floats, Floats]:
        p.setPhysicsEngineParameter(fixedTimeStep=self.dt)
        plane = p.createMultiBody(0, p.createCollisionShape(p.GEOM_PLANE))
        p.changeDynamics(plane, -1, lateralFriction=1, spinningFriction=0, rollingFriction=0)
        # Links of joints along x, y and z without shapes, and of a joint about z with the body.
        sphere = p.createCollisionShape(p.GEOM_SPHERE, radius=0.02, collisionFramePosition=[run.offset, 0, 0])
        light, zero, none = 1e-6, [0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]
        body = p.createMultiBody(
            0,
            basePosition=[0, 0, 0.02],
            linkMasses=[light, light, light, MASS],
            linkCollisionShapeIndices=[-1, -1, -1, sphere],
            linkVisualShapeIndices=[-1] * 4,
            linkPositions=[zero] * 4,
            linkOrientations=[none] * 4,
            linkInertialFramePositions=[zero] * 4,
            linkInertialFrameOrientations=[none] * 4,
            linkParentIndices=[0, 1, 2, 3],
            linkJointTypes=[p.JOINT_PRISMATIC] * 3 + [p.JOINT_REVOLUTE],
            linkJointAxis=[[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 1]],
        )
        joints = range(4)
        for j in joints:
            p.setJointMotorControl2(body, j, p.VELOCITY_CONTROL, force=0)
            p.changeDynamics(body, j, linearDamping=0, angularDamping=0, jointDamping=0)
        p.changeDynamics(
            body,
            3,
            lateralFriction=run.mu,
            spinningFriction=run.mu * TORSION,
            rollingFriction=0,
            localInertiaDiagonal=[INERTIA] * 3,
        )
        t = times(run, self.dt)
        loads, grips = run.load(t), run.grip(t)

        def step(load: Floats, grip: float) -> None:
            for j, force in zip(joints, (load[0], load[1], -grip, load[2]), strict=True):
                p.setJointMotorControl2(body, j, p.TORQUE_CONTROL, force=float(force))
            p.stepSimulation()

        for _ in range(120):
            step(np.zeros(3), grips[0])
        for j, speed in zip((0, 1, 3), run.twist, strict=True):
            p.resetJointState(body, j, 0, speed)
        rows = [p.getJointStates(body, (0, 1, 3))]
        for load, grip in zip(loads, grips, strict=True):
            step(load, grip)
            rows.append(p.getJointStates(body, (0, 1, 3)))
        state = np.array([[of[:2] for of in row] for row in rows])
        return state[:, :, 0], state[:, :, 1]


class Drake:
    """A hydroelastic cylinder on a rigid half space, with the lagged approximation of friction."""

    name = "Drake"
    dt = 2e-3

    def __call__(self, run: Run) -> tuple[Floats, Floats]:
        """What the body does in a run."""
        from pydrake.all import (
            AddCompliantHydroelasticProperties,
            AddContactMaterial,
            AddMultibodyPlant,
            AddRigidHydroelasticProperties,
            CoulombFriction,
            Cylinder,
            DiagramBuilder,
            HalfSpace,
            MultibodyPlantConfig,
            PlanarJoint,
            PrismaticJoint,
            ProximityProperties,
            RigidTransform,
            Simulator,
            SpatialInertia,
            UnitInertia,
        )

        builder = DiagramBuilder()
        config = MultibodyPlantConfig(
            time_step=self.dt, contact_model="hydroelastic", discrete_contact_approximation="lagged"
        )
        plant, _ = AddMultibodyPlant(config, builder)
        plant.mutable_gravity_field().set_gravity_vector([0, 0, 0])
        rigid, soft = ProximityProperties(), ProximityProperties()
        AddRigidHydroelasticProperties(rigid)
        AddCompliantHydroelasticProperties(resolution_hint=2e-3, hydroelastic_modulus=1e6, properties=soft)
        for properties in (rigid, soft):
            AddContactMaterial(friction=CoulombFriction(run.mu, run.mu), properties=properties)
        plant.RegisterCollisionGeometry(plant.world_body(), RigidTransform(), HalfSpace(), "table", rigid)
        lift = plant.AddRigidBody("lift", SpatialInertia(1e-3, np.zeros(3), UnitInertia(1e-4, 1e-4, 1e-4)))
        inertia = INERTIA / MASS
        body = plant.AddRigidBody("body", SpatialInertia(MASS, np.zeros(3), UnitInertia(inertia, inertia, inertia)))
        place = RigidTransform([run.offset, 0, 0])
        plant.RegisterCollisionGeometry(body, place, Cylinder(RADIUS, 0.01), "pad", soft)
        world = plant.world_frame()
        up = plant.AddJoint(PrismaticJoint("up", world, lift.body_frame(), [0, 0, 1]))
        plane = plant.AddJoint(PlanarJoint("plane", lift.body_frame(), body.body_frame(), np.zeros(3)))
        plant.Finalize()
        simulator = Simulator(builder.Build())
        root = simulator.get_mutable_context()
        context = plant.GetMyMutableContextFromRoot(root)
        up.set_translation(context, 0.005)
        port = plant.get_applied_generalized_force_input_port()
        first = plane.velocity_start()
        forces = np.zeros(plant.num_velocities())

        def step(load: Floats, grip: float) -> None:
            forces[up.velocity_start()] = -grip
            forces[first : first + 3] = load
            port.FixValue(context, forces)
            # To the middle of an interval: one update of the discrete state, whatever the rounding of times.
            simulator.AdvanceTo((math.floor(root.get_time() / self.dt) + 1.5) * self.dt)

        def state() -> tuple[Floats, Floats]:
            turn, moves = plane.get_rotation(context), plane.get_translation(context)
            spin, speeds = plane.get_angular_velocity(context), plane.get_translational_velocity(context)
            return np.array([*moves, turn]), np.array([*speeds, spin])

        t = times(run, self.dt)
        loads, grips = run.load(t), run.grip(t)
        for _ in range(250):
            step(np.zeros(3), grips[0])
        plane.set_pose(context, np.zeros(2), 0.0)
        plane.set_translational_velocity(context, np.array(run.twist[:2]))
        plane.set_angular_velocity(context, run.twist[2])
        rows = [state()]
        for load, grip in zip(loads, grips, strict=True):
            step(load, grip)
            rows.append(state())
        poses, twists = (np.array(of) for of in zip(*rows, strict=True))
        return poses, twists


@functools.cache
def genesis() -> Any:
    """The module of Genesis, which may be started once."""
    import genesis as gs

    gs.init(backend=gs.cpu, performance_mode=True, logging_level="error")
    return gs


class Genesis:
    """One contact of a sphere with torsional friction: with elliptic cones, or with pyramids and no-slip."""

    dt = 2e-3

    def __init__(self, kind: str = "") -> None:
        self.kind = kind
        self.name = f"Genesis, {kind}" if kind else "Genesis"
        #: Scenes with their bodies, kept because the kernels of one take more than a minute to compile.
        self.scenes: dict[tuple[float, float, int], tuple[Any, Any]] = {}

    def start(self, run: Run, n: int = 1) -> tuple[Any, Any]:
        """A scene of `n` pads and their body at the start of a run."""
        key = run.offset, run.mu, n
        if key not in self.scenes:
            self.scenes[key] = self._build(genesis(), run, n)
        scene, body = self.scenes[key]
        scene.reset()
        force = np.array([[0, 0, -run.grip(np.zeros(1))[0], 0]])
        for _ in range(250):
            body.control_dofs_force(force.repeat(n, axis=0))
            scene.step()
        body.set_dofs_position(np.zeros((n, 3)), [0, 1, 3])
        body.set_dofs_velocity(np.tile(run.twist, (n, 1)), [0, 1, 3])
        return scene, body

    def _build(self, gs: Any, run: Run, n: int) -> tuple[Any, Any]:
        options: dict[str, Any] = {"noslip_iterations": 5}
        if self.kind != "no-slip":
            options = {"friction_cone": gs.friction_cone.elliptic}
        if self.kind == "convex":
            options["contact_resolution"] = gs.contact_resolution.convex
        scene = gs.Scene(
            sim_options=gs.options.SimOptions(dt=self.dt, gravity=(0, 0, 0)),
            rigid_options=gs.options.RigidOptions(enable_torsional_friction=True, **options),
            show_viewer=False,
        )
        # Of two touching shapes the larger coefficients count.
        both = {"friction": run.mu, "friction_torsional": run.mu * TORSION}
        scene.add_entity(gs.morphs.Plane(), material=gs.materials.Rigid(**both))
        shape = gs.morphs.MJCF(
            file=f"""
            <mujoco>
              <worldbody>
                <body pos="0 0 0.02">
                  <joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 1 0"/><joint type="slide" axis="0 0 1"/>
                  <joint type="hinge" axis="0 0 1"/>
                  <inertial pos="0 0 0" mass="{MASS}" diaginertia="{INERTIA} {INERTIA} {INERTIA}"/>
                  <geom type="sphere" size="0.02" pos="{run.offset} 0 0"/>
                </body>
              </worldbody>
            </mujoco>"""
        )
        body = scene.add_entity(shape, material=gs.materials.Rigid(**both))
        scene.build(n_envs=n)
        return scene, body

    def forces(self, run: Run) -> Floats:
        """Forces along and about the joints at the starts of all steps: [steps, 1, 4]."""
        t = times(run, self.dt)
        return np.insert(run.load(t), 2, -run.grip(t), axis=1)[:, np.newaxis]

    def __call__(self, run: Run) -> tuple[Floats, Floats]:
        """What the body does in a run."""
        scene, body = self.start(run)

        def state() -> tuple[Floats, Floats]:
            return body.get_dofs_position().numpy().copy(), body.get_dofs_velocity().numpy().copy()

        rows = [state()]
        for force in self.forces(run):
            body.control_dofs_force(force)
            scene.step()
            rows.append(state())
        poses, twists = (np.array(of, dtype=float)[:, 0, [0, 1, 3]] for of in zip(*rows, strict=True))
        return poses, twists

    def rollout(self, run: Run, n: int) -> Callable[[], object]:
        """What runs `n` pads at once."""
        scene, body = self.start(run, n)
        forces = self.forces(run)

        def rollout() -> None:
            for force in forces:
                body.control_dofs_force(force.repeat(n, axis=0))
                scene.step()

        return rollout


# Answers.


def rings(n: int = 24) -> tuple[Floats, Floats, Floats]:
    """Places and shares of an even disc: `n` rings of twice as many sectors."""
    rho = (np.arange(n) + 0.5) / n * RADIUS
    phi = (np.arange(2 * n) + 0.5) / (2 * n) * 2 * math.pi
    x, y = np.outer(rho, np.cos(phi)).ravel(), np.outer(rho, np.sin(phi)).ravel()
    share = np.repeat(rho, 2 * n)
    return x, y, share / share.sum()


def converged(run: Run, dt: float = 2e-5, slow: float = 1e-6) -> tuple[Floats, Floats]:
    """Pose and twist at the end under Coulomb's law in every point, with speeds rounded below `slow` [m/s].

    A step of backward Euler is the least of a convex function of the twist: kinetic energy of the change, and `dt`
    times the dissipation less the power of the load.
    """
    x, y, share = rings()
    pose, twist = np.zeros(3), np.array(run.twist, dtype=float)
    mass = np.diag([MASS, MASS, INERTIA])
    t = times(run, dt)
    for load, grip in zip(run.load(t), run.grip(t), strict=True):
        sin, cos = np.sin(pose[2]), np.cos(pose[2])
        # Arms from the centre of mass, axes of the world.
        ax, ay = cos * (x + run.offset) - sin * y, sin * (x + run.offset) + cos * y
        weight = dt * run.mu * grip * share
        twist = _least(twist, mass, dt * load, (ax, ay, weight), slow)
        pose = pose + dt * twist
    return pose, twist


def _least(start: Floats, mass: Floats, push: Floats, points: tuple[Floats, ...], slow: float) -> Floats:
    """The twist after a step, by Newton's method with steps that make the function less."""
    ax, ay, weight = points

    def value(u: Floats) -> float:
        speed = np.sqrt((u[0] - u[2] * ay) ** 2 + (u[1] + u[2] * ax) ** 2 + slow**2)
        change = u - start
        return float(change @ mass @ change / 2 - push @ u + weight @ speed)

    u = start.copy()
    for _ in range(100):
        vx, vy = u[0] - u[2] * ay, u[1] + u[2] * ax
        speed = np.sqrt(vx**2 + vy**2 + slow**2)
        scale = weight / speed
        fx, fy = scale * vx, scale * vy
        slope = mass @ (u - start) - push + np.array([fx.sum(), fy.sum(), (ax * fy - ay * fx).sum()])
        xx, xy, yy = scale * (1 - (vx / speed) ** 2), -scale * vx * vy / speed**2, scale * (1 - (vy / speed) ** 2)
        tx, ty = ax * xy - ay * xx, ax * yy - ay * xy
        turn = (ax * ty - ay * tx).sum()
        curve = np.array([[xx.sum(), xy.sum(), tx.sum()], [xy.sum(), yy.sum(), ty.sum()], [tx.sum(), ty.sum(), turn]])
        step = np.linalg.solve(mass + curve, slope)
        if np.abs(step[:2]).max() < 1e-4 * slow and abs(step[2]) * RADIUS < 1e-4 * slow:
            break
        here, length = value(u), 1.0
        while value(u - length * step) > here and length > 1e-6:
            length /= 2
        u = u - length * step
    return u


def held(angle: float) -> float:
    """Length of the load (fx, tau/TORSION)/(mu f_n) on the limit surface of the disc at an angle from the force."""
    x, y, share = rings(200)

    def wrench(distance: float) -> tuple[float, float]:
        speed = np.hypot(y - distance, x)
        return (share * (distance - y) / speed).sum(), (share * (x**2 + y * (y - distance)) / speed).sum() / TORSION

    if angle == 0:
        return 1.0
    low, high = 0.0, 1e3 * RADIUS
    for _ in range(80):
        middle = (low + high) / 2
        force, moment = wrench(middle)
        low, high = (middle, high) if math.atan2(moment, force) > angle else (low, middle)
    return math.hypot(*wrench((low + high) / 2))


# Tests: a name, what an error is, and a function of an engine.


def constant(fx: float, fy: float = 0.0, tau: float = 0.0) -> Callable[[Floats], Floats]:
    """A load that does not change."""
    return lambda t: np.tile([fx, fy, tau], (len(t), 1))


def along(size: Callable[[Floats], Floats]) -> Callable[[Floats], Floats]:
    """A force along x that changes."""
    return lambda t: np.outer(size(t), [1.0, 0.0, 0.0])


LIMIT = MU * GRIP


def creep(engine: Engine) -> float:
    """Speed of the last half of 4 s at half of the limit [um/s]; none is right."""
    poses, _ = engine(Run(4.0, constant(0.5 * LIMIT)))
    half = len(poses) // 2
    return 1e6 * abs(poses[-1, 0] - poses[half, 0]) / 2.0


def shaken(engine: Engine) -> float:
    """Speed over 4 s of a load of 0.4 of the limit that shakes by 0.3, under a grip that shakes too [um/s]."""
    load = along(lambda t: LIMIT * (0.4 + 0.3 * np.sin(10 * math.pi * t)))
    poses, _ = engine(Run(5.0, load, lambda t: GRIP * (1 + 0.15 * np.sin(6 * math.pi * t))))
    each = round(1.0 / engine.dt)
    return 1e6 * abs(poses[-1, 0] - poses[each, 0]) / 4.0


def break_away(engine: Engine) -> float:
    """Largest error of the load at which the pad begins to slip, of five loads of force and torque [%]."""
    errors = []
    for angle in np.radians([0, 22.5, 45, 67.5, 90]):
        exact = held(angle)
        low, high = 0.5 * exact, 2.0 * exact
        for _ in range(10):
            middle = (low + high) / 2
            load = middle * LIMIT * np.array([math.cos(angle), 0, TORSION * math.sin(angle)])
            poses, _ = engine(Run(1.0, constant(*load)))
            moved = max(math.hypot(*poses[-1, :2]), TORSION * abs(poses[-1, 2]))
            low, high = (low, middle) if moved > 1e-3 else (middle, high)
        errors.append(abs((low + high) / 2 / exact - 1))
    return 100 * max(errors)


def pivot(engine: Engine) -> float:
    """Error of the angle to which a body turns under its weight about a pad that opens for a while [%]."""
    run = Run(1.0, constant(0, -MASS * GRAVITY), _opening, offset=0.015)
    exact, _ = _answer("pivot", run)
    poses, _ = engine(run)
    return 100 * abs(poses[-1, 2] / exact[2] - 1)


def _opening(t: Floats) -> Floats:
    return np.interp(t, [0, 0.1, 0.4, 0.7], [12.0, 12.0, 7.0, 12.0])


def isotropy(engine: Engine) -> float:
    """Largest error of the velocity after 0.2 s under 1.5 times the limit, of pushes in seven directions [%]."""
    errors = []
    for angle in np.radians([0, 15, 30, 45, 60, 75, 90]):
        direction = np.array([math.cos(angle), math.sin(angle)])
        _, twists = engine(Run(0.2, constant(*(1.5 * LIMIT * direction))))
        errors.append(np.linalg.norm(twists[-1, :2] / (0.5 * LIMIT / MASS * 0.2) - direction))
    return 100 * max(errors)


def stopping(engine: Engine) -> float:
    """Error of where a disc stops that slides and spins: the larger of those of path and angle [%]."""
    run = Run(0.3, constant(0), twist=(0.5, 0.0, 30.0))
    exact, _ = _answer("stopping", run)
    poses, _ = engine(run)
    return 100 * max(abs(poses[-1, k] / exact[k] - 1) for k in (0, 2))


def static(engine: Engine) -> float:
    """Coefficients 0.8 (static) and 0.5 under a load between: error of speed from rest, and from motion [%]."""
    load = constant(0.65 * GRIP)
    _, rest = engine(Run(0.3, load, mu=0.5, mu_s=0.8))
    _, moving = engine(Run(0.3, load, mu=0.5, mu_s=0.8, twist=(0.2, 0, 0)))
    speed = 0.15 * GRIP / MASS * 0.3
    return 100 * max(abs(rest[-1, 0]) / speed, abs((moving[-1, 0] - 0.2) / speed - 1))


def loop(engine: Engine) -> float:
    """Error of the elastic displacement before sliding, F/(sigma0 f_n), under a load to and fro [%]."""
    poses, _ = engine(Run(2.0, along(lambda t: 0.5 * LIMIT * np.sin(4 * math.pi * t))))
    half = len(poses) // 2
    size = np.ptp(poses[half:, 0]) / 2
    return 100 * abs(size / (0.5 * LIMIT / (SIGMA0 * GRIP)) - 1)


_answers: dict[str, tuple[Floats, Floats]] = {}


def _answer(name: str, run: Run) -> tuple[Floats, Floats]:
    if name not in _answers:
        _answers[name] = converged(run)
    return _answers[name]


TESTS = {
    "creep of a hold [um/s]": creep,
    "shaken hold [um/s]": shaken,
    "break-away [%]": break_away,
    "pivot [%]": pivot,
    "isotropy of a push [%]": isotropy,
    "stopping [%]": stopping,
    "static and dynamic [%]": static,
    "pre-sliding loop [%]": loop,
}

ENGINES: list[Engine] = [
    Bristle("distributed"),
    Bristle("reduced"),
    MuJoCo(0),
    MuJoCo(20),
    Drake(),
    PyBullet(),
    Genesis(),
    Genesis("convex"),
    Genesis("no-slip"),
]
PACKAGES = {
    "bristle": "bristle",
    "MuJoCo": "mujoco",
    "Drake": "drake",
    "PyBullet": "pybullet",
    "Genesis": "genesis-world",
}


def cost(engine: Engine) -> float:
    """Wall time of a step of the shaken hold without the set-up [us], the least of three."""

    def took(seconds: float) -> float:
        began = time.perf_counter()
        engine(Run(seconds, along(lambda t: LIMIT * (0.4 + 0.3 * np.sin(10 * math.pi * t)))))
        return time.perf_counter() - began

    return 1e6 * min((took(6.0) - took(1.0)) / (5.0 / engine.dt) for _ in range(3))


def many(engine: Bristle | Genesis, n: int = 1000) -> float:
    """The same of `n` pads at once, for one of them [us]."""
    run = Run(1.0, along(lambda t: LIMIT * (0.4 + 0.3 * np.sin(10 * math.pi * t))))
    rollout = engine.rollout(run, n)
    took = []
    for _ in range(3):
        began = time.perf_counter()
        rollout()
        took.append(time.perf_counter() - began)
    return 1e6 * min(took) / len(times(run, engine.dt)) / n


def measure(engine: Engine, names: list[str]) -> dict[str, float]:
    """Errors of an engine, and its cost."""
    row = {name: float(TESTS[name](engine)) for name in names}
    row["a step [us]"] = cost(engine)
    if isinstance(engine, Bristle | Genesis):
        row["a step of 1000 [us]"] = many(engine)
    return row


def main() -> None:
    """Measures the engines that are installed, and prints a table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--engine", action="append", help="a part of the name of an engine; may be repeated")
    parser.add_argument("--test", action="append", help="a part of the name of a test; may be repeated")
    parser.add_argument("--json", help="a file for the numbers")
    asked = parser.parse_args()

    def chosen(name: str, of: list[str] | None) -> bool:
        return of is None or any(part in name for part in of)

    names = [name for name in TESTS if chosen(name, asked.test)]
    rows = {}
    for engine in ENGINES:
        package = PACKAGES[engine.name.split(",")[0]]
        if not chosen(engine.name, asked.engine):
            continue
        try:
            version = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            print(f"{engine.name}: {package} is not installed")
            continue
        row = rows[f"{engine.name} {version}, {1e3 * engine.dt:.3g} ms"] = measure(engine, names)
        print(f"{engine.name} {version}, steps of {1e3 * engine.dt:.3g} ms")
        for name, value in row.items():
            print(f"  {name:24} {value:12.4g}", flush=True)
    if asked.json:
        with open(asked.json, "w") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()

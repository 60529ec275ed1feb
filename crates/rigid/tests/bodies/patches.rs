//! Patches of bristles as contacts of worlds: the motion is that of the planar solver, boxes that are held do
//! not creep, and friction takes energy.

use std::sync::Arc;

use bristle::body::{Frame, FreeBody};
use bristle::contact::{Bristles, Contact, Initial, Inputs, Model};
use bristle::engine::{Engine, Plan};
use bristle::friction::{Friction, Law};
use bristle::patch::{Grid, Patch, Shape};
use bristle::random::Draw;
use bristle::schedule::Signal;
use bristle::{Cpu, Pose};
use bristle_rigid::world::{Method, Pair, State, World, WorldBody, WorldShape, Worlds};
use nalgebra::{Isometry3, UnitQuaternion, Vector3};

/// Side of the pads [m], half the thickness of pads and box.
const PAD: f64 = 0.03;
const THICK: f64 = 0.005;
const MASS: f64 = 0.2;
const INERTIA: f64 = 3e-4;

fn disc() -> Arc<Patch> {
    Patch::shape(Grid::new(11, 11, PAD, PAD).unwrap(), Shape::Disc).unwrap().into()
}

fn friction(law: Law) -> Friction {
    Friction { law, mu_c: 0.8, mu_s: 0.9, ..Friction::default() }
}

/// A box between two pads in planes across z, the first fixed, the second pressed against it by `grip` [N].
/// The second moves along z alone. The box is pulled by `load` at its centre, `offset` from the middle of the
/// pads, and all is turned by `turn`.
fn held(grip: f64, load: [f64; 2], offset: [f64; 2], law: Law, turn: UnitQuaternion<f64>) -> World {
    thrown(grip, load, offset, law, turn, [0.0; 3])
}

/// The same with a twist of the box in the plane at the start.
fn thrown(
    grip: f64,
    load: [f64; 2],
    offset: [f64; 2],
    law: Law,
    turn: UnitQuaternion<f64>,
    [vx, vy, w]: [f64; 3],
) -> World {
    let pad = || WorldShape::Box([0.5 * PAD, 0.5 * PAD, THICK]);
    let mut world = World::new(8);
    world.gravity = [0.0; 3];
    let at = |x: f64, y: f64, z: f64| {
        let pose = Isometry3::from_parts(Vector3::zeros().into(), turn) * Isometry3::translation(x, y, z);
        State { pose, ..State::default() }
    };
    let force = |x, y, z| {
        let [x, y, z]: [f64; 3] = (turn * Vector3::new(x, y, z)).into();
        [x, y, z].map(Signal::constant)
    };
    let first = world.add(WorldBody::prescribed(pad()), at(0.0, 0.0, -THICK));
    let mut object = WorldBody::solid(MASS, WorldShape::Box([0.06, 0.05, THICK]));
    object.inertia = [1e-3, 1e-3, INERTIA];
    object.force = force(load[0], load[1], 0.0);
    let state = State {
        velocity: turn * Vector3::new(vx, vy, 0.0),
        angular: turn * Vector3::new(0.0, 0.0, w),
        ..at(offset[0], offset[1], THICK)
    };
    let object = world.add(object, state);
    let mut press = WorldBody::solid(0.1, pad());
    press.guide = Some((turn * Vector3::z()).into());
    press.force = force(0.0, 0.0, -grip);
    let second = world.add(press, at(0.0, 0.0, 3.0 * THICK));
    for (k, pad) in [first, second].into_iter().enumerate() {
        world.pairs.push(Pair { bodies: [pad, object], mu: 0.0 });
        world.add_patch(k, disc(), friction(law)).unwrap();
    }
    world
}

/// The same as the planar solver has it: pose of the centre of mass at these times.
fn gripper(grip: f64, load: [f64; 2], offset: [f64; 2], law: Law, times: &[f64]) -> Vec<Pose> {
    let mut body = FreeBody::new(Frame::Gripper, MASS, INERTIA);
    (body.wrench[0], body.wrench[1]) = (load[0].into(), load[1].into());
    let contact = Contact {
        patch: disc(),
        model: Model::Distributed,
        friction: friction(law),
        body: body.into(),
        inputs: Inputs { normal_force: grip.into(), ..Inputs::default() },
        initial: Initial { pose: Pose::new(offset[0], offset[1], 0.0), ..Initial::default() },
    };
    let plan = Plan { samples: [&[0.0], times].concat(), ..Plan::new(times[times.len() - 1], 1e-5, 1.0).unwrap() };
    Cpu::new().run(&[contact], &plan).unwrap().pose.split_off(1)
}

/// Planar poses of the box, in the frame of the first pad.
fn pose(world: &World) -> Pose {
    let [pad, object] = [0, 1].map(|k| world.states()[k].pose);
    let seen = pad.inverse() * object;
    let (_, _, theta) = seen.rotation.euler_angles();
    Pose::new(seen.translation.x, seen.translation.y, theta)
}

fn turned() -> UnitQuaternion<f64> {
    UnitQuaternion::from_euler_angles(0.4, -1.1, 2.0)
}

fn apart(a: Pose, b: Pose) -> f64 {
    (a.x - b.x).abs().max((a.y - b.y).abs()).max(0.02 * (a.theta - b.theta).abs())
}

/// A box that its grip cannot hold slides and turns as in the planar solver: the difference falls with the
/// step, and what is extrapolated to no step agrees.
#[test]
fn a_held_box_turns_about_its_patch_as_in_the_planar_solver() {
    let (load, offset) = ([0.0, -9.81 * MASS], [0.008, -0.004]);
    for law in [Law::ElastoPlastic, Law::LuGre] {
        for turn in [UnitQuaternion::identity(), turned()] {
            let grip = 1.0;
            let times = [0.05, 0.1, 0.2];
            let wanted = gripper(grip, load, offset, law, &times);
            let run = |h: f64| {
                let mut worlds = Worlds::new(vec![held(grip, load, offset, law, turn)], h, Method::Double).unwrap();
                let mut out = Vec::new();
                for (k, time) in times.iter().enumerate() {
                    worlds.advance(time - if k == 0 { 0.0 } else { times[k - 1] }).unwrap();
                    assert!(worlds.world(0).failure().is_none(), "{:?}", worlds.world(0).failure());
                    out.push(pose(worlds.world(0)));
                }
                out
            };
            let [coarse, fine] = [2e-4, 1e-4].map(run);
            for k in 0..times.len() {
                let moved = apart(wanted[k], Pose::new(offset[0], offset[1], 0.0));
                let errors = [coarse[k], fine[k]].map(|p| apart(p, wanted[k]));
                let order = (errors[0] / errors[1]).log2();
                assert!((0.9..1.2).contains(&order), "{law:?} at {}: {errors:?}", times[k]);
                let two = |f: fn(Pose) -> f64| 2.0 * f(fine[k]) - f(coarse[k]);
                let limit = Pose::new(two(|p| p.x), two(|p| p.y), two(|p| p.theta));
                let left = apart(limit, wanted[k]) / moved;
                assert!(left < 1e-4, "{law:?} at {}: {left:e} of the motion", times[k]);
            }
        }
    }
}

/// A grip that is strong enough holds the box: it takes up its load, and from then on it does not move, at
/// rest and under a load that oscillates below the limit.
#[test]
fn a_held_box_does_not_creep() {
    for (law, turn) in [(Law::ElastoPlastic, UnitQuaternion::identity()), (Law::LuGre, turned())] {
        for h in [1e-2, 1e-3] {
            let world = held(2.0, [0.0, -9.81 * MASS], [0.008, -0.004], law, turn);
            let mut worlds = Worlds::new(vec![world], h, Method::Double).unwrap();
            worlds.advance(1.0).unwrap();
            let before = pose(worlds.world(0));
            worlds.advance(9.0).unwrap();
            let world = worlds.world(0);
            assert!(world.failure().is_none(), "{:?}", world.failure());
            assert!(apart(before, Pose::new(0.008, -0.004, 0.0)) < 1e-4, "{law:?} {h}: {before:?}");
            assert!(apart(pose(world), before) < 1e-10, "{law:?} {h}: {:e}", apart(pose(world), before));
            let force = world.force(0) + world.force(1);
            let weight = turn * Vector3::new(0.0, 9.81 * MASS, 0.0);
            assert!((force - weight).norm() < 1e-7 * weight.norm(), "{law:?} {h}: {force:?}");
        }
    }
    // 1.0 to 2.9 N, of the 3.2 that friction holds.
    let mut worlds =
        Worlds::new(vec![held(2.0, [0.0; 2], [0.0; 2], Law::ElastoPlastic, turned())], 1e-3, Method::Double);
    let worlds = worlds.as_mut().unwrap();
    let mut seen = Vec::new();
    for k in 0..2000 {
        let load = turned() * Vector3::new(0.0, -1.95 - 0.95 * (0.02 * std::f64::consts::PI * f64::from(k)).sin(), 0.0);
        worlds.set_load(0, 1, load.into(), [0.0; 3]).unwrap();
        worlds.advance(1e-3).unwrap();
        if k % 100 == 99 {
            seen.push(pose(worlds.world(0)));
        }
    }
    let crept = apart(seen[10], seen[19]);
    assert!(crept < 1e-9, "{crept:e} in 0.9 s of {seen:?}");
}

/// A box on a table whose pressure is given, pushed and turned: [`Frame::Body`] of the planar solver.
fn on_table(first: [f64; 3], law: Law) -> World {
    let mut world = World::new(8);
    let table = world.add(WorldBody::prescribed(WorldShape::Plane), State::default());
    let mut object = WorldBody::solid(MASS, WorldShape::Box([0.5 * PAD, 0.5 * PAD, 1e-4]));
    object.inertia = [1.0, 1.0, INERTIA];
    let mut state = State::at(0.0, 0.0, 1e-4);
    (state.velocity, state.angular) = (Vector3::new(first[0], first[1], 0.0), Vector3::new(0.0, 0.0, first[2]));
    let object = world.add(object, state);
    world.pairs.push(Pair { bodies: [object, table], mu: 0.0 });
    world.add_patch(0, disc(), friction(law)).unwrap();
    world
}

/// Boxes as tall as they are wide, which slide or land on their patch, in steps of any length: they slow down
/// at `mu_c g`, tall ones do not fall, and energy does not grow.
#[test]
fn tall_boxes_slide_on_their_patch() {
    const TIME: f64 = 0.02;
    for (law, mu, half) in [
        (Law::ElastoPlastic, 0.3, 0.05),
        (Law::LuGre, 0.3, 0.05),
        (Law::ElastoPlastic, 0.8, 0.01),
        (Law::LuGre, 0.8, 0.03),
        (Law::Dahl, 0.3, 0.05),
        (Law::ViscoelastoPlastic, 0.3, 0.05),
    ] {
        for step in [1e-3, 1e-4, 2e-5] {
            for (speed, gap) in [(0.2, 0.0), (0.3, 1e-4), (1.0, 0.0), (5.0, 1e-4)] {
                let mut world = World::new(8);
                let floor = world.add(WorldBody::prescribed(WorldShape::Plane), State::default());
                let mut state = State::at(0.0, 0.0, half + gap);
                state.velocity.x = speed;
                let object = world.add(WorldBody::solid(1.0, WorldShape::Box([0.05, 0.05, half])), state);
                world.pairs.push(Pair { bodies: [object, floor], mu: 0.0 });
                let friction = Friction { law, mu_c: mu, mu_s: mu, sigma2: 0.0, ..Friction::default() };
                world.add_patch(0, disc(), friction).unwrap();
                let mut worlds = Worlds::new(vec![world], step, Method::Double).unwrap();
                let before = worlds.world(0).energy();
                worlds.advance(TIME).unwrap();
                let (name, world) = (format!("{law:?} {mu} {half} {step} {speed} {gap}"), worlds.world(0));
                assert!(world.failure().is_none(), "{name}: {:?}", world.failure());
                assert!(world.energy() <= before, "{name}: {} after {before}", world.energy());
                let slowed = speed - world.states()[1].velocity.x;
                // Bristles that begin unbent in a long step add at most the impulse of their damper.
                let all = mu * 9.81 * TIME;
                let damper = friction.effective_for_law().sigma1 / friction.sigma0 * mu * 9.81;
                let (off, most) = (slowed - all, 0.02 * all + 1e-4);
                assert!((-most..most + damper).contains(&off), "{name}: {slowed}, not {all}");
                assert!(world.states()[1].angular.norm() < 1e-6, "{name}: {}", world.states()[1].angular);
            }
        }
    }
}

#[test]
fn a_box_on_a_table_spins_and_stops_as_in_the_planar_solver() {
    for law in [Law::ElastoPlastic, Law::Dahl, Law::ViscoelastoPlastic] {
        let first = [0.3, -0.1, 9.0];
        let mut body = FreeBody::new(Frame::Body { offset: [0.0; 2] }, MASS, INERTIA);
        body.twist = first.into();
        let contact = Contact {
            patch: disc(),
            model: Model::Distributed,
            friction: friction(law),
            body: body.into(),
            inputs: Inputs { normal_force: (9.81 * MASS).into(), ..Inputs::default() },
            // The damper of unbent bristles would be beyond the limit of friction.
            initial: Initial { bristles: Bristles::Steady, ..Initial::default() },
        };
        let out = Cpu::new().run(&[contact], &Plan::new(0.3, 1e-5, 0.3).unwrap()).unwrap();
        let wanted = out.pose[1];
        let run = |h: f64| {
            let mut worlds = Worlds::new(vec![on_table(first, law)], h, Method::Double).unwrap();
            let mut most = worlds.world(0).energy();
            for _ in 0..30 {
                worlds.advance(0.01).unwrap();
                let energy = worlds.world(0).energy();
                assert!(energy <= most * (1.0 + 1e-9), "{law:?}: {energy} after {most}");
                most = energy.max(2e-3);
            }
            let state = worlds.world(0).states()[1];
            assert!(state.velocity.norm() < 1e-6 && state.angular.norm() < 1e-3, "{law:?}: {state:?}");
            let (_, _, theta) = state.pose.rotation.euler_angles();
            Pose::new(state.pose.translation.x, state.pose.translation.y, theta)
        };
        let [coarse, fine] = [2e-4, 1e-4].map(run);
        let two = |f: fn(Pose) -> f64| 2.0 * f(fine) - f(coarse);
        let limit = Pose::new(two(|p| p.x), two(|p| p.y), two(|p| p.theta));
        let (moved, left) = (apart(wanted, Pose::default()), apart(limit, wanted));
        assert!(left < 2e-4 * moved && apart(fine, wanted) < 0.02 * moved, "{law:?}: {left:e} of {moved:e}");
    }
}

/// Boxes thrown between pads, of all laws, in steps from 1e-5 to 1e-2 s: every step is solved, and the
/// kinetic energy never exceeds that of the throw.
#[test]
fn thrown_boxes_lose_energy_in_steps_of_any_length() {
    for k in 0..60u64 {
        let draw = Draw::new(41, k);
        let between = |name: &str, low: f64, high: f64| low + (high - low) * draw.uniform(name);
        let law = Law::ALL[k as usize % Law::ALL.len()];
        let turn = UnitQuaternion::from_euler_angles(
            between("a", -3.0, 3.0),
            between("b", -1.5, 1.5),
            between("c", -3.0, 3.0),
        );
        let offset = [between("x", -0.01, 0.01), between("y", -0.01, 0.01)];
        let grip = 10f64.powf(between("grip", -1.0, 2.0));
        let (speed, along) = (10f64.powf(between("speed", -3.0, 0.5)), between("along", 0.0, 6.3));
        let twist = [speed * along.cos(), speed * along.sin(), speed * between("turn", -50.0, 50.0)];
        let world = thrown(grip, [0.0; 2], offset, law, turn, twist);
        let h = 10f64.powf(between("step", -5.0, -2.0));
        let mut worlds = Worlds::new(vec![world], h, Method::Double).unwrap();
        let first = worlds.world(0).energy();
        for _ in 0..200 {
            worlds.advance(h).unwrap();
            let world = worlds.world(0);
            assert!(world.failure().is_none(), "{k} {law:?} h {h:e}: {:?}", world.failure());
            let grown = world.energy() / first - 1.0;
            assert!(grown < 1e-9, "{k} {law:?} h {h:e}: {grown:e} at {}", world.time());
        }
        assert_eq!(worlds.world(0).halved(), 0, "{k} {law:?} h {h:e}");
    }
}

/// Where bodies part, the bristles are unloaded; and a state that is saved, or copied, goes on with the same
/// bits.
#[test]
fn bristles_are_state_that_is_saved_and_ends_with_the_contact() {
    let world = held(2.0, [0.0, -9.81 * MASS], [0.008, -0.004], Law::ElastoPlastic, turned());
    let mut worlds = Worlds::new(vec![world.clone(), world], 1e-3, Method::Double).unwrap();
    worlds.advance(0.05).unwrap();
    let saved = worlds.save();
    assert!(worlds.world(0).patches()[0].bristles().bristles().as_flattened().iter().any(|z| z.abs() > 0.1));
    assert!(worlds.world(0).patches()[0].normal_force() > 1.99);
    worlds.advance_some(&[0], 0.05).unwrap();
    let wanted = worlds.world(0).clone();
    worlds.restore(&saved).unwrap();
    worlds.copy(0, &[1]).unwrap();
    worlds.advance(0.05).unwrap();
    assert_eq!([worlds.world(0), worlds.world(1)], [&wanted; 2]);

    let away = turned() * Vector3::new(0.0, 0.0, 1e6);
    worlds.set_load(0, 2, away.into(), [0.0; 3]).unwrap();
    worlds.advance_some(&[0], 0.2).unwrap();
    let world = worlds.world(0);
    assert!(world.failure().is_none() && world.contacts().is_empty(), "{:?}", world.contacts());
    for patch in world.patches() {
        assert!(patch.bristles().bristles().iter().all(|z| *z == [0.0; 2]));
        assert_eq!((patch.normal_force(), patch.force()), (0.0, Vector3::zeros()));
    }
}

#[test]
fn all_methods_find_the_same_motion() {
    let run = |method| {
        let world = held(1.0, [0.3, -9.81 * MASS], [0.008, -0.004], Law::ElastoPlastic, turned());
        let mut worlds = Worlds::new(vec![world], 1e-3, method).unwrap();
        worlds.advance(0.03).unwrap();
        assert!(worlds.world(0).failure().is_none(), "{method:?} {:?}", worlds.world(0).failure());
        pose(worlds.world(0))
    };
    let wanted = run(Method::Double);
    for method in [Method::Single, Method::Lemke] {
        assert!(apart(run(method), wanted) < 1e-9, "{method:?}");
    }
}

/// On a GPU, worlds with patches are solved on the CPU, and others beside them as they are.
#[cfg(feature = "gpu")]
#[test]
fn a_gpu_leaves_worlds_with_patches_to_the_cpu() {
    use bristle_rigid::gpu::RigidGpu;
    let gpu = RigidGpu::new(&bristle::Gpu::new(bristle::Choice::Any).unwrap_or_else(|e| panic!("{e}")));
    let patched = held(1.0, [0.3, -9.81 * MASS], [0.008, -0.004], Law::ElastoPlastic, turned());
    let mut other = World::new(8);
    let table = other.add(WorldBody::prescribed(WorldShape::Plane), State::default());
    let ball = other.add(WorldBody::solid(0.1, WorldShape::Sphere(0.01)), State::at(0.0, 0.0, 0.01));
    other.pairs.push(Pair { bodies: [table, ball], mu: 0.5 });
    let run = |mut worlds: Worlds| {
        worlds.set_load(1, 1, [1.0, 0.0, 0.0], [0.0; 3]).unwrap();
        worlds.advance(0.01).unwrap();
        worlds.worlds().to_vec()
    };
    let worlds = vec![patched, other];
    let wanted = run(Worlds::new(worlds.clone(), 1e-3, Method::Double).unwrap());
    let found = run(gpu.worlds(worlds, 1e-3).unwrap());
    assert_eq!((found[0].states(), found[0].patches()), (wanted[0].states(), wanted[0].patches()));
    assert_eq!((found[0].on_cpu(), found[1].on_cpu()), (10, 0));
    let apart = found[1].states()[1].velocity - wanted[1].states()[1].velocity;
    assert!(apart.norm() < 1e-5 && found[1] != wanted[1], "{apart:?}");
}

#[test]
fn patches_between_other_bodies_are_refused() {
    let world = |shape: WorldShape, mu: f64| {
        let mut world = World::new(8);
        let table = world.add(WorldBody::prescribed(WorldShape::Plane), State::default());
        let object = world.add(WorldBody::solid(1.0, shape), State::at(0.0, 0.0, 0.02));
        world.pairs.push(Pair { bodies: [object, table], mu });
        world
    };
    let cube = || WorldShape::Box([0.02; 3]);
    let refused = |mut world: World, pair: usize, patch: Arc<Patch>, friction: Friction| {
        let before = world.clone();
        let message = world.add_patch(pair, patch, friction).unwrap_err().to_string();
        assert_eq!(world, before);
        message
    };
    let big = || Arc::new(Patch::shape(Grid::new(5, 5, 0.05, 0.02).unwrap(), Shape::Disc).unwrap());
    let out = Friction { sigma0: -1.0, ..Friction::default() };
    for (message, wanted) in [
        (refused(world(cube(), 0.3), 0, disc(), Friction::default()), "contacts[0].mu = 0.3: expected 0, as"),
        (refused(world(WorldShape::Sphere(0.02), 0.0), 0, disc(), Friction::default()), "contacts[0].patch = between"),
        (refused(world(cube(), 0.0), 1, disc(), Friction::default()), "pair = 1: expected an index below 1"),
        (refused(world(cube(), 0.0), 0, big(), Friction::default()), "contacts[0].patch.size = 0.05: expected at most"),
        (refused(world(cube(), 0.0), 0, disc(), out), "contacts[0].friction.sigma0 = -1: expected"),
    ] {
        assert!(message.contains(wanted), "{wanted}\n{message}");
    }
    let mut twice = world(cube(), 0.0);
    twice.add_patch(0, disc(), Friction::default()).unwrap();
    assert!(refused(twice.clone(), 0, disc(), Friction::default()).contains("one patch between two bodies"));
    let mut worlds = Worlds::new(vec![twice.clone()], 1e-3, Method::Double).unwrap();
    let message = worlds.set_mu(0, 0, 0.3).unwrap_err().to_string();
    assert!(message.contains("mu = 0.3: expected 0, as"), "{message}");
    worlds.set_mu(0, 0, 0.0).unwrap();
    assert_eq!(worlds.worlds()[0], twice);
    // What is changed afterwards is checked when worlds are made.
    twice.pairs[0].mu = 0.1;
    assert!(Worlds::new(vec![twice], 1e-3, Method::Double).is_err());
}

/// A body on a rail moves along it alone, under loads, gravity and contacts.
#[test]
fn a_guided_body_moves_along_its_guide_alone() {
    let guide = Vector3::new(2.0, -1.0, 0.5);
    let mut world = World::new(8);
    let mut cart = WorldBody::solid(0.3, WorldShape::Box([0.01, 0.02, 0.03]));
    cart.guide = Some(guide.into());
    cart.force = [1.0, 2.0, 3.0].map(Signal::constant);
    cart.torque = [5.0, 5.0, 5.0].map(Signal::constant);
    let cart = world.add(cart, State::default());
    let ball = world.add(WorldBody::solid(0.1, WorldShape::Sphere(0.01)), State::at(0.0, 0.0, 0.045));
    let unit = guide.normalize();
    let a = unit.dot(&(Vector3::new(1.0, 2.0, 3.0) / 0.3 - 9.81 * Vector3::z()));
    for (mu, method) in [(None, Method::Double), (Some(0.5), Method::Double), (Some(0.5), Method::Lemke)] {
        let mut world = world.clone();
        world.pairs.extend(mu.map(|mu| Pair { bodies: [cart, ball], mu }));
        let mut worlds = Worlds::new(vec![world], 1e-4, method).unwrap();
        worlds.advance(0.1).unwrap();
        let state = worlds.world(0).states()[0];
        let moved = state.pose.translation.vector;
        assert!((moved - unit * unit.dot(&moved)).norm() < 1e-12 * moved.norm(), "{moved:?}");
        assert_eq!((state.angular, state.pose.rotation), (Vector3::zeros(), UnitQuaternion::identity()));
        // The ball falls on it and leaves it.
        let free = (moved.dot(&unit) / (0.5 * a * 0.01) - 1.0).abs();
        assert_eq!(free < 2e-3, mu.is_none(), "{method:?} {mu:?}: {free:e}");
    }
    let with = |guide: [f64; 3], state: State| {
        let mut world = World::new(8);
        let body = WorldBody { guide: Some(guide), ..WorldBody::solid(1.0, WorldShape::Sphere(0.1)) };
        world.add(body, state);
        world.validate().map_err(|e| e.to_string())
    };
    let state = |v: [f64; 3], w: [f64; 3]| State { velocity: v.into(), angular: w.into(), ..State::default() };
    assert_eq!(with([0.0, 0.0, 2.0], state([0.0, 0.0, 1.0], [0.0; 3])), Ok(()));
    for (guide, state, wanted) in [
        ([0.0; 3], State::default(), "bodies[0].guide = [0.0, 0.0, 0.0]: expected three numbers, not all 0"),
        ([f64::NAN, 0.0, 1.0], State::default(), "bodies[0].guide = [NaN"),
        (
            [0.0, 0.0, 1.0],
            state([1.0, 0.0, 1.0], [0.0; 3]),
            "bodies[0].velocity = [1.0, 0.0, 1.0]: expected a velocity",
        ),
        ([0.0, 0.0, 1.0], state([0.0; 3], [0.0, 0.0, 1.0]), "bodies[0].angular_velocity = [0.0, 0.0, 1.0]: expected 0"),
    ] {
        let message = with(guide, state).unwrap_err();
        assert!(message.contains(wanted), "{wanted}\n{message}");
    }
}

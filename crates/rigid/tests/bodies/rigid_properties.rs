//! Properties of friction without bristles for random numbers: point contacts and worlds of rigid bodies, on
//! every engine.

use std::f64::consts::TAU;
use std::sync::{Arc, OnceLock};

use crate::common::{Dice, engines, flat, of, rollout};
use bristle::body::{Frame, FreeBody};
use bristle::contact::{Contact, Initial, Inputs};
use bristle::engine::{Plan, Stepping};
use bristle::friction::Friction;
use bristle::gpu::{Choice, Gpu};
use bristle::patch::{Grid, Patch, Shape as Map};
use bristle::planar::{Pose, Twist};
use bristle::point::{PointElement, PointLaw, PointModel};
use bristle::random::Draw;
use bristle::schedule::{Signal, Sine};
use bristle_rigid::gpu::RigidGpu;
use bristle_rigid::world::{Method, Pair, State, World, WorldBody, WorldShape, Worlds};
use nalgebra::{UnitQuaternion, Vector3};

/// A point contact under random loads, with random numbers of `extreme` orders of magnitude about the usual
/// ones.
fn random_point(law: PointLaw, k: u64, extreme: f64) -> Contact {
    let d = Dice(Draw::new(2405, k));
    let log = |name: &str, middle: f64| d.log(name, middle * 0.1f64.powf(extreme), middle * 10f64.powf(extreme));
    let mu_c = log("mu_c", 0.5);
    let friction = Friction {
        sigma0: log("sigma0", 1e4),
        sigma1: d.pick("damped", &[0.0, 1.0]) * log("sigma1", 10.0),
        sigma2: d.pick("viscous", &[0.0, 1.0]) * log("sigma2", 0.3),
        mu_c,
        mu_s: mu_c * d.between("mu_s", 1.0, 2.0),
        gamma: d.pick("gamma", &[2.0, 2.0, 1.0, 0.6]),
        v_s: log("v_s", 0.01),
        ..Friction::default()
    };
    let element = |i: u32| PointElement {
        share: d.between(&format!("share {i}"), 0.1, 1.0),
        stiffness: d.between(&format!("stiffness {i}"), 0.1, 1.0),
    };
    let count = if law == PointLaw::Dahl { 1 } else { d.pick("elements", &[1, 3]) };
    let mut elements: Vec<PointElement> = (0..count).map(element).collect();
    let (share, stiffness) = elements.iter().fold((0.0, 0.0), |sum, e| (sum.0 + e.share, sum.1 + e.stiffness));
    for e in &mut elements {
        e.share /= share;
        e.stiffness /= stiffness;
    }
    let model = PointModel {
        law,
        band: log("band", 1e-2),
        slider_mass: d.pick("sliders", &[0.0, 1.0]) * log("slider_mass", 1e-2),
        attraction: log("attraction", 100.0),
        elements,
    };
    let wave = |name: &str, most: f64| {
        let (amplitude, omega) = (d.between(name, -most, most), d.log(&format!("{name} omega"), 1.0, 300.0));
        Signal::sines(d.between(&format!("{name} mean"), -most, most), vec![Sine { amplitude, omega, phase: 0.5 }])
    };
    let frame = d.pick("frame", &[Frame::World, Frame::Gripper]);
    let mut body = FreeBody::new(frame, log("mass", 1.0), 1.0);
    body.wrench = [wave("fx", 8.0), wave("fy", 8.0), 0.0.into()];
    body.twist = Twist::new(d.between("vx", -1.0, 1.0), d.between("vy", -1.0, 1.0), 0.0);
    body.spring = d.pick("held", &[0.0, 1.0]) * log("spring", 100.0);
    body.anchor = [wave("ax", 0.1), wave("ay", 0.1)];
    Contact {
        patch: Arc::new(Patch::shape(Grid::new(1, 1, 1e-3, 1e-3).unwrap(), Map::Square).unwrap()),
        model: model.into(),
        friction,
        body: body.into(),
        inputs: Inputs { normal_force: wave("f_n", log("f_n", 5.0)), ..Inputs::default() },
        initial: Initial { pose: Pose::new(0.1, -0.2, 0.0), ..Initial::default() },
    }
}

/// Numbers a thousand times as large or as small as usual: a contact goes on with finite numbers, or ends
/// with a reason and without numbers, and no force pushes where the normal force is none.
#[test]
fn random_point_contacts_end_with_numbers_or_a_reason() {
    let contacts: Vec<Contact> = PointLaw::ALL
        .iter()
        .flat_map(|law| (0..40).map(|k| random_point(*law, k, if k % 2 == 0 { 0.5 } else { 3.0 })))
        .collect();
    for (name, engine) in engines() {
        let out = rollout(engine.as_ref(), &contacts, &Plan::new(0.1, 1e-3, 1e-2).unwrap());
        for (k, contact) in contacts.iter().enumerate() {
            let n = out.frames();
            let all = [flat(of(&out.pose, k, n)), flat(of(&out.twist, k, n)), flat(of(&out.wrench, k, n))].concat();
            let finite = all.iter().all(|v| v.is_finite());
            assert_eq!(finite, out.status[k].failure.is_none(), "{name}, {k}: {:?} {contact:?}", out.status[k]);
            assert!(k % 2 == 1 || finite, "{name}, {k}: usual numbers end well: {contact:?}");
            let free = of(&out.normal_force, k, n).iter().zip(of(&out.wrench, k, n)).filter(|(f_n, _)| **f_n == 0.0);
            assert!(free.clone().all(|(_, w)| w.fx.hypot(w.fy) == 0.0 || !finite), "{name}, {k}: {contact:?}");
        }
    }
}

/// The friction of a point contact has no direction of its own: turned loads, anchors, places and velocities
/// give the turned motion.
#[test]
fn point_contacts_do_not_depend_on_axes() {
    let turn = 0.7f64;
    let (sin, cos) = turn.sin_cos();
    let turned = |[x, y]: [f64; 2]| [cos * x - sin * y, sin * x + cos * y];
    let steps = |x: f64| Signal::steps(&[(0.0, x), (0.05, -0.6 * x), (0.12, 0.0)]).unwrap();
    let pushed = |law: PointLaw, k: u64, turn: bool| {
        let mut c = random_point(law, k, 0.3);
        c.inputs.normal_force = Signal::constant(5.0);
        let by = |v: [f64; 2]| if turn { turned(v) } else { v };
        let body = c.body.free_mut().unwrap();
        // In world axes alone a body's velocity is that of its motion.
        body.frame = Frame::World;
        [body.wrench[0], body.wrench[1]] = by([9.0, 4.0]).map(steps);
        body.anchor = by([0.02, -0.05]).map(Signal::constant);
        let [vx, vy] = by([body.twist.vx, body.twist.vy]);
        body.twist = Twist::new(vx, vy, 0.0);
        let [x, y] = by([0.1, -0.2]);
        c.initial.pose = Pose::new(x, y, 0.0);
        c
    };
    for (name, engine) in engines() {
        let limit = if ["f32", "gpu"].contains(&name) { 2e-5 } else { 1e-9 };
        for &law in PointLaw::ALL {
            let all = |turn| (0..10).map(|k| pushed(law, k, turn)).collect::<Vec<_>>();
            let plan = Plan::new(0.2, 1e-3, 5e-3).unwrap();
            let [straight, other] = [false, true].map(|turn| rollout(engine.as_ref(), &all(turn), &plan));
            for (k, (a, b)) in straight.pose.iter().zip(&other.pose).enumerate() {
                let [x, y] = turned([a.x, a.y]);
                let apart = (x - b.x).hypot(y - b.y);
                assert!(apart <= limit, "{name}, {law:?}, sample {k}: {apart:e}");
            }
        }
    }
}

/// What a point at rest holds is the load, and never more than the static friction; what a sliding one feels
/// is against its motion. Of the laws with a velocity that comes to rest exactly.
#[test]
fn friction_of_a_point_complements_its_motion() {
    let friction = |contact: &Contact, f_n: f64| contact.friction.mu_s * f_n;
    let contacts: Vec<Contact> = (0..60)
        .map(|k| {
            let mut c = random_point(PointLaw::Implicit, k, 0.3);
            c.friction.sigma2 = 0.0;
            c
        })
        .collect();
    for (name, engine) in engines() {
        let single = ["f32", "gpu"].contains(&name);
        let (mut rest, mut sliding) = (0, 0);
        let mut batch = engine.batch(contacts.clone(), Stepping::fixed(1e-3)).unwrap();
        for _ in 0..100 {
            batch.advance(1e-3).unwrap();
            for (contact, s) in contacts.iter().zip(batch.samples().unwrap()) {
                let (f, v) = (s.wrench.fx.hypot(s.wrench.fy), s.twist.vx.hypot(s.twist.vy));
                let most = friction(contact, s.normal_force);
                assert!(f <= most * (1.0 + if single { 1e-5 } else { 1e-12 }), "{name}: {f} of {most}");
                if v == 0.0 {
                    rest += 1;
                    continue;
                }
                sliding += 1;
                let power = s.wrench.fx * s.twist.vx + s.wrench.fy * s.twist.vy;
                // Against the motion: no other force in the circle takes as much.
                let least = contact.friction.mu_c * s.normal_force * v;
                let slack = if single { 1e-4 } else { 1e-9 } * most * v;
                assert!(power <= -least + slack, "{name}: {power}, not {least} {s:?}");
            }
        }
        assert!(rest > 50 && sliding > 500, "{name}: {rest} at rest, {sliding} sliding");
    }
}

/// How worlds are stepped: the CPU's three methods, and the GPU.
const METHODS: [Option<Method>; 4] = [Some(Method::Lemke), Some(Method::Double), Some(Method::Single), None];

fn gpu() -> &'static RigidGpu {
    static OPENED: OnceLock<RigidGpu> = OnceLock::new();
    OPENED.get_or_init(|| RigidGpu::new(&Gpu::new(Choice::Any).unwrap_or_else(|e| panic!("{e}"))))
}

fn worlds(method: Option<Method>, worlds: Vec<World>, step: f64) -> Worlds {
    match method {
        Some(method) => Worlds::new(worlds, step, method).unwrap(),
        None => gpu().worlds(worlds, step).unwrap(),
    }
}

/// What a residual of single precision, or of double, leaves of the largest numbers.
fn slack(method: Option<Method>) -> f64 {
    if matches!(method, Some(Method::Lemke | Method::Double)) { 1e-9 } else { 3e-5 }
}

/// A particle, a tripod or a box that slides on a plane with a random velocity, and turns.
fn sliding(k: u64) -> World {
    let d = Dice(Draw::new(2406, k));
    let mut world = World::new(d.pick("directions", &[4, 5, 8, 32]));
    let shape = match k % 3 {
        0 => WorldShape::Points(vec![[0.0; 3]]),
        1 => WorldShape::Points(vec![[0.05, 0.0, -0.03], [-0.03, 0.04, -0.03], [-0.03, -0.04, -0.03]]),
        _ => WorldShape::Box([0.05, 0.04, 0.03]),
    };
    let plane = world.add(WorldBody::prescribed(WorldShape::Plane), State::default());
    let mut state = State::at(0.0, 0.0, if k.is_multiple_of(3) { 0.0 } else { 0.03 });
    state.velocity = Vector3::new(d.between("vx", -1.0, 1.0), d.between("vy", -1.0, 1.0), 0.0);
    state.angular = Vector3::new(0.0, 0.0, if k.is_multiple_of(3) { 0.0 } else { d.between("w", -10.0, 10.0) });
    let body = world.add(WorldBody::solid(d.log("mass", 0.1, 10.0), shape), state);
    world.pairs.push(Pair { bodies: [plane, body], mu: d.between("mu", 0.1, 1.0) });
    world
}

/// The friction of every contact takes, of all forces of its polygon, the most power from the velocity after
/// the step; where it is inside of its polygon the contact sticks, and a force that pulls there is none.
#[test]
fn friction_of_worlds_is_of_maximal_dissipation_and_complements_their_motion() {
    const H: f64 = 1e-3;
    for method in METHODS {
        let mut all = worlds(method, (0..30).map(sliding).collect(), H);
        let (mut stuck, mut slid) = (0, 0);
        for _ in 0..150 {
            let before: Vec<World> = all.worlds().to_vec();
            all.advance(H).unwrap();
            for (world, before) in all.worlds().iter().zip(&before) {
                let (old, new) = (before.states()[1], world.states()[1]);
                let mass = world.bodies()[1].mass;
                for c in world.contacts() {
                    let mu = world.pairs[c.pair].mu;
                    // The lever is that of the beginning of the step, the twist that of its end.
                    let lever = c.point.coords - old.pose.translation.vector;
                    let u = new.velocity + new.angular.cross(&lever);
                    let f_n = c.force.dot(&c.normal);
                    let friction = c.force - f_n * c.normal;
                    let n = world.directions;
                    let corner = |j: usize| {
                        let (sin, cos) = (TAU * j as f64 / n as f64).sin_cos();
                        Vector3::new(cos, sin, 0.0)
                    };
                    let most = (0..n).map(|j| -mu * f_n * corner(j).dot(&u)).fold(0.0f64, f64::max);
                    let power = -friction.dot(&u);
                    // A velocity of 1 m/s stops under such a force in one step.
                    let unit = mass / H * slack(method);
                    assert!(power >= most - unit * (1.0 + u.norm()), "{method:?}: {power:e}, at most {most:e}");
                    // Inside the polygon of these corners, and so in the circle.
                    let over = (0..n)
                        .map(|j| {
                            let middle = corner(j) + corner(j + 1);
                            friction.dot(&middle) / middle.norm() - mu * f_n * 0.5 * middle.norm()
                        })
                        .fold(f64::NEG_INFINITY, f64::max);
                    assert!(f_n >= -unit && over <= unit, "{method:?}: {f_n:e} {over:e}");
                    assert!(friction.norm() <= mu * f_n + unit, "{method:?}");
                    let slip = Vector3::new(u.x, u.y, 0.0).norm();
                    let inside = over < -1e-2 * mu * f_n - 10.0 * unit;
                    assert!(!inside || slip < 10.0 * slack(method), "{method:?}: slides by {slip:e} inside");
                    stuck += usize::from(inside);
                    slid += usize::from(slip > 1e-2);
                    // Contacts that touch do not approach, and one that leaves carries nothing. An overlap is
                    // no velocity, nor is a gap of less than 1e-9 of the shortest side.
                    let closed = u.z + c.gap.max(0.0) / H;
                    let apart = if c.gap < 1e-10 && u.z.abs() < closed.abs() { u.z } else { closed };
                    // Parting overlaps of this depth turns the angular velocity, by no more than twice the
                    // depth over the shortest lever of a foot, 0.03 m.
                    let depth = world.contacts().iter().map(|c| -c.gap).fold(0.0, f64::max);
                    let turned = 2.0 * depth / 0.03 * new.angular.norm() * lever.norm();
                    let most = slack(method) * 10.0 + turned;
                    assert!(apart >= -most, "{method:?}: approaches by {apart:e}, not {most:e}");
                    assert!(f_n.min(apart) <= unit.max(most), "{method:?}: {f_n:e} {apart:e}");
                }
            }
        }
        assert!(stuck > 100 && slid > 1000, "{method:?}: {stuck} stuck, {slid} slid");
    }
}

/// Without loads no contact gives energy: spheres that meet each other and a plane, whose rotation takes no
/// part in what a step leaves out.
#[test]
fn contacts_of_spheres_take_energy() {
    let thrown = |k: u64| {
        let d = Dice(Draw::new(2407, k));
        let mut world = World::new(8);
        world.gravity = [0.0; 3];
        let plane = world.add(WorldBody::prescribed(WorldShape::Plane), State::default());
        let mut bodies = vec![plane];
        for i in 0..4 {
            let any = |name: &str, most: f64| d.between(&format!("{name} {i}"), -most, most);
            let mut state = State::at(any("x", 0.02), any("y", 0.02), 0.08 + 0.09 * f64::from(i));
            state.velocity = Vector3::new(any("vx", 0.5), any("vy", 0.5), any("vz", 0.5) - 0.5);
            state.angular = 20.0 * Vector3::new(any("wx", 1.0), any("wy", 1.0), any("wz", 1.0));
            state.pose.rotation = UnitQuaternion::from_euler_angles(any("a", 3.0), any("b", 3.0), any("c", 3.0));
            bodies.push(
                world.add(WorldBody::solid(d.log(&format!("mass {i}"), 0.1, 1.0), WorldShape::Sphere(0.04)), state),
            );
        }
        for a in 0..bodies.len() {
            for b in a + 1..bodies.len() {
                let mu = d.between(&format!("mu {a} {b}"), 0.0, 1.0);
                world.pairs.push(Pair { bodies: [bodies[a], bodies[b]], mu });
            }
        }
        world
    };
    const H: f64 = 1e-4;
    for method in METHODS {
        let mut all = worlds(method, (0..10).map(thrown).collect(), H);
        let first: Vec<f64> = all.worlds().iter().map(World::energy).collect();
        let mut before = first.clone();
        // On the CPU long enough for several collisions, by Lemke's method and on the GPU fewer.
        for _ in 0..1500 {
            all.advance(H).unwrap();
            for (k, world) in all.worlds().iter().enumerate() {
                assert!(world.failure().is_none(), "{method:?}: {:?}", world.failure());
                // The gap is linear over a step, so that spheres overlap by (u H)^2 over their radius, which
                // the next step pushes apart.
                let grown = world.energy() - before[k];
                assert!(grown <= 1e-5 * first[k], "{method:?}, world {k}: {:e} of {:e}", grown, first[k]);
                before[k] = world.energy();
            }
        }
        let lost = before.iter().zip(&first).filter(|(now, then)| **now < 0.9 * **then).count();
        assert!(lost >= 8, "{method:?}: {lost} of 10 have collided");
    }
}

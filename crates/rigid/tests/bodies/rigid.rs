//! Tests bodies with contacts, in time steps: analytic solutions, converged series, laws of physics.

use std::f64::consts::{PI, TAU};
use std::path::Path;

use bristle::limit_surface::{Rule, Surface};
use bristle::patch::{Grid, Patch};
use bristle::planar::Wrench;
#[cfg(feature = "gpu")]
use bristle_rigid::gpu::RigidGpu;
use bristle_rigid::lcp::{ContactProblem, Impulses, Termination, blocks};
use bristle_rigid::world::{Kind, Method, Pair, State, World, WorldBody, WorldShape, Worlds};
use nalgebra::{Quaternion, UnitQuaternion, Vector3};
use proptest::prelude::*;

/// The engines of this machine, the CPU's in three ways.
#[derive(Clone, Copy, Debug, PartialEq)]
enum On {
    Cpu(Method),
    #[cfg(feature = "gpu")]
    Gpu,
}

const ENGINES: &[On] = &[
    On::Cpu(Method::Lemke),
    On::Cpu(Method::Double),
    On::Cpu(Method::Single),
    #[cfg(feature = "gpu")]
    On::Gpu,
];

impl On {
    fn worlds(self, worlds: Vec<World>, step: f64) -> Worlds {
        match self {
            Self::Cpu(method) => Worlds::new(worlds, step, method).unwrap(),
            #[cfg(feature = "gpu")]
            Self::Gpu => gpu().worlds(worlds, step).unwrap(),
        }
    }

    const fn is_double(self) -> bool {
        matches!(self, Self::Cpu(Method::Lemke | Method::Double))
    }
}

/// The GPU engine, opened once.
#[cfg(feature = "gpu")]
fn gpu() -> &'static RigidGpu {
    static GPU: std::sync::OnceLock<RigidGpu> = std::sync::OnceLock::new();
    GPU.get_or_init(|| RigidGpu::new(&bristle::Gpu::new(bristle::Choice::Any).unwrap_or_else(|e| panic!("{e}"))))
}

const G: f64 = 9.81;

fn fixture(name: &str) -> Vec<Vec<f64>> {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join("tests/fixtures/rigid").join(name);
    let mut reader = csv::Reader::from_path(path).unwrap();
    reader.records().map(|r| r.unwrap().iter().map(|v| v.parse().unwrap()).collect()).collect()
}

/// A body on a plane, with its state; the body is number 1.
fn on_plane(directions: usize, mu: f64, body: WorldBody, state: State) -> World {
    let mut world = World::new(directions);
    let plane = world.add(WorldBody::prescribed(WorldShape::Plane), State::default());
    let body = world.add(body, state);
    world.pairs.push(Pair { bodies: [plane, body], mu });
    world
}

fn particle(mass: f64) -> WorldBody {
    WorldBody::solid(mass, WorldShape::Points(vec![[0.0; 3]]))
}

/// A velocity in the plane.
fn moving(state: State, angle: f64, speed: f64) -> State {
    State { velocity: speed * Vector3::new(angle.cos(), angle.sin(), 0.0), ..state }
}

/// How exact an engine is, in the units of the test.
fn limit(on: On) -> f64 {
    if on.is_double() { 1e-10 } else { 2e-5 }
}

#[test]
fn a_sliding_particle_has_the_converged_path_and_stopping_time() {
    let rows = fixture("particle_sliding.csv");
    for &on in ENGINES {
        // Steps of a GPU are long because each is a dispatch; its paths are compared with the exact ones to
        // their error.
        let h = if matches!(on, On::Cpu(_)) { 1e-4 } else { 1e-3 };
        let world = |row: &Vec<f64>| {
            let start = moving(State::default(), row[1].to_radians(), 1.7);
            on_plane(row[0] as usize, 0.4, particle(0.6), start)
        };
        let mut worlds = on.worlds(rows.iter().map(world).collect(), h);
        let mut last = vec![0.0; rows.len()];
        while worlds.world(0).time() < 0.7 {
            worlds.advance(h).unwrap();
            for (last, world) in last.iter_mut().zip(worlds.worlds()) {
                if world.states()[1].velocity.norm() > 1e-5 {
                    *last = world.time();
                }
            }
        }
        for (k, row) in rows.iter().enumerate() {
            let [n_d, angle, stops, x, y, x_exact, y_exact] = row[..] else { panic!() };
            let at = worlds.world(k).states()[1].pose.translation.vector;
            // The last step begins before the particle stops.
            assert!((stops - h - 1e-9..stops + 1e-9).contains(&last[k]), "{on:?} {row:?}: {}", last[k]);
            let (x, y, limit) = if h == 1e-4 { (x, y, limit(on)) } else { (x_exact, y_exact, 1e-3) };
            let off = (at.x - x).abs().max((at.y - y).abs()).max(at.z.abs());
            assert!(off < limit, "{on:?} {row:?}: {off:e}");
            // T = |v| (cos psi + sin psi tan beta) / (mu g), psi the angle to the nearest friction direction.
            let beta = PI / n_d;
            let turns = angle.to_radians() / (2.0 * beta);
            let psi = (turns - turns.round()).abs() * 2.0 * beta;
            let closed = 1.7 * (psi.cos() + psi.sin() * beta.tan()) / (0.4 * G);
            assert!((closed - stops).abs() < 1e-12);
        }
    }
}

#[test]
fn bodies_on_an_incline_have_the_converged_motion() {
    for &on in ENGINES {
        for is_box in [false, true] {
            let (height, steps) = if is_box { (0.02, 120) } else { (0.0, 400) };
            let mut rows = fixture("incline.csv");
            rows.retain(|row| (row[0] == 1.0) == is_box);
            let world = |row: &Vec<f64>| {
                let (al, psi) = (row[3].to_radians(), row[2].to_radians());
                let body =
                    if is_box { WorldBody::solid(1.2, WorldShape::Box([0.3, 0.25, 0.02])) } else { particle(1.2) };
                let mut world = on_plane(row[1] as usize, row[4], body, State::at(0.0, 0.0, height));
                world.gravity = [G * al.sin() * psi.cos(), G * al.sin() * psi.sin(), -G * al.cos()];
                world
            };
            let mut worlds = on.worlds(rows.iter().map(world).collect(), 1e-3);
            worlds.advance(f64::from(steps) * 1e-3).unwrap();
            for (row, world) in rows.iter().zip(worlds.worlds()) {
                let [.., ratio, vx, vy, x, y] = row[..] else { panic!() };
                let state = &world.states()[1];
                let at = state.pose.translation.vector - Vector3::new(x, y, height);
                let off = at.amax().max((state.velocity - Vector3::new(vx, vy, 0.0)).amax());
                assert!(off < limit(on) && state.angular.norm() < 10.0 * limit(on), "{on:?} {row:?}: {off:e}");
                // It sticks if tan(alpha) <= mu cos(beta) / cos(beta - psi); these are 0.95, 1.05 and 1.6 of
                // that.
                assert_eq!(ratio < 1.0, state.velocity.norm() < limit(on), "{on:?} {row:?}");
            }
        }
    }
}

/// Moments of inertia of the body of `torque_free_exact.csv`.
const MOMENTS: [f64; 3] = [0.2, 0.5, 0.6];

#[test]
fn a_free_body_turns_as_the_exact_solution_to_first_order() {
    let error = |h: f64| {
        let rows = fixture("torque_free_exact.csv");
        let mut world = World::new(4);
        world.gravity = [0.0; 3];
        let body = WorldBody { inertia: MOMENTS, ..WorldBody::solid(1.0, WorldShape::Sphere(0.1)) };
        world.add(body, State { angular: Vector3::new(rows[0][5], rows[0][6], rows[0][7]), ..State::default() });
        let mut worlds = ENGINES[0].worlds(vec![world], h);
        let mut most: f64 = 0.0;
        for pair in rows.windows(2) {
            worlds.advance(pair[1][0] - pair[0][0]).unwrap();
            let state = &worlds.world(0).states()[0];
            let exact = UnitQuaternion::new_normalize(Quaternion::new(pair[1][1], pair[1][2], pair[1][3], pair[1][4]));
            most = most.max(state.pose.rotation.angle_to(&exact));
            most = most.max((state.angular - Vector3::new(pair[1][5], pair[1][6], pair[1][7])).amax());
        }
        most
    };
    let (coarse, fine) = (error(2e-4), error(1e-4));
    assert!(fine < 0.02 && (1.9..2.1).contains(&(coarse / fine)), "{coarse:e} {fine:e}");
}

/// A tower of boxes, the lowest 8 cm wide.
fn stack(boxes: usize, mu: f64) -> World {
    let mut world = World::new(8);
    let mut below = world.add(WorldBody::prescribed(WorldShape::Plane), State::default());
    let mut top = 0.0;
    for k in 0..boxes {
        let half = [0.04 - 0.008 * k as f64, 0.04 - 0.006 * k as f64, 0.02];
        let body = world
            .add(WorldBody::solid(0.3 - 0.05 * k as f64, WorldShape::Box(half)), State::at(0.0, 0.0, top + half[2]));
        world.pairs.push(Pair { bodies: [below, body], mu });
        (below, top) = (body, top + 2.0 * half[2]);
    }
    world
}

#[test]
fn the_energy_of_a_resting_stack_of_boxes_never_grows_in_a_minute() {
    for &on in ENGINES {
        let mut worlds = on.worlds(vec![stack(3, 0.5)], 2e-2);
        let (first, start) = (worlds.world(0).states().to_vec(), worlds.world(0).energy());
        // Rounding moves boxes by so much energy [J]; the stack has 0.4 J.
        let rounding = if on.is_double() { 1e-10 } else { 1e-7 };
        for _ in 0..3000 {
            worlds.advance(2e-2).unwrap();
            let grown = worlds.world(0).energy() - start;
            assert!(grown <= rounding, "{on:?}: {grown:e}");
        }
        for (before, after) in first.iter().zip(worlds.world(0).states()) {
            let moved = (before.pose.translation.vector - after.pose.translation.vector).norm();
            assert!(moved < if on.is_double() { 1e-9 } else { 1e-5 }, "{on:?}: {moved:e} m");
        }
        assert!(worlds.world(0).residual() <= 1e-6);
    }
}

/// A tripod with three feet that carry the same force: the load that begins to move it by the contact problem
/// is on the limit surface of a patch of three cells.
#[test]
fn a_tripod_slides_where_its_limit_surface_says() {
    const CELLS: [[usize; 2]; 3] = [[0, 1], [4, 0], [2, 5]];
    const MASS: f64 = 0.3;
    const MU: f64 = 0.5;
    let grid = Grid::new(5, 6, 0.1, 0.12).unwrap();
    let mut pressure = vec![0.0; 30];
    CELLS.iter().for_each(|[ix, iy]| pressure[iy * 5 + ix] = 1.0);
    let patch = Patch::from_pressure(grid, &pressure).unwrap();
    let surface = Surface::new(&patch, Rule::Points);
    let cop = patch.cop();
    let feet = CELLS.map(|[ix, iy]| [grid.centre(ix, iy)[0] - cop[0], grid.centre(ix, iy)[1] - cop[1], 0.0]);
    for &on in ENGINES {
        let mut worlds = Vec::new();
        for k in 0..12 {
            let (angle, torque) = (0.5 * f64::from(k), 0.02 * f64::from(k % 5) - 0.04);
            let load = Wrench::new(angle.cos(), angle.sin(), torque);
            let factor = surface.margin(load, MU, MASS * G).unwrap().factor;
            // The polygon of 32 directions is inside the circle, by cos(pi/32) = 0.9952 at most.
            for share in [0.995, 1.001] {
                let mut world =
                    on_plane(32, MU, WorldBody::solid(MASS, WorldShape::Points(feet.to_vec())), State::default());
                let by = factor * share;
                let (force, torque) = ([by * load.fx, by * load.fy, 0.0], [0.0, 0.0, by * load.tau]);
                world.set_load(1, force, torque);
                worlds.push(world);
            }
        }
        let mut worlds = on.worlds(worlds, 1e-3);
        worlds.advance(0.05).unwrap();
        for (k, pair) in worlds.worlds().chunks(2).enumerate() {
            let speed = |w: &World| w.states()[1].velocity.norm() + 0.05 * w.states()[1].angular.norm();
            assert!(
                speed(&pair[0]) < limit(on) && speed(&pair[1]) > 1e-4,
                "{on:?} {k}: {:e} {:e}",
                speed(&pair[0]),
                speed(&pair[1])
            );
        }
    }
}

/// Boxes, spheres and a tripod thrown on a table and on each other.
fn heap(seed: [f64; 6]) -> World {
    let mut world = World::new(8);
    let plane = world.add(WorldBody::prescribed(WorldShape::Plane), State::default());
    let shapes = [
        WorldShape::Box([0.05, 0.04, 0.03]),
        WorldShape::Sphere(0.04),
        WorldShape::Points(vec![[0.05, 0.0, -0.03], [-0.03, 0.04, -0.03], [-0.03, -0.04, -0.03]]),
        WorldShape::Box([0.02, 0.03, 0.05]),
    ];
    let mut bodies = vec![plane];
    for (k, shape) in shapes.into_iter().enumerate() {
        let s = |i: usize| seed[(i + k) % 6];
        let rotation = UnitQuaternion::from_scaled_axis(Vector3::new(s(0), s(1), s(2)));
        let state = State {
            pose: nalgebra::Isometry3::from_parts(
                nalgebra::Translation3::new(0.02 * s(3), 0.02 * s(4), 0.1 + 0.13 * k as f64),
                rotation,
            ),
            velocity: Vector3::new(s(5), s(1), s(0)),
            angular: 5.0 * Vector3::new(s(2), s(3), s(4)),
        };
        bodies.push(world.add(WorldBody::solid(0.2 + 0.1 * k as f64, shape), state));
    }
    for a in 0..bodies.len() {
        for b in a + 1..bodies.len() {
            world.pairs.push(Pair { bodies: [bodies[a], bodies[b]], mu: 0.3 + 0.1 * a as f64 });
        }
    }
    world
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    /// Whatever falls on whatever: no failure, small residuals, no deep overlap, friction in its cone and
    /// against the motion.
    #[test]
    fn heaps_come_to_rest_without_a_failure(seed in prop::array::uniform6(-1.0..1.0f64)) {
        for &on in ENGINES {
            let mut worlds = on.worlds(vec![heap(seed)], 1e-3);
            for _ in 0..60 {
                worlds.advance(1e-2).unwrap();
                let world = worlds.world(0);
                prop_assert!(world.failure().is_none(), "{:?}", world.failure());
                for c in world.contacts() {
                    prop_assert!(c.gap > -2e-3, "{:e}", c.gap);
                    let normal = c.force.dot(&c.normal);
                    let friction = (c.force - normal * c.normal).norm();
                    // A residual of 1e-6 of some 300 N, which stop a body of 0.3 kg with 1 m/s in a step.
                    let slack = if on.is_double() { 1e-6 } else { 1e-3 };
                    let bound = world.pairs[c.pair].mu * normal + slack;
                    prop_assert!(normal >= -slack && friction <= bound, "{on:?} {normal:e} {friction:e}");
                }
            }
            prop_assert!(worlds.world(0).residual() <= 1e-6);
        }
    }
}

#[test]
fn a_world_depends_on_nothing_but_itself_and_pieces_have_the_bits_of_the_whole() {
    for &on in ENGINES {
        let alone = |seed: f64| on.worlds(vec![heap([seed; 6])], 1e-3);
        let many = (0..5).map(|k| heap([0.1 * f64::from(k); 6])).collect();
        let mut worlds = on.worlds(many, 1e-3);
        worlds.advance(0.1).unwrap();
        let saved = worlds.save();
        worlds.advance(0.1).unwrap();
        for k in 0..5 {
            let mut one = alone(0.1 * f64::from(k));
            one.advance(0.1).unwrap();
            one.advance(0.1).unwrap();
            assert_eq!(one.world(0), worlds.world(k as usize), "{on:?} {k}");
        }
        let end = worlds.save();
        worlds.restore(&saved).unwrap();
        worlds.advance_some(&[0, 1, 2, 3, 4, 4], 0.1).unwrap();
        assert_eq!(worlds.save(), end);
        worlds.copy(2, &[0]).unwrap();
        assert_eq!(worlds.world(0), worlds.world(2));
        worlds.reset(&[2]).unwrap();
        assert_eq!(worlds.world(2), alone(0.2).world(0));
    }
}

#[test]
fn what_is_out_of_range_is_refused() {
    let mut worlds = Worlds::new(vec![stack(1, 0.5)], 1e-3, Method::Double).unwrap();
    let of = |e: Result<(), bristle::EngineError>| e.unwrap_err().to_string();
    assert!(of(worlds.set_mu(0, 0, -1.0)).contains("mu = -1"));
    assert!(of(worlds.set_mu(1, 0, 1.0)).contains("below 1, the number of worlds"));
    assert!(of(worlds.set_load(0, 7, [0.0; 3], [0.0; 3])).contains("body = 7"));
    assert!(of(worlds.set_load(0, 1, [f64::NAN, 0.0, 0.0], [0.0; 3])).contains("finite"));
    assert!(of(worlds.advance(-1.0)).contains("dt = -1"));
    assert!(of(worlds.advance_some(&[3], 0.1)).contains("world = 3"));
    let other = Worlds::new(vec![stack(2, 0.5)], 1e-3, Method::Double).unwrap().save();
    assert!(of(worlds.restore(&other)).contains("saved"));
    let bad = |change: &dyn Fn(&mut World)| {
        let mut world = stack(1, 0.5);
        change(&mut world);
        Worlds::new(vec![world], 1e-3, Method::Lemke).unwrap_err().to_string()
    };
    assert!(bad(&|w| w.directions = 3).contains("directions = 3: expected an integer from 4 to 32"));
    assert!(bad(&|w| w.pairs[0].bodies = [0, 0]).contains("contacts[0].bodies"));
    assert!(bad(&|w| w.pairs[0].bodies = [0, 9]).contains("indices below 2"));
    assert!(bad(&|w| w.pairs[0].mu = f64::NAN).contains("contacts[0].mu"));
    assert!(
        bad(&|w| assert!(w.add(WorldBody::solid(-1.0, WorldShape::Sphere(0.1)), State::default()) > 0))
            .contains("bodies[2].mass")
    );
    assert!(
        bad(&|w| assert!(w.add(WorldBody::solid(1.0, WorldShape::Plane), State::default()) > 0)).contains("prescribed")
    );
    assert_eq!(WorldBody::prescribed(WorldShape::Plane).kind, Kind::Prescribed);
}

/// A turntable carries what lies on it; a conveyor brings it to its speed.
#[test]
fn prescribed_bodies_carry_what_lies_on_them() {
    for &on in ENGINES {
        let mut conveyor = World::new(8);
        let belt = State { velocity: Vector3::new(0.3, 0.0, 0.0), ..State::default() };
        let belt = conveyor.add(WorldBody::prescribed(WorldShape::Plane), belt);
        let load = conveyor.add(WorldBody::solid(0.2, WorldShape::Box([0.02; 3])), State::at(0.0, 0.0, 0.02));
        conveyor.pairs.push(Pair { bodies: [belt, load], mu: 0.5 });
        let mut table = World::new(32);
        let turning = State { angular: Vector3::new(0.0, 0.0, 2.0), ..State::default() };
        let turning = table.add(WorldBody::prescribed(WorldShape::Plane), turning);
        let start = State {
            velocity: Vector3::new(0.0, 0.2, 0.0),
            angular: Vector3::new(0.0, 0.0, 2.0),
            ..State::at(0.1, 0.0, 0.02)
        };
        let rider = table.add(WorldBody::solid(0.2, WorldShape::Box([0.02; 3])), start);
        table.pairs.push(Pair { bodies: [turning, rider], mu: 0.5 });
        let mut worlds = on.worlds(vec![conveyor, table], 1e-3);
        worlds.advance(TAU / 2.0 / 2.0).unwrap();
        let carried = &worlds.world(0).states()[load];
        assert!((carried.velocity - Vector3::new(0.3, 0.0, 0.0)).amax() < 1e-6);
        // After half a turn it is opposite, but for the error of the first-order step.
        let at = worlds.world(1).states()[rider].pose.translation.vector;
        assert!((at - Vector3::new(-0.1, 0.0, 0.02)).norm() < 2e-3, "{on:?} {at:?}");
    }
}

/// Whatever the numbers: a world goes on with finite states, or ends with a status.
#[test]
fn extreme_numbers_end_with_a_status() {
    let extremes = [0.0f64, 1e-300, 1e-12, 1e6, 1e9];
    for &on in ENGINES {
        for size in [1e-6, 1e-3, 1e5] {
            for speed in extremes {
                let mut world = World::new(8);
                let table = world.add(WorldBody::prescribed(WorldShape::Plane), State::default());
                let start = State { velocity: speed * Vector3::new(1.0, 0.5, -1.0), ..State::at(0.0, 0.0, size) };
                // The masses differ by as much as they may.
                let mass = 1e-3 + speed.sqrt();
                let low = world.add(WorldBody::solid(mass, WorldShape::Box([size; 3])), start);
                let start = State { angular: speed * Vector3::new(1.0, -1.0, 0.5), ..State::at(0.0, 0.0, 3.0 * size) };
                let high = world.add(WorldBody::solid(1e-3 * mass, WorldShape::Box([size, 0.5 * size, size])), start);
                let ball = WorldBody::solid(1e3 * mass, WorldShape::Sphere(size));
                let ball = world.add(ball, State::at(0.0, 0.0, 5.0 * size));
                for bodies in [[table, low], [low, high], [high, ball], [ball, low], [table, ball]] {
                    world.pairs.push(Pair { bodies, mu: speed.min(1e6) });
                }
                let mut worlds = on.worlds(vec![world], 1e-3);
                worlds.advance(1e-2).unwrap();
                let world = worlds.world(0);
                let finite = world.states().iter().all(|s| s.velocity.iter().all(|v| v.is_finite()));
                assert!(finite != world.failure().is_some(), "{on:?} {size} {speed}: {:?}", world.failure());
            }
        }
    }
}

/// Plates that slide down an incline on each other as one body, with 4 contacts each: up to 16 of them are
/// for single precision on the CPU, up to 32 on a GPU, and more are counted there.
#[test]
fn large_stacks_slide_on_every_engine() {
    const STEPS: u64 = 40;
    let (tilt, mu, start) = (25f64.to_radians(), 0.2, 0.1);
    let engines = ENGINES.iter().filter(|on| **on != On::Cpu(Method::Lemke));
    for (&on, plates) in engines.flat_map(|on| [4, 5, 8, 9].map(|plates| (on, plates))) {
        let mut world = World::new(8);
        world.gravity = [G * tilt.sin(), 0.0, -G * tilt.cos()];
        world.add(WorldBody::prescribed(WorldShape::Plane), State::default());
        for k in 0..plates {
            let plate = WorldBody::solid(0.3, WorldShape::Box([0.05, 0.05, 0.005]));
            let at = State::at(0.0, 0.0, 0.01 * f64::from(k) + 0.005);
            let body = world.add(plate, moving(at, 0.0, start));
            world.pairs.push(Pair { bodies: [body - 1, body], mu: if k == 0 { mu } else { 0.6 } });
        }
        let mut worlds = on.worlds(vec![world], 1e-3);
        worlds.advance(1e-3 * STEPS as f64).unwrap();
        let world = worlds.world(0);
        let wanted = start + G * (tilt.sin() - mu * tilt.cos()) * 1e-3 * STEPS as f64;
        for state in &world.states()[1..] {
            let off = (state.velocity - Vector3::new(wanted, 0.0, 0.0)).amax();
            assert!(off < limit(on), "{on:?} {plates} plates: {off:e}");
        }
        assert_eq!(world.contacts().len(), 4 * plates as usize);
        let most = match on {
            On::Cpu(Method::Single) => 4,
            On::Cpu(_) => 0,
            #[cfg(feature = "gpu")]
            On::Gpu => 8,
        };
        let residual = world.residual();
        assert!(residual < 2e-6 && (residual > 1e-10) == (plates <= most), "{on:?} {plates} plates: {residual:e}");
        let on_cpu = if matches!(on, On::Cpu(_)) || plates <= most { 0 } else { STEPS };
        assert_eq!(world.on_cpu(), on_cpu, "{on:?} {plates} plates");
    }
}

/// Random problems of 1 to 18 contacts.
#[cfg(feature = "gpu")]
fn problems(count: usize) -> Vec<ContactProblem> {
    let problem = |k: usize| {
        let n = 1 + k % 18;
        let value = |i: usize| ((i * 7919 + k * 104_729 + 13) % 1000) as f64 / 500.0 - 1.0;
        let j: Vec<f64> = (0..3 * n * 12).map(value).collect();
        let w = |r: usize, c: usize| (0..12).map(|l| j[r * 12 + l] * j[c * 12 + l]).sum::<f64>();
        let m = 3 * n;
        let b = |r: usize| (0..12).map(|l| j[r * 12 + l] * value(l + 5000)).sum::<f64>();
        ContactProblem {
            w: (0..m * m).map(|i| w(i / m, i % m)).collect(),
            b: (0..m).map(b).collect(),
            mu: (0..n).map(|i| 0.5 + 0.4 * value(i + 9000)).collect(),
            directions: [4, 8, 8, 32][k % 4],
            start: vec![[0.0; 3]; n],
        }
    };
    (0..count).map(problem).collect()
}

/// Whether the adapter is SwiftShader. Rounding decides whether some stiff problems are solved in single
/// precision: of 200, 86 are on the CPU, and 75 on SwiftShader; of the 90 smaller ones 5 differ there, and 1
/// on lavapipe.
#[cfg(feature = "gpu")]
fn rounds_otherwise() -> bool {
    let gpu = bristle::Gpu::new(bristle::Choice::Any).unwrap_or_else(|e| panic!("{e}"));
    bristle::Engine::info(&gpu).adapter.contains("SwiftShader")
}

/// How many of the solutions are in single precision: what is not solved there is solved in double, to 2e-11.
#[cfg(feature = "gpu")]
fn in_single(all: &[Impulses]) -> usize {
    all.iter().filter(|f| f.residual > 1e-10).count()
}

/// The GPU's solver: the CPU's residuals, whatever is in a batch.
#[cfg(feature = "gpu")]
#[test]
fn contact_problems_of_a_gpu_have_small_residuals_and_do_not_depend_on_their_neighbours() {
    let problems = problems(200);
    let found = gpu().solve_contacts(&problems).unwrap();
    for (k, (problem, found)) in problems.iter().zip(&found).enumerate() {
        assert!(found.termination == Termination::Solved && problem.residual(&found.p) <= 1e-6, "{k}: {found:?}");
    }
    let of_cpu = in_single(&blocks::solve_all::<f32>(&problems));
    let most = if rounds_otherwise() { 16 } else { 8 };
    assert!(of_cpu > 60 && in_single(&found).abs_diff(of_cpu) <= most, "{} and {of_cpu} of 200", in_single(&found));
    for k in [0, 7, 33, 151] {
        assert_eq!(gpu().solve_contacts(&problems[k..=k]).unwrap()[0], found[k], "{k}");
    }
}

/// A device with a wrong shader solves others of these problems than the CPU does: the rest is left to double
/// precision.
#[cfg(feature = "gpu")]
fn caught(edit: fn(String) -> String) {
    // Of few contacts, as Lemke's method takes long for many.
    let problems: Vec<ContactProblem> = problems(200).into_iter().filter(|p| p.mu.len() <= 8).collect();
    let single = |all: &[Impulses]| all.iter().map(|found| in_single(std::slice::from_ref(found))).collect::<Vec<_>>();
    let of_cpu = single(&blocks::solve_all::<f32>(&problems));
    let others = |gpu: &RigidGpu| {
        let found = single(&gpu.solve_contacts(&problems).unwrap());
        found.iter().zip(&of_cpu).filter(|(a, b)| a != b).count()
    };
    let wrong = bristle::Gpu::with_edit(bristle::Choice::Any, edit).unwrap_or_else(|e| panic!("{e}"));
    let wrong = RigidGpu::new(&wrong);
    let (right, wrong) = (others(gpu()), others(&wrong));
    // Wrong kernels have 8 to 42.
    let most = if rounds_otherwise() { 6 } else { 3 };
    assert!(right <= most, "the right kernel: {right} of {}", problems.len());
    assert!(wrong > 6, "the comparison lets it pass: {wrong} of {}", problems.len());
}

/// A wrong kernel: the text that is replaced, and by what.
#[cfg(feature = "gpu")]
macro_rules! mutants {
    ($($name:ident: $from:expr => $to:expr;)*) => {
        $(#[test]
        fn $name() {
            caught(|text| {
                assert!(text.contains($from), "the shader has no {:?}: renew the mutant", $from);
                text.replace($from, $to)
            });
        })*
    };
}

#[cfg(feature = "gpu")]
mutants! {
    a_wrong_velocity_is_caught: "u += x * p.x + y * p.y + z * p.z;" => "u += x * p.x + y * p.y - z * p.z;";
    a_wrong_polygon_is_caught: "- reach * size * 0.5);" => "- reach * size);";
    a_wrong_stick_is_caught: "return -(minors * r.x" => "return (minors * r.x";
    a_wrong_direction_is_caught: "let alone = -r.x / nn;" => "let alone = r.x / nn;";
    a_wrong_edge_is_caught: "let pn = (nt * rt - tt * r.x) / area;" => "let pn = (nt * rt + tt * r.x) / area;";
    a_forgotten_newton_step_is_caught: "work[rest] = newton(work[rest], size);" => "work[rest] = work[rest];";
    a_wrong_pivot_is_caught:
        "work[system(to)] -= factor *" => "work[system(to)] += factor *";
    a_wrong_right_side_is_caught: "let right = -dot(t, vec3f(b(3u * i)" => "let right = dot(t, vec3f(b(3u * i)";
}

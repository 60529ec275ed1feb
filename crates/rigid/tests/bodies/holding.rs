//! Worlds that people build first: stacks, tables, grips, heaps. They rest where rest is possible, and lose
//! energy where they move.

use std::f64::consts::TAU;

use crate::worlds::{on_table, uniform};
use bristle::random::Draw;
use bristle_rigid::world::{Axes, Failure, Method, Pair, State, World, WorldBody, WorldShape, Worlds};
use nalgebra::{UnitQuaternion, Vector3};

const G: f64 = 9.81;

/// The force of a pair on its second body.
fn force(world: &World, pair: usize) -> Vector3<f64> {
    world.contacts().iter().filter(|c| c.pair == pair).map(|c| c.force).sum()
}

/// A tower of cubes of this side, displaced and turned by a share of it.
fn tower(cubes: usize, side: f64, masses: impl Fn(usize) -> f64, displaced: impl Fn(usize) -> [f64; 3]) -> World {
    let mut world = on_table();
    for k in 0..cubes {
        let [x, y, turn] = displaced(k);
        let mut state = State::at(x * side, y * side, (k as f64 + 0.5) * side);
        state.pose.rotation = UnitQuaternion::from_scaled_axis(Vector3::new(0.0, 0.0, turn));
        let body = world.add(WorldBody::solid(masses(k), WorldShape::Box([0.5 * side; 3])), state);
        world.pairs.push(Pair { bodies: [body - 1, body], mu: 0.5 });
    }
    world
}

/// The largest displacement of a point of a body, about, over `side`.
fn moved(before: &World, after: &World, side: f64) -> f64 {
    let of = |(a, b): (&State, &State)| {
        let turn = a.pose.rotation.angle_to(&b.pose.rotation);
        (a.pose.translation.vector - b.pose.translation.vector).norm() / side + turn
    };
    before.states().iter().zip(after.states()).map(of).fold(0.0, f64::max)
}

/// Random towers of equal cubes, from 0.1 mm to 10 m, aligned, displaced or turned, rest for ten seconds.
#[test]
fn random_towers_rest() {
    let (mut worlds, mut sides) = (Vec::new(), Vec::new());
    for k in 0..64 {
        let draw = Draw::new(4102, k);
        let side = 1e-4 * 1e5f64.powf(draw.uniform("side"));
        let (aligned, mass) = (k % 3 == 0, 1e-3 * 1e6f64.powf(draw.uniform("mass")));
        let displaced = |cube: usize| {
            let of = |name: &str, most: f64| {
                if aligned { 0.0 } else { uniform(draw, &format!("{name} {cube}"), -most, most) }
            };
            [of("x", 0.05), of("y", 0.05), of("turn", 3.0)]
        };
        worlds.push(tower(2 + k as usize % 7, side, |_| mass, displaced));
        sides.push(side);
    }
    let before = worlds.clone();
    for (method, most) in [(Method::Double, 1e-9), (Method::Single, 1e-5)] {
        let mut worlds = Worlds::new(before.clone(), 1e-2, method).unwrap();
        let energies: Vec<f64> = worlds.worlds().iter().map(World::energy).collect();
        for _ in 0..10 {
            worlds.advance(1.0).unwrap();
            for (k, world) in worlds.worlds().iter().enumerate() {
                assert!(world.failure().is_none(), "{method:?} {k}: {:?}", world.failure());
                let moved = moved(&before[k], world, sides[k]);
                assert!(moved < most, "{method:?} {k}: {moved:e} of {:e} m", sides[k]);
                let grown = world.energy() / energies[k] - 1.0;
                assert!(grown < most, "{method:?} {k}: {grown:e}");
            }
        }
    }
}

#[test]
fn touches_of_aligned_faces_are_four_and_all_of_them_stay() {
    let mut worlds = Worlds::new(vec![tower(5, 0.1, |_| 1.0, |_| [0.0; 3])], 1e-3, Method::Double).unwrap();
    for step in 0..1000 {
        worlds.advance(1e-3).unwrap();
        let world = worlds.world(0);
        assert_eq!(world.contacts().len(), 20, "step {step}");
        for pair in 0..5 {
            let wanted = Vector3::new(0.0, 0.0, (5 - pair) as f64 * G);
            assert!((force(world, pair) - wanted).amax() < 1e-9 * wanted.z, "step {step}: {:?}", force(world, pair));
        }
        // The load of a face is that of its four corners, by symmetry.
        for c in world.contacts() {
            assert!((c.force.z - (5 - c.pair) as f64 * G / 4.0).abs() < 1e-9 * G, "step {step}: {c:?}");
        }
    }
}

/// A heavy cube on a light one, and chains of them.
#[test]
fn heavy_bodies_rest_on_light_ones() {
    for ratio in [1e-6, 1e-4, 1e-2, 1e2, 1e3, 1e4, 1e5, 1e6] {
        let chains: [&dyn Fn(usize) -> f64; 3] =
            [&|k| if k % 2 == 0 { 1.0 } else { ratio }, &|k| if k < 2 { 1.0 } else { ratio }, &|k: usize| {
                ratio.powf(k as f64 / 3.0)
            }];
        for (which, masses) in chains.into_iter().enumerate() {
            let first = tower(4, 0.1, masses, |k| [0.01 * k as f64, 0.0, 0.3 * k as f64]);
            let mut worlds = Worlds::new(vec![first.clone()], 1e-3, Method::Double).unwrap();
            worlds.advance(0.5).unwrap();
            let world = worlds.world(0);
            assert!(world.failure().is_none(), "{ratio:e} {which}: {:?}", world.failure());
            assert!(moved(&first, world, 0.1) < 1e-9, "{ratio:e} {which}: {:e}", moved(&first, world, 0.1));
            for pair in 0..4 {
                let carried = G * (pair..4).map(masses).sum::<f64>();
                let error = (force(world, pair) - Vector3::new(0.0, 0.0, carried)).amax() / carried;
                assert!(error < 1e-6, "{ratio:e} {which}, pair {pair}: {error:e}");
            }
        }
    }
}

/// Towers of many cubes, displaced and turned at random, of which heavy ones rest on light ones.
#[test]
fn tall_chains_of_heavy_and_light_bodies_rest() {
    for cubes in [5, 8, 16] {
        let chains: [&dyn Fn(usize) -> f64; 4] = [
            &|k| if k % 2 == 0 { 1.0 } else { 1e6 },
            &|k| if k + 1 < cubes { 1.0 } else { 1e6 },
            &|k| if k == 0 { 1.0 } else { 1e6 },
            &|k| 1e6f64.powf(k as f64 / (cubes - 1) as f64),
        ];
        for (which, masses) in chains.into_iter().enumerate() {
            for seed in 0..3 {
                let draw = Draw::new(77, seed);
                let of = |name: &str, k: usize, most: f64| uniform(draw, &format!("{name} {k}"), -most, most);
                let first = tower(cubes, 0.1, masses, |k| [of("x", k, 0.05), of("y", k, 0.05), of("turn", k, 3.0)]);
                let mut worlds = Worlds::new(vec![first.clone()], 1e-3, Method::Double).unwrap();
                worlds.advance(0.05).unwrap();
                let (name, world) = (format!("{cubes} {which} {seed}"), worlds.world(0));
                assert!(world.failure().is_none(), "{name}: {:?}", world.failure());
                assert!(moved(&first, world, 0.1) < 1e-9, "{name}: {:e}", moved(&first, world, 0.1));
                for pair in 0..cubes {
                    let carried = G * (pair..cubes).map(masses).sum::<f64>();
                    let error = (force(world, pair) - Vector3::new(0.0, 0.0, carried)).amax() / carried;
                    assert!(error < 1e-6, "{name}, pair {pair}: {error:e}");
                }
            }
        }
    }
}

#[test]
fn bodies_that_differ_more_in_mass_are_refused_if_contacts_connect_them() {
    let masses = |k: usize| [1.0, 1e3, 1e6, 2e6][k];
    let mut world = tower(4, 0.1, masses, |_| [0.0; 3]);
    let told = |world: &World| Worlds::new(vec![world.clone()], 1e-3, Method::Double).err().map(|e| e.to_string());
    let message = told(&world).unwrap();
    assert!(message.contains("bodies[1].mass = 1: expected at least 2e0 kg, because contacts connect it"), "{message}");
    assert!(message.contains("with bodies[4] of 2000000 kg"), "{message}");
    // Nothing that touches it connects it with the others.
    let pair = world.pairs.remove(1);
    assert_eq!((pair.bodies, told(&world)), ([1, 2], None));
    // The table, which nothing moves, does not carry forces from one body to another.
    world.pairs.push(Pair { bodies: [0, 4], mu: 0.3 });
    assert_eq!(told(&world), None);
}

/// A box between two pads that do not turn and are lighter than the box: friction holds it wherever it can.
#[test]
fn a_pinched_box_rests_below_its_limit_and_slips_above() {
    for share in [0.25, 0.5, 0.75, 0.89, 0.95, 0.99, 1.01] {
        let mut world = World::new(8);
        let held = world.add(WorldBody::solid(0.2, WorldShape::Box([0.05; 3])), State::at(0.0, 0.0, 0.5));
        for side in [-1.0, 1.0] {
            let mut pad = WorldBody::solid(0.1, WorldShape::Box([0.01, 0.015, 0.015]));
            pad.inertia = [0.0; 3];
            let pad = world.add(pad, State::at(0.06 * side, 0.0, 0.5));
            world.set_load(pad, [-10.0 * side, 0.0, 0.2 * G], [0.0; 3]);
            // Each pad carries half of the box.
            world.pairs.push(Pair { bodies: [pad, held], mu: 0.5 * 0.2 * G / (10.0 * share) });
        }
        let first = world.clone();
        let mut worlds = Worlds::new(vec![world], 1e-3, Method::Double).unwrap();
        worlds.advance(0.2).unwrap();
        let world = worlds.world(0);
        if share > 1.0 {
            assert!(world.states()[held].velocity.z < -1e-3, "{share}");
            continue;
        }
        assert!(moved(&first, world, 0.1) < 1e-9, "{share}: {:e}", moved(&first, world, 0.1));
        for (pair, side) in [(0, 1.0), (1, -1.0)] {
            let error = (force(world, pair) - Vector3::new(10.0 * side, 0.0, 0.1 * G)).amax();
            assert!(error < 1e-9, "{share}: {:?}", force(world, pair));
        }
        // The four corners of a pad in pairs, left and right alike.
        for c in world.contacts() {
            let mirrored = world.contacts().iter().find(|d| {
                d.pair != c.pair && (d.point.y - c.point.y).abs() < 1e-6 && (d.point.z - c.point.z).abs() < 1e-6
            });
            let mirrored = mirrored.unwrap().force;
            assert!((c.force.x + mirrored.x).abs() + (c.force.z - mirrored.z).abs() < 1e-9, "{share}");
        }
    }
}

/// Of the forces on the legs of a table the least sum of squares is told, which is that of equal springs; it
/// follows the load, and a plank on three supports loads them symmetrically.
#[test]
fn forces_that_are_not_unique_are_those_of_least_norm() {
    let legs = vec![[0.3, 0.2, -0.4], [-0.3, 0.2, -0.4], [0.3, -0.2, -0.4], [-0.3, -0.2, -0.4]];
    let mut before: Option<Vec<f64>> = None;
    for k in 0..21 {
        let torque = 0.05 * f64::from(k - 10);
        let mut world = on_table();
        let table = world.add(WorldBody::solid(2.0, WorldShape::Points(legs.clone())), State::at(0.0, 0.0, 0.4));
        world.set_load(table, [0.0; 3], [torque, 0.7 * torque, 0.0]);
        world.pairs.push(Pair { bodies: [0, table], mu: 0.4 });
        let mut worlds = Worlds::new(vec![world], 1e-3, Method::Double).unwrap();
        worlds.advance(0.01).unwrap();
        let now: Vec<f64> = worlds.world(0).contacts().iter().map(|c| c.force.z).collect();
        for (leg, force) in legs.iter().zip(&now) {
            // m g / 4 - y tx / sum y^2 + x ty / sum x^2
            let wanted = 2.0 * G / 4.0 - leg[1] * torque / 0.16 + leg[0] * 0.7 * torque / 0.36;
            assert!((force - wanted).abs() < 1e-9, "{torque}: {force} {wanted}");
        }
        if let Some(before) = &before {
            assert!(before.iter().zip(&now).all(|(a, b)| (a - b).abs() < 0.2));
        }
        before = Some(now);
    }
    let mut world = World::new(8);
    let mut supports = Vec::new();
    for x in [-0.4, 0.0, 0.4] {
        supports.push(world.add(WorldBody::prescribed(WorldShape::Sphere(0.05)), State::at(x, 0.0, 0.0)));
    }
    let plank = world.add(WorldBody::solid(3.0, WorldShape::Box([0.5, 0.05, 0.01])), State::at(0.0, 0.0, 0.06));
    supports.iter().for_each(|s| world.pairs.push(Pair { bodies: [*s, plank], mu: 0.3 }));
    let mut worlds = Worlds::new(vec![world], 1e-3, Method::Double).unwrap();
    worlds.advance(0.05).unwrap();
    for pair in 0..3 {
        assert!((force(worlds.world(0), pair) - Vector3::new(0.0, 0.0, G)).amax() < 1e-9);
    }
}

/// A table with two walls at this distance [m] from its origin.
fn in_a_corner(distance: f64) -> World {
    let mut world = on_table();
    for direction in [Vector3::x(), Vector3::y()] {
        let mut wall = State { pose: nalgebra::Isometry3::from(-distance * direction), ..State::default() };
        wall.pose.rotation = UnitQuaternion::rotation_between(&Vector3::z(), &direction).unwrap();
        world.add(WorldBody::prescribed(WorldShape::Plane), wall);
    }
    world
}

/// Boxes, balls and tripods that are thrown into a corner.
fn thrown(k: u64, bodies: usize) -> World {
    thrown_of(k, bodies, |i| i % 4)
}

/// The same of bodies of chosen kinds: boxes (0 and 1), balls (2) and tripods.
fn thrown_of(k: u64, bodies: usize, kind: impl Fn(usize) -> usize) -> World {
    let draw = Draw::new(4105, k);
    let of = |name: &str, i: usize, low: f64, high: f64| uniform(draw, &format!("{name} {i}"), low, high);
    let mut world = in_a_corner(0.3);
    for i in 0..bodies {
        let shape = match kind(i) {
            0 | 1 => WorldShape::Box(["a", "b", "c"].map(|side| of(side, i, 0.02, 0.045))),
            2 => WorldShape::Sphere(of("radius", i, 0.02, 0.045)),
            _ => WorldShape::Points(vec![[0.05, 0.0, -0.03], [-0.03, 0.04, -0.03], [-0.03, -0.04, -0.03]]),
        };
        // In layers of nine, near to each other.
        let [x, y, z] = [(i % 3) as f64, (i / 3 % 3) as f64, (i / 9) as f64];
        let mut state = State::at(0.17 * x - 0.15, 0.17 * y - 0.15, 0.1 + 0.17 * z);
        state.pose.rotation =
            UnitQuaternion::from_scaled_axis(Vector3::from(["u", "v", "w"].map(|axis| of(axis, i, -2.0, 2.0))));
        state.velocity = Vector3::new(of("vx", i, -1.0, 0.2), of("vy", i, -1.0, 0.2), of("vz", i, -1.0, 0.2));
        state.angular = Vector3::from(["p", "q", "r"].map(|axis| of(axis, i, -8.0, 8.0)));
        world.add(WorldBody::solid(0.1 * 10f64.powf(draw.uniform(&format!("mass {i}"))), shape), state);
    }
    let points = |world: &World, i: usize| matches!(world.bodies()[i].shape, WorldShape::Points(_));
    for b in 3..3 + bodies {
        for a in 0..b {
            if !(points(&world, a) && points(&world, b)) {
                world.pairs.push(Pair { bodies: [a, b], mu: of("mu", a + 100 * b, 0.0, 1.0) });
            }
        }
    }
    world
}

/// Whatever is thrown, its energy never rises: not by contacts, not by overlaps that are parted, not by
/// turning. Short steps begin in the middle of the impacts.
#[test]
fn energy_never_rises() {
    let thrown: Vec<World> = (0..200).map(|k| thrown(k, 4)).collect();
    // Beside which nothing rises; later the energy may be below zero.
    let first: Vec<f64> = thrown.iter().map(World::energy).collect();
    let mut later = Worlds::new(thrown.clone(), 1e-3, Method::Double).unwrap();
    later.advance(0.15).unwrap();
    for (h, steps) in [(1e-2, 60), (1e-3, 400), (1e-4, 300), (1e-5, 300)] {
        let begun = if h < 1e-3 { later.worlds().to_vec() } else { thrown.clone() };
        let mut worlds = Worlds::new(begun, h, Method::Double).unwrap();
        let mut touched = vec![false; worlds.len()];
        let mut before: Vec<f64> = worlds.worlds().iter().map(World::energy).collect();
        for step in 0..steps {
            worlds.advance(h).unwrap();
            for (k, world) in worlds.worlds().iter().enumerate() {
                assert!(world.failure().is_none(), "{h:e} {k}: {:?}", world.failure());
                let rise = (world.energy() - before[k]) / first[k];
                assert!(rise < 1e-10, "{h:e}, world {k}, step {step}: {rise:e}");
                before[k] = world.energy();
                touched[k] |= world.contacts().iter().any(|contact| contact.force.norm() > 0.0);
            }
        }
        let touched = touched.into_iter().filter(|touched| *touched).count();
        assert!(touched > 150, "{h:e}: bodies touch in {touched} of 200 worlds");
    }
}

/// What is listed first, of bodies, pairs and, with an even number of directions, the two bodies of a pair,
/// makes no difference at all: not where forces or motions are unique, nor where one of several is found.
#[test]
fn the_order_of_bodies_and_pairs_does_not_matter() {
    let tower_of_five = tower(5, 0.1, |k| [0.1, 3.0][k % 2], |_| [0.0; 3]);
    let mut worlds: Vec<World> = (0..40).map(|k| thrown(k, 6)).chain([tower_of_five]).collect();
    let odd = worlds.len();
    worlds.extend((0..6).map(|k| {
        let mut world = thrown(k, 6);
        world.directions = 7;
        world
    }));
    let reversed = |one: &World, swaps: bool| {
        let n = one.bodies().len();
        let mut other = World::new(one.directions);
        for i in (0..n).rev() {
            other.add(one.bodies()[i].clone(), one.states()[i]);
        }
        let ends = |p: &Pair| if swaps { [p.bodies[1], p.bodies[0]] } else { p.bodies };
        other.pairs = one.pairs.iter().rev().map(|p| Pair { bodies: ends(p).map(|i| n - 1 - i), mu: p.mu }).collect();
        other
    };
    for method in [Method::Double, Method::Single, Method::Lemke] {
        for swaps in [false, true] {
            let worlds = &worlds[..if swaps { odd } else { worlds.len() }];
            let others = worlds.iter().map(|world| reversed(world, swaps)).collect();
            let mut ones = Worlds::new(worlds.to_vec(), 1e-3, method).unwrap();
            let mut others = Worlds::new(others, 1e-3, method).unwrap();
            ones.advance(0.15).unwrap();
            others.advance(0.15).unwrap();
            for (k, (one, other)) in ones.worlds().iter().zip(others.worlds()).enumerate() {
                let n = one.bodies().len();
                assert!(one.failure().is_none() || method == Method::Lemke, "{method:?} {k}: {:?}", one.failure());
                for (i, state) in one.states().iter().enumerate().filter(|_| one.failure().is_none()) {
                    assert_eq!(*state, other.states()[n - 1 - i], "{method:?}, ends {swaps}, {k}, body {i}");
                }
                for pair in 0..one.pairs.len() {
                    let [a, b] = [force(one, pair), force(other, one.pairs.len() - 1 - pair)];
                    let apart = if swaps { (a + b).norm() } else { (a - b).norm() };
                    assert!(apart <= 1e-12 * a.norm(), "{method:?}, ends {swaps}, {k}, pair {pair}: {a} and {b}");
                }
            }
        }
    }
}

/// A box that begins in overlap rises out of it slowly, and is not launched; one far in the table is refused.
#[test]
fn overlaps_are_parted_and_are_no_energy() {
    for h in [1e-2, 1e-3, 1e-4, 1e-5] {
        let mut world = on_table();
        let body = world.add(WorldBody::solid(0.5, WorldShape::Box([0.05; 3])), State::at(0.0, 0.0, 0.05 - 1.5e-4));
        world.pairs.push(Pair { bodies: [0, body], mu: 0.5 });
        let mut worlds = Worlds::new(vec![world], h, Method::Double).unwrap();
        let mut highest = 0.0f64;
        for _ in 0..20 {
            worlds.advance(0.01).unwrap();
            let state = worlds.world(0).states()[body];
            highest = highest.max(state.pose.translation.vector.z);
            assert!(state.velocity.norm() < 1e-9, "{h:e}: {:e}", state.velocity.norm());
        }
        assert!((worlds.world(0).states()[body].pose.translation.vector.z - 0.05).abs() < 1e-9, "{h:e}");
        assert!(highest < 0.05 + 1e-9, "{h:e}: {highest}");
    }
    let mut world = on_table();
    let body = world.add(WorldBody::solid(0.5, WorldShape::Box([0.05; 3])), State::at(0.0, 0.0, 0.03));
    world.pairs.push(Pair { bodies: [0, body], mu: 0.5 });
    let refused = Worlds::new(vec![world], 1e-3, Method::Double).unwrap_err().to_string();
    assert!(refused.contains("contacts[0].bodies") && refused.contains("overlap by 2.000e-2 m"), "{refused}");
}

/// A body that a prescribed one presses into another has no motion: the world stops, and names all of them.
#[test]
fn a_squeezed_body_stops_its_world() {
    let mut world = on_table();
    let body = world.add(WorldBody::solid(0.5, WorldShape::Box([0.05; 3])), State::at(0.0, 0.0, 0.05));
    let mut above = State::at(0.0, 0.0, 0.2);
    above.velocity.z = -1.0;
    let press = world.add(WorldBody::prescribed(WorldShape::Box([0.05; 3])), above);
    let apart = world.add(WorldBody::solid(0.5, WorldShape::Box([0.05; 3])), State::at(1.0, 0.0, 0.05));
    world.pairs = [[0, body], [press, body], [0, apart]].map(|bodies| Pair { bodies, mu: 0.5 }).to_vec();
    let mut worlds = Worlds::new(vec![world], 1e-3, Method::Double).unwrap();
    worlds.advance(0.1).unwrap();
    let stop = worlds.world(0).failure().unwrap();
    assert!(matches!(stop.why, Failure::Unsolved { .. }) && stop.step == 50, "{stop:?}");
    assert_eq!(stop.bodies, [0, body, press]);
}

/// A ball at rest on a wall, that another ball is pressed against, does not enter the wall, whatever gap of
/// rounding there is.
#[test]
fn a_body_that_is_pushed_at_rest_keeps_its_contacts() {
    for k in 0..100u64 {
        let draw = Draw::new(4109, k);
        let of = |name: &str| uniform(draw, name, -2.0, 2.0);
        let turn = UnitQuaternion::from_scaled_axis(Vector3::new(of("u"), of("v"), of("w")));
        let normal = turn * Vector3::z();
        let mut world = World::new(8);
        world.gravity = [0.0; 3];
        let wall = State { pose: nalgebra::Isometry3::from_parts(Vector3::zeros().into(), turn), ..State::default() };
        world.add(WorldBody::prescribed(WorldShape::Plane), wall);
        for (place, force) in [(0.05, 0.0), (0.15, 3.0)] {
            let [x, y, z] = (place * normal).into();
            let body = world.add(WorldBody::solid(0.1, WorldShape::Sphere(0.05)), State::at(x, y, z));
            world.pairs.push(Pair { bodies: [body - 1, body], mu: 0.0 });
            world.set_load(body, (-force * normal).into(), [0.0; 3]);
        }
        let mut worlds = Worlds::new(vec![world], 1e-3, Method::Double).unwrap();
        worlds.advance(0.02).unwrap();
        for state in &worlds.world(0).states()[1..] {
            assert!(state.velocity.norm() < 1e-9, "{k}: {:e} m/s", state.velocity.norm());
        }
    }
}

/// More contacts than any engine took before: nine boxes on a table, a tower of twelve, 33 balls, and boxes
/// thrown into a corner.
#[test]
fn large_worlds_go_on() {
    let mut nine = on_table();
    for k in 0..9 {
        let at = State::at(0.2 * f64::from(k), 0.0, 0.05);
        let body = nine.add(WorldBody::solid(0.5, WorldShape::Box([0.05; 3])), at);
        nine.pairs.push(Pair { bodies: [0, body], mu: 0.5 });
    }
    let mut balls = on_table();
    for k in 0..33 {
        let at = State::at(0.11 * f64::from(k % 6), 0.11 * f64::from(k / 6), 0.05);
        balls.add(WorldBody::solid(0.1, WorldShape::Sphere(0.05)), at);
    }
    for b in 1..34 {
        (0..b).for_each(|a| balls.pairs.push(Pair { bodies: [a, b], mu: 0.4 }));
    }
    let worlds = vec![nine, tower(12, 0.1, |_| 1.0, |_| [0.0; 3]), balls, thrown(3, 27)];
    let mut worlds = Worlds::new(worlds, 2e-3, Method::Double).unwrap();
    let mut most = [0; 4];
    for _ in 0..100 {
        worlds.advance(2e-3).unwrap();
        for (most, world) in most.iter_mut().zip(worlds.worlds()) {
            assert!(world.failure().is_none(), "{:?}", world.failure());
            *most = world.contacts().len().max(*most);
        }
    }
    assert!(most[0] == 36 && most[1] == 48 && most[2] >= 33 && most[3] > 32, "{most:?}");
}

/// Thirty equal boxes with the same friction everywhere, which are thrown into a corner.
fn equal_boxes(k: u64) -> World {
    let draw = Draw::new(52, k);
    let mut world = in_a_corner(0.13);
    for i in 0..30 {
        let of = |name: &str| uniform(draw, &format!("{name} {i}"), -1.0, 1.0);
        let at = [i % 4, i / 4 % 4, i / 16].map(|n| 0.13 * n as f64);
        let mut state = State::at(at[0] + 0.0026 * of("x"), at[1] + 0.0026 * of("y"), at[2] + 0.078);
        state.pose.rotation = UnitQuaternion::from_scaled_axis(3.0 * Vector3::new(of("u"), of("v"), of("w")));
        state.velocity = Vector3::new(-1.0 + 0.2 * of("vx"), -1.0 + 0.2 * of("vy"), 0.0);
        let body = world.add(WorldBody::solid(0.1, WorldShape::Box([0.03, 0.04, 0.03])), state);
        (0..body).for_each(|a| world.pairs.push(Pair { bodies: [a, body], mu: 0.4 }));
    }
    world
}

/// Thirty boxes thrown into a corner come to lie on each other with more than a hundred contacts, and their
/// energy does not rise: boxes of many sizes and frictions, and equal ones, which lock in many ways.
#[test]
fn heaps_of_boxes_go_on() {
    let heaps = (0..2).map(|k| thrown_of(k, 30, |_| 0)).chain([equal_boxes(0)]);
    let mut worlds = Worlds::new(heaps.collect(), 2e-3, Method::Double).unwrap();
    let first: Vec<f64> = worlds.worlds().iter().map(World::energy).collect();
    let (mut before, mut most) = (first.clone(), [0; 3]);
    for _ in 0..300 {
        worlds.advance(2e-3).unwrap();
        for (k, world) in worlds.worlds().iter().enumerate() {
            assert!(world.failure().is_none(), "{k}: {:?}", world.failure());
            let rise = (world.energy() - before[k]) / first[k];
            assert!(rise < 1e-8, "{k}, {} s: {rise:e}", world.time());
            before[k] = world.energy();
            most[k] = world.contacts().len().max(most[k]);
        }
    }
    assert!(most.iter().all(|most| *most > 100), "{most:?}");
    assert!(worlds.worlds().iter().all(|world| world.residual() < 1e-8));
}

/// Friction of a box on the edge of another, of parallel edges, of a thin plate, of a small box on a large
/// one: each rests where statics says so.
#[test]
fn boxes_rest_on_corners_edges_and_plates() {
    let fixed = |half: [f64; 3], turn: Vector3<f64>, z: f64| {
        let mut world = World::new(8);
        let mut state = State::at(0.0, 0.0, z);
        state.pose.rotation = UnitQuaternion::from_scaled_axis(turn);
        world.add(WorldBody::prescribed(WorldShape::Box(half)), state);
        world
    };
    let big = |z: f64| fixed([0.5; 3], Vector3::zeros(), z);
    let cases: Vec<(&str, World, [f64; 3], State)> = vec![
        ("over the edge", big(-0.5), [0.05; 3], State::at(0.48, 0.0, 0.05)),
        ("corner on the edge", big(-0.5), [0.05; 3], State::at(0.45, 0.45, 0.05)),
        ("edges that coincide", big(-0.5), [0.05; 3], State::at(0.45, 0.1, 0.05)),
        ("small on large", big(-0.5), [1e-3; 3], State::at(0.3, -0.2, 1e-3)),
        ("a thin plate", big(-0.5), [0.2, 0.2, 1e-4], State::at(0.1, 0.0, 1e-4)),
        ("on a thin plate", fixed([0.2, 0.2, 1e-4], Vector3::zeros(), -1e-4), [0.05; 3], State::at(0.1, 0.0, 0.05)),
        (
            "on a ridge",
            fixed([0.1; 3], Vector3::new(0.0, TAU / 8.0, 0.0), -0.1 * 2f64.sqrt()),
            [0.2, 0.2, 0.02],
            State::at(0.0, 0.0, 0.02),
        ),
    ];
    for (name, mut world, half, state) in cases {
        let body = world.add(WorldBody::solid(0.4, WorldShape::Box(half)), state);
        world.pairs.push(Pair { bodies: [0, body], mu: 0.5 });
        let first = world.clone();
        let mut worlds = Worlds::new(vec![world], 1e-3, Method::Double).unwrap();
        for _ in 0..300 {
            worlds.advance(1e-3).unwrap();
            let world = worlds.world(0);
            assert!(world.failure().is_none(), "{name}: {:?}", world.failure());
            let error = (force(world, 0) - Vector3::new(0.0, 0.0, 0.4 * G)).amax();
            assert!(error < 1e-8, "{name}: {:?}", force(world, 0));
        }
        assert!(
            moved(&first, worlds.world(0), half[2]) < 1e-9,
            "{name}: {:e}",
            moved(&first, worlds.world(0), half[2])
        );
    }
}

/// With four directions friction is weakest between two of them: where these begin decides how far a body
/// slides on a table that is turned under it, by `cos psi + sin psi tan beta`, (LCP 4) of docs/model.md.
#[test]
fn friction_directions_are_those_of_the_world_or_turn_with_the_first_body() {
    let (mu, speed, psi) = (0.3, 0.6, TAU / 12.0);
    let stops = speed / (mu * G);
    let slid = |axes: Axes, swapped: bool| {
        let mut world = World::new(4);
        world.axes = axes;
        let mut turned = State::default();
        turned.pose.rotation = UnitQuaternion::from_scaled_axis(Vector3::new(0.0, 0.0, psi));
        world.add(WorldBody::prescribed(WorldShape::Plane), turned);
        let start = State { velocity: Vector3::new(speed, 0.0, 0.0), ..State::default() };
        let body = world.add(WorldBody::solid(0.2, WorldShape::Points(vec![[0.0; 3]])), start);
        world.pairs.push(Pair { bodies: if swapped { [body, 0] } else { [0, body] }, mu });
        let mut worlds = Worlds::new(vec![world], 1e-4, Method::Double).unwrap();
        let mut last = 0.0;
        while worlds.world(0).time() < 2.0 * stops {
            worlds.advance(1e-4).unwrap();
            if worlds.world(0).states()[body].velocity.norm() > 1e-6 {
                last = worlds.world(0).time();
            }
        }
        last / stops
    };
    let late = psi.cos() + psi.sin();
    for (axes, swapped, wanted) in
        [(Axes::World, false, 1.0), (Axes::World, true, 1.0), (Axes::Body, false, late), (Axes::Body, true, 1.0)]
    {
        let found = slid(axes, swapped);
        assert!((found - wanted).abs() < 1e-3, "{axes:?}, swapped {swapped}: {found} of {wanted}");
    }
}

/// A particle that slides on a turntable has the path of its equation of motion, whose friction is that of
/// the polygon: one that stays in the world, or turns with the table. The paths differ.
#[test]
fn friction_directions_stay_in_the_world_or_turn_with_a_turntable() {
    let (mu, turning, end) = (0.3, 3.0, 0.2);
    let start = State { velocity: Vector3::new(0.1, 1.0, 0.0), ..State::at(0.1, 0.02, 0.0) };
    let stepped = |axes: Axes| {
        let mut world = World::new(4);
        world.axes = axes;
        let angular = Vector3::new(0.0, 0.0, turning);
        world.add(WorldBody::prescribed(WorldShape::Plane), State { angular, ..State::default() });
        let body = world.add(WorldBody::solid(0.2, WorldShape::Points(vec![[0.0; 3]])), start);
        world.pairs.push(Pair { bodies: [0, body], mu });
        let mut worlds = Worlds::new(vec![world], 1e-4, Method::Double).unwrap();
        worlds.advance(end).unwrap();
        worlds.world(0).states()[body].pose.translation.vector
    };
    let computed = |axes: Axes| {
        let (h, n) = (1e-6, 200_000);
        let (mut x, mut v) = (start.pose.translation.vector, start.velocity);
        for step in 0..n {
            let slip = v - Vector3::new(-turning * x.y, turning * x.x, 0.0);
            let turned = if axes == Axes::Body { turning * h * f64::from(step) } else { 0.0 };
            let corner = |k: u32| {
                let angle = turned + TAU / 4.0 * f64::from(k);
                Vector3::new(angle.cos(), angle.sin(), 0.0)
            };
            let against = (0..4).map(corner).min_by(|a, b| a.dot(&slip).total_cmp(&b.dot(&slip))).unwrap();
            v += h * mu * G * against;
            x += h * v;
        }
        x
    };
    let [world, body] = [Axes::World, Axes::Body].map(|axes| (stepped(axes), computed(axes)));
    for (found, wanted) in [world, body] {
        let apart = (found - wanted).norm();
        assert!(apart < 2e-4, "{found} is not {wanted}: {apart:e} m");
    }
    assert!((world.1 - body.1).norm() > 5e-3, "{} and {}", world.1, body.1);
}

/// On a slope across the directions of friction, friction is that of the middle of an edge: a body that
/// Coulomb's law holds creeps, with few directions by much.
#[test]
fn a_body_creeps_on_a_slope_across_the_directions() {
    let (mu, share): (f64, f64) = (0.3, 0.999);
    let slope = (share * mu).atan();
    for (directions, creeps) in [(4, 0.41), (8, 0.106), (16, 0.0257), (32, 0.0053)] {
        let mut world = World::new(directions);
        // Downhill is along x of the plane, and the first direction half an edge beside it.
        world.axes = Axes::Body;
        let down = Vector3::new(slope.sin(), 0.0, -slope.cos());
        let turn = UnitQuaternion::from_scaled_axis(Vector3::new(0.0, 0.0, 0.5 * TAU / directions as f64));
        world.gravity = (turn * (G * down)).into();
        world.add(WorldBody::prescribed(WorldShape::Plane), State::default());
        let body = world.add(WorldBody::solid(0.2, WorldShape::Points(vec![[0.0; 3]])), State::default());
        world.pairs.push(Pair { bodies: [0, body], mu });
        let mut worlds = Worlds::new(vec![world], 1e-3, Method::Double).unwrap();
        worlds.advance(1.0).unwrap();
        let moved = worlds.world(0).states()[body].pose.translation.vector.norm();
        let edge = mu * (0.5 * TAU / directions as f64).cos();
        let wanted = 0.5 * G * slope.cos() * (share * mu - edge);
        assert!((moved / wanted - 1.0).abs() < 2e-3, "{directions} directions: {moved} of {wanted} m");
        assert!((moved / creeps - 1.0).abs() < 0.03, "{directions} directions: {moved} m, told are {creeps}");
    }
}

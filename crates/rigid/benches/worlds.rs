//! Time of a step of worlds on one core: towers, balls, and boxes thrown into a corner; and of a batch of
//! small worlds on all cores.
//!
//! ```sh
//! cargo bench -p bristle-rigid --bench worlds [-- PART OF A NAME]
//! ```

#[path = "../tests/common/mod.rs"]
mod common;

use std::time::Instant;

use bristle::random::Draw;
use bristle_rigid::world::{Method, Pair, State, World, WorldBody, WorldShape, Worlds};
use common::{on_table, uniform};
use nalgebra::{UnitQuaternion, Vector3};

/// Boxes on each other, displaced and turned at random.
fn tower(k: u64, boxes: usize) -> World {
    let draw = Draw::new(51, k);
    let mut world = on_table();
    for i in 0..boxes {
        let of = |name: &str, most: f64| uniform(draw, &format!("{name} {i}"), -most, most);
        let mut state = State::at(of("x", 5e-3), of("y", 5e-3), 0.1 * (i as f64 + 0.5));
        state.pose.rotation = UnitQuaternion::from_scaled_axis(Vector3::new(0.0, 0.0, of("turn", 3.0)));
        let body = world.add(WorldBody::solid(1.0 + 0.5 * of("mass", 1.0), WorldShape::Box([0.05; 3])), state);
        world.pairs.push(Pair { bodies: [body - 1, body], mu: 0.5 });
    }
    world
}

/// Bodies in layers of `side` x `side`, which fall on a table between two walls, each able to touch all
/// others.
fn heap(k: u64, bodies: usize, side: usize, shape: &WorldShape, spacing: f64) -> World {
    let draw = Draw::new(52, k);
    let mut world = on_table();
    for direction in [Vector3::x(), Vector3::y()] {
        let mut wall = State { pose: nalgebra::Isometry3::from(-spacing * direction), ..State::default() };
        wall.pose.rotation = UnitQuaternion::rotation_between(&Vector3::z(), &direction).expect("a right angle");
        world.add(WorldBody::prescribed(WorldShape::Plane), wall);
    }
    for i in 0..bodies {
        let of = |name: &str| uniform(draw, &format!("{name} {i}"), -1.0, 1.0);
        let at = [i % side, i / side % side, i / side / side].map(|n| n as f64 * spacing);
        let mut state =
            State::at(at[0] + 0.02 * spacing * of("x"), at[1] + 0.02 * spacing * of("y"), at[2] + 0.6 * spacing);
        if *shape != WorldShape::Sphere(0.025) {
            state.pose.rotation = UnitQuaternion::from_scaled_axis(3.0 * Vector3::new(of("u"), of("v"), of("w")));
            state.velocity = Vector3::new(-1.0 + 0.2 * of("vx"), -1.0 + 0.2 * of("vy"), 0.0);
        }
        world.add(WorldBody::solid(0.1, shape.clone()), state);
    }
    for b in 3..3 + bodies {
        (0..b).for_each(|a| world.pairs.push(Pair { bodies: [a, b], mu: 0.4 }));
    }
    world
}

/// Balls that roll on a table, each able to touch all others.
fn rolling(k: u64, balls: usize) -> World {
    let draw = Draw::new(53, k);
    let mut world = on_table();
    for i in 0..balls {
        let of = |name: &str| uniform(draw, &format!("{name} {i}"), -1.0, 1.0);
        let mut state = State::at(0.11 * (i % 6) as f64, 0.11 * (i / 6) as f64, 0.05);
        state.velocity = 0.1 * Vector3::new(of("vx"), of("vy"), 0.0);
        let body = world.add(WorldBody::solid(0.1, WorldShape::Sphere(0.05)), state);
        (0..body).for_each(|a| world.pairs.push(Pair { bodies: [a, body], mu: 0.4 }));
    }
    world
}

/// Whether the first argument, if there is one, is a part of the name.
fn is_wanted(name: &str) -> bool {
    std::env::args().nth(1).is_none_or(|wanted| wanted.starts_with('-') || name.contains(&wanted))
}

/// Steps worlds one by one, and prints the time of a step.
fn report(name: &str, worlds: Vec<World>, method: Method, steps: usize) {
    if !is_wanted(name) {
        return;
    }
    let threads = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread");
    let (mut seconds, mut longest, mut contacts, mut failed, mut halved) = (0.0, 0.0f64, 0, 0, 0);
    let count = worlds.len() * steps;
    for world in worlds {
        let mut one = Worlds::new(vec![world], 1e-3, method).expect("a world");
        for _ in 0..steps {
            let start = Instant::now();
            threads.install(|| one.advance(1e-3)).expect("a step");
            let took = start.elapsed().as_secs_f64();
            (seconds, longest) = (seconds + took, longest.max(took));
            contacts = one.world(0).contacts().len().max(contacts);
        }
        failed += usize::from(one.world(0).failure().is_some());
        halved += one.world(0).halved();
    }
    println!(
        "{name:<26} {:>9.4} ms a step, longest {:>8.3} ms, contacts <= {contacts}, {halved} halved, {failed} stopped",
        1e3 * seconds / count as f64,
        1e3 * longest
    );
}

fn main() {
    for boxes in [2, 5, 8, 12] {
        report(&format!("towers of {boxes}"), (0..8).map(|k| tower(k, boxes)).collect(), Method::Double, 500);
    }
    let balls = |k| heap(k, 30, 3, &WorldShape::Sphere(0.025), 0.056);
    report("30 balls on a table", (0..4).map(|k| rolling(k, 30)).collect(), Method::Double, 1000);
    report("30 balls in a corner", (0..4).map(balls).collect(), Method::Double, 1000);
    let boxes = |n| move |k| heap(k, n, 4, &WorldShape::Box([0.03, 0.04, 0.03]), 0.13);
    report("30 boxes in a corner", (0..4).map(boxes(30)).collect(), Method::Double, 500);
    report("100 boxes in a corner", (0..1).map(boxes(100)).collect(), Method::Double, 300);
    for method in [Method::Double, Method::Single] {
        let name = format!("4096 towers of 2, {method:?}");
        if !is_wanted(&name) {
            continue;
        }
        let mut worlds = Worlds::new((0..4096).map(|k| tower(k, 2)).collect(), 1e-3, method).expect("worlds");
        let start = Instant::now();
        worlds.advance(0.02).expect("steps");
        let rate = 4096.0 * 20.0 / start.elapsed().as_secs_f64();
        println!("{name}: {rate:.3e} world-steps per second on all cores");
    }
}

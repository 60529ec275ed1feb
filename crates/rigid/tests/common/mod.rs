//! What tests and benches of worlds share.

use bristle::random::Draw;
use bristle_rigid::world::{State, World, WorldBody, WorldShape};

/// A world with a table, its body 0.
pub fn on_table() -> World {
    let mut world = World::new(8);
    world.add(WorldBody::prescribed(WorldShape::Plane), State::default());
    world
}

/// Uniform between two numbers.
pub fn uniform(draw: Draw, name: &str, low: f64, high: f64) -> f64 {
    low + (high - low) * draw.uniform(name)
}

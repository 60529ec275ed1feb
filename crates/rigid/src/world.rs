//! Rigid bodies that touch, in fixed steps: Stewart and Trinkle's time stepping, `docs/model.md` (LCP 5) to
//! (LCP 9).
//!
//! ```
//! use bristle_rigid::world::{WorldBody, Method, Pair, WorldShape, State, World, Worlds};
//! let mut world = World::new(8);
//! let table = world.add(WorldBody::prescribed(WorldShape::Plane), State::default());
//! let block = world.add(WorldBody::solid(0.5, WorldShape::Box([0.05, 0.05, 0.02])), State::at(0.0, 0.0, 0.02));
//! world.pairs.push(Pair { bodies: [table, block], mu: 0.4 });
//! let mut worlds = Worlds::new(vec![world], 1e-3, Method::Double)?;
//! // It sticks under 1.9 N, mu m g is 1.96 N; under 2.1 N it slides.
//! worlds.set_load(0, block, [1.9, 0.0, 0.0], [0.0; 3])?;
//! worlds.advance(0.5)?;
//! assert!(worlds.world(0).states()[block].velocity.norm() < 1e-9);
//! worlds.set_load(0, block, [2.1, 0.0, 0.0], [0.0; 3])?;
//! worlds.advance(0.5)?;
//! assert!((worlds.world(0).states()[block].velocity.x - (2.1 - 0.4 * 0.5 * 9.81) / 0.5 * 0.5).abs() < 1e-9);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod batch;
mod body;
mod collision;
mod islands;
mod order;
mod patches;
mod step;

pub use batch::{Method, Saved, Worlds};
#[cfg(feature = "gpu")]
pub(crate) use batch::{StepWorlds, advance_each};
pub use body::{Kind, MOST_POINTS, State, WorldBody, WorldShape};
pub use patches::WorldPatch;

use std::collections::HashMap;
use std::sync::Arc;

use nalgebra::{Point3, Vector3};

use super::island::Mode;
use super::lcp::MOST_DIRECTIONS;
use bristle::error::ParameterError;
use bristle::range;
use bristle::schedule::Signal;

/// Largest overlap with which bodies may begin, over the shortest side or the diameter of the smaller one
/// \[-\].
pub const MOST_OVERLAP: f64 = 0.1;

/// Largest ratio of the masses of bodies that pairs connect, directly or through others that forces move [-].
pub const MOST_RATIO: f64 = 1e6;

/// Two bodies that may touch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// Their indices.
    pub bodies: [usize; 2],
    /// Coefficient of friction, 0 to 1e6.
    pub mu: f64,
}

/// Whose x axis, projected on the tangent plane, is the first friction direction of a contact; the y axis
/// where x is within 26 degrees of the normal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Axes {
    /// The world's: which body of a pair comes first makes no difference, if the number of directions is
    /// even.
    #[default]
    World,
    /// Those of the first body of the pair: the polygon turns with it.
    Body,
}

/// A contact of the last step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WorldContact {
    /// Index of the pair.
    pub pair: usize,
    /// Point of the second body, in the world \[m\], at the beginning of the step.
    pub point: Point3<f64>,
    /// Unit vector from the first body to the second, in the world.
    pub normal: Vector3<f64>,
    /// Distance at the beginning of the step \[m\], negative for an overlap.
    pub gap: f64,
    /// Force on the second body over the step, in the world \[N\].
    pub force: Vector3<f64>,
    /// Which corners or faces touch, the impulse along normal and tangents [N s], and what the contact does:
    /// for the start of the next step.
    pub(super) feature: u64,
    pub(super) impulse: [f64; 3],
    pub(super) mode: Mode,
}

/// Why a world was stopped.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Failure {
    /// A pose or a twist is not finite.
    NotFinite,
    /// No solution of a contact problem was found to the promised residual; this one is the best.
    Unsolved {
        /// [`ContactProblem::residual`](super::lcp::ContactProblem::residual) of the best impulses \[-\].
        residual: f64,
    },
}

/// Where and why a world was stopped.
#[derive(Clone, Debug, PartialEq)]
pub struct Stop {
    /// The step, from 0.
    pub step: u64,
    /// The reason.
    pub why: Failure,
    /// The bodies: those whose numbers are not finite, or all that touch each other where no solution was
    /// found.
    pub bodies: Vec<usize>,
}

/// Bodies, the pairs of them that may touch, and their state.
#[derive(Clone, Debug, PartialEq)]
pub struct World {
    bodies: Vec<WorldBody>,
    states: Vec<State>,
    /// The pairs that may touch.
    pub pairs: Vec<Pair>,
    /// Acceleration of gravity [m/s^2].
    pub gravity: [f64; 3],
    /// Friction directions of every contact, 4 to 32.
    pub directions: usize,
    /// Where they begin.
    pub axes: Axes,
    time: f64,
    steps: u64,
    by_lemke: u64,
    on_cpu: u64,
    halved: u64,
    residual: f64,
    contacts: Vec<WorldContact>,
    patches: patches::Patches,
    /// In which order contacts are solved, chosen before the first step.
    order: Arc<order::Order>,
    /// The pairs that began in overlap and have not parted yet.
    parting: Vec<bool>,
    failure: Option<Stop>,
}

impl World {
    /// A world without bodies, with so many friction directions (4 to 32), under gravity of 9.81 m/s^2 along
    /// -z.
    pub fn new(directions: usize) -> Self {
        Self {
            bodies: Vec::new(),
            states: Vec::new(),
            pairs: Vec::new(),
            gravity: [0.0, 0.0, -9.81],
            directions,
            axes: Axes::World,
            time: 0.0,
            steps: 0,
            by_lemke: 0,
            on_cpu: 0,
            halved: 0,
            residual: 0.0,
            contacts: Vec::new(),
            patches: patches::Patches::new(),
            order: Arc::default(),
            parting: Vec::new(),
            failure: None,
        }
    }

    /// Adds a body, and returns its index.
    pub fn add(&mut self, body: WorldBody, state: State) -> usize {
        self.bodies.push(body);
        self.states.push(state);
        self.bodies.len() - 1
    }

    /// From now on these are force \[N\] and torque [N m] on a body, at its centre of mass in the world,
    /// beside gravity.
    ///
    /// # Panics
    /// No such body.
    pub fn set_load(&mut self, body: usize, force: [f64; 3], torque: [f64; 3]) {
        let body = &mut self.bodies[body];
        (body.force, body.torque) = (force.map(Signal::constant), torque.map(Signal::constant));
    }

    /// The bodies.
    pub fn bodies(&self) -> &[WorldBody] {
        &self.bodies
    }

    /// Poses and twists of the bodies; NaN after a failure.
    pub fn states(&self) -> &[State] {
        &self.states
    }

    /// The contacts of the last step, with their forces; those that are near, too, with a force of zero.
    pub fn contacts(&self) -> &[WorldContact] {
        &self.contacts
    }

    /// Time since the start \[s\].
    pub const fn time(&self) -> f64 {
        self.time
    }

    /// Steps taken.
    pub const fn steps(&self) -> u64 {
        self.steps
    }

    /// Groups of touching bodies whose contacts, in some step, were solved by Lemke's method because another
    /// had not converged.
    pub const fn by_lemke(&self) -> u64 {
        self.by_lemke
    }

    /// Groups of touching bodies whose contacts, in some step, were solved on the CPU although the engine is
    /// a GPU, because there were too many, or patches of bristles in the world.
    pub const fn on_cpu(&self) -> u64 {
        self.on_cpu
    }

    /// Steps that were taken in shorter ones, because their contacts could not be solved as a whole.
    pub const fn halved(&self) -> u64 {
        self.halved
    }

    /// Largest residual of all steps [-], see
    /// [`ContactProblem::residual`](super::lcp::ContactProblem::residual).
    pub const fn residual(&self) -> f64 {
        self.residual
    }

    /// The step at which the world was stopped, and why.
    pub const fn failure(&self) -> Option<&Stop> {
        self.failure.as_ref()
    }

    /// Kinetic energy and potential energy in gravity of all bodies that forces move \[J\].
    pub fn energy(&self) -> f64 {
        let of = |(body, state): (&WorldBody, &State)| {
            let kinetic = 0.5 * (body.mass * state.velocity.norm_squared() + body.spin(state).dot(&state.angular));
            kinetic - body.mass * Vector3::from(self.gravity).dot(&state.pose.translation.vector)
        };
        let dynamic = self.bodies.iter().zip(&self.states).filter(|(body, _)| body.kind == Kind::Dynamic);
        dynamic.map(of).sum()
    }

    /// The pair of bodies that overlap furthest, if any by more than [`MOST_OVERLAP`] of the smaller of them:
    /// its index and the overlap \[m\].
    pub fn overlap(&self) -> Option<(usize, f64)> {
        let mut found = Vec::new();
        let mut worst: Option<(usize, f64, f64)> = None;
        for (k, pair) in self.pairs.iter().enumerate() {
            let [a, b] = pair.bodies.map(|i| (&self.bodies[i].shape, &self.states[i].pose));
            found.clear();
            collision::touches(a, b, 0.0, &mut found);
            let depth = found.iter().map(|touch| -touch.gap).fold(0.0, f64::max);
            let share = self.size(k).map_or(0.0, |size| depth / size);
            if share > MOST_OVERLAP && worst.is_none_or(|(_, _, most)| share > most) {
                worst = Some((k, depth, share));
            }
        }
        worst.map(|(k, depth, _)| (k, depth))
    }

    /// The lightest and the heaviest of bodies that pairs connect, if their masses differ by more than
    /// [`MOST_RATIO`].
    pub fn uneven(&self) -> Option<[usize; 2]> {
        let moved = |i: usize| (self.bodies.get(i)?.kind == Kind::Dynamic).then_some(i);
        let ends: Vec<_> = self.pairs.iter().map(|pair| pair.bodies.map(moved)).collect();
        islands::islands(self.bodies.len(), &ends).into_iter().find_map(|connected| {
            let by_mass = |a: &usize, b: &usize| self.bodies[*a].mass.total_cmp(&self.bodies[*b].mass);
            let light = connected.bodies.iter().copied().min_by(by_mass)?;
            let heavy = connected.bodies.iter().copied().max_by(by_mass)?;
            let ratio = self.bodies[heavy].mass / self.bodies[light].mass;
            (ratio > MOST_RATIO * (1.0 + 1e-9)).then_some([light, heavy])
        })
    }

    /// Checks all fields against their ranges.
    ///
    /// # Errors
    /// The first field out of range, a pair that has no contacts, masses that differ by more than
    /// [`MOST_RATIO`] among bodies that pairs connect, or a pair that begins in overlap by more than
    /// [`MOST_OVERLAP`].
    pub fn validate(&self) -> Result<(), ParameterError> {
        let [least, most] = MOST_DIRECTIONS;
        if !(least..=most).contains(&self.directions) {
            return Err(ParameterError::new(
                "directions",
                self.directions,
                format!("an integer from {least} to {most}"),
            ));
        }
        body::each("gravity", &self.gravity, |name, g| range::GRAVITY.check(name, *g))?;
        for (k, (body, state)) in self.bodies.iter().zip(&self.states).enumerate() {
            body.validate(&format!("bodies[{k}]"))?;
            state.validate(&format!("bodies[{k}]"))?;
            state.validate_guide(&format!("bodies[{k}]"), body.guide())?;
        }
        let mut named = HashMap::new();
        for (k, pair) in self.pairs.iter().enumerate() {
            let field = format!("contacts[{k}]");
            range::RIGID_MU.check(&format!("{field}.mu"), pair.mu)?;
            let [Some(a), Some(b)] = pair.bodies.map(|i| self.bodies.get(i)) else {
                let accepted = format!("indices below {}", self.bodies.len());
                return Err(ParameterError::new(field, format!("{:?}", pair.bodies), accepted));
            };
            let moved = a.kind == Kind::Dynamic || b.kind == Kind::Dynamic;
            if pair.bodies[0] == pair.bodies[1] || !moved || !collision::is_pair(&a.shape, &b.shape) {
                let accepted = "two bodies, at least one of them moved by forces, that can touch: not two planes, and \
                                not points with points";
                return Err(ParameterError::new(format!("{field}.bodies"), format!("{:?}", pair.bodies), accepted));
            }
            // Each would have forces of its own, with a coefficient of its own.
            let [a, b] = pair.bodies;
            if let Some(first) = named.insert([a.min(b), a.max(b)], k) {
                let accepted = format!("two bodies that no other contact names, where contacts[{first}] does");
                return Err(ParameterError::new(format!("{field}.bodies"), format!("{:?}", pair.bodies), accepted));
            }
        }
        self.patches.each.iter().try_for_each(|patch| self.validate_patch(patch))?;
        if let Some([light, heavy]) = self.uneven() {
            let most = self.bodies[heavy].mass;
            let accepted = least_mass(most, &format!("bodies[{heavy}]"));
            return Err(ParameterError::number(&format!("bodies[{light}].mass"), self.bodies[light].mass, accepted));
        }
        if let Some((k, depth)) = self.overlap() {
            let [a, b] = self.pairs[k].bodies;
            let value = format!("{a} and {b}, which overlap by {depth:.3e} m");
            let accepted = format!(
                "bodies that overlap by at most {MOST_OVERLAP} of the shortest side or diameter of the smaller one"
            );
            return Err(ParameterError::new(format!("contacts[{k}].bodies"), value, accepted));
        }
        Ok(())
    }
}

/// What is accepted as the mass of a body that contacts connect with one of `most` \[kg\].
pub fn least_mass(most: f64, named: &str) -> String {
    format!(
        "at least {:e} kg, because contacts connect it with {named} of {most} kg: a step is exact to 1e-6 where masses \
         differ by at most {MOST_RATIO:e}",
        most / MOST_RATIO
    )
}

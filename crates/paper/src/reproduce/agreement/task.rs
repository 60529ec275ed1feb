//! The task on which models are compared: a block is pushed along a line, slides, and comes to rest under a
//! smaller load, which friction holds. Coulomb's motion is elementary.

use std::sync::Arc;

use super::super::context::Error;
use bristle::body::{Frame, FreeBody};
use bristle::contact::{Contact, Initial, Inputs, Model};
use bristle::friction::Friction;
use bristle::patch::{Grid, Patch, Shape};
use bristle::schedule::Signal;
use bristle_rigid::world::{self, Pair, State, World};

/// Mass [kg], weight [N] and coefficient of friction.
pub(super) const MASS: f64 = 1.0;
pub(super) const WEIGHT: f64 = 9.81;
pub(super) const MU: f64 = 0.5;
/// Sliding friction [N].
pub(super) const FRICTION: f64 = MU * WEIGHT;
/// The largest load, and the one that is held at the end [N].
pub(super) const MOST: f64 = 8.0;
pub(super) const HELD: f64 = 2.0;
/// The load falls at this time [s].
const PUSHED: f64 = 0.4;
/// Length of a run [s].
pub(super) const DURATION: f64 = 1.2;

/// How the load begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Push {
    /// At once.
    Jump,
    /// In proportion to the time.
    Ramp,
}

impl Push {
    /// The load [N] over time along a direction of which this is a component.
    fn load(self, component: f64) -> Result<Signal, Error> {
        let (most, held) = (component * MOST, component * HELD);
        Ok(match self {
            Self::Jump => Signal::steps(&[(0.0, most), (PUSHED, held)])?,
            // A block that slides does not feel that the load falls at once: its friction is Coulomb's before
            // and after.
            Self::Ramp => Signal::linear(&[(0.0, 0.0), (PUSHED, most), (PUSHED + 1e-9, held)])?,
        })
    }

    /// How far the block has come by Coulomb's law [m].
    pub fn position(self, t: f64) -> f64 {
        let sliding = |t: f64| match self {
            Self::Jump => {
                let a = (MOST - FRICTION) / MASS;
                [a * t, 0.5 * a * t * t]
            }
            Self::Ramp => {
                let rate = MOST / PUSHED;
                let t = (t - FRICTION / rate).max(0.0);
                [rate * t * t, rate * t.powi(3) / 3.0].map(|x| 0.5 * x / MASS)
            }
        };
        if t <= PUSHED {
            return sliding(t)[1];
        }
        let [v, x] = sliding(PUSHED);
        let braking = (FRICTION - HELD) / MASS;
        let t = (t - PUSHED).min(v / braking);
        x + v * t - 0.5 * braking * t * t
    }

    /// How much further than [`Push::position`] the block of springs of the stiffness `sigma0` [1/m] on
    /// sliders, without damping, goes in the end if the load begins at once, to the first power of
    /// `1/sqrt(sigma0)` [m], `docs/model.md` (A1).
    pub fn further(sigma0: f64) -> f64 {
        let frequency = (WEIGHT * sigma0 / MASS).sqrt();
        let (a, b) = (MOST / MASS, FRICTION / MASS);
        // The springs slide at the phase where they hold the friction: the block has the velocity
        // a sin(phase)/frequency then, in place of (a - b) phase/frequency.
        let phase = (1.0 - b / a).acos();
        let gained = (a * phase.sin() - (a - b) * phase) / frequency;
        let (v, braking) = ((a - b) * PUSHED, (FRICTION - HELD) / MASS);
        gained * (PUSHED + v / braking)
    }
}

/// The block as a contact that is pushed at this angle [rad] from the x axis.
pub(super) fn contact(
    patch: &Arc<Patch>,
    model: Model,
    friction: Friction,
    push: Push,
    angle: f64,
) -> Result<Contact, Error> {
    let mut body = FreeBody::new(Frame::World, MASS, 1e-3);
    (body.wrench[0], body.wrench[1]) = (push.load(angle.cos())?, push.load(angle.sin())?);
    let inputs = Inputs { normal_force: Signal::constant(WEIGHT), ..Inputs::default() };
    let initial = Initial::default();
    Ok(Contact { patch: Arc::clone(patch), model, friction, body: body.into(), inputs, initial })
}

/// The block as a particle on a plane, with so many friction directions, the first of them along x.
pub(super) fn world(directions: usize, push: Push, angle: f64) -> Result<World, Error> {
    let mut world = World::new(directions);
    let plane = world.add(world::WorldBody::prescribed(world::WorldShape::Plane), State::default());
    let mut body = world::WorldBody::solid(MASS, world::WorldShape::Points(vec![[0.0; 3]]));
    (body.force[0], body.force[1]) = (push.load(angle.cos())?, push.load(angle.sin())?);
    let body = world.add(body, State::default());
    world.pairs.push(Pair { bodies: [plane, body], mu: MU });
    Ok(world)
}

/// A disc of so many cells a side.
pub(super) fn disc(cells: usize) -> Result<Arc<Patch>, Error> {
    Ok(Arc::new(Patch::shape(Grid::new(cells, cells, 0.02, 0.02)?, Shape::Circle)?))
}

/// The exponents `p` of errors that fall as `x^-p`, from each of the `x` to the next.
pub(super) fn orders(x: &[f64], errors: &[f64]) -> Vec<f64> {
    let pairs = x.windows(2).zip(errors.windows(2));
    pairs.map(|(x, e)| (e[0] / e[1]).ln() / (x[1] / x[0]).ln()).collect()
}

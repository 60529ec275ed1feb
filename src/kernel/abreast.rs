//! Contacts side by side: the step with a contact in every lane ([`group`]), for bristles that are too few to
//! fill the lanes by themselves: one to a contact ([`reduced`]) or a small grid of them ([`grid`]).

pub mod grid;
pub mod group;
pub mod reduced;
pub mod transform;

use super::bristles::Bristles;
use super::friction::Stage;
use super::three::{Mat3, Vec3};
use crate::number::real::Real;
use crate::patch::Patch;

/// One bit for each lane.
pub type Bits = u32;

/// The bristles of as many contacts as the number type has lanes.
pub trait Abreast<R: Real> {
    /// Those of one contact by itself: what fills a lane, and what is sampled.
    type Alone: Bristles;

    /// Puts the bristles of a contact into lane `l`.
    fn seat(&mut self, l: usize, alone: &Self::Alone);
    /// Takes them out: what an empty lane holds is finite for ever.
    fn leave(&mut self, l: usize);
    /// Copies the states of lane `l`.
    fn state(&self, l: usize, alone: &mut Self::Alone);
    /// Follows a new map of lane `l` under `mu_c`; its bristles have settled if they must
    /// ([`Bristles::holds_map`]).
    fn remap(&mut self, l: usize, patch: &Patch, mu_c: f64, alone: &mut Self::Alone) {
        self.state(l, alone);
        alone.remap(patch, mu_c);
        self.seat(l, alone);
    }
    /// The points of the patches that twists and wrenches refer to [m].
    fn cop(&self) -> [R; 2];
    /// One sweep at twists `v`: lanes of the first bits finish a stage, those of the second answer for one,
    /// by the opposite of the friction wrench per unit normal force and its derivative over `v`. Other lanes
    /// keep their states and answer anything.
    fn sweep(&mut self, v: Vec3<R>, finish: (&Stage<R>, Bits), next: (&Stage<R>, Bits)) -> (Vec3<R>, Mat3<R>);
    /// How far [m/s] around twists `v` the derivative of the force is good.
    fn reach(&self, v: Vec3<R>) -> R;
    /// How near single bristles were to slipping when they last answered, as [`Bristles::loading`].
    fn loading(&self) -> R {
        R::of(0.0)
    }
    /// Remembers the states where the mask is set.
    fn keep(&mut self, who: R::Mask);
    /// Goes back to the states that were kept where the mask is set.
    fn restore(&mut self, who: R::Mask);
    /// How far the forces have moved since the states were kept: `sum w E^T (zeta - kept)` [-, -, m].
    fn moved(&self) -> Vec3<R>;
}

/// `high + d` and what it rounds off, where `low` is what `high` could not hold, `docs/model.md` (64).
#[inline(always)]
pub fn add<R: Real>(high: R, low: R, d: R) -> (R, R) {
    let y = d + low;
    let s = high + y;
    let t = s - high;
    (s, (high - (s - t)) + (y - t))
}

/// [`add`] of every component.
#[inline(always)]
pub fn add3<R: Real>(high: Vec3<R>, low: Vec3<R>, d: Vec3<R>) -> (Vec3<R>, Vec3<R>) {
    let (x, y, z) = (add(high.x, low.x, d.x), add(high.y, low.y, d.y), add(high.z, low.z, d.z));
    (Vec3::new(x.0, y.0, z.0), Vec3::new(x.1, y.1, z.1))
}

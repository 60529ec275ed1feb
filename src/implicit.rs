//! One patch whose body another program integrates, in steps of backward Euler.
//!
//! A program with a solver of its own, such as one of rigid bodies, asks for the friction at a guess of the
//! twist ([`ImplicitPatch::respond`]), improves the guess with the derivative, and at last moves the bristles
//! ([`ImplicitPatch::advance`]). Both are the same implicit stage over the whole step, `docs/model.md` (26),
//! (41) and (42), in double precision: the bristles that a step leaves are those of the wrench that it had,
//! and it is stable however stiff they are. [`Batch::respond`](crate::Batch::respond) is its like for
//! contacts that live on an engine.

use std::sync::Arc;

use crate::body::Body;
use crate::contact::{Contact, Initial, Inputs, Model};
use crate::error::ParameterError;
use crate::friction::Friction;
use crate::patch::Patch;
use crate::planar::{Twist, Wrench};
use crate::solver::bristles::{Bristles, Rate};
use crate::solver::friction::Stage;
use crate::solver::linalg::Vec3;
use crate::solver::models::grid::Grid;
use crate::solver::respond::Response;

/// A grid of bristles as a value: patch, friction, and the state of every bristle.
///
/// ```
/// use bristle::implicit::ImplicitPatch;
/// use bristle::{Friction, Grid, Patch, Shape, Twist};
/// let disc = Patch::shape(Grid::new(11, 11, 0.02, 0.02)?, Shape::Disc)?;
/// let mut patch = ImplicitPatch::new(disc.into(), Friction::default())?;
/// // Dragged by 2 cm at 10 mm/s, it slides: the friction of 3 N is mu_c f_N.
/// let twist = Twist::new(0.01, 0.0, 0.0);
/// for _ in 0..2000 {
///     patch.advance(twist, 1e-3);
/// }
/// let friction = patch.respond(twist, 3.0, 1e-3).wrench.fx;
/// assert!((friction / -3.0 / Friction::default().mu_c - 1.0).abs() < 0.01);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct ImplicitPatch {
    patch: Arc<Patch>,
    friction: Friction,
    grid: Grid<f64>,
}

impl PartialEq for ImplicitPatch {
    /// Whether patch, friction and the bristles are equal.
    fn eq(&self, other: &Self) -> bool {
        self.patch == other.patch && self.friction == other.friction && self.bristles() == other.bristles()
    }
}

impl ImplicitPatch {
    /// A patch with unloaded bristles.
    ///
    /// # Errors
    /// Friction out of range, or a map that changes.
    pub fn new(patch: Arc<Patch>, friction: Friction) -> Result<Self, ParameterError> {
        friction.validate()?;
        if patch.changes() || patch.takes_frames() {
            return Err(ParameterError::new("patch", "a map that changes", "a map that stays as it is"));
        }
        let contact = Contact {
            patch: Arc::clone(&patch),
            model: Model::Distributed,
            friction,
            body: Body::prescribed(Twist::default()),
            inputs: Inputs::default(),
            initial: Initial::default(),
        };
        let grid = Grid::new(&contact, &contact.cells_ever_active());
        Ok(Self { patch, friction, grid })
    }

    /// The patch.
    pub const fn patch(&self) -> &Arc<Patch> {
        &self.patch
    }

    /// The friction of its bristles.
    pub const fn friction(&self) -> &Friction {
        &self.friction
    }

    /// The friction on the moving side if it moved with `twist` (at the patch origin, in the patch frame) for
    /// `dt` \[s\] under `normal_force` \[N\], and its derivative over the twist. Nothing moves.
    pub fn respond(&mut self, twist: Twist, normal_force: f64, dt: f64) -> Response {
        let stage = self.stage(dt);
        let twist = self.patch.bristle_twist(twist);
        let (resist, gain) = self.grid.sweep(Vec3::from(twist.to_array()), (&stage, 0), (&stage, 1));
        let row = |row: Vec3<f64>| [row.x, row.y, row.z].map(|c| -normal_force * c);
        let wrench = self.patch.patch_wrench(Wrench::from(row(resist)));
        Response { wrench, gain: self.patch.patch_gain([gain.x, gain.y, gain.z].map(row)) }
    }

    /// Moves the bristles through a step of `dt` \[s\] with this twist.
    pub fn advance(&mut self, twist: Twist, dt: f64) {
        let (stage, twist) = (self.stage(dt), self.patch.bristle_twist(twist));
        self.grid.sweep(Vec3::from(twist.to_array()), (&stage, 1), (&stage, 0));
    }

    /// Unloads all bristles.
    pub fn unload(&mut self) {
        self.grid.cells.import(&vec![[0.0; 2]; self.grid.cells.len()], &[]);
    }

    /// The states `zeta` [-] of the bristles, of the cells with pressure in the order of the map.
    pub fn bristles(&self) -> Vec<[f64; 2]> {
        self.grid.states(0)
    }

    /// The shares of the normal force [-] on bristles that slip, and on bristles near their limit, in the
    /// present state at this twist: as [`Sample::slip`](crate::Sample) and `near_limit`.
    pub fn shares(&mut self, twist: Twist) -> [f64; 2] {
        let f = self.friction.effective_for_law();
        let rate = Rate { sigma1: f.sigma1, mu_c: f.mu_c, mu_d: f.mu_s - f.mu_c };
        let (_, shares) = self.grid.wrench(0, self.patch.bristle_twist(twist), &rate, 1.0);
        [shares.slip, shares.near_limit].map(|share| share.clamp(0.0, 1.0))
    }

    /// The root of the mean of `r^2` over the pressure about the patch origin \[m\]: it weighs angular
    /// against linear velocity.
    pub fn arm(&self) -> f64 {
        self.patch.arm2().sqrt()
    }

    /// Memory \[byte\] of its bristles and of what a pass over them needs, without the patch.
    pub fn memory(&self) -> usize {
        self.grid.cells.memory()
    }

    fn stage(&self, dt: f64) -> Stage<f64> {
        let f = self.friction.effective_for_law();
        let a_sigma0 = dt * f.sigma0;
        let damping = f.sigma1 / a_sigma0;
        Stage { a_sigma0, damping, mu_c: f.mu_c, mu_d: f.mu_s - f.mu_c, chi: 1.0, extrapolation: 1.0, cuts: 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::Cpu;
    use crate::engine::{Engine, Stepping};
    use crate::fixtures::{disc, moved};
    use crate::friction::Law;
    use crate::patch::FrictionAxes;

    fn of(law: Law) -> ImplicitPatch {
        ImplicitPatch::new(disc(11), Friction { law, ..Friction::default() }).unwrap()
    }

    #[test]
    fn it_responds_as_a_batch_does_and_its_derivative_is_one() {
        let twist = [0.013, -0.004, 0.7];
        let axes = FrictionAxes::new(0.3, 0.7).unwrap();
        let directed = Arc::new(Patch::clone(&disc(11)).with_friction_axes(axes));
        let laws = [Law::ElastoPlastic, Law::LuGre, Law::Dahl, Law::ViscoelastoPlastic];
        let patches = [disc(11), directed];
        for (law, on) in laws.into_iter().flat_map(|law| patches.each_ref().map(|on| (law, on))) {
            let mut patch = ImplicitPatch::new(Arc::clone(on), Friction { law, ..Friction::default() }).unwrap();
            let mut contact = moved(on, twist);
            contact.friction.law = law;
            let mut batch = Cpu::reference().batch(vec![contact], Stepping::default()).unwrap();
            batch.advance(1e-3).unwrap();
            let bristles = batch.bristles(0).unwrap();
            patch.grid.cells.import(&bristles, &[]);
            let at = |v: [f64; 3]| Twist::from(v);
            let (own, other) = (patch.respond(at(twist), 1.0, 2e-3), batch.respond(0, at(twist), 2e-3).unwrap());
            let size = |w: Wrench| w.fx.abs() + w.fy.abs() + w.tau.abs();
            assert!(size(own.wrench - other.wrench) < 1e-12 * size(own.wrench), "{law:?} {own:?} {other:?}");
            for c in 0..3 {
                let h = [1e-7, 1e-7, 1e-5][c];
                let mut to = [twist; 2];
                (to[0][c], to[1][c]) = (twist[c] - h, twist[c] + h);
                let [low, high] = to.map(|v| patch.respond(at(v), 1.0, 2e-3).wrench.to_array());
                for r in 0..3 {
                    let (wanted, is) = ((high[r] - low[r]) / (2.0 * h), own.gain[r][c]);
                    let scale = own.gain[r].iter().fold(0.0f64, |most, g| most.max(g.abs()));
                    assert!((wanted - is).abs() < 1e-5 * scale, "{law:?} {r} {c}: {wanted} {is}");
                }
            }
        }
    }

    /// The bristles after a step are those whose wrench the step had.
    #[test]
    fn a_step_leaves_the_bristles_of_its_wrench() {
        let twist = Twist::new(0.002, 0.001, 0.3);
        for law in [Law::ElastoPlastic, Law::LuGre] {
            let friction = Friction { law, sigma1: 0.0, sigma2: 0.0, ..Friction::default() };
            let mut patch = ImplicitPatch::new(disc(11), friction).unwrap();
            for _ in 0..20 {
                let told = patch.respond(twist, 2.0, 1e-3).wrench;
                patch.advance(twist, 1e-3);
                let (mut sum, weights) = (Wrench::default(), patch.patch.weights());
                let grid = *patch.patch.grid();
                let cells = (0..grid.len()).filter(|i| weights[*i] > 0.0);
                for (i, [zx, zy]) in cells.zip(patch.bristles()) {
                    let ([x, y], f) = (grid.centre(i % grid.nx, i / grid.nx), -2.0 * weights[i]);
                    sum = sum + Wrench::new(f * zx, f * zy, f * (x * zy - y * zx));
                }
                let far = sum - told;
                assert!(far.fx.abs() + far.fy.abs() + far.tau.abs() < 1e-13, "{law:?} {far:?}");
            }
        }
    }

    #[test]
    fn friction_out_of_range_and_maps_that_change_are_refused() {
        let message = ImplicitPatch::new(disc(5), Friction { mu_c: -1.0, ..Friction::default() }).unwrap_err();
        assert!(message.to_string().contains("mu_c = -1"), "{message}");
        let frames = Patch::clone(&disc(5)).with_frames();
        assert!(ImplicitPatch::new(frames.into(), Friction::default()).is_err());
    }

    #[test]
    fn an_unloaded_patch_is_a_new_one() {
        let (first, mut patch) = (of(Law::LuGre), of(Law::LuGre));
        patch.advance(Twist::new(0.1, 0.0, 1.0), 1e-2);
        assert_ne!(first, patch);
        assert!(patch.shares(Twist::new(0.1, 0.0, 1.0))[1] > 0.5);
        patch.unload();
        assert_eq!(first, patch);
        assert_eq!(patch.shares(Twist::default()), [0.0; 2]);
    }
}

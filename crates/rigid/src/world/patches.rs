//! Contacts of flat faces whose friction is that of bristles, `docs/model.md` (LCP 12) to (LCP 14).
//!
//! The touches of such a pair have normal impulses alone. Their sum is the normal force of a patch of
//! bristles, which acts on both bodies with the wrench that it has at the end of the step. Newton's method
//! finds the impulses of all patches of a world at once: the bristles tell the derivative of the wrench over
//! the twist of the patch, and that of the twist over the impulses follows from round to round (Broyden).

use std::sync::Arc;

use nalgebra::{DMatrix, DVector, Isometry3, Matrix3, Point3, Vector3};

use super::step::{Answer, Frame, Prepared};
use super::{Pair, World, WorldShape};
use bristle::error::ParameterError;
use bristle::implicit::ImplicitPatch;
use bristle::{Friction, Patch, Twist, Wrench};

/// Residual [-] of the impulses of patches that is sought, and that is accepted where no smaller one is
/// found, over the largest of `mu` times the normal impulse.
const SOUGHT: f64 = 1e-11;
const ENOUGH: f64 = 1e-7;
/// After so many rounds without half the residual no smaller one is sought: the rest is rounding of bodies
/// that differ much in mass.
const STALE: usize = 3;
/// Most rounds of Newton's method. After each so many the derivative over the impulses is that of free bodies
/// again.
const MOST_ROUNDS: usize = 40;
const FRESH: usize = 12;
/// A step that does not lower the residual is halved until it is a smaller share than this.
const LEAST_SHARE: f64 = 0.02;
/// Share of the impulses that a step has to change [-], for its twists to say more than their rounding does.
const LEAST_SHOWN: f64 = 1e-5;
/// Time in which bristles become steady [s].
const LONG: f64 = 1e6;
/// Least arm of a patch [m]: its torque is weighed by one.
const LEAST_ARM: f64 = 1e-9;

/// Bristles between the flat faces of two bodies. The patch is on the face of the first body that looks at
/// the second when they first touch, about the middle of it, and moves with that body. In its frame z leaves
/// the face; x is the axis of the box that follows the one across the face, in the order x, y, z, x.
#[derive(Clone, Debug, PartialEq)]
pub struct WorldPatch {
    pair: usize,
    bristles: ImplicitPatch,
    /// From the frame of the patch to that of the first body; none before the first touch.
    face: Option<Isometry3<f64>>,
    /// Whether the bodies touched in the last step.
    touches: bool,
    /// Of the last step.
    twist: Twist,
    wrench: Wrench,
    force: Vector3<f64>,
    normal_force: f64,
}

impl WorldPatch {
    pub(super) fn new(pair: usize, patch: Arc<Patch>, friction: Friction) -> Result<Self, ParameterError> {
        Ok(Self {
            pair,
            bristles: ImplicitPatch::new(patch, friction)?,
            face: None,
            touches: false,
            twist: Twist::default(),
            wrench: Wrench::default(),
            force: Vector3::zeros(),
            normal_force: 0.0,
        })
    }

    /// Index of the pair.
    pub const fn pair(&self) -> usize {
        self.pair
    }

    /// Patch, friction and the states of the bristles.
    pub const fn bristles(&self) -> &ImplicitPatch {
        &self.bristles
    }

    /// Twist of the second body against the first in the last step, at the patch origin in the patch frame.
    pub const fn twist(&self) -> Twist {
        self.twist
    }

    /// Friction wrench on the second body at the end of the last step, at the patch origin in the patch
    /// frame.
    pub const fn wrench(&self) -> Wrench {
        self.wrench
    }

    /// Friction force on the second body over the last step, in the world \[N\].
    pub const fn force(&self) -> Vector3<f64> {
        self.force
    }

    /// Normal force of the last step \[N\].
    pub const fn normal_force(&self) -> f64 {
        self.normal_force
    }

    /// Power of the friction on both bodies in the last step \[W\]; positive where bristles give back energy.
    pub fn power(&self) -> f64 {
        self.wrench.fx * self.twist.vx + self.wrench.fy * self.twist.vy + self.wrench.tau * self.twist.w
    }

    /// Bends the bristles of bodies that begin to touch, with this twist whose angular part is times the arm
    /// [m/s], as after a long way, if the damper of unbent ones would take friction beyond twice its limit
    /// over a step of `h` [s]. No normal impulses of tall bodies bear that (Painleve).
    fn begin(&mut self, twist: Vector3<f64>, arm: f64, h: f64) {
        let friction = self.bristles.friction().effective_for_law();
        let speed = twist.xy().norm() + twist.z.abs();
        let limit = friction.mu_s.max(friction.mu_c);
        // Of an implicit step: (limit x + sigma1 |v|)/(1 + x).
        let x = h * friction.sigma0 * speed / limit;
        if friction.sigma1 * speed > limit * (2.0 + x) {
            self.twist = Twist::new(twist.x, twist.y, twist.z / arm);
            self.bristles.advance(self.twist, LONG);
        }
    }

    /// The shares of the normal force [-] on bristles that slip, and on bristles near their limit.
    pub fn shares(&self) -> [f64; 2] {
        self.bristles.clone().shares(self.twist)
    }
}

/// The coefficient of friction that a pair with a patch may have.
pub(super) const NO_MU: &str = "0, as the friction of this pair is that of its patch";

/// All patches of a world.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Patches {
    pub(super) each: Vec<WorldPatch>,
    /// Twists and normal impulses of the patches per impulse of each, as found so far.
    mobility: Option<DMatrix<f64>>,
}

/// A patch in the world at the beginning of a step.
struct Place {
    bodies: [usize; 2],
    /// x, y and z of the patch.
    axes: [Vector3<f64>; 3],
    /// From the centres of mass to the patch origin [m].
    levers: [Vector3<f64>; 2],
    /// Weighs angular against linear velocity [m].
    arm: f64,
}

impl Place {
    /// Twist of the second body against the first, the angular part times the arm [m/s].
    fn twist(&self, twists: &[[Vector3<f64>; 2]]) -> Vector3<f64> {
        let [first, second] = [0, 1].map(|k| {
            let [v, w] = &twists[self.bodies[k]];
            (v + w.cross(&self.levers[k]), *w)
        });
        let (v, w) = (second.0 - first.0, second.1 - first.1);
        Vector3::new(self.axes[0].dot(&v), self.axes[1].dot(&v), self.arm * self.axes[2].dot(&w))
    }

    /// Impulse and angular impulse about the centre of mass on body `k`, of an impulse on the second body
    /// whose angular part is over the arm.
    fn impulse(&self, k: usize, p: Vector3<f64>) -> [Vector3<f64>; 2] {
        let sign = if k == 0 { -1.0 } else { 1.0 };
        let along = sign * (self.axes[0] * p.x + self.axes[1] * p.y);
        [along, self.levers[k].cross(&along) + sign * self.axes[2] * (p.z * self.arm)]
    }
}

/// The frame of a patch on the face of a box that looks along `normal` (in the frame of the box).
fn face(half: &[f64; 3], normal: Vector3<f64>) -> Isometry3<f64> {
    let across = normal.iamax();
    let z = Vector3::from_fn(|c, _| if c == across { normal[across].signum() } else { 0.0 });
    let x = Vector3::from_fn(|c, _| if c == (across + 1) % 3 { 1.0 } else { 0.0 });
    let turn = nalgebra::Rotation3::from_matrix_unchecked(Matrix3::from_columns(&[x, z.cross(&x), z]));
    Isometry3::from_parts((z * half[across]).into(), turn.into())
}

impl World {
    /// Gives a pair a patch of bristles in the place of Coulomb's friction, between a face of its first body,
    /// a box, and the second, a box or a plane. Its `mu` has to be 0.
    ///
    /// # Errors
    /// Friction out of range, a map that changes, no such pair, one that has a patch, one of other shapes or
    /// with a `mu`, or a patch that is larger than the face. [`World::validate`] checks this again.
    pub fn add_patch(&mut self, pair: usize, patch: Arc<Patch>, friction: Friction) -> Result<(), ParameterError> {
        let named = |e: ParameterError| ParameterError { field: format!("contacts[{pair}].{}", e.field), ..e };
        let new = WorldPatch::new(pair, patch, friction).map_err(named)?;
        self.validate_patch(&new)?;
        if self.patches.each.iter().any(|other| other.pair == pair) {
            let accepted = "one patch between two bodies";
            return Err(ParameterError::new(format!("contacts[{pair}].patch"), "a second one", accepted));
        }
        self.patches.each.push(new);
        Ok(())
    }

    /// The patches of bristles.
    pub fn patches(&self) -> &[WorldPatch] {
        &self.patches.each
    }

    /// Whether there are any.
    pub(super) fn has_patches(&self) -> bool {
        !self.patches.each.is_empty()
    }

    /// Force of a pair on its second body over the last step, in the world \[N\].
    ///
    /// # Panics
    /// No such pair.
    pub fn force(&self, pair: usize) -> Vector3<f64> {
        assert!(pair < self.pairs.len(), "pair {pair} of {}", self.pairs.len());
        let touches = self.contacts().iter().filter(|c| c.pair == pair).map(|c| c.force);
        touches.chain(self.patches.each.iter().filter(|p| p.pair == pair).map(|p| p.force)).sum()
    }

    pub(super) fn validate_patch(&self, patch: &WorldPatch) -> Result<(), ParameterError> {
        let name = format!("contacts[{}]", patch.pair);
        let Some(Pair { bodies, mu }) = self.pairs.get(patch.pair) else {
            return Err(ParameterError::new("pair", patch.pair, format!("an index below {}", self.pairs.len())));
        };
        let [Some(first), Some(second)] = bodies.map(|i| self.bodies.get(i)) else { return Ok(()) };
        if *mu != 0.0 {
            return Err(ParameterError::number(&format!("{name}.mu"), *mu, NO_MU));
        }
        let (WorldShape::Box(half), WorldShape::Box(_) | WorldShape::Plane) = (&first.shape, &second.shape) else {
            let accepted = "none, or flat faces: a box first, and a box or a plane";
            return Err(ParameterError::new(format!("{name}.patch"), "between other shapes", accepted));
        };
        if !patch.bristles.patch().parts().is_empty() {
            let accepted = "one patch: a pair with several faces has a contact for each";
            return Err(ParameterError::new(format!("{name}.patch"), "several patches", accepted));
        }
        // The face is known once the bodies touch; the patch has to fit on the one that looks at the other.
        let Some(normal) = self.normal_of(bodies) else { return Ok(()) };
        let across = normal.iamax();
        let grid = patch.bristles.patch().grid();
        for (size, c) in [(grid.nx as f64 * grid.dx, 1), (grid.ny as f64 * grid.dy, 2)] {
            let side = 2.0 * half[(across + c) % 3];
            if size > side * (1.0 + 1e-9) {
                let accepted = format!("at most the side of the face of the first body, {side} m");
                return Err(ParameterError::number(&format!("{name}.patch.size"), size, accepted));
            }
        }
        Ok(())
    }

    /// From the first body to the second where they are nearest, in the frame of the first.
    fn normal_of(&self, bodies: &[usize; 2]) -> Option<Vector3<f64>> {
        let [a, b] = bodies.map(|i| (&self.bodies[i].shape, &self.states[i].pose));
        let away = b.1.translation.vector - a.1.translation.vector;
        let mut found = Vec::new();
        super::collision::touches(a, b, 2.0 * (a.0.radius() + b.0.radius() + away.norm()), &mut found);
        let nearest = found.iter().min_by(|s, t| s.gap.total_cmp(&t.gap))?;
        Some(a.1.rotation.inverse() * nearest.normal)
    }

    /// The answers to all islands, `island` solving one, with the impulses of patches in the velocities
    /// without contacts.
    pub(super) fn answers(
        &mut self,
        prepared: &mut Prepared,
        h: f64,
        island: impl Fn(&Self, &Prepared, usize) -> Answer,
    ) -> Vec<Answer> {
        let all = 0..prepared.islands();
        if self.patches.each.is_empty() {
            return all.map(|k| island(self, prepared, k)).collect();
        }
        let mut patches = std::mem::take(&mut self.patches);
        let places: Vec<Option<Place>> = patches.each.iter_mut().map(|patch| self.place(prepared, patch, h)).collect();
        let base = prepared.free.clone();
        let mut p = patches.first_impulses(&places, h);
        prepared.push(&base, &places, &p);
        let mut answers: Vec<Answer> = all.clone().map(|k| island(self, prepared, k)).collect();
        let with_patches: Vec<usize> = all.filter(|k| prepared.has_patch(*k, &places)).collect();

        let mut mobility = patches.mobility.take().unwrap_or_else(|| prepared.mobility(&places));
        let mut moved = prepared.moved(&patches, &places, &answers);
        // The friction is that at the twist of the step before: bristles are stiff, and that at the twist
        // which the impulses of that step lead to may be far off.
        let guess = patches.twists(&places);
        let (mut far, mut least, mut stale, mut share) = (f64::INFINITY, f64::INFINITY, 0, 1.0);
        let (mut size, mut last) = (f64::INFINITY, p.clone());
        let [_, mut step] = patches.newton(&places, &p, &moved, &guess, &mobility, h);
        for round in 1..=MOST_ROUNDS {
            let tried = &p + share * &step;
            prepared.push(&base, &places, &tried);
            for k in &with_patches {
                answers[*k] = island(self, prepared, *k);
            }
            let then = std::mem::replace(&mut moved, prepared.moved(&patches, &places, &answers));
            let change = &tried - std::mem::replace(&mut last, tried.clone());
            if change.norm() > LEAST_SHOWN * tried.norm() {
                // What the step has shown.
                let missing = &moved - then - &mobility * &change;
                mobility += missing * change.transpose() / change.norm_squared();
            }
            if round % FRESH == 0 {
                mobility = prepared.mobility(&places);
            }
            let [residual, next] = patches.newton(&places, &tried, &moved, &moved, &mobility, h);
            let scale = patches.scale(&tried, &moved);
            far = if scale > 0.0 { residual.amax() / scale } else { 0.0 };
            stale = if far < 0.5 * least { 0 } else { stale + 1 };
            least = least.min(far);
            if far <= SOUGHT || far <= ENOUGH && stale >= STALE {
                break;
            }
            if residual.norm() < size || share < LEAST_SHARE {
                (p, step, size, share) = (tried, next, residual.norm(), 1.0);
            } else {
                share *= 0.5;
            }
        }
        if far <= ENOUGH {
            patches.note(&places, &last, &moved, h);
        } else {
            // What the patches did in the step before stays: the halves of this one begin with that.
            for k in with_patches {
                (answers[k].solved, answers[k].residual) = (false, far);
            }
        }
        patches.mobility = Some(mobility);
        self.patches = patches;
        answers
    }

    /// Where a patch is; none if its bodies are apart.
    fn place(&self, prepared: &Prepared, patch: &mut WorldPatch, h: f64) -> Option<Place> {
        let normal = prepared.normal(patch.pair)?;
        let bodies = self.pairs[patch.pair].bodies;
        let poses = bodies.map(|i| self.states[i].pose);
        if patch.face.is_none()
            && let WorldShape::Box(half) = &self.bodies[bodies[0]].shape
        {
            patch.face = Some(face(half, poses[0].rotation.inverse() * normal));
        }
        let frame = poses[0] * patch.face?;
        let axes = [Vector3::x(), Vector3::y(), Vector3::z()].map(|axis| frame.rotation * axis);
        let origin: Point3<f64> = frame.translation.vector.into();
        let levers = poses.map(|pose| origin.coords - pose.translation.vector);
        let place = Place { bodies, axes, levers, arm: patch.bristles.arm().max(LEAST_ARM) };
        if !patch.touches {
            patch.begin(place.twist(&prepared.still), place.arm, h);
        }
        Some(place)
    }

    /// Moves the bristles of all patches through a step that was solved. Those of bodies that are apart are
    /// unloaded.
    pub(super) fn move_patches(&mut self, prepared: &Prepared, h: f64) {
        for patch in &mut self.patches.each {
            if prepared.normal(patch.pair).is_some() {
                patch.bristles.advance(patch.twist, h);
                patch.touches = true;
            } else {
                patch.bristles.unload();
                patch.touches = false;
            }
        }
    }
}

impl Patches {
    /// No patch.
    pub(super) const fn new() -> Self {
        Self { each: Vec::new(), mobility: None }
    }

    /// The impulses of the step before; none where bodies are apart.
    fn first_impulses(&self, places: &[Option<Place>], h: f64) -> DVector<f64> {
        let of = |(patch, place): (&WorldPatch, &Option<Place>)| {
            let Wrench { fx, fy, tau } = patch.wrench;
            place.as_ref().map_or([0.0; 3], |place| [h * fx, h * fy, h * tau / place.arm])
        };
        DVector::from_vec(self.each.iter().zip(places).flat_map(of).collect())
    }

    /// The twists of the step before.
    fn twists(&self, places: &[Option<Place>]) -> DVector<f64> {
        let of = |(patch, place): (&WorldPatch, &Option<Place>)| {
            let Twist { vx, vy, w } = patch.twist;
            [vx, vy, w * place.as_ref().map_or(0.0, |place| place.arm)]
        };
        DVector::from_vec(self.each.iter().zip(places).flat_map(of).collect())
    }

    /// What the impulses `p` miss, (LCP 13), with the friction linear about the twists `guess`, and Newton's
    /// step for them, (LCP 14).
    fn newton(
        &mut self,
        places: &[Option<Place>],
        p: &DVector<f64>,
        moved: &DVector<f64>,
        guess: &DVector<f64>,
        mobility: &DMatrix<f64>,
        h: f64,
    ) -> [DVector<f64>; 2] {
        let n = places.len();
        let (mut residual, mut system) = (-p, DMatrix::identity(3 * n, 3 * n));
        for (j, (patch, place)) in self.each.iter_mut().zip(places).enumerate() {
            let Some(place) = place else { continue };
            let (u, normal) = (guess.fixed_rows::<3>(3 * j), moved[3 * n + j]);
            let turn = Vector3::new(1.0, 1.0, 1.0 / place.arm);
            let unit = patch.bristles.respond(Twist::new(u[0], u[1], u[2] / place.arm), 1.0, h);
            let gain = Matrix3::from_fn(|r, c| unit.gain[r][c] * turn[r] * turn[c]);
            let at_guess = Vector3::from(unit.wrench.to_array()).component_mul(&turn);
            let friction = at_guess + gain * (moved.fixed_rows::<3>(3 * j) - u);
            let mut rows = residual.fixed_rows_mut::<3>(3 * j);
            rows += normal * friction;
            let mut rows = system.fixed_rows_mut::<3>(3 * j);
            rows -= normal * gain * mobility.fixed_rows::<3>(3 * j) + friction * mobility.row(3 * n + j);
        }
        let step = system.lu().solve(&residual).unwrap_or_else(|| DVector::zeros(3 * n));
        [residual, step]
    }

    /// The largest friction impulse that a patch may have, or has [N s].
    fn scale(&self, p: &DVector<f64>, moved: &DVector<f64>) -> f64 {
        let n = self.each.len();
        let of = |(j, patch): (usize, &WorldPatch)| patch.bristles.friction().mu_c * moved[3 * n + j];
        self.each.iter().enumerate().map(of).fold(p.amax(), f64::max)
    }

    /// Keeps what the patches do.
    fn note(&mut self, places: &[Option<Place>], p: &DVector<f64>, moved: &DVector<f64>, h: f64) {
        let n = places.len();
        for (j, (patch, place)) in self.each.iter_mut().zip(places).enumerate() {
            let (u, p, arm) =
                (moved.fixed_rows::<3>(3 * j), p.fixed_rows::<3>(3 * j), place.as_ref().map_or(1.0, |p| p.arm));
            patch.twist = Twist::new(u[0], u[1], u[2] / arm);
            patch.wrench = Wrench::new(p[0] / h, p[1] / h, p[2] * arm / h);
            patch.force = place.as_ref().map_or_else(Vector3::zeros, |place| place.impulse(1, p.into())[0] / h);
            patch.normal_force = moved[3 * n + j] / h;
        }
    }
}

impl Prepared {
    /// The normal at which a pair touches, if it does.
    fn normal(&self, pair: usize) -> Option<Vector3<f64>> {
        self.frames[self.frames.partition_point(|frame| frame.pair < pair)..]
            .first()
            .filter(|frame| frame.pair == pair)
            .map(Frame::normal)
    }

    /// Whether an island has a body on which a patch acts.
    fn has_patch(&self, k: usize, places: &[Option<Place>]) -> bool {
        places.iter().flatten().any(|place| place.bodies.iter().any(|body| self.islands[k].bodies.contains(body)))
    }

    /// The velocities without contacts: `base`, and what the impulses of patches add.
    fn push(&mut self, base: &[[Vector3<f64>; 2]], places: &[Option<Place>], p: &DVector<f64>) {
        self.free.clone_from_slice(base);
        for (j, place) in places.iter().enumerate() {
            let Some(place) = place else { continue };
            for k in 0..2 {
                let [v, w] = self.given(place, k, p.fixed_rows::<3>(3 * j).into());
                let free = &mut self.free[place.bodies[k]];
                free[0] += v;
                free[1] += w;
            }
        }
    }

    /// What an impulse of a patch adds to the velocities of its body `k`.
    fn given(&self, place: &Place, k: usize, p: Vector3<f64>) -> [Vector3<f64>; 2] {
        let (inverse, [along, about]) = (&self.masses[place.bodies[k]], place.impulse(k, p));
        [inverse.moved(along), inverse.inertia * about]
    }

    /// The twists of all patches, and the normal impulses after them.
    fn moved(&self, patches: &Patches, places: &[Option<Place>], answers: &[Answer]) -> DVector<f64> {
        let (twists, n) = (self.twists(answers), places.len());
        let mut out = DVector::zeros(4 * n);
        for (j, place) in places.iter().enumerate() {
            if let Some(place) = place {
                out.fixed_rows_mut::<3>(3 * j).copy_from(&place.twist(&twists));
            }
        }
        for (island, answer) in self.islands.iter().zip(answers) {
            for (k, p) in island.contacts.iter().zip(&answer.p) {
                let of = patches.each.iter().position(|patch| patch.pair == self.frames[*k].pair);
                of.into_iter().for_each(|j| out[3 * n + j] += p[0]);
            }
        }
        out
    }

    /// Twists and normal impulses per impulse of the patches, of bodies that touch nothing.
    fn mobility(&self, places: &[Option<Place>]) -> DMatrix<f64> {
        let n = places.len();
        let mut out = DMatrix::zeros(4 * n, 3 * n);
        for (j, place) in places.iter().enumerate() {
            let Some(place) = place else { continue };
            for c in 0..3 {
                let mut added = vec![[Vector3::zeros(); 2]; self.free.len()];
                for k in 0..2 {
                    added[place.bodies[k]] =
                        self.given(place, k, Vector3::from_fn(|r, _| if r == c { 1.0 } else { 0.0 }));
                }
                for (i, other) in places.iter().enumerate() {
                    let Some(other) = other else { continue };
                    out.fixed_view_mut::<3, 1>(3 * i, 3 * j + c).copy_from(&other.twist(&added));
                }
            }
        }
        out
    }

    /// Velocities and angular velocities after the step.
    pub(super) fn twists(&self, answers: &[Answer]) -> Vec<[Vector3<f64>; 2]> {
        let mut twists = self.free.clone();
        for (island, answer) in self.islands.iter().zip(answers) {
            for (body, added) in island.bodies.iter().zip(&answer.added) {
                twists[*body][0] += added[0];
                twists[*body][1] += added[1];
            }
        }
        twists
    }
}

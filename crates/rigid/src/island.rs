//! The contact problem of bodies that touch each other, solved in the space of their velocities.
//!
//! Impulses of redundant contacts are not unique, velocities mostly are: six unknowns a body, whatever the
//! number of contacts. Velocities are scaled by the roots of masses and inertias, `x = M^1/2 (v' - v_free)`,
//! so that light and heavy bodies count alike, and every contact by its own unit (`docs/model.md`, section
//! 12).
//!
//! 1. The modes of the step before, most often right, give a linear system: [`modes`].
//! 2. Else a convex problem in which a contact that slides may lift off, whose motion is unique, and which
//!    keeps bodies at rest wherever friction can. The lift is taken back round by round, until the motion or
//!    its modes give a solution: [`convex`].
//! 3. Else a path from bodies that do not touch, on which contacts close and slide one after the other:
//!    [`path`].
//! 4. Of the impulses with the motion that was found, those with the least sum of squares: [`forces`].

mod convex;
mod forces;
mod modes;
mod path;
mod polygon;
mod sparse;

use nalgebra::{Matrix3, Matrix3x6, Vector3, Vector6};

pub(crate) use polygon::{Mode, Polygon};
use sparse::Sparse;

/// Residual [-] that is sought.
pub(crate) const TOLERANCE: f64 = 1e-11;
/// Residual, in multiples of the one that is sought, that is accepted where no smaller one is found: contacts
/// that nearly slide, nearly close or nearly turn to another direction have many modes to the tolerance.
pub(crate) const ACCEPTED: f64 = 1e3;

/// Effective masses of contacts that differ by so much are uneven, or masses of bodies from those [-].
const UNEVEN: f64 = 300.0;
/// Impulses [-] that are none.
const NONE: f64 = 1e-10;

/// A contact between two bodies of an island.
pub(crate) struct Link {
    /// Places of its bodies in the island; none for a body that forces do not move.
    pub(crate) bodies: [Option<usize>; 2],
    /// The contact velocity per scaled velocity of each body, `G M^-1/2`; minus for the first.
    pub(crate) jacobian: [Matrix3x6<f64>; 2],
    /// Contact velocity without impulses, and the gap over the step: `b` of (LCP 9) [m/s].
    pub(crate) b: Vector3<f64>,
    /// Coefficient of friction.
    pub(crate) mu: f64,
    /// What it did in the step before; none of a new contact.
    pub(crate) before: Option<Mode>,
}

impl Link {
    /// `G x`: how the contact moves with the bodies.
    fn moved(&self, x: &[Vector6<f64>]) -> Vector3<f64> {
        let of = |k: usize| self.bodies[k].map_or_else(Vector3::zeros, |body| self.jacobian[k] * x[body]);
        of(0) + of(1)
    }

    /// Adds `G' p` to `sum`.
    fn gather(&self, p: &Vector3<f64>, sum: &mut [Vector6<f64>]) {
        for (body, jacobian) in self.bodies.iter().zip(&self.jacobian) {
            if let Some(body) = body {
                sum[*body] += jacobian.tr_mul(p);
            }
        }
    }
}

/// The solution of an island.
pub(crate) struct Found {
    /// Changes of the scaled velocities, one for each body.
    pub(crate) x: Vec<Vector6<f64>>,
    /// Impulses along normal and tangents [N s].
    pub(crate) p: Vec<[f64; 3]>,
    /// What each contact does.
    pub(crate) modes: Vec<Mode>,
    /// How far it is from a solution [-].
    pub(crate) residual: f64,
}

/// An island in its own units, and the room that its solver needs.
pub(crate) struct Island<'a> {
    links: Vec<Link>,
    /// Unit of impulse of each contact [N s], and of the scaled velocities.
    impulse: Vec<f64>,
    speed: f64,
    bodies: usize,
    /// Whether bodies differ much in mass.
    is_uneven: bool,
    /// Residual [-] of a solution; velocities below half of it are none.
    tolerance: f64,
    polygon: &'a Polygon,
    system: Sparse,
}

/// A motion with the impulses that go with it.
struct Motion {
    x: Vec<Vector6<f64>>,
    p: Vec<Vector3<f64>>,
    modes: Vec<Mode>,
}

impl<'a> Island<'a> {
    /// An island of so many bodies with at least one contact, to be solved to this residual [-]. `change` is
    /// the largest of what loads add to the scaled velocities, 0 if it is not known: with it a heavy body on
    /// a light one is measured by what it needs.
    pub(crate) fn new(bodies: usize, mut links: Vec<Link>, polygon: &'a Polygon, tolerance: f64, change: f64) -> Self {
        let size = |link: &Link| {
            let row = |r: usize| link.jacobian.iter().map(|j| j.row(r).norm_squared()).sum::<f64>();
            (0..3).map(row).fold(0.0, f64::max).sqrt()
        };
        let sizes: Vec<f64> = links.iter().map(size).collect();
        let speeds = links.iter().zip(&sizes).map(|(link, s)| link.b.amax() / s);
        let own = speeds.fold(0.0, f64::max);
        let speed = own.max(change);
        let speed = if speed > 0.0 { speed } else { 1.0 };
        for (link, s) in links.iter_mut().zip(&sizes) {
            link.jacobian.iter_mut().for_each(|j| *j /= *s);
            link.b /= speed * s;
        }
        let pair = |link: &Link| Some([link.bodies[0]?, link.bodies[1]?]);
        let system = Sparse::new(bodies, links.iter().filter_map(pair));
        let of = |pick: fn(f64, f64) -> f64| sizes.iter().copied().reduce(pick).unwrap_or(1.0);
        let is_uneven = (of(f64::max) / of(f64::min)).max(change / own.max(f64::MIN_POSITIVE)).powi(2) > UNEVEN;
        let impulse = sizes.iter().map(|s| speed / s).collect();
        Self { links, impulse, speed, bodies, is_uneven, tolerance, polygon, system }
    }

    /// The solution, or the best that was found.
    pub(crate) fn solve(&mut self) -> Found {
        let tolerance = self.tolerance;
        let guess = |link: &Link| match link.before {
            Some(mode) => mode,
            // Bodies that rest on each other fall alike, to rounding.
            None if link.b.x > tolerance => Mode::Separate,
            None if link.mu > 0.0 => Mode::Stick,
            None => Mode::Along(0),
        };
        let guessed: Vec<Mode> = self.links.iter().map(guess).collect();
        let none = vec![Vector3::zeros(); self.links.len()];
        let mut best: Option<(f64, Motion)> = None;
        self.by_modes(guessed.clone(), &none, &mut best);
        if !self.is_solved(&best) {
            self.by_convex_problems(&mut best);
        }
        if !self.is_accepted(&best) {
            self.by_paths(&mut best);
        }
        let (residual, motion) = best
            .unwrap_or_else(|| (f64::NAN, Motion { x: vec![Vector6::zeros(); self.bodies], p: none, modes: guessed }));
        let x = motion.x.iter().map(|x| x * self.speed).collect();
        let p = motion.p.iter().zip(&self.impulse).map(|(p, unit)| (p * *unit).into()).collect();
        Found { x, p, modes: motion.modes, residual }
    }

    /// Finds the impulses of a motion, and keeps it if it is better than what there is.
    fn take(&mut self, x: Vec<Vector6<f64>>, best: &mut Option<(f64, Motion)>) {
        let closing = self.links.iter().map(|link| -self.velocity(link, &x).x).fold(0.0, f64::max);
        if closing > ACCEPTED * self.tolerance && best.is_some() {
            return; // The residual is at least that, whatever the impulses.
        }
        let (p, mut modes) = self.least_forces(&x, 0.5 * self.tolerance);
        // Whether there is no impulse or one of rounding must not matter to the step after.
        for (mode, _) in modes.iter_mut().zip(&p).filter(|(_, p)| p.x <= NONE) {
            *mode = Mode::Separate;
        }
        let residual = self.residual(&x, &p);
        if residual.is_finite() && best.as_ref().is_none_or(|(least, _)| residual < *least) {
            *best = Some((residual, Motion { x, p, modes }));
        }
    }

    /// Whether there is a solution to the promised residual.
    fn is_solved(&self, best: &Option<(f64, Motion)>) -> bool {
        best.as_ref().is_some_and(|(residual, _)| *residual <= self.tolerance)
    }

    /// Whether there is a solution to the residual that is accepted where no smaller one is found.
    fn is_accepted(&self, best: &Option<(f64, Motion)>) -> bool {
        best.as_ref().is_some_and(|(residual, _)| *residual <= ACCEPTED * self.tolerance)
    }

    /// Contact velocity of a link.
    fn velocity(&self, link: &Link, x: &[Vector6<f64>]) -> Vector3<f64> {
        link.b + link.moved(x)
    }

    /// `G' p`.
    fn gathered(&self, p: &[Vector3<f64>]) -> Vec<Vector6<f64>> {
        let mut sum = vec![Vector6::zeros(); self.bodies];
        self.links.iter().zip(p).for_each(|(link, p)| link.gather(p, &mut sum));
        sum
    }

    /// Makes and factorises the system `diagonal + G' D G`, with `D` of each contact.
    fn factorise(&mut self, diagonal: f64, d: impl Fn(usize, &Link) -> Matrix3<f64>) -> bool {
        self.system.set_diagonal(diagonal);
        for (i, link) in self.links.iter().enumerate() {
            let d = d(i, link);
            if d == Matrix3::zeros() {
                continue;
            }
            for (body, jacobian) in link.bodies.iter().zip(&link.jacobian) {
                let Some(body) = body else { continue };
                let left = jacobian.transpose() * d;
                for (other, right) in link.bodies.iter().zip(&link.jacobian) {
                    let Some(other) = other else { continue };
                    self.system.add(*body, *other, &(left * right));
                }
            }
        }
        self.system.factorise()
    }

    /// Solves the system that was factorised.
    fn solved(&self, right: &[Vector6<f64>]) -> Vec<Vector6<f64>> {
        let mut out = right.to_vec();
        self.system.solve(&mut out);
        out
    }

    /// How far a motion with impulses is from a solution [-]: the largest of the complementarity that is
    /// missing, as in [`ContactProblem::residual`](crate::lcp::ContactProblem::residual), and of the momentum
    /// that is, over that of the impulses.
    fn residual(&self, x: &[Vector6<f64>], p: &[Vector3<f64>]) -> f64 {
        let mut worst = 0.0;
        // What is no number stays.
        let mut take = |r: f64| worst = if r.is_nan() || r > worst { r } else { worst };
        let corners = self.polygon.corners();
        for (link, p) in self.links.iter().zip(p) {
            let u = self.velocity(link, x);
            take(p.x.min(u.x).abs());
            let speed = self.polygon.support([u.y, u.z]);
            let mut sum = 0.0;
            let j = self.polygon.sector([p.y, p.z]);
            let (d, e) = (corners[j], corners[(j + 1) % corners.len()]);
            let sine = d[0] * e[1] - d[1] * e[0];
            for (part, of) in [((p.y * e[1] - p.z * e[0]) / sine, d), ((d[0] * p.z - d[1] * p.y) / sine, e)] {
                take(part.max(0.0).min(speed + of[0] * u.y + of[1] * u.z).abs());
                sum += part.max(0.0);
            }
            take(speed.min(link.mu * p.x - sum).abs());
        }
        let mut most = vec![Vector6::zeros(); self.bodies];
        for (link, p) in self.links.iter().zip(p) {
            for (body, jacobian) in link.bodies.iter().zip(&link.jacobian) {
                if let Some(body) = body {
                    most[*body] += jacobian.abs().transpose() * p.abs();
                }
            }
        }
        for ((wanted, is), most) in x.iter().zip(self.gathered(p)).zip(most) {
            take((wanted - is).amax() / most.amax().max(1.0));
        }
        worst
    }
}

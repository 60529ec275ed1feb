//! The convex problem: friction dissipates as much as it can, and so does the normal impulse of a contact
//! that slides, which therefore lifts off with `mu` times its sliding speed.
//!
//! Its motion is unique, it does not depend on the order of anything, and it is rest if there are impulses
//! within the cones that keep the bodies at rest. Lifts `s` that are given to the contacts take the lifting
//! off back: with `s = mu |u_t|`, the problem is that of Coulomb's law (De Saxce and Feng 1998; Acary,
//! Cadoux, Lemarechal and Malick 2011). Each problem is solved by the proximal method of multipliers, whose
//! inner problem is piecewise quadratic in the velocities.

use nalgebra::{Vector3, Vector6};

use super::{ACCEPTED, Island, Link, Mode, Motion};

/// Compliance of a contact [-]: of the method of multipliers, which takes it back.
const COMPLIANCE: f64 = 1e-7;
/// Most convex problems of one step, those of an island of many contacts, for which a path is faster, and
/// those after which a larger residual is enough.
const MOST_ROUNDS: usize = 120;
const ROUNDS_OF_MANY: usize = 12;
const MANY: usize = 32;
const FEW_ROUNDS: usize = 8;
/// After so many rounds the modes are tried in one round of so many.
const TRIED: usize = 4;
/// Share of the change of a lift that is taken: contacts that load each other in turns would not settle with
/// all of it.
const DAMPING: f64 = 0.7;
/// Where the changes of two rounds are equal to this share, those of later rounds are foreseen.
const STEADY: f64 = 0.01;
/// Most rounds that are foreseen, and those from one time to the next.
const MOST_FORESEEN: f64 = 1e4;
const APART: usize = 3;
/// Most Newton steps of an inner problem.
const MOST_STEPS: usize = 60;
/// Most shares of a step that are tried, and the shortest share that is worth another step.
const MOST_TRIALS: usize = 30;
const SHORTEST: f64 = 1e-8;

impl Island<'_> {
    /// Solves convex problems until one gives a solution.
    pub(super) fn by_convex_problems(&mut self, best: &mut Option<(f64, Motion)>) {
        let n = self.links.len();
        let (mut x, mut p) = (vec![Vector6::zeros(); self.bodies], vec![Vector3::zeros(); n]);
        let mut lift = vec![0.0; n];
        let (mut modes, mut tried): (Option<Vec<Mode>>, Vec<Mode>) = (None, Vec::new());
        let (mut change, mut foreseen) = (f64::INFINITY, 0);
        for round in 0..if n > MANY { ROUNDS_OF_MANY } else { MOST_ROUNDS } {
            let (old_lift, old) = (lift.clone(), p.clone());
            let found = self.minimise(&lift, &mut x, &mut p, modes.as_deref());
            self.take_near(&x, &p, best);
            if found != tried && (round < TRIED || round % TRIED == 0) {
                self.by_modes(found.clone(), &p, best);
                tried.clone_from(&found);
            }
            modes = Some(found);
            if self.is_solved(best) || round >= FEW_ROUNDS && self.is_accepted(best) {
                return;
            }
            let mut now = 0.0f64;
            for (link, lift) in self.links.iter().zip(&mut lift) {
                let u = self.velocity(link, &x);
                let step = DAMPING * (link.mu * self.polygon.support([u.y, u.z]) - *lift);
                *lift += step;
                now = now.max(step.abs());
            }
            let share = now / change;
            change = now;
            if (share - 1.0).abs() < STEADY && round >= foreseen + APART {
                // Bodies are wedged by impulses that grow by the same in each round.
                let rounds = rounds_alike(&old, &p, share);
                lift.iter_mut()
                    .zip(&old_lift)
                    .for_each(|(lift, old)| *lift = (*lift + rounds * (*lift - old)).max(0.0));
                p.iter_mut().zip(&old).for_each(|(p, old)| *p += rounds * (*p - old));
                foreseen = round;
            }
        }
    }

    /// Keeps a motion and its impulses if they are a solution to the residual that is accepted; instead of
    /// its impulses those of least norm, if these are one, too.
    pub(super) fn take_near(&mut self, x: &[Vector6<f64>], p: &[Vector3<f64>], best: &mut Option<(f64, Motion)>) {
        let residual = self.residual(x, p);
        if !(residual <= ACCEPTED * self.tolerance) || best.as_ref().is_some_and(|(least, _)| *least <= residual) {
            return;
        }
        let (least, modes) = self.least_forces(x, 2.0 * residual);
        let of_least = self.residual(x, &least);
        // Those of least norm may miss more, but not more than what there is.
        let enough = ACCEPTED * self.tolerance;
        let enough = best.as_ref().map_or(enough, |(other, _)| other.min(enough));
        let (residual, p) = if of_least <= enough { (of_least, least) } else { (residual, p.to_vec()) };
        *best = Some((residual, Motion { x: x.to_vec(), p, modes }));
    }

    /// One step of the method of multipliers from the impulses `p`, which become those of the next: the
    /// minimum of `1/2 |x|^2 + e/2 sum |p(x)|^2` with `p(x)` the impulse of the cone nearest to
    /// `p - (u + lift n) / e`. `before` are the modes of a problem that is nearly the same.
    fn minimise(
        &mut self,
        lift: &[f64],
        x: &mut [Vector6<f64>],
        p: &mut [Vector3<f64>],
        before: Option<&[Mode]>,
    ) -> Vec<Mode> {
        let from = p.to_vec();
        if let Some(before) = before {
            self.start_with(before, lift, &from, x);
        }
        let mut modes = vec![Mode::Separate; self.links.len()];
        let mut slope = self.slope(lift, &from, x, p, &mut modes);
        for _ in 0..MOST_STEPS {
            let size = slope.iter().map(Vector6::amax).fold(0.0, f64::max);
            if !(size > 1e-15) || !self.factorise_convex(&modes) {
                break;
            }
            let step = self.solved(&slope);
            let share = self.share_of_step(lift, &from, x, &step);
            x.iter_mut().zip(&step).for_each(|(x, d)| *x -= share * d);
            let chosen = modes.clone();
            slope = self.slope(lift, &from, x, p, &mut modes);
            // The rest of a step that goes no further is rounding.
            if share == 1.0 && modes == chosen || share < SHORTEST {
                break;
            }
        }
        modes
    }

    /// Factorises the second derivative of what is minimised, with these modes.
    fn factorise_convex(&mut self, modes: &[Mode]) -> bool {
        let polygon = self.polygon;
        self.factorise(1.0, |i, link| polygon.projector(link.mu, modes[i]) / COMPLIANCE)
    }

    /// The minimum with these modes, wherever impulses lie on what a mode spans.
    fn start_with(&mut self, modes: &[Mode], lift: &[f64], from: &[Vector3<f64>], x: &mut [Vector6<f64>]) {
        if !self.factorise_convex(modes) {
            return;
        }
        let impulse = |(i, link): (usize, &Link)| {
            self.polygon.projector(link.mu, modes[i]) * self.impulse_asked(i, lift[i], from[i], x)
        };
        let p: Vec<_> = self.links.iter().enumerate().map(impulse).collect();
        let slope: Vec<_> = self.gathered(&p).iter().zip(&*x).map(|(g, x)| x - g).collect();
        let step = self.solved(&slope);
        x.iter_mut().zip(&step).for_each(|(x, d)| *x -= d);
    }

    /// `p - (u + lift n) / e` of a contact.
    fn impulse_asked(&self, i: usize, lift: f64, from: Vector3<f64>, x: &[Vector6<f64>]) -> Vector3<f64> {
        from - (self.velocity(&self.links[i], x) + lift * Vector3::x()) / COMPLIANCE
    }

    /// The share of a step from `x`, along which the slope falls, at which it is zero; all of it if it is
    /// hardly negative at its end.
    fn share_of_step(&self, lift: &[f64], from: &[Vector3<f64>], x: &[Vector6<f64>], step: &[Vector6<f64>]) -> f64 {
        let along = |(i, link): (usize, &Link)| {
            (self.impulse_asked(i, lift[i], from[i], x), (self.velocity(link, step) - link.b) / COMPLIANCE)
        };
        let along: Vec<_> = self.links.iter().enumerate().map(along).collect();
        let own: f64 = x.iter().zip(step).map(|(x, d)| x.dot(d)).sum();
        let square: f64 = step.iter().map(Vector6::norm_squared).sum();
        // The slope and its derivative.
        let at = |share: f64| {
            let (mut slope, mut change) = (own - share * square, -square);
            for (link, (q, dq)) in self.links.iter().zip(&along) {
                let (p, mode) = self.polygon.nearest(link.mu, q + share * dq);
                slope -= COMPLIANCE * p.dot(dq);
                change -= COMPLIANCE * self.polygon.square_on(link.mu, mode, *dq);
            }
            (slope, change)
        };
        let (first, _) = at(0.0);
        let (mut low, mut high, mut share) = (0.0, 1.0, 1.0);
        for _ in 0..MOST_TRIALS {
            let (slope, change) = at(share);
            if share == 1.0 && slope >= -0.1 * first || slope.abs() <= 0.01 * first || high - low < 1e-9 {
                break;
            }
            if slope > 0.0 {
                low = share;
            } else {
                high = share;
            }
            // The slope is linear piece by piece.
            share -= slope / change;
            if !(share > low && share < high) {
                share = 0.5 * (low + high);
            }
        }
        share
    }

    /// The derivative of what is minimised, with the impulses and modes at `x`.
    fn slope(
        &self,
        lift: &[f64],
        from: &[Vector3<f64>],
        x: &[Vector6<f64>],
        p: &mut [Vector3<f64>],
        modes: &mut [Mode],
    ) -> Vec<Vector6<f64>> {
        for (i, link) in self.links.iter().enumerate() {
            (p[i], modes[i]) = self.polygon.nearest(link.mu, self.impulse_asked(i, lift[i], from[i], x));
        }
        self.gathered(p).iter().zip(x).map(|(g, x)| x - g).collect()
    }
}

/// How many more rounds go as the last one, from `old` to `p`, of which each changes by `share` of the one
/// before: until a contact has lost its impulse.
fn rounds_alike(old: &[Vector3<f64>], p: &[Vector3<f64>], share: f64) -> f64 {
    let falling = p.iter().zip(old).filter(|(p, old)| p.x > 0.0 && p.x < old.x);
    let most = falling.map(|(p, old)| p.x / (old.x - p.x)).fold(MOST_FORESEEN, f64::min);
    // The sum of all that is to come, if it ends.
    if share < 1.0 { most.min(share / (1.0 - share)) } else { most }
}

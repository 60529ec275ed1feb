//! The motion when every contact does what its mode says.

use nalgebra::{Matrix3, Vector3, Vector6};

use super::{Island, Link, Mode, Motion};

/// Compliance of contacts [-]; corrections take back what they give way.
const COMPLIANCE: f64 = 1e-5;
/// A smaller one, for bodies that differ much in mass: fewer corrections are needed.
const STIFF: f64 = 1e-11;
/// Impulses have an error of rounding over the compliance: these, one after the other, take it away.
const SOFT: [f64; 2] = [1e-4, 1e-2];
/// Most corrections with one factorisation.
const CORRECTIONS: usize = 12;
/// Velocities and momenta [-] that are rounding.
const ROUNDING: f64 = 1e-15;
/// Momentum [-] that is not worth another factorisation.
const NOISE: f64 = 1e-14;
/// A residual [-] that is rounding.
const EXACT: f64 = 1e-13;
/// Velocities and momenta [-] that are small enough.
const ENOUGH: f64 = 2e-12;

/// Most changes of the modes from one beginning.
const MOST_CHANGES: usize = 15;

impl Island<'_> {
    /// Newton's method on the modes: the motion for these modes, then the modes that velocities and impulses
    /// ask for, until the motion is a solution or modes come again.
    pub(super) fn by_modes(&mut self, mut modes: Vec<Mode>, p: &[Vector3<f64>], best: &mut Option<(f64, Motion)>) {
        let compliance = if self.is_uneven { STIFF } else { COMPLIANCE };
        let mut p = p.to_vec();
        let mut seen: Vec<Vec<Mode>> = Vec::new();
        while seen.len() < MOST_CHANGES && !seen.contains(&modes) {
            let Some((mut x, mut q, mut good)) = self.motion(&modes, &p, compliance) else { return };
            let mut next = self.asked_for(&x, &q);
            if next == modes && !good {
                self.take(x.clone(), best);
                if self.is_solved(best) {
                    return;
                }
                let Some(again) = self.motion(&modes, &q, STIFF) else { return };
                let grown = std::mem::replace(&mut q, again.1.clone());
                (x, good) = (again.0, again.2);
                if !good {
                    // These contacts cannot all close, as a fourth leg that is too short: impulses grow
                    // without end along a direction that moves nothing. The first that vanishes there is
                    // released.
                    let share = |i: &usize| grown[*i].x / (grown[*i].x - q[*i].x);
                    let falls = (0..q.len()).filter(|i| next[*i] != Mode::Separate && q[*i].x < grown[*i].x);
                    let Some(first) = falls.min_by(|a, b| share(a).total_cmp(&share(b))) else { return };
                    next[first] = Mode::Separate;
                    q = grown;
                }
            }
            if good {
                self.take(x, best);
                // Other modes may be solutions to rounding where these are one to the tolerance.
                let residual = best.as_ref().map_or(f64::NAN, |(residual, _)| *residual);
                if residual <= EXACT || self.is_solved(best) && next == modes {
                    return;
                }
            }
            seen.push(std::mem::replace(&mut modes, next));
            p = q;
        }
    }

    /// The modes of the impulses that are nearest to `p - u`, within friction for the normal impulse of
    /// these.
    fn asked_for(&self, x: &[Vector6<f64>], p: &[Vector3<f64>]) -> Vec<Mode> {
        let of = |(link, p): (&Link, &Vector3<f64>)| {
            let q = p - self.velocity(link, x);
            self.polygon.nearest_friction(link.mu, q)
        };
        self.links.iter().zip(p).map(of).collect()
    }

    /// The scaled velocities for which a contact that sticks has no velocity, one that slides none along its
    /// normal, and impulses lie on the part of the cone that the mode names, wherever on the lines through
    /// it; with the impulses, and whether all that holds. `p` is where the search for impulses begins. None
    /// if the system is singular.
    ///
    /// `p = F y` and `T' u = 0`. With the compliance `e` this is `dp = -D (u + G dx)`, `D = F T' / e`, and
    /// `dx = G' dp`; a correction takes what `e` has left.
    #[expect(clippy::type_complexity, reason = "velocities, impulses, and whether they are good")]
    fn motion(
        &mut self,
        modes: &[Mode],
        p: &[Vector3<f64>],
        compliance: f64,
    ) -> Option<(Vec<Vector6<f64>>, Vec<Vector3<f64>>, bool)> {
        let polygon = self.polygon;
        let spans: Vec<_> = self.links.iter().zip(modes).map(|(l, m)| polygon.span(l.mu, *m)).collect();
        // `T' p` are the unknowns of a mode.
        let mut p: Vec<Vector3<f64>> = p.iter().zip(&spans).map(|(p, [f, t])| f * (t.transpose() * p)).collect();
        let mut x = self.gathered(&p);
        let mut left = [f64::INFINITY; 2];
        for compliance in [compliance].into_iter().chain(SOFT) {
            let d: Vec<_> = spans.iter().map(|[f, t]| f * t.transpose() / compliance).collect();
            let before = (x.clone(), p.clone());
            let now = if self.factorise(1.0, |i, _| d[i]) {
                self.corrected(&spans, compliance, &mut x, &mut p)
            } else {
                [f64::INFINITY; 2]
            };
            if left.iter().all(|left| *left <= ENOUGH) && !now.iter().all(|left| *left <= ENOUGH) {
                (x, p) = before;
                break;
            }
            left = now;
            if !(left[0] <= ENOUGH) || left[1] <= NOISE {
                break;
            }
        }
        let good = left.iter().all(|left| *left <= ENOUGH);
        x.iter().all(|x| x.iter().all(|c| c.is_finite())).then_some((x, p, good))
    }

    /// Corrects velocities and impulses with the system that was factorised; the velocities and momenta that
    /// are left.
    fn corrected(
        &mut self,
        spans: &[[Matrix3<f64>; 2]],
        compliance: f64,
        x: &mut [Vector6<f64>],
        p: &mut [Vector3<f64>],
    ) -> [f64; 2] {
        let mut before = [f64::INFINITY; 2];
        let mut given = vec![Vector3::zeros(); p.len()];
        let (mut missing, mut right) = (vec![Vector6::zeros(); x.len()], vec![Vector6::zeros(); x.len()]);
        for _ in 0..CORRECTIONS {
            missing.iter_mut().zip(&*x).for_each(|(missing, x)| *missing = -x);
            right.fill(Vector6::zeros());
            let (mut moving, mut large) = (0.0f64, 1.0f64);
            for ((link, [f, t]), (p, given)) in self.links.iter().zip(spans).zip(p.iter().zip(&mut given)) {
                // `T'` first: of a contact that slides it takes nearly all away, and the rest is along `F`.
                let u = t.tr_mul(&self.velocity(link, x));
                *given = f * u / compliance;
                (moving, large) = (moving.max(u.amax()), large.max(p.amax()));
                link.gather(p, &mut missing);
                link.gather(given, &mut right);
            }
            let left = [moving, missing.iter().map(Vector6::amax).fold(0.0, f64::max) / large];
            let helps = left.iter().zip(&before).any(|(now, then)| *now > ROUNDING && *now < 0.5 * then);
            before = left;
            if !helps {
                break;
            }
            right.iter_mut().zip(&missing).for_each(|(right, missing)| *right = missing - *right);
            self.system.solve(&mut right);
            for ((p, link), ([f, t], given)) in p.iter_mut().zip(&self.links).zip(spans.iter().zip(&given)) {
                *p -= given + f * t.tr_mul(&link.moved(&right)) / compliance;
            }
            x.iter_mut().zip(&right).for_each(|(x, dx)| *x += dx);
        }
        before
    }
}

//! The impulses of a motion: of all that give it, those with the least sum of squares in N s, which are
//! unique, change continuously with the loads, and have the symmetry that the bodies have.

use nalgebra::{Vector3, Vector6};

use super::{Island, Mode};

/// What keeps the system regular where bodies can move without a contact's doing [-].
const REGULAR: f64 = 1e-10;
/// The same for bodies that differ much in mass.
const UNEVENLY: f64 = 1e-12;
/// Most Newton steps.
const MOST_STEPS: usize = 60;
/// Momentum that may be missing [-].
const CLOSE: f64 = 1e-14;
/// Momentum that is rounding [-].
const ROUNDING: f64 = 1e-15;

impl Island<'_> {
    /// What each contact does in a motion, `s` being its speed of sliding: where it separates it has no
    /// impulse, where it slides one on an edge or a face of its cone, else any. Velocities below `still` [-]
    /// are none.
    fn parts(&self, x: &[Vector6<f64>], still: f64) -> Vec<Mode> {
        let corners = self.polygon.corners();
        let part = |link: &super::Link| {
            let u = self.velocity(link, x);
            if u.x > still {
                return Mode::Separate;
            }
            let s = self.polygon.support([u.y, u.z]);
            if u.y.hypot(u.z) <= still {
                return Mode::Stick;
            }
            // It slides against the directions in which it moves back fastest: one, or two.
            let fastest = |j: usize| {
                let d = corners[j % corners.len()];
                s + d[0] * u.y + d[1] * u.z <= still
            };
            let first = (0..corners.len()).find(|j| fastest(*j)).unwrap_or(0);
            if fastest(first + 1) {
                Mode::Between(first as u8)
            } else if first == 0 && fastest(corners.len() - 1) {
                Mode::Between(corners.len() as u8 - 1)
            } else {
                Mode::Along(first as u8)
            }
        };
        self.links.iter().map(part).collect()
    }

    /// The impulses of least norm on these parts of the cones with `G' p = x`, and where they lie.
    ///
    /// They are `p_i = w_i nearest(G_i y)` for some `y`, the multipliers of `G' p = x`; `w_i` turns the
    /// contact's own units into those of all. `y` minimises `1/2 sum w_i |nearest(G_i y)|^2 - x y`, to which
    /// a small multiple of the distance from the last `y` is added.
    pub(super) fn least_forces(&mut self, x: &[Vector6<f64>], still: f64) -> (Vec<Vector3<f64>>, Vec<Mode>) {
        let parts = self.parts(x, still);
        let unit = self.impulse.iter().copied().fold(f64::INFINITY, f64::min);
        let weights: Vec<f64> = self.impulse.iter().map(|own| (unit / own).powi(2)).collect();
        let regular = if self.is_uneven { UNEVENLY } else { REGULAR };
        let polygon = self.polygon;
        let mut y = vec![Vector6::zeros(); self.bodies];
        let mut modes = parts.clone();
        let mut p = vec![Vector3::zeros(); self.links.len()];
        let mut last = y.clone();
        let mut missing: Vec<Vector6<f64>> = x.to_vec();
        let mut farthest = f64::INFINITY;
        let large = largest(x).max(1e-300);
        for step in 0..MOST_STEPS {
            let chosen = modes.clone();
            let system = |i: usize, link: &super::Link| polygon.projector(link.mu, chosen[i]) * weights[i];
            if !self.factorise(regular, system) {
                break;
            }
            let dy = self.solved(&missing);
            let start = y.clone();
            let first: f64 = missing.iter().zip(&dy).map(|(m, d)| m.dot(d)).sum();
            let (mut low, mut high, mut t) = (0.0, 1.0, 1.0);
            for _ in 0..30 {
                y.iter_mut().zip(start.iter().zip(&dy)).for_each(|(y, (s, d))| *y = s + t * d);
                for (i, link) in self.links.iter().enumerate() {
                    let q = self.velocity(link, &y) - link.b;
                    (p[i], modes[i]) = polygon.nearest_on(link.mu, parts[i], q);
                    p[i] *= weights[i];
                }
                let is = self.gathered(&p);
                for (k, missing) in missing.iter_mut().enumerate() {
                    *missing = x[k] - is[k] - regular * (y[k] - last[k]);
                }
                let now: f64 = missing.iter().zip(&dy).map(|(m, d)| m.dot(d)).sum();
                // From the first step, taken with modes that are a guess, whatever comes is taken.
                if step == 0 || now >= -0.1 * first {
                    if t == 1.0 || now <= 0.5 * first || high - low < 1e-9 {
                        break;
                    }
                    low = t;
                } else {
                    high = t;
                }
                t = 0.5 * (low + high);
            }
            // Contacts without impulse may change their modes from step to step by rounding.
            if self.missing(x, &p).0 <= CLOSE * large {
                return (p, modes);
            }
            if !(t == 1.0 && modes == chosen || largest(&missing) <= ROUNDING * large) {
                continue;
            }
            // With these modes the problem is linear: what the regular part holds back is taken with the same
            // factors, as long as that helps.
            let mut before = f64::INFINITY;
            while modes == chosen {
                let far;
                (far, missing) = self.missing(x, &p);
                if !(far > CLOSE * large && far < 0.5 * before) {
                    return (p, modes);
                }
                before = far;
                let dy = self.solved(&missing);
                y.iter_mut().zip(&dy).for_each(|(y, dy)| *y += dy);
                for (i, link) in self.links.iter().enumerate() {
                    let q = self.velocity(link, &y) - link.b;
                    (p[i], modes[i]) = polygon.nearest_on(link.mu, parts[i], q);
                    p[i] *= weights[i];
                }
            }
            last.clone_from(&y);
            let far;
            (far, missing) = self.missing(x, &p);
            // No impulses give this motion, if what is missing stays.
            if !(far < 0.5 * farthest) {
                break;
            }
            farthest = far;
        }
        (p, modes)
    }

    /// The momentum `x - G' p`, and its largest element.
    fn missing(&self, x: &[Vector6<f64>], p: &[Vector3<f64>]) -> (f64, Vec<Vector6<f64>>) {
        let missing: Vec<_> = x.iter().zip(self.gathered(p)).map(|(x, is)| x - is).collect();
        (largest(&missing), missing)
    }
}

fn largest(of: &[Vector6<f64>]) -> f64 {
    of.iter().map(Vector6::amax).fold(0.0, f64::max)
}

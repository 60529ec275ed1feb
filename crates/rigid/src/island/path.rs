//! Lemke's method on modes: a path of motions, on which one contact after the other changes its mode.
//!
//! Contacts yield by a little, so that impulses are unique: `u = G x + b + e p` with `x = G' p`. Let
//! `q = p - u`: the impulse `p` is the part of `q` that friction allows, linear in `q` as long as no contact
//! changes its mode. The problem is one equation in `q`, linear piece by piece: `p(q) - q = u(p(q))`. With
//! `t c` added to `b`, `c` along the normals, all contacts separate if `t` is large. The path on which `t`
//! then falls to zero goes on from piece to piece; on some `t` grows. That is Lemke's method with three
//! numbers a contact and the sparse system of the bodies in place of a tableau (Cao and Ferris 1996, on
//! affine variational inequalities).
//!
//! What the contacts have yielded is taken back in rounds, each a short path from the end of the last one.

use nalgebra::{Matrix3, Vector3};

use super::{Island, Link, Mode, Motion};

/// Compliances of the rounds [-].
const COMPLIANCES: [f64; 8] = [1e-6, 1e-6, 1e-7, 1e-7, 1e-7, 1e-7, 1e-7, 1e-7];
/// Columns `c` that are tried: two changes of modes at once, or rounding, may end a path.
const COVERS: usize = 4;
/// Most pieces of a path, for each contact.
const MOST_PIECES: usize = 20;
/// Most corrections on a piece.
const CORRECTIONS: usize = 5;
/// What may be missing of the equation: rounding, and too much to go on [-].
const ROUNDING: f64 = 1e-14;
const LOST: f64 = 1e-9;

/// A point of a path.
struct Point {
    /// `p - u` of each contact.
    q: Vec<Vector3<f64>>,
    modes: Vec<Mode>,
    /// What is added to `b`.
    shift: Vec<Vector3<f64>>,
    compliance: f64,
}

impl Island<'_> {
    /// Follows paths until one ends at a solution to the residual that is accepted.
    pub(super) fn by_paths(&mut self, best: &mut Option<(f64, Motion)>) {
        for cover in 1..=COVERS {
            self.by_path(cover, best);
            if self.is_accepted(best) {
                return;
            }
        }
    }

    fn by_path(&mut self, cover: usize, best: &mut Option<(f64, Motion)>) {
        let n = self.links.len();
        // Different for each contact, lest contacts change their modes at once.
        let share = |i: usize| (0.618_033_988_749_895 * (cover * (i + 1)) as f64).fract();
        let column: Vec<_> = (0..n).map(|i| Vector3::new(1.0 + 0.5 * share(i), 0.0, 0.0)).collect();
        let mut point = Point { q: Vec::new(), modes: Vec::new(), shift: vec![Vector3::zeros(); n], compliance: 0.0 };
        for (round, compliance) in COMPLIANCES.into_iter().enumerate() {
            let goes_on = round > 0 && self.take_back(&mut point, compliance);
            if !goes_on && !self.begin_afar(&mut point, compliance, &column) {
                return;
            }
            let p = self.impulses(&point);
            self.take_near(&self.gathered(&p), &p, best);
            self.by_modes(point.modes.clone(), &p, best);
            if self.is_accepted(best) {
                return;
            }
        }
    }

    /// The point with no contact closed where the path with this column begins, and the path from there.
    fn begin_afar(&mut self, point: &mut Point, compliance: f64, column: &[Vector3<f64>]) -> bool {
        let free: Vec<_> = self.links.iter().zip(&point.shift).map(|(link, shift)| link.b + shift).collect();
        let t = free.iter().zip(column).map(|(b, c)| -b.x / c.x).fold(0.0, f64::max);
        point.q = free.iter().zip(column).map(|(b, c)| -(b + t * c)).collect();
        point.modes = vec![Mode::Separate; free.len()];
        point.compliance = compliance;
        self.follow(point, column, t)
    }

    /// The path to where contacts yield from the impulses of `point` on, and with this compliance.
    fn take_back(&mut self, point: &mut Point, compliance: f64) -> bool {
        let p = self.impulses(point);
        let of = |(shift, p): (&Vector3<f64>, &Vector3<f64>)| shift + point.compliance * p;
        let change: Vec<_> = point.shift.iter().zip(&p).map(of).collect();
        point.shift = p.iter().map(|p| -compliance * p).collect();
        point.compliance = compliance;
        self.follow(point, &change, 1.0)
    }

    /// `p(q)`.
    fn impulses(&self, point: &Point) -> Vec<Vector3<f64>> {
        let of = |((link, q), mode): ((&Link, &Vector3<f64>), &Mode)| {
            let [f, t] = self.polygon.span(link.mu, *mode);
            f * (t.transpose() * q)
        };
        self.links.iter().zip(&point.q).zip(&point.modes).map(of).collect()
    }

    /// Follows the path of `p(q) - q = u(p(q)) + t change` from `t` to zero. Whether it ends there.
    fn follow(&mut self, point: &mut Point, change: &[Vector3<f64>], mut t: f64) -> bool {
        let (polygon, e) = (self.polygon, point.compliance);
        // The border that the point has crossed last: its contact, and where the inside is.
        let mut crossed: Option<(usize, Vector3<f64>)> = None;
        for _ in 0..MOST_PIECES * change.len() {
            let span = |(link, mode): (&Link, &Mode)| polygon.span(link.mu, *mode);
            let spans: Vec<_> = self.links.iter().zip(&point.modes).map(span).collect();
            let d: Vec<_> = spans.iter().map(|[f, t]| f * t.transpose() / e).collect();
            if !self.factorise(1.0, |i, _| d[i]) || !self.correct(point, &d, change, t) {
                return false;
            }
            let mut dq = self.moved(&d, e, change);
            // Towards smaller `t`, unless that would go back over the border.
            let falls = crossed.is_none_or(|(i, inwards)| inwards.dot(&dq[i]) <= 0.0);
            if falls {
                dq.iter_mut().for_each(|d| *d *= -1.0);
            }
            let mut share = if falls { t } else { f64::INFINITY };
            let mut first = None;
            for (i, link) in self.links.iter().enumerate() {
                polygon.borders(link.mu, point.modes[i], point.q[i], |border, mode| {
                    let (left, slope) = (border.dot(&point.q[i]), border.dot(&dq[i]));
                    if slope < 0.0 && left.max(0.0) < -slope * share {
                        share = left.max(0.0) / -slope;
                        first = Some((i, -border, mode));
                    }
                });
            }
            if !share.is_finite() {
                return false;
            }
            t += if falls { -share } else { share };
            point.q.iter_mut().zip(&dq).for_each(|(q, d)| *q += share * d);
            let Some((i, inwards, mode)) = first else { return true };
            point.modes[i] = mode;
            crossed = Some((i, inwards));
        }
        false
    }

    /// Newton steps on a piece, without a change of modes. Whether the equation then holds.
    fn correct(&self, point: &mut Point, d: &[Matrix3<f64>], change: &[Vector3<f64>], t: f64) -> bool {
        let mut before = f64::INFINITY;
        for _ in 0..CORRECTIONS {
            let p = self.impulses(point);
            let x = self.gathered(&p);
            let of = |(i, link): (usize, &Link)| {
                let u = self.velocity(link, &x) + point.compliance * p[i] + point.shift[i] + t * change[i];
                u - p[i] + point.q[i]
            };
            let missing: Vec<_> = self.links.iter().enumerate().map(of).collect();
            let size = missing.iter().map(Vector3::amax).fold(0.0, f64::max);
            if size <= ROUNDING || !(size < 0.5 * before) {
                return size.min(before) <= LOST;
            }
            before = size;
            let dq = self.moved(d, point.compliance, &missing);
            point.q.iter_mut().zip(&dq).for_each(|(q, dq)| *q += dq);
        }
        before <= LOST
    }

    /// The change of `q` on a piece with `by` added to `b`: `dp = -D (G dx + by)`, `dx = G' dp` and
    /// `dq = dp - du`, with the system that was factorised.
    fn moved(&self, d: &[Matrix3<f64>], e: f64, by: &[Vector3<f64>]) -> Vec<Vector3<f64>> {
        let pushed: Vec<_> = d.iter().zip(by).map(|(d, by)| -(d * by)).collect();
        let dx = self.solved(&self.gathered(&pushed));
        let of = |(i, link): (usize, &Link)| {
            let du = self.velocity(link, &dx) - link.b + by[i];
            let dp = -(d[i] * du);
            dp - du - e * dp
        };
        self.links.iter().enumerate().map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use nalgebra::{DVector, Matrix3x6, Vector6};

    use super::super::{ACCEPTED, Polygon, TOLERANCE};
    use super::*;
    use bristle::random::Draw;

    /// Contacts with three times as many velocities as their bodies have unknowns, half of them with friction
    /// above one: the path alone ends at a solution.
    #[test]
    fn a_path_ends_at_a_solution_of_redundant_contacts() {
        let polygons = [4, 5, 8].map(Polygon::new);
        for k in 0..300 {
            let draw = Draw::new(4110, k);
            let of = |name: &str| 2.0 * draw.uniform(name) - 1.0;
            let bodies = 2 + k as usize % 5;
            let moving: Vec<Vector6<f64>> =
                (0..bodies).map(|b| Vector6::from_fn(|r, _| of(&format!("v {b} {r}")))).collect();
            let links: Vec<Link> = (0..6 * bodies)
                .map(|i| {
                    let first = i % bodies;
                    let other = (i / bodies) % bodies;
                    let pair = [Some(first), Some(other).filter(|other| *other != first)];
                    let jacobian = [0, 1].map(|c| Matrix3x6::from_fn(|r, s| of(&format!("j {i} {c} {r} {s}"))));
                    // Velocities of the bodies, and a gap: there is a motion without overlap.
                    let mut b = Vector3::new(of(&format!("gap {i}")).max(0.0), 0.0, 0.0);
                    for (body, jacobian) in pair.iter().zip(&jacobian) {
                        b += body.map_or(Vector3::zeros(), |body| jacobian * moving[body]);
                    }
                    Link { bodies: pair, jacobian, b, mu: 1.0 + of(&format!("mu {i}")), before: None }
                })
                .collect();
            let mut island = Island::new(bodies, links, &polygons[k as usize % 3], TOLERANCE, 0.0);
            let mut best = None;
            island.by_paths(&mut best);
            let (residual, motion) = best.expect("a motion");
            let p = DVector::from_iterator(motion.p.len(), motion.p.iter().map(|p| p.x));
            assert!(residual <= ACCEPTED * TOLERANCE, "{k}: {residual:e}");
            assert!(p.min() >= -1e-9 && p.max() > 0.0, "{k}: {p}");
        }
    }
}

//! All wrenches about centres of rotation far outside a patch, from the moments of its pressure.
//!
//! One expansion serves all directions. It makes tables of random maps by `cells` in 0.67 of the time on 21 x
//! 21 cells and in 0.57 on 61 x 61.
//!
//! With `z` the centre of rotation and `s` a cell as complex numbers from the centre of pressure,
//! `|z - s| = |z| (1 - s/z)^(1/2) (1 - s*/z*)^(1/2)`, so that the mean distance from `z` is
//! `|z| sum a_p a_q z^-p z*^-q M_pq`, with `a_p` the binomial coefficients of the root and
//! `M_pq = sum w s^p s*^q`. The force is `i` times its gradient, the torque about the centre of pressure
//! `-sum (p + q) ...` of its terms. What remains after order `n` falls as `(span/|z|)^n`.

use std::sync::LazyLock;

use super::mesh::Mesh;
use crate::number::block::Block;
use crate::number::real::LANES;
use crate::number::simd::copies;

/// Distances of a centre of rotation, in spans of the patch, from which the expansion is used. On coarser
/// cells the averages over cells converge more slowly and need the second.
const FAR_SPANS: [f64; 2] = [1.6, 2.0];
/// Half diagonal of a cell over the span, up to which the averages over cells are exact to 1e-12 from these
/// distances on.
const COARSEST_CELLS: [f64; 2] = [0.07, 0.1];
/// Terms with `(span/|z|)^n` below this are left out of sums in double precision. They are smaller than that
/// by the share of the cells on the rim and by another `n^(-1/2)` or so, which makes them less than 1e-12.
pub const SMALLEST_TERM: f64 = 5e-11;
/// Largest order: `FAR_SPANS^-MAX_ORDER` is below `SMALLEST_TERM`.
const MAX_ORDER: usize = 51;
/// Order in the size of a cell up to which moments are averaged over cells.
const AVERAGE_ORDER: usize = 8;

/// A number for every `k` up to [`MAX_ORDER`].
type Harmonics = [f64; MAX_ORDER + 1];

/// The multipole expansion of a patch, from the moments of its pressure up to an order.
#[derive(Clone, Debug)]
pub struct Multipole {
    span: f64,
    order: usize,
    smallest: f64,
    /// `M_pq/span^(p + q)` for `p >= q`, `[q][p - q]`, real and imaginary.
    m: Vec<[Harmonics; 2]>,
}

impl Multipole {
    /// The expansion for centres of rotation at the distance `closest` and beyond, without terms for which
    /// `(span/|z|)^n` is below `smallest`: of the points of `mesh`, at most `span` from the centre of
    /// pressure, or of cells of half sides `half` around them. None if `closest` is too close or the cells
    /// are too coarse.
    pub fn new(mesh: &Mesh, span: f64, half: [f64; 2], closest: f64, smallest: f64) -> Option<Self> {
        let corner = half[0].hypot(half[1]);
        let span = span + corner;
        let serves = |(far, coarsest): (&f64, &f64)| closest >= far * span && corner <= coarsest * span;
        if !(span > 0.0 && FAR_SPANS.iter().zip(&COARSEST_CELLS).any(serves)) {
            return None;
        }
        let order = order(span / closest, smallest);
        let (mut real, width) = mesh.moments(1.0 / span, order);
        let m = sums(&mut real, width, order);
        let m = if corner > 0.0 { average(&m, &averages(half.map(|h| h / span)), order) } else { m };
        Some(Self { span, order, smallest, m })
    }

    /// Unit wrenches for rotations with w > 0 about centres at `distance`, `i distance e^(i theta)`, for
    /// directions `(cos theta, sin theta)` of the velocity at the centre of pressure.
    pub fn ring(&self, distance: f64, directions: &[[f64; 2]]) -> Vec<[f64; 3]> {
        let ratio = self.span / distance;
        let order = order(ratio, self.smallest).min(self.order);
        let harmonics = harmonics(&self.m, ratio, order);
        let mut out = Vec::with_capacity(directions.len());
        for some in directions.chunks(LANES) {
            let mut direction = [[0.0; LANES]; 2];
            some.iter().enumerate().for_each(|(i, d)| [direction[0][i], direction[1][i]] = *d);
            let [fx, fy, tau] = wrenches(&harmonics, order, &direction);
            out.extend((0..some.len()).map(|i| [fx[i], fy[i], tau[i] * distance]));
        }
        out
    }
}

/// The order that suffices for centres of rotation at a distance of `span / ratio`.
fn order(ratio: f64, smallest: f64) -> usize {
    ((smallest.ln() / ratio.ln()).ceil() as usize).clamp(4, MAX_ORDER)
}

/// Coefficients of `d^k d*^l` of the average over a cell, `d` and `d*` along `s` and `s*`: `dx = d + d*`,
/// `dy = i (d - d*)`.
fn averages(half: [f64; 2]) -> Vec<(usize, usize, f64)> {
    let mut out = [[0.0; AVERAGE_ORDER + 1]; AVERAGE_ORDER + 1];
    let factorial = |n: usize| (1..=n).map(|k| k as f64).product::<f64>();
    for i in (0..=AVERAGE_ORDER).step_by(2) {
        for j in (0..=AVERAGE_ORDER - i).step_by(2) {
            let sign = if j % 4 == 0 { 1.0 } else { -1.0 };
            let c = sign * half[0].powi(i as i32) * half[1].powi(j as i32) / (factorial(i + 1) * factorial(j + 1));
            // (d + d*)^i (d - d*)^j
            let mut polynomial = vec![c];
            for factor in std::iter::repeat_n(1.0, i).chain(std::iter::repeat_n(-1.0, j)) {
                polynomial.push(0.0);
                (1..polynomial.len()).rev().for_each(|l| polynomial[l] += factor * polynomial[l - 1]);
            }
            polynomial.iter().enumerate().for_each(|(l, c)| out[i + j - l][l] += c);
        }
    }
    let all = (0..=AVERAGE_ORDER).flat_map(|k| (0..=AVERAGE_ORDER - k).map(move |l| (k, l)));
    all.map(|(k, l)| (k, l, out[k][l])).filter(|t| t.2 != 0.0).collect()
}

/// `(-1)^(b div 2) binomial(a + b, b)`, `[b][a]`: the coefficients of `x^a y^b` in `(x + i y)^(a + b)`, less
/// a factor `i` for odd b.
static POWERS: LazyLock<Vec<Vec<f64>>> = LazyLock::new(|| {
    let mut out = vec![vec![1.0; MAX_ORDER + 1]];
    for b in 1..=MAX_ORDER {
        let sign = if b % 2 == 0 { -1.0 } else { 1.0 };
        let mut row = vec![sign * out[b - 1][0]];
        (1..=MAX_ORDER).for_each(|a| row.push(row[a - 1] + sign * out[b - 1][a]));
        out.push(row);
    }
    out
});

copies! {
    /// `sum w |s|^2q s^k`, `[q][k]`, real and imaginary, from `sum w x^a y^b`, `[b][a]`.
    fn sums(real: &mut [f64], width: usize, order: usize) -> Vec<[Harmonics; 2]> {
        let powers = &*POWERS;
        let mut out = Vec::with_capacity(order / 2 + 1);
        for last in (0..=order).rev().step_by(2) {
            let mut m = [[0.0; MAX_ORDER + 1]; 2];
            for (b, (power, real)) in powers.iter().zip(real.chunks_exact(width)).enumerate().take(last + 1) {
                for ((m, power), real) in m[b % 2][b..=last].iter_mut().zip(power).zip(real) {
                    *m = power.mul_add(*real, *m);
                }
            }
            out.push(m);
            // The sums times x^2 + y^2, for the next power of |s|^2.
            for b in 2..=last {
                let (below, row) = real.split_at_mut(b * width);
                let below = &mut below[(b - 2) * width..][..=last + 2 - b];
                below.copy_within(2.., 0);
                for (low, high) in below[..=last - b].iter_mut().zip(row) {
                    *low += *high;
                }
            }
        }
        out
    }
}

copies! {
    /// Moments of cells from those of points, by `sinh(hx dx)/(hx dx) sinh(hy dy)/(hy dy)`, of coefficients
    /// `terms`.
    fn average(m: &[[Harmonics; 2]], terms: &[(usize, usize, f64)], order: usize) -> Vec<[Harmonics; 2]> {
        // Derivatives of `s^p`: `p (p - 1) ...`, `[times][p]`.
        let mut falling = vec![vec![1.0; order + 1]; AVERAGE_ORDER + 1];
        for i in 1..=AVERAGE_ORDER {
            let (lower, this) = falling.split_at_mut(i);
            for (p, (this, lower)) in this[0].iter_mut().zip(&lower[i - 1]).enumerate() {
                *this = lower * (p as f64 + 1.0 - i as f64);
            }
        }
        let mut out = Vec::with_capacity(m.len());
        for q in 0..=order / 2 {
            let last = order - 2 * q;
            let (mut re, mut im) = ([0.0; MAX_ORDER + 1], [0.0; MAX_ORDER + 1]);
            for &(i, j, c) in terms {
                if j > q {
                    continue;
                }
                let (c, along) = (c * falling[j][q], &falling[i][q..=last + q]);
                // Where the power of `s` falls below that of `s*`, the term is the conjugate of one that is
                // stored.
                let swapped = i.saturating_sub(j).min(last + 1);
                for k in i.saturating_sub(q)..swapped {
                    let [from_re, from_im] = &m[k + q - i];
                    re[k] += c * along[k] * from_re[i - j - k];
                    im[k] -= c * along[k] * from_im[i - j - k];
                }
                let from = swapped + j - i.min(swapped + j);
                let [from_re, from_im] = &m[q - j];
                let all = re[swapped..].iter_mut().zip(&mut im[swapped..]).zip(&along[swapped..]);
                for (((re, im), along), (from_re, from_im)) in all.zip(from_re[from..].iter().zip(&from_im[from..])) {
                    *re += c * along * from_re;
                    *im += c * along * from_im;
                }
            }
            out.push([re, im]);
        }
        out
    }
}

copies! {
    /// Coefficients of `e^(-ikb)`: sum and difference of the force's for `k` and for `-k`, and those of the
    /// torque.
    fn harmonics(m: &[[Harmonics; 2]], ratio: f64, order: usize) -> [Harmonics; 6] {
        let (mut a, mut powers) = ([1.0; MAX_ORDER + 1], [1.0; MAX_ORDER + 1]);
        for p in 1..=order {
            a[p] = a[p - 1] * (p as f64 - 1.5) / p as f64;
            powers[p] = powers[p - 1] * ratio;
        }
        let mut out = [[0.0; MAX_ORDER + 1]; 6];
        let [x_re, x_im, y_re, y_im, tau_re, tau_im] = &mut out;
        for (q, [re, im]) in m[..=order / 2].iter().enumerate() {
            let (plus, last) = (1.0 - 2.0 * q as f64, order - 2 * q);
            let (re, im) = (&re[..=last], &im[..=last]);
            let (a_p, powers) = (&a[q..=last + q], &powers[2 * q..=last + 2 * q]);
            for k in 0..=last {
                let term = a[q] * a_p[k] * powers[k];
                // The term of -k, which for k = 0 is the same.
                let minus = if k == 0 { 0.0 } else { plus - 2.0 * k as f64 };
                let torque = if k == 0 { 1.0 } else { 2.0 } * (k + 2 * q) as f64;
                x_re[k] += term * (plus + minus) * re[k];
                x_im[k] -= term * (plus + minus) * im[k];
                y_re[k] += term * (plus - minus) * re[k];
                y_im[k] += term * (plus - minus) * im[k];
                tau_re[k] += term * torque * re[k];
                tau_im[k] += term * torque * im[k];
            }
        }
        out
    }
}

copies! {
    fn wrenches(harmonics: &[Harmonics; 6], order: usize, direction: &[Block; 2]) -> [Block; 3] {
        let [cos, sin] = *direction;
        let [x_re, x_im, y_re, y_im, tau_re, tau_im] = harmonics;
        // e^(-ib) with b = theta + pi/2, and its powers.
        let (mut pr, mut pi) = ([1.0; LANES], [0.0; LANES]);
        let (mut fr, mut fi, mut tau) = ([0.0; LANES], [0.0; LANES], [0.0; LANES]);
        for k in 0..=order {
            for i in 0..LANES {
                fr[i] += x_re[k] * pr[i] + x_im[k] * pi[i];
                fi[i] += y_im[k] * pr[i] + y_re[k] * pi[i];
                tau[i] -= tau_re[k] * pr[i] - tau_im[k] * pi[i];
                (pr[i], pi[i]) = (pi[i] * cos[i] - pr[i] * sin[i], -pr[i] * cos[i] - pi[i] * sin[i]);
            }
        }
        let mut out = [[0.0; LANES]; 3];
        for i in 0..LANES {
            out[0][i] = fi[i] * sin[i] - fr[i] * cos[i];
            out[1][i] = -fr[i] * sin[i] - fi[i] * cos[i];
            out[2][i] = tau[i];
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use crate::limit_surface::{Rule, Surface, Table};
    use crate::patch::{Grid, Patch, Shape};
    use crate::random::Draw;

    #[test]
    fn tables_from_moments_are_those_of_the_sums() {
        for (nx, ny, width) in [(21, 21, 0.02), (21, 21, 0.05), (30, 12, 0.02), (64, 64, 0.02)] {
            let grid = Grid::new(nx, ny, width, 0.02).unwrap();
            let map: Vec<f64> = (0..grid.len() as u64).map(|k| Draw::new(3, k).uniform("p").powi(4)).collect();
            let corners = |x: f64, y: f64| f64::from(x.abs() > 0.4 * width && y.abs() > 0.007);
            let all =
                [Patch::from_pressure(grid, &map), Patch::shape(grid, Shape::Circle), Patch::from_fn(grid, corners)];
            let patches = all.iter().map(|patch| patch.as_ref().unwrap());
            for (patch, rule) in patches.flat_map(|patch| [(patch, Rule::Points), (patch, Rule::Cells)]) {
                let surface = Surface::new(patch, rule);
                let table = Table::new(patch, rule, 20).unwrap();
                let mut worst = 0.0f64;
                for i in 0..=80 {
                    for j in 12..=20 {
                        let w = surface.coulomb(table.twist(i, j));
                        let h = table.nodes()[i * 21 + j];
                        let error = [w.fx - h[0], w.fy - h[1], w.tau / surface.radius() - h[2]];
                        worst = error.iter().fold(worst, |m, e| m.max(e.abs()));
                    }
                }
                println!("{nx} x {ny}, {}: {worst:.1e}", rule.name());
                assert!(worst < 5e-12, "{nx} x {ny}, {}: {worst:.1e}", rule.name());
            }
        }
    }
}

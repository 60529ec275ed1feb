//! All wrenches about centres of rotation far outside a patch, from the moments of its pressure.
//!
//! With `z` the centre of rotation and `s` a cell as complex numbers from the centre of pressure,
//! `|z - s| = |z| (1 - s/z)^(1/2) (1 - s*/z*)^(1/2)`, so that the mean distance from `z` is
//! `|z| sum a_p a_q z^-p z*^-q M_pq`, with `a_p` the binomial coefficients of the root and `M_pq = sum w s^p s*^q`.
//! The force is `i` times its gradient, the torque about the centre of pressure `-sum (p + q) ...` of its terms.
//! What remains after order `n` falls as `(span/|z|)^n`.

use super::centres::Mesh;
use super::lanes::{Block, LANES, vectorised};

/// Distance of a centre of rotation, in spans of the patch, from which the moments serve.
pub const FAR_SPANS: f64 = 2.0;
/// `(span/|z|)^n` of the terms that are left out, which are smaller by another `n^-3` or so: below 1e-12.
const SMALLEST: f64 = 1e-9;
/// Largest order: `FAR_SPANS^-MOST` is below `SMALLEST`.
const MOST: usize = 30;
/// Half diagonal of a cell over the span up to which the averages over cells are exact to 1e-12.
const COARSEST: f64 = 0.1;
/// Order to which moments are averaged over cells.
const AVERAGE: usize = 8;

/// Moments of a patch up to an order.
#[derive(Clone, Debug)]
pub struct Moments {
    span: f64,
    order: usize,
    /// `M_pq/span^(p + q)` for `p >= q`, `[p - q][q]`, real and imaginary.
    m: Vec<Vec<[f64; 2]>>,
}

impl Moments {
    /// Moments of the points of `mesh`, at most `span` from the centre of pressure, or of cells of half sides `half`
    /// around them, for centres of rotation at `closest` and
    /// beyond; none if that is too close or the cells are too coarse.
    pub fn new(mesh: &Mesh, span: f64, half: [f64; 2], closest: f64) -> Option<Self> {
        let corner = half[0].hypot(half[1]);
        let span = span + corner;
        if !(span > 0.0 && closest >= FAR_SPANS * span && corner <= COARSEST * span) {
            return None;
        }
        let order = order(span / closest);
        let mut moments = Self { span, order, m: sums(mesh, 1.0 / span, order) };
        if corner > 0.0 {
            moments.average(half.map(|h| h / span));
        }
        Some(moments)
    }

    /// `M_pq` for any `p`, `q`.
    fn at(&self, p: usize, q: usize) -> [f64; 2] {
        let [re, im] = self.m[p.abs_diff(q)][p.min(q)];
        [re, if p < q { -im } else { im }]
    }

    /// Moments of points to those of cells, by `sinh(hx dx)/(hx dx) sinh(hy dy)/(hy dy)`.
    fn average(&mut self, half: [f64; 2]) {
        let terms = averages(half);
        let falling = |n: usize, k: usize| (0..k).map(|i| (n - i) as f64).product::<f64>();
        let mean = |m: usize, q: usize| {
            let p = q + m;
            let mut sum = [0.0; 2];
            for &(k, l, c) in terms.iter().filter(|(k, l, _)| *k <= p && *l <= q) {
                let c = c * falling(p, k) * falling(q, l);
                let [re, im] = self.at(p - k, q - l);
                sum = [sum[0] + c * re, sum[1] + c * im];
            }
            sum
        };
        self.m = (0..=self.order).map(|m| (0..=(self.order - m) / 2).map(|q| mean(m, q)).collect()).collect();
    }

    /// Unit wrenches for rotations with w > 0 about centres at `distance`, `i distance e^(i theta)`, for
    /// directions `(cos theta, sin theta)` of the velocity at the centre of pressure.
    pub fn ring(&self, distance: f64, directions: &[[f64; 2]]) -> Vec<[f64; 3]> {
        let ratio = self.span / distance;
        let order = order(ratio).min(self.order);
        let (mut a, mut powers) = (vec![1.0; order + 1], vec![1.0; order + 1]);
        for p in 1..=order {
            a[p] = a[p - 1] * (p as f64 - 1.5) / p as f64;
            powers[p] = powers[p - 1] * ratio;
        }
        // Coefficients of e^(-ikb) of the force, for k and for -k, and of the torque.
        let harmonics: Vec<[f64; 6]> = (0..=order)
            .map(|k| {
                let mut c = [0.0; 6];
                for (q, [re, im]) in self.m[k].iter().enumerate().take((order - k) / 2 + 1) {
                    let (p, n) = (k + q, k + 2 * q);
                    let term = a[p] * a[q] * powers[n];
                    let twin = if k == 0 { 0.0 } else { 1.0 - 2.0 * p as f64 };
                    let (plus, minus) = (term * (1.0 - 2.0 * q as f64), term * twin);
                    let torque = term * n as f64 * if k == 0 { 1.0 } else { 2.0 };
                    let terms = [plus * re, plus * im, minus * re, -minus * im, torque * re, torque * im];
                    c.iter_mut().zip(terms).for_each(|(c, t)| *c += t);
                }
                c
            })
            .collect();
        let mut out = Vec::with_capacity(directions.len());
        for some in directions.chunks(LANES) {
            let mut direction = [[0.0; LANES]; 2];
            some.iter().enumerate().for_each(|(i, d)| [direction[0][i], direction[1][i]] = *d);
            let [fx, fy, tau] = wrenches(&harmonics, &direction);
            out.extend((0..some.len()).map(|i| [fx[i], fy[i], tau[i] * distance]));
        }
        out
    }
}

/// The order that serves centres of rotation at a distance of `span / ratio`.
fn order(ratio: f64) -> usize {
    ((SMALLEST.ln() / ratio.ln()).ceil() as usize).clamp(4, MOST)
}

/// Coefficients of `d^k d*^l` of the average over a cell, `d` and `d*` along `s` and `s*`: `dx = d + d*`,
/// `dy = i (d - d*)`.
fn averages(half: [f64; 2]) -> Vec<(usize, usize, f64)> {
    let mut out = [[0.0; AVERAGE + 1]; AVERAGE + 1];
    let factorial = |n: usize| (1..=n).map(|k| k as f64).product::<f64>();
    for i in (0..=AVERAGE).step_by(2) {
        for j in (0..=AVERAGE - i).step_by(2) {
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
    let all = (0..=AVERAGE).flat_map(|k| (0..=AVERAGE - k).map(move |l| (k, l)));
    all.map(|(k, l)| (k, l, out[k][l])).filter(|t| t.2 != 0.0).collect()
}

/// `sum w |s|^2q s^m`, `[m][q]`, with lengths times `scale`, from the moments of x and y.
fn sums(mesh: &Mesh, scale: f64, order: usize) -> Vec<Vec<[f64; 2]>> {
    let real = mesh.moments(scale, order);
    let mut out = vec![Vec::new(); order + 1];
    // z^m = sum binomial(m, b) x^(m - b) (i y)^b, then times x^2 + y^2 time and again.
    for (m, out) in out.iter_mut().enumerate() {
        let mut polynomial = vec![1.0];
        for _ in 0..m {
            polynomial.push(0.0);
            (1..polynomial.len()).rev().for_each(|b| polynomial[b] += polynomial[b - 1]);
        }
        polynomial.iter_mut().enumerate().filter(|(b, _)| b % 4 > 1).for_each(|(_, c)| *c = -*c);
        for n in (m..=order).step_by(2) {
            let mut sum = [0.0; 2];
            for (b, c) in polynomial.iter().enumerate() {
                sum[b % 2] += c * real[b][n - b];
            }
            out.push(sum);
            polynomial.extend([0.0; 2]);
            (2..polynomial.len()).rev().for_each(|b| polynomial[b] += polynomial[b - 2]);
        }
    }
    out
}

vectorised! {
    fn wrenches(harmonics: &[[f64; 6]], direction: &[Block; 2]) -> [Block; 3] {
        let [cos, sin] = *direction;
        // e^(-ib) with b = theta + pi/2, and its powers.
        let (mut pr, mut pi) = ([1.0; LANES], [0.0; LANES]);
        let mut sums = [[0.0; LANES]; 3];
        for [ar, ai, br, bi, tr, ti] in harmonics {
            for i in 0..LANES {
                sums[0][i] += (ar + br) * pr[i] + (bi - ai) * pi[i];
                sums[1][i] += (ai + bi) * pr[i] + (ar - br) * pi[i];
                sums[2][i] -= tr * pr[i] - ti * pi[i];
                (pr[i], pi[i]) = (pi[i] * cos[i] - pr[i] * sin[i], -pr[i] * cos[i] - pi[i] * sin[i]);
            }
        }
        let [fr, fi, tau] = sums;
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
    use crate::patch::{Grid, Patch};
    use crate::random::Draw;

    #[test]
    fn tables_from_moments_are_those_of_the_sums() {
        for (nx, ny, width) in [(21, 21, 0.02), (21, 21, 0.05), (30, 12, 0.02), (64, 64, 0.02)] {
            let grid = Grid::new(nx, ny, width, 0.02).unwrap();
            let map: Vec<f64> = (0..grid.len() as u64).map(|k| Draw::new(3, k).uniform("p").powi(4)).collect();
            let patch = Patch::from_pressure(grid, &map).unwrap();
            for rule in [Rule::Points, Rule::Cells] {
                let surface = Surface::new(&patch, rule);
                let table = Table::new(&patch, rule, 20).unwrap();
                let mut worst = 0.0f64;
                for i in 0..=80 {
                    for j in 15..=20 {
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

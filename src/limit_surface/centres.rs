//! Sums over a patch about many centres of rotation at once, a centre a lane.
//!
//! With `(a, b)` from the centre to a crossing of grid lines, `a` depends on the column alone and `b` on the row,
//! so terms of a column or row are summed first and multiplied by their arm once.

use super::lanes::{Block, LANES, ln, rsqrt, rsqrt12, vectorised};

/// Crossings whose roots and logarithms are taken in loops of their own: short loops keep the processor's queue
/// full of independent chains.
const TOGETHER: usize = 32;

/// Centres of rotation, a lane each.
pub type Centres = [Block; 2];

/// Weights on crossings of grid lines, where they are not zero.
#[derive(Clone, Debug)]
pub struct Mesh {
    x: Vec<f64>,
    y: Vec<f64>,
    /// Row by row: where a row ends in `place` and `weight`.
    end: Vec<usize>,
    /// Column and row.
    place: Vec<[usize; 2]>,
    weight: Vec<f64>,
}

impl Mesh {
    /// Columns at `x`, rows at `y` and their `weights`, row by row.
    pub fn new(x: Vec<f64>, y: Vec<f64>, weights: &[f64]) -> Self {
        let mut mesh = Self { x, y, end: Vec::new(), place: Vec::new(), weight: Vec::new() };
        for (l, row) in weights.chunks(mesh.x.len()).enumerate() {
            for (k, weight) in row.iter().enumerate().filter(|(_, w)| **w != 0.0) {
                mesh.place.push([k, l]);
                mesh.weight.push(*weight);
            }
            mesh.end.push(mesh.place.len());
        }
        mesh
    }

    /// `sum w (R, a/R, b/R)`; not for centres that are [`Mesh::on_a_crossing`].
    pub fn points(&self, centres: &Centres) -> [Block; 3] {
        points(self, centres)
    }

    /// `sum w y^b x^a`, `[b][a]`, for `a` and `b` up to `order`, with lengths times `scale`.
    pub fn moments(&self, scale: f64, order: usize) -> Vec<Vec<f64>> {
        moments(self, scale, order)
    }

    /// Whether `c` is so near a crossing that a cell there may count as at rest. Lines are evenly spaced.
    pub fn on_a_crossing(&self, c: [f64; 2]) -> bool {
        let near = |at: &[f64], c: f64| {
            let last = at.len() - 1;
            let place = if last == 0 { 0.0 } else { (c - at[0]) / (at[last] - at[0]) * last as f64 };
            (at[((place + 0.5) as usize).min(last)] - c).abs() < 1e-6
        };
        near(&self.x, c[0]) && near(&self.y, c[1])
    }

    /// `sum w (I, Gx, Gy)` of the `cells` rule, with `sgn b ln(|b| + R)` in place of the `asinh`.
    pub fn corners(&self, centres: &Centres) -> [Block; 3] {
        corners(self, centres)
    }
}

vectorised! {
    fn moments(mesh: &Mesh, scale: f64, order: usize) -> Vec<Vec<f64>> {
        let width = (order + 1).next_multiple_of(LANES);
        let powers = |x: &f64| -> Vec<f64> {
            let mut powers = vec![0.0; width];
            let mut power = 1.0;
            for p in &mut powers[..=order] {
                (*p, power) = (power, power * x * scale);
            }
            powers
        };
        let columns: Vec<Vec<f64>> = mesh.x.iter().map(powers).collect();
        let mut out = vec![vec![0.0; width]; order + 1];
        let mut row = vec![0.0; width];
        let mut start = 0;
        for (y, end) in mesh.y.iter().zip(&mesh.end) {
            row.fill(0.0);
            for ([column, _], w) in mesh.place[start..*end].iter().zip(&mesh.weight[start..*end]) {
                for (sum, power) in row.iter_mut().zip(&columns[*column]) {
                    *sum = w.mul_add(*power, *sum);
                }
            }
            let mut power = 1.0;
            for out in &mut out {
                for (sum, row) in out.iter_mut().zip(&row) {
                    *sum = row.mul_add(power, *sum);
                }
                power *= y * scale;
            }
            start = *end;
        }
        out
    }
}

// Blocks go by value, for the compiler to keep sums in registers.

/// `w/R` from the squares of the arms.
#[inline(always)]
fn over_distance(w: f64, a2: &Block, b2: &Block) -> Block {
    let mut out = [0.0; LANES];
    for i in 0..LANES {
        out[i] = w * rsqrt12(a2[i] + b2[i]);
    }
    out
}

/// `R` from a column at `x` to centres at `cx`, for arms `b` along y.
#[inline(always)]
fn distance(x: f64, cx: &Block, b: &Block) -> Block {
    let mut out = [0.0; LANES];
    for i in 0..LANES {
        let a = x - cx[i];
        let r2 = a.mul_add(a, b[i] * b[i]).max(1e-34);
        out[i] = r2 * rsqrt(r2);
    }
    out
}

/// `q sgn s ln(|s| + R)` with `s = c - from`.
#[inline(always)]
fn logarithm(q: f64, from: f64, c: &Block, r: &Block) -> Block {
    let mut out = [0.0; LANES];
    for i in 0..LANES {
        let s = c[i] - from;
        out[i] = q * 1f64.copysign(s) * ln(s.abs() + r[i]);
    }
    out
}

#[inline(always)]
fn times(w: f64, r: &Block) -> Block {
    let mut out = [0.0; LANES];
    for i in 0..LANES {
        out[i] = w * r[i];
    }
    out
}

#[inline(always)]
fn plus_product(mut sum: Block, b: &Block, r: &Block) -> Block {
    for i in 0..LANES {
        sum[i] = b[i].mul_add(r[i], sum[i]);
    }
    sum
}

#[inline(always)]
fn plus(mut sum: Block, term: &Block) -> Block {
    for i in 0..LANES {
        sum[i] += term[i];
    }
    sum
}

vectorised! {
    fn points(mesh: &Mesh, centres: &Centres) -> [Block; 3] {
        // a^2, and the sum of w/R, of every column.
        let mut columns = vec![[[0.0; LANES]; 2]; mesh.x.len()];
        for (column, x) in columns.iter_mut().zip(&mesh.x) {
            for i in 0..LANES {
                column[0][i] = (x - centres[0][i]) * (x - centres[0][i]);
            }
        }
        let mut sums = [[0.0; LANES]; 3];
        let mut start = 0;
        for (y, end) in mesh.y.iter().zip(&mesh.end) {
            let (mut b, mut b2, mut row) = ([0.0; LANES], [0.0; LANES], [0.0; LANES]);
            for i in 0..LANES {
                b[i] = y - centres[1][i];
                b2[i] = b[i] * b[i];
            }
            for ([column, _], w) in mesh.place[start..*end].iter().zip(&mesh.weight[start..*end]) {
                let [a2, column] = &mut columns[*column];
                let term = over_distance(*w, a2, &b2);
                *column = plus(*column, &term);
                row = plus(row, &term);
            }
            for i in 0..LANES {
                sums[0][i] += b2[i] * row[i];
                sums[2][i] += b[i] * row[i];
            }
            start = *end;
        }
        for ([a2, column], x) in columns.iter().zip(&mesh.x) {
            for i in 0..LANES {
                sums[0][i] += a2[i] * column[i];
                sums[1][i] += (x - centres[0][i]) * column[i];
            }
        }
        sums
    }
}

vectorised! {
    fn corners(mesh: &Mesh, centres: &Centres) -> [Block; 3] {
        // The sums of q R, q b R and q sgn b ln(|b| + R) of every column; b, and the sums of q R and
        // q sgn a ln(|a| + R), of every row.
        let mut columns = vec![[[0.0; LANES]; 3]; mesh.x.len()];
        let mut rows = vec![[[0.0; LANES]; 3]; mesh.y.len()];
        for (row, y) in rows.iter_mut().zip(&mesh.y) {
            for i in 0..LANES {
                row[0][i] = y - centres[1][i];
            }
        }
        let mut rs = [[0.0; LANES]; TOGETHER];
        for (at, q) in mesh.place.chunks(TOGETHER).zip(mesh.weight.chunks(TOGETHER)) {
            for (([k, l], q), r) in at.iter().zip(q).zip(&mut rs) {
                let [b, r_row, _] = &mut rows[*l];
                *r = distance(mesh.x[*k], &centres[0], b);
                let qr = times(*q, r);
                let [r_column, br_column, _] = &mut columns[*k];
                *r_row = plus(*r_row, &qr);
                *r_column = plus(*r_column, &qr);
                *br_column = plus_product(*br_column, b, &qr);
            }
            for (([k, l], q), r) in at.iter().zip(q).zip(&rs) {
                let column = &mut columns[*k][2];
                *column = plus(*column, &logarithm(*q, 0.0, &rows[*l][0], r));
            }
            for (([k, l], q), r) in at.iter().zip(q).zip(&rs) {
                let row = &mut rows[*l][2];
                *row = plus(*row, &logarithm(-*q, mesh.x[*k], &centres[0], r));
            }
        }
        let mut sums = [[0.0; LANES]; 3];
        for [b, r, log] in &rows {
            for i in 0..LANES {
                let b2 = b[i] * b[i];
                sums[0][i] += b2 * b[i] * log[i];
                sums[1][i] += b[i] * r[i];
                sums[2][i] += b2 * log[i];
            }
        }
        for ([r, br, log], x) in columns.iter().zip(&mesh.x) {
            for i in 0..LANES {
                let a = x - centres[0][i];
                let a2 = a * a;
                sums[0][i] += a * (2.0 * br[i] + a2 * log[i]);
                sums[1][i] += a2 * log[i];
                sums[2][i] += a * r[i];
            }
        }
        let [i, gx, gy] = sums;
        [times(1.0 / 6.0, &i), times(0.5, &gx), times(0.5, &gy)]
    }
}

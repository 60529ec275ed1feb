//! Sums over a patch about many centres of rotation at once, a centre a lane.
//!
//! With `(a, b)` from the centre to a crossing of grid lines, `a` depends on the column alone and `b` on the
//! row, so terms of a column or row are summed first and multiplied by their arm once.

use super::lanes::{Block, LANES, vectorised};

/// Crossings whose roots and logarithms are taken in loops of their own: short loops keep the processor's
/// queue full of independent chains.
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
        let (place, weight) = (Vec::with_capacity(weights.len()), Vec::with_capacity(weights.len()));
        let mut mesh = Self { end: Vec::with_capacity(y.len()), x, y, place, weight };
        for (l, row) in weights.chunks(mesh.x.len()).enumerate() {
            for (k, weight) in row.iter().enumerate().filter(|(_, w)| **w != 0.0) {
                mesh.place.push([k, l]);
                mesh.weight.push(*weight);
            }
            mesh.end.push(mesh.place.len());
        }
        mesh
    }

    /// `sum w (R, a/R, b/R)`; not for centres where a cell may be at rest.
    pub fn points(&self, centres: &Centres) -> [Block; 3] {
        points(self, centres)
    }

    /// `sum w y^b x^a`, `[b][a]`, for `a + b` up to `order`, with lengths times `scale`; and how many stand
    /// in a row.
    pub fn moments(&self, scale: f64, order: usize) -> (Vec<f64>, usize) {
        let width = (order + 1).next_multiple_of(LANES);
        (moments(self, scale, order, width), width)
    }

    /// Whether `c` is nearer than `distance` to the lines of a crossing. Lines are evenly spaced.
    pub fn on_a_crossing(&self, c: [f64; 2], distance: f64) -> bool {
        let near = |at: &[f64], c: f64| {
            let last = at.len() - 1;
            let place = if last == 0 { 0.0 } else { (c - at[0]) / (at[last] - at[0]) * last as f64 };
            (at[((place + 0.5) as usize).min(last)] - c).abs() < distance
        };
        near(&self.x, c[0]) && near(&self.y, c[1])
    }

    /// `sum w (I, Gx, Gy)` of the `cells` rule, and `sum w (dGx/da, dGx/db, dGy/db)`, with
    /// `sgn b ln(|b| + R)` in place of the `asinh`.
    pub fn corners(&self, centres: &Centres) -> [Block; 6] {
        corners(self, centres)
    }
}

vectorised! {
    fn moments(mesh: &Mesh, scale: f64, order: usize, width: usize) -> Vec<f64> {
        let mut columns = vec![1.0; mesh.x.len() * width];
        for (powers, x) in columns.chunks_exact_mut(width).zip(&mesh.x) {
            for k in 1..LANES {
                powers[k] = powers[k - 1] * x * scale;
            }
            let step = powers[LANES - 1] * x * scale;
            for k in LANES..width {
                powers[k] = powers[k - LANES] * step;
            }
        }
        let mut out = vec![0.0; width * (order + 1)];
        let mut row = vec![0.0; width];
        let mut start = 0;
        for (y, end) in mesh.y.iter().zip(&mesh.end) {
            row.fill(0.0);
            for ([column, _], w) in mesh.place[start..*end].iter().zip(&mesh.weight[start..*end]) {
                for (sum, power) in row.iter_mut().zip(&columns[column * width..][..width]) {
                    *sum = w.mul_add(*power, *sum);
                }
            }
            let mut power = 1.0;
            for (b, out) in out.chunks_exact_mut(width).enumerate() {
                let wanted = (order + 1 - b).next_multiple_of(LANES);
                for (sum, row) in out[..wanted].iter_mut().zip(&row[..wanted]) {
                    *sum = row.mul_add(power, *sum);
                }
                power *= y * scale;
            }
            start = *end;
        }
        out
    }
}

vectorised! {
    fn points<V>(mesh: &Mesh, centres: &Centres) -> [Block; 3] {
        let centres = [V::load(&centres[0]), V::load(&centres[1])];
        // a^2, and the sum of w/R, of every column.
        let mut columns = Vec::with_capacity(mesh.x.len());
        for x in &mesh.x {
            let a = V::splat(*x).minus(centres[0]);
            columns.push([a.times(a), V::splat(0.0)]);
        }
        let mut sums = [V::splat(0.0); 3];
        let mut start = 0;
        for (y, end) in mesh.y.iter().zip(&mesh.end) {
            let b = V::splat(*y).minus(centres[1]);
            let b2 = b.times(b);
            let mut row = V::splat(0.0);
            for ([column, _], w) in mesh.place[start..*end].iter().zip(&mesh.weight[start..*end]) {
                let [a2, column] = &mut columns[*column];
                let term = V::over_root(*w, a2.plus(b2));
                *column = column.plus(term);
                row = row.plus(term);
            }
            sums[0] = b2.fma(row, sums[0]);
            sums[2] = b.fma(row, sums[2]);
            start = *end;
        }
        for ([a2, column], x) in columns.iter().zip(&mesh.x) {
            sums[0] = a2.fma(*column, sums[0]);
            sums[1] = V::splat(*x).minus(centres[0]).fma(*column, sums[1]);
        }
        [sums[0].store(), sums[1].store(), sums[2].store()]
    }
}

vectorised! {
    fn corners<V>(mesh: &Mesh, centres: &Centres) -> [Block; 6] {
        let centres = [V::load(&centres[0]), V::load(&centres[1])];
        // a, and the sums of q R, q b R and q sgn b ln(|b| + R), of every column; b, and the sums of q R and
        // q sgn a ln(|a| + R), of every row.
        let (mut columns, mut rows) = (Vec::with_capacity(mesh.x.len()), Vec::with_capacity(mesh.y.len()));
        let zero = V::splat(0.0);
        for x in &mesh.x {
            columns.push([V::splat(*x).minus(centres[0]), zero, zero, zero]);
        }
        for y in &mesh.y {
            rows.push([V::splat(*y).minus(centres[1]), zero, zero]);
        }
        let mut rs = [zero; TOGETHER];
        for (at, q) in mesh.place.chunks(TOGETHER).zip(mesh.weight.chunks(TOGETHER)) {
            for (([k, l], q), r) in at.iter().zip(q).zip(&mut rs) {
                let ([b, r_row, _], [a, r_column, br_column, _]) = (&mut rows[*l], &mut columns[*k]);
                *r = V::root(a.fma(*a, b.times(*b)).max(V::splat(1e-34)));
                let qr = V::splat(*q).times(*r);
                *r_row = r_row.plus(qr);
                *r_column = r_column.plus(qr);
                *br_column = b.fma(qr, *br_column);
            }
            for (([k, l], q), r) in at.iter().zip(q).zip(&rs) {
                let (b, column) = (rows[*l][0], &mut columns[*k][3]);
                *column = V::splat(*q).signed(b).fma(V::ln(b.abs().plus(*r)), *column);
            }
            for (([k, l], q), r) in at.iter().zip(q).zip(&rs) {
                let (a, row) = (columns[*k][0], &mut rows[*l][2]);
                *row = V::splat(*q).signed(a).fma(V::ln(a.abs().plus(*r)), *row);
            }
        }
        let (mut sums, mut slopes) = ([zero; 3], [zero; 3]);
        for [b, r, log] in &rows {
            let b2_log = b.times(*b).times(*log);
            sums[0] = b.fma(b2_log, sums[0]);
            sums[1] = b.fma(*r, sums[1]);
            sums[2] = sums[2].plus(b2_log);
            slopes[1] = slopes[1].plus(*r);
            slopes[2] = b.fma(*log, slopes[2]);
        }
        for [a, r, br, log] in &columns {
            let a2_log = a.times(*a).times(*log);
            sums[0] = a.fma(br.plus(*br).plus(a2_log), sums[0]);
            sums[1] = sums[1].plus(a2_log);
            sums[2] = a.fma(*r, sums[2]);
            slopes[0] = a.fma(*log, slopes[0]);
        }
        let (sixth, half) = (V::splat(1.0 / 6.0), V::splat(0.5));
        let [sums, slopes] = [[sums[0].times(sixth), sums[1].times(half), sums[2].times(half)], slopes];
        [sums[0].store(), sums[1].store(), sums[2].store(), slopes[0].store(), slopes[1].store(), slopes[2].store()]
    }
}

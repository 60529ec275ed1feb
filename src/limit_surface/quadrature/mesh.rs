//! Sums over a patch about many centres of rotation at once, one in every lane.
//!
//! With `(a, b)` from the centre of rotation to a place in the mesh, `a` depends on the column alone and `b`
//! on the row. Terms of a column or row are therefore summed first and multiplied by `a` or `b` once.

use super::antiderivative::{Column, Row, asinh, distance, integrals, slopes};
use crate::limit_surface::simd::{Block, LANES, vectorised};

/// Number of corners whose roots and logarithms are computed in loops of their own. The iterations of such a loop do
/// not depend on each other, so that the processor overlaps them.
const CORNERS_AT_ONCE: usize = 32;

/// Centres of rotation, one in every lane.
pub type Centres = [Block; 2];

/// Weights in columns and rows, where they are not zero: the cells' shares at their centres, or the jumps of
/// the pressure at their corners.
#[derive(Clone, Debug)]
pub struct Mesh {
    x: Vec<f64>,
    y: Vec<f64>,
    /// Where each row ends in `place` and `weight`.
    end: Vec<usize>,
    /// Column and row of each weight.
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

    /// `sum w (R, a/R, b/R)`. Not for centres of rotation on or next to a cell's centre, where the cell may
    /// be at rest.
    pub fn points(&self, centres: &Centres) -> [Block; 3] {
        points(self, centres)
    }

    /// `sum w y^b x^a`, `[b][a]`, for `a + b` up to `order`, with lengths times `scale`, and the length of
    /// their rows.
    pub fn moments(&self, scale: f64, order: usize) -> (Vec<f64>, usize) {
        let width = (order + 1).next_multiple_of(LANES);
        (moments(self, scale, order, width), width)
    }

    /// Whether `c` is nearer than `distance` to a place of the mesh in x and in y. Columns and rows are
    /// evenly spaced.
    pub fn is_next_to(&self, c: [f64; 2], distance: f64) -> bool {
        let near = |at: &[f64], c: f64| {
            let last = at.len() - 1;
            let place = if last == 0 { 0.0 } else { (c - at[0]) / (at[last] - at[0]) * last as f64 };
            (at[((place + 0.5) as usize).min(last)] - c).abs() < distance
        };
        near(&self.x, c[0]) && near(&self.y, c[1])
    }

    /// `sum w (I, Gx, Gy)` and `sum w (dGx/da, dGx/db, dGy/db)` of the
    /// [`antiderivative`](super::antiderivative), with `sgn b ln(|b| + R)` in place of the `asinh`.
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
        // Of every column `a^2` and the sum of `w/R`.
        let mut columns = Vec::with_capacity(mesh.x.len());
        for x in &mesh.x {
            let a = V::splat(*x) - centres[0];
            columns.push([a * a, V::splat(0.0)]);
        }
        let mut sums = [V::splat(0.0); 3];
        let mut start = 0;
        for (y, end) in mesh.y.iter().zip(&mesh.end) {
            let b = V::splat(*y) - centres[1];
            let b2 = b * b;
            let mut row = V::splat(0.0);
            for ([column, _], w) in mesh.place[start..*end].iter().zip(&mesh.weight[start..*end]) {
                let [a2, column] = &mut columns[*column];
                let term = V::over_sqrt(*w, *a2 + b2);
                *column = *column + term;
                row = row + term;
            }
            sums[0] = b2.mul_add(row, sums[0]);
            sums[2] = b.mul_add(row, sums[2]);
            start = *end;
        }
        for ([a2, column], x) in columns.iter().zip(&mesh.x) {
            sums[0] = a2.mul_add(*column, sums[0]);
            sums[1] = (V::splat(*x) - centres[0]).mul_add(*column, sums[1]);
        }
        [sums[0].store(), sums[1].store(), sums[2].store()]
    }
}

vectorised! {
    fn corners<V>(mesh: &Mesh, centres: &Centres) -> [Block; 6] {
        let centres = [V::load(&centres[0]), V::load(&centres[1])];
        let (mut columns, mut rows) = (Vec::with_capacity(mesh.x.len()), Vec::with_capacity(mesh.y.len()));
        for x in &mesh.x {
            columns.push(Column::new(V::splat(*x) - centres[0]));
        }
        for y in &mesh.y {
            rows.push(Row::new(V::splat(*y) - centres[1]));
        }
        let zero = V::splat(0.0);
        let mut distances = [zero; CORNERS_AT_ONCE];
        for (at, q) in mesh.place.chunks(CORNERS_AT_ONCE).zip(mesh.weight.chunks(CORNERS_AT_ONCE)) {
            for (([k, l], q), r) in at.iter().zip(q).zip(&mut distances) {
                let (row, column) = (&mut rows[*l], &mut columns[*k]);
                *r = distance(column.a, row.b);
                let qr = V::splat(*q) * *r;
                row.add_distance(qr);
                column.add_distance(row.b, qr);
            }
            for (([k, l], q), r) in at.iter().zip(q).zip(&distances) {
                columns[*k].add_log(V::splat(*q), asinh(rows[*l].b, *r, zero));
            }
            for (([k, l], q), r) in at.iter().zip(q).zip(&distances) {
                rows[*l].add_log(V::splat(*q), asinh(columns[*k].a, *r, zero));
            }
        }
        let [[i, gx, gy], [xx, xy, yy]] = [integrals(&columns, &rows), slopes(&columns, &rows)];
        [i.store(), gx.store(), gy.store(), xx.store(), xy.store(), yy.store()]
    }
}

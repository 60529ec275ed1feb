//! Sums over a patch about many centres of rotation at once, one in every lane.
//!
//! With `(a, b)` from the centre of rotation to a place in the mesh, `a` depends on the column alone and `b`
//! on the row. Terms of a column or row are therefore summed first and multiplied by `a` or `b` once.

use super::antiderivative::{Column, Row, asinh, distance, integrals, slopes};
use crate::number::block::Block;
use crate::number::real::{LANES, Real};
use crate::number::simd::{copies, widest};

/// Number of corners whose roots and logarithms are computed in loops of their own. The iterations of such a
/// loop do not depend on each other, so that the processor overlaps them.
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
        widest!(points::<f64>(self, centres))
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
        widest!(corners::<f64>(self, centres))
    }
}

copies! {
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

/// Registers of centres that are summed for together: a place's index and weight are read once for both.
const REGISTERS: usize = 2;

/// The centres from the lane `first` on, from zero by registers.
#[inline(always)]
fn registers<R: Real>(centres: &[[R::Scalar; LANES]; 2], first: usize) -> [[R; 2]; REGISTERS] {
    let mut out = [[R::splat(0.0); 2]; REGISTERS];
    for register in 0..REGISTERS {
        for axis in 0..2 {
            out[register][axis] = R::from_slice(&centres[axis][first + register * R::LANES..]);
        }
    }
    out
}

copies! {
    fn points<R>(mesh: &Mesh, centres: &[[R::Scalar; LANES]; 2]) -> [[R::Scalar; LANES]; 3] {
        let mut out = [[R::Scalar::splat(0.0); LANES]; 3];
        let zero = [R::splat(0.0); REGISTERS];
        // Of every column `a^2` and the sum of `w/R`.
        let mut columns = Vec::with_capacity(mesh.x.len());
        for first in (0..LANES).step_by(REGISTERS * R::LANES) {
            let centres = registers::<R>(centres, first);
            columns.clear();
            for x in &mesh.x {
                let mut a2 = zero;
                for register in 0..REGISTERS {
                    let a = R::splat(*x) - centres[register][0];
                    a2[register] = a * a;
                }
                columns.push([a2, zero]);
            }
            let mut sums = [[R::splat(0.0); 3]; REGISTERS];
            let mut start = 0;
            for (y, end) in mesh.y.iter().zip(&mesh.end) {
                let (mut b, mut b2, mut row) = (zero, zero, zero);
                for register in 0..REGISTERS {
                    b[register] = R::splat(*y) - centres[register][1];
                    b2[register] = b[register] * b[register];
                }
                for ([column, _], w) in mesh.place[start..*end].iter().zip(&mesh.weight[start..*end]) {
                    let [a2, column] = &mut columns[*column];
                    let mut terms = zero;
                    for register in 0..REGISTERS {
                        terms[register] = R::splat(*w).over_sqrt(a2[register] + b2[register]);
                    }
                    for register in 0..REGISTERS {
                        column[register] += terms[register];
                        row[register] += terms[register];
                    }
                }
                for register in 0..REGISTERS {
                    sums[register][0] = b2[register].fma(row[register], sums[register][0]);
                    sums[register][2] = b[register].fma(row[register], sums[register][2]);
                }
                start = *end;
            }
            for ([a2, column], x) in columns.iter().zip(&mesh.x) {
                for register in 0..REGISTERS {
                    let (a, [i, gx, _]) = (R::splat(*x) - centres[register][0], &mut sums[register]);
                    *i = a2[register].fma(column[register], *i);
                    *gx = a.fma(column[register], *gx);
                }
            }
            for register in 0..REGISTERS {
                for (sum, out) in sums[register].iter().zip(&mut out) {
                    sum.copy_to_slice(&mut out[first + register * R::LANES..]);
                }
            }
        }
        out
    }
}

copies! {
    fn corners<R>(mesh: &Mesh, centres: &[[R::Scalar; LANES]; 2]) -> [[R::Scalar; LANES]; 6] {
        let mut out = [[R::Scalar::splat(0.0); LANES]; 6];
        let mut columns = [(); REGISTERS].map(|()| Vec::with_capacity(mesh.x.len()));
        let mut rows = [(); REGISTERS].map(|()| Vec::with_capacity(mesh.y.len()));
        let zero = R::splat(0.0);
        let mut distances = [[zero; REGISTERS]; CORNERS_AT_ONCE];
        for first in (0..LANES).step_by(REGISTERS * R::LANES) {
            let centres = registers::<R>(centres, first);
            for register in 0..REGISTERS {
                columns[register].clear();
                rows[register].clear();
                for x in &mesh.x {
                    columns[register].push(Column::new(R::splat(*x) - centres[register][0]));
                }
                for y in &mesh.y {
                    rows[register].push(Row::new(R::splat(*y) - centres[register][1]));
                }
            }
            for (at, q) in mesh.place.chunks(CORNERS_AT_ONCE).zip(mesh.weight.chunks(CORNERS_AT_ONCE)) {
                for (([k, l], q), r) in at.iter().zip(q).zip(&mut distances) {
                    for register in 0..REGISTERS {
                        let (row, column) = (&mut rows[register][*l], &mut columns[register][*k]);
                        r[register] = distance(column.a, row.b);
                        let qr = R::splat(*q) * r[register];
                        row.add_distance(qr);
                        column.add_distance(row.b, qr);
                    }
                }
                for (([k, l], q), r) in at.iter().zip(q).zip(&distances) {
                    for register in 0..REGISTERS {
                        let log = asinh(rows[register][*l].b, r[register], zero);
                        columns[register][*k].add_log(R::splat(*q), log);
                    }
                }
                for (([k, l], q), r) in at.iter().zip(q).zip(&distances) {
                    for register in 0..REGISTERS {
                        let log = asinh(columns[register][*k].a, r[register], zero);
                        rows[register][*l].add_log(R::splat(*q), log);
                    }
                }
            }
            for register in 0..REGISTERS {
                let (columns, rows) = (&columns[register], &rows[register]);
                let sums = [integrals(columns, rows), slopes(columns, rows)];
                for (sum, out) in sums.as_flattened().iter().zip(&mut out) {
                    sum.copy_to_slice(&mut out[first + register * R::LANES..]);
                }
            }
        }
        out
    }
}

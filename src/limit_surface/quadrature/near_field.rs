//! The cells around a centre of rotation in single precision: exact integrals over a window of cells that
//! moves with the centre, from differences over their corners.

use super::antiderivative::{Column, Row, asinh, distance, integrals};
use crate::number::real::{LANES, Real};

/// Least distance from a centre of rotation to the centre of a cell outside the near field, in sides of a
/// square with the cells' diagonal. Near fields of square cells have 5 x 5 of them.
const LEAST_DISTANCE: f64 = 2.47;
/// Truncation error outside the near field: that of the mean distance from a cell of share `w` at a distance
/// of `R` sides is below `TRUNCATION w/R^3` sides; that of a line of cells beyond `R`, below `TRUNCATION
/// w/R^2`.
const TRUNCATION: f64 = 0.004;
/// Largest truncation error, in torsional radii of the patch.
const MAX_TRUNCATION: f64 = 2e-6;
/// Largest rounding error of the differences over the corners, in torsional radii.
const MAX_ROUNDING: f64 = 3e-6;
/// The time for a corner in double precision and for one in the near field, relative to that for a cell
/// outside it.
const COST: [usize; 2] = [10, 4];
/// Largest number of cells of a map with the empty cells around it that a near field may cover.
const MOST_CELLS: usize = 1 << 20;

/// How many cells on each side of the one with the centre of rotation are in the near field, and their map.
pub struct NearField<T> {
    sides: [usize; 2],
    /// The map with as many empty cells around it as the near field of any centre of rotation reaches.
    map: Vec<T>,
    width: usize,
}

impl NearField<f32> {
    /// The near field for the rows `map` of cells of half sides `half`, with the largest share `largest` and
    /// the torsional radius `radius`. None where double precision is as fast, or where the rounding error
    /// would be too large.
    pub fn new(map: &[&[f64]], half: [f64; 2], largest: f64, radius: f64) -> Option<Self> {
        let (nx, ny) = (map[0].len(), map.len());
        let side = std::f64::consts::SQRT_2 * half[0].hypot(half[1]);
        // The share of a square of that side, which holds several long cells.
        let of_side = largest * side * side / (4.0 * half[0] * half[1]);
        let distance = side * (TRUNCATION * of_side * side / (MAX_TRUNCATION * radius)).sqrt().max(LEAST_DISTANCE);
        let rounding = f64::from(f32::EPSILON) * largest * distance.powi(3) / radius;
        let sides = half.map(|half| (distance / (2.0 * half) - 0.5).ceil().min(MOST_CELLS as f64) as usize);
        let (width, height) = (nx + 4 * sides[0] + 2, ny + 4 * sides[1] + 2);
        if !(rounding < MAX_ROUNDING) || width * height > MOST_CELLS {
            return None;
        }
        let near_corners = 4 * (sides[0] + 1) * (sides[1] + 1);
        let cells = map.iter().flat_map(|row| row.iter()).filter(|w| **w != 0.0).count();
        if COST[0] * count_corners(map) <= COST[1] * near_corners + cells {
            return None;
        }
        let mut padded = vec![0.0; width * height];
        for (j, row) in map.iter().enumerate() {
            let first = (j + 2 * sides[1] + 1) * width + 2 * sides[0] + 1;
            padded[first..][..nx].iter_mut().zip(*row).for_each(|(to, w)| *to = *w as f32);
        }
        Some(Self { sides, map: padded, width })
    }
}

/// Corners with a jump of the pressure, over which double precision sums.
fn count_corners(map: &[&[f64]]) -> usize {
    let nothing = vec![0.0; map[0].len()];
    let mut count = 0;
    for l in 0..=map.len() {
        let (below, above) = (if l > 0 { map[l - 1] } else { &nothing }, map.get(l).copied().unwrap_or(&nothing));
        let mut last = 0.0;
        for (below, above) in below.iter().zip(above).chain([(&0.0, &0.0)]) {
            let jump = below - above;
            count += usize::from(jump != last);
            last = jump;
        }
    }
    count
}

/// Where the near fields of some centres of rotation are.
pub struct Place<R> {
    /// Column and row of the cell in which the centre of rotation lies.
    cell: [R; 2],
    /// The centre from that cell's lower left corner, in cells.
    inside: [R; 2],
    sides: [usize; 2],
    /// The first cell of the near field in its map.
    first: [u32; LANES],
}

impl<R: Real> Place<R> {
    #[inline(always)]
    pub fn new(near: &NearField<R::Scalar>, at: &[Vec<f64>; 2], half: [f64; 2], c: [R; 2]) -> Self {
        let (mut cell, mut inside) = (c, c);
        for axis in 0..2 {
            let (side, n, half) = (near.sides[axis] as f64, at[axis].len() as f64, half[axis]);
            // Coordinates are counted from a point far enough to the left that they are positive wherever the
            // near field has cells.
            let left = at[axis][0] - half - 2.0 * half * (side + 1.0);
            for lane in 0..R::LANES {
                // In double precision, because the place inside a cell is a small difference.
                let place = ((c[axis].lane(lane) - left) * (0.5 / half)).clamp(0.0, n + 2.0 * side + 1.0);
                cell[axis].set(lane, place.floor());
                inside[axis].set(lane, place - place.floor());
            }
        }
        let mut first = [0; LANES];
        cell[1].fma(R::splat(near.width as f64), cell[0]).add_to_indices(&[0; LANES], &mut first);
        let cell = [0, 1].map(|axis| cell[axis] - R::splat(near.sides[axis] as f64 + 1.0));
        Self { cell, inside, sides: near.sides, first }
    }

    /// One where column or row `i` is in the near field, else zero.
    #[inline(always)]
    pub fn within(&self, axis: usize, i: usize) -> R {
        let off = R::splat(i as f64) - self.cell[axis];
        let half_width = R::splat(self.sides[axis] as f64 + 0.5);
        R::select((off * off).lt(half_width * half_width), R::splat(1.0), R::splat(0.0))
    }

    /// Line `k` of the near field's corners from the centre of rotation.
    #[inline(always)]
    fn line(&self, axis: usize, k: usize, half: [f64; 2]) -> R {
        (R::splat(k as f64 - self.sides[axis] as f64) - self.inside[axis]) * R::splat(2.0 * half[axis])
    }

    /// `sum w (I, Gx, Gy)` of the cells in the near field, as in the
    /// [`antiderivative`](super::antiderivative).
    #[inline(always)]
    pub fn integrals(&self, near: &NearField<R::Scalar>, half: [f64; 2], scratch: &mut Scratch<R>) -> [R; 3] {
        let zero = R::splat(0.0);
        let [nx, ny] = self.sides.map(|side| 2 * side + 1);
        let Scratch { columns, logs, rows, jumps, corners } = scratch;
        columns.clear();
        logs.clear();
        rows.clear();
        for k in 0..=nx {
            let a = self.line(0, k, half);
            columns.push(Column::new(a));
            logs.push(log(a));
        }
        jumps.clear();
        jumps.resize(nx + 1, zero);
        corners.resize(nx + 1, [zero; 2]);
        for l in 0..=ny {
            let mut row = Row::new(self.line(1, l, half));
            let mut last = zero;
            for (k, (jump, corner)) in jumps.iter_mut().zip(&mut *corners).enumerate() {
                let in_row = k < nx && l < ny;
                let weight = if in_row { R::gather(&near.map, &self.first, l * near.width + k) } else { zero };
                let jump_here = last - weight;
                *corner = [*jump - jump_here, distance(columns[k].a, row.b)];
                (*jump, last) = (jump_here, weight);
            }
            for ((column, ln_a), [q, r]) in columns.iter_mut().zip(&*logs).zip(&*corners) {
                let qr = *q * *r;
                row.add_distance(qr);
                column.add_distance(row.b, qr);
                column.add_log(*q, asinh(row.b, *r, *ln_a));
            }
            let ln_b = log(row.b);
            for (column, [q, r]) in columns.iter().zip(&*corners) {
                row.add_log(*q, asinh(column.a, *r, ln_b));
            }
            rows.push(row);
        }
        integrals(columns, rows)
    }
}

/// Memory for the corners of a near field.
pub struct Scratch<R> {
    columns: Vec<Column<R>>,
    /// `ln|a|` of every column.
    logs: Vec<R>,
    rows: Vec<Row<R>>,
    /// Jump of the pressure along the row of cells below each corner.
    jumps: Vec<R>,
    /// Weight of each corner of a row, and its distance.
    corners: Vec<[R; 2]>,
}

impl<R> Default for Scratch<R> {
    fn default() -> Self {
        Self { columns: Vec::new(), logs: Vec::new(), rows: Vec::new(), jumps: Vec::new(), corners: Vec::new() }
    }
}

/// `ln|x|`, of a tiny number in place of zero.
#[inline(always)]
fn log<R: Real>(x: R) -> R {
    x.abs().max(R::splat(R::TINY)).ln()
}

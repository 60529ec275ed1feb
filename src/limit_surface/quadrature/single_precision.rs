//! Sums for tables in single precision, with a centre of rotation in every lane.
//!
//! By `cells`, the integrals over the cells of the [`near_field`](super::near_field) around each centre of
//! rotation are exact. The other cells are points with the first correction for their size: the mean of `f`
//! over a cell of half sides `hx`, `hy` is `f + hx^2/6 f_xx + hy^2/6 f_yy + ...`. The near field is so large
//! that the omitted terms are some 1e-6. A table of a random map takes a fifth of the time of a table in
//! double precision, an eighth on 61 x 61 cells.

use super::bilinear::{Bilinear, MAX_KEPT};
use super::frame::Frame;
use super::mesh::Mesh;
use super::multipole::Multipole;
use super::near_field::{NearField, Place, Scratch};
use super::node_correlation;
use super::points::Points;
use super::rotations::Rotations;
use super::rule::Rule;
use crate::number::real::Real;
use crate::number::simd::{copies, widest};
use crate::patch::Patch;

/// `(span/|z|)^n` of the terms of the multipole expansion that are left out.
const SMALLEST_TERM: f64 = 3e-6;
/// Largest rounding error of the direction from a centre of rotation to a cell, over the cell's share.
const DIRECTION_ERROR: f64 = 1e-6;
/// Least torsional radius by the `bilinear` rule over the grid's diagonal. Below it the torques about the
/// nodes nearly cancel.
const LEAST_RADIUS: f64 = 0.03;

/// The limit surface of a patch, for tables in single precision.
pub struct SinglePrecision<'a> {
    patch: &'a Patch,
    rule: Rule,
    frame: Frame,
    radius: f64,
    /// Unit wrench of the rotation about the centre of pressure.
    spin: [f64; 3],
    mesh: Mesh,
    points: Points,
    cell_rows: CellRows<f32>,
    bilinear: Option<Bilinear>,
    /// Distance of a centre of rotation from a cell's centre below which the sum is made in double precision.
    least_distance: f64,
}

/// The cells with pressure, row by row, about the centre of pressure and in the surface's unit of length.
struct CellRows<T> {
    /// Centres of columns and rows.
    at: [Vec<f64>; 2],
    half: [f64; 2],
    /// Where each row ends in `column` and `half_share`, which hold the cells that carry pressure.
    end: Vec<usize>,
    column: Vec<usize>,
    half_share: Vec<T>,
    near_field: Option<NearField<T>>,
}

impl<'a> SinglePrecision<'a> {
    /// The surface of `patch` by `rule`. None where double precision is as fast, or where single precision is
    /// not exact enough.
    pub fn new(patch: &'a Patch, rule: Rule) -> Option<Self> {
        if patch.is_irregular() {
            return None;
        }
        let (grid, frame) = (patch.grid(), Frame::new(patch));
        let half = [0.5 * grid.dx / frame.unit, 0.5 * grid.dy / frame.unit];
        let [columns, rows] = patch.loaded_range();
        let map: Vec<&[f64]> = rows.clone().map(|j| &patch.weights()[j * grid.nx..][columns.clone()]).collect();
        let largest = map.iter().flat_map(|row| row.iter()).copied().fold(0.0, f64::max);
        let near_field = match rule {
            Rule::Cells => Some(NearField::new(&map, half, largest, patch.radius() / frame.unit)?),
            Rule::Bilinear if grid.len() > MAX_KEPT => return None,
            _ => None,
        };
        let bilinear = (rule == Rule::Bilinear)
            .then(|| Bilinear::with_sums(patch, frame, Some(node_correlation::sums_in_single(patch, frame.unit))));
        let (mut column, mut half_share, mut end) = (Vec::new(), Vec::new(), Vec::with_capacity(map.len()));
        for row in map {
            for (i, w) in row.iter().enumerate().filter(|(_, w)| **w != 0.0) {
                column.push(i);
                half_share.push((0.5 * w) as f32);
            }
            end.push(column.len());
        }
        let all = [frame.columns(patch), frame.rows(patch)];
        let at = [all[0][columns].to_vec(), all[1][rows].to_vec()];
        let [x, y] = all;
        let (mesh, points) = (Mesh::new(x, y, patch.weights()), frame.points(patch));
        let least_distance = f64::from(f32::EPSILON) * points.span * largest / DIRECTION_ERROR;
        let cell_rows = CellRows { at, half, end, column, half_share, near_field };
        let (radius, spin) = (patch.radius(), [0.0; 3]);
        let mut new = Self { patch, rule, radius, spin, points, frame, mesh, cell_rows, bilinear, least_distance };
        new.spin = new.rotations(&[[0.0; 2]])[0];
        if rule != Rule::Points {
            new.radius = -new.spin[2];
        }
        let diagonal = (grid.nx as f64 * grid.dx).hypot(grid.ny as f64 * grid.dy);
        (rule != Rule::Bilinear || new.radius > LEAST_RADIUS * diagonal).then_some(new)
    }
}

impl SinglePrecision<'_> {
    fn wrenches(&self, centres: &[[f64; 2]]) -> Vec<[f64; 3]> {
        let cell_rows = &self.cell_rows;
        widest!(wrenches::<f32>(cell_rows, centres))
    }
}

impl Rotations for SinglePrecision<'_> {
    fn isotropic(&self) -> &Patch {
        self.patch
    }

    fn rule(&self) -> Rule {
        self.rule
    }

    fn is_single(&self) -> bool {
        true
    }

    fn radius(&self) -> f64 {
        self.radius
    }

    fn spin(&self) -> [f64; 3] {
        self.spin
    }

    fn is_mean_of_nodes(&self, c: [f64; 2]) -> bool {
        self.bilinear.as_ref().is_some_and(|bilinear| bilinear.is_over(c.map(|x| x / self.frame.unit)))
    }

    fn multipole(&self, closest: f64) -> Option<(Multipole, f64)> {
        let Frame { unit, .. } = self.frame;
        let half = if self.rule == Rule::Cells { self.cell_rows.half } else { [0.0; 2] };
        Multipole::new(&self.mesh, self.points.span, half, closest / unit, SMALLEST_TERM).map(|m| (m, unit))
    }

    fn rotations(&self, centres: &[[f64; 2]]) -> Vec<[f64; 3]> {
        let per_unit = 1.0 / self.frame.unit;
        let centres: Vec<[f64; 2]> = centres.iter().map(|c| [c[0] * per_unit, c[1] * per_unit]).collect();
        let mut out = match (&self.bilinear, self.rule) {
            (Some(bilinear), _) => {
                let mut out = vec![[0.0; 3]; centres.len()];
                let outside = bilinear.about_all(&centres, &self.points, &mut out);
                let some: Vec<[f64; 2]> = outside.iter().map(|k| centres[*k]).collect();
                outside.into_iter().zip(self.wrenches(&some)).for_each(|(k, wrench)| out[k] = wrench);
                out
            }
            (None, Rule::Points) => {
                let mut out = self.wrenches(&centres);
                // A cell at rest contributes nothing, but one that is slightly faster has a direction.
                for (c, out) in
                    centres.iter().zip(&mut out).filter(|(c, _)| self.mesh.is_next_to(**c, self.least_distance))
                {
                    *out = self.points.wrench([c[1], -c[0], 1.0]);
                }
                out
            }
            _ => self.wrenches(&centres),
        };
        out.iter_mut().for_each(|w| w[2] *= self.frame.unit);
        out
    }
}

/// A column of cells as seen from the centres of rotation.
#[derive(Clone, Copy)]
struct Column<R> {
    /// Distance `a` along x from the centre of rotation, its square, and `a` times the column's `x`.
    a: R,
    a2: R,
    xa: R,
    /// One where the column is in the near field, else zero.
    within: R,
}

/// The shapes that cells outside the near field are summed as.
mod shape {
    pub const POINTS: usize = 0;
    pub const SQUARES: usize = 1;
    pub const RECTANGLES: usize = 2;
}

/// Sums over the cells of a row as a [`shape`]; with `NEAR`, without those in the near field, where `within`
/// is one. With `F`, `G` the means of `1/R` that `a`, `b` multiply, these are `w (a F, G, x a F)`, and for
/// the torques of the cells' friction about their own centres `w (hx^2 b^2 + hy^2 a^2)/(3 R^3)`; of squares
/// `w/R`, which the caller multiplies by `h^2/3`. The means over a cell of half sides `hx`, `hy` are `F = 1/R
/// + (hy^2/3 - hx^2/2)/R^3 - (hy^2 - hx^2)/2 a^2/R^5`, of squares `1/R - h^2/6/R^3`, and `G` alike.
#[inline(always)]
fn row<R: Real, const SHAPE: usize, const NEAR: bool>(
    cells: (&[usize], &[R::Scalar]),
    columns: &[Column<R>],
    b2: R,
    within: R,
    [hx2, hy2]: [f64; 2],
) -> [R; 4] {
    let [mut force_x, mut force_y, mut turn, mut spin] = [R::splat(0.0); 4];
    for (column, half) in cells.0.iter().zip(cells.1) {
        let column = &columns[*column];
        let mut half = R::splat(half.lane(0));
        if NEAR {
            half = half * (-column.within).fma(within, R::splat(1.0));
        }
        let r2 = column.a2 + b2;
        // An estimate of 1/R. Newton's step is taken on the weighted term; the corrections do without it.
        let estimate = r2.approx_rsqrt();
        let term = half * estimate * (-(r2 * estimate)).fma(estimate, R::splat(3.0));
        let (mut x, mut y) = (term, term);
        if SHAPE == shape::SQUARES {
            x = term * (estimate * estimate).fma(R::splat(-hx2 / 6.0), R::splat(1.0));
            y = x;
            spin += term;
        }
        if SHAPE == shape::RECTANGLES {
            let (second, along) = (estimate * estimate, R::splat(0.5 * (hx2 - hy2)) * estimate * estimate);
            x = term * second.fma(along.fma(column.a2, R::splat(hy2 / 3.0 - hx2 / 2.0)), R::splat(1.0));
            y = term * second.fma((-along).fma(b2, R::splat(hx2 / 3.0 - hy2 / 2.0)), R::splat(1.0));
            let inertia = column.a2.fma(R::splat(hy2 / 3.0), b2 * R::splat(hx2 / 3.0));
            spin = (term * second).fma(inertia, spin);
        }
        force_x = column.a.fma(x, force_x);
        force_y += y;
        turn = column.xa.fma(x, turn);
    }
    [force_x, force_y, turn, spin]
}

copies! {
    /// Unit wrenches for the rotations with w > 0 about `centres`.
    fn wrenches<R>(cell_rows: &CellRows<R::Scalar>, centres: &[[f64; 2]]) -> Vec<[f64; 3]> {
        let zero = R::splat(0.0);
        let mut out = Vec::with_capacity(centres.len());
        let mut columns = vec![Column { a: zero, a2: zero, xa: zero, within: zero }; cell_rows.at[0].len()];
        let mut scratch = Scratch::default();
        let half2 = [cell_rows.half[0] * cell_rows.half[0], cell_rows.half[1] * cell_rows.half[1]];
        let square = (half2[0] / half2[1] - 1.0).abs() < 1e-6;
        for centres in centres.chunks(R::LANES) {
            let mut c = [zero; 2];
            for (lane, centre) in centres.iter().enumerate() {
                (0..2).for_each(|axis| c[axis].set(lane, centre[axis]));
            }
            let place = cell_rows.near_field.as_ref().map(|near| Place::new(near, &cell_rows.at, cell_rows.half, c));
            for (i, (column, x)) in columns.iter_mut().zip(&cell_rows.at[0]).enumerate() {
                let a = R::splat(*x) - c[0];
                let within = place.as_ref().map_or(zero, |p| p.within(0, i));
                *column = Column { a, a2: a * a, xa: R::splat(*x) * a, within };
            }
            // Of the wrench about the centre of pressure: the force turned by a quarter, and the torque.
            let (mut gx, mut gy, mut turn) = (zero, zero, zero);
            let (mut start, mut any_near) = (0, false);
            for (j, (y, end)) in cell_rows.at[1].iter().zip(&cell_rows.end).enumerate() {
                let b = R::splat(*y) - c[1];
                // The offset keeps 1/R finite for a cell at the centre of rotation itself. Such a cell is in
                // the near field, or the sum is replaced by one in double precision.
                let b2 = b.fma(b, R::splat(1e-12));
                let cells = (&cell_rows.column[start..*end], &cell_rows.half_share[start..*end]);
                let within = place.as_ref().map_or(zero, |p| p.within(1, j));
                let is_near = R::any(R::splat(0.5).lt(within));
                any_near |= is_near;
                let [x, y_over_b, turn_x, mut spin] = match (place.is_none(), square, is_near) {
                    (true, ..) => row::<R, { shape::POINTS }, false>(cells, &columns, b2, within, half2),
                    (_, true, false) => row::<R, { shape::SQUARES }, false>(cells, &columns, b2, within, half2),
                    (_, true, true) => row::<R, { shape::SQUARES }, true>(cells, &columns, b2, within, half2),
                    (_, false, false) => row::<R, { shape::RECTANGLES }, false>(cells, &columns, b2, within, half2),
                    (_, false, true) => row::<R, { shape::RECTANGLES }, true>(cells, &columns, b2, within, half2),
                };
                if square {
                    spin = spin * R::splat(half2[0] / 3.0);
                }
                let force = b * y_over_b;
                (gx, gy) = (gx + x, gy + force);
                turn += R::splat(*y).fma(force, turn_x + spin);
                start = *end;
            }
            if let (true, Some(place), Some(near)) = (any_near, &place, &cell_rows.near_field) {
                let [i, near_x, near_y] = place.integrals(near, cell_rows.half, &mut scratch);
                (gx, gy) = (gx + near_x, gy + near_y);
                turn += c[0].fma(near_x, c[1].fma(near_y, i));
            }
            for lane in 0..centres.len() {
                out.push([gy.lane(lane), -gx.lane(lane), -turn.lane(lane)]);
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limit_surface::Surface;
    use crate::number::baseline::F32;
    use crate::number::simd::Simd;
    #[cfg(target_arch = "x86_64")]
    use crate::number::x86::{Avx2F32, Avx512F32};
    use crate::patch::{Grid, Shape};
    use crate::planar::Twist;

    fn sums<R: Real<Scalar = f32>>(single: &SinglePrecision<'_>, centres: &[[f64; 2]]) -> Vec<[f64; 3]> {
        wrenches::<R>(&single.cell_rows, centres)
    }

    /// A map whose centre of pressure is a corner of its middle cells, all of them unlike their neighbours.
    fn checkered(width: f64) -> Patch {
        let grid = Grid::new(20, 20, width, 0.02).unwrap();
        let map: Vec<f64> = (0..400).map(|k| if (k / 20 + k % 20) % 2 == 0 { 1.0 } else { 3.0 }).collect();
        Patch::from_pressure(grid, &map).unwrap()
    }

    /// Every kind of vectors, on lanes that are full and on the last ones, inside and outside the patch, on a
    /// corner, on a line of corners and in the middle of a cell.
    #[test]
    fn sums_in_all_vectors_are_those_in_double_precision() {
        for (width, rule) in [(0.02, Rule::Cells), (0.05, Rule::Cells), (0.02, Rule::Points)] {
            let patch = checkered(width);
            let (single, surface) = (SinglePrecision::new(&patch, rule).unwrap(), Surface::new(&patch, rule));
            let [hx, hy] = single.cell_rows.half;
            let mut centres: Vec<[f64; 2]> =
                (0..90u32).map(f64::from).map(|k| [0.3 * k * k.cos() + 0.1, 0.2 * k * k.sin()]).collect();
            if rule == Rule::Cells {
                centres.extend([[0.0, 0.0], [8.0 * hx, -4.0 * hy], [0.0, 0.3], [hx, hy], [20.0 * hx, 0.0]]);
            }
            #[allow(unused_mut, reason = "other processors have but one kind")]
            let mut all = vec![sums::<F32>(&single, &centres)];
            #[cfg(target_arch = "x86_64")]
            {
                if Simd::widest() >= Simd::Avx2 {
                    all.push(sums::<Avx2F32>(&single, &centres));
                }
                if Simd::widest() >= Simd::Avx512 {
                    all.push(sums::<Avx512F32>(&single, &centres));
                }
            }
            for found in all {
                assert_eq!(found.len(), centres.len());
                for ([fx, fy, tau], c) in found.into_iter().zip(&centres) {
                    let [x, y] = c.map(|c| c * single.frame.unit);
                    let wanted = surface.coulomb(Twist::new(y, -x, 1.0));
                    let r = surface.radius();
                    let error = [fx - wanted.fx, fy - wanted.fy, (tau * single.frame.unit - wanted.tau) / r];
                    assert!(error.iter().all(|e| e.abs() < 1e-5), "{width}, {}, {c:?}: {error:?}", rule.name());
                }
            }
        }
    }

    #[test]
    fn single_precision_is_used_where_it_is_faster_and_exact() {
        let shape = |shape, n| Patch::shape(Grid::new(n, n, 0.02, 0.02).unwrap(), shape).unwrap();
        let serves = |patch: &Patch| Rule::ALL.map(|rule| SinglePrecision::new(patch, rule).is_some());
        assert_eq!(serves(&checkered(0.02)), [true; 3]);
        assert_eq!(serves(&shape(Shape::Circle, 21)), [true; 3]);
        // By `cells`: few corners for so many cells; fewer corners than a near field. By `bilinear`: more
        // nodes than are kept.
        assert_eq!(serves(&shape(Shape::Square, 41)), [true, true, false]);
        assert_eq!(serves(&shape(Shape::Circle, 5)), [true, true, false]);
        assert_eq!(serves(&shape(Shape::Circle, 129)), [true, false, false]);
        // Nearly all in one cell, the rest far from it.
        let noise: Vec<f64> = (0..900).map(|k| if k == 321 { 1.0 } else { 1e-7 * (1.0 + f64::from(k % 3)) }).collect();
        let one = Patch::from_pressure(Grid::new(30, 30, 0.02, 0.02).unwrap(), &noise).unwrap();
        assert_eq!(serves(&one), [true, false, false]);
    }
}

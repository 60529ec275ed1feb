//! Tables in single precision: centres of rotation side by side in vector registers.
//!
//! By `cells`, the cells in a window around each centre of rotation are exact: differences over their corners, as in
//! [`super::cells`]. Those beyond are points with the first correction for their size: the mean of `f` over a cell of half
//! sides `hx`, `hy` is `f + hx^2/6 f_xx + hy^2/6 f_yy + ...`, and what is left out is below 1e-6 of the wrench.

use super::bilinear::{Bilinear, MAX_LATTICE};
use super::centres::Mesh;
use super::lattice::Kernel;
use super::moments::Moments;
use super::points::Points;
use super::rule::Rule;
use super::sample::Local;
use super::table::Rotations;
use crate::kernel::real::{LANES, Real};
use crate::kernel::simd::{copies, widest};
use crate::patch::{Grid, Patch};

/// Least distance from a centre of rotation to the centre of a cell beyond its window, in sides of a square with the cells' diagonal.
const LEAST_REACH: f64 = 2.47;
/// What is left out of the mean distance from a cell of share `w` at a distance of `R` sides is below `LEFT_OUT w/R^3` sides; of a
/// line of cells beyond `R`, `LEFT_OUT w/R^2`.
const LEFT_OUT: f64 = 0.004;
/// How much of it may be left out, in spans of the patch.
const ALLOWED: f64 = 1e-6;
/// Cells, and those that a window may add around them, up to which single precision counts places.
const MOST_PLACES: usize = 1 << 20;
/// Rounding of the terms that the moments may leave out.
const SMALLEST: f64 = 3e-6;

/// A patch made ready for tables in single precision.
pub struct Single<'a> {
    patch: &'a Patch,
    rule: Rule,
    local: Local,
    radius: f64,
    /// Unit wrench of the rotation about the centre of pressure.
    spin: [f64; 3],
    mesh: Mesh,
    points: Points,
    sheet: Sheet<f32>,
    bilinear: Option<Bilinear>,
}

/// Cells about the centre of pressure, in the surface's unit of length.
struct Sheet<T> {
    /// Centres of columns and rows.
    at: [Vec<f64>; 2],
    half: [f64; 2],
    /// Row by row: where a row ends in `column` and `weight`, which hold the cells that carry pressure, and half their shares.
    end: Vec<usize>,
    column: Vec<usize>,
    weight: Vec<T>,
    window: Option<Window<T>>,
}

/// The cells around a centre of rotation: so many on each side of the one it lies in.
struct Window<T> {
    sides: [usize; 2],
    /// The map with as many cells around it as a window may reach.
    map: Vec<T>,
    width: usize,
}

impl<'a> Single<'a> {
    /// The surface of `patch` by `rule`, with the kernel of its grid if that is known; none for grids too large.
    pub fn new(patch: &'a Patch, rule: Rule, kernel: Option<&Kernel<f32>>) -> Option<Self> {
        let (grid, local) = (patch.grid(), Local::of(patch));
        let at = [local.columns(patch), local.rows(patch)];
        let half = [0.5 * grid.dx / local.unit, 0.5 * grid.dy / local.unit];
        let points = local.points(patch);
        let span = points.span;
        let window = if rule == Rule::Cells { Some(Window::new(patch, half, span)?) } else { None };
        if rule == Rule::Bilinear && grid.len() > MAX_LATTICE {
            return None;
        }
        let bilinear = match rule {
            Rule::Bilinear => {
                let own = || Kernel::<f32>::single(grid);
                let sums = kernel.map_or_else(|| own().correlate(patch.weights()), |k| k.correlate(patch.weights()));
                Some(Bilinear::new(patch, local.unit, None, Some(sums)))
            }
            _ => None,
        };
        let mesh = Mesh::new(at[0].clone(), at[1].clone(), patch.weights());
        let (mut column, mut weight, mut end) = (Vec::new(), Vec::new(), Vec::with_capacity(grid.ny));
        for row in patch.weights().chunks(grid.nx) {
            for (i, w) in row.iter().enumerate().filter(|(_, w)| **w != 0.0) {
                column.push(i);
                weight.push((0.5 * w) as f32);
            }
            end.push(column.len());
        }
        let sheet = Sheet { at, half, end, column, weight, window };
        let mut new =
            Self { patch, rule, radius: patch.radius(), spin: [0.0; 3], points, local, mesh, sheet, bilinear };
        new.spin = new.rotations(&[[0.0; 2]])[0];
        if rule != Rule::Points {
            new.radius = if -new.spin[2] > 1e-6 * new.local.unit { -new.spin[2] } else { 0.0 };
        }
        Some(new)
    }
}

impl Single<'_> {
    fn wrenches(&self, centres: &[[f64; 2]]) -> Vec<[f64; 3]> {
        let sheet = &self.sheet;
        widest!(wrenches::<f32>(sheet, centres))
    }
}

impl Rotations for Single<'_> {
    fn patch(&self) -> &Patch {
        self.patch
    }

    fn rule(&self) -> Rule {
        self.rule
    }

    fn radius(&self) -> f64 {
        self.radius
    }

    fn spin(&self) -> [f64; 3] {
        self.spin
    }

    fn moments(&self, closest: f64) -> Option<(Moments, f64)> {
        let Local { unit, .. } = self.local;
        let half = if self.rule == Rule::Cells { self.sheet.half } else { [0.0; 2] };
        Moments::new(&self.mesh, self.points.span, half, closest / unit, SMALLEST).map(|m| (m, unit))
    }

    fn rotations(&self, centres: &[[f64; 2]]) -> Vec<[f64; 3]> {
        let per_unit = 1.0 / self.local.unit;
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
                // A cell at rest contributes nothing.
                for (c, out) in centres.iter().zip(&mut out).filter(|(c, _)| self.mesh.on_a_crossing(**c)) {
                    *out = self.points.wrench([c[1], -c[0], 1.0]);
                }
                out
            }
            _ => self.wrenches(&centres),
        };
        out.iter_mut().for_each(|w| w[2] *= self.local.unit);
        out
    }
}

impl Window<f32> {
    /// The window for cells of half sides `half`, the farthest `span` from the centre of pressure; none for grids with fewer
    /// corners than it, or with too many places.
    fn new(patch: &Patch, half: [f64; 2], span: f64) -> Option<Self> {
        let Grid { nx, ny, .. } = *patch.grid();
        let side = std::f64::consts::SQRT_2 * half[0].hypot(half[1]);
        let largest = patch.weights().iter().copied().fold(0.0, f64::max);
        let reach = side * (LEFT_OUT * largest * side / (ALLOWED * span)).sqrt().max(LEAST_REACH);
        let sides = half.map(|half| (reach / (2.0 * half) - 0.5).ceil().min(MOST_PLACES as f64) as usize);
        let (width, height) = (nx + 4 * sides[0] + 2, ny + 4 * sides[1] + 2);
        if (nx + 1) * (ny + 1) < 4 * (sides[0] + 1) * (sides[1] + 1) || width * height > MOST_PLACES {
            return None;
        }
        let mut map = vec![0.0; width * height];
        for (j, row) in patch.weights().chunks(nx).enumerate() {
            let first = (j + 2 * sides[1] + 1) * width + 2 * sides[0] + 1;
            map[first..][..nx].iter_mut().zip(row).for_each(|(to, w)| *to = *w as f32);
        }
        Some(Self { sides, map, width })
    }
}

/// A column of cells as seen from the centres of rotation.
#[derive(Clone, Copy)]
struct Column<R> {
    /// Distance along x, its square, and times the place from the centre of pressure.
    a: R,
    a2: R,
    xa: R,
    /// One where the column is in the centre's window, else zero.
    within: R,
}

/// What cells far from a centre of rotation are taken for.
mod far {
    pub const POINTS: usize = 0;
    pub const SQUARES: usize = 1;
    pub const OBLONGS: usize = 2;
}

/// Sums over the cells of a row; with `WINDOW`, without those in the window, where `within` is one. With `F`, `G` the means of `1/R` that
/// the arms `a`, `b` multiply, `w (a F, G, x a F)`, and for the moments of the cells' friction about their own centres
/// `w (hx^2 b^2 + hy^2 a^2)/(3 R^3)`, of squares `w/R`. The means over a cell of half sides `hx`, `hy` are
/// `F = 1/R + (hy^2/3 - hx^2/2)/R^3 - (hy^2 - hx^2)/2 a^2/R^5`, of squares `1/R - h^2/6/R^3`, and `G` alike.
#[inline(always)]
fn row<R: Real, const FAR: usize, const WINDOW: bool>(
    cells: (&[usize], &[R::Scalar]),
    columns: &[Column<R>],
    b2: R,
    within: R,
    [hx2, hy2]: [f64; 2],
) -> [R; 4] {
    let [mut force_x, mut force_y, mut turn, mut spin] = [R::of(0.0); 4];
    for (column, half) in cells.0.iter().zip(cells.1) {
        let column = &columns[*column];
        let mut half = R::of(half.lane(0));
        if WINDOW {
            half = half * (-column.within).fma(within, R::of(1.0));
        }
        let r2 = column.a2 + b2;
        // An estimate; Newton's step on the weighed term, of which the corrections need none.
        let rough = r2.rsqrt_rough();
        let term = half * rough * (-(r2 * rough)).fma(rough, R::of(3.0));
        let (mut x, mut y) = (term, term);
        if FAR == far::SQUARES {
            x = term * (rough * rough).fma(R::of(-hx2 / 6.0), R::of(1.0));
            y = x;
            spin += term;
        }
        if FAR == far::OBLONGS {
            let (second, along) = (rough * rough, R::of(0.5 * (hx2 - hy2)) * rough * rough);
            x = term * second.fma(along.fma(column.a2, R::of(hy2 / 3.0 - hx2 / 2.0)), R::of(1.0));
            y = term * second.fma((-along).fma(b2, R::of(hx2 / 3.0 - hy2 / 2.0)), R::of(1.0));
            let inertia = column.a2.fma(R::of(hy2 / 3.0), b2 * R::of(hx2 / 3.0));
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
    fn wrenches<R>(sheet: &Sheet<R::Scalar>, centres: &[[f64; 2]]) -> Vec<[f64; 3]> {
        let zero = R::of(0.0);
        let mut out = Vec::with_capacity(centres.len());
        let mut columns = vec![Column { a: zero, a2: zero, xa: zero, within: zero }; sheet.at[0].len()];
        let mut scratch = Scratch::default();
        let half2 = [sheet.half[0] * sheet.half[0], sheet.half[1] * sheet.half[1]];
        let square = (half2[0] / half2[1] - 1.0).abs() < 1e-6;
        for centres in centres.chunks(R::LANES) {
            let mut c = [zero; 2];
            for (lane, centre) in centres.iter().enumerate() {
                (0..2).for_each(|axis| c[axis].set(lane, centre[axis]));
            }
            let place = sheet.window.as_ref().map(|window| Place::new(sheet, window, c));
            for (i, (column, x)) in columns.iter_mut().zip(&sheet.at[0]).enumerate() {
                let a = R::of(*x) - c[0];
                let within = place.as_ref().map_or(zero, |p| p.within(0, i));
                *column = Column { a, a2: a * a, xa: R::of(*x) * a, within };
            }
            // Of the wrench about the centre of pressure: forces turned by a quarter, and the torque.
            let (mut gx, mut gy, mut turn) = (zero, zero, zero);
            let mut start = 0;
            for (j, (y, end)) in sheet.at[1].iter().zip(&sheet.end).enumerate() {
                let b = R::of(*y) - c[1];
                // A cell in its own window is at no distance, and counts zero times.
                let b2 = if place.is_none() { b * b } else { b.fma(b, R::of(1e-12)) };
                let cells = (&sheet.column[start..*end], &sheet.weight[start..*end]);
                let within = place.as_ref().map_or(zero, |p| p.within(1, j));
                let window = R::any(R::of(0.5).lt(within));
                let [x, y_over_b, turn_x, mut spin] = match (place.is_none(), square, window) {
                    (true, ..) => row::<R, { far::POINTS }, false>(cells, &columns, b2, within, half2),
                    (_, true, false) => row::<R, { far::SQUARES }, false>(cells, &columns, b2, within, half2),
                    (_, true, true) => row::<R, { far::SQUARES }, true>(cells, &columns, b2, within, half2),
                    (_, false, false) => row::<R, { far::OBLONGS }, false>(cells, &columns, b2, within, half2),
                    (_, false, true) => row::<R, { far::OBLONGS }, true>(cells, &columns, b2, within, half2),
                };
                if square {
                    spin = spin * R::of(half2[0] / 3.0);
                }
                let force = b * y_over_b;
                (gx, gy) = (gx + x, gy + force);
                turn += R::of(*y).fma(force, turn_x + spin);
                start = *end;
            }
            if let (Some(place), Some(window)) = (&place, &sheet.window) {
                let [i, near_x, near_y] = place.corners(window, sheet.half, &mut scratch);
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

/// Where windows are.
struct Place<R> {
    /// The cell that the centre of rotation lies in, by column and row, and the way from its lower left corner in cells.
    cell: [R; 2],
    rest: [R; 2],
    sides: [usize; 2],
    /// The window's first cell in the map.
    at: [u32; LANES],
}

impl<R: Real> Place<R> {
    #[inline(always)]
    fn new(sheet: &Sheet<R::Scalar>, window: &Window<R::Scalar>, c: [R; 2]) -> Self {
        let (mut cell, mut rest) = (c, c);
        for axis in 0..2 {
            let (side, n, half) = (window.sides[axis] as f64, sheet.at[axis].len() as f64, sheet.half[axis]);
            // In cells, from so far to the left that it is positive where the window has cells.
            let left = sheet.at[axis][0] - half - 2.0 * half * (side + 1.0);
            let place = (c[axis] - R::of(left)) * R::of(0.5 / half);
            let place = place.max(R::of(0.0)).min(R::of(n + 2.0 * side + 1.0));
            cell[axis] = place.floor();
            rest[axis] = place - cell[axis];
        }
        let mut at = [0; LANES];
        cell[1].fma(R::of(window.width as f64), cell[0]).add_to_indices(&[0; LANES], &mut at);
        let cell = [0, 1].map(|axis| cell[axis] - R::of(window.sides[axis] as f64 + 1.0));
        Self { cell, rest, sides: window.sides, at }
    }

    /// One where column or row `i` is in the window.
    #[inline(always)]
    fn within(&self, axis: usize, i: usize) -> R {
        let off = R::of(i as f64) - self.cell[axis];
        let reach = R::of(self.sides[axis] as f64 + 0.5);
        R::select((off * off).lt(reach * reach), R::of(1.0), R::of(0.0))
    }

    /// Distance of line `k` of the window's corners.
    #[inline(always)]
    fn corner(&self, axis: usize, k: usize, half: [f64; 2]) -> R {
        (R::of(k as f64 - self.sides[axis] as f64) - self.rest[axis]) * R::of(2.0 * half[axis])
    }

    /// `sum w (I, Gx, Gy)` of the cells in the window, as in [`super::cells`].
    #[inline(always)]
    fn corners(&self, window: &Window<R::Scalar>, half: [f64; 2], scratch: &mut Scratch<R>) -> [R; 3] {
        let zero = R::of(0.0);
        let [nx, ny] = self.sides.map(|side| 2 * side + 1);
        let Scratch { lines, jumps, roots } = scratch;
        lines.resize(nx + 1, Line { a: zero, r: zero, br: zero, log: zero, sign: zero });
        for (k, line) in lines.iter_mut().enumerate() {
            *line = Line { a: self.corner(0, k, half), r: zero, br: zero, log: zero, sign: zero };
        }
        jumps.resize(nx + 1, zero);
        jumps.fill(zero);
        roots.resize(nx + 1, [zero; 2]);
        let mut sums = [zero; 3];
        for l in 0..=ny {
            let b = self.corner(1, l, half);
            let (b_abs, b_sign) = (b.max(-b), sign(b));
            let mut last = zero;
            for (k, (jump, root)) in jumps.iter_mut().zip(&mut *roots).enumerate() {
                let weight =
                    if k < nx && l < ny { R::gather(&window.map, &self.at, l * window.width + k) } else { zero };
                let jump_here = last - weight;
                let q = *jump - jump_here;
                (*jump, last) = (jump_here, weight);
                let a = lines[k].a;
                let r2 = a.fma(a, b * b).max(R::of(1e-20));
                *root = [q, r2 * r2.rsqrt()];
            }
            let (mut row_r, mut row_log, mut row_sign) = (zero, zero, zero);
            for (line, [q, r]) in lines.iter_mut().zip(&*roots) {
                let qr = *q * *r;
                row_r += qr;
                line.r += qr;
                line.br = b.fma(qr, line.br);
                let signed = *q * b_sign;
                line.log = signed.fma(ln(b_abs + *r), line.log);
                line.sign += signed;
            }
            for (line, [q, r]) in lines.iter().zip(&*roots) {
                let signed = *q * sign(line.a);
                row_log = signed.fma(ln(line.a.max(-line.a) + *r), row_log);
                row_sign += signed;
            }
            let log = b * b * (row_log - row_sign * ln(b_abs.max(R::of(1e-20))));
            sums[0] = b.fma(log, sums[0]);
            sums[1] = b.fma(row_r, sums[1]);
            sums[2] += log;
        }
        for Line { a, r, br, log, sign } in lines {
            let log = *a * *a * (*log - *sign * ln(a.max(-*a).max(R::of(1e-20))));
            sums[0] = a.fma(*br + *br + log, sums[0]);
            sums[1] += log;
            sums[2] = a.fma(*r, sums[2]);
        }
        [sums[0] * R::of(1.0 / 6.0), sums[1] * R::of(0.5), sums[2] * R::of(0.5)]
    }
}

/// A line of corners across the window: its distance, and the sums of `q R`, `q b R`, `q sgn b ln(|b| + R)` and `q sgn b`.
#[derive(Clone, Copy)]
struct Line<R> {
    a: R,
    r: R,
    br: R,
    log: R,
    sign: R,
}

/// Room for a window's corners.
struct Scratch<R> {
    lines: Vec<Line<R>>,
    jumps: Vec<R>,
    roots: Vec<[R; 2]>,
}

impl<R> Default for Scratch<R> {
    fn default() -> Self {
        Self { lines: Vec::new(), jumps: Vec::new(), roots: Vec::new() }
    }
}

/// 1, or -1 for numbers below zero.
#[inline(always)]
fn sign<R: Real>(x: R) -> R {
    R::select(x.lt(R::of(0.0)), R::of(-1.0), R::of(1.0))
}

/// `ln(x)` to 4e-8 and the rounding of a number of its size, for normal x > 0.
#[inline(always)]
fn ln<R: Real>(x: R) -> R {
    let (exponent, mantissa) = x.exponent_mantissa();
    let t = mantissa - R::of(1.5);
    let mut sum = R::of(LN[LN.len() - 1]);
    for k in (0..LN.len() - 1).rev() {
        sum = sum.fma(t, R::of(LN[k]));
    }
    exponent.fma(R::of(std::f64::consts::LN_2), sum)
}

/// Chebyshev's polynomial of `ln(3/2 + t)` for |t| <= 1/2, lowest power first.
const LN: [f64; 9] = [
    0.405_465_103_792_990_8,
    0.666_666_166_058_678_7,
    -0.222_221_368_226_873_7,
    0.098_791_751_637_975_38,
    -0.049_409_618_339_370_166,
    0.025_967_329_512_681_707,
    -0.014_338_342_043_373_496,
    0.010_243_828_630_815_965,
    -0.006_151_470_961_718_078,
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::real::Lanes;
    use crate::kernel::simd::Simd;
    #[cfg(target_arch = "x86_64")]
    use crate::kernel::x86::{Avx2F32, Avx512F32};
    use crate::limit_surface::Surface;
    use crate::patch::Shape;
    use crate::planar::Twist;

    fn sums<R: Real<Scalar = f32>>(single: &Single<'_>, centres: &[[f64; 2]]) -> Vec<[f64; 3]> {
        wrenches::<R>(&single.sheet, centres)
    }

    /// Every kind of vectors, on lanes that are full and on the last ones, inside and outside the patch, on a corner, on
    /// a line of corners and in the middle of a cell.
    #[test]
    fn sums_in_all_vectors_are_those_in_double_precision() {
        for (width, rule) in [(0.02, Rule::Cells), (0.05, Rule::Cells), (0.02, Rule::Points)] {
            let patch = Patch::shape(Grid::new(21, 21, width, 0.02).unwrap(), Shape::LineGradient).unwrap();
            let (single, surface) = (Single::new(&patch, rule, None).unwrap(), Surface::new(&patch, rule));
            let [columns, rows] = &single.sheet.at;
            let [hx, hy] = single.sheet.half;
            let mut centres: Vec<[f64; 2]> =
                (0..90u32).map(f64::from).map(|k| [0.3 * k * k.cos(), 0.2 * k * k.sin()]).collect();
            if rule == Rule::Cells {
                centres.extend([[columns[3] + hx, rows[8] + hy], [columns[3] + hx, rows[8]], [columns[3], rows[8]]]);
            }
            #[allow(unused_mut, reason = "other processors have but one kind")]
            let mut all = vec![sums::<Lanes<f32>>(&single, &centres)];
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
                    let [x, y] = c.map(|c| c * single.local.unit);
                    let wanted = surface.coulomb(Twist::new(y, -x, 1.0));
                    let r = surface.radius();
                    let error = [fx - wanted.fx, fy - wanted.fy, (tau * single.local.unit - wanted.tau) / r];
                    assert!(error.iter().all(|e| e.abs() < 1e-5), "{width}, {}, {c:?}: {error:?}", rule.name());
                }
            }
        }
    }

    #[test]
    fn logarithms_are_those_of_the_standard_library() {
        for k in 0..40_000 {
            let x = 1.7f32.powi(k % 60 - 30) * (0.3 + k as f32 * 1e-4);
            let wanted = f64::from(x).ln();
            assert!((f64::from(ln(x)) - wanted).abs() < 1.5e-7 * wanted.abs().max(1.0), "{x}");
        }
    }
}

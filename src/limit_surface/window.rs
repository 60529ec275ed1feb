//! The cells around a centre of rotation, exactly, in single precision: differences over their corners, as in
//! [`super::cells`].

use crate::number::real::{LANES, Real};

/// Least distance from a centre of rotation to the centre of a cell beyond its window, in sides of a square
/// with the cells' diagonal: windows of 5 x 5 square cells.
const LEAST_REACH: f64 = 2.47;
/// What is left out of the mean distance from a cell of share `w` at a distance of `R` sides is below
/// `LEFT_OUT w/R^3` sides; of a line of cells beyond `R`, `LEFT_OUT w/R^2`.
const LEFT_OUT: f64 = 0.004;
/// How much of it may be left out, in torsional radii of the patch.
const ALLOWED: f64 = 2e-6;
/// How much the differences over a window's corners may lose to rounding, in torsional radii.
const ROUNDING: f64 = 3e-6;
/// What a corner costs in double precision, and in a window, in terms of a cell beyond it.
const COST: [usize; 2] = [10, 4];
/// Places of a map with room for windows around it.
const MOST_PLACES: usize = 1 << 20;

/// The cells around a centre of rotation: so many on each side of the one it lies in.
pub struct Window<T> {
    sides: [usize; 2],
    /// The map with as many cells around it as a window may reach.
    map: Vec<T>,
    width: usize,
}

impl Window<f32> {
    /// The window for the rows `map` of cells of half sides `half`, the largest share of them `largest` and
    /// their torsional radius `radius`. None where double precision is as fast, or differences over the
    /// window's corners lose too much.
    pub fn new(map: &[&[f64]], half: [f64; 2], largest: f64, radius: f64) -> Option<Self> {
        let (nx, ny) = (map[0].len(), map.len());
        let side = std::f64::consts::SQRT_2 * half[0].hypot(half[1]);
        // Long cells are many to a square of that side.
        let of_side = largest * side * side / (4.0 * half[0] * half[1]);
        let reach = side * (LEFT_OUT * of_side * side / (ALLOWED * radius)).sqrt().max(LEAST_REACH);
        let rounding = f64::from(f32::EPSILON) * largest * reach.powi(3) / radius;
        let sides = half.map(|half| (reach / (2.0 * half) - 0.5).ceil().min(MOST_PLACES as f64) as usize);
        let (width, height) = (nx + 4 * sides[0] + 2, ny + 4 * sides[1] + 2);
        if !(rounding < ROUNDING) || width * height > MOST_PLACES {
            return None;
        }
        let of_window = 4 * (sides[0] + 1) * (sides[1] + 1);
        let cells = map.iter().flat_map(|row| row.iter()).filter(|w| **w != 0.0).count();
        if COST[0] * count_corners(map) <= COST[1] * of_window + cells {
            return None;
        }
        let mut room = vec![0.0; width * height];
        for (j, row) in map.iter().enumerate() {
            let first = (j + 2 * sides[1] + 1) * width + 2 * sides[0] + 1;
            room[first..][..nx].iter_mut().zip(*row).for_each(|(to, w)| *to = *w as f32);
        }
        Some(Self { sides, map: room, width })
    }
}

/// Corners at which the pressure jumps, which are those that count in double precision.
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

/// Where windows are.
pub struct Place<R> {
    /// The cell that the centre of rotation lies in, by column and row, and the way from its lower left
    /// corner in cells.
    cell: [R; 2],
    rest: [R; 2],
    sides: [usize; 2],
    /// The window's first cell in the map.
    first: [u32; LANES],
}

impl<R: Real> Place<R> {
    #[inline(always)]
    pub fn new(window: &Window<R::Scalar>, at: &[Vec<f64>; 2], half: [f64; 2], c: [R; 2]) -> Self {
        let (mut cell, mut rest) = (c, c);
        for axis in 0..2 {
            let (side, n, half) = (window.sides[axis] as f64, at[axis].len() as f64, half[axis]);
            // In cells, from so far to the left that it is positive where the window has cells.
            let left = at[axis][0] - half - 2.0 * half * (side + 1.0);
            for lane in 0..R::LANES {
                // In double precision: the way from the cell's corner is a small difference.
                let place = ((c[axis].lane(lane) - left) * (0.5 / half)).clamp(0.0, n + 2.0 * side + 1.0);
                cell[axis].set(lane, place.floor());
                rest[axis].set(lane, place - place.floor());
            }
        }
        let mut first = [0; LANES];
        cell[1].fma(R::of(window.width as f64), cell[0]).add_to_indices(&[0; LANES], &mut first);
        let cell = [0, 1].map(|axis| cell[axis] - R::of(window.sides[axis] as f64 + 1.0));
        Self { cell, rest, sides: window.sides, first }
    }

    /// One where column or row `i` is in the window.
    #[inline(always)]
    pub fn within(&self, axis: usize, i: usize) -> R {
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
    pub fn corners(&self, window: &Window<R::Scalar>, half: [f64; 2], scratch: &mut Scratch<R>) -> [R; 3] {
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
                    if k < nx && l < ny { R::gather(&window.map, &self.first, l * window.width + k) } else { zero };
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

/// A line of corners across the window: its distance, and the sums of `q R`, `q b R`, `q sgn b ln(|b| + R)`
/// and `q sgn b`.
#[derive(Clone, Copy)]
struct Line<R> {
    a: R,
    r: R,
    br: R,
    log: R,
    sign: R,
}

/// Room for a window's corners.
pub struct Scratch<R> {
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

    #[test]
    fn logarithms_are_those_of_the_standard_library() {
        for k in 0..40_000 {
            let x = 1.7f32.powi(k % 60 - 30) * (0.3 + k as f32 * 1e-4);
            let wanted = f64::from(x).ln();
            assert!((f64::from(ln(x)) - wanted).abs() < 1.5e-7 * wanted.abs().max(1.0), "{x}");
        }
    }
}

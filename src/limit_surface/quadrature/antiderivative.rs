//! The antiderivatives of a cell's integrals, `docs/model.md` (91) to (95), summed over the corners of cells.
//!
//! With `(a, b)` from the centre of rotation to a corner and `R = sqrt(a^2 + b^2)`, the integrals of `R`,
//! `a/R` and `b/R` over cells are sums, over corners of weight `q`, of
//! `6 I = 2abR + a^3 asinh(b/|a|) + b^3 asinh(a/|b|)`, `2 Gx = bR + a^2 asinh(b/|a|)` and
//! `2 Gy = aR + b^2 asinh(a/|b|)`. `a` is the same for a column of corners and `b` for a row, so that their
//! factors are summed first. A single corner is a column and a row of one.

use crate::number::real::Real;

/// Sums over the corners of one column.
#[derive(Clone, Copy, Debug)]
pub struct Column<R> {
    pub a: R,
    /// `sum q R`.
    r: R,
    /// `sum q b R`.
    br: R,
    /// `sum q asinh(b/|a|)`, or as much of the `asinh` as the caller sums.
    log: R,
}

/// Sums over the corners of one row.
#[derive(Clone, Copy, Debug)]
pub struct Row<R> {
    pub b: R,
    /// `sum q R`.
    r: R,
    /// `sum q asinh(a/|b|)`, or as much of the `asinh` as the caller sums.
    log: R,
}

impl<R: Real> Column<R> {
    #[inline(always)]
    pub fn new(a: R) -> Self {
        Self { a, r: R::splat(0.0), br: R::splat(0.0), log: R::splat(0.0) }
    }

    #[inline(always)]
    pub fn add_distance(&mut self, b: R, qr: R) {
        self.r += qr;
        self.br = b.fma(qr, self.br);
    }

    #[inline(always)]
    pub fn add_log(&mut self, q: R, log: R) {
        self.log = q.fma(log, self.log);
    }
}

impl<R: Real> Row<R> {
    #[inline(always)]
    pub fn new(b: R) -> Self {
        Self { b, r: R::splat(0.0), log: R::splat(0.0) }
    }

    #[inline(always)]
    pub fn add_distance(&mut self, qr: R) {
        self.r += qr;
    }

    #[inline(always)]
    pub fn add_log(&mut self, q: R, log: R) {
        self.log = q.fma(log, self.log);
    }
}

/// `R` of a corner; never zero, so that it has a logarithm.
#[inline(always)]
pub fn distance<R: Real>(a: R, b: R) -> R {
    let square = a.fma(a, b * b).max(R::splat(R::TINY));
    square * square.rsqrt()
}

/// `asinh(b/|a|)` of a corner at the distance `r`, with `ln_a = ln|a|`, as in (95). Without it, with zero,
/// this is `sgn b ln(|b| + R)`.
#[inline(always)]
pub fn asinh<R: Real>(b: R, r: R, ln_a: R) -> R {
    ((b.abs() + r).ln() - ln_a).times_sign(b)
}

/// The sums of `q (I, Gx, Gy)`.
#[inline(always)]
pub fn integrals<R: Real>(columns: &[Column<R>], rows: &[Row<R>]) -> [R; 3] {
    let mut sums = [R::splat(0.0); 3];
    for Row { b, r, log } in rows {
        let b2_log = *b * *b * *log;
        sums[0] = b.fma(b2_log, sums[0]);
        sums[1] = b.fma(*r, sums[1]);
        sums[2] += b2_log;
    }
    for Column { a, r, br, log } in columns {
        let a2_log = *a * *a * *log;
        sums[0] = a.fma(*br + *br + a2_log, sums[0]);
        sums[1] += a2_log;
        sums[2] = a.fma(*r, sums[2]);
    }
    let (sixth, half) = (R::splat(1.0 / 6.0), R::splat(0.5));
    [sums[0] * sixth, sums[1] * half, sums[2] * half]
}

/// The sums of `q (dGx/da, dGx/db, dGy/db)`, the last of which is `b asinh(a/|b|)` and the first
/// `a asinh(b/|a|)`.
#[inline(always)]
pub fn slopes<R: Real>(columns: &[Column<R>], rows: &[Row<R>]) -> [R; 3] {
    let mut sums = [R::splat(0.0); 3];
    for Row { b, r, log } in rows {
        sums[1] += *r;
        sums[2] = b.fma(*log, sums[2]);
    }
    for Column { a, log, .. } in columns {
        sums[0] = a.fma(*log, sums[0]);
    }
    sums
}

/// `q (I, Gx, Gy)` of one corner, with `ln_a = ln|a|` and `ln_b = ln|b|` as in [`asinh`].
#[inline(always)]
pub fn corner<R: Real>(q: R, [a, b]: [R; 2], [ln_a, ln_b]: [R; 2]) -> [R; 3] {
    let r = distance(a, b);
    let (mut column, mut row) = (Column::new(a), Row::new(b));
    column.add_distance(b, q * r);
    column.add_log(q, asinh(b, r, ln_a));
    row.add_distance(q * r);
    row.add_log(q, asinh(a, r, ln_b));
    integrals(&[column], &[row])
}

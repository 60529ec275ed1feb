//! The antiderivatives of a cell's integrals, `docs/model.md` (91) to (95), summed over the corners of cells.
//!
//! With `(a, b)` from the centre of rotation to a corner and `R = sqrt(a^2 + b^2)`, the integrals of `R`,
//! `a/R` and `b/R` over cells are sums, over corners of weight `q`, of
//! `6 I = 2abR + a^3 asinh(b/|a|) + b^3 asinh(a/|b|)`, `2 Gx = bR + a^2 asinh(b/|a|)` and
//! `2 Gy = aR + b^2 asinh(a/|b|)`. As `a` is the same for a column of corners and `b` for a row, the sums of
//! what they multiply come first. A single corner is a column and a row of one.

use crate::limit_surface::simd::Number;

/// Sums over the corners of one column.
#[derive(Clone, Copy, Debug)]
pub struct Column<N> {
    pub a: N,
    /// `sum q R`.
    r: N,
    /// `sum q b R`.
    br: N,
    /// `sum q asinh(b/|a|)`, or as much of the `asinh` as the caller sums.
    log: N,
}

/// Sums over the corners of one row.
#[derive(Clone, Copy, Debug)]
pub struct Row<N> {
    pub b: N,
    /// `sum q R`.
    r: N,
    /// `sum q asinh(a/|b|)`, or as much of the `asinh` as the caller sums.
    log: N,
}

impl<N: Number> Column<N> {
    #[inline(always)]
    pub fn new(a: N) -> Self {
        Self { a, r: N::splat(0.0), br: N::splat(0.0), log: N::splat(0.0) }
    }

    #[inline(always)]
    pub fn add_distance(&mut self, b: N, qr: N) {
        self.r = self.r + qr;
        self.br = b.mul_add(qr, self.br);
    }

    #[inline(always)]
    pub fn add_log(&mut self, q: N, log: N) {
        self.log = q.mul_add(log, self.log);
    }
}

impl<N: Number> Row<N> {
    #[inline(always)]
    pub fn new(b: N) -> Self {
        Self { b, r: N::splat(0.0), log: N::splat(0.0) }
    }

    #[inline(always)]
    pub fn add_distance(&mut self, qr: N) {
        self.r = self.r + qr;
    }

    #[inline(always)]
    pub fn add_log(&mut self, q: N, log: N) {
        self.log = q.mul_add(log, self.log);
    }
}

/// `R` of a corner; never zero, so that it has a logarithm.
#[inline(always)]
pub fn distance<N: Number>(a: N, b: N) -> N {
    a.mul_add(a, b * b).max(N::splat(N::TINY)).sqrt()
}

/// `asinh(b/|a|)` of a corner at the distance `r`, with `ln_a = ln|a|`, as in (95). Without it, with zero,
/// this is `sgn b ln(|b| + R)`.
#[inline(always)]
pub fn asinh<N: Number>(b: N, r: N, ln_a: N) -> N {
    ((b.abs() + r).ln() - ln_a).times_sign(b)
}

/// The sums of `q (I, Gx, Gy)`.
#[inline(always)]
pub fn integrals<N: Number>(columns: &[Column<N>], rows: &[Row<N>]) -> [N; 3] {
    let mut sums = [N::splat(0.0); 3];
    for Row { b, r, log } in rows {
        let b2_log = *b * *b * *log;
        sums[0] = b.mul_add(b2_log, sums[0]);
        sums[1] = b.mul_add(*r, sums[1]);
        sums[2] = sums[2] + b2_log;
    }
    for Column { a, r, br, log } in columns {
        let a2_log = *a * *a * *log;
        sums[0] = a.mul_add(*br + *br + a2_log, sums[0]);
        sums[1] = sums[1] + a2_log;
        sums[2] = a.mul_add(*r, sums[2]);
    }
    let (sixth, half) = (N::splat(1.0 / 6.0), N::splat(0.5));
    [sums[0] * sixth, sums[1] * half, sums[2] * half]
}

/// The sums of `q (dGx/da, dGx/db, dGy/db)`, the last of which is `b asinh(a/|b|)` and the first
/// `a asinh(b/|a|)`.
#[inline(always)]
pub fn slopes<N: Number>(columns: &[Column<N>], rows: &[Row<N>]) -> [N; 3] {
    let mut sums = [N::splat(0.0); 3];
    for Row { b, r, log } in rows {
        sums[1] = sums[1] + *r;
        sums[2] = b.mul_add(*log, sums[2]);
    }
    for Column { a, log, .. } in columns {
        sums[0] = a.mul_add(*log, sums[0]);
    }
    sums
}

/// `q (I, Gx, Gy)` of one corner, with `ln_a = ln|a|` and `ln_b = ln|b|` as in [`asinh`].
#[inline(always)]
pub fn corner<N: Number>(q: N, [a, b]: [N; 2], [ln_a, ln_b]: [N; 2]) -> [N; 3] {
    let r = distance(a, b);
    let (mut column, mut row) = (Column::new(a), Row::new(b));
    column.add_distance(b, q * r);
    column.add_log(q, asinh(b, r, ln_a));
    row.add_distance(q * r);
    row.add_log(q, asinh(a, r, ln_b));
    integrals(&[column], &[row])
}

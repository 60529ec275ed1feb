//! Numbers that carry derivatives along: a value and its derivatives over [`TANGENTS`] parameters. Equations
//! that are generic over the number type give with them, from the derivatives of their inputs, those of their
//! results.
//!
//! Comparisons and selections go by the value alone, and whole numbers and lengths of steps, which the step
//! takes out of its number type ([`Real::lane`]), have no derivatives. [`Real::set`] replaces a value and
//! keeps the derivatives.

use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub};

use super::real::Real;

/// Derivatives of a number: as many as a register of AVX-512 holds.
pub const TANGENTS: usize = 8;

/// A value and its derivatives.
#[derive(Clone, Copy, Debug)]
pub struct Dual {
    /// The value.
    pub v: f64,
    /// The derivatives.
    pub d: [f64; TANGENTS],
}

/// Derivatives, one after the other without a loop: with a loop in every operation it takes the compiler
/// minutes to unroll those of a step.
#[inline(always)]
fn tangents(of: impl Fn(usize) -> f64) -> [f64; TANGENTS] {
    [of(0), of(1), of(2), of(3), of(4), of(5), of(6), of(7)]
}

impl Dual {
    /// A value without derivatives.
    #[inline(always)]
    pub const fn constant(v: f64) -> Self {
        Self { v, d: [0.0; TANGENTS] }
    }

    /// A function of this number with value `v` and derivative `slope`.
    #[inline(always)]
    fn map(self, v: f64, slope: f64) -> Self {
        Self { v, d: tangents(|k| slope * self.d[k]) }
    }

    /// A function of two numbers with value `v`, and its derivatives over them.
    #[inline(always)]
    fn zip(self, other: Self, v: f64, [a, b]: [f64; 2]) -> Self {
        Self { v, d: tangents(|k| a * self.d[k] + b * other.d[k]) }
    }
}

impl From<Dual> for f64 {
    fn from(x: Dual) -> Self {
        x.v
    }
}

impl Add for Dual {
    type Output = Self;
    #[inline(always)]
    fn add(mut self, other: Self) -> Self {
        self += other;
        self
    }
}

impl AddAssign for Dual {
    #[inline(always)]
    fn add_assign(&mut self, other: Self) {
        *self = Self { v: self.v + other.v, d: tangents(|k| self.d[k] + other.d[k]) };
    }
}

impl Sub for Dual {
    type Output = Self;
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        self.zip(other, self.v - other.v, [1.0, -1.0])
    }
}

impl Mul for Dual {
    type Output = Self;
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        self.zip(other, self.v * other.v, [other.v, self.v])
    }
}

impl Div for Dual {
    type Output = Self;
    #[inline(always)]
    fn div(self, other: Self) -> Self {
        let (v, inverse) = (self.v / other.v, 1.0 / other.v);
        self.zip(other, v, [inverse, -v * inverse])
    }
}

impl Neg for Dual {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        self.map(-self.v, -1.0)
    }
}

impl Real for Dual {
    type Scalar = Self;
    type Mask = bool;
    type Each<T: Copy + Send + Sync> = [T; 1];
    const LANES: usize = 1;
    const HAS_TANGENTS: bool = true;
    /// Large enough that its derivatives, down to the power -5/2 of it, are finite.
    const TINY: f64 = 1e-80;
    const TRANSITION_ITERATIONS: usize = f64::TRANSITION_ITERATIONS;
    const EXP2_SERIES: &'static [f64] = f64::EXP2_SERIES;
    const SINE_TERMS: usize = f64::SINE_TERMS;
    const SINE_COSINE: [&'static [f64]; 2] = f64::SINE_COSINE;
    const ATAN_TERMS: usize = f64::ATAN_TERMS;
    const LN_SERIES: &'static [f64] = f64::LN_SERIES;
    const ROUNDER: f64 = f64::ROUNDER;
    const ROOT_RESIDUAL: f64 = f64::ROOT_RESIDUAL;

    #[inline(always)]
    fn each<T: Copy + Send + Sync>(of: T) -> [T; 1] {
        [of]
    }
    #[inline(always)]
    fn splat(value: f64) -> Self {
        Self::constant(value)
    }
    #[inline(always)]
    fn lanes(&self) -> &[Self] {
        std::slice::from_ref(self)
    }
    #[inline(always)]
    fn lanes_mut(&mut self) -> &mut [Self] {
        std::slice::from_mut(self)
    }
    #[inline(always)]
    fn set(&mut self, _: usize, value: f64) {
        self.v = value;
    }
    #[inline(always)]
    fn tangent(&self, k: usize) -> f64 {
        self.d[k]
    }
    #[inline(always)]
    fn add_tangent(&mut self, k: usize, by: f64) {
        self.d[k] += by;
    }
    #[inline(always)]
    fn without_tangents(self) -> Self {
        Self::constant(self.v)
    }
    #[inline(always)]
    fn fma(self, by: Self, plus: Self) -> Self {
        let d = tangents(|k| plus.d[k] + (by.v * self.d[k] + self.v * by.d[k]));
        Self { v: self.v.fma(by.v, plus.v), d }
    }
    #[inline(always)]
    fn lt(self, other: Self) -> bool {
        self.v < other.v
    }
    #[inline(always)]
    fn select(mask: bool, a: Self, b: Self) -> Self {
        if mask { a } else { b }
    }
    #[inline(always)]
    fn bitmask(mask: bool) -> u32 {
        u32::from(mask)
    }
    #[inline(always)]
    fn and(a: bool, b: bool) -> bool {
        a && b
    }
    #[inline(always)]
    fn not(mask: bool) -> bool {
        !mask
    }
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        if self.v < other.v { self } else { other }
    }
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        if self.v > other.v { self } else { other }
    }
    #[inline(always)]
    fn abs(self) -> Self {
        if self.v < 0.0 { -self } else { self }
    }
    #[inline(always)]
    fn times_sign(self, other: Self) -> Self {
        if other.v.is_sign_negative() { -self } else { self }
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        let root = self.v.sqrt();
        // A length that is 0 has the mean of its one-sided derivatives.
        self.map(root, if root > 0.0 { 0.5 / root } else { 0.0 })
    }
    #[inline(always)]
    fn recip(self) -> Self {
        let inverse = 1.0 / self.v;
        self.map(inverse, -inverse * inverse)
    }
    #[inline(always)]
    fn rsqrt(self) -> Self {
        let inverse = self.v.rsqrt();
        self.map(inverse, -0.5 * inverse * (inverse * inverse))
    }
    #[inline(always)]
    fn split_exp2(self) -> (Self, Self) {
        let (scale, rest) = self.v.split_exp2();
        (Self::constant(scale), self.map(rest, 1.0))
    }
    #[inline(always)]
    fn exponent_mantissa(self) -> (Self, Self) {
        let (exponent, mantissa) = self.v.exponent_mantissa();
        (Self::constant(exponent), self.map(mantissa, mantissa / self.v))
    }
    fn powf(self, exponent: Self) -> Self {
        let v = self.v.powf(exponent.v);
        self.zip(exponent, v, [exponent.v * v / self.v, v * f64::ln(self.v)])
    }
    fn ln(self) -> Self {
        self.map(Real::ln(self.v), 1.0 / self.v)
    }
    #[inline(always)]
    fn floor(self) -> Self {
        Self::constant(Real::floor(self.v))
    }
    fn atan(self) -> Self {
        self.map(Real::atan(self.v), 1.0 / (1.0 + self.v * self.v))
    }
    #[inline(always)]
    fn exp_negative(self) -> Self {
        let v = self.v.exp_negative();
        self.map(v, v)
    }
    fn sin_cos(self) -> (Self, Self) {
        let (sin, cos) = Real::sin_cos(self.v);
        (self.map(sin, cos), self.map(cos, -sin))
    }
    #[inline(always)]
    fn sin_cos_near(self) -> (Self, Self) {
        let (sin, cos) = self.v.sin_cos_near();
        (self.map(sin, cos), self.map(cos, -sin))
    }
    #[inline(always)]
    fn rough_sin_cos_near(self) -> (Self, Self) {
        let (sin, cos) = self.v.rough_sin_cos_near();
        (self.map(sin, cos), self.map(cos, -sin))
    }
    fn sin_cos_of(self, _: usize) -> [Self; 2] {
        let (sin, cos) = f64::sin_cos(self.v);
        [self.map(sin, cos), self.map(cos, -sin)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every function against the difference quotient of the same function, in two directions.
    #[test]
    fn derivatives_are_the_limits_of_difference_quotients() {
        let check = |name: &str, f: &dyn Fn(Dual, Dual) -> Dual| {
            for (x, y) in [(0.3, 0.7), (0.62, 0.11), (0.051, 0.9)] {
                let (mut a, mut b) = (Dual::constant(x), Dual::constant(y));
                (a.d[0], b.d[5]) = (1.0, 1.0);
                let found = f(a, b);
                let at = |dx: f64, dy: f64| f(Dual::constant(x + dx), Dual::constant(y + dy)).v;
                let h = 1e-3;
                // Richardson: the error is of the fourth order.
                let slope = |dx: f64, dy: f64| {
                    let over = |h: f64| (at(h * dx, h * dy) - at(-h * dx, -h * dy)) / (2.0 * h);
                    (16.0 * (4.0 * over(h / 2.0) - over(h)) / 3.0 - (4.0 * over(h) - over(2.0 * h)) / 3.0) / 15.0
                };
                for (k, wanted) in [(0, slope(1.0, 0.0)), (5, slope(0.0, 1.0)), (3, 0.0)] {
                    let error = (found.d[k] - wanted).abs() / (1.0 + wanted.abs());
                    assert!(error < 1e-9, "{name} at {x}, {y}: {} {wanted} over {k}", found.d[k]);
                }
            }
        };
        check("+", &|a, b| a + b);
        check("-", &|a, b| a - b);
        check("neg", &|a, b| -a * b);
        check("*", &|a, b| a * b);
        check("/", &|a, b| a / b);
        check("fma", &|a, b| a.fma(b, a));
        check("recip", &|a, b| (a + b).recip());
        check("sqrt", &|a, b| (a + b).sqrt());
        check("rsqrt", &|a, b| (a + b).rsqrt());
        check("powf", &|a, b| a.powf(b + b));
        check("ln", &|a, b| (a + b).ln());
        check("atan", &|a, b| (a * b).atan());
        check("exp", &|a, b| (-(a + b)).exp_negative());
        check("sin", &|a, b| (a - b).sin_cos().0);
        check("cos", &|a, b| (a - b).sin_cos().1);
        check("sin near", &|a, b| (a - b).sin_cos_near().0);
        check("cos near", &|a, b| (a - b).sin_cos_near().1);
        check("sin of", &|a, b| (a - b).sin_cos_of(0)[0]);
        check("cos of", &|a, b| (a - b).sin_cos_of(0)[1]);
        check("min", &|a, b| a.min(b) * b.max(a));
        check("abs", &|a, b| (a - b).abs() + (b - a).times_sign(a - b));
    }

    #[test]
    fn values_of_zero_have_finite_derivatives() {
        let mut zero = Dual::constant(0.0);
        zero.d[2] = 3.0;
        let length2 = zero * zero + Dual::constant(Dual::TINY);
        let inverse = length2.rsqrt();
        for x in [inverse, length2 * inverse, zero * inverse, inverse.recip()] {
            assert!(x.v.is_finite() && x.d.iter().all(|d| d.is_finite()), "{x:?}");
        }
    }
}

//! Sixteen numbers side by side, for sums that need roots and logarithms of every term.
//!
//! AVX-512 has estimates of roots and splits numbers into exponent and mantissa; elsewhere the compiler makes
//! vectors of arrays. The two differ in the last places.

use super::lanes::{Block, LANES, ln, rsqrt, rsqrt12};

/// A block in registers. Arguments go by value, for the compiler to keep them there.
pub trait Vector: Copy {
    fn splat(x: f64) -> Self;
    fn load(x: &Block) -> Self;
    fn store(self) -> Block;
    fn plus(self, other: Self) -> Self;
    fn minus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
    /// `self * by + plus`, fused.
    fn fma(self, by: Self, plus: Self) -> Self;
    fn abs(self) -> Self;
    fn max(self, other: Self) -> Self;
    /// `self` with its sign turned where `other` is negative.
    fn signed(self, other: Self) -> Self;
    /// `w/sqrt(x)` to 1e-12 for normal `x` > 0.
    fn over_root(w: f64, x: Self) -> Self;
    /// `sqrt(x)` to 5e-16 for normal `x` > 0.
    fn root(x: Self) -> Self;
    /// `ln(x)` to 2e-15 of 1 or itself for normal `x` > 0.
    fn ln(x: Self) -> Self;
}

/// Arrays, as the compiler vectorises them.
#[derive(Clone, Copy, Debug)]
pub struct Portable(Block);

/// A loop over the lanes: closures would not be compiled for the caller's instructions.
macro_rules! each {
    ($lane:ident => $term:expr) => {{
        let mut out = [0.0; LANES];
        for $lane in 0..LANES {
            out[$lane] = $term;
        }
        Self(out)
    }};
}

impl Vector for Portable {
    #[inline(always)]
    fn splat(x: f64) -> Self {
        Self([x; LANES])
    }
    #[inline(always)]
    fn load(x: &Block) -> Self {
        Self(*x)
    }
    #[inline(always)]
    fn store(self) -> Block {
        self.0
    }
    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        each!(i => self.0[i] + other.0[i])
    }
    #[inline(always)]
    fn minus(self, other: Self) -> Self {
        each!(i => self.0[i] - other.0[i])
    }
    #[inline(always)]
    fn times(self, other: Self) -> Self {
        each!(i => self.0[i] * other.0[i])
    }
    #[inline(always)]
    fn fma(self, by: Self, plus: Self) -> Self {
        each!(i => self.0[i].mul_add(by.0[i], plus.0[i]))
    }
    #[inline(always)]
    fn abs(self) -> Self {
        each!(i => self.0[i].abs())
    }
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        each!(i => self.0[i].max(other.0[i]))
    }
    #[inline(always)]
    fn signed(self, other: Self) -> Self {
        each!(i => self.0[i] * 1f64.copysign(other.0[i]))
    }
    #[inline(always)]
    fn over_root(w: f64, x: Self) -> Self {
        each!(i => w * rsqrt12(x.0[i]))
    }
    #[inline(always)]
    fn root(x: Self) -> Self {
        each!(i => x.0[i] * rsqrt(x.0[i]))
    }
    #[inline(always)]
    fn ln(x: Self) -> Self {
        each!(i => ln(x.0[i]))
    }
}

#[cfg(test)]
mod tests {
    use super::super::lanes::vectorised;
    use super::*;

    vectorised! {
        /// `3/sqrt(x)`, `sqrt(x)`, `ln(x)` and `x` with the sign of `ln(x)`.
        fn functions<V>(x: &Block) -> [Block; 4] {
            let v = V::load(x);
            [V::over_root(3.0, v).store(), V::root(v).store(), V::ln(v).store(), v.signed(V::ln(v)).store()]
        }
    }

    /// Largest errors of `3/sqrt(x)` and `sqrt(x)`, relative, and of `ln(x)`, over 1 or itself.
    fn worst(functions: impl Fn(&Block) -> [Block; 4]) -> [f64; 3] {
        let mut worst = [0.0f64; 3];
        for k in 0..8000 {
            let x = std::array::from_fn(|i| 1.7f64.powi(k % 60 - 30) * (0.3 + f64::from(k) * 3e-4 + i as f64 * 1e-5));
            let [over, root, ln, signed] = functions(&x);
            for (i, x) in x.iter().enumerate() {
                let errors = [
                    over[i] * x.sqrt() / 3.0 - 1.0,
                    root[i] / x.sqrt() - 1.0,
                    (ln[i] - x.ln()) / x.ln().abs().max(1.0),
                ];
                worst.iter_mut().zip(errors).for_each(|(w, e)| *w = w.max(e.abs()));
                assert_eq!(signed[i], x.copysign(ln[i]));
            }
        }
        worst
    }

    #[test]
    fn roots_and_logarithms_are_those_of_the_standard_library() {
        let portable = |x: &Block| {
            let v = Portable::load(x);
            let ln = Portable::ln(v);
            [Portable::over_root(3.0, v).store(), Portable::root(v).store(), ln.store(), v.signed(ln).store()]
        };
        for [over, root, ln] in [worst(portable), worst(functions)] {
            assert!(over < 1e-12 && root < 5e-16 && ln < 2e-15, "{over:e}, {root:e}, {ln:e}");
        }
    }
}

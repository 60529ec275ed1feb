//! The number types of all arithmetic over cells and in limit surfaces: one trait ([`real::Real`]) for a
//! single number and for the lanes of a vector register, the choice of the instructions ([`simd`]), and
//! blocks of numbers for plain loops ([`block`]). Intrinsics, and the `unsafe` that they need, are in this
//! module alone.

pub mod block;
pub mod lanes;
pub mod prefetch;
pub mod real;
pub mod simd;
#[cfg(target_arch = "x86_64")]
pub mod x86;

#[cfg(test)]
mod tests;

//! Numbers of the arithmetic, one or several side by side: what the cell's equations and the sums over cells
//! are generic over; and blocks of numbers for plain loops. Intrinsics, and the `unsafe` that they take, are
//! in this module alone.

pub mod block;
pub mod lanes;
pub mod real;
pub mod simd;
#[cfg(target_arch = "x86_64")]
pub(crate) mod x86;

#[cfg(test)]
mod tests;

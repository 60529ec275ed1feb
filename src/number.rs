//! Numbers of the arithmetic, one or several side by side: what the cell's equations and the sums over cells
//! are generic over.

pub mod real;
pub mod simd;
#[cfg(target_arch = "x86_64")]
pub(crate) mod x86;

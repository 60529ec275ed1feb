//! The number types of all arithmetic over cells and in limit surfaces: one trait ([`real::Real`]) for a
//! single number and for the lanes of a vector register, the choice of the instructions ([`simd`]), and
//! blocks of numbers for plain loops ([`block`]). Intrinsics, and the `unsafe` that they need, are in this
//! module alone.
//!
//! The number types are single `f64` and `f32`, registers of AVX-512 and AVX2 (`x86`), which are chosen at
//! run time, and where these are not there those of [`baseline`]: registers of SSE2 and of WebAssembly
//! (`register`), or small arrays that the compiler vectorises on NEON ([`lanes`]); and numbers that carry
//! derivatives along ([`dual`]). `copies!` in [`simd`] compiles a function once for each kind of
//! instructions, and `widest!` chooses a copy. `docs/benchmarks.md` says why no crate for vectors is used.

pub mod baseline;
pub mod block;
pub mod dual;
pub mod lanes;
pub mod prefetch;
pub mod real;
#[cfg(any(target_arch = "x86_64", all(target_arch = "wasm32", target_feature = "simd128")))]
pub mod register;
pub mod simd;
#[cfg(target_arch = "x86_64")]
pub mod x86;

#[cfg(test)]
mod tests;

//! The lanes of the instructions that every processor has for which the program is compiled.

#[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
mod types {
    use crate::number::lanes::Lanes;

    /// Lanes of `f32`.
    pub type F32 = Lanes<f32>;
    /// Lanes of `f64`.
    pub type F64 = Lanes<f64>;
}

#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
mod types {
    /// Lanes of `f32`.
    pub type F32 = crate::number::wasm::SimdF32;
    /// Lanes of `f64`.
    pub type F64 = crate::number::wasm::SimdF64;
}

pub use types::{F32, F64};

//! The library on every engine: laws, limit surfaces, sequences of maps, live batches and derivatives.

#[path = "../common/mod.rs"]
mod common;

#[cfg(feature = "gpu")]
mod creep;
#[cfg(feature = "gpu")]
mod dahl;
mod damper;
#[cfg(feature = "gpu")]
mod frames;
#[cfg(feature = "gpu")]
mod gpu_limit_surface;
mod lanes;
#[cfg(feature = "gpu")]
mod layer;
#[cfg(feature = "gpu")]
mod limit_surface;
#[cfg(feature = "gpu")]
mod live;
mod margin_gradients;
#[cfg(feature = "gpu")]
mod point;
#[cfg(feature = "gpu")]
mod properties;
mod sensitivities;
#[cfg(feature = "gpu")]
mod sequence;
#[cfg(feature = "gpu")]
mod spots;
#[cfg(feature = "gpu")]
mod twins;

//! Contacts without bristles: friction of rigid bodies as Coulomb's law states it.
//!
//! Symbols and equations are those of `docs/model.md`; each submodule names its section.

pub mod cone;
#[cfg(feature = "gpu")]
pub mod gpu;
mod island;
pub mod lcp;
pub mod stability;
pub mod world;

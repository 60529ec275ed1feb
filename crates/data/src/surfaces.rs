//! Limit surfaces of patches in files: computes tables and margins of one patch or a sweep, and writes NPZ
//! files.

mod arrays;
mod file;
mod gradients;
mod margins;
pub(crate) mod parts;
mod sweep;
mod torsion;
mod wrenches;

pub use arrays::Array;
pub use file::{load, publish, save};
pub use gradients::Gradients;
pub use margins::{At, Loads, MarginError, Margins, OfPatches, PressedPatch, Twists, margins, per_patch};
pub use sweep::{Case, Sweep, cases, check, combinations, expand, places};
pub use torsion::{RuleError, Torsion};
pub use wrenches::Wrenches;

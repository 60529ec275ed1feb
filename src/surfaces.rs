//! Limit surfaces of files: one patch or a sweep of them, to tables, an NPZ file and a picture.

mod file;
mod plot;
mod sweep;

pub use file::{publish, save};
pub use plot::svg;
pub(crate) use plot::{outline, solid};
pub use sweep::{Case, Sweep, cases, expand};

//! Limit surfaces of files: one patch or a sweep of them, to tables, margins, NPZ files and a picture.

mod arrays;
mod file;
mod margins;
mod plot;
mod sweep;

pub use arrays::Array;
pub use file::{load, publish, save};
pub use margins::{At, Loads, MarginError, Margins, Pressed, margins, per_patch};
pub use plot::svg;
pub(crate) use plot::{outline, solid};
pub(crate) use sweep::places;
pub use sweep::{Case, Sweep, cases, expand};

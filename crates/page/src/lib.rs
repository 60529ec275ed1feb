//! Pages that open from disk: charts as SVG, documents as HTML. This crate does not depend on their
//! contents.
//!
//! Every chart has the colour of its page: text and axes are `currentColor`, the background is none, and the
//! other colours can be distinguished on white and on black. Charts are small enough that a phone shows one
//! per row at full size.

mod bars;
mod chart;
mod document;
mod label;
mod map;
mod matrix;
mod number;
pub mod palette;
mod picture;
mod theme;
mod thin;

pub use bars::{Bar, bars};
pub use chart::{Chart, Line, Scale};
pub use document::{Document, Part, Table, csv};
pub use map::{arrows, heat, heat_marked, phases};
pub use matrix::matrix;
pub use number::short;
pub use picture::{Key, Picture, file_names, files};

//! Friction identified from recordings: which values of a scenario's numbers explain what sensors measured,
//! how well each is known, and what the recording cannot tell.

pub mod along;
pub mod compare;
mod drawn;
pub mod file;
mod finish;
pub mod fit;
pub mod identify;
pub mod interval;
mod known;
pub mod model;
pub mod next;
pub mod noise;
pub mod page;
pub mod posterior;
pub mod recording;
pub mod repeated;
pub mod report;
pub mod residuals;
pub mod run;
mod search;
mod sensor;
pub mod trust_region;
pub mod unknown;

pub use file::FitFile;

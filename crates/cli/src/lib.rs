//! The program `bristle`.

pub mod cli;
pub mod report;

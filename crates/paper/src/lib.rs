//! The figures and tables of the papers, reproduced, and the pages and pictures that the program makes.

pub mod reproduce;
pub mod run_picture;
pub mod stability_picture;
pub mod surface_picture;

pub use bristle_page as page;

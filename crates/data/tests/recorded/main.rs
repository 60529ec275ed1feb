//! What runs record.

mod patches;
mod shear;
mod slip;
mod table_file;

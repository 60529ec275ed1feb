//! Runs on disk: rollouts and their datasets, shards and stores; tables and margins of limit surfaces.

pub mod disk;
pub mod observe;
pub mod rollout;
pub mod statistics;
pub mod surfaces;
pub mod table_file;

//! The equations and the step of the engines (`docs/model.md`, sections 5 and 6), generic over the number
//! type: the laws of a bristle ([`laws`]), the models of a patch ([`models`]) and the step ([`step`]) of a
//! contact in every lane ([`lanes`]). Files with a twin in `shaders` have the same functions in the same
//! order, with the same names.

pub mod bristles;
pub mod cell;
pub mod commit;
pub mod constants;
mod directed;
pub mod elastic_cells;
pub mod friction;
pub mod groups;
pub mod inputs;
pub mod lane_solver;
pub mod lanes;
pub mod laws;
pub mod linalg;
pub mod models;
pub mod moving_surface;
mod parts;
pub mod point;
pub mod respond;
pub mod rigid_stick;
pub mod runs;
#[cfg_attr(target_family = "wasm", allow(dead_code, unused_imports, reason = "`Cpu::sensitivities` is not there"))]
pub mod sensitivity;
pub mod shear;
pub mod state;
pub mod step;
pub mod transform;
pub mod transition;
pub mod transition_cells;

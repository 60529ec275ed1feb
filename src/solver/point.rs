//! Point contacts in fixed steps (`docs/model.md`, section 13): the laws ([`laws`]), the friction curve that
//! they share ([`curve`]), the balance of a body with elements ([`balance`]), and the lanes ([`lanes`]).

pub mod balance;
pub mod collocation;
pub mod curve;
pub mod lanes;
pub mod laws;

//! Friction of rigid contacts.

pub mod point;

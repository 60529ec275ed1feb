//! Contacts without bristles: friction of rigid bodies as Coulomb's law states it.

pub mod cone;
pub mod stability;

//! Lists all shaders of the engine except those of rollouts. `cargo xtask kernels` compiles them for its
//! table.

use super::shader::surface_source;
use crate::limit_surface::Rule;

/// A shader with one of its entry points.
#[derive(Clone, Debug)]
pub struct Program {
    /// What it computes.
    pub name: String,
    /// Its text.
    pub text: String,
    /// The entry point.
    pub entry: &'static str,
    /// Its pipeline constants.
    pub constants: Vec<(&'static str, f64)>,
}

impl Program {
    /// Limit surfaces by each rule.
    #[must_use]
    pub fn all() -> Vec<Self> {
        let surface = |rule: Rule| Self {
            name: format!("limit surfaces by {}", rule.name()),
            text: surface_source(),
            entry: "wrenches",
            constants: vec![("rule", f64::from(rule as u32))],
        };
        Rule::ALL.iter().copied().map(surface).collect()
    }
}

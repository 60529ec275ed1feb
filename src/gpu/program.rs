//! All shaders of the engine beside those of rollouts, for who wants to know what a compiler makes of them.

use super::cone::cone_source;
use super::shader::{blocks_source, surface_source};
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
    /// Limit surfaces by each rule, margins of cones and projections onto them, and contact problems.
    #[must_use]
    pub fn all() -> Vec<Self> {
        let surface = |rule: Rule| Self {
            name: format!("limit surfaces by {}", rule.name()),
            text: surface_source(),
            entry: "wrenches",
            constants: vec![("rule", f64::from(rule as u32))],
        };
        let cone = |(what, projects)| Self {
            name: format!("{what} of friction cones"),
            text: cone_source(),
            entry: "answer",
            constants: vec![("projects", projects)],
        };
        let blocks =
            Self { name: "contact problems".to_owned(), text: blocks_source(), entry: "run", constants: Vec::new() };
        let mut all: Vec<Self> = Rule::ALL.iter().copied().map(surface).collect();
        all.extend([("margins", 0.0), ("projections", 1.0)].map(cone));
        all.push(blocks);
        all
    }
}

//! The three rules by which cells are integrated.

/// How the pressure inside a cell is taken when the Coulomb wrench is summed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Rule {
    /// All of a cell's force at its centre, `docs/model.md` (89). A cell at rest, slower than 1e-12 of the
    /// patch's scale, contributes nothing, so the surface steps as the centre of rotation crosses a centre.
    Points,
    /// Eq. (23) of the paper, `docs/model.md` (90): with the centre of rotation over the grid, the bilinear
    /// mean of the `points` wrenches for rotations about the four grid nodes around it; the `points` sum
    /// elsewhere. The public code of the paper truncates where it must round down; this rounds down.
    Bilinear,
    /// Exact integrals over rectangular cells of constant pressure, `docs/model.md` (93): no steps, convex,
    /// `|h| <= 1`.
    #[default]
    Cells,
}

impl Rule {
    /// All rules.
    pub const ALL: [Self; 3] = [Self::Points, Self::Bilinear, Self::Cells];

    /// The rule's name in files and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Points => "points",
            Self::Bilinear => "bilinear",
            Self::Cells => "cells",
        }
    }
}

impl std::str::FromStr for Rule {
    type Err = crate::error::ParameterError;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|rule| rule.name() == name)
            .ok_or_else(|| crate::error::ParameterError::new("rule", name, "points, bilinear or cells"))
    }
}

//! What a row of a benchmark measures.

use bristle::friction::Law;

/// The work of a row, and the law of its contacts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Step(Law),
    Reduced(Law),
    Loop(Law),
    Surface,
    Basis,
}

impl Kind {
    pub(super) const fn work(self) -> Work {
        match self {
            Self::Step(_) => Work::Step,
            Self::Reduced(_) => Work::Reduced,
            Self::Loop(_) => Work::Loop,
            Self::Surface => Work::Surface,
            Self::Basis => Work::Basis,
        }
    }
}

/// The kinds of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "terminal", derive(clap::ValueEnum))]
pub enum Work {
    /// A bristle in every cell.
    Step,
    /// One bristle on the limit surface.
    Reduced,
    /// A bristle in every cell, in closed loop: every 2 ms a new normal force is set and all contacts are
    /// read.
    Loop,
    /// Tables of limit surfaces.
    Surface,
    /// Tables about the grid's centre, from factors that all maps share; on the CPU.
    Basis,
}

impl Work {
    /// The name on the command line and in reports.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Step => "step",
            Self::Reduced => "reduced",
            Self::Loop => "loop",
            Self::Surface => "surface",
            Self::Basis => "basis",
        }
    }
}

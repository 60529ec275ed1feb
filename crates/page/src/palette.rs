//! Colours. A law or model has the same colour on every page; each colour has a contrast of at least 3 on
//! white and on near black.

/// The distributed model: one bristle a cell.
pub const GRID: &str = "#3d85d9";
/// The reduced model on the limit surface.
pub const SURFACE: &str = "#e0701a";
/// The reduced model on the ellipsoid.
pub const ELLIPSOID: &str = "#2b9a5e";
/// The reduced model as published, where it differs.
pub const PUBLISHED: &str = "#a06fdc";
/// Results of other authors or of another method.
pub const OTHER: &str = "#868c96";
/// Failures.
pub const BAD: &str = "#d8484e";
/// Text and axes.
pub const TEXT: &str = "currentColor";

/// One after the other, for things without a colour of their own.
pub const CYCLE: [&str; 6] = [GRID, SURFACE, ELLIPSOID, PUBLISHED, BAD, OTHER];

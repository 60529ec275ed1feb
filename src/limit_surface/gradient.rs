//! Exact derivatives of margins and of wrenches by the load or twist, the pressure map, friction and normal
//! force (`docs/model.md`, section 7.5).
//!
//! Everything follows from the friction of every cell for one twist, without another search: [`margin`] for
//! slip margins, [`wrench`] for steady sliding.

mod margin;
mod wrench;

pub use margin::MarginGradient;
pub use wrench::WrenchGradient;

use super::quadrature::{OneCell, Rule};
use super::surface::Surface;
use crate::error::{ParameterError, check};
use crate::planar::{Twist, Wrench};

/// Where loads act and twists are told, in the patch frame.
///
/// The centre of pressure moves with the pressure. So the derivative by a cell's pressure says for `Cop` what
/// happens to a load that moves along, and for `Fixed` what happens to one that stays.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum ReferencePoint {
    /// The centre of pressure of the patch, wherever that is: as for [`Surface::margin`].
    #[default]
    Cop,
    /// A point \[m\] of the patch frame; `[0.0, 0.0]` is the origin of the patch, its grid's centre.
    Fixed([f64; 2]),
}

impl ReferencePoint {
    /// The place \[m\] from the centre of pressure `cop` \[m\].
    fn seen_from(self, cop: [f64; 2]) -> Result<[f64; 2], ParameterError> {
        let Self::Fixed(point) = self else { return Ok([0.0; 2]) };
        for (name, x) in ["at.x", "at.y"].iter().zip(point) {
            check(name, x, "a finite place [m]", true)?;
        }
        Ok([point[0] - cop[0], point[1] - cop[1]])
    }
}

/// The cells of a surface, each with a force of one.
struct Cells<'a> {
    surface: &'a Surface,
    cells: OneCell,
}

impl<'a> Cells<'a> {
    fn new(surface: &'a Surface) -> Result<Self, ParameterError> {
        if surface.rule() == Rule::Bilinear {
            return Err(ParameterError::new("rule", "bilinear", "cells or points"));
        }
        if surface.is_mapped() {
            let accepted = "none: there are no derivatives of patches with a friction map";
            return Err(ParameterError::new("friction.map", "given", accepted));
        }
        if surface.axes().is_some() {
            let accepted = "none: there are no derivatives of patches with friction by direction";
            return Err(ParameterError::new("friction.mu", "given", accepted));
        }
        if !surface.patch().parts().is_empty() {
            let accepted = "none: there are no derivatives of several patches";
            return Err(ParameterError::new("patches", "given", accepted));
        }
        Ok(Self { surface, cells: OneCell::new(surface.patch().grid(), surface.rule()) })
    }

    /// Unit Coulomb wrenches [-, -, m] of all cells about the centre of pressure, for a twist there that is
    /// not zero.
    fn wrenches(&self, twist: Twist) -> impl Iterator<Item = Wrench> {
        let unit = self.cells.unit;
        let cop = self.surface.patch().cop();
        let [vx, vy, w] = twist.at([-cop[0], -cop[1]]).to_array();
        let at_origin = self.cells.wrenches_of([vx, vy, w * unit]);
        at_origin.into_iter().map(move |[fx, fy, tau]| Wrench::new(fx, fy, tau * unit).about(cop))
    }
}

fn negative([x, y]: [f64; 2]) -> [f64; 2] {
    [-x, -y]
}

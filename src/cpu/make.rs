//! The choice of the solvers for a pack.

use super::divide::{has_few_bristles, most_cells};
use super::pack::{LanePack, Pack};
use crate::contact::{Contact, Model};
use crate::engine::Stepping;
use crate::number::real::Real;
use crate::solver::lanes::Solver;
use crate::solver::models::grid::Grid;
use crate::solver::models::grids::Grids;
use crate::solver::models::reduced::Reduced;
use crate::solver::point::lanes::Points;

/// Makes a pack for `count` contacts like `contact`.
pub type Maker = fn(contact: &Contact, stepping: Stepping, count: usize) -> Box<dyn Pack>;

/// A pack for `count` contacts like `contact`. The cells of a large grid are in numbers `C` and its body in
/// double precision; contacts with few bristles are in numbers `C` as a whole.
pub fn make<C: Real + 'static>(contact: &Contact, stepping: Stepping, count: usize) -> Box<dyn Pack> {
    let tolerance = stepping.tolerance;
    if let Model::Point(model) = &contact.model {
        Box::new(LanePack::new(|| Points::<C>::new(model, &contact.friction), stepping, count))
    } else if !contact.model.is_grid() {
        Box::new(LanePack::new(|| Solver::<C, _>::new(Reduced::new(contact), tolerance), stepping, count))
    } else if C::LANES > 1 && has_few_bristles(contact) {
        let grids = || Grids::new(most_cells(contact), &contact.friction);
        Box::new(LanePack::new(|| Solver::<C, _>::new(grids(), tolerance), stepping, count))
    } else {
        Box::new(LanePack::new(|| Solver::new(Grid::<C>::empty(), tolerance), stepping, count))
    }
}

//! Two differences of the public program. It finds the cell of the centre of rotation in rule (23) by
//! truncation, so that a centre up to a cell left of the grid, or below it, counts as in the first cells and
//! is extrapolated from them. And it uses the same twist for grids of all sizes, at the centre of pressure of
//! the finest grid.

use super::setup::PROFILE_BREAKS;
use bristle::body::{Body, TwistPoint};
use bristle::contact::{Contact, Form, Model};
use bristle::error::ParameterError;
pub use bristle::limit_surface::{Rule, Surface, Symmetry, Table};
use bristle::planar::{Twist, Wrench};
use bristle::schedule::Signal;

/// The contact with the reduced model on such a table of resolution `n_ls`, as published.
pub(super) fn with_table(contact: Contact, n_ls: usize) -> Contact {
    let table = table(&contact, n_ls);
    Contact { model: Model::LimitSurface(std::sync::Arc::new(table), Form::Published), ..contact }
}

/// The contact under the twist that has its profile, Fig. 5, at `cop` [m] instead of at its own centre of
/// pressure.
pub(super) fn driven_at(mut contact: Contact, cop: [f64; 2]) -> Result<Contact, ParameterError> {
    let Body::Prescribed { twist: [vx, vy, w], at } = &mut contact.body else {
        unreachable!("a profile is that of a prescribed twist")
    };
    // v_origin = v_cop - w z^ x c, linear between the break points of the three.
    let moved = |v: &Signal, arm: f64| {
        let points = PROFILE_BREAKS.map(|t| (t, v.value(t) + arm * w.value(t)));
        Signal::linear(&points)
    };
    (*vx, *vy) = (moved(vx, cop[1])?, moved(vy, -cop[0])?);
    *at = TwistPoint::Origin;
    Ok(contact)
}

fn table(contact: &Contact, n_ls: usize) -> Table {
    let patch = &contact.patch;
    let (points, r) = (Surface::new(patch, Rule::Points), Surface::new(patch, Rule::Bilinear).radius());
    let (grid, cop) = (patch.grid(), patch.cop());
    let size = [grid.nx, grid.ny].map(|n| n as f64);
    let width = [grid.dx, grid.dy];
    // Rotation with the sign of `w` about a crossing of grid lines.
    let crossing = |at: [f64; 2], w: f64| {
        let [x, y] = [0, 1].map(|c| (at[c] - 0.5 * size[c]) * width[c] - cop[c]);
        points.coulomb(Twist::new(w.signum() * y, -w.signum() * x, w.signum()))
    };
    let wrench = |[vx, vy, w]: [f64; 3]| {
        let place = [0, 1].map(|c| ([-vy, vx][c] * r / w + cop[c]) / width[c] + 0.5 * size[c]);
        let first = place.map(f64::trunc);
        if w == 0.0 || !(0..2).all(|c| (0.0..size[c]).contains(&first[c])) {
            return points.coulomb(Twist::new(vx * r, vy * r, w));
        }
        let [a, b] = [0, 1].map(|c| place[c] - first[c]);
        let mut sum = Wrench::default();
        for (dx, dy, share) in
            [(0.0, 0.0, (1.0 - a) * (1.0 - b)), (1.0, 0.0, a * (1.0 - b)), (0.0, 1.0, (1.0 - a) * b), (1.0, 1.0, a * b)]
        {
            sum = sum + crossing([first[0] + dx, first[1] + dy], w) * share;
        }
        sum
    };
    let normal = |w: Wrench| [w.fx, w.fy, w.tau / r];
    // Truncation knows no mirrors.
    let (all, images) = Symmetry::default().images(n_ls);
    let wrenches: Vec<[f64; 3]> = Table::motions(n_ls, &all).map(|v| normal(wrench(v))).collect();
    Table::of_motions(patch, Rule::Bilinear, n_ls, r, false, &images, &wrenches)
}

#[cfg(test)]
mod tests {
    use super::super::setup::Setup;
    use super::*;

    #[test]
    fn only_nodes_beside_the_grid_differ_from_the_rule() {
        // Counts of an independent program.
        for (shape, wrong) in [("circle", 23), ("square", 23), ("line-gradient", 7)] {
            let contact = Setup::profile(shape).published().contact().unwrap();
            let (rule, found) = (Table::new(&contact.patch, Rule::Bilinear, 20).unwrap(), table(&contact, 20));
            let off = |(a, b): (&[f64; 3], &[f64; 3])| (0..3).map(|k| (a[k] - b[k]).abs()).fold(0.0, f64::max);
            let differ = rule.nodes().iter().zip(found.nodes()).map(off).filter(|e| *e > 1e-9).count();
            assert_eq!(differ, wrong, "{shape}");
        }
    }
}

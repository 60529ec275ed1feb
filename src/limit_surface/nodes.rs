//! The nodes of a table: the wrenches of rotations about centres on rings around the centre of pressure.

use std::f64::consts::PI;

use super::quadrature::Rotations;
use super::symmetry::{Image, Symmetry};
use crate::error::ParameterError;
use crate::planar::Twist;

/// The finest table.
pub const MAX_N_LS: usize = 1000;

/// Least number of centres of rotation for which a multipole expansion is made; for fewer, sums over the
/// cells are faster.
const LEAST_FOR_MULTIPOLE: usize = 100;

/// The normalised wrenches of a table's nodes, `[theta][phi]`.
pub fn nodes(surface: &impl Rotations, angles: &Angles) -> Vec<[f64; 3]> {
    let (n_ls, radius) = (angles.n_ls(), surface.radius());
    let normal = |[fx, fy, tau]: [f64; 3]| [fx, fy, if radius > 0.0 { tau / radius } else { 0.0 }];
    let mut h = vec![[0.0; 3]; (4 * n_ls + 1) * (n_ls + 1)];
    let (asked, images) = Symmetry::of(surface.isotropic(), surface.rule()).images(n_ls);
    let asked: Vec<[f64; 2]> = asked.into_iter().map(|i| angles.directions[i]).collect();
    let rings = rings(surface, &asked, &angles.tangents);
    for (j, ring) in (1..).zip(rings.chunks(asked.len())) {
        set_ring(&mut h[j..], n_ls, images.iter().map(|image: &Image| normal(image.wrench(ring[image.of]))));
    }
    if radius > 0.0 {
        set_ring(&mut h[n_ls..], n_ls, angles.directions.iter().map(|[cos, sin]| [-cos, -sin, 0.0]));
    } else {
        set_without_extent(&mut h, &angles.directions);
    }
    // phi = 0 is one twist, and theta = 2 pi repeats theta = 0.
    let spin = normal(surface.spin());
    (0..4 * n_ls).for_each(|i| h[i * (n_ls + 1)] = spin);
    h.copy_within(..=n_ls, 4 * n_ls * (n_ls + 1));
    h
}

/// Wrenches of the rotations about centres on all rings between pure rotation and pure translation, for the
/// directions `asked` of the velocity at the centre of pressure. Those of near rings are sums over the cells,
/// those of far rings come from a multipole expansion if there are enough of them.
fn rings(surface: &impl Rotations, asked: &[[f64; 2]], tangents: &[f64]) -> Vec<[f64; 3]> {
    let n_ls = tangents.len() - 1;
    let distances: Vec<f64> = tangents.iter().map(|tangent| surface.radius() * tangent).collect();
    let pays = |j: usize| (n_ls - j) * asked.len() >= LEAST_FOR_MULTIPOLE;
    let expansion = (1..n_ls).find_map(|j| if pays(j) { Some((j, surface.multipole(distances[j])?)) } else { None });
    let first = expansion.as_ref().map_or(n_ls, |(j, _)| *j);
    let centre = |d: f64, [cos, sin]: [f64; 2]| [-sin * d, cos * d];
    let mut centres = Vec::with_capacity((first - 1) * asked.len());
    for d in &distances[1..first] {
        centres.extend(asked.iter().map(|direction| centre(*d, *direction)));
    }
    // The expansion approximates the sum over the cells. With the centre over the grid the `bilinear` rule
    // has another value, which is computed by the rule itself.
    let (near, mut over_grid) = (centres.len(), Vec::new());
    for (j, d) in (first..n_ls).zip(&distances[first..]) {
        for (i, direction) in asked.iter().enumerate() {
            let c = centre(*d, *direction);
            if surface.is_mean_of_nodes(c) {
                over_grid.push((j - 1) * asked.len() + i);
                centres.push(c);
            }
        }
    }
    let mut rings = surface.rotations(&centres);
    let means = rings.split_off(near);
    if let Some((_, (expansion, unit))) = &expansion {
        for d in &distances[first..n_ls] {
            rings.extend(expansion.ring(d / unit, asked).into_iter().map(|[fx, fy, tau]| [fx, fy, tau * unit]));
        }
    }
    over_grid.into_iter().zip(means).for_each(|(k, mean)| rings[k] = mean);
    rings
}

/// Sets the nodes of a patch without extent, whose force opposes the velocity and does not depend on the
/// rotation.
pub fn set_without_extent(h: &mut [[f64; 3]], directions: &[[f64; 2]]) {
    let width = directions.len() / 4 + 1;
    for (row, [cos, sin]) in h.chunks_exact_mut(width).zip(directions) {
        row[1..].fill([-cos, -sin, 0.0]);
    }
}

/// Sets the nodes of one `phi`, of which `nodes` begin with that of `theta` = 0.
fn set_ring(nodes: &mut [[f64; 3]], n_ls: usize, ring: impl Iterator<Item = [f64; 3]>) {
    nodes.iter_mut().step_by(n_ls + 1).zip(ring).for_each(|(node, wrench)| *node = wrench);
}

/// Sines and cosines of a table's nodes.
#[derive(Clone, Debug)]
pub struct Angles {
    /// `(cos theta, sin theta)`, below a full turn.
    pub directions: Vec<[f64; 2]>,
    /// `tan phi`: distances of the centres of rotation over the radius.
    pub tangents: Vec<f64>,
}

impl Angles {
    pub fn new(n_ls: usize) -> Result<Self, ParameterError> {
        if n_ls == 0 || n_ls > MAX_N_LS {
            return Err(ParameterError::new("n_ls", n_ls, format!("1 to {MAX_N_LS}")));
        }
        let tangents = (0..=n_ls).map(|j| twist(n_ls, 1.0, 0, j)).map(|v| v.vx / v.w).collect();
        Ok(Self { directions: directions(n_ls), tangents })
    }

    pub const fn n_ls(&self) -> usize {
        self.tangents.len() - 1
    }
}

/// `(cos theta, sin theta)` of the nodes, below a full turn.
pub fn directions(n_ls: usize) -> Vec<[f64; 2]> {
    (0..4 * n_ls).map(|i| twist(n_ls, 1.0, i, n_ls)).map(|v| [v.vx, v.vy]).collect()
}

/// The twist of node `(i, j)` at the table's centre, of a patch with that torsional radius, `docs/model.md`
/// (101).
pub fn twist(n_ls: usize, radius: f64, i: usize, j: usize) -> Twist {
    // Sines and cosines are exact at whole quarter turns, so that pure translation has no rotation by
    // rounding.
    let angle = |k: usize| -> (f64, f64) {
        let (quarter, rest) = (k / n_ls % 4, k % n_ls);
        let (sin, cos) = (rest as f64 * PI / (2 * n_ls) as f64).sin_cos();
        [(sin, cos), (cos, -sin), (-sin, -cos), (-cos, sin)][quarter]
    };
    let ((sin, cos), (sin_phi, cos_phi)) = (angle(i), angle(j));
    Twist::new(radius * cos * sin_phi, radius * sin * sin_phi, cos_phi)
}

//! How the normal force divides among several patches of a body that is pushed above the surface,
//! `docs/model.md` (20m). Twin of `balance_shares`: `shaders/parts.wgsl`.

use nalgebra::{Matrix3, Vector3};

use super::Contact;
use crate::body::Body;
use crate::error::{ParameterError, check};
use crate::parameter::PUSH_HEIGHT;
use crate::patch::MAX_PATCHES;
use crate::planar::Wrench;
use crate::solver::constants::LEAST_DETERMINANT;

/// Heights of a push between which they count, in units of the largest distance of a patch from the middle.
const LEAST_HEIGHT: f64 = 1e-20;
/// See [`LEAST_HEIGHT`].
const MOST_HEIGHT: f64 = 1e6;

/// Where several patches press on the surface, and what they carry at rest.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Supports {
    count: usize,
    /// Their shares of the normal force at rest [-].
    rest: [f64; MAX_PATCHES],
    /// One, and their centres of pressure from that of all at rest, in units of the largest distance.
    rows: [Vector3<f64>; MAX_PATCHES],
    /// Height of the push in that unit.
    height: f64,
}

impl Supports {
    /// The shares of the normal force [-] where the patches have friction `on_body`, each per normal force
    /// of its own. The moment of the push and of friction about the surface shifts the centre of pressure
    /// by the height times the push over the normal force. Of all shares that balance this moment, these
    /// differ from those at rest by a linear function of the place, as under a rigid body on equal springs.
    /// A patch that would have to pull carries nothing. If those that are left cannot balance the moment, the
    /// body would tip over; they carry all then.
    pub fn balance_shares(&self, on_body: impl Fn(usize) -> [f64; 2]) -> [f64; MAX_PATCHES] {
        let count = self.count;
        let mut shares = self.rest;
        let mut carries = [true; MAX_PATCHES];
        for _ in 0..count {
            let (mut matrix, mut off) = (Matrix3::zeros(), Vector3::x());
            for k in (0..count).filter(|k| carries[*k]) {
                let [x, y] = on_body(k);
                let moved = self.rows[k] + Vector3::new(0.0, self.height * x, self.height * y);
                matrix += moved * self.rows[k].transpose();
                off -= moved * self.rest[k];
            }
            let Some(tilt) = matrix.lu().solve(&off).filter(|_| is_regular(&matrix)) else { break };
            let mut least = (0.0, None);
            for k in 0..count {
                shares[k] = if carries[k] { self.rest[k] + tilt.dot(&self.rows[k]) } else { 0.0 };
                least = if shares[k] < least.0 { (shares[k], Some(k)) } else { least };
            }
            let Some(k) = least.1 else { break };
            carries[k] = false;
        }
        let carried: f64 = shares.iter().map(|share| share.max(0.0)).sum();
        shares.map(|share| share.max(0.0) / carried)
    }

    /// What the shader has of each patch: its centre of pressure from that of the first, in heights of the
    /// push [-].
    #[cfg(feature = "gpu")]
    pub fn in_heights(&self) -> Vec<[f64; 2]> {
        let from_first = |row: &Vector3<f64>| [row.y - self.rows[0].y, row.z - self.rows[0].z];
        self.rows[..self.count].iter().map(|row| from_first(row).map(|x| x / self.height)).collect()
    }
}

/// Whether the columns of a matrix span a space, by the volume of what they span over that of a box with
/// these sides.
fn is_regular(matrix: &Matrix3<f64>) -> bool {
    let sides: f64 = matrix.column_iter().map(|column| column.norm()).product();
    matrix.determinant().abs() > LEAST_DETERMINANT * sides
}

impl Contact {
    /// Whether load moves among several patches with the push, [`Inputs::push_height`](super::Inputs).
    pub fn moves_loads(&self) -> bool {
        self.inputs.push_height != 0.0
    }

    /// The normal force \[N\] of each of several patches, where load moves among them with the push, in
    /// a sample with this friction wrench and this normal force \[N\] on all.
    pub fn loads(&self, wrench: Wrench, normal_force: f64) -> Vec<f64> {
        let supports = self.supports();
        let per_force = if normal_force > 0.0 { 1.0 / normal_force } else { 0.0 };
        let shares = supports.balance_shares(|_| [wrench.fx * per_force, wrench.fy * per_force]);
        shares[..supports.count].iter().map(|share| share * normal_force).collect()
    }

    /// The patches as supports.
    pub(crate) fn supports(&self) -> Supports {
        let (patch, parts) = (&self.patch, self.patch.parts());
        let (mut rest, mut places) = ([0.0; MAX_PATCHES], [Vector3::x(); MAX_PATCHES]);
        for (k, part) in parts.iter().enumerate() {
            let moments = part.cells().map(|i| {
                let ([x, y], w) = (patch.place(i), patch.weights()[i]);
                Vector3::new(w, w * x, w * y)
            });
            let sum: Vector3<f64> = moments.sum();
            (rest[k], places[k]) = (part.share(), sum / sum.x);
        }
        let middle: Vector3<f64> = rest.iter().zip(&places).map(|(share, place)| place * *share).sum();
        let from = places.map(|place| place - middle);
        let unit = from[..parts.len()].iter().map(Vector3::amax).fold(f64::MIN_POSITIVE, f64::max);
        let rows = from.map(|from| Vector3::new(1.0, from.y / unit, from.z / unit));
        // Lower ones move no load that numbers show, and higher ones tip the body over. Single precision on
        // a GPU divides by them.
        let height = self.inputs.push_height / unit;
        let height = height.abs().clamp(LEAST_HEIGHT, MOST_HEIGHT).copysign(height);
        Supports { count: parts.len(), rest, rows, height }
    }

    /// Checks the height of the push, after what patches have of their own.
    pub(super) fn validate_push_height(&self) -> Result<(), ParameterError> {
        let height = self.inputs.push_height;
        PUSH_HEIGHT.check(height)?;
        if height == 0.0 {
            return Ok(());
        }
        let refused = |accepted: &str| check(PUSH_HEIGHT.name, height, accepted, false);
        if self.inputs.patches.is_empty() {
            return refused(
                "0, or several patches with one bristle in every cell (`distributed`), among which load moves",
            );
        }
        if !matches!(self.body, Body::Prescribed { .. }) {
            return refused("0, or a body of the kind `prescribed`: load does not move under one that is free");
        }
        if self.has_forces_of_parts() {
            return refused("0 where patches have a normal force of their own");
        }
        for (k, part) in self.patch.parts().iter().enumerate() {
            let accepted = "a number > 0 where load moves among the patches";
            check(&format!("patches.{k}.share"), part.share(), accepted, part.share() > 0.0)?;
        }
        let Supports { count, rows, .. } = self.supports();
        let square: Matrix3<f64> = rows[..count].iter().map(|row| row * row.transpose()).sum();
        if is_regular(&square) {
            return Ok(());
        }
        refused("0, or at least three patches that are not in one line, among which load moves")
    }
}

#[cfg(test)]
mod tests;

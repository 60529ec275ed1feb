//! How the normal force divides among several patches of a body that is pushed above the surface,
//! `docs/model.md` (20m). Twin of `balance_shares`, `centred` and `over_an_edge`: `shaders/parts.wgsl`.

use nalgebra::{Matrix2, Matrix3, Vector2, Vector3};

use super::Contact;
use crate::body::Body;
use crate::error::{ParameterError, check};
use crate::parameter::PUSH_HEIGHT;
use crate::patch::MAX_PATCHES;
use crate::planar::Wrench;
use crate::solver::constants::{BALANCE_DIFFERENCE, BALANCE_ROUNDS, BALANCED, LEAST_SLOPES, LEAST_SPREAD};

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
    /// A patch that would have to pull carries nothing. Where none balance it, the body would tip over; the
    /// centre of pressure is then where its way from that at rest leaves the patches.
    pub fn balance_shares(&self, on_body: impl Fn(usize) -> [f64; 2]) -> [f64; MAX_PATCHES] {
        let mut friction = [Vector2::zeros(); MAX_PATCHES];
        for (k, friction) in friction.iter_mut().enumerate().take(self.count) {
            *friction = Vector2::from(on_body(k));
        }
        let all = |shares: &[f64; MAX_PATCHES]| -> Vector2<f64> {
            let sum: Vector2<f64> = friction.iter().zip(shares).map(|(of_patch, share)| of_patch * *share).sum();
            sum / shares.iter().sum::<f64>()
        };
        let scale = friction.iter().map(Vector2::amax).fold(f64::MIN_POSITIVE, f64::max);
        // The friction of all that the shares have under a guess of it, less the guess: by Newton's method
        // with difference quotients, as it has kinks.
        let missing = |guess: Vector2<f64>| {
            let shares = self.centred(guess * -self.height);
            (shares, all(&shares) - guess)
        };
        let by = BALANCE_DIFFERENCE * scale;
        let mut guess = all(&self.rest);
        let (mut shares, mut off, mut slope) = (self.rest, Vector2::zeros(), Vector2::zeros());
        let (mut weight, mut before) = (1.0, f64::INFINITY);
        for trial in 0..=3 * BALANCE_ROUNDS {
            match trial % 3 {
                0 => {
                    (shares, off) = missing(guess);
                    let size = off.amax();
                    if size <= BALANCED * scale {
                        break;
                    }
                    weight = if size > 0.9 * before { 0.5 * weight } else { f64::min(1.0, 1.2 * weight) };
                    before = size;
                }
                1 => slope = (off - missing(guess + Vector2::new(by, 0.0)).1) / by,
                _ => {
                    let other = (off - missing(guess + Vector2::new(0.0, by)).1) / by;
                    let determinant = slope.perp(&other);
                    let newton = Vector2::new(off.perp(&other), slope.perp(&off)) / determinant;
                    let change = if determinant > LEAST_SLOPES { newton } else { off };
                    guess += change * weight;
                }
            }
        }
        let carried: f64 = shares.iter().sum();
        shares.map(|share| share / carried)
    }

    /// The shares with a centre of pressure that lies at `shift` from that at rest; or, if that is not
    /// between the patches, at the greatest part of it that is. Shares are linear in that part, until a patch
    /// lifts or presses again.
    fn centred(&self, shift: Vector2<f64>) -> [f64; MAX_PATCHES] {
        let Self { count, rest, rows, .. } = self;
        let mut carries = [true; MAX_PATCHES];
        let (mut part, mut shares) = (0.0, *rest);
        for _ in 0..4 * count {
            let carrying = || (0..*count).filter(|k| carries[*k]);
            let matrix: Matrix3<f64> = carrying().map(|k| rows[k] * rows[k].transpose()).sum();
            let there: Vector3<f64> = carrying().map(|k| rows[k] * rest[k]).sum();
            let Some(inverse) = matrix.try_inverse() else { break };
            let base = inverse * (Vector3::x() - there);
            let slope = inverse * Vector3::new(0.0, shift.x, shift.y);
            let (mut end, mut lifted) = (1.0, None);
            for k in 0..*count {
                let (at, by) = (rest[k] + base.dot(&rows[k]), slope.dot(&rows[k]));
                let when = f64::max(-at / by, part);
                let nears_zero = if carries[k] { by < 0.0 } else { by > 0.0 };
                (end, lifted) = if nears_zero && when < end { (when, Some(k)) } else { (end, lifted) };
            }
            part = end;
            let tilt = base + slope * part;
            for k in 0..*count {
                let carried = carries[k] && lifted != Some(k);
                shares[k] = if carried { f64::max(rest[k] + tilt.dot(&rows[k]), 0.0) } else { 0.0 };
            }
            let Some(k) = lifted else { break };
            carries[k] = !carries[k];
            if !are_spread((0..*count).filter(|k| carries[*k]).map(|k| &rows[k])) {
                let Some(next) = self.over_an_edge(k, tilt, &carries) else { break };
                carries[next] = true;
            }
        }
        shares
    }

    /// Patches that carry are in one line after patch `lifted` has let go: the one on the other side on which
    /// the body comes down as it turns about that line, if there is one.
    fn over_an_edge(&self, lifted: usize, tilt: Vector3<f64>, carries: &[bool; MAX_PATCHES]) -> Option<usize> {
        let Self { count, rest, rows, .. } = self;
        let carrying = || (0..*count).filter(|k| carries[*k]);
        let from = rows[carrying().next()?];
        let far = |k: &usize| (rows[*k] - from).norm_squared();
        let edge = from.cross(&rows[carrying().max_by(|a, b| far(a).total_cmp(&far(b)))?]);
        let turn = if edge.dot(&rows[lifted]) > 0.0 { -edge } else { edge };
        let (mut first, mut next) = (f64::INFINITY, None);
        for k in (0..*count).filter(|k| !carries[*k] && *k != lifted) {
            let by = turn.dot(&rows[k]);
            let when = -(rest[k] + tilt.dot(&rows[k])) / by;
            (first, next) = if by > 0.0 && when < first { (when, Some(k)) } else { (first, next) };
        }
        next
    }

    /// What the shader has of each patch: its centre of pressure from that of the first, in heights of the
    /// push [-].
    #[cfg(feature = "gpu")]
    pub fn in_heights(&self) -> Vec<[f64; 2]> {
        let from_first = |row: &Vector3<f64>| [row.y - self.rows[0].y, row.z - self.rows[0].z];
        self.rows[..self.count].iter().map(|row| from_first(row).map(|x| x / self.height)).collect()
    }
}

/// Whether places are not in one line, by the least and the greatest moment of area of equal points there.
fn are_spread<'a>(mut rows: impl Iterator<Item = &'a Vector3<f64>>) -> bool {
    let Some(from) = rows.next() else { return false };
    let (mut count, mut sum, mut squares) = (1.0, Vector2::zeros(), Matrix2::zeros());
    for row in rows {
        let apart = Vector2::new(row.y - from.y, row.z - from.z);
        (count, sum, squares) = (count + 1.0, sum + apart, squares + apart * apart.transpose());
    }
    let moments: Matrix2<f64> = squares - sum * sum.transpose() / count;
    moments.determinant() > LEAST_SPREAD * moments.trace().powi(2)
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
        if are_spread(rows[..count].iter()) {
            return Ok(());
        }
        refused("0, or at least three patches that are not in one line, among which load moves")
    }
}

#[cfg(test)]
mod tests;

//! The inputs of a contact by name.

use crate::body::Body;
use crate::contact::{Contact, FIELDS_OF_PATCHES, PatchInputs};
use crate::error::{ParameterError, check};
use crate::patch::MAX_PATCHES;
use crate::range::{self, Range};
use crate::schedule::Signal;

/// An input of a contact: a field of its [`Inputs`](crate::Inputs) or of its [`Body`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Input {
    /// Normal force of one pad \[N\], at most 1e12; negative is no contact.
    NormalForce,
    /// Load force along x \[N\] of a free body, up to 1e12 in size, as the next four.
    Fx,
    /// Load force along y \[N\].
    Fy,
    /// Load torque [N m], up to 1e12 in size.
    Tau,
    /// Gravity along x [m/s^2], up to 1e9 in size.
    GravityX,
    /// Gravity along y [m/s^2].
    GravityY,
    /// Velocity along x [m/s] of a prescribed motion, up to 1e9 in size, as the next two.
    Vx,
    /// Velocity along y [m/s].
    Vy,
    /// Angular velocity [rad/s].
    W,
    /// Coulomb coefficient [-], 1e-9 to 1e6 and no more than the static one.
    MuC,
    /// Static coefficient [-], at most 1e6.
    MuS,
    /// Where the spring of a point contact is held along x \[m\], up to 1e9 in size.
    AnchorX,
    /// Where it is held along y \[m\].
    AnchorY,
    /// Velocity along x [m/s] of a [moving surface](crate::MovingSurface), up to 1e9 in size, as the next
    /// two.
    SurfaceVx,
    /// Its velocity along y [m/s].
    SurfaceVy,
    /// Its angular velocity [rad/s].
    SurfaceW,
    /// Normal force \[N\] (of one pad) of the patch with this number, of several with
    /// [normal forces of their own](crate::PatchInputs).
    PatchNormalForce(u8),
    /// Velocity along x [m/s] of the surface of the patch with this number, of several with
    /// [surfaces of their own](crate::PatchInputs), up to 1e9 in size, as the next two.
    PatchVx(u8),
    /// Its velocity along y [m/s].
    PatchVy(u8),
    /// Its angular velocity [rad/s].
    PatchW(u8),
}

impl Input {
    /// All that are not of one of several patches.
    pub const ALL: [Self; 16] = [
        Self::NormalForce,
        Self::Fx,
        Self::Fy,
        Self::Tau,
        Self::GravityX,
        Self::GravityY,
        Self::Vx,
        Self::Vy,
        Self::W,
        Self::MuC,
        Self::MuS,
        Self::AnchorX,
        Self::AnchorY,
        Self::SurfaceVx,
        Self::SurfaceVy,
        Self::SurfaceW,
    ];

    /// Those of the patch with number `k`.
    pub const fn of_patch(k: u8) -> [Self; 4] {
        [Self::PatchNormalForce(k), Self::PatchVx(k), Self::PatchVy(k), Self::PatchW(k)]
    }

    /// All inputs, with those of as many patches as there may be.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().chain((0..MAX_PATCHES as u8).flat_map(Self::of_patch))
    }

    /// The number of its patch and its place among the inputs of that, if it is of one of several patches.
    const fn part(self) -> Option<(u8, usize)> {
        match self {
            Self::PatchNormalForce(k) => Some((k, 0)),
            Self::PatchVx(k) => Some((k, 1)),
            Self::PatchVy(k) => Some((k, 2)),
            Self::PatchW(k) => Some((k, 3)),
            _ => None,
        }
    }

    /// Its field, as errors name it.
    pub const fn field(self) -> &'static str {
        if let Some((k, own)) = self.part() {
            return if (k as usize) < MAX_PATCHES { FIELDS_OF_PATCHES[k as usize][own] } else { "patches" };
        }
        match self {
            Self::NormalForce => "inputs.normal_force",
            Self::Fx => "inputs.wrench.fx",
            Self::Fy => "inputs.wrench.fy",
            Self::Tau => "inputs.wrench.tau",
            Self::GravityX => "inputs.gravity.0",
            Self::GravityY => "inputs.gravity.1",
            Self::Vx => "inputs.twist.vx",
            Self::Vy => "inputs.twist.vy",
            Self::W => "inputs.twist.w",
            Self::MuC => "inputs.mu_c",
            Self::MuS => "inputs.mu_s",
            Self::AnchorX => "inputs.anchor.0",
            Self::AnchorY => "inputs.anchor.1",
            Self::SurfaceVx => "inputs.surface.vx",
            Self::SurfaceVy => "inputs.surface.vy",
            Self::SurfaceW => "inputs.surface.w",
            _ => "patches",
        }
    }

    /// The values that it may have.
    pub const fn range(self) -> Range {
        match self {
            Self::NormalForce | Self::Fx | Self::Fy | Self::PatchNormalForce(_) => range::FORCE,
            Self::Tau => range::TORQUE,
            Self::GravityX | Self::GravityY => range::GRAVITY,
            Self::Vx | Self::Vy | Self::SurfaceVx | Self::SurfaceVy | Self::PatchVx(_) | Self::PatchVy(_) => {
                range::SPEED
            }
            Self::W | Self::SurfaceW | Self::PatchW(_) => range::TURN,
            Self::MuC | Self::MuS => range::MU,
            Self::AnchorX | Self::AnchorY => range::POSITION,
        }
    }

    /// The signal of a contact, if its kind of body has this input; a coefficient of friction that was a
    /// constant becomes one.
    pub fn signal(self, contact: &mut Contact) -> Option<&mut Signal> {
        let (inputs, friction) = (&mut contact.inputs, &contact.friction);
        if let Some((k, own)) = self.part() {
            let patch = inputs.patches.get_mut(usize::from(k))?;
            return match own.checked_sub(1) {
                None => patch.normal_force.as_mut(),
                Some(i) => patch.surface.as_mut().map(|surface| &mut surface.twist[i]),
            };
        }
        match (self, &mut contact.body) {
            (Self::NormalForce, _) => Some(&mut inputs.normal_force),
            (Self::MuC, _) => Some(inputs.mu_c.get_or_insert_with(|| Signal::constant(friction.mu_c))),
            (Self::MuS, _) => Some(inputs.mu_s.get_or_insert_with(|| Signal::constant(friction.mu_s))),
            (Self::SurfaceVx, _) => inputs.surface.as_mut().map(|surface| &mut surface.twist[0]),
            (Self::SurfaceVy, _) => inputs.surface.as_mut().map(|surface| &mut surface.twist[1]),
            (Self::SurfaceW, _) => inputs.surface.as_mut().map(|surface| &mut surface.twist[2]),
            (Self::Fx, Body::Free(body)) => Some(&mut body.wrench[0]),
            (Self::Fy, Body::Free(body)) => Some(&mut body.wrench[1]),
            (Self::Tau, Body::Free(body)) => Some(&mut body.wrench[2]),
            (Self::GravityX, Body::Free(body)) => Some(&mut body.gravity[0]),
            (Self::GravityY, Body::Free(body)) => Some(&mut body.gravity[1]),
            (Self::AnchorX, Body::Free(body)) => Some(&mut body.anchor[0]),
            (Self::AnchorY, Body::Free(body)) => Some(&mut body.anchor[1]),
            (Self::Vx, Body::Prescribed { twist, .. }) => Some(&mut twist[0]),
            (Self::Vy, Body::Prescribed { twist, .. }) => Some(&mut twist[1]),
            (Self::W, Body::Prescribed { twist, .. }) => Some(&mut twist[2]),
            _ => None,
        }
    }

    /// Whether it is a coefficient of friction, whose range depends on the other one.
    pub(super) const fn is_coefficient(self) -> bool {
        matches!(self, Self::MuC | Self::MuS)
    }

    /// Refuses `value`, or the input altogether, if the contact cannot have it. Coefficients of friction are
    /// checked by [`check_pair`].
    pub(super) fn check(self, contact: &Contact, value: f64) -> Result<(), ParameterError> {
        if let Some((k, own)) = self.part() {
            let patch = contact.inputs.patches.get(usize::from(k));
            let has =
                |patch: &PatchInputs| if own == 0 { patch.normal_force.is_some() } else { patch.surface.is_some() };
            if !patch.is_some_and(has) {
                let accepted = "an input that the patch of the contact has of its own from the start";
                return Err(ParameterError::new(self.field(), value, accepted));
            }
            return self.range().check(self.field(), value);
        }
        if self == Self::NormalForce && contact.has_forces_of_parts() {
            let accepted = "the normal forces of the patches, of which it is the sum";
            return Err(ParameterError::new(self.field(), value, accepted));
        }
        if self == Self::NormalForce && contact.layer().is_some() {
            let accepted = "no force: an elastic layer has that of its frames";
            return Err(ParameterError::new(self.field(), value, accepted));
        }
        let is_of_body = match self {
            Self::NormalForce | Self::MuC | Self::MuS => true,
            Self::SurfaceVx | Self::SurfaceVy | Self::SurfaceW => contact.inputs.surface.is_some(),
            Self::Vx | Self::Vy | Self::W => matches!(contact.body, Body::Prescribed { .. }),
            Self::Fx | Self::Fy | Self::Tau | Self::GravityX | Self::GravityY | Self::AnchorX | Self::AnchorY => {
                matches!(contact.body, Body::Free(_))
            }
            Self::PatchNormalForce(_) | Self::PatchVx(_) | Self::PatchVy(_) | Self::PatchW(_) => false,
        };
        if !is_of_body {
            let accepted = match self {
                Self::SurfaceVx | Self::SurfaceVy | Self::SurfaceW => "an input of a contact with `inputs.surface`",
                _ => "an input of the contact's kind of body",
            };
            return Err(ParameterError::new(self.field(), value, accepted));
        }
        let spring = contact.body.free().map_or(0.0, |body| body.spring);
        if matches!(self, Self::AnchorX | Self::AnchorY) && spring == 0.0 {
            return Err(ParameterError::new(self.field(), value, "an input of a body with a spring"));
        }
        self.range().check(self.field(), value)
    }
}

/// Refuses coefficients of friction that are `set`, one of them or both, if they are out of range by
/// themselves, or do not go with the `present` ones, where these count.
pub(super) fn check_pair(set: [Option<f64>; 2], present: Option<[f64; 2]>) -> Result<(), ParameterError> {
    let [mu_c, mu_s] = [0, 1].map(|i| set[i].or(present.map(|present| present[i])));
    for (input, value) in [(Input::MuC, set[0]), (Input::MuS, set[1])] {
        value.map_or(Ok(()), |value| input.range().check(input.field(), value))?;
    }
    let (Some(mu_c), Some(mu_s)) = (mu_c, mu_s) else { return Ok(()) };
    if mu_c <= mu_s * ROUNDING {
        return Ok(());
    }
    match set {
        [None, None] => Ok(()),
        [Some(value), None] => {
            check(Input::MuC.field(), value, format!("a coefficient > 0 and <= mu_s = {mu_s}"), false)
        }
        [c, Some(value)] => {
            let together = if c.is_some() { ", which is set with it" } else { "" };
            check(Input::MuS.field(), value, format!("a coefficient >= mu_c = {mu_c}{together}"), false)
        }
    }
}

/// Coefficients of friction that are meant to be equal may differ by as much.
const ROUNDING: f64 = 1.0 + 1e-12;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contact::input_range;

    #[test]
    fn an_input_of_a_batch_has_the_range_of_its_field() {
        for input in Input::all() {
            assert_eq!(input.range(), input_range(input.field()), "{input:?}");
        }
    }
}

//! The values that parameters may have: the one place of their bounds.
//!
//! The bounds are far beyond anything that is measured. They are those of arithmetic: with one parameter at
//! an end of its range and the others as usual, results are finite in single precision, but of point contacts
//! whose steps are not stable. Where several together leave what numbers can hold, a contact is stopped, and
//! its status says so.

use std::fmt;

use crate::error::ParameterError;

/// The values that a parameter may have: all from the least to the most.
///
/// ```
/// use bristle::range::MASS;
/// assert!(MASS.check("body.mass", 0.2).is_ok());
/// let error = MASS.check("body.mass", -0.2).unwrap_err();
/// assert_eq!(error.to_string(), "body.mass = -0.2: expected a finite number from 1e-12 to 1e12 [kg]");
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// The least value.
    pub least: f64,
    /// The greatest value.
    pub most: f64,
    /// Unit of both; empty of a number without one.
    pub unit: &'static str,
}

impl Range {
    const fn new(least: f64, most: f64, unit: &'static str) -> Self {
        Self { least, most, unit }
    }

    /// Numbers of either sign up to a size.
    const fn within(most: f64, unit: &'static str) -> Self {
        Self::new(-most, most, unit)
    }

    /// Whether a value is in the range; NaN is in none.
    #[must_use]
    pub const fn contains(&self, value: f64) -> bool {
        self.least <= value && value <= self.most
    }

    /// Refuses a value out of range; errors call it `field`.
    ///
    /// # Errors
    /// A value that is not in the range.
    pub fn check(&self, field: &str, value: f64) -> Result<(), ParameterError> {
        if self.contains(value) { Ok(()) } else { Err(ParameterError::number(field, value, self.to_string())) }
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a finite number from {} to {}", bound(self.least), bound(self.most))?;
        if self.unit.is_empty() { Ok(()) } else { write!(f, " [{}]", self.unit) }
    }
}

/// A bound in few characters.
pub(crate) fn bound(value: f64) -> String {
    if value == 0.0 || (1e-3..1e4).contains(&value.abs()) { value.to_string() } else { format!("{value:e}") }
}

/// `friction.sigma0`: a bristle of the stiffest slides at a deflection of 1e-15 m, so that it is rigid for
/// every purpose.
pub const SIGMA0: Range = Range::new(1e-6, 1e15, "1/m");
/// `friction.sigma1`.
pub const SIGMA1: Range = Range::new(0.0, 1e12, "s/m");
/// `friction.sigma2`.
pub const SIGMA2: Range = Range::new(0.0, 1e12, "s/m");
/// `mu_c` and `mu_s`.
pub const MU: Range = Range::new(1e-9, 1e6, "");
/// `friction.mu_s_over_mu_c`.
pub const MU_RATIO: Range = Range::new(1.0, 1e15, "");
/// `friction.gamma`.
pub const GAMMA: Range = Range::new(1e-3, 1e3, "");
/// `friction.v_s`.
pub const V_S: Range = Range::new(1e-9, 1e6, "m/s");
/// `friction.s_ba`: nearer to 1 single precision has no transition any more.
pub const S_BA: Range = Range::new(0.0, 0.999_999, "");

/// Masses.
pub const MASS: Range = Range::new(1e-12, 1e12, "kg");
/// Moments of inertia: the least is that of the least mass, a micrometre long.
pub const INERTIA: Range = Range::new(1e-24, 1e24, "kg m^2");
/// `body.spring`.
pub const SPRING: Range = Range::new(0.0, 1e15, "N/m");
/// Lengths of things: sides of a grid, radii, sides of a body.
pub const SIZE: Range = Range::new(1e-9, 1e6, "m");
/// Where things are.
pub const POSITION: Range = Range::within(1e9, "m");
/// `body.offset`, and points of a rigid body.
pub const OFFSET: Range = Range::within(1e6, "m");
/// Angles.
pub const ANGLE: Range = Range::within(1e9, "rad");

/// Velocities.
pub const SPEED: Range = Range::within(1e9, "m/s");
/// Angular velocities.
pub const TURN: Range = Range::within(1e9, "rad/s");
/// Forces; a normal force below 0 is no contact.
pub const FORCE: Range = Range::within(1e12, "N");
/// A force that is a limit, or the load of a map.
pub const LIMIT_FORCE: Range = Range::new(1e-12, 1e12, "N");
/// Torques.
pub const TORQUE: Range = Range::within(1e12, "N m");
/// Accelerations of gravity.
pub const GRAVITY: Range = Range::within(1e9, "m/s^2");
/// `inputs.tilt.angle`.
pub const TILT: Range = Range::new(0.0, std::f64::consts::FRAC_PI_2, "rad");
/// `inputs.tilt.gravity`.
pub const TILT_GRAVITY: Range = Range::new(0.0, 1e9, "m/s^2");

/// Length of a run.
pub const DURATION: Range = Range::new(1e-9, 1e9, "s");
/// Times between samples, updates and held values.
pub const PERIOD: Range = Range::new(1e-6, 1e9, "s");
/// Times of points of a signal: nanoseconds of the present epoch are among them.
pub const TIME: Range = Range::within(1e20, "s");
/// Frequencies of sines.
pub const FREQUENCY: Range = Range::within(1e9, "Hz");

/// `patch.radius`.
pub const HERTZ_RADIUS: Range = Range::new(1e-6, 1e6, "cells/N^(1/3)");
/// `patch.exponent`, and `patch.exponent_per_newton`.
pub const HERTZ_EXPONENT: Range = Range::new(1e-6, 1e6, "");

/// `contact.point.band`.
pub const BAND: Range = Range::new(1e-12, 1e6, "m/s");
/// `contact.point.slider_mass`.
pub const SLIDER_MASS: Range = Range::new(0.0, 1e12, "kg");
/// `contact.point.attraction`.
pub const ATTRACTION: Range = Range::new(1e-9, 1e9, "1/s");
/// A share of an element of a point contact; all shares sum to one.
pub const SHARE: Range = Range::new(1e-9, 1.0, "");

/// States of bristles.
pub const BRISTLE: Range = Range::within(1e9, "");

/// Limits at which a contact has left, in metres, radians or seconds.
pub const DEPARTURE: Range = Range::new(1e-12, 1e12, "");

/// Coefficients of friction of rigid bodies.
pub const RIGID_MU: Range = Range::new(0.0, 1e6, "");
/// `torsion` of a contact of a stability file.
pub const TORSION: Range = Range::new(0.0, 1e6, "m");

/// The ranges of the parameters of scenario files by their dotted names, as `docs/scenario.md` lists them.
pub const ALL: [(&str, Range); 41] = [
    ("duration", DURATION),
    ("record_every", PERIOD),
    ("contact.table_force", LIMIT_FORCE),
    ("contact.point.band", BAND),
    ("contact.point.slider_mass", SLIDER_MASS),
    ("contact.point.attraction", ATTRACTION),
    ("contact.point.elements", SHARE),
    ("patch.size", SIZE),
    ("patch.radius", HERTZ_RADIUS),
    ("patch.exponent", HERTZ_EXPONENT),
    ("patch.exponent_per_newton", HERTZ_EXPONENT),
    ("patch.update", PERIOD),
    ("friction.sigma0", SIGMA0),
    ("friction.sigma1", SIGMA1),
    ("friction.sigma2", SIGMA2),
    ("friction.mu_c", MU),
    ("friction.mu_s", MU),
    ("friction.mu_s_over_mu_c", MU_RATIO),
    ("friction.gamma", GAMMA),
    ("friction.v_s", V_S),
    ("friction.s_ba", S_BA),
    ("body.mass", MASS),
    ("body.inertia", INERTIA),
    ("body.spring", SPRING),
    ("body.offset", OFFSET),
    ("initial.pose.0", POSITION),
    ("initial.pose.2", ANGLE),
    ("initial.twist.0", SPEED),
    ("initial.twist.2", TURN),
    ("stop_when", DEPARTURE),
    ("inputs.normal_force", FORCE),
    ("inputs.wrench.fx", FORCE),
    ("inputs.wrench.tau", TORQUE),
    ("inputs.gravity", GRAVITY),
    ("inputs.anchor", POSITION),
    ("inputs.tilt.direction", ANGLE),
    ("inputs.tilt.gravity", TILT_GRAVITY),
    ("inputs.twist.vx", SPEED),
    ("inputs.twist.w", TURN),
    ("inputs.mu_c", MU),
    ("inputs.hold", PERIOD),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_in_the_range_and_what_is_beyond_or_no_number_is_not() {
        for (name, range) in ALL {
            assert!(range.contains(range.least) && range.contains(range.most), "{name}");
            for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, -f64::MAX] {
                let error = range.check(name, value).unwrap_err();
                assert!(error.to_string().len() < 200, "{error}");
            }
        }
        assert_eq!(S_BA.to_string(), "a finite number from 0 to 0.999999");
        assert_eq!(FORCE.to_string(), "a finite number from -1e12 to 1e12 [N]");
        let error = MU.check("friction.mu_c", 1e-300).unwrap_err();
        assert_eq!(error.to_string(), "friction.mu_c = 1e-300: expected a finite number from 1e-9 to 1e6");
    }

    /// The page lists every range.
    #[test]
    fn the_page_on_scenarios_has_these_ranges() {
        let page = include_str!("../docs/scenario.md");
        let (_, rows) = page.split_once("## Ranges").expect("the section");
        let (rows, _) = rows.split_once("\n## ").expect("a section after it");
        for (name, range) in ALL {
            let row = rows.lines().find(|line| line.contains(&format!("`{name}`")));
            let row = row.unwrap_or_else(|| panic!("docs/scenario.md has no range of {name}"));
            let wanted = format!("{} to {}", bound(range.least), bound(range.most));
            assert!(row.contains(&wanted), "{name}: the page has {row}, not {wanted}");
        }
    }
}

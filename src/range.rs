//! The values that quantities may have: the one place of their bounds. What is special to one parameter is in
//! [`parameter`](crate::parameter).
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
    pub(crate) const fn new(least: f64, most: f64, unit: &'static str) -> Self {
        Self { least, most, unit }
    }

    /// Numbers of either sign up to a size.
    const fn within(most: f64, unit: &'static str) -> Self {
        Self::new(-most, most, unit)
    }

    /// Whether a value is in the range; NaN is in none.
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
    if value == std::f64::consts::FRAC_PI_2 {
        return "pi/2".to_owned();
    }
    if value == 0.0 || (1e-3..1e4).contains(&value.abs()) { value.to_string() } else { format!("{value:e}") }
}

/// `mu_c` and `mu_s`.
pub const MU: Range = Range::new(1e-9, 1e6, "");
/// Factors of a friction map.
pub const FRICTION_FACTOR: Range = Range::new(1e-3, 1e3, "");

/// Masses.
pub const MASS: Range = Range::new(1e-12, 1e12, "kg");
/// Moments of inertia: the least is that of the least mass, a micrometre long.
pub const INERTIA: Range = Range::new(1e-24, 1e24, "kg m^2");
/// Lengths of things: sides of a grid, radii, sides of a body.
pub const SIZE: Range = Range::new(1e-9, 1e6, "m");
/// Where things are.
pub const POSITION: Range = Range::within(1e9, "m");
/// Points of a body, from its centre of mass.
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

/// Length of a run.
pub const DURATION: Range = Range::new(1e-9, 1e9, "s");
/// Times between samples, updates and held values.
pub const PERIOD: Range = Range::new(1e-6, 1e9, "s");
/// Times of points of a signal: nanoseconds of the present epoch are among them.
pub const TIME: Range = Range::within(1e20, "s");
/// Frequencies of sines.
pub const FREQUENCY: Range = Range::within(1e9, "Hz");

/// States of bristles.
pub const BRISTLE: Range = Range::within(1e9, "");

/// Coefficients of friction of rigid bodies.
pub const RIGID_MU: Range = Range::new(0.0, 1e6, "");
/// `torsion` of a contact of a stability file.
pub const TORSION: Range = Range::new(0.0, 1e6, "m");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameter::{ALL, MU_C, Parameter, S_BA};

    #[test]
    fn bounds_are_in_the_range_and_what_is_beyond_or_no_number_is_not() {
        for Parameter { name, range, .. } in ALL {
            assert!(range.contains(range.least) && range.contains(range.most), "{name}");
            for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, -f64::MAX] {
                let error = range.check(name, value).unwrap_err();
                assert!(error.to_string().len() < 200, "{error}");
            }
        }
        assert_eq!(S_BA.range.to_string(), "a finite number from 0 to 0.999999");
        assert_eq!(FORCE.to_string(), "a finite number from -1e12 to 1e12 [N]");
        let error = MU_C.check(1e-300).unwrap_err();
        assert_eq!(error.to_string(), "friction.mu_c = 1e-300: expected a finite number from 1e-9 to 1e6");
    }
}

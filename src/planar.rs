//! Planar vectors as types: twist, wrench and pose.
//!
//! SI units. Counter-clockwise is positive; `rho x f = rx fy - ry fx`. A twist and a wrench
//! belong to a reference point; [`Twist::at`] and [`Wrench::about`] move it.

use std::ops::{Add, Mul, Neg, Sub};

/// Planar twist `(vx, vy, w)` [m/s, m/s, rad/s] of a body at a reference point.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
pub struct Twist {
    /// Velocity of the reference point along x [m/s].
    pub vx: f64,
    /// Velocity of the reference point along y [m/s].
    pub vy: f64,
    /// Angular velocity [rad/s].
    pub w: f64,
}

/// Planar wrench `(fx, fy, tau)` [N, N, N m] about a reference point.
///
/// A friction wrench is the action ON the moving body: it opposes the twist.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
pub struct Wrench {
    /// Force along x \[N\].
    pub fx: f64,
    /// Force along y \[N\].
    pub fy: f64,
    /// Moment about the reference point [N m].
    pub tau: f64,
}

/// Planar pose `(x, y, theta)` [m, m, rad].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
pub struct Pose {
    /// Position along x \[m\].
    pub x: f64,
    /// Position along y \[m\].
    pub y: f64,
    /// Orientation \[rad\], not wrapped.
    pub theta: f64,
}

impl Twist {
    /// A twist from its components [m/s, m/s, rad/s].
    pub const fn new(vx: f64, vy: f64, w: f64) -> Self {
        Self { vx, vy, w }
    }

    /// Velocity [m/s] of the body's point `p` \[m\], given from the reference point.
    pub fn velocity(self, p: [f64; 2]) -> [f64; 2] {
        [self.vx - self.w * p[1], self.vy + self.w * p[0]]
    }

    /// The same motion with the reference point moved by `p` \[m\]: `v' = v + w z^ x p`.
    ///
    /// ```
    /// use bristle::planar::Twist;
    /// assert_eq!(Twist::new(0.0, 0.0, 2.0).at([0.1, 0.0]), Twist::new(0.0, 0.2, 2.0));
    /// ```
    #[must_use]
    pub fn at(self, p: [f64; 2]) -> Self {
        let [vx, vy] = self.velocity(p);
        Self { vx, vy, w: self.w }
    }

    /// The components `[vx, vy, w]`.
    pub const fn to_array(self) -> [f64; 3] {
        [self.vx, self.vy, self.w]
    }
}

impl Wrench {
    /// A wrench from its components [N, N, N m].
    pub const fn new(fx: f64, fy: f64, tau: f64) -> Self {
        Self { fx, fy, tau }
    }

    /// The same action about a reference point moved by `p` \[m\]: `tau' = tau - p x f`.
    #[must_use]
    pub fn about(self, p: [f64; 2]) -> Self {
        Self { tau: self.tau - (p[0] * self.fy - p[1] * self.fx), ..self }
    }

    /// Power \[W\] the wrench puts into a motion with the same reference point.
    pub fn power(self, twist: Twist) -> f64 {
        self.fx * twist.vx + self.fy * twist.vy + self.tau * twist.w
    }

    /// The components `[fx, fy, tau]`.
    pub const fn to_array(self) -> [f64; 3] {
        [self.fx, self.fy, self.tau]
    }
}

impl Pose {
    /// A pose from its components [m, m, rad].
    pub const fn new(x: f64, y: f64, theta: f64) -> Self {
        Self { x, y, theta }
    }

    /// The components `[x, y, theta]`.
    pub const fn to_array(self) -> [f64; 3] {
        [self.x, self.y, self.theta]
    }
}

/// Sums, differences and multiples, component by component: of motions and of actions with the same reference
/// point.
macro_rules! linear {
    ($name:ident: $a:ident, $b:ident, $c:ident) => {
        impl Add for $name {
            type Output = Self;
            fn add(self, other: Self) -> Self {
                Self { $a: self.$a + other.$a, $b: self.$b + other.$b, $c: self.$c + other.$c }
            }
        }
        impl Sub for $name {
            type Output = Self;
            fn sub(self, other: Self) -> Self {
                Self { $a: self.$a - other.$a, $b: self.$b - other.$b, $c: self.$c - other.$c }
            }
        }
        impl Mul<f64> for $name {
            type Output = Self;
            fn mul(self, by: f64) -> Self {
                Self { $a: self.$a * by, $b: self.$b * by, $c: self.$c * by }
            }
        }
        impl Neg for $name {
            type Output = Self;
            fn neg(self) -> Self {
                Self { $a: -self.$a, $b: -self.$b, $c: -self.$c }
            }
        }
    };
}

linear!(Twist: vx, vy, w);
linear!(Wrench: fx, fy, tau);

/// To and from three numbers in the order of the fields, as files and formulas have them.
macro_rules! three_numbers {
    ($name:ident: $a:ident, $b:ident, $c:ident) => {
        impl From<[f64; 3]> for $name {
            fn from([$a, $b, $c]: [f64; 3]) -> Self {
                Self { $a, $b, $c }
            }
        }
        impl From<$name> for [f64; 3] {
            fn from($name { $a, $b, $c }: $name) -> Self {
                [$a, $b, $c]
            }
        }
    };
}

three_numbers!(Twist: vx, vy, w);
three_numbers!(Wrench: fx, fy, tau);
three_numbers!(Pose: x, y, theta);

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_relative_eq;

    #[test]
    fn power_does_not_depend_on_the_reference_point() {
        let (twist, wrench, p) = (Twist::new(0.3, -0.2, 1.7), Wrench::new(1.1, 0.4, -0.6), [0.03, -0.05]);
        assert_relative_eq!(wrench.power(twist), wrench.about(p).power(twist.at(p)), max_relative = 1e-14);
    }

    #[test]
    fn moving_the_reference_point_is_linear() {
        let (a, b, p) = (Twist::new(0.5, -0.25, 2.0), Twist::new(-1.0, 4.0, 0.5), [0.5, -0.25]);
        assert_eq!((a * 2.0 - b).at(p), a.at(p) * 2.0 + -b.at(p));
        let (f, g) = (Wrench::new(0.5, -0.25, 2.0), Wrench::new(-1.0, 4.0, 0.5));
        assert_eq!((f * 2.0 - g).about(p), f.about(p) * 2.0 + -g.about(p));
    }

    #[test]
    fn three_numbers_come_back_in_the_order_of_the_fields() {
        let three = [0.5, -0.25, 2.0];
        assert_eq!(Twist::from(three), Twist { vx: 0.5, vy: -0.25, w: 2.0 });
        assert_eq!(Wrench::from(three), Wrench { fx: 0.5, fy: -0.25, tau: 2.0 });
        assert_eq!(Pose::from(three), Pose { x: 0.5, y: -0.25, theta: 2.0 });
        assert_eq!(<[f64; 3]>::from(Twist::from(three)), three);
        assert_eq!(<[f64; 3]>::from(Wrench::from(three)), three);
        assert_eq!(<[f64; 3]>::from(Pose::from(three)), three);
    }
}

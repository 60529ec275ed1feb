//! Friction cones: the forces that a contact can transmit without sliding, `docs/model.md` section 11.
//!
//! A [`Cone`] is a [`Section`] (a circle, or a polygon inside or around it), a coefficient of friction and
//! the [`ContactFrame`] in which they hold. Its methods take one force at a time in the frame of the caller;
//! [`margins`], [`contains`] and [`projections`] take many forces in the frames of their contacts.

mod batch;
mod frame;
mod nearest;
mod section;

#[cfg(feature = "gpu")]
pub(crate) use batch::validate;
pub use batch::{ConeNumber, contains, margins, projections};
pub use frame::ContactFrame;
pub use section::{Fit, MOST_SIDES, Polygon, Section};

use bristle::error::ParameterError;
use bristle::range::RIGID_MU;

/// A friction cone: the forces on one of two bodies in contact that friction can transmit without sliding.
///
/// ```
/// use bristle_rigid::cone::{Cone, ContactFrame, Section};
///
/// // The floor, z up: it pushes a foot up with 100 N and to the side with 40 N.
/// let floor = ContactFrame::new([0.0, 0.0, 1.0], Some([1.0, 0.0, 0.0]))?;
/// let cone = Cone::new(Section::Circle, 0.5, floor)?;
/// assert!(cone.contains([40.0, 0.0, 100.0]));
/// assert_eq!(cone.margin([40.0, 0.0, 100.0]), 10.0);
/// assert_eq!(cone.project([0.0, 0.0, -1.0]), [0.0; 3]);
/// # Ok::<(), bristle::error::ParameterError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cone {
    section: Section,
    mu: f64,
    frame: ContactFrame,
}

impl Cone {
    /// A cone with coefficient of friction `mu` [-], 0 to 1e6: zero is a contact without friction.
    ///
    /// # Errors
    /// `mu` out of range, or a polygon with too few or too many sides.
    pub fn new(section: Section, mu: f64, frame: ContactFrame) -> Result<Self, ParameterError> {
        RIGID_MU.check("mu", mu)?;
        section.validate()?;
        Ok(Self { section, mu, frame })
    }

    /// The shape of its section.
    pub const fn section(&self) -> &Section {
        &self.section
    }

    /// Coefficient of friction [-].
    pub const fn mu(&self) -> f64 {
        self.mu
    }

    /// The axes of the contact.
    pub const fn frame(&self) -> &ContactFrame {
        &self.frame
    }

    /// Whether the contact can transmit `force` \[N\] without sliding: its margin and its normal part are >=
    /// 0.
    pub fn contains(&self, force: [f64; 3]) -> bool {
        let local = self.frame.to_contact(force);
        local[2] >= 0.0 && nearest::margin(&self.section.facets(), self.mu, local) >= 0.0
    }

    /// Friction that is left \[N\], `docs/model.md` (203): `mu f_n - |f_t|` for a circle, the least of that
    /// over the faces of a pyramid. Positive inside, zero on the cone, negative outside. Without friction it
    /// is `-|f_t|`, which does not tell pushing from pulling; [`Cone::contains`] does.
    pub fn margin(&self, force: [f64; 3]) -> f64 {
        nearest::margin(&self.section.facets(), self.mu, self.frame.to_contact(force))
    }

    /// The force of the cone that is nearest to `force` \[N\], (204).
    pub fn project(&self, force: [f64; 3]) -> [f64; 3] {
        self.frame.to_world(nearest::project(&self.section.facets(), self.mu, self.frame.to_contact(force)))
    }

    /// Rows `a` of the inequalities `a . f <= 0` that a force \[N\] of the pyramid meets, (205): one for each
    /// side with a part of length one across the normal, then `-f_n <= 0`.
    ///
    /// # Errors
    /// A circular cone, which no finite number of inequalities describes.
    pub fn inequalities(&self) -> Result<Vec<[f64; 3]>, ParameterError> {
        let rows = self.polygon("inequalities")?.inequalities(self.mu);
        Ok(rows.into_iter().map(|row| self.frame.to_world(row)).collect())
    }

    /// The edges of the pyramid, (206): forces with a normal part of 1 \[N\] whose sums with factors >= 0 are
    /// the pyramid.
    ///
    /// # Errors
    /// A circular cone, which no finite number of rays spans.
    pub fn rays(&self) -> Result<Vec<[f64; 3]>, ParameterError> {
        let rays = self.polygon("rays")?.rays(self.mu);
        Ok(rays.into_iter().map(|ray| self.frame.to_world(ray)).collect())
    }

    fn polygon(&self, of: &str) -> Result<&Polygon, ParameterError> {
        match &self.section {
            Section::Polygon(polygon) => Ok(polygon),
            Section::Circle => Err(ParameterError::new("section", "circle", format!("a polygon, which has {of}"))),
        }
    }
}

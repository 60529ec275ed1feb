//! The axes of a contact.

use nalgebra::{Matrix3, Vector3};

use bristle::error::ParameterError;

/// The axes of a contact: tangent, bitangent and normal, right-handed and of length one. The normal points
/// into the body on which the forces act.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContactFrame {
    /// Rows: tangent, bitangent, normal.
    rows: Matrix3<f64>,
}

/// A tangent whose part across the normal is below this share of its length has no direction there.
const LEAST_ACROSS: f64 = 1e-6;

impl ContactFrame {
    /// Axes with a `normal` of any length but zero, and the direction of `tangent` across it; without a
    /// tangent, the direction of the first coordinate axis that is not within 45 degrees of the normal.
    ///
    /// # Errors
    /// Vectors that are zero or not finite, or a tangent along the normal.
    pub fn new(normal: [f64; 3], tangent: Option<[f64; 3]>) -> Result<Self, ParameterError> {
        let direction = |name: &str, v: [f64; 3]| {
            let v = Vector3::from(v);
            // Dividing by the largest component first keeps squares from overflow and underflow.
            let scaled = v / v.amax();
            let unit = scaled.try_normalize(0.0).filter(|u| u.iter().all(|c| c.is_finite()));
            unit.ok_or_else(|| {
                ParameterError::new(name, format!("{:?}", v.as_slice()), "a finite vector that is not zero")
            })
        };
        let n = direction("normal", normal)?;
        let along = match tangent {
            Some(tangent) => direction("tangent", tangent)?,
            None => [Vector3::x(), Vector3::y()].into_iter().find(|a| n.dot(a).abs() < 0.708).unwrap_or(Vector3::z()),
        };
        let across = |v: Vector3<f64>| v - n * n.dot(&v);
        // Twice: what is left of a tangent that is nearly along the normal is not across it to all digits.
        let Some(t) = across(along).try_normalize(LEAST_ACROSS).map(|t| across(t).normalize()) else {
            let value = format!("{:?}", tangent.unwrap_or_default());
            return Err(ParameterError::new("tangent", value, "a vector that is not along the normal"));
        };
        let b = n.cross(&t);
        Ok(Self { rows: Matrix3::from_rows(&[t.transpose(), b.transpose(), n.transpose()]) })
    }

    /// The axes of the coordinates themselves: tangent x, bitangent y, normal z.
    pub fn identity() -> Self {
        Self { rows: Matrix3::identity() }
    }

    /// Tangent, bitangent and normal, in the frame of the caller.
    pub fn axes(&self) -> [[f64; 3]; 3] {
        [0, 1, 2].map(|k| self.rows.row(k).transpose().into())
    }

    /// The components along tangent, bitangent and normal of a vector of the caller.
    pub fn to_contact(&self, v: [f64; 3]) -> [f64; 3] {
        (self.rows * Vector3::from(v)).into()
    }

    /// The vector of the caller with these components along tangent, bitangent and normal.
    pub fn to_world(&self, v: [f64; 3]) -> [f64; 3] {
        self.rows.tr_mul(&Vector3::from(v)).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_are_right_handed_and_of_length_one() {
        for (normal, tangent) in [
            ([0.0, 0.0, 2.0], None),
            ([1.0, 0.0, 0.0], None),
            ([1e-200, 1e-200, 0.0], Some([1.0, 2.0, 3.0])),
            ([-0.3, 0.4, 1e200], Some([0.0, 1.0, 0.0])),
        ] {
            let [t, b, n] = ContactFrame::new(normal, tangent).unwrap().axes().map(Vector3::from);
            assert!((t.cross(&b) - n).norm() < 1e-15 && (t.norm() - 1.0).abs() < 1e-15, "{normal:?}");
            assert!(n.dot(&(Vector3::from(normal) / Vector3::from(normal).amax())) > 0.0);
            assert!(tangent.is_none_or(|given| t.dot(&Vector3::from(given)) > 0.0));
        }
    }

    #[test]
    fn what_is_no_frame_is_refused() {
        for (normal, tangent, part) in [
            ([0.0; 3], None, "normal = [0.0, 0.0, 0.0]: expected a finite vector that is not zero"),
            ([0.0, f64::NAN, 1.0], None, "normal = "),
            ([0.0, f64::INFINITY, 1.0], None, "normal = "),
            ([0.0, 0.0, 1.0], Some([0.0; 3]), "tangent = [0.0, 0.0, 0.0]: expected a finite"),
            ([0.0, 0.0, 1.0], Some([0.0, 0.0, -3.0]), "not along the normal"),
        ] {
            let message = ContactFrame::new(normal, tangent).unwrap_err().to_string();
            assert!(message.contains(part), "{message}");
        }
    }
}

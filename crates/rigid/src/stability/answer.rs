//! The answer of an assembly, and its verification.

use super::assembly::{Assembly, ContactForce, PointContact, StabilityError};
use super::conic::Outcome;
use super::motion::Motion;
use super::program::{Goal, Program};

/// Whether contacts hold a load, and by which factors it may change.
#[derive(Clone, Debug, PartialEq)]
pub struct Stability {
    /// Whether contact forces inside the cones balance the fixed part and the load.
    pub holds: bool,
    /// Forces that do, those with the smallest sum of normal parts; none if there are none.
    pub forces: Option<Vec<ContactForce>>,
    /// How far these are from balance: the largest force or moment that is left over, as a share of the
    /// loads'.
    pub residual: f64,
    /// The least and the largest factor >= 0 of the load that is held; the second may be infinite. None if no
    /// factor is.
    pub factors: Option<[f64; 2]>,
    /// If the load is not held, the motion that proves it; else the one that proves that no larger factor is.
    /// None if every larger factor is held.
    pub motion: Option<Motion>,
}

/// Forces, and the motion that belongs to the answer.
type Balance = (Option<Vec<ContactForce>>, Option<Motion>);

/// The least and the largest factor, and the twists of the motion that bounds the largest.
type Factors = (Option<[f64; 2]>, Option<Vec<[f64; 6]>>);

/// Largest residual and violation of a verified answer, as a share of the forces.
const VERIFIED: f64 = 1e-6;

impl Assembly {
    /// Whether the contacts hold the load, and between which factors it may change, `docs/model.md` (207) and
    /// (208). Forces are within 1e-6 of balance and of the cones, as a share of the loads; factors are as
    /// close.
    ///
    /// ```
    /// use bristle_rigid::cone::{Cone, ContactFrame, Section};
    /// use bristle_rigid::stability::{Assembly, PointContact, RigidBody, SpatialWrench};
    ///
    /// // A table of three legs under 30 N, pushed sideways at the height of its feet.
    /// let cone = Cone::new(Section::Circle, 0.5, ContactFrame::new([0.0, 0.0, 1.0], None)?)?;
    /// let foot = |x, y| PointContact::new([x, y, 0.0], cone);
    /// let table = Assembly {
    ///     bodies: vec![RigidBody {
    ///         fixed: SpatialWrench::at([0.0; 3], [0.0, 0.0, -30.0], [0.0; 3]),
    ///         load: SpatialWrench::at([0.0; 3], [5.0, 0.0, 0.0], [0.0; 3]),
    ///     }],
    ///     contacts: vec![foot(1.0, 0.0), foot(-0.5, 0.8), foot(-0.5, -0.8)],
    /// };
    /// let answer = table.stability()?;
    /// let [_, most] = answer.factors.ok_or("held by none")?;
    /// assert!(answer.holds && (most - 3.0).abs() < 1e-6, "it slides at mu 30 N = 15 N");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Values out of range, or numbers so far apart that the solver comes to no answer.
    pub fn stability(&self) -> Result<Stability, StabilityError> {
        self.validate()?;
        let program = Program::new(self);
        if !program.is_finite() {
            return Err(StabilityError::Solver("numbers too large to compute with".to_owned()));
        }
        let (factors, limit) = if program.has_load() { self.factors(&program)? } else { (None, None) };
        let limit = limit.map(|twists| Motion::new(self, twists));
        // The motion that bounds the factors may prove that the load is not held.
        let refuted = limit.as_ref().is_some_and(|motion| motion.power(1.0) > motion.resistance);
        let beyond = factors.is_none_or(|[_, most]| most < 1.0) && program.has_load();
        let (forces, motion) = if refuted && beyond { (None, limit) } else { self.balance(&program, limit)? };
        let residual = forces.as_ref().map_or(0.0, |forces| program.residual(forces, 1.0));
        if let Some(forces) = &forces {
            self.verify(&program, forces, residual, |contact| contact.most)?;
        }
        // Without a load, what is fixed is held with any factor of nothing, or with none.
        let any = forces.is_some() && !program.has_load();
        let factors = if any { Some([0.0, f64::INFINITY]) } else { factors };
        Ok(Stability { holds: forces.is_some(), forces, residual, factors, motion })
    }

    /// Forces that balance the load, with `limit`; or none, and the motion that proves that there are none.
    fn balance(&self, program: &Program, limit: Option<Motion>) -> Result<Balance, StabilityError> {
        match program.solve(Goal::Balance)? {
            (Outcome::Found(x), _) => Ok((Some(program.forces(&x)), limit)),
            (Outcome::Impossible, twists) => {
                let motion = Motion::new(self, twists);
                if !(motion.power(1.0) > motion.resistance) {
                    return Err(StabilityError::Solver(
                        "neither forces that balance nor a motion that begins".to_owned(),
                    ));
                }
                Ok((None, Some(motion)))
            }
            (Outcome::Endless(_), _) => Err(StabilityError::Solver("normal forces below zero".to_owned())),
        }
    }

    /// The least and the largest factor, and the motion that bounds the largest.
    fn factors(&self, program: &Program) -> Result<Factors, StabilityError> {
        let least = match program.solve(Goal::Least)? {
            (Outcome::Found(x), _) => program.factor(&x).max(0.0),
            (Outcome::Impossible, twists) => return Ok((None, Some(twists))),
            (Outcome::Endless(_), _) => return Err(StabilityError::Solver("factors below zero".to_owned())),
        };
        match program.solve(Goal::Most)? {
            (Outcome::Found(x), twists) => {
                let most = program.factor(&x).max(least);
                let forces = program.forces(&x);
                let residual = program.residual(&forces, most) / most.max(1.0);
                self.verify(program, &forces, residual, |contact| contact.most)?;
                Ok((Some([least, most]), Some(twists)))
            }
            (Outcome::Endless(ray), _) => {
                // Forces that grow with the load: they balance it alone.
                let (forces, factor) = (program.forces(&ray), program.factor(&ray));
                if !(factor > 0.0) {
                    return Err(StabilityError::Solver("forces that grow without end".to_owned()));
                }
                let residual = program.residual_of_growth(&forces, factor) / factor.max(1.0);
                // Contacts that have a largest force have none that grows.
                self.verify(
                    program,
                    &forces,
                    residual,
                    |contact| if contact.most.is_finite() { 0.0 } else { contact.most },
                )?;
                Ok((Some([least, f64::INFINITY]), None))
            }
            (Outcome::Impossible, _) => Err(StabilityError::Solver("factors that hold and do not".to_owned())),
        }
    }

    /// Checks that forces are in their cones with normal parts below those of `most`, and that `residual` is
    /// small.
    fn verify(
        &self,
        program: &Program,
        forces: &[ContactForce],
        residual: f64,
        most: fn(&PointContact) -> f64,
    ) -> Result<(), StabilityError> {
        let unit = forces.iter().flat_map(|f| f.force).fold(program.force_unit(), |m, v| m.max(v.abs()));
        for (k, (contact, force)) in self.contacts.iter().zip(forces).enumerate() {
            let normal = contact.normal(force);
            // Without friction the margin tells neither pulling from pushing nor how large the moment is.
            let twist = if contact.torsion > 0.0 { force.torsion.abs() / contact.torsion } else { 0.0 };
            let bounds = (normal - twist).min(most(contact) - normal);
            let outside = -bounds.min(contact.margin(force) / (1.0 + contact.cone.mu())) / unit;
            if !(outside <= VERIFIED) {
                let message = format!("the force of contact {k} is outside of its cone by {outside:.1e} of the forces");
                return Err(StabilityError::Solver(message));
            }
        }
        if !(residual <= VERIFIED) {
            return Err(StabilityError::Solver(format!("forces are {residual:.1e} of the loads out of balance")));
        }
        Ok(())
    }
}

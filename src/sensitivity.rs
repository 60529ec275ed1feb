//! Derivatives of trajectories over parameters: [`Cpu::sensitivities`](crate::Cpu::sensitivities).
//!
//! The equations are in `docs/model.md`, section 15. A derivative is that of the discrete solution, with
//! every stage solved to rounding and the lengths of steps held: those between break points do not depend on
//! the parameters but through the limit on the falling Stribeck branch and the fine steps at the start of a
//! body in motion, and those that a tolerance chooses are held as they were accepted.
//!
//! Where a bristle changes from one branch of its law to another just at a step, the solution has a kink over
//! the parameter, and the derivative is that of the branch taken: the one-sided derivative towards the side
//! on which the branch stays. Elasto-Plastic bristles have no such kinks but at rest, as the law's branches
//! join with equal slopes; a viscoelasto-plastic bristle has one at its limit, and LuGre's and Dahl's where
//! the velocity is zero, where the derivative is the mean of both sides. Point contacts have derivatives
//! under all laws but GMS, where their equation has several roots those of the root taken. A stage that has
//! its solution at a kink may not converge; the status counts it ([`Status::unconverged`](crate::Status)),
//! and from there on the derivatives are no better than its iterate.

use crate::error::{EngineError, ParameterError};
use crate::memory;
use crate::schedule::Signal;

/// The parameters that have names, those of scenario files but for `patch.scale`: a factor of all lengths of
/// the patch, at the factor 1.
pub const ALL: [&str; 19] = [
    "friction.sigma0",
    "friction.sigma1",
    "friction.sigma2",
    "friction.mu_c",
    "friction.mu_s",
    "friction.gamma",
    "friction.v_s",
    "friction.s_ba",
    "body.mass",
    "body.inertia",
    "body.offset.0",
    "body.offset.1",
    "patch.scale",
    "initial.pose.0",
    "initial.pose.1",
    "initial.pose.2",
    "initial.twist.0",
    "initial.twist.1",
    "initial.twist.2",
];

/// What to differentiate over: a parameter, or the amplitude of a change of an input.
///
/// Every parameter is one number of the contact, and the others are held: where a scenario lets one follow
/// from others, the chain rule belongs to the caller. With `mu_s_over_mu_c = r`, a change of `mu_c` changes
/// `mu_s` by `r` times as much; with an inertia from the mass, `dI/dm = I/m` is to be added; a centre of mass
/// that moves in the hand is `initial.pose`.
#[derive(Clone, Debug, PartialEq)]
pub struct Sensitivity {
    /// One of [`ALL`]; or the name of an input as in scenario files, such as `inputs.normal_force`,
    /// `inputs.wrench.fx`, `inputs.gravity.1`, `inputs.twist.w` or `inputs.mu_c`.
    pub name: String,
    /// Of an input: along which function of time it changes, in units of the input for each unit of the
    /// amplitude. Its break points must be break points of the contact's inputs or sample times.
    pub direction: Option<Signal>,
}

impl Sensitivity {
    /// Over one of [`ALL`].
    pub fn over(name: &str) -> Self {
        Self { name: name.to_owned(), direction: None }
    }

    /// Over the amplitude of a `direction` of an input: the signal itself is its scale, a constant 1 its
    /// offset.
    pub fn along(name: &str, direction: Signal) -> Self {
        Self { name: name.to_owned(), direction: Some(direction) }
    }

    /// Over the value of knot `k` of an input that is a [`Signal::linear`] through knots at `times` \[s\].
    ///
    /// # Errors
    /// No such knot, or times as for [`Signal::linear`].
    pub fn knot(name: &str, times: &[f64], k: usize) -> Result<Self, ParameterError> {
        if k >= times.len() {
            return Err(ParameterError::new("sensitivities", format!("knot {k}"), format!("one of {}", times.len())));
        }
        let hat: Vec<(f64, f64)> =
            times.iter().enumerate().map(|(i, t)| (*t, if i == k { 1.0 } else { 0.0 })).collect();
        Ok(Self::along(name, Signal::linear(&hat)?))
    }
}

/// Derivatives at the samples of contacts over parameters, `[contact][sample][parameter]` in that order;
/// [`Sensitivities::at`] finds one. NaN where a trajectory is NaN.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sensitivities {
    /// Number of contacts, of samples of each, and of parameters.
    pub shape: [usize; 3],
    /// Of the pose [m, m, rad] over the unit of the parameter.
    pub pose: Vec<[f64; 3]>,
    /// Of the twist [m/s, m/s, rad/s].
    pub twist: Vec<[f64; 3]>,
    /// Of the friction wrench of one pad at the patch origin, in the patch frame [N, N, N m].
    pub wrench: Vec<[f64; 3]>,
}

impl Sensitivities {
    /// The place of a parameter at a sample of a contact in the arrays.
    ///
    /// # Panics
    /// No such contact, sample or parameter.
    pub fn at(&self, contact: usize, sample: usize, parameter: usize) -> usize {
        let [contacts, samples, parameters] = self.shape;
        assert!(contact < contacts && sample < samples && parameter < parameters, "a place in {:?}", self.shape);
        (contact * samples + sample) * parameters + parameter
    }

    /// Derivatives that are all NaN.
    #[cfg_attr(target_family = "wasm", allow(dead_code, reason = "`Cpu::sensitivities` is not there"))]
    pub(crate) fn unwritten(shape: [usize; 3]) -> Result<Self, EngineError> {
        const FEWER: &str = "fewer samples, parameters or contacts in one call";
        let n = shape.iter().fold(1, |n: usize, of| n.saturating_mul(*of));
        let [contacts, samples, parameters] = shape;
        let what = || format!("{parameters} derivatives of {samples} samples of {contacts} contacts");
        memory::check(what, (n as u64).saturating_mul(9 * 8), FEWER)?;
        let nan = || memory::filled(n, [f64::NAN; 3], FEWER);
        Ok(Self { shape, pose: nan()?, twist: nan()?, wrench: nan()? })
    }
}

//! The inputs that friction in a sample depends on, beside the normal force.

use super::{Contact, PartInputs};
use crate::planar::Twist;
use crate::schedule::{Signal, slot};

/// What friction in a sample depends on beside its normal force: the inputs at the end of the time before it,
/// whatever has been set since.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SampleInputs {
    /// Coulomb coefficient [-].
    pub mu_c: f64,
    /// Static coefficient [-]; `mu_c` under a law without a Stribeck curve.
    pub mu_s: f64,
    /// The twist of a surface that moves, at the origin of the frame that it is given in [m/s, m/s, rad/s];
    /// zero of one at rest.
    pub surface: Twist,
    /// The inputs of each of several patches that have some of their own; else none.
    pub patches: Vec<PartInputs>,
}

impl SampleInputs {
    /// Of the slots of an engine, and of those of each of several patches.
    pub(crate) fn of_slots(v: &[f64; slot::COUNT], of_parts: Vec<[f64; slot::OF_PART]>) -> Self {
        Self {
            mu_c: v[slot::MU_C],
            mu_s: v[slot::MU_S],
            surface: Twist::new(v[slot::SURFACE], v[slot::SURFACE + 1], v[slot::SURFACE + 2]),
            patches: of_parts.into_iter().map(PartInputs::from).collect(),
        }
    }
}

impl Contact {
    /// The inputs in a sample at time `t` \[s\] of a rollout, which has those before a jump.
    pub fn inputs_before(&self, t: f64) -> SampleInputs {
        let Self { inputs, friction, .. } = self;
        let before = |signal: &Signal| signal.value_before(t);
        let mu_c = inputs.mu_c.as_ref().map_or(friction.mu_c, before);
        SampleInputs {
            mu_c,
            mu_s: friction.law.static_coefficient(mu_c, inputs.mu_s.as_ref().map_or(friction.mu_s, before)),
            surface: inputs.surface.as_ref().map_or_else(Twist::default, |surface| surface.twist_of(before)),
            patches: self.parts_before(t),
        }
    }
}

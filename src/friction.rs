//! The friction of one bristle: parameters with units, and their validation.
//!
//! The equations of both engines are in `src/solver/laws` and `shaders/laws`; this file has the parameters
//! that a user sets.

use crate::error::{ParameterError, check};
use crate::parameter::{GAMMA, MU_C, MU_S, MU_S_OVER_MU_C, S_BA, SIGMA0, SIGMA1, SIGMA2, V_S, about};

/// The registry of the bristle laws, a line each: variant and type; key in files; the file of that stem in
/// `src/solver/laws` and in `shaders/laws`; whether bristles are elastic up to a share `s_ba` of their limit,
/// with a transition from there on; whether the limit follows the Stribeck curve or is `mu_c`; whether
/// `sigma1` and `sigma2` add to the force; a sentence for the documentation.
macro_rules! laws {
    ($then:ident) => {
        $then! {
            LuGre, "lugre", lugre, elastic: false, stribeck: true, damping: true,
                "LuGre (Canudas de Wit et al. 1995): creeps under an oscillating load below break-away.";
            ElastoPlastic, "elasto-plastic", elasto_plastic, elastic: true, stribeck: true, damping: true,
                "Elasto-Plastic (Dupont et al. 2002): elastic below break-away, so that nothing drifts. The default.";
            Dahl, "dahl", dahl, elastic: false, stribeck: false, damping: false,
                "Dahl (1968): the limit is mu_c at any speed, and the force the bristle's alone: no rate matters.";
            ViscoelastoPlastic, "viscoelasto-plastic", viscoelasto_plastic,
                elastic: false, stribeck: true, damping: true,
                "A spring on a slider (Kikuuwe et al. 2005): elastic up to the limit, where it slides at once.";
        }
    };
}
pub(crate) use laws;

macro_rules! law_enum {
    ($($law:ident, $key:literal, $file:ident, elastic: $elastic:literal, stribeck: $stribeck:literal,
        damping: $damping:literal, $doc:literal;)+) => {
        /// Which ordinary differential equation a bristle follows, `docs/model.md` (9) and (10).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub enum Law {
            $(#[doc = $doc] #[serde(rename = $key)] $law,)+
        }

        impl Law {
            /// All laws.
            pub const ALL: &[Self] = &[$(Self::$law,)+];

            /// The name in files.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$law => $key,)+ }
            }

            /// Whether bristles are elastic up to a share `s_ba` of their limit, and from there on more and
            /// more plastic. If not, they slip under any load, however small, so that a contact at rest
            /// creeps, or are elastic up to the limit itself (the viscoelasto-plastic law).
            pub const fn is_elastic(self) -> bool {
                match self { $(Self::$law => $elastic,)+ }
            }

            /// Whether the limit of a bristle falls with the speed along the Stribeck curve; else it is
            /// `mu_c`.
            pub(crate) const fn has_stribeck_curve(self) -> bool {
                match self { $(Self::$law => $stribeck,)+ }
            }

            /// Whether the damping `sigma1` and the viscous coefficient `sigma2` add to the force.
            pub(crate) const fn has_damping(self) -> bool {
                match self { $(Self::$law => $damping,)+ }
            }
        }
    };
}
laws!(law_enum);

impl Law {
    /// The static coefficient that the law uses: `mu_c` without a Stribeck curve.
    pub(crate) const fn static_coefficient(self, mu_c: f64, mu_s: f64) -> f64 {
        if self.has_stribeck_curve() { mu_s } else { mu_c }
    }
}

impl Default for Law {
    fn default() -> Self {
        Self::ElastoPlastic
    }
}

/// Friction parameters of Table I (Waltersson & Karayiannidis), in the amended form: the bristle
/// coefficients belong to a unit of normal force, so that forces are `f_N` times a number.
///
/// The Stribeck curve is `g(s) = mu_c + (mu_s - mu_c) exp(-(s/v_s)^gamma)`,
/// `docs/model.md` (5).
///
/// ```
/// use bristle::friction::{Friction, Law};
/// let rubber = Friction { mu_c: 0.8, mu_s: 0.9, ..Friction::default() };
/// assert!(rubber.validate().is_ok());
/// assert_eq!(rubber.law, Law::ElastoPlastic);
/// assert!(Friction { v_s: 0.0, ..rubber }.validate().is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Friction {
    /// The bristle law. Choose Elasto-Plastic unless you compare with LuGre.
    pub law: Law,
    #[doc = about!(SIGMA0)]
    pub sigma0: f64,
    #[doc = about!(SIGMA1)]
    pub sigma1: f64,
    #[doc = about!(SIGMA2)]
    pub sigma2: f64,
    #[doc = about!(MU_C)]
    pub mu_c: f64,
    #[doc = about!(MU_S)]
    pub mu_s: f64,
    #[doc = about!(GAMMA)]
    pub gamma: f64,
    #[doc = about!(V_S)]
    pub v_s: f64,
    #[doc = about!(S_BA)]
    pub s_ba: f64,
}

impl Default for Friction {
    /// Table I with p = 1 and the Elasto-Plastic law.
    fn default() -> Self {
        Self {
            law: Law::ElastoPlastic,
            sigma0: SIGMA0.default,
            sigma1: SIGMA1.default,
            sigma2: SIGMA2.default,
            mu_c: MU_C.default,
            mu_s: MU_C.default * MU_S_OVER_MU_C.default,
            gamma: GAMMA.default,
            v_s: V_S.default,
            s_ba: S_BA.default,
        }
    }
}

impl Friction {
    /// Checks every field against the range in its documentation.
    ///
    /// # Errors
    /// The first field out of range, with its value and what is accepted.
    pub fn validate(&self) -> Result<(), ParameterError> {
        SIGMA0.check(self.sigma0)?;
        SIGMA1.check(self.sigma1)?;
        SIGMA2.check(self.sigma2)?;
        MU_C.check(self.mu_c)?;
        MU_S.check(self.mu_s)?;
        if self.mu_s < self.mu_c {
            check(MU_S.name, self.mu_s, format!("a finite number >= mu_c = {}", self.mu_c), false)?;
        }
        GAMMA.check(self.gamma)?;
        V_S.check(self.v_s)?;
        S_BA.check(self.s_ba)
    }

    /// The parameters with those that the law does not use set to values without effect: no damping for a law
    /// without, and `mu_s = mu_c` for one without a Stribeck curve.
    pub fn effective_for_law(&self) -> Self {
        let Self { law, sigma1, sigma2, mu_c, mu_s, .. } = *self;
        let [sigma1, sigma2] = if law.has_damping() { [sigma1, sigma2] } else { [0.0; 2] };
        Self { sigma1, sigma2, mu_s: law.static_coefficient(mu_c, mu_s), ..*self }
    }

    /// Passivity margin [s/m]: `sigma2 - sigma1 (mu_s - mu_c)/mu_c`, `docs/model.md` (14).
    ///
    /// LuGre is passive at every velocity when this is not negative (Barabanov & Ortega 2000).
    /// Table I has -159.8 and is used in practice all the same, so that a negative margin is no error.
    pub fn passivity_margin(&self) -> f64 {
        self.sigma2 - self.sigma1 * (self.mu_s - self.mu_c) / self.mu_c
    }

    /// The largest slope of `exp(-x^gamma)` over `x = s/v_s`: `k_g` of `docs/model.md` (7), (49).
    ///
    /// For `gamma <= 1` the slope is unbounded at rest; it is taken at `x = 0.05`.
    pub fn steepest_stribeck_slope(&self) -> f64 {
        let gamma = self.gamma;
        let x = if gamma > 1.0 { ((gamma - 1.0) / gamma).powf(1.0 / gamma) } else { STRIBECK_X_MIN };
        gamma * x.powf(gamma - 1.0) * (-x.powf(gamma)).exp()
    }
}

/// Below this `s/v_s` the slope of the Stribeck curve is taken as that at this value: for `gamma < 1` it has
/// no bound at rest.
pub const STRIBECK_X_MIN: f64 = 0.05;

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_relative_eq;

    #[test]
    fn the_steepest_slope_is_the_models() {
        // sqrt(2/e) for the Gaussian; 1 would be exp(-0) for gamma = 1, held at x = 0.05.
        assert_relative_eq!(
            Friction::default().steepest_stribeck_slope(),
            (2.0f64 / 1.0f64.exp()).sqrt(),
            max_relative = 1e-14
        );
        let tustin = Friction { gamma: 1.0, ..Friction::default() };
        assert_relative_eq!(tustin.steepest_stribeck_slope(), (-0.05f64).exp(), max_relative = 1e-14);
    }

    #[test]
    fn table_one_is_valid_and_each_field_is_checked() {
        let ok = Friction::default();
        ok.validate().unwrap();
        assert_relative_eq!(ok.passivity_margin(), -159.8, max_relative = 1e-12);
        for (bad, field) in [
            (Friction { sigma0: -1.0, ..ok }, "friction.sigma0"),
            (Friction { sigma0: 1e24, ..ok }, "friction.sigma0"),
            (Friction { sigma1: f64::NAN, ..ok }, "friction.sigma1"),
            (Friction { sigma2: -0.1, ..ok }, "friction.sigma2"),
            (Friction { mu_c: 0.0, ..ok }, "friction.mu_c"),
            (Friction { mu_c: 1e-300, ..ok }, "friction.mu_c"),
            (Friction { mu_s: 1.7e308, ..ok }, "friction.mu_s"),
            (Friction { mu_s: 0.9, ..ok }, "friction.mu_s"),
            (Friction { gamma: 0.0, ..ok }, "friction.gamma"),
            (Friction { v_s: f64::INFINITY, ..ok }, "friction.v_s"),
            (Friction { s_ba: 1.0, ..ok }, "friction.s_ba"),
        ] {
            assert_eq!(bad.validate().unwrap_err().field, field);
        }
    }
}

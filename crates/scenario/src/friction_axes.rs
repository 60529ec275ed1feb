//! Friction by direction: `friction.mu`.

use schemars::JsonSchema;
use serde::Deserialize;

use super::number::Number;
use super::spec::FrictionSpec;
use bristle::error::ParameterError;
use bristle::parameter::MU_C;
use bristle::patch::FrictionAxes;

/// The key of friction by direction.
pub(super) const MU: &str = "friction.mu";

/// Coefficients of friction along an axis and across it: both, in place of `mu_c`, or their `ratio`, beside
/// it.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "`{ along, across, angle }`; one coefficient alone is `mu_c`")]
pub struct MuSpec {
    /// Coulomb coefficient along the axis [-], in place of `mu_c`.
    pub along: Option<f64>,
    /// Coulomb coefficient across the axis [-].
    pub across: Option<f64>,
    /// In place of both: the coefficient across over that along the axis [-], which is `mu_c`.
    pub ratio: Option<f64>,
    /// From x of the patch to the axis, counter-clockwise [rad]; 0 if not given.
    #[serde(default)]
    pub angle: f64,
}

impl FrictionSpec {
    /// Takes the coefficient along the axis as `mu_c`, and returns the axes if there are some.
    pub(super) fn axes(&mut self) -> Result<Option<FrictionAxes>, ParameterError> {
        let Some(MuSpec { along, across, ratio, angle }) = self.mu else { return Ok(None) };
        let accepted = "{ along, across } or { ratio }, and an `angle`";
        match (along, across, ratio) {
            (Some(along), Some(across), None) => {
                if self.mu_c.is_some() {
                    return Err(ParameterError::new("friction.mu_c", "given", "only one of `mu_c`, `mu.along`"));
                }
                MU_C.range.check("friction.mu.along", along)?;
                self.mu_c = Some(Number::Constant(along));
                let found = FrictionAxes::new(across / along, angle).map_err(|e| match e.field.as_str() {
                    "friction.mu.ratio" => {
                        let accepted = format!("0.001 to 1000 times the friction along the axis, {along}");
                        ParameterError::new("friction.mu.across", across, accepted)
                    }
                    _ => e,
                });
                found.map(Some)
            }
            (None, None, Some(ratio)) => FrictionAxes::new(ratio, angle).map(Some),
            _ => Err(ParameterError::new(MU, "given", accepted)),
        }
    }
}

//! What a tactile sensor makes of its images: `[sensor]`.
#![allow(rustdoc::broken_intra_doc_links, reason = "units in brackets: the texts are those of the schema")]

use schemars::JsonSchema;
use serde::Deserialize;

use bristle::error::{ParameterError, check};
use bristle::parameter::{SENSOR_CROSSTALK, SENSOR_DEAD, SENSOR_DELAY, SENSOR_NOISE};

/// How a tactile sensor reads the images `tactile` and `shear` of a dataset. What is not given is 0: readings
/// are what the model has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SensorSpec {
    pub noise: Option<f64>,
    pub dead: Option<f64>,
    pub crosstalk: Option<f64>,
    pub delay: Option<f64>,
}

impl SensorSpec {
    /// Checks all numbers, for images every so many seconds.
    pub(super) fn check(&self, record_every: f64) -> Result<(), ParameterError> {
        let all = [
            (SENSOR_NOISE, self.noise),
            (SENSOR_DEAD, self.dead),
            (SENSOR_CROSSTALK, self.crosstalk),
            (SENSOR_DELAY, self.delay),
        ];
        all.into_iter().try_for_each(|(parameter, value)| value.map_or(Ok(()), |value| parameter.check(value)))?;
        let samples = self.delay.unwrap_or_default() / record_every;
        let accepted = format!("a multiple of `record_every`, {record_every} s");
        check(SENSOR_DELAY.name, samples * record_every, accepted, (samples - samples.round()).abs() < 1e-6)
    }
}

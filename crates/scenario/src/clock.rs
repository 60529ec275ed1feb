//! Which time of a recording is t = 0 of a run.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{Deserialize, Deserializer, Error};

use super::number::number_or_text;
use bristle::error::ParameterError;

/// Which time of a recording is t = 0 of the run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TimesFrom {
    /// `"first"`: the first of its times.
    First,
    /// This time \[s\] of the recording's clock.
    Time(f64),
}

impl TimesFrom {
    /// The time that becomes 0, of a recording that begins at `first`.
    pub(super) const fn zero(self, first: f64) -> f64 {
        match self {
            Self::First => first,
            Self::Time(time) => time,
        }
    }
}

/// The error of [`within_run`](bristle::schedule::within_run), with the key that makes the times others,
/// unless that is there.
pub(super) fn told(mut e: ParameterError, from: Option<TimesFrom>) -> ParameterError {
    match from {
        None => e.accepted += "; or `times_from = \"first\"`, if the first of them is that of t = 0",
        Some(_) => e.value += " after `times_from`",
    }
    e
}

impl<'de> Deserialize<'de> for TimesFrom {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let accepted = "\"first\", or the time [s] that is t = 0";
        match number_or_text(deserializer, accepted)? {
            Ok(time) => Ok(Self::Time(time)),
            Err(text) if text == "first" => Ok(Self::First),
            Err(text) => Err(D::Error::custom(format!("`{text}`: expected {accepted}"))),
        }
    }
}

impl JsonSchema for TimesFrom {
    fn schema_name() -> Cow<'static, str> {
        "TimesFrom".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schemars::json_schema!({
            "description": "Which time of a recording is t = 0: its first, or this one [s].",
            "anyOf": [{ "const": "first" }, { "type": "number" }]
        })
    }
}

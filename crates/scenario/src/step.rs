//! Integration steps of a scenario file: `2e-4`, or `{ tolerance = 3e-6 }`.
#![allow(rustdoc::broken_intra_doc_links, reason = "units in brackets: the texts are those of the schema")]

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};

use bristle::engine::{DEFAULT_STEP, LONGEST_STEP};

/// How long the steps are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepSpec {
    /// The longest step [s].
    pub longest: f64,
    /// Largest estimated error of a step ([`bristle::engine::Plan::tolerance`]); without it all steps are as
    /// long as they may be.
    pub tolerance: Option<f64>,
}

impl Default for StepSpec {
    fn default() -> Self {
        Self { longest: DEFAULT_STEP, tolerance: None }
    }
}

/// `{ tolerance = .., longest = .. }`.
#[derive(serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Chosen {
    /// Largest estimated error of a step, 1e-9 to 1: of the velocity [m/s]; of a prescribed motion, of the
    /// friction over `mu_c f_N`.
    tolerance: f64,
    /// Longest step [s], 1e-7 to 0.1.
    #[serde(default = "longest")]
    longest: f64,
}

fn longest() -> f64 {
    LONGEST_STEP
}

impl<'de> Deserialize<'de> for StepSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = StepSpec;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("the longest step [s], or { tolerance = 3e-6 } [m/s]")
            }
            fn visit_f64<E: Error>(self, longest: f64) -> Result<StepSpec, E> {
                Ok(StepSpec { longest, tolerance: None })
            }
            fn visit_i64<E: Error>(self, longest: i64) -> Result<StepSpec, E> {
                self.visit_f64(longest as f64)
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<StepSpec, A::Error> {
                let Chosen { tolerance, longest } = Chosen::deserialize(MapAccessDeserializer::new(map))?;
                Ok(StepSpec { longest, tolerance: Some(tolerance) })
            }
        }
        deserializer.deserialize_any(Either)
    }
}

impl JsonSchema for StepSpec {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Step".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let chosen = generator.subschema_for::<Chosen>();
        schemars::json_schema!({ "anyOf": [{ "type": "number" }, chosen], "default": DEFAULT_STEP })
    }
}

//! A number of a scenario file: a constant or a distribution.

use std::borrow::Cow;
use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};

use super::columns::{Column, Use, column};
use bristle::random::Draw;

/// A physical number: `0.2`, or a distribution it is drawn from, once for every contact.
#[derive(Clone, Debug, PartialEq)]
pub enum Number {
    /// The same for every contact.
    Constant(f64),
    /// `{ uniform = [low, high] }`.
    Uniform([f64; 2]),
    /// `{ log_uniform = [low, high] }`: the logarithm is uniform; 0 < low.
    LogUniform([f64; 2]),
    /// `{ normal = [mean, sd], min = .., max = .. }`: drawn again until it is within the bounds.
    Normal {
        /// Mean before the bounds.
        mean: f64,
        /// Standard deviation before the bounds, >= 0.
        sd: f64,
        /// Lower bound, minus infinity if none.
        min: f64,
        /// Upper bound, infinity if none.
        max: f64,
    },
    /// `{ choice = [a, b, ..] }`: each as likely as the others.
    Choice(Vec<f64>),
    /// `{ column = "name" }`: what the contact's row of the `[table]` has in that column.
    Column(Arc<Column>),
}

impl Number {
    /// The number for the contact of `draw`; `name` is the dotted path of the field and is all that
    /// decides which random number is used.
    pub fn draw(&self, draw: &Draw, name: &str) -> f64 {
        match self {
            Self::Constant(value) => *value,
            Self::Uniform([low, high]) => (low + (high - low) * draw.uniform(name)).clamp(*low, *high),
            Self::LogUniform([low, high]) => {
                (low.ln() + (high.ln() - low.ln()) * draw.uniform(name)).exp().clamp(*low, *high)
            }
            Self::Normal { mean, sd, min, max } => {
                let draws = (0..MAX_DRAWS).map(|k| {
                    let z = if k == 0 { draw.normal(name) } else { draw.normal(&format!("{name}#{k}")) };
                    mean + sd * z
                });
                let inside = |x: &f64| (*min..=*max).contains(x);
                draws.into_iter().find(inside).unwrap_or_else(|| mean.clamp(*min, *max))
            }
            Self::Choice(values) => values[index(draw, name, values.len())],
            Self::Column(column) => column.of(draw)[0],
        }
    }

    /// The least and the greatest value that can be drawn; infinite for a normal distribution without bounds.
    pub fn bounds(&self) -> [f64; 2] {
        match self {
            Self::Constant(value) => [*value; 2],
            Self::Uniform(range) | Self::LogUniform(range) => *range,
            Self::Normal { mean, sd: 0.0, .. } => [*mean; 2],
            Self::Normal { min, max, .. } => [*min, *max],
            Self::Choice(values) => {
                values.iter().fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], v| [low.min(*v), high.max(*v)])
            }
            Self::Column(column) => column.bounds(),
        }
    }

    /// Whether every contact gets the same value.
    pub fn is_constant(&self) -> bool {
        let [low, high] = self.bounds();
        low == high
    }
}

/// Largest number of draws from a normal distribution with bounds. Bounds for which it might not be enough
/// are refused (see [`Distribution::number`]).
const MAX_DRAWS: u32 = 1_000_000;

/// Which of `n` equally likely things the contact of `draw` gets.
pub(super) fn index(draw: &Draw, name: &str, n: usize) -> usize {
    ((draw.uniform(name) * n as f64) as usize).min(n - 1)
}

impl From<f64> for Number {
    fn from(value: f64) -> Self {
        Self::Constant(value)
    }
}

/// A distribution: exactly one of `uniform`, `log_uniform`, `normal`, `choice`, `column`.
#[derive(serde::Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields)]
pub(super) struct Distribution {
    /// `[low, high]`.
    pub uniform: Option<[f64; 2]>,
    /// `[low, high]`, 0 < low; the logarithm is uniform.
    pub log_uniform: Option<[f64; 2]>,
    /// `[mean, standard deviation]`; see `min` and `max`.
    pub normal: Option<[f64; 2]>,
    /// Values that are equally likely.
    pub choice: Option<Vec<f64>>,
    /// The name of a column of the `[table]`.
    pub column: Option<String>,
    /// With `normal`: draws below are drawn again.
    pub min: Option<f64>,
    /// With `normal`: draws above are drawn again.
    pub max: Option<f64>,
}

pub(super) const DISTRIBUTIONS: &str = "`uniform = [low, high]`, `log_uniform = [low, high]`, \
    `normal = [mean, sd]` (with `min`, `max` if wanted), `choice = [a, b, ..]` or `column = \"name\"`";

impl Distribution {
    /// The checked distribution; `None` if no key is there.
    pub fn number<E: Error>(self) -> Result<Option<Number>, E> {
        let Self { uniform, log_uniform, normal, choice, column: name, min, max } = self;
        let wrong = |message: String| Err(E::custom(message));
        if normal.is_none() && (min.is_some() || max.is_some()) {
            return wrong("`min` and `max` belong to `normal = [mean, sd]`".into());
        }
        let given = [uniform.is_some(), log_uniform.is_some(), normal.is_some(), choice.is_some(), name.is_some()];
        if given.iter().filter(|g| **g).count() > 1 {
            return wrong(format!("more than one distribution: expected one of {DISTRIBUTIONS}"));
        }
        // Their difference is a number, too.
        let ordered = |[low, high]: [f64; 2]| low <= high && (high - low).is_finite();
        if let Some(range) = uniform {
            if !ordered(range) {
                return wrong(format!("uniform = {range:?}: expected two finite numbers, low <= high"));
            }
            return Ok(Some(Number::Uniform(range)));
        }
        if let Some(range) = log_uniform {
            if !(ordered(range) && range[0] > 0.0) {
                return wrong(format!("log_uniform = {range:?}: expected two finite numbers, 0 < low <= high"));
            }
            return Ok(Some(Number::LogUniform(range)));
        }
        if let Some([mean, sd]) = normal {
            if !(mean.is_finite() && sd.is_finite() && sd >= 0.0) {
                return wrong(format!("normal = [{mean}, {sd}]: expected a finite mean and a standard deviation >= 0"));
            }
            let (min, max) = (min.unwrap_or(f64::NEG_INFINITY), max.unwrap_or(f64::INFINITY));
            // Drawing again until a value is within the bounds must end, so that these may be neither far
            // from the mean nor very close together.
            let reachable = min <= mean + 3.0 * sd && max >= mean - 3.0 * sd && max - min >= 0.01 * sd;
            if !reachable {
                return wrong(format!(
                    "bounds [{min}, {max}] of normal = [{mean}, {sd}]: expected min < max, at least 0.01 sd apart \
                     and within 3 sd of the mean"
                ));
            }
            return Ok(Some(Number::Normal { mean, sd, min, max }));
        }
        if let Some(values) = choice {
            if values.is_empty() || values.iter().any(|v| !v.is_finite()) {
                return wrong(format!("choice = {values:?}: expected at least one finite number"));
            }
            return Ok(Some(Number::Choice(values)));
        }
        name.map(|name| column(&name, Use::Number).map(Number::Column).map_err(E::custom)).transpose()
    }
}

/// Either a number or a table of type `T`, with errors that still know their place in the file.
pub(super) enum Either<T> {
    Number(f64),
    Table(T),
}

pub(super) fn number_or_table<'de, D, T>(deserializer: D, expecting: &'static str) -> Result<Either<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    struct Visit<T>(&'static str, std::marker::PhantomData<T>);
    impl<'de, T: Deserialize<'de>> Visitor<'de> for Visit<T> {
        type Value = Either<T>;
        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str(self.0)
        }
        fn visit_f64<E: Error>(self, v: f64) -> Result<Self::Value, E> {
            if v.is_finite() { Ok(Either::Number(v)) } else { Err(E::custom(format!("{v}: expected a finite number"))) }
        }
        fn visit_i64<E: Error>(self, v: i64) -> Result<Self::Value, E> {
            Ok(Either::Number(v as f64))
        }
        fn visit_u64<E: Error>(self, v: u64) -> Result<Self::Value, E> {
            Ok(Either::Number(v as f64))
        }
        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
            T::deserialize(MapAccessDeserializer::new(map)).map(Either::Table)
        }
    }
    deserializer.deserialize_any(Visit(expecting, std::marker::PhantomData))
}

/// A finite number, or else a text.
pub(super) fn number_or_text<'de, D: Deserializer<'de>>(
    deserializer: D,
    expecting: &'static str,
) -> Result<Result<f64, String>, D::Error> {
    struct Visit(&'static str);
    impl Visitor<'_> for Visit {
        type Value = Result<f64, String>;
        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str(self.0)
        }
        fn visit_f64<E: Error>(self, v: f64) -> Result<Self::Value, E> {
            if v.is_finite() { Ok(Ok(v)) } else { Err(E::custom(format!("{v}: expected {}", self.0))) }
        }
        fn visit_i64<E: Error>(self, v: i64) -> Result<Self::Value, E> {
            Ok(Ok(v as f64))
        }
        fn visit_u64<E: Error>(self, v: u64) -> Result<Self::Value, E> {
            Ok(Ok(v as f64))
        }
        fn visit_str<E: Error>(self, v: &str) -> Result<Self::Value, E> {
            Ok(Err(v.to_owned()))
        }
    }
    deserializer.deserialize_any(Visit(expecting))
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match number_or_table::<D, Distribution>(
            deserializer,
            "a number or a distribution such as `{ uniform = [a, b] }`",
        )? {
            Either::Number(value) => Ok(Self::Constant(value)),
            Either::Table(table) => table
                .number()?
                .ok_or_else(|| D::Error::custom(format!("an empty distribution: expected one of {DISTRIBUTIONS}"))),
        }
    }
}

impl JsonSchema for Number {
    fn schema_name() -> Cow<'static, str> {
        "Number".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let table = generator.subschema_for::<Distribution>();
        schemars::json_schema!({
            "description": "A constant or a distribution, drawn once for every contact.",
            "anyOf": [{ "type": "number" }, table]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Result<Number, String> {
        #[derive(serde::Deserialize)]
        struct File {
            x: Number,
        }
        toml::from_str::<File>(&format!("x = {text}")).map(|f| f.x).map_err(|e| e.message().to_owned())
    }

    #[test]
    fn every_form_is_read_and_stays_within_its_bounds() {
        for text in [
            "3",
            "0.25",
            "{ uniform = [1, 2.5] }",
            "{ log_uniform = [1e3, 1e6] }",
            "{ normal = [1.0, 0.5], min = 0.9 }",
            "{ choice = [1, 2, 5] }",
        ] {
            let n = number(text).unwrap();
            let [low, high] = n.bounds();
            for k in 0..500 {
                let x = n.draw(&Draw::new(1, k), "a.b");
                assert!(low <= x && x <= high, "{text}: {x}");
            }
        }
    }

    #[test]
    fn impossible_distributions_say_what_is_accepted() {
        for (text, part) in [
            ("\"a\"", "a number or a distribution"),
            ("nan", "finite"),
            ("{ uniform = [2, 1] }", "low <= high"),
            ("{ log_uniform = [0, 1] }", "0 < low"),
            ("{ normal = [0, -1] }", "standard deviation >= 0"),
            ("{ normal = [0, 1], min = 5 }", "within 3 sd"),
            ("{ uniform = [0, 1], min = 0 }", "belong to `normal"),
            ("{ choice = [] }", "at least one"),
            ("{ gaussian = [0, 1] }", "unknown field `gaussian`, expected one of"),
            ("{ uniform = [0, 1], choice = [1] }", "more than one"),
            ("{}", "empty distribution"),
        ] {
            let message = number(text).unwrap_err();
            assert!(message.contains(part), "{text}: {message}");
        }
    }
}

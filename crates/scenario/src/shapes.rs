//! Small types of a scenario file that take more than one form.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, IntoDeserializer, MapAccess, SeqAccess, Visitor};

use super::number::{DISTRIBUTIONS, Distribution, Either, Number, number_or_table};
use bristle::patch::Shape;

/// `a` or `[a, b]`.
#[derive(Clone, Debug, PartialEq)]
pub enum OneOrTwo<T> {
    /// The same for both.
    One(T),
    /// x and y.
    Two(T, T),
}

impl<T> OneOrTwo<T> {
    /// Both, x first.
    pub fn both(&self) -> [&T; 2] {
        match self {
            Self::One(a) => [a, a],
            Self::Two(a, b) => [a, b],
        }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for OneOrTwo<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visit<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Visit<T> {
            type Value = OneOrTwo<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("one number, or two as `[x, y]`")
            }
            fn visit_i64<E: Error>(self, v: i64) -> Result<Self::Value, E> {
                T::deserialize(v.into_deserializer()).map(OneOrTwo::One)
            }
            fn visit_f64<E: Error>(self, v: f64) -> Result<Self::Value, E> {
                T::deserialize(v.into_deserializer()).map(OneOrTwo::One)
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(OneOrTwo::One)
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                let (a, b, c) = (seq.next_element()?, seq.next_element()?, seq.next_element::<T>()?);
                match (a, b, c) {
                    (Some(a), Some(b), None) => Ok(OneOrTwo::Two(a, b)),
                    _ => Err(A::Error::custom("expected one number, or two as `[x, y]`")),
                }
            }
        }
        deserializer.deserialize_any(Visit(PhantomData))
    }
}

impl<T: JsonSchema> JsonSchema for OneOrTwo<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("OneOrTwo_{}", T::schema_name()).into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let item = generator.subschema_for::<T>();
        schemars::json_schema!({
            "anyOf": [item, { "type": "array", "items": item, "minItems": 2, "maxItems": 2 }]
        })
    }
}

/// A named pressure map.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ShapeName {
    /// Uniform on every cell.
    Square,
    /// One uniform column in the middle.
    Line,
    /// One column, heaviest at +y.
    LineGradient,
    /// One row, heaviest at -x.
    LineGradientX,
    /// The paper's circle of whole cells (9.57 mm radius at 21 cells over 20 mm).
    Circle,
    /// A true disc; rim cells count by the share of their area inside.
    Disc,
    /// Two blocks at the left and right ends of the middle band.
    #[serde(rename = "non-convex-1")]
    NonConvex1,
    /// A middle band from the left and an upright bar at the right.
    #[serde(rename = "non-convex-2")]
    NonConvex2,
    /// Eq. (46): a round map that grows and flattens with the normal force.
    Hertz,
}

impl ShapeName {
    /// The fixed map; `None` for the one that follows the normal force.
    pub fn fixed(self) -> Option<Shape> {
        Some(match self {
            Self::Square => Shape::Square,
            Self::Line => Shape::Line,
            Self::LineGradient => Shape::LineGradient,
            Self::LineGradientX => Shape::LineGradientX,
            Self::Circle => Shape::Circle,
            Self::Disc => Shape::Disc,
            Self::NonConvex1 => Shape::NonConvex1,
            Self::NonConvex2 => Shape::NonConvex2,
            Self::Hertz => return None,
        })
    }
}

/// One or several named maps; each as likely as the others.
#[derive(Clone, Debug, PartialEq)]
pub struct ShapeSpec(pub Vec<ShapeName>);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ShapeChoice {
    /// Shapes that are equally likely.
    choice: Vec<ShapeName>,
}

impl<'de> Deserialize<'de> for ShapeSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visit;
        impl<'de> Visitor<'de> for Visit {
            type Value = ShapeSpec;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a shape, or `{ choice = [..] }` of names")
            }
            fn visit_str<E: Error>(self, v: &str) -> Result<Self::Value, E> {
                ShapeName::deserialize(v.into_deserializer()).map(|s| ShapeSpec(vec![s]))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                let ShapeChoice { choice } = ShapeChoice::deserialize(MapAccessDeserializer::new(map))?;
                if choice.is_empty() {
                    Err(A::Error::custom("choice = []: expected at least one shape"))
                } else {
                    Ok(ShapeSpec(choice))
                }
            }
        }
        deserializer.deserialize_any(Visit)
    }
}

impl JsonSchema for ShapeSpec {
    fn schema_name() -> Cow<'static, str> {
        "Shape".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let (name, choice) = (generator.subschema_for::<ShapeName>(), generator.subschema_for::<ShapeChoice>());
        schemars::json_schema!({ "anyOf": [name, choice] })
    }
}

/// Moment of inertia: a number, or from the mass and a uniform shape.
#[derive(Clone, Debug, PartialEq)]
pub enum Inertia {
    /// `I` [kg m^2].
    Number(Number),
    /// `m (w^2 + h^2)/12`, sides `[w, h]` [m].
    Rectangle([Number; 2]),
    /// `m R^2/2`, radius [m].
    Disc(Number),
}

/// `rectangle`, `disc` or a distribution.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct InertiaTable {
    /// Sides `[w, h]` [m] of a uniform rectangle: m (w^2 + h^2)/12.
    rectangle: Option<[Number; 2]>,
    /// Radius [m] of a uniform disc: m R^2/2.
    disc: Option<Number>,
    /// `[low, high]`.
    uniform: Option<[f64; 2]>,
    /// `[low, high]`, 0 < low.
    log_uniform: Option<[f64; 2]>,
    /// `[mean, standard deviation]`.
    normal: Option<[f64; 2]>,
    /// Values that are equally likely.
    choice: Option<Vec<f64>>,
    /// The name of a column of the `[table]`.
    column: Option<String>,
    /// With `normal`: draws below are drawn again.
    min: Option<f64>,
    /// With `normal`: draws above are drawn again.
    max: Option<f64>,
}

impl<'de> Deserialize<'de> for Inertia {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let expecting = "a number, a distribution, `{ rectangle = [w, h] }` or `{ disc = radius }`";
        let t = match number_or_table::<D, InertiaTable>(deserializer, expecting)? {
            Either::Number(value) => return Ok(Self::Number(value.into())),
            Either::Table(table) => table,
        };
        let InertiaTable { rectangle, disc, uniform, log_uniform, normal, choice, column, min, max } = t;
        let number = Distribution { uniform, log_uniform, normal, choice, column, min, max }.number::<D::Error>()?;
        match (rectangle, disc, number) {
            (Some(sides), None, None) => Ok(Self::Rectangle(sides)),
            (None, Some(radius), None) => Ok(Self::Disc(radius)),
            (None, None, Some(number)) => Ok(Self::Number(number)),
            _ => Err(D::Error::custom(format!(
                "expected exactly one of `rectangle = [w, h]`, `disc = radius`, {DISTRIBUTIONS}"
            ))),
        }
    }
}

impl JsonSchema for Inertia {
    fn schema_name() -> Cow<'static, str> {
        "Inertia".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let table = generator.subschema_for::<InertiaTable>();
        schemars::json_schema!({ "anyOf": [{ "type": "number" }, table] })
    }
}

//! What the columns of a recording are, as a fit file says it.

use bristle::error::ParameterError;
use serde::Deserialize;
use serde::de::{Deserializer, Error, Unexpected, Visitor};

use super::units::Kind;

/// Which columns of a file are which quantities, and which rows are used.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordingSpec {
    /// The column of times. Of an MCAP file `log_time` (as without it), `publish_time` or `header.stamp`.
    pub time: Option<TimeColumn>,
    /// Rows in a second \[Hz\], of a file without times.
    pub rate: Option<f64>,
    /// First time that is used, on the recording's own clock \[s\].
    pub from: Option<f64>,
    /// Last time that is used \[s\].
    pub to: Option<f64>,
    /// Samples with a smaller normal force \[N\] are not compared.
    pub least_normal_force: Option<f64>,
    /// Time between the samples that are compared \[s\]; all of them if not given.
    pub every: Option<f64>,
    /// Whether forces and what is compared are averaged over `every`, in place of the sample alone.
    #[serde(default)]
    pub average: bool,
    /// A longer time between two samples is a gap \[s\]; 5 times the median if not given.
    pub gap: Option<f64>,
    /// What drives the contact.
    #[serde(default)]
    pub inputs: InputColumns,
    /// What the contact is compared with.
    pub compare: ComparedColumns,
}

/// The column of times.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TimeColumn {
    /// The column.
    pub column: ColumnName,
    /// Unit of its times; by the column's name, or s, if not given.
    pub unit: Option<String>,
}

/// A column by its name, by the start of its name if no other starts so, or by its number from 0.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged, expecting = "expected the name of a column, or its number from 0")]
pub enum ColumnName {
    /// By number, from 0.
    Number(usize),
    /// By name.
    Name(String),
}

/// A column and what its numbers mean.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ColumnSpec {
    /// The column.
    pub column: ColumnName,
    /// Unit; by the column's name, or the SI unit, if not given.
    pub unit: Option<String>,
    /// A factor on the numbers; 1 if not given.
    pub scale: Option<f64>,
    /// Sign; `auto` of a compared wrench and 1 of everything else, if not given.
    pub sign: Option<Sign>,
    /// What happens to samples at the end of the sensor's range, of a compared wrench.
    #[serde(default)]
    pub saturated: Saturated,
}

/// Columns that drive the contact.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InputColumns {
    /// Normal force of one pad.
    pub normal_force: Option<ColumnSpec>,
    /// Load on the body.
    #[serde(default)]
    pub wrench: WrenchColumns,
    /// Twist of the patch, in its own frame.
    #[serde(default)]
    pub twist: TwistColumns,
    /// Pose of the patch, from which its twist is made.
    #[serde(default)]
    pub position: PoseColumns,
}

/// Columns that the contact is compared with.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ComparedColumns {
    /// Friction of one pad on the body.
    #[serde(default)]
    pub wrench: WrenchColumns,
    /// Pose of the body.
    #[serde(default)]
    pub pose: PoseColumns,
    /// Twist of the body.
    #[serde(default)]
    pub twist: TwistColumns,
}

/// Columns of forces and of the torque.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "components")]
pub struct WrenchColumns {
    pub fx: Option<ColumnSpec>,
    pub fy: Option<ColumnSpec>,
    pub tau: Option<ColumnSpec>,
}

/// Columns of velocities.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "components")]
pub struct TwistColumns {
    pub vx: Option<ColumnSpec>,
    pub vy: Option<ColumnSpec>,
    pub w: Option<ColumnSpec>,
}

/// Columns of positions and of the angle.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "components")]
pub struct PoseColumns {
    pub x: Option<ColumnSpec>,
    pub y: Option<ColumnSpec>,
    pub theta: Option<ColumnSpec>,
}

/// The sign of a column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sign {
    /// As recorded.
    #[default]
    Plus,
    /// The other way.
    Minus,
    /// Both are tried, by whoever compares; all columns of a recording with `auto` have the same.
    Auto,
}

/// What happens to samples that are at the end of a sensor's range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Saturated {
    /// They are not compared if they are at its end for certain, which takes noise in all other samples.
    #[default]
    Auto,
    /// They are not compared.
    Mask,
    /// They are compared like all others.
    Keep,
}

/// A quantity, its column and what it is.
pub(super) struct Quantity<'a> {
    /// As in [`Channel::name`](super::Channel::name).
    pub name: String,
    /// Dotted name of its table in the recording's.
    pub field: String,
    pub kind: Kind,
    pub spec: &'a ColumnSpec,
    pub sign: Sign,
}

impl RecordingSpec {
    /// The quantities of the inputs.
    pub(super) fn inputs(&self) -> Vec<Quantity<'_>> {
        let InputColumns { normal_force, wrench, twist, position } = &self.inputs;
        let named = [("normal_force", Kind::Force, normal_force)].into_iter();
        let all = named.chain(wrench.all()).chain(twist.all()).chain(position.all("position"));
        all.filter_map(|q| quantity("inputs", q, Sign::Plus)).collect()
    }

    /// The quantities that are compared.
    pub(super) fn compared(&self) -> Vec<Quantity<'_>> {
        let ComparedColumns { wrench, pose, twist } = &self.compare;
        let wrench = wrench.all().into_iter().filter_map(|q| quantity("compare", q, Sign::Auto));
        let motion = pose.all("pose").into_iter().chain(twist.all());
        wrench.chain(motion.filter_map(|q| quantity("compare", q, Sign::Plus))).collect()
    }

    /// Checks what can be checked without the file.
    ///
    /// # Errors
    /// The first setting that no recording can have.
    pub fn validate(&self) -> Result<(), ParameterError> {
        let positive = [("rate", self.rate), ("every", self.every), ("gap", self.gap)];
        let least = [("least_normal_force", self.least_normal_force)];
        let times = [("from", self.from), ("to", self.to)];
        let given = |fields: &[(&'static str, Option<f64>)]| -> Vec<(&'static str, f64)> {
            fields.iter().filter_map(|&(field, value)| Some((field, value?))).collect()
        };
        for (field, value) in given(&positive) {
            bristle::error::check(field, value, "a number above 0", value > 0.0)?;
        }
        for (field, value) in given(&least) {
            bristle::error::check(field, value, "a force from 0 N on", value >= 0.0)?;
        }
        for (field, value) in given(&times) {
            bristle::error::check(field, value, "a time in seconds", true)?;
        }
        if let (Some(from), Some(to)) = (self.from, self.to) {
            bristle::error::check("to", to, format!("a time after `from`, {from} s"), to > from)?;
        }
        if let (Some(_), Some(rate)) = (&self.time, self.rate) {
            return Err(ParameterError::number("rate", rate, "either `time` or `rate`, not both"));
        }
        if self.average && self.every.is_none() {
            return Err(ParameterError::new("average", true, "`every`, the time that is averaged over [s]"));
        }
        if self.least_normal_force.is_some() && self.inputs.normal_force.is_none() {
            let accepted = "`inputs.normal_force`, the column of the normal force";
            return Err(ParameterError::new("least_normal_force", "given", accepted));
        }
        let (inputs, compared) = (self.inputs(), self.compared());
        if compared.is_empty() {
            return Err(ParameterError::new("compare", "{}", "at least one column, such as `compare.wrench.fx`"));
        }
        let is_motion = |start: &str| inputs.iter().any(|q| q.name.starts_with(start));
        if is_motion("position.") && is_motion("twist.") {
            return Err(ParameterError::new("inputs.twist", "given", "either `inputs.position` or `inputs.twist`"));
        }
        for q in inputs.iter().chain(&compared) {
            if let Some(scale) = q.spec.scale {
                bristle::error::check(&format!("{}.scale", q.field), scale, "a number other than 0", scale != 0.0)?;
            }
        }
        match inputs.iter().find(|q| q.sign == Sign::Auto) {
            Some(q) => Err(ParameterError::new(format!("{}.sign", q.field), "auto", "1 or -1: an input has one sign")),
            None => Ok(()),
        }
    }
}

type Named<'a> = (&'static str, Kind, &'a Option<ColumnSpec>);

fn quantity<'a>(table: &str, (name, kind, spec): Named<'a>, sign: Sign) -> Option<Quantity<'a>> {
    let spec = spec.as_ref()?;
    let sign = spec.sign.unwrap_or(sign);
    Some(Quantity { name: name.to_owned(), field: format!("{table}.{name}"), kind, spec, sign })
}

impl WrenchColumns {
    fn all(&self) -> [Named<'_>; 3] {
        let Self { fx, fy, tau } = self;
        [("wrench.fx", Kind::Force, fx), ("wrench.fy", Kind::Force, fy), ("wrench.tau", Kind::Torque, tau)]
    }
}

impl TwistColumns {
    fn all(&self) -> [Named<'_>; 3] {
        let Self { vx, vy, w } = self;
        [("twist.vx", Kind::Speed, vx), ("twist.vy", Kind::Speed, vy), ("twist.w", Kind::AngularSpeed, w)]
    }
}

impl PoseColumns {
    fn all(&self, table: &'static str) -> [Named<'_>; 3] {
        let Self { x, y, theta } = self;
        let [of_x, of_y, of_theta] = match table {
            "position" => ["position.x", "position.y", "position.theta"],
            _ => ["pose.x", "pose.y", "pose.theta"],
        };
        [(of_x, Kind::Length, x), (of_y, Kind::Length, y), (of_theta, Kind::Angle, theta)]
    }
}

impl<'de> Deserialize<'de> for Sign {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Signs;
        impl Visitor<'_> for Signs {
            type Value = Sign;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("1, -1 or \"auto\"")
            }

            fn visit_i64<E: Error>(self, value: i64) -> Result<Sign, E> {
                match value {
                    1 => Ok(Sign::Plus),
                    -1 => Ok(Sign::Minus),
                    _ => Err(E::invalid_value(Unexpected::Signed(value), &self)),
                }
            }

            fn visit_f64<E: Error>(self, value: f64) -> Result<Sign, E> {
                match value {
                    1.0 => Ok(Sign::Plus),
                    -1.0 => Ok(Sign::Minus),
                    _ => Err(E::invalid_value(Unexpected::Float(value), &self)),
                }
            }

            fn visit_str<E: Error>(self, value: &str) -> Result<Sign, E> {
                if value == "auto" { Ok(Sign::Auto) } else { Err(E::invalid_value(Unexpected::Str(value), &self)) }
            }
        }
        from.deserialize_any(Signs)
    }
}

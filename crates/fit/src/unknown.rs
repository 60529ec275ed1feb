//! The unknowns of a fit: numbers of the scenario and of its sensors, each with its bounds and its scale.
//!
//! The estimator works with coordinates from 0, the lower bound, to 1, the upper one, in the unknown's scale.

use bristle::error::ParameterError;
use bristle_scenario::Scenario;

use crate::file::{PriorSpec, Scale, UnknownSpec};

/// What a sensor adds to what it measures: `gain x(t - delay) + offset + drift t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// In the unit of the quantity.
    Offset,
    /// In its unit per second of the recording.
    Drift,
    /// [-]
    Gain,
    /// \[s\]
    Delay,
}

impl Part {
    /// All of them, by the last part of their names.
    const ALL: [(&str, Self); 4] =
        [("offset", Self::Offset), ("drift", Self::Drift), ("gain", Self::Gain), ("delay", Self::Delay)];

    /// Its value for a perfect sensor.
    pub const fn neutral(self) -> f64 {
        if matches!(self, Self::Gain) { 1.0 } else { 0.0 }
    }
}

/// What an unknown is a number of.
#[derive(Clone, Debug, PartialEq)]
pub enum Quantity {
    /// The scenario; its name is the dotted path.
    Scenario,
    /// The sensor of a compared quantity.
    Sensor {
        /// The name of the quantity, such as `wrench.fx`.
        channel: String,
        /// Which number of the sensor.
        part: Part,
    },
    /// How far a prescribed patch had moved along x, y or about z before the recording, from unloaded
    /// bristles on, in its own frame [m, m or rad].
    Start(usize),
}

impl Quantity {
    /// Whether another value needs another run of the contact.
    pub const fn is_of_contact(&self) -> bool {
        !matches!(self, Self::Sensor { .. })
    }
}

/// An unknown.
#[derive(Clone, Debug, PartialEq)]
pub struct Unknown {
    /// The dotted path; of one of several recordings with its number behind it, `wrench.fx.offset@1`.
    pub name: String,
    /// What it is a number of.
    pub quantity: Quantity,
    /// The recording that it belongs to; none if all share it.
    pub recording: Option<usize>,
    /// How its coordinate runs between the bounds.
    pub scale: Scale,
    /// The lowest and the highest value.
    pub bounds: [f64; 2],
    /// Whether physics sets the bound, and not the user's guess of where the value is.
    pub natural: [bool; 2],
    /// The value that it is held at where the recordings say nothing: that of the scenario.
    pub nominal: f64,
    /// What was known before.
    pub prior: Option<PriorSpec>,
}

impl Unknown {
    /// The path without the number of a recording.
    pub fn path(&self) -> &str {
        self.name.split('@').next().unwrap_or_default()
    }

    /// The value at a coordinate, 0 to 1.
    pub fn value(&self, coordinate: f64) -> f64 {
        let [low, high] = self.bounds;
        let value = match self.scale {
            Scale::Linear => low + coordinate * (high - low),
            Scale::Log => low * (high / low).powf(coordinate),
        };
        value.clamp(low, high)
    }

    /// The coordinate of a value.
    pub fn coordinate(&self, value: f64) -> f64 {
        let [low, high] = self.bounds;
        match self.scale {
            Scale::Linear => (value - low) / (high - low),
            Scale::Log => (value / low).ln() / (high / low).ln(),
        }
    }

    /// The derivative of the value by the coordinate.
    pub fn slope(&self, coordinate: f64) -> f64 {
        let [low, high] = self.bounds;
        match self.scale {
            Scale::Linear => high - low,
            Scale::Log => self.value(coordinate) * (high / low).ln(),
        }
    }

    /// The coordinate of the nominal value, within the bounds.
    pub fn rest(&self) -> f64 {
        self.coordinate(self.nominal.clamp(self.bounds[0], self.bounds[1])).clamp(0.0, 1.0)
    }

    /// The residual of the prior at a coordinate, in standard deviations, and its derivative.
    pub fn prior_residual(&self, coordinate: f64) -> Option<[f64; 2]> {
        let value = self.value(coordinate);
        Some(match self.prior? {
            PriorSpec::Normal([mean, sd]) => [(value - mean) / sd, self.slope(coordinate) / sd],
            PriorSpec::LogNormal([median, factor]) => {
                [(value / median).ln() / factor.ln(), self.slope(coordinate) / (value * factor.ln())]
            }
        })
    }
}

/// What a recording says about sizes, from which bounds follow where none are given.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// The speed of sliding in fast parts [m/s].
    pub speed: f64,
    /// The longest of the recordings \[s\].
    pub duration: f64,
    /// The median time between samples \[s\].
    pub period: f64,
    /// How far recorded positions and velocities take the patch along x, y and about z at most [m, m, rad].
    pub travel: [f64; 3],
}

/// Bounds where none are given, their scale, and which of them are physics.
fn usual(path: &str, nominal: f64, sizes: Sizes) -> Option<([f64; 2], Scale, [bool; 2])> {
    use Scale::{Linear, Log};
    let tenfold = |x: f64| (x > 0.0).then_some(([x / 10.0, x * 10.0], Log, [false; 2]));
    Some(match path {
        "friction.mu_c" | "friction.mu_s" => ([0.01, 5.0], Log, [false; 2]),
        "friction.mu_s_over_mu_c" => ([1.0, 3.0], Linear, [true, false]),
        "friction.sigma0" => ([1e1, 1e8], Log, [false; 2]),
        // Friction that a rate adds may be ten times the normal force.
        "friction.sigma1" | "friction.sigma2" => ([0.0, 10.0 / sizes.speed], Linear, [true, false]),
        "friction.v_s" => ([1e-6, 10.0], Log, [false; 2]),
        "friction.gamma" => ([0.5, 4.0], Linear, [false; 2]),
        "friction.s_ba" => ([0.0, 0.99], Linear, [true; 2]),
        "initial.pose.0" | "initial.pose.1" => ([nominal - 0.05, nominal + 0.05], Linear, [false; 2]),
        "initial.pose.2" => ([nominal - 0.5, nominal + 0.5], Linear, [false; 2]),
        "body.mass" | "body.inertia" | "inputs.normal_force" | "contact.point.attraction" => return tenfold(nominal),
        _ if path.starts_with("patch.size") => return tenfold(nominal),
        _ => return None,
    })
}

/// The names of what a patch had moved before the recording.
pub const START: [&str; 3] = ["start.x", "start.y", "start.theta"];

/// The motion before the recording that a path is, if it is one.
fn start(path: &str) -> Option<Quantity> {
    START.iter().position(|name| *name == path).map(Quantity::Start)
}

/// The sensor's number that a path is, if it is one: of `channels`.
fn sensor(path: &str, channels: &[&str]) -> Option<Quantity> {
    let (channel, part) = path.rsplit_once('.')?;
    let part = Part::ALL.iter().find(|(name, _)| *name == part)?.1;
    channels.contains(&channel).then(|| Quantity::Sensor { channel: channel.to_owned(), part })
}

/// The names of the sensors' numbers of a channel.
fn sensor_names(channel: &str) -> impl Iterator<Item = String> {
    Part::ALL.into_iter().map(move |(name, _)| format!("{channel}.{name}"))
}

/// The unknown that the file asks for under `path`, for each recording that has its own; and the value that
/// it is `held` at, if it is frozen. `spread` is the largest size of the values of the sensor's quantity.
///
/// # Errors
/// A path that the scenario and the sensors do not have, or a field out of range; errors call the file's
/// field by its path from `fit`.
pub fn unknown(
    path: &str,
    spec: &UnknownSpec,
    held: Option<f64>,
    scenario: &Scenario,
    channels: &[&str],
    spread: impl Fn(&str) -> f64,
    sizes: Sizes,
) -> Result<Unknown, ParameterError> {
    let field = |key: &str| format!("fit.unknowns.{path}{}{key}", if key.is_empty() { "" } else { "." });
    let quantity = sensor(path, channels).or_else(|| start(path)).unwrap_or(Quantity::Scenario);
    let (nominal, given) = match &quantity {
        Quantity::Sensor { channel, part } => {
            let most = spread(channel).max(f64::MIN_POSITIVE);
            let bounds = match part {
                Part::Offset => [-most, most],
                Part::Drift => [-most / sizes.duration, most / sizes.duration],
                Part::Gain => [0.2, 5.0],
                // A fifth of a second is long for a sensor, and short against what is recorded.
                Part::Delay => [-0.2f64.max(2.0 * sizes.period), 0.2f64.max(2.0 * sizes.period)],
            };
            let scale = if *part == Part::Gain { Scale::Log } else { Scale::Linear };
            (part.neutral(), Some((bounds, scale, [false; 2])))
        }
        Quantity::Start(_) if scenario.first().contact.body.free().is_some() => {
            let accepted = "a body of kind `prescribed`; of a free one `initial.pose` and `initial.twist`";
            return Err(ParameterError::new(field(""), "a free body", accepted));
        }
        Quantity::Start(_) if sizes.travel == [0.0; 3] => {
            return Err(ParameterError::new(field(""), "nothing that moves", "a recording whose inputs have a motion"));
        }
        Quantity::Start(axis) => {
            let far = sizes.travel[*axis];
            (0.0, (far > 0.0).then_some(([-far, far], Scale::Linear, [false; 2])))
        }
        Quantity::Scenario => {
            let numbers = &scenario.first().parameters;
            let Some((_, nominal)) = numbers.iter().find(|(name, _)| name == path) else {
                let own = numbers.iter().map(|(name, _)| name.clone());
                let of_start = START.map(str::to_owned).into_iter();
                let names: Vec<String> =
                    own.chain(of_start).chain(channels.iter().flat_map(|c| sensor_names(c))).collect();
                return Err(ParameterError::new(field(""), "unknown", format!("one of {}", names.join(", "))));
            };
            (*nominal, usual(path, *nominal, sizes))
        }
    };
    let (bounds, scale, natural) = match (spec.bounds, given) {
        (Some(bounds), Some((usual, scale, natural))) => {
            let is_natural = |i: usize| natural[i] && bounds[i] == usual[i];
            (bounds, spec.scale.unwrap_or(scale), [0, 1].map(is_natural))
        }
        (Some(bounds), None) => (bounds, spec.scale.unwrap_or_default(), [false; 2]),
        (None, Some((bounds, scale, natural))) => (bounds, spec.scale.unwrap_or(scale), natural),
        // It is not fitted, and needs no bounds.
        (None, None) => match held {
            Some(held) => ([held - 1.0, held + 1.0], Scale::Linear, [false; 2]),
            None => return Err(ParameterError::new(field("bounds"), "none", "`bounds = [lowest, highest]`")),
        },
    };
    if !(bounds[0] < bounds[1] && bounds.iter().all(|b| b.is_finite())) {
        return Err(ParameterError::new(field("bounds"), format!("{bounds:?}"), "two finite numbers, the lower first"));
    }
    if scale == Scale::Log && !(bounds[0] > 0.0) {
        return Err(ParameterError::new(field("bounds.0"), bounds[0], "a number > 0, as `scale = \"log\"`"));
    }
    match spec.prior {
        Some(PriorSpec::Normal([_, sd])) if !(sd > 0.0 && sd.is_finite()) => {
            return Err(ParameterError::new(field("prior.normal.1"), sd, "a standard deviation > 0"));
        }
        Some(PriorSpec::LogNormal([median, factor])) if !(median > 0.0 && factor > 1.0 && factor.is_finite()) => {
            let accepted = "`[median, factor]` with a median > 0 and a factor of one standard deviation > 1";
            return Err(ParameterError::new(field("prior.log_normal"), format!("{:?}", [median, factor]), accepted));
        }
        _ => {}
    }
    let nominal = held.unwrap_or(nominal);
    // A value that is held may be anywhere.
    let bounds = held.map_or(bounds, |value| [bounds[0].min(value), bounds[1].max(value)]);
    if scale == Scale::Log && !(bounds[0] > 0.0) {
        return Err(ParameterError::new(field("value"), nominal, "a number > 0, as `scale = \"log\"`"));
    }
    let name = path.to_owned();
    Ok(Unknown { name, quantity, recording: None, scale, bounds, natural, nominal, prior: spec.prior })
}

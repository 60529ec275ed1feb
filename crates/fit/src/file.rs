//! The fit file: a scenario with one more table, `[fit]`, that says what is unknown.

use std::collections::BTreeMap;
use std::path::Path;

use bristle::error::ParameterError;
use bristle_scenario::{Scenario, ScenarioError, change, input, is_world, part, without_part, wrong_part};
use serde::Deserialize;

use crate::fit::FitError;
use crate::recording::{Recording, RecordingError, RecordingSpec};

/// How the coordinate of an unknown runs between its bounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// Evenly in the value.
    #[default]
    Linear,
    /// Evenly in its logarithm.
    Log,
}

/// What was known of an unknown before.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PriorSpec {
    /// Mean and standard deviation.
    Normal([f64; 2]),
    /// Median, and the factor of one standard deviation.
    LogNormal([f64; 2]),
}

/// What the file says of an unknown.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UnknownSpec {
    /// Lowest and highest value; usual ones of the quantity if not given.
    pub bounds: Option<[f64; 2]>,
    /// Whether its size is unknown (`log`) or its value; usual for the quantity if not given.
    pub scale: Option<Scale>,
    /// What was known before.
    pub prior: Option<PriorSpec>,
    /// The value that it keeps: it is not fitted.
    pub value: Option<Held>,
    /// Whether every recording has its own; offsets and drifts do if not given.
    pub own: Option<bool>,
}

/// What a number that is not fitted has.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged, expecting = "a number, or a list with one for each recording")]
pub enum Held {
    /// The same in all recordings.
    Same(f64),
    /// One value for each recording.
    Each(Vec<f64>),
}

impl Held {
    /// The value in a recording; none if there are not as many.
    pub fn of(&self, recording: usize) -> Option<f64> {
        match self {
            Self::Same(value) => Some(*value),
            Self::Each(values) => values.get(recording).copied(),
        }
    }
}

/// How residuals count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LossName {
    /// Squared.
    #[default]
    Squares,
    /// Squared up to 1.345 standard deviations, linear above: outliers count less.
    Huber,
}

/// The table `[fit]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FitSpec {
    /// Share of the recording, from its start, that is fitted; the rest is predicted, 0.05 to 1.
    #[serde(default = "half")]
    pub share: f64,
    /// Number of starts, 1 to 1000.
    #[serde(default = "eight")]
    pub starts: usize,
    /// Seed of the starts.
    #[serde(default)]
    pub seed: u64,
    /// How residuals count.
    #[serde(default)]
    pub loss: LossName,
    /// Time after the start of a recording, and after each gap, that is simulated and not compared \[s\].
    #[serde(default)]
    pub burn_in: f64,
    /// Most points that are tried from one start, 1 to 10000.
    #[serde(default = "hundred")]
    pub evaluations: usize,
    /// Samples of what is known after the fit, 0 to 100000; none if not given.
    #[serde(default)]
    pub samples: usize,
    /// The unknowns by their paths.
    #[serde(default)]
    pub unknowns: BTreeMap<String, UnknownSpec>,
    /// The columns of all recordings.
    pub recording: Option<RecordingSpec>,
    /// In place of it, the columns of each.
    #[serde(default)]
    pub recordings: Vec<RecordingSpec>,
}

/// The key of a motion that recordings say.
pub(crate) const MOTION: &str = "inputs.twist.vx";
/// What the fitted scenario says where they do.
const AT_REST: &str = "# The recording moved the patch. Here it rests: put a motion of yours into inputs.twist.\n";

fn half() -> f64 {
    0.5
}
fn eight() -> usize {
    8
}
fn hundred() -> usize {
    100
}

/// A fit file that has been read.
#[derive(Clone, Debug)]
pub struct FitFile {
    /// The table `[fit]`.
    pub spec: FitSpec,
    name: String,
    /// The whole text, and that of the scenario in it, with the same lines.
    text: String,
    scenario: String,
    base: std::path::PathBuf,
}

impl FitFile {
    /// Reads the file `path` and applies `changes` (`key=value`, see [`change`]) in order.
    ///
    /// # Errors
    /// A file that cannot be read, a change that cannot be applied, or as [`FitFile::parse`].
    pub fn load(path: &Path, changes: &[String]) -> Result<Self, ScenarioError> {
        let text = input::text(path)?;
        let text = changes.iter().try_fold(text, |text, c| change(&text, c))?;
        let with = if changes.is_empty() { "" } else { " (with changes)" };
        Self::parse(&text, path.parent().unwrap_or(Path::new("")), &format!("{}{with}", path.display()))
    }

    /// A fit file from its text. `base` is where relative files are, `name` is what errors call the text.
    ///
    /// # Errors
    /// TOML that is malformed, an unknown key, a wrong type, or a value out of range in `[fit]`, with its
    /// place. The rest is checked by [`FitFile::scenario`].
    pub fn parse(text: &str, base: &Path, name: &str) -> Result<Self, ScenarioError> {
        let none = || FitSpec {
            share: half(),
            starts: eight(),
            seed: 0,
            loss: LossName::default(),
            burn_in: 0.0,
            evaluations: hundred(),
            samples: 0,
            unknowns: BTreeMap::new(),
            recording: None,
            recordings: Vec::new(),
        };
        let spec: FitSpec = part(text, name, "fit")?.unwrap_or_else(none);
        let file = Self {
            spec,
            name: name.to_owned(),
            text: text.to_owned(),
            scenario: without_part(text, name, "fit")?,
            base: base.to_owned(),
        };
        if is_world(text) {
            let accepted = "a scenario of patches, with `[body]`: motions of rigid bodies are not fitted";
            return Err(file.wrong(&ParameterError::new("bodies", "given", accepted)));
        }
        let check = |field: &str, value: f64, low: f64, high: f64, unit: &str| {
            let accepted = format!("{low} to {high}{unit}");
            let error = || file.wrong(&ParameterError::new(field, value, accepted));
            if (low..=high).contains(&value) { Ok(()) } else { Err(error()) }
        };
        let FitSpec { share, starts, burn_in, evaluations, samples, .. } = file.spec;
        check("fit.share", share, 0.05, 1.0, "")?;
        check("fit.starts", starts as f64, 1.0, 1000.0, "")?;
        check("fit.burn_in", burn_in, 0.0, 1e6, " [s]")?;
        check("fit.evaluations", evaluations as f64, 1.0, 10_000.0, "")?;
        check("fit.samples", samples as f64, 0.0, 100_000.0, "")?;
        Ok(file)
    }

    /// Reads recordings as `[fit.recording]` or `[[fit.recordings]]` says.
    ///
    /// # Errors
    /// No such table, as many tables as there are not files, or a file that is refused.
    pub fn read(&self, files: &[std::path::PathBuf]) -> Result<Vec<Recording>, FitError> {
        self.read_by(files, |path, spec| Recording::read(path, spec))
    }

    /// The same of recordings that are anywhere, which `read` reads.
    ///
    /// # Errors
    /// As [`FitFile::read`].
    pub fn read_by<T>(
        &self,
        files: &[T],
        read: impl Fn(&T, &RecordingSpec) -> Result<Recording, RecordingError>,
    ) -> Result<Vec<Recording>, FitError> {
        let FitSpec { recording, recordings, .. } = &self.spec;
        let wrong = |field: &str, value: String, accepted: &str| {
            Err(self.wrong(&ParameterError::new(field, value, accepted)).into())
        };
        let specs: Vec<(String, &RecordingSpec)> = match (recording, recordings.len()) {
            (Some(spec), 0) => files.iter().map(|_| ("fit.recording".to_owned(), spec)).collect(),
            (None, 0) => {
                return wrong("fit.recording", "missing".into(), "`[fit.recording]` with `[fit.recording.compare]`");
            }
            (Some(_), _) => return wrong("fit.recordings", "beside `fit.recording`".into(), "one of the two"),
            (None, n) if n != files.len() => {
                return wrong(
                    "fit.recordings",
                    format!("{n} tables"),
                    &format!("one for each of {} files", files.len()),
                );
            }
            (None, _) => recordings.iter().enumerate().map(|(i, spec)| (format!("fit.recordings.{i}"), spec)).collect(),
        };
        let one = |(file, (table, spec)): (&T, (String, &RecordingSpec))| {
            read(file, spec).map_err(|error| match error {
                RecordingError::Setting(error) => {
                    let field = format!("{table}.{}", error.field);
                    self.wrong(&ParameterError { field, ..error }).into()
                }
                error => FitError::Recording(error),
            })
        };
        files.iter().zip(specs).map(one).collect()
    }

    /// What is wrong with a value of the file, at its place.
    pub fn wrong(&self, error: &ParameterError) -> ScenarioError {
        wrong_part(&self.text, &self.name, error)
    }

    /// Whether the scenario is of a point contact, which has laws of its own.
    pub fn is_point(&self) -> bool {
        let root = self.scenario.parse::<toml_edit::DocumentMut>();
        root.is_ok_and(|root| {
            root.get("contact").and_then(|c| c.get("model")).and_then(|m| m.as_str()) == Some("point")
        })
    }

    /// Whether the scenario in it has a key.
    fn says(&self, key: &str) -> bool {
        let root = self.scenario.parse::<toml_edit::DocumentMut>();
        root.is_ok_and(|root| key.split('.').try_fold(root.as_item(), |item, part| item.get(part)).is_some())
    }

    /// The text of the scenario in it, with those of `needed` (keys with their values) that it does not say,
    /// because recordings say them.
    fn completed(&self, needed: &[(&str, f64)]) -> Result<(String, usize), ScenarioError> {
        let (mut text, mut lines) = (self.scenario.clone(), 0);
        for (key, value) in needed {
            match key {
                _ if self.says(key) => {}
                _ if key.contains('.') => text = change(&text, &format!("{key}={value:?}"))?,
                // The first line, so that the others stay in their order.
                _ => (text, lines) = (format!("{key} = {value:?}\n{text}"), lines + 1),
            }
        }
        Ok((text, lines))
    }

    /// The scenario, with `changes` (`key=value`), and with those of `needed` (keys with their values) that
    /// it does not say, because recordings say them.
    ///
    /// # Errors
    /// As [`Scenario::parse`].
    pub fn scenario(&self, needed: &[(&str, f64)], changes: &[String]) -> Result<Scenario, ScenarioError> {
        let (text, lines) = self.completed(needed)?;
        let text = changes.iter().try_fold(text, |text, c| change(&text, c))?;
        Scenario::parse(&text, &self.base, &self.name).map_err(|mut error| {
            if let ScenarioError::Text(excerpt) = &mut error {
                excerpt.line = excerpt.line.saturating_sub(lines).max(1);
            }
            error
        })
    }

    /// The text of the scenario with some numbers replaced.
    ///
    /// # Errors
    /// A path that cannot be set.
    pub fn fitted(&self, needed: &[(&str, f64)], changes: &[String]) -> Result<String, ScenarioError> {
        let (text, _) = self.completed(needed)?;
        let text = changes.iter().try_fold(text, |text, c| change(&text, c))?;
        let rests = needed.iter().any(|(key, _)| *key == MOTION && !self.says(key));
        Ok(if rests { format!("{AT_REST}{text}") } else { text })
    }

    /// The scenario `text` with the keys of the file `path` in place of its own, those of tables one by one.
    ///
    /// # Errors
    /// A file that cannot be read or is no TOML, or as [`Scenario::parse`].
    pub fn experiment(&self, text: &str, path: &Path) -> Result<Scenario, ScenarioError> {
        let name = path.display().to_string();
        let own = without_part(&input::text(path)?, &name, "fit")?;
        // Both have been parsed before.
        let table = |text: &str| text.parse::<toml::Table>().unwrap_or_default();
        let mut whole = table(text);
        for (key, new) in table(&own) {
            match (whole.get_mut(&key), new) {
                (Some(toml::Value::Table(old)), toml::Value::Table(new)) => old.extend(new),
                (_, new) => drop(whole.insert(key, new)),
            }
        }
        Scenario::parse(&whole.to_string(), &self.base, &format!("{name} (in the fitted scenario)"))
    }
}

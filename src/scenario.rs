//! Scenario files: a contact described in TOML, whose numbers may be distributions.
//!
//! The language is documented in `docs/scenario.md`; [`json_schema`] prints the same as a JSON schema.

mod check;
mod contact;
mod diagnostics;
mod number;
mod overrides;
mod patch_file;
mod patches;
mod sampler;
mod shapes;
mod signal;
mod spec;
mod step;
mod suggest;
mod tables;

use diagnostics::from_toml;
pub use diagnostics::{Excerpt, ScenarioError};
pub use number::Number;
pub use overrides::change;
pub use patch_file::PatchSource;
pub(crate) use patch_file::frames;
pub use signal::{Interpolate, SegmentSpec, SignalSpec, SineSpec};
pub use spec::{EngineChoice, Precision, RuleName, Spec};
pub use step::StepSpec;

use std::path::{Path, PathBuf};

use rayon::prelude::*;

use crate::contact::Contact;
use crate::engine::Plan;
use crate::error::ParameterError;
use crate::input::{self, InputError};
use crate::random::Draw;

/// A checked scenario, from which contacts are drawn.
///
/// ```
/// use bristle::scenario::Scenario;
/// let text = r#"
///     duration = 1.0
///     contacts = 8
///     [body]
///     kind = "body"
///     mass = { uniform = [0.5, 1.5] }
///     inertia = { disc = 0.05 }
///     [inputs]
///     tilt = { angle = 0.6 }
/// "#;
/// let scenario = Scenario::parse(text, ".".as_ref(), "slide.toml")?;
/// let contact = scenario.contact(3)?;
/// assert!(contact.body.free().is_some_and(|body| (0.5..1.5).contains(&body.mass)));
/// assert_eq!(scenario.plan().duration(), 1.0);
/// # Ok::<(), bristle::scenario::ScenarioError>(())
/// ```
#[derive(Debug)]
pub struct Scenario {
    name: String,
    text: String,
    base: PathBuf,
    spec: Spec,
    plan: Plan,
    patches: patches::Patches,
    tables: tables::Tables,
}

/// A contact and the numbers it was drawn with.
#[derive(Clone, Debug)]
pub struct Drawn {
    /// The contact.
    pub contact: Contact,
    /// Every number of the contact, constant or drawn, by the dotted path of its field (of points, sines and
    /// segments those that are drawn); also what follows from them (`body.inertia`, `friction.mu_s`,
    /// `patch.torsional_radius` [m]).
    pub parameters: Vec<(String, f64)>,
}

/// The text of the TOML file `path` with `changes` (`key=value`, see [`change`]) applied in order, and what
/// errors call it.
pub(crate) fn read(path: &Path, changes: &[String]) -> Result<(String, String), ScenarioError> {
    let text = input::text(path)?;
    let values = text.bytes().filter(|c| b",=[{".contains(c)).count() as u64;
    if values > input::MAX_VALUES {
        let reason = format!("some {values} values: expected at most {}; long maps fit into files", input::MAX_VALUES);
        return Err(InputError::file(path, reason).into());
    }
    // An error in the file itself is reported with its own line numbers, before changes are applied.
    if !changes.is_empty() {
        from_toml::<serde::de::IgnoredAny>(&path.display().to_string(), &text)?;
    }
    let text = changes.iter().try_fold(text, |text, c| change(&text, c))?;
    let with = if changes.is_empty() { "" } else { " (with changes)" };
    Ok((text, format!("{}{with}", path.display())))
}

impl Scenario {
    /// Reads the scenario file `path` and applies `changes` (`key=value`, see [`change`]) in order.
    ///
    /// # Errors
    /// A file that cannot be read, a change that cannot be applied, or as [`Scenario::parse`].
    pub fn load(path: &Path, changes: &[String]) -> Result<Self, ScenarioError> {
        let (text, name) = read(path, changes)?;
        Self::parse(&text, path.parent().unwrap_or(Path::new("")), &name)
    }

    /// A scenario from its text. `base` is where relative map files are, `name` is what errors call the text.
    ///
    /// # Errors
    /// TOML that is malformed, an unknown key, a wrong type, or a value out of range, with its place.
    /// Contact 0 is drawn and checked; [`Scenario::check`] does the others.
    pub fn parse(text: &str, base: &Path, name: &str) -> Result<Self, ScenarioError> {
        let spec: Spec = from_toml(name, text)?;
        let at = |field: &str, message: String| ScenarioError::field(name, text, field, message);
        check::spec(&spec).map_err(|e| at(e.field.split(", ").next().unwrap_or_default(), e.to_string()))?;
        let mut plan =
            Plan::new(spec.duration, spec.step.longest, spec.record_every).map_err(|e| at(&e.field, e.to_string()))?;
        if let Some(tolerance) = spec.step.tolerance {
            plan = plan.with_tolerance(tolerance).map_err(|e| at(&e.field, e.to_string()))?;
        }
        plan.most_steps = spec.limits.steps;
        plan.validate().map_err(|e| at(&e.field, e.to_string()))?;
        let patches = patches::Patches::prepare(&spec.patch, base).map_err(|e| at(&e.field, e.message))?;
        let (name, text) = (name.to_owned(), text.to_owned());
        let tables = tables::Tables::default();
        let scenario = Self { name, text, base: base.to_owned(), spec, plan, patches, tables };
        scenario.draw(0)?;
        Ok(scenario)
    }

    /// Step, samples and duration.
    #[must_use]
    pub fn plan(&self) -> Plan {
        self.plan.clone()
    }

    /// How many contacts the scenario asks for.
    #[must_use]
    pub fn contacts(&self) -> u64 {
        self.spec.contacts
    }

    /// Contact `k`. It depends on the text, the seed and `k`, not on how many contacts there are.
    ///
    /// # Errors
    /// A drawn value out of range.
    pub fn contact(&self, k: u64) -> Result<Contact, ScenarioError> {
        self.drawn(k, true, false).map(|drawn| drawn.contact)
    }

    /// Contact `k` with the numbers it was drawn with.
    ///
    /// # Errors
    /// A drawn value out of range.
    pub fn draw(&self, k: u64) -> Result<Drawn, ScenarioError> {
        self.drawn(k, true, true)
    }

    /// The numbers that contact `k` is drawn with: [`Drawn::parameters`], without making a limit surface.
    ///
    /// # Errors
    /// A drawn value out of range.
    pub fn parameters(&self, k: u64) -> Result<Vec<(String, f64)>, ScenarioError> {
        self.drawn(k, false, true).map(|drawn| drawn.parameters)
    }

    /// Contact `k` without its limit surface: its patch, body and inputs.
    ///
    /// # Errors
    /// A drawn value out of range.
    pub(crate) fn without_surface(&self, k: u64) -> Result<Contact, ScenarioError> {
        self.drawn(k, false, false).map(|drawn| drawn.contact)
    }

    /// Contact `k`, with its limit surface if `surface`, and with its parameters if `numbers`.
    fn drawn(&self, k: u64, surface: bool, numbers: bool) -> Result<Drawn, ScenarioError> {
        let mut drawer = sampler::Sampler::new(Draw::new(self.spec.seed, k), numbers);
        let made = contact::contact(&self.spec, &self.patches, &self.tables, surface, &mut drawer);
        Ok(Drawn { contact: made.map_err(|e| self.at(k, &e))?, parameters: drawer.parameters.unwrap_or_default() })
    }

    /// Contacts of a range, in parallel.
    ///
    /// # Errors
    /// The first contact with a value out of range.
    pub fn block(&self, range: std::ops::Range<u64>) -> Result<Vec<Contact>, ScenarioError> {
        let drawn: Vec<_> = range.into_par_iter().map(|k| self.contact(k)).collect();
        drawn.into_iter().collect()
    }

    /// Draws every contact and checks it, in parallel.
    ///
    /// # Errors
    /// The first contact with a value out of range.
    pub fn check(&self) -> Result<(), ScenarioError> {
        let bad = (0..self.spec.contacts).into_par_iter().find_map_first(|k| self.drawn(k, false, false).err());
        bad.map_or(Ok(()), Err)
    }

    fn at(&self, k: u64, e: &ParameterError) -> ScenarioError {
        ScenarioError::field(&self.name, &self.text, &e.field, format!("contact {k}: {e}"))
    }

    /// The scenario as it was read, with nothing but its text.
    #[must_use]
    pub const fn spec(&self) -> &Spec {
        &self.spec
    }

    /// The name of the scenario: its path.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The effective text: with every change in it.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// A hash of the maps that the scenario has read, by which a changed map file is noticed.
    pub(crate) fn maps(&self) -> u64 {
        self.patches.digest()
    }

    /// The map file the scenario reads, if any.
    #[must_use]
    pub fn map_file(&self) -> Option<PathBuf> {
        self.spec.patch.file.as_ref().map(|file| self.base.join(file))
    }
}

/// The JSON schema of scenario files.
#[must_use]
pub fn json_schema() -> serde_json::Value {
    schemars::schema_for!(Spec).to_value()
}

#[cfg(test)]
mod tests;

//! Scenario files: a contact described in TOML, whose numbers may be distributions.
//!
//! The language is documented in `docs/scenario.md`; [`json_schema`] prints the same as a JSON schema.

mod check;
mod clock;
mod columns;
mod contact;
mod describe;
mod diagnostics;
mod digest;
mod exact;
mod friction_axes;
mod friction_map;
mod indenter;
pub mod input;
mod level;
pub mod map_file;
mod number;
mod overrides;
mod part;
mod patch_failure;
mod patch_file;
mod patches;
mod sampler;
mod sensor;
mod sequence;
mod several;
mod shapes;
mod signal;
mod spec;
#[cfg(feature = "rigid")]
mod stability;
mod step;
mod suggest;
mod tables;
#[cfg(feature = "rigid")]
mod world;

pub use clock::TimesFrom;
pub use columns::{Column, Order, TableSpec};
pub use describe::Descriptions;
use diagnostics::Document;
pub use diagnostics::{Excerpt, ScenarioError};
use friction_map::FrictionMapSpec;
pub use friction_map::MAP as FRICTION_MAP;
pub use indenter::RELIEF;
pub use level::{BASELINE, Baseline, Clipped};
pub use number::Number;
pub use overrides::change;
pub use part::{part, without_part, wrong_part};
pub use patch_file::{PatchSource, frames};
pub use sequence::FramesSpec;
pub use several::{PlacedSpec, SharesName};
pub use signal::{Interpolate, SegmentSpec, SignalSpec, SineSpec};
pub use spec::{EngineChoice, ModelName, Precision, RuleName, Spec};
#[cfg(feature = "rigid")]
pub use stability::{StabilityFile, StabilitySpec, WrenchSpec, stability_schema};
pub use step::StepSpec;
#[cfg(feature = "rigid")]
pub use world::{
    AxesName, PairSpec, SolverName, WorldBodySpec, WorldKind, WorldScenario, WorldShapeSpec, WorldSpec, is_world,
    world_json_schema,
};

use std::path::{Path, PathBuf};

use rayon::prelude::*;

use columns::Rows;

use crate::input::InputError;
use bristle::contact::Contact;
use bristle::engine::Plan;
use bristle::error::ParameterError;
use bristle::random::Draw;
use bristle::{parameter, pool};

/// A checked scenario, from which contacts are drawn.
///
/// ```
/// use bristle_scenario::Scenario;
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
/// # Ok::<(), bristle_scenario::ScenarioError>(())
/// ```
#[derive(Debug)]
pub struct Scenario {
    name: String,
    text: String,
    base: PathBuf,
    spec: Spec,
    plan: Plan,
    patches: patches::Patches,
    several: Option<several::Several>,
    tables: tables::Tables,
    /// A hash of the table of contacts.
    rows: u64,
    /// Contact 0.
    first: Option<Drawn>,
}

/// A contact and the numbers it was drawn with.
#[derive(Clone, Debug)]
pub struct Drawn {
    /// The contact.
    pub contact: Contact,
    /// Every number of the contact, constant or drawn, by the dotted path of its field (of points, sines and
    /// segments those that are drawn); also what follows from them (`body.inertia`, `friction.mu_s`,
    /// `patch.torsional_radius` \[m\]).
    pub parameters: Vec<(String, f64)>,
}

/// The numbers of contacts, or of worlds, as columns: an array a parameter, with its name; NaN where one has
/// no such number. `of` draws those of one. Names come in the order of the first, and others behind them.
///
/// # Errors
/// The first that cannot be drawn.
pub fn in_columns<E: Send>(
    contacts: std::ops::Range<u64>,
    of: impl Fn(u64) -> Result<Vec<(String, f64)>, E> + Sync,
) -> Result<Vec<(String, Vec<f64>)>, E> {
    let drawn: Vec<_> = pool::run(|| contacts.into_par_iter().map(&of).collect());
    let n = drawn.len();
    let mut columns: Vec<(String, Vec<f64>)> = Vec::new();
    for (k, numbers) in drawn.into_iter().enumerate() {
        for (i, (name, value)) in numbers?.into_iter().enumerate() {
            let is_usual = columns.get(i).is_some_and(|(other, _)| *other == name);
            let place = if is_usual { Some(i) } else { columns.iter().position(|(other, _)| *other == name) };
            let place = place.unwrap_or_else(|| {
                columns.push((name, vec![f64::NAN; n]));
                columns.len() - 1
            });
            columns[place].1[k] = value;
        }
    }
    Ok(columns)
}

/// The text of the TOML file `path` with `changes` (`key=value`, see [`change`]) applied in order, and what
/// errors call it.
pub fn read(path: &Path, changes: &[String]) -> Result<(String, String), ScenarioError> {
    let text = input::text(path)?;
    let values = text.bytes().filter(|c| b",=[{".contains(c)).count() as u64;
    if values > input::MAX_VALUES {
        let reason = format!("some {values} values: expected at most {}; long maps fit into files", input::MAX_VALUES);
        return Err(InputError::file(path, reason).into());
    }
    // An error in the file itself is reported with its own line numbers, before changes are applied.
    if !changes.is_empty() {
        Document::parse(&path.display().to_string(), &text)?;
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
        Self::of(Document::parse(name, text)?, base)
    }

    /// The scenario that a text says.
    fn of(document: Document<'_>, base: &Path) -> Result<Self, ScenarioError> {
        let (name, text) = (document.file, document.text);
        if document.has("bodies") {
            let accepted = "a scenario of patches, with `[body]`; one of rigid bodies is simulated by `bristle \
                            rollout` alone";
            let e = ParameterError::new("bodies", "given", accepted);
            return Err(ScenarioError::field(name, text, "bodies", e.to_string()).about(&e));
        }
        let (mut spec, rows) = columns::with_table::<Spec>(document, base)?;
        let at = |e: &ParameterError| {
            let field = e.field.split(", ").next().unwrap_or_default();
            ScenarioError::field(name, text, field, e.to_string()).about(e)
        };
        if spec.contacts == spec::NOT_GIVEN {
            spec.contacts = rows.map_or(1, |rows| rows.rows);
        }
        let too_few = |rows: &Rows| rows.order == Order::Rows && rows.rows < spec.contacts;
        if let Some(Rows { rows, .. }) = rows.filter(too_few) {
            let accepted = format!("at most {rows}, the rows of the table, or `table.order = \"random\"`");
            return Err(at(&ParameterError::new("contacts", spec.contacts, accepted)));
        }
        let axes = spec.friction.axes().map_err(|e| at(&e))?;
        check::spec(&spec).map_err(|e| at(&e))?;
        let mut plan = Plan::new(spec.duration, spec.step.longest, spec.record_every).map_err(|e| at(&e))?;
        if let Some(tolerance) = spec.step.tolerance {
            plan = plan.with_tolerance(tolerance).map_err(|e| at(&e))?;
        }
        plan.most_steps = spec.limits.steps;
        plan.stop_when = spec.stop_when.unwrap_or_default();
        plan.validate().map_err(|e| at(&e))?;
        check::times(&spec).map_err(|e| at(&e))?;
        spec.without_patch();
        let patches = patches::Patches::prepare(&spec.patch, base)
            .map_err(|e| ScenarioError::field(name, text, &e.field, e.message))?;
        let wrong = |e: patch_failure::PatchFailure| ScenarioError::field(name, text, &e.field, e.message);
        let map = spec.friction.map.as_ref().map(|map| map.load(base)).transpose().map_err(wrong)?;
        let several = several::Several::prepare(&spec, map.as_ref(), axes, base).map_err(wrong)?;
        // Of several patches friction by region and by direction is that of the whole.
        let moves = spec.contact.model == ModelName::Reduced && several.is_none();
        let patches = match &map {
            None => patches,
            Some(map) => patches.with_friction(map, moves).map_err(wrong)?,
        };
        let patches = if several.is_none() { patches.with_axes(axes) } else { patches };
        patches.check_over(&spec.patch, spec.duration).map_err(|e| at(&e))?;
        let (name, text) = (name.to_owned(), text.to_owned());
        let tables = tables::Tables::default();
        let rows = rows.map_or(0, |rows| rows.digest);
        let base = base.to_owned();
        let mut scenario = Self { name, text, base, spec, plan, patches, several, tables, rows, first: None };
        scenario.first = Some(scenario.draw(0)?);
        Ok(scenario)
    }

    /// Step, samples and duration.
    pub fn plan(&self) -> Plan {
        self.plan.clone()
    }

    /// How many contacts the scenario asks for.
    pub fn contacts(&self) -> u64 {
        self.spec.contacts
    }

    /// Contact 0, which says what all contacts have in common: the kind of body, the model, the cells.
    pub fn first(&self) -> &Drawn {
        self.first.as_ref().unwrap_or_else(|| unreachable!("a scenario that is read has drawn it"))
    }

    /// Contact `k`. It depends on the text, the seed and `k`, not on how many contacts there are.
    ///
    /// # Errors
    /// A drawn value out of range.
    pub fn contact(&self, k: u64) -> Result<Contact, ScenarioError> {
        self.drawn(k, self.spec.seed, &[], true, false).map(|drawn| drawn.contact)
    }

    /// Contact `k` as another `seed` draws it, with some of its numbers given in place of drawn ones: names
    /// are those of [`Drawn::parameters`] but for those that follow from others. `patch.shape` and
    /// `patch.frame` are numbers, too, if there are several.
    ///
    /// ```
    /// # use bristle_scenario::Scenario;
    /// let text = include_str!("../../../examples/in_hand.toml");
    /// let scenario = Scenario::parse(text, ".".as_ref(), "in_hand.toml")?;
    /// let contact = scenario.variant(3, 7, &[("friction.mu_c".to_owned(), 0.5)])?;
    /// assert_eq!(contact.friction.mu_c, 0.5);
    /// # Ok::<(), bristle_scenario::ScenarioError>(())
    /// ```
    ///
    /// # Errors
    /// A value out of range, or a name that is not there.
    pub fn variant(&self, k: u64, seed: u64, given: &[(String, f64)]) -> Result<Contact, ScenarioError> {
        self.drawn(k, seed, given, true, false).map(|drawn| drawn.contact)
    }

    /// [`Scenario::variant`] with the numbers it was drawn with.
    ///
    /// # Errors
    /// As [`Scenario::variant`].
    pub fn variant_drawn(&self, k: u64, seed: u64, given: &[(String, f64)]) -> Result<Drawn, ScenarioError> {
        self.drawn(k, seed, given, true, true)
    }

    /// The numbers of [`Scenario::variant`], as [`Scenario::parameters`] has them.
    ///
    /// # Errors
    /// As [`Scenario::variant`].
    pub fn variant_parameters(
        &self,
        k: u64,
        seed: u64,
        given: &[(String, f64)],
    ) -> Result<Vec<(String, f64)>, ScenarioError> {
        self.drawn(k, seed, given, false, true).map(|drawn| drawn.parameters)
    }

    /// Contact `k` with the numbers it was drawn with.
    ///
    /// # Errors
    /// A drawn value out of range.
    pub fn draw(&self, k: u64) -> Result<Drawn, ScenarioError> {
        self.drawn(k, self.spec.seed, &[], true, true)
    }

    /// The numbers that contact `k` is drawn with: [`Drawn::parameters`], without making a limit surface.
    ///
    /// # Errors
    /// A drawn value out of range.
    pub fn parameters(&self, k: u64) -> Result<Vec<(String, f64)>, ScenarioError> {
        self.drawn(k, self.spec.seed, &[], false, true).map(|drawn| drawn.parameters)
    }

    /// Contact `k` without its limit surface: its patch, body and inputs.
    ///
    /// # Errors
    /// A drawn value out of range.
    pub fn without_surface(&self, k: u64) -> Result<Contact, ScenarioError> {
        self.drawn(k, self.spec.seed, &[], false, false).map(|drawn| drawn.contact)
    }

    /// [`Scenario::variant`] without the limit surface.
    ///
    /// # Errors
    /// As [`Scenario::variant`].
    pub fn variant_without_surface(
        &self,
        k: u64,
        seed: u64,
        given: &[(String, f64)],
    ) -> Result<Contact, ScenarioError> {
        self.drawn(k, seed, given, false, false).map(|drawn| drawn.contact)
    }

    /// Contact `k` of a `seed` with some numbers `given`, with its limit surface if `surface`, and with its
    /// parameters if `numbers`.
    fn drawn(
        &self,
        k: u64,
        seed: u64,
        given: &[(String, f64)],
        surface: bool,
        numbers: bool,
    ) -> Result<Drawn, ScenarioError> {
        let mut drawer = sampler::Sampler::new(Draw::new(seed, k), given, numbers);
        let patches = (&self.patches, self.several.as_ref());
        let made = contact::contact(&self.spec, patches, &self.tables, surface, &mut drawer)
            .and_then(|contact| drawer.check().map(|()| contact));
        match made {
            Ok(contact) => Ok(Drawn { contact, parameters: drawer.parameters.unwrap_or_default() }),
            // Where its numbers come from is noted with the parameters.
            Err(_) if !numbers => self.drawn(k, seed, given, surface, true),
            Err(e) => {
                let of_table = drawer.origin(&e).map(|origin| format!(" ({origin})")).unwrap_or_default();
                let message = format!("contact {k}{of_table}: {e}");
                Err(ScenarioError::field(&self.name, &self.text, &e.field, message).about(&e))
            }
        }
    }

    /// Contacts of a range, in parallel.
    ///
    /// # Errors
    /// The first contact with a value out of range.
    pub fn block(&self, range: std::ops::Range<u64>) -> Result<Vec<Contact>, ScenarioError> {
        let drawn: Vec<_> = pool::run(|| range.into_par_iter().map(|k| self.contact(k)).collect());
        drawn.into_iter().collect()
    }

    /// Draws every contact and checks it, in parallel.
    ///
    /// # Errors
    /// The first contact with a value out of range.
    pub fn check(&self) -> Result<(), ScenarioError> {
        let bad = |k| self.drawn(k, self.spec.seed, &[], false, false).err();
        pool::run(|| (0..self.spec.contacts).into_par_iter().find_map_first(bad)).map_or(Ok(()), Err)
    }

    /// The scenario as it was read, with nothing but its text.
    pub const fn spec(&self) -> &Spec {
        &self.spec
    }

    /// The name of the scenario: its path.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The effective text: with every change in it.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What `patch.clip` has changed in the maps, if it is given.
    pub const fn clipped(&self) -> Option<Clipped> {
        self.patches.clipped()
    }

    /// Digests of the maps and of the table that the scenario has read, by which a changed file is noticed.
    pub fn maps(&self) -> [u64; 2] {
        let own = self.several.iter().flat_map(several::Several::own).map(patches::Patches::digest);
        [own.fold(self.patches.digest(), |sum, own| sum.rotate_left(1) ^ own), self.rows]
    }

    /// Reads the files of the scenario anew and compares them with what it has read.
    ///
    /// # Errors
    /// A file that has changed since, or cannot be read any more.
    pub fn check_files(&self) -> Result<(), ScenarioError> {
        if self.files().next().is_none() {
            return Ok(());
        }
        let again = Self::parse(&self.text, &self.base, &self.name)?;
        let changed = [again.maps()[0] != self.maps()[0], again.maps()[1] != self.maps()[1]];
        let is_changed = |key: &str| changed[usize::from(key == "table.file")];
        let Some((key, file)) = self.files().find(|(key, _)| is_changed(key)) else { return Ok(()) };
        let accepted = "the file that the scenario has read, which has changed since; load the scenario anew";
        let e = ParameterError::new(key, file.display(), accepted);
        Err(ScenarioError::field(&self.name, &self.text, key, e.to_string()).about(&e))
    }

    /// The files that the scenario reads, each with the key that names it.
    pub fn files(&self) -> impl Iterator<Item = (&'static str, PathBuf)> {
        let baseline = match &self.spec.patch.baseline {
            Some(Baseline::File(file)) => Some(file),
            _ => None,
        };
        let friction = match &self.spec.friction.map {
            Some(FrictionMapSpec::File(file)) => Some(file),
            _ => None,
        };
        let relief = self.spec.patch.indenter.as_ref().and_then(|by| by.file.as_ref());
        let table = self.spec.table.as_ref().map(|t| &t.file);
        let files = [self.spec.patch.file.as_ref(), baseline, friction, table, relief];
        FILE_KEYS.into_iter().zip(files).filter_map(|(key, file)| Some((key, self.base.join(file?))))
    }
}

/// The keys that name files which a scenario reads.
pub const FILE_KEYS: [&str; 5] = ["patch.file", BASELINE, FRICTION_MAP, "table.file", RELIEF];

/// The JSON schema of scenario files.
pub fn json_schema() -> serde_json::Value {
    let mut schema = schemars::schema_for!(Spec).to_value();
    parameter::ALL.iter().for_each(|parameter| describe::put(&mut schema, parameter));
    schema
}

#[cfg(test)]
mod tests;

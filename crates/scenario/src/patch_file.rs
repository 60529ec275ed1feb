//! Files with one patch and nothing else, for commands that need no motion; these accept a scenario, too.

use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;

use super::diagnostics::Document;
use super::friction_axes::MuSpec;
use super::friction_map::FrictionMapSpec;
use super::number::Number;
use super::patches::Patches;
use super::sampler::Sampler;
use super::several::{PlacedSpec, Several};
use super::shapes::OneOrTwo;
use super::spec::{FrictionSpec, PatchSpec};
use super::{Clipped, Scenario, ScenarioError};
use bristle::contact::Model;
use bristle::error::ParameterError;
use bristle::limit_surface::Rule;
use bristle::patch::{FrictionAxes, Patch};
use bristle::random::Draw;
use bristle::range::{LIMIT_FORCE, MU};

/// A patch and the load on it.
#[derive(Clone, Debug)]
pub struct PatchSource {
    /// The patch; a map that follows the normal force is that at `f_n`.
    pub patch: Arc<Patch>,
    /// Coefficient of friction [-]: the file's `mu`, or `mu_c` of a scenario's contact 0 at the start. None
    /// if a patch file says nothing.
    pub mu: Option<f64>,
    /// Normal force \[N\]: the file's `f_n`, or that on ONE pad of a scenario's contact 0 at the start. None
    /// if a patch file says nothing.
    pub f_n: Option<f64>,
    /// The rule that a scenario with the reduced model asks for.
    pub rule: Option<Rule>,
    /// The resolution that a scenario with the reduced model asks for.
    pub n_ls: Option<usize>,
    /// Whether the text is a scenario.
    pub scenario: bool,
    /// What `patch.clip` has changed in the maps that were read, if it is given.
    pub clipped: Option<Clipped>,
}

/// A file with a `[patch]` table, and several `[[patches]]` that have its map if there are some.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PatchFile {
    patch: PatchSpec,
    patches: Option<Vec<PlacedSpec>>,
    #[serde(default)]
    friction: FrictionOfPatch,
    mu: Option<f64>,
    f_n: Option<f64>,
}

/// Friction by region and by direction, as `[friction]` of a scenario has it.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct FrictionOfPatch {
    map: Option<FrictionMapSpec>,
    mu: Option<MuSpec>,
}

impl FrictionOfPatch {
    /// The axes of friction, if there are some, and the coefficient along the first, in place of `mu`.
    fn axes(&self, mu: Option<f64>) -> Result<(Option<FrictionAxes>, Option<f64>), ParameterError> {
        let along = self.mu.and_then(|of| of.along);
        if along.is_some() && mu.is_some() {
            return Err(ParameterError::new("mu", "given", "only one of `mu`, `friction.mu.along`"));
        }
        let axes = FrictionSpec { mu: self.mu, ..FrictionSpec::default() }.axes()?;
        Ok((axes, along.or(mu)))
    }
}

impl PatchSource {
    /// The patch of contact 0 of a scenario, or of a file with a `[patch]` table of constants and, if wanted,
    /// several `[[patches]]`, `friction.map`, `friction.mu`, `mu` [-] and `f_n` \[N\]. `base` is where
    /// relative map files are, `name` is what errors call the text.
    ///
    /// ```
    /// use bristle_scenario::PatchSource;
    /// let text = "f_n = 5.0\n[patch]\nshape = \"square\"\nsize = 0.03\n";
    /// let source = PatchSource::parse(text, ".".as_ref(), "square.toml")?;
    /// assert_eq!((source.f_n, source.mu), (Some(5.0), None));
    /// # Ok::<(), bristle_scenario::ScenarioError>(())
    /// ```
    ///
    /// # Errors
    /// As [`Scenario::parse`].
    pub fn parse(text: &str, base: &Path, name: &str) -> Result<Self, ScenarioError> {
        let document = Document::parse(name, text)?;
        if document.is_scenario() {
            let scenario = Scenario::of(document, base)?;
            let contact = &scenario.first().contact;
            let f_n = contact.normal_force_at(0.0);
            let refused = |field: &str, value: &str, accepted: &str| {
                let e = ParameterError::new(field, value, accepted);
                Err(ScenarioError::field(name, text, field, e.to_string()).about(&e))
            };
            if let Some(k) = contact.patch_on_own_surface() {
                let accepted = "none: patches that slide against each other have no limit surface in common";
                return refused(&format!("patches.{k}.surface"), "given", accepted);
            }
            if matches!(contact.model, Model::Layer(_)) && f_n == 0.0 {
                let accepted = "one that presses at the start, where its limit surface is asked for";
                return refused("patch.indenter", "a layer without pressure at the start", accepted);
            }
            let mu = contact.inputs.mu_c.as_ref().map_or(contact.friction.mu_c, |mu| mu.value(0.0));
            let asked = &scenario.spec().contact;
            return Ok(Self {
                patch: contact.patch_at(0.0),
                mu: Some(mu),
                f_n: Some(f_n),
                rule: asked.rule.map(Rule::from),
                n_ls: asked.n_ls,
                scenario: true,
                clipped: scenario.clipped(),
            });
        }
        let PatchFile { patch, patches: placed, friction, mu, f_n } = document.read()?;
        let at = |field: &str, message: String| ScenarioError::field(name, text, field, message);
        let (axes, mu) = friction.axes(mu).map_err(|e| at(&e.field, e.to_string()).about(&e))?;
        for (field, value, range) in [("mu", mu, MU), ("f_n", f_n, LIMIT_FORCE)] {
            if let Some(v) = value {
                range.check(field, v).map_err(|e| at(field, e.to_string()))?;
            }
        }
        if let Some((field, accepted)) = without_effect(&patch) {
            return Err(at(field, format!("{field}: expected {accepted}")));
        }
        let map = friction.map.map(|map| map.load(base)).transpose().map_err(|e| at(&e.field, e.message))?;
        let several = placed.map(|placed| Several::of(&placed, &patch, map.as_ref(), base)).transpose();
        let several = several.map_err(|e| at(&e.field, e.message))?.map(|several| several.with_axes(axes));
        if let Some(field) = several.as_ref().and_then(Several::inputs_key) {
            let message = format!("{field}: expected none in a file of a patch, where `share` is its part of `f_n`");
            return Err(at(&field, message));
        }
        if let Some(field) = several.as_ref().and_then(Several::drawn_key) {
            return Err(at(&field, format!("{field}: expected {CONSTANT}")));
        }
        let mut patches = Patches::prepare(&patch, base).map_err(|e| at(&e.field, e.message))?;
        if let Some(map) = &map {
            patches = patches.with_friction(map, false).map_err(|e| at(&e.field, e.message))?;
        }
        // Of several patches friction by direction is that of the whole.
        let patches = if several.is_none() { patches.with_axes(axes) } else { patches };
        if patch.frame.is_none() && !patches.frames().is_empty() {
            let accepted = "expected `frame`, for nothing is drawn (see the sweep `patch.frame=all`)";
            return Err(at("patch.file", format!("patch.file: has several frames: {accepted}")));
        }
        let mut sampler = Sampler::new(Draw::new(0, 0), &[], false);
        let drawn = match &several {
            Some(several) => several.draw(&patches, None, &[], &mut sampler),
            None => patches.draw(f_n.unwrap_or(1.0), &mut sampler),
        };
        let patch = drawn.map_err(|e| at(&e.field, e.to_string()))?.patch;
        let clipped = patches.clipped();
        Ok(Self { patch, mu, f_n, rule: None, n_ls: None, scenario: false, clipped })
    }
}

/// The frames with pressure of the file that the `[patch]` table of a text reads; none if that has no frames.
/// Arguments as of [`PatchSource::parse`].
///
/// # Errors
/// As [`Scenario::parse`].
pub fn frames(text: &str, base: &Path, name: &str) -> Result<Vec<usize>, ScenarioError> {
    let patch = Document::parse(name, text)?.key::<PatchSpec>("patch")?.unwrap_or_default();
    let patches = Patches::prepare(&PatchSpec { frame: None, frames: None, update: None, ..patch }, base);
    let patches = patches.map_err(|e| ScenarioError::field(name, text, &e.field, e.message))?;
    Ok(patches.frames().to_vec())
}

/// What is accepted in place of a number that is drawn.
const CONSTANT: &str = "a constant, for nothing is drawn from a file with a patch alone (see sweeps)";

/// The first key that has no effect in a file with a patch alone, where nothing is drawn and nothing moves,
/// and what is accepted.
fn without_effect(spec: &PatchSpec) -> Option<(&'static str, &'static str)> {
    if let Some(key) = drawn_key(spec) {
        return Some((key, CONSTANT));
    }
    [
        ("patch.unit", spec.unit.is_some(), "this key only in a scenario; here `f_n` is the normal force"),
        ("patch.update", spec.update.is_some(), "this key only in a scenario"),
        ("patch.frames", spec.frames.is_some(), "this key only in a scenario; `frame` names one of them"),
        ("patch.takes_frames", spec.takes_frames.is_some(), "this key only in a scenario"),
        ("patch.layer", spec.layer.is_some(), "this key only in a scenario"),
        ("patch.indenter", spec.indenter.is_some(), "this key only in a scenario"),
    ]
    .into_iter()
    .find_map(|(field, wrong, accepted)| wrong.then_some((field, accepted)))
}

/// The first key of a patch that is drawn, where only constants are accepted.
pub(super) fn drawn_key(spec: &PatchSpec) -> Option<&'static str> {
    let drawn = |n: &Option<Number>| n.as_ref().is_some_and(|n| !n.is_constant());
    let sizes = spec.size.as_ref().map(OneOrTwo::both);
    [
        ("patch.size", sizes.is_some_and(|sizes| sizes.iter().any(|n| !n.is_constant()))),
        ("patch.frame", drawn(&spec.frame)),
        ("patch.shape", spec.shape.as_ref().is_some_and(|s| s.0.len() > 1)),
        ("patch.radius", drawn(&spec.radius)),
        ("patch.exponent", drawn(&spec.exponent)),
        ("patch.exponent_per_newton", drawn(&spec.exponent_per_newton)),
    ]
    .into_iter()
    .find_map(|(field, is_drawn)| is_drawn.then_some(field))
}

//! All that is asked of some recordings: fits of one law or several, experiments, the page.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::along::along;
use crate::compare::{Comparison, compare};
use crate::file::FitFile;
use crate::fit::{Ask, Fit, FitError, fit, needed};
use crate::next::{Next, next};
use crate::recording::Recording;
use crate::{page, report};

/// What is asked.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// Laws to compare: of a point contact its laws. That of the file alone if there are none.
    pub compare: Vec<String>,
    /// Experiments.
    pub next: Vec<PathBuf>,
    /// Whether there is to be a page.
    pub page: bool,
}

/// The answers.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The fits, at least one: the best one first, which the rest is about.
    pub fits: Vec<Fit>,
    /// Of the laws.
    pub comparison: Option<Comparison>,
    /// Of the experiments.
    pub next: Option<Next>,
    /// The page, as HTML text.
    pub page: Option<String>,
}

/// Fits the unknowns of a file to recordings, and does what else is asked. Once `ask` says `false`, what has
/// been found is the result.
///
/// # Errors
/// What is refused, an engine that fails, or a stop before anything was found.
pub fn run(file: &FitFile, recordings: &[Recording], request: &Request, ask: &Ask<'_>) -> Result<Outcome, FitError> {
    let key = if file.is_point() { "contact.point.law" } else { "friction.law" };
    let mut laws: Vec<Vec<String>> = Vec::new();
    for law in &request.compare {
        let change = vec![format!("{key}={law}")];
        if !laws.contains(&change) {
            laws.push(change);
        }
    }
    if laws.is_empty() {
        laws.push(Vec::new());
    }
    // Before the search, which takes long.
    let needed = needed(recordings);
    let scenario = file.fitted(&needed, &[])?;
    laws.iter().try_for_each(|changes| file.scenario(&needed, changes).map(drop))?;
    for path in &request.next {
        file.experiment(&scenario, path)?;
    }
    let mut fits: Vec<Fit> = Vec::new();
    for changes in &laws {
        match fit(file, recordings, changes, ask) {
            Err(FitError::Stopped) if !fits.is_empty() => break,
            done => fits.push(done?),
        }
    }
    let comparison = if request.compare.is_empty() { None } else { compare(&fits) };
    if let Some(best) = comparison.as_ref().and_then(|c| c.laws.first())
        && let Some(place) = fits.iter().position(|fit| fit.law == best.law)
    {
        fits.swap(0, place);
    }
    let asked = (!request.next.is_empty()).then(|| next(file, &fits[0], &request.next, ask));
    let next = match asked {
        None | Some(Err(FitError::Stopped)) => None,
        Some(done) => Some(done?),
    };
    let page = if request.page {
        Some(page::html(&fits, comparison.as_ref(), &along(&fits[0], ask)?, next.as_ref()))
    } else {
        None
    };
    Ok(Outcome { fits, comparison, next, page })
}

impl Outcome {
    /// For programs: the best fit, and all of them beside the comparison.
    pub fn json(&self) -> Value {
        let mut all = report::json(&self.fits[0]);
        if let Some(comparison) = &self.comparison {
            all["compare"] = json!(comparison);
            all["laws"] = self.fits.iter().map(report::json).collect();
        }
        if let Some(next) = &self.next {
            all["now"] = json!(next.now);
            all["next"] = json!(next.experiments);
            all["next_sentence"] = json!(next.sentence);
        }
        all
    }

    /// For people.
    pub fn text(&self) -> String {
        let mut text = report::text(&self.fits[0]);
        self.comparison.iter().for_each(|c| text += &report::text_of(c));
        self.next.iter().for_each(|n| text += &report::text_of_next(n));
        self.fits[0].notes.iter().chain(&self.fits[0].before).for_each(|n| text += &format!("Note: {n}.\n"));
        text.trim_end().to_owned()
    }
}

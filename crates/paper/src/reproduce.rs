//! Every figure and table of Waltersson & Karayiannidis, *Planar Friction Modelling with LuGre Dynamics and
//! Limit Surfaces*, computed anew, with extensions beyond the paper and with its errata.
//!
//! A [`Section`] is one small file. It computes some [`Item`]s, each with pictures, the paper's claim, the
//! measurement and [`Check`]s against published and converged numbers. To add a section, write its file and
//! name it in [`SECTIONS`].

mod context;
mod euler;
mod item;
mod markdown;
mod setup;
mod write;

mod accuracy;
mod agreement;
mod drift;
mod errata;
mod extensions;
mod fixed_step;
mod in_hand;
mod literature;
mod maps;
mod polyhedral;
mod profile;
pub mod pushes;
mod resolution;
mod steps;
mod surfaces;
mod tables;
mod tolerance;
mod truncated;
mod work;

use std::time::Instant;

pub use context::{Context, Error};
pub use item::{Check, Item, Wanted};
pub use markdown::write as write_markdown;
pub use write::{json, write};

/// A section of the page, which is a file of this module: the items it makes, in order.
pub struct Section {
    /// Heading under which its items stand.
    pub group: &'static str,
    /// What it makes, such as `fig6`.
    pub ids: &'static [&'static str],
    /// Makes the items, those with an id in `ids` in any order.
    pub run: fn(&Context<'_>) -> Result<Vec<Item>, Error>,
}

const PAPER: &str = "The paper";
const FIXED_STEP: &str = "Fixed-step friction (Kikuuwe et al. 2005)";
const AGREEMENT: &str = "Where the families of models agree";
const EXTENSIONS: &str = "Beyond the paper";
const ERRATA: &str = "Where the literature is wrong or silent";

/// All sections, in the order of the page.
pub const SECTIONS: &[Section] = &[
    Section { group: PAPER, ids: profile::IDS, run: profile::run },
    Section { group: PAPER, ids: drift::IDS, run: drift::run },
    Section { group: PAPER, ids: maps::IDS, run: maps::run },
    Section { group: PAPER, ids: resolution::IDS, run: resolution::run },
    Section { group: PAPER, ids: steps::IDS, run: steps::run },
    Section { group: PAPER, ids: surfaces::IDS, run: surfaces::run },
    Section { group: PAPER, ids: in_hand::IDS, run: in_hand::run },
    Section { group: PAPER, ids: tables::IDS, run: tables::run },
    Section { group: FIXED_STEP, ids: fixed_step::IDS, run: fixed_step::run },
    Section { group: AGREEMENT, ids: agreement::IDS, run: agreement::run },
    Section { group: EXTENSIONS, ids: work::IDS, run: work::run },
    Section { group: EXTENSIONS, ids: accuracy::IDS, run: accuracy::run },
    Section { group: EXTENSIONS, ids: tolerance::IDS, run: tolerance::run },
    Section { group: EXTENSIONS, ids: tolerance::FEATURES, run: tolerance::run_features },
    Section { group: EXTENSIONS, ids: extensions::IDS, run: extensions::run },
    Section { group: EXTENSIONS, ids: polyhedral::IDS, run: polyhedral::run },
    Section { group: EXTENSIONS, ids: pushes::IDS, run: pushes::run },
    Section { group: ERRATA, ids: errata::IDS, run: errata::run },
    Section { group: ERRATA, ids: literature::IDS, run: literature::run },
];

/// Every id that [`run`] takes, in the order of the page.
pub fn ids() -> impl Iterator<Item = &'static str> {
    SECTIONS.iter().flat_map(|s| s.ids.iter().copied())
}

/// Makes the items with these ids, all of them if there are none, grouped as on the page.
///
/// # Errors
/// A simulation that the engine refuses, or a file of measured pushes that cannot be read.
pub fn run(context: &Context<'_>, wanted: &[String]) -> Result<Vec<(&'static str, Vec<Item>)>, Error> {
    let chosen = |id: &str| wanted.is_empty() || wanted.iter().any(|w| w == id);
    let mut groups: Vec<(&'static str, Vec<Item>)> = Vec::new();
    for section in SECTIONS {
        let ids: Vec<&str> = section.ids.iter().copied().filter(|id| chosen(id)).collect();
        if ids.is_empty() {
            continue;
        }
        context.begin(&ids.join(", "));
        let start = Instant::now();
        let mut items = (section.run)(context)?;
        let each = start.elapsed().as_secs_f64() / items.len() as f64;
        items.iter_mut().for_each(|item| item.seconds = each);
        items.retain(|item| ids.contains(&item.id.as_str()));
        items.sort_by_key(|item| ids.iter().position(|id| *id == item.id));
        context.end(ids.len());
        match groups.last_mut() {
            Some((group, list)) if *group == section.group => list.extend(items),
            _ => groups.push((section.group, items)),
        }
    }
    // Sections are made of items that share simulations; the page has the order of the paper.
    if let Some((_, items)) = groups.iter_mut().find(|(group, _)| *group == PAPER) {
        items.sort_by_key(|item| number(&item.id));
    }
    Ok(groups)
}

/// Figures before tables, by their numbers.
fn number(id: &str) -> (bool, u32) {
    let digits = id.trim_start_matches(|c: char| !c.is_ascii_digit());
    (id.starts_with("table"), digits.parse().unwrap_or(u32::MAX))
}

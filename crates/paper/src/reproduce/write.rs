//! Writes items as a page with its data beside it, and as JSON.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::item::{
    Check, Item,
    Wanted::{AtLeast, AtMost, Near, Told},
};
use crate::page::{Document, Key, Part, Table, csv, file_names, files, palette, short};
use bristle::cpu::Cpu;
use bristle::engine::Engine;
use bristle_data::surfaces::publish;

/// What was made, as one JSON object: `items`, each with at least `id`, `claim`, `measured`, `holds`,
/// `seconds`.
pub fn json(groups: &[(&'static str, Vec<Item>)], out: &Path, quick: bool, seconds: f64) -> Value {
    let items: Vec<Value> = groups.iter().flat_map(|(_, items)| items).map(Item::json).collect();
    json!({
        "bristle": env!("CARGO_PKG_VERSION"),
        "machine": Cpu::new().info().adapter,
        "quick": quick,
        "seconds": seconds,
        "report": out.join("report.html").display().to_string(),
        "items": items,
    })
}

/// Writes `report.html`, and one CSV and the pictures of every item, into `out`, each complete or not at all,
/// the page last.
///
/// # Errors
/// The file that could not be written, and why.
pub fn write(
    groups: &[(&'static str, Vec<Item>)],
    out: &Path,
    quick: bool,
    seconds: f64,
) -> Result<(), (PathBuf, std::io::Error)> {
    fs::create_dir_all(out).map_err(|e| (out.to_owned(), e))?;
    let put = |name: &str, text: &str| {
        let path = out.join(name);
        publish(&path, |path, e| (path, e), |partial| fs::write(partial, text).map_err(|e| (path.clone(), e)))
    };
    for item in groups.iter().flat_map(|(_, items)| items) {
        if !item.columns.is_empty() {
            put(&data(item), &csv(&item.columns))?;
        }
        for (name, svg) in files(&item.id, &item.pictures) {
            put(&name, &svg)?;
        }
    }
    put("report.html", &page(groups, quick, seconds))
}

/// Name of the CSV file of an item.
fn data(item: &Item) -> String {
    format!("{}.csv", item.id)
}

fn page(groups: &[(&'static str, Vec<Item>)], quick: bool, seconds: f64) -> String {
    let all = || groups.iter().flat_map(|(_, items)| items);
    let (count, expected) = (all().count(), all().filter(|i| i.as_expected()).count());
    let how = if quick { " This is the quick version, with fewer and coarser runs." } else { "" };
    let intro = vec![
        "Every figure and table of Waltersson & Karayiannidis, Planar Friction Modelling with LuGre Dynamics \
         and Limit Surfaces, computed anew by bristle; all pictures are its own."
            .into(),
        format!(
            "{expected} of {count} entries are as they should be: the claim holds, or is known not to and \
             why, and the numbers agree with published and converged ones. A claim holds if every number \
             that stands for it meets its limit."
        ),
        format!(
            "bristle {}, {} in double precision, {seconds:.0} s in all.{how} Data are in the CSV files \
             beside this page, pictures in the SVG files.",
            env!("CARGO_PKG_VERSION"),
            Cpu::new().info().adapter
        ),
    ];
    let key = vec![
        Key::new(palette::GRID, "distributed model"),
        Key::new(palette::SURFACE, "reduced, limit surface"),
        Key::new(palette::ELLIPSOID, "reduced, ellipsoid"),
        Key::new(palette::PUBLISHED, "reduced, published form where it is compared"),
        Key::new(palette::OTHER, "others, baseline"),
    ];
    let groups = groups.iter().map(|(name, items)| ((*name).to_owned(), items.iter().map(part).collect())).collect();
    Document { title: "Planar friction, reproduced".into(), intro, key, groups }.html()
}

fn part(item: &Item) -> Part {
    let word = match (item.holds(), item.agrees(), &item.erratum) {
        (_, false, _) => "numbers differ",
        (true, true, _) => "holds",
        (false, true, Some(_)) => "does not hold, as known",
        (false, true, None) => "does not hold",
    };
    let mut lead = vec![("Claim".to_owned(), item.claim.clone()), ("Measured".to_owned(), item.measured.clone())];
    lead.extend(item.erratum.iter().map(|why| ("Why not".to_owned(), why.clone())));
    if !item.note.is_empty() {
        lead.push(("Note".into(), item.note.clone()));
    }
    let mut tables = item.tables.clone();
    let (claim, other): (Vec<&Check>, Vec<&Check>) = item.checks.iter().partition(|c| c.of_claim);
    if !claim.is_empty() {
        tables.push(numbers("The claim in numbers", &claim));
    }
    let compared = other.iter().filter(|c| c.wanted != Told).count();
    let agree = other.iter().filter(|c| c.wanted != Told && c.ok()).count();
    let closed = match compared {
        0 => format!("{} more number{}", other.len(), if other.len() == 1 { "" } else { "s" }),
        _ => format!("Compared with published or converged numbers: {agree} of {compared} agree"),
    };
    let folded = if other.is_empty() { Vec::new() } else { vec![(closed, numbers("", &other))] };
    let foot =
        format!("{}{}{:.2}\u{a0}s.", item.parameters, if item.parameters.is_empty() { "" } else { ". " }, item.seconds);
    Part {
        id: item.id.clone(),
        title: item.title.clone(),
        mark: Some((word.into(), item.as_expected())),
        lead,
        pictures: item.pictures.clone(),
        tables,
        folded,
        details: item.scenario.iter().map(|text| ("The run as a scenario file".to_owned(), text.clone())).collect(),
        files: (!item.columns.is_empty())
            .then(|| data(item))
            .into_iter()
            .chain(file_names(&item.id, &item.pictures))
            .collect(),
        foot,
    }
}

fn numbers(caption: &str, checks: &[&Check]) -> Table {
    let mut table = Table::new(caption, &["", "found", "wanted", ""]);
    for check in checks {
        let wanted = match check.wanted {
            Near(v, limit) => format!("{} \u{b1} {}", short(v, 4), short(limit, 2)),
            AtMost(v) => format!("\u{2264} {}", short(v, 4)),
            AtLeast(v) => format!("\u{2265} {}", short(v, 4)),
            Told => String::new(),
        };
        let mark = match (check.wanted, check.ok()) {
            (Told, _) => "",
            (_, true) => "\u{2713}",
            (_, false) => "\u{2717}",
        };
        table.row([check.name.clone(), short(check.found, 4), wanted, mark.into()]);
    }
    table
}

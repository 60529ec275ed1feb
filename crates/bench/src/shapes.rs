//! Times every layout that a kernel of the GPU engine may have on an adapter.

use std::fmt::Write;
use std::time::Duration;

use web_time::Instant;

use serde::{Deserialize, Serialize};

use super::measure::{measure, once};
use super::subject::{Subject, open};
use super::work::{RECORD_EVERY, in_hand};
use super::{Options, process};
use crate::gpu::Layout;
use bristle::engine::{DEFAULT_STEP, Engine, Plan};
use bristle::error::EngineError;
use bristle::friction::Law;

/// The layouts of an adapter, measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Shapes {
    /// The adapter and its driver.
    pub adapter: String,
    /// Where its present layouts come from.
    pub source: String,
    /// Whether times are processor time (of a software driver), else they are wall time.
    pub processor_time: bool,
    /// The commit of the checkout that this program was built in.
    pub commit: String,
    /// Layouts that were not measured, as the time was over.
    pub left_out: usize,
    /// One row a law, size and layout; of each size the fastest layout comes first.
    pub rows: Vec<ShapeRow>,
}

/// A layout, measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ShapeRow {
    /// The law.
    pub law: String,
    /// Cells with pressure.
    pub cells: usize,
    /// The layout in words.
    pub layout: String,
    /// Whether the adapter gets it now.
    pub present: bool,
    /// Time over passes and cells [ns].
    pub ns_per_cell_pass: f64,
}

/// Measures every layout of the best adapter there is, with grids of the sizes asked for, under
/// Elasto-Plastic and LuGre. `note` is called with the layout that is being measured.
///
/// # Errors
/// No adapter, or a device that fails.
pub fn shapes(options: &Options, note: &dyn Fn(&str)) -> Result<Shapes, EngineError> {
    shapes_until(options, None, note)
}

/// As [`shapes`]; with an end, opening and compiling count and layouts that come after it are left out, but
/// for the first. The layouts that the adapter gets now come first.
pub(super) fn shapes_until(
    options: &Options,
    end: Option<Instant>,
    note: &dyn Fn(&str),
) -> Result<Shapes, EngineError> {
    note("opening the GPU");
    let gpu = open(options.adapter.as_deref())?;
    let adapter = gpu.adapter();
    let laws = [Law::ElastoPlastic, Law::LuGre];
    let mut all = Vec::new();
    for &n in &options.sides {
        let cells = in_hand(n, laws[0], 1)?[0].patch.cells().len();
        let layouts = Layout::all(cells, adapter);
        let is_present = |layout: &Layout| Layout::of(cells, adapter) == Some(*layout);
        all.extend(
            laws.iter().flat_map(|law| layouts.iter().map(move |layout| (n, cells, *law, *layout, is_present(layout)))),
        );
    }
    all.sort_by_key(|(.., present)| !present);
    let mut rows = Vec::new();
    for (done, &(n, cells, law, layout, present)) in all.iter().enumerate() {
        let budget = match end.map(|end| end.saturating_duration_since(Instant::now())) {
            Some(left) if left.is_zero() && done > 0 => break,
            // Opening and compiling take the other half.
            Some(left) => left.div_f64(2.0 * (all.len() - done) as f64),
            None => options.budget.div_f64(all.len() as f64),
        };
        note(&format!("{} of {}: {n} x {n}, {}, {layout}", done + 1, all.len(), law.name()));
        let contacts = options.contacts.first().copied();
        let ns = time(n, cells, law, layout, contacts, budget, options.adapter.as_deref())?;
        let (law, layout) = (law.name().to_owned(), layout.to_string());
        rows.push(ShapeRow { law, cells, layout, present, ns_per_cell_pass: ns });
    }
    let left_out = all.len() - rows.len();
    rows.sort_by(|a, b| {
        (a.cells, &a.law).cmp(&(b.cells, &b.law)).then(a.ns_per_cell_pass.total_cmp(&b.ns_per_cell_pass))
    });
    let info = gpu.info();
    Ok(Shapes {
        adapter: format!("{}, {}", info.adapter, info.driver),
        source: Layout::source(adapter).to_owned(),
        processor_time: adapter.software,
        commit: process::commit(),
        left_out,
        rows,
    })
}

/// Time of a layout over passes and cells [ns].
fn time(
    n: usize,
    cells: usize,
    law: Law,
    layout: Layout,
    contacts: Option<usize>,
    budget: Duration,
    adapter: Option<&str>,
) -> Result<f64, EngineError> {
    let subject = Subject::gpu_with(layout, adapter)?;
    let batch = in_hand(n, law, contacts.unwrap_or_else(|| subject.busy()))?;
    let plan = |duration| Plan::new(duration, DEFAULT_STEP, RECORD_EVERY);
    let found = measure(&subject, &batch, &plan, once, budget)?;
    let software = subject.as_gpu().is_some_and(|gpu| gpu.adapter().software);
    // Processor time is told in steps of 10 ms.
    let precise = found.cpu_s.filter(|seconds| software && *seconds >= 0.1);
    let spent = precise.unwrap_or(found.wall_s * subject.threads() as f64);
    Ok(1e9 * spent / (found.passes as f64 * cells as f64))
}

impl Shapes {
    /// As a table for people, and what the table of layouts should have.
    #[must_use]
    pub fn text(&self) -> String {
        let time = if self.processor_time { "processor time" } else { "wall time" };
        let mut out = format!(
            "{}, commit {}\nns: {time} over passes and cells; *: what the adapter gets now ({})\n",
            self.adapter, self.commit, self.source
        );
        let mut last = None;
        for row in &self.rows {
            let group = (row.cells, row.law.as_str());
            if last.replace(group) != Some(group) {
                let _ = writeln!(out, "\n{} cells, {}: should be {}", row.cells, row.law, row.layout);
            }
            let mark = if row.present { "*" } else { " " };
            let _ = writeln!(out, "{mark} {:8.2}  {}", row.ns_per_cell_pass, row.layout);
        }
        out.trim_end().to_owned()
    }
}

//! The report as text for a terminal.

use super::{Report, Row};
use crate::terminal::{columns, wrap};

impl Report {
    /// The report for a terminal of `width` columns.
    #[must_use]
    pub fn text(&self, width: usize) -> String {
        let mut text = format!("CPU     {}, {}\n", self.machine, self.simd);
        text += &match (&self.adapter, &self.driver, &self.no_gpu) {
            (Some(adapter), Some(driver), _) if self.software == Some(true) => format!(
                "GPU     none: {adapter} ({driver}) is a software driver. \
                 It runs on the CPU; its rows say nothing about a GPU.\n"
            ),
            (Some(adapter), Some(driver), _) => format!("GPU     {adapter} ({driver})\n"),
            (.., Some(reason)) => format!("GPU     none: {reason}\n"),
            _ => "GPU     not measured\n".to_owned(),
        };
        text += &format!("commit  {}\n", self.commit);
        for rows in self.rows.chunk_by(Row::same_work) {
            text += &format!("\n{}: {}\n", rows[0].work, title(&rows[0]));
            let cells: Vec<Vec<String>> = std::iter::once(HEAD.map(str::to_owned).to_vec())
                .chain(rows.iter().map(|row| cells(row).to_vec()))
                .collect();
            text += &columns(&cells, width);
            for row in rows.iter().filter(|row| row.failed > 0) {
                let Row { engine, precision, failed, contacts, .. } = row;
                text += &format!("{engine} {precision}: {failed} of {contacts} contacts became non-finite\n");
            }
        }
        text += "\nns: wall time x threads / (passes x cells with pressure). cpu ns: the same in processor time.\n\
                 x paper: steps (tables) per second over those of its Tables II and V.\n\
                 x base: against the baseline, per cell and pass, and per simulated second at like accuracy.\n\
                 error: from the converged path [m]. differs: from the CPU in f64 [m; of tables -], \
                 by 0 where a table is made in f64 although f32 was asked for.\n\
                 memory: what the process took; on the device for a GPU.\n";
        wrap(&text, width)
    }
}

const HEAD: [&str; 13] = [
    "engine", "contacts", "steps/s", "passes", "ns", "cpu ns", "sim s/s", "x paper", "x base", "error", "differs",
    "set-up", "memory",
];

fn title(row: &Row) -> String {
    let Row { work, law, n, cells, .. } = row;
    match *work {
        "step" => format!("in hand, case 2, {law}: a bristle in each of {cells} cells of {n} x {n}"),
        "reduced" => format!("in hand, case 2, {law}: one bristle on the limit surface of {n} x {n} cells"),
        "loop" => format!("in hand, case 2, {law}, in closed loop: {cells} cells, set and read every 2 ms"),
        "basis" => format!("limit surfaces of {n} x {n} cells about the grid's centre, N_ls 20 (set-up: the basis)"),
        _ => format!("limit surfaces of {n} x {n} cells, N_ls 20 (a step is a table)"),
    }
}

fn cells(row: &Row) -> [String; 13] {
    let or_dash = |v: Option<String>| v.unwrap_or_else(|| "-".to_owned());
    let engine = match (row.engine, row.software) {
        ("gpu", true) => "software f32".to_owned(),
        (engine, _) => format!("{engine} {}", row.precision),
    };
    let base = row.times_baseline_per_pass.map(|per_pass| {
        let per_second = or_dash(row.times_baseline.map(brief));
        format!("{}, {per_second}", brief(per_pass))
    });
    let metres = |v: Option<f64>| or_dash(v.map(|v| format!("{v:.1e}")));
    let memory = if row.engine == "gpu" { row.device_bytes } else { row.host_bytes };
    [
        engine,
        row.contacts.to_string(),
        format!("{:.2e}", row.contact_steps_per_s),
        format!("{:.2}", row.passes_per_step),
        brief(row.ns_per_cell_pass),
        or_dash(row.cpu_ns_per_cell_pass.map(brief)),
        or_dash(row.simulated_s_per_s.map(brief)),
        or_dash(row.times_paper.map(brief)),
        or_dash(base),
        metres(row.error_m),
        metres(row.difference),
        format!("{:.2} s", row.setup_s),
        or_dash(memory.map(megabytes)),
    ]
}

/// A positive number in about three digits.
fn brief(v: f64) -> String {
    match v {
        v if v >= 1e5 => format!("{v:.1e}"),
        v if v >= 100.0 => format!("{v:.0}"),
        v if v >= 10.0 => format!("{v:.1}"),
        v => format!("{v:.2}"),
    }
}

fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}

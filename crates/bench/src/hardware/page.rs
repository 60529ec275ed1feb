//! Documents as tables: for a terminal, and as the page `docs/hardware.md`.

use std::fmt::{Display, Write};
use std::path::PathBuf;

use super::{Check, Document, Rate, Throughput};
use crate::shapes::Shapes;
use crate::terminal::{columns, wrap};

/// Rows of a table, the first of which is its head.
type Rows = Vec<Vec<String>>;

fn row<const N: usize>(cells: [&str; N]) -> Vec<String> {
    cells.map(str::to_owned).to_vec()
}

fn rate(v: f64) -> String {
    format!("{v:.2e}")
}

/// A ratio in about two digits.
fn times(v: Option<f64>) -> String {
    match v {
        None => "-".to_owned(),
        Some(v) if v >= 10.0 => format!("{v:.0}"),
        Some(v) => format!("{v:.2}"),
    }
}

impl Check {
    fn cells(&self) -> Vec<String> {
        let short = |v: f64| match v {
            0.0 => "0".to_owned(),
            v if (0.01..100.0).contains(&v) => format!("{v:.2}"),
            v => format!("{v:.1e}"),
        };
        let largest = self.largest.map_or_else(|| "-".to_owned(), short);
        let limit = format!("{} {}", short(self.limit), if self.unit == "1" { "" } else { &self.unit });
        let verdict = if self.passed { "right" } else { "WRONG" };
        vec![self.name.clone(), verdict.to_owned(), largest, limit.trim_end().to_owned()]
    }
}

impl Throughput {
    fn title(&self) -> String {
        let Self { model, law, cells_per_side: n, .. } = self;
        format!("{model}, {law}, {n} x {n}")
    }
}

/// The fastest layout of each law and size beside what the adapter gets now.
fn shapes(all: &[Shapes]) -> Rows {
    let mut rows = vec![row(["cells, law", "now", "ns", "fastest", "ns"])];
    for shapes in all {
        for group in shapes.rows.chunk_by(|a, b| (a.cells, &a.law) == (b.cells, &b.law)) {
            let ns = |v: f64| if v >= 10.0 { format!("{v:.1}") } else { format!("{v:.2}") };
            let (now, best) = (group.iter().find(|row| row.present), &group[0]);
            let (now, now_ns) =
                now.map_or(("-".to_owned(), "-".to_owned()), |row| (row.layout.clone(), ns(row.ns_per_cell_pass)));
            rows.push(vec![
                format!("{}, {}", best.cells, best.law),
                now,
                now_ns,
                best.layout.clone(),
                ns(best.ns_per_cell_pass),
            ]);
        }
    }
    rows
}

/// Contact-steps per second by the number of contacts.
fn rates(all: &[Throughput]) -> Rows {
    let mut contacts: Vec<usize> = all.iter().flat_map(|one| one.gpu.iter().map(|rate| rate.contacts)).collect();
    contacts.sort_unstable();
    contacts.dedup();
    let mut rows =
        vec![std::iter::once("contacts".to_owned()).chain(contacts.iter().map(usize::to_string)).collect::<Vec<_>>()];
    for one in all {
        let at = |n: &usize| one.gpu.iter().find(|rate| rate.contacts == *n);
        let cells = contacts.iter().map(|n| at(n).map_or_else(|| "-".to_owned(), |r| rate(r.contact_steps_per_second)));
        rows.push(std::iter::once(one.title()).chain(cells).collect());
    }
    rows
}

/// The GPU beside the CPU.
fn ratios(all: &[Throughput]) -> Rows {
    let head = ["kind", "GPU", "of contacts", "CPU f32", "CPU f64", "GPU / f32", "GPU / f64", "ended by"];
    let mut rows = vec![row(head)];
    for one in all {
        let best = one.best();
        let of_cpu = |cpu: &Rate| rate(cpu.contact_steps_per_second);
        rows.push(vec![
            one.title(),
            best.map_or_else(|| "-".to_owned(), |best| rate(best.contact_steps_per_second)),
            best.map_or_else(|| "-".to_owned(), |best| best.contacts.to_string()),
            of_cpu(&one.cpu_f32),
            of_cpu(&one.cpu_f64),
            times(one.gpu_over_cpu_f32),
            times(one.gpu_over_cpu_f64),
            one.gpu_ended_by.clone(),
        ]);
    }
    rows
}

impl Document {
    /// What is right, in words.
    fn verdict(&self) -> String {
        let Some(correctness) = &self.correctness else { return "correctness was not found out".to_owned() };
        let right = correctness.checks.iter().filter(|check| check.passed).count();
        let left_out = match correctness.left_out {
            0 => String::new(),
            n => format!(", {n} not made in the time"),
        };
        format!("{right} of {} checks right{left_out}", correctness.checks.len())
    }

    /// What went wrong, a line each.
    fn faults(&self) -> Vec<String> {
        let checks = self.correctness.iter().flat_map(|all| &all.checks);
        let wrong = checks.filter_map(|check| Some(format!("{}: {}", check.name, check.fault.as_ref()?)));
        let parts = self.parts.iter().filter_map(|part| Some(format!("{}: {}", part.name, part.fault.as_ref()?)));
        let failed = self.throughput.iter().flat_map(|one| {
            one.gpu.iter().filter(|rate| rate.failed_contacts > 0).map(|rate| {
                let Rate { contacts, failed_contacts, .. } = rate;
                format!("{}: {failed_contacts} of {contacts} contacts became non-finite", one.title())
            })
        });
        wrong.chain(parts).chain(failed).collect()
    }

    fn adapter(&self) -> String {
        let a = &self.adapter;
        let [least, most] = a.subgroup_lanes;
        let sums = if a.subgroup_sums { "with sums" } else { "without sums" };
        format!(
            "{} ({}, {}), subgroups of {least} to {most} lanes {sums}, storage buffers of {} MB, {} bytes of workgroup \
             memory",
            a.name,
            a.backend,
            a.driver,
            a.max_storage_buffer_bytes / 1_000_000,
            a.max_workgroup_memory_bytes
        )
    }

    fn program(&self) -> String {
        format!("bristle {}, commit {}, {}", self.bristle, self.commit, self.date)
    }

    fn cpu(&self) -> String {
        format!("{}, {} threads, {}", self.cpu.name, self.cpu.threads, self.cpu.vectors)
    }

    /// Layouts that were not measured.
    fn layouts_left_out(&self) -> usize {
        self.shapes.iter().map(|shapes| shapes.left_out).sum()
    }

    /// The document for a terminal of `width` columns.
    #[must_use]
    pub fn text(&self, width: usize) -> String {
        let mut out = format!("GPU     {}\nCPU     {}\n{}\n", self.adapter(), self.cpu(), self.program());
        if self.adapter.software {
            out += "This adapter is a software driver. It runs on the CPU and says nothing about a GPU.\n";
        }
        if let Some(note) = &self.note {
            let _ = writeln!(out, "note    {note}");
        }
        let _ = writeln!(out, "\ncorrectness: {}", self.verdict());
        let mut checks = vec![row(["check", "", "largest", "limit"])];
        checks.extend(self.correctness.iter().flat_map(|all| &all.checks).map(Check::cells));
        out += &columns(&checks, width);
        for fault in self.faults() {
            let _ = writeln!(out, "wrong: {fault}");
        }
        let _ =
            writeln!(out, "\nkernel shapes, ns a cell and pass; {} not measured in the time", self.layouts_left_out());
        out += &columns(&shapes(&self.shapes), width);
        out += "\ncontact-steps per second on the GPU\n";
        out += &columns(&rates(&self.throughput), width);
        out += "\nthe highest rate beside the CPU of this machine, contact-steps per second\n";
        out += &columns(&ratios(&self.throughput), width);
        if !self.is_complete() {
            let _ = writeln!(out, "\nunfinished: {}", self.unfinished.join("; "));
        }
        wrap(&out, width)
    }
}

/// A table in Markdown.
fn table(rows: &Rows) -> String {
    let line = |cells: &Vec<String>| format!("| {} |\n", cells.join(" | "));
    let Some((head, rest)) = rows.split_first() else { return String::new() };
    let rule = format!("|{}\n", "---|".repeat(head.len()));
    line(head) + &rule + &rest.iter().map(line).collect::<String>()
}

const HEAD: &str = "\
# Hardware

`bristle bench --all --out FILE.json` finds out in at most ten minutes whether an adapter computes what the
CPU computes, how many steps it makes per second beside the CPU of the same machine, and which layouts of the
kernels are the fastest on it. `cargo xtask hardware` makes this page from the files in
[benches/hardware](../benches/hardware).

- A contact-step is one step of 0.2 ms of one contact. The contacts are those of
  [benchmarks.md](benchmarks.md#what-is-measured): `grid` has a bristle in every cell, `reduced` has one.
- Rates are of `Batch::advance`, all contacts in one call. The CPU steps 16 contacts of a grid or 256 reduced
  ones on each thread.
- `ns` is wall time (of a software driver, processor time) over passes and cells. `now` is the layout that the
  adapter gets, from the table in `src/gpu/shape.rs`.
- The limit of a check that has no unit is a share: of the size of the number that is compared, or of a limit
  that differs from number to number (`crates/bench/src/twins.rs`).
";

const TAIL: &str = "
## To add a machine

Run `cargo run --release -- bench --all --out benches/hardware/NAME.json` on it, with `--note` and what else
ran meanwhile. Run `cargo xtask hardware` and look at the new section of this page. Send both files as a pull
request, or the JSON file alone in an issue.
";

/// Largest size of a file [bytes]: the project keeps all of them.
const MOST_BYTES: usize = 60_000;
/// What a file may not contain: how paths of folders of users begin.
const PLACES: [&str; 6] = ["/home/", "/root/", "/tmp/", "/Users/", "/work/", ":\\\\"];

/// The page of files, a section each.
///
/// # Errors
/// A file that cannot be read, has more than 60 kB, or names a folder of its machine.
pub fn page_of(files: &[PathBuf]) -> Result<String, String> {
    let read = |path: &PathBuf| {
        let fail = |e: &dyn Display| format!("{}: {e}", path.display());
        let text = std::fs::read_to_string(path).map_err(|e| fail(&e))?;
        check(&text).map_err(|e| fail(&e))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok::<_, String>((name, serde_json::from_str(&text).map_err(|e| fail(&e))?))
    };
    Ok(page(&files.iter().map(read).collect::<Result<Vec<_>, _>>()?))
}

/// Refuses the text of a file that is too long, or that tells where on its machine something is.
fn check(text: &str) -> Result<(), String> {
    if text.len() > MOST_BYTES {
        return Err(format!("{} bytes: expected at most {MOST_BYTES}", text.len()));
    }
    PLACES.iter().find(|place| text.contains(**place)).map_or(Ok(()), |place| {
        Err(format!("contains `{place}`, a folder of the machine: expected a file without one"))
    })
}

/// The page of documents with the names of their files.
fn page(files: &[(String, Document)]) -> String {
    let mut out = HEAD.to_owned();
    let head = ["adapter", "correct", "grid, elasto-plastic: GPU", "GPU / CPU f32", "bristle", "file"];
    let mut rows = vec![row(head)];
    for (name, document) in files {
        // The paper's size, or else the first.
        let grids = || document.throughput.iter().filter(|one| one.model == "grid" && one.law == "elasto-plastic");
        let one = grids().find(|one| one.cells_per_side == 21).or_else(|| grids().next());
        let best = one.and_then(|one| {
            let (n, best) = (one.cells_per_side, one.best()?);
            Some(format!("{} steps/s, {n} x {n}, batch of {}", rate(best.contact_steps_per_second), best.contacts))
        });
        let software = if document.adapter.software { " (software)" } else { "" };
        rows.push(vec![
            format!("{}{software}", document.adapter.name),
            document.verdict(),
            best.unwrap_or_else(|| "-".to_owned()),
            times(one.and_then(|one| one.gpu_over_cpu_f32)),
            format!("{}, {}", document.bristle, document.date),
            format!("[{name}](../benches/hardware/{name})"),
        ]);
    }
    let _ = write!(out, "\n{}", table(&rows));
    for (name, document) in files {
        let _ = write!(out, "\n{}", section(name, document));
    }
    out + TAIL
}

fn section(name: &str, document: &Document) -> String {
    let mut out = format!("## {}\n\n", document.adapter.name);
    let items = [
        Some(document.adapter()),
        document
            .adapter
            .software
            .then(|| "This adapter is a software driver. It runs on the CPU and says nothing about a GPU.".to_owned()),
        Some(format!("CPU: {}", document.cpu())),
        Some(document.program()),
        Some(format!("file: [{name}](../benches/hardware/{name})")),
        document.note.as_ref().map(|note| format!("note: {note}")),
        (!document.is_complete()).then(|| format!("not measured: {}", document.unfinished.join("; "))),
        Some(format!("correct: {}", document.verdict())),
    ];
    for item in items.into_iter().flatten() {
        out += &bullet(&item);
    }
    for fault in document.faults() {
        out += &bullet(&format!("wrong: {fault}"));
    }
    let mut checks = vec![row(["check", "", "largest", "limit"])];
    checks.extend(document.correctness.iter().flat_map(|all| &all.checks).map(Check::cells));
    let left_out = document.layouts_left_out();
    let _ = write!(out, "\n{}\nLayouts of the kernels, ns a cell and pass", table(&checks));
    out += &if left_out == 0 { ":\n".to_owned() } else { format!("; {left_out} were not measured in the time:\n") };
    let _ = write!(out, "\n{}\nContact-steps per second:\n\n{}", table(&shapes(&document.shapes)), {
        table(&rates(&document.throughput))
    });
    let _ = write!(
        out,
        "\nThe highest rate beside the CPU of the same machine, contact-steps per second:\n\n{}",
        table(&ratios(&document.throughput))
    );
    out
}

/// An item of a list, as narrow as prose in this project is.
fn bullet(text: &str) -> String {
    let options = textwrap::Options::new(110)
        .initial_indent("- ")
        .subsequent_indent("  ")
        .word_splitter(textwrap::WordSplitter::NoHyphenation)
        .break_words(false);
    textwrap::fill(text, options) + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_large_or_names_a_folder_is_refused() {
        check("{}").unwrap();
        assert!(check(&"x".repeat(MOST_BYTES + 1)).unwrap_err().starts_with("60001 bytes"));
        assert!(check("error in /home/me/driver.so").unwrap_err().contains("/home/"));
        assert!(check(r#"{"fault": "C:\\Users\\me"}"#).is_err());
    }
}

//! `bristle reproduce`: computes the paper's figures and tables and writes a page.

use std::path::PathBuf;
use std::time::Instant;

use super::progress::Progress;
use super::{Failure, print, print_text};
use bristle_paper::reproduce::{Context, Error, Item, ids, json, run, write, write_markdown};

#[derive(clap::Args)]
#[command(after_help = "Examples:
  bristle reproduce all --out report
  bristle reproduce fig29 table2 --quick
  bristle reproduce --list")]
pub(super) struct Reproduce {
    /// What to make: `fig6`, `table2`, .. or `all`; may be repeated.
    #[arg(value_name = "ITEM", default_value = "all")]
    items: Vec<String>,
    /// Directory for report.html, and for the data and pictures of every item as CSV and SVG.
    #[arg(long, value_name = "DIR", default_value = "report")]
    out: PathBuf,
    /// Fewer and coarser runs, for under a minute.
    #[arg(long)]
    quick: bool,
    /// Folder of measured pushes: supports.csv and one CSV a set.
    #[arg(long, value_name = "DIR")]
    pushes: Option<PathBuf>,
    /// Write the items as Markdown too, with their pictures beside it.
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Print one JSON object at the end.
    #[arg(long)]
    json: bool,
    /// Print only errors on stderr: no progress.
    #[arg(short, long)]
    quiet: bool,
    /// List the items and end.
    #[arg(long)]
    list: bool,
}

impl Reproduce {
    pub(super) fn run(&self) -> Result<(), Failure> {
        let known: Vec<&str> = ids().collect();
        if self.list {
            return print(&known.join("\n"));
        }
        let wanted = self.wanted(&known)?;
        if wanted.iter().any(|id| id == "pushes") && self.pushes.is_none() {
            return Err(Failure::of_user("item `pushes`: expected `--pushes DIR`, the folder of the measured pushes"));
        }
        if self.out.is_file() {
            return Err(Failure::of_user(format!(
                "--out {}: expected a directory, this is a file",
                self.out.display()
            )));
        }
        let start = Instant::now();
        let count = if wanted.is_empty() { known.len() } else { wanted.len() };
        let progress = Progress::new(count as u64, 0, "items".to_owned(), self.quiet);
        let advance = |what: &str, items: usize| {
            if !what.is_empty() {
                progress.say(what);
            }
            progress.advance(items as u64);
        };
        let context = Context { quick: self.quick, pushes: self.pushes.clone(), progress: &advance };
        let done = run(&context, &wanted);
        drop(progress);
        let groups = done.map_err(failure)?;
        let seconds = start.elapsed().as_secs_f64();
        let unwritten = |(path, e): (PathBuf, std::io::Error)| {
            Failure::of_machine(format!("{}: {}", path.display(), bristle_data::disk::describe(&e)))
        };
        write(&groups, &self.out, self.quick, seconds).map_err(unwritten)?;
        if let Some(file) = &self.markdown {
            write_markdown(&groups, file).map_err(unwritten)?;
        }
        let items: Vec<&Item> = groups.iter().flat_map(|(_, items)| items).collect();
        if self.json {
            print(&json(&groups, &self.out, self.quick, seconds).to_string())?;
        } else {
            print_text(&self.text(&items))?;
        }
        let bad: Vec<&str> = items.iter().filter(|i| !i.as_expected()).map(|i| i.id.as_str()).collect();
        if bad.is_empty() {
            return Ok(());
        }
        Err(Failure::of_machine(format!("not as they should be: {}; see {}", bad.join(", "), self.out.display())))
    }

    /// The ids asked for; none means all.
    fn wanted(&self, known: &[&str]) -> Result<Vec<String>, Failure> {
        let names: Vec<String> = self.items.iter().map(|i| i.to_lowercase()).collect();
        if let Some(bad) = names.iter().find(|n| *n != "all" && !known.contains(&n.as_str())) {
            return Err(Failure::of_user(format!("item `{bad}`: expected `all` or of {}", known.join(", "))));
        }
        Ok(if names.iter().any(|n| n == "all") { Vec::new() } else { names })
    }

    fn text(&self, items: &[&Item]) -> String {
        let row = |item: &&Item| {
            let word = match (item.as_expected(), item.holds()) {
                (true, true) => "holds",
                (true, false) => "does not hold, as known",
                (false, _) => "NOT AS IT SHOULD BE",
            };
            format!("{:<10} {word}\n           {}\n", item.id, item.measured)
        };
        let rows: String = items.iter().map(row).collect();
        format!("{rows}{}", self.out.join("report.html").display())
    }
}

fn failure(e: Error) -> Failure {
    match e {
        Error::Pushes { .. } => Failure::of_user(e),
        e => Failure::of_machine(e),
    }
}

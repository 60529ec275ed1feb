//! `bristle bench`: how fast this machine is, and whether its GPU is right.

mod all;

use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::time::Duration;

use super::engine::{AdapterArgument, failed};
use super::{Failure, options, print};
use all::All;
use bristle::number::simd::Simd;
use bristle::patch::MAX_CELLS_PER_SIDE;
use bristle_bench::terminal;
use bristle_bench::{EngineName, Options, Work, hardware};

/// A choice of [`Simd`].
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Vectors {
    /// The instructions of every processor of the architecture: SSE2 on x86-64, NEON on aarch64.
    Portable,
    /// AVX2 and FMA.
    Avx2,
    /// AVX-512 (F, DQ).
    Avx512,
}

impl From<Vectors> for Simd {
    fn from(vectors: Vectors) -> Self {
        match vectors {
            Vectors::Portable => Self::Baseline,
            Vectors::Avx2 => Self::Avx2,
            Vectors::Avx512 => Self::Avx512,
        }
    }
}

/// Measure the engines of this machine side by side, in under a minute.
///
/// The work is the paper's in-hand case 2, 2 s long: `step` with a bristle in every cell, `reduced` with one
/// bristle for the patch, `loop` call by call. `surface` and `basis` are tables of limit surfaces. Every row
/// gets a share of the time and simulates as much as fits.
///
/// `ns` is wall time x threads / (passes over the cells x cells with pressure). The baseline is the paper's
/// step: explicit Euler, cell after cell, at 5e-6 s.
///
/// `--all` is for a GPU that is new: in at most ten minutes it compares the GPU with the CPU, measures the
/// steps per second from one contact to as many as the memory of the device holds, beside the CPU, and every
/// layout of the kernels. The file is written after each part; the same command continues it.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  bristle bench
  bristle bench --engine cpu --work step,reduced --n 11,21 -b 64,512
  bristle bench --shapes --n 11,21,33
  bristle bench --all --out gpu.json --note \"other programs ran\"
  bristle bench --json")]
pub(super) struct BenchArguments {
    /// Engines to measure [default: all].
    #[arg(long = "engine", value_enum, value_name = "NAME", value_delimiter = ',')]
    engines: Vec<EngineName>,
    #[command(flatten)]
    adapter: AdapterArgument,
    /// Kinds of work [default: all].
    #[arg(long, value_enum, value_name = "NAME", value_delimiter = ',')]
    work: Vec<Work>,
    /// Cells along a side of the patch; several numbers as 11,21,33 [default: 21; with `--all`
    /// 5,11,21,33,64].
    #[arg(long = "n", value_name = "CELLS", value_delimiter = ',')]
    sides: Vec<usize>,
    /// Contacts stepped together; several numbers as 1,64,512 [default: enough to keep each engine busy].
    #[arg(short = 'b', long = "contacts", value_name = "CONTACTS", value_delimiter = ',')]
    contacts: Vec<usize>,
    /// CPU threads [default: all]. A software driver has its own.
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Widest vectors of the CPU engine, to measure narrower ones; without `surface` and `basis` [default:
    /// the widest].
    #[arg(long, value_enum, value_name = "NAME")]
    simd: Option<Vectors>,
    /// Measure every layout that the GPU engine's kernels may have on this adapter, in place of the engines,
    /// and print the row that the table of layouts should have for it (`src/gpu/shape.rs`).
    #[arg(long, conflicts_with_all = ["engines", "work", "simd"])]
    shapes: bool,
    /// Find out all about the GPU, correctness first, and write it to the file `--out`. The exit code is 1 if
    /// the GPU is wrong.
    #[arg(long, requires = "out", conflicts_with_all = ["engines", "work", "contacts", "simd", "shapes"])]
    all: bool,
    /// The file of `--all`, which ends in .json; one that is not complete is continued.
    #[arg(long, value_name = "FILE", requires = "all")]
    out: Option<PathBuf>,
    /// What a reader of the file should know, such as what else ran.
    #[arg(long, value_name = "TEXT", requires = "all")]
    note: Option<String>,
    /// Time for all rows together [s], without set-up [default: 40]; with `--all` for all parts together,
    /// with set-up [default: 600]. The least of each part is measured in any case.
    #[arg(long, value_name = "SECONDS")]
    seconds: Option<f64>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
    /// Print only errors on stderr: not the row that is measured.
    #[arg(short, long)]
    quiet: bool,
}

impl BenchArguments {
    pub(super) fn run(&self) -> Result<(), Failure> {
        super::set_threads(self.threads)?;
        let sides: &[usize] = match (&self.sides[..], self.all) {
            ([], true) => &hardware::SIDES,
            ([], false) => &[21],
            (sides, _) => sides,
        };
        let seconds = self.seconds.unwrap_or(if self.all { hardware::BUDGET } else { SECONDS });
        if let Some(n) = sides.iter().find(|n| !(1..=MAX_CELLS_PER_SIDE).contains(*n)) {
            return Err(Failure::of_user(format!("--n {n}: expected 1 to {MAX_CELLS_PER_SIDE}")));
        }
        if let Some(n) = self.contacts.iter().find(|n| !(1..=MOST_CONTACTS).contains(*n)) {
            return Err(Failure::of_user(format!("-b {n}: expected 1 to {MOST_CONTACTS}")));
        }
        if !(0.0..=1e5).contains(&seconds) {
            return Err(Failure::of_user(format!("--seconds {seconds}: expected 0 to 1e5")));
        }
        let simd = self.simd.map(Simd::from);
        if let Some(simd) = simd.filter(|simd| *simd > Simd::widest()) {
            let widest = Simd::widest().name();
            return Err(Failure::of_user(format!("--simd {}: this processor has {widest} at most", simd.name())));
        }
        let tables = !self.work.is_empty() && self.work.iter().all(|work| matches!(work, Work::Surface | Work::Basis));
        if simd.is_some_and(|simd| simd < Simd::widest()) && tables {
            return Err(Failure::of_user("--simd: tables take the widest vectors; expected --work step or reduced"));
        }
        if self.engines == [EngineName::Baseline] && !self.work.is_empty() && !self.work.contains(&Work::Step) {
            return Err(Failure::of_user(
                "--engine baseline: it steps grids alone; expected --work step, or another engine",
            ));
        }
        if !self.engines.is_empty() && !self.engines.contains(&EngineName::Cpu) && self.work == [Work::Basis] {
            return Err(Failure::of_user("--work basis: is of the CPU; expected --engine cpu, or another work"));
        }
        let options = Options {
            engines: self.engines.clone(),
            work: self.work.clone(),
            sides: sides.to_vec(),
            contacts: self.contacts.clone(),
            budget: Duration::from_secs_f64(seconds),
            simd,
            adapter: self.adapter.adapter.clone(),
        };
        if let Some(name) = options
            .adapter
            .as_ref()
            .filter(|_| !self.shapes && !self.engines.is_empty() && !self.engines.contains(&EngineName::Gpu))
        {
            return Err(Failure::of_user(format!("--adapter {name}: is a GPU; expected --engine gpu")));
        }
        let terminal = std::io::stderr().is_terminal();
        let note = |what: &str| {
            if self.quiet {
                return;
            }
            let (start, end) = if terminal { ("\r\x1b[K", "") } else { ("", "\n") };
            // If stderr is closed there is nowhere to report it.
            let _ = write!(std::io::stderr(), "{start}{what}{end}");
        };
        let clear = || {
            if terminal && !self.quiet {
                let _ = write!(std::io::stderr(), "\r\x1b[K");
            }
        };
        if let Some(out) = &self.out {
            let (adapter, note_of_user) = (self.adapter.adapter.as_deref(), self.note.as_deref());
            let all = All { out, adapter, sides, budget: seconds, note: note_of_user, json: self.json };
            let done = all.run(&note, &clear);
            if done.is_err() {
                clear();
            }
            return done;
        }
        if self.shapes {
            let shapes = bristle_bench::shapes(&options, &note);
            clear();
            let shapes = shapes.map_err(failed)?;
            return print(&if self.json {
                serde_json::to_string(&shapes).map_err(Failure::of_machine)?
            } else {
                shapes.text()
            });
        }
        let done = bristle_bench::run(&options, &note);
        clear();
        let mut report = done.map_err(failed)?;
        report.no_gpu = report.no_gpu.as_deref().map(options::of_engine);
        if self.json {
            print(&serde_json::to_string(&report).map_err(Failure::of_machine)?)
        } else {
            print(report.text(terminal::width().unwrap_or(WIDTH)).trim_end())
        }
    }
}

/// Time of a run [s] if none is given.
const SECONDS: f64 = 40.0;

/// Width of text that is not printed to a terminal.
const WIDTH: usize = 120;

/// Largest number of contacts of a batch; more would not fit into memory.
const MOST_CONTACTS: usize = 1 << 20;

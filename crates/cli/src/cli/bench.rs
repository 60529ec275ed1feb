//! `bristle bench`: how fast this machine is.

use std::io::{IsTerminal, Write};
use std::time::Duration;

use super::engine::{AdapterArgument, failed};
use super::{Failure, options, print};
use bristle::number::simd::Simd;
use bristle::patch::MAX_CELLS_PER_SIDE;
use bristle_bench::terminal;
use bristle_bench::{EngineName, Options, Work};

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
#[derive(clap::Args)]
#[command(after_help = "Examples:
  bristle bench
  bristle bench --engine cpu --work step,reduced --n 11,21 -b 64,512
  bristle bench --shapes --n 11,21,33
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
    /// Cells along a side of the patch; several numbers as 11,21,33.
    #[arg(long = "n", value_name = "CELLS", value_delimiter = ',', default_value = "21")]
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
    /// Time for all rows together [s], without set-up.
    #[arg(long, value_name = "SECONDS", default_value_t = 40.0)]
    seconds: f64,
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
        if let Some(n) = self.sides.iter().find(|n| !(1..=MAX_CELLS_PER_SIDE).contains(*n)) {
            return Err(Failure::of_user(format!("--n {n}: expected 1 to {MAX_CELLS_PER_SIDE}")));
        }
        if let Some(n) = self.contacts.iter().find(|n| !(1..=MOST_CONTACTS).contains(*n)) {
            return Err(Failure::of_user(format!("-b {n}: expected 1 to {MOST_CONTACTS}")));
        }
        if !(0.0..=1e5).contains(&self.seconds) {
            return Err(Failure::of_user(format!("--seconds {}: expected 0 to 1e5", self.seconds)));
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
            sides: self.sides.clone(),
            contacts: self.contacts.clone(),
            budget: Duration::from_secs_f64(self.seconds),
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

/// Width of text that is not printed to a terminal.
const WIDTH: usize = 120;

/// Largest number of contacts of a batch; more would not fit into memory.
const MOST_CONTACTS: usize = 1 << 20;

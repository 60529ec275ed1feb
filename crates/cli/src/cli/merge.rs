//! `bristle merge` joins the shards of a run. `bristle verify` says whether the files of a run are unchanged.

use std::path::{Path, PathBuf};
use std::sync::{Arc, RwLock};

use super::options::failure;
use super::progress::Progress;
use super::rollout::{DatasetArguments, text};
use super::target::{send, shards, target};
use super::{Failure, note, print, print_text};
use bristle_data::rollout::{Bytes, Merge, Options, Place, Store, merge, remove_run, verify};
use bristle_paper::run_picture::svg;

/// Join the shards of a run.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  bristle merge runs/in_hand.shards/* --out runs/in_hand
  bristle merge runs/in_hand.shards --out runs/all --format zarr --resume")]
pub(super) struct MergeArguments {
    /// The directories of all shards, in any order, or a directory that holds them; or their places in an
    /// object store, from which they are copied first.
    #[arg(required = true)]
    shards: Vec<PathBuf>,
    /// Directory of the run, or its place in an object store, `s3://bucket/path` or `gs://bucket/path`.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Directory in which the run is made before it is sent to an object store [default:
    /// `runs/s3/<bucket>/<path>`].
    #[arg(long, value_name = "DIR")]
    work: Option<PathBuf>,
    #[command(flatten)]
    datasets: DatasetArguments,
    /// Replace an existing run, complete or not, and its report. If its directory has other files, an error
    /// names them: bristle removes only files that it has written.
    #[arg(long)]
    force: bool,
    /// Continue an interrupted merge; if the run is complete, nothing is done. So a command with this option
    /// may be repeated until it ends with code 0.
    #[arg(long, conflicts_with = "force")]
    resume: bool,
    /// Print one JSON object at the end.
    #[arg(long)]
    json: bool,
    /// Print only errors on stderr: no progress.
    #[arg(long, short)]
    quiet: bool,
    /// CPU threads [default: all].
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
}

impl MergeArguments {
    pub(super) fn run(&self) -> Result<(), Failure> {
        super::set_threads(self.threads)?;
        let options = Options {
            force: self.force,
            resume: self.resume,
            datasets: self.datasets.chosen(),
            draw: Some(svg),
            ..Options::new(&self.out)
        };
        let (options, store) = target(options, self.work.as_deref())?;
        let copies = options.out.with_added_extension("copied");
        let shards = self.directories(&copies)?;
        let found = Merge::open(&shards).map_err(failure)?;
        let there = store.as_ref().map_or(Ok(None), |store| store.begin(found.scenario(), &options));
        let summary = match there.map_err(failure)? {
            Some(summary) => summary,
            None => {
                let progress = Arc::new(RwLock::new(Progress::new(0, 0, String::new(), true)));
                let writing = Some(Progress::writing(&progress, self.quiet));
                let summary = merge(&found, &Options { writing, ..options.clone() }).map_err(failure)?;
                drop(progress);
                send(store.as_ref(), &options, self.quiet)?;
                summary
            }
        };
        // Shards in a store are there still.
        shards.iter().filter(|shard| shard.starts_with(&copies)).for_each(|copy| drop(remove_run(copy)));
        let _ = std::fs::remove_dir(&copies);
        if self.json {
            print(&serde_json::to_string(&summary).map_err(Failure::of_machine)?)
        } else {
            print_text(&text(&summary))
        }
    }

    /// The directories of shards. A directory that is no run itself stands for the runs in it. Unfinished
    /// shards count as missing.
    fn directories(&self, copies: &Path) -> Result<Vec<PathBuf>, Failure> {
        let places = shards(&self.shards, copies)?;
        let [dir] = places.as_slice() else { return Ok(complete(places.into_iter())) };
        if dir.join("run.json").is_file() {
            return Ok(vec![dir.clone()]);
        }
        let machine = |e| Failure::of_machine(format!("{}: {e}", dir.display()));
        let entries = std::fs::read_dir(dir).map_err(machine)?;
        let inside: Vec<PathBuf> = entries.map(|e| e.map(|e| e.path())).collect::<Result<_, _>>().map_err(machine)?;
        Ok(complete(inside.into_iter()))
    }
}

fn complete(dirs: impl Iterator<Item = PathBuf>) -> Vec<PathBuf> {
    let is_partial = |dir: &Path| dir.extension().is_some_and(|ending| ending == "partial");
    dirs.filter(|dir| !is_partial(dir)).collect()
}

/// Largest number of damaged files that are named.
const MOST_TOLD: usize = 100;

/// Check every file of a run against its digest.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  bristle verify runs/in_hand
  bristle verify runs/in_hand.shards/*")]
pub(super) struct Verify {
    /// Directories of runs or shards, or their places in object stores.
    #[arg(required = true)]
    runs: Vec<PathBuf>,
}

impl Verify {
    pub(super) fn run(&self) -> Result<(), Failure> {
        let mut damaged = 0;
        for run in &self.runs {
            let found = match Place::of(run).map_err(failure)? {
                Place::Directory(dir) => verify(&dir),
                Place::Store(url) => Store::open(&url).and_then(|store| store.verify()),
            };
            let found = found.map_err(failure)?;
            let (told, others) = found.faults.split_at(found.faults.len().min(MOST_TOLD));
            told.iter().for_each(|fault| note(format_args!("{}: {fault}", run.display())));
            if !others.is_empty() {
                note(format_args!("{}: and {} others", run.display(), others.len()));
            }
            damaged += found.faults.len();
            if found.faults.is_empty() {
                print(&format!("{}: {} files, {}: as written", run.display(), found.files, Bytes(found.bytes)))?;
            }
        }
        match damaged {
            0 => Ok(()),
            1 => Err(Failure::of_machine("one file is damaged or missing")),
            n => Err(Failure::of_machine(format!("{n} files are damaged or missing"))),
        }
    }
}

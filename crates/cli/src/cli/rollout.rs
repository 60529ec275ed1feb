//! `bristle rollout`: simulates a scenario and writes a run directory.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use super::changes::Changes;
use super::engine::AdapterArgument;
use super::interrupt::{Stop, end_if_asked, stop_when_interrupted};
use super::options::{failure, seed, whole};
use super::progress::Progress;
use super::target::{send, target};
use super::{Failure, engine, note, print, print_text, scenario_file};
use bristle::engine::{Engine, EngineInfo};
use bristle::error::EngineError;
use bristle_data::rollout::{
    Datasets, Extra, Format, Left, Options, ROTATION_SPUN, RolloutError, SLIPPED, Shard, Store, Summary, already,
    complete, left, needs, run,
};
use bristle_data::rollout::{WorldEngine, WorldSummary, complete_worlds, world_needs, worlds};
use bristle_paper::run_picture::svg;
use bristle_scenario::{EngineChoice, Precision, Scenario, SolverName, WorldScenario, input, is_world};

/// The page of a run, in its directory.
pub(super) const REPORT: &str = "report.html";
/// Number of contacts whose drawing takes seconds.
const MANY: u64 = 100_000;

#[derive(clap::Args)]
#[command(after_help = "Examples:
  bristle rollout in_hand.toml
  bristle rollout in_hand.toml -n 20 --seed 7 --out runs/few --report
  bristle rollout in_hand.toml --set 'body.mass={ uniform = [0.1, 0.3] }'
  bristle rollout in_hand.toml --set friction.law=lugre --unset inputs.hold
  bristle rollout in_hand.toml --sweep friction.mu_c=0.4:1:4 --out runs/mu
  bristle rollout in_hand.toml -n 512 --extend
  bristle rollout runs/in_hand --precision f64 --out runs/double")]
pub(super) struct Rollout {
    /// Scenario file (see `bristle docs scenario`), or the directory of a run to repeat.
    file: PathBuf,
    /// The engine [default: the scenario's, else auto].
    #[arg(long, value_enum)]
    engine: Option<EngineChoice>,
    #[command(flatten)]
    adapter: AdapterArgument,
    /// Precision of the bristles' arithmetic on the CPU [default: the scenario's, else f32].
    #[arg(long, value_enum)]
    precision: Option<Precision>,
    // Before what is short for a change, because arguments are taken out in this order.
    #[command(flatten)]
    changes: Changes,
    /// Number of contacts, or of worlds [default: the scenario's].
    #[arg(short = 'n', long, value_name = "N", allow_negative_numbers = true, value_parser = whole::<u64>)]
    contacts: Option<u64>,
    /// Seed of all random numbers, below 2^63 [default: the scenario's].
    #[arg(long, allow_negative_numbers = true, value_parser = seed)]
    seed: Option<u64>,
    /// Make a run for every value of a key, `key=first:last:count` or `key=[value, ..]`, and a table of all
    /// runs; several sweeps make every combination. The runs are numbered directories in the directory of the
    /// results.
    #[arg(long = "sweep", value_name = "KEY=VALUES", conflicts_with = "shard")]
    sweeps: Vec<String>,
    /// Time between recorded samples [s].
    #[arg(long, value_name = "SECONDS", allow_hyphen_values = true)]
    record_every: Option<f64>,
    /// Longest integration step [s].
    #[arg(long, value_name = "SECONDS", allow_hyphen_values = true)]
    step: Option<f64>,
    /// Let each contact choose its steps, by their estimated error of the velocity [m/s], or of the friction
    /// if the motion is prescribed; 3e-6 has about the errors of the default step.
    #[arg(long, value_name = "M/S", conflicts_with = "step")]
    tolerance: Option<f64>,
    /// Directory of the results, or their place in an object store, `s3://bucket/path` or `gs://bucket/path`
    /// (see `bristle docs datasets`) [default: `runs/<name of the scenario>`].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Directory in which results are made before they are sent to an object store [default:
    /// `runs/s3/<bucket>/<path>`].
    #[arg(long, value_name = "DIR")]
    work: Option<PathBuf>,
    #[command(flatten)]
    datasets: DatasetArguments,
    /// Simulate a part of the contacts, on one of many machines: `--shard 3/8`. `bristle merge` joins the
    /// shards.
    #[arg(long, value_name = "I/N", conflicts_with_all = ["formats", "report"])]
    shard: Option<Shard>,
    /// Replace an existing run, complete or not, and its report. If its directory has other files, an error
    /// names them: bristle removes only files that it has written.
    #[arg(long)]
    pub(super) force: bool,
    /// Continue an unfinished run where it was stopped, or at most a second before it was killed. If the run
    /// is complete, only a missing report is made, with `--report`; if there is no run, one begins. So a
    /// command with this option may be repeated until it ends with code 0.
    #[arg(long, conflicts_with = "force")]
    pub(super) resume: bool,
    /// Add contacts to an existing complete run: `-n 2000 --extend` on a run of 1000 simulates 1000 more, and
    /// the run then equals a run of 2000 from the start. Its report is made anew. If its directory has other
    /// files, an error names them.
    #[arg(long, conflicts_with_all = ["force", "shard"])]
    extend: bool,
    /// Print one JSON object at the end.
    #[arg(long)]
    pub(super) json: bool,
    /// Write report.html into the run, as `bristle report` does.
    #[arg(long)]
    pub(super) report: bool,
    /// Print only errors on stderr: not the engine, the disk space that the run takes, or the progress.
    #[arg(short, long)]
    quiet: bool,
    /// CPU threads [default: all].
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
}

/// The datasets that are written.
#[derive(clap::Args)]
pub(super) struct DatasetArguments {
    /// Formats of the datasets (see `bristle docs datasets`).
    #[arg(long = "format", value_enum, value_delimiter = ',', value_name = "FORMAT", default_value = "npz")]
    formats: Vec<Format>,
    /// Optional contents of the datasets.
    #[arg(long, value_enum, value_delimiter = ',', value_name = "WHAT")]
    with: Vec<Extra>,
}

impl DatasetArguments {
    pub(super) fn chosen(&self) -> Datasets {
        Datasets { formats: self.formats.clone(), extras: self.with.clone() }
    }
}

impl Rollout {
    pub(super) fn run(&self) -> Result<(), Failure> {
        // Before the digests of a run that is read, which are computed on these threads.
        super::set_threads(self.threads)?;
        let file = scenario_file(&self.file)?;
        // What cannot be read is reported where the scenario is.
        if input::text(&file).is_ok_and(|text| is_world(&text)) {
            return self.run_worlds(&file);
        }
        let sweeps = super::sweeps(&file, &self.changes("contacts"), &self.sweeps)?;
        if !sweeps.is_empty() {
            return self.run_sweep(&file, &sweeps);
        }
        let scenario = Scenario::load(&file, &self.changes("contacts")).map_err(Failure::of_scenario)?;
        let (options, store) = target(self.options(), self.work.as_deref())?;
        if let Some(summary) = found(store.as_ref(), |store| store.begin(&scenario, &options))? {
            self.check_engine(Path::new(&summary.out), &summary.engine, self.asked_precision())?;
            self.note(format_args!("{} is complete", summary.out));
            return self.print(&summary);
        }
        let report = self.reports(&options.out);
        let summary = self.simulate(&scenario, &options, &mut None, &stop_when_interrupted(report))?;
        self.end(&options, report, store.as_ref(), &summary)
    }

    /// Simulates a scenario on `engine`, which is opened if it is needed; or finds the run complete.
    pub(super) fn simulate(
        &self,
        scenario: &Scenario,
        options: &Options,
        engine: &mut Option<Box<dyn Engine>>,
        stop: &Stop,
    ) -> Result<Summary, Failure> {
        if let Some(summary) = complete(scenario, options).map_err(failure)? {
            self.check_engine(&options.out, &summary.engine, self.asked_precision())?;
            self.note(format_args!("{} is complete", options.out.display()));
            return Ok(summary);
        }
        if engine.is_none() {
            let choice = self.engine.unwrap_or(scenario.spec().engine);
            let precision = self.precision.unwrap_or(scenario.spec().precision);
            *engine = Some(engine::open(choice, precision, self.adapter.adapter.as_deref(), self.quiet)?);
        }
        let engine = engine.as_deref().expect("an engine that is open");
        stop.goes_to(&options.out);
        let needs = needs(scenario, engine, options).map_err(failure)?;
        scenario.clipped().into_iter().for_each(|clipped| self.note(clipped));
        self.note(&needs);
        let has_images = [Extra::Tactile, Extra::Shear].into_iter().any(|extra| options.datasets.with(extra));
        if scenario.spec().sensor.is_some() && !has_images {
            self.note("`[sensor]` reads the images of `--with tactile` and `--with shear`: this run has none");
        }
        let contacts = options.contacts(scenario);
        let (n, samples) = (contacts.end - contacts.start, scenario.plan().samples.len() as u64);
        if n >= MANY {
            let all = scenario.contacts();
            self.note(format_args!("drawing and checking all {all} contacts before the first is simulated"));
        }
        let done = already(scenario, options) * samples;
        let progress = Progress::new(n * samples, done, format!("samples of {n} contacts"), self.quiet);
        let progress = Arc::new(RwLock::new(progress));
        let advance = |samples| {
            progress.read().unwrap_or_else(PoisonError::into_inner).advance(samples);
            stop.may_go_on()
        };
        let options = Options { writing: Some(Progress::writing(&progress, self.quiet)), ..options.clone() };
        let done = run(scenario, engine, &options, &needs, &advance);
        drop(options);
        drop(progress);
        end_if_asked(stop, matches!(done, Ok(_) | Err(RolloutError::Engine(EngineError::Stopped))));
        done.map_err(failure)
    }

    pub(super) fn options(&self) -> Options {
        let out = self.out.clone().unwrap_or_else(|| {
            let whole = self.file.canonicalize().unwrap_or_default();
            let name = if self.file.is_dir() { whole.file_name() } else { self.file.file_stem() };
            let run = PathBuf::from("runs").join(name.unwrap_or_default());
            self.shard.map_or(run.clone(), |shard| {
                run.with_added_extension("shards").join(format!("{}-of-{}", shard.index, shard.of))
            })
        });
        Options {
            force: self.force,
            resume: self.resume,
            extend: self.extend,
            report: self.report || self.extend,
            shard: self.shard,
            datasets: self.datasets.chosen(),
            draw: Some(svg),
            ..Options::new(out)
        }
    }

    /// The same for a scenario of rigid bodies.
    fn run_worlds(&self, file: &Path) -> Result<(), Failure> {
        self.refuse_what_worlds_lack()?;
        let scenario = WorldScenario::load(file, &self.changes("worlds")).map_err(Failure::of_scenario)?;
        let (options, store) = target(self.options(), self.work.as_deref())?;
        // Lemke's method has one precision, whatever is asked for.
        let asked = self.asked_precision().filter(|_| scenario.spec().solver != SolverName::Lemke);
        if let Some(summary) = found(store.as_ref(), |store| store.begin_worlds(&scenario, &options))? {
            self.check_engine(Path::new(&summary.out), &summary.engine, asked)?;
            self.note(format_args!("{} is complete", summary.out));
            return self.end_worlds(&summary);
        }
        let choice = self.engine.unwrap_or(scenario.spec().engine);
        let on_gpu = choice == EngineChoice::Gpu || self.adapter.adapter.is_some();
        let precision = scenario.precision(self.precision, on_gpu);
        if let Some(summary) = complete_worlds(&scenario, &options).map_err(failure)? {
            self.check_engine(&options.out, &summary.engine, asked)?;
            self.note(format_args!("{} is complete", options.out.display()));
            send(store.as_ref(), &options, self.quiet)?;
            return self.end_worlds(&summary);
        }
        let adapter = self.adapter.adapter.as_deref();
        let (info, make) = engine::open_worlds(choice, precision, &scenario, adapter, self.quiet)?;
        let needs = world_needs(&scenario, &options).map_err(failure)?;
        if let Some((first, others)) = scenario.untouched().split_first() {
            let others = if others.is_empty() { String::new() } else { format!(" (nor {} others)", others.len()) };
            self.note(format_args!("no contact names the body {first}{others}: it touches nothing"));
        }
        self.note(&needs);
        let stop = stop_when_interrupted(false);
        stop.goes_to(&options.out);
        let (n, samples) = (scenario.spec().worlds, scenario.plan().samples.len() as u64);
        let already = match left(&options.out) {
            Left::Contacts(done) if self.resume => done * samples,
            _ => 0,
        };
        let progress = Progress::new(n * samples, already, format!("samples of {n} worlds"), self.quiet);
        let advance = |samples| {
            progress.advance(samples);
            stop.may_go_on()
        };
        let done = worlds(&scenario, &WorldEngine { info, make: &make }, &options, &needs, &advance);
        drop(progress);
        end_if_asked(&stop, matches!(done, Ok(_) | Err(RolloutError::Engine(EngineError::Stopped))));
        let summary = done.map_err(failure)?;
        send(store.as_ref(), &options, self.quiet)?;
        self.end_worlds(&summary)
    }

    /// Refuses options of patches, before anything is read or written.
    fn refuse_what_worlds_lack(&self) -> Result<(), Failure> {
        let shard = self.shard.map(|shard| format!("--shard {shard}"));
        let format = self.datasets.formats.iter().find(|format| **format != Format::Npz);
        let format = format.map(|format| format!("--format {}", format.name()));
        let with = self.datasets.with.first().map(|extra| format!("--with {}", extra.name()));
        let given = |option: &str, given: bool| given.then(|| option.to_owned());
        let of_patches = [
            (given("--report", self.report), "trajectories.svg has a picture of the paths"),
            (given("--tolerance", self.tolerance.is_some()), "all steps are as long as `--step` says"),
            (
                given("--sweep", !self.sweeps.is_empty()),
                "`--set 'KEY={ choice = [..] }'` draws one of some values for each world, and a run for each value has \
                 an `--out` of its own",
            ),
            (given("--extend", self.extend), "a new run with more worlds (`-n`) begins with the worlds of the old one"),
            (shard, "a run on each machine has a `--seed` and an `--out` of its own"),
            (format, "trajectories.npz and contacts.npz are written always"),
            (with, "poses, twists and forces are written always"),
        ];
        match of_patches.into_iter().find_map(|(option, instead)| Some((option?, instead))) {
            None => Ok(()),
            Some((option, instead)) => Err(Failure::of_user(format!(
                "{option}: expected a scenario of patches; of this one, with `[[bodies]]`, {instead}"
            ))),
        }
    }

    /// Prints what became of a run of worlds; it is a failure if none has finished.
    fn end_worlds(&self, s: &WorldSummary) -> Result<(), Failure> {
        if self.json {
            print(&serde_json::to_string(s).map_err(Failure::of_machine)?)?;
        } else {
            print_text(&world_text(s))?;
        }
        match s.stopped.first() {
            Some(first) if s.failed == s.worlds => Err(Failure::of_machine(format!(
                "no world has finished: {} of {} were stopped, {first}; {}",
                s.failed, s.worlds, first.remedy
            ))),
            _ => Ok(()),
        }
    }

    /// Whether the run in `out` is to have a report: if it is asked for, or the run that is extended has one.
    pub(super) fn reports(&self, out: &Path) -> bool {
        self.report || (self.extend && out.join(REPORT).exists())
    }

    /// Makes the `report`, if it is to be and is not there, sends the run to its store, and prints what
    /// became of it.
    fn end(&self, options: &Options, report: bool, store: Option<&Store>, summary: &Summary) -> Result<(), Failure> {
        if report && !options.out.join(REPORT).exists() {
            super::report::write(&options.out, None)?;
        }
        send(store, options, self.quiet)?;
        self.print(summary)
    }

    fn print(&self, summary: &Summary) -> Result<(), Failure> {
        if self.json {
            print(&serde_json::to_string(summary).map_err(Failure::of_machine)?)
        } else {
            print_text(&text(summary))
        }
    }

    /// The precision that an argument asks for.
    fn asked_precision(&self) -> Option<&'static str> {
        self.precision.map(|p| if p == Precision::F32 { "f32" } else { "f64" })
    }

    /// Checks that a complete run was computed as the arguments ask for. What the scenario says is of its
    /// text.
    fn check_engine(&self, out: &Path, ran: &EngineInfo, precision: Option<&str>) -> Result<(), Failure> {
        let engine = match self.engine {
            None | Some(EngineChoice::Auto) => None,
            Some(EngineChoice::Cpu) => Some("cpu"),
            Some(EngineChoice::Gpu) => Some("gpu"),
        };
        for (what, asked, found) in [("engine", engine, ran.engine), ("precision", precision, ran.precision)] {
            if asked.is_some_and(|asked| asked != found) {
                let difference = format!("{what} = {}, where it has {found}", asked.unwrap_or_default());
                return Err(failure(RolloutError::Different { path: out.to_owned(), what, difference }));
            }
        }
        Ok(())
    }

    /// A line on stderr, unless there shall be none.
    fn note(&self, what: impl std::fmt::Display) {
        if !self.quiet {
            note(what);
        }
    }

    /// The changes of the scenario that the arguments ask for; `count` is the key of the number to draw.
    pub(super) fn changes(&self, count: &str) -> Vec<String> {
        let short = [
            ("contacts", self.contacts.map(|n| format!("{count}={n}"))),
            ("seed", self.seed.map(|n| format!("seed={n}"))),
            ("record_every", self.record_every.map(|s| format!("record_every={s:?}"))),
            ("step", self.step.map(|s| format!("step={s:?}"))),
            ("tolerance", self.tolerance.map(|t| format!("step={{ tolerance = {t:?} }}"))),
        ];
        self.changes.with(short)
    }
}

/// The complete run that is in the store already, if there is a store.
fn found<S>(
    store: Option<&Store>,
    begin: impl FnOnce(&Store) -> Result<Option<S>, RolloutError>,
) -> Result<Option<S>, Failure> {
    store.map_or(Ok(None), begin).map_err(failure)
}

fn world_text(s: &WorldSummary) -> String {
    let n = s.worlds;
    let mut text = format!(
        "{n} world{} on {} ({}, {})\n{} steps in {:.1} s: {:.3e} world-steps per second; {} solved by Lemke's \
         method; largest residual {:.1e}\n",
        if n == 1 { "" } else { "s" },
        s.engine.engine,
        s.engine.precision,
        s.engine.adapter,
        s.steps,
        s.wall_s,
        s.world_steps_per_s,
        s.by_lemke,
        s.residual,
    );
    let mut had = |count: u64, what: &str| {
        if count > 0 {
            text += &format!("{what}: {count}\n");
        }
    };
    had(s.halved, "steps that were halved, as their contacts had no solution as a whole");
    had(
        s.on_cpu,
        "groups of touching bodies that were too large for the GPU or had patches, and were solved on the CPU",
    );
    text += &match s.failed {
        0 => "none was stopped\n".to_owned(),
        failed => format!("{failed} of {n} stopped:\n"),
    };
    s.stopped.iter().for_each(|stopped| text += &format!("  {stopped}\n"));
    let named = s.stopped.len() as u64;
    if s.failed > named && named > 0 {
        text += &format!("  and {} others: `status` and `failed_bodies` in trajectories.npz\n", s.failed - named);
    }
    // Once for each reason.
    let mut remedies: Vec<&str> = s.stopped.iter().map(|stopped| stopped.remedy.as_str()).collect();
    remedies.dedup();
    remedies.iter().take(2).for_each(|remedy| text += &format!("to do: {remedy}\n"));
    text += &s.out;
    text
}

pub(super) fn text(s: &Summary) -> String {
    let (n, status) = (s.contacts, &s.status);
    let row = |count: u64, what: &str, how: String| format!("  {count:>8}  {what:<8} {how}\n");
    let mut text = format!(
        "{n} contact{} on {} ({}, {})\n",
        if n == 1 { "" } else { "s" },
        s.engine.engine,
        s.engine.precision,
        s.engine.adapter
    );
    text +=
        &row(status.slipped, "slipped", format!("their centre of pressure moved by more than {} mm", 1e3 * SLIPPED));
    text += &row(status.spun, "spun", format!("turned by more than {:.0} degree", ROTATION_SPUN.to_degrees()));
    text += &row(status.slipped_and_spun, "both", "slipped and spun".into());
    text += &row(status.stuck, "stuck", "did neither".into());
    text += &row(status.failed, "failed", "were stopped: they became non-finite or took too many steps".into());
    text +=
        &format!("{} steps in {:.1} s: {:.3e} contact-steps per second\n", s.steps, s.wall_s, s.contact_steps_per_s);
    if status.out_of_steps > 0 {
        text += &format!(
            "{} contacts had taken as many steps as they may; look at their parameters, or give them more \
             (`--set limits.steps=..`)\n",
            status.out_of_steps
        );
    }
    if status.left > 0 {
        text += &format!("{} contacts had left, as `stop_when` says, and were stopped there\n", status.left);
    }
    if s.unconverged_stages > 0 {
        text += &format!(
            "{} of {} velocity solves in {} contacts had not converged or had several solutions; {}\n",
            s.unconverged_stages,
            // A point contact has one a step, which is its pass.
            s.passes.min(2 * s.steps),
            status.unconverged,
            match s.tolerance {
                None => format!("a smaller step than {} s helps (`--step {}`)", s.step, s.step / 4.0),
                Some(t) => format!("a smaller tolerance than {t} m/s helps (`--tolerance {}`)", t / 10.0),
            }
        );
    }
    text += &s.out;
    text
}

//! The command line: parses the arguments, calls one function of the modules below, prints.
//!
//! Exit codes: 0 for success, 2 for errors of the user (arguments, scenario, existing output), 1 for errors
//! of the machine (no adapter, no disk space), 3 for a fit that has not converged.

mod bench;
mod changes;
mod demo;
#[cfg(test)]
mod documents;
mod engine;
mod fit;
mod help;
mod info;
mod interrupt;
mod margin;
mod merge;
mod options;
mod pressed;
mod progress;
mod report;
mod reproduce;
mod rollout;
mod stability;
mod surface;
mod sweep;
mod target;
mod torsion;

use std::fmt;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use serde_json::{Map, Value, json};

use self::options::failure;
use bristle::cpu::{MOST_THREADS, check_threads};
use bristle::error::{EngineError, ParameterError};
use bristle::quote::{self, MOST_MESSAGE};
use bristle_bench::terminal;
use bristle_data::rollout::check_scenario_of;
use bristle_data::surfaces::{self, Case, Sweep};
use bristle_scenario::{Clipped, ScenarioError};

/// Simulate thousands of LuGre and Elasto-Plastic friction patches at once.
#[derive(Parser)]
#[command(name = "bristle", version, about, long_about = None)]
#[command(after_help = "Examples:
  bristle example in_hand > my.toml   # a scenario to begin with
  bristle rollout my.toml --report    # simulate it, and make a page of that
  bristle docs scenario | less        # all that a scenario may say
  bristle surface my.toml --out table.npz
  bristle margin table.npz --load 1,0,0.005")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Draw the contacts of a scenario and simulate them.
    Rollout(rollout::Rollout),
    /// Join the shards of a run.
    Merge(merge::MergeArguments),
    /// Check every file of a run against its digest.
    Verify(merge::Verify),
    /// Make the table of the limit surface of one patch, or of many.
    Surface(surface::SurfaceArguments),
    /// Say how far a load may grow before a patch slips, and how the patch then moves.
    Margin(margin::MarginArguments),
    /// Say what to write into MJCF, USD, SDF or URDF for a pad, and how far off one number is.
    Torsion(torsion::TorsionArguments),
    /// Say whether contacts with friction hold a load, and how far it may grow: a hand, a foot, a stack.
    Stability(stability::StabilityArguments),
    /// Identify friction from recordings, and say what they cannot tell.
    Fit(fit::FitArguments),
    /// Serve the page of boxes in a gripper on this machine, and open it.
    Demo(demo::Demo),
    /// Make a page of a finished run: outcomes, motion, slip, wrenches, parameters, failures.
    Report(report::Report),
    /// Compute the paper's figures and tables, as one page that says which claims hold.
    Reproduce(reproduce::Reproduce),
    Bench(bench::BenchArguments),
    /// List the processors and GPUs of this machine.
    Info(info::Info),
    /// Print the JSON schema of scenario files, or of stability files.
    Schema(help::Schema),
    /// Print the documents, such as the page on scenario files.
    Docs(help::Docs),
    /// Print example files.
    Example(help::Example),
    /// Print the completions of a shell.
    Completions(help::Completions),
    /// Print a manual page, or write all of them.
    Man(help::Man),
}

/// The scenario file that an argument names: itself, or that of the run in the directory that it names.
fn scenario_file(path: &Path) -> Result<PathBuf, Failure> {
    if !path.is_dir() {
        return Ok(path.to_owned());
    }
    let file = path.join("scenario.toml");
    let message =
        || format!("{}: a directory without scenario.toml: expected a scenario file, or a run", path.display());
    if !file.is_file() {
        return Err(Failure::of_user(message()));
    }
    // Of a run, the scenario has to be the one that was written with it.
    check_scenario_of(path).map_err(failure)?;
    Ok(file)
}

/// The keys of combination `k` with their values.
fn swept(sweeps: &[Sweep], k: usize) -> Map<String, Value> {
    let value = |toml: &String| toml.parse::<f64>().map_or_else(|_| json!(unquoted(toml)), |v| json!(v));
    let places = surfaces::places(sweeps, k);
    sweeps.iter().zip(places).map(|(sweep, i)| (sweep.key.clone(), value(&sweep.values[i]))).collect()
}

/// A value of TOML without the quotes that text has there.
fn unquoted(toml: &str) -> String {
    let value = toml.parse::<toml_edit::Value>().ok();
    value.and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_else(|| toml.to_owned())
}

/// The sweeps of `--sweep` arguments over the file `path`, after `changes`.
fn sweeps(path: &Path, changes: &[String], texts: &[String]) -> Result<Vec<Sweep>, Failure> {
    let option = |e: ParameterError| Failure::of_user(ParameterError { field: "--sweep".into(), ..e });
    let mut sweeps: Vec<Sweep> = texts.iter().map(|s| s.parse()).collect::<Result<_, _>>().map_err(option)?;
    surfaces::expand(path, changes, &mut sweeps).map_err(Failure::of_scenario)?;
    Ok(sweeps)
}

/// Whether two paths are one file, which need not be there yet.
fn same_file(a: &Path, b: &Path) -> bool {
    let whole = |path: &Path| {
        let parent = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        path.canonicalize()
            .or_else(|_| Ok::<_, std::io::Error>(parent.canonicalize()?.join(path.file_name().unwrap_or_default())))
    };
    matches!((whole(a), whole(b)), (Ok(a), Ok(b)) if a == b)
}

/// Checks, before anything is computed, that a file may be written to `path`.
fn place(argument: &str, path: &Path, ending: &str, force: bool) -> Result<(), Failure> {
    let wrong = |why: &str| Err(Failure::of_user(format!("{argument} {}: {why}", path.display())));
    let parent = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if path.file_name().is_none() || (path.exists() && !path.is_file()) {
        return wrong("expected the name of a file");
    }
    if !path.extension().is_some_and(|e| e.eq_ignore_ascii_case(ending)) {
        return wrong(&format!("expected a name that ends in .{ending}"));
    }
    if !parent.is_dir() {
        return wrong(&format!("there is no directory {}", parent.display()));
    }
    if path.exists() && !force {
        return wrong("exists: expected a new name, or `--force` to replace it");
    }
    Ok(())
}

/// An error message, and whether the error is the user's or the machine's.
struct Failure {
    message: String,
    code: u8,
}

impl Failure {
    /// An error that the user can avoid by a different request.
    fn of_user(error: impl fmt::Display) -> Self {
        Self { message: error.to_string(), code: 2 }
    }

    /// A scenario, or what shall be done to it, is wrong.
    fn of_scenario(error: ScenarioError) -> Self {
        Self::of_user(options::of_scenario(&error))
    }

    /// An engine does not open, or fails.
    fn of_engine(error: EngineError) -> Self {
        Self::of_machine(options::of_engine(&error.to_string()))
    }

    /// An error of the machine.
    fn of_machine(error: impl fmt::Display) -> Self {
        Self { message: error.to_string(), code: 1 }
    }
}

/// Runs the program on the process's arguments.
pub fn main() -> ExitCode {
    // Writing beyond the limit of a file's size raises a signal that ends the program. With a handler it is
    // an error that is reported like others.
    #[cfg(unix)]
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, std::sync::Arc::default());
    let arguments = Arguments::try_parse().unwrap_or_else(|e| refuse(&e));
    if let Err(e) = check_threads() {
        note(format_args!("error: {e}"));
        return ExitCode::from(2);
    }
    let done = match arguments.command {
        Command::Rollout(rollout) => rollout.run(),
        Command::Merge(merge) => merge.run(),
        Command::Verify(verify) => verify.run(),
        Command::Surface(surface) => surface.run(),
        Command::Margin(margin) => margin.run(),
        Command::Torsion(torsion) => torsion.run(),
        Command::Stability(stability) => stability.run(),
        Command::Fit(fit) => fit.run(),
        Command::Demo(demo) => demo.run(),
        Command::Report(report) => report.run(),
        Command::Reproduce(reproduce) => reproduce.run(),
        Command::Bench(bench) => bench.run(),
        Command::Info(info) => info.run(),
        Command::Schema(schema) => schema.run(),
        Command::Docs(docs) => docs.run(),
        Command::Example(example) => example.run(),
        Command::Completions(completions) => completions.run(),
        Command::Man(man) => man.run(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure { message, code }) => {
            note(format_args!("error: {message}"));
            ExitCode::from(code)
        }
    }
}

/// Ends the program with an error about its arguments, which may be long, or with the help that was asked
/// for.
fn refuse(error: &clap::Error) -> ! {
    let text = error.to_string();
    if error.use_stderr() && text.chars().nth(MOST_MESSAGE).is_some() {
        note(quote::message(&text));
        std::process::exit(2);
    }
    error.exit()
}

/// Prints a line to stderr; if that fails there is nowhere to report it.
fn note(what: impl fmt::Display) {
    let _ = writeln!(std::io::stderr(), "{what}");
}

/// Tells what `patch.clip` has changed in the maps of all cases, unless nothing shall be told.
fn note_clipped(cases: &[Case], quiet: bool) {
    let clipped = cases.iter().filter_map(|case| case.source.clipped).reduce(Clipped::and);
    clipped.filter(|_| !quiet).into_iter().for_each(note);
}

/// Prints text wrapped to the width of the terminal.
fn print_text(text: &str) -> Result<(), Failure> {
    match terminal::width() {
        Some(width) => print(&terminal::wrap(text, width)),
        None => print(text),
    }
}

/// Prints a line or more on stdout.
fn print(text: &str) -> Result<(), Failure> {
    print_bytes(format!("{text}\n").as_bytes())
}

/// Writes to stdout; it is no error if the reader has closed the pipe.
fn print_bytes(bytes: &[u8]) -> Result<(), Failure> {
    match std::io::stdout().write_all(bytes) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => Err(Failure::of_machine(format!("stdout: {e}"))),
        _ => Ok(()),
    }
}

/// Limits the CPU engine to so many threads; all if none.
fn set_threads(threads: Option<usize>) -> Result<(), Failure> {
    match threads {
        None => Ok(()),
        Some(threads) if !(1..=MOST_THREADS).contains(&threads) => {
            Err(Failure::of_user(format!("--threads {threads}: expected 1 to {MOST_THREADS}")))
        }
        Some(threads) => {
            rayon::ThreadPoolBuilder::new().num_threads(threads).build_global().map_err(Failure::of_machine)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    /// The words of a line of a shell, as far as the examples go.
    fn words(line: &str) -> Vec<String> {
        let (mut words, mut quote) = (vec![String::new()], None);
        for c in line.chars() {
            match (quote, c) {
                (None, '\'' | '"') => quote = Some(c),
                (Some(open), c) if open == c => quote = None,
                (None, '>' | '|' | '#') => break,
                (None, ' ') => words.push(String::new()),
                _ => words.last_mut().expect("there is one word").push(c),
            }
        }
        words.retain(|word| !word.is_empty());
        words
    }

    /// Every command has examples, and they are commands.
    #[test]
    fn examples_of_the_help_are_understood() {
        let mut program = Arguments::command();
        program.build();
        program.clone().debug_assert();
        for command in std::iter::once(&program).chain(program.get_subcommands()) {
            if command.get_name() == "help" {
                continue;
            }
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let (head, examples) = help.split_once('\n').unwrap_or_else(|| panic!("{}", command.get_name()));
            assert_eq!(head, "Examples:");
            for line in examples.lines() {
                // Lines of a terminal, that can be copied.
                assert!(line.starts_with("  bristle ") && line.len() <= 80, "{line}");
                let line = line.trim();
                if let Err(e) = Arguments::try_parse_from(words(line)) {
                    panic!("{line}: {e}");
                }
            }
        }
    }

    #[test]
    fn changes_keep_their_order() {
        let line = "bristle rollout a.toml --set a=1 --unset b,c --set b=2 --unset a";
        let Command::Rollout(rollout) =
            Arguments::try_parse_from(words(line)).unwrap_or_else(|e| panic!("{e}")).command
        else {
            panic!("a rollout")
        };
        assert_eq!(rollout.changes("contacts"), ["a=1", "~b", "~c", "b=2", "~a"]);
    }
}

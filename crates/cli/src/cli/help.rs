//! Prints completions for shells, manual pages, documents and examples.

use std::path::{Path, PathBuf};

use clap::builder::PossibleValuesParser;
use clap::{Command, CommandFactory};

use super::{Arguments, Failure, print, print_bytes};
use bristle_bench::terminal;

const PROGRAM: &str = "bristle";

/// Print the completions of a shell.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  bristle completions bash > ~/.local/share/bash-completion/completions/bristle
  bristle completions zsh > ~/.zfunc/_bristle
  bristle completions fish > ~/.config/fish/completions/bristle.fish")]
pub(super) struct Completions {
    /// The shell.
    shell: clap_complete::Shell,
}

impl Completions {
    pub(super) fn run(&self) -> Result<(), Failure> {
        let mut bytes = Vec::new();
        clap_complete::generate(self.shell, &mut Arguments::command(), PROGRAM, &mut bytes);
        print_bytes(&bytes)
    }
}

/// Print a manual page, or write all of them.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  bristle man | man -l -
  bristle man rollout | man -l -
  bristle man --out ~/.local/share/man/man1")]
pub(super) struct Man {
    /// The command whose page is printed [default: the program].
    #[arg(conflicts_with = "out")]
    command: Option<String>,
    /// Write the pages of the program and of all commands into this directory.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

impl Man {
    pub(super) fn run(&self) -> Result<(), Failure> {
        let mut program = Arguments::command();
        if let Some(out) = &self.out {
            return pages(program, out).map_err(|e| Failure::of_machine(format!("{}: {e}", out.display())));
        }
        program.build();
        let command = match &self.command {
            None => &program,
            Some(name) => program.find_subcommand(name).ok_or_else(|| {
                let known: Vec<&str> = program.get_subcommands().map(Command::get_name).collect();
                Failure::of_user(format!("man {name}: expected one of {}", known.join(", ")))
            })?,
        };
        let mut bytes = Vec::new();
        clap_mangen::Man::new(command.clone()).render(&mut bytes).map_err(Failure::of_machine)?;
        print_bytes(&bytes)
    }
}

fn pages(program: Command, out: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(out)?;
    clap_mangen::generate_to(program, out)
}

/// Documents: name, what it is about, text.
const DOCUMENTS: [[&str; 3]; 10] = [
    [
        "scenario",
        "the language of scenarios, what a run writes, patches alone, margins",
        include_str!("../../../../docs/scenario.md"),
    ],
    ["worlds", "rigid bodies with contacts: their scenarios", include_str!("../../../../docs/worlds.md")],
    ["stability", "the language of stability files, and their answers", include_str!("../../../../docs/stability.md")],
    [
        "datasets",
        "the datasets of a run for learners, formats, shards, digests",
        include_str!("../../../../docs/datasets.md"),
    ],
    [
        "closed-loops",
        "batches that are stepped call by call, friction inside other simulators",
        include_str!("../../../../docs/closed-loops.md"),
    ],
    [
        "identification",
        "friction identified from recordings: their columns, and what they can tell",
        include_str!("../../../../docs/identification.md"),
    ],
    ["accuracy", "errors against step and tolerance, and their cost", include_str!("../../../../docs/accuracy.md")],
    [
        "benchmarks",
        "how fast the engines are, and how this was measured",
        include_str!("../../../../docs/benchmarks.md"),
    ],
    ["readme", "the program in five minutes", include_str!("../../../../README.md")],
    ["architecture", "how the program works inside", include_str!("../../../../ARCHITECTURE.md")],
];

/// Scenarios with comments, a patch, and contacts that hold loads.
const EXAMPLES: [[&str; 3]; 19] = [
    [
        "in_hand",
        "256 boxes between two pads, with uncertain numbers drawn",
        include_str!("../../../../examples/in_hand.toml"),
    ],
    ["reduced", "the same with one bristle a contact", include_str!("../../../../examples/reduced.toml")],
    ["push", "boxes on a table, pushed and turned", include_str!("../../../../examples/push.toml")],
    ["turntable", "boxes on a turntable, until they are thrown", include_str!("../../../../examples/turntable.toml")],
    ["two_soles", "boxes on a sole of rubber and plastic", include_str!("../../../../examples/two_soles.toml")],
    [
        "ribbed_belt",
        "parcels on a belt that holds along its ribs",
        include_str!("../../../../examples/ribbed_belt.toml"),
    ],
    ["stool", "a stool on three feet, pushed off its middle", include_str!("../../../../examples/stool.toml")],
    [
        "belted_fingers",
        "cards under two fingers that wear belts",
        include_str!("../../../../examples/belted_fingers.toml"),
    ],
    [
        "tactile_skin",
        "balls on tactile skin: pressed, dragged, held and lifted",
        include_str!("../../../../examples/tactile_skin.toml"),
    ],
    ["drift", "a disc that creeps under a load below break-away", include_str!("../../../../examples/drift.toml")],
    [
        "twist_profile",
        "a prescribed motion of six pressure maps",
        include_str!("../../../../examples/twist_profile.toml"),
    ],
    ["grasp", "a box between fingers with bristles, above a table", include_str!("../../../../examples/grasp.toml")],
    ["tower", "rigid bodies on a table that is pulled away", include_str!("../../../../examples/tower.toml")],
    ["patch", "a patch alone, for limit surfaces and margins", include_str!("../../../../examples/patch.toml")],
    ["hand", "three soft fingers, for `bristle stability`", include_str!("../../../../examples/hand.toml")],
    ["foot", "a foot on a slope, for `bristle stability`", include_str!("../../../../examples/foot.toml")],
    ["tribometer", "strokes of a slider, for `bristle fit`", include_str!("../../../../examples/tribometer.toml")],
    ["pushes", "pushes of a plate on three feet, for `bristle fit`", include_str!("../../../../examples/pushes.toml")],
    ["stack", "one brick on another, for `bristle stability`", include_str!("../../../../examples/stack.toml")],
];

/// Print the JSON schema of a kind of file.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  bristle schema > scenario.schema.json
  bristle schema worlds > worlds.schema.json
  bristle schema stability > stability.schema.json")]
pub(super) struct Schema {
    /// The kind of file.
    #[arg(value_enum, default_value_t)]
    kind: SchemaKind,
}

#[derive(Clone, Copy, Default, clap::ValueEnum)]
enum SchemaKind {
    #[default]
    Scenario,
    Worlds,
    Stability,
}

impl Schema {
    pub(super) fn run(&self) -> Result<(), Failure> {
        let schema = match self.kind {
            SchemaKind::Scenario => bristle_scenario::json_schema(),
            SchemaKind::Worlds => bristle_scenario::world_json_schema(),
            SchemaKind::Stability => bristle_scenario::stability_schema(),
        };
        print(&format!("{schema:#}"))
    }
}

fn names<const N: usize>(entries: [[&'static str; 3]; N]) -> PossibleValuesParser {
    PossibleValuesParser::new(entries.map(|[name, ..]| name))
}

fn list(entries: &[[&str; 3]]) -> String {
    let line = |[name, about, _]: &[&str; 3]| format!("{name:<14} {about}");
    entries.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn text(entries: &[[&'static str; 3]], name: &str) -> &'static str {
    entries.iter().find(|entry| entry[0] == name).map_or("", |entry| entry[2])
}

/// Print a document; without a name, the list of documents.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  bristle docs scenario | less
  bristle docs accuracy > accuracy.md")]
pub(super) struct Docs {
    /// The document, in Markdown; on a terminal wrapped to its width.
    #[arg(value_parser = names(DOCUMENTS), hide_possible_values = true)]
    name: Option<String>,
}

impl Docs {
    pub(super) fn run(&self) -> Result<(), Failure> {
        let Some(name) = &self.name else { return print(&list(&DOCUMENTS)) };
        let page = text(&DOCUMENTS, name).trim_end();
        match terminal::width() {
            Some(width) => print(terminal::markdown(page, width).trim_end()),
            None => print(page),
        }
    }
}

/// Print an example file; without a name, the list of examples.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  bristle example
  bristle example in_hand > my.toml")]
pub(super) struct Example {
    /// The example.
    #[arg(value_parser = names(EXAMPLES), hide_possible_values = true)]
    name: Option<String>,
}

impl Example {
    pub(super) fn run(&self) -> Result<(), Failure> {
        self.name.as_ref().map_or_else(|| print(&list(&EXAMPLES)), |name| print(text(&EXAMPLES, name).trim_end()))
    }
}

//! Runs the program, and tests what it writes and its errors for bad input.

use std::fs;
use std::path::Path;

use crate::program::{bristle, read};
use assert_cmd::Command;

const SLIDE: &str = r#"duration = 0.05
contacts = 3
[patch]
shape = "disc"
cells = 5
[friction]
mu_c = { uniform = [0.3, 0.9] }
[body]
kind = "body"
mass = 1.0
inertia = { disc = 0.05 }
[initial]
twist = [0.1, 0, 1.0]
[inputs]
tilt = { angle = 0.2 }
"#;

fn slide(text: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("slide.toml"), text).unwrap();
    dir
}

#[test]
fn a_rollout_writes_its_directory_and_one_json_object() {
    let dir = slide(SLIDE);
    let (code, stdout, stderr) =
        bristle(dir.path(), &["rollout", "slide.toml", "--engine", "cpu", "--json", "--threads", "2"]);
    assert_eq!(code, 0, "{stderr}");
    let summary: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    for key in ["engine", "precision", "adapter", "contacts", "steps", "wall_s", "contact_steps_per_s", "status", "out"]
    {
        assert!(!summary[key].is_null(), "{key} in {stdout}");
    }
    assert_eq!((&summary["engine"], &summary["contacts"]), (&"cpu".into(), &3.into()));
    assert!(summary["status"]["slipped_and_spun"].is_u64(), "{stdout}");
    let out = dir.path().join("runs/slide");
    assert_eq!(read(&out.join("trajectories.npz"), "pose").0, [3, 6, 3]);
    assert_eq!(read(&out.join("contacts.npz"), "friction.mu_c").0, [3]);
    let picture = fs::read_to_string(out.join("trajectories.svg")).unwrap();
    assert!(["Paths of 3 contacts", "Rotation", "\u{3b8} [\u{b0}]"].iter().all(|text| picture.contains(text)));
    // The stored scenario repeats the run.
    let (code, ..) = bristle(&out, &["rollout", "scenario.toml", "--engine", "cpu", "--out", "../again"]);
    assert_eq!(code, 0);
    let file = "trajectories.npz";
    assert_eq!(read(&out.join(file), "pose"), read(&dir.path().join("runs/again").join(file), "pose"));
}

/// What a user writes is not echoed at length, and no more threads are started than can be.
#[test]
fn messages_and_threads_are_bounded() {
    let dir = slide(SLIDE);
    let long = "x".repeat(100_000);
    for arguments in [
        vec!["rollout".to_owned(), "slide.toml".to_owned(), "--set".to_owned(), format!("friction.mu_c={long}")],
        vec!["rollout".to_owned(), "slide.toml".to_owned(), "--set".to_owned(), format!("{long}=1")],
        vec!["rollout".to_owned(), "slide.toml".to_owned(), "--unset".to_owned(), long.clone()],
        vec!["rollout".to_owned(), "slide.toml".to_owned(), "--sweep".to_owned(), format!("{long}=1:2:3")],
        vec!["rollout".to_owned(), "slide.toml".to_owned(), "--sweep".to_owned(), format!("friction.mu_c=[{long}]")],
        vec!["rollout".to_owned(), "slide.toml".to_owned(), "--samples".to_owned(), long.clone()],
        vec!["rollout".to_owned(), "slide.toml".to_owned(), "--threads".to_owned(), long.clone()],
        vec![long.clone()],
    ] {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let (code, _, stderr) = bristle(dir.path(), &arguments);
        assert!(code == 2 && stderr.len() < 3000, "{} bytes: {}", stderr.len(), &stderr[..300]);
    }
    let mut program = Command::cargo_bin("bristle").unwrap();
    let out = program.args(["rollout", "slide.toml", "--engine", "cpu"]).current_dir(dir.path());
    let out = out.env("RAYON_NUM_THREADS", "20000").output().unwrap();
    let stderr = String::from_utf8(out.stderr).unwrap();
    assert!(
        out.status.code() == Some(2) && stderr.contains("RAYON_NUM_THREADS = 20000: expected 1 to 1024"),
        "{stderr}"
    );
    assert!(!dir.path().join("runs").exists());
}

#[test]
fn a_contact_is_the_same_in_a_larger_batch() {
    let dir = slide(SLIDE);
    for n in ["3", "5"] {
        let (code, _, stderr) = bristle(dir.path(), &["rollout", "slide.toml", "--engine", "cpu", "-n", n, "--out", n]);
        assert_eq!(code, 0, "{stderr}");
    }
    let pose = |n: &str| read(&dir.path().join(n).join("trajectories.npz"), "pose").1;
    let (few, many) = (pose("3"), pose("5"));
    assert_eq!(few[..], many[..few.len()]);
}

#[test]
fn bad_input_gets_one_clear_error_and_exit_code_2() {
    let dir = slide(SLIDE);
    for (name, text) in [
        ("malformed.toml", "duration = = 1\n"),
        ("unknown.toml", &SLIDE.replace("mu_c", "mu_d")),
        ("negative.toml", &SLIDE.replace("shape = \"disc\"\ncells = 5", "pressure = [[1, -1]]")),
        ("size.toml", &SLIDE.replace("shape = \"disc\"", "pressure = [[1, 1]]")),
        ("image.toml", &SLIDE.replace("shape = \"disc\"", "file = \"none.png\"")),
        ("static.toml", &SLIDE.replace("mu_c =", "mu_s = 0.5\nmu_c =")),
    ] {
        fs::write(dir.path().join(name), text).unwrap();
    }
    for (arguments, parts) in [
        (vec!["none.toml"], vec!["none.toml"]),
        (vec!["malformed.toml"], vec!["malformed.toml:1:12"]),
        (vec!["unknown.toml"], vec!["unknown.toml:7:1", "unknown field `mu_d`, expected one of `law`"]),
        (
            vec!["negative.toml"],
            vec!["negative.toml:4:", "(ix = 1, iy = 0), from the lower left, is -1: expected a finite number >= 0"],
        ),
        (vec!["size.toml"], vec!["size.toml:5:", "5 x 5", "2 x 1"]),
        (vec!["image.toml"], vec!["image.toml:4:", "none.png"]),
        (vec!["static.toml", "-n", "100"], vec!["static.toml", "contact ", "friction.mu_s = 0.5", "mu_c = 0."]),
        (vec!["slide.toml", "--step", "0"], vec!["step = 0: expected 1e-7 to 0.1"]),
        (vec!["slide.toml", "--step", "-1e-3"], vec!["step = -0.001"]),
        (vec!["slide.toml", "-n", "0"], vec!["contacts = 0"]),
        (vec!["slide.toml", "--set", "friction"], vec!["key=value"]),
        (vec!["slide.toml", "--set", "contact.rule=cells"], vec!["contact.rule", "model = \"reduced\""]),
        (
            vec!["slide.toml", "--set", "contact={ model = 'reduced', surface = 'ellipsoid', n_ls = 7 }"],
            vec!["contact.n_ls", "surface = \"limit-surface\""],
        ),
        (vec!["slide.toml", "--set", "contact={ model = 'reduced', n_ls = 0 }"], vec!["contact.n_ls = 0", "1 to 1000"]),
        (
            vec!["slide.toml", "--set", "contact={ model = 'reduced' }", "--set", "patch.cells=1"],
            vec!["one cell with pressure: expected at least two", "\"points\""],
        ),
        (
            vec!["slide.toml", "--set", "contact={ model = 'reduced', table_force = 5 }"],
            vec!["contact.table_force", "hertz"],
        ),
        (
            vec![
                "slide.toml",
                "--set",
                "contact={ model = 'reduced', form = 'published' }",
                "--set",
                "friction.law=lugre",
            ],
            vec!["contact.form", "elasto-plastic"],
        ),
        (vec!["slide.toml", "--threads", "20000"], vec!["--threads 20000", "1 to 1024"]),
        (vec!["slide.toml", "--seed", "9223372036854775808"], vec!["--seed", "9223372036854775807"]),
        (vec!["slide.toml", "--seed", "-1"], vec!["--seed", "-1", "expected a whole number from 0 to"]),
        (vec!["slide.toml", "-n", "-5"], vec!["--contacts", "-5", "expected a whole number, 1 or more"]),
        (vec!["slide.toml", "--shard", "1/3", "--with", "margin"], vec!["with = margin: expected nothing but `shear`"]),
        (vec!["slide.toml", "--set", "patch={ pressure = [] }"], vec!["patch.pressure: is empty: expected rows"]),
        (
            vec!["slide.toml", "--unset", "friction.mu_c", "--unset", "friction.mu_c"],
            vec!["there is no `mu_c` to remove: expected nothing, as the table is empty"],
        ),
        (
            vec!["slide.toml", "--format", "lerobot", "--set", "duration=0.5", "--record-every", "0.03"],
            vec!["record_every = 0.03", "the 0.5 s of the run are a multiple, such as 0.025 or 0.02"],
        ),
    ] {
        let (code, stdout, stderr) =
            bristle(dir.path(), &[vec!["rollout", "--engine", "cpu"], arguments.clone()].concat());
        assert_eq!((code, stdout.as_str()), (2, ""), "{arguments:?}: {stderr}");
        assert_eq!(stderr.matches("error:").count(), 1, "{stderr}");
        assert!(parts.iter().all(|part| stderr.contains(part)), "{arguments:?}: {stderr}");
        assert!(!dir.path().join("runs").exists(), "{arguments:?}");
    }
}

#[test]
fn a_run_is_not_overwritten_unless_told() {
    let dir = slide(SLIDE);
    let run = ["rollout", "slide.toml", "--engine", "cpu", "-n", "1"];
    assert_eq!(bristle(dir.path(), &run).0, 0);
    let (code, _, stderr) = bristle(dir.path(), &run);
    assert!(code == 2 && stderr.contains("--force"), "{stderr}");
    assert_eq!(bristle(dir.path(), &[&run[..], &["--force"]].concat()).0, 0);
    // What is no run stays.
    fs::create_dir_all(dir.path().join("mine")).unwrap();
    fs::write(dir.path().join("mine/data.txt"), "mine").unwrap();
    let (code, _, stderr) = bristle(dir.path(), &[&run[..], &["--force", "--out", "mine"]].concat());
    assert!(code == 2 && stderr.contains("mine is no run of bristle"), "{stderr}");
    assert_eq!(fs::read_to_string(dir.path().join("mine/data.txt")).unwrap(), "mine");
}

/// What is no complete run is told what it is.
#[test]
fn verify_says_what_a_place_is() {
    let dir = slide(SLIDE);
    let run = ["rollout", "slide.toml", "--engine", "cpu", "-q", "-n", "2"];
    for more in [&["--out", "run"][..], &["--out", "sweep", "--sweep", "friction.mu_c=0.4:1:2"], &["--shard", "1/2"]] {
        let (code, _, stderr) = bristle(dir.path(), &[&run[..], more].concat());
        assert_eq!(code, 0, "{stderr}");
    }
    let at = |name: &str| dir.path().join(name);
    fs::create_dir(at("empty")).unwrap();
    fs::create_dir_all(at("begun.partial/spool")).unwrap();
    fs::write(at("begun.partial/spool/progress.json"), "{\"identity\": {}}").unwrap();
    for (place, told) in [
        ("none", "none is not there: expected the directory of a run"),
        ("empty", "empty is no run of bristle: expected the directory of a run"),
        ("sweep", "sweep is no run of bristle: expected the directory of a run"),
        ("runs/slide.shards", "is no run of bristle: expected the directory of a run or of a shard"),
        (
            "begun.partial",
            "is an unfinished run: expected a complete run; repeat its command with `--resume` to complete it",
        ),
        ("begun", "is an unfinished run: expected a complete run"),
    ] {
        let (code, _, stderr) = bristle(dir.path(), &["verify", place]);
        assert!(code == 2 && stderr.contains(told) && !stderr.contains("--out"), "{place}: {stderr}");
    }
    for place in ["run", "sweep/0", "runs/slide.shards/1-of-2"] {
        assert_eq!(bristle(dir.path(), &["verify", place]).0, 0, "{place}");
    }
    fs::write(at("run/run.json"), "{").unwrap();
    let (code, _, stderr) = bristle(dir.path(), &["verify", "run"]);
    assert!(code == 1 && stderr.contains("run: run.json: is damaged") && stderr.contains("one file is"), "{stderr}");
    fs::remove_file(at("sweep/0/SHA256SUMS")).unwrap();
    let (code, _, stderr) = bristle(dir.path(), &["verify", "sweep/0"]);
    assert!(code == 2 && stderr.contains("sweep/0 has no SHA256SUMS"), "{stderr}");
}

/// A run that is another one says in what.
#[test]
fn another_run_is_told_by_its_first_difference() {
    let dir = slide(SLIDE);
    let run =
        |more: &[&str]| bristle(dir.path(), &[&["rollout", "slide.toml", "--engine", "cpu", "-q"][..], more].concat());
    assert_eq!(run(&[]).0, 0);
    for (more, told) in [
        (
            &["--extend", "--seed", "9"][..],
            "runs/slide holds another run (seed = 9, where it has none): expected another",
        ),
        (&["--resume", "--format", "npz,zarr"], "(formats = [\"npz\", \"zarr\"], where it has [\"npz\"])"),
        (&["--resume", "-n", "4"], "(contacts = 4, where it has 3)"),
        (&["--resume", "--precision", "f64"], "(precision = f64, where it has f32)"),
        (&["--extend", "-n", "4", "--precision", "f64"], "(precision = \"f64\", where it has \"f32\")"),
        (
            &["--resume", "--set", "body.mass=2"],
            "(body.mass = 2, where it has 1.0): expected another `--out`, or `--force`",
        ),
    ] {
        let (code, _, stderr) = run(more);
        assert!(code == 2 && stderr.contains(told), "{more:?}: {stderr}");
    }
    assert_eq!((run(&["--shard", "1/2"]).0, run(&["--shard", "2/2", "--seed", "9"]).0), (0, 0));
    let (code, _, stderr) = bristle(dir.path(), &["merge", "runs/slide.shards", "--out", "merged"]);
    let told = "are of different runs: another scenario (seed = 9, where the first has none)";
    assert!(code == 2 && stderr.contains(told), "{stderr}");
}

/// `-n` and the like are changes among the others.
#[test]
fn changes_are_made_in_the_order_of_the_arguments() {
    let dir = slide(SLIDE);
    for (k, (arguments, wanted)) in [
        (&["-n", "4", "--set", "contacts=5"][..], 5),
        (&["--set", "contacts=5", "-n", "4"], 4),
        (&["--seed", "1", "-n", "4", "--unset", "contacts", "--step", "1e-4"], 1),
    ]
    .into_iter()
    .enumerate()
    {
        let out = k.to_string();
        let rollout = ["rollout", "slide.toml", "--engine", "cpu", "-q", "--json", "--out", &out];
        let (code, stdout, stderr) = bristle(dir.path(), &[&rollout[..], arguments].concat());
        let summary: serde_json::Value = serde_json::from_str(&stdout).unwrap_or_default();
        assert!(code == 0 && summary["contacts"] == wanted, "{arguments:?}: {stdout} {stderr}");
    }
}

/// A program that does not outlive its test.
#[cfg(unix)]
struct Child(std::process::Child);

#[cfg(unix)]
impl Child {
    /// Starts `command` in `dir`.
    fn start(dir: &Path, mut command: std::process::Command) -> Self {
        Self(command.current_dir(dir).stderr(std::process::Stdio::piped()).spawn().unwrap())
    }

    /// Waits until the run `far` in `dir` has more than `contacts` on the disk; returns how many.
    fn has_more_than(&mut self, contacts: u64, dir: &Path) -> u64 {
        loop {
            let text = fs::read(dir.join("far.partial/spool/progress.json")).unwrap_or_default();
            let progress: serde_json::Value = serde_json::from_slice(&text).unwrap_or_default();
            if let Some(done) = progress["contacts_done"].as_u64().filter(|done| *done > contacts) {
                return done;
            }
            assert_eq!(self.0.try_wait().unwrap(), None, "it has ended");
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
    }

    fn signal(&self, name: &str) {
        let sent = std::process::Command::new("kill").args([name, &self.0.id().to_string()]).status().unwrap();
        assert!(sent.success());
    }

    /// Its exit code, and what it said on stderr.
    fn end(mut self) -> (Option<i32>, String) {
        let mut stderr = String::new();
        std::io::Read::read_to_string(self.0.stderr.as_mut().unwrap(), &mut stderr).unwrap();
        (self.0.wait().unwrap().code(), stderr)
    }
}

#[cfg(unix)]
impl Drop for Child {
    fn drop(&mut self) {
        let _ = self.0.kill();
    }
}

/// A run of minutes, which no test waits for.
#[cfg(unix)]
const FAR: [&str; 12] = [
    "rollout",
    "slide.toml",
    "--engine",
    "cpu",
    "--out",
    "far",
    "-n",
    "50000",
    "--set",
    "duration=1",
    "--record-every=1",
    "--threads=1",
];

#[cfg(unix)]
#[test]
fn an_interrupted_run_says_how_to_go_on() {
    let dir = slide(SLIDE);
    // It replaces a run, which stays until the new one is complete.
    assert_eq!(bristle(dir.path(), &["rollout", "slide.toml", "--engine", "cpu", "--out", "far", "-n", "1"]).0, 0);
    let old = fs::read(dir.path().join("far/run.json")).unwrap();
    let mut done = 0;
    for how in ["--force", "--resume"] {
        let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin!("bristle"));
        command.args(FAR).arg(how);
        let mut child = Child::start(dir.path(), command);
        // The second one goes on where the first one ended.
        done = child.has_more_than(done, dir.path());
        child.signal("-INT");
        let (code, stderr) = child.end();
        assert_eq!(code, Some(130), "{stderr}");
        assert!(stderr.contains("far.partial; `--resume` continues it"), "{stderr}");
        assert_eq!(fs::read(dir.path().join("far/run.json")).unwrap(), old);
    }
    assert!(!dir.path().join("far/spool").exists());
}

/// A scheduler asks with SIGTERM; a program under nohup outlives its terminal.
#[cfg(unix)]
#[test]
fn a_run_under_nohup_goes_on_until_it_is_asked_to_end() {
    let dir = slide(SLIDE);
    let mut command = std::process::Command::new("nohup");
    command.arg(assert_cmd::cargo::cargo_bin!("bristle")).args(FAR).stdout(std::process::Stdio::null());
    let mut child = Child::start(dir.path(), command);
    let before = child.has_more_than(0, dir.path());
    child.signal("-HUP");
    // One block may have been under way.
    let after = child.has_more_than(before, dir.path());
    child.has_more_than(after, dir.path());
    child.signal("-TERM");
    let (code, stderr) = child.end();
    assert!(code == Some(143) && stderr.contains("far.partial; `--resume` continues it"), "{code:?} {stderr}");
}

#[test]
fn a_run_may_not_be_called_as_unfinished_ones_are() {
    let dir = slide(SLIDE);
    let (code, _, stderr) = bristle(dir.path(), &["rollout", "slide.toml", "--engine", "cpu", "--out", "x.partial"]);
    assert!(code == 2 && stderr.contains("x.partial"), "{stderr}");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn a_place_that_cannot_be_written_is_the_machines_fault() {
    let dir = slide(SLIDE);
    let (code, _, stderr) =
        bristle(dir.path(), &["rollout", "slide.toml", "--engine", "cpu", "--out", "slide.toml/run"]);
    assert_eq!(code, 1, "{stderr}");
}

/// An adapter is named by an option or by the environment; a name that none has is told what there is, and no
/// other adapter, nor the CPU, is taken in its place.
#[test]
#[cfg(feature = "gpu")]
fn an_adapter_is_named_or_refused() {
    let dir = slide(SLIDE);
    let run = |variable: Option<(&str, &str)>, arguments: &[&str]| {
        let mut command = Command::cargo_bin("bristle").unwrap();
        let rollout = ["rollout", "slide.toml", "-n", "1", "--set", "duration=0.01", "--json", "-q", "--force"];
        let output = command.current_dir(dir.path()).args(rollout).args(arguments).envs(variable).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        let summary: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        (output.status.code(), summary["adapter"].as_str().unwrap_or_default().to_owned(), text(output.stderr))
    };
    let (_, stdout, _) = bristle(dir.path(), &["info", "--json"]);
    let info: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    let name = info["adapters"][0]["name"].as_str().unwrap();
    let part = name.split(' ').next().unwrap().to_uppercase();
    for engine in ["gpu", "auto"] {
        let found = run(None, &["--engine", engine, "--adapter", &part]);
        assert_eq!((found.0, found.1.as_str()), (Some(0), name), "{}", found.2);
        let found = run(Some(("WGPU_ADAPTER_NAME", &part)), &["--engine", engine]);
        assert_eq!((found.0, found.1.as_str()), (Some(0), name), "{}", found.2);
        for (field, (code, _, stderr)) in [
            ("--adapter", run(None, &["--engine", engine, "--adapter", "nowhere"])),
            ("WGPU_ADAPTER_NAME", run(Some(("WGPU_ADAPTER_NAME", "nowhere")), &["--engine", engine])),
        ] {
            assert_eq!(code, Some(2), "{stderr}");
            assert!(stderr.contains(&format!("{field} = nowhere")) && stderr.contains(name), "{stderr}");
        }
        let (code, _, stderr) = run(Some(("WGPU_BACKEND", "cuda")), &["--engine", engine]);
        assert!(code == Some(2) && stderr.contains("WGPU_BACKEND = cuda"), "{stderr}");
    }
    // What the CPU does needs none.
    assert_eq!(run(Some(("WGPU_ADAPTER_NAME", "nowhere")), &["--engine", "cpu"]).0, Some(0));
    for refused in [["--engine", "cpu"], ["--precision", "f64"]] {
        let (code, _, stderr) = run(None, &[&refused[..], &["--adapter", &part]].concat());
        assert!(code == Some(2) && stderr.contains("--adapter"), "{stderr}");
    }
}

#[test]
fn info_and_schema_print_json() {
    let dir = tempfile::tempdir().unwrap();
    for arguments in [&["info", "--json"][..], &["schema"]] {
        let (code, stdout, stderr) = bristle(dir.path(), arguments);
        assert_eq!(code, 0, "{stderr}");
        assert!(serde_json::from_str::<serde_json::Value>(&stdout).unwrap().is_object());
    }
}

#[test]
#[cfg(not(feature = "cloud"))]
fn a_program_without_stores_says_how_to_get_one_with_them() {
    let dir = slide(SLIDE);
    let (code, _, stderr) = bristle(dir.path(), &["rollout", "slide.toml", "--out", "s3://bucket/run"]);
    assert_eq!(code, 2, "{stderr}");
    assert!(
        stderr.contains("s3://bucket/run") && stderr.contains("`cargo install --path crates/cli --features cloud`"),
        "{stderr}"
    );
    assert!(!dir.path().join("runs").exists(), "nothing is computed");
}

/// What stores of objects add.
#[cfg(not(debug_assertions))]
const CLOUD: u64 = 6_000_000;

/// Lines for a debugger had made it 93 MB. Reading tables of Parquet takes 0.8 MB, what `bench --all`
/// compares 0.4 MB, and `fit` 2.7 MB with its page and the decompressors of MCAP. At 32.85 MB with all
/// features there is room for 0.5 %; generic code that several crates use is in it once for each.
#[test]
#[cfg(not(debug_assertions))]
fn the_program_is_small() {
    let bytes = fs::metadata(env!("CARGO_BIN_EXE_bristle")).unwrap().len();
    let most = if cfg!(feature = "cloud") { 27_000_000 + CLOUD } else { 27_000_000 };
    assert!(bytes < most, "{bytes} bytes");
}

#[test]
fn drivers_that_miss_a_display_are_not_heard() {
    let output = Command::cargo_bin("bristle").unwrap().env_remove("XDG_RUNTIME_DIR").arg("info").output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && !stderr.contains("XDG_RUNTIME_DIR"), "{stderr}");
}

/// The examples are read, and their first contacts run.
#[test]
fn every_example_runs() {
    let examples = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join("examples");
    let dir = tempfile::tempdir().unwrap();
    let all = [
        "in_hand",
        "reduced",
        "drift",
        "twist_profile",
        "push",
        "turntable",
        "two_soles",
        "ribbed_belt",
        "stool",
        "belted_fingers",
        "tactile_skin",
    ];
    for example in all {
        let file = examples.join(format!("{example}.toml"));
        let arguments = ["rollout", file.to_str().unwrap(), "--engine", "cpu", "-n", "2", "--set", "duration=0.05"];
        let (code, _, stderr) = bristle(dir.path(), &arguments);
        assert_eq!(code, 0, "{example}: {stderr}");
        assert!(dir.path().join("runs").join(example).join("run.json").exists());
    }
}

/// What a person reads is as wide as the terminal; files and programs get it as it is.
#[test]
fn text_is_as_wide_as_the_terminal() {
    let dir = slide(SLIDE);
    let of = |columns: &str, arguments: &[&str]| {
        let mut command = Command::cargo_bin("bristle").unwrap();
        let output = command.current_dir(dir.path()).env("COLUMNS", columns).args(arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let widest = |text: &str| text.lines().map(|line| line.chars().count()).max().unwrap();
    let bench = ["bench", "--work", "step", "--engine", "baseline,cpu", "--n", "5", "-b", "2", "--seconds", "0.2"];
    let commands: [&[&str]; 6] = [
        &["rollout", "--help"],
        &["margin", "--help"],
        &["bench", "--help"],
        &["docs", "scenario"],
        &["rollout", "slide.toml", "--engine", "cpu", "--out", "run", "--force"],
        &bench,
    ];
    for arguments in commands {
        let (narrow, wide) = (of("70", arguments), of("200", arguments));
        assert!(widest(&narrow) <= 70, "{arguments:?}:\n{narrow}");
        assert!(widest(&wide) > 70, "{arguments:?}:\n{wide}");
    }
    // Columns that do not fit stand below, beside their engine.
    assert_eq!(of("70", &bench).matches("baseline f64").count(), 4, "{}", of("70", &bench));
    assert_eq!(of("", &["docs", "scenario"]).trim_end(), include_str!("../../../../docs/scenario.md").trim_end());
}

#[test]
fn an_installed_program_brings_examples_documents_completions_and_pages() {
    let dir = tempfile::tempdir().unwrap();
    let ok = |arguments: &[&str]| {
        let (code, stdout, stderr) = bristle(dir.path(), arguments);
        assert_eq!((code, stderr.as_str()), (0, ""), "{arguments:?}");
        stdout
    };
    let listed = ok(&["example"]);
    assert_eq!(listed.lines().count(), 19, "{listed}");
    for line in listed.lines() {
        let name = line.split(' ').next().unwrap();
        let file =
            Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join("examples").join(format!("{name}.toml"));
        let text = ok(&["example", name]);
        assert_eq!(text, fs::read_to_string(file).unwrap());
        // Nothing in it needs a clone.
        assert!(!text.contains("cargo") && !text.contains("examples/"), "{text}");
        fs::write(dir.path().join(format!("{name}.toml")), text).unwrap();
    }
    let run = ["rollout", "drift.toml", "--engine", "cpu", "--set", "duration=0.01"];
    assert_eq!(bristle(dir.path(), &run).0, 0);
    for page in ["scenario", "stability", "accuracy", "benchmarks", "readme", "architecture"] {
        assert!(ok(&["docs"]).contains(page) && ok(&["docs", page]).starts_with("# "), "{page}");
    }
    for (shell, part) in [("bash", "_bristle()"), ("zsh", "#compdef bristle"), ("fish", "complete -c bristle")] {
        let text = ok(&["completions", shell]);
        assert!(text.contains(part) && text.contains("twist"), "{shell}");
    }
    assert!(ok(&["man"]).contains(".TH bristle 1") && ok(&["man", "margin"]).contains("\\-\\-loads"));
    assert_eq!(ok(&["man", "--out", "pages/man1"]), "");
    let pages: Vec<_> = fs::read_dir(dir.path().join("pages/man1")).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert!(pages.iter().any(|name| name == "bristle-rollout.1") && pages.len() >= 13, "{pages:?}");
    for (arguments, part) in [
        (["example", "inhand"], "in_hand"),
        (["docs", "scenarios"], "scenario"),
        (["completions", "basch"], "bash"),
        (["man", "rolout"], "rollout"),
    ] {
        let (code, stdout, stderr) = bristle(dir.path(), &arguments);
        assert!(code == 2 && stdout.is_empty() && stderr.contains(part), "{arguments:?}: {stderr}");
    }
}

/// The directory of a run stands for its scenario.
#[test]
fn a_run_is_repeated_from_its_directory() {
    use npyz::WriterBuilder;
    let text = SLIDE.replace("shape = \"disc\"\ncells = 5", "file = \"map.npy\"");
    // Factors of friction from the same file, of which the run has a copy of its own.
    let dir = slide(&text.replace("[friction]", "[friction]\nmap = \"map.npy\""));
    let file = fs::File::create(dir.path().join("map.npy")).unwrap();
    let mut writer = npyz::WriteOptions::new().default_dtype().shape(&[2, 3]).writer(file).begin_nd().unwrap();
    writer.extend([1.0f64, 2.0, 0.5, 1.0, 1.0, 3.0]).unwrap();
    writer.finish().unwrap();
    let run = |arguments: &[&str]| bristle(dir.path(), &[&["rollout", "--engine", "cpu"], arguments].concat());
    assert_eq!(run(&["slide.toml", "--seed", "5"]).0, 0);
    // The map is that of the run.
    fs::remove_file(dir.path().join("map.npy")).unwrap();
    let (code, _, stderr) = run(&["runs/slide/", "--out", "again"]);
    assert_eq!(code, 0, "{stderr}");
    let pose = |out: &str| read(&dir.path().join(out).join("trajectories.npz"), "pose").1;
    assert_eq!(pose("runs/slide"), pose("again"));
    let (code, stdout, stderr) = run(&["again", "--set", "friction.law=lugre", "-n", "2"]);
    assert!(
        code == 0 && stdout.starts_with("2 contacts") && stdout.trim_end().ends_with("runs/again"),
        "{stdout}{stderr}"
    );
    assert_ne!(pose("again")[..pose("runs/again").len()], pose("runs/again"));
    // In its own place it is a run that is there.
    let (code, _, stderr) = run(&["runs/slide"]);
    assert!(code == 2 && stderr.contains("runs/slide exists") && stderr.contains("--out"), "{stderr}");
    assert_eq!(run(&["runs/slide", "--force", "-n", "1"]).0, 0);
    assert_eq!(pose("runs/slide"), pose("again")[..pose("runs/slide").len()]);
    for command in [&["margin", "again", "--load", "1,0,0"][..], &["surface", "again", "--out", "t.npz", "--n-ls", "2"]]
    {
        assert_eq!(bristle(dir.path(), command).0, 0, "{command:?}");
    }
    fs::create_dir(dir.path().join("empty")).unwrap();
    let (code, _, stderr) = run(&["empty"]);
    assert!(code == 2 && stderr.contains("empty: a directory without scenario.toml"), "{stderr}");
}

#[test]
fn keys_are_set_and_removed_in_the_order_of_the_arguments() {
    let dir = slide(SLIDE);
    let run =
        |arguments: &[&str]| bristle(dir.path(), &[&["rollout", "slide.toml", "--engine", "cpu"], arguments].concat());
    let prescribed = ["--set", "body.kind=prescribed"];
    let (code, _, stderr) = run(&prescribed);
    let removes = "`--unset body.mass,body.inertia,inputs.tilt,initial.twist` removes them";
    assert!(code == 2 && stderr.contains(removes) && stderr.contains("but `inputs.twist`"), "{stderr}");
    let unset = ["--unset", "body.mass,body.inertia,inputs.tilt", "--unset", "initial.twist"];
    let set = ["--set", "inputs.twist.vx=0.01", "--set", "inputs.normal_force=2"];
    let (code, _, stderr) = run(&[&prescribed[..], &unset, &set].concat());
    assert_eq!(code, 0, "{stderr}");
    let text = fs::read_to_string(dir.path().join("runs/slide/scenario.toml")).unwrap();
    assert!(text.contains("vx = 0.01") && !text.contains("mass") && !text.contains("tilt"), "{text}");
    // Removed and set anew, and the other way round.
    let (code, _, stderr) =
        run(&["--unset", "friction.mu_c", "--set", "friction.mu_c=0.4", "--out", "a", "--set", "initial.pose.2=0.1"]);
    assert_eq!(code, 0, "{stderr}");
    assert_eq!(read(&dir.path().join("a/contacts.npz"), "friction.mu_c").1, [0.4; 3]);
    assert_eq!(read(&dir.path().join("a/contacts.npz"), "initial.pose.2").1, [0.1; 3]);
    assert_eq!(run(&["--set", "friction.mu_c=0.4", "--unset", "friction.mu_c", "--out", "b"]).0, 0);
    assert_eq!(read(&dir.path().join("b/contacts.npz"), "friction.mu_c").1, [1.0; 3]);
    let (code, _, stderr) = run(&["--unset", "friction.mu_d", "--out", "c"]);
    assert!(
        code == 2 && stderr.contains("`--unset friction.mu_d`: there is no `mu_d` to remove: expected one of mu_c"),
        "{stderr}"
    );
    let (code, _, stderr) = run(&["--set", "mu_c=0.4", "--out", "c"]);
    assert!(code == 2 && stderr.contains("did you mean `friction.mu_c` or `inputs.mu_c`?"), "{stderr}");
    let (code, _, stderr) = run(&["--set", "patch.shape=cirle", "--out", "c"]);
    assert!(code == 2 && stderr.contains("did you mean `circle`?") && !dir.path().join("c").exists(), "{stderr}");
}

#[test]
fn contacts_that_take_more_steps_than_they_may_are_counted_and_told() {
    let dir = slide(SLIDE);
    // 0.05 s in steps of 2e-4 s are 250.
    let run = |steps: &str, more: &[&str]| {
        let set = format!("limits.steps={steps}");
        let arguments = ["rollout", "slide.toml", "--engine", "cpu", "--force", "--set", &set];
        let (code, stdout, stderr) = bristle(dir.path(), &[&arguments, more].concat());
        assert_eq!(code, 0, "{stderr}");
        stdout
    };
    let counts = |steps: &str| {
        let summary: serde_json::Value = serde_json::from_str(&run(steps, &["--json"])).unwrap();
        ["failed", "out_of_steps"].map(|key| summary["status"][key].as_u64().unwrap())
    };
    assert_eq!((counts("100"), counts("1000")), ([3, 3], [0, 0]));
    let told = "3 contacts had taken as many steps as they may";
    let stdout = run("100", &[]);
    assert!(stdout.contains(told) && stdout.contains("--set limits.steps="), "{stdout}");
    let stdout = run("1000", &[]);
    assert!(!stdout.contains("steps as they may"), "{stdout}");
}

/// A sensor reads images: a run without any says that it has no effect.
#[test]
fn a_sensor_without_images_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let text = bristle(dir.path(), &["example", "tactile_skin"]).1;
    fs::write(dir.path().join("skin.toml"), text).unwrap();
    let run = |out: &str, with: &[&str]| {
        let run =
            ["rollout", "skin.toml", "--engine", "cpu", "--contacts", "1", "--set", "duration=0.02", "--out", out];
        let (code, _, stderr) = bristle(dir.path(), &[&run[..], with].concat());
        assert_eq!(code, 0, "{stderr}");
        stderr.contains("`[sensor]` reads the images of `--with tactile` and `--with shear`: this run has none")
    };
    assert!(run("without", &[]) && !run("with", &["--with", "shear"]));
}

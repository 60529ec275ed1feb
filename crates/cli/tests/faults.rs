//! Runs that fill the disk, runs that are refused because they cannot fit on it, and runs that ended before
//! their page was written.
#![cfg(unix)]

use std::fs;
use std::path::Path;
use std::process::Command;

const SLIDE: &str = r#"duration = 0.5
record_every = 0.005
contacts = 400
seed = 7
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

const RUN: [&str; 8] = ["rollout", "slide.toml", "--engine", "cpu", "--threads", "1", "--out", "run"];

/// A directory with the scenario.
fn slide() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("slide.toml"), SLIDE).unwrap();
    dir
}

/// `bristle` in `dir`, whose files may have `limit` blocks of 512 bytes.
fn bristle(dir: &Path, arguments: &[&str], limit: Option<u32>) -> Command {
    let mut command = match limit {
        None => Command::new(env!("CARGO_BIN_EXE_bristle")),
        Some(limit) => {
            let mut shell = Command::new("sh");
            let script = format!("ulimit -f {limit}; exec \"$0\" \"$@\"");
            shell.args(["-c", &script, env!("CARGO_BIN_EXE_bristle")]);
            shell
        }
    };
    command.current_dir(dir).args(arguments);
    command
}

/// Exit code, stdout and stderr.
fn output(command: &mut Command) -> (Option<i32>, String, String) {
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Fails unless two runs have the same files with the same bytes, but for the times in the record.
#[track_caller]
fn assert_same(found: &Path, wanted: &Path) {
    assert_eq!(names(found), names(wanted));
    for name in names(wanted) {
        let [found, wanted] = [found, wanted].map(|dir| fs::read(dir.join(&name)).unwrap());
        match name.as_str() {
            "run.json" => {
                let record = |bytes: &[u8]| {
                    let mut record: serde_json::Value = serde_json::from_slice(bytes).unwrap();
                    for key in ["wall_s", "contact_steps_per_s"] {
                        record["summary"][key].take();
                    }
                    record["digest"].take();
                    record
                };
                assert_eq!(record(&found), record(&wanted));
            }
            _ => assert!(found == wanted, "{name}: {} and {} bytes", found.len(), wanted.len()),
        }
    }
}

/// A job that was ended between its run and its page repeats its command.
#[test]
fn a_complete_run_gets_its_page_by_the_same_command() {
    let dir = slide();
    let arguments = [&RUN[..], &["-n", "5", "--resume"]].concat();
    let (code, first, stderr) = output(&mut bristle(dir.path(), &arguments, None));
    assert_eq!(code, Some(0), "{stderr}");
    let run = dir.path().join("run");
    let record = fs::read(run.join("run.json")).unwrap();
    // What the end of a process leaves of a page.
    fs::write(run.join("report.html.17.partial"), "<html>").unwrap();
    let again = [&arguments[..], &["--report"]].concat();
    let (code, stdout, stderr) = output(&mut bristle(dir.path(), &again, None));
    assert_eq!((code, &stdout), (Some(0), &first), "{stderr}");
    assert!(stderr.contains("run is complete"), "{stderr}");
    let page = fs::read_to_string(run.join("report.html")).unwrap();
    assert!(page.trim_end().ends_with("</html>"));
    assert_eq!(fs::read(run.join("run.json")).unwrap(), record);
    assert!(!names(&run).iter().any(|name| name.ends_with(".partial")));
    assert_eq!(names(dir.path()), ["run", "slide.toml"]);
}

/// A run into a file limit, then into one at its end, then with room: each time one sentence that says
/// what to do, and nothing is lost.
#[test]
fn a_run_without_room_says_so_and_goes_on() {
    let (dir, other) = (slide(), slide());
    let partial = dir.path().join("run.partial");
    assert_eq!(output(&mut bristle(other.path(), &RUN, None)).0, Some(0));
    let resume = [&RUN[..], &["--resume"]].concat();
    let told = |stderr: &str, parts: &[&str]| {
        let error = stderr.lines().last().unwrap();
        assert!(parts.iter().all(|part| error.contains(part)), "{stderr}");
        for bad in ["os error", "Zip", "zip", "panic", "ExceededQuota"] {
            assert!(!stderr.contains(bad), "{stderr}");
        }
    };
    // 400 contacts have 970 kB of poses; half of them fit.
    let (code, stdout, stderr) = output(&mut bristle(dir.path(), &RUN, Some(970)));
    assert_eq!((code, stdout.as_str()), (Some(1), ""), "{stderr}");
    let kept = "and repeat the command with `--resume`, which keeps the ";
    told(
        &stderr,
        &["run.partial/spool/pose: no file may become larger here, ", " more are needed and ", "`ulimit -f`", kept],
    );
    let count = stderr.split(kept).nth(1).unwrap().split(' ').next().unwrap();
    assert!((32..=205).contains(&count.parse().unwrap()), "{stderr}");
    // All of them fit, and the archive of all arrays does not.
    let (code, stdout, stderr) = output(&mut bristle(dir.path(), &resume, Some(2500)));
    assert_eq!((code, stdout.as_str()), (Some(1), ""), "{stderr}");
    let archive = "run.partial/trajectories.npz: no file may become larger here, ";
    told(&stderr, &[archive, "`ulimit -f`", kept, "the 400 contacts"]);
    assert_eq!(names(&partial), ["lock", "spool"]);
    let (code, _, stderr) = output(&mut bristle(dir.path(), &resume, None));
    assert_eq!(code, Some(0), "{stderr}");
    assert_same(&dir.path().join("run"), &other.path().join("run"));
}

#[test]
fn tables_and_pages_without_room_leave_nothing() {
    let dir = slide();
    let sweep = ["--sweep", "patch.size=0.01:0.03:3"];
    let surface = ["surface", "slide.toml", "--out", "table.npz", "--no-fits"];
    let before = names(dir.path());
    for arguments in
        [surface.to_vec(), [&surface[..], &sweep].concat(), vec!["reproduce", "fig6", "--quick", "--out", "report"]]
    {
        let (code, stdout, stderr) = output(&mut bristle(dir.path(), &arguments, Some(8)));
        assert_eq!((code, stdout.as_str()), (Some(1), ""), "{arguments:?}: {stderr}");
        let error = stderr.lines().last().unwrap();
        let file = if arguments[0] == "surface" { "error: table.npz" } else { "error: report/fig6.csv" };
        assert!(error.starts_with(&format!("{file}: no file may become larger here: raise that")), "{stderr}");
        assert!(!stderr.contains("os error") && !stderr.contains("ip"), "{stderr}");
        let _ = fs::remove_dir(dir.path().join("report"));
        assert_eq!(names(dir.path()), before);
    }
}

/// The sum is told before anything is drawn or written. No disk has so much space; what becomes of little
/// memory, or of a smaller disk, is tested in `rollout/needs` with numbers in place of the machine's.
#[test]
fn a_run_that_cannot_fit_is_refused() {
    let dir = slide();
    let many = ["-n", "4294967296", "--record-every", "0.005"];
    let (code, stdout, stderr) = output(&mut bristle(dir.path(), &[&RUN[..], &many].concat(), None));
    assert_eq!((code, stdout.as_str()), (Some(1), ""), "{stderr}");
    for part in [" TB of disk space at run", "4294967296 contacts x 101 samples x 96 bytes of raw arrays"] {
        assert!(stderr.contains(part), "{stderr}");
    }
    assert_eq!(names(dir.path()), ["slide.toml"]);
}

/// Before it begins a run tells what it will take of the disk, and takes no more; afterwards the record says
/// it, too.
#[test]
fn disk_space_is_told_and_nothing_if_quiet() {
    let dir = slide();
    let (code, stdout, stderr) = output(&mut bristle(dir.path(), &[&RUN[..], &["--json"]].concat(), None));
    assert_eq!(code, Some(0), "{stderr}");
    for part in ["of disk while it is written: ", "400 contacts x 101 samples x 96 bytes of raw arrays; "] {
        assert!(stderr.contains(part), "{stderr}");
    }
    // A line of progress comes after ten seconds.
    assert_eq!(stderr.lines().filter(|line| !line.contains(" after ")).count(), 1, "{stderr}");
    let summary: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    let told = summary["disk_bytes"].as_u64().unwrap();
    let size = |name: &str| fs::metadata(dir.path().join("run").join(name)).unwrap().len();
    let raw = 400 * (101 * 96 + 60);
    // Labels are in files of their own until they are in the NPZ file.
    let labels = 400 * (101 * 8 + 10);
    let most = raw
        + labels
        + ["trajectories.npz", "contacts.npz", "trajectories.svg", "scenario.toml", "run.json"]
            .map(size)
            .iter()
            .sum::<u64>();
    assert!((most..most + (5 << 20)).contains(&told), "{told} bytes told, {most} taken");
    let record: serde_json::Value =
        serde_json::from_slice(&fs::read(dir.path().join("run/run.json")).unwrap()).unwrap();
    assert_eq!(record["summary"]["disk_bytes"], told);

    let (code, _, stderr) = output(&mut bristle(dir.path(), &[&RUN[..], &["--force", "--quiet"]].concat(), None));
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    let auto = ["rollout", "slide.toml", "-q", "-n", "1", "--out", "auto"];
    let sweep = ["surface", "slide.toml", "--out", "t.npz", "-q", "--sweep", "patch.size=0.01:0.03:3"];
    let bench = ["bench", "-q", "--seconds", "0", "--n", "5", "-b", "1", "--engine", "cpu", "--work", "step"];
    for arguments in [&auto[..], &sweep, &bench, &["reproduce", "fig6", "--quick", "-q"]] {
        let (code, _, stderr) = output(&mut bristle(dir.path(), arguments, None));
        assert_eq!((code, stderr.as_str()), (Some(0), ""), "{arguments:?}");
    }
}

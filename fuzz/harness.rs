//! Calls the readers of files with arbitrary bytes. A reader may refuse or accept them; it must not panic,
//! run out of memory or hang.
//!
//! `cargo fuzz` runs these functions on mutations of the files in `seeds` (see docs/contributing.md).
//! `crates/cli/tests/inputs.rs` runs them on those files with a few changed bytes, and on inputs that failed
//! once.

use std::path::{Path, PathBuf};

use bristle_cli::report::report;
use bristle_data::surfaces::{self, Loads};
use bristle_data::table_file;
use bristle_scenario::input::Npz;
use bristle_scenario::map_file::{load_csv, load_frames, load_npy, load_png};
use bristle_scenario::{PatchSource, Scenario, StabilityFile, WorldScenario, change};
use sha2::{Digest, Sha256};

/// A name and what is done with the bytes of a file.
pub type Target = (&'static str, fn(&[u8]));

/// What is tried, by name.
pub const TARGETS: [Target; 11] = [
    ("png", png),
    ("npy", npy),
    ("csv", csv),
    ("npz", npz),
    ("table", table),
    ("tables", tables),
    ("trajectories", trajectories),
    ("contacts", contacts),
    ("scenario", scenario),
    ("stability", stability),
    ("change", changes),
];

/// The directory of this thread.
fn here(name: &str) -> PathBuf {
    thread_local! {
        static HERE: tempfile::TempDir = tempfile::tempdir().expect("a directory for files that do not last");
    }
    HERE.with(|dir| dir.path().join(name))
}

fn write(name: &str, bytes: &[u8]) -> PathBuf {
    let path = here(name);
    // Some file systems wait for the disk when a file is written over.
    let _ = std::fs::remove_file(&path);
    std::fs::write(&path, bytes).expect("a small file");
    path
}

/// A pressure map.
pub fn png(bytes: &[u8]) {
    let _ = load_png(&write("map.png", bytes));
}

/// The loads of a file, or of an array inside it, for three patches.
fn loads(path: &Path, inside: &str) {
    let source = format!("{}{inside}", path.display());
    if let Ok(loads) = Loads::read(&source, 3) {
        assert_eq!(loads.of(2).len(), loads.each());
    }
    let _ = surfaces::per_patch(&source, "mu", 3, ("a number", |_| true));
}

/// A pressure map, loads, or a table of contacts.
pub fn csv(bytes: &[u8]) {
    const CONTACT: &str = r#"
duration = 0.1
[table]
file = "map.csv"
[contact]
model = "point"
[body]
kind = "gripper"
mass = { column = "mass" }
[inputs]
normal_force = { column = "grip" }
"#;
    let path = write("map.csv", bytes);
    let _ = load_csv(&path);
    loads(&path, "");
    let _ = Scenario::parse(CONTACT, &here(""), "contact.toml");
}

/// One pressure map or frames of them, or loads.
pub fn npy(bytes: &[u8]) {
    let path = write("map.npy", bytes);
    for frame in [None, Some(0), Some(2)] {
        let _ = load_npy(&path, frame, None);
    }
    for (from, to) in [(0, None), (1, Some(2)), (3, Some(1))] {
        let _ = load_frames(&path, from, to, Some([4, 4]));
    }
    loads(&path, "");
}

/// Any archive of arrays.
pub fn npz(bytes: &[u8]) {
    let path = write("any.npz", bytes);
    let Ok(mut file) = Npz::open(&path) else { return };
    for name in file.names() {
        let (shape, numbers) = (file.shape(&name), file.numbers(&name));
        if let (Ok(shape), Ok(numbers)) = (shape, numbers) {
            assert_eq!(shape.iter().product::<usize>(), numbers.len());
        }
        let _ = (file.rows(&name, &[0, 2]), file.json(&name));
        loads(&path, &format!(":{name}"));
    }
}

/// A table of a limit surface.
pub fn table(bytes: &[u8]) {
    let path = write("table.npz", bytes);
    let _ = (table_file::load(&path), table_file::saved_load(&path));
}

/// The page of tables, and their patches for margins.
pub fn tables(bytes: &[u8]) {
    let path = write("tables.npz", bytes);
    if let Ok((patches, _)) = surfaces::load(&path) {
        assert!(!patches.is_empty());
    }
    // A finer table than that of the seeds, or one of many more cells, is made all right, but takes its time.
    if !bytes.windows(8).any(|part| part == b"\"n_ls\":2") {
        return;
    }
    let _ = report(&path, Some(&here("tables.html")));
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The page of a run with other samples.
pub fn trajectories(bytes: &[u8]) {
    run("trajectories.npz", bytes);
}

/// The page of a run with other parameters.
pub fn contacts(bytes: &[u8]) {
    run("contacts.npz", bytes);
}

fn run(name: &str, bytes: &[u8]) {
    const FILES: [(&str, &[u8]); 4] = [
        ("run.json", include_bytes!("run/run.json")),
        ("scenario.toml", include_bytes!("run/scenario.toml")),
        ("trajectories.npz", include_bytes!("seeds/trajectories/run.npz")),
        ("contacts.npz", include_bytes!("seeds/contacts/run.npz")),
    ];
    let dir = here("run");
    std::fs::create_dir_all(&dir).expect("a directory");
    let mut sums = String::new();
    for (file, content) in &FILES[1..] {
        let content = if *file == name { bytes } else { content };
        write(&format!("run/{file}"), content);
        sums += &format!("{}  {file}\n", sha256(content));
    }
    write("run/SHA256SUMS", sums.as_bytes());
    // A file with other bytes than its digest says is refused before it is read.
    let record = String::from_utf8_lossy(FILES[0].1).replacen('{', "{ \"manifest\": \"DIGEST\",", 1);
    write("run/run.json", record.replace("DIGEST", &sha256(sums.as_bytes())).as_bytes());
    let _ = report(&dir, None);
}

/// A scenario, of patches or of bodies, or a file with a patch, as it is and with a change.
pub fn scenario(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    // Makes a table of whatever patch there is, which takes its time.
    if text.contains("reduced") {
        return;
    }
    let path = write("scenario.toml", bytes);
    for changes in [&[][..], &["contacts=2".to_owned()]] {
        if let Ok(scenario) = Scenario::load(&path, changes) {
            assert!(changes.is_empty() || scenario.contacts() == 2, "a change was lost");
            let _ = (scenario.parameters(1), scenario.contact(1));
        }
    }
    let _ = PatchSource::parse(text, &here(""), "patch.toml");
    if let Ok(worlds) = WorldScenario::load(&path, &[]) {
        let _ = (worlds.parameters(1), worlds.world(1));
    }
}

/// A stability file, and its answer.
pub fn stability(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(file) = StabilityFile::parse(text, "stability.toml") else { return };
    // Pyramids of many sides make large programs, which take their time.
    if file.assembly.contacts.len() <= 8 && !text.contains("pyramid = 1") {
        let _ = file.assembly.stability();
    }
}

/// A change, which is the first line, of the text below: what was put there is there.
pub fn changes(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Some((setting, text)) = text.split_once('\n') else { return };
    let Ok(changed) = change(text, setting) else { return };
    let (key, value) = setting.split_once('=').expect("a change that was made");
    let root: toml::Value = match toml::from_str(&changed) {
        Ok(table) => toml::Value::Table(table),
        Err(e) => panic!("{setting:?} made of\n{text}\nwhat is no TOML:\n{changed}\n{e}"),
    };
    let mut found = Some(&root);
    for part in key.split('.').map(str::trim) {
        found = match found {
            Some(toml::Value::Array(values)) => part.parse::<usize>().ok().and_then(|i| values.get(i)),
            Some(value) => value.get(part),
            None => None,
        };
    }
    let value = value.trim();
    // The mark of a text in Unicode is none of its values.
    let value = value.strip_prefix('\u{feff}').unwrap_or(value);
    let expected = match toml::from_str::<toml::Table>(&format!("x = {value}")) {
        Ok(mut table) => table.remove("x"),
        Err(_) => Some(toml::Value::String(value.to_owned())),
    };
    // NaN is not itself.
    assert_eq!(format!("{found:?}"), format!("{:?}", expected.as_ref()), "{setting:?} in\n{text}\nmade\n{changed}");
}

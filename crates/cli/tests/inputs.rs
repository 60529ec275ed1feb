//! Input files of arbitrary bytes are accepted or refused, without a panic and in little memory.
//!
//! The functions under test are those of `cargo fuzz` (see docs/contributing.md), which tries more inputs.

#[path = "../../../fuzz/harness.rs"]
mod harness;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::fs;
use std::path::Path;

use assert_cmd::Command;
use bristle_scenario::input::MAX_BYTES;
use proptest::prelude::*;

/// The system's allocator, which counts what each thread asks for: memory that is never touched takes none,
/// and counts all the same.
struct Counted;

thread_local! {
    static NOW: Cell<usize> = const { Cell::new(0) };
    static MOST: Cell<usize> = const { Cell::new(0) };
}

#[expect(unsafe_code, reason = "an allocator")]
// SAFETY: all is left to the system's.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = NOW.get().saturating_add(layout.size());
        NOW.set(now);
        MOST.set(MOST.get().max(now));
        // SAFETY: what is promised here is what the system asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // What another thread has asked for is not counted here.
        NOW.set(NOW.get().saturating_sub(layout.size()));
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counted = Counted;

/// Most memory [byte] that `work` asks for on this thread.
fn memory(work: impl FnOnce()) -> usize {
    let before = NOW.get();
    MOST.set(before);
    work();
    MOST.get() - before
}

/// A change of a file.
#[derive(Clone, Debug)]
enum Change {
    /// Numbers that headers may hold, of 1, 2, 4 or 8 bytes, in either order.
    Put { at: usize, value: u64, bytes: usize, big: bool },
    /// A part goes.
    Cut { at: usize, length: usize },
    /// A part comes again.
    Again { at: usize, length: usize, to: usize },
    /// Text that readers know.
    Write { at: usize, text: &'static str },
}

fn change() -> impl Strategy<Value = Change> {
    let value = prop_oneof![
        any::<u64>(),
        0..4096u64,
        (0..64u32).prop_map(|i| 1 << i),
        (0..64u32).prop_map(|i| u64::MAX >> i),
        Just(30_000),
    ];
    let text = prop::sample::select(vec![
        "nan",
        "-inf",
        "1e400",
        "-0",
        "9223372036854775808",
        "4294967296",
        "1979-05-27",
        "(",
        "{",
        "[[",
        "'",
        "\"",
        "\n",
        ",",
        "=",
        "u1",
        ">f8",
        "O",
        "True",
        "(4294967296, 4294967296)",
        "(0,)",
        "\u{feff}",
        "\0",
    ]);
    prop_oneof![
        4 => (any::<usize>(), value, prop::sample::select(vec![1, 2, 4, 8]), any::<bool>())
            .prop_map(|(at, value, bytes, big)| Change::Put { at, value, bytes, big }),
        1 => (any::<usize>(), 0..200usize).prop_map(|(at, length)| Change::Cut { at, length }),
        1 => (any::<usize>(), 0..200usize, any::<usize>())
            .prop_map(|(at, length, to)| Change::Again { at, length, to }),
        1 => (any::<usize>(), text).prop_map(|(at, text)| Change::Write { at, text }),
    ]
}

impl Change {
    fn make(&self, file: &mut Vec<u8>) {
        let within = |at: usize, file: &[u8]| at % (file.len() + 1);
        let mut put = |at: usize, new: &[u8]| {
            let at = within(at, file);
            let end = (at + new.len()).min(file.len());
            file.splice(at..end, new.iter().copied());
        };
        match *self {
            Self::Put { at, value, bytes, big } => {
                if big {
                    put(at, &value.to_be_bytes()[8 - bytes..]);
                } else {
                    put(at, &value.to_le_bytes()[..bytes]);
                }
            }
            Self::Write { at, text } => put(at, text.as_bytes()),
            Self::Cut { at, length } => {
                let at = within(at, file);
                file.drain(at..(at + length).min(file.len()));
            }
            Self::Again { at, length, to } => {
                let at = within(at, file);
                let part = file[at..(at + length).min(file.len())].to_vec();
                let to = within(to, file);
                file.splice(to..to, part);
            }
        }
    }
}

/// The sums by which a PNG tells that it was changed.
fn with_sums(mut png: Vec<u8>) -> Vec<u8> {
    let mut at = 8;
    while let Some(head) = png.get(at..at + 8) {
        let length = u32::from_be_bytes([head[0], head[1], head[2], head[3]]) as usize;
        let end = at + 8 + length;
        let Some(sum) = png.get(at + 4..end).map(crc32fast::hash) else { break };
        let Some(place) = png.get_mut(end..end + 4) else { break };
        place.copy_from_slice(&sum.to_be_bytes());
        at = end + 4;
    }
    png
}

/// The sums by which an archive tells that an array which is not compressed was changed.
fn with_sums_of_npz(mut npz: Vec<u8>) -> Vec<u8> {
    let places: Vec<usize> = (0..npz.len()).filter(|at| npz[*at..].starts_with(b"PK\x01\x02")).collect();
    for at in places {
        let number = |at: usize, bytes: usize| -> Option<usize> {
            Some(npz.get(at..at + bytes)?.iter().rev().fold(0, |n, byte| n << 8 | usize::from(*byte)))
        };
        let place = || {
            let (size, local) = (number(at + 20, 4)?, number(at + 42, 4)?);
            // Sizes of eight bytes come after the name.
            let size = if size == 0xffff_ffff { number(at + 46 + number(at + 28, 2)? + 12, 8)? } else { size };
            let data = local + 30 + number(local + 26, 2)? + number(local + 28, 2)?;
            Some((local, crc32fast::hash(npz.get(data..data.checked_add(size)?)?).to_le_bytes()))
        };
        let Some((local, sum)) = place() else { continue };
        for place in [at + 16, local + 14] {
            if let Some(to) = npz.get_mut(place..place + 4) {
                to.copy_from_slice(&sum);
            }
        }
    }
    npz
}

fn seeds(name: &str) -> Vec<Vec<u8>> {
    let dir = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join("fuzz/seeds").join(name);
    let mut files: Vec<_> = fs::read_dir(dir).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty(), "{name}");
    files.iter().map(|file| fs::read(file).unwrap()).collect()
}

/// Tries the target `name` on its seeds, and on `cases` files made of them.
fn holds(name: &str, cases: u32) {
    let target = harness::TARGETS.iter().find(|(known, _)| *known == name).unwrap().1;
    let seeds = seeds(name);
    let check = |file: &[u8]| {
        let bytes = memory(|| target(file));
        assert!(bytes as u64 <= MAX_BYTES, "{bytes} bytes of memory for {} bytes", file.len());
    };
    seeds.iter().for_each(|seed| check(seed));
    let config = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
    proptest!(config, |(seed in prop::sample::select(seeds), changes in prop::collection::vec(change(), 1..6))| {
        let mut file = seed;
        changes.iter().for_each(|change| change.make(&mut file));
        check(&match name {
            "png" => with_sums(file),
            "npz" | "table" | "tables" | "trajectories" | "contacts" => with_sums_of_npz(file),
            _ => file,
        });
    });
}

macro_rules! targets {
    ($($name:ident: $cases:expr),*) => {
        mod targets {
            $(#[test] fn $name() { super::holds(stringify!($name), $cases); })*
        }

        #[test]
        fn every_target_is_tried() {
            let tried = [$(stringify!($name)),*];
            assert_eq!(tried, harness::TARGETS.map(|(name, _)| name));
            for name in tried {
                let file = format!("fuzz/fuzz_targets/{name}.rs");
                assert!(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join(&file).exists(), "{file}");
            }
        }
    };
}

targets! {
    png: 2000, npy: 3000, csv: 3000, npz: 2000, table: 1000, tables: 100, trajectories: 60, contacts: 60,
    scenario: 2000, stability: 1000, change: 3000
}

/// An image of `width` x `height` pixels of 8 bytes, according to its header.
fn png(width: u32, height: u32) -> Vec<u8> {
    let mut png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
    png.extend(width.to_be_bytes());
    png.extend(height.to_be_bytes());
    // 16 bits, RGBA; then some data, and the end.
    png.extend(b"\x10\x06\0\0\0crc_\0\0\0\x08IDAT\x78\x9c\x63\0\0\0\x01\0crc_\0\0\0\0IENDcrc_");
    with_sums(png)
}

/// An NPZ with one array of the given header.
fn npz(name: &str, shape: &str) -> Vec<u8> {
    let header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}\n");
    let npy = [b"\x93NUMPY\x01\x00", &(header.len() as u16).to_le_bytes()[..], header.as_bytes(), &[0; 64]].concat();
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    zip.start_file(format!("{name}.npy"), options).unwrap();
    std::io::Write::write_all(&mut zip, &npy).unwrap();
    zip.finish().unwrap().into_inner()
}

/// The same, but for the method of compression that it claims, in both places.
fn claiming(method: u8, mut npz: Vec<u8>) -> Vec<u8> {
    for (head, at) in [(b"PK\x03\x04", 8), (b"PK\x01\x02", 10)] {
        let head = npz.windows(4).position(|part| part == head).unwrap();
        npz[head + at] = method;
    }
    npz
}

/// The program in `dir`; its exit code and stderr. A program that does what these files ask for would take
/// all memory of the machine. The limit is there for that; it is far above what a program takes that does
/// not.
fn bristle(dir: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    // The address sanitizer wants terabytes of addresses.
    let limited = cfg!(target_os = "linux") && std::env::var_os("ASAN_OPTIONS").is_none();
    let mut command = if limited {
        let mut shell = Command::new("sh");
        shell.args(["-c", "ulimit -v 8000000; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_bristle")]);
        // What a thread sets aside of addresses is not to depend on how many processors there are.
        shell.env("MALLOC_ARENA_MAX", "1").env("RAYON_NUM_THREADS", "1");
        shell
    } else {
        Command::new(env!("CARGO_BIN_EXE_bristle"))
    };
    let output = command.args(arguments).current_dir(dir).output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// Each is refused for what it is, by every command that reads such a file.
#[test]
fn files_that_claim_too_much_are_refused_with_their_name_and_what_would_be_accepted() {
    let dir = tempfile::tempdir().unwrap();
    let put = |name: &str, bytes: &[u8]| fs::write(dir.path().join(name), bytes).unwrap();
    for file in ["map.png", "map.npy", "map.csv", "pipe.npy", "zero.npy", "zero.csv", "zero.png", "directory.npy"] {
        put(&format!("{file}.toml"), format!("[patch]\nfile = \"{file}\"\n").as_bytes());
    }
    put("map.png", &png(30_000, 30_000));
    let whole = npz("weights", "(4294967296, 4294967296)");
    let npy = whole.windows(6).position(|part| part == b"\x93NUMPY").unwrap();
    put("map.npy", &whole[npy..]);
    put("tables.npz", &npz("metadata", "(4294967296, 4294967296)"));
    put("bzip2.npz", &claiming(12, npz("metadata", "(1,)")));
    put("deflated.npz", &claiming(8, npz("metadata", "(1,)")));
    fs::File::create(dir.path().join("map.csv")).unwrap().set_len(1 << 40).unwrap();
    fs::File::create(dir.path().join("long.toml")).unwrap().set_len(1 << 40).unwrap();
    put("many.toml", format!("[patch]\npressure = [[{}]]\n", "1,".repeat(5_000_000)).as_bytes());
    fs::create_dir(dir.path().join("directory.npy")).unwrap();
    let mut cases = vec![
        (vec!["margin", "map.png.toml"], "map.png: an image of 30000 x 30000 pixels: expected at most 4096 a side"),
        (
            vec!["margin", "map.npy.toml"],
            "map.npy: an array of shape [4294967296, 4294967296]: the file ends before it",
        ),
        (vec!["margin", "map.csv.toml"], "map.csv: 1099511627776 bytes of text: expected at most 67108864"),
        (vec!["margin", "long.toml"], "long.toml: 1099511627776 bytes of text: expected at most 67108864"),
        (vec!["margin", "many.toml"], "many.toml: some 5000004 values: expected at most 4194304"),
        (vec!["margin", "directory.npy.toml"], "directory.npy: is a directory: expected a regular file"),
        (
            vec!["margin", "tables.npz"],
            "tables.npz: array metadata: an array of shape [4294967296, 4294967296]: the file ends",
        ),
        (
            vec!["report", "tables.npz"],
            "tables.npz: array metadata: an array of shape [4294967296, 4294967296]: the file ends",
        ),
        (
            vec!["report", "bzip2.npz"],
            "bzip2.npz: array metadata: compressed by the method Bzip2: expected one as by `numpy.savez`",
        ),
        (vec!["report", "deflated.npz"], "deflated.npz: array metadata: not an .npy array"),
    ];
    #[cfg(unix)]
    {
        for pipe in ["pipe.npy", "pipe.toml", "pipe.npz"] {
            assert!(std::process::Command::new("mkfifo").arg(dir.path().join(pipe)).status().unwrap().success());
        }
        for link in ["zero.npy", "zero.png", "zero.csv", "zero.toml", "zero.npz"] {
            std::os::unix::fs::symlink("/dev/zero", dir.path().join(link)).unwrap();
        }
        cases.extend([
            (vec!["margin", "pipe.npy.toml"], "pipe.npy: is a named pipe (FIFO): expected a regular file"),
            (vec!["margin", "pipe.toml"], "pipe.toml: is a named pipe (FIFO): expected a regular file"),
            (vec!["margin", "pipe.npz"], "pipe.npz: is a named pipe (FIFO): expected a regular file"),
            (vec!["report", "pipe.npz"], "pipe.npz: is a named pipe (FIFO): expected a regular file"),
            (vec!["rollout", "pipe.toml"], "pipe.toml: is a named pipe (FIFO): expected a regular file"),
            (vec!["margin", "zero.npy.toml"], "zero.npy: is a device: expected a regular file"),
            (vec!["margin", "zero.png.toml"], "zero.png: is a device: expected a regular file"),
            (vec!["margin", "zero.csv.toml"], "zero.csv: is a device: expected a regular file"),
            (vec!["margin", "zero.toml"], "zero.toml: is a device: expected a regular file"),
            (vec!["margin", "zero.npz"], "zero.npz: is a device: expected a regular file"),
        ]);
    }
    for (mut arguments, part) in cases {
        if arguments[0] == "margin" {
            arguments.extend(["--load", "1,0,0"]);
        }
        let (code, stderr) = bristle(dir.path(), &arguments);
        assert!(code == Some(2) && stderr.contains(part), "{arguments:?}: {code:?} {stderr:.2000}");
    }
}

/// A run's directory is looked into before anything else is done with it.
#[test]
#[cfg(unix)]
fn a_directory_with_pipes_in_it_is_no_run() {
    let dir = tempfile::tempdir().unwrap();
    let run = dir.path().join("run");
    fs::create_dir(&run).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(run.join("run.json")).status().unwrap().success());
    let (code, stderr) = bristle(dir.path(), &["report", "run"]);
    assert!(code == Some(2) && stderr.contains("run.json: is a named pipe"), "{code:?} {stderr}");
    fs::write(dir.path().join("s.toml"), include_str!("../../../fuzz/run/scenario.toml")).unwrap();
    let (code, stderr) = bristle(dir.path(), &["rollout", "s.toml", "--engine", "cpu", "--out", "run", "--force"]);
    assert!(code == Some(2) && stderr.contains("is no run of bristle"), "{code:?} {stderr}");
}

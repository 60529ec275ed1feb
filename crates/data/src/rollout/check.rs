//! Compares the files of a complete run with their digests before they are read. Only regular files in the
//! run directory are read.

use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use rayon::prelude::*;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::error::{RolloutError, WITHOUT_SUMS, text, text_of};
use super::exists;
use super::names::{MANIFEST, RECORD};
use bristle::pool;
use bristle_scenario::input::{self, InputError, MAX_BYTES};

/// Longest `SHA256SUMS` [byte].
pub(super) const MOST_BYTES: u64 = MAX_BYTES / 4;
/// Most files of a run.
const MOST_FILES: usize = 1 << 22;
/// Most characters of a name in a message.
const MOST_SHOWN: usize = 120;

/// Where a text that has its own digest says it.
pub(super) const DIGEST: &str = "digest";
/// What stands there when the digest is computed.
const ZEROS: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// The text of `value` with a digest of itself, by which damage of the text is found.
pub(super) fn sealed(mut value: Value) -> String {
    value[DIGEST] = ZEROS.into();
    let text = format!("{value:#}\n");
    text.replacen(ZEROS, &of(text.as_bytes()), 1)
}

/// What is wrong with a text that [`sealed`] has made, whose `value` this is. Texts of versions that made
/// none have no digest.
pub(super) fn fault_of_sealed(text: &str, value: &Value) -> Option<String> {
    let expected = value[DIGEST].as_str()?;
    let found = of(text.replacen(expected, ZEROS, 1).as_bytes());
    (found != expected).then(|| differs(expected, &found))
}

/// A digest as it is written.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The digest of some bytes.
pub(super) fn of(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// What is said of a file with another digest.
pub(super) fn differs(expected: &str, found: &str) -> String {
    format!("is damaged: expected the sha256 {}, found {found}", short(expected))
}

/// What is said of a file that is not there.
pub(super) fn is_missing(expected: &str) -> String {
    format!("is missing: expected the sha256 {expected}, found no file")
}

/// A name or a value in a message, or the beginning of a long one.
pub(super) fn short(text: &str) -> String {
    match text.char_indices().nth(MOST_SHOWN) {
        Some((end, _)) => format!("{}..", &text[..end]),
        None => text.to_owned(),
    }
}

/// What is wrong with a file.
pub(super) struct Fault {
    name: String,
    why: String,
}

impl Fault {
    fn new(name: &str, why: impl Into<String>) -> Self {
        Self { name: name.to_owned(), why: why.into() }
    }

    /// The error of the run in `dir`, in which so many other files are damaged.
    fn error(&self, dir: &Path, others: usize) -> RolloutError {
        RolloutError::Damaged { path: dir.join(short(&self.name)), why: self.why.clone(), others }
    }

    /// What is said of it.
    pub(super) fn told(&self) -> String {
        format!("{}: {}", short(&self.name), self.why)
    }
}

/// What is wrong with the record of a run, or with the `SHA256SUMS` whose digest it has.
pub(super) fn fault_of_record(record: &str, sums: &[u8]) -> Option<String> {
    fault(record, sums).err().map(|fault| fault.told())
}

/// The record, if it and `sums` are as they were written.
fn fault(text: &str, sums: &[u8]) -> Result<Value, Fault> {
    let wrong = |why: String| Fault::new(RECORD, why);
    let record: Value =
        serde_json::from_str(text).map_err(|e| wrong(format!("is damaged: expected JSON, found none: {e}")))?;
    if let Some(why) = fault_of_sealed(text, &record) {
        return Err(wrong(why));
    }
    let Some(expected) = record["manifest"].as_str() else {
        return Err(wrong(format!("is damaged: expected the digest of {MANIFEST}, found none")));
    };
    match of(sums) {
        found if found == expected => Ok(record),
        found => Err(Fault::new(MANIFEST, differs(expected, &found))),
    }
}

/// A file of a run and its digest.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    name: String,
    digest: String,
}

impl Entry {
    /// What a line of `SHA256SUMS` says; the error says what is wrong with it.
    fn parse(line: &str) -> Result<Self, String> {
        // A line with a name that has a line break in it begins with a backslash.
        let (rest, escaped) = line.strip_prefix('\\').map_or((line, false), |rest| (rest, true));
        let entry = || {
            let (digest, rest) = rest.split_at_checked(ZEROS.len())?;
            let name = rest.strip_prefix("  ").or_else(|| rest.strip_prefix(" *"))?;
            digest.bytes().all(|b| b.is_ascii_hexdigit()).then(|| (digest.to_ascii_lowercase(), name))
        };
        let Some((digest, name)) = entry() else {
            return Err(format!("is `{}`: expected a sha256, two spaces and a file in the directory", short(line)));
        };
        let name = if escaped { unescaped(name) } else { name.to_owned() };
        if !is_inside(&name) {
            let accepted = "a path inside the directory of the run, without `..`";
            return Err(format!("names `{}`: expected {accepted}", short(&name)));
        }
        Ok(Self { name, digest })
    }
}

/// Whether a name is that of a file in the directory, or below it, and the only such name of that file.
pub(super) fn is_inside(name: &str) -> bool {
    // Of `a//b`, `a/./b` and `a/` no part that is left says so.
    let is_plain = |part: &str| {
        let mut parts = Path::new(part).components();
        matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None)) && !part.contains('\0')
    };
    name.split('/').all(is_plain)
}

/// A name as it stands in a line of `SHA256SUMS`, with what stands before the digest: as `sha256sum` does it.
pub(super) fn escaped(name: &str) -> (&'static str, String) {
    if !name.contains(['\\', '\n', '\r']) {
        return ("", name.to_owned());
    }
    ("\\", name.replace('\\', "\\\\").replace('\n', "\\n").replace('\r', "\\r"))
}

fn unescaped(name: &str) -> String {
    let mut letters = name.chars();
    let next = || {
        Some(match letters.next()? {
            '\\' => match letters.next()? {
                'n' => '\n',
                'r' => '\r',
                other => other,
            },
            other => other,
        })
    };
    std::iter::from_fn(next).collect()
}

/// The digests of the files of a complete run.
#[derive(Debug)]
pub struct Sums {
    dir: PathBuf,
    /// By their names.
    entries: Vec<Entry>,
}

impl Sums {
    /// The record of the complete run in `dir`, and the digests of its files; none without a record.
    ///
    /// # Errors
    /// A record or a `SHA256SUMS` that is damaged, or not there.
    pub fn of(dir: &Path) -> Result<Option<(Value, Self)>, RolloutError> {
        let Some(record) = text(dir, RECORD)? else { return Ok(None) };
        let Some(sums) = text_of(dir, MANIFEST, MOST_BYTES)? else {
            return Err(RolloutError::NoRun { path: dir.to_owned(), why: WITHOUT_SUMS });
        };
        let record = fault(&record, sums.as_bytes()).map_err(|fault| fault.error(dir, 0))?;
        let sums = Self::parse(dir, &sums);
        let wrong = |reason| RolloutError::File { path: dir.join(MANIFEST), reason };
        Ok(Some((record, sums.map_err(wrong)?)))
    }

    /// The files that the text of a `SHA256SUMS` names; the error says what is wrong with it.
    pub(super) fn parse(dir: &Path, text: &str) -> Result<Self, String> {
        let count = text.lines().count();
        if count > MOST_FILES {
            return Err(format!("{count} lines: expected at most {MOST_FILES}"));
        }
        let entry = |(i, line)| Entry::parse(line).map_err(|what| format!("line {} {what}", i + 1));
        let mut entries: Vec<Entry> = text.lines().enumerate().map(entry).collect::<Result<_, _>>()?;
        entries.sort_unstable();
        if let Some(pair) = entries.windows(2).find(|pair| pair[0].name == pair[1].name) {
            return Err(format!("names `{}` twice: expected each file once", short(&pair[0].name)));
        }
        Ok(Self { dir: dir.to_owned(), entries })
    }

    /// The names of the files, with their digests.
    #[cfg(feature = "cloud")]
    pub(super) fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.entries.iter().map(|entry| (entry.name.as_str(), entry.digest.as_str()))
    }

    /// The digest of a file, if it is one of the run's.
    pub(super) fn digest(&self, name: &str) -> Option<&str> {
        let found = self.entries.binary_search_by(|entry| entry.name.as_str().cmp(name));
        found.ok().map(|i| self.entries[i].digest.as_str())
    }

    /// Checks the file that is to be read next, and that it is one of the run's. A file that is not there is
    /// left to its reader.
    ///
    /// # Errors
    /// A file that is not as it was written, or that the run has not written.
    pub fn check_file(&self, name: &str) -> Result<(), RolloutError> {
        if exists(&self.dir.join(name)) {
            self.check_listed(name)?;
        }
        self.check(|other| other == name)
    }

    /// Checks that a file that is to be read is one of the run's.
    ///
    /// # Errors
    /// A file that the run has not written.
    pub(super) fn check_listed(&self, name: &str) -> Result<(), RolloutError> {
        let reason = format!("is not in {MANIFEST}: expected a file that the run has written");
        self.digest(name).map(drop).ok_or_else(|| RolloutError::File { path: self.dir.join(name), reason })
    }

    /// Checks the files that say what the run is: its scenario, and the files that this reads.
    ///
    /// # Errors
    /// As `Self::check`.
    pub fn check_small(&self) -> Result<(), RolloutError> {
        self.check(is_small)
    }

    /// Checks all files.
    ///
    /// # Errors
    /// As [`Self::check`].
    pub(crate) fn check_all(&self) -> Result<(), RolloutError> {
        self.check(|_| true)
    }

    /// Checks the files whose names are `wanted`.
    ///
    /// # Errors
    /// The first that is not as it was written, and how many others are not.
    fn check(&self, wanted: impl Fn(&str) -> bool) -> Result<(), RolloutError> {
        let faults = self.compare(wanted)?.2;
        faults.split_first().map_or(Ok(()), |(first, others)| Err(first.error(&self.dir, others.len())))
    }

    /// Compares files with their digests; returns how many there are, their bytes, and what is wrong with
    /// them.
    pub(super) fn compare(&self, wanted: impl Fn(&str) -> bool) -> Result<(u64, u64, Vec<Fault>), RolloutError> {
        let chosen: Vec<&Entry> = self.entries.iter().filter(|entry| wanted(&entry.name)).collect();
        let (mut sum, mut faults) = (0, Vec::new());
        let check = |entry: &&Entry| match digest_in(&self.dir, &entry.name) {
            Ok((digest, bytes)) if digest == entry.digest => Ok((bytes, None)),
            Ok((digest, bytes)) => Ok((bytes, Some(Fault::new(&entry.name, differs(&entry.digest, &digest))))),
            Err(InputError::File { reason, .. }) => Ok((0, Some(Fault::new(&entry.name, reason)))),
            Err(InputError::Io { source, .. })
                if [io::ErrorKind::NotFound, io::ErrorKind::NotADirectory].contains(&source.kind()) =>
            {
                Ok((0, Some(Fault::new(&entry.name, is_missing(&entry.digest)))))
            }
            Err(e) => Err(RolloutError::from(e)),
        };
        for checked in pool::run(|| chosen.par_iter().map(check).collect::<Vec<_>>()) {
            let (bytes, fault) = checked?;
            sum += bytes;
            faults.extend(fault);
        }
        Ok((chosen.len() as u64, sum, faults))
    }
}

/// Whether a file of a run says what the run is, and is no data, picture or page.
pub(super) fn is_small(name: &str) -> bool {
    let is_page = name.starts_with("report") && (name.ends_with(".html") || name.ends_with(".svg"));
    !(name.contains('/') || is_page || ["trajectories.npz", "trajectories.svg", "contacts.npz"].contains(&name))
}

/// Checks all files of the complete run in `dir`, if there is one.
///
/// # Errors
/// A file that is not as it was written.
pub(super) fn check_all(dir: &Path) -> Result<(), RolloutError> {
    Sums::of(dir)?.map_or(Ok(()), |(_, sums)| sums.check_all())
}

/// Checks the scenario of the complete run in `dir`, if there is one, and the files that it reads.
///
/// # Errors
/// A file that is not as it was written.
pub fn check_scenario_of(dir: &Path) -> Result<(), RolloutError> {
    Sums::of(dir)?.map_or(Ok(()), |(_, sums)| sums.check_small())
}

/// The digest of a file of the directory `dir`, and its length.
pub(super) fn digest_in(dir: &Path, name: &str) -> Result<(String, u64), InputError> {
    let path = dir.join(name);
    let mut file = input::open_in(dir, name.as_ref())?.into_inner();
    let (mut hash, mut length) = (Sha256::new(), 0);
    each(&mut file, |bytes| {
        hash.update(bytes);
        length += bytes.len() as u64;
    })
    .map_err(|e| InputError::of(&path, e))?;
    Ok((hex(&hash.finalize()), length))
}

/// Calls `take` with all bytes of `reader`, piece by piece.
pub(super) fn each(reader: &mut impl Read, mut take: impl FnMut(&[u8])) -> io::Result<()> {
    let mut buffer = vec![0; 1 << 18];
    loop {
        match reader.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(n) => take(&buffer[..n]),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_has_its_own_digest() {
        let value = serde_json::json!({ "a": 1.5, "name": "x", "zeros": ZEROS });
        let text = sealed(value);
        let read: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(fault_of_sealed(&text, &read), None);
        for bit in 0..8 * text.len() {
            let mut bytes = text.clone().into_bytes();
            bytes[bit / 8] ^= 1 << (bit % 8);
            let Some(damaged) = String::from_utf8(bytes).ok() else { continue };
            let Ok(read) = serde_json::from_str::<Value>(&damaged) else { continue };
            // Without the name of the digest it is a text of a version that made none: all else is as it was.
            let told = fault_of_sealed(&damaged, &read);
            assert!(told.is_some() || read[DIGEST].is_null(), "{damaged}");
        }
    }

    #[test]
    fn lines_name_files_inside_the_directory_once() {
        let dir = Path::new("run");
        let digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        let names = ["pose", "raw/pose", "a b", "..a/b..", "line\nbreak\\n", "\u{b5}", "~"];
        let line = |name: &str| {
            let (before, name) = escaped(name);
            format!("{before}{digest}  {name}\n")
        };
        let text: String = names.iter().map(|name| line(name)).collect();
        let sums = Sums::parse(dir, &text).unwrap();
        assert!(names.iter().all(|name| sums.digest(name) == Some(digest)) && sums.digest("slip").is_none());
        for name in ["", "/etc/passwd", "../../etc/passwd", "raw/../../x", "..", ".", "./pose", "raw//pose", "raw/"] {
            let told = Sums::parse(dir, &format!("{digest}  pose\n{digest}  {name}\n")).unwrap_err();
            assert!(told.starts_with(&format!("line 2 names `{name}`: expected a path inside")), "{told}");
        }
        for bad in ["", "pose", &digest[1..], digest, &format!("{}  pose", digest.replace('b', "g"))] {
            let told = Sums::parse(dir, &format!("{bad}\n")).unwrap_err();
            assert!(told.starts_with("line 1 is `") && told.contains("expected a sha256, two spaces"), "{told}");
        }
        assert!(Sums::parse(dir, &line("pose").repeat(2)).unwrap_err().contains("`pose` twice"));
        let long = Sums::parse(dir, &"x".repeat(1 << 20)).unwrap_err();
        assert!(long.len() < 300, "{}", long.len());
        let long = Sums::parse(dir, &format!("{digest}  /{}", "x".repeat(1 << 20))).unwrap_err();
        assert!(long.len() < 300, "{}", long.len());
        assert!(Sums::parse(dir, &"\n".repeat(MOST_FILES + 1)).unwrap_err().contains("lines: expected at most"));
    }
}

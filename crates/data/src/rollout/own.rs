//! Decides which files in a run directory belong to the run. Only these are removed when a run is replaced or
//! an unfinished run is cleared. An error names any other file, or a link, before anything is changed. Links
//! are never followed.
//!
//! The files of a complete run are those in its `SHA256SUMS`. An unfinished run has no such list yet; its
//! files are known by their names.

use std::collections::HashSet;
use std::fs::{self, DirEntry};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use rayon::prelude::*;

use super::check::MOST_BYTES;
use super::error::{RolloutError, io};
use super::names::{BEGUN, MANIFEST, RECORD, SPOOL};
use super::{LOCK, REPLACED, exists, is_run, manifest, record, spool, zarr};
use bristle::pool;
use bristle_scenario::input;

/// What tells pages and pictures of this program from others: a line in their heads.
pub(crate) const GENERATOR: &str = r#"<meta name="generator" content="bristle">"#;
/// What a page or a picture of this program says of itself.
pub const PICTURE: &str = "<metadata>made by bristle</metadata>";
/// Bytes at the start of a page or picture that have it.
const HEAD: u64 = 1 << 12;

/// Files that say whose directory it is; they are removed last, in this order, so that what an interruption
/// leaves is known again.
const LAST: [&str; 4] = ["progress.json", BEGUN, MANIFEST, RECORD];

/// Why a file is not the run's own.
const OTHER: &str = "is no file of the run";
const LINK: &str = "is a link, which is not followed";
const DIRECTORY: &str = "is no directory of the run";
const PAGE: &str = "is a page of the run that would be replaced";

/// The files in the directory of a run, by the names that they have in it.
#[derive(Default)]
pub(super) struct Own {
    dir: PathBuf,
    /// Those of the run.
    files: Vec<PathBuf>,
    /// Its directories, inner ones first.
    dirs: Vec<PathBuf>,
    /// All others, with what they are.
    others: Vec<(PathBuf, &'static str)>,
}

/// What is known of a directory before it is read.
struct Known {
    /// Names of the files in its manifest, and of the directories that they are in.
    listed: HashSet<String>,
    /// Names of the files that its scenario has read.
    kept: Vec<String>,
    is_complete: bool,
    /// Whether pages that were made of the run go with it.
    pages: bool,
}

impl Known {
    fn of(dir: &Path, pages: bool) -> Self {
        let mut listed = HashSet::new();
        let text = if is_file(&dir.join(MANIFEST)) { input::text_in(dir, MANIFEST, MOST_BYTES).ok() } else { None };
        for (_, name) in text.unwrap_or_default().lines().filter_map(|line| line.split_once("  ")) {
            let above = Path::new(name).ancestors().map(manifest::name).filter(|name| !name.is_empty());
            listed.extend(above);
        }
        let is_complete = is_file(&dir.join(RECORD));
        let kept = if is_complete { Vec::new() } else { record::kept_names(&spool::progress(dir).unwrap_or_default()) };
        Self { listed, kept, is_complete, pages }
    }

    /// Whether the regular file `path`, called `name` in the directory of the run, is its own.
    fn has(&self, path: &Path, name: &str) -> bool {
        let inside = |dir: &str| name.strip_prefix(dir).and_then(|name| name.strip_prefix('/'));
        self.listed.contains(name)
            || [RECORD, MANIFEST, BEGUN, LOCK].contains(&name)
            || [SPOOL, spool::RAW].iter().any(|dir| inside(dir).is_some_and(spool::is_its))
            || is_unfinished_page(name)
            || (self.pages && is_page(path, name))
            || (!self.is_complete
                && (record::OTHER_FILES.contains(&name)
                    || self.kept.iter().any(|kept| kept == name)
                    || is_of_datasets(&inside)))
    }

    /// Whether a directory of that name may be there without a file in it.
    fn has_dir(&self, name: &str) -> bool {
        let is_of_datasets = |dir: &str| Path::new(name).starts_with(dir);
        [SPOOL, spool::RAW].contains(&name)
            || self.listed.contains(name)
            || (!self.is_complete && datasets().any(is_of_datasets))
    }
}

/// The directories of datasets.
fn datasets() -> impl Iterator<Item = &'static str> {
    let lerobot = [
        #[cfg(feature = "lerobot")]
        super::lerobot::DIRECTORY,
    ];
    [zarr::DIRECTORY].into_iter().chain(lerobot)
}

/// Whether a name is of a file of a dataset; `inside` is what follows the name of a directory.
fn is_of_datasets<'a>(inside: &dyn Fn(&str) -> Option<&'a str>) -> bool {
    #[cfg(feature = "lerobot")]
    if inside(super::lerobot::DIRECTORY).is_some_and(super::lerobot::is_its) {
        return true;
    }
    inside(zarr::DIRECTORY).is_some_and(zarr::is_its)
}

/// Whether it is a page, or a picture of one, while it is written: `report.html.17.partial`.
fn is_unfinished_page(name: &str) -> bool {
    let process = |name: &str| name.rsplit_once('.').is_some_and(|(page, number)| is_page_name(page) && digits(number));
    name.strip_suffix(".partial").is_some_and(process)
}

/// Whether a file at the top of a run is a page, or a picture of one, that is not complete.
#[cfg(feature = "cloud")]
pub(super) fn is_unfinished(file: &Path) -> bool {
    is_unfinished_page(&manifest::name(file))
}

fn is_page_name(name: &str) -> bool {
    let picture = |name: &str| name.strip_prefix("report_").is_some_and(|rest| !rest.contains('/'));
    name == "report.html" || name.strip_suffix(".svg").is_some_and(picture)
}

/// Whether it is a page or a picture that `bristle report` has made of the run.
fn is_page(path: &Path, name: &str) -> bool {
    is_page_name(name) && is_made_here(path)
}

/// Whether a file is a page or a picture of this program, by its beginning.
pub fn is_made_here(path: &Path) -> bool {
    let mut head = Vec::new();
    let read = input::open(path).is_ok_and(|file| file.take(HEAD).read_to_end(&mut head).is_ok());
    read && is_of_page(&String::from_utf8_lossy(&head))
}

/// Whether a text is the beginning of a page or of a picture of this program.
pub fn is_of_page(text: &str) -> bool {
    let head = text.split("<title>").next().unwrap_or_default();
    head.contains(GENERATOR) || text.lines().nth(1) == Some(PICTURE)
}

fn digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_file(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|data| data.is_file())
}

/// Whether there is a link.
pub(super) fn is_link(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|data| data.is_symlink())
}

impl Own {
    /// The files in `dir`, the directory of a run, finished or not; its `pages` are its own, or others.
    pub fn of(dir: &Path, pages: bool) -> Result<Self, RolloutError> {
        let mut own = Self { dir: dir.to_owned(), ..Self::default() };
        if is_link(dir) {
            own.others.push((PathBuf::new(), LINK));
        } else {
            own.walk(&Known::of(dir, pages), Path::new(""), &|_| true)?;
            own.last();
        }
        Ok(own)
    }

    /// What an interruption has left in a complete run: the raw files, the lock, the run that it has
    /// replaced, pages that were not complete. There are no others in it.
    pub fn leftovers(run: &Path) -> Result<Self, RolloutError> {
        let known = Known { listed: HashSet::new(), kept: Vec::new(), is_complete: true, pages: false };
        let mut own = Self { dir: run.to_owned(), ..Self::default() };
        let is_left = |name: &str| [SPOOL, LOCK, REPLACED].contains(&name) || is_unfinished_page(name);
        if !is_link(run) {
            own.walk(&known, Path::new(""), &is_left)?;
            own.others.clear();
            own.last();
        }
        Ok(own)
    }

    /// The raw files of the run in `partial`.
    pub fn raw(partial: &Path) -> Result<Self, RolloutError> {
        let known = Known { listed: HashSet::new(), kept: Vec::new(), is_complete: true, pages: false };
        let mut own = Self { dir: partial.to_owned(), ..Self::default() };
        own.walk(&known, Path::new(""), &|name| name == SPOOL)?;
        own.last();
        Ok(own)
    }

    /// Reads the directory `inside` that of the run; at the top what `wanted` says.
    fn walk(&mut self, known: &Known, inside: &Path, wanted: &dyn Fn(&str) -> bool) -> Result<(), RolloutError> {
        let whole = self.dir.join(inside);
        let mut entries: Vec<DirEntry> = match fs::read_dir(&whole) {
            // Another process has moved it to its place, or removed it.
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(()),
            entries => entries.and_then(Iterator::collect).map_err(io(&whole))?,
        };
        entries.sort_by_key(DirEntry::file_name);
        for entry in entries {
            let path = inside.join(entry.file_name());
            let (name, whole) = (manifest::name(&path), self.dir.join(&path));
            if inside.as_os_str().is_empty() && !wanted(&name) {
                continue;
            }
            match entry.file_type() {
                Err(e) if e.kind() == ErrorKind::NotFound => {}
                Err(e) => return Err(io(&whole)(e)),
                Ok(kind) if kind.is_symlink() => self.others.push((path, LINK)),
                Ok(kind) if kind.is_dir() && name == REPLACED && is_run(&whole) => {
                    let old = Self::of(&whole, true)?;
                    self.files.extend(old.files.iter().map(|file| path.join(file)));
                    self.dirs.extend(old.dirs.iter().map(|dir| path.join(dir)));
                    self.others.extend(old.others.into_iter().map(|(other, why)| (path.join(other), why)));
                    self.dirs.push(path);
                }
                Ok(kind) if kind.is_dir() => {
                    let before = (self.files.len(), self.others.len());
                    self.walk(known, &path, wanted)?;
                    if known.has_dir(&name) || self.files.len() > before.0 {
                        self.dirs.push(path);
                    } else if self.others.len() == before.1 {
                        self.others.push((path, DIRECTORY));
                    }
                }
                Ok(kind) if kind.is_file() && known.has(&whole, &name) => self.files.push(path),
                Ok(_) => {
                    let why = if is_page_name(&name) && is_made_here(&whole) { PAGE } else { OTHER };
                    self.others.push((path, why));
                }
            }
        }
        Ok(())
    }

    /// Puts the files last that say whose directory it is.
    fn last(&mut self) {
        self.files.sort_by_key(|file| place(file));
    }

    /// Refuses what is not the run's own, by the name of the first.
    pub fn check(self) -> Result<Self, RolloutError> {
        // What another process has moved meanwhile is not there.
        match self.others.iter().find(|(other, _)| exists(&self.dir.join(other))) {
            None => Ok(self),
            Some((other, why)) => {
                let path = if other.as_os_str().is_empty() { self.dir.clone() } else { self.dir.join(other) };
                Err(RolloutError::NotOfTheRun { path, why })
            }
        }
    }

    /// The names of the run's files.
    #[cfg(feature = "cloud")]
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// Removes the run's own files, but `keep`, and its directories that are empty then; large files side by
    /// side.
    pub fn remove(&self, keep: Option<&str>) -> Result<(), RolloutError> {
        let remove = |file: &PathBuf| {
            let path = self.dir.join(file);
            match fs::remove_file(&path) {
                Err(e) if e.kind() != ErrorKind::NotFound => Err(io(&path)(e)),
                _ => Ok(()),
            }
        };
        let removed = |file: &&PathBuf| keep.is_none_or(|keep| **file != Path::new(keep));
        let first = self.files.partition_point(|file| place(file) == 0);
        pool::run(|| self.files[..first].par_iter().filter(removed).try_for_each(remove))?;
        self.remove_dirs();
        self.files[first..].iter().filter(removed).try_for_each(remove)?;
        self.remove_dirs();
        Ok(())
    }

    /// One in which something else is stays.
    fn remove_dirs(&self) {
        self.dirs.iter().for_each(|dir| drop(fs::remove_dir(self.dir.join(dir))));
    }
}

/// The place of a file among those that are removed last, from 1 on.
fn place(file: &Path) -> usize {
    let name = file.file_name().unwrap_or_default();
    LAST.iter().position(|last| name == *last).map_or(0, |place| place + 1)
}

/// Removes the complete run, or shard, in `run`, and its directory.
///
/// # Errors
/// A file that is not of the run, or a link, which is named; nothing is removed then. A directory without
/// a run.
pub fn remove_run(run: &Path) -> Result<(), RolloutError> {
    if !is_run(run) {
        return Err(RolloutError::NotARun(run.to_owned()));
    }
    Own::of(run, true)?.check()?.remove(None)?;
    fs::remove_dir(run).map_err(io(run))
}

/// Checks that nothing is in the directory of the run in `run` but the run, so that [`remove_run`] removes
/// it.
///
/// # Errors
/// As [`remove_run`].
pub fn check_own(run: &Path) -> Result<(), RolloutError> {
    if is_run(run) { Own::of(run, true)?.check().map(drop) } else { Err(RolloutError::NotARun(run.to_owned())) }
}

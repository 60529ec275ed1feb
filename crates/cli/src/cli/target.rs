//! The place for the results of a command: a directory, or an object store, to which a directory is sent.

use std::path::{Path, PathBuf};

use super::options::failure;
use super::progress::Progress;
use super::{Failure, note};
use bristle_data::disk;
use bristle_data::rollout::{Options, Place, Store};

/// The options of a run with its directory, and the store to which it is sent from there. The directory is
/// `work`, or else a directory below `runs` that is named after the URL of the store.
pub(super) fn target(options: Options, work: Option<&Path>) -> Result<(Options, Option<Store>), Failure> {
    match Place::of(&options.out).map_err(failure)? {
        Place::Directory(_) if work.is_some() => {
            Err(Failure::of_user("--work: expected with `--out s3://...` or `--out gs://...`"))
        }
        Place::Directory(out) => Ok((Options { out, ..options }, None)),
        Place::Store(url) => {
            let store = Store::open(&url).map_err(failure)?;
            let out = work.map_or_else(|| Path::new("runs").join(url.replace("://", "/")), Path::to_owned);
            Ok((Options { out, sent_to: Some(url), ..options }, Some(store)))
        }
    }
}

/// Sends the complete run in `options.out` to `store`, if there is one.
pub(super) fn send(store: Option<&Store>, options: &Options, quiet: bool) -> Result<(), Failure> {
    let (Some(store), Some(url)) = (store, &options.sent_to) else { return Ok(()) };
    let progress = Progress::new(disk::size(&options.out), 0, format!("bytes sent to {url}"), quiet);
    store.send(&options.out, &|bytes| progress.advance(bytes)).map_err(failure)
}

/// Directories of the complete shards that `places` are: those of a store are copied into `copies`.
pub(super) fn shards(places: &[PathBuf], copies: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut dirs = Vec::new();
    for place in places {
        match Place::of(place).map_err(failure)? {
            Place::Directory(dir) => dirs.push(dir),
            Place::Store(url) => {
                for url in Store::open(&url).and_then(|store| store.shards()).map_err(failure)? {
                    let name = url.rsplit('/').next().unwrap_or_default();
                    note(format_args!("copying {url}"));
                    dirs.push(Store::open(&url).and_then(|store| store.receive(&copies.join(name))).map_err(failure)?);
                }
            }
        }
    }
    Ok(dirs)
}

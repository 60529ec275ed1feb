//! Runs in object stores: S3, Google Cloud Storage, and stores with the same protocols.
//!
//! A run is made in a directory first, because raw arrays are not read in the order in which they are
//! written. Then its files are sent, several at a time, files of [`PART`] or more in parts; then
//! `SHA256SUMS`, and last `run.json`. A place without `run.json` is not complete. Every object has the digest
//! of its bytes in its metadata, so that objects in the store are not sent again.
//!
//! `object_store` repeats requests that fail. If a server loses the parts of a file, the file is sent anew.

use std::collections::HashMap;
use std::fs::{self, File};
use std::future::Future;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt, TryStreamExt, stream};
use object_store::aws::AmazonS3Builder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::path::Path as Key;
use object_store::{
    Attribute, Attributes, BackoffConfig, Error, GetOptions, ObjectStore, ObjectStoreExt, PutMultipartOptions,
    PutOptions, PutPayload, RetryConfig, WriteMultipart,
};
use sha2::{Digest, Sha256};
use tokio::runtime::Runtime;

use super::check::{self, Sums, hex};
use super::error::{ABSENT, NO_RUN, RolloutError, UNFINISHED, WITHOUT_SUMS, io};
use super::names::{BEGUN, MANIFEST, RECORD, SPOOL};
use super::own::{self, Own};
use super::record::{self, Summary};
use super::verify::{Verified, verify};
use super::{LOCK, Options, REPLACED, WorldSummary, manifest, partial, place, worlds};
use bristle_scenario::input::{self, MAX_TEXT};
use bristle_scenario::{Scenario, WorldScenario};

/// Bytes of a part of a large file, at least; a store takes [`PARTS`] at most.
const PART: u64 = 8 << 20;
const PARTS: u64 = 9000;
/// Parts of a file, and files, that are on their way at once: 64 MB of memory.
const PARTS_AT_ONCE: usize = 2;
const FILES_AT_ONCE: usize = 4;
/// How often a file is begun, and the time before it is begun again, which doubles.
const TRIES: u32 = 4;
const PAUSE: Duration = Duration::from_secs(1);
/// The metadata of an object that has its digest.
const DIGEST: Attribute = Attribute::Metadata(std::borrow::Cow::Borrowed("sha256"));

/// What is added to the name of a directory that was sent, while it is removed.
const SENT: &str = "sent";

/// What is at a place.
#[derive(Default)]
struct There {
    /// Sizes of objects, by their names below the place.
    sizes: HashMap<String, u64>,
}

impl There {
    fn has(&self, name: &str) -> bool {
        self.sizes.contains_key(name)
    }
}

/// A file that is to be sent.
struct Outgoing {
    name: String,
    path: PathBuf,
    digest: String,
    bytes: u64,
}

/// A place in a store of objects.
#[derive(Debug)]
pub struct Store {
    url: String,
    store: Arc<dyn ObjectStore>,
    prefix: Key,
    runtime: Runtime,
}

impl Store {
    /// The place that `url` names: `s3://bucket/path` or `gs://bucket/path`. Addresses and credentials are
    /// those of the environment: `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_REGION`, `AWS_ENDPOINT`,
    /// `AWS_ALLOW_HTTP` and others; `GOOGLE_APPLICATION_CREDENTIALS`.
    ///
    /// # Errors
    /// Another URL, or an environment that says what cannot be.
    pub fn open(url: &str) -> Result<Self, RolloutError> {
        let (bucket, path) = url.split_once("://").and_then(|(_, rest)| rest.split_once('/')).unwrap_or_default();
        let failed = |e: Error| failed(url, "open", &e);
        // A second call finds the first one's choice.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let backoff = BackoffConfig { max_backoff: Duration::from_secs(4), ..BackoffConfig::default() };
        let retry = RetryConfig { backoff, max_retries: 8, retry_timeout: Duration::from_secs(60) };
        let store: Arc<dyn ObjectStore> = match url.split_once("://") {
            Some(("s3", _)) => {
                let builder = AmazonS3Builder::from_env().with_bucket_name(bucket).with_retry(retry);
                Arc::new(builder.build().map_err(failed)?)
            }
            Some(("gs", _)) => {
                let builder = GoogleCloudStorageBuilder::from_env().with_bucket_name(bucket).with_retry(retry);
                Arc::new(builder.build().map_err(failed)?)
            }
            _ => return Err(place::wrong(url, "a URL that begins with `s3://` or `gs://`")),
        };
        let prefix = Key::parse(path).map_err(|e| failed(e.into()))?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|e| RolloutError::Store { url: url.to_owned(), why: e.to_string() })?;
        Ok(Self { url: url.to_owned(), store, prefix, runtime })
    }

    /// Checks that a run may go here, before anything is computed, and marks the place as that of an
    /// unfinished run. Returns the summary of the run if it is complete here and is to be resumed.
    /// `options.out` is the directory in which it is made.
    ///
    /// # Errors
    /// Something else is here, or another run; a store that does not answer, or refuses.
    pub fn begin(&self, scenario: &Scenario, options: &Options) -> Result<Option<Summary>, RolloutError> {
        self.begin_with(options, |dir| record::claimed(scenario, options.shard, &options.datasets, dir))
    }

    /// As [`Self::begin`], of worlds.
    ///
    /// # Errors
    /// As [`Self::begin`].
    pub fn begin_worlds(
        &self,
        scenario: &WorldScenario,
        options: &Options,
    ) -> Result<Option<WorldSummary>, RolloutError> {
        self.begin_with(options, |dir| worlds::claimed(scenario, dir))
    }

    fn begin_with<S>(
        &self,
        options: &Options,
        of: impl Fn(&Path) -> Result<Option<S>, RolloutError>,
    ) -> Result<Option<S>, RolloutError> {
        let url = || PathBuf::from(&self.url);
        if options.extend {
            return Err(place::wrong(&self.url, "a directory, as runs in stores are not extended"));
        }
        let gone = options.out.with_added_extension(SENT);
        if super::exists(&gone) {
            own::check_own(&gone)?;
        }
        let there = self.block(self.there())?;
        let (complete, begun) = (there.has(RECORD), there.has(BEGUN));
        if !there.sizes.is_empty() && !complete && !begun {
            return Err(RolloutError::NotARun(url()));
        }
        let here = [options.out.clone(), partial(&options.out)].iter().any(|dir| super::exists(dir));
        if !options.resume && !options.force {
            if complete {
                return Err(RolloutError::Exists(url()));
            }
            if begun || here {
                return Err(RolloutError::Unfinished(if begun { url() } else { options.out.clone() }));
            }
        }
        if options.resume && complete && !here {
            let dir = new_directory(&options.out)?;
            let found = self.fetch(&there, &dir, check::is_small).and_then(|()| of(&dir)).and_then(|summary| {
                let sums = if summary.is_some() { Sums::of(&dir)? } else { None };
                sums.map_or(Ok(()), |(_, sums)| self.check(&there, &sums))?;
                Ok(summary)
            });
            fs::remove_dir_all(&dir).map_err(io(&dir))?;
            return found.map_err(|e| match e {
                RolloutError::Different { what, difference, .. } => {
                    RolloutError::Different { path: url(), what, difference }
                }
                RolloutError::Damaged { path, why, others } => {
                    // A copy here stands for the object there.
                    let path = path.strip_prefix(&dir).map_or_else(|_| path.clone(), |name| url().join(name));
                    RolloutError::Damaged { path, why, others }
                }
                other => other,
            });
        }
        // It also tells now, and not after the simulation, whether writing is allowed.
        if !begun {
            self.block(self.put(BEGUN, "an unfinished run of bristle\n".as_bytes().to_vec(), None))?;
        }
        Ok(None)
    }

    /// Sends the complete run in the directory `run`, and removes it there. `sent` is called with the number
    /// of bytes that are here.
    ///
    /// # Errors
    /// A file that cannot be read, or is not of the run; a store that does not answer, or refuses. The
    /// directory stays then.
    pub fn send(&self, run: &Path, sent: &(dyn Fn(u64) + Sync)) -> Result<(), RolloutError> {
        // What an earlier call has left.
        let gone = run.with_added_extension(SENT);
        if super::exists(&gone) {
            own::remove_run(&gone)?;
        }
        let own = Own::of(run, true)?.check()?;
        let Some((_, known)) = Sums::of(run)? else { return Err(RolloutError::NotARun(run.to_owned())) };
        let (record, sums) = (read(&run.join(RECORD))?, read(&run.join(MANIFEST))?);
        let files = outgoing(run, own.files(), &known)?;
        self.block(async {
            let there = self.there().await?;
            if there.has(RECORD) {
                self.remove(RECORD).await?;
            }
            let all = files.iter().map(|file| self.file(file, there.sizes.get(&file.name).copied(), sent));
            stream::iter(all).buffer_unordered(FILES_AT_ONCE).try_collect::<()>().await?;
            if there.has(MANIFEST) {
                // Files of a run that was replaced.
                let old = self.get(MANIFEST).await?;
                let old = String::from_utf8_lossy(&old);
                for (_, name) in old.lines().filter_map(|line| line.split_once("  ")) {
                    if there.has(name) && !files.iter().any(|file| file.name == name) {
                        self.remove(name).await?;
                    }
                }
            }
            self.put(MANIFEST, sums.clone(), None).await?;
            self.put(RECORD, record.clone(), None).await?;
            // What only says that there is no run yet does no harm where nothing may be removed.
            let _ = self.remove(BEGUN).await;
            Ok(())
        })?;
        // Under another name, so that a part of it is not taken for a run.
        fs::rename(run, &gone).map_err(io(run))?;
        own::remove_run(&gone)
    }

    /// Reads every file of the complete run here and compares it with the manifest.
    ///
    /// # Errors
    /// No complete run, or a store that does not answer, or refuses.
    pub fn verify(&self) -> Result<Verified, RolloutError> {
        self.block(async {
            let there = self.there().await?;
            if !there.has(RECORD) || !there.has(MANIFEST) {
                let why = match (there.has(RECORD), there.has(BEGUN)) {
                    (true, _) => WITHOUT_SUMS,
                    (false, true) => UNFINISHED,
                    _ if there.sizes.is_empty() => ABSENT,
                    _ => NO_RUN,
                };
                return Err(RolloutError::NoRun { path: self.url.clone().into(), why });
            }
            for (name, most) in [(RECORD, MAX_TEXT), (MANIFEST, check::MOST_BYTES)] {
                if there.sizes[name] > most {
                    let reason = format!("{} bytes of text: expected at most {most}", there.sizes[name]);
                    return Err(RolloutError::File { path: format!("{}/{name}", self.url).into(), reason });
                }
            }
            let (record, sums) = (self.get(RECORD).await?, self.get(MANIFEST).await?);
            let (record, text) = (String::from_utf8_lossy(&record), String::from_utf8_lossy(&sums));
            let mut found = Verified::default();
            found.faults.extend(check::fault_of_record(&record, &sums));
            let sums = match Sums::parse(self.url.as_ref(), &text) {
                Ok(sums) => sums,
                Err(what) => {
                    found.faults.push(format!("{MANIFEST}: {what}"));
                    return Ok(found);
                }
            };
            let check = async |(name, expected): (&str, &str)| {
                let Some(bytes) = there.sizes.get(name) else {
                    return Ok((0, Some(format!("{}: {}", check::short(name), check::is_missing(expected)))));
                };
                let digest = self.digest(name).await?;
                let fault = (digest != expected)
                    .then(|| format!("{}: {}", check::short(name), check::differs(expected, &digest)));
                Ok::<_, RolloutError>((*bytes, fault))
            };
            let checks: Vec<_> = stream::iter(sums.files().map(check)).buffered(FILES_AT_ONCE).try_collect().await?;
            for (bytes, fault) in checks {
                found.files += 1;
                found.bytes += bytes;
                found.faults.extend(fault);
            }
            Ok(found)
        })
    }

    /// The URLs of shards here: itself if it is a run, else the complete runs one level below.
    ///
    /// # Errors
    /// A store that does not answer, or refuses.
    pub fn shards(&self) -> Result<Vec<String>, RolloutError> {
        let there = self.block(self.there())?;
        if there.has(RECORD) {
            return Ok(vec![self.url.clone()]);
        }
        let below = |name: &String| {
            name.strip_suffix(RECORD)?.strip_suffix('/').filter(|n| !n.contains('/')).map(str::to_owned)
        };
        let mut names: Vec<String> = there.sizes.keys().filter_map(below).collect();
        names.sort_unstable();
        Ok(names.into_iter().map(|name| format!("{}/{name}", self.url)).collect())
    }

    /// Copies the complete run here into the directory `dir`, without files that are there already, and
    /// returns it. Its digests are compared.
    ///
    /// # Errors
    /// No complete run, one that is damaged, a store that does not answer, a disk without space, other files
    /// in `dir`.
    pub fn receive(&self, dir: &Path) -> Result<PathBuf, RolloutError> {
        let there = self.block(self.there())?;
        if !there.has(RECORD) {
            return Err(RolloutError::NotARun(self.url.clone().into()));
        }
        let mut files = Vec::new();
        if super::exists(dir) {
            manifest::collect(dir, Path::new(""), &[], &mut files)?;
        }
        let is_copy = |file: &&PathBuf| {
            let name = manifest::name(file);
            let is_there = there.has(&name) || name.strip_suffix(".begun").is_some_and(|name| there.has(name));
            is_there && !own::is_link(&dir.join(file))
        };
        if let Some(other) = files.iter().find(|file| !is_copy(file)) {
            let why = "is no copy of a file of the run";
            return Err(RolloutError::NotOfTheRun { path: dir.join(other), why });
        }
        self.fetch(&there, dir, |_| true)?;
        if verify(dir)?.faults.is_empty() {
            return Ok(dir.to_owned());
        }
        // A copy that was there may be damaged, and the object not.
        files.clear();
        manifest::collect(dir, Path::new(""), &[], &mut files)?;
        for file in files.iter().map(|file| dir.join(file)) {
            fs::remove_file(&file).map_err(io(&file))?;
        }
        self.fetch(&there, dir, |_| true)?;
        let found = verify(dir)?;
        match found.faults.first() {
            None => Ok(dir.to_owned()),
            Some(fault) => Err(RolloutError::Shards(format!("{}: {fault}", self.url))),
        }
    }

    /// Checks that all files of the run here are those that were sent, by the digests in their metadata; of
    /// those that have none the bytes are read.
    fn check(&self, there: &There, sums: &Sums) -> Result<(), RolloutError> {
        let fault = async |(name, expected): (&str, &str)| {
            let Some(bytes) = there.sizes.get(name) else {
                return Ok::<_, RolloutError>(Some((name.to_owned(), check::is_missing(expected))));
            };
            // Metadata may outlive the bytes where files are the objects.
            let found = match self.sent_digest(name).await? {
                Some(digest) if *bytes > 0 => digest,
                _ => self.digest(name).await?,
            };
            Ok((found != expected).then(|| (name.to_owned(), check::differs(expected, &found))))
        };
        let faults: Vec<Option<(String, String)>> =
            self.block(stream::iter(sums.files().map(fault)).buffered(FILES_AT_ONCE).try_collect())?;
        let faults: Vec<_> = faults.into_iter().flatten().collect();
        let Some((name, why)) = faults.first() else { return Ok(()) };
        let path = PathBuf::from(&self.url).join(name);
        Err(RolloutError::Damaged { path, why: why.clone(), others: faults.len() - 1 })
    }

    /// Copies the files here that `wanted` names, the record last; those that have their size are there.
    fn fetch(&self, there: &There, dir: &Path, wanted: impl Fn(&str) -> bool) -> Result<(), RolloutError> {
        let mut names: Vec<&String> = there.sizes.keys().filter(|name| wanted(name) && *name != BEGUN).collect();
        if let Some(name) = names.iter().find(|name| !check::is_inside(name)) {
            let reason = "is no name of a file: expected objects of a run".to_owned();
            return Err(RolloutError::File { path: format!("{}/{}", self.url, check::short(name)).into(), reason });
        }
        names.sort_by_key(|name| (*name == RECORD, *name));
        self.block(async {
            for name in names {
                let path = dir.join(name);
                if path.metadata().is_ok_and(|data| data.len() == there.sizes[name]) {
                    continue;
                }
                let parent = path.parent().unwrap_or(dir);
                fs::create_dir_all(parent).map_err(io(parent))?;
                let begun = path.with_added_extension("begun");
                let mut file = File::create(&begun).map_err(io(&begun))?;
                self.each(name, |bytes| std::io::Write::write_all(&mut file, bytes).map_err(io(&begun))).await?;
                fs::rename(&begun, &path).map_err(io(&path))?;
            }
            Ok(())
        })
    }

    /// Waits for what is done with the store.
    fn block<T>(&self, work: impl Future<Output = Result<T, RolloutError>>) -> Result<T, RolloutError> {
        self.runtime.block_on(work)
    }

    fn key(&self, name: &str) -> Key {
        name.split('/').fold(self.prefix.clone(), Key::join)
    }

    fn failed(&self, what: &str) -> impl Fn(Error) -> RolloutError {
        move |e| failed(&self.url, what, &e)
    }

    /// All that is here.
    async fn there(&self) -> Result<There, RolloutError> {
        let mut there = There::default();
        let mut list = self.store.list(Some(&self.prefix));
        while let Some(object) = list.try_next().await.map_err(self.failed("list"))? {
            if let Some(parts) = object.location.prefix_match(&self.prefix) {
                let name: Vec<String> = parts.map(|part| part.as_ref().to_owned()).collect();
                there.sizes.insert(name.join("/"), object.size);
            }
        }
        Ok(there)
    }

    async fn get(&self, name: &str) -> Result<Vec<u8>, RolloutError> {
        let mut all = Vec::new();
        self.each(name, |bytes| {
            all.extend_from_slice(bytes);
            Ok(())
        })
        .await?;
        Ok(all)
    }

    async fn digest(&self, name: &str) -> Result<String, RolloutError> {
        let mut hash = Sha256::new();
        self.each(name, |bytes| {
            hash.update(bytes);
            Ok(())
        })
        .await?;
        Ok(hex(&hash.finalize()))
    }

    /// Calls `take` with the bytes of an object, one piece after the other.
    async fn each(
        &self,
        name: &str,
        mut take: impl FnMut(&[u8]) -> Result<(), RolloutError>,
    ) -> Result<(), RolloutError> {
        let failed = self.failed("read");
        let mut pieces = self.store.get(&self.key(name)).await.map_err(&failed)?.into_stream();
        while let Some(piece) = pieces.try_next().await.map_err(&failed)? {
            take(&piece)?;
        }
        Ok(())
    }

    async fn put(&self, name: &str, bytes: Vec<u8>, digest: Option<&str>) -> Result<(), RolloutError> {
        let options = PutOptions { attributes: attributes(digest), ..PutOptions::default() };
        let done = self.store.put_opts(&self.key(name), PutPayload::from(bytes), options).await;
        done.map(drop).map_err(self.failed("write"))
    }

    /// Removes an object; that it is not there is no error.
    async fn remove(&self, name: &str) -> Result<(), RolloutError> {
        match self.store.delete(&self.key(name)).await {
            Err(Error::NotFound { .. }) => Ok(()),
            done => done.map_err(self.failed("remove an object")),
        }
    }

    /// Sends a file, unless it is here: an object of `size` bytes has that name.
    async fn file(&self, file: &Outgoing, size: Option<u64>, sent: &(dyn Fn(u64) + Sync)) -> Result<(), RolloutError> {
        let is_here =
            size == Some(file.bytes) && self.sent_digest(&file.name).await?.is_some_and(|digest| digest == file.digest);
        let mut tries = 0;
        let mut done = if is_here { Ok(()) } else { self.try_file(file).await };
        while tries + 1 < TRIES && matches!(done, Err(RolloutError::Store { .. })) {
            tokio::time::sleep(PAUSE * 2u32.pow(tries)).await;
            tries += 1;
            done = self.try_file(file).await;
        }
        done?;
        sent(file.bytes);
        Ok(())
    }

    /// The digest that an object was sent with.
    async fn sent_digest(&self, name: &str) -> Result<Option<String>, RolloutError> {
        let head = GetOptions { head: true, ..GetOptions::default() };
        let found = self.store.get_opts(&self.key(name), head).await.map_err(self.failed("read"))?;
        Ok(found.attributes.get(&DIGEST).map(|digest| digest.to_string()))
    }

    async fn try_file(&self, file: &Outgoing) -> Result<(), RolloutError> {
        // What is sent is compared with the digest before the object is there.
        let mut hash = Sha256::new();
        let as_written = |hash: Sha256| match hex(&hash.finalize()) {
            found if found == file.digest => Ok(()),
            found => {
                let why = check::differs(&file.digest, &found);
                Err(RolloutError::Damaged { path: file.path.clone(), why, others: 0 })
            }
        };
        if file.bytes <= PART {
            let bytes = read(&file.path)?;
            hash.update(&bytes);
            as_written(hash)?;
            return self.put(&file.name, bytes, Some(&file.digest)).await;
        }
        let options = PutMultipartOptions { attributes: attributes(Some(&file.digest)), ..Default::default() };
        let failed = self.failed("write");
        let upload = self.store.put_multipart_opts(&self.key(&file.name), options).await.map_err(&failed)?;
        let part = PART.max(file.bytes.div_ceil(PARTS)) as usize;
        let mut parts = WriteMultipart::new_with_chunk_size(upload, part);
        let mut from = input::open(&file.path)?;
        loop {
            if let Err(e) = parts.wait_for_capacity(PARTS_AT_ONCE).await {
                // The error of the part says more.
                let _ = parts.abort().await;
                return Err(failed(e));
            }
            let mut bytes = Vec::new();
            (&mut from).take(part as u64).read_to_end(&mut bytes).map_err(io(&file.path))?;
            if bytes.is_empty() {
                if let Err(e) = as_written(hash) {
                    let _ = parts.abort().await;
                    return Err(e);
                }
                return parts.finish().await.map(drop).map_err(failed);
            }
            hash.update(&bytes);
            parts.put(bytes.into());
        }
    }
}

fn attributes(digest: Option<&str>) -> Attributes {
    digest.map(|digest| (DIGEST, digest.to_owned())).into_iter().collect()
}

fn read(path: &Path) -> Result<Vec<u8>, RolloutError> {
    let mut bytes = Vec::new();
    input::open(path)?.read_to_end(&mut bytes).map_err(io(path))?;
    Ok(bytes)
}

/// A new directory beside the run `out`.
fn new_directory(out: &Path) -> Result<PathBuf, RolloutError> {
    let beside = out.parent().unwrap_or(out);
    fs::create_dir_all(beside).map_err(io(beside))?;
    for k in 0u32.. {
        let dir = out.with_added_extension(format!("found{k}"));
        match fs::create_dir(&dir) {
            Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {}
            made => return made.map(|()| dir.clone()).map_err(io(&dir)),
        }
    }
    unreachable!("more directories than a disk has")
}

/// Those of the `files` of the complete run in `run` that are sent before its record and its manifest, which
/// has the digests `sums`.
fn outgoing(run: &Path, files: &[PathBuf], sums: &Sums) -> Result<Vec<Outgoing>, RolloutError> {
    let others = [SPOOL, LOCK, REPLACED, MANIFEST, BEGUN, RECORD];
    let is_sent = |file: &&PathBuf| !others.iter().any(|other| file.starts_with(other)) && !own::is_unfinished(file);
    let mut paths: Vec<PathBuf> = files.iter().filter(is_sent).cloned().collect();
    paths.sort_by_key(|path| manifest::name(path));
    let of = |inside: PathBuf| {
        let (name, path) = (manifest::name(&inside), run.join(&inside));
        let bytes = input::open_in(run, &inside)?.get_ref().metadata().map_err(io(&path))?.len();
        // A page is made when the manifest is there.
        let digest = match sums.digest(&name) {
            Some(digest) => digest.to_owned(),
            None => check::digest_in(run, &name)?.0,
        };
        Ok::<_, RolloutError>(Outgoing { name, path, digest, bytes })
    };
    let files: Vec<Outgoing> = paths.into_iter().map(of).collect::<Result<_, _>>()?;
    let is_there = |name: &str| files.binary_search_by(|file| file.name.as_str().cmp(name)).is_ok();
    if let Some((name, digest)) = sums.files().find(|(name, _)| !is_there(name)) {
        return Err(RolloutError::Damaged { path: run.join(name), why: check::is_missing(digest), others: 0 });
    }
    Ok(files)
}

/// Why a store did not do `what`, and what it takes.
fn failed(url: &str, what: &str, e: &Error) -> RolloutError {
    let bucket = url.split("://").nth(1).and_then(|rest| rest.split('/').next()).unwrap_or_default();
    let reason = reason(e);
    // Lists fail with errors of no kind, whose text alone has the status.
    let says = |status: &str| reason.contains(&format!("status code: {status}"));
    let is_absent = matches!(e, Error::NotFound { .. }) || says("404");
    let is_refused =
        matches!(e, Error::PermissionDenied { .. } | Error::Unauthenticated { .. }) || says("401") || says("403");
    let why = if is_absent && what != "read" {
        format!("there is no bucket `{bucket}`: expected one that is there, at the address in the environment")
    } else if is_refused {
        format!(
            "no permission to {what}: expected credentials in the environment that may list, read, write and remove \
             there (AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or GOOGLE_APPLICATION_CREDENTIALS). The store \
             says: {reason}"
        )
    } else {
        format!("could not {what}: {reason}; the command may be repeated with `resume`")
    };
    RolloutError::Store { url: url.to_owned(), why }
}

/// The text of an error and of those inside it, each once.
fn reason(e: &Error) -> String {
    let mut whole = e.to_string();
    let mut inner = std::error::Error::source(e);
    while let Some(e) = inner {
        let text = e.to_string();
        if !whole.contains(&text) {
            whole += &format!(": {text}");
        }
        inner = e.source();
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rollout::{is_empty, rollout};
    use bristle::cpu::Cpu;

    const SLIDE: &str = r#"
        duration = 0.02
        contacts = 2
        patch = { shape = "disc", cells = 3 }
        body = { kind = "prescribed" }
        inputs = { normal_force = 1, twist = { vx = 0.01 } }
    "#;

    /// A file that has changed is neither sent, nor taken for what was sent, nor for what was received.
    #[test]
    fn what_is_sent_found_and_received_is_as_it_was_written() {
        let store = Store {
            url: "s3://bucket/run".to_owned(),
            store: Arc::new(object_store::memory::InMemory::new()),
            prefix: Key::from("run"),
            runtime: tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap(),
        };
        let dir = tempfile::tempdir().unwrap();
        let (run, copy) = (dir.path().join("run"), dir.path().join("copy"));
        let scenario = Scenario::parse(SLIDE, ".".as_ref(), "slide.toml").unwrap();
        rollout(&scenario, &Cpu::new(), &Options::new(&run), &|_| true).unwrap();
        let contacts = run.join("contacts.npz");
        let whole = fs::read(&contacts).unwrap();
        let refused = |told: &str| {
            let error = store.send(&run, &|_| ()).unwrap_err().to_string();
            assert!(error.starts_with(&format!("{}: {told}", contacts.display())), "{error}");
            assert!(!store.block(store.there()).unwrap().has(RECORD) && run.exists());
        };
        fs::write(&contacts, &whole[1..]).unwrap();
        refused("is damaged: expected the sha256 ");
        fs::remove_file(&contacts).unwrap();
        refused("is missing: expected the sha256 ");
        fs::write(&contacts, &whole).unwrap();
        store.send(&run, &|_| ()).unwrap();
        assert!(is_empty(dir.path()) && store.verify().unwrap().faults.is_empty());
        let resume = Options { resume: true, ..Options::new(&run) };
        let put =
            |name: &str, bytes: Vec<u8>, digest: Option<&str>| store.block(store.put(name, bytes, digest)).unwrap();
        // A copy that somebody else has made has no digest in its metadata.
        put("contacts.npz", whole.clone(), None);
        assert_eq!(store.begin(&scenario, &resume).unwrap().unwrap().contacts, 2);
        for (name, bytes) in [("contacts.npz", &whole[1..]), ("scenario.toml", b"seed = 3\n"), ("contacts.npz", b"")] {
            let was = store.block(store.get(name)).unwrap();
            put(name, bytes.to_vec(), None);
            let error = store.begin(&scenario, &resume).unwrap_err().to_string();
            assert!(error.starts_with(&format!("s3://bucket/run/{name}: is damaged: expected the sha256 ")), "{error}");
            assert!(store.receive(&copy).unwrap_err().to_string().contains(&format!("{name}: is damaged")));
            assert!(store.verify().unwrap().faults[0].starts_with(&format!("{name}: is damaged: expected")));
            put(name, was, None);
        }
        // A copy that is damaged is made again.
        store.receive(&copy).unwrap();
        fs::write(copy.join("contacts.npz"), vec![0; whole.len()]).unwrap();
        store.receive(&copy).unwrap();
        assert_eq!(fs::read(copy.join("contacts.npz")).unwrap(), whole);
        // Names of files outside are not taken from it.
        put("run.json", vec![0; 9], None);
        let sums = [&b"00  "[..], &[b'x'; 1 << 20]].concat();
        put(MANIFEST, sums, None);
        let faults = store.verify().unwrap().faults;
        assert!(faults.len() == 2 && faults[1].contains("line 1 is `00  xx") && faults[1].len() < 300, "{faults:?}");
    }
}

//! Runs in an object store: a server of S3 on this machine. Tests kill the server, and the job, in the
//! middle.
#![cfg(all(feature = "cloud", unix))]

#[path = "../../../tests/content/mod.rs"]
mod content;

use std::fs;
use std::future::pending;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use content::assert_same;
use hyper::service::{Service, service_fn};
use hyper_util::rt::TokioIo;

/// A run with a file of some 12 MB, which is sent in parts.
const SCENARIO: &str = r#"duration = 0.5
record_every = 0.005
contacts = 1200
[patch]
shape = "disc"
cells = 5
[friction]
mu_c = { uniform = [0.3, 0.9] }
[body]
kind = "body"
mass = { uniform = [0.5, 1.5] }
inertia = { disc = 0.05 }
[initial]
twist = [0.1, 0, 1.0]
[inputs]
tilt = { angle = 0.2 }
"#;

const FORMATS: [&str; 2] = ["--format", "npz,lerobot"];

/// What the server does when it is asked for the `n`-th time: a number and a letter in this variable.
const AT: &str = "BRISTLE_TEST_S3_AT";
/// Its directory.
const DIR: &str = "BRISTLE_TEST_S3_DIR";

/// The server, which the other tests run as a program. Its standard input is the socket on which it listens.
#[test]
#[ignore = "it is the server of the other tests"]
fn server() {
    let Ok(dir) = std::env::var(DIR) else { return };
    let at = std::env::var(AT).unwrap_or_default();
    let (dies, n) = (at.starts_with('d'), at.get(1..).and_then(|n| n.parse::<u64>().ok()));
    let mut builder = s3s::service::S3ServiceBuilder::new(s3s_fs::FileSystem::new(dir).unwrap());
    builder.set_auth(s3s::auth::SimpleAuth::from_single("key", "secret"));
    let (service, asked, answered) = (builder.build(), Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let listener = TcpListener::from(std::io::stdin().as_fd().try_clone_to_owned().unwrap());
        listener.set_nonblocking(true).unwrap();
        let listener = tokio::net::TcpListener::from_std(listener).unwrap();
        loop {
            let (socket, _) = listener.accept().await.unwrap();
            let (service, asked, answered) = (service.clone(), Arc::clone(&asked), Arc::clone(&answered));
            let answer = service_fn(move |request: hyper::Request<hyper::body::Incoming>| {
                let (service, asked) = (service.clone(), asked.fetch_add(1, Ordering::Relaxed) + 1);
                let answered = Arc::clone(&answered);
                async move {
                    if n.is_some_and(|n| asked >= n) {
                        // This server writes an object before its metadata, a store both at once: it is not
                        // to be killed between them.
                        while n.is_some_and(|n| answered.load(Ordering::Relaxed) + 1 < n) {
                            tokio::task::yield_now().await;
                        }
                        if dies {
                            std::process::abort();
                        }
                        println!("\nwaiting");
                        pending::<()>().await;
                    }
                    let answer = Service::call(&service, request).await;
                    answered.fetch_add(1, Ordering::Relaxed);
                    answer
                }
            });
            tokio::task::spawn(
                hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(socket), answer),
            );
        }
    });
}

/// The server as a process.
struct Server {
    process: Child,
    lines: BufReader<std::process::ChildStdout>,
    /// Its socket, which outlives the process: who asks in between waits for the next server, and no other
    /// program takes the port.
    listener: TcpListener,
}

impl Server {
    fn start(dir: &Path, at: &str) -> Self {
        Self::at(TcpListener::bind("127.0.0.1:0").unwrap(), dir, at)
    }

    /// A server in place of this one, which has ended.
    fn next(&self, dir: &Path) -> Self {
        Self::at(self.listener.try_clone().unwrap(), dir, "")
    }

    fn at(listener: TcpListener, dir: &Path, at: &str) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["server", "--exact", "--ignored", "--nocapture"]);
        command.stdin(Stdio::from(OwnedFd::from(listener.try_clone().unwrap())));
        command.env(DIR, dir).env(AT, at).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = command.spawn().unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap());
        Self { process, lines, listener }
    }

    /// Waits for a line that begins with `word`, and returns the rest of it.
    fn says(&mut self, word: &str) -> String {
        let mut line = String::new();
        loop {
            line.clear();
            assert!(self.lines.read_line(&mut line).unwrap() > 0, "the server has ended");
            if let Some(rest) = line.strip_prefix(word) {
                return rest.trim().to_owned();
            }
        }
    }

    /// The program with that store, in `dir`.
    fn bristle(&self, dir: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bristle"));
        command.current_dir(dir).args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
        let endpoint = format!("http://{}", self.listener.local_addr().unwrap());
        command.env("AWS_ENDPOINT", endpoint).env("AWS_ALLOW_HTTP", "true");
        command.env("AWS_ACCESS_KEY_ID", "key").env("AWS_SECRET_ACCESS_KEY", "secret").env("AWS_REGION", "us-east-1");
        command
    }

    fn run(&self, dir: &Path, arguments: &[&str]) -> Output {
        self.bristle(dir, arguments).output().unwrap()
    }

    /// Runs a command that succeeds.
    fn done(&self, dir: &Path, arguments: &[&str]) {
        let output = self.run(dir, arguments);
        assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A directory with a scenario and its run on the disk, and a directory with a bucket.
fn places() -> (tempfile::TempDir, tempfile::TempDir) {
    let (dir, store) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::write(dir.path().join("slide.toml"), SCENARIO).unwrap();
    fs::create_dir(store.path().join("bucket")).unwrap();
    (dir, store)
}

fn rollout<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&["rollout", "slide.toml", "--engine", "cpu", "-q"][..], more].concat()
}

#[test]
fn a_run_is_complete_after_its_server_was_killed() {
    let (dir, root) = places();
    let (dir, bucket) = (dir.path(), root.path().join("bucket"));
    let out = ["--out", "s3://bucket/runs/slide"];
    let mut first = Server::start(root.path(), "d9");
    first.done(dir, &rollout(&[&FORMATS[..], &["--out", "local"]].concat()));
    let job = first.bristle(dir, &rollout(&[&FORMATS[..], &out].concat())).spawn().unwrap();
    assert!(!first.process.wait().unwrap().success(), "it dies at the ninth request");
    assert!(!bucket.join("runs/slide/run.json").exists());
    let server = first.next(root.path());
    let output = job.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    assert_same(&dir.join("local"), &bucket.join("runs/slide"));
    let record = fs::read_to_string(bucket.join("runs/slide/run.json")).unwrap();
    assert!(record.contains(r#""out": "s3://bucket/runs/slide""#), "{record}");
    assert!(!dir.join("runs/s3/bucket/runs/slide").exists(), "it is sent, and removed here");
    // It is there, and is not made again.
    server.done(dir, &["verify", "s3://bucket/runs/slide"]);
    let output = server.run(dir, &rollout(&out));
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("s3://bucket/runs/slide exists"), "{}", stderr(&output));
    let again = [&FORMATS[..], &out, &["--resume"]].concat();
    let output = server.run(dir, &[&["rollout", "slide.toml"][..], &again].concat());
    assert!(output.status.success() && stderr(&output).contains("is complete"), "{}", stderr(&output));
    // Another run is not it; it may replace it, with fewer files.
    let other = rollout(&[&again[..], &["--seed", "7"]].concat());
    let output = server.run(dir, &other);
    assert!(stderr(&output).contains("holds another run (seed = 7, where it has none)"), "{}", stderr(&output));
    server.done(dir, &rollout(&["--seed", "7", "--out", "other"]));
    server.done(dir, &rollout(&["--seed", "7", "--force", "--out", "s3://bucket/runs/slide"]));
    assert_same(&dir.join("other"), &bucket.join("runs/slide"));
    // Damage is found.
    fs::write(bucket.join("runs/slide/contacts.npz"), "").unwrap();
    fs::remove_file(bucket.join("runs/slide/trajectories.svg")).unwrap();
    let output = server.run(dir, &["verify", "s3://bucket/runs/slide"]);
    assert_eq!(output.status.code(), Some(1));
    for fault in ["contacts.npz: is damaged", "trajectories.svg: is missing"] {
        assert!(stderr(&output).contains(fault), "{}", stderr(&output));
    }
    let output = server.run(dir, &rollout(&["--seed", "7", "--resume", "--out", "s3://bucket/runs/slide"]));
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let told = "s3://bucket/runs/slide/contacts.npz: is damaged: expected the sha256 ";
    assert!(stderr(&output).contains(told) && stderr(&output).contains("one other file"), "{}", stderr(&output));
}

#[test]
fn a_killed_job_leaves_nothing_that_looks_complete_and_goes_on() {
    let (dir, root) = places();
    let (dir, run) = (dir.path(), root.path().join("bucket/slide"));
    let arguments = rollout(&[&FORMATS[..], &["--out", "s3://bucket/slide", "--resume"]].concat());
    let mut server = Server::start(root.path(), "");
    server.done(dir, &rollout(&[&FORMATS[..], &["--out", "local"]].concat()));
    let mut kept = 0;
    for n in [2, 5, 7, 9, 11, 13] {
        let times = times(&run);
        server = Server::start(root.path(), &format!("w{n}"));
        let mut job = server.bristle(dir, &arguments).spawn().unwrap();
        server.says("waiting");
        job.kill().unwrap();
        job.wait().unwrap();
        assert!(!run.join("run.json").exists(), "killed at request {n}");
        drop(server);
        for (name, time) in times {
            assert_eq!(run.join(&name).metadata().unwrap().modified().unwrap(), time, "{name} is sent twice");
            kept += 1;
        }
        server = Server::start(root.path(), "");
        let output = server.run(dir, &["verify", "s3://bucket/slide"]);
        assert!(!output.status.success(), "killed at request {n}");
    }
    // Of the eight requests before the fourth kill at most six do not end a file: two lists, the mark of an
    // unfinished run, and the first three of a file that is sent in parts.
    assert!(kept > 0, "no file was there when the job went on");
    server.done(dir, &arguments);
    assert_same(&dir.join("local"), &run);
}

/// The times of the files of the run that are there.
fn times(run: &Path) -> Vec<(String, SystemTime)> {
    let names = content::names(run).into_iter().filter(|name| name != "run.json.begun");
    names.map(|name| (name.clone(), run.join(&name).metadata().unwrap().modified().unwrap())).collect()
}

#[test]
fn shards_in_a_store_are_merged_into_it() {
    let (dir, root) = places();
    let (dir, bucket) = (dir.path(), root.path().join("bucket"));
    let server = Server::start(root.path(), "");
    server.done(dir, &rollout(&[&FORMATS[..], &["--out", "local"]].concat()));
    server.done(dir, &rollout(&["--shard", "1/2", "--out", "s3://bucket/slide.shards/1-of-2"]));
    let merge = [&["merge", "s3://bucket/slide.shards", "--out", "s3://bucket/slide"][..], &FORMATS].concat();
    let output = server.run(dir, &merge);
    assert!(stderr(&output).contains("1 of 2 shards are missing: 2/2"), "{}", stderr(&output));
    server.done(dir, &rollout(&["--shard", "2/2", "--out", "s3://bucket/slide.shards/2-of-2"]));
    server.done(dir, &merge);
    assert_same(&dir.join("local"), &bucket.join("slide"));
    server.done(dir, &["verify", "s3://bucket/slide", "s3://bucket/slide.shards/2-of-2"]);
}

#[test]
fn what_cannot_be_a_place_is_refused_before_anything_is_computed() {
    let (dir, root) = places();
    let dir = dir.path();
    fs::create_dir_all(root.path().join("bucket/mine")).unwrap();
    fs::write(root.path().join("bucket/mine/thesis.tex"), "years").unwrap();
    let server = Server::start(root.path(), "");
    let refused = |arguments: &[&str], code: i32, told: &[&str]| {
        let output = server.run(dir, &rollout(arguments));
        assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
        told.iter().for_each(|words| assert!(stderr(&output).contains(words), "{words}: {}", stderr(&output)));
        assert!(!dir.join("runs").exists(), "nothing is computed");
    };
    refused(&["--out", "ftp://host/run"], 2, &["ftp://host/run", "`s3://` or `gs://`"]);
    refused(&["--out", "s3://bucket"], 2, &["s3://bucket", "a bucket and a path"]);
    refused(&["--out", "s3://none/run"], 1, &["s3://none/run: there is no bucket `none`"]);
    refused(&["--out", "s3://bucket/mine", "--force"], 2, &["s3://bucket/mine is no run of bristle"]);
    refused(&["--out", "s3://bucket/run", "--extend"], 2, &["s3://bucket/run", "not extended"]);
    refused(&["--out", "run", "--work", "here"], 2, &["--work", "s3://"]);
    assert_eq!(fs::read_to_string(root.path().join("bucket/mine/thesis.tex")).unwrap(), "years");
    let mut wrong = server.bristle(dir, &rollout(&["--out", "s3://bucket/run"]));
    let output = wrong.env("AWS_SECRET_ACCESS_KEY", "guess").output().unwrap();
    let message = stderr(&output);
    assert!(message.contains("s3://bucket/run: no permission to list: expected credentials"), "{message}");
    // A path after `file://` is a directory.
    let there = format!("file://{}/there", dir.display());
    server.done(dir, &rollout(&["-n", "3", "--out", &there]));
    assert!(dir.join("there/run.json").is_file());
}

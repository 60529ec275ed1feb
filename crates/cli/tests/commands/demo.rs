//! `bristle demo`, as a user runs it.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A program, ended with the test.
struct Served(Child);

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What `command` serves at the address that it prints.
fn served_by(command: &mut Command) -> String {
    let mut served = Served(command.stdout(Stdio::piped()).spawn().unwrap());
    let mut address = String::new();
    BufReader::new(served.0.stdout.take().unwrap()).read_line(&mut address).unwrap();
    let host = address.trim().strip_prefix("http://").and_then(|rest| rest.strip_suffix('/')).unwrap();
    assert!(host.starts_with("127.0.0.1:"), "{address}");
    let mut stream = TcpStream::connect(host).unwrap();
    write!(stream, "GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    answer
}

/// A folder with a page that says `text`.
fn page(folder: &Path, text: &str) {
    fs::create_dir_all(folder).unwrap();
    fs::write(folder.join("index.html"), text).unwrap();
}

#[test]
fn it_serves_the_folder_at_the_address_that_it_prints() {
    let dir = tempfile::tempdir().unwrap();
    page(dir.path(), "<!doctype html>here");
    let mut command = Command::new(env!("CARGO_BIN_EXE_bristle"));
    let answer = served_by(command.args(["demo", "--no-open"]).arg(dir.path()));
    assert!(answer.ends_with("<!doctype html>here"), "{answer}");
}

#[test]
fn without_a_folder_it_serves_the_page_that_was_made_or_else_that_beside_the_program() {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let program = dir.path().join("archive").join("bristle");
    page(&dir.path().join("archive/web"), "beside");
    // A copy that is still open for writing in a child of another test could not be run.
    fs::hard_link(env!("CARGO_BIN_EXE_bristle"), &program).unwrap();
    let answer = || served_by(Command::new(&program).args(["demo", "--no-open"]).current_dir(dir.path()));
    assert!(answer().ends_with("beside"));
    page(&dir.path().join("target/web"), "made");
    assert!(answer().ends_with("made"));
}

#[test]
fn a_folder_without_a_page_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_bristle")).arg("demo").arg(dir.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(message.contains("`cargo xtask web`") && message.contains(dir.path().to_str().unwrap()), "{message}");
    // Both places are named where none is given.
    let output = Command::new(env!("CARGO_BIN_EXE_bristle")).arg("demo").current_dir(dir.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(message.starts_with("error: target/web, /") && message.contains("/web: no index.html"), "{message}");
}

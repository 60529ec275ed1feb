//! `bristle demo`, as a user runs it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

/// A program, ended with the test.
struct Served(Child);

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn it_serves_the_folder_at_the_address_that_it_prints() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("index.html"), "<!doctype html>here").unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_bristle"));
    command.args(["demo", "--no-open"]).arg(dir.path()).stdout(Stdio::piped());
    let mut served = Served(command.spawn().unwrap());
    let mut address = String::new();
    BufReader::new(served.0.stdout.take().unwrap()).read_line(&mut address).unwrap();
    let host = address.trim().strip_prefix("http://").and_then(|rest| rest.strip_suffix('/')).unwrap();
    assert!(host.starts_with("127.0.0.1:"), "{address}");
    let mut stream = TcpStream::connect(host).unwrap();
    write!(stream, "GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("<!doctype html>here"), "{answer}");
}

#[test]
fn a_folder_without_a_page_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_bristle")).arg("demo").arg(dir.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(message.contains("`cargo xtask web`"), "{message}");
}

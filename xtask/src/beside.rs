//! Commands that run while others do: what each writes is shown when it ends, so that it does not mix with
//! theirs.

use std::io::{self, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Time within which what a command has written is read after its end. What it has started and left behind
/// may hold its streams for ever.
const READ: Duration = Duration::from_secs(10);

/// Commands that run, one after the other.
pub struct Beside(JoinHandle<bool>);

impl Beside {
    /// Starts the first of some commands, and each other one when the one before it has succeeded.
    pub fn start(commands: Vec<Command>) -> Self {
        commands.iter().for_each(|command| eprintln!("xtask: beside what follows: {command:?}"));
        Self(std::thread::spawn(|| commands.into_iter().all(|mut command| succeeds(&mut command))))
    }

    /// Waits for the commands, and returns whether all have succeeded.
    pub fn end(self) -> bool {
        self.0.join().unwrap_or(false)
    }
}

/// Runs a command, shows what it wrote, and returns whether it succeeded.
fn succeeds(command: &mut Command) -> bool {
    let named = format!("{command:?}");
    let (succeeded, written) = match finish(command) {
        Ok((status, written)) => (status.success(), String::from_utf8_lossy(&written).into_owned()),
        Err(e) => (false, format!("xtask: {e}\n")),
    };
    eprint!("xtask: {named}\n{written}xtask: {} {named}\n", if succeeded { "done:" } else { "failed:" });
    succeeded
}

/// Waits for the end of a command: how it ended, and what it wrote.
fn finish(command: &mut Command) -> io::Result<(ExitStatus, Vec<u8>)> {
    let ((mut child, written), mut all) = (start(command)?, Vec::new());
    let status = child.wait()?;
    while let Ok(bytes) = written.recv_timeout(READ) {
        all.extend(bytes);
    }
    Ok((status, all))
}

/// Starts a command, and a thread that reads what it writes to either stream, as a pipe holds little.
fn start(command: &mut Command) -> io::Result<(Child, Receiver<Vec<u8>>)> {
    let (mut reader, writer) = io::pipe()?;
    let child = command.stdout(writer.try_clone()?).stderr(writer).spawn();
    // The reader ends when nobody can write any more: not the command either.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let (send, written) = channel();
    std::thread::spawn(move || {
        let mut bytes = vec![0; 1 << 16];
        while let Ok(count @ 1..) = reader.read(&mut bytes) {
            if send.send(bytes[..count].to_vec()).is_err() {
                break;
            }
        }
    });
    Ok((child?, written))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn what_both_streams_got_is_kept_in_order() {
        let (status, written) = finish(&mut shell("head -c 1000000 /dev/zero; echo in >&2; echo order")).unwrap();
        assert!(status.success());
        assert!(written.len() == 1_000_000 + 9 && written.ends_with(b"in\norder\n"));
    }

    #[test]
    fn commands_end_with_the_first_that_fails_or_is_not_there() {
        let dir = tempfile::tempdir().unwrap();
        let touch = |name: &str| shell(&format!("echo > {}", dir.path().join(name).display()));
        let is_there = |name: &str| dir.path().join(name).exists();
        assert!(Beside::start(vec![touch("a"), touch("b")]).end() && is_there("a") && is_there("b"));
        assert!(!Beside::start(vec![touch("c"), shell("exit 3"), touch("d")]).end());
        assert!(is_there("c") && !is_there("d"));
        assert!(!Beside::start(vec![Command::new("there is no such program")]).end());
    }
}

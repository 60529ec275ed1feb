//! A command that runs while others do: what it writes is shown when it ends, so that it does not mix with
//! theirs.

use std::io::{self, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// Time within which what a command has written is read after its end. What it has started and left behind
/// may hold its streams for ever.
const READ: Duration = Duration::from_secs(10);

/// A command that runs.
pub struct Beside {
    /// The command, to be named.
    command: String,
    started: io::Result<(Child, Receiver<Vec<u8>>)>,
}

impl Beside {
    /// Starts a command. One that does not start fails at its end.
    pub fn start(command: &mut Command) -> Self {
        eprintln!("xtask: beside what follows: {command:?}");
        Self { command: format!("{command:?}"), started: start(command) }
    }

    /// Waits for the command, shows what it wrote, and returns whether it succeeded.
    pub fn end(self) -> bool {
        let command = self.command.clone();
        let (succeeded, written) = match self.wait() {
            Ok((status, written)) => (status.success(), String::from_utf8_lossy(&written).into_owned()),
            Err(e) => (false, format!("xtask: {e}\n")),
        };
        eprint!("xtask: {command}\n{written}");
        succeeded
    }

    /// Waits for the command: how it ended, and what it wrote.
    fn wait(self) -> io::Result<(ExitStatus, Vec<u8>)> {
        let (mut child, written) = self.started?;
        let (status, mut all) = (child.wait()?, Vec::new());
        while let Ok(bytes) = written.recv_timeout(READ) {
            all.extend(bytes);
        }
        Ok((status, all))
    }
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

    fn shell(script: &str) -> Beside {
        Beside::start(Command::new("sh").args(["-c", script]))
    }

    #[test]
    fn what_both_streams_got_is_kept_in_order() {
        let (status, written) = shell("head -c 1000000 /dev/zero; echo in >&2; echo order").wait().unwrap();
        assert!(status.success());
        assert!(written.len() == 1_000_000 + 9 && written.ends_with(b"in\norder\n"));
    }

    #[test]
    fn a_command_that_fails_or_is_not_there_has_failed() {
        assert!(shell("true").end());
        assert!(!shell("exit 3").end());
        assert!(!Beside::start(&mut Command::new("there is no such program")).end());
    }
}

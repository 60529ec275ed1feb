//! Handles Ctrl-C and SIGTERM: a run keeps its complete contacts, and the program ends.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::note;
use bristle_data::rollout::{Left, left};

/// Exit codes of a program that was interrupted or asked to end, as shells have them.
pub(super) const INTERRUPTED: i32 = 130;
#[cfg(unix)]
const TERMINATED: i32 = 143;

/// Waits for the end of the program, which was asked to stop and has `ended` its work.
pub(super) fn end_if_asked(stop: &Stop, ended: bool) {
    if stop.asked.load(Ordering::Relaxed) && ended {
        stop.ended.store(true, Ordering::Relaxed);
        std::thread::sleep(2 * STOP_TIMEOUT);
    }
}

/// Flags that are shared by the handler of signals, which asks a run to stop, and the thread that computes
/// it.
#[derive(Default)]
pub(super) struct Stop {
    /// The directory of the run that is simulated.
    out: Mutex<PathBuf>,
    begun: AtomicBool,
    asked: AtomicBool,
    ended: AtomicBool,
}

impl Stop {
    /// What is simulated from now on goes to `out`.
    pub(super) fn goes_to(&self, out: &Path) {
        out.clone_into(&mut self.out.lock().expect("no panic while a path is copied"));
        self.begun.store(false, Ordering::Relaxed);
    }

    /// Whether the simulation, which has begun, may go on.
    pub(super) fn may_go_on(&self) -> bool {
        self.begun.store(true, Ordering::Relaxed);
        !self.asked.load(Ordering::Relaxed)
    }
}

/// Time that a run gets, when it is asked to stop, to write its last complete blocks; after it the program
/// ends without them.
const STOP_TIMEOUT: Duration = Duration::from_secs(2);

/// Makes Ctrl-C and SIGTERM stop the run, or end the program if that takes longer than [`STOP_TIMEOUT`]; a
/// message says how much of the run can be resumed.
pub(super) fn stop_when_interrupted(report: bool) -> Arc<Stop> {
    let stop = Arc::new(Stop::default());
    let of_handler = Arc::clone(&stop);
    let handler = Arc::new(move |code: i32| {
        let stop = &of_handler;
        let out = stop.out.lock().map(|out| out.clone()).unwrap_or_default();
        let partial = bristle_data::rollout::partial(&out);
        stop.asked.store(true, Ordering::Relaxed);
        let asked = Instant::now();
        let begun = stop.begun.load(Ordering::Relaxed);
        while begun && !stop.ended.load(Ordering::Relaxed) && asked.elapsed() < STOP_TIMEOUT {
            std::thread::sleep(Duration::from_millis(5));
        }
        let left = match left(&out) {
            _ if begun && !partial.exists() => {
                let report = if report { "; `--resume` makes its report" } else { "" };
                format!("the run is complete, in {}{report}", out.display())
            }
            Left::Nothing => "no contact was complete, and nothing is kept".to_owned(),
            Left::Contacts(_) | Left::All => {
                format!("the unfinished run is in {}; `--resume` continues it", partial.display())
            }
        };
        note(format_args!("\nstopped: {left}"));
        std::process::exit(code);
    });
    // Without a handler the program ends all the same.
    #[cfg(unix)]
    if let Ok(mut signals) = signal_hook::iterator::Signals::new([signal_hook::consts::SIGTERM]) {
        let handler = Arc::clone(&handler);
        std::thread::spawn(move || signals.forever().for_each(|_| handler(TERMINATED)));
    }
    let _ = ctrlc::set_handler(move || handler(INTERRUPTED));
    stop
}

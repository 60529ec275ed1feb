//! `bristle bench --all`: the document that is written part by part.

use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Mutex};

use super::super::engine::failed;
use super::super::interrupt::INTERRUPTED;
use super::super::{Failure, note, print};
use super::WIDTH;
use bristle_bench::hardware::Document;
use bristle_bench::terminal;
use bristle_data::disk::{appear, describe};

/// What to measure, and where to write it.
pub(super) struct All<'a> {
    pub out: &'a Path,
    pub adapter: Option<&'a str>,
    pub sides: &'a [usize],
    pub budget: f64,
    pub note: Option<&'a str>,
    pub json: bool,
}

impl All<'_> {
    /// Measures what the file has not, and prints the document. `tell` is called with what is measured, and
    /// `clear` when that is over.
    pub(super) fn run(&self, tell: &dyn Fn(&str), clear: &dyn Fn()) -> Result<(), Failure> {
        let earlier = self.earlier()?;
        tell("opening the GPU");
        let now = Document::new(self.adapter, self.sides).map_err(failed)?;
        let mut document = match earlier {
            Some(earlier) => {
                now.check_continues(&earlier).map_err(|e| Failure::of_user(format!("{}: {e}", self.out.display())))?;
                earlier
            }
            None => now,
        };
        if let Some(note) = self.note {
            document.note = Some(note.to_owned());
        }
        // Shared with the handler of Ctrl-C, which waits for a file that is being written.
        let parts = document.parts.len() + document.unfinished.len();
        let finished = Arc::new(Mutex::new(document.parts.len()));
        self.keep_when_interrupted(Arc::clone(&finished), parts);
        loop {
            let more = document.measure_next(self.adapter, self.budget, tell);
            let mut finished = finished.lock().expect("no panic while a file is written");
            self.save(&document)?;
            *finished = document.parts.len();
            if !more {
                break;
            }
        }
        clear();
        if self.json {
            print(&serde_json::to_string(&document).map_err(Failure::of_machine)?)?;
        } else {
            print(document.text(terminal::width().unwrap_or(WIDTH)).trim_end())?;
        }
        if document.has_faults() {
            return Err(Failure::of_machine(format!("{}: not all is right", self.out.display())));
        }
        Ok(())
    }

    /// The document that the file has, if there is one.
    fn earlier(&self) -> Result<Option<Document>, Failure> {
        let place = self.out.display();
        let text = match std::fs::read_to_string(self.out) {
            Ok(text) => text,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                super::super::place("--out", self.out, "json", false)?;
                return Ok(None);
            }
            Err(e) => return Err(Failure::of_machine(format!("{place}: {}", describe(&e)))),
        };
        let expected = "expected a file that `bristle bench --all` wrote, or a new name";
        serde_json::from_str(&text).map(Some).map_err(|e| Failure::of_user(format!("{place}: {e}: {expected}")))
    }

    /// Writes the file under another name first: it is never there in part.
    fn save(&self, document: &Document) -> Result<(), Failure> {
        let text = serde_json::to_string(document).map_err(Failure::of_machine)?;
        appear(self.out, |file| writeln!(file, "{text}"))
            .map_err(|e| Failure::of_machine(format!("{}: {}", self.out.display(), describe(&e))))
    }

    /// Makes Ctrl-C say what is kept, of so many `parts`.
    fn keep_when_interrupted(&self, finished: Arc<Mutex<usize>>, parts: usize) {
        let out = self.out.to_owned();
        // Without a handler the program ends all the same, and the file has the same parts.
        let _ = ctrlc::set_handler(move || {
            let finished = finished.lock();
            match finished.as_deref() {
                Ok(0) | Err(_) => note("\nstopped: no part was finished, and nothing is kept"),
                Ok(n) => note(format_args!(
                    "\nstopped: {} has {n} of {parts} parts; the same command continues",
                    out.display()
                )),
            }
            // Without what C does at an exit: a driver takes its memory back there, while its threads still
            // compute, which may crash.
            #[cfg(unix)]
            signal_hook::low_level::exit(INTERRUPTED);
            #[cfg(not(unix))]
            std::process::exit(INTERRUPTED);
        });
    }
}

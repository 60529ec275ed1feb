//! Progress of a command: a bar on a terminal, else a line every ten seconds.

use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, PoisonError, RwLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use indicatif::{FormattedDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};

use bristle_data::rollout::Writing;

/// Time between two lines.
const EVERY: Duration = Duration::from_secs(10);

/// Reports progress on stderr until it is dropped.
pub(super) struct Progress {
    bar: ProgressBar,
    lines: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Progress {
    /// Progress of `total` things, called `of`, of which `already` are done. Reports nothing if `quiet`.
    pub fn new(total: u64, already: u64, of: String, quiet: bool) -> Self {
        let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::hidden()).with_position(already);
        if quiet {
            return Self { bar, lines: None };
        }
        if std::io::stderr().is_terminal() {
            let template = format!("{{wide_bar}} {{percent}} % of {of}, {{elapsed}} gone, {{eta}} to go");
            bar.set_style(ProgressStyle::with_template(&template).unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(5));
            bar.reset_eta();
            bar.enable_steady_tick(Duration::from_millis(500));
            return Self { bar, lines: None };
        }
        let (end, ended) = channel();
        let (lines, shown) = (Lines { total, already, of, next: EVERY }, bar.clone());
        Self { bar, lines: Some((end, std::thread::spawn(move || lines.write_until(&shown, &ended)))) }
    }

    /// Progress that goes on with the writing of datasets: what tells it of that.
    pub fn writing(progress: &Arc<RwLock<Self>>, quiet: bool) -> Writing {
        let (progress, begun) = (Arc::clone(progress), AtomicBool::new(false));
        Writing::new(move |done, total| {
            if !begun.swap(true, Ordering::Relaxed) {
                // The bar of before is taken away first.
                let mut progress = progress.write().unwrap_or_else(PoisonError::into_inner);
                *progress = Self::new(0, 0, String::new(), true);
                *progress = Self::new(total, 0, "bytes that datasets are written from".to_owned(), quiet);
            }
            let progress = progress.read().unwrap_or_else(PoisonError::into_inner);
            progress.bar.set_position(progress.bar.position().max(done));
        })
    }

    /// `by` more are done.
    pub fn advance(&self, by: u64) {
        self.bar.inc(by);
    }

    /// Sets the text for what is being done.
    pub fn say(&self, what: &str) {
        self.bar.set_message(what.to_owned());
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
        if let Some((end, thread)) = self.lines.take() {
            drop(end);
            // It does not panic.
            let _ = thread.join();
        }
    }
}

/// Lines about progress; the time is passed in, so that tests need no clock.
struct Lines {
    total: u64,
    already: u64,
    of: String,
    /// When the next line is due.
    next: Duration,
}

impl Lines {
    /// Writes every line that is due to stderr, until it has `ended`.
    fn write_until(mut self, bar: &ProgressBar, ended: &Receiver<()>) {
        let start = Instant::now();
        while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(self.next.saturating_sub(start.elapsed())) {
            if let Some(line) = self.at(start.elapsed(), bar.position(), &bar.message()) {
                // If stderr is closed there is nowhere to report it.
                let _ = writeln!(std::io::stderr(), "{line}");
            }
        }
    }

    /// The line that is due when `elapsed` have gone and so many are `done`.
    fn at(&mut self, elapsed: Duration, done: u64, what: &str) -> Option<String> {
        if elapsed < self.next {
            return None;
        }
        self.next = elapsed + EVERY;
        let Self { total, already, of, .. } = self;
        let percent = 100.0 * done as f64 / (*total).max(1) as f64;
        let gone = FormattedDuration(elapsed);
        let mut line = format!("{done} of {total} {of} ({percent:.1} %) after {gone}");
        let rate = done.saturating_sub(*already) as f64 / elapsed.as_secs_f64();
        let left = Duration::try_from_secs_f64(total.saturating_sub(done) as f64 / rate);
        if let Ok(left) = left.map(FormattedDuration) {
            line += &format!(", about {left} to go");
        }
        if !what.is_empty() {
            line += &format!(": {what}");
        }
        Some(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_due_every_ten_seconds() {
        let mut lines = Lines { total: 400, already: 0, of: "tables".into(), next: EVERY };
        let mut at = |s: f64, done: u64| lines.at(Duration::from_secs_f64(s), done, "");
        assert_eq!(at(9.9, 90), None);
        assert_eq!(at(10.0, 100).unwrap(), "100 of 400 tables (25.0 %) after 00:00:10, about 00:00:30 to go");
        assert_eq!(at(19.9, 150), None);
        // Lines that were missed while the machine was suspended are not written later.
        assert_eq!(at(100.0, 200).unwrap(), "200 of 400 tables (50.0 %) after 00:01:40, about 00:01:40 to go");
        assert_eq!(at(109.0, 200), None);
        assert_eq!(at(110.0, 400).unwrap(), "400 of 400 tables (100.0 %) after 00:01:50, about 00:00:00 to go");
    }

    /// What a resumed run had done before says nothing on how long the rest takes, nor does a run that has
    /// not got anywhere.
    #[test]
    fn the_estimate_is_of_what_was_done_now() {
        let mut lines = Lines { total: 1000, already: 500, of: "samples".into(), next: EVERY };
        let line = lines.at(Duration::from_secs(10), 500, "first").unwrap();
        assert_eq!(line, "500 of 1000 samples (50.0 %) after 00:00:10: first");
        let line = lines.at(Duration::from_secs(20), 510, "").unwrap();
        assert_eq!(line, "510 of 1000 samples (51.0 %) after 00:00:20, about 00:16:20 to go");
    }
}

//! Processor time and memory of this process, as Linux reports them; other systems give none.

/// Processor time \[s\] that all threads have used, to 10 ms.
pub fn cpu_seconds() -> Option<f64> {
    // The name in brackets may contain any character; after it come the state and then numbers.
    let text = std::fs::read_to_string("/proc/self/stat").ok()?;
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks: f64 = fields.get(11)?.parse::<f64>().ok()? + fields.get(12)?.parse::<f64>().ok()?;
    // The kernel reports ticks of 1/100 s on every architecture that Rust supports.
    Some(ticks / 100.0)
}

/// Resets the peak of [`peak_above`], where that is allowed, and returns the present memory of this process
/// [byte].
pub(super) fn reset_peak() -> Option<u64> {
    // If that is refused, the peak is that of the whole run, which is an upper bound.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
    status("VmRSS:")
}

/// Largest memory [byte] of this process since [`reset_peak`], less the memory `before` that it returned.
pub(super) fn peak_above(before: Option<u64>) -> Option<u64> {
    Some(status("VmHWM:")?.saturating_sub(before?))
}

/// A size [bytes] of `/proc/self/status`.
fn status(key: &str) -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find_map(|l| l.strip_prefix(key))?;
    Some(line.trim().trim_end_matches("kB").trim().parse::<u64>().ok()? * 1024)
}

/// The commit of the checkout this program was built in, with `-dirty` if a tracked file differs from it; the
/// program's version if there is no checkout.
pub(super) fn commit() -> String {
    let git = |arguments: &[&str]| {
        let out = std::process::Command::new("git").args(["-C", env!("CARGO_MANIFEST_DIR")]).args(arguments).output();
        let out = out.ok().filter(|o| o.status.success())?;
        Some(String::from_utf8_lossy(&out.stdout).trim().to_owned())
    };
    match (git(&["rev-parse", "HEAD"]), git(&["status", "--porcelain", "--untracked-files=no"])) {
        (Some(commit), Some(changes)) if changes.is_empty() => commit,
        (Some(commit), _) => format!("{commit}-dirty"),
        _ => format!("version {}", env!("CARGO_PKG_VERSION")),
    }
}

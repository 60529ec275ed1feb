//! The disk space and memory that a run needs, reported before it starts; a run that needs more than there is
//! is refused.

use std::fmt;
use std::path::Path;

use super::blocks::{self, Blocks, SAMPLE_SIZE};
use super::format::{Extra, Format};
use super::{Left, Options, RolloutError, columns, episodes, left, partial};
use crate::disk::{self, Bytes};
use bristle::contact::{Contact, one_more};
use bristle::engine::{Engine, Plan};
use bristle::{cpu, memory};
use bristle_scenario::Scenario;

/// Disk space [byte] of pictures and records, and of sizes that are rounded up.
const RECORDS: u64 = 2 << 20;
/// Memory [byte] of a sample or break point of a contact in its timeline; of a sample as much when the
/// largest array is written.
const POINT: u64 = 24;
/// Of a cell of a contact that is stepped.
const CELL: u64 = 200;
/// Of a time at which samples are taken.
const TIME: u64 = 24;

/// The disk space and memory that a run needs, each with the terms of its sum.
#[derive(Clone, Debug)]
pub struct Needs {
    /// Most disk space while the run is written \[byte\].
    pub disk_bytes: u64,
    /// Most memory \[byte\], roughly; without the device's.
    pub memory_bytes: u64,
    /// Disk space that there is for the run \[byte\], with what it has already if it is resumed; none if the
    /// machine does not say.
    pub free_bytes: Option<u64>,
    disk: String,
    memory: String,
    /// What there are many of: `contacts` or `worlds`.
    of: &'static str,
    pub(super) blocks: Blocks,
}

impl fmt::Display for Needs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the run takes {} of disk while it is written: {}", Bytes(self.disk_bytes), self.disk)?;
        self.free_bytes.map_or(Ok(()), |free| write!(f, "; {} are free", Bytes(free)))
    }
}

/// The needs of the run of `scenario`.
///
/// # Errors
/// A contact that cannot be drawn, or a machine that has less.
pub fn needs(scenario: &Scenario, engine: &dyn Engine, options: &Options) -> Result<Needs, RolloutError> {
    let contacts = options.contacts(scenario);
    let few = scenario.block(contacts.start..contacts.end.min(contacts.start + SAMPLE_SIZE))?;
    let plan =
        Plan { sample_bristles: episodes::of_bristles(scenario, &options.datasets)?.is_any(), ..scenario.plan() };
    let blocks = options.block.map_or_else(|| Blocks::new(engine, &plan, &few), Blocks::fixed);
    let memory = memory_terms(&plan, engine, blocks.most, &few, contacts.end - contacts.start);
    Needs::of("contacts", disk_terms(scenario, options)?, memory, blocks, options)
}

/// Most disk space [byte] that the run of shards takes while it is written, beside the shards.
///
/// # Errors
/// A contact that cannot be drawn, or a disk that has less.
pub(super) fn of_merge(scenario: &Scenario, options: &Options) -> Result<u64, RolloutError> {
    let needs = Needs::of("contacts", disk_terms(scenario, options)?, Vec::new(), Blocks::fixed(1), options)?;
    Ok(needs.disk_bytes)
}

/// The disk space of a run, term by term. Its samples are counted several times, as the raw files stay until
/// the datasets are written.
fn disk_terms(scenario: &Scenario, options: &Options) -> Result<Vec<(u64, String)>, RolloutError> {
    let range = options.contacts(scenario);
    let (n, samples) = (range.end - range.start, scenario.plan().samples.len() as u64);
    let files: u64 = scenario.files().filter_map(|(_, file)| file.metadata().ok()).map(|data| data.len()).sum();
    let cells = scenario.first().contact.patch.grid().len() as u64;
    let shear = episodes::of_bristles(scenario, &options.datasets)?.bytes();
    let (sample, contact) = (columns::BYTES_PER_SAMPLE + shear, columns::BYTES_PER_CONTACT);
    let times = |bytes: u64, how: &str| {
        (n * samples * bytes, format!("{n} contacts x {samples} samples x {bytes} bytes {how}"))
    };
    if options.shard.is_some() {
        let each = (n * contact, format!("{n} contacts x {contact} bytes of outcomes"));
        return Ok(vec![times(sample, "of raw arrays"), each, records(files)]);
    }
    let parameters = scenario.first().parameters.len() as u64 * 8;
    let frame = if options.datasets.with(Extra::Tactile) { 4 * cells } else { 0 };
    let patches = if options.datasets.with(Extra::Patches) { scenario.first().contact.patch.parts().len() } else { 0 };
    let to_slip = 8 * (1 + patches as u64);
    let labels = to_slip + frame + if options.datasets.with(Extra::Margin) { to_slip } else { 0 };
    // Of actions and labels.
    let actions = episodes::actions(scenario).len() as u64 * 8;
    let learned = actions + to_slip + 8 + frame;
    let mut terms = vec![times(sample, "of raw arrays"), records(files)];
    let mut formats = options.datasets.formats.clone();
    formats.sort_unstable();
    formats.dedup();
    for format in &formats {
        terms.push(match format {
            // Labels are written twice.
            Format::Npz => times(sample + actions + 2 * labels, "of NPZ"),
            Format::Zarr => times(sample + learned, "of Zarr"),
            #[cfg(feature = "lerobot")]
            Format::Lerobot => times((columns::BYTES_PER_SAMPLE + learned + frame) / 2 + shear + 40, "of LeRobot"),
        });
    }
    let each = (formats.len() as u64 + 1) * (parameters + contact + to_slip);
    terms.push((n * each, format!("{n} contacts x {each} bytes of parameters and outcomes")));
    Ok(terms)
}

/// The term of `more` [byte] and of pictures and records.
pub(super) fn records(more: u64) -> (u64, String) {
    (more + RECORDS, format!("{} of pictures and records", Bytes(more + RECORDS)))
}

fn memory_terms(plan: &Plan, engine: &dyn Engine, block: u64, few: &[Contact], n: u64) -> Vec<(u64, String)> {
    let samples = plan.samples.len() as u64;
    let most = |of: &dyn Fn(&Contact) -> u64| few.iter().map(of).max().unwrap_or(0);
    let block = block.min(n);
    let on_cpu = engine.info().engine == "cpu";
    let stepped = if on_cpu { block.min(most(&|c| cpu::at_a_time(c) as u64)) } else { block };
    let points = most(&|c| c.break_points(plan.duration()).0 as u64);
    let cells = most(&|c| if c.model.is_grid() { c.patch.grid().len() as u64 } else { 0 });
    let own = one_more(few);
    let frames = few.first().and_then(|c| c.patch.sequence()).map_or(0, |sequence| sequence.memory() as u64);
    let at_once = (block * samples).max(stepped * (samples + points));
    let sample = blocks::AT_ONCE * columns::bytes_in_memory(plan, few);
    vec![
        (block * samples * sample, format!("{block} contacts at a time x {samples} samples x {sample} bytes")),
        (block * own, format!("{block} contacts at a time x {own} bytes of maps, tables and signals")),
        (frames, format!("{} of frames", Bytes(frames))),
        (at_once * POINT, format!("{at_once} samples or break points at a time x {POINT} bytes")),
        (stepped * cells * CELL, format!("{stepped} contacts at a time x {cells} cells x {CELL} bytes")),
        (samples * TIME, format!("{samples} times of samples x {TIME} bytes")),
    ]
}

/// The sum of some terms, and a text of those above a hundredth of it, the largest first.
fn sum(mut terms: Vec<(u64, String)>) -> (u64, String) {
    let sum: u64 = terms.iter().map(|(bytes, _)| bytes).sum();
    terms.retain(|(bytes, _)| *bytes > sum / 100);
    terms.sort_by_key(|(bytes, _)| std::cmp::Reverse(*bytes));
    let words: Vec<String> = terms.into_iter().map(|(_, words)| words).collect();
    (sum, words.join("; "))
}

impl Needs {
    /// The needs of a run of many contacts, or many worlds, that are the sums of these terms [byte].
    ///
    /// # Errors
    /// A machine that has less.
    pub(super) fn of(
        of: &'static str,
        disk: Vec<(u64, String)>,
        memory: Vec<(u64, String)>,
        blocks: Blocks,
        options: &Options,
    ) -> Result<Self, RolloutError> {
        let [(disk_bytes, disk), (memory_bytes, memory)] = [disk, memory].map(sum);
        let free_bytes = disk::free(&options.out).map(|free| free + disk::size(&partial(&options.out)));
        let needs = Self { disk_bytes, memory_bytes, free_bytes, disk, memory, of, blocks };
        needs.check(&options.out, memory::left())?;
        Ok(needs)
    }

    /// Refuses a run that needs more than the free `memory` [byte] or the free space on the disk of `out`.
    fn check(&self, out: &Path, memory: Option<u64>) -> Result<(), RolloutError> {
        let refuse = |what: String, bytes: u64, free: u64, sum: &str, remedy| {
            let (bytes, free, sum) = (Bytes(bytes), Bytes(free), sum.to_owned());
            Err(RolloutError::Needs { what, bytes, free, sum, remedy })
        };
        let fewer = format!("expected fewer {0} (`{0}`), fewer samples (`record_every`)", self.of);
        if let Some(free) = memory.filter(|free| *free < self.memory_bytes) {
            return refuse(
                "memory".to_owned(),
                self.memory_bytes,
                free,
                &self.memory,
                format!("{fewer} or a machine with more"),
            );
        }
        if let Some(free) = self.free_bytes.filter(|free| *free < self.disk_bytes) {
            let what = format!("disk space at {} while it is written", out.display());
            return refuse(what, self.disk_bytes, free, &self.disk, format!("{fewer} or another `out`"));
        }
        Ok(())
    }

    /// The error of a run; if it is missing space for a file, in a form that says how much more is needed and
    /// what to do.
    pub(super) fn full(&self, error: RolloutError, out: &Path) -> RolloutError {
        let (path, source) = match error {
            RolloutError::Io { path, source } => (path, source),
            other => return other,
        };
        let Some((why, remedy)) = disk::out_of_space(&source) else { return RolloutError::Io { path, source } };
        let more = Bytes(self.disk_bytes.saturating_sub(disk::size(&partial(out))));
        let resume = match left(out) {
            Left::Contacts(n) => format!(" with `resume`, which keeps the {n} {} that are complete", self.of),
            Left::Nothing | Left::All => String::new(),
        };
        RolloutError::Full { path, why, more, free: Bytes(disk::free(out).unwrap_or(0)), remedy, resume }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bristle::cpu::Cpu;

    fn scenario(contacts: u64, more: &str) -> Scenario {
        let text = format!(
            "duration = 1.0\nrecord_every = 0.1\ncontacts = {contacts}\nbody = {{ kind = \"prescribed\" \
             }}\n{more}\n[inputs]\n\
             twist = {{ vx = 0.01 }}\nnormal_force = {{ points = [[0, 1], [1, 2]], hold = 2e-6 }}"
        );
        Scenario::parse(&text, ".".as_ref(), "much.toml").unwrap()
    }

    #[test]
    fn what_multiplies_is_counted_and_told() {
        let dir = tempfile::tempdir().unwrap();
        let options = Options { block: Some(3), ..Options::new(dir.path().join("run")) };
        let needs = |scenario: &Scenario| needs(scenario, &Cpu::new(), &options).unwrap();
        let small = needs(&scenario(3, "[patch]\nshape = \"square\"\ncells = 2"));
        // Held inputs have half a million break points each.
        assert!((3 * 500_011 * 24..40_000_000).contains(&small.memory_bytes), "{small:?}");
        assert!(small.memory.starts_with("1500033 samples or break points at a time x 24 bytes"), "{small:?}");
        let wide = needs(&scenario(3, "[patch]\nshape = \"square\"\ncells = 700"));
        let one = wide.memory_bytes.abs_diff(small.memory_bytes) / (700 * 700 * 200);
        assert!((1..=3).contains(&one), "{wide:?}");
        assert!(wide.memory.contains(" x 490000 cells x 200 bytes"), "{wide:?}");
        let many = needs(&scenario(1_000_000, "[patch]\nshape = \"square\"\ncells = 2"));
        // Memory does not grow with the number of contacts.
        assert_eq!(many.memory_bytes, small.memory_bytes);
        assert!(many.to_string().contains("1000000 contacts x 11 samples x 96 bytes of raw arrays"), "{many}");

        let refused = |memory| many.check(&options.out, memory).map_err(|e| e.to_string());
        refused(None).unwrap();
        refused(Some(many.memory_bytes)).unwrap();
        let message = refused(Some(many.memory_bytes - 1)).unwrap_err();
        assert!(message.contains(" of memory, and ") && message.contains(&many.memory), "{message}");
        let full = Needs { free_bytes: Some(many.disk_bytes - 1), ..many.clone() };
        let message = full.check(&options.out, None).unwrap_err().to_string();
        assert!(message.contains(" of disk space at ") && message.contains(&many.disk), "{message}");
    }
}

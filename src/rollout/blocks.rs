//! How many contacts are drawn, simulated and written together.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use super::spool;
use crate::contact::{Contact, Model};
use crate::engine::{Engine, Plan};

/// Blocks that take less grow: drawing, waiting for the last contact and writing would take as long as the work.
const SHORT: Duration = Duration::from_millis(500);
/// Memory of a block's contacts [byte] from which it does not grow.
const ENOUGH: usize = 32 << 20;
/// Contacts that tell what one more takes.
pub const FEW: u64 = 4;

/// The size of the next block, and the largest.
#[derive(Clone, Copy, Debug)]
pub(super) struct Blocks {
    pub next: u64,
    most: u64,
}

impl Blocks {
    /// Blocks of one size.
    pub fn of(size: u64) -> Self {
        Self { next: size.max(1), most: size.max(1) }
    }

    /// For `engine`, by the first [`FEW`] contacts. A GPU takes as many as it can hold at once, within 128 MiB of samples; on the CPU
    /// they are enough to keep the threads busy, and stay within 16 MiB as they grow.
    pub fn new(engine: &dyn Engine, plan: &Plan, few: &[Contact]) -> Self {
        let fit = |mib: u64| (mib << 20) / (spool::BYTES_PER_SAMPLE * plan.samples.len() as u64);
        let more = memory(few) - memory(&few[..few.len().min(1)]);
        let light = (2 * ENOUGH * few.len().saturating_sub(1)).checked_div(more).map_or(u64::MAX, |n| n as u64);
        let first = |most: u64| fit(128).min(light).clamp(1, most);
        if engine.info().engine != "cpu" {
            return Self::of(first(16_384));
        }
        let next = first(32 * rayon::current_num_threads() as u64);
        Self { next, most: fit(16).clamp(next, next.max(4096)) }
    }

    /// After a block of `contacts` that took `time`.
    pub fn grow(&mut self, contacts: &[Contact], time: Duration) {
        if time < SHORT && self.next < self.most && memory(contacts) < ENOUGH {
            self.next = self.most.min(2 * self.next);
        }
    }
}

/// Bytes of the tables, maps and signals of `contacts`, those that they share once.
fn memory(contacts: &[Contact]) -> usize {
    let mut seen = HashSet::new();
    let mut once = |place: usize, bytes: usize| if seen.insert(place) { bytes } else { 0 };
    let mut sum = 0;
    for contact in contacts {
        let map = contact.patch.map();
        sum += once(Arc::as_ptr(map).addr(), size_of_val(&**map)) + contact.inputs.memory();
        if let Model::LimitSurface(table, _) = &contact.model {
            sum += once(Arc::as_ptr(table).addr(), size_of_val(table.nodes()));
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::Cpu;
    use crate::scenario::Scenario;

    #[test]
    fn blocks_of_large_contacts_do_not_grow() {
        let scenario = |more: &str| {
            let text = format!(
                "duration = 0.01\ncontacts = 100\npatch = {{ shape = \"disc\", cells = 5, size = [0.02, {{ uniform = [0.01, 0.02] }}] }}\n\
                 body = {{ kind = \"prescribed\" }}\ninputs = {{ normal_force = 1, twist = {{ vx = 0.01 }} }}\n{more}"
            );
            Scenario::parse(&text, ".".as_ref(), "many.toml").unwrap()
        };
        let small = scenario("");
        let large = scenario("contact = { model = \"reduced\", n_ls = 100 }");
        for (scenario, grows) in [(small, true), (large, false)] {
            let contacts = scenario.block(0..100).unwrap();
            let cpu = |few: &[Contact]| Blocks::new(&Cpu::new(), &scenario.plan(), few);
            let mut blocks = cpu(&contacts[..FEW as usize]);
            let first = blocks.next;
            // Tables of 1 MB each: a block of 64 MiB.
            let contact = contacts[0].clone();
            let wide = rayon::ThreadPoolBuilder::new().num_threads(64).build().unwrap();
            let wide = wide.install(|| cpu(&contacts[..FEW as usize]).next);
            assert_eq!(wide < 200, !grows, "{wide}");
            assert_eq!(cpu(&[contact]).next, 32 * rayon::current_num_threads() as u64);
            blocks.grow(&contacts, Duration::from_secs(1));
            assert_eq!(blocks.next, first, "it took long");
            blocks.grow(&contacts, Duration::from_millis(1));
            assert_eq!(blocks.next, if grows { 2 * first } else { first });
            // A table that contacts share counts once.
            let shared = vec![contacts[0].clone(); 100];
            assert!(grows || memory(&shared) < memory(&contacts[..2]));
        }
    }
}

//! The number of contacts that are drawn, simulated and written together.

use std::time::Duration;

use super::columns;
use bristle::contact::{Contact, memory, one_more};
use bristle::engine::{Engine, Plan};
use bristle::pool;

/// Blocks that take less time than this are made larger, because drawing, waiting for the last contact and
/// writing would take as long as the simulation.
const SHORT: Duration = Duration::from_millis(500);
/// Memory of a block's contacts [byte] above which it is not made larger.
const ENOUGH_MEMORY: usize = 32 << 20;
/// Blocks whose samples are in memory at once: one is simulated, one is written, with a copy of its bytes.
pub const AT_ONCE: u64 = 3;
/// Number of contacts from which the memory of one more is estimated.
pub const SAMPLE_SIZE: u64 = 4;
/// Memory of a break point in a timeline [byte].
const BYTES_PER_POINT: f64 = 16.0;

/// The size of the next block, and the largest.
#[derive(Clone, Copy, Debug)]
pub(super) struct Blocks {
    pub next: u64,
    pub most: u64,
}

impl Blocks {
    /// Blocks of one size.
    pub fn fixed(size: u64) -> Self {
        Self { next: size.max(1), most: size.max(1) }
    }

    /// Blocks for `engine`, with sizes estimated from the first [`SAMPLE_SIZE`] contacts, `few`. A GPU takes
    /// as many as it can hold at once, within 128 MiB of samples and break points. On the CPU they are enough
    /// to keep the threads busy, and stay within 16 MiB as they grow.
    pub fn new(engine: &dyn Engine, plan: &Plan, few: &[Contact]) -> Self {
        let points = few.iter().map(|c| c.break_points(plan.duration()).0).fold(0.0, f64::max);
        let samples = columns::bytes_in_memory(plan, few) * plan.samples.len() as u64;
        let points = (BYTES_PER_POINT * points) as u64;
        let is_cpu = engine.info().engine == "cpu";
        let each = if is_cpu { AT_ONCE * samples } else { samples } + points;
        let fit = |mib: u64| (mib << 20) / each;
        let light = (2 * ENOUGH_MEMORY as u64).checked_div(one_more(few)).unwrap_or(u64::MAX);
        let first = |most: u64| fit(128).min(light).clamp(1, most);
        if !is_cpu {
            return Self::fixed(first(16_384));
        }
        let next = first(32 * pool::threads() as u64);
        Self { next, most: fit(16 * AT_ONCE).clamp(next, next.max(4096)) }
    }

    /// After a block of `contacts` that took `time`.
    pub fn grow(&mut self, contacts: &[Contact], time: Duration) {
        if time < SHORT && self.next < self.most && memory(contacts) < ENOUGH_MEMORY {
            self.next = self.most.min(2 * self.next);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bristle::cpu::Cpu;
    use bristle_scenario::Scenario;

    #[test]
    fn blocks_of_large_contacts_do_not_grow() {
        let scenario = |more: &str| {
            let text = format!(
                "duration = 0.01\ncontacts = 100\npatch = {{ shape = \"disc\", cells = 5, size = [0.02, {{ \
                 uniform = [0.01, 0.02] }}] }}\n\
                 body = {{ kind = \"prescribed\" }}\ninputs = {{ normal_force = 1, twist = {{ vx = 0.01 }} }}\n{more}"
            );
            Scenario::parse(&text, ".".as_ref(), "many.toml").unwrap()
        };
        let small = scenario("");
        let large = scenario("contact = { model = \"reduced\", n_ls = 100 }");
        for (scenario, grows) in [(small, true), (large, false)] {
            let contacts = scenario.block(0..100).unwrap();
            let cpu = |few: &[Contact]| Blocks::new(&Cpu::new(), &scenario.plan(), few);
            let mut blocks = cpu(&contacts[..SAMPLE_SIZE as usize]);
            let first = blocks.next;
            // Tables of 1 MB each: a block of 64 MiB.
            let contact = contacts[0].clone();
            let wide = rayon::ThreadPoolBuilder::new().num_threads(64).build().unwrap();
            let wide = wide.install(|| cpu(&contacts[..SAMPLE_SIZE as usize]).next);
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

    /// The engine cuts the inputs of all contacts of a block at the same time.
    #[test]
    fn blocks_of_contacts_with_many_break_points_are_small() {
        let text = "duration = 1.0\nrecord_every = 0.5\npatch = { shape = \"disc\", cells = 5 }\nbody = { \
         kind = \"prescribed\" }\n\
                    inputs = { normal_force = { points = [[0, 1], [1, 2]], hold = 1e-6 }, twist = { vx = 0.01 } }";
        let scenario = Scenario::parse(text, ".".as_ref(), "held.toml").unwrap();
        let few = scenario.block(0..1).unwrap();
        let wide = rayon::ThreadPoolBuilder::new().num_threads(4).build().unwrap();
        let blocks = wide.install(|| Blocks::new(&Cpu::new(), &scenario.plan(), &few));
        assert_eq!((blocks.next, blocks.most), (8, 8), "128 MiB of 1e6 break points each");
    }
}

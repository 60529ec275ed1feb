//! Steps per second of a GPU, from one contact to as many as its memory holds, and of the CPU beside it.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use web_time::Instant;

use super::{brief, guarded};
use crate::gpu::Gpu;
use crate::work::{in_hand, reduced};
use bristle::batch::{Batch, check_memory};
use bristle::contact::Contact;
use bristle::cpu::Cpu;
use bristle::engine::{DEFAULT_STEP, Engine, Stepping};
use bristle::error::{DeviceError, EngineError};
use bristle::friction::Law;
use bristle::pool;

/// Contacts that are stepped together, one number after the other.
const CONTACTS: [usize; 11] = [1, 16, 64, 256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304];
/// Most contacts on a software adapter: its memory is that of the machine, and it is busy with fewer.
const MOST_ON_SOFTWARE: usize = 4096;
/// Contacts with a grid, or with a reduced bristle, that each thread of the CPU engine steps.
const OF_A_THREAD: [usize; 2] = [16, 256];
/// Time [s] of a call that is long enough for no longer one to be made.
const LONG_ENOUGH: f64 = 0.5;
/// Least time [s] of a call that is reported. Clocks of browsers have ticks of 0.1 ms, of some 1 ms: a
/// shorter call may take no time at all.
const SHORTEST: f64 = 0.01;
/// Longest simulated time [s] of a call that takes [`SHORTEST`]: the period of the normal force is 0.5 s.
const LONGEST: f64 = 2.0;
/// Steps of the first call.
const FIRST_STEPS: f64 = 5.0;
/// How much longer each call is than the one before.
const GROWTH: f64 = 4.0;
/// Share of the time that each of the CPU engines gets.
const SHARE_OF_CPU: f64 = 0.15;

/// What is stepped: the contacts of `bristle bench`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Work {
    /// Whether a contact has one bristle, or one in every cell.
    pub reduced: bool,
    pub law: Law,
    /// Cells along a side.
    pub n: usize,
}

impl fmt::Display for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { law, n, .. } = self;
        write!(f, "{}, {}, {n} x {n}", self.model(), law.name())
    }
}

impl Work {
    fn model(&self) -> &'static str {
        if self.reduced { "reduced" } else { "grid" }
    }

    fn contacts(&self, count: usize) -> Result<Vec<Contact>, EngineError> {
        let make = |count| {
            let contacts = in_hand(self.n, self.law, count)?;
            if self.reduced { reduced(contacts) } else { Ok(contacts) }
        };
        check_memory(&make(1)?, count, 2)?;
        make(count)
    }
}

/// The throughput of one kind of contact.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Throughput {
    /// `grid`, a bristle in every cell, or `reduced`, one bristle on the limit surface.
    pub model: String,
    /// `elasto-plastic` or `lugre`.
    pub law: String,
    /// Cells along a side of the patch.
    pub cells_per_side: usize,
    /// Bristles of a contact: cells with pressure, or 1.
    pub bristles: usize,
    /// The GPU, from few contacts to many.
    pub gpu: Vec<Rate>,
    /// Why there are no more contacts.
    pub gpu_ended_by: String,
    /// The CPU in f64, with contacts that keep it busy.
    pub cpu_f64: Rate,
    /// The CPU in f32.
    pub cpu_f32: Rate,
    /// The GPU's highest rate over the CPU's in f64 [-].
    pub gpu_over_cpu_f64: Option<f64>,
    /// The GPU's highest rate over the CPU's in f32 [-].
    pub gpu_over_cpu_f32: Option<f64>,
}

/// Steps per second of contacts that are stepped together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rate {
    /// Contacts.
    pub contacts: usize,
    /// Steps of all contacts per second, in the longest call.
    pub contact_steps_per_second: f64,
    /// Passes over the bristles per step.
    pub passes_per_step: f64,
    /// Simulated time of that call \[s\].
    pub simulated_seconds: f64,
    /// Time that it took \[s\].
    pub seconds: f64,
    /// Contacts that became non-finite.
    pub failed_contacts: usize,
    /// Bytes in use on the device.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub device_bytes: Option<u64>,
    /// Time [s] of making the contacts, and of the shortest call: what more contacts take is estimated from
    /// it.
    #[serde(skip)]
    least: f64,
}

impl Throughput {
    /// The GPU's highest rate.
    #[must_use]
    pub fn best(&self) -> Option<&Rate> {
        self.gpu.iter().max_by(|a, b| a.contact_steps_per_second.total_cmp(&b.contact_steps_per_second))
    }
}

/// Measures `work` until `end`, and the least of it if there is no time. The CPU comes first: the GPU takes
/// what it leaves.
///
/// # Errors
/// A device that fails with the first number of contacts.
pub(super) async fn measure(gpu: &Gpu, work: Work, end: Instant, note: &dyn Fn(&str)) -> Result<Throughput, String> {
    let told = |e: EngineError| e.to_string();
    let share = end.saturating_duration_since(Instant::now()).mul_f64(SHARE_OF_CPU);
    let busy = pool::threads() * OF_A_THREAD[usize::from(work.reduced)];
    let on_cpu = async |cpu: Cpu| {
        note(&format!("CPU in {}, {busy} contacts", cpu.info().precision));
        rate(On::Cpu(cpu), work.contacts(busy)?, Instant::now() + share).await
    };
    let cpu_f64 = on_cpu(Cpu::new()).await.map_err(told)?;
    let cpu_f32 = on_cpu(Cpu::single()).await.map_err(told)?;
    let one = work.contacts(1).map_err(told)?;
    let mut found = Throughput {
        model: work.model().to_owned(),
        law: work.law.name().to_owned(),
        cells_per_side: work.n,
        bristles: if work.reduced { 1 } else { one[0].patch.cells().len() },
        gpu: Vec::new(),
        gpu_ended_by: "the largest number that is measured".to_owned(),
        cpu_f64,
        cpu_f32,
        gpu_over_cpu_f64: None,
        gpu_over_cpu_f32: None,
    };
    for (k, &contacts) in CONTACTS.iter().enumerate() {
        if gpu.adapter().software && contacts > MOST_ON_SOFTWARE {
            found.gpu_ended_by = "a software adapter, which is not given more".to_owned();
            break;
        }
        let before = found.gpu.last().filter(|_| k > 1);
        let expected = before.map_or(0.0, |rate| rate.least * contacts as f64 / rate.contacts as f64);
        if k > 0 && Instant::now() + Duration::from_secs_f64(expected) >= end {
            found.gpu_ended_by = "time".to_owned();
            break;
        }
        note(&format!("GPU, {contacts} contacts"));
        let batch_end = Instant::now() + end.saturating_duration_since(Instant::now()) / 2;
        let mut memory = None;
        let done = guarded(async {
            let made = async { rate(On::Gpu(gpu), work.contacts(contacts)?, batch_end).await }.await;
            memory = made.as_ref().err().and_then(out_of_memory);
            made.map_err(told)
        });
        match (done.await, memory) {
            (Ok(rate), _) => found.gpu.push(rate),
            (Err(_), Some(whose)) => {
                found.gpu_ended_by = whose.to_owned();
                break;
            }
            (Err(fault), None) if k == 0 => return Err(fault),
            (Err(fault), None) => {
                found.gpu_ended_by = format!("a fault: {fault}");
                break;
            }
        }
    }
    let over = |cpu: &Rate| Some(brief(found.best()?.contact_steps_per_second / cpu.contact_steps_per_second));
    (found.gpu_over_cpu_f64, found.gpu_over_cpu_f32) = (over(&found.cpu_f64), over(&found.cpu_f32));
    Ok(found)
}

/// Whose memory an error says is full.
fn out_of_memory(e: &EngineError) -> Option<&'static str> {
    match e {
        EngineError::Device(DeviceError::OutOfMemory { .. }) => Some("memory of the device"),
        EngineError::Memory(_) => Some("memory of the machine"),
        _ => None,
    }
}

/// An engine whose steps are counted.
enum On<'a> {
    Cpu(Cpu),
    Gpu(&'a Gpu),
}

/// Steps of the contacts per second: of the longest of calls that become longer until `end`, or until one
/// takes half a second; and after `end` until one takes [`SHORTEST`].
async fn rate(on: On<'_>, contacts: Vec<Contact>, end: Instant) -> Result<Rate, EngineError> {
    let start = Instant::now();
    let count = contacts.len();
    let mut batch = match on {
        On::Cpu(cpu) => cpu.batch(contacts, Stepping::default())?,
        On::Gpu(gpu) => gpu.batch_async(contacts, Stepping::default()).await?,
    };
    // Kernels are compiled in the first step, and memory is touched.
    batch.advance_async(DEFAULT_STEP).await?;
    let mut before = totals(&mut batch).await?;
    let made = start.elapsed().as_secs_f64();
    let mut simulated = FIRST_STEPS * DEFAULT_STEP;
    let mut least = None;
    loop {
        let start = Instant::now();
        batch.advance_async(simulated).await?;
        // A GPU may still be at work until something is read.
        let after = totals(&mut batch).await?;
        let seconds = start.elapsed().as_secs_f64();
        let [steps, passes] = [after[0] - before[0], after[1] - before[1]].map(|n| n as f64);
        let least = *least.get_or_insert(made + seconds);
        let next = GROWTH * simulated;
        let is_last = Instant::now() + Duration::from_secs_f64(GROWTH * seconds) >= end;
        if seconds >= SHORTEST && (is_last || seconds >= LONG_ENOUGH || next > LONGEST) {
            let failed = batch.statuses_async().await?.iter().filter(|status| status.failure.is_some()).count();
            return Ok(Rate {
                contacts: count,
                contact_steps_per_second: brief(steps / seconds),
                passes_per_step: brief(passes / steps.max(1.0)),
                simulated_seconds: brief(simulated),
                seconds: brief(seconds),
                failed_contacts: failed,
                device_bytes: match on {
                    On::Gpu(gpu) => gpu.memory().map(|[in_use, _]| in_use),
                    On::Cpu(_) => None,
                },
                least,
            });
        }
        (before, simulated) = (after, next);
    }
}

/// Steps and passes of all contacts until now.
async fn totals(batch: &mut Batch) -> Result<[u64; 2], EngineError> {
    let statuses = batch.statuses_async().await?;
    Ok([statuses.iter().map(|s| s.steps).sum(), statuses.iter().map(|s| s.passes).sum()])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A clock of a browser says of a few steps of one contact that they took no time: their rate was
    /// infinite, and the file was none of JSON.
    #[test]
    fn a_call_that_is_reported_takes_longer_than_a_tick_of_any_clock() {
        for reduced in [true, false] {
            let work = Work { reduced, law: Law::ElastoPlastic, n: 5 };
            let contacts = work.contacts(1).unwrap();
            let found = pollster::block_on(rate(On::Cpu(Cpu::single()), contacts, Instant::now())).unwrap();
            assert!(found.seconds >= SHORTEST, "{found:?}");
            assert!(found.contact_steps_per_second.is_finite() && found.failed_contacts == 0, "{found:?}");
        }
    }
}

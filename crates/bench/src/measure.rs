//! Times a rollout within a given time.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use web_time::Instant;

use super::process;
use super::subject::Subject;
use bristle::batch::Input;
use bristle::contact::Contact;
use bristle::engine::Plan;
use bristle::error::{EngineError, ParameterError};

/// Simulated times [s] of the first runs, from which the time of longer ones is estimated.
const TRIALS: [f64; 3] = [0.002, 0.01, 0.05];
/// Simulated times [s] of the run that is reported, of which the longest is taken that fits into the time.
/// The period of the normal force is 0.5 s.
const DURATIONS: [f64; 6] = [2.0, 1.5, 1.0, 0.5, 0.2, 0.1];
/// Largest factor by which contacts that slide take more time than those that stick at the start of a run.
const MARGIN: f64 = 1.5;
/// Largest number of runs of the longest duration, of which the fastest is reported.
const REPEATS: usize = 20;

/// The fastest of the longest runs that fit into the time.
#[derive(Clone, Debug, Default)]
pub(super) struct Found {
    pub contacts: usize,
    /// Simulated time of each contact [s].
    pub simulated_s: f64,
    pub wall_s: f64,
    /// Processor time [s].
    pub cpu_s: Option<f64>,
    /// Steps of all contacts.
    pub steps: u64,
    /// Passes over the cells of all contacts.
    pub passes: u64,
    /// Contacts that failed, for whatever reason.
    pub failed: usize,
    /// What other engines are compared with: sample times [s] and poses [m, m, rad] of contact 0, or the
    /// nodes of a table.
    pub time: Vec<f64>,
    pub samples: Vec<[f64; 3]>,
    /// Time [s] of the first rollout, of one contact over the shortest time, which includes what an engine
    /// does only once.
    pub first_s: f64,
    /// Time that measuring took, without the first rollout [s].
    pub measured_s: f64,
    /// Bytes of memory that the process took for it at most.
    pub host_bytes: Option<u64>,
    /// Most bytes on the device: in use, and taken from it.
    pub device_bytes: Option<[u64; 2]>,
}

/// A function that does the work over a plan once.
pub(super) type Once = fn(&Subject, &[Contact], &Plan) -> Result<Found, EngineError>;

/// Times the longest rollout that fits into `budget`, as often as it fits.
pub(super) fn measure(
    subject: &Subject,
    contacts: &[Contact],
    plan: &dyn Fn(f64) -> Result<Plan, ParameterError>,
    once: Once,
    budget: Duration,
) -> Result<Found, EngineError> {
    let first = once(subject, &contacts[..1], &plan(TRIALS[0])?)?;
    let start = Instant::now();
    let left = || budget.as_secs_f64() - start.elapsed().as_secs_f64();
    let mut best = once(subject, contacts, &plan(TRIALS[0])?)?;
    let predicted = |found: &Found, duration| found.wall_s * duration / found.simulated_s;
    for trial in &TRIALS[1..] {
        if predicted(&best, *trial) < left() {
            best = once(subject, contacts, &plan(*trial)?)?;
        }
    }
    if let Some(duration) = DURATIONS.into_iter().find(|d| MARGIN * predicted(&best, *d) < left()) {
        best = once(subject, contacts, &plan(duration)?)?;
    }
    for _ in 1..REPEATS {
        if best.wall_s < left() {
            let again = once(subject, contacts, &plan(best.simulated_s)?)?;
            best = if again.wall_s < best.wall_s { again } else { best };
        }
    }
    Ok(Found { first_s: first.wall_s, measured_s: start.elapsed().as_secs_f64(), ..best })
}

/// One rollout.
pub(super) fn once(subject: &Subject, contacts: &[Contact], plan: &Plan) -> Result<Found, EngineError> {
    let (used, taken) = (AtomicU64::new(0), AtomicU64::new(0));
    let progress = |_: u64| {
        if let Some([in_use, reserved]) = subject.as_gpu().and_then(crate::gpu::Gpu::memory) {
            used.fetch_max(in_use, Ordering::Relaxed);
            taken.fetch_max(reserved, Ordering::Relaxed);
        }
        true
    };
    let before = process::reset_peak();
    let (cpu, start) = (process::cpu_seconds(), Instant::now());
    let out = subject.engine().rollout(contacts, plan, &progress)?;
    let wall_s = start.elapsed().as_secs_f64();
    let cpu_s = process::cpu_seconds().zip(cpu).map(|(after, before)| after - before);
    let device = [used.into_inner(), taken.into_inner()];
    Ok(Found {
        contacts: contacts.len(),
        simulated_s: plan.duration(),
        wall_s,
        cpu_s,
        steps: out.status.iter().map(|s| s.steps).sum(),
        passes: out.status.iter().map(|s| s.passes).sum(),
        failed: out.status.iter().filter(|s| s.failure.is_some()).count(),
        samples: out.pose[..out.frames()].iter().map(|q| q.to_array()).collect(),
        time: out.time,
        host_bytes: process::peak_above(before),
        device_bytes: (device[0] > 0).then_some(device),
        ..Found::default()
    })
}

/// The same motion call by call: before each call the normal forces are set, and after it all contacts are
/// read.
pub(super) fn once_in_closed_loop(subject: &Subject, contacts: &[Contact], plan: &Plan) -> Result<Found, EngineError> {
    let before = process::reset_peak();
    let (cpu, start) = (process::cpu_seconds(), Instant::now());
    let mut batch = subject.engine().batch(contacts.to_vec(), plan.stepping())?;
    let mut grips = vec![0.0; contacts.len()];
    let mut poses = vec![batch.samples()?[0].pose.to_array()];
    for call in plan.samples.windows(2) {
        grips.iter_mut().zip(contacts).for_each(|(grip, c)| *grip = c.inputs.normal_force.value(call[0]));
        batch.set_each(Input::NormalForce, &grips)?;
        batch.advance(call[1] - call[0])?;
        poses.push(batch.samples()?[0].pose.to_array());
    }
    let wall_s = start.elapsed().as_secs_f64();
    let cpu_s = process::cpu_seconds().zip(cpu).map(|(after, before)| after - before);
    let statuses = batch.statuses()?;
    Ok(Found {
        contacts: contacts.len(),
        simulated_s: plan.duration(),
        wall_s,
        cpu_s,
        steps: statuses.iter().map(|s| s.steps).sum(),
        passes: statuses.iter().map(|s| s.passes).sum(),
        failed: statuses.iter().filter(|s| s.failure.is_some()).count(),
        samples: poses,
        time: plan.samples.clone(),
        host_bytes: process::peak_above(before),
        ..Found::default()
    })
}

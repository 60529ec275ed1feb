//! The settings and shared results with which sections compute.

use std::path::PathBuf;
use std::time::Instant;

use bristle::contact::Contact;
use bristle::cpu::Cpu;
use bristle::engine::{DEFAULT_STEP, Engine, Plan, Trajectories};
use bristle::error::{EngineError, ParameterError, PatchError};
use bristle::planar::{Pose, Wrench};
use bristle_bench::gpu::{Choice, Gpu};
use bristle_scenario::ScenarioError;

/// Why something could not be reproduced.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A setting is out of range: a defect of this program.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    /// A pressure map is: a defect of this program.
    #[error(transparent)]
    Patch(#[from] PatchError),
    /// A scenario is: a defect of this program.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// A simulated contact became non-finite.
    #[error("{0}: the simulation became non-finite")]
    Failed(String),
    /// Measured pushes that cannot be read.
    #[error("{path}: {reason}")]
    Pushes {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
}

/// How to reproduce: how much of it, and where the measured pushes are.
pub struct Context<'a> {
    /// Fewer and coarser runs, for under a minute.
    pub quick: bool,
    /// Folder of the measured pushes.
    pub pushes: Option<PathBuf>,
    /// Told what is going on: a text, and how many items are done.
    pub progress: &'a (dyn Fn(&str, usize) + Sync),
}

impl Context<'_> {
    pub(super) fn begin(&self, what: &str) {
        (self.progress)(what, 0);
    }

    pub(super) fn end(&self, items: usize) {
        (self.progress)("", items);
    }

    /// The first in a full run, the second in a quick one.
    pub(super) fn full_or<T>(&self, full: T, quick: T) -> T {
        if self.quick { quick } else { full }
    }

    /// Simulates contacts in double precision, in steps of at most [`DEFAULT_STEP`].
    pub(super) fn simulate(&self, contacts: &[Contact], duration: f64, every: f64) -> Result<Runs, Error> {
        self.simulate_in(contacts, &Plan::new(duration, DEFAULT_STEP, every)?)
    }

    /// Simulates contacts in double precision over a plan.
    pub(super) fn simulate_in(&self, contacts: &[Contact], plan: &Plan) -> Result<Runs, Error> {
        let start = Instant::now();
        let out = Cpu::new().run(contacts, plan)?;
        if let Some(k) = out.status.iter().position(|s| s.failure.is_some()) {
            return Err(Error::Failed(format!("contact {k}")));
        }
        let cops = contacts.iter().map(|c| c.patch.cop()).collect();
        Ok(Runs { out, cops, seconds: start.elapsed().as_secs_f64() })
    }
}

/// An engine and what it is called.
pub(super) type Named = (String, Box<dyn Engine>);

/// The engines of this machine; with a `gpu` if it is asked for and there is one.
pub(super) fn engines(gpu: bool) -> Vec<Named> {
    let mut all: Vec<Named> =
        vec![("cpu f64".into(), Box::new(Cpu::new())), ("cpu f32".into(), Box::new(Cpu::single()))];
    if gpu && let Ok(gpu) = Gpu::new(Choice::Any) {
        let name = if gpu.adapter().software { "software gpu f32" } else { "gpu f32" };
        all.push((name.into(), Box::new(gpu)));
    }
    all
}

/// Simulated contacts.
pub(super) struct Runs {
    pub out: Trajectories,
    cops: Vec<[f64; 2]>,
    pub seconds: f64,
}

impl Runs {
    pub fn time(&self) -> &[f64] {
        &self.out.time
    }

    /// Samples of contact `k`.
    fn of<'a, T>(&self, all: &'a [T], k: usize) -> &'a [T] {
        let n = self.out.frames();
        &all[k * n..(k + 1) * n]
    }

    /// Component `c` of the pose of contact `k`.
    pub fn pose(&self, k: usize, c: usize) -> Vec<f64> {
        self.of(&self.out.pose, k).iter().map(|q| q.to_array()[c]).collect()
    }

    /// The last pose of contact `k`.
    pub fn end(&self, k: usize) -> Pose {
        self.of(&self.out.pose, k).last().copied().unwrap_or_else(|| [f64::NAN; 3].into())
    }

    /// Component `c` of the wrench of contact `k` about the centre of pressure.
    pub fn wrench(&self, k: usize, c: usize) -> Vec<f64> {
        let about = |w: &Wrench| w.about(self.cops[k]).to_array()[c];
        self.of(&self.out.wrench, k).iter().map(about).collect()
    }

    /// Component `c` of the twist of contact `k`.
    pub fn twist(&self, k: usize, c: usize) -> Vec<f64> {
        self.of(&self.out.twist, k).iter().map(|u| u.to_array()[c]).collect()
    }

    /// Share of the normal force on bristles near their limit, contact `k`.
    pub fn near_limit(&self, k: usize) -> &[f64] {
        self.of(&self.out.near_limit, k)
    }

    /// Normal force of contact `k`.
    pub fn normal_force(&self, k: usize) -> &[f64] {
        self.of(&self.out.normal_force, k)
    }
}

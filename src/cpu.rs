//! The CPU engine: double precision, one contact after another on every core. It is the reference
//! that the others are compared with.

use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;

use crate::contact::Contact;
use crate::engine::{Engine, EngineInfo, Plan, Progress, Status, Trajectories, validate};
use crate::error::EngineError;
use crate::kernel::real::{Lanes, Real};
use crate::kernel::step::{Failed, Solver};
use crate::planar::Twist;
use crate::schedule::slot;

/// The CPU engine.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cpu {
    numbers: Numbers,
}

/// What the cells are computed in; the body's equations are in double precision always.
#[derive(Clone, Copy, Debug, Default)]
enum Numbers {
    #[default]
    DoubleLanes,
    SingleLanes,
    Double,
}

impl Cpu {
    /// The engine, on all threads of the current rayon pool, 16 cells side by side.
    #[must_use]
    pub const fn new() -> Self {
        Self { numbers: Numbers::DoubleLanes }
    }

    /// The cells in single precision: about twice as fast, as exact as the GPU.
    #[must_use]
    pub const fn single() -> Self {
        Self { numbers: Numbers::SingleLanes }
    }

    /// The same equations one cell after the other: the reference, a few times slower.
    #[must_use]
    pub const fn reference() -> Self {
        Self { numbers: Numbers::Double }
    }
}

impl Engine for Cpu {
    fn info(&self) -> EngineInfo {
        let precision = if matches!(self.numbers, Numbers::SingleLanes) { "f32" } else { "f64" };
        EngineInfo { engine: "cpu", precision, adapter: processor(), driver: String::new() }
    }

    fn rollout(&self, contacts: &[Contact], plan: &Plan, progress: &Progress<'_>) -> Result<Trajectories, EngineError> {
        validate(contacts)?;
        let frames = plan.samples.len();
        let mut out = Trajectories::unwritten(contacts.len(), &plan.samples);
        let mut bristles = vec![Vec::new(); contacts.len()];
        let stop = AtomicBool::new(false);
        let rows = (
            out.pose.par_chunks_mut(frames),
            out.twist.par_chunks_mut(frames),
            out.wrench.par_chunks_mut(frames),
            out.normal_force.par_chunks_mut(frames),
            out.slip.par_chunks_mut(frames),
            &mut out.status,
            &mut bristles,
            contacts,
        );
        rows.into_par_iter().for_each(|(pose, twist, wrench, normal_force, slip, status, bristles, contact)| {
            let row = Row { pose, twist, wrench, normal_force, slip };
            let simulate = match self.numbers {
                Numbers::DoubleLanes => simulate::<Lanes<f64>>,
                Numbers::SingleLanes => simulate::<Lanes<f32>>,
                Numbers::Double => simulate::<f64>,
            };
            (*status, *bristles) = simulate(contact, plan, row, progress, &stop);
        });
        if stop.into_inner() {
            return Err(EngineError::Stopped);
        }
        if plan.keep_bristles {
            out.bristles = bristles;
        }
        Ok(out)
    }
}

/// Where the samples of one contact go.
struct Row<'a> {
    pose: &'a mut [[f64; 3]],
    twist: &'a mut [[f64; 3]],
    wrench: &'a mut [[f64; 3]],
    normal_force: &'a mut [f64],
    slip: &'a mut [f64],
}

impl Row<'_> {
    /// Writes sample `frame` of the solver's state at inputs `v`.
    fn write<R: Real>(
        &mut self,
        frame: usize,
        solver: &mut Solver<'_, R>,
        v: &[f64; slot::COUNT],
    ) -> Result<(), Failed> {
        let (twist, wrench, slip) = solver.sample(v)?;
        let Twist { vx, vy, w } = twist;
        self.pose[frame] = solver.q.to_array();
        self.twist[frame] = [vx, vy, w];
        self.wrench[frame] = wrench.to_array();
        self.normal_force[frame] = v[slot::F_N];
        self.slip[frame] = slip;
        Ok(())
    }
}

/// Steps one contact through the whole plan.
fn simulate<R: Real>(
    contact: &Contact,
    plan: &Plan,
    mut row: Row<'_>,
    progress: &Progress<'_>,
    stop: &AtomicBool,
) -> (Status, Vec<[f64; 2]>) {
    let timeline = contact.timeline(&plan.samples);
    let mut solver = Solver::<R>::new(contact, contact.active_cells(&timeline), plan.step);
    let mut run = || -> Result<(), Failed> {
        let mut frame = 0;
        for i in 0..timeline.len() {
            let interval = contact.interval(&timeline, i);
            if i == 0 {
                interval.remap.into_iter().for_each(|f_n| solver.remap(f_n));
                row.write(0, &mut solver, &interval.inputs(0.0))?;
            }
            solver.advance(&interval)?;
            if interval.record {
                frame += 1;
                row.write(frame, &mut solver, &interval.inputs(interval.length))?;
                if !progress(1) {
                    stop.store(true, Ordering::Relaxed);
                }
            }
            if stop.load(Ordering::Relaxed) {
                return Err(Failed);
            }
        }
        Ok(())
    };
    // A failed contact has said so in its status; its later samples stay NaN.
    let _failed = run();
    (solver.status, solver.bristles.states())
}

/// The processor's name, as the machine tells it.
pub(crate) fn processor() -> String {
    let name = std::fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| {
        let line = text.lines().find(|l| l.starts_with("model name"))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    });
    let threads = rayon::current_num_threads();
    format!("{}, {threads} threads", name.unwrap_or_else(|| std::env::consts::ARCH.to_owned()))
}

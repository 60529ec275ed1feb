//! The CPU engine: one contact after another on every core, cells side by side in vector registers.

use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;

use crate::contact::Contact;
use crate::engine::{Engine, EngineInfo, Plan, Progress, Status, Trajectories, validate};
use crate::error::EngineError;
use crate::kernel::real::Lanes;
use crate::kernel::simd::Simd;
use crate::kernel::step::{Bristles, Failed, Solver, bristles};
#[cfg(target_arch = "x86_64")]
use crate::kernel::x86::{Avx2F32, Avx2F64, Avx512F32, Avx512F64};
use crate::planar::Twist;
use crate::schedule::slot;

/// The CPU engine. Only the cells' arithmetic has a choice of numbers; the body's equations are in double precision always.
#[derive(Clone, Copy, Debug)]
pub struct Cpu {
    numbers: Numbers,
    simd: Simd,
}

#[derive(Clone, Copy, Debug)]
enum Numbers {
    Double,
    Single,
    /// Double precision, one cell after the other.
    Reference,
}

impl Default for Cpu {
    fn default() -> Self {
        Self::new()
    }
}

impl Cpu {
    /// Double precision, on all threads of the current rayon pool, with the widest vectors of this processor.
    #[must_use]
    pub fn new() -> Self {
        Self { numbers: Numbers::Double, simd: Simd::widest() }
    }

    /// Single precision: two to three times as fast, as exact as the GPU.
    #[must_use]
    pub fn single() -> Self {
        Self { numbers: Numbers::Single, simd: Simd::widest() }
    }

    /// The same equations in double precision, one cell after the other: the reference.
    #[must_use]
    pub fn reference() -> Self {
        Self { numbers: Numbers::Reference, simd: Simd::Baseline }
    }

    /// With vectors no wider than `simd`: to compare, and to repeat a run of a lesser machine.
    #[must_use]
    pub fn up_to(self, simd: Simd) -> Self {
        Self { simd: self.simd.min(simd), ..self }
    }

    /// What makes a contact's bristles in these numbers.
    fn maker(self) -> fn(&Contact, Vec<usize>) -> Box<dyn Bristles> {
        match (self.numbers, self.simd) {
            (Numbers::Reference, _) => bristles::<f64>,
            #[cfg(target_arch = "x86_64")]
            (Numbers::Double, Simd::Avx512) => bristles::<Avx512F64>,
            #[cfg(target_arch = "x86_64")]
            (Numbers::Double, Simd::Avx2) => bristles::<Avx2F64>,
            (Numbers::Double, _) => bristles::<Lanes<f64>>,
            #[cfg(target_arch = "x86_64")]
            (Numbers::Single, Simd::Avx512) => bristles::<Avx512F32>,
            #[cfg(target_arch = "x86_64")]
            (Numbers::Single, Simd::Avx2) => bristles::<Avx2F32>,
            (Numbers::Single, _) => bristles::<Lanes<f32>>,
        }
    }
}

impl Engine for Cpu {
    fn info(&self) -> EngineInfo {
        let precision = if matches!(self.numbers, Numbers::Single) { "f32" } else { "f64" };
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
            (*status, *bristles) = simulate(contact, self.maker(), plan, row, progress, &stop);
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
    fn write(&mut self, frame: usize, solver: &mut Solver<'_>, v: &[f64; slot::COUNT]) -> Result<(), Failed> {
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
fn simulate(
    contact: &Contact,
    bristles: fn(&Contact, Vec<usize>) -> Box<dyn Bristles>,
    plan: &Plan,
    mut row: Row<'_>,
    progress: &Progress<'_>,
    stop: &AtomicBool,
) -> (Status, Vec<[f64; 2]>) {
    let timeline = contact.timeline(&plan.samples);
    let mut solver = Solver::new(contact, bristles(contact, contact.active_cells(&timeline)), plan);
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

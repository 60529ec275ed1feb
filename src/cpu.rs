//! The CPU engine: one contact after another on every core, cells side by side in vector registers.

mod abreast;
mod row;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;

use crate::contact::{Contact, Model};
use crate::engine::{Engine, EngineInfo, Plan, Progress, Trajectories, validate};
use crate::error::EngineError;
use crate::kernel::bristles::Bristles;
use crate::kernel::grid::Grid;
use crate::kernel::reduced::Reduced;
use crate::kernel::step::{Failed, Inputs, Solver};
use crate::number::real::{Lanes, Real};
pub use crate::number::simd::Simd;
#[cfg(target_arch = "x86_64")]
use crate::number::x86::{Avx2F32, Avx2F64, Avx512F32, Avx512F64};
use crate::schedule::slot;
use abreast::{Runner, companies, is_abreast};
use row::{Row, Seat};

/// Lanes of the widest vectors.
const MOST_LANES: usize = 16;

/// The CPU engine. Its numbers are those of the cells' arithmetic; the body's equations are in double
/// precision, but for contacts with few bristles, which are stepped side by side in its numbers with
/// compensated sums.
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

    /// The vectors that it uses.
    pub(crate) const fn simd(self) -> Simd {
        self.simd
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

    /// What steps contacts side by side in these numbers, and how many.
    fn runner(self) -> (Runner, usize) {
        match (self.numbers, self.simd) {
            #[cfg(target_arch = "x86_64")]
            (Numbers::Single, Simd::Avx512) => (abreast::simulate::<Avx512F32>, Avx512F32::LANES),
            #[cfg(target_arch = "x86_64")]
            (Numbers::Single, Simd::Avx2) => (abreast::simulate::<Avx2F32>, Avx2F32::LANES),
            (Numbers::Single, _) => (abreast::simulate::<Lanes<f32>>, Lanes::<f32>::LANES),
            #[cfg(target_arch = "x86_64")]
            (_, Simd::Avx512) => (abreast::simulate::<Avx512F64>, Avx512F64::LANES),
            #[cfg(target_arch = "x86_64")]
            (_, Simd::Avx2) => (abreast::simulate::<Avx2F64>, Avx2F64::LANES),
            _ => (abreast::simulate::<Lanes<f64>>, Lanes::<f64>::LANES),
        }
    }
}

impl Engine for Cpu {
    fn info(&self) -> EngineInfo {
        let precision = if matches!(self.numbers, Numbers::Single) { "f32" } else { "f64" };
        EngineInfo { engine: "cpu", precision, adapter: processor(), driver: String::new() }
    }

    fn rollout(&self, contacts: &[Contact], plan: &Plan, progress: &Progress<'_>) -> Result<Trajectories, EngineError> {
        validate(contacts, plan)?;
        let frames = plan.samples.len();
        let mut out = Trajectories::unwritten(contacts.len(), &plan.samples);
        let mut bristles = vec![Vec::new(); contacts.len()];
        let stop = AtomicBool::new(false);
        let rows = out
            .pose
            .chunks_mut(frames)
            .zip(out.twist.chunks_mut(frames))
            .zip(out.wrench.chunks_mut(frames))
            .zip(out.normal_force.chunks_mut(frames))
            .zip(out.slip.chunks_mut(frames))
            .map(|((((pose, twist), wrench), normal_force), slip)| Row { pose, twist, wrench, normal_force, slip });
        let ends = out.status.iter_mut().zip(&mut bristles);
        let seats = contacts.iter().zip(rows).zip(ends).map(|((contact, row), (status, bristles))| Seat {
            contact,
            row,
            status,
            bristles,
        });
        let (run, lanes) = self.runner();
        let reference = matches!(self.numbers, Numbers::Reference);
        let (abreast, alone): (Vec<_>, Vec<_>) =
            seats.partition(|seat: &Seat<'_>| !reference && is_abreast(seat.contact));
        let jobs = alone.into_iter().map(Job::Alone).chain(companies(abreast, lanes).into_iter().map(Job::Abreast));
        jobs.collect::<Vec<_>>().into_par_iter().for_each(|job| match job {
            Job::Alone(seat) => simulate(seat, self.maker(), plan, progress, &stop),
            Job::Abreast(seats) => run(seats, plan, progress, &stop),
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

/// The bristles of `contact`, the cells `active` of a grid ([`Contact::active_cells`]) in numbers `R`.
pub fn bristles<R: Real + 'static>(contact: &Contact, active: Vec<usize>) -> Box<dyn Bristles> {
    match &contact.model {
        Model::Distributed => Box::new(Grid::<R>::new(contact, active)),
        Model::Ellipsoid(form) => Box::new(Reduced::new(contact, None, *form)),
        Model::LimitSurface(table, form) => Box::new(Reduced::new(contact, Some(Arc::clone(table)), *form)),
    }
}

/// What one thread does at a time.
enum Job<'a> {
    /// A contact by itself.
    Alone(Seat<'a>),
    /// Contacts with few bristles, side by side.
    Abreast(Vec<Seat<'a>>),
}

/// Steps one contact through the whole plan.
fn simulate(
    seat: Seat<'_>,
    bristles: fn(&Contact, Vec<usize>) -> Box<dyn Bristles>,
    plan: &Plan,
    progress: &Progress<'_>,
    stop: &AtomicBool,
) {
    let Seat { contact, mut row, .. } = seat;
    let timeline = contact.timeline(&plan.samples);
    let mut solver = Solver::new(contact, bristles(contact, contact.active_cells(&timeline)), plan, timeline.len());
    let mut run = || -> Result<(), Failed> {
        let mut frame = 0;
        for i in 0..timeline.len() {
            let interval = contact.interval(&timeline, i);
            if i == 0 {
                solver.remap(&interval);
                sample(&mut row, 0, &mut solver, &interval.inputs(0.0))?;
            }
            solver.advance(&interval)?;
            if interval.record {
                frame += 1;
                sample(&mut row, frame, &mut solver, &interval.inputs(interval.length))?;
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
    *seat.status = solver.status;
    if plan.keep_bristles {
        *seat.bristles = solver.bristles.states();
    }
}

/// Writes sample `frame` of the solver's state at inputs `v`.
fn sample(row: &mut Row<'_>, frame: usize, solver: &mut Solver<'_>, v: &Inputs) -> Result<(), Failed> {
    let seen = solver.sample(v)?;
    row.write(frame, solver.q, seen, v[slot::F_N]);
    Ok(())
}

/// How many contacts like this one are stepped at the same time.
pub(crate) fn at_a_time(contact: &Contact) -> usize {
    rayon::current_num_threads() * if is_abreast(contact) { MOST_LANES } else { 1 }
}

/// The processor's name, as the machine tells it, and the threads that compute.
pub(crate) fn processor() -> String {
    format!("{}, {} threads", processor_name(), rayon::current_num_threads())
}

/// The processor's name, as the machine tells it.
pub(crate) fn processor_name() -> String {
    let name = std::fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| {
        let line = text.lines().find(|l| l.starts_with("model name"))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    });
    name.unwrap_or_else(|| std::env::consts::ARCH.to_owned())
}

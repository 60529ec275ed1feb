//! Measures this machine: the same work on every engine and on the [`baseline`].
//!
//! Five kinds of work: `step`, the paper's in-hand case 2 (grip `f_N1`, circle) with a bristle in every cell;
//! `reduced`, the same with one bristle on the limit surface; `loop`, the grids in closed loop; `surface`,
//! tables of limit surfaces with `N_ls = 20`; `basis`, the same about the grid's centre, as one matrix
//! product. [`hardware`] is all that can be found out about a GPU in one run.

pub mod baseline;
pub mod hardware;
mod kind;
mod measure;
#[cfg(not(feature = "gpu"))]
pub mod no_gpu;
mod process;
mod report;
mod shapes;
mod subject;
mod surface;
#[cfg(feature = "terminal")]
pub mod terminal;
pub mod twins;
mod work;

#[cfg(feature = "gpu")]
pub use bristle::gpu;
#[cfg(not(feature = "gpu"))]
pub use no_gpu as gpu;
pub use process::cpu_seconds;
pub use report::{Report, Row};
pub use shapes::{Shapes, shapes};
pub use subject::EngineName;
pub use work::{BASELINE_STEP, converged, converged_error, in_hand, random_maps, reduced};

use std::time::Duration;

use crate::baseline::Baseline;
use bristle::cpu::Cpu;
use bristle::engine::{DEFAULT_STEP, Plan};
use bristle::error::EngineError;
use bristle::friction::Law;
use bristle::number::simd::Simd;
use kind::Kind;
pub use kind::Work;
use measure::{Once, measure, once, once_in_closed_loop};
use subject::Subject;

/// What is measured.
#[derive(Clone, Debug)]
pub struct Options {
    /// The engines; all that this machine has if empty.
    pub engines: Vec<EngineName>,
    /// The kinds of work; all if empty.
    pub work: Vec<Work>,
    /// Cells along a side of the patch, each 1 to 4096.
    pub sides: Vec<usize>,
    /// Contacts (or maps) stepped together; as many as keep an engine busy if empty.
    pub contacts: Vec<usize>,
    /// Time for all rows together, without opening engines and compiling shaders.
    pub budget: Duration,
    /// The widest vectors that the CPU engine may use; those of this processor if none.
    pub simd: Option<Simd>,
    /// A part of the name of the GPU; the best if none.
    pub adapter: Option<String>,
}

/// Measures. `note` is called with the row that is being measured; a GPU that does not open is no error
/// unless it was asked for by name.
///
/// # Errors
/// An engine that was asked for and does not open, or a device that fails.
pub fn run(options: &Options, note: &dyn Fn(&str)) -> Result<Report, EngineError> {
    let asked = |name: EngineName| options.engines.is_empty() || options.engines.contains(&name);
    let simd = options.simd.map_or_else(Simd::widest, |simd| simd.min(Simd::widest()));
    let mut report = Report::new(simd);
    let mut subjects = Vec::new();
    if asked(EngineName::Baseline) {
        subjects.push(Subject::baseline());
    }
    if asked(EngineName::Cpu) {
        subjects.extend([Cpu::new(), Cpu::single()].map(|cpu| Subject::cpu(cpu.up_to(simd))));
    }
    if asked(EngineName::Gpu) {
        note("opening the GPU");
        match Subject::gpu(options.adapter.as_deref()) {
            Ok(gpu) => subjects.push(gpu),
            Err(e @ EngineError::Argument(_)) => return Err(e),
            Err(e) if options.engines.is_empty() => report.no_gpu = Some(e.to_string()),
            Err(e) => return Err(e),
        }
    }
    let mut rows: Vec<Task<'_>> = options.sides.iter().flat_map(|&n| tasks(n, &subjects, &options.contacts)).collect();
    rows.retain(|task| options.work.is_empty() || options.work.contains(&task.kind.work()));
    // Time that a row does not use is divided among the rows after it.
    let mut left = options.budget;
    let share = |tasks: &[Task<'_>]| tasks.iter().map(Task::weight).sum::<f64>();
    for (done, task) in rows.iter().enumerate() {
        note(&format!("{} of {}: {}", done + 1, rows.len(), task.title()));
        let row = task.measure(left.mul_f64(task.weight() / share(&rows[done..])))?;
        left = left.saturating_sub(Duration::from_secs_f64(row.measured_s));
        report.push(row);
    }
    report.compare();
    Ok(report)
}

/// One row to be measured.
struct Task<'a> {
    kind: Kind,
    subject: &'a Subject,
    n: usize,
    contacts: usize,
}

/// The rows of one size of patch. A `surface` or `basis` row has as many maps as a `step` row has contacts,
/// or 1 and 256.
fn tasks<'a>(n: usize, subjects: &'a [Subject], contacts: &[usize]) -> Vec<Task<'a>> {
    let mut all = Vec::new();
    for kind in [
        Kind::Step(Law::ElastoPlastic),
        Kind::Step(Law::LuGre),
        Kind::Reduced(Law::ElastoPlastic),
        Kind::Reduced(Law::LuGre),
        Kind::Loop(Law::ElastoPlastic),
        Kind::Surface,
        Kind::Basis,
    ] {
        for subject in subjects.iter().filter(|s| s.does(kind)) {
            let own: Vec<usize> = match kind {
                _ if !contacts.is_empty() => contacts.to_vec(),
                Kind::Surface | Kind::Basis => vec![1, 256],
                Kind::Reduced(_) => vec![16 * subject.busy()],
                Kind::Step(_) | Kind::Loop(_) => vec![subject.busy()],
            };
            all.extend(own.into_iter().map(|contacts| Task { kind, subject, n, contacts }));
        }
    }
    all
}

impl Task<'_> {
    fn title(&self) -> String {
        let info = self.subject.engine().info();
        let Self { n, contacts, .. } = self;
        format!("{} on {} ({}), {contacts} x {n} x {n}", self.kind.work().name(), info.engine, info.precision)
    }

    /// How much of the time it gets.
    fn weight(&self) -> f64 {
        match self.kind.work() {
            Work::Step => 3.0,
            Work::Reduced | Work::Loop => 1.0,
            Work::Surface | Work::Basis => 0.5,
        }
    }

    fn measure(&self, budget: Duration) -> Result<Row, EngineError> {
        let Self { kind, subject, n, contacts } = *self;
        let law = match kind {
            Kind::Surface | Kind::Basis => return surface::measure(subject, kind, n, contacts, budget),
            Kind::Step(law) | Kind::Reduced(law) | Kind::Loop(law) => law,
        };
        let mut batch = in_hand(n, law, contacts)?;
        let mut cells = batch[0].patch.cells().len();
        if let Kind::Reduced(_) = kind {
            batch = reduced(batch)?;
            cells = 1;
        }
        let step = if subject.is::<Baseline>() { BASELINE_STEP } else { DEFAULT_STEP };
        let (once, every): (Once, _) = match kind {
            Kind::Loop(_) => (once_in_closed_loop, work::CALL_EVERY),
            _ => (once, work::RECORD_EVERY),
        };
        let plan = |duration| Plan::new(duration, step, every);
        let found = measure(subject, &batch, &plan, once, budget)?;
        Ok(Row::of_rollout(kind.work().name(), law, subject, n, cells, step, found))
    }
}

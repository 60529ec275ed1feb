//! `bristle bench --all`: all that can be found out about a GPU in one run, as a document that is written
//! part by part. The parts are correctness, the throughput beside the CPU of the same machine, and the
//! layouts of the kernels.

mod checks;
#[cfg(feature = "terminal")]
mod page;
mod throughput;

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use web_time::Instant;

pub use checks::{Check, Checks, checks};
#[cfg(feature = "terminal")]
pub use page::page_of;
pub use throughput::{Rate, Throughput};

use crate::gpu::Gpu;
use crate::process;
use crate::shapes::{Shapes, shapes_until};
use crate::subject::open;
use bristle::cpu::{Simd, processor_name};
use bristle::engine::Engine;
use bristle::error::{EngineError, ParameterError};
use bristle::friction::Law;
use bristle::pool;
use bristle::quote::within;

/// Cells along a side of the patches that are measured if none are asked for.
pub const SIDES: [usize; 5] = [5, 11, 21, 33, 64];
/// Time for all parts together \[s\] if none is asked for.
pub const BUDGET: f64 = 600.0;
/// The version of the document's fields.
const FORMAT: u32 = 1;
/// Most characters of an error of the device in the document.
const MOST_FAULT: usize = 600;

/// What was found out about an adapter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Document {
    /// The version of these fields: 1.
    pub format: u32,
    /// The version of bristle.
    pub bristle: String,
    /// The commit of the checkout that the program was built in.
    pub commit: String,
    /// The day on which it was begun, in UTC: `2026-11-26`.
    pub date: String,
    /// What a reader should know about the run.
    pub note: Option<String>,
    /// Precision of the GPU engine: `f32`.
    pub precision: String,
    /// The GPU.
    pub adapter: AdapterFacts,
    /// The processor that the GPU is compared with.
    pub cpu: CpuFacts,
    /// Cells along a side of the patches.
    pub cells_per_side: Vec<usize>,
    /// The time that all parts together could take in the last call \[s\].
    pub budget_seconds: f64,
    /// Parts that are still to be measured.
    pub unfinished: Vec<String>,
    /// Parts that are finished, in their order.
    pub parts: Vec<Part>,
    /// Correctness, once it is known.
    pub correctness: Option<Checks>,
    /// The layouts of the kernels, for one size of patch each.
    pub shapes: Vec<Shapes>,
    /// Steps per second, for one model, law and size of patch each.
    pub throughput: Vec<Throughput>,
}

/// An adapter and what it can do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AdapterFacts {
    /// Its name.
    pub name: String,
    /// PCI number of its vendor.
    pub vendor: u32,
    /// `vulkan`, `metal` or `dx12`.
    pub backend: String,
    /// `DiscreteGpu`, `IntegratedGpu`, `VirtualGpu`, `Cpu` or `Other`.
    pub device_type: String,
    /// Whether it runs on the CPU.
    pub software: bool,
    /// Driver and version.
    pub driver: String,
    /// Smallest and largest subgroup \[lanes\].
    #[serde(alias = "subgroup")]
    pub subgroup_lanes: [u32; 2],
    /// Whether shaders can sum over a subgroup.
    pub subgroup_sums: bool,
    /// Largest storage buffer that a shader can see \[bytes\].
    #[serde(alias = "max_storage_buffer")]
    pub max_storage_buffer_bytes: u64,
    /// Invocations of a workgroup at most.
    #[serde(alias = "max_workgroup")]
    pub max_workgroup_invocations: u32,
    /// Workgroup memory \[bytes\].
    #[serde(alias = "max_workgroup_memory")]
    pub max_workgroup_memory_bytes: u32,
}

/// The processor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CpuFacts {
    /// Its name.
    pub name: String,
    /// Threads of the CPU engine.
    pub threads: usize,
    /// Its vectors: `avx512`, `avx2`, or `portable` for what every processor has.
    pub vectors: String,
}

/// A part that is finished.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// What was measured.
    pub name: String,
    /// Time that it took \[s\].
    pub seconds: f64,
    /// Why there is no result, if the device failed.
    pub fault: Option<String>,
}

/// A part to be measured.
#[derive(Clone, Copy, PartialEq)]
enum Task {
    Correctness,
    Shapes(usize),
    Throughput(throughput::Work),
}

impl Task {
    fn name(self) -> String {
        match self {
            Self::Correctness => "correctness".to_owned(),
            Self::Shapes(n) => format!("kernel shapes, {n} x {n}"),
            Self::Throughput(work) => format!("throughput, {work}"),
        }
    }

    /// How much of the time it gets.
    fn weight(self) -> f64 {
        match self {
            Self::Correctness => 5.0,
            Self::Shapes(_) => 2.0,
            Self::Throughput(_) => 1.0,
        }
    }
}

/// Opens the adapter that is measured.
pub trait Open {
    /// Opens it once more.
    ///
    /// # Errors
    /// No such adapter, or a device that does not open.
    fn open(&self) -> impl Future<Output = Result<Gpu, EngineError>>;
    /// A part of its name, if it was asked for by name.
    fn name(&self) -> Option<&str> {
        None
    }
}

/// The adapter with that name or the best.
struct Named<'a>(Option<&'a str>);

impl Open for Named<'_> {
    async fn open(&self) -> Result<Gpu, EngineError> {
        open(self.0)
    }

    fn name(&self) -> Option<&str> {
        self.0
    }
}

/// All parts. Layouts come last, as they take the time that is left; they are measured for the smallest, the
/// middle and the largest patch, and not in a browser. Reduced bristles are on the middle patch, whose cells
/// they do not see.
fn tasks(sides: &[usize]) -> Vec<Task> {
    let (middle, last) = (sides.len() / 2, sides.len().saturating_sub(1));
    let mut of_shapes = if cfg!(target_family = "wasm") { Vec::new() } else { vec![0, middle, last] };
    of_shapes.dedup();
    let of_shapes = of_shapes.into_iter().filter_map(|k| sides.get(k).copied());
    let laws = [Law::ElastoPlastic, Law::LuGre];
    let work = |reduced, n| laws.map(|law| Task::Throughput(throughput::Work { reduced, law, n }));
    let grids = sides.iter().flat_map(|&n| work(false, n));
    let reduced = sides.get(middle).into_iter().flat_map(|&n| work(true, n));
    std::iter::once(Task::Correctness).chain(grids).chain(reduced).chain(of_shapes.map(Task::Shapes)).collect()
}

/// The result of `work`, or in one line why there is none: an error, or a panic, which a wrong driver may
/// cause anywhere.
async fn guarded<T>(work: impl Future<Output = Result<T, String>>) -> Result<T, String> {
    let said = |panic: Box<dyn Any + Send>| {
        let text = panic.downcast_ref::<String>().cloned();
        text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()))
            .unwrap_or_else(|| "a panic".to_owned())
    };
    let mut work = pin!(work);
    let done = std::future::poll_fn(|context| {
        let polled = catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(context)));
        polled.unwrap_or_else(|panic| Poll::Ready(Err(said(panic))))
    });
    let done = done.await;
    done.map_err(|e| within(&e.split_whitespace().collect::<Vec<_>>().join(" "), MOST_FAULT).into_owned())
}

/// A number in four digits: more would say nothing, and files are sent around.
fn brief(v: f64) -> f64 {
    format!("{v:.3e}").parse().unwrap_or(v)
}

impl Document {
    /// A document without results, of the adapter with that name or the best, for patches of so many cells
    /// along a side, each 1 to 4096.
    ///
    /// # Errors
    /// No such adapter, or a device that does not open.
    pub fn new(adapter: Option<&str>, sides: &[usize]) -> Result<Self, EngineError> {
        Ok(Self::of(&open(adapter)?, sides))
    }

    /// [`Document::new`] of an adapter that is open.
    ///
    /// # Panics
    /// Never: the facts are the adapter's fields.
    #[must_use]
    pub fn of(gpu: &Gpu, sides: &[usize]) -> Self {
        let facts = serde_json::to_value(gpu.adapter()).and_then(serde_json::from_value);
        let facts: AdapterFacts = facts.expect("facts are the adapter's fields with units");
        Self {
            format: FORMAT,
            bristle: env!("CARGO_PKG_VERSION").to_owned(),
            commit: process::commit(),
            date: chrono::Utc::now().date_naive().to_string(),
            note: None,
            precision: gpu.info().precision.to_owned(),
            adapter: facts,
            cpu: CpuFacts {
                name: processor_name(),
                threads: pool::threads(),
                vectors: Simd::widest().name().to_owned(),
            },
            cells_per_side: sides.to_vec(),
            budget_seconds: 0.0,
            unfinished: tasks(sides).into_iter().map(Task::name).collect(),
            parts: Vec::new(),
            correctness: None,
            shapes: Vec::new(),
            throughput: Vec::new(),
        }
    }

    /// Refuses to go on with `earlier`, which another program, adapter, processor or list of sizes has begun.
    ///
    /// # Errors
    /// The first field that differs.
    pub fn check_continues(&self, earlier: &Self) -> Result<(), ParameterError> {
        let adapter = |d: &Self| format!("{}, {} {}", d.adapter.name, d.adapter.backend, d.adapter.driver);
        let cpu = |d: &Self| format!("{}, {} threads, {}", d.cpu.name, d.cpu.threads, d.cpu.vectors);
        for (field, found, now) in [
            ("format", earlier.format.to_string(), self.format.to_string()),
            ("bristle", earlier.bristle.clone(), self.bristle.clone()),
            ("commit", earlier.commit.clone(), self.commit.clone()),
            ("precision", earlier.precision.clone(), self.precision.clone()),
            ("adapter", adapter(earlier), adapter(self)),
            ("cpu", cpu(earlier), cpu(self)),
            ("cells_per_side", format!("{:?}", earlier.cells_per_side), format!("{:?}", self.cells_per_side)),
        ] {
            if found != now {
                return Err(ParameterError::new(field, found, format!("{now}, which is measured now, or a new file")));
            }
        }
        Ok(())
    }

    /// Whether all parts are finished.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.unfinished.is_empty()
    }

    /// Whether something is wrong: a check that failed, or a part without a result.
    #[must_use]
    pub fn has_faults(&self) -> bool {
        let wrong = self.correctness.iter().flat_map(|all| &all.checks).any(|check| !check.passed);
        wrong || self.parts.iter().any(|part| part.fault.is_some())
    }

    /// Measures the next part on the adapter with that name or the best, in its share of what is left of
    /// `budget` \[s\]; of a part for which no time is left the least is measured. A device that fails is a
    /// fault of the part, and no error. `note` is called with what is being measured. `false` if all parts
    /// are finished.
    pub fn measure_next(&mut self, adapter: Option<&str>, budget: f64, note: &dyn Fn(&str)) -> bool {
        pollster::block_on(self.measure_next_async(&Named(adapter), budget, note))
    }

    /// [`Document::measure_next`], for programs in a browser, where no thread may wait.
    pub async fn measure_next_async<O: Open>(&mut self, open: &O, budget: f64, note: &dyn Fn(&str)) -> bool {
        let tasks = tasks(&self.cells_per_side);
        let Some(&task) = tasks.get(self.parts.len()) else { return false };
        let spent: f64 = self.parts.iter().map(|part| part.seconds).sum();
        let weights: f64 = tasks[self.parts.len()..].iter().map(|task| task.weight()).sum();
        let share = ((budget - spent) * task.weight() / weights).max(0.0);
        self.budget_seconds = budget;
        let start = Instant::now();
        let end = start + Duration::from_secs_f64(share);
        let place = format!("{} of {} ({spent:.0} of {budget:.0} s)", self.parts.len() + 1, tasks.len());
        let note = |what: &str| note(&format!("{place}: {}: {what}", task.name()));
        let fault = guarded(self.measure(task, open, end, &note)).await.err();
        self.parts.push(Part { name: task.name(), seconds: brief(start.elapsed().as_secs_f64()), fault });
        self.unfinished = tasks[self.parts.len()..].iter().map(|task| task.name()).collect();
        true
    }

    async fn measure<O: Open>(
        &mut self,
        task: Task,
        open: &O,
        end: Instant,
        note: &dyn Fn(&str),
    ) -> Result<(), String> {
        match task {
            Task::Correctness => self.correctness = Some(checks(open, end, note).await),
            Task::Shapes(n) => {
                let options = crate::Options {
                    engines: Vec::new(),
                    work: Vec::new(),
                    sides: vec![n],
                    contacts: Vec::new(),
                    budget: Duration::ZERO,
                    simd: None,
                    adapter: open.name().map(str::to_owned),
                };
                let mut shapes = shapes_until(&options, Some(end), note).map_err(|e| e.to_string())?;
                for row in &mut shapes.rows {
                    row.ns_per_cell_pass = brief(row.ns_per_cell_pass);
                }
                self.shapes.push(shapes);
            }
            Task::Throughput(work) => {
                let gpu = open.open().await.map_err(|e| e.to_string())?;
                self.throughput.push(throughput::measure(&gpu, work, end, note).await?);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pollster::block_on;

    #[test]
    fn every_part_has_a_name_of_its_own_and_correctness_comes_first() {
        for sides in [&SIDES[..], &[5]] {
            let names: Vec<String> = tasks(sides).into_iter().map(Task::name).collect();
            let mut different = names.clone();
            different.sort();
            different.dedup();
            assert_eq!(different.len(), names.len(), "{names:?}");
            assert_eq!(names[0], "correctness");
        }
        assert_eq!(tasks(&[5]).len(), 6);
        assert_eq!(tasks(&[5, 21]).iter().filter(|task| matches!(task, Task::Shapes(_))).count(), 2);
    }

    #[test]
    fn errors_and_panics_of_a_device_are_told_in_a_line() {
        assert_eq!(block_on(guarded(async { Ok::<_, String>(3) })), Ok(3));
        assert_eq!(
            block_on(guarded(async { Err::<(), _>("lost\n  device".to_owned()) })),
            Err("lost device".to_owned())
        );
        assert_eq!(block_on(guarded::<()>(async { panic!("{} lanes", 33) })), Err("33 lanes".to_owned()));
    }
}

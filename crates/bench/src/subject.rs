//! The engines that are measured.

use std::any::Any;
use web_time::Instant;

use super::kind::Kind;
use crate::baseline::Baseline;
use crate::gpu::{Choice, Gpu, Layout};
use bristle::cpu::Cpu;
use bristle::engine::Engine;
use bristle::error::EngineError;
use bristle::number::simd::Simd;

/// The engines by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "terminal", derive(clap::ValueEnum))]
pub enum EngineName {
    /// Explicit Euler, cell after cell, to compare with.
    Baseline,
    /// The CPU, in double and in single precision.
    Cpu,
    /// The best adapter there is; a software one will do.
    Gpu,
}

/// An engine, opened.
pub(super) struct Subject {
    opened: Opened,
    /// Time to open it [s].
    pub opening_s: f64,
}

enum Opened {
    Baseline(Baseline),
    Cpu(Cpu),
    Gpu(Box<Gpu>),
}

/// Opens the GPU with that name, or the best.
pub(super) fn open(adapter: Option<&str>) -> Result<Gpu, EngineError> {
    adapter.map_or_else(|| Gpu::new(Choice::Any), Gpu::named)
}

impl Subject {
    pub fn baseline() -> Self {
        Self { opened: Opened::Baseline(Baseline), opening_s: 0.0 }
    }

    pub fn cpu(cpu: Cpu) -> Self {
        Self { opened: Opened::Cpu(cpu), opening_s: 0.0 }
    }

    /// The GPU with that name, or the best.
    pub fn gpu(adapter: Option<&str>) -> Result<Self, EngineError> {
        let start = Instant::now();
        let gpu = open(adapter)?;
        Ok(Self { opened: Opened::Gpu(Box::new(gpu)), opening_s: start.elapsed().as_secs_f64() })
    }

    /// A GPU whose grids have a layout.
    pub fn gpu_with(layout: Layout, adapter: Option<&str>) -> Result<Self, EngineError> {
        open(adapter).map(|gpu| Self { opened: Opened::Gpu(Box::new(gpu.with_layout(layout))), opening_s: 0.0 })
    }

    pub fn engine(&self) -> &dyn Engine {
        match &self.opened {
            Opened::Baseline(e) => e,
            Opened::Cpu(e) => e,
            Opened::Gpu(e) => &**e,
        }
    }

    /// Whether it is of this type.
    pub fn is<E: Any>(&self) -> bool {
        let any: &dyn Any = match &self.opened {
            Opened::Baseline(e) => e,
            Opened::Cpu(e) => e,
            Opened::Gpu(e) => &**e,
        };
        any.is::<E>()
    }

    /// The GPU, if it is one.
    pub fn as_gpu(&self) -> Option<&Gpu> {
        if let Opened::Gpu(gpu) = &self.opened { Some(gpu) } else { None }
    }

    /// Whether it can do such work. Limit surfaces on the CPU always use the widest vectors.
    pub fn does(&self, kind: Kind) -> bool {
        match (&self.opened, kind) {
            (Opened::Baseline(_), kind) => matches!(kind, Kind::Step(_)),
            (Opened::Gpu(_), kind) => kind != Kind::Basis,
            (Opened::Cpu(cpu), Kind::Surface | Kind::Basis) => cpu.simd() == Simd::widest(),
            (Opened::Cpu(_), _) => true,
        }
    }

    /// Contacts with a grid that keep it busy.
    pub fn busy(&self) -> usize {
        match &self.opened {
            Opened::Baseline(_) => rayon::current_num_threads(),
            Opened::Cpu(_) => 16 * rayon::current_num_threads(),
            Opened::Gpu(gpu) if gpu.adapter().software => 16 * self.threads(),
            Opened::Gpu(_) => 8192,
        }
    }

    /// CPU threads that compute: 1 for a GPU, all for a driver that makes a GPU of the CPU.
    pub fn threads(&self) -> usize {
        match &self.opened {
            Opened::Gpu(gpu) if gpu.adapter().software => std::thread::available_parallelism().map_or(1, usize::from),
            Opened::Gpu(_) => 1,
            _ => rayon::current_num_threads(),
        }
    }
}

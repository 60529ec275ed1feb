//! Choosing and opening the engine.

use super::Failure;
use crate::app::gpu::{Choice, Gpu};
use crate::cpu::Cpu;
use crate::engine::{Engine, EngineInfo};
use crate::error::EngineError;
use crate::rigid::world::{Method, World, Worlds};
use crate::scenario::{EngineChoice, Precision, WorldScenario};

/// Opens the engine. `Auto` takes a hardware adapter, never a software one, else the CPU, and says
/// on stderr which and why, unless `quiet`.
pub(super) fn open(choice: EngineChoice, precision: Precision, quiet: bool) -> Result<Box<dyn Engine>, Failure> {
    let tell = |what: std::fmt::Arguments<'_>| {
        if !quiet {
            super::note(what);
        }
    };
    let on_gpu = precision == Precision::F32;
    match choice {
        EngineChoice::Cpu => Ok(cpu(precision)),
        EngineChoice::Gpu if on_gpu => Ok(Box::new(Gpu::new(Choice::Any).map_err(Failure::of_engine)?)),
        EngineChoice::Gpu => {
            Err(Failure::of_user("precision = f64: a GPU computes in f32; expected f32, or the engine cpu or auto"))
        }
        EngineChoice::Auto if !on_gpu => {
            tell(format_args!("engine: cpu in f64, as asked for"));
            Ok(cpu(precision))
        }
        EngineChoice::Auto => match Gpu::new(Choice::Hardware) {
            Ok(gpu) => {
                tell(format_args!("engine: gpu ({}), a hardware adapter", gpu.info().adapter));
                Ok(Box::new(gpu))
            }
            Err(e) => {
                let why = match e {
                    EngineError::NoAdapter { .. } => "no hardware adapter".to_owned(),
                    EngineError::NoGpu => "built without GPU support".to_owned(),
                    e => e.to_string(),
                };
                tell(format_args!("engine: cpu in f32 ({why}); --precision f64 for double precision"));
                Ok(cpu(precision))
            }
        },
    }
}

/// What makes worlds of a step on an engine, and what it is; chosen as [`open`] does.
pub(super) fn open_worlds(
    choice: EngineChoice,
    precision: Precision,
    scenario: &WorldScenario,
    quiet: bool,
) -> Result<(EngineInfo, MakeWorlds), Failure> {
    let (method, step) = (scenario.method(precision), scenario.spec().step);
    let on_cpu = || -> (EngineInfo, MakeWorlds) {
        let precision = if method == Method::Single { "f32" } else { "f64" };
        let info = EngineInfo { precision, ..Cpu::new().info() };
        (info, Box::new(move |worlds| Worlds::new(worlds, step, method)))
    };
    let hardware = match (choice, method) {
        (EngineChoice::Cpu, _) | (EngineChoice::Auto, Method::Double | Method::Lemke) => return Ok(on_cpu()),
        (EngineChoice::Gpu, Method::Double | Method::Lemke) => {
            return Err(Failure::of_user(
                "a GPU solves contacts by blocks in f32: expected that, or the engine cpu or auto",
            ));
        }
        (EngineChoice::Gpu, Method::Single) => Choice::Any,
        (EngineChoice::Auto, Method::Single) => Choice::Hardware,
    };
    match Gpu::new(hardware) {
        Ok(gpu) => Ok((gpu.info(), Box::new(move |worlds| gpu.worlds(worlds, step)))),
        Err(e) if choice == EngineChoice::Gpu => Err(Failure::of_engine(e)),
        Err(_) => {
            if !quiet {
                super::note("engine: cpu in f32 (no hardware adapter); --precision f64 for double precision");
            }
            Ok(on_cpu())
        }
    }
}

/// Makes worlds on an engine.
pub(super) type MakeWorlds = Box<dyn Fn(Vec<World>) -> Result<Worlds, EngineError>>;

fn cpu(precision: Precision) -> Box<dyn Engine> {
    Box::new(match precision {
        Precision::F32 => Cpu::single(),
        Precision::F64 => Cpu::new(),
    })
}

//! Choosing and opening the engine.

use super::Failure;
use crate::app::gpu::{Choice, Gpu};
use crate::cpu::Cpu;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::scenario::{EngineChoice, Precision};

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

fn cpu(precision: Precision) -> Box<dyn Engine> {
    Box::new(match precision {
        Precision::F32 => Cpu::single(),
        Precision::F64 => Cpu::new(),
    })
}

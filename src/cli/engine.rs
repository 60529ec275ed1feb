//! Which engine computes.

use super::Failure;
use crate::cpu::Cpu;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::gpu::{Choice, Gpu};
use crate::scenario::EngineChoice;

/// Opens the engine. `Auto` takes a hardware adapter, never a software one, else the CPU, and says
/// on stderr which and why.
pub(super) fn open(choice: EngineChoice) -> Result<Box<dyn Engine>, Failure> {
    match choice {
        EngineChoice::Cpu => Ok(Box::new(Cpu::new())),
        EngineChoice::Gpu => Ok(Box::new(Gpu::new(Choice::Any).map_err(Failure::of_machine)?)),
        EngineChoice::Auto => match Gpu::new(Choice::Hardware) {
            Ok(gpu) => {
                eprintln!("engine: gpu ({}), a hardware adapter", gpu.info().adapter);
                Ok(Box::new(gpu))
            }
            Err(e) => {
                let why = match e {
                    EngineError::NoAdapter { .. } => "no hardware adapter".to_owned(),
                    e => e.to_string(),
                };
                eprintln!("engine: cpu ({why})");
                Ok(Box::new(Cpu::new()))
            }
        },
    }
}

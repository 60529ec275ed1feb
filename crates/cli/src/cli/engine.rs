//! Chooses and opens the engine.

use super::Failure;
use bristle::cpu::Cpu;
use bristle::engine::{Engine, EngineInfo};
use bristle::error::{EngineError, ParameterError};
use bristle_bench::gpu::{Choice, Gpu};
use bristle_rigid::world::{Method, World, Worlds};
use bristle_scenario::{EngineChoice, Precision, WorldScenario};

/// The option that names the adapter, which commands on a GPU share.
#[derive(clap::Args)]
pub(super) struct AdapterArgument {
    /// The GPU: a part of the name of an adapter that `bristle info` lists [default: that of
    /// `WGPU_ADAPTER_NAME`, else the best].
    #[arg(long, value_name = "NAME")]
    pub adapter: Option<String>,
}

/// A GPU that does not open. What the environment or an option asks for that is not there is the user's.
pub(super) fn failed(error: EngineError) -> Failure {
    match error {
        EngineError::Argument(e) if e.field == "adapter" => {
            Failure::of_user(ParameterError { field: "--adapter".into(), ..e })
        }
        EngineError::Argument(e) => Failure::of_user(e),
        error => Failure::of_engine(error),
    }
}

/// Refuses to name an adapter for what the CPU does.
fn check_adapter(adapter: Option<&str>, is_cpu: bool, expected: &str) -> Result<(), Failure> {
    match adapter {
        Some(name) if is_cpu => Err(Failure::of_user(format!("--adapter {name}: is a GPU; expected {expected}"))),
        _ => Ok(()),
    }
}

/// Opens the GPU that is named, or that `choice` allows.
fn gpu(choice: Choice, adapter: Option<&str>) -> Result<Gpu, EngineError> {
    adapter.map_or_else(|| Gpu::new(choice), Gpu::named)
}

/// Opens the engine. `Auto` takes a hardware adapter, never a software one that nobody has named, else the
/// CPU, and says on stderr which and why, unless `quiet`.
pub(super) fn open(
    choice: EngineChoice,
    precision: Precision,
    adapter: Option<&str>,
    quiet: bool,
) -> Result<Box<dyn Engine>, Failure> {
    let tell = |what: std::fmt::Arguments<'_>| {
        if !quiet {
            super::note(what);
        }
    };
    let on_gpu = precision == Precision::F32;
    check_adapter(adapter, choice == EngineChoice::Cpu, "the engine gpu or auto")?;
    check_adapter(adapter, !on_gpu, "precision = f32")?;
    match choice {
        EngineChoice::Cpu => Ok(cpu(precision)),
        EngineChoice::Gpu if on_gpu => Ok(Box::new(gpu(Choice::Any, adapter).map_err(failed)?)),
        EngineChoice::Gpu => {
            Err(Failure::of_user("precision = f64: a GPU computes in f32; expected f32, or the engine cpu or auto"))
        }
        EngineChoice::Auto if !on_gpu => {
            tell(format_args!("engine: cpu in f64, as asked for"));
            Ok(cpu(precision))
        }
        EngineChoice::Auto => match gpu(Choice::Hardware, adapter) {
            Ok(gpu) => {
                let kind = if gpu.adapter().software { "a software adapter, as named" } else { "a hardware adapter" };
                tell(format_args!("engine: gpu ({}), {kind}", gpu.info().adapter));
                Ok(Box::new(gpu))
            }
            Err(e) if adapter.is_some() || matches!(e, EngineError::Argument(_)) => Err(failed(e)),
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
    adapter: Option<&str>,
    quiet: bool,
) -> Result<(EngineInfo, MakeWorlds), Failure> {
    let (method, step) = (scenario.method(precision), scenario.spec().step);
    let on_cpu = || -> (EngineInfo, MakeWorlds) {
        let precision = if method == Method::Single { "f32" } else { "f64" };
        let info = EngineInfo { precision, ..Cpu::new().info() };
        (info, Box::new(move |worlds| Worlds::new(worlds, step, method)))
    };
    check_adapter(adapter, choice == EngineChoice::Cpu, "the engine gpu or auto")?;
    check_adapter(adapter, method != Method::Single, "contacts in f32")?;
    let hardware = match (choice, method) {
        (EngineChoice::Cpu, _) | (EngineChoice::Auto, Method::Double | Method::Lemke) => return Ok(on_cpu()),
        (EngineChoice::Gpu, Method::Double | Method::Lemke) => {
            return Err(Failure::of_user("a GPU solves contacts in f32: expected that, or the engine cpu or auto"));
        }
        (EngineChoice::Gpu, Method::Single) => Choice::Any,
        (EngineChoice::Auto, Method::Single) => Choice::Hardware,
    };
    match gpu(hardware, adapter) {
        Ok(gpu) => Ok((gpu.info(), Box::new(move |worlds| on_gpu(&gpu, worlds, step)))),
        Err(e) if choice == EngineChoice::Gpu || adapter.is_some() || matches!(e, EngineError::Argument(_)) => {
            Err(failed(e))
        }
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

/// Worlds on a GPU.
#[cfg(feature = "gpu")]
fn on_gpu(gpu: &Gpu, worlds: Vec<World>, step: f64) -> Result<Worlds, EngineError> {
    bristle_rigid::gpu::RigidGpu::new(gpu).worlds(worlds, step)
}

#[cfg(not(feature = "gpu"))]
fn on_gpu(gpu: &Gpu, _: Vec<World>, _: f64) -> Result<Worlds, EngineError> {
    match *gpu {}
}

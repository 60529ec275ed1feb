//! The native part of the package `bristle` of Python. Its classes take arrays whose shapes and types have
//! been checked; the package's own modules do that, and are what a user sees.
//!
//! No test links this crate: maturin builds it as an extension module. `cargo xtask python` does that, and
//! then runs pytest.

mod batch;
mod core;
mod datasets;
mod draw;
mod drive;
mod errors;
mod fit;
mod grasps;
mod memory;
mod mujoco;
mod observe;
mod rollout;
mod scenario;
mod sensitivity;
mod signals;
mod slopes;
mod surfaces;
mod watch;

use pyo3::prelude::*;

/// The native part of the package `bristle`.
#[pymodule]
mod _bristle {
    #[pymodule_export]
    use crate::core::{Core, PySnapshot};
    #[pymodule_export]
    use crate::datasets::{check_own, check_run, merge_run, remove_run, verify_run, write_run};
    #[pymodule_export]
    use crate::fit::fit;
    #[pymodule_export]
    use crate::grasps::stability;
    #[pymodule_export]
    use crate::memory::{check_memory, pretend_free};
    #[pymodule_export]
    use crate::mujoco::Coupling;
    #[pymodule_export]
    use crate::scenario::{PyScenario, to_toml};
    #[pymodule_export]
    use crate::surfaces::Surfaces;

    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        bristle::cpu::check_threads().map_err(crate::errors::Failure::from)?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("OBSERVATIONS", crate::observe::BESIDE)?;
        module.add("QUANTITIES", crate::core::QUANTITIES)?;
        module.add("SENSITIVITIES", bristle::sensitivity::ALL)
    }
}

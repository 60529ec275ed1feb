//! Errors of the library as exceptions of Python, which are classes of the module `bristle.errors`.

use bristle::batch::SnapshotError;
use bristle::error::{EngineError, MemoryError, ParameterError, PatchError};
use bristle_data::rollout::RolloutError;
use bristle_scenario::ScenarioError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// Why a call fails.
pub enum Failure {
    /// A parameter out of range, and the contact it is about.
    Parameter(ParameterError, Option<usize>),
    /// A parameter of a grasp out of range; the contact is one of the grasp's.
    Grasp { error: ParameterError, grasp: Option<usize>, contact: Option<usize> },
    /// The scenario.
    Scenario(ScenarioError),
    /// Memory that there is not.
    Memory(MemoryError),
    /// The device.
    Device(String),
    /// What Python says: an interrupt, or an exception in a function of the user.
    Python(PyErr),
    /// A run that cannot be written, with the reason.
    Run(String),
    /// Another thread, or a function that a rollout has called, wants the same batch.
    Busy,
}

impl Failure {
    /// A refusal in the words "value: expected accepted".
    pub fn of_words(field: &str, message: &str) -> Self {
        Self::Parameter(from_words(field, message), None)
    }

    /// Whether something was asked for that cannot be, before anything was done.
    pub const fn is_refusal(&self) -> bool {
        matches!(self, Self::Parameter(..) | Self::Grasp { .. } | Self::Scenario(_) | Self::Memory(_))
    }
}

impl From<ParameterError> for Failure {
    fn from(error: ParameterError) -> Self {
        Self::Parameter(error, None)
    }
}

impl From<MemoryError> for Failure {
    fn from(error: MemoryError) -> Self {
        Self::Memory(error)
    }
}

impl From<ScenarioError> for Failure {
    fn from(error: ScenarioError) -> Self {
        Self::Scenario(error)
    }
}

impl From<PyErr> for Failure {
    fn from(error: PyErr) -> Self {
        Self::Python(error)
    }
}

impl From<SnapshotError> for Failure {
    fn from(error: SnapshotError) -> Self {
        Self::Parameter(from_words("snapshot", &error.to_string()), None)
    }
}

impl From<PatchError> for Failure {
    fn from(error: PatchError) -> Self {
        match error {
            PatchError::Parameter(error) => Self::Parameter(error, None),
            error => Self::Parameter(from_words("pressure", &error.to_string()), None),
        }
    }
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Parameter { contact, error } => Self::Parameter(error, Some(contact)),
            EngineError::Frame { contact, error } => match Self::from(error) {
                Self::Parameter(error, _) => Self::Parameter(error, Some(contact)),
                other => other,
            },
            EngineError::Argument(error) => Self::Parameter(error, None),
            EngineError::Memory(error) => Self::Memory(error),
            other => Self::Device(other.to_string()),
        }
    }
}

impl From<RolloutError> for Failure {
    fn from(error: RolloutError) -> Self {
        match error {
            RolloutError::Scenario(error) => error.into(),
            RolloutError::Engine(error) => error.into(),
            RolloutError::Dataset(error) | RolloutError::Extend(error) | RolloutError::Place(error) => error.into(),
            other => Self::Run(other.to_string()),
        }
    }
}

/// The parts of a message "value: expected accepted".
fn from_words(field: &str, message: &str) -> ParameterError {
    let (value, accepted) = message.split_once(": expected ").unwrap_or((message, "another"));
    ParameterError::new(field, value, accepted)
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> Self {
        Python::attach(|py| exception(py, failure).unwrap_or_else(|error| error))
    }
}

fn exception(py: Python<'_>, failure: Failure) -> PyResult<PyErr> {
    let module = py.import("bristle.errors")?;
    let make = |class: &str, arguments: Bound<'_, PyTuple>| {
        PyResult::Ok(PyErr::from_value(module.getattr(class)?.call1(arguments)?))
    };
    match failure {
        Failure::Python(error) => Ok(error),
        Failure::Parameter(ParameterError { field, value, accepted }, contact) => {
            make("ParameterError", (field, value, accepted, contact).into_pyobject(py)?)
        }
        Failure::Grasp { error: ParameterError { field, value, accepted }, grasp, contact } => {
            make("ParameterError", (field, value, accepted, contact, grasp).into_pyobject(py)?)
        }
        Failure::Memory(error) => {
            let message = error.to_string();
            make("OutOfMemoryError", (message, error.bytes, error.free).into_pyobject(py)?)
        }
        Failure::Run(message) => make("RunError", (message,).into_pyobject(py)?),
        Failure::Device(message) => make("DeviceError", (message,).into_pyobject(py)?),
        Failure::Busy => make(
            "BusyError",
            ("the batch is in a call of another thread, or of the function that is called now",).into_pyobject(py)?,
        ),
        Failure::Scenario(error) => {
            let message = error.to_string();
            match error {
                ScenarioError::Text(e) => make(
                    "ScenarioError",
                    (message, e.field, e.value, e.accepted, e.file, e.line, e.column, e.suggestion)
                        .into_pyobject(py)?,
                ),
                ScenarioError::Override { change, reason } => {
                    make("ScenarioError", (message, None::<String>, change, reason).into_pyobject(py)?)
                }
                ScenarioError::Read(_) => make("ScenarioError", (message,).into_pyobject(py)?),
            }
        }
    }
}

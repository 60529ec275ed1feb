//! Errors of the library. Every error names the field, the value and the accepted values.

use std::borrow::Cow;
use std::io::{self, ErrorKind};
use std::path::PathBuf;

pub use crate::memory::MemoryError;
use crate::quote::{message, within};

/// A parameter outside its range.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{field} = {value}: expected {accepted}")]
pub struct ParameterError {
    /// Dotted name of the field, as in a scenario file.
    pub field: String,
    /// The value that was refused.
    pub value: String,
    /// What would be accepted.
    pub accepted: String,
}

impl ParameterError {
    /// An error for `field` with a value that prints. What is long is shortened.
    pub fn new(field: impl Into<String>, value: impl ToString, accepted: impl Into<String>) -> Self {
        let short = |text: String, most: usize| match within(&text, most) {
            Cow::Borrowed(_) => text,
            Cow::Owned(short) => short,
        };
        let accepted = accepted.into();
        let accepted = match message(&accepted) {
            Cow::Borrowed(_) => accepted,
            Cow::Owned(short) => short,
        };
        Self { field: short(field.into(), MOST_FIELD), value: short(value.to_string(), MOST_VALUE), accepted }
    }

    /// An error for `field` with a number, which is written in few characters.
    pub fn number(field: &str, value: f64, accepted: impl Into<String>) -> Self {
        let size = value.abs();
        let is_short = value == 0.0 || (1e-9..1e17).contains(&size) || !value.is_finite();
        Self::new(field, if is_short { value.to_string() } else { format!("{value:e}") }, accepted)
    }
}

/// Most characters of a field in an error, which may be the names of several.
const MOST_FIELD: usize = 300;
/// Most characters of a value in an error, with what it is said to be.
const MOST_VALUE: usize = 2 * crate::quote::MOST_QUOTED;

/// Refuses a value that is not `ok`, or not finite.
pub fn check(field: &str, value: f64, accepted: impl Into<String>, ok: bool) -> Result<(), ParameterError> {
    if ok && value.is_finite() { Ok(()) } else { Err(ParameterError::number(field, value, accepted)) }
}

/// A pressure map that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PatchError {
    /// The grid has no cells or no size.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    /// A pressure is negative or not finite.
    #[error("pressure of cell (ix = {ix}, iy = {iy}), from the lower left, is {value}: expected a finite number >= 0")]
    Pressure {
        /// Column, from the left.
        ix: usize,
        /// Row, from the bottom.
        iy: usize,
        /// The pressure that was refused.
        value: f64,
    },
    /// No cell carries pressure.
    #[error("the pressure map is empty: expected at least one cell with pressure > 0")]
    Empty,
    /// The map has another size than the grid.
    #[error("the pressure map has {found} values: expected {expected} for a grid of {nx} x {ny} cells")]
    Size {
        /// Values given.
        found: usize,
        /// Values needed.
        expected: usize,
        /// Columns of the grid.
        nx: usize,
        /// Rows of the grid.
        ny: usize,
    },
    /// A frame of a sequence cannot be used.
    #[error("frame {frame}: {error}")]
    Frame {
        /// Its number, from 0.
        frame: usize,
        /// Why.
        error: Box<Self>,
    },
    /// A file that could not be read as a map.
    #[error("{path}: {}", message(reason))]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it and what would be accepted.
        reason: String,
    },
    /// A file that the machine could not read.
    #[error("{path}: {}", describe(source))]
    Io {
        /// The file.
        path: PathBuf,
        /// The machine's own reason.
        source: io::Error,
    },
}

/// The command that installs a software Vulkan driver on Debian and Ubuntu.
pub const INSTALL_SOFTWARE_DRIVER: &str = "sudo apt-get install --no-install-recommends mesa-vulkan-drivers libvulkan1";

/// The error of the operating system for a file that could not be read or written; if the cause is missing
/// space, a sentence that says what to do.
pub fn describe(e: &io::Error) -> String {
    out_of_space(e).map_or_else(|| e.to_string(), |(why, remedy)| format!("{why}: {remedy} and repeat the command"))
}

/// Why there was no space to write a file, and what to do; none if `e` is of another kind.
pub fn out_of_space(e: &io::Error) -> Option<(&'static str, &'static str)> {
    match e.kind() {
        ErrorKind::StorageFull => Some(("the disk is full", "free some space")),
        ErrorKind::QuotaExceeded => Some(("the quota of the disk is used up", "free some space")),
        ErrorKind::FileTooLarge => Some(("no file may become larger here", "raise that limit (`ulimit -f`)")),
        _ => None,
    }
}

/// A device that cannot go on. A batch that met one says so from then on, at every call; a snapshot that was
/// saved before can be restored in a batch of a new engine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeviceError {
    /// The device is gone: removed, or reset by its driver. All that lived on it is lost.
    #[error(
        "the GPU device is lost ({reason}): expected a new engine, on which a snapshot saved before can be restored"
    )]
    Lost {
        /// What the driver said.
        reason: String,
    },
    /// The device has no memory left for what was asked. Other batches on it go on.
    #[error(
        "the GPU device has no memory left ({reason}): expected fewer contacts or smaller grids, or use \
         `engine = \"cpu\"`"
    )]
    OutOfMemory {
        /// What the driver said.
        reason: String,
    },
    /// This process was forked from one that had looked for GPUs, whose driver keeps threads and files that a
    /// fork does not take along. What the parent has on its device it keeps; a child uses none of it.
    #[error(
        "this process was forked after its parent had looked for GPUs, whose drivers do not work in a child: expected \
         a process that is started anew (`multiprocessing.get_context(\"spawn\")` or `\"forkserver\"` in Python), or \
         the CPU's engine"
    )]
    Forked,
    /// The device or its driver failed otherwise.
    #[error("the GPU device failed: {reason}")]
    Failed {
        /// What the driver said.
        reason: String,
    },
}

impl DeviceError {
    /// A failure for a reason that prints.
    #[cfg(feature = "gpu")]
    pub(crate) fn failed(reason: impl ToString) -> EngineError {
        Self::Failed { reason: reason.to_string() }.into()
    }
}

/// An engine that could not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// No adapter that `wgpu` could open.
    #[error(
        "no GPU adapter found ({reason}). A software driver is enough: `{command}`; or use `engine = \"cpu\"`",
        command = INSTALL_SOFTWARE_DRIVER
    )]
    NoAdapter {
        /// What `wgpu` said.
        reason: String,
    },
    /// The feature `gpu` was left out of this program.
    #[error("built without GPU support: expected a build with the feature `gpu`, or use `engine = \"cpu\"`")]
    NoGpu,
    /// The machine has not the memory for what was asked; nothing was changed.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// The device can do no more of what was asked.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// One contact alone is beyond a limit of the adapter.
    #[error(
        "contact {contact}: {requested} {what}: expected at most {max} on this adapter; {remedy}, or use \
         `engine = \"cpu\"`"
    )]
    Limit {
        /// Index in the batch.
        contact: usize,
        /// What there is too much of.
        what: &'static str,
        /// What the contact needs.
        requested: u64,
        /// What the adapter has.
        max: u64,
        /// What would take less.
        remedy: &'static str,
    },
    /// A contact with parameters out of range.
    #[error("contact {contact}: {error}")]
    Parameter {
        /// Index in the batch.
        contact: usize,
        /// The parameter.
        error: ParameterError,
    },
    /// A pressure frame that cannot be the map of a contact.
    #[error("contact {contact}: {error}")]
    Frame {
        /// Index in the batch.
        contact: usize,
        /// Why.
        error: PatchError,
    },
    /// An argument out of range.
    #[error(transparent)]
    Argument(#[from] ParameterError),
    /// The caller asked to stop.
    #[error("stopped")]
    Stopped,
}

impl EngineError {
    /// The same of a batch that is part of another, from contact `first` on.
    pub fn of_part(mut self, first: u64) -> Self {
        if let Self::Limit { contact, .. } | Self::Parameter { contact, .. } = &mut self {
            *contact += first as usize;
        }
        self
    }
}

//! The formats of datasets, and their optional contents.

use std::str::FromStr;

use serde_json::{Value, json};

use bristle::error::ParameterError;

/// A format of datasets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Format {
    /// `trajectories.npz` and `contacts.npz`, for NumPy.
    Npz,
    /// `dataset.zarr`, a group of Zarr v3, for xarray and stores of objects.
    Zarr,
    /// `lerobot`, a LeRobotDataset v3.0, for policies.
    #[cfg(feature = "lerobot")]
    Lerobot,
}

impl Format {
    /// Its name in `--format` and in records.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Npz => "npz",
            Self::Zarr => "zarr",
            #[cfg(feature = "lerobot")]
            Self::Lerobot => "lerobot",
        }
    }
}

/// The one of `all` with that name.
fn named<T: Copy>(field: &str, name: &str, all: &[T], name_of: fn(T) -> &'static str) -> Result<T, ParameterError> {
    all.iter().copied().find(|one| name_of(*one) == name).ok_or_else(|| {
        let names: Vec<&str> = all.iter().map(|one| name_of(*one)).collect();
        ParameterError::new(field, name, format!("one of {}", names.join(", ")))
    })
}

impl FromStr for Format {
    type Err = ParameterError;

    fn from_str(name: &str) -> Result<Self, ParameterError> {
        let all = [
            Self::Npz,
            Self::Zarr,
            #[cfg(feature = "lerobot")]
            Self::Lerobot,
        ];
        named("formats", name, &all, Self::name)
    }
}

impl FromStr for Extra {
    type Err = ParameterError;

    fn from_str(name: &str) -> Result<Self, ParameterError> {
        named("extras", name, &[Self::Tactile, Self::Margin, Self::Shear, Self::Patches], Self::name)
    }
}

/// What is in datasets on request, because it takes much space or time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Extra {
    /// The tactile frame of every sample: the normal force of every cell.
    Tactile,
    /// The margin left to slip in every sample.
    Margin,
    /// The friction force of every cell of a grid in every sample, and how near its bristle is to its limit.
    /// It is recorded while the run is simulated, so that shards need it, too.
    Shear,
    /// Friction, normal force and slipping shares of each of several patches in every sample. It is recorded
    /// while the run is simulated, too.
    Patches,
}

impl Extra {
    /// Whether it is recorded while a run is simulated.
    pub const fn is_recorded(self) -> bool {
        matches!(self, Self::Shear | Self::Patches)
    }

    /// Its name in `--with` and in records.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tactile => "tactile",
            Self::Margin => "margin",
            Self::Shear => "shear",
            Self::Patches => "patches",
        }
    }
}

/// The datasets of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Datasets {
    /// Their formats, at least one.
    pub formats: Vec<Format>,
    /// What they hold on request.
    pub extras: Vec<Extra>,
}

impl Default for Datasets {
    /// NPZ alone.
    fn default() -> Self {
        Self { formats: vec![Format::Npz], extras: Vec::new() }
    }
}

impl Datasets {
    /// Whether there is one of that format.
    pub fn has(&self, format: Format) -> bool {
        self.formats.contains(&format)
    }

    /// Whether they hold that.
    pub fn with(&self, extra: Extra) -> bool {
        self.extras.contains(&extra)
    }

    /// What a record says of them; it does not depend on the order in which they were asked for.
    pub(super) fn record(&self) -> Value {
        let (mut formats, mut extras) = (self.formats.clone(), self.extras.clone());
        formats.sort_unstable();
        formats.dedup();
        extras.sort_unstable();
        extras.dedup();
        let formats: Vec<&str> = formats.into_iter().map(Format::name).collect();
        let extras: Vec<&str> = extras.into_iter().map(Extra::name).collect();
        json!({ "formats": formats, "with": extras })
    }
}

//! Readings of sensors that do not read zero where nothing touches them: `patch.baseline` and `patch.clip`.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{Deserialize, Deserializer};

use super::number::number_or_text;
use super::patch_failure::PatchFailure;
use crate::map_file::{FileMap, load_npy};

/// What a sensor reads where nothing touches it.
#[derive(Clone, Debug, PartialEq)]
pub enum Baseline {
    /// The same in all cells, in the unit of the map.
    Number(f64),
    /// An `.npy` of one map, beside the scenario.
    File(PathBuf),
}

/// What `patch.clip` has changed in the maps of a scenario.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Clipped {
    /// How many readings were below zero, and count as zero.
    pub readings: u64,
    /// Of how many, in all maps that were read.
    pub of: u64,
    /// The lowest reading, in the unit of the maps, after `patch.baseline`.
    pub lowest: f64,
}

impl Clipped {
    /// These counts and those of other maps together.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self { readings: self.readings + other.readings, of: self.of + other.of, lowest: self.lowest.min(other.lowest) }
    }
}

impl std::fmt::Display for Clipped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { readings, of, lowest } = self;
        write!(f, "patch.clip: {readings} of {of} readings were below zero, the lowest {lowest}, and count as zero")
    }
}

/// How readings are corrected: a baseline is taken off, then they are clipped.
pub(super) struct Level {
    baseline: Option<Zero>,
    clip: bool,
}

/// A baseline that has been read.
enum Zero {
    Number(f64),
    Map(PathBuf, FileMap),
}

impl Level {
    /// Reads the `baseline` of a patch, whose columns and rows are `cells` if it says so; relative files are
    /// looked for in `base`.
    pub fn of(
        baseline: Option<&Baseline>,
        clip: bool,
        cells: Option<[usize; 2]>,
        base: &Path,
    ) -> Result<Self, PatchFailure> {
        let baseline = match baseline {
            None => None,
            Some(Baseline::Number(v)) => Some(Zero::Number(*v)),
            Some(Baseline::File(file)) => {
                let path = base.join(file);
                let maps = load_npy(&path, None, cells).map_err(|e| PatchFailure::of(BASELINE, e))?;
                let Ok([map]) = <[FileMap; 1]>::try_from(maps) else {
                    let accepted = "expected one map, [rows, columns], such as the mean of untouched frames";
                    return PatchFailure::wrong(
                        BASELINE,
                        format!("{}: has several frames: {accepted}", path.display()),
                    );
                };
                Some(Zero::Map(path, map))
            }
        };
        Ok(Self { baseline, clip })
    }

    /// Takes the baseline off the maps, and clips them; returns what that has changed if it clips.
    pub fn apply(&self, maps: &mut [FileMap]) -> Result<Option<Clipped>, PatchFailure> {
        for map in &mut *maps {
            match &self.baseline {
                None => {}
                Some(Zero::Number(zero)) => map.pressure.iter_mut().for_each(|p| *p -= zero),
                Some(Zero::Map(path, zero)) if (zero.nx, zero.ny) != (map.nx, map.ny) => {
                    let found = format!("{}: {} x {} cells (columns x rows)", path.display(), zero.nx, zero.ny);
                    return PatchFailure::wrong(
                        BASELINE,
                        format!("{found}: expected {} x {}, as the map", map.nx, map.ny),
                    );
                }
                Some(Zero::Map(_, zero)) => map.pressure.iter_mut().zip(&zero.pressure).for_each(|(p, z)| *p -= z),
            }
        }
        if !self.clip {
            return Ok(None);
        }
        let mut clipped = Clipped { readings: 0, of: 0, lowest: f64::INFINITY };
        for p in maps.iter_mut().flat_map(|map| &mut map.pressure) {
            clipped.of += 1;
            clipped.lowest = clipped.lowest.min(*p);
            // NaN and infinity stay, and are refused when the map is made.
            if *p < 0.0 && p.is_finite() {
                clipped.readings += 1;
                *p = 0.0;
            }
        }
        Ok(Some(clipped))
    }
}

/// What errors call a baseline.
pub const BASELINE: &str = "patch.baseline";

impl<'de> Deserialize<'de> for Baseline {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let read = number_or_text(deserializer, "a finite number, or an `.npy` of one map")?;
        Ok(read.map_or_else(|file| Self::File(file.into()), Self::Number))
    }
}

impl JsonSchema for Baseline {
    fn schema_name() -> Cow<'static, str> {
        "Baseline".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schemars::json_schema!({
            "description": "A number in the unit of the map, or an `.npy` of one map beside the scenario.",
            "anyOf": [{ "type": "number" }, { "type": "string" }]
        })
    }
}

//! A patch that follows a sequence of recorded frames: `patch.frames`.

use std::path::Path;

use schemars::JsonSchema;
use serde::Deserialize;

use super::patch_failure::{FILE, PatchFailure};
use crate::patch::{CLOSEST_FRAMES, Sequence, load_frames};

/// The frames of an `.npy` that the map follows, and when: `every` or `times` is needed.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FramesSpec {
    /// The first frame, from 0; 0 if not given.
    pub from: Option<usize>,
    /// The first frame after them; the number of frames of the file if not given.
    pub to: Option<usize>,
    /// Time from one frame to the next [s], >= 1e-6; the first is that of t = 0.
    pub every: Option<f64>,
    /// The time of every frame [s], >= 0 and increasing, in place of `every`.
    pub times: Option<Vec<f64>>,
}

impl FramesSpec {
    /// Reads the frames.
    pub(super) fn load(&self, path: &Path) -> Result<Sequence, PatchFailure> {
        let every = match (self.every, &self.times) {
            (Some(every), None) if every.is_finite() && every >= CLOSEST_FRAMES => every,
            (Some(every), None) => {
                let accepted = "expected a finite time >= 1e-6 [s]";
                return PatchFailure::wrong("patch.frames.every", format!("{every}: {accepted}"));
            }
            (None, Some(_)) => 0.0,
            _ => return PatchFailure::wrong("patch.frames", "expected one of `every` and `times`"),
        };
        let maps = load_frames(path, self.from.unwrap_or(0), self.to);
        let maps = maps.map_err(|e| PatchFailure::of(FILE, e).named(path))?;
        let times = self.times.clone();
        let times = times.unwrap_or_else(|| (0..maps.len()).map(|k| every * k as f64).collect());
        let frames: Vec<&[f64]> = maps.iter().map(|map| &*map.pressure).collect();
        let sequence = Sequence::new([maps[0].nx, maps[0].ny], times, &frames);
        // The numbers of the frames are those in the file.
        let number = |e: crate::PatchError| match e {
            crate::PatchError::Frame { frame, error } => {
                crate::PatchError::Frame { frame: frame + self.from.unwrap_or(0), error }
            }
            e => e,
        };
        sequence.map_err(|e| PatchFailure::of(FILE, number(e)).named(path))
    }
}

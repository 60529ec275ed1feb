//! What a page needs of a run's files.

use std::path::Path;

use super::ReportError;
use super::archive::Archive;
use crate::page::Key;
use crate::rollout::{Fate, Outcome};

/// Most contacts whose series are read.
const READ: usize = 2000;

/// What is read of a run.
pub(super) struct Run {
    pub time: Vec<f64>,
    /// Contacts whose series were read.
    pub chosen: Vec<usize>,
    pub pose: Vec<Vec<f64>>,
    pub wrench: Vec<Vec<f64>>,
    pub normal_force: Vec<Vec<f64>>,
    pub slip: Vec<Vec<f64>>,
    pub fates: Vec<Fate>,
    pub failed: Vec<f64>,
    pub status: Vec<f64>,
    pub unconverged: Vec<f64>,
}

pub(super) fn read(path: &Path) -> Result<Run, ReportError> {
    let mut file = Archive::open(path)?;
    let time = file.numbers("time")?;
    let (displacement, rotation) = (file.numbers("displacement")?, file.numbers("rotation")?);
    let n = displacement.len();
    let count = n.min(READ);
    let chosen: Vec<usize> = (0..count).map(|i| i * n / count.max(1)).collect();
    let mut rows = |name: &str| file.rows(name, Some(&chosen));
    let (pose, wrench, normal_force, slip) = (rows("pose")?, rows("wrench")?, rows("normal_force")?, rows("slip")?);
    let fates = displacement.into_iter().zip(rotation).map(|(displacement, rotation)| Fate { displacement, rotation });
    let fates: Vec<Fate> = fates.collect();
    let (failed, status, unconverged) =
        (file.numbers("failed_step")?, file.numbers("status")?, file.numbers("unconverged")?);
    if rotation_is_odd(&fates, &failed) || pose.iter().any(|p| p.len() != 3 * time.len()) {
        return Err(ReportError::file(path, "arrays of unlike length: expected a file that this program wrote"));
    }
    Ok(Run { time, chosen, pose, wrench, normal_force, slip, fates, failed, status, unconverged })
}

fn rotation_is_odd(fates: &[Fate], failed: &[f64]) -> bool {
    fates.len() != failed.len()
}

/// Parameters that are not the same for every contact.
pub(super) fn drawn(path: &Path) -> Result<Vec<(String, Vec<f64>)>, ReportError> {
    let mut file = Archive::open(path)?;
    let mut out = Vec::new();
    for name in file.names() {
        let values = file.numbers(&name)?;
        let (low, high) = values
            .iter()
            .filter(|v| v.is_finite())
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(*v), b.max(*v)));
        if high - low > 1e-12 * high.abs() {
            out.push((name, values));
        }
    }
    Ok(out)
}

impl Run {
    pub fn outcome(&self, contact: usize) -> Outcome {
        self.fates[contact].outcome(self.failed[contact] >= 0.0)
    }

    /// The outcomes that there are, with their colours.
    pub fn key(&self) -> Vec<Key> {
        let is = |outcome: &Outcome| (0..self.fates.len()).any(|k| self.outcome(k) == *outcome);
        Outcome::ALL.into_iter().filter(is).map(Outcome::key).collect()
    }

    /// From start to end: displacements [mm], rotations [deg].
    pub fn ends(&self) -> [Vec<f64>; 2] {
        [
            self.fates.iter().map(|f| 1e3 * f.displacement).collect(),
            self.fates.iter().map(|f| f.rotation.to_degrees()).collect(),
        ]
    }

    /// Component `c` of a series of three, contact `i` of those read.
    pub fn component(series: &[f64], c: usize) -> Vec<f64> {
        series.iter().skip(c).step_by(3).copied().collect()
    }

    /// At most `most` of the contacts that were read, evenly.
    pub fn some(&self, most: usize) -> Vec<usize> {
        let n = self.chosen.len();
        (0..n.min(most)).map(|i| i * n / n.min(most)).collect()
    }
}

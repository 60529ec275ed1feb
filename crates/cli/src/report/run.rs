//! Reads the files of a run for its page.

use std::path::Path;

use super::ReportError;
use bristle_data::rollout::{NetMotion, Outcome};
use bristle_paper::page::Key;
use bristle_paper::run_picture::key;
use bristle_scenario::input::{self, Npz};

/// Most contacts whose series are read.
const READ: usize = 2000;

/// The data of a run.
pub(super) struct Run {
    pub time: Vec<f64>,
    /// Contacts whose series were read.
    pub chosen: Vec<usize>,
    pub pose: Vec<Vec<f64>>,
    pub wrench: Vec<Vec<f64>>,
    pub normal_force: Vec<Vec<f64>>,
    pub slip: Vec<Vec<f64>>,
    pub motions: Vec<NetMotion>,
    pub failed: Vec<f64>,
    pub status: Vec<f64>,
    pub unconverged: Vec<f64>,
}

pub(super) fn read(path: &Path) -> Result<Run, ReportError> {
    let mut file = Npz::open(path)?;
    let time = file.numbers("time")?;
    let samples = time.len();
    let n = file.shape("displacement")?.first().copied().unwrap_or(0);
    if n == 0 || samples == 0 {
        return Err(ReportError::file(path, format!("{n} contacts, {samples} samples: expected at least one")));
    }
    let contacts = |file: &mut Npz, name: &str| -> Result<Vec<f64>, ReportError> {
        expect(path, file, name, &[n])?;
        Ok(file.numbers(name)?)
    };
    let displacement = contacts(&mut file, "displacement")?;
    let motion = |(displacement, rotation)| NetMotion { displacement, rotation };
    let motions = displacement.into_iter().zip(contacts(&mut file, "rotation")?).map(motion).collect();
    let (failed, status) = (contacts(&mut file, "failed_step")?, contacts(&mut file, "status")?);
    let unconverged = contacts(&mut file, "unconverged")?;
    // Eight numbers a sample: as many contacts as there is memory for.
    let fit = (input::MAX_BYTES / 64) as usize / samples;
    let count = n.min(READ).min(fit).max(1);
    let chosen: Vec<usize> = (0..count).map(|i| i * n / count).collect();
    let mut rows = |name: &str, shape: &[usize]| -> Result<Vec<Vec<f64>>, ReportError> {
        expect(path, &mut file, name, shape)?;
        Ok(file.rows(name, &chosen)?)
    };
    let (pose, wrench) = (rows("pose", &[n, samples, 3])?, rows("wrench", &[n, samples, 3])?);
    let (normal_force, slip) = (rows("normal_force", &[n, samples])?, rows("slip", &[n, samples])?);
    Ok(Run { time, chosen, pose, wrench, normal_force, slip, motions, failed, status, unconverged })
}

fn expect(path: &Path, file: &mut Npz, name: &str, shape: &[usize]) -> Result<(), ReportError> {
    let found = file.shape(name)?;
    if found == shape {
        return Ok(());
    }
    let reason = format!("array {name} has shape {found:?}: expected {shape:?}, as this program wrote it");
    Err(ReportError::file(path, reason))
}

/// Parameters that are not the same for each of `n` contacts.
pub(super) fn drawn(path: &Path, n: usize) -> Result<Vec<(String, Vec<f64>)>, ReportError> {
    let mut file = Npz::open(path)?;
    let mut out = Vec::new();
    for name in file.names() {
        expect(path, &mut file, &name, &[n])?;
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
        self.motions[contact].outcome(self.failed[contact] >= 0.0)
    }

    /// The outcomes that there are, with their colours.
    pub fn key(&self) -> Vec<Key> {
        let is = |outcome: &Outcome| (0..self.motions.len()).any(|k| self.outcome(k) == *outcome);
        Outcome::ALL.into_iter().filter(is).map(key).collect()
    }

    /// From start to end: displacements [mm], rotations [deg].
    pub fn ends(&self) -> [Vec<f64>; 2] {
        [
            self.motions.iter().map(|f| 1e3 * f.displacement).collect(),
            self.motions.iter().map(|f| f.rotation.to_degrees()).collect(),
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

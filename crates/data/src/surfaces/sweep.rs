//! Makes many patches from one file, by keys that take one value after the other.

use std::path::Path;
use std::str::FromStr;

use rayon::prelude::*;
use serde::Deserialize;
use toml_edit::Value;

use crate::rollout::RolloutError;
use crate::rollout::npz::Npz;
use bristle::error::ParameterError;
use bristle::pool;
use bristle_scenario::{PatchSource, ScenarioError, change, frames, read};

/// The key that may be swept over all its values.
const FRAME: &str = "patch.frame";
const ALL: &str = "all";
/// Most values of a sweep.
const MAX_VALUES: usize = 1_000_000;

/// A key of the file and the values that it takes.
///
/// ```
/// use bristle_data::surfaces::Sweep;
/// let sizes: Sweep = "patch.size=0.01:0.03:3".parse()?;
/// assert_eq!(sizes.numbers(), Some(vec![0.01, 0.02, 0.03]));
/// let shapes: Sweep = "patch.shape=['square', 'circle']".parse()?;
/// assert_eq!(shapes.values, ["'square'", "'circle'"]);
/// # Ok::<(), bristle::error::ParameterError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Sweep {
    /// Dotted path of the key.
    pub key: String,
    /// The values as TOML.
    pub values: Vec<String>,
}

impl Sweep {
    /// The values as numbers, if all of them are.
    pub fn numbers(&self) -> Option<Vec<f64>> {
        self.values.iter().map(|v| v.parse().ok()).collect()
    }
}

impl FromStr for Sweep {
    type Err = ParameterError;

    fn from_str(text: &str) -> Result<Self, ParameterError> {
        let wrong = |why: &str| {
            let accepted =
                format!("`key=first:last:count` or `key=[value, ..]`, such as `patch.size=0.01:0.03:5`{why}");
            ParameterError::new("sweep", format!("`{text}`"), accepted)
        };
        let (key, range) = text.split_once('=').ok_or_else(|| wrong(""))?;
        let (key, range) = (key.trim().to_owned(), range.trim());
        if key.is_empty() {
            return Err(wrong(""));
        }
        if (key.as_str(), range) == (FRAME, ALL) {
            return Ok(Self { key, values: vec![ALL.to_owned()] });
        }
        if range.starts_with('[') {
            let list: Value = range.parse().map_err(|_| wrong("; this is no TOML array"))?;
            let values: Vec<String> =
                list.as_array().into_iter().flatten().map(|v| v.clone().decorated("", "").to_string()).collect();
            return if values.is_empty() { Err(wrong("; this array is empty")) } else { Ok(Self { key, values }) };
        }
        let parts: Vec<&str> = range.split(':').map(str::trim).collect();
        let &[first, last, count] = parts.as_slice() else { return Err(wrong("")) };
        let number = |text: &str| text.parse().ok().filter(|v: &f64| v.is_finite());
        let (Some(a), Some(b)) = (number(first), number(last)) else {
            return Err(wrong("; first and last are finite numbers"));
        };
        let count = count.parse().ok().filter(|n| (2..=MAX_VALUES).contains(n));
        let count: usize = count.ok_or_else(|| wrong(&format!("; the count is 2 to {MAX_VALUES}")))?;
        let share = |i: usize| i as f64 / (count - 1) as f64;
        // Fifteen digits, so that values between the ends are as round as these.
        let between = |v: f64| format!("{v:.14e}").parse().unwrap_or(v);
        let value = |i: usize| match i {
            0 => a,
            i if i + 1 == count => b,
            i => between(a * (1.0 - share(i)) + b * share(i)),
        };
        // Between integers, values that are whole are integers, for keys that count something.
        let whole = first.parse::<i64>().is_ok() && last.parse::<i64>().is_ok();
        let print = |v: f64| if whole && v.fract() == 0.0 { format!("{v:.0}") } else { format!("{v:?}") };
        Ok(Self { key, values: (0..count).map(|i| print(value(i))).collect() })
    }
}

/// Puts the frames of the map file in `path`, after `changes`, that have pressure in place of
/// `patch.frame=all`.
///
/// # Errors
/// A file that cannot be read, or has no frames.
pub fn expand(path: &Path, changes: &[String], sweeps: &mut [Sweep]) -> Result<(), ScenarioError> {
    for sweep in sweeps.iter_mut().filter(|sweep| sweep.key == FRAME && sweep.values == [ALL]) {
        let (text, name) = read(path, changes)?;
        let frames = frames(&text, path.parent().unwrap_or(Path::new("")), &name)?;
        if frames.is_empty() {
            let reason = "the map has no frames: expected `patch.file`, an .npy of [frames, rows, columns]".to_owned();
            return Err(ScenarioError::Override { change: format!("{FRAME}={ALL}"), reason });
        }
        sweep.values = frames.iter().map(usize::to_string).collect();
    }
    Ok(())
}

/// One patch of a sweep.
#[derive(Clone, Debug)]
pub struct Case {
    /// Which value of every sweep.
    pub at: Vec<usize>,
    /// The patch.
    pub source: PatchSource,
}

impl Case {
    /// The same, with a friction map in the pressure and its mean in the coefficient of friction: the limit
    /// surface stays.
    #[must_use]
    pub fn with_friction_in_pressure(self) -> Self {
        let patch = &self.source.patch;
        if patch.friction_map().is_none() {
            return self;
        }
        let (mu, patch) =
            (Some(patch.mean_friction() * self.source.mu.unwrap_or(1.0)), patch.with_friction_in_pressure());
        Self { source: PatchSource { patch: patch.into(), mu, ..self.source }, ..self }
    }
}

/// Every combination of the sweeps' values put into the file `path`, after `changes` (`key=value`, see
/// [`change`]), the last sweep fastest.
///
/// # Errors
/// A change that cannot be applied, a key that is swept twice, a file that cannot be read, or a combination
/// that gives no patch.
pub fn cases(path: &Path, changes: &[String], sweeps: &[Sweep]) -> Result<Vec<Case>, ScenarioError> {
    check(sweeps)?;
    let (text, name) = read(path, changes)?;
    let base = path.parent().unwrap_or(Path::new(""));
    let case = |k: usize| {
        let at = places(sweeps, k);
        let mut text = text.clone();
        let mut values = String::new();
        for (&i, sweep) in at.iter().zip(sweeps) {
            let setting = format!("{}={}", sweep.key, sweep.values[i]);
            text = change(&text, &setting)?;
            values += &format!(", {setting}");
        }
        let name = if values.is_empty() { name.clone() } else { format!("{name} (with {})", &values[2..]) };
        Ok(Case { at, source: PatchSource::parse(&text, base, &name)? })
    };
    pool::run(|| (0..combinations(sweeps)).into_par_iter().map(case).collect())
}

/// Refuses two sweeps of one key.
pub fn check(sweeps: &[Sweep]) -> Result<(), ScenarioError> {
    let is_twice = |i: &usize| sweeps[..*i].iter().any(|other| other.key == sweeps[*i].key);
    (0..sweeps.len()).find(is_twice).map_or(Ok(()), |i| {
        let reason = "swept twice: expected one sweep of a key".to_owned();
        Err(ScenarioError::Override { change: sweeps[i].key.clone(), reason })
    })
}

/// How many combinations sweeps make.
pub fn combinations(sweeps: &[Sweep]) -> usize {
    sweeps.iter().fold(1, |n, s| n.saturating_mul(s.values.len()))
}

/// Which value of every sweep combination `k` has; the last sweep runs fastest.
pub fn places(sweeps: &[Sweep], k: usize) -> Vec<usize> {
    let (mut at, mut rest) = (vec![0; sweeps.len()], k);
    for (at, sweep) in at.iter_mut().zip(sweeps).rev() {
        (*at, rest) = (rest % sweep.values.len(), rest / sweep.values.len());
    }
    at
}

/// What every combination of the sweeps has of each of them, the last sweep fastest: numbers, or the index of
/// a value.
pub(super) fn save_sweeps(npz: &mut Npz<'_>, sweeps: &[Sweep]) -> Result<(), RolloutError> {
    let count = combinations(sweeps);
    for (k, sweep) in sweeps.iter().enumerate() {
        let (name, at) = (format!("sweep.{}", sweep.key), (0..count).map(|i| places(sweeps, i)[k]));
        match sweep.numbers() {
            Some(numbers) => npz.array(&name, &[count as u64], at.map(|i| numbers[i]))?,
            None => npz.array(&name, &[count as u64], at.map(|i| i as i64))?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_stay_integers_and_the_end_is_exact() {
        let values = |text: &str| text.parse::<Sweep>().unwrap().values;
        assert_eq!(values("patch.cells=11:41:4"), ["11", "21", "31", "41"]);
        assert_eq!(values("f_n=0:1:3"), ["0", "0.5", "1"]);
        assert_eq!(values("patch.size=0.1:0.3:3")[2], "0.3");
        assert_eq!(values("patch.size=0.01:0.03:5"), ["0.01", "0.015", "0.02", "0.025", "0.03"]);
        assert_eq!(values("patch.size=[[0.01, 0.02], 0.02]"), ["[0.01, 0.02]", "0.02"]);
    }

    #[test]
    fn the_count_has_a_least_and_a_largest_value() {
        for bad in ["k=0.4:1:99999999", "k=0.4:1:1"] {
            let message = bad.parse::<Sweep>().unwrap_err().to_string();
            assert!(message.contains("the count is 2 to 1000000"), "{message}");
        }
    }

    #[test]
    fn what_is_no_sweep_says_what_one_is() {
        for bad in ["patch.size", "=1:2:3", "a=1:2", "a=1:2:1", "a=1:x:3", "a=[]", "a=[1", "a=1:inf:3"] {
            let message = bad.parse::<Sweep>().unwrap_err().to_string();
            assert!(message.contains("key=first:last:count"), "{message}");
        }
    }
}

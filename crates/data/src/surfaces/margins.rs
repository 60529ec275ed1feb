//! Slip margins of many patches under many loads, as arrays.

use std::path::Path;

use rayon::prelude::*;
use serde_json::json;

use super::arrays::Array;
use super::gradients::Gradients;
use super::sweep::{Sweep, save_sweeps};
use crate::rollout::RolloutError;
use crate::rollout::npz::Npz;
use bristle::error::{ParameterError, PatchError};
use bristle::limit_surface::{Margin, Rule, Surface};
use bristle::patch::Patch;
use bristle::planar::{Twist, Wrench};
use bristle::pool;

/// A patch under a normal force: all that a margin depends on except for the load.
#[derive(Clone, Debug)]
pub struct PressedPatch {
    /// The patch; of a map that follows the normal force, that at `f_n`.
    pub patch: Patch,
    /// How cells become integrals: `cells` or `points`.
    pub rule: Rule,
    /// Coefficient of friction [-], > 0.
    pub mu: f64,
    /// Normal force \[N\], >= 0.
    pub f_n: f64,
}

/// Where loads act and twists are told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum At {
    /// The centre of pressure of each patch.
    #[default]
    Cop,
    /// The origin of the patch, its grid's centre.
    Origin,
}

impl At {
    /// `cop` or `origin`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cop => "cop",
            Self::Origin => "origin",
        }
    }
}

/// A patch of which no margins could be found.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("patch {patch} (from 0): {error}")]
pub struct MarginError {
    /// Its number.
    pub patch: usize,
    /// Why.
    pub error: ParameterError,
}

/// Loads on the body `(fx, fy, tau)` [N, N, N m], axes of the patch.
pub type Loads = OfPatches<Wrench>;

/// Twists `(vx, vy, w)` [m/s, m/s, rad/s], axes of the patch.
pub type Twists = OfPatches<Twist>;

/// Loads or twists: the same for all patches, or others for each.
#[derive(Clone, Debug, PartialEq)]
pub struct OfPatches<T> {
    each: usize,
    is_shared: bool,
    values: Vec<T>,
}

impl Loads {
    /// The loads of a file: an array [loads, 3] for every patch, or [patches, loads, 3], as `FILE.npy` or
    /// `FILE.npz:NAME`; or a CSV with the columns `fx, fy, tau`, with or without a header, for every patch.
    ///
    /// # Errors
    /// A file that cannot be read, another shape, or a number that is not finite, with its place.
    pub fn read(source: &str, patches: usize) -> Result<Self, PatchError> {
        Self::of_file(source, patches, "load", ["fx", "fy", "tau"])
    }
}

impl Twists {
    /// The twists of a file, as [`Loads::read`] with the columns `vx, vy, w`.
    ///
    /// # Errors
    /// As there.
    pub fn read(source: &str, patches: usize) -> Result<Self, PatchError> {
        Self::of_file(source, patches, "twist", ["vx", "vy", "w"])
    }
}

impl<T: From<[f64; 3]>> OfPatches<T> {
    /// The same for every patch.
    pub const fn shared(values: Vec<T>) -> Self {
        Self { each: values.len(), is_shared: true, values }
    }

    fn of_file(source: &str, patches: usize, name: &str, columns: [&str; 3]) -> Result<Self, PatchError> {
        let array = Array::read(source, &columns)?;
        let (each, is_shared) = match array.shape[..] {
            [all, 3] => (all, true),
            [n, all, 3] if n == patches => (all, false),
            _ => {
                let accepted = format!("expected [{name}s, 3], or [patches, {name}s, 3] with {patches} patches");
                return Err(array.wrong(format!("an array of shape {:?}: {accepted}", array.shape)));
            }
        };
        if array.values.is_empty() {
            return Err(array.wrong(format!("no {name}s: expected at least one")));
        }
        if let Some(k) = array.values.iter().position(|v| !v.is_finite()) {
            let (row, column, value) = (k / 3, columns[k % 3], array.values[k]);
            let place = if is_shared {
                format!("{name} {row}")
            } else {
                format!("patch {}, {name} {}", row / each, row % each)
            };
            return Err(array.wrong(format!("{place} (from 0), {column} = {value}: expected a finite number")));
        }
        let values = array.values.chunks_exact(3).map(|v| [v[0], v[1], v[2]].into()).collect();
        Ok(Self { each, is_shared, values })
    }

    /// How many a patch has.
    pub const fn each(&self) -> usize {
        self.each
    }

    /// Those of patch `k`.
    pub fn of(&self, k: usize) -> &[T] {
        if self.is_shared { &self.values } else { &self.values[k * self.each..][..self.each] }
    }

    /// Those of all patches, if they are the same.
    pub(super) fn if_shared(&self) -> Option<&[T]> {
        self.is_shared.then_some(&self.values)
    }
}

/// Slip margins of patches under loads.
#[derive(Clone, Debug, PartialEq)]
pub struct Margins {
    /// Loads of each patch.
    pub loads: usize,
    /// [patches, loads]: the largest `k` with `k` times the load inside the limit surface [-], rounded down:
    /// the load holds if it is 1 or more. Infinite for no load.
    pub factor: Vec<f32>,
    /// [patches, loads, 3]: the twist at slip `(vx, vy, w)`, of which `(vx, vy, r w)` at the centre of
    /// pressure has length one; zero for no load.
    pub twist: Vec<[f32; 3]>,
    /// \[patches\]: torsional radius \[m\] by the patch's rule.
    pub radius: Vec<f64>,
}

impl Margins {
    /// Of `patches` under `each` loads, to be filled.
    pub(super) fn zeros(patches: usize, each: usize) -> Self {
        let n = patches * each;
        Self { loads: each, factor: vec![0.0; n], twist: vec![[0.0; 3]; n], radius: vec![0.0; patches] }
    }

    /// The margins of every patch under its loads, in parallel; `done` is called after every patch. As
    /// [`Surface::margins`], with loads and twists at `at`.
    ///
    /// # Errors
    /// As [`Surface::margins`], of one of the patches.
    pub fn new(patches: &[PressedPatch], loads: &Loads, at: At, done: &(dyn Fn() + Sync)) -> Result<Self, MarginError> {
        let each = loads.each();
        let mut out = Self::zeros(patches.len(), each);
        let rows = out.factor.par_chunks_mut(each).zip(out.twist.par_chunks_mut(each)).zip(&mut out.radius);
        let all = rows.zip(patches).enumerate();
        pool::run(|| {
            all.try_for_each(|(k, (((factors, twists), radius), pressed))| {
                let surface = Surface::new(&pressed.patch, pressed.rule);
                let margins = margins(&surface, loads.of(k), at, pressed.mu, pressed.f_n);
                let margins = margins.map_err(|error| MarginError { patch: k, error })?;
                *radius = surface.radius();
                for ((factor, twist), margin) in factors.iter_mut().zip(twists).zip(margins) {
                    *factor = rounded_down(margin.factor);
                    *twist = margin.twist.to_array().map(|c| c as f32);
                }
                done();
                Ok(())
            })
        })?;
        Ok(out)
    }

    /// Writes the margins as NPZ: `factor`, `twist`, `r` as the fields of this type; `mu` [-], `f_n` \[N\]
    /// `(patches)`; `cop` \[m\] `(patches, 2)`; `loads` [N, N, N m] `(loads, 3)` where all patches have the
    /// same; `sweep.<key>` `(patches)` as in [`save`](super::save); `metadata`, JSON as bytes; and the
    /// derivatives as `gradient.<field>`, if given.
    ///
    /// # Errors
    /// What the machine says.
    pub fn save(
        &self,
        path: &Path,
        patches: &[PressedPatch],
        loads: &Loads,
        at: At,
        sweeps: &[Sweep],
        gradients: Option<&Gradients>,
    ) -> Result<(), RolloutError> {
        let (n, each) = (patches.len() as u64, self.loads as u64);
        let mut npz = Npz::create(path)?;
        npz.array("factor", &[n, each], self.factor.iter().copied())?;
        npz.array("twist", &[n, each, 3], self.twist.iter().flatten().copied())?;
        npz.array("r", &[n], self.radius.iter().copied())?;
        npz.array("mu", &[n], patches.iter().map(|p| p.mu))?;
        npz.array("f_n", &[n], patches.iter().map(|p| p.f_n))?;
        npz.array("cop", &[n, 2], patches.iter().flat_map(|p| p.patch.cop()))?;
        if let Some(loads) = loads.if_shared() {
            npz.array("loads", &[each, 3], loads.iter().flat_map(|load| load.to_array()))?;
        }
        if let Some(gradients) = gradients {
            gradients.save(&mut npz, n, each)?;
        }
        save_sweeps(&mut npz, sweeps)?;
        let metadata = json!({
            "format": "bristle margins 1",
            "version": env!("CARGO_PKG_VERSION"),
            "rule": patches.first().map(|p| p.rule.name()),
            "at": at.name(),
            "patches": n,
            "loads": each,
            "sweeps": sweeps.iter().map(|s| json!({ "key": s.key, "values": s.values })).collect::<Vec<_>>(),
            "conventions": "SI; loads on the body (fx, fy, tau) and twists (vx, vy, w) at `at`, the centre of pressure \
                or the origin of the patch, patch frame; a load holds if its factor, rounded down, is 1 or more; \
                |(vx, vy, r w)| = 1 at the centre of pressure; axes [patch, load, component]; gradient.* are the \
                derivatives of the factor, gradient.pressure [patch, load, row from the bottom, column] with the sum \
                of all pressures as unit and NaN beyond a patch's own grid; the last sweep runs fastest",
        });
        let text = metadata.to_string().into_bytes();
        npz.array("metadata", &[text.len() as u64], text)?;
        npz.finish().map(drop)
    }
}

/// [`Surface::margins`] with loads and twists at `at`.
///
/// # Errors
/// As there.
pub fn margins(surface: &Surface, loads: &[Wrench], at: At, mu: f64, f_n: f64) -> Result<Vec<Margin>, ParameterError> {
    if at == At::Cop {
        return surface.margins(loads, mu, f_n);
    }
    let cop = surface.patch().cop();
    let local: Vec<Wrench> = loads.iter().map(|load| load.about(cop)).collect();
    let mut margins = surface.margins(&local, mu, f_n)?;
    // Twists are moved back, from the centre of pressure to the origin.
    margins.iter_mut().for_each(|m| m.twist = m.twist.at([-cop[0], -cop[1]]));
    Ok(margins)
}

/// One number for every patch: `text` is that number, or the source of an array (see [`Array::read`]) of as
/// many numbers as there are patches.
///
/// # Errors
/// A file that cannot be read, another count, or a number that is not `accepted`.
pub fn per_patch(
    text: &str,
    column: &str,
    patches: usize,
    (accepted, rule): (&str, fn(f64) -> bool),
) -> Result<Vec<f64>, PatchError> {
    if let Ok(value) = text.parse::<f64>() {
        if !(value.is_finite() && rule(value)) {
            return Err(ParameterError::new(column, value, accepted).into());
        }
        return Ok(vec![value; patches]);
    }
    if !Array::is_source(text) {
        let accepted = format!("{accepted}, or FILE.npy, FILE.csv or FILE.npz:NAME with one for every patch");
        return Err(ParameterError::new(column, text, accepted).into());
    }
    let array = Array::read(text, &[column])?;
    let dimensions = array.shape.iter().filter(|n| **n != 1).count();
    if array.values.len() != patches || dimensions > 1 {
        let found = format!("an array of shape {:?}", array.shape);
        return Err(array.wrong(format!("{found}: expected {patches} numbers, {column} of every patch")));
    }
    if let Some(k) = array.values.iter().position(|v| !(v.is_finite() && rule(*v))) {
        let value = array.values[k];
        return Err(array.wrong(format!("number {k} (from 0), {column} = {value}: expected {accepted}")));
    }
    Ok(array.values)
}

/// The nearest number of single precision that is not above.
pub(super) fn rounded_down(v: f64) -> f32 {
    let nearest = v as f32;
    if f64::from(nearest) > v { nearest.next_down() } else { nearest }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_are_rounded_down() {
        assert_eq!(rounded_down(1.0), 1.0);
        assert_eq!(rounded_down(1.0 - 1e-12), 1f32.next_down());
        assert_eq!(rounded_down(f64::INFINITY), f32::INFINITY);
        assert_eq!(rounded_down(1e300), f32::MAX);
        assert_eq!(rounded_down(0.0), 0.0);
    }
}

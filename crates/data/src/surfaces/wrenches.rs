//! Friction wrenches of many patches that slide along many twists, with their derivatives, as arrays.

use std::path::Path;

use rayon::prelude::*;
use serde_json::json;

use super::gradients::largest;
use super::margins::{At, MarginError, PressedPatch, Twists};
use super::sweep::{Sweep, save_sweeps};
use crate::rollout::RolloutError;
use crate::rollout::npz::Npz;
use bristle::limit_surface::{Surface, WrenchGradient};
use bristle::planar::Wrench;
use bristle::pool;

/// Friction wrenches of steady sliding.
#[derive(Clone, Debug, PartialEq)]
pub struct Wrenches {
    /// Of each patch the wrench on the moving body [N, N, N m] along each twist; zero at rest.
    pub wrenches: Vec<Vec<Wrench>>,
    /// Their derivatives, if asked for.
    pub gradients: Option<Vec<Vec<WrenchGradient>>>,
}

impl Wrenches {
    /// Memory of one wrench on one of the patches \[byte\].
    pub fn bytes(patches: &[PressedPatch], with_gradients: bool) -> usize {
        let [rows, columns] = largest(patches);
        let of_gradient = if with_gradients { size_of::<WrenchGradient>() + 3 * 8 * rows * columns } else { 0 };
        size_of::<Wrench>() + of_gradient
    }

    /// The wrenches of every patch along its twists, in parallel, as [`Surface::wrench`] with twists and
    /// wrenches at `at`, and their derivatives as [`Surface::wrench_gradients`]; `done` is called after every
    /// patch.
    ///
    /// # Errors
    /// With derivatives as there, of one of the patches.
    pub fn new(
        patches: &[PressedPatch],
        twists: &Twists,
        at: At,
        with_gradients: bool,
        done: &(dyn Fn() + Sync),
    ) -> Result<Self, MarginError> {
        let of_patch = |(k, pressed): (usize, &PressedPatch)| {
            let PressedPatch { patch, rule, mu, f_n } = pressed;
            let surface = Surface::new(patch, *rule);
            let found = if with_gradients {
                let found = surface.wrench_gradients(twists.of(k), at.into(), *mu, *f_n);
                let found = found.map_err(|error| MarginError { patch: k, error })?;
                (found.iter().map(|found| found.wrench).collect(), found)
            } else {
                let wrench = |twist| match at {
                    At::Cop => surface.wrench(twist, *mu, *f_n),
                    At::Origin => surface.wrench_at_origin(twist, *mu, *f_n),
                };
                (twists.of(k).iter().map(|twist| wrench(*twist)).collect(), Vec::new())
            };
            done();
            Ok(found)
        };
        let all: Vec<(Vec<Wrench>, Vec<WrenchGradient>)> =
            pool::run(|| patches.par_iter().enumerate().map(of_patch).collect::<Result<_, _>>())?;
        let (wrenches, gradients): (Vec<_>, Vec<_>) = all.into_iter().unzip();
        Ok(Self { wrenches, gradients: with_gradients.then_some(gradients) })
    }

    /// Writes NPZ, in double precision: `wrench` [N, N, N m] `(patches, twists, 3)`; `mu` [-], `f_n` \[N\]
    /// `(patches)`; `cop` \[m\] `(patches, 2)`; `twists` `(twists, 3)` where all patches have the same;
    /// `sweep.<key>` `(patches)`; `metadata`, JSON as bytes; and the derivatives of the wrench, if there are
    /// any: `gradient.twist` `(patches, twists, 3, 3)`, `gradient.pressure` `(patches, twists, 3, rows,
    /// columns)`, `gradient.mu` and `gradient.f_n` `(patches, twists, 3)`.
    ///
    /// # Errors
    /// What the machine says.
    pub fn save(
        &self,
        path: &Path,
        patches: &[PressedPatch],
        twists: &Twists,
        at: At,
        sweeps: &[Sweep],
    ) -> Result<(), RolloutError> {
        let (n, each) = (patches.len() as u64, twists.each() as u64);
        let mut npz = Npz::create(path)?;
        npz.array("wrench", &[n, each, 3], self.wrenches.iter().flatten().flat_map(|w| w.to_array()))?;
        npz.array("mu", &[n], patches.iter().map(|p| p.mu))?;
        npz.array("f_n", &[n], patches.iter().map(|p| p.f_n))?;
        npz.array("cop", &[n, 2], patches.iter().flat_map(|p| p.patch.cop()))?;
        if let Some(twists) = twists.if_shared() {
            npz.array("twists", &[each, 3], twists.iter().flat_map(|twist| twist.to_array()))?;
        }
        if let Some(gradients) = &self.gradients {
            let [rows, columns] = largest(patches);
            let all = || gradients.iter().flatten();
            npz.array("gradient.twist", &[n, each, 3, 3], all().flat_map(|g| g.twist.into_iter().flatten()))?;
            let pressures = gradients.iter().zip(patches).flat_map(|(all, pressed)| {
                let grid = *pressed.patch.grid();
                all.iter().flat_map(move |g| {
                    let cell = move |row: usize, column: usize| {
                        (row < grid.ny && column < grid.nx).then(|| g.pressure[row * grid.nx + column])
                    };
                    let of_component = move |i: usize| {
                        let of_row = move |row| (0..columns).map(move |column| (row, column));
                        (0..rows)
                            .flat_map(of_row)
                            .map(move |(row, column)| cell(row, column).map_or(f64::NAN, |d| d[i]))
                    };
                    (0..3).flat_map(of_component)
                })
            });
            npz.array("gradient.pressure", &[n, each, 3, rows as u64, columns as u64], pressures)?;
            npz.array("gradient.mu", &[n, each, 3], all().flat_map(|g| g.mu))?;
            npz.array("gradient.f_n", &[n, each, 3], all().flat_map(|g| g.f_n))?;
        }
        save_sweeps(&mut npz, sweeps)?;
        let metadata = json!({
            "format": "bristle wrenches 1",
            "version": env!("CARGO_PKG_VERSION"),
            "rule": patches.first().map(|p| p.rule.name()),
            "at": at.name(),
            "patches": n,
            "twists": each,
            "sweeps": sweeps.iter().map(|s| json!({ "key": s.key, "values": s.values })).collect::<Vec<_>>(),
            "conventions": "SI; twists (vx, vy, w) and wrenches (fx, fy, tau) on the moving body at `at`, the centre \
                of pressure or the origin of the patch, patch frame; axes [patch, twist, component]; gradient.* are \
                the derivatives of each component, gradient.twist [patch, twist, component, component of the twist], \
                gradient.pressure [patch, twist, component, row from the bottom, column] with the sum of all \
                pressures as unit and NaN beyond a patch's own grid; the last sweep runs fastest",
        });
        let text = metadata.to_string().into_bytes();
        npz.array("metadata", &[text.len() as u64], text)?;
        npz.finish().map(drop)
    }
}

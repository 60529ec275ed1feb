//! The model of a contact. A table of a limit surface does not depend on the size of its patch, so that one
//! is made for every shape of a map: contacts whose patches differ in size alone share it, and keep their own
//! `r` and `u`. All tables are made on cells of one size, so that a contact's table does not depend on the
//! order in which contacts are drawn.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::spec::{ContactSpec, ModelName, SurfaceName};
use bristle::contact::Model;
use bristle::error::{ParameterError, PatchError};
use bristle::limit_surface::{DEFAULT_N_LS, Rule, Surface, Table};
use bristle::parameter::TABLE_FORCE;
use bristle::patch::{Exponent, Grid, Patch};

/// Width of a cell [m] of the patch that a table is made of.
const CELL: f64 = 1e-3;
/// Memory that cached tables may take [byte].
const KEPT: usize = 64 << 20;
/// Largest number of cached radii.
const KEPT_RADII: usize = 1 << 14;

/// The tables and radii made so far, each under the key that determines it. A table has no scale, so that
/// patches that differ in size alone share one.
#[derive(Debug, Default)]
pub(super) struct Tables {
    tables: Mutex<HashMap<Key, Arc<Table>>>,
    radii: Mutex<HashMap<Key, Radius>>,
}

/// The radius of a map on cells of width 1, and the map, so that its address stays in use.
type Radius = (f64, Arc<[f64]>);

/// The address of a map (the patch in the table keeps it in use), or its rule, and the cells with their
/// height over their width. Numbers are compared by their bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Key {
    map: usize,
    hertz: Option<[u64; 2]>,
    cells: [usize; 2],
    aspect: u64,
}

impl Key {
    fn of(patch: &Patch) -> Self {
        let hertz = patch.rule();
        Self {
            map: if hertz.is_some() { 0 } else { Arc::as_ptr(patch.map()).addr() },
            hertz: hertz.map(|h| match h.exponent {
                Exponent::Fixed(k) | Exponent::PerNewton(k) => [h.radius, k].map(f64::to_bits),
            }),
            cells: [patch.grid().nx, patch.grid().ny],
            aspect: aspect(patch).to_bits(),
        }
    }
}

impl Tables {
    /// The model that `spec` asks for on `patch`.
    pub fn model(&self, spec: &ContactSpec, patch: &Arc<Patch>) -> Result<Model, ParameterError> {
        let form = spec.form.unwrap_or_default();
        match rule(spec) {
            Some(rule) => Ok(Model::LimitSurface(self.table(spec, patch, rule)?, form)),
            None if spec.model == ModelName::Distributed => Ok(Model::Distributed),
            None => Ok(Model::Ellipsoid(form)),
        }
    }

    /// The torsional radius [m] of `patch` by the rule of the model that `spec` asks for.
    pub fn radius(&self, spec: &ContactSpec, patch: &Patch) -> f64 {
        let Some(rule) = rule(spec) else {
            return match patch.friction_axes() {
                Some(_) => Surface::new(patch, Rule::Points).radius(),
                None => patch.with_friction_in_pressure().radius(),
            };
        };
        let direct = || Surface::new(patch, rule).radius();
        if patch.rule().is_some() || patch.friction_axes().is_some() || !patch.parts().is_empty() {
            // The map of a patch with a rule has an address of its own, so that nothing could be found in the
            // cache, which knows neither of axes of friction nor of several patches.
            return direct();
        }
        let Grid { dx, dy, .. } = *patch.grid();
        let key = Key { aspect: (dy / dx).to_bits(), ..Key::of(patch) };
        let kept = || self.radii.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((radius, _)) = kept().get(&key) {
            return radius * dx;
        }
        let Ok(unit) = Patch::from_pressure(Grid { dx: 1.0, dy: dy / dx, ..*patch.grid() }, patch.weights()) else {
            return direct();
        };
        let radius = Surface::new(&unit, rule).radius();
        let mut kept = kept();
        if kept.len() >= KEPT_RADII {
            kept.clear();
        }
        kept.insert(key, (radius, Arc::clone(patch.map())));
        radius * dx
    }

    /// Refuses a patch of which the model that `spec` asks for cannot be made, without making it.
    pub fn check(&self, spec: &ContactSpec, patch: &Patch) -> Result<(), ParameterError> {
        // A table that is there was made of the same patch, unless its shape follows the force.
        let is_made = || {
            let kept = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
            patch.rule().is_none() && kept.contains_key(&Key::of(patch))
        };
        if rule(spec).is_none() || is_made() {
            return Ok(());
        }
        patch_of_table(spec, patch).map(drop)
    }

    fn table(&self, spec: &ContactSpec, patch: &Arc<Patch>, rule: Rule) -> Result<Arc<Table>, ParameterError> {
        let key = Key::of(patch);
        let kept = || self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(table) = kept().get(&key) {
            return Ok(Arc::clone(table));
        }
        let of = patch_of_table(spec, patch)?;
        let table = Arc::new(Table::new(&of, rule, spec.n_ls.unwrap_or(DEFAULT_N_LS))?);
        // With the same nodes in the numbers of an engine.
        let size = 2 * size_of_val(table.nodes());
        let mut kept = kept();
        if (kept.len() + 1) * size > KEPT {
            kept.clear();
        }
        kept.insert(key, Arc::clone(&table));
        Ok(table)
    }
}

/// The rule of the limit surface that `spec` asks for, if it asks for one.
fn rule(spec: &ContactSpec) -> Option<Rule> {
    let is_surface = spec.model == ModelName::Reduced && spec.surface.unwrap_or_default() != SurfaceName::Ellipsoid;
    is_surface.then(|| spec.rule.unwrap_or_default().into())
}

/// The patch that a table for `patch` is made of: its cells are of one width, so that the table does not
/// depend on which contact asked first.
fn patch_of_table(spec: &ContactSpec, patch: &Patch) -> Result<Patch, ParameterError> {
    let (grid, force) = (patch.grid(), spec.table_force.unwrap_or(TABLE_FORCE.default));
    // For a map whose shape follows the force this table is replaced when the contact starts.
    let shape = |e: PatchError| ParameterError::new("contact.table_force", force, e.to_string());
    let of = match patch.rule() {
        Some(rule) => Patch::hertz(*grid, rule, force).map_err(shape)?,
        None => patch.clone(),
    };
    let of = match patch.friction_axes() {
        Some(axes) => of.with_friction_axes(*axes),
        None => of,
    };
    of.scaled(CELL / grid.dx, CELL * aspect(patch) / grid.dy)
}

/// Height of the cells over their width, rounded to single precision: where one size is drawn for both sides,
/// the quotient differs from contact to contact in its last bits.
fn aspect(patch: &Patch) -> f64 {
    f64::from((patch.grid().dy / patch.grid().dx) as f32)
}

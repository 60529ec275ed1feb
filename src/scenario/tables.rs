//! The model of a contact. Tables of limit surfaces are made once for every shape of a map and shared.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::spec::{ContactSpec, FormName, ModelName, SurfaceName};
use crate::contact::{Form, Model};
use crate::error::{ParameterError, PatchError};
use crate::limit_surface::{DEFAULT_N_LS, Rule, Surface, Table};
use crate::patch::{Exponent, Patch};

/// Normal force [N] of the `hertz` map that a table is made of.
const TABLE_FORCE: f64 = 10.0;
/// Width of a cell [m] of the patch that a table is made of.
const CELL: f64 = 1e-3;
/// Memory that kept tables may take [byte].
const KEPT: usize = 64 << 20;

/// The tables made so far, by what decides them. A table has no scale, so patches that differ in
/// size alone share one.
#[derive(Debug, Default)]
pub(super) struct Tables(Mutex<HashMap<Key, Arc<Table>>>);

/// A map's shares by their place in memory (the patch in the table keeps them alive), or its rule;
/// and the cells' height over their width. Numbers by their bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Key {
    map: usize,
    hertz: Option<[u64; 2]>,
    cells: [usize; 2],
    aspect: u64,
}

impl Tables {
    /// The model that `spec` asks for on `patch`, and the torsional radius [m] of the patch by its rule.
    pub fn model(&self, spec: &ContactSpec, patch: &Arc<Patch>) -> Result<(Model, f64), ParameterError> {
        if spec.model == ModelName::Distributed {
            return Ok((Model::Distributed, patch.radius()));
        }
        let form = match spec.form.unwrap_or_default() {
            FormName::Consistent => Form::Consistent,
            FormName::Published => Form::Published,
        };
        if spec.surface.unwrap_or_default() == SurfaceName::Ellipsoid {
            return Ok((Model::Ellipsoid(form), patch.radius()));
        }
        let rule: Rule = spec.rule.unwrap_or_default().into();
        let n_ls = spec.n_ls.unwrap_or(DEFAULT_N_LS);
        let table = self.table(patch, rule, n_ls, spec.table_force.unwrap_or(TABLE_FORCE))?;
        Ok((Model::LimitSurface(table, form), Surface::new(patch, rule).radius()))
    }

    fn table(&self, patch: &Arc<Patch>, rule: Rule, n_ls: usize, force: f64) -> Result<Arc<Table>, ParameterError> {
        let grid = patch.grid();
        let hertz = patch.rule();
        let key = Key {
            map: if hertz.is_some() { 0 } else { Arc::as_ptr(patch.map()).addr() },
            hertz: hertz.map(|h| match h.exponent {
                Exponent::Fixed(k) | Exponent::PerNewton(k) => [h.radius, k].map(f64::to_bits),
            }),
            cells: [grid.nx, grid.ny],
            // Draws of one size for both sides differ in the last bits of the quotient.
            aspect: f64::from((grid.dy / grid.dx) as f32).to_bits(),
        };
        let kept = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(table) = kept().get(&key) {
            return Ok(Arc::clone(table));
        }
        // A map whose shape follows the force gets its tables in the rollout, the first at once.
        let shape = |e: PatchError| ParameterError::new("contact.table_force", force, e.to_string());
        let of = match hertz {
            Some(rule) => Patch::hertz(*grid, rule, force).map_err(shape)?,
            None => Patch::clone(patch),
        };
        // Cells of one width, so that the table does not depend on which contact asked first.
        let of = of.scaled(CELL / grid.dx, CELL * f64::from_bits(key.aspect) / grid.dy)?;
        let table = Arc::new(Table::new(&of, rule, n_ls)?);
        let size = size_of_val(table.nodes());
        let mut kept = kept();
        if (kept.len() + 1) * size > KEPT {
            kept.clear();
        }
        kept.insert(key, Arc::clone(&table));
        Ok(table)
    }
}

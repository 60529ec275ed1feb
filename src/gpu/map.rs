//! Pressure maps over time, as far as a kernel cannot make them itself: radius, viscous factor and
//! limit surface of a reduced bristle, worked out on the host in double precision while the device
//! computes.

use std::collections::HashMap;
use std::sync::Arc;

use crate::contact::{Contact, Model};
use crate::kernel::step::{reshapes, rule_of};
use crate::limit_surface::{Surface, Table};
use crate::schedule::Interval;

/// What a contact's present map is.
#[derive(Clone, Debug)]
pub(super) struct Map {
    /// The normal force that made it [N].
    pub f_n: f64,
    /// Torsional radius [m] by the rule of the table; 0 for a grid.
    pub radius: f64,
    /// Viscous factor [m^2].
    pub viscous: f64,
    /// The limit surface, if the contact has one.
    pub table: Option<Arc<Table>>,
}

impl Map {
    /// The map a contact starts with.
    pub fn of(contact: &Contact) -> Self {
        let table = match &contact.model {
            Model::LimitSurface(table, _) => Some(Arc::clone(table)),
            Model::Distributed | Model::Ellipsoid(_) => None,
        };
        let patch = &contact.patch;
        let radius =
            if contact.model.is_grid() { 0.0 } else { Surface::new(patch, rule_of(table.as_deref())).radius() };
        Self { f_n: 0.0, radius, viscous: patch.viscous(), table }
    }

    /// Follows the start of an interval.
    pub fn follow(&mut self, contact: &Contact, interval: &Interval) {
        let Some(f_n) = interval.remap else { return };
        self.f_n = f_n;
        if contact.model.is_grid() {
            return;
        }
        let patch = contact.patch.under(f_n);
        let surface = Surface::new(&patch, rule_of(self.table.as_deref()));
        self.radius = surface.radius();
        self.viscous = patch.viscous();
        if let Some(table) = self.table.as_mut().filter(|_| reshapes(&patch)) {
            *table = Arc::new(Table::of(&surface, table.n_ls()).expect("the resolution was checked before"));
        }
    }
}

/// Limit surfaces one after the other, each once.
#[derive(Clone, Debug, Default)]
pub(super) struct Tables {
    first: HashMap<*const Table, u32>,
    /// Keeps the pointers above alive.
    held: Vec<Arc<Table>>,
    numbers: Vec<f32>,
}

// SAFETY is not at stake: the pointers are keys, never followed.
impl Tables {
    /// Where the table starts, in numbers; puts it at the end if it is new.
    pub fn first_of(&mut self, table: &Arc<Table>) -> u32 {
        *self.first.entry(Arc::as_ptr(table)).or_insert_with(|| {
            let first = self.numbers.len() as u32;
            self.numbers.extend(table.nodes().as_flattened().iter().map(|v| *v as f32));
            self.held.push(Arc::clone(table));
            first
        })
    }

    /// All numbers.
    pub fn numbers(&self) -> &[f32] {
        &self.numbers
    }

    /// The numbers that `before` does not have.
    pub fn numbers_beyond(&self, before: &Self) -> Vec<f32> {
        self.numbers[before.numbers.len()..].to_vec()
    }
}

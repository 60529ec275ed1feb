//! The part of a changing pressure map that the host computes for the kernel: radius, viscous factor, centre
//! of pressure and limit surface of a reduced bristle.

use std::collections::HashMap;
use std::sync::Arc;

use super::limit_surface::Surfaces;
use crate::contact::{Contact, Model, RemapTransfer, radius_of, reshapes};
use crate::error::EngineError;
use crate::limit_surface::{Rule, Table};
use crate::patch::{Grid, Patch};
use crate::schedule::{Interval, MapKey};

/// The pressure map of a contact at some time.
#[derive(Clone, Debug)]
pub(super) struct PatchState {
    /// What it was made for; none for the initial map.
    pub key: Option<MapKey>,
    /// Torsional radius [m] by the rule of the table; 0 for a grid.
    pub radius: f64,
    /// `L^2` [m^2], `docs/model.md` (16); of a reduced bristle the viscous factor.
    pub arm2: f64,
    /// Centre of pressure [m].
    pub cop: [f64; 2],
    /// The limit surface, if the contact has one.
    pub table: Option<Arc<Table>>,
}

impl PatchState {
    /// The map that a contact starts with.
    pub fn first(contact: &Contact) -> Self {
        let table = match &contact.model {
            Model::LimitSurface(table, _) => Some(Arc::clone(table)),
            Model::Distributed | Model::Layer(_) | Model::Ellipsoid(_) | Model::Point(_) => None,
        };
        let first = contact.first_patch();
        let patch = &*first.isotropic();
        let (radius, arm2) = match contact.model.is_grid() {
            true => (0.0, contact.largest_arm2(patch.arm2())),
            false => (radius_of(patch, table.as_deref()), patch.viscous()),
        };
        Self { key: None, radius, arm2, cop: patch.cop(), table }
    }

    /// Takes over the map at the start of an interval. If that is the present map, the interval is set to
    /// keep it. Returns the patch if its map needs a limit surface of its own, which
    /// [`PatchState::set_table`] sets.
    pub fn enter(&mut self, contact: &Contact, interval: &mut Interval) -> Option<Patch> {
        let key = interval.remap?;
        if self.key.replace(key) == Some(key) {
            interval.remap = None;
        }
        // A kernel with a grid makes a map that follows the normal force by itself.
        let follows_frames = contact.patch.sequence().is_some();
        if interval.remap.is_none() || contact.model.is_grid() && !follows_frames {
            return None;
        }
        let given = contact.patch.at(key);
        let patch = given.isotropic();
        if contact.model.is_grid() {
            self.arm2 = patch.arm2();
            return None;
        }
        self.arm2 = patch.viscous();
        if follows_frames {
            self.cop = patch.cop();
        }
        if self.table.is_some() && reshapes(&given) {
            return Some(patch.into_owned());
        }
        self.radius = radius_of(&patch, self.table.as_deref());
        None
    }

    /// The patch whose limit surface the map does not have yet, for [`PatchState::set_table`]: that of a
    /// frame.
    pub fn missing_table(&self, contact: &Contact) -> Option<Patch> {
        let table = self.table.as_ref().filter(|_| contact.patch.takes_frames())?;
        let patch = contact.patch.isotropic();
        (*table.patch() != *patch).then(|| patch.into_owned())
    }

    /// How a reduced bristle is transferred from the map `before` to this one.
    pub fn transfer_from(&self, before: &Self, contact: &Contact) -> RemapTransfer {
        let of = |map: &Self| [map.radius, map.arm2];
        let consistent = match contact.model {
            Model::Distributed | Model::Layer(_) | Model::Point(_) => false,
            Model::LimitSurface(_, form) | Model::Ellipsoid(form) => form.is_elastic(contact.friction.law),
        };
        RemapTransfer::new(consistent, of(before), of(self))
    }

    /// Sets the limit surface that [`PatchState::enter`] asked for.
    pub fn set_table(&mut self, table: Arc<Table>) {
        self.radius = table.radius();
        self.table = Some(table);
    }
}

/// The limit surfaces of patches, made on the device, in the same order. The table beside each patch gives
/// the rule and the resolution.
pub(super) async fn make_tables(
    surfaces: Surfaces<'_>,
    wanted: &[(Patch, Arc<Table>)],
) -> Result<Vec<Arc<Table>>, EngineError> {
    let kind = |t: &Table| (t.rule(), t.n_ls());
    let mut kinds: Vec<(Rule, usize)> = wanted.iter().map(|(_, t)| kind(t)).collect();
    kinds.sort_by_key(|(rule, n_ls)| (*rule as u8, *n_ls));
    kinds.dedup();
    // Contacts of one size that follow the same frames share the tables of their maps.
    let mut first = HashMap::new();
    let place = |(i, (patch, like)): (usize, &(Patch, Arc<Table>))| {
        let Grid { dx, dy, .. } = *patch.grid();
        let (rule, n_ls) = kind(like);
        let key = (Arc::as_ptr(patch.map()).addr(), [dx, dy, patch.arm2()].map(f64::to_bits), rule as u8, n_ls);
        *first.entry(key).or_insert(i)
    };
    let places: Vec<usize> = wanted.iter().enumerate().map(place).collect();
    let mut made: Vec<Option<Arc<Table>>> = vec![None; wanted.len()];
    for (rule, n_ls) in kinds {
        let is_asked = |&i: &usize| places[i] == i && kind(&wanted[i].1) == (rule, n_ls);
        let of_kind: Vec<usize> = (0..wanted.len()).filter(is_asked).collect();
        let patches: Vec<Patch> = of_kind.iter().map(|&i| wanted[i].0.clone()).collect();
        for (i, table) in of_kind.into_iter().zip(surfaces.tables(&patches, rule, n_ls).await?) {
            made[i] = Some(Arc::new(table));
        }
    }
    Ok(places.into_iter().map(|i| made[i].clone().expect("every kind was made")).collect())
}

/// The numbers of limit surfaces, one surface after the other and each once.
#[derive(Clone, Debug, Default)]
pub(super) struct TableStore {
    first: HashMap<usize, u32>,
    /// Keeps the tables alive whose addresses are the keys above.
    held: Vec<Arc<Table>>,
    numbers: Vec<f32>,
}

impl TableStore {
    /// Where the table starts, in numbers; puts it at the end if it is new.
    pub fn first_of(&mut self, table: &Arc<Table>) -> u32 {
        *self.first.entry(Arc::as_ptr(table).addr()).or_insert_with(|| {
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

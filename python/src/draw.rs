//! The contacts of a batch as they are drawn from a scenario.

use std::collections::BTreeMap;
use std::sync::Arc;

use bristle::error::ParameterError;
use bristle::{Contact, pool};
use bristle_scenario::Scenario;
use rayon::prelude::*;

use crate::errors::Failure;

/// Number of contacts from which it pays to draw them in several threads.
const MANY: usize = 16;

/// From what contacts are drawn.
pub struct Source {
    pub scenario: Arc<Scenario>,
    /// Whether pressure maps may be replaced.
    pub frames: bool,
}

/// From what one contact is drawn.
#[derive(Clone, Default)]
pub struct Origin {
    pub seed: u64,
    /// Numbers that are given in place of drawn ones.
    pub given: Vec<(String, f64)>,
}

/// A contact that is drawn anew: which, and from what.
pub struct Change {
    pub k: usize,
    pub origin: Origin,
}

/// A contact, and those of its parameters that were asked for.
pub struct Drawn {
    pub contact: Contact,
    pub numbers: Vec<f64>,
}

impl Source {
    /// Contact `k`.
    pub fn one(&self, k: usize, seed: u64, given: &[(String, f64)]) -> Result<Contact, Failure> {
        self.framed(k, self.scenario.variant(k as u64, seed, given)?)
    }

    /// A contact whose maps may be replaced, if that is wanted.
    fn framed(&self, k: usize, mut contact: Contact) -> Result<Contact, Failure> {
        if self.frames {
            contact.patch = Arc::new((*contact.patch).clone().with_frames());
            if !contact.patch.takes_frames() {
                let accepted = "False for a map that follows the normal force or recorded frames";
                return Err(Failure::Parameter(ParameterError::new("frames", "True", accepted), Some(k)));
            }
        }
        Ok(contact)
    }

    /// All contacts of these origins, in parallel.
    pub fn all(&self, origins: &[Origin]) -> Result<Vec<Contact>, Failure> {
        let one = |(k, Origin { seed, given }): (usize, &Origin)| self.one(k, *seed, given);
        pool::run(|| origins.par_iter().enumerate().map(one).collect())
    }

    /// Some contacts, with their numbers for these `columns`, in parallel if they are many.
    pub fn some(&self, changes: &[Change], columns: &BTreeMap<String, Vec<f64>>) -> Result<Vec<Drawn>, Failure> {
        let one = |Change { k, origin: Origin { seed, given } }: &Change| {
            if columns.is_empty() {
                return Ok(Drawn { contact: self.one(*k, *seed, given)?, numbers: Vec::new() });
            }
            let drawn = self.scenario.variant_drawn(*k as u64, *seed, given)?;
            let numbers = columns.keys().map(|name| value(name, &drawn.parameters)).collect();
            Ok(Drawn { contact: self.framed(*k, drawn.contact)?, numbers })
        };
        if changes.len() < MANY {
            return changes.iter().map(one).collect();
        }
        pool::run(|| changes.par_iter().map(one).collect())
    }

    /// A parameter of all contacts of these origins; NaN where a contact has no such number.
    pub fn column(&self, name: &str, origins: &[Origin]) -> Result<Vec<f64>, Failure> {
        let one = |(k, Origin { seed, given }): (usize, &Origin)| {
            Ok(value(name, &self.scenario.variant_parameters(k as u64, *seed, given)?))
        };
        pool::run(|| origins.par_iter().enumerate().map(one).collect())
    }

    /// Whether a contact can have this origin: its given numbers are ones that contacts are drawn with.
    pub fn gives(&self, k: usize, origin: &Origin) -> bool {
        self.scenario.variant_parameters(k as u64, origin.seed, &origin.given).is_ok()
    }
}

impl Origin {
    /// Gives a number, in place of one that was given before.
    pub fn give(&mut self, name: &str, value: f64) {
        match self.given.iter_mut().find(|(other, _)| other == name) {
            Some((_, old)) => *old = value,
            None => self.given.push((name.to_owned(), value)),
        }
    }
}

/// One of the numbers of a contact, by its name; NaN if it has no such number.
fn value(name: &str, numbers: &[(String, f64)]) -> f64 {
    numbers.iter().find(|(other, _)| other == name).map_or(f64::NAN, |(_, value)| *value)
}

//! Contacts that leave, as `stop_when` of their scenario says: they stay where they are until they are reset.

use bristle::contact::Departure;
use bristle::engine::StopWhen;
use bristle::{Batch, EngineError};

/// Which contacts of a batch have left.
pub struct Watch {
    when: StopWhen,
    /// How far each has come from its start, and since when it slides; none before it is first looked at.
    on_the_way: Vec<Option<Departure>>,
    left: Vec<bool>,
}

impl Watch {
    /// None if no contact ever leaves.
    pub fn new(when: StopWhen) -> Option<Self> {
        (when != StopWhen::NEVER).then(|| Self { when, on_the_way: Vec::new(), left: Vec::new() })
    }

    /// Whether a contact has left.
    pub fn has_left(&self, k: usize) -> bool {
        self.left.get(k).copied().unwrap_or(false)
    }

    /// The contacts of a list that have not left.
    pub fn there(&self, list: &[usize]) -> Vec<usize> {
        list.iter().copied().filter(|k| !self.has_left(*k)).collect()
    }

    /// Looks at the present samples of contacts that have just moved.
    pub fn look(&mut self, batch: &mut Batch, moved: &[usize]) -> Result<(), EngineError> {
        self.on_the_way.resize(batch.len(), None);
        self.left.resize(batch.len(), false);
        let times: Vec<f64> = moved.iter().map(|k| batch.time(*k)).collect();
        let first = moved.iter().map(|k| self.on_the_way[*k].unwrap_or_else(|| batch.origin(*k).into()));
        let departures: Vec<Departure> = first.collect();
        let samples = batch.samples()?;
        for ((&k, time), mut departure) in moved.iter().zip(times).zip(departures) {
            self.left[k] |= departure.has_left(&self.when, time, samples[k].pose, samples[k].slip);
            self.on_the_way[k] = Some(departure);
        }
        Ok(())
    }

    /// Contacts start again.
    pub fn forget(&mut self, list: &[usize]) {
        if !self.left.is_empty() {
            list.iter().for_each(|k| (self.on_the_way[*k], self.left[*k]) = (None, false));
        }
    }

    /// Some contacts are where another one is.
    pub fn copy(&mut self, source: usize, targets: &[usize]) {
        if !self.left.is_empty() {
            let own = (self.on_the_way[source], self.left[source]);
            targets.iter().for_each(|k| (self.on_the_way[*k], self.left[*k]) = own);
        }
    }
}

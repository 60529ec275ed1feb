//! Without the feature `cloud` there are no object stores; an error says how to build a program with them.

use std::path::{Path, PathBuf};

use super::error::RolloutError;
use super::record::Summary;
use super::verify::Verified;
use super::{Options, WorldSummary, place};
use bristle_scenario::{Scenario, WorldScenario};

/// A place in a store of objects; there is none.
#[derive(Debug)]
pub enum Store {}

impl Store {
    /// Refuses the URL.
    ///
    /// # Errors
    /// Always: it says how to get a program that writes to stores.
    pub fn open(url: &str) -> Result<Self, RolloutError> {
        let accepted = "a directory, as this program is without stores of objects: `cargo install --path crates/cli \
                        --features cloud` builds it with them";
        Err(place::wrong(url, accepted))
    }

    /// There is no store.
    ///
    /// # Errors
    /// None.
    pub fn begin(&self, _: &Scenario, _: &Options) -> Result<Option<Summary>, RolloutError> {
        match *self {}
    }

    /// There is no store.
    ///
    /// # Errors
    /// None.
    pub fn begin_worlds(&self, _: &WorldScenario, _: &Options) -> Result<Option<WorldSummary>, RolloutError> {
        match *self {}
    }

    /// There is no store.
    ///
    /// # Errors
    /// None.
    pub fn send(&self, _: &Path, _: &(dyn Fn(u64) + Sync)) -> Result<(), RolloutError> {
        match *self {}
    }

    /// There is no store.
    ///
    /// # Errors
    /// None.
    pub fn verify(&self) -> Result<Verified, RolloutError> {
        match *self {}
    }

    /// There is no store.
    ///
    /// # Errors
    /// None.
    pub fn shards(&self) -> Result<Vec<String>, RolloutError> {
        match *self {}
    }

    /// There is no store.
    ///
    /// # Errors
    /// None.
    pub fn receive(&self, _: &Path) -> Result<PathBuf, RolloutError> {
        match *self {}
    }
}

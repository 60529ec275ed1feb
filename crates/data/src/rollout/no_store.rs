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
}

/// What a store does, of which none can be made.
macro_rules! never {
    ($($name:ident($($argument:ty),*) -> $result:ty;)+) => {
        impl Store {
            $(/// There is no store.
            ///
            /// # Errors
            /// None.
            pub fn $name(&self, $(_: $argument),*) -> Result<$result, RolloutError> {
                match *self {}
            })+
        }
    };
}

never! {
    begin(&Scenario, &Options) -> Option<Summary>;
    begin_worlds(&WorldScenario, &Options) -> Option<WorldSummary>;
    send(&Path, &(dyn Fn(u64) + Sync)) -> ();
    verify() -> Verified;
    shards() -> Vec<String>;
    receive(&Path) -> PathBuf;
}

//! To come.
use super::context::{Context, Error};
use super::item::Item;
pub(super) const IDS: &[&str] = &[];
pub(super) fn run(_context: &Context<'_>) -> Result<Vec<Item>, Error> { Ok(Vec::new()) }

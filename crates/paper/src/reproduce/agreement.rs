//! Where the families of models agree, and which one to take: bristles, point laws, cones and the contact
//! problem.

mod choice;
mod one_cell;
mod stiffness;
mod task;
mod tripod;

use super::context::{Context, Error};
use super::item::Item;

pub(super) const IDS: &[&str] = &["stiffness", "tripod", "one_cell", "choice"];

pub(super) fn run(context: &Context<'_>) -> Result<Vec<Item>, Error> {
    Ok(vec![stiffness::item(context)?, tripod::item(context)?, one_cell::item(context)?, choice::item(context)?])
}

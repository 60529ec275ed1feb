//! Numbers of contacts from recordings that are made and that were measured.

#[path = "../common/mod.rs"]
mod common;

mod coverage;
mod identify;
mod in_hand;
mod next;
mod page;
mod pushes;
mod tribometer;
mod trust_region;

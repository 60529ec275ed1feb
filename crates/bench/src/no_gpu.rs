//! The GPU engine of a program without the feature `gpu`: opening it is an error.

use bristle::batch::Batch;
use bristle::contact::Contact;
use bristle::engine::{Engine, EngineInfo, Plan, Progress, Stepping, Trajectories};
use bristle::error::EngineError;
use bristle::limit_surface::{Rule, Table};
use bristle::patch::Patch;

/// Which adapters would do.
#[derive(Clone, Copy, Debug)]
pub enum Choice {
    /// Hardware only.
    Hardware,
    /// Any.
    Any,
}

/// An adapter; there is none.
#[derive(Debug, serde::Serialize)]
pub struct Adapter {
    /// Whether it runs on the CPU.
    pub software: bool,
}

/// The adapters of this machine that the program can use: none.
pub fn adapters() -> Result<Vec<Adapter>, EngineError> {
    Ok(Vec::new())
}

/// A layout of a kernel; there is none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Layout {}

impl Layout {
    /// No layouts.
    pub fn all(_: usize, _: &Adapter) -> Vec<Self> {
        Vec::new()
    }

    /// No layout.
    pub fn of(_: usize, _: &Adapter) -> Option<Self> {
        None
    }

    /// Nothing.
    pub fn source(_: &Adapter) -> &'static str {
        ""
    }
}

impl std::fmt::Display for Layout {
    fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {}
    }
}

/// The engine; there is none.
#[derive(Debug)]
pub enum Gpu {}

impl Gpu {
    /// Fails.
    pub fn new(_: Choice) -> Result<Self, EngineError> {
        Err(EngineError::NoGpu)
    }

    /// Fails.
    pub fn named(_: &str) -> Result<Self, EngineError> {
        Err(EngineError::NoGpu)
    }

    /// Has the signature of the GPU engine's, as have the functions below.
    pub fn adapter(&self) -> &Adapter {
        match *self {}
    }

    /// Never called: there is no engine.
    pub fn memory(&self) -> Option<[u64; 2]> {
        match *self {}
    }

    /// Never called: there is no engine.
    pub fn with_layout(self, _: Layout) -> Self {
        match self {}
    }

    /// Never called: there is no engine.
    pub fn tables(&self, _: &[Patch], _: Rule, _: usize) -> Result<Vec<Table>, EngineError> {
        match *self {}
    }

    /// Never called: there is no engine.
    pub async fn tables_async(&self, _: &[Patch], _: Rule, _: usize) -> Result<Vec<Table>, EngineError> {
        match *self {}
    }

    /// Never called: there is no engine.
    pub async fn batch_async(&self, _: Vec<Contact>, _: Stepping) -> Result<Batch, EngineError> {
        match *self {}
    }

    /// Never called: there is no engine.
    pub async fn rollout_async(&self, _: &[Contact], _: &Plan, _: &Progress<'_>) -> Result<Trajectories, EngineError> {
        match *self {}
    }
}

impl Engine for Gpu {
    fn info(&self) -> EngineInfo {
        match *self {}
    }

    fn rollout(&self, _: &[Contact], _: &Plan, _: &Progress<'_>) -> Result<Trajectories, EngineError> {
        match *self {}
    }
}

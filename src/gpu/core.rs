//! What an engine and its batches share: the device, and what was compiled for it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use super::device::Device;
use super::limit_surface::{SurfacePipelines, Surfaces};
use super::pipeline::Pipeline;
use super::shader::Variant;

#[derive(Debug)]
pub(super) struct Core {
    pub(super) device: Device,
    pub(super) pipelines: Mutex<HashMap<Variant, Arc<Pipeline>>>,
    pub(super) surface_pipelines: SurfacePipelines,
}

impl Core {
    pub(super) const fn surfaces(&self) -> Surfaces<'_> {
        Surfaces { device: &self.device, pipelines: &self.surface_pipelines }
    }
}

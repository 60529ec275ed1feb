//! What an engine and its batches share: the device, and what was compiled for it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use super::cone::{ConePipelines, Cones};
use super::device::Device;
use super::limit_surface::{SurfacePipelines, Surfaces};
use super::pipeline::Pipeline;
use super::shader::Variant;

#[derive(Debug)]
pub(super) struct Core {
    pub(super) device: Device,
    pub(super) pipelines: Mutex<HashMap<Variant, Arc<Pipeline>>>,
    pub(super) surface_pipelines: SurfacePipelines,
    pub(super) cone_pipelines: ConePipelines,
    /// The shader of contact problems, compiled when it is first asked for.
    pub(super) blocks: Mutex<Option<Arc<Pipeline>>>,
}

impl Core {
    pub(super) const fn surfaces(&self) -> Surfaces<'_> {
        Surfaces { device: &self.device, pipelines: &self.surface_pipelines }
    }

    pub(super) const fn cones(&self) -> Cones<'_> {
        Cones { device: &self.device, pipelines: &self.cone_pipelines }
    }
}

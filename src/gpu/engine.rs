//! The GPU engine: opens a device, compiles pipelines, groups contacts by pipeline.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use rayon::prelude::*;

use super::batch::GpuBatch;
use super::captured::Captures;
use super::contact::BatchContact;
use super::core::Core;
use super::device::{Adapter, Choice, Device};
use super::group::{Budget, Group, Kernel, bindings};
use super::limit_surface::SurfacePipelines;
use super::live::Live;
use super::memory;
use super::pipeline::Pipeline;
use super::shader::Variant;
use super::shape::{self, Layout};
use crate::batch::Batch;
use crate::contact::Contact;
use crate::engine::{Engine, EngineInfo, Plan, Progress, Stepping, StopWhen, Trajectories, validate};
use crate::error::{DeviceError, EngineError};
use crate::limit_surface::{Rule, Table};
use crate::patch::Patch;
use crate::planar::{Twist, Wrench};
use crate::pool;
use crate::schedule::Timeline;
use crate::wait::{Work, wait_for};

/// The GPU engine. A clone is the same device.
#[derive(Clone, Debug)]
pub struct Gpu {
    core: Arc<Core>,
    /// For tests: the adapter's own limits are used without it.
    budget: Option<Budget>,
    /// The layout of grids, in place of the adapter's own: for tests, and to measure.
    layout: Option<Layout>,
}

impl Drop for Gpu {
    fn drop(&mut self) {
        if self.core.device.is_of_parent() {
            // As a batch in a child that was forked.
            std::mem::forget(Arc::clone(&self.core));
        }
    }
}

impl Gpu {
    /// Opens the best adapter that `choice` allows; if the variable `WGPU_ADAPTER_NAME` of the environment
    /// names one, that.
    ///
    /// # Errors
    /// No such adapter, or a device that does not open.
    pub fn new(choice: Choice) -> Result<Self, EngineError> {
        Self::open(choice, None)
    }

    /// Opens the first adapter that has `name` in its own name, in letters of any case; [`adapters`] lists
    /// them.
    ///
    /// [`adapters`]: super::adapters
    ///
    /// # Errors
    /// No such adapter, with the names of those that there are, or a device that does not open.
    pub fn named(name: &str) -> Result<Self, EngineError> {
        Self::open(Choice::Any, Some(name))
    }

    /// [`Gpu::new`], for programs in a browser, where no thread may wait: the adapter that it prefers.
    ///
    /// # Errors
    /// As [`Gpu::new`].
    pub fn new_async(choice: Choice) -> impl Future<Output = Result<Self, EngineError>> {
        let opened: Work<'static, Self> = Box::pin(async move { Ok(Self::of(Device::open(choice, None).await?)) });
        opened
    }

    fn open(choice: Choice, name: Option<&str>) -> Result<Self, EngineError> {
        Ok(Self::of(wait_for(Device::open(choice, name))?))
    }

    fn of(device: Device) -> Self {
        let core = Core { device, pipelines: Mutex::default(), surface_pipelines: SurfacePipelines::default() };
        Self { core: Arc::new(core), budget: None, layout: None }
    }

    /// Loses the device, as a driver does that resets it: for tests.
    #[doc(hidden)]
    pub fn lose(&self) {
        self.core.device.handle.destroy();
    }

    /// An engine whose shaders of contacts, cones and contact problems go through `edit` before they are
    /// compiled: the negative control of tests.
    ///
    /// # Errors
    /// As [`Gpu::new`].
    #[doc(hidden)]
    pub fn with_edit(choice: Choice, edit: fn(String) -> String) -> Result<Self, EngineError> {
        let mut gpu = Self::new(choice)?;
        Arc::get_mut(&mut gpu.core).expect("an engine without batches").device.edit = Some(edit);
        Ok(gpu)
    }

    /// The same engine with windows of about `work` cell visits and dispatches of at most `passes`, which
    /// must not change any result.
    #[doc(hidden)]
    #[must_use]
    pub fn with_budget(mut self, work: f64, passes: u32) -> Self {
        self.budget = Some(Budget { work, passes });
        self
    }

    /// The same engine with another layout of grids, for those that may have it.
    #[doc(hidden)]
    #[must_use]
    pub fn with_layout(mut self, layout: Layout) -> Self {
        self.layout = Some(layout);
        self
    }

    /// The same engine with kernels for another adapter than it runs on.
    #[doc(hidden)]
    #[must_use]
    pub fn with_adapter(mut self, edit: fn(&mut Adapter)) -> Self {
        edit(&mut Arc::get_mut(&mut self.core).expect("an engine without batches").device.adapter);
        self
    }

    /// The same engine, and where it keeps its dispatches with what their buffers held before.
    #[doc(hidden)]
    #[must_use]
    pub fn capturing(mut self) -> (Self, Captures) {
        let captures = Captures::default();
        let core = Arc::get_mut(&mut self.core).expect("an engine without batches");
        core.device.captures = Some(Arc::clone(&captures));
        (self, captures)
    }

    /// The same engine with buffers of at most `bytes`, which must not change any result.
    #[doc(hidden)]
    #[must_use]
    pub fn with_buffers_of(mut self, bytes: u64) -> Self {
        let core = Arc::get_mut(&mut self.core).expect("an engine without batches");
        let most = &mut core.device.adapter.max_storage_buffer;
        *most = bytes.min(*most);
        self
    }

    /// The same engine on a device that has memory for at most `bytes` in buffers, if its driver counts them.
    #[doc(hidden)]
    #[must_use]
    pub fn with_memory_of(mut self, bytes: u64) -> Self {
        Arc::get_mut(&mut self.core).expect("an engine without batches").device.memory = Some(bytes);
        self
    }

    /// The adapter that runs.
    #[must_use]
    pub fn adapter(&self) -> &Adapter {
        &self.core.device.adapter
    }

    /// Bytes of device memory that this engine holds now, if the driver lets us count: those in use, and
    /// those taken from the device for them.
    #[must_use]
    pub fn memory(&self) -> Option<[u64; 2]> {
        let report = self.core.device.handle.generate_allocator_report()?;
        Some([report.total_allocated_bytes, report.total_reserved_bytes])
    }

    /// Coulomb wrenches `[patch][twist]` [-, -, m] for `mu f_N = 1`, `docs/model.md` (88): every patch for
    /// every twist [m/s, m/s, rad/s], both at the patch's centre of pressure; to 1e-5 of the largest of
    /// [`Surface::coulomb`](crate::limit_surface::Surface::coulomb). Only a twist's direction counts; zero
    /// for a twist of zero. By the rule `points`, whose surface steps where the centre of rotation meets the
    /// centre of a cell, the error is up to 1e-6 of the patch's span over the distance of the two. A wrench
    /// has the same bits in any batch whose first patch has cells of the same area.
    ///
    /// # Errors
    /// A twist that is not finite, or a device that fails.
    pub fn coulomb(&self, patches: &[Patch], rule: Rule, twists: &[Twist]) -> Result<Vec<Vec<Wrench>>, EngineError> {
        wait_for(self.core.device.watch(Box::pin(self.core.surfaces().coulomb(patches, rule, twists))))
    }

    /// The tables of many patches with resolution `n_ls`, to 1e-5 of the largest of [`Table::new`]; of
    /// directions that are mirror images by the symmetry of a patch one is computed. `r` is the device's, by
    /// the rule of the table: a dispatch of pure rotations comes first. Cells much longer than wide are less
    /// exact: errors of 4e-5 (`cells`, a hundred times as long) and of 4e-3 (`bilinear`, thirty times,
    /// pressure along a diagonal) were found. A patch has the same table, bit for bit, in any batch.
    ///
    /// # Errors
    /// `n_ls` of zero or above [`MAX_N_LS`](crate::limit_surface::MAX_N_LS), or a device that fails.
    pub fn tables(&self, patches: &[Patch], rule: Rule, n_ls: usize) -> Result<Vec<Table>, EngineError> {
        wait_for(self.tables_async(patches, rule, n_ls))
    }

    /// [`Gpu::tables`], for programs in a browser, where no thread may wait.
    ///
    /// # Errors
    /// As [`Gpu::tables`].
    pub fn tables_async<'a>(
        &'a self,
        patches: &'a [Patch],
        rule: Rule,
        n_ls: usize,
    ) -> impl Future<Output = Result<Vec<Table>, EngineError>> + 'a {
        let tables: Work<'a, _> = Box::pin(self.core.surfaces().tables(patches, rule, n_ls));
        let watched: Work<'a, _> = Box::pin(self.core.device.watch(tables));
        watched
    }

    /// [`Engine::batch`], for programs in a browser, where no thread may wait.
    ///
    /// # Errors
    /// As [`Engine::batch`].
    pub fn batch_async(
        &self,
        contacts: Vec<Contact>,
        stepping: Stepping,
    ) -> impl Future<Output = Result<Batch, EngineError>> {
        let made: Work<'_, _> = Box::pin(async move {
            Batch::validate(&contacts, stepping)?;
            let of = &contacts[..];
            let prepare = |contact: &Contact| (Timeline::default(), contact.cells_ever_active());
            let groups = self.core.device.watch(Box::pin(async {
                let mut groups = Vec::new();
                for group in self.groups(of, stepping, StopWhen::NEVER, prepare)? {
                    groups.push(Live::new(group()?, of).await?);
                }
                Ok(groups)
            }));
            let stepper = Box::new(GpuBatch::new(&self.core, groups.await?, of.len()));
            Ok(Batch::new(contacts, stepping, self.info(), stepper))
        });
        made
    }

    /// [`Engine::rollout`], for programs in a browser, where no thread may wait.
    ///
    /// # Errors
    /// As [`Engine::rollout`].
    pub fn rollout_async<'a>(
        &'a self,
        contacts: &'a [Contact],
        plan: &'a Plan,
        progress: &'a Progress<'_>,
    ) -> impl Future<Output = Result<Trajectories, EngineError>> + 'a {
        let stepped: Work<'a, _> = Box::pin(async move {
            validate(contacts, plan)?;
            let mut out = Trajectories::for_plan(contacts.len(), plan)?;
            let prepare = |contact: &Contact| {
                let timeline = contact.timeline(&plan.samples);
                let active = if contact.model.is_grid() { contact.active_cells(&timeline) } else { Vec::new() };
                (timeline, active)
            };
            let recorded = self.core.device.watch(Box::pin(async {
                // A group is a batch that is recorded and dropped.
                for group in self.groups(contacts, plan.stepping(), plan.stop_when, prepare)? {
                    let mut live = Live::new(group()?, contacts).await?;
                    live.record(contacts, progress, &mut out).await?;
                }
                Ok(())
            }));
            recorded.await?;
            Ok(out)
        });
        stepped
    }

    pub(super) fn device(&self) -> &Device {
        &self.core.device
    }

    fn pipeline(&self, variant: Variant) -> Result<Arc<Pipeline>, EngineError> {
        let mut pipelines = self.core.pipelines.lock().expect("no panic while compiling");
        if let Some(pipeline) = pipelines.get(&variant) {
            return Ok(Arc::clone(pipeline));
        }
        let text = self.core.device.edited(variant.source().map_err(DeviceError::failed)?);
        let bindings = bindings(variant.is_grid());
        let pipeline = Pipeline::new(&self.core.device, &text, "rollout", &bindings, &variant.constants())?;
        let pipeline = Arc::new(pipeline);
        pipelines.insert(variant, Arc::clone(&pipeline));
        Ok(pipeline)
    }
}

impl Engine for Gpu {
    fn info(&self) -> EngineInfo {
        EngineInfo {
            engine: "gpu",
            precision: "f32",
            adapter: self.core.device.adapter.name.clone(),
            driver: format!("{} {}", self.core.device.adapter.backend, self.core.device.adapter.driver),
            shape: shape::described(&self.core.device.adapter),
        }
    }

    fn batch(&self, contacts: Vec<Contact>, stepping: Stepping) -> Result<Batch, EngineError> {
        wait_for(self.batch_async(contacts, stepping))
    }

    fn rollout(&self, contacts: &[Contact], plan: &Plan, progress: &Progress<'_>) -> Result<Trajectories, EngineError> {
        wait_for(self.rollout_async(contacts, plan, progress))
    }
}

impl Gpu {
    /// The groups in which contacts are stepped, each made when it is called. What does not fit is refused
    /// before anything is computed. `prepare` gives a contact's timeline and the cells that carry pressure at
    /// some time.
    pub(super) fn groups<'s>(
        &'s self,
        of: &'s [Contact],
        stepping: Stepping,
        stop_when: StopWhen,
        prepare: impl Fn(&Contact) -> (Timeline, Vec<usize>) + Sync,
    ) -> Result<Vec<impl FnOnce() -> Result<Group, EngineError> + 's>, EngineError> {
        let adapter = &self.core.device.adapter;
        let prepare = |(i, contact): (usize, &Contact)| {
            let (timeline, active) = prepare(contact);
            BatchContact::new(i, contact, timeline, active)
        };
        let prepared: Vec<BatchContact> = pool::run(|| of.par_iter().enumerate().map(prepare).collect());
        let mut by_variant: BTreeMap<Variant, Vec<BatchContact>> = BTreeMap::new();
        for contact in prepared {
            let variant = contact.variant(&of[contact.index], stepping, adapter, self.layout)?;
            by_variant.entry(variant).or_default().push(contact);
        }
        let mut groups = Vec::new();
        for (variant, contacts) in by_variant {
            for contacts in memory::split(contacts, of, adapter.max_storage_buffer)? {
                groups.push(move || {
                    let kernel = Kernel { pipeline: self.pipeline(variant)?, variant };
                    let (core, budget) = (&self.core, self.budget);
                    Ok(Group::new(core, kernel, budget, contacts, of, stepping, &stop_when)?)
                });
            }
        }
        Ok(groups)
    }
}

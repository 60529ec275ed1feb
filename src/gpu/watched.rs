//! A batch whose device may fail: what the device said first is the answer to every later call.

use std::sync::Arc;

use super::batch::GpuBatch;
use super::core::Core;
use crate::batch::{Sample, Saved, Stepper};
use crate::contact::Contact;
use crate::engine::Status;
use crate::error::{DeviceError, EngineError};
use crate::planar::Twist;
use crate::schedule::Span;
use crate::solver::respond::Response;

/// A batch and the failure that ended it. In a child that was forked it is left as it is: to free what a
/// driver has would be to ask the driver.
pub(super) struct Watched {
    core: Arc<Core>,
    batch: GpuBatch,
    failure: Option<DeviceError>,
}

impl Watched {
    pub(super) fn new(core: &Arc<Core>, batch: GpuBatch) -> Self {
        Self { core: Arc::clone(core), batch, failure: None }
    }

    /// Does `work` on the batch. If the device fails, the state of the contacts is not known any more.
    fn on_device<T>(&mut self, work: impl FnOnce(&mut GpuBatch) -> Result<T, EngineError>) -> Result<T, EngineError> {
        self.check()?;
        let Self { core, batch, failure } = self;
        let out = core.device.watch(|| work(batch));
        if let Err(EngineError::Device(error)) = &out {
            *failure = Some(error.clone());
        }
        out
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        if self.core.device.is_of_parent() {
            std::mem::forget((std::mem::take(&mut self.batch), Arc::clone(&self.core)));
        }
    }
}

impl Stepper for Watched {
    fn check(&self) -> Result<(), EngineError> {
        self.failure.clone().map_or_else(|| self.core.device.check(), Err)?;
        Ok(())
    }

    fn load(&mut self, contact: usize, of: &Contact) -> Result<(), EngineError> {
        self.on_device(|batch| batch.load(contact, of))
    }

    fn advance(&mut self, contacts: &[Contact], spans: &[Option<Span>]) -> Result<(), EngineError> {
        self.on_device(|batch| batch.advance(contacts, spans))
    }

    fn samples(&mut self, _: &[Contact], out: &mut [Sample]) -> Result<(), EngineError> {
        self.on_device(|batch| batch.samples(out))
    }

    fn request(&mut self, _: &[Contact], _: &mut [Sample]) -> Result<bool, EngineError> {
        self.on_device(GpuBatch::request).map(|()| false)
    }

    fn requested(&mut self, waits: bool, out: &mut [Sample]) -> Result<bool, EngineError> {
        self.on_device(|batch| batch.requested(waits, out))
    }

    fn statuses(&mut self, out: &mut [Status]) -> Result<(), EngineError> {
        self.on_device(|batch| batch.statuses(out))
    }

    fn bristles(&mut self, contact: usize) -> Result<Vec<[f64; 2]>, EngineError> {
        self.on_device(|batch| batch.bristles(contact))
    }

    fn respond(
        &mut self,
        contact: usize,
        of: &Contact,
        twist: Twist,
        dt: f64,
    ) -> Result<Option<Response>, EngineError> {
        self.on_device(|batch| batch.respond(contact, of, twist, dt))
    }

    fn set_map(&mut self, contact: usize, of: &Contact, mu_c: f64) -> Result<(), EngineError> {
        self.on_device(|batch| batch.set_map(contact, of, mu_c))
    }

    fn pairs(&self, contact: usize) -> usize {
        self.batch.pairs(contact)
    }

    fn get(&mut self, pairs: &mut Vec<[f64; 2]>, out: &mut [Saved]) -> Result<(), EngineError> {
        self.on_device(|batch| batch.get(pairs, out))
    }

    fn put(&mut self, contact: usize, of: &Contact, saved: &Saved, pairs: &[[f64; 2]]) -> Result<(), EngineError> {
        self.on_device(|batch| batch.put(contact, of, saved, pairs))
    }
}

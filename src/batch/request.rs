//! Samples that are asked for and read later.

use super::{Batch, Sample};
use crate::error::{EngineError, ParameterError};

impl Batch {
    /// Asks for the present samples and does not wait for them: a device goes on computing, and the caller
    /// with other work, such as the next call of [`Batch::advance`]. Whatever is called meanwhile, what comes
    /// are the samples of this moment, with the bits of [`Batch::samples`]. They take the place of those
    /// asked for before. On a CPU they are there at once.
    ///
    /// ```
    /// # use bristle::{Contact, Cpu, Engine, Frame, FreeBody, Friction, Grid, Initial, Inputs, Model};
    /// # use bristle::{Patch, Shape, Stepping};
    /// # let contact = Contact {
    /// #     patch: Patch::shape(Grid::new(11, 11, 0.02, 0.02)?, Shape::Disc)?.into(),
    /// #     model: Model::Distributed,
    /// #     friction: Friction::default(),
    /// #     body: FreeBody::new(Frame::Gripper, 0.2, 4.8e-4).into(),
    /// #     inputs: Inputs::default(),
    /// #     initial: Initial::default(),
    /// # };
    /// # let mut batch = Cpu::new().batch(vec![contact], Stepping::default())?;
    /// batch.advance(2e-3)?;
    /// batch.request_samples()?;
    /// batch.advance(2e-3)?;
    /// let two_ms_ago = batch.requested_samples()?;       // while the device computes
    /// # assert!(two_ms_ago[0].pose.y.is_finite());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// A device that fails.
    pub fn request_samples(&mut self) -> Result<(), EngineError> {
        self.stepper.check()?;
        self.requested.resize(self.len(), Sample::NONE);
        if self.is_read {
            self.requested.copy_from_slice(&self.samples);
            self.has_requested = Some(true);
        } else {
            self.has_requested = None;
            self.has_requested = Some(self.stepper.request(&self.contacts, &mut self.requested).wait()?);
        }
        Ok(())
    }

    /// The samples that [`Batch::request_samples`] asked for last, if they have come; nobody waits.
    ///
    /// # Errors
    /// None were asked for, or a device that fails.
    pub fn poll_samples(&mut self) -> Result<Option<&[Sample]>, EngineError> {
        let there = self.collect(false)?;
        Ok(there.then_some(&self.requested))
    }

    /// The samples that [`Batch::request_samples`] asked for last; waits for them.
    ///
    /// # Errors
    /// None were asked for, or a device that fails.
    pub fn requested_samples(&mut self) -> Result<&[Sample], EngineError> {
        self.collect(true)?;
        Ok(&self.requested)
    }

    fn collect(&mut self, waits: bool) -> Result<bool, EngineError> {
        self.stepper.check()?;
        match self.has_requested {
            Some(true) => return Ok(true),
            Some(false) => {}
            None => return Err(ParameterError::new("samples", "none", "a call of `request_samples` before").into()),
        }
        let there = self.stepper.requested(waits, &mut self.requested).wait()?;
        self.has_requested = Some(there);
        Ok(there)
    }
}

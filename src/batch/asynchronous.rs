//! The calls of a batch for programs in a browser, where no thread may wait for a device: a page calls them
//! from an `async` function, and the browser goes on meanwhile. Elsewhere, and on a CPU, they do what the
//! calls of the same names do, and are finished when they are first polled.

use super::{Batch, Sample, Snapshot};
use crate::error::EngineError;
use crate::plan::Status;

impl Batch {
    /// [`Batch::advance`].
    ///
    /// # Errors
    /// As [`Batch::advance`].
    pub async fn advance_async(&mut self, dt: f64) -> Result<(), EngineError> {
        self.begin_advance(dt, |_| true)?;
        self.stepper.advance(&self.contacts, &self.spans).later().await?;
        self.end_advance();
        Ok(())
    }

    /// [`Batch::samples`].
    ///
    /// # Errors
    /// As [`Batch::samples`].
    pub async fn samples_async(&mut self) -> Result<&[Sample], EngineError> {
        self.stepper.check()?;
        if !self.is_read {
            self.stepper.samples(&self.contacts, &mut self.samples).later().await?;
            self.is_read = true;
        }
        Ok(&self.samples)
    }

    /// [`Batch::statuses`].
    ///
    /// # Errors
    /// As [`Batch::statuses`].
    pub async fn statuses_async(&mut self) -> Result<&[Status], EngineError> {
        self.statuses.resize(self.len(), Status::default());
        self.stepper.statuses(&mut self.statuses).later().await?;
        Ok(&self.statuses)
    }

    /// [`Batch::bristles_of`].
    ///
    /// # Errors
    /// As [`Batch::bristles_of`].
    pub async fn bristles_of_async(&mut self, contacts: &[usize]) -> Result<Vec<Vec<[f64; 2]>>, EngineError> {
        contacts.iter().try_for_each(|k| self.check(*k))?;
        self.stepper.bristles(contacts, &self.contacts).later().await
    }

    /// [`Batch::reset`] of all contacts.
    ///
    /// # Errors
    /// As [`Batch::reset`].
    pub async fn reset_async(&mut self) -> Result<(), EngineError> {
        self.stepper.check()?;
        for k in 0..self.len() {
            self.starts[k].put_back(&mut self.contacts[k]);
            self.start_over(k).later().await?;
        }
        Ok(())
    }

    /// [`Batch::save`].
    ///
    /// # Errors
    /// As [`Batch::save`].
    pub async fn save_async(&mut self) -> Result<Snapshot, EngineError> {
        let mut snapshot = Snapshot::default();
        self.begin_save(&mut snapshot)?;
        self.stepper.save(&mut snapshot.states).later().await?;
        self.end_save(&mut snapshot);
        Ok(snapshot)
    }

    /// [`Batch::restore`].
    ///
    /// # Errors
    /// As [`Batch::restore`].
    pub async fn restore_async(&mut self, snapshot: &Snapshot) -> Result<(), EngineError> {
        self.check_restore(snapshot)?;
        for k in 0..self.len() {
            let state = self.give(k, snapshot);
            self.stepper.restore(k, &self.contacts[k], &state).later().await?;
        }
        Ok(())
    }
}

#[cfg(all(test, feature = "gpu"))]
mod tests {
    use crate::contact::{Form, Model};
    use crate::cpu::Cpu;
    use crate::engine::{Engine, Stepping};
    use crate::fixtures::{disc, held};
    use crate::gpu::{Choice, Gpu};
    use crate::wait::wait_for;

    #[test]
    fn calls_that_answer_later_do_what_the_others_do() {
        let contacts = vec![
            held(Model::Distributed, &disc(5), 0.9),
            held(Model::Ellipsoid(Form::Consistent), &disc(5), 0.9),
            held(Model::Distributed, &disc(5), 4.0),
        ];
        let gpu = wait_for(Gpu::new_async(Choice::Any)).unwrap();
        let engines: [&dyn Engine; 2] = [&Cpu::new(), &gpu];
        for engine in engines {
            let [mut own, mut other] = [0; 2].map(|_| engine.batch(contacts.clone(), Stepping::default()).unwrap());
            own.advance(0.01).unwrap();
            wait_for(other.advance_async(0.01)).unwrap();
            assert_eq!(own.samples().unwrap(), wait_for(other.samples_async()).unwrap());
            assert_eq!(own.statuses().unwrap(), wait_for(other.statuses_async()).unwrap());
            let which = [2, 0];
            assert_eq!(own.bristles_of(&which).unwrap(), wait_for(other.bristles_of_async(&which)).unwrap());
            assert_eq!(own.bristles(1).unwrap(), wait_for(other.bristles_of_async(&[1])).unwrap()[0]);
            let [saved, later] = [own.save().unwrap(), wait_for(other.save_async()).unwrap()];
            assert_eq!(saved.to_bytes().unwrap(), later.to_bytes().unwrap());
            wait_for(other.advance_async(0.02)).unwrap();
            wait_for(other.restore_async(&saved)).unwrap();
            assert_eq!(other.time(0), 0.01);
            assert_eq!(own.samples().unwrap(), wait_for(other.samples_async()).unwrap());
            wait_for(other.reset_async()).unwrap();
            own.reset(&[0, 1, 2]).unwrap();
            assert_eq!((other.time(2), own.samples().unwrap()), (0.0, wait_for(other.samples_async()).unwrap()));
            assert!(wait_for(other.advance_async(-1.0)).is_err() && wait_for(other.bristles_of_async(&[3])).is_err());
        }
        let first =
            wait_for(gpu.batch_async(contacts.clone(), Stepping::default())).unwrap().samples().unwrap().to_vec();
        assert_eq!(first, gpu.batch(contacts, Stepping::default()).unwrap().samples().unwrap());
    }
}

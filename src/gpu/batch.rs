//! A batch on the device: its groups, and what [`Stepper`](crate::batch::Stepper) asks of them.

use super::contact::device_state;
use super::group::{Group, shown_bristles, status_of};
use super::inputs::own_first_bristles;
use super::live::Live;
use super::patch_state::PatchState;
use crate::batch::{Sample, Saved};
use crate::contact::{Contact, move_centre};
use crate::engine::Status;
use crate::error::EngineError;
use crate::planar::Twist;
use crate::schedule::Span;
use crate::solver::commit::respond_to;
use crate::solver::respond::Response;

/// The groups of a batch.
#[derive(Default)]
pub(super) struct GpuBatch {
    groups: Vec<Live>,
    /// Group and place in it of every contact.
    places: Vec<(usize, usize)>,
}

impl GpuBatch {
    pub(super) fn new(groups: Vec<Group>, of: &[Contact]) -> Result<Self, EngineError> {
        let mut places = vec![(0, 0); of.len()];
        for (g, group) in groups.iter().enumerate() {
            group.contacts.iter().enumerate().for_each(|(i, contact)| places[contact.index] = (g, i));
        }
        let groups = groups.into_iter().map(|group| Live::new(group, of)).collect::<Result<_, _>>()?;
        Ok(Self { groups, places })
    }

    fn place(&mut self, contact: usize) -> (&mut Live, usize) {
        let (group, i) = self.places[contact];
        (&mut self.groups[group], i)
    }
}

impl GpuBatch {
    pub(super) fn load(&mut self, contact: usize, of: &Contact) -> Result<(), EngineError> {
        let (live, i) = self.place(contact);
        live.settle()?;
        live.record_start(i, of)?;
        live.write_map(i, of);
        let bristles = own_first_bristles(&live.group.contacts[i], of);
        live.write(i, device_state(of), &bristles);
        Ok(())
    }

    pub(super) fn advance(&mut self, contacts: &[Contact], spans: &[Option<Span>]) -> Result<(), EngineError> {
        // Nothing is sent before it is known that all can be.
        self.groups.iter_mut().try_for_each(|live| live.cut(contacts, spans))?;
        self.groups.iter_mut().try_for_each(|live| live.advance(contacts, spans))
    }

    pub(super) fn samples(&mut self, out: &mut [Sample]) -> Result<(), EngineError> {
        for live in &mut self.groups {
            live.settle_and_record()?;
            if let Some(copied) = &live.copied {
                let index = |i: usize| live.group.contacts[i].index;
                live.copy_samples(live.staging, copied, |i, sample| out[index(i)] = sample)?;
            }
        }
        Ok(())
    }

    /// Asks for the present samples, and does not wait for them.
    pub(super) fn request(&mut self) -> Result<(), EngineError> {
        self.groups.iter_mut().try_for_each(Live::request)
    }

    /// The samples that were asked for, if they are there; waits for them if that is wanted.
    pub(super) fn requested(&mut self, waits: bool, out: &mut [Sample]) -> Result<bool, EngineError> {
        let mut all = true;
        for live in &mut self.groups {
            all &= live.has_requested(waits)?;
        }
        if all {
            for live in &self.groups {
                let both = live.group.contacts.iter().zip(&live.requested);
                both.for_each(|(contact, sample)| out[contact.index] = *sample);
            }
        }
        Ok(all)
    }

    pub(super) fn statuses(&mut self, out: &mut [Status]) -> Result<(), EngineError> {
        for live in &mut self.groups {
            live.settle_and_record()?;
            let both = live.group.contacts.iter().zip(&live.states);
            both.for_each(|(contact, state)| out[contact.index] = status_of(state));
        }
        Ok(())
    }

    pub(super) fn bristles(&mut self, contact: usize) -> Result<Vec<[f64; 2]>, EngineError> {
        let (live, i) = self.place(contact);
        live.settle_and_record()?;
        let kind = live.group.contacts[i].kind;
        Ok(shown_bristles(&live.bristles(i)?, kind))
    }

    /// In double precision on the CPU: one pass over one contact takes less time there than a dispatch.
    pub(super) fn respond(
        &mut self,
        contact: usize,
        of: &Contact,
        twist: Twist,
        dt: f64,
    ) -> Result<Option<Response>, EngineError> {
        let (live, i) = self.place(contact);
        live.settle_and_record()?;
        if live.states[i].status != 0 {
            return Ok(None);
        }
        let pairs: Vec<[f64; 2]> = live.bristles(i)?.into_iter().map(|z| z.map(f64::from)).collect();
        Ok(Some(respond_to(of, &live.state(i), &pairs, twist, dt)))
    }

    pub(super) fn set_map(&mut self, contact: usize, of: &Contact, mu_c: f64) -> Result<(), EngineError> {
        let (live, i) = self.place(contact);
        live.settle_and_record()?;
        if live.states[i].status != 0 {
            return Ok(());
        }
        let state = live.state(i);
        if of.model.is_grid() {
            live.record_present(i, of, state.inputs, None)?;
            live.write_map(i, of);
            return Ok(());
        }
        let mut pairs: Vec<[f64; 2]> = live.bristles(i)?.into_iter().map(|z| z.map(f64::from)).collect();
        let before = live.group.inputs.patch_states[i].clone();
        live.record_present(i, of, state.inputs, None)?;
        live.write_map(i, of);
        transfer_bristle(&mut pairs, [&before, &live.group.inputs.patch_states[i]], of, mu_c);
        live.write_saved(i, of, &Saved { state, failure: None, pairs: 0..pairs.len() }, &pairs);
        Ok(())
    }

    pub(super) fn pairs(&self, contact: usize) -> usize {
        let (group, i) = self.places[contact];
        self.groups[group].group.contacts[i].bristle_pairs()
    }

    pub(super) fn get(&mut self, pairs: &mut Vec<[f64; 2]>, out: &mut [Saved]) -> Result<(), EngineError> {
        pairs.clear();
        for live in &mut self.groups {
            live.settle_and_record()?;
            let start = pairs.len();
            pairs.extend(live.group.read_bristles()?.into_iter().map(|z| z.map(f64::from)));
            for (i, contact) in live.group.contacts.iter().enumerate() {
                let first = start + live.first[i];
                let pairs = first..first + contact.bristle_pairs();
                let failure = status_of(&live.states[i]).failure;
                out[contact.index] = Saved { state: live.state(i), failure, pairs };
            }
        }
        Ok(())
    }

    pub(super) fn put(
        &mut self,
        contact: usize,
        of: &Contact,
        saved: &Saved,
        pairs: &[[f64; 2]],
    ) -> Result<(), EngineError> {
        let (live, i) = self.place(contact);
        live.settle()?;
        let state = &saved.state;
        live.record_present(i, of, state.inputs, state.mapped)?;
        live.write_map(i, of);
        live.write_saved(i, of, saved, pairs);
        Ok(())
    }
}

/// Carries the bristle of a reduced model, as it is saved, over from one map of a contact to another, under
/// `mu_c`.
fn transfer_bristle(pairs: &mut [[f64; 2]], [from, to]: [&PatchState; 2], of: &Contact, mu_c: f64) {
    let zeta = [pairs[0][0] + pairs[1][1], pairs[0][1] + pairs[2][0], pairs[1][0] + pairs[2][1]];
    let zeta = move_centre(zeta, [from.radius, from.arm2], from.cop, to.cop);
    let s_ba = of.friction.effective_for_law().s_ba;
    let [turned, residual] = to.transfer_from(from, of).apply(zeta, pairs[3][0], mu_c, s_ba);
    pairs.copy_from_slice(&[[zeta[0], zeta[1]], [turned, 0.0], [0.0, 0.0], [residual, 0.0]]);
}

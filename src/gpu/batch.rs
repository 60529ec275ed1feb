//! Contacts that stay on the device between calls: the groups of a batch. A device may fail: what it said
//! first is the answer to every later call.

use std::sync::Arc;

use pollster::block_on;
use rayon::prelude::*;

use super::contact::device_state;
use super::core::Core;
use super::group::{shown_bristles, status_of};
use super::inputs::own_first_bristles;
use super::live::Live;
use super::memory;
use super::patch_state::PatchState;
use crate::batch::{Sample, Stepper};
use crate::contact::{Contact, move_centre};
use crate::engine::{Progress, Status, Trajectories};
use crate::error::{DeviceError, EngineError};
use crate::planar::Twist;
use crate::pool;
use crate::schedule::Span;
use crate::solver::commit::respond_to;
use crate::solver::respond::Response;
use crate::solver::state::State;

/// The groups of a batch, and the failure that ended it. In a child that was forked it is leaked: to free it
/// would be to call the driver, which belongs to the parent.
pub(super) struct GpuBatch {
    core: Arc<Core>,
    groups: Vec<Live>,
    /// Group and place in it of every contact.
    places: Vec<(usize, usize)>,
    failure: Option<DeviceError>,
}

impl GpuBatch {
    pub(super) fn new(core: &Arc<Core>, groups: Vec<Live>, contacts: usize) -> Self {
        let mut places = vec![(0, 0); contacts];
        for (g, live) in groups.iter().enumerate() {
            live.group.contacts.iter().enumerate().for_each(|(i, contact)| places[contact.index] = (g, i));
        }
        Self { core: Arc::clone(core), groups, places, failure: None }
    }

    /// Does `work` on the groups. If the device fails, the state of the contacts is not known any more.
    fn on_device<T>(
        &mut self,
        work: impl AsyncFnOnce(&mut [Live]) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        self.check()?;
        let out = block_on(self.core.device.watch(work(&mut self.groups)));
        if let Err(EngineError::Device(error)) = &out {
            self.failure = Some(error.clone());
        }
        out
    }

    /// Does `work` on the group of a contact, given the place of the contact in it.
    fn on_group<T>(
        &mut self,
        contact: usize,
        work: impl AsyncFnOnce(&mut Live, usize) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        let (group, i) = self.places[contact];
        self.on_device(async |groups| work(&mut groups[group], i).await)
    }
}

impl Drop for GpuBatch {
    fn drop(&mut self) {
        if self.core.device.is_of_parent() {
            std::mem::forget((std::mem::take(&mut self.groups), Arc::clone(&self.core)));
        }
    }
}

impl Stepper for GpuBatch {
    fn check(&self) -> Result<(), EngineError> {
        self.failure.clone().map_or_else(|| self.core.device.check(), Err)?;
        Ok(())
    }

    fn takes(&self, contact: usize, old: &Contact, new: &Contact) -> bool {
        let (group, i) = self.places[contact];
        self.groups[group].group.takes(i, old, new)
    }

    fn load(&mut self, contact: usize, of: &Contact) -> Result<(), EngineError> {
        self.on_group(contact, async |live, i| {
            live.settle().await?;
            live.group.replace(i, of);
            live.ask_start(i, of).await?;
            live.write_map(i, of);
            let bristles = own_first_bristles(&live.group.contacts[i], of);
            live.write(i, device_state(of), &bristles);
            Ok(())
        })
    }

    fn advance(&mut self, contacts: &[Contact], spans: &[Option<Span>]) -> Result<(), EngineError> {
        self.on_device(async |groups| {
            // Nothing is sent before it is known that all can be.
            groups.iter_mut().try_for_each(|live| live.cut(contacts, spans))?;
            for live in groups {
                live.advance(contacts, spans).await?;
            }
            Ok(())
        })
    }

    fn record(
        &mut self,
        contacts: &[Contact],
        spans: &[Option<Span>],
        progress: &Progress<'_>,
        out: &mut Trajectories,
    ) -> Result<(), EngineError> {
        self.on_device(async |groups| {
            for live in &mut *groups {
                let group = &mut live.group;
                let cut = |contact: &mut super::contact::BatchContact| {
                    if let Some(span) = spans[contact.index] {
                        contacts[contact.index].cut(&mut contact.timeline, span, &out.time);
                    }
                };
                pool::run(|| group.contacts.par_iter_mut().for_each(cut));
                memory::check_window(&group.contacts, contacts, group.adapter().max_storage_buffer)?;
            }
            for live in groups {
                live.record(contacts, progress, out).await?;
            }
            Ok(())
        })
    }

    fn samples(&mut self, _: &[Contact], out: &mut [Sample]) -> Result<(), EngineError> {
        self.on_device(async |groups| {
            for live in groups {
                live.settle_and_record().await?;
                if let Some(copied) = &live.copied {
                    let index = |i: usize| live.group.contacts[i].index;
                    live.copy_samples(live.staging, copied, |i, sample| out[index(i)] = sample).await?;
                }
            }
            Ok(())
        })
    }

    fn request(&mut self, _: &[Contact], _: &mut [Sample]) -> Result<bool, EngineError> {
        self.on_device(async |groups| {
            for live in groups {
                live.request().await?;
            }
            Ok(false)
        })
    }

    fn requested(&mut self, waits: bool, out: &mut [Sample]) -> Result<bool, EngineError> {
        self.on_device(async |groups| {
            let mut all = true;
            for live in &mut *groups {
                all &= live.has_requested(waits).await?;
            }
            if all {
                for live in groups {
                    let both = live.group.contacts.iter().zip(&live.requested);
                    both.for_each(|(contact, sample)| out[contact.index] = *sample);
                }
            }
            Ok(all)
        })
    }

    fn statuses(&mut self, out: &mut [Status]) -> Result<(), EngineError> {
        self.on_device(async |groups| {
            for live in groups {
                live.settle_and_record().await?;
                let both = live.group.contacts.iter().zip(&live.states);
                both.for_each(|(contact, state)| out[contact.index] = status_of(state));
            }
            Ok(())
        })
    }

    fn bristles(&mut self, which: &[usize], contacts: &[Contact]) -> Result<Vec<Vec<[f64; 2]>>, EngineError> {
        let mut out = vec![Vec::new(); which.len()];
        for group in 0..self.groups.len() {
            let own = which.iter().enumerate().filter(|(_, contact)| self.places[**contact].0 == group);
            let own: Vec<_> = own.map(|(at, contact)| (at, *contact, self.places[*contact].1)).collect();
            if own.is_empty() {
                continue;
            }
            self.on_device(async |groups| {
                let live = &mut groups[group];
                live.settle_and_record().await?;
                let all = live.group.read_bristles().await?;
                for (at, contact, i) in own {
                    out[at] = shown_bristles(live.own_bristles(i, &all), contacts[contact].model.kind());
                }
                Ok(())
            })?;
        }
        Ok(out)
    }

    /// In double precision on the CPU: one pass over one contact takes less time there than a dispatch.
    fn respond(
        &mut self,
        contact: usize,
        of: &Contact,
        twist: Twist,
        dt: f64,
    ) -> Result<Option<Response>, EngineError> {
        self.on_group(contact, async |live, i| {
            live.settle_and_record().await?;
            if live.states[i].status != 0 {
                return Ok(None);
            }
            let own = live.read_own_bristles(i).await?;
            Ok(Some(respond_to(of, &live.state(i, &own), twist, dt)))
        })
    }

    fn set_map(&mut self, contact: usize, of: &Contact, mu_c: f64) -> Result<(), EngineError> {
        self.on_group(contact, async |live, i| {
            live.settle_and_record().await?;
            if live.states[i].status != 0 {
                return Ok(());
            }
            let inputs = live.group.inputs.places[i].inputs;
            if of.model.is_grid() {
                live.ask_present(i, of, inputs, None).await?;
                live.write_map(i, of);
                return Ok(());
            }
            let mut state = live.state(i, &live.read_own_bristles(i).await?);
            let before = live.group.inputs.patch_states[i].clone();
            live.ask_present(i, of, inputs, None).await?;
            live.write_map(i, of);
            transfer_bristle(&mut state.bristles, [&before, &live.group.inputs.patch_states[i]], of, mu_c);
            live.write_state(i, of, &state);
            Ok(())
        })
    }

    fn save(&mut self, out: &mut [State]) -> Result<(), EngineError> {
        self.on_device(async |groups| {
            for live in groups {
                live.settle_and_record().await?;
                let all = live.group.read_bristles().await?;
                for (i, contact) in live.group.contacts.iter().enumerate() {
                    out[contact.index] = live.state(i, live.own_bristles(i, &all));
                }
            }
            Ok(())
        })
    }

    fn state(&mut self, contact: usize) -> Result<State, EngineError> {
        self.on_group(contact, async |live, i| {
            live.settle_and_record().await?;
            let own = live.read_own_bristles(i).await?;
            Ok(live.state(i, &own))
        })
    }

    fn restore(&mut self, contact: usize, of: &Contact, state: &State) -> Result<(), EngineError> {
        self.on_group(contact, async |live, i| {
            live.settle().await?;
            live.ask_present(i, of, state.inputs, state.mapped).await?;
            live.write_map(i, of);
            live.write_state(i, of, state);
            Ok(())
        })
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

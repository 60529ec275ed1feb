//! Contacts that stay on the device between calls: the groups of a batch. A device may fail: what it said
//! first is the answer to every later call.

use std::sync::Arc;

use rayon::prelude::*;

use super::contact::device_state;
use super::core::Core;
use super::group::{shown_bristles, status_of};
use super::inputs::own_first_bristles;
use super::live::Live;
use super::memory;
use super::patch_state::PatchState;
use crate::batch::{Answer, Sample, Stepper};
use crate::contact::{Contact, move_centre};
use crate::engine::{Progress, Status, Trajectories};
use crate::error::{DeviceError, EngineError};
use crate::planar::Twist;
use crate::pool;
use crate::schedule::{Span, slot};
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
    fn on_device<'a, T>(
        &'a mut self,
        work: impl AsyncFnOnce(&mut [Live]) -> Result<T, EngineError> + 'a,
    ) -> Answer<'a, T> {
        Answer::Later(Box::pin(async move {
            self.check()?;
            let out = self.core.device.watch(Box::pin(work(&mut self.groups))).await;
            if let Err(EngineError::Device(error)) = &out {
                self.failure = Some(error.clone());
            }
            out
        }))
    }

    /// Does `work` on the group of a contact, given the place of the contact in it.
    fn on_group<'a, T>(
        &'a mut self,
        contact: usize,
        work: impl AsyncFnOnce(&mut Live, usize) -> Result<T, EngineError> + 'a,
    ) -> Answer<'a, T> {
        let (group, i) = self.places[contact];
        self.on_device(async move |groups| work(&mut groups[group], i).await)
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

    fn load<'a>(&'a mut self, contact: usize, of: &'a Contact) -> Answer<'a, ()> {
        self.on_group(contact, async move |live, i| {
            live.settle().await?;
            live.group.replace(i, of);
            live.ask_start(i, of).await?;
            live.write_map(i, of);
            let bristles = own_first_bristles(&live.group.contacts[i], of);
            live.write(i, device_state(of), &bristles);
            Ok(())
        })
    }

    fn advance<'a>(&'a mut self, contacts: &'a [Contact], spans: &'a [Option<Span>]) -> Answer<'a, ()> {
        self.on_device(async move |groups| {
            // Nothing is sent before it is known that all can be.
            groups.iter_mut().try_for_each(|live| live.cut(contacts, spans))?;
            for live in groups {
                live.advance(contacts, spans).await?;
            }
            Ok(())
        })
    }

    fn record<'a>(
        &'a mut self,
        contacts: &'a [Contact],
        spans: &'a [Option<Span>],
        progress: &'a Progress<'a>,
        out: &'a mut Trajectories,
    ) -> Answer<'a, ()> {
        self.on_device(async move |groups| {
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

    fn samples<'a>(&'a mut self, _: &'a [Contact], out: &'a mut [Sample]) -> Answer<'a, ()> {
        self.on_device(async move |groups| {
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

    fn request<'a>(&'a mut self, _: &'a [Contact], _: &'a mut [Sample]) -> Answer<'a, bool> {
        self.on_device(async move |groups| {
            for live in groups {
                live.request().await?;
            }
            Ok(false)
        })
    }

    fn requested<'a>(&'a mut self, waits: bool, out: &'a mut [Sample]) -> Answer<'a, bool> {
        self.on_device(async move |groups| {
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

    fn statuses<'a>(&'a mut self, out: &'a mut [Status]) -> Answer<'a, ()> {
        self.on_device(async move |groups| {
            for live in groups {
                live.settle_and_record().await?;
                let both = live.group.contacts.iter().zip(&live.states);
                both.for_each(|(contact, state)| out[contact.index] = status_of(state));
            }
            Ok(())
        })
    }

    fn bristles<'a>(&'a mut self, which: &'a [usize], contacts: &'a [Contact]) -> Answer<'a, Vec<Vec<[f64; 2]>>> {
        // Of each contact its group, its place there, and its place in `which`.
        let places = which.iter().enumerate().map(|(at, contact)| (self.places[*contact], at));
        let mut places: Vec<((usize, usize), usize)> = places.collect();
        places.sort_unstable();
        self.on_device(async move |groups| {
            let mut out = vec![Vec::new(); which.len()];
            for own in places.chunk_by(|((a, _), _), ((b, _), _)| a == b) {
                let live = &mut groups[own[0].0.0];
                live.settle_and_record().await?;
                if let [((_, i), at)] = own {
                    let of_one = live.read_own_bristles(*i).await?;
                    out[*at] = shown_bristles(&of_one, contacts[which[*at]].model.kind());
                    continue;
                }
                let all = live.group.read_bristles().await?;
                for &((_, i), at) in own {
                    out[at] = shown_bristles(live.own_bristles(i, &all), contacts[which[at]].model.kind());
                }
            }
            Ok(out)
        })
    }

    /// In double precision on the CPU: one pass over one contact takes less time there than a dispatch.
    fn respond<'a>(
        &'a mut self,
        contact: usize,
        of: &'a Contact,
        twist: Twist,
        dt: f64,
    ) -> Answer<'a, Option<Response>> {
        self.on_group(contact, async move |live, i| {
            live.settle_and_record().await?;
            if live.states[i].status != 0 {
                return Ok(None);
            }
            let own = live.read_own_bristles(i).await?;
            Ok(Some(respond_to(of, &live.state(i, &own), twist, dt)))
        })
    }

    fn set_map<'a>(&'a mut self, contact: usize, of: &'a Contact, mu_c: f64) -> Answer<'a, ()> {
        self.on_group(contact, async move |live, i| {
            live.settle_and_record().await?;
            if live.states[i].status != 0 {
                return Ok(());
            }
            let inputs = live.group.inputs.places[i].inputs;
            if of.model.is_grid() {
                live.ask_present(i, of, (&inputs, &[]), None).await?;
                live.write_map(i, of);
                return Ok(());
            }
            let mut state = live.state(i, &live.read_own_bristles(i).await?);
            let before = live.group.inputs.patch_states[i].clone();
            live.ask_present(i, of, (&inputs, &[]), None).await?;
            live.write_map(i, of);
            transfer_bristle(&mut state.bristles, [&before, &live.group.inputs.patch_states[i]], of, mu_c);
            live.write_state(i, of, &state);
            Ok(())
        })
    }

    fn inputs(&self, contact: usize) -> ([f64; slot::COUNT], Vec<[f64; slot::OF_PART]>) {
        let (group, i) = self.places[contact];
        let inputs = &self.groups[group].group.inputs;
        (inputs.places[i].inputs, inputs.of_parts[i].clone())
    }

    fn save<'a>(&'a mut self, out: &'a mut [State]) -> Answer<'a, ()> {
        self.on_device(async move |groups| {
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

    fn state(&mut self, contact: usize) -> Answer<'_, State> {
        self.on_group(contact, async move |live, i| {
            live.settle_and_record().await?;
            let own = live.read_own_bristles(i).await?;
            Ok(live.state(i, &own))
        })
    }

    fn restore<'a>(&'a mut self, contact: usize, of: &'a Contact, state: &'a State) -> Answer<'a, ()> {
        self.on_group(contact, async move |live, i| {
            live.settle().await?;
            live.ask_present(i, of, (&state.inputs, &state.of_parts), state.mapped).await?;
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

//! Contacts that stay on the device between calls. A call sends its intervals up and starts the device; nobody waits
//! for it before the next call, or before something is read.

use std::sync::Arc;
use std::time::Instant;

use super::contact::{device_pairs, device_state};
use super::group::{Group, is_behind, most_passes, sample_of, shown_bristles, status_of};
use super::inputs::own_first_bristles;
use super::layout::{Interval as DeviceInterval, State as DeviceState, Window};
use super::patch_state::{PatchState, make_tables};
use crate::batch::{Sample, Saved, Stepper};
use crate::contact::{Contact, RemapTransfer, move_centre};
use crate::engine::Status;
use crate::error::EngineError;
use crate::planar::Twist;
use crate::schedule::{Interval, Span, Timeline, slot};
use crate::solver::commit::respond_to;
use crate::solver::respond::Response;
use crate::solver::state::State;

/// The groups of a batch.
pub(super) struct GpuBatch {
    groups: Vec<Live>,
    /// Group and place in it of every contact.
    places: Vec<(usize, usize)>,
}

/// A group that lives on the device.
struct Live {
    group: Group,
    /// What the device was last told to do, until somebody has seen that it is done.
    sent: Option<Sent>,
    /// The states when that was done.
    states: Vec<DeviceState>,
    /// Where the bristles of every contact start.
    first: Vec<usize>,
    /// Contacts whose present state is not recorded, with an interval without length that records it.
    unrecorded: Vec<Option<(Interval, RemapTransfer)>>,
}

/// A window on its way.
struct Sent {
    windows: Vec<Window>,
    started: Instant,
    /// Passes of a dispatch, and of the contact that had most before.
    most: u32,
    before: u32,
}

impl Live {
    fn new(group: Group, of: &[Contact]) -> Result<Self, EngineError> {
        let mut first = Vec::with_capacity(group.contacts.len());
        let mut next = 0;
        for contact in &group.contacts {
            first.push(next);
            next += contact.bristle_pairs();
        }
        let unrecorded = vec![None; first.len()];
        let mut live = Self { group, sent: None, states: Vec::new(), first, unrecorded };
        for i in 0..live.first.len() {
            let contact = &of[live.group.contacts[i].index];
            live.record_start(i, contact)?;
        }
        Ok(live)
    }

    /// Asks for the sample of a contact at its start.
    fn record_start(&mut self, i: usize, contact: &Contact) -> Result<(), EngineError> {
        let (mut timeline, mut interval) = (Timeline::default(), Interval::default());
        contact.cut(&mut timeline, Span::run(1e-6), &[]);
        contact.interval_into(&timeline, 0, &mut interval);
        self.record(i, contact, interval)
    }

    /// Asks for the sample of a contact at the inputs at the start of `interval`, on its map.
    fn record(&mut self, i: usize, contact: &Contact, mut interval: Interval) -> Result<(), EngineError> {
        let core = Arc::clone(&self.group.core);
        let map = &mut self.group.inputs.patch_states[i];
        *map = PatchState::first(contact);
        if let Some(patch) = map.enter(contact, &mut interval).or_else(|| map.missing_table(contact))
            && let Some(like) = map.table.clone()
        {
            let made = make_tables(core.surfaces(), &[(patch, like)])?;
            made.into_iter().for_each(|table| map.set_table(table));
        }
        let transfer = map.transfer_from(map, contact);
        let interval = Interval { length: 0.0, jump: false, record: true, remap: None, ..interval };
        self.unrecorded[i] = Some((interval, transfer));
        Ok(())
    }

    /// Writes the map that a contact's patch now has, if it takes frames; a sample has been asked for on it.
    fn write_map(&mut self, i: usize, contact: &Contact) {
        if contact.patch.takes_frames() {
            self.group.write_map(i, contact);
        }
    }

    /// Asks for the sample of a contact at its present inputs, on the map of normal force `mapped` [N].
    fn record_present(
        &mut self,
        i: usize,
        contact: &Contact,
        inputs: [f64; slot::COUNT],
        mapped: Option<f64>,
    ) -> Result<(), EngineError> {
        let c = inputs.map(|v| [v, 0.0, 0.0]);
        self.record(i, contact, Interval { c, remap: mapped, ..Interval::default() })
    }

    /// Waits until the device has done what it was told.
    fn settle(&mut self) -> Result<(), EngineError> {
        let Some(Sent { windows, started, most, before }) = self.sent.take() else { return Ok(()) };
        let busy = self.group.is_busy();
        self.states = self.group.read_states()?;
        self.group.learn(most, most_passes(&self.states).saturating_sub(before), started.elapsed(), busy);
        while is_behind(&self.states, &windows) {
            self.group.dispatch(1.0, most, false, 0);
            self.states = self.group.read_states()?;
        }
        Ok(())
    }

    /// Waits for the device, and lets it record what is not recorded.
    fn settle_and_record(&mut self) -> Result<(), EngineError> {
        self.settle()?;
        if self.unrecorded.iter().all(Option::is_none) {
            return Ok(());
        }
        let asked = self.unrecorded.iter_mut().map(Option::take).collect();
        let upload = self.group.inputs.upload_samples(asked);
        let most = self.group.send(&upload);
        self.group.dispatch(1.0, most, false, 0);
        let before = most_passes(&self.states);
        self.sent = Some(Sent { windows: upload.windows, started: Instant::now(), most, before });
        self.settle()
    }

    /// Sends the intervals of the contacts that have a span, and starts the device.
    fn advance(&mut self, of: &[Contact], spans: &[Option<Span>]) -> Result<(), EngineError> {
        self.settle()?;
        let group = &mut self.group;
        let (mut longest, mut count, mut terms) = (0.0f64, 0, 0);
        for (contact, place) in group.contacts.iter_mut().zip(&mut group.inputs.places) {
            place.next = 0;
            let Some(span) = spans[contact.index] else {
                contact.timeline = Timeline::default();
                continue;
            };
            let own = &of[contact.index];
            own.cut(&mut contact.timeline, span, &[span.end]);
            let more = group.stepping.budget(span.end - span.start, contact.timeline.len());
            place.most_steps = place.most_steps.saturating_add(u32::try_from(more).unwrap_or(u32::MAX));
            longest = longest.max(span.end - span.start);
            count += contact.timeline.len();
            terms += contact.timeline.len() * own.most_terms();
        }
        let bytes = (count * size_of::<DeviceInterval>()).max(terms * size_of::<super::layout::Term>()) as u64;
        let max = group.adapter().max_storage_buffer;
        if bytes > max {
            let (what, remedy) =
                ("bytes of inputs in one call", "advance by shorter times, or hold the inputs for longer");
            let contact = group.contacts.first().map_or(0, |c| c.index);
            return Err(EngineError::Limit { contact, what, requested: bytes, max, remedy });
        }
        if count == 0 {
            return Ok(());
        }
        let core = Arc::clone(&group.core);
        let upload = group.inputs.upload(&group.contacts, of, core.surfaces(), &(0..1))?;
        for (i, (contact, place)) in group.contacts.iter().zip(&mut group.inputs.places).enumerate() {
            if !contact.timeline.is_empty() {
                place.intervals_before += contact.timeline.len() as u32;
                place.samples_before += 1;
                self.unrecorded[i] = None;
            }
        }
        let most = group.send(&upload);
        let started = Instant::now();
        group.dispatch(group.expected_passes(longest, 1), most, false, 0);
        let before = most_passes(&self.states);
        self.sent = Some(Sent { windows: upload.windows, started, most, before });
        Ok(())
    }

    /// The state of contact `i`, when all is settled.
    fn state(&self, i: usize) -> State {
        let (s, inputs) = (&self.states[i], &self.group.inputs);
        let wide = |v: [f32; 3]| v.map(f64::from);
        State {
            u: wide(s.u),
            u_low: wide(s.u_low),
            q: wide(s.q),
            q_low: wide(s.q_low),
            patch_twist: wide(s.patch_twist),
            rate: wide(s.rate),
            h_next: f64::from(s.h_next),
            mapped: inputs.patch_states[i].f_n,
            inputs: inputs.places[i].inputs,
            steps: u64::from(s.steps),
            passes: u64::from(s.passes),
            unconverged: u64::from(s.unconverged),
            ..State::default()
        }
    }

    /// The bristles of contact `i`, when all is settled.
    fn bristles(&self, i: usize) -> Result<Vec<[f32; 2]>, EngineError> {
        let all = self.group.read_bristles()?;
        Ok(all[self.first[i]..][..self.group.contacts[i].bristle_pairs()].to_vec())
    }

    /// Puts contact `i` to a saved state, whose bristles are among `pairs` and for which a sample has been asked.
    fn write_saved(&mut self, i: usize, of: &Contact, saved: &Saved, pairs: &[[f64; 2]]) {
        let state = &saved.state;
        let narrow = |v: [f64; 3]| v.map(|c| c as f32);
        // What a number of another precision has beyond single precision.
        let rest = |v: [f64; 3], low: [f64; 3]| [0, 1, 2].map(|i| (low[i] + (v[i] - f64::from(v[i] as f32))) as f32);
        let count = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
        let device = DeviceState {
            u: narrow(state.u),
            u_low: rest(state.u, state.u_low),
            q: narrow(state.q),
            q_low: rest(state.q, state.q_low),
            patch_twist: narrow(state.patch_twist),
            rate: narrow(state.rate),
            h_next: state.h_next as f32,
            at_least: 1,
            status: saved.failure.map_or(0, |(_, reason)| reason as u32),
            failed_step: saved.failure.map_or(0, |(step, _)| count(step)),
            unconverged: count(state.unconverged),
            steps: count(state.steps),
            passes: count(state.passes),
            ..DeviceState::default()
        };
        let own = &pairs[saved.pairs.clone()];
        let mut bristles: Vec<[f32; 2]> = own.iter().map(|z| z.map(|c| c as f32)).collect();
        if let Some(model) = of.model.point() {
            bristles = device_pairs(model, own);
        } else if !self.group.is_grid() {
            let high = [own[0][0], own[0][1], own[1][0]];
            let [x, y, z] = rest(high, [own[1][1], own[2][0], own[2][1]]);
            (bristles[1][1], bristles[2]) = (x, [y, z]);
            bristles[3][1] = 0.0;
        }
        self.write(i, device, &bristles);
    }

    /// Puts contact `i` to a state and bristles, for which a sample has been asked.
    fn write(&mut self, i: usize, state: DeviceState, bristles: &[[f32; 2]]) {
        let place = &mut self.group.inputs.places[i];
        place.most_steps = state.steps;
        let state = DeviceState { interval: place.intervals_before, recorded: place.samples_before, ..state };
        self.group.write(i, &state, self.first[i], bristles);
    }
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

impl Stepper for GpuBatch {
    fn load(&mut self, contact: usize, of: &Contact) -> Result<(), EngineError> {
        let (live, i) = self.place(contact);
        live.settle()?;
        live.record_start(i, of)?;
        live.write_map(i, of);
        let bristles = own_first_bristles(&live.group.contacts[i], of);
        live.write(i, device_state(of), &bristles);
        Ok(())
    }

    fn advance(&mut self, contacts: &[Contact], spans: &[Option<Span>]) -> Result<(), EngineError> {
        self.groups.iter_mut().try_for_each(|live| live.advance(contacts, spans))
    }

    fn samples(&mut self, _: &[Contact], out: &mut [Sample]) -> Result<(), EngineError> {
        for live in &mut self.groups {
            live.settle_and_record()?;
            let records = live.group.read_records()?;
            for ((contact, record), state) in live.group.contacts.iter().zip(&records).zip(&live.states) {
                out[contact.index] = if state.status == 0 { sample_of(record) } else { Sample::NONE };
            }
        }
        Ok(())
    }

    fn statuses(&mut self, out: &mut [Status]) -> Result<(), EngineError> {
        for live in &mut self.groups {
            live.settle_and_record()?;
            let both = live.group.contacts.iter().zip(&live.states);
            both.for_each(|(contact, state)| out[contact.index] = status_of(state));
        }
        Ok(())
    }

    fn bristles(&mut self, contact: usize) -> Result<Vec<[f64; 2]>, EngineError> {
        let (live, i) = self.place(contact);
        live.settle_and_record()?;
        let kind = live.group.contacts[i].kind;
        Ok(shown_bristles(&live.bristles(i)?, kind))
    }

    /// In double precision on the CPU: one pass over one contact takes less time there than a dispatch.
    fn respond(
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

    fn set_map(&mut self, contact: usize, of: &Contact, mu_c: f64) -> Result<(), EngineError> {
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

    fn pairs(&self, contact: usize) -> usize {
        let (group, i) = self.places[contact];
        self.groups[group].group.contacts[i].bristle_pairs()
    }

    fn get(&mut self, pairs: &mut Vec<[f64; 2]>, out: &mut [Saved]) -> Result<(), EngineError> {
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

    fn put(&mut self, contact: usize, of: &Contact, saved: &Saved, pairs: &[[f64; 2]]) -> Result<(), EngineError> {
        let (live, i) = self.place(contact);
        live.settle()?;
        let state = &saved.state;
        live.record_present(i, of, state.inputs, state.mapped)?;
        live.write_map(i, of);
        live.write_saved(i, of, saved, pairs);
        Ok(())
    }
}

/// Carries the bristle of a reduced model, as it is saved, over from one map of a contact to another, under `mu_c`.
fn transfer_bristle(pairs: &mut [[f64; 2]], [from, to]: [&PatchState; 2], of: &Contact, mu_c: f64) {
    let zeta = [pairs[0][0] + pairs[1][1], pairs[0][1] + pairs[2][0], pairs[1][0] + pairs[2][1]];
    let zeta = move_centre(zeta, [from.radius, from.viscous], from.cop, to.cop);
    let s_ba = of.friction.effective_for_law().s_ba;
    let [turned, residual] = to.transfer_from(from, of).apply(zeta, pairs[3][0], mu_c, s_ba);
    pairs.copy_from_slice(&[[zeta[0], zeta[1]], [turned, 0.0], [0.0, 0.0], [residual, 0.0]]);
}

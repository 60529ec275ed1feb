//! A group that stays on the device between calls. A call sends its intervals and starts the device; the host
//! waits for it only before the next call, or when something is read.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use web_time::Instant;

use super::contact::device_pairs;
use super::group::{Group, is_behind, most_passes, sample_of, status_of};
use super::inputs::Upload;
use super::layout::{Interval as DeviceInterval, State as DeviceState, Window};
use super::patch_state::{PatchState, make_tables};
use crate::batch::Sample;
use crate::contact::{Contact, RemapTransfer};
use crate::engine::{Progress, Trajectories};
use crate::error::EngineError;
use crate::schedule::{Interval, MapKey, Span, Timeline, slot};
use crate::solver::state::State;

/// A group that lives on the device.
pub(super) struct Live {
    pub(super) group: Group,
    /// The window that the device was last sent, until the host has found it finished.
    sent: Option<Sent>,
    /// The states when that was done.
    pub(super) states: Vec<DeviceState>,
    /// Where the bristles of every contact start.
    first: Vec<usize>,
    /// Contacts whose present state is not recorded, with an interval that records it at its end.
    unrecorded: Vec<Option<(Interval, RemapTransfer)>>,
    /// Whether samples were read since the last call. If so, the next call records them itself, which saves a
    /// dispatch; if not, it saves the pass that writes the pending stage back, and the sums of a sample.
    is_read: bool,
    /// Which staging buffer the last samples were copied to, and by which submission.
    pub(super) staging: usize,
    pub(super) copied: Option<wgpu::SubmissionIndex>,
    /// The maps that the contacts had in them, where some are on elastic layers.
    maps: Vec<Option<MapKey>>,
    /// Whether those samples have been asked for and not been read: then what comes next goes to the other
    /// buffer.
    is_requested: bool,
    /// The samples that were asked for, in the order of the group, once they are read.
    pub(super) requested: Vec<Sample>,
}

/// The interval at the start of a contact's time.
fn start_of(contact: &Contact) -> Interval {
    let (mut timeline, mut interval) = (Timeline::default(), Interval::default());
    // The span has only to contain time 0: the length of its interval is not used.
    contact.cut(&mut timeline, Span::run(1e-6), &[]);
    contact.interval_into(&timeline, 0, &mut interval);
    interval
}

/// A window that was sent to the device.
struct Sent {
    /// The window, contact by contact.
    windows: Vec<Window>,
    /// When it was sent; none if more was submitted for it since.
    started: Option<Instant>,
    /// Most passes of one of its dispatches.
    most: u32,
    /// Most passes that a contact had taken before it.
    before: u32,
}

impl Live {
    pub(super) async fn new(group: Group, of: &[Contact]) -> Result<Self, EngineError> {
        let mut first = Vec::with_capacity(group.contacts.len());
        let mut next = 0;
        for contact in &group.contacts {
            first.push(next);
            next += contact.bristle_pairs();
        }
        let unrecorded = vec![None; first.len()];
        let all = 0..first.len();
        let mut live = Self {
            group,
            sent: None,
            states: Vec::new(),
            first,
            unrecorded,
            is_read: false,
            staging: 0,
            copied: None,
            maps: Vec::new(),
            is_requested: false,
            requested: Vec::new(),
        };
        live.ask_starts(all, of).await?;
        Ok(live)
    }

    /// Asks for the samples of contacts at their start.
    async fn ask_starts(&mut self, which: Range<usize>, of: &[Contact]) -> Result<(), EngineError> {
        let start = |i: usize| {
            let contact = &of[self.group.contacts[i].index];
            (i, contact, start_of(contact))
        };
        let starts: Vec<_> = which.map(start).collect();
        self.ask(starts).await
    }

    /// Asks for the sample of a contact at its start.
    pub(super) async fn ask_start(&mut self, i: usize, contact: &Contact) -> Result<(), EngineError> {
        self.ask(vec![(i, contact, start_of(contact))]).await
    }

    /// Asks for the samples of contacts at the inputs at the start of their intervals, on their maps.
    async fn ask(&mut self, mut asked: Vec<(usize, &Contact, Interval)>) -> Result<(), EngineError> {
        let core = Arc::clone(&self.group.core);
        let maps = &mut self.group.inputs.patch_states;
        // All limit surfaces are made together.
        let (mut wanted, mut whose) = (Vec::new(), Vec::new());
        for (i, contact, interval) in &mut asked {
            let map = &mut maps[*i];
            *map = PatchState::first(contact);
            if let Some(patch) = map.enter(contact, interval).or_else(|| map.missing_table(contact))
                && let Some(like) = map.table.clone()
            {
                wanted.push((patch, like));
                whose.push(*i);
            }
        }
        let made = make_tables(core.surfaces(), &wanted).await?;
        made.into_iter().zip(whose).for_each(|(table, i)| maps[i].set_table(table));
        for (i, contact, interval) in asked {
            let transfer = maps[i].transfer_from(&maps[i], contact);
            let interval = Interval { length: 0.0, jump: false, record: true, remap: None, ..interval };
            self.unrecorded[i] = Some((interval, transfer));
        }
        Ok(())
    }

    /// Writes the map that a contact's patch now has, if it takes frames; a sample has been asked for on it.
    pub(super) fn write_map(&mut self, i: usize, contact: &Contact) {
        if contact.patch.takes_frames() {
            self.group.write_map(i, contact);
        }
    }

    /// Asks for the sample of a contact at its present inputs, on the map that was made for `mapped`.
    pub(super) async fn ask_present(
        &mut self,
        i: usize,
        contact: &Contact,
        (inputs, of_parts): (&[f64; slot::COUNT], &[[f64; slot::OF_PART]]),
        mapped: Option<MapKey>,
    ) -> Result<(), EngineError> {
        let present = Interval { remap: mapped, ..Interval::holding(inputs, of_parts) };
        self.ask(vec![(i, contact, present)]).await
    }

    /// Waits until the device has done what it was told.
    pub(super) async fn settle(&mut self) -> Result<(), EngineError> {
        while !self.settle_once().await? {}
        Ok(())
    }

    /// Waits for what was submitted last. `false` if contacts have not come to the end of their windows, for
    /// which more is submitted.
    async fn settle_once(&mut self) -> Result<bool, EngineError> {
        let (Some(sent), Some(copied)) = (&mut self.sent, &self.copied) else { return Ok(true) };
        let busy = self.group.core.device.is_busy()?;
        self.states = self.group.read_states(copied).await?;
        if let Some(started) = sent.started.take() {
            let passes = most_passes(&self.states).saturating_sub(sent.before);
            self.group.learn(sent.most, passes, started.elapsed(), busy);
        }
        if is_behind(&self.states, &sent.windows) {
            self.copied = Some(self.group.dispatch(1.0, sent.most, false, self.staging));
            return Ok(false);
        }
        self.sent = None;
        Ok(true)
    }

    /// Starts the device on a window that is likely to take so many passes; all before is settled. Samples
    /// that were asked for are read while it computes.
    async fn start(&mut self, upload: Upload, expected: f64) -> Result<(), EngineError> {
        let most = self.group.send(&upload)?;
        let before = (self.staging, self.copied.take());
        if self.is_requested {
            self.staging = 1 - self.staging;
        }
        let started = Some(Instant::now());
        self.copied = Some(self.group.dispatch(expected, most, false, self.staging));
        let passes = most_passes(&self.states);
        self.sent = Some(Sent { windows: upload.windows, started, most, before: passes });
        if let (true, (staging, Some(copied))) = (self.is_requested, before) {
            self.keep_requested(staging, &copied).await?;
        }
        self.note_maps();
        Ok(())
    }

    /// Notes the maps of the samples that the device makes now.
    fn note_maps(&mut self) {
        self.maps.clear();
        if self.group.contacts.iter().any(|contact| contact.layer.is_some()) {
            self.maps.extend(self.group.inputs.patch_states.iter().map(|map| map.key));
        }
    }

    /// Lets the device record what is not recorded.
    async fn record_all(&mut self) -> Result<(), EngineError> {
        self.is_read = true;
        if self.unrecorded.iter().all(Option::is_none) {
            return Ok(());
        }
        self.settle().await?;
        let asked = self.unrecorded.iter_mut().map(Option::take).collect();
        let upload = self.group.inputs.upload_samples(&self.group.contacts, asked, self.group.frames());
        self.start(upload, 1.0).await
    }

    /// Waits for the device, after it has recorded what is not recorded.
    pub(super) async fn settle_and_record(&mut self) -> Result<(), EngineError> {
        self.record_all().await?;
        self.settle().await
    }

    /// Copies the samples of a staging buffer, which are those of the present states.
    pub(super) async fn copy_samples(
        &self,
        staging: usize,
        copied: &wgpu::SubmissionIndex,
        mut to: impl FnMut(usize, Sample),
    ) -> Result<(), EngineError> {
        let records = self.group.read_records(staging, copied).await?;
        for (i, (record, state)) in records.iter().step_by(self.group.frames()).zip(&self.states).enumerate() {
            let map = self.maps.get(i).copied().flatten();
            let shown = |sample| match &self.group.contacts[i].layer {
                Some(layer) => layer.show(map, sample),
                None => sample,
            };
            to(i, if state.status == 0 { shown(sample_of(record)) } else { Sample::NONE });
        }
        Ok(())
    }

    /// Reads the samples that were asked for; all before is settled.
    async fn keep_requested(&mut self, staging: usize, copied: &wgpu::SubmissionIndex) -> Result<(), EngineError> {
        let mut requested = std::mem::take(&mut self.requested);
        requested.clear();
        self.copy_samples(staging, copied, |_, sample| requested.push(sample)).await?;
        (self.requested, self.is_requested) = (requested, false);
        Ok(())
    }

    /// Asks for the present samples.
    pub(super) async fn request(&mut self) -> Result<(), EngineError> {
        // What was asked for before is not wanted any more.
        self.is_requested = false;
        self.record_all().await?;
        self.is_requested = true;
        Ok(())
    }

    /// Whether the samples that were asked for are there; waits for them if that is wanted.
    pub(super) async fn has_requested(&mut self, waits: bool) -> Result<bool, EngineError> {
        let (true, Some(copied)) = (self.is_requested, self.copied.clone()) else { return Ok(true) };
        let now = wgpu::PollType::Wait { submission_index: Some(copied), timeout: Some(Duration::ZERO) };
        if waits {
            self.settle().await?;
        } else if !self.group.core.device.poll(now)? || !self.settle_once().await? {
            return Ok(false);
        }
        if let Some(copied) = self.copied.clone() {
            self.keep_requested(self.staging, &copied).await?;
        }
        Ok(true)
    }

    /// Divides the spans of the contacts into intervals.
    pub(super) fn cut(&mut self, of: &[Contact], spans: &[Option<Span>]) -> Result<(), EngineError> {
        let (mut count, mut terms) = (0, 0);
        for contact in &mut self.group.contacts {
            let Some(span) = spans[contact.index] else {
                contact.timeline = Timeline::default();
                continue;
            };
            let own = &of[contact.index];
            let samples: &[f64] = if self.is_read { &[span.end] } else { &[] };
            own.cut(&mut contact.timeline, span, samples);
            count += contact.timeline.len();
            terms += contact.timeline.len() * own.most_terms();
        }
        let bytes = (count * size_of::<DeviceInterval>()).max(terms * size_of::<super::layout::Term>()) as u64;
        let max = self.group.adapter().max_storage_buffer;
        if bytes > max {
            let (what, remedy) =
                ("bytes of inputs in one call", "advance by shorter times, or hold the inputs for longer");
            let contact = self.group.contacts.first().map_or(0, |c| c.index);
            return Err(EngineError::Limit { contact, what, requested: bytes, max, remedy });
        }
        Ok(())
    }

    /// Sends the intervals of the contacts that have a span, and starts the device.
    pub(super) async fn advance(&mut self, of: &[Contact], spans: &[Option<Span>]) -> Result<(), EngineError> {
        self.settle().await?;
        let longest = self.allow(|contact| spans[contact].map(|span| span.end - span.start));
        if self.group.contacts.iter().all(|contact| contact.timeline.is_empty()) {
            return Ok(());
        }
        let upload = self.upload(of, &(0..1)).await?;
        let records = std::mem::take(&mut self.is_read);
        self.leave_timelines(of, u32::from(records), records);
        let expected = self.group.expected_passes(longest, 1);
        self.start(upload, expected).await
    }

    /// Steps the contacts through spans of one length, into which their timelines are cut, window by window,
    /// and writes their samples, their statuses, and their bristles where these are wanted. While the device
    /// computes a window, the samples of the one before are read and the inputs of the one after are
    /// prepared.
    pub(super) async fn record(
        &mut self,
        of: &[Contact],
        progress: &Progress<'_>,
        out: &mut Trajectories,
    ) -> Result<(), EngineError> {
        self.settle_and_record().await?;
        if let Some(copied) = self.copied.clone() {
            if self.is_requested {
                self.keep_requested(self.staging, &copied).await?;
            }
            let index = |i: usize| self.group.contacts[i].index;
            self.copy_samples(self.staging, &copied, |i, sample| out.write(index(i), 0, &sample)).await?;
        }
        self.group.append_bristles(&mut out.sampled_bristles).await?;

        let last = out.frames() - 1;
        let duration = out.time[last] - out.time[0];
        let frames = self.group.plan_windows(of, duration, last)?;
        // The bristles are those at the end of a window.
        let frames = if out.sampled_bristles.is_empty() { frames } else { 1 };
        self.allow(|_| Some(duration));
        let core = Arc::clone(&self.group.core);
        let expected = self.group.expected_passes(frames as f64 * duration / last as f64, frames);
        let mut window = 0..frames.min(last);
        let mut upload = self.upload(of, &window).await?;
        let mut finished: Option<(Range<usize>, wgpu::SubmissionIndex)> = None;
        while !window.is_empty() {
            let most = self.group.send(&upload)?;
            let started = Instant::now();
            let before = self.staging;
            self.staging = 1 - self.staging;
            let mut copied = self.group.dispatch(expected, most, true, self.staging);
            if let Some((window, copied)) = finished.take() {
                self.write_window(&window, before, &copied, out).await?;
                if !progress((window.len() * self.group.contacts.len()) as u64) {
                    return Err(EngineError::Stopped);
                }
            }
            let next = window.end..(window.end + frames).min(last);
            let prepared = self.upload(of, &next).await?;
            let before = most_passes(&self.states);
            let busy = core.device.is_busy()?;
            self.states = self.group.read_states(&copied).await?;
            self.group.learn(most, most_passes(&self.states) - before, started.elapsed(), busy);
            while is_behind(&self.states, &upload.windows) {
                copied = self.group.dispatch(1.0, most, false, self.staging);
                self.states = self.group.read_states(&copied).await?;
            }
            self.group.append_bristles(&mut out.sampled_bristles).await?;
            finished = Some((window, copied.clone()));
            self.copied = Some(copied);
            (window, upload) = (next, prepared);
        }
        self.note_maps();
        self.leave_timelines(of, last as u32, false);
        if let Some((window, copied)) = finished {
            self.write_window(&window, self.staging, &copied, out).await?;
            if !progress((window.len() * self.group.contacts.len()) as u64) {
                return Err(EngineError::Stopped);
            }
        }
        for (contact, state) in self.group.contacts.iter().zip(&self.states) {
            out.status[contact.index] = status_of(state);
        }
        self.group.append_bristles(&mut out.bristles).await
    }

    /// The intervals of a window of the timelines.
    async fn upload(&mut self, of: &[Contact], window: &Range<usize>) -> Result<Upload, EngineError> {
        let (core, frames) = (Arc::clone(&self.group.core), self.group.frames());
        self.group.inputs.upload(&self.group.contacts, of, core.surfaces(), window, frames).await
    }

    /// Writes the samples of a window, which are those after its start.
    async fn write_window(
        &self,
        window: &Range<usize>,
        staging: usize,
        copied: &wgpu::SubmissionIndex,
        out: &mut Trajectories,
    ) -> Result<(), EngineError> {
        let records = self.group.read_records(staging, copied).await?;
        for (contact, records) in self.group.contacts.iter().zip(records.chunks(self.group.frames())) {
            for (frame, record) in (window.start + 1..=window.end).zip(records) {
                let mut sample = sample_of(record);
                if let Some(layer) = &contact.layer {
                    sample = layer.show_at(out.time[frame], sample);
                }
                out.write(contact.index, frame, &sample);
            }
        }
        Ok(())
    }

    /// Begins the timelines of the contacts that have a duration [s], and lets them take the steps for it.
    /// Returns the longest.
    fn allow(&mut self, duration: impl Fn(usize) -> Option<f64>) -> f64 {
        let mut longest = 0.0f64;
        for (contact, place) in self.group.contacts.iter().zip(&mut self.group.inputs.places) {
            place.next = 0;
            if let Some(duration) = duration(contact.index) {
                let more = self.group.stepping.budget(duration, contact.timeline.len());
                place.most_steps = place.most_steps.saturating_add(u32::try_from(more).unwrap_or(u32::MAX));
                longest = longest.max(duration);
            }
        }
        longest
    }

    /// Counts the intervals and the `samples` of timelines that were sent. Where the end is not recorded, or
    /// is one of several records, keeps an interval with which [`Live::record_all`] records it later.
    fn leave_timelines(&mut self, of: &[Contact], samples: u32, records_end: bool) {
        let inputs = &mut self.group.inputs;
        for (i, contact) in self.group.contacts.iter().enumerate().filter(|(_, contact)| !contact.timeline.is_empty()) {
            let place = &mut inputs.places[i];
            place.intervals_before += contact.timeline.len() as u32;
            place.samples_before += samples;
            let map = &inputs.patch_states[i];
            let asked = || Interval { jump: false, record: true, remap: None, ..inputs.last[i].clone() };
            self.unrecorded[i] = (!records_end).then(|| (asked(), map.transfer_from(map, &of[contact.index])));
        }
    }

    /// The state of contact `i`, whose bristles are among those of all, when all is settled.
    pub(super) fn state(&self, i: usize, own: &[[f32; 2]]) -> State {
        let (s, inputs) = (&self.states[i], &self.group.inputs);
        let wide = |v: [f32; 3]| v.map(f64::from);
        State {
            u: wide(s.u),
            u_low: wide(s.u_low),
            q: wide(s.q),
            q_low: wide(s.q_low),
            turn: [s.turn, s.turn_low].map(f64::from),
            patch_twist: wide(s.patch_twist),
            rate: wide(s.rate),
            h_next: f64::from(s.h_next),
            mapped: inputs.patch_states[i].key,
            inputs: inputs.places[i].inputs,
            of_parts: inputs.of_parts[i].clone(),
            steps: u64::from(s.steps),
            passes: u64::from(s.passes),
            unconverged: u64::from(s.unconverged),
            failure: status_of(s).failure,
            bristles: own.iter().map(|z| z.map(f64::from)).collect(),
            ..State::default()
        }
    }

    /// The bristles of contact `i` among those of all.
    pub(super) fn own_bristles<'b>(&self, i: usize, all: &'b [[f32; 2]]) -> &'b [[f32; 2]] {
        &all[self.first[i]..][..self.group.contacts[i].bristle_pairs()]
    }

    /// The bristles of contact `i`, read by themselves.
    pub(super) async fn read_own_bristles(&self, i: usize) -> Result<Vec<[f32; 2]>, EngineError> {
        let first = self.first[i];
        self.group.read_some_bristles(first..first + self.group.contacts[i].bristle_pairs()).await
    }

    /// Puts contact `i` to a state, for which a sample has been asked.
    pub(super) fn write_state(&mut self, i: usize, of: &Contact, state: &State) {
        let narrow = |v: [f64; 3]| v.map(|c| c as f32);
        // What a number of another precision has beyond single precision.
        let rest = |v: [f64; 3], low: [f64; 3]| [0, 1, 2].map(|i| (low[i] + (v[i] - f64::from(v[i] as f32))) as f32);
        let count = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
        let [[turn, _, _], [turn_low, _, _]] = {
            let [high, low] = state.turn.map(|turn| [turn, 0.0, 0.0]);
            [narrow(high), rest(high, low)]
        };
        let device = DeviceState {
            u: narrow(state.u),
            u_low: rest(state.u, state.u_low),
            q: narrow(state.q),
            q_low: rest(state.q, state.q_low),
            turn,
            turn_low,
            patch_twist: narrow(state.patch_twist),
            rate: narrow(state.rate),
            h_next: state.h_next as f32,
            at_least: 1,
            status: state.failure.map_or(0, |(_, reason)| reason as u32),
            failed_step: state.failure.map_or(0, |(step, _)| count(step)),
            unconverged: count(state.unconverged),
            steps: count(state.steps),
            passes: count(state.passes),
            ..DeviceState::default()
        };
        let own = &state.bristles;
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
    pub(super) fn write(&mut self, i: usize, state: DeviceState, bristles: &[[f32; 2]]) {
        let place = &mut self.group.inputs.places[i];
        place.most_steps = state.steps;
        let state = DeviceState { interval: place.intervals_before, recorded: place.samples_before, ..state };
        self.group.write(i, &state, self.first[i], bristles);
    }
}

#[cfg(test)]
mod tests;

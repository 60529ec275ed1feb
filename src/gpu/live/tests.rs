use pollster::block_on;

use super::*;
use crate::contact::Model;
use crate::engine::{Stepping, StopWhen};
use crate::fixtures::{disc, held};
use crate::gpu::contact::device_state;
use crate::gpu::inputs::own_first_bristles;
use crate::gpu::{Choice, Gpu};
use crate::schedule::Signal;

const CALL: f64 = 1e-3;

/// Contacts at their start, in one group.
fn live(gpu: &Gpu, of: &[Contact]) -> Live {
    let prepare = |contact: &Contact| (Timeline::default(), contact.cells_ever_active());
    let mut groups = gpu.groups(of, Stepping::default(), StopWhen::NEVER, prepare).unwrap();
    assert_eq!(groups.len(), 1);
    block_on(Live::new(groups.remove(0)().unwrap(), of)).unwrap()
}

/// Lets contacts step from a time, those that have one.
fn advance(live: &mut Live, of: &[Contact], from: [Option<f64>; 2]) {
    let spans = from.map(|from| from.map(|start| Span { start, end: start + CALL, jump: start == 0.0, remap: false }));
    live.cut(of, &spans).unwrap();
    block_on(live.advance(of, &spans)).unwrap();
}

/// Records all contacts from a time, with three samples.
fn record(live: &mut Live, of: &[Contact], from: f64) {
    let times = [0.0, 1.0, 2.0, 3.0].map(|k| from + k * CALL);
    let span = Span { start: from, end: times[3], jump: false, remap: false };
    for contact in &mut live.group.contacts {
        of[contact.index].cut(&mut contact.timeline, span, &times);
    }
    let mut out = Trajectories::unwritten(of.len(), &times).unwrap();
    block_on(live.record(of, &|_| true, &mut out)).unwrap();
    assert!(out.pose.iter().all(|q| q.x.is_finite()));
}

/// The device has gone through the intervals and samples that the host has sent, no more and no fewer.
/// Returns what the states are, as bits.
#[track_caller]
fn in_step(live: &mut Live) -> Vec<u8> {
    block_on(live.settle()).unwrap();
    for (i, (state, place)) in live.states.iter().zip(&live.group.inputs.places).enumerate() {
        let wanted = [place.intervals_before, place.samples_before];
        assert_eq!([state.interval, state.recorded], wanted, "contact {i}: intervals and samples");
        assert_eq!(state.status, 0, "contact {i}");
    }
    bytemuck::cast_slice(&live.states).to_vec()
}

#[test]
fn device_and_host_count_the_same_intervals_and_samples_in_dispatches_of_any_length() {
    let mut of = vec![held(Model::Distributed, &disc(5), 0.9), held(Model::Distributed, &disc(5), 4.0)];
    // With many more steps than a plan lets expect.
    let points: Vec<(f64, f64)> = (0..200).map(|k| (4e-5 * f64::from(k), 4.0 - 0.015 * f64::from(k))).collect();
    of[1].inputs.normal_force = Signal::steps(&points).unwrap();
    let gpu = Gpu::new(Choice::Any).unwrap();
    let histories = [None, Some(7), Some(1)].map(|passes| {
        let gpu = passes.map_or_else(|| gpu.clone(), |passes| gpu.clone().with_budget(1.0, passes));
        let mut live = live(&gpu, &of);
        let mut history = Vec::new();
        // The samples at the start.
        block_on(live.settle_and_record()).unwrap();
        history.push(in_step(&mut live));
        // One contact alone, which is read: its next call records its end.
        advance(&mut live, &of, [None, Some(0.0)]);
        history.push(in_step(&mut live));
        advance(&mut live, &of, [Some(0.0), None]);
        block_on(live.settle_and_record()).unwrap();
        history.push(in_step(&mut live));
        advance(&mut live, &of, [Some(CALL); 2]);
        history.push(in_step(&mut live));
        // Not read: the call records nothing.
        advance(&mut live, &of, [Some(2.0 * CALL); 2]);
        history.push(in_step(&mut live));
        record(&mut live, &of, 3.0 * CALL);
        history.push(in_step(&mut live));
        // One contact at its start again, beside one that goes on.
        block_on(live.ask_start(0, &of[0])).unwrap();
        let bristles = own_first_bristles(&live.group.contacts[0], &of[0]);
        live.write(0, device_state(&of[0]), &bristles);
        block_on(live.settle_and_record()).unwrap();
        history.push(in_step(&mut live));
        advance(&mut live, &of, [Some(0.0), Some(6.0 * CALL)]);
        history.push(in_step(&mut live));
        history
    });
    for (k, whole) in histories[0].iter().enumerate() {
        assert!(histories[1][k] == *whole && histories[2][k] == *whole, "the states after call {k} differ");
    }
}

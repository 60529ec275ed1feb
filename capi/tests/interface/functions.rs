//! The functions of C, called from Rust: their numbers are those of [`bristle::Batch`], and they refuse bad
//! arguments.

use std::ffi::{CStr, CString};
use std::ptr::{null, null_mut};

use bristle::contact::{Bristles, Initial};
use bristle::{Cpu, Engine, Input, Signal, Stepping, Twist};
use bristle_capi::*;
use bristle_scenario::Scenario;

const SCENARIO: &str = "\
    contacts = 3\n\
    duration = 1.0\n\
    step = { tolerance = 3e-6 }\n\
    [patch]\n\
    shape = 'disc'\n\
    cells = 7\n\
    takes_frames = true\n\
    [friction]\n\
    mu_c = { uniform = [0.7, 0.9] }\n\
    [body]\n\
    kind = 'gripper'\n\
    mass = 0.2\n\
    inertia = 4.8e-4\n\
    [inputs]\n\
    gravity = [0.0, -9.81]\n\
    normal_force = 1.1\n";

/// A batch that is freed at the end.
struct Handle(*mut BristleBatch);

impl Handle {
    fn new(device: &str, step: f64, tolerance: f64) -> Self {
        let (made, batch) = new(SCENARIO, None, 0, device, step, tolerance);
        assert_eq!(made, BristleStatus::Ok, "{}", last());
        Self(batch)
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        unsafe { bristle_batch_free(self.0) };
    }
}

fn new(
    scenario: &str,
    contacts: Option<&[u64]>,
    count: usize,
    device: &str,
    step: f64,
    tolerance: f64,
) -> (BristleStatus, *mut BristleBatch) {
    let (text, device) = (CString::new(scenario).unwrap(), CString::new(device).unwrap());
    let (mut out, contacts) = (null_mut(), contacts.map_or(null(), <[u64]>::as_ptr));
    let out_at = &raw mut out;
    let made =
        unsafe { bristle_batch_new(text.as_ptr(), null(), contacts, count, device.as_ptr(), step, tolerance, out_at) };
    (made, out)
}

fn last() -> String {
    unsafe { CStr::from_ptr(bristle_last_error()) }.to_str().unwrap().to_owned()
}

#[track_caller]
fn ok(status: BristleStatus) {
    assert_eq!(status, BristleStatus::Ok, "{}", last());
}

/// A call that is refused, and a part of what is said.
#[track_caller]
fn refused(status: BristleStatus, as_: BristleStatus, says: &str) {
    assert_eq!(status, as_, "{}", last());
    assert!(last().contains(says), "{:?} does not say {says:?}", last());
}

/// All that can be read, number by number.
fn numbers(batch: *mut BristleBatch) -> Vec<u64> {
    let n = unsafe { bristle_batch_len(batch) };
    let mut out = vec![];
    let mut rows = vec![0.0; 3 * n];
    for read in [bristle_batch_pose, bristle_batch_twist, bristle_batch_wrench] {
        ok(unsafe { read(batch, rows.as_mut_ptr(), n) });
        out.extend(rows.iter().map(|v| v.to_bits()));
    }
    for read in [bristle_batch_normal_force, bristle_batch_slip, bristle_batch_near_limit] {
        ok(unsafe { read(batch, rows.as_mut_ptr(), n) });
        out.extend(rows[..n].iter().map(|v| v.to_bits()));
    }
    let mut words = vec![9; n];
    ok(unsafe { bristle_batch_status(batch, words.as_mut_ptr(), n) });
    out.extend(words.iter().map(|w| u64::from(*w)));
    for k in 0..n {
        let mut time = 0.0;
        ok(unsafe { bristle_batch_time(batch, k, &raw mut time) });
        out.push(time.to_bits());
    }
    out
}

/// The same of a [`bristle::Batch`].
fn numbers_of(batch: &mut bristle::Batch) -> Vec<u64> {
    let samples = batch.samples().unwrap().to_vec();
    let mut out: Vec<f64> = samples.iter().flat_map(|s| s.pose.to_array()).collect();
    out.extend(samples.iter().flat_map(|s| s.twist.to_array()));
    out.extend(samples.iter().flat_map(|s| <[f64; 3]>::from(s.wrench)));
    out.extend(samples.iter().map(|s| s.normal_force));
    out.extend(samples.iter().map(|s| s.slip));
    out.extend(samples.iter().map(|s| s.near_limit));
    let mut out: Vec<u64> = out.into_iter().map(f64::to_bits).collect();
    out.extend(batch.statuses().unwrap().iter().map(|s| u64::from(s.word())));
    out.extend((0..batch.len()).map(|k| batch.time(k).to_bits()));
    out
}

/// The same calls through the functions and on a [`bristle::Batch`], with the same bits after each.
fn compare(device: &str, engine: &dyn Engine, step: f64, tolerance: f64, stepping: Stepping) {
    let handle = Handle::new(device, step, tolerance);
    let scenario = Scenario::parse(SCENARIO, "".as_ref(), "scenario").unwrap();
    let mut batch = engine.batch(scenario.block(0..3).unwrap(), stepping).unwrap();
    let h = handle.0;
    let snapshot = bristle_snapshot_new();
    unsafe {
        assert_eq!(bristle_batch_len(h), 3);
        ok(bristle_batch_advance(h, 0.01));
        batch.advance(0.01).unwrap();
        assert_eq!(numbers(h), numbers_of(&mut batch), "{device}: advance");

        let grips = [1.0, 1.2, 1.4];
        ok(bristle_batch_set(h, BristleInput::NormalForce as u32, grips.as_ptr(), 3));
        ok(bristle_batch_set_one(h, 1, BristleInput::Fx as u32, 0.3));
        ok(bristle_batch_ramp_one(h, 2, BristleInput::MuC as u32, 0.5, 0.02));
        ok(bristle_batch_advance_some(h, [2, 1].as_ptr(), 2, 0.03));
        batch.set_each(Input::NormalForce, &grips).unwrap();
        batch.set(1, Input::Fx, 0.3).unwrap();
        batch.ramp(2, Input::MuC, 0.5, 0.02).unwrap();
        batch.advance_some(&[2, 1], 0.03).unwrap();
        assert_eq!(numbers(h), numbers_of(&mut batch), "{device}: inputs");

        compare_one(h, &mut batch, device);
        let at_save = numbers_of(&mut batch);
        ok(bristle_batch_save(h, snapshot));
        let saved = batch.save().unwrap();
        let (mut bytes, mut count) = (null(), 0);
        ok(bristle_snapshot_bytes(snapshot, &raw mut bytes, &raw mut count));
        assert!(std::slice::from_raw_parts(bytes, count) == saved.to_bytes().unwrap(), "{device}: bytes");

        ok(bristle_batch_copy(h, 1, [0, 2].as_ptr(), 2));
        ok(bristle_batch_advance(h, 0.01));
        batch.copy(1, &[0, 2]).unwrap();
        batch.advance(0.01).unwrap();
        assert_eq!(numbers(h), numbers_of(&mut batch), "{device}: copy");

        let (mut wrench, mut gain) = ([0.0; 3], [0.0; 9]);
        let twist = [1e-3, -2e-3, 0.1];
        ok(bristle_batch_respond(h, 1, twist.as_ptr(), 2e-3, wrench.as_mut_ptr(), gain.as_mut_ptr()));
        let answer = batch.respond(1, Twist::from(twist), 2e-3).unwrap();
        assert_eq!((wrench, &gain[..]), (answer.wrench.into(), answer.gain.as_flattened()), "{device}: respond");

        let mut read = null_mut();
        ok(bristle_snapshot_from_bytes(bytes, count, &raw mut read));
        ok(bristle_batch_restore(h, read));
        assert_eq!(numbers(h), at_save, "{device}: restore");
        bristle_snapshot_free(read);

        ok(bristle_batch_reset(h, [0, 2].as_ptr(), 2));
        ok(bristle_batch_advance(h, 0.01));
        batch.restore(&saved).unwrap();
        batch.reset(&[0, 2]).unwrap();
        batch.advance(0.01).unwrap();
        assert_eq!(numbers(h), numbers_of(&mut batch), "{device}: reset");
        bristle_snapshot_free(snapshot);
    }
}

/// Frames, signals, initial states, bristles, and samples that are read later.
unsafe fn compare_one(h: *mut BristleBatch, batch: &mut bristle::Batch, device: &str) {
    let frame: Vec<f64> = (0..49).map(|i| f64::from(i % 5)).collect();
    let (times, values) = ([0.0, 0.05, 0.1], [1.0, 1.5, 0.9]);
    let (grip, fx) = (BristleInput::NormalForce as u32, BristleInput::Fx as u32);
    let (linear, steps) = (BristleSignal::Linear as u32, BristleSignal::Steps as u32);
    let points: Vec<(f64, f64)> = times.into_iter().zip(values).collect();
    unsafe {
        ok(bristle_batch_set_frame_one(h, 1, frame.as_ptr(), 49));
        ok(bristle_batch_follow_one(h, 0, grip, linear, times.as_ptr(), values.as_ptr(), 3));
        ok(bristle_batch_follow_one(h, 2, fx, steps, times.as_ptr(), values.as_ptr(), 3));
        ok(bristle_batch_advance(h, 0.02));
    }
    batch.set_frame(1, &frame).unwrap();
    batch.follow(0, Input::NormalForce, Signal::linear(&points).unwrap()).unwrap();
    batch.follow(2, Input::Fx, Signal::steps(&points).unwrap()).unwrap();
    batch.advance(0.02).unwrap();
    let then = batch.samples().unwrap().to_vec();

    let [mut pose, mut twist, mut wrench] = [[[0.0; 3]; 3]; 3];
    let ([mut force, mut slip], mut ready) = ([[0.0; 3]; 2], 7);
    let mut read = |ready: *mut i32| unsafe {
        let threes = [&mut pose, &mut twist, &mut wrench].map(|rows| rows.as_mut_ptr().cast());
        let ones = [&mut force, &mut slip].map(|rows| rows.as_mut_ptr());
        bristle_batch_requested(h, ready, threes[0], threes[1], threes[2], ones[0], ones[1], 3)
    };
    unsafe { ok(bristle_batch_request(h)) };
    unsafe { ok(bristle_batch_advance(h, 0.001)) };
    batch.advance(0.001).unwrap();
    while ready != 1 {
        ok(read(&raw mut ready));
        assert!([0, 1].contains(&ready));
    }
    ok(read(null_mut()));
    for (k, s) in then.iter().enumerate() {
        let found = (pose[k], twist[k], wrench[k], force[k], slip[k]);
        let wanted = (s.pose.into(), s.twist.into(), s.wrench.into(), s.normal_force, s.slip);
        assert_eq!(found, wanted, "{device}, contact {k}: requested");
    }
    ok(unsafe {
        bristle_batch_requested(h, null_mut(), null_mut(), null_mut(), null_mut(), null_mut(), null_mut(), 3)
    });

    let (mut states, mut count) = ([[7.0; 2]; 60], 0);
    unsafe { ok(bristle_batch_bristles(h, 1, null_mut(), 0, &raw mut count)) };
    unsafe { ok(bristle_batch_bristles(h, 1, states.as_mut_ptr().cast(), 60, &raw mut count)) };
    assert_eq!(states[..count], batch.bristles(1).unwrap(), "{device}: bristles");
    assert_eq!((count, states[count]), (49, [7.0; 2]));

    let (pose, twist) = ([0.01, 0.02, 0.3], [0.1, -0.2, 1.0]);
    let loaded = Initial { pose: pose.into(), bristles: Bristles::States(states[..49].to_vec()) };
    let unloaded = Initial { pose: pose.into(), ..Initial::default() };
    unsafe {
        ok(bristle_batch_reset_to(h, 2, pose.as_ptr(), twist.as_ptr(), states.as_ptr().cast(), 49));
        ok(bristle_batch_reset_to(h, 0, pose.as_ptr(), twist.as_ptr(), null(), 0));
        ok(bristle_batch_advance(h, 0.01));
    }
    batch.reset_to(2, loaded, twist.into()).unwrap();
    batch.reset_to(0, unloaded, twist.into()).unwrap();
    batch.advance(0.01).unwrap();
    assert_eq!(numbers(h), numbers_of(batch), "{device}: reset_to");
}

#[test]
fn numbers_are_those_of_the_batch() {
    let fixed = Stepping::fixed(2e-4);
    let adaptive = Stepping { step: 1e-3, tolerance: Some(1e-5), most_steps: None };
    let of_scenario = Scenario::parse(SCENARIO, "".as_ref(), "scenario").unwrap().plan().stepping();
    for (device, engine) in [("cpu", Cpu::new()), ("cpu-f32", Cpu::single())] {
        compare(device, &engine, 2e-4, 0.0, fixed);
        compare(device, &engine, 1e-3, 1e-5, adaptive);
        compare(device, &engine, 0.0, 0.0, of_scenario);
    }
    #[cfg(feature = "gpu")]
    compare("gpu", &bristle::Gpu::new(bristle::Choice::Any).unwrap(), 2e-4, 0.0, fixed);
}

#[test]
fn a_batch_is_made_of_the_contacts_that_are_named() {
    let (made, batch) = new(SCENARIO, Some(&[2, 0, 2]), 3, "cpu", 2e-4, 0.0);
    ok(made);
    let named = Handle(batch);
    let all = Handle::new("cpu", 2e-4, 0.0);
    for handle in [&named, &all] {
        ok(unsafe { bristle_batch_advance(handle.0, 0.05) });
    }
    let (mut found, mut expected) = ([[0.0; 3]; 3], [[0.0; 3]; 3]);
    ok(unsafe { bristle_batch_pose(named.0, found.as_mut_ptr().cast(), 3) });
    ok(unsafe { bristle_batch_pose(all.0, expected.as_mut_ptr().cast(), 3) });
    assert_eq!(found, [expected[2], expected[0], expected[2]]);
    assert_ne!(expected[0], expected[2]);

    refused(new(SCENARIO, Some(&[3]), 1, "cpu", 2e-4, 0.0).0, BristleStatus::Argument, "contacts: 3: expected");
    refused(new(SCENARIO, Some(&[3]), 0, "cpu", 2e-4, 0.0).0, BristleStatus::Argument, "at least one contact");
    let (made, batch) = new(SCENARIO, None, usize::MAX, "cpu", 2e-4, 0.0);
    refused(made, BristleStatus::Argument, "expected at most 3");
    assert!(batch.is_null());
    let (made, batch) = new(SCENARIO, None, 2, "cpu", 2e-4, 0.0);
    ok(made);
    assert_eq!(unsafe { bristle_batch_len(Handle(batch).0) }, 2);
}

#[test]
fn what_is_out_of_range_has_a_code_and_a_message() {
    use BristleStatus::{Argument, Null, Scenario, Snapshot};
    refused(new("contacts = -1", None, 0, "cpu", 0.0, 0.0).0, Scenario, "scenario:1");
    refused(new(SCENARIO, None, 0, "tpu", 0.0, 0.0).0, Argument, "expected \"cpu\", \"cpu-f32\" or \"gpu\"");
    refused(new(SCENARIO, None, 0, "cpu", -1.0, 0.0).0, Argument, "step = -1: expected");
    refused(new(SCENARIO, None, 0, "cpu", f64::NAN, 0.0).0, Argument, "step = NaN: expected");
    refused(new(SCENARIO, None, 0, "cpu", 0.0, 1e-5).0, Argument, "expected 0, as step is 0");
    refused(new(SCENARIO, None, 0, "cpu", 1e-3, 7.0).0, Argument, "step.tolerance = 7: expected");
    if cfg!(not(feature = "gpu")) {
        refused(new(SCENARIO, None, 0, "gpu", 0.0, 0.0).0, BristleStatus::NoDevice, "without GPU");
    }
    let handle = Handle::new("cpu", 2e-4, 0.0);
    let (h, grip) = (handle.0, BristleInput::NormalForce as u32);
    let before = numbers(h);
    let (mut out, mut words, mut gain) = ([7.0; 12], [7; 4], [0.0; 9]);
    let snapshot = bristle_snapshot_new();
    unsafe {
        let latin = c"\xff".as_ptr();
        let mut none = null_mut();
        let made = bristle_batch_new(latin, null(), null(), 0, c"cpu".as_ptr(), 0.0, 0.0, &raw mut none);
        refused(made, Argument, "expected UTF-8");
        refused(bristle_batch_set(h, 80, out.as_ptr(), 3), Argument, "input = 80: expected a BristleInput, 0 to 79");
        refused(bristle_batch_set(h, grip, out.as_ptr(), 2), Argument, "count = 2: expected 3");
        refused(bristle_batch_set_one(h, 3, grip, 1.0), Argument, "contact = 3: expected an index below 3");
        refused(bristle_batch_set_one(h, 0, grip, f64::NAN), Argument, "inputs.normal_force");
        refused(bristle_batch_set_one(h, 0, BristleInput::Vx as u32, 1.0), Argument, "inputs.twist.vx");
        refused(bristle_batch_ramp_one(h, 0, grip, 1.0, 0.0), Argument, "over = 0: expected");
        refused(bristle_batch_advance(h, -1.0), Argument, "dt = -1: expected");
        refused(bristle_batch_advance_some(h, [0, 3].as_ptr(), 2, 0.1), Argument, "contact = 3");
        refused(bristle_batch_advance_some(h, [0].as_ptr(), usize::MAX, 0.1), Argument, "expected no more than");
        refused(bristle_batch_time(h, 3, out.as_mut_ptr()), Argument, "contact = 3");
        refused(bristle_batch_pose(h, out.as_mut_ptr(), 4), Argument, "count = 4: expected 3");
        refused(bristle_batch_slip(h, out.as_mut_ptr(), 0), Argument, "count = 0: expected 3");
        refused(bristle_batch_near_limit(h, out.as_mut_ptr(), 0), Argument, "count = 0: expected 3");
        refused(bristle_batch_status(h, words.as_mut_ptr(), 4), Argument, "count = 4: expected 3");
        let twist = [f64::INFINITY; 3];
        let (wrench, gain) = (out.as_mut_ptr(), gain.as_mut_ptr());
        refused(bristle_batch_respond(h, 0, twist.as_ptr(), 0.1, wrench, gain), Argument, "twist.vx");
        refused(bristle_batch_reset(h, [3].as_ptr(), 1), Argument, "contact = 3");
        refused(bristle_batch_copy(h, 0, [3].as_ptr(), 1), Argument, "contact = 3");
        refused(bristle_batch_restore(h, snapshot), Argument, "expected 3, as the batch has");
        let (frame, times) = ([f64::NAN; 49], [0.0, 0.0]);
        refused(bristle_batch_set_frame_one(h, 0, frame.as_ptr(), 49), Argument, "pressure of cell");
        refused(bristle_batch_set_frame_one(h, 0, [1.0].as_ptr(), 1), Argument, "expected 49");
        refused(bristle_batch_set_frame_one(h, 3, frame.as_ptr(), 49), Argument, "contact = 3");
        let (t, v) = (times.as_ptr(), [1.0, 1.0].as_ptr());
        refused(bristle_batch_follow_one(h, 0, grip, 1, t, v, 2), Argument, "expected");
        refused(bristle_batch_follow_one(h, 0, grip, 2, t, v, 1), Argument, "signal = 2: expected a BristleSignal");
        refused(bristle_batch_follow_one(h, 0, grip, 0, t, v, 0), Argument, "expected");
        refused(bristle_batch_follow_one(h, 0, 80, 0, t, v, 1), Argument, "input = 80");
        let mut count = 0;
        refused(bristle_batch_bristles(h, 0, wrench, 4, &raw mut count), Argument, "room = 4: expected at least 49");
        refused(bristle_batch_bristles(h, 3, wrench, 4, &raw mut count), Argument, "contact = 3");
        refused(bristle_batch_reset_to(h, 0, twist.as_ptr(), gain, null(), 0), Argument, "initial.pose");
        refused(bristle_batch_reset_to(h, 3, gain, gain, null(), 0), Argument, "contact = 3");
        refused(bristle_batch_reset_to(h, 0, gain, gain, gain, 1), Argument, "bristles");
        let none: *mut f64 = null_mut();
        refused(bristle_batch_requested(h, none.cast(), none, none, none, none, none, 3), Argument, "request_samples");
        refused(bristle_batch_requested(h, none.cast(), none, none, none, none, none, 2), Argument, "count = 2");
        let mut read = null_mut();
        refused(bristle_snapshot_from_bytes(b"abc".as_ptr(), 3, &raw mut read), Snapshot, "no snapshot");
        refused(bristle_snapshot_from_bytes(null(), 3, &raw mut read), Null, "bytes = NULL");
        refused(bristle_batch_pose(h, wrench.cast::<u8>().add(1).cast(), 3), Null, "aligned");
        bristle_snapshot_free(snapshot);
    }
    assert_eq!((out, words, numbers(h)), ([7.0; 12], [7; 4], before), "nothing has changed");
}

/// Of a call that is refused nothing is felt later, either.
#[test]
fn what_is_set_together_is_checked_together_before_anything_is_set() {
    let [one, other] = [0, 1].map(|_| Handle::new("cpu", 2e-4, 0.0));
    let [grip, mu_c, mu_s] = [BristleInput::NormalForce, BristleInput::MuC, BristleInput::MuS].map(|i| i as u32);
    let h = one.0;
    unsafe {
        [h, other.0].into_iter().for_each(|h| ok(bristle_batch_advance(h, 0.01)));
        let bad = [3.0, 3.0, f64::NAN];
        refused(bristle_batch_set(h, grip, bad.as_ptr(), 3), BristleStatus::Argument, "contact 2: inputs.normal_force");
        let bad = [0.6, 0.6, 99.0];
        refused(bristle_batch_set(h, mu_c, bad.as_ptr(), 3), BristleStatus::Argument, "contact 2: inputs.mu_c = 99");
        let rows = [[3.0; 3], [0.6; 3], [0.9, 0.9, 0.5]];
        for inputs in [[grip, mu_c, mu_s], [mu_c, grip, mu_s]] {
            let rows = if inputs[0] == grip { rows } else { [rows[1], rows[0], rows[2]] };
            let set = bristle_batch_set_together(h, inputs.as_ptr(), 3, rows.as_ptr().cast(), 3);
            refused(set, BristleStatus::Argument, "contact 2: inputs.mu_s = 0.5: expected a coefficient >= mu_c = 0.6");
        }
        let set = bristle_batch_set_together(h, [grip, 80].as_ptr(), 2, rows.as_ptr().cast(), 3);
        refused(set, BristleStatus::Argument, "input = 80");
        let set = bristle_batch_set_together(h, [grip].as_ptr(), usize::MAX, rows.as_ptr().cast(), 3);
        refused(set, BristleStatus::Argument, "expected no more than");
        refused(bristle_batch_set_together(h, [grip].as_ptr(), 1, null(), 3), BristleStatus::Null, "values");
        refused(bristle_batch_set_together(h, null(), 1, rows.as_ptr().cast(), 3), BristleStatus::Null, "inputs");
        // To read is to end a step, which a call that cannot write does not do.
        refused(bristle_batch_pose(h, null_mut(), 3), BristleStatus::Null, "out");
        [h, other.0].into_iter().for_each(|h| ok(bristle_batch_advance(h, 0.01)));
        assert_eq!(numbers(h), numbers(other.0), "nothing was set");
        // Both above the static coefficient that the contacts have, and both below the other.
        for pair in [[[2.0; 3], [2.5; 3]], [[0.1; 3], [0.2; 3]]] {
            for turned in [false, true] {
                let (mut inputs, mut rows) = ([mu_c, mu_s], pair);
                if turned {
                    inputs.reverse();
                    rows.reverse();
                }
                ok(bristle_batch_set_together(h, inputs.as_ptr(), 2, rows.as_ptr().cast(), 3));
            }
        }
        let (mut ready, mut pose) = (7, [[7.0; 3]; 3]);
        let (at, none) = (pose.as_mut_ptr().cast::<f64>(), null_mut());
        let unaligned = at.cast::<u8>().add(1).cast();
        ok(bristle_batch_request(h));
        let read = bristle_batch_requested(h, &raw mut ready, at, none, none, unaligned, none, 3);
        refused(read, BristleStatus::Null, "aligned");
        assert_eq!((ready, pose), (7, [[7.0; 3]; 3]), "nothing is written");
    }
}

#[test]
fn more_contacts_than_there_is_memory_for_are_refused() {
    // 2 PB, which no machine has.
    let many = SCENARIO.replace("contacts = 3", "contacts = 4294967296").replace("cells = 7", "cells = 64");
    let (made, batch) = new(&many, None, 0, "cpu", 0.0, 0.0);
    refused(made, BristleStatus::Memory, "a batch of 4294967296 contacts: ");
    assert!(batch.is_null() && last().contains(" of memory are needed, and "), "{}", last());
}

#[test]
fn null_is_refused_wherever_a_pointer_is_needed() {
    let handle = Handle::new("cpu", 2e-4, 0.0);
    let mut memory = [0.0; 9];
    let (h, x, none) = (handle.0, memory.as_mut_ptr(), null_mut::<BristleBatch>());
    let (text, device) = (c"".as_ptr(), c"cpu".as_ptr());
    let (mut out, mut bytes, mut count) = (null_mut(), null(), 0);
    let snapshot = bristle_snapshot_new();
    let calls = unsafe {
        [
            bristle_batch_new(text, null(), null(), 0, device, 0.0, 0.0, null_mut()),
            bristle_batch_new(null(), null(), null(), 0, device, 0.0, 0.0, &raw mut out),
            bristle_batch_new(text, null(), null(), 0, null(), 0.0, 0.0, &raw mut out),
            bristle_batch_set(none, 0, x, 3),
            bristle_batch_set(h, 0, null(), 3),
            bristle_batch_set_one(none, 0, 0, 1.0),
            bristle_batch_ramp_one(none, 0, 0, 1.0, 1.0),
            bristle_batch_advance(none, 0.1),
            bristle_batch_advance_some(none, [0].as_ptr(), 1, 0.1),
            bristle_batch_advance_some(h, null(), 1, 0.1),
            bristle_batch_time(none, 0, x),
            bristle_batch_time(h, 0, null_mut()),
            bristle_batch_pose(none, x, 3),
            bristle_batch_pose(h, null_mut(), 3),
            bristle_batch_twist(h, null_mut(), 3),
            bristle_batch_wrench(h, null_mut(), 3),
            bristle_batch_normal_force(h, null_mut(), 3),
            bristle_batch_slip(h, null_mut(), 3),
            bristle_batch_near_limit(h, null_mut(), 3),
            bristle_batch_status(none, null_mut(), 3),
            bristle_batch_status(h, null_mut(), 3),
            bristle_batch_set_frame_one(none, 0, x, 9),
            bristle_batch_set_frame_one(h, 0, null(), 9),
            bristle_batch_follow_one(none, 0, 0, 0, x, x, 1),
            bristle_batch_follow_one(h, 0, 0, 0, null(), x, 1),
            bristle_batch_follow_one(h, 0, 0, 0, x, null(), 1),
            bristle_batch_reset_to(none, 0, x, x, null(), 0),
            bristle_batch_reset_to(h, 0, null(), x, null(), 0),
            bristle_batch_reset_to(h, 0, x, null(), null(), 0),
            bristle_batch_bristles(none, 0, x, 9, &raw mut count),
            bristle_batch_bristles(h, 0, x, 9, null_mut()),
            bristle_batch_bristles(h, 0, null_mut(), 99, &raw mut count),
            bristle_batch_cells(none, 0, x, x, x, 9, &raw mut count),
            bristle_batch_cells(h, 0, x, x, x, 9, null_mut()),
            bristle_batch_patches(none, 0, x, x, x, x, 9, &raw mut count),
            bristle_batch_patches(h, 0, x, x, x, x, 9, null_mut()),
            bristle_batch_request(none),
            bristle_batch_requested(none, null_mut(), x, x, x, x, x, 3),
            bristle_batch_respond(none, 0, x, 0.1, x, x),
            bristle_batch_respond(h, 0, null(), 0.1, x, x),
            bristle_batch_respond(h, 0, x, 0.1, null_mut(), x),
            bristle_batch_respond(h, 0, x, 0.1, x, null_mut()),
            bristle_batch_reset(none, [0].as_ptr(), 1),
            bristle_batch_reset(h, null(), 1),
            bristle_batch_copy(none, 0, [0].as_ptr(), 1),
            bristle_batch_copy(h, 0, null(), 1),
            bristle_batch_save(none, snapshot),
            bristle_batch_save(h, null_mut()),
            bristle_batch_restore(none, snapshot),
            bristle_batch_restore(h, null()),
            bristle_snapshot_bytes(null_mut(), &raw mut bytes, &raw mut count),
            bristle_snapshot_bytes(snapshot, null_mut(), &raw mut count),
            bristle_snapshot_bytes(snapshot, &raw mut bytes, null_mut()),
            bristle_snapshot_from_bytes([0].as_ptr(), 1, null_mut()),
        ]
    };
    for (k, status) in calls.into_iter().enumerate() {
        assert_eq!(status, BristleStatus::Null, "call {k}");
    }
    unsafe {
        assert_eq!(bristle_batch_len(null()), 0);
        bristle_batch_free(null_mut());
        bristle_snapshot_free(null_mut());
        bristle_snapshot_free(snapshot);
        ok(bristle_batch_advance_some(h, null(), 0, 0.1));
    }
}

#[test]
fn a_contact_that_fails_is_told_by_its_status_word() {
    let text = format!("{SCENARIO}[limits]\nsteps = 5\n");
    let (made, batch) = new(&text, None, 0, "cpu", 2e-4, 0.0);
    ok(made);
    let handle = Handle(batch);
    let (mut words, mut pose, mut x) = ([9; 3], [0.0; 9], [0.0; 9]);
    unsafe {
        ok(bristle_batch_advance_some(handle.0, [1].as_ptr(), 1, 0.1));
        ok(bristle_batch_status(handle.0, words.as_mut_ptr(), 3));
        ok(bristle_batch_pose(handle.0, pose.as_mut_ptr(), 3));
        assert_eq!(words, [0, BristleFault::Steps as u32, 0]);
        assert_eq!(pose.map(f64::is_nan), [false, false, false, true, true, true, false, false, false]);
        let asked = bristle_batch_respond(handle.0, 1, [0.0; 3].as_ptr(), 0.1, pose.as_mut_ptr(), x.as_mut_ptr());
        refused(asked, BristleStatus::Argument, "reset");
        ok(bristle_batch_reset(handle.0, [1].as_ptr(), 1));
        ok(bristle_batch_status(handle.0, words.as_mut_ptr(), 3));
        assert_eq!(words, [0; 3]);
    }
}

#[test]
fn a_handle_may_be_used_from_any_thread() {
    #[derive(Clone, Copy)]
    struct Shared(*mut BristleBatch);
    // What is tried here is that calls on a handle may come from any thread.
    unsafe impl Send for Shared {}
    let handle = Handle::new("cpu", 2e-4, 0.0);
    let shared = Shared(handle.0);
    let calls = (0..4).map(|_| {
        std::thread::spawn(move || {
            let Shared(batch) = { shared };
            (0..5).for_each(|_| ok(unsafe { bristle_batch_advance(batch, 1.0 / 1024.0) }));
            numbers(batch).len()
        })
    });
    let calls: Vec<_> = calls.collect();
    calls.into_iter().for_each(|call| assert_eq!(call.join().unwrap(), 3 * 9 + 3 * 3 + 3 + 3));
    let mut time = 0.0;
    ok(unsafe { bristle_batch_time(handle.0, 0, &raw mut time) });
    assert_eq!(time, 20.0 / 1024.0);
}

/// The friction of several patches sums up to the wrench of the contact.
#[test]
fn several_patches_are_read_one_by_one() {
    let several = SCENARIO.replace("takes_frames = true\n", "")
        + "[[patches]]\nat = [0.02, 0]\n[[patches]]\nat = [-0.01, 0.01]\nturn = 0.4\nshare = 2.0\n";
    let (made, h) = new(&several, None, 0, "cpu", 0.0, 0.0);
    assert_eq!(made, BristleStatus::Ok, "{}", last());
    let h = Handle(h);
    let (mut wrench, mut force, mut slip, mut near) = ([[7.0f64; 3]; 3], [7.0f64; 3], [7.0; 3], [7.0; 3]);
    let (mut count, mut whole, mut forces) = (0, [[0.0f64; 3]; 3], [0.0f64; 3]);
    let [w, f, s, n] = [wrench.as_mut_ptr().cast(), force.as_mut_ptr(), slip.as_mut_ptr(), near.as_mut_ptr()];
    let none: *mut f64 = null_mut();
    unsafe {
        ok(bristle_batch_advance(h.0, 0.1));
        ok(bristle_batch_patches(h.0, 1, none, none, none, none, 0, &raw mut count));
        assert_eq!(count, 2);
        refused(
            bristle_batch_patches(h.0, 1, w, f, s, n, 1, &raw mut count),
            BristleStatus::Argument,
            "room = 1: expected at least 2",
        );
        refused(bristle_batch_patches(h.0, 3, w, f, s, n, 2, &raw mut count), BristleStatus::Argument, "contact = 3");
        assert_eq!(wrench, [[7.0; 3]; 3], "nothing is written");
        ok(bristle_batch_patches(h.0, 1, w, f, s, n, 3, &raw mut count));
        ok(bristle_batch_wrench(h.0, whole.as_mut_ptr().cast(), 3));
        ok(bristle_batch_normal_force(h.0, forces.as_mut_ptr(), 3));
    }
    let sum = |c: usize| wrench[0][c] + wrench[1][c];
    assert!((sum(0) - whole[1][0]).abs() < 1e-6 && (sum(1) - whole[1][1]).abs() < 1e-6, "{wrench:?} {whole:?}");
    let places = [[0.02, 0.0], [-0.01, 0.01]];
    let torque: f64 = wrench.iter().zip(places).map(|([fx, fy, tau], [x, y])| tau + x * fy - y * fx).sum();
    assert!((torque - whole[1][2]).abs() < 1e-8, "{wrench:?} {whole:?}");
    assert!(whole[1][1] > 0.1, "it is held: {whole:?}");
    assert!((force[0] - forces[1] / 3.0).abs() < 1e-12 && (force[1] - 2.0 * force[0]).abs() < 1e-12);
    assert!([slip, near].iter().all(|of| of[..2].iter().all(|share| (0.0..=1.0).contains(share)) && of[2] == 7.0));
}

/// The friction of cells sums up to the wrench of the contact, and their normal forces to its own.
#[test]
fn cells_are_read_one_by_one() {
    let (made, h) = new(SCENARIO, None, 0, "cpu", 0.0, 0.0);
    assert_eq!(made, BristleStatus::Ok, "{}", last());
    let h = Handle(h);
    let none: *mut f64 = null_mut();
    let (mut count, mut whole, mut forces) = (0, [[0.0f64; 3]; 3], [0.0f64; 3]);
    let (mut normal, mut force, mut near) = ([7.0f64; 50], [[7.0f64; 2]; 50], [7.0f64; 50]);
    let [n, f, c] = [normal.as_mut_ptr(), force.as_mut_ptr().cast(), near.as_mut_ptr()];
    unsafe {
        ok(bristle_batch_advance(h.0, 0.1));
        ok(bristle_batch_cells(h.0, 1, none, none, none, 0, &raw mut count));
        assert!((9..50).contains(&count), "{count}");
        let few = count - 1;
        refused(
            bristle_batch_cells(h.0, 1, n, f, c, few, &raw mut count),
            BristleStatus::Argument,
            &format!("room = {few}: expected at least {count}"),
        );
        refused(bristle_batch_cells(h.0, 3, n, f, c, 50, &raw mut count), BristleStatus::Argument, "contact = 3");
        assert_eq!((normal, force), ([7.0; 50], [[7.0; 2]; 50]), "nothing is written");
        ok(bristle_batch_cells(h.0, 1, n, f, c, 50, &raw mut count));
        ok(bristle_batch_wrench(h.0, whole.as_mut_ptr().cast(), 3));
        ok(bristle_batch_normal_force(h.0, forces.as_mut_ptr(), 3));
    }
    let sum = |axis: usize| force[..count].iter().map(|of| of[axis]).sum::<f64>();
    assert!((sum(0) - whole[1][0]).abs() < 1e-6 && (sum(1) - whole[1][1]).abs() < 1e-6, "{force:?} {whole:?}");
    assert!(whole[1][1] > 0.1 && (normal[..count].iter().sum::<f64>() - forces[1]).abs() < 1e-9, "{forces:?}");
    assert!(near[..count].iter().all(|near| (0.0..1.01).contains(near)) && near[count] == 7.0, "{near:?}");
}

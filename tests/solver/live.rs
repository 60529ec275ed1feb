//! Batches keep their state between calls, on every engine.

#[path = "../../examples/cosim.rs"]
mod cosim;

use std::sync::Arc;

use crate::common::{engines, in_hand, on_table, prescribed, rollout, shape};
use bristle::batch::{Batch, Input, Sample, Snapshot, SnapshotError};
use bristle::body::Frame;
use bristle::contact::{Bristles, Contact, Form, Initial, Model, PatchInputs};
use bristle::engine::{Engine, Plan, Reason, Stepping};
use bristle::error::EngineError;
use bristle::friction::{Friction, Law};
use bristle::limit_surface::{Rule, Table};
use bristle::patch::{FrictionAxes, Grid, Patch, Placed, Shape};
use bristle::schedule::{Signal, Sine};
use bristle::{Cpu, DEFAULT_STEP, MovingSurface, Pose, Twist};

/// One call of a controller [s]: a power of two, so that its multiples are exact.
const CALL: f64 = 1.0 / 512.0;
/// Calls of a test.
const CALLS: usize = 24;

fn steppings() -> [Stepping; 2] {
    [Stepping::fixed(DEFAULT_STEP), Stepping::adaptive(3e-6)]
}

/// The grip over time: a value for every call.
fn grip(k: usize) -> Vec<f64> {
    (0..CALLS).map(|i| 1.6 + 0.9 * ((i * (k + 2)) as f64 * 0.37).cos()).collect()
}

/// Contacts of every model, law and kind of body; each follows `grip` as a signal.
fn contacts() -> Vec<Contact> {
    let (large, small) = (shape(21, 0.02, Shape::Circle), shape(5, 0.02, Shape::Disc));
    let lugre = Friction { law: Law::LuGre, ..Friction::default() };
    let table = Arc::new(Table::new(&large, Rule::Cells, 8).unwrap());
    let pose = [0.01, -0.02, 0.3];
    let mut out = Vec::new();
    for (patch, friction) in [(&large, Friction::default()), (&small, Friction::default()), (&large, lugre)] {
        out.push(in_hand(patch, friction, pose, Signal::constant(1.0)));
    }
    let reduced = |model| Contact { model, ..in_hand(&large, Friction::default(), pose, Signal::constant(1.0)) };
    out.push(reduced(Model::Ellipsoid(Form::Consistent)));
    out.push(reduced(Model::LimitSurface(Arc::clone(&table), Form::Consistent)));
    out.push(reduced(Model::LimitSurface(table, Form::Published)));
    out.push(prescribed(&large, Friction::default(), [0.01, 0.0, 1.0], 1.0));
    let mut pushed = on_table(Frame::Body { offset: [0.0; 2] }, &small, Friction::default());
    pushed.body.free_mut().unwrap().twist = Twist::new(0.1, 0.0, 0.5);
    out.push(pushed);
    // On surfaces that move: hands that swing, a turntable, a belt.
    let wave = |amplitude| Signal::sines(0.01, vec![Sine { amplitude, omega: 70.0, phase: 0.4 }]);
    let swing = MovingSurface { twist: [wave(0.2), wave(0.1), wave(5.0)], at: [-0.2, 0.01] };
    for model in [Model::Distributed, Model::Ellipsoid(Form::Consistent)] {
        let hand = in_hand(&small, Friction::default(), pose, Signal::constant(1.0));
        out.push(Contact { model, ..hand });
    }
    let mut turned = on_table(Frame::Body { offset: [0.004, -0.002] }, &large, Friction::default());
    turned.initial.pose = pose.into();
    out.extend([turned, prescribed(&small, Friction::default(), [0.01, 0.0, 1.0], 1.0)]);
    // Two patches, each with a surface of its own.
    let placed = |x: f64| Placed { patch: Patch::clone(&small), at: Pose::new(x, 0.0, x), force: 1.0, friction: 1.0 };
    let mut two = in_hand(&small, Friction::default(), pose, Signal::constant(1.0));
    two.patch = Patch::compound(&[placed(-0.02), placed(0.02)]).unwrap().into();
    let own = |twist: [f64; 3]| PatchInputs { normal_force: None, surface: Some(MovingSurface::new(twist)) };
    two.inputs.patches = vec![own([0.0, 0.02, 0.0]), PatchInputs { surface: Some(swing.clone()), ..own([0.0; 3]) }];
    out.push(two);
    out[8..].iter_mut().for_each(|contact| contact.inputs.surface = Some(swing.clone()));
    for (k, contact) in out.iter_mut().enumerate() {
        let points: Vec<(f64, f64)> = grip(k).iter().enumerate().map(|(i, f)| (i as f64 * CALL, *f)).collect();
        contact.inputs.normal_force = Signal::steps(&points).unwrap();
    }
    out
}

/// Everything of a batch, as bits.
fn bits(batch: &mut Batch) -> Vec<Vec<u64>> {
    let samples = batch.samples().unwrap().to_vec();
    let statuses = batch.statuses().unwrap().to_vec();
    let bristles: Vec<Vec<[f64; 2]>> = (0..batch.len()).map(|k| batch.bristles(k).unwrap()).collect();
    samples.iter().zip(statuses).zip(bristles).map(|((s, status), z)| one(s, z.as_flattened(), status.steps)).collect()
}

fn one(s: &Sample, bristles: &[f64], steps: u64) -> Vec<u64> {
    let threes = [s.pose.to_array(), s.twist.to_array(), s.wrench.to_array()];
    let ones = [s.normal_force, s.slip, s.near_limit];
    let numbers = threes.as_flattened().iter().chain(&ones).chain(bristles);
    numbers.map(|v| v.to_bits()).chain([steps]).collect()
}

fn largest(a: [f64; 3], b: [f64; 3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

#[test]
fn pieces_between_break_points_have_the_bits_of_one_rollout() {
    for (name, engine) in engines() {
        for stepping in steppings() {
            let duration = CALLS as f64 * CALL;
            let plan = Plan {
                step: stepping.step,
                tolerance: stepping.tolerance,
                keep_bristles: true,
                ..Plan::new(duration, DEFAULT_STEP, duration).unwrap()
            };
            let whole = rollout(&*engine, &contacts(), &plan);
            // The signals of the contacts cut the time, or whoever calls sets the values.
            for sets in [false, true] {
                let mut own = contacts();
                if sets {
                    own.iter_mut().for_each(|c| c.inputs.normal_force = Signal::constant(1.0));
                }
                let mut batch = engine.batch(own, stepping).unwrap();
                for call in 0..CALLS {
                    if sets {
                        let forces: Vec<f64> = (0..batch.len()).map(|k| grip(k)[call]).collect();
                        batch.set_each(Input::NormalForce, &forces).unwrap();
                    }
                    batch.advance(CALL).unwrap();
                }
                assert_eq!(batch.time(0), duration);
                for (k, found) in bits(&mut batch).into_iter().enumerate() {
                    let wanted = one(&whole.sample(k, 1), whole.bristles[k].as_flattened(), whole.status[k].steps);
                    assert_eq!(found, wanted, "{name} {stepping:?} sets {sets}: contact {k}");
                }
            }
        }
    }
}

#[test]
fn what_is_read_between_calls_are_the_samples_of_a_rollout() {
    for (name, engine) in engines() {
        let plan = Plan::new(CALLS as f64 * CALL, DEFAULT_STEP, CALL).unwrap();
        let whole = rollout(&*engine, &contacts(), &plan);
        let mut batch = engine.batch(contacts(), Stepping::fixed(DEFAULT_STEP)).unwrap();
        for call in 0..=CALLS {
            for (k, found) in batch.samples().unwrap().iter().enumerate() {
                let wanted = whole.sample(k, call);
                assert_eq!(
                    one(found, &[], 0),
                    one(&wanted, &[], 0),
                    "{name}, call {call}, contact {k}: {found:?}, {wanted:?}"
                );
            }
            if call < CALLS {
                batch.advance(CALL).unwrap();
            }
        }
    }
}

/// Recorded in two parts, the second after an input has been set and with the bits of calls that do the same.
#[test]
fn recorded_samples_are_those_of_a_rollout_and_of_calls() {
    for (name, engine) in engines() {
        for stepping in steppings() {
            let plan = Plan { tolerance: stepping.tolerance, step: stepping.step, ..plan_of_calls() };
            let whole = rollout(&*engine, &contacts(), &plan);
            let mut batch = engine.batch(contacts(), stepping).unwrap();
            let mut calls = engine.batch(contacts(), stepping).unwrap();
            let half = CALLS / 2;
            let recorded = batch.record(&plan.samples[1..=half], &|_| true).unwrap();
            for call in 0..=half {
                for k in 0..batch.len() {
                    assert_eq!(
                        one(&recorded.sample(k, call), &[], 0),
                        one(&whole.sample(k, call), &[], 0),
                        "{name} {stepping:?}, call {call}, contact {k}"
                    );
                }
                calls.samples().unwrap();
                if call < half {
                    calls.advance(CALL).unwrap();
                }
            }
            assert_eq!(batch.time(0), plan.samples[half]);
            batch.set(1, Input::NormalForce, 1.2).unwrap();
            calls.set(1, Input::NormalForce, 1.2).unwrap();
            let recorded = batch.record(&plan.samples[half + 1..], &|_| true).unwrap();
            assert_eq!(recorded.frames(), CALLS - half + 1);
            for call in half..=CALLS {
                for (k, wanted) in calls.samples().unwrap().iter().enumerate() {
                    let found = recorded.sample(k, call - half);
                    assert_eq!(
                        one(&found, &[], 0),
                        one(wanted, &[], 0),
                        "{name} {stepping:?}, call {call}, contact {k}"
                    );
                }
                if call < CALLS {
                    calls.advance(CALL).unwrap();
                }
            }
            assert_eq!(bits(&mut batch), bits(&mut calls), "{name} {stepping:?}");
        }
        // One that is stopped has not been.
        let [mut batch, mut other] = [0, 1].map(|_| engine.batch(contacts(), Stepping::default()).unwrap());
        for batch in [&mut batch, &mut other] {
            batch.advance(CALL).unwrap();
            batch.samples().unwrap();
        }
        assert!(matches!(batch.record(&[0.25, 0.5], &|_| false), Err(EngineError::Stopped)), "{name}");
        assert_eq!(batch.time(0), CALL);
        for batch in [&mut batch, &mut other] {
            batch.advance(CALL).unwrap();
        }
        assert_eq!(bits(&mut batch), bits(&mut other), "{name}");
        batch.reset(&(0..batch.len()).collect::<Vec<_>>()).unwrap();
        for (times, field) in
            [(&[0.1, 0.1][..], "times"), (&[-1.0], "times"), (&[f64::NAN], "times"), (&[2e6], "times")]
        {
            let error = batch.record(times, &|_| true).unwrap_err();
            assert!(matches!(&error, EngineError::Argument(e) if e.field == field), "{name} {times:?}: {error}");
        }
        batch.advance_some(&[2], CALL).unwrap();
        let error = batch.record(&[0.1], &|_| true).unwrap_err().to_string();
        assert!(
            error.contains("contact 2: time = 0.001953125: expected 0 s, the time of contact 0"),
            "{name}: {error}"
        );
    }
}

/// Samples at the ends of all calls.
fn plan_of_calls() -> Plan {
    Plan::new(CALLS as f64 * CALL, DEFAULT_STEP, CALL).unwrap()
}

#[test]
fn ramps_are_linear_signals() {
    for (name, engine) in engines() {
        let forces = [2.0, 1.0, 1.5, 1.4, 3.0];
        let points: Vec<(f64, f64)> = forces.iter().enumerate().map(|(i, f)| (i as f64 * CALL, *f)).collect();
        let mut contact = contacts().swap_remove(0);
        contact.inputs.normal_force = Signal::linear(&points).unwrap();
        let plan = Plan::new(4.0 * CALL, DEFAULT_STEP, 4.0 * CALL).unwrap();
        let whole = rollout(&*engine, std::slice::from_ref(&contact), &plan);
        contact.inputs.normal_force = Signal::constant(2.0);
        let mut batch = engine.batch(vec![contact], Stepping::fixed(DEFAULT_STEP)).unwrap();
        for force in &forces[1..] {
            batch.ramp(0, Input::NormalForce, *force, CALL).unwrap();
            batch.advance(CALL).unwrap();
        }
        assert_eq!(one(&batch.samples().unwrap()[0], &[], 0), one(&whole.sample(0, 1), &[], 0), "{name}");
    }
}

#[test]
fn a_snapshot_goes_on_with_the_same_bits_and_is_not_felt() {
    for (name, engine) in engines() {
        for stepping in steppings() {
            let mut batch = engine.batch(contacts(), stepping).unwrap();
            let mut alone = engine.batch(contacts(), stepping).unwrap();
            for _ in 0..7 {
                batch.advance(CALL).unwrap();
                alone.advance(CALL).unwrap();
            }
            let snapshot = batch.save().unwrap();
            let read = Snapshot::from_bytes(&snapshot.to_bytes().unwrap()).unwrap();
            let mut other = engine.batch(contacts(), stepping).unwrap();
            other.restore(&read).unwrap();
            for batch in [&mut batch, &mut alone, &mut other] {
                batch.set(2, Input::NormalForce, 2.5).unwrap();
                for _ in 0..5 {
                    batch.advance(CALL).unwrap();
                }
            }
            let wanted = bits(&mut alone);
            assert_eq!(bits(&mut batch), wanted, "{name} {stepping:?}: saving is felt");
            assert_eq!(bits(&mut other), wanted, "{name} {stepping:?}: from bytes");
            // Back in time.
            batch.restore(&snapshot).unwrap();
            assert_eq!(batch.time(3), 7.0 * CALL);
            batch.set(2, Input::NormalForce, 2.5).unwrap();
            for _ in 0..5 {
                batch.advance(CALL).unwrap();
            }
            assert_eq!(bits(&mut batch), wanted, "{name} {stepping:?}: restored");
        }
    }
}

/// What a contact was before it was restored leaves nothing behind, not even where it is not seen.
#[test]
fn a_contact_that_has_slid_and_is_restored_sticks_as_one_that_never_did() {
    for (name, engine) in engines() {
        let mut batch = engine.batch(contacts(), Stepping::default()).unwrap();
        let start = batch.save().unwrap();
        batch.set_each(Input::NormalForce, &vec![0.3; batch.len()]).unwrap();
        (0..20).for_each(|_| batch.advance(CALL).unwrap());
        batch.restore(&start).unwrap();
        let mut fresh = engine.batch(contacts(), Stepping::default()).unwrap();
        for batch in [&mut batch, &mut fresh] {
            batch.set_each(Input::NormalForce, &vec![6.0; batch.len()]).unwrap();
            (0..40).for_each(|_| batch.advance(CALL).unwrap());
        }
        assert_eq!(bits(&mut batch), bits(&mut fresh), "{name}");
    }
}

#[test]
fn a_snapshot_goes_on_on_another_engine() {
    let engines = engines();
    for (from_name, from) in &engines {
        for (to_name, to) in &engines {
            let mut batch = from.batch(contacts(), Stepping::default()).unwrap();
            for _ in 0..9 {
                batch.advance(CALL).unwrap();
            }
            let mut other = to.batch(contacts(), Stepping::default()).unwrap();
            other.restore(&batch.save().unwrap()).unwrap();
            for batch in [&mut batch, &mut other] {
                for _ in 0..9 {
                    batch.advance(CALL).unwrap();
                }
            }
            let wanted = batch.samples().unwrap().to_vec();
            for (k, (found, wanted)) in other.samples().unwrap().iter().zip(&wanted).enumerate() {
                let apart = largest(found.pose.to_array(), wanted.pose.to_array());
                assert!(apart < 2e-6, "{from_name} to {to_name}, contact {k}: poses differ by {apart:e}");
                let apart = largest(found.wrench.to_array(), wanted.wrench.to_array());
                assert!(apart < 2e-3, "{from_name} to {to_name}, contact {k}: wrenches differ by {apart:e}");
            }
        }
    }
}

/// A contact can come in the place of another: it goes on as in a batch of its own, and its neighbours as if
/// nothing had been done.
#[test]
fn a_contact_takes_the_place_of_another() {
    for (name, engine) in engines() {
        let old = contacts();
        // Another normal force, mass, coefficient and start: of every contact but the prescribed one.
        let other = |contact: &Contact| {
            let mut new = contact.clone();
            new.friction.mu_c *= 0.9;
            new.friction.mu_s *= 0.95;
            new.inputs.normal_force = Signal::constant(1.3);
            new.initial.pose.x += 1e-3;
            if let Some(body) = new.body.free_mut() {
                body.mass *= 1.1;
            }
            new
        };
        let mut batch = engine.batch(old.clone(), Stepping::default()).unwrap();
        let mut undisturbed = engine.batch(old.clone(), Stepping::default()).unwrap();
        for batch in [&mut batch, &mut undisturbed] {
            batch.advance(CALL).unwrap();
        }
        let list: Vec<usize> = (0..old.len()).step_by(2).collect();
        let new: Vec<Contact> = list.iter().map(|&k| other(&old[k])).collect();
        // Nothing is replaced if one does not fit.
        let before = bits(&mut batch);
        for (places, by) in [
            (vec![0, 3], vec![new[0].clone(), old[0].clone()]),
            (vec![0], new[..2].to_vec()),
            (vec![old.len()], new[..1].to_vec()),
        ] {
            assert!(batch.replace(&places, &by).is_err(), "{name}: {places:?}");
        }
        assert!(!batch.takes(3, &old[0]) && batch.takes(0, &new[0]), "{name}");
        assert_eq!(bits(&mut batch), before, "{name}");
        batch.replace(&list, &new).unwrap();
        let mut alone = engine.batch(new, Stepping::default()).unwrap();
        for _ in 0..3 {
            for batch in [&mut batch, &mut alone, &mut undisturbed] {
                batch.advance(CALL).unwrap();
            }
            let [found, alone, undisturbed] = [&mut batch, &mut alone, &mut undisturbed].map(bits);
            for (i, &k) in list.iter().enumerate() {
                assert_eq!(found[k], alone[i], "{name}, contact {k}");
            }
            for k in (1..old.len()).step_by(2) {
                assert_eq!(found[k], undisturbed[k], "{name}, contact {k}, which was not replaced");
            }
        }
        // A reset goes to the start of the new one, and a saved state is of it.
        let saved = batch.save().unwrap();
        batch.reset(&list).unwrap();
        assert!(list.iter().all(|&k| batch.time(k) == 0.0), "{name}");
        batch.restore(&saved).unwrap();
    }
}

/// A grid with another pressure, or other factors of friction, on as many cells takes a place whose map no
/// other contact has.
#[test]
fn another_map_takes_the_place_of_one_that_is_not_shared() {
    let grid = Grid::new(5, 5, 0.02, 0.02).unwrap();
    let with = |slope: f64| {
        let pressure: Vec<f64> = (0..25).map(|i| if i % 7 == 3 { 0.0 } else { 1.0 + slope * f64::from(i) }).collect();
        let patch = Patch::from_pressure(grid, &pressure).unwrap().into();
        Contact { patch, ..contacts().swap_remove(0) }
    };
    let even = with(0.0);
    let mapped = |slope: f64| {
        let factors: Vec<f64> = (0..25).map(|i| 0.5 + slope * f64::from(i)).collect();
        let patch = Patch::clone(&even.patch).with_friction_map(&factors).unwrap().into();
        Contact { patch, ..even.clone() }
    };
    for (name, engine) in engines() {
        for with in [&with as &dyn Fn(f64) -> Contact, &mapped] {
            let shared = with(0.0);
            let old = vec![with(0.02), shared.clone(), shared];
            let mut batch = engine.batch(old, Stepping::default()).unwrap();
            batch.advance(CALL).unwrap();
            let before = bits(&mut batch);
            assert!(batch.engine().engine == "cpu" || !batch.takes(1, &with(0.04)), "{name}: others have that map");
            batch.replace(&[0], &[with(0.04)]).unwrap();
            let mut alone = engine.batch(vec![with(0.04)], Stepping::default()).unwrap();
            assert_eq!(bits(&mut batch)[1..], before[1..], "{name}");
            for _ in 0..3 {
                batch.advance(CALL).unwrap();
                alone.advance(CALL).unwrap();
                assert_eq!(bits(&mut batch)[0], bits(&mut alone)[0], "{name}");
            }
            assert_ne!(bits(&mut batch)[0], bits(&mut batch)[1], "{name}");
        }
        // A grid without factors has kernels and lanes of its own; the reference has one lane.
        let mut batch = engine.batch(vec![mapped(0.02)], Stepping::default()).unwrap();
        if batch.takes(0, &even) {
            batch.replace(&[0], std::slice::from_ref(&even)).unwrap();
            let mut alone = engine.batch(vec![even.clone()], Stepping::default()).unwrap();
            batch.advance(CALL).unwrap();
            alone.advance(CALL).unwrap();
            assert_eq!(bits(&mut batch), bits(&mut alone), "{name}");
        }
    }
}

/// A contact whose patches are in other places takes the place of one, and its neighbour keeps its own.
#[test]
fn patches_in_other_places_take_the_place_of_a_contact() {
    let patch = Patch::clone(&contacts()[0].patch);
    let with = |apart: f64| {
        let mut contact = contacts().swap_remove(0);
        let at = |x: f64| Placed { patch: patch.clone(), at: Pose::new(x, 0.0, x), force: 1.0, friction: 1.0 };
        contact.patch = Patch::compound(&[at(-apart), at(apart)]).unwrap().into();
        contact
    };
    for (name, engine) in engines() {
        let mut batch = engine.batch(vec![with(0.01), with(0.02)], Stepping::default()).unwrap();
        batch.advance(CALL).unwrap();
        let before = bits(&mut batch);
        batch.replace(&[0], &[with(0.03)]).unwrap();
        assert_eq!(bits(&mut batch)[1..], before[1..], "{name}");
        let mut alone = engine.batch(vec![with(0.03)], Stepping::default()).unwrap();
        for _ in 0..3 {
            batch.advance(CALL).unwrap();
            alone.advance(CALL).unwrap();
            assert_eq!(bits(&mut batch)[0], bits(&mut alone)[0], "{name}");
        }
        assert_ne!(bits(&mut batch)[0], bits(&mut batch)[1], "{name}");

        // Two contacts that share one patch, and on a GPU its cells, which one of them cannot change alone.
        let shared = with(0.02);
        let mut batch = engine.batch(vec![shared.clone(), shared], Stepping::default()).unwrap();
        batch.advance(CALL).unwrap();
        assert_eq!(batch.takes(0, &with(0.03)), batch.engine().engine == "cpu", "{name}");
        let replaced = batch.replace(&[0], &[with(0.03)]);
        assert_eq!(replaced.is_ok(), batch.engine().engine == "cpu", "{name}");
        let mut alone = engine.batch(vec![with(0.02)], Stepping::default()).unwrap();
        alone.advance(CALL).unwrap();
        batch.advance(CALL).unwrap();
        alone.advance(CALL).unwrap();
        assert_eq!(bits(&mut batch)[1], bits(&mut alone)[0], "{name}");
    }
}

/// The normal forces and surfaces of patches are set one by one, and read; what a patch has not, is refused.
#[test]
fn inputs_of_patches_are_set_and_read() {
    let small = shape(5, 0.02, Shape::Disc);
    let placed = |x: f64| Placed { patch: Patch::clone(&small), at: Pose::new(x, 0.0, x), force: 1.0, friction: 1.0 };
    let mut two = prescribed(&small, Friction::default(), [0.1, 0.0, 1.0], 1.0);
    two.patch = Patch::compound(&[placed(-0.02), placed(0.02)]).unwrap().into();
    let still = MovingSurface::new([0.0; 3]);
    two.inputs.surface = Some(still.clone());
    let own = |f_n: f64, surface| PatchInputs { normal_force: Some(Signal::constant(f_n)), surface };
    let plain = two.clone();
    two.inputs.patches = vec![own(2.0, None), own(1.0, Some(still))];
    for (name, engine) in engines() {
        for stepping in steppings() {
            let mut batch = engine.batch(vec![two.clone(), two.clone()], stepping).unwrap();
            batch.advance(CALL).unwrap();
            batch.set(0, Input::PatchNormalForce(0), 3.0).unwrap();
            batch.set(0, Input::PatchVy(1), 0.3).unwrap();
            batch.ramp(1, Input::PatchNormalForce(1), 0.0, 0.01).unwrap();
            for refused in
                [Input::PatchVx(0), Input::PatchNormalForce(2), Input::PatchNormalForce(200), Input::NormalForce]
            {
                let before = bits(&mut batch);
                assert!(batch.set(0, refused, 1.0).is_err(), "{name}: {refused:?}");
                assert_eq!(bits(&mut batch), before, "{name}: {refused:?}");
            }
            batch.advance(0.05).unwrap();
            let samples = batch.samples().unwrap().to_vec();
            for (k, wanted) in [[3.0, 1.0], [2.0, 0.0]].into_iter().enumerate() {
                let of_patches = batch.patches(k).unwrap();
                assert!((samples[k].normal_force - wanted[0] - wanted[1]).abs() < 1e-6, "{name}: {:?}", samples[k]);
                let sum = of_patches.iter().zip(batch.contacts()[k].patch.parts()).map(|(of, part)| {
                    let [fx, fy, tau] = of.wrench.to_array();
                    [fx, fy, tau + part.at().x * fy - part.at().y * fx]
                });
                let sum = sum.fold([0.0; 3], |a, b| [0, 1, 2].map(|i| a[i] + b[i]));
                assert!(largest(sum, samples[k].wrench.to_array()) < 2e-5, "{name}: {sum:?}, {:?}", samples[k].wrench);
                for (of, force) in of_patches.iter().zip(wanted) {
                    assert!((of.normal_force - force).abs() < 1e-6, "{name}: {of:?}");
                    let size = of.wrench.fx.hypot(of.wrench.fy);
                    // Of one without a normal force no bristle can slip.
                    assert!((of.slip > 0.99) == (force > 0.0), "{name}: {of:?}");
                    assert!(size >= 0.9 * force && size <= 1.3 * force, "{name}: {of:?}");
                }
            }
            // The second patch of the first contact is driven by its belt.
            assert!(batch.patches(0).unwrap()[1].wrench.fy > 0.5, "{name}");
            // What is set is not felt before the next call, and without any force shares are those at the
            // start.
            let before = (batch.inputs(1).unwrap(), batch.patches(1).unwrap());
            for (input, value) in [
                (Input::PatchNormalForce(0), -1.0),
                (Input::MuC, 0.1),
                (Input::SurfaceVx, 0.5),
                (Input::PatchVx(1), 0.5),
            ] {
                batch.set(1, input, value).unwrap();
            }
            assert_eq!((batch.inputs(1).unwrap(), batch.patches(1).unwrap()), before, "{name}");
            assert_eq!(before.1[0].normal_force, 2.0, "{name}");
            batch.advance(CALL).unwrap();
            let lifted = batch.samples().unwrap()[1];
            assert!(lifted.normal_force == 0.0 && lifted.slip > 0.99, "{name}: {lifted:?}");
            let felt = batch.inputs(1).unwrap();
            assert!((felt.mu_c - 0.1).abs() < 1e-7 && felt.surface.vx == 0.5, "{name}: {felt:?}");
            assert_eq!((felt.patches[1].surface.vx, felt.mu_s), (0.5, before.0.mu_s), "{name}");
            let snapshot = batch.save().unwrap();
            let mut other = engine.batch(vec![plain.clone(), plain.clone()], stepping).unwrap();
            let refused = other.restore(&snapshot).unwrap_err().to_string();
            assert!(refused.contains("of patches with other inputs of their own"), "{name}: {refused}");
            let mut again = engine.batch(vec![two.clone(), two.clone()], stepping).unwrap();
            again.restore(&Snapshot::from_bytes(&snapshot.to_bytes().unwrap()).unwrap()).unwrap();
            assert_eq!(bits(&mut again), bits(&mut batch), "{name}");
            batch.copy(0, &[1]).unwrap();
            batch.advance(CALL).unwrap();
            again.advance(CALL).unwrap();
            assert_eq!(bits(&mut batch)[0], bits(&mut again)[0], "{name}");
            assert_eq!(bits(&mut batch)[0], bits(&mut batch)[1], "{name}");
        }
    }
}

/// A contact with other cells, model or inputs than its place takes is put into a new batch, where the others
/// go on with the same bits.
#[test]
fn others_go_on_in_a_new_batch_beside_a_contact_of_another_kind() {
    let old = contacts();
    for (name, engine) in engines() {
        for stepping in steppings() {
            let mut undisturbed = engine.batch(old.clone(), stepping).unwrap();
            let mut first = old.clone();
            // A small grid for a large one, a grid for a reduced bristle, one patch for two.
            let changed = [(0, 1), (3, 0), (11, 3), (7, 2)];
            changed.iter().for_each(|(k, by)| first[*k] = old[*by].clone());
            let places = changed.map(|(k, _)| k);
            let mut new = engine.batch(first.clone(), stepping).unwrap();
            undisturbed.advance(CALL).unwrap();
            let mut saved = undisturbed.save().unwrap();
            let fresh = new.save().unwrap();
            let kept = saved.to_bytes().unwrap();
            assert!(saved.replace(&[0, old.len()], &fresh).is_err(), "{name}");
            let mut fewer = engine.batch(old[1..].to_vec(), stepping).unwrap();
            assert!(saved.replace(&[0], &fewer.save().unwrap()).is_err(), "{name}");
            assert_eq!(saved.to_bytes().unwrap(), kept, "{name}");
            assert!(new.restore(&saved).is_err(), "{name}");
            saved.replace(&places, &fresh).unwrap();
            new.restore(&saved).unwrap();
            let mut alone = engine.batch(first, stepping).unwrap();
            for _ in 0..3 {
                for batch in [&mut new, &mut undisturbed, &mut alone] {
                    batch.advance(CALL).unwrap();
                }
                let (new, undisturbed, alone) = (bits(&mut new), bits(&mut undisturbed), bits(&mut alone));
                for (k, bits) in new.iter().enumerate() {
                    let wanted = if places.contains(&k) { &alone[k] } else { &undisturbed[k] };
                    assert_eq!(bits, wanted, "{name}: contact {k}");
                }
            }
        }
    }
}

/// Contacts that share their patch take each other's places, with inputs of its patches of their own and
/// without.
#[test]
fn contacts_of_one_patch_take_each_others_places() {
    let disc = shape(11, 0.02, Shape::Disc);
    let placed = |x: f64| Placed { patch: Patch::clone(&disc), at: Pose::new(x, 0.0, x), force: 1.0, friction: 1.0 };
    let mut plain = prescribed(&disc, Friction::default(), [0.1, 0.0, 1.0], 1.0);
    plain.patch = Patch::compound(&[placed(-0.02), placed(0.02)]).unwrap().into();
    let mut two = plain.clone();
    let own = |f_n: f64| PatchInputs { normal_force: Some(Signal::constant(f_n)), surface: None };
    two.inputs.patches = vec![own(2.0), own(1.0)];
    let friction = Friction { mu_c: 0.5, mu_s: 0.6, ..Friction::default() };
    let slippery = Contact { friction, ..plain.clone() };
    for (name, engine) in engines() {
        let mut taken = 0;
        for [old, new] in [[&plain, &two], [&two, &plain], [&plain, &slippery], [&slippery, &two]] {
            let mut batch = engine.batch(vec![old.clone(); 2], Stepping::default()).unwrap();
            batch.advance(CALL).unwrap();
            if !batch.takes(0, new) {
                continue;
            }
            taken += 1;
            let neighbour = bits(&mut batch)[1].clone();
            batch.replace(&[0], std::slice::from_ref(new)).unwrap();
            assert_eq!(bits(&mut batch)[1], neighbour, "{name}");
            let mut alone = engine.batch(vec![new.clone()], Stepping::default()).unwrap();
            for _ in 0..3 {
                batch.advance(CALL).unwrap();
                alone.advance(CALL).unwrap();
            }
            assert_eq!(bits(&mut batch)[0], bits(&mut alone)[0], "{name}");
        }
        // A GPU lays out contacts with inputs of their patches in another way.
        let least = if engine.info().engine == "cpu" { 4 } else { 1 };
        assert!(taken >= least, "{name}: {taken}");
    }
}

/// A contact with other axes of friction takes the place of one, and its neighbours keep theirs.
#[test]
fn other_axes_of_friction_take_the_place_of_a_contact() {
    let with = |across: f64, angle: f64| {
        let mut contact = contacts().swap_remove(0);
        let axes = FrictionAxes::new(across, angle).unwrap();
        contact.patch = Patch::clone(&contact.patch).with_friction_axes(axes).into();
        contact
    };
    for (name, engine) in engines() {
        let mut batch = engine.batch(vec![with(0.3, 0.2), with(0.5, 1.0)], Stepping::default()).unwrap();
        batch.advance(CALL).unwrap();
        let before = bits(&mut batch);
        batch.replace(&[0], &[with(2.0, 0.7)]).unwrap();
        assert_eq!(bits(&mut batch)[1..], before[1..], "{name}");
        let mut alone = engine.batch(vec![with(2.0, 0.7)], Stepping::default()).unwrap();
        for _ in 0..3 {
            batch.advance(CALL).unwrap();
            alone.advance(CALL).unwrap();
            assert_eq!(bits(&mut batch)[0], bits(&mut alone)[0], "{name}");
        }
        assert_ne!(bits(&mut batch)[0], bits(&mut batch)[1], "{name}");
        // Without axes a contact has another kernel on a GPU.
        let plain = contacts().swap_remove(0);
        if batch.takes(1, &plain) {
            batch.replace(&[1], std::slice::from_ref(&plain)).unwrap();
            let mut alone = engine.batch(vec![plain], Stepping::default()).unwrap();
            batch.advance(CALL).unwrap();
            alone.advance(CALL).unwrap();
            assert_eq!(bits(&mut batch)[1], bits(&mut alone)[0], "{name}");
        } else {
            assert_ne!(batch.engine().engine, "cpu", "{name}");
        }
    }
}

#[test]
fn contacts_are_reset_and_branched_one_by_one() {
    for (name, engine) in engines() {
        let mut batch = engine.batch(vec![contacts().swap_remove(0); 5], Stepping::default()).unwrap();
        let fresh = bits(&mut batch);
        batch.set(1, Input::NormalForce, 1.2).unwrap();
        for _ in 0..6 {
            batch.advance(CALL).unwrap();
        }
        let before = bits(&mut batch);
        assert_ne!(before[1], before[0], "{name}");
        // Branch 1 into 2 and 3, start 4 over.
        batch.copy(1, &[2, 3]).unwrap();
        batch.reset(&[4]).unwrap();
        let after = bits(&mut batch);
        assert_eq!(after[..2], before[..2], "{name}: the others are touched");
        assert_eq!([&after[2], &after[3]], [&before[1]; 2], "{name}");
        assert_eq!(after[4], fresh[4], "{name}");
        assert_eq!([batch.time(3), batch.time(4)], [6.0 * CALL, 0.0]);
        // They go on from there, each by its own inputs, and as the one they come from.
        batch.set(3, Input::NormalForce, 3.0).unwrap();
        batch.advance(CALL).unwrap();
        let last = bits(&mut batch);
        assert_eq!(last[2], last[1], "{name}");
        assert_ne!(last[3], last[1], "{name}");
        // A contact that starts over is one that starts.
        for _ in 0..5 {
            batch.advance_some(&[4, 4], CALL).unwrap();
        }
        let mut one = engine.batch(vec![contacts().swap_remove(0)], Stepping::default()).unwrap();
        bits(&mut one);
        (0..6).for_each(|_| one.advance(CALL).unwrap());
        assert_eq!(bits(&mut batch)[4], bits(&mut one)[0], "{name}");
        assert_eq!(batch.time(1), 7.0 * CALL);
        let pose = [0.02, 0.0, 0.0];
        batch.reset_to(0, Initial { pose: pose.into(), ..Initial::default() }, Twist::default()).unwrap();
        assert!(largest(batch.samples().unwrap()[0].pose.to_array(), pose) < 1e-15, "{name}");
    }
}

#[test]
fn a_failed_contact_can_be_reset_and_is_clean() {
    for (name, engine) in engines() {
        let stepping = Stepping { most_steps: Some(20), ..Stepping::default() };
        let mut batch = engine.batch(vec![contacts().swap_remove(0); 2], stepping).unwrap();
        batch.advance_some(&[1], 0.1).unwrap();
        batch.advance(CALL).unwrap();
        let statuses = batch.statuses().unwrap().to_vec();
        assert!(matches!(statuses[1].failure, Some((_, Reason::Steps))), "{name}: {statuses:?}");
        assert_eq!(statuses[0].failure, None, "{name}");
        let samples = batch.samples().unwrap();
        assert!(samples[1].pose.x.is_nan() && samples[0].pose.x.is_finite(), "{name}");
        let saved = batch.save().unwrap();
        batch.reset(&[1]).unwrap();
        assert_eq!(batch.statuses().unwrap()[1].failure, None, "{name}");
        batch.advance_some(&[1], CALL).unwrap();
        let both = bits(&mut batch);
        assert_eq!(both[0], both[1], "{name}");
        batch.restore(&saved).unwrap();
        assert!(batch.statuses().unwrap()[1].failure.is_some(), "{name}: a failure is saved");
    }
}

/// A state from before a failure goes on as if there had been none, whatever the model.
#[test]
fn a_state_is_restored_over_a_failure() {
    for (name, engine) in engines() {
        let stepping = Stepping { most_steps: Some(20), ..Stepping::default() };
        let [mut failed, mut other] = [0, 1].map(|_| engine.batch(contacts(), stepping).unwrap());
        for batch in [&mut failed, &mut other] {
            batch.advance(CALL).unwrap();
        }
        let saved = failed.save().unwrap();
        failed.advance(0.1).unwrap();
        assert!(failed.statuses().unwrap().iter().any(|status| status.failure.is_some()), "{name}");
        failed.restore(&saved).unwrap();
        for batch in [&mut failed, &mut other] {
            batch.advance(CALL).unwrap();
        }
        let [one, two] = [&mut failed, &mut other].map(bits);
        for (k, (one, two)) in one.iter().zip(&two).enumerate() {
            assert_eq!(one, two, "{name}, contact {k}");
        }
    }
}

#[test]
fn what_cannot_be_is_refused_by_name_and_changes_nothing() {
    for (name, engine) in engines() {
        let mut batch = engine.batch(contacts(), Stepping::default()).unwrap();
        batch.advance(CALL).unwrap();
        let before = bits(&mut batch);
        let of_contact = |result: Result<(), EngineError>| match result {
            Err(EngineError::Parameter { contact, error }) => (contact, error.field),
            other => panic!("{name}: {other:?}"),
        };
        let of_argument = |result: Result<(), EngineError>| match result {
            Err(EngineError::Argument(error)) => error.field,
            other => panic!("{name}: {other:?}"),
        };
        assert_eq!(of_contact(batch.set(1, Input::NormalForce, f64::NAN)), (1, "inputs.normal_force".into()));
        assert_eq!(of_contact(batch.set(1, Input::Vx, 1.0)), (1, "inputs.twist.vx".into()));
        assert_eq!(of_contact(batch.set(6, Input::Tau, 1.0)), (6, "inputs.wrench.tau".into()));
        assert_eq!(of_contact(batch.set(0, Input::MuC, 0.0)), (0, "inputs.mu_c".into()));
        assert_eq!(of_contact(batch.set(0, Input::MuC, 1e3)), (0, "inputs.mu_c".into()));
        assert_eq!(of_contact(batch.ramp(0, Input::MuS, 1e-3, 1.0)), (0, "inputs.mu_s".into()));
        assert_eq!(of_contact(batch.copy(0, &[2, 3])), (3, "state".into()));
        assert_eq!(of_argument(batch.set(99, Input::Fx, 1.0)), "contact");
        assert_eq!(of_argument(batch.set_each(Input::NormalForce, &[1.0])), "inputs.normal_force");
        assert_eq!(of_argument(batch.advance(0.0)), "dt");
        assert_eq!(of_argument(batch.advance(f64::NAN)), "dt");
        assert_eq!(of_argument(batch.advance_some(&[0, 99], CALL)), "contact");
        assert_eq!(of_argument(batch.reset(&[0, 99])), "contact");
        assert_eq!(of_argument(batch.ramp(0, Input::NormalForce, 1.0, -1.0)), "over");
        let fewer = engine.batch(contacts()[..2].to_vec(), Stepping::default()).unwrap().save().unwrap();
        assert_eq!(of_argument(batch.restore(&fewer)), "snapshot");
        let mut turned = contacts();
        turned.reverse();
        let turned = engine.batch(turned, Stepping::default()).unwrap().save().unwrap();
        assert_eq!(of_contact(batch.restore(&turned)).1, "state");
        assert_eq!(bits(&mut batch), before, "{name}: something has changed");
    }
    let refused = Cpu::new().batch(contacts(), Stepping { step: 0.0, ..Stepping::default() });
    assert!(matches!(refused, Err(EngineError::Argument(e)) if e.field == "step"));
    let mut wrong = contacts();
    wrong[1].friction.sigma0 = -1.0;
    let refused = Cpu::new().batch(wrong, Stepping::default());
    assert!(matches!(refused, Err(EngineError::Parameter { contact: 1, .. })));
}

/// Not even what is only felt later: an input that is there since, a map that is made anew, a step that has
/// ended early.
#[test]
fn what_is_refused_is_not_felt_later_either() {
    for (name, engine) in engines() {
        let framed = |mut contact: Contact| {
            contact.patch = Arc::new((*contact.patch).clone().with_frames());
            // Patches with inputs of their own take no frames.
            contact.inputs.patches.clear();
            contact
        };
        let make = || contacts().into_iter().map(framed).collect::<Vec<_>>();
        let [mut batch, mut other] = [0, 1].map(|_| engine.batch(make(), Stepping::default()).unwrap());
        for batch in [&mut batch, &mut other] {
            batch.advance(CALL).unwrap();
        }
        let n = batch.len();
        let all: Vec<usize> = (0..n).collect();
        let last = |good: f64, bad: f64| (0..n).map(|k| if k + 1 < n { good } else { bad }).collect::<Vec<f64>>();
        let three = vec![3.0; n];
        let (forces, mu_c, cells) = (last(3.0, f64::NAN), last(0.7, 1e3), batch.contacts()[0].patch.grid().len());
        let refused = [
            batch.set_each(Input::NormalForce, &forces),
            batch.set_each(Input::MuC, &mu_c),
            // Contact 6 has no wrench.
            batch.set_each(Input::Fx, &three),
            batch.set_some(&all, &[(Input::NormalForce, &three), (Input::MuC, &mu_c)]),
            batch.set_some(&all, &[(Input::NormalForce, &three[..2])]),
            batch.set_some(&[0, 99], &[(Input::NormalForce, &[3.0])]),
            batch.set_some(&all, &[(Input::MuS, &[0.5]), (Input::NormalForce, &[3.0]), (Input::MuC, &[0.6])]),
            batch.set(0, Input::MuC, -1.0),
            batch.ramp(0, Input::NormalForce, f64::INFINITY, 1.0),
            batch.follow(0, Input::MuS, Signal::constant(1e-3)),
            batch.set_frame(0, &vec![-1.0; cells]),
            batch.set_frame(0, &vec![0.0; cells]),
            batch.reset(&[0, 99]),
            batch.reset_to(0, Initial { pose: [f64::NAN; 3].into(), ..Initial::default() }, Twist::default()),
            batch.copy(0, &[1, 99]),
            batch.record(&[1.0, 0.5], &|_| true).map(drop),
            batch.record(&[1e-12], &|_| true).map(drop),
            batch.respond(0, Twist::new(f64::NAN, 0.0, 0.0), CALL).map(drop),
        ];
        for (k, refused) in refused.into_iter().enumerate() {
            assert!(refused.is_err(), "{name}: call {k}");
        }
        assert!(batch.contacts().iter().all(|c| c.inputs.mu_c.is_none()), "{name}: a coefficient is an input now");
        for batch in [&mut batch, &mut other] {
            batch.advance(CALL).unwrap();
        }
        assert_eq!(bits(&mut batch), bits(&mut other), "{name}");
    }
}

#[test]
fn coefficients_are_set_as_a_pair_in_any_order() {
    let both = |mu_c, mu_s| [(Input::MuC, mu_c), (Input::MuS, mu_s)];
    for (name, engine) in engines() {
        let mut batch = engine.batch(contacts(), Stepping::default()).unwrap();
        let all: Vec<usize> = (0..batch.len()).collect();
        let now = |batch: &Batch| {
            let inputs = &batch.contacts()[2].inputs;
            [&inputs.mu_c, &inputs.mu_s].map(|signal| signal.as_ref().map(|signal| signal.value(batch.time(2))))
        };
        for (mu_c, mu_s) in [(2.0, 2.5), (0.1, 0.2), (3.0, 3.0)] {
            for reversed in [false, true] {
                let (mu_c, mu_s) = (mu_c + f64::from(u8::from(reversed)) / 8.0, mu_s + 0.25);
                let mut inputs = both([mu_c], [mu_s]);
                if reversed {
                    inputs.reverse();
                }
                let inputs: Vec<(Input, &[f64])> = inputs.iter().map(|(input, v)| (*input, &v[..])).collect();
                batch.set_some(&all, &inputs).unwrap();
                assert_eq!(now(&batch), [Some(mu_c), Some(mu_s)], "{name}");
                batch.advance(CALL).unwrap();
            }
        }
        let before = now(&batch);
        for (mu_c, mu_s, field) in
            [(0.6, 0.5, "inputs.mu_s"), (-1.0, 0.5, "inputs.mu_c"), (0.6, f64::NAN, "inputs.mu_s")]
        {
            match batch.set_some(&[0, 2], &[(Input::MuS, &[mu_s]), (Input::MuC, &[mu_c])]) {
                Err(EngineError::Parameter { contact: 0, error }) => assert_eq!(error.field, field, "{name}: {error}"),
                other => panic!("{name}: {other:?}"),
            }
        }
        assert_eq!(now(&batch), before, "{name}");
        // One of them follows a signal, and leaves the range on the way: it is said before the other is set.
        let rises = Signal::linear(&[(0.0, 0.1), (batch.time(0) + 1.0, 5.0)]).unwrap();
        batch.set_some(&[0], &[(Input::MuC, &[0.1]), (Input::MuS, &[9.0])]).unwrap();
        batch.follow(0, Input::MuC, rises).unwrap();
        let mu_s: [(Input, &[f64]); 1] = [(Input::MuS, &[4.5])];
        batch.check_some(&[0], &mu_s, None).unwrap();
        batch.check_some(&[0], &mu_s, Some([0.0, 0.5])).unwrap();
        assert!(batch.check_some(&[0], &mu_s, Some([0.0, 1.0])).is_err(), "{name}");
    }
}

#[test]
fn damaged_bytes_are_no_snapshot() {
    let mut batch = Cpu::new().batch(contacts(), Stepping::default()).unwrap();
    batch.advance(CALL).unwrap();
    let bytes = batch.save().unwrap().to_bytes().unwrap();
    assert!(Snapshot::from_bytes(&bytes).is_ok());
    for at in (0..bytes.len()).step_by(bytes.len() / 200) {
        let mut other = bytes.clone();
        other[at] ^= 1 << (at % 8);
        assert!(Snapshot::from_bytes(&other).is_err(), "byte {at}");
        assert!(Snapshot::from_bytes(&bytes[..at]).is_err(), "{at} bytes");
    }
    assert_eq!(Snapshot::from_bytes(b"").unwrap_err(), SnapshotError::Foreign);
    let mut later = bytes;
    later[8] = 9;
    assert_eq!(Snapshot::from_bytes(&later).unwrap_err(), SnapshotError::Version { found: 9 });
}

/// Frame `k` of a sensor of `n` cells: pressure that differs from cell to cell, and none on some.
fn frame(n: usize, k: usize) -> Vec<f64> {
    (0..n).map(|i| ((5 * i + 3 * k + i / 7) % 6) as f64).collect()
}

/// [`contacts`], some that take frames, and two that are alike, so that one can be branched into the other.
fn contacts_of_histories() -> Vec<Contact> {
    let mut all = contacts();
    let first = all.len();
    for model in [Model::Distributed, Model::Ellipsoid(Form::Consistent)] {
        let framed = Patch::shape(Grid::new(7, 7, 0.02, 0.02).unwrap(), Shape::Circle).unwrap().with_frames();
        let grip = Signal::linear(&[(0.0, 2.0), (0.03, 0.9)]).unwrap();
        all.push(Contact { model, ..in_hand(&Arc::new(framed), Friction::default(), [0.01, 0.0, 0.1], grip) });
    }
    all.push(all[first].clone());
    all
}

/// One call of a history on one contact. What is read is compared by the caller.
fn one_call(batch: &mut Batch, k: usize, kind: usize, roll: usize) -> Vec<u64> {
    let small = roll as f64 / 10.0;
    match kind {
        0 => batch.set(k, Input::NormalForce, 0.5 + small).unwrap(),
        1 => batch.ramp(k, Input::NormalForce, 2.0, 1.5 * CALL).unwrap(),
        2 => {
            let now = batch.time(k);
            let signal = Signal::linear(&[(0.0, 1.0), (now + CALL, 2.0), (now + 2.0 * CALL, 1.0 + small)]).unwrap();
            batch.follow(k, Input::NormalForce, signal).unwrap();
        }
        3 => {
            let n = batch.contacts()[k].patch.weights().len();
            let takes = batch.contacts()[k].patch.takes_frames();
            assert_eq!(batch.set_frame(k, &frame(n, roll)).is_ok(), takes);
        }
        4 => batch.reset(&[k]).unwrap(),
        5 => {
            let initial = Initial { pose: [0.001 * small, 0.0, small].into(), ..Initial::default() };
            batch.reset_to(k, initial, Twist::new(0.01 * small, 0.0, 0.1)).unwrap();
        }
        6 => batch.copy(k, &[k]).unwrap(),
        7 => {
            let response = batch.respond(k, Twist::new(0.01 * small, 0.0, 1.0), CALL).unwrap();
            return response.gain.as_flattened().iter().map(|v| v.to_bits()).collect();
        }
        8 => return batch.bristles(k).unwrap().as_flattened().iter().map(|v| v.to_bits()).collect(),
        9 => return vec![batch.statuses().unwrap()[k].steps],
        _ => {
            // Refused, and nothing is changed.
            assert!(batch.set(k, Input::NormalForce, f64::NAN).is_err());
            assert!(batch.ramp(k, Input::MuC, 1e9, CALL).is_err());
            assert!(batch.set_frame(k, &[]).is_err());
            assert!(batch.respond(k, Twist::new(f64::NAN, 0.0, 0.0), CALL).is_err());
        }
    }
    Vec::new()
}

/// Kinds of [`one_call`].
const KINDS: usize = 11;

/// Any sequence of calls leaves every contact as the same calls leave it alone.
#[test]
fn any_history_is_that_of_a_contact_alone() {
    for (name, engine) in engines() {
        for seed in 0..8u64 {
            let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) + 1;
            let mut roll = |n: usize| {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                (state % n as u64) as usize
            };
            let (own, stepping) = (contacts_of_histories(), steppings()[seed as usize % 2]);
            let n = own.len();
            let mut batch = engine.batch(own.clone(), stepping).unwrap();
            let mut alone: Vec<Batch> = own.iter().map(|c| engine.batch(vec![c.clone()], stepping).unwrap()).collect();
            let mut saved: Option<(Snapshot, Vec<Snapshot>)> = None;
            for _ in 0..40 {
                let k = roll(n);
                match roll(KINDS + 9) {
                    0 | 1 => {
                        let dt = CALL * [0.25, 1.0, 1.7][roll(3)];
                        batch.advance(dt).unwrap();
                        alone.iter_mut().for_each(|b| b.advance(dt).unwrap());
                    }
                    2 => {
                        let chosen: Vec<usize> = (0..n).filter(|_| roll(2) == 0).collect();
                        batch.advance_some(&chosen, CALL).unwrap();
                        chosen.iter().for_each(|k| alone[*k].advance(CALL).unwrap());
                    }
                    3 => {
                        let each = alone.iter_mut().map(|b| b.save().unwrap()).collect();
                        saved = Some((batch.save().unwrap(), each));
                    }
                    4 => {
                        let Some((all, each)) = &saved else { continue };
                        let read = Snapshot::from_bytes(&all.to_bytes().unwrap()).unwrap();
                        batch.restore(&read).unwrap();
                        alone.iter_mut().zip(each).for_each(|(b, s)| b.restore(s).unwrap());
                    }
                    5 => {
                        // One into its like, as its snapshot is taken over by a batch of the like.
                        batch.copy(n - 3, &[n - 1]).unwrap();
                        let snapshot = alone[n - 3].save().unwrap();
                        alone[n - 1].restore(&snapshot).unwrap();
                    }
                    6 => {
                        let forces: Vec<f64> = (0..n).map(|k| 0.6 + 0.1 * ((k + roll(9)) as f64)).collect();
                        batch.set_each(Input::NormalForce, &forces).unwrap();
                        let each = alone.iter_mut().zip(&forces);
                        each.for_each(|(b, force)| b.set(0, Input::NormalForce, *force).unwrap());
                    }
                    // A read is one of all contacts, and the stages that are pending are committed.
                    7 => {
                        let found = batch.samples().unwrap();
                        let each = alone.iter_mut().map(|b| b.samples().unwrap()[0]);
                        found.iter().zip(each).for_each(|(a, b)| assert_eq!(one(a, &[], 0), one(&b, &[], 0), "{name}"));
                    }
                    8 => {
                        batch.request_samples().unwrap();
                        alone.iter_mut().for_each(|b| b.request_samples().unwrap());
                        batch.advance_some(&[k], CALL).unwrap();
                        alone[k].advance(CALL).unwrap();
                        let found = batch.requested_samples().unwrap();
                        let each = alone.iter_mut().map(|b| b.requested_samples().unwrap()[0]);
                        found.iter().zip(each).for_each(|(a, b)| assert_eq!(one(a, &[], 0), one(&b, &[], 0), "{name}"));
                    }
                    kind => {
                        let more = roll(30);
                        let found = one_call(&mut batch, k, kind - 9, more);
                        let wanted = one_call(&mut alone[k], 0, kind - 9, more);
                        assert!(found == wanted, "{name}, seed {seed}, contact {k}, call {}", kind - 9);
                    }
                }
            }
            let together = bits(&mut batch);
            for (k, one) in alone.iter_mut().enumerate() {
                assert!(together[k] == bits(one)[0], "{name}, seed {seed}, contact {k}");
            }
        }
    }
}

#[test]
fn bristles_are_those_that_a_contact_can_start_with() {
    for (name, engine) in engines() {
        let mut batch = engine.batch(contacts()[..2].to_vec(), Stepping::default()).unwrap();
        (0..4).for_each(|_| batch.advance(CALL).unwrap());
        let s = batch.samples().unwrap()[0];
        let bristles = Bristles::States(batch.bristles(0).unwrap());
        let mut contact = contacts().swap_remove(0);
        contact.inputs.normal_force = Signal::constant(s.normal_force);
        contact.initial = Initial { pose: s.pose, bristles };
        contact.body.free_mut().unwrap().twist = s.twist;
        let mut next = engine.batch(vec![contact], Stepping::default()).unwrap();
        let again = next.samples().unwrap()[0];
        assert!(largest(again.wrench.to_array(), s.wrench.to_array()) < 1e-5, "{name}: {again:?}, {s:?}");
    }
}

#[test]
fn a_response_is_that_of_a_step_has_its_derivative_and_leaves_no_trace() {
    for (name, engine) in engines() {
        let exact = name != "f32";
        let mut batch = engine.batch(contacts(), Stepping::default()).unwrap();
        let mut alone = engine.batch(contacts(), Stepping::default()).unwrap();
        for batch in [&mut batch, &mut alone] {
            (0..6).for_each(|_| batch.advance(CALL).unwrap());
            batch.samples().unwrap();
        }
        for k in 0..batch.len() {
            // Slow, and faster than the Stribeck velocity, at times of a bristle's step and of a host's.
            for (scale, dt) in [(1e-4, 2e-4), (1e-2, 2e-4), (0.1, 2e-3), (0.3, 2e-3)] {
                let twist = [0.7 * scale, -0.4 * scale, 30.0 * scale];
                let response = batch.respond(k, twist.into(), dt).unwrap();
                assert!(response.wrench.power(twist.into()) < 1e-3, "{name}, contact {k}: friction takes power");
                let largest = response.gain.as_flattened().iter().fold(0.0f64, |m, g| m.max(g.abs()));
                for c in 0..3 {
                    let unit = if c == 2 { 100.0 } else { 1.0 };
                    let e = if exact { 1e-5 } else { 1e-2 } * scale * unit;
                    let mut moved = |e: f64| {
                        let mut u = twist;
                        u[c] += e;
                        batch.respond(k, u.into(), dt).unwrap().wrench.to_array()
                    };
                    let (after, before) = (moved(e), moved(-e));
                    for r in 0..3 {
                        let (found, wanted) = (response.gain[r][c], (after[r] - before[r]) / (2.0 * e));
                        let limit = if exact { 2e-3 } else { 0.2 } * largest;
                        assert!((found - wanted).abs() < limit, "{name}, {k}, {scale}: d{r}/d{c} {found}, {wanted}");
                    }
                }
            }
        }
        for batch in [&mut batch, &mut alone] {
            (0..3).for_each(|_| batch.advance(CALL).unwrap());
        }
        assert_eq!(bits(&mut batch), bits(&mut alone), "{name}: asking leaves a trace");
        assert!(batch.respond(0, [f64::NAN, 0.0, 0.0].into(), 1e-3).is_err());
        assert!(batch.respond(0, Twist::default(), 0.0).is_err());
        assert!(batch.respond(99, Twist::default(), 1e-3).is_err());
    }
}

/// While all bristles stick, a step of any length is exact, and so is the response.
#[test]
fn a_response_in_stick_is_what_comes_true() {
    for (name, engine) in engines() {
        let patch = shape(21, 0.02, Shape::Circle);
        let still = prescribed(&patch, Friction::default(), [0.0; 3], 3.0);
        let mut batch = engine.batch(vec![still], Stepping::default()).unwrap();
        let twist = [2e-5, -1e-5, 1e-3];
        for _ in 0..5 {
            let wanted = batch.respond(0, twist.into(), CALL).unwrap().wrench.to_array();
            for (input, v) in [Input::Vx, Input::Vy, Input::W].into_iter().zip(twist) {
                batch.set(0, input, v).unwrap();
            }
            batch.advance(CALL).unwrap();
            let sample = batch.samples().unwrap()[0];
            assert_eq!((sample.slip, sample.near_limit), (0.0, 0.0));
            let apart = largest(sample.wrench.to_array(), wanted);
            assert!(apart < 1e-5 * largest(wanted, [0.0; 3]), "{name}: {:?}, {wanted:?}", sample.wrench);
        }
    }
}

#[test]
fn a_surface_is_set_where_there_is_one_and_restored_to_its_like() {
    for (name, engine) in engines() {
        let mut batch = engine.batch(contacts(), Stepping::default()).unwrap();
        let error = batch.set(0, Input::SurfaceVx, 0.1).unwrap_err().to_string();
        assert!(error.contains("inputs.surface.vx = 0.1: expected an input of a contact with `inputs.surface`"));
        let error = batch.set(8, Input::SurfaceW, 1e10).unwrap_err().to_string();
        assert!(error.contains("inputs.surface.w = 10000000000: expected"), "{error}");
        // A belt of 0.1 m/s carries along what lies on it.
        let mut belt = on_table(Frame::World, &shape(5, 0.02, Shape::Disc), Friction::default());
        belt.inputs.surface = Some(MovingSurface::new([0.0; 3]));
        let mut alone = engine.batch(vec![belt.clone(), belt.clone()], Stepping::default()).unwrap();
        alone.set(1, Input::SurfaceVx, 0.1).unwrap();
        alone.advance(0.1).unwrap();
        let [still, carried] = [0, 1].map(|k| alone.samples().unwrap()[k]);
        assert!(still.twist.vx.abs() < 1e-9 && (carried.twist.vx - 0.1).abs() < 1e-6, "{name}: {carried:?}");
        belt.inputs.surface = None;
        let snapshot = alone.save().unwrap();
        let mut resting = engine.batch(vec![belt.clone(), belt], Stepping::default()).unwrap();
        let error = resting.restore(&snapshot).unwrap_err().to_string();
        assert!(error.contains("state = on a surface that moves: expected one on a surface at rest"), "{error}");
        assert!(!resting.takes(0, &alone.contacts()[0]) || name != "gpu", "{name}");
        assert!(batch.copy(8, &[0]).is_err(), "{name}");
    }
}

#[test]
fn the_example_of_another_simulator_holds() {
    cosim::main().unwrap();
}

use super::*;
use crate::contact::Model;
use crate::cpu::Cpu;
use crate::engine::Engine;
use crate::fixtures::{disc, families, held};

const CALL: f64 = 1e-3;

fn batch(contacts: Vec<Contact>, stepping: Stepping) -> Batch {
    Cpu::new().batch(contacts, stepping).unwrap()
}

fn three() -> Batch {
    batch(vec![held(Model::Distributed, &disc(5), 0.9); 3], Stepping::default())
}

/// The clock of a contact that has come to a time by itself.
fn at(time: f64) -> Clock {
    Clock { time, jump: false, remap: false }
}

#[test]
fn an_input_that_is_set_jumps_in_the_next_call_of_its_contact_and_in_no_later_one() {
    let mut batch = three();
    assert_eq!(batch.clocks, [Clock::START; 3]);
    batch.advance(CALL).unwrap();
    assert_eq!(batch.clocks, [at(CALL); 3]);
    batch.set(0, Input::Fx, 0.1).unwrap();
    batch.ramp(1, Input::NormalForce, 1.0, 0.1).unwrap();
    let jumps = [Clock { jump: true, ..at(CALL) }, Clock { jump: true, remap: true, ..at(CALL) }, at(CALL)];
    assert_eq!(batch.clocks, jumps);
    // Neither reading nor the call of another contact is the next call.
    batch.samples().unwrap();
    batch.advance_some(&[2, 2], CALL).unwrap();
    assert_eq!(batch.clocks, [jumps[0], jumps[1], at(2.0 * CALL)]);
    batch.advance_some(&[1], CALL).unwrap();
    assert_eq!(batch.clocks, [jumps[0], at(2.0 * CALL), at(2.0 * CALL)]);
    batch.reset(&[1]).unwrap();
    assert_eq!(batch.clocks, [jumps[0], Clock::START, at(2.0 * CALL)]);
    batch.advance(CALL).unwrap();
    assert_eq!(batch.clocks, [at(2.0 * CALL), at(CALL), at(3.0 * CALL)]);
}

#[test]
fn a_call_that_one_contact_refuses_advances_none() {
    let mut batch = three();
    batch.advance(CALL).unwrap();
    let (clocks, before) = (batch.clocks.clone(), batch.save().unwrap().states);
    // The static coefficient of the last is overtaken at 5 ms.
    batch.follow(2, Input::MuC, Signal::linear(&[(0.0, 1.0), (0.01, 1.4)]).unwrap()).unwrap();
    let refused =
        [batch.advance(0.01), batch.advance_some(&[0, 2], 0.01), batch.record(&[2e-3, 0.01], &|_| true).map(drop)];
    for refused in refused {
        assert!(matches!(refused, Err(EngineError::Parameter { contact: 2, .. })), "{refused:?}");
    }
    assert_eq!(batch.clocks[..2], clocks[..2]);
    assert_eq!(batch.clocks[2], Clock { jump: true, ..clocks[2] });
    assert_eq!(batch.save().unwrap().states, before);
    batch.advance_some(&[0, 1], 0.01).unwrap();
    batch.advance_some(&[2], 2e-3).unwrap();
}

#[test]
fn a_copy_takes_time_inputs_and_state_along_and_leaves_parameters() {
    for (name, mut contacts) in families() {
        for (k, contact) in contacts.iter_mut().enumerate() {
            contact.body.free_mut().unwrap().mass *= 1.0 + 0.1 * k as f64;
        }
        let masses = |batch: &Batch| batch.contacts().iter().map(|c| c.body.free().unwrap().mass).collect::<Vec<_>>();
        let mut batch = batch(contacts.clone(), Stepping::default());
        let own = masses(&batch);
        batch.advance_some(&[0], CALL).unwrap();
        batch.set(0, Input::NormalForce, 1.1).unwrap();
        batch.ramp(0, Input::Fx, 0.2, 0.1).unwrap();
        batch.copy(0, &[0, 2]).unwrap();
        let states = batch.save().unwrap().states;
        assert_eq!(states[2], states[0], "{name}");
        assert_ne!(states[1], states[0], "{name}");
        assert_eq!(batch.clocks[2], Clock { time: CALL, jump: true, remap: true }, "{name}");
        let inputs = |k: usize| {
            let Contact { inputs, body, .. } = &batch.contacts()[k];
            format!("{inputs:?} {:?}", body.signals().collect::<Vec<_>>())
        };
        assert_eq!(inputs(2), inputs(0), "{name}");
        assert_ne!(inputs(1), inputs(0), "{name}");
        assert_eq!(masses(&batch), own, "{name}");
        // What it came with is still its own.
        batch.reset(&[2]).unwrap();
        assert_eq!(batch.contacts()[2].inputs.normal_force, contacts[2].inputs.normal_force, "{name}");
    }
}

#[test]
fn an_input_that_is_set_is_not_felt_by_a_contact_that_is_recorded_beside() {
    let engines: [Box<dyn Engine>; _] = [
        Box::new(Cpu::new()),
        #[cfg(feature = "gpu")]
        Box::new(crate::gpu::Gpu::new(crate::gpu::Choice::Any).unwrap()),
    ];
    let times = [2.0 * CALL, 3.0 * CALL];
    let steppings = [Stepping::default(), Stepping::adaptive(1e-6)];
    for (engine, stepping) in engines.iter().flat_map(|engine| steppings.map(|stepping| (engine, stepping))) {
        for (name, contacts) in families() {
            let states = |sets: bool, records: bool| {
                let mut batch = engine.batch(contacts.clone(), stepping).unwrap();
                batch.advance(CALL).unwrap();
                batch.samples().unwrap();
                if sets {
                    batch.set(1, Input::NormalForce, 1.7).unwrap();
                }
                if records {
                    batch.record(&times, &|_| true).unwrap();
                } else {
                    for _ in times {
                        batch.advance(CALL).unwrap();
                        batch.samples().unwrap();
                    }
                }
                // Passes that write a stage back for a reader do not count.
                batch.save().unwrap().states.into_iter().map(|state| State { passes: 0, ..state }).collect::<Vec<_>>()
            };
            let [recorded, calls, without] = [(true, true), (true, false), (false, true)].map(|(s, r)| states(s, r));
            let name = format!("{}, {name}, {stepping:?}", engine.info().engine);
            for k in 0..contacts.len() {
                assert_eq!(recorded[k], calls[k], "{name}: contact {k} in calls");
                let is_felt = recorded[k] != without[k];
                assert_eq!(is_felt, k == 1, "{name}: contact {k} without the input");
            }
        }
    }
}

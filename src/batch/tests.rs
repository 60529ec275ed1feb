use super::*;
use crate::cpu::Cpu;
use crate::engine::Engine;
use crate::fixtures::families;

const CALL: f64 = 1e-3;

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

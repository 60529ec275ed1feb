use std::sync::Arc;

use super::*;
use crate::contact::Model;
use crate::cpu::divide::most_cells;
use crate::cpu::make::make;
use crate::cpu::row::rows;
use crate::engine::Trajectories;
use crate::fixtures::{disc, families, held};
use crate::friction::Law;
use crate::number::baseline::F64;
use crate::number::real::Real;
use crate::patch::Patch;
use crate::schedule::Signal;
use crate::solver::lanes::Solver;
use crate::solver::models::grid::Grid;
use crate::solver::models::grids::Grids;

const STEP: f64 = 2e-4;

/// A pack of contacts at their start.
fn pack_of(contacts: &[Contact], stepping: Stepping) -> Box<dyn Pack> {
    let mut pack = make::<F64>(&contacts[0], stepping, contacts.len());
    load(&mut *pack, contacts);
    pack
}

fn load(pack: &mut dyn Pack, contacts: &[Contact]) {
    contacts.iter().enumerate().for_each(|(k, contact)| pack.load(k, contact, &contact.cells_ever_active()));
}

/// A span from the start, or from the end of another.
fn span(start: f64, end: f64) -> Span {
    Span { start, end, jump: start == 0.0, remap: start == 0.0 }
}

fn advance(pack: &mut dyn Pack, contacts: &[Contact], span: Span) {
    pack.advance(&|k| Some((&contacts[k], span)));
}

/// Records all contacts, until `progress` stops it.
fn record(pack: &mut dyn Pack, contacts: &[Contact], samples: &[f64], progress: &Progress<'_>) -> Trajectories {
    let mut out = Trajectories::unwritten(contacts.len(), samples).unwrap();
    let stop = AtomicBool::new(false);
    let recording = Recording { samples, stop_when: &StopWhen::NEVER, progress, stop: &stop };
    let span = span(samples[0], samples[samples.len() - 1]);
    let mut rows: Vec<Row<'_>> = rows(&mut out).into_iter().flatten().collect();
    pack.record(&|k| Some((&contacts[k], span)), &recording, &mut rows);
    out
}

/// The samples of all contacts now.
fn read(pack: &mut dyn Pack, contacts: &[Contact]) -> Vec<Sample> {
    let mut out = vec![Sample::NONE; contacts.len()];
    pack.samples(&|k| &contacts[k], &mut |k, sample| out[k] = sample);
    out
}

/// So many of three contacts that they are in three solvers, if these have several lanes.
fn in_three_solvers(contacts: Vec<Contact>) -> Vec<Contact> {
    vec![contacts; <F64 as Real>::LANES].concat()
}

fn state(pack: &dyn Pack, k: usize) -> State {
    let mut state = State::default();
    pack.export(k, &mut state);
    state
}

#[test]
fn contacts_that_are_recorded_are_those_that_are_advanced_and_read_at_each_sample() {
    let samples = [0.0, 0.003, 0.0071, 0.01];
    for stepping in [Stepping::fixed(STEP), Stepping::adaptive(1e-6)] {
        for (name, contacts) in families() {
            let mut contacts = in_three_solvers(contacts);
            // Of which the last is not full.
            contacts.pop();
            let [mut recorded, mut advanced] = [0, 1].map(|_| pack_of(&contacts, stepping));
            let out = record(&mut *recorded, &contacts, &samples, &|_| true);
            for (frame, time) in samples.into_iter().enumerate() {
                if frame > 0 {
                    advance(&mut *advanced, &contacts, span(samples[frame - 1], time));
                }
                for (k, wanted) in read(&mut *advanced, &contacts).into_iter().enumerate() {
                    assert_eq!(out.sample(k, frame), wanted, "{name} {stepping:?}, contact {k}, sample {frame}");
                    assert_eq!(out.sample(k % 3, frame), wanted, "{name} {stepping:?}, contact {k}, sample {frame}");
                }
            }
            for k in 0..contacts.len() {
                // A pass that writes a stage back for whoever reads does not count.
                let [found, wanted] = [&recorded, &advanced].map(|pack| State { passes: 0, ..state(&**pack, k) });
                assert_eq!(found, wanted, "{name} {stepping:?}, contact {k}");
                assert_eq!(found.bristles, state(&*recorded, k % 3).bristles, "{name} {stepping:?}, contact {k}");
                assert!(found.steps > 2, "{name}: {}", found.steps);
            }
        }
    }
}

#[test]
fn a_contact_without_steps_left_is_marked_and_not_felt_by_its_neighbours() {
    let stepping = Stepping { most_steps: Some(6), ..Stepping::fixed(STEP) };
    let samples = [0.0, 5e-4, 1e-3];
    for (name, contacts) in families() {
        let mut contacts = in_three_solvers(contacts);
        let (bad, last) = (contacts.len() / 3 + 1, contacts.len() - 1);
        // Three steps up to each sample; here three, two that break points ask for, and the first of two.
        contacts[bad].inputs.normal_force = Signal::steps(&[(0.0, 1.0), (6e-4, 1.1), (7e-4, 1.2)]).unwrap();
        let mut pack = pack_of(&contacts, stepping);
        let out = record(&mut *pack, &contacts, &samples, &|_| true);
        let later = span(1e-3, 1.6e-3);
        advance(&mut *pack, &contacts, later);
        let failure = Some((6, Reason::Steps));
        for k in 0..contacts.len() {
            assert_eq!(pack.status(k).failure, failure.filter(|_| k == bad), "{name}, contact {k}");
        }
        assert!(out.sample(bad, 1).wrench.fx.is_finite(), "{name}");
        assert_eq!(pack.respond(bad, &contacts[bad], Twist::default(), STEP), None, "{name}");
        for k in [0, bad - 1, bad + 1, last] {
            let own = &contacts[k..=k];
            let mut alone = pack_of(own, stepping);
            let wanted = record(&mut *alone, own, &samples, &|_| true);
            advance(&mut *alone, own, later);
            for frame in 0..samples.len() {
                assert_eq!(out.sample(k, frame), wanted.sample(0, frame), "{name}, contact {k}, sample {frame}");
            }
            assert_eq!(state(&*pack, k), state(&*alone, 0), "{name}, contact {k}");
        }
        for sample in [out.sample(bad, 2), read(&mut *pack, &contacts)[bad]] {
            let Sample { pose, twist, wrench, normal_force, slip, near_limit } = sample;
            let threes = [pose.to_array(), twist.to_array(), wrench.to_array(), [normal_force, slip, near_limit]];
            assert!(threes.as_flattened().iter().all(|v| v.is_nan()), "{name}: {sample:?}");
        }
    }
}

/// Stops a pack at its first sample: no lane runs any more, and contacts that are loaded start as ever.
fn stops<S: LaneSolver + Send>(new: impl Fn() -> S, contacts: &[Contact]) {
    let fresh = || {
        let mut pack = LanePack::new(&new, Stepping::fixed(STEP), contacts.len());
        load(&mut pack, contacts);
        pack
    };
    let mut pack = fresh();
    let out = record(&mut pack, contacts, &[0.0, 1.05e-3, 0.02], &|_| false);
    assert!(pack.solvers.iter().all(|solver| solver.running() == 0));
    assert!(out.sample(0, 1).pose.x.is_finite());
    let last = contacts.len() - 1;
    assert!(out.sample(last, 0).pose.x.is_finite() && out.sample(last, 2).pose.x.is_nan());
    load(&mut pack, contacts);
    let mut other = fresh();
    for k in 0..contacts.len() {
        assert_eq!(state(&pack, k), state(&other, k), "contact {k} at its start");
    }
    for pack in [&mut pack, &mut other] {
        advance(pack, contacts, span(0.0, 0.002));
    }
    for k in 0..contacts.len() {
        assert_eq!(state(&pack, k), state(&other, k), "contact {k}");
    }
}

#[test]
fn a_stop_empties_the_lanes_for_those_who_are_loaded_next() {
    let [(_, small), (_, large), ..] = families();
    let few = most_cells(&small[0]);
    stops(|| Solver::<F64, _>::new(Grids::new(few, &small[0].friction), None), &small);
    stops(|| Solver::new(Grid::<F64>::empty(), None), &large);
}

#[test]
fn large_grids_that_share_their_scratch_arrays_have_the_bits_of_each_alone() {
    // The last two have the same cells under another pressure, and share the places of these as well.
    let uneven: Vec<f64> = disc(11).weights().iter().enumerate().map(|(i, w)| w * (1 + i % 3) as f64).collect();
    let uneven = Arc::new(Patch::from_pressure(*disc(11).grid(), &uneven).unwrap());
    let like = |(k, patch): (usize, Arc<Patch>)| {
        let mut contact = held(Model::Distributed, &patch, [0.9, 4.0][k % 2]);
        contact.friction.law = Law::ALL[k % Law::ALL.len()];
        contact
    };
    let patches = [disc(13), disc(17), disc(9), disc(11), uneven];
    let contacts: Vec<Contact> = patches.into_iter().enumerate().map(like).collect();
    for stepping in [Stepping::fixed(STEP), Stepping::adaptive(1e-6)] {
        let calls = |contacts: &[Contact]| {
            let mut pack = pack_of(contacts, stepping);
            for start in [0.0, 0.002, 0.004] {
                advance(&mut *pack, contacts, span(start, start + 0.002));
            }
            pack
        };
        let together = calls(&contacts);
        for k in 0..contacts.len() {
            let alone = state(&*calls(&contacts[k..=k]), 0);
            assert_eq!(state(&*together, k), alone, "{stepping:?}, contact {k}");
            assert!(alone.bristles.as_flattened().iter().any(|z| z.abs() > 0.1), "contact {k} is loaded");
        }
    }
}

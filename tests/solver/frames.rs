//! Pressure frames as an input of a batch: the map under a contact changes while its bristles stay, on every
//! engine.

use std::sync::Arc;

use crate::common::{engines, in_hand, prescribed};
use bristle::Twist;
use bristle::batch::{Batch, Input, Sample, Snapshot};
use bristle::body::{Body, TwistPoint};
use bristle::contact::{Contact, Form, Model};
use bristle::engine::Stepping;
use bristle::error::{EngineError, PatchError};
use bristle::friction::{Friction, Law};
use bristle::limit_surface::{Rule, Table};
use bristle::patch::{Grid, Patch, Shape};
use bristle::schedule::Signal;

/// One call of a controller [s].
const CALL: f64 = 1.0 / 512.0;
/// Width of the patches [m].
const WIDTH: f64 = 0.02;

/// Frame `k` of a sensor of `n` x `n` cells: a bump that wanders, over a faint ground with cells without
/// pressure.
fn frame(n: usize, k: usize) -> Vec<f64> {
    let grid = Grid::new(n, n, WIDTH, WIDTH).unwrap();
    let angle = 0.9 * k as f64;
    let (cx, cy) = (0.25 * WIDTH * angle.cos(), 0.2 * WIDTH * (1.3 * angle).sin());
    let bump = grid.centres().map(|[x, y]| 1.0 - ((x - cx).powi(2) + (y - cy).powi(2)) / (0.35 * WIDTH).powi(2));
    bump.enumerate().map(|(i, p)| 3e4 * (p + if (i + k).is_multiple_of(3) { 0.1 } else { 0.0 }).max(0.0)).collect()
}

fn patch(n: usize) -> Arc<Patch> {
    Arc::new(Patch::shape(Grid::new(n, n, WIDTH, WIDTH).unwrap(), Shape::Circle).unwrap().with_frames())
}

/// The patch of a frame from the start.
fn of_frame(n: usize, k: usize) -> Arc<Patch> {
    Arc::new(Patch::from_pressure(Grid::new(n, n, WIDTH, WIDTH).unwrap(), &frame(n, k)).unwrap())
}

/// Models of friction on a patch with their names.
fn models(patch: &Patch) -> Vec<(&'static str, Model)> {
    let table = Arc::new(Table::new(patch, Rule::Cells, 10).unwrap());
    vec![
        ("grid", Model::Distributed),
        ("ellipsoid", Model::Ellipsoid(Form::Consistent)),
        ("limit surface", Model::LimitSurface(table, Form::Consistent)),
    ]
}

fn cells(contact: &Contact) -> usize {
    contact.patch.grid().nx
}

fn moved(contact: &Contact, twist: Twist) -> Contact {
    let twist = twist.to_array().map(Signal::constant);
    Contact { body: Body::Prescribed { twist, at: TwistPoint::Origin }, ..contact.clone() }
}

fn set_twist(batch: &mut Batch, k: usize, twist: Twist) {
    for (input, v) in [Input::Vx, Input::Vy, Input::W].into_iter().zip(twist.to_array()) {
        batch.set(k, input, v).unwrap();
    }
}

/// While every bristle is elastic, `zeta = sigma0 d` with the displacement `d` of the patch, whatever the map
/// was meanwhile: `W = -f_N sigma0 sum w E^T d`, docs/model.md (73). The reduced models have the same wrench.
#[test]
fn bristles_that_stick_carry_the_displacement_from_frame_to_frame() {
    let (f_n, friction) = (2.0, Friction::default());
    let twist = Twist::new(6e-6, -4e-6, 1.5e-3);
    for n in [21, 6] {
        for (model_name, model) in models(&patch(n)) {
            let contact = Contact { model, ..moved(&prescribed(&patch(n), friction, [0.0; 3], f_n), twist) };
            for (name, engine) in engines() {
                let mut batch = engine.batch(vec![contact.clone()], Stepping::default()).unwrap();
                for k in 0..4 {
                    set_twist(&mut batch, 0, twist);
                    batch.advance(CALL).unwrap();
                    batch.set_frame(0, &frame(n, k)).unwrap();
                    batch.advance(CALL).unwrap();
                    // At rest there is the spring alone.
                    set_twist(&mut batch, 0, Twist::default());
                    batch.advance(CALL).unwrap();
                    let time = 2.0 * CALL * (k + 1) as f64;
                    let displacement = twist.to_array().map(|v| v * time);
                    let [x, y, turn] = displacement;
                    let mut wanted = [0.0; 3];
                    for cell in of_frame(n, k).cells() {
                        let d = [x - turn * cell.y, y + turn * cell.x];
                        let f = d.map(|d| -f_n * friction.sigma0 * cell.w * d);
                        wanted = [wanted[0] + f[0], wanted[1] + f[1], wanted[2] + cell.x * f[1] - cell.y * f[0]];
                    }
                    let found = batch.samples().unwrap()[0].wrench.to_array();
                    let limit = if ["reference", "f64"].contains(&name) { 1e-9 } else { 2e-5 };
                    for (c, scale) in [1.0, 1.0, WIDTH].into_iter().enumerate() {
                        let off = (found[c] - wanted[c]).abs() / scale;
                        assert!(off < limit, "{name}, {model_name} of {n}, frame {k}: {found:?}, wanted {wanted:?}");
                    }
                    assert!(found[2].abs() > 1e-4 && found[0].abs() < 0.6 * f_n * friction.mu_c, "{found:?}");
                }
            }
        }
    }
}

/// After long sliding the wrench is that of the frame alone, whatever was before it.
#[test]
fn a_contact_that_slides_forgets_the_frames_before() {
    let twist = Twist::new(0.02, 0.01, 2.0);
    for &law in Law::ALL {
        let friction = Friction { law, ..Friction::default() };
        for ((model_name, model), (_, fresh)) in models(&patch(21)).into_iter().zip(models(&of_frame(21, 3))) {
            let like = prescribed(&patch(21), friction, [0.0; 3], 1.5);
            let contact = Contact { model, ..moved(&like, twist) };
            let fresh = Contact { model: fresh, patch: of_frame(21, 3), ..contact.clone() };
            for (name, engine) in engines() {
                let mut batch = engine.batch(vec![contact.clone(), fresh.clone()], Stepping::default()).unwrap();
                for k in 0..4 {
                    batch.set_frame(0, &frame(21, k)).unwrap();
                    batch.advance(2.0 * CALL).unwrap();
                }
                batch.advance(0.05).unwrap();
                let [found, wanted] = [0, 1].map(|k| batch.samples().unwrap()[k].wrench.to_array());
                for (c, scale) in [1.0, 1.0, WIDTH].into_iter().enumerate() {
                    let off = (found[c] - wanted[c]).abs() / scale;
                    assert!(off < 2e-5, "{name}, {law:?}, {model_name}: {found:?}, wanted {wanted:?}");
                }
                assert!(wanted[0].abs() > 0.1 && wanted[2].abs() > 1e-4, "{wanted:?}");
            }
        }
    }
}

/// Contacts that are held, each on frames, of every model.
fn held() -> Vec<Contact> {
    let lugre = Friction { law: Law::LuGre, ..Friction::default() };
    let pose = [0.01, -0.02, 0.3];
    let mut out = Vec::new();
    for n in [21, 6] {
        for (_, model) in models(&patch(n)) {
            out.push(Contact { model, ..in_hand(&patch(n), Friction::default(), pose, Signal::constant(1.4)) });
        }
    }
    out.push(in_hand(&patch(21), lugre, pose, Signal::constant(1.4)));
    out
}

/// Everything of a sample, as bits, and the bristles.
fn bits(batch: &mut Batch, k: usize) -> Vec<u64> {
    let Sample { pose, twist, wrench, normal_force, slip, near_limit } = batch.samples().unwrap()[k];
    let threes = [pose.to_array(), twist.to_array(), wrench.to_array()];
    let bristles = batch.bristles(k).unwrap();
    let numbers =
        threes.as_flattened().iter().chain([&normal_force, &slip, &near_limit]).chain(bristles.as_flattened());
    numbers.map(|v| v.to_bits()).collect()
}

#[test]
fn the_same_frame_again_changes_nothing() {
    for (name, engine) in engines() {
        let mut batches = [(); 2].map(|()| engine.batch(held(), Stepping::default()).unwrap());
        for call in 0..8 {
            for (batch, again) in batches.iter_mut().zip([false, true]) {
                for (k, contact) in held().iter().enumerate() {
                    let n = cells(contact);
                    batch.set_frame(k, &frame(n, call / 4)).unwrap();
                    if again {
                        // In another unit.
                        let scaled: Vec<f64> = frame(n, call / 4).iter().map(|p| p / 1024.0).collect();
                        batch.set_frame(k, &scaled).unwrap();
                    }
                }
                batch.advance(CALL).unwrap();
            }
        }
        for k in 0..held().len() {
            let [once, twice] = batches.each_mut().map(|batch| bits(batch, k));
            assert_eq!(once, twice, "{name}, contact {k}");
        }
    }
}

/// Snapshots, branches and resets know the frame; a contact does not feel the frames of others.
#[test]
fn a_frame_is_part_of_the_state() {
    for (name, engine) in engines() {
        let n = held().len();
        let frames_of = |k: usize, call: usize| frame(cells(&held()[k]), call);
        let go = |batch: &mut Batch, calls: std::ops::Range<usize>, of: &dyn Fn(usize) -> usize| {
            for call in calls {
                (0..batch.len()).for_each(|k| batch.set_frame(k, &frames_of(of(k), call + of(k))).unwrap());
                batch.advance(CALL).unwrap();
            }
        };
        let mut batch = engine.batch(held(), Stepping::default()).unwrap();
        go(&mut batch, 0..3, &|k| k);
        let snapshot = batch.save().unwrap();
        let bytes = Snapshot::from_bytes(&snapshot.to_bytes().unwrap()).unwrap();
        let before: Vec<_> = (0..n).map(|k| bits(&mut batch, k)).collect();
        batch.advance(3.0 * CALL).unwrap();
        let after: Vec<_> = (0..n).map(|k| bits(&mut batch, k)).collect();
        // A new batch at the snapshot, and this one back at it, with other frames in between.
        go(&mut batch, 0..2, &|k| k);
        let mut other = engine.batch(held(), Stepping::default()).unwrap();
        for batch in [&mut batch, &mut other] {
            batch.restore(&bytes).unwrap();
            (0..n).for_each(|k| assert_eq!(bits(batch, k), before[k], "{name}, contact {k} is restored"));
            batch.advance(3.0 * CALL).unwrap();
            (0..n).for_each(|k| assert_eq!(bits(batch, k), after[k], "{name}, contact {k} goes on"));
        }
        // Alone.
        for (k, expected) in before.iter().enumerate() {
            let mut alone = engine.batch(vec![held().swap_remove(k)], Stepping::default()).unwrap();
            go(&mut alone, 0..3, &|_| k);
            assert_eq!(&bits(&mut alone, 0), expected, "{name}, contact {k} alone");
        }
        // A branch has the frame of the contact that it comes from; a reset has the first again.
        let mut twins = engine.batch(vec![held().swap_remove(0), held().swap_remove(0)], Stepping::default()).unwrap();
        let start = bits(&mut twins, 1);
        twins.set_frame(0, &frame(21, 5)).unwrap();
        twins.advance(CALL).unwrap();
        twins.copy(0, &[1]).unwrap();
        twins.advance(CALL).unwrap();
        assert_eq!(bits(&mut twins, 1), bits(&mut twins, 0), "{name}");
        twins.reset(&[1]).unwrap();
        assert_eq!(bits(&mut twins, 1), start, "{name}");
        let first = bits(&mut twins, 0);
        assert_ne!(first, start, "{name}");
    }
}

#[test]
fn frames_go_on_on_another_engine() {
    let engines = engines();
    let n = held().len();
    for (from_name, from) in &engines {
        let mut batch = from.batch(held(), Stepping::default()).unwrap();
        for call in 0..3 {
            for k in 0..n {
                batch.set_frame(k, &frame(cells(&held()[k]), call)).unwrap();
            }
            batch.advance(CALL).unwrap();
        }
        let snapshot = batch.save().unwrap();
        batch.advance(4.0 * CALL).unwrap();
        let wanted = batch.samples().unwrap().to_vec();
        for (to_name, to) in &engines {
            let mut other = to.batch(held(), Stepping::default()).unwrap();
            other.restore(&snapshot).unwrap();
            other.advance(4.0 * CALL).unwrap();
            for (k, (found, wanted)) in other.samples().unwrap().iter().zip(&wanted).enumerate() {
                for (found, wanted) in found.wrench.to_array().into_iter().zip(wanted.wrench.to_array()) {
                    assert!((found - wanted).abs() < 2e-3, "{from_name} to {to_name}, {k}: {found}, wanted {wanted}");
                }
            }
        }
    }
}

#[test]
fn frames_that_cannot_be_are_refused_and_change_nothing() {
    for (name, engine) in engines() {
        let plain = Arc::new(Patch::shape(Grid::new(6, 6, WIDTH, WIDTH).unwrap(), Shape::Circle).unwrap());
        let fixed = Contact { patch: plain, ..held().swap_remove(3) };
        let mut batch = engine.batch(vec![held().swap_remove(3), fixed], Stepping::default()).unwrap();
        batch.set_frame(0, &frame(6, 1)).unwrap();
        batch.advance(CALL).unwrap();
        let before = bits(&mut batch, 0);
        let refused = batch.set_frame(1, &frame(6, 1));
        assert!(
            matches!(&refused, Err(EngineError::Parameter { contact: 1, error }) if error.field == "patch"),
            "{name}"
        );
        let error = |result: Result<(), EngineError>| match result {
            Err(EngineError::Frame { contact: 0, error }) => error,
            other => panic!("{name}: {other:?}"),
        };
        assert!(matches!(error(batch.set_frame(0, &frame(5, 1))), PatchError::Size { found: 25, expected: 36, .. }));
        assert!(matches!(error(batch.set_frame(0, &[0.0; 36])), PatchError::Empty));
        for wrong in [-1.0, f64::NAN, f64::INFINITY] {
            let mut frame = frame(6, 1);
            frame[8] = wrong;
            assert!(matches!(error(batch.set_frame(0, &frame)), PatchError::Pressure { ix: 2, iy: 1, .. }));
        }
        assert!(matches!(batch.set_frame(9, &frame(6, 1)), Err(EngineError::Argument(_))));
        // A state on frames is none for a patch without them.
        assert!(batch.copy(0, &[1]).is_err() && batch.copy(1, &[0]).is_err(), "{name}");
        assert_eq!(bits(&mut batch, 0), before, "{name}");
    }
}

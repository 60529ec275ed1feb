//! Patches that follow recorded frames: the map and its normal force change at given times and the bristles
//! stay, on every engine.

use std::sync::Arc;

use crate::common::{assert_close, bits, engines, flat, free, in_hand, of, plan, prescribed, rollout, series, shape};
use bristle::batch::Snapshot;
use bristle::body::{Body, TwistPoint};
use bristle::contact::{Bristles, Contact, Form, Initial, Model};
use bristle::engine::{Engine, Plan, Stepping, Trajectories};
use bristle::error::EngineError;
use bristle::friction::{Friction, Law};
use bristle::gpu::{Choice, Gpu, Layout, Storage};
use bristle::limit_surface::{Rule, Table};
use bristle::patch::{Exponent, Grid, Hertz, Patch, Sequence, Shape};
use bristle::schedule::{Signal, Sine};
use bristle::{Cpu, Twist};

/// Time from one frame to the next [s].
const EVERY: f64 = 1.0 / 128.0;
/// Width of the patches [m].
const WIDTH: f64 = 0.02;

fn grid(n: usize) -> Grid {
    Grid::new(n, n, WIDTH, WIDTH).unwrap()
}

/// Frame `k` of a sensor of `n` x `n` cells [Pa]: a bump that wanders and breathes, over a faint ground with
/// cells without pressure; some 2 N.
fn frame(n: usize, k: usize) -> Vec<f64> {
    let angle = 0.9 * k as f64;
    let (cx, cy) = (0.2 * WIDTH * angle.cos(), 0.15 * WIDTH * (1.3 * angle).sin());
    let height = 3e4 * (1.0 + 0.3 * (0.7 * k as f64).sin());
    let grid = grid(n);
    let bump = grid.centres().map(|[x, y]| 1.0 - ((x - cx).powi(2) + (y - cy).powi(2)) / (0.3 * WIDTH).powi(2));
    let ground = |i: usize| if (i + k).is_multiple_of(3) { 0.1 } else { 0.0 };
    bump.enumerate().map(|(i, p)| height * (p + ground(i)).max(0.0)).collect()
}

/// A patch that follows some frames, one every 1/128 s.
fn following(n: usize, frames: &[Vec<f64>]) -> Arc<Patch> {
    let times = (0..frames.len()).map(|k| EVERY * k as f64).collect();
    let sequence = Arc::new(Sequence::new([n, n], times, frames).unwrap());
    Arc::new(Patch::following(grid(n), sequence).unwrap())
}

/// The normal force of the frames that a patch follows.
fn force(patch: &Patch) -> Signal {
    let Grid { dx, dy, .. } = *patch.grid();
    patch.sequence().unwrap().normal_force(dx * dy)
}

/// Models of friction on a patch with their names.
fn models(patch: &Patch) -> Vec<(&'static str, Model)> {
    let table = || Arc::new(Table::new(patch, Rule::Cells, 8).unwrap());
    vec![
        ("grid", Model::Distributed),
        ("ellipsoid", Model::Ellipsoid(Form::Consistent)),
        ("limit surface", Model::LimitSurface(table(), Form::Consistent)),
        ("published", Model::LimitSurface(table(), Form::Published)),
    ]
}

/// Objects in the grip of pads whose frames wander, of every model, on a large and on a small grid; some
/// slide off and some are held.
fn held() -> Vec<(String, Contact)> {
    let lugre = Friction { law: Law::LuGre, ..Friction::default() };
    let mut out = Vec::new();
    for n in [21, 6] {
        let patch = following(n, &(0..8).map(|k| frame(n, k)).collect::<Vec<_>>());
        for (friction, name) in [(Friction::default(), ""), (lugre, ", LuGre")] {
            for (model_name, model) in models(&patch) {
                let mu = if out.len() % 2 == 0 { 0.4 } else { 1.1 };
                let friction = Friction { mu_c: mu, mu_s: 1.2 * mu, ..friction };
                let contact = in_hand(&patch, friction, [0.012, -0.01, 0.3], force(&patch));
                out.push((format!("{model_name} of {n}{name}"), Contact { model, ..contact }));
            }
        }
    }
    out
}

fn contacts(of: &[(String, Contact)]) -> Vec<Contact> {
    of.iter().map(|(_, contact)| contact.clone()).collect()
}

/// A sequence whose frames are all alike is the map of one of them, bit for bit.
#[test]
fn frames_that_are_alike_are_a_fixed_map() {
    for n in [21, 6] {
        // The same map in other units, and frames without pressure in between: the force is another.
        let scaled = |k: usize| frame(n, 3).iter().map(|p| p * [1.0, 2.0, 0.0, 0.5][k % 4]).collect::<Vec<f64>>();
        let patch = following(n, &(0..8).map(scaled).collect::<Vec<_>>());
        let fixed = Arc::new(Patch::from_pressure(grid(n), &frame(n, 3)).unwrap());
        let mut all = Vec::new();
        for (name, model) in models(&patch) {
            for law in [Law::ElastoPlastic, Law::LuGre] {
                let like = in_hand(&fixed, Friction { law, ..Friction::default() }, [0.01, 0.0, 0.2], force(&patch));
                let like = Contact { model: model.clone(), ..like };
                all.push((name, [Contact { patch: Arc::clone(&patch), ..like.clone() }, like]));
            }
        }
        let each = |i: usize| all.iter().map(|(_, two)| two[i].clone()).collect::<Vec<_>>();
        for plan in [plan(0.1, 2e-4, 0.5 * EVERY), plan(0.1, 2e-4, 0.5 * EVERY).with_tolerance(1e-5).unwrap()] {
            for (name, engine) in engines() {
                let [found, wanted] = [0, 1].map(|i| rollout(&*engine, &each(i), &plan));
                for (k, (model, contacts)) in all.iter().enumerate() {
                    // A GPU makes the table of a map that may change by itself.
                    if name == "gpu" && matches!(contacts[0].model, Model::LimitSurface(..)) {
                        far(&format!("{name}, {model} of {n}"), &found, &wanted, k, 3e-6);
                    } else {
                        assert!(bits(&found, k) == bits(&wanted, k), "{name}, {model} of {n}");
                    }
                }
                // It falls where nothing presses, and slides where it is held again.
                assert!(found.normal_force.contains(&0.0) && found.slip.iter().any(|s| *s > 0.5));
            }
        }
    }
}

/// The `hertz` rule, and the same maps as recorded frames.
#[test]
fn frames_sampled_from_a_rule_give_the_motion_of_the_rule() {
    let grip = Signal::sines(2.0, vec![Sine { amplitude: 1.5, omega: 40.0, phase: 0.3 }]);
    for n in [15, 6] {
        for exponent in [Exponent::Fixed(2.0), Exponent::PerNewton(1.0)] {
            let rule = Hertz { radius: 0.22 * n as f64, exponent };
            let by_rule = Arc::new(Patch::hertz(grid(n), rule, grip.value(0.0)).unwrap());
            let maps: Vec<Vec<f64>> =
                (0..40).map(|k| rule.pressure(&grid(n), grip.value(EVERY * f64::from(k)))).collect();
            let frames = following(n, &maps);
            let mut all = Vec::new();
            for (name, model) in models(&by_rule) {
                // A table of a fixed exponent is not made anew where the map grows.
                if matches!(model, Model::LimitSurface(..)) && exponent == Exponent::Fixed(2.0) {
                    continue;
                }
                let mut like = in_hand(&by_rule, Friction::default(), [0.01, -0.005, 0.3], grip.clone());
                like.inputs.remap_every = Some(EVERY);
                let mut recorded = Contact { patch: Arc::clone(&frames), model: model.clone(), ..like.clone() };
                recorded.inputs.remap_every = None;
                all.push((name, [recorded, Contact { model, ..like }]));
            }
            let each = |i: usize| all.iter().map(|(_, two)| two[i].clone()).collect::<Vec<_>>();
            for (engine_name, engine) in engines() {
                let [found, wanted] = [0, 1].map(|i| rollout(&*engine, &each(i), &plan(0.3, 2e-4, 0.02)));
                let n_samples = wanted.frames();
                let limit = if ["reference", "f64"].contains(&engine_name) { 1e-9 } else { 3e-6 };
                for (k, (model, _)) in all.iter().enumerate() {
                    let what = format!("{engine_name}, {model} of {n}, {exponent:?}");
                    let [f, w] = [&found, &wanted].map(|t| flat(of(&t.pose, k, n_samples)));
                    assert_close(&what, &f, &w, limit);
                    assert!((w[3 * n_samples - 2] - w[1]).abs() > 1e-6, "{what}: it moves");
                }
            }
        }
    }
}

/// While every bristle is elastic, `zeta = sigma0 d` with the displacement `d` of the patch, whatever the map
/// was meanwhile: `W = -f_N sigma0 sum w E^T d`, docs/model.md (73). The force is that of the frame.
#[test]
fn bristles_that_stick_carry_the_displacement_from_frame_to_frame() {
    let friction = Friction::default();
    let twist = [6e-6, -4e-6, 1.5e-3];
    for n in [21, 6] {
        let mut frames: Vec<Vec<f64>> = (0..5).map(|k| frame(n, k)).collect();
        // The last has half of the pressure, and no pressure comes before it.
        frames.push(vec![0.0; n * n]);
        frames.push(frame(n, 4).iter().map(|p| 0.5 * p).collect());
        let patch = following(n, &frames);
        // It stops for the second half of every frame, where the spring is alone.
        let stops = |v: f64| {
            let points: Vec<(f64, f64)> =
                (0..14).map(|k| (0.5 * EVERY * f64::from(k), if k % 2 == 0 { v } else { 0.0 })).collect();
            Signal::steps(&points).unwrap()
        };
        for (model_name, model) in models(&patch).into_iter().take(3) {
            let mut contact = Contact { model, ..prescribed(&patch, friction, [0.0; 3], 1.0) };
            contact.body = Body::Prescribed { twist: twist.map(stops), at: TwistPoint::Origin };
            contact.inputs.normal_force = force(&patch);
            for (name, engine) in engines() {
                let out = rollout(&*engine, std::slice::from_ref(&contact), &plan(7.0 * EVERY, 2e-4, 0.25 * EVERY));
                for (k, pressure) in frames.iter().enumerate() {
                    // Three quarters into the frame.
                    let found = out.wrench[4 * k + 3].to_array();
                    let time = 0.5 * EVERY * (k + 1) as f64;
                    let [x, y, turn] = twist.map(|v| v * time);
                    let area = (WIDTH / n as f64).powi(2);
                    let mut wanted = [0.0; 3];
                    for ([cx, cy], p) in grid(n).centres().zip(pressure) {
                        let f = [x - turn * cy, y + turn * cx].map(|d| -p * area * friction.sigma0 * d);
                        wanted = [wanted[0] + f[0], wanted[1] + f[1], wanted[2] + cx * f[1] - cy * f[0]];
                    }
                    let limit = if ["reference", "f64"].contains(&name) { 1e-9 } else { 5e-6 };
                    let what = format!("{name}, {model_name} of {n}, frame {k}: {found:?}, wanted {wanted:?}");
                    for (c, scale) in [1.0, 1.0, WIDTH].into_iter().enumerate() {
                        assert!((found[c] - wanted[c]).abs() / scale < limit, "{what}");
                    }
                    assert!(k == 5 || wanted[0].abs() > 0.02 && wanted[2].abs() > 1e-5, "{what}");
                }
            }
        }
    }
}

/// The mirror image of everything moves as the mirror image.
#[test]
fn mirrored_frames_give_the_mirrored_motion() {
    let mirror = |n: usize, frame: Vec<f64>| frame.chunks(n).flat_map(|row| row.iter().rev().copied()).collect();
    let mut mirrored = held();
    for (_, contact) in &mut mirrored {
        let n = contact.patch.grid().nx;
        let patch = following(n, &(0..8).map(|k| mirror(n, frame(n, k))).collect::<Vec<_>>());
        if let Model::LimitSurface(table, _) = &mut contact.model {
            *table = Arc::new(Table::new(&patch, Rule::Cells, 8).unwrap());
        }
        let pose = &mut contact.initial.pose;
        (pose.x, pose.theta) = (-pose.x, -pose.theta);
        contact.patch = patch;
    }
    let held = held();
    for (name, engine) in engines() {
        let [there, here] = [&held, &mirrored].map(|all| rollout(&*engine, &contacts(all), &plan(0.1, 2e-4, 0.02)));
        let n = there.frames();
        let limit = if ["reference", "f64"].contains(&name) { 1e-10 } else { 2e-6 };
        for (k, (what, _)) in held.iter().enumerate() {
            for (c, sign) in [-1.0, 1.0, -1.0].into_iter().enumerate() {
                let wanted: Vec<f64> = series(&there.pose, k, n, c).iter().map(|v| sign * v).collect();
                assert_close(&format!("{name}, {what}"), &series(&here.pose, k, n, c), &wanted, limit);
            }
            let turn = series(&there.pose, k, n, 2);
            assert!((turn[n - 1] - turn[0]).abs() > 1e-5, "{what} turns");
        }
    }
}

/// Friction of what slides never does work, and is that of the frame: after the first micrometres it is the
/// steady friction of the frame's own map.
#[test]
fn sliding_friction_dissipates_under_every_frame() {
    let twist = Twist::new(0.02, -0.01, 3.0);
    let frames: Vec<Vec<f64>> = (0..8).map(|k| frame(21, k)).collect();
    let patch = following(21, &frames);
    for &law in Law::ALL {
        for (model_name, model) in models(&patch) {
            let friction = Friction { law, ..Friction::default() };
            let mut contact = prescribed(&patch, friction, [0.0; 3], 1.0);
            contact.body = Body::Prescribed { twist: twist.to_array().map(Signal::constant), at: TwistPoint::Origin };
            contact.model = model;
            contact.initial.bristles = Bristles::Steady;
            contact.inputs.normal_force = force(&patch);
            for (name, engine) in engines() {
                let out = rollout(&*engine, std::slice::from_ref(&contact), &plan(8.0 * EVERY, 2e-4, 0.1 * EVERY));
                let power: Vec<f64> =
                    out.wrench.iter().map(|w| w.fx * twist.vx + w.fy * twist.vy + w.tau * twist.w).collect();
                assert!(power.iter().all(|p| *p < 0.0), "{name}, {law:?}, {model_name}: {power:?}");
                let Model::Distributed = contact.model else { continue };
                for (k, pressure) in frames.iter().enumerate() {
                    let own = Arc::new(Patch::from_pressure(grid(21), pressure).unwrap());
                    let f_n = out.normal_force[10 * k + 9];
                    let fresh = Contact { patch: own, ..contact.clone() };
                    let mut fresh = Contact { body: contact.body.clone(), ..fresh };
                    fresh.inputs.normal_force = Signal::constant(f_n);
                    let steady = rollout(&Cpu::reference(), &[fresh], &plan(0.002, 2e-4, 0.001)).wrench[2];
                    let found = out.wrench[10 * k + 9];
                    let off = [found.fx - steady.fx, found.fy - steady.fy, (found.tau - steady.tau) / WIDTH];
                    assert!(off.iter().all(|d| d.abs() < 1e-5 * f_n), "{name}, {law:?}, {k}: {found:?}, {steady:?}");
                }
            }
        }
    }
}

fn far(what: &str, found: &Trajectories, wanted: &Trajectories, k: usize, limit: f64) {
    let n = wanted.frames();
    let [a, b] = [found, wanted].map(|t| {
        let numbers = of(&t.pose, k, n).iter().flat_map(|q| [q.x, q.y, WIDTH * q.theta]);
        numbers.collect::<Vec<_>>()
    });
    assert_close(what, &a, &b, limit);
    assert_eq!(found.status[k].failure, None, "{what}");
}

#[test]
fn engines_agree_on_frames() {
    let held = held();
    for plan in [plan(0.1, 2e-4, 0.007), plan(0.1, 2e-4, 0.007).with_tolerance(3e-6).unwrap()] {
        let wanted = rollout(&Cpu::reference(), &contacts(&held), &plan);
        for (name, engine) in engines() {
            let found = rollout(&*engine, &contacts(&held), &plan);
            let limit = if name == "f64" || name == "reference" { 1e-9 } else { 3e-6 };
            for (k, (what, _)) in held.iter().enumerate() {
                far(&format!("{name}, {what}"), &found, &wanted, k, limit);
            }
        }
    }
}

/// With `update` the frame of every so many seconds is taken, and nothing of those in between.
#[test]
fn an_update_takes_every_second_frame() {
    let frames: Vec<Vec<f64>> = (0..8).map(|k| frame(6, k)).collect();
    let patch = following(6, &frames);
    let every_second: Vec<Vec<f64>> = (0..8).map(|k| frames[k - k % 2].clone()).collect();
    let held_patch = following(6, &every_second);
    let with = |patch: &Arc<Patch>, update: Option<f64>| {
        let mut contact = in_hand(patch, Friction::default(), [0.01, 0.0, 0.0], Signal::constant(2.0));
        contact.inputs.remap_every = update;
        contact
    };
    for (name, engine) in engines() {
        let plan = plan(8.0 * EVERY, 2e-4, EVERY);
        let all = [with(&patch, Some(2.0 * EVERY)), with(&held_patch, None), with(&patch, None)];
        let found = rollout(&*engine, &all, &plan);
        let [a, b, other] = [0, 1, 2].map(|k| flat(of(&found.pose, k, found.frames())));
        // Steps begin anew at the time of a frame.
        assert_close(name, &a, &b, 1e-7);
        assert!(a.iter().zip(other).any(|(a, b)| (a - b).abs() > 1e-5), "{name}: the frames in between differ");
    }
}

/// Neighbours, sizes and how a device cuts its work into windows and dispatches are without effect.
#[test]
fn a_contact_depends_on_nothing_but_itself() {
    let mut all = contacts(&held());
    // Some of other sizes share the frames, and one follows the force.
    let wide = Arc::new(all[0].patch.scaled(1.3, 1.1).unwrap());
    all.push(Contact { patch: wide, ..all[0].clone() });
    let rule = Hertz { radius: 2.0, exponent: Exponent::Fixed(2.0) };
    let grip = Signal::sines(2.0, vec![Sine { amplitude: 1.5, omega: 60.0, phase: 0.0 }]);
    let hertz = Arc::new(Patch::hertz(grid(9), rule, 2.0).unwrap());
    for (_, model) in models(&hertz) {
        let mut contact = Contact { model, ..in_hand(&hertz, Friction::default(), [0.01, 0.0, 0.3], grip.clone()) };
        contact.inputs.remap_every = Some(0.004);
        all.push(contact);
    }
    // At frames and between them.
    for plan in [plan(0.05, 2e-4, 0.004), plan(0.05, 2e-4, 0.004).with_tolerance(1e-5).unwrap()] {
        for (name, engine) in engines() {
            let wanted = rollout(&*engine, &all, &plan);
            for k in (0..all.len()).step_by(5) {
                let alone = rollout(&*engine, &all[k..=k], &plan);
                assert!(bits(&alone, 0) == bits(&wanted, k), "{name}, contact {k} alone");
            }
        }
        let gpu = || Gpu::new(Choice::Any).unwrap();
        let wanted = rollout(&gpu(), &all, &plan);
        for (work, passes) in [(1.0, 7), (1e9, 1)] {
            let found = rollout(&gpu().with_budget(work, passes), &all, &plan);
            for k in 0..all.len() {
                assert!(bits(&found, k) == bits(&wanted, k), "contact {k}, {passes} passes a dispatch");
            }
        }
    }
}

/// Where lanes read the map from its buffer, contacts on one sequence share its cells, and maps that the
/// device makes by the normal force are each contact's own.
#[test]
fn maps_are_read_from_their_buffer() {
    let gpu = Gpu::new(Choice::Any).unwrap();
    let lanes = gpu.adapter().subgroup[1].max(8);
    let layout = Layout { lanes, storage: Storage::Workgroup };
    let in_buffers = gpu.with_layout(layout);
    let mut all: Vec<Contact> = contacts(&held()).into_iter().filter(|c| c.model.is_grid()).collect();
    let second = Arc::new(all[0].patch.scaled(1.2, 1.2).unwrap());
    all.push(Contact { patch: second, ..all[0].clone() });
    let hertz = Arc::new(Patch::hertz(grid(9), Hertz { radius: 1.5, exponent: Exponent::Fixed(2.0) }, 2.0).unwrap());
    for k in 0..4 {
        let grip = Signal::sines(2.5, vec![Sine { amplitude: 1.5, omega: 80.0, phase: f64::from(k) }]);
        let mut contact = in_hand(&hertz, Friction::default(), [0.01, 0.0, 0.3], grip);
        contact.inputs.remap_every = Some(0.004);
        all.push(contact);
    }
    let plan = plan(0.05, 2e-4, 0.01);
    let wanted = rollout(&Cpu::reference(), &all, &plan);
    let found = rollout(&in_buffers, &all, &plan);
    for k in 0..all.len() {
        far(&format!("contact {k}"), &found, &wanted, k, 3e-6);
    }
}

/// A batch that is advanced from frame to frame, read, saved and restored has the numbers of one run.
#[test]
fn a_batch_follows_its_frames() {
    let held = held();
    for (name, engine) in engines() {
        let whole = rollout(&*engine, &contacts(&held), &plan(6.0 * EVERY, 2e-4, EVERY));
        let n = whole.frames();
        let mut batch = engine.batch(contacts(&held), Stepping::default()).unwrap();
        let mut snapshot = None;
        let compare = |batch: &mut bristle::Batch, i: usize| {
            for (k, sample) in batch.samples().unwrap().iter().enumerate() {
                let what = format!("{name}, {}, sample {i}", held[k].0);
                let found = [sample.pose.to_array(), sample.twist.to_array(), sample.wrench.to_array()];
                let at = k * n + i;
                let wanted = [whole.pose[at].to_array(), whole.twist[at].to_array(), whole.wrench[at].to_array()];
                assert_eq!(found.as_flattened(), wanted.as_flattened(), "{what}");
                assert_eq!(sample.normal_force, whole.normal_force[at], "{what}");
            }
        };
        compare(&mut batch, 0);
        for i in 1..n {
            if i == 3 {
                snapshot = Some(batch.save().unwrap());
            }
            batch.advance(EVERY).unwrap();
            compare(&mut batch, i);
        }
        let bytes = snapshot.unwrap().to_bytes().unwrap();
        let snapshot = Snapshot::from_bytes(&bytes).unwrap();
        let mut other = engine.batch(contacts(&held), Stepping::default()).unwrap();
        for batch in [&mut batch, &mut other] {
            batch.restore(&snapshot).unwrap();
            compare(batch, 2);
            for i in 3..n {
                batch.advance(EVERY).unwrap();
                compare(batch, i);
            }
        }
    }
}

/// Calls that end where a map begins, in all models: what is read between them changes nothing after it.
#[test]
fn reading_before_a_map_changes_changes_nothing() {
    let all = contacts(&held());
    for (name, engine) in engines() {
        let run = |reads: bool| {
            let mut batch = engine.batch(all.clone(), Stepping::fixed(2e-4)).unwrap();
            for _ in 0..8 {
                batch.advance(EVERY).unwrap();
                if reads {
                    batch.samples().unwrap();
                }
            }
            batch.samples().unwrap().to_vec()
        };
        for (k, (read, unread)) in run(true).iter().zip(run(false)).enumerate() {
            let off = (read.pose.x - unread.pose.x).hypot(read.pose.y - unread.pose.y);
            // Roundings differ where a pass is divided; on a wrong map it is micrometres.
            assert!(off <= 1e-9, "{name}, {}: {off:e}", held()[k].0);
        }
    }
}

/// A state on a map that a contact does not have is refused.
#[test]
fn states_on_other_maps_are_refused() {
    let few = following(6, &[vec![1.0; 36]]);
    let many = following(6, &(0..8).map(|k| (0..36).map(|i| 1.0 + ((i + k) % 5) as f64).collect()).collect::<Vec<_>>());
    let on = |patch: &Arc<Patch>| {
        let mut contact = in_hand(patch, Friction::default(), [0.0; 3], Signal::constant(2.0));
        free(&mut contact).twist.vx = 0.01;
        contact
    };
    for (name, engine) in engines() {
        let mut batch =
            engine.batch(vec![on(&few), on(&many), on(&shape(6, WIDTH, Shape::Square))], Stepping::default()).unwrap();
        batch.advance(3.5 * EVERY).unwrap();
        let refused = |result: Result<(), EngineError>, part: &str| match result {
            Err(EngineError::Parameter { error, .. }) => assert!(error.to_string().contains(part), "{name}: {error}"),
            other => panic!("{name}: {other:?}"),
        };
        refused(batch.copy(1, &[0]), "state = one on map 3 of a sequence: expected one on a sequence of 1 maps");
        refused(batch.copy(1, &[2]), "expected one without frames");
        refused(batch.copy(2, &[1]), "state = one that follows no sequence");
        batch.copy(0, &[1]).unwrap();
        let refused = batch.set_frame(1, &[1.0; 36]);
        assert!(matches!(refused, Err(EngineError::Parameter { contact: 1, .. })), "{name}");
    }
}

/// Frames that do not fit into a buffer of the device are an error that says so.
#[test]
fn frames_that_no_buffer_holds_are_refused() {
    let frames: Vec<Vec<f64>> = (0..200).map(|k| frame(21, k)).collect();
    let patch = following(21, &frames);
    let contact = in_hand(&patch, Friction::default(), [0.0; 3], force(&patch));
    let small = Gpu::new(Choice::Any).unwrap().with_buffers_of(500_000);
    match small.run(&[contact], &Plan::new(0.01, 2e-4, 0.01).unwrap()) {
        Err(EngineError::Limit { contact: 0, what, remedy, .. }) => {
            assert!(what.contains("pressure frames") && remedy.contains("patch.frames"), "{what}: {remedy}");
        }
        other => panic!("{other:?}"),
    }
}

/// A kernel that is wrong about the frames is far from the CPU.
#[test]
fn wrong_kernels_are_caught() {
    macro_rules! mutant {
        ($from:literal => $to:literal) => {
            (concat!($from, " => ", $to), |text: String| {
                assert!(!text.contains("fn follow_map") || text.contains($from), "no {:?}: renew the mutant", $from);
                text.replace($from, $to)
            })
        };
    }
    type Mutant = (&'static str, fn(String) -> String);
    // Where `arm2` of a new map matters, within a dispatch, is in errors of chosen steps alone: no case here
    // tells it from that of the map before.
    let of_grids: [Mutant; 2] = [
        mutant!("cells[now.map_first + own];" => "cells[own];"),
        mutant!("(now.flags & FLAG_REMAP) != 0u) {\n            extra_work" => "false) {\n            extra_work"),
    ];
    let of_reduced: [Mutant; 4] = [
        mutant!("    move_centre();\n" => ""),
        mutant!("vec3f(-turn * d.y, turn * d.x, 0.0)" => "vec3f(turn * d.y, -turn * d.x, 0.0)"),
        mutant!("    cop = vec2f(now.map_cop_x, now.map_cop_y);" => ""),
        mutant!("    viscous = now.map_arm2;" => "    viscous = intervals[windows[contact].interval_first].map_arm2;"),
    ];
    let held = held();
    let plan = plan(0.06, 2e-4, 0.007).with_tolerance(3e-6).unwrap();
    for (is_grid, mutants) in [(true, &of_grids[..]), (false, &of_reduced)] {
        let mut all: Vec<Contact> = contacts(&held).into_iter().filter(|c| c.model.is_grid() == is_grid).collect();
        // One that spins, as its errors are those of the rotation.
        let mut spins = Contact { initial: Initial::default(), ..all[0].clone() };
        free(&mut spins).twist = Twist::new(0.0, 0.0, 30.0);
        free(&mut spins).gravity = [0.0, 0.0].map(Signal::constant);
        all.push(spins);
        let wanted = rollout(&Gpu::new(Choice::Any).unwrap(), &all, &plan);
        for (name, edit) in mutants {
            let found = rollout(&Gpu::with_edit(Choice::Any, *edit).unwrap(), &all, &plan);
            assert!((0..all.len()).any(|k| bits(&found, k) != bits(&wanted, k)), "{name} changes nothing");
        }
    }
}

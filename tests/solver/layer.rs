//! Elastic layers under an indenter: pressure that follows its depth and place, and bristles that are as
//! stiff wherever it presses, `docs/model.md` (20i) to (20l), on every engine.

use std::f64::consts::PI;
use std::sync::Arc;

use crate::common::{engines, plan, rollout};
use bristle::batch::Snapshot;
use bristle::body::{Body, Frame, FreeBody, TwistPoint};
use bristle::contact::{Bristles, Contact, Initial, Inputs, Layer, Model};
use bristle::engine::{Engine, Stepping, Trajectories};
use bristle::friction::{Friction, Law};
use bristle::gpu::{Choice, Gpu};
use bristle::patch::{Foundation, Grid, Indenter, Patch, Press, Sequence};
use bristle::schedule::Signal;
use bristle::shear::{Moment, OfCell, shear};
use bristle::{Cpu, Twist};

const MU: f64 = 0.5;
/// Stiffness of the layer along its surface [N/m^3].
const SHEAR: f64 = 2e7;
const SPRINGS: Foundation = Foundation::Winkler { stiffness: 5e7 };
const RADIUS: f64 = 0.03;
const DEPTH: f64 = 4e-4;
const BALL: Indenter = Indenter::Sphere { radius: RADIUS };

/// Bristles that are elastic up to their limit, without dampers.
fn friction(law: Law) -> Friction {
    Friction { law, sigma1: 0.0, sigma2: 0.0, mu_c: MU, mu_s: MU, s_ba: 0.999, ..Friction::default() }
}

fn grid(n: usize) -> Grid {
    Grid::new(n, n, 0.02, 0.02).unwrap()
}

/// A layer of `n` x `n` cells under an indenter, from each of the times on as it presses then, below a body
/// that moves as `twist` says.
fn pad(n: usize, by: (Indenter, Foundation), presses: &[(f64, Press)], twist: [Signal; 3]) -> Contact {
    let (times, presses): (Vec<f64>, Vec<Press>) = presses.iter().copied().unzip();
    let sequence = Sequence::indented(grid(n), by.0, by.1, times, &presses).unwrap();
    let patch = Arc::new(Patch::following(grid(n), Arc::new(sequence)).unwrap());
    let layer = Layer::of(&patch, 1.0).unwrap();
    let Grid { dx, dy, .. } = grid(n);
    let normal_force = patch.sequence().unwrap().normal_force(dx * dy);
    Contact {
        friction: Friction { sigma0: layer.sigma0(&patch, SHEAR), ..friction(Law::ElastoPlastic) },
        model: Model::Layer(layer),
        body: Body::Prescribed { twist, at: TwistPoint::Origin },
        inputs: Inputs { normal_force, ..Inputs::default() },
        initial: Initial::default(),
        patch,
    }
}

fn along_x(vx: Signal) -> [Signal; 3] {
    [vx, Signal::constant(0.0), Signal::constant(0.0)]
}

fn pressed(depth: f64) -> Press {
    Press { depth, ..Press::default() }
}

/// The force on the body along x, with its sign turned.
fn pull(run: &Trajectories, contact: usize) -> Vec<f64> {
    run.of(contact).map(|at| -run.wrench[at].fx).collect()
}

/// Cattaneo's problem: a ball that is pressed on the layer and then moved along it. Slip goes from the edge
/// inwards, over springs to a stick radius of `a (1 - T/(mu N))^(1/4)`, (20l), and with Hertz' pressure to
/// one that solves `T/(mu N) = (1 + s^2/2) sqrt(1 - s^2)`. At half of `mu N` these are 6 % and 18 % more than
/// on a half-space, where Mindlin has `a (1 - T/(mu N))^(1/3)`.
#[test]
fn slip_goes_from_the_edge_to_the_middle() {
    let (modulus, speed) = (4e5, 1e-3);
    let hertz = Foundation::Hertz { modulus };
    let a2 = DEPTH * (2.0 * RADIUS - DEPTH);
    for (foundation, n, too_far) in [(SPRINGS, 40, 1.06), (hertz, 60, 1.18)] {
        let contact = pad(n, (BALL, foundation), &[(0.0, pressed(DEPTH))], along_x(Signal::constant(speed)));
        let plan = plan(0.4, 1e-3, 0.02);
        for (name, engine) in engines() {
            let run = rollout(&*engine, std::slice::from_ref(&contact), &plan);
            let (mut sticks, mut half) = (0, 0);
            for (t, at) in run.time.iter().zip(run.of(0)).skip(1) {
                let (n, x, slip) = (run.normal_force[at], speed * t, run.slip[at]);
                let ratio = -run.wrench[at].fx / (MU * n);
                // The pressure under which a spring just slips, over the greatest.
                let peak =
                    if foundation == SPRINGS { 5e7 * DEPTH } else { 2.0 * modulus / PI * (DEPTH / RADIUS).sqrt() };
                let level = (SHEAR * x / (MU * peak)).min(1.0);
                let (stick2, expected) = match foundation {
                    Foundation::Winkler { .. } => (1.0 - level, 1.0 - (1.0 - level) * (1.0 - level)),
                    Foundation::Hertz { .. } => {
                        let s2 = 1.0 - level * level;
                        (s2, (1.0 + 0.5 * s2) * (1.0 - s2).sqrt())
                    }
                };
                assert!((ratio - expected).abs() < 0.01, "{name}, {foundation:?} at {t}: {ratio}, not {expected}");
                // A ring of cells at the edge slips at once.
                assert!((1.0 - slip - stick2).abs() < 0.05, "{name}, {foundation:?} at {t}: slip {slip}, {stick2}");
                if foundation == SPRINGS {
                    let radius = (PI * a2 * (1.0 - slip) / PI).sqrt() / a2.sqrt();
                    assert!(
                        (radius - (1.0 - ratio).max(0.0).powf(0.25)).abs() < 0.06 || stick2 < 0.05,
                        "{name} at {t}"
                    );
                }
                if (0.45..0.55).contains(&ratio) {
                    let mindlin = (1.0 - slip).sqrt() / (1.0 - ratio).cbrt();
                    assert!((mindlin - too_far).abs() < 0.04, "{name}, {foundation:?} at {t}: {mindlin} of Mindlin's");
                    half += 1;
                }
                sticks += usize::from(slip < 0.9);
            }
            assert!(sticks > 3 && half > 0, "{name}: it slips at once");
        }
    }
}

/// Shear stays where it is while the ball rests, and goes where the ball lifts: each cell keeps the least of
/// what it has carried and of what the present pressure lets it carry.
#[test]
fn shear_stays_in_a_hold_and_goes_with_the_pressure() {
    let steps = 200;
    let raise = |k: u32| DEPTH * (1.0 - 0.8 * f64::from(k) / f64::from(steps));
    let mut presses = vec![(0.0, pressed(DEPTH))];
    presses.extend((1..=steps).map(|k| (10.5 + 1e-2 * f64::from(k), pressed(raise(k)))));
    let speed = 1e-3;
    let x = 1.5e-4;
    let motion = along_x(Signal::steps(&[(0.0, speed), (x / speed, 0.0)]).unwrap());
    let contact = pad(20, (BALL, SPRINGS), &presses, motion);
    let by = |depth: f64| {
        let one = Sequence::indented(grid(20), BALL, SPRINGS, vec![0.0], &[pressed(depth)]).unwrap();
        one.map(0).iter().map(|w| w * one.sums()[0]).collect::<Vec<f64>>()
    };
    let area = 1e-6;
    let carried: Vec<f64> = by(DEPTH).iter().map(|p| (SHEAR * x).min(MU * p)).collect();
    let plan = plan(13.0, 5e-3, 0.5);
    let laws = [Law::ElastoPlastic, Law::LuGre, Law::Dahl, Law::ViscoelastoPlastic];
    let contacts = laws.map(|law| Contact { friction: Friction { law, ..contact.friction }, ..contact.clone() });
    for (name, engine) in engines() {
        let run = rollout(&*engine, &contacts, &plan);
        for (k, law) in laws.iter().enumerate() {
            let force = pull(&run, k);
            // After half a second it rests, for ten.
            let loss = (force[1] - force[21]) / force[1];
            assert!(loss.abs() < 1e-6, "{name}, {law:?}: loses {loss:e} in 10 s");
        }
        let force = pull(&run, 0);
        let held: f64 = carried.iter().sum::<f64>() * area;
        let first = force[1];
        assert!((first - held).abs() < 3e-3 * held, "{name}: {first}, not {held}");
        let left: f64 = carried.iter().zip(by(raise(steps))).map(|(c, p)| c.min(MU * p)).sum::<f64>() * area;
        let end = force[force.len() - 1];
        assert!((end - left).abs() < 3e-3 * left, "{name}: {end} is left, not {left}");
        assert!(left < 0.5 * held);
    }
}

/// The sum of the cells is the wrench, each within its limit, and the normal force is that of the pressure.
#[test]
fn cells_sum_to_the_wrench_and_none_is_beyond_its_limit() {
    let path: Vec<(f64, Press)> = (0..60)
        .map(|k| {
            let t = 0.01 * f64::from(k);
            let depth = DEPTH * (8.0 * t).sin().abs() - 2e-5;
            (t, Press { at: [2e-3 * t.sin(), 4e-3 * t], turn: 2.0 * t, depth })
        })
        .collect();
    let face = Indenter::Box { size: [0.006, 0.004] };
    let twist = [Signal::constant(2e-3), Signal::constant(4e-3), Signal::constant(0.5)];
    for by in [(BALL, SPRINGS), (face, SPRINGS)] {
        for law in [Law::ElastoPlastic, Law::LuGre] {
            let contact = pad(20, by.clone(), &path, twist.clone());
            let contact = Contact { friction: Friction { law, ..contact.friction }, ..contact };
            let mut plan = plan(0.6, 1e-3, 0.01);
            plan.sample_bristles = true;
            for (name, engine) in engines() {
                let run = rollout(&*engine, std::slice::from_ref(&contact), &plan);
                let active = contact.active_cells(&contact.timeline(&plan.samples));
                let mut lifted = 0;
                for (frame, at) in run.of(0).enumerate() {
                    let time = run.time[frame];
                    let patch = contact
                        .map_at((time - 1e-7).max(0.0))
                        .map_or(Patch::clone(&contact.patch), |key| contact.patch.at(key));
                    let states = &run.sampled_bristles[0][frame * active.len()..][..active.len()];
                    let moment = Moment {
                        time,
                        pose: run.pose[at],
                        twist: run.twist[at],
                        f_n: run.normal_force[at],
                        inputs: contact.inputs_before(time),
                    };
                    let mut sum = [0.0; 2];
                    let mut cells = active.iter().copied().zip(states.iter().copied());
                    let most = MU * run.normal_force[at];
                    lifted += usize::from(most == 0.0);
                    for (i, cell) in shear(&contact, &patch, moment, &mut cells) {
                        let size = cell.force[0].hypot(cell.force[1]);
                        // A step from stick to slip may end a few per cent beyond.
                        let limit = most * patch.weights()[i];
                        assert!(size <= 1.05 * limit + 1e-12, "{name} at {time}: {size} in cell {i}, of {limit}");
                        (sum[0], sum[1]) = (sum[0] + cell.force[0], sum[1] + cell.force[1]);
                    }
                    let wrench = run.wrench[at];
                    assert!(
                        (sum[0] - wrench.fx).hypot(sum[1] - wrench.fy) < 1e-5,
                        "{name} at {time}: {sum:?}, {wrench:?}"
                    );
                    let force = contact.inputs.normal_force.value((time - 1e-7).max(0.0));
                    assert!((run.normal_force[at] - force).abs() < 1e-6, "{name} at {time}");
                    assert!(wrench.fx.hypot(wrench.fy) <= 1.05 * most + 1e-12);
                    assert!((0.0..=1.0).contains(&run.slip[at]) && (0.0..=1.0).contains(&run.near_limit[at]));
                }
                assert!(lifted > 2, "{name}: it is never lifted");
            }
        }
    }
}

/// A layer between fingers holds what it can, and lets it go when the fingers open.
#[test]
fn shear_acts_on_the_object() {
    let steps = 100;
    let mut presses = vec![(0.0, pressed(DEPTH))];
    presses.extend((1..=steps).map(|k| (0.5 + 5e-3 * f64::from(k), pressed(DEPTH * (1.0 - 0.01 * f64::from(k))))));
    let like = pad(12, (BALL, SPRINGS), &presses, along_x(Signal::constant(0.0)));
    let most = 2.0 * MU * like.layer().unwrap().reference();
    let mass = 0.2 * most / 9.81;
    let gravity = [Signal::constant(0.0), Signal::constant(-9.81)];
    let body = FreeBody { gravity, pads: 2, ..FreeBody::new(Frame::Gripper, mass, 1e-4) };
    // The layer's own damper settles the object.
    let friction = Friction { sigma1: 2.0, ..like.friction };
    let contact = Contact { body: Body::Free(body), friction, ..like };
    for plan in [plan(1.0, 2e-4, 0.1), plan(1.0, 2e-4, 0.1).with_tolerance(1e-5).unwrap()] {
        for (name, engine) in engines() {
            let run = rollout(&*engine, std::slice::from_ref(&contact), &plan);
            let sag = |frame: usize| -run.pose[run.of(0).start + frame].y;
            let weight = mass * 9.81;
            let elastic = weight / (2.0 * SHEAR * PI * DEPTH * (2.0 * RADIUS - DEPTH));
            assert!(sag(5) > 0.9 * elastic && sag(5) < 1.5 * elastic, "{name}: sags {}, not {elastic}", sag(5));
            assert!((sag(5) - sag(4)).abs() < 1e-6, "{name}: it does not rest");
            // The contact shrinks by a fifth, and its stiffness with it. Below a fifth of the grip, at about
            // 0.45 of the depth, the object falls.
            assert!(sag(6) < 1.4 * sag(5) && sag(10) > 1e-3, "{name}: {} then {}", sag(6), sag(10));
        }
    }
}

/// Cells that a batch gives are those of its present sample: forces sum to the wrench, and normal forces to
/// the normal force, at the times of frames and between them.
#[test]
fn cells_of_a_batch_are_those_of_its_sample() {
    let path: Vec<(f64, Press)> = (0..20)
        .map(|k| {
            (
                0.01 * f64::from(k),
                Press { at: [2e-4 * f64::from(k), 0.0], ..pressed(DEPTH * (1.0 - 0.04 * f64::from(k))) },
            )
        })
        .collect();
    let contact = pad(12, (BALL, SPRINGS), &path, along_x(Signal::constant(1e-3)));
    for (name, engine) in engines() {
        let mut batch = engine.batch(vec![contact.clone()], Stepping::fixed(1e-3)).unwrap();
        let mut last = Vec::new();
        for call in 0..15 {
            let cells = batch.cells(0).unwrap();
            let sample = batch.samples().unwrap()[0];
            assert_eq!(cells.len(), 144, "{name}");
            let sum = |of: fn(&OfCell) -> f64| cells.iter().map(of).sum::<f64>();
            let friction = [sum(|cell| cell.shear.force[0]), sum(|cell| cell.shear.force[1])];
            let off = (friction[0] - sample.wrench.fx).hypot(friction[1] - sample.wrench.fy);
            assert!(off < 1e-5, "{name}, call {call}: {friction:?}, {:?}", sample.wrench);
            let pressed = sum(|cell| cell.normal_force);
            assert!((pressed - sample.normal_force).abs() < 1e-6, "{name}, call {call}: {pressed} N");
            assert!(last != cells, "{name}, call {call}: nothing changes");
            last = cells;
            batch.advance(0.006).unwrap();
        }
    }
}

/// A snapshot that is taken while the pressure changes goes on as if it had not been taken.
#[test]
fn a_snapshot_goes_on() {
    let path: Vec<(f64, Press)> =
        (0..40).map(|k| (0.01 * f64::from(k), pressed(DEPTH * (1.0 - 0.02 * f64::from(k))))).collect();
    let contact = pad(12, (BALL, SPRINGS), &path, along_x(Signal::constant(1e-3)));
    let stepping = Stepping::fixed(1e-3);
    for (name, engine) in engines() {
        let mut batch = engine.batch(vec![contact.clone()], stepping).unwrap();
        batch.advance(0.155).unwrap();
        let saved: Snapshot = batch.save().unwrap();
        batch.advance(0.2).unwrap();
        let wanted = batch.samples().unwrap()[0];
        let mut other = engine.batch(vec![contact.clone()], stepping).unwrap();
        other.restore(&saved).unwrap();
        other.advance(0.2).unwrap();
        let found = other.samples().unwrap()[0];
        assert!(
            (found.wrench.fx - wanted.wrench.fx).abs() < 1e-6 * wanted.wrench.fx.abs(),
            "{name}: {found:?}, {wanted:?}"
        );
        assert_eq!(found.normal_force, wanted.normal_force, "{name}");
        let run = rollout(&*engine, std::slice::from_ref(&contact), &plan(0.355, 1e-3, 0.355));
        let of_run = run.wrench[run.of(0).end - 1].fx;
        assert!((of_run - wanted.wrench.fx).abs() < 2e-4 * of_run.abs(), "{name}: {of_run}, {wanted:?}");
        assert!((run.normal_force[run.of(0).end - 1] - wanted.normal_force).abs() < 1e-9, "{name}");
    }
}

/// An object in a grip that lets go.
fn creeping() -> Contact {
    let path: Vec<(f64, Press)> =
        (0..40).map(|k| (0.005 * f64::from(k), pressed(DEPTH * (1.0 - 0.02 * f64::from(k))))).collect();
    let like = pad(12, (BALL, SPRINGS), &path, along_x(Signal::constant(0.0)));
    let mass = 0.3 * MU * like.layer().unwrap().reference() / 9.81;
    let gravity = [Signal::constant(3.0), Signal::constant(-9.81)];
    let body = FreeBody { gravity, pads: 2, ..FreeBody::new(Frame::Gripper, mass, 1e-4) };
    Contact { body: Body::Free(body), friction: Friction { sigma1: 2.0, ..like.friction }, ..like }
}

/// An object that creeps in a grip that lets go: how calls divide the time, and what is read between them,
/// changes nothing, and all engines find the same.
#[test]
fn calls_of_any_length_end_alike() {
    let contact = creeping();
    let stepping = Stepping::fixed(5e-4);
    let mut ends = Vec::new();
    for (name, engine) in engines() {
        let run = |lengths: &[f64], reads: bool| {
            let mut batch = engine.batch(vec![contact.clone()], stepping).unwrap();
            for length in lengths {
                batch.advance(*length).unwrap();
                if reads {
                    batch.samples().unwrap();
                }
            }
            batch.samples().unwrap()[0]
        };
        let whole = run(&[0.15], false);
        for lengths in [&[0.005; 30][..], &[0.0125; 12], &[0.01; 15]] {
            for reads in [false, true] {
                let found = run(lengths, reads);
                let (off, size) = ((found.pose.y - whole.pose.y).abs(), whole.pose.y.abs());
                let most = if name == "gpu" { 1e-4 } else { 1e-9 };
                assert!(off <= most * size, "{name}: {lengths:?}, {reads}: {found:?}, not {whole:?}");
            }
        }
        // A sample that is asked for is on the map of its own time.
        let mut batch = engine.batch(vec![contact.clone()], stepping).unwrap();
        batch.advance(0.0072).unwrap();
        let wanted = batch.samples().unwrap()[0];
        batch.request_samples().unwrap();
        batch.advance(0.05).unwrap();
        assert_eq!(batch.requested_samples().unwrap()[0], wanted, "{name}");
        ends.push((name, whole));
    }
    let (_, first) = ends[0];
    for (name, end) in &ends {
        let off = (end.pose.x - first.pose.x).hypot(end.pose.y - first.pose.y);
        assert!(off < 1e-4 * first.pose.y.abs(), "{name}: {end:?}, not {first:?}");
    }
    assert!(first.pose.y.abs() > 1e-5 && first.slip > 0.0 && first.slip < 1.0, "{first:?}");
}

/// A kernel that is wrong about a change of the pressure ends elsewhere.
#[test]
fn wrong_kernels_are_caught() {
    macro_rules! mutant {
        ($from:literal => $to:literal) => {
            ($from, |text: String| {
                assert!(!text.contains("fn follow_map") || text.contains($from), "no {:?}: renew the mutant", $from);
                text.replace($from, $to)
            })
        };
    }
    type Mutant = (&'static str, fn(String) -> String);
    let mutants: [Mutant; 3] = [
        mutant!("    cell_zy[here] = back * zy;\n" => ""),
        mutant!("return is_layer();" => "return false;"),
        mutant!("now_at - select(1u, 0u, inside)" => "now_at"),
    ];
    let (contact, plan) = (creeping(), plan(0.15, 5e-4, 0.15));
    let end = |engine: &dyn Engine| {
        let run = rollout(engine, std::slice::from_ref(&contact), &plan);
        run.pose[run.of(0).end - 1]
    };
    let (right, wanted) = (end(&Gpu::new(Choice::Any).unwrap()), end(&Cpu::single()));
    assert!((right.x - wanted.x).hypot(right.y - wanted.y) < 1e-5 * wanted.y.abs(), "{right:?}, not {wanted:?}");
    for (name, edit) in mutants {
        assert_ne!(end(&Gpu::with_edit(Choice::Any, edit).unwrap()), right, "{name} changes nothing");
    }
}

#[test]
fn what_a_layer_has_not_is_refused() {
    let contact = pad(5, (BALL, SPRINGS), &[(0.0, pressed(DEPTH))], along_x(Signal::constant(0.0)));
    let refused = |contact: &Contact| contact.validate_over(1.0).unwrap_err().to_string();
    let mut other = contact.clone();
    other.inputs.normal_force = Signal::constant(1.0);
    assert!(refused(&other).starts_with("inputs.normal_force = 1: expected"), "{}", refused(&other));
    let fixed = Patch::from_pressure(grid(5), &[1.0; 25]).unwrap();
    let other = Contact { patch: Arc::new(fixed), ..contact.clone() };
    assert!(refused(&other).starts_with("patch.layer = no frames of a layer"), "{}", refused(&other));
    let steady = Initial { bristles: Bristles::Steady, ..Initial::default() };
    assert!(refused(&Contact { initial: steady, ..contact.clone() }).starts_with("initial.bristles = steady"));
    let moved = contact.patch.scaled(2.0, 2.0).unwrap_err().to_string();
    assert!(moved.starts_with("patch.size = 0.008: expected that of the grid on which"), "{moved}");
    let mut batch = Cpu::new().batch(vec![contact], Stepping::fixed(1e-3)).unwrap();
    let message = batch.set(0, bristle::Input::NormalForce, 2.0).unwrap_err().to_string();
    assert!(message.contains("an elastic layer has that of its frames"), "{message}");
    batch.advance(0.1).unwrap();
    assert_eq!(batch.samples().unwrap()[0].twist, Twist::default());
}

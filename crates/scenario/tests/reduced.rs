//! The reduced model, one suite for every engine: a new one is one more line at the end of this file.
#![cfg(feature = "gpu")]

#[path = "common/mod.rs"]
mod common;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use bristle::body::{Body, Frame, FreeBody};
use bristle::contact::{Contact, Form, Inputs, Model};
use bristle::cpu::Cpu;
use bristle::engine::{DEFAULT_STEP, DEFAULT_TOLERANCE, Engine, Plan, Trajectories};
use bristle::friction::{Friction, Law};
use bristle::gpu::{Choice, Gpu};
use bristle::limit_surface::{Basis, Rule, Table};
use bristle::patch::{Exponent, Grid, Hertz, Patch, Shape};
use bristle::schedule::{Signal, Sine};
use bristle_scenario::{Scenario, change};
use common::{
    Adaptive, DAMPED_LAWS, assert_below, assert_close, free, in_hand, prescribed, prescribed_twist, rollout, series,
    shape,
};

/// How close an engine has to come (`docs/model.md`, section 9).
pub struct Limits {
    /// Root mean square of force and torque over their maximum, prescribed twist.
    prescribed: f64,
    /// In-hand poses [m], [rad].
    in_hand: [f64; 2],
    /// The same on the line gradient in x under f_N1 with a limit surface: its path runs along kinks of the
    /// look-up.
    kinked: [f64; 2],
    /// Share by which the drift of LuGre may differ from the converged one.
    drift: f64,
    /// Creep of an Elasto-Plastic contact on a straight load path [m/s]; the published form on a limit
    /// surface comes to half of it.
    no_drift: f64,
    /// Consistent form against the distributed model in stick [m], [rad].
    stick: f64,
}

/// Double precision.
const F64: Limits = Limits {
    prescribed: 1e-5,
    in_hand: [1e-5, 1e-4],
    kinked: [2e-5, 4e-4],
    drift: 1e-2,
    no_drift: 2e-17,
    stick: 1e-12,
};

/// Single precision.
const F32: Limits = Limits {
    prescribed: 3e-5,
    in_hand: [1.5e-5, 1e-4],
    kinked: [2.5e-5, 4e-4],
    drift: 1e-2,
    no_drift: 2e-12,
    stick: 1e-9,
};

/// A converged solution and the contact it belongs to.
struct Case {
    name: String,
    form: String,
    contact: Contact,
    plan: Plan,
    /// Index of the sample, and three numbers.
    rows: Vec<(usize, [f64; 3])>,
}

/// The cases of a file of `tests/fixtures/reduced`.
fn cases(file: &str) -> Vec<Case> {
    let fixtures = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join("tests/fixtures");
    let mut found: BTreeMap<[String; 3], Vec<[f64; 4]>> = BTreeMap::new();
    let mut reader = csv::Reader::from_path(fixtures.join("reduced").join(file)).unwrap();
    for row in reader.records().map(Result::unwrap) {
        let name = [0, 1, 2].map(|c| row[c].to_owned());
        found.entry(name).or_default().push([3, 4, 5, 6].map(|c| row[c].parse().unwrap()));
    }
    let case = |([case, surface, form], rows): ([String; 3], Vec<[f64; 4]>)| {
        let contact = match (surface.as_str(), form.as_str()) {
            ("ell", "lugre") => "surface = 'ellipsoid'",
            ("ell", _) => "surface = 'ellipsoid', form = 'published'",
            (_, "lugre") => "rule = 'bilinear'",
            (_, "ep") => "rule = 'bilinear', form = 'published'",
            _ => "rule = 'bilinear'",
        };
        let law = if form == "lugre" { "lugre" } else { "elasto-plastic" };
        let text = std::fs::read_to_string(fixtures.join("distributed").join(format!("{case}.toml"))).unwrap();
        let text = change(&text, &format!("contact={{ model = 'reduced', {contact} }}")).unwrap();
        let text = change(&text, &format!("friction.law={law}")).unwrap();
        let name = format!("{case} {surface} {form}");
        let scenario = Scenario::parse(&text, &fixtures, &name).unwrap_or_else(|e| panic!("{e}"));
        let plan = scenario.plan();
        let at = |t: f64| plan.samples.iter().position(|s| (s - t).abs() < 1e-9).expect("a sample at every row");
        let rows = rows.into_iter().map(|[t, a, b, c]| (at(t), [a, b, c])).collect();
        Case { name, form, contact: scenario.contact(0).unwrap(), plan, rows }
    };
    found.into_iter().map(case).collect()
}

/// Runs cases that share a plan as one batch; none may fail.
fn run(engine: &dyn Engine, cases: &[Case], step: f64) -> Trajectories {
    let plan = Plan { step, ..cases[0].plan.clone() };
    assert!(cases.iter().all(|c| c.plan.samples == plan.samples), "one plan a batch");
    let contacts: Vec<Contact> = cases.iter().map(|c| c.contact.clone()).collect();
    let out = rollout(engine, &contacts, &plan);
    for (case, status) in cases.iter().zip(&out.status) {
        assert_eq!(status.failure, None, "{}", case.name);
    }
    out
}

fn prescribed_twists_give_the_converged_wrenches(engine: &dyn Engine, limits: &Limits) {
    let cases = cases("prescribed.csv");
    assert!(cases.len() >= 40, "Fig. 5 on six maps, held inputs, and Fig. 10; {} cases", cases.len());
    let out = run(engine, &cases, DEFAULT_STEP);
    for (k, case) in cases.iter().enumerate() {
        let (mut error, mut most) = ([0.0; 2], [0.0f64; 2]);
        for (frame, [fx, fy, tau]) in &case.rows {
            let w = out.wrench[k * out.frames() + frame].about(case.contact.patch.cop());
            error[0] += (w.fx - fx).powi(2) + (w.fy - fy).powi(2);
            error[1] += (w.tau - tau).powi(2);
            most = [most[0].max(fx.hypot(*fy)), most[1].max(tau.abs())];
        }
        for (c, what) in ["force", "torque"].into_iter().enumerate() {
            let rms = (error[c] / case.rows.len() as f64).sqrt();
            assert_below(&format!("{}: rms of the {what}", case.name), rms, limits.prescribed * most[c]);
        }
    }
}

fn in_hand_poses_are_the_converged_ones(engine: &dyn Engine, limits: &Limits) {
    let kinked = |c: &Case| c.name.starts_with("inhand_case2_linegradx_fN1 ls");
    let cases = cases("in_hand.csv");
    assert!(cases.len() >= 50 && cases.iter().filter(|c| kinked(c)).count() == 3, "{} cases", cases.len());
    let out = run(engine, &cases, DEFAULT_STEP);
    for (k, case) in cases.iter().enumerate() {
        for c in 0..3 {
            let all = series(&out.pose, k, out.frames(), c);
            let found: Vec<f64> = case.rows.iter().map(|(frame, _)| all[*frame]).collect();
            let wanted: Vec<f64> = case.rows.iter().map(|(_, row)| row[c]).collect();
            let what = format!("{}: pose.{}", case.name, ["x", "y", "theta"][c]);
            let limit = if kinked(case) { limits.kinked } else { limits.in_hand };
            assert_close(&what, &found, &wanted, limit[c / 2]);
        }
    }
}

fn lugre_drifts_as_the_model_says_and_elasto_plastic_does_not(engine: &dyn Engine, limits: &Limits) {
    let cases = cases("drift.csv");
    assert!(cases.len() >= 24, "Figs. 6 and 24, both surfaces; {} cases", cases.len());
    let out = run(engine, &cases, DEFAULT_STEP);
    for (k, case) in cases.iter().enumerate() {
        let x = series(&out.pose, k, out.frames(), 0);
        // A second apart.
        let [(early, wanted_early), (late, wanted_late)] = case.rows[..] else { panic!("two rows") };
        let (found, wanted) = (x[late] - x[early], wanted_late[0] - wanted_early[0]);
        if case.form == "lugre" {
            assert!(wanted > 1e-8, "{}: LuGre creeps", case.name);
            assert_close(&format!("{}: drift", case.name), &[found / wanted], &[1.0], limits.drift);
        } else {
            // The published form on a limit surface creeps where held inputs bend the load path, and so it
            // should.
            let limit = limits.no_drift.max(limits.drift * wanted.abs());
            assert!(case.form == "ep" || wanted.abs() < limits.no_drift, "{}: consistent, no creep", case.name);
            assert_close(&format!("{}: drift", case.name), &[found], &[wanted], limit);
        }
    }
}

/// Period of a loop [s], loops, and share of the slip load in each direction.
const LOOP: f64 = 0.3;
const LOOPS: usize = 6;
const SHARE: f64 = 1.0 / 3.0;

/// A kilogram on a round patch. The force rises, then the torque, then both go straight back, again and
/// again.
fn looping(model: Model) -> Contact {
    let patch = shape(21, 0.05, Shape::Circle);
    let friction = Friction::default();
    let (f_n, third) = (9.81, LOOP / 3.0);
    let top = SHARE * friction.mu_c * f_n;
    let signal = |rises: f64, top: f64| {
        let start = |k: usize| k as f64 * LOOP;
        let corners = |k: usize| {
            [
                (start(k) + rises, 0.0),
                (start(k) + rises + third, top),
                (start(k) + 2.0 * third, top),
                (start(k + 1), 0.0),
            ]
        };
        let mut points = vec![(0.0, 0.0)];
        for (t, v) in (0..LOOPS).flat_map(corners) {
            if points.last().is_none_or(|(last, _)| t > last + 1e-9) {
                points.push((t, v));
            }
        }
        Signal::linear(&points).unwrap()
    };
    let tau = top * patch.radius();
    let zero = Signal::constant(0.0);
    Contact {
        model,
        friction,
        body: FreeBody {
            wrench: [signal(0.0, top), zero, signal(third, tau)],
            ..FreeBody::new(Frame::World, 1.0, 1.25e-3)
        }
        .into(),
        inputs: Inputs { normal_force: Signal::constant(f_n), ..Inputs::default() },
        initial: bristle::contact::Initial::default(),
        patch,
    }
}

/// The body of [`looping`] in motion, without a load.
fn set_in_motion(twist: [f64; 3]) -> Body {
    FreeBody { twist: twist.into(), ..FreeBody::new(Frame::World, 1.0, 1.25e-3) }.into()
}

/// A table about the origin has another radius, and torques about another point.
#[test]
fn a_table_about_the_origin_is_refused() {
    let patch = shape(21, 0.05, Shape::Circle);
    let table = Basis::new(patch.grid(), Rule::Cells, 20).unwrap().tables(&[Patch::clone(&patch)]).unwrap().remove(0);
    let contact = looping(Model::LimitSurface(Arc::new(table), Form::Consistent));
    assert!(contact.validate().unwrap_err().to_string().contains("model.table"));
}

fn models(form: Form) -> [Model; 2] {
    let patch = shape(21, 0.05, Shape::Circle);
    [Model::LimitSurface(Arc::new(Table::new(&patch, Rule::Cells, 20).unwrap()), form), Model::Ellipsoid(form)]
}

fn the_published_form_creeps_under_looping_loads_and_the_consistent_one_does_not(engine: &dyn Engine, limits: &Limits) {
    let plan = Plan::new(LOOPS as f64 * LOOP, DEFAULT_STEP, LOOP).unwrap();
    let [surface, _] = models(Form::Published);
    let [ours, ellipsoid] = models(Form::Consistent);
    let out = rollout(engine, &[surface, ours, ellipsoid].map(looping), &plan);
    // What a loop adds, once the first has settled.
    let n = out.frames();
    let creep = |k: usize, c: usize| {
        let all = series(&out.pose, k, n, c);
        (all[n - 1] - all[1]) / (LOOPS - 1) as f64
    };
    let published = [creep(0, 0), creep(0, 2)];
    // Against the load, by the same amount every loop.
    assert!(published[0] < -5e-9 && published[1] < -2e-7, "{published:?} m, rad a loop");
    for k in [1, 2] {
        for c in 0..3 {
            assert_below(&format!("consistent, contact {k}: creep of component {c}"), creep(k, c).abs(), limits.stick);
        }
    }
}

fn the_consistent_form_sticks_as_the_distributed_model_does(engine: &dyn Engine, limits: &Limits) {
    let [surface, ellipsoid] = models(Form::Consistent);
    // The load of Fig. 24: force and torque together, then a normal force that oscillates.
    let straight = |model: Model| {
        let text = std::fs::read_to_string(
            Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
                .join("tests/fixtures/distributed/drift_fig24_code.toml"),
        );
        let contact = Scenario::parse(&text.unwrap(), Path::new(""), "drift").unwrap().contact(0).unwrap();
        Contact { model, ..contact }
    };
    let plan = Plan::new(LOOPS as f64 * LOOP, DEFAULT_STEP, 0.01).unwrap();
    let models = [Model::Distributed, surface, ellipsoid];
    let contacts: Vec<Contact> =
        models.iter().cloned().map(looping).chain(models.iter().cloned().map(straight)).collect();
    assert!(contacts.iter().all(|c| c.friction.law == Law::ElastoPlastic));
    let out = rollout(engine, &contacts, &plan);
    for (grid, reduced) in [(0, 1), (0, 2), (3, 4), (3, 5)] {
        for c in 0..3 {
            let of = |k: usize| series(&out.pose, k, out.frames(), c);
            let what = format!("contact {reduced}, pose.{}", ["x", "y", "theta"][c]);
            assert_close(&what, &of(reduced), &of(grid), limits.stick);
        }
        let moved = series(&out.pose, grid, out.frames(), 0).into_iter().fold(0.0, f64::max);
        assert!(moved > 1e-8, "the load moves the body elastically, by {moved} m");
    }
}

/// A map that follows the force, under loads that turn: the state in stick does not depend on the maps in
/// between, so that nothing creeps.
fn the_consistent_form_sticks_as_the_distributed_model_does_on_maps_that_follow_the_force(
    engine: &dyn Engine,
    limits: &Limits,
) {
    let wave = |mean: f64, amplitude: f64, frequency: f64| {
        let omega = frequency * std::f64::consts::TAU;
        Signal::sines(mean, vec![Sine { amplitude, omega, phase: 0.0 }])
    };
    let grid = Grid::new(21, 21, 0.02, 0.02).unwrap();
    let mut contacts = Vec::new();
    for exponent in [Exponent::Fixed(2.0), Exponent::PerNewton(0.5)] {
        let patch = Arc::new(Patch::hertz(grid, Hertz { radius: 5.0, exponent }, 4.0).unwrap());
        let table = Arc::new(Table::new(&patch, Rule::Cells, 10).unwrap());
        let [consistent, published] =
            [Form::Consistent, Form::Published].map(|form| Model::LimitSurface(Arc::clone(&table), form));
        for model in [Model::Distributed, consistent, Model::Ellipsoid(Form::Consistent), published] {
            // A body that hangs beside the patch, held well inside its limit: soft, so that there is
            // something to see.
            let mut contact =
                in_hand(&patch, Friction { sigma0: 1e4, ..Friction::default() }, [0.0; 3], wave(4.0, 1.5, 2.0));
            contact.model = model;
            free(&mut contact).wrench[2] = wave(0.005, 0.001, 3.0);
            contact.inputs.remap_every = Some(0.01);
            contacts.push(contact);
        }
    }
    let out = rollout(engine, &contacts, &Plan::new(2.0, DEFAULT_STEP, 0.05).unwrap());
    let n = out.frames();
    for k in 0..contacts.len() {
        let of = |k: usize, c: usize| series(&out.pose, k, n, c);
        let (grid, theta) = (of(k / 4 * 4, 2), of(k, 2));
        if k % 4 == 3 {
            let apart = grid.iter().zip(&theta).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(apart > 1e-4, "the published form differs: {apart} rad");
            continue;
        }
        assert!(grid.iter().fold(0.0f64, |most, q| most.max(q.abs())) > 1e-3, "the load turns the body");
        for c in 0..3 {
            // A soft body turns a thousand times as far as those above.
            let what = format!("contact {k}, pose.{}", ["x", "y", "theta"][c]);
            assert_close(&what, &of(k, c), &of(k / 4 * 4, c), 1e3 * limits.stick);
        }
    }
}

/// A turned patch on which the grip closes, opens again, lets go and holds again: friction never exceeds its
/// limit, and what the grip had hidden of the rotation comes back, as it does with a grid.
fn a_grip_that_closes_and_opens_again_gives_the_rotation_back(engine: &dyn Engine, limits: &Limits) {
    const GRIPS: [f64; 5] = [0.1, 10.0, 0.1, 0.0, 0.1];
    let friction = Friction { mu_c: 1.0, mu_s: 1.2, ..Friction::default() };
    let mut contacts = Vec::new();
    for n in [20, 21] {
        let grid = Grid::new(n, n, 0.02, 0.02).unwrap();
        let patch = Arc::new(Patch::hertz(grid, Hertz { radius: 4.0, exponent: Exponent::Fixed(2.0) }, 4.0).unwrap());
        let surface = |rule| Model::LimitSurface(Arc::new(Table::new(&patch, rule, 10).unwrap()), Form::Consistent);
        let open = patch.under(GRIPS[0]);
        let turn = 0.55 * friction.mu_c * open.radius() / (friction.sigma0 * open.viscous());
        for model in [
            Model::Distributed,
            surface(Rule::Cells),
            surface(Rule::Points),
            surface(Rule::Bilinear),
            Model::Ellipsoid(Form::Consistent),
        ] {
            let mut contact = prescribed(&patch, friction, [0.0; 3], 0.0);
            contact.model = model;
            let grips: Vec<(f64, f64)> = GRIPS.iter().enumerate().map(|(k, f_n)| (0.1 * k as f64, *f_n)).collect();
            contact.inputs.normal_force = Signal::steps(&grips).unwrap();
            prescribed_twist(&mut contact)[2] = Signal::steps(&[(0.0, turn / 0.01), (0.01, 0.0)]).unwrap();
            contact.inputs.remap_every = Some(0.01);
            contacts.push(contact);
        }
    }
    let out = rollout(engine, &contacts, &Plan::new(0.5, DEFAULT_STEP, 0.05).unwrap());
    let n = out.frames();
    for (k, contact) in contacts.iter().enumerate() {
        // In the middle of every grip, torque over its limit by the cells' centres.
        let share = |k: usize, grip: usize| {
            let tau = series(&out.wrench, k, n, 2)[2 * grip + 1];
            let most = friction.mu_c * GRIPS[grip] * contact.patch.under(GRIPS[grip]).radius();
            if most > 0.0 { tau / most } else { tau }
        };
        let grid = k / 5 * 5;
        let [first, closed, open, off, again] = [0, 1, 2, 3, 4].map(|grip| share(k, grip));
        assert!((-0.6..-0.5).contains(&first), "contact {k}: {first}");
        assert!((-1.01 * friction.mu_s..=-0.5).contains(&closed), "contact {k}: {closed} of the limit");
        assert_eq!(off, 0.0, "contact {k}");
        for (what, found) in [("first", first), ("open again", open), ("after nothing", again)] {
            let apart = (found - share(grid, 0)).abs();
            assert!(apart < 1e3 * limits.stick, "contact {k}, {what}: {found}, grid {}", share(grid, 0));
        }
    }
}

/// By the rules that take a cell for a point a contact of one cell has no extent, and slides as one bristle
/// does.
fn a_contact_of_one_cell_slides_as_a_point(engine: &dyn Engine, _: &Limits) {
    let grid = Grid::new(3, 3, 0.01, 0.01).unwrap();
    let mut one = [0.0; 9];
    one[4] = 1.0;
    let patch = Patch::from_pressure(grid, &one).unwrap();
    let table = |rule| Model::LimitSurface(Arc::new(Table::new(&patch, rule, 20).unwrap()), Form::default());
    let mut contacts = Vec::new();
    for &law in Law::ALL {
        for model in [Model::Distributed, table(Rule::Points), table(Rule::Bilinear)] {
            let mut contact = looping(model);
            contact.patch = Arc::new(patch.clone());
            contact.friction.law = law;
            contact.inputs.normal_force = Signal::constant(1.0);
            contact.body = set_in_motion([0.1, -0.05, 2.0]);
            contacts.push(contact);
        }
    }
    let out = rollout(engine, &contacts, &Plan::new(0.01, 1e-5, 0.005).unwrap());
    for k in 0..contacts.len() {
        for c in 0..3 {
            let of = |k: usize| series(&out.pose, k, out.frames(), c);
            let what = format!("contact {k}, pose.{}", ["x", "y", "theta"][c]);
            assert_close(&what, &of(k), &of(k / 3 * 3), 1e-7);
        }
        assert!(out.pose[k * out.frames() + 1].x > 1e-4);
    }
}

/// The motion of a body that comes to rest dies away exponentially, until squares of its speed are no numbers
/// any more.
fn a_body_that_has_come_to_rest_stays_there(engine: &dyn Engine, _: &Limits) {
    let contacts: Vec<Contact> = [Form::Published, Form::Consistent]
        .into_iter()
        .flat_map(models)
        .flat_map(|model| DAMPED_LAWS.map(|law| (model.clone(), law)))
        .map(|(model, law)| {
            let mut contact = looping(model);
            contact.friction.law = law;
            contact.inputs.normal_force = Signal::constant(9.81);
            contact.body = set_in_motion([0.05, 0.02, 3.0]);
            contact
        })
        .collect();
    let plan = Plan::new(1.0, 5e-3, 0.05).unwrap().with_tolerance(DEFAULT_TOLERANCE).unwrap();
    let out = rollout(engine, &contacts, &plan);
    for k in 0..contacts.len() {
        let poses = &out.pose[out.of(k)];
        assert!(out.status[k].failure.is_none(), "contact {k}: {:?}", out.status[k]);
        assert!(poses[20].x > 1e-5 && poses[10..].iter().all(|q| *q == poses[10]), "contact {k}: {poses:?}");
    }
}

macro_rules! suite {
    ($name:ident, $engine:expr, $limits:expr) => {
        mod $name {
            use super::*;

            suite!(@tests $engine, $limits;
                prescribed_twists_give_the_converged_wrenches,
                in_hand_poses_are_the_converged_ones,
                lugre_drifts_as_the_model_says_and_elasto_plastic_does_not,
                the_published_form_creeps_under_looping_loads_and_the_consistent_one_does_not,
                the_consistent_form_sticks_as_the_distributed_model_does,
                the_consistent_form_sticks_as_the_distributed_model_does_on_maps_that_follow_the_force,
                a_grip_that_closes_and_opens_again_gives_the_rotation_back,
                a_contact_of_one_cell_slides_as_a_point,
                a_body_that_has_come_to_rest_stays_there,
            );
        }
    };
    (@tests $engine:expr, $limits:expr; $($test:ident,)*) => {
        $(#[test]
        fn $test() {
            super::$test(&$engine, &$limits);
        })*
    };
}

/// Steps by the default tolerance.
macro_rules! chosen {
    ($name:ident, $engine:expr, $limits:expr) => {
        mod $name {
            use super::*;

            #[test]
            fn prescribed_twists_give_the_converged_wrenches() {
                super::prescribed_twists_give_the_converged_wrenches(
                    &Adaptive::new($engine, DEFAULT_TOLERANCE),
                    &$limits,
                );
            }

            #[test]
            fn lugre_drifts_as_the_model_says_and_elasto_plastic_does_not() {
                // What the published form creeps is far below the tolerance.
                super::lugre_drifts_as_the_model_says_and_elasto_plastic_does_not(
                    &Adaptive::new($engine, DEFAULT_TOLERANCE),
                    &Limits { no_drift: 1e-10, ..$limits },
                );
            }
        }
    };
}

chosen!(cpu_adaptive, Cpu::new(), F64);
chosen!(cpu_reference_adaptive, Cpu::reference(), F64);
chosen!(cpu_single_adaptive, Cpu::single(), F32);
chosen!(gpu_adaptive, Gpu::new(Choice::Any).unwrap_or_else(|e| panic!("{e}")), F32);

suite!(cpu, Cpu::new(), F64);
suite!(cpu_reference, Cpu::reference(), F64);
suite!(gpu, Gpu::new(Choice::Any).unwrap_or_else(|e| panic!("{e}")), F32);

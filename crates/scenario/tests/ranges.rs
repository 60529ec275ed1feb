//! Numbers at the ends of their ranges are accepted, numbers beyond are refused, and no accepted input gives
//! a number that is not finite without a status.
#![cfg(feature = "rigid")]

use bristle::batch::Batch;
use bristle::parameter::{ALL, Parameter};
use bristle::random::Draw;
use bristle::range::{self, Range};
use bristle::schedule::Signal;
use bristle::{Contact, Cpu, Engine, Input, Plan, Stepping, Trajectories};
use bristle_rigid::world::{Method, Worlds};
use bristle_scenario::{Scenario, ScenarioError, StabilityFile, WorldScenario, change};

const GRIPPER: &str = "duration = 0.001\nrecord_every = 0.0005\nlimits = { steps = 60 }\npatch = { cells = 5 }\n\
    [friction]\nmu_c = 0.5\n[body]\nkind = 'gripper'\nmass = 0.2\ninertia = 1e-4\n\
    [initial]\npose = [0.001, 0.002, 0.1]\ntwist = [0.01, 0, 0.2]\n\
    [inputs]\nnormal_force = 3\ngravity = [0, -9.81]\nwrench = { fx = 0.1, tau = 0.001 }\n";
const POINT: &str = "duration = 0.001\nrecord_every = 0.0005\nlimits = { steps = 60 }\ncontact = { model = 'point' }\n\
    [friction]\nmu_c = 0.5\n[body]\nkind = 'world'\nmass = 0.2\nspring = 10\n\
    [initial]\ntwist = [0.01, 0, 0]\n[inputs]\nnormal_force = 3\ngravity = [1, 0]\nwrench = { fx = 0.1 }\n\
    anchor = [0.01, 0.02]\n";
const TABLE: &str = "duration = 0.001\nrecord_every = 0.0005\nlimits = { steps = 60 }\npatch = { cells = 4 }\n\
    [friction]\nmu_c = 0.5\n[body]\nkind = 'body'\nmass = 0.2\ninertia = 1e-4\noffset = [0.001, 0]\n\
    [initial]\ntwist = [0.01, 0, 0.2]\n[inputs]\ntilt = { angle = 0.3, direction = 0.2, gravity = 9.81 }\n";
const GIVEN: &str = "duration = 0.001\nrecord_every = 0.0005\nlimits = { steps = 60 }\npatch = { cells = 5 }\n\
    [friction]\nmu_c = 0.5\n[body]\nkind = 'prescribed'\n[inputs]\nnormal_force = 3\n\
    twist = { vx = 0.01, vy = 0.001, w = 0.1 }\n";
const SKIN: &str = "duration = 0.001\nrecord_every = 0.0005\nlimits = { steps = 60 }\n[patch]\ncells = 5\n\
    layer = { stiffness = 5e7, shear_stiffness = 2e7 }\n[patch.indenter]\nshape = 'sphere'\nradius = 0.02\n\
    depth = 4e-4\nevery = 2e-4\n[friction]\nmu_c = 0.5\n[body]\nkind = 'prescribed'\n[inputs]\n\
    twist = { vx = 0.01, vy = 0.001, w = 0.1, at = 'origin' }\n";

/// Scenarios with every model and law, to start from.
fn bases() -> Vec<String> {
    let with = |text: &str, changes: &[&str]| changes.iter().fold(text.to_owned(), |t, c| change(&t, c).unwrap());
    let mut all = vec![
        GRIPPER.to_owned(),
        TABLE.to_owned(),
        GIVEN.to_owned(),
        POINT.to_owned(),
        with(GRIPPER, &["patch.shape=hertz", "patch.radius=2", "patch.exponent=3"]),
        with(GRIPPER, &["patch.shape=hertz", "patch.exponent_per_newton=0.5"]),
        with(GRIPPER, &["contact.model=reduced", "contact.n_ls=2"]),
        with(GRIPPER, &["contact.model=reduced", "contact.surface=ellipsoid", "contact.form=published"]),
        with(GRIPPER, &["initial.bristles=steady", "friction.gamma=1"]),
        with(GRIPPER, &["step={ tolerance = 1e-5 }"]),
        with(GRIPPER, &["contact.model=reduced", "contact.n_ls=2", "patch.shape=hertz"]),
        with(GIVEN, &["contact.model=reduced", "contact.n_ls=2", "step={ tolerance = 1e-5 }"]),
        with(GIVEN, &["inputs.twist.at=origin", "initial.bristles=steady"]),
    ];
    let of = |shape: &str| SKIN.replace("shape = 'sphere'\nradius = 0.02", shape);
    all.push(SKIN.to_owned());
    all.push(with(SKIN, &["patch.layer.shear_stiffness=1e12", "friction.law=lugre"]));
    all.push(SKIN.replace("stiffness = 5e7, shear", "modulus = 1e6, shear"));
    all.push(of("shape = 'cylinder'\nradius = 0.02\nlength = 0.01"));
    all.push(of("shape = 'box'\nsize = 0.01"));
    all.extend(["lugre", "dahl", "viscoelasto-plastic"].map(|law| with(GRIPPER, &[&format!("friction.law={law}")])));
    for law in ["implicit-approximate", "karnopp", "viscous-band", "quinn", "viscoelasto-plastic", "gms", "dahl"] {
        all.push(with(POINT, &[&format!("contact.point.law={law}"), "step=1e-4"]));
    }
    all
}

/// Settings of one field, or of one and what goes with it, at the ends of its range.
fn ends() -> Vec<(String, Vec<String>)> {
    let number = |v: f64| format!("{v:e}");
    let mut all: Vec<(String, Vec<String>)> = Vec::new();
    let mut add = |range: Range, keys: &[&str], more: &[&str]| {
        for value in [range.least, range.most] {
            let set = keys.iter().map(|key| key.replace("{}", &number(value)));
            all.push((format!("{keys:?} = {value:e}"), set.chain(more.iter().map(|m| (*m).to_owned())).collect()));
        }
    };
    for Parameter { name, range, .. } in ALL.iter().copied() {
        match name {
            "friction.mu_s" => add(range::MU, &["friction.mu_s={}", "friction.mu_c=1e-9"], &[]),
            "friction.mu_s_over_mu_c" => {
                add(Range { most: 1e6, ..range }, &["friction.mu_s_over_mu_c={}"], &["friction.mu_c=1"]);
            }
            "friction.mu_c" => add(range, &["friction.mu_c={}", "friction.mu_s={}"], &[]),
            "inputs.mu_c" => add(range, &["inputs.mu_c={}", "inputs.mu_s={}"], &["~friction.mu_c"]),
            "contact.point.elements" => {
                let rest = "contact.point.elements=[[1e-9, 0.5], [0.999999999, 0.5]]";
                add(range::MU, &[rest], &[]);
                add(range::MU, &["contact.point.elements=[[0.5, 1e-9], [0.5, 0.999999999]]"], &[]);
            }
            "patch.indenter.radius" => add(range, &["patch.indenter.radius={}"], &["patch.indenter.depth=1e-10"]),
            "patch.layer.modulus" => {
                add(range, &["patch.layer.modulus={}"], &["patch.layer.shear_stiffness=1e9"]);
            }
            "patch.indenter.size" => add(range, &["patch.indenter.size={}"], &["patch.indenter.depth=1"]),
            "patch.size" => {
                add(range, &["patch.size={}"], &[]);
                add(range, &["patch.size=[0.02, {}]"], &[]);
            }
            "inputs.gravity" => add(range, &["inputs.gravity=[{}, {}]"], &[]),
            "inputs.anchor" => add(range, &["inputs.anchor=[{}, 0]"], &[]),
            "inputs.surface.at" => add(range, &["inputs.surface.at=[{}, 0]"], &["inputs.surface.w=1"]),
            "body.offset" => add(range, &["body.offset=[{}, 0]"], &[]),
            "inputs.push_height" => {
                let feet = "patches=[{ at = [0.05, 0] }, { at = [-0.03, 0.04] }, { at = [-0.03, -0.04] }]";
                add(range, &["inputs.push_height={}"], &[feet]);
            }
            "body.inertia" => {
                add(range, &["body.inertia={}"], &[]);
                add(range::SIZE, &["body.inertia={ disc = {} }"], &[]);
            }
            "duration" => add(Range { most: 1.0, ..range }, &["duration={}"], &["record_every=0.5"]),
            "record_every" => add(range, &["record_every={}"], &["duration=1e-5"]),
            // With `inputs.mu_c`.
            "inputs.mu_s" => {}
            name => add(range, &[&format!("{name}={{}}")], &[]),
        }
    }
    add(range::FRICTION_FACTOR, &["friction.map=[[{}, 1]]"], &[]);
    add(range::FRICTION_FACTOR, &["friction.mu={ ratio = {}, angle = 0.3 }"], &[]);
    add(range::FRICTION_FACTOR, &["patches=[{ at = [0.01, 0] }, { friction = {} }]"], &[]);
    add(range::OFFSET, &["patches=[{ at = [0.01, 0] }, { at = [0, {}], turn = 1 }]"], &[]);
    add(range::ANGLE, &["patches=[{ at = [0.01, 0] }, { turn = {} }]"], &[]);
    // Signals of every kind, at the ends of what their numbers may be.
    for (key, range) in [
        ("inputs.normal_force", range::FORCE),
        ("inputs.wrench.fx", range::FORCE),
        ("inputs.wrench.tau", range::TORQUE),
        ("inputs.gravity.1", range::GRAVITY),
        ("inputs.twist.vx", range::SPEED),
        ("inputs.twist.w", range::TURN),
        ("inputs.anchor.0", range::POSITION),
        ("inputs.surface.vx", range::SPEED),
        ("inputs.surface.w", range::TURN),
    ] {
        let (most, steep) = (range.most, 1e9 * range.most);
        for signal in [
            format!("{{ points = [[0, 0], [1e-9, {most:e}]] }}"),
            format!("{{ points = [[-1e-3, {most:e}], [0.001, -{most:e}]] }}"),
            format!("{{ points = [[-1, 0], [0.001, {most:e}]], interpolate = 'constant', hold = 1e-6 }}"),
            format!("{{ segments = [{{ from = 0, slope = {steep:e} }}] }}"),
            format!("{{ segments = [{{ from = 0, curvature = -{steep:e} }}] }}"),
            format!("{{ mean = {most:e}, sines = [{{ amplitude = {most:e}, frequency = 1e9, phase = 1e9 }}] }}"),
        ] {
            all.push((format!("{key} = {signal}"), vec![format!("{key}={signal}")]));
        }
    }
    all
}

/// The contacts of a scenario with some settings, if it takes them; else the error, which is short.
fn drawn(text: &str, settings: &[String]) -> Result<(Contact, Plan), String> {
    let text = settings.iter().try_fold(text.to_owned(), |text, c| change(&text, c)).map_err(|e| e.to_string())?;
    let scenario = Scenario::parse(&text, ".".as_ref(), "ends.toml").map_err(|e| e.to_string());
    let scenario = scenario.inspect_err(|e| assert!(e.len() < 3000, "{e}"))?;
    Ok((scenario.contact(0).unwrap(), scenario.plan()))
}

/// The first number of a contact that is not finite although its status is 0; `Some("failed")` with a status.
fn wrong(out: &Trajectories, k: usize) -> Option<&'static str> {
    let n = out.frames();
    let of = k * n..(k + 1) * n;
    if out.status[k].left.is_some() {
        return None;
    }
    if out.status[k].failure.is_some() {
        return Some("failed");
    }
    let finite = |all: &[f64]| all.iter().all(|v| v.is_finite());
    let three = |all: Vec<[f64; 3]>| finite(all.as_flattened());
    if !three(out.pose[of.clone()].iter().map(|q| q.to_array()).collect()) {
        return Some("pose");
    }
    if !three(out.twist[of.clone()].iter().map(|q| q.to_array()).collect()) {
        return Some("twist");
    }
    if !three(out.wrench[of.clone()].iter().map(|q| q.to_array()).collect()) {
        return Some("wrench");
    }
    if !finite(&out.normal_force[of.clone()]) {
        return Some("normal force");
    }
    (!finite(&out.slip[of])).then_some("slip")
}

/// Runs contacts of one plan on both engines of the CPU; what is wrong with each, by name.
fn run(named: &[(String, Contact, Plan)]) -> Vec<(String, &'static str)> {
    let mut found = Vec::new();
    for (precision, engine) in [("f64", Cpu::new()), ("f32", Cpu::single())] {
        let mut rest: Vec<&(String, Contact, Plan)> = named.iter().collect();
        while let Some((_, _, plan)) = rest.first() {
            let (same, other): (Vec<_>, Vec<_>) = rest.iter().copied().partition(|(_, _, p)| p == plan);
            let contacts: Vec<Contact> = same.iter().map(|(_, c, _)| c.clone()).collect();
            let out = engine.run(&contacts, plan).unwrap();
            for (k, (name, ..)) in same.iter().enumerate() {
                found.extend(
                    wrong(&out, k).map(|what| (format!("{precision}: {name}: {:?}", out.status[k].failure), what)),
                );
            }
            rest = other;
        }
    }
    found
}

#[test]
fn numbers_at_the_ends_of_their_ranges_give_finite_ones() {
    let (mut all, mut refused) = (Vec::new(), std::collections::BTreeMap::<String, Vec<String>>::new());
    let bases = bases();
    for (b, base) in bases.iter().enumerate() {
        for (name, settings) in ends() {
            match drawn(base, &settings) {
                Ok((contact, plan)) => all.push((format!("base {b}, {name}"), contact, plan)),
                Err(e) => refused.entry(name).or_default().push(e),
            }
        }
    }
    let nowhere = refused.iter().find(|(_, errors)| errors.len() == bases.len());
    assert!(nowhere.is_none(), "refused with every base: {nowhere:#?}");
    let found = run(&all);
    let silent: Vec<_> = found.iter().filter(|(_, what)| *what != "failed").collect();
    assert!(silent.is_empty(), "not finite without a status: {silent:#?}");
    // Point contacts step by explicit laws, or are held by a spring, which are not stable whatever the step.
    let is_point =
        |name: &str| bases.iter().enumerate().any(|(b, t)| t.contains("point") && name.contains(&format!("base {b},")));
    // Nor are steps in which a surface turns by more than a radian.
    let turns = |name: &str| name.contains("inputs.surface.w");
    let failed = found.iter().filter(|(name, _)| !name.contains("Steps") && !is_point(name) && !turns(name));
    let failed: Vec<_> = failed.collect();
    assert!(failed.is_empty(), "of {}: {failed:#?}", all.len());
}

/// With several at their ends a contact may fail, and says so.
#[test]
fn several_numbers_at_their_ends_give_finite_ones_or_a_status() {
    let (bases, ends, mut all) = (bases(), ends(), Vec::new());
    for k in 0..600u64 {
        let d = Draw::new(7, k);
        let pick = |name: &str, n: usize| ((d.uniform(name) * n as f64) as usize).min(n - 1);
        let b = pick("base", bases.len());
        let settings: Vec<String> =
            ["a", "b", "c"].iter().flat_map(|name| ends[pick(name, ends.len())].1.clone()).collect();
        if let Ok((contact, plan)) = drawn(&bases[b], &settings) {
            all.push((format!("base {b}, {settings:?}"), contact, plan));
        }
    }
    assert!(all.len() > 50, "{} are accepted", all.len());
    let silent: Vec<_> = run(&all).into_iter().filter(|(_, what)| *what != "failed").collect();
    assert!(silent.is_empty(), "not finite without a status: {silent:#?}");
}

#[test]
fn inputs_of_a_batch_have_their_ranges() {
    let changed = |text: &str| drawn(text, &[]).unwrap().0;
    for engine in [Cpu::new(), Cpu::single()] {
        let mut batch: Batch =
            engine.batch(vec![changed(GRIPPER), changed(GIVEN), changed(POINT)], Stepping::default()).unwrap();
        for input in Input::ALL {
            let Range { least, most, .. } = input.range();
            for k in 0..batch.len() {
                batch.reset(&[k]).unwrap();
                if batch.set(k, input, if input == Input::MuS { 0.6 } else { 0.5 }).is_err() {
                    continue;
                }
                let before = format!("{:?}", batch.contacts()[k]);
                for value in [
                    f64::NAN,
                    f64::INFINITY,
                    1.7e308,
                    -1.7e308,
                    1.1 * most,
                    if least > 0.0 { 1e-300 } else { 1.1 * least },
                ] {
                    let error = batch.set(k, input, value).unwrap_err().to_string();
                    assert!(error.contains(input.field()), "{error}");
                    assert!(error.contains("expected a finite number from ") && error.len() < 200, "{error}");
                    batch.follow(k, input, Signal::constant(value)).unwrap_err();
                    batch.ramp(k, input, value, 0.1).unwrap_err();
                    assert_eq!(before, format!("{:?}", batch.contacts()[k]), "a call that is refused changes nothing");
                }
                let steep = Signal::segments(vec![bristle::schedule::Segment {
                    from: 0.0,
                    c: [0.5, 1e300, 0.0],
                    sines: vec![],
                }]);
                let error = batch.follow(k, input, steep.unwrap()).unwrap_err().to_string();
                assert!(error.contains("1e300 (slope)"), "{error}");
                for value in [least, most] {
                    batch.reset(&[k]).unwrap();
                    if batch.set(k, input, value).is_err() {
                        assert!(matches!(input, Input::MuC | Input::MuS), "{input:?} = {value}");
                        continue;
                    }
                    batch.advance_some(&[k], 2e-3).unwrap();
                    let failed = batch.statuses().unwrap()[k].failure;
                    let s = batch.samples().unwrap()[k];
                    let numbers =
                        [s.pose.to_array(), s.twist.to_array(), s.wrench.to_array(), [s.normal_force, s.slip, 0.0]];
                    let finite = numbers.as_flattened().iter().all(|v| v.is_finite());
                    assert!(
                        finite && failed.is_none(),
                        "{:?}: {input:?} = {value:e}: {s:?}, {failed:?}",
                        batch.engine()
                    );
                }
            }
        }
        assert!(batch.respond(0, bristle::Twist::new(1e300, 0.0, 0.0), 1e-3).is_err());
    }
}

#[test]
fn what_is_beyond_a_range_is_refused_with_the_range() {
    for (base, setting, part) in [
        (GRIPPER, "friction.mu_c=1e-300", "friction.mu_c = 1e-300: expected a finite number from 1e-9 to 1e6"),
        (GRIPPER, "friction.mu_c={ uniform = [1e-300, 1] }", "friction.mu_c = 1e-300: expected a finite number from"),
        (GRIPPER, "friction.sigma0=1e24", "friction.sigma0 = 1e24: expected a finite number from 1e-6 to 1e15 [1/m]"),
        (GRIPPER, "friction.sigma1=1.7e308", "friction.sigma1 = 1.7e308"),
        (GRIPPER, "friction.s_ba=0.99999999999999", "from 0 to 0.999999"),
        (GRIPPER, "friction.gamma=1e-300", "friction.gamma = 1e-300"),
        (GRIPPER, "friction.v_s=1e-300", "friction.v_s = 1e-300"),
        (GRIPPER, "friction.map=[[1, 1e4]]", "friction.map = 10000: expected a finite number from 0.001 to 1000"),
        (GRIPPER, "friction.map=[[1, 1], [1]]", "friction.map.1: a row of 1 values: expected 2"),
        (GRIPPER, "friction.map=[]", "friction.map: is empty"),
        (
            GRIPPER,
            "friction.mu={ ratio = 1e4 }",
            "friction.mu.ratio = 10000: expected a finite number from 0.001 to 1000",
        ),
        (GRIPPER, "friction.mu={ ratio = 2, angle = inf }", "friction.mu.angle = inf: expected a finite angle [rad]"),
        (
            GRIPPER,
            "friction={ mu = { along = 1, across = 0 } }",
            "friction.mu.across = 0: expected 0.001 to 1000 times",
        ),
        (GRIPPER, "friction={ mu = { along = -1, across = 1 } }", "friction.mu.along = -1"),
        (GRIPPER, "friction={ mu = { along = 1 } }", "friction.mu = given: expected { along, across } or { ratio }"),
        (
            GRIPPER,
            "friction.mu={ along = 1, across = 1 }",
            "friction.mu_c = given: expected only one of `mu_c`, `mu.along`",
        ),
        (
            GRIPPER,
            "friction.mu={ ratio = 1, across = 1 }",
            "friction.mu = given: expected { along, across } or { ratio }",
        ),
        (GRIPPER, "friction.map=3", "expected rows of factors such as `[[1, 0.5]]`, or an `.npy` of one map"),
        (GRIPPER, "friction.mu_s_over_mu_c=1e300", "friction.mu_s_over_mu_c = 1e300"),
        (GRIPPER, "body.mass=1.7e308", "body.mass = 1.7e308: expected a finite number from 1e-12 to 1e12 [kg]"),
        (GRIPPER, "body.inertia=1e-300", "body.inertia = 1e-300"),
        (GRIPPER, "body.inertia={ disc = 1e-300 }", "body.inertia.disc = 1e-300"),
        (GRIPPER, "patch.size=1e-300", "patch.size = 1e-300: expected a finite number from 1e-9 to 1e6 [m]"),
        (GRIPPER, "initial.pose.2=1.7e308", "initial.pose.theta = 1.7e308"),
        (GRIPPER, "initial.twist.0=1e300", "initial.twist.vx = 1e300"),
        (GRIPPER, "inputs.normal_force=1.7e308", "inputs.normal_force = 1.7e308"),
        (GRIPPER, "inputs.gravity.1={ points = [[0, 0], [1, 1e300]] }", "inputs.gravity.1 = 1e300"),
        (GRIPPER, "inputs.wrench.fx={ mean = 0, sines = [{ amplitude = 1, frequency = 1e300 }] }", "(frequency)"),
        (GRIPPER, "inputs.wrench.fx={ segments = [{ from = 0, curvature = 1e300 }] }", "1e300 (curvature)"),
        (GRIPPER, "inputs.hold=1e300", "inputs.hold = 1e300: expected a finite number from 1e-6 to 1e9 [s]"),
        (GRIPPER, "duration=1e300", "duration = 1e300: expected a finite number from 1e-9 to 1e9 [s]"),
        (GRIPPER, "record_every=1e300", "record_every = 1e300"),
        (
            GRIPPER,
            "stop_when.rotation=1e300",
            "stop_when.rotation = 1e300: expected a finite number from 1e-12 to 1e12 [rad]",
        ),
        (TABLE, "body.offset.0=1e300", "body.offset[0] = 1e300"),
        (TABLE, "inputs.tilt.gravity=1.7e308", "inputs.tilt.gravity = 1.7e308"),
        (TABLE, "inputs.tilt.direction=1.7e308", "inputs.tilt.direction = 1.7e308"),
        (GIVEN, "inputs.twist.w=1e300", "inputs.twist.w = 1e300"),
        (POINT, "body.spring=1e300", "body.spring = 1e300"),
        (POINT, "inputs.anchor.0=1e300", "inputs.anchor.0 = 1e300"),
        (POINT, "contact.point={ law = 'karnopp', band = 1e-300 }", "contact.point.band = 1e-300"),
        (POINT, "contact.point={ law = 'gms', attraction = 1e300 }", "contact.point.attraction = 1e300"),
        (POINT, "contact.point={ law = 'gms', elements = [[5, 1]] }", "contact.point.elements.0.share = 5"),
        (
            POINT,
            "contact.point={ law = 'gms', elements = [[0.5, 0.5], [0.5, 0.6]] }",
            "contact.point.elements = shares of the stiffness that sum to 1.1: expected shares of the friction",
        ),
    ] {
        let error = drawn(base, &[setting.to_owned()]).map(drop).unwrap_err();
        assert!(error.contains(part), "{setting}: {error}");
    }
}

const WORLD: &str = "duration = 0.02\nstep = 1e-3\nrecord_every = 0.01\ngravity = [0, 0, -9.81]\n\
    [[bodies]]\nname = 'table'\nkind = 'prescribed'\nshape = 'plane'\n\
    [[bodies]]\nname = 'box'\nshape = { box = [0.1, 0.06, 0.04] }\nmass = 0.5\nposition = [0, 0, 0.02]\n\
    rotation = [0, 0, 0.1]\nvelocity = [0.1, 0, 0]\nangular_velocity = [0, 0, 0.1]\nforce = [0.1, 0, 0]\n\
    torque = [0, 0, 0.01]\n[[contacts]]\nbodies = ['table', 'box']\nmu = 0.4\n";

#[test]
fn worlds_at_the_ends_of_their_ranges_give_finite_numbers_or_a_status() {
    let mut settings = Vec::new();
    for (key, range) in [
        ("gravity=[0, 0, {}]", range::GRAVITY),
        ("bodies.1.shape={ box = [{}, 0.06, 0.04] }", range::SIZE),
        ("bodies.1.shape={ sphere = {} }", range::SIZE),
        ("bodies.1.shape={ points = [[0, 0, {}]] }", range::OFFSET),
        ("bodies.1.mass={}", range::MASS),
        ("bodies.1.inertia=[{}, {}, {}]", range::INERTIA),
        ("bodies.1.position=[{}, 0, 0.02]", range::POSITION),
        ("bodies.1.rotation=[{}, 0, 0]", range::ANGLE),
        ("bodies.1.velocity=[{}, 0, 0]", range::SPEED),
        ("bodies.1.angular_velocity=[{}, 1, 0]", range::TURN),
        ("bodies.1.force=[{}, 0, 0]", range::FORCE),
        ("bodies.1.torque=[{}, 0, 0]", range::TORQUE),
        ("contacts.0.mu={}", range::RIGID_MU),
    ] {
        for value in [range.least, range.most] {
            settings.push(key.replace("{}", &format!("{value:e}")));
        }
        let error = |value: &str| {
            let text = change(WORLD, &key.replace("{}", value)).unwrap();
            WorldScenario::parse(&text, "world.toml").map(drop).unwrap_err().to_string()
        };
        let message = error("1.7e308");
        assert!(message.contains("expected a finite number from") || message.contains("expected 0, or"), "{message}");
    }
    let world = |set: &String| {
        let text = change(WORLD, set).unwrap();
        WorldScenario::parse(&text, "world.toml").and_then(|scenario| scenario.world(0))
    };
    let (mut names, mut worlds) = (Vec::new(), Vec::new());
    // What would begin deep in the table begins on it, or above it.
    let above = |set: &String| {
        let text = change(&change(WORLD, set).unwrap(), "bodies.1.position=[0, 0, 1e6]").unwrap();
        WorldScenario::parse(&text, "world.toml").and_then(|scenario| scenario.world(0))
    };
    for set in &settings {
        // A box of a nanometre has an inertia out of range.
        let drawn = world(set).or_else(|e| if e.to_string().contains("overlap by") { above(set) } else { Err(e) });
        match drawn {
            Ok(world) => (names.push(set), worlds.push(world)).1,
            Err(e) => assert!(e.to_string().contains(".inertia.0 = "), "{set}: {e}"),
        }
    }
    assert!(worlds.len() > settings.len() - 4);
    for method in [Method::Lemke, Method::Double, Method::Single] {
        let mut all = Worlds::new(worlds.clone(), 1e-3, method).unwrap();
        all.advance(0.02).unwrap();
        for (k, name) in names.iter().enumerate() {
            let world = all.world(k);
            let numbers = world.states().iter().flat_map(|s| {
                s.pose
                    .translation
                    .vector
                    .iter()
                    .chain(s.pose.rotation.coords.iter())
                    .chain(s.velocity.iter())
                    .chain(s.angular.iter())
                    .copied()
                    .collect::<Vec<_>>()
            });
            let finite = numbers
                .chain(world.contacts().iter().flat_map(|c| c.force.iter().copied().collect::<Vec<_>>()))
                .all(f64::is_finite);
            assert!(finite || world.failure().is_some(), "{method:?}: {name}: {world:?}");
        }
    }
    let mut all = Worlds::new(vec![world(&"contacts.0.mu=0.4".to_owned()).unwrap()], 1e-3, Method::Double).unwrap();
    all.set_load(0, 1, [1e300, 0.0, 0.0], [0.0; 3]).unwrap_err();
    all.set_mu(0, 0, 1e300).unwrap_err();
}

#[test]
fn stability_at_the_ends_of_its_ranges_gives_finite_numbers_or_an_error() {
    const HAND: &str = r#"
        mu = 0.5
        fixed = { force = [0, 0, -1] }
        load = { force = [0.1, 0, 0], at = [0, 0, 0.1], moment = [0, 0, 0.01] }
        contacts = [
            { position = [0.1, 0, 0], normal = [0, 0, 1], most = 10 },
            { position = [-0.1, 0.1, 0], normal = [0, 0, 1], torsion = 0.01 },
            { position = [-0.1, -0.1, 0], normal = [0, 0, 1] },
        ]
    "#;
    for (key, range) in [
        ("mu={}", range::RIGID_MU),
        ("fixed.force=[0, 0, {}]", range::FORCE),
        ("load.force=[{}, 0, 0]", range::FORCE),
        ("load.at=[{}, 0, 0]", range::POSITION),
        ("load.moment=[0, 0, {}]", range::TORQUE),
        ("contacts.0.position=[{}, 0, 0]", range::POSITION),
        ("contacts.0.most={}", range::LIMIT_FORCE),
        ("contacts.1.torsion={}", range::TORSION),
        ("contacts.1.normal=[0, 1e-300, {}]", range::POSITION),
    ] {
        for value in [range.least, range.most] {
            let text = change(HAND, &key.replace("{}", &format!("{value:e}"))).unwrap();
            let file = StabilityFile::parse(&text, "hand.toml").unwrap_or_else(|e| panic!("{e}"));
            let Ok(answer) = file.assembly.stability() else { continue };
            assert!(answer.residual.is_finite(), "{text}");
            let forces = answer.forces.iter().flatten().flat_map(|f| [f.force[0], f.force[1], f.force[2], f.torsion]);
            assert!(forces.into_iter().all(f64::is_finite), "{text}\n{answer:?}");
            assert!(
                answer.factors.is_none_or(|[least, most]| least.is_finite() && !most.is_nan()),
                "{text}\n{answer:?}"
            );
        }
        if !key.contains("normal") {
            let text = change(HAND, &key.replace("{}", "1.7e308")).unwrap();
            let error = StabilityFile::parse(&text, "hand.toml").map(drop).unwrap_err().to_string();
            assert!(error.contains("1.7e308: expected a finite number from"), "{error}");
        }
    }
}

/// A list that is longer than it may be is refused as one that is shorter: the first of its numbers are not
/// taken for all.
#[test]
fn lists_of_another_length_are_refused_wherever_they_stand() {
    let scenario = |text: &str| Scenario::parse(text, ".".as_ref(), "long.toml").map(drop);
    let worlds = |text: &str| WorldScenario::parse(text, "long.toml").map(drop);
    let stability = |text: &str| StabilityFile::parse(text, "long.toml").map(drop);
    type Reader<'a> = &'a dyn Fn(&str) -> Result<(), ScenarioError>;
    const HOLD: &str =
        "mu = 0.5\nload = { force = [1, 0, 0] }\ncontacts = [{ position = [0, 0, 0], normal = [0, 0, 1] }]\n";
    let gms = change(&change(POINT, "contact.point.law=gms").unwrap(), "contact.point.elements=[[1, 1]]").unwrap();
    type Case<'a> = (Reader<'a>, &'a str, &'a [(&'a str, usize)]);
    let cases: [Case<'_>; 5] = [
        (
            &scenario,
            GRIPPER,
            &[
                ("inputs.gravity=[", 2),
                ("initial.pose=[", 3),
                ("initial.twist=[", 3),
                ("friction.mu_c={ uniform = [", 2),
                ("friction.mu_c={ log_uniform = [", 2),
                ("friction.mu_c={ normal = [", 2),
                ("body.inertia={ rectangle = [", 2),
                ("body.inertia={ uniform = [", 2),
                ("inputs.wrench.fx={ points = [[0, 1], [", 2),
                ("inputs.wrench.fx={ uniform = [", 2),
                ("inputs.wrench.fx={ segments = [{ from = 0, value = { uniform = [", 2),
                ("patch.cells=[", 2),
                ("patch.size=[", 2),
            ],
        ),
        (&scenario, TABLE, &[("body.offset=[", 2)]),
        (&scenario, &gms, &[("inputs.anchor=[", 2), ("contact.point.elements=[[", 2)]),
        (
            &worlds,
            WORLD,
            &[
                ("gravity=[", 3),
                ("bodies.1.position=[", 3),
                ("bodies.1.rotation=[", 3),
                ("bodies.1.velocity=[", 3),
                ("bodies.1.angular_velocity=[", 3),
                ("bodies.1.inertia=[", 3),
                ("bodies.1.force=[", 3),
                ("bodies.1.torque=[", 3),
                ("bodies.1.shape={ box = [", 3),
                ("bodies.1.shape={ points = [[", 3),
            ],
        ),
        (
            &stability,
            HOLD,
            &[
                ("load.force=[", 3),
                ("load.at=[", 3),
                ("load.moment=[", 3),
                ("contacts.0.position=[", 3),
                ("contacts.0.normal=[", 3),
                ("contacts.0.tangent=[", 3),
            ],
        ),
    ];
    for (read, text, keys) in cases {
        read(text).unwrap_or_else(|e| panic!("{text}: {e}"));
        for (key, length) in keys {
            for n in [length - 1, length + 1, length + 3] {
                let mut open = Vec::new();
                for c in key.chars() {
                    match c {
                        '[' => open.push(']'),
                        '{' => open.push('}'),
                        ']' | '}' => _ = open.pop(),
                        _ => {}
                    }
                }
                let open: String = open.into_iter().rev().collect();
                // All values are accepted by themselves.
                let list: Vec<String> =
                    (1..=n).map(|i| format!("{}", if key.contains("cells") { 5.0 } else { 0.1 * i as f64 })).collect();
                let setting = format!("{key}{}{open}", list.join(", "));
                let text = change(text, &setting).unwrap();
                let error = read(&text).map(drop).expect_err(&setting).to_string();
                let field = key.split('=').next().unwrap();
                let is_length = error.contains(&format!("invalid length {n}, expected an array of length {length}"))
                    || error.contains("expected one number, or two as `[x, y]`");
                assert!(is_length && error.contains(field), "{setting}: {error}");
            }
        }
    }
    let pair = change(WORLD, "contacts.0.bodies=['table', 'box', 'box']").unwrap();
    assert!(worlds(&pair).unwrap_err().to_string().contains("invalid length 3, expected an array of length 2"));
}

/// Whatever a user writes, a message about it is short.
#[test]
fn messages_do_not_echo_what_is_long() {
    let long = "x".repeat(200_000);
    let short = |error: ScenarioError| {
        let message = error.to_string();
        let seen = message.matches("xxxxxxxxxx").count();
        assert!(message.len() < 3000 && seen < 100, "{} bytes: {}", message.len(), &message[..3000.min(message.len())]);
    };
    for line in [
        format!("friction.mu_c = '{long}'"),
        format!("friction.law = '{long}'"),
        format!("friction.{long} = 1"),
        format!("{long} = 1"),
        format!("friction.mu_c = {{ {long} = 1 }}"),
        format!("friction.mu_c = {{ column = '{long}' }}"),
        format!("patch.shape = '{long}'"),
        format!("patch.file = '{long}.npy'"),
        format!("table.file = '{long}.npz'"),
        long.clone(),
        format!("a = 2024-05-01 # {long}"),
        format!("body.mass = -1 # {long}"),
    ] {
        let (key, value) = line.split_once(" = ").unwrap_or((&line, ""));
        let text = format!(
            "{line}\n{}",
            GRIPPER
                .replace("[friction]\nmu_c = 0.5\n", "")
                .replace("mass = 0.2\n", if key == "body.mass" { "" } else { "mass = 0.2\n" })
        );
        short(Scenario::parse(&text, ".".as_ref(), "long.toml").map(drop).unwrap_err());
        match change(GRIPPER, &format!("{key}={value}")) {
            Ok(text) => short(Scenario::parse(&text, ".".as_ref(), "long.toml").map(drop).unwrap_err()),
            Err(error) => short(error),
        }
    }
    for setting in
        [format!("inputs.normal_force.{long}=1"), format!("~{long}"), format!("duration.x={long}"), long.clone()]
    {
        short(change(GRIPPER, &setting).map(drop).unwrap_err());
    }
    let named = WORLD
        .replace("'box'", &format!("'{long}'"))
        .replace(&format!("bodies = ['table', '{long}']"), "bodies = ['table', 'boxes']");
    short(WorldScenario::parse(&named, "long.toml").map(drop).unwrap_err());
    let hold = format!("bodies = [{{ name = '{long}' }}, {{ name = '{long}' }}]\nmu = 1\n");
    short(StabilityFile::parse(&hold, "long.toml").map(drop).unwrap_err());
    let hold = format!("mu = 1\ncone = '{long}'\n");
    short(StabilityFile::parse(&hold, "long.toml").map(drop).unwrap_err());
}

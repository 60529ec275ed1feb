//! Tests the promise of a tolerance on random contacts of every kind, model, form and law.

use super::context::{Context, Error, engines};
use super::item::Item;
use super::item::Wanted::{AtLeast, AtMost};
use crate::page::{Chart, Line, Picture, Scale, Table, palette, short};
use bristle::contact::Contact;
use bristle::cpu::Cpu;
use bristle::engine::{DEFAULT_TOLERANCE, Engine, LONGEST_STEP, Plan};
use bristle::planar::Pose;
use bristle_data::statistics::quantile;
use bristle_scenario::Scenario;

pub(super) const IDS: &[&str] = &["tolerance"];
pub(super) const FEATURES: &[&str] = &["tolerance_features"];

/// Length of a run [s].
const DURATION: f64 = 2.0;
/// Tolerances [m/s].
const TOLERANCES: [f64; 3] = [1e-5, DEFAULT_TOLERANCE, 1e-6];
/// Steps [s] of the two runs that stand for the truth, of which the second checks the first, and their
/// tolerance [m/s].
const STEPS: [f64; 2] = [2e-5, 4e-5];
const EXACT: f64 = 1e-7;
/// Relative changes of the mass, far smaller than the accuracy to which a mass is known.
const NUDGES: [f64; 2] = [-1e-6, 1e-6];
/// How far the second run that stands for the truth may be from the first, and one with such a change from
/// the second, over the default tolerance and the duration.
const DOUBT: [f64; 2] = [0.1, 1.0];
/// What the errors over tolerance and duration should not exceed: quantiles and limits.
const LIMITS: [(f64, f64); 3] = [(0.9, 1.0), (0.99, 3.0), (1.0, 10.0)];

/// Models and laws.
const MODELS: [(&str, &str, &str); 8] = [
    ("grid, Elasto-Plastic", "elasto-plastic", "model = \"distributed\""),
    ("grid, LuGre", "lugre", "model = \"distributed\""),
    ("ellipsoid, consistent", "elasto-plastic", "model = \"reduced\"\nsurface = \"ellipsoid\""),
    ("ellipsoid, published", "elasto-plastic", "model = \"reduced\"\nsurface = \"ellipsoid\"\nform = \"published\""),
    ("ellipsoid, LuGre", "lugre", "model = \"reduced\"\nsurface = \"ellipsoid\""),
    ("limit surface, consistent", "elasto-plastic", "model = \"reduced\""),
    ("limit surface, published", "elasto-plastic", "model = \"reduced\"\nform = \"published\""),
    ("limit surface, LuGre", "lugre", "model = \"reduced\""),
];

const SHAPES: &str = r#"shape = { choice = ["circle", "square", "line-gradient-x", "non-convex-2", "disc"] }
cells = 9"#;
const FRICTION: &str = r#"mu_c = { uniform = [0.3, 1.2] }
mu_s_over_mu_c = { uniform = [1.0, 1.4] }
sigma0 = { log_uniform = [1e5, 1e6] }
sigma1 = { uniform = [100, 800] }
sigma2 = { uniform = [0.0, 0.3] }
v_s = { log_uniform = [5e-4, 1e-2] }"#;
/// Shape and friction of a grip at its limit.
const GRADIENT: &str = "shape = \"line-gradient-x\"\ncells = 21";
const TABLE_1: &str = "mu_c = 1.0\nmu_s = 1.2";

/// What a contact is and what is done to it: name, size, and the rest of the scenario.
const KINDS: [(&str, &str, &str); 9] = [
    ("grip", "0.02", GRIP),
    ("grip, held inputs", "0.02", GRIP),
    (
        "grip at its limit",
        "0.02",
        r#"[body]
kind = "gripper"
mass = 0.2
inertia = { rectangle = [0.15, 0.08] }
[initial]
pose = [0.002, 0, 0]
[inputs]
hold = 0.01
gravity = [0, -9.81]
[inputs.normal_force]
mean = { uniform = [1.73, 1.82] }
sines = [{ amplitude = 0.91, frequency = 2.0 }]
"#,
    ),
    ("push", "[0.1, 0.05]", PUSH),
    (
        "tilted table",
        "[0.06, 0.04]",
        r#"[body]
kind = "body"
mass = { uniform = [0.3, 0.8] }
inertia = { rectangle = [0.12, 0.06] }
offset = [{ normal = [0, 0.005] }, { normal = [0, 0.005] }]
[inputs]
tilt = { angle = { uniform = [0.2, 0.8] }, direction = { uniform = [0, 6.28] } }
[inputs.wrench]
fx = { mean = 0.0, sines = [{ amplitude = { uniform = [0, 2] }, frequency = { uniform = [1, 8] } }] }
tau = { mean = 0.0, sines = [{ amplitude = { uniform = [0, 0.04] }, frequency = { uniform = [1, 8] }, phase = 1.0 }] }
"#,
    ),
    (
        "spinning body that stops and is pushed",
        "[0.06, 0.04]",
        r#"[body]
kind = "body"
mass = { uniform = [0.3, 0.8] }
inertia = { rectangle = [0.12, 0.06] }
offset = [{ normal = [0, 0.003] }, { normal = [0, 0.003] }]
[initial]
twist = [{ uniform = [-0.6, 0.6] }, { uniform = [-0.6, 0.6] }, { uniform = [-25, 25] }]
[inputs]
tilt = { angle = 0.0 }
[inputs.wrench]
fx = { points = [[0.4, 0], [0.5, { uniform = [-7.5, 7.5] }], [0.6, 0]] }
"#,
    ),
    (
        "body turned by radians",
        "[0.06, 0.04]",
        r#"[body]
kind = "body"
mass = { uniform = [0.1, 0.5] }
inertia = { rectangle = [0.1, 0.06] }
offset = [{ normal = [0, 0.004] }, { normal = [0, 0.004] }]
[inputs]
tilt = { angle = 0.0 }
[inputs.wrench]
fx = { points = [[0, 0], [0.3, { uniform = [0, 6] }], [0.5, 0]] }
fy = { points = [[0.2, 0], [0.5, { uniform = [-3, 3] }], [0.8, 0]] }
tau = { points = [[0.1, 0], [0.3, { uniform = [0, 0.12] }], [0.7, { uniform = [-0.05, 0.05] }], [0.9, 0]] }
"#,
    ),
    ("load that swings", "0.05", SWING),
    ("load that swings, held inputs", "0.05", SWING),
];

const GRIP: &str = r#"[body]
kind = "gripper"
mass = { uniform = [0.1, 0.3] }
inertia = { rectangle = [0.15, 0.08] }
[initial]
pose = [{ normal = [0, 0.006] }, { normal = [0, 0.004] }, 0]
[inputs]
HOLD
gravity = [0, -9.81]
[inputs.normal_force]
mean = { uniform = [2, 4.5] }
sines = [{ amplitude = { uniform = [0.3, 1.6] }, frequency = { uniform = [1, 3] } }]
"#;
/// `AHEAD` is how far the centre of pressure may be from the centre of mass along x [m].
const PUSH: &str = r#"[body]
kind = "body"
mass = { uniform = [0.3, 0.8] }
inertia = { rectangle = [0.12, 0.06] }
offset = [{ normal = [0, AHEAD] }, { normal = [0, 0.005] }]
[inputs]
tilt = { angle = 0.0 }
[inputs.wrench]
fx = { points = [[0, 0], [0.2, { uniform = [1.5, 7.5] }], [0.8, 1.5], [1, 0]] }
fy = { points = [[0.4, 0], [0.8, { uniform = [-3.5, 3.5] }], [1, 0]] }
tau = { points = [[0, 0], [0.5, { normal = [0, 0.05] }], [1, 0]] }
"#;
const SWING: &str = r#"[body]
kind = "world"
mass = { uniform = [0.5, 1.5] }
inertia = { disc = 0.05 }
[inputs]
HOLD
normal_force = { uniform = [5, 10] }
[inputs.wrench]
fx = { mean = { uniform = [0.2, 1.0] }, sines = [{ amplitude = 0.4, frequency = { uniform = [1, 5] } }] }
tau = { mean = 0.01, sines = [{ amplitude = 0.01, frequency = { uniform = [1, 5] } }] }
"#;

/// Kinds of contacts with what patches have in hands and on tables; the rest of the scenario begins among the
/// keys of friction.
const OF_FEATURES: [(&str, &str, &str); 8] = [
    (
        "box on a belt that swings",
        "0.04",
        r#"[body]
kind = "body"
mass = { uniform = [0.3, 0.8] }
inertia = { rectangle = [0.12, 0.06] }
[inputs]
tilt = { angle = 0.0 }
[inputs.surface]
vx = { mean = 0.0, sines = [{ amplitude = { uniform = [0.05, 0.3] }, frequency = { uniform = [1, 6] } }] }
w = { mean = 0.0, sines = [{ amplitude = { uniform = [0.2, 3] }, frequency = { uniform = [1, 6] } }] }
at = [{ uniform = [-0.2, 0.2] }, 0.1]
"#,
    ),
    (
        "grip of a hand that swings",
        "0.02",
        r#"[body]
kind = "gripper"
mass = { uniform = [0.1, 0.3] }
inertia = { rectangle = [0.15, 0.08] }
[initial]
pose = [{ normal = [0, 0.006] }, { normal = [0, 0.004] }, 0]
[inputs]
gravity = [0, -9.81]
normal_force = { uniform = [2, 4.5] }
[inputs.surface]
vx = { mean = 0.0, sines = [{ amplitude = { uniform = [0.05, 0.2] }, frequency = { uniform = [1, 4] } }] }
w = { mean = 0.0, sines = [{ amplitude = { uniform = [0.2, 2] }, frequency = { uniform = [1, 4] } }] }
at = [-0.2, 0.0]
"#,
    ),
    ("friction by region", "[0.06, 0.04]", "map = [[1.0, 0.4, 0.7], [0.3, 1.2, 0.8]]\nPUSH"),
    ("friction by direction", "[0.06, 0.04]", "mu = { ratio = 0.4, angle = 0.7 }\nPUSH"),
    ("several patches", "0.02", "PUSHTHREE"),
    (
        "fingers with belts",
        "0.015",
        r#"[body]
kind = "gripper"
pads = 1
mass = { uniform = [0.05, 0.2] }
inertia = { rectangle = [0.15, 0.08] }
[[patches]]
at = [-0.02, 0]
normal_force = { mean = { uniform = [2, 4] }, sines = [{ amplitude = 1.5, frequency = { uniform = [1, 4] } }] }
surface = { vy = { mean = 0.0, sines = [{ amplitude = { uniform = [0.01, 0.1] }, frequency = { uniform = [1, 4] } }] } }
[[patches]]
at = [0.02, 0.005]
normal_force = { uniform = [2, 4] }
surface = { w = { points = [[0.2, 0], [0.6, { uniform = [-5, 5] }], [1, 0]] }, at = [0.02, 0.005] }
"#,
    ),
    (
        "plank on two belts",
        "0.03",
        r#"[body]
kind = "world"
mass = { uniform = [0.3, 0.8] }
inertia = { rectangle = [0.3, 0.06] }
[[patches]]
at = [-0.1, 0]
normal_force = { mean = 3.0, sines = [{ amplitude = { uniform = [0, 2] }, frequency = { uniform = [1, 4] } }] }
surface = { vx = 0.2 }
[[patches]]
at = [0.1, { uniform = [-0.01, 0.01] }]
normal_force = 3.0
surface = { vx = { points = [[0.5, -0.2], [1, { uniform = [-0.2, 0.2] }]] } }
"#,
    ),
    (
        "three patches with regions and directions on a belt",
        "0.02",
        r#"map = [[1.0, 0.4, 0.7], [0.3, 1.2, 0.8]]
mu = { ratio = 0.4, angle = 0.7 }
[body]
kind = "body"
mass = { uniform = [0.3, 0.8] }
inertia = { rectangle = [0.12, 0.06] }
[inputs]
tilt = { angle = 0.0 }
[inputs.surface]
vx = { mean = 0.0, sines = [{ amplitude = { uniform = [0.05, 0.3] }, frequency = { uniform = [1, 6] } }] }
THREE"#,
    ),
];

const THREE: &str = r#"[[patches]]
at = [0.05, { uniform = [-0.01, 0.01] }]
[[patches]]
at = [-0.03, 0.04]
turn = { uniform = [0, 3] }
share = { uniform = [0.5, 2] }
[[patches]]
at = [-0.03, -0.04]
friction = { uniform = [0.4, 1.2] }
"#;
/// The models, by their numbers, under which these are simulated: two grids, and a limit surface.
const MODELS_OF_FEATURES: [usize; 3] = [0, 1, 5];

/// Kinds of contacts whose bristles are those of an elastic layer: patch, and the rest of the scenario.
const OF_LAYERS: [(&str, &str, &str); 2] = [
    (
        "ball that rocks on a skin",
        r#"size = 0.02
cells = 9
layer = { stiffness = 5e7, shear_stiffness = { log_uniform = [1e7, 1e8] } }
[patch.indenter]
shape = "sphere"
radius = { uniform = [0.01, 0.03] }
depth = { mean = 6e-4, sines = [{ amplitude = { uniform = [1e-4, 4e-4] }, frequency = { uniform = [0.5, 2] } }] }
at = [{ mean = 0.0, sines = [{ amplitude = { uniform = [0, 2e-3] }, frequency = 1.0 }] }, 0]"#,
        r#"[body]
kind = "world"
mass = { uniform = [0.05, 0.2] }
inertia = { disc = 0.02 }
[inputs.wrench.fx]
mean = { uniform = [0.0, 0.2] }
sines = [{ amplitude = { uniform = [0.1, 0.8] }, frequency = { uniform = [1, 5] } }]
[inputs.wrench.tau]
mean = 0.0
sines = [{ amplitude = { uniform = [0, 1e-3] }, frequency = { uniform = [1, 5] } }]
"#,
    ),
    (
        "box pressed on a skin",
        r#"size = 0.03
cells = 9
layer = { stiffness = 5e7, shear_stiffness = { log_uniform = [1e7, 1e8] } }
[patch.indenter]
shape = "box"
size = [0.02, 0.012]
turn = { uniform = [0, 1.5] }"#,
        GRIP,
    ),
];
/// Of these; their stiffness is that of the layer.
const LAYER_FRICTION: &str = r#"mu_c = { uniform = [0.3, 1.2] }
mu_s_over_mu_c = { uniform = [1.0, 1.4] }
v_s = { log_uniform = [5e-4, 1e-2] }"#;

/// What the contacts of a kind have: the tables `patch` and `friction` of their scenarios, the rest of these,
/// and their models by number.
struct Kind {
    name: &'static str,
    patch: String,
    friction: &'static str,
    rest: String,
    models: Vec<usize>,
}

/// The kinds of every model.
fn kinds() -> Vec<Kind> {
    let kind = |(name, size, rest): &(&'static str, &'static str, &str)| {
        let hold = if name.ends_with("held inputs") { "hold = 0.01" } else { "" };
        let (shapes, friction) = if name.ends_with("limit") { (GRADIENT, TABLE_1) } else { (SHAPES, FRICTION) };
        Kind {
            name,
            patch: format!("{shapes}\nsize = {size}"),
            friction,
            rest: rest.replace("HOLD", hold).replace("AHEAD", "0.01"),
            models: (0..MODELS.len()).collect(),
        }
    };
    KINDS.iter().map(kind).collect()
}

/// The kinds of [`OF_FEATURES`] and of [`OF_LAYERS`].
fn kinds_of_features() -> Vec<Kind> {
    let kind = |(name, size, rest): &(&'static str, &'static str, &str)| {
        let rest = rest.replace("PUSH", PUSH).replace("AHEAD", "0.005").replace("THREE", THREE);
        // A reduced bristle has no patches with inputs of their own.
        let is_of_grids = rest.contains("surface = {");
        let models = MODELS_OF_FEATURES.into_iter().filter(|model| !is_of_grids || *model < 2).collect();
        Kind { name, patch: format!("{SHAPES}\nsize = {size}"), friction: FRICTION, rest, models }
    };
    let on_layer = |(name, patch, rest): &(&'static str, &str, &str)| Kind {
        name,
        patch: (*patch).to_owned(),
        friction: LAYER_FRICTION,
        rest: rest.replace("HOLD", ""),
        models: vec![0, 1],
    };
    OF_FEATURES.iter().map(kind).chain(OF_LAYERS.iter().map(on_layer)).collect()
}

/// A contact with the numbers of its kind and its model.
struct Drawn {
    kind: usize,
    model: usize,
    contact: Contact,
}

fn draw(kinds: &[Kind], each: u64) -> Result<Vec<Drawn>, Error> {
    let mut all = Vec::new();
    for (kind, Kind { name, patch, friction, rest, models }) in kinds.iter().enumerate() {
        for &model in models {
            let (_, law, contact) = MODELS[model];
            let text = format!(
                "duration = {DURATION}\ncontacts = {each}\nseed = 5\n[contact]\n{contact}\n[patch]\n{patch}\n\
                 [friction]\nlaw = \"{law}\"\n{friction}\n{rest}"
            );
            let scenario = Scenario::parse(&text, ".".as_ref(), name)?;
            for k in 0..each {
                all.push(Drawn { kind, model, contact: scenario.contact(k)? });
            }
        }
    }
    Ok(all)
}

/// The poses at the end [m, m, rad], and all passes.
fn ends(engine: &dyn Engine, contacts: &[Contact], plan: &Plan) -> Result<(Vec<Pose>, u64), Error> {
    let out = engine.run(contacts, plan)?;
    let last = |k: usize| out.pose[out.of(k).end - 1];
    Ok(((0..contacts.len()).map(last).collect(), out.status.iter().map(|s| s.passes).sum()))
}

/// Distance of two poses [m], angles times `arm`.
fn distance(a: Pose, b: Pose, arm: f64) -> f64 {
    (a.x - b.x).hypot(a.y - b.y).max(arm * (a.theta - b.theta).abs())
}

/// The poses that stand for the truth, and the contacts whose end they decide.
struct Truth {
    /// Poses at the end [m, m, rad].
    poses: Vec<Pose>,
    /// Levers by which angles count as distances [m].
    arms: Vec<f64>,
    /// Indices of the contacts that no instability decides. What follows an instability is decided by the
    /// last bits of anything, and has no truth.
    sound: Vec<usize>,
}

impl Truth {
    fn new(contacts: &[Contact]) -> Result<Self, Error> {
        let exact = |h: f64| Plan::new(DURATION, h, DURATION)?.with_tolerance(EXACT);
        let (poses, _) = ends(&Cpu::new(), contacts, &exact(STEPS[0])?)?;
        let (again, _) = ends(&Cpu::new(), contacts, &exact(STEPS[1])?)?;
        let mut nudged = Vec::new();
        for nudge in NUDGES {
            let mut others = contacts.to_vec();
            others.iter_mut().filter_map(|c| c.body.free_mut()).for_each(|body| body.mass *= 1.0 + nudge);
            nudged.push(ends(&Cpu::new(), &others, &exact(STEPS[1])?)?.0);
        }
        let arms: Vec<f64> = contacts.iter().map(|c| c.patch.arm2().sqrt()).collect();
        let [doubled, changed] = DOUBT.map(|doubt| doubt * DEFAULT_TOLERANCE * DURATION);
        let is_sound = |k: &usize| {
            let off = |a: Pose, b: Pose| distance(a, b, arms[*k]);
            off(poses[*k], again[*k]) <= doubled && nudged.iter().all(|poses| off(again[*k], poses[*k]) <= changed)
        };
        let sound = (0..contacts.len()).filter(is_sound).collect();
        Ok(Self { poses, arms, sound })
    }

    /// The error of every contact that ends at `found`, over tolerance and duration.
    fn errors(&self, found: &[Pose], tolerance: f64) -> Vec<f64> {
        let error = |k: usize| distance(self.poses[k], found[k], self.arms[k]) / (tolerance * DURATION);
        (0..found.len()).map(error).collect()
    }

    /// The errors of the sound contacts that `wanted` chooses, in ascending order.
    fn sorted(&self, errors: &[f64], wanted: impl Fn(usize) -> bool) -> Vec<f64> {
        let mut chosen: Vec<f64> = self.sound.iter().filter(|&&k| wanted(k)).map(|&k| errors[k]).collect();
        chosen.sort_by(f64::total_cmp);
        chosen
    }
}

/// The table of the errors of every kind of contact and of every model.
fn by_kind(kinds: &[Kind], drawn: &[Drawn], truth: &Truth, errors: &[f64]) -> Table {
    let mut table = Table::new(
        format!("The same at a tolerance of {DEFAULT_TOLERANCE:e} m/s, cpu f64"),
        &["contacts", "median", "90 %", "largest"],
    );
    let mut row = |name: &str, of: &dyn Fn(&Drawn) -> bool| {
        let errors = truth.sorted(errors, |k| of(&drawn[k]));
        table.row([name.to_owned()].into_iter().chain([0.5, 0.9, 1.0].map(|q| short(quantile(&errors, q), 2))));
    };
    for (i, Kind { name, .. }) in kinds.iter().enumerate() {
        row(name, &|d| d.kind == i);
    }
    for (i, (name, ..)) in MODELS.iter().enumerate().filter(|(i, _)| drawn.iter().any(|d| d.model == *i)) {
        row(name, &|d| d.model == i);
    }
    table
}

pub(super) fn run(context: &Context<'_>) -> Result<Vec<Item>, Error> {
    let item = Item::new(
        "tolerance",
        "What a tolerance promises",
        "Ours: at the end of a run in steps that a tolerance chooses, the error is at most tolerance times \
         duration for 90 % of all contacts, 3 times as much for 99 % and 10 times for all.",
    );
    promise(context, item, &kinds())
}

pub(super) fn run_features(context: &Context<'_>) -> Result<Vec<Item>, Error> {
    let item = Item::new(
        "tolerance_features",
        "What a tolerance promises in hands and on tables",
        "Ours: so it is on surfaces that move, under friction by region and by direction, with several patches, \
         also where these have normal forces and surfaces of their own, and on elastic layers.",
    );
    promise(context, item, &kinds_of_features())
}

fn promise(context: &Context<'_>, mut item: Item, of_kinds: &[Kind]) -> Result<Vec<Item>, Error> {
    let drawn = draw(of_kinds, context.full_or(8, 2))?;
    let contacts: Vec<Contact> = drawn.iter().map(|d| d.contact.clone()).collect();
    let truth = Truth::new(&contacts)?;
    item.compare(
        "contacts that an instability decides [%]",
        100.0 * (1.0 - truth.sound.len() as f64 / drawn.len() as f64),
        AtMost(3.0),
    );
    let mut table = Table::new(
        "Errors at the end over tolerance times duration, and passes a simulated second of a contact",
        &["engine", "tolerance [m/s]", "median", "90 %", "99 %", "largest", "passes / s"],
    );
    let mut kinds = None;
    let mut chart = Chart::new("cpu f64", "error / (tolerance \u{d7} duration)", "share of the contacts")
        .scales(Scale::Log, Scale::Linear);
    for (name, engine) in &engines(!context.quick) {
        let mut medians = Vec::new();
        for (tolerance, colour) in TOLERANCES.into_iter().zip([palette::OTHER, palette::GRID, palette::PUBLISHED]) {
            let is_default = tolerance.to_bits() == DEFAULT_TOLERANCE.to_bits();
            let plan = Plan::new(DURATION, LONGEST_STEP, DURATION)?.with_tolerance(tolerance)?;
            let (found, passes) = ends(&**engine, &contacts, &plan)?;
            let errors = truth.errors(&found, tolerance);
            let sorted = truth.sorted(&errors, |_| true);
            medians.push(tolerance * quantile(&sorted, 0.5));
            let row = [0.5, 0.9, 0.99, 1.0].map(|q| short(quantile(&sorted, q), 2));
            let passes = format!("{:.0}", passes as f64 / contacts.len() as f64 / DURATION);
            table.row([name.clone(), format!("{tolerance:e}")].into_iter().chain(row).chain([passes]));
            if is_default {
                for (q, limit) in LIMITS {
                    let what = format!("{name}: error over tolerance times duration, {} %", 100.0 * q);
                    item.claims(what, quantile(&sorted, q), AtMost(limit));
                }
            }
            if name != "cpu f64" {
                continue;
            }
            if is_default {
                kinds = Some(by_kind(of_kinds, &drawn, &truth, &errors));
            }
            let share: Vec<f64> = (1..=sorted.len()).map(|i| i as f64 / sorted.len() as f64).collect();
            let shown: Vec<f64> = sorted.iter().map(|e| e.max(1e-6)).collect();
            chart = chart.line(Line::new(colour, &shown, &share).label(format!("{tolerance:e} m/s")));
            item.columns.push((format!("error_over_tolerance_times_duration_{tolerance:e}"), sorted));
        }
        let falls = medians.windows(2).all(|pair| pair[1] < pair[0]);
        item.claims(
            format!("{name}: the median error falls with the tolerance"),
            f64::from(u8::from(falls)),
            AtLeast(1.0),
        );
    }
    item.pictures.push(Picture::new(vec![chart.svg()], "How large the errors are."));
    describe(&mut item, &table.rows[1], of_kinds, drawn.len(), truth.sound.len());
    item.tables.push(table);
    item.tables.extend(kinds);
    Ok(vec![item])
}

/// The texts of the item, from the table's row of the default tolerance in double precision.
fn describe(item: &mut Item, row: &[String], kinds: &[Kind], drawn: usize, sound: usize) {
    item.measured = format!(
        "Of {drawn} contacts {sound} are not decided by an instability. At {DEFAULT_TOLERANCE:e} m/s half of \
         these end within {} of tolerance times duration, 90 % within {}, 99 % within {}, all within {}.",
        row[2], row[3], row[4], row[5],
    );
    item.note = "Angles are multiplied by the patch's arm. An instability decides a contact, such as a grip \
     that just holds or just does not, if its end moves by more than the default tolerance times the duration \
     when its mass is changed by a millionth, or by a tenth of that when the reference's step is doubled."
        .into();
    item.parameters = format!(
        "{drawn} contacts of {} kinds under up to {} models and laws, drawn at random, {DURATION} s; truth: this \
         program in double precision with steps of at most {:e} s and a tolerance of {EXACT:e} m/s",
        kinds.len(),
        kinds.iter().map(|kind| kind.models.len()).max().unwrap_or(0),
        STEPS[0]
    );
}

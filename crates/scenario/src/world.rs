//! Scenarios of rigid bodies with contacts: `[[bodies]]` and `[[contacts]]`, whose numbers may be
//! distributions.
#![allow(rustdoc::broken_intra_doc_links, reason = "units in brackets: the texts are those of the schema")]

use std::collections::{HashMap, HashSet};
use std::path::Path;

use nalgebra::{Isometry3, Translation3, UnitQuaternion, Vector3};
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::Deserialize;

use super::check::coefficients;
use super::contact;
use super::diagnostics::from_toml;
use super::friction_map::FrictionMapSpec;
use super::number::Number;
use super::patches::Patches;
use super::sampler::Sampler;
use super::signal::SignalSpec;
use super::spec::{EngineChoice, FrictionSpec, InputsSpec, PatchSpec, Precision};
use super::suggest::alike;
use super::{ScenarioError, read};
use bristle::contact::Inputs;
use bristle::engine::Plan;
use bristle::error::ParameterError;
use bristle::pool;
use bristle::random::Draw;
use bristle::range::{self, Range};
use bristle_rigid::world::{Axes, Kind, Method, Pair, State, World, WorldBody, WorldShape, least_mass};

/// Most bodies of a world.
const MOST_BODIES: usize = 512;
/// Most names of bodies that an error lists.
const MOST_LISTED: usize = 16;
/// Most worlds of a run.
const MOST_WORLDS: u64 = 1 << 32;

/// A world of rigid bodies, described by constants and distributions, and how many to draw and simulate. SI
/// units. A run writes a `status` for each world: 0 is well, 1 a pose or a twist was not finite, 4 no
/// solution of a contact problem was found; worlds with 1 or 4 were stopped at `failed_step`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorldSpec {
    /// How many worlds to draw, >= 1.
    #[serde(default = "one")]
    pub worlds: u64,
    /// Seed of all random numbers.
    #[serde(default)]
    pub seed: u64,
    /// Simulated time [s], > 0.
    pub duration: f64,
    /// Longest time step [s], 1e-7 to 0.1; 1e-3 if not given.
    #[serde(default = "step")]
    pub step: f64,
    /// Time between recorded samples [s], >= 1e-6; 0.01 if not given.
    #[serde(default = "record_every")]
    pub record_every: f64,
    /// The engine; `--engine` overrides it.
    #[serde(default)]
    pub engine: EngineChoice,
    /// Precision in which contacts are solved, to a residual of 1e-6 or 1e-8; if not given `f64` on the CPU,
    /// and `f32` on a GPU, which has no other.
    pub precision: Option<Precision>,
    /// How contacts are solved.
    #[serde(default)]
    pub solver: SolverName,
    /// Friction directions of a contact, 4 to 32; 8 if not given. With few, friction depends on the direction
    /// of motion.
    #[serde(default = "directions")]
    pub directions: usize,
    /// Where the friction directions begin: the x axis of the world, or of the first body of a pair.
    #[serde(default)]
    pub axes: AxesName,
    /// Acceleration of gravity [m/s^2]; `[0, 0, -9.81]` if not given.
    pub gravity: Option<[Number; 3]>,
    /// The bodies.
    pub bodies: Vec<WorldBodySpec>,
    /// The pairs of bodies that may touch.
    #[serde(default)]
    pub contacts: Vec<PairSpec>,
}

fn one() -> u64 {
    1
}

fn step() -> f64 {
    1e-3
}

fn record_every() -> f64 {
    0.01
}

fn directions() -> usize {
    8
}

/// How contacts are solved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SolverName {
    /// By Newton's method on what contacts do, bodies that touch by themselves. The default.
    #[default]
    #[serde(alias = "blocks")]
    Newton,
    /// By Lemke's method alone, on the CPU in double precision.
    Lemke,
}

/// Whose x axis, projected on the tangent plane, is the first friction direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AxesName {
    /// The world's. The default.
    #[default]
    World,
    /// That of the first body of the pair: the directions turn with it.
    Body,
}

/// A body.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorldBodySpec {
    /// Its name, by which contacts speak of it.
    pub name: String,
    /// What moves it.
    #[serde(default)]
    pub kind: WorldKind,
    /// Its geometry.
    pub shape: WorldShapeSpec,
    /// Mass [kg], 1e-12 to 1e12; not for a prescribed body.
    pub mass: Option<Number>,
    /// Principal moments of inertia along its axes [kg m^2]; those of a solid of its shape if not given.
    pub inertia: Option<[Number; 3]>,
    /// The axis of the world along which alone the body moves, without turning, as a finger on its rail; of
    /// any length. Not for a prescribed body.
    pub guide: Option<[Number; 3]>,
    /// Position of the centre of mass at the start [m]; the origin if not given.
    pub position: Option<[Number; 3]>,
    /// Rotation at the start: a vector along the axis, as long as the angle [rad]; none if not given.
    pub rotation: Option<[Number; 3]>,
    /// Velocity of the centre of mass at the start [m/s], in the world; 0 if not given. A prescribed body
    /// keeps it.
    pub velocity: Option<[Number; 3]>,
    /// Angular velocity at the start [rad/s], in the world; 0 if not given. A prescribed body keeps it.
    pub angular_velocity: Option<[Number; 3]>,
    /// Force at the centre of mass over time [N], in the world, beside gravity.
    pub force: Option<[SignalSpec; 3]>,
    /// Torque over time [N m], in the world.
    pub torque: Option<[SignalSpec; 3]>,
}

/// What moves a body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum WorldKind {
    /// Forces. The default.
    #[default]
    Dynamic,
    /// Nothing: it keeps its twist.
    Prescribed,
}

/// Geometry about the centre of mass.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "WorldShape")]
pub enum WorldShapeSpec {
    /// `{ box = [x, y, z] }`: whole lengths of the sides [m].
    Box([Number; 3]),
    /// `{ sphere = radius }` [m].
    Sphere(Number),
    /// `{ points = [[x, y, z], ..] }` [m]: one at the origin is a particle, three are a tripod; at most 8.
    Points(Vec<[Number; 3]>),
    /// `"plane"`: all below z = 0 of a prescribed body.
    Plane,
}

/// Two bodies that may touch.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PairSpec {
    /// Their names.
    pub bodies: [String; 2],
    /// Coefficient of friction, 0 to 1e6; not for a pair with a patch.
    pub mu: Option<Number>,
    /// A patch of bristles between flat faces: on the face of the first body, a box, that looks at the
    /// second, a box or a plane. Keys as of `[patch]` in a scenario of patches, for a map that stays as it is
    /// and is not in a file.
    pub patch: Option<PatchSpec>,
    /// The friction of the bristles. Keys as of `[friction]` in a scenario of patches.
    pub friction: Option<FrictionSpec>,
}

/// A checked scenario of rigid bodies, from which worlds are drawn.
///
/// ```
/// use bristle_scenario::WorldScenario;
/// let text = r#"
///     duration = 1.0
///     worlds = 8
///     bodies = [
///         { name = "table", kind = "prescribed", shape = "plane" },
///         { name = "ball", shape = { sphere = 0.02 }, mass = { uniform = [0.1, 0.2] }, position = [0, 0, 0.1] },
///     ]
///     contacts = [{ bodies = ["table", "ball"], mu = 0.3 }]
/// "#;
/// let scenario = WorldScenario::parse(text, "ball.toml")?;
/// assert!((0.1..0.2).contains(&scenario.world(3)?.bodies()[1].mass));
/// # Ok::<(), bristle_scenario::ScenarioError>(())
/// ```
#[derive(Debug)]
pub struct WorldScenario {
    name: String,
    text: String,
    spec: WorldSpec,
    plan: Plan,
    /// The places of the bodies that each contact names.
    pairs: Vec<[usize; 2]>,
    /// The maps of the contacts that are patches.
    patches: Vec<Option<Patches>>,
}

/// Whether a text is a scenario of rigid bodies, by its keys: it has `[[bodies]]`, or `[[contacts]]`, which
/// is a number in scenarios of patches.
pub fn is_world(text: &str) -> bool {
    let keys: toml::Table = toml::from_str(text).unwrap_or_default();
    keys.contains_key("bodies") || keys.get("contacts").is_some_and(toml::Value::is_array)
}

impl WorldScenario {
    /// Reads the scenario file `path` and applies `changes` (`key=value`, see [`change`](super::change)) in
    /// order.
    ///
    /// # Errors
    /// A file that cannot be read, a change that cannot be applied, or as [`WorldScenario::parse`].
    pub fn load(path: &Path, changes: &[String]) -> Result<Self, ScenarioError> {
        let (text, name) = read(path, changes)?;
        Self::parse(&text, &name)
    }

    /// A scenario from its text; `name` is what errors call it.
    ///
    /// # Errors
    /// TOML that is malformed, an unknown key, a wrong type, or a value out of range, with its place. World 0
    /// is drawn and checked; [`WorldScenario::check`] does the others.
    pub fn parse(text: &str, name: &str) -> Result<Self, ScenarioError> {
        let mut spec: WorldSpec = from_toml(name, text)?;
        let at = |e: ParameterError| ScenarioError::field(name, text, &e.field, e.to_string()).about(&e);
        if !(1..=MOST_WORLDS).contains(&spec.worlds) {
            return Err(at(ParameterError::new("worlds", spec.worlds, format!("1 to {MOST_WORLDS}"))));
        }
        if !(1..=MOST_BODIES).contains(&spec.bodies.len()) {
            let value = format!("{} bodies", spec.bodies.len());
            return Err(at(ParameterError::new("bodies", value, format!("1 to {MOST_BODIES}"))));
        }
        if spec.solver == SolverName::Lemke && spec.engine == EngineChoice::Gpu {
            return Err(at(ParameterError::new("solver", "lemke", "newton with engine = \"gpu\"")));
        }
        let plan = Plan::new(spec.duration, spec.step, spec.record_every).map_err(at)?;
        for (k, body) in spec.bodies.iter().enumerate() {
            for (what, signals) in [("force", &body.force), ("torque", &body.torque)] {
                for (c, signal) in signals.iter().flatten().enumerate() {
                    signal.check_times(&format!("bodies.{k}.{what}.{c}"), spec.duration).map_err(at)?;
                }
            }
        }
        let pairs = pairs(&spec).map_err(at)?;
        let patches = spec.contacts.iter_mut().enumerate().map(patch_maps).collect::<Result<_, _>>().map_err(at)?;
        let scenario = Self { name: name.to_owned(), text: text.to_owned(), spec, plan, pairs, patches };
        scenario.world(0)?;
        Ok(scenario)
    }

    /// What the scenario says.
    pub const fn spec(&self) -> &WorldSpec {
        &self.spec
    }

    /// The name of the scenario: its path.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The effective text: with every change in it.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Step, samples and duration.
    pub const fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The precision in which contacts are solved: what is asked for, or the scenario's, or that of the
    /// engine.
    pub fn precision(&self, asked: Option<Precision>, on_gpu: bool) -> Precision {
        let own = if on_gpu { Precision::F32 } else { Precision::F64 };
        asked.or(self.spec.precision).unwrap_or(own)
    }

    /// How contacts are solved on the CPU in this precision.
    pub fn method(&self, precision: Precision) -> Method {
        match (self.spec.solver, precision) {
            (SolverName::Lemke, _) => Method::Lemke,
            (SolverName::Newton, Precision::F64) => Method::Double,
            (SolverName::Newton, Precision::F32) => Method::Single,
        }
    }

    /// World `k`. It depends on the text, the seed and `k`, not on how many worlds there are.
    ///
    /// # Errors
    /// A drawn value out of range.
    pub fn world(&self, k: u64) -> Result<World, ScenarioError> {
        self.drawn(k, false).map(|(world, _)| world)
    }

    /// The numbers that world `k` is drawn with, by the dotted path of their fields.
    ///
    /// # Errors
    /// A drawn value out of range.
    pub fn parameters(&self, k: u64) -> Result<Vec<(String, f64)>, ScenarioError> {
        self.drawn(k, true).map(|(_, parameters)| parameters)
    }

    /// Worlds of a range, in parallel.
    ///
    /// # Errors
    /// The first world with a value out of range.
    pub fn block(&self, range: std::ops::Range<u64>) -> Result<Vec<World>, ScenarioError> {
        let drawn: Vec<_> = pool::run(|| range.into_par_iter().map(|k| self.world(k)).collect());
        drawn.into_iter().collect()
    }

    /// Draws every world and checks it, in parallel.
    ///
    /// # Errors
    /// The first world with a value out of range.
    pub fn check(&self) -> Result<(), ScenarioError> {
        let all = 0..self.spec.worlds;
        pool::run(|| all.into_par_iter().find_map_first(|k| self.world(k).err())).map_or(Ok(()), Err)
    }

    /// Whether a contact is a patch of bristles.
    pub fn has_patches(&self) -> bool {
        self.patches.iter().any(Option::is_some)
    }

    /// The names of bodies that no contact names, although some contacts do name bodies: they pass through
    /// all others, which may not be meant.
    pub fn untouched(&self) -> Vec<&str> {
        let named: HashSet<usize> = self.pairs.iter().flatten().copied().collect();
        let all = self.spec.bodies.iter().enumerate();
        all.filter(|(k, _)| !named.is_empty() && !named.contains(k)).map(|(_, body)| body.name.as_str()).collect()
    }

    /// The error with the names of bodies that overlap, or that differ too much in mass, in the place of
    /// their indices.
    fn with_names(&self, world: &World, error: ParameterError) -> ParameterError {
        if let Some([_, heavy]) = world.uneven().filter(|[light, _]| error.field == format!("bodies[{light}].mass")) {
            let named = format!("\"{}\"", self.spec.bodies[heavy].name);
            return ParameterError { accepted: least_mass(world.bodies()[heavy].mass, &named), ..error };
        }
        let Some((pair, depth)) = world.overlap().filter(|(pair, _)| error.field == format!("contacts[{pair}].bodies"))
        else {
            return error;
        };
        let [a, b] = world.pairs[pair].bodies.map(|i| &self.spec.bodies[i].name);
        ParameterError { value: format!("\"{a}\" and \"{b}\", which overlap by {depth:.3e} m"), ..error }
    }

    fn drawn(&self, k: u64, numbers: bool) -> Result<(World, Vec<(String, f64)>), ScenarioError> {
        let mut sampler = Sampler::new(Draw::new(self.spec.seed, k), &[], numbers);
        let made = world(&self.spec, &self.pairs, &self.patches, &mut sampler)
            .and_then(|world| world.validate().map_err(|e| self.with_names(&world, e)).map(|()| world));
        let at = |e: ParameterError| {
            // Fields are called as `--set` and `contacts.npz` call them.
            let e = ParameterError { field: e.field.replace('[', ".").replace(']', ""), ..e };
            ScenarioError::field(&self.name, &self.text, &e.field, format!("world {k}: {e}")).about(&e)
        };
        Ok((made.map_err(at)?, sampler.parameters.unwrap_or_default()))
    }
}

/// The places of the bodies that each contact names.
///
/// # Errors
/// A name that is empty, of two bodies, or of none; a contact of a body with itself, or one of two bodies
/// that another contact names.
fn pairs(spec: &WorldSpec) -> Result<Vec<[usize; 2]>, ParameterError> {
    let mut places = HashMap::new();
    for (k, body) in spec.bodies.iter().enumerate() {
        let wrong = |accepted: String| Err(ParameterError::new(format!("bodies.{k}.name"), &body.name, accepted));
        if body.name.is_empty() {
            return wrong("a name, by which contacts speak of the body".to_owned());
        }
        if let Some(first) = places.insert(body.name.as_str(), k) {
            return wrong(format!("a name that no other body has, where bodies.{first} has it"));
        }
    }
    let mut named = HashMap::new();
    let pair = |(k, pair): (usize, &PairSpec)| {
        let find = |i: usize| {
            let name = &pair.bodies[i];
            let unknown = || ParameterError::new(format!("contacts.{k}.bodies.{i}"), name, body_names(spec, name));
            places.get(name.as_str()).copied().ok_or_else(unknown)
        };
        let [a, b] = [find(0)?, find(1)?];
        let wrong = |accepted: String| {
            let value = format!("[{}]", pair.bodies.join(", "));
            Err(ParameterError::new(format!("contacts.{k}.bodies"), value, accepted))
        };
        if a == b {
            return wrong("two bodies".to_owned());
        }
        match named.insert([a.min(b), a.max(b)], k) {
            Some(first) => wrong(format!("two bodies that no other contact names, where contacts.{first} does")),
            None => Ok([a, b]),
        }
    };
    spec.contacts.iter().enumerate().map(pair).collect()
}

/// What an error accepts in place of a name that no body has.
fn body_names(spec: &WorldSpec, unknown: &str) -> String {
    let names: Vec<&str> = spec.bodies.iter().map(|body| body.name.as_str()).collect();
    let listed = names[..names.len().min(MOST_LISTED)].join(", ");
    let others =
        if names.len() > MOST_LISTED { format!(" or {} others", names.len() - MOST_LISTED) } else { String::new() };
    let meant = alike(unknown, &names).map(|meant| format!("; did you mean {meant}?")).unwrap_or_default();
    format!("the name of a body: {listed}{others}{meant}")
}

/// Three numbers that are drawn, or zeros.
fn three(sampler: &mut Sampler, name: &str, numbers: Option<&[Number; 3]>) -> [f64; 3] {
    let Some(numbers) = numbers else { return [0.0; 3] };
    std::array::from_fn(|c| sampler.number(&format!("{name}.{c}"), &numbers[c]))
}

/// The maps of a contact that is a patch.
///
/// # Errors
/// Neither `mu` nor a patch, both, friction without a patch, or a patch that a world cannot have.
fn patch_maps((k, pair): (usize, &mut PairSpec)) -> Result<Option<Patches>, ParameterError> {
    let at = |key: &str| format!("contacts.{k}.{key}");
    let wrong = |key: &str, value: &str, accepted: &str| Err(ParameterError::new(at(key), value, accepted));
    let Some(patch) = &pair.patch else {
        return match (&pair.mu, &pair.friction) {
            (None, None) => wrong("mu", "missing", "the coefficient of friction, or a `patch` of bristles"),
            (_, Some(_)) => wrong("friction", "given", "`mu`, or a `patch` beside the friction of its bristles"),
            (Some(_), None) => Ok(None),
        };
    };
    if pair.mu.is_some() {
        return wrong("mu", "given", "no `mu`, as the friction of this pair is that of its patch: `friction.mu_c`");
    }
    let within = |e: ParameterError| ParameterError { field: at(&e.field), ..e };
    let mut axes = None;
    if let Some(friction) = &mut pair.friction {
        axes = friction.axes().map_err(within)?;
        coefficients(friction, &InputsSpec::default()).map_err(within)?;
    }
    for (key, given) in [
        ("patch.file", patch.file.is_some()),
        ("patch.frame", patch.frame.is_some()),
        ("patch.frames", patch.frames.is_some()),
        ("patch.unit", patch.unit.is_some()),
        ("patch.takes_frames", patch.takes_frames == Some(true)),
        ("patch.layer", patch.layer.is_some()),
        ("patch.indenter", patch.indenter.is_some()),
    ] {
        if given {
            return wrong(key, "given", "a `shape` that stays as it is, or a map in `pressure`, in a world");
        }
    }
    let maps = Patches::prepare(patch, Path::new("."));
    let maps = match pair.friction.as_ref().and_then(|friction| friction.map.as_ref()) {
        None => maps,
        Some(FrictionMapSpec::File(_)) => return wrong("friction.map", "a file", "rows of factors, in a world"),
        Some(map) => maps.and_then(|maps| maps.with_friction(&map.load(Path::new("."))?, false)),
    };
    maps.map(|maps| Some(maps.with_axes(axes))).map_err(|e| ParameterError::new(at(&e.field), "given", e.message))
}

fn world(
    spec: &WorldSpec,
    pairs: &[[usize; 2]],
    patches: &[Option<Patches>],
    sampler: &mut Sampler,
) -> Result<World, ParameterError> {
    let mut world = World::new(spec.directions);
    world.axes = match spec.axes {
        AxesName::World => Axes::World,
        AxesName::Body => Axes::Body,
    };
    if spec.gravity.is_some() {
        world.gravity = three(sampler, "gravity", spec.gravity.as_ref());
    }
    for (k, body) in spec.bodies.iter().enumerate() {
        let (body, state) = self::body(&format!("bodies.{k}"), body, sampler)?;
        world.add(body, state);
    }
    for (k, (pair, bodies)) in spec.contacts.iter().zip(pairs).enumerate() {
        let mu = pair.mu.as_ref().map_or(0.0, |mu| sampler.number(&format!("contacts.{k}.mu"), mu));
        world.pairs.push(Pair { bodies: *bodies, mu });
    }
    for (k, maps) in patches.iter().enumerate() {
        let Some(maps) = maps else { continue };
        let at = |e: ParameterError| ParameterError { field: format!("contacts.{k}.{}", e.field), ..e };
        sampler.within(format!("contacts.{k}."));
        // The map does not depend on the force.
        let drawn = maps.draw(1.0, sampler).map_err(at)?;
        let friction = match &spec.contacts[k].friction {
            Some(friction) => contact::friction(friction, &Inputs::default(), false, sampler),
            None => contact::friction(&FrictionSpec::default(), &Inputs::default(), false, sampler),
        };
        sampler.within("");
        world.add_patch(k, drawn.patch, friction)?;
    }
    Ok(world)
}

fn body(name: &str, spec: &WorldBodySpec, sampler: &mut Sampler) -> Result<(WorldBody, State), ParameterError> {
    let shape = match &spec.shape {
        WorldShapeSpec::Plane => WorldShape::Plane,
        WorldShapeSpec::Sphere(radius) => WorldShape::Sphere(sampler.number(&format!("{name}.shape.sphere"), radius)),
        WorldShapeSpec::Box(sides) => {
            WorldShape::Box(three(sampler, &format!("{name}.shape.box"), Some(sides)).map(|s| 0.5 * s))
        }
        WorldShapeSpec::Points(points) => {
            let point = |(k, p): (usize, &[Number; 3])| three(sampler, &format!("{name}.shape.points.{k}"), Some(p));
            WorldShape::Points(points.iter().enumerate().map(point).collect())
        }
    };
    let mut body = match (spec.kind, &spec.mass) {
        (WorldKind::Prescribed, None)
            if spec.inertia.is_none() && spec.guide.is_none() && spec.force.is_none() && spec.torque.is_none() =>
        {
            WorldBody::prescribed(shape)
        }
        (WorldKind::Prescribed, _) => {
            let given = [
                ("mass", spec.mass.is_some()),
                ("inertia", spec.inertia.is_some()),
                ("guide", spec.guide.is_some()),
                ("force", spec.force.is_some()),
                ("torque", spec.torque.is_some()),
            ];
            let key = given.iter().find(|(_, given)| *given).map_or("mass", |(key, _)| *key);
            let accepted = "a prescribed body with a twist alone: neither mass, inertia, guide, force nor torque";
            return Err(ParameterError::new(format!("{name}.{key}"), "given", accepted));
        }
        (WorldKind::Dynamic, None) => {
            return Err(ParameterError::new(format!("{name}.mass"), "missing", "the mass of a body that forces move"));
        }
        (WorldKind::Dynamic, Some(mass)) => WorldBody::solid(sampler.number(&format!("{name}.mass"), mass), shape),
    };
    debug_assert!(body.kind == Kind::Prescribed || spec.mass.is_some());
    if spec.guide.is_some() {
        body.guide = Some(three(sampler, &format!("{name}.guide"), spec.guide.as_ref()));
    }
    if spec.inertia.is_some() {
        body.inertia = three(sampler, &format!("{name}.inertia"), spec.inertia.as_ref());
    }
    for (what, load, signals) in [("force", &mut body.force, &spec.force), ("torque", &mut body.torque, &spec.torque)] {
        for (c, signal) in signals.iter().flatten().enumerate() {
            load[c] = signal.draw(&format!("{name}.{what}.{c}"), None, sampler)?;
        }
    }
    let mut of = |what: &str, numbers: &Option<[Number; 3]>, range: Range| {
        let name = format!("{name}.{what}");
        let values = three(sampler, &name, numbers.as_ref());
        let check = |(c, v): (usize, &f64)| range.check(&format!("{name}.{c}"), *v);
        values.iter().enumerate().try_for_each(check).map(|()| Vector3::from(values))
    };
    let position = of("position", &spec.position, range::POSITION)?;
    let rotation = UnitQuaternion::from_scaled_axis(of("rotation", &spec.rotation, range::ANGLE)?);
    let state = State {
        pose: Isometry3::from_parts(Translation3::from(position), rotation),
        velocity: of("velocity", &spec.velocity, range::SPEED)?,
        angular: of("angular_velocity", &spec.angular_velocity, range::TURN)?,
    };
    Ok((body, state))
}

/// The JSON schema of scenarios of rigid bodies.
pub fn world_json_schema() -> serde_json::Value {
    schemars::schema_for!(WorldSpec).to_value()
}

#[cfg(test)]
mod tests {
    use super::*;
    use bristle::patch::FrictionAxes;

    const TEXT: &str = r#"duration = 0.1
worlds = 4
[[bodies]]
name = "table"
kind = "prescribed"
shape = "plane"
[[bodies]]
name = "box"
shape = { box = [0.1, 0.06, 0.04] }
mass = { uniform = [0.2, 0.4] }
position = [0, 0, 0.02]
velocity = [{ normal = [0.3, 0.1] }, 0, 0]
force = [{ points = [[0, 0], [0.1, 1]] }, 0, 0]
[[contacts]]
bodies = ["table", "box"]
mu = { uniform = [0.3, 0.6] }
"#;

    #[test]
    fn a_world_is_what_its_text_says_and_its_parameters_are_those_that_were_drawn() {
        let scenario = WorldScenario::parse(TEXT, "box.toml").unwrap();
        assert!(is_world(TEXT) && !is_world("duration = 1\n[body]\n"));
        for k in 0..4 {
            let (world, parameters) = (scenario.world(k).unwrap(), scenario.parameters(k).unwrap());
            let of = |name: &str| parameters.iter().find(|(n, _)| n == name).unwrap_or_else(|| panic!("{name}")).1;
            assert_eq!(world.bodies()[1].mass, of("bodies.1.mass"));
            assert_eq!(world.pairs[0].mu, of("contacts.0.mu"));
            assert_eq!(world.states()[1].velocity.x, of("bodies.1.velocity.0"));
            assert_eq!(world.bodies()[1].shape, WorldShape::Box([0.05, 0.03, 0.02]));
            assert_eq!(world.bodies()[1].force[0].value(0.05), 0.5);
        }
        assert_ne!(scenario.world(1).unwrap(), scenario.world(2).unwrap());
        scenario.check().unwrap();
    }

    /// The friction of [`TEXT`], and a patch in its place, for which the box comes first.
    const MU: &str = "mu = { uniform = [0.3, 0.6] }";
    const PATCH: &str = "patch";

    /// [`TEXT`] with `patch` in the place of the coefficient of friction.
    fn with_patch(patch: &str) -> String {
        TEXT.replace("[\"table\", \"box\"]", "[\"box\", \"table\"]").replace(MU, patch)
    }

    /// What is refused of [`TEXT`] with `to` in the place of `from`.
    fn refused(from: &str, to: &str) -> ScenarioError {
        let text = if from == PATCH { with_patch(to) } else { TEXT.replacen(from, to, 1) };
        assert!(text != TEXT, "{from}");
        WorldScenario::parse(&text, "box.toml").map(drop).expect_err(to)
    }

    #[test]
    fn a_patch_and_its_friction_are_drawn_by_the_path_of_their_contact() {
        let friction = "friction = { law = 'lugre', mu_c = { uniform = [0.4, 0.6] }, sigma0 = 2e3 }";
        let pressure = "patch = { pressure = [[1, 2], [3, 4]], size = [{ uniform = [0.02, 0.03] }, 0.01] }";
        let scenario = WorldScenario::parse(&with_patch(&format!("{pressure}\n{friction}")), "box.toml").unwrap();
        assert!(scenario.has_patches() && !WorldScenario::parse(TEXT, "box.toml").unwrap().has_patches());
        for k in 0..4 {
            let (world, parameters) = (scenario.world(k).unwrap(), scenario.parameters(k).unwrap());
            let of = |name: &str| parameters.iter().find(|(n, _)| n == name).unwrap_or_else(|| panic!("{name}")).1;
            let [patch] = world.patches() else { panic!("{:?}", world.patches()) };
            let (grid, friction) = (*patch.bristles().patch().grid(), *patch.bristles().friction());
            assert!((grid.dx * 2.0 - of("contacts.0.patch.size.0")).abs() < 1e-15);
            assert_eq!((grid.nx, grid.ny, grid.dy), (2, 2, 0.005));
            assert_eq!((friction.law, friction.sigma0), (bristle::Law::LuGre, 2e3));
            assert_eq!(
                (friction.mu_c, friction.mu_s),
                (of("contacts.0.friction.mu_c"), of("contacts.0.friction.mu_s"))
            );
            assert_eq!(world.pairs[0].mu, 0.0);
            assert!(parameters.iter().all(|(name, _)| !name.starts_with("patch") && !name.starts_with("friction")));
        }
        assert_ne!(scenario.world(0).unwrap().patches(), scenario.world(1).unwrap().patches());
    }

    #[test]
    fn a_patch_has_the_friction_map_of_its_contact() {
        let with = |map: &str| with_patch(&format!("patch = {{ cells = 4 }}\nfriction = {{ map = {map} }}"));
        let world = WorldScenario::parse(&with("[[1, 0.5]]"), "box.toml").unwrap().world(0).unwrap();
        let factors: Vec<f64> = [1.0, 1.0, 0.5, 0.5].repeat(4);
        assert_eq!(world.patches()[0].bristles().patch().friction_map(), Some(&*factors));
        let of_file = WorldScenario::parse(&with("'map.npy'"), "box.toml").map(drop).unwrap_err().to_string();
        assert!(
            of_file.contains("contacts.0.friction.map = a file: expected rows of factors, in a world"),
            "{of_file}"
        );
    }

    #[test]
    fn a_patch_has_the_axes_of_friction_of_its_contact() {
        let with = |mu: &str| {
            let text = with_patch(&format!("patch = {{ cells = 4 }}\nfriction = {{ mu = {mu} }}"));
            WorldScenario::parse(&text, "box.toml").and_then(|scenario| scenario.world(0))
        };
        let world = with("{ along = 0.8, across = 0.2, angle = 0.3 }").unwrap();
        let bristles = world.patches()[0].bristles();
        assert_eq!(bristles.patch().friction_axes(), Some(&FrictionAxes::new(0.25, 0.3).unwrap()));
        assert_eq!(bristles.friction().mu_c, 0.8);
        let error = with("{ ratio = -1 }").map(drop).unwrap_err().to_string();
        assert!(error.contains("contacts.0.friction.mu.ratio = -1: expected a finite number from 0.001"), "{error}");
    }

    #[test]
    fn errors_name_the_place_and_what_is_accepted() {
        const BOX: &str = "name = \"box\"\n";
        let second = "bodies = [\"table\", \"box\"]\nmu = { uniform = [0.3, 0.6] }\n";
        let twice = |other: &str| format!("{second}[[contacts]]\nbodies = {other}\nmu = 0.1\n");
        let with = |line: &str| format!("{BOX}{line}\n");
        for (from, to, wanted) in [
            ("mass = ", "masse = ".into(), "box.toml:10:1: unknown field `masse`"),
            ("mass = { uniform = [0.2, 0.4] }\n", String::new(), "box.toml:7:1: world 0: bodies.1.mass = missing"),
            ("{ uniform = [0.2, 0.4] }", "0".into(), "box.toml:10:8: world 0: bodies.1.mass = 0: expected a finite"),
            ("{ uniform = [0.2, 0.4] }", "-1".into(), "box.toml:10:8: world 0: bodies.1.mass = -1: expected a finite"),
            ("{ uniform = [0.2, 0.4] }", "{ uniform = [0, 0] }".into(), "box.toml:10:8: world 0: bodies.1.mass = 0"),
            (BOX, with("inertia = [1, 1, 3]"), "box.toml:9:11: world 0: bodies.1.inertia = [1.0, 1.0, 3.0]: expected"),
            (BOX, with("inertia = [1, -1, 3]"), "box.toml:9:15: world 0: bodies.1.inertia.1 = -1: expected 0, or"),
            (BOX, with("inertia = [1, 1]"), "box.toml:9:11: bodies.1.inertia: invalid length 2"),
            (BOX, with("rotation = [0, 0, 1e10]"), "box.toml:9:19: world 0: bodies.1.rotation.2 = 10000000000: "),
            (BOX, with("rotation = [1, 0, 0, 0]"), "box.toml:9:12: bodies.1.rotation: invalid length 4"),
            (BOX, with("angular_velocity = [0, -2e9, 0]"), "box.toml:9:24: world 0: bodies.1.angular_velocity.1 = "),
            (BOX, with("torque = [0, 0, 2e12]"), "box.toml:9:17: world 0: bodies.1.torque.2"),
            (
                BOX,
                with("inertia = [1e-11, 1e-11, 1e-11]"),
                "box.toml:9:12: world 0: bodies.1.inertia.0 = 1e-11: expected 0, or",
            ),
            (
                "[0, 0, 0.02]",
                "[0, 0, 0.01]".into(),
                "box.toml:15:10: world 0: contacts.0.bodies = \"table\" and \"box\", which overlap by 1.000e-2 m",
            ),
            ("[0, 0, 0.02]", "[0, 2e9, 0]".into(), "box.toml:11:16: world 0: bodies.1.position.1 = 2000000000"),
            ("{ normal = [0.3, 0.1] }", "-2e9".into(), "box.toml:12:13: world 0: bodies.1.velocity.0 = -2000000000"),
            ("[0.1, 1]", "[0.1, 2e12]".into(), "box.toml:13:10: world 0: bodies.1.force.0"),
            ("0.06, 0.04", "0, 0.04".into(), "box.toml:9:23: world 0: bodies.1.shape.box.1 = 0: expected a finite"),
            ("box = [0.1, 0.06, 0.04]", "sphere = -1".into(), "box.toml:9:20: world 0: bodies.1.shape.sphere = -1"),
            ("box = [0.1, 0.06, 0.04]", "points = []".into(), "box.toml:9:9: world 0: bodies.1.shape = 0 points"),
            (
                "box = [0.1, 0.06, 0.04]",
                "points = [[0, 0, 0], [0, 0, 2e6]]".into(),
                "box.toml:9:39: world 0: bodies.1.shape.points.1.2 = 2000000: expected a finite number",
            ),
            ("{ box = [0.1, 0.06, 0.04] }", "\"plane\"".into(), "box.toml:9:9: world 0: bodies.1.shape = plane: "),
            ("\"table\", \"box\"", "\"table\", \"bowl\"".into(), "box.toml:15:20: contacts.0.bodies.1 = bowl: "),
            (
                "\"table\", \"box\"",
                "\"box\", \"box\"".into(),
                "box.toml:15:10: contacts.0.bodies = [box, box]: expected",
            ),
            ("\"table\", \"box\"", "\"box\"".into(), "box.toml:15:10: contacts.0.bodies: invalid length 1"),
            (
                second,
                twice("['table', 'box']"),
                "box.toml:18:10: contacts.1.bodies = [table, box]: expected two bodies",
            ),
            (second, twice("['box', 'table']"), "two bodies that no other contact names, where contacts.0 does"),
            ("mu = { uniform = [0.3, 0.6] }\n", String::new(), "box.toml:14:1: contacts.0.mu = missing: expected the"),
            ("{ uniform = [0.3, 0.6] }", "0.3\npatch = {}".into(), "box.toml:16:6: contacts.0.mu = given: expected no"),
            ("0.3, 0.6] }", "0.3, 0.6] }\nfriction = {}".into(), "box.toml:17:12: contacts.0.friction = given"),
            (MU, "patch = { file = 'map.png' }".into(), "box.toml:16:18: contacts.0.patch.file = given: expected a"),
            (MU, "patch = { shape = 'hertz' }".into(), "box.toml:16:9: world 0: contacts.0.patch = a map that changes"),
            (
                MU,
                "patch = { size = 0.07 }".into(),
                "world 0: contacts.0.patch = between other shapes: expected none, or",
            ),
            (
                PATCH,
                "patch = { size = 0.07 }".into(),
                "box.toml:16:18: world 0: contacts.0.patch.size = 0.07: expected",
            ),
            (PATCH, "patch = { size = -1 }".into(), "box.toml:16:18: contacts.0.patch.size"),
            (PATCH, "patch = { cell = 3 }".into(), "box.toml:16:11: unknown field `cell`, expected"),
            (
                PATCH,
                "patch = {}\nfriction = { mu_c = -1 }".into(),
                "box.toml:17:21: world 0: contacts.0.friction.mu_c = -1: expected",
            ),
            (
                PATCH,
                "patch = {}\nfriction = { mu_s = 1, mu_s_over_mu_c = 2 }".into(),
                "box.toml:17:41: contacts.0.friction.mu_s_over_mu_c = given: expected only one of",
            ),
            (
                "mass = { uniform = [0.2, 0.4] }",
                "mass = 1\nguide = [0, 0, 0]".into(),
                "box.toml:11:9: world 0: bodies.1.guide",
            ),
            ("shape = \"plane\"", "shape = \"plane\"\nguide = [1, 0, 0]".into(), "bodies.0.guide = given: expected a"),
            ("0.3, 0.6", "-0.6, -0.3".into(), "box.toml:16:6: world 0: contacts.0.mu = -0."),
            ("{ uniform = [0.3, 0.6] }", "nan".into(), "box.toml:16:6: contacts.0.mu: NaN: expected a finite number"),
            ("0.1\n", "0.1\ngravity = [0, 0, -1e10]\n".into(), "box.toml:2:18: world 0: gravity.2 = -10000000000: "),
            ("0.1\n", "0.1\ndirections = 3\n".into(), "box.toml:2:14: world 0: directions = 3: expected an integer"),
            ("0.1\n", "0.1\nstep = 0.2\n".into(), "box.toml:2:8: step = 0.2: expected"),
            (
                "name = \"box\"",
                "name = \"table\"".into(),
                "box.toml:8:8: bodies.1.name = table: expected a name that no",
            ),
            ("name = \"box\"", "name = \"\"".into(), "box.toml:8:8: bodies.1.name = : expected a name"),
            ("name = \"box\"\n", String::new(), "box.toml:7:1: bodies.1: missing field `name`"),
            (
                "\"plane\"",
                "\"plane\"\nmass = 1".into(),
                "box.toml:7:8: world 0: bodies.0.mass = given: expected a presc",
            ),
            ("\"plane\"", "\"plane\"\ntorque = [0, 0, 1]".into(), "box.toml:7:10: world 0: bodies.0.torque = given"),
            ("\"plane\"", "\"plain\"".into(), "box.toml:6:9: bodies.0.shape: unknown variant `plain`"),
            ("worlds = 4", "worlds = 0".into(), "box.toml:2:10: worlds = 0"),
            ("0.1\n", "0.1\nsolver = \"lemke\"\nengine = \"gpu\"\n".into(), "box.toml:2:10: solver = lemke: expected"),
        ] {
            let error = refused(from, &to);
            let message = error.to_string();
            assert!(message.contains(wanted), "{wanted}\n{message}");
            let ScenarioError::Text(excerpt) = error else { panic!("{message}") };
            // A key that there is not is no field.
            assert!(excerpt.field.is_some() || message.contains("unknown field"), "{message}");
        }
    }

    #[test]
    fn a_name_that_is_meant_is_suggested_and_bodies_without_contacts_are_told() {
        let message = refused("\"table\", \"box\"", "\"tabel\", \"box\"").to_string();
        assert!(message.contains("expected the name of a body: table, box; did you mean table?"), "{message}");
        // Keys of patches are not those of worlds.
        let message = refused("mass = ", "mu_c = ").to_string();
        assert!(
            message.contains("unknown field `mu_c`, expected one of") && !message.contains("friction"),
            "{message}"
        );
        // Masses that differ too much are told with the name of the other body.
        let heavy = "[[bodies]]\nname = \"anvil\"\nshape = { sphere = 1 }\nmass = 1e6\nposition = [0, 0, 9]\n";
        let pair = "[[contacts]]\nbodies = [\"anvil\", \"box\"]\nmu = 0.1\n";
        let message =
            WorldScenario::parse(&format!("{TEXT}{heavy}{pair}"), "box.toml").map(drop).unwrap_err().to_string();
        assert!(message.contains("box.toml:10:8: world 0: bodies.1.mass = 0."), "{message}");
        assert!(message.contains("because contacts connect it with \"anvil\" of 1000000 kg"), "{message}");
        let untouched = |text: &str| {
            let scenario = WorldScenario::parse(text, "box.toml").unwrap();
            scenario.untouched().into_iter().map(str::to_owned).collect::<Vec<_>>()
        };
        assert!(untouched(TEXT).is_empty());
        let ball = "[[bodies]]\nname = \"ball\"\nshape = { sphere = 1 }\nmass = 1\n";
        assert_eq!(untouched(&format!("{TEXT}{ball}")), ["ball"]);
        // Where nothing touches anything, that is meant.
        assert!(untouched(&format!("duration = 1\n{ball}")).is_empty());
    }

    /// A hundred boxes in a corner have five thousand pairs.
    #[test]
    fn many_bodies_are_read_and_drawn_in_a_moment() {
        let mut text = "duration = 1\n".to_owned();
        let name = |k: usize| format!("b{k}");
        for k in 0..MOST_BODIES {
            text += &format!("[[bodies]]\nname = \"{}\"\nshape = {{ sphere = 0.01 }}\nmass = 0.1\n", name(k));
            text += &format!("position = [{}, 0, 0]\n", 0.02 * k as f64);
        }
        for (a, b) in (0..MOST_BODIES).flat_map(|a| (a + 1..(a + 11).min(MOST_BODIES)).map(move |b| (a, b))) {
            text += &format!(
                "[[contacts]]\nbodies = [\"{}\", \"{}\"]\nmu = {{ uniform = [0.1, 0.5] }}\n",
                name(a),
                name(b)
            );
        }
        let start = std::time::Instant::now();
        let scenario = WorldScenario::parse(&text, "many.toml").unwrap();
        let world = scenario.world(0).unwrap();
        assert_eq!((world.bodies().len(), world.pairs.len()), (512, 5065));
        assert!(start.elapsed().as_secs() < 5, "{:?}", start.elapsed());
        let more = format!("{text}[[bodies]]\nname = \"one more\"\nshape = {{ sphere = 1 }}\nmass = 1\n");
        let message = WorldScenario::parse(&more, "many.toml").unwrap_err().to_string();
        assert!(message.contains("bodies = 513 bodies: expected 1 to 512"), "{message}");
        let message = WorldScenario::parse(&text.replace("[\"b3\", \"b4\"]", "[\"b3\", \"bird\"]"), "many.toml");
        let message = message.unwrap_err().to_string();
        assert!(message.contains("b14, b15 or 496 others"), "{message}");
    }
}

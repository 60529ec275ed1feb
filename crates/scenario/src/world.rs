//! Scenarios of rigid bodies with contacts: `[[bodies]]` and `[[contacts]]`, whose numbers may be
//! distributions.
#![allow(rustdoc::broken_intra_doc_links, reason = "units in brackets: the texts are those of the schema")]

use std::path::Path;

use nalgebra::{Isometry3, Translation3, UnitQuaternion, Vector3};
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::Deserialize;

use super::diagnostics::from_toml;
use super::number::Number;
use super::sampler::Sampler;
use super::signal::SignalSpec;
use super::spec::{EngineChoice, Precision};
use super::{ScenarioError, read};
use bristle::engine::Plan;
use bristle::error::ParameterError;
use bristle::pool;
use bristle::random::Draw;
use bristle::range::{self, Range};
use bristle_rigid::world::{Kind, Method, Pair, State, World, WorldBody, WorldShape};

/// Most bodies of a world.
const MOST_BODIES: usize = 64;
/// Most worlds of a run.
const MOST_WORLDS: u64 = 1 << 32;

/// A world of rigid bodies, described by constants and distributions, and how many to draw and simulate. SI
/// units.
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
    /// Precision in which contacts are solved on the CPU, to 1e-6 or 1e-11; a GPU has `f32` alone.
    #[serde(default)]
    pub precision: Precision,
    /// How contacts are solved.
    #[serde(default)]
    pub solver: SolverName,
    /// Friction directions of a contact, 4 to 32; 8 if not given. With few, friction depends on the direction
    /// of motion.
    #[serde(default = "directions")]
    pub directions: usize,
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
    /// By blocks, with Lemke's method for the few that do not converge. The default.
    #[default]
    Blocks,
    /// By Lemke's method alone, on the CPU in double precision.
    Lemke,
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
    /// Their names. The x axis of the first is the first friction direction.
    pub bodies: [String; 2],
    /// Coefficient of friction, 0 to 1e6.
    pub mu: Number,
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
}

/// Whether a text is a scenario of rigid bodies, by its keys.
pub fn is_world(text: &str) -> bool {
    let keys: toml::Table = toml::from_str(text).unwrap_or_default();
    keys.contains_key("bodies")
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
    /// # Errors TOML that is malformed, an unknown key, a wrong type, or a value out of range, with its
    /// place. World 0 is drawn and checked; [`WorldScenario::check`] does the others.
    pub fn parse(text: &str, name: &str) -> Result<Self, ScenarioError> {
        let spec: WorldSpec = from_toml(name, text)?;
        let at = |e: ParameterError| ScenarioError::field(name, text, &e.field, e.to_string());
        if !(1..=MOST_WORLDS).contains(&spec.worlds) {
            return Err(at(ParameterError::new("worlds", spec.worlds, format!("1 to {MOST_WORLDS}"))));
        }
        if !(1..=MOST_BODIES).contains(&spec.bodies.len()) {
            let value = format!("{} bodies", spec.bodies.len());
            return Err(at(ParameterError::new("bodies", value, format!("1 to {MOST_BODIES}"))));
        }
        if spec.solver == SolverName::Lemke && spec.engine == EngineChoice::Gpu {
            return Err(at(ParameterError::new("solver", "lemke", "blocks with engine = \"gpu\"")));
        }
        let plan = Plan::new(spec.duration, spec.step, spec.record_every).map_err(at)?;
        for (k, body) in spec.bodies.iter().enumerate() {
            for (what, signals) in [("force", &body.force), ("torque", &body.torque)] {
                for (c, signal) in signals.iter().flatten().enumerate() {
                    signal.check_times(&format!("bodies.{k}.{what}.{c}"), spec.duration).map_err(at)?;
                }
            }
        }
        let scenario = Self { name: name.to_owned(), text: text.to_owned(), spec, plan };
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

    /// How contacts are solved on the CPU in this precision.
    pub fn method(&self, precision: Precision) -> Method {
        match (self.spec.solver, precision) {
            (SolverName::Lemke, _) => Method::Lemke,
            (SolverName::Blocks, Precision::F64) => Method::Double,
            (SolverName::Blocks, Precision::F32) => Method::Single,
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

    fn drawn(&self, k: u64, numbers: bool) -> Result<(World, Vec<(String, f64)>), ScenarioError> {
        let mut sampler = Sampler::new(Draw::new(self.spec.seed, k), &[], numbers);
        let made = world(&self.spec, &mut sampler).and_then(|world| world.validate().map(|()| world));
        let at = |e: ParameterError| ScenarioError::field(&self.name, &self.text, &e.field, format!("world {k}: {e}"));
        Ok((made.map_err(at)?, sampler.parameters.unwrap_or_default()))
    }
}

/// Three numbers that are drawn, or zeros.
fn three(sampler: &mut Sampler, name: &str, numbers: Option<&[Number; 3]>) -> [f64; 3] {
    let Some(numbers) = numbers else { return [0.0; 3] };
    std::array::from_fn(|c| sampler.number(&format!("{name}.{c}"), &numbers[c]))
}

fn world(spec: &WorldSpec, sampler: &mut Sampler) -> Result<World, ParameterError> {
    let mut world = World::new(spec.directions);
    if spec.gravity.is_some() {
        world.gravity = three(sampler, "gravity", spec.gravity.as_ref());
    }
    for (k, body) in spec.bodies.iter().enumerate() {
        if spec.bodies[..k].iter().any(|other| other.name == body.name) {
            return Err(ParameterError::new(format!("bodies.{k}.name"), &body.name, "a name that no other body has"));
        }
        let (body, state) = self::body(&format!("bodies.{k}"), body, sampler)?;
        world.add(body, state);
    }
    for (k, pair) in spec.contacts.iter().enumerate() {
        let find = |i: usize| {
            let name = &pair.bodies[i];
            let known = || spec.bodies.iter().map(|b| b.name.as_str()).collect::<Vec<_>>().join(", ");
            let field = format!("contacts.{k}.bodies.{i}");
            let place = spec.bodies.iter().position(|body| body.name == *name);
            place.ok_or_else(|| ParameterError::new(field, name, format!("the name of a body: {}", known())))
        };
        let bodies = [find(0)?, find(1)?];
        world.pairs.push(Pair { bodies, mu: sampler.number(&format!("contacts.{k}.mu"), &pair.mu) });
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
        (WorldKind::Prescribed, None) if spec.inertia.is_none() && spec.force.is_none() && spec.torque.is_none() => {
            WorldBody::prescribed(shape)
        }
        (WorldKind::Prescribed, _) => {
            let accepted = "a twist alone: neither mass, inertia, force nor torque";
            return Err(ParameterError::new(name, "a prescribed body with a load", accepted));
        }
        (WorldKind::Dynamic, None) => {
            return Err(ParameterError::new(format!("{name}.mass"), "missing", "the mass of a body that forces move"));
        }
        (WorldKind::Dynamic, Some(mass)) => WorldBody::solid(sampler.number(&format!("{name}.mass"), mass), shape),
    };
    debug_assert!(body.kind == Kind::Prescribed || spec.mass.is_some());
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
        values.iter().try_for_each(|v| range.check(&name, *v)).map(|()| Vector3::from(values))
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

    #[test]
    fn errors_name_the_place_and_what_is_accepted() {
        for (from, to, wanted) in [
            ("mass = ", "masse = ", "box.toml:10:1: unknown field `masse`"),
            ("\"table\", \"box\"", "\"table\", \"bowl\"", "box.toml:15:20: world 0: contacts.0.bodies.1 = bowl"),
            ("mass = { uniform = [0.2, 0.4] }\n", "", "bodies.1.mass = missing"),
            ("0.3, 0.6", "-0.6, -0.3", "box.toml:16:6: world 0: contacts[0].mu"),
            ("duration = 0.1", "duration = 0.1\ndirections = 3", "directions = 3: expected an integer from 4 to 32"),
            ("name = \"box\"", "name = \"table\"", "a name that no other body has"),
            ("shape = \"plane\"", "shape = \"plane\"\nmass = 1", "neither mass"),
            ("shape = \"plane\"", "shape = \"plain\"", "unknown variant `plain`"),
            ("worlds = 4", "worlds = 0", "box.toml:2:10: worlds = 0"),
            ("duration = 0.1", "duration = 0.1\nsolver = \"lemke\"\nengine = \"gpu\"", "solver = lemke"),
        ] {
            assert!(TEXT.contains(from));
            let message = WorldScenario::parse(&TEXT.replacen(from, to, 1), "box.toml").unwrap_err().to_string();
            assert!(message.contains(wanted), "{message}");
        }
    }
}

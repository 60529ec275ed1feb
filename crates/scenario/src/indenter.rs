//! An indenter on an elastic layer: `patch.indenter` and `patch.layer`.
#![allow(rustdoc::broken_intra_doc_links, reason = "units in brackets: the texts are those of the schema")]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;

use super::number::Number;
use super::patch_failure::PatchFailure;
use super::patches::DrawnPatch;
use super::sampler::Sampler;
use super::shapes::OneOrTwo;
use super::signal::SignalSpec;
use super::spec::{KindName, Spec};
use crate::digest::Digest;
use crate::map_file::load_one;
use bristle::body::{Body, TwistPoint};
use bristle::contact::{Contact, Initial, Inputs, Model};
use bristle::error::{ParameterError, PatchError};
use bristle::friction::Friction;
use bristle::parameter::{
    INDENTER_EVERY, INDENTER_LENGTH, INDENTER_RADIUS, INDENTER_SIZE, LAYER_MODULUS, LAYER_SHEAR, LAYER_STIFFNESS, SIZE,
};
use bristle::patch::{Foundation, FrictionAxes, Grid, Heights, Indenter, Patch, Press, Sequence};
use bristle::schedule::{Signal, slot};

/// The key of a file of heights.
pub const RELIEF: &str = "patch.indenter.file";

/// The elastic layer that carries the bristles: they are as stiff wherever it is pressed, and the pressure
/// says how much each carries. Under an `indenter`, or with `frames` that have a `unit`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LayerSpec {
    pub shear_stiffness: Number,
    pub stiffness: Option<Number>,
    pub modulus: Option<Number>,
}

/// A rigid body that presses on the layer, in place of a map.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IndenterSpec {
    /// What it is: a `sphere`, a `cylinder` with its axis along its y, the flat face of a `box`, or a relief
    /// of `heights`.
    pub shape: IndenterName,
    pub radius: Option<Number>,
    pub length: Option<Number>,
    pub size: Option<OneOrTwo<Number>>,
    /// `heights` only: an `.npy` beside the scenario of heights [m], rows and columns, top row first; the
    /// highest touches first.
    pub file: Option<PathBuf>,
    /// How far its lowest point is below the surface of the layer at rest [m]; no contact if not > 0. If not
    /// given, as far as `inputs.normal_force` presses it.
    pub depth: Option<SignalSpec>,
    /// Where its origin is on the layer [m]; `[0, 0]` if not given. Under a `prescribed` twist it moves with
    /// the body from there.
    pub at: Option<[SignalSpec; 2]>,
    /// By how much it is turned [rad]; 0 if not given. Under a `prescribed` twist it turns with the body from
    /// there.
    pub turn: Option<SignalSpec>,
    pub every: Option<f64>,
}

/// Shapes of indenters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum IndenterName {
    /// A ball.
    Sphere,
    /// A roller, whose axis lies along y.
    Cylinder,
    /// The flat face of a box.
    Box,
    /// A relief.
    Heights,
}

impl IndenterSpec {
    /// Its signals that are given, by the names of their fields.
    pub(super) fn signals(&self) -> impl Iterator<Item = (&'static str, &SignalSpec)> {
        let at = self.at.as_ref();
        [
            ("patch.indenter.depth", self.depth.as_ref()),
            ("patch.indenter.at.0", at.map(|at| &at[0])),
            ("patch.indenter.at.1", at.map(|at| &at[1])),
            ("patch.indenter.turn", self.turn.as_ref()),
        ]
        .into_iter()
        .filter_map(|(name, signal)| Some((name, signal?)))
    }
}

/// Checks the keys of `patch.indenter` and `patch.layer`, before anything is drawn.
pub(super) fn check(spec: &Spec) -> Result<(), ParameterError> {
    let (patch, wrong) =
        (&spec.patch, |field: &str, found: &str, accepted: &str| Err(ParameterError::new(field, found, accepted)));
    let Some(layer) = &patch.layer else {
        let needs = "beside `patch.layer`, the elastic layer on which it presses";
        return if patch.indenter.is_some() { wrong("patch.indenter", "given", needs) } else { Ok(()) };
    };
    if spec.contact.model != super::spec::ModelName::Distributed {
        return wrong("patch.layer", "given", "`contact.model = \"distributed\"`: each cell of a layer has a bristle");
    }
    let of_bristles = [
        ("friction.sigma0", spec.friction.sigma0.is_some(), "none: `patch.layer.shear_stiffness` is in its place"),
        ("friction.map", spec.friction.map.is_some(), "none: the pressure says how much each cell of a layer carries"),
        (
            "stop_when.slip_for",
            spec.stop_when.is_some_and(|when| when.slip_for.is_some()),
            "none: cells of a layer come into contact and leave it",
        ),
        ("patch.takes_frames", patch.takes_frames == Some(true), "none: the frames of a layer cannot be replaced"),
    ];
    for (field, given, accepted) in of_bristles {
        if given {
            return wrong(field, "given", accepted);
        }
    }
    let Some(by) = &patch.indenter else {
        let of_indenter =
            [("patch.layer.stiffness", layer.stiffness.is_some()), ("patch.layer.modulus", layer.modulus.is_some())];
        if let Some((field, _)) = of_indenter.iter().find(|(_, given)| *given) {
            return wrong(field, "given", "only under `patch.indenter`: frames have a pressure of their own");
        }
        let has_pressure = patch.frames.is_some() && patch.unit.is_some();
        let needs = "beside `patch.indenter`, or `patch.frames` with a `patch.unit`: the pressure that presses on it";
        return if has_pressure { Ok(()) } else { wrong("patch.layer", "given", needs) };
    };
    let maps = [
        ("patch.shape", patch.shape.is_some()),
        ("patch.file", patch.file.is_some()),
        ("patch.pressure", patch.pressure.is_some()),
        ("patch.frames", patch.frames.is_some()),
        ("patch.update", patch.update.is_some()),
    ];
    if let Some((field, _)) = maps.iter().find(|(_, given)| *given) {
        return wrong(field, "given", "none: `patch.indenter` makes the map");
    }
    let is = |name| by.shape == name;
    let keys = [
        ("patch.indenter.radius", by.radius.is_some(), is(IndenterName::Sphere) || is(IndenterName::Cylinder)),
        ("patch.indenter.length", by.length.is_some(), is(IndenterName::Cylinder)),
        ("patch.indenter.size", by.size.is_some(), is(IndenterName::Box) || is(IndenterName::Heights)),
        ("patch.indenter.file", by.file.is_some(), is(IndenterName::Heights)),
    ];
    for (field, given, wanted) in keys {
        match (given, wanted) {
            (true, false) => return wrong(field, "given", "none: this shape has no such number"),
            (false, true) => return wrong(field, "missing", "this key of the shape"),
            _ => {}
        }
    }
    match (&layer.stiffness, &layer.modulus) {
        (Some(_), Some(_)) => return wrong("patch.layer.modulus", "given", "only one of `stiffness`, `modulus`"),
        (None, None) => {
            return wrong(
                "patch.layer.stiffness",
                "missing",
                "the stiffness [N/m^3] of springs under the indenter, or `modulus` [Pa] of a half-space",
            );
        }
        _ => {}
    }
    let has_force = spec.inputs.normal_force.is_some() || spec.inputs.tilt.is_some();
    if by.depth.is_some() && has_force {
        return wrong(
            "patch.indenter.depth",
            "given",
            "either `depth`, or `inputs.normal_force` or `inputs.tilt`: the depth gives the force",
        );
    }
    if spec.body.kind == KindName::Prescribed && spec.inputs.surface.is_some() {
        return wrong(
            "inputs.surface",
            "given",
            "none: under a `prescribed` twist an indenter moves with the body alone",
        );
    }
    by.every.map_or(Ok(()), |every| INDENTER_EVERY.check(every))
}

/// What presses on the layer of all contacts.
#[derive(Debug)]
pub(super) struct Indented {
    by: IndenterSpec,
    layer: LayerSpec,
    /// Columns and rows of the layer.
    cells: [usize; 2],
    size: Option<OneOrTwo<Number>>,
    /// Columns of a relief, and its heights [m].
    relief: Option<(usize, Arc<[f64]>)>,
}

impl Indented {
    /// Reads the relief, if it is one; a relative file is looked for in `base`.
    pub fn prepare(
        by: &IndenterSpec,
        layer: &LayerSpec,
        cells: [usize; 2],
        size: Option<&OneOrTwo<Number>>,
        base: &Path,
    ) -> Result<Self, PatchFailure> {
        let relief = by.file.as_ref().map(|file| {
            let path = base.join(file);
            let map = load_one(&path).map_err(|e| PatchFailure::of(RELIEF, e))?;
            Ok((map.nx, map.pressure.into()))
        });
        let [nx, ny] = cells;
        Grid::new(nx, ny, 1.0, 1.0).map_err(|e| PatchFailure::of("patch.cells", e.into()))?;
        let relief = relief.transpose()?;
        Ok(Self { by: by.clone(), layer: layer.clone(), cells, size: size.cloned(), relief })
    }

    /// Adds what it has read to a digest.
    pub fn digest(&self, digest: &mut Digest) {
        digest.counts(&self.cells);
        if let Some((columns, heights)) = &self.relief {
            digest.counts(&[*columns]);
            digest.numbers(heights);
        }
    }

    /// The layer of one contact, under an indenter that moves as its body does.
    pub fn draw(
        &self,
        spec: &Spec,
        (body, inputs): (&Body, &Inputs),
        axes: Option<FrictionAxes>,
        d: &mut Sampler<'_>,
    ) -> Result<DrawnPatch, ParameterError> {
        let two = |name: &str, of: &OneOrTwo<Number>, d: &mut Sampler<'_>| match of {
            OneOrTwo::One(n) => [d.number(name, n); 2],
            OneOrTwo::Two(w, h) => [d.number(&format!("{name}.0"), w), d.number(&format!("{name}.1"), h)],
        };
        let [nx, ny] = self.cells;
        let one = OneOrTwo::One(Number::Constant(SIZE.default));
        let [w, h] = two("patch.size", self.size.as_ref().unwrap_or(&one), d);
        let grid = Grid::new(nx, ny, w, h)?;
        let radius = d.optional(&INDENTER_RADIUS, &self.by.radius);
        let length = d.optional(&INDENTER_LENGTH, &self.by.length);
        let size = self.by.size.as_ref().map_or([f64::NAN; 2], |size| two(INDENTER_SIZE.name, size, d));
        let indenter = match self.by.shape {
            IndenterName::Sphere => Indenter::Sphere { radius },
            IndenterName::Cylinder => Indenter::Cylinder { radius, length },
            IndenterName::Box => Indenter::Box { size },
            IndenterName::Heights => {
                let (columns, heights) = self.relief.as_ref().map_or((0, &[][..]), |(n, heights)| (*n, heights));
                Indenter::Heights(Heights::new(columns, heights, size)?)
            }
        };
        let foundation = match &self.layer.modulus {
            Some(_) => Foundation::Hertz { modulus: d.optional(&LAYER_MODULUS, &self.layer.modulus) },
            None => Foundation::Winkler { stiffness: d.optional(&LAYER_STIFFNESS, &self.layer.stiffness) },
        };
        let mut signal = |name: &str, of: Option<&SignalSpec>| {
            of.map_or_else(|| Ok(Signal::constant(0.0)), |of| of.draw(name, spec.inputs.hold, d))
        };
        let at = self.by.at.as_ref();
        let at =
            [signal("patch.indenter.at.0", at.map(|at| &at[0]))?, signal("patch.indenter.at.1", at.map(|at| &at[1]))?];
        let turn = signal("patch.indenter.turn", self.by.turn.as_ref())?;
        let depth = self.by.depth.as_ref().map(|depth| signal("patch.indenter.depth", Some(depth))).transpose()?;
        let shear = d.number(LAYER_SHEAR.name, &self.layer.shear_stiffness);
        LAYER_SHEAR.check(shear)?;

        let every = self.by.every.unwrap_or(INDENTER_EVERY.default);
        let count = (spec.duration / every * (1.0 - 1e-9)).floor() as usize + 1;
        if count > MOST_FRAMES {
            let accepted = format!("at most {MOST_FRAMES} times in a run of {} s", spec.duration);
            return Err(ParameterError::new(INDENTER_EVERY.name, every, accepted));
        }
        let times: Vec<f64> = (0..count).map(|k| every * k as f64).collect();
        let sequence = |moved: &[[f64; 3]]| {
            let (mut own, mut presses) = (Vec::new(), Vec::<Press>::new());
            let mut last: Option<(Press, f64, Press)> = None;
            for (t, [x, y, w]) in times.iter().zip(moved) {
                // Values from the time of the frame on.
                let t_on = t + 1e-9;
                let place = [at[0].value(t_on) + x, at[1].value(t_on) + y];
                let mut press = Press { at: place, turn: turn.value(t_on) + w, depth: 0.0 };
                match &depth {
                    Some(depth) => press.depth = depth.value(t_on),
                    None => {
                        let force = inputs.normal_force.value(t_on).max(0.0);
                        let same = last.filter(|(of, under, _)| (*of, *under) == (press, force));
                        press = match same {
                            Some((.., found)) => found,
                            None => {
                                let guess = Press { depth: last.map_or(0.0, |(.., found)| found.depth), ..press };
                                let found = guess.under(force, grid, &indenter, foundation)?;
                                last = Some((press, force, found));
                                found
                            }
                        };
                    }
                }
                if presses.last() != Some(&press) {
                    own.push(*t);
                    presses.push(press);
                }
            }
            let sequence = Sequence::indented(grid, indenter.clone(), foundation, own, &presses);
            sequence.and_then(|sequence| Patch::following(grid, Arc::new(sequence))).map_err(|e| match e {
                PatchError::Parameter(e) => e,
                PatchError::Empty => {
                    let accepted = "one that touches the layer at some time of the run";
                    ParameterError::new("patch.indenter", "never in contact", accepted)
                }
                other => ParameterError::new("patch.indenter", "given", other.to_string()),
            })
        };
        let first = [at[0].value(0.0), at[1].value(0.0)];
        let path = |cop| moved(body, inputs, (first, cop), &times, spec.duration);
        let mut patch = sequence(&path(first)?)?;
        if let Body::Prescribed { twist: [_, _, w], at: TwistPoint::Cop } = body
            && !(w.is_constant() && w.value(0.0) == 0.0)
        {
            // The twist is given at the centre of pressure of the first map, on which its place depends.
            let mut given = first;
            for _ in 0..MOST_GUESSES {
                let [x, y] = patch.cop();
                if (x - given[0]).hypot(y - given[1]) <= 1e-7 {
                    break;
                }
                given = [x, y];
                patch = sequence(&path(given)?)?;
            }
            let [x, y] = patch.cop();
            let accepted = "`\"origin\"`: where this indenter first touches depends on its twist";
            if (x - given[0]).hypot(y - given[1]) > 1e-6 {
                return Err(ParameterError::new("inputs.twist.at", "cop", accepted));
            }
        }
        let patch = if let Some(axes) = axes { patch.with_friction_axes(axes) } else { patch };
        let Grid { dx, dy, .. } = grid;
        let force = patch.sequence().map(|sequence| sequence.normal_force(dx * dy));
        Ok(DrawnPatch { patch: Arc::new(patch), update: None, force, friction: 1.0, layer: Some((shear, 1.0)) })
    }
}

/// Most frames of an indenter.
const MOST_FRAMES: usize = 1_000_000;
/// Most guesses of the centre of pressure of the first map.
const MOST_GUESSES: usize = 30;
/// The largest angle \[rad\] by which sines of a twist, or the body, turn in a step of the path.
const STEP: f64 = 0.05;
/// Most steps of the path between two break points.
const MOST_STEPS: f64 = 1000.0;

/// By how much a point that is `first` on the layer has moved with a body whose twist is given, at some
/// times, and by how much the body has turned [m, m, rad]; by nothing with a body that is free. A twist that
/// is given at the centre of pressure is that at `cop` [m].
fn moved(
    body: &Body,
    inputs: &Inputs,
    (first, cop): ([f64; 2], [f64; 2]),
    times: &[f64],
    duration: f64,
) -> Result<Vec<[f64; 3]>, ParameterError> {
    let Body::Prescribed { at, twist } = body else { return Ok(vec![[0.0; 3]; times.len()]) };
    // The intervals of the twist, which is smooth in each. A patch whose centre is the origin gives the twist
    // where it is given.
    let grid = Grid { nx: 1, ny: 1, dx: 1.0, dy: 1.0 };
    let patch = Arc::new(Patch::from_pressure(grid, &[1.0]).unwrap_or_else(|_| unreachable!("a cell with pressure")));
    let (friction, model, initial) = (Friction::default(), Model::Distributed, Initial::default());
    let inputs = Inputs { remap_every: None, mu_c: None, mu_s: None, ..inputs.clone() };
    let contact = Contact { patch, model, friction, body: body.clone(), inputs, initial };
    contact.validate_over(duration)?;
    // A map that is made once is that at the start.
    if times.len() == 1 {
        return Ok(vec![[0.0; 3]]);
    }
    let fastest = twist.iter().map(Signal::fastest).fold(0.0, f64::max);
    let given = match at {
        TwistPoint::Cop => cop,
        TwistPoint::Origin => [0.0; 2],
    };
    let timeline = contact.timeline(times);
    let (mut out, mut state) = (vec![[0.0; 3]], [0.0; 3]);
    for i in 0..timeline.len() {
        let interval = contact.interval(&timeline, i);
        let rate = |tau: f64, [x, y, _]: [f64; 3]| {
            let now = interval.inputs(tau);
            let [vx, vy, w] = [now[slot::LOAD], now[slot::LOAD + 1], now[slot::LOAD + 2]];
            let [px, py] = [first[0] + x - given[0], first[1] + y - given[1]];
            [vx - w * py, vy + w * px, w]
        };
        // Runge and Kutta's steps, of fourth order.
        let turns = [0.0, 0.5, 1.0].map(|share| interval.inputs(share * interval.length)[slot::LOAD + 2].abs());
        let turn = (fastest + turns.into_iter().fold(0.0, f64::max)) * interval.length;
        let steps = (turn / STEP).ceil().clamp(1.0, MOST_STEPS);
        let h = interval.length / steps;
        for step in 0..steps as usize {
            let t = h * step as f64;
            let on = |by: f64, rate: [f64; 3]| [0, 1, 2].map(|k| state[k] + by * rate[k]);
            let a = rate(t, state);
            let b = rate(t + 0.5 * h, on(0.5 * h, a));
            let c = rate(t + 0.5 * h, on(0.5 * h, b));
            let d = rate(t + h * (1.0 - 1e-9), on(h, c));
            state = [0, 1, 2].map(|k| state[k] + h / 6.0 * (a[k] + 2.0 * b[k] + 2.0 * c[k] + d[k]));
        }
        if interval.record {
            out.push(state);
        }
    }
    out.truncate(times.len());
    Ok(out)
}

#[cfg(test)]
mod tests {
    use crate::{Scenario, ScenarioError, change};
    use bristle::contact::Contact;
    use bristle::patch::Patch;

    const PRESS: &str = r#"
duration = 1.0
[patch]
cells = 40
size = 0.04
[patch.layer]
stiffness = 5e7
shear_stiffness = 2e7
[patch.indenter]
shape = "sphere"
radius = 0.02
depth = 4e-4
[body]
kind = "prescribed"
[inputs.twist]
at = "origin"
vx = 5e-3
"#;

    fn parsed(changes: &[&str]) -> Result<Scenario, ScenarioError> {
        let text = changes.iter().fold(PRESS.to_owned(), |text, c| change(&text, c).unwrap());
        Scenario::parse(&text, ".".as_ref(), "press.toml")
    }

    fn under(contact: &Contact, t: f64) -> Patch {
        contact.map_at(t).map_or_else(|| Patch::clone(&contact.patch), |key| contact.patch.at(key))
    }

    /// The pressure goes where the twist takes the indenter, around the origin too.
    #[test]
    fn the_indenter_moves_with_the_body() {
        let near = |found: [f64; 2], wanted: [f64; 2]| {
            let off = (found[0] - wanted[0]).hypot(found[1] - wanted[1]);
            assert!(off < 5e-5, "{found:?}, not {wanted:?}");
        };
        let contact = parsed(&[]).unwrap().contact(0).unwrap();
        near(under(&contact, 0.0).cop(), [0.0; 2]);
        near(under(&contact, 0.605).cop(), [3e-3, 0.0]);
        // A jump of the twist between two frames, and a turn about the origin.
        let steps = "inputs.twist.vx={ points = [[0, 0], [0.2, 0], [0.205, 0.01], [0.7, 0.01], [0.705, 0]] }";
        let contact = parsed(&[steps]).unwrap().contact(0).unwrap();
        near(under(&contact, 0.99).cop(), [0.01 * 0.5, 0.0]);
        let at = "patch.indenter.at=[0.008, 0]";
        let contact = parsed(&["inputs.twist.vx=0", "inputs.twist.w=1.5", at]).unwrap().contact(0).unwrap();
        near(under(&contact, 0.9).cop(), [0.008 * 1.35f64.cos(), 0.008 * 1.35f64.sin()]);
        // At the centre of pressure it turns where it is.
        let cop = "inputs.twist.at='cop'";
        let contact = parsed(&["inputs.twist.vx=0", "inputs.twist.w=1.5", at, cop]).unwrap().contact(0).unwrap();
        near(under(&contact, 0.9).cop(), [0.008, 0.0]);
        // A ball that rolls stays above the same place of its own.
        let back = "patch.indenter.at=[{ points = [[0, 0], [1, -5e-3]] }, 0]";
        near(under(&parsed(&[back]).unwrap().contact(0).unwrap(), 0.9).cop(), [0.0; 2]);
    }

    #[test]
    fn a_force_presses_as_deep_as_it_must_and_a_depth_gives_the_force() {
        let contact = parsed(&[]).unwrap().contact(0).unwrap();
        let force = std::f64::consts::PI * 5e7 * 1.6e-7 * (0.02 - 4e-4 / 3.0);
        assert!((contact.inputs.normal_force.value(0.3) / force - 1.0).abs() < 1e-2);
        assert_eq!(contact.friction.sigma1, 1e-3 * contact.friction.sigma0);
        let shallow = Scenario::parse(&PRESS.replace("depth = 4e-4", ""), ".".as_ref(), "s").unwrap_err().to_string();
        assert!(shallow.contains("inputs.normal_force"), "{shallow}");
        let by_force = PRESS
            .replace("depth = 4e-4", "")
            .replace("[inputs.twist]", "[inputs]\nnormal_force = { points = [[0, 1], [1, 9]] }\n[inputs.twist]");
        let contact = Scenario::parse(&by_force, ".".as_ref(), "s").unwrap().contact(0).unwrap();
        for t in [0.0, 0.4, 0.95] {
            let (found, wanted) = (contact.inputs.normal_force.value(t + 1e-6), 1.0 + 8.0 * t);
            assert!((found / wanted - 1.0).abs() < 1e-6, "{found}, not {wanted}");
        }
        // What is the same in all frames is one frame.
        let still = ["inputs.twist.vx=0"];
        assert_eq!(parsed(&still).unwrap().contact(0).unwrap().patch.sequence().unwrap().len(), 1);
    }

    #[test]
    fn keys_that_do_not_go_together_say_why() {
        let wrong = |changes: &[&str]| parsed(changes).unwrap_err().to_string();
        for (changes, message) in [
            (&["friction.sigma0=1e5"][..], "friction.sigma0 = given: expected none: `patch.layer.shear_stiffness`"),
            (&["friction.sigma2=0.1"], "friction.sigma2 = 0.1: expected 0: viscous friction"),
            (&["contact.model='reduced'"], "patch.layer = given: expected `contact.model = \"distributed\"`"),
            (&["stop_when={ slip_for = 0.1 }"], "stop_when.slip_for = given: expected none: cells of a layer"),
            (&["patch.shape='disc'"], "patch.shape = given: expected none: `patch.indenter` makes the map"),
            (&["patch.indenter.size=0.01"], "patch.indenter.size = given: expected none: this shape"),
            (&["patch.indenter.shape='cylinder'"], "patch.indenter.length = missing: expected this key of the shape"),
            (&["patch.indenter.shape='cone'"], "cone"),
            (&["patch.layer.modulus=1e6"], "patch.layer.modulus = given: expected only one of"),
            (&["inputs.normal_force=3"], "patch.indenter.depth = given: expected either `depth`"),
            (&["patch.indenter.depth=-1e-3"], "patch.indenter = never in contact: expected one that touches"),
            (&["patch.indenter.every=0"], "patch.indenter.every = 0: expected"),
            (&["patch.indenter.radius=-1"], "patch.indenter.radius = -1: expected"),
            (&["patch.layer.shear_stiffness=0"], "patch.layer.shear_stiffness = 0: expected"),
            (&["inputs.surface={ vx = 0.1 }"], "inputs.surface = given: expected none: under a `prescribed`"),
            (&["initial.bristles='steady'"], "initial.bristles = steady: expected `unloaded`"),
            (&["sensor={ noise = -1 }"], "sensor.noise = -1: expected"),
            (&["sensor={ delay = 0.015 }"], "sensor.delay = 0.015: expected a multiple of `record_every`"),
            (&["sensor={ dead = 2 }"], "sensor.dead = 2: expected"),
        ] {
            let found = wrong(changes);
            assert!(found.contains(message), "{changes:?}: {found}");
        }
        let alone = r#"
duration = 1
patch = { layer = { shear_stiffness = 1e7 } }
body = { kind = "prescribed" }
inputs = { normal_force = 1, twist = { vx = 1 } }
"#;
        let found = Scenario::parse(alone, ".".as_ref(), "s").unwrap_err().to_string();
        assert!(found.contains("patch.layer = given: expected beside `patch.indenter`"), "{found}");
    }
}

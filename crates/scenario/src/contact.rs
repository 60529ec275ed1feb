//! From the tables of a scenario to one drawn contact.

use super::number::Number;
use super::patches::{DrawnPatch, Patches};
use super::sampler::Sampler;
use super::several::{PlacedSpec, Several};
use super::shapes::Inertia;
use super::signal::SignalSpec;
use super::spec::{
    BodySpec, BristlesName, FrictionSpec, InputsSpec, KindName, ModelName, PointSpec, Spec, SurfaceSpec,
};
use super::tables::Tables;
use bristle::body::{Body, Frame, FreeBody};
use bristle::contact::{Bristles, Contact, Initial, Inputs, Layer, Model, PatchInputs};
use bristle::error::{ParameterError, check};
use bristle::friction::Friction;
use bristle::moving_surface::MovingSurface;
use bristle::parameter::{self, LAYER_SHEAR, SIGMA0, SIGMA1, TILT_ANGLE, TILT_DIRECTION, TILT_GRAVITY};
use bristle::planar::{Pose, Twist};
use bristle::point::{PointElement, PointModel};
use bristle::schedule::Signal;

/// Time in which the damper of an elastic layer settles it, if no `sigma1` is given [s]: that of a rubber
/// that loses a tenth at 10 Hz.
const LAYER_RELAXATION: f64 = 1e-3;

/// Draws a contact. Without `surface` no limit surface is made and the model of a patch is `Distributed`,
/// which is enough to check the contact and to know its parameters.
pub(super) fn contact(
    spec: &Spec,
    (patches, several): (&Patches, Option<&Several>),
    tables: &Tables,
    surface: bool,
    d: &mut Sampler<'_>,
) -> Result<Contact, ParameterError> {
    let mut body = body(&spec.body, spec.contact.model, d);
    let mut inputs = inputs(&spec.inputs, &mut body, d)?;
    inputs.patches = of_patches(spec, d)?;
    inputs.push_height = d.optional(&parameter::PUSH_HEIGHT, &spec.inputs.push_height);
    let mut friction = friction(&spec.friction, &inputs, spec.patch.layer.is_some(), d);
    let DrawnPatch { patch, update, force, friction: mean, layer } = match (several, patches.indented()) {
        (Some(several), _) => several.draw(patches, Some(&body), &inputs.patches, d)?,
        (None, Some((indented, axes))) => indented.draw(spec, (&body, &inputs), axes, d)?,
        (None, None) => patches.draw(inputs.normal_force.value(0.0), d)?,
    };
    // A reduced bristle has the mean of the friction map in its coefficients.
    (friction.mu_c, friction.mu_s) = (mean * friction.mu_c, mean * friction.mu_s);
    inputs.remap_every = update;
    if let Some(force) = force {
        if force.is_constant() {
            d.record("inputs.normal_force", force.value(0.0));
        }
        inputs.normal_force = force;
    }
    tables.check(&spec.contact, &patch)?;
    let is_point = spec.contact.model == ModelName::Point;
    let model = match (&spec.contact.point, layer) {
        (_, Some((shear, pascal))) => {
            let layer = Layer::of(&patch, pascal)?;
            friction.sigma0 = layer.sigma0(&patch, shear);
            let accepted = format!("one that makes `sigma0` {}, not {} 1/m", SIGMA0.range, friction.sigma0);
            check(LAYER_SHEAR.name, shear, accepted, SIGMA0.range.contains(friction.sigma0))?;
            if friction.sigma1.is_nan() {
                friction.sigma1 = (LAYER_RELAXATION * friction.sigma0).min(SIGMA1.range.most);
                d.again(SIGMA1.name, friction.sigma1);
            }
            d.record(SIGMA0.name, friction.sigma0);
            Model::Layer(layer)
        }
        (point, None) if is_point => point_model(point.as_ref(), d).into(),
        (_, None) if surface => tables.model(&spec.contact, &patch)?,
        (_, None) => Model::Distributed,
    };
    if d.parameters.is_some() && !is_point {
        d.record("patch.torsional_radius", tables.radius(&spec.contact, &patch));
    }
    // The viscous factor is a sum over cell centres. For one cell it is zero, and with it the torsional
    // stiffness of a reduced bristle. A map that changes may have one cell at first, if its grid has more.
    let is_fixed = !patch.changes() || patch.grid().len() == 1;
    let has_no_stiffness = || is_fixed && patch.viscous() == 0.0 && tables.radius(&spec.contact, &patch) > 0.0;
    if spec.contact.model == ModelName::Reduced && has_no_stiffness() {
        let accepted = "at least two cells for a reduced bristle that resists rotation, or `contact.rule = \"points\"`";
        return Err(ParameterError::new("patch", "one cell with pressure", accepted));
    }
    let three = |path: &str, numbers: &Option<[Number; 3]>, d: &mut Sampler<'_>| {
        let zero = [0.0, 0.0, 0.0].map(Number::Constant);
        let numbers = numbers.as_ref().unwrap_or(&zero);
        [0, 1, 2].map(|i| d.number(&format!("{path}.{i}"), &numbers[i]))
    };
    let initial = Initial {
        pose: Pose::from(three("initial.pose", &spec.initial.pose, d)),
        bristles: match spec.initial.bristles {
            BristlesName::Unloaded => Bristles::Unloaded,
            BristlesName::Steady => Bristles::Steady,
        },
    };
    let twist = Twist::from(three("initial.twist", &spec.initial.twist, d));
    body.free_mut().into_iter().for_each(|body| body.twist = twist);
    let contact = Contact { patch, model, friction, body, inputs, initial };
    contact.validate_over(spec.duration)?;
    Ok(contact)
}

/// Coefficients that are signals have their value at the start. It may be that of an elastic layer.
pub(super) fn friction(spec: &FrictionSpec, inputs: &Inputs, on_layer: bool, d: &mut Sampler<'_>) -> Friction {
    let mu_c = match &inputs.mu_c {
        Some(signal) => signal.value(0.0),
        None => d.parameter(&parameter::MU_C, &spec.mu_c),
    };
    let mu_s = match (&inputs.mu_s, &spec.mu_s) {
        (Some(signal), _) => signal.value(0.0),
        (None, Some(_)) => d.parameter(&parameter::MU_S, &spec.mu_s),
        (None, None) => mu_c * d.parameter(&parameter::MU_S_OVER_MU_C, &spec.mu_s_over_mu_c),
    };
    // What an elastic layer has in place of the defaults; its `sigma0` follows from others.
    let or = |given: &Option<Number>, own: f64| given.clone().or(on_layer.then_some(Number::Constant(own)));
    let friction = Friction {
        law: spec.law,
        sigma0: if on_layer { SIGMA0.default } else { d.parameter(&SIGMA0, &spec.sigma0) },
        sigma1: d.parameter(&SIGMA1, &or(&spec.sigma1, f64::NAN)),
        sigma2: d.parameter(&parameter::SIGMA2, &or(&spec.sigma2, 0.0)),
        mu_c,
        mu_s,
        gamma: d.parameter(&parameter::GAMMA, &spec.gamma),
        v_s: d.parameter(&parameter::V_S, &spec.v_s),
        s_ba: d.parameter(&parameter::S_BA, &spec.s_ba),
    };
    if spec.mu_s.is_none() && inputs.mu_s.is_none() {
        d.record("friction.mu_s", mu_s);
    }
    friction
}

/// The model of a point contact.
fn point_model(spec: Option<&PointSpec>, d: &mut Sampler<'_>) -> PointModel {
    let default = PointModel::default();
    let Some(PointSpec { law, band, slider_mass, attraction, elements }) = spec else { return default };
    let mut model = PointModel {
        law: *law,
        band: d.optional(&parameter::BAND, band),
        slider_mass: d.optional(&parameter::SLIDER_MASS, slider_mass),
        attraction: d.optional(&parameter::ATTRACTION, attraction),
        elements: default.elements,
    };
    if let Some(elements) = elements {
        let mut element = |(i, [share, stiffness]): (usize, &[Number; 2])| PointElement {
            share: d.number(&format!("contact.point.elements.{i}.0"), share),
            stiffness: d.number(&format!("contact.point.elements.{i}.1"), stiffness),
        };
        model.elements = elements.iter().enumerate().map(&mut element).collect();
    }
    model
}

fn body(spec: &BodySpec, model: ModelName, d: &mut Sampler<'_>) -> Body {
    let frame = match spec.kind {
        KindName::Prescribed => return Body::prescribed(Twist::default()),
        KindName::Gripper => Frame::Gripper,
        KindName::Body => Frame::Body { offset: [0.0; 2] },
        KindName::World => Frame::World,
    };
    // Missing mass or inertia have been refused before.
    let mass = d.parameter(&parameter::MASS, &spec.mass);
    let inertia = match &spec.inertia {
        None => f64::NAN,
        Some(Inertia::Number(n)) => d.number("body.inertia", n),
        Some(Inertia::Rectangle(sides)) => {
            let [w, h] = [0, 1].map(|i| d.number(&format!("body.inertia.rectangle.{i}"), &sides[i]));
            mass / 12.0 * (w * w + h * h)
        }
        Some(Inertia::Disc(radius)) => {
            let r = d.number("body.inertia.disc", radius);
            0.5 * mass * r * r
        }
    };
    let turns = model != ModelName::Point;
    if turns && !matches!(spec.inertia, Some(Inertia::Number(_))) {
        d.record("body.inertia", inertia);
    }
    let mut body = FreeBody::new(frame, mass, if turns { inertia } else { 1.0 });
    body.spring = d.optional(&parameter::SPRING, &spec.spring);
    body.pads = spec.pads.unwrap_or(body.pads);
    d.record("body.pads", f64::from(body.pads));
    if let (Frame::Body { offset }, Some(given)) = (&mut body.frame, &spec.offset) {
        *offset = [0, 1].map(|i| d.number(&format!("body.offset.{i}"), &given[i]));
    }
    body.into()
}

/// Draws the inputs that every contact has, and into the body what it takes: loads, or the prescribed twist.
/// That a file gives a body what it does not take has been refused before.
fn inputs(spec: &InputsSpec, body: &mut Body, d: &mut Sampler<'_>) -> Result<Inputs, ParameterError> {
    let hold = spec.hold;
    let signal = |path: &str, s: &SignalSpec, d: &mut Sampler<'_>| s.draw(path, hold, d);
    let or_zero = |path: &str, s: Option<&SignalSpec>, d: &mut Sampler<'_>| {
        s.map_or_else(|| Ok(Signal::constant(0.0)), |s| signal(path, s, d))
    };
    let mut inputs = Inputs::default();
    if let Some(s) = &spec.normal_force {
        inputs.normal_force = signal("inputs.normal_force", s, d)?;
    }
    if let (Some(w), Body::Free(body)) = (&spec.wrench, &mut *body) {
        body.wrench = [
            or_zero("inputs.wrench.fx", w.fx.as_ref(), d)?,
            or_zero("inputs.wrench.fy", w.fy.as_ref(), d)?,
            or_zero("inputs.wrench.tau", w.tau.as_ref(), d)?,
        ];
    }
    if let (Some([gx, gy]), Body::Free(body)) = (&spec.gravity, &mut *body) {
        body.gravity = [signal("inputs.gravity.0", gx, d)?, signal("inputs.gravity.1", gy, d)?];
    }
    if let (Some([x, y]), Body::Free(body)) = (&spec.anchor, &mut *body) {
        body.anchor = [signal("inputs.anchor.0", x, d)?, signal("inputs.anchor.1", y, d)?];
    }
    if let (Some(tilt), Body::Free(body)) = (&spec.tilt, &mut *body) {
        let angle = d.number(TILT_ANGLE.name, &tilt.angle);
        let direction = d.parameter(&TILT_DIRECTION, &tilt.direction);
        let g = d.parameter(&TILT_GRAVITY, &tilt.gravity);
        [(TILT_ANGLE, angle), (TILT_DIRECTION, direction), (TILT_GRAVITY, g)]
            .into_iter()
            .try_for_each(|(parameter, value)| parameter.check(value))?;
        let down = g * angle.sin();
        body.gravity = [Signal::constant(down * direction.cos()), Signal::constant(down * direction.sin())];
        inputs.normal_force = Signal::constant(body.mass * g * angle.cos() / f64::from(body.pads));
        d.record("inputs.normal_force", inputs.normal_force.value(0.0));
    }
    if let (Some(t), Body::Prescribed { twist, at }) = (&spec.twist, &mut *body) {
        *twist = [
            or_zero("inputs.twist.vx", t.vx.as_ref(), d)?,
            or_zero("inputs.twist.vy", t.vy.as_ref(), d)?,
            or_zero("inputs.twist.w", t.w.as_ref(), d)?,
        ];
        *at = t.at;
    }
    inputs.surface = spec.surface.as_ref().map(|s| moving_surface("inputs.surface", s, hold, d)).transpose()?;
    inputs.mu_c = spec.mu_c.as_ref().map(|s| signal("inputs.mu_c", s, d)).transpose()?;
    inputs.mu_s = spec.mu_s.as_ref().map(|s| signal("inputs.mu_s", s, d)).transpose()?;
    Ok(inputs)
}

/// The motion of a surface, whose field is `path`.
fn moving_surface(
    path: &str,
    spec: &SurfaceSpec,
    hold: Option<f64>,
    d: &mut Sampler<'_>,
) -> Result<MovingSurface, ParameterError> {
    let mut signal = |name: &str, s: Option<&SignalSpec>| {
        s.map_or_else(|| Ok(Signal::constant(0.0)), |s| s.draw(&format!("{path}.{name}"), hold, d))
    };
    let twist = [signal("vx", spec.vx.as_ref())?, signal("vy", spec.vy.as_ref())?, signal("w", spec.w.as_ref())?];
    let at = spec.at.as_ref().map_or([0.0; 2], |at| [0, 1].map(|i| d.number(&format!("{path}.at.{i}"), &at[i])));
    Ok(MovingSurface { twist, at })
}

/// What each of several patches has of its own; none if they have nothing.
fn of_patches(spec: &Spec, d: &mut Sampler<'_>) -> Result<Vec<PatchInputs>, ParameterError> {
    let patches = spec.patches.as_deref().unwrap_or_default();
    let has_none = |placed: &PlacedSpec| placed.normal_force.is_none() && placed.surface.is_none();
    if spec.inputs.push_height.is_none() && patches.iter().all(has_none) {
        return Ok(Vec::new());
    }
    let hold = spec.inputs.hold;
    let own = |(k, placed): (usize, &PlacedSpec)| {
        let force = placed.normal_force.as_ref().map(|s| s.draw(&format!("patches.{k}.normal_force"), hold, d));
        let surface = placed.surface.as_ref().map(|s| moving_surface(&format!("patches.{k}.surface"), s, hold, d));
        Ok(PatchInputs { normal_force: force.transpose()?, surface: surface.transpose()? })
    };
    patches.iter().enumerate().map(own).collect()
}

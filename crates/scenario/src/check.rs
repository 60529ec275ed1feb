//! Checks of a scenario as a whole, before anything is drawn: keys that exclude or need each other,
//! and the ends of every distribution.

use super::indenter;
use super::number::Number;
use super::several::PlacedSpec;
use super::shapes::{Inertia, OneOrTwo, ShapeName};
use super::spec::{BodySpec, FrictionSpec, InputsSpec, KindName, ModelName, PointSpec, Spec, SurfaceName, SurfaceSpec};
use bristle::error::ParameterError;
use bristle::limit_surface::MAX_N_LS;
use bristle::parameter::*;
use bristle::point::PointLaw;
use bristle::range::Range;

type Check = Result<(), ParameterError>;

/// Largest number of contacts of a run; indices up to it are exact in every number format that is written.
const MAX_CONTACTS: u64 = 1 << 32;

pub(super) fn spec(spec: &Spec) -> Check {
    if !(1..=MAX_CONTACTS).contains(&spec.contacts) {
        return Err(ParameterError::new("contacts", spec.contacts, format!("1 to {MAX_CONTACTS}")));
    }
    for (parameter, period) in [(HOLD, spec.inputs.hold), (UPDATE, spec.patch.update)] {
        period.map_or(Ok(()), |period| parameter.check(period))?;
    }
    if spec.stop_when.is_some_and(|when| when.is_never()) {
        return Err(missing("stop_when", "one or several of `displacement`, `rotation`, `slip_for`"));
    }
    contact(spec)?;
    indenter::check(spec)?;
    point(spec)?;
    kind(spec)?;
    body(&spec.body, spec.contact.model)?;
    inputs(spec)?;
    coefficients(&spec.friction, &spec.inputs)?;
    ranges(spec)
}

/// Refuses signals with times of another clock than the run's, whose duration has been checked, and a sensor
/// whose readings are late by a part of a sample.
pub(super) fn times(spec: &Spec) -> Check {
    spec.sensor.map_or(Ok(()), |sensor| sensor.check(spec.record_every))?;
    spec.inputs.signals().try_for_each(|(name, signal)| signal.check_times(name, spec.duration))?;
    let mut of_indenter = spec.patch.indenter.iter().flat_map(indenter::IndenterSpec::signals);
    of_indenter.try_for_each(|(name, signal)| signal.check_times(name, spec.duration))?;
    let patches = spec.patches.iter().flatten().enumerate();
    patches
        .flat_map(|(k, placed)| placed.signals(k))
        .try_for_each(|(name, signal)| signal.check_times(&name, spec.duration))
}

fn unused(field: &str, of: &str) -> ParameterError {
    ParameterError::new(field, "given", format!("this key only for {of}"))
}

fn missing(field: &str, need: &str) -> ParameterError {
    ParameterError::new(field, "missing", need)
}

fn contact(spec: &Spec) -> Check {
    let c = &spec.contact;
    let table = [
        ("contact.rule", c.rule.is_some()),
        ("contact.n_ls", c.n_ls.is_some()),
        ("contact.table_force", c.table_force.is_some()),
    ];
    let first = |keys: &[(&'static str, bool)]| keys.iter().find(|(_, given)| *given).map(|(key, _)| *key);
    if c.model != ModelName::Reduced {
        let own = [("contact.surface", c.surface.is_some()), ("contact.form", c.form.is_some())];
        return first(&[&own[..], &table].concat()).map_or(Ok(()), |key| Err(unused(key, "model = \"reduced\"")));
    }
    if c.form.is_some() && !spec.friction.law.is_elastic() {
        return Err(unused("contact.form", "friction.law = \"elasto-plastic\""));
    }
    if c.surface == Some(SurfaceName::Ellipsoid)
        && let Some(key) = first(&table)
    {
        return Err(unused(key, "surface = \"limit-surface\""));
    }
    if let Some(n) = c.n_ls.filter(|n| !(1..=MAX_N_LS).contains(n)) {
        return Err(ParameterError::new("contact.n_ls", n, format!("1 to {MAX_N_LS}")));
    }
    if let Some(force) = c.table_force {
        let hertz = spec.patch.shape.as_ref().is_some_and(|s| s.0.contains(&ShapeName::Hertz));
        if !hertz || spec.patch.exponent_per_newton.is_some() {
            return Err(unused("contact.table_force", "patch.shape = \"hertz\" with a fixed `exponent`"));
        }
        TABLE_FORCE.check(force)?;
    }
    Ok(())
}

/// What a point contact has alone, and what it has not: a patch, and whatever turns a body.
fn point(Spec { step, contact, patch, friction, body, inputs, .. }: &Spec) -> Check {
    let own = [
        ("contact.point", contact.point.is_some()),
        ("body.spring", body.spring.is_some()),
        ("inputs.anchor", inputs.anchor.is_some()),
    ];
    if contact.model != ModelName::Point {
        let given = own.iter().find(|(_, given)| *given);
        return given.map_or(Ok(()), |(key, _)| Err(unused(key, "model = \"point\"")));
    }
    let of_patches = [
        ("step.tolerance", step.tolerance.is_some()),
        ("patch.shape", patch.shape.is_some()),
        ("patch.file", patch.file.is_some()),
        ("patch.pressure", patch.pressure.is_some()),
        ("patch.cells", patch.cells.is_some()),
        ("patch.size", patch.size.is_some()),
        ("friction.map", friction.map.is_some()),
        ("friction.mu", friction.mu.is_some()),
        ("body.inertia", body.inertia.is_some()),
        ("inputs.wrench.tau", inputs.wrench.as_ref().is_some_and(|w| w.tau.is_some())),
        ("inputs.surface", inputs.surface.is_some()),
    ];
    if let Some((key, _)) = of_patches.iter().find(|(_, given)| *given) {
        return Err(unused(key, "contacts with a patch, which turn"));
    }
    if inputs.anchor.is_some() && body.spring.is_none() {
        return Err(unused("inputs.anchor", "a body with a `spring`"));
    }
    let default = PointSpec::default();
    let PointSpec { law, band, slider_mass, attraction, elements } = contact.point.as_ref().unwrap_or(&default);
    for (key, is_given) in [
        ("contact.point.band", band.is_some()),
        ("contact.point.slider_mass", slider_mass.is_some()),
        ("contact.point.attraction", attraction.is_some()),
        ("contact.point.elements", elements.is_some()),
    ] {
        if is_given && !has_key(*law, key) {
            let of: Vec<&str> = PointLaw::ALL.iter().filter(|law| has_key(**law, key)).map(|law| law.name()).collect();
            return Err(unused(key, &format!("`contact.point.law` = {}", of.join(", "))));
        }
    }
    Ok(())
}

/// Whether a law of a point contact has a key.
fn has_key(law: PointLaw, key: &str) -> bool {
    match key {
        "contact.point.band" => law.has_band(),
        "contact.point.slider_mass" => law.has_slider_mass(),
        "contact.point.attraction" => law.has_attraction(),
        _ => law.has_slider_mass() || law.has_attraction(),
    }
}

/// Every kind of body has keys that others do not have. All keys without effect are reported in one error.
fn kind(Spec { body, inputs, initial, .. }: &Spec) -> Check {
    use KindName::{Body, Gripper, Prescribed, World};
    const FREE: (&[KindName], &str) = (&[Body, Gripper, World], "a body that moves freely");
    let keys = [
        ("body.mass", body.mass.is_some(), FREE),
        ("body.spring", body.spring.is_some(), FREE),
        ("body.inertia", body.inertia.is_some(), FREE),
        ("body.pads", body.pads.is_some(), FREE),
        ("body.offset", body.offset.is_some(), (&[Body][..], "kind = \"body\"")),
        ("inputs.wrench", inputs.wrench.is_some(), FREE),
        ("inputs.gravity", inputs.gravity.is_some(), FREE),
        ("inputs.tilt", inputs.tilt.is_some(), (&[Body, World][..], "kinds \"body\" and \"world\"")),
        ("inputs.twist", inputs.twist.is_some(), (&[Prescribed][..], "kind = \"prescribed\"")),
        ("inputs.push_height", inputs.push_height.is_some(), (&[Prescribed][..], "kind = \"prescribed\"")),
        ("initial.twist", initial.twist.is_some(), FREE),
    ];
    let unused_keys = keys.iter().filter(|(_, given, (kinds, _))| *given && !kinds.contains(&body.kind));
    let unused_keys: Vec<(&str, &str)> = unused_keys.map(|(key, _, (_, of))| (*key, *of)).collect();
    match unused_keys[..] {
        [] => Ok(()),
        [(key, of)] => Err(unused(key, of)),
        _ => {
            let names: Vec<&str> = unused_keys.iter().map(|(key, _)| *key).collect();
            let kind = format!("{:?}", body.kind).to_lowercase();
            let needs = if body.kind == Prescribed && inputs.twist.is_none() { ", but `inputs.twist`" } else { "" };
            let accepted =
                format!("none of these with kind = \"{kind}\"{needs}; unsetting `{}` removes them", names.join(","));
            Err(ParameterError::new(names.join(", "), "given", accepted))
        }
    }
}

fn body(body: &BodySpec, model: ModelName) -> Check {
    if body.kind == KindName::Prescribed {
        return Ok(());
    }
    if body.mass.is_none() {
        return Err(missing("body.mass", "a mass > 0 [kg]"));
    }
    if body.inertia.is_none() && model != ModelName::Point {
        return Err(missing(
            "body.inertia",
            "a moment of inertia > 0 [kg m^2], `{ rectangle = [w, h] }` or `{ disc = radius }`",
        ));
    }
    Ok(())
}

/// Every coefficient of friction is given in one place only.
pub(super) fn coefficients(friction: &FrictionSpec, inputs: &InputsSpec) -> Check {
    let only_one = |field: &str, of: &str| Err(ParameterError::new(field, "given", format!("only one of {of}")));
    let (mu_s, ratio) = (friction.mu_s.is_some(), friction.mu_s_over_mu_c.is_some());
    if mu_s && ratio {
        return only_one("friction.mu_s_over_mu_c", "`mu_s`, `mu_s_over_mu_c`");
    }
    if inputs.mu_c.is_some() && friction.mu_c.is_some() {
        return only_one("inputs.mu_c", "`friction.mu_c`, `inputs.mu_c`");
    }
    if inputs.mu_s.is_some() && (mu_s || ratio) {
        let other = if mu_s { "friction.mu_s" } else { "friction.mu_s_over_mu_c" };
        return only_one("inputs.mu_s", &format!("`{other}`, `inputs.mu_s`"));
    }
    // `mu_s_over_mu_c` is the ratio to a constant `mu_c`.
    if inputs.mu_c.is_some() && ratio {
        return Err(unused(
            "friction.mu_s_over_mu_c",
            "a constant `friction.mu_c`; with `inputs.mu_c` say `inputs.mu_s`",
        ));
    }
    if inputs.mu_c.is_some() && inputs.mu_s.is_none() && !mu_s {
        return Err(missing(
            "inputs.mu_s",
            "the static coefficient beside `inputs.mu_c`: inputs.mu_s or friction.mu_s",
        ));
    }
    Ok(())
}

/// Refuses a surface `field` that does not move, or a point of one that does not turn.
pub(super) fn check_surface(surface: &SurfaceSpec, field: &str) -> Check {
    if surface.vx.is_none() && surface.vy.is_none() && surface.w.is_none() {
        return Err(missing(field, "one or several of `vx`, `vy`, `w`"));
    }
    if surface.at.is_some() && surface.w.is_none() {
        return Err(unused(&format!("{field}.at"), "a surface that turns, with `w`"));
    }
    Ok(())
}

/// Whether some patch has a normal force of its own; that all have one is checked with the patches.
fn has_forces_of_patches(patches: &Option<Vec<PlacedSpec>>) -> bool {
    patches.iter().flatten().any(|placed| placed.normal_force.is_some())
}

fn inputs(Spec { inputs, body, patch, patches, contact, friction, .. }: &Spec) -> Check {
    let coefficients = [("inputs.mu_c", inputs.mu_c.is_some()), ("inputs.mu_s", inputs.mu_s.is_some())];
    // A reduced bristle has their mean in its friction, which such an input would take the place of.
    let factors = friction.map.is_some() || patches.iter().flatten().any(|placed| placed.friction.is_some());
    if contact.model == ModelName::Reduced
        && factors
        && let Some((key, _)) = coefficients.iter().find(|(_, given)| *given)
    {
        let accepted = "a reduced bristle without factors of friction (`friction.map`, `patches.*.friction`), or \
                        `contact.model = \"distributed\"`";
        return Err(unused(key, accepted));
    }
    if body.kind == KindName::Prescribed && inputs.twist.is_none() {
        return Err(missing("inputs.twist", "the twist `{ vx, vy, w }` of the patch"));
    }
    inputs.surface.as_ref().map_or(Ok(()), |surface| check_surface(surface, "inputs.surface"))?;
    if patch.unit.is_some() {
        if inputs.normal_force.is_some() || inputs.tilt.is_some() {
            let accepted = "either `patch.unit`, or `inputs.normal_force` or `inputs.tilt`: a pressure gives the force";
            return Err(ParameterError::new("patch.unit", "given", accepted));
        }
    } else if inputs.tilt.is_some() {
        if inputs.normal_force.is_some() || inputs.gravity.is_some() {
            return Err(ParameterError::new(
                "inputs.tilt",
                "given",
                "either `tilt`, or `normal_force` and `gravity`: the tilt gives both",
            ));
        }
    } else if patch.indenter.as_ref().is_some_and(|by| by.depth.is_some()) {
        // The depth gives the force.
    } else if inputs.normal_force.is_none() && !has_forces_of_patches(patches) {
        return Err(missing(
            "inputs.normal_force",
            "the normal force of one pad [N], a number or a signal; or `patch.unit`, or the depth of an indenter",
        ));
    }
    Ok(())
}

/// Both ends of every distribution whose range is known beforehand. Ends at infinity (a normal
/// distribution without bounds) are left to the check of each contact.
fn ranges(spec: &Spec) -> Check {
    let Spec { friction: f, body, patch, .. } = spec;
    let optional = [
        (SIGMA0, &f.sigma0),
        (SIGMA1, &f.sigma1),
        (SIGMA2, &f.sigma2),
        (MU_C, &f.mu_c),
        (MU_S, &f.mu_s),
        (MU_S_OVER_MU_C, &f.mu_s_over_mu_c),
        (GAMMA, &f.gamma),
        (V_S, &f.v_s),
        (S_BA, &f.s_ba),
        (MASS, &body.mass),
        (SPRING, &body.spring),
        (HERTZ_RADIUS, &patch.radius),
        (HERTZ_EXPONENT, &patch.exponent),
        (HERTZ_EXPONENT_PER_NEWTON, &patch.exponent_per_newton),
    ];
    let by = patch.indenter.as_ref();
    let of_layer = [
        (INDENTER_RADIUS, by.and_then(|by| by.radius.as_ref())),
        (INDENTER_LENGTH, by.and_then(|by| by.length.as_ref())),
        (LAYER_STIFFNESS, patch.layer.as_ref().and_then(|layer| layer.stiffness.as_ref())),
        (LAYER_MODULUS, patch.layer.as_ref().and_then(|layer| layer.modulus.as_ref())),
        (LAYER_SHEAR, patch.layer.as_ref().map(|layer| &layer.shear_stiffness)),
    ];
    for (parameter, number) in of_layer {
        number.map_or(Ok(()), |n| ends(parameter.name, n, parameter.range))?;
    }
    for (parameter, number) in optional {
        number.as_ref().map_or(Ok(()), |n| ends(parameter.name, n, parameter.range))?;
    }
    match &body.inertia {
        Some(Inertia::Number(n)) => ends(INERTIA.name, n, INERTIA.range)?,
        Some(Inertia::Disc(n)) => ends("body.inertia.disc", n, SIZE.range)?,
        Some(Inertia::Rectangle(sides)) => {
            for (i, side) in sides.iter().enumerate() {
                ends(&format!("body.inertia.rectangle.{i}"), side, SIZE.range)?;
            }
        }
        None => {}
    }
    match &patch.size {
        Some(OneOrTwo::One(n)) => ends(SIZE.name, n, SIZE.range)?,
        Some(OneOrTwo::Two(w, h)) => {
            ends("patch.size.0", w, SIZE.range)?;
            ends("patch.size.1", h, SIZE.range)?;
        }
        None => {}
    }
    if let (Some(mu_s), Some(mu_c)) = (&f.mu_s, &f.mu_c)
        && mu_s.bounds()[1] < mu_c.bounds()[0]
    {
        let (most, least) = (mu_s.bounds()[1], mu_c.bounds()[0]);
        return Err(ParameterError::new("friction.mu_s", most, format!("a number >= mu_c = {least}")));
    }
    Ok(())
}

/// Both ends of a distribution.
fn ends(field: &str, number: &Number, range: Range) -> Check {
    let bad = number.bounds().into_iter().find(|v| v.is_finite() && !range.contains(*v));
    bad.map_or(Ok(()), |v| {
        range.check(field, v).map_err(|e| match number {
            Number::Column(column) => {
                let row = column.row_of(v).unwrap_or_default();
                ParameterError::new(field, format!("{} (row {row} of `{}`)", e.value, column.name()), e.accepted)
            }
            _ => e,
        })
    })
}

//! The parameters of a scenario: the one place of a parameter's name, unit, range and default, and of what it
//! is and how to choose it. Files, their schema, checks, documents and the fields of this library ask here.
#![allow(rustdoc::broken_intra_doc_links, reason = "units in brackets: the texts are those of the schema")]

use crate::range::{self, Range};

/// A number that a user sets.
///
/// ```
/// use bristle::parameter::{MU_C, of};
/// assert_eq!((MU_C.default, MU_C.range.most), (1.0, 1e6));
/// assert!(MU_C.check(-0.5).is_err());
/// assert_eq!(of("inputs.gravity.1").unwrap().range.unit, "m/s^2");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// The dotted path of its field in scenario files.
    pub name: &'static str,
    /// The values that it may have, with their unit.
    pub range: Range,
    /// Its value where none is given; NaN if it has to be given, or if others say it then.
    pub default: f64,
    /// What it is: its description in the schema.
    pub about: &'static str,
}

impl Parameter {
    /// Refuses a value out of range.
    ///
    /// # Errors
    /// A value that is not in the range.
    pub fn check(&self, value: f64) -> Result<(), crate::ParameterError> {
        self.range.check(self.name, value)
    }
}

/// The parameter with that name, or in whose list that number is.
pub fn of(name: &str) -> Option<&'static Parameter> {
    let of = |name: &str| {
        let order = |parameter: &Parameter| (parameter.name.len(), parameter.name).cmp(&(name.len(), name));
        BY_NAME.binary_search_by(order).ok().map(|at| &BY_NAME[at])
    };
    let list = || Some(name.rsplit_once('.')?.0);
    // What is found first is found faster.
    match name.as_bytes() {
        [.., b'.', b'0'..=b'9'] => of(list()?).or_else(|| of(name)),
        _ => of(name).or_else(|| of(list()?)),
    }
}

/// All parameters by the lengths of their names, which are compared faster than the names, and by these. It
/// is made as the library is compiled: the first contact of a program would wait for it else.
static BY_NAME: [Parameter; ALL.len()] = {
    let mut sorted = [MU_C; ALL.len()];
    let mut count = 0;
    while count < ALL.len() {
        let mut at = count;
        while at > 0 && is_before(ALL[count].name, sorted[at - 1].name) {
            sorted[at] = sorted[at - 1];
            at -= 1;
        }
        sorted[at] = ALL[count];
        count += 1;
    }
    sorted
};

/// Whether a name comes before another, as `Ord` has it for lengths and names, which constants do not have.
const fn is_before(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len() != b.len() {
        return a.len() < b.len();
    }
    let mut at = 0;
    while at < a.len() && a[at] == b[at] {
        at += 1;
    }
    at < a.len() && a[at] < b[at]
}

/// The default of a parameter that has to be given, or that follows from others.
const NONE: f64 = f64::NAN;

/// A line a parameter: its constant, name, range, default, description and, if there is more to say, how to
/// choose it.
macro_rules! parameters {
    ($($id:ident = $name:literal, $range:expr, $default:expr, $about:literal $(, $choice:literal)?;)+) => {
        $(#[doc = $about] $(#[doc = $choice])?
        pub const $id: Parameter = Parameter { name: $name, range: $range, default: $default, about: $about };)+

        /// All parameters.
        pub const ALL: &[Parameter] = &[$($id,)+];

        /// The documentation of the field of a parameter.
        macro_rules! about { $(($id) => { concat!($about, $(" ", $choice)?) };)+ }
        pub(crate) use about;
    };
}

parameters! {
    DURATION = "duration", range::DURATION, NONE, "Simulated time [s], 1e-9 to 1e9.";
    RECORD_EVERY = "record_every", range::PERIOD, 0.01, "Time between recorded samples [s], 1e-6 to 1e9.";

    TABLE_FORCE = "contact.table_force", range::LIMIT_FORCE, 10.0,
        "Limit surface of a `hertz` map of fixed exponent only: normal force [N] of the map that the table is\n\
         made of, > 0; 10 if not given.";
    BAND = "contact.point.band", Range::new(1e-12, 1e6, "m/s"), 1e-3,
        "`karnopp`, `viscous-band`, `quinn`: speed up to which the body counts as at rest [m/s], > 0; 1e-3.";
    SLIDER_MASS = "contact.point.slider_mass", Range::new(0.0, 1e12, "kg"), 0.0,
        "`viscoelasto-plastic`: mass of all sliders [kg], >= 0; 0.",
        "It is divided among the elements as the stiffness.";
    ATTRACTION = "contact.point.attraction", Range::new(1e-9, 1e9, "1/s"), 100.0,
        "`gms`: rate at which sliding elements follow the velocity [1/s], > 0; 100.";
    ELEMENTS = "contact.point.elements", Range::new(1e-9, 1.0, ""), 1.0,
        "`viscoelasto-plastic`, `gms`: `[share of friction, share of stiffness]` of each element, > 0; each of\n\
         the two sums to one over all elements. One `[1, 1]` if not given.";

    SIZE = "patch.size", range::SIZE, 0.02,
        "Width and height of the grid [m], one number or `[width, height]`; 0.02 if not given (a CSV has its\n\
         own).";
    HERTZ_RADIUS = "patch.radius", Range::new(1e-6, 1e6, "cells/N^(1/3)"), 6.0,
        "`hertz` only: contact radius at 1 N [cells/N^(1/3)]; 6 if not given.";
    HERTZ_EXPONENT = "patch.exponent", Range::new(1e-6, 1e6, ""), 2.0,
        "`hertz` only: the exponent k of `docs/model.md` (20); 2 if neither exponent is given.";
    HERTZ_EXPONENT_PER_NEWTON = "patch.exponent_per_newton", Range::new(1e-6, 1e6, "1/N"), NONE,
        "`hertz` only: k over the normal force [1/N], for k = c f_N.";
    UPDATE = "patch.update", range::PERIOD, 0.01,
        "`hertz`: the map follows the normal force every so many seconds; 0.01 if not given. With `frames`: it\n\
         follows them every so many seconds; at the time of each if not given.";

    INDENTER_RADIUS = "patch.indenter.radius", range::SIZE, NONE,
        "`sphere`, `cylinder`: radius [m].";
    INDENTER_LENGTH = "patch.indenter.length", range::SIZE, NONE,
        "`cylinder` only: length along its axis [m].";
    INDENTER_SIZE = "patch.indenter.size", range::SIZE, NONE,
        "`box`, `heights`: width and height of its face [m], one number or `[width, height]`.";
    INDENTER_EVERY = "patch.indenter.every", range::PERIOD, 0.01,
        "The pressure follows the indenter every so many seconds; 0.01 if not given.";
    LAYER_SHEAR = "patch.layer.shear_stiffness", Range::new(1.0, 1e18, "N/m^3"), NONE,
        "Stiffness along the surface per area [N/m^3]: for a layer of thickness h about its shear modulus\n\
         over h.";
    LAYER_STIFFNESS = "patch.layer.stiffness", Range::new(1.0, 1e18, "N/m^3"), NONE,
        "Stiffness into the layer per area [N/m^3], of springs side by side under the indenter: for a layer of\n\
         thickness h about E (1 - nu)/((1 + nu)(1 - 2 nu)) over h.";
    LAYER_MODULUS = "patch.layer.modulus", Range::new(1.0, 1e15, "Pa"), NONE,
        "In place of `stiffness`, under a sphere: effective modulus E/(1 - nu^2) of a half-space [Pa], with\n\
         Hertz' pressure.";

    SENSOR_NOISE = "sensor.noise", Range::new(0.0, 1e12, "N"), 0.0,
        "Standard deviation of the noise of every reading [N]; 0 if not given.";
    SENSOR_DEAD = "sensor.dead", Range::new(0.0, 1.0, ""), 0.0,
        "Share of the taxels that always read 0, drawn for every contact; 0 if not given.";
    SENSOR_CROSSTALK = "sensor.crosstalk", Range::new(0.0, 1.0, ""), 0.0,
        "Share of the force on a taxel that its four neighbours read, a quarter each; at the rim a part is\n\
         lost; 0 if not given.";
    SENSOR_DELAY = "sensor.delay", Range::new(0.0, 1e9, "s"), 0.0,
        "By how much readings are late [s], a multiple of `record_every`; 0 if not given.";

    SIGMA0 = "friction.sigma0", Range::new(1e-6, 1e15, "1/m"), 1e6,
        "Bristle stiffness per unit normal force [1/m], 1e-6 to 1e15; 1e6 if not given.",
        "`mu_c / sigma0` is the deflection at which a bristle slides: 1 um for hard contacts (1e6), 0.1 - 1 mm \
         for soft finger tips (1e3 - 1e4). At the most it is 1e-15 m, so that the bristle is rigid for every \
         purpose; larger values bring products of `sigma0` near the end of the range of single precision.";
    SIGMA1 = "friction.sigma1", Range::new(0.0, 1e12, "s/m"), 8e2,
        "Bristle damping per unit normal force [s/m], 0 to 1e12; 8e2 if not given.",
        "Critical damping of a mass `m` under `f_N` is `2 sqrt(sigma0 m / f_N)`; Table I (8e2) is near it for \
         grams under newtons.";
    SIGMA2 = "friction.sigma2", Range::new(0.0, 1e12, "s/m"), 0.2,
        "Viscous friction per unit normal force [s/m], 0 to 1e12; 0.2 if not given.",
        "The slope of force over speed in fast sliding: 0 for dry contact, 0.2 in Table I for p = 1.";
    MU_C = "friction.mu_c", range::MU, 1.0,
        "Coulomb coefficient [-], 1e-9 to 1e6; 1 if not given.",
        "Friction over normal force in fast sliding.";
    MU_S = "friction.mu_s", range::MU, NONE,
        "Static coefficient [-], >= mu_c. Not with `mu_s_over_mu_c`.",
        "Friction over normal force at break-away, up to 1e6.";
    MU_S_OVER_MU_C = "friction.mu_s_over_mu_c", Range::new(1.0, 1e15, ""), 1.2,
        "Static over Coulomb coefficient [-], >= 1; 1.2 if `mu_s` is not given either.";
    GAMMA = "friction.gamma", Range::new(1e-3, 1e3, ""), 2.0,
        "Stribeck exponent [-], 1e-3 to 1e3; 2 if not given.",
        "2 (Gaussian) is the usual choice and the fast path; 1 is Tustin's.";
    V_S = "friction.v_s", Range::new(1e-9, 1e6, "m/s"), 1e-3,
        "Stribeck velocity [m/s], 1e-9 to 1e6; 1e-3 if not given.",
        "The speed at which friction has fallen from `mu_s` most of the way to `mu_c`, usually 1e-3 - 1e-2.";
    // Nearer to 1 single precision has no transition any more.
    S_BA = "friction.s_ba", Range::new(0.0, 0.999_999, ""), 0.9,
        "Elastic share of the break-away deflection [-], 0 to 0.999999; 0.9 if not given. Under other laws than\n\
         Elasto-Plastic only the share of its limit from which on a bristle counts in `near_limit`.",
        "`z_ba = s_ba z_max`; smaller values than that of Table I give earlier, softer pre-sliding.";

    MASS = "body.mass", range::MASS, NONE, "Mass [kg], 1e-12 to 1e12. Needed unless prescribed.";
    INERTIA = "body.inertia", range::INERTIA, NONE,
        "Moment of inertia about the centre of mass [kg m^2], > 0: a number, or from the drawn mass by\n\
         `{ rectangle = [w, h] }` or `{ disc = radius }`. Needed unless prescribed; not of a point contact.";
    SPRING = "body.spring", Range::new(0.0, 1e15, "N/m"), 0.0,
        "`contact.model = \"point\"` only: stiffness of a spring from the centre of mass to `inputs.anchor`\n\
         [N/m], >= 0; 0.";
    OFFSET = "body.offset", range::OFFSET, 0.0,
        "Kind `body` only: patch origin from the centre of mass, axes of the body [m].";

    POSE_X = "initial.pose.0", range::POSITION, 0.0, "Where the centre of mass is along x at the start [m].";
    POSE_Y = "initial.pose.1", range::POSITION, 0.0, "Where it is along y [m].";
    POSE_THETA = "initial.pose.2", range::ANGLE, 0.0, "How far the body is turned at the start [rad].";
    TWIST_VX = "initial.twist.0", range::SPEED, 0.0, "Velocity of the centre of mass along x at the start [m/s].";
    TWIST_VY = "initial.twist.1", range::SPEED, 0.0, "Its velocity along y [m/s].";
    TWIST_W = "initial.twist.2", range::TURN, 0.0, "Angular velocity at the start [rad/s].";

    STOP_DISPLACEMENT = "stop_when.displacement", Range::new(1e-12, 1e12, "m"), NONE,
        "The body's point that was at the centre of pressure is at least this far from where it started [m], >\n\
         0.";
    STOP_ROTATION = "stop_when.rotation", Range::new(1e-12, 1e12, "rad"), NONE,
        "The body has turned by at least this from its start [rad], either way, > 0.";
    STOP_SLIP_FOR = "stop_when.slip_for", Range::new(1e-12, 1e12, "s"), NONE,
        "In all samples of the last so many seconds bristles with 99 % of the normal force slipped\n\
         ([`SLIP_SPEED`]) [s], > 0.";

    HOLD = "inputs.hold", range::PERIOD, NONE,
        "Samples every signal every so many seconds and holds it, unless it has a `hold` of its own.";
    NORMAL_FORCE = "inputs.normal_force", range::FORCE, NONE,
        "Normal force of one pad [N]; negative is no contact. Needed unless `tilt` gives it.";
    PUSH_HEIGHT = "inputs.push_height", range::OFFSET, 0.0,
        "Several `[[patches]]` under a prescribed twist only: the height above the surface at which the body is\n\
         pushed [m]; 0.",
        "The push moves load to the patches ahead of it.";
    LOAD_FX = "inputs.wrench.fx", range::FORCE, 0.0, "Force along x [N].";
    LOAD_FY = "inputs.wrench.fy", range::FORCE, 0.0, "Force along y [N].";
    LOAD_TAU = "inputs.wrench.tau", range::TORQUE, 0.0, "Moment about the centre of mass [N m].";
    GRAVITY = "inputs.gravity", range::GRAVITY, 0.0,
        "Acceleration of gravity in the plane `[gx, gy]`, axes of the world [m/s^2].";
    ANCHOR = "inputs.anchor", range::POSITION, 0.0,
        "With `body.spring` only: where the other end of the spring is `[x, y]`, axes of the world [m]; the\n\
         origin.";
    TILT_ANGLE = "inputs.tilt.angle", Range::new(0.0, std::f64::consts::FRAC_PI_2, "rad"), NONE,
        "Angle of the table against the horizontal [rad], 0 to pi/2.";
    TILT_DIRECTION = "inputs.tilt.direction", range::ANGLE, 0.0,
        "Direction of the steepest descent in the plane, from +x [rad]; 0.";
    TILT_GRAVITY = "inputs.tilt.gravity", Range::new(0.0, 1e9, "m/s^2"), 9.81,
        "Acceleration of gravity [m/s^2], >= 0; 9.81.";
    VX = "inputs.twist.vx", range::SPEED, 0.0, "Velocity along x [m/s].";
    VY = "inputs.twist.vy", range::SPEED, 0.0, "Velocity along y [m/s].";
    W = "inputs.twist.w", range::TURN, 0.0, "Angular velocity [rad/s].";
    SURFACE_VX = "inputs.surface.vx", range::SPEED, 0.0, "Velocity of the surface along x [m/s].";
    SURFACE_VY = "inputs.surface.vy", range::SPEED, 0.0, "Velocity of the surface along y [m/s].";
    SURFACE_W = "inputs.surface.w", range::TURN, 0.0, "Angular velocity of the surface [rad/s].";
    SURFACE_AT = "inputs.surface.at", range::POSITION, 0.0,
        "The point `[x, y]` that has the velocity [m]: the axis of a turntable in the world; of a hand or a\n\
         prescribed twist a point of the patch frame; the origin.";
    INPUT_MU_C = "inputs.mu_c", range::MU, NONE,
        "Coulomb coefficient over time [-], in place of `friction.mu_c`.";
    INPUT_MU_S = "inputs.mu_s", range::MU, NONE,
        "Static coefficient over time [-], in place of `friction.mu_s`.";
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::range::bound;

    #[test]
    fn every_name_has_its_parameter() {
        for parameter in ALL {
            assert_eq!(of(parameter.name).map(|found| found.name), Some(parameter.name));
        }
        for (name, list) in [("inputs.gravity.1", "inputs.gravity"), ("body.inertia.rectangle", "body.inertia")] {
            assert_eq!(of(name).map(|found| found.name), Some(list));
        }
        assert!(["", "a", "body", "body.mas", "body.masses", "zeta"].into_iter().all(|name| of(name).is_none()));
    }

    /// A description says the unit, and the range if it says one, as the entry beside it has them.
    #[test]
    fn descriptions_say_what_their_entries_do() {
        for Parameter { name, range, default, about } in ALL {
            assert!(default.is_nan() || range.contains(*default), "{name}");
            assert!(
                range.unit.is_empty() || !about.contains('[') || about.contains(&format!("[{}]", range.unit)),
                "{name}"
            );
            let number = |text: &str| match text.trim_matches(['.', ',', ';']) {
                "pi/2" => Some(std::f64::consts::FRAC_PI_2),
                text => text.parse::<f64>().ok(),
            };
            let words: Vec<&str> = about.split_whitespace().collect();
            for ends in words.windows(3).filter(|ends| ends[1] == "to") {
                if let (Some(least), Some(most)) = (number(ends[0]), number(ends[2])) {
                    assert_eq!([least, most], [range.least, range.most], "{name}");
                }
            }
            let given = about.split("; ").skip(1).find_map(|said| number(said.split_whitespace().next()?));
            given.into_iter().for_each(|said| assert_eq!(said, *default, "{name}"));
        }
    }

    /// The page lists every range.
    #[test]
    fn the_page_on_scenarios_has_these_ranges() {
        let page = include_str!("../docs/scenario.md");
        let (_, rows) = page.split_once("## Ranges").expect("the section");
        let (rows, _) = rows.split_once("\n## ").expect("a section after it");
        for Parameter { name, range, .. } in ALL {
            let row = rows.lines().find(|line| line.contains(&format!("`{name}`")));
            let row = row.unwrap_or_else(|| panic!("docs/scenario.md has no range of {name}"));
            let wanted = format!("{} to {} {}", bound(range.least), bound(range.most), range.unit);
            assert!(row.contains(wanted.trim_end()), "{name}: the page has {row}, not {wanted}");
        }
    }
}

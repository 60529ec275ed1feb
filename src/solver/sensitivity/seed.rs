//! Where the derivatives over a parameter start: in the constants of the solver, its initial state, and its
//! inputs.

use crate::body::{Body, Frame, FreeBody};
use crate::contact::{Bristles, Contact, Model};
use crate::error::ParameterError;
use crate::number::dual::Dual;
use crate::point::PointLaw;
use crate::schedule::{Feed, Interval, Signal, Timeline, slot};
use crate::sensitivity::{ALL, Sensitivity};
use crate::solver::friction::Consts;

/// A parameter of a contact, as the solver has it.
#[derive(Clone, Debug)]
pub struct Seed {
    pub(super) constant: Option<Constant>,
    /// The derivatives of the inputs: signals with their factors and slots.
    feeds: Vec<(Signal, f64, usize)>,
}

/// Constants of the solver and its initial state. Those of the friction that the law does not read are none.
#[derive(Clone, Copy, Debug)]
pub enum Constant {
    Sigma0,
    Sigma1,
    Sigma2,
    Gamma,
    StribeckVelocity(f64),
    ElasticShare(f64),
    /// With its value [kg].
    Mass(f64),
    Inertia,
    Offset(usize),
    Scale,
    Pose(usize),
    Twist(usize),
}

/// What a contact has of a parameter.
///
/// # Errors
/// A name that is none, a parameter that the contact has not, or one over which it has no derivative.
pub fn resolve(contact: &Contact, timeline: &Timeline, with: &Sensitivity) -> Result<Seed, ParameterError> {
    let refuse = |accepted: String| Err(ParameterError::new("sensitivities", &with.name, accepted));
    let changes = contact.patch.changes() || contact.patch.takes_frames();
    if let Model::Point(model) = &contact.model {
        if model.law == PointLaw::GeneralizedMaxwellSlip {
            return refuse(
                "another law than `gms`, whose steps end where elements change: at times with derivatives".into(),
            );
        }
        if contact.initial.bristles == Bristles::Steady {
            return refuse("a point contact that does not start in steady sliding".into());
        }
    }
    if changes && !contact.model.is_grid() {
        return refuse(
            "a reduced model whose map stays: its bristle has no derivatives across a change of the map".into(),
        );
    }
    let free = contact.body.free();
    let seed = |constant| Ok(Seed { constant, feeds: Vec::new() });
    let of = |constant| seed(Some(constant));
    let law = contact.friction.law;
    let damped = |constant| seed(law.has_damping().then_some(constant));
    match (with.name.as_str(), &with.direction) {
        (name, Some(direction)) => input(contact, timeline, name, direction),
        ("friction.sigma0", _) => of(Constant::Sigma0),
        // The elements of a point have it under any law of bristles.
        ("friction.sigma1", _) if contact.model.point().is_some() => of(Constant::Sigma1),
        ("friction.sigma1", _) => damped(Constant::Sigma1),
        ("friction.sigma2", _) => damped(Constant::Sigma2),
        ("friction.gamma", _) => of(Constant::Gamma),
        ("friction.v_s", _) => of(Constant::StribeckVelocity(contact.friction.v_s)),
        ("friction.s_ba", _) => of(Constant::ElasticShare(contact.friction.s_ba)),
        ("friction.mu_c", _) => coefficient(contact.inputs.mu_c.is_none(), slot::MU_C),
        ("friction.mu_s", _) => coefficient(contact.inputs.mu_s.is_none(), slot::MU_S),
        ("patch.scale", _) => scale(contact),
        ("initial.pose.0", _) => of(Constant::Pose(0)),
        ("initial.pose.1", _) => of(Constant::Pose(1)),
        ("initial.pose.2", _) => of(Constant::Pose(2)),
        (name, _) => {
            let Some(body) = free else {
                let known = ALL.contains(&name);
                return refuse(if known { "a free body: here the twist is given".into() } else { all() });
            };
            match name {
                "body.mass" => {
                    let [gx, gy] = body.gravity.clone();
                    let feeds = vec![(gx, 1.0, slot::LOAD), (gy, 1.0, slot::LOAD + 1)];
                    Ok(Seed { constant: Some(Constant::Mass(body.mass)), feeds })
                }
                "body.inertia" => of(Constant::Inertia),
                "body.offset.0" | "body.offset.1" if !matches!(body.frame, Frame::Body { .. }) => {
                    refuse("a body of kind `body`, which alone has an offset".into())
                }
                "body.offset.0" => of(Constant::Offset(0)),
                "body.offset.1" => of(Constant::Offset(1)),
                "initial.twist.0" => of(Constant::Twist(0)),
                "initial.twist.1" => of(Constant::Twist(1)),
                "initial.twist.2" if contact.model.point().is_some() => refuse("a patch: a point does not turn".into()),
                "initial.twist.2" => of(Constant::Twist(2)),
                _ => refuse(all()),
            }
        }
    }
}

fn all() -> String {
    format!("{}, or an input with a direction", ALL.join(", "))
}

/// A coefficient of friction; one that an input gives has no effect.
fn coefficient(is_used: bool, slot: usize) -> Result<Seed, ParameterError> {
    let feeds = if is_used { vec![(Signal::constant(1.0), 1.0, slot)] } else { Vec::new() };
    Ok(Seed { constant: None, feeds })
}

/// A factor of all lengths of the patch. A twist that is given at the centre of pressure moves the origin
/// differently then.
fn scale(contact: &Contact) -> Result<Seed, ParameterError> {
    let feeds = match &contact.body {
        Body::Prescribed { twist: [_, _, w], at } => {
            let [cx, cy] = contact.twist_point(*at);
            vec![(w.clone(), cy, slot::LOAD), (w.clone(), -cx, slot::LOAD + 1)]
        }
        Body::Free(_) => Vec::new(),
    };
    Ok(Seed { constant: Some(Constant::Scale), feeds })
}

/// An input that moves along a `direction`.
fn input(contact: &Contact, timeline: &Timeline, name: &str, direction: &Signal) -> Result<Seed, ParameterError> {
    let field = || format!("sensitivities, {name}");
    let refuse = |found: &str, accepted: &str| Err(ParameterError::new(field(), found, accepted));
    let Some((_, signal)) = contact.signals().find(|(field, _)| *field == name) else {
        let names: Vec<&str> = contact.signals().map(|(field, _)| field).collect();
        return refuse("no input of this contact", &names.join(", "));
    };
    if name == "inputs.normal_force" && contact.patch.rule().is_some() {
        return refuse("a map that follows the normal force", "a map that does not: it has no derivative over that");
    }
    // A signal that is held holds what it is changed by, too.
    let direction = match signal.hold() {
        Some(period) => direction.clone().held(period)?,
        None => direction.clone(),
    };
    if let Some(t) = timeline.misses(&direction) {
        let accepted = "break points that the inputs have, too: give the input a segment that starts there";
        return refuse(&format!("a break point at {t} s"), accepted);
    }
    let axis = usize::from(name.ends_with(['y', '1']));
    let mass = contact.body.free().map_or(1.0, |FreeBody { mass, .. }| *mass);
    let targets = match name {
        "inputs.normal_force" => vec![(1.0, slot::F_N)],
        "inputs.mu_c" => vec![(1.0, slot::MU_C)],
        "inputs.mu_s" => vec![(1.0, slot::MU_S)],
        "inputs.wrench.tau" => vec![(1.0, slot::LOAD + 2)],
        "inputs.twist.w" => {
            let Body::Prescribed { at, .. } = &contact.body else { unreachable!("it has this signal") };
            let [cx, cy] = contact.twist_point(*at);
            vec![(1.0, slot::LOAD + 2), (cy, slot::LOAD), (-cx, slot::LOAD + 1)]
        }
        "inputs.gravity.0" | "inputs.gravity.1" => vec![(mass, slot::LOAD + axis)],
        "inputs.wrench.fx" | "inputs.wrench.fy" | "inputs.twist.vx" | "inputs.twist.vy" => {
            vec![(1.0, slot::LOAD + axis)]
        }
        "inputs.anchor.0" | "inputs.anchor.1" => {
            vec![(contact.body.free().map_or(0.0, |body| body.spring), slot::LOAD + axis)]
        }
        _ => unreachable!("all inputs are above"),
    };
    let feeds = targets.into_iter().map(|(scale, slot)| (direction.clone(), scale, slot)).collect();
    Ok(Seed { constant: None, feeds })
}

impl Constant {
    /// Lets derivative `k` of the constants of friction be that over this one; none if it is not among them.
    pub fn plant(self, of: &mut Consts<Dual>, k: usize) {
        match self {
            Self::Sigma2 => of.sigma2.d[k] = 1.0,
            Self::Gamma => {
                // The fast path of `gamma = 2` does not depend on it.
                of.gaussian = false;
                of.gamma.d[k] = 1.0;
            }
            Self::StribeckVelocity(v_s) => of.inv_v_s.d[k] = -1.0 / (v_s * v_s),
            Self::ElasticShare(s_ba) => {
                of.s_ba.d[k] = 1.0;
                of.inv_width.d[k] = 1.0 / ((1.0 - s_ba) * (1.0 - s_ba));
            }
            _ => {}
        }
    }
}

impl Seed {
    /// The derivatives of the inputs in interval `i` of the contact's timeline; none if they are zero.
    pub fn interval(&self, contact: &Contact, timeline: &Timeline, i: usize) -> Option<Interval> {
        if self.feeds.is_empty() {
            return None;
        }
        let mut interval = Interval::default();
        let feeds = self.feeds.iter().map(|(signal, scale, slot)| Feed { signal, scale: *scale, slot: *slot });
        timeline.interval(feeds, i, &mut interval);
        if !contact.friction.law.has_stribeck_curve() {
            interval.copy_input(slot::MU_C, slot::MU_S);
        }
        Some(interval)
    }
}

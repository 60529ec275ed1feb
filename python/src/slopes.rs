//! The derivative of a contact over a number that it is drawn with: what the scenario makes of the number,
//! such as the static coefficient from the Coulomb coefficient, as a sum of parameters of the engine.

use bristle::error::ParameterError;
use bristle::patch::Cell;
use bristle::{Contact, Frame, Input, Sensitivity};

use crate::draw::{Origin, Source};
use crate::errors::Failure;

/// Parameters of the engine, each with its derivative over a number.
pub type Terms = Vec<(Sensitivity, f64)>;

/// Relative change of a number, of which a difference is taken. Nearly all that scenarios compute is linear
/// or quadratic in a number, of which a central difference is exact but for rounding, some 1e-11.
const CHANGE: f64 = 1e-5;

/// The derivative of contact `k` over the number `name`, which has `value`. Inputs that a control gives are
/// left out.
///
/// # Errors
/// A number that changes the contact in another way than parameters of the engine do.
pub fn over(
    source: &Source,
    (k, origin): (usize, &Origin),
    (name, value): (&str, f64),
    is_given: impl Fn(Input) -> bool,
) -> Result<Terms, Failure> {
    let refuse =
        |accepted: &str| Err(Failure::Parameter(ParameterError::new("sensitivities", name, accepted), Some(k)));
    if name.starts_with("patch.") && !name.starts_with("patch.size") {
        return refuse("of the numbers of a patch `patch.size` or `patch.scale`");
    }
    let drawn = |value: f64| {
        let mut changed = origin.clone();
        changed.give(name, value);
        source.scenario.variant_without_surface(k as u64, changed.seed, &changed.given)
    };
    let change = if value == 0.0 { CHANGE } else { CHANGE * value.abs() };
    // At an end of its range a number is changed to one side.
    let ((mut high, up), (mut low, down)) = match (drawn(value + change), drawn(value - change)) {
        (Ok(high), Ok(low)) => ((high, value + change), (low, value - change)),
        (Ok(high), Err(_)) => ((high, value + change), (drawn(value)?, value)),
        (Err(_), Ok(low)) => ((drawn(value)?, value), (low, value - change)),
        (Err(error), Err(_)) => return Err(error.into()),
    };
    let by = up - down;
    let mut terms = Terms::new();
    for ((parameter, high), (_, low)) in constants(&high).into_iter().zip(constants(&low)) {
        if high != low {
            terms.push((Sensitivity::over(parameter), (high - low) / by));
        }
    }
    let pads = |contact: &Contact| contact.body.free().map(|body| (body.pads, body.spring));
    let is_point_alike = high.model.point() == low.model.point();
    if pads(&high) != pads(&low) || !is_point_alike || high.inputs.remap_every != low.inputs.remap_every {
        return refuse("a number of friction, body, `patch.size`, initial state or inputs");
    }
    if high.patch != low.patch {
        match scale(&high, &low) {
            // At the factor 1 in the middle.
            Some(factor) => terms.push((Sensitivity::over("patch.scale"), 2.0 * (factor - 1.0) / (factor + 1.0) / by)),
            None => return refuse("a number that scales the patch as a whole, such as `patch.scale`"),
        }
    }
    for input in Input::ALL.into_iter().filter(|input| !is_given(*input)) {
        let is_there = |contact: &Contact| match input {
            Input::MuC => contact.inputs.mu_c.is_some(),
            Input::MuS => contact.inputs.mu_s.is_some(),
            _ => true,
        };
        if !is_there(&high) || !is_there(&low) {
            continue;
        }
        if let (Some(high), Some(low)) = (input.signal(&mut high), input.signal(&mut low))
            && high != low
        {
            let Some(slope) = high.slope(low, by) else {
                return refuse("a number that changes the values of an input, and not its times or frequencies");
            };
            terms.push((Sensitivity::along(input.field(), slope), 1.0));
        }
    }
    Ok(terms)
}

/// The constants of a contact that are parameters of the engine, but for its patch.
fn constants(contact: &Contact) -> Vec<(&'static str, f64)> {
    let (friction, pose) = (&contact.friction, &contact.initial.pose);
    let mut all = vec![
        ("friction.sigma0", friction.sigma0),
        ("friction.sigma1", friction.sigma1),
        ("friction.sigma2", friction.sigma2),
        ("friction.mu_c", friction.mu_c),
        ("friction.mu_s", friction.mu_s),
        ("friction.gamma", friction.gamma),
        ("friction.v_s", friction.v_s),
        ("friction.s_ba", friction.s_ba),
        ("initial.pose.0", pose.x),
        ("initial.pose.1", pose.y),
        ("initial.pose.2", pose.theta),
    ];
    if let Some(body) = contact.body.free() {
        all.extend([
            ("body.mass", body.mass),
            ("body.inertia", body.inertia),
            ("initial.twist.0", body.twist.vx),
            ("initial.twist.1", body.twist.vy),
            ("initial.twist.2", body.twist.w),
        ]);
        if let Frame::Body { offset: [x, y] } = body.frame {
            all.extend([("body.offset.0", x), ("body.offset.1", y)]);
        }
    }
    all
}

/// The factor of all lengths by which the patch of `high` is larger than that of `low`, if that is all.
fn scale(high: &Contact, low: &Contact) -> Option<f64> {
    let (high, low) = (&high.patch, &low.patch);
    let [x, y] = [high.grid().dx / low.grid().dx, high.grid().dy / low.grid().dy];
    let same = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-12;
    // Patches of a compound one may have moved by themselves, or have other friction.
    let (all, others) = (high.cells(), low.cells());
    let size = others.iter().map(|cell| cell.x.hypot(cell.y)).fold(0.0, f64::max);
    let is_scaled = |(i, (a, b)): (usize, (&Cell, &Cell))| {
        (a.x - x * b.x).hypot(a.y - x * b.y) <= 1e-9 * size && high.friction_factor(i) == low.friction_factor(i)
    };
    let is_one = high.weights().len() == low.weights().len()
        && high.weights().iter().zip(low.weights()).all(same)
        && (x - y).abs() <= 1e-12
        && all.iter().zip(&others).enumerate().all(is_scaled)
        && high.rule().is_none();
    is_one.then_some(x)
}

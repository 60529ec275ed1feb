//! Limits that fall at once: a viscoelasto-plastic bristle is cut to its limit there, and no further.

use bristle::contact::{Contact, Model};
use bristle::engine::{Engine, Plan};
use bristle::friction::{Friction, Law};
use bristle::patch::Shape;
use bristle::schedule::Signal;

use crate::Limits;
use crate::common::{dry, of, prescribed, prescribed_twist, rollout, shape};
use crate::slip::models;

const SIGMA0: f64 = 4000.0;
const MU: f64 = 0.6;
/// Friction at rest over that of fast sliding.
const RATIO: f64 = 1.3;
const FORCE: f64 = 3.0;
const DURATION: f64 = 1.4;
const EVERY: f64 = 5e-3;

/// Speeds along a line from some times on [s], [m/s], and coefficients of friction from some times on. All
/// times are between two samples.
type Course = (Vec<(f64, f64)>, Vec<(f64, f64)>);

fn courses() -> Vec<Course> {
    let mu = vec![(0.0, MU)];
    vec![
        // The limit is 1.233 at 0.5 mm/s and 1.005 of `mu_c` at 2 mm/s: it falls where the motion turns back.
        (vec![(0.0, -5e-4), (0.9025, 2e-3)], mu.clone()),
        // It falls, and the motion goes on.
        (vec![(0.0, 3e-4), (0.6025, 4e-3), (1.1025, 2e-4)], mu.clone()),
        // It falls where the motion stops, and while nothing moves.
        (vec![(0.0, 2e-3), (0.5025, 0.0)], vec![(0.0, MU), (0.5025, 0.4), (0.9025, 0.2)]),
        // It rises, and falls again before the bristles follow.
        (vec![(0.0, 1e-3), (0.8025, 1e-5)], vec![(0.0, MU), (0.8025, 0.9), (1.1025, 0.3)]),
    ]
}

fn friction() -> Friction {
    let dry = dry(Law::ViscoelastoPlastic, MU);
    Friction { sigma0: SIGMA0, sigma1: 0.0, mu_s: RATIO * MU, v_s: 1e-3, ..dry }
}

/// The value at time `t` of what has these values from some times on.
fn value(of: &[(f64, f64)], t: f64) -> f64 {
    of.iter().rev().find(|(from, _)| *from <= t).unwrap().1
}

/// The deflection [-] at every sample: between two jumps a bristle moves with its base up to the limit.
fn deflections((speeds, mu): &Course, frames: usize) -> Vec<f64> {
    let mut jumps: Vec<f64> = speeds.iter().chain(mu).map(|(t, _)| *t).collect();
    jumps.extend((0..frames).map(|i| i as f64 * EVERY));
    jumps.sort_by(f64::total_cmp);
    jumps.dedup();
    let (mut zeta, mut out) = (0.0f64, Vec::new());
    for (k, &t) in jumps.iter().enumerate() {
        if out.len() as f64 * EVERY <= t {
            out.push(zeta);
        }
        let Some(end) = jumps.get(k + 1) else { break };
        let v = value(speeds, t);
        let g = value(mu, t) * (1.0 + (RATIO - 1.0) * (-(v / 1e-3) * (v / 1e-3)).exp());
        zeta = (zeta.clamp(-g, g) + SIGMA0 * v * (end - t)).clamp(-g, g);
    }
    out
}

pub fn a_limit_that_falls_at_once_cuts_the_bristles(engine: &dyn Engine, limits: &Limits) {
    let plan = Plan::new(DURATION, 1e-3, EVERY).unwrap();
    let (mut contacts, mut wanted) = (Vec::new(), Vec::new());
    for (name, cells, model) in models() {
        // A direction in which the table of a limit surface is exact.
        let line = if matches!(model, Model::LimitSurface(..)) { [1.0, 0.0] } else { [0.6, 0.8] };
        for (i, course) in courses().into_iter().enumerate() {
            let mut contact: Contact = prescribed(&shape(cells, 0.02, Shape::Square), friction(), [0.0; 3], FORCE);
            contact.model = model.clone();
            let speeds = |of: f64| course.0.iter().map(|(t, v)| (*t, of * v)).collect::<Vec<_>>();
            let twist = prescribed_twist(&mut contact);
            (twist[0], twist[1]) = (Signal::steps(&speeds(line[0])).unwrap(), Signal::steps(&speeds(line[1])).unwrap());
            if course.1.len() > 1 {
                let at_rest: Vec<(f64, f64)> = course.1.iter().map(|(t, mu)| (*t, RATIO * mu)).collect();
                contact.inputs.mu_c = Some(Signal::steps(&course.1).unwrap());
                contact.inputs.mu_s = Some(Signal::steps(&at_rest).unwrap());
            }
            contacts.push(contact);
            wanted.push((format!("{name}, course {i}"), line, course));
        }
    }
    let out = rollout(engine, &contacts, &plan);
    let n = out.frames();
    // A bristle is moved a thousand times.
    let allowed = limits.steady.max(1e3 * limits.last_place);
    for (k, (name, line, course)) in wanted.iter().enumerate() {
        for (i, (wrench, zeta)) in of(&out.wrench, k, n).iter().zip(deflections(course, n)).enumerate() {
            let found = -(line[0] * wrench.fx + line[1] * wrench.fy) / FORCE;
            let off = (found - zeta).abs();
            assert!(off < allowed, "{name}, sample {i}: {found}, wanted {zeta}: {off:e} off");
        }
    }
}

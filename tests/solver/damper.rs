//! The impulse of LuGre's damper when a coefficient of friction jumps (`docs/model.md`, section 2).

use crate::common::rollout;
use bristle::body::Frame;
use bristle::contact::Contact;
use bristle::cpu::Cpu;
use bristle::engine::Plan;
use bristle::friction::{Friction, Law};
use bristle::patch::Shape;
use bristle::schedule::Signal;

const FRICTION: Friction = Friction {
    law: Law::ElastoPlastic,
    sigma0: 1e5,
    sigma1: 300.0,
    sigma2: 0.0,
    mu_c: 0.6,
    mu_s: 0.6,
    v_s: 1e-3,
    gamma: 2.0,
    s_ba: 0.9,
};
const NORMAL: f64 = 9.81;
const MASS: f64 = 1.0;

/// A sliding kilogram whose coefficient of friction is `mu`.
fn sliding(mu: &Signal) -> Contact {
    let mut contact = crate::common::on_table(Frame::World, &crate::common::shape(5, 0.1, Shape::Square), FRICTION);
    contact.inputs.normal_force = Signal::constant(NORMAL);
    (contact.inputs.mu_c, contact.inputs.mu_s) = (Some(mu.clone()), Some(mu.clone()));
    let body = contact.body.free_mut().unwrap();
    body.mass = MASS;
    body.wrench = [0.0.into(), 0.0.into(), 0.0.into()];
    body.twist.vx = 2.0;
    contact
}

/// Velocities every millisecond.
fn velocities(contact: Contact) -> Vec<f64> {
    let out = rollout(&Cpu::reference(), &[contact], &Plan::new(0.3, 1e-4, 1e-3).unwrap());
    out.twist.iter().map(|u| u.vx).collect()
}

#[test]
fn a_drop_of_the_coefficient_pushes_by_an_impulse_of_the_damper() {
    let (high, low) = (0.6, 0.05);
    let v = velocities(sliding(&Signal::steps(&[(0.0, high), (0.1, low)]).unwrap()));
    // Friction alone would take mu g dt in the interval of the drop.
    let gained = v[101] - v[100] + low * NORMAL / MASS * 1e-3;
    let impulse = FRICTION.sigma1 / FRICTION.sigma0 * (high - low) * NORMAL;
    assert!((gained - impulse / MASS).abs() < 0.01 * impulse / MASS, "{gained} m/s, not {}", impulse / MASS);
    // Before and after it, Coulomb's friction.
    let slope = (v[300] - v[101]) / 0.199;
    assert!((slope + low * NORMAL / MASS).abs() < 1e-6, "{slope}");
    // A rise brakes by as much.
    let v = velocities(sliding(&Signal::steps(&[(0.0, low), (0.1, high)]).unwrap()));
    let lost = v[100] - v[101] - high * NORMAL / MASS * 1e-3;
    assert!((lost - impulse / MASS).abs() < 0.01 * impulse / MASS, "{lost} m/s, not {}", impulse / MASS);
}

#[test]
fn a_ramp_of_the_coefficient_does_not_speed_a_body_up() {
    let (high, low) = (0.6, 0.05);
    // As long as the damper needs to take no more than the friction that is left.
    let time = 1.05 * FRICTION.sigma1 / FRICTION.sigma0 * (high - low) / low;
    let faster = |time: f64| {
        let v = velocities(sliding(&Signal::linear(&[(0.0, high), (0.1, high), (0.1 + time, low)]).unwrap()));
        v.windows(2).map(|v| v[1] - v[0]).fold(f64::MIN, f64::max)
    };
    assert!(faster(time) < 0.0, "{}", faster(time));
    assert!(faster(0.5 * time) > 0.0, "{}", faster(0.5 * time));
}

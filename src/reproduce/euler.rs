//! The baseline: the explicit step as the paper's authors wrote it, two plain loops in double precision.

use crate::contact::Contact;
use crate::friction::{Friction, Law};
use crate::limit_surface::Table;
use crate::planar::{Pose, Twist, Wrench};
use crate::schedule::slot;

/// Break-away function, eqs. (16)-(18).
fn breakaway(x: f64, s_ba: f64) -> f64 {
    if x <= s_ba {
        0.0
    } else if x >= 1.0 {
        1.0
    } else {
        0.5 + 0.5 * (std::f64::consts::PI * (x - 0.5 * (1.0 + s_ba)) / (1.0 - s_ba)).sin()
    }
}

/// Stribeck's curve, eq. (2).
fn stribeck(f: &Friction, speed: f64) -> f64 {
    let x = speed / f.v_s;
    let power = if f.gamma == 2.0 { x * x } else { x.powf(f.gamma) };
    f.mu_c + (f.mu_s - f.mu_c) * (-power).exp()
}

/// A grid of bristles that is stepped explicitly; deflections in metres.
pub(super) struct Grid {
    friction: Friction,
    cells: Vec<[f64; 3]>,
    z: Vec<[f64; 2]>,
}

impl Grid {
    pub fn new(contact: &Contact) -> Self {
        let cells: Vec<[f64; 3]> = contact.patch.cells().iter().map(|c| [c.x, c.y, c.w]).collect();
        Self { friction: contact.friction, z: vec![[0.0; 2]; cells.len()], cells }
    }

    /// Wrench at the patch origin for a normal force of 1 N at this twist; the bristles move on by `dt`.
    pub fn step(&mut self, twist: Twist, dt: f64) -> Wrench {
        let f = &self.friction;
        let plastic = f.law == Law::ElastoPlastic;
        let mut sum = Wrench::default();
        for ([x, y, w], z) in self.cells.iter().zip(&mut self.z) {
            let [vx, vy] = [twist.vx - twist.w * y, twist.vy + twist.w * x];
            let speed = (vx * vx + vy * vy).sqrt();
            let g = stribeck(f, speed);
            let size = (z[0] * z[0] + z[1] * z[1]).sqrt();
            let mut beta = 1.0;
            if plastic {
                let ahead = if speed > 0.0 && size > 0.0 { (vx * z[0] + vy * z[1]) / (speed * size) } else { 0.0 };
                beta = 0.5 * (1.0 + ahead) * breakaway(size * f.sigma0 / g, f.s_ba);
            }
            let rate = beta * f.sigma0 * speed / g;
            let (dx, dy) = (vx - rate * z[0], vy - rate * z[1]);
            let (fx, fy) = (
                -w * (f.sigma0 * z[0] + f.sigma1 * dx + f.sigma2 * vx),
                -w * (f.sigma0 * z[1] + f.sigma1 * dy + f.sigma2 * vy),
            );
            sum.fx += fx;
            sum.fy += fy;
            sum.tau += x * fy - y * fx;
            z[0] += dt * dx;
            z[1] += dt * dy;
        }
        sum
    }
}

/// One bristle with three components on a limit surface, as published, stepped explicitly.
pub(super) struct Reduced<'a> {
    friction: Friction,
    table: &'a Table,
    radius: f64,
    viscous: f64,
    z: [f64; 3],
}

impl<'a> Reduced<'a> {
    pub fn new(contact: &Contact, table: &'a Table) -> Self {
        let (radius, viscous) = (table.radius(), contact.patch.viscous());
        Self { friction: contact.friction, table, radius, viscous, z: [0.0; 3] }
    }

    /// Wrench at the centre of pressure for a normal force of 1 N; `z` is in metres, its third divided by `r`.
    pub fn step(&mut self, twist: Twist, dt: f64) -> [f64; 3] {
        let f = &self.friction;
        let v = [twist.vx, twist.vy, self.radius * twist.w];
        let speed = v.iter().map(|v| v * v).sum::<f64>().sqrt();
        let h = self.table.h(self.radius, twist);
        let size_h = h.iter().map(|h| h * h).sum::<f64>().sqrt();
        let g = stribeck(f, speed);
        let size = self.z.iter().map(|z| z * z).sum::<f64>().sqrt();
        let mut beta = 1.0;
        if f.law == Law::ElastoPlastic {
            let ahead = -(0..3).map(|k| h[k] * self.z[k]).sum::<f64>() / (size_h * size).max(1e-300);
            beta = 0.5 * (1.0 + ahead) * breakaway(size * f.sigma0 / (g * size_h.max(1e-12)), f.s_ba);
        }
        let rate = beta * f.sigma0 * speed / g;
        let viscous = [v[0], v[1], self.viscous / self.radius * twist.w];
        let mut wrench = [0.0; 3];
        for k in 0..3 {
            let dz = -h[k] * speed - rate * self.z[k];
            wrench[k] = -(f.sigma0 * self.z[k] + f.sigma1 * dz + f.sigma2 * viscous[k]);
            self.z[k] += dt * dz;
        }
        [wrench[0], wrench[1], self.radius * wrench[2]]
    }
}

/// Simulates one contact of a moving body by explicit Euler; the final pose, or none once it is not finite.
pub(super) fn rollout(contact: &Contact, duration: f64, dt: f64) -> Option<Pose> {
    let samples = [0.0, duration];
    let timeline = contact.timeline(&samples);
    let mut grid = Grid::new(contact);
    let body = &contact.body;
    let (mut q, mut u) = (contact.initial.pose, contact.initial.twist);
    for i in 0..timeline.len() {
        let interval = contact.interval(&timeline, i);
        let steps = (interval.length / dt - 1e-6).ceil().max(1.0);
        let dt = interval.length / steps;
        for k in 0..steps as u64 {
            let inputs = interval.inputs(k as f64 * dt);
            let frame = body.transform(q);
            let per_newton = grid.step(frame.twist(u), dt);
            let share = inputs[slot::F_N] * f64::from(body.pads);
            let friction = frame.wrench(per_newton);
            q = Pose::new(q.x + dt * u.vx, q.y + dt * u.vy, q.theta + dt * u.w);
            u.vx += dt * (inputs[slot::LOAD] + share * friction.fx) / body.mass;
            u.vy += dt * (inputs[slot::LOAD + 1] + share * friction.fy) / body.mass;
            u.w += dt * (inputs[slot::LOAD + 2] + share * friction.tau) / body.inertia;
        }
        if !(q.x + q.y + q.theta).is_finite() {
            return None;
        }
    }
    Some(q)
}

#[cfg(test)]
mod tests {
    use super::super::setup::Setup;
    use super::*;
    use crate::cpu::Cpu;
    use crate::engine::{Engine, Plan};

    #[test]
    fn the_baseline_and_the_engine_agree_on_a_body_that_slips_and_is_caught() {
        let contact = Setup::in_hand((2, 1), "circle").cells(7).contact().unwrap();
        let plan = Plan::new(0.5, 5e-5, 0.5).unwrap();
        let out = Cpu::new().rollout(std::slice::from_ref(&contact), &plan, &|_| true).unwrap();
        let q = rollout(&contact, 0.5, 2e-6).unwrap();
        let [x, y, theta] = out.pose[1];
        assert!(y < -1e-3, "it slips: {y}");
        assert!((q.x - x).hypot(q.y - y) < 2e-6 && (q.theta - theta).abs() < 5e-5, "{q:?}, {:?}", out.pose[1]);
    }

    #[test]
    fn the_reduced_baseline_reaches_the_table() {
        let contact = Setup::profile("square").published().contact().unwrap();
        let table = Table::new(&contact.patch, crate::limit_surface::Rule::Bilinear, 20).unwrap();
        let mut reduced = Reduced::new(&contact, &table);
        let twist = Twist::new(0.02, -0.01, 3.0);
        let mut wrench = [0.0; 3];
        (0..100_000).for_each(|_| wrench = reduced.step(twist, 1e-6));
        let h = table.h(table.radius(), twist);
        // Beyond the Stribeck velocity: mu_c and the viscous part.
        assert!((wrench[0] - (h[0] - 0.2 * 0.02)).abs() < 1e-6, "{wrench:?}, {h:?}");
    }
}

//! The baseline of the reduced model: its explicit step as published, in double precision. The baseline of
//! the distributed model is [`bristle_bench::baseline`].

use bristle::contact::Contact;
use bristle::friction::{Friction, Law};
use bristle::limit_surface::Table;
use bristle::planar::{Twist, Wrench};

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

    /// Wrench at the centre of pressure for a normal force of 1 N; `z` is in metres, its third divided by
    /// `r`.
    pub fn step(&mut self, twist: Twist, dt: f64) -> Wrench {
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
        Wrench::new(wrench[0], wrench[1], self.radius * wrench[2])
    }
}

#[cfg(test)]
mod tests {
    use super::super::setup::Setup;
    use super::*;

    #[test]
    fn the_reduced_baseline_reaches_the_table() {
        let contact = Setup::profile("square").published().contact().unwrap();
        let table = Table::new(&contact.patch, bristle::limit_surface::Rule::Bilinear, 20).unwrap();
        let mut reduced = Reduced::new(&contact, &table);
        let twist = Twist::new(0.02, -0.01, 3.0);
        let mut wrench = Wrench::default();
        (0..100_000).for_each(|_| wrench = reduced.step(twist, 1e-6));
        let h = table.h(table.radius(), twist);
        // Beyond the Stribeck velocity: mu_c and the viscous part.
        assert!((wrench.fx - (h[0] - 0.2 * 0.02)).abs() < 1e-6, "{wrench:?}, {h:?}");
    }
}

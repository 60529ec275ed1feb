//! The picture of slip in docs/datasets.md:
//! `cargo run --release -p bristle-paper --example slip_picture -- docs/slip.svg`.
//!
//! The load on an object between two pads, a force and a torque, rises to 95 % of the largest load that they
//! hold, stays, and rises again.

use bristle::limit_surface::{Rule, Surface};
use bristle::schedule::Signal;
use bristle::{Cpu, Engine, Plan, Wrench};
use bristle_paper::page::{Chart, Key, Line, Picture, palette};
use bristle_scenario::Scenario;

const TEXT: &str = r#"
duration = 1.4
[patch]
shape = "disc"
cells = 21
size = 0.02
[friction]
mu_c = 0.8
mu_s_over_mu_c = 1.0
sigma0 = 1e5
sigma1 = 100
[body]
kind = "gripper"
mass = 0.2
inertia = { rectangle = [0.1, 0.06] }
[inputs]
normal_force = 2
"#;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut contact = Scenario::parse(TEXT, ".".as_ref(), "slip.toml")?.contact(0)?;
    let direction = Wrench::new(0.0, 1.0, 0.006);
    let surface = Surface::new(&contact.patch, Rule::Cells);
    // Two pads of 2 N.
    let holds = 2.0 * surface.margin(direction, contact.friction.mu_s, 2.0)?.factor;
    // Shares of what holds, over time.
    let load = [(0.0, 0.0), (0.4, 0.95), (0.9, 0.95), (1.4, 1.07)];
    let body = contact.body.free_mut().ok_or("the object moves freely")?;
    for (signal, of) in body.wrench.iter_mut().zip(direction.to_array()) {
        *signal = Signal::linear(&load.map(|(t, share)| (t, share * of * holds)))?;
    }
    let out = Cpu::new().run(&[contact], &Plan::new(1.4, 2e-4, 5e-3)?)?;

    let (t, shares): (Vec<f64>, Vec<f64>) = load.into_iter().unzip();
    let loads = Chart::new("Load over what holds", "t [s]", "share")
        .y_range(0.0, 1.15)
        .line(Line::new(palette::TEXT, &t, &shares))
        .line(Line::new(palette::OTHER, &[0.0, 1.4], &[1.0, 1.0]).dashed());
    let bristles = Chart::new("Share of the normal force", "t [s]", "share")
        .y_range(0.0, 1.15)
        .line(Line::new(palette::ELLIPSOID, &out.time, &out.near_limit).dashed())
        .line(Line::new(palette::BAD, &out.time, &out.slip));
    let key = [Key::dashed(palette::ELLIPSOID, "near_limit"), Key::new(palette::BAD, "slip")];
    let picture = Picture::new(vec![loads.svg(), bristles.svg()], "").key(&key).file();
    std::fs::write(std::env::args().nth(1).unwrap_or_else(|| "slip.svg".into()), picture)?;
    Ok(())
}

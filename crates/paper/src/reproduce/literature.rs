//! Errors and ambiguities of the other papers and pages that the model uses, each with a number that shows
//! it.

use std::f64::consts::{SQRT_2, TAU};
use std::path::Path;

use super::context::{Context, Error};
use super::errata::entry;
use super::item::Item;
use super::item::Wanted::{AtMost, Near};
use crate::page::{Chart, Line, Picture, palette, short};
use bristle::engine::Plan;
use bristle_scenario::Scenario;

pub(super) const IDS: &[&str] = &["kikuuwe", "notes", "pyramid", "block"];

pub(super) fn run(context: &Context<'_>) -> Result<Vec<Item>, Error> {
    Ok(vec![kikuuwe(), notes(), pyramid(), block(context)?])
}

/// Coulomb friction of a fixed step, eq. (14) of Kikuuwe et al.: the force [N] that stops a mass [kg] within
/// the step `t` [s], or the greatest `f` [N]; `v` [m/s] is where the mass would be without friction.
fn stopping([vx, vy]: [f64; 2], f: f64, t: f64, mass: f64) -> [f64; 2] {
    let speed = vx.hypot(vy);
    let scale = if speed <= t * f / mass { -mass / t } else { -f / speed };
    [scale * vx, scale * vy]
}

/// Time [s] and place [m] at which the mass of Simulation III stops, in steps of `t` [s].
fn simulation_three(t: f64) -> (f64, [f64; 2]) {
    let (mass, f, spring) = (1.0, 10.0, 3.0);
    let (mut x, mut v) = ([10.0, 0.0], [0.0, 30.0]);
    for k in 1..(10.0 / t) as u32 {
        let free = [0, 1].map(|c| v[c] - t * spring * x[c] / mass);
        let force = stopping(free, f, t, mass);
        v = [0, 1].map(|c| free[c] + t * force[c] / mass);
        x = [0, 1].map(|c| x[c] + t * v[c]);
        if v[0].hypot(v[1]) < 1e-12 {
            return (f64::from(k) * t, x);
        }
    }
    (f64::NAN, x)
}

fn kikuuwe() -> Item {
    let mut item = entry(
        "kikuuwe",
        "Kikuuwe et al., fixed-step friction: Simulation III, and eq. (18)",
        "Printed: the mass of Simulation III stops at 4.5 s. The friction of (17) takes energy with any \
         step, and (18) may stand for its implicit equation (16b).",
        "It stops at 4.634 s. What is proved of (16b) does not hold of (18): with viscous friction B a step \
         T with T B/M > 1 pushes the mass beyond rest, and with more than 2 it gains energy.",
    );
    let ((stop, at), (coarse, _)) = (simulation_three(1e-4), simulation_three(1e-3));
    item.claims("Simulation III: time of the stop [s]", stop, Near(4.5, 0.05));
    item.compare("the same, steps of 0.1 ms [s], independent program", stop, Near(4.6342, 1e-9));
    item.compare("the same, steps of 1 ms [s], independent program", coarse, Near(4.633, 1e-9));
    item.compare("the same, x at the stop [m]", at[0], Near(1.087_048_278, 1e-8));
    item.compare("the same, y at the stop [m]", at[1], Near(2.438_817_729, 1e-8));
    // One step from 0.1 m/s, no load: phi(v) = -(F sgn v + B v).
    let (mass, f, t, v) = (1.0, 10.0, 1e-3, 0.1);
    let slower = v - t * f / mass;
    let explicit = |tb: f64| slower - tb * slower;
    let implicit = |tb: f64| slower / (1.0 + tb);
    let energy = |after: f64| (after / v).powi(2);
    // Force and velocity at the end of the step.
    let power = |after: f64| mass * (after - v) / t * after;
    item.claims("(18), T B/M = 3: kinetic energy after a step over that before", energy(explicit(3.0)), AtMost(1.0));
    item.claims("(18), T B/M = 1.5: power of friction at the end of the step [W]", power(explicit(1.5)), AtMost(0.0));
    item.compare("(16b), T B/M = 3: kinetic energy after a step over that before", energy(implicit(3.0)), AtMost(1.0));
    item.compare("(16b), T B/M = 1.5: power of friction at the end of the step [W]", power(implicit(1.5)), AtMost(0.0));
    item.measured = format!(
        "Simulation III stops at {stop:.4} s. A step of (18) with T B/M = 3 leaves {:.2} times the kinetic \
         energy, one of (16b) {:.2} times.",
        energy(explicit(3.0)),
        energy(implicit(3.0))
    );
    item.parameters = "M = 1 kg, F = 10 N; III: spring of 3 N/m, from (10, 0) m at (0, 30) m/s".into();
    item
}

fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

/// Rate of a quaternion `(a, b, c, d)` that turns with `w` [rad/s] in the axes of the world: by the matrix as
/// printed, or with the half and the signs that it lacks.
fn rate([a, b, c, d]: [f64; 4], w: [f64; 3], printed: bool) -> [f64; 4] {
    let matrix = if printed {
        [[-b, -c, -d], [a, -d, c], [d, a, -b], [c, b, a]]
    } else {
        [[-b, -c, -d], [a, d, -c], [-d, a, b], [c, -b, a]]
    };
    let half = if printed { 1.0 } else { 0.5 };
    matrix.map(|row| half * (0..3).map(|k| row[k] * w[k]).sum::<f64>())
}

/// The quaternion after 1 s from `q`, by the classical Runge-Kutta rule.
fn turned(mut q: [f64; 4], w: [f64; 3], printed: bool) -> [f64; 4] {
    let steps = 1000;
    let h = 1.0 / f64::from(steps);
    let add = |q: [f64; 4], k: [f64; 4], h: f64| [0, 1, 2, 3].map(|i| q[i] + h * k[i]);
    for _ in 0..steps {
        let k1 = rate(q, w, printed);
        let k2 = rate(add(q, k1, 0.5 * h), w, printed);
        let k3 = rate(add(q, k2, 0.5 * h), w, printed);
        let k4 = rate(add(q, k3, h), w, printed);
        q = [0, 1, 2, 3].map(|i| q[i] + h / 6.0 * (k1[i] + 2.0 * k2[i] + 2.0 * k3[i] + k4[i]));
    }
    q
}

/// What is left of the conditions of page 3, `0 <= z _|_ A z + q >= 0`, for a particle at `v` along x.
fn complementarity(v: f64, [a1, a2, s]: [f64; 3], mu_fn: f64) -> f64 {
    let (z, w) = ([a1, a2, s], [s - v, s + v, mu_fn - a1 - a2]);
    (0..3).map(|k| z[k].min(w[k]).abs()).fold(0.0, f64::max)
}

fn notes() -> Item {
    let mut item = entry(
        "notes",
        "Stewart-Trinkle time stepping, lecture notes: a half, signs and a step too many",
        "Printed: the matrix B that turns angular velocity into the rate of a quaternion has no factor 1/2 \
         and a last row (c, b, a) (p. 7); some moments on the second body have the sign of the first (p. 8); \
         impulses are multiplied by the step h (p. 11); both examples slide at v = (1, 0) (pp. 3 and 4).",
        "With the half, and for angular velocity in the axes of the world, B = 1/2 [[-b, -c, -d], [a, d, \
         -c], [-d, a, b], [c, -b, a]]. The second body's moments all have a minus. Impulses stand without h. \
         The second example is v = (-1, 0).",
    );
    let norm = |q: [f64; 4]| q.iter().map(|v| v * v).sum::<f64>().sqrt();
    let angle = |q: [f64; 4]| 2.0 * q[3].atan2(q[0]);
    let upright = [1.0, 0.0, 0.0, 0.0];
    let spin = [0.0, 0.0, 1.0];
    item.claims(
        "B as printed: angle turned in 1 s at 1 rad/s about z [rad]",
        angle(turned(upright, spin, true)),
        Near(1.0, 1e-3),
    );
    item.compare("mended: the same [rad]", angle(turned(upright, spin, false)), Near(1.0, 1e-10));
    // Tilted, so that the axes of the world and those of the body differ.
    let (tilted, w) = ([0.5; 4], [1.0, 0.3, -0.2]);
    item.claims("B as printed: length of a unit quaternion after 1 s", norm(turned(tilted, w, true)), Near(1.0, 1e-3));
    let size = w.iter().map(|v| v * v).sum::<f64>().sqrt();
    let (sin, cos) = (0.5 * size).sin_cos();
    let r = w.map(|v| v / size * sin);
    let [a, v] = [tilted[0], tilted[1]];
    let along = cross(r, [v; 3]);
    // exp(w/2) q, turning about axes of the world.
    let exact = [
        cos * a - (r[0] + r[1] + r[2]) * v,
        cos * v + a * r[0] + along[0],
        cos * v + a * r[1] + along[1],
        cos * v + a * r[2] + along[2],
    ];
    let found = turned(tilted, w, false);
    let off = (0..4).map(|k| (found[k] - exact[k]).abs()).fold(0.0, f64::max);
    item.compare("mended: distance from the exact rotation", off, AtMost(1e-12));
    // A friction force of 1 N along x on a body above, its reaction on one below, about the point of contact.
    let (above, below) = ([0.0, 0.0, -0.1], [0.0, 0.0, 0.1]);
    let (f, reaction) = ([1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]);
    let both = |second: [f64; 3]| {
        // Moments about both centres, and of the forces at the centres about the contact.
        let at = |r: [f64; 3], f| cross(r.map(|v| -v), f)[1];
        cross(above, f)[1] + at(above, f) + second[1] + at(below, reaction)
    };
    item.claims(
        "moment of a contact force of 1 N and its reaction, 0.1 m off the centres, p. 8 [N m]",
        both(cross(below, f)),
        Near(0.0, 1e-12),
    );
    item.compare("the same with the minus [N m]", both(cross(below, reaction)), Near(0.0, 1e-12));
    // The velocity of a fall of 1 s in steps of 1 ms; p_app = h g.
    let h = 1e-3;
    let fall = |scale: f64| (0..1000).map(|_| scale * h * 9.81).sum::<f64>();
    item.claims("velocity of a fall of 1 s in steps of 1 ms, p. 11 [m/s]", fall(h), Near(9.81, 1e-6));
    item.compare("the same without h [m/s]", fall(1.0), Near(9.81, 1e-9));
    let slides_left = [0.0, 1.0, 1.0];
    item.claims(
        "p. 4, \u{3b1} = (0, \u{3bc} fn), s = 1 at v = 1: what is left of the conditions",
        complementarity(1.0, slides_left, 1.0),
        AtMost(1e-15),
    );
    item.compare("the same at v = -1", complementarity(-1.0, slides_left, 1.0), AtMost(1e-15));
    item.measured = format!(
        "As printed a body at 1 rad/s turns by {:.3} rad in 1 s and its quaternion becomes {:.2} long; a \
         contact force and its reaction leave {} N m; a fall of 1 s reaches {} m/s.",
        angle(turned(upright, spin, true)),
        norm(turned(tilted, w, true)),
        short(both(cross(below, f)).abs(), 1),
        short(fall(h), 3)
    );
    item
}

/// The greatest friction over `mu f_n` of the pyramid `|ft|, |fb| <= mu~ f_n`, and the least on its faces,
/// for `mu~` over `mu`.
fn reach(ratio: f64) -> [f64; 2] {
    let edge = |k: u32| {
        let (sin, cos) = (TAU * f64::from(k) / 3600.0).sin_cos();
        ratio / sin.abs().max(cos.abs())
    };
    [(0..3600).map(edge).fold(0.0, f64::max), (0..3600).map(edge).fold(f64::INFINITY, f64::min)]
}

fn pyramid() -> Item {
    let mut item = entry(
        "pyramid",
        "Friction pyramids (Caron): inscribed or not",
        "Printed: the polygon of the linearised cone is inscribed in the circle; its four-sided pyramid is \
         |ft|, |fb| \u{2264} \u{3bc}~ fn.",
        "Those inequalities with \u{3bc}~ = \u{3bc} are the square around the circle, as the page says \
         further down: an outer approximation. The inscribed one has \u{3bc}~ = \u{3bc}/\u{221a}2.",
    );
    let ([outer, touches], [inner, least]) = (reach(1.0), reach(1.0 / SQRT_2));
    item.claims("\u{3bc}~ = \u{3bc}: greatest friction over \u{3bc} fn, 1 if inscribed", outer, AtMost(1.0 + 1e-12));
    item.compare(
        "\u{3bc}~ = \u{3bc}: excess over the circle, independent program",
        outer - 1.0,
        Near(0.414_213_562, 1e-9),
    );
    item.compare("\u{3bc}~ = \u{3bc}: least friction over \u{3bc} fn", touches, Near(1.0, 1e-12));
    item.compare("\u{3bc}~ = \u{3bc}/\u{221a}2: greatest friction over \u{3bc} fn", inner, Near(1.0, 1e-12));
    item.compare(
        "\u{3bc}~ = \u{3bc}/\u{221a}2: what it lacks of the circle, independent program",
        1.0 - least,
        Near(0.292_893_219, 1e-9),
    );
    item.measured = format!(
        "The pyramid with \u{3bc}~ = \u{3bc} allows {:.0} % too much friction in its corners; the one with \
         \u{3bc}/\u{221a}2 {:.0} % too little on its faces.",
        100.0 * (outer - 1.0),
        100.0 * (1.0 - least)
    );
    item
}

/// A block of 1 kg on a slide under 3 N at 1 Hz; `mu_s` at first and from 4 s on. The page's bristle is 1e5
/// N/m stiff, ours a multiple of the normal force.
fn scenario(mu_s: [f64; 2]) -> String {
    let n = 9.8;
    format!(
        r#"duration = 8.0
[patch]
shape = "square"
cells = 1
size = 0.01
[friction]
law = "lugre"
sigma0 = {:?}
sigma1 = {:?}
sigma2 = {:?}
mu_c = 0.2
v_s = 0.001
[body]
kind = "world"
mass = 1.0
inertia = 1.0
[inputs]
normal_force = {n:?}
mu_s = {{ points = [[0, {:?}], [4, {:?}]], interpolate = "constant" }}
[inputs.wrench]
fx = {{ mean = 0, sines = [{{ amplitude = 3, frequency = 1 }}] }}
"#,
        1e5 / n,
        1e5_f64.sqrt() / n,
        0.4 / n,
        mu_s[0],
        mu_s[1]
    )
}

fn block(context: &Context<'_>) -> Result<Item, Error> {
    let mut item = entry(
        "block",
        "Sliding block with LuGre friction, a tutorial: F_s, and what a changed \u{3bc}_s does",
        "Printed: F_s = \u{3bc}_d N in the list of formulas; velocity and friction force have each other's \
         titles in the code that plots them; the static coefficient is raised at 4 s.",
        "F_s = \u{3bc}_s N, as the page's own code has it. At 4 s the block slides, far above the Stribeck \
         velocity: a raised coefficient is not felt before it stops, 27 ms later. The load rises so fast \
         that friction peaks well below F_s.",
    );
    let texts = [[0.2, 0.2], [0.3, 0.3], [0.3, 0.5]].map(scenario);
    let contacts: Vec<_> = texts
        .iter()
        .map(|text| Scenario::parse(text, Path::new(""), "block")?.contact(0).map_err(Error::from))
        .collect::<Result<_, Error>>()?;
    let runs = context.simulate_in(&contacts, &Plan::new(8.0, 5e-5, 1e-3)?)?;
    let before = |t: &f64| *t <= 4.0;
    let peak = |k: usize| {
        let force = runs.wrench(k, 0);
        runs.time().iter().zip(&force).filter(|(t, _)| before(t)).map(|(_, f)| f.abs()).fold(0.0, f64::max)
    };
    let (printed, mended) = (peak(0), peak(1));
    item.claims("greatest friction in 4 s with F_s = \u{3bc}_d N [N]", printed, Near(2.2297, 0.01));
    item.compare("the same with F_s = \u{3bc}_s N [N], independent program", mended, Near(2.229_680, 2e-3));
    item.claims("the same over F_s", mended / (0.3 * 9.8), Near(1.0, 0.05));
    let (x, v) = (runs.pose(2, 0), runs.twist(2, 0));
    item.compare("x at 4 s [m], independent program", x[4000], Near(8.188_327e-4, 1e-8));
    let stop = |k: usize| {
        let v = runs.twist(k, 0);
        let at = (4000..8000).find(|i| v[*i] <= 0.0 && v[i + 1] > 0.0).unwrap_or(4000);
        1e3 * (runs.time()[at] - 4.0) - v[at] / (v[at + 1] - v[at])
    };
    item.compare("stop after the switch to \u{3bc}_s = 0.5 [ms], independent program", stop(2), Near(27.0, 0.5));
    item.compare("the same without a switch: difference [ms]", stop(1) - stop(2), Near(0.0, 0.05));
    let late = runs.wrench(2, 0)[4001..].iter().fold(0.0f64, |m, f| m.max(f.abs()));
    item.compare("greatest friction from 4 s on, \u{3bc}_s = 0.5 [N], independent program", late, Near(3.003_07, 2e-3));
    let drift = x[8000] - x[5000];
    item.compare("x from 5 s to 8 s, \u{3bc}_s = 0.5: it sticks [m]", drift.abs(), AtMost(1e-12));
    item.measured = format!(
        "Friction reaches {mended:.2} N of F_s = 2.94 N ({printed:.2} N if F_s were \u{3bc}_d N). The block \
         stops {:.0} ms after the switch at 4 s, with or without it, and stays for good if \u{3bc}_s is now \
         0.5: 3 N no longer move it.",
        stop(2)
    );
    let (t, force) = (runs.time(), runs.wrench(2, 0).iter().map(|f| -f).collect::<Vec<_>>());
    item.pictures.push(Picture::new(
        vec![
            Chart::new("Friction on the block", "t [s]", "-fx [N]").line(Line::new(palette::GRID, t, &force)).svg(),
            Chart::new("Velocity", "t [s]", "vx [m/s]").line(Line::new(palette::GRID, t, &v)).svg(),
            Chart::new("Displacement", "t [s]", "x [m]").line(Line::new(palette::GRID, t, &x)).svg(),
        ],
        "\u{3bc}_s is 0.3 until 4 s and 0.5 from then on.",
    ));
    item.columns =
        vec![("t_s".into(), t.to_vec()), ("x_m".into(), x), ("vx_m_per_s".into(), v), ("friction_N".into(), force)];
    item.parameters = "1 kg, N = 9.8 N, load 3 sin(2 \u{3c0} t) N; \u{3bc}_d = 0.2, v_s = 1 mm/s, k0 = 1e5 \
     N/m; the page does not say to what \u{3bc}_s is raised; step 50 \u{b5}s"
        .into();
    item.scenario = Some(scenario([0.3, 0.5]));
    Ok(item)
}

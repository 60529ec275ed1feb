use approx::assert_relative_eq;

use super::*;
use crate::random::Draw;
use crate::solver::cell::{self, CellTrial};
use crate::solver::constants::KAPPA;
use crate::solver::laws::{self, with_law};
use crate::solver::transition::{in_transition, plastic_share, transition_root};

fn friction(law: Law, gamma: f64) -> Friction {
    Friction { law, gamma, mu_s: 1.3, mu_c: 0.9, ..Friction::default() }.effective_for_law()
}

/// The stage of length `a` [s] of `f`, with `chi = 1`.
fn stage(f: &Friction, a: f64) -> Stage<f64> {
    Stage {
        a_sigma0: a * f.sigma0,
        damping: f.sigma1 / (f.sigma0 * a),
        mu_c: f.mu_c,
        mu_d: f.mu_s - f.mu_c,
        chi: 1.0,
        extrapolation: 1.0,
        cuts: 0.0,
    }
}

/// The bristle after one stage: the cell by itself.
fn bristle<R: Real>(k: &Consts<R>, st: &Stage<R>, m: &Motion<R>, zx: R, zy: R) -> (CellTrial<R>, Slip<R>) {
    let c = with_law!(k.law, L => cell::trial::<R, L>(st, m, zx, zy));
    let mut z = with_law!(k.law, L => <L as laws::Law>::slip(k, &c.t));
    if k.law.is_elastic() {
        let root = transition_root(k, c.t.len / c.t.g, c.t.travel / c.t.g);
        z = Slip::select(in_transition(k, &c.t), &root.slip(), &z);
    }
    (c, z)
}

/// No elastic range, stick, transition or slide.
fn branch(law: Law, k: &Consts<f64>, c: &CellTrial<f64>) -> usize {
    match law.is_elastic() {
        false => 0,
        true if in_transition(k, &c.t) => 2,
        true if c.t.len > k.s_ba * c.t.g => 3,
        true => 1,
    }
}

/// The state after a stage of `f` at velocity `v` from base `zb`.
fn moved(f: &Friction, a: f64, v: [f64; 2], zb: [f64; 2]) -> [f64; 2] {
    let k = Consts::new(f);
    let (st, m) = (stage(f, a), motion(&k, v[0], v[1]));
    let (_, z) = bristle(&k, &st, &m, zb[0], zb[1]);
    slipped(&st, &m, zb, &z)
}

/// The trial state `zeta_b + a sigma0 v`, shortened by its slip.
fn slipped<R: Real>(st: &Stage<R>, m: &Motion<R>, zb: [R; 2], z: &Slip<R>) -> [R; 2] {
    [z.d * st.a_sigma0.fma(m.vx, zb[0]), z.d * st.a_sigma0.fma(m.vy, zb[1])]
}

/// `zeta'`, written from `docs/model.md` (5) and (8) to (11).
fn rate(f: &Friction, v: [f64; 2], z: [f64; 2]) -> [f64; 2] {
    let s = v[0].hypot(v[1]);
    let g = f.mu_c + (f.mu_s - f.mu_c) * (-(s / f.v_s).powf(f.gamma)).exp();
    let size = z[0].hypot(z[1]);
    let lambda = match f.law.is_elastic() {
        false => f.sigma0 * s / g,
        true => {
            let along = if size > 0.0 { (v[0] * z[0] + v[1] * z[1]) / size } else { 0.0 };
            let x = size / g;
            let middle = (x - 0.5 * (1.0 + f.s_ba)) / (1.0 - f.s_ba);
            let b = match x {
                x if x <= f.s_ba => 0.0,
                x if x >= 1.0 => 1.0,
                _ => 0.5 + 0.5 * (std::f64::consts::PI * middle).sin(),
            };
            f.sigma0 / g * 0.5 * (s + along) * b
        }
    };
    [0, 1].map(|i| f.sigma0 * v[i] - lambda * z[i])
}

/// What is left of the implicit equation of a stage: `zeta* = zeta_b + a zeta'`, or, under the
/// viscoelasto-plastic law, whose rate jumps at the limit, `zeta* = y - l zeta*` with the least `l >= 0` that
/// keeps `|zeta*|` within the limit.
fn residual(f: &Friction, a: f64, v: [f64; 2], zb: [f64; 2], z: [f64; 2]) -> [f64; 2] {
    if f.law != Law::ViscoelastoPlastic {
        let r = rate(f, v, z);
        return [0, 1].map(|i| z[i] - zb[i] - a * r[i]);
    }
    let g = f.mu_c + (f.mu_s - f.mu_c) * (-(v[0].hypot(v[1]) / f.v_s).powf(f.gamma)).exp();
    let y = [0, 1].map(|i| zb[i] + a * f.sigma0 * v[i]);
    let (size, trial) = (z[0].hypot(z[1]), y[0].hypot(y[1]));
    if trial <= g {
        return [0, 1].map(|i| z[i] - y[i]);
    }
    // At the limit, and in the direction of the trial.
    [size - g, (z[0] * y[1] - z[1] * y[0]) / trial]
}

/// A velocity [m/s] and the base of a bristle [-].
type Case = ([f64; 2], [f64; 2]);

/// Speeds below, at and above the Stribeck velocity in all directions, and bases from rest to slip.
fn states() -> impl Iterator<Item = Case> {
    (0..4000u64).map(|k| {
        let d = Draw::new(2, k);
        let [angle, turn] = d.uniform2("angles").map(|u| u * std::f64::consts::TAU);
        let speed = 1e-6 * (1e6 * d.uniform("speed") / 4.0).powf(d.uniform("power"));
        let size = 1.3 * d.uniform("size");
        ([speed * angle.cos(), speed * angle.sin()], [size * turn.cos(), size * turn.sin()])
    })
}

#[test]
fn the_plastic_share_is_half_a_sine_between_its_ends_and_its_slope_is_its_derivative() {
    for s_ba in [0.0, 0.5, 0.9, 0.99] {
        let k = Consts::new(&Friction { s_ba, ..Friction::default() });
        let width = 1.0 - s_ba;
        for (x, b) in [(0.0, 0.0), (s_ba, 0.0), (s_ba + 0.5 * width, 0.5), (1.0, 1.0), (1.7, 1.0)] {
            assert_relative_eq!(plastic_share(&k, x).0, b, epsilon = 1e-15);
        }
        assert_relative_eq!(plastic_share(&k, s_ba + width / 6.0).0, 0.5 - 0.75f64.sqrt() / 2.0, epsilon = 1e-13);
        for q in [0.01, 0.3, 0.5, 0.77, 0.99] {
            let (x, e) = (s_ba + q * width, 1e-5 * width);
            let slope = (plastic_share(&k, x + e).0 - plastic_share(&k, x - e).0) / (2.0 * e);
            assert_relative_eq!(plastic_share(&k, x).1, slope, max_relative = 1e-6);
        }
    }
}

#[test]
fn the_root_in_the_transition_solves_its_equation() {
    for s_ba in [0.0, 1e-3, 0.3, 0.7, 0.9, 0.99] {
        let k = Consts::new(&Friction { s_ba, ..Friction::default() });
        for exponent in -24..=24 {
            let l = 10f64.powf(f64::from(exponent) / 4.0);
            // `y = zeta_b + a sigma0 v` cannot be much shorter than `l`: a base is bent by less than 4 g.
            let low = f64::max(s_ba, l - 4.0);
            for q in [1e-9, 1e-6, 1e-3, 0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 0.999, 1.0 - 1e-6, 1.0 - 1e-9] {
                let y = low + q * (1.0 + l - low);
                let [x, b, stiff] = transition_root(&k, y, l).finish();
                let residual = x * (1.0 + l * plastic_share(&k, x).0) - y;
                let limit = 1e-12 * y.max(1.0);
                assert!(residual.abs() <= limit, "s_ba {s_ba}, l {l:e}, q {q}: residual {residual:e} at {x}");
                let (exact, slope) = plastic_share(&k, x);
                assert!(
                    (b - exact).abs() < 1e-14 && (stiff * (1.0 + l * (exact + x * slope)) - 1.0).abs() < 1e-9,
                    "s_ba {s_ba}, l {l:e}, q {q}: {b} for {exact}, {stiff}"
                );
                assert!((s_ba..=1.0).contains(&x), "s_ba {s_ba}, l {l:e}, q {q}: x = {x}");
            }
        }
    }
}

/// In single precision one iteration is enough.
#[test]
fn the_root_in_single_precision_is_that_in_double_precision_but_for_rounding() {
    for (s_ba, limit) in [(0.0, 8e-7), (0.3, 4e-7), (0.7, 3e-7), (0.9, 3e-7), (0.99, 3e-7)] {
        let friction = Friction { s_ba, ..Friction::default() };
        let (k, single) = (Consts::<f64>::new(&friction), Consts::<f32>::new(&friction));
        for exponent in -24..=24 {
            let l = 10f32.powf(exponent as f32 / 4.0);
            let low = f64::max(s_ba, f64::from(l) - 4.0);
            for i in 1..400 {
                let y = (low + f64::from(i) / 400.0 * (1.0 + f64::from(l) - low)) as f32;
                let [x, b, stiff] = transition_root(&single, y, l).finish().map(f64::from);
                let [exact, share, stiffness] = transition_root(&k, f64::from(y), f64::from(l)).finish();
                let place = format!("s_ba {s_ba}, l {l:e}, y {y}: {x} for {exact}");
                assert!((x - exact).abs() < limit, "{place}");
                assert!((b - share).abs() < 2e-3 && (stiff - stiffness).abs() < 2e-3, "{place}, {b}, {stiff}");
            }
        }
    }
}

#[test]
fn a_stage_solves_the_implicit_equation_on_every_branch() {
    let mut branches = [0; 4];
    for &law in Law::ALL {
        for (v, zb) in states() {
            for a in [1e-7, 1e-5, 1e-3] {
                let f = friction(law, 2.0);
                let z = moved(&f, a, v, zb);
                let scale = 1.0 + a * f.sigma0 * v[0].hypot(v[1]);
                for residual in residual(&f, a, v, zb, z) {
                    assert!(residual.abs() < 1e-11 * scale, "{law:?} v {v:?} from {zb:?} in {a} s: {residual:e}");
                }
                let k = Consts::new(&f);
                let (t, _) = bristle(&k, &stage(&f, a), &motion(&k, v[0], v[1]), zb[0], zb[1]);
                branches[branch(law, &k, &t)] += 1;
            }
        }
    }
    assert!(branches.iter().all(|n| *n > 500), "every branch is met: {branches:?}");
}

#[test]
fn a_stage_never_bends_a_bristle_beyond_its_base_and_the_stribeck_curve() {
    for &law in Law::ALL {
        for gamma in [0.5, 2.0, 3.7] {
            let f = friction(law, gamma);
            for (v, zb) in states() {
                for a in [1e-7, 1e-4, 10.0] {
                    let z = moved(&f, a, v, zb);
                    let k = Consts::new(&f);
                    let g = f.mu_c + (f.mu_s - f.mu_c) * motion(&k, v[0], v[1]).bell;
                    let bound = zb[0].hypot(zb[1]).max(g);
                    assert!(z[0].hypot(z[1]) <= bound * (1.0 + 1e-12), "{law:?}, {v:?} from {zb:?}: {z:?}");
                }
            }
        }
    }
}

/// The two stages of the step at constant velocity.
fn step(f: &Friction, h: f64, v: [f64; 2], z: [f64; 2]) -> [f64; 2] {
    let a = KAPPA * h;
    let z1 = moved(f, a, v, z);
    let extrapolation = 1.0 + std::f64::consts::SQRT_2;
    moved(f, a, v, [0, 1].map(|i| z[i] + extrapolation * (z1[i] - z[i])))
}

/// The state after `t` [s] at velocity `v` from `z`: a Runge-Kutta step of fourth order, `n` times.
fn runge_kutta(f: &Friction, t: f64, n: u32, v: [f64; 2], mut z: [f64; 2]) -> [f64; 2] {
    let h = t / f64::from(n);
    let plus = |z: [f64; 2], c: f64, k: [f64; 2]| [z[0] + c * k[0], z[1] + c * k[1]];
    for _ in 0..n {
        let k1 = rate(f, v, z);
        let k2 = rate(f, v, plus(z, h / 2.0, k1));
        let k3 = rate(f, v, plus(z, h / 2.0, k2));
        let k4 = rate(f, v, plus(z, h, k3));
        z = [0, 1].map(|i| z[i] + h / 6.0 * (k1[i] + 2.0 * k2[i] + 2.0 * k3[i] + k4[i]));
    }
    z
}

#[test]
fn lugre_follows_its_closed_form_with_second_order() {
    let f = friction(Law::LuGre, 2.0);
    let (v, z) = ([3e-4, -4e-4], [0.2, 0.5]);
    let g = f.mu_c + (f.mu_s - f.mu_c) * (-0.25f64).exp();
    let rate = f.sigma0 * 5e-4 / g;
    let t = 4e-3;
    let exact = [0, 1].map(|i| g * v[i] / 5e-4 + (z[i] - g * v[i] / 5e-4) * (-rate * t).exp());
    let error = |n: u32| {
        let end = (0..n).fold(z, |z, _| step(&f, t / f64::from(n), v, z));
        (end[0] - exact[0]).hypot(end[1] - exact[1])
    };
    let order = (error(64) / error(256)).log2() / 2.0;
    assert!((1.9..2.1).contains(&order) && error(256) < 1e-5, "order {order}, error {:e}", error(256));
}

#[test]
fn elasto_plastic_follows_its_equation_with_second_order() {
    // From rest through the transition, from behind, and sideways; constant speed, so only the bristle moves.
    for (v, z) in [([5e-4, 0.0], [0.0, 0.0]), ([5e-4, 1e-4], [-1.1, 0.2]), ([2e-4, 1e-3], [1.0, -0.3])] {
        for s_ba in [0.3, 0.9] {
            let f = Friction { s_ba, ..friction(Law::ElastoPlastic, 2.0) };
            let t = 3e-3;
            let exact = runge_kutta(&f, t, 20_000, v, z);
            let error = |n: u32| {
                let end = (0..n).fold(z, |z, _| step(&f, t / f64::from(n), v, z));
                (end[0] - exact[0]).hypot(end[1] - exact[1])
            };
            // The end of the transition has a kink in its curvature: the order is a little less than even.
            let order = (error(500) / error(4000)).log2() / 3.0;
            assert!(order > 1.7 && error(4000) < 1e-5, "{v:?} from {z:?}: order {order}, error {:e}", error(4000));
        }
    }
}

#[test]
fn the_gain_is_the_derivative_of_the_state() {
    let mut branches = [0; 4];
    for &law in Law::ALL {
        for gamma in [0.5, 1.0, 2.0, 3.7] {
            let f = friction(law, gamma);
            let k = Consts::new(&f);
            for (v, zb) in states() {
                // Below x = 0.05 the slope of the curve is held; see the gain's bound there.
                let speed = v[0].hypot(v[1]);
                if speed < 0.06 * f.v_s {
                    continue;
                }
                for a in [1e-6, 1e-4] {
                    let st = stage(&f, a);
                    let m = motion(&k, v[0], v[1]);
                    let (t, z) = bristle(&k, &st, &m, zb[0], zb[1]);
                    // Finite differences do not see through the ends of the transition.
                    let (y, l) = (t.t.len / t.t.g, t.t.travel / t.t.g);
                    let near = |edge: f64| (y - edge).abs() < 0.02 * edge;
                    if law == Law::ViscoelastoPlastic && near(1.0) {
                        continue;
                    }
                    if law.is_elastic() && (near(f.s_ba) || near(1.0 + l) || y < 1e-3 || l < 1e-9) {
                        continue;
                    }
                    let n = [t.nx, t.ny];
                    let (carried, row) = with_law!(law, L => cell::sensitivity::<f64, L>(&st, &m, &t, &z));
                    let outer = |i: usize, j: usize| n[i] * row[j];
                    let found = [outer(0, 0) + carried, outer(0, 1), outer(1, 0), outer(1, 1) + carried];
                    let e = 1e-5 * speed.min(1.0 / st.a_sigma0);
                    let column = |d: [f64; 2]| {
                        let ahead = moved(&f, a, [v[0] + d[0], v[1] + d[1]], zb);
                        let behind = moved(&f, a, [v[0] - d[0], v[1] - d[1]], zb);
                        [0, 1].map(|i| (ahead[i] - behind[i]) / (2.0 * e))
                    };
                    let (x, y) = (column([e, 0.0]), column([0.0, e]));
                    let wanted = [x[0], y[0], x[1], y[1]];
                    let scale = wanted.iter().fold(1e-3 * st.a_sigma0, |s: f64, w| s.max(w.abs()));
                    for i in 0..4 {
                        let difference = (found[i] - wanted[i]).abs();
                        assert!(
                            difference < 1e-4 * scale,
                            "{law:?}, gamma {gamma}, a {a}, v {v:?}, base {zb:?}: entry {i} is {}, wanted {}",
                            found[i],
                            wanted[i]
                        );
                    }
                    branches[branch(law, &k, &t)] += 1;
                }
            }
        }
    }
    assert!(branches.iter().all(|n| *n > 500), "every branch is met: {branches:?}");
}

#[test]
fn the_slope_of_the_bell_stays_finite_at_any_speed_in_single_precision() {
    for gamma in [0.3, 1.0, 2.0, 5.7, 12.0] {
        let k = Consts::<f32>::new(&Friction { gamma, v_s: 1e-5, ..Friction::default() });
        for exponent in -12..=6 {
            let m = motion(&k, 10f32.powi(exponent), 0.0);
            assert!(m.bell_slope.is_finite() && m.bell.is_finite(), "gamma {gamma}, speed 1e{exponent}: {m:?}");
        }
    }
}

#[test]
fn single_precision_gives_the_state_within_its_rounding() {
    for &law in Law::ALL {
        for s_ba in [0.0, 0.3, 0.9] {
            let f = Friction { s_ba, ..friction(law, 2.0) };
            for (v, zb) in states() {
                let a = 3e-5;
                let wide = stage(&f, a);
                let st = Stage {
                    a_sigma0: wide.a_sigma0 as f32,
                    damping: wide.damping as f32,
                    mu_c: wide.mu_c as f32,
                    mu_d: wide.mu_d as f32,
                    chi: 1.0f32,
                    extrapolation: 1.0,
                    cuts: 0.0,
                };
                let k = Consts::<f32>::new(&f);
                let (m, narrow) = (motion(&k, v[0] as f32, v[1] as f32), zb.map(|z| z as f32));
                let (_, z) = bristle(&k, &st, &m, narrow[0], narrow[1]);
                let wanted = moved(&f, a, v, zb);
                for (found, wanted) in slipped(&st, &m, narrow, &z).into_iter().zip(wanted) {
                    let difference = (f64::from(found) - wanted).abs();
                    assert!(difference < 1e-5, "{law:?}, s_ba {s_ba}, {v:?} from {zb:?}: {found}, wanted {wanted}");
                }
            }
        }
    }
}

#[test]
fn lanes_give_what_single_numbers_give() {
    use crate::number::baseline::F64 as Wide;
    for &law in Law::ALL {
        let f = friction(law, 2.0);
        let st = stage(&f, 1e-5);
        let wide = Stage {
            a_sigma0: Wide::splat(st.a_sigma0),
            damping: Wide::splat(st.damping),
            mu_c: Wide::splat(st.mu_c),
            mu_d: Wide::splat(st.mu_d),
            chi: Wide::splat(1.0),
            extrapolation: Wide::splat(1.0),
            cuts: Wide::splat(0.0),
        };
        let all: Vec<_> = states().take(320).collect();
        for group in all.chunks(Wide::LANES) {
            let pack = |of: &dyn Fn(&Case) -> f64| Wide::pack(&group.iter().map(of).collect::<Vec<_>>());
            let m = motion(&Consts::<Wide>::new(&f), pack(&|s| s.0[0]), pack(&|s| s.0[1]));
            let zb = [pack(&|s| s.1[0]), pack(&|s| s.1[1])];
            let (_, z) = bristle(&Consts::new(&f), &wide, &m, zb[0], zb[1]);
            let found = slipped(&wide, &m, zb, &z);
            for (i, (v, zb)) in group.iter().enumerate() {
                let one = moved(&f, 1e-5, *v, *zb);
                assert_relative_eq!(found[0].lane(i), one[0], epsilon = 1e-14, max_relative = 1e-13);
                assert_relative_eq!(found[1].lane(i), one[1], epsilon = 1e-14, max_relative = 1e-13);
            }
        }
    }
}

#[test]
fn no_slope_exceeds_the_one_between_two_speeds() {
    let k_g = Friction::default().steepest_stribeck_slope();
    let slope = |x: f64| 2.0 * x * (-x * x).exp();
    let speeds: Vec<f64> = (0..400).map(|k| 1e-3 * 1.03f64.powi(k)).collect();
    for (i, least) in speeds.iter().enumerate() {
        for most in &speeds[i..] {
            let bound = steepest_between(*least, *most).min(k_g * (1.0 + 1e-12));
            let single = f64::from(steepest_between(*least as f32, *most as f32)).min(k_g * (1.0 + 1e-12));
            assert!((single - bound).abs() <= 1e-6 * bound, "{least} to {most}: {single} in f32, {bound}");
            assert!(slope(*least) <= bound && slope(*most) <= bound, "{least} to {most}");
            // The steepest place, where it is between them.
            assert!(!(*least..*most).contains(&0.5f64.sqrt()) || bound >= k_g, "{least} to {most}");
        }
    }
    // Far below and far above `v_s` it is small, and at rest no zero.
    assert!(steepest_between(0.0, 0.01) < 0.021 && steepest_between(10.0, 1e30) < 1.1e-3);
    assert_eq!(steepest_between(0.0f32, 0.0), LEAST_SLOPE as f32);
}

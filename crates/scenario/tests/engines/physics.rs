//! Properties of friction for random numbers.

use std::sync::Arc;

use bristle::body::Frame;
use bristle::contact::Contact;
use bristle::cpu::Cpu;
use bristle::engine::{Engine, Plan};
use bristle::friction::{Friction, Law};
use bristle::patch::{Grid, Patch, Shape};
use bristle::planar::Wrench;
use bristle::random::Draw;
use bristle::schedule::{Signal, Sine};

use crate::Limits;
use crate::common::{
    Dice, WITH_THE_BODY, assert_close, dry, free, in_hand, of, on_table, plan, prescribed, prescribed_twist, rollout,
    series, shape, sliding_friction,
};

pub fn steady_sliding_gives_the_sum_over_the_cells_and_takes_power(engine: &dyn Engine, limits: &Limits) {
    let mut contacts = Vec::new();
    for k in 0..24 {
        let d = Dice(Draw::new(11, k));
        let map = d.pick("map", &[Shape::Square, Shape::Circle, Shape::LineGradient, Shape::NonConvex2]);
        let friction = Friction {
            law: d.pick("law", Law::ALL),
            gamma: d.pick("gamma", &[2.0, 1.0, 3.3]),
            v_s: d.log("v_s", 1e-3, 0.1),
            sigma2: d.between("sigma2", 0.0, 2.0),
            ..Friction::default()
        };
        // Every cell moves: the centre of rotation is outside the patch.
        let (speed, angle) = (d.log("speed", 0.02, 0.2), d.between("angle", 0.0, 6.3));
        let w = speed * d.between("w", -50.0, 50.0);
        let twist = [speed * angle.cos(), speed * angle.sin(), w];
        contacts.push(prescribed(&shape(11, 0.02, map), friction, twist, d.log("f_n", 0.1, 20.0)));
    }
    let out = rollout(engine, &contacts, &Plan::new(0.02, 2e-4, 0.02).unwrap());
    for (k, c) in contacts.iter().enumerate() {
        let twist = of(&out.twist, k, 2)[1];
        let f_n = c.inputs.normal_force.value(0.0);
        let mut wanted = Wrench::default();
        for cell in c.patch.cells() {
            let [x, y] = twist.velocity([cell.x, cell.y]);
            let (s, f) = (x.hypot(y), c.friction);
            let over_speed = -f_n * cell.w * sliding_friction(&f, s) / s;
            let (fx, fy) = (over_speed * x, over_speed * y);
            wanted = wanted + Wrench::new(fx, fy, cell.x * fy - cell.y * fx);
        }
        let found = of(&out.wrench, k, 2)[1];
        let scale = wanted.fx.hypot(wanted.fy);
        assert_close(
            &format!("contact {k}: force"),
            &[found.fx, found.fy],
            &[wanted.fx, wanted.fy],
            limits.steady * scale,
        );
        assert_close(&format!("contact {k}: torque"), &[found.tau], &[wanted.tau], limits.steady * scale * 0.01);
        let power = found.power(twist);
        assert!(power < 0.0, "contact {k}: friction gives {power} W to its body");
    }
}

/// A map without any symmetry.
fn lopsided(nx: usize, ny: usize, image: impl Fn(f64, f64) -> [f64; 2]) -> Arc<Patch> {
    let pressure = |x: f64, y: f64| {
        let [x, y] = image(x, y);
        (1.0 + 60.0 * x - 35.0 * y + 4e3 * x * y).max(0.0)
    };
    Arc::new(Patch::from_fn(Grid::new(nx, ny, 0.02, 0.02).unwrap(), pressure).unwrap())
}

pub fn mirrored_and_turned_contacts_move_in_mirrored_and_turned_ways(engine: &dyn Engine, limits: &Limits) {
    let friction = Friction { law: Law::ElastoPlastic, ..Friction::default() };
    let grip = Signal::steps(&[(0.0, 2.0), (0.1, 0.8), (0.2, 2.0)]).unwrap();
    let held = |patch: &Arc<Patch>, pose: [f64; 3], [gx, gy]: [f64; 2]| {
        let mut c = in_hand(patch, friction, pose, grip.clone());
        free(&mut c).gravity = [Signal::constant(gx), Signal::constant(gy)];
        c
    };
    let plain = held(&lopsided(9, 9, |x, y| [x, y]), [0.004, -0.001, 0.0], [2.0, -9.0]);
    let mirrored = held(&lopsided(9, 9, |x, y| [-x, y]), [-0.004, -0.001, 0.0], [-2.0, -9.0]);
    // A quarter turn to the left: (x, y) to (-y, x).
    let turned = held(&lopsided(9, 9, |x, y| [y, -x]), [0.001, 0.004, 0.0], [9.0, 2.0]);

    // On a table any turn of body and load together is a symmetry.
    let pushed = |turn: f64| {
        let mut c = on_table(Frame::Body { offset: [0.003, 0.001] }, &lopsided(8, 5, |x, y| [x, y]), friction);
        let along = |fx: f64, fy: f64| [turn.cos() * fx - turn.sin() * fy, turn.sin() * fx + turn.cos() * fy];
        let [fx, fy] = along(11.0, 6.0);
        free(&mut c).wrench = [fx, fy, 0.01].map(|f| Signal::steps(&[(0.0, f), (0.2, 0.0)]).unwrap());
        c.initial.pose.theta = turn;
        c
    };
    let turn = 0.7f64;
    let contacts: [Contact; 5] = [plain, mirrored, turned, pushed(0.0), pushed(turn)];
    let out = rollout(engine, &contacts, &Plan::new(0.3, 2e-4, 0.01).unwrap());
    let n = out.frames();
    let of = |k: usize, c: usize| series(&out.pose, k, n, c);
    let moved = |k: usize| {
        let (first, last) = (out.pose[k * n], out.pose[k * n + n - 1]);
        (last.x - first.x).hypot(last.y - first.y).max(0.02 * (last.theta - first.theta).abs())
    };
    for k in 0..5 {
        assert!(moved(k) > 1e-3, "contact {k} moves: {}", moved(k));
    }
    let negated = |v: Vec<f64>| v.into_iter().map(|x| -x).collect::<Vec<_>>();
    let (way, angle) = (limits.symmetry * moved(0), limits.symmetry * moved(0) / 0.02);
    assert_close("mirrored x", &of(1, 0), &negated(of(0, 0)), way);
    assert_close("mirrored y", &of(1, 1), &of(0, 1), way);
    assert_close("mirrored theta", &of(1, 2), &negated(of(0, 2)), angle);
    assert_close("turned x", &of(2, 0), &negated(of(0, 1)), way);
    assert_close("turned y", &of(2, 1), &of(0, 0), way);
    assert_close("turned theta", &of(2, 2), &of(0, 2), angle);
    // A stage ends by the larger component of a Newton step, which a turn changes: the rest is what that
    // leaves.
    let way = limits.symmetry.max(1e-7) * moved(3);
    let angle = way / 0.02;
    let (x, y) = (of(3, 0), of(3, 1));
    let image = |i: usize| [turn.cos() * x[i] - turn.sin() * y[i], turn.sin() * x[i] + turn.cos() * y[i]];
    assert_close("pushed x", &of(4, 0), &(0..n).map(|i| image(i)[0]).collect::<Vec<_>>(), way);
    assert_close("pushed y", &of(4, 1), &(0..n).map(|i| image(i)[1]).collect::<Vec<_>>(), way);
    let theta: Vec<f64> = of(3, 2).iter().map(|theta| theta + turn).collect();
    assert_close("pushed theta", &of(4, 2), &theta, angle);
}

pub fn closed_loop_in_stick_gives_its_energy_back(engine: &dyn Engine, limits: &Limits) {
    // Corners of the path in units of the elastic limit: x, y, and theta times the patch's half width.
    let corners = [[0.0, 0.0, 0.0], [0.5, 0.1, 0.1], [0.2, 0.5, -0.2], [-0.4, 0.3, 0.2], [-0.3, -0.4, 0.1], [0.0; 3]];
    let patch = shape(9, 0.02, Shape::NonConvex1);
    let spring = Friction { sigma1: 0.0, ..dry(Law::ElastoPlastic, 1.0) };
    let (side, unit, arm) = (0.01, 1e-6, 0.01);
    let mut contact = prescribed(&patch, spring, [0.0; 3], 4.0);
    let speed = |i: usize, c: usize| (corners[i + 1][c] - corners[i][c]) * unit / side / if c == 2 { arm } else { 1.0 };
    *prescribed_twist(&mut contact) = [0, 1, 2].map(|c| {
        let points: Vec<(f64, f64)> = (0..5).map(|i| (i as f64 * side, speed(i, c))).collect();
        Signal::steps(&points).unwrap()
    });
    let out = rollout(engine, &[contact], &Plan::new(5.0 * side, 2e-4, side).unwrap());
    assert_eq!((out.slip, out.near_limit), (vec![0.0; 6], vec![0.0; 6]), "it sticks");
    // In stick the wrench changes evenly along a side: the mean of its ends times the way is the work.
    let work = |i: usize| {
        let [a, b] = [out.wrench[i], out.wrench[i + 1]].map(|wrench| wrench.about(patch.cop()).to_array());
        (0..3).map(|c| 0.5 * (a[c] + b[c]) * speed(i, c) * side).sum::<f64>()
    };
    let works: Vec<f64> = (0..5).map(work).collect();
    let (net, turnover) = (works.iter().sum::<f64>(), works.iter().map(|w| w.abs()).sum::<f64>());
    assert!(turnover > 4.0 * 0.3 * unit, "the path takes work: {turnover}");
    assert_close("net work over the loop, relative", &[net / turnover], &[0.0], limits.energy);
    assert_close("force left at the end", &out.wrench[5].to_array(), &[0.0; 3], 4.0 * limits.energy);
}

pub fn a_stuck_patch_feels_its_way_across_jumps_of_its_twist(engine: &dyn Engine, limits: &Limits) {
    // Jumps between samples: a step across one would take a share of it at the wrong speed.
    let jumps = [(0.0, 2e-5), (0.001_37, -3e-5), (0.005_12, 4e-5), (0.010_9, 0.0), (0.013_3, -5e-5), (0.0171, 1e-5)];
    let until = |t: f64| -> f64 {
        let ends = jumps.iter().skip(1).map(|(end, _)| *end).chain([f64::INFINITY]);
        jumps.iter().zip(ends).map(|((start, v), end)| v * (end.min(t) - start).max(0.0)).sum()
    };
    let spring = Friction { sigma1: 0.0, ..dry(Law::ElastoPlastic, 1.0) };
    let (f_n, n) = (4.0, [3, 12]);
    let contacts = n.map(|n| {
        let mut contact = prescribed(&shape(n, 0.02, Shape::Square), spring, [0.0; 3], f_n);
        prescribed_twist(&mut contact)[0] = Signal::steps(&jumps).unwrap();
        contact
    });
    let out = rollout(engine, &contacts, &Plan::new(0.02, 2e-4, 5e-3).unwrap());
    let frames = out.frames();
    for k in 0..contacts.len() {
        let ways: Vec<f64> = out.time.iter().map(|t| until(*t)).collect();
        let most = ways.iter().fold(0.0f64, |m, x| m.max(x.abs()));
        let forces: Vec<f64> = ways.iter().map(|x| -f_n * spring.sigma0 * x).collect();
        let limit = limits.energy * f_n * spring.sigma0 * most;
        assert_close(&format!("contact {k}: force"), &series(&out.wrench, k, frames, 0), &forces, limit);
        assert_close(&format!("contact {k}: way"), &series(&out.pose, k, frames, 0), &ways, limits.energy * most);
        assert_eq!(of(&out.near_limit, k, frames), vec![0.0; frames], "it is far from its limit");
    }
}

/// The CPU treats a grid that sticks as one body, if it is too large to be stepped beside others; cell after
/// cell it must come to the same.
#[test]
fn resting_grids_move_as_their_cells_do() {
    let ramp = |most: f64| Signal::sines(0.0, vec![Sine { amplitude: most, omega: 9.0, phase: 0.0 }]);
    let contacts: Vec<Contact> = [0.3, 0.9, 1.5]
        .into_iter()
        .map(|share| {
            let friction = Friction { mu_c: 0.6, mu_s: 0.8, ..Friction::default() };
            let mut contact = on_table(WITH_THE_BODY, &shape(15, 0.02, Shape::Disc), friction);
            // Up to a share of what holds; the largest slips and comes to rest again.
            contact.inputs.normal_force = Signal::constant(5.0);
            free(&mut contact).wrench = [ramp(0.6 * 5.0 * share), Signal::constant(0.2), ramp(2e-3 * share)];
            contact
        })
        .collect();
    let plan = plan(1.0, 2e-4, 0.01);
    let [wanted, found] = [Cpu::reference(), Cpu::new()].map(|cpu| rollout(&cpu, &contacts, &plan));
    let n = wanted.frames();
    for k in 0..contacts.len() {
        let limit = if wanted.near_limit[k * n..][..n].iter().all(|s| *s == 0.0) { 1e-15 } else { 1e-10 };
        for c in 0..3 {
            let [f, w] = [&found.pose, &wanted.pose].map(|all| series(all, k, n, c));
            assert_close(&format!("contact {k}: pose[{c}]"), &f, &w, limit);
            let [f, w] = [&found.wrench, &wanted.wrench].map(|all| series(all, k, n, c));
            assert_close(&format!("contact {k}: wrench[{c}]"), &f, &w, 1e6 * limit);
        }
        let [f, w] = [&found.bristles[k], &wanted.bristles[k]].map(|z| z.as_flattened().to_vec());
        assert_close(&format!("contact {k}: bristles"), &f, &w, 1e6 * limit);
        assert_eq!(found.status[k].steps, wanted.status[k].steps);
    }
    assert!(wanted.near_limit[..n].iter().all(|s| *s == 0.0), "the first sticks");
    assert!(wanted.slip[2 * n..].iter().any(|s| *s > 0.99), "the last slides");
}

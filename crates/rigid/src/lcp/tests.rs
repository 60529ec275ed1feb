//! The solvers against each other, on problems of bodies with contacts.

use nalgebra::{DMatrix, DVector, Vector3};

use super::blocks;
use super::*;
use bristle::random::Draw;

/// Problem `k`: `n` contacts of two bodies of 0.2 to 2 kg with the ground, or with each other, under gravity
/// and with velocities of up to 1 m/s.
fn problem(k: u64, n: usize, directions: usize) -> ContactProblem {
    let draw = Draw::new(5, k);
    let uniform = |name: &str, low: f64, high: f64| low + (high - low) * draw.uniform(name);
    let mut j = DMatrix::zeros(3 * n, 12);
    let mut inverse = DVector::zeros(12);
    let mut v = DVector::zeros(12);
    for body in 0..2 {
        let mass = uniform(&format!("mass{body}"), 0.2, 2.0);
        for c in 0..6 {
            inverse[6 * body + c] =
                if c < 3 { 1.0 / mass } else { uniform(&format!("i{body}{c}"), 100.0, 400.0) / mass };
            let speed = if c < 3 { 1.0 } else { 10.0 };
            v[6 * body + c] = uniform(&format!("v{body}{c}"), -speed, speed) - if c == 2 { 0.01 } else { 0.0 };
        }
    }
    for i in 0..n {
        let name = |what: &str| format!("{what}{i}");
        let normal = Vector3::new(uniform(&name("nx"), -0.3, 0.3), uniform(&name("ny"), -0.3, 0.3), 1.0).normalize();
        let t = normal.cross(&Vector3::y()).normalize();
        let axes = [normal, t, normal.cross(&t)];
        let body = i % 2;
        let r = Vector3::new(
            uniform(&name("x"), -0.1, 0.1),
            uniform(&name("y"), -0.1, 0.1),
            uniform(&name("z"), -0.1, 0.0),
        );
        for (row, axis) in axes.iter().enumerate() {
            let turn = r.cross(axis);
            for c in 0..3 {
                j[(3 * i + row, 6 * body + c)] = axis[c];
                j[(3 * i + row, 6 * body + 3 + c)] = turn[c];
                if i % 4 == 3 {
                    j[(3 * i + row, 6 * (1 - body) + c)] = -axis[c];
                }
            }
        }
    }
    let w = &j * DMatrix::from_diagonal(&inverse) * j.transpose();
    let mu = (0..n).map(|i| uniform(&format!("mu{i}"), 0.0, 1.0)).collect();
    ContactProblem {
        w: w.transpose().as_slice().to_vec(),
        b: (&j * v).as_slice().to_vec(),
        mu,
        directions,
        start: vec![[0.0; 3]; n],
    }
}

#[test]
fn lemke_and_blocks_solve_contacts_to_their_precision() {
    let (mut worst, mut left) = ([0.0f64; 3], 0);
    for k in 0..400 {
        let p = problem(k, 1 + k as usize % 8, [4, 5, 8, 16][k as usize / 8 % 4]);
        p.validate().unwrap();
        let found = [p.by_lemke(), blocks::solve::<f64>(&p), blocks::solve::<f32>(&p)];
        for (worst, found) in worst.iter_mut().zip(&found) {
            assert_eq!(found.termination, Termination::Solved, "{k}");
            assert!((found.residual - p.residual(&found.p)).abs() < 1e-9);
            // The residual of the problem that is written out.
            let own = ContactProblem { w: p.scaled().w, b: p.scaled().b, ..p.clone() };
            let z = own
                .variables(&found.p.iter().zip(p.scaled().impulse).map(|(p, s)| p.map(|c| c / s)).collect::<Vec<_>>());
            assert!((own.lcp().residual(&z) - p.residual(&found.p)).abs() < 1e-13, "{k}");
            *worst = worst.max(found.residual);
        }
        left += u32::from(found[2].lemke);
    }
    assert!(worst[0] < 1e-11 && worst[1] < 1e-10 && worst[2] <= 1e-6, "{worst:?}");
    assert!(left <= 8, "{left} of 400 left to Lemke");
}

/// From its solution a problem takes one round, and its impulses stay as they are.
#[test]
fn a_problem_begun_at_its_solution_is_solved_in_one_round() {
    for k in 0..100 {
        let mut p = problem(k, 8, 8);
        let first = blocks::solve::<f64>(&p);
        p.start.clone_from(&first.p);
        let again = blocks::solve::<f64>(&p);
        assert!(first.lemke || again.iterations == 1, "{k}: {}", again.iterations);
    }
}

#[test]
fn problems_out_of_range_are_refused() {
    let good = problem(0, 2, 8);
    let with = |change: &dyn Fn(&mut ContactProblem)| {
        let mut p = good.clone();
        change(&mut p);
        p.validate().unwrap_err().to_string()
    };
    assert!(with(&|p| p.directions = 3).contains("directions = 3: expected 4 to 32"));
    assert!(with(&|p| p.mu[1] = -1.0).starts_with("mu[1] = -1"));
    assert!(with(&|p| p.b[0] = f64::NAN).contains("finite"));
    assert!(with(&|p| p.w[0] = 0.0).starts_with("w[0][0] = 0"));
    assert!(with(&|p| p.start.truncate(1)).contains("values"));
    let many = ContactProblem { mu: vec![0.5; 33], ..good.clone() };
    assert!(many.validate().unwrap_err().to_string().contains("at most 32"));
}

#[test]
fn nothing_to_solve_is_solved() {
    let none = ContactProblem { w: vec![], b: vec![], mu: vec![], directions: 4, start: vec![] };
    assert_eq!(blocks::solve::<f32>(&none).termination, Termination::Solved);
    assert_eq!(none.by_lemke().p.len(), 0);
}

/// Friction lies in its polygon, takes energy, and no other impulse in there would take more: the most is at
/// a corner.
#[test]
fn friction_dissipates_as_much_as_it_can() {
    for k in 0..200 {
        let p = problem(k, 6, [4, 7, 8, 32][k as usize % 4]);
        let found = blocks::solve::<f64>(&p);
        let u = p.velocities(&found.p);
        for (i, [pn, pt, po]) in found.p.iter().enumerate() {
            let velocity = [u[3 * i + 1], u[3 * i + 2]];
            let power = velocity[0] * pt + velocity[1] * po;
            let corner = |j: usize| {
                let [t, o] = ContactProblem::direction(p.directions, j);
                p.mu[i] * pn * (t * velocity[0] + o * velocity[1])
            };
            let most = (0..p.directions).map(corner).fold(f64::INFINITY, f64::min);
            assert!(power <= 1e-10 && power - most.min(0.0) < 1e-9, "{k} {i}: {power:e}, at most {most:e}");
            // Inside the polygon, which is inside the circle.
            assert!(*pn >= 0.0 && pt.hypot(*po) <= p.mu[i] * pn + 1e-10);
            assert!(u[3 * i] >= -1e-9 && (pn * u[3 * i]).abs() < 1e-9, "{k} {i}");
        }
    }
}

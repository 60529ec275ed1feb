//! Gradients of slip margins and of wrenches against differences, closed forms, and the inequalities of
//! convex functions.

use bristle::limit_surface::{MarginGradient, ReferencePoint, Rule, Surface};
use bristle::patch::{Grid, Patch, Shape};
use bristle::planar::{Twist, Wrench};
use bristle::random::Draw;

const SHAPES: [Shape; 7] = [
    Shape::Square,
    Shape::Circle,
    Shape::Line,
    Shape::LineGradient,
    Shape::LineGradientX,
    Shape::NonConvex1,
    Shape::NonConvex2,
];

/// A patch of random pressures, of which a third are zero and the others have a slope, or of a shape.
fn patch(case: u64) -> Patch {
    let draw = Draw::new(1, case);
    if case.is_multiple_of(3) {
        let n = [11, 14, 21][case as usize / 3 % 3];
        return Patch::shape(Grid::new(n, n, 0.02, 0.02).unwrap(), SHAPES[case as usize / 9 % 7]).unwrap();
    }
    let grid = Grid::new(9, 7, 0.018, 0.021 * (1.0 + draw.uniform("height"))).unwrap();
    let [sx, sy] = ["slope x", "slope y"].map(|name| 2.0 * draw.uniform(name) - 1.0);
    let pressure = |(k, [x, y]): (usize, [f64; 2])| {
        let p = (Draw::new(case, k as u64).uniform("pressure") - 0.3).max(0.0);
        p * (1.0 + (sx * x / 0.01 + sy * y / 0.02))
    };
    let map: Vec<f64> = grid.centres().enumerate().map(pressure).map(|p| p.max(0.0)).collect();
    Patch::from_pressure(grid, &map).unwrap()
}

/// A direction of length one.
fn direction(seed: u64, k: u64) -> [f64; 3] {
    let draw = Draw::new(seed, k);
    let v = ["x", "y", "w"].map(|name| draw.normal(name));
    let norm = v.iter().map(|c| c * c).sum::<f64>().sqrt();
    v.map(|c| c / norm)
}

fn point(case: u64) -> ReferencePoint {
    match case % 4 {
        0 | 1 => ReferencePoint::Cop,
        2 => ReferencePoint::Fixed([0.0; 2]),
        _ => ReferencePoint::Fixed([0.013, -0.006]),
    }
}

/// A load on a patch with a torque of the order of force times radius.
fn load(case: u64, surface: &Surface) -> Wrench {
    let f = direction(2, case).map(|c| 3.0 * c);
    Wrench::new(f[0], f[1], surface.radius() * f[2])
}

/// The place of a reference point on a patch.
fn place(at: ReferencePoint, patch: &Patch) -> [f64; 2] {
    match at {
        ReferencePoint::Cop => patch.cop(),
        ReferencePoint::Fixed(place) => place,
    }
}

/// The factor of a load at a point, and nothing from the code under test.
fn factor(surface: &Surface, load: Wrench, at: ReferencePoint, mu: f64, f_n: f64) -> f64 {
    let ([cx, cy], [px, py]) = (surface.patch().cop(), place(at, surface.patch()));
    surface.margin(load.about([cx - px, cy - py]), mu, f_n).unwrap().factor
}

/// The derivative of `f` at 0 with an estimate of its error. Of some steps it takes that whose result agrees
/// best with the result of its half: long steps cross kinks of higher derivatives, short ones round. Rounding
/// counts by itself, as the results of two short steps may agree by chance.
fn derivative(f: impl Fn(f64) -> f64, step: f64, formula: fn(&dyn Fn(f64) -> f64, f64) -> f64) -> (f64, f64) {
    let size = f(0.0).abs();
    let tried = [1.0, 0.2, 0.04, 0.008, 0.0016].map(|share| {
        let half = 0.5 * share * step;
        let (coarse, fine) = (formula(&f, 2.0 * half), formula(&f, half));
        (fine, (coarse - fine).abs() + f64::EPSILON * size / half)
    });
    tried.into_iter().min_by(|a, b| a.1.total_cmp(&b.1)).unwrap()
}

/// From values at both sides, of order six.
fn central(f: &dyn Fn(f64) -> f64, h: f64) -> f64 {
    let [a, b, c] = [h, 2.0 * h, 3.0 * h].map(|h| f(h) - f(-h));
    (45.0 * a - 9.0 * b + c) / (60.0 * h)
}

/// From values at one side, of order four.
fn one_sided(f: &dyn Fn(f64) -> f64, h: f64) -> f64 {
    let [a, b, c, d, e] = [0.0, 1.0, 2.0, 3.0, 4.0].map(|k| f(k * h));
    (-25.0 * a + 48.0 * b - 36.0 * c + 16.0 * d - 3.0 * e) / (12.0 * h)
}

/// The map with the pressure of a cell changed; shares are pressures that sum to one.
fn pressed(patch: &Patch, cell: usize, by: f64) -> Patch {
    let mut map = patch.weights().to_vec();
    map[cell] += by;
    Patch::from_pressure(*patch.grid(), &map).unwrap()
}

/// Counts results of differences. Each must be exact to 1e-7, or to as much as the differences themselves
/// are.
#[derive(Default)]
struct Tally {
    all: usize,
    inexact: usize,
}

impl Tally {
    fn add(&mut self, found: f64, (wanted, estimate): (f64, f64), scale: f64, what: &dyn Fn() -> String) {
        let (error, estimate) = ((found - wanted).abs() / scale, estimate / scale);
        let limit = 1e-7f64.max(2.0 * estimate);
        assert!(error <= limit && estimate <= 1e-6, "{}: {found} and {wanted}, {error:.1e}, {estimate:.1e}", what());
        self.all += 1;
        self.inexact += usize::from(error > 1e-9);
    }
}

/// 1000 maps, loads and points. By the load in all components; by pressure in four cells, many of which have
/// none.
#[test]
fn margins_change_as_their_gradients_say() {
    let (mu, f_n) = (0.4, 12.0);
    let (mut of_loads, mut of_cells, mut empty) = (Tally::default(), Tally::default(), 0);
    for case in 0..1000 {
        let patch = patch(case);
        let rule = [Rule::Cells, Rule::Points][case as usize % 2];
        let surface = Surface::new(&patch, rule);
        let (at, load, r) = (point(case / 2), load(case, &surface), surface.radius());
        let found = &surface.margin_gradients(&[load], at, mu, f_n).unwrap()[0];
        let units = [1.0, 1.0, r];
        let scale = (0..3).map(|j| (found.load[j] * units[j]).powi(2)).sum::<f64>().sqrt();
        for j in 0..3 {
            let f = |h: f64| {
                let mut load = load.to_array();
                load[j] += h * units[j];
                factor(&surface, Wrench::from(load), at, mu, f_n)
            };
            let wanted = derivative(f, 0.02, central);
            of_loads.add(found.load[j] * units[j], wanted, scale, &|| format!("case {case}, {rule:?}, load {j}"));
        }
        let scale = found.pressure.iter().fold(0.0f64, |a, b| a.max(b.abs()));
        for c in 0..4 {
            let cell = (Draw::new(5, case * 4 + c).uniform("cell") * patch.grid().len() as f64) as usize;
            let f = |h: f64| factor(&Surface::new(&pressed(&patch, cell, h), rule), load, at, mu, f_n);
            let w = patch.weights()[cell];
            let wanted = if w > 0.01 { derivative(f, 0.3 * w, central) } else { derivative(f, 1e-3, one_sided) };
            of_cells
                .add(found.pressure[cell], wanted, scale, &|| format!("case {case}, {rule:?}, {at:?}, cell {cell}"));
            empty += usize::from(w == 0.0);
        }
        let by_mu = derivative(|h| factor(&surface, load, at, mu + h, f_n), 0.1, central);
        of_loads.add(found.mu, by_mu, found.mu, &|| format!("case {case}, mu"));
        let by_force = derivative(|h| factor(&surface, load, at, mu, f_n + h), 1.0, central);
        of_loads.add(found.f_n, by_force, found.f_n, &|| format!("case {case}, f_n"));
    }
    for tally in [&of_loads, &of_cells] {
        println!("{} derivatives, {} off by more than 1e-9", tally.all, tally.inexact);
    }
    assert!(of_loads.inexact <= of_loads.all / 100 && of_cells.inexact <= of_cells.all / 20);
    assert!(empty > 1000, "{empty} cells without pressure");
}

/// A force through the centre of pressure has `k = mu f_N/|f|` on every map; a pure torque `k = mu f_N
/// r/|tau|` on one with two axes of symmetry, where `s_i` is the mean distance of a cell from the centre.
#[test]
fn forces_and_torques_have_closed_forms() {
    let (mu, f_n) = (0.7, 5.0);
    for case in 0..40 {
        let patch = patch(case);
        for rule in [Rule::Cells, Rule::Points] {
            let surface = Surface::new(&patch, rule);
            // By `points` a line holds its largest force across itself with many twists.
            let (sin, cos) = (0.3 + case as f64).sin_cos();
            let load = Wrench::new(2.0 * cos, 2.0 * sin, 0.0);
            let found = &surface.margin_gradients(&[load], ReferencePoint::Cop, mu, f_n).unwrap()[0];
            let k = mu * f_n / 2.0;
            close(found.margin.factor, k, k);
            close(found.load[0], -k * cos / 2.0, k);
            close(found.load[1], -k * sin / 2.0, k);
            close(found.load[2] * surface.radius(), 0.0, k);
            close(found.mu, k / mu, k / mu);
            close(found.f_n, k / f_n, k / f_n);
            // The load moves along with the centre of pressure, so that no map holds it better than another.
            found.pressure.iter().for_each(|d| close(*d, 0.0, k));
        }
    }
    let grid = Grid::new(21, 21, 0.02, 0.02).unwrap();
    for (shape, rule) in [(Shape::Circle, Rule::Cells), (Shape::Circle, Rule::Points), (Shape::Square, Rule::Cells)] {
        let surface = Surface::new(&Patch::shape(grid, shape).unwrap(), rule);
        let (tau, r) = (-0.02, surface.radius());
        for at in [ReferencePoint::Cop, ReferencePoint::Fixed([0.0; 2])] {
            let found = &surface.margin_gradients(&[Wrench::new(0.0, 0.0, tau)], at, mu, f_n).unwrap()[0];
            let k = mu * f_n * r / tau.abs();
            close(found.margin.factor, k, k);
            close(found.load[0], 0.0, k);
            close(found.load[1], 0.0, k);
            close(found.load[2], -k / tau, k / tau.abs());
            for (cell, [x, y]) in grid.centres().enumerate() {
                let distance = if rule == Rule::Points { x.hypot(y) } else { mean_distance([x, y], grid.dx) };
                let wanted = k * (distance / r - 1.0);
                assert!((found.pressure[cell] - wanted).abs() < 1e-8 * k, "{shape:?}, {rule:?}, cell {cell}");
            }
        }
    }
}

fn close(found: f64, wanted: f64, scale: f64) {
    assert!((found - wanted).abs() <= 1e-10 * scale, "{found} and {wanted}");
}

/// Mean distance of the points of a square cell from the origin, by the midpoint rule on finer and finer
/// grids.
fn mean_distance([x, y]: [f64; 2], side: f64) -> f64 {
    let mean = |n: usize| {
        let offset = |k: usize| ((k as f64 + 0.5) / n as f64 - 0.5) * side;
        let sum = (0..n * n).map(|k| (x + offset(k % n)).hypot(y + offset(k / n))).sum::<f64>();
        sum / (n * n) as f64
    };
    let [a, b, c] = [16, 32, 64].map(mean);
    // The rule's error is of second order; at the origin, where the distance has a kink, of third.
    if x.hypot(y) < 0.1 * side {
        // sqrt 2 + asinh 1 over 6, of a square about its centre
        return side * (2f64.sqrt() + 1f64.asinh()) / 6.0;
    }
    let [p, q] = [(4.0 * b - a) / 3.0, (4.0 * c - b) / 3.0];
    (16.0 * q - p) / 15.0
}

/// Two cells by `points`, `a` to the left and to the right of the origin, under a force across their line and
/// a torque with `tau > |f| a`: a lever. The right cell slips, the body turns about the left one, on a facet:
/// `k = 2 w mu f_N/(f + tau/a)`.
#[test]
fn a_lever_has_its_derivatives_also_on_the_facet() {
    let grid = Grid::new(2, 1, 0.02, 0.01).unwrap();
    let (a, mu, f_n) = (0.005, 0.5, 6.0);
    for share in [0.1, 0.3, 0.5] {
        let surface = Surface::new(&Patch::from_pressure(grid, &[1.0 - share, share]).unwrap(), Rule::Points);
        let (f, tau) = (1.5, 0.004);
        let origin = ReferencePoint::Fixed([0.0; 2]);
        let found = &surface.margin_gradients(&[Wrench::new(0.0, f, tau)], origin, mu, f_n).unwrap()[0];
        let k = 2.0 * share * mu * f_n / (f + tau / a);
        close(found.margin.factor, k, k);
        close(found.load[0], 0.0, k / f);
        close(found.load[1], -k / (f + tau / a), k / f);
        close(found.load[2], -k / (a * f + tau), k / tau);
        close(found.pressure[0], -k, k);
        close(found.pressure[1], k * (1.0 - share) / share, k);
    }
}

/// On a facet of the body of loads the twist at slip is the same for all loads: the gradient is no
/// subgradient only.
#[test]
fn on_facets_gradients_are_differences_too() {
    let patch = Patch::shape(Grid::new(21, 21, 0.02, 0.02).unwrap(), Shape::Square).unwrap();
    let surface = Surface::new(&patch, Rule::Points);
    let (at, spin) = (ReferencePoint::Fixed([0.0; 2]), -surface.coulomb(Twist::new(0.0, 0.0, 1.0)).tau);
    for k in 0..20 {
        let (sin, cos) = (0.3 + f64::from(k)).sin_cos();
        let size = 0.9 * f64::from(k) / 20.0 / 441.0;
        let load = Wrench::new(size * cos, size * sin, spin);
        let found = &surface.margin_gradients(&[load], at, 1.0, 1.0).unwrap()[0];
        close(found.margin.factor, 1.0, 1.0);
        // A force within the facet does not change the factor.
        assert!(found.load[0].hypot(found.load[1]) < 1e-7, "{found:?}");
        close(found.load[2], -1.0 / spin, 1.0 / spin);
        for cell in [0, 17, 220, 221] {
            let f = |h: f64| factor(&Surface::new(&pressed(&patch, cell, h), Rule::Points), load, at, 1.0, 1.0);
            // The facet is as large as the pressure of its cell.
            let (wanted, _) = derivative(f, 1e-5, central);
            assert!((found.pressure[cell] - wanted).abs() < 1e-6, "{k}, {cell}: {} {wanted}", found.pressure[cell]);
        }
    }
}

/// Another map on the grid of a patch.
fn other_map(patch: &Patch, seed: u64) -> Patch {
    let map: Vec<f64> = (0..patch.grid().len() as u64).map(|k| Draw::new(seed, k).uniform("p").powi(8)).collect();
    Patch::from_pressure(*patch.grid(), &map).unwrap()
}

/// The factor is the least of linear functions of the shares, its inverse the largest of linear functions of
/// the load. So no map and no load is beyond the plane of a gradient, near or far, kinks included.
fn is_supported_by(found: &MarginGradient, surface: &Surface, load: Wrench, at: ReferencePoint, seed: u64) {
    let (mu, f_n) = (0.4, 12.0);
    let (patch, k) = (surface.patch(), found.margin.factor);
    for near in [1e-3, 0.1, 1.0] {
        for n in 0..4 {
            let other = other_map(patch, seed + n);
            let mixed = patch.weights().iter().zip(other.weights()).map(|(a, b)| (1.0 - near) * a + near * b);
            let mixed = Patch::from_pressure(*patch.grid(), &mixed.collect::<Vec<_>>()).unwrap();
            let bound: f64 = k + mixed.weights().iter().zip(&found.pressure).map(|(w, d)| w * d).sum::<f64>();
            let other = factor(&Surface::new(&mixed, surface.rule()), load, at, mu, f_n);
            assert!(other <= bound + 1e-11 * k, "map {n}, {near}: {other} and {bound}");
            let unit = [1.0, 1.0, surface.radius().max(1e-3)];
            let d = direction(seed, n);
            let step = Wrench::new(near * 3.0 * d[0], near * 3.0 * d[1], near * 3.0 * unit[2] * d[2]);
            let changed = (0..3).map(|j| found.load[j] * step.to_array()[j]).sum::<f64>();
            let bound = 1.0 / k - changed / (k * k);
            let other = 1.0 / factor(surface, load + step, at, mu, f_n);
            assert!(other >= bound - 1e-11 / k, "load {n}, {near}: {other} and {bound}");
        }
    }
}

#[test]
fn gradients_support_the_margin_also_at_kinks() {
    let (at, mu, f_n) = (ReferencePoint::Fixed([0.004, 0.001]), 0.4, 12.0);
    for case in 0..60 {
        let surface = Surface::new(&patch(case), [Rule::Points, Rule::Cells][case as usize % 2]);
        let load = load(case, &surface);
        let found = &surface.margin_gradients(&[load], at, mu, f_n).unwrap()[0];
        is_supported_by(found, &surface, load, at, 100 + case);
    }
    // One cell turns about itself with any speed. A line gives way to a force across it by any turn about a
    // point beyond its ends. Of two equal cells either may be the one that stays.
    let grid = Grid::new(5, 5, 0.01, 0.01).unwrap();
    let only = |cells: &[usize]| {
        let map: Vec<f64> = (0..25).map(|k| f64::from(u8::from(cells.contains(&k)))).collect();
        Surface::new(&Patch::from_pressure(grid, &map).unwrap(), Rule::Points)
    };
    for surface in [only(&[12]), only(&[8]), only(&[2, 7, 12, 17, 22]), only(&[11, 13]), only(&[0, 6, 12])] {
        let cop = surface.patch().cop();
        for force in [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, -1.0]] {
            let load = Wrench::new(force[0], force[1], 0.0).about([0.004 - cop[0], 0.001 - cop[1]]);
            let found = &surface.margin_gradients(&[load], at, mu, f_n).unwrap()[0];
            close(found.margin.factor, mu * f_n / force[0].hypot(force[1]), 1.0);
            is_supported_by(found, &surface, load, at, 500);
        }
    }
}

#[test]
fn gradients_obey_their_identities() {
    let (mu, f_n) = (0.4, 12.0);
    for case in 0..100 {
        let surface = Surface::new(&patch(case), [Rule::Cells, Rule::Points][case as usize % 2]);
        let (load, patch) = (load(case, &surface), surface.patch());
        let [cx, cy] = patch.cop();
        let at_cop = &surface.margin_gradients(&[load], ReferencePoint::Cop, mu, f_n).unwrap()[0];
        let fixed = ReferencePoint::Fixed([cx, cy]);
        let at_fixed = &surface.margin_gradients(&[load], fixed, mu, f_n).unwrap()[0];
        assert_eq!(at_cop.load, at_fixed.load);
        for found in [at_cop, at_fixed] {
            let k = found.margin.factor;
            // Twice the load has half the factor; only shares of the pressure count.
            close(load.power(Twist::from(found.load)), -k, k);
            close(patch.weights().iter().zip(&found.pressure).map(|(w, d)| w * d).sum(), 0.0, k);
            close(found.mu * mu, k, k);
            close(found.f_n * f_n, k, k);
        }
        // A load that moves along is a load that stays with another torque.
        for (cell, [x, y]) in patch.grid().centres().enumerate() {
            let turned = at_cop.load[2] * ((x - cx) * load.fy - (y - cy) * load.fx);
            let k = at_cop.margin.factor;
            close(at_cop.pressure[cell], at_fixed.pressure[cell] + turned, k + turned.abs());
        }
        // Without normal force nothing holds; the first newton gives what every newton gives.
        let lifted = &surface.margin_gradients(&[load], fixed, mu, 0.0).unwrap()[0];
        assert!(lifted.margin.factor == 0.0 && lifted.load == [0.0; 3] && lifted.mu == 0.0, "{lifted:?}");
        close(lifted.f_n, at_fixed.f_n, at_fixed.f_n);
    }
}

/// The results of many loads are those of single ones, and do not depend on the other loads.
#[test]
fn many_gradients_are_single_ones() {
    for (case, rule) in [(1, Rule::Cells), (2, Rule::Points), (3, Rule::Cells)] {
        let surface = Surface::new(&patch(case), rule);
        let at = ReferencePoint::Fixed([0.01, 0.0]);
        let loads: Vec<Wrench> = (0..500).map(|k| load(k, &surface)).collect();
        let all = surface.margin_gradients(&loads, at, 0.4, 12.0).unwrap();
        assert_eq!(all.len(), loads.len());
        for (load, found) in loads.iter().zip(&all) {
            let one = &surface.margin_gradients(&[*load], at, 0.4, 12.0).unwrap()[0];
            let k = one.margin.factor;
            close(found.margin.factor, k, k);
            for (a, b) in found.pressure.iter().zip(&one.pressure) {
                assert!((a - b).abs() <= 1e-8 * (k + b.abs()), "{a} and {b}");
            }
        }
        let threads = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        assert_eq!(threads.install(|| surface.margin_gradients(&loads, at, 0.4, 12.0)).unwrap(), all);
    }
}

/// The wrench of a twist at a point, and nothing from the code under test.
fn wrench(surface: &Surface, twist: Twist, at: ReferencePoint) -> [f64; 3] {
    let ([cx, cy], [px, py]) = (surface.patch().cop(), place(at, surface.patch()));
    surface.wrench(twist.at([cx - px, cy - py]), 0.4, 12.0).about([px - cx, py - cy]).to_array()
}

#[test]
fn wrenches_change_as_their_gradients_say() {
    let (mu, f_n) = (0.4, 12.0);
    let (mut of_twists, mut of_cells) = (Tally::default(), Tally::default());
    for case in 0..400 {
        let patch = patch(case);
        let rule = [Rule::Cells, Rule::Points][case as usize % 2];
        let surface = Surface::new(&patch, rule);
        let (at, r) = (point(case / 2), surface.radius());
        // From rotation about a cell to translation, at any speed.
        let v = direction(7, case).map(|c| c * 10f64.powi(case as i32 % 7 - 3));
        let turn = [1.0, 10.0, 1e-2, 1e-5, 0.0][case as usize / 3 % 5];
        let twist = Twist::new(v[0], v[1], turn * v[2] / r);
        let found = &surface.wrench_gradients(&[twist], at, mu, f_n).unwrap()[0];
        let units = [1.0, 1.0, r];
        let speed = twist.vx.hypot(twist.vy).max(r * twist.w.abs());
        for (i, unit) in units.into_iter().enumerate() {
            let wanted = wrench(&surface, twist, at)[i];
            close(found.wrench.to_array()[i], wanted, mu * f_n * unit);
            close(found.mu[i], wanted / mu, f_n * unit);
            close(found.f_n[i], wanted / f_n, mu * unit);
        }
        let scaled = |i: usize, j: usize| found.twist[i][j] / units[i] / units[j] * speed / (mu * f_n);
        let scale = (0..9).map(|k| scaled(k / 3, k % 3).powi(2)).sum::<f64>().sqrt();
        for (i, j) in (0..9).map(|k| (k / 3, k % 3)) {
            assert!((scaled(i, j) - scaled(j, i)).abs() <= 1e-12 * scale);
            let f = |h: f64| {
                let mut twist = twist.to_array();
                twist[j] += h * speed / units[j];
                wrench(&surface, Twist::from(twist), at)[i] / units[i] / (mu * f_n)
            };
            of_twists.add(scaled(i, j), derivative(f, 0.003, central), scale, &|| {
                format!("case {case}, {rule:?}, {at:?}, {twist:?}, {i} {j}")
            });
        }
        // Faster is not harder.
        for row in found.twist {
            let change = row[0] * twist.vx + row[1] * twist.vy + row[2] * twist.w;
            assert!(change.abs() <= 1e-9 * scale * mu * f_n * (1.0 + r), "{change}");
        }
        for i in 0..3 {
            let sum: f64 = patch.weights().iter().zip(&found.pressure).map(|(w, d)| w * d[i]).sum();
            close(sum, 0.0, mu * f_n * units[i]);
        }
        for c in 0..3 {
            let cell = (Draw::new(5, case * 4 + c).uniform("cell") * patch.grid().len() as f64) as usize;
            let w = patch.weights()[cell];
            for (i, unit) in units.into_iter().enumerate() {
                let f = |h: f64| wrench(&Surface::new(&pressed(&patch, cell, h), rule), twist, at)[i] / unit;
                let wanted = if w > 0.01 { derivative(f, 0.3 * w, central) } else { derivative(f, 1e-3, one_sided) };
                of_cells.add(found.pressure[cell][i] / unit, wanted, mu * f_n * scale.max(1.0), &|| {
                    format!("case {case}, {rule:?}, {at:?}, {twist:?}, cell {cell}, {i}")
                });
            }
        }
    }
    for tally in [&of_twists, &of_cells] {
        println!("{} derivatives, {} off by more than 1e-9", tally.all, tally.inexact);
    }
    assert!(of_twists.inexact <= of_twists.all / 20 && of_cells.inexact <= of_cells.all / 20);
}

#[test]
fn gradients_refuse_what_they_cannot_answer() {
    let grid = Grid::new(21, 21, 0.02, 0.02).unwrap();
    let surface = Surface::new(&Patch::shape(grid, Shape::Circle).unwrap(), Rule::Cells);
    let (cop, load, twist) = (ReferencePoint::Cop, Wrench::new(1.0, 0.0, 0.0), Twist::new(1.0, 0.0, 0.0));
    let margin = |load: Wrench, at, mu, f_n| surface.margin_gradients(&[load], at, mu, f_n).unwrap_err().field;
    assert_eq!(margin(Wrench::new(1.0, f64::NAN, 0.0), cop, 1.0, 1.0), "load.fy");
    assert_eq!(margin(load, cop, 0.0, 1.0), "mu");
    assert_eq!(margin(load, cop, 1.0, -1.0), "f_n");
    assert_eq!(margin(load, ReferencePoint::Fixed([0.0, f64::INFINITY]), 1.0, 1.0), "at.y");
    let wrench = |twist: Twist, mu, f_n| surface.wrench_gradients(&[twist], cop, mu, f_n).unwrap_err().field;
    assert_eq!(wrench(Twist::new(0.0, f64::NAN, 0.0), 1.0, 1.0), "twist.vy");
    assert_eq!(wrench(twist, -1.0, 1.0), "mu");
    assert_eq!(wrench(twist, 1.0, f64::NAN), "f_n");
    let bilinear = Surface::new(surface.patch(), Rule::Bilinear);
    assert_eq!(bilinear.margin_gradients(&[load], cop, 1.0, 1.0).unwrap_err().field, "rule");
    assert_eq!(bilinear.wrench_gradients(&[twist], cop, 1.0, 1.0).unwrap_err().field, "rule");
    // No load has no direction, and rest no twist.
    let none = &surface.margin_gradients(&[Wrench::default()], cop, 1.0, 1.0).unwrap()[0];
    assert!(none.margin.factor.is_infinite() && none.mu.is_nan() && none.f_n.is_nan());
    assert!(none.load.iter().chain(&none.pressure).all(|d| d.is_nan()) && none.pressure.len() == 441);
    let rest = &surface.wrench_gradients(&[Twist::default()], cop, 1.0, 1.0).unwrap()[0];
    assert!(rest.twist.iter().flatten().all(|d| d.is_nan()) && rest.pressure == vec![[0.0; 3]; 441]);
    assert!(surface.margin_gradients(&[], cop, 1.0, 1.0).unwrap().is_empty());
}

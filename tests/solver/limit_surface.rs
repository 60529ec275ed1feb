//! Limit surfaces against closed forms, tables, look-ups and brute force.

use std::f64::consts::{FRAC_PI_2, PI};
use std::path::Path;

use bristle::gpu::{Choice, Gpu};
use bristle::limit_surface::{Basis, Ellipsoid, Quartic, ReferencePoint, Rule, Surface, Table};
use bristle::patch::{FrictionAxes, Grid, Patch, Placed, Shape};
use bristle::planar::{Pose, Twist, Wrench};
use bristle::random::Draw;
use serde::de::DeserializeOwned;

/// Tables, look-ups, steady wrenches.
const TOLERANCE: f64 = 1e-9;

fn fixture<T: DeserializeOwned>(name: &str) -> Vec<T> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/limit_surface").join(name);
    csv::Reader::from_path(path).unwrap().deserialize().map(Result::unwrap).collect()
}

fn shape(name: &str) -> Shape {
    match name {
        "square" => Shape::Square,
        "circle" => Shape::Circle,
        "line" => Shape::Line,
        "linegrad" => Shape::LineGradient,
        "linegradx" => Shape::LineGradientX,
        "nonconvex1" => Shape::NonConvex1,
        "nonconvex2" => Shape::NonConvex2,
        other => panic!("no shape {other}"),
    }
}

const SHAPES: [Shape; 7] = [
    Shape::Square,
    Shape::Circle,
    Shape::Line,
    Shape::LineGradient,
    Shape::LineGradientX,
    Shape::NonConvex1,
    Shape::NonConvex2,
];

fn patch(shape: Shape) -> Patch {
    Patch::shape(Grid::new(21, 21, 0.02, 0.02).unwrap(), shape).unwrap()
}

/// A map of random pressures, some of them zero.
fn random_patch(seed: u64) -> Patch {
    let grid = Grid::new(9, 7, 0.018, 0.021).unwrap();
    let map: Vec<f64> = (0..63).map(|k| (Draw::new(seed, k).uniform("pressure") - 0.3).max(0.0)).collect();
    Patch::from_pressure(grid, &map).unwrap()
}

/// A direction `(vx, vy, r w)` of length one.
fn direction(seed: u64, k: u64) -> [f64; 3] {
    let draw = Draw::new(seed, k);
    let v = ["x", "y", "w"].map(|name| draw.normal(name));
    let norm = v.iter().map(|c| c * c).sum::<f64>().sqrt();
    v.map(|c| c / norm)
}

fn twist(v: [f64; 3], r: f64) -> Twist {
    Twist::new(v[0], v[1], v[2] / r)
}

fn close(found: [f64; 3], wanted: [f64; 3], scale: [f64; 3], what: impl std::fmt::Debug) {
    for k in 0..3 {
        let error = (found[k] - wanted[k]).abs() / scale[k];
        assert!(
            error <= TOLERANCE,
            "{what:?}: component {k} is {} and not {}, {error:.1e} of its scale",
            found[k],
            wanted[k]
        );
    }
}

#[test]
fn tables_have_the_values_of_independent_programs() {
    type Row = (String, String, usize, usize, usize, f64, f64, f64);
    for (name, rule, n_ls, i, j, x, y, tau) in fixture::<Row>("tables.csv") {
        let table = Table::new(&patch(shape(&name)), rule.parse().unwrap(), n_ls).unwrap();
        close(table.nodes()[i * (n_ls + 1) + j], [x, y, tau], [1.0; 3], (name, rule, n_ls, i, j));
    }
    for (name, rule, r, u) in fixture::<(String, String, f64, f64)>("radii.csv") {
        let surface = Surface::new(&patch(shape(&name)), rule.parse().unwrap());
        close([surface.radius(), surface.patch().viscous(), 0.0], [r, u, 0.0], [r, u, 1.0], (name, rule));
    }
}

/// Largest difference of two tables' nodes; infinite if there is NaN.
fn difference(a: &Table, b: &Table) -> f64 {
    let pairs = a.nodes().iter().flatten().zip(b.nodes().iter().flatten());
    pairs.map(|(a, b)| (a - b).abs()).fold(0.0, |most, e| most.max(if e.is_nan() { f64::INFINITY } else { e }))
}

#[test]
fn tables_in_single_precision_are_within_1e_5() {
    type Row = (String, String, usize, usize, usize, f64, f64, f64);
    for (name, rule, n_ls, i, j, x, y, tau) in fixture::<Row>("tables.csv") {
        let table = Table::single(&patch(shape(&name)), rule.parse().unwrap(), n_ls).unwrap();
        let found = table.nodes()[i * (n_ls + 1) + j];
        let error = [found[0] - x, found[1] - y, found[2] - tau];
        assert!(error.iter().all(|e| e.abs() < 1e-5), "{name}, {rule}, {n_ls}, {i}, {j}: {found:?}");
    }
    let random = |nx, ny, width, power| {
        let grid = Grid::new(nx, ny, width, 0.02).unwrap();
        let map = (0..grid.len() as u64).map(|k| Draw::new(7, k).uniform("p").powi(power));
        Patch::from_pressure(grid, &map.collect::<Vec<_>>()).unwrap()
    };
    // A random block of cells somewhere on a grid with some pressure all over.
    let block = |[nx, ny]: [usize; 2], [x, y]: [usize; 2], [w, h]: [usize; 2], around: f64| {
        let pressure = |k: usize| {
            let inside = (x..x + w).contains(&(k % nx)) && (y..y + h).contains(&(k / nx));
            Draw::new(9, k as u64).uniform("p") * if inside { 1.0 } else { around }
        };
        let map: Vec<f64> = (0..nx * ny).map(pressure).collect();
        Patch::from_pressure(Grid::new(nx, ny, 0.001 * nx as f64, 0.001 * ny as f64).unwrap(), &map).unwrap()
    };
    let grids = [
        (21, 21, 0.02),
        (21, 21, 0.06),
        (30, 12, 0.02),
        (40, 40, 0.02),
        (8, 8, 0.02),
        (5, 5, 0.02),
        (1, 9, 0.002),
        (12, 30, 0.2),
        (40, 30, 1.0),
        (9, 90, 0.2),
    ];
    let mut patches: Vec<Patch> =
        grids.iter().flat_map(|(nx, ny, width)| [1, 20].map(|power| random(*nx, *ny, *width, power))).collect();
    patches.extend(
        [(21, 0.02), (30, 0.02), (1, 0.02)]
            .map(|(n, width)| Patch::shape(Grid::new(n, n, width, 0.02).unwrap(), Shape::Circle).unwrap()),
    );
    patches.extend([
        block([100, 100], [70, 20], [3, 3], 0.0),
        block([300, 200], [290, 190], [9, 9], 0.0),
        block([1000, 1], [995, 0], [5, 1], 0.0),
        block([64, 64], [5, 40], [1, 1], 1e-7),
        block([64, 64], [5, 40], [4, 4], 1e-6),
    ]);
    for (k, patch) in patches.iter().enumerate() {
        let grid = patch.grid();
        for rule in Rule::ALL {
            // The finest tables have centres of rotation at two hundred times the radius.
            for n_ls in [20, if grid.len() < 400 { 301 } else { 20 }] {
                let (single, double) =
                    (Table::single(patch, rule, n_ls).unwrap(), Table::new(patch, rule, n_ls).unwrap());
                let error = difference(&single, &double);
                let what = format!("{k}: {} x {}, {}, {n_ls}", grid.nx, grid.ny, rule.name());
                assert!(error < 1e-5, "{what}: {error:.1e}");
                let off = (single.radius() - double.radius()).abs();
                assert!(off <= 3e-6 * double.radius(), "{what}: {off:.1e}");
            }
        }
    }
    let largest = Patch::shape(Grid::new(128, 128, 0.02, 0.02).unwrap(), Shape::Square).unwrap();
    let [single, double] = [Table::single, Table::new].map(|table| table(&largest, Rule::Bilinear, 10).unwrap());
    assert!(difference(&single, &double) < 1e-5);
    assert_eq!(Table::single(&random_patch(1), Rule::Cells, 0).unwrap_err().field, "n_ls");
    assert_eq!(Table::batch_single(&[], Rule::Cells, 20).unwrap(), []);
}

/// A product of full lanes, of some, and maps one by one; other grids among them.
#[test]
fn tables_of_a_batch_in_single_precision_are_within_1e_5() {
    let mut patches: Vec<Patch> = (0..131).map(random_patch).collect();
    for (k, n) in [(3, 5), (70, 12), (130, 9)] {
        patches.insert(k, Patch::shape(Grid::new(n, n, 0.03, 0.02).unwrap(), Shape::Circle).unwrap());
    }
    for rule in Rule::ALL {
        let batch = Table::batch_single(&patches, rule, 5).unwrap();
        assert_eq!(batch.len(), patches.len());
        for (k, (single, patch)) in batch.iter().zip(&patches).enumerate() {
            let error = difference(single, &Table::new(patch, rule, 5).unwrap());
            assert!(error < 1e-5, "{k}, {}: {error:.1e}", rule.name());
        }
        // By `cells`, these have too few corners.
        assert_eq!(batch[0].is_single(), rule != Rule::Cells, "{}", rule.name());
    }
}

/// Small contacts in the corner of a grid: distances across it cancel.
#[test]
fn tables_of_small_contacts_in_large_grids_are_within_1e_5() {
    let mut singles = 0;
    for (n, sizes) in [(21, 1..13), (64, 2..14), (128, 2..19)] {
        let grid = Grid::new(n, n, 0.02, 0.02).unwrap();
        let block = |size: usize| {
            let map: Vec<f64> = (0..n * n).map(|k| f64::from(u8::from(k % n < size && k / n < size))).collect();
            Patch::from_pressure(grid, &map).unwrap()
        };
        let patches: Vec<Patch> = sizes.map(block).collect();
        let batch = Table::batch_single(&patches, Rule::Bilinear, 5).unwrap();
        for (single, patch) in batch.iter().zip(&patches) {
            let double = Table::new(patch, Rule::Bilinear, 5).unwrap();
            let (error, off) = (difference(single, &double), (single.radius() - double.radius()).abs());
            let what = format!("{n} x {n}, {} cells: {error:.1e}, {off:.1e} m", patch.cells().len());
            assert!(error < 1e-5 && off <= 3e-6 * double.radius(), "{what}");
            singles += usize::from(single.is_single());
        }
    }
    assert!(singles >= 20, "{singles}");
}

#[test]
fn look_ups_have_the_values_of_an_independent_program() {
    type Row = (String, String, f64, f64, f64, f64, f64, f64, f64);
    for (name, rule, vx, vy, w, r, x, y, tau) in fixture::<Row>("look_ups.csv") {
        let table = Table::new(&patch(shape(&name)), rule.parse().unwrap(), 20).unwrap();
        close(table.h(r, Twist::new(vx, vy, w)), [x, y, tau], [1.0; 3], (name, rule, vx, vy, w));
    }
}

#[test]
fn sums_and_their_bilinear_means_have_the_values_of_an_independent_program() {
    type Row = (String, String, f64, f64, f64, f64, f64, f64);
    for (name, rule, vx, vy, w, fx, fy, tau) in fixture::<Row>("sums.csv") {
        let surface = Surface::new(&patch(shape(&name)), rule.parse().unwrap());
        let found = surface.wrench_at_origin(Twist::new(vx, vy, w), 0.85, 2.75);
        close(found.to_array(), [fx, fy, tau], [2.3, 2.3, 0.02], (name, rule, vx, vy, w));
    }
}

/// Largest error of `cells` wrenches of a patch, relative to 1 and to `size` [m].
fn error_against(name: &str, patch: &Patch, size: f64) -> f64 {
    let surface = Surface::new(patch, Rule::Cells);
    let rows = fixture::<(String, f64, f64, f64, f64, f64, f64)>("closed_forms.csv");
    let rows: Vec<_> = rows.into_iter().filter(|row| row.0 == name).collect();
    assert!(rows.len() >= 15, "{name}: {} rows", rows.len());
    rows.iter()
        .map(|&(_, vx, vy, w, fx, fy, tau)| {
            let found = surface.wrench(Twist::new(vx, vy, w), 1.0, 1.0);
            (found.fx - fx).abs().max((found.fy - fy).abs()).max((found.tau - tau).abs() / size)
        })
        .fold(0.0, f64::max)
}

#[test]
fn cells_are_exact_for_rectangles_and_lines() {
    for n in [1, 2, 21] {
        let square = Patch::shape(Grid::new(n, n, 0.02, 0.02).unwrap(), Shape::Square).unwrap();
        assert!(error_against("square", &square, 0.01) < TOLERANCE);
        let rectangle = Patch::shape(Grid::new(3 * n, n, 0.03, 0.012).unwrap(), Shape::Square).unwrap();
        assert!(error_against("rectangle", &rectangle, 0.01) < TOLERANCE);
    }
}

#[test]
fn thin_cells_tend_to_a_line_with_order_two_in_their_width() {
    let error = |width: f64| {
        let line = Patch::shape(Grid::new(1, 21, width, 0.02).unwrap(), Shape::Square).unwrap();
        error_against("line", &line, 0.01)
    };
    let errors = [1e-5, 1e-6, 1e-7].map(error);
    println!("line: {errors:?}");
    assert!(errors[0] / errors[1] > 80.0 && errors[1] / errors[2] > 80.0, "{errors:?}");
    assert!(errors[2] < 1e-8, "{errors:?}");
}

/// Shares of cells inside a radius [m], by 16 x 16 points a cell.
fn inside(grid: &Grid, x: f64, y: f64, radius: f64) -> f64 {
    let at = |c: f64, d: f64, k: usize| c + d * ((k as f64 + 0.5) / 16.0 - 0.5);
    let hits = (0..256).filter(|k| at(x, grid.dx, k % 16).hypot(at(y, grid.dy, k / 16)) <= radius);
    hits.count() as f64 / 256.0
}

#[test]
fn cells_converge_with_order_two_to_other_shapes() {
    type Make = fn(usize) -> Patch;
    let cases: [(&str, f64, f64, Make); 5] = [
        ("disc", 0.013, 1.8, |n| Patch::shape(Grid::new(n, n, 0.026, 0.026).unwrap(), Shape::Disc).unwrap()),
        ("annulus", 0.011, 1.8, |n| {
            let grid = Grid::new(n, n, 0.022, 0.022).unwrap();
            Patch::from_fn(grid, |x, y| inside(&grid, x, y, 0.011) - inside(&grid, x, y, 0.004)).unwrap()
        }),
        // A rim two cells wide. The wrench of the ideal rim has a kink where the centre of rotation crosses
        // it.
        ("ring", 0.01, 1.0, |n| {
            let grid = Grid::new(n, n, 0.025, 0.025).unwrap();
            let rim = |x, y| inside(&grid, x, y, 0.01 + grid.dx) - inside(&grid, x, y, 0.01 - grid.dx);
            Patch::from_fn(grid, rim).unwrap()
        }),
        ("hertz_k2", 0.008, 1.8, |n| {
            Patch::from_fn(Grid::new(n, n, 0.016, 0.016).unwrap(), |x, y| {
                (1.0 - (x * x + y * y) / 6.4e-5).max(0.0).sqrt()
            })
            .unwrap()
        }),
        // Lighter with y; the width is no longer seen.
        ("linegrad", 0.01, 1.8, |n| Patch::from_fn(Grid::new(1, n, 1e-7, 0.02).unwrap(), |_, y| 0.01 - y).unwrap()),
    ];
    for (name, size, least, make) in cases {
        let errors = [20, 80].map(|n| error_against(name, &make(n), size));
        let order = (errors[0] / errors[1]).log2() / 2.0;
        println!("{name}: error {:.1e} at 20 cells, {:.1e} at 80, order {order:.2}", errors[0], errors[1]);
        assert!(errors[1] < 1e-2, "{name}: {errors:?}");
        assert!(order > least, "{name}: order {order:.2} from {errors:?}");
    }
}

#[test]
fn wrenches_oppose_and_turn_with_the_twist() {
    for (seed, rule) in [(1, Rule::Points), (2, Rule::Bilinear), (3, Rule::Cells)] {
        let patch = random_patch(seed);
        let Grid { nx, ny, .. } = *patch.grid();
        let turned: Vec<f64> = patch.weights().iter().rev().copied().collect();
        let turned = Patch::from_pressure(*patch.grid(), &turned).unwrap();
        assert_eq!(turned.weights().len(), nx * ny);
        let (surface, turned) = (Surface::new(&patch, rule), Surface::new(&turned, rule));
        for k in 0..200 {
            let v = twist(direction(seed, k), surface.radius());
            let w = surface.wrench(v, 0.7, 3.0);
            let back = surface.wrench(Twist::new(-v.vx, -v.vy, -v.w), 0.7, 3.0);
            close([-back.fx, -back.fy, -back.tau], w.to_array(), [1.0, 1.0, 0.01], (rule, k));
            // Half a turn of the patch and of the velocity.
            let half = turned.wrench(Twist::new(-v.vx, -v.vy, v.w), 0.7, 3.0);
            close([-half.fx, -half.fy, half.tau], w.to_array(), [1.0, 1.0, 0.01], (rule, k));
            assert!(w.power(v) < 0.0);
        }
    }
}

#[test]
fn wrenches_of_anything_are_numbers_or_say_that_they_are_not() {
    let patch = random_patch(3);
    for rule in Rule::ALL {
        let surface = Surface::new(&patch, rule);
        let table = Table::of(&surface, 8).unwrap();
        let (quartic, ellipsoid) = (Quartic::fit(&surface).0, Ellipsoid::fit(&surface).0);
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            for k in 0..3 {
                for mut v in [[0.1, -0.2, 3.0], [0.0; 3]] {
                    v[k] = bad;
                    let wrenches = [surface.coulomb(v.into()), quartic.coulomb(v.into()), ellipsoid.coulomb(v.into())];
                    let all = wrenches.map(Wrench::to_array).into_iter().chain([table.h(surface.radius(), v.into())]);
                    assert!(all.flatten().all(f64::is_nan), "{} of {v:?}: {wrenches:?}", rule.name());
                }
            }
        }
        // Friction never drives: a force that would pull is none.
        let twist = Twist::new(0.1, -0.2, 3.0);
        assert_eq!(surface.wrench(twist, 0.5, -2.0).to_array().map(f64::abs), [0.0; 3]);
        assert_eq!(surface.viscous_wrench(twist, 0.5, -2.0).to_array().map(f64::abs), [0.0; 3]);
        assert!(surface.wrench(twist, 0.5, f64::NAN).fx.is_nan());
        assert_eq!(table.h(surface.radius(), Twist::default()), [0.0; 3]);
    }
    // The size of a twist plays no part.
    let surface = Surface::new(&patch, Rule::Cells);
    let (quartic, _) = Quartic::fit(&surface);
    for k in 0..20 {
        let v = direction(7, k);
        let wanted = quartic.coulomb(twist(v, surface.radius())).to_array();
        for scale in [2f64.powi(-600), 2f64.powi(600)] {
            let found = quartic.coulomb(twist(v.map(|c| c * scale), surface.radius())).to_array();
            close(found, wanted, [1.0, 1.0, surface.radius()], (k, scale));
        }
    }
}

#[test]
fn margins_do_not_depend_on_the_unit_of_force() {
    let surface = Surface::new(&random_patch(3), Rule::Cells);
    let load = Wrench::new(0.3, -0.2, 0.4 * surface.radius());
    let wanted = surface.margin(load, 0.5, 8.0).unwrap();
    for scale in [1e-200, 1e200] {
        let found = surface.margin(load * scale, 0.5, 8.0 * scale).unwrap();
        assert!((found.factor / wanted.factor - 1.0).abs() < 1e-12, "{found:?} and {wanted:?}");
    }
    assert!(surface.margin(Wrench::new(0.0, 0.0, 1e307), 0.5, 8.0).is_err());
    // What moving the reference point leaves of no torque is no torque.
    let grid = Grid::new(3, 2, 0.01, 0.01).unwrap();
    let point = Patch::from_pressure(grid, &[0.0, 0.0, 0.0, 0.0, 1.0, 0.0]).unwrap();
    let point = Surface::new(&point, Rule::Points);
    for (tau, factor) in [(0.0, 2.0), (1e-19, 2.0), (1e-6, 0.0)] {
        assert!((point.margin(Wrench::new(0.5, 0.0, tau), 1.0, 1.0).unwrap().factor - factor).abs() < 1e-12);
    }
}

#[test]
fn a_point_has_the_same_force_in_every_table() {
    let grid = Grid::new(3, 2, 0.01, 0.01).unwrap();
    let point = Patch::from_pressure(grid, &[0.0, 0.0, 0.0, 0.0, 1.0, 0.0]).unwrap();
    let gpu = Gpu::new(Choice::Any).unwrap();
    for rule in [Rule::Points, Rule::Bilinear] {
        let tables = [
            Table::new(&point, rule, 7).unwrap(),
            Table::single(&point, rule, 7).unwrap(),
            gpu.tables(std::slice::from_ref(&point), rule, 7).unwrap().remove(0),
        ];
        for table in &tables {
            assert_eq!(table.radius(), 0.0);
            for k in 0..50 {
                let v = direction(9, k);
                let [fx, fy, tau] = table.h(0.0, Twist::from(v));
                let s = v[0].hypot(v[1]);
                // A bilinear look-up cuts the corners of the circle.
                assert!((fx + v[0] / s).hypot(fy + v[1] / s) < 0.05 && tau == 0.0, "{v:?}: {fx}, {fy}, {tau}");
            }
            assert!(table.passivity(3).largest <= 0.0);
        }
    }
}

#[test]
fn exact_cells_never_pass_one_and_dissipate() {
    for shape in SHAPES {
        let table = Table::new(&patch(shape), Rule::Cells, 20).unwrap();
        for h in table.nodes() {
            assert!(h[2].abs() <= 1.0 + 1e-12 && h[0].hypot(h[1]) <= 1.0 + 1e-12, "{shape:?}: {h:?}");
        }
        let passivity = table.passivity(3);
        assert!(passivity.largest < 0.0, "{shape:?}: {passivity:?}");
        // The same places by look-ups from outside.
        let angle = |k: usize, n: usize| (k as f64 / n as f64 * FRAC_PI_2).sin_cos();
        let mut largest = f64::NEG_INFINITY;
        for (i, j) in (0..320).flat_map(|i| (0..=80).map(move |j| (i, j))) {
            let ((sin, cos), (sin_phi, cos_phi)) = (angle(i, 80), angle(j, 80));
            let v = [cos * sin_phi, sin * sin_phi, cos_phi.max(0.0)];
            largest = table.look_up(v).h.iter().zip(v).map(|(h, v)| h * v).sum::<f64>().max(largest);
        }
        assert_eq!(passivity.samples, 320 * 81);
        assert!((passivity.largest - largest).abs() < 1e-12, "{shape:?}: {passivity:?} and {largest}");
    }
}

#[test]
fn a_patch_may_be_resized_without_a_new_table() {
    let patch = patch(Shape::NonConvex2);
    let table = Table::new(&patch, Rule::Cells, 20).unwrap();
    let large = Table::new(&patch.scaled(3.0, 3.0).unwrap(), Rule::Cells, 20).unwrap();
    for k in 0..200 {
        let v = twist(direction(5, k), large.radius());
        close(table.h(3.0 * table.radius(), v), large.h(large.radius(), v), [1.0; 3], k);
    }
}

#[test]
fn derivatives_of_a_look_up_are_its_slopes() {
    let table = Table::new(&patch(Shape::NonConvex2), Rule::Cells, 20).unwrap();
    for k in 0..300 {
        let v = direction(6, k);
        let at = table.look_up(v);
        for axis in 0..3 {
            let h = 1e-7;
            let moved = |sign: f64| {
                let mut moved = v;
                moved[axis] += sign * h;
                table.look_up(moved).h
            };
            let (up, down) = (moved(1.0), moved(-1.0));
            for c in 0..3 {
                let slope = (up[c] - down[c]) / (2.0 * h);
                let given = at.h_phi[c] * at.dphi[axis] + at.h_theta[c] * at.dtheta[axis];
                assert!(
                    (slope - given).abs() < 2e-6 * (1.0 + slope.abs() / v[0].hypot(v[1])),
                    "{v:?}: {slope} and {given}"
                );
            }
        }
    }
}

#[test]
fn the_twist_of_a_load_undoes_the_load_of_a_twist() {
    for patch in SHAPES.map(patch).into_iter().chain((0..4).map(random_patch)) {
        let surface = Surface::new(&patch, Rule::Cells);
        for k in 0..60 {
            let v = direction(7, k);
            let w = surface.coulomb(twist(v, surface.radius()));
            let found = surface.twist_of(Wrench::new(-w.fx, -w.fy, -w.tau)).unwrap();
            let found = [found.vx, found.vy, surface.radius() * found.w];
            let off = (0..3).map(|c| (found[c] - v[c]).powi(2)).sum::<f64>().sqrt();
            assert!(off < 1e-6, "{v:?} came back as {found:?}");
        }
    }
}

#[test]
fn margins_are_those_of_brute_force() {
    for (patch, rule) in
        [(patch(Shape::NonConvex2), Rule::Cells), (patch(Shape::Circle), Rule::Points), (random_patch(9), Rule::Cells)]
    {
        let surface = Surface::new(&patch, rule);
        let (mu, f_n, r) = (0.4, 12.0, surface.radius());
        for k in 0..6 {
            let f = direction(8, k).map(|c| 3.0 * c);
            let load = Wrench::new(f[0], f[1], r * f[2]);
            let margin = surface.margin(load, mu, f_n).unwrap();
            assert_eq!(margin.mu.to_bits(), mu.to_bits());
            assert!(margin.factor - margin.at_least <= 1e-9 * margin.factor, "{margin:?}");
            // The bound of every twist lies above; the best of many is near.
            let mut best = f64::INFINITY;
            for t in 0..20_000 {
                let v = twist(direction(10, t), r);
                if load.power(v) > 0.0 {
                    best = best.min(-surface.wrench(v, mu, f_n).power(v) / load.power(v));
                }
            }
            assert!(margin.factor <= best * (1.0 + 1e-9), "{} and {best}", margin.factor);
            assert!(margin.factor >= best * (1.0 - 2e-3), "{} and {best}", margin.factor);
            // The load just inside holds, the load just outside does not.
            let scaled = |s: f64| Wrench::new(s * load.fx, s * load.fy, s * load.tau);
            assert!(surface.holds(scaled(margin.factor * 0.999_999), mu, f_n).unwrap());
            assert!(!surface.holds(scaled(margin.factor * 1.000_001), mu, f_n).unwrap());
        }
    }
}

/// The search is short for every load: along an axis, nearly so, and where the surface has facets and edges.
#[test]
fn bounds_of_margins_meet() {
    for (index, patch) in SHAPES.map(patch).into_iter().chain((0..3).map(random_patch)).enumerate() {
        for rule in [Rule::Cells, Rule::Points] {
            let surface = Surface::new(&patch, rule);
            for k in 0..400 {
                let mut f = direction(15, k);
                f[k as usize / 4 % 3] *= [1.0, 1e-3, 1e-8, 0.0][k as usize % 4];
                let margin = surface.margin(Wrench::new(f[0], f[1], surface.radius() * f[2]), 1.0, 1.0).unwrap();
                let gap = 1.0 - margin.at_least / margin.factor;
                assert!(gap <= 2e-12, "{index}, {rule:?}, load {k} {f:?}: {margin:?}");
            }
        }
    }
}

#[test]
fn a_centre_of_rotation_on_a_cell_is_a_facet() {
    let patch = patch(Shape::Square);
    let surface = Surface::new(&patch, Rule::Points);
    // Rotation about the middle cell, with a force that this cell alone could balance.
    let spin = -surface.coulomb(Twist::new(0.0, 0.0, 1.0)).tau;
    let margin = surface.margin(Wrench::new(0.3 / 441.0, 0.2 / 441.0, spin), 1.0, 1.0).unwrap();
    assert!((margin.factor - 1.0).abs() < 1e-9, "{margin:?}");
    assert!(margin.twist.vx.hypot(margin.twist.vy) < 1e-6, "{margin:?}");
}

#[test]
fn queries_refuse_what_they_cannot_answer() {
    let surface = Surface::new(&patch(Shape::Circle), Rule::Cells);
    assert_eq!(surface.margin(Wrench::new(f64::NAN, 0.0, 0.0), 1.0, 1.0).unwrap_err().field, "load.fx");
    assert_eq!(surface.margin(Wrench::default(), 0.0, 1.0).unwrap_err().field, "mu");
    assert_eq!(surface.margin(Wrench::default(), 1.0, -1.0).unwrap_err().field, "f_n");
    assert!(surface.margin(Wrench::default(), 1.0, 1.0).unwrap().factor.is_infinite());
    let bilinear = Surface::new(&patch(Shape::Circle), Rule::Bilinear);
    assert_eq!(bilinear.margin(Wrench::new(1.0, 0.0, 0.0), 1.0, 1.0).unwrap_err().field, "rule");
    let one = Patch::from_pressure(Grid::new(1, 1, 1.0, 1.0).unwrap(), &[1.0]).unwrap();
    let point = Surface::new(&one, Rule::Points);
    assert_eq!(point.margin(Wrench::new(0.0, 0.0, 1.0), 1.0, 1.0).unwrap().factor, 0.0);
    assert!((point.margin(Wrench::new(3.0, 4.0, 0.0), 0.5, 20.0).unwrap().factor - 2.0).abs() < 1e-12);
    assert_eq!(Table::new(&one, Rule::Cells, 0).unwrap_err().field, "n_ls");
}

#[test]
fn batches_are_the_single_answers() {
    let patches: Vec<Patch> = (0..5).map(random_patch).collect();
    for rule in Rule::ALL {
        for (table, patch) in Table::batch(&patches, rule, 7).unwrap().iter().zip(&patches) {
            assert_eq!(table, &Table::new(patch, rule, 7).unwrap());
        }
    }
    // By the bilinear rule, larger batches are a matrix product, by groups. One patch is on a grid of its
    // own.
    let mut patches: Vec<Patch> = (0..150).map(random_patch).collect();
    patches.insert(100, patch(Shape::NonConvex1));
    let of_threads = |n: usize| {
        let threads = rayon::ThreadPoolBuilder::new().num_threads(n).build().unwrap();
        threads.install(|| Table::batch(&patches, Rule::Bilinear, 7).unwrap())
    };
    let tables = of_threads(1);
    assert_eq!(tables, of_threads(3));
    for (table, patch) in tables.iter().zip(&patches) {
        let alone = Table::new(patch, Rule::Bilinear, 7).unwrap();
        assert!((table.radius() / alone.radius() - 1.0).abs() < 1e-12);
        for (h, wanted) in table.nodes().iter().zip(alone.nodes()) {
            assert!((0..3).all(|k| (h[k] - wanted[k]).abs() < 1e-12), "{h:?} and {wanted:?}");
        }
    }
    let surface = Surface::new(&patches[0], Rule::Cells);
    let twists: Vec<Twist> = (0..100).map(|k| twist(direction(11, k), surface.radius())).collect();
    let loads: Vec<Wrench> = surface.coulombs(&twists);
    assert_eq!(loads, twists.iter().map(|t| surface.coulomb(*t)).collect::<Vec<_>>());
}

/// Loads of every kind: spread over all directions, along an axis, nearly so, of any size, on facets, none.
fn loads(surface: &Surface, count: u64) -> Vec<Wrench> {
    let load = |k: u64| {
        let mut f = direction(15, k);
        f[k as usize / 8 % 3] *= [1.0, 1.0, 1.0, 1.0, 1e-3, 1e-8, 1e-15, 0.0][k as usize % 8];
        let size = 10f64.powi(k as i32 % 7 - 3);
        match k % 50 {
            0 => Wrench::default(),
            // What holds a rotation about a cell, and part of what this cell can add.
            1 => {
                let cells = surface.patch().cells();
                let ([cx, cy], cell) = (surface.patch().cop(), cells[k as usize % cells.len()]);
                let (x, y) = (cell.x - cx, cell.y - cy);
                let w = surface.coulomb(Twist::new(y, -x, 1.0));
                let [fx, fy] = [f[0], f[1]].map(|c| 0.9 * cell.w * c);
                Wrench::new(fx - w.fx, fy - w.fy, x * fy - y * fx - w.tau)
            }
            _ => Wrench::new(size * f[0], size * f[1], size * f[2] * surface.radius()),
        }
    };
    (0..count).map(load).collect()
}

#[test]
fn margins_of_many_loads_are_the_single_ones() {
    let grid = |nx, ny| Grid::new(nx, ny, 1e-3 * nx as f64, 1.5e-3 * ny as f64).unwrap();
    let mut patches: Vec<Patch> = SHAPES.map(patch).into_iter().chain((0..3).map(random_patch)).collect();
    // One cell, two in a row, two apart, a line of points, a wide map with a far cell, and one of many
    // pressures.
    patches.push(Patch::from_pressure(grid(1, 1), &[1.0]).unwrap());
    patches.push(Patch::from_pressure(grid(2, 1), &[1.0, 3.0]).unwrap());
    patches.push(Patch::from_fn(grid(21, 3), |x, _| f64::from(x.abs() > 9.5e-3)).unwrap());
    patches.push(Patch::from_fn(grid(9, 1), |x, _| 1.0 + 100.0 * x).unwrap());
    patches
        .push(Patch::from_fn(grid(40, 30), |x, y| f64::from(x < -0.017 && y < -0.02) + f64::from(x > 0.019)).unwrap());
    patches.push(Patch::from_fn(grid(21, 21), |x, y| (-(x * x + y * y) / 2e-5).exp()).unwrap());
    for (index, patch) in patches.iter().enumerate() {
        for rule in [Rule::Cells, Rule::Points] {
            let surface = Surface::new(patch, rule);
            let loads = loads(&surface, 600);
            let margins = surface.margins(&loads, 0.5, 2.0).unwrap();
            for (k, (found, load)) in margins.iter().zip(&loads).enumerate() {
                let wanted = surface.margin(*load, 0.5, 2.0).unwrap();
                let off = (found.factor / wanted.factor - 1.0).abs();
                let what = format!("{index}, {rule:?}, load {k} {load:?}: {found:?}, alone {wanted:?}");
                assert!(found.factor == wanted.factor || off < 1e-11, "{off:.1e}, {what}");
                assert!(found.at_least <= found.factor && found.at_least >= wanted.factor * (1.0 - 1e-11), "{what}");
                // On a facet it is one of many, but always one that slips there.
                let unit = |t: Twist| [t.vx, t.vy, t.w * surface.radius()];
                let power = |t: Twist| -surface.wrench(t, 0.5, 2.0).power(t) / load.power(t);
                if found.factor.is_finite() && found.factor > 0.0 {
                    let length = unit(found.twist).iter().map(|c| c * c).sum::<f64>().sqrt();
                    assert!((length - 1.0).abs() < 1e-12, "{length}, {what}");
                    let off = (power(found.twist) / wanted.factor - 1.0).abs();
                    assert!(off < 1e-11, "{off:.1e}, {what}");
                }
            }
        }
    }
}

#[test]
fn margins_of_many_loads_refuse_the_first_that_is_wrong() {
    let surface = Surface::new(&patch(Shape::Circle), Rule::Cells);
    let mut loads = vec![Wrench::new(1.0, 0.0, 0.0); 40];
    assert_eq!(surface.margins(&loads, -1.0, 1.0).unwrap_err().field, "mu");
    assert_eq!(surface.margins(&loads, 1.0, f64::INFINITY).unwrap_err().field, "f_n");
    loads[20].fy = f64::NAN;
    loads[30].tau = f64::INFINITY;
    assert_eq!(surface.margins(&loads, 1.0, 1.0).unwrap_err().field, "load.fy");
    let bilinear = Surface::new(&patch(Shape::Circle), Rule::Bilinear);
    assert_eq!(bilinear.margins(&loads[..20], 1.0, 1.0).unwrap_err().field, "rule");
    assert!(surface.margins(&[], 1.0, 1.0).unwrap().is_empty());
}

/// A pressing force of zero holds nothing; what one load is answered does not depend on those beside it.
#[test]
fn margins_of_many_loads_are_their_own() {
    let surface = Surface::new(&random_patch(2), Rule::Cells);
    let loads = loads(&surface, 3000);
    assert!(surface.margins(&loads, 0.5, 0.0).unwrap().iter().all(|m| m.factor == 0.0 || m.factor.is_infinite()));
    let all = surface.margins(&loads, 0.5, 2.0).unwrap();
    let reversed: Vec<Wrench> = loads.iter().rev().copied().collect();
    let of_threads = |n: usize| {
        let threads = rayon::ThreadPoolBuilder::new().num_threads(n).build().unwrap();
        threads.install(|| surface.margins(&reversed, 0.5, 2.0).unwrap())
    };
    assert_eq!(of_threads(1), of_threads(3));
    assert!(of_threads(2).iter().rev().eq(&all));
}

#[test]
fn compact_surfaces_report_their_error() {
    for shape in SHAPES {
        let surface = Surface::new(&patch(shape), Rule::Cells);
        let (_, ellipsoid) = Ellipsoid::fit(&surface);
        let (quartic, error) = Quartic::fit(&surface);
        println!("{shape:?}: ellipsoid {ellipsoid:.3?}, quartic {error:.3?}");
        assert!(error.rms < 0.6 * ellipsoid.rms && error.max < ellipsoid.max, "{shape:?}: {error:?} and {ellipsoid:?}");
        // Convex: the value midway between two loads is at most the mean.
        for k in 0..200 {
            let (a, b) = (direction(12, k), direction(13, k));
            let middle = [0, 1, 2].map(|c| 0.5 * (a[c] + b[c]));
            assert!(quartic.value(middle) <= 0.5 * (quartic.value(a) + quartic.value(b)) + 1e-12);
        }
        // Its wrench is on its surface, and its gradient there is along the twist.
        let v = direction(14, 1);
        let w = quartic.coulomb(twist(v, quartic.radius));
        let load = [-w.fx, -w.fy, -w.tau / quartic.radius];
        assert!((quartic.value(load) - 1.0).abs() < 1e-9);
        let g = quartic.gradient(load);
        let norm = g.iter().map(|c| c * c).sum::<f64>().sqrt();
        assert!((0..3).all(|c| (g[c] / norm - v[c]).abs() < 1e-6), "{g:?} and {v:?}");
    }
}

/// About the origin a spot off it in a large grid has coarser look-ups, as docs/scenario.md says; pressure
/// all over the grid has not.
#[test]
fn look_ups_about_the_origin_are_as_exact_where_the_pressure_is_all_over_the_grid() {
    let grid = Grid::new(21, 21, 0.02, 0.02).unwrap();
    let map: Vec<f64> = (0..441).map(|k| Draw::new(1, k).uniform("p")).collect();
    let random = Patch::from_pressure(grid, &map).unwrap();
    let spot = |x: f64, y: f64| (1.0 - ((x - 0.004).powi(2) + (y + 0.003).powi(2)) / 0.004f64.powi(2)).max(0.0);
    let spot = Patch::from_fn(grid, spot).unwrap();
    let at_origin = Basis::new(&grid, Rule::Cells, 20).unwrap().tables(&[random.clone(), spot.clone()]).unwrap();
    // Largest and rms error (fx, fy, tau/r) over random twists, about the centre of pressure and about the
    // origin.
    for (name, patch, table, limits) in [
        ("random", random, &at_origin[0], [[0.014, 0.0020], [0.015, 0.0020]]),
        ("spot", spot, &at_origin[1], [[0.0065, 0.0016], [0.026, 0.0080]]),
    ] {
        let surface = Surface::new(&patch, Rule::Cells);
        let (about_cop, r, [x, y]) = (Table::of(&surface, 20).unwrap(), surface.radius(), patch.cop());
        let mut errors = [[0.0f64; 2]; 2];
        let count = 20_000;
        for k in 0..count {
            let twist = twist(direction(9, k), r);
            let exact = surface.coulomb(twist);
            let [fx, fy, tau] = table.h(table.radius(), twist.at([-x, -y]));
            let moved = Wrench::new(fx, fy, tau * table.radius()).about([x, y]);
            let found = [about_cop.h(r, twist), [moved.fx, moved.fy, moved.tau / r]];
            for (errors, [fx, fy, tau]) in errors.iter_mut().zip(found) {
                let error2 = (fx - exact.fx).powi(2) + (fy - exact.fy).powi(2) + (tau - exact.tau / r).powi(2);
                *errors = [errors[0].max(error2.sqrt()), errors[1] + error2 / count as f64];
            }
        }
        let errors = errors.map(|[max, mean]| [max, mean.sqrt()]);
        println!("{name}: about the centre of pressure and the origin, largest and rms: {errors:.5?}");
        let within =
            errors.iter().flatten().zip(limits.iter().flatten()).all(|(e, limit)| e <= limit && *e > 0.5 * limit);
        assert!(within, "{name}: {errors:?}, limits {limits:?}");
    }
}

/// Loads of pure translation and of pure rotation are corners of the search's first triangle.
#[test]
fn margins_of_pure_motions_are_exact() {
    for shape in SHAPES {
        for rule in [Rule::Cells, Rule::Points] {
            let surface = Surface::new(&patch(shape), rule);
            for twist in [[1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, -1.0], [0.6, 0.8, 0.0]] {
                let friction = surface.coulomb(Twist::from(twist));
                let load = Wrench::new(-friction.fx, -friction.fy, -friction.tau);
                let margin = surface.margin(load, 1.0, 1.0).unwrap();
                assert!((margin.factor - 1.0).abs() < 1e-9, "{shape:?}, {rule:?}, {twist:?}: {margin:?}");
                assert!(margin.factor - margin.at_least < 1e-9, "{shape:?}, {rule:?}, {twist:?}: {margin:?}");
            }
        }
    }
}

/// The known way around a friction map: the coefficient of each cell as a part of its pressure.
#[test]
fn friction_by_region_is_friction_in_the_pressure() {
    let grid = Grid::new(9, 6, 0.03, 0.02).unwrap();
    let pressure: Vec<f64> = grid.centres().map(|[x, y]| 1.0 + 30.0 * x - 20.0 * y).collect();
    let factors: Vec<f64> = grid.centres().map(|[x, y]| if x < 0.004 { 0.3 } else { 1.1 + 30.0 * y }).collect();
    let product: Vec<f64> = pressure.iter().zip(&factors).map(|(p, f)| p * f).collect();
    let mapped = Patch::from_pressure(grid, &pressure).unwrap().with_friction_map(&factors).unwrap();
    let mean = product.iter().sum::<f64>() / pressure.iter().sum::<f64>();
    assert!((mapped.mean_friction() - mean).abs() < 1e-14);
    let plain = Patch::from_pressure(grid, &product).unwrap();
    let (mu, f_n, twist) = (0.6, 3.0, Twist::new(0.02, -0.01, 1.3));
    for rule in [Rule::Cells, Rule::Points] {
        let [of_map, of_product] = [&mapped, &plain].map(|patch| Surface::new(patch, rule));
        let close = |found: [f64; 3], wanted: [f64; 3]| {
            for (f, w) in found.iter().zip(wanted) {
                assert!((f - w).abs() < 1e-12, "{found:?} {wanted:?}");
            }
        };
        let [found, wanted] =
            [(&of_map, mu), (&of_product, mean * mu)].map(|(s, mu)| s.wrench_at_origin(twist, mu, f_n));
        close(found.to_array(), wanted.to_array());
        let load = Wrench::new(0.3, 0.1, 1e-3);
        let margins = [(&of_map, mu), (&of_product, mean * mu)].map(|(s, mu)| s.margin(load, mu, f_n).unwrap());
        assert!((margins[0].factor - margins[1].factor).abs() < 1e-11 * margins[1].factor, "{margins:?}");
        let many = of_map.margins(&vec![load; 40], mu, f_n).unwrap();
        assert!(many.iter().all(|m| (m.factor - margins[0].factor).abs() < 1e-9 * m.factor));
        let [found, wanted] = [&mapped, &plain].map(|patch| Table::new(patch, rule, 6).unwrap());
        assert!((found.radius() - wanted.radius()).abs() < 1e-14);
        assert!(of_map.margin_gradients(&[load], ReferencePoint::Cop, mu, f_n).is_err());
    }
    // Viscous friction is that of the pressure, about the same point.
    let surface = Surface::new(&mapped, Rule::Points);
    let cop = surface.patch().cop();
    let mut wanted = Wrench::default();
    let pressed = Patch::from_pressure(grid, &pressure).unwrap();
    for cell in pressed.cells() {
        let at = [cell.x - cop[0], cell.y - cop[1]];
        let [vx, vy] = twist.velocity(at).map(|v| -0.2 * f_n * cell.w * v);
        wanted = wanted + Wrench::new(vx, vy, at[0] * vy - at[1] * vx);
    }
    let found = surface.viscous_wrench(twist, 0.2, f_n);
    for (f, w) in found.to_array().iter().zip(wanted.to_array()) {
        assert!((f - w).abs() < 1e-14, "{found:?} {wanted:?}");
    }
}

/// Surfaces of friction by direction: axes of the grid and others, weak and strong across, without extent.
fn directed() -> Vec<Patch> {
    let grid = Grid::new(7, 5, 0.03, 0.02).unwrap();
    let slope = Patch::from_fn(grid, |x, y| 1.0 + 40.0 * x - 30.0 * y).unwrap();
    let point = Patch::from_pressure(Grid::new(1, 1, 0.01, 0.01).unwrap(), &[1.0]).unwrap();
    let axes = [(0.1, 0.0), (0.4, FRAC_PI_2), (3.0, 0.0), (0.1, 0.5), (2.0, -1.0)];
    let of = |(across, angle): &(f64, f64)| FrictionAxes::new(*across, *angle).unwrap();
    let slopes = axes.iter().map(|axes| slope.clone().with_friction_axes(of(axes)));
    slopes.chain([point.with_friction_axes(of(&axes[3]))]).collect()
}

/// `-sum w A^2 v/|A v|` over the cells' centres, each cell cut into `n` x `n` parts.
fn directed_sum(patch: &Patch, twist: Twist, n: usize) -> Wrench {
    let (axes, grid, mut sum) = (patch.friction_axes().unwrap(), patch.grid(), Wrench::default());
    for cell in patch.cells() {
        for (i, j) in (0..n).flat_map(|i| (0..n).map(move |j| (i, j))) {
            let inside = |k: usize| (k as f64 + 0.5) / n as f64 - 0.5;
            let at = [cell.x + inside(i) * grid.dx, cell.y + inside(j) * grid.dy];
            let v = axes.isotropic_twist(twist.at(at));
            let share = -cell.w / (n * n) as f64 / v.vx.hypot(v.vy);
            let Wrench { fx, fy, .. } = axes.wrench(Wrench::new(share * v.vx, share * v.vy, 0.0));
            sum = sum + Wrench::new(fx, fy, at[0] * fy - at[1] * fx);
        }
    }
    sum
}

#[test]
fn friction_by_direction_is_that_of_every_cell() {
    for (k, patch) in directed().iter().enumerate() {
        for i in 0..20 {
            let draw = Draw::new(70, i);
            let v = ["vx", "vy", "w"].map(|name| 2.0 * draw.uniform(name) - 1.0);
            let twist = Twist::new(v[0], v[1], 40.0 * v[2]);
            let cases = [(Rule::Points, 1, 1e-12), (Rule::Cells, 40, 1e-3)];
            for (rule, n, limit) in cases {
                let found = Surface::new(patch, rule).wrench_at_origin(twist, 0.5, 4.0);
                let wanted = directed_sum(patch, twist, n) * 2.0;
                let far = [found.fx - wanted.fx, found.fy - wanted.fy, 100.0 * (found.tau - wanted.tau)];
                assert!(far.iter().all(|f| f.abs() < limit), "{k} {rule:?} {twist:?}: {found:?} {wanted:?}");
            }
        }
    }
}

/// `P(v) = -W(v).v` is convex, and a load at its margin is on the surface: no twist has less power.
#[test]
fn friction_by_direction_is_convex_and_its_margins_are_on_the_surface() {
    let (mu, f_n) = (0.5, 4.0);
    for (k, patch) in directed().iter().enumerate() {
        for rule in [Rule::Cells, Rule::Points] {
            let surface = Surface::new(patch, rule);
            let twist = |i: u64| {
                let draw = Draw::new(71, i);
                Twist::from(["vx", "vy", "w"].map(|name| 2.0 * draw.uniform(name) - 1.0))
            };
            let scaled = |t: Twist| Twist::new(t.vx, t.vy, 60.0 * t.w);
            let power = |t: Twist| -surface.wrench(t, mu, f_n).power(t);
            let mut loads = Vec::new();
            for i in 0..40 {
                let (a, b) = (scaled(twist(i)), scaled(twist(i + 100)));
                let sum = Twist::new(a.vx + b.vx, a.vy + b.vy, a.w + b.w);
                assert!(power(sum) <= (power(a) + power(b)) * (1.0 + 1e-12), "{k} {rule:?}: convex");
                let t = twist(i + 200);
                loads.push(Wrench::new(t.vx, t.vy, if surface.radius() > 0.0 { 0.01 * t.w } else { 0.0 }));
            }
            let many = surface.margins(&loads, mu, f_n).unwrap();
            for (load, margin) in loads.iter().zip(&many) {
                let alone = surface.margin(*load, mu, f_n).unwrap();
                assert!((alone.factor / margin.factor - 1.0).abs() < 1e-9, "{k} {rule:?}: {alone:?} {margin:?}");
                let v = margin.twist;
                let size = v.vx.hypot(v.vy).hypot(surface.radius() * v.w);
                assert!((size - 1.0).abs() < 1e-12, "{margin:?}");
                let on_surface = margin.factor * load.power(v) / power(v);
                assert!((on_surface - 1.0).abs() < 1e-9, "{k} {rule:?}: {on_surface}");
                for i in 300..340 {
                    let t = scaled(twist(i));
                    assert!(margin.factor * load.power(t) <= power(t) * (1.0 + 1e-9), "{k} {rule:?}: {t:?}");
                }
            }
            assert!(surface.margin_gradients(&loads[..1], ReferencePoint::Cop, mu, f_n).is_err());
            assert!(surface.wrench_gradients(&[scaled(twist(0))], ReferencePoint::Cop, mu, f_n).is_err());
        }
    }
}

/// Axes by half a turn, or exchanged with another coefficient, are the same; a mirrored patch has a mirrored
/// surface; with equal coefficients it is isotropic.
#[test]
fn friction_by_direction_has_the_symmetries_of_its_ellipse() {
    let patch = &directed()[0];
    let with = |across: f64, angle: f64| {
        Surface::new(&patch.clone().with_friction_axes(FrictionAxes::new(across, angle).unwrap()), Rule::Points)
    };
    let twist = Twist::new(0.3, -0.2, 13.0);
    let close = |a: Wrench, b: Wrench| {
        let far = [a.fx - b.fx, a.fy - b.fy, 100.0 * (a.tau - b.tau)];
        assert!(far.iter().all(|f| f.abs() < 1e-12), "{a:?} {b:?}");
    };
    let wanted = with(0.3, 0.5).wrench(twist, 0.6, 2.0);
    close(with(0.3, 0.5 - PI).wrench(twist, 0.6, 2.0), wanted);
    close(with(1.0 / 0.3, 0.5 + FRAC_PI_2).wrench(twist, 0.3 * 0.6, 2.0), wanted);
    let grid = *patch.grid();
    let mirrored: Vec<f64> = patch.weights().chunks(grid.nx).rev().flatten().copied().collect();
    let mirrored = Patch::from_pressure(grid, &mirrored).unwrap();
    let mirrored = mirrored.with_friction_axes(FrictionAxes::new(0.3, -0.5).unwrap());
    let found = Surface::new(&mirrored, Rule::Points).wrench(Twist::new(twist.vx, -twist.vy, -twist.w), 0.6, 2.0);
    close(Wrench::new(found.fx, -found.fy, -found.tau), wanted);
    let isotropic = Patch::from_pressure(grid, patch.weights()).unwrap();
    close(with(1.0, 0.5).wrench(twist, 0.6, 2.0), Surface::new(&isotropic, Rule::Points).wrench(twist, 0.6, 2.0));
    // Viscous friction: `-sigma2 f_N sum w A^2 v`.
    let surface = with(0.3, 0.5);
    let (axes, cop) = (*surface.patch().friction_axes().unwrap(), surface.patch().cop());
    let mut sum = Wrench::default();
    for cell in patch.cells() {
        let at = [cell.x - cop[0], cell.y - cop[1]];
        let v = axes.isotropic_twist(twist.at(at));
        let Wrench { fx, fy, .. } = axes.wrench(Wrench::new(v.vx, v.vy, 0.0) * (-0.2 * 2.0 * cell.w));
        sum = sum + Wrench::new(fx, fy, at[0] * fy - at[1] * fx);
    }
    close(surface.viscous_wrench(twist, 0.2, 2.0), sum);
}

/// Tables are those of the isotropic patch, on every way to make them.
#[test]
fn tables_of_friction_by_direction_are_of_the_isotropic_patch() {
    // All but the patch without extent, whose table has no translation.
    for patch in &directed()[..5] {
        let axes = patch.friction_axes().unwrap();
        let surface = Surface::new(patch, Rule::Points);
        let table = Table::new(patch, Rule::Points, 8).unwrap();
        assert!(table.patch().friction_axes().is_none());
        for (i, j) in [(3, 5), (11, 2), (20, 7), (0, 8)] {
            let v = axes.twist(table.twist(i, j));
            let wanted = axes.isotropic_wrench(surface.coulomb(v));
            let h = table.nodes()[i * 9 + j];
            assert!((h[0] - wanted.fx).abs() < 1e-12 && (h[1] - wanted.fy).abs() < 1e-12, "{h:?} {wanted:?}");
            assert!((h[2] * table.radius() - wanted.tau).abs() < 1e-14);
        }
        let patches = std::slice::from_ref(patch);
        let gpu = Gpu::new(Choice::Any).unwrap();
        let others = [
            Table::batch(patches, Rule::Points, 8).unwrap().remove(0),
            Table::single(patch, Rule::Points, 8).unwrap(),
            gpu.tables(patches, Rule::Points, 8).unwrap().remove(0),
        ];
        for other in others {
            assert!((other.radius() - table.radius()).abs() < 1e-5 * table.radius().max(1e-9));
            let far = |(a, b): (&[f64; 3], &[f64; 3])| (0..3).map(|c| (a[c] - b[c]).abs()).fold(0.0, f64::max);
            let most = other.nodes().iter().zip(table.nodes()).map(far).fold(0.0, f64::max);
            assert!(most < 2e-5, "{most}");
        }
        let found = gpu.coulomb(patches, Rule::Points, &[Twist::new(0.2, 0.1, 9.0)]).unwrap()[0][0];
        let wanted = surface.coulomb(Twist::new(0.2, 0.1, 9.0));
        assert!((found.fx - wanted.fx).abs() < 1e-5 && (found.fy - wanted.fy).abs() < 1e-5);
        let basis = Basis::new(table.patch().grid(), Rule::Points, 8).unwrap();
        assert_eq!(basis.tables(patches).is_ok(), axes.are_of_grid(), "a basis has rectangular cells");
    }
}

/// Compound patches: a stool, turned patches of other sizes with other friction, and one cut in two.
fn compounds() -> Vec<Patch> {
    let disc = |n: usize, size: f64| Patch::shape(Grid::new(n, n, size, size).unwrap(), Shape::Disc).unwrap();
    let slope = Patch::from_fn(Grid::new(7, 5, 0.03, 0.02).unwrap(), |x, y| 1.0 + 40.0 * x - 30.0 * y).unwrap();
    let at = |patch: &Patch, [x, y, theta]: [f64; 3], force: f64, friction: f64| Placed {
        patch: patch.clone(),
        at: Pose::new(x, y, theta),
        force,
        friction,
    };
    let foot = disc(5, 0.01);
    let stool = [0.0, 2.0, 4.0].map(|k| {
        let (sin, cos) = (k * PI / 3.0).sin_cos();
        at(&foot, [0.05 * cos, 0.05 * sin, 0.3 * k], 1.0, 1.0)
    });
    let uneven = [at(&slope, [-0.02, 0.01, 0.7], 2.0, 1.0), at(&foot, [0.03, 0.0, 0.0], 0.5, 1.6)];
    [&stool[..], &uneven].map(|patches| Patch::compound(patches).unwrap()).to_vec()
}

/// The surface of a patch, given as halves side by side that are turned by half a turn, is that of the patch.
#[test]
fn a_patch_in_parts_has_the_surface_of_the_whole() {
    let map = |x: f64, y: f64| 1.0 + 40.0 * x - 30.0 * y;
    let whole = Patch::from_fn(Grid::new(6, 4, 0.03, 0.02).unwrap(), map).unwrap();
    let half = |x: f64| {
        let half = Patch::from_fn(Grid::new(3, 4, 0.015, 0.02).unwrap(), |u, v| map(x - u, -v)).unwrap();
        let force: f64 = half.grid().centres().map(|[u, v]| map(x - u, -v)).sum();
        Placed { patch: half, at: Pose::new(x, 0.0, PI), force, friction: 1.0 }
    };
    let parts = Patch::compound(&[half(-0.0075), half(0.0075)]).unwrap();
    for (a, b) in [(whole.radius(), parts.radius()), (whole.viscous(), parts.viscous()), (whole.arm2(), parts.arm2())] {
        assert!((a / b - 1.0).abs() < 1e-12, "{a} {b}");
    }
    let twists: Vec<Twist> = (0..60)
        .map(|i| {
            let draw = Draw::new(72, i);
            let [x, y, w] = ["vx", "vy", "w"].map(|name| 2.0 * draw.uniform(name) - 1.0);
            Twist::new(x, y, 90.0 * w)
        })
        .chain([Twist::new(0.0, 0.0, 1.0), Twist::new(1.0, 0.0, 0.0), Twist::new(1.0, 0.5, 1e-9)])
        .collect();
    for rule in [Rule::Cells, Rule::Points] {
        let [wanted, found] = [&whole, &parts].map(|patch| Surface::new(patch, rule));
        let [of_whole, of_parts] = [&wanted, &found].map(|surface| surface.coulombs(&twists));
        for (a, b) in of_whole.iter().zip(&of_parts) {
            let far = [a.fx - b.fx, a.fy - b.fy, 100.0 * (a.tau - b.tau)];
            assert!(far.iter().all(|f| f.abs() < 1e-11), "{rule:?}: {a:?} {b:?}");
        }
        let viscous = [&wanted, &found].map(|surface| surface.viscous_wrench(twists[0], 0.3, 2.0));
        assert!((viscous[0].tau - viscous[1].tau).abs() < 1e-15 && (viscous[0].fx - viscous[1].fx).abs() < 1e-15);
        let [a, b] = [&whole, &parts].map(|patch| Table::new(patch, rule, 10).unwrap());
        let far = |(a, b): (&[f64; 3], &[f64; 3])| (0..3).map(|c| (a[c] - b[c]).abs()).fold(0.0, f64::max);
        let most = a.nodes().iter().zip(b.nodes()).map(far).fold(0.0, f64::max);
        assert!(most < 1e-10, "{rule:?}: {most}");
        let loads: Vec<Wrench> = twists.iter().map(|t| Wrench::new(t.vx, t.vy, 1e-4 * t.w)).collect();
        for loads in [&loads[..], &loads[..3]] {
            let [a, b] = [&wanted, &found].map(|surface| surface.margins(loads, 0.5, 3.0).unwrap());
            for (a, b) in a.iter().zip(b) {
                assert!((a.factor / b.factor - 1.0).abs() < 1e-9, "{rule:?}: {a:?} {b:?}");
                assert!((a.twist.vx - b.twist.vx).abs() < 1e-5 && (a.twist.w - b.twist.w).abs() < 1e-3, "{a:?} {b:?}");
            }
        }
    }
}

/// `-sum s w v/|v|` over all parts of the cells, from [`Patch::parts`] alone.
#[test]
fn the_surface_of_several_patches_is_the_sum_of_theirs() {
    for (k, patch) in compounds().iter().enumerate() {
        for i in 0..20 {
            let draw = Draw::new(73, i);
            let v = ["vx", "vy", "w"].map(|name| 2.0 * draw.uniform(name) - 1.0);
            let twist = Twist::new(v[0], v[1], 40.0 * v[2]);
            let surface = Surface::new(patch, Rule::Bilinear);
            let by_parts = patch.parts().iter().enumerate().map(|(k, part)| {
                let (share, own) = patch.with_friction_in_pressure().part(k);
                let (at, (sin, cos)) = (part.at(), part.at().theta.sin_cos());
                let v = twist.at([at.x, at.y]);
                let v = Twist::new(cos * v.vx + sin * v.vy, cos * v.vy - sin * v.vx, v.w);
                let w = Surface::new(&own.unwrap(), Rule::Bilinear).wrench_at_origin(v, 1.0, 1.0) * share;
                Wrench::new(cos * w.fx - sin * w.fy, sin * w.fx + cos * w.fy, w.tau).about([-at.x, -at.y])
            });
            let wanted = by_parts.fold(Wrench::default(), |sum, w| sum + w) * (2.0 * surface.friction());
            let found = surface.wrench_at_origin(twist, 0.5, 4.0);
            let far = [found.fx - wanted.fx, found.fy - wanted.fy, 30.0 * (found.tau - wanted.tau)];
            assert!(far.iter().all(|f| f.abs() < 1e-12), "{k} {twist:?}: {found:?} {wanted:?}");
            for (rule, n, limit) in [(Rule::Points, 1, 1e-12), (Rule::Cells, 40, 2e-4)] {
                let mut sum = Wrench::default();
                for part in patch.parts() {
                    let (at, grid) = (part.at(), part.grid());
                    let (sin, cos) = at.theta.sin_cos();
                    for ([x, y], cell) in grid.centres().zip(part.cells()) {
                        for (i, j) in (0..n).flat_map(|i| (0..n).map(move |j| (i, j))) {
                            let inside = |k: usize| (k as f64 + 0.5) / n as f64 - 0.5;
                            let (x, y) = (x + inside(i) * grid.dx, y + inside(j) * grid.dy);
                            let [x, y] = [at.x + cos * x - sin * y, at.y + sin * x + cos * y];
                            let [vx, vy] = twist.velocity([x, y]);
                            let share = patch.weights()[cell] * patch.friction_factor(cell) / (n * n) as f64;
                            let [fx, fy] = [vx, vy].map(|v| -share * v / vx.hypot(vy));
                            sum = sum + Wrench::new(fx, fy, x * fy - y * fx);
                        }
                    }
                }
                let found = Surface::new(patch, rule).wrench_at_origin(twist, 0.5, 4.0);
                let wanted = sum * 2.0;
                let far = [found.fx - wanted.fx, found.fy - wanted.fy, 30.0 * (found.tau - wanted.tau)];
                assert!(far.iter().all(|f| f.abs() < limit), "{k} {rule:?} {twist:?}: {found:?} {wanted:?}");
            }
        }
    }
}

/// Margins of several patches are on their surface: no twist has less power, also with axes of friction.
/// Tables in single precision and of a GPU are there, and those in double.
#[test]
fn margins_and_tables_of_several_patches_are_those_of_their_surface() {
    let gpu = Gpu::new(Choice::Any).unwrap();
    for (k, patch) in compounds().iter().enumerate() {
        let axes = FrictionAxes::new(0.4, 0.6).unwrap();
        for (rule, patch) in [(Rule::Cells, patch.clone()), (Rule::Points, patch.clone().with_friction_axes(axes))] {
            let surface = Surface::new(&patch, rule);
            let twist = |i: u64| {
                let draw = Draw::new(74, i);
                let [x, y, w] = ["vx", "vy", "w"].map(|name| 2.0 * draw.uniform(name) - 1.0);
                Twist::new(x, y, 20.0 * w)
            };
            let power = |t: Twist| -surface.wrench(t, 0.5, 4.0).power(t);
            let loads: Vec<Wrench> = (0..20).map(twist).map(|t| Wrench::new(t.vx, t.vy, 2e-3 * t.w)).collect();
            for (load, margin) in loads.iter().zip(surface.margins(&loads, 0.5, 4.0).unwrap()) {
                let on_surface = margin.factor * load.power(margin.twist) / power(margin.twist);
                assert!((on_surface - 1.0).abs() < 1e-9, "{k} {rule:?}: {on_surface}");
                for i in 100..140 {
                    let t = twist(i);
                    assert!(margin.factor * load.power(t) <= power(t) * (1.0 + 1e-9), "{k} {rule:?}: {t:?}");
                }
            }
            assert!(surface.margin_gradients(&loads[..1], ReferencePoint::Cop, 0.5, 4.0).is_err());
            let table = Table::new(&patch, rule, 8).unwrap();
            let patches = std::slice::from_ref(&patch);
            let single = Table::single(&patch, rule, 8).unwrap();
            for other in [single, gpu.tables(patches, rule, 8).unwrap().remove(0)] {
                let far = |(a, b): (&[f64; 3], &[f64; 3])| (0..3).map(|c| (a[c] - b[c]).abs()).fold(0.0, f64::max);
                let most = other.nodes().iter().zip(table.nodes()).map(far).fold(0.0, f64::max);
                assert!(most < 2e-5, "{most}");
            }
            let found = gpu.coulomb(patches, rule, &[Twist::new(0.2, 0.1, 9.0)]).unwrap()[0][0];
            let wanted = surface.coulomb(Twist::new(0.2, 0.1, 9.0));
            assert!((found.fx - wanted.fx).abs() < 1e-5 && (found.fy - wanted.fy).abs() < 1e-5);
            assert!(Basis::new(patch.grid(), rule, 8).unwrap().tables(patches).is_err());
        }
    }
}

/// What a compound patch refuses, and shares by equilibrium: a lever, a weight over one support, four
/// supports of a table with equal shares, and a weight outside.
#[test]
fn shares_of_supports_are_those_of_equilibrium() {
    let foot = Patch::from_pressure(Grid::new(1, 1, 0.01, 0.01).unwrap(), &[1.0]).unwrap();
    let feet = |at: &[[f64; 2]]| -> Vec<Placed> {
        let placed =
            |[x, y]: &[f64; 2]| Placed { patch: foot.clone(), at: Pose::new(*x, *y, 0.0), force: 1.0, friction: 1.0 };
        at.iter().map(placed).collect()
    };
    let shares = |at: &[[f64; 2]], weight| Patch::shares_by_equilibrium(&feet(at), weight).unwrap();
    let close = |found: &[f64], wanted: &[f64]| {
        assert_eq!(found.len(), wanted.len());
        assert!(found.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-9), "{found:?} {wanted:?}");
    };
    close(&shares(&[[-0.1, 0.0], [0.3, 0.0]], [0.0; 2]), &[0.75, 0.25]);
    let three = [[0.0, 0.0], [0.4, 0.0], [0.0, 0.2]];
    close(&shares(&three, [0.1, 0.05]), &[0.5, 0.25, 0.25]);
    close(&shares(&three, [0.4, 0.0]), &[0.0, 1.0, 0.0]);
    let four = [[-0.2, -0.1], [0.2, -0.1], [0.2, 0.1], [-0.2, 0.1]];
    close(&shares(&four, [0.0; 2]), &[0.25; 4]);
    // Of least norm: a plane over the place of the support, where that is not negative.
    close(&shares(&four, [0.1, 0.0]), &[0.125, 0.375, 0.375, 0.125]);
    let corner = shares(&four, [0.18, 0.08]);
    assert!(corner.iter().all(|share| *share >= 0.0) && corner[0] == 0.0 && corner[2] > 0.8, "{corner:?}");
    close(&shares(&four, [0.2, 0.05]), &[0.0, 0.25, 0.75, 0.0]);
    // No other shares that carry the weight have a smaller norm.
    for i in 0..200 {
        let draw = Draw::new(76, i);
        let n = 4 + i as usize % 9;
        let at: Vec<[f64; 2]> = (0..n).map(|k| [0, 1].map(|c| draw.uniform(&format!("place {k} {c}")) - 0.5)).collect();
        let some: Vec<f64> = (0..n).map(|k| draw.uniform(&format!("share {k}")).powi(3)).collect();
        let sum: f64 = some.iter().sum();
        let weight = [0, 1].map(|c| some.iter().zip(&at).map(|(s, at)| s * at[c]).sum::<f64>() / sum);
        let found = shares(&at, weight);
        let carried = [0, 1].map(|c| found.iter().zip(&at).map(|(s, at)| s * at[c]).sum::<f64>());
        assert!((found.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        assert!((carried[0] - weight[0]).abs() < 1e-9 && (carried[1] - weight[1]).abs() < 1e-9, "{i}");
        let norm = |of: &[f64], by: f64| of.iter().map(|s| (s / by).powi(2)).sum::<f64>();
        assert!(found.iter().all(|s| *s >= 0.0) && norm(&found, 1.0) <= norm(&some, sum) * (1.0 + 1e-9), "{i}");
    }
    close(&shares(&[[0.1, 0.1]], [0.1, 0.1]), &[1.0]);
    for (at, weight) in [(&three[..], [0.3, 0.3]), (&three[..2], [0.2, 0.01]), (&three[..1], [0.01, 0.0])] {
        let error = Patch::shares_by_equilibrium(&feet(at), weight).unwrap_err().to_string();
        assert!(error.starts_with("patches.share = equilibrium: expected a weight over the patches"), "{error}");
    }
    let refused = |patches: &[Placed], field: &str| {
        let error = Patch::compound(patches).unwrap_err().to_string();
        assert!(error.starts_with(field), "{error}");
    };
    refused(&[], "patches = 0 patches: expected 1 to 16");
    refused(&feet(&[[0.0; 2]; 17]), "patches = 17 patches");
    let with = |change: fn(&mut Placed)| {
        let mut two = feet(&[[0.0; 2], [0.1, 0.0]]);
        change(&mut two[1]);
        two
    };
    refused(&with(|p| p.force = -1.0), "patches.1.share = -1");
    refused(&with(|p| p.force = f64::NAN), "patches.1.share = NaN");
    refused(&with(|p| p.at.x = f64::INFINITY), "patches.1.at.0");
    refused(&with(|p| p.friction = 0.0), "patches.1.friction = 0");
    refused(&with(|p| p.patch = p.patch.clone().with_frames()), "patches.1.patch");
    let mut none = feet(&[[0.0; 2]]);
    none[0].force = 0.0;
    refused(&none, "patches.share = 0");
    let compound = Patch::compound(&feet(&three)).unwrap();
    refused(&[Placed { patch: compound.clone(), ..none[0].clone() }], "patches.0.patch");
    assert!(compound.scaled(2.0, 3.0).is_err() && compound.scaled(2.0, 2.0).is_ok());
    assert!((compound.scaled(2.0, 2.0).unwrap().radius() - 2.0 * compound.radius()).abs() < 1e-15);
}

/// Cells that are parallelograms are integrated exactly: wherever the centre of rotation is, a coarse grid
/// and a fine one of the same square have the same surface; and axes that are hardly oblique have that of
/// axes along the grid.
#[test]
fn oblique_cells_are_integrated_exactly() {
    let square = |n: usize| Patch::shape(Grid::new(n, n, 0.02, 0.02).unwrap(), Shape::Square).unwrap();
    let with = |n: usize, angle: f64| {
        let axes = FrictionAxes::new(0.3, angle).unwrap();
        Surface::new(&square(n).with_friction_axes(axes), Rule::Cells)
    };
    let far = |a: Wrench, b: Wrench| {
        [a.fx - b.fx, a.fy - b.fy, 100.0 * (a.tau - b.tau)].map(f64::abs).into_iter().fold(0.0, f64::max)
    };
    let (coarse, fine, one) = (with(2, 0.5), with(16, 0.5), with(1, 0.5));
    let (straight, hardly) = (with(5, 0.0), with(5, 1e-7));
    assert!((coarse.radius() - fine.radius()).abs() < 1e-15 && (one.radius() - fine.radius()).abs() < 1e-15);
    for i in 0..200 {
        let draw = Draw::new(75, i);
        let [x, y, turn] = ["vx", "vy", "w"].map(|name| 2.0 * draw.uniform(name) - 1.0);
        // Centres of rotation from inside the patch to far outside it.
        let twist = Twist::new(x, y, turn * 10f64.powi(i as i32 % 7));
        let [a, b, c] = [&coarse, &fine, &one].map(|surface| surface.coulomb(twist));
        assert!(far(a, b) < 2e-12 && far(c, b) < 2e-12, "{twist:?}: {a:?} {b:?} {c:?}");
        let [a, b] = [&straight, &hardly].map(|surface| surface.coulomb(twist));
        assert!(far(a, b) < 1e-6, "{twist:?}: {a:?} {b:?}");
    }
}

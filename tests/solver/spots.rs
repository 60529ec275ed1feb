//! Limit surfaces of small spots of pressure on wide grids, by every algorithm, against sums by definition.
//!
//! The references follow `Rule`'s definitions term by term in double precision and share nothing with the
//! library. By `cells` they integrate over every cell by quadrature.

use std::f64::consts::SQRT_2;
use std::sync::OnceLock;

use bristle::gpu::{Choice, Gpu};
use bristle::limit_surface::{Basis, Rule, Surface, Table};
use bristle::patch::{Grid, Patch};
use bristle::planar::{Twist, Wrench};
use bristle::random::Draw;
use proptest::prelude::*;

/// Largest error of a wrench `(fx, fy, tau/r)`, in double and in single precision.
const TOLERANCE: [f64; 2] = [1e-10, 1e-5];

/// The Gauss-Legendre rule of eight points: places in (0, 1), their mirror images, and weights.
const GAUSS: [[f64; 2]; 4] = [
    [0.183_434_642_495_649_8, 0.362_683_783_378_362],
    [0.525_532_409_916_329, 0.313_706_645_877_887_3],
    [0.796_666_477_413_626_7, 0.222_381_034_453_374_48],
    [0.960_289_856_497_536_3, 0.101_228_536_290_376_26],
];

/// Places and weights of an integral from `low` to `high`.
fn gauss(low: f64, high: f64) -> impl Iterator<Item = [f64; 2]> {
    let (middle, half) = (0.5 * (low + high), 0.5 * (high - low));
    GAUSS.into_iter().flat_map(move |[x, w]| [[middle - half * x, half * w], [middle + half * x, half * w]])
}

/// The integral of `hypot(x, y)` over `y` from `low` to `high`: intervals are halved until they are short
/// against their distance.
fn edge(x: f64, low: f64, high: f64, depth: u32) -> f64 {
    let nearest = if low * high > 0.0 { low.abs().min(high.abs()) } else { 0.0 };
    if depth == 0 || 2.0 * (high - low) <= x.hypot(nearest) {
        return gauss(low, high).map(|[y, w]| w * x.hypot(y)).sum();
    }
    // Split where the integrand may have a kink, if it lies inside.
    let middle = if low < 0.0 && high > 0.0 { 0.0 } else { 0.5 * (low + high) };
    edge(x, low, middle, depth - 1) + edge(x, middle, high, depth - 1)
}

/// `(fx, fy, tau)` at the centre of pressure of a twist there, for `mu f_N = 1`.
fn wanted(patch: &Patch, rule: Rule, twist: Twist) -> Wrench {
    let Grid { nx, ny, dx, dy } = *patch.grid();
    let ([cop_x, cop_y], Twist { vx, vy, w }) = (patch.cop(), twist);
    match rule {
        Rule::Points => points(patch, twist),
        Rule::Bilinear => {
            let (x, y) = (cop_x - vy / w, cop_y + vx / w);
            let (gx, gy) = (x / dx + nx as f64 / 2.0, y / dy + ny as f64 / 2.0);
            if w == 0.0 || !((0.0..nx as f64).contains(&gx) && (0.0..ny as f64).contains(&gy)) {
                return points(patch, twist);
            }
            let (k, l) = (gx.floor(), gy.floor());
            let (s, t) = (gx - k, gy - l);
            let about = |k: f64, l: f64, share: f64| {
                let (x, y) = ((k - nx as f64 / 2.0) * dx - cop_x, (l - ny as f64 / 2.0) * dy - cop_y);
                points(patch, Twist::new(w.signum() * y, -w.signum() * x, w.signum())) * share
            };
            let low = about(k, l, (1.0 - s) * (1.0 - t)) + about(k + 1.0, l, s * (1.0 - t));
            low + about(k, l + 1.0, (1.0 - s) * t) + about(k + 1.0, l + 1.0, s * t)
        }
        Rule::Cells => patch.cells().iter().fold(Wrench::default(), |sum, cell| {
            let (x, y) = (cell.x - cop_x, cell.y - cop_y);
            sum + exact_cell([x, y], [0.5 * dx, 0.5 * dy], twist) * cell.w
        }),
    }
}

/// Eqs. (21)-(22).
fn points(patch: &Patch, Twist { vx, vy, w }: Twist) -> Wrench {
    let arm = |x: f64, y: f64| (x - patch.cop()[0], y - patch.cop()[1]);
    let span = patch.cells().iter().map(|c| arm(c.x, c.y)).map(|(x, y)| x.hypot(y)).fold(0.0, f64::max);
    let rest = 1e-12 * (vx.hypot(vy) + w.abs() * span);
    patch.cells().iter().fold(Wrench::default(), |sum, cell| {
        let (x, y) = arm(cell.x, cell.y);
        let (ux, uy) = (vx - w * y, vy + w * x);
        let speed = ux.hypot(uy);
        if speed <= rest { sum } else { sum + Wrench::new(-ux, -uy, y * ux - x * uy) * (cell.w / speed) }
    })
}

/// The mean over a cell of half sides `half` at `[x, y]` from the centre of pressure.
fn exact_cell([x, y]: [f64; 2], [hx, hy]: [f64; 2], Twist { vx, vy, w }: Twist) -> Wrench {
    // The cell's middle, from the centre of rotation.
    let (a, b) = (x + vy / w, y - vx / w);
    let area = 4.0 * hx * hy;
    if w == 0.0 || a.hypot(b) > 8.0 * hx.hypot(hy) {
        let mut sum = Wrench::default();
        for [x, wx] in gauss(x - hx, x + hx) {
            for [y, wy] in gauss(y - hy, y + hy) {
                let (ux, uy) = (vx - w * y, vy + w * x);
                sum = sum + Wrench::new(-ux, -uy, y * ux - x * uy) * (wx * wy / area / ux.hypot(uy));
            }
        }
        return sum;
    }
    // `a/R` and `b/R` are derivatives of `R`, and `3 R` is the divergence of `(a, b) R`: integrals along the
    // edges.
    let [left, right, low, high] = [a - hx, a + hx, b - hy, b + hy];
    let edge = |x, low, high| edge(x, low, high, 60) / area;
    let [e, f] = [left, right].map(|a| edge(a, low, high));
    let [g, h] = [low, high].map(|b| edge(b, left, right));
    let (gx, gy, i) = (f - e, h - g, (right * f - left * e + high * h - low * g) / 3.0);
    let tau = -i - (x - a) * gx - (y - b) * gy;
    Wrench::new(gy, -gx, tau) * w.signum()
}

/// How far a centre of rotation is from where the wrench of a rule steps [cells]: the edge of the grid by
/// `bilinear`, centres of cells by `points`. Infinite by `cells`, and of a cell that is at rest.
fn to_step(patch: &Patch, rule: Rule, Twist { vx, vy, w }: Twist) -> f64 {
    let Grid { nx, ny, dx, dy } = *patch.grid();
    let [x, y] = [patch.cop()[0] - vy / w, patch.cop()[1] + vx / w];
    match rule {
        _ if w == 0.0 => f64::INFINITY,
        Rule::Cells => f64::INFINITY,
        Rule::Bilinear => {
            let (gx, gy) = (x / dx + nx as f64 / 2.0, y / dy + ny as f64 / 2.0);
            [gx, gx - nx as f64, gy, gy - ny as f64].map(f64::abs).into_iter().fold(f64::INFINITY, f64::min)
        }
        Rule::Points => {
            let cells = patch.cells();
            let distances = cells.iter().map(|c| ((c.x - x) / dx).hypot((c.y - y) / dy));
            distances.filter(|d| *d > 1e-13).fold(f64::INFINITY, f64::min)
        }
    }
}

/// How near to a step a centre of rotation is not compared [cells], in double and in single precision.
fn too_near(rule: Rule, single: bool) -> f64 {
    match (rule, single) {
        (_, false) => 1e-9,
        (Rule::Points, true) => 0.1,
        (_, true) => 1e-4,
    }
}

/// The error of every node of a table, or what is wrong with it.
fn worst(table: &Table, single: bool) -> Result<f64, String> {
    let (patch, rule, r, n_ls) = (table.patch(), table.rule(), table.radius(), table.n_ls());
    let spin = -wanted(patch, rule, Twist::new(0.0, 0.0, 1.0)).tau;
    let limit = if single { 3e-6 } else { 1e-12 };
    let side = patch.grid().dx.hypot(patch.grid().dy);
    if !table.is_at_origin() && !((r - spin).abs() <= limit * spin || (r == 0.0 && spin.abs() <= limit * side)) {
        return Err(format!("radius {r} and not {spin}"));
    }
    let (mut worst, mut skipped) = (0.0f64, 0);
    // Without a radius all rotations are one.
    for (k, h) in table.nodes().iter().enumerate().filter(|_| r > 0.0) {
        let twist = table.twist(k / (n_ls + 1), k % (n_ls + 1));
        let [x, y] = table.centre();
        let at_cop = twist.at([patch.cop()[0] - x, patch.cop()[1] - y]);
        if to_step(patch, rule, at_cop) < too_near(rule, single) {
            // Nodes of no translation are one.
            skipped += usize::from(k % (n_ls + 1) > 0);
            continue;
        }
        let wanted = wanted(patch, rule, at_cop).about([x - patch.cop()[0], y - patch.cop()[1]]);
        let error = [h[0] - wanted.fx, h[1] - wanted.fy, h[2] - wanted.tau / r];
        worst = error.iter().fold(worst, |m, e| if e.is_nan() { f64::INFINITY } else { m.max(e.abs()) });
    }
    if skipped * 4 > table.nodes().len() {
        return Err(format!("{skipped} of {} nodes are too near to a step", table.nodes().len()));
    }
    Ok(worst)
}

fn gpu() -> &'static Gpu {
    static GPU: OnceLock<Gpu> = OnceLock::new();
    GPU.get_or_init(|| Gpu::new(Choice::Any).unwrap_or_else(|e| panic!("{e}")))
}

type Path = (&'static str, bool, fn(&[Patch], Rule, usize) -> Vec<Table>);

/// All ways to tables of patches on one grid, and whether they are in single precision.
const PATHS: [Path; 7] = [
    ("alone, f64", false, |p, rule, n| p.iter().map(|p| Table::new(p, rule, n).unwrap()).collect()),
    ("alone, f32", true, |p, rule, n| p.iter().map(|p| Table::single(p, rule, n).unwrap()).collect()),
    ("batch, f64", false, |p, rule, n| Table::batch(p, rule, n).unwrap()),
    ("batch, f32", true, |p, rule, n| Table::batch_single(p, rule, n).unwrap()),
    ("basis, f64", false, |p, rule, n| Basis::new(p[0].grid(), rule, n).unwrap().tables(p).unwrap()),
    ("basis, f32", true, |p, rule, n| Basis::single(p[0].grid(), rule, n).unwrap().tables(p).unwrap()),
    ("GPU", true, |p, rule, n| gpu().tables(p, rule, n).unwrap()),
];

/// What is wrong with the tables of `patches` on one grid.
fn wrong_tables(patches: &[(String, Patch)], n_ls: usize, paths: &[Path]) -> Vec<String> {
    let all: Vec<Patch> = patches.iter().map(|(_, patch)| patch.clone()).collect();
    let mut wrong = Vec::new();
    for rule in Rule::ALL {
        for (path, single, tables) in paths {
            for ((name, patch), table) in patches.iter().zip(tables(&all, rule, n_ls)) {
                let Grid { nx, ny, dx, dy } = *patch.grid();
                match worst(&table, *single) {
                    Ok(error) if error <= TOLERANCE[usize::from(*single)] => {}
                    e => {
                        let name = format!("{} {path}: {name}", rule.name());
                        wrong.push(format!("{name} on {nx} x {ny} cells of {dx} x {dy}: {e:?}"));
                    }
                }
            }
        }
    }
    wrong
}

/// What is wrong with wrenches of single twists.
fn wrong_wrenches(patches: &[(String, Patch)]) -> Vec<String> {
    let all: Vec<Patch> = patches.iter().map(|(_, patch)| patch.clone()).collect();
    let mut wrong = Vec::new();
    for rule in Rule::ALL {
        for ((name, patch), of_batch) in patches.iter().zip(Surface::batch(&all, rule)) {
            let alone = Surface::new(patch, rule);
            let (twists, cop) = (twists(patch), patch.cop());
            let on_gpu = gpu().coulomb(std::slice::from_ref(patch), rule, &twists).unwrap().remove(0);
            let r = alone.radius().max(0.3 * patch.grid().dx.min(patch.grid().dy));
            let mut worst = [0.0f64; 4];
            for (twist, on_gpu) in twists.iter().zip(on_gpu) {
                let at_origin = alone.wrench_at_origin(twist.at([-cop[0], -cop[1]]), 1.0, 1.0).about(cop);
                let found = [alone.coulomb(*twist), of_batch.coulomb(*twist), at_origin, on_gpu];
                let (wanted, step) = (wanted(patch, rule, *twist), to_step(patch, rule, *twist));
                for (k, (worst, found)) in worst.iter_mut().zip(found).enumerate() {
                    let error = [found.fx - wanted.fx, found.fy - wanted.fy, (found.tau - wanted.tau) / r];
                    if step >= too_near(rule, k == 3) {
                        *worst =
                            error.iter().fold(*worst, |m, e| if e.is_nan() { f64::INFINITY } else { m.max(e.abs()) });
                    }
                }
            }
            // Places on the grid are rounded to some 1e-7 of its width.
            let single = TOLERANCE[1].max(2e-7 * patch.grid().nx.max(patch.grid().ny) as f64);
            let most = [TOLERANCE[0], TOLERANCE[0], TOLERANCE[0], single];
            if worst.iter().zip(most).any(|(worst, most)| !(*worst <= most)) {
                wrong.push(format!("{} {name} {:?}: {worst:?}", rule.name(), patch.grid()));
            }
        }
    }
    wrong
}

/// About places all over the grid and around it, near the spot, far away; translations.
fn twists(patch: &Patch) -> Vec<Twist> {
    let (Grid { nx, ny, dx, dy }, cop) = (*patch.grid(), patch.cop());
    let [width, height] = [nx as f64 * dx, ny as f64 * dy];
    let about = |x: f64, y: f64, w: f64| Twist::new(w * (y - cop[1]), -w * (x - cop[0]), w);
    let mut all = vec![Twist::new(1.0, 0.0, 0.0), Twist::new(-0.3, 0.4, 0.0), Twist::new(1.0, 2.0, 1e-12)];
    for k in 0..150 {
        let draw = Draw::new(12, k);
        let (u, v) = (draw.uniform("x") - 0.5, draw.uniform("y") - 0.5);
        let w = [1.0, -2.0, 1e-3, -1e4][k as usize % 4];
        all.push(about(u * width, v * height, w));
        all.push(about(3.0 * u * width, 3.0 * v * height, w));
        all.push(about(cop[0] + 4.0 * u * dx, cop[1] + 4.0 * v * dy, w));
        all.push(about(100.0 * u * width, 100.0 * v * height, w));
    }
    all
}

/// Pressure in a block of `w x h` cells from column `x` and row `y` on.
fn spot(grid: Grid, [x, y]: [usize; 2], [w, h]: [usize; 2], pressure: impl Fn(usize, usize) -> f64) -> (String, Patch) {
    let mut map = vec![0.0; grid.len()];
    for (i, j) in (0..w).flat_map(|i| (0..h).map(move |j| (i, j))) {
        map[(y + j) * grid.nx + x + i] = pressure(i, j);
    }
    (format!("{w} x {h} at ({x}, {y})"), Patch::from_pressure(grid, &map).unwrap())
}

fn even(_: usize, _: usize) -> f64 {
    1.0
}

/// An upright bar with a foot.
fn l_shape(i: usize, j: usize) -> f64 {
    f64::from(u8::from(i == 0 || j == 0))
}

fn corners(i: usize, j: usize) -> f64 {
    f64::from(u8::from(i.is_multiple_of(4) && j.is_multiple_of(4)))
}

fn uneven(i: usize, j: usize) -> f64 {
    Draw::new(4, (i + 100 * j) as u64).uniform("pressure")
}

/// Spots on a grid of at least 12 x 12 cells: in the middle, off it, in a corner; enough for a product of
/// many maps.
fn spots(grid: Grid) -> Vec<(String, Patch)> {
    let (nx, ny) = (grid.nx, grid.ny);
    vec![
        spot(grid, [nx / 2 - 1, ny / 2 - 1], [3, 3], even),
        spot(grid, [1, ny - 6], [3, 3], even),
        spot(grid, [nx - 3, 0], [3, 3], uneven),
        spot(grid, [nx / 2, ny / 2], [1, 1], even),
        spot(grid, [nx - 2, 1], [1, 1], even),
        spot(grid, [2, 3], [2, 2], even),
        spot(grid, [nx / 2, 2], [2, 1], uneven),
        spot(grid, [2, ny / 2 - 2], [5, 7], l_shape),
        spot(grid, [nx - 8, ny - 5], [6, 4], l_shape),
        spot(grid, [3, 1], [9, 9], corners),
        spot(grid, [0, 0], [10, 9], uneven),
        spot(grid, [nx / 2 - 4, 1], [1, 10], even),
    ]
}

fn grid(nx: usize, ny: usize, dx: f64, dy: f64) -> Grid {
    Grid::new(nx, ny, nx as f64 * dx, ny as f64 * dy).unwrap()
}

fn all_right(wrong: &[String]) {
    assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn the_references_have_the_values_of_closed_forms() {
    let one = Patch::from_pressure(grid(1, 1, 0.02, 0.02), &[1.0]).unwrap();
    let spin = wanted(&one, Rule::Cells, Twist::new(0.0, 0.0, -2.0)).tau;
    assert!((spin - 0.02 * (SQRT_2 + 1f64.asinh()) / 6.0).abs() < 1e-16, "{spin}");
    // About a corner: twice the mean distance of a square from its centre is that of a square of twice the
    // side.
    let corner = wanted(&one, Rule::Cells, Twist::new(0.01, -0.01, 1.0)).about([0.01, 0.01]);
    assert!((corner.tau + 0.04 * (SQRT_2 + 1f64.asinh()) / 6.0).abs() < 1e-16, "{corner:?}");
    // By the `bilinear` rule, docs/model.md (90), two cells that share an edge turn about its ends, one of
    // them half.
    let two = Patch::from_pressure(grid(2, 1, 0.01, 0.01), &[1.0, 1.0]).unwrap();
    let spin = wanted(&two, Rule::Bilinear, Twist::new(0.0, 0.0, 1.0));
    assert!((spin.tau + 0.005 / SQRT_2).abs() < 1e-16 && spin.fx.hypot(spin.fy) < 1e-15, "{spin:?}");
}

#[test]
fn tables_of_the_smallest_patches_are_the_sums() {
    for (nx, ny, dx, dy) in
        [(2, 2, 1e-3, 1e-3), (2, 2, 1e-3, 3e-3), (1, 2, 1e-3, 1e-3), (3, 1, 2e-3, 1e-3), (1, 1, 1.0, 1.0)]
    {
        let patches = [even, l_shape, uneven].map(|pressure| spot(grid(nx, ny, dx, dy), [0, 0], [nx, ny], pressure));
        for n_ls in [1, 20] {
            all_right(&wrong_tables(&patches, n_ls, &PATHS));
        }
        all_right(&wrong_wrenches(&patches));
    }
}

#[test]
fn tables_of_spots_are_the_sums() {
    for (nx, ny, dx, dy) in [(21, 21, 1e-3, 1e-3), (16, 12, 3e-3, 1e-3), (13, 30, 1e-3, 2.5e-3)] {
        all_right(&wrong_tables(&spots(grid(nx, ny, dx, dy)), 20, &PATHS));
    }
}

/// On 64 x 64 cells, and on so many that nodes are not kept.
#[test]
fn tables_of_spots_on_wide_grids_are_the_sums() {
    all_right(&wrong_tables(&spots(grid(64, 64, 1e-3, 1e-3)), 12, &PATHS));
    let without_basis: Vec<Path> = PATHS.into_iter().filter(|path| !path.0.starts_with("basis")).collect();
    all_right(&wrong_tables(&spots(grid(131, 140, 1e-3, 1e-3)), 12, &without_basis));
}

#[test]
fn wrenches_of_spots_are_the_sums() {
    for (nx, ny, dx, dy) in [(21, 21, 1e-3, 1e-3), (16, 12, 3e-3, 1e-3), (64, 64, 1e-3, 1e-3), (131, 140, 1e-3, 1e-3)] {
        all_right(&wrong_wrenches(&spots(grid(nx, ny, dx, dy))));
    }
}

/// Spots anywhere on any grid, some cells without pressure.
fn any_spots() -> impl Strategy<Value = Vec<(String, Patch)>> {
    let size = (1usize..26, 1usize..26, 0.4f64..2.5);
    let places = proptest::collection::vec((0.0f64..1.0, 0.0f64..1.0, 1usize..7, 1usize..7, any::<u64>()), 9);
    (size, places).prop_map(|((nx, ny, aspect), places)| {
        let grid = grid(nx, ny, 1e-3, 1e-3 * aspect);
        let spots = places.into_iter().map(|(x, y, w, h, seed)| {
            let (w, h) = (w.min(nx), h.min(ny));
            let at = [x * (nx - w + 1) as f64, y * (ny - h + 1) as f64].map(|x| x as usize);
            let pressure = |i: usize, j: usize| {
                let p = Draw::new(seed, (i + 100 * j) as u64).uniform("pressure");
                if i + j > 0 && p < 0.3 { 0.0 } else { 0.1 + p }
            };
            spot(grid, at, [w, h], pressure)
        });
        spots.collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 24,
        failure_persistence: None,
        max_shrink_iters: 20,
        ..ProptestConfig::default()
    })]

    #[test]
    fn tables_and_wrenches_of_any_spots_are_the_sums(spots in any_spots(), n_ls in 3usize..21) {
        let wrong = [wrong_tables(&spots, n_ls, &PATHS), wrong_wrenches(&spots)].concat();
        prop_assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong.join("\n"));
    }
}

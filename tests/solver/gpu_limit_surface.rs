//! Compares limit surfaces on the GPU with the CPU's. Without an adapter these tests fail, and say why.

use std::sync::OnceLock;

use bristle::gpu::{Choice, Gpu};
use bristle::limit_surface::{Rule, Surface, Table};
use bristle::patch::{Grid, Patch, Shape};
use bristle::planar::Twist;
use bristle::random::Draw;

/// Single precision, of the largest wrench.
const TOLERANCE: f64 = 1e-5;

fn gpu() -> &'static Gpu {
    static GPU: OnceLock<Gpu> = OnceLock::new();
    GPU.get_or_init(|| Gpu::new(Choice::Any).unwrap_or_else(|e| panic!("{e}")))
}

fn grid(nx: usize, ny: usize, width: f64, height: f64) -> Grid {
    Grid::new(nx, ny, width, height).unwrap()
}

fn random_patch(seed: u64, grid: Grid) -> Patch {
    let pressure = |k| (Draw::new(seed, k).uniform("pressure") - 0.3).max(0.0);
    Patch::from_pressure(grid, &(0..grid.len() as u64).map(pressure).collect::<Vec<_>>()).unwrap()
}

/// The shapes of the paper, long cells, single cells, one slice and many.
fn patches() -> Vec<(String, Patch)> {
    let shapes = [
        Shape::Square,
        Shape::Circle,
        Shape::Line,
        Shape::LineGradient,
        Shape::LineGradientX,
        Shape::NonConvex1,
        Shape::NonConvex2,
    ];
    let mut all: Vec<(String, Patch)> = shapes
        .map(|s| (format!("{s:?}"), Patch::shape(grid(21, 21, 0.02, 0.02), s).unwrap()))
        .into_iter()
        .chain((0..3).map(|k| (format!("random {k}"), random_patch(k, grid(21, 21, 0.02, 0.02)))))
        .collect();
    all.push(("random of long cells".into(), random_patch(9, grid(9, 7, 0.3, 0.08))));
    all.push(("rectangle".into(), Patch::shape(grid(10, 6, 0.03, 0.012), Shape::Square).unwrap()));
    all.push(("cells of 3 to 1".into(), Patch::shape(grid(7, 7, 0.06, 0.02), Shape::Square).unwrap()));
    all.push(("one cell".into(), Patch::shape(grid(1, 1, 2.0, 1.0), Shape::Square).unwrap()));
    all.push(("two cells".into(), Patch::from_pressure(grid(2, 1, 1e-4, 1e-4), &[1.0, 3.0]).unwrap()));
    all.push(("many cells".into(), random_patch(5, grid(64, 64, 0.02, 0.02))));
    all
}

#[test]
fn tables_are_those_of_the_cpu() {
    let (names, patches): (Vec<String>, Vec<Patch>) = patches().into_iter().unzip();
    let mut failed = false;
    for rule in Rule::ALL {
        let tables = gpu().tables(&patches, rule, 20).unwrap();
        for ((name, patch), table) in names.iter().zip(&patches).zip(&tables) {
            let wanted = Table::new(patch, rule, 20).unwrap();
            assert_eq!(table.nodes().len(), wanted.nodes().len());
            assert!(table.is_single() && !wanted.is_single());
            let errors =
                table.nodes().iter().zip(wanted.nodes()).flat_map(|(a, b)| [0, 1, 2].map(|k| (a[k] - b[k]).abs()));
            let error = errors.fold(0.0, |m: f64, e| if e.is_nan() { e } else { m.max(e) });
            let radius = (table.radius() - wanted.radius()).abs() / wanted.radius().max(1e-300);
            println!("{} {name}: {error:.1e}, r {radius:.1e}", rule.name());
            failed |= !(error <= TOLERANCE && radius <= TOLERANCE);
        }
    }
    assert!(!failed, "errors above {TOLERANCE:e}");
}

/// Twists that are hard: about centres, corners and edges of cells, near them, far away, none.
fn twists(patch: &Patch) -> Vec<Twist> {
    let Grid { nx, ny, dx, dy } = *patch.grid();
    let cop = patch.cop();
    let about = |x: f64, y: f64, w: f64| Twist::new(w * (y - cop[1]), -w * (x - cop[0]), w);
    let mut all =
        vec![Twist::default(), Twist::new(1.0, 0.0, 0.0), Twist::new(0.0, -3e-9, 0.0), Twist::new(1.0, 2.0, 1e-30)];
    for k in 0..400 {
        let draw = Draw::new(77, k);
        let (u, v) = (draw.uniform("x"), draw.uniform("y"));
        // Half cells: corners, edges and centres.
        let node = |u: f64, n: usize, d: f64| ((u * (2 * n + 1) as f64).floor() * 0.5 - 0.5 * n as f64) * d;
        let off = [0.0, 1e-3, 0.03, 3.0][k as usize % 4] * dx.min(dy);
        let w = [1.0, -1e6, 1e-6][k as usize % 3];
        all.push(about(node(u, nx, dx) + off, node(v, ny, dy) - 0.7 * off, w));
        all.push(about(nx as f64 * dx * 30.0 * (u - 0.5), ny as f64 * dy * 30.0 * (v - 0.5), w));
    }
    all
}

#[test]
fn wrenches_about_corners_edges_and_centres_are_those_of_the_cpu() {
    for rule in Rule::ALL {
        let mut worst = (0.0f64, String::new());
        for (name, patch) in patches() {
            let surface = Surface::new(&patch, rule);
            let half = [patch.grid().dx, patch.grid().dy];
            let twists = twists(&patch);
            let found = gpu().coulomb(std::slice::from_ref(&patch), rule, &twists).unwrap().remove(0);
            for (t, f) in twists.iter().zip(found) {
                // The sum over points steps where the centre of rotation meets a centre; single precision
                // sees its distance to 1e-6 of the patch.
                let steps = rule == Rule::Points && t.w != 0.0 && {
                    let c = [patch.cop()[0] - t.vy / t.w, patch.cop()[1] + t.vx / t.w];
                    patch
                        .cells()
                        .iter()
                        .any(|p| (p.x - c[0]).abs() / half[0] < 1e-2 && (p.y - c[1]).abs() / half[1] < 1e-2)
                };
                // Eq. (23) ends at the edge of the grid.
                let edge = rule == Rule::Bilinear && t.w != 0.0 && {
                    let gx = (patch.cop()[0] - t.vy / t.w) / half[0] + 0.5 * patch.grid().nx as f64;
                    let gy = (patch.cop()[1] + t.vx / t.w) / half[1] + 0.5 * patch.grid().ny as f64;
                    [(gx, patch.grid().nx), (gy, patch.grid().ny)]
                        .iter()
                        .any(|(g, n)| g.abs() < 1e-3 || (g - *n as f64).abs() < 1e-3)
                };
                let wanted = surface.coulomb(*t);
                let r = patch.radius().max(patch.grid().dx);
                let error = (f.fx - wanted.fx).abs().max((f.fy - wanted.fy).abs()).max((f.tau - wanted.tau).abs() / r);
                assert!(f.to_array().iter().all(|c| c.is_finite()), "{} {name} {t:?}: {f:?}", rule.name());
                if !steps && !edge && error > worst.0 {
                    worst = (error, format!("{} {name} {t:?}: {f:?} and {wanted:?}", rule.name()));
                }
            }
        }
        println!("{:.1e}: {}", worst.0, worst.1);
        assert!(worst.0 <= TOLERANCE, "{:.1e}: {}", worst.0, worst.1);
    }
}

#[test]
fn a_patch_has_the_same_bits_in_any_batch() {
    let mut patches: Vec<Patch> = patches().into_iter().map(|(_, patch)| patch).collect();
    for rule in Rule::ALL {
        let forward = gpu().tables(&patches, rule, 6).unwrap();
        let alone: Vec<Table> =
            patches.iter().map(|p| gpu().tables(std::slice::from_ref(p), rule, 6).unwrap().remove(0)).collect();
        assert!(forward == alone, "{}: alone", rule.name());
        patches.reverse();
        let mut backward = gpu().tables(&patches, rule, 6).unwrap();
        backward.reverse();
        patches.reverse();
        assert!(forward == backward, "{}: backwards", rule.name());
    }
    assert!(gpu().tables(&[], Rule::Cells, 20).unwrap().is_empty());
}

#[test]
fn bad_arguments_are_typed_errors() {
    let patch = random_patch(1, grid(3, 3, 0.01, 0.01));
    let patch = std::slice::from_ref(&patch);
    let twist = Twist::new(0.0, f64::NAN, 1.0);
    assert!(gpu().coulomb(patch, Rule::Cells, &[twist]).unwrap_err().to_string().contains("twist = "));
    assert!(gpu().tables(patch, Rule::Cells, 0).unwrap_err().to_string().contains("n_ls = 0"));
    assert!(gpu().coulomb(patch, Rule::Cells, &[]).unwrap()[0].is_empty());
}

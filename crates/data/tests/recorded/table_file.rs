//! Tables of limit surfaces in files.

use bristle::limit_surface::{Basis, Rule, Surface, Table};
use bristle::patch::{FrictionAxes, Grid, Patch, Placed};
use bristle::planar::{Pose, Twist};
use bristle::random::Draw;
use bristle_data::table_file::{load, save};

fn random_patch(n: usize) -> Patch {
    let draw = Draw::new(3, 0);
    let pressure: Vec<f64> = (0..n * n).map(|i| draw.uniform(&format!("p{i}"))).collect();
    Patch::from_pressure(Grid::new(n, n, 0.02, 0.02).unwrap(), &pressure).unwrap()
}

#[test]
fn a_table_survives_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.npz");
    let table = Table::new(&random_patch(21), Rule::Bilinear, 5).unwrap();
    save(&table, &path, 0.6, 4.0).unwrap();
    let back = load(&path).unwrap();
    assert_eq!((back.nodes(), back.rule(), back.n_ls()), (table.nodes(), table.rule(), table.n_ls()));
    assert!(
        (back.radius() - table.radius()).abs() < 1e-15
            && (back.patch().viscous() - table.patch().viscous()).abs() < 1e-15
    );
    let patch = random_patch(21);
    let table = Basis::single(patch.grid(), Rule::Cells, 5).unwrap().tables(&[patch]).unwrap().remove(0);
    save(&table, &path, 0.6, 4.0).unwrap();
    let back = load(&path).unwrap();
    assert!(back.is_at_origin() && back.is_single() && back.centre() == [0.0; 2]);
    assert_eq!((back.nodes(), back.radius()), (table.nodes(), table.radius()));
    std::fs::write(&path, b"not a table").unwrap();
    assert!(load(&path).unwrap_err().to_string().contains("not an NPZ file"));
    assert!(load(&folder.path().join("none.npz")).is_err());
}

/// Three patches, of which one carries nothing.
fn compound() -> Patch {
    let placed = |n: usize, x: f64, force: f64| {
        let at = Pose::new(x, 0.02 * x.sin(), 3.0 * x);
        Placed { patch: random_patch(n), at, force, friction: 1.0 + 5.0 * x }
    };
    Patch::compound(&[placed(3, 0.0, 1.0), placed(4, 0.05, 0.0), placed(5, 0.1, 0.4)]).unwrap()
}

/// A table of several patches has them when it is read, so that margins are those of the same patches.
#[test]
fn tables_of_several_patches_survive_their_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.npz");
    for rule in [Rule::Cells, Rule::Points] {
        let table = Table::new(&compound(), rule, 4).unwrap();
        save(&table, &path, 0.6, 4.0).unwrap();
        let back = load(&path).unwrap();
        assert_eq!((back.nodes(), back.radius(), back.rule()), (table.nodes(), table.radius(), rule));
        let [read, written] = [&back, &table].map(Table::patch);
        assert_eq!(read.parts().len(), 3);
        for (a, b) in read.cells().iter().zip(written.cells()) {
            assert!((a.x - b.x).abs().max((a.y - b.y).abs()) < 1e-16 && (a.w - b.w).abs() < 1e-16, "{a:?} {b:?}");
        }
        let [a, b] = [read, written].map(|patch| Surface::new(patch, rule));
        for twist in [Twist::new(0.1, 0.0, 1.0), Twist::new(0.0, -0.2, 4.0), Twist::new(0.0, 0.0, -1.0)] {
            let [a, b] = [&a, &b].map(|surface| surface.coulomb(twist).to_array());
            assert!((0..3).all(|c| (a[c] - b[c]).abs() < 1e-12), "{a:?} {b:?}");
        }
    }
}

/// A file has cells that are rectangles. A patch of others is refused, and nothing is written.
#[test]
fn tables_of_oblique_cells_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.npz");
    let oblique = random_patch(3).with_friction_axes(FrictionAxes::new(0.5, 0.4).unwrap());
    let error = save(&Table::new(&oblique, Rule::Points, 3).unwrap(), &path, 0.6, 4.0).unwrap_err().to_string();
    assert!(error.starts_with("table.patch = another patch: expected cells that are rectangles"), "{error}");
    assert!(!path.exists());
}

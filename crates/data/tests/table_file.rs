//! Tables of limit surfaces in files.

use bristle::limit_surface::{Basis, Rule, Table};
use bristle::patch::{FrictionAxes, Grid, Patch, Placed};
use bristle::planar::Pose;
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

/// A file has a map in columns and rows. A patch whose cells are elsewhere is refused, and nothing is
/// written.
#[test]
fn tables_of_cells_elsewhere_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.npz");
    let placed = |x: f64| Placed { patch: random_patch(3), at: Pose::new(x, 0.0, x), force: 1.0, friction: 1.0 };
    let compound = Patch::compound(&[placed(0.0), placed(0.1)]).unwrap();
    let oblique = random_patch(3).with_friction_axes(FrictionAxes::new(0.5, 0.4).unwrap());
    for patch in [compound, oblique] {
        let error = save(&Table::new(&patch, Rule::Points, 3).unwrap(), &path, 0.6, 4.0).unwrap_err().to_string();
        assert!(error.starts_with("table.patch = another patch: expected cells in the columns"), "{error}");
        assert!(!path.exists());
    }
}

//! Runs `bristle torsion`: what simulators are told of discs and squares, and errors for bad input.

use std::f64::consts::PI;
use std::fs;

use crate::program::{bristle, json};
use serde_json::Value;

const SQUARE: &str = "mu = 0.5\nf_n = 4.0\n[patch]\nshape = \"square\"\ncells = 11\nsize = 0.03\n";
const DISC: &str = "mu = 0.8\n[patch]\nshape = \"disc\"\ncells = 81\nsize = 0.02\n";

fn folder() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("square.toml"), SQUARE).unwrap();
    fs::write(dir.path().join("disc.toml"), DISC).unwrap();
    dir
}

fn close(found: &Value, wanted: f64, share: f64) {
    let found = found.as_f64().unwrap_or(f64::NAN);
    assert!((found / wanted - 1.0).abs() <= share, "{found}, wanted {wanted}");
}

#[test]
fn a_square_has_the_moment_of_the_books_in_every_language() {
    let dir = folder();
    let report = json(dir.path(), &["torsion", "square.toml"]);
    // (sqrt 2 + asinh 1)/6 = 0.3826 of the side.
    let r = 0.03 * (2f64.sqrt() + 1f64.asinh()) / 6.0;
    close(&report["r"], r, 1e-12);
    close(&report["moment"], 0.5 * r * 4.0, 1e-12);
    close(&report["mujoco"]["friction"][0], 0.5, 0.0);
    close(&report["mujoco"]["friction"][1], 0.5 * r, 1e-12);
    close(&report["physx"]["minTorsionalPatchRadius"], r, 1e-12);
    // Gazebo's moment is 3 pi/16 times coefficient, radius and normal force.
    let moment =
        |sdf: &Value| 3.0 * PI / 16.0 * sdf["coefficient"].as_f64().unwrap() * sdf["patch_radius"].as_f64().unwrap();
    assert!((moment(&report["sdf"]) / (0.5 * r) - 1.0).abs() < 1e-12, "{report}");
    close(&report["bullet"]["spinning_friction"], 0.5 * r, 1e-12);
    let (_, text, _) = bristle(dir.path(), &["torsion", "square.toml"]);
    for part in ["friction=\"0.5 0.00573897\"", "minTorsionalPatchRadius = 0.0114779", "<coefficient>0.5</coefficient>"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
}

/// One number cannot say what friction by direction is: both are told.
#[test]
fn friction_by_direction_is_said() {
    let dir = folder();
    fs::write(dir.path().join("belt.toml"), include_str!("../../../../examples/ribbed_belt.toml")).unwrap();
    let set = ["torsion", "belt.toml", "--set", "friction.mu_c=0.6"];
    let report = json(dir.path(), &set);
    close(&report["axes"]["along"], 0.6, 1e-12);
    close(&report["axes"]["across"], 0.12, 1e-12);
    close(&report["axes"]["angle"], std::f64::consts::FRAC_PI_6, 1e-4);
    let (_, text, _) = bristle(dir.path(), &set);
    assert!(text.contains("mu is 0.6 along the axis at 0.5236 rad, and 0.12 across it"), "{text}");
    assert!(json(dir.path(), &["torsion", "square.toml"])["axes"].is_null());
}

#[test]
fn a_disc_has_two_thirds_of_its_radius_and_the_errors_that_are_known() {
    let dir = folder();
    let report = json(dir.path(), &["torsion", "disc.toml"]);
    close(&report["r"], 0.01 * 2.0 / 3.0, 2e-3);
    // The ellipsoid holds up to 7 % more than a disc, the edge of the cylinder half more.
    let error = |rule: &str, key: &str| report["error"][rule][key].as_f64().unwrap();
    assert!((0.06..0.08).contains(&error("ellipsoid", "most")) && error("ellipsoid", "least") > -1e-6, "{report}");
    assert!((0.5..0.53).contains(&error("cylinder", "most")) && error("cylinder", "least") > -1e-6, "{report}");
    for (rule, most) in [("ellipsoid", 0.05), ("cylinder", 0.4)] {
        assert!((0.0..most).contains(&error(rule, "mean")), "{report}");
    }
}

#[test]
fn a_sphere_on_a_plane_has_the_patch_radius_of_hertz() {
    let dir = folder();
    // Gazebo's rule is made for Hertz' pressure: the patch radius is that of the contact.
    let n = 81;
    let middle = |k: usize| (k as f64 + 0.5) / (n as f64 / 2.0) - 1.0;
    let pressure = |x: usize, y: usize| (1.0 - middle(x).powi(2) - middle(y).powi(2)).max(0.0).sqrt();
    let rows: Vec<Vec<f64>> = (0..n).map(|y| (0..n).map(|x| pressure(x, y)).collect()).collect();
    fs::write(dir.path().join("hertz.toml"), format!("[patch]\npressure = {rows:?}\nsize = 0.02\n")).unwrap();
    let report = json(dir.path(), &["torsion", "hertz.toml"]);
    close(&report["sdf"]["patch_radius"], 0.01, 3e-3);
}

#[test]
fn sweeps_give_a_case_each_and_wrong_arguments_end_with_2() {
    let dir = folder();
    let report = json(dir.path(), &["torsion", "square.toml", "--sweep", "patch.size=[0.01, 0.02]", "--mu", "1"]);
    let cases = report["cases"].as_array().unwrap();
    let r: Vec<f64> = cases.iter().map(|case| case["r"].as_f64().unwrap()).collect();
    assert!(
        cases.len() == 2 && (r[1] / r[0] - 2.0).abs() < 1e-12 && cases[1]["sweep"]["patch.size"] == 0.02,
        "{report}"
    );
    for (arguments, part) in [
        (&["torsion", "nowhere.toml"][..], "nowhere.toml"),
        (&["torsion", "square.toml", "--mu", "0"], "mu = 0: expected a finite number > 0"),
        (&["torsion", "square.toml", "--f-n=-1"], "f_n = -1: expected a finite force >= 0"),
        (&["torsion", "square.toml", "--set", "patch.sise=1"], "unknown field `sise`"),
    ] {
        let (code, _, errors) = bristle(dir.path(), arguments);
        assert!(code == 2 && errors.contains(part), "{arguments:?}: {errors}");
    }
}

/// A friction map is a part of the pressure, and its mean a part of the coefficient, for all commands that
/// know limit surfaces.
#[test]
fn a_friction_map_counts_as_pressure() {
    let dir = folder();
    let mapped = "duration = 1\n[patch]\npressure = [[3, 1]]\nsize = [0.02, 0.01]\n[friction]\nmu_c = 0.8\n\
        map = [[0.5, 2]]\n[body]\nkind = \"prescribed\"\n[inputs]\nnormal_force = 2\ntwist = { vx = 0.1 }\n";
    fs::write(dir.path().join("mapped.toml"), mapped).unwrap();
    let product = "mu = 0.7\nf_n = 2\n[patch]\npressure = [[1.5, 2]]\nsize = [0.02, 0.01]\n";
    fs::write(dir.path().join("product.toml"), product).unwrap();
    let alone = "mu = 0.8\nf_n = 2\n[patch]\npressure = [[3, 1]]\nsize = [0.02, 0.01]\n[friction]\nmap = [[0.5, 2]]\n";
    fs::write(dir.path().join("alone.toml"), alone).unwrap();
    let load = "--load=0.3,0.1,0.001";
    let commands: [&[&str]; 3] =
        [&["torsion"], &["margin", load, "--gradients"], &["margin", load, "--f-n", "5", "--at", "origin"]];
    for command in commands {
        let [found, wanted] = ["mapped.toml", "product.toml"].map(|file| {
            let (name, rest) = command.split_first().unwrap();
            let mut report = json(dir.path(), &[&[*name, file], rest].concat());
            for said in ["mu_from", "f_n_from"] {
                report.as_object_mut().unwrap().remove(said);
            }
            report
        });
        same(&found, &wanted, command);
        let (name, rest) = command.split_first().unwrap();
        let alone = json(dir.path(), &[&[*name, "alone.toml"], rest].concat());
        same(&alone["loads"], &wanted["loads"], command);
    }
    let made = |file: &str| json(dir.path(), &["surface", file, "--n-ls", "4", "--out", &format!("{file}.npz")]);
    let [of_map, of_product] = ["mapped.toml", "product.toml"].map(made);
    for key in ["r", "u"] {
        close(&of_map[key], of_product[key].as_f64().unwrap(), 1e-12);
    }
    let again = json(dir.path(), &["margin", "mapped.toml.npz", load]);
    close(&again["mu"], 0.7, 1e-12);
}

/// Margins know the axes of friction, and tables refuse them.
#[test]
fn margins_take_friction_by_direction() {
    let dir = folder();
    let text = "duration = 1\n[patch]\ncells = 5\nsize = 0.02\n[friction]\n\
        mu = { along = 0.8, across = 0.2 }\n[body]\nkind = \"prescribed\"\n[inputs]\nnormal_force = 2\n\
        twist = { vx = 0.1 }\n";
    fs::write(dir.path().join("ribs.toml"), text).unwrap();
    for (load, most) in [("1,0,0", 0.8 * 2.0), ("0,1,0", 0.2 * 2.0)] {
        let report = json(dir.path(), &["margin", "ribs.toml", &format!("--load={load}")]);
        close(&report["mu"], 0.8, 1e-12);
        close(&report["loads"][0]["factor"], most, 1e-9);
    }
    // A patch alone says it as well.
    let alone = "f_n = 2\n[patch]\ncells = 5\nsize = 0.02\n[friction]\nmu = { along = 0.8, across = 0.2 }\n";
    fs::write(dir.path().join("alone.toml"), alone).unwrap();
    let loads = ["--load=1,0.3,0.002", "--load=0,-0.1,0.001"];
    let [found, wanted] =
        ["alone.toml", "ribs.toml"].map(|file| json(dir.path(), &[&["margin", file], &loads[..]].concat()));
    same(&found["loads"], &wanted["loads"], &["margin"]);
    fs::write(dir.path().join("both.toml"), format!("mu = 0.5\n{alone}")).unwrap();
    let (code, _, said) = bristle(dir.path(), &["margin", "both.toml", "--load=1,0,0"]);
    assert!(code == 2 && said.contains("mu = given: expected only one of `mu`, `friction.mu.along`"), "{said}");
    let (code, _, said) = bristle(dir.path(), &["surface", "ribs.toml", "--out", "ribs.npz"]);
    assert!(code != 0 && said.contains("friction.mu: given: expected none"), "{said}");
    assert!(!dir.path().join("ribs.npz").exists());
}

/// The same report up to rounding.
fn same(found: &Value, wanted: &Value, command: &[&str]) {
    match (found, wanted) {
        (Value::Object(a), Value::Object(b)) => {
            assert!(a.keys().eq(b.keys()), "{command:?}: {found} {wanted}");
            a.values().zip(b.values()).for_each(|(a, b)| same(a, b, command));
        }
        (Value::Array(a), Value::Array(b)) => {
            assert_eq!(a.len(), b.len(), "{command:?}");
            a.iter().zip(b).for_each(|(a, b)| same(a, b, command));
        }
        (Value::Number(a), Value::Number(b)) => {
            let [a, b] = [a, b].map(|v| v.as_f64().unwrap());
            assert!((a - b).abs() <= 1e-9 * b.abs().max(1e-3), "{command:?}: {a} {b}");
        }
        (a, b) => assert_eq!(a, b, "{command:?}"),
    }
}

//! `bristle surface` and `bristle margin` from outside: what they write, and what they say about bad input.

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use bristle::limit_surface::{Rule, Surface, Table};
use bristle::patch::{Grid, Patch, Shape};
use serde_json::Value;

const SQUARE: &str = "mu = 0.5\nf_n = 4.0\n[patch]\nshape = \"square\"\ncells = 11\nsize = 0.03\n";

const SCENARIO: &str = r#"duration = 0.05
[contact]
model = "reduced"
rule = "points"
n_ls = 6
[patch]
shape = "line-gradient-x"
cells = 9
[friction]
mu_c = 0.7
[body]
kind = "gripper"
mass = 0.2
inertia = { disc = 0.05 }
[inputs]
normal_force = { points = [[0, 3], [1, 5]] }
"#;

/// Runs `bristle` in `dir`; returns exit code, stdout and stderr.
fn bristle(dir: &Path, arguments: &[&str]) -> (i32, String, String) {
    let output = Command::cargo_bin("bristle").unwrap().current_dir(dir).args(arguments).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

fn json(dir: &Path, arguments: &[&str]) -> Value {
    let (code, stdout, stderr) = bristle(dir, &[arguments, &["--json"]].concat());
    assert_eq!((code, stderr.as_str()), (0, ""), "{arguments:?}");
    serde_json::from_str(&stdout).unwrap()
}

fn folder() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("square.toml"), SQUARE).unwrap();
    fs::write(dir.path().join("scenario.toml"), SCENARIO).unwrap();
    dir
}

fn read(npz: &Path, name: &str) -> (Vec<u64>, Vec<f64>) {
    let mut zip = zip::ZipArchive::new(fs::File::open(npz).unwrap()).unwrap();
    let npy = npyz::NpyFile::new(zip.by_name(&format!("{name}.npy")).unwrap()).unwrap();
    (npy.shape().to_vec(), npy.into_vec::<f64>().unwrap())
}

fn close(found: &Value, wanted: f64, limit: f64) {
    let found = found.as_f64().unwrap_or(f64::NAN);
    assert!((found - wanted).abs() <= limit, "{found}, wanted {wanted}");
}

#[test]
fn a_patch_becomes_a_table_a_picture_and_one_json_object() {
    let dir = folder();
    let report = json(dir.path(), &["surface", "square.toml", "--out", "t.npz", "--plot", "t.svg", "--n-ls", "5"]);
    let keys =
        ["rule", "n_ls", "tables", "r", "u", "passivity", "ellipsoid", "quartic", "wall_s", "tables_per_s", "out"];
    assert!(keys.iter().all(|key| !report[*key].is_null()), "{report}");
    assert_eq!((&report["rule"], &report["n_ls"], &report["tables"]), (&"cells".into(), &5.into(), &1.into()));
    // Mean distance from the centre of a square of side a: a (sqrt 2 + asinh 1)/6.
    close(&report["r"], 0.03 * (2f64.sqrt() + 1f64.asinh()) / 6.0, 1e-15);
    assert!(report["passivity"].as_f64().unwrap() < 0.0, "{report}");
    assert!(report["quartic"]["max"].as_f64() < report["ellipsoid"]["max"].as_f64(), "{report}");

    let patch = Patch::shape(Grid::new(11, 11, 0.03, 0.03).unwrap(), Shape::Square).unwrap();
    let table = Table::new(&patch, Rule::Cells, 5).unwrap();
    assert_eq!(Table::load(&dir.path().join("t.npz")).unwrap(), table);
    let (shape, wrenches) = read(&dir.path().join("t.npz"), "wrenches");
    assert_eq!(shape, [21, 6, 3]);
    // Pure rotation: mu f_N r.
    close(&wrenches[2].into(), -0.5 * 4.0 * table.radius(), 1e-15);
    let picture = fs::read_to_string(dir.path().join("t.svg")).unwrap();
    assert!(picture.contains("ellipsoid") && !picture.contains("NaN"));
}

#[test]
fn tables_in_single_precision_say_so_and_are_nearly_the_same() {
    let dir = folder();
    let run = |precision: &str, rule: &str, out: &str| {
        let arguments = ["surface", "square.toml", "--out", out, "--precision", precision, "--rule", rule];
        let report = json(dir.path(), &arguments);
        let path = dir.path().join(out);
        let precision = report["precision"].as_str().unwrap().to_owned();
        assert_eq!(Table::load(&path).unwrap().is_single(), precision == "f32");
        (precision, read(&path, "h").1)
    };
    let ((single, a), (double, b)) = (run("f32", "points", "a.npz"), run("f64", "points", "b.npz"));
    assert_eq!([single, double], ["f32", "f64"]);
    assert!(a != b && a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-5));
    // A square has four corners: double precision is faster.
    let ((single, a), (double, b)) = (run("f32", "cells", "c.npz"), run("f64", "cells", "d.npz"));
    assert_eq!([single, double], ["f64", "f64"]);
    assert_eq!(a, b);
    // A circle has many.
    let sweep = ["--sweep", "patch.shape=['square','circle']", "--sweep", "patch.cells=[21]"];
    let arguments = ["surface", "square.toml", "--out", "e.npz", "--precision", "f32", "--rule", "cells"];
    assert_eq!(json(dir.path(), &[&arguments[..], &sweep[..]].concat())["precision"], "mixed");
    let mut zip = zip::ZipArchive::new(fs::File::open(dir.path().join("e.npz")).unwrap()).unwrap();
    let bytes = npyz::NpyFile::new(zip.by_name("metadata.npy").unwrap()).unwrap().into_vec::<u8>().unwrap();
    let metadata: Value = serde_json::from_slice(&bytes).unwrap();
    assert_eq!(metadata["single_precision"], serde_json::json!([false, true]));
}

/// The line gradient's centre of pressure is off the origin. A wrench about the origin is that about the centre of pressure, moved.
#[test]
fn tables_about_the_origin_are_those_of_the_patch_seen_from_there() {
    let dir = folder();
    let sweep = ["--sweep", "patch.shape=['square','line-gradient-x']", "--sweep", "patch.cells=[6,11]"];
    for (precision, limit) in [("f64", 1e-11), ("f32", 1e-6)] {
        let run = |out: &str, sweep: &[&str]| {
            let arguments = ["surface", "square.toml", "--out", out, "--at", "origin", "--n-ls", "5", "--force"];
            json(dir.path(), &[&arguments[..], &["--precision", precision], sweep].concat())
        };
        let report = run("all.npz", &sweep);
        assert_eq!((&report["at"], &report["precision"]), (&"origin".into(), &precision.into()));
        // All have the radius of the grid.
        report["r"].as_array().unwrap().iter().for_each(|r| close(r, 0.03 * (2f64.sqrt() + 1f64.asinh()) / 6.0, 1e-15));
        let (shape, centre) = read(&dir.path().join("all.npz"), "centre");
        assert_eq!((shape, centre), (vec![4, 2], vec![0.0; 8]));
        run("one.npz", &["--set", "patch.shape='line-gradient-x'"]);
        let table = Table::load(&dir.path().join("one.npz")).unwrap();
        let (shape, h) = read(&dir.path().join("all.npz"), "h");
        assert_eq!(shape, [4, 21, 6, 3]);
        assert_eq!(h[3 * 21 * 6 * 3..], table.nodes().concat(), "the last of the sweep");
        assert!(table.is_at_origin() && table.patch().cop()[0] < -1e-3, "{:?}", table.patch().cop());
        let (surface, [x, y]) = (Surface::new(table.patch(), Rule::Cells), table.patch().cop());
        for (k, h) in table.nodes().iter().enumerate() {
            let w = surface.coulomb(table.twist(k / 6, k % 6).at([x, y])).about([-x, -y]);
            let error = [h[0] - w.fx, h[1] - w.fy, h[2] - w.tau / table.radius()];
            assert!(error.iter().all(|e| e.abs() < limit), "{precision} {k}: {error:?}");
        }
    }
    let (code, _, stderr) =
        bristle(dir.path(), &["surface", "square.toml", "--out", "x.npz", "--at", "origin", "--plot", "x.svg"]);
    assert!(code == 2 && stderr.contains("--at cop") && !dir.path().join("x.npz").exists(), "{stderr}");
    json(dir.path(), &["surface", "square.toml", "--out", "x.npz", "--at", "cop", "--plot", "x.svg"]);
}

#[test]
fn frames_of_a_file_are_swept_like_any_key() {
    use npyz::WriterBuilder;
    let dir = folder();
    let file = fs::File::create(dir.path().join("frames.npy")).unwrap();
    let mut writer = npyz::WriteOptions::new().default_dtype().shape(&[3, 4, 5]).writer(file).begin_nd().unwrap();
    writer.extend((0..60).map(|i| f64::from(i * i % 17))).unwrap();
    writer.finish().unwrap();
    fs::write(dir.path().join("frames.toml"), "[patch]\nfile = \"frames.npy\"\nsize = [0.02, 0.01]\n").unwrap();
    let common = ["surface", "frames.toml", "--n-ls", "3", "--out"];
    json(dir.path(), &[&common[..], &["all.npz", "--sweep", "patch.frame=0:2:3"]].concat());
    let h = read(&dir.path().join("all.npz"), "h").1;
    let frames = read(&dir.path().join("all.npz"), "sweep.patch.frame").1;
    assert_eq!(frames, [0.0, 1.0, 2.0]);
    for (k, h) in h.chunks(13 * 4 * 3).enumerate() {
        // Row 0 is the top.
        let value = |i: usize, j: usize| f64::from(((20 * k + 5 * (3 - j) + i) as i32).pow(2) % 17);
        let map: Vec<f64> = (0..20).map(|c| value(c % 5, c / 5)).collect();
        let patch = Patch::from_pressure(Grid::new(5, 4, 0.02, 0.01).unwrap(), &map).unwrap();
        assert_eq!(h, Table::new(&patch, Rule::Cells, 3).unwrap().nodes().concat(), "frame {k}");
    }
    let (code, _, stderr) = bristle(dir.path(), &[&common[..], &["one.npz"]].concat());
    assert!(code == 2 && stderr.contains("has several frames: expected `frame`"), "{stderr}");
    let (code, _, stderr) = bristle(dir.path(), &["margin", "all.npz", "--load", "1,0,0"]);
    assert!(code == 2 && stderr.contains("holds 3 tables"), "{stderr}");

    // All that there are, but for those that nothing touches.
    let file = fs::File::create(dir.path().join("frames.npy")).unwrap();
    let mut writer = npyz::WriteOptions::new().default_dtype().shape(&[4, 4, 5]).writer(file).begin_nd().unwrap();
    writer.extend((0..80).map(|i| if (20..40).contains(&i) { 0.0 } else { f64::from(i * i % 17) })).unwrap();
    writer.finish().unwrap();
    let all = ["some.npz", "--sweep", "patch.frame=all", "--sweep", "mu=[0.5,1]"];
    assert_eq!(json(dir.path(), &[&common[..], &all].concat())["tables"], 6);
    let frames = read(&dir.path().join("some.npz"), "sweep.patch.frame").1;
    assert_eq!(frames, [0.0, 0.0, 2.0, 2.0, 3.0, 3.0]);
    assert_eq!(read(&dir.path().join("some.npz"), "h").1[..13 * 4 * 3], h[..13 * 4 * 3]);
    // Every frame has its own margin.
    let ask = ["margin", "frames.toml", "--load", "0.1,0,0.001", "--load", "0,1,0"];
    let report = json(dir.path(), &[&ask[..], &["--sweep", "patch.frame=all"]].concat());
    let cases = report["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 3);
    for (case, frame) in cases.iter().zip([0.0, 2.0, 3.0]) {
        close(&case["sweep"]["patch.frame"], frame, 0.0);
        let alone = json(dir.path(), &[&ask[..], &["--set", &format!("patch.frame={frame}")]].concat());
        assert_eq!((&case["loads"], &case["r"]), (&alone["loads"], &alone["r"]));
        assert_eq!(case["loads"].as_array().unwrap().len(), 2);
    }
    assert_ne!(cases[0]["loads"][0]["factor"], cases[1]["loads"][0]["factor"]);
    let (code, stdout, _) = bristle(dir.path(), &[&ask[..], &["--sweep", "patch.frame=[2,3]"]].concat());
    assert!(code == 0 && stdout.contains("patch.frame = 2\n") && stdout.matches("slips at").count() == 4, "{stdout}");
    fs::copy(dir.path().join("all.npz"), dir.path().join("t.npz")).unwrap();
    let (code, stdout, stderr) = bristle(dir.path(), &["margin", "t.npz", "--load", "1,0,0", "--sweep", "mu=[1,2]"]);
    assert!(code == 2 && stdout.is_empty() && stderr.contains("t.npz"), "{stderr}");
    fs::write(dir.path().join("bare.toml"), SCENARIO.replace("[patch]\nshape = \"line-gradient-x\"\ncells = 9\n", ""))
        .unwrap();
    let bare = ["surface", "bare.toml", "--out", "x.npz", "--sweep", "patch.frame=all"];
    assert!(bristle(dir.path(), &bare).2.contains("has no frames: expected `patch.file`"));
    let all = ["surface", "square.toml", "--out", "x.npz", "--sweep", "patch.frame=all"];
    let (code, _, stderr) = bristle(dir.path(), &all);
    assert!(code == 2 && stderr.contains("has no frames: expected `patch.file`"), "{stderr}");
}

#[test]
fn a_scenario_brings_its_rule_resolution_force_and_coefficient() {
    let dir = folder();
    let report = json(dir.path(), &["surface", "scenario.toml", "--out", "t.npz"]);
    assert_eq!((&report["rule"], &report["n_ls"]), (&"points".into(), &6.into()));
    let report = json(dir.path(), &["margin", "scenario.toml", "--load", "1,0,0"]);
    close(&report["mu"], 0.7, 0.0);
    close(&report["f_n"], 3.0, 0.0);
    assert!(report["mu_from"].as_str().unwrap().contains("mu_c"), "{report}");
    close(&report["loads"][0]["factor"], 0.7 * 3.0, 1e-9);
}

#[test]
fn sweeps_make_every_combination_with_the_table_as_leading_axis() {
    let dir = folder();
    let sweeps =
        ["--sweep", "patch.cells=3:9:3", "--sweep", "patch.shape=['square','circle']", "--sweep", "mu=[0.4,1]"];
    let report =
        json(dir.path(), &[&["surface", "square.toml", "--out", "t.npz", "--n-ls", "3"], &sweeps[..]].concat());
    assert_eq!(report["tables"], 12);
    assert_eq!(report["r"].as_array().unwrap().len(), 12);
    let path = dir.path().join("t.npz");
    let (shape, h) = read(&path, "h");
    assert_eq!(shape, [12, 13, 4, 3]);
    let (shape, weights) = read(&path, "weights");
    assert_eq!(shape, [12, 9, 9]);
    assert!(weights[8].is_nan() && (weights[0] - 1.0 / 9.0).abs() < 1e-15, "3 x 3 cells in a 9 x 9 array");
    assert_eq!(read(&path, "sweep.patch.cells").1, [3.0, 3.0, 3.0, 3.0, 6.0, 6.0, 6.0, 6.0, 9.0, 9.0, 9.0, 9.0]);
    assert_eq!(read(&path, "mu").1[..2], [0.4, 1.0]);
    // The last table is the one that is made alone.
    let patch = Patch::shape(Grid::new(9, 9, 0.03, 0.03).unwrap(), Shape::Circle).unwrap();
    let alone = Table::new(&patch, Rule::Cells, 3).unwrap();
    assert_eq!(h[11 * 13 * 4 * 3..], alone.nodes().concat());
    let (code, _, stderr) = bristle(dir.path(), &["margin", "t.npz", "--load", "1,0,0"]);
    assert!(code == 2 && stderr.contains("one table"), "{stderr}");
}

#[test]
fn files_are_not_overwritten_unless_told_and_nothing_is_left_behind() {
    let dir = folder();
    let run = ["surface", "square.toml", "--out", "t.npz", "--n-ls", "2", "--no-fits"];
    assert_eq!(bristle(dir.path(), &run).0, 0);
    let before = fs::read(dir.path().join("t.npz")).unwrap();
    let (code, _, stderr) = bristle(dir.path(), &[&run[..], &["--rule", "points"]].concat());
    assert!(code == 2 && stderr.contains("t.npz") && stderr.contains("--force"), "{stderr}");
    assert_eq!(fs::read(dir.path().join("t.npz")).unwrap(), before);
    assert_eq!(bristle(dir.path(), &[&run[..], &["--force", "--rule", "points"]].concat()).0, 0);
    assert_ne!(fs::read(dir.path().join("t.npz")).unwrap(), before);
    let left: Vec<_> = fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().contains("partial")), "{left:?}");
}

#[test]
fn margins_say_inside_or_not_how_far_and_which_way() {
    let dir = folder();
    let loads = ["--load", "-1,0,0", "--load", "3,0,0", "--load", "0,0,-0.001", "--load", "0,0,0"];
    let report = json(dir.path(), &[&["margin", "square.toml"], &loads[..]].concat());
    let answers = report["loads"].as_array().unwrap();
    // mu f_N = 2 N.
    close(&answers[0]["factor"], 2.0, 1e-9);
    close(&answers[0]["twist"][0], -1.0, 1e-9);
    assert!(answers[0]["inside"] == true && answers[0]["cor"].is_null(), "{report}");
    assert_eq!(answers[1]["inside"], false);
    close(&answers[2]["factor"], 2.0 * report["r"].as_f64().unwrap() / 0.001, 1e-6);
    close(&answers[2]["cor"][0], 0.0, 1e-9);
    assert!(answers[2]["twist"][2].as_f64().unwrap() < 0.0);
    assert!(answers[3]["inside"] == true && answers[3]["factor"].is_null());
    // A wider patch resists more torque, by as much.
    let wide = json(dir.path(), &["margin", "square.toml", "--set", "patch.size=0.06", "--load", "0,0,-0.001"]);
    close(&wide["loads"][0]["factor"], 2.0 * answers[2]["factor"].as_f64().unwrap(), 1e-6);
    // A map that follows the force follows the one that is asked for.
    fs::write(dir.path().join("soft.toml"), "f_n = 4.0\n[patch]\nshape = \"hertz\"\ncells = 11\n").unwrap();
    let load = ["--load", "0.2,0,0.0003"];
    let [said, set] = [["--f-n", "0.2"], ["--set", "f_n=0.2"]]
        .map(|f_n| json(dir.path(), &[&["margin", "soft.toml"], &load[..], &f_n[..]].concat()));
    let firm = json(dir.path(), &[&["margin", "soft.toml"], &load[..]].concat());
    assert_eq!((&said["r"], &said["loads"]), (&set["r"], &set["loads"]));
    assert!(said["r"].as_f64() < firm["r"].as_f64(), "{said} {firm}");
    // Small loads are no zeros, and one cell has no extent by its centre.
    let (_, small, _) = bristle(dir.path(), &["margin", "square.toml", "--load", "1e-7,0,0"]);
    assert!(small.contains("(1e-7, 0, 0)  holds") && small.contains("slips at 2e7 times"), "{small}");
    fs::write(dir.path().join("one.toml"), "[patch]\npressure = [[0, 0], [0, 5]]\nsize = 0.02\n").unwrap();
    let (_, one, _) = bristle(dir.path(), &["surface", "one.toml", "--rule", "points", "--out", "one.npz"]);
    assert!(one.contains("r = 0: by this rule"), "{one}");
    // The arguments win, and the answer says so.
    let report = json(dir.path(), &["margin", "square.toml", "--load=-1,0,0", "--mu", "0.8", "--f-n", "5"]);
    close(&report["loads"][0]["factor"], 4.0, 1e-9);
    assert_eq!(report["mu_from"], "--mu");
}

#[test]
fn a_load_at_the_origin_is_moved_to_the_centre_of_pressure() {
    let dir = folder();
    let at = |at: &str, load: &str| {
        json(dir.path(), &["margin", "scenario.toml", "--rule", "cells", "--at", at, "--load", load])
    };
    let [x, y] = [0, 1].map(|k| at("cop", "0,1,0")["cop"][k].as_f64().unwrap());
    assert!(x < -1e-3 && y.abs() < 1e-12, "the map is heavier at -x");
    let (there, here) = (at("origin", &format!("0,1,{x}")), at("cop", "0,1,0"));
    let (there, here) = (&there["loads"][0], &here["loads"][0]);
    close(&there["factor"], here["factor"].as_f64().unwrap(), 1e-9);
    // Of the same motion, the velocity at the origin is that at the centre of pressure less w x c.
    let part = |answer: &Value, k: usize| answer["twist"][k].as_f64().unwrap();
    close(&part(there, 1).into(), part(here, 1) - part(here, 2) * x, 1e-9);
}

#[test]
fn bad_input_gets_one_clear_error_and_exit_code_2() {
    let dir = folder();
    for (name, text) in [
        ("unknown.toml", SQUARE.replace("size", "sise")),
        ("drawn.toml", SQUARE.replace("0.03", "{ uniform = [0.01, 0.02] }")),
        ("force.toml", SQUARE.replace("f_n = 4.0", "f_n = -4.0")),
        ("update.toml", "[patch]\nshape = \"hertz\"\nupdate = 0.1\n".to_owned()),
        ("text.npz", "no archive".to_owned()),
    ] {
        fs::write(dir.path().join(name), text).unwrap();
    }
    fs::write(dir.path().join("binary.toml"), [0xffu8; 9]).unwrap();
    let surface = |arguments: &[&'static str]| [&["surface", "--out", "t.npz"], arguments].concat();
    let margin = |arguments: &[&'static str]| [&["margin"], arguments].concat();
    for (arguments, parts) in [
        (surface(&["none.toml"]), vec!["none.toml"]),
        (surface(&["unknown.toml"]), vec!["unknown.toml:6:", "sise"]),
        (surface(&["drawn.toml"]), vec!["drawn.toml:6:", "patch.size", "constant"]),
        (surface(&["force.toml"]), vec!["force.toml:2:", "f_n = -4", "> 0"]),
        (surface(&["update.toml"]), vec!["update.toml:3:", "patch.update", "scenario"]),
        (surface(&["square.toml", "--n-ls", "0"]), vec!["--n-ls 0", "1 to 1000"]),
        (surface(&["square.toml", "--n-ls", "-3"]), vec!["--n-ls -3", "1 to 1000"]),
        (surface(&["square.toml", "--sweep", "patch.size"]), vec!["--sweep", "patch.size", "key=first:last:count"]),
        (surface(&["square.toml", "--sweep", "patch.size=0:1:2"]), vec!["patch.size=0", "> 0 [m]"]),
        (surface(&["square.toml", "--sweep", "patch.sise=[1]"]), vec!["patch.sise=1", "unknown field `sise`"]),
        (surface(&["square.toml", "--n-ls", "900", "--sweep", "mu=1:2:100"]), vec!["100 tables", "GiB"]),
        (surface(&["square.toml", "--sweep", "mu=1:2:2", "--sweep", "mu=[3]"]), vec!["`mu`", "swept twice"]),
        (vec!["surface", "square.toml", "--force", "--out", "binary.toml"], vec!["--out binary.toml", ".npz"]),
        (surface(&["square.toml", "--plot", "p.png"]), vec!["--plot p.png", ".svg"]),
        (surface(&["square.toml", "--plot", "./t.npz"]), vec!["--plot ./t.npz", "is --out, too"]),
        (surface(&["square.toml", "--force", "--plot", "square.toml"]), vec!["--plot square.toml", "is FILE, too"]),
        (surface(&["binary.toml"]), vec!["binary.toml", "expected text, a TOML file"]),
        (vec!["surface", "square.toml", "--out", "no/where.npz"], vec!["no/where.npz", "no directory no"]),
        (vec!["surface", "square.toml", "--out", "."], vec!["--out .", "name of a file"]),
        (margin(&["square.toml", "--load", "1,2"]), vec!["--load `1,2`", "fx,fy,tau"]),
        (margin(&["square.toml", "--load", "1,nan,0"]), vec!["load.fy = NaN", "finite"]),
        (margin(&["square.toml", "--load", "1,0,0", "--mu", "-1"]), vec!["mu = -1", "> 0"]),
        (margin(&["square.toml", "--load", "1,0,0", "--f-n", "-1"]), vec!["f_n = -1", ">= 0"]),
        (margin(&["text.npz", "--load", "1,0,0"]), vec!["text.npz", "not an NPZ"]),
        (margin(&["text.npz", "--load", "1,0,0", "--set", "mu=1"]), vec!["text.npz", "made already"]),
        (surface(&["square.toml", "--set", "patch.sise=1"]), vec!["(with changes)", "unknown field `sise`"]),
        (margin(&["none.npz", "--load", "1,0,0"]), vec!["none.npz"]),
    ] {
        let (code, stdout, stderr) = bristle(dir.path(), &arguments);
        assert_eq!((code, stdout.as_str()), (2, ""), "{arguments:?}: {stderr}");
        assert_eq!(stderr.matches("error:").count(), 1, "{stderr}");
        assert!(parts.iter().all(|part| stderr.contains(part)), "{arguments:?}: {stderr}");
        assert!(!dir.path().join("t.npz").exists(), "{arguments:?}");
    }
    assert_eq!(bristle(dir.path(), &surface(&["square.toml", "--rule", "bilinear", "--n-ls", "2"])).0, 0);
    let (code, _, stderr) = bristle(dir.path(), &["margin", "t.npz", "--load", "1,0,0"]);
    assert!(code == 2 && stderr.contains("--rule cells"), "{stderr}");
    assert_eq!(bristle(dir.path(), &["margin", "t.npz", "--load", "1,0,0", "--rule", "cells"]).0, 0);
    assert_eq!(fs::read_to_string(dir.path().join("square.toml")).unwrap(), SQUARE);
}

//! Runs `bristle surface` and `bristle margin`, and tests what they write and their errors for bad input.

use std::fs;
use std::path::Path;

use crate::program::{bristle, json, read};
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

fn folder() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("square.toml"), SQUARE).unwrap();
    fs::write(dir.path().join("scenario.toml"), SCENARIO).unwrap();
    dir
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
    assert_eq!(bristle_data::table_file::load(&dir.path().join("t.npz")).unwrap(), table);
    let (shape, wrenches) = read(&dir.path().join("t.npz"), "wrenches");
    assert_eq!(shape, [21, 6, 3]);
    // Pure rotation: mu f_N r.
    close(&wrenches[2].into(), -0.5 * 4.0 * table.radius(), 1e-15);
    let picture = fs::read_to_string(dir.path().join("t.svg")).unwrap();
    assert!(picture.contains("ellipsoid") && !picture.contains("NaN"));
}

/// A palm and two fingers: their table, alone and in a sweep over where one is, gives the margins of the file
/// that it was made of.
#[test]
fn tables_of_several_patches_have_the_margins_of_their_file() {
    let dir = folder();
    let hand = format!(
        "{SQUARE}[[patches]]\nat = [0.0, 0.04]\nshare = 2\n[[patches]]\nat = [0.03, -0.02]\nturn = 0.4\n\
         patch = {{ shape = 'disc', cells = 6, size = 0.01 }}\n[[patches]]\nat = [-0.03, -0.02]\nfriction = 0.5\n"
    );
    fs::write(dir.path().join("hand.toml"), hand).unwrap();
    let report = json(dir.path(), &["surface", "hand.toml", "--out", "one.npz", "--plot", "hand.svg", "--n-ls", "6"]);
    assert!(report["passivity"].as_f64().unwrap() < 0.0 && report["r"].as_f64().unwrap() > 0.025, "{report}");
    assert_eq!(read(&dir.path().join("one.npz"), "patch_at").0, [3, 3]);
    let sweep = ["--sweep", "patches.1.turn=[0.1,0.4]", "--sweep", "patches.1.patch.cells=[3,6]"];
    json(dir.path(), &[&["surface", "hand.toml", "--out", "all.npz", "--no-fits"], &sweep[..]].concat());
    assert_eq!(read(&dir.path().join("all.npz"), "patch_cells").0, [4, 3, 2]);
    let load = ["--load=0.3,0.4,0.05", "--load=0,-0.1,0.02"];
    let margins = |file: &str, more: &[&str]| json(dir.path(), &[&["margin", file], &load[..], more].concat());
    let factors = |of: &Value| of["loads"].as_array().unwrap().iter().map(|l| l["factor"].as_f64().unwrap()).collect();
    let direct = margins("hand.toml", &[]);
    let alone: Vec<f64> = factors(&direct);
    let cases = margins("all.npz", &[]);
    let last: Vec<f64> = factors(&cases["cases"][3]);
    for found in [factors(&margins("one.npz", &[])), last] {
        assert!(found.iter().zip(&alone).all(|(a, b)| (a / b - 1.0).abs() < 1e-9), "{found:?} {alone:?}");
    }
    let all = margins("hand.toml", &sweep);
    for k in 0..4 {
        let [found, wanted]: [Vec<f64>; 2] = [&cases, &all].map(|of| factors(&of["cases"][k]));
        assert!(found.iter().zip(&wanted).all(|(a, b)| (a / b - 1.0).abs() < 1e-9), "{k}: {found:?} {wanted:?}");
    }
    let (code, _, stderr) = bristle(dir.path(), &["surface", "hand.toml", "--out", "x.npz", "--at", "origin"]);
    assert!(code == 2 && stderr.contains("expected `--at cop`") && !dir.path().join("x.npz").exists(), "{stderr}");
}

#[test]
fn tables_in_single_precision_say_so_and_are_nearly_the_same() {
    let dir = folder();
    let run = |precision: &str, rule: &str, out: &str| {
        let arguments = ["surface", "square.toml", "--out", out, "--precision", precision, "--rule", rule];
        let report = json(dir.path(), &arguments);
        let path = dir.path().join(out);
        let precision = report["precision"].as_str().unwrap().to_owned();
        assert_eq!(bristle_data::table_file::load(&path).unwrap().is_single(), precision == "f32");
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

/// The line gradient's centre of pressure is off the origin. A wrench about the origin is that about the
/// centre of pressure, moved.
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
        let table = bristle_data::table_file::load(&dir.path().join("one.npz")).unwrap();
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
    // The tables of a sweep have their margins.
    let of_tables = json(dir.path(), &["margin", "all.npz", "--load", "1,0,0"]);
    let of_frames = json(dir.path(), &["margin", "frames.toml", "--load", "1,0,0", "--sweep", "patch.frame=0:2:3"]);
    for (table, frame) in of_tables["cases"].as_array().unwrap().iter().zip(of_frames["cases"].as_array().unwrap()) {
        assert_eq!((&table["loads"], &table["sweep"], &table["r"]), (&frame["loads"], &frame["sweep"], &frame["r"]));
    }
    assert_eq!(of_tables["cases"].as_array().unwrap().len(), 3);

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
    // Grids of several sizes come back out of the array of the largest.
    let report = json(dir.path(), &["margin", "t.npz", "--load", "1,0,0.01"]);
    let cases = report["cases"].as_array().unwrap();
    assert_eq!((cases.len(), &cases[0]["sweep"]["patch.shape"]), (12, &"square".into()));
    let last = json(
        dir.path(),
        &[
            "margin",
            "square.toml",
            "--load",
            "1,0,0.01",
            "--set",
            "mu=1",
            "--set",
            "patch.cells=9",
            "--set",
            "patch.shape=circle",
        ],
    );
    close(&cases[11]["loads"][0]["factor"], last["loads"][0]["factor"].as_f64().unwrap(), 1e-12);
}

/// Writes an array of float64.
fn write(path: &Path, shape: &[u64], values: &[f64]) {
    use npyz::WriterBuilder;
    let file = fs::File::create(path).unwrap();
    let mut writer = npyz::WriteOptions::new().default_dtype().shape(shape).writer(file).begin_nd().unwrap();
    writer.extend(values.iter().copied()).unwrap();
    writer.finish().unwrap();
}

fn read_single(npz: &Path, name: &str) -> (Vec<u64>, Vec<f32>) {
    let mut zip = zip::ZipArchive::new(fs::File::open(npz).unwrap()).unwrap();
    let npy = npyz::NpyFile::new(zip.by_name(&format!("{name}.npy")).unwrap()).unwrap();
    (npy.shape().to_vec(), npy.into_vec::<f32>().unwrap())
}

/// Three frames of 4 x 5 cells and forty loads, as arrays.
fn frames_and_loads() -> (tempfile::TempDir, Vec<[f64; 3]>) {
    let dir = folder();
    let at = |name: &str| dir.path().join(name);
    let frames: Vec<f64> = (0..60).map(|i| f64::from(i * i % 17)).collect();
    write(&at("frames.npy"), &[3, 4, 5], &frames);
    fs::write(at("frames.toml"), "[patch]\nfile = \"frames.npy\"\nsize = [0.02, 0.01]\n").unwrap();
    let wave = |k: usize, a: f64| (a * k as f64).sin();
    let mut loads: Vec<[f64; 3]> = (0..39).map(|k| [wave(k, 1.1), wave(k, 2.3), 0.01 * wave(k, 3.7)]).collect();
    loads.push([0.0; 3]);
    write(&at("loads.npy"), &[40, 3], &loads.concat());
    let rows: String = loads.iter().map(|[x, y, t]| format!("{t:?}, {x:?}, {y:?}\n")).collect();
    fs::write(at("loads.csv"), format!("tau, fx, fy\n{rows}")).unwrap();
    (dir, loads)
}

/// Every number of the file of margins is that of a single answer, however loads, coefficients and forces are
/// given.
#[test]
fn margins_of_many_patches_and_loads_are_the_single_answers_as_arrays() {
    let (dir, loads) = frames_and_loads();
    let at = |name: &str| dir.path().join(name);
    let (mu, f_n) = ([0.3, 0.5, 0.9], [2.0, 0.0, 7.0]);
    write(&at("mu.npy"), &[3], &mu);
    fs::write(at("f_n.csv"), "frame,f_n\n0,2\n1,0\n2,7\n").unwrap();
    assert_eq!(
        bristle(
            dir.path(),
            &["surface", "frames.toml", "--sweep", "patch.frame=all", "--no-fits", "--out", "tables.npz"]
        )
        .0,
        0
    );
    let margin = ["margin", "frames.toml", "--sweep", "patch.frame=all", "--mu", "mu.npy", "--f-n", "f_n.csv"];
    for place in ["cop", "origin"] {
        let out = format!("{place}.npz");
        let report = json(dir.path(), &[&margin[..], &["--at", place, "--loads", "loads.npy", "--out", &out]].concat());
        assert_eq!((&report["patches"], &report["loads"], &report["rule"]), (&3.into(), &40.into(), &"cells".into()));
        let ((shape, factor), (twists, twist)) = (read_single(&at(&out), "factor"), read_single(&at(&out), "twist"));
        assert_eq!((shape, twists), (vec![3, 40], vec![3, 40, 3]));
        assert_eq!(read(&at(&out), "mu").1, mu);
        assert_eq!(read(&at(&out), "f_n"), (vec![3], f_n.to_vec()));
        assert_eq!(read(&at(&out), "sweep.patch.frame").1, [0.0, 1.0, 2.0]);
        assert_eq!(read(&at(&out), "loads"), (vec![40, 3], loads.concat()));
        let hold = factor.iter().filter(|k| **k >= 1.0).count();
        assert_eq!((&report["hold"], &report["slip"]), (&hold.into(), &(120 - hold).into()));
        let least = factor.iter().copied().fold(f32::INFINITY, f32::min);
        close(&report["least_factor"], f64::from(least), 0.0);
        for patch in 0..3 {
            let texts: Vec<String> = loads.iter().map(|[x, y, t]| format!("--load={x:?},{y:?},{t:?}")).collect();
            let (mu, f_n, set) = (mu[patch].to_string(), f_n[patch].to_string(), format!("patch.frame={patch}"));
            let one = ["margin", "frames.toml", "--set", &set, "--mu", &mu, "--f-n", &f_n, "--at", place];
            let alone = json(dir.path(), &[&one[..], &texts.iter().map(String::as_str).collect::<Vec<_>>()].concat());
            close(&alone["r"], read(&at(&out), "r").1[patch], 0.0);
            close(&alone["cop"][1], read(&at(&out), "cop").1[2 * patch + 1], 0.0);
            for (k, answer) in alone["loads"].as_array().unwrap().iter().enumerate() {
                let found = f64::from(factor[40 * patch + k]);
                match answer["factor"].as_f64() {
                    Some(wanted) => assert!(found <= wanted && found >= wanted * (1.0 - 2e-7), "{found} and {wanted}"),
                    None => assert_eq!(found, f64::INFINITY),
                }
                for c in 0..3 {
                    close(&answer["twist"][c], f64::from(twist[(40 * patch + k) * 3 + c]), 1e-4);
                }
            }
        }
    }
    // From a CSV, from tables made before, and with loads of every patch's own.
    let bytes = |name: &str| (read_single(&at(name), "factor"), read_single(&at(name), "twist"));
    let given = ["--mu", "mu.npy", "--f-n", "f_n.csv"];
    json(dir.path(), &[&["margin", "tables.npz", "--loads", "loads.csv", "--out", "b.npz"], &given[..]].concat());
    assert_eq!(bytes("b.npz"), bytes("cop.npz"));
    assert_eq!(read(&at("b.npz"), "sweep.patch.frame").1, [0.0, 1.0, 2.0]);
    json(
        dir.path(),
        &[&[
            "margin",
            "tables.npz",
            "--loads",
            "cop.npz:loads",
            "--out",
            "c.npz",
            "--mu",
            "cop.npz:mu",
            "--f-n",
            "cop.npz:f_n",
        ][..]]
        .concat(),
    );
    assert_eq!(bytes("c.npz"), bytes("cop.npz"));
    let own: Vec<f64> = (0..120).flat_map(|k| loads[k % 40].map(|c| c * (1 + k / 40) as f64)).collect();
    write(&at("own.npy"), &[3, 40, 3], &own);
    json(dir.path(), &[&["margin", "tables.npz", "--loads", "own.npy", "--out", "d.npz"], &given[..]].concat());
    let (found, wanted) = (bytes("d.npz").0.1, bytes("cop.npz").0.1);
    for (k, (found, wanted)) in found.iter().zip(&wanted).enumerate() {
        let wanted = wanted / (1 + k / 40) as f32;
        assert!(*found == wanted || (found / wanted - 1.0).abs() < 1e-6, "{k}: {found} and {wanted}");
    }
    // Few answers are printed as ever.
    let printed = json(dir.path(), &[&margin[..], &["--loads", "loads.csv"]].concat());
    assert_eq!(printed["cases"][2]["loads"].as_array().unwrap().len(), 40);
    close(&printed["cases"][2]["f_n"], 7.0, 0.0);
}

#[test]
fn wrong_arrays_name_the_file_the_place_and_what_is_accepted() {
    let (dir, mut loads) = frames_and_loads();
    let at = |name: &str| dir.path().join(name);
    loads[7][1] = f64::NAN;
    write(&at("nan.npy"), &[40, 3], &loads.concat());
    write(&at("own.npy"), &[2, 60, 1], &[1.0; 120]);
    write(&at("two.npy"), &[40, 2], &[1.0; 80]);
    write(&at("none.npy"), &[0, 3], &[]);
    write(&at("four.npy"), &[4], &[1.0; 4]);
    write(&at("minus.npy"), &[3], &[1.0, 1.0, -2.0]);
    let mut own = vec![1.0; 3 * 4 * 3];
    own[(4 + 2) * 3 + 2] = f64::INFINITY;
    write(&at("infinite.npy"), &[3, 4, 3], &own);
    fs::write(at("text.csv"), "1,2,3\n1,zwei,3\n").unwrap();
    fs::write(at("header.csv"), "a,b,c\n1,2,3\n").unwrap();
    fs::write(at("fake.npy"), "no array").unwrap();
    assert_eq!(bristle(dir.path(), &["surface", "square.toml", "--n-ls", "2", "--no-fits", "--out", "t.npz"]).0, 0);
    let kept = fs::read(at("t.npz")).unwrap();
    let frames = ["margin", "frames.toml", "--sweep", "patch.frame=all", "--out", "m.npz"];
    for (arguments, parts) in [
        (vec!["--loads", "missing.npy"], vec!["missing.npy"]),
        (vec!["--loads", "nan.npy"], vec!["nan.npy: load 7 (from 0), fy = NaN", "finite"]),
        (vec!["--loads", "infinite.npy"], vec!["infinite.npy: patch 1, load 2 (from 0), tau = inf", "finite"]),
        (
            vec!["--loads", "own.npy"],
            vec!["own.npy", "[2, 60, 1]", "[loads, 3], or [patches, loads, 3] with 3 patches"],
        ),
        (vec!["--loads", "two.npy"], vec!["two.npy", "[40, 2]", "[loads, 3]"]),
        (vec!["--loads", "none.npy"], vec!["none.npy: no loads"]),
        (vec!["--loads", "text.csv"], vec!["text.csv: line 2, column fy: `zwei`"]),
        (vec!["--loads", "header.csv"], vec!["header.csv: line 1", "a, b, c", "expected fx, fy, tau"]),
        (vec!["--loads", "fake.npy"], vec!["fake.npy: not an .npy"]),
        (vec!["--loads", "loads.txt"], vec!["loads.txt", ".npy or .csv, or FILE.npz:NAME"]),
        (vec!["--loads", "t.npz"], vec!["t.npz:NAME", "twists", "weights"]),
        (vec!["--loads", "t.npz:load"], vec!["t.npz: no array `load`", "twists"]),
        (vec!["--loads", "."], vec!["."]),
        (
            vec!["--loads", "loads.npy", "--mu", "four.npy"],
            vec!["four.npy", "[4]", "expected 3 numbers, mu of every patch"],
        ),
        (vec!["--loads", "loads.npy", "--mu", "minus.npy"], vec!["minus.npy: number 2 (from 0), mu = -2", "> 0"]),
        (vec!["--loads", "loads.npy", "--f-n", "minus.npy"], vec!["f_n = -2", ">= 0"]),
        (vec!["--loads", "loads.npy", "--f-n", "-3"], vec!["f_n = -3", ">= 0"]),
        (vec!["--loads", "loads.npy", "--mu", "much"], vec!["mu = much", "a finite number > 0", "FILE.npy"]),
        (vec!["--loads", "loads.npy", "--load", "1,0,0"], vec!["--load", "cannot be used with"]),
        (vec![], vec!["--load"]),
    ] {
        let (code, stdout, stderr) = bristle(dir.path(), &[&frames[..], &arguments].concat());
        assert_eq!((code, stdout.as_str()), (2, ""), "{arguments:?}: {stderr}");
        assert_eq!(stderr.matches("error:").count(), 1, "{stderr}");
        assert!(parts.iter().all(|part| stderr.contains(part)), "{arguments:?}: {stderr}");
        assert!(!at("m.npz").exists(), "{arguments:?}");
    }
    // What is there stays, unless told.
    let there = ["margin", "square.toml", "--load", "1,0,0", "--out", "t.npz"];
    let (code, _, stderr) = bristle(dir.path(), &there);
    assert!(code == 2 && stderr.contains("--out t.npz: exists") && fs::read(at("t.npz")).unwrap() == kept, "{stderr}");
    let (code, _, stderr) = bristle(dir.path(), &["margin", "t.npz", "--load", "1,0,0", "--out", "t.npz", "--force"]);
    assert!(code == 2 && stderr.contains("is FILE, too") && fs::read(at("t.npz")).unwrap() == kept, "{stderr}");
    let (code, stdout, stderr) = bristle(dir.path(), &[&there[..], &["--force"]].concat());
    assert!(code == 0 && stdout.starts_with("1 patch under 1 load each, rule cells"), "{stdout}{stderr}");
    assert_eq!(read_single(&at("t.npz"), "factor"), (vec![1, 1], vec![2.0]));
    // More than anyone reads is not printed.
    write(&at("many.npy"), &[40_000, 3], &[1.0; 120_000]);
    let (code, stdout, stderr) =
        bristle(dir.path(), &["margin", "frames.toml", "--sweep", "patch.frame=all", "--loads", "many.npy"]);
    assert!(code == 2 && stdout.is_empty() && stderr.contains("120000 margins: expected `--out"), "{stderr}");
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
        (surface(&["force.toml"]), vec!["force.toml:2:", "f_n = -4", "from 1e-12 to 1e12"]),
        (surface(&["update.toml"]), vec!["update.toml:3:", "patch.update", "scenario"]),
        (surface(&["square.toml", "--n-ls", "0"]), vec!["--n-ls 0", "1 to 1000"]),
        (surface(&["square.toml", "--n-ls", "-3"]), vec!["--n-ls -3", "1 to 1000"]),
        (surface(&["square.toml", "--sweep", "patch.size"]), vec!["--sweep", "patch.size", "key=first:last:count"]),
        (surface(&["square.toml", "--sweep", "patch.size=0:1:2"]), vec!["patch.size=0", "from 1e-9 to 1e6 [m]"]),
        (surface(&["square.toml", "--sweep", "patch.sise=[1]"]), vec!["patch.sise=1", "unknown field `sise`"]),
        (surface(&["square.toml", "--n-ls", "900", "--sweep", "mu=1:2:100"]), vec!["100 tables", "GiB"]),
        (surface(&["square.toml", "--sweep", "mu=1:2:2", "--sweep", "mu=[3]"]), vec!["`mu`", "swept twice"]),
        (vec!["surface", "square.toml", "--force", "--out", "binary.toml"], vec!["--out binary.toml", ".npz"]),
        (surface(&["square.toml", "--plot", "p.png"]), vec!["--plot p.png", ".svg"]),
        (surface(&["square.toml", "--plot", "./t.npz"]), vec!["--plot ./t.npz", "is --out, too"]),
        (surface(&["square.toml", "--force", "--plot", "square.toml"]), vec!["--plot square.toml", "is FILE, too"]),
        (surface(&["binary.toml"]), vec!["binary.toml", "is no UTF-8: expected text"]),
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

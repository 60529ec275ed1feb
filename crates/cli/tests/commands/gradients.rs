//! Runs `bristle margin --gradients`, for loads and for twists: its derivatives against differences of what
//! it prints without, and its arrays against what it prints.

use std::fs;
use std::path::Path;

use crate::program::{bristle, json, read};
use serde_json::Value;

/// Two maps on one grid, pressures of 0 and more.
const MAPS: [[f64; 12]; 2] = [
    [0.0, 1.0, 2.0, 3.0, 5.0, 8.0, 2.0, 1.0, 0.0, 4.0, 4.0, 1.0],
    [3.0, 1.0, 1.0, 0.0, 0.0, 2.0, 6.0, 1.0, 7.0, 1.0, 2.0, 2.0],
];

/// Writes an array of three rows and four columns.
fn write(path: &Path, values: &[f64]) {
    use npyz::WriterBuilder;
    let file = fs::File::create(path).unwrap();
    let mut writer = npyz::WriteOptions::new().default_dtype().shape(&[3, 4]).writer(file).begin_nd().unwrap();
    writer.extend(values.iter().copied()).unwrap();
    writer.finish().unwrap();
}

fn folder(maps: [[f64; 12]; 2]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (k, map) in maps.iter().enumerate() {
        // Files of maps have the top row first.
        write(&dir.path().join(format!("map{k}.npy")), &map.chunks(4).rev().flatten().copied().collect::<Vec<_>>());
    }
    let patch = "mu = 0.6\nf_n = 3.0\n[patch]\nfile = \"map0.npy\"\nsize = [0.02, 0.018]\n";
    fs::write(dir.path().join("map.toml"), patch).unwrap();
    dir
}

fn numbers(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(values) => values.iter().flat_map(numbers).collect(),
        value => vec![value.as_f64().unwrap_or(f64::NAN)],
    }
}

fn read_single(npz: &Path, name: &str) -> (Vec<u64>, Vec<f32>) {
    let mut zip = zip::ZipArchive::new(fs::File::open(npz).unwrap()).unwrap();
    let npy = npyz::NpyFile::new(zip.by_name(&format!("{name}.npy")).unwrap()).unwrap();
    (npy.shape().to_vec(), npy.into_vec::<f32>().unwrap())
}

#[test]
fn printed_derivatives_are_differences_of_printed_factors() {
    let load = [0.7, -0.4, 0.004];
    for at in ["cop", "origin"] {
        let factor = |load: [f64; 3], map: [f64; 12], mu: f64, f_n: f64| {
            let dir = folder([map, map]);
            let load = format!("--load={:?},{:?},{:?}", load[0], load[1], load[2]);
            let (mu, f_n) = (mu.to_string(), f_n.to_string());
            let given = ["margin", "map.toml", &load, "--at", at, "--mu", &mu, "--f-n", &f_n];
            json(dir.path(), &given)["loads"][0]["factor"].as_f64().unwrap()
        };
        let dir = folder(MAPS);
        let report = json(dir.path(), &["margin", "map.toml", "--load=0.7,-0.4,0.004", "--at", at, "--gradients"]);
        let found = &report["loads"][0];
        let (k, gradient) = (found["factor"].as_f64().unwrap(), &found["gradient"]);
        let close = |found: f64, difference: f64, step: f64| {
            let wanted = difference / (2.0 * step);
            assert!((found - wanted).abs() < 1e-6 * (k + wanted.abs()), "{at}: {found} and {wanted}");
        };
        for j in 0..3 {
            let step = [1e-4, 1e-4, 1e-6][j];
            let [ahead, behind] = [step, -step].map(|h| {
                let mut load = load;
                load[j] += h;
                factor(load, MAPS[0], 0.6, 3.0)
            });
            close(gradient["load"][j].as_f64().unwrap(), ahead - behind, step);
        }
        close(
            gradient["mu"].as_f64().unwrap(),
            factor(load, MAPS[0], 0.61, 3.0) - factor(load, MAPS[0], 0.59, 3.0),
            0.01,
        );
        close(
            gradient["f_n"].as_f64().unwrap(),
            factor(load, MAPS[0], 0.6, 3.1) - factor(load, MAPS[0], 0.6, 2.9),
            0.1,
        );
        let sum: f64 = MAPS[0].iter().sum();
        let pressure = numbers(&gradient["pressure"]);
        assert_eq!((gradient["pressure"].as_array().unwrap().len(), pressure.len()), (3, 12));
        for cell in [1, 5, 9] {
            let [ahead, behind] = [1e-3, -1e-3].map(|h| {
                let mut map = MAPS[0];
                map[cell] += h;
                factor(load, map, 0.6, 3.0)
            });
            close(pressure[cell] / sum, ahead - behind, 1e-3);
        }
    }
}

#[test]
fn arrays_of_derivatives_are_the_printed_ones() {
    let dir = folder(MAPS);
    let sweep =
        ["margin", "map.toml", "--sweep", "patch.file=['map0.npy', 'map1.npy']", "--gradients", "--at", "origin"];
    let loads = ["--load=0.7,-0.4,0.004", "--load=0,0,0", "--load=0,1,0"];
    let printed = json(dir.path(), &[&sweep[..], &loads[..]].concat());
    json(dir.path(), &[&sweep[..], &loads[..], &["--out", "m.npz"]].concat());
    let file = dir.path().join("m.npz");
    let all = ["load", "pressure", "mu", "f_n"].map(|name| read_single(&file, &format!("gradient.{name}")));
    let shapes: Vec<&[u64]> = all.iter().map(|(shape, _)| shape.as_slice()).collect();
    assert_eq!(shapes, [&[2, 3, 3][..], &[2, 3, 3, 4], &[2, 3], &[2, 3]]);
    assert_eq!(read_single(&file, "factor").0, [2, 3]);
    assert_eq!(read(&file, "f_n").1, [3.0, 3.0]);
    for k in 0..6 {
        let gradient = &printed["cases"][k / 3]["loads"][k % 3]["gradient"];
        // No load has no derivative.
        assert_eq!(gradient.is_null(), k % 3 == 1);
        for (name, (_, found)) in ["load", "pressure", "mu", "f_n"].iter().zip(&all) {
            let each = found.len() / 6;
            let found = &found[k * each..][..each];
            if k % 3 == 1 {
                assert!(found.iter().all(|d| d.is_nan()), "{name}: {found:?}");
                continue;
            }
            let wanted = numbers(&gradient[*name]);
            assert_eq!(found.len(), wanted.len());
            for (found, wanted) in found.iter().zip(wanted) {
                assert!(
                    (f64::from(*found) - wanted).abs() <= 1e-6 * (1.0 + wanted.abs()),
                    "{name}: {found} and {wanted}"
                );
            }
        }
    }
}

#[test]
fn grids_that_differ_are_padded() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("square.toml"), "[patch]\nshape = \"square\"\ncells = 3\nsize = 0.02\n").unwrap();
    let sweep = ["margin", "square.toml", "--sweep", "patch.cells=[3, 5]", "--gradients", "--load=0,0,0.01"];
    json(dir.path(), &[&sweep[..], &["--out", "m.npz"]].concat());
    let (shape, pressure) = read_single(&dir.path().join("m.npz"), "gradient.pressure");
    assert_eq!(shape, [2, 1, 5, 5]);
    let printed = json(dir.path(), &sweep);
    let small = numbers(&printed["cases"][0]["loads"][0]["gradient"]["pressure"]);
    for (cell, found) in pressure[..25].iter().enumerate() {
        let (row, column) = (cell / 5, cell % 5);
        if row < 3 && column < 3 {
            assert!((f64::from(*found) - small[3 * row + column]).abs() < 1e-5);
        } else {
            assert!(found.is_nan());
        }
    }
    assert!(pressure[25..].iter().all(|d| d.is_finite()));
    // The same of friction.
    let sweep = [&sweep[..5], &["--twist=0.1,0.03,2"]].concat();
    json(dir.path(), &[&sweep[..], &["--out", "w.npz"]].concat());
    let (shape, pressure) = read(&dir.path().join("w.npz"), "gradient.pressure");
    assert_eq!(shape, [2, 1, 3, 5, 5]);
    let small = numbers(&json(dir.path(), &sweep)["cases"][0]["twists"][0]["gradient"]["pressure"]);
    for (k, found) in pressure[..75].iter().enumerate() {
        let (map, row, column) = (k / 25, k / 5 % 5, k % 5);
        if row < 3 && column < 3 {
            assert_eq!(*found, small[9 * map + 3 * row + column]);
        } else {
            assert!(found.is_nan());
        }
    }
    assert!(pressure[75..].iter().all(|d| d.is_finite()));
}

#[test]
fn the_text_has_derivatives_and_without_the_option_nothing_has() {
    let dir = folder(MAPS);
    let ask = ["margin", "map.toml", "--load=1,0,0"];
    let (code, text, _) = bristle(dir.path(), &[&ask[..], &["--gradients"]].concat());
    assert!(code == 0 && text.contains("derivatives of that factor: by the load (-1.8"), "{text}");
    assert!(json(dir.path(), &ask)["loads"][0].get("gradient").is_none());
    json(dir.path(), &[&ask[..], &["--out", "m.npz"]].concat());
    let mut zip = zip::ZipArchive::new(fs::File::open(dir.path().join("m.npz")).unwrap()).unwrap();
    assert!(zip.by_name("gradient.load.npy").is_err() && zip.by_name("factor.npy").is_ok());
    // Derivatives by the pressure of every cell are many numbers.
    let rows: String = (0..90_000).map(|k| format!("{k},1,0\n")).collect();
    fs::write(dir.path().join("loads.csv"), format!("fx,fy,tau\n{rows}")).unwrap();
    let (code, _, stderr) = bristle(dir.path(), &["margin", "map.toml", "--loads", "loads.csv", "--gradients"]);
    assert!(code == 2 && stderr.contains("at most 83333 to print"), "{stderr}");
}

/// The friction of steady sliding that is printed.
fn friction(twist: [f64; 3], map: [f64; 12], [mu, f_n]: [f64; 2], at: &str) -> Vec<f64> {
    let dir = folder([map, map]);
    let twist = format!("--twist={:?},{:?},{:?}", twist[0], twist[1], twist[2]);
    let given = ["margin", "map.toml", &twist, "--at", at, "--mu", &mu.to_string(), "--f-n", &f_n.to_string()];
    numbers(&json(dir.path(), &given)["twists"][0]["wrench"])
}

#[test]
fn printed_derivatives_of_friction_are_its_differences() {
    let (twist, given) = ([0.07, -0.04, 6.0], [0.6, 3.0]);
    let dir = folder(MAPS);
    for at in ["cop", "origin"] {
        let report = json(dir.path(), &["margin", "map.toml", "--twist=0.07,-0.04,6", "--at", at, "--gradients"]);
        let found = &report["twists"][0];
        let (wrench, gradient) = (numbers(&found["wrench"]), &found["gradient"]);
        assert_eq!(wrench, friction(twist, MAPS[0], given, at));
        // The friction takes energy from the body.
        assert!(wrench.iter().zip(twist).map(|(f, v)| f * v).sum::<f64>() < 0.0);
        let close = |found: &[f64], [ahead, behind]: [Vec<f64>; 2], step: f64| {
            for i in 0..3 {
                let wanted = (ahead[i] - behind[i]) / (2.0 * step);
                let unit = [1.8, 1.8, 0.018][i];
                assert!((found[i] - wanted).abs() < 1e-5 * (wanted.abs() + unit), "{at}, {i}: {} {wanted}", found[i]);
            }
        };
        let by_twist = numbers(&gradient["twist"]);
        for j in 0..3 {
            let step = [1e-5, 1e-5, 1e-3][j];
            let moved = [step, -step].map(|h| {
                let mut twist = twist;
                twist[j] += h;
                friction(twist, MAPS[0], given, at)
            });
            close(&[by_twist[j], by_twist[3 + j], by_twist[6 + j]], moved, step);
        }
        let with = |mu: f64, f_n: f64| friction(twist, MAPS[0], [mu, f_n], at);
        close(&numbers(&gradient["mu"]), [with(0.61, 3.0), with(0.59, 3.0)], 0.01);
        close(&numbers(&gradient["f_n"]), [with(0.6, 3.1), with(0.6, 2.9)], 0.1);
        let (pressure, sum) = (numbers(&gradient["pressure"]), MAPS[0].iter().sum::<f64>());
        assert_eq!(pressure.len(), 36);
        for cell in [0, 5, 9] {
            // A pressure of nothing may only rise.
            let h = 1e-3;
            let pressed = |by: f64| {
                let mut map = MAPS[0];
                map[cell] += 1.0 + by;
                friction(twist, map, given, at)
            };
            let mut map = MAPS[0];
            map[cell] += 1.0;
            let dir = folder([map, map]);
            let report = json(dir.path(), &["margin", "map.toml", "--twist=0.07,-0.04,6", "--at", at, "--gradients"]);
            let pressure = numbers(&report["twists"][0]["gradient"]["pressure"]);
            let of_cell = [0, 1, 2].map(|i| pressure[12 * i + cell] / (sum + 1.0));
            close(&of_cell, [pressed(h), pressed(-h)], h);
        }
    }
}

#[test]
fn arrays_of_friction_are_the_printed_ones() {
    let dir = folder(MAPS);
    let sweep = ["margin", "map.toml", "--sweep", "patch.file=['map0.npy', 'map1.npy']", "--gradients"];
    let twists = ["--twist=0.1,0,2", "--twist=0,0,0", "--twist=0,1,0"];
    let printed = json(dir.path(), &[&sweep[..], &twists[..]].concat());
    let summary = json(dir.path(), &[&sweep[..], &twists[..], &["--out", "w.npz"]].concat());
    assert_eq!((&summary["patches"], &summary["twists"]), (&2.into(), &3.into()));
    let file = dir.path().join("w.npz");
    let all = ["twist", "pressure", "mu", "f_n"].map(|name| read(&file, &format!("gradient.{name}")));
    let shapes: Vec<&[u64]> = all.iter().map(|(shape, _)| shape.as_slice()).collect();
    assert_eq!(shapes, [&[2, 3, 3, 3][..], &[2, 3, 3, 3, 4], &[2, 3, 3], &[2, 3, 3]]);
    assert_eq!(read(&file, "twists"), (vec![3, 3], vec![0.1, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0]));
    let wrench = read(&file, "wrench").1;
    for k in 0..6 {
        let of_one = &printed["cases"][k / 3]["twists"][k % 3];
        assert_eq!(wrench[3 * k..][..3], numbers(&of_one["wrench"]));
        for (name, (_, values)) in ["twist", "pressure", "mu", "f_n"].iter().zip(&all) {
            let each = values.len() / 6;
            let found = &values[each * k..][..each];
            // At rest friction jumps.
            if k % 3 == 1 && *name == "twist" {
                assert!(of_one["gradient"][name].is_null() && found.iter().all(|v| v.is_nan()));
            } else {
                assert_eq!(found, numbers(&of_one["gradient"][name]), "{k} {name}");
            }
        }
    }
    // Files of twists, and what is refused.
    fs::write(dir.path().join("twists.csv"), "w,vx,vy\n2,0.1,0\n").unwrap();
    let of_file = json(dir.path(), &["margin", "map.toml", "--twists", "twists.csv"]);
    assert_eq!(of_file["twists"][0]["wrench"], {
        json(dir.path(), &["margin", "map.toml", "--twist=0.1,0,2"])["twists"][0]["wrench"].clone()
    });
    for wrong in [&["--twist=0.1,0"][..], &["--twist=0,0,nan"], &["--twist=0,1,0", "--load=1,0,0"]] {
        let (code, stdout, stderr) = bristle(dir.path(), &[&["margin", "map.toml"], wrong].concat());
        assert!(code == 2 && stdout.is_empty() && stderr.contains("--twist"), "{wrong:?}: {stderr}");
    }
}

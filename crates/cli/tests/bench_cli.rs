//! Runs `bristle bench` and tests that its numbers make sense. Speed is not tested.

use assert_cmd::Command;
use bristle::Simd;
use serde_json::Value;

/// Runs `bristle bench`; returns exit code, stdout and stderr.
fn bench(arguments: &[&str], environment: &[(&str, &str)]) -> (i32, String, String) {
    let mut command = Command::cargo_bin("bristle").unwrap();
    let output = command.arg("bench").args(arguments).envs(environment.iter().copied()).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

fn json(arguments: &[&str], environment: &[(&str, &str)]) -> Value {
    let (code, stdout, stderr) = bench(&[&["--json"], arguments].concat(), environment);
    assert_eq!(code, 0, "{stderr}");
    serde_json::from_str(&stdout).unwrap()
}

fn number(row: &Value, key: &str) -> f64 {
    row[key].as_f64().unwrap_or_else(|| panic!("{key} of {row}"))
}

#[test]
fn one_object_has_every_engine_and_its_numbers_fit_together() {
    let report = json(&["--seconds", "4", "-b", "3", "--threads", "1"], &[]);
    for key in ["machine", "simd", "driver", "commit"] {
        assert!(report[key].is_string(), "{key} in {report}");
    }
    let rows = report["rows"].as_array().unwrap();
    for (work, engine, precision) in [
        ("step", "baseline", "f64"),
        ("step", "cpu", "f64"),
        ("step", "cpu", "f32"),
        ("step", "gpu", "f32"),
        ("reduced", "cpu", "f64"),
        ("reduced", "gpu", "f32"),
        ("loop", "cpu", "f64"),
        ("loop", "cpu", "f32"),
        ("loop", "gpu", "f32"),
        ("surface", "cpu", "f64"),
        ("surface", "cpu", "f32"),
        ("surface", "gpu", "f32"),
        ("basis", "cpu", "f64"),
        ("basis", "cpu", "f32"),
    ] {
        let own = |row: &&Value| {
            (&row["work"], &row["engine"], &row["precision"]) == (&work.into(), &engine.into(), &precision.into())
        };
        let all: Vec<&Value> = rows.iter().filter(own).collect();
        let tables = matches!(work, "surface" | "basis");
        assert_eq!(all.len(), if tables || work == "loop" { 1 } else { 2 }, "{work} on {engine} {precision}");
        for row in all {
            assert_eq!((&row["n"], &row["contacts"]), (&21.into(), &3.into()));
            let cells = number(row, "cells");
            // 317 of 441 cells of the circle carry pressure; a random map has it in all.
            assert_eq!(
                cells,
                match work {
                    "step" | "loop" => 317.0,
                    "reduced" => 1.0,
                    _ => 441.0,
                }
            );
            let (wall, threads) = (number(row, "wall_s"), number(row, "threads"));
            let passes = number(row, "contact_steps_per_s") * wall * number(row, "passes_per_step");
            let ns = 1e9 * wall * threads / (passes * cells);
            assert!((number(row, "ns_per_cell_pass") / ns - 1.0).abs() < 1e-9, "{row}");
            if engine != "gpu" {
                assert_eq!(threads, 1.0);
            }
            if !tables {
                let steps = number(row, "simulated_s") / number(row, "step") * 3.0;
                assert!((number(row, "contact_steps_per_s") * wall / steps - 1.0).abs() < 1e-6, "{row}");
                assert!(row["passes_per_step"] == 1.0 || number(row, "passes_per_step") > 2.0 - 1e-9, "{row}");
            }
            if (engine, precision) != ("cpu", "f64") {
                let limit = match work {
                    "basis" => 1e-6,
                    "surface" => 1e-5,
                    "step" if engine == "baseline" => 5e-6,
                    _ => 1e-5,
                };
                assert!(number(row, "difference") < limit, "{row}");
            }
        }
    }
    let gpu = rows.iter().find(|row| row["engine"] == "gpu").unwrap();
    assert!(number(gpu, "device_bytes") > 3.0 * 317.0 * 8.0, "{gpu}");
}

#[test]
fn without_an_adapter_the_rest_is_measured_and_it_says_so() {
    let none = [("VK_DRIVER_FILES", "/nonexistent.json"), ("VK_ICD_FILENAMES", "/nonexistent.json")];
    let few = ["--seconds", "0", "--n", "5", "-b", "1"];
    let report = json(&few, &none);
    assert!(report["driver"].is_null() && report["no_gpu"].as_str().unwrap().contains("no GPU adapter"), "{report}");
    assert!(report["rows"].as_array().unwrap().iter().all(|row| row["engine"] != "gpu"));
    let (code, stdout, _) = bench(&few, &none);
    assert!(code == 0 && stdout.contains("GPU     none: no GPU adapter found"), "{stdout}");
    let (code, stdout, stderr) = bench(&[&few[..], &["--engine", "gpu"]].concat(), &none);
    assert_eq!((code, stdout.as_str()), (1, ""), "{stderr}");
}

#[test]
fn a_software_adapter_is_called_what_it_is() {
    let (code, stdout, stderr) = bench(&["--seconds", "0", "--n", "5", "-b", "1", "--engine", "gpu"], &[]);
    assert_eq!(code, 0, "{stderr}");
    let info = Command::cargo_bin("bristle").unwrap().args(["info", "--json"]).output().unwrap();
    let info: Value = serde_json::from_slice(&info.stdout).unwrap();
    let software = info["adapters"][0]["software"] == true;
    assert_eq!(stdout.contains("is a software driver") && stdout.contains("\nsoftware f32"), software, "{stdout}");
    assert!(stdout.lines().all(|line| line.len() <= 120), "{stdout}");
}

#[test]
fn engines_can_be_chosen_and_bad_arguments_are_refused() {
    let report = json(&["--seconds", "0", "--n", "5,6", "-b", "1,2", "--engine", "cpu,baseline"], &[]);
    let rows = report["rows"].as_array().unwrap();
    assert!(rows.iter().all(|row| row["engine"] != "gpu") && report["no_gpu"].is_null());
    for n in [5, 6] {
        let steps = rows.iter().filter(|row| row["work"] == "step" && row["n"] == n).count();
        assert_eq!(steps, 2 * 2 * 3, "two laws, two batches, baseline and two precisions");
    }
    let report = json(&["--seconds", "0", "--n", "5", "-b", "1", "--engine", "cpu", "--work", "surface"], &[]);
    assert!(report["rows"].as_array().unwrap().iter().all(|row| row["work"] == "surface"));
    let report = json(&["--seconds", "0", "--n", "5", "-b", "1", "--engine", "cpu", "--simd", "portable"], &[]);
    assert_eq!(report["simd"], "portable");
    let lesser = Simd::widest() > Simd::Baseline;
    let tables = report["rows"].as_array().unwrap().iter().filter(|row| row["work"] == "surface").count();
    assert_eq!(tables == 0, lesser, "tables take the widest");
    if lesser {
        let (code, _, stderr) = bench(&["--simd", "portable", "--work", "surface,basis"], &[]);
        assert!(code == 2 && stderr.contains("--simd"), "{stderr}");
    }
    let (code, stdout, stderr) = bench(&["--engine", "gpu", "--work", "basis"], &[]);
    assert!(code == 2 && stdout.is_empty() && stderr.contains("--engine cpu"), "{stderr}");
    for (arguments, part) in [
        (["--n", "0"], "--n 0: expected 1 to 4096"),
        (["-b", "0"], "-b 0: expected 1 to"),
        (["--threads", "0"], "--threads 0"),
        (["--seconds", "inf"], "--seconds inf"),
        (["--engine", "tpu"], "baseline, cpu, gpu"),
    ] {
        let (code, stdout, stderr) = bench(&arguments, &[]);
        assert_eq!((code, stdout.as_str()), (2, ""), "{stderr}");
        assert!(stderr.contains(part), "{stderr}");
    }
}

//! Runs `bristle bench` and tests that its numbers make sense. Speed is not tested.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;

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

/// Runs `bench --all` for the smallest patch with no time: the least of each part.
fn all(file: &Path, more: &[&str]) -> (i32, String, String) {
    let name = file.to_str().unwrap();
    let least = ["--all", "--out", name, "--n", "5", "--seconds", "0", "--threads", "1"];
    // Without optimisation the CPU's solver of reduced bristles takes more than a thread's usual 2 MB.
    bench(&[&least, more].concat(), &[("RUST_MIN_STACK", "16777216")])
}

#[test]
fn a_document_has_every_part_and_is_continued() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("here.json");
    let (code, stdout, stderr) = all(&file, &["--json", "--note", "a test"]);
    assert_eq!(code, 0, "{stderr}");
    let text = std::fs::read_to_string(&file).unwrap();
    assert_eq!(stdout, text, "stdout has what the file has");
    let document: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&document["format"], &document["note"]), (&1.into(), &"a test".into()));
    for key in ["bristle", "commit", "date", "precision"] {
        assert!(document[key].is_string(), "{key} in {document}");
    }
    for key in ["name", "driver", "backend", "max_storage_buffer_bytes", "subgroup_lanes"] {
        assert!(!document["adapter"][key].is_null(), "{key} in {document}");
    }
    let list = |key: &str| document[key].as_array().unwrap_or_else(|| panic!("{key} in {document}")).clone();
    assert!(list("unfinished").is_empty());
    assert_eq!(list("parts").len(), 6, "correctness, shapes, and two laws of two models");
    assert!(list("parts").iter().all(|part| part["fault"].is_null() && number(part, "seconds") > 0.0), "{document}");
    // Correctness: what was compared, its limit, and a difference that is no zero by accident.
    let checks = document["correctness"]["checks"].as_array().unwrap();
    assert_eq!(checks.len(), 3);
    assert!(number(&document["correctness"], "left_out") > 0.0, "there was no time for the others");
    for check in checks {
        assert!(check["passed"] == true && number(check, "largest") <= number(check, "limit"), "{check}");
    }
    assert!(number(&checks[0], "largest") > 0.0, "f32 rounds otherwise than f64: {}", checks[0]);
    assert_eq!(checks[2]["limit"], 0.0, "{}", checks[2]);
    // The layout that the adapter has now.
    let rows = document["shapes"][0]["rows"].as_array().unwrap();
    assert!(rows.len() == 1 && rows[0]["present"] == true && number(&rows[0], "ns_per_cell_pass") > 0.0, "{rows:?}");
    let throughput = list("throughput");
    let kinds: Vec<_> = throughput.iter().map(|one| (&one["model"], &one["law"])).collect();
    let of = |model: &str, law: &str| (Value::from(model), Value::from(law));
    for (model, law) in [("grid", "elasto-plastic"), ("grid", "lugre"), ("reduced", "elasto-plastic")] {
        let (model, law) = of(model, law);
        assert!(kinds.contains(&(&model, &law)), "{model}, {law}: {kinds:?}");
    }
    for one in &throughput {
        assert_eq!(one["gpu_ended_by"], "time");
        let best = &one["gpu"][0];
        let rates = [best, &one["cpu_f32"]].map(|rate| number(rate, "contact_steps_per_second"));
        assert!((number(one, "gpu_over_cpu_f32") / (rates[0] / rates[1]) - 1.0).abs() < 1e-2, "{one}");
        let steps = number(best, "simulated_seconds") / 2e-4 * number(best, "contacts");
        assert!((rates[0] * number(best, "seconds") / steps - 1.0).abs() < 1e-2, "{one}");
    }

    // A file from which the last parts are missing is continued: what it has stays as it is.
    let mut shorter = document.clone();
    shorter["parts"].as_array_mut().unwrap().truncate(3);
    shorter["throughput"].as_array_mut().unwrap().truncate(2);
    shorter["shapes"].as_array_mut().unwrap().clear();
    std::fs::write(&file, shorter.to_string()).unwrap();
    let (code, stdout, stderr) = all(&file, &[]);
    assert_eq!(code, 0, "{stderr}");
    assert!(stderr.contains("\n4 of 6") && !stderr.contains("\n3 of 6"), "{stderr}");
    assert!(stdout.contains("3 of 3 checks right") && stdout.contains("contact-steps per second"), "{stdout}");
    assert!(stdout.lines().all(|line| line.chars().count() <= 120), "{stdout}");
    let again: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(again["parts"].as_array().unwrap()[..3], document["parts"].as_array().unwrap()[..3]);
    assert_eq!(
        (again["correctness"].clone(), again["note"].clone()),
        (document["correctness"].clone(), "a test".into())
    );
    assert_eq!([&again["throughput"], &again["shapes"]].map(|all| all.as_array().unwrap().len()), [4, 1]);
    // One that is complete is printed.
    let (code, _, stderr) = all(&file, &["--json"]);
    assert!(code == 0 && !stderr.contains(" of 6"), "{stderr}");

    // Ctrl-C keeps what is finished. There is so much time that the last part does not end by itself.
    #[cfg(unix)]
    {
        let mut first = document.clone();
        first["unfinished"] = vec![first["parts"][5]["name"].clone()].into();
        first["parts"].as_array_mut().unwrap().truncate(5);
        first["shapes"].as_array_mut().unwrap().clear();
        std::fs::write(&file, first.to_string()).unwrap();
        let mut program = std::process::Command::new(assert_cmd::cargo::cargo_bin!("bristle"));
        program.args(["bench", "--all", "--out", file.to_str().unwrap(), "--n", "5", "--threads", "1"]);
        program.args(["--seconds", "100000"]).env("RUST_MIN_STACK", "16777216").stderr(Stdio::piped());
        let mut program = program.spawn().unwrap();
        let mut lines = BufReader::new(program.stderr.take().unwrap()).lines().map(Result::unwrap);
        assert!(lines.any(|line| line.contains("6 of 6")), "the last part begins");
        let sent = std::process::Command::new("kill").args(["-INT", &program.id().to_string()]).status().unwrap();
        assert!(sent.success());
        assert!(lines.any(|line| line.contains("has 5 of 6 parts")), "it says what is kept");
        assert_eq!(program.wait().unwrap().code(), Some(130));
        let kept: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
        assert_eq!(kept, first);
    }

    // A check that failed is told, by the exit code too.
    let mut wrong = document.clone();
    wrong["correctness"]["checks"][0]["passed"] = false.into();
    wrong["correctness"]["checks"][0]["fault"] = "twist[0] = 1, wanted 2".into();
    std::fs::write(&file, wrong.to_string()).unwrap();
    let (code, stdout, stderr) = all(&file, &[]);
    assert!(code == 1 && stderr.contains("not all is right"), "{code}: {stderr}");
    assert!(stdout.contains("2 of 3 checks right") && stdout.contains("wanted 2"), "{stdout}");

    // Files of others are refused, and stay.
    for (path, value) in [
        (&["adapter", "name"][..], Value::from("GPU of another")),
        (&["adapter", "driver"], "another driver".into()),
        (&["bristle"], "0.0.9".into()),
        (&["precision"], "f16".into()),
        (&["cpu", "threads"], 77.into()),
        (&["cells_per_side"], vec![7].into()),
    ] {
        let mut other = document.clone();
        let place = path.iter().fold(&mut other, |place, key| &mut place[*key]);
        *place = value.clone();
        let text = other.to_string();
        std::fs::write(&file, &text).unwrap();
        let (code, stdout, stderr) = all(&file, &[]);
        assert_eq!((code, stdout.as_str()), (2, ""), "{path:?}: {stderr}");
        assert!(stderr.contains(path[0]) && stderr.contains("or a new file"), "{stderr}");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
    }
    std::fs::write(&file, "{}").unwrap();
    let (code, _, stderr) = all(&file, &[]);
    assert!(code == 2 && stderr.contains("expected a file that `bristle bench --all` wrote"), "{stderr}");
    let (code, _, stderr) = all(&folder.path().join("here.txt"), &[]);
    assert!(code == 2 && stderr.contains(".json"), "{stderr}");
    let (code, _, stderr) = bench(&["--all"], &[]);
    assert!(code == 2 && stderr.contains("--out"), "{stderr}");
}

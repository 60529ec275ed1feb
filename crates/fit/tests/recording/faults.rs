//! Recordings and settings that cannot be used: one sentence each.

use bristle_fit::recording::{RecordingError, RecordingSpec};

use crate::{data, read, read_text};

/// A file of 20 rows, with one line in the place of the sixth row.
fn file(line: &str) -> String {
    let mut lines: Vec<String> = (0..20).map(|k| format!("{},5,{},{}", 0.1 * f64::from(k), k * k % 7, k % 5)).collect();
    if !line.is_empty() {
        line.clone_into(&mut lines[5]);
    }
    format!("time [s],normal [N],pos [mm],force [N]\n{}\n", lines.join("\n"))
}

const COLUMNS: &str = "time = { column = \"time\" }
    inputs.normal_force = { column = \"normal\" }
    inputs.position.x = { column = \"pos\" }
    compare.wrench.fx = { column = \"force\" }";

#[test]
fn wrong_numbers_are_named_with_their_line() {
    for (line, message) in [
        (
            "0.4,5,1,1",
            "a.csv: line 7: time does not go on, from 0.4 s to 0.4 s: expected times that increase, or `rate`",
        ),
        ("0.3,5,1,1", "a.csv: line 7: time goes back, from 0.4 s to 0.3 s: expected times that increase, or `rate`"),
        ("0.5,5,1,x", "a.csv: line 7: column `force [N]` has `x`: expected a number, or nothing"),
        ("0.5,5,1", "a.csv: line 7: 3 cells: expected 4, as in the first row"),
    ] {
        let error = read_text("a.csv", &file(line), COLUMNS).unwrap_err().to_string();
        assert!(error.ends_with(message), "{error}");
    }
    assert!(read_text("a.csv", &file(""), COLUMNS).is_ok());
}

#[test]
fn wrong_columns_and_units_are_named_with_their_field() {
    for (from, to, message) in [
        (
            "\"force\"",
            "\"friction\"",
            "compare.wrench.fx.column = friction: expected one of 0 `time [s]`, 1 `normal [N]`",
        ),
        ("\"force\"", "4", "compare.wrench.fx.column = 4: expected one of 0 `time [s]`"),
        ("\"pos\"", "\"pos\", unit = \"N\"", "inputs.position.x.unit = N (a force): expected a length: m, mm, um"),
        ("\"pos\"", "\"pos\", unit = \"ell\"", "inputs.position.x.unit = ell: expected a length: m, mm, um"),
        ("\"pos\"", "\"pos\", unit = \"m\"", "inputs.position.x.unit = m: expected mm, as the column `pos [mm]` says"),
        ("\"pos\"", "\"force\"", "position.x.unit = N (a force), by the column `force [N]`: expected a length"),
        ("time = { column = \"time\" }", "", "time = missing: expected `time`, a column of times, or `rate`"),
        ("time = {", "from = 7.0\ntime = {", "no rows from 7 s to inf s: expected a span within its times, 0 s to 1.9"),
        ("time = {", "from = 1.3\ntime = {", "7 rows to compare with: expected at least 10"),
        ("time = {", "every = 0.3\ntime = {", "7 samples of `wrench.fx` to compare with: expected at least 10"),
        (
            "\"normal\"",
            "\"normal\", sign = -1",
            "normal_force = -5 N (median): expected a force that presses, above 0 N",
        ),
    ] {
        assert!(COLUMNS.contains(from), "{from}");
        let error = read_text("a.csv", &file(""), &COLUMNS.replacen(from, to, 1)).unwrap_err().to_string();
        assert!(error.contains(&format!("a.csv: {message}")) || error.contains(message), "{to}: {error}");
        assert!(error.contains("a.csv: "), "{error}");
    }
    // A word in brackets that is no unit we know may be one that others know.
    let pounds = file("").replacen("force [N]", "force (lb)", 1);
    let error = read_text("a.csv", &pounds, COLUMNS).unwrap_err().to_string();
    assert!(error.contains("fx.unit = lb, by the column `force (lb)`: expected a force: N, mN"), "{error}");
    assert!(read_text("a.csv", &pounds, &COLUMNS.replacen("\"force\"", "\"force\", unit = \"lbf\"", 1)).is_ok());
    let twice = "force,force\n".to_owned() + &"1,2\n".repeat(20);
    let error = read_text("a.csv", &twice, "rate = 1.0\ncompare.wrench.fx.column = \"force\"").unwrap_err().to_string();
    let accepted = "expected one column, not 0 `force`, 1 `force`: a longer name, or a number from 0";
    assert!(error.ends_with(accepted), "{error}");
}

#[test]
fn settings_that_contradict_are_refused() {
    for (settings, message) in [
        ("from = 3.0\nto = 2.0", "to = 2: expected a time after `from`, 3 s"),
        ("rate = 5.0", "rate = 5: expected either `time` or `rate`, not both"),
        ("every = 0.0", "every = 0: expected a number above 0"),
        ("gap = nan", "gap = NaN: expected a number above 0"),
        ("average = true", "average = true: expected `every`, the time that is averaged over [s]"),
        ("least_normal_force = -1.0", "least_normal_force = -1: expected a force from 0 N on"),
        (
            "inputs.twist.w = { column = 1 }",
            "inputs.twist = given: expected either `inputs.position` or `inputs.twist`",
        ),
        (
            "inputs.wrench.fx = { column = 1, scale = 0.0 }",
            "inputs.wrench.fx.scale = 0: expected a number other than 0",
        ),
        ("inputs.wrench.fx = { column = 1, sign = \"auto\" }", "inputs.wrench.fx.sign = auto: expected 1 or -1"),
    ] {
        let error = read_text("a.csv", &file(""), &format!("{settings}\n{COLUMNS}")).unwrap_err();
        assert!(matches!(error, RecordingError::Setting(_)), "{error}");
        assert!(error.to_string().starts_with(message), "{error}");
    }
    let error = read_text("a.csv", &file(""), "rate = 1.0\ncompare = {}").unwrap_err().to_string();
    assert_eq!(error, "compare = {}: expected at least one column, such as `compare.wrench.fx`");
}

#[test]
fn settings_that_are_no_settings_are_refused() {
    for (settings, message) in [
        ("speed = 1.0", "unknown field `speed`"),
        ("inputs.position.z = { column = 1 }", "unknown field `z`, expected one of `x`, `y`, `theta`"),
        ("compare.wrench.fy = { colum = 1 }", "unknown field `colum`"),
        ("compare.wrench.fy = { column = -1 }", "expected the name of a column, or its number from 0"),
        ("compare.wrench.fy = { column = 1, sign = 2 }", "invalid value: integer `2`, expected 1, -1 or \"auto\""),
        ("compare.wrench.fy = { column = 1, sign = \"x\" }", "invalid value: string \"x\", expected 1, -1 or \"auto\""),
    ] {
        let text = format!("{settings}\n{COLUMNS}");
        let error = toml::from_str::<RecordingSpec>(&text).unwrap_err().to_string();
        assert!(error.contains(message), "{settings}: {error}");
    }
}

#[test]
fn what_is_no_file_of_columns_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    std::fs::create_dir(at("dir.csv")).unwrap();
    for (name, bytes) in
        [("a.npz", &b"PK"[..]), ("a.npy", b""), ("a.parquet", b"PAR1"), ("a.xlsx", b""), ("b.csv", b"")]
    {
        std::fs::write(at(name), bytes).unwrap();
    }
    for (name, message) in [
        ("dir.csv", "is a directory: expected a regular file"),
        ("none.csv", "No such file"),
        ("a.npz", "not an NPZ file"),
        ("a.xlsx", "expected a name that ends in .csv, .tsv, .txt, .npz, .npy, .parquet or .mcap"),
        ("a.parquet", "expected Parquet"),
        ("a.npy", "a.npy: "),
        ("b.csv", "no rows: expected a header and numbers"),
    ] {
        let error = read(&at(name), COLUMNS).unwrap_err().to_string();
        assert!(error.contains(message) && error.contains(name), "{error}");
    }
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("/dev/zero", at("zero.tsv")).unwrap();
        let error = read(&at("zero.tsv"), COLUMNS).unwrap_err().to_string();
        assert!(error.ends_with("is a device: expected a regular file"), "{error}");
    }
}

/// A unit that is wrong by a million shows in the numbers.
#[test]
fn numbers_that_cannot_be_are_said() {
    let settings = "time.column = 0
        inputs.normal_force = { column = 1, unit = \"uN\", scale = 1e12 }
        inputs.position.x = { column = 2, scale = 1e6 }
        compare.wrench.fx = { column = 3 }";
    let recording = read(&data("tribometer.tsv"), settings).unwrap();
    let said = |start: &str| assert!(recording.notes.iter().any(|n| n.starts_with(start)), "{:?}", recording.notes);
    said("`normal_force` is 5.000e12 N (median of its size): check its unit.");
    // 0.2285 mm in these rows, a million times too large.
    said("`position.x` is 2.285e2 m (from end to end): check its unit.");
    said("Friction is 4.");
    let settings = "time.column = 0
        inputs.normal_force = { column = 1, unit = \"uN\" }
        inputs.position.x = { column = 2, scale = 1e-9 }
        compare.wrench.fx = { column = 3, unit = \"uN\" }";
    let notes = read(&data("tribometer.tsv"), settings).unwrap().notes;
    let note = "The patch travels 2.285e-13 m from end to end: check the unit of its position.";
    assert!(notes.iter().any(|n| n == note), "{notes:?}");
    // Times in s that are said to be in hours.
    let content = std::fs::read_to_string(data("tribometer.tsv")).unwrap().replacen("Time [s]", "Time", 1);
    let settings = "time = { column = 0, unit = \"h\" }\ncompare.wrench.fx.column = 3";
    let recording = read_text("a.tsv", &content, settings).unwrap();
    assert_eq!(recording.notes, ["Samples are 1.800e1 s apart (median): check the unit of the times."]);
}

/// A name that is a column's but for its unit is that column, although others begin alike.
#[test]
fn a_name_without_its_unit_is_found() {
    let rows: String = (0..20).map(|k| format!("{},{},1,{}\n", 0.1 * f64::from(k), 2 * k, 3 * k)).collect();
    let content = format!("t [s],Tx [N mm],yaw [deg],y (mm)\n{rows}");
    let settings = "time.column = \"t\"\ncompare.wrench.tau = { column = \"Tx\" }\n\
                    inputs.position.y = { column = \"y\" }\ninputs.position.theta.column = \"yaw\"";
    let recording = read_text("a.csv", &content, settings).unwrap();
    let y = recording.inputs.iter().find(|c| c.name == "position.y").unwrap();
    assert!((y.values[1] - 3e-3).abs() < 1e-15 && recording.time[1] == 0.1, "{:?}", y.values);
    let error = read_text("a.csv", &content, &settings.replace("\"y\"", "\"Y\"")).unwrap_err().to_string();
    assert!(error.contains("one column, not "), "{error}");
}

/// Positions that come in steps, or with noise, about as large as the motion between samples are said, with
/// how far apart samples should be; finer ones are not.
#[test]
fn positions_that_are_coarse_beside_the_motion_are_said() {
    let draw = bristle::random::Draw::new(3, 0);
    let notes = |position: &dyn Fn(f64, usize) -> [f64; 2]| {
        let row = |k: usize| {
            let t = 1e-3 * k as f64;
            let [x, y] = position(5e-3 * (2.0 * t).sin(), k);
            format!("{t},{x},{y},{}\n", 0.4 * (2.0 * t).cos().signum() + 0.01 * draw.normal(&format!("f{k}")))
        };
        let content = format!("t,x,y,f\n{}", (0..4000).map(row).collect::<String>());
        let settings = "time.column = 0\ninputs.position.x.column = 1\ninputs.position.y.column = 2\n\
                        compare.wrench.fx.column = 3";
        read_text("a.csv", &content, settings).unwrap().notes
    };
    let is_said = |notes: &[String]| notes.iter().any(|n| n.starts_with("`position.x` is known to "));
    let noise = |size: f64, k: usize| size * draw.normal(&format!("{k}"));
    assert!(!is_said(&notes(&|x, _| [x, 0.0])));
    assert!(!is_said(&notes(&|x, k| [x + noise(2e-7, k), 0.0])));
    let counted = notes(&|x, _| [(x / 1e-5).round() * 1e-5, 0.0]);
    assert!(is_said(&counted) && counted.iter().any(|n| n.contains("`every = 0.00")), "{counted:?}");
    assert!(is_said(&notes(&|x, k| [x + noise(1e-5, k), 0.0])));
    // A drive that moves by one, two and four whole steps is where it says.
    let whole = |k: usize| (0..k).map(|k| [1, 2, -1, -4][k / 200 % 4]).sum::<i64>() as f64 * 1e-5;
    assert!(!is_said(&notes(&|_, k| [whole(k), 0.0])));
    assert!(notes(&|x, k| [if k == 77 { x + 0.5 } else { x }, 0.0]).iter().any(|n| n.contains("jumps 2 times faster")));
}

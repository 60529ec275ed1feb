//! Runs `bristle stability`: the examples, the printed answer, the picture, and errors for bad input.

use std::fs;
use std::path::Path;

use crate::program::{bristle, json};
use serde_json::Value;

const POINT: &str = "mu = 0.5\n[fixed]\nforce = [0, 0, -20]\n[load]\nforce = [4, 0, 0]\n[[contacts]]\n\
                     position = [0, 0, 0]\nnormal = [0, 0, 1]\n";

fn folder() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("point.toml"), POINT).unwrap();
    dir
}

fn example(name: &str) -> String {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join("examples").join(format!("{name}.toml"));
    path.to_str().unwrap().to_owned()
}

/// Of the factor's end `k`.
fn factor(report: &Value, k: usize) -> f64 {
    report["factors"][k].as_f64().unwrap_or_else(|| panic!("{report}"))
}

fn assert_near(found: f64, wanted: f64, share: f64) {
    assert!((found / wanted - 1.0).abs() < share, "{found}, wanted {wanted}");
}

#[test]
fn a_foot_slides_or_tips_as_statics_says() {
    let dir = folder();
    let foot = example("foot");
    let report = json(dir.path(), &["stability", &foot, "--plot", "foot.svg"]);
    assert_eq!(report["holds"], true);
    // About the lower edge, at x = -0.1159, z = -0.0311: 294 N at x = 0.02 against the push at z = 0.6.
    assert_near(factor(&report, 1), 294.0 * (0.02 + 0.1159) / (0.6 + 0.0311), 1e-6);
    let picture = fs::read_to_string(dir.path().join("foot.svg")).unwrap();
    assert!(picture.contains("foot.toml: holds") && picture.contains("contact forces that balance"));
    // With little friction it slides first: tan(15 deg) = 0.268, and the push adds to what pulls downhill.
    let report = json(dir.path(), &["stability", &foot, "--set", "mu=0.3"]);
    let slope = 0.2588f64 / 0.9659;
    assert_near(factor(&report, 1), 294.0 * (0.3 - slope) / (1.0 + 0.3 * slope), 1e-5);
    let report = json(dir.path(), &["stability", &foot, "--set", "mu=0.25", "--plot", "slides.svg"]);
    assert_eq!((&report["holds"], &report["factors"]), (&false.into(), &Value::Null));
    let picture = fs::read_to_string(dir.path().join("slides.svg")).unwrap();
    assert!(picture.contains("foot.toml: does not hold") && picture.contains("motion that no contact stops"));
}

#[test]
fn a_hand_holds_until_a_finger_presses_as_hard_as_it_can() {
    let dir = folder();
    let hand = example("hand");
    let report = json(dir.path(), &["stability", &hand]);
    assert_eq!((&report["holds"], report["contacts"].as_array().unwrap().len()), (&true.into(), 3));
    let pull = factor(&report, 1);
    for contact in report["contacts"].as_array().unwrap() {
        let [normal, most] = ["normal", "most"].map(|key| contact[key].as_f64().unwrap());
        assert!(normal > 0.0 && normal <= most && contact["margin"].as_f64().unwrap() > -1e-6, "{contact}");
    }
    // Pyramids inside the cones hold less, such around them more; and weaker fingers less.
    let with = |changes: &[&str]| {
        let changes: Vec<&str> = changes.iter().flat_map(|change| ["--set", change]).collect();
        factor(&json(dir.path(), &[&["stability", hand.as_str()], &changes[..]].concat()), 1)
    };
    let [inner, outer] = ["inner", "outer"].map(|kind| with(&[&format!("cone={{ pyramid = 16, kind = '{kind}' }}")]));
    assert!(0.7 * pull < inner && inner < pull && pull < outer && outer < 1.3 * pull, "{inner} {pull} {outer}");
    assert!(with(&["contacts.0.most=10", "contacts.1.most=6", "contacts.2.most=6"]) < pull);
}

#[test]
fn a_stack_tips_over_the_edge_that_carries_it() {
    let dir = folder();
    let report = json(dir.path(), &["stability", &example("stack")]);
    assert_eq!(report["bodies"], serde_json::json!(["lower", "upper"]));
    // The upper brick about the end of the lower one: 30 N 60 mm behind it, the load as far ahead. Then both
    // about the same line: 30 N 120 mm behind it help.
    assert_near(factor(&report, 1), 30.0, 1e-6);
    let (code, stdout, _) = bristle(dir.path(), &["stability", &example("stack")]);
    assert_eq!(code, 0);
    for part in [
        "2 bodies, 8 contacts, inner pyramids of 8 sides\nHOLDS: ",
        "up to 30 times",
        "lower on world",
        "upper on lower",
        "  upper: velocity",
    ] {
        assert!(stdout.contains(part), "{part} in {stdout}");
    }
}

#[test]
fn a_point_says_what_it_can() {
    let dir = folder();
    let (code, stdout, stderr) = bristle(dir.path(), &["stability", "point.toml"]);
    assert_eq!((code, stderr.as_str()), (0, ""));
    for part in [
        "1 body, 1 contact, circular cones",
        "HOLDS: the load may be up to 2.5 times as large",
        "40 %",
        "why no larger",
    ] {
        assert!(stdout.contains(part), "{part} in {stdout}");
    }
    let say = |change: &str| bristle(dir.path(), &["stability", "point.toml", "--set", change]).1;
    assert!(say("load.force=[0, 0, -1]").contains("HOLDS: any factor of the load is held"));
    assert!(say("load.force=[11, 0, 0]").contains("DOES NOT HOLD: the load may be up to 0.9091 times as large"));
    assert!(say("fixed.force=[1, 0, 1]").contains("DOES NOT HOLD: neither what is fixed alone nor any factor"));
    assert!(say("fixed.force=[10, 0, -10]").contains("DOES NOT HOLD"));
    let pressed = bristle(
        dir.path(),
        &["stability", "point.toml", "--set", "fixed.force=[10, 0, -10]", "--set", "load.force=[0, 0, -5]"],
    );
    assert!(pressed.1.contains("DOES NOT HOLD: the load must be at least 2 times as large"), "{}", pressed.1);
}

#[test]
fn bad_input_gets_one_clear_error_and_exit_code_2() {
    let dir = folder();
    fs::write(dir.path().join("there.svg"), "").unwrap();
    for (arguments, parts) in [
        (vec!["none.toml"], vec!["none.toml"]),
        (
            vec!["point.toml", "--set", "contacts.0.mu=-1"],
            vec!["point.toml (with changes):9:6", "contacts.0.mu = -1", "^"],
        ),
        (vec!["point.toml", "--set", "friction=1"], vec!["unknown field `friction`, expected one of `cone`, `mu`"]),
        (vec!["point.toml", "--set", "contacts.7.mu=1"], vec!["`contacts` has 1 elements"]),
        (vec!["point.toml", "--plot", "there.svg"], vec!["--plot there.svg", "`--force`"]),
        (vec!["point.toml", "--plot", "a.png"], vec!["ends in .svg"]),
    ] {
        let (code, stdout, stderr) = bristle(dir.path(), &[&["stability"], &arguments[..]].concat());
        assert_eq!((code, stdout.as_str()), (2, ""), "{arguments:?}: {stderr}");
        assert!(
            stderr.starts_with("error: ") && parts.iter().all(|part| stderr.contains(part)),
            "{parts:?} in {stderr}"
        );
    }
}

#[test]
fn the_schema_lists_the_keys_of_the_page() {
    let dir = folder();
    let (code, stdout, _) = bristle(dir.path(), &["schema", "stability"]);
    let schema: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(code, 0);
    let page = include_str!("../../../../docs/stability.md");
    let tables = std::iter::once(&schema).chain(schema["$defs"].as_object().unwrap().values());
    let keys: Vec<&String> =
        tables.flat_map(|table| table["properties"].as_object().into_iter().flatten()).map(|(key, _)| key).collect();
    assert!(keys.len() > 20, "{keys:?}");
    for key in keys {
        assert!(
            page.contains(&format!("`{key}`"))
                || page.contains(&format!("{key} ="))
                || page.contains(&format!("[{key}]")),
            "{key}"
        );
    }
}

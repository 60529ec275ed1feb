//! Files of any bytes give an error or numbers, and never a panic.

use std::path::Path;
use std::sync::LazyLock;

use bristle_fit::recording::Recording;
use proptest::prelude::*;

use crate::{data, formats, spec};

/// Reads the bytes as a file that is named like this, in several ways.
fn read(name: &str, bytes: &[u8]) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    for text in [
        "time.column = 0\ninputs.normal_force.column = 1\ninputs.position.x.column = 2\ncompare.wrench.fx.column = 3",
        "rate = 100.0\nevery = 0.05\naverage = true\ninputs.twist.w.column = 0\ncompare.pose.theta.column = 1",
        "inputs.position.theta.column = \"pad.pose.yaw\"\ncompare.wrench.tau.column = \"ft.wrench.torque.z\"",
        "time.column = \"header.stamp\"\ncompare.wrench.tau.column = \"joints.effort.elbow\"",
    ] {
        check(&path, text);
    }
}

fn check(path: &Path, text: &str) {
    let Ok(recording) = Recording::read(path, &spec(text)) else { return };
    let length = recording.time.len();
    assert!(recording.time.windows(2).all(|pair| pair[1] > pair[0]));
    assert!(recording.inputs.iter().all(|c| c.values.len() == length && c.values.iter().all(|v| v.is_finite())));
    assert!(recording.compared.iter().all(|c| c.values.len() == length));
    assert_eq!(recording.pieces.iter().map(ExactSizeIterator::len).sum::<usize>(), length);
    // Numbers that are too large for a signal are refused there.
    let _ = recording.twist();
}

/// A file of each format: rows of numbers, and messages.
fn files() -> Vec<(&'static str, Vec<u8>)> {
    let mut table = Vec::new();
    let text = std::fs::read_to_string(data("tribometer.tsv")).unwrap();
    let lines: Vec<&str> = text.lines().take(60).collect();
    table.push(("a.tsv", lines.join("\n").into_bytes()));
    let numbers: Vec<f64> = lines[1..].iter().flat_map(|l| l.split('\t')).map(|v| v.parse().unwrap()).collect();
    let header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({}, 4), }}", numbers.len() / 4);
    let header = format!("{header:<117}\n");
    let mut npy = [&b"\x93NUMPY\x01\x00"[..], &(header.len() as u16).to_le_bytes(), header.as_bytes()].concat();
    npy.extend(numbers.iter().flat_map(|v| v.to_le_bytes()));
    table.push(("a.npy", npy));
    table.push(("a.mcap", std::fs::read(data("ros2.mcap")).unwrap()));
    let dir = tempfile::tempdir().unwrap();
    let [npz, parquet] = ["a.npz", "a.parquet"].map(|name| dir.path().join(name));
    formats::npz(&npz, &[("log", &[numbers.len() as u64 / 4, 4], &numbers)]);
    formats::parquet(&parquet, ["t", "n", "x", "f"]);
    table.push(("a.npz", std::fs::read(npz).unwrap()));
    table.push(("a.parquet", std::fs::read(parquet).unwrap()));
    table
}

static FILES: LazyLock<Vec<(&str, Vec<u8>)>> = LazyLock::new(files);

/// The library that reads Parquet panics at one such change at least: it prints that, and is not heard.
#[test]
fn every_byte_of_parquet() {
    let (name, bytes) = FILES.iter().find(|(name, _)| *name == "a.parquet").unwrap();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(name);
    for k in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[k] = 7;
        std::fs::write(&path, changed).unwrap();
        check(&path, "rate = 1.0\ncompare.wrench.fx.column = 3");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn changed_bytes(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
                     cut in prop::option::of(any::<prop::sample::Index>())) {
        for (name, mut bytes) in FILES.iter().cloned() {
            for (place, byte) in &changes {
                let k = place.index(bytes.len());
                bytes[k] = *byte;
            }
            if let Some(cut) = cut {
                bytes.truncate(cut.index(bytes.len()));
            }
            read(name, &bytes);
        }
    }

    #[test]
    fn any_text(text in "[0-9,;\t\n\r#\".eE+ naif-]{0,300}") {
        read("a.csv", text.as_bytes());
        read("a.txt", text.as_bytes());
    }
}

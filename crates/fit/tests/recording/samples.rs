//! What is done to the samples: gaps, what is missing or masked, means, the end of a sensor's range.

use std::fmt::Write;
use std::ops::Range;

use crate::{read_text, values};

/// A file of time, normal force, velocity and friction at 1 kHz for 4 s; nothing where `cell` says so.
fn file(cell: impl Fn(usize, usize, f64) -> Option<f64>) -> String {
    file_with(cell, noise)
}

fn file_with(cell: impl Fn(usize, usize, f64) -> Option<f64>, noise: fn(usize) -> f64) -> String {
    let mut text = "t [s],N [N],v [mm/s],F [N]\n".to_owned();
    for k in 0..4000 {
        let t = 1e-3 * k as f64;
        let row = [t, 10.0 + (2.0 * t).sin(), 20.0 * (5.0 * t).cos(), 4.0 * (5.0 * t).cos() + noise(k)];
        let row: Vec<Option<f64>> = row.iter().enumerate().map(|(c, v)| cell(k, c, *v)).collect();
        if row[0].is_some() {
            let cells: Vec<String> = row.iter().map(|v| v.map_or(String::new(), |v| v.to_string())).collect();
            writeln!(text, "{}", cells.join(",")).unwrap();
        }
    }
    text
}

/// Even numbers from -0.1 to 0.1 in no order.
fn noise(k: usize) -> f64 {
    0.2 * (((k as f64 * 12.9898).sin() * 43_758.545_3).rem_euclid(1.0) - 0.5)
}

const COLUMNS: &str = "time.column = \"t\"
    inputs.normal_force.column = \"N\"
    inputs.twist.vx.column = \"v\"
    compare.wrench.fx.column = \"F\"\n";

#[test]
fn longer_times_than_usual_are_gaps_and_nothing_crosses_them() {
    let content = file(|k, c, v| (c > 0 || !(1000..1200).contains(&k) && k != 2500).then_some(v));
    let recording = read_text("a.csv", &content, COLUMNS).unwrap();
    assert_eq!(recording.pieces, [0..1000, 1000..3799]);
    assert_eq!(recording.notes, ["1 gaps of more than 0.005 s between rows, the longest 0.201 s."]);
    // A row that is missing is a gap if it is said to be one.
    let finer = read_text("a.csv", &content, &format!("gap = 0.0015\n{COLUMNS}")).unwrap();
    assert_eq!(finer.pieces, [0..1000, 1000..2300, 2300..3799]);
    let fewer = read_text("a.csv", &content, &format!("every = 0.01\n{COLUMNS}")).unwrap();
    let of_piece = |piece: &Range<usize>| piece.len() - fewer.turns.iter().filter(|i| piece.contains(i)).count();
    assert_eq!(fewer.pieces.iter().map(of_piece).collect::<Vec<usize>>(), [100, 280]);
    assert_eq!(fewer.time[fewer.pieces[1].start], 1.2);
    // Where the velocity changes its sign, unless a row that is kept is as near.
    assert!((1..=6).contains(&fewer.turns.len()), "{:?}", fewer.turns);
    assert!(fewer.turns.iter().all(|i| (5.0 * fewer.time[*i]).cos().abs() < 0.01), "{:?}", fewer.turns);
    // Within a piece the motion is that of the velocity: 20/5 mm times the sine.
    let v = values(&fewer, "twist.vx");
    for piece in &fewer.pieces {
        let (first, last) = (piece.start, piece.end - 1);
        let moved: f64 = (first..last).map(|k| v[k] * (fewer.time[k + 1] - fewer.time[k])).sum();
        let [start, end] = [first, last].map(|k| 4e-3 * (5.0 * fewer.time[k]).sin());
        approx::assert_abs_diff_eq!(moved, end - start, epsilon = 2e-8);
    }
}

#[test]
fn missing_values_of_inputs_leave_rows_out_and_of_others_are_not_compared() {
    let content = file(|k, c, v| match (c, k) {
        (1, 500..520) | (3, 2000..2100) => None,
        _ => Some(v),
    });
    let recording = read_text("a.csv", &content, COLUMNS).unwrap();
    assert_eq!((recording.time.len(), recording.pieces.clone()), (3980, vec![0..500, 500..3980]));
    let friction = values(&recording, "wrench.fx");
    assert_eq!(friction.iter().filter(|v| v.is_nan()).count(), 100);
    assert!(friction[2000 - 20].is_nan() && !friction[1999 - 20].is_nan());
    assert!(recording.inputs.iter().all(|c| c.values.iter().all(|v| v.is_finite())));
    assert_eq!(recording.notes[0], "20 of 4000 rows have no `normal_force` and are left out.");
    assert_eq!(recording.notes[1], "100 of 3980 rows have no `wrench.fx` and are not compared there.");
}

#[test]
fn little_normal_force_is_not_compared_and_none_is_zero() {
    let content = file(|k, c, v| Some(if c == 1 && k < 300 { v - 11.0 } else { v }));
    let recording = read_text("a.csv", &content, &format!("least_normal_force = 2.0\n{COLUMNS}")).unwrap();
    let friction = values(&recording, "wrench.fx");
    assert!(friction.iter().enumerate().all(|(k, v)| v.is_nan() == (k < 300)));
    assert_eq!(values(&recording, "normal_force")[0], 0.0);
    assert!(recording.notes.contains(&"300 of 4000 rows have less normal force than 2 N: not compared.".to_owned()));
}

/// A column that says nothing is refused: fitted to it, anything would fit.
#[test]
fn columns_without_a_force_are_refused() {
    for (column, wanted) in [
        (1, "inputs.normal_force = 0 N in all rows: expected a force that presses, above 0 N, in some rows"),
        (3, "compare.wrench.fx = 0 in all samples: expected a column that a sensor has written"),
    ] {
        let content = file(|_, c, v| Some(if c == column { 0.0 } else { v }));
        let error = read_text("a.csv", &content, COLUMNS).unwrap_err().to_string();
        assert!(error.contains(wanted), "{error}");
    }
}

/// Means of 20 samples have a noise that is smaller by the root of 20; samples have all of it.
#[test]
fn means_are_taken_if_asked_for() {
    let content = file(|_, _, v| Some(v));
    let rms = |more: &str| {
        let recording = read_text("a.csv", &content, &format!("{more}\n{COLUMNS}")).unwrap();
        let compared = recording.time.iter().zip(values(&recording, "wrench.fx")).filter(|(_, v)| v.is_finite());
        assert_eq!(compared.clone().count(), 200, "{:?}", recording.notes);
        let error = |(t, v): (&f64, &f64)| (v - 4.0 * (5.0 * t).cos()).powi(2);
        (compared.map(error).sum::<f64>() / 200.0).sqrt()
    };
    let even = 0.2 / 12f64.sqrt();
    let (one, mean) = (rms("every = 0.02"), rms("every = 0.02\naverage = true"));
    assert!((0.9..1.1).contains(&(one / even)), "{one}");
    assert!((0.6..1.4).contains(&(mean / even * 20f64.sqrt())), "{mean}");
}

#[test]
fn the_end_of_a_range_is_not_compared_unless_asked_for() {
    let at_end = std::cell::Cell::new(0);
    let cut = |_, c, v: f64| {
        at_end.set(at_end.get() + usize::from(c == 3 && v >= 3.0));
        Some(if c == 3 { v.min(3.0) } else { v })
    };
    let content = file(cut);
    let recording = read_text("a.csv", &content, COLUMNS).unwrap();
    let friction = values(&recording, "wrench.fx");
    let masked = friction.iter().filter(|v| v.is_nan()).count();
    // Short runs, where noise brings the wave up to the end and away from it, are not told from a repetition.
    assert!(masked <= at_end.get() && masked * 20 > at_end.get() * 19, "{masked} of {}", at_end.get());
    let [note] = &recording.notes[..] else { panic!("{:?}", recording.notes) };
    assert!(note.starts_with("`wrench.fx` stays at 3 N in ") && note.ends_with("`saturated = \"keep\"` keeps them."));
    let kept = read_text("a.csv", &content, &format!("{COLUMNS}compare.wrench.fx.saturated = \"keep\"")).unwrap();
    assert!(values(&kept, "wrench.fx").iter().all(|v| v.is_finite()) && kept.notes.is_empty());
    // Friction as it is computed, without noise, may stay at its limit: that is said, and compared.
    let exact = |_: usize, c: usize, v: f64| Some(if c == 3 { v.min(3.0) } else { v });
    let computed = file_with(exact, |_| 0.0);
    let recording = read_text("a.csv", &computed, COLUMNS).unwrap();
    assert!(values(&recording, "wrench.fx").iter().all(|v| v.is_finite()));
    let [note] = &recording.notes[..] else { panic!("{:?}", recording.notes) };
    assert!(note.contains("that may be the end of the sensor's range. They are compared;"), "{note}");
    let masked = read_text("a.csv", &computed, &format!("{COLUMNS}compare.wrench.fx.saturated = \"mask\"")).unwrap();
    assert!(values(&masked, "wrench.fx").iter().any(|v| v.is_nan()));
}

#[test]
fn the_span_is_on_the_clock_of_the_recording() {
    let content = file(|_, c, v| Some(if c == 0 { v + 100.0 } else { v }));
    let recording = read_text("a.csv", &content, &format!("from = 101.0\nto = 101.5\n{COLUMNS}")).unwrap();
    assert_eq!((recording.start, recording.time[0], recording.time.len()), (101.0, 0.0, 501));
    // A clock that is set back outside of the span does no harm.
    let content = file(|k, c, v| Some(if c == 0 && k < 100 { v + 50.0 } else { v }));
    let recording = read_text("a.csv", &content, &format!("from = 0.5\nto = 3.0\n{COLUMNS}")).unwrap();
    assert_eq!(recording.time.len(), 2501);
}

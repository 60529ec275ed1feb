//! A recording of a tribometer: rows of it that are here, and the whole file where it is (the folder
//! `BRISTLE_RECORDINGS`, or `../shared/data/recordings`).

use std::path::{Path, PathBuf};

use bristle_fit::recording::Sign;

use crate::{data, read, values};

const COLUMNS: &str = r#"
    time = { column = "Time" }
    least_normal_force = 1.0
    inputs.normal_force = { column = "Normal" }
    inputs.position.x = { column = "Position [mm]", unit = "mm" }
    compare.wrench.fx = { column = 3 }
"#;

#[test]
fn rows_of_it_are_in_si_units() {
    let recording = read(&data("tribometer.tsv"), COLUMNS).unwrap();
    assert_eq!((recording.time.len(), recording.start, recording.time[0]), (1600, 62.004, 0.0));
    let last = recording.time.len() - 1;
    approx::assert_abs_diff_eq!(recording.time[last], 7.995, epsilon = 1e-12);
    let force = values(&recording, "normal_force");
    let mean = force.iter().sum::<f64>() / force.len() as f64;
    approx::assert_abs_diff_eq!(mean, 5.0, epsilon = 1e-3);
    assert_eq!(recording.compared[0].sign, Sign::Auto);
    // Nothing is odd, so nothing is said.
    assert_eq!(
        (&recording.pieces[..], recording.notes.len()),
        (std::slice::from_ref(&(0..1600)), 0),
        "{:?}",
        recording.notes
    );
}

/// Position is kept exactly, whatever is left out.
#[test]
fn fewer_rows_move_as_far() {
    let all = read(&data("tribometer.tsv"), COLUMNS).unwrap();
    let fewer = read(&data("tribometer.tsv"), &format!("every = 0.02\n{COLUMNS}")).unwrap();
    assert_eq!(fewer.time.len(), 400);
    assert_eq!(fewer.notes.len(), 1, "{:?}", fewer.notes);
    let twist = fewer.twist().unwrap().unwrap();
    let (mut x, mut k) = (values(&fewer, "position.x")[0], 0);
    for (i, pair) in fewer.time.windows(2).enumerate() {
        x += twist[0].value(0.5 * (pair[0] + pair[1])) * (pair[1] - pair[0]);
        while all.time[k] < pair[1] - 1e-9 {
            k += 1;
        }
        approx::assert_abs_diff_eq!(x, values(&all, "position.x")[k], epsilon = 1e-15);
        assert_eq!(values(&fewer, "wrench.fx")[i + 1], values(&all, "wrench.fx")[k]);
    }
}

#[test]
fn the_whole_file() {
    let default = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/recordings");
    let folder = PathBuf::from(std::env::var_os("BRISTLE_RECORDINGS").unwrap_or_else(|| default.into()));
    let path: &Path = &folder.join("tribometer.tsv");
    if !path.is_file() {
        println!("skipped: no recording at {}", path.display());
        return;
    }
    let recording = read(path, &format!("from = 11.0\nto = 206.0\n{COLUMNS}")).unwrap();
    println!("{:#?}", recording.notes);
    // By its description: 5.000 N with a standard deviation of 0.001 N, and 0.24 mm from end to end.
    let force = values(&recording, "normal_force");
    let count = force.len() as f64;
    let mean = force.iter().sum::<f64>() / count;
    let deviation = (force.iter().map(|f| (f - mean).powi(2)).sum::<f64>() / count).sqrt();
    assert!((mean - 5.0).abs() < 1e-3 && (5e-4..2e-3).contains(&deviation), "{mean} +- {deviation}");
    let ends = |v: &[f64]| v.iter().fold([f64::INFINITY, -f64::INFINITY], |[a, b], v| [a.min(*v), b.max(*v)]);
    let [least, most] = ends(values(&recording, "position.x"));
    assert!((2.2e-4..2.6e-4).contains(&(most - least)), "{}", most - least);
    let [least, most] = ends(values(&recording, "wrench.fx"));
    assert!((0.4..0.6).contains(&(most / 5.0)) && (0.4..0.6).contains(&(-least / 5.0)), "{least} to {most}");
    // The longest time between rows, 10 ms, is no gap at 5 ms.
    assert_eq!(recording.pieces.len(), 1);
    assert!(recording.notes.is_empty(), "{:?}", recording.notes);
    // Without a span, what is not pressed is not compared.
    let all = read(path, COLUMNS).unwrap();
    assert_eq!(all.time.len(), 42_579);
    let masked = values(&all, "wrench.fx").iter().filter(|v| v.is_nan()).count();
    let low = values(&all, "normal_force").iter().filter(|f| **f < 1.0).count();
    assert!(masked == low && masked > 1000, "{masked} {low}");
}

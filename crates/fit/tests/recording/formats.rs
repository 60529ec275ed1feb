//! The same numbers in files of all formats.

use std::fs::File;
use std::io::{Cursor, Write};
use std::path::Path;
use std::sync::Arc;

use bristle_fit::recording::Recording;
use npyz::WriterBuilder;
use parquet::data_type::DoubleType;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

use crate::{read, values};

const ROWS: usize = 50;

/// Time [s], normal force [N], position [mm] and friction [N].
fn rows() -> Vec<[f64; 4]> {
    let row = |k: usize| {
        let t = 0.01 * k as f64;
        [t, 5.0 + 0.1 * (3.0 * t).cos(), 2.0 * (4.0 * t).sin(), -1.5 * (4.0 * t).cos()]
    };
    (0..ROWS).map(row).collect()
}

fn column(k: usize) -> Vec<f64> {
    rows().iter().map(|row| row[k]).collect()
}

fn text(separator: char, header: &str) -> String {
    let line = |row: &[f64; 4]| row.map(|v| v.to_string()).join(&separator.to_string());
    let lines: Vec<String> = rows().iter().map(line).collect();
    format!("{header}{}\n", lines.join("\n"))
}

fn array(shape: &[u64], values: &[f64]) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    let mut writer = npyz::WriteOptions::new().default_dtype().shape(shape).writer(&mut bytes).begin_nd().unwrap();
    values.iter().for_each(|v| writer.push(v).unwrap());
    writer.finish().unwrap();
    bytes.into_inner()
}

/// Writes the rows as Parquet.
pub fn parquet(path: &Path, names: [&str; 4]) {
    let fields = names.map(|name| format!("REQUIRED DOUBLE {name};")).join(" ");
    let schema = Arc::new(parse_message_type(&format!("message table {{ {fields} }}")).unwrap());
    let properties = Arc::new(WriterProperties::builder().build());
    let mut writer = SerializedFileWriter::new(File::create(path).unwrap(), schema, properties).unwrap();
    let mut group = writer.next_row_group().unwrap();
    for k in 0..4 {
        let mut of = group.next_column().unwrap().unwrap();
        of.typed::<DoubleType>().write_batch(&column(k), None, None).unwrap();
        of.close().unwrap();
    }
    group.close().unwrap();
    writer.close().unwrap();
}

/// Writes arrays of these names, shapes and numbers.
pub fn npz(path: &Path, arrays: &[(&str, &[u64], &[f64])]) {
    let mut zip = zip::ZipWriter::new(File::create(path).unwrap());
    let stored = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    for (name, shape, values) in arrays {
        zip.start_file(format!("{name}.npy"), stored).unwrap();
        zip.write_all(&array(shape, values)).unwrap();
    }
    zip.finish().unwrap();
}

/// Settings with these columns.
fn columns(names: [&str; 4]) -> String {
    let [time, normal, position, friction] = names;
    format!(
        "time = {{ column = {time}, unit = \"s\" }}
         inputs.normal_force = {{ column = {normal}, unit = \"N\" }}
         inputs.position.x = {{ column = {position}, unit = \"mm\" }}
         compare.wrench.fx = {{ column = {friction}, unit = \"N\", sign = -1 }}"
    )
}

fn check(recording: &Recording) {
    assert_eq!(values(recording, "normal_force"), column(1));
    let expected: Vec<f64> = column(2).iter().map(|v| v * 1e-3).collect();
    assert_eq!(values(recording, "position.x"), expected);
    let expected: Vec<f64> = column(3).iter().map(|v| v * -1.0).collect();
    assert_eq!(values(recording, "wrench.fx"), expected);
    assert_eq!((recording.time.clone(), recording.notes.len()), (column(0), 0), "{:?}", recording.notes);
}

#[test]
fn every_format_gives_the_same_recording() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let named = columns(["\"t\"", "\"Fn\"", "\"x\"", "\"Ff\""]);
    let numbered = columns(["0", "1", "2", "3"]);
    for (name, separator, header) in [("a.csv", ',', "t,Fn,x,Ff\n"), ("a.tsv", '\t', "t\tFn\tx\tFf\n")] {
        std::fs::write(at(name), text(separator, header)).unwrap();
        check(&read(&at(name), &named).unwrap());
        check(&read(&at(name), &numbered).unwrap());
    }
    std::fs::write(at("b.txt"), text(';', "# made on Monday\n")).unwrap();
    check(&read(&at("b.txt"), &numbered).unwrap());
    let all: Vec<f64> = rows().into_iter().flatten().collect();
    std::fs::write(at("a.npy"), array(&[ROWS as u64, 4], &all)).unwrap();
    check(&read(&at("a.npy"), &numbered).unwrap());
    let [t, normal, position, friction] = [0, 1, 2, 3].map(column);
    let of = [ROWS as u64];
    let each: [(&str, &[u64], &[f64]); 4] =
        [("t", &of, &t), ("Fn", &of, &normal), ("x", &of, &position), ("Ff", &of, &friction)];
    npz(&at("a.npz"), &each);
    check(&read(&at("a.npz"), &named).unwrap());
    npz(&at("b.npz"), &[("log", &[ROWS as u64, 4], &all)]);
    let in_table = columns(["\"log.0\"", "\"log.1\"", "\"log.2\"", "\"log.3\""]);
    check(&read(&at("b.npz"), &in_table).unwrap());
    parquet(&at("a.parquet"), ["t", "Fn", "x", "Ff"]);
    check(&read(&at("a.parquet"), &named).unwrap());
    check(&read(&at("a.parquet"), &numbered).unwrap());
    // Columns of different lengths belong to no rows.
    npz(&at("c.npz"), &[("t", &of, &t), ("Fn", &[49], &normal[..49]), ("x", &of, &position), ("Ff", &of, &friction)]);
    let error = read(&at("c.npz"), &named).unwrap_err().to_string();
    assert!(error.ends_with("c.npz: columns of 50 and 49 numbers: expected the same length"), "{error}");
}

#[test]
fn a_rate_stands_for_times_and_names_give_units() {
    let content = text(',', "t,load_mN,Position [mm],friction (N)\n");
    let settings = "rate = 200.0
        inputs.normal_force = { column = \"load\" }
        inputs.position.x = { column = \"position\" }
        compare.wrench.fx = { column = \"friction\", scale = 2.0 }";
    let recording = crate::read_text("a.csv", &content, settings).unwrap();
    assert_eq!(recording.time[49], 49.0 / 200.0);
    approx::assert_relative_eq!(values(&recording, "normal_force")[0], 5.1e-3, max_relative = 1e-14);
    approx::assert_relative_eq!(values(&recording, "wrench.fx")[0], -3.0, max_relative = 1e-14);
    // 1.5 N over 5 mN is not friction.
    assert!(recording.notes.iter().any(|note| note.starts_with("Friction is ")), "{:?}", recording.notes);
}

/// A joint with friction: its angle and its torque.
#[test]
fn a_joint_is_a_recording() {
    let line = |k: usize| {
        let t = 0.002 * k as f64;
        // The angle in degrees, from -180 to 180, of a joint that turns by 4 rad/s.
        let angle = (4.0 * t + 3.0f64).to_degrees();
        format!("{t},{},{}\n", (angle + 180.0).rem_euclid(360.0) - 180.0, 40.0 + 0.5 * (9.0 * t).sin())
    };
    let content = "time [s],angle [deg],torque [mN m]\n".to_owned() + &(0..2000).map(line).collect::<String>();
    let settings = "time.column = \"time\"
        inputs.position.theta.column = \"angle\"
        compare.wrench.tau.column = \"torque\"";
    let recording = crate::read_text("joint.csv", &content, settings).unwrap();
    assert_eq!(recording.notes, ["`position.theta` jumps by a turn: the jumps are taken out."]);
    let [.., w] = recording.twist().unwrap().unwrap();
    for k in 0..1999 {
        approx::assert_abs_diff_eq!(w.value(0.002 * (f64::from(k) + 0.5)), 4.0, epsilon = 1e-9);
    }
    approx::assert_abs_diff_eq!(values(&recording, "wrench.tau")[0], 0.04, epsilon = 1e-15);
}

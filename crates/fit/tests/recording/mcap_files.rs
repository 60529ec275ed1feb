//! MCAP files: one by another program, in CDR, and one in JSON.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufWriter;

use mcap::records::MessageHeader;

use crate::{data, read, values};

/// Every topic has its own times: the others are brought to those of what is compared.
#[test]
fn messages_of_ros_2_are_read_as_another_program_wrote_them() {
    let settings = "
        inputs.normal_force = { column = \"/ft.wrench.force.z\" }
        inputs.position.x = { column = \"pad.pose.position.x\" }
        inputs.position.y = { column = \"pad.pose.position.y\" }
        inputs.position.theta = { column = \"pad.pose.yaw\" }
        compare.wrench.fx = { column = \"ft.wrench.force.x\", sign = -1 }
        compare.wrench.fy = { column = \"ft.wrench.force.y\", sign = -1 }
        compare.wrench.tau = { column = \"ft.wrench.torque.z\", sign = -1 }";
    for clock in ["", "time.column = \"log_time\"", "time.column = \"header.stamp\""] {
        let recording = read(&data("ros2.mcap"), &format!("{clock}\n{settings}")).unwrap();
        // The poses go from 1 ms to 981 ms, the wrenches every 10 ms.
        assert_eq!(
            (recording.time.len(), &recording.pieces[..]),
            (98, std::slice::from_ref(&(0..98))),
            "{:?}",
            recording.notes
        );
        // Stamps are 2 ms earlier than the log, whose first message is at 0.
        let stamp = if clock.contains("stamp") { -0.002 } else { 0.0 };
        approx::assert_abs_diff_eq!(recording.start, 0.01 + stamp, epsilon = 1e-12);
        for (k, t) in recording.time.iter().enumerate() {
            let t = t + 0.01;
            let of = |name: &str| values(&recording, name)[k];
            approx::assert_abs_diff_eq!(of("wrench.fx"), -(5.0 * t).sin(), epsilon = 1e-12);
            approx::assert_abs_diff_eq!(of("wrench.fy"), t, epsilon = 1e-12);
            approx::assert_abs_diff_eq!(of("wrench.tau"), -t, epsilon = 1e-12);
            approx::assert_abs_diff_eq!(of("normal_force"), 20.0 + t, epsilon = 1e-12);
            approx::assert_abs_diff_eq!(of("position.x"), 0.1 * t, epsilon = 1e-12);
            approx::assert_abs_diff_eq!(of("position.y"), 0.2 * t, epsilon = 1e-12);
            approx::assert_abs_diff_eq!(of("position.theta"), 8.0 * t, epsilon = 1e-9);
        }
    }
    let joint = "inputs.position.theta.column = \"joints.position.elbow\"
        compare.wrench.tau.column = \"joints.effort.elbow\"";
    let recording = read(&data("ros2.mcap"), joint).unwrap();
    assert_eq!((recording.time.len(), recording.notes.len()), (50, 0), "{:?}", recording.notes);
    for (k, t) in recording.time.iter().enumerate() {
        approx::assert_abs_diff_eq!(values(&recording, "position.theta")[k], 2.0 * (t + 0.001), epsilon = 1e-12);
        approx::assert_abs_diff_eq!(values(&recording, "wrench.tau")[k], -(t + 0.001), epsilon = 1e-12);
    }
}

#[test]
fn a_column_or_a_clock_that_is_not_there_is_refused() {
    let all = "0 `/ft.wrench.force.x`, 1 `/ft.wrench.force.y`";
    for (settings, message) in [
        ("compare.wrench.fx.column = \"/arm\"", &*format!("compare.wrench.fx.column = /arm: expected one of {all}")),
        (
            "time.column = \"t\"\ncompare.wrench.fx.column = 0",
            "time.column = t: expected `log_time`, `publish_time` or",
        ),
        ("rate = 9.0\ncompare.wrench.fx.column = 0", "expected messages with their own times: no `rate` and no unit"),
    ] {
        let error = read(&data("ros2.mcap"), settings).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
}

/// Writes messages of a type, by their log times [ns].
fn written(name: &str, schema: &str, encoding: &str, messages: &[(u64, String)]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = mcap::Writer::new(BufWriter::new(File::create(dir.path().join(name)).unwrap())).unwrap();
    let schema = writer.add_schema(schema, "jsonschema", b"{}").unwrap();
    let channel_id = writer.add_channel(schema, "/joint", encoding, &BTreeMap::new()).unwrap();
    for (time, text) in messages {
        let header = MessageHeader { channel_id, sequence: 0, log_time: *time, publish_time: *time };
        writer.write_to_known_channel(&header, text.as_bytes()).unwrap();
    }
    writer.finish().unwrap();
    dir
}

/// Logged in another order than in the file, with a joint that is not in all messages.
#[test]
fn json_is_read_too() {
    let message = |k: u64| {
        let names = if k.is_multiple_of(2) { "\"a\",\"b\"" } else { "\"a\"" };
        let numbers = if k.is_multiple_of(2) { format!("{k},7") } else { k.to_string() };
        (k * 1_000_000, format!("{{\"name\":[{names}],\"position\":[{numbers}],\"effort\":[{numbers}]}}"))
    };
    let mut messages: Vec<(u64, String)> = (0..60).map(message).collect();
    messages.swap(20, 30);
    let dir = written("a.mcap", "sensor_msgs/JointState", "json", &messages);
    let settings =
        "inputs.position.theta.column = \"joint.position.a\"\ncompare.wrench.tau.column = \"joint.effort.b\"";
    let recording = read(&dir.path().join("a.mcap"), settings).unwrap();
    let expected: Vec<f64> = (0..60).map(f64::from).collect();
    assert_eq!(values(&recording, "position.theta"), expected);
    assert!(values(&recording, "wrench.tau").iter().enumerate().all(|(k, v)| if k % 2 == 0 {
        *v == 7.0
    } else {
        v.is_nan()
    }));
    // Messages that cannot be read are named; others are said to be there.
    for (schema, encoding, text, message) in [
        ("sensor_msgs/msg/JointState", "json", "{}", "message 0 of /joint (from 0): missing field `name`"),
        ("sensor_msgs/msg/JointState", "cdr", "{}", "message 0 of /joint (from 0): ends too early"),
        ("sensor_msgs/msg/Imu", "cdr", "{}", "/joint (sensor_msgs/msg/Imu, cdr): expected messages of geometry_msgs/"),
    ] {
        let dir = written("a.mcap", schema, encoding, &[(0, text.to_owned())]);
        let error = read(&dir.path().join("a.mcap"), settings).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
}

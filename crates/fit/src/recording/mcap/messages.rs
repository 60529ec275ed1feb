//! Messages of `geometry_msgs/WrenchStamped`, `geometry_msgs/PoseStamped` and `sensor_msgs/JointState`, as
//! JSON or in the common data representation (CDR) of ROS 2.
//!
//! CDR: OMG DDSI-RTPS 2.5, section 10 (the four bytes in front), and OMG DDS-XTypes 1.3, section 7.4 (numbers
//! stand at multiples of their size, in the second version at multiples of four at most).

use serde::Deserialize;

/// Most joints of a message.
const MOST_JOINTS: usize = 1024;

/// What a message holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Type {
    Wrench,
    Pose,
    Joints,
}

impl Type {
    /// By the name of its schema, of ROS 2 or ROS 1.
    pub(super) fn of(schema: &str) -> Option<Self> {
        match &*schema.replace("/msg/", "/") {
            "geometry_msgs/WrenchStamped" => Some(Self::Wrench),
            "geometry_msgs/PoseStamped" => Some(Self::Pose),
            "sensor_msgs/JointState" => Some(Self::Joints),
            _ => None,
        }
    }
}

/// How a message is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    Json,
    Cdr,
}

/// A message: names and values of its numbers.
#[derive(Debug, PartialEq)]
pub(super) struct Message {
    /// Time in its header \[ns\].
    pub stamp: u64,
    pub values: Vec<(String, f64)>,
}

impl Encoding {
    pub(super) fn of(name: &str) -> Option<Self> {
        match name {
            "json" => Some(Self::Json),
            "cdr" => Some(Self::Cdr),
            _ => None,
        }
    }

    /// Reads a message.
    pub(super) fn read(self, kind: Type, data: &[u8]) -> Result<Message, String> {
        match self {
            Self::Json => json(kind, data).map_err(|e| format!("{e}: expected JSON of that type")),
            Self::Cdr => Cdr::new(data)?.message(kind),
        }
    }
}

/// Names of the numbers of a wrench or a pose, in the order in which CDR has them.
const WRENCH: [&str; 6] =
    ["wrench.force.x", "wrench.force.y", "wrench.force.z", "wrench.torque.x", "wrench.torque.y", "wrench.torque.z"];
const POSE: [&str; 7] = [
    "pose.position.x",
    "pose.position.y",
    "pose.position.z",
    "pose.orientation.x",
    "pose.orientation.y",
    "pose.orientation.z",
    "pose.orientation.w",
];

fn wrench(stamp: u64, numbers: [f64; 6]) -> Message {
    Message { stamp, values: WRENCH.iter().map(|name| (*name).to_owned()).zip(numbers).collect() }
}

/// A pose and its angle about z \[rad\], from -pi to pi: `atan2(2 (w z + x y), 1 - 2 (y^2 + z^2))`.
fn pose(stamp: u64, numbers: [f64; 7]) -> Message {
    let [.., x, y, z, w] = numbers;
    // Of a quaternion of any length.
    let yaw = (2.0 * (w * z + x * y)).atan2(w * w + x * x - y * y - z * z);
    let names = POSE.iter().map(|name| (*name).to_owned());
    Message { stamp, values: names.zip(numbers).chain([("pose.yaw".to_owned(), yaw)]).collect() }
}

/// The numbers of joints; a list may be empty, or have one number for each name.
fn joints(stamp: u64, names: &[String], lists: [Vec<f64>; 3]) -> Result<Message, String> {
    if names.len() > MOST_JOINTS {
        return Err(format!("{} joints: expected at most {MOST_JOINTS}", names.len()));
    }
    let mut values = Vec::new();
    for (quantity, list) in ["position", "velocity", "effort"].iter().zip(lists) {
        if !list.is_empty() && list.len() != names.len() {
            let found = format!("{} numbers of {quantity} for {} joints", list.len(), names.len());
            return Err(format!("{found}: expected one for each, or none"));
        }
        values.extend(names.iter().map(|name| format!("{quantity}.{name}")).zip(list));
    }
    Ok(Message { stamp, values })
}

#[derive(Default, Deserialize)]
struct Header {
    #[serde(default)]
    stamp: Stamp,
}

#[derive(Default, Deserialize)]
struct Stamp {
    #[serde(default, alias = "secs")]
    sec: i64,
    #[serde(default, alias = "nsecs", alias = "nsec")]
    nanosec: u32,
}

impl Stamp {
    fn nanoseconds(&self) -> u64 {
        let whole = u64::try_from(self.sec).unwrap_or(0).saturating_mul(1_000_000_000);
        whole.saturating_add(u64::from(self.nanosec))
    }
}

/// Numbers that JSON cannot write are missing.
fn number<'de, D: serde::Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    Ok(Option::<f64>::deserialize(from)?.unwrap_or(f64::NAN))
}

#[derive(Deserialize)]
struct Vector {
    #[serde(deserialize_with = "number")]
    x: f64,
    #[serde(deserialize_with = "number")]
    y: f64,
    #[serde(deserialize_with = "number")]
    z: f64,
}

#[derive(Deserialize)]
struct Quaternion {
    x: f64,
    y: f64,
    z: f64,
    w: f64,
}

#[derive(Deserialize)]
struct WrenchStamped {
    #[serde(default)]
    header: Header,
    wrench: Wrench,
}

#[derive(Deserialize)]
struct Wrench {
    force: Vector,
    torque: Vector,
}

#[derive(Deserialize)]
struct PoseStamped {
    #[serde(default)]
    header: Header,
    pose: Pose,
}

#[derive(Deserialize)]
struct Pose {
    position: Vector,
    orientation: Quaternion,
}

#[derive(Deserialize)]
struct JointState {
    #[serde(default)]
    header: Header,
    name: Vec<String>,
    #[serde(default)]
    position: Vec<Option<f64>>,
    #[serde(default)]
    velocity: Vec<Option<f64>>,
    #[serde(default)]
    effort: Vec<Option<f64>>,
}

fn json(kind: Type, data: &[u8]) -> Result<Message, String> {
    fn of<'a, T: Deserialize<'a>>(data: &'a [u8]) -> Result<T, String> {
        serde_json::from_slice(data).map_err(|e| e.to_string())
    }
    match kind {
        Type::Wrench => {
            let WrenchStamped { header, wrench: Wrench { force, torque } } = of(data)?;
            let numbers = [force.x, force.y, force.z, torque.x, torque.y, torque.z];
            Ok(wrench(header.stamp.nanoseconds(), numbers))
        }
        Type::Pose => {
            let PoseStamped { header, pose: Pose { position: p, orientation: q } } = of(data)?;
            Ok(pose(header.stamp.nanoseconds(), [p.x, p.y, p.z, q.x, q.y, q.z, q.w]))
        }
        Type::Joints => {
            let JointState { header, name, position, velocity, effort } = of(data)?;
            let lists =
                [position, velocity, effort].map(|list| list.into_iter().map(|v| v.unwrap_or(f64::NAN)).collect());
            joints(header.stamp.nanoseconds(), &name, lists)
        }
    }
}

/// Bytes of a message; numbers stand at multiples of their size from the fifth byte on.
struct Cdr<'a> {
    bytes: &'a [u8],
    at: usize,
    is_little: bool,
    /// Largest multiple at which a number stands.
    alignment: usize,
}

impl<'a> Cdr<'a> {
    fn new(data: &'a [u8]) -> Result<Self, String> {
        let (is_little, alignment) = match data {
            [0, 0, _, _, ..] => (false, 8),
            [0, 1, _, _, ..] => (true, 8),
            [0, 6, _, _, ..] => (false, 4),
            [0, 7, _, _, ..] => (true, 4),
            [a, b, _, _, ..] => return Err(format!("CDR of the kind {a} {b}: expected 0 0, 0 1, 0 6 or 0 7")),
            _ => return Err(Self::short()),
        };
        Ok(Self { bytes: &data[4..], at: 0, is_little, alignment })
    }

    fn short() -> String {
        "ends too early: expected a whole message".to_owned()
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], String> {
        let end = self.at.checked_add(count).ok_or_else(Self::short)?;
        let taken = self.bytes.get(self.at..end).ok_or_else(Self::short)?;
        self.at = end;
        Ok(taken)
    }

    fn aligned<const N: usize>(&mut self) -> Result<[u8; N], String> {
        self.at = self.at.next_multiple_of(N.min(self.alignment));
        let mut bytes: [u8; N] = self.take(N)?.try_into().expect("as many as asked for");
        if !self.is_little {
            bytes.reverse();
        }
        Ok(bytes)
    }

    fn u32(&mut self) -> Result<u32, String> {
        self.aligned().map(u32::from_le_bytes)
    }

    fn f64(&mut self) -> Result<f64, String> {
        self.aligned().map(f64::from_le_bytes)
    }

    fn numbers<const N: usize>(&mut self) -> Result<[f64; N], String> {
        let mut numbers = [0.0; N];
        for number in &mut numbers {
            *number = self.f64()?;
        }
        Ok(numbers)
    }

    /// How many elements of so many bytes each follow; the rest of the message has room for them.
    fn count(&mut self, size: usize) -> Result<usize, String> {
        let count = self.u32()? as usize;
        if count > (self.bytes.len() - self.at) / size { Err(Self::short()) } else { Ok(count) }
    }

    fn text(&mut self) -> Result<String, String> {
        let length = self.count(1)?;
        let bytes = self.take(length)?;
        let text = bytes.strip_suffix(b"\0").unwrap_or(bytes);
        String::from_utf8(text.to_vec()).map_err(|_| "a text that is no UTF-8: expected UTF-8".to_owned())
    }

    fn list(&mut self) -> Result<Vec<f64>, String> {
        let count = self.count(8)?;
        (0..count).map(|_| self.f64()).collect()
    }

    fn message(mut self, kind: Type) -> Result<Message, String> {
        let sec = i64::from(self.u32()?.cast_signed());
        let stamp = Stamp { sec, nanosec: self.u32()? }.nanoseconds();
        let _frame = self.text()?;
        match kind {
            Type::Wrench => Ok(wrench(stamp, self.numbers()?)),
            Type::Pose => Ok(pose(stamp, self.numbers()?)),
            Type::Joints => {
                let count = self.count(4)?;
                let names: Vec<String> = (0..count).map(|_| self.text()).collect::<Result<_, _>>()?;
                let lists = [self.list()?, self.list()?, self.list()?];
                joints(stamp, &names, lists)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The largest multiple of eight is not one of four: the two versions differ, and so do the orders.
    #[test]
    fn both_orders_and_both_alignments() {
        let written = |little: bool, alignment: usize, frame: &str| {
            let mut body = Vec::new();
            let number = |v: u32| if little { v.to_le_bytes() } else { v.to_be_bytes() };
            for v in [7, 5, frame.len() as u32 + 1] {
                body.extend(number(v));
            }
            body.extend(frame.as_bytes());
            body.push(0);
            body.resize(body.len().next_multiple_of(alignment), 0);
            for v in 1..=6 {
                let v = f64::from(v);
                body.extend(if little { v.to_le_bytes() } else { v.to_be_bytes() });
            }
            let kind = u8::from(little) + if alignment == 8 { 0 } else { 6 };
            [&[0, kind, 0, 0][..], &body].concat()
        };
        for little in [false, true] {
            for alignment in [4, 8] {
                for frame in ["", "a", "base", "tool0_link"] {
                    let bytes = written(little, alignment, frame);
                    let message = Encoding::Cdr.read(Type::Wrench, &bytes).unwrap();
                    assert_eq!(message.stamp, 7_000_000_005);
                    let values: Vec<f64> = message.values.iter().map(|(_, v)| *v).collect();
                    assert_eq!(values, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], "{little} {alignment} {frame}");
                    // Every shorter one is refused.
                    for end in 0..bytes.len() {
                        assert!(Encoding::Cdr.read(Type::Wrench, &bytes[..end]).is_err());
                    }
                }
            }
        }
    }

    #[test]
    fn json_of_all_types() {
        let read = |kind, text: &str| Encoding::Json.read(kind, text.as_bytes());
        let text = r#"{"header":{"stamp":{"sec":1,"nanosec":2},"frame_id":"a"},"pose":{"position":{"x":1,"y":2,"z":3},
            "orientation":{"x":0,"y":0,"z":0.8660254037844386,"w":0.5}}}"#;
        let pose = read(Type::Pose, text).unwrap();
        assert_eq!(pose.stamp, 1_000_000_002);
        let (name, yaw) = &pose.values[7];
        assert_eq!(name, "pose.yaw");
        approx::assert_abs_diff_eq!(*yaw, 2.0 * std::f64::consts::FRAC_PI_3, epsilon = 1e-15);
        let joints =
            read(Type::Joints, r#"{"name":["a","b"],"position":[1,null],"velocity":[],"effort":[3,4]}"#).unwrap();
        let names: Vec<&str> = joints.values.iter().map(|(name, _)| &**name).collect();
        assert_eq!(names, ["position.a", "position.b", "effort.a", "effort.b"]);
        assert!(joints.values[1].1.is_nan());
        for (text, message) in [
            (
                r#"{"name":["a"],"position":[1,2]}"#,
                "2 numbers of position for 1 joints: expected one for each, or none",
            ),
            (r#"{"name":"a"}"#, "expected JSON of that type"),
            ("[", "expected JSON of that type"),
        ] {
            let error = read(Type::Joints, text).unwrap_err();
            assert!(error.contains(message), "{error}");
        }
    }

    proptest::proptest! {
        /// Bytes that claim anything: an error, or a message no larger than they are.
        #[test]
        fn any_bytes(start in 0u8..4, bytes in proptest::collection::vec(0u8..12, 0..200)) {
            let bytes = [&[0, start, 0, 0][..], &bytes].concat();
            for kind in [Type::Wrench, Type::Pose, Type::Joints] {
                if let Ok(message) = Encoding::Cdr.read(kind, &bytes) {
                    assert!(message.values.len() <= bytes.len());
                }
                assert!(Encoding::Json.read(kind, &bytes).is_err());
            }
        }
    }
}

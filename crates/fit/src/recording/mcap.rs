//! MCAP files with wrenches, joint states and poses of ROS 2.
//!
//! Columns are named by topic, field and, of joints, name: `/ft.wrench.force.x`, `/joints.effort.elbow`,
//! `/pad.pose.position.x`. Times are seconds from the time at which the file's first message of these types
//! was logged.

mod messages;

use std::collections::HashMap;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use bristle_scenario::input::{self, InputError, MAX_BYTES};
use mcap::io::MessageReader;
use mcap::sans_io::LinearReaderOptions;

use self::messages::{Encoding, Message, Type};
use super::error::RecordingError;
use super::source::Column;

/// Longest message \[byte\].
const MOST_MESSAGE: usize = 1 << 26;

/// Bytes of messages that a file may hold whatever its length, and how many more for each of its bytes.
const BYTES: [u64; 2] = [1 << 26, 1032];

/// Most numbers of a file.
const MOST_NUMBERS: usize = (MAX_BYTES / 8) as usize;

/// Most columns of a topic: one for each joint and quantity.
const MOST_COLUMNS: usize = 3072;

/// The messages of a file.
pub(super) struct Mcap {
    topics: Vec<Topic>,
    /// Topic and place in it of each column.
    places: Vec<(usize, usize)>,
}

struct Topic {
    name: String,
    log: Vec<u64>,
    publish: Vec<u64>,
    stamp: Vec<u64>,
    names: Vec<String>,
    /// The places of the columns.
    of_name: HashMap<String, usize>,
    columns: Vec<Vec<f64>>,
}

impl Mcap {
    /// Reads all messages of known types.
    pub(super) fn open(path: &Path) -> Result<Self, RecordingError> {
        let file = input::open(path)?;
        let length = file.get_ref().metadata().map_err(|e| InputError::of(path, e))?.len();
        let wrong = |reason: String| RecordingError::data(path, reason);
        let options = LinearReaderOptions::default()
            .with_validate_chunk_crcs(true)
            .with_record_length_limit(MOST_MESSAGE.min(usize::try_from(length).unwrap_or(usize::MAX).max(1 << 16)));
        let most_bytes = BYTES[0].saturating_add(BYTES[1].saturating_mul(length));
        let (mut bytes, mut numbers) = (0u64, 0usize);
        let mut topics: Vec<Topic> = Vec::new();
        let mut by_name: HashMap<(String, Type), usize> = HashMap::new();
        let mut others: Vec<String> = Vec::new();
        for message in MessageReader::new_with_options(file.take(length), options) {
            let message = message.map_err(|e| wrong(format!("{e}: expected an MCAP file that was closed")))?;
            let channel = &message.channel;
            bytes += message.data.len() as u64;
            if bytes > most_bytes {
                return Err(wrong(format!("more than {most_bytes} bytes of messages in a file of {length}")));
            }
            let schema = channel.schema.as_ref().map_or("", |schema| &schema.name);
            let (Some(kind), Some(encoding)) = (Type::of(schema), Encoding::of(&channel.message_encoding)) else {
                let other = format!("{} ({schema}, {})", channel.topic, channel.message_encoding);
                if others.len() < 10 && !others.contains(&other) {
                    others.push(other);
                }
                continue;
            };
            let key = (channel.topic.clone(), kind);
            let place = *by_name.entry(key).or_insert_with(|| {
                topics.push(Topic::new(channel.topic.clone()));
                topics.len() - 1
            });
            let topic = &mut topics[place];
            let parsed = encoding
                .read(kind, &message.data)
                .map_err(|reason| wrong(format!("message {} of {} (from 0): {reason}", topic.log.len(), topic.name)))?;
            numbers -= topic.numbers();
            topic.add(parsed, message.log_time, message.publish_time, MOST_NUMBERS - numbers).map_err(wrong)?;
            numbers += topic.numbers();
        }
        if topics.is_empty() {
            let found = if others.is_empty() { "no messages".to_owned() } else { others.join(", ") };
            let accepted = "geometry_msgs/WrenchStamped, sensor_msgs/JointState or geometry_msgs/PoseStamped";
            return Err(wrong(format!("{found}: expected messages of {accepted}, as JSON or CDR (ROS 2)")));
        }
        topics.iter_mut().for_each(Topic::sort);
        let of = |(t, topic): (usize, &Topic)| (0..topic.columns.len()).map(move |k| (t, k)).collect::<Vec<_>>();
        let places = topics.iter().enumerate().flat_map(of).collect();
        Ok(Self { topics, places })
    }

    /// Names of all columns.
    pub(super) fn names(&self) -> Vec<String> {
        let name = |(t, k): &(usize, usize)| format!("{}.{}", self.topics[*t].name, self.topics[*t].names[*k]);
        self.places.iter().map(name).collect()
    }

    /// A column, with times by `clock`.
    pub(super) fn column(&self, k: usize, clock: &str) -> Result<Column, String> {
        let (t, k) = self.places[k];
        let topic = &self.topics[t];
        let times = match clock {
            "log_time" => &topic.log,
            "publish_time" => &topic.publish,
            "header.stamp" => &topic.stamp,
            _ => return Err(format!("time.column = {clock}: expected `log_time`, `publish_time` or `header.stamp`")),
        };
        let start = self.topics.iter().filter_map(|topic| topic.log.first()).min().copied().unwrap_or(0);
        // Whole nanoseconds, of which a double could not tell two: differences are exact.
        let seconds = |time: &u64| (i128::from(*time) - i128::from(start)) as f64 * 1e-9;
        let times: Vec<f64> = times.iter().map(seconds).collect();
        let mut values = topic.columns[k].clone();
        if clock == "log_time" {
            return Ok(Column { values, times: Some(Arc::new(times)) });
        }
        let mut order: Vec<usize> = (0..times.len()).collect();
        order.sort_by(|a, b| times[*a].total_cmp(&times[*b]));
        values = order.iter().map(|k| values[*k]).collect();
        Ok(Column { values, times: Some(Arc::new(order.iter().map(|k| times[*k]).collect())) })
    }
}

impl Topic {
    fn new(name: String) -> Self {
        let [log, publish, stamp] = [const { Vec::new() }; 3];
        Self { name, log, publish, stamp, names: Vec::new(), of_name: HashMap::new(), columns: Vec::new() }
    }

    /// Numbers of its columns and of its three times.
    fn numbers(&self) -> usize {
        self.log.len() * (self.columns.len() + 3)
    }

    /// Adds a message, if the topic then has at most so many numbers.
    fn add(&mut self, message: Message, log: u64, publish: u64, most: usize) -> Result<(), String> {
        let row = self.log.len();
        // A column that begins late is filled up to its row.
        let new = message.values.iter().filter(|(name, _)| !self.of_name.contains_key(name)).count();
        if (row + 1).saturating_mul(self.columns.len() + new + 3) > most {
            return Err(format!("more than {MOST_NUMBERS} numbers: expected fewer"));
        }
        for (name, value) in message.values {
            let place = match self.of_name.get(&name) {
                Some(place) => *place,
                None if self.columns.len() == MOST_COLUMNS => {
                    return Err(format!("more than {MOST_COLUMNS} columns of {}: expected fewer joints", self.name));
                }
                None => {
                    self.of_name.insert(name.clone(), self.columns.len());
                    self.names.push(name);
                    self.columns.push(vec![f64::NAN; row]);
                    self.columns.len() - 1
                }
            };
            // Of a joint that is there twice the first counts.
            if self.columns[place].len() == row {
                self.columns[place].push(value);
            }
        }
        self.columns.iter_mut().filter(|column| column.len() == row).for_each(|column| column.push(f64::NAN));
        self.log.push(log);
        self.publish.push(publish);
        self.stamp.push(message.stamp);
        Ok(())
    }

    /// Brings the messages into the order in which they were logged, which a file need not have.
    fn sort(&mut self) {
        if self.log.is_sorted() {
            return;
        }
        let mut order: Vec<usize> = (0..self.log.len()).collect();
        order.sort_by_key(|k| self.log[*k]);
        for times in [&mut self.log, &mut self.publish, &mut self.stamp] {
            *times = order.iter().map(|k| times[*k]).collect();
        }
        for column in &mut self.columns {
            *column = order.iter().map(|k| column[*k]).collect();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A joint that comes late takes memory for all messages before it: that is counted before it is taken.
    #[test]
    fn numbers_are_counted_before_they_are_there() {
        let mut topic = Topic::new("/joints".to_owned());
        let message =
            |names: &[&str]| Message { stamp: 0, values: names.iter().map(|name| ((*name).to_owned(), 1.0)).collect() };
        for k in 0..100 {
            topic.add(message(&["a"]), k, k, 400).unwrap();
        }
        assert_eq!(topic.numbers(), 400);
        assert!(topic.add(message(&["a", "b"]), 100, 100, 504).unwrap_err().ends_with("numbers: expected fewer"));
        assert_eq!((topic.columns.len(), topic.numbers()), (1, 400));
        topic.add(message(&["a", "b"]), 100, 100, 505).unwrap();
        assert_eq!((topic.columns[1].len(), topic.columns[1][100], topic.numbers()), (101, 1.0, 505));
        assert!(topic.columns[1][99].is_nan());
    }
}

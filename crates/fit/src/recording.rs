//! Recordings: columns of numbers over time, in SI units and in the frames of a scenario.

use std::ops::Range;

/// A recording, ready to be compared with a contact: in SI units, the span that was asked for, times that
/// increase from 0.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recording {
    /// What messages call it: its file.
    pub name: String,
    /// Sample times \[s\]: the first is 0, and they increase.
    pub time: Vec<f64>,
    /// The time of the first sample on the recording's own clock \[s\].
    pub start: f64,
    /// The samples without a gap between them, in order; a longer time than usual lies between two ranges.
    pub pieces: Vec<Range<usize>>,
    /// What the contact is driven with. Names are those of inputs in a scenario (`normal_force`,
    /// `wrench.fx`, `twist.vx`, ...), and `position.x`, `position.y`, `position.theta` for the recorded pose
    /// of a prescribed body.
    pub inputs: Vec<Channel>,
    /// What the contact's samples are compared with: `wrench.fx`, `wrench.fy`, `wrench.tau` (the friction of
    /// one pad on the body), `pose.x`, `pose.y`, `pose.theta`, `twist.vx`, ....
    pub compared: Vec<Channel>,
    /// What was done to the recording and what is odd about it, one sentence each.
    pub notes: Vec<String>,
}

/// One quantity over the samples of a recording.
#[derive(Clone, Debug, PartialEq)]
pub struct Channel {
    /// The quantity.
    pub name: String,
    /// Its values in SI units, one a sample; NaN where the sensor gave none.
    pub values: Vec<f64>,
    /// The sign that was asked for.
    pub sign: Sign,
}

/// The sign of a column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sign {
    /// As recorded.
    #[default]
    Plus,
    /// The other way.
    Minus,
    /// Both are tried, by whoever compares; all columns of a recording with `auto` have the same.
    Auto,
}

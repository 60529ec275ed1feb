//! Recordings: columns of numbers over time, in SI units and in the frames of a scenario.
//!
//! [`Recording::read`] takes a file and a [`RecordingSpec`], which says what the file's columns are. A file
//! is CSV or TSV, NPZ or NPY, Parquet, or MCAP.

mod coarse;
mod decimate;
mod error;
#[cfg(feature = "mcap")]
mod mcap;
mod motion;
mod plausible;
mod prepare;
mod rows;
mod saturation;
mod source;
mod spec;
mod text;
mod units;

use std::ops::Range;

pub(crate) use coarse::samples_of_a_speed;
pub use error::RecordingError;
pub use motion::TwistSteps;
pub use spec::{
    ColumnName, ColumnSpec, ComparedColumns, InputColumns, PoseColumns, RecordingSpec, Saturated, Sign, TimeColumn,
    TwistColumns, WrenchColumns,
};
pub use units::Kind;

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
    /// The samples, in order, that only say where the motion turned back between two others: there nothing is
    /// compared.
    pub turns: Vec<usize>,
    /// What the contact is driven with. Names are those of inputs in a scenario (`normal_force`,
    /// `wrench.fx`, `twist.vx`, ...), and `position.x`, `position.y`, `position.theta` for the recorded pose
    /// of a prescribed body. All values are finite. A velocity is the mean from its sample until the next
    /// one; everything else is the value at its sample.
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
    /// Its values in SI units, one a sample; NaN where the sensor gave none, or where it is masked.
    pub values: Vec<f64>,
    /// The sign that was asked for. The values have it already, but for [`Sign::Auto`]: then they are as
    /// recorded, and both signs are to be tried.
    pub sign: Sign,
}

impl Recording {
    /// The input of that name.
    pub fn input(&self, name: &str) -> Option<&Channel> {
        self.inputs.iter().find(|channel| channel.name == name)
    }
}

//! A compared quantity through its sensor.

use crate::unknown::{Part, Quantity, Unknown};

/// A compared quantity through its sensor: `gain x(t - delay) + offset + drift t`, and the slopes that the
/// derivatives need.
pub(crate) struct Sensed {
    /// What the sensor says.
    pub values: Vec<f64>,
    /// `x(t - delay)`.
    pub late: Vec<f64>,
    /// `x'(t - delay)`.
    pub rate: Vec<f64>,
}

/// The values, and the slopes, of a polygon through `(time, x)` at `time - delay`.
pub(crate) fn delayed(time: &[f64], x: &[f64], delay: f64) -> (Vec<f64>, Vec<f64>) {
    let last = x.len() - 1;
    let mut k = 0;
    let at = |t: f64, k: &mut usize| {
        while *k + 1 < last && time[*k + 1] <= t {
            *k += 1;
        }
        let slope = (x[*k + 1] - x[*k]) / (time[*k + 1] - time[*k]);
        let within = (t - time[*k]).clamp(0.0, time[*k + 1] - time[*k]);
        (x[*k] + slope * within, slope)
    };
    time[..=last].iter().map(|t| at(t - delay, &mut k)).unzip()
}

/// The numbers of a sensor at a point.
pub(crate) fn sensor(unknowns: &[Unknown], point: &[f64], recording: usize, channel: &str) -> [f64; 4] {
    let mut numbers = [Part::Offset, Part::Drift, Part::Gain, Part::Delay].map(Part::neutral);
    for (unknown, coordinate) in unknowns.iter().zip(point) {
        let is_of = unknown.recording.is_none_or(|own| own == recording);
        match &unknown.quantity {
            Quantity::Sensor { channel: own, part } if is_of && own == channel => {
                numbers[*part as usize] = unknown.value(*coordinate);
            }
            _ => {}
        }
    }
    numbers
}

impl Sensed {
    pub fn new(time: &[f64], x: &[f64], [offset, drift, gain, delay]: [f64; 4]) -> Self {
        let (late, rate) = delayed(time, x, delay);
        let values = time.iter().zip(&late).map(|(t, x)| gain * x + offset + drift * t).collect();
        Self { values, late, rate }
    }
}

//! Model and measurement: over time, and over the motion.

use std::ops::Range;
use std::path::Path;

use bristle_page::{Chart, Line, Part, Picture, palette};

use super::{FITTED, MEASURED, PREDICTED};
use crate::fit::Fit;
use crate::recording::Recording;
use crate::residuals::Channel;

/// The unit of a compared quantity.
pub fn unit(name: &str) -> &'static str {
    match name {
        "wrench.tau" => "N m",
        "pose.theta" => "rad",
        "twist.w" => "rad/s",
        _ if name.starts_with("wrench.") => "N",
        _ if name.starts_with("pose.") => "m",
        _ => "m/s",
    }
}

/// A compared quantity, and its recording if there are several.
pub fn named(fit: &Fit, k: usize) -> String {
    let c = &fit.channels[k];
    if fit.minimum.repeated.len() > 1 { format!("{} of {}", c.name, file_name(&c.recording)) } else { c.name.clone() }
}

/// The name of a recording without its folder.
pub fn file_name(recording: &str) -> String {
    Path::new(recording).file_name().map_or_else(|| recording.to_owned(), |name| name.to_string_lossy().into_owned())
}

/// Samples of a tenth of a recording, half of it on each side of the place where the prediction begins.
fn tenth(c: &Channel) -> Range<usize> {
    let n = c.time.len();
    let (half, middle) = ((n / 20).max(20), if c.fitted < n { c.fitted } else { n / 2 });
    middle.saturating_sub(half)..(middle + half).min(n)
}

/// Values of some samples of what a model says, in two colours: fitted and predicted.
fn model(x: &[f64], y: &[f64], fitted: usize, from: usize) -> [Line; 2] {
    let middle = fitted.saturating_sub(from).min(x.len());
    let line = |colour, range: Range<usize>| Line::new(colour, &x[range.clone()], &y[range]).width(1.1);
    [line(palette::GRID, 0..middle), line(palette::SURFACE, middle..x.len())]
}

/// The measured quantity, the model and the residual over time; the whole, and what is around the place where
/// the prediction begins.
pub fn over_time(fit: &Fit, k: usize) -> Part {
    let c = &fit.channels[k];
    let recording = &fit.minimum.repeated[c.place].recording;
    let time: Vec<f64> = c.time.iter().map(|t| t + recording.start).collect();
    let y = format!("{} [{}]", c.name, unit(&c.name));
    let n = time.len();
    let detail = tenth(c);
    let chart = |title: &str, range: Range<usize>| {
        let (x, from) = (&time[range.clone()], range.start);
        Chart::new(title, "t [s]", y.clone())
            .line(Line::new(palette::OTHER, x, &c.measured[range.clone()]).width(1.8))
            .lines(model(x, &c.model[range], c.fitted, from))
            .svg()
    };
    let residual: Vec<f64> = c.model.iter().zip(&c.measured).map(|(a, b)| a - b).collect();
    let residual = Chart::new("Model less measurement", "t [s]", y.clone()).lines(model(&time, &residual, c.fitted, 0));
    let panels = vec![chart("The recording", 0..n), chart("A tenth of it", detail), residual.svg()];
    let caption = format!("Residuals are correlated over {:.2} s.", c.correlated);
    Part {
        id: format!("time{k}"),
        title: format!("{} over time", named(fit, k)),
        pictures: vec![Picture::new(panels, caption).key(&[MEASURED, FITTED, PREDICTED])],
        ..Part::default()
    }
}

/// How a contact moved: the axis, the unit, and position and velocity of every sample.
struct Motion {
    axis: &'static str,
    unit: &'static str,
    position: Vec<f64>,
    velocity: Vec<f64>,
}

/// The motion along the axis that a force is along; none if it is not recorded, or does not change.
fn motion(recording: &Recording, channel: &Channel) -> Option<Motion> {
    let axis = channel.name.strip_prefix("wrench.").and_then(|a| ["fx", "fy", "tau"].iter().position(|b| *b == a))?;
    let (of_position, of_velocity) = (["x", "y", "theta"][axis], ["vx", "vy", "w"][axis]);
    let find = |name: String| {
        let all = recording.inputs.iter().chain(&recording.compared);
        all.filter(|c| c.name == name).map(|c| c.values.clone()).next()
    };
    let (time, n) = (&recording.time, recording.time.len());
    let position = find(format!("position.{of_position}")).or_else(|| find(format!("pose.{of_position}")));
    let (position, velocity) = match (position, find(format!("twist.{of_velocity}"))) {
        (Some(x), _) => {
            let slope = |i: usize| (x[i] - x[i.max(1) - 1]) / (time[i] - time[i.max(1) - 1]);
            let velocity = (0..n).map(slope).collect();
            (x, velocity)
        }
        (None, Some(v)) => {
            // A velocity is the mean until the next sample.
            let mut at = 0.0;
            let position = (0..n).map(|i| {
                at += if i > 0 { v[i - 1] * (time[i] - time[i - 1]) } else { 0.0 };
                at
            });
            (position.collect(), v)
        }
        (None, None) => return None,
    };
    let (low, high) = position.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), x| (a.min(*x), b.max(*x)));
    let (unit, scale) = if axis == 2 { ("rad", 1.0) } else { ("mm", 1e3) };
    let scaled = |v: Vec<f64>| v.into_iter().map(|x| scale * x).collect();
    (high > low).then(|| Motion { axis: of_position, unit, position: scaled(position), velocity: scaled(velocity) })
}

/// A force over displacement and over velocity.
pub fn loops(fit: &Fit, k: usize) -> Option<Part> {
    let c = &fit.channels[k];
    let Motion { axis, unit: of_axis, position, velocity } = motion(&fit.minimum.repeated[c.place].recording, c)?;
    let y = format!("{} [{}]", c.name, unit(&c.name));
    let over = |title: &str, label: String, x: &[f64], range: Range<usize>, dots: bool| {
        let (x, from) = (&x[range.clone()], range.start);
        let drawn = |line: Line| if dots { line.dots() } else { line };
        let measured = drawn(Line::new(palette::OTHER, x, &c.measured[range.clone()]).width(1.8));
        let all = model(x, &c.model[range], c.fitted, from).map(drawn);
        Chart::new(title, label, y.clone()).line(measured).lines(all).svg()
    };
    let whole = 0..c.time.len();
    let panels = vec![
        over("Over displacement", format!("{axis} [{of_axis}]"), &position, tenth(c), false),
        over("Over velocity", format!("velocity along {axis} [{of_axis}/s]"), &velocity, whole, true),
    ];
    let caption = "Over displacement a tenth of the recording, over velocity some samples of all of it.";
    Some(Part {
        id: format!("loops{k}"),
        title: format!("{} over the motion", named(fit, k)),
        pictures: vec![Picture::new(panels, caption).key(&[MEASURED, FITTED, PREDICTED])],
        ..Part::default()
    })
}

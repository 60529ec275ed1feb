//! The picture of an answer on stability, from the front, from the side and from above: contacts with their
//! cones, balancing forces, loads on the bodies, and the motion that no contact stops.

use std::f64::consts::PI;

use crate::page::{Chart, Key, Line, Picture, palette};
use bristle_rigid::cone::{Cone, Section};
use bristle_rigid::stability::{Assembly, PointContact, Stability};
use bristle_scenario::{StabilityFile, WrenchSpec};

/// Size of a panel [px].
const SIZE: f64 = 400.0;
/// Height of a cone, length of the longest force and of the fastest motion, as shares of the picture's
/// extent.
const CONE: f64 = 0.12;
const FORCE: f64 = 0.35;
const MOTION: f64 = 0.2;
/// Corners of a circle that is drawn.
const ROUND: usize = 48;
/// Length of an arrow's head as a share of the arrow.
const HEAD: f64 = 0.14;

/// The views: title, and the two axes that are seen.
const VIEWS: [(&str, [usize; 2]); 3] = [("front", [0, 2]), ("side", [1, 2]), ("above", [0, 1])];
const AXES: [&str; 3] = ["x [m]", "y [m]", "z [m]"];

/// A line in space and what it stands for.
struct Stroke {
    points: Vec<[f64; 3]>,
    colour: &'static str,
    width: f64,
    arrow: bool,
}

/// One SVG file.
pub fn svg(file: &StabilityFile, answer: &Stability, title: &str) -> String {
    let (strokes, assembly) = (strokes(file, answer), &file.assembly);
    let contacts: Vec<[f64; 3]> = assembly.contacts.iter().map(|c| c.position).collect();
    let verdict = if answer.holds { "holds" } else { "does not hold" };
    let panel = |(view, [right, up]): &(&str, [usize; 2])| {
        let name = if *view == "front" { format!("{title}: {verdict}; {view}") } else { (*view).to_owned() };
        let flat = |points: &[[f64; 3]]| -> [Vec<f64>; 2] {
            [points.iter().map(|p| p[*right]).collect(), points.iter().map(|p| p[*up]).collect()]
        };
        let mut chart = Chart::new(name, AXES[*right], AXES[*up]).width(SIZE).height(SIZE);
        for Stroke { points, colour, width, arrow } in &strokes {
            let [mut x, mut y] = flat(points);
            if *arrow {
                add_head(&mut x, &mut y);
            }
            chart = chart.line(Line::new(colour, &x, &y).width(*width));
        }
        let [x, y] = flat(&contacts);
        chart.line(Line::new(palette::TEXT, &x, &y).dots()).equal().svg()
    };
    let mut key = vec![Key::new(palette::OTHER, "friction cones")];
    for (there, colour, name) in [
        (answer.holds, palette::GRID, "contact forces that balance"),
        (!acting(file, 0).is_empty(), palette::ELLIPSOID, "what is fixed"),
        (!acting(file, 1).is_empty(), palette::SURFACE, "load, in a scale of its own"),
        (answer.motion.is_some(), palette::BAD, "motion that no contact stops"),
    ] {
        if there {
            key.push(Key::new(colour, name));
        }
    }
    Picture::new(VIEWS.iter().map(panel).collect(), "").key(&key).file()
}

/// The forces that are fixed (0) or grow (1).
fn acting(file: &StabilityFile, which: usize) -> Vec<WrenchSpec> {
    file.wrenches().filter_map(|both| both[which]).filter(|w| length(w.force) > 0.0).collect()
}

/// All lines of the picture.
fn strokes(file: &StabilityFile, answer: &Stability) -> Vec<Stroke> {
    let assembly = &file.assembly;
    let extent = extent(assembly);
    let mut out = Vec::new();
    for contact in &assembly.contacts {
        out.extend(cone(contact, CONE * extent));
    }
    let unit = |longest: f64, share: f64| if longest > 0.0 { share * extent / longest } else { 0.0 };
    let arrow = |from: [f64; 3], v: [f64; 3], scale: f64, colour| Stroke {
        points: vec![from, add(from, v, scale)],
        colour,
        width: 2.0,
        arrow: true,
    };
    let forces = answer.forces.as_deref().unwrap_or_default();
    let [fixed, loads] = [0, 1].map(|which| acting(file, which));
    let longest = |all: &[WrenchSpec]| all.iter().map(|w| length(w.force)).fold(0.0, f64::max);
    // The load grows anyway.
    for w in &loads {
        out.push(arrow(w.at, w.force, unit(longest(&loads), FORCE), palette::SURFACE));
    }
    let longest = forces.iter().map(|f| length(f.force)).fold(longest(&fixed), f64::max);
    for w in &fixed {
        out.push(arrow(w.at, w.force, unit(longest, FORCE), palette::ELLIPSOID));
    }
    for (contact, f) in assembly.contacts.iter().zip(forces) {
        if length(f.force) > 1e-3 * longest {
            out.push(arrow(contact.position, f.force, unit(longest, FORCE), palette::GRID));
        }
    }
    if let Some(motion) = &answer.motion {
        let moves = assembly.contacts.iter().map(|c| {
            let t = motion.twists[c.body];
            let round = cross([t[3], t[4], t[5]], c.position);
            (c.position, [t[0] + round[0], t[1] + round[1], t[2] + round[2]])
        });
        let moves: Vec<_> = moves.collect();
        let fastest = moves.iter().map(|(_, v)| length(*v)).fold(0.0, f64::max);
        let shown = moves.into_iter().filter(|(_, v)| length(*v) > 1e-3 * fastest);
        out.extend(shown.map(|(at, v)| arrow(at, v, unit(fastest, MOTION), palette::BAD)));
    }
    out
}

/// The largest side of a box around the contacts; 1 m for a single one.
fn extent(assembly: &Assembly) -> f64 {
    let side = |k: usize| {
        let at = assembly.contacts.iter().map(|c| c.position[k]);
        let (low, high) = at.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(v), b.max(v)));
        high - low
    };
    let largest = (0..3).map(side).fold(0.0, f64::max);
    if largest > 0.0 { largest } else { 1.0 }
}

/// Rim and edges of a contact's cone.
fn cone(contact: &PointContact, height: f64) -> Vec<Stroke> {
    let rim: Vec<[f64; 3]> = rim(&contact.cone).into_iter().map(|ray| add(contact.position, ray, height)).collect();
    let stroke = |points| Stroke { points, colour: palette::OTHER, width: 1.0, arrow: false };
    let step = (rim.len() / 8).max(1);
    let edges = rim.iter().step_by(step).map(|end| stroke(vec![contact.position, *end]));
    let mut out: Vec<Stroke> = edges.collect();
    out.push(stroke(rim.iter().chain(rim.first()).copied().collect()));
    out
}

/// Forces on the cone with a normal part of 1.
fn rim(cone: &Cone) -> Vec<[f64; 3]> {
    let round = |k: usize| {
        let (sin, cos) = (2.0 * PI * k as f64 / ROUND as f64).sin_cos();
        cone.frame().to_world([cone.mu() * cos, cone.mu() * sin, 1.0])
    };
    match cone.section() {
        Section::Circle => (0..ROUND).map(round).collect(),
        Section::Polygon(_) => cone.rays().unwrap_or_default(),
    }
}

/// Adds the head of an arrow to its two points.
fn add_head(x: &mut Vec<f64>, y: &mut Vec<f64>) {
    let (end, along) = ([x[1], y[1]], [x[1] - x[0], y[1] - y[0]]);
    for side in [1.0, -1.0] {
        x.extend([end[0] - HEAD * (along[0] + 0.5 * side * along[1]), end[0]]);
        y.extend([end[1] - HEAD * (along[1] - 0.5 * side * along[0]), end[1]]);
    }
}

fn add(a: [f64; 3], b: [f64; 3], factor: f64) -> [f64; 3] {
    [0, 1, 2].map(|k| a[k] + factor * b[k])
}

fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

fn length(v: [f64; 3]) -> f64 {
    v.iter().map(|c| c * c).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use bristle_scenario::StabilityFile;

    /// The three views of a file's answer.
    fn drawn(text: &str) -> String {
        let file = StabilityFile::parse(text, "f.toml").unwrap();
        svg(&file, &file.assembly.stability().unwrap(), "a < b")
    }

    #[test]
    fn what_holds_has_forces_and_what_does_not_a_motion() {
        let floor = "fixed = { force = [0, 0, -9], at = [0.3, 0.3, 0] }\n\
                     contacts = [{ position = [0, 0, 0], normal = [0, 0, 1] }, \
                     { position = [1, 0, 0], normal = [0, 0, 1] }, { position = [0, 1, 0], normal = [0, 0, 1] }]\n";
        for (push, there, gone) in [
            ("load = { force = [0, 0, -1], at = [0.3, 0.3, 0] }\n", palette::GRID, palette::BAD),
            ("load = { force = [90, 0, 0] }\n", palette::BAD, palette::GRID),
        ] {
            for cone in ["\"circle\"", "{ pyramid = 4 }"] {
                let svg = drawn(&format!("mu = 0.5\ncone = {cone}\n{push}{floor}"));
                let document = roxmltree::Document::parse(&svg).unwrap();
                let strokes = |colour| document.descendants().filter(|n| n.attribute("stroke") == Some(colour)).count();
                assert!(strokes(there) > 3 && strokes(gone) == 0, "{there} {gone}");
                assert!(strokes(palette::OTHER) > 9 && svg.contains("a &lt; b") && !svg.contains("NaN"));
                assert!(["x [m]", "y [m]", "z [m]"].iter().all(|axis| svg.contains(axis)));
            }
        }
    }

    #[test]
    fn a_single_contact_and_none_are_drawn() {
        for text in [
            "mu = 0\nload = { moment = [0, 0, 1] }\n",
            "contacts = [{ position = [0, 0, 0], normal = [1, 0, 0], mu = 0 }]",
        ] {
            assert!(roxmltree::Document::parse(&drawn(text)).is_ok());
        }
    }
}

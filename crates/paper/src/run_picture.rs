//! The picture of a run: paths in the plane and rotation over time of up to 200 contacts.

use crate::page::{Chart, Key, Line, Picture, palette};
use bristle_data::rollout::{Outcome, Shown};

/// Outcomes in the order in which pictures draw them; rare ones come last, so that they are not covered.
pub const DRAWN: [Outcome; 5] =
    [Outcome::Stuck, Outcome::SlippedAndSpun, Outcome::Slipped, Outcome::Spun, Outcome::Failed];
/// Most points of a curve.
const MAX_POINTS: usize = 150;
/// Size of the picture without its key [px].
const SIZE: [f64; 2] = [920.0, 420.0];

/// The colour of an outcome in pictures.
pub const fn colour(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Stuck => palette::OTHER,
        Outcome::Slipped => palette::GRID,
        Outcome::Spun => palette::SURFACE,
        Outcome::SlippedAndSpun => palette::PUBLISHED,
        Outcome::Failed => palette::BAD,
    }
}

/// What the colour of an outcome stands for.
pub const fn key(outcome: Outcome) -> Key {
    Key::new(colour(outcome), outcome.name())
}

/// The picture as SVG text.
pub fn svg(shown: &Shown) -> String {
    let Shown { which, time, curves } = shown;
    let stride = time.len().div_ceil(MAX_POINTS).max(1);
    let kept: Vec<usize> = (0..time.len()).filter(|i| i % stride == 0 || i + 1 == time.len()).collect();
    let ends = |c: usize| {
        let finite = curves
            .iter()
            .flat_map(|curve| kept.iter().map(|i| curve.poses[*i].to_array()[c]))
            .filter(|v| v.is_finite());
        finite.fold([f64::INFINITY, f64::NEG_INFINITY], |[a, b], v| [a.min(v), b.max(v)])
    };
    let [xs, ys, angles] = [0, 1, 2].map(ends);
    let longest = (xs[1] - xs[0]).max(ys[1] - ys[0]);
    let (unit, scale) = if longest < 1e-4 { ("\u{b5}m", 1e6) } else { ("mm", 1e3) };
    let mut path = Chart::new(format!("Paths of {which}"), format!("x [{unit}]"), format!("y [{unit}]")).equal();
    let mut rotation = Chart::new("Rotation", "t [s]", "\u{3b8} [\u{b0}]");
    // No axis is finer than a nanometre or 1e-9 rad, so that rounding does not look like motion.
    let degrees = 1f64.to_degrees();
    let (x, y, turn) = (wide(xs, scale), wide(ys, scale), wide(angles, degrees));
    path = path.x_range(x[0], x[1]).y_range(y[0], y[1]);
    rotation = rotation.y_range(turn[0], turn[1]);
    let t: Vec<f64> = kept.iter().map(|i| time[*i]).collect();
    for outcome in DRAWN {
        for curve in curves.iter().filter(|c| c.outcome == outcome) {
            let of =
                |c: usize, unit: f64| kept.iter().map(|i| unit * curve.poses[*i].to_array()[c]).collect::<Vec<f64>>();
            let line = |x: &[f64], y: &[f64]| Line::new(colour(outcome), x, y).width(0.8);
            path = path.line(line(&of(0, scale), &of(1, scale)));
            rotation = rotation.line(line(&t, &of(2, degrees)));
        }
    }
    let shown = Outcome::ALL.into_iter().filter(|outcome| curves.iter().any(|c| c.outcome == *outcome));
    let key: Vec<_> = shown.map(key).collect();
    let path = path.height(SIZE[1]).fit(0.5 * SIZE[0]);
    let rotation = rotation.width(SIZE[0] - path.size()[0]).height(SIZE[1]);
    Picture::new(vec![path.svg(), rotation.svg()], "").key(&key).file()
}

/// A range with a margin, in units of `1/unit`, and at least 1e-9 to either side of its middle.
fn wide([low, high]: [f64; 2], unit: f64) -> [f64; 2] {
    if !(low <= high) {
        return [-1.0, 1.0];
    }
    let (middle, half) = (0.5 * (low + high), (0.525 * (high - low)).max(1e-9));
    [unit * (middle - half), unit * (middle + half)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use bristle::planar::Pose;
    use bristle_data::rollout::Curve;

    fn drawn(time: &[f64], curve: Curve) -> String {
        svg(&Shown { which: "1 contact".into(), time: time.to_vec(), curves: vec![curve] })
    }

    /// A path 2 mm by 40 mm, from corner to corner.
    #[test]
    fn a_millimetre_is_as_long_on_both_axes_of_a_path() {
        let time: Vec<f64> = (0..=10).map(f64::from).collect();
        let poses = time.iter().map(|t| Pose::new(2e-4 * t, 4e-3 * t, 0.1 * t)).collect();
        let svg = drawn(&time, Curve { poses, outcome: Outcome::SlippedAndSpun });
        let document = roxmltree::Document::parse(&svg).unwrap();
        let panel = document.descendants().find(|n| n.attribute("aria-label") == Some("Paths of 1 contact")).unwrap();
        let line = panel.descendants().find(|n| n.attribute("stroke") == Some(palette::PUBLISHED)).unwrap();
        let numbers = line.attribute("d").unwrap().split(['M', 'L', ' ', ',']).filter_map(|v| v.parse::<f64>().ok());
        let at: Vec<f64> = numbers.collect();
        let [dx, dy] = [at[at.len() - 2] - at[0], at[1] - at[at.len() - 1]];
        assert!((dy / dx - 20.0).abs() < 0.1 && dy > 200.0, "{dx} by {dy} px");
        // The key has the one outcome that there is.
        assert!(svg.contains(">slipped and spun</text>") && !svg.contains(">stuck</text>"));
    }

    #[test]
    fn what_does_not_move_is_drawn() {
        let still = Curve { poses: vec![Pose::new(0.1, 0.2, 0.3); 3], outcome: Outcome::Stuck };
        let failed = Curve { poses: vec![[f64::NAN; 3].into(); 3], outcome: Outcome::Failed };
        for curve in [still, failed] {
            let svg = drawn(&[0.0, 1.0, 2.0], curve);
            assert!(roxmltree::Document::parse(&svg).is_ok() && !svg.contains("NaN"));
        }
    }
}

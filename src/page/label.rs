//! Places for labels beside their curves.

use std::fmt::Write;

use super::look::escape;

/// Size of the letters, and their mean width over it.
const SIZE: f64 = 12.0;
const WIDTH: f64 = 0.56;

/// A curve in pixels and what it is called.
pub(super) struct Curve {
    pub points: Vec<[f64; 2]>,
    pub label: String,
    pub colour: &'static str,
}

/// SVG text elements, each beside its curve where it covers least of the others. `frame` is left, top, right, bottom.
pub(super) fn place(curves: &[Curve], frame: [f64; 4]) -> String {
    // What a label must not cover: all curves, as points close to one another.
    let drawn: Vec<(usize, [f64; 2])> =
        curves.iter().enumerate().flat_map(|(k, c)| dense(&c.points, frame).into_iter().map(move |p| (k, p))).collect();
    let mut taken: Vec<[f64; 4]> = Vec::new();
    let mut out = String::new();
    for (k, curve) in curves.iter().enumerate().filter(|(_, c)| !c.label.is_empty()) {
        let width = curve.label.chars().count() as f64 * SIZE * WIDTH;
        let best = candidates(&dense(&curve.points, frame), width)
            .into_iter()
            .enumerate()
            .map(|(order, at)| (cost(at, k, &drawn, &taken, frame) + 1e-3 * order as f64, at))
            .min_by(|a, b| a.0.total_cmp(&b.0));
        let Some((_, at)) = best else { continue };
        taken.push(at);
        let _ = write!(
            out,
            "<text x=\"{:.1}\" y=\"{:.1}\" font-size=\"{SIZE}\" fill=\"{}\" font-weight=\"600\">{}</text>",
            at[0],
            at[3] - 3.0,
            curve.colour,
            escape(&curve.label)
        );
    }
    out
}

/// Boxes (left, top, right, bottom) beside the curve: above, below and right of places along it.
fn candidates(points: &[[f64; 2]], width: f64) -> Vec<[f64; 4]> {
    const HEIGHT: f64 = SIZE + 3.0;
    let count = points.len();
    let mut out = Vec::new();
    for step in 0..=24 {
        // From the end backwards: that is where the reader looks first.
        let Some([x, y]) = points.get((count.saturating_sub(1)) * (24 - step) / 24).copied() else { continue };
        for gap in [5.0, 14.0, 28.0, 46.0] {
            out.push([x - 0.5 * width, y - gap - HEIGHT, x + 0.5 * width, y - gap]);
            out.push([x - 0.5 * width, y + gap, x + 0.5 * width, y + gap + HEIGHT]);
            out.push([x + gap, y - 0.5 * HEIGHT, x + gap + width, y + 0.5 * HEIGHT]);
            out.push([x - gap - width, y - 0.5 * HEIGHT, x - gap, y + 0.5 * HEIGHT]);
        }
    }
    out
}

fn cost(at: [f64; 4], own: usize, drawn: &[(usize, [f64; 2])], taken: &[[f64; 4]], frame: [f64; 4]) -> f64 {
    let inside =
        at[0] >= frame[0] + 2.0 && at[1] >= frame[1] + 1.0 && at[2] <= frame[2] - 2.0 && at[3] <= frame[3] - 2.0;
    let mut cost = if inside { 0.0 } else { 1e4 };
    for other in taken {
        if at[0] < other[2] + 4.0 && other[0] < at[2] + 4.0 && at[1] < other[3] + 1.0 && other[1] < at[3] + 1.0 {
            cost += 1e3;
        }
    }
    // Near other curves a label is read as theirs.
    let middle = [0.5 * (at[0] + at[2]), 0.5 * (at[1] + at[3])];
    let nearest = |mine: bool| {
        let of = drawn.iter().filter(|(k, _)| (*k == own) == mine);
        of.map(|(_, p)| (p[0] - middle[0]).hypot(p[1] - middle[1])).fold(f64::INFINITY, f64::min)
    };
    if nearest(false) < nearest(true) + 2.0 {
        cost += 2.5;
    }
    for &(k, [x, y]) in drawn {
        let reach = if k == own { 1.0 } else { 7.0 };
        if x > at[0] - reach && x < at[2] + reach && y > at[1] - reach && y < at[3] + reach {
            cost += if x > at[0] && x < at[2] && y > at[1] && y < at[3] { 3.0 } else { 1.0 };
        }
    }
    cost
}

/// Points a few pixels apart along a curve, those in the frame.
fn dense(points: &[[f64; 2]], frame: [f64; 4]) -> Vec<[f64; 2]> {
    const APART: f64 = 5.0;
    let mut out: Vec<[f64; 2]> = Vec::new();
    let mut add = |p: [f64; 2]| {
        if p[0] >= frame[0] - 1.0 && p[0] <= frame[2] + 1.0 && p[1] >= frame[1] - 1.0 && p[1] <= frame[3] + 1.0 {
            out.push(p);
        }
    };
    let mut last: Option<[f64; 2]> = None;
    for &p in points {
        if let Some(q) = last {
            let length = (p[0] - q[0]).hypot(p[1] - q[1]);
            if length < APART {
                continue;
            }
            let pieces = (length / APART).min(200.0) as usize;
            for i in 1..pieces {
                let t = i as f64 / pieces as f64;
                add([q[0] + t * (p[0] - q[0]), q[1] + t * (p[1] - q[1])]);
            }
        }
        add(p);
        last = Some(p);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_do_not_cover_each_other_nor_leave_the_frame() {
        let row = |y: f64, label: &str| Curve {
            points: (0..40).map(|i| [10.0 * f64::from(i), y]).collect(),
            label: label.into(),
            colour: "#000",
        };
        let svg = place(&[row(100.0, "first"), row(104.0, "second")], [0.0, 0.0, 400.0, 200.0]);
        let number = |text: &str| text.split('"').nth(1).unwrap().parse::<f64>().unwrap();
        let at: Vec<[f64; 2]> = svg
            .split("<text")
            .skip(1)
            .map(|t| [number(t.split("x=").nth(1).unwrap()), number(t.split(" y=").nth(1).unwrap())])
            .collect();
        assert_eq!(at.len(), 2);
        assert!((at[0][1] - at[1][1]).abs() > 12.0 || (at[0][0] - at[1][0]).abs() > 40.0, "{at:?}");
        assert!(at.iter().all(|[x, y]| *x > 0.0 && *x < 400.0 && *y > 0.0 && *y < 200.0));
    }
}

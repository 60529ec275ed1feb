//! Places labels beside their curves.

use std::fmt::Write;

use super::theme::escape;

/// Size of the letters, and their mean width over it.
const SIZE: f64 = 12.0;
const WIDTH: f64 = 0.64;

/// A curve in pixels and what it is called.
pub(super) struct Curve {
    pub points: Vec<[f64; 2]>,
    /// Curves of one label belong together.
    pub label: String,
    /// Whether another curve shows the label.
    pub silent: bool,
    pub colour: &'static str,
    /// Whether nothing joins the points.
    pub dots: bool,
}

/// A place that something is drawn at, and by which curve.
type Drawn = (usize, [f64; 2]);

/// SVG text elements, each beside its curve and nearer to it than to other curves, where it covers least.
/// `frame` is left, top, right, bottom.
pub(super) fn place(curves: &[Curve], frame: [f64; 4]) -> String {
    // What a label must not cover: all curves, as points close to one another.
    let drawn: Vec<Drawn> =
        curves.iter().enumerate().flat_map(|(k, c)| c.dense(frame).into_iter().map(move |p| (k, p))).collect();
    let mut taken: Vec<[f64; 4]> = Vec::new();
    let mut out = String::new();
    for (k, curve) in curves.iter().enumerate().filter(|(_, c)| !c.label.is_empty() && !c.silent) {
        let width = curve.label.chars().count() as f64 * SIZE * WIDTH;
        let own = |j: usize| j == k || curves[j].label == curve.label;
        let (mine, others): (Vec<Drawn>, Vec<Drawn>) = drawn.iter().partition(|(j, _)| own(*j));
        let best = candidates(&curve.dense(frame), width)
            .into_iter()
            .enumerate()
            .map(|(order, at)| (cost(at, &mine, &others, &taken, frame) + 1e-3 * order as f64, at))
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

/// Boxes (left, top, right, bottom) beside the curve: around places along it.
fn candidates(points: &[[f64; 2]], width: f64) -> Vec<[f64; 4]> {
    const HEIGHT: f64 = SIZE + 3.0;
    let count = points.len();
    let mut out = Vec::new();
    for step in 0..=24 {
        // Candidates start at the end of the curve, where a reader expects its label.
        let Some([x, y]) = points.get((count.saturating_sub(1)) * (24 - step) / 24).copied() else { continue };
        for gap in [6.0, 14.0, 28.0, 46.0] {
            out.push([x - 0.5 * width, y - gap - HEIGHT, x + 0.5 * width, y - gap]);
            out.push([x - 0.5 * width, y + gap, x + 0.5 * width, y + gap + HEIGHT]);
            out.push([x + gap, y - 0.5 * HEIGHT, x + gap + width, y + 0.5 * HEIGHT]);
            out.push([x - gap - width, y - 0.5 * HEIGHT, x - gap, y + 0.5 * HEIGHT]);
            out.push([x + gap, y - gap - HEIGHT, x + gap + width, y - gap]);
            out.push([x - gap - width, y - gap - HEIGHT, x - gap, y - gap]);
        }
    }
    out
}

fn cost(at: [f64; 4], mine: &[Drawn], others: &[Drawn], taken: &[[f64; 4]], frame: [f64; 4]) -> f64 {
    let inside =
        at[0] >= frame[0] + 2.0 && at[1] >= frame[1] + 1.0 && at[2] <= frame[2] - 2.0 && at[3] <= frame[3] - 2.0;
    let mut cost = if inside { 0.0 } else { 1e4 };
    for other in taken {
        if at[0] < other[2] + 4.0 && other[0] < at[2] + 4.0 && at[1] < other[3] + 1.0 && other[1] < at[3] + 1.0 {
            cost += 1e3;
        }
    }
    // The distance of a point from the letters, which fill the box but for its upper and lower edge.
    let gap = |[x, y]: [f64; 2]| {
        let [dx, dy] = [(at[0] - x).max(x - at[2]), (at[1] + 2.0 - y).max(y - at[3] + 2.0)].map(|d| d.max(0.0));
        dx.hypot(dy)
    };
    let nearest = |of: &[Drawn]| of.iter().map(|(_, p)| gap(*p)).fold(f64::INFINITY, f64::min);
    let (own, other) = (nearest(mine), nearest(others));
    // Nearer to another curve a label is read as that one's.
    cost += 2.0 * (own + 4.0 - other).clamp(0.0, 12.0) + 0.1 * own;
    for (of, reach) in [(mine, 2.5), (others, 4.0)] {
        for distance in of.iter().map(|(_, p)| gap(*p)).filter(|d| *d < reach) {
            cost += if distance == 0.0 { 3.0 } else { 1.0 };
        }
    }
    cost
}

impl Curve {
    /// Points a few pixels apart along the curve, those in the frame.
    fn dense(&self, frame: [f64; 4]) -> Vec<[f64; 2]> {
        const APART: f64 = 5.0;
        let inside = |p: &[f64; 2]| {
            p[0] >= frame[0] - 1.0 && p[0] <= frame[2] + 1.0 && p[1] >= frame[1] - 1.0 && p[1] <= frame[3] + 1.0
        };
        if self.dots {
            return self.points.iter().copied().filter(inside).collect();
        }
        let mut out: Vec<[f64; 2]> = Vec::new();
        let mut last: Option<[f64; 2]> = None;
        for &p in &self.points {
            if let Some(q) = last {
                let length = (p[0] - q[0]).hypot(p[1] - q[1]);
                if length < APART {
                    continue;
                }
                let pieces = (length / APART).min(200.0) as usize;
                for i in 1..pieces {
                    let t = i as f64 / pieces as f64;
                    out.push([q[0] + t * (p[0] - q[0]), q[1] + t * (p[1] - q[1])]);
                }
            }
            out.push(p);
            last = Some(p);
        }
        out.retain(inside);
        out
    }
}

#[cfg(test)]
mod tests {
    use std::f64::consts::PI;

    use super::*;

    const FRAME: [f64; 4] = [0.0, 0.0, 400.0, 200.0];

    fn curve(points: Vec<[f64; 2]>, label: &str) -> Curve {
        Curve { points, label: label.into(), silent: false, colour: "#000", dots: false }
    }

    /// Left end and base line of every label.
    fn places(curves: &[Curve]) -> Vec<[f64; 2]> {
        let number = |text: &str| text.split('"').nth(1).unwrap().parse::<f64>().unwrap();
        let of = |t: &str| [number(t.split("x=").nth(1).unwrap()), number(t.split(" y=").nth(1).unwrap())];
        place(curves, FRAME).split("<text").skip(1).map(of).collect()
    }

    /// Two paths as of Fig. 29: they part by a few pixels, run side by side and end at one place, each with a
    /// second one on it.
    #[test]
    fn labels_of_curves_that_run_close_stand_on_their_own_side() {
        let path = |bend: f64| -> Vec<[f64; 2]> {
            (0..=60).map(|i| f64::from(i) / 60.0).map(|t| [200.0 - bend * (PI * t).sin(), 10.0 + 170.0 * t]).collect()
        };
        let twice = |bend: f64, label: &str| {
            [curve(path(bend), label), Curve { silent: true, ..curve(path(bend + 1.0), label) }]
        };
        let [[left, left_base], [right, right_base]] =
            places(&twice(6.0, "f1").into_iter().chain(twice(-2.0, "f2")).collect::<Vec<_>>())[..]
        else {
            panic!("two labels")
        };
        let at = |bend: f64, base: f64| 200.0 - bend * (PI * ((base - 4.0) - 10.0) / 170.0).sin();
        let width = 2.0 * SIZE * WIDTH;
        assert!(left + width < at(6.0, left_base), "f1 stands left of the left curve: {left}, {left_base}");
        assert!(right > at(-2.0, right_base), "f2 stands right of the right curve: {right}, {right_base}");
    }

    #[test]
    fn a_label_of_a_corner_stays_in_the_frame() {
        let [[x, y]] = places(&[curve(vec![[0.0, 200.0]], "a label")])[..] else { panic!("one label") };
        assert!(x > 0.0 && y < 200.0, "{x}, {y}");
    }

    #[test]
    fn labels_do_not_cover_each_other_nor_leave_the_frame() {
        let row = |y: f64, label: &str| curve((0..40).map(|i| [10.0 * f64::from(i), y]).collect(), label);
        let at = places(&[row(100.0, "first"), row(104.0, "second")]);
        assert_eq!(at.len(), 2);
        assert!((at[0][1] - at[1][1]).abs() > 12.0 || (at[0][0] - at[1][0]).abs() > 40.0, "{at:?}");
        assert!(at.iter().all(|[x, y]| *x > 0.0 && *x < 400.0 && *y > 0.0 && *y < 200.0));
    }
}

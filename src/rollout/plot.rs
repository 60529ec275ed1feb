//! The picture of a run: paths in the plane and rotation over time of up to 200 contacts.

use kuva::backend::svg::SvgBackend;
use kuva::plot::LinePlot;
use kuva::render::figure::Figure;
use kuva::render::layout::Layout;
use kuva::render::plots::Plot;

/// Most contacts in a picture.
pub(super) const MAX_CONTACTS: u64 = 200;
/// Most points of a curve.
const MAX_POINTS: usize = 150;

/// One contact of the picture.
pub(super) struct Curve {
    pub poses: Vec<[f64; 3]>,
    pub kind: Outcome,
}

/// Decides the colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Stuck,
    Slipped,
    Spun,
    Failed,
}

impl Outcome {
    const ALL: [Self; 4] = [Self::Spun, Self::Slipped, Self::Stuck, Self::Failed];

    fn look(self) -> (&'static str, &'static str) {
        match self {
            Self::Stuck => ("stuck", "#555555"),
            Self::Slipped => ("slipped", "#1f77b4"),
            Self::Spun => ("spun", "#e07b39"),
            Self::Failed => ("failed", "#c00000"),
        }
    }
}

/// The picture as SVG text.
pub(super) fn svg(title: &str, time: &[f64], curves: &[Curve]) -> String {
    let stride = time.len().div_ceil(MAX_POINTS).max(1);
    let kept: Vec<usize> = (0..time.len()).filter(|i| i % stride == 0 || i + 1 == time.len()).collect();
    let draw = |point: &dyn Fn(usize, [f64; 3]) -> (f64, f64), legend: bool| -> Vec<Plot> {
        let mut plots = Vec::new();
        for outcome in Outcome::ALL {
            let (label, colour) = outcome.look();
            for (i, curve) in curves.iter().filter(|c| c.kind == outcome).enumerate() {
                let finite = kept.iter().filter(|i| curve.poses[**i].iter().all(|v| v.is_finite()));
                let data: Vec<(f64, f64)> = finite.map(|&i| point(i, curve.poses[i])).collect();
                let mut line = LinePlot::new().with_data(data).with_color(colour).with_stroke_width(0.8);
                if legend && i == 0 {
                    line = line.with_legend(label);
                }
                plots.push(line.into());
            }
        }
        plots
    };
    let all =
        || curves.iter().flat_map(|c| kept.iter().map(|i| c.poses[*i])).filter(|q| q.iter().all(|v| v.is_finite()));
    let [xs, ys, angles] = [0, 1, 2].map(|axis| Range::of(all().map(|q| q[axis])));
    let longest = xs.length().max(ys.length());
    let (unit, scale) = if longest < 1e-4 { ("um", 1e6) } else { ("mm", 1e3) };
    // Rounding is no motion: an axis is never finer than a hundredth of the other, nor than a nanometre.
    let least = (1e-2 * longest).max(1e-9);
    let layout = |plots: &[Plot], x: Option<Range>, y: Range| {
        let layout = Layout::auto_from_plots(plots).with_y_axis_min(y.0).with_y_axis_max(y.1);
        match x {
            Some(x) => layout.with_x_axis_min(x.0).with_x_axis_max(x.1),
            None => layout,
        }
    };
    let path_plots = draw(&|_, [x, y, _]| (scale * x, scale * y), false);
    let path_layout = layout(&path_plots, Some(xs.wide(least).times(scale)), ys.wide(least).times(scale));
    let angle_plots = draw(&|i, [_, _, theta]| (time[i], theta.to_degrees()), true);
    let angle_layout = layout(&angle_plots, None, angles.wide(1e-9).times(1f64.to_degrees()));
    let layouts = vec![
        path_layout.with_title("Path").with_x_label(format!("x [{unit}]")).with_y_label(format!("y [{unit}]")),
        angle_layout.with_title("Rotation").with_x_label("t [s]").with_y_label("theta [deg]"),
    ];
    let figure = Figure::new(1, 2)
        .with_title(title)
        .with_plots(vec![path_plots, angle_plots])
        .with_layouts(layouts)
        .with_cell_size(460.0, 380.0);
    SvgBackend::default().render_scene(&figure.render())
}

/// From the least to the greatest value.
#[derive(Clone, Copy)]
struct Range(f64, f64);

impl Range {
    fn of(values: impl Iterator<Item = f64>) -> Self {
        let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(v), b.max(v)));
        if low <= high { Self(low, high) } else { Self(0.0, 0.0) }
    }

    fn length(self) -> f64 {
        self.1 - self.0
    }

    /// With a margin, and at least `least` to either side of the middle.
    fn wide(self, least: f64) -> Self {
        let (middle, half) = (0.5 * (self.0 + self.1), (0.525 * self.length()).max(least));
        Self(middle - half, middle + half)
    }

    fn times(self, scale: f64) -> Self {
        Self(scale * self.0, scale * self.1)
    }
}

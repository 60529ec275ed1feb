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
    let paths = draw(&|_, [x, y, _]| (1e3 * x, 1e3 * y), false);
    let angles = draw(&|i, [_, _, theta]| (time[i], theta.to_degrees()), true);
    let layouts = vec![
        Layout::auto_from_plots(&paths).with_title("Path").with_x_label("x [mm]").with_y_label("y [mm]"),
        Layout::auto_from_plots(&angles).with_title("Rotation").with_x_label("t [s]").with_y_label("theta [deg]"),
    ];
    let figure = Figure::new(1, 2)
        .with_title(title)
        .with_plots(vec![paths, angles])
        .with_layouts(layouts)
        .with_cell_size(460.0, 380.0);
    SvgBackend::default().render_scene(&figure.render())
}

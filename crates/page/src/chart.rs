//! One chart: lines, points, bands and boxes over two axes, drawn by kuva, with labels at the curves.

use kuva::backend::svg::SvgBackend;
use kuva::plot::legend::LegendPosition;
use kuva::plot::{BandPlot, BoxPlot, LinePlot, ScatterPlot};
use kuva::render::layout::{ComputedLayout, Layout};
use kuva::render::plots::Plot;
use kuva::render::render::render_multiple;

use super::label::{self, Curve};
use super::theme::{decimals, finish, powers, theme};
use super::thin::{thin, thin_band};

/// Size of a chart [px].
const SIZE: [f64; 2] = [440.0, 290.0];
/// About what axes and headings take of it [px].
const MARGINS: [f64; 2] = [80.0, 90.0];
/// The least width that holds a heading [px].
const LEAST: f64 = 260.0;

/// How an axis runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scale {
    /// Evenly.
    #[default]
    Linear,
    /// By powers of ten.
    Log,
}

/// A curve of a chart.
#[derive(Clone, Debug)]
pub struct Line {
    points: Vec<[f64; 2]>,
    colour: &'static str,
    label: String,
    silent: bool,
    dashed: bool,
    marks: bool,
    width: f64,
}

impl Line {
    /// A line through `x`, `y`; places that are not finite are left out.
    pub fn new(colour: &'static str, x: &[f64], y: &[f64]) -> Self {
        let points = x.iter().zip(y).filter(|(x, y)| x.is_finite() && y.is_finite()).map(|(x, y)| [*x, *y]).collect();
        Self { points, colour, label: String::new(), silent: false, dashed: false, marks: false, width: 1.6 }
    }

    /// The label at the line.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    /// Makes the line share the label of the line with this label.
    #[must_use]
    pub fn belongs(mut self, label: impl Into<String>) -> Self {
        (self.label, self.silent) = (label.into(), true);
        self
    }

    /// Broken into dashes.
    #[must_use]
    pub fn dashed(mut self) -> Self {
        self.dashed = true;
        self
    }

    /// A dot at every point, joined by the line.
    #[must_use]
    pub fn marks(mut self) -> Self {
        self.marks = true;
        self
    }

    /// Dots alone.
    #[must_use]
    pub fn dots(self) -> Self {
        self.marks().width(0.0)
    }

    /// Stroke \[px\].
    #[must_use]
    pub fn width(mut self, width: f64) -> Self {
        self.width = width;
        self
    }
}

/// An area from `low` to `high` over `x`.
struct Band {
    x: Vec<f64>,
    low: Vec<f64>,
    high: Vec<f64>,
    colour: &'static str,
}

struct Box {
    name: String,
    colour: &'static str,
    values: Vec<f64>,
}

/// A chart in the making.
#[derive(Default)]
pub struct Chart {
    title: String,
    axes: [(String, Scale, Option<[f64; 2]>); 2],
    lines: Vec<Line>,
    bands: Vec<Band>,
    boxes: Vec<Box>,
    equal: bool,
    size: [Option<f64>; 2],
    y_span: f64,
}

impl Chart {
    /// An empty chart; the labels of the axes carry their units.
    pub fn new(title: impl Into<String>, x: impl Into<String>, y: impl Into<String>) -> Self {
        let axis = |label: String| (label, Scale::Linear, None);
        Self { title: title.into(), axes: [axis(x.into()), axis(y.into())], ..Self::default() }
    }

    /// Adds a line.
    #[must_use]
    pub fn line(mut self, line: Line) -> Self {
        self.lines.push(line);
        self
    }

    /// Adds lines.
    #[must_use]
    pub fn lines(mut self, lines: impl IntoIterator<Item = Line>) -> Self {
        self.lines.extend(lines);
        self
    }

    /// Adds the area between two curves; places that are not finite are left out.
    #[must_use]
    pub fn band(mut self, colour: &'static str, x: &[f64], low: &[f64], high: &[f64]) -> Self {
        let finite: Vec<usize> = (0..x.len()).filter(|i| [x, low, high].iter().all(|v| v[*i].is_finite())).collect();
        let [x, low, high] = [x, low, high].map(|v| finite.iter().map(|i| v[*i]).collect());
        self.bands.push(Band { x, low, high, colour });
        self
    }

    /// Adds a box with whiskers over `values`.
    #[must_use]
    pub fn boxed(mut self, name: impl Into<String>, colour: &'static str, values: Vec<f64>) -> Self {
        self.boxes.push(Box { name: name.into(), colour, values });
        self
    }

    /// Scales of the axes.
    #[must_use]
    pub fn scales(mut self, x: Scale, y: Scale) -> Self {
        (self.axes[0].1, self.axes[1].1) = (x, y);
        self
    }

    /// Range of the x axis.
    #[must_use]
    pub fn x_range(mut self, low: f64, high: f64) -> Self {
        self.axes[0].2 = Some([low, high]);
        self
    }

    /// Range of the y axis.
    #[must_use]
    pub fn y_range(mut self, low: f64, high: f64) -> Self {
        self.axes[1].2 = Some([low, high]);
        self
    }

    /// Least span of the y axis, below which differences of the data are rounding.
    #[must_use]
    pub fn y_span(mut self, least: f64) -> Self {
        self.y_span = least;
        self
    }

    /// One unit is as long on both axes.
    #[must_use]
    pub fn equal(mut self) -> Self {
        self.equal = true;
        self
    }

    /// Width \[px\].
    #[must_use]
    pub fn width(mut self, width: f64) -> Self {
        self.size[0] = Some(width);
        self
    }

    /// Height \[px\].
    #[must_use]
    pub fn height(mut self, height: f64) -> Self {
        self.size[1] = Some(height);
        self
    }

    /// Width \[px\], `most` or as much less as paths that are higher than wide leave empty.
    #[must_use]
    pub fn fit(self, most: f64) -> Self {
        let [x, y] = self.ranges().map(|[low, high]| high - low);
        let height = self.size()[1];
        let width = ((height - MARGINS[1]) * x / y + MARGINS[0]).clamp(LEAST.min(most), most);
        self.equal().width(width)
    }

    /// Width and height \[px\].
    pub fn size(&self) -> [f64; 2] {
        [0, 1].map(|c| self.size[c].unwrap_or(SIZE[c]))
    }

    /// The chart as SVG text that takes the width it is given.
    pub fn svg(self) -> String {
        let size = self.size();
        let ranges = self.ranges();
        let mut layout = Layout::new((ranges[0][0], ranges[0][1]), (ranges[1][0], ranges[1][1]))
            .with_width(size[0])
            .with_height(size[1])
            .with_title_size(14)
            .with_label_size(13)
            .with_tick_size(12)
            .with_theme(theme())
            .with_legend_position(LegendPosition::InsideTopRight)
            .with_grid_line_width(0.6)
            .with_ticks(5);
        for (axis, range) in ranges.iter().enumerate() {
            if self.axes[axis].1 == Scale::Linear {
                let ticks = decimals(*range);
                layout = match axis {
                    0 => layout.with_x_axis_min(range[0]).with_x_axis_max(range[1]).with_x_tick_format(ticks),
                    _ => layout.with_y_axis_min(range[0]).with_y_axis_max(range[1]).with_y_tick_format(ticks),
                };
            }
        }
        if !self.title.is_empty() {
            layout = layout.with_title(&self.title);
        }
        if !self.axes[0].0.is_empty() {
            layout = layout.with_x_label(&self.axes[0].0);
        }
        layout = layout.with_y_label(&self.axes[1].0);
        if self.axes[0].1 == Scale::Log {
            layout = layout.with_log_x().with_x_tick_format(powers());
        }
        if self.axes[1].1 == Scale::Log {
            layout = layout.with_log_y().with_y_tick_format(powers());
        }
        if self.equal {
            layout = layout.with_equal_aspect();
        }
        if !self.boxes.is_empty() {
            layout = layout.with_x_categories(self.boxes.iter().map(|b| b.name.clone()).collect());
        }
        let computed = ComputedLayout::from_layout(&layout);
        let curves: Vec<Curve> = self
            .lines
            .iter()
            .map(|line| {
                let at = line.points.iter().map(|[x, y]| [computed.map_x(*x), computed.map_y(*y)]);
                let (label, silent) = (line.label.clone(), line.silent);
                Curve { points: at.collect(), label, silent, colour: line.colour, dots: line.width == 0.0 }
            })
            .collect();
        let (right, bottom) =
            (computed.margin_left + computed.plot_width(), computed.margin_top + computed.plot_height());
        let labels = label::place(&curves, [computed.margin_left, computed.margin_top, right, bottom]);
        let scene = render_multiple(self.plots(), layout);
        let (width, height) = (scene.width, scene.height);
        let svg = SvgBackend::default().render_scene(&scene);
        finish(&svg, [width, height], &self.title, &labels)
    }

    fn plots(&self) -> Vec<Plot> {
        let mut plots: Vec<Plot> = Vec::new();
        for Band { x, low, high, colour } in &self.bands {
            let [x, low, high] = thin_band([x, low, high]);
            let band = BandPlot::new(x, low, high);
            plots.push(band.with_color(*colour).with_opacity(0.22).into());
        }
        for line in &self.lines {
            let points: Vec<(f64, f64)> = thin(&line.points).into_iter().map(|[x, y]| (x, y)).collect();
            if line.marks {
                let dots = ScatterPlot::new().with_data(points.clone()).with_color(line.colour).with_size(3.0);
                plots.push(dots.into());
            }
            if line.width > 0.0 {
                let mut plot = LinePlot::new().with_data(points).with_color(line.colour).with_stroke_width(line.width);
                if line.dashed {
                    plot = plot.with_dashed();
                }
                plots.push(plot.into());
            }
        }
        if !self.boxes.is_empty() {
            let mut plot = BoxPlot::new().with_width(0.6);
            for group in &self.boxes {
                plot = plot.with_group(group.name.clone(), group.values.iter().copied());
            }
            plots.push(plot.with_group_colors(self.boxes.iter().map(|b| b.colour)).into());
        }
        plots
    }

    /// From the data, unless given.
    fn ranges(&self) -> [[f64; 2]; 2] {
        let values = |axis: usize| -> Vec<f64> {
            let lines = self.lines.iter().flat_map(move |l| l.points.iter().map(move |p| p[axis]));
            let bands = self.bands.iter().flat_map(move |Band { x, low, high, .. }| {
                if axis == 0 { x.clone() } else { low.iter().chain(high).copied().collect() }
            });
            let boxes = self.boxes.iter().flat_map(|b| b.values.iter().copied()).filter(|_| axis == 1);
            lines.chain(bands).chain(boxes).filter(|v| v.is_finite()).collect()
        };
        [0, 1].map(|axis| {
            if axis == 0 && !self.boxes.is_empty() {
                return [0.5, self.boxes.len() as f64 + 0.5];
            }
            let (_, scale, given) = &self.axes[axis];
            if let Some(range) = given {
                return *range;
            }
            let all = values(axis);
            let all = all.iter().copied().filter(|v| *scale == Scale::Linear || *v > 0.0);
            let (low, high) = all.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(v), b.max(v)));
            if !(low <= high) {
                return if *scale == Scale::Log { [0.1, 1.0] } else { [0.0, 1.0] };
            }
            match scale {
                Scale::Log => [low / 1.3, high * 1.3],
                Scale::Linear => {
                    let (span, most) = (high - low, low.abs().max(high.abs()));
                    // Dots at the edge are seen whole.
                    let flush = axis == 0 && self.lines.iter().all(|l| !l.marks);
                    // Data that differ by rounding alone are drawn as a constant, with a margin around it.
                    let alike = span <= 1e-9 * most;
                    let margin = match (alike, flush) {
                        (true, _) if most > 0.0 => 0.1 * most,
                        (true, _) => 1.0,
                        (_, true) => 0.0,
                        _ => 0.06 * span,
                    };
                    let wider = if axis == 1 { (0.5 * (self.y_span - span) - margin).max(0.0) } else { 0.0 };
                    [low - margin - wider, high + margin + wider]
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::palette;

    #[test]
    fn a_chart_is_one_svg_without_size_and_with_its_labels() {
        let x: Vec<f64> = (0..50).map(f64::from).collect();
        let y: Vec<f64> = x.iter().map(|x| x * x).collect();
        let svg = Chart::new("a < b", "t [s]", "y [m]").line(Line::new(palette::GRID, &x, &y).label("grid")).svg();
        assert!(svg.starts_with("<svg") && svg.ends_with("</svg>"));
        assert_eq!(svg.matches("<svg").count(), 1);
        assert!(svg.contains("viewBox") && !svg.contains(" width=\"440\" height=\"290\">"));
        assert!(svg.contains("a &lt; b") && svg.contains(">grid</text>"));
    }

    #[test]
    fn one_unit_of_a_path_is_as_long_on_both_axes() {
        // From corner to corner of 1 x 20, at the width that fits and at another.
        let path = || Chart::new("", "x", "y").line(Line::new(palette::GRID, &[0.0, 1.0], &[0.0, 20.0])).height(420.0);
        for chart in [path().fit(460.0), path().equal()] {
            let width = chart.size()[0];
            assert!([LEAST, SIZE[0]].contains(&width), "{width}");
            let svg = chart.svg();
            let d = svg.split(" d=\"M").nth(1).unwrap().split('"').next().unwrap();
            let at: Vec<f64> = d.split([' ', ',', 'L']).filter_map(|n| n.parse().ok()).collect();
            let &[x0, y0, x1, y1] = &at[..] else { panic!("{d}") };
            assert!(((y0 - y1) / (x1 - x0) - 20.0).abs() < 0.3, "{d}");
        }
    }

    #[test]
    fn charts_of_nothing_and_of_constants_are_drawn() {
        assert!(Chart::new("", "x", "y").svg().contains("<svg"));
        let flat = Line::new(palette::GRID, &[0.0, 1.0], &[2.0, 2.0]);
        let chart = Chart::new("", "x", "y").line(flat);
        assert_eq!(chart.ranges()[1], [1.8, 2.2]);
        assert!(!chart.svg().contains("NaN"));
        let rounding = || Chart::new("", "x", "y").line(Line::new(palette::GRID, &[0.0, 1.0], &[1e-14, 3e-14]));
        assert!(rounding().ranges()[1][1] < 4e-14);
        let [low, high] = rounding().y_span(1e-9).ranges()[1];
        assert!((high - low - 1e-9).abs() < 1e-12);
        let (x, y) = ([0.0, 1.0, 2.0], [2.0, f64::NAN, 1.0]);
        let gap =
            Chart::new("", "x", "y").line(Line::new(palette::GRID, &x, &y)).band(palette::GRID, &x, &[0.0; 3], &y);
        assert!(!gap.svg().contains("NaN"));
    }
}

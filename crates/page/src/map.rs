//! Pictures of a grid of cells: shades of a number, arrows of a vector.

use std::fmt::Write;

use super::theme::escape;

/// Side of the grid [px].
const SIDE: f64 = 260.0;
const TOP: f64 = 24.0;

fn open(title: &str, below: &str) -> String {
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0} {1:.0}\" role=\"img\" aria-label=\"{2}\" \
         font-family=\"inherit\" fill=\"currentColor\" font-size=\"12\" class=\"map\">\
         <text x=\"{3:.0}\" y=\"15\" text-anchor=\"middle\" font-weight=\"600\">{2}</text>",
        SIDE + 20.0,
        SIDE + TOP + 30.0,
        escape(title),
        10.0 + 0.5 * SIDE,
    );
    let _ = write!(
        out,
        "<text x=\"{:.0}\" y=\"{:.0}\" text-anchor=\"middle\" font-size=\"12\">{}</text>\
         <rect x=\"10\" y=\"{TOP}\" width=\"{SIDE}\" height=\"{SIDE}\" fill=\"none\" stroke=\"currentColor\" \
         stroke-opacity=\"0.35\"/>",
        10.0 + 0.5 * SIDE,
        SIDE + TOP + 18.0,
        escape(below)
    );
    out
}

/// Cells of a grid of `nx` columns, bottom row first, shaded by `values` over their greatest.
pub fn heat(title: &str, below: &str, nx: usize, values: &[f64], colour: &str) -> String {
    heat_marked(title, below, nx, values, colour, &[])
}

/// The same with signs at places given from the centre, in units of the side.
pub fn heat_marked(
    title: &str,
    below: &str,
    nx: usize,
    values: &[f64],
    colour: &str,
    marks: &[([f64; 2], &str)],
) -> String {
    let mut out = open(title, below);
    let ny = values.len() / nx.max(1);
    let most = values.iter().copied().fold(0.0, f64::max);
    let side = SIDE / nx.max(ny).max(1) as f64;
    let (left, top) = (10.0 + 0.5 * (SIDE - side * nx as f64), TOP + 0.5 * (SIDE - side * ny as f64));
    let _ = write!(out, "<g fill=\"{colour}\">");
    for (i, v) in values.iter().enumerate().filter(|(_, v)| **v > 0.0) {
        let (ix, iy) = (i % nx, i / nx);
        let (x, y) = (left + side * ix as f64, top + side * (ny - 1 - iy) as f64);
        let _ = write!(
            out,
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{0:.1}\" height=\"{0:.1}\" opacity=\"{1:.2}\"/>",
            side - 0.6,
            0.15 + 0.85 * v / most
        );
    }
    out += "</g>";
    for ([x, y], sign) in marks {
        let (x, y) = (10.0 + SIDE * (0.5 + x), TOP + SIDE * (0.5 - y));
        let _ = write!(
            out,
            "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"middle\" dominant-baseline=\"central\" font-size=\"17\" \
             font-weight=\"700\">{}</text>",
            escape(sign)
        );
    }
    out += "</svg>";
    out
}

/// Arrows `(x, y, u, v)` over a square of half width `reach` [the unit of x], `unit` of (u, v) being one
/// arrow of `1.5` times `pitch`; the third number of `colours` picks each arrow's colour.
pub fn arrows(title: &str, below: &str, reach: f64, pitch: f64, unit: f64, arrows: &[([f64; 4], &str)]) -> String {
    let mut out = open(title, below);
    let scale = 0.5 * SIDE / reach;
    let (cx, cy) = (10.0 + 0.5 * SIDE, TOP + 0.5 * SIDE);
    for ([x, y, u, v], colour) in arrows {
        let length = 1.5 * pitch * scale / unit;
        let (dx, dy) = (u * length, -v * length);
        let (x0, y0) = (cx + x * scale, cy - y * scale);
        let size = dx.hypot(dy);
        if size < 0.6 {
            let _ = write!(out, "<circle cx=\"{x0:.1}\" cy=\"{y0:.1}\" r=\"0.8\" fill=\"{colour}\"/>");
            continue;
        }
        let (x1, y1) = (x0 + dx, y0 + dy);
        let head = (0.4 * size).min(4.0) / size;
        let (bx, by) = (x1 - head * dx, y1 - head * dy);
        let (nx, ny) = (-0.5 * head * dy, 0.5 * head * dx);
        let _ = write!(
            out,
            "<path d=\"M{x0:.1} {y0:.1}L{bx:.1} {by:.1}\" stroke=\"{colour}\" stroke-width=\"1.1\"/>\
             <path d=\"M{x1:.1} {y1:.1}L{:.1} {:.1}L{:.1} {:.1}z\" fill=\"{colour}\"/>",
            bx + nx,
            by + ny,
            bx - nx,
            by - ny
        );
    }
    out += "</svg>";
    out
}

/// Rows of phases over time: one row a contact, filled where its value is above a half.
pub fn phases(title: &str, time: &[f64], rows: &[&[f64]], end: f64) -> String {
    const WIDTH: f64 = 380.0;
    const HEIGHT: f64 = 220.0;
    let (left, top) = (40.0, 26.0);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 440 290\" role=\"img\" aria-label=\"{0}\" \
         font-family=\"inherit\" fill=\"currentColor\" font-size=\"12\">\
         <text x=\"{1:.0}\" y=\"15\" text-anchor=\"middle\" font-size=\"14\">{0}</text>\
         <rect x=\"{left}\" y=\"{top}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"none\" stroke=\"currentColor\" \
         stroke-opacity=\"0.35\"/>",
        escape(title),
        left + 0.5 * WIDTH
    );
    let row = HEIGHT / rows.len().max(1) as f64;
    let x = |t: f64| left + WIDTH * t / end;
    let _ = write!(out, "<g fill=\"{}\">", super::palette::ELLIPSOID);
    for (k, values) in rows.iter().enumerate() {
        let mut start = None;
        for i in 0..=values.len() {
            let slides = values.get(i).is_some_and(|v| *v > 0.5);
            match (start, slides) {
                (None, true) => start = Some(i),
                (Some(from), false) => {
                    // A sample stands for the time up to it.
                    let (a, b) = (time[from.max(1) - 1], time[i - 1]);
                    let _ = write!(
                        out,
                        "<rect x=\"{:.1}\" y=\"{:.2}\" width=\"{:.1}\" height=\"{:.2}\"/>",
                        x(a),
                        top + row * k as f64,
                        (x(b) - x(a)).max(0.5),
                        (0.85 * row).max(0.5)
                    );
                    start = None;
                }
                _ => {}
            }
        }
    }
    out += "</g>";
    for i in 0..=4 {
        let t = end * f64::from(i) / 4.0;
        let text = format!("{t:.3}");
        let text = text.trim_end_matches('0').trim_end_matches('.');
        let _ = write!(
            out,
            "<text x=\"{:.1}\" y=\"{:.0}\" text-anchor=\"middle\">{text}</text>",
            x(t),
            top + HEIGHT + 16.0
        );
    }
    let _ = write!(
        out,
        "<text x=\"{:.0}\" y=\"{:.0}\" text-anchor=\"middle\" font-size=\"13\">t [s]</text>\
         <text transform=\"translate(18 {:.0}) rotate(-90)\" text-anchor=\"middle\" \
         font-size=\"13\">contacts</text></svg>",
        left + 0.5 * WIDTH,
        top + HEIGHT + 36.0,
        top + 0.5 * HEIGHT
    );
    out
}

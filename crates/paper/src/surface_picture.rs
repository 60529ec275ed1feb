//! The picture of a limit surface: the closed body, two sections through it, and where twists land on it.
//!
//! Everything is drawn in `(fx, fy, tau/r)/(mu f_N)`, in which the ellipsoid is the unit sphere.

use std::f64::consts::FRAC_PI_2;
use std::fmt::Write;

use nalgebra::Vector3;

use bristle::limit_surface::{FitError, Table};

/// Steps of direction in a quarter turn: 6 degrees.
const STEPS: usize = 15;
/// The same for the outlines of sections: 1 degree.
const FINE: usize = 90;
/// Direction of view [rad], from which the positive axes are on the near side.
const AZIMUTH: f64 = 0.62;
const ELEVATION: f64 = 0.44;
/// Pixels a unit, in the body and in the sections.
const BODY_SCALE: f64 = 130.0;
const SECTION_SCALE: f64 = 108.0;
const BODY_AT: [f64; 2] = [190.0, 268.0];
const SECTIONS_AT: [[f64; 2]; 2] = [[590.0, 240.0], [905.0, 240.0]];
/// Half the side of a section's frame, in units.
const FRAME: f64 = 1.25;
/// Colours of facets in the shade and in the light.
const DARK: [f64; 3] = [38.0, 84.0, 124.0];
const LIGHT: [f64; 3] = [222.0, 236.0, 248.0];

/// The picture of `table` as SVG text; `title` stands above it, `ellipsoid` is the error of the ellipsoid.
pub fn svg(table: &Table, title: &str, ellipsoid: &FitError) -> String {
    let mut out = String::from(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 1060 470\" width=\"1060\" height=\"470\" \
         font-family=\"DejaVu Sans, Helvetica, Arial, sans-serif\" font-size=\"12\" fill=\"#333\" color=\"#333\">\n\
         <rect width=\"1060\" height=\"470\" fill=\"#fff\"/>\n",
    );
    let escaped = title.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    text(&mut out, [24.0, 30.0], "start", &format!("<tspan font-size=\"17\" fill=\"#111\">{escaped}</tspan>"));
    let about = format!(
        "rule {}, N<tspan font-size=\"9\" dy=\"3\">LS</tspan><tspan dy=\"-3\">\u{a0}= {}, r = {:.4} mm; \
         the ellipsoid is off by at most {:.1} % and {:.1}\u{b0}</tspan>",
        table.rule().name(),
        table.n_ls(),
        1e3 * table.radius(),
        100.0 * ellipsoid.max,
        ellipsoid.max_angle.to_degrees(),
    );
    text(&mut out, [24.0, 50.0], "start", &about);
    body(&mut out, table);
    for (axis, at) in SECTIONS_AT.into_iter().enumerate() {
        section(&mut out, table, axis, at);
    }
    legend(&mut out);
    out += "</svg>\n";
    out
}

/// The body alone, as SVG text in the colour of what is around it.
pub fn solid(table: &Table) -> String {
    let mut out = String::from(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 70 400 370\" role=\"img\" aria-label=\"limit surface\" \
         font-family=\"inherit\" font-size=\"13\" fill=\"currentColor\">\n",
    );
    body(&mut out, table);
    out += "</svg>\n";
    out
}

/// Friction wrench of the twist direction at `i` of `4 n` steps of theta and `j` of `n` steps of phi.
fn load(table: &Table, n: usize, i: usize, j: usize) -> Vector3<f64> {
    let angle = |k: usize| (k as f64 / n as f64 * FRAC_PI_2).sin_cos();
    let ((sin, cos), (sin_phi, cos_phi)) = (angle(i % (4 * n)), angle(j));
    let cos_phi = if j == n { 0.0 } else { cos_phi };
    table.look_up([cos * sin_phi, sin * sin_phi, cos_phi]).h.into()
}

/// All facets between twists `n` steps a quarter apart; the lower half mirrors the upper.
fn facets(table: &Table, n: usize) -> Vec<[Vector3<f64>; 4]> {
    let nodes: Vec<Vec<Vector3<f64>>> = (0..4 * n).map(|i| (0..=n).map(|j| load(table, n, i, j)).collect()).collect();
    let mut out = Vec::with_capacity(8 * n * n);
    for i in 0..4 * n {
        let next = (i + 1) % (4 * n);
        for j in 0..n {
            let quad = [nodes[i][j], nodes[next][j], nodes[next][j + 1], nodes[i][j + 1]];
            out.extend([quad, quad.map(|p| -p)]);
        }
    }
    out
}

fn body(out: &mut String, table: &Table) {
    let ((sa, ca), (se, ce)) = (AZIMUTH.sin_cos(), ELEVATION.sin_cos());
    let (right, near) = (Vector3::new(-sa, ca, 0.0), Vector3::new(ce * ca, ce * sa, se));
    let up = near.cross(&right);
    let place = |p: &Vector3<f64>| [BODY_AT[0] + BODY_SCALE * right.dot(p), BODY_AT[1] - BODY_SCALE * up.dot(p)];
    let light = (near + 0.9 * up - 0.7 * right).normalize();
    let mut seen: Vec<(f64, f64, [Vector3<f64>; 4])> = Vec::new();
    for quad in facets(table, STEPS) {
        let middle = quad.iter().sum::<Vector3<f64>>() / 4.0;
        let normal = (quad[2] - quad[0]).cross(&(quad[3] - quad[1]));
        if normal.norm() < 1e-9 {
            continue;
        }
        // The body is convex around the origin: outward normals point away from it, and facets that face away
        // are hidden.
        let normal = normal.normalize() * normal.dot(&middle).signum();
        if normal.dot(&near) > 0.0 {
            seen.push((middle.dot(&near), 0.5 + 0.5 * normal.dot(&light), quad));
        }
    }
    seen.sort_by(|a, b| a.0.total_cmp(&b.0));
    out.push_str("<g stroke-width=\"0.5\" stroke-linejoin=\"round\">\n");
    for (_, shade, quad) in &seen {
        let colour = |share: f64| {
            let c = [0, 1, 2].map(|k| DARK[k] + (LIGHT[k] - DARK[k]) * share);
            format!("#{:02x}{:02x}{:02x}", c[0] as u8, c[1] as u8, c[2] as u8)
        };
        let corners: Vec<String> = quad.iter().map(|p| point(place(p))).collect();
        let share = shade * shade;
        let (fill, stroke) = (colour(share), colour(0.6 * share));
        let _ = writeln!(out, "<polygon points=\"{}\" fill=\"{fill}\" stroke=\"{stroke}\"/>", corners.join(" "));
    }
    out.push_str("</g>\n<g fill=\"#d9541e\">\n");
    let mut dots: Vec<[f64; 2]> = Vec::new();
    for (_, _, quad) in &seen {
        for p in quad.iter().map(&place) {
            if !dots.iter().any(|q| (q[0] - p[0]).hypot(q[1] - p[1]) < 0.05) {
                dots.push(p);
            }
        }
    }
    for [x, y] in dots {
        let _ = writeln!(out, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"1.1\"/>");
    }
    out.push_str("</g>\n");
    // Lengths at which every label is outside of the body.
    let tips = [
        (Vector3::x(), 1.75, fraction("f", "x", ""), [0.0, 17.0], "middle"),
        (Vector3::y(), 1.45, fraction("f", "y", ""), [4.0, 16.0], "middle"),
        (Vector3::z(), 1.32, fraction("\u{3c4}", "", " r"), [9.0, 4.0], "start"),
    ];
    for (axis, length, label, [dx, dy], anchor) in tips {
        // All three start on the near side of the body, where they leave it.
        let leaves = seen.iter().flat_map(|s| s.2).map(|p| p.dot(&axis)).fold(0.0, f64::max);
        let [[x0, y0], [x1, y1]] = [place(&(axis * leaves)), place(&(axis * leaves.max(1.0) * length))];
        let _ = writeln!(
            out,
            "<line x1=\"{x0:.1}\" y1=\"{y0:.1}\" x2=\"{x1:.1}\" y2=\"{y1:.1}\" stroke=\"currentColor\" \
             stroke-width=\"1.2\"/>"
        );
        text(out, [x1 + dx, y1 + dy], anchor, &label);
    }
}

/// The section through the axes of force `axis` (0: x, 1: y) and torque.
fn section(out: &mut String, table: &Table, axis: usize, at: [f64; 2]) {
    let place = |f: f64, tau: f64| [at[0] + SECTION_SCALE * f, at[1] - SECTION_SCALE * tau];
    let across = 1 - axis;
    let half = FRAME * SECTION_SCALE;
    let names = ["x", "y"];
    let _ = writeln!(
        out,
        "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"none\" stroke=\"#bbb\"/>",
        at[0] - half,
        at[1] - half,
        2.0 * half,
        2.0 * half
    );
    for tick in [-1.0, 0.0, 1.0] {
        let ([x, _], [_, y]) = (place(tick, 0.0), place(0.0, tick));
        let (left, top, side) = (at[0] - half, at[1] - half, 2.0 * half);
        let _ = writeln!(out, "<path d=\"M{x:.1} {top:.1}v{side:.1}M{left:.1} {y:.1}h{side:.1}\" stroke=\"#e6e6e6\"/>");
        text(out, [x, at[1] + half + 16.0], "middle", &number(tick));
        text(out, [left - 7.0, y + 4.0], "end", &number(tick));
    }
    text(out, [at[0], at[1] - half - 10.0], "middle", &format!("f{} = 0", sub(names[across])));
    text(out, [at[0], at[1] + half + 36.0], "middle", &fraction("f", names[axis], ""));
    let _ = writeln!(
        out,
        "<g transform=\"translate({:.1} {:.1}) rotate(-90)\"><text text-anchor=\"middle\">{}</text></g>",
        at[0] - half - 30.0,
        at[1],
        fraction("\u{3c4}", "", " r")
    );
    let _ = writeln!(
        out,
        "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"{SECTION_SCALE}\" fill=\"none\" stroke=\"#777\" \
         stroke-dasharray=\"5 4\"/>",
        at[0], at[1]
    );
    let outline: Vec<String> = outline(table, axis, across).iter().map(|[f, tau]| point(place(*f, *tau))).collect();
    let _ = writeln!(
        out,
        "<polygon points=\"{}\" fill=\"#26547c\" fill-opacity=\"0.07\" stroke=\"#26547c\" stroke-width=\"1.8\" \
         stroke-linejoin=\"round\"/>",
        outline.join(" ")
    );
    out.push_str("<g fill=\"#d9541e\">\n");
    for i in [axis * STEPS, (axis + 2) * STEPS] {
        for j in 0..=STEPS {
            let p = load(table, STEPS, i, j);
            for [x, y] in [place(p[axis], p[2]), place(-p[axis], -p[2])] {
                let _ = writeln!(out, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.6\"/>");
            }
        }
    }
    out.push_str("</g>\n");
}

/// Where the body's facets cross the plane without force along `across`, in order around the origin.
pub fn outline(table: &Table, axis: usize, across: usize) -> Vec<[f64; 2]> {
    let mut points: Vec<[f64; 2]> = Vec::new();
    for quad in facets(table, FINE) {
        for k in 0..4 {
            let (a, b) = (quad[k], quad[(k + 1) % 4]);
            if (a[across] < 0.0) != (b[across] < 0.0) {
                let p = a + (b - a) * (a[across] / (a[across] - b[across]));
                points.push([p[axis], p[2]]);
            }
        }
    }
    points.sort_by(|a, b| a[1].atan2(a[0]).total_cmp(&b[1].atan2(b[0])));
    let mut kept: Vec<[f64; 2]> = Vec::new();
    for p in points {
        if kept.last().is_none_or(|q| (p[0] - q[0]).hypot(p[1] - q[1]) > 4e-3) && p[0].hypot(p[1]) > 1e-9 {
            kept.push(p);
        }
    }
    kept
}

fn legend(out: &mut String) {
    let _ = writeln!(
        out,
        "<line x1=\"330\" y1=\"442\" x2=\"358\" y2=\"442\" stroke=\"#26547c\" stroke-width=\"1.8\"/>\n\
         <line x1=\"470\" y1=\"442\" x2=\"498\" y2=\"442\" stroke=\"#777\" stroke-dasharray=\"5 4\"/>\n\
         <circle cx=\"590\" cy=\"442\" r=\"2.6\" fill=\"#d9541e\"/>"
    );
    text(out, [365.0, 446.0], "start", "limit surface");
    text(out, [505.0, 446.0], "start", "ellipsoid");
    let step = 90.0 / STEPS as f64;
    let twist = format!("twists in steps of {step:.0}\u{b0}; in a section, those that do not move across it");
    text(out, [600.0, 446.0], "start", &twist);
}

/// `name_index/(mu f_N factor)`.
fn fraction(name: &str, index: &str, factor: &str) -> String {
    let below = if index.is_empty() { String::new() } else { sub(index) };
    format!("{name}{below} / (\u{3bc} f{}{factor})", sub("N"))
}

/// A subscript.
fn sub(index: &str) -> String {
    format!("<tspan font-size=\"9\" dy=\"3\">{index}</tspan><tspan dy=\"-3\">\u{200b}</tspan>")
}

fn number(v: f64) -> String {
    format!("{v:.0}").replace('-', "\u{2212}")
}

fn point([x, y]: [f64; 2]) -> String {
    format!("{x:.1},{y:.1}")
}

fn text(out: &mut String, [x, y]: [f64; 2], anchor: &str, content: &str) {
    let _ = writeln!(out, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{content}</text>");
}

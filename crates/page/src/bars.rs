//! Horizontal bars: some sizes beside each other, each with its name and its number.

use std::fmt::Write;

use super::theme::escape;

/// Width of the picture, of the longest bar, and height of a row with its name [px].
const WIDTH: f64 = 440.0;
const LONGEST: f64 = 230.0;
const ROW: f64 = 38.0;

/// A bar.
#[derive(Clone, Debug)]
pub struct Bar {
    /// What it is.
    pub name: String,
    /// Its length, in the unit of all bars.
    pub size: f64,
    /// The number at its end.
    pub number: String,
    /// Its colour.
    pub colour: &'static str,
}

/// Bars below each other; negative sizes and such that are not finite have none.
pub fn bars(title: &str, all: &[Bar]) -> String {
    let title = escape(title);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {:.0}\" role=\"img\" aria-label=\"{title}\" \
         font-family=\"inherit\" fill=\"currentColor\" font-size=\"12\"><text x=\"{:.0}\" y=\"15\" \
         text-anchor=\"middle\" font-size=\"14\">{title}</text>",
        32.0 + ROW * all.len() as f64,
        0.5 * WIDTH
    );
    let sizes = all.iter().map(|bar| bar.size).filter(|size| size.is_finite());
    let most = sizes.fold(0.0, f64::max).max(f64::MIN_POSITIVE);
    for (k, bar) in all.iter().enumerate() {
        let top = 26.0 + ROW * k as f64;
        let length = if bar.size > 0.0 && bar.size.is_finite() { (LONGEST * bar.size / most).max(1.0) } else { 0.0 };
        let _ = write!(
            out,
            "<text x=\"10\" y=\"{:.0}\">{}</text><rect x=\"10\" y=\"{:.0}\" width=\"{length:.1}\" height=\"12\" \
             fill=\"{}\"/><text x=\"{:.1}\" y=\"{:.0}\">{}</text>",
            top + 12.0,
            escape(&bar.name),
            top + 17.0,
            bar.colour,
            16.0 + length,
            top + 27.0,
            escape(&bar.number)
        );
    }
    out + "</svg>"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_in_the_ratio_of_sizes() {
        let bar = |name: &str, size: f64| Bar { name: name.into(), size, number: String::new(), colour: "#123456" };
        let svg = bars("a & b", &[bar("whole", 2.0), bar("half", 1.0), bar("unknown", f64::NAN)]);
        let widths: Vec<&str> = svg.split("<rect ").skip(1).map(|r| r.split("width=\"").nth(1).unwrap()).collect();
        let widths: Vec<f64> = widths.iter().map(|w| w.split('"').next().unwrap().parse().unwrap()).collect();
        assert_eq!(widths, [230.0, 115.0, 0.0]);
        assert!(svg.contains("a &amp; b") && svg.ends_with("</svg>"));
    }
}

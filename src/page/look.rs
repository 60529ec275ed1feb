//! How charts look: ticks, colours, and the frame of their SVG.

use kuva::render::layout::TickFormat;
use kuva::render::theme::Theme;

use super::ink;

/// Powers of ten by their exponents; ticks between them say nothing.
pub(super) fn powers() -> TickFormat {
    const DIGITS: [char; 10] = [
        '\u{2070}', '\u{b9}', '\u{b2}', '\u{b3}', '\u{2074}', '\u{2075}', '\u{2076}', '\u{2077}', '\u{2078}',
        '\u{2079}',
    ];
    let text = |v: f64| {
        let exponent = v.log10();
        if (exponent - exponent.round()).abs() > 1e-9 {
            return String::new();
        }
        let exponent = exponent.round() as i32;
        if (0..=2).contains(&exponent) {
            return format!("{v:.0}");
        }
        let digits = exponent.abs().to_string();
        let sign = if exponent < 0 { "\u{207b}" } else { "" };
        let digits: String = digits.bytes().map(|d| DIGITS[usize::from(d - b'0')]).collect();
        format!("10{sign}{digits}")
    };
    TickFormat::Custom(std::sync::Arc::new(text))
}

/// Everything that is not data has the colour of the text.
pub(super) fn theme() -> Theme {
    let text = || String::from(ink::TEXT);
    Theme {
        background: "none".into(),
        axis_color: text(),
        grid_color: "#8888884d".into(),
        tick_color: text(),
        text_color: text(),
        legend_bg: "none".into(),
        legend_border: "none".into(),
        pie_leader: text(),
        box_median: text(),
        violin_border: text(),
        colorbar_border: text(),
        font_family: Some("inherit".into()),
        show_grid: true,
    }
}

/// Gives the SVG a view box in place of a size, a name for screen readers, and its labels.
pub(super) fn finish(svg: &str, [width, height]: [f64; 2], title: &str, labels: &str) -> String {
    let body = svg.find('>').map_or(svg, |end| &svg[end + 1..]);
    let body = body.strip_suffix('\n').unwrap_or(body).trim_end();
    let body = body.strip_suffix("</svg>").unwrap_or(body);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\" \
         aria-label=\"{}\" font-family=\"inherit\" fill=\"currentColor\">{body}{labels}</svg>",
        escape(title)
    )
}

/// For text and attributes of XML.
pub(super) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

//! The style of charts: ticks, colours, and the frame of their SVG.

use kuva::render::layout::TickFormat;
use kuva::render::theme::Theme;

use super::palette;

/// Labels of powers of ten by their exponents; ticks between them have no label.
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

/// Numbers of an even axis over `range`, with the digits by which neighbouring ticks differ and no more.
pub(super) fn decimals([low, high]: [f64; 2]) -> TickFormat {
    let most = low.abs().max(high.abs());
    // Ticks are a fifth of the range apart or less, at 1, 2, 2.5 or 5 times a power of ten.
    let finest = ((high - low).abs() / 10.0).max(1e-12 * most).max(1e-300).log10().floor() as i32 - 1;
    let bare = |text: String| {
        let (mantissa, exponent) = text.split_once('e').map_or((text.as_str(), ""), |(m, e)| (m, e));
        let mantissa =
            if mantissa.contains('.') { mantissa.trim_end_matches('0').trim_end_matches('.') } else { mantissa };
        if exponent.is_empty() { mantissa.to_owned() } else { format!("{mantissa}e{exponent}") }
    };
    let text = move |v: f64| {
        if v.abs() < 1e-9 * most {
            return "0".to_owned();
        }
        if (1e-2..1e5).contains(&most) {
            return bare(format!("{v:.*}", (-finest).clamp(0, 12) as usize));
        }
        let digits = (v.abs().log10().floor() as i32 - finest).clamp(0, 12);
        bare(format!("{v:.*e}", digits as usize))
    };
    TickFormat::Custom(std::sync::Arc::new(text))
}

/// Everything that is not data has the colour of the text.
pub(super) fn theme() -> Theme {
    let text = || String::from(palette::TEXT);
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
         aria-label=\"{}\" font-family=\"inherit\" fill=\"currentColor\">{}{labels}</svg>",
        escape(title),
        hundredths(body)
    )
}

/// The SVG with the coordinates of paths rounded to a hundredth of a pixel and repeated points left out: many
/// contacts do not move, and the files become much smaller.
fn hundredths(svg: &str) -> String {
    let mut pieces = svg.split(" d=\"");
    let mut out = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let (path, rest) = piece.split_once('"').unwrap_or((piece, ""));
        let number = |word: &str| word.parse::<f64>().map(|v| format!("{}", (100.0 * v).round() / 100.0));
        let words: Vec<String> = path.split(' ').map(|word| number(word).unwrap_or_else(|_| word.to_owned())).collect();
        let stays = |k: usize| k >= 2 && words[k] == "L" && words.get(k + 1..k + 3) == words.get(k - 2..k);
        let kept = (0..words.len()).filter(|k| !(0..3).any(|back| *k >= back && stays(k - back)));
        let path: Vec<&str> = kept.map(|k| words[k].as_str()).collect();
        out += &format!(" d=\"{}\"{rest}", path.join(" "));
    }
    out
}

/// For text and attributes of XML.
pub(super) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_short_and_nothing_else_is() {
        let svg = "<path d=\"M 1.23456 2 L 1.2340001 2 L 1.23 2 L 3.000000004 -0.5 L 3 -1\" \
         x=\"1.23456\"/><text>7.654321</text>";
        let short = "<path d=\"M 1.23 2 L 3 -0.5 L 3 -1\" x=\"1.23456\"/><text>7.654321</text>";
        assert_eq!(hundredths(svg), short);
    }

    #[test]
    fn ticks_have_the_digits_that_tell_them_apart() {
        for (range, v, text) in [
            // As binary fractions add up.
            ([4.0e-4, 5.5e-4], 4.250_000_000_000_000_4e-4, "4.25e-4"),
            ([0.0, 1.0], 0.600_000_000_000_000_1, "0.6"),
            ([-0.16, 0.01], -0.025, "-0.025"),
            ([0.0, 2.0], 1.5, "1.5"),
            ([99.9, 100.1], 100.05, "100.05"),
            ([0.0, 250.0], 50.0, "50"),
            ([0.0, 2e6], 5e5, "5e5"),
            ([-3e-3, 8e-3], 1e-19, "0"),
            ([0.0, 1e4], 2500.0, "2500"),
        ] {
            assert_eq!(decimals(range).format(v), text, "{range:?}");
        }
    }
}

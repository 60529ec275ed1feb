//! Pictures: panels side by side, on a page or in a file of their own.

use std::fmt::Write;

/// Panels of a figure.
#[derive(Clone, Debug, Default)]
pub struct Picture {
    /// SVG texts; a wide screen shows them side by side.
    pub panels: Vec<String>,
    /// What they show, in a sentence.
    pub caption: String,
}

impl Picture {
    /// Panels and what they show.
    #[must_use]
    pub fn new(panels: Vec<String>, caption: impl Into<String>) -> Self {
        Self { panels, caption: caption.into() }
    }

    /// One SVG file of all panels in a row, dark on white: a viewer of files gives it no colours.
    #[must_use]
    pub fn file(&self) -> String {
        let sizes: Vec<[f64; 2]> = self.panels.iter().map(|svg| size(svg)).collect();
        let width: f64 = sizes.iter().map(|s| s[0]).sum();
        let height = sizes.iter().map(|s| s[1]).fold(0.0, f64::max);
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
             font-family=\"DejaVu Sans, Helvetica, Arial, sans-serif\" color=\"#222\">\n\
             <rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n"
        );
        let mut x = 0.0;
        for (svg, size) in self.panels.iter().zip(&sizes) {
            let placed = format!("<svg x=\"{x}\" width=\"{}\" height=\"{}\" ", size[0], size[1]);
            let _ = writeln!(out, "{}", svg.replacen("<svg ", &placed, 1));
            x += size[0];
        }
        renumber(&(out + "</svg>\n"))
    }
}

/// Width and height of a panel, from its view box.
fn size(svg: &str) -> [f64; 2] {
    let inside = svg.split("viewBox=\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap_or_default();
    let mut numbers = inside.split(' ').skip(2).map(|n| n.parse().unwrap_or(0.0));
    [numbers.next().unwrap_or(0.0), numbers.next().unwrap_or(0.0)]
}

/// Numbers the clip paths of charts in the order of the page: kuva counts them over the whole process.
pub(super) fn renumber(html: &str) -> String {
    const NAME: &str = "kuva-clip-";
    let mut seen: Vec<&str> = Vec::new();
    let mut pieces = html.split(NAME);
    let mut out = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let end = piece.find(|c: char| !c.is_ascii_digit()).unwrap_or(piece.len());
        let (number, rest) = piece.split_at(end);
        let k = seen.iter().position(|n| *n == number).unwrap_or_else(|| {
            seen.push(number);
            seen.len() - 1
        });
        let _ = write!(out, "clip{k}{rest}");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::{Chart, Line, ink};

    #[test]
    fn clip_paths_are_numbered_by_the_page_alone() {
        let text = "a kuva-clip-7) b kuva-clip-7\" c kuva-clip-12\" end";
        assert_eq!(renumber(text), "a clip0) b clip0\" c clip1\" end");
    }

    #[test]
    fn a_file_has_its_panels_in_a_row() {
        let chart = || Chart::new("a", "x", "y").line(Line::new(ink::GRID, &[0.0, 1.0], &[0.0, 1.0])).svg();
        let file = Picture::new(vec![chart(), chart()], "").file();
        let [width, height] = size(&chart());
        assert_eq!(size(&file), [2.0 * width, height]);
        assert_eq!((file.matches("<svg").count(), file.matches("</svg>").count()), (3, 3));
        assert!(file.contains(&format!("<svg x=\"{width}\" width=\"{width}\"")), "the second stands beside the first");
        assert!(!file.contains("kuva-clip"));
    }
}

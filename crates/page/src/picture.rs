//! Pictures: panels side by side, on a page or in a file of their own.

use std::fmt::Write;

use super::theme::escape;
use bristle_data::rollout::PICTURE as MARK;

/// What a kind of line stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    colour: &'static str,
    dashed: bool,
    name: &'static str,
}

impl Key {
    /// A solid line.
    pub const fn new(colour: &'static str, name: &'static str) -> Self {
        Self { colour, dashed: false, name }
    }

    /// A dashed line.
    pub const fn dashed(colour: &'static str, name: &'static str) -> Self {
        Self { colour, dashed: true, name }
    }

    pub(super) const fn name(&self) -> &'static str {
        self.name
    }

    /// The line, as SVG text of [`KEY`] pixels.
    pub(super) fn sample(&self) -> String {
        let [width, height] = KEY;
        let dash = if self.dashed { " stroke-dasharray=\"6 3\"" } else { "" };
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 \
             {width} {height}\" \
             aria-hidden=\"true\"><path d=\"M0 {0}h{width}\" stroke=\"{1}\" stroke-width=\"2.4\"{dash}/></svg>",
            0.5 * height,
            self.colour
        )
    }
}

/// Size of a key's line [px].
const KEY: [f64; 2] = [30.0, 10.0];
/// In a file, the height of a key's row and the width of a letter there [px].
const KEY_ROW: f64 = 24.0;
const KEY_LETTER: f64 = 7.2;

/// Panels of a figure.
#[derive(Clone, Debug, Default)]
pub struct Picture {
    /// SVG texts; a wide screen shows them side by side.
    pub panels: Vec<String>,
    /// What they show, in a sentence.
    pub caption: String,
    /// What colours and dashes stand for.
    pub key: Vec<Key>,
    /// Whether the last panel is a tall one that stands beside all the others.
    pub tall: bool,
}

impl Picture {
    /// Panels and what they show.
    pub fn new(panels: Vec<String>, caption: impl Into<String>) -> Self {
        Self { panels, caption: caption.into(), ..Self::default() }
    }

    /// Says what colours and dashes stand for.
    #[must_use]
    pub fn key(mut self, key: &[Key]) -> Self {
        self.key = key.to_vec();
        self
    }

    /// The last panel stands beside all the others, one below the other.
    #[must_use]
    pub fn tall(mut self) -> Self {
        self.tall = self.panels.len() > 2;
        self
    }

    /// Columns of panels on a wide page: no panel stands alone in its row if that can be helped.
    pub(super) fn columns(&self) -> usize {
        match self.panels.len() {
            _ if self.tall => 2,
            n if n < 3 => n.max(1),
            n if n % 3 == 1 && n % 2 == 0 => 2,
            _ => 3,
        }
    }

    /// Rows beside a tall panel and the widths of the two columns, as CSS variables.
    pub(super) fn grid(&self) -> Option<String> {
        let (last, others) = self.panels.split_last().filter(|_| self.tall)?;
        let widest = others.iter().map(|svg| size(svg)[0]).fold(0.0, f64::max);
        Some(format!("--rows:{};--columns:{widest}fr {}fr", others.len(), size(last)[0]))
    }

    /// One SVG file of all panels as on a wide page with the key below, dark on white: a viewer of files
    /// gives it no colours.
    pub fn file(&self) -> String {
        let (places, [width, mut height]) = self.places();
        let key = self.key_at([20.0, height], width);
        height += key.1;
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
             height=\"{height}\" \
             font-family=\"DejaVu Sans, Helvetica, Arial, sans-serif\" color=\"#222\">\n{MARK}\n\
             <rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n"
        );
        for (svg, [x, y, w, h]) in self.panels.iter().zip(places) {
            let placed = format!("<svg x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\" ");
            let _ = writeln!(out, "{}", svg.replacen("<svg ", &placed, 1));
        }
        renumber(&(out + &key.0 + "</svg>\n"))
    }

    /// Where a file has its panels (left, top, width, height), and its size.
    fn places(&self) -> (Vec<[f64; 4]>, [f64; 2]) {
        let sizes: Vec<[f64; 2]> = self.panels.iter().map(|svg| size(svg)).collect();
        let (flowing, beside) = sizes.split_at(sizes.len() - usize::from(self.tall));
        let mut places = Vec::new();
        let [mut width, mut height] = [0f64; 2];
        for row in flowing.chunks(self.columns() - usize::from(self.tall)) {
            let mut x = 0.0;
            for [w, h] in row {
                places.push([x, height, *w, *h]);
                x += w;
            }
            width = width.max(x);
            height += row.iter().map(|s| s[1]).fold(0.0, f64::max);
        }
        for [w, h] in beside {
            places.push([width, 0.0, *w, *h]);
            (width, height) = (width + w, height.max(*h));
        }
        (places, [width, height])
    }

    /// The key as SVG text from `[left, top]` on, and its height.
    fn key_at(&self, [left, top]: [f64; 2], width: f64) -> (String, f64) {
        let (mut out, mut at) = (String::new(), [left, top]);
        for key in &self.key {
            let [line, thick] = KEY;
            let whole = line + 8.0 + KEY_LETTER * key.name.chars().count() as f64 + 18.0;
            if at[0] > left && at[0] + whole > width {
                at = [left, at[1] + KEY_ROW];
            }
            let (x, y) = (at[0], at[1] + 0.5 * (KEY_ROW - thick));
            let sample = key.sample().replacen("<svg ", &format!("<svg x=\"{x}\" y=\"{y}\" "), 1);
            let name = escape(key.name);
            let _ = writeln!(
                out,
                "{sample}<text x=\"{:.1}\" y=\"{:.1}\" font-size=\"12\" fill=\"currentColor\">{name}</text>",
                x + line + 8.0,
                y + thick
            );
            at[0] += whole;
        }
        (out, if self.key.is_empty() { 0.0 } else { at[1] + KEY_ROW - top })
    }
}

/// Names of the files of a figure's pictures: `ID.svg`, and `ID_2.svg` for a second.
pub fn file_names<'a>(id: &'a str, pictures: &'a [Picture]) -> impl Iterator<Item = String> + 'a {
    (1..=pictures.len()).map(move |k| if k == 1 { format!("{id}.svg") } else { format!("{id}_{k}.svg") })
}

/// Names and texts of the files of a figure's pictures.
pub fn files<'a>(id: &'a str, pictures: &'a [Picture]) -> impl Iterator<Item = (String, String)> + 'a {
    file_names(id, pictures).zip(pictures.iter().map(Picture::file))
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
    use crate::{Chart, Line, palette};

    #[test]
    fn clip_paths_are_numbered_by_the_page_alone() {
        let text = "a kuva-clip-7) b kuva-clip-7\" c kuva-clip-12\" end";
        assert_eq!(renumber(text), "a clip0) b clip0\" c clip1\" end");
    }

    #[test]
    fn a_file_has_its_panels_in_a_row() {
        let chart = || Chart::new("a", "x", "y").line(Line::new(palette::GRID, &[0.0, 1.0], &[0.0, 1.0])).svg();
        let file = Picture::new(vec![chart(), chart()], "").file();
        let [width, height] = size(&chart());
        assert_eq!(size(&file), [2.0 * width, height]);
        assert_eq!((file.matches("<svg").count(), file.matches("</svg>").count()), (3, 3));
        assert!(
            file.contains(&format!("<svg x=\"{width}\" y=\"0\" width=\"{width}\"")),
            "the second stands beside the first"
        );
        assert!(!file.contains("kuva-clip") && bristle_data::rollout::is_of_page(&file));
    }

    #[test]
    fn no_panel_stands_alone_in_its_row() {
        let panel = |w: f64, h: f64| format!("<svg viewBox=\"0 0 {w} {h}\"></svg>");
        let picture = |n: usize| Picture::new(vec![panel(440.0, 290.0); n], "");
        for (n, columns) in [(1, 1), (2, 2), (3, 3), (4, 2), (5, 3), (6, 3), (8, 3), (9, 3), (10, 2)] {
            assert_eq!(picture(n).columns(), columns, "{n} panels");
            assert!(n == 1 || n % columns != 1, "{n} panels");
        }
        assert_eq!(size(&picture(6).file()), [3.0 * 440.0, 2.0 * 290.0]);
        let mut beside = picture(4);
        beside.panels[3] = panel(440.0, 900.0);
        assert_eq!(size(&beside.tall().file()), [880.0, 900.0]);
    }

    #[test]
    fn a_file_says_what_its_dashes_stand_for() {
        let panel = "<svg viewBox=\"0 0 200 100\"></svg>".to_owned();
        let key = [Key::new(palette::GRID, "grid"), Key::dashed(palette::TEXT, "another & longer name")];
        let file = Picture::new(vec![panel], "").key(&key).file();
        assert_eq!(size(&file), [200.0, 100.0 + 2.0 * KEY_ROW], "a row each");
        assert_eq!((file.matches("stroke-dasharray").count(), file.matches("<text").count()), (1, 2));
        assert!(file.contains(">another &amp; longer name</text>"));
    }

    #[test]
    fn pictures_of_a_figure_have_a_file_each() {
        let names: Vec<String> = files("fig1", &vec![Picture::default(); 3]).map(|f| f.0).collect();
        assert_eq!(names, ["fig1.svg", "fig1_2.svg", "fig1_3.svg"]);
    }
}

//! A matrix of correlations as squares, named by its rows.

use std::fmt::Write;

use super::palette::{GRID, SURFACE};
use super::theme::escape;

/// Width of the picture and of the names, and the side of the largest square [px].
const WIDTH: f64 = 440.0;
const NAMES: f64 = 200.0;
const SIDE: f64 = 40.0;
/// Least side of a square that holds its number [px], and most letters of a name.
const ROOM: f64 = 28.0;
const LETTERS: usize = 26;

/// Numbers from -1 to 1: `value(i, j)` of row `i` and column `j`, one colour for each sign, the stronger the
/// larger.
pub fn matrix(title: &str, names: &[String], value: impl Fn(usize, usize) -> f64) -> String {
    let side = ((WIDTH - NAMES - 10.0) / names.len().max(1) as f64).min(SIDE);
    let top = 44.0;
    let title = escape(title);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {:.0}\" role=\"img\" aria-label=\"{title}\" \
         font-family=\"inherit\" fill=\"currentColor\" font-size=\"12\"><text x=\"{:.0}\" y=\"15\" \
         text-anchor=\"middle\" font-size=\"14\">{title}</text>",
        top + side * names.len() as f64 + 10.0,
        0.5 * WIDTH
    );
    for (i, name) in names.iter().enumerate() {
        let middle = top + side * (i as f64 + 0.5) + 4.0;
        let cut = name.char_indices().rev().nth(LETTERS - 1).map_or(0, |(at, _)| at);
        let dots = if cut > 0 { ".." } else { "" };
        let _ = write!(
            out,
            "<text x=\"{:.0}\" y=\"{middle:.1}\" text-anchor=\"end\">{dots}{} {}</text><text x=\"{:.1}\" y=\"{:.0}\" \
             text-anchor=\"middle\">{}</text>",
            NAMES - 6.0,
            escape(&name[cut..]),
            i + 1,
            NAMES + side * (i as f64 + 0.5),
            top - 6.0,
            i + 1
        );
        for j in 0..names.len() {
            let v = value(i, j);
            let (x, y) = (NAMES + side * j as f64, top + side * i as f64);
            let _ = write!(
                out,
                "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{0:.1}\" height=\"{0:.1}\" fill=\"{1}\" opacity=\"{2:.2}\"/>",
                side - 1.0,
                if v < 0.0 { SURFACE } else { GRID },
                0.06 + 0.64 * v.abs()
            );
            if side >= ROOM && i != j {
                let (x, number) = (x + 0.5 * (side - 1.0), format!("{v:.2}"));
                let _ = write!(
                    out,
                    "<text x=\"{x:.1}\" y=\"{middle:.1}\" text-anchor=\"middle\" font-size=\"11\">{number}</text>"
                );
            }
        }
    }
    out + "</svg>"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_have_colours_and_long_names_are_cut() {
        let names = ["a".to_owned(), format!("{}end", "long".repeat(10))];
        let svg = matrix("C", &names, |i, j| if i == j { 1.0 } else { -0.5 });
        assert_eq!((svg.matches(GRID).count(), svg.matches(SURFACE).count()), (2, 2));
        assert_eq!(svg.matches(">-0.50</text>").count(), 2);
        assert!(svg.contains("end 2</text>") && svg.contains(">..") && !svg.contains(&names[1]));
    }
}

//! Wraps text, tables and Markdown to the width of a terminal.

use comfy_table::{ContentArrangement, Table, presets};
use textwrap::Options;

/// Columns of the terminal on stdout, else of the environment variable `COLUMNS`; none if neither is known.
#[must_use]
pub fn width() -> Option<usize> {
    let terminal = terminal_size::terminal_size_of(std::io::stdout()).map(|(width, _)| usize::from(width.0));
    terminal.or_else(|| std::env::var("COLUMNS").ok()?.parse().ok()).filter(|n| *n > 0)
}

/// `text` with every line that is wider than `width` wrapped between words; what is wrapped is indented by
/// two more than its line.
#[must_use]
pub fn wrap(text: &str, width: usize) -> String {
    let wrapped = |line: &str| {
        if line.chars().count() <= width {
            return line.to_owned();
        }
        let rest = line.trim_start();
        let first = &line[..line.len() - rest.len()];
        let next = format!("{first}  ");
        textwrap::fill(rest, Options::new(width).initial_indent(first).subsequent_indent(&next))
    };
    text.split('\n').map(wrapped).collect::<Vec<_>>().join("\n")
}

/// Rows of cells as lines of at most `width` columns, if a cell can be that narrow: numbers to the right, the
/// first column to the left and again beside the columns that no longer fit and stand below. All rows have as
/// many cells.
#[must_use]
pub fn columns(rows: &[Vec<String>], width: usize) -> String {
    const GAP: usize = 2;
    let count = rows.first().map_or(0, Vec::len);
    let widest = |k: usize| rows.iter().map(|row| row[k].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..count).map(widest).collect();
    let mut text = String::new();
    let mut from = 1.min(count);
    while from < count {
        let (mut to, mut used) = (from + 1, widths[0] + GAP + widths[from]);
        while to < count && used + GAP + widths[to] <= width {
            used += GAP + widths[to];
            to += 1;
        }
        if from > 1 {
            text.push('\n');
        }
        for row in rows {
            text += &format!("{:<1$}", row[0], widths[0]);
            for k in from..to {
                text += &format!("{:GAP$}{:>2$}", "", row[k], widths[k]);
            }
            text.push('\n');
        }
        from = to;
    }
    text
}

/// Markdown for a terminal of `width` columns: paragraphs and items of lists wrapped, tables with lines
/// between their rows.
#[must_use]
pub fn markdown(text: &str, width: usize) -> String {
    let mut out = String::new();
    let mut lines = text.lines().peekable();
    // Code, headings and empty lines stand alone; what follows other lines belongs to them.
    let is_own = |line: &str| line.is_empty() || line.starts_with(['#', '|']) || line.starts_with("```");
    let is_item = |line: &str| line.starts_with("- ");
    while let Some(line) = lines.next() {
        if line.starts_with("```") {
            let code = lines.by_ref().take_while(|line| !line.starts_with("```"));
            out += &format!("{}\n", code.map(|line| format!("    {line}\n")).collect::<String>().trim_end());
        } else if line.starts_with('|') {
            let mut rows = vec![line];
            rows.extend(std::iter::from_fn(|| lines.next_if(|line| line.starts_with('|'))));
            out += &format!("{}\n", table(&rows, width));
        } else if is_own(line) {
            out += &format!("{line}\n");
        } else {
            let mut paragraph = line.to_owned();
            while let Some(line) = lines.next_if(|line| !is_own(line) && !is_item(line)) {
                paragraph += &format!(" {}", line.trim());
            }
            let indent = if is_item(line) { "  " } else { "" };
            out += &format!("{}\n", textwrap::fill(&paragraph, Options::new(width).subsequent_indent(indent)));
        }
    }
    out
}

/// The rows of a table in Markdown, of which the second is the rule below the head.
fn table(rows: &[&str], width: usize) -> String {
    let cells = |row: &&str| -> Vec<String> {
        let inner = row.trim().trim_start_matches('|').trim_end_matches('|');
        inner.split(" | ").map(|cell| cell.trim().to_owned()).collect()
    };
    let mut table = Table::new();
    table.load_style(presets::UTF8_HORIZONTAL_ONLY).set_content_arrangement(ContentArrangement::Dynamic);
    table.set_width(u16::try_from(width).unwrap_or(u16::MAX)).set_header(cells(&rows[0]));
    table.add_rows(rows.iter().skip(2).map(cells));
    table.trim_fmt()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn widest(text: &str) -> usize {
        text.lines().map(|line| line.chars().count()).max().unwrap_or(0)
    }

    #[test]
    fn long_lines_are_wrapped_below_their_own_indent() {
        let text = "short\n  a line of some words that is too long\n\n";
        assert_eq!(wrap(text, 24), "short\n  a line of some words\n    that is too long\n\n");
        assert_eq!(wrap(text, 80), text);
    }

    #[test]
    fn columns_that_do_not_fit_stand_below_beside_the_first() {
        let rows = [["engine", "steps", "ns"], ["cpu", "1.5e6", "12"]].map(|row| row.map(str::to_owned).to_vec());
        assert_eq!(columns(&rows, 80), "engine  steps  ns\ncpu     1.5e6  12\n");
        assert_eq!(columns(&rows, 16), "engine  steps\ncpu     1.5e6\n\nengine  ns\ncpu     12\n");
        // Too narrow for anything.
        assert_eq!(columns(&rows, 1).lines().count(), 5);
    }

    #[test]
    fn a_page_of_markdown_is_as_wide_as_the_terminal() {
        let page = include_str!("../../../docs/scenario.md");
        for width in [60, 100, 200] {
            let text = markdown(page, width);
            assert!(widest(&text) <= width, "{width}: {}", widest(&text));
            // No word is lost.
            for word in ["record_every", "hertz", "trajectories.npz", "elasto-plastic"] {
                assert_eq!(text.matches(word).count() > 0, page.contains(word), "{word}");
            }
        }
        let page = "# head\n\na paragraph\nof two lines\n- one\n  item\n- two\n```sh\n| code |\n```\n";
        assert_eq!(markdown(page, 14), "# head\n\na paragraph of\ntwo lines\n- one item\n- two\n    | code |\n");
    }
}

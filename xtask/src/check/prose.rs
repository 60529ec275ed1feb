//! Prose in Markdown is as narrow as a comment. Tables, code, equations and headings are not prose. A line
//! that can be broken nowhere may be as wide as it is.

use std::path::{Path, PathBuf};

use super::{WIDEST_COMMENT, collect, read, wide};

/// Pages beside those in `docs`.
const PAGES: [&str; 3] = ["README.md", "ARCHITECTURE.md", "CHANGELOG.md"];
/// Pages that a program writes: `python/tools/api_page.py` and `bristle reproduce`.
const GENERATED: [&str; 2] = ["docs/python.md", "docs/accuracy.md"];

/// The lines of prose below `root` that are too wide.
pub fn faults(root: &Path) -> Result<Vec<String>, String> {
    let mut files: Vec<PathBuf> = PAGES.iter().map(|page| root.join(page)).filter(|file| file.exists()).collect();
    collect(&root.join("docs"), &["md"], &mut files)?;
    files.retain(|file| GENERATED.iter().all(|page| *file != root.join(page)));
    files.sort();
    let mut out = Vec::new();
    for file in &files {
        let text = read(file)?;
        out.extend(too_wide(file.strip_prefix(root).unwrap_or(file), &text));
    }
    Ok(out)
}

fn too_wide(place: &Path, text: &str) -> Vec<String> {
    let mut out = Vec::new();
    // What ends the block of code or the equation that a line is in.
    let mut block = None;
    for (n, line) in text.lines().enumerate() {
        let start = line.trim_start();
        let fence = ["```", "$$"].into_iter().find(|fence| start.starts_with(fence));
        match (block, fence) {
            (Some(open), _) => block = Some(open).filter(|_| !line.trim_end().ends_with(open)),
            (None, Some(open)) => block = Some(open).filter(|_| start.len() == open.len() || !start.ends_with(open)),
            (None, None) if !start.starts_with(['|', '#']) && can_be_broken(start) => {
                out.extend(wide(place, n, line, WIDEST_COMMENT));
            }
            _ => {}
        }
    }
    out
}

/// Whether a line has a space outside code and the text of links, and beyond the mark of a list.
fn can_be_broken(line: &str) -> bool {
    let (mut in_code, mut brackets) = (false, 0_usize);
    let words = line.trim_start_matches(['-', '*', ' ']).chars();
    words.fold(false, |found, c| {
        match c {
            '`' => in_code = !in_code,
            '[' if !in_code => brackets += 1,
            ']' if !in_code => brackets = brackets.saturating_sub(1),
            _ => {}
        }
        found || (c == ' ' && !in_code && brackets == 0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<String> {
        too_wide(Path::new("docs/page.md"), text)
    }

    /// A line of words with `n` columns.
    fn words(start: &str, n: usize) -> String {
        format!("{start}{}", "\u{e9} ".repeat(n).chars().take(n - start.len()).collect::<String>())
    }

    #[test]
    fn a_wide_line_of_prose_is_found() {
        let fits = words("- ", WIDEST_COMMENT);
        let wide = words("- ", WIDEST_COMMENT + 1);
        let found = format!("docs/page.md:3: 111 columns: expected at most {WIDEST_COMMENT}");
        assert_eq!(of(&format!("```sh\n```\n{wide}\n{fits}\n")), std::slice::from_ref(&found));
        assert_eq!(of(&format!("$$ a $$\n\n{wide}\n")), [found]);
    }

    #[test]
    fn what_is_not_prose_or_cannot_be_broken_may_be_wide() {
        let wide = words("", WIDEST_COMMENT + 1);
        for text in [
            format!("| {wide} |\n"),
            format!("## {wide}\n"),
            format!("```text\n{wide}\n```\n"),
            format!("$$\n{wide} \\tag{{1}}$$\n"),
            format!("- `{wide}`\n"),
            format!("![{wide}](picture.svg)\n"),
        ] {
            assert_eq!(of(&text), [""; 0], "{text}");
        }
    }
}

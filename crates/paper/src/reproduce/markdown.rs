//! Writes items as a Markdown file with pictures beside it, such as docs/accuracy.md.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use super::item::Item;
use crate::page::{Table, file_names, files};
use bristle::cpu::Cpu;
use bristle::engine::Engine;
use bristle_data::surfaces::publish;

/// Writes the items into `file` and their pictures beside it, `ID.svg` and `ID_2.svg` for a second, the text
/// last.
///
/// # Errors
/// The file that could not be written, and why.
pub fn write(groups: &[(&'static str, Vec<Item>)], file: &Path) -> Result<(), (PathBuf, std::io::Error)> {
    let dir = file.parent().filter(|d| !d.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(dir).map_err(|e| (dir.to_owned(), e))?;
    let put = |path: &Path, text: &str| {
        publish(path, |path, e| (path, e), |partial| fs::write(partial, text).map_err(|e| (path.to_owned(), e)))
    };
    let items: Vec<&Item> = groups.iter().flat_map(|(_, items)| items).collect();
    for (name, svg) in items.iter().flat_map(|item| files(&item.id, &item.pictures)) {
        put(&dir.join(name), &svg)?;
    }
    put(file, &page(&items, file))
}

fn page(items: &[&Item], file: &Path) -> String {
    let ids: Vec<&str> = items.iter().map(|i| i.id.as_str()).collect();
    let mut out = String::new();
    for item in items {
        let gap = if out.is_empty() { "" } else { "\n" };
        let _ = writeln!(out, "{gap}# {}\n\n{}\n\n{}", item.title, item.claim, item.measured);
        for (name, picture) in file_names(&item.id, &item.pictures).zip(&item.pictures) {
            let _ = writeln!(out, "\n![{}]({name})", picture.caption);
        }
        for text in [&item.note, &item.parameters].into_iter().filter(|t| !t.is_empty()) {
            let _ = writeln!(out, "\n{}.", text.trim_end_matches('.'));
        }
        item.tables.iter().for_each(|t| out.push_str(&table(t)));
    }
    let _ = writeln!(
        out,
        "\nMade by `bristle reproduce {} --markdown {}` on {}, version {}.",
        ids.join(" "),
        file.display(),
        Cpu::new().info().adapter,
        env!("CARGO_PKG_VERSION")
    );
    out
}

fn table(table: &Table) -> String {
    let row = |cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(|c| c.replace('|', "\\|")).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let rule = "|---".repeat(table.head.len());
    let rows: String = table.rows.iter().map(|r| row(r)).collect();
    format!("\n{}:\n\n{}{rule}|\n{rows}", table.caption, row(&table.head))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::Picture;

    #[test]
    fn an_item_becomes_a_page_with_its_picture_beside_it() {
        let mut item = Item::new("a", "Title", "Claim.");
        item.measured = "Measured.".into();
        item.pictures.push(Picture::new(vec!["<svg viewBox=\"0 0 4 3\"></svg>".into()], "Seen"));
        let mut of = Table::new("Numbers", &["h", "|e|"]);
        of.row(["1".to_owned(), "2".into()]);
        item.tables.push(of);
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("docs/page.md");
        write(&[("group", vec![item])], &file).unwrap();
        let text = fs::read_to_string(&file).unwrap();
        for line in ["# Title", "Claim.", "![Seen](a.svg)", "Numbers:", "| h | \\|e\\| |", "|---|---|", "| 1 | 2 |"] {
            assert!(text.lines().any(|l| l == line), "{line} in {text}");
        }
        assert!(fs::read_to_string(dir.path().join("docs/a.svg")).unwrap().contains("viewBox=\"0 0 4 3\""));
    }
}

//! `cargo xtask check`: what the compiler does not see. A shader and its twin in Rust have the same functions
//! in the same order; a constant has one source; and no line is wider than [`WIDEST`], no comment or line of
//! prose than [`WIDEST_COMMENT`].

mod constants;
mod prose;
mod twins;

use std::fs;
use std::path::{Path, PathBuf};

/// Columns of the widest line of code.
const WIDEST: usize = 120;
/// Columns of the widest line of a comment, which is prose.
const WIDEST_COMMENT: usize = 110;
/// Folders of code.
const CODE: [&str; 10] =
    ["src", "shaders", "benches", "tests", "examples", "crates", "capi", "python/src", "xtask", "fuzz"];
/// How the names of their files end.
const ENDINGS: [&str; 4] = ["rs", "wgsl", "c", "h"];

/// What is wrong below `root`, a line each: place and fault.
pub fn faults(root: &Path) -> Result<Vec<String>, String> {
    let mut files = Vec::new();
    for folder in CODE {
        collect(&root.join(folder), &ENDINGS, &mut files)?;
    }
    files.sort();
    let mut out = Vec::new();
    let (mut sources, mut shaders) = (Vec::new(), Vec::new());
    for file in &files {
        let text = read(file)?;
        let place = file.strip_prefix(root).unwrap_or(file);
        out.extend(too_wide(place, &text));
        if place.extension().is_some_and(|e| e == "wgsl") {
            out.extend(twins::faults(root, place, &text)?);
            shaders.push((place.to_path_buf(), text.clone()));
        }
        if place.extension().is_some_and(|e| e == "rs") && place.components().any(|part| part.as_os_str() == "src") {
            out.extend(twins::unanswered(root, place, &text)?);
            sources.push((place.to_path_buf(), text));
        }
    }
    out.extend(constants::faults(&shaders, &sources));
    out.extend(prose::faults(root)?);
    Ok(out)
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))
}

/// The files in a folder that git may track and whose names end in one of `endings`; none if there is no such
/// folder.
fn collect(folder: &Path, endings: &[&str], files: &mut Vec<PathBuf>) -> Result<(), String> {
    let Ok(entries) = fs::read_dir(folder) else { return Ok(()) };
    for entry in entries {
        let path = entry.map_err(|e| format!("{}: {e}", folder.display()))?.path();
        if path.is_dir() {
            if path.file_name().is_some_and(|name| name != "target") {
                collect(&path, endings, files)?;
            }
        } else if path.extension().is_some_and(|e| endings.iter().any(|ending| e == *ending)) {
            files.push(path);
        }
    }
    Ok(())
}

fn too_wide(place: &Path, text: &str) -> Vec<String> {
    let mut out = Vec::new();
    // Whether a line belongs to an example in a comment, which is code.
    let mut is_example = false;
    for (n, line) in text.lines().enumerate() {
        let comment = line.trim_start().strip_prefix("//").map(|text| text.trim_start_matches(['/', '!', ' ']));
        is_example = comment.is_some_and(|text| is_example != text.starts_with("```"));
        let most = if comment.is_some() && !is_example { WIDEST_COMMENT } else { WIDEST };
        out.extend(wide(place, n, line, most));
    }
    out
}

/// The fault of line `n`, counted from 0, if it has more than `most` columns.
fn wide(place: &Path, n: usize, line: &str, most: usize) -> Option<String> {
    let width = line.chars().count();
    (width > most).then(|| format!("{}:{}: {width} columns: expected at most {most}", place.display(), n + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The faults of a project with one file of code.
    fn of(file: &str, text: &str) -> Vec<String> {
        let root =
            std::env::temp_dir().join(format!("bristle_check_{}_{}", std::process::id(), file.replace('/', "_")));
        let path = root.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        let found = faults(&root).unwrap();
        fs::remove_dir_all(root).unwrap();
        found
    }

    #[test]
    fn a_wide_line_is_found() {
        let line = |start: &str, n: usize| format!("{start}{}\n", "\u{e9}".repeat(n - start.len()));
        let fault = |line: usize, found: usize, most: usize| {
            format!("shaders/wide.wgsl:{line}: {found} columns: expected at most {most}")
        };
        assert_eq!(of("shaders/step.wgsl", &(line("// ", WIDEST_COMMENT) + &line("", WIDEST))), [""; 0]);
        let example = format!("/// ```\n{}/// ```\n", line("/// ", WIDEST));
        assert_eq!(of("shaders/step.wgsl", &example), [""; 0]);
        let wide = line("", WIDEST + 1) + &example + &line("    // ", WIDEST_COMMENT + 1);
        let faults = [fault(1, WIDEST + 1, WIDEST), fault(5, WIDEST_COMMENT + 1, WIDEST_COMMENT)];
        assert_eq!(of("shaders/wide.wgsl", &wide), faults);
    }
}

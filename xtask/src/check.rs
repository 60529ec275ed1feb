//! `cargo xtask check`: what the compiler does not see. Layers import only from below, as the table of
//! ARCHITECTURE.md lists them; files of a module do not import each other in circles; a shader and its twin
//! in Rust have the same functions in the same order; a constant has one source; and no line is wider than
//! [`WIDEST`], no comment than [`WIDEST_COMMENT`].

mod circles;
mod constants;
mod twins;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Columns of the widest line of code.
const WIDEST: usize = 120;
/// Columns of the widest line of a comment, which is prose.
const WIDEST_COMMENT: usize = 110;
/// Folders of code.
const CODE: [&str; 8] = ["src", "shaders", "benches", "tests", "examples", "capi", "xtask", "fuzz"];
/// How the names of their files end.
const ENDINGS: [&str; 4] = ["rs", "wgsl", "c", "h"];

/// What is wrong below `root`, a line each: place and fault.
pub fn faults(root: &Path) -> Result<Vec<String>, String> {
    let mut files = Vec::new();
    for folder in CODE {
        collect(&root.join(folder), &mut files)?;
    }
    files.sort();
    let architecture = read(&root.join("ARCHITECTURE.md"))?;
    let layers = layers(&architecture);
    if layers.is_empty() {
        return Err("ARCHITECTURE.md has no table of layers: rows `| number | names |`".to_owned());
    }
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
        if let Ok(inside) = place.strip_prefix("src") {
            out.extend(upwards(place, inside, &text, &layers));
            if place.extension().is_some_and(|e| e == "rs") {
                sources.push((inside.to_path_buf(), text));
            }
        }
    }
    out.extend(circles::faults(&sources));
    out.extend(constants::faults(&shaders, &sources));
    Ok(out)
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))
}

/// The files of code in a folder that git may track; none if there is no such folder.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), String> {
    let Ok(entries) = fs::read_dir(folder) else { return Ok(()) };
    for entry in entries {
        let path = entry.map_err(|e| format!("{}: {e}", folder.display()))?.path();
        if path.is_dir() {
            if path.file_name().is_some_and(|name| name != "target") {
                collect(&path, files)?;
            }
        } else if path.extension().is_some_and(|e| ENDINGS.iter().any(|ending| e == *ending)) {
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
        let width = line.chars().count();
        if width > most {
            out.push(format!("{}:{}: {width} columns: expected at most {most}", place.display(), n + 1));
        }
    }
    out
}

/// The modules of the crate in the order of the rows `| number | names | .. |`: each may import from those
/// before it. Those of the application, which is a module itself, are called `app::name`.
fn layers(architecture: &str) -> BTreeMap<String, usize> {
    let mut out = BTreeMap::new();
    for line in architecture.lines() {
        let mut cells = line.trim().split('|').skip(1).map(str::trim);
        let (Some(number), Some(names)) = (cells.next(), cells.next()) else { continue };
        if number.parse::<u32>().is_err() {
            continue;
        }
        for name in names.split('`').skip(1).step_by(2) {
            // `app::{page, terminal}` are two.
            let (parent, list) = name.split_once('{').unwrap_or(("", name));
            for name in list.trim_end_matches('}').split(',') {
                let next = out.len();
                out.entry(format!("{parent}{}", name.trim())).or_insert(next);
            }
        }
    }
    out
}

/// Imports of a file from modules that are not before its own. Tests at the end of a file may use anything.
fn upwards(place: &Path, inside: &Path, text: &str, layers: &BTreeMap<String, usize>) -> Vec<String> {
    let own = inside.with_extension("").to_string_lossy().replace('\\', "/").replace('/', "::");
    let own = module(&own);
    if matches!(own.as_str(), "lib" | "main" | "app") || inside.file_name().is_some_and(|name| name == "tests.rs") {
        return Vec::new();
    }
    let Some(own_layer) = layers.get(&own) else {
        return vec![format!("{}: module `{own}` is not in ARCHITECTURE.md's table of layers", place.display())];
    };
    let mut out = Vec::new();
    for (n, line) in text.lines().enumerate() {
        if line.starts_with("mod tests {") {
            break;
        }
        let code = line.split("//").next().unwrap_or_default();
        for after in code.split("crate::").skip(1) {
            let path: String = after.chars().take_while(|c| c.is_alphanumeric() || matches!(c, '_' | ':')).collect();
            let name = module(&path);
            let is_module = name.starts_with(|c: char| c.is_lowercase());
            if is_module && name != own && layers.get(&name).is_none_or(|layer| layer > own_layer) {
                out.push(format!(
                    "{}:{}: `{own}` imports `{name}`, which is not below it in ARCHITECTURE.md's table of layers",
                    place.display(),
                    n + 1
                ));
            }
        }
    }
    out
}

/// The module that a path of names belongs to: its first name, or two of the application's.
fn module(path: &str) -> String {
    let names: Vec<&str> = path.split("::").filter(|name| !name.is_empty()).collect();
    let deep = if names.first() == Some(&"app") { 2 } else { 1 };
    names[..deep.min(names.len())].join("::")
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "| layer | modules |\n|---|---|\n| 0 | `error`, `planar` | x |\n| 1 | `patch` | y |\n\
                         | 2 | `app::{page, cli}` | z |\n";

    /// The faults of a project with one file of code beside the table above.
    fn of(file: &str, text: &str) -> Vec<String> {
        let root =
            std::env::temp_dir().join(format!("bristle_check_{}_{}", std::process::id(), file.replace('/', "_")));
        let path = root.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(root.join("ARCHITECTURE.md"), TABLE).unwrap();
        fs::write(&path, text).unwrap();
        let found = faults(&root).unwrap();
        fs::remove_dir_all(root).unwrap();
        found
    }

    #[test]
    fn an_import_from_above_is_found_and_one_from_below_is_none() {
        let found = of("src/planar.rs", "//! crate::patch\nuse crate::error::Error;\nlet x = crate::patch::new();\n");
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("src/planar.rs:3: `planar` imports `patch`"), "{found:?}");
        assert_eq!(of("src/patch/map.rs", "use crate::planar::Twist;\nuse crate::Real;\n"), [""; 0]);
        assert_eq!(of("src/error.rs", "use crate::planar::Twist;\n").len(), 1, "later in the same row");
        assert_eq!(of("src/error.rs", "#[cfg(test)]\nmod tests {\nuse crate::patch::Patch;\n}\n"), [""; 0]);
    }

    #[test]
    fn modules_of_the_application_have_layers_of_their_own() {
        assert_eq!(of("src/app/cli/run.rs", "use crate::app::page::Page;\nuse crate::patch::Patch;\n"), [""; 0]);
        assert_eq!(of("src/app/page.rs", "use crate::app::cli::Cli;\n").len(), 1);
        assert_eq!(of("src/patch/file.rs", "use crate::app::page::Page;\n").len(), 1);
    }

    #[test]
    fn a_module_without_a_layer_is_found() {
        assert_eq!(of("src/new.rs", "").len(), 1);
        assert_eq!(of("src/patch.rs", "use crate::new::New;\n").len(), 1);
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

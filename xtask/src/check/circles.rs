//! Circles: files that import each other, directly or by way of others. A file may import from the files of
//! its own module, whose file is their parent, but then the parent may not import from them by name; `mod`
//! and `pub use` are no imports.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The circles of files below `src`, each once, as chains.
pub fn faults(sources: &[(PathBuf, String)]) -> Vec<String> {
    let modules: BTreeSet<String> = sources.iter().map(|(path, _)| name(path)).collect();
    let mut imports: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (path, text) in sources {
        let own = name(path);
        if own.is_empty() || own == "main" || own.ends_with("tests") {
            continue;
        }
        let Some(own) = modules.get(&own) else { continue };
        let found = paths(own, text).into_iter().filter_map(|path| target(&path, &modules)).filter(|to| to != own);
        imports.insert(own, found.collect());
    }
    let mut out = Vec::new();
    let mut done = BTreeSet::new();
    for start in imports.keys() {
        search(start, &imports, &mut Vec::new(), &mut done, &mut out);
    }
    out
}

/// Looks for a way from the last module of a chain back into the chain.
fn search<'a>(
    at: &'a str,
    imports: &BTreeMap<&'a str, BTreeSet<&'a str>>,
    chain: &mut Vec<&'a str>,
    done: &mut BTreeSet<&'a str>,
    out: &mut Vec<String>,
) {
    if let Some(from) = chain.iter().position(|name| *name == at) {
        out.push(format!("src: files import each other: {} -> {at}", chain[from..].join(" -> ")));
        return;
    }
    if !done.insert(at) {
        return;
    }
    chain.push(at);
    for to in imports.get(at).into_iter().flatten() {
        search(to, imports, chain, done, out);
    }
    chain.pop();
}

/// The path of a file as a module's: `solver::laws`; none of the root.
fn name(path: &Path) -> String {
    let name = path.with_extension("").to_string_lossy().replace(['/', '\\'], "::");
    if name == "lib" { String::new() } else { name }
}

/// The longest module that a path of names begins with.
fn target<'a>(path: &str, modules: &'a BTreeSet<String>) -> Option<&'a str> {
    let mut path = path;
    loop {
        if let Some(name) = modules.get(path) {
            return Some(name);
        }
        path = path.rsplit_once("::")?.0;
    }
}

/// The paths in the `use` items of a file, from the crate's root, and in its code after `crate::`. Not those
/// of tests.
fn paths(own: &str, text: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut item = String::new();
    for line in text.lines().take_while(|line| !line.starts_with("mod tests") && !line.starts_with("#[cfg(test)]")) {
        let code = line.split("//").next().unwrap_or_default().trim();
        if item.is_empty() && !(code.starts_with("use ") || code.starts_with("pub(super) use ")) {
            continue;
        }
        item += code;
        if !code.ends_with(';') {
            item.push(' ');
            continue;
        }
        let tree = item.split_once("use ").map_or("", |(_, tree)| tree).trim_end_matches(';').to_owned();
        expand("", &tree, &mut out);
        item.clear();
    }
    out.into_iter().filter_map(|path| absolute(own, &path)).collect()
}

/// All paths of a tree of imports.
fn expand(before: &str, tree: &str, out: &mut Vec<String>) {
    let tree = tree.trim();
    let Some((head, rest)) = tree.split_once('{') else {
        let path = tree.split(" as ").next().unwrap_or_default().trim();
        if !path.is_empty() {
            out.push(format!("{before}{path}"));
        }
        return;
    };
    let inner = rest.strip_suffix('}').unwrap_or(rest);
    let (mut depth, mut start) = (0, 0);
    let head = format!("{before}{}", head.trim());
    for (i, c) in inner.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                expand(&head, &inner[start..i], out);
                start = i + 1;
            }
            _ => {}
        }
    }
    expand(&head, &inner[start..], out);
}

/// A path from the crate's root; none if it leads out of the crate. A path that begins with the name of a
/// module inside its own is one of its own.
fn absolute(own: &str, path: &str) -> Option<String> {
    if let Some(path) = path.strip_prefix("crate::") {
        return Some(path.to_owned());
    }
    let mut base: Vec<&str> = own.split("::").collect();
    let mut rest = path;
    while let Some(after) = rest.strip_prefix("super::") {
        base.pop();
        rest = after;
    }
    let rest = rest.strip_prefix("self::").unwrap_or(rest);
    base.push(rest);
    Some(base.join("::"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(files: &[(&str, &str)]) -> Vec<String> {
        faults(&files.iter().map(|(path, text)| (PathBuf::from(path), (*text).to_owned())).collect::<Vec<_>>())
    }

    #[test]
    fn files_that_import_each_other_are_found() {
        let found = of(&[("a.rs", "use crate::b::{B, c::C};\n"), ("b.rs", ""), ("b/c.rs", "use crate::a::A;\n")]);
        assert_eq!(found, ["src: files import each other: a -> b::c -> a"]);
        let found = of(&[("a.rs", "mod b;\nuse b::B;\n"), ("a/b.rs", "use super::A;\n")]);
        assert_eq!(found, ["src: files import each other: a -> a::b -> a"]);
        assert_eq!(of(&[("a/b.rs", "use super::c;\n"), ("a/c.rs", "use super::b::{\n    B,\n};\n")]).len(), 1);
    }

    #[test]
    fn files_that_import_in_one_direction_are_not() {
        assert_eq!(of(&[("a.rs", "mod b;\npub use b::B;\n"), ("a/b.rs", "use super::A;\n")]), [""; 0]);
        assert_eq!(
            of(&[("a.rs", "use crate::b::B;\n"), ("b.rs", "#[cfg(test)]\nmod tests {\nuse crate::a::A;\n}\n")]),
            [""; 0]
        );
        assert_eq!(of(&[("a.rs", "use std::fmt;\nuse b::B;\n"), ("b.rs", "use crate::a::A;\n")]), [""; 0]);
    }
}

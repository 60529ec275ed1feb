//! Twins: a shader that says `Twin: path.rs` in its first comment has the stem and the functions of that
//! file, in the same order, and is named in the first comment of that file. What one of both has alone stands
//! in its first comment, after `Only here:`, between backticks.
//!
//! A shader that says `No twin of path.rs` computes the same as that file in another way. That file names it,
//! and nothing else is compared.
//!
//! A name of a shader, which has no methods, may have the name of the type before it: `root_start` is
//! `Root::start`.

use std::fs;
use std::path::Path;

/// What differs between a shader and its twin, if it says that it has one.
pub fn faults(root: &Path, place: &Path, shader: &str) -> Result<Vec<String>, String> {
    let read = |other: &str| {
        fs::read_to_string(root.join(other)).map_err(|e| format!("{}: twin {other}: {e}", place.display()))
    };
    let named = format!("`{}`", place.display());
    let names_it = |rust: &str| first_comment(rust).any(|line| line.contains(&named));
    let mut out = Vec::new();
    for other in named_after("No twin of ", shader) {
        if !names_it(&read(&other)?) {
            out.push(format!("{other}: expected {named} in its first comment"));
        }
    }
    let Some(twin) = named_after("Twin: ", shader).next() else { return Ok(out) };
    let rust = read(&twin)?;
    let (ours, theirs) = (functions(shader), functions(&rust));
    let (own, their_own) = (only_here(shader), only_here(&rust));
    if !names_it(&rust) {
        out.push(format!("{twin}: expected Twin: {named} in its first comment"));
    }
    if place.file_stem() != Path::new(&twin).file_stem() {
        out.push(format!("{}: its twin is {twin}: expected one name for both", place.display()));
    }
    let here = place.display().to_string();
    for (file, alone, all) in [(&here, &own, &ours), (&twin, &their_own, &theirs)] {
        for name in alone.iter().filter(|name| !all.contains(name)) {
            out.push(format!("{file}: `Only here:` names `{name}`, which is no function of it"));
        }
    }
    for name in their_own.iter().filter(|name| ours.contains(name)) {
        out.push(format!("{twin}: `{name}` is in {here}, too"));
    }
    let mut order = Vec::new();
    for name in &ours {
        match theirs.iter().position(|other| is_same(name, other)) {
            Some(at) if own.contains(name) => {
                out.push(format!("{}: `{name}` is in {twin} as `{}`, too", place.display(), theirs[at]));
            }
            Some(at) => order.push((at, name)),
            None if !own.contains(name) => {
                out.push(format!(
                    "{}: function `{name}` is not in {twin}; expected there, or in `Only here:`",
                    place.display()
                ));
            }
            None => {}
        }
    }
    for name in theirs.iter().filter(|name| !their_own.contains(name)) {
        if !ours.iter().any(|other| is_same(other, name)) {
            out.push(format!(
                "{twin}: function `{name}` is not in {}; expected there, or in `Only here:`",
                place.display()
            ));
        }
    }
    for pair in order.windows(2).filter(|pair| pair[0].0 > pair[1].0) {
        out.push(format!("{}: `{}` comes before `{}`, in {twin} after it", place.display(), pair[0].1, pair[1].1));
    }
    Ok(out)
}

/// What is wrong where a file of Rust says that it has a twin: the shader does not say so.
pub fn unanswered(root: &Path, place: &Path, rust: &str) -> Result<Vec<String>, String> {
    let mut out = Vec::new();
    for twin in named_after("Twin: `", rust) {
        let shader =
            fs::read_to_string(root.join(&twin)).map_err(|e| format!("{}: twin {twin}: {e}", place.display()))?;
        if !named_after("Twin: ", &shader).any(|other| Path::new(&other) == place) {
            out.push(format!("{twin}: expected Twin: {} in its first comment", place.display()));
        }
    }
    Ok(out)
}

/// Whether a shader's name is that of a function in Rust, or of a method after its type.
fn is_same(shader: &str, rust: &str) -> bool {
    shader == rust || shader.strip_suffix(rust).is_some_and(|before| before.ends_with('_'))
}

/// The files that the first comment names after `words`.
fn named_after(words: &str, text: &str) -> impl Iterator<Item = String> + use<> {
    let comment = first_comment(text).collect::<Vec<_>>().join(" ");
    let name = |rest: &str| {
        let end = rest.find([' ', ',', ':', '`']).unwrap_or(rest.len());
        rest[..end].trim_end_matches('.').to_owned()
    };
    comment.split(words).skip(1).map(name).collect::<Vec<_>>().into_iter()
}

/// The lines of the comment that a file begins with.
fn first_comment(text: &str) -> impl Iterator<Item = &str> {
    text.lines().take_while(|line| line.starts_with("//")).map(|line| line.trim_start_matches(['/', '!', ' ']))
}

/// The names after `Only here:`, to the end of the paragraph.
fn only_here(text: &str) -> Vec<String> {
    let lines = first_comment(text).skip_while(|line| !line.contains("Only here:")).take_while(|line| !line.is_empty());
    let all = lines.collect::<Vec<_>>().join(" ");
    let Some((_, names)) = all.split_once("Only here:") else { return Vec::new() };
    names.split('`').skip(1).step_by(2).map(ToOwned::to_owned).collect()
}

/// The functions of a file in their order, each once; not those of tests.
fn functions(text: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for line in text.lines().take_while(|line| !line.starts_with("mod tests")) {
        let code = line.trim_start();
        let words = ["pub(super) ", "pub(crate) ", "pub ", "const "];
        let code = words.iter().fold(code, |code, word| code.strip_prefix(word).unwrap_or(code));
        let Some(rest) = code.strip_prefix("fn ") else { continue };
        let name: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        if !out.contains(&name) {
            out.push(name);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    const RUST: &str = "//! Doc. Twin: `twin.wgsl`.\n//!\n//! Only here: `new`.\npub fn new() {}\nfn first() {}\n\
        impl Root {\n    pub fn start() {}\n}\n";

    /// The faults of a shader at `place` beside `twin.rs` with [`RUST`].
    fn of(shader: &str, place: &str) -> Vec<String> {
        of_files(shader, place, RUST)
    }

    /// The same beside a `twin.rs` with another text.
    fn of_files(shader: &str, place: &str, rust: &str) -> Vec<String> {
        in_folder(|root| {
            fs::write(root.join("twin.rs"), rust).unwrap();
            faults(root, Path::new(place), shader).unwrap()
        })
    }

    /// What `of` finds in a folder of its own.
    fn in_folder(of: impl FnOnce(&Path) -> Vec<String>) -> Vec<String> {
        static FOLDERS: AtomicU32 = AtomicU32::new(0);
        let n = FOLDERS.fetch_add(1, Ordering::Relaxed);
        let root = std::env::temp_dir().join(format!("bristle_twins_{}_{n}", std::process::id()));
        fs::create_dir_all(&root).unwrap();
        let found = of(&root);
        fs::remove_dir_all(root).unwrap();
        found
    }

    #[test]
    fn twins_with_the_same_functions_in_the_same_order_have_no_fault() {
        assert_eq!(of("// Twin: twin.rs.\n\nfn first() {}\nfn root_start() {}\n", "twin.wgsl"), [""; 0]);
        assert_eq!(of("// The same. Twin:\n// twin.rs.\n\nfn first() {}\nfn root_start() {}\n", "twin.wgsl"), [""; 0]);
        assert_eq!(of("// No twin.\nfn other() {}\n", "twin.wgsl"), [""; 0]);
        assert_eq!(
            of("// Twin: twin.rs. Only here: `more`.\nfn first() {}\nfn more() {}\nfn start() {}\n", "twin.wgsl"),
            [""; 0]
        );
    }

    #[test]
    fn what_differs_is_found() {
        let swapped = of("// Twin: twin.rs.\n\nfn root_start() {}\nfn first() {}\n", "twin.wgsl");
        assert_eq!(swapped, ["twin.wgsl: `root_start` comes before `first`, in twin.rs after it"]);
        assert_eq!(of("// Twin: twin.rs.\nfn first() {}\n", "twin.wgsl").len(), 1, "`start` is not in the shader");
        assert_eq!(of("// Twin: twin.rs.\nfn first() {}\nfn start() {}\nfn more() {}\n", "twin.wgsl").len(), 1);
        let both = of("// Twin: twin.rs. Only here: `first`.\nfn first() {}\nfn start() {}\n", "twin.wgsl");
        assert_eq!(both, ["twin.wgsl: `first` is in twin.rs as `first`, too"]);
    }

    #[test]
    fn a_twin_that_does_not_name_its_shader_is_found() {
        let found = of("// Twin: twin.rs.\nfn first() {}\nfn start() {}\n", "folder/twin.wgsl");
        assert_eq!(found, ["twin.rs: expected Twin: `folder/twin.wgsl` in its first comment"]);
        let other = of("// No twin of twin.rs, which sums in another order.\nfn other() {}\n", "folder/twin.wgsl");
        assert_eq!(other, ["twin.rs: expected `folder/twin.wgsl` in its first comment"]);
    }

    #[test]
    fn a_shader_that_does_not_name_its_twin_is_found() {
        let answer = |shader: &str| {
            in_folder(|root| {
                fs::write(root.join("twin.wgsl"), shader).unwrap();
                unanswered(root, Path::new("twin.rs"), RUST).unwrap()
            })
        };
        assert_eq!(answer("// Twin: twin.rs.\n"), [""; 0]);
        assert_eq!(answer("// No twin.\n"), ["twin.wgsl: expected Twin: twin.rs in its first comment"]);
    }

    #[test]
    fn a_twin_of_another_name_is_found() {
        let rust = RUST.replace("twin.wgsl", "x.wgsl");
        let found = of_files("// Twin: twin.rs.\nfn first() {}\nfn start() {}\n", "x.wgsl", &rust);
        assert_eq!(found, ["x.wgsl: its twin is twin.rs: expected one name for both"]);
    }

    #[test]
    fn a_list_that_is_out_of_date_is_found() {
        let found = of("// Twin: twin.rs. Only here: `gone`.\nfn first() {}\nfn start() {}\n", "twin.wgsl");
        assert_eq!(found, ["twin.wgsl: `Only here:` names `gone`, which is no function of it"]);
        let both = of("// Twin: twin.rs.\nfn new() {}\nfn first() {}\nfn start() {}\n", "twin.wgsl");
        assert_eq!(both, ["twin.rs: `new` is in twin.wgsl, too"]);
    }
}

//! Twins: a shader that says `Twin: path.rs` in its first comment has the functions of that file, in the same
//! order, and is named in the first comment of that file. What one of both has alone stands in its first
//! comment, after `Only here:`, between backticks.
//!
//! A name of a shader, which has no methods, may have the name of the type before it: `root_start` is
//! `Root::start`.

use std::fs;
use std::path::Path;

/// What differs between a shader and its twin, if it says that it has one.
pub fn faults(root: &Path, place: &Path, shader: &str) -> Result<Vec<String>, String> {
    let Some(twin) = first_comment(shader).find_map(|line| line.split("Twin: ").nth(1).map(ToOwned::to_owned)) else {
        return Ok(Vec::new());
    };
    let twin = twin.split_whitespace().next().unwrap_or_default().trim_end_matches('.');
    let path = root.join(twin);
    let rust = fs::read_to_string(&path).map_err(|e| format!("{}: twin {twin}: {e}", place.display()))?;
    let (ours, theirs) = (functions(shader), functions(&rust));
    let (own, their_own) = (only_here(shader), only_here(&rust));
    let mut out = Vec::new();
    let named = format!("`{}`", place.display());
    if !first_comment(&rust).any(|line| line.contains(&named)) {
        out.push(format!("{twin}: expected Twin: {named} in its first comment"));
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

/// Whether a shader's name is that of a function in Rust, or of a method after its type.
fn is_same(shader: &str, rust: &str) -> bool {
    shader == rust || shader.strip_suffix(rust).is_some_and(|before| before.ends_with('_'))
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

    const RUST: &str = "//! Doc. Twin: `x.wgsl`.\n//!\n//! Only here: `new`.\npub fn new() {}\nfn first() {}\n\
        impl Root {\n    pub fn start() {}\n}\n";

    fn of(shader: &str, place: &str) -> Vec<String> {
        let unique = shader
            .bytes()
            .chain(place.bytes())
            .fold(0u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(byte)));
        let root = std::env::temp_dir().join(format!("bristle_twins_{}_{unique}", std::process::id()));
        fs::create_dir_all(&root).unwrap();
        fs::write(root.join("twin.rs"), RUST).unwrap();
        let found = faults(&root, Path::new(place), shader).unwrap();
        fs::remove_dir_all(root).unwrap();
        found
    }

    #[test]
    fn twins_with_the_same_functions_in_the_same_order_have_no_fault() {
        assert_eq!(of("// Twin: twin.rs.\n\nfn first() {}\nfn root_start() {}\n", "x.wgsl"), [""; 0]);
        assert_eq!(of("// No twin.\nfn other() {}\n", "x.wgsl"), [""; 0]);
        assert_eq!(
            of("// Twin: twin.rs. Only here: `more`.\nfn first() {}\nfn more() {}\nfn start() {}\n", "x.wgsl"),
            [""; 0]
        );
    }

    #[test]
    fn what_differs_is_found() {
        let swapped = of("// Twin: twin.rs.\n\nfn root_start() {}\nfn first() {}\n", "x.wgsl");
        assert_eq!(swapped, ["x.wgsl: `root_start` comes before `first`, in twin.rs after it"]);
        assert_eq!(of("// Twin: twin.rs.\nfn first() {}\n", "x.wgsl").len(), 1, "`start` is not in the shader");
        assert_eq!(of("// Twin: twin.rs.\nfn first() {}\nfn start() {}\nfn more() {}\n", "x.wgsl").len(), 1);
        let both = of("// Twin: twin.rs. Only here: `first`.\nfn first() {}\nfn start() {}\n", "x.wgsl");
        assert_eq!(both, ["x.wgsl: `first` is in twin.rs as `first`, too"]);
    }

    #[test]
    fn a_twin_that_does_not_name_its_shader_is_found() {
        let found = of("// Twin: twin.rs.\nfn first() {}\nfn start() {}\n", "y.wgsl");
        assert_eq!(found, ["twin.rs: expected Twin: `y.wgsl` in its first comment"]);
    }
}

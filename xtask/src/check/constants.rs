//! Constants have one source: a shader gets those of Rust from its generated prelude, and has none of the
//! same name itself. What it has alone may be a number that only the shader knows, or what distinguishes its
//! file.

use std::path::PathBuf;

/// The constants of shaders that Rust has, too.
pub fn faults(shaders: &[(PathBuf, String)], sources: &[(PathBuf, String)]) -> Vec<String> {
    let mut out = Vec::new();
    for (place, text) in shaders {
        for (n, line) in text.lines().enumerate() {
            let Some(rest) = line.trim_start().strip_prefix("const ") else { continue };
            let name: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            let declared = [format!("const {name}: f"), format!("const {name}: u"), format!("(\"{name}\",")];
            let of = sources.iter().find(|(_, text)| declared.iter().any(|declared| text.contains(declared)));
            if let Some((source, _)) = of {
                let (place, source) = (place.display(), source.display());
                out.push(format!("{place}:{}: `{name}` is a constant of {source}, too: expected there alone", n + 1));
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_constant_with_two_sources_is_found() {
        let rust = [(PathBuf::from("solver/constants.rs"), "pub const KAPPA: f64 = 0.3;\n".to_owned())];
        let of = |text: &str| faults(&[(PathBuf::from("shaders/x.wgsl"), text.to_owned())], &rust);
        assert_eq!(of("const KAPPA = 0.3;\n").len(), 1);
        assert_eq!(of("const DIRECTED = true;\nlet KAPPA = 1.0;\n"), [""; 0]);
    }
}

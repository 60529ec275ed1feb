//! Constants have one source: a shader gets those of Rust from its generated prelude, and has none of the
//! same name itself. What it has alone may be a number that only the shader knows, or what distinguishes its
//! file. The file that makes a prelude declares no constant for it that another file declares, too.

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
    for (place, text) in sources {
        for name in declared(text).filter(|name| text.contains(&format!("(\"{name}\","))) {
            let others = sources.iter().filter(|(other, _)| other != place);
            for (other, _) in others.filter(|(_, text)| declared(text).any(|declared| declared == name)) {
                let (place, other) = (place.display(), other.display());
                out.push(format!("{place}: `{name}` of a shader is a constant of {other}, too: expected there alone"));
            }
        }
    }
    out
}

/// The names of numbers that a file declares as constants.
fn declared(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| {
        let (_, rest) =
            line.split_once("const ").filter(|(before, _)| before.is_empty() || before.starts_with("pub"))?;
        let (name, of) = rest.split_once(": ")?;
        ["f64", "f32", "u32", "usize"].iter().any(|number| of.starts_with(number)).then_some(name)
    })
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

    #[test]
    fn a_constant_of_a_prelude_with_two_values_is_found() {
        let rust = |prelude: &str| {
            let constants = "pub const STEP_SLACK: f64 = 1e-6;\npub const STEP_SLACK_ON_GPU: f64 = 1e-3;\n";
            let files = [("gpu/shader.rs", prelude), ("solver/constants.rs", constants)];
            faults(&[], &files.map(|(place, text)| (PathBuf::from(place), text.to_owned())))
        };
        assert_eq!(rust("const STEP_SLACK: f64 = 1e-3;\nlet all = [(\"STEP_SLACK\", STEP_SLACK)];\n").len(), 1);
        assert_eq!(rust("let all = [(\"STEP_SLACK\", STEP_SLACK_ON_GPU)];\n"), [""; 0]);
    }
}

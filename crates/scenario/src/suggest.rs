//! Suggestions for unknown keys and names.

use serde_json::Value;

/// Least similarity (Jaro's measure, which the command line uses for its own suggestions) of a name that is
/// suggested.
const LEAST_SIMILARITY: f64 = 0.7;

/// Longest name for which another is suggested [byte].
const LONGEST_NAME: usize = 100;

/// What may be meant, as "`a` or `b`", by a message of the TOML reader about an unknown field or variant;
/// nothing if it is about something else, or if nothing is alike. `keys` are dotted paths of keys: one of
/// another table is meant if it has the very name.
pub(super) fn suggestion(message: &str, keys: &[String]) -> Option<String> {
    let start = ["unknown field `", "unknown variant `"].iter().find_map(|s| Some(message.find(s)? + s.len()))?;
    let mut quoted = message[start..].split('`').step_by(2);
    // What is longer than any name is like none.
    let unknown = quoted.next().filter(|unknown| unknown.len() <= LONGEST_NAME)?;
    let elsewhere: Vec<&str> =
        keys.iter().map(String::as_str).filter(|key| key.rsplit('.').next() == Some(unknown)).collect();
    let alike: Vec<(f64, &str)> = quoted.map(|name| (strsim::jaro(unknown, name), name)).collect();
    let best = alike.iter().map(|(score, _)| *score).fold(LEAST_SIMILARITY, f64::max);
    let near = alike.iter().filter(|(score, _)| *score >= best).map(|(_, name)| *name);
    let meant: Vec<&str> = if elsewhere.is_empty() || best > 0.9 { near.collect() } else { elsewhere };
    (!meant.is_empty()).then(|| format!("`{}`", meant.join("` or `")))
}

/// The most similar of some names, if it is similar enough.
pub(super) fn alike<'a>(unknown: &str, names: &[&'a str]) -> Option<&'a str> {
    if unknown.len() > LONGEST_NAME {
        return None;
    }
    let scored = names.iter().map(|name| (strsim::jaro(unknown, name), *name));
    scored.filter(|(score, _)| *score >= LEAST_SIMILARITY).max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, name)| name)
}

/// The dotted paths of all keys of a scenario but for those inside numbers and signals.
pub(super) fn keys() -> Vec<String> {
    /// The tables that have keys of their own.
    const TABLES: &str = "Spec";
    fn collect(schema: &Value, root: &Value, path: &str, keys: &mut Vec<String>) {
        for (key, inner) in schema["properties"].as_object().into_iter().flatten() {
            let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            let options = inner["anyOf"].as_array().into_iter().flatten().chain([inner]);
            let table = options.filter_map(|o| o["$ref"].as_str()).filter_map(|name| name.strip_prefix("#/$defs/"));
            for name in table.filter(|name| name.ends_with(TABLES)) {
                collect(&root["$defs"][name], root, &path, keys);
            }
            keys.push(path);
        }
    }
    let (schema, mut keys) = (super::json_schema(), Vec::new());
    collect(&schema, &schema, "", &mut keys);
    keys
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_alike_or_stands_elsewhere_is_suggested() {
        let keys = keys();
        for path in ["contacts", "friction.mu_c", "inputs.mu_c", "inputs.wrench.fx", "inputs.twist.at", "patch.shape"] {
            assert!(keys.iter().any(|key| key == path), "{path} in {keys:?}");
        }
        assert!(keys.iter().all(|key| !key.contains("uniform") && !key.contains("sines")), "{keys:?}");
        for (message, wanted) in [
            ("unknown field `sise`, expected one of `shape`, `size`, `cells`", "`size`"),
            ("unknown field `mu_d`, expected one of `law`, `mu_c`, `mu_s`", "`mu_c` or `mu_s`"),
            ("patch.shape: unknown variant `sqare`, expected one of `square`, `line`", "`square`"),
            ("unknown variant `grip`, expected `gripper` or `body`", "`gripper`"),
            ("unknown field `mass`, expected one of `duration`, `body`", "`body.mass`"),
            ("unknown field `mu_c`, expected one of `kind`, `mass`", "`friction.mu_c` or `inputs.mu_c`"),
            ("unknown field `xyz`, expected one of `kind`, `mass`", ""),
            ("missing field `duration`", ""),
        ] {
            assert_eq!(suggestion(message, &keys).unwrap_or_default(), wanted, "{message}");
        }
        assert_eq!(suggestion("unknown field `mass`, expected one of `patch`, `mu`, `f_n`", &[]), None);
    }
}

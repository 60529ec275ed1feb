//! How an existing run differs from the requested run: the first key whose value differs. A run that differs
//! is not resumed, and the error names that key.

use std::path::Path;

use serde_json::{Value, json};

use super::error::RolloutError;
use bristle_scenario::Scenario;

/// Most characters of a value in a message.
const MOST_SHOWN: usize = 60;

/// The error of the run in `dir`, which differs in `what`.
pub(super) fn different(dir: &Path, what: &'static str, difference: String) -> RolloutError {
    RolloutError::Different { path: dir.to_owned(), what, difference }
}

/// The hashes of the map and of the table of contacts that a scenario has read.
pub(super) fn maps(scenario: &Scenario) -> Value {
    json!(scenario.maps().map(|hash| format!("{hash:016x}")))
}

/// The first key in which a scenario differs from the one that is there, as in `seed = 9, where it has 3`.
pub(super) fn of_scenarios(own: &str, there: &str) -> String {
    let of = |text: &str| toml::from_str::<Value>(text).unwrap_or_default();
    first("", &of(own), &of(there)).unwrap_or_else(|| "other comments, or another order, in its scenario".to_owned())
}

/// Which of the files that the scenario `text` names has changed, by [`maps`].
pub(super) fn of_files(text: &str, own: &Value, there: &Value) -> String {
    let key = if own[0] == there[0] { "table" } else { "patch" };
    let scenario: Value = toml::from_str(text).unwrap_or_default();
    let file = scenario[key]["file"].as_str().unwrap_or("the file");
    format!("{key}.file = {file}, whose content has changed")
}

/// The first value in which `own`, called `path`, differs from the one that is there.
pub(super) fn first(path: &str, own: &Value, there: &Value) -> Option<String> {
    let inside = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    match (own, there) {
        (Value::Object(a), Value::Object(b)) => {
            let mut keys = a.keys().chain(b.keys().filter(|key| !a.contains_key(*key)));
            keys.find_map(|key| first(&inside(key), &own[key], &there[key]))
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            a.iter().zip(b).enumerate().find_map(|(i, (a, b))| first(&inside(&i.to_string()), a, b))
        }
        (own, there) if own == there => None,
        (Value::Null, there) => Some(format!("no {path}, where it has {}", short(there))),
        (own, Value::Null) => Some(format!("{path} = {}, where it has none", short(own))),
        (own, there) => Some(format!("{path} = {}, where it has {}", short(own), short(there))),
    }
}

/// A value as TOML, or the beginning of a long one.
fn short(value: &Value) -> String {
    let text = toml::Value::try_from(value).map_or_else(|_| value.to_string(), |value| value.to_string());
    match text.char_indices().nth(MOST_SHOWN) {
        Some((end, _)) => format!("{}..", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_difference_is_named_with_both_values() {
        let text = "seed = 3\n[body]\nmass = { uniform = [0.5, 1.5] }\n[patch]\nfile = 'a.npy'\n";
        for (from, to, told) in [
            ("seed = 3", "seed = 9", "seed = 9, where it has 3"),
            ("seed = 3", "", "no seed, where it has 3"),
            ("seed = 3", "seed = 3\ncontacts = 5", "contacts = 5, where it has none"),
            ("1.5]", "2]", "body.mass.uniform.1 = 2, where it has 1.5"),
            ("{ uniform = [0.5, 1.5] }", "1", "body.mass = 1, where it has { uniform = [0.5, 1.5] }"),
            ("a.npy", "b.npy", "patch.file = \"b.npy\", where it has \"a.npy\""),
            ("seed", "# why\nseed", "other comments, or another order, in its scenario"),
        ] {
            assert_eq!(of_scenarios(&text.replace(from, to), text), told);
        }
        let formats = |formats: Value| json!({ "formats": formats, "with": [] });
        let difference = first("", &formats(json!(["npz"])), &formats(json!(["npz", "zarr"]))).unwrap();
        assert_eq!(difference, "formats = [\"npz\"], where it has [\"npz\", \"zarr\"]");
        let long = first("x", &json!(vec![1; 99]), &json!("a")).unwrap();
        assert!(long.contains(", 1,.., where it has \"a\"") && long.len() < 100, "{long}");
        let changed = |there| of_files(text, &json!(["a", "b"]), &there);
        assert_eq!(changed(json!(["c", "b"])), "patch.file = a.npy, whose content has changed");
        assert!(changed(json!(["a", "c"])).starts_with("table.file"));
    }
}

//! A table beside the scenario in the same file: what another command reads, and the scenario does not know.

use serde::de::DeserializeOwned;
use toml::de::{DeTable, DeValue};

use super::ScenarioError;
use super::diagnostics::Document;
use bristle::error::ParameterError;

/// The table `key` of a TOML text that errors call `name`, if it has it.
///
/// # Errors
/// TOML that is malformed, an unknown key in the table, or a wrong type, with its place.
pub fn part<T: DeserializeOwned>(text: &str, name: &str, key: &str) -> Result<Option<T>, ScenarioError> {
    Document::parse(name, text)?.key(key)
}

/// What is wrong with a value of the text, at its place.
pub fn wrong_part(text: &str, name: &str, error: &ParameterError) -> ScenarioError {
    ScenarioError::field(name, text, &error.field, error.to_string()).about(error)
}

/// The text without the tables `[key]` and `[key.*]`, whose lines become empty, so that the places of the
/// others stay.
///
/// # Errors
/// TOML that is malformed.
pub fn without_part(text: &str, name: &str, key: &str) -> Result<String, ScenarioError> {
    Document::parse(name, text)?;
    let mut headers = Vec::new();
    if let Ok(root) = DeTable::parse(text) {
        let value = DeValue::Table(root.into_inner());
        collect_headers(text, &value, false, key, &mut headers);
    }
    headers.sort_unstable();
    headers.dedup_by_key(|(at, _)| *at);
    let mut kept = String::with_capacity(text.len());
    let mut from = 0;
    for (i, &(at, is_part)) in headers.iter().enumerate() {
        let end = headers.get(i + 1).map_or(text.len(), |next| next.0);
        kept += &text[from..at];
        let region = &text[at..end];
        let lines = || "\n".repeat(region.matches('\n').count());
        kept += &if is_part { lines() } else { region.to_owned() };
        from = end;
    }
    kept += &text[from..];
    Ok(kept)
}

/// The places of all headers of tables, and whether each is of `key`.
fn collect_headers(text: &str, value: &DeValue<'_>, is_part: bool, key: &str, headers: &mut Vec<(usize, bool)>) {
    let mut see = |span: std::ops::Range<usize>, value: &DeValue<'_>, is_part: bool| {
        let begins_line = || text[..span.start].rsplit('\n').next().is_none_or(|before| before.trim().is_empty());
        if matches!(value, DeValue::Table(_)) && text[span.start..].starts_with('[') && begins_line() {
            headers.push((span.start, is_part));
        }
        collect_headers(text, value, is_part, "", headers);
    };
    match value {
        DeValue::Table(table) => {
            for (name, value) in table {
                see(value.span(), value.get_ref(), is_part || (!key.is_empty() && name.get_ref() == key));
            }
        }
        DeValue::Array(values) => values.iter().for_each(|value| see(value.span(), value.get_ref(), is_part)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Part {
        a: f64,
        more: Option<Vec<Inner>>,
    }

    #[derive(Debug, PartialEq, serde::Deserialize)]
    struct Inner {
        b: Vec<[f64; 2]>,
    }

    const TEXT: &str =
        "x = 1\n[own]\ny = [\n[1, 2],\n]\n[fit]\na = 2\n[[fit.more]]\nb = [\n[3, 4],\n]\n# end\n[last]\nz = 1\n";

    #[test]
    fn a_part_is_read_and_taken_out_with_the_places_of_the_rest() {
        let part: Part = part(TEXT, "f.toml", "fit").unwrap().unwrap();
        assert_eq!(part, Part { a: 2.0, more: Some(vec![Inner { b: vec![[3.0, 4.0]] }]) });
        let rest = without_part(TEXT, "f.toml", "fit").unwrap();
        assert_eq!(rest, "x = 1\n[own]\ny = [\n[1, 2],\n]\n\n\n\n\n\n\n\n[last]\nz = 1\n");
    }

    #[test]
    fn errors_in_a_part_have_their_place() {
        let wrong = TEXT.replace("a = 2", "c = 2");
        let error = part::<Part>(&wrong, "f.toml", "fit").unwrap_err().to_string();
        assert!(error.starts_with("f.toml:7:1: ") && error.contains("unknown field `c`"), "{error}");
        let error = wrong_part(TEXT, "f.toml", &ParameterError::new("fit.a", 2.0, "less"));
        assert!(error.to_string().starts_with("f.toml:7:5: fit.a = 2: expected less"), "{error}");
    }
}

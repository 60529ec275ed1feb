//! Changes of a scenario from the command line: `friction.mu_c=0.4`.

use toml_edit::{DocumentMut, Item, Table, Value};

use super::ScenarioError;

/// Puts `value` at the dotted path `key` of the scenario `text` and returns the new text; comments
/// and layout stay. `value` is TOML; a bare word is a string. Numbers in the path index arrays.
///
/// ```
/// let text = bristle::scenario::change("[friction]\nmu_c = 1.0\n", "friction.mu_c={ uniform = [0.4, 0.8] }")?;
/// assert_eq!(text, "[friction]\nmu_c = { uniform = [0.4, 0.8] }\n");
/// # Ok::<(), bristle::scenario::ScenarioError>(())
/// ```
///
/// # Errors
/// No `=`, an empty key, or a path through something that is no table; text that is not TOML stays as it is.
pub fn change(text: &str, change: &str) -> Result<String, ScenarioError> {
    let wrong = |reason: String| ScenarioError::Override { change: change.to_owned(), reason };
    let (key, value) =
        change.split_once('=').ok_or_else(|| wrong("expected `key=value`, such as `friction.mu_c=0.4`".into()))?;
    let path: Vec<&str> = key.trim().split('.').map(str::trim).collect();
    if path.iter().any(|p| p.is_empty()) {
        return Err(wrong("expected a dotted key such as `friction.mu_c`".into()));
    }
    let value = value.trim();
    let bare = !value.is_empty() && value.chars().all(|c| c.is_alphanumeric() || "-_./".contains(c));
    let new: Value = match value.parse::<Value>() {
        Ok(v) => v,
        Err(_) if bare => Value::from(value),
        Err(e) => return Err(wrong(format!("not a TOML value: {}", e.to_string().lines().last().unwrap_or_default()))),
    };
    // What is not TOML is reported, with its place, by the reader.
    let Ok(mut document) = text.parse::<DocumentMut>() else { return Ok(text.to_owned()) };
    let mut item: &mut Item = document.as_item_mut();
    for (depth, part) in path.iter().enumerate() {
        let here = || path[..depth].join(".");
        if let Ok(i) = part.parse::<usize>() {
            let n = item
                .as_array()
                .map(toml_edit::Array::len)
                .or(item.as_array_of_tables().map(toml_edit::ArrayOfTables::len));
            if n.is_none_or(|n| i >= n) {
                let n = n.unwrap_or(0);
                return Err(wrong(format!("`{}` has {n} elements: expected an index below that", here())));
            }
            item = &mut item[i];
            continue;
        }
        if item.is_none() {
            *item = Item::Table(Table::new());
            if let Some(table) = item.as_table_mut() {
                table.set_implicit(depth + 1 < path.len());
            }
        }
        if !item.is_table_like() {
            return Err(wrong(format!("`{}` is no table", here())));
        }
        item = &mut item[*part];
    }
    let decor = item.as_value().map(|old| old.decor().clone());
    let mut new = new;
    if let Some(decor) = decor {
        *new.decor_mut() = decor;
    } else {
        *new.decor_mut() = toml_edit::Decor::new(" ", "");
    }
    *item = Item::Value(new);
    Ok(document.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_replaced_added_and_indexed() {
        let text = "# top\nseed = 1 # why\n[friction]\nmu_c = 1\n[inputs]\nn = { segments = [{ value = 1 }] }\n";
        assert!(change(text, "seed=7").unwrap().contains("seed = 7 # why"));
        assert!(change(text, "friction.law=lugre").unwrap().contains("law = \"lugre\""));
        assert!(change(text, "inputs.n.segments.0.value=2").unwrap().contains("value = 2"));
        let added = change(text, "patch.cells=[5, 5]").unwrap();
        assert!(toml::from_str::<toml::Table>(&added).unwrap()["patch"]["cells"].is_array(), "{added}");
        let top = change(text, "contacts=3").unwrap();
        assert_eq!(toml::from_str::<toml::Table>(&top).unwrap()["contacts"].as_integer(), Some(3), "{top}");
    }

    #[test]
    fn impossible_changes_are_refused() {
        for bad in ["seed", "=1", "seed.x=1", "a..b=1", "friction.mu_c={", "inputs.n.segments.3.value=1"] {
            assert!(change("seed = 1\n[friction]\n[inputs]\nn = { segments = [] }\n", bad).is_err(), "{bad}");
        }
    }
}

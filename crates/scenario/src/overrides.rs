//! Changes of a scenario from the command line: `friction.mu_c=0.4`, `~friction.mu_s`.

use toml::de::DeValue;
use toml_edit::{Array, DocumentMut, InlineTable, Item, Key, Table, Value};

use super::ScenarioError;
use super::diagnostics::unfit;
use bristle::quote::{message, quoted};

/// Lists of numbers with their default values, from which one number can be set although a scenario does not
/// have the list.
const LISTS: [(&str, &[f64]); 6] = [
    ("initial.pose", &[0.0; 3]),
    ("initial.twist", &[0.0; 3]),
    ("body.offset", &[0.0; 2]),
    ("inputs.gravity", &[0.0; 2]),
    ("inputs.anchor", &[0.0; 2]),
    ("inputs.surface.at", &[0.0; 2]),
];
/// Keys that take one number or a list of two, and the default number, which holds unless a scenario has
/// `file` or `pressure`.
const PAIRS: [(&str, &str); 2] = [("patch.size", "0.02"), ("patch.cells", "21")];

/// For `key=value` puts `value` at the dotted path `key` of the scenario `text`, for `~key` removes that key,
/// and returns the new text; comments and layout stay. `value` is TOML; a bare word is a string. Numbers in
/// the path index arrays; tables, and lists of numbers that have a default, need not be there.
///
/// ```
/// let text = "[friction]\nmu_c = 1.0\n";
/// let text = bristle_scenario::change(text, "friction.mu_c={ uniform = [0.4, 0.8] }")?;
/// assert_eq!(text, "[friction]\nmu_c = { uniform = [0.4, 0.8] }\n");
/// assert_eq!(bristle_scenario::change(&text, "~friction.mu_c")?, "[friction]\n");
/// # Ok::<(), bristle_scenario::ScenarioError>(())
/// ```
///
/// # Errors
/// No `=`, an empty key, a path through something that is no table, a key to remove that is not there, or
/// text that is not TOML.
pub fn change(text: &str, change: &str) -> Result<String, ScenarioError> {
    let wrong = |reason: String| ScenarioError::Override {
        change: quoted(change).into_owned(),
        reason: message(&reason).into_owned(),
    };
    let path = |key: &'_ str| {
        // A part with dots in it is in quotes, such as the path of an unknown.
        let path: Vec<String> = if key.contains(['"', '\'']) {
            Key::parse(key).unwrap_or_default().iter().map(|part| part.get().to_owned()).collect()
        } else {
            key.trim().split('.').map(|part| part.trim().to_owned()).collect()
        };
        let is_whole = !path.is_empty() && path.iter().all(|part| !part.is_empty());
        if is_whole { Ok(path) } else { Err(wrong("expected a dotted key such as `friction.mu_c`".into())) }
    };
    let document = || {
        let parsed = text.parse::<DocumentMut>();
        parsed.map_err(|e| wrong(format!("cannot be put into the file: {}", e.message().trim())))
    };
    if let Some(key) = change.strip_prefix('~') {
        let path = path(key)?;
        let mut document = document()?;
        remove(document.as_item_mut(), &path).map_err(wrong)?;
        return Ok(document.to_string());
    }
    let (key, value) =
        change.split_once('=').ok_or_else(|| wrong("expected `key=value`, such as `friction.mu_c=0.4`".into()))?;
    let path = path(key)?;
    let value = value.trim();
    let mut new = value_of(value).map_err(wrong)?;
    let mut document = document()?;
    let item = item_at(&mut document, &path, value).map_err(wrong)?;
    *new.decor_mut() = item.as_value().map_or_else(|| toml_edit::Decor::new(" ", ""), |old| old.decor().clone());
    *item = Item::Value(new);
    Ok(document.to_string())
}

/// The TOML value that `text` says; a bare word is a string.
fn value_of(text: &str) -> Result<Value, String> {
    let bare = !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || "-_./".contains(c));
    text.parse::<Value>().or_else(|e| match DeValue::parse(text).ok().and_then(|v| unfit(v.get_ref(), v.span(), "")) {
        Some((_, message)) => Err(message),
        None if bare => Ok(Value::from(text)),
        None => Err(format!("not a TOML value: {}", e.to_string().lines().last().unwrap_or_default())),
    })
}

/// The place of `path` in a document, where `value` shall be put; tables and lists that are not there are
/// made.
fn item_at<'d>(document: &'d mut DocumentMut, path: &[String], value: &str) -> Result<&'d mut Item, String> {
    let has_map = ["file", "pressure"].iter().any(|key| document.get("patch").and_then(|p| p.get(key)).is_some());
    let mut item: &mut Item = document.as_item_mut();
    // An inline table can contain values only.
    let mut inline = false;
    for (depth, part) in path.iter().enumerate() {
        let here = || path[..depth].join(".");
        if let Ok(i) = part.parse::<usize>() {
            if depth + 1 == path.len() && item.is_array_of_tables() {
                // An array of `[[tables]]` is made a list of values, because the new element may be no table.
                item.make_value();
            }
            write_out_list(item, &here(), has_map);
            let n = item.as_array().map(Array::len).or(item.as_array_of_tables().map(toml_edit::ArrayOfTables::len));
            if n.is_none_or(|n| i >= n) {
                return Err(match n {
                    Some(n) => format!("`{}` has {n} elements: expected an index below that", here()),
                    None => format!("`{}` is no list here: expected a key, or a whole list `{0}=[..]`", here()),
                });
            }
            item = &mut item[i];
            continue;
        }
        if item.is_none() && inline {
            *item = Item::Value(Value::InlineTable(InlineTable::new()));
        } else if item.is_none() {
            *item = Item::Table(Table::new());
            if let Some(table) = item.as_table_mut() {
                table.set_implicit(depth + 1 < path.len());
            }
        }
        if !item.is_table_like() {
            let (here, inside) = (here(), path[depth..].join("."));
            return Err(format!("`{here}` is no table: `{here}={{ {inside} = {value} }}` makes it one"));
        }
        inline = item.is_inline_table();
        item = &mut item[part.as_str()];
    }
    Ok(item)
}

/// Whether `path` is that of `key`, or, of the point of a surface, that of one of several patches.
fn is_key(path: &str, key: &str) -> bool {
    let of_patch = path.strip_prefix("patches.").and_then(|own| own.split_once('.')).map(|(_, own)| own);
    path == key || of_patch == Some("surface.at") && key == "inputs.surface.at"
}

/// Writes out a list that is given in short: by its default, or by one number for two. With `has_map`, that
/// is for a map that is given as such, size and cells have no defaults.
fn write_out_list(item: &mut Item, path: &str, has_map: bool) {
    let pair = PAIRS.iter().find(|(key, _)| *key == path).map(|(_, default)| *default);
    let values: Vec<Value> = match (item.as_value(), pair) {
        (None, _) if !item.is_none() => return,
        (None, Some(default)) if !has_map => default.parse().map_or(Vec::new(), |value: Value| vec![value; 2]),
        (None, None) => match LISTS.iter().find(|(key, _)| is_key(path, key)) {
            Some((_, values)) => values.iter().map(|v| Value::from(*v)).collect(),
            None => return,
        },
        (Some(value), Some(_)) if !value.is_array() => vec![value.clone(); 2],
        _ => return,
    };
    let mut array = Array::new();
    for (k, value) in values.into_iter().enumerate() {
        array.push_formatted(value.decorated(if k == 0 { "" } else { " " }, ""));
    }
    // A comment behind the value is kept.
    if let Some(value) = item.as_value() {
        *array.decor_mut() = value.decor().clone();
    }
    *item = Item::Value(Value::Array(array));
}

/// Removes what is at `path`.
fn remove(item: &mut Item, path: &[String]) -> Result<(), String> {
    let Some((part, rest)) = path.split_first() else { return Ok(()) };
    let index = part.parse::<usize>().unwrap_or(usize::MAX);
    let known = match &*item {
        item if item.is_table_like() => {
            let keys: Vec<&str> = item.as_table_like().into_iter().flat_map(|t| t.iter()).map(|(key, _)| key).collect();
            if keys.is_empty() {
                "nothing, as the table is empty".to_owned()
            } else {
                format!("one of {}", keys.join(", "))
            }
        }
        item => {
            match item.as_array().map(Array::len).or(item.as_array_of_tables().map(toml_edit::ArrayOfTables::len)) {
                Some(n) => format!("an index below {n}"),
                None => "a key of a table".to_owned(),
            }
        }
    };
    let absent = || format!("there is no `{part}` to remove: expected {known}");
    if !rest.is_empty() {
        let inner = if item.is_table_like() { item.get_mut(part.as_str()) } else { item.get_mut(index) };
        return remove(inner.ok_or_else(absent)?, rest);
    }
    let removed = if let Some(table) = item.as_table_like_mut() {
        table.remove(part).is_some()
    } else if let Some(array) = item.as_array_mut().filter(|array| index < array.len()) {
        array.remove(index);
        true
    } else if let Some(tables) = item.as_array_of_tables_mut().filter(|tables| index < tables.len()) {
        tables.remove(index);
        true
    } else {
        false
    };
    if removed { Ok(()) } else { Err(absent()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(text: &str) -> toml::Table {
        toml::from_str(text).unwrap_or_else(|e| panic!("{text}: {e}"))
    }

    #[test]
    fn a_table_is_made_inside_an_inline_table() {
        let changed = change("a = { x = 1.5 }\n", "a.b.c=31").unwrap();
        assert_eq!(table(&changed), table("a = { x = 1.5, b = { c = 31 } }"));
    }

    /// What a scenario leaves at its default can be set as what it says.
    #[test]
    fn tables_and_lists_that_are_not_there_can_be_set_in_part() {
        for text in [
            "duration = 1\n",
            "duration = 1\n[initial]\nbristles = \"steady\"\n",
            "initial = {}\nbody = { mass = 1 }\n",
        ] {
            for (key, wanted) in [
                ("initial.pose.2=0.1", "initial = { pose = [0.0, 0.0, 0.1] }"),
                ("initial.twist.0={ uniform = [0, 1] }", "initial = { twist = [{ uniform = [0, 1] }, 0.0, 0.0] }"),
                ("body.offset.1=1e-3", "body = { offset = [0.0, 1e-3] }"),
                ("inputs.gravity.1=-9.81", "inputs = { gravity = [0.0, -9.81] }"),
                ("inputs.wrench.fx.points=[[0, 1]]", "inputs = { wrench = { fx = { points = [[0, 1]] } } }"),
                ("body.inertia.disc=0.1", "body = { inertia = { disc = 0.1 } }"),
                ("step.tolerance=1e-6", "step = { tolerance = 1e-6 }"),
            ] {
                let changed = table(&change(text, key).unwrap());
                for (name, inner) in &table(wanted) {
                    for (name_inside, value) in inner.as_table().unwrap() {
                        assert_eq!(&changed[name][name_inside], value, "{text}{key}");
                    }
                }
            }
        }
        let two = change("[patch]\nsize = 0.03 # why\n", "patch.size.1=0.02").unwrap();
        assert_eq!(two.lines().nth(1), Some("size = [0.03, 0.02] # why"));
        let two = change("[patch]\ncells = 31\n", "patch.cells.0=11").unwrap();
        assert_eq!(two, "[patch]\ncells = [11, 31]\n");
        assert_eq!(change("[patch]\n", "patch.cells.0=11").unwrap(), "[patch]\ncells = [11, 21]\n");
        assert_eq!(change("[patch]\n", "patch.size.1=0.01").unwrap(), "[patch]\nsize = [0.02, 0.01]\n");
        // A map from a file has its own.
        let message = change("[patch]\nfile = 'a.csv'\n", "patch.size.0=0.01").unwrap_err().to_string();
        assert!(message.contains("`patch.size` is no list here: expected a key, or a whole list"), "{message}");
    }

    #[test]
    fn keys_are_removed_wherever_they_stand() {
        let text =
            "# top\na = 1 # one\n[b]\nc = [1, 2]\nd = { e = 1, f = 2 }\n[[b.g]]\nh = 1\n[[b.g]]\nh = 2\n[b.i]\nj = 1\n";
        for (key, gone) in [
            ("a", "a = 1"),
            ("b.c.0", "1, 2"),
            ("b.d.e", "e = 1"),
            ("b.d", "d ="),
            ("b.g.0", "h = 1"),
            ("b.g.1.h", "h = 2"),
            ("b.g", "[[b.g]]"),
            ("b.i", "j = 1"),
            ("b", "b"),
        ] {
            let left = change(text, &format!("~{key}")).unwrap();
            assert!(!left.contains(gone) && text.contains(gone), "{key}: {left}");
            table(&left);
        }
        assert!(change(text, "~b.g.0").unwrap().contains("h = 2"));
        assert_eq!(change("a = 1\n", "~a").unwrap(), "");
        let empty = change("[a]\n", "~a.x").unwrap_err().to_string();
        assert!(empty.contains("there is no `x` to remove: expected nothing, as the table is empty"), "{empty}");
        for (key, part) in [
            ("~x", "there is no `x` to remove: expected one of a, b"),
            ("~b.x", "expected one of c, d, g, i"),
            ("~b.c.2", "expected an index below 2"),
            ("~b.g.7.h", "expected an index below 2"),
            ("~a.x", "expected a key of a table"),
            ("~", "dotted key"),
            ("~b..c", "dotted key"),
        ] {
            let message = change(text, key).unwrap_err().to_string();
            assert!(message.contains(part), "{key}: {message}");
        }
    }

    #[test]
    fn values_are_replaced_added_and_indexed() {
        let text = "# top\nseed = 1 # why\n[friction]\nmu_c = 1\n[inputs]\nn = { segments = [{ value = 1 }] }\n";
        assert!(change(text, "seed=7").unwrap().contains("seed = 7 # why"));
        assert!(change(text, "friction.law=lugre").unwrap().contains("law = \"lugre\""));
        assert!(change(text, "inputs.n.segments.0.value=2").unwrap().contains("value = 2"));
        let added = change(text, "patch.cells=[5, 5]").unwrap();
        assert!(toml::from_str::<toml::Table>(&added).unwrap()["patch"]["cells"].is_array(), "{added}");
        let tables = change("[[a.b]]\nc = 1 # one\n[[a.b]]\nc = 2\n[d]\n", "a.b.1=[3]").unwrap();
        let a = &toml::from_str::<toml::Table>(&tables).unwrap()["a"];
        assert_eq!((&a["b"][0]["c"], &a["b"][1][0]), (&1.into(), &3.into()), "{tables}");
        let top = change(text, "contacts=3").unwrap();
        assert_eq!(toml::from_str::<toml::Table>(&top).unwrap()["contacts"].as_integer(), Some(3), "{top}");
    }

    /// A path in quotes is one key.
    #[test]
    fn a_key_with_dots_in_it_is_in_quotes() {
        let text = "[fit.unknowns]\n\"friction.mu_c\" = {}\n";
        let changed = change(text, "fit.unknowns.\"friction.mu_c\".bounds=[0.1, 1]").unwrap();
        let changed = change(&changed, "fit.unknowns.'body.mass'={ value = 1.5 }").unwrap();
        let wanted = "[fit.unknowns]\n\"friction.mu_c\" = { bounds = [0.1, 1] }\n\"body.mass\" = { value = 1.5 }";
        assert_eq!(table(&changed), table(wanted));
        assert_eq!(
            table(&change(&changed, "~fit.unknowns.\"friction.mu_c\"").unwrap())["fit"]["unknowns"]
                .as_table()
                .unwrap()
                .len(),
            1
        );
    }

    #[test]
    fn impossible_changes_are_refused() {
        for bad in [
            "seed",
            "=1",
            "\"a=1",
            "a.\"\".b=1",
            "\"a\"\"b\"=1",
            "seed.x=1",
            "a..b=1",
            "friction.mu_c={",
            "inputs.n.segments.3.value=1",
        ] {
            assert!(change("seed = 1\n[friction]\n[inputs]\nn = { segments = [] }\n", bad).is_err(), "{bad}");
        }
    }
}

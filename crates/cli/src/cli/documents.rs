//! Tests of the documents against the program: all options, keys, values and laws that the documents name
//! exist, and the documents name all that exist.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use clap::CommandFactory;
use serde_json::Value;

use super::Arguments;
use bristle::Input;
use bristle::friction::Law;
use bristle::parameter::{ALL, Parameter};
use bristle::point::PointLaw;
use bristle_scenario::{json_schema, stability_schema, world_json_schema};

/// Options of other programs that the documents name: of cargo and what it runs, of perf, valgrind and pip.
const OF_OTHERS: [&str; 26] = [
    "all-targets",
    "bench",
    "browser",
    "call-graph",
    "check",
    "dump",
    "example",
    "features",
    "learners",
    "lib",
    "measurement-time",
    "nocapture",
    "nvidia",
    "open",
    "path",
    "predict",
    "profile",
    "profile-time",
    "release",
    "renew",
    "steps",
    "test",
    "tool",
    "use_fast_math",
    "warm-up-time",
    "workspace",
];

/// Names and texts of all pages.
fn pages() -> Vec<(String, String)> {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let mut files: Vec<_> = fs::read_dir(root.join("docs")).unwrap().map(|file| file.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|ending| ending == "md"));
    files.push(root.join("README.md"));
    files.sort();
    let read =
        |file: &Path| (file.file_name().unwrap().to_str().unwrap().to_owned(), fs::read_to_string(file).unwrap());
    files.iter().map(|file| read(file)).collect()
}

fn page(name: &str) -> String {
    pages().into_iter().find(|(own, _)| own == name).unwrap().1
}

/// The code of a page: lines between fences, and what stands between backticks elsewhere.
fn code(text: &str) -> Vec<&str> {
    let (mut fenced, mut out) = (false, Vec::new());
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if fenced {
            out.push(line);
        } else {
            out.extend(spans(line));
        }
    }
    out
}

/// What stands between backticks.
fn spans(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

const fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_')
}

/// The long options in some code, each with the code before it.
fn options(code: &str) -> Vec<(&str, &str)> {
    let starts = code.match_indices("--").filter(|(at, _)| !code[..*at].ends_with(is_of_name));
    let name = |at: usize| {
        let rest = &code[at + 2..];
        &rest[..rest.find(|c| !is_of_name(c)).unwrap_or(rest.len())]
    };
    let all = starts.map(|(at, _)| (name(at), &code[..at]));
    all.filter(|(name, _)| name.starts_with(|c: char| c.is_ascii_lowercase())).collect()
}

#[test]
fn options_of_the_documents_are_those_of_the_program() {
    let mut program = Arguments::command();
    program.build();
    let of = |command: &clap::Command| {
        let longs = command.get_arguments().filter_map(|argument| argument.get_long().map(str::to_owned));
        longs.filter(|name| !["help", "version"].contains(&name.as_str())).collect::<BTreeSet<_>>()
    };
    let commands: BTreeMap<String, BTreeSet<String>> =
        program.get_subcommands().map(|command| (command.get_name().to_owned(), of(command))).collect();
    let all: BTreeSet<&str> = commands.values().flatten().map(String::as_str).collect();
    let (mut wrong, mut named) = (Vec::new(), BTreeSet::new());
    for (page, text) in pages() {
        for code in code(&text) {
            for (option, before) in options(code) {
                named.insert(option.to_owned());
                // The command of the line, if it is one of ours.
                let line = before.rsplit(['|', '#']).next().unwrap_or_default();
                let command = line.rsplit_once("bristle ").map(|(_, rest)| rest.split(' ').next().unwrap_or_default());
                let known = match command.and_then(|command| commands.get(command)) {
                    Some(own) => own.contains(option),
                    None => all.contains(option) || OF_OTHERS.contains(&option),
                };
                if !known {
                    wrong.push(format!("{page}: --{option} in `{code}`"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "no such options:\n{}", wrong.join("\n"));
    let missing: Vec<&&str> = all.iter().filter(|option| !named.contains(**option)).collect();
    assert!(missing.is_empty(), "options that no page names: {missing:?}");
    let unused: Vec<&&str> = OF_OTHERS.iter().filter(|option| !named.contains(**option)).collect();
    assert!(unused.is_empty(), "options of others that no page names: {unused:?}");
}

/// The schema of a kind of file.
struct Schema(Value);

impl Schema {
    /// The schema that a reference leads to.
    fn of<'s>(&'s self, node: &'s Value) -> &'s Value {
        match node["$ref"].as_str() {
            Some(name) => self.of(&self.0["$defs"][name.rsplit('/').next().unwrap_or(name)]),
            None => node,
        }
    }

    /// A node, and all that it may be instead.
    fn variants<'s>(&'s self, node: &'s Value) -> Vec<&'s Value> {
        let node = self.of(node);
        let others = ["anyOf", "oneOf", "allOf"].iter().filter_map(|kind| node[kind].as_array()).flatten();
        std::iter::once(node).chain(others.flat_map(|other| self.variants(other))).collect()
    }

    /// Puts the dotted paths of all keys below `node` into `all`, with the schema of each. Lists are as what
    /// they hold.
    fn keys<'s>(&'s self, node: &'s Value, at: &str, all: &mut BTreeMap<String, Vec<&'s Value>>) {
        for node in self.variants(node) {
            for (key, field) in node["properties"].as_object().into_iter().flatten() {
                let path = if at.is_empty() { key.clone() } else { format!("{at}.{key}") };
                all.entry(path.clone()).or_default().push(field);
                self.keys(field, &path, all);
            }
            if node["items"].is_object() {
                self.keys(&node["items"], at, all);
            }
            for item in node["prefixItems"].as_array().into_iter().flatten() {
                self.keys(item, at, all);
            }
        }
    }

    /// The texts that a value may be, if it is one of some.
    fn texts(&self, node: &Value) -> BTreeSet<String> {
        let of = |node: &Value| {
            let one = node["const"].as_str().map(str::to_owned);
            let many = node["enum"].as_array().into_iter().flatten().filter_map(|v| v.as_str().map(str::to_owned));
            one.into_iter().chain(many).collect::<Vec<_>>()
        };
        self.variants(node).into_iter().flat_map(of).collect()
    }
}

/// A row of a table of a page.
struct Row {
    /// Dotted paths of the keys in its first cell.
    keys: Vec<String>,
    text: String,
}

/// The rows of tables whose first column has keys, with the tables (dotted paths) that they are of.
fn rows(text: &str) -> (Vec<Row>, BTreeSet<String>) {
    let (mut heading, mut tables, mut of, mut rows) = (Vec::new(), BTreeSet::new(), None, Vec::new());
    let name = |span: &str| span.trim_matches(['[', ']']).to_owned();
    for line in text.lines() {
        if let Some(title) = line.strip_prefix("## ") {
            heading = spans(title).filter(|span| span.starts_with('[')).map(name).collect();
        }
        let Some(first) = line.strip_prefix("| ").and_then(|line| line.split(" |").next()) else {
            if !line.starts_with('|') {
                of = None;
            }
            continue;
        };
        match &of {
            None if first == "key" || first.starts_with("key of ") => {
                let own: Vec<String> = spans(first).map(name).collect();
                let here = if own.is_empty() { heading.clone() } else { own };
                let here = if here.is_empty() { vec![String::new()] } else { here };
                tables.extend(here.iter().cloned());
                of = Some(here);
            }
            // Another kind of table.
            None => of = Some(Vec::new()),
            Some(of) => {
                let full = |key: String| {
                    let whole = of.iter().any(|of| key.starts_with(&format!("{of}."))) || of == &[String::new()];
                    let below = of.iter().map(|of| format!("{of}.{key}")).collect();
                    if whole { vec![key] } else { below }
                };
                let keys: Vec<String> = spans(first).map(name).flat_map(full).collect();
                if !keys.is_empty() {
                    rows.push(Row { keys, text: line.to_owned() });
                }
            }
        }
    }
    (rows, tables)
}

/// Texts such as `"cells"` in code.
fn quoted(text: &str) -> BTreeSet<String> {
    let parts = spans(text).flat_map(|code| code.split('"').skip(1).step_by(2));
    parts.filter(|part| !part.is_empty() && part.chars().all(is_of_name)).map(str::to_owned).collect()
}

#[test]
fn keys_and_values_of_the_documents_are_those_of_the_files() {
    let mut wrong = Vec::new();
    let files =
        [("scenario.md", json_schema()), ("worlds.md", world_json_schema()), ("stability.md", stability_schema())];
    for (name, schema) in files {
        let (text, schema) = (page(name), Schema(schema));
        let mut known = BTreeMap::new();
        schema.keys(&schema.0, "", &mut known);
        // Numbers and signals are those of scenarios in all files.
        let both = format!("{text}\n{}", page("scenario.md"));
        let words: BTreeSet<&str> = code(&both).iter().flat_map(|code| code.split(|c| !is_of_name(c))).collect();
        let (rows, mut tables) = rows(&text);
        let mut told = BTreeSet::new();
        for Row { keys, text } in &rows {
            for key in keys {
                let Some(nodes) = known.get(key) else {
                    wrong.push(format!("{name}: no key `{key}`"));
                    continue;
                };
                told.insert(key.clone());
                tables.extend(key.rsplit_once('.').map(|(table, _)| table.to_owned()));
                let values: BTreeSet<String> = nodes.iter().flat_map(|node| schema.texts(node)).collect();
                let said = quoted(text);
                let below = known.iter().filter(|(other, _)| other.starts_with(&format!("{key}.")));
                let inner: BTreeSet<String> =
                    below.flat_map(|(_, nodes)| nodes).flat_map(|node| schema.texts(node)).collect();
                let gone = said.iter().filter(|value| !values.contains(*value) && !inner.contains(*value));
                let gone = gone.filter(|_| !values.is_empty());
                wrong.extend(gone.map(|value| format!("{name}: `{key}` cannot be \"{value}\"")));
                // A value may have a table of its own, or a paragraph.
                let here = |value: &&String| !said.contains(*value) && !words.contains(value.as_str());
                wrong.extend(values.iter().filter(here).map(|value| format!("{name}: `{key}` may be \"{value}\"")));
            }
        }
        for key in known.keys() {
            let (table, last) = key.rsplit_once('.').unwrap_or(("", key));
            let in_table = told.contains(key) || tables.contains(key);
            let is_told = if tables.contains(table) { in_table } else { words.contains(last) };
            if !is_told {
                wrong.push(format!("{name}: nothing on `{key}`"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn defaults_of_the_documents_are_those_of_the_parameters() {
    let (rows, _) = rows(&page("scenario.md"));
    let mut compared = 0;
    for Row { keys, text } in &rows {
        let last = text.trim_end_matches([' ', '|']).rsplit("| ").next().unwrap();
        let Ok(said) = last.split(';').next().unwrap().parse::<f64>() else { continue };
        for Parameter { name, default, .. } in
            ALL.iter().filter(|parameter| keys.iter().any(|key| key == parameter.name))
        {
            assert_eq!(said, *default, "scenario.md: {name}");
            compared += 1;
        }
    }
    assert!(compared >= 20, "{compared} defaults");
}

#[test]
fn inputs_in_python_have_the_units_of_the_parameters() {
    let text = include_str!("../../../../python/bristle/batch.py");
    let (_, inputs) = text.split_once("**control** is a dictionary").unwrap();
    for input in Input::ALL {
        let Some((_, rest)) = inputs.split_once(&format!("``{}``", input.field().trim_start_matches("inputs."))) else {
            assert!(matches!(input, Input::AnchorX | Input::AnchorY), "{input:?}");
            continue;
        };
        let (said, unit) = (rest.split_once('[').unwrap().1, input.range().unit);
        let said = said.split([']', ',']).next().unwrap();
        assert_eq!(said, if unit.is_empty() { "-" } else { unit }, "{input:?}");
    }
}

#[test]
fn changes_in_the_documents_are_of_keys_that_there_are() {
    let schemas = [json_schema(), world_json_schema(), stability_schema()].map(Schema);
    let mut known = BTreeMap::new();
    schemas.iter().for_each(|schema| schema.keys(&schema.0, "", &mut known));
    let mut wrong = Vec::new();
    for (page, text) in pages() {
        for code in code(&text) {
            for (option, before) in options(code) {
                if !["set", "sweep", "unset"].contains(&option) {
                    continue;
                }
                let rest = code[before.len() + 2 + option.len()..].trim_start_matches([' ', '"', '\'', '=']);
                let end = rest.find(['=', ' ']).unwrap_or(rest.len());
                for key in rest[..end].split(',').filter(|key| !["", "key", "KEY", ".."].contains(key)) {
                    let number = |part: &&str| !part.chars().all(|c| c.is_ascii_digit());
                    let path = key.split('.').filter(number).collect::<Vec<_>>().join(".");
                    // Files with a patch alone have these two at the top.
                    if !known.contains_key(&path) && !["mu", "f_n"].contains(&path.as_str()) {
                        wrong.push(format!("{page}: no key `{key}` in `{code}`"));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn laws_of_the_documents_are_those_of_the_registries() {
    let bristles: BTreeSet<&str> = Law::ALL.iter().map(|law| law.name()).collect();
    let points: BTreeSet<&str> = PointLaw::ALL.iter().map(|law| law.name()).collect();
    let mut wrong = Vec::new();
    for (page, text) in pages() {
        for code in code(&text) {
            for rest in code.split("law").skip(1) {
                let rest = rest.trim_start_matches([' ', '=']);
                let Some(name) = rest.strip_prefix('"').and_then(|rest| rest.split('"').next()) else { continue };
                if !bristles.contains(name) && !points.contains(name) {
                    wrong.push(format!("{page}: no law \"{name}\" in `{code}`"));
                }
            }
        }
    }
    // The section on point contacts begins a paragraph with the name of each law.
    let model = page("model.md");
    let section = model.split("\n## ").find(|part| part.starts_with("13. ")).unwrap();
    let bold: BTreeSet<&str> = section.split("**").skip(1).step_by(2).flat_map(spans).collect();
    wrong.extend(bold.difference(&points).map(|name| format!("model.md, section 13: no law `{name}`")));
    wrong.extend(points.difference(&bold).map(|name| format!("model.md, section 13: nothing on `{name}`")));
    let text = page("scenario.md");
    let said: BTreeSet<String> = code(&text).into_iter().flat_map(|code| quoted(&format!("`{code}`"))).collect();
    let missing = bristles.union(&points).filter(|name| !said.contains(**name));
    wrong.extend(missing.map(|name| format!("scenario.md: nothing on the law \"{name}\"")));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

//! Errors that point at a place in a scenario file.

use std::fmt;
use std::ops::Range;

use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::{DeTable, DeValue, ValueDeserializer};

use super::exact::exact;
use super::suggest::{keys, suggestion};
use crate::input::InputError;
use bristle::error::ParameterError;
use bristle::quote::{message as short_message, quoted};

/// A scenario that cannot be used. All of these are about what the user wrote.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    /// The file cannot be read.
    #[error(transparent)]
    Read(#[from] InputError),
    /// Something in the text, with its place.
    #[error("{0}")]
    Text(Box<Excerpt>),
    /// A change, or a sweep, that cannot be applied.
    #[error("`{change}`: {reason}")]
    Override {
        /// The change, as given.
        change: String,
        /// What is wrong and what would be accepted.
        reason: String,
    },
}

/// A message and the line of the file it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excerpt {
    /// Name of the file.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// What is wrong and what would be accepted.
    pub message: String,
    /// Dotted name of the field, if it is about one.
    pub field: Option<String>,
    /// The value that was refused, if it is about one.
    pub value: Option<String>,
    /// What would be accepted, as far as that is known.
    pub accepted: Option<String>,
    /// Names that may be meant in place of an unknown one.
    pub suggestion: Option<String>,
    text: String,
    indent: usize,
    width: usize,
}

impl fmt::Display for Excerpt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, column, message, text, indent, width, .. } = self;
        let margin = " ".repeat(line.to_string().len());
        let (indent, carets) = (" ".repeat(*indent), "^".repeat(*width));
        write!(f, "{file}:{line}:{column}: {message}\n{margin} |\n{line} | {text}\n{margin} | {indent}{carets}")
    }
}

impl ScenarioError {
    /// An error at the bytes `span` of `text`.
    pub(super) fn at(file: &str, text: &str, span: Range<usize>, message: impl Into<String>) -> Self {
        let floor = |mut i: usize| {
            i = i.min(text.len());
            while !text.is_char_boundary(i) {
                i -= 1;
            }
            i
        };
        let (start, end) = (floor(span.start), floor(span.end));
        let line_start = text[..start].rfind('\n').map_or(0, |i| i + 1);
        let line_end = text[start..].find('\n').map_or(text.len(), |i| start + i);
        let shown_end = end.clamp(start, line_end);
        let before = text[line_start..start].chars().count();
        let width = text[start..shown_end].chars().count().max(1);
        let (shown, indent, width) = window(text[line_start..line_end].trim_end(), before, width);
        Self::Text(Box::new(Excerpt {
            file: file.to_owned(),
            line: text[..start].matches('\n').count() + 1,
            column: before + 1,
            message: short_message(&message.into()).into_owned(),
            field: None,
            value: None,
            accepted: None,
            suggestion: None,
            text: shown,
            indent,
            width,
        }))
    }

    /// An error of the TOML reader, in the words of TOML; names the field its place belongs to, if the
    /// message does not.
    fn toml(file: &str, text: &str, error: &toml::de::Error) -> Self {
        const WORDS: [(&str, &str); 7] = [
            ("expected u64", "expected a whole number >= 0"),
            ("expected u32", "expected a whole number >= 0"),
            ("expected usize", "expected a whole number >= 0"),
            ("expected f64", "expected a number"),
            ("invalid type: map", "invalid type: table"),
            ("invalid type: sequence", "invalid type: array"),
            ("wanted string or table", "expected a name in quotes"),
        ];
        let span = error.span().unwrap_or(0..0);
        let message = error.message().trim().replace('\n', ": ");
        let message = WORDS.iter().fold(message, |message, (rust, toml)| message.replace(rust, toml));
        let message = match message.split_once("expected struct ") {
            Some((found, _)) => format!("{found}expected a table"),
            None => message,
        };
        let field = field_at(text, span.start);
        let shown = field.as_ref().filter(|field| !message.contains(field.as_str()));
        let mut message = match (shown, message.starts_with("unknown field")) {
            (Some(field), false) => format!("{field}: {message}"),
            _ => message,
        };
        let accepted = message.split_once("expected ").map(|(_, accepted)| accepted.to_owned());
        // The unit that is spelled most alike may be a thousand times as large.
        let is_unit = field.as_ref().is_some_and(|field| field.ends_with("unit"));
        let meant = if message.contains("unknown ") && !is_unit {
            let root = DeTable::parse(text).map(|root| DeValue::Table(root.into_inner()));
            // The keys of patches are not those of worlds.
            let is_of_patches = root.is_ok_and(|root| is_scenario(&root) && root.get("bodies").is_none());
            suggestion(&message, &if is_of_patches { keys() } else { Vec::new() })
        } else {
            None
        };
        if let Some(meant) = &meant {
            message += &format!("; did you mean {meant}?");
        }
        let value = text.get(span.clone()).filter(|value| !value.is_empty()).map(|value| quoted(value).into_owned());
        let accepted = accepted.map(|accepted| short_message(&accepted).into_owned());
        let meant = meant.map(|meant| quoted(&meant).into_owned());
        let field = field.map(|field| quoted(&field).into_owned());
        let mut error = Self::at(file, text, span, message);
        if let Self::Text(excerpt) = &mut error {
            (excerpt.field, excerpt.value, excerpt.accepted, excerpt.suggestion) = (field, value, accepted, meant);
        }
        error
    }

    /// An error about the field with the dotted path `field` (indices as `.0` or `[0]`).
    pub(super) fn field(file: &str, text: &str, field: &str, message: impl Into<String>) -> Self {
        let mut error = Self::at(file, text, span_of(text, field), message);
        if let Self::Text(excerpt) = &mut error {
            excerpt.field = Some(quoted(field).into_owned());
        }
        error
    }

    /// The same error with what it says about a parameter.
    pub(super) fn about(mut self, parameter: &ParameterError) -> Self {
        if let Self::Text(excerpt) = &mut self {
            let ParameterError { field, value, accepted } = parameter.clone();
            (excerpt.field, excerpt.value, excerpt.accepted) = (Some(field), Some(value), Some(accepted));
        }
        self
    }
}

/// A TOML text that has been parsed once, whatever is read from it, and what errors call it.
pub(super) struct Document<'t> {
    pub file: &'t str,
    pub text: &'t str,
    root: Spanned<DeValue<'t>>,
}

impl<'t> Document<'t> {
    /// Refuses TOML that is malformed, and a value that no key takes (see [`unfit`]).
    pub fn parse(file: &'t str, text: &'t str) -> Result<Self, ScenarioError> {
        let root = DeTable::parse(text).map_err(|e| ScenarioError::toml(file, text, &e))?;
        let root = Spanned::new(root.span(), DeValue::Table(root.into_inner()));
        match unfit(root.get_ref(), 0..text.len(), "") {
            Some((span, message)) => Err(ScenarioError::at(file, text, span, message)),
            None => Ok(Self { file, text, root }),
        }
    }

    /// Whether it is a whole scenario.
    pub fn is_scenario(&self) -> bool {
        is_scenario(self.root.get_ref())
    }

    /// Whether it has a key at its top.
    pub fn has(&self, key: &str) -> bool {
        self.root.get_ref().get(key).is_some()
    }

    /// What it says. What `T` refuses is an error with its place.
    pub fn read<T: DeserializeOwned>(self) -> Result<T, ScenarioError> {
        exact(ValueDeserializer::from(self.root)).map_err(|e| ScenarioError::toml(self.file, self.text, &e))
    }

    /// What its key `key` says, if it has it.
    pub fn key<T: DeserializeOwned>(&self, key: &str) -> Result<Option<T>, ScenarioError> {
        let mut keys = self.root.get_ref().as_table().into_iter().flatten();
        let value = keys.find_map(|(own, value)| (own.get_ref() == key).then(|| value.clone()));
        value.map(|root| Document { root, ..*self }.read()).transpose()
    }
}

/// Whether a text is a whole scenario, by its keys.
fn is_scenario(root: &DeValue<'_>) -> bool {
    ["body", "inputs", "duration"].iter().any(|key| root.get(key).is_some())
}

/// What the TOML `text`, which errors call `file`, says; see [`Document`].
#[cfg(feature = "rigid")]
pub(super) fn from_toml<T: DeserializeOwned>(file: &str, text: &str) -> Result<T, ScenarioError> {
    Document::parse(file, text)?.read()
}

/// The place of the first value in `value`, itself at `span` and called `path`, that no key takes, and what
/// to say about it: a date, which the reader knows by a name of its own, or a number that TOML has no room
/// for, which some readers take and others do not.
pub(super) fn unfit(value: &DeValue<'_>, span: Range<usize>, path: &str) -> Option<(Range<usize>, String)> {
    let inside = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    let says = |found: &str, accepted: &str| {
        let name = if path.is_empty() { String::new() } else { format!("{path} = ") };
        Some((span.clone(), format!("{name}{found}: {accepted}")))
    };
    match value {
        DeValue::Datetime(date) => says(&date.to_string(), "a date or time: expected a number, or text in quotes"),
        DeValue::Integer(v) if i64::from_str_radix(v.as_str(), v.radix()).is_err() => {
            says(&v.to_string(), "expected an integer from -9223372036854775808 to 9223372036854775807, or a float")
        }
        // `inf` is a number of TOML; some keys take it.
        DeValue::Float(v) if !v.as_str().ends_with("inf") && v.as_str().parse().is_ok_and(f64::is_infinite) => {
            says(v.as_str(), "expected a number below 1.8e308 in size")
        }
        DeValue::Array(values) => {
            values.iter().enumerate().find_map(|(i, v)| unfit(v.get_ref(), v.span(), &inside(&i.to_string())))
        }
        DeValue::Table(table) => table.iter().find_map(|(key, v)| unfit(v.get_ref(), v.span(), &inside(key.get_ref()))),
        _ => None,
    }
}

/// What an excerpt shows of a line with a place after `before` characters, `width` wide: all of it, or the
/// part of a long line that has the place; how far the place is in it, and how wide it is there.
fn window(line: &str, before: usize, width: usize) -> (String, usize, usize) {
    let spaced = |text: &str| text.replace('\t', " ");
    if line.chars().nth(MOST_SHOWN).is_none() {
        return (spaced(line), before, width);
    }
    let skipped = before.saturating_sub(if before < MOST_SHOWN / 2 { before } else { MOST_SHOWN / 4 });
    let mut shown: String = line.chars().skip(skipped).take(MOST_SHOWN).collect();
    if line.chars().nth(skipped + MOST_SHOWN).is_some() {
        shown += " ..";
    }
    let (start, ahead) = if skipped > 0 { (".. ", 3) } else { ("", 0) };
    let indent = before - skipped;
    (spaced(&format!("{start}{shown}")), ahead + indent, width.min(MOST_SHOWN.saturating_sub(indent)).max(1))
}

/// Most characters of a line in an excerpt.
const MOST_SHOWN: usize = 160;

/// Where the value of `field` is, or the deepest table around it that exists.
fn span_of(text: &str, field: &str) -> Range<usize> {
    let Ok(root) = DeTable::parse(text) else { return 0..0 };
    let path = field.replace('[', ".").replace(']', "");
    let mut span = 0..0;
    let mut value: Option<&DeValue<'_>> = None;
    for part in path.split('.') {
        let table = if span == (0..0) { Some(root.get_ref()) } else { value.and_then(DeValue::as_table) };
        let next = match (table, value.and_then(DeValue::as_array)) {
            (Some(table), _) => table.iter().find(|(key, _)| key.get_ref() == part).map(|(_, v)| v),
            (None, Some(array)) => part.parse::<usize>().ok().and_then(|i| array.get(i)),
            (None, None) => None,
        };
        let Some(next) = next else { break };
        span = next.span();
        value = Some(next.get_ref());
    }
    span
}

/// The dotted path of the innermost value that contains the byte `at`.
fn field_at(text: &str, at: usize) -> Option<String> {
    /// Length and path of the shortest value around `at`. A table under a header has the span of its
    /// header alone, so every table is searched.
    fn search(value: &DeValue<'_>, at: usize, path: &str, best: &mut Option<(usize, String)>) {
        let mut child = |name: &str, span: Range<usize>, value: &DeValue<'_>| {
            let path = if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
            if span.contains(&at) && best.as_ref().is_none_or(|(length, _)| span.len() <= *length) {
                *best = Some((span.len(), path.clone()));
            }
            search(value, at, &path, best);
        };
        if let Some(table) = value.as_table() {
            table.iter().for_each(|(key, v)| child(key.get_ref(), v.span(), v.get_ref()));
        } else if let Some(array) = value.as_array() {
            array.iter().enumerate().for_each(|(i, v)| child(&i.to_string(), v.span(), v.get_ref()));
        }
    }
    let root = DeValue::Table(DeTable::parse(text).ok()?.into_inner());
    let mut best = None;
    search(&root, at, "", &mut best);
    best.map(|(_, path)| path)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "a = 1\n[b]\nc = [1, { d = 2 }]\n";

    #[test]
    fn a_path_finds_its_place_and_a_place_its_path() {
        let span = span_of(TEXT, "b.c[1].d");
        assert_eq!(&TEXT[span.clone()], "2");
        assert_eq!(field_at(TEXT, span.start).unwrap(), "b.c.1.d");
        assert_eq!(&TEXT[span_of(TEXT, "b.c.0.x")], "1");
    }

    /// A line may be as long as a file.
    #[test]
    fn an_excerpt_shows_the_part_of_a_long_line_that_it_is_about() {
        let text = format!("a = [{}7, {}8]\n", "1, ".repeat(100), "2, ".repeat(1_000_000));
        let error = ScenarioError::field("f.toml", &text, "a.100", "no").to_string();
        let lines: Vec<&str> = error.lines().collect();
        assert!(lines[0].starts_with("f.toml:1:306: no") && lines[2].chars().count() < 180, "{error}");
        let at = lines[3].find('^').unwrap();
        assert_eq!(&lines[2][at..=at], "7", "{error}");
        let error = ScenarioError::field("f.toml", &text, "a", "no").to_string();
        assert!(error.len() < 500 && error.contains("1 | a = [1, 1,") && error.contains("|     ^^^^"), "{error}");
        let text = format!("name = \"{}\"\n{} = 1\n", "x".repeat(1_000_000), "k".repeat(1_000_000));
        for setting in [text.clone(), text.replace("name", "duration"), text.replacen("\"\n", "\n", 1)] {
            let error = from_toml::<Known>("f.toml", &setting).unwrap_err().to_string();
            assert!(error.len() < 2000, "{} bytes", error.len());
        }
    }

    #[derive(Debug, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code, reason = "only read")]
    struct Known {
        duration: f64,
    }

    #[test]
    fn an_excerpt_shows_the_line_and_the_column() {
        let error = ScenarioError::field("f.toml", TEXT, "b.c.1.d", "no").to_string();
        assert_eq!(error, "f.toml:3:15: no\n  |\n3 | c = [1, { d = 2 }]\n  |               ^");
    }
}

//! A table of contacts: a file with one row a contact, whose columns may stand wherever a number or a signal
//! may.
//!
//! Numbers of one row stay together, so that what is correlated in the recording (a tactile frame and its
//! force, a mass and its centre) is correlated in the contacts, too.

use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;

use super::diagnostics::{ScenarioError, from_toml};
use super::suggest::alike;
use crate::input::{self, InputError, Npz};
use crate::random::Draw;

/// A file with one row a contact.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TableSpec {
    /// `.npz` (arrays by name, the rows along the first axis), `.csv` (a header and columns of numbers),
    /// `.parquet` (columns of numbers or of lists of numbers) or `.npy` (rows and columns, which `columns`
    /// names), beside the scenario.
    pub file: PathBuf,
    /// `.npy` only: the names of its columns.
    pub columns: Option<Vec<String>>,
    /// Which row a contact takes.
    #[serde(default)]
    pub order: Order,
}

/// Which row of a table a contact takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// Contact k takes row k; there are as many contacts as rows, or fewer. The default.
    #[default]
    Rows,
    /// Each contact draws a row, all as likely.
    Random,
}

/// A column of a table of contacts, see `[table]`.
#[derive(Debug, PartialEq)]
pub struct Column {
    name: String,
    /// Numbers of a row.
    width: usize,
    /// The numbers, row after row.
    values: Vec<f64>,
    order: Order,
}

impl Column {
    /// The number of rows.
    fn rows(&self) -> usize {
        self.values.len() / self.width.max(1)
    }

    /// The row of the contact that `draw` belongs to.
    pub(super) fn row(&self, draw: &Draw) -> usize {
        match self.order {
            Order::Rows => (draw.contact() % self.rows() as u64) as usize,
            Order::Random => super::number::index(draw, "table.row", self.rows()),
        }
    }

    /// The number of numbers in a row.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// The numbers of the row that a contact takes; one if it is a column of numbers.
    pub(super) fn of(&self, draw: &Draw) -> &[f64] {
        let start = self.row(draw) * self.width;
        &self.values[start..start + self.width]
    }

    /// The least and the greatest number.
    pub(super) fn bounds(&self) -> [f64; 2] {
        self.values.iter().fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], v| [low.min(*v), high.max(*v)])
    }
}

/// The file of a `[table]`.
#[derive(Debug)]
pub(super) struct Table {
    columns: HashMap<String, Arc<Column>>,
    /// The columns that the scenario has asked for, by which the number of rows is known.
    rows: RefCell<Option<(usize, String)>>,
}

thread_local! {
    /// The table of the scenario that is being read on this thread. A derived `Deserialize` takes no
    /// argument, and an unknown column is an error of the place where it stands in the text.
    static CURRENT: RefCell<Option<Table>> = const { RefCell::new(None) };
}

/// What `read` makes of the text of a scenario in which the columns of its `[table]` are known, the number of
/// rows, if one was asked for, and a hash of the file's numbers. Arguments as of `Scenario::parse`.
pub(super) fn with_table<T>(
    text: &str,
    base: &Path,
    name: &str,
    read: impl FnOnce() -> Result<T, ScenarioError>,
) -> Result<(T, Option<Rows>), ScenarioError> {
    /// The `[table]` of a text; other keys are ignored.
    #[derive(Deserialize)]
    struct Part {
        table: Option<TableSpec>,
    }
    let Part { table } = from_toml(name, text)?;
    let Some(spec) = table else { return Ok((read()?, None)) };
    let file = base.join(&spec.file);
    let wrong = |field: &str, reason: String| ScenarioError::field(name, text, field, format!("{field}: {reason}"));
    let columns = load(&file, &spec).map_err(|e| wrong(e.0, e.1))?;
    let digest = digest(&columns);
    CURRENT.set(Some(Table { columns, rows: RefCell::new(None) }));
    let read = read();
    let table = CURRENT.take();
    let rows = table.and_then(|table| table.rows.into_inner()).map(|(rows, _)| rows);
    let rows = rows.map(|rows| Rows { rows: rows as u64, order: spec.order, digest });
    match (read?, rows) {
        (_, None) => {
            Err(wrong("table.file", "no column of it is used: expected `{ column = \"name\" }` somewhere".into()))
        }
        (read, rows) => Ok((read, rows)),
    }
}

/// The rows that a scenario's columns have.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rows {
    pub rows: u64,
    pub order: Order,
    /// A hash of the numbers of the file.
    pub digest: u64,
}

/// What a column is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    /// One number a row.
    Number,
    /// One number a row, or numbers over time.
    Signal,
}

/// The column called `name` of the scenario that is being read.
///
/// # Errors
/// What is wrong, and what would be accepted.
pub(super) fn column(name: &str, purpose: Use) -> Result<Arc<Column>, String> {
    CURRENT.with_borrow(|table| {
        let Some(table) = table else {
            return Err(format!("column `{name}`: expected a `[table]` with a `file` that has it"));
        };
        let Some(column) = table.columns.get(name) else {
            let mut known: Vec<&str> = table.columns.keys().map(String::as_str).collect();
            known.sort_unstable();
            let meant = alike(name, &known).map(|meant| format!("; did you mean `{meant}`?")).unwrap_or_default();
            return Err(format!("no column `{name}` in the table: expected one of {}{meant}", known.join(", ")));
        };
        if purpose == Use::Number && column.width != 1 {
            return Err(format!(
                "column `{name}` has {} numbers a row, which is a signal: expected one number a row",
                column.width
            ));
        }
        if let Some(bad) = column.values.iter().position(|v| !v.is_finite()) {
            let (row, value) = (bad / column.width, column.values[bad]);
            return Err(format!("column `{name}`, row {row}: {value}: expected finite numbers"));
        }
        let mut rows = table.rows.borrow_mut();
        let (n, first) = rows.get_or_insert_with(|| (column.rows(), name.to_owned()));
        if column.rows() != *n {
            return Err(format!(
                "column `{name}` has {} rows, but `{first}` has {n}: expected one row a contact in both",
                column.rows()
            ));
        }
        Ok(Arc::clone(column))
    })
}

/// The times [s] in the array called `name`, one for each of `n` numbers of a row.
///
/// # Errors
/// What is wrong, and what would be accepted.
pub(super) fn times(name: &str, n: usize) -> Result<Vec<f64>, String> {
    CURRENT.with_borrow(|table| {
        let known = table.as_ref().and_then(|table| table.columns.get(name));
        let Some(times) = known.filter(|times| times.values.len() == n) else {
            let found = known.map_or(0, |times| times.values.len());
            return Err(format!("times = `{name}`: {found} numbers: expected an array of {n}, one a sample of a row"));
        };
        Ok(times.values.clone())
    })
}

type Columns = HashMap<String, Arc<Column>>;

/// All arrays of a file, or the field that is wrong and why.
fn load(file: &Path, spec: &TableSpec) -> Result<Columns, (&'static str, String)> {
    let in_file = |e: InputError| ("table.file", e.to_string());
    let extension = file.extension().and_then(|e| e.to_str()).unwrap_or_default().to_lowercase();
    let is_npy = extension == "npy";
    if spec.columns.is_some() != is_npy {
        let accepted = if is_npy { "missing: expected the names of the columns" } else { "only for an .npy" };
        return Err(("table.columns", accepted.to_owned()));
    }
    let column = |name: &str, width: usize, values: Vec<f64>| {
        let name = name.to_owned();
        (name.clone(), Arc::new(Column { name, width, values, order: spec.order }))
    };
    match extension.as_str() {
        "npz" => {
            let mut npz = Npz::open(file).map_err(in_file)?;
            let mut columns = Columns::new();
            for name in npz.names() {
                let shape = npz.shape(&name).map_err(in_file)?;
                // Arrays of no rows or of more axes are no columns.
                let ([0, ..] | [_, 0] | [_, _, _, ..] | []) = shape[..] else {
                    let width = shape.get(1).copied().unwrap_or(1);
                    columns.extend([column(&name, width, npz.numbers(&name).map_err(in_file)?)]);
                    continue;
                };
            }
            Ok(columns)
        }
        "npy" => {
            let (shape, values) = input::npy_numbers(file).map_err(in_file)?;
            let names = spec.columns.as_deref().unwrap_or_default();
            let &[rows, width] = &shape[..] else {
                return Err(("table.file", format!("an array of shape {shape:?}: expected rows and columns")));
            };
            if names.len() != width || rows == 0 {
                let found = format!("{} names for {rows} rows of {width} columns", names.len());
                return Err(("table.columns", format!("{found}: expected a name for each")));
            }
            let of = |k: usize| values.iter().skip(k).step_by(width).copied().collect();
            Ok(names.iter().enumerate().map(|(k, name)| column(name, 1, of(k))).collect())
        }
        "csv" => {
            let (names, columns) = csv(file).map_err(|reason| ("table.file", reason))?;
            Ok(names.iter().zip(columns).map(|(name, values)| column(name, 1, values)).collect())
        }
        #[cfg(feature = "lerobot")]
        "parquet" => {
            let columns = input::parquet_columns(file).map_err(in_file)?;
            Ok(columns.into_iter().map(|c| column(&c.name, c.width, c.values)).collect())
        }
        _ => {
            let accepted = ".npz, .csv, .npy or (with the feature `lerobot`) .parquet";
            Err(("table.file", format!("{}: expected a name that ends in {accepted}", file.display())))
        }
    }
}

/// Names and columns of a CSV.
fn csv(file: &Path) -> Result<(Vec<String>, Vec<Vec<f64>>), String> {
    let at = |reason: String| format!("{}: {reason}", file.display());
    let text = input::open_text(file).map_err(|e| e.to_string())?;
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).comment(Some(b'#')).from_reader(text);
    let names: Vec<String> = reader.headers().map_err(|e| at(e.to_string()))?.iter().map(str::to_owned).collect();
    let mut columns = vec![Vec::new(); names.len()];
    for (row, record) in reader.records().enumerate() {
        let record = record.map_err(|e| at(e.to_string()))?;
        for ((name, column), value) in names.iter().zip(&mut columns).zip(&record) {
            let number = value.parse().map_err(|_| at(format!("row {row}, {name} = `{value}`: expected a number")))?;
            column.push(number);
        }
    }
    if columns.first().is_none_or(Vec::is_empty) {
        return Err(at("no rows: expected a header and one row a contact".to_owned()));
    }
    Ok((names, columns))
}

/// A hash of all columns, by which a changed file is noticed.
fn digest(columns: &Columns) -> u64 {
    let mut names: Vec<&String> = columns.keys().collect();
    names.sort_unstable();
    let mut hasher = DefaultHasher::new();
    for name in names {
        let column = &columns[name];
        (name, column.width).hash(&mut hasher);
        column.values.iter().for_each(|v| v.to_bits().hash(&mut hasher));
    }
    hasher.finish()
}

//! A table of contacts: a file with one row a contact, whose columns may stand wherever a number or a signal
//! may.
//!
//! Numbers of one row stay together, so that what is correlated in the recording (a tactile frame and its
//! force, a mass and its centre) is correlated in the contacts, too.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::diagnostics::{Document, ScenarioError};
use super::suggest::alike;
use crate::digest::Digest;
use crate::input::{self, InputError, Npz};
use bristle::random::Draw;

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

/// The name under which a contact draws its row.
pub(super) const ROW: &str = "table.row";

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

    /// Its name.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The number of rows, if each contact draws one.
    pub(super) fn drawn_from(&self) -> Option<usize> {
        (self.order == Order::Random).then(|| self.rows())
    }

    /// The row of the contact that `draw` belongs to.
    pub(super) fn row(&self, draw: &Draw) -> usize {
        match self.order {
            Order::Rows => (draw.contact() % self.rows() as u64) as usize,
            Order::Random => super::number::index(draw, ROW, self.rows()),
        }
    }

    /// The first row that has this number.
    pub(super) fn row_of(&self, value: f64) -> Option<usize> {
        self.values.iter().position(|v| *v == value).map(|i| i / self.width)
    }

    /// The number of numbers in a row.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// The numbers of the row that a contact takes; one if it is a column of numbers.
    pub(super) fn of(&self, draw: &Draw) -> &[f64] {
        self.numbers(self.row(draw))
    }

    /// The numbers of a row.
    pub(super) fn numbers(&self, row: usize) -> &[f64] {
        &self.values[row * self.width..][..self.width]
    }

    /// The least and the greatest number.
    pub(super) fn bounds(&self) -> [f64; 2] {
        self.values.iter().fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], v| [low.min(*v), high.max(*v)])
    }
}

/// The file of a `[table]`.
#[derive(Debug)]
pub(super) struct Table {
    file: PathBuf,
    columns: Columns,
    /// The number of rows, and the name of the first column that was asked for; none if none was.
    rows: RefCell<Option<(usize, String)>>,
}

thread_local! {
    /// The table of the scenario that is being read on this thread. A derived `Deserialize` takes no
    /// argument, and an unknown column is an error of the place where it stands in the text.
    static CURRENT: RefCell<Option<Table>> = const { RefCell::new(None) };
}

impl Table {
    /// The column called `name`.
    ///
    /// # Errors
    /// There is none, or it holds no numbers.
    fn column(&self, name: &str) -> Result<&Arc<Column>, String> {
        match self.columns.get(name) {
            Some(column) => column.as_ref().map_err(|why| format!("column `{name}`: {why}")),
            None => {
                let mut known: Vec<&str> = self.columns.keys().map(String::as_str).collect();
                known.sort_unstable();
                let meant = alike(name, &known).map(|meant| format!("; did you mean `{meant}`?")).unwrap_or_default();
                Err(format!("no column `{name}` in the table: expected one of {}{meant}", known.join(", ")))
            }
        }
    }
}

/// Reads a document whose fields may name columns of its `[table]`. Returns what was read, and the rows of
/// that file if there is one. `base` is where relative files are.
pub(super) fn with_table<T: DeserializeOwned>(
    document: Document<'_>,
    base: &Path,
) -> Result<(T, Option<Rows>), ScenarioError> {
    let Some(spec) = document.key::<TableSpec>("table")? else { return Ok((document.read()?, None)) };
    let (name, text) = (document.file, document.text);
    let file = base.join(&spec.file);
    let wrong = |field: &str, reason: String| ScenarioError::field(name, text, field, format!("{field}: {reason}"));
    let columns = load(&file, &spec).map_err(|e| wrong(e.0, e.1))?;
    let digest = digest(&columns);
    CURRENT.set(Some(Table { file, columns, rows: RefCell::new(None) }));
    let read = document.read();
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
        let column = table.column(name)?;
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
        let Some(table) = table else {
            return Err(format!("times = `{name}`: expected a `[table]` with a `file` that has it"));
        };
        let times = table.column(name).map_err(|why| format!("times: {why}"))?;
        if times.values.len() != n {
            let (rows, width) = (times.rows(), times.width);
            let found = if width == 1 { format!("{rows} numbers") } else { format!("{rows} rows of {width} numbers") };
            let accepted = format!("expected one array [{n}] for all rows, a time for each number of a row");
            return Err(format!("times = `{name}`: {found}: {accepted}"));
        }
        match times.values.iter().position(|t| !t.is_finite()) {
            Some(k) => {
                let file = table.file.display();
                Err(format!("times = `{name}`: number {k} in {file} is {}: expected finite times [s]", times.values[k]))
            }
            None => Ok(times.values.clone()),
        }
    })
}

/// The columns of a file by their names; of one that holds no numbers, what it is and what is accepted.
type Columns = HashMap<String, Result<Arc<Column>, String>>;

/// What stands under each name of a file, or why it is no column.
type Named<T> = Vec<(String, Result<T, String>)>;

/// All columns of a file, or the field that is wrong and why.
fn load(file: &Path, spec: &TableSpec) -> Result<Columns, (&'static str, String)> {
    let in_file = |e: InputError| ("table.file", e.to_string());
    let extension = file.extension().and_then(|e| e.to_str()).unwrap_or_default().to_lowercase();
    let is_npy = extension == "npy";
    if spec.columns.is_some() != is_npy {
        let accepted = if is_npy { "missing: expected the names of the columns" } else { "only for an .npy" };
        return Err(("table.columns", accepted.to_owned()));
    }
    let named = |reason: String| format!("{}: {reason}", file.display());
    let column = |name: String, width: usize, values: Vec<f64>| {
        (name.clone(), Ok(Arc::new(Column { name, width, values, order: spec.order })))
    };
    let all: Named<Arc<Column>> = match extension.as_str() {
        "npz" => {
            let mut npz = Npz::open(file).map_err(in_file)?;
            let names = npz.names();
            let of = |name: String| match array(&mut npz, &name) {
                Ok((width, values)) => column(name, width, values),
                Err(why) => (name, Err(why)),
            };
            names.into_iter().map(of).collect()
        }
        "npy" => {
            let (shape, values) = input::npy_numbers(file).map_err(in_file)?;
            let names = spec.columns.as_deref().unwrap_or_default();
            let &[rows, width] = &shape[..] else {
                let reason = format!("an array of shape {shape:?}: expected rows and columns");
                return Err(("table.file", named(reason)));
            };
            if names.len() != width || rows == 0 {
                let found = format!("{} names for {rows} rows of {width} columns", names.len());
                return Err(("table.columns", named(format!("{found}: expected a name for each"))));
            }
            let of = |k: usize| values.iter().skip(k).step_by(width).copied().collect();
            names.iter().enumerate().map(|(k, name)| column(name.clone(), 1, of(k))).collect()
        }
        "csv" => {
            let text = input::text(file).map_err(in_file)?;
            let columns = csv(&text).map_err(|reason| ("table.file", named(reason)))?;
            let of = |(name, values)| match values {
                Ok(values) => column(name, 1, values),
                Err(why) => (name, Err(why)),
            };
            columns.into_iter().map(of).collect()
        }
        #[cfg(feature = "parquet")]
        "parquet" => {
            let columns = input::parquet_columns(file).map_err(in_file)?;
            let of = |c: input::ParquetColumn| match c.wrong {
                None => column(c.name, c.width, c.values),
                Some(why) => (c.name, Err(why)),
            };
            columns.into_iter().map(of).collect()
        }
        _ => {
            let accepted = ".npz, .csv, .npy or (with the feature `lerobot`) .parquet";
            return Err(("table.file", named(format!("expected a name that ends in {accepted}"))));
        }
    };
    if all.is_empty() {
        return Err(("table.file", named("has no columns: expected at least one, of numbers".to_owned())));
    }
    let mut columns = Columns::new();
    for (name, content) in all {
        // Empty cells behind a header are no names.
        if !name.is_empty() && columns.contains_key(&name) {
            let field = if is_npy { "table.columns" } else { "table.file" };
            return Err((field, named(format!("column `{name}` is there twice: expected each name once"))));
        }
        columns.insert(name, content);
    }
    Ok(columns)
}

/// Numbers of a row and all numbers of an array of an NPZ file, or why it is no column.
fn array(npz: &mut Npz, name: &str) -> Result<(usize, Vec<f64>), String> {
    let shape = npz.shape(name).map_err(|e| e.to_string())?;
    let width = match shape[..] {
        [rows] if rows > 0 => 1,
        [rows, width] if rows > 0 && width > 0 => width,
        _ => {
            let accepted = "expected [rows], or [rows, numbers] of a signal, with at least one row";
            return Err(format!("an array of shape {shape:?}: {accepted}"));
        }
    };
    Ok((width, npz.numbers(name).map_err(|e| e.to_string())?))
}

/// Names and columns of a CSV; of a column with something else than numbers, what that is.
fn csv(text: &str) -> Result<Named<Vec<f64>>, String> {
    let mut csv = input::Csv::new(text)?;
    if csv.names().is_none() {
        csv.take_first_as_names();
    }
    let names = csv.names().unwrap_or_default().iter().cloned();
    let mut columns: Vec<_> = names.map(|name| (name, Ok(Vec::new()))).collect();
    let mut rows = 0;
    while let Some((line, row)) = csv.row()? {
        rows += 1;
        for ((_, column), value) in columns.iter_mut().zip(row) {
            match (value.parse(), &mut *column) {
                (Ok(number), Ok(numbers)) => numbers.push(number),
                (Err(_), Ok(_)) => *column = Err(format!("line {line} has `{value}`: expected numbers")),
                (_, Err(_)) => {}
            }
        }
    }
    if rows == 0 {
        return Err("no rows: expected a header and one row a contact".to_owned());
    }
    Ok(columns)
}

/// A digest of all columns of numbers, by which a changed file is noticed.
fn digest(columns: &Columns) -> u64 {
    let mut columns: Vec<&Column> = columns.values().flatten().map(Arc::as_ref).collect();
    columns.sort_unstable_by_key(|column| &column.name);
    let mut digest = Digest::default();
    for column in columns {
        digest.text(&column.name);
        digest.counts(&[column.width]);
        digest.numbers(&column.values);
    }
    digest.finish()
}

//! The columns of a file, whatever its format.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bristle::error::ParameterError;
use bristle_scenario::input::{self, Npz, ParquetColumn};

use super::error::RecordingError;
use super::spec::ColumnName;
use super::text::Text;

/// Most names of columns in a message.
const MOST_NAMES: usize = 30;

/// Most columns of an array; each has a name.
const MOST_WIDTH: u64 = 10_000;

/// A file of columns.
pub(super) struct Source {
    path: PathBuf,
    pub names: Vec<String>,
    /// Whether its numbers are in SI units if nothing says otherwise, as by the rules of ROS.
    pub is_si: bool,
    /// Whether all its columns have times of their own.
    pub has_times: bool,
    content: Content,
}

enum Content {
    Text(Text),
    /// The array of each column, its place in a row and the length of a row.
    Arrays(Npz, Vec<(String, usize, usize)>),
    /// Read already, or why it is no column.
    Columns(Vec<Result<Vec<f64>, String>>),
    #[cfg(feature = "mcap")]
    Mcap(super::mcap::Mcap),
}

/// The numbers of a column.
#[derive(Clone)]
pub(super) struct Column {
    /// NaN where there is none.
    pub values: Vec<f64>,
    /// Its own times \[s\], of a file whose columns have them.
    pub times: Option<Arc<Vec<f64>>>,
}

/// The name of a column without a unit in brackets at its end.
fn without_unit(name: &str) -> &str {
    let open = match name.chars().last() {
        Some(']') => name.rfind('['),
        Some(')') => name.rfind('('),
        _ => None,
    };
    open.map_or(name, |open| name[..open].trim_end())
}

impl Source {
    /// Opens a file; its format is told by the end of its name.
    pub(super) fn open(path: &Path) -> Result<Self, RecordingError> {
        let end = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
        let (names, content) = match &*end {
            "csv" | "tsv" | "txt" | "dat" => {
                let text = Text::open(path)?;
                (text.names.clone(), Content::Text(text))
            }
            "npz" => arrays(path)?,
            "npy" => rows(path)?,
            "parquet" => parquet(path)?,
            #[cfg(feature = "mcap")]
            "mcap" => {
                let mcap = super::mcap::Mcap::open(path)?;
                (mcap.names(), Content::Mcap(mcap))
            }
            _ => {
                let accepted = "expected a name that ends in .csv, .tsv, .txt, .npz, .npy, .parquet or .mcap";
                return Err(RecordingError::data(path, accepted));
            }
        };
        #[cfg(feature = "mcap")]
        let is_mcap = matches!(content, Content::Mcap(_));
        #[cfg(not(feature = "mcap"))]
        let is_mcap = false;
        Ok(Self { path: path.to_owned(), names, is_si: is_mcap, has_times: is_mcap, content })
    }

    /// Columns in memory.
    pub(super) fn of_columns(name: &str, columns: Vec<(String, Vec<f64>)>) -> Self {
        let (names, columns): (_, Vec<Vec<f64>>) = columns.into_iter().unzip();
        let content = Content::Columns(columns.into_iter().map(Ok).collect());
        Self { path: name.into(), names, is_si: false, has_times: false, content }
    }

    /// The place of a column; messages call it `field`.
    pub(super) fn find(&self, field: &str, column: &ColumnName) -> Result<usize, RecordingError> {
        let named = match column {
            ColumnName::Number(k) if *k < self.names.len() => return Ok(*k),
            ColumnName::Number(k) => k.to_string(),
            ColumnName::Name(name) => name.trim().to_owned(),
        };
        let of = |is: &dyn Fn(&str) -> bool| -> Vec<usize> {
            (0..self.names.len()).filter(|k| !named.is_empty() && is(&self.names[*k])).collect()
        };
        let start = named.to_lowercase();
        let starts = |name: &str| {
            let name = name.to_lowercase();
            name.starts_with(&start) || name.strip_prefix('/').is_some_and(|name| name.starts_with(&start))
        };
        let mut found = of(&|name| name == named);
        if found.is_empty() {
            found = of(&|name| without_unit(name) == named);
        }
        if found.is_empty() {
            found = of(&starts);
        }
        let accepted = match found[..] {
            [one] if !matches!(column, ColumnName::Number(_)) => return Ok(one),
            [_, ..] if !matches!(column, ColumnName::Number(_)) => {
                format!("one column, not {}: a longer name, or a number from 0", self.list(&found))
            }
            _ => format!("one of {}", self.list(&(0..self.names.len()).collect::<Vec<_>>())),
        };
        Err(RecordingError::column(&self.path, ParameterError::new(format!("{field}.column"), named, accepted)))
    }

    /// Numbers and names of some columns, for messages.
    fn list(&self, columns: &[usize]) -> String {
        let one = |k: &usize| match &*self.names[*k] {
            "" => k.to_string(),
            name => format!("{k} `{name}`"),
        };
        let mut names: Vec<String> = columns.iter().take(MOST_NAMES).map(one).collect();
        if columns.len() > MOST_NAMES {
            names.push(format!("{} more", columns.len() - MOST_NAMES));
        }
        names.join(", ")
    }

    /// Reads the columns `chosen`. `clock` is the column of times of a file whose columns have their own.
    pub(super) fn columns(&mut self, chosen: &[usize], clock: &str) -> Result<Vec<Column>, RecordingError> {
        let path = &self.path;
        let plain = |values: Vec<f64>| Column { values, times: None };
        let columns: Vec<Column> = match &mut self.content {
            Content::Text(text) => {
                let columns = text.columns(chosen).map_err(|reason| RecordingError::data(path, reason))?;
                columns.into_iter().map(plain).collect()
            }
            Content::Arrays(npz, places) => {
                let mut last: Option<(String, Vec<f64>)> = None;
                let mut columns = Vec::new();
                for k in chosen {
                    let (array, place, width) = &places[*k];
                    let numbers = match last.take() {
                        Some((name, numbers)) if name == *array => numbers,
                        _ => npz.numbers(array)?,
                    };
                    columns.push(plain(numbers.iter().skip(*place).step_by(*width).copied().collect()));
                    last = Some((array.clone(), numbers));
                }
                columns
            }
            Content::Columns(all) => {
                let name = |k: usize| if self.names[k].is_empty() { k.to_string() } else { self.names[k].clone() };
                let wrong = |k: usize, why: &str| RecordingError::data(path, format!("column `{}`: {why}", name(k)));
                let one = |k: &usize| all[*k].as_ref().map(|v| plain(v.clone())).map_err(|why| wrong(*k, why));
                chosen.iter().map(one).collect::<Result<_, _>>()?
            }
            #[cfg(feature = "mcap")]
            Content::Mcap(mcap) => {
                let columns = chosen.iter().map(|k| mcap.column(*k, clock)).collect::<Result<_, _>>();
                columns.map_err(|reason| RecordingError::data(path, reason))?
            }
        };
        let _ = clock;
        if let Some(other) = columns.iter().find(|c| c.times.is_none() && c.values.len() != columns[0].values.len()) {
            let (found, first) = (other.values.len(), columns[0].values.len());
            let reason = format!("columns of {found} and {first} numbers: expected the same length");
            return Err(RecordingError::data(path, reason));
        }
        Ok(columns)
    }

    /// What messages call a row.
    pub(super) fn row(&self, row: usize) -> String {
        match &self.content {
            Content::Text(text) => format!("line {}", text.line(row)),
            _ => format!("row {row} (from 0)"),
        }
    }
}

fn arrays(path: &Path) -> Result<(Vec<String>, Content), RecordingError> {
    let mut npz = Npz::open(path)?;
    let (mut names, mut places) = (Vec::new(), Vec::new());
    for array in npz.names() {
        // What is neither a column nor a table of some has no name here.
        match npz.shape(&array).as_deref() {
            Ok(&[_]) => {
                names.push(array.clone());
                places.push((array, 0, 1));
            }
            Ok(&[rows, width]) if rows > 0 && width as u64 <= MOST_WIDTH => {
                names.extend((0..width).map(|k| format!("{array}.{k}")));
                places.extend((0..width).map(|k| (array.clone(), k, width)));
            }
            _ => {}
        }
    }
    if names.is_empty() {
        return Err(RecordingError::data(path, "no arrays of numbers: expected shapes [rows] or [rows, columns]"));
    }
    Ok((names, Content::Arrays(npz, places)))
}

fn rows(path: &Path) -> Result<(Vec<String>, Content), RecordingError> {
    let (shape, numbers) = input::npy_numbers(path)?;
    let width = match shape[..] {
        [_] => 1,
        [_, width] if width > 0 && width as u64 <= MOST_WIDTH => width,
        _ => {
            let accepted = format!("expected [rows] or [rows, columns], with at most {MOST_WIDTH} columns");
            let reason = format!("an array of shape {shape:?}: {accepted}");
            return Err(RecordingError::data(path, reason));
        }
    };
    if numbers.len() < width {
        return Err(RecordingError::data(path, "no rows: expected numbers"));
    }
    let column = |k: usize| Ok(numbers.iter().skip(k).step_by(width).copied().collect());
    Ok((vec![String::new(); width], Content::Columns((0..width).map(column).collect())))
}

fn parquet(path: &Path) -> Result<(Vec<String>, Content), RecordingError> {
    let (mut names, mut columns) = (Vec::new(), Vec::new());
    for ParquetColumn { name, width, values, wrong } in input::parquet_columns(path)? {
        if wrong.is_some() || width == 1 {
            names.push(name);
            columns.push(wrong.map_or(Ok(values), Err));
            continue;
        }
        for k in 0..width {
            names.push(format!("{name}.{k}"));
            columns.push(Ok(values.iter().skip(k).step_by(width).copied().collect()));
        }
    }
    Ok((names, Content::Columns(columns)))
}

//! Reads arrays of numbers from a user's files: `.npy`, `.csv`, and arrays inside an `.npz`.

use std::path::{Path, PathBuf};

use bristle::error::PatchError;
use bristle_scenario::input::{self, Csv, Npz};

/// An array of real numbers, the last axis fastest.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    /// What errors call it.
    pub name: String,
    /// Lengths along the axes.
    pub shape: Vec<usize>,
    /// The numbers.
    pub values: Vec<f64>,
}

impl Array {
    /// Reads `FILE.npy`, `FILE.npz:NAME` (the array NAME of the archive) or `FILE.csv`. A CSV has the columns
    /// `columns`, in any order and among others if it has a header that names them, else just these; its
    /// shape is [rows, columns]. Lines that begin with `#` are comments; the last before the first row may be
    /// the header, as `numpy.savetxt` writes it.
    ///
    /// # Errors
    /// A file that cannot be read, or is no such array.
    pub fn read(source: &str, columns: &[&str]) -> Result<Self, PatchError> {
        let (path, inside) = match source.rsplit_once(".npz:") {
            Some((stem, inside)) => (PathBuf::from(format!("{stem}.npz")), Some(inside)),
            None => (PathBuf::from(source), None),
        };
        let ending = path.extension().and_then(|e| e.to_str()).unwrap_or_default().to_lowercase();
        let (shape, values) = match (ending.as_str(), inside) {
            ("npz", Some(inside)) => {
                let mut file = Npz::open(&path)?;
                (file.shape(inside)?, file.numbers(inside)?)
            }
            ("npz", None) => {
                let names = Npz::open(&path)?.names().join(", ");
                return Err(wrong(&path, format!("expected {source}:NAME, with one of its arrays: {names}")));
            }
            ("npy", _) => input::npy_numbers(&path)?,
            ("csv", _) => csv(&path, columns)?,
            _ => return Err(wrong(&path, "expected a name that ends in .npy or .csv, or FILE.npz:NAME".to_owned())),
        };
        Ok(Self { name: source.to_owned(), shape, values })
    }

    /// Whether a text names a file that arrays are read from.
    pub fn is_source(text: &str) -> bool {
        let text = text.to_lowercase();
        [".npy", ".csv", ".npz"].iter().any(|ending| text.ends_with(ending)) || text.contains(".npz:")
    }

    /// An error about this array.
    pub fn wrong(&self, reason: String) -> PatchError {
        wrong(Path::new(&self.name), reason)
    }
}

fn wrong(path: &Path, reason: String) -> PatchError {
    PatchError::File { path: path.to_owned(), reason }
}

/// The columns of a CSV, as [rows, columns].
fn csv(path: &Path, columns: &[&str]) -> Result<(Vec<usize>, Vec<f64>), PatchError> {
    let text = input::text(path)?;
    let failed = |reason: String| wrong(path, reason);
    let mut csv = Csv::new(&text).map_err(failed)?;
    let (expected, line) = (format!("expected {}", columns.join(", ")), csv.first_line());
    let place = |name: &&str| csv.names()?.iter().position(|known| known == *name);
    let named: Option<Vec<usize>> = columns.iter().map(place).collect();
    let places = match (named, csv.names()) {
        (Some(places), _) => places,
        (None, Some(names)) if !csv.is_named_above() => {
            return Err(failed(format!("line {line}: the header `{}`: {expected}", names.join(", "))));
        }
        // What stands above may be about anything.
        (None, _) if [0, columns.len()].contains(&csv.columns()) => (0..columns.len()).collect(),
        (None, _) => {
            return Err(failed(format!("line {line}: {} columns without a header: {expected}", csv.columns())));
        }
    };
    let mut values = Vec::new();
    while let Some((line, row)) = csv.row().map_err(failed)? {
        for (place, name) in places.iter().zip(columns) {
            let text = row.get(*place).unwrap_or_default();
            let value = text.parse().map_err(|_| {
                failed(format!("line {line}, column {name}: `{text}` is no number: expected a finite number"))
            })?;
            values.push(value);
        }
    }
    Ok((vec![values.len() / columns.len(), columns.len()], values))
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use npyz::WriterBuilder;

    use super::*;

    fn read(path: &Path, columns: &[&str]) -> Result<(Vec<usize>, Vec<f64>), String> {
        Array::read(path.to_str().unwrap(), columns).map(|a| (a.shape, a.values)).map_err(|e| e.to_string())
    }

    #[test]
    fn an_npy_is_read_in_either_order_and_of_any_type() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.npy");
        let value = |i: usize, j: usize, k: usize| (100 * i + 10 * j + k) as f32;
        let mut wanted = Vec::new();
        let mut reversed = Vec::new();
        for a in 0..24 {
            let [i, j, k] = [a / 12, a / 4 % 3, a % 4];
            wanted.push(value(i, j, k));
            let [i, j, k] = [a % 2, a / 2 % 3, a / 6];
            reversed.push(value(i, j, k));
        }
        for (order, values) in [(npyz::Order::C, &wanted), (npyz::Order::Fortran, &reversed)] {
            let options = npyz::WriteOptions::new().default_dtype().order(order).shape(&[2, 3, 4]);
            let mut writer = options.writer(File::create(&path).unwrap()).begin_nd().unwrap();
            writer.extend(values.iter().copied()).unwrap();
            writer.finish().unwrap();
            let wanted = wanted.iter().map(|v| f64::from(*v)).collect();
            assert_eq!(read(&path, &[]).unwrap(), (vec![2, 3, 4], wanted), "{order:?}");
        }
        let text = "{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296), }\n";
        let length = (text.len() as u16).to_le_bytes();
        std::fs::write(&path, [&b"\x93NUMPY\x01\x00"[..], &length, text.as_bytes()].concat()).unwrap();
        assert!(read(&path, &[]).unwrap_err().contains("the file ends before it"));
    }

    #[test]
    fn a_csv_has_a_header_or_just_its_columns() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.csv");
        let of = |text: &str| {
            std::fs::write(&path, text).unwrap();
            read(&path, &["fx", "fy"])
        };
        assert_eq!(of("# made by hand\n1, 2\n-3e-1,nan\n").unwrap().1[..3], [1.0, 2.0, -0.3]);
        assert_eq!(of("fy,tau,fx\n1,2,3\n4,5,6\n").unwrap(), (vec![2, 2], vec![3.0, 1.0, 6.0, 4.0]));
        assert_eq!(of("# fy,tau,fx\n1,2,3\n4,5,6\n").unwrap(), (vec![2, 2], vec![3.0, 1.0, 6.0, 4.0]));
        assert_eq!(of("# by hand, on Monday\n1,2\n").unwrap(), (vec![1, 2], vec![1.0, 2.0]));
        assert_eq!(of("").unwrap(), (vec![0, 2], vec![]));
        for (text, part) in [
            ("1,2,3\n", "line 1: 3 columns without a header: expected fx, fy"),
            ("fx,tau\n1,2\n", "line 1: the header `fx, tau`: expected fx, fy"),
            ("# by hand, on Monday, x\n1,2,3\n", "line 2: 3 columns without a header: expected fx, fy"),
            ("fx;fy\n1;2\n", "line 1: columns separated by semicolons (`;`): expected commas"),
            ("fx,fy\n1,2\n3,x\n", "line 3, column fy: `x` is no number"),
            ("1,2\n3\n", "line 2: 1 cells: expected 2"),
        ] {
            let message = of(text).unwrap_err();
            assert!(message.contains(part) && message.contains("a.csv"), "{message}");
        }
    }
}

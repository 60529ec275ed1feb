//! Tables of Parquet, as pandas and pyarrow write them: columns of numbers, and of lists of numbers that are
//! equally long in all rows.

use std::path::Path;

use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;

use super::{InputError, MAX_BYTES, open};

/// Most characters of a field in a message.
const MOST_SHOWN: usize = 40;

/// A column of a table.
pub struct ParquetColumn {
    /// Its name.
    pub name: String,
    /// Numbers of a row.
    pub width: usize,
    /// The numbers, row after row; NaN where there is none.
    pub values: Vec<f64>,
    /// Why it is no column of numbers, if it is none.
    pub wrong: Option<String>,
}

/// The columns of a file. One of anything but numbers, or of lists whose length differs from row to row, says
/// so.
///
/// # Errors
/// A file that cannot be read, has no rows or too many numbers.
pub fn parquet_columns(path: &Path) -> Result<Vec<ParquetColumn>, InputError> {
    let failed = |e: ParquetError| InputError::file(path, format!("{e}: expected Parquet, as it is or with Snappy"));
    let reader = SerializedFileReader::new(open(path)?.into_inner()).map_err(failed)?;
    let mut columns: Vec<ParquetColumn> = Vec::new();
    let mut count = 0;
    for (row, record) in reader.get_row_iter(None).map_err(failed)?.enumerate() {
        let record = record.map_err(failed)?;
        for (k, (name, field)) in record.get_column_iter().enumerate() {
            if row == 0 {
                columns.push(ParquetColumn { name: name.clone(), width: 0, values: Vec::new(), wrong: None });
            }
            let column = &mut columns[k];
            if column.wrong.is_some() {
                continue;
            }
            let width = if row > 0 && matches!(field, Field::Null) {
                column.values.extend(std::iter::repeat_n(f64::NAN, column.width));
                column.width
            } else {
                append(field, &mut column.values)
            };
            if width == 0 {
                let found: String = field.to_string().chars().take(MOST_SHOWN).collect();
                column.wrong = Some(format!("row {row} is {found}: expected numbers, or lists of numbers"));
            } else if row == 0 {
                column.width = width;
            } else if width != column.width {
                let expected = format!("expected {}, as in row 0", column.width);
                column.wrong = Some(format!("row {row} has {width} numbers: {expected}"));
            }
            count += width as u64;
        }
        if count > MAX_BYTES / 8 {
            return Err(InputError::file(path, format!("more than {} numbers", MAX_BYTES / 8)));
        }
    }
    if columns.is_empty() {
        return Err(InputError::file(path, "no rows: expected one row a contact"));
    }
    Ok(columns)
}

/// Appends the numbers of a field to `values`; returns how many, 0 for what is no number.
fn append(field: &Field, values: &mut Vec<f64>) -> usize {
    if let Field::ListInternal(list) = field {
        return list.elements().iter().map(|element| append(element, values)).sum();
    }
    let Some(value) = number(field) else { return 0 };
    values.push(value);
    1
}

fn number(field: &Field) -> Option<f64> {
    Some(match *field {
        Field::Null => f64::NAN,
        Field::Bool(v) => f64::from(u8::from(v)),
        Field::Byte(v) => f64::from(v),
        Field::Short(v) => f64::from(v),
        Field::Int(v) => f64::from(v),
        Field::Long(v) => v as f64,
        Field::UByte(v) => f64::from(v),
        Field::UShort(v) => f64::from(v),
        Field::UInt(v) => f64::from(v),
        Field::ULong(v) => v as f64,
        Field::Float16(v) => f64::from(v),
        Field::Float(v) => f64::from(v),
        Field::Double(v) => v,
        _ => return None,
    })
}

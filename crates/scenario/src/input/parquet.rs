//! Tables of Parquet, as pandas and pyarrow write them: columns of numbers, and of lists of numbers that are
//! equally long in all rows.

use std::panic::catch_unwind;
use std::path::Path;

use parquet::basic::Type as Physical;
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, RowGroupMetaData};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use parquet::schema::types::Type;

use super::{InputError, MAX_BYTES, open};
use bristle::quote::within;

/// Most characters of a field in a message.
const MOST_SHOWN: usize = 40;

/// Numbers that a file may hold whatever its length, and how many more for each of its bytes: what repeats
/// takes next to none, and a small file could hold more than there is time and memory for.
const NUMBERS: [u64; 2] = [1 << 22, 4];

/// Bytes that a file may be once it is not compressed, in the same way; Snappy makes 22 of one at most.
const BYTES: [u64; 2] = [1 << 26, 32];

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
    // The library panics at some bytes that no writer makes, as where a page has a dictionary's indices and
    // no dictionary. It leaves nothing behind that is used again.
    let damaged = |_| Err(InputError::file(path, "is damaged: expected Parquet, as it is or with Snappy"));
    catch_unwind(|| columns(path)).unwrap_or_else(damaged)
}

fn columns(path: &Path) -> Result<Vec<ParquetColumn>, InputError> {
    let failed = |e: ParquetError| InputError::file(path, format!("{e}: expected Parquet, as it is or with Snappy"));
    let file = open(path)?;
    let length = super::length(path, &file)?;
    let reader = SerializedFileReader::new(file.into_inner()).map_err(failed)?;
    let most = check(reader.metadata(), length).map_err(|reason| InputError::file(path, reason))?;
    let mut columns: Vec<ParquetColumn> = Vec::new();
    // Text is read of the first row alone: of the others it may take any time, and is no number anyway.
    let (numeric, is_read) = without_text(reader.metadata());
    if let Some(first) = reader.get_row_iter(None).map_err(failed)?.next() {
        for ((name, field), is_read) in first.map_err(failed)?.get_column_iter().zip(&is_read) {
            let text = field.to_string();
            let found = if matches!(field, Field::Null) { "text".into() } else { within(&text, MOST_SHOWN) };
            let wrong = (!is_read).then(|| format!("row 0 is {found}: expected numbers, or lists of numbers"));
            columns.push(ParquetColumn { name: name.clone(), width: 0, values: Vec::new(), wrong });
        }
    }
    let places: Vec<usize> = is_read.iter().enumerate().filter_map(|(k, is_read)| is_read.then_some(k)).collect();
    let mut count = 0;
    let rows = if places.is_empty() { None } else { Some(reader.get_row_iter(Some(numeric)).map_err(failed)?) };
    for (row, record) in rows.into_iter().flatten().enumerate() {
        let record = record.map_err(failed)?;
        for ((_, field), k) in record.get_column_iter().zip(&places) {
            let column = &mut columns[*k];
            count += 1;
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
                let found = within(&field.to_string(), MOST_SHOWN).into_owned();
                column.wrong = Some(format!("row {row} is {found}: expected numbers, or lists of numbers"));
            } else if row == 0 {
                column.width = width;
            } else if width != column.width {
                let expected = format!("expected {}, as in row 0", column.width);
                column.wrong = Some(format!("row {row} has {width} numbers: {expected}"));
            }
            count += width.saturating_sub(1) as u64;
        }
        if count > most {
            return Err(InputError::file(path, format!("more than {most} numbers in {length} bytes")));
        }
    }
    if columns.is_empty() {
        return Err(InputError::file(path, "no rows: expected one at least"));
    }
    Ok(columns)
}

/// Most numbers that may be read from a file of so many bytes, if what it says of itself is within that.
fn check(metadata: &ParquetMetaData, length: u64) -> Result<u64, String> {
    let chunks = || metadata.row_groups().iter().flat_map(RowGroupMetaData::columns);
    let sum = |of: &dyn Fn(&ColumnChunkMetaData) -> i64| {
        chunks().fold(0u64, |sum, chunk| sum.saturating_add(of(chunk).max(0).unsigned_abs()))
    };
    let limit = |[free, each]: [u64; 2]| free.saturating_add(each.saturating_mul(length));
    let most = limit(NUMBERS).min(MAX_BYTES / 8);
    let rows = metadata.file_metadata().num_rows().max(0).unsigned_abs();
    let numbers = sum(&|chunk| chunk.num_values()).max(rows);
    if numbers > most {
        let accepted = format!("expected at most {most}, for that many bytes; an .npz has no such limit");
        return Err(format!("{numbers} numbers in {length} bytes: {accepted}"));
    }
    let (bytes, most_bytes) = (sum(&|chunk| chunk.uncompressed_size()), limit(BYTES));
    if bytes > most_bytes {
        return Err(format!("{bytes} bytes from {length} compressed ones: expected at most {most_bytes}"));
    }
    Ok(most)
}

/// The schema without the columns that hold text or bytes, and which columns it has.
fn without_text(metadata: &ParquetMetaData) -> (Type, Vec<bool>) {
    let schema = metadata.file_metadata().schema_descr();
    let root = schema.root_schema();
    let mut is_read = vec![true; root.get_fields().len()];
    for (leaf, column) in schema.columns().iter().enumerate() {
        let is_text = match column.physical_type() {
            Physical::BYTE_ARRAY => true,
            // Numbers of 16 bits are of this type.
            Physical::FIXED_LEN_BYTE_ARRAY => column.type_length() > 2,
            _ => false,
        };
        if is_text {
            is_read[schema.get_column_root_idx(leaf)] = false;
        }
    }
    let fields = root.get_fields().iter().zip(&is_read).filter(|(_, is_read)| **is_read);
    let fields = fields.map(|(field, _)| field.clone()).collect();
    let numeric = Type::group_type_builder(root.name()).with_fields(fields).build();
    (numeric.expect("a part of a schema that is one"), is_read)
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

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::sync::Arc;

    use parquet::data_type::{ByteArray, ByteArrayType, DoubleType};
    use parquet::file::properties::WriterProperties;
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::parser::parse_message_type;

    use super::*;

    /// A file of so many rows: `mass` is 0.5 in all, and `name` a text of so many bytes, the same in all.
    fn written(path: &Path, rows: usize, text: usize) {
        let schema = "message table { REQUIRED DOUBLE mass; REQUIRED BYTE_ARRAY name (UTF8); }";
        let properties = Arc::new(WriterProperties::builder().build());
        let schema = Arc::new(parse_message_type(schema).unwrap());
        let mut writer = SerializedFileWriter::new(File::create(path).unwrap(), schema, properties).unwrap();
        let mut group = writer.next_row_group().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        for _ in 0..rows / 1000 {
            column.typed::<DoubleType>().write_batch(&[0.5; 1000], None, None).unwrap();
        }
        column.close().unwrap();
        let (name, mut column) = (ByteArray::from(vec![b'x'; text]), group.next_column().unwrap().unwrap());
        for _ in 0..rows / 1000 {
            column.typed::<ByteArrayType>().write_batch(&vec![name.clone(); 1000], None, None).unwrap();
        }
        column.close().unwrap();
        group.close().unwrap();
        writer.close().unwrap();
    }

    /// What repeats takes next to no space: such a file says how much it is, and is refused before that.
    #[test]
    fn a_small_file_of_very_many_numbers_is_refused_before_it_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("many.parquet");
        written(&path, 3_000_000, 1);
        assert!(std::fs::metadata(&path).unwrap().len() < 100_000);
        let message = parquet_columns(&path).map(drop).unwrap_err().to_string();
        assert!(message.contains("6000000 numbers in ") && message.contains("expected at most 4"), "{message}");
    }

    /// A text that stands in all rows is stored once, and would be copied for each of them.
    #[test]
    fn text_is_not_read_beyond_the_first_row() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("text.parquet");
        written(&path, 5_000, 20_000);
        let columns = parquet_columns(&path).unwrap();
        assert_eq!((columns[0].values.len(), columns[0].width, columns[0].values[4_999]), (5_000, 1, 0.5));
        let wrong = columns[1].wrong.as_ref().unwrap();
        assert!(wrong.starts_with("row 0 is \"xxx") && wrong.len() < 100, "{wrong}");
    }
}

//! Writes Parquet files: columns of numbers, text and vectors, one row group after the other.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{Compression, ConvertedType, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, FloatType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type;

use super::super::error::{RolloutError, io};
use crate::disk;

/// The values of a column in a row group.
pub(super) enum Values {
    Bool(Vec<bool>),
    I64(Vec<i64>),
    F32(Vec<f32>),
    F64(Vec<f64>),
    Text(Vec<String>),
    /// Arrays of that shape, row after row: vectors, images.
    F32s(Vec<f32>, Vec<usize>),
    /// A list with one text in every row.
    TextList(Vec<String>),
}

/// A column of a row group.
pub(super) struct Column {
    pub name: String,
    pub values: Values,
}

impl Column {
    pub fn new(name: impl Into<String>, values: Values) -> Self {
        Self { name: name.into(), values }
    }

    /// Its type in the file, as `pyarrow` would write it.
    fn field(&self) -> Result<Type, ParquetError> {
        let primitive = |name: &str, physical| {
            let field = Type::primitive_type_builder(name, physical).with_repetition(Repetition::OPTIONAL);
            if physical != Physical::BYTE_ARRAY {
                return field.build();
            }
            field.with_converted_type(ConvertedType::UTF8).with_logical_type(Some(LogicalType::String)).build()
        };
        // Lists in lists, as many as the array has axes.
        let list = |physical, axes: usize| {
            let mut of = primitive("element", physical)?;
            for axis in 0..axes {
                let name = if axis + 1 == axes { &self.name } else { "element" };
                let list = Type::group_type_builder("list").with_repetition(Repetition::REPEATED);
                of = Type::group_type_builder(name)
                    .with_repetition(Repetition::OPTIONAL)
                    .with_converted_type(ConvertedType::LIST)
                    .with_logical_type(Some(LogicalType::List))
                    .with_fields(vec![Arc::new(list.with_fields(vec![Arc::new(of)]).build()?)])
                    .build()?;
            }
            Ok(of)
        };
        match &self.values {
            Values::Bool(_) => primitive(&self.name, Physical::BOOLEAN),
            Values::I64(_) => primitive(&self.name, Physical::INT64),
            Values::F32(_) => primitive(&self.name, Physical::FLOAT),
            Values::F64(_) => primitive(&self.name, Physical::DOUBLE),
            Values::Text(_) => primitive(&self.name, Physical::BYTE_ARRAY),
            Values::F32s(_, shape) => list(Physical::FLOAT, shape.len()),
            Values::TextList(_) => list(Physical::BYTE_ARRAY, 1),
        }
    }

    fn write(&self, to: &mut SerializedColumnWriter<'_>) -> Result<(), ParquetError> {
        // Every value is there: levels are the highest. The first item of a list has the repetition level 0.
        let here = |n: usize| vec![1; n];
        let text = |all: &[String]| all.iter().map(|t| ByteArray::from(t.as_str())).collect::<Vec<_>>();
        match &self.values {
            Values::Bool(v) => to.typed::<BoolType>().write_batch(v, Some(&here(v.len())), None)?,
            Values::I64(v) => to.typed::<Int64Type>().write_batch(v, Some(&here(v.len())), None)?,
            Values::F32(v) => to.typed::<FloatType>().write_batch(v, Some(&here(v.len())), None)?,
            Values::F64(v) => to.typed::<DoubleType>().write_batch(v, Some(&here(v.len())), None)?,
            Values::Text(v) => to.typed::<ByteArrayType>().write_batch(&text(v), Some(&here(v.len())), None)?,
            Values::F32s(v, shape) => {
                let repetition: Vec<i16> = (0..v.len()).map(|i| repetition(i, shape)).collect();
                // Each list and its element may be missing.
                let there = 1 + 2 * shape.len() as i16;
                to.typed::<FloatType>().write_batch(v, Some(&vec![there; v.len()]), Some(&repetition))?
            }
            Values::TextList(v) => {
                let (there, first) = (vec![3; v.len()], vec![0; v.len()]);
                to.typed::<ByteArrayType>().write_batch(&text(v), Some(&there), Some(&first))?
            }
        };
        Ok(())
    }
}

/// The repetition level of number `i` of arrays of that shape: how many lists go on that began before it.
fn repetition(i: usize, shape: &[usize]) -> i16 {
    let mut size = 1;
    let ended = shape.iter().rev().take_while(|n| (size *= **n, i.is_multiple_of(size)).1).count();
    (shape.len() - ended) as i16
}

/// Writes the Parquet file `path`, which appears when it is complete, of the row groups that `groups` gives;
/// all have the same columns, and there is one at least. `metadata` is that of the file.
pub(super) fn write(
    path: &Path,
    metadata: Option<(&str, String)>,
    groups: impl Iterator<Item = Result<Vec<Column>, RolloutError>>,
) -> Result<(), RolloutError> {
    let mut failed = None;
    let done = disk::appear(path, |file| {
        let groups = groups.map_while(|group| group.map_err(|e| failed = Some(e)).ok());
        write_groups(file, metadata, groups).map_err(std::io::Error::other)?;
        // A file without all of its groups does not appear.
        if failed.is_some() { Err(std::io::ErrorKind::Interrupted.into()) } else { Ok(()) }
    });
    failed.map_or_else(|| done.map_err(io(path)), Err)
}

fn write_groups(
    file: &File,
    metadata: Option<(&str, String)>,
    mut groups: impl Iterator<Item = Vec<Column>>,
) -> Result<(), ParquetError> {
    // A failure to make the first group is reported by the caller.
    let Some(first) = groups.next() else { return Ok(()) };
    let fields = first.iter().map(|column| column.field().map(Arc::new)).collect::<Result<_, _>>()?;
    let schema = Arc::new(Type::group_type_builder("schema").with_fields(fields).build()?);
    let metadata = metadata.map(|(key, value)| vec![KeyValue::new(key.to_owned(), value)]);
    let properties = WriterProperties::builder()
        .set_created_by(concat!("bristle ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_compression(Compression::SNAPPY)
        .set_dictionary_enabled(false)
        .set_key_value_metadata(metadata)
        .build();
    let mut writer = SerializedFileWriter::new(file, schema, Arc::new(properties))?;
    for group in std::iter::once(first).chain(groups) {
        let mut rows = writer.next_row_group()?;
        for column in &group {
            let mut to = rows.next_column()?.ok_or_else(|| ParquetError::General("fewer columns".to_owned()))?;
            column.write(&mut to)?;
            to.close()?;
        }
        rows.close()?;
    }
    writer.close().map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_begin_where_arrays_and_their_rows_do() {
        let levels = |n: usize, shape: &[usize]| (0..n).map(|i| repetition(i, shape)).collect::<Vec<_>>();
        assert_eq!(levels(6, &[3]), [0, 1, 1, 0, 1, 1]);
        assert_eq!(levels(8, &[2, 2]), [0, 2, 1, 2, 0, 2, 1, 2]);
        assert_eq!(levels(9, &[2, 1, 2]), [0, 3, 1, 3, 0, 3, 1, 3, 0]);
    }
}

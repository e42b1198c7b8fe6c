//! Tables as Apache Parquet: numbers are INT64, names are strings.

use std::fs::File;
use std::io;
use std::sync::Arc;

use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{Type, TypePtr};

use super::table::{Column, Table, Values};

/// Writes a table into one row group; without rows, into none.
pub fn write(table: &Table, file: File) -> io::Result<()> {
    write_groups(table, file).map_err(io::Error::other)
}

fn write_groups(table: &Table, file: File) -> Result<(), ParquetError> {
    let fields: Result<_, _> = table.columns.iter().map(field).collect();
    let schema = Type::group_type_builder(table.name).with_fields(fields?).build()?;
    let properties = WriterProperties::builder().build();
    let mut writer = SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties))?;
    if table.rows() > 0 {
        let mut group = writer.next_row_group()?;
        for column in &table.columns {
            let Some(mut out) = group.next_column()? else {
                return Err(ParquetError::General(format!("no column {}", column.name)));
            };
            match &column.values {
                Values::Numbers(values) => {
                    let values: Vec<i64> = values.iter().map(|&value| value as i64).collect();
                    out.typed::<Int64Type>().write_batch(&values, None, None)?;
                }
                Values::MaybeNumbers(values) => {
                    let known: Vec<i64> =
                        values.iter().flatten().map(|&value| value as i64).collect();
                    let levels: Vec<i16> =
                        values.iter().map(|value| i16::from(value.is_some())).collect();
                    out.typed::<Int64Type>().write_batch(&known, Some(&levels), None)?;
                }
                Values::Names(values) => {
                    let values: Vec<ByteArray> =
                        values.iter().map(|value| value.as_str().into()).collect();
                    out.typed::<ByteArrayType>().write_batch(&values, None, None)?;
                }
            }
            out.close()?;
        }
        group.close()?;
    }
    writer.close()?;
    Ok(())
}

fn field(column: &Column) -> Result<TypePtr, ParquetError> {
    let (physical, logical, repetition) = match column.values {
        Values::Numbers(_) => (Physical::INT64, None, Repetition::REQUIRED),
        Values::MaybeNumbers(_) => (Physical::INT64, None, Repetition::OPTIONAL),
        Values::Names(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String), Repetition::REQUIRED),
    };
    let field = Type::primitive_type_builder(column.name, physical)
        .with_logical_type(logical)
        .with_repetition(repetition);
    Ok(Arc::new(field.build()?))
}

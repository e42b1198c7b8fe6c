//! The table of all systems as a Parquet file: the same to the byte for the same experiment.
//!
//! A row is a system, in the order of points and then of systems. Its columns are `point`, the
//! parameters of the grid, `system`, and the columns of results. The metadata has the experiment.

use std::fs::{File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::record::Field;
use parquet::schema::types::{PrimitiveTypeBuilder, Type, TypePtr};

use crate::{Cell, Error, Experiment, Journal, SOURCES, Scalar, Shard, shard};

/// Rows of a row group.
const GROUP: usize = 1 << 16;

/// The key of the experiment in the metadata.
const EXPERIMENT: &str = "bulkhead.experiment";
/// The key of [`SOURCES`].
const VERSION: &str = "bulkhead.sources";

/// One row: its point and system, and its results.
type Row<'a> = (usize, u64, &'a [Cell]);

/// Writes the table of a finished journal, all of it or nothing.
pub fn write(path: &Path, experiment: &Experiment, journal: &Journal) -> Result<(), Error> {
    let failed = |error: std::io::Error| Error::Table(format!("{}: {error}", path.display()));
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new()
        .prefix(".bulkhead-")
        .permissions(Permissions::from_mode(0o644))
        .tempfile_in(folder)
        .map_err(failed)?;
    let mut rows: Vec<Row<'_>> = Vec::new();
    for it in journal.shards() {
        let (point, indices) = shard::place(experiment, it.number())?;
        rows.extend(indices.zip(it.rows()).map(|(index, row)| (point, index, &**row)));
    }
    fill(&mut file, experiment, &rows)
        .map_err(|error| Error::Table(format!("{}: {error}", path.display())))?;
    file.persist(path).map_err(|error| failed(error.error))?;
    Ok(())
}

/// Returns the text of the experiment that a table is of, if the file has one.
pub fn experiment(path: &Path) -> Option<String> {
    about(&SerializedFileReader::new(File::open(path).ok()?).ok()?, EXPERIMENT)
}

/// Returns the shards of a table of this experiment; `None` if another version of this program has
/// computed it, or it is not whole.
pub fn shards(path: &Path, experiment: &Experiment) -> Option<Vec<Shard>> {
    let reader = SerializedFileReader::new(File::open(path).ok()?).ok()?;
    if about(&reader, VERSION)? != SOURCES {
        return None;
    }
    let mut rows = reader.get_row_iter(None).ok()?;
    // Behind the point, the parameters and the number of the system.
    let before = experiment.parameters().len() + 2;
    let mut row = || -> Option<Vec<Cell>> {
        let row = rows.next()?.ok()?;
        row.get_column_iter().skip(before).map(|(_, field)| cell(field)).collect()
    };
    let mut shards = Vec::new();
    for number in 0..experiment.shards() {
        let (_, indices) = shard::place(experiment, number).ok()?;
        let rows = indices.map(|_| row()).collect::<Option<_>>()?;
        shards.push(Shard::new(experiment, number, rows).ok()?);
    }
    rows.next().is_none().then_some(shards)
}

fn cell(field: &Field) -> Option<Cell> {
    match *field {
        Field::Null => Some(Cell::Missing),
        Field::Bool(value) => Some(Cell::Bool(value)),
        Field::Long(value) => Some(Cell::Int(value)),
        _ => None,
    }
}

/// Returns a value of the metadata.
fn about(reader: &SerializedFileReader<File>, key: &str) -> Option<String> {
    let pairs = reader.metadata().file_metadata().key_value_metadata()?;
    pairs.iter().find(|pair| pair.key == key)?.value.clone()
}

fn fill(
    file: &mut tempfile::NamedTempFile,
    experiment: &Experiment,
    rows: &[Row<'_>],
) -> Result<(), ParquetError> {
    let about = |key: &str, value: &str| KeyValue::new(key.to_owned(), value.to_owned());
    let metadata = vec![about(EXPERIMENT, experiment.text()), about(VERSION, SOURCES)];
    let properties = WriterProperties::builder()
        .set_created_by(concat!("bulkhead ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_key_value_metadata(Some(metadata))
        .build();
    let mut writer =
        SerializedFileWriter::new(file.as_file_mut(), schema(experiment)?, Arc::new(properties))?;
    for rows in rows.chunks(GROUP) {
        let mut group = writer.next_row_group()?;
        let parameters = experiment.parameters().len();
        let mut number = 0;
        while let Some(mut column) = group.next_column()? {
            let of_column = column.untyped();
            match number {
                0 => ints(of_column, rows.iter().map(|row| row.0 as i64))?,
                _ if number <= parameters => {
                    let values =
                        rows.iter().map(|row| &experiment.points()[row.0].values()[number - 1]);
                    scalars(of_column, values)?;
                }
                _ if number == parameters + 1 => {
                    ints(of_column, rows.iter().map(|row| row.1 as i64))?
                }
                _ => {
                    let place = number - parameters - 2;
                    cells(of_column, rows.iter().map(|row| row.2[place]))?;
                }
            }
            column.close()?;
            number += 1;
        }
        group.close()?;
    }
    writer.close()?;
    Ok(())
}

fn schema(experiment: &Experiment) -> Result<TypePtr, ParquetError> {
    fn required(name: &str, physical: Physical) -> PrimitiveTypeBuilder<'_> {
        Type::primitive_type_builder(name, physical).with_repetition(Repetition::REQUIRED)
    }
    let mut fields = vec![required("point", Physical::INT64).build()?];
    for (place, name) in experiment.parameters().iter().enumerate() {
        let first = experiment.points().first().and_then(|point| point.values().get(place));
        let builder = match first {
            Some(Scalar::Real(_)) => required(name, Physical::DOUBLE),
            Some(Scalar::Text(_)) => {
                required(name, Physical::BYTE_ARRAY).with_logical_type(Some(LogicalType::String))
            }
            _ => required(name, Physical::INT64),
        };
        fields.push(builder.build()?);
    }
    fields.push(required("system", Physical::INT64).build()?);
    for it in experiment.columns() {
        let physical = if it.is_bool() { Physical::BOOLEAN } else { Physical::INT64 };
        let builder = Type::primitive_type_builder(&it.name, physical);
        fields.push(builder.with_repetition(Repetition::OPTIONAL).build()?);
    }
    let fields = fields.into_iter().map(Arc::new).collect();
    Ok(Arc::new(Type::group_type_builder("system").with_fields(fields).build()?))
}

fn ints(
    column: &mut ColumnWriter<'_>,
    values: impl Iterator<Item = i64>,
) -> Result<(), ParquetError> {
    if let ColumnWriter::Int64ColumnWriter(column) = column {
        column.write_batch(&values.collect::<Vec<_>>(), None, None)?;
    }
    Ok(())
}

fn scalars<'a>(
    column: &mut ColumnWriter<'_>,
    values: impl Iterator<Item = &'a Scalar>,
) -> Result<(), ParquetError> {
    match column {
        ColumnWriter::DoubleColumnWriter(column) => {
            let values: Vec<f64> = values.filter_map(|value| value.real().ok()).collect();
            column.write_batch(&values, None, None)?;
        }
        ColumnWriter::ByteArrayColumnWriter(column) => {
            let text = |value: &Scalar| match value {
                Scalar::Text(text) => ByteArray::from(text.as_str()),
                other => ByteArray::from(other.to_string().as_str()),
            };
            column.write_batch(&values.map(text).collect::<Vec<_>>(), None, None)?;
        }
        ColumnWriter::Int64ColumnWriter(column) => {
            let values: Vec<i64> = values.filter_map(|value| value.whole().ok()).collect();
            column.write_batch(&values, None, None)?;
        }
        _ => (),
    }
    Ok(())
}

fn cells(
    column: &mut ColumnWriter<'_>,
    cells: impl Iterator<Item = Cell> + Clone,
) -> Result<(), ParquetError> {
    let present = cells.clone().map(|cell| i16::from(cell != Cell::Missing)).collect::<Vec<_>>();
    match column {
        ColumnWriter::BoolColumnWriter(column) => {
            let value = |cell| if let Cell::Bool(value) = cell { Some(value) } else { None };
            column.write_batch(
                &cells.filter_map(value).collect::<Vec<_>>(),
                Some(&present),
                None,
            )?;
        }
        ColumnWriter::Int64ColumnWriter(column) => {
            let value = |cell| if let Cell::Int(value) = cell { Some(value) } else { None };
            column.write_batch(
                &cells.filter_map(value).collect::<Vec<_>>(),
                Some(&present),
                None,
            )?;
        }
        _ => (),
    }
    Ok(())
}

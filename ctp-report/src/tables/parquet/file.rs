//! The file of a table.

use std::fs::File;
use std::sync::Arc;

use anyhow::Result;
use parquet::basic::{
    Compression, Encoding, LogicalType, Repetition, Type as PhysicalType, ZstdLevel,
};
use parquet::data_type::{BoolType, ByteArrayType, Int64Type};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};
use parquet::file::writer::{
    SerializedColumnWriter, SerializedFileWriter, SerializedRowGroupWriter,
};
use parquet::schema::types::{ColumnPath, Type};

use super::column::{Column, Values};
use super::words::WordEncoder;
use crate::tables::schema::{self, Kind, Table};

/// The level of zstd. Higher levels take longer and save little, since the values are packed before.
const LEVEL: i32 = 1;

/// A file that is being written.
pub struct TableFile {
    writer: SerializedFileWriter<File>,
    words: WordEncoder,
}

impl TableFile {
    /// Creates the file of a table.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn create(table: &Table, file: File) -> Result<Self> {
        let columns = table
            .columns
            .iter()
            .map(|column| Ok(Arc::new(field(column)?)));
        let schema = Type::group_type_builder(table.name)
            .with_fields(columns.collect::<Result<_>>()?)
            .build()?;
        let properties = Arc::new(properties(table)?);
        let writer = SerializedFileWriter::new(file, Arc::new(schema), properties)?;
        let words = WordEncoder::new(LEVEL)?;
        Ok(TableFile { writer, words })
    }

    /// Writes a row group.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&mut self, columns: &[Column]) -> Result<()> {
        let descriptors = self.writer.schema_descr().columns().to_vec();
        let mut group = self.writer.next_row_group()?;
        for (column, descriptor) in columns.iter().zip(&descriptors) {
            match &column.values {
                Values::Texts(texts) if texts.are_words() => {
                    let chunk = self.words.encode(texts, &column.levels, descriptor)?;
                    group.append_column(&chunk.bytes, chunk.description)?;
                }
                _ => self::column(&mut group, column)?,
            }
        }
        group.close()?;
        Ok(())
    }

    /// Writes the footer.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn finish(self) -> Result<()> {
        self.writer.close()?;
        Ok(())
    }
}

/// Encodes and writes the next column of a row group.
fn column(group: &mut SerializedRowGroupWriter<'_, File>, column: &Column) -> Result<()> {
    if let Some(mut writer) = group.next_column()? {
        values(&mut writer, column)?;
        writer.close()?;
    }
    Ok(())
}

fn values(writer: &mut SerializedColumnWriter<'_>, column: &Column) -> Result<()> {
    let levels = (!column.levels.is_empty()).then_some(&column.levels[..]);
    match &column.values {
        Values::Numbers(numbers) => writer
            .typed::<Int64Type>()
            .write_batch(numbers, levels, None)?,
        Values::Flags(flags) => writer
            .typed::<BoolType>()
            .write_batch(flags, levels, None)?,
        Values::Texts(texts) => {
            writer
                .typed::<ByteArrayType>()
                .write_batch(&texts.to_bytes(), levels, None)?
        }
    };
    Ok(())
}

fn field(column: &schema::Column) -> Result<Type> {
    let (physical, logical) = match column.kind {
        Kind::Time | Kind::Number => (PhysicalType::INT64, None),
        Kind::Unsigned => (PhysicalType::INT64, Some(LogicalType::integer(64, false))),
        Kind::Text => (PhysicalType::BYTE_ARRAY, Some(LogicalType::String)),
        Kind::Flag => (PhysicalType::BOOLEAN, None),
    };
    let repetition = if column.is_nullable {
        Repetition::OPTIONAL
    } else {
        Repetition::REQUIRED
    };
    let field = Type::primitive_type_builder(column.name, physical)
        .with_repetition(repetition)
        .with_logical_type(logical);
    Ok(field.build()?)
}

/// What rows and columns mean, for readers that show the metadata of a file.
fn meanings(table: &Table) -> Vec<KeyValue> {
    let of_table = KeyValue::new("row".to_owned(), table.meaning.to_owned());
    let columns = table.columns.iter();
    let of_columns =
        columns.map(|column| KeyValue::new(column.name.to_owned(), column.meaning.to_owned()));
    std::iter::once(of_table).chain(of_columns).collect()
}

fn properties(table: &Table) -> Result<WriterProperties> {
    let mut properties = WriterProperties::builder()
        .set_writer_version(WriterVersion::PARQUET_2_0)
        .set_created_by(concat!("ctp-report ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(LEVEL)?))
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_key_value_metadata(Some(meanings(table)));
    for column in table
        .columns
        .iter()
        .filter(|column| matches!(column.kind, Kind::Time | Kind::Number))
    {
        let path = ColumnPath::from(column.name);
        properties = properties
            .set_column_dictionary_enabled(path.clone(), false)
            .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
    }
    Ok(properties.build())
}

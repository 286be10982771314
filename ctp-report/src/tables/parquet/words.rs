//! Encodes a column of few texts: a dictionary, and the numbers of the rows in it.

use anyhow::Result;
use bytes::Bytes;
use parquet::basic::{Compression, Encoding, PageType, ZstdLevel};
use parquet::column::page::{CompressedPage, Page, PageWriteSpec, PageWriter as _};
use parquet::column::writer::ColumnCloseResult;
use parquet::data_type::ByteArray;
use parquet::file::metadata::{ColumnChunkMetaData, OffsetIndexBuilder, PageEncodingStats};
use parquet::file::page_index::offset_index::OffsetIndexMetaData;
use parquet::file::statistics::{Statistics, ValueStatistics};
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;
use zstd::bulk::Compressor;

use super::runs;
use super::texts::Texts;

/// Encodes columns of few texts.
pub struct WordEncoder {
    compressor: Compressor<'static>,
    compression: Compression,
}

/// The column of a row group, encoded.
pub struct Chunk {
    /// The pages.
    pub bytes: Bytes,
    /// What the footer of the file says about them.
    pub description: ColumnCloseResult,
}

impl WordEncoder {
    /// An encoder that compresses with this level of zstd.
    ///
    /// # Errors
    /// If there is no such level.
    pub fn new(level: i32) -> Result<Self> {
        Ok(WordEncoder {
            compressor: Compressor::new(level)?,
            compression: Compression::ZSTD(ZstdLevel::try_new(level)?),
        })
    }

    /// Encodes texts. `levels` has 1 for each row with a text and 0 for each row without, or is empty if each row
    /// has a text.
    ///
    /// # Errors
    /// If the texts cannot be compressed.
    pub fn encode(
        &mut self,
        texts: &Texts,
        levels: &[i16],
        descriptor: &ColumnDescPtr,
    ) -> Result<Chunk> {
        let mut sink = TrackedWrite::new(Vec::new());
        let mut pages = SerializedPageWriter::new(&mut sink);
        let dictionary = pages.write_page(self.dictionary(texts.dictionary())?)?;
        let data = pages.write_page(self.data(texts, levels)?)?;
        let rows = rows(texts, levels);
        let metadata = ColumnChunkMetaData::builder(descriptor.clone())
            .set_compression(self.compression)
            .set_encodings(vec![
                Encoding::PLAIN,
                Encoding::RLE,
                Encoding::RLE_DICTIONARY,
            ])
            .set_page_encoding_stats(encodings())
            .set_total_compressed_size((dictionary.compressed_size + data.compressed_size) as i64)
            .set_total_uncompressed_size(
                (dictionary.uncompressed_size + data.uncompressed_size) as i64,
            )
            .set_num_values(rows as i64)
            .set_dictionary_page_offset(Some(dictionary.offset as i64))
            .set_data_page_offset(data.offset as i64)
            .set_statistics(statistics(texts, rows))
            .build()?;
        let bytes = Bytes::from(sink.into_inner()?);
        let description = ColumnCloseResult {
            bytes_written: bytes.len() as u64,
            rows_written: rows as u64,
            metadata,
            bloom_filter: None,
            column_index: None,
            offset_index: Some(location(&data, rows)),
        };
        Ok(Chunk { bytes, description })
    }

    fn dictionary(&mut self, texts: &[ByteArray]) -> Result<CompressedPage> {
        let mut plain = Vec::new();
        for text in texts {
            // A word has few bytes.
            plain.extend_from_slice(&(text.len() as u32).to_le_bytes());
            plain.extend_from_slice(text.data());
        }
        let page = Page::DictionaryPage {
            buf: self.compressor.compress(&plain)?.into(),
            num_values: texts.len() as u32,
            encoding: Encoding::PLAIN,
            is_sorted: false,
        };
        Ok(CompressedPage::new(page, plain.len()))
    }

    /// A page with all rows. Its levels are not compressed.
    fn data(&mut self, texts: &Texts, levels: &[i16]) -> Result<CompressedPage> {
        let mut bytes = Vec::new();
        let with_text: Vec<u32> = levels.iter().map(|level| u32::from(*level != 0)).collect();
        runs::encode(&with_text, 1, &mut bytes);
        let levels_bytes = bytes.len();
        let numbers = numbers(texts);
        bytes.extend_from_slice(&self.compressor.compress(&numbers)?);
        let rows = rows(texts, levels);
        let page = Page::DataPageV2 {
            buf: bytes.into(),
            num_values: rows as u32,
            encoding: Encoding::RLE_DICTIONARY,
            num_nulls: (rows - texts.numbers().len()) as u32,
            num_rows: rows as u32,
            def_levels_byte_len: levels_bytes as u32,
            rep_levels_byte_len: 0,
            is_compressed: true,
            statistics: None,
        };
        Ok(CompressedPage::new(page, levels_bytes + numbers.len()))
    }
}

/// The number of bits of a number, and the numbers.
fn numbers(texts: &Texts) -> Vec<u8> {
    let greatest = texts.dictionary().len().saturating_sub(1);
    let bits = (usize::BITS - greatest.leading_zeros()).max(1) as u8;
    let mut bytes = vec![bits];
    runs::encode(texts.numbers(), bits, &mut bytes);
    bytes
}

fn rows(texts: &Texts, levels: &[i16]) -> usize {
    texts.numbers().len().max(levels.len())
}

fn encodings() -> Vec<PageEncodingStats> {
    let pages = [
        (PageType::DICTIONARY_PAGE, Encoding::PLAIN),
        (PageType::DATA_PAGE_V2, Encoding::RLE_DICTIONARY),
    ];
    let all = pages.map(|(page_type, encoding)| PageEncodingStats {
        page_type,
        encoding,
        count: 1,
    });
    all.into()
}

/// The least and the greatest text, and the number of rows without a text.
fn statistics(texts: &Texts, rows: usize) -> Statistics {
    let all = || texts.dictionary().iter();
    let least = all().min_by_key(|text| text.data());
    let greatest = all().max_by_key(|text| text.data());
    let nulls = rows - texts.numbers().len();
    Statistics::ByteArray(ValueStatistics::new(
        least.cloned(),
        greatest.cloned(),
        None,
        Some(nulls as u64),
        false,
    ))
}

/// Where the page of the rows is, for readers that skip rows.
fn location(data: &PageWriteSpec, rows: usize) -> OffsetIndexMetaData {
    let mut builder = OffsetIndexBuilder::new();
    builder.append_row_count(rows as i64);
    builder.append_offset_and_size(data.offset as i64, data.compressed_size as i32);
    builder.build()
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use parquet::file::reader::{FileReader as _, SerializedFileReader};
    use parquet::record::RowAccessor as _;

    use crate::tables::parquet::column::{Column, Values};
    use crate::tables::parquet::file::TableFile;
    use crate::tables::schema::{Kind, Table, TableId};
    use crate::tables::value::Value;

    const ROWS: usize = 5000;

    /// Texts with runs of equal texts and of nulls, and with parts that alternate.
    fn text(row: usize) -> Option<&'static str> {
        match (row / 50) % 4 {
            0 => Some("suspend"),
            1 => None,
            2 => Some(["run", "", "birth", "death", "acquire"][row % 5]),
            _ => [Some("suspend"), None, None][row % 3],
        }
    }

    /// The value of a row in a column of any kind.
    fn value(kind: Kind, is_nullable: bool, row: usize) -> Value<'static> {
        match (kind, text(row)) {
            (Kind::Text, None) if is_nullable => Value::Null,
            (Kind::Text, text) => Value::Word(text.unwrap_or("none")),
            (Kind::Flag, _) => Value::Flag(false),
            _ => Value::Number(7),
        }
    }

    fn fill(columns: &mut [Column], value: impl Fn(usize, usize) -> Value<'static>) {
        for (index, column) in columns.iter_mut().enumerate() {
            for row in 0..ROWS {
                column.push(value(index, row));
            }
        }
    }

    fn of_words(table: &Table) -> impl Fn(usize, usize) -> Value<'static> {
        |index, row| {
            let column = &table.columns[index];
            value(column.kind, column.is_nullable, row)
        }
    }

    fn columns(table: &Table) -> Vec<Column> {
        let mut columns = Column::of_table(table);
        fill(&mut columns, of_words(table));
        columns
    }

    /// The texts of this column in all row groups of a file, which is written first.
    fn read_back(groups: &[&dyn Fn(&mut Vec<Column>)], index: usize) -> Vec<Option<String>> {
        let table = TableId::Events.table();
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("events.parquet");
        let mut file =
            TableFile::create(table, File::create(&path).expect("a file")).expect("a table");
        let mut columns = Column::of_table(table);
        for fill in groups {
            fill(&mut columns);
            file.write(&columns).expect("written");
            columns.iter_mut().for_each(Column::clear);
        }
        file.finish().expect("written");
        let reader =
            SerializedFileReader::new(File::open(&path).expect("a file")).expect("a table");
        assert_eq!(reader.num_row_groups(), groups.len());
        let rows = reader.get_row_iter(None).expect("rows");
        rows.map(|row| row.expect("a row").get_string(index).ok().cloned())
            .collect()
    }

    #[test]
    fn groups_of_many_texts_are_between_groups_of_few() {
        const KIND: usize = 5;
        let table = TableId::Events.table();
        let many = |row: usize| format!("text {}", row % 700);
        let few = |columns: &mut Vec<Column>| fill(columns, of_words(table));
        let of_many = |columns: &mut Vec<Column>| {
            let rest = of_words(table);
            fill(columns, |index, row| {
                if index == KIND {
                    Value::Null
                } else {
                    rest(index, row)
                }
            });
            columns[KIND].clear();
            for row in 0..ROWS {
                columns[KIND].push(Value::Text(&many(row)));
            }
        };
        let expected = |row: usize| match row / ROWS {
            1 => Some(many(row % ROWS)),
            _ => text(row % ROWS).map(str::to_owned),
        };
        let read = read_back(&[&few, &of_many, &few], KIND);
        assert_eq!(read.len(), 3 * ROWS);
        for (row, read) in read.into_iter().enumerate() {
            assert_eq!(read, expected(row), "{row}");
        }
    }

    #[test]
    fn words_and_nulls_are_read_back() {
        let table = TableId::Events.table();
        let columns = columns(table);
        let is_of_words =
            |column: &&Column| matches!(&column.values, Values::Texts(texts) if texts.are_words());
        assert_eq!(columns.iter().filter(is_of_words).count(), 2);
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("events.parquet");
        let mut file =
            TableFile::create(table, File::create(&path).expect("a file")).expect("a table");
        file.write(&columns).expect("written");
        file.finish().expect("written");
        let reader =
            SerializedFileReader::new(File::open(&path).expect("a file")).expect("a table");
        let mut rows = 0;
        for (row, read) in reader.get_row_iter(None).expect("rows").enumerate() {
            let read = read.expect("a row");
            assert_eq!(
                read.get_string(2).expect("a text"),
                text(row).unwrap_or("none")
            );
            assert_eq!(
                read.get_string(5).ok().map(String::as_str),
                text(row),
                "{row}"
            );
            rows += 1;
        }
        assert_eq!(rows, ROWS);
        let statistics = reader.metadata().row_group(0).column(5).statistics();
        let statistics = statistics.expect("statistics");
        assert_eq!(statistics.min_bytes_opt(), Some(&b""[..]));
        assert_eq!(statistics.max_bytes_opt(), Some(&b"suspend"[..]));
        let nulls = (0..ROWS).filter(|row| text(*row).is_none()).count();
        assert_eq!(statistics.null_count_opt(), Some(nulls as u64));
    }
}

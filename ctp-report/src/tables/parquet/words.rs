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
mod tests;

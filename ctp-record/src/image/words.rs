//! Words of a memory as bytes.

use std::ops::Range;

use ctp_nostd::layout::{Field, Header, Span};

/// The offset of a field.
pub fn offset_of(fields: &[Field], name: &str) -> usize {
    let mut fields = fields.iter();
    let field = fields.find(|field| field.name == name);
    field.expect("the layout has a field of this name").offset
}

/// The number in a field of the header; 0 if the memory is shorter.
pub fn field(memory: &[u8], name: &str) -> u64 {
    let mut fields = Header::FIELDS.iter();
    let field = fields.find(|field| field.name == name);
    let bytes = field.and_then(|field| memory.get(field.offset..field.offset + field.bytes));
    let bytes = bytes.unwrap_or_default().iter().rev();
    bytes.fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// The word of 8 bytes at this offset; 0 if the memory is shorter.
pub fn word_at(memory: &[u8], at: usize) -> u64 {
    let word = memory.get(at..).and_then(|rest| rest.first_chunk());
    word.copied().map_or(0, u64::from_le_bytes)
}

/// Writes a word of 8 bytes, if there is room for it at this offset.
pub fn put(memory: &mut [u8], at: usize, word: u64) {
    if let Some(room) = memory.get_mut(at..).and_then(|rest| rest.first_chunk_mut()) {
        *room = word.to_le_bytes();
    }
}

/// The half word of 4 bytes at this offset; 0 if the memory is shorter.
pub fn half_at(memory: &[u8], at: usize) -> u32 {
    let half = memory.get(at..).and_then(|rest| rest.first_chunk());
    half.copied().map_or(0, u32::from_le_bytes)
}

/// Writes a half word of 4 bytes, if there is room for it at this offset.
pub fn put_half(memory: &mut [u8], at: usize, half: u32) {
    if let Some(room) = memory.get_mut(at..).and_then(|rest| rest.first_chunk_mut()) {
        *room = half.to_le_bytes();
    }
}

/// Where the bytes of these fields are.
pub fn fields_of<'f>(
    fields: &'f [Field],
    names: &'f [&str],
) -> impl Iterator<Item = Range<usize>> + 'f {
    let fields = fields.iter().filter(|field| names.contains(&field.name));
    fields.map(|field| field.offset..field.offset + field.bytes)
}

/// Where the entries of a table are. Empty if the header describes the table wrongly.
pub fn table_in(memory: &[u8], table: &str, entry_bytes: usize) -> Range<usize> {
    let span = offset_of(Header::FIELDS, table);
    let offset = word_at(memory, span + offset_of(Span::FIELDS, "offset_bytes"));
    let entries = half_at(memory, span + offset_of(Span::FIELDS, "entries"));
    let stated_bytes = half_at(memory, span + offset_of(Span::FIELDS, "entry_bytes"));
    let begin = usize::try_from(offset).unwrap_or(usize::MAX);
    let end = begin.saturating_add(entry_bytes.saturating_mul(entries as usize));
    if stated_bytes as usize == entry_bytes && end <= memory.len() {
        begin..end
    } else {
        0..0
    }
}

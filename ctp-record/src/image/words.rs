//! Words of a memory as bytes.

use ctp_nostd::layout::{Field, Header};

/// The offset of a field.
pub fn offset_of(fields: &[Field], name: &str) -> usize {
    let mut fields = fields.iter();
    let field = fields.find(|(field, _, _)| *field == name);
    field.expect("the layout has a field of this name").1
}

/// The number in a field of the header; 0 if the memory is shorter.
pub fn field(memory: &[u8], name: &str) -> u64 {
    let mut fields = Header::FIELDS.iter();
    let field = fields.find(|(field, _, _)| *field == name);
    let bytes = field.and_then(|&(_, at, size)| memory.get(at..at + size));
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

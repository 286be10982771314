//! Words of a copied memory by their offsets, before the copy is a region.

use ctp_nostd::layout::{CHANGING, Field, Header, Slot, Station};

/// The bytes of a station that hold its slots begin here.
pub const SLOTS: usize = offset_of(Station::FIELDS, "slots");

/// A station's generation; odd while a coroutine moves in.
const GENERATION: usize = offset_of(Station::FIELDS, "generation");
/// How many events a station had.
const EVENT_HEAD: usize = offset_of(Station::FIELDS, "event_head");
/// A slot's sequence number; odd while an event is written.
const SEQUENCE: usize = offset_of(Slot::FIELDS, "seq");

/// The offset of a field. An unknown name does not compile.
const fn offset_of(fields: &[Field], name: &str) -> usize {
    let mut index = 0;
    while !is_equal(fields[index].0.as_bytes(), name.as_bytes()) {
        index += 1;
    }
    fields[index].1
}

const fn is_equal(left: &[u8], right: &[u8]) -> bool {
    let mut index = 0;
    while index < left.len() && index < right.len() && left[index] == right[index] {
        index += 1;
    }
    index == left.len() && index == right.len()
}

/// A word of a header.
pub fn header_word(header: &[u8], name: &str) -> u64 {
    let field = Header::FIELDS.iter().find(|(field, _, _)| *field == name);
    let bytes = field.and_then(|&(_, at, size)| header.get(at..at + size));
    let bytes = bytes.unwrap_or_default().iter().rev();
    bytes.fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// The generation in the bytes of a station.
pub fn generation(station: &[u8]) -> u32 {
    u32::from_le_bytes(word(station, GENERATION))
}

/// The number of events in the bytes of a station. `None` if it is half-written.
pub fn event_head(station: &[u8]) -> Option<u64> {
    let head = u64::from_le_bytes(word(station, EVENT_HEAD));
    ((head >> 32) as u32 != CHANGING).then_some(head)
}

/// Marks a station as that of a coroutine that is moving in.
pub fn mark_moving_in(station: &mut [u8]) {
    station[GENERATION] |= 1;
}

/// Marks a slot as being written.
pub fn mark_torn(slot: &mut [u8]) {
    slot[SEQUENCE] |= 1;
}

fn word<const BYTES: usize>(bytes: &[u8], at: usize) -> [u8; BYTES] {
    let mut word = [0; BYTES];
    let found = bytes.get(at..at + BYTES).unwrap_or(&[]);
    word[..found.len()].copy_from_slice(found);
    word
}

//! Rewrites a compact memory in the full layout, so that everything behind it reads a single layout.
//!
//! Fields keep their names and get the offsets of the full layout. An event keeps its number `n`: it moves
//! from slot `n mod 2` to slot `n mod 8`, with the sequence number of that slot. The other slots stay empty.
//! The header still states stations of 256 bytes, from which the reader knows that older events are lost.
//! A ring becomes a lane ([`ring`]).

use std::borrow::Cow;

use ctp_nostd::layout::{
    COMPACT_MAGIC, Compact, CompactInterned, CompactStation, Field, Header, Interned, LAYOUT_HASH,
    Lane, LaneRecord, Layout, MAGIC, MAX_STATIONS, Slot, Station,
};
use ctp_nostd::slot::{event_in, final_seq, index_of};

use super::ring::{self, LaneBytes};
use super::words::{field, offset_of, put, table_in, word_at};

/// The fields of the header that describe tables.
const TABLES: [&str; 10] = [
    "lanes",
    "sites",
    "chains",
    "names",
    "attaches",
    "stacks",
    "free",
    "records",
    "short_lanes",
    "short_records",
];

/// The largest alignment of an entry.
const ALIGNED: usize = 256;

/// The memory in the full layout. The search has [checked](super::memory_search) the header.
pub fn in_full_layout(memory: &[u8]) -> Cow<'_, [u8]> {
    in_full_layout_with(memory, || ring::lane_of(memory))
}

/// The same, with this lane for the ring of a compact memory.
pub fn in_full_layout_with(
    memory: &[u8],
    lane: impl FnOnce() -> Option<LaneBytes>,
) -> Cow<'_, [u8]> {
    if word_at(memory, 0) == COMPACT_MAGIC {
        Cow::Owned(rewritten(memory, lane()))
    } else {
        Cow::Borrowed(memory)
    }
}

fn rewritten(memory: &[u8], lane: Option<LaneBytes>) -> Vec<u8> {
    let stations = stations_of(memory);
    let entry_bytes = size_of::<CompactInterned>();
    let [sites, names] =
        ["sites", "names"].map(|table| &memory[table_in(memory, table, entry_bytes)]);
    let mut full = memory[..size_of::<Header>()].to_vec();
    for table in TABLES {
        put_span(&mut full, table, 0, 0);
    }
    full.extend(
        stations
            .chunks(size_of::<CompactStation>())
            .flat_map(station),
    );
    for (table, entries) in [("sites", sites), ("names", names)] {
        let entries: Vec<u8> = entries.chunks(entry_bytes).flat_map(entry).collect();
        add_table(&mut full, table, &entries, size_of::<Interned>());
    }
    if let Some(LaneBytes { lane, records }) = lane {
        add_table(&mut full, "lanes", &lane, size_of::<Lane>());
        add_table(&mut full, "records", &records, size_of::<LaneRecord>());
    }
    let bytes = full.len() as u64;
    put(&mut full, offset_of(Header::FIELDS, "magic"), MAGIC);
    put(
        &mut full,
        offset_of(Header::FIELDS, "layout_hash"),
        LAYOUT_HASH,
    );
    put(&mut full, offset_of(Header::FIELDS, "file_bytes"), bytes);
    full
}

/// The bytes of all stations.
fn stations_of(memory: &[u8]) -> &[u8] {
    let count = field(memory, "max_stations").min(MAX_STATIONS.into()) as usize;
    let begin = size_of::<Header>();
    let end = begin + count * size_of::<CompactStation>();
    memory.get(begin..end).unwrap_or_default()
}

/// Adds a table of entries of this size, aligned for any table.
fn add_table(full: &mut Vec<u8>, table: &str, entries: &[u8], entry_bytes: usize) {
    full.resize(full.len().next_multiple_of(ALIGNED), 0);
    let count = (entries.len() / entry_bytes) as u64;
    let offset = if entries.is_empty() {
        0
    } else {
        full.len() as u64
    };
    put_span(full, table, offset, count | (entry_bytes as u64) << 32);
    full.extend(entries);
}

fn put_span(full: &mut [u8], table: &str, offset: u64, sizes: u64) {
    let span = offset_of(Header::FIELDS, table);
    put(full, span, offset);
    put(full, span + size_of::<u64>(), sizes);
}

/// A station in the full layout.
fn station(compact: &[u8]) -> Vec<u8> {
    let mut full = vec![0; size_of::<Station>()];
    copy_fields(
        (compact, CompactStation::FIELDS),
        (&mut full, Station::FIELDS),
    );
    let slots = offset_of(Station::FIELDS, "slots");
    let held = Compact::SLOTS as usize * size_of::<Slot>();
    full[slots..slots + held].fill(0);
    let held = compact[slots..slots + held].chunks(size_of::<Slot>());
    for (index, slot) in held.enumerate() {
        move_slot(slot, index, &mut full[slots..]);
    }
    full
}

/// Copies a slot to its place among eight. A slot that was never written stays empty.
fn move_slot(slot: &[u8], index: usize, slots: &mut [u8]) {
    let at = offset_of(Slot::FIELDS, "seq");
    let seq = word_at(slot, at);
    let whole = seq.wrapping_add(seq % 2);
    if whole == 0 {
        return;
    }
    let n = event_in::<Compact>(index, whole);
    let moved = &mut slots[index_of(n) * size_of::<Slot>()..][..size_of::<Slot>()];
    moved.copy_from_slice(slot);
    put(moved, at, final_seq(n) - seq % 2);
}

/// An entry in the full layout.
fn entry(compact: &[u8]) -> Vec<u8> {
    let mut full = vec![0; size_of::<Interned>()];
    copy_fields(
        (compact, CompactInterned::FIELDS),
        (&mut full, Interned::FIELDS),
    );
    full
}

/// Copies each field to its offset in the full layout. Both lists have the same fields in the same order.
fn copy_fields(
    (compact, compact_fields): (&[u8], &[Field]),
    (full, full_fields): (&mut [u8], &[Field]),
) {
    for (from, to) in compact_fields.iter().zip(full_fields) {
        full[to.offset..to.offset + from.bytes]
            .copy_from_slice(&compact[from.offset..from.offset + from.bytes]);
    }
}

#[cfg(test)]
mod tests;

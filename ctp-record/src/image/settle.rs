//! Makes one consistent copy of a memory out of two readings, while a program writes the memory.
//!
//! A debug probe, or a file that QEMU maps, is read without any order between the words. The memory is
//! therefore read twice, and the second reading begins after the first has ended:
//!
//! - A slot is settled if its sequence number is even and both readings have the same bytes. Then no event
//!   was written between the two moments at which the sequence number was read. If each reading goes up in
//!   address, the fields before the sequence number in the second reading and those after it in the first
//!   were read between these moments, so the slot is whole. If the order within a reading is arbitrary, a
//!   wrong byte must have changed to another value and back, once in each reading.
//! - A slot that is not settled becomes empty. Its event is overwritten, or is read again later.
//! - Times and counts that no other word guards are settled if both readings agree.
//! - A record of a ring is settled if both readings have the same bytes, and is older than the head of the
//!   first reading.
//! - A coroutine that moves into its station between the readings is left out, as is a name or a site that
//!   is not complete in both readings.
//!
//! The result has the layout of the memory, and its header says that slots may be empty.

use ctp_nostd::layout::{
    CHANGING, COMPACT_MAGIC, Compact, Field, Full, Header, InternedOf, LaneRecord, Layout,
    RingHead, Slot, StationOf,
};
use ctp_nostd::slot::{event_in, final_seq_in, index_in};

use super::words::{field, fields_of, half_at, offset_of, put, put_half, table_in, word_at};

/// The words that identify the coroutine of a station, in its first line.
const IDENTITY: [&str; 8] = [
    "probe_id",
    "birth_ts",
    "ext_rev",
    "kind",
    "generation",
    "owner",
    "meta",
    "base_n",
];

/// Times that no other word guards.
const TIMES: [&str; 2] = ["wake_ts", "last_ts"];

/// The memory according to both readings, which begin with its header. The caller has checked the header of
/// the second reading, as [`memory_of`](super::memory_of) does.
pub fn settle(first: &[u8], second: &[u8]) -> Vec<u8> {
    let mut settled = second.to_vec();
    if word_at(second, 0) == COMPACT_MAGIC {
        settle_as::<Compact>(first, &mut settled);
    } else {
        settle_as::<Full>(first, &mut settled);
    }
    settled
}

fn settle_as<L: Layout>(first: &[u8], settled: &mut [u8]) {
    let station_bytes = size_of::<StationOf<L>>();
    let count = field(settled, "max_stations") as usize;
    for (index, station) in settled
        .get_mut(size_of::<Header>()..)
        .unwrap_or_default()
        .chunks_exact_mut(station_bytes)
        .take(count)
        .enumerate()
    {
        let at = size_of::<Header>() + index * station_bytes;
        settle_station::<L>(bytes_at(first, at, station_bytes), station);
    }
    for table in ["sites", "names"] {
        settle_entries::<L>(first, settled, table);
    }
    settle_ring(first, settled);
    put_half(
        settled,
        offset_of(Header::FIELDS, "station_bytes"),
        station_bytes as u32,
    );
}

/// The bytes of a reading, or nothing if the reading is shorter.
fn bytes_at(reading: &[u8], at: usize, bytes: usize) -> &[u8] {
    reading.get(at..at + bytes).unwrap_or_default()
}

fn settle_station<L: Layout>(first: &[u8], station: &mut [u8]) {
    let fields = StationOf::<L>::FIELDS;
    if first.len() != station.len() || !is_same_coroutine(fields, first, station) {
        let generation = offset_of(fields, "generation");
        let moving_in = half_at(station, generation) | 1;
        return put_half(station, generation, moving_in);
    }
    for time in TIMES {
        let at = offset_of(fields, time);
        if word_at(first, at) != word_at(station, at) {
            put_half(station, at + 4, CHANGING);
        }
    }
    let seen = seqs::<L>(station);
    settle_slots::<L>(first, station);
    settle_head::<L>(first, station, &seen);
}

fn is_same_coroutine(fields: &[Field], first: &[u8], second: &[u8]) -> bool {
    let mut words = fields_of(fields, &IDENTITY);
    words.all(|range| first[range.clone()] == second[range])
}

/// Empties each slot that is not settled.
fn settle_slots<L: Layout>(first: &[u8], station: &mut [u8]) {
    let seq = offset_of(Slot::FIELDS, "seq");
    for index in 0..L::SLOTS as usize {
        let slot = slot_range::<L>(index);
        let is_even = word_at(station, slot.start + seq).is_multiple_of(2);
        if !is_even || first[slot.clone()] != station[slot.clone()] {
            station[slot].fill(0);
        }
    }
}

fn slot_range<L: Layout>(index: usize) -> std::ops::Range<usize> {
    let slots = offset_of(StationOf::<L>::FIELDS, "slots");
    let at = slots + index * size_of::<Slot>();
    at..at + size_of::<Slot>()
}

/// The sequence number of each slot.
fn seqs<L: Layout>(station: &[u8]) -> Vec<u64> {
    let seq = offset_of(Slot::FIELDS, "seq");
    let slots = (0..L::SLOTS as usize).map(slot_range::<L>);
    slots
        .map(|slot| word_at(station, slot.start + seq))
        .collect()
}

/// Writes the number of events that the copy has, or has lost: the head that both readings agree on, else
/// the event behind the newest settled event, else the head of the first reading. Leaves out the events from the first on that the second
/// reading saw complete, but that was not settled: a later reading finds that event.
fn settle_head<L: Layout>(first: &[u8], station: &mut [u8], seen: &[u64]) {
    let at = offset_of(StationOf::<L>::FIELDS, "event_head");
    let settled = seqs::<L>(station);
    let agreed = (word_at(first, at) == word_at(station, at)).then(|| word_at(station, at));
    let newest = settled.iter().enumerate().filter(|(_, seq)| **seq != 0);
    let newest = newest.map(|(index, seq)| event_in::<L>(index, *seq).wrapping_add(1));
    let upper = (word_at(station, at) >> 32) as u32;
    let before =
        Some(word_at(first, at)).filter(|head| upper != CHANGING && (head >> 32) as u32 == upper);
    let Some(head) = agreed.or_else(|| newest.max()).or(before) else {
        return put_half(station, at + 4, CHANGING);
    };
    let is_unsettled = |n: &u64| {
        let index = index_in::<L>(*n);
        settled[index] == 0 && seen[index] == final_seq_in::<L>(*n)
    };
    let unsettled = (head.saturating_sub(L::SLOTS)..head).find(is_unsettled);
    put(station, at, unsettled.unwrap_or(head));
}

/// Marks each entry that differs between the readings as incomplete. A complete entry never changes.
fn settle_entries<L: Layout>(first: &[u8], settled: &mut [u8], table: &str) {
    let entry_bytes = size_of::<InternedOf<L>>();
    let ready = offset_of(InternedOf::<L>::FIELDS, "ready");
    let range = table_in(settled, table, entry_bytes);
    for at in range.step_by(entry_bytes) {
        let entry = &mut settled[at..at + entry_bytes];
        if bytes_at(first, at, entry_bytes) != entry {
            put_half(entry, ready, 0);
        }
    }
}

/// Clears each record of a ring that differs between the readings, and takes the head of the first.
fn settle_ring(first: &[u8], settled: &mut [u8]) {
    let head = table_in(settled, "lanes", size_of::<RingHead>()).start;
    let records = table_in(settled, "records", size_of::<LaneRecord>());
    if head == 0 || records.is_empty() {
        return;
    }
    put_half(settled, head, half_at(first, head));
    for at in records.step_by(size_of::<LaneRecord>()) {
        let record = &mut settled[at..at + size_of::<LaneRecord>()];
        if bytes_at(first, at, size_of::<LaneRecord>()) != record {
            record.fill(0);
        }
    }
}

#[cfg(test)]
mod tests;

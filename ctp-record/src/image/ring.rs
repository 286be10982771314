//! The ring of a program without threads, which is rewritten as a lane ([`RingReader`]). Records that are marked, or are
//! of another lap, are lost.

mod reader;

use ctp_nostd::history::{is_whole, with_lap};
use ctp_nostd::lane::{Copied, Payload, ThreadEventKind};
use ctp_nostd::layout::{Lane, LaneRecord, RingHead};

pub use reader::RingReader;

use super::words::{half_at, offset_of, put, put_half, table_in, word_at};

/// The attach id of the only process.
const OWNER: u32 = 1;
/// The words of a record, in order.
const WORDS: usize = size_of::<LaneRecord>() / size_of::<u64>();

/// A lane and its records, in the layout of a recorder's memory.
#[derive(Debug)]
pub struct LaneBytes {
    pub lane: Vec<u8>,
    pub records: Vec<u8>,
}

/// The words of a record.
pub type Words = [u64; WORDS];

/// The ring in a memory.
#[derive(Clone, Copy, Debug)]
pub struct Ring<'m> {
    records: &'m [u8],
    /// How many records were written, modulo 2^32.
    pub head: u32,
    /// How many records there is room for: a power of two.
    pub length: u32,
}

impl<'m> Ring<'m> {
    /// `None` if the memory has no ring, or describes it wrongly.
    pub fn of(memory: &'m [u8]) -> Option<Self> {
        let head = table_in(memory, "lanes", size_of::<RingHead>());
        let head = memory
            .get(head)
            .filter(|head| head.len() == size_of::<RingHead>())?;
        let records = &memory[table_in(memory, "records", size_of::<LaneRecord>())];
        let length = u32::try_from(records.len() / size_of::<LaneRecord>()).ok()?;
        length.is_power_of_two().then_some(Ring {
            records,
            head: half_at(head, offset_of(RingHead::FIELDS, "head")),
            length,
        })
    }

    /// Record number `h`, unless it is torn or was replaced.
    pub fn record(&self, h: u32) -> Option<Words> {
        let at = (h % self.length) as usize * size_of::<LaneRecord>();
        let words =
            std::array::from_fn(|index| word_at(self.records, at + index * size_of::<u64>()));
        is_whole(words[0], h, self.length).then_some(words)
    }
}

/// The lane of a dump with a ring.
pub fn lane_of(memory: &[u8]) -> Option<LaneBytes> {
    let mut reader = RingReader::default();
    reader.read(memory, true);
    reader.lane()
}

/// A record that states how many records are lost by then.
pub fn loss(kind: ThreadEventKind, at: u64, lost: u32) -> Words {
    let payload = Payload {
        kind: kind as u8,
        station: OWNER,
        n: lost.into(),
        ..Payload::default()
    };
    Copied::of(at, &payload).words()
}

/// Writes a record of this lap.
pub fn put_record(place: &mut [u8], words: &Words, lap: u64) {
    put(place, 0, with_lap(words[0], lap));
    for (index, word) in words.iter().enumerate().skip(1) {
        put(place, index * size_of::<u64>(), *word);
    }
}

/// The bytes of a lane, of which the records from `tail` to `head` are to be read.
pub fn lane_head(tail: u64, head: u64, lost: u32) -> Vec<u8> {
    let mut lane = vec![0; size_of::<Lane>()];
    put(&mut lane, offset_of(Lane::FIELDS, "tail"), tail);
    put(&mut lane, offset_of(Lane::FIELDS, "head"), head);
    put_half(&mut lane, offset_of(Lane::FIELDS, "lost"), lost);
    // Any id of a thread, so that the lane is in use.
    put_half(&mut lane, offset_of(Lane::FIELDS, "thread"), 1);
    put_half(&mut lane, offset_of(Lane::FIELDS, "owner"), OWNER);
    lane
}

#[cfg(test)]
mod tests {
    use ctp_nostd::history::lap;
    use ctp_nostd::layout::Header;

    use super::*;

    const LENGTH: u32 = 8;
    const HEAD: usize = size_of::<Header>();
    const RECORDS: usize = HEAD + size_of::<RingHead>();

    /// A memory with a ring of which `end` records were written, each at the time `at(h)`.
    fn memory(end: u32, at: impl Fn(u32) -> u64) -> Vec<u8> {
        let mut memory = vec![0; RECORDS + LENGTH as usize * size_of::<LaneRecord>()];
        for (table, offset, entries) in [("lanes", HEAD, 1), ("records", RECORDS, LENGTH)] {
            let span = offset_of(Header::FIELDS, table);
            put(&mut memory, span, offset as u64);
            put(&mut memory, span + 8, u64::from(entries) | 32 << 32);
        }
        put_half(&mut memory, HEAD, end);
        for h in 0..end {
            let payload = Payload {
                kind: ThreadEventKind::Close as u8,
                arg: h.into(),
                ..Payload::default()
            };
            let mut words = Copied::of(at(h), &payload).words();
            words[0] = with_lap(words[0], lap(h, LENGTH));
            put_words(&mut memory, h, words);
        }
        memory
    }

    fn put_words(memory: &mut [u8], h: u32, words: Words) {
        let record = RECORDS + (h % LENGTH) as usize * size_of::<LaneRecord>();
        for (index, word) in words.into_iter().enumerate() {
            put(memory, record + 8 * index, word);
        }
    }

    /// The kind of each record of the lane, and its resource or count of losses; then all losses.
    fn records(memory: &[u8]) -> (Vec<(u8, u64)>, u32) {
        let LaneBytes { lane, records } = lane_of(memory).expect("there is a ring");
        let head = word_at(&lane, offset_of(Lane::FIELDS, "head")) as usize;
        let found = records
            .chunks(size_of::<LaneRecord>())
            .take(head)
            .map(|record| {
                let [commit, arg] = [0, 24].map(|at| word_at(record, at));
                // As in `LAYOUT.md`: the kind and the number.
                let (kind, n) = ((commit >> 44) as u8 % 32, commit >> 28 & 0xFFFF);
                (kind, if kind == CLOSE { arg } else { n })
            });
        (
            found.collect(),
            half_at(&lane, offset_of(Lane::FIELDS, "lost")),
        )
    }

    const BEGIN: u8 = ThreadEventKind::Begin as u8;
    const CLOSE: u8 = ThreadEventKind::Close as u8;
    const LOSS: u8 = ThreadEventKind::Loss as u8;

    // CTP-11
    #[test]
    fn latest_records_are_read_and_the_others_are_lost() {
        let closes = |range: std::ops::Range<u64>| range.map(|h| (CLOSE, h));
        let (found, lost) = records(&memory(5, |h| h.into()));
        assert_eq!(
            found,
            [(BEGIN, 0)]
                .into_iter()
                .chain(closes(0..5))
                .collect::<Vec<_>>()
        );
        assert_eq!(lost, 0);
        let (found, lost) = records(&memory(21, |h| h.into()));
        assert_eq!(
            found,
            [(BEGIN, 13)]
                .into_iter()
                .chain(closes(13..21))
                .collect::<Vec<_>>()
        );
        assert_eq!(lost, 13);
        assert!(lane_of(&memory(0, |h| h.into())).is_none());
    }

    // CTP-11
    #[test]
    fn torn_record_is_lost_in_order() {
        let mut torn = memory(8, |h| h.into());
        put_words(&mut torn, 3, [u64::MAX << 32, 3, 0, 3]);
        put_words(&mut torn, 7, [u64::MAX << 32, 7, 0, 7]);
        let (found, lost) = records(&torn);
        let expected = [(BEGIN, 0), (CLOSE, 0), (CLOSE, 1), (CLOSE, 2), (LOSS, 1)];
        let expected = expected.into_iter().chain([4, 5, 6].map(|h| (CLOSE, h)));
        assert_eq!(found, expected.collect::<Vec<_>>());
        assert_eq!(lost, 2, "the last is lost at the end");
    }

    // CTP-08
    #[test]
    fn records_of_handlers_are_sorted_by_time() {
        let (found, _) = records(&memory(4, |h| [10, 30, 20, 40][h as usize]));
        let order: Vec<u64> = found[1..].iter().map(|(_, h)| *h).collect();
        assert_eq!(order, [0, 2, 1, 3]);
    }
}

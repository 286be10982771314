//! The ring of a program without threads, as a lane in the order of time. A dump is read once. The ring of firmware
//! that is followed is read again and again, and each time the lane gets the new records.
//!
//! A handler that interrupts an event records its own event first, although the interrupted event has the earlier
//! time. A record that is not whole may be one that a handler interrupts. The next reading tries that record again,
//! before the ones behind it, and only then counts it as lost.

use ctp_nostd::history::{LAPS, lap};
use ctp_nostd::lane::ThreadEventKind;
use ctp_nostd::layout::LaneRecord;

use super::{LaneBytes, Ring, Words, lane_head, loss, put_record};

/// A reader of a ring, with the records that it has read.
#[derive(Debug, Default)]
pub struct RingReader {
    /// The next record to read.
    next: u32,
    /// The record that was not whole at the latest reading.
    unfinished: Option<u32>,
    /// All records that are lost, modulo 2^32.
    lost: u32,
    /// How many of these no record of the lane states.
    unstated: u32,
    /// How many records were lost before the first of the lane.
    lost_before: u32,
    lane: RingLane,
    is_half_new: bool,
    /// The latest reading left records in the ring, because the lane was full.
    has_left_some: bool,
}

/// A lane with the new records of each reading.
#[derive(Debug, Default)]
struct RingLane {
    records: Vec<u8>,
    tail: u64,
    head: u64,
}

impl RingReader {
    /// Takes the new records of a consistent copy of the memory. With `is_over`, nothing will be written any
    /// more, so a record that is not whole is lost.
    pub fn read(&mut self, memory: &[u8], is_over: bool) {
        let Some(ring) = Ring::of(memory) else { return };
        if self.lane.make_room(ring.length) {
            self.lose(oldest(&ring));
        }
        self.skip_replaced(&ring);
        let before = self.next;
        let mut new = Vec::new();
        while self.next != ring.head && new.len() < self.lane.room() {
            match ring.record(self.next) {
                Some(words) => self.take(words, &mut new),
                None if is_over || self.unfinished == Some(self.next) => self.lose(1),
                None => {
                    self.unfinished = Some(self.next);
                    break;
                }
            }
        }
        self.is_half_new = ring.length / 2 <= self.next.wrapping_sub(before);
        self.has_left_some = self.next != ring.head && self.unfinished != Some(self.next);
        if is_over {
            self.lose(ring.head.wrapping_sub(self.next));
        }
        self.add(new, is_over);
    }

    /// Notes that the memory has not changed since the latest reading. Returns whether records are left in
    /// the ring.
    pub fn note_unchanged(&mut self) -> bool {
        self.is_half_new = false;
        self.has_left_some
    }

    /// Whether the memory has a ring with records.
    pub fn is_used(&self) -> bool {
        0 < self.lane.head
    }

    /// Whether the latest reading found half of a ring of new records.
    pub fn is_half_new(&self) -> bool {
        self.is_half_new
    }

    /// The lane. `None` if the memory has no ring, or nothing was recorded.
    pub fn lane(&self) -> Option<LaneBytes> {
        let RingLane {
            records,
            tail,
            head,
        } = &self.lane;
        self.is_used().then(|| LaneBytes {
            lane: lane_head(*tail, *head, self.lost),
            records: records.clone(),
        })
    }

    /// Notes that the records of the lane before `tail` were read.
    pub fn release(&mut self, tail: u64) {
        self.lane.tail = tail;
    }

    /// Counts records that were replaced before they were read.
    fn skip_replaced(&mut self, ring: &Ring<'_>) {
        let replaced = ring
            .head
            .wrapping_sub(self.next)
            .saturating_sub(ring.length);
        self.lose(replaced);
    }

    fn lose(&mut self, count: u32) {
        self.next = self.next.wrapping_add(count);
        self.lost = self.lost.wrapping_add(count);
        self.unstated = self.unstated.wrapping_add(count);
    }

    fn take(&mut self, words: Words, new: &mut Vec<Words>) {
        if self.lane.head == 0 && new.is_empty() {
            self.lost_before = self.lost;
        } else if 0 < self.unstated {
            new.push(loss(ThreadEventKind::Loss, words[1], self.lost));
        }
        self.unstated = 0;
        self.next = self.next.wrapping_add(1);
        new.push(words);
    }

    /// Adds records in the order of time. A lane begins with the losses before its first record; if the reading
    /// is over, a lane may consist of losses only.
    fn add(&mut self, mut new: Vec<Words>, is_over: bool) {
        new.sort_by_key(|words| words[1]); // stable
        let has_losses_only = is_over && 0 < self.lost;
        if self.lane.head == 0 && (!new.is_empty() || has_losses_only) {
            let at = new.first().map_or(0, |words| words[1]);
            self.lane
                .push(&loss(ThreadEventKind::Begin, at, self.lost_before));
        }
        for words in &new {
            self.lane.push(words);
        }
    }
}

/// The oldest record that a ring may have. A ring that was never full begins with record 0. If the number of records
/// has passed 2^32, the ring has records with larger numbers than its head.
fn oldest(ring: &Ring<'_>) -> u32 {
    let mut all = (1..=ring.length)
        .rev()
        .map(|back| ring.head.wrapping_sub(back));
    all.find(|h| *h < ring.head || ring.record(*h).is_some())
        .unwrap_or(0)
}

impl RingLane {
    /// Makes the lane, of twice the ring's length: each record may need another that states a loss. Returns
    /// whether this is the first call.
    fn make_room(&mut self, length: u32) -> bool {
        let is_first = self.records.is_empty();
        if is_first {
            let capacity = 2 * (length as usize).max(2);
            self.records = vec![0; capacity * size_of::<LaneRecord>()];
        }
        is_first
    }

    fn capacity(&self) -> u64 {
        (self.records.len() / size_of::<LaneRecord>()) as u64
    }

    /// How many records can be read before the lane may be full, as each may need two places.
    fn room(&self) -> usize {
        let free = self.capacity() - (self.head - self.tail);
        free.saturating_sub(1) as usize
    }

    fn push(&mut self, words: &Words) {
        let capacity = self.capacity();
        let place = (self.head % capacity) as usize * size_of::<LaneRecord>();
        let laps = (self.head / capacity % u64::from(LAPS)) as u32;
        let place = &mut self.records[place..place + size_of::<LaneRecord>()];
        put_record(place, words, lap(laps, 1));
        self.head += 1;
    }
}

#[cfg(test)]
mod tests {
    use ctp_nostd::lane::{Copied, Payload};
    use ctp_nostd::layout::{Header, Lane, RingHead};

    use super::*;
    use crate::image::words::{half_at, offset_of, put, put_half, word_at};

    const LENGTH: u32 = 8;
    const HEAD: usize = size_of::<Header>();
    const RECORDS: usize = HEAD + size_of::<RingHead>();
    /// A lane has twice the ring's length.
    const CAPACITY: u64 = 16;

    const BEGIN: (u8, u64) = (ThreadEventKind::Begin as u8, 0);
    const CLOSE: u8 = ThreadEventKind::Close as u8;
    const LOSS: u8 = ThreadEventKind::Loss as u8;

    fn memory() -> Vec<u8> {
        let mut memory = vec![0; RECORDS + LENGTH as usize * size_of::<LaneRecord>()];
        for (table, offset, entries) in [("lanes", HEAD, 1), ("records", RECORDS, LENGTH)] {
            let span = offset_of(Header::FIELDS, table);
            put(&mut memory, span, offset as u64);
            put(&mut memory, span + 8, u64::from(entries) | 32 << 32);
        }
        memory
    }

    fn place(memory: &mut [u8], h: u32) -> &mut [u8] {
        let at = RECORDS + (h % LENGTH) as usize * size_of::<LaneRecord>();
        &mut memory[at..at + size_of::<LaneRecord>()]
    }

    /// Writes record `h`, of this time.
    fn write(memory: &mut [u8], h: u32, at: u64) {
        let payload = Payload {
            kind: CLOSE,
            arg: h.into(),
            ..Payload::default()
        };
        let words = Copied::of(at, &payload).words();
        put_record(place(memory, h), &words, lap(h, LENGTH));
        put_half(memory, HEAD, h.wrapping_add(1));
    }

    /// Reads the lane like a pass: the kind of each new record, and its resource or the losses by then.
    fn pass(ring: &mut RingReader) -> Vec<(u8, u64)> {
        let Some(LaneBytes { lane, records }) = ring.lane() else {
            return Vec::new();
        };
        let [tail, head] =
            ["tail", "head"].map(|name| word_at(&lane, offset_of(Lane::FIELDS, name)));
        assert_eq!(half_at(&lane, offset_of(Lane::FIELDS, "lost")), ring.lost);
        ring.release(head);
        let read = |at: u64| {
            let place = (at % CAPACITY) as usize * size_of::<LaneRecord>();
            let words: [u64; 4] = std::array::from_fn(|word| word_at(&records, place + 8 * word));
            // As in `LAYOUT.md`: the lap, the kind and the number.
            assert_eq!(words[0] >> 49, at / CAPACITY + 1, "the lap of record {at}");
            let (kind, n) = ((words[0] >> 44) as u8 % 32, words[0] >> 28 & 0xFFFF);
            (kind, if kind == CLOSE { words[3] } else { n })
        };
        (tail..head).map(read).collect()
    }

    fn closes(range: std::ops::Range<u64>) -> Vec<(u8, u64)> {
        range.map(|h| (CLOSE, h)).collect()
    }

    // CTP-11
    #[test]
    fn each_record_is_read_once_through_many_laps() {
        let (mut memory, mut ring) = (memory(), RingReader::default());
        let (mut found, mut written) = (Vec::new(), 0);
        for count in [3, 8, 1, 0, 5, 8, 8, 7, 2, 8] {
            for h in written..written + count {
                write(&mut memory, h, h.into());
            }
            written += count;
            ring.read(&memory, false);
            found.extend(pass(&mut ring));
        }
        assert_eq!(found[0], BEGIN);
        assert_eq!(found[1..], closes(0..written.into()));
    }

    // CTP-11
    #[test]
    fn replaced_records_are_lost() {
        let (mut memory, mut ring) = (memory(), RingReader::default());
        (0..4).for_each(|h| write(&mut memory, h, h.into()));
        ring.read(&memory, false);
        pass(&mut ring);
        (4..15).for_each(|h| write(&mut memory, h, h.into()));
        ring.read(&memory, false);
        let expected = [vec![(LOSS, 3)], closes(7..15)].concat();
        assert_eq!(pass(&mut ring), expected);
    }

    // CTP-08
    #[test]
    fn record_that_is_being_written_is_read_later_or_lost() {
        for is_finished in [true, false] {
            let (mut memory, mut ring) = (memory(), RingReader::default());
            (0..4).for_each(|h| write(&mut memory, h, h.into()));
            put(place(&mut memory, 2), 0, u64::MAX << 32);
            ring.read(&memory, false);
            assert_eq!(pass(&mut ring), [vec![BEGIN], closes(0..2)].concat());
            if is_finished {
                write(&mut memory, 2, 2);
                put_half(&mut memory, HEAD, 4);
            }
            ring.read(&memory, false);
            let unfinished = [vec![(LOSS, 1)], closes(3..4)].concat();
            let expected = [unfinished, closes(2..4)];
            assert_eq!(pass(&mut ring), expected[usize::from(is_finished)]);
        }
    }

    #[test]
    fn rest_is_read_at_the_end() {
        let (mut memory, mut ring) = (memory(), RingReader::default());
        (0..4).for_each(|h| write(&mut memory, h, h.into()));
        put(place(&mut memory, 1), 0, u64::MAX << 32);
        ring.read(&memory, true);
        let expected = [vec![BEGIN], closes(0..1), vec![(LOSS, 1)], closes(2..4)];
        assert_eq!(pass(&mut ring), expected.concat());
    }

    // CTP-08
    #[test]
    fn records_of_handlers_are_in_the_order_of_time() {
        let (mut memory, mut ring) = (memory(), RingReader::default());
        for (h, at) in [30, 20, 10, 40].into_iter().enumerate() {
            write(&mut memory, h as u32, at);
        }
        ring.read(&memory, false);
        let found = pass(&mut ring);
        let expected = [BEGIN, (CLOSE, 2), (CLOSE, 1), (CLOSE, 0), (CLOSE, 3)];
        assert_eq!(found, expected);
    }

    #[test]
    fn full_lane_leaves_the_rest_in_the_ring() {
        let (mut memory, mut ring) = (memory(), RingReader::default());
        for round in 0..3 {
            (8 * round..8 * round + 8).for_each(|h| write(&mut memory, h, h.into()));
            ring.read(&memory, false); // no pass releases the lane
        }
        let found = pass(&mut ring);
        assert!(found.len() <= CAPACITY as usize, "{found:?}");
        assert_eq!(found[1..], closes(0..found.len() as u64 - 1));
        assert!(ring.note_unchanged(), "some are left");
        ring.read(&memory, false);
        let rest = pass(&mut ring);
        assert_eq!(rest.last(), Some(&(CLOSE, 23)), "{rest:?}");
        assert!(!ring.note_unchanged());
    }

    // CTP-11
    #[test]
    fn what_finds_no_room_at_the_end_is_lost() {
        let (mut memory, mut ring) = (memory(), RingReader::default());
        for round in 0..3 {
            (8 * round..8 * round + 8).for_each(|h| write(&mut memory, h, h.into()));
            ring.read(&memory, round == 2); // no pass releases the lane
        }
        let found = pass(&mut ring).len() as u32 - 1;
        assert_eq!(found + ring.lost, 24);
    }

    // CTP-27
    #[test]
    fn records_across_2_to_the_32_are_read() {
        let (mut memory, mut ring) = (memory(), RingReader::default());
        for back in (0..LENGTH).rev() {
            let h = 2_u32.wrapping_sub(back);
            write(&mut memory, h, 10 - u64::from(back));
        }
        ring.read(&memory, true);
        let numbers: Vec<u64> = pass(&mut ring)[1..].iter().map(|(_, h)| *h).collect();
        let first = u64::from(u32::MAX) - 4;
        let expected: Vec<u64> = (first..=u32::MAX.into()).chain(0..3).collect();
        assert_eq!(numbers, expected);
    }

    // CTP-11
    #[test]
    fn ring_without_a_whole_record_has_losses() {
        let (mut memory, mut ring) = (memory(), RingReader::default());
        put_half(&mut memory, HEAD, 5);
        ring.read(&memory, true);
        assert_eq!(pass(&mut ring), [BEGIN]);
        assert_eq!(ring.lost, 5);
    }
}

//! Copies records out of lanes, so that the lanes have room again however long the merge takes. Two
//! threads share the copies: the merging thread copies when it begins a round, and the drainer thread
//! copies while the merging thread is busy (`drainer.rs`).

use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use ctp_nostd::Region;
use ctp_nostd::lane::{Copied, LANES_AHEAD, Ring};
use ctp_nostd::layout::SLOTS;

use super::prefault::{Prefault, PrefaultRange, RECORDS_PER_PAGE};
use super::queue::{MAX_RECORD_BYTES, Queue, Spare};
use crate::output::backlog::Backlog;

/// The copies of all lanes of a memory.
#[derive(Debug, Default)]
pub(crate) struct Copies {
    readers: Vec<LaneReader>,
    spare: Spare,
    backlog: Backlog,
    /// The number of lanes with a prefaulted first page.
    lanes_prefaulted: u32,
    /// All lanes were read since copies were last collected.
    is_fresh: bool,
}

/// How far a lane has been copied.
#[derive(Debug, Default)]
pub(super) struct LaneReader {
    /// The next record to copy.
    next: u64,
    /// The lane's head when it was last read.
    limit: u64,
    /// Records that found no room, modulo 2^32.
    lost: u32,
    /// The lane's capacity in records.
    capacity: u64,
    prefault: Prefault,
    /// The next record is reserved and not committed.
    is_pending: bool,
    /// The lane's words are impossible: the lane is not read any more.
    is_damaged: bool,
    /// How full the ring was at most since the last collection. The unit is an eighth, which is comparable to
    /// one of a station's eight slots.
    eighths: u64,
    /// Records that are copied and not collected.
    queue: Queue,
    /// Bytes of copies that were collected and are still waiting to be merged.
    waiting_bytes: u64,
}

/// A lane without copies gets room for this many records in any case, because all other lanes may be
/// waiting for it.
const MIN_RECORDS: usize = 2048;

/// A lane's copies take at most this many times the room that stays free.
const MAX_SHARE_FACTOR: u64 = 32;

/// The most records that are copied before their room in the lane is released.
const RECORDS_PER_STEP: usize = 4096;

impl Copies {
    pub fn within(backlog: Backlog) -> Self {
        Copies {
            backlog,
            ..Copies::default()
        }
    }

    /// Copies what all threads have committed, as far as there is room; copies everything if the program is
    /// `over`. Returns how full the fullest lane was, in eighths.
    pub fn copy(&mut self, region: &Region<'_>, over: bool) -> u64 {
        let mut fullest = 0;
        for (index, ring) in rings(region).enumerate() {
            if index == self.readers.len() {
                if !ring.is_used() {
                    break;
                }
                self.readers.push(LaneReader::at_tail(&ring));
            }
            let reader = &mut self.readers[index];
            fullest = reader.read_counters(&ring).max(fullest);
            let room = if over {
                usize::MAX
            } else {
                reader.share_of(self.backlog.room_bytes()) as usize / MAX_RECORD_BYTES
            };
            let bytes = reader.copy(&ring, room, over, &mut self.spare);
            self.backlog.copies_added(bytes);
            if reader.has_left_some() {
                self.backlog.note_full();
            }
        }
        self.is_fresh = true;
        fullest
    }

    /// Adds a lane of an image: its records and the count of records that found no room, or `None` if the
    /// lane's words are impossible. Records for which there is no memory are lost.
    pub(super) fn add_lane(&mut self, lost: Option<u32>, records: Vec<Copied>) {
        let (count, mut records) = (records.len(), records.into_iter());
        let mut queue = Queue::default();
        queue.fill(count, &mut self.spare, || records.next());
        let left_out = (count - queue.len()) as u32;
        self.readers.push(LaneReader {
            queue,
            lost: lost.unwrap_or(0).wrapping_add(left_out),
            is_damaged: lost.is_none(),
            ..LaneReader::default()
        });
    }

    /// The records to prefault, see `prefault.rs`; `elapsed_ms` is the time since the last call. At most `left`
    /// records are in lanes that threads use; their number is subtracted from `left`. The first pages of the next
    /// unused lanes come in addition.
    pub fn prefault_ranges<'m>(
        &mut self,
        region: &Region<'m>,
        elapsed_ms: u64,
        left: &mut u64,
    ) -> Vec<PrefaultRange<'m>> {
        let readers = self.readers.iter_mut().enumerate();
        let sound = readers.filter(|(_, reader)| !reader.is_damaged);
        let mut ranges: Vec<_> = sound
            .map(|(index, reader)| {
                let range = reader.next_prefault(elapsed_ms, *left);
                *left -= range.end - range.start;
                (index as u32, range)
            })
            .filter(|(_, range)| !range.is_empty())
            .collect();
        let fresh = self.lanes_prefaulted..self.lanes() as u32 + LANES_AHEAD;
        self.lanes_prefaulted = fresh.end;
        ranges.extend(fresh.map(|index| (index, 0..RECORDS_PER_PAGE)));
        ranges
            .into_iter()
            .filter_map(|(index, range)| {
                let is_unclaimed = self.lanes() as u32 <= index;
                let records = region.ring(index)?.places(range);
                Some(PrefaultRange {
                    records,
                    is_unclaimed,
                })
            })
            .collect()
    }

    /// Hands over the copies, lane by lane, and takes back empty blocks.
    pub(super) fn collect(
        &mut self,
        spare: &mut Spare,
        mut into: impl FnMut(usize, &mut LaneReader),
    ) {
        self.spare.add(spare);
        self.is_fresh = false;
        for (index, reader) in self.readers.iter_mut().enumerate() {
            into(index, reader);
        }
    }

    /// Whether all lanes were read since copies were last collected.
    pub(super) fn is_fresh(&self) -> bool {
        self.is_fresh
    }

    /// The number of lanes that threads have used.
    pub fn lanes(&self) -> usize {
        self.readers.len()
    }

    /// Records that found no room, excluding damaged lanes.
    pub fn crowded_out(&self) -> u64 {
        self.losses().flatten().map(u64::from).sum()
    }

    /// Records of each lane that found no room, modulo 2^32; `None` for a damaged lane.
    pub fn losses(&self) -> impl Iterator<Item = Option<u32>> {
        let readers = self.readers.iter();
        readers.map(|reader| (!reader.is_damaged).then_some(reader.lost))
    }

    /// The number of damaged lanes, which are not read any more.
    pub fn damaged(&self) -> u32 {
        self.losses().filter(Option::is_none).count() as u32
    }
}

/// Locks a mutex, also after a panic of another holder. The data are then still consistent: a thread that
/// panicked during a copy has left only what it had counted.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// All lanes, in the order in which threads take them.
fn rings<'m>(region: &Region<'m>) -> impl Iterator<Item = Ring<'m>> {
    let region = *region;
    (0..).map_while(move |index| region.ring(index))
}

impl LaneReader {
    /// Starts at the tail: records before it were already released by an earlier reader.
    fn at_tail(ring: &Ring<'_>) -> Self {
        LaneReader {
            next: ring.tail(),
            capacity: ring.capacity(),
            ..LaneReader::default()
        }
    }

    /// Reads the lane's counters. Returns how full the ring is, in eighths.
    fn read_counters(&mut self, ring: &Ring<'_>) -> u64 {
        self.limit = ring.head();
        self.lost = ring.lost();
        let unread = self.limit.wrapping_sub(self.next);
        self.is_damaged |= unread > ring.capacity() || ring.tail() != self.next;
        let eighths = unread.min(ring.capacity()) * SLOTS as u64 / ring.capacity().max(1);
        self.eighths = self.eighths.max(eighths);
        eighths
    }

    /// Copies committed records, at most `room`, and releases them. Skips a record that was pending at the
    /// last call and will never be committed. Returns the bytes that the copies take.
    fn copy(&mut self, ring: &Ring<'_>, room: usize, over: bool, spare: &mut Spare) -> u64 {
        let (before, bytes_before) = (self.queue.len(), self.queue.bytes());
        let least = if self.waiting_bytes == 0 {
            MIN_RECORDS
        } else {
            before
        };
        let end = before.saturating_add(room).max(least);
        let was_pending = std::mem::take(&mut self.is_pending);
        while !self.is_damaged && self.copy_committed(ring, end, spare) {
            let is_abandoned = || was_pending && ring.is_abandoned(self.next, self.limit);
            self.is_pending = !over && !is_abandoned();
            if self.is_pending {
                break;
            }
            self.next = self.next.wrapping_add(1);
        }
        if !self.is_damaged {
            ring.release(self.next);
        }
        self.queue.bytes() - bytes_before
    }

    /// Copies until there are `end` copies or a record is not committed; returns true in the latter case.
    /// Releases the lane step by step: a program at full speed needs the room before everything is copied.
    fn copy_committed(&mut self, ring: &Ring<'_>, end: usize, spare: &mut Spare) -> bool {
        loop {
            let step = end.min(self.queue.len().saturating_add(RECORDS_PER_STEP));
            let had_no_more = self.copy_some(ring, step, spare);
            ring.release(self.next);
            if had_no_more || self.queue.len() < step || step == end {
                return had_no_more && self.next != self.limit;
            }
        }
    }

    /// Copies until there are `end` copies. Returns true if there was no more to copy.
    fn copy_some(&mut self, ring: &Ring<'_>, end: usize, spare: &mut Spare) -> bool {
        loop {
            let (before, lap) = (self.queue.len(), ring.places(self.next..self.limit).len());
            let mut copies = ring.copies(self.next..self.limit);
            let at_most = end.saturating_sub(before);
            let had_no_more = self.queue.fill(at_most, spare, || copies.next());
            let copied = self.queue.len() - before;
            self.next = self.next.wrapping_add(copied as u64);
            let is_lap_over = 0 < copied && copied == lap && self.next != self.limit;
            if !(had_no_more && is_lap_over) {
                return had_no_more;
            }
        }
    }

    /// The records to prefault for the lane's thread, at most `most`.
    fn next_prefault(&mut self, elapsed_ms: u64, most: u64) -> Range<u64> {
        self.prefault
            .next(self.limit, self.capacity, most, elapsed_ms)
    }

    /// Whether the lane has records that were not copied for lack of room.
    pub fn has_left_some(&self) -> bool {
        self.next != self.limit && !self.is_pending && !self.is_damaged
    }

    /// Whether all reserved records are copied. True for a damaged lane, which is not read any more.
    pub fn is_complete(&self) -> bool {
        self.next == self.limit || self.is_damaged
    }

    /// The bytes of free room that this lane may take. However many lanes are at full speed, some room stays
    /// free for the others. This is the dynamic threshold with which switches share their buffers (Choudhury
    /// and Hahne 1998).
    fn share_of(&self, free_bytes: u64) -> u64 {
        let taken_bytes = self.waiting_bytes + self.queue.bytes();
        let most_bytes = free_bytes.saturating_mul(MAX_SHARE_FACTOR);
        most_bytes.saturating_sub(taken_bytes) / (MAX_SHARE_FACTOR + 1)
    }

    /// Moves the copies to the end of `waiting`. Returns how full the ring was at most since the last call,
    /// in eighths.
    pub fn move_to(&mut self, waiting: &mut Queue) -> u64 {
        waiting.append(&mut self.queue);
        self.waiting_bytes = waiting.bytes();
        std::mem::take(&mut self.eighths)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // LT-07
    #[test]
    fn lanes_at_full_speed_leave_room_for_another_lane() {
        const LIMIT_BYTES: u64 = 8 << 20;
        const A_LOOK_BYTES: u64 = 4096;
        for flat_out in 1..=8 {
            let mut lanes: Vec<LaneReader> = (0..flat_out).map(|_| LaneReader::default()).collect();
            let mut free_bytes = LIMIT_BYTES;
            for _ in 0..LIMIT_BYTES / A_LOOK_BYTES {
                for lane in &mut lanes {
                    let share_bytes = lane.share_of(free_bytes).min(A_LOOK_BYTES);
                    lane.waiting_bytes += share_bytes;
                    free_bytes -= share_bytes;
                }
            }
            assert!(lanes[0].waiting_bytes > LIMIT_BYTES * 9 / 10 / flat_out);
            let for_another_bytes = LaneReader::default().share_of(free_bytes);
            assert!(for_another_bytes > LIMIT_BYTES / MAX_SHARE_FACTOR / flat_out / 2);
        }
    }
}

//! Copies of what stands in lanes, made so that the lanes have room again, however long it takes
//! to put the copies in order. Two threads share them: the one that puts them in order copies when
//! it begins a round, and another one copies while that is busy (`drainer.rs`).

use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use ctp_nostd::Region;
use ctp_nostd::lane::{Copied, Ring};
use ctp_nostd::layout::SLOTS;

use super::groundwork::{Ground, Groundwork, LANES_AHEAD, RECORDS_OF_A_PAGE};
use super::queue::{MOST_BYTES, Queue, Spare};
use crate::output::backlog::Backlog;

/// Of all lanes of a memory.
#[derive(Debug, Default)]
pub(crate) struct Copies {
    readers: Vec<Reader>,
    spare: Spare,
    backlog: Backlog,
    /// Lanes whose first page has been asked for.
    begun: u32,
    /// There was a look at all lanes since copies were last collected.
    is_fresh: bool,
}

/// How far one lane has been copied.
#[derive(Debug, Default)]
pub(super) struct Reader {
    /// The next record to copy.
    next: u64,
    /// Reserved at the latest look.
    limit: u64,
    /// Records that found no room.
    lost: u32,
    /// How many it can hold.
    capacity: u64,
    groundwork: Groundwork,
    /// Somebody reserved the next record and has not committed it.
    is_pending: bool,
    /// Its words cannot be true: it is not read any more.
    is_damaged: bool,
    /// How full the ring ever was since this was last asked for, in the eighths of which a station
    /// has slots.
    eighths: u64,
    /// What was copied and not collected.
    queue: Queue,
    /// Room of copies that were collected before, and waited still.
    waiting_bytes: u64,
}

/// A lane of which there are no copies gets so much room in any case, for all others may wait for
/// it.
const LEAST: usize = 2048;

/// A lane's copies take at most so many times the room that stays free.
const MOST_TO_FREE: u64 = 32;

/// So many copies are made at once.
const STEP: usize = 4096;

impl Copies {
    pub fn within(backlog: Backlog) -> Self {
        Copies {
            backlog,
            ..Copies::default()
        }
    }

    /// Copies what all threads have committed, as far as there is room; everything if the program is
    /// `over`. Returns how full the fullest lane was, in eighths.
    pub fn copy(&mut self, region: &Region<'_>, over: bool) -> u64 {
        let mut fullest = 0;
        for (index, ring) in rings(region).enumerate() {
            if index == self.readers.len() {
                if !ring.is_used() {
                    break;
                }
                self.readers.push(Reader::at_tail(&ring));
            }
            let reader = &mut self.readers[index];
            fullest = reader.look(&ring).max(fullest);
            let room = match over {
                true => usize::MAX,
                false => reader.share_of(self.backlog.room_bytes()) as usize / MOST_BYTES,
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

    /// Adds a lane of an image: its records, and how many found no room; nothing if its words cannot be true.
    /// Records for which there is no memory are lost.
    pub(super) fn add_lane(&mut self, lost: Option<u32>, records: Vec<Copied>) {
        let (count, mut records) = (records.len(), records.into_iter());
        let mut queue = Queue::default();
        queue.fill(count, &mut self.spare, || records.next());
        let left_out = (count - queue.len()) as u32;
        self.readers.push(Reader {
            queue,
            lost: lost.unwrap_or(0).wrapping_add(left_out),
            is_damaged: lost.is_none(),
            ..Reader::default()
        });
    }

    /// The places whose pages are to be there before threads come to them, see `groundwork.rs`: not
    /// many more than are `left`.
    pub fn groundwork<'m>(&mut self, region: &Region<'m>, left: &mut u64) -> Vec<Ground<'m>> {
        let readers = self.readers.iter_mut().enumerate();
        let sound = readers.filter(|(_, reader)| !reader.is_damaged);
        let mut wanted: Vec<_> = sound
            .map(|(index, reader)| {
                let range = reader.next_groundwork(*left);
                *left -= range.end - range.start;
                (index as u32, range)
            })
            .filter(|(_, range)| !range.is_empty())
            .collect();
        let fresh = self.begun..self.lanes() as u32 + LANES_AHEAD;
        self.begun = fresh.end;
        wanted.extend(fresh.map(|index| (index, 0..RECORDS_OF_A_PAGE)));
        let ground = |(index, range): (u32, Range<u64>)| {
            let is_new = self.lanes() as u32 <= index;
            let places = region.ring(index)?.places(range);
            Some(Ground { places, is_new })
        };
        wanted.into_iter().filter_map(ground).collect()
    }

    /// Hands over what was copied, lane by lane, and takes back blocks that are empty.
    pub(super) fn collect(&mut self, spare: &mut Spare, mut into: impl FnMut(usize, &mut Reader)) {
        self.spare.add(spare);
        self.is_fresh = false;
        for (index, reader) in self.readers.iter_mut().enumerate() {
            into(index, reader);
        }
    }

    /// Was there a look at all lanes since copies were last collected?
    pub(super) fn is_fresh(&self) -> bool {
        self.is_fresh
    }

    /// How many lanes threads have had.
    pub fn lanes(&self) -> usize {
        self.readers.len()
    }

    /// Records that found no room, as far as what the lanes say can be believed.
    pub fn crowded_out(&self) -> u64 {
        self.losses().flatten().map(u64::from).sum()
    }

    /// Records of each lane that found no room, modulo 2^32; nothing of one whose words cannot be true.
    pub fn losses(&self) -> impl Iterator<Item = Option<u32>> {
        let readers = self.readers.iter();
        readers.map(|reader| (!reader.is_damaged).then_some(reader.lost))
    }

    /// Lanes whose words cannot be true: they are not read any more.
    pub fn damaged(&self) -> u32 {
        self.losses().filter(Option::is_none).count() as u32
    }
}

/// What is there is whole also after a panic: a thread that panicked amid a copy has left what it had
/// counted.
pub(crate) fn locked<T>(it: &Mutex<T>) -> MutexGuard<'_, T> {
    it.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A lane is never used before those in front of it.
fn rings<'m>(region: &Region<'m>) -> impl Iterator<Item = Ring<'m>> {
    let region = *region;
    (0..).map_while(move |index| region.ring(index))
}

impl Reader {
    /// What is already given back was read by somebody else.
    fn at_tail(ring: &Ring<'_>) -> Self {
        Reader {
            next: ring.tail(),
            capacity: ring.capacity(),
            ..Reader::default()
        }
    }

    /// How far is its thread, and how full the ring?
    fn look(&mut self, ring: &Ring<'_>) -> u64 {
        self.limit = ring.head();
        self.lost = ring.lost();
        let unread = self.limit.wrapping_sub(self.next);
        self.is_damaged |= unread > ring.capacity() || ring.tail() != self.next;
        let eighths = unread.min(ring.capacity()) * SLOTS as u64 / ring.capacity().max(1);
        self.eighths = self.eighths.max(eighths);
        eighths
    }

    /// Copies what is committed, at most so many, and gives the lane its room back. What was
    /// pending before and will never be committed is passed over. Gives the room that the copies take.
    fn copy(&mut self, ring: &Ring<'_>, room: usize, over: bool, spare: &mut Spare) -> u64 {
        let (before, bytes_before) = (self.queue.len(), self.queue.bytes());
        let least = if self.waiting_bytes == 0 {
            LEAST
        } else {
            before
        };
        let end = before.saturating_add(room).max(least);
        let was_pending = std::mem::take(&mut self.is_pending);
        while !self.is_damaged && self.copy_committed(ring, end, spare) {
            let is_gone = || was_pending && ring.is_abandoned(self.next, self.limit);
            self.is_pending = !over && !is_gone();
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

    /// Until there are so many, or one is not committed. True if so. The lane has its room back step
    /// by step: all at once would be late for a program that is flat out.
    fn copy_committed(&mut self, ring: &Ring<'_>, end: usize, spare: &mut Spare) -> bool {
        loop {
            let step = end.min(self.queue.len().saturating_add(STEP));
            let had_no_more = self.copy_some(ring, step, spare);
            ring.release(self.next);
            if had_no_more || self.queue.len() < step || step == end {
                return had_no_more && self.next != self.limit;
            }
        }
    }

    /// Copies up to `end` records in one step. True if there was no more.
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

    /// Of at most so many places: which are to be there before its thread comes?
    fn next_groundwork(&mut self, most: u64) -> Range<u64> {
        self.groundwork.next(self.limit, self.capacity, most)
    }

    /// Is something still where it was, although it could have been copied?
    pub fn has_left_some(&self) -> bool {
        self.next != self.limit && !self.is_pending && !self.is_damaged
    }

    /// Has it copied all that was reserved?
    pub fn is_complete(&self) -> bool {
        self.next == self.limit || self.is_damaged
    }

    /// Of so much room that is free: what this lane may take. However many are flat out, some stays free
    /// for those that are not: the dynamic threshold by which switches share their buffers (Choudhury and
    /// Hahne 1998).
    fn share_of(&self, free_bytes: u64) -> u64 {
        let taken_bytes = self.waiting_bytes + self.queue.bytes();
        let most_bytes = free_bytes.saturating_mul(MOST_TO_FREE);
        most_bytes.saturating_sub(taken_bytes) / (MOST_TO_FREE + 1)
    }

    /// Moves the copies to the end of what waits. Gives how full the ring was.
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
    fn however_many_lanes_are_flat_out_there_is_room_for_one_that_is_not() {
        const LIMIT_BYTES: u64 = 8 << 20;
        const A_LOOK_BYTES: u64 = 4096;
        for flat_out in 1..=8 {
            let mut lanes: Vec<Reader> = (0..flat_out).map(|_| Reader::default()).collect();
            let mut free_bytes = LIMIT_BYTES;
            for _ in 0..LIMIT_BYTES / A_LOOK_BYTES {
                for lane in &mut lanes {
                    let share_bytes = lane.share_of(free_bytes).min(A_LOOK_BYTES);
                    lane.waiting_bytes += share_bytes;
                    free_bytes -= share_bytes;
                }
            }
            assert!(lanes[0].waiting_bytes > LIMIT_BYTES * 9 / 10 / flat_out);
            let for_another_bytes = Reader::default().share_of(free_bytes);
            assert!(for_another_bytes > LIMIT_BYTES / MOST_TO_FREE / flat_out / 2);
        }
    }
}

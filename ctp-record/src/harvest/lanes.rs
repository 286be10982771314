//! Merges the records of all lanes by time and turns them into events of coroutines.
//!
//! A round takes the records that were committed when it began, earliest first. An event is emitted only
//! after its coroutine's previous event. The previous event may lie in another thread's lane and become
//! visible only at the next reading of that lane; then the round takes only earlier records. If all lanes
//! were read again and the previous event has not come, it is in no lane. Then it is read from the station's
//! slots, or counted as lost if they no longer hold it.
//!
//! A round begins by collecting copies of all committed records (`copies.rs`). This file decides which
//! lane is next, and `merge.rs` takes its records.

mod merge;
mod usual;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::{Arc, Mutex};

use ctp_nostd::Region;
use ctp_nostd::lane::{Copied, Payload};
use ctp_trace::record::ProcessId;

use super::LEEWAY_NS;
use super::copies::{Copies, locked};
use super::image::ImageLane;
use super::queue::{Queue, QueueWindow, Spare};
use super::thread_events::Author;
use crate::output::backlog::Backlog;
pub(super) use usual::EventBatch;

/// Records after which a round ends, so that the stations of ended coroutines become free in time.
const MAX_RECORDS_PER_ROUND: u64 = 1 << 13;

/// How far all lanes have been read.
#[derive(Debug, Default)]
pub(super) struct Lanes {
    cursors: Vec<LaneCursor>,
    /// Lanes with a record that can be taken, by the time of their first record.
    ready: BinaryHeap<Reverse<(u64, usize)>>,
    /// Lanes with a first record that waits for another lane.
    waiting: Vec<usize>,
    marks: EmittedRounds,
    round: Round,
    /// A second thread copies too.
    is_helped: bool,
    /// Scratch space for taking records.
    window: QueueWindow,
    spare: Spare,
    copies: Arc<Mutex<Copies>>,
    pub backlog: Backlog,
}

/// Tracks, by rounds, which records have become events.
#[derive(Debug, Default)]
struct EmittedRounds {
    /// The number of rounds so far, modulo 2^32.
    round: u32,
    /// Every record that was committed when this round began has become an event.
    emitted_as_of: u32,
    /// The records that were committed when this round began are marked. Each is unmarked as it becomes an event.
    marked_at: u32,
    /// The number of marked records.
    marked: u64,
}

/// The state of the latest round.
#[derive(Debug, Default)]
struct Round {
    /// Records taken.
    taken: u64,
    /// Bytes that the copies of these records took.
    taken_bytes: u64,
    /// The backlog has too many chunks for now: no records are taken.
    is_held: bool,
    /// The round ended before it had taken everything.
    was_cut_short: bool,
    /// Everything in the lanes when the round began has been copied.
    is_all_copied: bool,
    /// Some lane has records but no copies: its next record may be the earliest.
    has_run_dry: bool,
}

/// The copies of a lane.
#[derive(Debug, Default)]
struct LaneCursor {
    /// Records that are copied and not taken.
    queue: Queue,
    /// The number of marked records, from the start of the queue.
    marked: u64,
    /// The lane has more records, for which there was no room.
    has_left_some: bool,
    /// The time of the first record in the queue.
    front_at: Option<u64>,
    /// The thread that wrote these records.
    author: Author,
    /// The number of records, from the start of the queue, that were copied before the latest reading of all
    /// lanes. Everything that was recorded earlier in any lane has been copied too, unless there was no room.
    settled: usize,
}

/// A decoded record of a lane.
#[derive(Clone, Copy, Debug)]
pub(super) struct LaneEntry {
    pub at: u64,
    pub payload: Payload,
}

/// Up to which time a round takes records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TimeLimit {
    /// Records before this time.
    Before(u64),
    /// Records up to and including this time, of an image, which does not grow.
    Until(u64),
    /// All records; no more will come.
    End,
}

impl TimeLimit {
    /// The latest time to take.
    fn last(self) -> u64 {
        match self {
            TimeLimit::Before(horizon) => horizon.saturating_sub(1),
            TimeLimit::Until(at) => at,
            TimeLimit::End => u64::MAX,
        }
    }

    /// Whether the lanes no longer grow.
    fn is_over(self) -> bool {
        !matches!(self, TimeLimit::Before(_))
    }

    /// Whether this time is too far in the future to be possible.
    fn is_far_in_future(self, at: u64) -> bool {
        match self {
            TimeLimit::Before(now) => now.saturating_add(LEEWAY_NS) < at,
            TimeLimit::Until(_) | TimeLimit::End => false,
        }
    }
}

impl LaneEntry {
    #[inline]
    fn of(copied: &Copied) -> Self {
        let (at, payload) = copied.read();
        LaneEntry { at, payload }
    }
}

impl LaneCursor {
    fn refresh_front(&mut self) {
        self.front_at = self.queue.front().map(|front| front.read().0);
    }

    /// Whether the first record is no later than `until`.
    fn has_until(&self, until: u64) -> bool {
        self.front_at.is_some_and(|at| at <= until)
    }

    /// Whether all copies are taken, though the lane has more records.
    fn has_run_dry(&self) -> bool {
        self.has_left_some && self.front_at.is_none()
    }
}

/// The next step of a round.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// Takes the records of this lane that are no later than `until`.
    Take { index: usize, until: u64 },
    /// Takes the first record of this lane, although the event that it waits for is in no lane.
    Force(usize),
}

impl Lanes {
    pub fn within(backlog: Backlog) -> Self {
        Lanes {
            copies: Arc::new(Mutex::new(Copies::within(backlog.clone()))),
            backlog,
            ..Lanes::default()
        }
    }

    /// Creates the lanes of an image from copied records and the threads that wrote them.
    pub fn of_image(lanes: Vec<ImageLane>) -> Self {
        let mut copies = Copies::default();
        let mut cursors = Vec::new();
        for lane in lanes {
            cursors.push(LaneCursor {
                author: Author::new(lane.tid, lane.process, lane.reported_lost),
                ..LaneCursor::default()
            });
            copies.add_lane((!lane.is_damaged).then_some(lane.lost), lane.records);
        }
        Lanes {
            cursors,
            copies: Arc::new(Mutex::new(copies)),
            ..Lanes::default()
        }
    }

    /// Returns the copies, for a second thread that copies too.
    pub fn share_copies(&mut self) -> Arc<Mutex<Copies>> {
        self.is_helped = true;
        self.copies.clone()
    }

    /// Whether any thread uses a lane. Read from the memory after an event was seen, because the first lane
    /// may have been taken after the latest round.
    pub fn are_used(region: &Region<'_>) -> bool {
        region.ring(0).is_some_and(|ring| ring.is_used())
    }

    /// Whether the memory has lanes.
    pub fn are_available(region: &Region<'_>) -> bool {
        region.ring(0).is_some()
    }

    /// The number of lanes that threads have used.
    pub fn count(&self) -> u32 {
        self.cursors.len() as u32
    }

    /// Records that found no room, excluding damaged lanes.
    pub fn crowded_out(&self) -> u64 {
        locked(&self.copies).crowded_out()
    }

    /// The number of damaged lanes.
    pub fn damaged(&self) -> u32 {
        locked(&self.copies).damaged()
    }

    /// The thread that wrote the records that now come out of this lane.
    pub fn author(&mut self, lane: usize) -> &mut Author {
        &mut self.cursors[lane].author
    }

    /// Whether a thread of this process has, or had, a lane. Threads of a second process share the lanes
    /// only if the recorder had no memory for that process.
    pub fn have_thread_of(&self, process: ProcessId) -> bool {
        self.authors().any(|author| author.process == process)
    }

    /// All threads that have, or had, a lane.
    pub fn authors(&self) -> impl Iterator<Item = &Author> {
        self.cursors.iter().map(|cursor| &cursor.author)
    }

    /// Records of each lane that found no room; `None` for a damaged lane. Leaves out lanes that only the
    /// second thread has seen yet.
    pub fn losses(&self) -> Vec<Option<u32>> {
        let known = self.cursors.len();
        locked(&self.copies).losses().take(known).collect()
    }

    /// Begins a round: collects copies of all committed records. If the copies made so far are enough, does
    /// not read the lanes, so that the second thread is not kept waiting. Returns how full the fullest lane
    /// was, in eighths.
    fn begin(&mut self, region: &Region<'_>, limit: TimeLimit) -> u64 {
        self.marks.round = self.marks.round.wrapping_add(1);
        (self.round.taken, self.round.taken_bytes) = (0, 0);
        self.round.is_held = !limit.is_over() && self.backlog.has_too_many_chunks();
        let has_enough = self.round.was_cut_short || self.round.is_held;
        let reads_lanes = limit.is_over() || !(self.is_helped && has_enough);
        let mut copies = locked(&self.copies);
        if reads_lanes {
            copies.copy(region, limit.is_over());
        }
        self.cursors
            .resize_with(copies.lanes(), LaneCursor::default);
        self.round.is_all_copied = reads_lanes;
        let (mut most, is_fresh) = (0, copies.is_fresh());
        copies.collect(&mut self.spare, |index, reader| {
            let cursor = &mut self.cursors[index];
            self.round.is_all_copied &= reader.is_complete();
            if is_fresh {
                cursor.settled = cursor.queue.len();
            }
            cursor.has_left_some = reader.has_left_some();
            most = most.max(reader.move_to(&mut cursor.queue));
            cursor.refresh_front();
        });
        drop(copies);
        self.round.has_run_dry = self.cursors.iter().any(LaneCursor::has_run_dry);
        self.mark(limit);
        self.waiting.clear();
        let fronts = self.cursors.iter().enumerate();
        let fronts = fronts.filter_map(|(index, cursor)| Some(Reverse((cursor.front_at?, index))));
        self.ready = fronts.collect();
        most
    }

    /// Marks the records that were committed when this round began, if no record is marked any more. A record
    /// with an impossible time is not waited for, so its lane is unmarked.
    fn mark(&mut self, limit: TimeLimit) {
        let should_mark = self.round.is_all_copied && self.marks.marked == 0;
        if should_mark {
            self.marks.marked_at = self.marks.round;
        }
        for cursor in &mut self.cursors {
            if should_mark {
                cursor.marked = cursor.queue.len() as u64;
                self.marks.marked += cursor.marked;
            }
            if cursor.front_at.is_some_and(|at| limit.is_far_in_future(at)) {
                self.marks.marked -= std::mem::take(&mut cursor.marked);
            }
        }
    }

    /// The number of rounds so far, modulo 2^32.
    pub fn round(&self) -> u32 {
        self.marks.round
    }

    /// Whether all records that were committed when some round after `round` began have become events. Times
    /// are not compared: records of a clock that is ahead of the recorder's may wait for many rounds.
    pub fn have_emitted_since(&self, round: u32) -> bool {
        let later = self.marks.emitted_as_of.wrapping_sub(round);
        (1..=u32::MAX / 2).contains(&later)
    }

    /// How many more records this round may take.
    fn left(&self, limit: TimeLimit) -> u64 {
        match limit {
            TimeLimit::Until(_) | TimeLimit::End => u64::MAX,
            TimeLimit::Before(_) if self.round.is_held => 0,
            TimeLimit::Before(_) => MAX_RECORDS_PER_ROUND.saturating_sub(self.round.taken),
        }
    }

    /// Removes the first `count` of the records that the window shows. The caller puts the lane back with
    /// `make_ready` or `make_wait`.
    fn take(&mut self, index: usize, window: &mut QueueWindow, count: usize) {
        let cursor = &mut self.cursors[index];
        let bytes = cursor.queue.bytes();
        cursor.queue.take(count, window, &mut self.spare);
        self.round.taken_bytes += bytes - cursor.queue.bytes();
        cursor.refresh_front();
        cursor.settled = cursor.settled.saturating_sub(count);
        self.round.has_run_dry |= cursor.has_run_dry();
        let marked = cursor.marked.min(count as u64);
        cursor.marked -= marked;
        self.marks.marked -= marked;
        self.round.taken += count as u64;
    }

    /// The next step, earliest record first. `None` if an earlier record may come with the next reading of
    /// the lanes.
    fn next(&mut self, limit: TimeLimit) -> Option<Step> {
        let is_over = limit.is_over();
        if self.round.has_run_dry && !is_over {
            return None;
        }
        let Some((at, index)) = self.first_waiting() else {
            return self.earliest(limit);
        };
        let is_settled = is_over || 0 < self.cursors[index].settled;
        if self.has_ready_until(at) {
            self.earliest(limit)
        } else {
            is_settled.then_some(Step::Force(index))
        }
    }

    /// Removes and returns the ready lane with the earliest record.
    fn earliest(&mut self, limit: TimeLimit) -> Option<Step> {
        let last = limit.last();
        self.ready.peek().filter(|Reverse((at, _))| *at <= last)?;
        let Reverse((_, index)) = self.ready.pop()?;
        let until = match self.ready.peek() {
            Some(Reverse((next_at, _))) => last.min(*next_at),
            None => last,
        };
        Some(Step::Take { index, until })
    }

    /// The waiting lane with the earliest record, and the record's time.
    fn first_waiting(&self) -> Option<(u64, usize)> {
        self.waiting
            .iter()
            .filter_map(|index| Some((self.cursors[*index].front_at?, *index)))
            .min()
    }

    /// Whether a ready lane has a record no later than `at`. Of two events of a coroutine, the earlier
    /// event is always ready first.
    fn has_ready_until(&self, at: u64) -> bool {
        let earliest = self.ready.peek();
        earliest.is_some_and(|Reverse((ready_at, _))| *ready_at <= at)
    }

    /// Makes this lane ready, if it has a record.
    fn make_ready(&mut self, index: usize) {
        if let Some(at) = self.cursors[index].front_at {
            self.ready.push(Reverse((at, index)));
        }
    }

    /// Makes waiting lanes ready again: they may have waited for a record that was just taken.
    fn wake_all(&mut self) {
        let mut waiting = std::mem::take(&mut self.waiting);
        waiting.drain(..).for_each(|index| self.make_ready(index));
        self.waiting = waiting;
    }

    /// Notes that this lane's first record waits for another lane.
    fn make_wait(&mut self, index: usize) {
        self.waiting.push(index);
    }

    /// Ends a round and remembers its results.
    fn end(&mut self) {
        self.backlog.copies_taken(self.round.taken_bytes);
        self.round.was_cut_short = !self.round.is_held && MAX_RECORDS_PER_ROUND <= self.round.taken;
        if self.marks.marked == 0 {
            self.marks.emitted_as_of = self.marks.marked_at;
        }
    }

    /// Whether there are more records that this round should take.
    fn have_pending(&self, limit: TimeLimit) -> bool {
        self.cursors.iter().any(|cursor| {
            cursor.has_left_some || cursor.front_at.is_some_and(|at| at <= limit.last())
        })
    }

    fn are_empty(&self) -> bool {
        self.cursors.iter().all(|cursor| cursor.front_at.is_none())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // LT-07
    #[test]
    fn lane_seen_only_by_the_second_thread_has_lost_nothing_yet() {
        let lanes = Lanes::default();
        locked(&lanes.copies).add_lane(Some(0), vec![Copied::default()]);
        assert_eq!(locked(&lanes.copies).lanes(), 1);
        assert!(lanes.losses().is_empty());
    }
}

//! Lanes: the records of all threads, merged by their times, become the events of coroutines.
//!
//! A round takes what was committed when it began, the earliest first. An event goes to its coroutine only
//! after the one before it, which may lie in another thread's lane and not be seen until the next look at
//! that: then the round ends with what is earlier. What has not come by the time that all lanes were
//! looked at once more was never recorded in a lane; it is looked for in the station's slots, and else
//! lost.
//!
//! A round begins by collecting copies of all that was committed, see `copies.rs`; which lane is
//! next is said here, and what becomes of its records in `merge.rs`.

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
use super::deeds::Author;
use super::image::ImageLane;
use super::queue::{Queue, Spare, Window};
use crate::output::backlog::Backlog;
pub(super) use usual::Events;

/// After so many records it is time to empty the stations of the dead: they are wanted.
const MOST_A_ROUND: u64 = 1 << 13;

/// How far all lanes have been read.
#[derive(Debug, Default)]
pub(super) struct Lanes {
    cursors: Vec<Cursor>,
    /// Lanes with a record that need not wait, the one with the earliest first: its time, and which.
    ready: BinaryHeap<Reverse<(u64, usize)>>,
    /// Those whose first record waits for another lane.
    waiting: Vec<usize>,
    marks: Marks,
    round: Round,
    /// Another thread copies too.
    is_helped: bool,
    /// For who takes records.
    window: Window,
    spare: Spare,
    copies: Arc<Mutex<Copies>>,
    pub backlog: Backlog,
}

/// Which records have become events, by rounds.
#[derive(Debug, Default)]
struct Marks {
    /// Rounds so far, modulo 2^32.
    round: u32,
    /// All that was there when this round began has become events.
    told_as_of: u32,
    /// All that was there when this round began is marked, but for what has become events since.
    marked_at: u32,
    /// So many records.
    marked: u64,
}

/// The latest round.
#[derive(Debug, Default)]
struct Round {
    /// Records that it has taken.
    taken: u64,
    /// Room that their copies took.
    taken_bytes: u64,
    /// There are chunks enough for now: copies stay what they are.
    is_held: bool,
    /// It ended before it had taken everything.
    was_cut_short: bool,
    /// Nothing is left in any lane of what was there when it began.
    is_all_copied: bool,
    /// Of some lane nothing is copied, though there is more in it: what comes next may be there.
    has_run_dry: bool,
}

/// What came out of one lane.
#[derive(Debug, Default)]
struct Cursor {
    /// What was copied and not taken.
    queue: Queue,
    /// So many of it, the first, are marked.
    marked: u64,
    /// There is more in the lane, for which there was no room.
    has_left_some: bool,
    /// The time of the first of it.
    front_at: Option<u64>,
    /// Whose records these are.
    author: Author,
    /// So many of it, the first, were copied before the latest look at all lanes. What was recorded
    /// before them has been copied too, but where it was left for want of room.
    settled: usize,
}

/// What stands in a lane.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record {
    pub at: u64,
    pub payload: Payload,
}

/// How much of the lanes a round takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// What is older than this.
    Before(u64),
    /// What is no later than this, of an image, to which nothing more comes.
    Until(u64),
    /// All that is there; nothing more comes.
    End,
}

impl Reach {
    /// The latest time that it takes.
    fn last(self) -> u64 {
        match self {
            Reach::Before(horizon) => horizon.saturating_sub(1),
            Reach::Until(at) => at,
            Reach::End => u64::MAX,
        }
    }

    /// Does nothing more come?
    fn is_over(self) -> bool {
        !matches!(self, Reach::Before(_))
    }

    /// Is this a time at which nobody can have been yet?
    fn is_far_from(self, at: u64) -> bool {
        match self {
            Reach::Before(now) => now.saturating_add(LEEWAY_NS) < at,
            Reach::Until(_) | Reach::End => false,
        }
    }
}

impl Record {
    #[inline]
    fn of(copied: &Copied) -> Self {
        let (at, payload) = copied.read();
        Record { at, payload }
    }
}

impl Cursor {
    fn look(&mut self) {
        self.front_at = self.queue.front().map(|front| front.read().0);
    }

    /// Is there a record that is no later than this?
    fn has_until(&self, until: u64) -> bool {
        self.front_at.is_some_and(|at| at <= until)
    }

    /// Is all taken that was copied, but not all that there is?
    fn has_run_dry(&self) -> bool {
        self.has_left_some && self.front_at.is_none()
    }
}

/// What a round does next.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// Takes from this lane what is no later than this.
    Take { index: usize, until: u64 },
    /// Takes one record of this lane, which waits for what is in no lane.
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

    /// Of an image: records that were copied, and the threads that wrote them.
    pub fn of_image(lanes: Vec<ImageLane>) -> Self {
        let mut copies = Copies::default();
        let mut cursors = Vec::new();
        for lane in lanes {
            cursors.push(Cursor {
                author: Author::new(lane.tid, lane.process, lane.told_lost),
                ..Cursor::default()
            });
            copies.add_lane((!lane.is_damaged).then_some(lane.lost), lane.records);
        }
        Lanes {
            cursors,
            copies: Arc::new(Mutex::new(copies)),
            ..Lanes::default()
        }
    }

    /// For another thread that copies too.
    pub fn share_copies(&mut self) -> Arc<Mutex<Copies>> {
        self.is_helped = true;
        self.copies.clone()
    }

    /// Does any thread write into one? Asked of the memory: after an event was seen, for the first one
    /// may have come after the latest round.
    pub fn are_used(region: &Region<'_>) -> bool {
        region.ring(0).is_some_and(|ring| ring.is_used())
    }

    /// Can any thread have one?
    pub fn are_there(region: &Region<'_>) -> bool {
        region.ring(0).is_some()
    }

    /// How many threads have had.
    pub fn count(&self) -> u32 {
        self.cursors.len() as u32
    }

    /// Records that found no room, as far as what the lanes say can be believed.
    pub fn crowded_out(&self) -> u64 {
        locked(&self.copies).crowded_out()
    }

    /// Lanes that somebody has overwritten.
    pub fn damaged(&self) -> u32 {
        locked(&self.copies).damaged()
    }

    /// The thread whose records come out of this lane now.
    pub fn author(&mut self, lane: usize) -> &mut Author {
        &mut self.cursors[lane].author
    }

    /// Has, or had, a thread of this process a lane? Others have lanes beside it only if the recorder
    /// had no memory to give.
    pub fn have_told_of(&self, process: ProcessId) -> bool {
        self.authors().any(|author| author.process == process)
    }

    /// All threads that have, or had, a lane.
    pub fn authors(&self) -> impl Iterator<Item = &Author> {
        self.cursors.iter().map(|cursor| &cursor.author)
    }

    /// Records of each lane that found no room, as far as what it says can be believed. The thread that
    /// helps may have come to more lanes since they were looked at here.
    pub fn losses(&self) -> Vec<Option<u32>> {
        let known = self.cursors.len();
        locked(&self.copies).losses().take(known).collect()
    }

    /// Collects all that was committed; what was copied so far if that is enough for a round, so that
    /// the thread that helps is kept waiting for no longer than that takes. Gives how full the fullest
    /// lane was, in eighths.
    fn begin(&mut self, region: &Region<'_>, reach: Reach) -> u64 {
        self.marks.round = self.marks.round.wrapping_add(1);
        (self.round.taken, self.round.taken_bytes) = (0, 0);
        self.round.is_held = !reach.is_over() && self.backlog.has_too_many_chunks();
        let has_enough = self.round.was_cut_short || self.round.is_held;
        let looks = reach.is_over() || !(self.is_helped && has_enough);
        let mut copies = locked(&self.copies);
        if looks {
            copies.copy(region, reach.is_over());
        }
        self.cursors.resize_with(copies.lanes(), Cursor::default);
        self.round.is_all_copied = looks;
        let (mut most, is_fresh) = (0, copies.is_fresh());
        copies.collect(&mut self.spare, |index, reader| {
            let cursor = &mut self.cursors[index];
            self.round.is_all_copied &= reader.is_complete();
            if is_fresh {
                cursor.settled = cursor.queue.len();
            }
            cursor.has_left_some = reader.has_left_some();
            most = most.max(reader.move_to(&mut cursor.queue));
            cursor.look();
        });
        drop(copies);
        self.round.has_run_dry = self.cursors.iter().any(Cursor::has_run_dry);
        self.mark(reach);
        self.waiting.clear();
        let fronts = self.cursors.iter().enumerate();
        let fronts = fronts.filter_map(|(index, it)| Some(Reverse((it.front_at?, index))));
        self.ready = fronts.collect();
        most
    }

    /// Marks what was there when this round began, once nothing is marked any more. Nobody waits for
    /// what is behind a time that cannot be.
    fn mark(&mut self, reach: Reach) {
        let is_anew = self.round.is_all_copied && self.marks.marked == 0;
        if is_anew {
            self.marks.marked_at = self.marks.round;
        }
        for cursor in &mut self.cursors {
            if is_anew {
                cursor.marked = cursor.queue.len() as u64;
                self.marks.marked += cursor.marked;
            }
            if cursor.front_at.is_some_and(|at| reach.is_far_from(at)) {
                self.marks.marked -= std::mem::take(&mut cursor.marked);
            }
        }
    }

    /// Rounds so far, modulo 2^32.
    pub fn round(&self) -> u32 {
        self.marks.round
    }

    /// Has all become events that was there when a later round than this one began? By whatever clock
    /// its times are: one that is ahead of ours has records wait for many rounds.
    pub fn have_told_since(&self, round: u32) -> bool {
        let later = self.marks.told_as_of.wrapping_sub(round);
        (1..=u32::MAX / 2).contains(&later)
    }

    /// How many records this round may still take.
    fn left(&self, reach: Reach) -> u64 {
        match reach {
            Reach::Until(_) | Reach::End => u64::MAX,
            Reach::Before(_) if self.round.is_held => 0,
            Reach::Before(_) => MOST_A_ROUND.saturating_sub(self.round.taken),
        }
    }

    /// Of those records of a lane that were shown, the first so many go. It is not ready before it is said to
    /// be.
    fn take(&mut self, index: usize, window: &mut Window, count: usize) {
        let cursor = &mut self.cursors[index];
        let bytes = cursor.queue.bytes();
        cursor.queue.take(count, window, &mut self.spare);
        self.round.taken_bytes += bytes - cursor.queue.bytes();
        cursor.look();
        cursor.settled = cursor.settled.saturating_sub(count);
        self.round.has_run_dry |= cursor.has_run_dry();
        let marked = cursor.marked.min(count as u64);
        cursor.marked -= marked;
        self.marks.marked -= marked;
        self.round.taken += count as u64;
    }

    /// What is next, the earliest first. Nothing before the next look if what comes after that may be
    /// earlier.
    fn next(&mut self, reach: Reach) -> Option<Step> {
        let is_over = reach.is_over();
        if self.round.has_run_dry && !is_over {
            return None;
        }
        let Some((at, index)) = self.first_waiting() else {
            return self.earliest(reach);
        };
        let is_settled = is_over || 0 < self.cursors[index].settled;
        match self.has_ready_until(at) {
            true => self.earliest(reach),
            false => is_settled.then_some(Step::Force(index)),
        }
    }

    /// The lane with the earliest record that need not wait. It is not among the ready ones any more.
    fn earliest(&mut self, reach: Reach) -> Option<Step> {
        let last = reach.last();
        let is_within = |Reverse((at, _)): &&Reverse<(u64, usize)>| *at <= last;
        self.ready.peek().filter(is_within)?;
        let Reverse((_, index)) = self.ready.pop()?;
        let until = match self.ready.peek() {
            Some(Reverse((next_at, _))) => last.min(*next_at),
            None => last,
        };
        Some(Step::Take { index, until })
    }

    /// The lane with the earliest record of those that wait, and when that was.
    fn first_waiting(&self) -> Option<(u64, usize)> {
        let at = |index: &usize| Some((self.cursors[*index].front_at?, *index));
        self.waiting.iter().filter_map(at).min()
    }

    /// Is there anything that need not wait and is no later than this? Of two events of a coroutine the earlier
    /// one is.
    fn has_ready_until(&self, at: u64) -> bool {
        let earliest = self.ready.peek();
        earliest.is_some_and(|Reverse((ready_at, _))| *ready_at <= at)
    }

    /// The first record of this lane, if there is one, need not wait.
    fn make_ready(&mut self, index: usize) {
        if let Some(at) = self.cursors[index].front_at {
            self.ready.push(Reverse((at, index)));
        }
    }

    /// Who waited may have waited for a record that was just taken.
    fn wake_all(&mut self) {
        let mut waiting = std::mem::take(&mut self.waiting);
        waiting.drain(..).for_each(|index| self.make_ready(index));
        self.waiting = waiting;
    }

    /// The first record of this lane waits for another lane.
    fn make_wait(&mut self, index: usize) {
        self.waiting.push(index);
    }

    /// Remembers what it came to.
    fn end(&mut self) {
        self.backlog.copies_taken(self.round.taken_bytes);
        self.round.was_cut_short = !self.round.is_held && MOST_A_ROUND <= self.round.taken;
        if self.marks.marked == 0 {
            self.marks.told_as_of = self.marks.marked_at;
        }
    }

    /// Is there more of what this round was to take?
    fn have_untold(&self, reach: Reach) -> bool {
        let is_due = |at: u64| at <= reach.last();
        let has_untold = |it: &Cursor| it.has_left_some || it.front_at.is_some_and(is_due);
        self.cursors.iter().any(has_untold)
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
    fn a_lane_to_which_only_the_helping_thread_has_come_has_lost_nothing_yet() {
        let lanes = Lanes::default();
        locked(&lanes.copies).add_lane(Some(0), vec![Copied::default()]);
        assert_eq!(locked(&lanes.copies).lanes(), 1);
        assert!(lanes.losses().is_empty());
    }
}

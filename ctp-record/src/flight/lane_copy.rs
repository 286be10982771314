//! Copies lanes that are being overwritten. A copy holds the latest records of its lane, without a gap at the
//! start. Copied records are safe, so each further round continues where the last ended. After a few rounds
//! all copies reach the same moment, however long the first round took.

use std::sync::Arc;

use ctp_nostd::Region;
use ctp_nostd::lane::{Copied, Payload, RecordState, Ring, ThreadEventKind};

use crate::memory::clock::monotonic_ns;
use crate::memory::memory_set::MemoryView;
use crate::memory::shm::Memory;
use crate::session::processor_limit;

/// The latest records of a lane.
#[derive(Debug, Default)]
pub struct LaneCopy {
    /// The records, oldest first, without records that were reserved and not filled in.
    pub records: Vec<Copied>,
    /// The number of records before these.
    pub overwritten: u64,
    /// Records that were refused, see [`Ring::lost`].
    pub refused: u32,
    /// The thread that has the lane, or had it when it died.
    pub holder: Option<u32>,
    /// The lane's words are impossible: nothing in the lane is used.
    pub is_damaged: bool,
    /// The next record to copy.
    next: u64,
    /// The first record that was reserved recently and not filled in, and the number of records copied
    /// before it.
    pending: Option<(u64, usize)>,
}

/// A record this close to the end may have been reserved just now.
const RECENT_RECORDS: u64 = 1024;

/// Records that must be reserved before a lane is checked for damage. The lane is damaged if less than half
/// of the reserved records were copied. A record stays unfilled if its thread died during the event, or in a
/// nested handler.
const MIN_RESERVED: u64 = 16;

/// Rounds of copying. A busy thread writes much during the first round; each further round has less to
/// copy.
const ROUNDS: usize = 3;

/// Copies all lanes, by memory. Returns the time up to which all copies are complete.
pub fn up_to_now(regions: &[Arc<Memory>]) -> (Vec<Vec<LaneCopy>>, u64) {
    in_rounds(ROUNDS, regions)
}

/// Copies all lanes once, by memory. Later records are not needed, and another round would only lose old
/// records that were overwritten.
pub fn once(regions: &[Arc<Memory>]) -> Vec<Vec<LaneCopy>> {
    in_rounds(1, regions).0
}

/// Returns also the time at which the last round began.
fn in_rounds(rounds: usize, regions: &[Arc<Memory>]) -> (Vec<Vec<LaneCopy>>, u64) {
    let mut lanes: Vec<Vec<LaneCopy>> = regions.iter().map(|_| Vec::new()).collect();
    let mut until_ns = 0;
    for _ in 0..rounds {
        until_ns = monotonic_ns();
        for (memory, copies) in regions.iter().zip(&mut lanes) {
            copy_lanes(copies, &memory.region());
        }
    }
    let copies = lanes.iter_mut().flatten();
    copies.for_each(LaneCopy::discard_if_damaged);
    (lanes, until_ns)
}

/// Keeps the latest records, as many as the recorder can write within its limit of processor time.
pub fn within_time(mut lanes: Vec<Vec<LaneCopy>>) -> Vec<Vec<LaneCopy>> {
    if let Some(most) = processor_limit::records_left() {
        let each = most as usize / lanes.iter().flatten().count().max(1);
        let copies = lanes.iter_mut().flatten();
        copies.for_each(|lane| lane.keep_newest(each));
    }
    lanes
}

/// Converts times to the recorder's clock, with one view for each memory.
pub fn by_recorders_clock(
    mut lanes: Vec<Vec<LaneCopy>>,
    views: &[MemoryView],
) -> Vec<Vec<LaneCopy>> {
    for (lanes, view) in lanes
        .iter_mut()
        .zip(views)
        .filter(|(_, view)| view.ahead_ns != 0)
    {
        let records = lanes.iter_mut().flat_map(|lane| &mut lane.records);
        records.for_each(|copied| copied.move_back(view.ahead_ns));
    }
    lanes
}

/// Adds what is new in all lanes of a memory.
fn copy_lanes(copies: &mut Vec<LaneCopy>, region: &Region<'_>) {
    for (index, ring) in region.used_rings().enumerate() {
        if index == copies.len() {
            copies.push(LaneCopy::default());
        }
        copies[index].copy_new(&ring);
    }
}

impl LaneCopy {
    /// Copies what is new. Reads again from the first record that was not filled in.
    fn copy_new(&mut self, ring: &Ring<'_>) {
        let end = ring.head();
        let (again, kept) = self
            .pending
            .take()
            .unwrap_or((self.next, self.records.len()));
        self.records.truncate(kept);
        let begin = again.max(end.saturating_sub(ring.capacity()));
        if begin > again || self.next == 0 {
            self.restart_at(begin);
        }
        for at in begin..end {
            match ring.see(at) {
                RecordState::Whole(copied) => self.records.push(copied),
                RecordState::Pending if end <= at.saturating_add(RECENT_RECORDS) => {
                    self.pending.get_or_insert((at, self.records.len()));
                }
                RecordState::Pending => {}
                RecordState::Overwritten => self.restart_at(at.saturating_add(1)),
            }
        }
        self.next = end;
        (self.refused, self.holder) = (ring.lost(), ring.holder());
    }

    /// Starts again at a record, because the records before it are overwritten or have a gap.
    fn restart_at(&mut self, at: u64) {
        self.records.clear();
        self.pending = None;
        self.overwritten = at;
    }

    /// Drops the oldest records, as if they had been overwritten.
    fn keep_newest(&mut self, most: usize) {
        let too_many = self.records.len().saturating_sub(most);
        self.records.drain(..too_many);
        self.overwritten = self.overwritten.saturating_add(too_many as u64);
    }

    /// Drops a damaged lane: if most reserved records are missing, the head must be false.
    fn discard_if_damaged(&mut self) {
        let reserved = self.next.wrapping_sub(self.overwritten);
        if MIN_RESERVED <= reserved && (self.records.len() as u64) < reserved / 2 {
            *self = LaneCopy {
                is_damaged: true,
                ..LaneCopy::default()
            };
        }
    }

    /// The time from which the copy is complete, or `None` if nothing was overwritten. Ignores times after
    /// `latest`, which are impossible.
    pub fn since(&self, latest: u64) -> Option<u64> {
        let mut times = self.records.iter().map(|copied| copied.read().0);
        let first = times.find(|at| *at <= latest);
        first.filter(|_| self.overwritten > 0)
    }

    /// The number of records that claim to be later than `latest_ns`.
    pub fn later_than(&self, latest_ns: u64) -> u64 {
        let later = self.records.iter().filter(|copied| latest_ns < copied.at());
        later.count() as u64
    }

    /// The time of the latest record up to `until_ns`.
    pub fn latest(&self, until_ns: u64) -> Option<u64> {
        let mut times = self.records.iter().rev().map(|copied| copied.read().0);
        times.find(|at| *at <= until_ns)
    }

    /// The author of the record at `first`: the kernel's thread id and the attach id of its process, as far as
    /// the lane states them.
    pub fn author_at(&self, first: usize) -> (u64, Option<u32>) {
        let (before, after) = self.records.split_at(first);
        let mut earlier = before.iter().rev().filter_map(thread_event_in);
        if let Some((_, payload)) = earlier.find(|(kind, _)| *kind == ThreadEventKind::Begin) {
            return (payload.arg, Some(payload.station));
        }
        let mut later = after.iter().filter_map(thread_event_in);
        match later.find(|(kind, _)| matches!(kind, ThreadEventKind::Begin | ThreadEventKind::End))
        {
            Some((ThreadEventKind::End, payload)) => (payload.arg, Some(payload.station)),
            // The thread died without an end record.
            Some(_) => (0, None),
            None => (self.holder.unwrap_or(0).into(), None),
        }
    }
}

/// The thread event in a record, if the record has one.
fn thread_event_in(copied: &Copied) -> Option<(ThreadEventKind, Payload)> {
    let (_, payload) = copied.read();
    ThreadEventKind::from_code(payload.kind).zip(Some(payload))
}

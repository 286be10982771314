//! Copies of lanes that are written over meanwhile: of each the newest records, without a gap at
//! their beginning. What is copied is safe, so the copies may go on where they ended: in the end
//! they have all lanes up to the same moment, however long the first round took.

use std::sync::Arc;

use ctp_nostd::Region;
use ctp_nostd::lane::{Copied, DeedKind, RecordState, Ring};

use crate::memory::clock::monotonic_ns;
use crate::memory::memories::Look;
use crate::memory::shm::Memory;
use crate::session::processor_limit;

/// The newest records of one lane.
#[derive(Debug, Default)]
pub struct LaneCopy {
    /// Oldest first. One that its thread had reserved and not filled in is left out.
    pub records: Vec<Copied>,
    /// How many there were before.
    pub overwritten: u64,
    /// Records that were refused, see [`Ring::lost`].
    pub refused: u32,
    /// The thread that has the lane, or had it when it died.
    pub holder: Option<u32>,
    /// Its words cannot be true: nothing of it is believed.
    pub is_damaged: bool,
    /// The next record to copy.
    next: u64,
    /// The first of those that had been reserved lately and not filled in, and how many records were
    /// copied before it.
    pending: Option<(u64, usize)>,
}

/// A record this close to the end may have been reserved just now.
const LATELY: u64 = 1024;

/// Threads leave a record unfilled where they die amid it, or in handlers that come amid it. Of so many
/// that were reserved, at least half are there.
const ENOUGH: u64 = 16;

/// Rounds of copying: the first takes long enough for a busy thread to write much, each of the
/// others has less to copy.
const ROUNDS: usize = 3;

/// Copies of all lanes, by memory, and up to when all have everything.
pub fn up_to_now(memories: &[Arc<Memory>]) -> (Vec<Vec<LaneCopy>>, u64) {
    let mut lanes: Vec<Vec<LaneCopy>> = memories.iter().map(|_| Vec::new()).collect();
    let mut until_ns = 0;
    for _ in 0..ROUNDS {
        until_ns = monotonic_ns();
        for (memory, copies) in memories.iter().zip(&mut lanes) {
            follow(copies, &memory.region());
        }
    }
    lanes.iter_mut().flatten().for_each(LaneCopy::doubt);
    (lanes, until_ns)
}

/// Copies of all lanes, by memory, of what was there when it began: what comes meanwhile is not wanted,
/// and another round would only find what is old written over.
pub fn once(memories: &[Arc<Memory>]) -> Vec<Vec<LaneCopy>> {
    let mut lanes: Vec<Vec<LaneCopy>> = memories.iter().map(|_| Vec::new()).collect();
    for (memory, copies) in memories.iter().zip(&mut lanes) {
        follow(copies, &memory.region());
    }
    lanes.iter_mut().flatten().for_each(LaneCopy::doubt);
    lanes
}

/// The newest records, as many as the recorder can write before it has used its processor time.
pub fn within_time(mut lanes: Vec<Vec<LaneCopy>>) -> Vec<Vec<LaneCopy>> {
    if let Some(most) = processor_limit::records_left() {
        let each = most as usize / lanes.iter().flatten().count().max(1);
        let copies = lanes.iter_mut().flatten();
        copies.for_each(|lane| lane.keep_newest(each));
    }
    lanes
}

/// Copies of lanes with the times of the recorder's clock. Each memory has its own look.
pub fn by_recorders_clock(mut lanes: Vec<Vec<LaneCopy>>, looks: &[Look]) -> Vec<Vec<LaneCopy>> {
    for (lanes, look) in lanes
        .iter_mut()
        .zip(looks)
        .filter(|(_, look)| look.ahead_ns != 0)
    {
        let records = lanes.iter_mut().flat_map(|lane| &mut lane.records);
        records.for_each(|copied| copied.move_back(look.ahead_ns));
    }
    lanes
}

/// Adds what is new in all lanes of a memory.
fn follow(copies: &mut Vec<LaneCopy>, region: &Region<'_>) {
    for (index, ring) in region.used_rings().enumerate() {
        if index == copies.len() {
            copies.push(LaneCopy::default());
        }
        copies[index].go_on(&ring);
    }
}

impl LaneCopy {
    /// Copies what is new. What was not filled in is looked at once more.
    fn go_on(&mut self, ring: &Ring<'_>) {
        let end = ring.head();
        let (again, kept) = self
            .pending
            .take()
            .unwrap_or((self.next, self.records.len()));
        self.records.truncate(kept);
        let begin = again.max(end.saturating_sub(ring.capacity()));
        if begin > again || self.next == 0 {
            self.begin_at(begin);
        }
        for at in begin..end {
            match ring.see(at) {
                RecordState::Whole(copied) => self.records.push(copied),
                RecordState::Pending if end <= at.saturating_add(LATELY) => {
                    self.pending.get_or_insert((at, self.records.len()));
                }
                RecordState::Pending => {}
                RecordState::Overwritten => self.begin_at(at.saturating_add(1)),
            }
        }
        self.next = end;
        (self.refused, self.holder) = (ring.lost(), ring.holder());
    }

    /// What came before is not there, or not without a gap.
    fn begin_at(&mut self, at: u64) {
        self.records.clear();
        self.pending = None;
        self.overwritten = at;
    }

    /// Leaves out the oldest, as if they had been written over.
    fn keep_newest(&mut self, most: usize) {
        let too_many = self.records.len().saturating_sub(most);
        self.records.drain(..too_many);
        self.overwritten = self.overwritten.saturating_add(too_many as u64);
    }

    /// Where most of what was reserved is not there, nobody has reserved it.
    fn doubt(&mut self) {
        let reserved = self.next.wrapping_sub(self.overwritten);
        if ENOUGH <= reserved && (self.records.len() as u64) < reserved / 2 {
            *self = LaneCopy {
                is_damaged: true,
                ..LaneCopy::default()
            };
        }
    }

    /// When everything is there from, if something is not: `latest` is the time of the snapshot,
    /// and what claims to be later is nonsense.
    pub fn since(&self, latest: u64) -> Option<u64> {
        let mut times = self.records.iter().map(|copied| copied.read().0);
        let is_sane = |at: &u64| *at <= latest;
        times.find(is_sane).filter(|_| self.overwritten > 0)
    }

    /// How many records claim to be later than this.
    pub fn later_than(&self, latest_ns: u64) -> u64 {
        let later = self.records.iter().filter(|copied| latest_ns < copied.at());
        later.count() as u64
    }

    /// When the latest record was that is not later than this.
    pub fn latest(&self, until_ns: u64) -> Option<u64> {
        let mut times = self.records.iter().rev().map(|copied| copied.read().0);
        times.find(|at| *at <= until_ns)
    }

    /// Whose the record at `first` is: the kernel id of the thread, and the attach id of its process,
    /// as far as the lane tells.
    pub fn author_at(&self, first: usize) -> (u64, Option<u32>) {
        let (before, after) = self.records.split_at(first);
        let deed = |copied: &Copied| {
            let (_, payload) = copied.read();
            DeedKind::from_code(payload.kind).zip(Some(payload))
        };
        let mut begun = before.iter().rev().filter_map(deed);
        if let Some((_, payload)) = begun.find(|(deed, _)| *deed == DeedKind::Begin) {
            return (payload.arg, Some(payload.station));
        }
        let mut bounds = after.iter().filter_map(deed);
        match bounds.find(|(deed, _)| matches!(deed, DeedKind::Begin | DeedKind::End)) {
            Some((DeedKind::End, payload)) => (payload.arg, Some(payload.station)),
            // It died without a word.
            Some(_) => (0, None),
            None => (self.holder.unwrap_or(0).into(), None),
        }
    }
}

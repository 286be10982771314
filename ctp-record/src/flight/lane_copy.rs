//! Copies of lanes that are written over meanwhile: of each the newest records, without a gap at
//! their beginning.

use ctp_nostd::Region;
use ctp_nostd::lane::{Copied, Deed, Ring, Seen};

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
}

/// Of all lanes of a memory that a thread ever had.
pub fn all(region: &Region<'_>) -> Vec<LaneCopy> {
    let rings = (0..region.lanes.len() as u32).filter_map(|index| region.ring(index));
    rings
        .filter(Ring::is_used)
        .map(|ring| copy(&ring))
        .collect()
}

fn copy(ring: &Ring<'_>) -> LaneCopy {
    let end = ring.head();
    let begin = end.saturating_sub(ring.capacity());
    let (mut oldest, mut records) = (begin, Vec::with_capacity((end - begin) as usize));
    for at in begin..end {
        match ring.see(at) {
            Seen::Whole(copied) => records.push(copied),
            Seen::Pending => {}
            Seen::Overwritten => {
                records.clear();
                oldest = at + 1;
            }
        }
    }
    LaneCopy {
        records,
        overwritten: oldest,
        refused: ring.lost(),
        holder: ring.holder(),
    }
}

impl LaneCopy {
    /// When everything is there from, if something is not: `latest` is the time of the snapshot,
    /// and what claims to be later is nonsense.
    pub fn since(&self, latest: u64) -> Option<u64> {
        let mut times = self.records.iter().map(|copied| copied.read().0);
        let is_sane = |at: &u64| *at <= latest;
        times.find(is_sane).filter(|_| self.overwritten > 0)
    }

    /// Whose the record at `first` is: the kernel id of the thread, and the attach id of its process,
    /// as far as the lane tells.
    pub fn author_at(&self, first: usize) -> (u64, Option<u32>) {
        let (before, after) = self.records.split_at(first);
        let deed = |copied: &Copied| {
            let (_, payload) = copied.read();
            Deed::from_code(payload.kind).zip(Some(payload))
        };
        let mut begun = before.iter().rev().filter_map(deed);
        if let Some((_, payload)) = begun.find(|(deed, _)| *deed == Deed::Begin) {
            return (payload.arg, Some(payload.station));
        }
        let mut bounds = after.iter().filter_map(deed);
        match bounds.find(|(deed, _)| matches!(deed, Deed::Begin | Deed::End)) {
            Some((Deed::End, payload)) => (payload.arg, Some(payload.station)),
            // It died without a word.
            Some(_) => (0, None),
            None => (self.holder.unwrap_or(0).into(), None),
        }
    }
}

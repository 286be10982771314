//! Plans a snapshot: its window, its coroutines, and its records.

use std::sync::Arc;

use ctp_nostd::lane::{Payload, ThreadEventKind};

use super::attribution::{Attribution, RecordOwner};
use super::coroutine::SnapshotCoroutine;
use super::lane_copy::LaneCopy;
use super::snapshot_input::SnapshotInput;
use crate::harvest::LEEWAY_NS;

/// The maximum duration of a birth. During a birth, a lane may have a record of a coroutine whose station is
/// not filled in yet.
const MAX_BIRTH_NS: u64 = 10_000_000;

/// The plan of a snapshot.
#[derive(Debug)]
pub struct SnapshotPlan {
    /// The time from which the snapshot is complete, on the monotonic clock.
    pub since_ns: u64,
    /// The time up to which lanes are complete.
    pub until_ns: u64,
    /// The time that is given to records without a time.
    pub dated_ns: u64,
    /// The latest time at which a record can have been written. Later times are errors.
    pub latest_ns: u64,
    /// All known coroutines.
    pub coroutines: Vec<SnapshotCoroutine>,
    /// Which coroutine used which station when, by memory.
    pub attributions: Vec<Attribution>,
    /// The copies of lanes, by memory.
    pub lanes: Vec<Vec<LaneCopy>>,
    /// Records before the window, which are left out.
    pub overwritten: u64,
    /// Records of the window that match no known coroutine.
    pub unattributed: u64,
}

impl SnapshotPlan {
    /// Attributes the records of lanes to coroutines and decides what the snapshot contains.
    pub fn of(input: &mut SnapshotInput) -> Self {
        let (lanes, until_ns) = (std::mem::take(&mut input.lanes), input.until_ns);
        let latest_ns = until_ns.saturating_add(LEEWAY_NS);
        let (coroutines, attributions) = known_coroutines(input);
        let dated_ns = input.ended_ns().unwrap_or(until_ns);
        let mut plan = SnapshotPlan {
            since_ns: begin(input, &lanes, dated_ns, latest_ns),
            until_ns,
            dated_ns,
            latest_ns,
            coroutines,
            attributions,
            overwritten: overwritten(&lanes),
            lanes: Vec::new(),
            unattributed: 0,
        };
        for (part, lanes) in lanes.iter().enumerate() {
            lanes.iter().for_each(|lane| plan.note_lane(part, lane));
        }
        let since_ns = plan.since_ns;
        for coroutine in &mut plan.coroutines {
            coroutine.decide(since_ns, until_ns);
            if input.ended.is_some() {
                coroutine.stop(until_ns);
            }
        }
        SnapshotPlan { lanes, ..plan }
    }

    /// Notes the coroutines of a lane's records.
    fn note_lane(&mut self, part: usize, lane: &LaneCopy) {
        for (at, payload) in lane.records.iter().map(|copied| copied.read()) {
            if at < self.since_ns {
                self.overwritten = self.overwritten.saturating_add(1);
                continue;
            }
            if self.until_ns < at || ThreadEventKind::from_code(payload.kind).is_some() {
                continue;
            }
            self.note_event(part, at, &payload);
        }
    }

    fn note_event(&mut self, part: usize, at: u64, payload: &Payload) {
        match self.attributions[part].owner_of_event(at, payload) {
            RecordOwner::Coroutine(which, Some(n)) => self.coroutines[which].note(n),
            RecordOwner::Coroutine(_, None) | RecordOwner::Later => {}
            // The coroutine of a recent record may still be in its birth. Then it is in the next snapshot.
            RecordOwner::Unknown => {
                self.unattributed += u64::from(at < self.until_ns.saturating_sub(MAX_BIRTH_NS))
            }
        }
    }
}

fn overwritten(lanes: &[Vec<LaneCopy>]) -> u64 {
    let lanes = lanes.iter().flatten();
    lanes.fold(0, |sum, lane| sum.saturating_add(lane.overwritten))
}

/// The start of the window. If records of several lanes were overwritten, the lane with the shortest history
/// decides. The requested length is measured from `end_ns`, the end of the recording, however late the
/// snapshot is taken.
fn begin(input: &SnapshotInput, lanes: &[Vec<LaneCopy>], end_ns: u64, latest_ns: u64) -> u64 {
    let full = lanes.iter().flatten();
    let full = full.filter_map(|lane| lane.since(latest_ns)).max();
    let requested = input.length_ns.map(|ns| end_ns.saturating_sub(ns));
    let zero = input.start.started_monotonic_ns;
    let since_ns = full.max(requested).unwrap_or(zero);
    since_ns.min(end_ns).max(zero)
}

/// All known coroutines, and the use of stations by memory.
fn known_coroutines(input: &SnapshotInput) -> (Vec<SnapshotCoroutine>, Vec<Attribution>) {
    let living = input.parts.iter().flat_map(|part| &part.living);
    let all = living.chain(&input.departed).map(Arc::clone);
    let coroutines: Vec<SnapshotCoroutine> = all.map(SnapshotCoroutine::new).collect();
    let attributions = input.parts.iter().map(|part| {
        let all = coroutines.iter().map(SnapshotCoroutine::state).enumerate();
        Attribution::new(all.filter(|(_, state)| state.memory == part.number))
    });
    let attributions = attributions.collect();
    (coroutines, attributions)
}

//! What is to be told in a snapshot: from when on, of whom, and from which records.

use std::sync::Arc;

use ctp_nostd::lane::{DeedKind, Payload};

use super::attribution::{Attribution, Whose};
use super::coroutine::SnapshotCoroutine;
use super::gathered::Gathered;
use super::lane_copy::LaneCopy;
use crate::harvest::LEEWAY_NS;

/// So long may a coroutine be about to be born, with a record in a lane and no station yet.
const BIRTH_NS: u64 = 10_000_000;

/// All that was found.
#[derive(Debug)]
pub struct Plan {
    /// From when on everything is there, on the monotonic clock.
    pub since_ns: u64,
    /// Up to when lanes have everything.
    pub until_ns: u64,
    /// Nothing is dated later that says itself no time.
    pub dated_ns: u64,
    /// What claims to be later makes no sense.
    pub latest_ns: u64,
    /// Who there is.
    pub coroutines: Vec<SnapshotCoroutine>,
    /// By memory: who had which station.
    pub attributions: Vec<Attribution>,
    /// By memory.
    pub lanes: Vec<Vec<LaneCopy>>,
    /// Records that are not told since they came before the window.
    pub overwritten: u64,
    /// Records of the window of which nobody knows whose they are.
    pub unattributed: u64,
}

impl Plan {
    /// Looks whose it is what lanes hold.
    pub fn of(gathered: &mut Gathered) -> Self {
        let (lanes, until_ns) = (std::mem::take(&mut gathered.lanes), gathered.until_ns);
        let latest_ns = until_ns.saturating_add(LEEWAY_NS);
        let (coroutines, attributions) = settled(gathered);
        let dated_ns = gathered.ended_ns().unwrap_or(until_ns);
        let mut plan = Plan {
            since_ns: begin(gathered, &lanes, dated_ns, latest_ns),
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
            lanes.iter().for_each(|lane| plan.look_at(part, lane));
        }
        let since_ns = plan.since_ns;
        for one in &mut plan.coroutines {
            one.settle(since_ns, until_ns);
            if gathered.ended.is_some() {
                one.stop(until_ns);
            }
        }
        Plan { lanes, ..plan }
    }

    /// Notes whose the records of a lane are.
    fn look_at(&mut self, part: usize, lane: &LaneCopy) {
        for (at, payload) in lane.records.iter().map(|copied| copied.read()) {
            if at < self.since_ns {
                self.overwritten = self.overwritten.saturating_add(1);
                continue;
            }
            if self.until_ns < at || DeedKind::from_code(payload.kind).is_some() {
                continue;
            }
            self.look_at_event(part, at, &payload);
        }
    }

    fn look_at_event(&mut self, part: usize, at: u64, payload: &Payload) {
        match self.attributions[part].of_event(at, payload) {
            Whose::Of(which, Some(n)) => self.coroutines[which].note(n),
            Whose::Of(_, None) | Whose::Later => {}
            // One that came to be meanwhile is in the next snapshot.
            Whose::Unknown => {
                self.unattributed += u64::from(at < self.until_ns.saturating_sub(BIRTH_NS))
            }
        }
    }
}

fn overwritten(lanes: &[Vec<LaneCopy>]) -> u64 {
    let lanes = lanes.iter().flatten();
    lanes.fold(0, |sum, lane| sum.saturating_add(lane.overwritten))
}

/// Where several lanes are full, the one that was written over last has the least. What was asked for
/// is measured from `end_ns`: what is read when it has long been over is not younger by that.
fn begin(gathered: &Gathered, lanes: &[Vec<LaneCopy>], end_ns: u64, latest_ns: u64) -> u64 {
    let full = lanes.iter().flatten();
    let full = full.filter_map(|lane| lane.since(latest_ns)).max();
    let asked = gathered.length_ns.map(|ns| end_ns.saturating_sub(ns));
    let zero = gathered.start.started_monotonic_ns;
    let since_ns = full.max(asked).unwrap_or(zero);
    since_ns.min(end_ns).max(zero)
}

/// All who are known, and by memory which stations they had.
fn settled(gathered: &Gathered) -> (Vec<SnapshotCoroutine>, Vec<Attribution>) {
    let living = gathered.parts.iter().flat_map(|part| &part.living);
    let all = living.chain(&gathered.gone).map(Arc::clone);
    let coroutines: Vec<SnapshotCoroutine> = all.map(SnapshotCoroutine::new).collect();
    let of_part = |number| {
        let everybody = coroutines
            .iter()
            .map(SnapshotCoroutine::occupant)
            .enumerate();
        Attribution::new(everybody.filter(move |(_, it)| it.memory == number))
    };
    let attributions = gathered
        .parts
        .iter()
        .map(|part| of_part(part.number))
        .collect();
    (coroutines, attributions)
}

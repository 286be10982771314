//! What threads did between the rows of a snapshot.

use std::collections::BTreeSet;

use ctp_nostd::inspect::WokenBy;
use ctp_nostd::lane::{DeedKind, Payload};
use ctp_trace::record::{self, Act, CoroutineId, Nanos, ProcessId, Record, SiteId, Waker};

use super::gathered::Part;
use super::lane_copy::LaneCopy;
use super::plan::Plan;
use super::rows::Rows;
use crate::harvest::acts::{self, Witness};
use crate::harvest::convert;

/// Processes of which a thread found no lane, or a lane was overwritten: what their threads did may be
/// lost, and nothing counts it.
pub(super) fn processes_with_uncounted_losses(plan: &Plan, parts: &[Part]) -> BTreeSet<ProcessId> {
    let lacks_lanes = |(part, lanes): &(&Part, &Vec<LaneCopy>)| {
        let laneless = part.memory.region().header.counters().laneless;
        0 < laneless || lanes.iter().any(|lane| lane.is_damaged)
    };
    let lacking = parts.iter().zip(&plan.lanes).filter(lacks_lanes);
    let memories: BTreeSet<u32> = lacking.map(|(part, _)| part.number).collect();
    let occupants = plan.coroutines.iter().map(|one| one.occupant());
    occupants
        .filter(|it| !it.is_plain && memories.contains(&it.memory))
        .map(|it| it.process)
        .collect()
}

impl Rows<'_> {
    /// Tells that these processes may have lost any number of records until then.
    pub(super) fn tell_uncounted_losses(&mut self, processes: BTreeSet<ProcessId>, at: Nanos) {
        for process in processes {
            self.sink.take(Record::Deed(record::Deed {
                process,
                tid: 0,
                at,
                act: Act::Loss(0),
            }));
        }
    }

    /// Tells what a thread did.
    pub(super) fn deed(&mut self, index: usize, at: u64, deed: DeedKind, payload: &Payload) {
        if matches!(deed, DeedKind::Begin | DeedKind::Loss) {
            let least = u32::from(deed == DeedKind::Loss);
            self.refused(index, at, payload.n as u32, least);
        }
        if deed == DeedKind::Begin {
            let part = &self.parts[self.streams[index].part];
            let process = part.process(payload.station);
            let stream = &mut self.streams[index];
            stream.author = (payload.arg, process.unwrap_or(stream.author.1));
        }
        let mut then = Then {
            rows: self,
            index,
            at,
        };
        if let Some(act) = acts::act(deed, payload, &mut then) {
            self.tell_deed(index, at, act);
        }
    }

    fn tell_deed(&mut self, index: usize, at: u64, act: Act) {
        let (tid, process) = self.streams[index].author;
        self.sink.take(Record::Deed(record::Deed {
            process,
            tid,
            at: Nanos(at.saturating_sub(self.zero_ns)),
            act,
        }));
    }

    /// So many records found no room since the thread took the lane; at least so many just before.
    pub(super) fn refused(&mut self, index: usize, at: u64, count: u32, least: u32) {
        let told = &mut self.streams[index].told_refused;
        let records = told.map_or(least, |told| convert::newly_lost(told, count));
        *told = Some(told.map_or(count, |told| told.wrapping_add(records)));
        if records > 0 {
            self.tell_deed(index, at, Act::Loss(records.into()));
        }
    }

    /// Who woke at that time.
    pub(super) fn waker(&self, part: usize, at: u64, by: WokenBy) -> Waker {
        convert::waker(by, |word| {
            let seated = self.plan.attributions[part].seated(at, word);
            seated.and_then(|which| self.told(which))
        })
    }

    fn told(&self, which: usize) -> Option<CoroutineId> {
        let one = &self.plan.coroutines[which];
        one.is_told.then(|| one.occupant().coroutine)
    }
}

/// What a snapshot knows of what a thread did then.
struct Then<'t, 'r> {
    rows: &'t mut Rows<'r>,
    index: usize,
    at: u64,
}

impl Then<'_, '_> {
    fn part(&self) -> usize {
        self.rows.streams[self.index].part
    }
}

impl Witness for Then<'_, '_> {
    fn tid(&self) -> u64 {
        self.rows.streams[self.index].author.0
    }

    fn coroutine(&mut self, payload: &Payload) -> Option<CoroutineId> {
        let attribution = &self.rows.plan.attributions[self.part()];
        let named = attribution.woken(self.at, payload)?;
        self.rows.told(named)
    }

    fn waker(&self, by: WokenBy) -> Waker {
        self.rows.waker(self.part(), self.at, by)
    }

    fn site(&mut self, word: u64) -> SiteId {
        let process = self.rows.streams[self.index].author.1;
        self.rows.site(self.part(), process, word)
    }
}

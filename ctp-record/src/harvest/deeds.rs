//! What lanes tell besides events of coroutines: what their threads did.

use std::collections::BTreeSet;

use ctp_nostd::Region;
use ctp_nostd::inspect::WokenBy;
use ctp_nostd::lane::{Deed, HELD_BY_COROUTINE, HELD_BY_THREAD, Payload};
use ctp_trace::record::{
    self, Act, Close, Hold, Nanos, ProcessId, Record as Fact, WakeCall, Waker,
};

use super::lanes::Record;
use super::{Harvest, Pass, convert};

/// The thread that has a lane, and what it has told of its losses.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Author {
    pub tid: u64,
    pub process: ProcessId,
    told_lost: u32,
}

impl Author {
    /// What is new in the count of losses.
    fn newly_lost(&mut self, lost: u32) -> u32 {
        let records = convert::newly_lost(self.told_lost, lost);
        self.told_lost = self.told_lost.wrapping_add(records);
        records
    }
}

impl Harvest {
    pub(super) fn take_deed(
        &mut self,
        lane: usize,
        deed: Deed,
        record: &Record,
        pass: &mut Pass<'_>,
    ) {
        if !self.may_have_been(record.at) {
            self.totals.quarantined += 1;
            return;
        }
        let (at, payload) = (self.nanos(record.at), &record.payload);
        if matches!(deed, Deed::Begin | Deed::Loss) {
            self.tell_loss(lane, payload.n as u32, at, pass);
        }
        let act = match deed {
            Deed::Begin => {
                self.change_author(lane, payload, pass);
                Some(Act::Begin)
            }
            Deed::End => Some(Act::End),
            Deed::Loss | Deed::Void => None,
            Deed::Wake => self.wake_call(lane, payload, pass).map(Act::Wake),
            Deed::Close => Some(Act::Close(self.closing(lane, payload, pass))),
            Deed::Acquire => Some(Act::Acquire(self.hold(lane, payload, pass))),
            Deed::Release => Some(Act::Release(self.hold(lane, payload, pass))),
        };
        if let Some(act) = act {
            self.tell_deed(lane, at, act, pass);
        }
    }

    fn change_author(&mut self, lane: usize, payload: &Payload, pass: &mut Pass<'_>) {
        let peer = pass.peer_attached(payload.station);
        let process = pass.outside.process(peer, pass.sink);
        let author = self.lanes.author(lane);
        (author.tid, author.process) = (payload.arg, process);
    }

    /// Nothing if nobody knows any more who was woken.
    fn wake_call(
        &mut self,
        lane: usize,
        payload: &Payload,
        pass: &mut Pass<'_>,
    ) -> Option<WakeCall> {
        let index = payload.station as usize;
        if !self.is_of_its_coroutine(index, payload, pass) {
            return None;
        }
        let process = self.lanes.author(lane).process;
        Some(WakeCall {
            coroutine: self.cells[index].coroutine,
            count: payload.n as u32,
            by: self.waker(WokenBy::from_word(payload.arg as u32)),
            site: self.places.word(process, payload.site, pass),
        })
    }

    fn closing(&mut self, lane: usize, payload: &Payload, pass: &mut Pass<'_>) -> Close {
        let process = self.lanes.author(lane).process;
        Close {
            wait: convert::wait_kind(payload.wait_kind),
            arg: payload.arg,
            site: self.places.word(process, payload.site, pass),
        }
    }

    fn hold(&mut self, lane: usize, payload: &Payload, pass: &mut Pass<'_>) -> Hold {
        let by = self.doer(lane, payload, pass);
        let Close { wait, arg, site } = self.closing(lane, payload, pass);
        Hold {
            wait,
            arg,
            by,
            site,
        }
    }

    /// Who ran where the deed was told.
    fn doer(&mut self, lane: usize, payload: &Payload, pass: &mut Pass<'_>) -> Waker {
        let index = payload.station as usize;
        match payload.n {
            HELD_BY_THREAD => Waker::Thread(self.lanes.author(lane).tid as u32),
            HELD_BY_COROUTINE if self.is_of_its_coroutine(index, payload, pass) => {
                Waker::Coroutine(self.cells[index].coroutine)
            }
            _ => Waker::Foreign,
        }
    }

    fn tell_loss(&mut self, lane: usize, lost: u32, at: Nanos, pass: &mut Pass<'_>) {
        let records = self.lanes.author(lane).newly_lost(lost);
        if records > 0 {
            self.tell_deed(lane, at, Act::Loss(records.into()), pass);
        }
    }

    /// What threads lost and have not told of yet, as if it were lost now.
    pub(super) fn untold_losses(&mut self, region: &Region<'_>) -> Vec<Fact> {
        let at = self.now();
        let losses = self.lanes.losses().into_iter().enumerate();
        let losses: Vec<_> = losses.filter_map(|(lane, it)| Some((lane, it?))).collect();
        let untold = |(lane, lost): (usize, u32)| {
            let author = *self.lanes.author(lane);
            let records = convert::newly_lost(author.told_lost, lost);
            let deed = record::Deed {
                process: author.process,
                tid: author.tid,
                at,
                act: Act::Loss(records.into()),
            };
            (records > 0).then_some(Fact::Deed(deed))
        };
        let told = losses.into_iter().filter_map(untold).collect();
        [told, self.losses_without_a_lane(region, at)].concat()
    }

    /// What threads do that found no lane is lost, and nobody counts it: it may have been just now.
    fn losses_without_a_lane(&self, region: &Region<'_>, at: Nanos) -> Vec<Fact> {
        if region.header.counters().laneless == 0 {
            return Vec::new();
        }
        let authors = self.lanes.authors().filter(|author| author.tid != 0);
        let processes: BTreeSet<_> = authors.map(|author| author.process).collect();
        let lost = |process| {
            Fact::Deed(record::Deed {
                process,
                tid: 0,
                at,
                act: Act::Loss(0),
            })
        };
        processes.into_iter().map(lost).collect()
    }

    /// At the end nobody tells of what was lost last.
    pub(super) fn tell_last_losses(&mut self, pass: &mut Pass<'_>) {
        for (lane, lost) in self.lanes.losses().into_iter().enumerate() {
            if let Some(lost) = lost {
                self.tell_loss(lane, lost, self.latest, pass);
            }
        }
        for loss in self.losses_without_a_lane(pass.region, self.latest) {
            pass.sink.take(loss);
        }
    }

    fn tell_deed(&mut self, lane: usize, at: Nanos, act: Act, pass: &mut Pass<'_>) {
        let author = *self.lanes.author(lane);
        pass.found.events += 1;
        pass.sink.take(Fact::Deed(record::Deed {
            process: author.process,
            tid: author.tid,
            at,
            act,
        }));
    }
}

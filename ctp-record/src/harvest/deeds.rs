//! What lanes tell besides events of coroutines: what their threads did.

use std::collections::BTreeSet;

use ctp_nostd::Region;
use ctp_nostd::inspect::WokenBy;
use ctp_nostd::lane::{DeedKind, HELD_BY_COROUTINE, HELD_BY_THREAD, Payload};
use ctp_trace::record::{
    self, Act, Close, CoroutineId, Hold, Nanos, ProcessId, Record as Fact, SiteId, WakeCall, Waker,
};

use super::lanes::Record;
use super::{Harvest, Pass, convert};

/// The thread that has a lane, and what it has told of its losses.
#[derive(Clone, Copy, Debug)]
pub(super) struct Author {
    pub tid: u64,
    pub process: ProcessId,
    /// Nothing while its first count of losses is yet to come, in an image of a lane that was written over.
    told_lost: Option<u32>,
}

impl Default for Author {
    fn default() -> Self {
        Author::new(0, ProcessId::default(), Some(0))
    }
}

impl Author {
    /// The thread, its process, and how many losses were told of before the lane's first record.
    pub fn new(tid: u64, process: ProcessId, told_lost: Option<u32>) -> Self {
        Author {
            tid,
            process,
            told_lost,
        }
    }

    /// What is new in the count of losses; at least `least` if what was told before is not known.
    fn newly_lost(&mut self, lost: u32, least: u32) -> u32 {
        let told = self.told_lost;
        let records = told.map_or(least, |told| convert::newly_lost(told, lost));
        self.told_lost = Some(told.map_or(lost, |told| told.wrapping_add(records)));
        records
    }
}

impl Harvest {
    pub(super) fn take_deed(
        &mut self,
        lane: usize,
        deed: DeedKind,
        record: &Record,
        pass: &mut Pass<'_>,
    ) {
        if !self.horizon.may_have_been(record.at) {
            self.totals.quarantined += 1;
            return;
        }
        let (at, payload) = (self.horizon.nanos(record.at), &record.payload);
        self.latest.note_event(at);
        if matches!(deed, DeedKind::Begin | DeedKind::Loss) {
            let least = u32::from(deed == DeedKind::Loss);
            self.tell_loss(lane, (payload.n as u32, least), at, pass);
        }
        if deed == DeedKind::Begin {
            self.change_author(lane, payload, pass);
        }
        let mut live = Live {
            author: *self.lanes.author(lane),
            harvest: self,
            pass,
        };
        if let Some(act) = live.act(deed, payload) {
            self.tell_deed(lane, at, act, pass);
        }
    }

    fn change_author(&mut self, lane: usize, payload: &Payload, pass: &mut Pass<'_>) {
        let peer = pass.peer_attached(payload.station);
        let process = pass.outside.process(peer, pass.sink);
        let author = self.lanes.author(lane);
        (author.tid, author.process) = (payload.arg, process);
    }

    /// Tells what is new in a lane's count of losses, at least `least`.
    fn tell_loss(
        &mut self,
        lane: usize,
        (lost, least): (u32, u32),
        at: Nanos,
        pass: &mut Pass<'_>,
    ) {
        let records = self.lanes.author(lane).newly_lost(lost, least);
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
            let mut author = *self.lanes.author(lane);
            let records = author.newly_lost(lost, 0);
            let deed = record::Deed {
                process: author.process,
                tid: author.tid,
                at,
                act: Act::Loss(records.into()),
            };
            (records > 0).then_some(Fact::Deed(deed))
        };
        let told = losses.into_iter().filter_map(untold).collect();
        [told, self.uncounted_losses(region, at)].concat()
    }

    /// What threads do that found no lane, or whose lane was overwritten, is lost, and nothing counts it:
    /// it may have been just now.
    fn uncounted_losses(&self, region: &Region<'_>, at: Nanos) -> Vec<Fact> {
        if region.header.counters().laneless == 0 && self.lanes.damaged() == 0 {
            return Vec::new();
        }
        let authors = self.lanes.authors().filter(|author| author.tid != 0);
        let authors = authors.map(|author| author.process);
        // Where no thread found a lane, coroutines alone say whose memory it is.
        let ours = self.cells.iter().filter(|cell| cell.is_ours());
        let processes: BTreeSet<_> = authors.chain(ours.map(|cell| cell.process)).collect();
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
            let until_stop = self
                .stop
                .as_ref()
                .map_or(lost, |stop| stop.lost(lane, lost));
            if let Some(lost) = until_stop {
                self.tell_loss(lane, (lost, 0), self.latest.event(), pass);
            }
        }
        for loss in self.uncounted_losses(pass.region, self.latest.event()) {
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

/// What a pass knows of the deeds of a lane.
struct Live<'l, 'p> {
    author: Author,
    harvest: &'l mut Harvest,
    pass: &'l mut Pass<'p>,
}

impl Live<'_, '_> {
    /// What the thread did. Nothing if that is told elsewhere, or it is not known any more which coroutine
    /// it woke.
    fn act(&mut self, deed: DeedKind, payload: &Payload) -> Option<Act> {
        Some(match deed {
            DeedKind::Begin => Act::Begin,
            DeedKind::End => Act::End,
            DeedKind::Loss | DeedKind::Void => return None,
            DeedKind::Wake => Act::Wake(self.wake_call(payload)?),
            DeedKind::Close => Act::Close(self.closing(payload)),
            DeedKind::Acquire => Act::Acquire(self.hold(payload)),
            DeedKind::Release => Act::Release(self.hold(payload)),
        })
    }

    fn wake_call(&mut self, payload: &Payload) -> Option<WakeCall> {
        Some(WakeCall {
            coroutine: self.coroutine(payload)?,
            count: payload.n as u32,
            by: self.harvest.waker(WokenBy::from_word(payload.arg as u32)),
            site: self.site(payload.site),
        })
    }

    fn closing(&mut self, payload: &Payload) -> Close {
        Close {
            wait: convert::wait_kind(payload.wait_kind),
            arg: payload.arg,
            site: self.site(payload.site),
        }
    }

    fn hold(&mut self, payload: &Payload) -> Hold {
        let by = self.holder(payload);
        let Close { wait, arg, site } = self.closing(payload);
        Hold {
            wait,
            arg,
            by,
            site,
        }
    }

    /// The coroutine or thread that ran where the record was written.
    fn holder(&mut self, payload: &Payload) -> Waker {
        let coroutine = match payload.n {
            HELD_BY_THREAD => return Waker::Thread(self.author.tid as u32),
            HELD_BY_COROUTINE => self.coroutine(payload),
            _ => None,
        };
        coroutine.map_or(Waker::Foreign, Waker::Coroutine)
    }

    /// The coroutine that the record names, if anything else is told of that.
    fn coroutine(&mut self, payload: &Payload) -> Option<CoroutineId> {
        let index = payload.station as usize;
        let is_known = self.harvest.is_of_its_coroutine(index, payload, self.pass);
        is_known.then(|| self.harvest.cells[index].coroutine)
    }

    /// The site that this word of the thread's program means.
    fn site(&mut self, word: u64) -> SiteId {
        let places = &mut self.harvest.places;
        places.word(self.author.process, word, self.pass)
    }
}

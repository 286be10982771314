//! Records of lanes that are not events of coroutines: thread events.

use std::collections::BTreeSet;

use ctp_nostd::Region;
use ctp_nostd::inspect::WokenBy;
use ctp_nostd::lane::{HELD_BY_COROUTINE, HELD_BY_THREAD, HELD_SHARED, Payload, ThreadEventKind};
use ctp_trace::record::{
    self, Act, Close, CoroutineId, Hold, Nanos, ProcessId, Record, SiteId, WakeCall, Waker,
};

use super::lanes::LaneEntry;
use super::{Harvest, Pass, convert};

/// The thread that uses a lane, and its losses that were reported.
#[derive(Clone, Copy, Debug)]
pub(super) struct Author {
    pub tid: u64,
    pub process: ProcessId,
    /// Losses reported so far. In an image of an overwritten lane, `None` before the first count.
    reported_lost: Option<u32>,
}

impl Default for Author {
    fn default() -> Self {
        Author::new(0, ProcessId::default(), Some(0))
    }
}

impl Author {
    /// Creates an author: its thread, its process, and the losses reported before the lane's first record.
    pub fn new(tid: u64, process: ProcessId, reported_lost: Option<u32>) -> Self {
        Author {
            tid,
            process,
            reported_lost,
        }
    }

    /// The growth of the count of losses. If the reported losses are unknown, returns `least`.
    fn newly_lost(&mut self, lost: u32, least: u32) -> u32 {
        let reported = self.reported_lost;
        let records = reported.map_or(least, |reported| convert::newly_lost(reported, lost));
        self.reported_lost = Some(reported.map_or(lost, |reported| reported.wrapping_add(records)));
        records
    }
}

impl Harvest {
    pub(super) fn take_thread_event(
        &mut self,
        lane: usize,
        thread_event: ThreadEventKind,
        record: &LaneEntry,
        pass: &mut Pass<'_>,
    ) {
        if !self.horizon.is_possible(record.at) {
            self.totals.quarantined += 1;
            return;
        }
        let (at, payload) = (self.horizon.nanos(record.at), &record.payload);
        self.latest.note_event(at);
        if matches!(thread_event, ThreadEventKind::Begin | ThreadEventKind::Loss) {
            let least = u32::from(thread_event == ThreadEventKind::Loss);
            self.emit_loss(lane, (payload.n as u32, least), at, pass);
        }
        if thread_event == ThreadEventKind::Begin {
            self.change_author(lane, payload, pass);
        }
        let mut live = LaneContext {
            author: *self.lanes.author(lane),
            harvest: self,
            pass,
        };
        if let Some(act) = live.act(thread_event, payload) {
            self.emit_thread_event(lane, at, act, pass);
        }
    }

    fn change_author(&mut self, lane: usize, payload: &Payload, pass: &mut Pass<'_>) {
        let peer = pass.peer_attached(payload.station);
        let process = pass.outside.process(peer, pass.sink);
        let author = self.lanes.author(lane);
        (author.tid, author.process) = (payload.arg, process);
    }

    /// Emits the growth of a lane's count of losses, or `least` losses if the losses reported so far are unknown.
    fn emit_loss(
        &mut self,
        lane: usize,
        (lost, least): (u32, u32),
        at: Nanos,
        pass: &mut Pass<'_>,
    ) {
        let records = self.lanes.author(lane).newly_lost(lost, least);
        if records > 0 {
            self.emit_thread_event(lane, at, Act::Loss(records.into()), pass);
        }
    }

    /// Losses that no record states yet, dated now.
    pub(super) fn pending_losses(&mut self, region: &Region<'_>) -> Vec<Record> {
        let at = self.now();
        let mut pending = Vec::new();
        for (lane, lost) in self.lanes.losses().into_iter().enumerate() {
            let Some(lost) = lost else {
                continue;
            };
            let mut author = *self.lanes.author(lane);
            let records = author.newly_lost(lost, 0);
            if records > 0 {
                pending.push(Record::ThreadEvent(record::ThreadEvent {
                    process: author.process,
                    tid: author.tid,
                    at,
                    act: Act::Loss(records.into()),
                }));
            }
        }
        pending.extend(self.uncounted_losses(region, at));
        pending
    }

    /// Losses that have no count, dated `at`: events of threads with a damaged lane or without a lane. Such a
    /// loss may have happened just now.
    fn uncounted_losses(&self, region: &Region<'_>, at: Nanos) -> Vec<Record> {
        if region.header.counters().laneless == 0 && self.lanes.damaged() == 0 {
            return Vec::new();
        }
        let authors = self.lanes.authors().filter(|author| author.tid != 0);
        let authors = authors.map(|author| author.process);
        // If no thread found a lane, only coroutines show which processes use the memory.
        let ours = self.cells.iter().filter(|cell| cell.is_ours());
        let processes: BTreeSet<_> = authors.chain(ours.map(|cell| cell.process)).collect();
        processes
            .into_iter()
            .map(|process| {
                Record::ThreadEvent(record::ThreadEvent {
                    process,
                    tid: 0,
                    at,
                    act: Act::Loss(0),
                })
            })
            .collect()
    }

    /// Emits the latest losses at the end, when no further record states them.
    pub(super) fn emit_final_losses(&mut self, pass: &mut Pass<'_>) {
        for (lane, lost) in self.lanes.losses().into_iter().enumerate() {
            let until_stop = self
                .stop
                .as_ref()
                .map_or(lost, |stop| stop.lost(lane, lost));
            if let Some(lost) = until_stop {
                self.emit_loss(lane, (lost, 0), self.latest.event(), pass);
            }
        }
        for loss in self.uncounted_losses(pass.region, self.latest.event()) {
            pass.sink.take(loss);
        }
    }

    fn emit_thread_event(&mut self, lane: usize, at: Nanos, act: Act, pass: &mut Pass<'_>) {
        let author = *self.lanes.author(lane);
        pass.found.events += 1;
        pass.sink.take(Record::ThreadEvent(record::ThreadEvent {
            process: author.process,
            tid: author.tid,
            at,
            act,
        }));
    }
}

/// The context in which thread events of a lane are converted.
struct LaneContext<'l, 'p> {
    author: Author,
    harvest: &'l mut Harvest,
    pass: &'l mut Pass<'p>,
}

impl LaneContext<'_, '_> {
    /// Converts what the thread did. `None` if other records state it, or if the woken coroutine is no longer
    /// known.
    fn act(&mut self, thread_event: ThreadEventKind, payload: &Payload) -> Option<Act> {
        Some(match thread_event {
            ThreadEventKind::Begin => Act::Begin,
            ThreadEventKind::End => Act::End,
            ThreadEventKind::Loss | ThreadEventKind::Cancelled => return None,
            ThreadEventKind::Wake => Act::Wake(self.wake_call(payload)?),
            ThreadEventKind::Close => Act::Close(self.closing(payload)),
            ThreadEventKind::Acquire => Act::Acquire(self.hold(payload)),
            ThreadEventKind::Release => Act::Release(self.hold(payload)),
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
            shared: payload.n & HELD_SHARED != 0,
        }
    }

    /// The coroutine or thread that was running when the record was written.
    fn holder(&mut self, payload: &Payload) -> Waker {
        let coroutine = match payload.n & !HELD_SHARED {
            HELD_BY_THREAD => return Waker::Thread(self.author.tid as u32),
            HELD_BY_COROUTINE => self.coroutine(payload),
            _ => None,
        };
        coroutine.map_or(Waker::Foreign, Waker::Coroutine)
    }

    /// The coroutine that the record names, if the trace has other records of it.
    fn coroutine(&mut self, payload: &Payload) -> Option<CoroutineId> {
        let index = payload.station as usize;
        let is_known = self
            .harvest
            .belongs_to_known_coroutine(index, payload, self.pass);
        is_known.then(|| self.harvest.cells[index].coroutine)
    }

    /// The site to which this word refers in the thread's process.
    fn site(&mut self, word: u64) -> SiteId {
        let sites = &mut self.harvest.sites;
        sites.word(self.author.process, word, self.pass)
    }
}

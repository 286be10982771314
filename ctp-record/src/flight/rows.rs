//! The rows of a snapshot: what several sources have in order of time becomes one sequence, in
//! which each event of a coroutine comes after the one before it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use ctp_nostd::control::AFTER_FILTERED;
use ctp_nostd::lane::{DeedKind, Payload};
use ctp_nostd::slot::Epoch;
use ctp_trace::record::{Event, EventKind, Nanos, ProcessId, Record, SiteId};

use super::attribution::Whose;
use super::gathered::Part;
use super::known::Known;
use super::plan::Plan;
use super::stream::{Item, Stream};
use crate::harvest::{Pass, Places, Sink, convert};

/// When the next item of each source is, the earliest first; of one that has none, later than everything.
type Ready = BinaryHeap<Reverse<(u64, usize)>>;

fn next_at(ready: &Ready) -> Option<u64> {
    ready.peek().map(|Reverse((at, _))| *at)
}

/// What the rows are made from, and what became of them.
pub struct Rows<'r> {
    /// Of whom.
    pub plan: Plan,
    /// From what.
    pub streams: Vec<Stream>,
    /// Where places are looked up.
    pub parts: Vec<Part>,
    /// What is known besides.
    pub known: Known,
    /// The trace's zero on the monotonic clock.
    pub zero_ns: u64,
    /// Where they go.
    pub sink: &'r mut dyn Sink,
    /// Events so far.
    pub events: u64,
    /// Records that made no sense.
    pub quarantined: u64,
}

impl Rows<'_> {
    /// Takes all that the sources have.
    pub fn take_all(&mut self) {
        let streams = self.streams.iter().enumerate();
        let mut ready: Ready = streams.map(|it| Reverse((it.1.time(), it.0))).collect();
        while let Some(index) = self.earliest(&mut ready) {
            let until = next_at(&ready).unwrap_or(u64::MAX);
            self.take(index);
            while self.streams[index].time() < until {
                self.take(index);
            }
            ready.push(Reverse((self.streams[index].time(), index)));
        }
        for index in 0..self.streams.len() {
            let count = self.streams[index].refused;
            self.refused(index, self.plan.dated_ns, count, 0);
        }
    }

    /// The source with the earliest item, which is not among the others any more. Of items of one time,
    /// one that need not come after another.
    fn earliest(&self, ready: &mut Ready) -> Option<usize> {
        let first = next_at(ready).filter(|first| *first != u64::MAX)?;
        let mut early = Vec::new();
        let mut due = None;
        while due.is_none()
            && next_at(ready) == Some(first)
            && let Some(Reverse((_, index))) = ready.pop()
        {
            match self.is_due(index) {
                true => due = Some(index),
                false => early.push(index),
            }
        }
        let index = due.unwrap_or_else(|| early.remove(0));
        ready.extend(early.into_iter().map(|index| Reverse((first, index))));
        Some(index)
    }

    /// Is its next item not one that comes after another that is still to be told?
    fn is_due(&self, index: usize) -> bool {
        let stream = &self.streams[index];
        let whose = match stream.front() {
            Some((at, Item::Record(payload))) => self.event_of(stream.part, at, &payload),
            Some((_, Item::Event(which, n, _))) => Some((which, n)),
            _ => None,
        };
        whose.is_none_or(|(which, n)| {
            self.plan.coroutines[which]
                .ahead_of(n)
                .is_none_or(|it| it == 0)
        })
    }

    fn event_of(&self, part: usize, at: u64, payload: &Payload) -> Option<(usize, u64)> {
        if DeedKind::from_code(payload.kind).is_some() {
            return None;
        }
        match self.plan.attributions[part].of_event(at, payload) {
            Whose::Of(which, n) => {
                let one = &self.plan.coroutines[which];
                Some((which, n.unwrap_or_else(|| one.index_of(payload))))
            }
            Whose::Later | Whose::Unknown => None,
        }
    }

    fn take(&mut self, index: usize) {
        let Some((at, item)) = self.streams[index].front() else {
            return;
        };
        self.streams[index].advance();
        match item {
            _ if self.plan.latest_ns < at => self.quarantined += 1,
            Item::Control(control) => self.sink.take(Record::Control(control)),
            Item::Event(which, n, epoch) => self.event(which, n, &epoch),
            Item::Record(payload) => match DeedKind::from_code(payload.kind) {
                Some(deed) if at <= self.plan.until_ns => self.deed(index, at, deed, &payload),
                None if at <= self.plan.until_ns => self.lane_event(index, at, &payload),
                // The stations tell of the rest, if anything does.
                _ => {}
            },
        }
    }

    fn lane_event(&mut self, index: usize, at: u64, payload: &Payload) {
        let stream = &self.streams[index];
        if let Some((which, n)) = self.event_of(stream.part, at, payload) {
            let epoch = self.epoch(which, n, at, stream.author.0, payload);
            self.event(which, n, &epoch);
        }
    }

    /// As a slot would have it. What a suspend has seen of wakes is what the run before it saw; if
    /// that is not there, the slot may tell.
    fn epoch(&self, which: usize, n: u64, at: u64, tid: u64, payload: &Payload) -> Epoch {
        let one = &self.plan.coroutines[which];
        let is_next = one.next_n == n && payload.kind & AFTER_FILTERED == 0;
        let held = || one.held(n).map(|epoch| epoch.tail.wake_seen);
        let seen = || {
            one.wakes_seen
                .filter(|_| is_next)
                .or_else(held)
                .unwrap_or(0)
        };
        convert::epoch(at, payload, tid, one.occupant().generation, seen)
    }

    /// Tells an event, unless it was told or is not to be.
    fn event(&mut self, which: usize, n: u64, epoch: &Epoch) {
        let one = &mut self.plan.coroutines[which];
        if !one.is_told || one.ahead_of(n).is_none() {
            return;
        }
        one.next_n = n.wrapping_add(1);
        let (is_plain, generation) = (one.occupant().is_plain, one.occupant().generation);
        let is_its_own = is_plain || epoch.generation == generation;
        let Some(kind) = convert::event_kind(epoch, is_plain).filter(|_| is_its_own) else {
            self.quarantined += 1;
            return;
        };
        let after_filtered = !is_plain && convert::is_after_filtered(epoch);
        one.breaks += u64::from(after_filtered);
        one.recorded += 1;
        one.wakes_seen = (kind == EventKind::Run).then_some(epoch.tail.wake_seen);
        let mut event = Event {
            coroutine: one.occupant().coroutine,
            n: one.number_of(n),
            at: Nanos(epoch.timestamp.saturating_sub(self.zero_ns)),
            tid: epoch.tid,
            kind,
            arg: convert::given_out(kind, epoch),
            wake_seen: convert::wakes_seen_by_a_run(kind, epoch, is_plain),
            after_filtered,
            ..Event::default()
        };
        if kind == EventKind::Suspend {
            self.describe_wait(which, &mut event, epoch);
        }
        self.events += 1;
        self.sink.take_event(&event);
    }

    fn describe_wait(&mut self, which: usize, event: &mut Event, epoch: &Epoch) {
        let occupant = self.plan.coroutines[which].occupant();
        let (memory, process, is_plain) = (occupant.memory, occupant.process, occupant.is_plain);
        let part = self.parts.iter().position(|part| part.number == memory);
        let site = part.map_or(SiteId(0), |part| match is_plain {
            true => self.plain_site(part, process, epoch.addr),
            false => self.site(part, process, epoch.site),
        });
        convert::describe_wait(event, epoch, is_plain, site);
    }

    pub(super) fn site(&mut self, part: usize, process: ProcessId, word: u64) -> SiteId {
        self.look_up(part, |places, pass| places.word(process, word, pass))
    }

    fn plain_site(&mut self, part: usize, process: ProcessId, address: u64) -> SiteId {
        self.look_up(part, |places, pass| places.plain(process, address, pass))
    }

    fn look_up(
        &mut self,
        part: usize,
        ask: impl FnOnce(&mut Places, &mut Pass<'_>) -> SiteId,
    ) -> SiteId {
        let Part { memory, places, .. } = &mut self.parts[part];
        let region = memory.region();
        ask(places, &mut Pass::over(&region, &mut self.known, self.sink))
    }
}

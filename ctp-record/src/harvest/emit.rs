//! Converts what was read from a slot or a lane to an event of the trace, and emits the event.

use ctp_nostd::control::AFTER_FILTERED;
use ctp_nostd::dialect::Fetched;
use ctp_nostd::lane::Payload;
use ctp_nostd::slot::Epoch;
use ctp_trace::record::{Event, EventKind, Nanos, SiteId};

use super::cell::StationCell;
use super::lanes::LaneEntry;
use super::{Harvest, Pass, convert};

/// Which kind of probe writes a station and its slots.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ProbeKind {
    /// This project's probe.
    Ours,
    /// A probe that writes only the fields of cTP v1.
    V1Peer,
}

impl Harvest {
    /// Emits event `n` of a station, which was read from its slot. Slots with impossible content are only
    /// counted.
    #[inline(never)]
    pub(super) fn emit_of_slot(
        &mut self,
        index: usize,
        n: u64,
        epoch: &Epoch,
        pass: &mut Pass<'_>,
    ) {
        let cell = &self.cells[index];
        let source = cell.source();
        let is_same_coroutine =
            source == ProbeKind::V1Peer || epoch.generation == cell.generation();
        let kind = convert::kind_of_slot(epoch, source).filter(|_| is_same_coroutine);
        let Some(kind) = self.credible(index, n, epoch.timestamp, kind) else {
            return;
        };
        let at = self.horizon.nanos(epoch.timestamp);
        let cell = &mut self.cells[index];
        let process = cell.process;
        let mut event = cell.event_of_slot((n, at), kind, epoch, source);
        if kind == EventKind::Suspend {
            (event.site, event.arg) = match source {
                ProbeKind::Ours => (self.sites.word(process, epoch.site, pass), event.arg),
                ProbeKind::V1Peer => self.v1_site(index, n, epoch.addr, pass),
            };
        }
        self.note_and_emit(index, &event, pass);
    }

    /// The site of event `n` of a v1 peer, which suspended at this address, and the address if it is no address of
    /// code.
    fn v1_site(
        &mut self,
        index: usize,
        n: u64,
        address: u64,
        pass: &mut Pass<'_>,
    ) -> (SiteId, u64) {
        let cell = &self.cells[index];
        let (of, dialect) = ((cell.process, cell.coroutine), cell.dialect());
        let site = self.sites.at_address(cell.process, address, pass);
        if site != SiteId(0) || address == 0 {
            return (site, 0);
        }
        let station = &pass.region.stations[index];
        let still_waits = || {
            let is_alive = station.identity().is_some_and(|identity| !identity.is_dead);
            is_alive && dialect.fetch(station, n.wrapping_add(1)) == Fetched::NotYet
        };
        (self.sites.frame(of, address, still_waits, pass), address)
    }

    /// Emits the next event of a station, which was read from the lane of thread `tid`. Records with
    /// impossible content are only counted.
    #[inline(never)]
    pub(super) fn emit_of_lane(
        &mut self,
        index: usize,
        tid: u64,
        record: &LaneEntry,
        pass: &mut Pass<'_>,
    ) {
        let n = self.cells[index].next_n();
        let kind = convert::kind_of_lane(record.payload.kind).filter(|_| record.at != 0);
        let Some(kind) = self.credible(index, n, record.at, kind) else {
            return;
        };
        let at = self.horizon.nanos(record.at);
        let cell = &mut self.cells[index];
        let process = cell.process;
        let mut event = cell.event_of_lane((tid, at), kind, record, pass);
        if kind == EventKind::Suspend {
            event.site = self.sites.word(process, record.payload.site, pass);
        }
        self.note_and_emit(index, &event, pass);
    }

    /// Returns `kind` if it is known and event `n` can have happened at this time. Otherwise counts the event
    /// as quarantined and returns `None`.
    fn credible(
        &mut self,
        index: usize,
        n: u64,
        at_ns: u64,
        kind: Option<EventKind>,
    ) -> Option<EventKind> {
        let may_be = self.horizon.is_possible(at_ns);
        let cell = &mut self.cells[index];
        cell.inexact |= self.horizon.is_too_early(at_ns);
        let kind = kind.filter(|_| may_be);
        if kind.is_none() {
            cell.discard(n);
            self.totals.quarantined += 1;
            self.miss(index, 1);
        }
        kind
    }

    fn note_and_emit(&mut self, index: usize, event: &Event, pass: &mut Pass<'_>) {
        self.latest.note_event(event.at);
        self.totals.events += 1;
        if event.kind == EventKind::Death {
            self.totals.finished += u32::from(self.cells[index].has_ended_in_run());
            self.cells.note_ended(index);
        }
        pass.sink.take_event(event);
    }
}

impl StationCell {
    fn source(&self) -> ProbeKind {
        match self.v1_dialect {
            Some(_) => ProbeKind::V1Peer,
            None => ProbeKind::Ours,
        }
    }

    /// Event `n` as its slot states it, without the site.
    fn event_of_slot(
        &mut self,
        (n, at): (u64, Nanos),
        kind: EventKind,
        epoch: &Epoch,
        source: ProbeKind,
    ) -> Event {
        let is_ours = source == ProbeKind::Ours;
        let after_filtered = is_ours && epoch.tail.kind & AFTER_FILTERED != 0;
        let mut event = self.event(n, (epoch.timestamp, at), kind, after_filtered);
        event.tid = epoch.tid;
        if kind == EventKind::Run {
            self.note_wakes_seen(epoch.tail.wake_seen);
        }
        if is_ours {
            convert::describe(
                &mut event,
                epoch.arg,
                epoch.tail.wait_kind,
                epoch.tail.wake_seen,
            );
            self.note_wait(event.wait);
        }
        event
    }

    /// The next event as a lane of this thread states it, without the site.
    #[inline(always)]
    pub(super) fn event_of_lane(
        &mut self,
        (tid, at): (u64, Nanos),
        kind: EventKind,
        record: &LaneEntry,
        pass: &Pass<'_>,
    ) -> Event {
        let payload = &record.payload;
        let after_filtered = payload.kind & AFTER_FILTERED != 0;
        let wakes_seen = match kind {
            EventKind::Run => payload.arg as u16,
            EventKind::Suspend => self.wakes_seen_by_suspend(payload, pass),
            EventKind::Birth | EventKind::Death => 0,
        };
        let n = self.next_n();
        let mut event = self.event(n, (record.at, at), kind, after_filtered);
        event.tid = tid;
        if kind == EventKind::Run {
            self.note_wakes_seen(wakes_seen);
        }
        convert::describe(&mut event, payload.arg, payload.wait_kind, wakes_seen);
        self.note_wait(event.wait);
        event
    }

    /// How many wakes the coroutine had seen when it suspended. The number is that of the run before, so the
    /// lane's record does not repeat it.
    #[inline(always)]
    fn wakes_seen_by_suspend(&self, payload: &Payload, pass: &Pass<'_>) -> u16 {
        let is_next = payload.kind & AFTER_FILTERED == 0;
        let run = self.wakes_seen().filter(|_| is_next);
        run.unwrap_or_else(|| wakes_seen_in_slot(self, payload.station, pass))
    }
}

/// How many wakes the coroutine had seen when it suspended, from the slot of the suspend. Needed if the run
/// before is missing or was excluded. Returns 0 if the slot has been overwritten.
#[cold]
fn wakes_seen_in_slot(cell: &StationCell, station: u32, pass: &Pass<'_>) -> u16 {
    let station = &pass.region.stations[station as usize];
    match cell.dialect().fetch(station, cell.next_n()) {
        Fetched::Whole(epoch) => epoch.tail.wake_seen,
        _ => 0,
    }
}

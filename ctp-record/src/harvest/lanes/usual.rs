//! The next runs and suspends of coroutines that are known: nearly all that lanes tell. What else may come
//! is asked once for many of them, and they go to the sink together, for what it does with one leaves more
//! at hand for the next.

use ctp_nostd::lane::Copied;
use ctp_nostd::slot::EventKind as StoredKind;
use ctp_trace::record::{Event, EventKind};

use super::Record;
use crate::harvest::cell::Cell;
use crate::harvest::horizon::Horizon;
use crate::harvest::queue::MOST_SHOWN;
use crate::harvest::tell::Source;
use crate::harvest::{Harvest, Pass, Places};

/// Room for what becomes of a window.
#[derive(Debug)]
pub(in crate::harvest) struct Events(Box<[Event; MOST_SHOWN]>);

impl Default for Events {
    fn default() -> Self {
        Events(Box::new([Event::default(); MOST_SHOWN]))
    }
}

/// What is asked of each record.
struct Desk<'h> {
    cells: &'h mut [Cell],
    places: &'h mut Places,
    horizon: &'h Horizon,
    /// The thread.
    tid: u64,
}

impl Harvest {
    /// Takes the first of these, as far as each is the next run or suspend of a coroutine that is known, at
    /// a time that [is usual](Horizon::is_usual). Gives how many.
    #[inline(never)]
    pub(super) fn take_usual(
        &mut self,
        lane: usize,
        records: &[Copied],
        pass: &mut Pass<'_>,
    ) -> usize {
        let mut desk = Desk {
            cells: &mut self.cells,
            places: &mut self.places,
            horizon: &self.horizon,
            tid: self.lanes.cursors[lane].author.tid,
        };
        let Events(events) = &mut self.events;
        let mut count = 0;
        for (record, room) in records.iter().zip(events.iter_mut()) {
            let Some(event) = desk.event(record, pass) else {
                break;
            };
            *room = event;
            count += 1;
        }
        if let Some(latest) = events[..count].last() {
            self.told = self.told.max(latest.at);
            self.totals.events += count as u64;
            pass.sink.take_events(&events[..count]);
        }
        count
    }
}

impl Desk<'_> {
    #[inline(always)]
    fn event(&mut self, copied: &Copied, pass: &mut Pass<'_>) -> Option<Event> {
        const RUN: u8 = StoredKind::Run as u8;
        const SUSPEND: u8 = StoredKind::Suspend as u8;
        let cell = self.cells.get(copied.station() as usize)?;
        let is_usual = cell.expects(copied) && self.horizon.is_usual(copied.at());
        // Once for each: little of what a suspend says is asked of a run.
        match copied.kind() {
            RUN if is_usual => Some(self.event_of(RUN, EventKind::Run, copied, pass)),
            SUSPEND if is_usual => Some(self.event_of(SUSPEND, EventKind::Suspend, copied, pass)),
            _ => None,
        }
    }

    #[inline(always)]
    fn event_of(
        &mut self,
        stored: u8,
        kind: EventKind,
        copied: &Copied,
        pass: &mut Pass<'_>,
    ) -> Event {
        let mut record = Record::of(copied);
        record.payload.kind = stored; // as it is, but known where this is compiled
        let cell = &mut self.cells[copied.station() as usize];
        let epoch = cell.epoch(self.tid, &record, pass);
        let (n, process) = (cell.next_n(), cell.process);
        let at = self.horizon.nanos(record.at);
        let mut event = cell.event(n, at, kind, &epoch, Source::Ours);
        if kind == EventKind::Suspend {
            self.places
                .describe_wait(&mut event, process, &epoch, Source::Ours, pass);
        }
        event
    }
}

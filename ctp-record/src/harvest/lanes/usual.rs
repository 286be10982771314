//! The next runs and suspends of coroutines that are known: nearly all that lanes tell. What else may come
//! is asked once for many of them, and they go to the sink together, for what it does with one leaves more
//! at hand for the next.

use ctp_nostd::lane::Copied;
use ctp_nostd::slot::EventKind as StoredKind;
use ctp_trace::record::{Event, EventKind, Nanos};

use super::Record;
use crate::harvest::cell::Cell;
use crate::harvest::horizon::Horizon;
use crate::harvest::queue::MOST_SHOWN;
use crate::harvest::{Harvest, Pass, Places, Sink};

/// Events on their way to the sink; none between two rounds. Nothing but definitions goes to the sink
/// before they have.
#[derive(Debug)]
pub(in crate::harvest) struct Events {
    room: Box<[Event; MOST_SHOWN]>,
    length: usize,
}

impl Default for Events {
    fn default() -> Self {
        Events {
            room: Box::new([Event::default(); MOST_SHOWN]),
            length: 0,
        }
    }
}

impl Events {
    /// Room for so many more.
    fn room(&mut self, count: usize, sink: &mut dyn Sink) -> &mut [Event] {
        if MOST_SHOWN < self.length + count {
            self.hand_over(sink);
        }
        &mut self.room[self.length..]
    }

    /// All go to the sink.
    pub fn hand_over(&mut self, sink: &mut dyn Sink) {
        let length = std::mem::take(&mut self.length);
        if 0 < length {
            sink.take_events(&self.room[..length]);
        }
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
            cells: self.cells.as_mut_slice(),
            places: &mut self.places,
            horizon: &self.horizon,
            tid: self.lanes.cursors[lane].author.tid,
        };
        let room = self.events.room(records.len(), pass.sink);
        let (mut count, mut latest) = (0, Nanos::default());
        for (record, room) in records.iter().zip(room) {
            let Some(event) = desk.event(record, pass) else {
                break;
            };
            *room = event;
            latest = event.at;
            count += 1;
        }
        self.events.length += count;
        self.totals.events += count as u64;
        self.latest.note_event(latest);
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
        let (process, at) = (cell.process, self.horizon.nanos(record.at));
        let mut event = cell.event_of_lane((self.tid, at), kind, &record, pass);
        if kind == EventKind::Suspend {
            event.site = self.places.word(process, record.payload.site, pass);
        }
        event
    }
}

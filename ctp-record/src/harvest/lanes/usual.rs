//! Fast path of the merge: the next run or suspend of a known coroutine, which is nearly every record. The
//! slow path is tried only for records that are anything else. Events go to the sink in batches, because
//! handling an event leaves in the cache what the next event needs.

use ctp_nostd::lane::Copied;
use ctp_nostd::slot::EventKind as StoredKind;
use ctp_trace::record::{Event, EventKind, Nanos};

use super::LaneEntry;
use crate::harvest::cell::StationCell;
use crate::harvest::horizon::Horizon;
use crate::harvest::queue::WINDOW_RECORDS;
use crate::harvest::{Harvest, Pass, Sink, SiteTable};

/// Events that wait to be handed to the sink. Empty between rounds. Until they are handed over, only
/// definitions may go to the sink.
#[derive(Debug)]
pub(in crate::harvest) struct EventBatch {
    room: Box<[Event; WINDOW_RECORDS]>,
    length: usize,
}

impl Default for EventBatch {
    fn default() -> Self {
        EventBatch {
            room: Box::new([Event::default(); WINDOW_RECORDS]),
            length: 0,
        }
    }
}

impl EventBatch {
    /// Room for `count` more events.
    fn room(&mut self, count: usize, sink: &mut dyn Sink) -> &mut [Event] {
        if WINDOW_RECORDS < self.length + count {
            self.hand_over(sink);
        }
        &mut self.room[self.length..]
    }

    /// Hands all events to the sink.
    pub fn hand_over(&mut self, sink: &mut dyn Sink) {
        let length = std::mem::take(&mut self.length);
        if 0 < length {
            sink.take_events(&self.room[..length]);
        }
    }
}

/// What is needed to convert a record to an event.
struct EventBuilder<'h> {
    cells: &'h mut [StationCell],
    sites: &'h mut SiteTable,
    horizon: &'h Horizon,
    /// The thread of the lane.
    tid: u64,
}

impl Harvest {
    /// Takes records from the start of the slice while each is the next run or suspend of a known coroutine
    /// at a [usual](Horizon::is_usual) time. Returns how many.
    #[inline(never)]
    pub(super) fn take_usual(
        &mut self,
        lane: usize,
        records: &[Copied],
        pass: &mut Pass<'_>,
    ) -> usize {
        let mut builder = EventBuilder {
            cells: self.cells.as_mut_slice(),
            sites: &mut self.sites,
            horizon: &self.horizon,
            tid: self.lanes.cursors[lane].author.tid,
        };
        let room = self.events.room(records.len(), pass.sink);
        let (mut count, mut latest) = (0, Nanos::default());
        for (record, room) in records.iter().zip(room) {
            let Some(event) = builder.event(record, pass) else {
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

impl EventBuilder<'_> {
    #[inline(always)]
    fn event(&mut self, copied: &Copied, pass: &mut Pass<'_>) -> Option<Event> {
        const RUN: u8 = StoredKind::Run as u8;
        const SUSPEND: u8 = StoredKind::Suspend as u8;
        let cell = self.cells.get(copied.station() as usize)?;
        let is_usual = cell.expects(copied) && self.horizon.is_usual(copied.at());
        // An instantiation for each kind, since a run needs little of what a suspend needs.
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
        let mut record = LaneEntry::of(copied);
        record.payload.kind = stored; // The same value, but known at compile time.
        let cell = &mut self.cells[copied.station() as usize];
        let (process, at) = (cell.process, self.horizon.nanos(record.at));
        let mut event = cell.event_of_lane((self.tid, at), kind, &record, pass);
        if kind == EventKind::Suspend {
            event.site = self.sites.word(process, record.payload.site, pass);
        }
        event
    }
}

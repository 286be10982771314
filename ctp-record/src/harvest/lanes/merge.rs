//! Turns the records of lanes into events, earliest first.

use ctp_nostd::lane::{Copied, Payload, ThreadEventKind};
use ctp_nostd::layout::SLOTS;

use super::{LaneEntry, Step, TimeLimit};
use crate::harvest::cell::StationCell;
use crate::harvest::{Harvest, Pass, convert};

/// The result of taking a record.
enum TakeOutcome {
    Taken,
    /// The coroutine's event before the record's event has not been read.
    Early,
}

/// How many records were taken.
struct Taken {
    count: usize,
    /// Every record that was due was taken.
    is_all: bool,
}

impl Harvest {
    /// Reads the records of lanes up to `limit`.
    pub(in crate::harvest) fn drain_lanes(&mut self, limit: TimeLimit, pass: &mut Pass<'_>) {
        let before = self.totals;
        let eighths = self.lanes.begin(pass.region, limit);
        pass.found.most = pass.found.most.max(eighths);
        self.discover(pass.region);
        while 0 < self.lanes.left(limit)
            && let Some(step) = self.lanes.next(limit)
        {
            match step {
                Step::Take { index, until } => self.take_until(index, until, limit, pass),
                Step::Force(index) => self.take_forced(index, pass),
            }
        }
        self.events.hand_over(pass.sink);
        pass.found.is_held |= self.lanes.round.is_held && !self.lanes.are_empty();
        self.since_full_scan.add(self.lanes.round.taken);
        self.lanes.end();
        if limit == TimeLimit::End {
            self.emit_final_losses(pass);
        }
        pass.found.is_cut_short |= self.lanes.round.was_cut_short;
        pass.found.has_pending |= self.lanes.have_pending(limit);
        pass.found.events += self.totals.events - before.events;
        pass.found.has_lost |= self.totals.lost > before.lost;
    }

    fn take_until(&mut self, index: usize, until: u64, limit: TimeLimit, pass: &mut Pass<'_>) {
        let most = usize::try_from(self.lanes.left(limit)).unwrap_or(usize::MAX);
        let taken = self.take_some(index, until, most, |harvest, records| {
            harvest.take_until_early(index, records, pass)
        });
        if 0 < taken.count {
            self.lanes.wake_all();
        }
        if taken.is_all {
            self.lanes.make_ready(index)
        } else {
            self.lanes.make_wait(index)
        }
    }

    fn take_forced(&mut self, index: usize, pass: &mut Pass<'_>) {
        self.events.hand_over(pass.sink);
        self.take_some(index, u64::MAX, 1, |harvest, records| {
            for copied in records {
                harvest.recover_events_before(&LaneEntry::of(copied).payload, pass);
                if let TakeOutcome::Early = harvest.take_unusual(index, copied, pass) {
                    harvest.totals.quarantined += 1;
                }
            }
            records.len()
        });
        self.lanes.wake_all();
    }

    /// Takes records of a lane up to the time `until`, at most `most`, until `take` leaves some of the
    /// records that it is given.
    fn take_some(
        &mut self,
        index: usize,
        until: u64,
        most: usize,
        mut take: impl FnMut(&mut Self, &[Copied]) -> usize,
    ) -> Taken {
        let mut window = std::mem::take(&mut self.lanes.window);
        let (mut count, mut is_all) = (0, true);
        while is_all && count < most && self.lanes.cursors[index].has_until(until) {
            self.lanes.cursors[index]
                .queue
                .show(&mut window, until, most - count);
            let taken = take(self, window.records());
            is_all = taken == window.records().len();
            self.lanes.take(index, &mut window, taken);
            count += taken;
        }
        self.lanes.window = window;
        Taken { count, is_all }
    }

    /// Takes records until a record is early. Returns how many.
    fn take_until_early(&mut self, lane: usize, records: &[Copied], pass: &mut Pass<'_>) -> usize {
        let mut taken = 0;
        loop {
            taken += self.take_usual(lane, &records[taken..], pass);
            let Some(copied) = records.get(taken) else {
                return taken;
            };
            if let TakeOutcome::Early = self.take_unusual(lane, copied, pass) {
                return taken;
            }
            taken += 1;
        }
    }

    #[inline(never)]
    fn take_unusual(&mut self, lane: usize, copied: &Copied, pass: &mut Pass<'_>) -> TakeOutcome {
        self.events.hand_over(pass.sink);
        let record = &LaneEntry::of(copied);
        let payload = &record.payload;
        if self.is_record_after_stop(record.at, payload) {
            return TakeOutcome::Taken;
        }
        if let Some(thread_event) = ThreadEventKind::from_code(payload.kind) {
            self.take_thread_event(lane, thread_event, record, pass);
            return TakeOutcome::Taken;
        }
        let index = payload.station as usize;
        if !self.belongs_to_known_coroutine(index, payload, pass) {
            return TakeOutcome::Taken;
        }
        let cell = &self.cells[index];
        match cell.ahead_of(payload) {
            Some(0) => {
                let tid = self.lanes.cursors[lane].author.tid;
                self.emit_of_lane(index, tid, record, pass);
                TakeOutcome::Taken
            }
            Some(_) => TakeOutcome::Early,
            // The event was already read from the slots.
            None => TakeOutcome::Taken,
        }
    }

    /// Whether the record belongs to a known coroutine. A new coroutine is introduced. False for a record
    /// that cannot belong to the station's coroutine.
    pub(in crate::harvest) fn belongs_to_known_coroutine(
        &mut self,
        index: usize,
        payload: &Payload,
        pass: &mut Pass<'_>,
    ) -> bool {
        let Some(cell) = self.cells.get(index) else {
            self.totals.quarantined += 1;
            return false;
        };
        if cell.is_known() {
            return cell.owns_record(payload);
        }
        let identity = pass.region.stations[index].identity();
        identity.as_ref().is_some_and(|identity| {
            identity.is_extended && uses(identity.generation) == payload.uses
        }) && self.introduce(index, None, pass)
    }

    /// Reads the events before this record from slots, because they are in no lane. Events that the slots no
    /// longer hold are lost. Does nothing if the station cannot have had these events: its head counts all
    /// events except an event that a signal handler interrupted and the events nested in it.
    fn recover_events_before(&mut self, payload: &Payload, pass: &mut Pass<'_>) {
        let index = payload.station as usize;
        let Some(cell) = self.cells.get(index) else {
            return;
        };
        let station = &pass.region.stations[index];
        let ahead = cell.ahead_of(payload).unwrap_or(0);
        let end = cell.next_n().wrapping_add(ahead);
        let had = station.event_head().wrapping_sub(cell.next_n());
        if ahead <= had.saturating_add(SLOTS as u64) {
            self.drain_slots_before(index, end, pass);
        }
    }
}

/// The low bits of the use count of a station, as records contain them.
fn uses(generation: u32) -> u8 {
    (generation / 2) as u8
}

impl StationCell {
    /// Whether a record belongs to this use of the station.
    fn owns_record(&self, payload: &Payload) -> bool {
        self.is_ours() && uses(self.generation()) == payload.uses
    }

    /// Whether the record is the next event of this coroutine, and the coroutine is known.
    #[inline]
    pub(super) fn expects(&self, copied: &Copied) -> bool {
        self.is_ours() && copied.can_be(uses(self.generation()), self.next_n())
    }

    /// The number of events between the next event to read and the record's event; `None` if the latter was
    /// already read.
    fn ahead_of(&self, payload: &Payload) -> Option<u64> {
        u64::try_from(convert::distance(self.next_n(), payload)).ok()
    }
}

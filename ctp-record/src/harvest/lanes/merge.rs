//! Records of lanes become events, the earliest first.

use ctp_nostd::inspect::Identity;
use ctp_nostd::lane::{Copied, DeedKind, Payload};
use ctp_nostd::layout::SLOTS;

use super::{Reach, Record, Step};
use crate::harvest::cell::Cell;
use crate::harvest::{Harvest, Pass, convert};

/// What became of a record.
enum Outcome {
    Taken,
    /// The event before it has not been seen.
    Early,
}

/// How much was taken.
struct Taken {
    count: usize,
    /// Nothing was left that could have been.
    is_all: bool,
}

impl Harvest {
    /// Reads the lanes as far as `reach`.
    pub(in crate::harvest) fn drain_lanes(&mut self, reach: Reach, pass: &mut Pass<'_>) {
        let before = self.totals;
        let eighths = self.lanes.begin(pass.region, reach);
        pass.found.most = pass.found.most.max(eighths);
        self.discover(pass.region);
        while 0 < self.lanes.left(reach)
            && let Some(step) = self.lanes.next(reach)
        {
            match step {
                Step::Take { index, until } => self.take_until(index, until, reach, pass),
                Step::Force(index) => self.take_by_force(index, pass),
            }
        }
        self.events.hand_over(pass.sink);
        pass.found.is_held |= self.lanes.round.is_held && !self.lanes.are_empty();
        self.since_look.add(self.lanes.round.taken);
        self.lanes.end();
        if reach == Reach::End {
            self.tell_last_losses(pass);
        }
        pass.found.is_cut_short |= self.lanes.round.was_cut_short;
        pass.found.has_untold |= self.lanes.have_untold(reach);
        pass.found.events += self.totals.events - before.events;
        pass.found.lost |= self.totals.lost > before.lost;
    }

    fn take_until(&mut self, index: usize, until: u64, reach: Reach, pass: &mut Pass<'_>) {
        let most = usize::try_from(self.lanes.left(reach)).unwrap_or(usize::MAX);
        let taken = self.take_some(index, until, most, |harvest, records| {
            harvest.take_each(index, records, pass)
        });
        if 0 < taken.count {
            self.lanes.wake_all();
        }
        match taken.is_all {
            true => self.lanes.make_ready(index),
            false => self.lanes.make_wait(index),
        }
    }

    fn take_by_force(&mut self, index: usize, pass: &mut Pass<'_>) {
        self.events.hand_over(pass.sink);
        self.take_some(index, u64::MAX, 1, |harvest, records| {
            for copied in records {
                harvest.make_up_for_those_before(&Record::of(copied).payload, pass);
                if let Outcome::Early = harvest.take_any(index, copied, pass) {
                    harvest.totals.quarantined += 1;
                }
            }
            records.len()
        });
        self.lanes.wake_all();
    }

    /// Takes records of a lane that are no later than this, at most so many, until `take` leaves some of
    /// those that it is shown.
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

    /// Takes these until one is early. Gives how many.
    fn take_each(&mut self, lane: usize, records: &[Copied], pass: &mut Pass<'_>) -> usize {
        let mut taken = 0;
        loop {
            taken += self.take_usual(lane, &records[taken..], pass);
            let Some(copied) = records.get(taken) else {
                return taken;
            };
            if let Outcome::Early = self.take_any(lane, copied, pass) {
                return taken;
            }
            taken += 1;
        }
    }

    #[inline(never)]
    fn take_any(&mut self, lane: usize, copied: &Copied, pass: &mut Pass<'_>) -> Outcome {
        self.events.hand_over(pass.sink);
        let record = &Record::of(copied);
        let payload = &record.payload;
        if self.is_of_later(record.at, payload) {
            return Outcome::Taken;
        }
        if let Some(deed) = DeedKind::from_code(payload.kind) {
            self.take_deed(lane, deed, record, pass);
            return Outcome::Taken;
        }
        let index = payload.station as usize;
        if !self.is_of_its_coroutine(index, payload, pass) {
            return Outcome::Taken;
        }
        let cell = &self.cells[index];
        match cell.ahead_of(payload) {
            Some(0) => {
                let tid = self.lanes.cursors[lane].author.tid;
                self.emit_of_lane(index, tid, record, pass);
                Outcome::Taken
            }
            Some(_) => Outcome::Early,
            // The slots gave it.
            None => Outcome::Taken,
        }
    }

    /// Is the coroutine known that this tells of? One that is new is introduced. What tells of none
    /// that can be here is left out.
    pub(in crate::harvest) fn is_of_its_coroutine(
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
            return cell.is_meant(payload);
        }
        let identity = pass.region.stations[index].identity();
        let is_it = |it: &Identity| it.extended && uses(it.generation) == payload.uses;
        identity.as_ref().is_some_and(is_it) && self.introduce(index, None, pass)
    }

    /// The events before this one are in no lane: those that slots still hold are read, the others
    /// are lost. Not if the station has had no such event: its head counts all but those that a signal
    /// handler has recorded amid another one, and that one.
    fn make_up_for_those_before(&mut self, payload: &Payload, pass: &mut Pass<'_>) {
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

/// Low bits of the use of a station, as records have them.
fn uses(generation: u32) -> u8 {
    (generation / 2) as u8
}

impl Cell {
    /// Is it of this use of the station?
    fn is_meant(&self, payload: &Payload) -> bool {
        self.is_ours() && uses(self.generation()) == payload.uses
    }

    /// Is it the next event of this coroutine, which is known?
    #[inline]
    pub(super) fn expects(&self, copied: &Copied) -> bool {
        self.is_ours() && copied.can_be(uses(self.generation()), self.next_n())
    }

    /// How many events there are between the one to read next and this; nothing if it was read.
    fn ahead_of(&self, payload: &Payload) -> Option<u64> {
        u64::try_from(convert::distance(self.next_n(), payload)).ok()
    }
}

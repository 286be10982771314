//! Reads events from the slots of a station, and emits what else the station states.

use ctp_nostd::dialect::Fetched;
use ctp_nostd::inspect::WokenBy;
use ctp_nostd::layout::{SLOTS, Station, coroutine_word, station_of};
use ctp_trace::record::{CoroutineId, Record, Wake, Waker};

use super::MAX_CREDIBLE_EVENTS;
use crate::harvest::{Harvest, Pass, convert};

/// The most events read from a station in a pass, so that a busy station does not delay the others.
const MAX_EVENTS_PER_VISIT: usize = 64;
impl Harvest {
    pub(in crate::harvest) fn drain_slots(
        &mut self,
        index: usize,
        station: &Station,
        pass: &mut Pass<'_>,
    ) {
        for _ in 0..MAX_EVENTS_PER_VISIT {
            let cell = &self.cells[index];
            let n = cell.next_n;
            let found = cell.dialect().fetch(station, n);
            if self.is_slot_after_stop(index, station, &found) {
                return;
            }
            match found {
                Fetched::Whole(epoch) => self.emit_of_slot(index, n, &epoch, pass),
                Fetched::Torn => return,
                absent => match self.cells[index].skip_absent(absent, station) {
                    Some(lost) => self.miss(index, lost),
                    None => return,
                },
            }
        }
    }

    /// Reads events from the slots up to `end`. Events that were overwritten are lost.
    pub(in crate::harvest) fn drain_slots_before(
        &mut self,
        index: usize,
        end: u64,
        pass: &mut Pass<'_>,
    ) {
        let station = &pass.region.stations[index];
        while let ahead @ 1..=MAX_CREDIBLE_EVENTS = self.cells[index].ahead(end) {
            let cell = &mut self.cells[index];
            let n = cell.next_n;
            let beyond_slots = ahead.saturating_sub(SLOTS as u64).max(1);
            let lost = match cell.dialect().fetch(station, n) {
                Fetched::Whole(epoch) => {
                    self.emit_of_slot(index, n, &epoch, pass);
                    continue;
                }
                Fetched::Overwritten(oldest) => cell.ahead(oldest).clamp(beyond_slots, ahead),
                Fetched::Torn | Fetched::NotYet => beyond_slots,
            };
            cell.skip(lost);
            self.miss(index, lost);
        }
    }

    /// Emits what else a station states: wakes, and a v1 peer's death. `was_dead` was read
    /// before the events, so no event can follow the death.
    pub(in crate::harvest) fn emit_station_state(
        &mut self,
        index: usize,
        station: &Station,
        was_dead: bool,
        pass: &mut Pass<'_>,
    ) {
        if self.cells[index].v1_dialect.is_some() {
            let is_dead = was_dead && !self.died_after_stop(index);
            self.emit_v1_death(index, is_dead, pass);
        } else if station
            .identity()
            .is_some_and(|identity| identity.records_wakes)
        {
            self.emit_wakes(index, station, pass);
        }
    }

    pub(in crate::harvest) fn emit_wakes(
        &mut self,
        index: usize,
        station: &Station,
        pass: &mut Pass<'_>,
    ) {
        let state = convert::own_wakes(station.wakes(), self.cells[index].birth_ts);
        if self.cells[index].wakes == Some(state) || self.is_after_stop(state.at_ns) {
            return;
        }
        // An impossible time would become the latest time of the trace, also for other processes.
        let at = if self.horizon.is_possible(state.at_ns) {
            self.horizon.nanos(state.at_ns)
        } else {
            self.latest()
        };
        self.latest.note(at);
        self.cells[index].wakes = Some(state);
        pass.sink.take(Record::Wake(Wake {
            coroutine: self.cells[index].coroutine,
            count: state.count,
            waker: self.waker(state.by),
            at,
        }));
    }

    pub(in crate::harvest) fn waker(&self, by: WokenBy) -> Waker {
        convert::waker(by, |word| self.coroutine_of_word(word))
    }

    /// The coroutine of a [coroutine word](ctp_nostd::layout::coroutine_word), while the coroutine has its station.
    fn coroutine_of_word(&self, word: u32) -> Option<CoroutineId> {
        let index = station_of(word)?;
        let cell = self.cells.get(index as usize)?;
        (cell.is_known() && coroutine_word(index, cell.generation) == word)
            .then_some(cell.coroutine)
    }

    /// Emits the death of a v1 peer's coroutine, unless the coroutine is alive or its death was already emitted.
    fn emit_v1_death(&mut self, index: usize, is_dead: bool, pass: &mut Pass<'_>) {
        let cell = &mut self.cells[index];
        if !is_dead || cell.is_death_emitted {
            return;
        }
        cell.is_death_emitted = true;
        cell.recorded += 1;
        let n = cell.next_n.wrapping_sub(cell.base_n);
        let (coroutine, birth_ns, last_ns) = (cell.coroutine, cell.birth_ts, cell.last_ns);
        self.totals.events += 1;
        // A coroutine without events ended at its birth or later.
        let at_ns = if self.horizon.is_possible(birth_ns) {
            last_ns.max(birth_ns)
        } else {
            last_ns
        };
        let death = convert::v1_death(coroutine, n, self.horizon.nanos(at_ns));
        pass.sink.take(Record::Event(death));
    }
}

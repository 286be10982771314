//! Reports coroutines that have had no event for long, for those parts of the recorder that judge coroutines
//! while the program runs. Without a report, an idle coroutine's latest wakes and account are written only at
//! the end.
//!
//! An idle coroutine is reported once, and again after a wake, the loss of a waker, or an excluded event.
//! So a scan of very many waiting coroutines costs little more than a pass over them.

use std::time::Duration;

use ctp_nostd::Region;
use ctp_nostd::layout::Station;
use ctp_trace::record::{CoroutineId, Record};

use super::{Harvest, Outside, Pass, Sink};

/// The result of a scan for idle coroutines.
#[derive(Debug, Default)]
pub struct IdleReport {
    /// Accounts of idle coroutines, and losses that no record states yet. They hold for this moment only
    /// and are not written to the trace.
    pub accounts: Vec<Record>,
    /// Coroutines that have continued: some of their events are not recorded yet.
    pub moving: Vec<CoroutineId>,
}

/// What was last reported of a station's coroutine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct IdleState {
    next_n: u64,
    wakes: Option<u32>,
    wakers: Option<u32>,
    filtered: u32,
}

impl Harvest {
    /// Reports coroutines that have had no event for `after`. If totals are recorded, also reads the latest
    /// events of such coroutines.
    pub fn report_idle(
        &mut self,
        after: Duration,
        region: &Region<'_>,
        outside: &mut dyn Outside,
        sink: &mut dyn Sink,
    ) -> IdleReport {
        let mut pass = Pass::over(region, outside, sink);
        let mut found = IdleReport {
            accounts: self.pending_losses(region),
            moving: Vec::new(),
        };
        let before_ns = self
            .horizon
            .now_ns()
            .saturating_sub(after.as_nanos() as u64);
        self.idle_states
            .resize(self.cells.len(), IdleState::default());
        for index in 0..self.cells.len() {
            let station = &region.stations[index];
            if !self.cells[index].is_ours() || self.cells[index].has_ended() {
                continue;
            }
            // Later events do not count: an account with them would lack them.
            let head = station.event_head();
            let is_idle = station.latest_event_ns() <= before_ns;
            if is_idle && self.has_caught_up(index, head, &mut pass) {
                let account = self.changed_account(index, (station, head), &mut pass);
                found.accounts.extend(account);
            } else if head != self.cells[index].next_n() {
                found.moving.push(self.cells[index].coroutine);
            }
        }
        found
    }

    /// Whether every event of the coroutine is recorded. In a summary, reads and records the rest first.
    fn has_caught_up(&mut self, index: usize, head: u64, pass: &mut Pass<'_>) -> bool {
        if self.cells[index].next_n() != head && self.records_totals(index) {
            self.drain(index, pass);
            self.emit_totals(index, pass);
        }
        self.cells[index].is_ours() && self.cells[index].next_n() == head
    }

    /// The coroutine's account, unless it equals the last report.
    fn changed_account(
        &mut self,
        index: usize,
        (station, head): (&Station, u64),
        pass: &mut Pass<'_>,
    ) -> Option<Record> {
        let wakers = self.cells[index].wakers(station);
        self.emit_station_state(index, station, false, pass);
        let cell = &self.cells[index];
        let state = IdleState {
            next_n: cell.next_n(),
            wakes: cell.emitted_wakes(),
            wakers,
            filtered: station.filtered(),
        };
        let before = std::mem::replace(&mut self.idle_states[index], state);
        (before != state).then(|| {
            let mut event_counts =
                self.event_counts_of(&self.cells[index], (station, head), pass.region);
            event_counts.wakers = wakers;
            Record::EventCounts(event_counts)
        })
    }
}

//! Reports coroutines that have had no event for long, for the stuck monitor, which judges coroutines while the program
//! runs. Without a report, an idle coroutine's latest wakes and account are written only at the end.
//!
//! An idle coroutine is reported once, and again after a wake, the loss of a waker, or an excluded event. So a scan
//! without news costs one pass over the stations. Coroutines of v1 peers are left out.

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
    pub records: Vec<Record>,
    /// Coroutines with events that are not recorded yet.
    pub with_unread_events: Vec<CoroutineId>,
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
        let mut report = IdleReport {
            records: self.pending_losses(region),
            with_unread_events: Vec::new(),
        };
        let now_ns = self.horizon.now_ns();
        let until_ns = now_ns.saturating_sub(after.as_nanos() as u64);
        self.idle_states
            .resize(self.cells.len(), IdleState::default());
        for index in 0..self.cells.len() {
            let cell = &self.cells[index];
            if cell.is_ours() && !cell.has_ended() {
                self.report_if_idle(index, until_ns, &mut pass, &mut report);
            }
        }
        report
    }

    /// Reports the coroutine of a station if its latest event is no later than `until_ns`.
    fn report_if_idle(
        &mut self,
        index: usize,
        until_ns: u64,
        pass: &mut Pass<'_>,
        report: &mut IdleReport,
    ) {
        let station = &pass.region.stations[index];
        // Later events do not count: an account with them would lack them.
        let head = station.event_head();
        let is_idle = station.latest_event_ns() <= until_ns;
        if is_idle && self.catch_up(index, head, pass) {
            let account = self.changed_account(index, (station, head), pass);
            report.records.extend(account);
        } else if head != self.cells[index].next_n() {
            report.with_unread_events.push(self.cells[index].coroutine);
        }
    }

    /// In a summary, reads and records the unread events. Returns whether exactly the events before `head` are recorded.
    fn catch_up(&mut self, index: usize, head: u64, pass: &mut Pass<'_>) -> bool {
        if self.cells[index].next_n() != head && self.records_totals(index) {
            self.drain(index, pass);
            self.emit_totals(index, pass);
        }
        let cell = &self.cells[index];
        cell.is_ours() && cell.next_n() == head
    }

    /// The coroutine's account, unless it equals the last report.
    fn changed_account(
        &mut self,
        index: usize,
        (station, head): (&Station, u64),
        pass: &mut Pass<'_>,
    ) -> Option<Record> {
        // Read before the wakes: the last waker may be called and dropped meanwhile.
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
            // The account must equal the state that was noted.
            event_counts.wakers = wakers;
            Record::EventCounts(event_counts)
        })
    }
}

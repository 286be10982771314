//! Who has had no event for long, for those who want to know while the program runs what the trace
//! tells at its end: the latest wakes and the accounts as they stand.
//!
//! Of each that stands still it is told once, and again when it was woken, lost a waker or did what is kept out, so that a
//! look at very many that wait costs little more than a pass over them.

use std::time::Duration;

use ctp_nostd::Region;
use ctp_nostd::layout::Station;
use ctp_trace::record::{CoroutineId, Record};

use super::{Harvest, Outside, Pass, Sink};

/// What there is to tell.
#[derive(Debug, Default)]
pub(crate) struct Standstill {
    /// Accounts as they stand, and losses that no record tells of yet. They are not for the trace:
    /// they hold for this moment only.
    pub accounts: Vec<Record>,
    /// Those that have gone on, though what they did is not told yet.
    pub moving: Vec<CoroutineId>,
}

/// What was told of a station's coroutine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Standing {
    next_n: u64,
    wakes: Option<u32>,
    wakers: Option<u32>,
    filtered: u32,
}

impl Harvest {
    /// Looks at those that have had no event for so long. Of one whose totals are recorded, the last
    /// events are read now.
    pub(crate) fn look_at_standstill(
        &mut self,
        after: Duration,
        region: &Region<'_>,
        outside: &mut dyn Outside,
        sink: &mut dyn Sink,
    ) -> Standstill {
        let mut pass = Pass::over(region, outside, sink);
        let mut found = Standstill {
            accounts: self.untold_losses(region),
            moving: Vec::new(),
        };
        let before_ns = self
            .horizon
            .now_ns()
            .saturating_sub(after.as_nanos() as u64);
        self.standing.resize(self.cells.len(), Standing::default());
        for index in 0..self.cells.len() {
            let station = &region.stations[index];
            if !self.cells[index].is_ours() || self.cells[index].has_ended() {
                continue;
            }
            if station.latest_event_ns() <= before_ns && self.has_caught_up(index, &mut pass) {
                let account = self.account_of_one(index, station, &mut pass);
                found.accounts.extend(account);
            } else if station.event_head() != self.cells[index].next_n() {
                found.moving.push(self.cells[index].coroutine);
            }
        }
        found
    }

    /// Is all told that it did? Where only totals are, the rest is told now.
    fn has_caught_up(&mut self, index: usize, pass: &mut Pass<'_>) -> bool {
        let head = pass.region.stations[index].event_head();
        if self.cells[index].next_n() != head && self.sums_up(index) {
            self.drain(index, pass);
            self.tell_totals(index, pass);
        }
        self.cells[index].is_ours() && self.cells[index].next_n() == head
    }

    /// Its account, unless that is the same as the last time.
    fn account_of_one(
        &mut self,
        index: usize,
        station: &Station,
        pass: &mut Pass<'_>,
    ) -> Option<Record> {
        let wakers = self.cells[index].wakers(station);
        self.look_at_line_0(index, station, false, pass);
        let cell = &self.cells[index];
        let standing = Standing {
            next_n: cell.next_n(),
            wakes: cell.wakes_told(),
            wakers,
            filtered: station.filtered(),
        };
        let before = std::mem::replace(&mut self.standing[index], standing);
        (before != standing).then(|| {
            let mut tally = self.tally_of(
                &self.cells[index],
                (station, station.event_head()),
                pass.region,
            );
            tally.wakers = wakers;
            Record::Tally(tally)
        })
    }
}

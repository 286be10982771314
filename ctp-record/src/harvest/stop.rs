//! The end of a recording whose program may go on. Lanes and stations are read to their ends
//! afterwards, and what they tell of later times is not of this recording: it is neither told nor lost.

use ctp_nostd::Region;
use ctp_nostd::dialect::{Dialect, Fetched};
use ctp_nostd::lane::{DeedKind, Payload};
use ctp_nostd::layout::{SLOTS, Station};
use ctp_nostd::slot::Epoch;
use ctp_trace::record::Tally;

use super::cell::MOST_AT_ONCE;
use super::{Harvest, convert};

/// What there was when it ended.
#[derive(Debug)]
pub(super) struct Stop {
    /// How far each station was.
    marks: Vec<Mark>,
    /// Records of each lane that had found no room; nothing of one that is not read any more.
    lost: Vec<Option<u32>>,
    /// Nothing that was done before is later.
    at_ns: u64,
}

impl Stop {
    /// The end on a clock that is so far ahead of the recorder's.
    pub fn follow_clock(&mut self, ahead_ns: i64) {
        self.at_ns = self.at_ns.saturating_add_signed(ahead_ns);
    }

    /// Of an image of which nothing after `at_ns` is wanted. Each station comes with the number of events
    /// of a probe of ours that are, if not all are.
    pub fn of_image<'s>(
        stations: impl Iterator<Item = (&'s Station, Option<u64>)>,
        lost: Vec<Option<u32>>,
        at_ns: u64,
    ) -> Self {
        let mark = |(station, end_n): (&Station, Option<u64>)| {
            let mark = Mark::of(station);
            end_n.map_or(mark, |end_n| mark.before(end_n))
        };
        Stop {
            marks: stations.map(mark).collect(),
            lost,
            at_ns,
        }
    }

    pub fn crowded_out(&self) -> u64 {
        self.lost.iter().flatten().copied().map(u64::from).sum()
    }

    /// Records of this lane that had found no room, of all that have by now.
    pub fn lost(&self, lane: usize, by_now: Option<u32>) -> Option<u32> {
        by_now.and(self.lost.get(lane).copied().flatten())
    }
}

/// How far a station was when the recording ended. Which of the counts is in use may not be known yet:
/// the recorder may never have looked at the station before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mark {
    /// Events, if a probe of ours writes the station; else 0.
    head: u64,
    /// Changes with each event of a v1 peer; 0 of a station of ours, where it is not needed.
    seqs: u64,
    /// Its coroutine was over.
    was_dead: bool,
}

impl Mark {
    fn of(station: &Station) -> Self {
        // Death comes after the last event, so it is read before the events are.
        let was_dead = station.identity().is_some_and(|it| it.is_dead);
        let head = station.event_head();
        let seqs = match head {
            0 => station.seqs().into_iter().fold(0, u64::wrapping_add),
            _ => 0,
        };
        Mark {
            head,
            seqs,
            was_dead,
        }
    }
}

impl Mark {
    /// As it was before this event.
    fn before(self, end_n: u64) -> Self {
        Mark {
            head: if self.head == 0 { 0 } else { end_n },
            // Any other number says that the station has gone on since.
            seqs: !self.seqs,
            ..self
        }
    }
}

/// The first event that slots hold, of this one and those behind it.
fn first_whole(dialect: Dialect, station: &Station, oldest: u64) -> Option<Epoch> {
    let held = (0..SLOTS as u64).map(|behind| oldest.wrapping_add(behind));
    let mut found = held.map(|n| dialect.fetch(station, n));
    found.find_map(|it| match it {
        Fetched::Whole(epoch) => Some(epoch),
        _ => None,
    })
}

impl Harvest {
    /// It is over: what happens from now on is not of this recording.
    pub fn stop(&mut self, region: &Region<'_>) {
        let stop = Stop {
            marks: region.allocated().iter().map(Mark::of).collect(),
            lost: self.lost_so_far(region),
            // The last thing to be looked at: what was counted is not later.
            at_ns: self.horizon.now_ns(),
        };
        self.horizon.stop(stop.at_ns);
        self.stop = Some(stop);
    }

    fn is_plain(&self, index: usize) -> bool {
        let cell = self.cells.get(index);
        cell.is_some_and(|cell| cell.plain.is_some())
    }

    fn lost_so_far(&self, region: &Region<'_>) -> Vec<Option<u32>> {
        let known = self.lanes.losses();
        let is_damaged = |lane: usize| known.get(lane) == Some(&None);
        let rings = region.used_rings().enumerate();
        rings
            .map(|(lane, ring)| (!is_damaged(lane)).then(|| ring.lost()))
            .collect()
    }

    /// Is this a time after the end?
    pub(super) fn is_later(&self, at_ns: u64) -> bool {
        self.stop.as_ref().is_some_and(|stop| stop.at_ns < at_ns)
    }

    /// Does a record of a lane tell of what was done after the end? What was counted before it is not
    /// later, whatever the clock of its program says.
    pub(super) fn is_of_later(&self, at_ns: u64, payload: &Payload) -> bool {
        self.is_later(at_ns)
            && (DeedKind::from_code(payload.kind).is_some() || !self.was_counted(payload))
    }

    fn was_counted(&self, payload: &Payload) -> bool {
        let mark = self.mark(payload.station as usize);
        mark.is_some_and(|mark| convert::distance(mark.head, payload) < 0)
    }

    fn mark(&self, index: usize) -> Option<Mark> {
        self.stop.as_ref()?.marks.get(index).copied()
    }

    /// Has the coroutine of this station gone on after the end?
    pub(super) fn has_gone_on(&self, index: usize, station: &Station) -> bool {
        let is_as_it_was = |mark: Mark| {
            let now = Mark::of(station);
            (mark.head, mark.seqs) == (now.head, now.seqs)
        };
        self.stop.is_some() && !self.mark(index).is_some_and(is_as_it_was)
    }

    /// Was the coroutine of this station marked as dead only after the end?
    pub(super) fn has_died_later(&self, index: usize) -> bool {
        self.stop.is_some() && !self.mark(index).is_some_and(|mark| mark.was_dead)
    }

    /// The head of a station, which says `head`, at the end. One that jumps back is not believed.
    pub(super) fn head_to_read(&self, index: usize, head: u64) -> u64 {
        if self.stop.is_none() {
            return head;
        }
        let mark = self.mark(index).map(|mark| mark.head);
        let at_the_end = mark.unwrap_or(self.cells[index].next_n());
        match head.wrapping_sub(at_the_end) {
            1..=MOST_AT_ONCE => at_the_end,
            _ => head,
        }
    }

    /// Up to which event slots are read, if those of this station tell of what came after the end.
    pub(super) fn end_at_stop(&self, index: usize, head: u64) -> Option<u64> {
        let end = self.head_to_read(index, head);
        (end != head && !self.is_plain(index)).then_some(end)
    }

    /// Does a slot tell of what came after the end? Events of ours that were counted before are no
    /// later; what another probe did is known by its time alone, if it went on at all.
    pub(super) fn is_slot_of_later(
        &self,
        index: usize,
        station: &Station,
        found: &Fetched,
    ) -> bool {
        if self.stop.is_none() {
            return false;
        }
        let is_later = |epoch: &Epoch| self.is_later(epoch.timestamp);
        match (found, self.is_plain(index)) {
            (Fetched::Whole(epoch), true) => is_later(epoch) && self.has_gone_on(index, station),
            (Fetched::Whole(epoch), false) => is_later(epoch) && self.is_behind_mark(index),
            (Fetched::Overwritten(oldest), true) => {
                let dialect = self.cells[index].dialect();
                first_whole(dialect, station, *oldest).is_some_and(|epoch| is_later(&epoch))
            }
            _ => false,
        }
    }

    /// Is the next event one that was not counted when it was over?
    fn is_behind_mark(&self, index: usize) -> bool {
        let next_n = self.cells[index].next_n();
        let mark = self.mark(index);
        mark.is_none_or(|mark| next_n.wrapping_sub(mark.head) <= MOST_AT_ONCE)
    }

    /// An account without what is known of a later time only.
    pub(super) fn without_later(&self, index: usize, station: &Station, tally: Tally) -> Tally {
        let is_woken_later = self.is_later(station.wakes().at_ns);
        match is_woken_later || self.has_gone_on(index, station) {
            true => Tally {
                torn: None,
                wakers: None,
                ..tally
            },
            false => tally,
        }
    }
}

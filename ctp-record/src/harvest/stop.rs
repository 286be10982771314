//! The end of a recording while the program may continue. Lanes and stations are read to their ends
//! afterwards. Events after the end do not belong to the recording: they are neither recorded nor lost.

use ctp_nostd::Region;
use ctp_nostd::dialect::{Dialect, Fetched};
use ctp_nostd::lane::{Payload, ThreadEventKind};
use ctp_nostd::layout::{SLOTS, Station};
use ctp_nostd::slot::Epoch;
use ctp_trace::record::EventCounts;

use super::cell::MAX_CREDIBLE_EVENTS;
use super::{Harvest, convert};

/// What the memory held when the recording ended.
#[derive(Debug)]
pub(super) struct Stop {
    /// How far each station was.
    marks: Vec<StopPosition>,
    /// Records that found no room in each lane; `None` for a damaged lane, which is not read any more.
    lost: Vec<Option<u32>>,
    /// The time of the end. No event before the end has a later time.
    at_ns: u64,
}

impl Stop {
    /// Moves the time of the end to a clock that is ahead of the recorder's by `ahead_ns`.
    pub fn follow_clock(&mut self, ahead_ns: i64) {
        self.at_ns = self.at_ns.saturating_add_signed(ahead_ns);
    }

    /// The end of an image that excludes what happened after `at_ns`. Each station comes with the number of
    /// its events to include, or `None` to include all.
    pub fn of_image<'s>(
        stations: impl Iterator<Item = (&'s Station, Option<u64>)>,
        lost: Vec<Option<u32>>,
        at_ns: u64,
    ) -> Self {
        let marks = stations.map(|(station, end_n)| {
            let mark = StopPosition::of(station);
            end_n.map_or(mark, |end_n| mark.before(end_n))
        });
        Stop {
            marks: marks.collect(),
            lost,
            at_ns,
        }
    }

    pub fn crowded_out(&self) -> u64 {
        self.lost.iter().flatten().copied().map(u64::from).sum()
    }

    /// Records of this lane that had found no room by the end. `by_now` is the present count.
    pub fn lost(&self, lane: usize, by_now: Option<u32>) -> Option<u32> {
        by_now.and(self.lost.get(lane).copied().flatten())
    }
}

/// How far a station was when the recording ended. Both counts are kept, because the recorder may not have
/// visited the station before and may not know which count its writer uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct StopPosition {
    /// Number of events, if this project's probe writes the station; else 0.
    head: u64,
    /// Changes with each event of a v1 peer. 0 for a station of this project's probe.
    seqs: u64,
    /// The coroutine had ended.
    was_dead: bool,
}

impl StopPosition {
    fn of(station: &Station) -> Self {
        // A death is marked after the last event is written, so the mark is read before the events.
        let was_dead = station.identity().is_some_and(|identity| identity.is_dead);
        let head = station.event_head();
        let seqs = if head == 0 {
            station.seqs().into_iter().fold(0, u64::wrapping_add)
        } else {
            0
        };
        StopPosition {
            head,
            seqs,
            was_dead,
        }
    }
}

impl StopPosition {
    /// Whether the station has had no event since the mark was made.
    fn has_same_events(self, station: &Station) -> bool {
        let now = StopPosition::of(station);
        (self.head, self.seqs) == (now.head, now.seqs)
    }

    /// The mark as it was before event `end_n`.
    fn before(self, end_n: u64) -> Self {
        StopPosition {
            head: if self.head == 0 { 0 } else { end_n },
            // Any different number means that the station has changed since.
            seqs: !self.seqs,
            ..self
        }
    }
}

/// The first event that slots hold, from `oldest` on.
fn first_whole(dialect: Dialect, station: &Station, oldest: u64) -> Option<Epoch> {
    let held = (0..SLOTS as u64).map(|behind| oldest.wrapping_add(behind));
    let mut found = held.map(|n| dialect.fetch(station, n));
    found.find_map(|fetched| match fetched {
        Fetched::Whole(epoch) => Some(epoch),
        _ => None,
    })
}

impl Harvest {
    /// Ends the recording: later events do not belong to it.
    pub fn stop(&mut self, region: &Region<'_>) {
        let stop = Stop {
            marks: region.allocated().iter().map(StopPosition::of).collect(),
            lost: self.lost_so_far(region),
            // Read last, so that no event counted above has a later time.
            at_ns: self.horizon.now_ns(),
        };
        self.horizon.stop(stop.at_ns);
        self.stop = Some(stop);
    }

    fn is_v1_peer(&self, index: usize) -> bool {
        let cell = self.cells.get(index);
        cell.is_some_and(|cell| cell.v1_dialect.is_some())
    }

    fn lost_so_far(&self, region: &Region<'_>) -> Vec<Option<u32>> {
        let known = self.lanes.losses();
        let rings = region.used_rings().enumerate();
        rings
            .map(|(lane, ring)| {
                let is_damaged = known.get(lane) == Some(&None);
                (!is_damaged).then(|| ring.lost())
            })
            .collect()
    }

    /// Whether this time is after the end.
    pub(super) fn is_after_stop(&self, at_ns: u64) -> bool {
        self.stop.as_ref().is_some_and(|stop| stop.at_ns < at_ns)
    }

    /// Whether a lane's record describes something after the end. An event that was counted before the end is
    /// not later, whatever its program's clock says.
    pub(super) fn is_record_after_stop(&self, at_ns: u64, payload: &Payload) -> bool {
        self.is_after_stop(at_ns)
            && (ThreadEventKind::from_code(payload.kind).is_some() || !self.was_counted(payload))
    }

    fn was_counted(&self, payload: &Payload) -> bool {
        let mark = self.mark(payload.station as usize);
        mark.is_some_and(|mark| convert::distance(mark.head, payload) < 0)
    }

    fn mark(&self, index: usize) -> Option<StopPosition> {
        self.stop.as_ref()?.marks.get(index).copied()
    }

    /// Whether the coroutine of this station has changed since the end.
    pub(super) fn has_changed_since_stop(&self, index: usize, station: &Station) -> bool {
        self.stop.is_some()
            && !self
                .mark(index)
                .is_some_and(|mark| mark.has_same_events(station))
    }

    /// Whether the coroutine of this station was marked as dead only after the end.
    pub(super) fn died_after_stop(&self, index: usize) -> bool {
        self.stop.is_some() && !self.mark(index).is_some_and(|mark| mark.was_dead)
    }

    /// The head of a station at the end; `head` is its present value, which is returned if the head has jumped.
    pub(super) fn head_to_read(&self, index: usize, head: u64) -> u64 {
        if self.stop.is_none() {
            return head;
        }
        let mark = self.mark(index).map(|mark| mark.head);
        let at_the_end = mark.unwrap_or(self.cells[index].next_n());
        match head.wrapping_sub(at_the_end) {
            1..=MAX_CREDIBLE_EVENTS => at_the_end,
            _ => head,
        }
    }

    /// The index at which reading from slots ends, if the slots hold events after the end.
    pub(super) fn end_at_stop(&self, index: usize, head: u64) -> Option<u64> {
        let end = self.head_to_read(index, head);
        (end != head && !self.is_v1_peer(index)).then_some(end)
    }

    /// Whether a slot holds an event after the end. Events of this project's probe that were counted before
    /// the end are not later. An event of another probe is later by its time, if its station has changed.
    pub(super) fn is_slot_after_stop(
        &self,
        index: usize,
        station: &Station,
        found: &Fetched,
    ) -> bool {
        if self.stop.is_none() {
            return false;
        }
        let is_after_stop = |epoch: &Epoch| self.is_after_stop(epoch.timestamp);
        match (found, self.is_v1_peer(index)) {
            (Fetched::Whole(epoch), true) => {
                is_after_stop(epoch) && self.has_changed_since_stop(index, station)
            }
            (Fetched::Whole(epoch), false) => is_after_stop(epoch) && self.is_behind_mark(index),
            (Fetched::Overwritten(oldest), true) => {
                let dialect = self.cells[index].dialect();
                first_whole(dialect, station, *oldest).is_some_and(|epoch| is_after_stop(&epoch))
            }
            _ => false,
        }
    }

    /// Whether the next event was not counted when the recording ended.
    fn is_behind_mark(&self, index: usize) -> bool {
        let next_n = self.cells[index].next_n();
        let mark = self.mark(index);
        mark.is_none_or(|mark| next_n.wrapping_sub(mark.head) <= MAX_CREDIBLE_EVENTS)
    }

    /// The account without facts that may date from after the end.
    pub(super) fn without_changes_after_stop(
        &self,
        index: usize,
        station: &Station,
        event_counts: EventCounts,
    ) -> EventCounts {
        let is_woken_after_stop = self.is_after_stop(station.wakes().at_ns);
        if is_woken_after_stop || self.has_changed_since_stop(index, station) {
            EventCounts {
                torn: None,
                wakers: None,
                ..event_counts
            }
        } else {
            event_counts
        }
    }
}

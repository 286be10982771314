//! The part of a coroutine's history that a snapshot contains.

use std::sync::Arc;

use super::history::KnownCoroutine;
use crate::harvest::StationCoroutine;
use crate::harvest::image::ImageCoroutine;

/// A coroutine, and which of its events the snapshot contains.
#[derive(Debug)]
pub struct SnapshotCoroutine {
    /// The coroutine's state and birth.
    pub known: Arc<KnownCoroutine>,
    /// The first and last of its events that lanes have in the window.
    in_lanes: Option<(u64, u64)>,
    /// The end of its events in the snapshot.
    end_n: u64,
    /// The coroutine was born after the lanes were copied.
    pub is_born_later: bool,
    /// Events between the copied lanes and the station's slots are missing, because the coroutine had too
    /// many events since.
    is_cut: bool,
    /// The snapshot describes the coroutine individually.
    pub is_included: bool,
    /// Its first event in the snapshot.
    first_n: u64,
    /// The number of events before that.
    pub earlier: u64,
}

impl SnapshotCoroutine {
    /// Creates a coroutine of which no event is known to be in lanes.
    pub fn new(known: Arc<KnownCoroutine>) -> Self {
        let end_n = known.state.end_n;
        SnapshotCoroutine {
            known,
            in_lanes: None,
            end_n,
            is_born_later: false,
            is_cut: false,
            is_included: false,
            first_n: 0,
            earlier: 0,
        }
    }

    /// The coroutine's state according to its station.
    pub fn state(&self) -> &StationCoroutine {
        &self.known.state
    }

    /// Notes that a lane has event `n`.
    pub fn note(&mut self, n: u64) {
        let (first, last) = self.in_lanes.unwrap_or((n, n));
        self.in_lanes = Some((first.min(n), last.max(n)));
    }

    /// Decides which events the snapshot contains. Call this after all lanes were read, which are complete
    /// from `since_ns` to `until_ns`. The coroutine is included unless it ended before the window. Its events
    /// begin with the first in the window, and include at least those that its station holds.
    pub fn decide(&mut self, since_ns: u64, until_ns: u64) {
        let state = &self.known.state;
        let held = state.held.first().map(|(n, _)| *n);
        let (first, last) = self.in_lanes.unzip();
        self.is_born_later = until_ns < state.birth_ts && first.is_none();
        let is_known = held.is_some() || state.is_v1_peer() && state.end_n == state.base_n;
        let is_in_window = !state.has_ended || since_ns <= state.last_ns && is_known;
        self.is_included = !self.is_born_later && (is_in_window || first.is_some());
        let behind = last.map(|last| last.wrapping_add(1));
        self.is_cut = behind.is_some_and(|behind| self.has_gap(behind, until_ns));
        let held = held.filter(|_| !self.is_cut);
        self.end_n = behind.filter(|_| self.is_cut).unwrap_or(state.end_n);
        let known = [first, held].into_iter().flatten();
        self.first_n = known.min().unwrap_or(self.end_n);
        self.earlier = self.first_n.wrapping_sub(state.base_n);
    }

    /// Leaves out what the coroutine did after the recording's end.
    pub fn stop(&mut self, until_ns: u64) {
        let state = &self.known.state;
        // If the coroutine departed since, only lanes have its events.
        let behind = self.in_lanes.map(|(_, last)| last.wrapping_add(1));
        let later = state
            .first_after(until_ns)
            .or_else(|| behind.filter(|_| until_ns < state.last_ns));
        let Some(later) = later.filter(|later| self.contains(*later)) else {
            return;
        };
        self.end_n = later;
        self.is_included |= !self.is_born_later;
    }

    /// Whether the station holds only events that come after those of the copied lanes, with a gap in between.
    fn has_gap(&self, behind: u64, until_ns: u64) -> bool {
        let state = self.state();
        let first = state.held.first().copied();
        let (n, at) = first.unwrap_or((state.end_n, state.last_ns));
        behind < n && until_ns < at
    }

    /// Whether the snapshot contains this event.
    fn contains(&self, n: u64) -> bool {
        let ahead = n.wrapping_sub(self.first_n);
        ahead < self.end_n.wrapping_sub(self.first_n)
    }

    /// The first of its events that lanes have in the window, else the end of its events.
    pub fn first_in_lanes(&self) -> u64 {
        self.in_lanes.map_or(self.end_n, |(first, _)| first)
    }

    /// Converts to the input of a harvest.
    pub fn to_image(&self) -> ImageCoroutine<'_> {
        let is_cut = self.end_n != self.state().end_n;
        ImageCoroutine {
            coroutine: self.state(),
            first_n: self.first_n,
            end_n: is_cut.then_some(self.end_n),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ctp_trace::record::Birth;

    const SINCE: u64 = 1_000;
    const UNTIL: u64 = 2_000;

    /// A coroutine with events 0 to `end`. Its station holds the last eight, 10 ns apart, up to time `last`.
    fn coroutine(end: u64, last: u64, has_ended: bool) -> SnapshotCoroutine {
        let held = (end - 8)..end;
        let at = |n: u64| last - 10 * (end - 1 - n);
        let state = StationCoroutine {
            end_n: end,
            last_ns: last,
            has_ended,
            held: held.map(|n| (n, at(n))).collect(),
            ..StationCoroutine::default()
        };
        let birth = Arc::new(Birth::default());
        SnapshotCoroutine::new(Arc::new(KnownCoroutine { state, birth }))
    }

    fn decided(
        mut planned: SnapshotCoroutine,
        in_lanes: std::ops::Range<u64>,
    ) -> SnapshotCoroutine {
        in_lanes.for_each(|n| planned.note(n));
        planned.decide(SINCE, UNTIL);
        planned
    }

    /// The number of events before the snapshot, and the end of the events in it.
    fn included(planned: &SnapshotCoroutine) -> Option<(u64, u64)> {
        planned
            .is_included
            .then_some((planned.earlier, planned.end_n))
    }

    #[test]
    fn idle_coroutine_is_included_with_the_station_events() {
        assert_eq!(
            included(&decided(coroutine(50, 500, false), 0..0)),
            Some((42, 50))
        );
        assert_eq!(
            included(&decided(coroutine(50, 500, true), 0..0)),
            None,
            "ended before the window"
        );
    }

    #[test]
    fn events_of_lanes_and_station_are_joined() {
        let planned = decided(coroutine(50, 1_900, false), 30..50);
        assert_eq!(included(&planned), Some((30, 50)));
        // The coroutine had four more events since lanes were copied.
        let planned = decided(coroutine(50, 2_020, false), 30..46);
        assert_eq!(included(&planned), Some((30, 50)));
    }

    #[test]
    fn coroutine_that_went_on_too_far_ends_with_the_lane_events() {
        let planned = decided(coroutine(90, 3_000, false), 30..46);
        assert_eq!(included(&planned), Some((30, 46)));
    }

    #[test]
    fn events_missing_before_lanes_were_copied_are_lost() {
        let planned = decided(coroutine(90, 1_900, false), 30..46);
        assert_eq!(included(&planned), Some((30, 90)));
    }

    // CT-02
    #[test]
    fn events_after_the_end_are_left_out() {
        let ways = [
            (coroutine(50, 2_020, false), 30..46, (30, 48)),
            (coroutine(90, 3_000, false), 30..46, (30, 46)),
            (coroutine(50, 2_020, false), 0..0, (42, 48)),
            (coroutine(50, 2_020, true), 0..0, (42, 48)),
            (coroutine(50, 1_900, false), 30..50, (30, 50)),
        ];
        for (planned, in_lanes, expected) in ways {
            let mut planned = decided(planned, in_lanes);
            planned.stop(UNTIL);
            assert_eq!(included(&planned), Some(expected));
        }
    }

    #[test]
    fn coroutine_born_later_is_left_to_the_next_snapshot() {
        let mut planned = coroutine(8, 3_000, false);
        Arc::get_mut(&mut planned.known)
            .expect("no other reference")
            .state
            .birth_ts = 2_500;
        let planned = decided(planned, 0..0);
        assert!(planned.is_born_later && included(&planned).is_none());
    }
}

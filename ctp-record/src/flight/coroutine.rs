//! What a snapshot has of one coroutine.

use std::sync::Arc;

use super::chronicle::KnownCoroutine;
use crate::harvest::StationCoroutine;
use crate::harvest::image::ImageCoroutine;

/// A coroutine, and which of its events are told.
#[derive(Debug)]
pub struct SnapshotCoroutine {
    /// What is known of it besides.
    pub known: Arc<KnownCoroutine>,
    /// The first and the last of its events that lanes have in the window.
    in_lanes: Option<(u64, u64)>,
    /// The event after the last one to tell.
    end_n: u64,
    /// It came to be after the lanes were copied.
    pub is_later: bool,
    /// It went on after the lanes were copied, and too far for its station to tell how.
    is_cut: bool,
    /// It is told of one by one.
    pub is_told: bool,
    /// The first event to tell.
    first_n: u64,
    /// Events before the first that is told.
    pub earlier: u64,
}

impl SnapshotCoroutine {
    /// Nothing told yet.
    pub fn new(known: Arc<KnownCoroutine>) -> Self {
        let end_n = known.occupant.end_n;
        SnapshotCoroutine {
            known,
            in_lanes: None,
            end_n,
            is_later: false,
            is_cut: false,
            is_told: false,
            first_n: 0,
            earlier: 0,
        }
    }

    /// As its station had it.
    pub fn occupant(&self) -> &StationCoroutine {
        &self.known.occupant
    }

    /// A lane has this event.
    pub fn note(&mut self, n: u64) {
        let (first, last) = self.in_lanes.unwrap_or((n, n));
        self.in_lanes = Some((first.min(n), last.max(n)));
    }
    /// Now that all lanes were looked at, which have everything from `since_ns` to `until_ns`: it is
    /// told of unless it was over before that. Its events are told from the first one in the window
    /// on, and at least those that its station holds.
    pub fn settle(&mut self, since_ns: u64, until_ns: u64) {
        let occupant = &self.known.occupant;
        let held = occupant.held.first().map(|(n, _)| *n);
        let (first, last) = self.in_lanes.unzip();
        self.is_later = until_ns < occupant.birth_ts && first.is_none();
        let is_known = held.is_some() || occupant.is_plain() && occupant.end_n == occupant.base_n;
        let is_of_now = !occupant.has_ended || since_ns <= occupant.last_ts && is_known;
        self.is_told = !self.is_later && (is_of_now || first.is_some());
        let behind = last.map(|last| last.wrapping_add(1));
        self.is_cut = behind.is_some_and(|behind| self.is_apart(behind, until_ns));
        let held = held.filter(|_| !self.is_cut);
        self.end_n = behind.filter(|_| self.is_cut).unwrap_or(occupant.end_n);
        let known = [first, held].into_iter().flatten();
        self.first_n = known.min().unwrap_or(self.end_n);
        self.earlier = self.first_n.wrapping_sub(occupant.base_n);
    }

    /// It was over then: what the coroutine did later, of which its station tells, is not told.
    pub fn stop(&mut self, until_ns: u64) {
        let occupant = &self.known.occupant;
        // Of one that has left since, nothing but lanes tells.
        let behind = self.in_lanes.map(|(_, last)| last.wrapping_add(1));
        let left_later = || behind.filter(|_| until_ns < occupant.last_ts);
        let later = occupant.first_after(until_ns).or_else(left_later);
        let Some(later) = later.filter(|later| self.is_to_tell(*later)) else {
            return;
        };
        self.end_n = later;
        self.is_told |= !self.is_later;
    }

    /// Does its station know only of later times than those of which lanes told?
    fn is_apart(&self, behind: u64, until_ns: u64) -> bool {
        let occupant = self.occupant();
        let first = occupant.held.first().copied();
        let (n, at) = first.unwrap_or((occupant.end_n, occupant.last_ts));
        behind < n && until_ns < at
    }

    /// Is this event neither before the first one to tell nor after the last?
    fn is_to_tell(&self, n: u64) -> bool {
        let ahead = n.wrapping_sub(self.first_n);
        ahead < self.end_n.wrapping_sub(self.first_n)
    }

    /// The first of its events that lanes have in the window, or the event behind the last one to tell.
    pub fn first_in_lanes(&self) -> u64 {
        self.in_lanes.map_or(self.end_n, |(first, _)| first)
    }

    /// For a harvest.
    pub fn to_image(&self) -> ImageCoroutine<'_> {
        let is_cut = self.end_n != self.occupant().end_n;
        ImageCoroutine {
            coroutine: self.occupant(),
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

    /// Of events 0 to `end`, its station holds the last eight, one every 10 ns up to `last`.
    fn coroutine(end: u64, last: u64, has_ended: bool) -> SnapshotCoroutine {
        let held = (end - 8)..end;
        let at = |n: u64| last - 10 * (end - 1 - n);
        let occupant = StationCoroutine {
            end_n: end,
            last_ts: last,
            has_ended,
            held: held.map(|n| (n, at(n))).collect(),
            ..StationCoroutine::default()
        };
        let birth = Arc::new(Birth::default());
        SnapshotCoroutine::new(Arc::new(KnownCoroutine { occupant, birth }))
    }

    fn settled(mut one: SnapshotCoroutine, in_lanes: std::ops::Range<u64>) -> SnapshotCoroutine {
        in_lanes.for_each(|n| one.note(n));
        one.settle(SINCE, UNTIL);
        one
    }

    /// Events before those that are told, and the one after them.
    fn told(one: &SnapshotCoroutine) -> Option<(u64, u64)> {
        one.is_told.then_some((one.earlier, one.end_n))
    }

    #[test]
    fn one_that_stands_since_before_the_window_is_told_with_what_its_station_holds() {
        assert_eq!(
            told(&settled(coroutine(50, 500, false), 0..0)),
            Some((42, 50))
        );
        assert_eq!(
            told(&settled(coroutine(50, 500, true), 0..0)),
            None,
            "it was over"
        );
    }

    #[test]
    fn what_lanes_and_the_station_have_is_joined() {
        let one = settled(coroutine(50, 1_900, false), 30..50);
        assert_eq!(told(&one), Some((30, 50)));
        // It went on by four events since lanes were copied.
        let one = settled(coroutine(50, 2_020, false), 30..46);
        assert_eq!(told(&one), Some((30, 50)));
    }

    #[test]
    fn one_that_went_on_too_far_is_told_as_of_when_lanes_were_copied() {
        let one = settled(coroutine(90, 3_000, false), 30..46);
        assert_eq!(told(&one), Some((30, 46)));
    }

    #[test]
    fn what_is_missing_before_lanes_were_copied_is_lost() {
        let one = settled(coroutine(90, 1_900, false), 30..46);
        assert_eq!(told(&one), Some((30, 90)));
    }

    // CT-02
    #[test]
    fn of_one_that_goes_on_after_the_end_nothing_is_told_of_later() {
        let ways = [
            (coroutine(50, 2_020, false), 30..46, (30, 48)),
            (coroutine(90, 3_000, false), 30..46, (30, 46)),
            (coroutine(50, 2_020, false), 0..0, (42, 48)),
            (coroutine(50, 2_020, true), 0..0, (42, 48)),
            (coroutine(50, 1_900, false), 30..50, (30, 50)),
        ];
        for (one, in_lanes, expected) in ways {
            let mut one = settled(one, in_lanes);
            one.stop(UNTIL);
            assert_eq!(told(&one), Some(expected));
        }
    }

    #[test]
    fn one_that_came_to_be_later_is_in_the_next_snapshot() {
        let mut one = coroutine(8, 3_000, false);
        Arc::get_mut(&mut one.known)
            .expect("nobody else")
            .occupant
            .birth_ts = 2_500;
        let one = settled(one, 0..0);
        assert!(one.is_later && told(&one).is_none());
    }
}

//! What a snapshot has of one coroutine.

use std::sync::Arc;

use ctp_nostd::inspect::WakeState;
use ctp_nostd::lane::Payload;
use ctp_nostd::slot::Epoch;
use ctp_trace::record::Tally;

use super::chronicle::KnownCoroutine;
use crate::harvest::{StationCoroutine, convert};

/// A coroutine, and how far its events have been told.
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
    /// Its station tells of a later time than all that is told.
    is_ahead: bool,
    /// It is told of one by one.
    pub is_told: bool,
    /// The next event to tell.
    pub next_n: u64,
    /// Events before the first that is told.
    pub earlier: u64,
    /// Events that were told.
    pub recorded: u64,
    /// Events that were told to come after some that were kept out: each group has one index.
    pub breaks: u64,
    /// Wakes that its latest run had seen, if that was just before.
    pub wakes_seen: Option<u16>,
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
            is_ahead: false,
            is_told: false,
            next_n: 0,
            earlier: 0,
            recorded: 0,
            breaks: 0,
            wakes_seen: None,
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
        let held = occupant.latest.first().map(|(n, _)| *n);
        let (first, last) = self.in_lanes.unzip();
        self.is_later = until_ns < occupant.birth_ts && first.is_none();
        let is_known = held.is_some() || occupant.is_plain && occupant.end_n == occupant.base_n;
        let is_of_now = !occupant.has_ended || since_ns <= occupant.last_ts && is_known;
        self.is_told = !self.is_later && (is_of_now || first.is_some());
        let behind = last.map(|last| last.wrapping_add(1));
        self.is_cut = behind.is_some_and(|behind| self.is_apart(behind, until_ns));
        self.is_ahead = self.is_cut;
        let held = held.filter(|_| !self.is_cut);
        self.end_n = behind.filter(|_| self.is_cut).unwrap_or(occupant.end_n);
        let known = [first, held].into_iter().flatten();
        self.next_n = known.min().unwrap_or(self.end_n);
        self.earlier = self.next_n.wrapping_sub(occupant.base_n);
    }

    /// It was over then: what the coroutine did later, of which its station tells, is not told.
    pub fn stop(&mut self, until_ns: u64) {
        let occupant = &self.known.occupant;
        // Of one that has left since, nothing but lanes tells.
        let behind = self.in_lanes.map(|(_, last)| last.wrapping_add(1));
        let left_later = || behind.filter(|_| until_ns < occupant.last_ts);
        let later = occupant.first_after(until_ns).or_else(left_later);
        let is_woken_later = occupant.wakes.is_some_and(|it| until_ns < it.at_ns);
        self.is_ahead |= later.is_some() || is_woken_later;
        let Some(later) = later.filter(|later| self.ahead_of(*later).is_some()) else {
            return;
        };
        self.end_n = later;
        self.is_told |= !self.is_later;
    }

    /// Does its station know only of later times than those of which lanes told?
    fn is_apart(&self, behind: u64, until_ns: u64) -> bool {
        let occupant = self.occupant();
        let first = occupant.latest.first();
        let known = first.map(|(n, epoch)| (*n, epoch.timestamp));
        let (n, at) = known.unwrap_or((occupant.end_n, occupant.last_ts));
        behind < n && until_ns < at
    }

    /// Its wakes, unless they are of a later time.
    pub fn wakes(&self) -> Option<WakeState> {
        self.occupant().wakes.filter(|_| !self.is_ahead)
    }
    /// Events that are neither told nor came before those that are. Asked once all are told.
    pub fn lost(&self) -> u64 {
        let attempted = self.tally().attempted;
        attempted
            .saturating_sub(self.recorded)
            .saturating_sub(self.earlier)
    }

    /// How far this event is ahead of the next one to tell; nothing if it was told, or came before
    /// or after all that are to be.
    pub fn ahead_of(&self, n: u64) -> Option<u64> {
        let ahead = n.wrapping_sub(self.next_n);
        let left = self.end_n.wrapping_sub(self.next_n);
        (ahead < left).then_some(ahead)
    }

    /// The index of a record's event, of which some bits are known: it is near the next one.
    pub fn index_of(&self, payload: &Payload) -> u64 {
        self.next_n
            .wrapping_add_signed(convert::distance(self.next_n, payload))
    }

    /// The number of event `n` in the trace.
    pub fn number_of(&self, n: u64) -> u64 {
        n.wrapping_sub(self.occupant().base_n)
            .wrapping_add(self.breaks)
    }

    /// The event of this index as its station has it.
    pub fn held(&self, n: u64) -> Option<&Epoch> {
        let held = self.occupant().latest.iter();
        let mut held = held.filter(|(known, _)| *known == n);
        held.next().map(|(_, epoch)| epoch)
    }

    /// Its account, once all is told.
    pub fn tally(&self) -> Tally {
        let tally = self.occupant().tally;
        let later = self.occupant().end_n.wrapping_sub(self.end_n);
        Tally {
            attempted: tally.attempted.saturating_sub(later),
            recorded: self.recorded,
            torn: tally.torn.filter(|_| !self.is_ahead),
            wakers: tally.wakers.filter(|_| !self.is_ahead),
            ..tally
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
        let epoch = |n: u64| Epoch {
            timestamp: last - 10 * (end - 1 - n),
            ..Epoch::default()
        };
        let occupant = StationCoroutine {
            end_n: end,
            last_ts: last,
            has_ended,
            latest: held.map(|n| (n, epoch(n))).collect(),
            tally: Tally {
                attempted: end,
                ..Tally::default()
            },
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
        assert_eq!((told(&one), one.tally().attempted), (Some((30, 50)), 50));
    }

    #[test]
    fn one_that_went_on_too_far_is_told_as_of_when_lanes_were_copied() {
        let one = settled(coroutine(90, 3_000, false), 30..46);
        assert_eq!((told(&one), one.tally().attempted), (Some((30, 46)), 46));
        assert_eq!(one.lost(), 16, "while none is told");
    }

    #[test]
    fn what_is_missing_before_lanes_were_copied_is_lost() {
        let mut one = settled(coroutine(90, 1_900, false), 30..46);
        assert_eq!(told(&one), Some((30, 90)));
        one.recorded = 16 + 8;
        assert_eq!(one.lost(), 60 - 24);
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
            assert_eq!(one.tally().attempted, expected.1);
            one.recorded = expected.1 - expected.0;
            assert_eq!(one.lost(), 0);
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

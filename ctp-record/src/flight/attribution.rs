//! Attributes a lane's record to the coroutine that had the record's station.
//!
//! The index of an event continues from one coroutine of a station to the next. So a record with enough
//! bits of the index identifies its coroutine. For other records, the use of the station and the time
//! must match, and match only one coroutine.

use ctp_nostd::lane::Payload;

use crate::harvest::StationCoroutine;

/// The stations of one memory and the coroutines that used them.
#[derive(Debug, Default)]
pub struct Attribution {
    /// All uses, by station, then by birth, then by index of the first event.
    station_uses: Vec<StationUse>,
}

#[derive(Clone, Copy, Debug)]
struct StationUse {
    station: u32,
    uses: u32,
    base_n: u64,
    end_n: u64,
    from: u64,
    /// The end, or `None` while the use continues.
    until: Option<u64>,
    which: usize,
    /// The latest end of this use and all uses of the station before it.
    max_until: u64,
    /// In all uses of the station up to this, the events of each use follow those of the use before. There are
    /// so few events in all that no two of them look alike in a record.
    is_ordered: bool,
}

/// The owner of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordOwner {
    /// This coroutine's event, with its index if the record has enough bits of it.
    Coroutine(usize, Option<u64>),
    /// The event happened after the coroutine's station was read.
    Later,
    /// No known coroutine matches.
    Unknown,
}

const USE_BITS: u32 = 8;
const WAKER_USE_BITS: u32 = 10;
/// A record with fewer bits of its event's index is attributed by its time.
const MIN_N_BITS: u32 = 32;

impl Attribution {
    /// Creates the attribution for these coroutines, each with its index.
    pub fn new<'o>(coroutines: impl Iterator<Item = (usize, &'o StationCoroutine)>) -> Self {
        let mut station_uses: Vec<_> = coroutines
            .filter(|(_, state)| !state.is_v1_peer())
            .map(|(which, state)| StationUse::of(which, state))
            .collect();
        station_uses.sort_unstable_by_key(|station_use| {
            (station_use.station, station_use.from, station_use.base_n)
        });
        station_uses
            .chunk_by_mut(|before, next| before.station == next.station)
            .for_each(note_max_and_order);
        Attribution { station_uses }
    }

    fn of_station(&self, station: u32) -> &[StationUse] {
        let start = self
            .station_uses
            .partition_point(|station_use| station_use.station < station);
        let rest = &self.station_uses[start..];
        &rest[..rest.partition_point(|station_use| station_use.station == station)]
    }

    /// The uses of this station that had begun by `at`.
    fn born_by(&self, at: u64, station: u32) -> &[StationUse] {
        let all = self.of_station(station);
        &all[..all.partition_point(|station_use| station_use.from <= at)]
    }

    /// The owner of an event.
    pub fn owner_of_event(&self, at: u64, payload: &Payload) -> RecordOwner {
        let is_use =
            |station_use: &&StationUse| station_use.uses % (1 << USE_BITS) == payload.uses.into();
        if payload.n_bits() < MIN_N_BITS {
            let only = self.coroutine_of_thread_event(at, payload);
            return only.map_or(RecordOwner::Unknown, |which| {
                RecordOwner::Coroutine(which, None)
            });
        }
        let born = self.born_by(at, payload.station);
        for station_use in with_index(born, payload).iter().filter(is_use) {
            let ahead = ahead_of(station_use.base_n, payload);
            if ahead < station_use.events() {
                return RecordOwner::Coroutine(
                    station_use.which,
                    Some(station_use.base_n.wrapping_add(ahead)),
                );
            }
        }
        match self.of_station(payload.station).last() {
            Some(last) if last.until.is_none() && is_use(&last) && last.from <= at => {
                RecordOwner::Later
            }
            _ => RecordOwner::Unknown,
        }
    }

    /// The coroutine that a thread event refers to.
    pub fn coroutine_of_thread_event(&self, at: u64, payload: &Payload) -> Option<usize> {
        self.only(at, payload.station, payload.uses.into(), USE_BITS)
    }

    /// The coroutine of a [coroutine word](ctp_nostd::layout::coroutine_word).
    pub fn coroutine_of_word(&self, at: u64, word: u32) -> Option<usize> {
        let station = ctp_nostd::layout::station_of(word)?;
        let uses = ctp_nostd::layout::uses_of(word);
        self.only(at, station, uses, WAKER_USE_BITS)
    }

    fn only(&self, at: u64, station: u32, uses: u32, bits: u32) -> Option<usize> {
        let born = self.born_by(at, station);
        let mut fitting = maybe_in_use_at(born, at).iter().filter(|station_use| {
            station_use.uses % (1 << bits) == uses && station_use.is_in_use_at(at)
        });
        let found = fitting.next()?;
        fitting.next().is_none().then_some(found.which)
    }
}

impl StationUse {
    fn of(which: usize, state: &StationCoroutine) -> Self {
        StationUse {
            station: state.station,
            uses: state.generation / 2,
            base_n: state.base_n,
            end_n: state.end_n,
            from: state.birth_ts,
            until: state.has_ended.then_some(state.last_ns),
            which,
            max_until: 0,
            is_ordered: false,
        }
    }

    fn is_in_use_at(&self, at: u64) -> bool {
        self.from <= at && self.until.is_none_or(|until| at <= until)
    }

    fn events(&self) -> u64 {
        self.end_n.wrapping_sub(self.base_n)
    }
}

/// Notes in each use what holds for all uses up to it, so that searches need not visit all.
fn note_max_and_order(station_uses: &mut [StationUse]) {
    let first_n = station_uses.first().map_or(0, |first| first.base_n);
    let (mut max_until, mut behind) = (0, Some(0));
    for station_use in station_uses {
        max_until = station_use.until.unwrap_or(u64::MAX).max(max_until);
        let begin = station_use.base_n.wrapping_sub(first_n);
        let end = begin.checked_add(station_use.events());
        let end = end.filter(|end| *end <= 1 << MIN_N_BITS);
        behind = behind.filter(|behind| *behind <= begin).and(end);
        (station_use.max_until, station_use.is_ordered) = (max_until, behind.is_some());
    }
}

/// The uses of a station that may not have ended by `at`: skips a prefix of uses that have all ended by then.
fn maybe_in_use_at(born: &[StationUse], at: u64) -> &[StationUse] {
    &born[born.partition_point(|station_use| station_use.max_until < at)..]
}

/// The use of a station that can have this event, or all uses if they are not in order.
fn with_index<'t>(born: &'t [StationUse], payload: &Payload) -> &'t [StationUse] {
    let is_ordered = born
        .last()
        .is_some_and(|station_use| station_use.is_ordered);
    let (Some(first), true) = (born.first(), is_ordered) else {
        return born;
    };
    let ahead = ahead_of(first.base_n, payload);
    let behind =
        born.partition_point(|station_use| station_use.base_n.wrapping_sub(first.base_n) <= ahead);
    &born[behind.saturating_sub(1)..behind]
}

/// How far a record's event is ahead of event `n`, modulo the bits that the record has.
fn ahead_of(n: u64, payload: &Payload) -> u64 {
    let unknown_bits = u64::BITS - payload.n_bits();
    payload.n.wrapping_sub(n) << unknown_bits >> unknown_bits
}

#[cfg(test)]
mod tests {
    use super::*;
    use ctp_nostd::layout::coroutine_word;
    use ctp_nostd::site::SiteWord;
    use proptest::prelude::*;

    fn ended(generation: u32, events: std::ops::Range<u64>, times: [u64; 2]) -> StationCoroutine {
        StationCoroutine {
            station: 5,
            generation,
            base_n: events.start,
            end_n: events.end,
            birth_ts: times[0],
            last_ns: times[1],
            has_ended: true,
            ..StationCoroutine::default()
        }
    }

    fn event(uses: u8, n: u64, site: u64) -> Payload {
        Payload {
            kind: 3,
            uses,
            station: 5,
            n,
            site,
            ..Payload::default()
        }
    }

    fn two() -> Attribution {
        // The second use of a station, and the use 256 uses later.
        let all = [
            ended(4, 10..20, [100, 200]),
            ended(516, 900..950, [700, 800]),
        ];
        Attribution::new(all.iter().enumerate())
    }

    // LT-21
    #[test]
    fn index_distinguishes_equal_use_counts_of_a_station() {
        let known = SiteWord::from_id(7).0;
        let of = |uses, n, at| two().owner_of_event(at, &event(uses, n, known));
        assert_eq!(of(2, 12, 150), RecordOwner::Coroutine(0, Some(12)));
        assert_eq!(of(2, 912, 750), RecordOwner::Coroutine(1, Some(912)));
        assert_eq!(of(2, 20, 205), RecordOwner::Unknown, "no such event");
        assert_eq!(of(3, 12, 150), RecordOwner::Unknown, "another use");
        assert_eq!(of(2, 912, 150), RecordOwner::Unknown, "before the birth");
    }

    // LT-21
    #[test]
    fn record_with_an_address_is_attributed_by_time() {
        let of = |at| two().owner_of_event(at, &event(2, 912, 0x7fff_0000));
        assert_eq!(of(750), RecordOwner::Coroutine(1, None));
        assert_eq!(of(150), RecordOwner::Coroutine(0, None));
        assert_eq!(of(300), RecordOwner::Unknown);
    }

    #[test]
    fn event_after_the_station_was_read_is_no_loss() {
        let living = StationCoroutine {
            has_ended: false,
            ..ended(4, 10..20, [100, 200])
        };
        let attribution = Attribution::new([(0, &living)].into_iter());
        let of = |n| attribution.owner_of_event(500, &event(2, n, 0));
        assert_eq!(
            (of(19), of(20)),
            (RecordOwner::Coroutine(0, Some(19)), RecordOwner::Later)
        );
    }

    /// The rules of [`Attribution`], applied to every use of the station.
    struct Plain(Vec<StationUse>);

    impl Plain {
        fn owner_of_event(&self, at: u64, payload: &Payload) -> RecordOwner {
            let is_use = |station_use: &&StationUse| station_use.uses % 256 == payload.uses.into();
            if payload.n_bits() < 32 {
                let only = self.only(at, payload.uses.into(), 256);
                return only.map_or(RecordOwner::Unknown, |which| {
                    RecordOwner::Coroutine(which, None)
                });
            }
            let born = self
                .0
                .iter()
                .filter(is_use)
                .filter(|station_use| station_use.from <= at);
            let has = |station_use: &StationUse| {
                let ahead = payload.n.wrapping_sub(station_use.base_n) % (1 << payload.n_bits());
                let has = ahead < station_use.end_n.wrapping_sub(station_use.base_n);
                has.then(|| {
                    RecordOwner::Coroutine(
                        station_use.which,
                        Some(station_use.base_n.wrapping_add(ahead)),
                    )
                })
            };
            let last = self.0.last().filter(is_use);
            let goes_on = last
                .is_some_and(|station_use| station_use.until.is_none() && station_use.from <= at);
            let is_later = goes_on.then_some(RecordOwner::Later);
            born.filter_map(has)
                .next()
                .or(is_later)
                .unwrap_or(RecordOwner::Unknown)
        }

        fn only(&self, at: u64, uses: u32, modulus: u32) -> Option<usize> {
            let all = self
                .0
                .iter()
                .filter(|station_use| station_use.uses % modulus == uses);
            let fitting: Vec<_> = all
                .filter(|station_use| station_use.is_in_use_at(at))
                .collect();
            match fitting[..] {
                [only] => Some(only.which),
                _ => None,
            }
        }
    }

    /// A use of the station: the uses since the previous use; the events before and in this use; the
    /// nanoseconds before and in this use; whether this use has ended.
    type Step = (u32, [u64; 2], [u64; 2], bool);

    fn step() -> impl Strategy<Value = Step> {
        let uses = prop_oneof![8 => Just(1), 1 => Just(256), 1 => Just(1024)];
        // Sometimes events or times go back.
        let before = || prop_oneof![8 => 0..3u64, 1 => Just(0_u64.wrapping_sub(4))];
        let own = prop_oneof![30 => 0..6u64, 1 => Just(1 << 32), 1 => Just(u64::MAX)];
        let has_ended = prop::bool::weighted(0.95);
        let times = (before(), 0..20u64).prop_map(|(before, own)| [before, own]);
        let events = (before(), own).prop_map(|(before, own)| [before, own]);
        (uses, events, times, has_ended)
    }

    fn consecutive_uses(first_n: u64, steps: &[Step]) -> Vec<StationCoroutine> {
        let (mut uses, mut n, mut at) = (0, first_n, 100_u64);
        steps
            .iter()
            .map(|(more, events, times, has_ended)| {
                let base_n = n.wrapping_add(events[0]);
                let birth_ts = at.saturating_add_signed(times[0].cast_signed());
                uses += more;
                n = base_n.wrapping_add(events[1]);
                at = birth_ts + times[1];
                StationCoroutine {
                    has_ended: *has_ended,
                    ..ended(2 * uses, base_n..n, [birth_ts, at])
                }
            })
            .collect()
    }

    proptest! {
        // LT-21
        #[test]
        fn search_agrees_with_checking_every_use(
            first_n in prop::sample::select(vec![0, (1 << 40) - 9, u64::MAX - 9]),
            steps in prop::collection::vec(step(), 1..40),
            queries in prop::collection::vec((any::<prop::sample::Index>(), 0..9u64, 0..40u64, 0..9u32), 64),
        ) {
            let all = consecutive_uses(first_n, &steps);
            // Coroutines of other stations, before and behind this station.
            let others = [4, 6].map(|station| StationCoroutine { station, ..all[0].clone() });
            let known = Attribution::new(all.iter().chain(&others).enumerate());
            let plain = Plain(known.of_station(5).to_vec());
            for (chosen, n, at, other_use) in queries {
                let state = chosen.get(&all);
                let at = (state.birth_ts + at).saturating_sub(10);
                let uses = state.generation / 2 + u32::from(other_use == 0);
                let n = state.base_n.wrapping_add(n).wrapping_sub(2) % (1 << 40);
                for site in [SiteWord::from_id(7).0, 0x7fff_0000] {
                    let payload = event(uses as u8, n, site);
                    prop_assert_eq!(known.owner_of_event(at, &payload), plain.owner_of_event(at, &payload));
                }
                let payload = event(uses as u8, n, 0);
                prop_assert_eq!(known.coroutine_of_thread_event(at, &payload), plain.only(at, uses % 256, 256));
                let coroutine_of_word = known.coroutine_of_word(at, coroutine_word(5, 2 * uses));
                prop_assert_eq!(coroutine_of_word, plain.only(at, uses % 1024, 1024));
            }
        }
    }

    #[test]
    fn search_visits_few_of_very_many_uses() {
        let steps = vec![(1, [0, 4], [1, 9], true); 1 << 16];
        let all = consecutive_uses(0, &steps);
        let known = Attribution::new(all.iter().enumerate());
        for state in all.iter().step_by(1 << 10) {
            let born = known.born_by(state.last_ns, 5);
            let payload = event((state.generation / 2) as u8, state.base_n, 0);
            assert_eq!(with_index(born, &payload).len(), 1);
            assert_eq!(maybe_in_use_at(born, state.last_ns).len(), 1);
        }
    }
}

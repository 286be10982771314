//! Whose records these are: from what a record says of a station to the coroutine that had it.
//!
//! The index of an event goes on from one occupant of a station to the next, so that it tells the
//! occupant by itself where a record has enough bits of it. Elsewhere the use of the station and
//! the time have to agree, and only one coroutine may be meant.

use ctp_nostd::lane::Payload;

use crate::harvest::StationCoroutine;

/// The stations of one memory, and who had them.
#[derive(Debug, Default)]
pub struct Attribution {
    /// By station, then by index of the first event.
    stays: Vec<Stay>,
}

#[derive(Clone, Copy, Debug)]
struct Stay {
    station: u32,
    uses: u32,
    base_n: u64,
    end_n: u64,
    from: u64,
    /// Nothing while it goes on.
    until: Option<u64>,
    which: usize,
    /// Up to then one of the station lasts, this one or one before it.
    some_until: u64,
    /// Of all up to this one, each has its events after those of the one before, and so few that no
    /// two of them look the same in a record.
    is_in_turn: bool,
}

/// Whose a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// This coroutine's event of this index, if the record tells that.
    Of(usize, Option<u64>),
    /// It came after the coroutine was looked at.
    Later,
    /// Nobody is known whose it can be.
    Unknown,
}

const USE_BITS: u32 = 8;
const WAKER_USE_BITS: u32 = 10;
/// A record that has fewer bits of its event's index goes by its time.
const LEAST_N_BITS: u32 = 32;

impl Attribution {
    /// Of these, each with a number by which it is known.
    pub fn new<'o>(occupants: impl Iterator<Item = (usize, &'o StationCoroutine)>) -> Self {
        let stay = |(which, it): (usize, &StationCoroutine)| Stay {
            station: it.station,
            uses: it.generation / 2,
            base_n: it.base_n,
            end_n: it.end_n,
            from: it.birth_ts,
            until: it.has_ended.then_some(it.last_ts),
            which,
            some_until: 0,
            is_in_turn: false,
        };
        let mut stays: Vec<_> = occupants
            .filter(|(_, it)| !it.is_plain())
            .map(stay)
            .collect();
        stays.sort_unstable_by_key(|it| (it.station, it.from, it.base_n));
        stays
            .chunk_by_mut(|one, next| one.station == next.station)
            .for_each(note_order);
        Attribution { stays }
    }

    fn of_station(&self, station: u32) -> &[Stay] {
        let start = self.stays.partition_point(|it| it.station < station);
        let rest = &self.stays[start..];
        &rest[..rest.partition_point(|it| it.station == station)]
    }

    /// Those that had come to this station by then.
    fn born_by(&self, at: u64, station: u32) -> &[Stay] {
        let all = self.of_station(station);
        &all[..all.partition_point(|it| it.from <= at)]
    }

    /// Of an event.
    pub fn of_event(&self, at: u64, payload: &Payload) -> Whose {
        let is_use = |it: &&Stay| it.uses % (1 << USE_BITS) == payload.uses.into();
        if payload.n_bits() < LEAST_N_BITS {
            let one = self.woken(at, payload);
            return one.map_or(Whose::Unknown, |which| Whose::Of(which, None));
        }
        let born = self.born_by(at, payload.station);
        for it in with_index(born, payload).iter().filter(is_use) {
            let ahead = ahead_of(it.base_n, payload);
            if ahead < it.events() {
                return Whose::Of(it.which, Some(it.base_n.wrapping_add(ahead)));
            }
        }
        match self.of_station(payload.station).last() {
            Some(last) if last.until.is_none() && is_use(&last) && last.from <= at => Whose::Later,
            _ => Whose::Unknown,
        }
    }

    /// Of the coroutine that a deed is about.
    pub fn woken(&self, at: u64, payload: &Payload) -> Option<usize> {
        self.only(at, payload.station, payload.uses.into(), USE_BITS)
    }

    /// Of a [seat word](ctp_nostd::layout::seat_word).
    pub fn seated(&self, at: u64, word: u32) -> Option<usize> {
        let station = ctp_nostd::layout::station_of(word)?;
        let uses = ctp_nostd::layout::uses_of(word);
        self.only(at, station, uses, WAKER_USE_BITS)
    }

    fn only(&self, at: u64, station: u32, uses: u32, bits: u32) -> Option<usize> {
        let is_use = |it: &&Stay| it.uses % (1 << bits) == uses && it.lasts_at(at);
        let born = self.born_by(at, station);
        let mut fitting = not_over_by(born, at).iter().filter(is_use);
        let one = fitting.next()?;
        fitting.next().is_none().then_some(one.which)
    }
}

impl Stay {
    fn lasts_at(&self, at: u64) -> bool {
        self.from <= at && self.until.is_none_or(|until| at <= until)
    }

    fn events(&self) -> u64 {
        self.end_n.wrapping_sub(self.base_n)
    }
}

/// Notes of each stay in a station what holds of all up to it, so that not all need be looked at.
fn note_order(stays: &mut [Stay]) {
    let first_n = stays.first().map_or(0, |first| first.base_n);
    let (mut some_until, mut behind) = (0, Some(0));
    for it in stays {
        some_until = it.until.unwrap_or(u64::MAX).max(some_until);
        let begin = it.base_n.wrapping_sub(first_n);
        let end = begin.checked_add(it.events());
        let end = end.filter(|end| *end <= 1 << LEAST_N_BITS);
        behind = behind.filter(|behind| *behind <= begin).and(end);
        (it.some_until, it.is_in_turn) = (some_until, behind.is_some());
    }
}

/// Of the first stays in a station those that are not known to be over at that time.
fn not_over_by(born: &[Stay], at: u64) -> &[Stay] {
    &born[born.partition_point(|it| it.some_until < at)..]
}

/// Of the first stays in a station the one that can have this event, or all if they are in disorder.
fn with_index<'t>(born: &'t [Stay], payload: &Payload) -> &'t [Stay] {
    let (Some(first), true) = (born.first(), born.last().is_some_and(|it| it.is_in_turn)) else {
        return born;
    };
    let ahead = ahead_of(first.base_n, payload);
    let behind = born.partition_point(|it| it.base_n.wrapping_sub(first.base_n) <= ahead);
    &born[behind.saturating_sub(1)..behind]
}

/// How far a record's event is ahead of this one, modulo what it has bits for.
fn ahead_of(n: u64, payload: &Payload) -> u64 {
    let unknown_bits = u64::BITS - payload.n_bits();
    payload.n.wrapping_sub(n) << unknown_bits >> unknown_bits
}

#[cfg(test)]
mod tests {
    use super::*;
    use ctp_nostd::layout::seat_word;
    use ctp_nostd::site::SiteWord;
    use proptest::prelude::*;

    fn occupant(
        generation: u32,
        events: std::ops::Range<u64>,
        times: [u64; 2],
    ) -> StationCoroutine {
        StationCoroutine {
            station: 5,
            generation,
            base_n: events.start,
            end_n: events.end,
            birth_ts: times[0],
            last_ts: times[1],
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
        // The second use of a station, and 256 uses later another one.
        let all = [
            occupant(4, 10..20, [100, 200]),
            occupant(516, 900..950, [700, 800]),
        ];
        Attribution::new(all.iter().enumerate())
    }

    // LT-21
    #[test]
    fn occupants_of_one_station_are_told_apart_also_where_the_count_of_uses_comes_round() {
        let known = SiteWord::from_id(7).0;
        let of = |uses, n, at| two().of_event(at, &event(uses, n, known));
        assert_eq!(of(2, 12, 150), Whose::Of(0, Some(12)));
        assert_eq!(of(2, 912, 750), Whose::Of(1, Some(912)));
        assert_eq!(of(2, 20, 205), Whose::Unknown, "it had no such event");
        assert_eq!(of(3, 12, 150), Whose::Unknown, "another use");
        assert_eq!(of(2, 912, 150), Whose::Unknown, "before it was born");
    }

    // LT-21
    #[test]
    fn a_record_with_an_address_goes_by_its_time() {
        let of = |at| two().of_event(at, &event(2, 912, 0x7fff_0000));
        assert_eq!(of(750), Whose::Of(1, None));
        assert_eq!(of(150), Whose::Of(0, None));
        assert_eq!(of(300), Whose::Unknown);
    }

    #[test]
    fn what_came_after_the_look_is_nobodys_loss() {
        let living = StationCoroutine {
            has_ended: false,
            ..occupant(4, 10..20, [100, 200])
        };
        let one = Attribution::new([(0, &living)].into_iter());
        let of = |n| one.of_event(500, &event(2, n, 0));
        assert_eq!((of(19), of(20)), (Whose::Of(0, Some(19)), Whose::Later));
    }

    /// The rules of [`Attribution`], by a look at every stay in the station.
    struct Plain(Vec<Stay>);

    impl Plain {
        fn of_event(&self, at: u64, payload: &Payload) -> Whose {
            let is_use = |it: &&Stay| it.uses % 256 == payload.uses.into();
            if payload.n_bits() < 32 {
                let one = self.only(at, payload.uses.into(), 256);
                return one.map_or(Whose::Unknown, |which| Whose::Of(which, None));
            }
            let born = self.0.iter().filter(is_use).filter(|it| it.from <= at);
            let has = |it: &Stay| {
                let ahead = payload.n.wrapping_sub(it.base_n) % (1 << payload.n_bits());
                let has = ahead < it.end_n.wrapping_sub(it.base_n);
                has.then(|| Whose::Of(it.which, Some(it.base_n.wrapping_add(ahead))))
            };
            let last = self.0.last().filter(is_use);
            let goes_on = last.is_some_and(|it| it.until.is_none() && it.from <= at);
            let is_later = goes_on.then_some(Whose::Later);
            born.filter_map(has)
                .next()
                .or(is_later)
                .unwrap_or(Whose::Unknown)
        }

        fn only(&self, at: u64, uses: u32, modulus: u32) -> Option<usize> {
            let all = self.0.iter().filter(|it| it.uses % modulus == uses);
            let fitting: Vec<_> = all.filter(|it| it.lasts_at(at)).collect();
            match fitting[..] {
                [one] => Some(one.which),
                _ => None,
            }
        }
    }

    /// Uses, events and nanoseconds since the one before, and of its own; and is it over?
    type Step = (u32, [u64; 2], [u64; 2], bool);

    fn step() -> impl Strategy<Value = Step> {
        let uses = prop_oneof![8 => Just(1), 1 => Just(256), 1 => Just(1024)];
        // Now and then events or times go back.
        let before = || prop_oneof![8 => 0..3u64, 1 => Just(0_u64.wrapping_sub(4))];
        let own = prop_oneof![30 => 0..6u64, 1 => Just(1 << 32), 1 => Just(u64::MAX)];
        let has_ended = prop::bool::weighted(0.95);
        let times = (before(), 0..20u64).prop_map(|(before, own)| [before, own]);
        let events = (before(), own).prop_map(|(before, own)| [before, own]);
        (uses, events, times, has_ended)
    }

    fn in_turn(first_n: u64, steps: &[Step]) -> Vec<StationCoroutine> {
        let (mut uses, mut n, mut at) = (0, first_n, 100_u64);
        let occupant = |(more, events, times, has_ended): &Step| {
            let base_n = n.wrapping_add(events[0]);
            let birth_ts = at.saturating_add_signed(times[0].cast_signed());
            uses += more;
            n = base_n.wrapping_add(events[1]);
            at = birth_ts + times[1];
            StationCoroutine {
                has_ended: *has_ended,
                ..occupant(2 * uses, base_n..n, [birth_ts, at])
            }
        };
        steps.iter().map(occupant).collect()
    }

    proptest! {
        // LT-21
        #[test]
        fn neighbours_tell_what_a_look_at_all_tells(
            first_n in prop::sample::select(vec![0, (1 << 40) - 9, u64::MAX - 9]),
            steps in prop::collection::vec(step(), 1..40),
            asked in prop::collection::vec((any::<prop::sample::Index>(), 0..9u64, 0..40u64, 0..9u32), 64),
        ) {
            let all = in_turn(first_n, &steps);
            // Of other stations, before and behind this one.
            let others = [4, 6].map(|station| StationCoroutine { station, ..all[0].clone() });
            let known = Attribution::new(all.iter().chain(&others).enumerate());
            let plain = Plain(known.of_station(5).to_vec());
            for (whom, n, at, other_use) in asked {
                let it = whom.get(&all);
                let at = (it.birth_ts + at).saturating_sub(10);
                let uses = it.generation / 2 + u32::from(other_use == 0);
                let n = it.base_n.wrapping_add(n).wrapping_sub(2) % (1 << 40);
                for site in [SiteWord::from_id(7).0, 0x7fff_0000] {
                    let payload = event(uses as u8, n, site);
                    prop_assert_eq!(known.of_event(at, &payload), plain.of_event(at, &payload));
                }
                let payload = event(uses as u8, n, 0);
                prop_assert_eq!(known.woken(at, &payload), plain.only(at, uses % 256, 256));
                let seated = known.seated(at, seat_word(5, 2 * uses));
                prop_assert_eq!(seated, plain.only(at, uses % 1024, 1024));
            }
        }
    }

    #[test]
    fn of_very_many_that_had_a_station_hardly_any_is_looked_at() {
        let steps = vec![(1, [0, 4], [1, 9], true); 1 << 16];
        let all = in_turn(0, &steps);
        let known = Attribution::new(all.iter().enumerate());
        for it in all.iter().step_by(1 << 10) {
            let born = known.born_by(it.last_ts, 5);
            let payload = event((it.generation / 2) as u8, it.base_n, 0);
            assert_eq!(with_index(born, &payload).len(), 1);
            assert_eq!(not_over_by(born, it.last_ts).len(), 1);
        }
    }
}

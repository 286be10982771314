//! Whose records these are: from what a record says of a station to the coroutine that had it.
//!
//! The index of an event goes on from one occupant of a station to the next, so that it tells the
//! occupant by itself where a record has enough bits of it. Elsewhere the use of the station and
//! the time have to agree, and only one coroutine may be meant.

use ctp_nostd::lane::Payload;

use crate::harvest::Occupant;

/// The stations of one memory, and who had them.
#[derive(Debug, Default)]
pub struct Attribution {
    /// By station, then by index of the first event.
    tenancies: Vec<Tenancy>,
}

#[derive(Clone, Copy, Debug)]
struct Tenancy {
    station: u32,
    uses: u32,
    base_n: u64,
    end_n: u64,
    from: u64,
    /// Nothing while it goes on.
    until: Option<u64>,
    person: usize,
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

impl Attribution {
    /// Of these, each with a number by which it is known.
    pub fn new<'o>(occupants: impl Iterator<Item = (usize, &'o Occupant)>) -> Self {
        let tenancy = |(person, it): (usize, &Occupant)| Tenancy {
            station: it.station,
            uses: it.generation / 2,
            base_n: it.base_n,
            end_n: it.end_n,
            from: it.birth_ts,
            until: it.has_ended.then_some(it.last_ts),
            person,
        };
        let mut tenancies: Vec<_> = occupants
            .filter(|(_, it)| !it.is_plain)
            .map(tenancy)
            .collect();
        tenancies.sort_unstable_by_key(|it| (it.station, it.from, it.base_n));
        Attribution { tenancies }
    }

    fn of_station(&self, station: u32) -> &[Tenancy] {
        let start = self.tenancies.partition_point(|it| it.station < station);
        let rest = &self.tenancies[start..];
        &rest[..rest.partition_point(|it| it.station == station)]
    }

    /// Of an event.
    pub fn of_event(&self, at: u64, payload: &Payload) -> Whose {
        let all = self.of_station(payload.station);
        let is_use = |it: &&Tenancy| it.uses % (1 << USE_BITS) == payload.uses.into();
        let unknown_bits = u64::BITS - payload.n_bits();
        if payload.n_bits() < 32 {
            let mut fitting = all.iter().filter(is_use).filter(|it| it.lasts_at(at));
            return match (fitting.next(), fitting.next()) {
                (Some(one), None) => Whose::Of(one.person, None),
                _ => Whose::Unknown,
            };
        }
        for it in all.iter().filter(is_use) {
            let ahead = payload.n.wrapping_sub(it.base_n) << unknown_bits >> unknown_bits;
            if ahead < it.end_n.wrapping_sub(it.base_n) && it.from <= at {
                return Whose::Of(it.person, Some(it.base_n.wrapping_add(ahead)));
            }
        }
        match all.last() {
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
        let is_use = |it: &&Tenancy| it.uses % (1 << bits) == uses && it.lasts_at(at);
        let mut fitting = self.of_station(station).iter().filter(is_use);
        let one = fitting.next()?;
        fitting.next().is_none().then_some(one.person)
    }
}

impl Tenancy {
    fn lasts_at(&self, at: u64) -> bool {
        self.from <= at && self.until.is_none_or(|until| at <= until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ctp_nostd::site::SiteWord;

    fn occupant(generation: u32, events: std::ops::Range<u64>, times: [u64; 2]) -> Occupant {
        Occupant {
            station: 5,
            generation,
            base_n: events.start,
            end_n: events.end,
            birth_ts: times[0],
            last_ts: times[1],
            has_ended: true,
            ..Occupant::default()
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
        let living = Occupant {
            has_ended: false,
            ..occupant(4, 10..20, [100, 200])
        };
        let one = Attribution::new([(0, &living)].into_iter());
        let of = |n| one.of_event(500, &event(2, n, 0));
        assert_eq!((of(19), of(20)), (Whose::Of(0, Some(19)), Whose::Later));
    }
}

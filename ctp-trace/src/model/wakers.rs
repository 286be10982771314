//! Who wakes coroutines: the latest call for each, and how often which place did it at a site.

use super::names::NameId;
use crate::record::{Nanos, SiteId, ThreadEvent, WakeCall, Waker};

/// So many places that wake one site are told apart.
const SEPARATE: usize = 16;

/// A call of `wake()`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Woken {
    /// When the wake was called.
    pub at: Nanos,
    /// On which thread.
    pub tid: u64,
    /// A coroutine that ran there called, or it is not known that none did.
    pub may_be_from_coroutine: bool,
    /// Where; 0 if that is not known.
    pub site: SiteId,
    /// Wakes of that coroutine so far, with this one, modulo 2^20.
    pub count: u32,
    /// What the coroutine was called that called, if one did; it may be over since.
    pub caller: NameId,
}

/// How often the waits of a site ended since which place called `wake()`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wakers {
    places: Vec<(SiteId, u64)>,
    others: u64,
}

impl Wakers {
    /// All waits of which it is known where they were ended.
    pub fn count(&self) -> u64 {
        let reported = self.places.iter().map(|(_, count)| *count);
        reported.fold(self.others, u64::saturating_add)
    }

    /// The places that are known, and how many each of them ended. Of many only those that came first
    /// are told apart.
    pub fn places(&self) -> impl Iterator<Item = &(SiteId, u64)> {
        self.places.iter().filter(|(site, _)| *site != SiteId(0))
    }

    pub(super) fn add(&mut self, site: SiteId) {
        match self.places.iter().position(|(known, _)| *known == site) {
            Some(known) => self.places[known].1 += 1,
            None if self.places.len() < SEPARATE => self.places.push((site, 1)),
            None => self.others += 1,
        }
    }
}

impl Woken {
    pub(super) fn of(thread_event: &ThreadEvent, call: &WakeCall, caller: NameId) -> Self {
        Woken {
            at: thread_event.at,
            tid: thread_event.tid,
            may_be_from_coroutine: !matches!(call.by, Waker::Thread(_)),
            site: call.site,
            count: call.count,
            caller,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // CT-14
    #[test]
    fn the_first_places_are_told_apart_of_however_many() {
        let mut wakers = Wakers::default();
        assert_eq!((wakers.places().count(), wakers.count()), (0, 0));
        wakers.add(SiteId(0));
        wakers.add(SiteId(0));
        wakers.add(SiteId(3));
        (100..100_000).for_each(|site| wakers.add(SiteId(site)));
        wakers.add(SiteId(3));
        assert_eq!(wakers.places().next(), Some(&(SiteId(3), 2)));
        assert_eq!(wakers.count(), 4 + 99_900);
        assert_eq!(wakers.places.len(), SEPARATE);
    }
}

//! The callers of `wake()`: the latest call for each coroutine, and the most frequent places for each
//! site.

use super::coroutine::Coroutine;
use super::names::NameId;
use super::woken_from::SiteNumber;
use crate::record::{Nanos, SiteId, ThreadEvent, WakeCall, Waker};

/// How many places are counted separately per site.
const SEPARATE: usize = 16;

/// A call of `wake()`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Woken {
    /// When `wake()` was called.
    pub at: Nanos,
    /// The thread of the caller.
    pub tid: u64,
    /// A coroutine was the caller, or may have been.
    pub may_be_from_coroutine: bool,
    /// Where `wake()` was called; 0 if unknown.
    pub site: SiteId,
    /// The coroutine's wake count after this call, modulo 2^20.
    pub count: u32,
    /// The name of the calling coroutine, if there was one. It may have ended since.
    pub caller: NameId,
    /// Where the calling coroutine was spawned; 0 if unknown.
    pub(super) caller_spawn_site: SiteId,
    /// The site at which the calling coroutine had waited before the run that made the call, if known.
    pub(super) from: Option<SiteNumber>,
}

/// How many waits at a site each place ended by calling `wake()`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wakers {
    places: Vec<(SiteId, u64)>,
    others: u64,
}

impl Wakers {
    /// Waits that were ended from a known place.
    pub fn count(&self) -> u64 {
        let reported = self.places.iter().map(|(_, count)| *count);
        reported.fold(self.others, u64::saturating_add)
    }

    /// The known places, with the number of waits that each ended. If there are many, only the first are
    /// counted separately.
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
    /// Whether a coroutine called that was spawned at this site.
    pub(super) fn is_from_peer_of(&self, spawn_site: SiteId) -> bool {
        spawn_site != SiteId(0) && self.caller_spawn_site == spawn_site
    }

    pub(super) fn of(
        thread_event: &ThreadEvent,
        call: &WakeCall,
        caller: Option<&Coroutine>,
    ) -> Self {
        Woken {
            at: thread_event.at,
            tid: thread_event.tid,
            may_be_from_coroutine: !matches!(call.by, Waker::Thread(_)),
            site: call.site,
            count: call.count,
            caller: caller.map(|caller| caller.name).unwrap_or_default(),
            caller_spawn_site: caller.map(|caller| caller.spawn_site).unwrap_or_default(),
            from: caller.and_then(|caller| SiteNumber::new(caller.waits.resumed_at()?)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // CT-14
    #[test]
    fn first_wakers_are_counted_separately() {
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

//! The callers of `wake()`: the latest call for each coroutine, and the most frequent origins for each
//! site.

use super::coroutine::Coroutine;
use super::families::FamilyId;
use super::names::NameId;
use super::woken_from::SiteNumber;
use crate::record::{Nanos, SiteId, ThreadEvent, WakeCall, Waker};

/// How many origins are counted separately per site.
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
    /// The coroutine has woken itself.
    pub is_own: bool,
    /// The caller was a thread that had run no coroutine, such as a thread for blocking calls.
    pub(super) is_from_helper: bool,
    /// Where `wake()` was called; 0 if unknown.
    pub site: SiteId,
    /// The coroutine's wake count after this call, modulo 2^20.
    pub count: u32,
    /// The name of the calling coroutine, if there was one. The coroutine may have ended since.
    pub caller: NameId,
    /// The family of the calling coroutine; the default if unknown.
    pub(super) caller_family: FamilyId,
    /// The site at which the calling coroutine had waited before the run that made the call, if known.
    pub(super) from: Option<SiteNumber>,
}

/// Where a call of `wake()` comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WakeOrigin {
    /// Where `wake()` was called; 0 if unknown.
    pub site: SiteId,
    /// The name of the calling coroutine, if there was one.
    pub coroutine: NameId,
    /// A thread called outside of any coroutine, as the drivers of a runtime do.
    pub is_thread: bool,
}

/// How many waits at a site each origin ended by calling `wake()`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WakeCounts {
    origins: Vec<(WakeOrigin, u64)>,
    others: u64,
}

impl WakeCounts {
    /// The number of waits that were ended by a known call.
    pub fn count(&self) -> u64 {
        let reported = self.origins.iter().map(|(_, count)| *count);
        reported.fold(self.others, u64::saturating_add)
    }

    /// The origins whose site is known, each with the number of waits that it ended. Only the first 16
    /// origins of a site are counted separately.
    pub fn origins(&self) -> impl Iterator<Item = &(WakeOrigin, u64)> {
        let origins = self.origins.iter();
        origins.filter(|(origin, _)| origin.site != SiteId(0))
    }

    pub(super) fn add(&mut self, origin: WakeOrigin) {
        match self.origins.iter().position(|(known, _)| *known == origin) {
            Some(known) => self.origins[known].1 += 1,
            None if self.origins.len() < SEPARATE => self.origins.push((origin, 1)),
            None => self.others += 1,
        }
    }
}

impl Woken {
    /// Where the call comes from.
    pub(super) fn origin(&self) -> WakeOrigin {
        WakeOrigin {
            site: self.site,
            coroutine: self.caller,
            is_thread: !self.may_be_from_coroutine,
        }
    }

    /// Describes the call of `wake()` in a thread event. `caller` is the coroutine that called, if known.
    pub(super) fn of(
        thread_event: &ThreadEvent,
        call: &WakeCall,
        caller: Option<&Coroutine>,
    ) -> Self {
        Woken {
            at: thread_event.at,
            tid: thread_event.tid,
            may_be_from_coroutine: !matches!(call.by, Waker::Thread(_)),
            is_from_helper: false,
            is_own: call.by == Waker::Coroutine(call.coroutine),
            site: call.site,
            count: call.count,
            caller: caller.map(|caller| caller.name).unwrap_or_default(),
            caller_family: caller.and_then(|caller| caller.family).unwrap_or_default(),
            from: caller.and_then(|caller| SiteNumber::new(caller.waits.resumed_at()?)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(site: u32) -> WakeOrigin {
        WakeOrigin {
            site: SiteId(site),
            ..WakeOrigin::default()
        }
    }

    // CT-14
    #[test]
    fn first_wakers_are_counted_separately() {
        let mut wakers = WakeCounts::default();
        assert_eq!((wakers.origins().count(), wakers.count()), (0, 0));
        wakers.add(origin(0));
        wakers.add(origin(0));
        wakers.add(origin(3));
        (100..100_000).for_each(|site| wakers.add(origin(site)));
        wakers.add(origin(3));
        assert_eq!(wakers.origins().next(), Some(&(origin(3), 2)));
        assert_eq!(wakers.count(), 4 + 99_900);
        assert_eq!(wakers.origins.len(), SEPARATE);
    }
}

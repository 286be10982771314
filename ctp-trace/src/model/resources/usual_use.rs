//! How long waiters took to resume after their resource was closed.
//!
//! A program may close a resource first and resume its waiters later. Past cases show how long that
//! takes, both at the place that closes and at the place that waits.

use super::closings::{Closing, Resource, resource};
use crate::hash::Map;
use crate::record::{Event, Nanos, ProcessId, SiteId, WaitKind};

/// Remembered closes per resource, because its number may be reused.
const CLOSINGS: usize = 4;
/// Maximum number of resources with remembered closes.
const RESOURCES: usize = 1 << 14;

#[derive(Clone, Debug, Default)]
pub(in crate::model) struct UsualUse {
    /// The latest closes of each resource with their sites, latest first.
    closed: Map<Resource, [Option<(Nanos, SiteId)>; CLOSINGS]>,
    /// Per site, the longest time from a close to the end of the wait. Counted at the site of the close
    /// and at the site of the wait.
    longest: Map<SiteId, Nanos>,
}

impl UsualUse {
    /// Takes a close.
    pub(in crate::model) fn closed(&mut self, resource: Resource, closing: &Closing) {
        if self.closed.len() == RESOURCES && !self.closed.contains_key(&resource) {
            self.closed.clear();
        }
        let closings = self.closed.entry(resource).or_default();
        closings.rotate_right(1);
        closings[0] = Some((closing.at, closing.site));
    }

    /// Takes the end of a wait.
    #[inline]
    pub(in crate::model) fn over(&mut self, process: ProcessId, suspend: &Event, at: Nanos) {
        if self.closed.is_empty() {
            return;
        }
        let resource = resource(process, suspend.wait, suspend.arg);
        let closings = resource.and_then(|resource| self.closed.get(&resource));
        // A coroutine that awaits an ended coroutine need not wait at all.
        let is_join = suspend.wait == WaitKind::Coroutine;
        let is_during_wait =
            |(closed, _): &(Nanos, SiteId)| (is_join || suspend.at < *closed) && *closed <= at;
        let first =
            closings.and_then(|all| all.iter().flatten().rfind(|pair| is_during_wait(pair)));
        if let Some(&(closed, place)) = first {
            let time = closed.max(suspend.at).until(at);
            self.took(suspend.site, time);
            self.took(place, time);
        }
    }

    fn took(&mut self, place: SiteId, time: Nanos) {
        let longest = self.longest.entry(place).or_default();
        *longest = time.max(*longest);
    }

    /// The longest time that a wait at the same site, or for a resource closed at the same site,
    /// continued after the close. Zero if none is known.
    pub(in crate::model) fn longest(&self, waits_at: SiteId, closed_at: SiteId) -> Nanos {
        let known = [waits_at, closed_at].map(|site| self.longest.get(&site).copied());
        known.into_iter().flatten().max().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const READ: SiteId = SiteId(7);
    const HANGUP: SiteId = SiteId(8);

    fn close(usual_use: &mut UsualUse, at: u64, arg: u64) {
        let closing = Closing {
            at: Nanos(at),
            site: HANGUP,
            ..Closing::default()
        };
        let entry = resource(ProcessId::default(), WaitKind::Readable, arg).expect("a descriptor");
        usual_use.closed(entry, &closing);
    }

    fn over(usual_use: &mut UsualUse, from: u64, to: u64, arg: u64) {
        let suspend = Event {
            at: Nanos(from),
            site: READ,
            wait: WaitKind::Writable,
            arg,
            ..Event::default()
        };
        usual_use.over(ProcessId(0), &suspend, Nanos(to));
    }

    // CT-14
    #[test]
    fn longest_time_after_close_is_kept_at_both_sites() {
        let mut usual_use = UsualUse::default();
        close(&mut usual_use, 50, 4);
        over(&mut usual_use, 100, 110, 4); // closed before it waited
        assert_eq!(usual_use.longest(READ, HANGUP), Nanos(0));
        close(&mut usual_use, 200, 4);
        over(&mut usual_use, 120, 230, 4);
        over(&mut usual_use, 120, 220, 4);
        over(&mut usual_use, 120, 900, 5);
        assert_eq!(usual_use.longest(READ, SiteId(0)), Nanos(30));
        assert_eq!(usual_use.longest(SiteId(9), HANGUP), Nanos(30));
        assert_eq!(usual_use.longest(SiteId(9), SiteId(0)), Nanos(0));
    }

    // CT-14
    #[test]
    fn first_close_of_a_reused_number_counts() {
        let mut usual_use = UsualUse::default();
        for at in [200, 300, 400] {
            close(&mut usual_use, at, 4);
        }
        over(&mut usual_use, 120, 450, 4);
        assert_eq!(usual_use.longest(READ, HANGUP), Nanos(250));
    }

    // CT-14
    #[test]
    fn a_million_resources_are_bounded() {
        let mut usual_use = UsualUse::default();
        (0..1_000_000).for_each(|i| close(&mut usual_use, i, i));
        assert!(usual_use.closed.len() <= RESOURCES);
    }
}

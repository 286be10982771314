//! Closed resources, and the coroutines that waited for them.
//!
//! A descriptor number may be reused and closed again, so only the first close after a coroutine began to
//! wait concerns that coroutine. A coroutine ends once, so waiting for its end is in vain even
//! if it ended before, until a probe uses its id again.
//!
//! Closes are kept in a log. When the log is full, those that affect a waiting coroutine are set aside,
//! and the older half of the rest is dropped. So memory grows with the live coroutines, not with the
//! number of closes.

use std::collections::BTreeMap;

use crate::model::coroutine::Coroutine;
use crate::model::names::NameId;
use crate::record::{Close, CoroutineId, Event, Nanos, ProcessId, SiteId, WaitKind};

/// Length of the log; more if there are more coroutines.
const ROOM: usize = 1 << 14;

/// A close of a resource.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Closing {
    /// When the resource was closed.
    pub at: Nanos,
    /// The thread of the close.
    pub tid: u64,
    /// The site of the close; 0 if unknown.
    pub site: SiteId,
    /// For the end of a coroutine: its id and name.
    pub ended: Option<(CoroutineId, NameId)>,
}

/// A resource that can be closed: descriptors, locks and channels, coroutines, and the program's own
/// resources each have their own numbers, per process.
pub(in crate::model) type Resource = (ProcessId, WaitKind, u64);

#[derive(Clone, Debug, Default)]
pub(in crate::model) struct Closings {
    log: Vec<(Resource, Closing)>,
    /// The closes that affected waiting coroutines when the log was last full, each with the index of
    /// the suspend.
    set_aside: BTreeMap<CoroutineId, (u64, Closing)>,
}

impl Closings {
    pub(in crate::model) fn note(
        &mut self,
        entry: Resource,
        closing: Closing,
        coroutines: &[Coroutine],
    ) {
        self.log.push((entry, closing));
        if ROOM.max(coroutines.len()) <= self.log.len() {
            self.set_aside = self.lost(coroutines);
            self.log.drain(..self.log.len() / 2);
        }
    }

    /// For each waiting coroutine, the first close of its resource since the wait began.
    pub(in crate::model) fn lost(
        &self,
        coroutines: &[Coroutine],
    ) -> BTreeMap<CoroutineId, (u64, Closing)> {
        let mut sorted: Vec<_> = self.log.iter().collect();
        sorted.sort_by_key(|(resource, closing)| (*resource, closing.at));
        let lost = coroutines.iter().filter_map(|coroutine| {
            let suspend = coroutine.suspend()?;
            let known = self
                .set_aside
                .get(&coroutine.id)
                .filter(|(n, _)| *n == suspend.n);
            let closing = match known {
                Some((_, closing)) => *closing,
                None => first(&sorted, coroutine.process, suspend)?,
            };
            Some((coroutine.id, (suspend.n, closing)))
        });
        lost.collect()
    }
}

impl Close {
    /// Whether a wait with this kind and argument is for the closed resource, if in the same process.
    pub fn is_of(&self, wait: WaitKind, arg: u64) -> bool {
        self.arg == arg && sort(wait).is_some_and(|wait_kind| sort(self.wait) == Some(wait_kind))
    }
}

fn first(sorted: &[&(Resource, Closing)], process: ProcessId, suspend: &Event) -> Option<Closing> {
    let requested = resource(process, suspend.wait, suspend.arg)?;
    let after = Some(suspend.at).filter(|_| suspend.wait != WaitKind::Coroutine);
    let place =
        sorted.partition_point(|(entry, closing)| (*entry, Some(closing.at)) <= (requested, after));
    let (found, closing) = sorted.get(place)?;
    (*found == requested).then_some(*closing)
}

/// The resource that a wait with this kind and argument is for; `None` if the resource cannot be closed.
pub(in crate::model) fn resource(process: ProcessId, wait: WaitKind, arg: u64) -> Option<Resource> {
    Some((process, sort(wait)?, arg))
}

/// Maps kinds of waits that a single close ends to the same kind.
fn sort(wait: WaitKind) -> Option<WaitKind> {
    match wait {
        WaitKind::Readable | WaitKind::Writable => Some(WaitKind::Readable),
        WaitKind::Lock | WaitKind::Channel => Some(WaitKind::Lock),
        WaitKind::Coroutine | WaitKind::User => Some(wait),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::EventKind;

    fn waits(id: u32, at: u64, wait: WaitKind, arg: u64) -> Coroutine {
        let mut coroutine = Coroutine::named(CoroutineId(id));
        coroutine.last = Some(Event {
            at: Nanos(at),
            kind: EventKind::Suspend,
            wait,
            arg,
            ..Event::default()
        });
        coroutine
    }

    fn close(closings: &mut Closings, at: u64, wait: WaitKind, arg: u64, all: &[Coroutine]) {
        let closing = Closing {
            at: Nanos(at),
            ..Closing::default()
        };
        let entry = resource(ProcessId::default(), wait, arg).expect("it can be closed");
        closings.note(entry, closing, all);
    }

    fn when(closings: &Closings, all: &[Coroutine]) -> Vec<(u32, u64)> {
        let lost = closings.lost(all);
        lost.iter()
            .map(|(id, (_, closing))| (id.0, closing.at.0))
            .collect()
    }

    // CT-14
    #[test]
    fn first_close_during_the_wait_counts() {
        let (mut closings, fd) = (Closings::default(), WaitKind::Readable);
        let all = [
            waits(1, 100, fd, 7),
            waits(2, 350, fd, 7),
            waits(3, 100, fd, 8),
        ];
        for at in [50, 100, 200, 300, 400] {
            close(&mut closings, at, fd, 7, &all);
        }
        assert_eq!(when(&closings, &all), [(1, 200), (2, 400)]);
    }

    // CT-14
    #[test]
    fn close_covers_both_directions_of_a_resource() {
        let all = [
            waits(1, 1, WaitKind::Writable, 7),
            waits(2, 1, WaitKind::Channel, 7),
            waits(3, 1, WaitKind::User, 7),
            waits(4, 1, WaitKind::Timer, 7),
        ];
        for (wait, lost) in [
            (WaitKind::Readable, 1),
            (WaitKind::Lock, 2),
            (WaitKind::User, 3),
        ] {
            let mut closings = Closings::default();
            close(&mut closings, 5, wait, 7, &all);
            assert_eq!(when(&closings, &all), [(lost, 5)]);
        }
        let mut elsewhere = waits(1, 1, WaitKind::Writable, 7);
        elsewhere.process = ProcessId(2);
        let mut closings = Closings::default();
        close(&mut closings, 5, WaitKind::Readable, 7, &[]);
        assert_eq!(when(&closings, &[elsewhere]), []);
    }

    // CT-14
    #[test]
    fn million_closes_are_bounded_and_missed_closes_stay() {
        let mut closings = Closings::default();
        let all = [waits(1, 10, WaitKind::Lock, 4)];
        for i in 0..1_000_000 {
            close(&mut closings, 2 * i, WaitKind::Lock, i % 500_000, &all);
        }
        assert!(closings.log.len() <= ROOM && closings.set_aside.len() == 1);
        assert_eq!(when(&closings, &all), [(1, 1_000_008)]);
        let mut again = waits(1, 1_500_000, WaitKind::Lock, 4);
        again.last.as_mut().unwrap().n = 5;
        assert_eq!(when(&closings, &[again]), []);
    }
}

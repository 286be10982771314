//! Whether the others went on: who was run in a process, and on which thread.

use crate::hash::Map;
use crate::record::{CoroutineId, Nanos};
use crate::verdict::Served;

/// Threads of which it is known whom they ran last.
const THREADS: usize = 1 << 16;

/// The runs of one process.
#[derive(Clone, Debug, Default)]
pub(super) struct Runners {
    served: Option<Served>,
    threads: Map<u64, (CoroutineId, Nanos)>,
    /// Those of which all that they do is told in its order.
    histories: Map<u64, ()>,
    /// Another one ran coroutines: what it did besides is not told.
    has_untold: bool,
}

impl Runners {
    /// A thread tells what it does from here on, in its order.
    pub(super) fn begins(&mut self, tid: u64) {
        if self.histories.len() < THREADS {
            self.histories.insert(tid, ());
        }
    }

    /// Whether it told when it began, so that its runs are known and in their order.
    pub(super) fn has_history(&self, tid: u64) -> bool {
        self.histories.contains_key(&tid)
    }

    /// Whether all that ran coroutines told when they began.
    pub(super) fn are_told(&self) -> bool {
        !self.has_untold
    }

    /// One began to run; `ready` is the earliest that it may have become ready, if that is known.
    pub(super) fn ran(&mut self, who: CoroutineId, tid: u64, at: Nanos, ready: Option<Nanos>) {
        self.has_untold |= !self.has_history(tid);
        if let Some(ready) = ready
            && self.served.is_none_or(|served| served.ready <= ready)
        {
            self.served = Some(Served { ready, ran: at });
        }
        if self.threads.len() == THREADS && !self.threads.contains_key(&tid) {
            self.threads.clear();
        }
        let latest = self.threads.entry(tid).or_insert((who, at));
        if latest.1 <= at {
            *latest = (who, at);
        }
    }

    /// Of all runs, the one of which the coroutine had become ready last.
    pub(super) fn served(&self) -> Option<Served> {
        self.served
    }

    /// Whom a thread ran last, and since when.
    pub(super) fn on(&self, tid: u64) -> Option<(CoroutineId, Nanos)> {
        self.threads.get(&tid).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_became_ready_last_counts_and_not_who_ran_last() {
        let mut runners = Runners::default();
        assert_eq!(runners.served(), None);
        runners.ran(CoroutineId(1), 7, Nanos(10), Some(Nanos(8)));
        runners.ran(CoroutineId(2), 8, Nanos(20), Some(Nanos(5)));
        runners.ran(CoroutineId(3), 8, Nanos(30), None);
        let served = runners.served().map(|it| (it.ready.0, it.ran.0));
        assert_eq!(served, Some((8, 10)));
        assert_eq!(runners.on(7), Some((CoroutineId(1), Nanos(10))));
        assert_eq!(runners.on(8), Some((CoroutineId(3), Nanos(30))));
    }

    #[test]
    fn a_million_threads_are_bounded() {
        let mut runners = Runners::default();
        (0..1_000_000).for_each(|tid| runners.ran(CoroutineId(1), tid, Nanos(tid), None));
        assert!(runners.threads.len() <= THREADS);
    }
}

//! How many records threads lost, and when. A missing wake may be among the lost records.

use crate::hash::Map;
use crate::record::{Nanos, ProcessId, ThreadEvent};

/// How many threads' latest losses are kept; older losses are dropped first.
const THREADS: usize = 64;

/// The latest loss of a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadLoss {
    /// The process of the thread.
    pub process: ProcessId,
    /// The thread.
    pub tid: u64,
    /// The loss happened just before this time.
    pub at: Nanos,
    /// The number of lost records.
    pub records: u64,
}

/// The losses of all threads together. A lost record is that of a wake, a close, a lock or an event; the event may
/// still have been read from its slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LostRecords {
    /// The number of losses that were counted.
    pub known: u64,
    /// Some threads had no lane, and their losses were not counted.
    pub or_more: bool,
}

/// The losses of a trace.
#[derive(Clone, Debug, Default)]
pub(in crate::model) struct Losses {
    /// The losses, latest last.
    latest: Vec<ThreadLoss>,
    /// Losses of all threads, from the beginning.
    pub(in crate::model) all: LostRecords,
    /// The latest loss per process.
    of_process: Map<ProcessId, Nanos>,
}

impl Losses {
    pub(in crate::model) fn note(&mut self, thread_event: &ThreadEvent, records: u64) {
        let (process, tid, at) = (thread_event.process, thread_event.tid, thread_event.at);
        self.all.known = self.all.known.saturating_add(records);
        self.all.or_more |= records == 0;
        let latest = self.of_process.entry(process).or_default();
        *latest = at.max(*latest);
        self.latest
            .retain(|loss| (loss.process, loss.tid) != (process, tid));
        if self.latest.len() == THREADS {
            self.latest.remove(0);
        }
        self.latest.push(ThreadLoss {
            process,
            tid,
            at,
            records,
        });
    }

    /// The latest losses of threads of this process after `since`, one for each thread.
    pub(in crate::model) fn since(&self, process: ProcessId, since: Nanos) -> Vec<ThreadLoss> {
        let latest = self.latest.iter();
        let later = latest.filter(|loss| loss.process == process && since < loss.at);
        later.copied().collect()
    }

    /// Whether any thread of the process has lost records since this time.
    pub(in crate::model) fn any_since(&self, process: ProcessId, since: Nanos) -> bool {
        let latest = self.of_process.get(&process);
        latest.is_some_and(|latest| since <= *latest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // CT-24
    #[test]
    fn latest_losses_are_kept() {
        let mut losses = Losses::default();
        for at in 0..10_000 {
            let thread_event = ThreadEvent {
                tid: at % 1_000,
                at: Nanos(at),
                ..ThreadEvent::default()
            };
            losses.note(&thread_event, at);
        }
        assert_eq!(losses.latest.len(), THREADS);
        let last = losses.since(ProcessId(0), Nanos(9_998));
        assert_eq!((last.len(), last[0].tid, last[0].records), (1, 999, 9_999));
        let all = LostRecords {
            known: (0..10_000).sum(),
            or_more: true,
        };
        assert_eq!(losses.all, all);
        assert!(losses.since(ProcessId(1), Nanos(0)).is_empty());
        assert!(losses.any_since(ProcessId(0), Nanos(9_999)));
        assert!(!losses.any_since(ProcessId(0), Nanos(10_000)));
        assert!(!losses.any_since(ProcessId(1), Nanos(0)));
    }
}

//! Builds the records of coroutines that take locks and wait.

use std::collections::{BTreeMap, BTreeSet};

use ctp_trace::TraceModel;
use ctp_trace::record::*;
use ctp_trace::verdict::{Confidence, Reason, Verdict};

pub const THRESHOLD: Nanos = Nanos(1_000_000_000);

/// When the recording ends.
pub const END: u64 = 10_000;

/// The thread of the coroutines in [`Recording::together`].
pub const SHARED: u64 = 77;

/// Records, and the counts of each coroutine.
#[derive(Clone, Default)]
pub struct Recording {
    pub records: Vec<Record>,
    pub events: BTreeMap<u32, u64>,
    pub wakes: BTreeMap<u32, u32>,
    seen: BTreeMap<u32, u32>,
    /// Coroutines that run on the shared thread. All others have a thread each.
    pub together: BTreeSet<u32>,
    /// Live wakers of each coroutine for which they are counted.
    pub wakers: BTreeMap<u32, u32>,
    /// Coroutines that found no station.
    pub refused: u64,
}

fn ms(at: u64) -> Nanos {
    Nanos(at * 1_000_000)
}

/// The probe's id of a coroutine.
pub fn probe_id(id: u32) -> u64 {
    (1 << 48) | u64::from(id)
}

impl Recording {
    /// Coroutines 1 to `coroutines`, on threads with complete history.
    pub fn of(coroutines: u32) -> Self {
        let mut recording = Recording::default();
        recording.thread_event(0, Act::Begin);
        for id in 1..=coroutines {
            recording.born(id, probe_id(id));
            recording.runs(id, 1);
        }
        recording
    }

    pub fn born(&mut self, id: u32, probe_id: u64) {
        self.thread_event_of(u64::from(id), 0, Act::Begin);
        self.records.push(Record::Birth(Birth {
            coroutine: CoroutineId(id),
            process: ProcessId(1),
            probe_id,
            kind: CoroutineKind::Future,
            ..Birth::default()
        }));
        self.wake(id, 0, 0);
    }

    fn wake(&mut self, id: u32, at: u64, count: u32) {
        self.wakes.insert(id, count);
        self.records.push(Record::Wake(Wake {
            coroutine: CoroutineId(id),
            count,
            at: ms(at),
            ..Wake::default()
        }));
    }

    /// Wakes the coroutine from this thread.
    pub fn woken_by(&mut self, id: u32, at: u64, tid: u64) {
        self.woken(id, at);
        let call = WakeCall {
            coroutine: CoroutineId(id),
            count: self.wakes[&id],
            ..WakeCall::default()
        };
        self.thread_event_of(tid, at, Act::Wake(call));
    }

    /// Wakes the coroutine without running it.
    pub fn woken(&mut self, id: u32, at: u64) {
        let count = self.wakes[&id] + 1;
        self.wake(id, at, count);
    }

    pub fn event(&mut self, id: u32, at: u64, event: Event) {
        let n = self.events.entry(id).or_default();
        let event = Event {
            coroutine: CoroutineId(id),
            n: *n,
            at: ms(at),
            tid: if self.together.contains(&id) {
                SHARED
            } else {
                id.into()
            },
            wake_seen: self.seen.get(&id).copied().unwrap_or(0) as u16,
            ..event
        };
        *n += 1;
        self.records.push(Record::Event(event));
    }

    pub fn runs(&mut self, id: u32, at: u64) {
        self.seen.insert(id, self.wakes[&id]);
        let kind = EventKind::Run;
        self.event(
            id,
            at,
            Event {
                kind,
                ..Event::default()
            },
        );
    }

    pub fn waits(&mut self, id: u32, at: u64, wait: WaitKind, arg: u64) {
        self.waits_marked(id, at, wait, arg, WaitMarks::default());
    }

    pub fn waits_marked(&mut self, id: u32, at: u64, wait: WaitKind, arg: u64, marks: WaitMarks) {
        let event = Event {
            kind: EventKind::Suspend,
            site: SiteId(1),
            wait,
            arg,
            marks,
            ..Event::default()
        };
        self.event(id, at, event);
    }

    pub fn wants(&mut self, id: u32, at: u64, lock: u64) {
        self.waits(id, at, WaitKind::Lock, lock);
    }

    pub fn joins(&mut self, id: u32, at: u64, other: u32) {
        self.waits(id, at, WaitKind::Coroutine, probe_id(other));
    }

    pub fn ends(&mut self, id: u32, at: u64) {
        let kind = EventKind::Death;
        self.event(
            id,
            at,
            Event {
                kind,
                ..Event::default()
            },
        );
    }

    pub fn thread_event(&mut self, at: u64, act: Act) {
        self.thread_event_of(SHARED, at, act);
    }

    pub fn thread_event_of(&mut self, tid: u64, at: u64, act: Act) {
        self.records.push(Record::ThreadEvent(ThreadEvent {
            process: ProcessId(1),
            tid,
            at: ms(at),
            act,
        }));
    }

    pub fn takes(&mut self, id: u32, at: u64, lock: u64) {
        self.thread_event(
            at,
            Act::Acquire(hold(lock, Waker::Coroutine(CoroutineId(id)))),
        );
    }

    /// Acquires the lock as one of several possible holders.
    pub fn reads(&mut self, id: u32, at: u64, lock: u64) {
        let own = hold(lock, Waker::Coroutine(CoroutineId(id)));
        self.thread_event(
            at,
            Act::Acquire(Hold {
                shared: true,
                ..own
            }),
        );
    }

    pub fn gives(&mut self, id: u32, at: u64, lock: u64) {
        self.thread_event(
            at,
            Act::Release(hold(lock, Waker::Coroutine(CoroutineId(id)))),
        );
    }

    /// The trace model of all records. Coroutines in `unaccounted` get no final event counts, so
    /// their last record may be missing.
    pub fn trace_model(&self, unaccounted: &[u32]) -> TraceModel {
        let mut trace_model = TraceModel::new();
        for record in &self.records {
            trace_model.consume(record);
        }
        for (&id, &events) in self
            .events
            .iter()
            .filter(|(id, _)| !unaccounted.contains(id))
        {
            trace_model.consume(&Record::EventCounts(EventCounts {
                coroutine: CoroutineId(id),
                attempted: events,
                recorded: events,
                wakers: self.wakers.get(&id).copied(),
                ..EventCounts::default()
            }));
        }
        let end = End {
            at: ms(END),
            refused: self.refused,
            ..End::default()
        };
        trace_model.consume(&Record::End(end));
        trace_model
    }

    /// The verdict, confidence and reason of each stuck coroutine.
    pub fn stuck(&self) -> BTreeMap<u32, (Verdict, Confidence, Reason)> {
        stuck(&self.trace_model(&[]))
    }
}

pub fn stuck(trace_model: &TraceModel) -> BTreeMap<u32, (Verdict, Confidence, Reason)> {
    let all = trace_model.judge(THRESHOLD).into_iter();
    all.filter(|(_, judgement)| judgement.verdict.is_stuck())
        .map(|(id, judgement)| {
            (
                id.0,
                (judgement.verdict, judgement.confidence, judgement.reason),
            )
        })
        .collect()
}

fn hold(lock: u64, by: Waker) -> Hold {
    Hold {
        wait: WaitKind::Lock,
        arg: lock,
        by,
        site: SiteId(2),
        shared: false,
    }
}

//! A tidy end: waiting coroutines that are dropped together when their process ends.
//!
//! A runtime that shuts down drops its tasks, and `exit()` drops what threads keep. Such a coroutine did
//! not end by itself, so a report on what is stuck judges it as of just before the first of these drops.
//! That takes a second pass over the trace: [`TraceModel::shutdowns`] finds the drops, and
//! [`TraceModel::before`] makes a model that leaves out what came after them. If a second pass makes a model of the
//! whole trace anyway, [`TraceModel::branch_before`] makes the other model from it.

use super::TraceModel;
use super::coroutine::Coroutine;
use crate::hash::Map;
use crate::record::{
    Act, CoroutineId, Event, EventCounts, EventKind, ExitReason, Nanos, ProcessExit, ProcessId,
    Record, ThreadEvent, Wake,
};
use crate::verdict::State;

/// A thread may finish a run this long after another thread began to drop coroutines.
const LAST_RUNS: Nanos = Nanos(10_000_000);

/// A coroutine's destructors, which may wake others and release locks, run before its death. So the time
/// "just before" is this long before the first death.
const DESTRUCTORS: Nanos = Nanos(10_000_000);

/// If some coroutines remain, the drops count as the end only if the process ended at most this long after the
/// first drop.
const SOON: Nanos = Nanos(1_000_000_000);

/// The time just before the first drop in each process that ended tidily.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shutdowns {
    ends: Map<ProcessId, Nanos>,
    /// How many events were left out, by coroutine.
    undone: Map<CoroutineId, u64>,
}

/// The latest drops of coroutines that waited, after which no coroutine of the process ran.
#[derive(Clone, Debug, Default)]
pub(super) struct Drops(Map<ProcessId, Burst>);

#[derive(Clone, Debug)]
struct Burst {
    first: Nanos,
    /// The coroutines that were running on the threads of the drops.
    hosts: Vec<CoroutineId>,
}

impl Drops {
    /// Takes an event, before the event changes its coroutine. `host` is the coroutine that runs on the thread.
    fn event(&mut self, coroutine: &Coroutine, event: &Event, host: Option<CoroutineId>) {
        let process = coroutine.process;
        match event.kind {
            EventKind::Death if is_dropped(coroutine) => {
                let burst = self.0.entry(process).or_insert_with(|| Burst {
                    first: event.at,
                    hosts: Vec::new(),
                });
                burst
                    .hosts
                    .extend(host.filter(|host| !burst.hosts.contains(host)));
            }
            EventKind::Run => self.end_if(process, |burst| LAST_RUNS < burst.first.until(event.at)),
            // The coroutine dropped others while it ran, and continues.
            EventKind::Suspend => self.end_if(process, |burst| burst.hosts.contains(&coroutine.id)),
            EventKind::Death | EventKind::Birth => {}
        }
    }

    fn end_if(&mut self, process: ProcessId, is_over: impl FnOnce(&Burst) -> bool) {
        if self.0.get(&process).is_some_and(is_over) {
            self.0.remove(&process);
        }
    }
}

impl Shutdowns {
    /// Whether no process ended tidily.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Whether [`TraceModel::before`] may take this record in another way than a model of the whole trace does.
    /// Until the first such record, both models are the same.
    pub fn concern(&self, record: &Record) -> bool {
        let at = match record {
            Record::Event(event) => event.at,
            Record::ThreadEvent(thread_event) => thread_event.at,
            Record::Wake(wake) => wake.at,
            Record::Look(look) => look.at,
            Record::Threads(threads) => threads.at,
            Record::Sockets(sockets) => sockets.at,
            _ => return false,
        };
        self.ends.values().any(|first| *first <= at)
    }

    /// The time just before the first drop, if the process ended tidily.
    pub(super) fn of(&self, process: ProcessId) -> Option<Nanos> {
        self.ends.get(&process).copied()
    }

    fn undone(&self, id: CoroutineId) -> u64 {
        self.undone.get(&id).copied().unwrap_or_default()
    }
}

/// Whether the coroutine waits, or was never run, so that its death is a drop.
fn is_dropped(coroutine: &Coroutine) -> bool {
    matches!(coroutine.state().0, State::Suspended | State::Born)
}

impl TraceModel {
    /// A model that leaves out what came after the first drop in each process that ended tidily.
    pub fn before(shutdowns: Shutdowns) -> Self {
        TraceModel {
            shutdowns,
            ..TraceModel::default()
        }
    }

    /// A model like [`before`](Self::before) that has taken the same records as this model of a whole trace. None of
    /// these records may [concern](Shutdowns::concern) the shutdowns.
    pub fn branch_before(&self, shutdowns: Shutdowns) -> Self {
        TraceModel {
            shutdowns,
            ..self.clone()
        }
    }

    /// The processes that ended tidily, once all records were read.
    pub fn shutdowns(&self) -> Shutdowns {
        let bursts = self.drops.0.iter();
        let ends = bursts.filter(|(process, burst)| self.is_the_end(**process, burst));
        Shutdowns {
            ends: ends
                .map(|(process, burst)| {
                    let before = burst.first.0.saturating_sub(DESTRUCTORS.0);
                    (*process, Nanos(before))
                })
                .collect(),
            undone: Map::default(),
        }
    }

    /// Whether the coroutine was dropped when its process ended, which this model leaves out.
    pub fn is_dropped_at_the_end(&self, id: CoroutineId) -> bool {
        0 < self.shutdowns.undone(id)
    }

    fn is_the_end(&self, process: ProcessId, burst: &Burst) -> bool {
        let ended = match (self.ended_early(process), self.end()) {
            (Some(end), _) => (end.how != ProcessExit::Exec).then_some(end.at),
            (None, Some(end)) => {
                matches!(end.how, ExitReason::Exited(_) | ExitReason::Signalled(_))
                    .then_some(end.at)
            }
            (None, None) => None,
        };
        ended.is_some_and(|ended| {
            burst.first.until(ended) <= SOON
                || !self.coroutines.all().iter().any(|coroutine| {
                    coroutine.process == process && coroutine.is_alive() && is_dropped(coroutine)
                })
        })
    }

    /// Notes the drop of a coroutine, and what shows that the process goes on.
    pub(super) fn note_drops(&mut self, event: &Event) {
        let is_death = event.kind == EventKind::Death;
        if !is_death && self.drops.0.is_empty() {
            return;
        }
        let Some(coroutine) = self.coroutines.get(event.coroutine) else {
            return;
        };
        let host = is_death.then(|| self.innermost(coroutine.process, event.tid));
        let host = host.flatten().map(|(host, _)| host.id);
        self.drops.event(coroutine, event, host);
    }

    /// Returns whether the model leaves out this record, because the record came after the first drop of
    /// its process. An event that is left out is counted.
    pub(super) fn is_after_shutdown(&mut self, record: &Record) -> bool {
        match record {
            Record::Event(event) => self.is_undone(event),
            Record::ThreadEvent(thread_event) => self.is_of_shutdown(thread_event),
            Record::Threads(threads) => {
                let first = self.shutdowns.of(threads.process);
                first.is_some_and(|first| first <= threads.at)
            }
            Record::Sockets(sockets) => {
                let first = self.shutdowns.of(sockets.process);
                first.is_some_and(|first| first <= sockets.at)
            }
            Record::Look(look) => {
                let process = self.coroutines.of(look.coroutine).process;
                self.shutdowns
                    .of(process)
                    .is_some_and(|first| first <= look.at)
            }
            _ => false,
        }
    }

    /// Returns whether the event came after the first drop, and counts such an event. The end of a
    /// coroutine that was running is not left out.
    fn is_undone(&mut self, event: &Event) -> bool {
        let coroutine = self.coroutines.of(event.coroutine);
        let Some(first) = self.shutdowns.of(coroutine.process) else {
            return false;
        };
        let ends_by_itself = event.kind == EventKind::Death
            && !is_dropped(coroutine)
            && self.shutdowns.undone(event.coroutine) == 0;
        let is_undone = first <= event.at && !ends_by_itself;
        if is_undone {
            *self.shutdowns.undone.entry(event.coroutine).or_default() += 1;
            self.sums.totals.events += 1;
            self.extent.see(event.at);
        }
        is_undone
    }

    fn is_of_shutdown(&self, thread_event: &ThreadEvent) -> bool {
        let first = self.shutdowns.of(thread_event.process);
        first.is_some_and(|first| first <= thread_event.at)
            && !matches!(thread_event.act, Act::Loss(_))
    }

    /// The wake word as of the first drop, if the word is later.
    pub(super) fn wake_before_shutdown(&mut self, wake: &Wake) -> Wake {
        let coroutine = self.coroutines.of(wake.coroutine);
        let first = self.shutdowns.of(coroutine.process);
        let Some(last) = coroutine
            .last
            .filter(|_| first.is_some_and(|first| first <= wake.at))
        else {
            return *wake;
        };
        let runners = self.runners.get(coroutine.process);
        let has_calls = runners.is_some_and(|runners| runners.has_history(last.tid));
        coroutine.wakes.as_of_wait(wake, &last, has_calls)
    }

    /// The counts without the events after the first drop. How many wakers there were is not known.
    pub(super) fn counts_before_shutdown(&mut self, counts: &EventCounts) -> EventCounts {
        let undone = self.shutdowns.undone(counts.coroutine);
        if undone == 0 {
            return *counts;
        }
        EventCounts {
            attempted: counts.attempted.saturating_sub(undone),
            recorded: counts.recorded.saturating_sub(undone),
            wakers: None,
            ..*counts
        }
    }
}

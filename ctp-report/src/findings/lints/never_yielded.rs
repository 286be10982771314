//! Coroutines that ran for long and never waited: their first run was their only run.

use ctp_trace::hash::Map;
use ctp_trace::model::{Coroutine, TraceModel};
use ctp_trace::record::{CoroutineId, CoroutineKind, Event, EventKind, Nanos};
use ctp_trace::verdict::{THRESHOLD, Verdict};

use super::places::{Groups, LintFigures, LintPlace};
use super::{Detection, Lint, LintWatch};
use crate::text::units::{duration_ns, grouped};

/// Detects long first runs by the events of coroutines.
pub const LINT: Lint = Lint {
    name: "never-yielded",
    help: "It ran for long without a wait, until it or the recording ended",
    advice: "ran for long without a wait, so no other coroutine could run on their \
             thread; add an await, or move the work to a thread of its own",
    see: None,
    of_parts: false,
    detection: Detection::WhileReading(|| Box::new(SoleRuns::default())),
    message,
};

fn message(place: &LintPlace) -> String {
    let longest = duration_ns(place.figures.longest_ns);
    match (place.coroutines, place.figures.still_run) {
        (1, 1) => format!("{longest}, to the end"),
        (1, _) => longest,
        (_, still_run) => format!("up to {longest}, {} to the end", grouped(still_run)),
    }
}

/// First runs in progress, and the coroutines found so far.
#[derive(Debug, Default)]
pub struct SoleRuns {
    going_on: Map<CoroutineId, FirstRun>,
    /// The coroutine with a first run in progress on each thread.
    threads: Map<u64, CoroutineId>,
    over: Groups,
}

#[derive(Clone, Copy, Debug)]
struct FirstRun {
    n: u64,
    since: Nanos,
    tid: u64,
    /// Whether other coroutines ran on the thread meanwhile, so that the run does not block the thread.
    hosts: bool,
}

impl LintWatch for SoleRuns {
    fn event(&mut self, trace_model: &TraceModel, event: &Event) {
        match event.kind {
            EventKind::Birth => {}
            EventKind::Run => self.run(trace_model, event),
            EventKind::Suspend | EventKind::Death => self.end(trace_model, event),
        }
    }

    /// For runs in progress, the verdict `Busy` ensures that no events are missing.
    fn finish(mut self: Box<Self>, trace_model: &TraceModel) -> Groups {
        for (id, judged) in trace_model.judge(THRESHOLD) {
            let first = self.going_on.get(&id).copied();
            if let Some(first) = first.filter(|_| judged.verdict == Verdict::Busy) {
                self.put(trace_model, id, first, None);
            }
        }
        self.over
    }
}

impl SoleRuns {
    fn run(&mut self, trace_model: &TraceModel, event: &Event) {
        let id = event.coroutine;
        if !self.going_on.is_empty() {
            self.going_on.remove(&id);
            self.note_host(event);
        }
        if event.n <= 1
            && trace_model
                .get(id)
                .is_some_and(|coroutine| is_first(coroutine, event))
        {
            let first = FirstRun {
                n: event.n,
                since: event.at,
                tid: event.tid,
                hosts: false,
            };
            self.going_on.insert(id, first);
            self.threads.insert(event.tid, id);
        }
    }

    fn note_host(&mut self, run: &Event) {
        let host = self.threads.get(&run.tid);
        let host = host.filter(|host| **host != run.coroutine);
        if let Some(host) = host.and_then(|host| self.going_on.get_mut(host)) {
            host.hosts = true;
        }
    }

    fn end(&mut self, trace_model: &TraceModel, event: &Event) {
        if self.going_on.is_empty() {
            return;
        }
        let Some(first) = self.going_on.remove(&event.coroutine) else {
            return;
        };
        if self.threads.get(&first.tid) == Some(&event.coroutine) {
            self.threads.remove(&first.tid);
        }
        let is_sole = event.kind == EventKind::Death && event.n == first.n + 1;
        if is_sole && !event.after_filtered {
            self.put(trace_model, event.coroutine, first, Some(event.at));
        }
    }

    /// Adds the coroutine if its first run took long enough. `died` is the end of the run, if any.
    fn put(
        &mut self,
        trace_model: &TraceModel,
        id: CoroutineId,
        first: FirstRun,
        died: Option<Nanos>,
    ) {
        let coroutine = trace_model.get(id).filter(|coroutine| {
            coroutine.kind != CoroutineKind::Thread && !coroutine.account.broken
        });
        let Some(coroutine) = coroutine else {
            return;
        };
        let length = first
            .since
            .until(died.unwrap_or_else(|| trace_model.end_of(coroutine.process)));
        if !first.hosts && THRESHOLD <= length {
            let figures = LintFigures {
                longest_ns: length.0,
                still_run: died.is_none().into(),
                ..LintFigures::default()
            };
            self.over
                .add(coroutine, coroutine.spawn_site, figures, true);
        }
    }
}

/// Whether no run and no wait precedes this event.
fn is_first(coroutine: &Coroutine, event: &Event) -> bool {
    let follows_birth = event.n == 1
        && coroutine
            .last
            .is_some_and(|last| last.kind == EventKind::Birth && last.n == 0);
    let is_all = event.n == 0 && coroutine.last.is_none();
    (follows_birth || is_all) && !event.after_filtered && coroutine.is_alive()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ctp_trace::record::{Birth, Record};

    #[derive(Default)]
    struct Recording {
        trace_model: TraceModel,
        runs: Box<SoleRuns>,
    }

    const SECOND: u64 = THRESHOLD.0;

    impl Recording {
        fn event(&mut self, id: u32, n: u64, at: u64, kind: EventKind) {
            let event = Event {
                coroutine: CoroutineId(id),
                n,
                at: Nanos(at * SECOND),
                tid: 7,
                kind,
                ..Event::default()
            };
            self.runs.event(&self.trace_model, &event);
            self.trace_model.consume(&Record::Event(event));
        }

        fn born(kind: CoroutineKind) -> Self {
            let mut recording = Recording::default();
            recording.trace_model.consume(&Record::Birth(Birth {
                coroutine: CoroutineId(1),
                kind,
                ..Birth::default()
            }));
            recording.event(1, 0, 0, EventKind::Birth);
            recording
        }

        /// Longest run in seconds, and the number of runs in progress.
        fn finish(self) -> Vec<(u64, u64)> {
            let groups = self.runs.finish(&self.trace_model).0.into_values();
            groups
                .map(|group| (group.figures.longest_ns / SECOND, group.figures.still_run))
                .collect()
        }
    }

    const FUTURE: CoroutineKind = CoroutineKind::Future;

    // CTP-21
    #[test]
    fn coroutines_without_waits_are_found_alive_and_ended() {
        let mut recording = Recording::born(FUTURE);
        recording.event(1, 1, 1, EventKind::Run);
        recording.event(1, 2, 4, EventKind::Death);
        assert_eq!(recording.finish(), [(3, 0)]);
        let mut recording = Recording::born(FUTURE);
        recording.event(1, 1, 1, EventKind::Run);
        recording.trace_model.advance_to(Nanos(6 * SECOND));
        assert_eq!(recording.finish(), [(5, 1)]);
    }

    // CTP-21
    #[test]
    fn possible_waits_exclude_a_coroutine() {
        let mut waited = Recording::born(FUTURE);
        waited.event(1, 1, 1, EventKind::Run);
        waited.event(1, 2, 4, EventKind::Suspend);
        waited.event(1, 3, 5, EventKind::Run);
        waited.event(1, 4, 9, EventKind::Death);
        let mut lost = Recording::born(FUTURE);
        lost.event(1, 1, 1, EventKind::Run);
        lost.event(1, 4, 9, EventKind::Death);
        let mut late = Recording::born(FUTURE);
        late.event(1, 3, 1, EventKind::Run);
        late.event(1, 4, 9, EventKind::Death);
        for recording in [waited, lost, late] {
            assert_eq!(recording.finish(), []);
        }
    }

    // CTP-21
    #[test]
    fn threads_and_hosts_are_excluded() {
        let mut thread = Recording::born(CoroutineKind::Thread);
        thread.event(1, 1, 1, EventKind::Run);
        thread.event(1, 2, 4, EventKind::Death);
        let mut host = Recording::born(FUTURE);
        host.event(1, 1, 1, EventKind::Run);
        host.event(2, 1, 2, EventKind::Run);
        host.event(2, 2, 2, EventKind::Suspend);
        host.event(1, 2, 4, EventKind::Death);
        for recording in [thread, host] {
            assert_eq!(recording.finish(), []);
        }
    }
}

//! Counts how often coroutines wake themselves in a run that ends in a wait.
//!
//! All wakes are counted by their sequence numbers, which losses do not affect. A coroutine's own wakes
//! are counted only if they are recorded. So if the own wakes are counted as more than half of all
//! wakes, this is certain.

use ctp_trace::hash::Map;
use ctp_trace::model::{Coroutine, TraceModel};
use ctp_trace::record::{
    Act, CoroutineId, Event, EventKind, SiteId, ThreadEvent, WaitKind, WakeCall, Waker,
};

use super::places::{Groups, LintFigures, LintPlace};
use super::{Detection, Lint, LintWatch};
use crate::text::units::grouped;

/// Detects self-wakes by the records of wakes.
pub const LINT: Lint = Lint {
    name: "self-wakes",
    help: "More than half of its wakes came from itself, in runs that ended in a wait",
    advice: "most of their wakes come from themselves: they yield or poll again instead of \
             waiting; register the waker with the awaited resource, or suspend with Wait::to_yield()",
    see: None,
    of_parts: false,
    detection: Detection::WhileReading(|| Box::new(OwnWakes::default())),
    message,
};

fn message(place: &LintPlace) -> String {
    let least = if place.exact { "" } else { "at least " };
    let own = grouped(place.figures.own_wakes);
    format!("{least}{own} of {} wakes", grouped(place.figures.wakes))
}

/// Minimum number of own wakes. Fewer wakes have a negligible cost.
const ENOUGH: u64 = 100;

/// The sequence numbers of wakes start again at zero after this many wakes.
const ROUND: u32 = 1 << 20;

/// Maximum number of places that are distinguished for each coroutine.
const PLACES: usize = 8;

/// The wakes of living coroutines, and the groups of ended coroutines.
#[derive(Debug, Default)]
pub struct OwnWakes {
    alive: Map<CoroutineId, RoundCounts>,
    over: Groups,
    /// The number of coroutines that woke themselves in their current run.
    pending: usize,
    /// Records that threads have lost so far.
    lost: u64,
}

/// The wakes of a coroutine.
#[derive(Debug, Default)]
struct RoundCounts {
    /// Number of the latest wake, and the records lost by then. Wakes before the window of a flight
    /// recorder are unknown.
    latest: Option<(u32, u64)>,
    /// All wakes by their numbers, without those of yields.
    wakes: u64,
    /// Own wakes before a wait, by the place of the wait.
    own: Vec<(SiteId, u64)>,
    /// Own wakes in the current run.
    pending: u64,
    /// Whether records of wakes, or of the waits after own wakes, are missing.
    has_unrecorded: bool,
    /// Whether so many records are lost between two wakes that the number may have wrapped around.
    is_unsure: bool,
}

impl LintWatch for OwnWakes {
    /// Classifies the own wakes of a run at its end.
    fn event(&mut self, trace_model: &TraceModel, event: &Event) {
        let ends = match event.kind {
            EventKind::Suspend => 0 < self.pending,
            kind => kind == EventKind::Death,
        };
        if !ends {
            return;
        }
        let Some(counts) = self.alive.get_mut(&event.coroutine) else {
            return;
        };
        let coroutine = trace_model.get(event.coroutine);
        self.pending -= usize::from(0 < counts.pending);
        counts.end_run(
            event,
            coroutine.is_some_and(|coroutine| is_next(coroutine, event)),
        );
        if event.kind == EventKind::Death
            && let Some(counts) = self.alive.remove(&event.coroutine)
        {
            put(&mut self.over, coroutine, &counts);
        }
    }

    /// Counts a wake as own if the coroutine called it in a run.
    fn thread_event(&mut self, trace_model: &TraceModel, thread_event: &ThreadEvent) {
        match &thread_event.act {
            Act::Wake(call) => self.called(trace_model, call),
            Act::Loss(records) => self.lost = self.lost.saturating_add(*records),
            _ => {}
        }
    }

    /// Finds the coroutines that called more than half of their wakes themselves.
    fn finish(mut self: Box<Self>, trace_model: &TraceModel) -> Groups {
        let mut alive: Vec<_> = self.alive.iter().collect();
        alive.sort_unstable_by_key(|(id, _)| **id);
        for (id, counts) in alive {
            put(&mut self.over, trace_model.get(*id), counts);
        }
        self.over
    }
}

impl OwnWakes {
    fn called(&mut self, trace_model: &TraceModel, call: &WakeCall) {
        let Some(coroutine) = trace_model
            .get(call.coroutine)
            .filter(|coroutine| coroutine.is_alive())
        else {
            return;
        };
        let counts = self
            .alive
            .entry(call.coroutine)
            .or_insert_with(|| RoundCounts {
                latest: trace_model.window().is_none().then_some((0, 0)),
                ..RoundCounts::default()
            });
        counts.count(call.count, self.lost);
        let runs = coroutine
            .last
            .is_some_and(|last| last.kind == EventKind::Run);
        if runs && call.by == Waker::Coroutine(call.coroutine) {
            self.pending += usize::from(counts.pending == 0);
            counts.pending += 1;
        }
    }
}

fn is_next(coroutine: &Coroutine, event: &Event) -> bool {
    coroutine
        .last
        .is_some_and(|last| last.kind == EventKind::Run && event.follows(&last))
}

fn put(groups: &mut Groups, coroutine: Option<&Coroutine>, counts: &RoundCounts) {
    let own_wakes: u64 = counts.own.iter().map(|(_, count)| count).sum();
    let most = counts.own.iter().rev().max_by_key(|(_, count)| count);
    let is_most = ENOUGH <= own_wakes && counts.wakes / 2 < own_wakes && !counts.is_unsure;
    if let (Some(coroutine), Some((site, _)), true) = (coroutine, most, is_most) {
        let figures = LintFigures {
            wakes: counts.wakes,
            own_wakes,
            ..LintFigures::default()
        };
        groups.add(coroutine, *site, figures, !counts.has_unrecorded);
    }
}

impl RoundCounts {
    /// Counts wakes up to this number. A wake that is recorded late has a lower number than an earlier
    /// record and is already counted.
    fn count(&mut self, number: u32, lost: u64) {
        let more = match self.latest {
            None => 1,
            Some((latest, before)) => {
                self.is_unsure |= u64::from(ROUND / 2) <= lost - before;
                number.wrapping_sub(latest) % ROUND
            }
        };
        if more < ROUND / 2 {
            self.wakes += u64::from(more);
            self.has_unrecorded |= 1 < more;
            self.latest = Some((number, lost));
        }
    }

    /// Own wakes count only if the run ends in a wait: a coroutine that yields wakes itself on purpose, and
    /// an ended coroutine does not wait. If events are missing, the end of the run is unknown.
    fn end_run(&mut self, event: &Event, is_whole: bool) {
        let pending = std::mem::take(&mut self.pending);
        if pending == 0 {
            return;
        }
        if !is_whole {
            self.has_unrecorded = true;
        } else if event.kind == EventKind::Death || event.wait == WaitKind::Yield {
            self.wakes = self.wakes.saturating_sub(pending);
        } else if let Some(own) = self.own.iter_mut().find(|(site, _)| *site == event.site) {
            own.1 += pending;
        } else if self.own.len() < PLACES {
            self.own.push((event.site, pending));
        } else {
            self.has_unrecorded = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ctp_trace::record::{Nanos, Record};

    const SINGLE: CoroutineId = CoroutineId(1);
    const SELF: Waker = Waker::Coroutine(SINGLE);

    #[derive(Default)]
    struct Recording {
        trace_model: TraceModel,
        wakes: Box<OwnWakes>,
        n: u64,
        count: u32,
    }

    impl Recording {
        fn event(&mut self, kind: EventKind, wait: WaitKind) {
            let event = Event {
                coroutine: SINGLE,
                n: self.n,
                at: Nanos(self.n),
                kind,
                wait,
                site: SiteId(7),
                ..Event::default()
            };
            self.n += 1;
            self.wakes.event(&self.trace_model, &event);
            self.trace_model.consume(&Record::Event(event));
        }

        fn thread_event(&mut self, act: Act) {
            let thread_event = ThreadEvent {
                act,
                ..ThreadEvent::default()
            };
            self.wakes.thread_event(&self.trace_model, &thread_event);
            self.trace_model.consume(&Record::ThreadEvent(thread_event));
        }

        fn wake(&mut self, by: Waker) {
            self.count += 1;
            let call = WakeCall {
                coroutine: SINGLE,
                count: self.count % ROUND,
                by,
                ..WakeCall::default()
            };
            self.thread_event(Act::Wake(call));
        }

        /// Runs that each end in a wait of this kind. If `own`, the coroutine wakes itself in each run.
        /// Otherwise, a thread wakes it in each wait.
        fn rounds(&mut self, times: u64, wait: WaitKind, own: bool) {
            for _ in 0..times {
                self.event(EventKind::Run, wait);
                if own {
                    self.wake(SELF);
                }
                self.event(EventKind::Suspend, wait);
                if !own {
                    self.wake(Waker::Thread(9));
                }
            }
        }

        fn finish(self) -> Vec<(u64, u64, bool)> {
            let groups = self.wakes.finish(&self.trace_model).0.into_values();
            groups
                .map(|group| (group.figures.own_wakes, group.figures.wakes, !group.inexact))
                .collect()
        }
    }

    const UNRECORDED: WaitKind = WaitKind::Unknown;

    #[test]
    fn most_of_many_wakes_must_be_own() {
        for (own, others, expected) in [
            (120, 100, vec![(120, 220, true)]),
            (100, 0, vec![(100, 100, true)]),
            (99, 0, vec![]),
            (120, 120, vec![]),
        ] {
            let mut recording = Recording::default();
            recording.rounds(own, UNRECORDED, true);
            recording.rounds(others, UNRECORDED, false);
            assert_eq!(recording.finish(), expected, "{own} and {others}");
        }
    }

    #[test]
    fn own_wakes_of_yields_do_not_count() {
        let mut recording = Recording::default();
        recording.rounds(500, WaitKind::Yield, true);
        assert_eq!(recording.finish(), []);
    }

    #[test]
    fn wakes_during_a_wait_are_not_own() {
        let mut recording = Recording::default();
        for _ in 0..500 {
            recording.event(EventKind::Run, UNRECORDED);
            recording.event(EventKind::Suspend, UNRECORDED);
            recording.wake(SELF);
        }
        assert_eq!(recording.finish(), []);
    }

    // CT-24
    #[test]
    fn lost_wakes_count_as_wakes_by_others() {
        let mut recording = Recording::default();
        recording.rounds(200, UNRECORDED, true);
        recording.count += 100;
        recording.rounds(1, UNRECORDED, true);
        assert_eq!(recording.finish(), [(201, 301, false)]);
        let mut recording = Recording::default();
        recording.rounds(200, UNRECORDED, true);
        recording.count += 300;
        recording.rounds(1, UNRECORDED, true);
        assert_eq!(recording.finish(), []);
    }

    // CT-24
    #[test]
    fn possible_wraparound_of_numbers_gives_no_lint() {
        let mut recording = Recording::default();
        recording.rounds(200, UNRECORDED, true);
        recording.thread_event(Act::Loss(u64::from(ROUND)));
        recording.count += ROUND;
        recording.rounds(1, UNRECORDED, true);
        assert_eq!(recording.finish(), []);
    }

    // CT-24
    #[test]
    fn own_wakes_before_a_lost_wait_do_not_count() {
        let mut recording = Recording::default();
        recording.rounds(150, UNRECORDED, true);
        for _ in 0..100 {
            recording.event(EventKind::Run, UNRECORDED);
            recording.wake(SELF);
            recording.n += 1;
            recording.event(EventKind::Suspend, UNRECORDED);
        }
        assert_eq!(recording.finish(), [(150, 250, false)]);
    }

    #[test]
    fn ended_coroutines_count_and_are_forgotten() {
        let mut recording = Recording::default();
        recording.rounds(150, UNRECORDED, true);
        recording.event(EventKind::Run, UNRECORDED);
        recording.wake(SELF);
        recording.event(EventKind::Death, UNRECORDED);
        recording.wake(SELF);
        assert!(recording.wakes.alive.is_empty());
        assert_eq!(recording.finish(), [(150, 150, true)]);
    }
}

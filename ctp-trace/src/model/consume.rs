//! Takes records in: which part of the model each of them concerns.

use super::TraceModel;
use super::span::Span;
use crate::record::{
    Aggregate, Birth, Control, CoroutineId, Event, EventCounts, EventKind, Nanos, ProcessEnd,
    ProcessExit, ProcessId, Record, Wake,
};

impl TraceModel {
    /// Takes one record into account, in the order of the trace. Returns what an event ended.
    pub fn consume(&mut self, record: &Record) -> Option<Span> {
        self.missing.accounts.count(record);
        match record {
            Record::Start(it) => self.extent.started_monotonic_ns = it.started_monotonic_ns,
            Record::Birth(birth) => self.birth(birth),
            Record::Event(event) => return self.event(event),
            Record::Wake(wake) => self.wake(wake),
            Record::ThreadEvent(thread_event) => self.thread_event(thread_event),
            Record::EventCounts(event_counts) => self.event_counts(event_counts),
            Record::Aggregate(it) => self.aggregate(it),
            Record::ProcessEnd(end) => self.process_end(end),
            Record::Control(control) => self.control(control),
            Record::Window(window) => self.extent.window = Some(*window),
            Record::Earlier(it) => self.coroutines.of(it.coroutine).account.earlier = it.events,
            Record::EndedSums(it) => self.ended_sums(it),
            Record::Look(look) => self.looks.note(look),
            Record::Watermark(at) => self.advance_to(*at),
            Record::End(end) => self.extent.end = Some(*end),
            _ => {}
        }
        None
    }

    /// All that happened until then is told: while a recording goes on, ages are measured to this.
    pub fn advance_to(&mut self, at: Nanos) {
        self.extent.note_complete_until(at);
    }

    /// A part of the trace could not be read here: until more is read of a coroutine, what it was
    /// last seen doing may not be the last that it did.
    pub fn damaged(&mut self) {
        self.missing.note_damage();
        self.shake();
    }

    fn shake(&mut self) {
        // A damaged trace may shake without end: all others are as the latest time left them.
        for one in self.coroutines.take_changed() {
            one.account.note_damage();
        }
    }

    /// Other events are kept from here on. Until it is told what they were, those that are kept out
    /// may be the latest of any coroutine.
    fn control(&mut self, control: &Control) {
        if control.is_in_force() {
            self.shake();
        }
        self.missing.filtering.note(control);
    }

    /// The first run of a coroutine that is known: inside of whom it runs, if all is known of its
    /// thread until then. Where a thread has no history, events of several coroutines are not in their
    /// order.
    fn enter(&mut self, run: &Event, process: ProcessId) {
        let host = self.innermost(process, run.tid).map(|(host, _)| host.id);
        let is_recorded = self.is_recorded(process, run.tid, run.at);
        let one = self.coroutines.of(run.coroutine);
        one.polls.enter(host, is_recorded);
    }

    fn event(&mut self, event: &Event) -> Option<Span> {
        self.extent.note_complete_until(event.at);
        let one = self.coroutines.of(event.coroutine);
        let is_first_run = event.kind == EventKind::Run && one.waits.ran_at.is_none();
        let (process, is_met) = (one.process, one.family.is_some());
        if !is_met {
            self.meet(event.coroutine, Some(event));
        }
        if is_first_run {
            self.enter(event, process);
        }
        let one = self.coroutines.of(event.coroutine);
        self.holds.event(one, event);
        let runners = self.runners.of(process);
        match event.kind {
            EventKind::Run => {
                let ready = one.ready_before(event);
                runners.ran(one.id, event.tid, event.at, ready);
            }
            EventKind::Suspend | EventKind::Death => runners.left(one.id, event.tid, event.at),
            EventKind::Birth => {}
        }
        if let Some(contradiction) = one.contradiction(event) {
            one.account.broken = true;
            self.breakages.note(one, contradiction);
        }
        if let Some(suspend) = one.suspend() {
            self.resources
                .usual_use
                .over(one.process, suspend, event.at);
            self.looks.over(event.coroutine, suspend, event.at);
        }
        let over = self.resources.joins.event(one, event);
        let span = one.step(event, &mut self.places, &mut self.sums.totals);
        // A filter may keep out what comes next.
        one.account.uncertain = self.missing.filtering.is_in_force();
        if let Some(span) = &span {
            self.sums.note_span(one, span, event.kind);
        }
        if event.kind == EventKind::Death {
            self.lives.ended(one, event);
        }
        if let Some((joined, closing)) = over {
            self.close(joined, closing);
        }
        span
    }

    /// Replaces what it had summed up before.
    fn aggregate(&mut self, aggregate: &Aggregate) {
        self.extent.note_complete_until(aggregate.at);
        let one = self.coroutines.of(aggregate.coroutine);
        one.account.aggregate = Some(Box::new(aggregate.clone()));
    }

    fn birth(&mut self, birth: &Birth) {
        self.extent.see(birth.at);
        self.sums.totals.coroutines = self.sums.totals.coroutines.saturating_add(1);
        let name = self.names.intern(&birth.name);
        self.coroutines.describe(birth, name);
        self.resources.joins.born(birth.process, birth.probe_id);
    }

    fn wake(&mut self, wake: &Wake) {
        self.extent.see(wake.at);
        let one = self.coroutines.of(wake.coroutine);
        one.wake(wake, &mut self.places);
    }

    /// The final account; whoever is over is forgotten.
    fn event_counts(&mut self, event_counts: &EventCounts) {
        if self.coroutines.of(event_counts.coroutine).family.is_none() {
            self.meet(event_counts.coroutine, None);
        }
        let one = self.coroutines.of(event_counts.coroutine);
        one.close(event_counts);
        self.missing.accounts.inexact |= one.account.inexact;
        self.sums.totals.filtered = self
            .sums
            .totals
            .filtered
            .saturating_add(event_counts.filtered);
        if !one.is_alive() {
            self.forget(event_counts.coroutine);
        }
    }

    fn forget(&mut self, id: CoroutineId) {
        self.looks.forget(id);
        if let Some(one) = self.coroutines.remove(id) {
            self.sums.forget(&one);
            one.distrust_sites(&mut self.places);
        }
    }

    /// Coroutines of a process that ended stand as they are. Those of an image that another one
    /// has replaced are over with it.
    fn process_end(&mut self, end: &ProcessEnd) {
        self.extent.note_complete_until(end.at);
        if end.how != ProcessExit::Exec {
            self.extent.ends.insert(end.process, *end);
            return;
        }
        let over = self.coroutines.of_process(end.process);
        over.into_iter().for_each(|id| self.forget(id));
    }
}

//! Passes each record to the parts of the model that it concerns.

use super::TraceModel;
use super::span::Span;
use crate::record::{
    Aggregate, Birth, Control, CoroutineId, End, Event, EventCounts, EventKind, Nanos, ProcessEnd,
    ProcessExit, ProcessId, Record, Wake,
};

impl TraceModel {
    /// Takes the next record of the trace. Returns the span of time that an event ended, if any.
    pub fn consume(&mut self, record: &Record) -> Option<Span> {
        self.missing.accounts.count(record);
        if !self.shutdowns.is_empty() && self.is_after_shutdown(record) {
            return None;
        }
        match record {
            Record::Start(start) => self.extent.started_monotonic_ns = start.started_monotonic_ns,
            Record::Site(site) => self.lines.note_site(site),
            Record::Chain(chain) => self.lines.note_chain(chain),
            Record::Birth(birth) => self.birth(birth),
            Record::Event(event) => return self.event(event),
            Record::Wake(wake) => self.wake(wake),
            Record::ThreadEvent(thread_event) => self.thread_event(thread_event),
            Record::EventCounts(event_counts) => self.event_counts(event_counts),
            Record::Aggregate(aggregate) => self.aggregate(aggregate),
            Record::ProcessEnd(end) => self.process_end(end),
            Record::Control(control) => self.control(control),
            Record::Window(window) => self.extent.window = Some(*window),
            Record::Earlier(earlier) => {
                self.coroutines.of(earlier.coroutine).account.earlier = earlier.events
            }
            Record::EndedSums(ended_sums) => self.ended_sums(ended_sums),
            Record::Branches(branches) => self.branches.define(branches),
            Record::Look(look) => self.looks.note(look),
            Record::Threads(threads) => self.note_threads(threads),
            Record::Sockets(sockets) => self.socket_waits.note_sockets(sockets),
            Record::Leaf(leaf) => {
                self.socket_waits.note_leaf(leaf);
                self.branches.note_leaf(leaf);
                self.lines.note_leaf(leaf);
            }
            Record::CoroutineStack(stack) => self.stacks.note(stack),
            Record::Inspection(_)
            | Record::AwaitStack(_)
            | Record::InspectedTask(_)
            | Record::InspectedThread(_)
            | Record::InspectionEnd(_) => self.inspections.consume(record),
            Record::Watermark(at) => self.advance_to(*at),
            Record::End(end) => self.note_end(end),
            _ => {}
        }
        None
    }

    /// Notes that the records are complete up to this time. In an unfinished recording, ages are measured up
    /// to this time.
    pub fn advance_to(&mut self, at: Nanos) {
        self.extent.note_complete_until(at);
        self.branches.update();
    }

    fn note_end(&mut self, end: &End) {
        self.extent.end = Some(*end);
        self.branches.finish();
    }

    /// Notes that a part of the trace could not be read here. Until another record of a coroutine is read, its last
    /// known state may be outdated.
    pub fn note_damage(&mut self) {
        self.missing.note_damage();
        self.mark_uncertain();
    }

    fn mark_uncertain(&mut self) {
        // A damaged trace may have very many such places, so only coroutines that changed since the
        // previous place are visited.
        for coroutine in self.coroutines.take_changed() {
            coroutine.account.note_damage();
        }
    }

    /// Takes a change of the filter. Until more is known, filtered events may be the latest of any
    /// coroutine.
    fn control(&mut self, control: &Control) {
        if control.is_in_force() {
            self.mark_uncertain();
        }
        self.missing.filtering.note(control);
    }

    /// Takes the first known run of a coroutine: notes inside which coroutine it happens, if everything
    /// on the thread until then is known. Without a thread's history, events of different coroutines are
    /// not in order.
    fn enter(&mut self, run: &Event, process: ProcessId) {
        let host = self.innermost(process, run.tid).map(|(host, _)| host.id);
        let is_recorded = self.is_recorded(process, run.tid, run.at);
        let coroutine = self.coroutines.of(run.coroutine);
        coroutine.polls.enter(host, is_recorded);
    }

    fn event(&mut self, event: &Event) -> Option<Span> {
        self.extent.note_complete_until(event.at);
        self.note_drops(event);
        let coroutine = self.coroutines.of(event.coroutine);
        self.branches
            .event(event, &coroutine.waits, coroutine.is_gap_before(event));
        let event = &self.branches.unify(event);
        let is_first_run = event.kind == EventKind::Run && coroutine.waits.ran_at.is_none();
        let (process, is_met) = (coroutine.process, coroutine.family.is_some());
        if !is_met {
            self.add_coroutine(event.coroutine, Some(event));
        }
        if is_first_run {
            self.enter(event, process);
        }
        let coroutine = self.coroutines.of(event.coroutine);
        self.holds.event(coroutine, event);
        let runners = self.runners.of(process);
        match event.kind {
            EventKind::Run => {
                let ready = coroutine.ready_before(event);
                runners.ran(coroutine.id, event.tid, event.at, ready);
            }
            EventKind::Suspend | EventKind::Death => {
                runners.left(coroutine.id, event.tid, event.at)
            }
            EventKind::Birth => {}
        }
        if let Some(contradiction) = coroutine.contradiction(event) {
            coroutine.account.broken = true;
            self.breakages.note(coroutine, contradiction);
        }
        if let Some(suspend) = coroutine.suspend() {
            self.resources
                .usual_use
                .over(coroutine.process, suspend, event.at);
            self.looks.over(event.coroutine, suspend, event.at);
        }
        let over = self.resources.joins.note_event(coroutine, event);
        let span = coroutine.step(event, &mut self.places, &mut self.sums.totals);
        // A filter may keep out the next event.
        coroutine.account.uncertain = self.missing.filtering.is_in_force();
        if let Some(span) = &span {
            self.sums.note_span(coroutine, span, event.kind);
        }
        if event.kind == EventKind::Death {
            self.lives.ended(coroutine, event);
        }
        if let Some((joined, closing)) = over {
            self.close(joined, closing);
        }
        span
    }

    /// Takes an aggregate, which replaces the earlier aggregate.
    fn aggregate(&mut self, aggregate: &Aggregate) {
        self.extent.note_complete_until(aggregate.at);
        let coroutine = self.coroutines.of(aggregate.coroutine);
        coroutine.account.aggregate = Some(Box::new(aggregate.clone()));
    }

    fn birth(&mut self, birth: &Birth) {
        self.extent.see(birth.at);
        self.sums.totals.coroutines = self.sums.totals.coroutines.saturating_add(1);
        let name = self.names.intern(&birth.name);
        self.coroutines.describe(birth, name);
        self.resources
            .joins
            .note_birth(birth.process, birth.probe_id);
        self.runners.of(birth.process).silence.note_driven(birth.at);
    }

    fn wake(&mut self, wake: &Wake) {
        self.extent.see(wake.at);
        let wake = self.wake_before_shutdown(wake);
        let coroutine = self.coroutines.of(wake.coroutine);
        coroutine.wake(&wake, &mut self.places);
    }

    /// Takes the final counts. A coroutine that has ended is then forgotten.
    fn event_counts(&mut self, event_counts: &EventCounts) {
        if self.coroutines.of(event_counts.coroutine).family.is_none() {
            self.add_coroutine(event_counts.coroutine, None);
        }
        let event_counts = &self.counts_before_shutdown(event_counts);
        let coroutine = self.coroutines.of(event_counts.coroutine);
        coroutine.close(event_counts);
        self.missing.accounts.has_untrusted_counts |= coroutine.account.inexact;
        self.sums.totals.filtered = self
            .sums
            .totals
            .filtered
            .saturating_add(event_counts.filtered);
        if !coroutine.is_alive() {
            self.forget(event_counts.coroutine);
        }
    }

    fn forget(&mut self, id: CoroutineId) {
        self.stacks.forget(id);
        self.looks.forget(id);
        self.callers.forget(id);
        if let Some(coroutine) = self.coroutines.remove(id) {
            self.sums.forget(&coroutine);
            coroutine.distrust_sites(&mut self.places);
        }
    }

    /// Takes the end of a process. Its coroutines keep their state. If another image replaced the
    /// process (`exec`), its coroutines are gone.
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

//! Turns a trace into tracks for other viewers. A coroutine has a track with its waits and runs, and a
//! thread has a track with the coroutines that it ran. Wakes are arrows.
//!
//! The output is Google's "Trace Event Format" as JSON, which Perfetto, `chrome://tracing` and
//! speedscope open. Slices are written as soon as they end, and not kept in memory.

mod event;

use std::collections::HashMap;

use ctp_trace::model::{Coroutine, TraceModel};
use ctp_trace::record::{
    Act, Close, CoroutineId, Event, EventKind, Nanos, ProcessId, Record, SiteId, ThreadEvent,
    WakeCall,
};
use ctp_trace::verdict::{Judgement, Verdict, wakes_since};

use crate::evidence::selection::Selection;
use crate::evidence::{self, resource};
use crate::load::Model;
use crate::names::Names;
use crate::time_scale::Scale;

pub use event::{Details, Sink, Track};

/// Turns records into trace events, in the order of the trace.
pub struct Tracks<'a> {
    model: &'a Model,
    names: &'a Names,
    scale: Scale,
    pids: HashMap<ProcessId, u32>,
    /// By coroutine: the first `wake()` call since its last run.
    calls: HashMap<CoroutineId, (ThreadEvent, WakeCall)>,
    arrows: u64,
}

impl<'a> Tracks<'a> {
    /// Creates tracks of the time of `scale`.
    pub fn new(model: &'a Model, names: &'a Names, scale: Scale) -> Self {
        let pids = model
            .processes
            .iter()
            .map(|process| (process.id, process.pid));
        Tracks {
            model,
            names,
            scale,
            pids: pids.collect(),
            calls: HashMap::new(),
            arrows: 0,
        }
    }

    /// Writes the names of the processes. Memory images and imported files have no process ids.
    pub fn begin(&self, sink: &mut Sink<'_>) {
        for process in &self.model.processes {
            let program = match process.pid {
                0 => self.model.program(),
                pid => format!("{} (pid {pid})", self.model.program()),
            };
            let threads = self.thread(process.id, 1);
            sink.process(threads, &format!("threads: {program}"));
            let coroutines = Track::of_coroutine(process.id, CoroutineId(0));
            let name = format!("coroutines: {program}");
            sink.process(coroutines, &name);
        }
    }

    /// Takes the next record, which `trace_model` has not seen yet.
    pub fn take(&mut self, trace_model: &TraceModel, record: &Record, sink: &mut Sink<'_>) {
        match record {
            Record::Event(event) => {
                if let Some(coroutine) = trace_model.get(event.coroutine) {
                    self.event(coroutine, event, sink);
                }
            }
            Record::ThreadEvent(thread_event) => self.thread_event(trace_model, thread_event, sink),
            _ => {}
        }
    }

    fn event(&mut self, coroutine: &Coroutine, event: &Event, sink: &mut Sink<'_>) {
        match &coroutine.last {
            Some(last) if last.n.checked_add(1) == Some(event.n) && !event.after_filtered => {
                self.span(coroutine, last, event, sink);
            }
            Some(last) => self.gap(coroutine, last, event, sink),
            None => {
                let name = format!("id {} {}", coroutine.id.0, self.name(coroutine));
                sink.thread(Track::of(coroutine), &name);
            }
        }
        match event.kind {
            EventKind::Run => self.arrive(coroutine, event, sink),
            EventKind::Death => drop(self.calls.remove(&coroutine.id)),
            _ => {}
        }
    }

    /// Writes what a coroutine did from an event to the next.
    fn span(&self, coroutine: &Coroutine, from: &Event, to: &Event, sink: &mut Sink<'_>) {
        if !self.shows(from.at, to.at) {
            return;
        }
        let span = (from.at, to.at);
        let track = Track::of(coroutine);
        match from.kind {
            EventKind::Birth => {
                let details = self.at(coroutine.spawn_site);
                sink.slice(track, "spawned", "queued", span, details);
            }
            EventKind::Run => self.run(coroutine, from, span, sink),
            EventKind::Suspend => {
                let name = self.place(coroutine, from.site);
                sink.slice(track, &name, "wait", span, self.wait(from));
                if to.kind == EventKind::Death {
                    sink.mark(track, "dropped", to.at, Details::new());
                }
            }
            EventKind::Death => {}
        }
    }

    /// Writes a run on the track of the coroutine, and on that of the thread.
    fn run(&self, coroutine: &Coroutine, run: &Event, span: (Nanos, Nanos), sink: &mut Sink<'_>) {
        let on = vec![("tid", run.tid.into())];
        sink.slice(Track::of(coroutine), "runs", "run", span, on);
        let which = vec![("id", coroutine.id.0.into())];
        let thread = self.thread(coroutine.process, run.tid);
        sink.slice(thread, &self.name(coroutine), "run", span, which);
    }

    fn gap(&self, coroutine: &Coroutine, last: &Event, event: &Event, sink: &mut Sink<'_>) {
        let lost = event.n.saturating_sub(last.n).saturating_sub(1);
        let what = if event.after_filtered {
            "events filtered out".to_owned()
        } else {
            format!("{lost} events missing")
        };
        if self.shows(event.at, event.at) {
            sink.mark(Track::of(coroutine), &what, event.at, Details::new());
        }
    }

    fn thread_event(
        &mut self,
        trace_model: &TraceModel,
        thread_event: &ThreadEvent,
        sink: &mut Sink<'_>,
    ) {
        let thread = self.thread(thread_event.process, thread_event.tid);
        match &thread_event.act {
            Act::Wake(call)
                if trace_model
                    .get(call.coroutine)
                    .is_some_and(|coroutine| is_new(coroutine, call)) =>
            {
                self.calls
                    .entry(call.coroutine)
                    .or_insert((*thread_event, *call));
            }
            Act::Close(close) if self.shows(thread_event.at, thread_event.at) => {
                let what = format!("closes {}", self.thing(close));
                sink.mark(thread, &what, thread_event.at, self.at(close.site));
            }
            Act::Loss(records) if self.shows(thread_event.at, thread_event.at) => {
                let what = format!("{records} records lost");
                sink.mark(thread, &what, thread_event.at, Details::new());
            }
            _ => {}
        }
    }

    /// Writes what led to a run: how long the coroutine was ready, and an arrow from the `wake()` call
    /// to the run. Arrows begin and end at slices.
    fn arrive(&mut self, coroutine: &Coroutine, run: &Event, sink: &mut Sink<'_>) {
        let Some((thread_event, call)) = self.calls.remove(&coroutine.id) else {
            return;
        };
        if run.at < thread_event.at || !self.shows(thread_event.at, run.at) {
            return;
        }
        let waited = coroutine.suspend().map_or(run.at, |wait| wait.at);
        let ready = (thread_event.at.max(waited), run.at);
        sink.slice(
            Track::of(coroutine),
            "ready",
            "queued",
            ready,
            Details::new(),
        );
        self.arrows += 1;
        let caller = self.thread(thread_event.process, thread_event.tid);
        let what = format!("wakes id {}", coroutine.id.0);
        let moment = (thread_event.at, thread_event.at);
        sink.slice(caller, &what, "wake", moment, self.at(call.site));
        let runner = self.thread(coroutine.process, run.tid);
        sink.arrow(self.arrows, (caller, thread_event.at), (runner, run.at));
    }

    /// Writes the last activity of each live coroutine, with its verdict.
    pub fn finish(&self, threshold: Nanos, selection: &Selection, sink: &mut Sink<'_>) {
        let all = evidence::members(&self.model.trace_model, threshold);
        for (coroutine, judgement) in all.filter(|(coroutine, _)| selection.has(coroutine.id)) {
            self.end(coroutine, &judgement, sink);
        }
    }

    fn end(&self, coroutine: &Coroutine, judgement: &Judgement, sink: &mut Sink<'_>) {
        let end = self.model.trace_model.end_of(coroutine.process);
        let Some(last) = coroutine.last.filter(|last| self.shows(last.at, end)) else {
            return;
        };
        let place = match last.kind {
            EventKind::Suspend => self.place(coroutine, last.site),
            EventKind::Birth => "spawned".to_owned(),
            _ => "runs".to_owned(),
        };
        let is_bad = judgement.verdict.is_stuck() || judgement.verdict == Verdict::Busy;
        let name = if is_bad || judgement.verdict == Verdict::Unknown {
            format!("{}: {place}", judgement.verdict.word())
        } else {
            place
        };
        let mut details = self.wait(&last);
        details.extend([
            ("state", judgement.fact.word().into()),
            ("verdict", judgement.verdict.word().into()),
            ("reason", judgement.reason.word().into()),
        ]);
        let track = Track::of(coroutine);
        let sort = if is_bad { "stuck" } else { "open" };
        let span = (last.at, end);
        match judgement.verdict {
            Verdict::Unknown => sink.mark(track, &name, last.at, details),
            _ => sink.slice(track, &name, sort, span, details),
        }
    }

    fn shows(&self, from: Nanos, to: Nanos) -> bool {
        from <= self.scale.to && self.scale.from <= to
    }

    fn thread(&self, process: ProcessId, tid: u64) -> Track {
        Track::of_thread(self.pids.get(&process).copied().unwrap_or_default(), tid)
    }

    fn name(&self, coroutine: &Coroutine) -> String {
        self.names.of_coroutine(self.model, coroutine)
    }

    /// The function and place of a site: `read_frame main.rs:64`.
    fn place(&self, coroutine: &Coroutine, site: SiteId) -> String {
        let name = self.model.trace_model.name(coroutine.name);
        let function = self.names.function(site, name);
        let at = self.names.short(site);
        at.map_or_else(|| function.clone(), |at| format!("{function} {at}"))
    }

    fn at(&self, site: SiteId) -> Details {
        let at = self.names.at(site);
        at.map(|at| ("at", at.into())).into_iter().collect()
    }

    fn wait(&self, event: &Event) -> Details {
        let mut details = vec![("tid", event.tid.into())];
        details.extend(self.at(event.site));
        if event.kind == EventKind::Suspend {
            details.push(("waits_for", resource::of(self.model, event).into()));
        }
        details
    }

    fn thing(&self, close: &Close) -> String {
        resource::describe(self.model, None, (close.wait, close.arg))
    }
}

/// Whether no run of the coroutine has seen this wake yet. A run may have seen a wake that is
/// recorded later, because a wake is counted first and timestamped afterwards.
fn is_new(coroutine: &Coroutine, call: &WakeCall) -> bool {
    let known = coroutine.last.map_or(0, |last| last.wake_seen);
    coroutine.is_alive() && wakes_since(call.count, known).is_some_and(|wakes| 0 < wakes)
}

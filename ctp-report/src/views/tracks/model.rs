//! Turns a trace into tracks for other viewers. A coroutine has a track with its waits and runs, and a
//! thread has a track with the coroutines that it ran. Wakes are arrows.
//!
//! Slices are written as soon as they end, and not kept in memory.

use std::collections::HashMap;
use std::rc::Rc;

use ctp_trace::hash::Map;
use ctp_trace::model::{Coroutine, TraceModel};
use ctp_trace::record::{
    Act, Close, CoroutineId, Event, EventKind, Nanos, ProcessId, Record, SiteId, ThreadEvent,
    WakeCall,
};
use ctp_trace::verdict::{Judgement, Verdict};

use crate::evidence::first_calls::FirstCalls;
use crate::evidence::selection::Selection;
use crate::evidence::{self, Member, resource};
use crate::load::Model;
use crate::names::Names;
use crate::time_scale::Scale;
use crate::views::tracks::sink::{
    Details, Mark, NamedCoroutine, Slice, SliceKind, Track, TrackSink, TracksOfProcess, WakeArrow,
};
use crate::views::tracks::texts::TrackTexts;

/// Turns records into trace events, in the order of the trace.
pub struct Tracks<'a> {
    model: &'a Model,
    texts: TrackTexts<'a>,
    scale: Scale,
    pids: Map<ProcessId, u32>,
    /// The coroutines that are alive at the end, with their verdicts.
    judged: Vec<Member<'a>>,
    /// The coroutines that are stuck or busy at the end, or were until their process dropped them to end, with
    /// the number of the event that began this state.
    bad: HashMap<CoroutineId, (Judgement, u64)>,
    calls: FirstCalls<(ThreadEvent, WakeCall)>,
    arrows: u64,
}

impl<'a> Tracks<'a> {
    /// Creates tracks of the time of `scale`. Coroutines that have not moved for at least `threshold` are
    /// judged, both at the end and, if processes dropped waiting coroutines when they ended, just before.
    pub fn new(
        (model, before_shutdown): (&'a Model, Option<&Model>),
        names: &'a Names,
        scale: Scale,
        threshold: Nanos,
    ) -> Self {
        let judged: Vec<Member> = evidence::members(&model.trace_model, threshold).collect();
        let mut bad = HashMap::new();
        for model in before_shutdown.into_iter().chain([model]) {
            bad.extend(bad_in(model, threshold));
        }
        let pids = model
            .processes
            .iter()
            .map(|process| (process.id, process.pid));
        Tracks {
            model,
            texts: TrackTexts::new(model, names),
            scale,
            pids: pids.collect(),
            judged,
            bad,
            calls: FirstCalls::default(),
            arrows: 0,
        }
    }

    /// Writes the names of the processes. Memory images and imported files have no process ids.
    pub fn begin(&self, sink: &mut dyn TrackSink) {
        for process in &self.model.processes {
            sink.process(&TracksOfProcess {
                id: process.id,
                pid: process.pid,
                program: self.model.program(),
            });
        }
    }

    /// Takes the next record, which `trace_model` has not seen yet.
    pub fn take(&mut self, trace_model: &TraceModel, record: &Record, sink: &mut dyn TrackSink) {
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

    fn event(&mut self, coroutine: &Coroutine, event: &Event, sink: &mut dyn TrackSink) {
        match &coroutine.last {
            Some(last) if event.follows(last) => {
                self.span(coroutine, last, event, sink);
            }
            Some(last) => self.gap(coroutine, last, event, sink),
            None => {
                let named = NamedCoroutine {
                    id: coroutine.id,
                    name: &self.texts.coroutine(coroutine),
                    from: event.at,
                    is_bad: self.bad.contains_key(&coroutine.id),
                };
                sink.coroutine(Track::of(coroutine), &named);
            }
        }
        match event.kind {
            EventKind::Run => self.arrive(coroutine, event, sink),
            EventKind::Death => {
                self.calls.take(coroutine.id);
                let is_shown = self.shows(coroutine.born, event.at);
                sink.end(Track::of(coroutine), event.at, is_shown);
            }
            EventKind::Suspend => self.calls.suspended(event),
            EventKind::Birth => {}
        }
    }

    /// Writes what a coroutine did from an event to the next.
    fn span(&self, coroutine: &Coroutine, from: &Event, to: &Event, sink: &mut dyn TrackSink) {
        if !self.shows(from.at, to.at) {
            return;
        }
        let span = (from.at, to.at);
        let track = Track::of(coroutine);
        match from.kind {
            EventKind::Birth => {
                let details = self.at(coroutine.spawn_site);
                sink.slice(
                    track,
                    Slice::new(SliceKind::Queued, "spawned", span, details),
                );
            }
            EventKind::Run => self.run(coroutine, from, span, sink),
            EventKind::Suspend if to.kind == EventKind::Death => {
                self.dropped(coroutine, from, span, sink);
            }
            EventKind::Suspend => {
                let name = self.texts.place(coroutine, from.site);
                let details = self.wait(from);
                sink.slice(track, Slice::new(SliceKind::Wait, &name, span, details));
            }
            EventKind::Death => {}
        }
    }

    /// Writes a wait that the end of the coroutine ended. If the coroutine was stuck until its process ended,
    /// the slice says so.
    fn dropped(
        &self,
        coroutine: &Coroutine,
        wait: &Event,
        span: (Nanos, Nanos),
        sink: &mut dyn TrackSink,
    ) {
        let track = Track::of(coroutine);
        let place = self.texts.place(coroutine, wait.site);
        let mut details = self.wait(wait);
        let judged = self.bad.get(&coroutine.id);
        let judged = judged.filter(|(judgement, n)| judgement.verdict.is_stuck() && *n == wait.n);
        if let Some((judgement, _)) = judged {
            details.extend(verdict(judgement));
            let name = format!("{}: {place}", judgement.verdict.word());
            sink.slice(
                track,
                Slice {
                    is_wait: true,
                    verdict: Some(judgement.verdict),
                    ..Slice::new(SliceKind::Stuck, &name, span, details)
                },
            );
        } else {
            sink.slice(track, Slice::new(SliceKind::Wait, &place, span, details));
        }
        sink.mark(track, Mark::new("dropped", span.1));
    }

    /// Writes a run on the track of the coroutine, and on that of the thread.
    fn run(
        &self,
        coroutine: &Coroutine,
        run: &Event,
        span: (Nanos, Nanos),
        sink: &mut dyn TrackSink,
    ) {
        let on = vec![("tid", run.tid.into())];
        sink.slice(
            Track::of(coroutine),
            Slice::new(SliceKind::Run, "runs", span, on),
        );
        let which = vec![("id", coroutine.id.0.into())];
        let thread = self.thread(coroutine.process, run.tid);
        let name = self.texts.coroutine(coroutine);
        sink.slice(thread, Slice::new(SliceKind::Run, &name, span, which));
    }

    fn gap(&self, coroutine: &Coroutine, last: &Event, event: &Event, sink: &mut dyn TrackSink) {
        let lost = event.n.saturating_sub(last.n).saturating_sub(1);
        let what = if event.after_filtered {
            "events filtered out".to_owned()
        } else {
            format!("{lost} events missing")
        };
        if self.shows(event.at, event.at) {
            sink.mark(Track::of(coroutine), Mark::new(&what, event.at));
        }
    }

    fn thread_event(
        &mut self,
        trace_model: &TraceModel,
        thread_event: &ThreadEvent,
        sink: &mut dyn TrackSink,
    ) {
        let thread = self.thread(thread_event.process, thread_event.tid);
        match &thread_event.act {
            Act::Wake(call) => {
                if let Some(coroutine) = trace_model.get(call.coroutine) {
                    self.calls.note(coroutine, call, || (*thread_event, *call));
                }
            }
            Act::Close(close) if self.shows(thread_event.at, thread_event.at) => {
                let what = format!("closes {}", self.thing(close));
                let details = self.at(close.site);
                sink.mark(
                    thread,
                    Mark {
                        details,
                        ..Mark::new(&what, thread_event.at)
                    },
                );
            }
            Act::Loss(records) if self.shows(thread_event.at, thread_event.at) => {
                let what = format!("{records} records lost");
                sink.mark(thread, Mark::new(&what, thread_event.at));
            }
            _ => {}
        }
    }

    /// Writes what led to a run: how long the coroutine was ready, and an arrow from the `wake()` call
    /// to the run. Arrows begin and end at slices.
    fn arrive(&mut self, coroutine: &Coroutine, run: &Event, sink: &mut dyn TrackSink) {
        let Some((thread_event, call)) = self.calls.take(coroutine.id) else {
            return;
        };
        if run.at < thread_event.at || !self.shows(thread_event.at, run.at) {
            return;
        }
        let waited = coroutine.suspend().map_or(run.at, |wait| wait.at);
        let ready = (thread_event.at.max(waited), run.at);
        let woken = Track::of(coroutine);
        sink.slice(
            woken,
            Slice::new(SliceKind::Queued, "ready", ready, Details::new()),
        );
        self.arrows += 1;
        let what = format!("wakes id {}", coroutine.id.0);
        sink.wake(WakeArrow {
            number: self.arrows,
            call: Mark {
                name: &what,
                at: thread_event.at,
                details: self.at(call.site),
            },
            caller: self.thread(thread_event.process, thread_event.tid),
            by: call.by,
            woken,
            runner: self.thread(coroutine.process, run.tid),
            run_at: run.at,
        });
    }

    /// Writes the last activity of each selected coroutine that is alive, with its verdict.
    pub fn finish(&self, selection: &Selection, sink: &mut dyn TrackSink) {
        let all = self.judged.iter();
        for (coroutine, judgement) in all.filter(|(coroutine, _)| selection.has(coroutine.id)) {
            self.end(coroutine, judgement, sink);
            let end = self.model.trace_model.end_of(coroutine.process);
            let is_shown = self.shows(coroutine.born, end);
            sink.end(Track::of(coroutine), end, is_shown);
        }
    }

    fn end(&self, coroutine: &Coroutine, judgement: &Judgement, sink: &mut dyn TrackSink) {
        let end = self.model.trace_model.end_of(coroutine.process);
        let Some(last) = coroutine.last.filter(|last| self.shows(last.at, end)) else {
            return;
        };
        let place = match last.kind {
            EventKind::Suspend => self.texts.place(coroutine, last.site),
            EventKind::Birth => Rc::from("spawned"),
            _ => Rc::from("runs"),
        };
        let is_bad = is_bad(judgement);
        let name = if is_bad || judgement.verdict == Verdict::Unknown {
            format!("{}: {place}", judgement.verdict.word()).into()
        } else {
            place
        };
        let mut details = self.wait(&last);
        details.extend(verdict(judgement));
        let track = Track::of(coroutine);
        let kind = if is_bad {
            SliceKind::Stuck
        } else {
            SliceKind::Open
        };
        match judgement.verdict {
            Verdict::Unknown => sink.mark(
                track,
                Mark {
                    details,
                    ..Mark::new(&name, last.at)
                },
            ),
            verdict => sink.slice(
                track,
                Slice {
                    is_wait: last.kind == EventKind::Suspend,
                    verdict: Some(verdict),
                    ..Slice::new(kind, &name, (last.at, end), details)
                },
            ),
        }
    }

    fn shows(&self, from: Nanos, to: Nanos) -> bool {
        from <= self.scale.to && self.scale.from <= to
    }

    fn thread(&self, process: ProcessId, tid: u64) -> Track {
        let pid = self.pids.get(&process).copied().unwrap_or_default();
        Track::Thread { process, pid, tid }
    }

    fn at(&self, site: SiteId) -> Details {
        let at = self.texts.line(site);
        at.map(|at| ("at", (*at).into())).into_iter().collect()
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

/// The fields of a verdict.
fn verdict(judgement: &Judgement) -> Details {
    vec![
        ("state", judgement.fact.word().into()),
        ("verdict", judgement.verdict.word().into()),
        ("reason", judgement.reason.word().into()),
    ]
}

/// The coroutines of a model that need attention.
fn bad_in(
    model: &Model,
    threshold: Nanos,
) -> impl Iterator<Item = (CoroutineId, (Judgement, u64))> {
    let all = evidence::members(&model.trace_model, threshold);
    let bad = all.filter(|(_, judgement)| is_bad(judgement));
    bad.map(|(coroutine, judgement)| {
        let n = coroutine.last.map_or(0, |last| last.n);
        (coroutine.id, (judgement, n))
    })
}

/// Whether a coroutine with this verdict needs attention: it is stuck, or blocks its thread.
fn is_bad(judgement: &Judgement) -> bool {
    judgement.verdict.is_stuck() || judgement.verdict == Verdict::Busy
}

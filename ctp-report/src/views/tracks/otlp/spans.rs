//! Turns the slices of coroutines into spans.

use std::collections::BTreeMap;
use std::io;

use ctp_trace::record::{CoroutineId, Nanos, ProcessId, Waker};
use ctp_trace::verdict::Verdict;

use crate::load::Model;
use crate::views::tracks::otlp::ids::{SpanId, TraceId};
use crate::views::tracks::otlp::messages::{
    Attributes, Event, INTERNAL, Link, Span, Status, UnixNanos,
};
use crate::views::tracks::otlp::span_writer::SpanWriter;
use crate::views::tracks::sink::{
    Details, Mark, NamedCoroutine, Slice, Track, TrackSink, TracksOfProcess, WakeArrow,
};

/// How many marks a span has. Further marks are counted.
const MAX_EVENTS: usize = 64;

/// Writes spans as they end. Keeps what is needed of coroutines that are alive.
pub struct Sink<'a> {
    model: &'a Model,
    writer: SpanWriter<'a>,
    alive: BTreeMap<(ProcessId, CoroutineId), Lifetime>,
}

/// A coroutine that has not ended.
#[derive(Debug)]
struct Lifetime {
    name: String,
    from: Nanos,
    waits: u64,
    /// The latest wait. The wake that ended it is not known yet.
    latest: Option<Wait>,
    events: Vec<Event>,
    dropped_events: u64,
    stuck: Option<String>,
}

/// A wait.
#[derive(Debug)]
struct Wait {
    number: u64,
    name: String,
    from: Nanos,
    to: Nanos,
    details: Details,
    is_stuck: bool,
    /// The wake that ended the wait.
    link: Option<Link>,
}

impl<'a> Sink<'a> {
    /// Creates a sink. No span is written yet.
    pub fn new(model: &'a Model, writer: SpanWriter<'a>) -> Self {
        Sink {
            model,
            writer,
            alive: BTreeMap::new(),
        }
    }

    /// The wall clock at a time of the recording.
    fn unix_nanos(&self, at: Nanos) -> UnixNanos {
        UnixNanos(self.model.start.started_unix_ns.saturating_add(at.0))
    }

    /// Ends the spans of coroutines that ended with the image of their process. Returns the number of spans, or the first error.
    pub fn finish(mut self) -> io::Result<u64> {
        while let Some(((process, id), lifetime)) = self.alive.pop_first() {
            let end = self.model.trace_model.end_of(process);
            self.close((process, id), lifetime, end);
        }
        self.writer.finish()
    }

    fn lifetime(&mut self, track: Track) -> Option<(CoroutineId, &mut Lifetime)> {
        let Track::Coroutine(process, id) = track else {
            return None;
        };
        Some((id, self.alive.get_mut(&(process, id))?))
    }

    /// Writes the latest wait and the span of the coroutine.
    fn close(
        &mut self,
        (process, id): (ProcessId, CoroutineId),
        mut lifetime: Lifetime,
        end: Nanos,
    ) {
        if let Some(wait) = lifetime.latest.take() {
            self.add_wait(id, &wait);
        }
        let attributes = [
            ("coroutine.id", id.0.into()),
            ("process.number", process.0.into()),
        ];
        self.writer.add(&Span {
            attributes: Attributes(&attributes),
            dropped_events_count: Some(lifetime.dropped_events),
            end_time_unix_nano: self.unix_nanos(end.max(lifetime.from)),
            events: Some(&lifetime.events),
            kind: INTERNAL,
            links: None,
            name: &lifetime.name,
            parent_span_id: None,
            span_id: SpanId::of_root(id),
            start_time_unix_nano: self.unix_nanos(lifetime.from),
            status: lifetime.stuck.as_deref().map(Status::error),
            trace_id: self.trace(id),
        });
    }

    /// Writes the span of a wait.
    fn add_wait(&mut self, id: CoroutineId, wait: &Wait) {
        self.writer.add(&Span {
            attributes: Attributes(&wait.details),
            dropped_events_count: None,
            end_time_unix_nano: self.unix_nanos(wait.to.max(wait.from)),
            events: None,
            kind: INTERNAL,
            links: wait.link.as_ref().map(|link| [link]),
            name: &wait.name,
            parent_span_id: Some(SpanId::of_root(id)),
            span_id: SpanId::of_wait(wait.number),
            start_time_unix_nano: self.unix_nanos(wait.from),
            status: wait.is_stuck.then(|| Status::error(&wait.name)),
            trace_id: self.trace(id),
        });
    }

    fn trace(&self, id: CoroutineId) -> TraceId {
        TraceId::of(&self.model.start.trace_id, id)
    }
}

impl TrackSink for Sink<'_> {
    fn process(&mut self, _process: &TracksOfProcess) {}

    fn coroutine(&mut self, track: Track, coroutine: &NamedCoroutine<'_>) {
        let Track::Coroutine(process, id) = track else {
            return;
        };
        let lifetime = Lifetime {
            name: coroutine.name.to_owned(),
            from: coroutine.from,
            waits: 0,
            latest: None,
            events: Vec::new(),
            dropped_events: 0,
            stuck: None,
        };
        self.alive.insert((process, id), lifetime);
    }

    /// Writes the wait before this one, and keeps this one. All other slices are part of the root span.
    fn slice(&mut self, track: Track, slice: Slice<'_>) {
        let Some((id, lifetime)) = self.lifetime(track) else {
            return;
        };
        let is_stuck = slice.verdict.is_some_and(Verdict::is_stuck);
        if is_stuck {
            lifetime.stuck = Some(slice.name.to_owned());
        }
        if !slice.is_wait {
            return;
        }
        lifetime.waits += 1;
        let wait = Wait {
            number: lifetime.waits,
            name: slice.name.to_owned(),
            from: slice.from,
            to: slice.to,
            details: slice.details,
            is_stuck,
            link: None,
        };
        if let Some(earlier) = lifetime.latest.replace(wait) {
            self.add_wait(id, &earlier);
        }
    }

    fn mark(&mut self, track: Track, mark: Mark<'_>) {
        let time_unix_nano = self.unix_nanos(mark.at);
        if let Some((_, lifetime)) = self.lifetime(track) {
            if lifetime.events.len() < MAX_EVENTS {
                lifetime.events.push(Event {
                    name: mark.name.to_owned(),
                    time_unix_nano,
                });
            } else {
                lifetime.dropped_events += 1;
            }
        }
    }

    /// Adds the span of the coroutine that called `wake()` to the wait that ended. Nothing is added if a
    /// thread made the call.
    fn wake(&mut self, wake: WakeArrow<'_>) {
        let Waker::Coroutine(caller) = wake.by else {
            return;
        };
        let trace_id = self.trace(caller);
        let latest = self.lifetime(wake.woken);
        let latest = latest.and_then(|(_, lifetime)| lifetime.latest.as_mut());
        // The wait that ended with this run may not be in the trace.
        if let Some(wait) = latest.filter(|wait| wait.to == wake.run_at) {
            wait.link = Some(Link {
                attributes: wake.call.details,
                span_id: SpanId::of_root(caller),
                trace_id,
            });
        }
    }

    fn end(&mut self, track: Track, at: Nanos, is_shown: bool) {
        let Track::Coroutine(process, id) = track else {
            return;
        };
        if let Some(lifetime) = self.alive.remove(&(process, id))
            && is_shown
        {
            self.close((process, id), lifetime, at);
        }
    }
}

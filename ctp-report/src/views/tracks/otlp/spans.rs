//! Turns the slices of coroutines into spans.

use std::collections::BTreeMap;
use std::io;

use ctp_trace::record::{CoroutineId, Nanos, ProcessId, Waker};
use ctp_trace::verdict::Verdict;
use serde_json::{Value, json};

use crate::load::Model;
use crate::views::tracks::otlp::ids;
use crate::views::tracks::otlp::lines::{Lines, attribute};
use crate::views::tracks::sink::{
    Details, Mark, NamedCoroutine, Slice, Track, TrackSink, TracksOfProcess, WakeArrow,
};

/// The value of `kind` for work inside a program.
const INTERNAL: u64 = 1;
/// The value of `status.code` for an error.
const ERROR: u64 = 2;

/// How many marks a span has. Further marks are counted.
const MAX_EVENTS: usize = 64;

/// Writes spans as they end. Keeps what is needed of coroutines that are alive.
pub struct Sink<'a> {
    model: &'a Model,
    lines: Lines<'a>,
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
    events: Vec<Value>,
    dropped_events: u64,
    stuck: Option<String>,
}

/// A wait and its end.
#[derive(Debug)]
struct Wait {
    end: Nanos,
    span: Value,
}

impl<'a> Sink<'a> {
    /// Creates a sink. No span is written yet.
    pub fn new(model: &'a Model, lines: Lines<'a>) -> Self {
        Sink {
            model,
            lines,
            alive: BTreeMap::new(),
        }
    }

    /// Ends the spans of coroutines that ended with the image of their process. Returns the number of spans, or the first error.
    pub fn finish(mut self) -> io::Result<u64> {
        while let Some(((process, id), lifetime)) = self.alive.pop_first() {
            let end = self.model.trace_model.end_of(process);
            self.close((process, id), lifetime, end);
        }
        self.lines.finish()
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
            self.lines.add(wait.span);
        }
        let attributes = [
            attribute("coroutine.id", &id.0.into()),
            attribute("process.number", &process.0.into()),
        ];
        let mut span = json!({
            "traceId": ids::of_trace(&self.model.start.trace_id, id),
            "spanId": ids::of_root(id),
            "name": lifetime.name,
            "kind": INTERNAL,
            "startTimeUnixNano": self.lines.unix_nanos(lifetime.from),
            "endTimeUnixNano": self.lines.unix_nanos(end.max(lifetime.from)),
            "attributes": attributes,
            "events": lifetime.events,
            "droppedEventsCount": lifetime.dropped_events,
        });
        if let Some(why) = lifetime.stuck {
            span["status"] = error(&why);
        }
        self.lines.add(span);
    }

    fn wait(&self, id: CoroutineId, number: u64, slice: &Slice<'_>) -> Value {
        let attributes = slice.details.iter();
        let attributes: Vec<Value> = attributes
            .map(|(name, value)| attribute(attribute_name(name), value))
            .collect();
        let mut span = json!({
            "traceId": ids::of_trace(&self.model.start.trace_id, id),
            "spanId": ids::of_wait(number),
            "parentSpanId": ids::of_root(id),
            "name": slice.name,
            "kind": INTERNAL,
            "startTimeUnixNano": self.lines.unix_nanos(slice.from),
            "endTimeUnixNano": self.lines.unix_nanos(slice.to.max(slice.from)),
            "attributes": attributes,
        });
        if slice.verdict.is_some_and(Verdict::is_stuck) {
            span["status"] = error(slice.name);
        }
        span
    }

    /// The span of the coroutine that called `wake()`, or nothing if a thread did so.
    fn link(&self, wake: &WakeArrow<'_>) -> Option<Value> {
        let Waker::Coroutine(id) = wake.by else {
            return None;
        };
        Some(json!({
            "traceId": ids::of_trace(&self.model.start.trace_id, id),
            "spanId": ids::of_root(id),
            "attributes": attributes(&wake.call.details),
        }))
    }
}

fn attributes(details: &Details) -> Vec<Value> {
    let details = details.iter();
    details
        .map(|(name, value)| attribute(attribute_name(name), value))
        .collect()
}

/// The name of a field as an attribute. OpenTelemetry's conventions have names for some.
fn attribute_name(name: &str) -> &str {
    match name {
        "tid" => "thread.id",
        "at" => "code.location",
        "waits_for" => "wait.resource",
        name => name,
    }
}

fn error(why: &str) -> Value {
    json!({ "code": ERROR, "message": why })
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
        let is_wait = slice.is_wait;
        let Some((id, lifetime)) = self.lifetime(track) else {
            return;
        };
        if slice.verdict.is_some_and(Verdict::is_stuck) {
            lifetime.stuck = Some(slice.name.to_owned());
        }
        if !is_wait {
            return;
        }
        lifetime.waits += 1;
        let (number, earlier) = (lifetime.waits, lifetime.latest.take());
        if let Some(earlier) = earlier {
            self.lines.add(earlier.span);
        }
        let (end, span) = (slice.to, self.wait(id, number, &slice));
        if let Some((_, lifetime)) = self.lifetime(track) {
            lifetime.latest = Some(Wait { end, span });
        }
    }

    fn mark(&mut self, track: Track, mark: Mark<'_>) {
        let at = self.lines.unix_nanos(mark.at);
        let event = json!({ "timeUnixNano": at, "name": mark.name });
        if let Some((_, lifetime)) = self.lifetime(track) {
            if lifetime.events.len() < MAX_EVENTS {
                lifetime.events.push(event);
            } else {
                lifetime.dropped_events += 1;
            }
        }
    }

    fn wake(&mut self, wake: WakeArrow<'_>) {
        let link = self.link(&wake);
        let latest = self.lifetime(wake.woken);
        let latest = latest.and_then(|(_, lifetime)| lifetime.latest.as_mut());
        // The wait that ended with this run may not be in the trace.
        let ended = latest.filter(|wait| wait.end == wake.run_at);
        if let (Some(link), Some(wait)) = (link, ended) {
            wait.span["links"] = json!([link]);
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

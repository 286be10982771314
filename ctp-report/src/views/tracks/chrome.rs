//! Google's "Trace Event Format": JSON, one trace event per line, which Perfetto, `chrome://tracing` and
//! speedscope open.

use std::io::{self, Write};

use anyhow::Result;
use ctp_trace::record::{CoroutineId, Nanos};
use serde::{Serialize, Serializer};

use crate::views::tracks::sink::{
    Details, Mark, NamedCoroutine, Slice, Track, TrackSink, TracksOfProcess, WakeArrow,
};

/// Writes the document. Returns the number of trace events. The inner error is that of reading the
/// trace.
pub fn document(
    out: &mut dyn Write,
    emit: impl FnOnce(&mut dyn TrackSink) -> Result<()>,
) -> io::Result<Result<u64>> {
    write!(out, "{{\"displayTimeUnit\":\"ns\",\"traceEvents\":[")?;
    let mut sink = Sink::new(out);
    if let Err(unread) = emit(&mut sink) {
        return Ok(Err(unread));
    }
    let events = sink.finish()?;
    writeln!(out, "\n]}}")?;
    Ok(Ok(events))
}

/// The first process id for the tracks of coroutines. A track is identified by a process id and a
/// thread id, so coroutines appear as threads of an artificial process. Kernels do not use ids this
/// large.
const COROUTINE_PIDS: u32 = 10_000_000;

/// The ids by which viewers know a track. Replaces id 0, which boards use, because viewers take 0 for the
/// kernel's idle thread.
fn ids(track: Track) -> (u32, u64) {
    match track {
        Track::Coroutine(process, id) => (COROUTINE_PIDS.saturating_add(process.0), id.0.into()),
        Track::Thread { pid, tid, .. } => (pid.max(1), tid.max(1)),
    }
}

/// A trace event: an object of the list.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct TraceEvent {
    /// The phase: `X` a slice, `i` a mark, `s` and `f` the two ends of an arrow, `M` a name.
    ph: &'static str,
    pid: u32,
    tid: u64,
    /// The time in microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    ts: Option<f64>,
    /// The duration in microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    dur: Option<f64>,
    name: String,
    #[serde(skip_serializing_if = "str::is_empty")]
    cat: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<u64>,
    /// The binding point. `e`: an arrow ends at the enclosing slice, not at the next slice.
    #[serde(skip_serializing_if = "Option::is_none")]
    bp: Option<&'static str>,
    /// The scope of a mark. `t`: only the track.
    #[serde(skip_serializing_if = "Option::is_none")]
    s: Option<&'static str>,
    #[serde(serialize_with = "object")]
    args: Details,
}

fn object<S: Serializer>(details: &Details, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(details.iter().map(|(name, value)| (name, value)))
}

impl TraceEvent {
    fn new(ph: &'static str, track: Track, name: &str) -> Self {
        let (pid, tid) = ids(track);
        TraceEvent {
            ph,
            pid,
            tid,
            ts: None,
            dur: None,
            name: name.to_owned(),
            cat: "",
            id: None,
            bp: None,
            s: None,
            args: Details::new(),
        }
    }

    /// The start of an arrow.
    fn arrow(track: Track, number: u64, at: Nanos) -> Self {
        TraceEvent {
            ts: Some(micros(at)),
            cat: "wake",
            id: Some(number),
            ..TraceEvent::new("s", track, "wake")
        }
    }

    fn name(what: &str, track: Track, name: &str) -> Self {
        TraceEvent {
            args: vec![("name", name.into())],
            ..TraceEvent::new("M", track, what)
        }
    }
}

/// Writes trace events as JSON, one per line.
struct Sink<'o> {
    out: &'o mut dyn Write,
    events: u64,
    /// The first error. Nothing is written afterwards.
    failed: Option<io::Error>,
}

impl<'o> Sink<'o> {
    fn new(out: &'o mut dyn Write) -> Self {
        Sink {
            out,
            events: 0,
            failed: None,
        }
    }

    /// Returns the number of written events, or the first error.
    fn finish(self) -> io::Result<u64> {
        self.failed.map_or(Ok(self.events), Err)
    }

    fn put(&mut self, event: &TraceEvent) {
        if self.failed.is_none() {
            self.failed = self.line(event).err();
        }
    }

    fn line(&mut self, event: &TraceEvent) -> io::Result<()> {
        let before: &[u8] = if self.events == 0 { b"\n" } else { b",\n" };
        self.out.write_all(before)?;
        serde_json::to_writer(&mut *self.out, event)?;
        self.events += 1;
        Ok(())
    }

    fn span(
        &mut self,
        track: Track,
        (name, cat): (&str, &'static str),
        (from, to): (Nanos, Nanos),
        args: Details,
    ) {
        self.put(&TraceEvent {
            ts: Some(micros(from)),
            dur: Some(micros(from.until(to))),
            cat,
            args,
            ..TraceEvent::new("X", track, name)
        });
    }

    fn arrow(&mut self, number: u64, from: (Track, Nanos), to: (Track, Nanos)) {
        self.put(&TraceEvent::arrow(from.0, number, from.1));
        self.put(&TraceEvent {
            bp: Some("e"),
            ph: "f",
            ..TraceEvent::arrow(to.0, number, to.1)
        });
    }
}

impl TrackSink for Sink<'_> {
    fn process(&mut self, process: &TracksOfProcess) {
        let threads = Track::Thread {
            process: process.id,
            pid: process.pid,
            tid: 1,
        };
        let coroutines = Track::Coroutine(process.id, CoroutineId(0));
        for (track, what) in [(threads, "threads"), (coroutines, "coroutines")] {
            let of = match process.pid {
                0 => String::new(),
                pid => format!(" (pid {pid})"),
            };
            let name = format!("{what}: {}{of}", process.program);
            self.put(&TraceEvent::name("process_name", track, &name));
        }
    }

    fn coroutine(&mut self, track: Track, coroutine: &NamedCoroutine<'_>) {
        let title = coroutine.title();
        self.put(&TraceEvent::name("thread_name", track, &title));
    }

    fn slice(&mut self, track: Track, slice: Slice<'_>) {
        let named = (slice.name, slice.kind.word());
        self.span(track, named, (slice.from, slice.to), slice.details);
    }

    fn mark(&mut self, track: Track, mark: Mark<'_>) {
        self.put(&TraceEvent {
            ts: Some(micros(mark.at)),
            s: Some("t"),
            args: mark.details,
            ..TraceEvent::new("i", track, mark.name)
        });
    }

    /// Arrows begin and end at slices, so the call is a slice without a length.
    fn wake(&mut self, wake: WakeArrow<'_>) {
        let call = wake.call;
        let moment = (call.at, call.at);
        self.span(wake.caller, (call.name, "wake"), moment, call.details);
        let to = (wake.runner, wake.run_at);
        self.arrow(wake.number, (wake.caller, call.at), to);
    }
}

/// Converts to microseconds, exact to the nanosecond for 104 days.
fn micros(time: Nanos) -> f64 {
    time.0 as f64 / 1e3
}

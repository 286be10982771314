//! Trace events in the form of the file.

use std::io::{self, Write};

use ctp_trace::model::Coroutine;
use ctp_trace::record::{CoroutineId, Nanos, ProcessId};
use serde::{Serialize, Serializer};
use serde_json::Value;

/// The first process id for the tracks of coroutines. A track is identified by a process id and a
/// thread id, so coroutines appear as threads of an artificial process. Kernels do not use ids this
/// large.
const COROUTINE_PIDS: u32 = 10_000_000;

/// The row of a viewer in which trace events appear.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Track {
    pid: u32,
    tid: u64,
}

impl Track {
    /// The track of a coroutine.
    pub fn of(coroutine: &Coroutine) -> Self {
        Track::of_coroutine(coroutine.process, coroutine.id)
    }

    /// The track of the coroutine with this id.
    pub fn of_coroutine(process: ProcessId, id: CoroutineId) -> Self {
        Track {
            pid: COROUTINE_PIDS.saturating_add(process.0),
            tid: id.0.into(),
        }
    }

    /// The track of a thread. Replaces id 0, which boards use, because viewers take 0 for the kernel's
    /// idle thread.
    pub fn of_thread(pid: u32, tid: u64) -> Self {
        Track {
            pid: pid.max(1),
            tid: tid.max(1),
        }
    }
}

/// A trace event: an object of the list.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TraceEvent {
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

/// The fields that a viewer shows of a selected trace event, in order.
pub type Details = Vec<(&'static str, Value)>;

fn object<S: Serializer>(details: &Details, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(details.iter().map(|(name, value)| (name, value)))
}

impl TraceEvent {
    fn new(ph: &'static str, track: Track, name: &str) -> Self {
        TraceEvent {
            ph,
            pid: track.pid,
            tid: track.tid,
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
pub struct Sink<'o> {
    out: &'o mut dyn Write,
    events: u64,
    /// The first error. Nothing is written afterwards.
    failed: Option<io::Error>,
}

impl<'o> Sink<'o> {
    /// Creates a sink. No event is written yet.
    pub fn new(out: &'o mut dyn Write) -> Self {
        Sink {
            out,
            events: 0,
            failed: None,
        }
    }

    /// Returns the number of written events, or the first error.
    pub fn finish(self) -> io::Result<u64> {
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

    /// Writes a span of time.
    pub fn slice(
        &mut self,
        track: Track,
        name: &str,
        sort: &'static str,
        (from, to): (Nanos, Nanos),
        args: Details,
    ) {
        self.put(&TraceEvent {
            ts: Some(micros(from)),
            dur: Some(micros(from.until(to))),
            cat: sort,
            args,
            ..TraceEvent::new("X", track, name)
        });
    }

    /// Writes a moment.
    pub fn mark(&mut self, track: Track, name: &str, at: Nanos, args: Details) {
        self.put(&TraceEvent {
            ts: Some(micros(at)),
            s: Some("t"),
            args,
            ..TraceEvent::new("i", track, name)
        });
    }

    /// Writes an arrow from a moment on a track to a moment on another track.
    pub fn arrow(&mut self, number: u64, from: (Track, Nanos), to: (Track, Nanos)) {
        self.put(&TraceEvent::arrow(from.0, number, from.1));
        self.put(&TraceEvent {
            bp: Some("e"),
            ph: "f",
            ..TraceEvent::arrow(to.0, number, to.1)
        });
    }

    /// Writes the name of a process, which is a group of tracks.
    pub fn process(&mut self, track: Track, name: &str) {
        self.put(&TraceEvent::name("process_name", track, name));
    }

    /// Writes the name of a track.
    pub fn thread(&mut self, track: Track, name: &str) {
        self.put(&TraceEvent::name("thread_name", track, name));
    }
}

/// Converts to microseconds, exact to the nanosecond for 104 days.
fn micros(time: Nanos) -> f64 {
    time.0 as f64 / 1e3
}

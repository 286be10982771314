//! One trace event, as it stands in the file.

use std::io::{self, Write};

use ctp_trace::record::{CoroutineId, Nanos, ProcessId};
use ctp_trace::trace_model::Coroutine;
use serde::{Serialize, Serializer};
use serde_json::Value;

/// Tracks are told apart by the ids of a process and of a thread, so coroutines are threads of a
/// process that is none: no kernel gives such ids.
const NO_PIDS: u32 = 10_000_000;

/// Where something is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Track {
    pid: u32,
    tid: u64,
}

impl Track {
    /// That of a coroutine.
    pub fn of(coroutine: &Coroutine) -> Self {
        Track::of_coroutine(coroutine.process, coroutine.id)
    }

    /// That of the one of this number.
    pub fn of_coroutine(process: ProcessId, id: CoroutineId) -> Self {
        Track {
            pid: NO_PIDS.saturating_add(process.0),
            tid: id.0.into(),
        }
    }

    /// That of a thread. Viewers take 0 for the kernel's idle thread; a board has such ones.
    pub fn of_thread(pid: u32, tid: u64) -> Self {
        Track {
            pid: pid.max(1),
            tid: tid.max(1),
        }
    }
}

/// One object of the list.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TraceEvent {
    /// Its sort: `X` a slice, `i` a mark, `s` and `f` the two ends of an arrow, `M` a name.
    ph: &'static str,
    pid: u32,
    tid: u64,
    /// Microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    ts: Option<f64>,
    /// The same.
    #[serde(skip_serializing_if = "Option::is_none")]
    dur: Option<f64>,
    name: String,
    #[serde(skip_serializing_if = "str::is_empty")]
    cat: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<u64>,
    /// That an arrow ends at the slice that is there, not at the next one.
    #[serde(skip_serializing_if = "Option::is_none")]
    bp: Option<&'static str>,
    /// That a mark is one of its track alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    s: Option<&'static str>,
    #[serde(serialize_with = "object")]
    args: Details,
}

/// What a viewer shows of something that is selected: names of fields with what they hold, in order.
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

    /// Where an arrow begins.
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

/// Writes trace events as JSON, in their order, each on a line.
pub struct Sink<'o> {
    out: &'o mut dyn Write,
    events: u64,
    /// The first failure; nothing is written after it.
    failed: Option<io::Error>,
}

impl<'o> Sink<'o> {
    /// The beginning of a list.
    pub fn new(out: &'o mut dyn Write) -> Self {
        Sink {
            out,
            events: 0,
            failed: None,
        }
    }

    /// How many events were written, if all could be.
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

    /// A stretch of time.
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

    /// A moment.
    pub fn mark(&mut self, track: Track, name: &str, at: Nanos, args: Details) {
        self.put(&TraceEvent {
            ts: Some(micros(at)),
            s: Some("t"),
            args,
            ..TraceEvent::new("i", track, name)
        });
    }

    /// An arrow of this number, from a moment on one track to one on another.
    pub fn arrow(&mut self, number: u64, from: (Track, Nanos), to: (Track, Nanos)) {
        self.put(&TraceEvent::arrow(from.0, number, from.1));
        self.put(&TraceEvent {
            bp: Some("e"),
            ph: "f",
            ..TraceEvent::arrow(to.0, number, to.1)
        });
    }

    /// What a group of tracks is called.
    pub fn process(&mut self, track: Track, name: &str) {
        self.put(&TraceEvent::name("process_name", track, name));
    }

    /// What a track is called.
    pub fn thread(&mut self, track: Track, name: &str) {
        self.put(&TraceEvent::name("thread_name", track, name));
    }
}

/// Exact to the nanosecond for 104 days.
fn micros(time: Nanos) -> f64 {
    time.0 as f64 / 1e3
}

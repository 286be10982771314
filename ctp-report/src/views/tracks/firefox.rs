//! Markers for Firefox Profiler, in its processed profile format.
//!
//! A marker chart has a row for each name of markers, in groups by category. So the waits of a coroutine are a
//! row, and its runs are another. Each process has one thread for all coroutines, since the viewer is made for
//! few threads. The format has a table of markers for each thread, so that all are kept in memory.

mod activity;

use std::collections::HashMap;
use std::io;
use std::time::Duration;

use anyhow::Result;
use ctp_trace::record::{Nanos, ProcessId};
use fxprof_processed_profile::{
    MarkerTiming, ProcessHandle, Profile, ReferenceTimestamp, SamplingInterval, StringHandle,
    ThreadHandle, Timestamp,
};

use crate::load::Model;
use crate::views::tracks::firefox::activity::{ActivityMarker, Categories, joined};
use crate::views::tracks::sink::{
    Details, Mark, NamedCoroutine, Slice, Track, TrackSink, TracksOfProcess, WakeArrow,
};

/// Writes the document. Returns the number of markers. The inner error is that of reading the trace.
pub fn document(
    model: &Model,
    out: &mut dyn io::Write,
    emit: impl FnOnce(&mut dyn TrackSink) -> Result<()>,
) -> io::Result<Result<u64>> {
    let mut sink = Sink::new(model);
    if let Err(unread) = emit(&mut sink) {
        return Ok(Err(unread));
    }
    serde_json::to_writer(&mut *out, &sink.profile)?;
    writeln!(out)?;
    Ok(Ok(sink.markers))
}

/// Collects markers.
struct Sink {
    profile: Profile,
    categories: Categories,
    processes: HashMap<ProcessId, ProcessHandle>,
    threads: HashMap<ThreadKey, ThreadHandle>,
    /// The rows of coroutines that have not ended.
    rows: HashMap<Track, StringHandle>,
    markers: u64,
}

/// A thread of the profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum ThreadKey {
    /// All coroutines of a process.
    Coroutines(ProcessId),
    /// A thread of a process, by the kernel's id.
    Thread(ProcessId, u64),
}

impl Sink {
    fn new(model: &Model) -> Self {
        let started = Duration::from_nanos(model.start.started_unix_ns);
        let mut profile = Profile::new(
            &model.program_name(),
            ReferenceTimestamp::from_duration_since_unix_epoch(started),
            SamplingInterval::from_millis(1), // required, although there are no samples
        );
        Sink {
            categories: Categories::of(&mut profile),
            profile,
            processes: HashMap::new(),
            threads: HashMap::new(),
            rows: HashMap::new(),
            markers: 0,
        }
    }

    /// The process, which is added without a name if the trace does not describe it.
    fn process_of(&mut self, id: ProcessId) -> ProcessHandle {
        let profile = &mut self.profile;
        let start = Timestamp::from_nanos_since_reference(0);
        let handle = self.processes.entry(id);
        *handle.or_insert_with(|| profile.add_process("", id.0, start))
    }

    fn thread_of(&mut self, track: Track) -> ThreadHandle {
        let (key, process, tid) = match track {
            Track::Coroutine(process, _) => (ThreadKey::Coroutines(process), process, 0),
            Track::Thread { process, tid, .. } => (ThreadKey::Thread(process, tid), process, tid),
        };
        if let Some(handle) = self.threads.get(&key) {
            return *handle;
        }
        let process = self.process_of(process);
        let start = Timestamp::from_nanos_since_reference(0);
        let is_main = matches!(key, ThreadKey::Coroutines(_));
        // Kernels do not use ids of threads this large.
        let shown_tid = u32::try_from(tid).unwrap_or(u32::MAX);
        let handle = self.profile.add_thread(process, shown_tid, start, is_main);
        let name = if is_main {
            "coroutines".to_owned()
        } else {
            format!("thread {tid}")
        };
        self.profile.set_thread_name(handle, &name);
        self.profile
            .set_thread_show_markers_in_timeline(handle, true);
        self.threads.insert(key, handle);
        handle
    }

    /// The row of a coroutine; on the track of a thread, `otherwise`.
    fn row(&mut self, track: Track, otherwise: &str) -> StringHandle {
        match self.rows.get(&track) {
            Some(row) => *row,
            None => self.profile.intern_string(otherwise),
        }
    }

    fn add(&mut self, track: Track, timing: MarkerTiming, activity: ActivityMarker) {
        let thread = self.thread_of(track);
        self.profile.add_marker(thread, timing, activity);
        self.markers += 1;
    }

    fn moment(&mut self, track: Track, mark: &Mark<'_>) {
        let activity = ActivityMarker {
            row: self.row(track, mark.name),
            category: self.categories.mark,
            what: self.profile.intern_string(mark.name),
            details: self.details(&mark.details),
        };
        let at = Timestamp::from_nanos_since_reference(mark.at.0);
        self.add(track, MarkerTiming::Instant(at), activity);
    }

    fn details(&mut self, details: &Details) -> StringHandle {
        self.profile.intern_string(&joined(details))
    }
}

impl TrackSink for Sink {
    fn process(&mut self, process: &TracksOfProcess) {
        let start = Timestamp::from_nanos_since_reference(0);
        let handle = self
            .profile
            .add_process(&process.program, process.pid, start);
        self.processes.entry(process.id).or_insert(handle);
    }

    fn coroutine(&mut self, track: Track, coroutine: &NamedCoroutine<'_>) {
        let row = self.profile.intern_string(&coroutine.title());
        self.rows.insert(track, row);
    }

    fn slice(&mut self, track: Track, slice: Slice<'_>) {
        let activity = ActivityMarker {
            row: self.row(track, slice.name),
            category: self.categories.of_slice(slice.kind),
            what: self.profile.intern_string(slice.name),
            details: self.details(&slice.details),
        };
        let [from, to] =
            [slice.from, slice.to].map(|at| Timestamp::from_nanos_since_reference(at.0));
        self.add(track, MarkerTiming::Interval(from, to), activity);
    }

    fn mark(&mut self, track: Track, mark: Mark<'_>) {
        self.moment(track, &mark);
    }

    fn wake(&mut self, wake: WakeArrow<'_>) {
        self.moment(wake.caller, &wake.call);
    }

    fn end(&mut self, track: Track, _: Nanos, _: bool) {
        self.rows.remove(&track);
    }
}

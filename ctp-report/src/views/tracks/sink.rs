//! What all formats of tracks have in common: tracks, and what lies on them.

use ctp_trace::model::Coroutine;
use ctp_trace::record::{CoroutineId, Nanos, ProcessId, Waker};
use ctp_trace::verdict::Verdict;
use serde_json::Value;

/// The row of a viewer in which slices and marks appear.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Track {
    /// What a coroutine does.
    Coroutine(ProcessId, CoroutineId),
    /// What a thread does.
    Thread {
        /// The process of the thread.
        process: ProcessId,
        /// The kernel's id of the process, 0 if it has none.
        pid: u32,
        /// The kernel's id of the thread. Boards use 0.
        tid: u64,
    },
}

impl Track {
    /// The track of a coroutine.
    pub fn of(coroutine: &Coroutine) -> Self {
        Track::Coroutine(coroutine.process, coroutine.id)
    }
}

/// The fields that a viewer shows of a selected slice or mark, in order.
pub type Details = Vec<(&'static str, Value)>;

/// A process, which is a group of tracks.
#[derive(Clone, Debug)]
pub struct TracksOfProcess {
    /// Number of the process in the trace.
    pub id: ProcessId,
    /// The kernel's id of the process, 0 if it has none.
    pub pid: u32,
    /// The name of the program.
    pub program: String,
}

/// A coroutine, which has a track.
#[derive(Clone, Copy, Debug)]
pub struct NamedCoroutine<'n> {
    /// The number of the coroutine.
    pub id: CoroutineId,
    /// The displayed name.
    pub name: &'n str,
    /// The time of its first event.
    pub from: Nanos,
    /// Whether it is stuck or busy at the end of the recording.
    pub is_bad: bool,
}

impl NamedCoroutine<'_> {
    /// The name of the track: `id 7 session`.
    pub fn title(&self) -> String {
        format!("id {} {}", self.id.0, self.name)
    }
}

/// What a slice shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SliceKind {
    /// A coroutine was spawned or woken, and has not run yet.
    Queued,
    /// A coroutine runs.
    Run,
    /// A coroutine waits.
    Wait,
    /// What a coroutine did at the end of the recording.
    Open,
    /// The same for a coroutine that is stuck or busy.
    Stuck,
}

impl SliceKind {
    /// The category in viewers.
    pub fn word(self) -> &'static str {
        match self {
            SliceKind::Queued => "queued",
            SliceKind::Run => "run",
            SliceKind::Wait => "wait",
            SliceKind::Open => "open",
            SliceKind::Stuck => "stuck",
        }
    }

    /// Whether the slice had not ended when the recording did.
    pub fn is_open(self) -> bool {
        matches!(self, SliceKind::Open | SliceKind::Stuck)
    }
}

/// A span of time on a track.
#[derive(Clone, Debug)]
pub struct Slice<'n> {
    /// What is shown.
    pub kind: SliceKind,
    /// Whether the coroutine waits.
    pub is_wait: bool,
    /// The verdict on the coroutine, if the slice was open at the end of the recording.
    pub verdict: Option<Verdict>,
    /// The displayed name.
    pub name: &'n str,
    /// The start.
    pub from: Nanos,
    /// The end, or the end of the recording.
    pub to: Nanos,
    /// Further fields.
    pub details: Details,
}

impl<'n> Slice<'n> {
    /// Creates a slice that ended.
    pub fn new(
        kind: SliceKind,
        name: &'n str,
        (from, to): (Nanos, Nanos),
        details: Details,
    ) -> Self {
        Slice {
            kind,
            is_wait: kind == SliceKind::Wait,
            verdict: None,
            name,
            from,
            to,
            details,
        }
    }
}

/// A moment on a track.
#[derive(Clone, Debug)]
pub struct Mark<'n> {
    /// The displayed name.
    pub name: &'n str,
    /// The time.
    pub at: Nanos,
    /// Further fields.
    pub details: Details,
}

impl<'n> Mark<'n> {
    /// Creates a mark without further fields.
    pub fn new(name: &'n str, at: Nanos) -> Self {
        Mark {
            name,
            at,
            details: Details::new(),
        }
    }
}

/// A call of `wake()` that led to a run.
#[derive(Clone, Debug)]
pub struct WakeArrow<'n> {
    /// Number of the arrow, from 1.
    pub number: u64,
    /// The displayed name of the call, and its time.
    pub call: Mark<'n>,
    /// The thread that called `wake()`.
    pub caller: Track,
    /// What ran on this thread.
    pub by: Waker,
    /// The coroutine that was woken.
    pub woken: Track,
    /// The thread that ran the coroutine.
    pub runner: Track,
    /// When it ran.
    pub run_at: Nanos,
}

/// Writes tracks in a format of a viewer. Slices come when they end, so a slice may begin before an
/// earlier slice ended.
pub trait TrackSink {
    /// Writes the name of a process.
    fn process(&mut self, process: &TracksOfProcess);
    /// Writes the name of a coroutine.
    fn coroutine(&mut self, track: Track, coroutine: &NamedCoroutine<'_>);
    /// Writes a slice.
    fn slice(&mut self, track: Track, slice: Slice<'_>);
    /// Writes a mark.
    fn mark(&mut self, track: Track, mark: Mark<'_>);
    /// Writes a call of `wake()`, and an arrow to the run.
    fn wake(&mut self, wake: WakeArrow<'_>);
    /// Ends a track of a coroutine. `is_shown`: the coroutine lived in the selected time.
    fn end(&mut self, _track: Track, _at: Nanos, _is_shown: bool) {}
}

//! The flight recorder of a recording: what it remembers, which snapshots are requested, and the thread
//! that writes a snapshot.

use std::ffi::OsString;
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::channel;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use ctp_trace::record::{ExitReason, Start};
use ctp_trace::verdict::THRESHOLD;

use super::earlier_snapshots;
use super::file::{self, WrittenSnapshot};
use super::history::FlightHistory;
use super::messages;
use super::options::Trigger;
use super::snapshot_input::SnapshotInput;
use crate::cli::config::Verbosity;
use crate::cli::stderr::say;
use crate::control::control_server::Reply;
use crate::error::TraceError;
use crate::session::scheduling_priority;

/// The flight recorder's state in the main thread.
#[derive(Debug)]
pub struct FlightRecorder {
    /// What passes remember.
    pub history: FlightHistory,
    /// The first record of each snapshot.
    pub start: Start,
    /// The path of the last snapshot; earlier snapshots go beside it.
    pub output: PathBuf,
    /// The maximum length of snapshots in nanoseconds.
    pub length_ns: Option<u64>,
    /// Bytes of records that a thread's lane holds.
    pub room_bytes: u64,
    /// When snapshots are taken.
    pub triggers: Vec<Trigger>,
    /// How much to print.
    pub verbosity: Verbosity,
    /// The trace of an earlier recording at the path of the last snapshot.
    earlier: Option<File>,
    /// Number of snapshots that got a number because the user gave no name.
    numbered: u32,
    /// A signal or the stuck monitor requested a snapshot.
    is_requested: bool,
    /// Number of snapshots that the stuck monitor requested.
    stuck_requests: u32,
    /// Number of snapshots begun before the end.
    requested: u32,
    /// Number of these that were written.
    written: Arc<AtomicU32>,
    writing: Option<JoinHandle<()>>,
    /// The thread has written its snapshot and is about to reply.
    is_written: Arc<AtomicBool>,
}

/// Counts of the snapshots before the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SnapshotCounts {
    /// Snapshots that were requested.
    pub requested: u32,
    /// Snapshots that were written.
    pub written: u32,
}

impl SnapshotCounts {
    /// Whether any requested snapshot was written.
    ///
    /// # Errors
    /// [`TraceError::NoSnapshot`].
    pub fn any(self) -> Result<(), TraceError> {
        match self {
            SnapshotCounts {
                requested: 1..,
                written: 0,
            } => Err(TraceError::NoSnapshot(self.requested)),
            _ => Ok(()),
        }
    }
}

/// Snapshots that the stuck monitor can request in a recording.
const MAX_STUCK_REQUESTS: u32 = 16;

impl FlightRecorder {
    /// Creates a flight recorder that remembers nothing yet.
    pub fn new(start: Start, output: PathBuf, verbosity: Verbosity) -> Self {
        FlightRecorder {
            history: FlightHistory::default(),
            start,
            output,
            length_ns: None,
            room_bytes: 0,
            triggers: vec![Trigger::Exit],
            verbosity,
            earlier: None,
            numbered: 0,
            is_requested: false,
            stuck_requests: 0,
            requested: 0,
            written: Arc::default(),
            writing: None,
            is_written: Arc::default(),
        }
    }

    /// Prepares the paths of snapshots when the recording begins, and sets snapshots of earlier recordings
    /// aside.
    pub fn take_place(&mut self) {
        earlier_snapshots::set_aside(&self.output);
        self.earlier = earlier_snapshots::claim(&self.output);
    }

    /// Counts of the snapshots so far, without a snapshot that is being written.
    pub fn taken(&self) -> SnapshotCounts {
        SnapshotCounts {
            requested: self.requested,
            written: self.written.load(Ordering::Relaxed),
        }
    }

    /// Whether this signal requests a snapshot.
    pub fn is_trigger_signal(&self, signal: i32) -> bool {
        self.triggers
            .iter()
            .any(|trigger| matches!(trigger, Trigger::Signal(free) if free.as_raw() == signal))
    }

    /// Requests a snapshot, to be taken as soon as no other is being written.
    pub fn request(&mut self) {
        self.is_requested = true;
    }

    /// Requests a snapshot for the stuck monitor. Only the first requests of a recording count.
    pub fn request_for_stuck(&mut self) {
        self.stuck_requests += 1;
        self.is_requested |= self.stuck_requests <= MAX_STUCK_REQUESTS;
    }

    /// Takes the request for a snapshot. Returns whether there was one, and a snapshot is to be taken now.
    pub fn take_request(&mut self) -> bool {
        let is_due = self.is_requested && !self.is_writing();
        self.is_requested &= !is_due;
        is_due
    }

    /// Whether a snapshot is being written.
    pub fn is_writing(&self) -> bool {
        let thread = self.writing.as_ref();
        let is_written = self.is_written.load(Ordering::Acquire);
        thread.is_some_and(|thread| !thread.is_finished() && !is_written)
    }

    /// Whether a snapshot is to be taken when the recording ends in this way.
    pub fn is_due_at_end(&self, exit_reason: ExitReason) -> bool {
        self.is_requested
            || self
                .triggers
                .iter()
                .any(|trigger| trigger.is_met_by(exit_reason))
    }

    /// Starts to write a snapshot while the recording continues: to `path`, else beside the output under the
    /// next number. The requester gets a reply when the snapshot is written.
    ///
    /// # Errors
    /// Those of the kernel: there are too many threads. The requester gets them too.
    pub fn begin(
        &mut self,
        input: SnapshotInput,
        path: Option<PathBuf>,
        reply: Option<Reply>,
    ) -> Result<(), TraceError> {
        self.wait();
        self.requested += 1;
        let path = path.unwrap_or_else(|| self.next_path());
        let output = path.clone();
        let (verbosity, threshold) = (self.verbosity, self.threshold());
        self.is_written.store(false, Ordering::Release);
        let (is_written, count) = (self.is_written.clone(), self.written.clone());
        let thread = thread::Builder::new().name("snapshot".into());
        // The reply is sent to the thread after its start: if the thread cannot start, the reply is needed here.
        let (hand_over, handed) = channel::<Reply>();
        let started = thread.spawn(move || {
            scheduling_priority::step_back();
            let written = file::write(input, &path);
            count.fetch_add(written.is_ok().into(), Ordering::Relaxed);
            is_written.store(true, Ordering::Release);
            if written.is_err() || verbosity > Verbosity::Quiet {
                say(&messages::lines(&path, &written, threshold));
            }
            // Fails if there is no requester.
            if let Ok(reply) = handed.recv() {
                reply.answer(&messages::answer(&path, &written));
            }
        });
        let started = started.map_err(|error| TraceError::Output(output, error));
        match (&started, reply) {
            // Sending succeeds, because the thread waits for the reply.
            (Ok(_), Some(reply)) => drop(hand_over.send(reply)),
            (Err(error), Some(reply)) => reply.answer(&Err(error.to_string())),
            (_, None) => {}
        }
        self.writing = Some(started?);
        Ok(())
    }

    /// Writes the last snapshot.
    ///
    /// # Errors
    /// As for [`file::write`].
    pub fn end(&mut self, input: SnapshotInput) -> Result<WrittenSnapshot, TraceError> {
        self.wait();
        let written = file::write(input, &self.output);
        self.earlier = None;
        written
    }

    /// Waits until the present snapshot is written.
    pub fn wait(&mut self) {
        if let Some(thread) = self.writing.take() {
            // The thread has reported its failures itself.
            let _ = thread.join();
        }
    }

    /// Prints that a snapshot could not be begun.
    pub fn report_failure(&self, why: &TraceError) {
        say(&format!("ctp-record: no snapshot: {why}\n"));
    }

    /// The shortest stuck threshold of the triggers, if it is below the report's default.
    fn threshold(&self) -> Option<Duration> {
        let thresholds = self.triggers.iter().filter_map(|trigger| match trigger {
            Trigger::Stuck(after) => Some(*after),
            _ => None,
        });
        let least = thresholds.min();
        least.filter(|least| least.as_nanos() < u128::from(THRESHOLD.0))
    }

    fn next_path(&mut self) -> PathBuf {
        self.numbered += 1;
        let mut name = OsString::from(&self.output);
        name.push(format!(".{}", self.numbered));
        name.into()
    }
}

//! The flight recorder of a recording: what it remembers, when it is asked for snapshots, and the
//! thread that writes one.

use std::ffi::OsString;
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::channel;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use ctp_trace::record::{Ending, Start};
use ctp_trace::verdict::THRESHOLD;

use super::chronicle::Chronicle;
use super::earlier;
use super::file::{self, Snapshot};
use super::gathered::Gathered;
use super::told;
use super::when::Trigger;
use crate::cli::config::Verbosity;
use crate::cli::stderr::say;
use crate::control::desk::Reply;
use crate::error::TraceError;
use crate::session::promptness;

/// All of it.
#[derive(Debug)]
pub struct FlightRecorder {
    /// What is remembered.
    pub chronicle: Chronicle,
    /// The first record of each snapshot.
    pub start: Start,
    /// Where the last snapshot goes; those before it go beside it.
    pub output: PathBuf,
    /// Snapshots go back no further than so many nanoseconds.
    pub length_ns: Option<u64>,
    /// A thread has room for so many bytes of records.
    pub room_bytes: u64,
    /// When they are taken.
    pub triggers: Vec<Trigger>,
    /// How much to say.
    pub verbosity: Verbosity,
    /// What an earlier recording left where the last snapshot goes.
    earlier: Option<File>,
    /// Snapshots so far that nobody gave a name.
    numbered: u32,
    /// A signal, or what is stuck, asked for one.
    is_wanted: bool,
    /// How often what is stuck did.
    of_stuck: u32,
    /// Snapshots before the end.
    asked: u32,
    /// Those of them that are there.
    written: Arc<AtomicU32>,
    writing: Option<JoinHandle<()>>,
    /// It has written, and is about to tell those who wait for it.
    is_written: Arc<AtomicBool>,
}

/// What became of the snapshots before the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// So many were asked for.
    pub asked: u32,
    /// And so many of them are there.
    pub written: u32,
}

impl Taken {
    /// Is there anything of what was asked for?
    ///
    /// # Errors
    /// [`TraceError::NoSnapshot`].
    pub fn any(self) -> Result<(), TraceError> {
        match self {
            Taken {
                asked: 1..,
                written: 0,
            } => Err(TraceError::NoSnapshot(self.asked)),
            _ => Ok(()),
        }
    }
}

/// Snapshots that are taken since something is stuck, in one recording.
const MOST_OF_STUCK: u32 = 16;

impl FlightRecorder {
    /// It remembers nothing yet.
    pub fn new(start: Start, output: PathBuf, verbosity: Verbosity) -> Self {
        FlightRecorder {
            chronicle: Chronicle::default(),
            start,
            output,
            length_ns: None,
            room_bytes: 0,
            triggers: vec![Trigger::Exit],
            verbosity,
            earlier: None,
            numbered: 0,
            is_wanted: false,
            of_stuck: 0,
            asked: 0,
            written: Arc::default(),
            writing: None,
            is_written: Arc::default(),
        }
    }

    /// The recording has begun: snapshots of an earlier one are none of this one.
    pub fn take_place(&mut self) {
        earlier::set_aside(&self.output);
        self.earlier = earlier::claim(&self.output);
    }

    /// What became of the snapshots so far, but for one that is being written.
    pub fn taken(&self) -> Taken {
        Taken {
            asked: self.asked,
            written: self.written.load(Ordering::Relaxed),
        }
    }

    /// Does this signal ask for a snapshot?
    pub fn heeds(&self, signal: i32) -> bool {
        let is_it =
            |trigger: &Trigger| matches!(trigger, Trigger::Signal(it) if it.as_raw() == signal);
        self.triggers.iter().any(is_it)
    }

    /// One is to be taken as soon as none is being written.
    pub fn want(&mut self) {
        self.is_wanted = true;
    }

    /// One is to be taken since something is stuck. Of very many places only the first have one.
    pub fn want_of_stuck(&mut self) {
        self.of_stuck += 1;
        self.is_wanted |= self.of_stuck <= MOST_OF_STUCK;
    }

    /// Is one to be taken now? Then it is not wanted any more.
    pub fn is_due(&mut self) -> bool {
        let is_due = self.is_wanted && !self.is_writing();
        self.is_wanted &= !is_due;
        is_due
    }

    /// Is one being written?
    pub fn is_writing(&self) -> bool {
        let thread = self.writing.as_ref();
        let is_written = self.is_written.load(Ordering::Acquire);
        thread.is_some_and(|thread| !thread.is_finished() && !is_written)
    }

    /// Is one to be taken at this end?
    pub fn ends_with_one(&self, ending: Ending) -> bool {
        self.is_wanted || self.triggers.iter().any(|it| it.is_met_by(ending))
    }

    /// Starts to write one while the recording goes on: to `path`, else beside the output under the
    /// next number. Who asked is told when it is there.
    ///
    /// # Errors
    /// Those of the kernel: there are too many threads. Who asked is told of them too.
    pub fn begin(
        &mut self,
        gathered: Gathered,
        path: Option<PathBuf>,
        reply: Option<Reply>,
    ) -> Result<(), TraceError> {
        self.wait();
        self.asked += 1;
        let path = path.unwrap_or_else(|| self.next_path());
        let wanted = path.clone();
        let (verbosity, threshold) = (self.verbosity, self.threshold());
        self.is_written.store(false, Ordering::Release);
        let (is_written, count) = (self.is_written.clone(), self.written.clone());
        let thread = thread::Builder::new().name("snapshot".into());
        // The reply is handed over once there is a thread: without one it is needed here.
        let (hand_over, handed) = channel::<Reply>();
        let write = move || {
            promptness::step_back();
            let written = file::write(gathered, &path);
            count.fetch_add(written.is_ok().into(), Ordering::Relaxed);
            is_written.store(true, Ordering::Release);
            if written.is_err() || verbosity > Verbosity::Quiet {
                say(&told::sentence(&path, &written, threshold));
            }
            // None comes where nobody asked.
            if let Ok(reply) = handed.recv() {
                reply.answer(&told::answer(&path, &written));
            }
        };
        let begun = thread.spawn(write);
        let begun = begun.map_err(|error| TraceError::Output(wanted, error));
        match (&begun, reply) {
            // It takes it, since it waits for it.
            (Ok(_), Some(reply)) => drop(hand_over.send(reply)),
            (Err(error), Some(reply)) => reply.answer(&Err(error.to_string())),
            (_, None) => {}
        }
        self.writing = Some(begun?);
        Ok(())
    }

    /// Writes the last one.
    ///
    /// # Errors
    /// As for [`file::write`].
    pub fn end(&mut self, gathered: Gathered) -> Result<Snapshot, TraceError> {
        self.wait();
        let written = file::write(gathered, &self.output);
        self.earlier = None;
        written
    }

    /// Until the one that is being written is there.
    pub fn wait(&mut self) {
        if let Some(thread) = self.writing.take() {
            // It has told of its failures itself.
            let _ = thread.join();
        }
    }

    /// Says that one could not even be begun.
    pub fn regret(&self, why: &TraceError) {
        say(&format!("ctp-record: no snapshot: {why}\n"));
    }

    /// After how long something is stuck, if that is less than the report takes when it is not told.
    fn threshold(&self) -> Option<Duration> {
        let after = |trigger: &Trigger| match trigger {
            Trigger::Stuck(after) => Some(*after),
            _ => None,
        };
        let least = self.triggers.iter().filter_map(after).min();
        least.filter(|least| least.as_nanos() < u128::from(THRESHOLD.0))
    }

    fn next_path(&mut self) -> PathBuf {
        self.numbered += 1;
        let mut name = OsString::from(&self.output);
        name.push(format!(".{}", self.numbered));
        name.into()
    }
}

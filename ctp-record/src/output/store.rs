//! Where the records of passes go while the program runs: into a trace, or into the memory of a
//! flight recorder.

use std::io;
use std::path::Path;

use ctp_nostd::layout::LaneRecord;
use ctp_trace::record::{Event, ProcessId, Record, Start};

use crate::cli::config::{Config, Launch};
use crate::error::TraceError;
use crate::flight::{FlightRecorder, Reach};
use crate::harvest::{Sink, StationCoroutine};
use crate::monitor::lookout::{Lookout, Watch};
use crate::output::backlog::Backlog;
use crate::output::{Output, Place};

/// Either of them.
#[derive(Debug)]
pub enum Store {
    /// All of it is written.
    Trace(Box<Output>),
    /// What is needed for snapshots is remembered.
    Flight(Box<FlightRecorder>),
}

impl Store {
    /// The one that was asked for.
    ///
    /// # Errors
    /// [`TraceError::Output`].
    pub fn open(
        config: &Config,
        launch: &Launch,
        start: &Start,
        backlog: Backlog,
        lookout: Option<&Lookout>,
    ) -> Result<Self, TraceError> {
        let Some(flight) = &launch.flight else {
            let watch = |it: &Lookout| (Watch::new(start, it.thresholds()), it.sender());
            let watched = lookout.map(watch);
            let output = Output::create(&config.output, start, backlog, watched)?;
            return Ok(Store::Trace(Box::new(output)));
        };
        Place::check(&config.output)?;
        let length_ns = match flight.reach {
            Reach::Length(length) => Some(length.as_nanos() as u64),
            Reach::All | Reach::Bytes(_) => None,
        };
        let mut recorder =
            FlightRecorder::new(start.clone(), config.output.clone(), config.verbosity);
        recorder.length_ns = length_ns;
        recorder.room_bytes = u64::from(launch.lane_records) * size_of::<LaneRecord>() as u64;
        recorder.triggers.clone_from(&flight.triggers);
        Ok(Store::Flight(Box::new(recorder)))
    }

    /// The recording has begun: a trace takes its place, or a flight recorder gets that of its
    /// snapshots ready.
    pub fn take_place(&mut self) {
        match self {
            Store::Trace(output) => output.take_place(),
            Store::Flight(recorder) => recorder.take_place(),
        }
    }

    /// What was taken will be on disk soon, with the loss so far.
    pub fn flush(&mut self, lost: u64) {
        if let Store::Trace(output) = self {
            output.flush(lost);
        }
    }

    /// From now on nobody else waits for the caller.
    pub fn be_patient(&mut self) {
        if let Store::Trace(output) = self {
            output.be_patient();
        }
    }

    /// The trace, as the user named it.
    pub fn path(&self) -> &Path {
        match self {
            Store::Trace(output) => output.path(),
            Store::Flight(recorder) => &recorder.output,
        }
    }

    /// Bytes that are in the trace.
    pub fn written_bytes(&self) -> u64 {
        match self {
            Store::Trace(output) => output.written_bytes(),
            Store::Flight(_) => 0,
        }
    }

    /// Why the trace takes no more, once it does not.
    pub fn failure(&self) -> Option<&io::Error> {
        match self {
            Store::Trace(output) => output.failure(),
            Store::Flight(_) => None,
        }
    }

    /// The flight recorder, if it is one.
    pub fn flight(&mut self) -> Option<&mut FlightRecorder> {
        match self {
            Store::Trace(_) => None,
            Store::Flight(recorder) => Some(recorder),
        }
    }
}

impl Sink for Store {
    fn take(&mut self, record: Record) {
        match self {
            Store::Trace(output) => output.take(record),
            Store::Flight(recorder) => recorder.chronicle.take(record),
        }
    }

    fn take_events(&mut self, events: &[Event]) {
        if let Store::Trace(output) = self {
            output.take_events(events);
        }
    }

    fn take_clock(&mut self, process: ProcessId, ahead_ns: i64) {
        match self {
            Store::Trace(output) => output.take_clock(process, ahead_ns),
            Store::Flight(recorder) => recorder.chronicle.take_clock(process, ahead_ns),
        }
    }

    fn take_departed(&mut self, occupant: StationCoroutine) {
        if let Store::Flight(recorder) = self {
            recorder.chronicle.take_departed(occupant);
        }
    }
}

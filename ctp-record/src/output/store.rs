//! The destination of records while the program runs: a trace, or the memory of a flight recorder.

use std::io;
use std::path::Path;

use ctp_nostd::layout::LaneRecord;
use ctp_trace::record::{Event, ProcessId, Record, Start};

use crate::cli::config::{Config, Launch};
use crate::error::TraceError;
use crate::flight::{FlightRecorder, Reach};
use crate::harvest::{Sink, StationCoroutine};
use crate::leaves::Leaves;
use crate::monitor::stuck_monitor::{StuckMonitor, Watch};
use crate::output::backlog::Backlog;
use crate::output::{Destination, Output};

/// A trace or a flight recorder.
#[derive(Debug)]
pub enum Store {
    /// Writes every record.
    Trace(Box<Output>),
    /// Remembers what snapshots need.
    Flight(Box<FlightRecorder>),
}

impl Store {
    /// Opens the store that the configuration requests.
    ///
    /// # Errors
    /// [`TraceError::Output`].
    pub fn open(
        config: &Config,
        launch: &Launch,
        start: &Start,
        backlog: Backlog,
        stuck_monitor: Option<&StuckMonitor>,
    ) -> Result<Self, TraceError> {
        let Some(flight) = &launch.flight else {
            let watched = stuck_monitor.map(|stuck_monitor| {
                (
                    Watch::new(start, stuck_monitor.thresholds()),
                    stuck_monitor.sender(),
                )
            });
            let output = Output::create(&config.output, start, backlog, watched)?;
            return Ok(Store::Trace(Box::new(output)));
        };
        Destination::check(&config.output)?;
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

    /// Moves a trace to its destination when the recording begins, or prepares the destination of snapshots.
    pub fn take_place(&mut self) {
        match self {
            Store::Trace(output) => output.take_place(),
            Store::Flight(recorder) => recorder.take_place(),
        }
    }

    /// Schedules writing all records taken so far to disk. `lost` is the current number of lost events.
    pub fn flush(&mut self, lost: u64) {
        if let Store::Trace(output) = self {
            output.flush(lost);
        }
    }

    /// Lets calls that add records block while many chunks are still to be written. Call this once no
    /// program depends on the caller's speed.
    pub fn allow_waiting(&mut self) {
        if let Store::Trace(output) = self {
            output.allow_waiting();
        }
    }

    /// The path of the trace, as the user named it.
    pub fn path(&self) -> &Path {
        match self {
            Store::Trace(output) => output.path(),
            Store::Flight(recorder) => &recorder.output,
        }
    }

    /// Bytes written to the trace.
    pub fn written_bytes(&self) -> u64 {
        match self {
            Store::Trace(output) => output.written_bytes(),
            Store::Flight(_) => 0,
        }
    }

    /// The reason why the trace takes no more records, if any.
    pub fn failure(&self) -> Option<&io::Error> {
        match self {
            Store::Trace(output) => output.failure(),
            Store::Flight(_) => None,
        }
    }

    /// What the leaf futures of await chains wait for.
    pub fn leaves(&mut self) -> &mut Leaves {
        match self {
            Store::Trace(output) => output.leaves(),
            Store::Flight(recorder) => recorder.history.leaves(),
        }
    }

    /// The flight recorder, if this is one.
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
            Store::Flight(recorder) => recorder.history.take(record),
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
            Store::Flight(recorder) => recorder.history.take_clock(process, ahead_ns),
        }
    }

    fn take_departed(&mut self, departed: StationCoroutine) {
        if let Store::Flight(recorder) = self {
            recorder.history.take_departed(departed);
        }
    }
}

//! A recording session from the program's start to its end: the loop that reads the shared memories.

mod answer;
mod attached;
mod begin;
mod callers;
mod control;
mod end_reason;
mod failure;
mod inspections;
pub(crate) mod liveness;
mod observations;
pub mod pace;
pub mod processor_limit;
mod processor_time;
pub mod recording;
mod replaced;
mod rest;
pub mod scheduling_priority;
mod snapshot;
mod stacks;
mod stuck_monitor;
pub mod wait;

use std::io;
use std::time::{Duration, Instant};

use ctp_trace::record::{ExitReason, Nanos, Record};

use crate::cli::config::Verbosity;
use crate::connect::alarms::Alarms;
use crate::connect::rendezvous::Rendezvous;
use crate::connect::turned_away::TurnedAway;
use crate::control::control_server::ControlServer;
use crate::crash::CrashListener;
use crate::flight::SnapshotInput;
use crate::harvest::Sink as _;
use crate::launch::signals::Signals;
use crate::launch::{ProgramEnd, Running};
use crate::memory::calibrate::Calibrator;
use crate::memory::clock::Clock;
use crate::memory::memory_set::MemorySet;
use crate::monitor::inspections::Inspections;
use crate::monitor::status::{EventStore, StatusFigures, StatusLine};
use crate::monitor::stuck_monitor::StuckMonitor;
use crate::observe::Observations;
use crate::output::backlog::Backlog;
use crate::output::rate::Rate;
use crate::output::store::Store;
use crate::output::watermark::Watermark;
use crate::proc::processes::Processes;
use crate::session::pace::{Pace, PassOutcome};
use crate::session::wait::WaitSet;
pub use attached::AttachedPrograms;
pub use begin::Parts;
pub use end_reason::EndReason;
use liveness::Liveness;

/// All parts of a recording, for the loop that runs each part in turn. Each part owns its fields.
#[derive(Debug)]
pub struct Session<'s> {
    /// The shared memories.
    pub regions: MemorySet,
    /// Where programs connect.
    pub rendezvous: &'s Rendezvous,
    /// The program.
    pub running: Running,
    /// Programs that ran before the recording, if any.
    pub attached: Option<AttachedPrograms>,
    /// Waits for the program, connections and signals.
    pub wait: WaitSet,
    /// Finds stuck coroutines, if the user asked for it.
    pub stuck_monitor: Option<StuckMonitor>,
    /// Observations of awaited descriptors.
    pub observations: Observations,
    /// Inspections of the threads of programs.
    pub inspections: Inspections,
    /// Signals to the recorder.
    pub signals: Signals,
    /// Calibrates the probes' clock, unless the processor's counter is not usable.
    pub calibrator: Option<Calibrator>,
    /// The recorded processes.
    pub processes: Processes,
    /// Crashes reported by the kernel.
    pub crashes: CrashListener,
    /// The trace or the flight recorder.
    pub output: Store,
    /// Bytes not written yet.
    pub backlog: Backlog,
    /// Marks times before which the trace is complete. `None` without history, and for a flight recorder.
    pub watermark: Option<Watermark>,
    /// The status line.
    pub status: Option<StatusLine>,
    /// The trace's clock.
    pub clock: Clock,
    /// The user's options.
    pub options: Options,
    /// The state of the session.
    pub so_far: SoFar,
}

/// Options that matter while the program runs.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Which messages are printed.
    pub verbosity: Verbosity,
    /// Continue until all descendants of the program have ended.
    pub wait_all: bool,
    /// Programs never ring; the recorder polls at every tick.
    pub no_doorbell: bool,
}

/// The state of the session.
#[derive(Debug, Default)]
pub struct SoFar {
    /// Wakeups without events.
    pub alarms: Alarms,
    /// Connections of `ctp-record control`.
    pub control_server: ControlServer,
    /// A write failure has been reported.
    pub has_reported_failure: bool,
    /// The rate of events.
    pub rate: Rate,
    /// The latest time at which the programs were known to live.
    pub liveness: Liveness,
    /// The program's exit reason and its time.
    pub ended: Option<(ProgramEnd, Nanos)>,
    /// Processes that were not admitted, got no memory, or asked too late.
    pub turned_away: TurnedAway,
    /// The input of the final snapshot, if there will be one.
    pub last: Option<SnapshotInput>,
}

/// Time between two flushes: older records are in the file.
const FLUSH_EVERY: Duration = Duration::from_millis(500);

impl Session<'_> {
    /// Reads until the program ends or the user ends the recording, then reads the rest. Returns the exit reason
    /// and its time, excluding the final drain.
    ///
    /// # Errors
    /// Those of the kernel while waiting.
    pub fn run(&mut self) -> io::Result<(EndReason, Nanos)> {
        let mut pace = Pace::default();
        let mut flushed = Instant::now();
        let mut has_interrupt = false;
        let (end_reason, at) = loop {
            let before = self.clock.now();
            let found = self.read();
            self.after_pass(before, found);
            let can_batch = self.can_batch();
            let happened = self.rest(pace.after(found, can_batch))?;
            if let Some(end_reason) = self.answer(happened, &mut has_interrupt)? {
                break end_reason;
            }
            self.upkeep();
            if flushed.elapsed() >= FLUSH_EVERY {
                self.flush();
                flushed = Instant::now();
            }
        };
        let at = self.inspect_last(end_reason, at);
        Ok((end_reason, self.read_the_rest(end_reason.exit_reason(), at)))
    }

    /// Reads new events, unless earlier records must be written first.
    fn read(&mut self) -> PassOutcome {
        self.regions.pass(&mut self.processes, &mut self.output)
    }

    /// Runs the steps that depend on the latest pass, which began at `before` and had this outcome.
    fn after_pass(&mut self, before: Nanos, found: PassOutcome) {
        self.so_far.alarms.note_pass(found.events);
        self.mark_time(before, found);
        self.check_stuck(before, found);
        self.observe_descriptors();
        self.inspect_processes();
    }

    /// Runs the steps that are due from time to time, whatever the pass found.
    fn upkeep(&mut self) {
        self.take_requested();
        self.keep_time();
        self.report_failure();
        self.end_before_time_limit();
    }

    fn flush(&mut self) {
        self.output.flush(self.regions.totals().lost);
        let (at_ns, events) = (self.clock.now().0, self.regions.events());
        self.so_far.rate.note(at_ns, events);
        self.show_status(at_ns, events);
        self.crashes.read_pending();
    }

    /// Drains everything. Returns the time of the end of the programs, which were known to live until `alive`.
    fn read_the_rest(&mut self, how: ExitReason, alive: Nanos) -> Nanos {
        self.stop_attaching();
        self.regions.stop();
        let end_reason_after = self.clock.now();
        self.output.allow_waiting();
        self.record_last_observations();
        self.so_far.last = self.gather_last(how);
        self.regions.finish(&mut self.processes, &mut self.output);
        self.status = None;
        self.dismiss();
        self.crashes.read_pending();
        match &mut self.so_far.last {
            Some(gathered) => gathered.end(how, alive),
            None => liveness::end(alive, self.regions.latest(), end_reason_after),
        }
    }

    /// The thread that crashed, in the program or else in another recorded process; 0 if none crashed or the kernel
    /// did not report it.
    pub fn faulting_tid(&self) -> u64 {
        let of_the_program = self.crashes.latest_in(|pid| pid == self.running.pid());
        let tid =
            of_the_program.or_else(|| self.crashes.latest_in(|pid| self.processes.has_met(pid)));
        tid.map_or(0, u64::from)
    }

    /// Adds a watermark if all events before `at` have been read.
    fn mark_time(&mut self, at: Nanos, found: PassOutcome) {
        // The program may have ended since `at`: time after its end is not waiting time.
        let at = at.min(self.so_far.liveness.last_alive());
        let latest = self.regions.latest_event();
        let watermark = self.watermark.as_mut().filter(|_| !found.is_behind());
        if watermark.is_some_and(|watermark| watermark.advance_if_due(at, latest)) {
            self.output.take(Record::Watermark(at));
        }
    }

    /// Updates the status line. The number of events is passed in, because counting the events of a summary scans every
    /// coroutine.
    fn show_status(&self, at_ns: u64, events: u64) {
        let Some(status) = &self.status else {
            return;
        };
        status.show(StatusFigures {
            events,
            events_per_s: self.so_far.rate.per_second(at_ns, events),
            lost: self.regions.totals().lost,
            location: self.location(),
            failure: self.output.failure(),
        });
    }

    fn location(&self) -> EventStore {
        match &self.output {
            Store::Trace(output) => EventStore::Trace {
                backlog_bytes: self.backlog.bytes(),
                written_bytes: output.written_bytes(),
            },
            Store::Flight(recorder) => EventStore::Flight {
                length_ns: recorder.length_ns,
                room_bytes: recorder.room_bytes,
                snapshots: recorder.taken().written,
            },
        }
    }

    fn keep_time(&mut self) {
        let headers = self.regions.headers();
        self.calibrator
            .take_if(|calibrator| !calibrator.update_if_due(headers));
    }
}

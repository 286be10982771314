//! A program under the recorder, from its start to its end: the loop that reads its memory.

mod answer;
mod begin;
mod callers;
mod control;
mod failure;
pub(crate) mod liveness;
mod looks;
mod over;
pub mod pace;
pub mod processor_limit;
mod processor_time;
pub mod recording;
mod replaced;
mod rest;
pub mod scheduling_priority;
mod snapshot;
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
use crate::crash::Crashes;
use crate::flight::SnapshotInput;
use crate::harvest::Sink as _;
use crate::launch::signals::Signals;
use crate::launch::{Ended, Running};
use crate::memory::calibrate::Calibrator;
use crate::memory::clock::Clock;
use crate::memory::memory_set::MemorySet;
use crate::monitor::status::{Location, Progress, Status};
use crate::monitor::stuck_monitor::StuckMonitor;
use crate::observe::Looks;
use crate::output::backlog::Backlog;
use crate::output::rate::Rate;
use crate::output::store::Store;
use crate::output::watermark::Watermark;
use crate::proc::processes::Processes;
use crate::session::pace::{Pace, PassOutcome};
use crate::session::wait::Wait;
pub use begin::Parts;
use liveness::Liveness;
pub use over::Over;

/// Everything that takes part in a recording, in one place for the loop that lets each part have its turn.
/// Each part owns its fields.
#[derive(Debug)]
pub struct Session<'s> {
    /// What is read.
    pub regions: MemorySet,
    /// Where programs connect.
    pub rendezvous: &'s Rendezvous,
    /// The program.
    pub running: Running,
    /// What it sends and what is sent to it.
    pub wait: Wait,
    /// Who wants to know what is stuck.
    pub stuck_monitor: Option<StuckMonitor>,
    /// What was seen from outside.
    pub looks: Looks,
    /// Who asks for an end.
    pub signals: Signals,
    /// What time it is for probes, unless the processor's counter cannot tell.
    pub calibrator: Option<Calibrator>,
    /// Who writes.
    pub processes: Processes,
    /// What the kernel tells of crashes.
    pub crashes: Crashes,
    /// Where it goes.
    pub output: Store,
    /// What is not there yet.
    pub backlog: Backlog,
    /// Up to when the trace says that all is told; nothing where it has no history, or is not written
    /// meanwhile.
    pub watermark: Option<Watermark>,
    /// What the user sees of it meanwhile.
    pub status: Option<Status>,
    /// What time it is in the trace.
    pub clock: Clock,
    /// What was asked for.
    pub options: Options,
    /// What has happened so far.
    pub so_far: SoFar,
}

/// What was asked for, as far as it matters while the program runs.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How much to say.
    pub verbosity: Verbosity,
    /// Go on until all processes that came from the program have ended.
    pub wait_all: bool,
    /// Never make the program ring: look at every tick instead.
    pub no_doorbell: bool,
}

/// What has happened so far.
#[derive(Debug, Default)]
pub struct SoFar {
    /// What was heard in vain.
    pub alarms: Alarms,
    /// Who wants to control it.
    pub control_server: ControlServer,
    /// Was it told that nothing more can be written?
    pub has_reported_failure: bool,
    /// How fast events come.
    pub rate: Rate,
    /// Until when the programs lived.
    pub liveness: Liveness,
    /// How the program ended, and when.
    pub ended: Option<(Ended, Nanos)>,
    /// Processes that could not be let in, or got no memory, or too late.
    pub turned_away: TurnedAway,
    /// What the last snapshot is made of, if there is to be one.
    pub last: Option<SnapshotInput>,
}

/// The file holds what is older than this.
const FLUSH_EVERY: Duration = Duration::from_millis(500);

impl Session<'_> {
    /// Reads until the program ends, or the user will not wait, then reads the rest. Gives how that
    /// was, and when: what there is to be read then may take a while, in which nobody waited.
    ///
    /// # Errors
    /// Those of the kernel while waiting.
    pub fn run(&mut self) -> io::Result<(Over, Nanos)> {
        let mut pace = Pace::default();
        let mut flushed = Instant::now();
        let mut requested = false;
        let (over, at) = loop {
            let before = self.clock.now();
            let found = self.read();
            self.look_around(before, found);
            let happened = self.rest(pace.after(found))?;
            if let Some(over) = self.answer(happened, &mut requested)? {
                break over;
            }
            self.keep_up();
            if flushed.elapsed() >= FLUSH_EVERY {
                self.flush();
                flushed = Instant::now();
            }
        };
        Ok((over, self.read_the_rest(over.exit_reason(), at)))
    }

    /// Reads what is new, unless what was read before waits to be written.
    fn read(&mut self) -> PassOutcome {
        self.regions.pass(&mut self.processes, &mut self.output)
    }

    /// What a pass that began at `before` and found this leads to.
    fn look_around(&mut self, before: Nanos, found: PassOutcome) {
        self.so_far.alarms.passed(found.events);
        self.mark_time(before, found);
        self.look_out(before, found);
        self.look_from_outside();
    }

    /// What is due now and then, whatever was found.
    fn keep_up(&mut self) {
        self.take_requested();
        self.keep_time();
        self.report_failure();
        self.mind_processor_time();
    }

    fn flush(&mut self) {
        self.output.flush(self.regions.totals().lost);
        let (at_ns, events) = (self.clock.now().0, self.regions.events());
        self.so_far.rate.note(at_ns, events);
        self.show_status(at_ns, events);
        self.crashes.hear();
    }

    /// Gives when it ended, of those of whom it is known that they lived until `alive`.
    fn read_the_rest(&mut self, how: ExitReason, alive: Nanos) -> Nanos {
        self.regions.stop();
        let over_by = self.clock.now();
        self.output.allow_waiting();
        self.record_last_observations();
        self.so_far.last = self.gather_last(how);
        self.regions.finish(&mut self.processes, &mut self.output);
        self.status = None;
        self.dismiss();
        self.crashes.hear();
        match &mut self.so_far.last {
            Some(gathered) => gathered.end(how, alive),
            None => liveness::end(alive, self.regions.latest(), over_by),
        }
    }

    /// The thread at which the program crashed; else that of another process that it started and
    /// that was recorded; 0 if none did, or if the kernel did not tell.
    pub fn faulting_tid(&self) -> u64 {
        let of_the_program = self.crashes.latest_in(|pid| pid == self.running.pid());
        let of_others = || self.crashes.latest_in(|pid| self.processes.has_met(pid));
        of_the_program.or_else(of_others).map_or(0, u64::from)
    }

    /// If nothing from before `at` is still to be read, the trace may say so.
    fn mark_time(&mut self, at: Nanos, found: PassOutcome) {
        // Since then the program may have ended, which makes nobody wait longer.
        let at = at.min(self.so_far.liveness.last_alive());
        let latest = self.regions.latest_event();
        let is_due = |watermark: &mut Watermark| watermark.is_due(at, latest);
        if !found.is_behind() && self.watermark.as_mut().is_some_and(is_due) {
            self.output.take(Record::Watermark(at));
        }
    }

    /// With so many events at this time. To count those of a summary takes a look at each coroutine,
    /// so that it is not done for this alone.
    fn show_status(&self, at_ns: u64, events: u64) {
        let Some(status) = &self.status else {
            return;
        };
        status.show(Progress {
            events,
            events_per_s: self.so_far.rate.per_second(at_ns, events),
            lost: self.regions.totals().lost,
            location: self.location(),
            failure: self.output.failure(),
        });
    }

    fn location(&self) -> Location {
        match &self.output {
            Store::Trace(output) => Location::Trace {
                backlog_bytes: self.backlog.bytes(),
                written_bytes: output.written_bytes(),
            },
            Store::Flight(recorder) => Location::Flight {
                length_ns: recorder.length_ns,
                room_bytes: recorder.room_bytes,
                snapshots: recorder.taken().written,
            },
        }
    }

    fn keep_time(&mut self) {
        let headers = self.regions.headers();
        self.calibrator
            .take_if(|calibrator| !calibrator.keep_right(headers));
    }
}

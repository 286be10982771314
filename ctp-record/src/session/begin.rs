//! Creates a session.

use super::{Options, Session, SoFar};
use crate::cli::config::{Launch, Verbosity};
use crate::connect::rendezvous::Rendezvous;
use crate::crash::CrashListener;
use crate::launch::Running;
use crate::launch::signals::Signals;
use crate::memory::calibrate::Calibrator;
use crate::memory::clock::Clock;
use crate::memory::memory_set::MemorySet;
use crate::monitor::inspections::Inspections;
use crate::monitor::status::StatusLine;
use crate::monitor::stuck_monitor::StuckMonitor;
use crate::observe::Observations;
use crate::output::backlog::Backlog;
use crate::output::store::Store;
use crate::output::watermark::Watermark;
use crate::proc::processes::Processes;
use crate::session::wait::WaitSet;

/// The parts created before the program starts, and the running program.
#[derive(Debug)]
pub struct Parts<'s> {
    /// The trace's clock.
    pub clock: Clock,
    /// Bytes not written yet.
    pub backlog: Backlog,
    /// The shared memories.
    pub regions: MemorySet,
    /// Finds stuck coroutines, if the user asked for it.
    pub stuck_monitor: Option<StuckMonitor>,
    /// The trace or the flight recorder.
    pub output: Store,
    /// Signals to the recorder.
    pub signals: Signals,
    /// Waits for the program, connections and signals.
    pub wait: WaitSet,
    /// Calibrates the probes' clock.
    pub calibrator: Calibrator,
    /// Crashes reported by the kernel.
    pub crashes: CrashListener,
    /// Where programs connect.
    pub rendezvous: &'s Rendezvous,
    /// The program.
    pub running: Running,
}

impl<'s> Session<'s> {
    /// A session before its first pass.
    pub fn new(parts: Parts<'s>, launch: &Launch, verbosity: Verbosity) -> Self {
        let (clock, pid) = (parts.clock, parts.running.pid());
        let is_history = !launch.summary && launch.flight.is_none();
        Session {
            processes: Processes::new(clock, pid, parts.regions.first().inode()),
            // A summary must not grow with time; the stuck monitor needs all observations.
            observations: Observations::new(launch.summary && parts.stuck_monitor.is_none()),
            inspections: Inspections::new(clock, launch.freezes),
            watermark: is_history.then(Watermark::default),
            status: StatusLine::if_seen(verbosity),
            regions: parts.regions,
            rendezvous: parts.rendezvous,
            running: parts.running,
            attached: None,
            wait: parts.wait,
            stuck_monitor: parts.stuck_monitor,
            signals: parts.signals,
            calibrator: Some(parts.calibrator),
            crashes: parts.crashes,
            output: parts.output,
            backlog: parts.backlog,
            clock,
            options: Options {
                verbosity,
                wait_all: launch.wait_all,
                no_doorbell: launch.no_doorbell,
            },
            so_far: SoFar::default(),
        }
    }
}

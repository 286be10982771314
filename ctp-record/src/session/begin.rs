//! A session before its first look.

use super::{Options, Session, SoFar};
use crate::cli::config::{Launch, Verbosity};
use crate::connect::rendezvous::Rendezvous;
use crate::crash::Crashes;
use crate::launch::Running;
use crate::launch::signals::Signals;
use crate::memory::calibrate::Calibrator;
use crate::memory::clock::Clock;
use crate::memory::memory_set::MemorySet;
use crate::monitor::status::Status;
use crate::monitor::stuck_monitor::StuckMonitor;
use crate::observe::Looks;
use crate::output::backlog::Backlog;
use crate::output::store::Store;
use crate::output::watermark::Watermark;
use crate::proc::processes::Processes;
use crate::session::wait::Wait;

/// What is there before the program's first instruction, and then the program.
#[derive(Debug)]
pub struct Parts<'s> {
    /// What time it is in the trace.
    pub clock: Clock,
    /// What is not there yet.
    pub backlog: Backlog,
    /// What is read.
    pub regions: MemorySet,
    /// Who wants to know what is stuck.
    pub stuck_monitor: Option<StuckMonitor>,
    /// Where it goes.
    pub output: Store,
    /// Who asks for an end.
    pub signals: Signals,
    /// What the program sends and what is sent to it.
    pub wait: Wait,
    /// What time it is for probes.
    pub calibrator: Calibrator,
    /// What the kernel tells of crashes.
    pub crashes: Crashes,
    /// Where programs connect.
    pub rendezvous: &'s Rendezvous,
    /// The program.
    pub running: Running,
}

impl<'s> Session<'s> {
    /// Before the first look.
    pub fn new(parts: Parts<'s>, launch: &Launch, verbosity: Verbosity) -> Self {
        let (clock, pid) = (parts.clock, parts.running.pid());
        let is_history = !launch.summary && launch.flight.is_none();
        Session {
            processes: Processes::new(clock, pid, parts.regions.first().inode()),
            // The file of a summary does not grow with time, and who judges meanwhile has to know.
            looks: Looks::new(launch.summary && parts.stuck_monitor.is_none()),
            watermark: is_history.then(Watermark::default),
            status: Status::where_seen(verbosity),
            regions: parts.regions,
            rendezvous: parts.rendezvous,
            running: parts.running,
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

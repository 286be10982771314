//! A whole recording from start to end.

use std::io;

use ctp_nostd::aggregate::{MODE_FLIGHT, MODE_HISTORY, MODE_SUMMARY};
use ctp_nostd::create::{Plan, Recording};
use ctp_trace::record::{End, Start};

use crate::attach::FoundPrograms;
use crate::cli::config::{Config, Inspect, Launch, Verbosity};
use crate::cli::stderr;
use crate::closing::cost;
use crate::closing::final_snapshot;
use crate::closing::{Capacity, ClosingLines, OtherProcesses, finish};
use crate::connect::rendezvous::Rendezvous;
use crate::crash::CrashListener;
use crate::error::{Error, StartError};
use crate::flight::Trigger;
use crate::launch::Prepared;
use crate::launch::signals;
use crate::launch::signals::Signals;
use crate::launch::survivors;
use crate::memory::calibrate::Calibrator;
use crate::memory::capacity;
use crate::memory::clock::Clock;
use crate::memory::description::recording_of;
use crate::memory::memory_set::MemorySet;
use crate::monitor::stuck_monitor::{MonitorOptions, StuckMonitor};
use crate::output;
use crate::output::backlog::Backlog;
use crate::output::start_and_end::{end_record, start_record};
use crate::output::store::Store;
use crate::session::wait::{self, WaitSet};
use crate::session::{AttachedPrograms, Parts, Session};

/// Runs a recording, from creating the memory and the sockets to printing the closing lines.
///
/// # Errors
/// There is nothing to record, or writing failed.
pub fn record(config: &Config, launch: &Launch) -> Result<u8, Error> {
    record_target(config, launch, None)
}

/// Records and inspects programs that run already.
///
/// # Errors
/// As for [`record`].
pub fn record_running(
    config: &Config,
    launch: &Launch,
    inspect: &Inspect,
    programs: FoundPrograms,
) -> Result<u8, Error> {
    record_target(config, launch, Some((inspect, programs)))
}

/// Programs that run already, and how to inspect them.
type RunningTarget<'t> = (&'t Inspect, FoundPrograms);

fn record_target(
    config: &Config,
    launch: &Launch,
    target: Option<RunningTarget<'_>>,
) -> Result<u8, Error> {
    let clock = Clock::start();
    // The calibrator measures while the rest is set up.
    let calibrator = Calibrator::start();
    output::check_separate(&config.output)?;
    signals::survive_file_limit().map_err(Error::Wait)?;
    // Before anything is created that a signal would leave behind.
    let signals = Signals::watch(&snapshot_signals(launch)).map_err(Error::Wait)?;
    let rendezvous = Rendezvous::open().map_err(StartError::Socket)?;
    let clocks = (clock, calibrator);
    let mut session = begin(config, launch, clocks, signals, &rendezvous, target)?;
    let (end_reason, at) = session.run().map_err(Error::Wait)?;
    rendezvous.remove_leftovers();
    // Removed early: the rest may take long, and a recorder killed meanwhile would leave the sockets behind.
    rendezvous.remove();
    if let Some(attached) = &session.attached {
        attached.say(config.verbosity);
    }
    if session.output.flight().is_some() {
        final_snapshot::finish(config, launch, &mut session, end_reason, at)?;
        return Ok(end_reason.exit_status());
    }
    let end = End {
        faulting_tid: session.faulting_tid(),
        unrecorded: session.unrecorded(),
        ..end_record(
            session.regions.totals(),
            at,
            end_reason.exit_reason(),
            session.regions.counters(),
        )
    };
    let is_given = config.verbosity > Verbosity::Quiet;
    let mut closing = is_given.then(|| closing_of(config, launch, &session, end));
    if let Some(closing) = &mut closing {
        closing.written.is_out_of_time = end_reason.is_out_of_time();
    }
    if let Store::Trace(output) = session.output {
        finish::finish_trace(*output, &end, closing, config.verbosity)?;
    }
    Ok(end_reason.exit_status())
}

/// Creates all that must exist before the program's first instruction, and starts the program.
fn begin<'r>(
    config: &Config,
    launch: &Launch,
    (clock, mut calibrator): (Clock, Calibrator),
    mut signals: Signals,
    rendezvous: &'r Rendezvous,
    target: Option<RunningTarget<'_>>,
) -> Result<Session<'r>, Error> {
    let start = Start {
        precise_chains: launch.precise_chains,
        ..start_record(clock, &launch.command, launch.stations)
    };
    let backlog = config.backlog();
    let regions = regions_of(launch, &start, backlog.clone())?;
    let stuck_monitor = StuckMonitor::of(monitor_options(launch), launch.flight.is_some());
    let mut output = Store::open(
        config,
        launch,
        &start,
        backlog.clone(),
        stuck_monitor.as_ref(),
    )?;
    let mut wait = WaitSet::new(rendezvous.listener(), &signals).map_err(Error::Wait)?;
    regions.listen_to(wait.readable_when_happened());
    let crashes = CrashListener::listen();
    let prepared = Prepared {
        memory: regions.first(),
        rendezvous,
    };
    calibrator.publish_first(regions.headers());
    signals.check_none_ends_wait()?;
    let running = match &target {
        Some((inspect, programs)) => prepared.find(inspect, programs)?,
        None => prepared.launch(launch)?,
    };
    wait.watch_program(&running).map_err(Error::Wait)?;
    match rendezvous.control() {
        Ok(control) => wait.watch_control(control).map_err(Error::Wait)?,
        Err(error) => say_uncontrolled(config, error),
    }
    output.take_place();
    let parts = Parts {
        clock,
        backlog,
        regions,
        stuck_monitor,
        output,
        signals,
        wait,
        calibrator,
        crashes,
        rendezvous,
        running,
    };
    let mut session = Session::new(parts, launch, config.verbosity);
    if let Some((inspect, programs)) = target {
        session.follow(AttachedPrograms::new(inspect, programs), inspect);
    }
    Ok(session)
}

/// Reports that control is not available; the recording runs without it.
fn say_uncontrolled(config: &Config, error: &io::Error) {
    if config.verbosity > Verbosity::Quiet {
        stderr::say(&format!(
            "ctp-record: ctp-record control cannot reach this recording: {error}\n"
        ));
    }
}

/// Creates the shared memory for the options.
fn regions_of(launch: &Launch, start: &Start, backlog: Backlog) -> Result<MemorySet, StartError> {
    let memory_bytes = capacity::memory_bytes();
    let plan = Plan {
        stations: launch.stations,
        lanes: capacity::lanes(launch.lane_records, memory_bytes),
        lane_records: launch.lane_records,
        short_lanes: capacity::short_lanes(launch.lane_records, memory_bytes),
    };
    let recording = Recording {
        no_calls: launch.no_doorbell,
        precise_chains: launch.precise_chains,
        mode: match launch.flight {
            Some(_) => MODE_FLIGHT,
            None if launch.summary => MODE_SUMMARY,
            None => MODE_HISTORY,
        },
        ..recording_of(start, wait::can_fence_programs())
    };
    let regions = MemorySet::open(plan, recording, launch.inherit_fd, backlog);
    regions.map_err(|error| StartError::Memory(plan.bytes(), error))
}

/// Signals that request a snapshot from a flight recorder.
fn snapshot_signals(launch: &Launch) -> Vec<i32> {
    let triggers = launch.flight.iter().flat_map(|flight| &flight.triggers);
    let signals = triggers.filter_map(|trigger| match trigger {
        Trigger::Signal(signal) => Some(signal.as_raw()),
        Trigger::Exit | Trigger::ExitNonzero | Trigger::Stuck(_) => None,
    });
    signals.collect()
}

/// The options of the stuck monitor.
fn monitor_options(launch: &Launch) -> MonitorOptions {
    let triggers = launch.flight.iter().flat_map(|flight| &flight.triggers);
    let snapshot_after = triggers.filter_map(|trigger| match trigger {
        Trigger::Stuck(after) => Some(*after),
        _ => None,
    });
    MonitorOptions {
        report_after: launch.stuck_after,
        snapshot_after: snapshot_after.min(),
    }
}

/// The content of the closing lines.
pub fn closing_of<'c>(
    config: &'c Config,
    launch: &Launch,
    session: &Session<'_>,
    end: End,
) -> ClosingLines<'c> {
    let regions = &session.regions;
    ClosingLines {
        event_cost: cost::of_event(regions.first().region().header),
        capacity: Capacity {
            is_static: false,
            stations: launch.stations,
            roomier: roomier(regions),
            backlog: Some(session.backlog.clone()),
        },
        processes: OtherProcesses {
            program_ended: session
                .so_far
                .ended
                .filter(|_| launch.wait_all || session.attached.is_some())
                .map(|(_, at)| at),
            survivors: survivors::of(&session.rendezvous.path()),
            turned_away: session.turned_away(),
        },
        no_doorbell: launch.no_doorbell,
        damaged_regions: regions.damaged(),
        totals: regions.totals(),
        v1_coroutines: regions.foreign(),
        ..ClosingLines::new(launch.name(), &config.output, end, regions.counters())
    }
}

/// The buffer size in bytes with which the most threads get a buffer, and the number of these threads. `None` if that
/// is no more than now.
fn roomier(regions: &MemorySet) -> Option<(u64, u32)> {
    let had = regions.first().region().pool().count();
    let roomiest = capacity::roomiest(capacity::memory_bytes());
    Some(roomiest).filter(|(_, threads)| had < *threads as usize)
}

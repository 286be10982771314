//! Runs a program and records what its coroutines do, from outside.
//!
//! You provide a program that links a probe (or any that speaks cTP v1). This provides the
//! memory it writes into, reads that memory while it runs and after it died, and writes a trace.
//! It does not stop, slow or signal the program, and looks up no names: `ctp-report` does.

mod alarms;
mod args;
pub mod backlog;
mod calibrate;
mod capacity;
mod check;
mod clock;
mod closing;
mod control;
mod cost;
mod crash;
mod drainer;
mod duration;
mod encoder;
mod error;
mod file_id;
mod flight;
pub mod harvest;
mod hindsight;
mod image;
mod inherited;
mod interpreter;
mod landing;
mod launch;
mod leftovers;
mod lookout;
mod looks;
mod mapped;
pub mod maps;
mod memories;
mod namespace;
mod output;
pub mod pace;
mod processes;
mod promptness;
mod rate;
mod rendezvous;
mod rush;
mod session;
mod shm;
mod signals;
mod size;
mod status;
mod store;
mod survivors;
mod turned_away;
mod wait;
mod watermark;
mod words;

use std::ffi::OsString;
use std::io::{ErrorKind, Write as _};
use std::os::unix::ffi::OsStrExt as _;

use clap::CommandFactory as _;
use ctp_nostd::aggregate::{MODE_FLIGHT, MODE_HISTORY, MODE_SUMMARY};
use ctp_nostd::create::{Plan, Recording};
use ctp_nostd::inspect::Counters;
use ctp_trace::record::{End, Ending, Nanos, Start};

use alarms::Alarms;
pub use args::{Args, Config, Flight, Image, Launch, Talk, Task};
use backlog::Backlog;
use calibrate::Calibrator;
use clock::Clock;
use closing::Closing;
use control::desk::Desk;
use crash::Crashes;
pub use error::Error;
use flight::Trigger;
pub use flight::{Chronicle, Composed, snapshot_of};
use harvest::{Harvest, Totals};
use image::Firmware;
use launch::Prepared;
use lookout::{Lookout, Wish};
use looks::Looks;
use memories::Memories;
use output::Output;
use processes::Processes;
use rate::Rate;
use rendezvous::Rendezvous;
use session::{Session, Vigil};
pub use shm::Memory;
use signals::Signals;
use status::Status;
use store::Store;
use turned_away::TurnedAway;
use wait::Wait;
use watermark::Watermark;

/// Does what was asked for. The exit status is the program's, 128+n if signal n ended it.
///
/// # Errors
/// [`Error`], when there is nothing to record or it could not be written.
pub fn run(config: &Config) -> Result<u8, Error> {
    match &config.task {
        Task::Launch(launch) => record(config, launch),
        Task::CheckProbe(launch) => check::check(launch),
        Task::Image(image) => read_image(config, image),
        Task::Control(ask) => print(control::ask::ask(ask)?.as_bytes()),
        Task::Completions(shell) => {
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut Args::command(), "ctp-record", &mut script);
            print(&script)
        }
        Task::Man => {
            let mut page = Vec::new();
            clap_mangen::Man::new(Args::command())
                .render(&mut page)
                .map_err(Error::Print)?;
            print(&page)
        }
    }
}

/// To stdout. A reader that has seen enough is no error.
fn print(text: &[u8]) -> Result<u8, Error> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(Error::Print(error)),
        _ => Ok(0),
    }
}

/// The sequence of a recording: memory, socket, file, signals, program, loop, closing lines.
fn record(config: &Config, launch: &Launch) -> Result<u8, Error> {
    let clock = Clock::start();
    output::check_apart(&config.output)?;
    signals::survive_file_limit().map_err(Error::Wait)?;
    let rendezvous = Rendezvous::open().map_err(Error::Socket)?;
    let mut session = begin(config, launch, clock, &rendezvous)?;
    let (over, at) = session.run().map_err(Error::Wait)?;
    rendezvous.remove_leftovers();
    if session.output.flight().is_some() {
        landing::land(config, launch, &mut session, over.ending(), at)?;
        return Ok(over.status());
    }
    let end = End {
        faulting_tid: session.faulting_tid(),
        unrecorded: session.unrecorded(),
        ..end_of(
            session.memories.totals(),
            at,
            over.ending(),
            session.memories.counters(),
        )
    };
    let closing = closing_of(config, launch, &session, end);
    if let Store::Trace(output) = session.output {
        close(config, *output, closing)?;
    }
    Ok(over.status())
}

/// All that must be there before the program's first instruction, and then the program.
fn begin<'r>(
    config: &Config,
    launch: &Launch,
    clock: Clock,
    rendezvous: &'r Rendezvous,
) -> Result<Session<'r>, Error> {
    let start = Start {
        precise_chains: launch.precise_chains,
        ..start_of(clock, &launch.command, launch.stations)
    };
    let backlog = backlog_of(config);
    let memories = memories_of(launch, &start, backlog.clone())?;
    let lookout = Lookout::of(wish(launch), launch.flight.is_some());
    let mut output = Store::open(config, launch, &start, backlog.clone(), lookout.as_ref())?;
    let signals = Signals::watch(&snapshot_signals(launch)).map_err(Error::Wait)?;
    let mut wait = Wait::new(rendezvous.listener(), &signals).map_err(Error::Wait)?;
    let calibrator = Some(Calibrator::start());
    let crashes = Crashes::listen();
    let prepared = Prepared {
        memory: memories.first(),
        rendezvous,
    };
    let running = prepared.launch(launch)?;
    wait.watch_program(&running).map_err(Error::Wait)?;
    wait.watch_control(rendezvous.control())
        .map_err(Error::Wait)?;
    output.take_place();
    Ok(Session {
        processes: Processes::new(clock, running.pid(), memories.first().inode()),
        memories,
        rendezvous,
        alarms: Alarms::default(),
        desk: Desk::default(),
        // The file of a summary does not grow with time, and who judges meanwhile has to know.
        looks: Looks::new(launch.summary && lookout.is_none()),
        lookout,
        talk: config.talk,
        wait,
        running,
        signals,
        calibrator,
        crashes,
        output,
        snapshots: 0,
        backlog,
        has_told_of_failure: false,
        rate: Rate::default(),
        watermark: (!launch.summary && launch.flight.is_none()).then(Watermark::default),
        status: Status::where_seen(config.talk),
        clock,
        vigil: Vigil::default(),
        ended: None,
        turned_away: TurnedAway::default(),
        wait_all: launch.wait_all,
        no_bell: launch.no_bell,
    })
}

/// Room for what was asked for.
fn memories_of(launch: &Launch, start: &Start, backlog: Backlog) -> Result<Memories, Error> {
    let memory_bytes = capacity::memory_bytes();
    let plan = Plan {
        stations: launch.stations,
        lanes: capacity::lanes(launch.lane_records, memory_bytes),
        lane_records: launch.lane_records,
        short_lanes: capacity::short_lanes(launch.lane_records, memory_bytes),
    };
    let recording = Recording {
        no_calls: launch.no_bell,
        precise_chains: launch.precise_chains,
        mode: match launch.flight {
            Some(_) => MODE_FLIGHT,
            None if launch.summary => MODE_SUMMARY,
            None => MODE_HISTORY,
        },
        ..recording_of(start)
    };
    let memories = Memories::open(plan, recording, launch.inherit_fd, backlog);
    memories.map_err(|error| Error::Memory(plan.bytes(), error))
}

/// Those that ask a flight recorder for a snapshot.
fn snapshot_signals(launch: &Launch) -> Vec<i32> {
    let triggers = launch.flight.iter().flat_map(|it| &it.triggers);
    let signal = |trigger: &Trigger| match trigger {
        Trigger::Signal(signal) => Some(signal.as_raw()),
        Trigger::Exit | Trigger::ExitNonzero | Trigger::Stuck(_) => None,
    };
    triggers.filter_map(signal).collect()
}

/// What is to be done about what becomes stuck.
fn wish(launch: &Launch) -> Wish {
    let triggers = launch.flight.iter().flat_map(|it| &it.triggers);
    let after = |trigger: &Trigger| match trigger {
        Trigger::Stuck(after) => Some(*after),
        _ => None,
    };
    Wish {
        say_after: launch.stuck_after,
        snapshot_after: triggers.filter_map(after).min(),
    }
}

fn closing_of<'c>(
    config: &'c Config,
    launch: &Launch,
    session: &Session<'_>,
    end: End,
) -> Closing<'c> {
    let memories = &session.memories;
    Closing {
        event_cost: cost::of_one_event(memories.first().region().header),
        program_ended: session.ended.filter(|_| launch.wait_all).map(|(_, at)| at),
        stations: launch.stations,
        survivors: survivors::of(&session.rendezvous.path()),
        turned_away: session.turned_away,
        damaged: memories.damaged(),
        doubtful: memories.totals().doubtful,
        lanes: (memories.totals().lanes, memories.totals().crowded_out),
        damaged_lanes: memories.totals().damaged_lanes,
        roomier: roomier(memories),
        backlog: Some(session.backlog.clone()),
        summed_up: memories.totals().summed_up,
        filtered: memories.totals().filtered,
        foreign: memories.foreign(),
        ..Closing::new(name_of(launch), &config.output, end, memories.counters())
    }
}

/// The size of buffer that more threads could have had, and how many.
fn roomier(memories: &Memories) -> Option<(u64, u32)> {
    let had = memories.first().region().pool().count();
    let roomiest = capacity::roomiest(capacity::memory_bytes());
    Some(roomiest).filter(|(_, threads)| had < *threads as usize)
}

fn read_image(config: &Config, image: &Image) -> Result<u8, Error> {
    let found = image::load(image)?;
    let mut firmware = Firmware::open(image)?;
    let region = found
        .copy
        .region()
        .map_err(|refused| Error::BadImage(image.dump.clone(), refused))?;
    let zero = Clock {
        monotonic_ns: image::first_birth_ns(&region),
        ..Clock::start()
    };
    let start = start_of(zero, &[], region.stations.len() as u32);
    let mut output = Output::create(&config.output, &start, backlog_of(config), None)?;
    output.be_patient();
    output.take_place();
    let mut harvest = Harvest::new(zero.monotonic_ns);
    if let Some(bins) = region.header.bins() {
        harvest = harvest.summing_up(bins);
    }
    harvest.finish(&region, &mut firmware, &mut output);
    let counters = region.header.counters();
    let totals = harvest.totals();
    let end = end_of(totals, harvest.latest(), Ending::Image, counters);
    let subject = image.dump.display().to_string();
    let closing = Closing {
        stations: region.stations.len() as u32,
        doubtful: totals.doubtful,
        summed_up: totals.summed_up,
        which: found.which,
        ..Closing::new(subject, &config.output, end, counters)
    };
    close(config, output, closing)?;
    Ok(0)
}

fn backlog_of(config: &Config) -> Backlog {
    let usual = || capacity::backlog(capacity::memory_bytes());
    Backlog::of(config.backlog_bytes.unwrap_or_else(usual))
}

fn start_of(clock: Clock, command: &[OsString], stations: u32) -> Start {
    let host = rustix::system::uname();
    Start {
        trace_id: trace_id(clock),
        recorder: env!("CARGO_PKG_VERSION").to_owned(),
        host: host.nodename().to_string_lossy().into_owned(),
        argv: command
            .iter()
            .map(|word| word.as_bytes().to_vec())
            .collect(),
        started_unix_ns: clock.realtime_ns,
        started_monotonic_ns: clock.monotonic_ns,
        capacity: stations,
        precise_chains: false,
    }
}

/// Differs between any two recordings: of one machine by time and process, of two by chance.
fn trace_id(clock: Clock) -> [u8; 16] {
    use std::hash::{BuildHasher as _, RandomState};
    let seed = (clock.realtime_ns, clock.monotonic_ns, std::process::id());
    let halves = [(); 2].map(|()| RandomState::new().hash_one(seed).to_le_bytes());
    let mut id = [0; 16];
    id.copy_from_slice(halves.as_flattened());
    id
}

fn recording_of(start: &Start) -> Recording {
    Recording {
        trace_id: start.trace_id,
        realtime_ns: start.started_unix_ns,
        monotonic_ns: start.started_monotonic_ns,
        pid: std::process::id(),
        barrier: wait::can_order(),
        ..Recording::default()
    }
}

fn end_of(totals: Totals, at: Nanos, how: Ending, counters: Counters) -> End {
    End {
        at,
        how,
        events: totals.events,
        lost: totals.lost,
        refused: counters.refused.into(),
        coroutines: totals.coroutines.into(),
        unnamed: totals.unnamed + u64::from(counters.unnamed),
        quarantined: totals.quarantined,
        faulting_tid: 0,
        unrecorded: 0,
    }
}

/// Ends the trace and says what is in it.
fn close(config: &Config, output: Output, mut closing: Closing<'_>) -> Result<(), Error> {
    let written = output.finish(&closing.end);
    closing.is_cut = written.is_err();
    if let Ok(trace) = &written {
        let metadata = trace.metadata().ok();
        // A pipe or a device does not tell how much went into it, and cannot be looked at.
        let file = metadata.filter(std::fs::Metadata::is_file);
        closing.bytes = file.map(|metadata| metadata.len());
        closing.outlook = hindsight::outlook(trace, closing.end.events);
    }
    if config.talk > Talk::Quiet {
        let text = closing.text(config.talk == Talk::Verbose);
        // Where stderr takes nothing, there is nobody to be told.
        let _ = std::io::stderr().write_all(text.as_bytes());
    }
    written.map(drop)
}

fn name_of(launch: &Launch) -> String {
    let program = launch.command.first().map(OsString::as_os_str);
    program.unwrap_or_default().to_string_lossy().into_owned()
}

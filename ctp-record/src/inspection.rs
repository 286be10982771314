//! Inspects running processes, which need no probe, and core files.
//!
//! The processes are only read. An earlier trace is replaced as soon as a task or a thread was found.

pub mod account;
pub mod clock;
pub mod closing;
pub mod core_file;
pub mod subject;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use ctp_inspect::{SearchPaths, TargetError, TraceIds};
use ctp_trace::record::{End, ExitReason, Record};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::cli::config::{Config, HowLong, Inspect, Verbosity};
use crate::cli::stderr;
use crate::error::{Error, InspectError};
use crate::harvest::Sink;
use crate::launch::signals::Signals;
use crate::memory::clock::Clock;
use crate::output::Output;
use crate::output::start_and_end::start_record;
use crate::proc::command_line;
use crate::proc::processes::Processes;
use account::Account;
use subject::Subject;

/// Inspects the processes, writes the trace and prints what was found.
///
/// # Errors
/// A process cannot be read, or the trace cannot be written.
pub fn record(config: &Config, inspect: &Inspect) -> Result<u8, Error> {
    let mut signals = Signals::watch(&[]).map_err(Error::Wait)?;
    let clock = Clock::start();
    let mut subjects: Vec<Subject> = Vec::new();
    for pid in &inspect.pids {
        subjects.push(Subject::open(*pid, inspect.interrupts)?);
    }
    if config.verbosity > Verbosity::Quiet {
        let names = subjects.iter().map(Subject::described);
        let names: Vec<String> = names.collect();
        stderr::say(&closing::opening(&names, inspect, false));
    }
    let command = command_line::of(inspect.pids[0]);
    let search_paths = search_paths(&inspect.debug_directories);
    let mut first = Collected::default();
    let mut processes = Processes::new(clock, inspect.pids[0], 0);
    for subject in &mut subjects {
        subject.describe(&search_paths, &mut processes, &mut first);
    }
    let mut ids = TraceIds::default();
    first.0.extend(inspect_first(&mut subjects, &mut ids)?);
    let start = start_record(clock, &command, 0);
    let mut output = Output::create(&config.output, &start, config.backlog(), None)?;
    output.allow_waiting();
    output.take_place();
    let mut account = Account::default();
    let mut take = |records: Vec<Record>| {
        for record in records {
            let record = clock::relative(record, clock.monotonic_ns);
            account.take(&record);
            output.take(record);
        }
        // A report may follow the trace.
        output.flush(0);
    };
    take(first.0);
    inspect_again(inspect, subjects, &mut ids, &mut signals, take)?;
    finish(config, output, clock, &account)
}

/// Maximum memory for debug info, in bytes. The program and its types are the user's own, and the types of a large
/// program take several hundred megabytes.
const MAX_DEBUG_INFO_BYTES: u64 = 1 << 30;

/// Where files with debug info are looked for.
pub fn search_paths(directories: &[PathBuf]) -> SearchPaths {
    let search_paths = SearchPaths::recorded().with_max_bytes(MAX_DEBUG_INFO_BYTES);
    let directories = directories.iter().cloned();
    directories.fold(search_paths, SearchPaths::with_debug_directory)
}

/// Records that are written later.
#[derive(Default)]
struct Collected(Vec<Record>);

impl Sink for Collected {
    fn take(&mut self, record: Record) {
        self.0.push(record);
    }
}

/// Makes the first inspection of each process. Until then, nothing is written.
fn inspect_first(subjects: &mut [Subject], ids: &mut TraceIds) -> Result<Vec<Record>, Error> {
    let mut records = Vec::new();
    for subject in subjects {
        match subject.inspect(ids) {
            Ok(found) => records.extend(found),
            Err(TargetError::Ended) => return Err(InspectError::Ended(subject.pid).into()),
            Err(error) => return Err(InspectError::Target(subject.pid, error).into()),
        }
    }
    Ok(records)
}

/// Inspects the processes as often as requested. Ends early at a signal, and when all have ended.
fn inspect_again(
    inspect: &Inspect,
    mut subjects: Vec<Subject>,
    ids: &mut TraceIds,
    signals: &mut Signals,
    mut take: impl FnMut(Vec<Record>),
) -> Result<(), Error> {
    let began = Instant::now();
    for number in 2.. {
        let is_over = match inspect.how_long {
            HowLong::Inspections(count) => count < number,
            HowLong::Time(time) => time <= began.elapsed() + inspect.every,
        };
        if is_over || subjects.is_empty() || is_ended_by_signal(signals, inspect.every)? {
            break;
        }
        subjects.retain_mut(|subject| match subject.inspect(ids) {
            Ok(records) => {
                take(records);
                true
            }
            Err(_) => {
                let pid = subject.pid;
                let line = format!("process {pid} ended before inspection {number} was complete");
                stderr::say(&format!("ctp-record: {line}\n"));
                false
            }
        });
    }
    Ok(())
}

/// Waits for the next inspection. Returns whether a signal came that ends the recording.
fn is_ended_by_signal(signals: &mut Signals, pause: Duration) -> Result<bool, Error> {
    let until = Instant::now() + pause;
    loop {
        let rest = until.saturating_duration_since(Instant::now());
        let timeout = Timespec::try_from(rest).unwrap_or(Timespec {
            tv_sec: i64::MAX,
            tv_nsec: 0,
        });
        let mut arrival = [PollFd::new(signals, PollFlags::IN)];
        match poll(&mut arrival, Some(&timeout)) {
            Ok(0) => return Ok(false),
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(Error::Wait(error.into())),
        }
        let mut arrived = signals.arrived().into_iter();
        if arrived.any(|signal| signal.asks_for_an_end() || signal.ends_the_recording()) {
            return Ok(true);
        }
    }
}

/// Ends the trace and prints the closing lines.
fn finish(
    config: &Config,
    mut output: Output,
    clock: Clock,
    account: &Account,
) -> Result<u8, Error> {
    let end = End {
        at: clock.now(),
        how: ExitReason::Stopped,
        ..End::default()
    };
    let keeps_earlier = output.keeps_earlier(&end);
    let file = output.finish(&end)?;
    if config.verbosity > Verbosity::Quiet {
        let metadata = file.metadata().ok().filter(std::fs::Metadata::is_file);
        let bytes = metadata
            .map(|metadata| metadata.len())
            .filter(|_| !keeps_earlier);
        stderr::say(&closing::text(account, &config.output, bytes));
    }
    Ok(0)
}

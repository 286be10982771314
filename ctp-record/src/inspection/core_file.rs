//! Inspects a core file, which shows a process at a single moment.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;

use ctp_inspect::{CoreFile, Inspector, Target as _, TraceIds};
use ctp_trace::record::{Nanos, Process, ProcessId, Record};

use super::account::Account;
use super::{closing, finish, search_paths};
use crate::cli::config::{Config, Core, Verbosity};
use crate::cli::stderr;
use crate::error::{Error, InspectError};
use crate::harvest::Sink as _;
use crate::memory::clock::Clock;
use crate::output::Output;
use crate::output::start_and_end::start_record;

/// The only process of a core file.
const PROCESS: ProcessId = ProcessId(1);

/// Inspects the core file, writes the trace and prints what was found.
///
/// # Errors
/// The core file cannot be read, or the trace cannot be written.
pub fn record(config: &Config, core: &Core) -> Result<u8, Error> {
    let fails = |error| InspectError::Core(core.file.clone(), error);
    let target = CoreFile::open(&core.file, core.elf.as_deref()).map_err(fails)?;
    let clock = Clock::start();
    let command = command_of(&target);
    if config.verbosity > Verbosity::Quiet {
        let name = closing::program(command.first());
        stderr::say(&closing::opening_of_core(&core.file, target.pid(), &name));
    }
    let records = records_of(target, core).map_err(fails)?;
    let start = start_record(clock, &command, 0);
    let mut output = Output::create(&config.output, &start, config.backlog(), None)?;
    output.allow_waiting();
    output.take_place();
    let mut account = Account::default();
    for record in records {
        account.take(&record);
        output.take(record);
    }
    finish(config, output, clock, &account)
}

/// The path of the executable, if known.
fn command_of(target: &CoreFile) -> Vec<OsString> {
    let path = Some(target.exe()).filter(|path| !path.is_empty());
    path.map(|path| OsString::from_vec(path.to_vec()))
        .into_iter()
        .collect()
}

fn records_of(target: CoreFile, core: &Core) -> Result<Vec<Record>, ctp_inspect::TargetError> {
    let mut records = vec![Record::Process(Process {
        id: PROCESS,
        pid: target.pid(),
        attached: Nanos(0),
    })];
    records.extend(target.modules(PROCESS).into_iter().map(Record::Module));
    let search_paths = search_paths(&core.debug_directories);
    let mut inspector = Inspector::with_search_paths(Box::new(target), PROCESS, search_paths);
    records.extend(inspector.inspect(&mut TraceIds::default())?);
    Ok(records)
}

//! What the user wants, whatever was typed.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::time::Duration;

use clap_complete::Shell;
use ctp_trace::escape::escaped_bytes;

use crate::control::ask::Ask;
use crate::flight::{Reach, Trigger};
use crate::memory::capacity;
use crate::output::backlog::Backlog;

/// What to record, and how.
#[derive(Clone, Debug)]
pub struct Config {
    /// What to do.
    pub task: Task,
    /// Where the trace goes.
    pub output: PathBuf,
    /// Bytes that may wait in memory to be written; nothing: what this machine can spare.
    pub backlog_bytes: Option<u64>,
    /// How much to say on stderr.
    pub verbosity: Verbosity,
}

/// Where the events come from.
#[derive(Clone, Debug)]
pub enum Task {
    /// Run a program.
    Launch(Launch),
    /// Run a program and judge its probe.
    CheckProbe(Launch),
    /// Read a dump.
    Image(Image),
    /// Ask a recorder.
    Control(Ask),
    /// Print a completion script.
    Completions(Shell),
    /// Print the man page.
    Man,
}

/// A program to run.
#[derive(Clone, Debug)]
pub struct Launch {
    /// Program and arguments; not empty.
    pub command: Vec<OsString>,
    /// Coroutines that can be recorded.
    pub stations: u32,
    /// Records that each thread has room for, a power of two; 0: no lanes.
    pub lane_records: u32,
    /// Record what programs sum up instead of history.
    pub summary: bool,
    /// Keep only what came last.
    pub flight: Option<Flight>,
    /// Say where coroutines are stuck for so long, while the program runs.
    pub stuck_after: Option<Duration>,
    /// Leave the memory's descriptor open in the program.
    pub inherit_fd: bool,
    /// Never make the program ring.
    pub no_doorbell: bool,
    /// Have the program find the await chain of each wait.
    pub precise_chains: bool,
    /// Wait for all processes that come from the program.
    pub wait_all: bool,
}

/// What a flight recorder keeps, and when it writes that.
#[derive(Clone, Debug)]
pub struct Flight {
    /// How far back a snapshot goes.
    pub reach: Reach,
    /// When one is taken, besides commands.
    pub triggers: Vec<Trigger>,
}

/// A dump to read.
#[derive(Clone, Debug)]
pub struct Image {
    /// Bytes of the program's memory.
    pub dump: PathBuf,
    /// Its executable.
    pub elf: Option<PathBuf>,
}

/// How much to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verbosity {
    /// Say nothing but errors.
    Quiet,
    /// Say the closing lines too.
    Normal,
    /// Say what the recorder counted of itself too.
    Verbose,
}

impl Config {
    /// Room for what waits to be written: as much as was asked for, else what this machine can spare.
    pub(crate) fn backlog(&self) -> Backlog {
        let usual = || capacity::backlog(capacity::memory_bytes());
        Backlog::of(self.backlog_bytes.unwrap_or_else(usual))
    }
}

impl Launch {
    /// The program, for messages: one line, safe to print.
    pub(crate) fn name(&self) -> String {
        let program = self.command.first().map(OsString::as_os_str);
        escaped_bytes(program.unwrap_or_default().as_bytes()).into_owned()
    }
}

impl Flight {
    /// Bytes of a thread's room.
    pub(crate) fn room(&self, buffer: u64) -> u64 {
        match self.reach {
            Reach::Bytes(bytes) => bytes,
            Reach::All | Reach::Length(_) => buffer,
        }
    }
}

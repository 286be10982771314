//! The configuration of a run, independent of the command line's syntax.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::time::Duration;

use clap_complete::Shell;
use ctp_trace::escape::escaped_bytes;

use crate::control::client::ControlCommand;
use crate::flight::{Reach, Trigger};
use crate::memory::capacity;
use crate::output::backlog::Backlog;

/// What to do, and how.
#[derive(Clone, Debug)]
pub struct Config {
    /// What to do.
    pub mode: Mode,
    /// Where the trace goes.
    pub output: PathBuf,
    /// Limit of unwritten bytes in memory; `None`: derived from the size of this machine's memory.
    pub backlog_bytes: Option<u64>,
    /// Which messages to print.
    pub verbosity: Verbosity,
}

/// What to do.
#[derive(Clone, Debug)]
pub enum Mode {
    /// Run a program.
    Launch(Launch),
    /// Run a program and judge its probe.
    CheckProbe(Launch),
    /// Read a dump.
    Image(DumpFile),
    /// Record firmware with memory that is mapped to a file.
    Follow(DumpFile),
    /// Record a target behind a GDB server.
    Gdb(GdbServer),
    /// Inspect running processes, and record those with a probe as a launched program would be.
    Inspect(Inspect, Launch),
    /// Inspect a core file.
    Core(Core),
    /// Send a request to a recorder.
    Control(ControlCommand),
    /// Print a completion script.
    Completions(Shell),
    /// Print the man page.
    Man,
    /// Write the man pages of all commands to this directory.
    ManPages(PathBuf),
}

/// A program to run.
#[derive(Clone, Debug)]
pub struct Launch {
    /// Program and arguments; empty for a running process.
    pub command: Vec<OsString>,
    /// Capacity in coroutines.
    pub stations: u32,
    /// Records in each thread's lane, a power of two; 0: no lanes.
    pub lane_records: u32,
    /// Record totals instead of history.
    pub summary: bool,
    /// Keep only the latest events.
    pub flight: Option<Flight>,
    /// Report coroutines that are stuck for this long, while the program runs.
    pub stuck_after: Option<Duration>,
    /// Leave the memory's descriptor open in the program.
    pub inherit_fd: bool,
    /// The program never wakes the recorder by a system call.
    pub no_doorbell: bool,
    /// Make the program find the await chain of each wait.
    pub precise_chains: bool,
    /// A coroutine may have to wait for a moment while its stack is copied.
    pub freezes: bool,
    /// Wait for all descendants of the program.
    pub wait_all: bool,
}

/// What a flight recorder keeps, and when it takes snapshots.
#[derive(Clone, Debug)]
pub struct Flight {
    /// How far back a snapshot goes.
    pub reach: Reach,
    /// Triggers of snapshots, in addition to commands.
    pub triggers: Vec<Trigger>,
}

/// A dump to read.
#[derive(Clone, Debug)]
pub struct DumpFile {
    /// Bytes of the program's memory.
    pub dump: PathBuf,
    /// Its executable.
    pub elf: Option<PathBuf>,
}

/// A GDB server with the target to record.
#[derive(Clone, Debug)]
pub struct GdbServer {
    /// `HOST:PORT`.
    pub address: String,
    /// The program that runs in the target.
    pub elf: PathBuf,
}

/// Running processes to inspect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inspect {
    /// The kernel's ids of the processes; not empty.
    pub pids: Vec<u32>,
    /// How long to go on.
    pub how_long: HowLong,
    /// The pause between two inspections.
    pub every: Duration,
    /// Stop running threads for a moment, to see their stacks.
    pub interrupts: bool,
    /// Record processes that have a probe.
    pub attaches: bool,
    /// End when the program that started the recorder ends.
    pub ends_with_parent: bool,
    /// Directories with separate debug info.
    pub debug_directories: Vec<PathBuf>,
}

/// A core file to inspect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Core {
    /// The core file.
    pub file: PathBuf,
    /// The executable, if it is no longer at the path that the core file names.
    pub elf: Option<PathBuf>,
    /// Directories with separate debug info.
    pub debug_directories: Vec<PathBuf>,
}

/// How long to go on with inspections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HowLong {
    /// This many inspections.
    Inspections(u32),
    /// Until this much time has passed.
    Time(Duration),
}

/// Which messages to print.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verbosity {
    /// Only errors are printed.
    Quiet,
    /// The closing lines, too.
    Normal,
    /// The recorder's own counters, too.
    Verbose,
}

impl Config {
    /// The backlog, with the limit that the user set, else a limit derived from this machine's memory.
    pub(crate) fn backlog(&self) -> Backlog {
        let bytes = self
            .backlog_bytes
            .unwrap_or_else(|| capacity::backlog(capacity::memory_bytes()));
        Backlog::of(bytes)
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
    /// The size of a thread's buffer in bytes: as set by `--flight-recorder=SIZE`, else `buffer`.
    pub(crate) fn room(&self, buffer: u64) -> u64 {
        match self.reach {
            Reach::Bytes(bytes) => bytes,
            Reach::All | Reach::Length(_) => buffer,
        }
    }
}

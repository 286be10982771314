//! The options of the command line.

mod control;
mod help;
mod inspect;
mod usage;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::error::ErrorKind;
use clap::{Parser, Subcommand};
use clap_complete::Shell;
use ctp_nostd::layout::{LaneRecord, MAX_STATIONS};

use crate::cli::config::{Config, DumpFile, Flight, GdbServer, Launch, Mode, Verbosity};
use crate::cli::duration;
use crate::cli::size;
use crate::flight::{BadReach, Reach, Trigger};
use crate::memory::capacity;
use control::ControlArgs;
use inspect::InspectArgs;
pub use usage::{command, print_error_or_help};

// A field for each option, as clap requires.
/// Runs a program and records what its coroutines do, from outside.
#[derive(Parser, Debug)]
#[command(
    name = "ctp-record",
    version = concat!(env!("CARGO_PKG_VERSION"), " (cTP v1, trace format 1)"),
    before_help = help::EXAMPLES,
    after_help = help::AFTER,
    override_usage = help::USAGE,
    disable_help_subcommand = true,
    args_conflicts_with_subcommands = true
)]
pub struct Args {
    #[command(subcommand)]
    subcommand: Option<Sub>,

    /// The trace file; an earlier trace is kept as FILE.old
    #[arg(short, long, value_name = "FILE", default_value = "ctp.data")]
    output: PathBuf,

    /// Keep totals and the latest events, not history: the trace stays small
    #[arg(help_heading = help::KEPT, long, conflicts_with_all = ["buffer", "check_probe", "image"])]
    summary: bool,

    /// Keep the latest events and totals of the rest; write them on request
    #[arg(help_heading = help::KEPT, long,
          value_name = "DURATION|SIZE", num_args = 0..=1, require_equals = true,
          default_missing_value = "all", value_parser = reach,
          conflicts_with_all = ["summary", "check_probe", "image"])]
    flight_recorder: Option<Reach>,

    /// Take a snapshot at: exit, exit:nonzero, signal:NAME, stuck:DURATION [default: exit]
    #[arg(
        help_heading = help::KEPT,
        long,
        value_name = "LIST",
        value_delimiter = ',',
        requires = "flight_recorder"
    )]
    snapshot_on: Vec<Trigger>,

    /// Record until all descendants of the program have ended
    #[arg(help_heading = help::KEPT, long)]
    wait_all: bool,

    /// Capacity in coroutines; unused capacity costs nothing
    #[arg(help_heading = help::ROOM, short = 'n', long, value_name = "N", default_value_t = 65_536,
          value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_STATIONS)))]
    stations: u32,

    /// Each thread's history, up to 256M; 0: keep none [default: up to 16M]
    #[arg(help_heading = help::ROOM, long, value_name = "SIZE", value_parser = size::buffer)]
    buffer: Option<u64>,

    /// Memory for unwritten data [default: 1/8 of memory, up to 512M]
    #[arg(help_heading = help::ROOM, long, value_name = "SIZE", value_parser = size::backlog)]
    backlog: Option<u64>,

    #[arg(help_heading = help::MESSAGES, help = help::STUCK_AFTER, long,
          value_name = "DURATION", value_parser = duration::parse,
          conflicts_with_all = ["check_probe", "image"])]
    stuck_after: Option<Duration>,

    /// Print only errors
    #[arg(help_heading = help::MESSAGES, short, long)]
    quiet: bool,

    /// Print more: processes, counters, how often the recorder was woken
    #[arg(help_heading = help::MESSAGES, short, long, conflicts_with = "quiet")]
    verbose: bool,

    /// Never wake the recorder by a system call: for programs with a seccomp filter
    #[arg(help_heading = help::REACHED, long = "no-bell")]
    no_doorbell: bool,

    /// Find every branch of a wait, as in select!; each poll then clones wakers
    #[arg(help_heading = help::REACHED, long, conflicts_with_all = ["no_doorbell", "image"])]
    precise_chains: bool,

    /// Never let a coroutine wait, up to 50 ms, while its stack is copied
    #[arg(help_heading = help::REACHED, long, conflicts_with_all = ["check_probe", "image"])]
    no_freeze: bool,

    /// Pass the memory by descriptor, not by path: to another user or a container
    #[arg(help_heading = help::REACHED, long)]
    inherit_fd: bool,

    #[command(flatten)]
    inspect: InspectArgs,

    /// Judge the program's probe by the rules of cTP instead of recording it
    #[arg(help_heading = help::INSTEAD, long, conflicts_with_all = ["output", "image"])]
    check_probe: bool,

    /// Read a dump of a program's memory instead of running a program
    #[arg(help_heading = help::INSTEAD, long, value_name = "FILE", conflicts_with = "command")]
    image: Option<PathBuf>,

    /// Record while a simulator maps its memory to the file of --image
    #[arg(help_heading = help::INSTEAD, long, requires = "image")]
    follow: bool,

    /// Record the target of a GDB server: QEMU's, OpenOCD, J-Link or probe-rs
    #[arg(help_heading = help::INSTEAD, long, value_name = "HOST:PORT", requires = "elf",
          conflicts_with_all = ["command", "image", "check_probe", "summary", "flight_recorder",
                                "stuck_after", "precise_chains", "no_freeze"])]
    gdb: Option<String>,

    /// The program of the dump, of the core file or of the target
    #[arg(help_heading = help::INSTEAD, long, value_name = "ELF", conflicts_with = "command")]
    elf: Option<PathBuf>,

    #[arg(
        help_heading = help::INSTEAD,
        help = help::COMPLETIONS,
        long,
        value_name = "SHELL",
        exclusive = true,
        hide_possible_values = true
    )]
    completions: Option<Shell>,

    /// Print the man page, or write all man pages to DIR
    #[arg(help_heading = help::INSTEAD, long, value_name = "DIR", num_args = 0..=1,
          require_equals = true, exclusive = true)]
    man: Option<Option<PathBuf>>,

    /// The program and its arguments
    #[arg(trailing_var_arg = true, value_name = "PROGRAM")]
    command: Vec<OsString>,
}

#[derive(Subcommand, Debug)]
enum Sub {
    Control(ControlArgs),
}

const NO_STDOUT: &str = "\
-o - is no place for a trace: stdout is the program's; for a file of that name: -o ./-";

impl Args {
    /// Parses the command line.
    ///
    /// # Errors
    /// Wrong usage. `--help` and `--version` are reported as errors, too.
    pub fn from_command_line() -> Result<Self, clap::Error> {
        usage::parse(std::env::args_os().collect())
    }

    /// Converts the options to a configuration.
    ///
    /// # Errors
    /// Wrong usage, for example nothing to record.
    pub fn into_config(self) -> Result<Config, clap::Error> {
        let verbosity = match (self.quiet, self.verbose) {
            (true, _) => Verbosity::Quiet,
            (_, true) => Verbosity::Verbose,
            _ => Verbosity::Normal,
        };
        if self.output == Path::new("-") {
            return Err(command().error(ErrorKind::ValueValidation, NO_STDOUT));
        }
        Ok(Config {
            output: self.output.clone(),
            backlog_bytes: self.backlog,
            verbosity,
            mode: self.mode()?,
        })
    }

    fn mode(self) -> Result<Mode, clap::Error> {
        if let Some(Sub::Control(control)) = self.subcommand {
            return control.command().map(Mode::Control);
        }
        if let Some(shell) = self.completions {
            return Ok(Mode::Completions(shell));
        }
        if let Some(directory) = self.man {
            return Ok(directory.map_or(Mode::Man, Mode::ManPages));
        }
        if let Some(dump) = self.image {
            let elf = self.elf;
            let image = DumpFile { dump, elf };
            return Ok(if self.follow {
                Mode::Follow(image)
            } else {
                Mode::Image(image)
            });
        }
        if let (Some(address), Some(elf)) = (&self.gdb, &self.elf) {
            let (address, elf) = (address.clone(), elf.clone());
            return Ok(Mode::Gdb(GdbServer { address, elf }));
        }
        if let Some(core) = self.inspect.core(self.elf.as_ref()) {
            return Ok(Mode::Core(core));
        }
        if self.elf.is_some() {
            let kind = ErrorKind::MissingRequiredArgument;
            return Err(command().error(kind, "--elf is only for --image, --gdb and --core"));
        }
        if self.inspect.is_without_pid() {
            let kind = ErrorKind::MissingRequiredArgument;
            return Err(command().error(kind, inspect::ONLY_WITH_PID));
        }
        if let Some(inspect) = self.inspect.inspect() {
            return Ok(Mode::Inspect(inspect, self.launch(None)));
        }
        if self.command.is_empty() {
            return Err(command().error(
                ErrorKind::MissingRequiredArgument,
                "no program to record; try: ctp-record -- ./app",
            ));
        }
        let is_check = self.check_probe;
        let flight = self.flight()?;
        let launch = self.launch(flight);
        Ok(if is_check {
            Mode::CheckProbe(launch)
        } else {
            Mode::Launch(launch)
        })
    }

    fn launch(self, flight: Option<Flight>) -> Launch {
        let buffer = self
            .buffer
            .unwrap_or_else(|| capacity::buffer(capacity::memory_bytes()));
        Launch {
            command: self.command,
            stations: self.stations,
            lane_records: if self.summary {
                0
            } else {
                lane_records(flight.as_ref().map_or(buffer, |flight| flight.room(buffer)))
            },
            summary: self.summary,
            flight,
            stuck_after: self.stuck_after,
            inherit_fd: self.inherit_fd,
            wait_all: self.wait_all,
            no_doorbell: self.no_doorbell,
            precise_chains: self.precise_chains,
            freezes: !self.no_freeze,
        }
    }
}

impl Args {
    fn flight(&self) -> Result<Option<Flight>, clap::Error> {
        let Some(reach) = self.flight_recorder else {
            return Ok(None);
        };
        let refused = |why: &str| Err(command().error(ErrorKind::ArgumentConflict, why));
        match (reach, self.buffer) {
            (_, Some(0)) => {
                refused("a flight recorder keeps what threads write: --buffer 0 leaves no room")
            }
            (Reach::Bytes(_), Some(_)) => {
                refused("--flight-recorder=SIZE and --buffer say the same: leave out one of them")
            }
            _ => {
                let triggers = if self.snapshot_on.is_empty() {
                    vec![Trigger::Exit]
                } else {
                    self.snapshot_on.clone()
                };
                Ok(Some(Flight { reach, triggers }))
            }
        }
    }
}

/// Parses a reach; `all` is the default and means no limit.
fn reach(text: &str) -> Result<Reach, BadReach> {
    match text {
        "all" => Ok(Reach::All),
        text => text.parse(),
    }
}

/// The number of records in a buffer of at least this many bytes; 0 for none.
fn lane_records(bytes: u64) -> u32 {
    match bytes {
        0 => 0,
        bytes => (bytes as u32 / size_of::<LaneRecord>() as u32)
            .max(2)
            .next_power_of_two(),
    }
}

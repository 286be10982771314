//! The options of `-p` and `--core`, which inspect running processes and core files.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::help;
use crate::cli::config::{Core, HowLong, Inspect};
use crate::cli::duration;

/// Options that conflict with `-p`: those that start a program or read a dump.
const NOT_WITH_PID: [&str; 14] = [
    "command",
    "image",
    "gdb",
    "check_probe",
    "summary",
    "flight_recorder",
    "wait_all",
    "stations",
    "buffer",
    "stuck_after",
    "no_doorbell",
    "precise_chains",
    "inherit_fd",
    "elf",
];

/// Options that conflict with `--core`: a core file shows a single moment of a single process.
const NOT_WITH_CORE: [&str; 20] = [
    "command",
    "image",
    "gdb",
    "check_probe",
    "summary",
    "flight_recorder",
    "wait_all",
    "stations",
    "buffer",
    "stuck_after",
    "no_doorbell",
    "precise_chains",
    "no_freeze",
    "inherit_fd",
    "pid",
    "inspections",
    "every",
    "duration",
    "interrupt",
    "no_attach",
];

/// How many inspections are made, unless the user says otherwise. A certain verdict needs two.
const USUAL_INSPECTIONS: u32 = 2;

/// The error for options that need `-p`. Clap does not check this if a program is given, too.
pub const ONLY_WITH_PID: &str = "--inspections, --every, --duration, --interrupt, --no-attach and --debug-dir are \
only for -p PID (--debug-dir also for --core)";

#[derive(Args, Debug)]
pub struct InspectArgs {
    /// Inspect a running process; may be repeated
    #[arg(help_heading = help::INSTEAD, short, long, value_name = "PID",
          conflicts_with_all = NOT_WITH_PID, value_parser = clap::value_parser!(u32).range(1..))]
    pid: Vec<u32>,

    /// Inspect a core file; --elf names its program if that has moved
    #[arg(help_heading = help::INSTEAD, long, value_name = "FILE",
          conflicts_with_all = NOT_WITH_CORE)]
    core: Option<PathBuf>,

    /// With -p: how many inspections to make [default: 2]
    #[arg(help_heading = help::INSTEAD, long, alias = "looks", value_name = "N",
          value_parser = clap::value_parser!(u32).range(1..))]
    inspections: Option<u32>,

    /// With -p: the time between two inspections [default: 1s]
    #[arg(help_heading = help::INSTEAD, long, value_name = "DURATION",
          value_parser = duration::parse)]
    every: Option<Duration>,

    /// With -p: inspect until this much time has passed, or until Ctrl-C
    #[arg(help_heading = help::INSTEAD, short, long, value_name = "DURATION",
          conflicts_with = "inspections", value_parser = duration::parse)]
    duration: Option<Duration>,

    /// With -p: stop running threads for microseconds, to see their stacks
    #[arg(help_heading = help::INSTEAD, long)]
    interrupt: bool,

    /// With -p: only inspect, even if the process has a probe
    #[arg(help_heading = help::INSTEAD, long)]
    no_attach: bool,

    /// With -p: end when the program that started ctp-record ends, as ctp-report --top needs
    #[arg(long, requires = "pid", hide = true)]
    end_with_parent: bool,

    /// With -p or --core: separate debug info may be here; may be repeated
    #[arg(help_heading = help::INSTEAD, long, value_name = "DIR")]
    debug_dir: Vec<PathBuf>,
}

impl InspectArgs {
    /// Whether options are given that only apply to a process or a core file, although neither is given.
    pub fn is_without_pid(&self) -> bool {
        let has_times =
            self.inspections.is_some() || self.every.is_some() || self.duration.is_some();
        let has_option = has_times || self.interrupt || self.no_attach;
        let has_target = !self.pid.is_empty() || self.core.is_some();
        !has_target && (has_option || !self.debug_dir.is_empty())
    }

    /// The core file to inspect, if any.
    pub fn core(&self, elf: Option<&PathBuf>) -> Option<Core> {
        Some(Core {
            file: self.core.clone()?,
            elf: elf.cloned(),
            debug_directories: self.debug_dir.clone(),
        })
    }

    /// The processes to inspect, if any.
    pub fn inspect(&self) -> Option<Inspect> {
        if self.pid.is_empty() {
            return None;
        }
        let inspections = self.inspections.unwrap_or(USUAL_INSPECTIONS);
        Some(Inspect {
            pids: without_repeated(&self.pid),
            how_long: self
                .duration
                .map_or(HowLong::Inspections(inspections), HowLong::Time),
            every: self.every.unwrap_or(Duration::from_secs(1)),
            interrupts: self.interrupt,
            attaches: !self.no_attach,
            ends_with_parent: self.end_with_parent,
            debug_directories: self.debug_dir.clone(),
        })
    }
}

fn without_repeated(pids: &[u32]) -> Vec<u32> {
    let mut distinct = Vec::new();
    for pid in pids {
        if !distinct.contains(pid) {
            distinct.push(*pid);
        }
    }
    distinct
}

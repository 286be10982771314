//! Runs a program and records what its coroutines do, from outside.
//!
//! You provide a program that links a probe, `ctp-nostd` or another for cTP v1. This crate provides the shared memory for
//! the program's events, reads the memory while the program runs and after the program died, and writes a trace.
//! Recording stops no thread of the program. Symbol names are looked up later, by `ctp-report`.
//!
//! With the crate `ctp_inspect`, this crate also inspects a running process (`-p`) or a core file (`--core`). If a
//! running process links a probe, its events are recorded from then on.

mod attach;
mod check;
mod cli;
mod closing;
mod connect;
mod control;
mod crash;
mod error;
mod flight;
pub mod harvest;
mod image;
mod inspection;
mod launch;
mod leaves;
mod live;
mod memory;
mod monitor;
mod observe;
mod output;
mod proc;
mod run;
mod session;

pub use cli::args::{Args, print_error_or_help};
pub use cli::config::{
    Config, Core, DumpFile, Flight, GdbServer, HowLong, Inspect, Launch, Mode, Verbosity,
};
pub use error::{ControlError, Error, ImageError, InspectError, LiveError, StartError, TraceError};
pub use flight::{FlightHistory, RecordingEnd, SnapshotSummary, last_snapshot_of, snapshot_of};
pub use image::{memory_of, settle};
pub use live::{GdbError, SourceError};
pub use memory::shm::Memory;
pub use output::backlog;
pub use proc::maps;
pub use run::{print_error, run};
pub use session::pace;

//! Errors before the program's first instruction.

use std::fmt;
use std::io;

use super::limits::{is_no_thread_left, no_thread, remedy};
use crate::cli::words::size;
use crate::connect::rendezvous::is_no_descriptor_left;
use crate::launch::signals::Arrived;

/// Why the program could not be started.
#[derive(Debug)]
#[non_exhaustive]
pub enum StartError {
    /// Shared memory of this size cannot be created.
    Memory(u64, io::Error),
    /// The socket cannot be created.
    Socket(io::Error),
    /// A signal came before the program was started.
    Interrupted(Arrived),
    /// The program does not exist.
    NoProgram(String),
    /// The program does not exist, and its name looks like the value of `--flight-recorder`.
    NoProgramButReach(String),
    /// The program does not exist and is named `control`: the subcommand must come before all options.
    NoProgramButControl,
    /// The program is a script, and its interpreter does not exist.
    NoInterpreter(String, String),
    /// The program cannot be executed.
    NotExecutable(String, io::Error),
}

impl StartError {
    /// The exit status of the recorder. As in a shell: 127 if the program does not exist, 126 if it cannot
    /// be executed, 128 and the signal's number after a signal. Otherwise 1.
    pub fn status(&self) -> u8 {
        match self {
            StartError::NoProgram(_)
            | StartError::NoProgramButReach(_)
            | StartError::NoProgramButControl
            | StartError::NoInterpreter(..) => 127,
            StartError::NotExecutable(..) => 126,
            StartError::Interrupted(signal) => 128 + signal.number as u8,
            StartError::Memory(..) | StartError::Socket(_) => 1,
        }
    }
}

const SMALLER: &str = "try a smaller --buffer or -n";
const TMPDIR: &str = "is TMPDIR a directory that you can write to?";

impl fmt::Display for StartError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StartError::Memory(_, error) if is_no_thread_left(error) => {
                out.write_str(&no_thread(error))
            }
            StartError::Memory(bytes, error) => {
                let (size, remedy) = (size(*bytes), remedy(error, SMALLER));
                write!(
                    out,
                    "cannot make shared memory of {size}: {error}; {remedy}"
                )
            }
            StartError::Socket(error) => {
                let remedy = remedy(error, TMPDIR);
                write!(out, "cannot make a socket: {error}; {remedy}")
            }
            StartError::Interrupted(signal) => {
                write!(out, "{signal} came before the program was started")
            }
            StartError::NoProgram(name) => {
                write!(out, "{name}: no such program; is the path right?")
            }
            StartError::NoProgramButReach(name) => write!(
                out,
                "{name}: no such program; for a flight recorder of that: --flight-recorder={name}"
            ),
            StartError::NoProgramButControl => out.write_str(
                "control: no such program; to control a recording, `control` comes before all options: \
                 ctp-record control PID",
            ),
            StartError::NoInterpreter(name, interpreter) => write!(
                out,
                "{name}: its interpreter {interpreter} is missing; is its first line right?"
            ),
            StartError::NotExecutable(name, error) if is_no_descriptor_left(error) => {
                write!(out, "{name}: cannot be started: {error}; raise ulimit -n")
            }
            StartError::NotExecutable(name, error) => {
                write!(out, "{name}: cannot be executed: {error}")
            }
        }
    }
}

impl std::error::Error for StartError {}

//! What can go wrong before or after the program runs, each with its way out.

use std::fmt;
use std::io;
use std::path::PathBuf;

use ctp_nostd::Refused;

use crate::rendezvous;
use crate::words::size;

/// Why nothing, or not everything, was recorded.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The output cannot be made.
    Output(PathBuf, io::Error),
    /// A snapshot could not be written, and nothing of it is kept.
    Write(PathBuf, io::Error),
    /// The output could not be written to its end.
    CutShort(PathBuf, io::Error),
    /// The output takes no more, while the recording goes on.
    Full(PathBuf, io::Error),
    /// The output is whole but lies elsewhere: what was wanted, where it is, and why.
    Misplaced(PathBuf, PathBuf, io::Error),
    /// The output is not where it was made.
    Gone(PathBuf),
    /// Shared memory of so many bytes cannot be made.
    Memory(u64, io::Error),
    /// What was asked for cannot be printed.
    Print(io::Error),
    /// The socket cannot be made.
    Socket(io::Error),
    /// The program does not exist.
    NoProgram(String),
    /// The program does not exist, and looks like what a flight recorder is to keep.
    NoProgramButReach(String),
    /// The program is a script, and what is to run it does not exist.
    NoInterpreter(String, String),
    /// The program cannot be executed.
    NotExecutable(String, io::Error),
    /// Waiting failed.
    Wait(io::Error),
    /// A dump or its program cannot be read.
    Input(PathBuf, io::Error),
    /// A dump holds no memory of a probe.
    NoImage(PathBuf),
    /// A dump holds memory of a probe, but it is damaged.
    BadImage(PathBuf, Refused),
    /// An ELF file is none.
    NotElf(PathBuf),
    /// There is no such process to control.
    NoProcess(u32),
    /// This process neither records nor is recorded.
    NoRecording(u32),
    /// This process is another user's.
    NotPermitted(u32),
    /// The recording of this process is over.
    Ended(u32),
    /// The recorder of this process said nothing.
    Unanswered(u32, io::Error),
    /// The recorder will not, for this reason.
    Refused(String),
}

impl Error {
    /// The process's exit status: as a shell's for a program that cannot be executed, else 1.
    pub fn status(&self) -> u8 {
        match self {
            Error::NoProgram(_) | Error::NoProgramButReach(_) | Error::NoInterpreter(..) => 127,
            Error::NotExecutable(..) => 126,
            _ => 1,
        }
    }
}

/// Neither a file nor memory is refused so: it is the thread that works on it.
fn is_no_thread_left(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::WouldBlock
}

/// What helps where the user's own limits are in the way, else this.
fn remedy(error: &io::Error, usual: &str) -> String {
    match error.kind() {
        _ if rendezvous::is_no_descriptor_left(error) => "raise ulimit -n".to_owned(),
        // Some file systems have a limit of their own.
        io::ErrorKind::FileTooLarge => format!("raise ulimit -f, or {usual}"),
        _ => usual.to_owned(),
    }
}

const ANOTHER_PLACE: &str = "choose another place with -o FILE";

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Output(_, error) | Error::Memory(_, error) if is_no_thread_left(error) => {
                write!(out, "cannot start a thread: {error}; raise ulimit -u")
            }
            Error::Output(path, error) => write!(
                out,
                "cannot create {}: {error}; {}",
                path.display(),
                remedy(error, ANOTHER_PLACE)
            ),
            Error::Write(path, error) => write!(
                out,
                "cannot write {}: {error}; {}",
                path.display(),
                remedy(error, ANOTHER_PLACE)
            ),
            Error::CutShort(path, error) => write!(
                out,
                "cannot write {}: {error}; it can be read up to here",
                path.display()
            ),
            Error::Full(path, error) => write!(
                out,
                "nothing more can be written to {}: {error}; {}",
                path.display(),
                remedy(
                    error,
                    "free space and record anew, or choose another place with -o FILE"
                )
            ),
            Error::Misplaced(path, draft, error) => write!(
                out,
                "cannot put the trace in place as {}: {error}; it is in {}",
                path.display(),
                draft.display()
            ),
            Error::Gone(path) => write!(
                out,
                "{} was written, but somebody has moved, removed, cut or replaced it since",
                path.display()
            ),
            Error::Memory(bytes, error) => write!(
                out,
                "cannot make shared memory of {}: {error}; {}",
                size(*bytes),
                remedy(error, "try a smaller --buffer or -n")
            ),
            Error::Print(error) => write!(out, "cannot print: {error}"),
            Error::Socket(error) => write!(
                out,
                "cannot make a socket: {error}; {}",
                remedy(error, "is TMPDIR a directory that you can write to?")
            ),
            Error::NoProgram(name) => {
                write!(out, "{name}: no such program; is the path right?")
            }
            Error::NoProgramButReach(name) => write!(
                out,
                "{name}: no such program; for a flight recorder of that: --flight-recorder={name}"
            ),
            Error::NoInterpreter(name, interpreter) => write!(
                out,
                "{name}: its interpreter {interpreter} is missing; is its first line right?"
            ),
            Error::NotExecutable(name, error) if rendezvous::is_no_descriptor_left(error) => {
                write!(out, "{name}: cannot be started: {error}; raise ulimit -n")
            }
            Error::NotExecutable(name, error) => {
                write!(out, "{name}: cannot be executed: {error}")
            }
            Error::Wait(error) if rendezvous::is_no_descriptor_left(error) => {
                write!(out, "cannot wait for the program: {error}; raise ulimit -n")
            }
            Error::Wait(error) => write!(out, "cannot wait for the program: {error}"),
            Error::Input(path, error) => write!(out, "cannot read {}: {error}", path.display()),
            Error::NoImage(path) => write!(
                out,
                "{} holds no memory of a probe (no cTP magic in it); dump the whole of the static \
                 that ctp_nostd::Memory makes",
                path.display()
            ),
            Error::BadImage(path, refused) => write!(
                out,
                "{} holds memory of a probe, but {refused}; dump the whole of it",
                path.display()
            ),
            Error::NotElf(path) => write!(
                out,
                "{} is no ELF file; --elf wants the program that the dump was taken from",
                path.display()
            ),
            Error::NoProcess(pid) => write!(out, "there is no process {pid}"),
            Error::NoRecording(pid) => write!(
                out,
                "process {pid} neither records nor was started by a recorder: start it with \
                 ctp-record -- PROGRAM"
            ),
            Error::NotPermitted(pid) => write!(
                out,
                "not permitted: process {pid} is another user's, and so is its recording"
            ),
            Error::Ended(pid) => write!(out, "the recording of process {pid} has ended"),
            Error::Unanswered(pid, error) => write!(
                out,
                "the recorder of process {pid} does not answer: {error}; is it stopped?"
            ),
            Error::Refused(sentence) => write!(out, "{sentence}"),
        }
    }
}

impl std::error::Error for Error {}

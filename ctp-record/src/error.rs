//! Errors before or after the program runs, each with a remedy.

mod control;
mod image;
mod inspect;
mod limits;
mod live;
mod start;
mod trace;

use std::fmt;
use std::io;
use std::path::PathBuf;

use crate::connect::rendezvous::is_no_descriptor_left;

pub use control::ControlError;
pub use image::ImageError;
pub use inspect::InspectError;
pub use live::LiveError;
pub use start::StartError;
pub use trace::TraceError;

/// Why the recording is missing or incomplete.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The program could not be started.
    Start(StartError),
    /// The trace is missing or incomplete.
    Trace(TraceError),
    /// The dump cannot be read.
    Image(ImageError),
    /// A running target cannot be read from outside.
    Live(LiveError),
    /// A process cannot be inspected.
    Inspect(InspectError),
    /// A control request failed.
    Control(ControlError),
    /// The output cannot be printed.
    Print(io::Error),
    /// The man pages cannot be written to this directory.
    ManPages(PathBuf, io::Error),
    /// Waiting failed.
    Wait(io::Error),
}

impl Error {
    /// The exit status: as in a shell for a program that cannot be executed, else 1.
    pub fn status(&self) -> u8 {
        match self {
            Error::Start(error) => error.status(),
            _ => 1,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Start(error) => error.fmt(out),
            Error::Trace(error) => error.fmt(out),
            Error::Image(error) => error.fmt(out),
            Error::Live(error) => error.fmt(out),
            Error::Inspect(error) => error.fmt(out),
            Error::Control(error) => error.fmt(out),
            Error::Print(error) => write!(out, "cannot print: {error}"),
            Error::ManPages(directory, error) => {
                let directory = directory.display();
                write!(out, "cannot write man pages to {directory}: {error}")
            }
            Error::Wait(error) if is_no_descriptor_left(error) => {
                write!(out, "cannot wait for the program: {error}; raise ulimit -n")
            }
            Error::Wait(error) => write!(out, "cannot wait for the program: {error}"),
        }
    }
}

impl std::error::Error for Error {}

impl From<StartError> for Error {
    fn from(error: StartError) -> Self {
        Error::Start(error)
    }
}

impl From<TraceError> for Error {
    fn from(error: TraceError) -> Self {
        Error::Trace(error)
    }
}

impl From<ImageError> for Error {
    fn from(error: ImageError) -> Self {
        Error::Image(error)
    }
}

impl From<LiveError> for Error {
    fn from(error: LiveError) -> Self {
        Error::Live(error)
    }
}

impl From<InspectError> for Error {
    fn from(error: InspectError) -> Self {
        Error::Inspect(error)
    }
}

impl From<ControlError> for Error {
    fn from(error: ControlError) -> Self {
        Error::Control(error)
    }
}

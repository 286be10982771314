//! What can go wrong with a GDB server.

use std::fmt;
use std::io;

use super::packet::BadPacket;

/// Why a GDB server cannot be used.
#[derive(Debug)]
#[non_exhaustive]
pub enum GdbError {
    /// There is no connection to this address.
    Connect(String, io::Error),
    /// The connection broke.
    Io(io::Error),
    /// The server closed the connection.
    Closed,
    /// The server did not answer this request in time.
    Silent(String),
    /// The server sent something that is no packet of the protocol.
    Garbage,
    /// The server answered this request with something else than the protocol provides for.
    Unexpected(String, String),
    /// The server cannot read the memory at this address.
    Unreadable(u64),
    /// No static of the program is the memory of a probe in the target.
    NoMemory(String),
}

impl GdbError {
    /// The error for an answer, of which the beginning is shown.
    pub(super) fn unexpected(answer: &[u8], request: &str) -> Self {
        let begin = &answer[..answer.len().min(32)];
        let text = String::from_utf8_lossy(begin).into_owned();
        GdbError::Unexpected(request.to_owned(), text)
    }
}

impl fmt::Display for GdbError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GdbError::Connect(address, error) => write!(out, "no connection to {address}: {error}"),
            GdbError::Io(error) => write!(out, "the connection broke: {error}"),
            GdbError::Closed => out.write_str("the GDB server closed the connection"),
            GdbError::Silent(request) => {
                write!(out, "the GDB server did not answer to {request} in time")
            }
            GdbError::Garbage => out.write_str("the server does not speak the protocol of GDB"),
            GdbError::Unexpected(request, answer) => {
                write!(out, "the GDB server answered {answer:?} to {request}")
            }
            GdbError::Unreadable(address) => {
                write!(out, "the GDB server cannot read the memory at {address:#x}")
            }
            GdbError::NoMemory(elf) => write!(
                out,
                "no static of {elf} is the memory of a probe in the target: it runs another build, or has \
                 not started"
            ),
        }
    }
}

impl std::error::Error for GdbError {}

impl From<BadPacket> for GdbError {
    fn from(_: BadPacket) -> Self {
        GdbError::Garbage
    }
}

//! Why a process that was asked to attach did not.

use core::fmt;

use rustix::io::Errno;

use crate::memory::Refused;

/// Why a process that was asked to attach did not. Reported in one line.
#[derive(Debug)]
pub(super) enum NotAttached {
    /// The variable that names the memory is not set, but others are.
    NoPath,
    /// `CTP_MAX_STATIONS` is not a number.
    NotANumber,
    /// The file is too short for a header and one station.
    NoRoom,
    /// There is no such file: the recorder is gone, or the process sees another `/proc`.
    Absent(Errno),
    /// The process may not open the file, for example after a change of user.
    Forbidden(Errno),
    /// A system call failed.
    Os(&'static str, Errno),
    /// The file is not a recorder's memory.
    Memory(Refused),
    /// The program has no libc, and did not set up thread-local storage itself.
    NoThreadStorage,
}

impl fmt::Display for NotAttached {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotAttached::NoPath => write!(out, "CTP_SHM_PATH is not set"),
            NotAttached::NotANumber => write!(out, "CTP_MAX_STATIONS is not a number"),
            NotAttached::NoRoom => write!(out, "the file at CTP_SHM_PATH is too short"),
            NotAttached::Absent(error) => opening(*error).fmt(out),
            NotAttached::Forbidden(error) => {
                write!(out, "{}; ctp-record --inherit-fd may help", opening(*error))
            }
            NotAttached::Os(what, error) => {
                write!(out, "{what} failed (error {})", error.raw_os_error())
            }
            NotAttached::Memory(refused) => write!(out, "CTP_SHM_PATH: {refused}"),
            NotAttached::NoThreadStorage => {
                write!(
                    out,
                    "this program has no thread-local storage; use a Platform of your own"
                )
            }
        }
    }
}

fn opening(error: Errno) -> NotAttached {
    NotAttached::Os("opening CTP_SHM_PATH", error)
}

//! Signals to the recorder, and what becomes of them.
//!
//! Those with which users end programs, or tell them something, are the program's: each is passed
//! on, unless the program has got it too. A second one that asks for an end ends the recording.
//! Every other signal that would end the recorder ends the recording: the trace is written to its
//! end, and the program goes on without a recorder. A fault of the recorder itself (SIGSEGV and
//! the like) cannot be outlived.

use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::sync::Arc;

use rustix::process::Signal;

use crate::proc::process::own_status;
use signal_hook::consts::{
    SIGABRT, SIGALRM, SIGHUP, SIGINT, SIGIO, SIGPROF, SIGQUIT, SIGSYS, SIGTERM, SIGTRAP, SIGUSR1,
    SIGUSR2, SIGVTALRM, SIGXCPU,
};
use signal_hook::iterator::backend::SignalDelivery;
use signal_hook::iterator::exfiltrator::origin::WithOrigin;
use signal_hook::low_level::siginfo::{Cause, Sent};
use signal_hook::low_level::signal_name;

use crate::error::StartError;
use crate::launch::inherited;

/// One that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrived {
    /// Its number.
    pub number: i32,
    /// The terminal sends to the whole foreground group, so the program has got it too; one that
    /// a process sent, it has not.
    pub to_us_alone: bool,
}

impl Arrived {
    /// Whether it asks the program to end: others mean what the program takes them for.
    pub fn asks_for_an_end(self) -> bool {
        ENDS.contains(&self.number)
    }

    /// Whether the recording is to end, and the program is not to know.
    pub fn ends_the_recording(self) -> bool {
        !self.asks_for_an_end() && !FORWARDED.contains(&self.number)
    }

    /// What to pass on to the program.
    pub fn signal(self) -> Option<Signal> {
        Signal::from_named_raw(self.number)
    }
}

impl fmt::Display for Arrived {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (signal_name(self.number), self.number) {
            (Some(name), _) => out.write_str(name),
            (None, libc::SIGPWR) => out.write_str("SIGPWR"),
            (None, libc::SIGSTKFLT) => out.write_str("SIGSTKFLT"),
            (None, number) => write!(out, "signal {number}"),
        }
    }
}

/// They ask a program to end.
const ENDS: [i32; 4] = [SIGINT, SIGTERM, SIGHUP, SIGQUIT];
/// They tell a program something.
const FORWARDED: [i32; 2] = [SIGUSR1, SIGUSR2];
/// They are about the process that gets them. Real-time signals are so, too.
const ABOUT_US: [i32; 10] = [
    SIGALRM,
    SIGXCPU,
    SIGVTALRM,
    SIGPROF,
    SIGIO,
    SIGABRT,
    SIGTRAP,
    SIGSYS,
    libc::SIGPWR,
    libc::SIGSTKFLT,
];

/// Notices the signals that users send to programs.
pub struct Signals {
    delivery: SignalDelivery<UnixStream, WithOrigin>,
}

impl std::fmt::Debug for Signals {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Signals").finish_non_exhaustive()
    }
}

impl Signals {
    /// From now on, and these too. What this process was told to ignore stays ignored, here and in the program.
    ///
    /// # Errors
    /// Those of the kernel.
    pub fn watch(also: &[i32]) -> io::Result<Self> {
        let (read, write) = UnixStream::pair()?;
        let ignored = ignored_mask();
        let requested = ENDS
            .into_iter()
            .chain(FORWARDED)
            .chain(ABOUT_US)
            .chain(libc::SIGRTMIN()..=libc::SIGRTMAX())
            .filter(|signal| ignored >> (signal - 1) & 1 == 0)
            .chain(also.iter().copied());
        let delivery = SignalDelivery::with_pipe(read, write, WithOrigin::default(), requested)?;
        Ok(Signals { delivery })
    }

    /// Those that arrived since the last call.
    pub fn arrived(&mut self) -> Vec<Arrived> {
        let origin = |origin: signal_hook::low_level::siginfo::Origin| Arrived {
            number: origin.signal,
            to_us_alone: matches!(
                origin.cause,
                Cause::Sent(Sent::User | Sent::TKill | Sent::Queue)
            ),
        };
        self.delivery.pending().map(origin).collect()
    }
}

impl Signals {
    /// Has one come that makes it pointless to start the program?
    ///
    /// # Errors
    /// [`StartError::Interrupted`].
    pub fn check_none_ends_wait(&mut self) -> Result<(), StartError> {
        let mut arrived = self.arrived().into_iter();
        let ends =
            arrived.find(|arrived| arrived.asks_for_an_end() || arrived.ends_the_recording());
        ends.map_or(Ok(()), |signal| Err(StartError::Interrupted(signal)))
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.delivery.get_read().as_fd()
    }
}

/// A file that may not grow any more is an error to be told, not a death. With a handler rather
/// than by ignoring the signal, because programs inherit what is ignored.
///
/// # Errors
/// Those of the kernel.
pub fn survive_file_limit() -> io::Result<()> {
    let signal = Signal::XFSZ.as_raw();
    if ignored_mask() >> (signal - 1) & 1 == 0 {
        signal_hook::flag::register(signal, Arc::default())?;
    }
    Ok(())
}

/// Where children are ignored, the kernel keeps no status of them, and there would be none to wait
/// for: we notice them, and the program ignores them as it would without us.
///
/// # Errors
/// Those of the kernel.
pub fn notice_children(program: &mut Command) -> io::Result<()> {
    let signal = Signal::CHILD.as_raw();
    if ignored_mask() >> (signal - 1) & 1 != 0 {
        signal_hook::flag::register(signal, Arc::default())?;
        inherited::ignore(program, signal);
    }
    Ok(())
}

/// Bit n−1 for each signal n that is ignored, as inherited.
fn ignored_mask() -> u64 {
    let digits = own_status("SigIgn:");
    digits
        .and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok())
        .unwrap_or(0)
}

//! Catches the signals to the recorder, and decides what each of them means.
//!
//! Signals with which users end or notify programs are meant for the program. Each is passed on, unless the program has
//! received it as well. The second signal that asks for an end ends the recording. Every other signal that would kill
//! the recorder ends the recording: the trace is completed, and the program goes on without a recorder. A fault of the
//! recorder itself (SIGSEGV and the like) cannot be handled.

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

/// A signal that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrived {
    /// The signal number.
    pub number: i32,
    /// Whether only the recorder received the signal. The terminal signals the whole foreground group, including the
    /// program; another process signals the recorder only.
    pub is_for_recorder_only: bool,
}

impl Arrived {
    /// Whether the signal asks the program to end. The meaning of other signals is up to the program.
    pub fn asks_for_an_end(self) -> bool {
        ENDS.contains(&self.number)
    }

    /// Whether the signal ends the recording and is not passed on.
    pub fn ends_the_recording(self) -> bool {
        !self.asks_for_an_end() && !FORWARDED.contains(&self.number)
    }

    /// The signal to pass on to the program.
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

/// Signals that ask a program to end.
const ENDS: [i32; 4] = [SIGINT, SIGTERM, SIGHUP, SIGQUIT];
/// Signals that notify a program.
const FORWARDED: [i32; 2] = [SIGUSR1, SIGUSR2];
/// Signals that concern the process that receives them. So do real-time signals.
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

/// Receives signals.
pub struct Signals {
    delivery: SignalDelivery<UnixStream, WithOrigin>,
}

impl std::fmt::Debug for Signals {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Signals").finish_non_exhaustive()
    }
}

impl Signals {
    /// Starts to receive signals, including those in `also`. Signals that this process inherited as ignored stay
    /// ignored, here and in the program.
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

    /// The signals since the last call.
    pub fn arrived(&mut self) -> Vec<Arrived> {
        let arrived = self.delivery.pending().map(|origin| Arrived {
            number: origin.signal,
            is_for_recorder_only: matches!(
                origin.cause,
                Cause::Sent(Sent::User | Sent::TKill | Sent::Queue)
            ),
        });
        arrived.collect()
    }
}

impl Signals {
    /// Fails if a signal has arrived after which the program should not be started.
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

/// Makes a write fail at the file size limit, instead of letting the signal kill the recorder. Installs a handler
/// instead of ignoring the signal, because programs inherit ignored signals.
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

/// Receives SIGCHLD even if it is inherited as ignored: otherwise the kernel would keep no exit status. The program
/// still starts with the signal ignored.
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

/// The inherited ignored signals: bit n−1 for signal n.
fn ignored_mask() -> u64 {
    let digits = own_status("SigIgn:");
    digits
        .and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok())
        .unwrap_or(0)
}

//! The life of the program under the recorder, each stage a type of its own:
//! `Prepared -> Running -> Ended`.
//!
//! Memory and socket exist before the program's first instruction, so that it need not be
//! stopped to be attached to.

pub mod inherited;
pub mod interpreter;
pub mod signals;
pub mod survivors;

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, ExitStatus};

use ctp_trace::escape::escaped_bytes;
use ctp_trace::record::{ExitReason, ProcessExit};
use rustix::process::{
    Pid, PidfdFlags, Resource, Rlimit, Signal, getrlimit, pidfd_open, pidfd_send_signal, setrlimit,
};

use crate::cli::config::Launch;
use crate::connect::rendezvous::Rendezvous;
use crate::error::{Error, StartError};
use crate::flight::Reach;
use crate::memory::shm::Memory;
use crate::session::processor_limit;

/// All that the program needs is there.
#[derive(Debug)]
pub struct Prepared<'r> {
    /// What it writes into.
    pub memory: &'r Memory,
    /// Where it rings.
    pub rendezvous: &'r Rendezvous,
}

/// The program runs.
#[derive(Debug)]
pub struct Running {
    child: Child,
    handle: OwnedFd,
}

/// How the program ended.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    status: ExitStatus,
}

impl Prepared<'_> {
    /// Starts the program: no shell, its arguments byte for byte, our terminal and our group.
    ///
    /// # Errors
    /// It does not exist or cannot be executed.
    pub fn launch(self, launch: &Launch) -> Result<Running, Error> {
        let (program, arguments) = launch
            .command
            .split_first()
            .expect("checked by the arguments");
        // Once the program runs it is too late to find that there is no descriptor left for it.
        let spare = self
            .rendezvous
            .listener()
            .try_clone()
            .map_err(Error::Wait)?;
        let mut command = Command::new(program);
        signals::notice_children(&mut command).map_err(Error::Wait)?;
        if inherited::ignores_broken_pipes() {
            inherited::ignore(&mut command, Signal::PIPE.as_raw());
        }
        let spawned = command
            .args(arguments)
            .env("CTP_SHM_PATH", self.memory.path(launch.inherit_fd))
            .env("CTP_SOCK_PATH", self.rendezvous.path())
            .env("CTP_MAX_STATIONS", launch.stations.to_string())
            .spawn();
        let child = spawned.map_err(|error| why(program, launch.flight.is_some(), error))?;
        drop(spare);
        raise_descriptor_limit();
        processor_limit::keep_time_to_finish();
        let pid = Pid::from_child(&child);
        let handle =
            pidfd_open(pid, PidfdFlags::empty()).map_err(|error| Error::Wait(error.into()))?;
        Ok(Running { child, handle })
    }
}

/// Why a program cannot be started, by a flight recorder or not.
fn why(program: &OsStr, in_flight: bool, error: io::Error) -> StartError {
    let name = escaped_bytes(program.as_bytes()).into_owned();
    let is_reach = in_flight && name.parse::<Reach>().is_ok();
    match (error.kind(), interpreter::missing_for(program)) {
        (io::ErrorKind::NotFound, Some(interpreter)) => {
            StartError::NoInterpreter(name, interpreter)
        }
        (io::ErrorKind::NotFound, None) if is_reach => StartError::NoProgramButReach(name),
        (io::ErrorKind::NotFound, None) if name == "control" => StartError::NoProgramButControl,
        (io::ErrorKind::NotFound, None) => StartError::NoProgram(name),
        _ => StartError::NotExecutable(name, error),
    }
}

/// Each process that attaches costs a descriptor. Raised once the program runs, which has the
/// limit that it would have had without us.
fn raise_descriptor_limit() {
    let limit = getrlimit(Resource::Nofile);
    let current = limit.maximum;
    // Where it stays as it is, those who are too many are turned away.
    let _ = setrlimit(Resource::Nofile, Rlimit { current, ..limit });
}

impl Running {
    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Passes a signal on. If the program has just ended, nobody needs it.
    pub fn signal(&self, signal: Signal) {
        let _ = pidfd_send_signal(&self.handle, signal);
    }

    /// How it ended, once it has.
    ///
    /// # Errors
    /// Those of the kernel.
    pub fn ended(&mut self) -> io::Result<Option<Ended>> {
        Ok(self.child.try_wait()?.map(|status| Ended { status }))
    }
}

impl AsFd for Running {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }
}

impl Ended {
    /// For the trace.
    pub fn exit_reason(self) -> ExitReason {
        match (self.status.code(), self.status.signal()) {
            (Some(code), _) => ExitReason::Exited(code),
            (None, Some(signal)) => ExitReason::Signalled(signal),
            (None, None) => ExitReason::Stopped,
        }
    }

    /// For the trace, when it ended before the recording did.
    pub fn process_exit(self) -> ProcessExit {
        match self.exit_reason() {
            ExitReason::Exited(status) => ProcessExit::Exited(status),
            ExitReason::Signalled(signal) => ProcessExit::Signalled(signal),
            _ => ProcessExit::Disappeared,
        }
    }
}

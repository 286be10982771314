//! The life of the program under the recorder, with a type for each stage: `Prepared -> Running -> ProgramEnd`.
//!
//! Memory and socket exist before the program's first instruction, so that the program need not be stopped to attach.
//! A program that is already running attaches when it notices a request, see [`crate::attach`].

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
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Resource, Rlimit, Signal, getrlimit, pidfd_open, pidfd_send_signal, setrlimit,
};

use crate::attach::FoundPrograms;
use crate::cli::config::{Inspect, Launch};
use crate::connect::rendezvous::Rendezvous;
use crate::error::{Error, InspectError, StartError};
use crate::flight::Reach;
use crate::memory::shm::Memory;
use crate::session::processor_limit;

/// What must exist before the program starts or attaches.
#[derive(Debug)]
pub struct Prepared<'r> {
    /// The memory into which the program writes.
    pub memory: &'r Memory,
    /// The socket at which the program wakes the recorder.
    pub rendezvous: &'r Rendezvous,
}

/// The running program.
#[derive(Debug)]
pub struct Running {
    process: RunningProcess,
    handle: OwnedFd,
}

/// The process of the program.
#[derive(Debug)]
enum RunningProcess {
    Launched(Child),
    /// The program with this process id was already running when the recorder started.
    Found(u32),
}

/// How the program ended.
#[derive(Clone, Copy, Debug)]
pub struct ProgramEnd {
    /// The exit status. `None` for a program that the recorder did not launch.
    status: Option<ExitStatus>,
}

impl Prepared<'_> {
    /// Starts the program without a shell, with unchanged arguments, in the recorder's terminal and process group.
    ///
    /// # Errors
    /// The program does not exist or cannot be executed.
    pub fn launch(self, launch: &Launch) -> Result<Running, Error> {
        let (program, arguments) = launch
            .command
            .split_first()
            .expect("checked by the arguments");
        // Reserves a descriptor for `pidfd_open`, which must not fail after the program has started.
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
        let memory = if launch.inherit_fd {
            self.memory.inherited_path()
        } else {
            self.memory.path()
        };
        let spawned = command
            .args(arguments)
            .env("CTP_SHM_PATH", memory)
            .env("CTP_SOCK_PATH", self.rendezvous.path())
            .env("CTP_MAX_STATIONS", launch.stations.to_string())
            .spawn();
        let child =
            spawned.map_err(|error| start_error(program, launch.flight.is_some(), error))?;
        drop(spare);
        raise_descriptor_limit();
        processor_limit::keep_time_to_finish();
        let handle = handle_of(Pid::from_child(&child)).map_err(Error::Wait)?;
        let process = RunningProcess::Launched(child);
        Ok(Running { process, handle })
    }

    /// Asks the programs in `programs`, which are already running, to attach.
    ///
    /// # Errors
    /// The first process has ended.
    pub fn find(self, inspect: &Inspect, programs: &FoundPrograms) -> Result<Running, Error> {
        let pid = inspect.pids[0];
        let running = Running::found(pid).map_err(|_| InspectError::Ended(pid))?;
        raise_descriptor_limit();
        programs.request(&self).map_err(Error::Wait)?;
        Ok(running)
    }
}

/// Explains why a program cannot be started.
fn start_error(program: &OsStr, in_flight: bool, error: io::Error) -> StartError {
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

/// Raises the limit of descriptors, because each attached process costs a descriptor. Must be called after the start of
/// the program, which keeps the original limit.
fn raise_descriptor_limit() {
    let limit = getrlimit(Resource::Nofile);
    let current = limit.maximum;
    // If this fails, processes beyond the limit are turned away.
    let _ = setrlimit(Resource::Nofile, Rlimit { current, ..limit });
}

fn handle_of(pid: Pid) -> io::Result<OwnedFd> {
    Ok(pidfd_open(pid, PidfdFlags::empty())?)
}

impl Running {
    /// Opens a handle on a process that is already running.
    ///
    /// # Errors
    /// The process has ended.
    pub fn found(pid: u32) -> io::Result<Self> {
        let number = Pid::from_raw(pid as i32).ok_or(Errno::SRCH)?;
        Ok(Running {
            process: RunningProcess::Found(pid),
            handle: handle_of(number)?,
        })
    }

    /// The process id.
    pub fn pid(&self) -> u32 {
        match &self.process {
            RunningProcess::Launched(child) => child.id(),
            RunningProcess::Found(pid) => *pid,
        }
    }

    /// Sends a signal to the program. Has no effect if the program has just ended.
    pub fn signal(&self, signal: Signal) {
        let _ = pidfd_send_signal(&self.handle, signal);
    }

    /// How the program ended. `None` while it runs.
    ///
    /// # Errors
    /// A system call fails.
    pub fn ended(&mut self) -> io::Result<Option<ProgramEnd>> {
        let status = match &mut self.process {
            RunningProcess::Launched(child) => child.try_wait()?.map(Some),
            RunningProcess::Found(_) => is_readable(&self.handle)?.then_some(None),
        };
        Ok(status.map(|status| ProgramEnd { status }))
    }
}

/// Whether the process with this handle has ended.
fn is_readable(handle: &OwnedFd) -> io::Result<bool> {
    let mut end = [PollFd::new(handle, PollFlags::IN)];
    Ok(poll(&mut end, Some(&Timespec::default()))? != 0)
}

impl AsFd for Running {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }
}

impl ProgramEnd {
    /// The reason for the end of the recording.
    pub fn exit_reason(self) -> ExitReason {
        let Some(status) = self.status else {
            return ExitReason::Stopped;
        };
        match (status.code(), status.signal()) {
            (Some(code), _) => ExitReason::Exited(code),
            (None, Some(signal)) => ExitReason::Signalled(signal),
            (None, None) => ExitReason::Stopped,
        }
    }

    /// The reason for the end of the process, if the recording goes on.
    pub fn process_exit(self) -> ProcessExit {
        match self.exit_reason() {
            ExitReason::Exited(status) => ProcessExit::Exited(status),
            ExitReason::Signalled(signal) => ProcessExit::Signalled(signal),
            _ => ProcessExit::Disappeared,
        }
    }
}

//! [`ProcessTarget`]: a running process, read through `/proc`.

use std::fs::{self, File};
use std::io;
use std::ops::Range;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::FileExt as _;
use std::sync::atomic::{AtomicBool, Ordering};

use ctp_trace::record::Nanos;
use rustix::time::{ClockId, clock_gettime};

use crate::stacks::CopiedStack;
use crate::target::denial::Denial;
use crate::target::error::TargetError;
use crate::target::mapping::Mapping;
use crate::target::page_map::PageMap;
use crate::target::read_parts::read_parts;
use crate::target::status::ProcessStatus;
use crate::target::{EpollInterest, StackPointer, Target, epoll, mapping};
use crate::threads::interrupt::interrupt;
use crate::threads::{ThreadSample, ThreadState, procfs};

/// A running process, which is read by `pread` of `/proc/PID/mem`. The process is never written to. Its threads are
/// stopped only after a call of [`interrupting`](Self::interrupting).
#[derive(Debug)]
pub struct ProcessTarget {
    pid: u32,
    /// Stays with the memory of this program even if another process gets the same id.
    memory: File,
    /// Which pages were ever used; `None` if the kernel does not say.
    pages: Option<PageMap>,
    exe: Vec<u8>,
    mappings: Vec<Mapping>,
    /// Running threads are stopped for a moment.
    interrupts: bool,
    /// A running thread could not be stopped.
    is_refused: AtomicBool,
}

impl ProcessTarget {
    /// Opens the memory of a process.
    ///
    /// # Errors
    /// The process does not exist, may not be read, or is of a kind that cannot be inspected.
    pub fn open(pid: u32) -> Result<Self, TargetError> {
        let status = ProcessStatus::read(pid).ok_or(TargetError::Ended)?;
        if status.process != pid {
            return Err(TargetError::Thread(status.process));
        }
        let explain = |error| explain(error, pid, &status);
        let memory = File::open(format!("/proc/{pid}/mem")).map_err(explain)?;
        let mappings = read_mappings(pid).map_err(explain)?;
        if mappings.is_empty() {
            return Err(without_memory(&status));
        }
        if is_narrow(pid).map_err(explain)? {
            return Err(TargetError::Narrow);
        }
        Ok(ProcessTarget {
            pid,
            memory,
            pages: PageMap::open(pid).ok(),
            exe: exe(pid).map_err(explain)?,
            mappings,
            interrupts: false,
            is_refused: AtomicBool::new(false),
        })
    }

    /// From now on, each running thread is stopped for microseconds by ptrace, so that its stack is known.
    ///
    /// A system call that a thread begins at that moment may fail with `EINTR`, as at any signal.
    #[must_use]
    pub fn interrupting(mut self) -> Self {
        self.interrupts = true;
        self
    }

    /// Stops a running thread for a moment and returns its state; `Running` if the thread cannot be stopped.
    fn interrupt(&self, tid: u32) -> ThreadState {
        let found = interrupt(tid, |registers| {
            // Another process may have a thread with this id by now.
            let thread = format!("/proc/{}/task/{tid}", self.pid);
            fs::exists(thread)
                .is_ok_and(|exists| exists)
                .then(|| CopiedStack::copy(self, registers.sp))
        });
        match found {
            Ok(Some((registers, Some(stack)))) => ThreadState::Interrupted {
                registers: Box::new(registers),
                stack,
            },
            Ok(_) => ThreadState::Running,
            Err(_) => {
                self.is_refused.store(true, Ordering::Relaxed);
                ThreadState::Running
            }
        }
    }

    /// Whether the memory that was opened still belongs to a process.
    fn has_memory(&self, mappings: &[Mapping]) -> bool {
        let mut readable = mappings.iter().filter(|mapping| mapping.is_readable);
        readable.any(|mapping| self.read(mapping.start, &mut [0]) == 1)
    }
}

impl Target for ProcessTarget {
    fn pid(&self) -> u32 {
        self.pid
    }

    fn exe(&self) -> &[u8] {
        &self.exe
    }

    fn mappings(&self) -> &[Mapping] {
        &self.mappings
    }

    fn read(&self, address: u64, buffer: &mut [u8]) -> usize {
        read_parts(address, buffer, |address, buffer| {
            loop {
                match self.memory.read_at(buffer, address) {
                    Ok(bytes) => return bytes,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(_) => return 0,
                }
            }
        })
    }

    fn populated(&self, range: Range<u64>) -> Vec<Range<u64>> {
        match &self.pages {
            Some(pages) => pages.populated(range),
            None => vec![range],
        }
    }

    fn now(&self) -> Nanos {
        let now = clock_gettime(ClockId::Monotonic);
        let seconds = u64::try_from(now.tv_sec).unwrap_or_default();
        let nanoseconds = u64::try_from(now.tv_nsec).unwrap_or_default();
        Nanos(seconds * 1_000_000_000 + nanoseconds)
    }

    fn refresh(&mut self) -> Result<(), TargetError> {
        let mappings = read_mappings(self.pid).map_err(|_| TargetError::Ended)?;
        if !self.has_memory(&mappings) {
            return Err(TargetError::Ended);
        }
        self.mappings = mappings;
        Ok(())
    }

    fn stack_pointers(&self) -> Vec<StackPointer> {
        let Ok(threads) = fs::read_dir(format!("/proc/{}/task", self.pid)) else {
            return Vec::new();
        };
        let names = threads.flatten().map(|entry| entry.file_name());
        let tids = names.filter_map(|name| name.to_str()?.parse().ok());
        tids.filter_map(|tid| stack_pointer(self.pid, tid))
            .collect()
    }

    fn epoll_interests(&self) -> Vec<EpollInterest> {
        epoll::interests(self.pid)
    }

    /// Leads through `/proc`: the process may have another root directory, and its executable may have been deleted.
    fn readable_path(&self, mapping: &Mapping) -> Vec<u8> {
        if mapping.path == self.exe {
            return format!("/proc/{}/exe", self.pid).into_bytes();
        }
        if !mapping.has_file() {
            return mapping.path.clone();
        }
        [format!("/proc/{}/root", self.pid).as_bytes(), &mapping.path].concat()
    }

    fn thread_ids(&self) -> Vec<u32> {
        procfs::thread_ids(self.pid)
    }

    fn thread(&self, tid: u32) -> Option<ThreadSample> {
        let mut sample = procfs::sample(self.pid, tid)?;
        if self.interrupts && sample.state == ThreadState::Running {
            sample.state = self.interrupt(tid);
        }
        Some(sample)
    }

    fn gaps(&self) -> Vec<String> {
        let is_refused = self.is_refused.load(Ordering::Relaxed);
        let gap = "Running threads cannot be interrupted: another program traces them, or the system forbids it.";
        is_refused.then(|| gap.to_owned()).into_iter().collect()
    }
}

fn explain(error: io::Error, pid: u32, status: &ProcessStatus) -> TargetError {
    match error.kind() {
        io::ErrorKind::PermissionDenied => TargetError::Denied(Denial::find(pid, status)),
        io::ErrorKind::NotFound => without_memory(status),
        _ if error.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error()) => {
            TargetError::Ended
        }
        _ => TargetError::Io(error),
    }
}

fn read_mappings(pid: u32) -> io::Result<Vec<Mapping>> {
    let text = fs::read(format!("/proc/{pid}/maps"))?;
    Ok(mapping::parse(&text))
}

/// Why a process has no memory.
fn without_memory(status: &ProcessStatus) -> TargetError {
    let is_alive = !status.is_zombie
        && ProcessStatus::read(status.process).is_some_and(|status| !status.is_zombie);
    if is_alive {
        TargetError::Kernel
    } else {
        TargetError::Ended
    }
}

fn exe(pid: u32) -> io::Result<Vec<u8>> {
    let link = fs::read_link(format!("/proc/{pid}/exe"))?;
    Ok(link.into_os_string().into_vec())
}

/// Whether the executable is a 32-bit program: byte 4 of an ELF file is 1.
fn is_narrow(pid: u32) -> io::Result<bool> {
    let mut header = [0; 5];
    let read = File::open(format!("/proc/{pid}/exe"))?.read_at(&mut header, 0)?;
    Ok(read == header.len() && header[4] == 1)
}

/// The last field but one of `/proc/PID/task/TID/syscall`, which ends in stack pointer and program counter. This is
/// field 8, or field 2 if the thread is in no system call. `None` if the thread runs.
fn stack_pointer(pid: u32, tid: u32) -> Option<StackPointer> {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{tid}/syscall")).ok()?;
    let word = text.split_ascii_whitespace().rev().nth(1)?;
    let address = u64::from_str_radix(word.strip_prefix("0x")?, 16).ok()?;
    Some(StackPointer { tid, address })
}

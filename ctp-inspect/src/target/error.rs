//! [`TargetError`]: why a process cannot be inspected.

use std::fmt;
use std::io;

use crate::target::denial::Denial;

/// Why a process, or its core file, cannot be inspected.
#[derive(Debug)]
#[non_exhaustive]
pub enum TargetError {
    /// No process has this id, or the process has exited or runs another program by now.
    Ended,
    /// This is the id of a thread, which belongs to this process.
    Thread(u32),
    /// A thread of the kernel, which has no memory of its own.
    Kernel,
    /// The process may not be read.
    Denied(Denial),
    /// A 32-bit program, for which inspections are not implemented.
    Narrow,
    /// A core file from a processor, by the number that ELF files use, for which inspections are not implemented.
    Processor(u16),
    /// Another error of the system.
    Io(io::Error),
}

impl fmt::Display for TargetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TargetError::Ended => f.write_str("the process does not exist, or has exited"),
            TargetError::Thread(process) => {
                write!(f, "this is a thread; its process is {process}")
            }
            TargetError::Kernel => f.write_str("this is a thread of the kernel, not a program"),
            TargetError::Denied(denial) => denial.fmt(f),
            TargetError::Narrow => f.write_str("32-bit programs cannot be inspected"),
            TargetError::Processor(machine) => write!(
                f,
                "the core file is from a processor that cannot be inspected (ELF machine {machine}); only x86-64 and \
                 aarch64 can"
            ),
            TargetError::Io(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for TargetError {}

//! Writes the memory to a file or to standard output. Only this part of the program needs an operating system.

use core::ffi::CStr;
use core::fmt::{self, Write};

use rustix::fd::{AsFd as _, BorrowedFd};
use rustix::fs::{Mode, OFlags};
use rustix::io::{Errno, Result};
use rustix::stdio::{stderr, stdout};

use crate::start;
use crate::tasks::{TASKS, Task};

/// Writes the memory to a file, or to standard output.
pub fn write((memory, bytes): (*const u8, usize), output: Option<&CStr>) -> Result<()> {
    // SAFETY: the extent of a static. There is one thread, which writes nothing there while this
    // slice lives, so the atomics behind it are plain bytes.
    let memory = unsafe { core::slice::from_raw_parts(memory, bytes) };
    let Some(path) = output else {
        // SAFETY: standard output is never closed.
        return write_all(unsafe { stdout() }, memory);
    };
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::CLOEXEC;
    let file = rustix::fs::open(path, flags, Mode::from_raw_mode(0o644))?;
    write_all(file.as_fd(), memory)
}

/// Writes what each task did, one a line, and the program's address in memory.
pub fn report(tasks: &[Task; TASKS]) -> Result<()> {
    text(tasks).map_err(|_| Errno::IO)
}

fn text(tasks: &[Task; TASKS]) -> fmt::Result {
    for Task { name, count, .. } in tasks {
        let (runs, suspends) = (count.runs.get(), count.suspends.get());
        let (wakes, answered) = (count.wakes.get(), count.answered.get());
        let last_ns = count.last_ns.get();
        write!(Text, "task {name} runs {runs} suspends {suspends} ")?;
        writeln!(Text, "wakes {wakes} answered {answered} last_ns {last_ns}")?;
    }
    let (address, code) = start::sample();
    write!(Text, "code at {address} is")?;
    code.iter().try_for_each(|byte| write!(Text, " {byte}"))?;
    writeln!(Text)
}

struct Text;

impl Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        // SAFETY: standard error is never closed.
        write_all(unsafe { stderr() }, text.as_bytes()).map_err(|_| fmt::Error)
    }
}

fn write_all(to: BorrowedFd<'_>, mut bytes: &[u8]) -> Result<()> {
    while !bytes.is_empty() {
        let written = rustix::io::write(to, bytes)?;
        bytes = &bytes[written..];
    }
    Ok(())
}

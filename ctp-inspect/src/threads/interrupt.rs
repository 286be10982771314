//! [`interrupt`]: the registers and the stack of a running thread, by stopping the thread for microseconds.
//!
//! The kernel releases a traced thread when the tracing thread ends, for whatever reason. So a new thread of this
//! process traces a single thread of the other process, and then ends.
#![allow(unsafe_code, reason = "ptrace is a call of libc")]

use std::io;
use std::ptr;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, WaitOptions, WaitStatus, waitpid};

use crate::stacks::{Processor, Registers};

/// How long a thread may stay in the kernel before it stops.
const MAX_WAIT: Duration = Duration::from_millis(20);
/// Usually the thread stops at once. So the first checks follow each other without a pause.
const QUICK_CHECKS: u32 = 200;
const PAUSE: Duration = Duration::from_micros(20);
/// More words than the general registers of any known processor.
const MAX_WORDS: usize = 40;
/// The option with which `waitpid` waits for threads of other processes, too.
const ANY_CHILD: WaitOptions = WaitOptions::from_bits_retain(libc::__WALL as u32);

/// Stops a thread, reads its registers, calls `read` with them, and lets the thread go on. `None` if the
/// thread has ended or does not stop soon.
///
/// # Errors
/// This process may not trace the thread, or another process traces it.
pub fn interrupt<T: Send>(
    tid: u32,
    read: impl FnOnce(&Registers) -> T + Send,
) -> io::Result<Option<(Registers, T)>> {
    let Some((tid, processor)) = i32::try_from(tid).ok().zip(Processor::HOST) else {
        return Ok(None);
    };
    thread::scope(|scope| {
        let tracer =
            thread::Builder::new().spawn_scoped(scope, move || trace(tid, processor, read))?;
        tracer.join().unwrap_or(Ok(None))
    })
}

fn trace<T>(
    tid: i32,
    processor: Processor,
    read: impl FnOnce(&Registers) -> T,
) -> io::Result<Option<(Registers, T)>> {
    request(libc::PTRACE_SEIZE as _, tid, 0, 0)?;
    request(libc::PTRACE_INTERRUPT as _, tid, 0, 0)?;
    let Some(signal) = stopped(tid) else {
        return Ok(None);
    };
    let found = registers(tid, processor).map(|registers| {
        let read = read(&registers);
        (registers, read)
    });
    // The signal that stopped the thread is delivered now.
    request(libc::PTRACE_DETACH as _, tid, 0, signal as usize)?;
    Ok(found)
}

/// Waits until the thread has stopped. Returns the signal that the thread was about to get, or 0. `None` if the
/// thread has ended or does not stop.
fn stopped(tid: i32) -> Option<i32> {
    let until = Instant::now() + MAX_WAIT;
    let pid = Pid::from_raw(tid)?;
    for check in 0.. {
        match waitpid(Some(pid), ANY_CHILD | WaitOptions::NOHANG) {
            Ok(Some((_, status))) => return signal_of(status),
            Ok(None) if check < QUICK_CHECKS => {}
            Ok(None) if Instant::now() < until => thread::sleep(PAUSE),
            _ => break,
        }
    }
    None
}

/// The signal that the thread was about to get when it stopped, or 0 if it stopped for another reason.
fn signal_of(status: WaitStatus) -> Option<i32> {
    let signal = status.stopping_signal()?;
    let event = status.as_raw() >> 16;
    Some(if event == 0 { signal } else { 0 })
}

/// Makes a ptrace request. Only the thread that has attached to the other thread may do so.
fn request(request: libc::c_long, tid: i32, address: usize, data: usize) -> io::Result<()> {
    // SAFETY: the requests of this file write only to the place that `data` points to, for registers: a live
    // `iovec` that says how many bytes fit.
    let result = unsafe { libc::ptrace(request as _, tid, address, data) };
    if result == -1 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

fn registers(tid: i32, processor: Processor) -> Option<Registers> {
    let mut words = [0_u64; MAX_WORDS];
    let mut place = libc::iovec {
        iov_base: words.as_mut_ptr().cast(),
        iov_len: size_of_val(&words),
    };
    let general = libc::NT_PRSTATUS as usize;
    let place = ptr::from_mut(&mut place) as usize;
    request(libc::PTRACE_GETREGSET as _, tid, general, place).ok()?;
    Registers::in_kernel_order(processor, |index| words.get(index).copied())
}

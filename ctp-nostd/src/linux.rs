//! The probe on Linux: attach from the environment, then events need hardly a system call.

mod auxv;
mod environment;
mod memory;
mod session;
mod socket;
#[cfg(feature = "alloc")]
pub(crate) mod stack;
mod stderr;
mod thread;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod weak_symbol;

use core::panic::Location;
use core::sync::atomic::AtomicU32;
use core::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, getpriority_process};
use rustix::time::{ClockId, clock_gettime};

use crate::handle::Kind;
use crate::handle::coroutine::Coroutine;
use crate::memory::layout::Header;
use crate::platform::Probe;
use crate::platform::{Local, Platform, attachment};
use crate::protocol::clock;
use crate::protocol::wait::{Resource, Wait};
use crate::sync::Ordering;

#[cfg(feature = "alloc")]
pub(crate) use thread::symbol;

/// Linux, in a process with thread-local storage (that is, with any libc).
#[derive(Debug)]
pub struct Linux;

/// A coroutine's trace on Linux. See [`Coroutine`] for what its calls mean.
pub type Task = Coroutine<Linux>;

/// Tells that a [`Task`] is woken.
pub type Waker = crate::handle::waker::Waker<Linux>;

/// Attaches to the recorder that launched this program; does nothing without one. True when
/// events are recorded from now on.
///
/// Call it first thing in `main`, before there are threads. A second call changes nothing. A
/// recorder that cannot be attached to is told in one line on stderr, and the program runs
/// untraced.
pub fn attach() -> bool {
    session::attach()
}

/// The attached program, if somebody records it. A fork of one that attached gets memory of its
/// own here, once it needs it.
#[inline]
pub fn probe() -> Option<Probe<Linux>> {
    session::current().map(|session| session.probe)
}

/// A leaf future is about to return `Pending`: says what the coroutine that runs on this thread
/// waits for. See [`Probe::waits_for`].
#[inline]
pub fn waits_for(wait: Wait) {
    if let Some(probe) = probe() {
        probe.waits_for(wait);
    }
}

/// What is remembered of the calling thread.
#[cfg(feature = "alloc")]
#[inline(always)]
pub(crate) fn local() -> &'static Local {
    thread::local()
}

/// Something is gone for which coroutines may wait: a descriptor (`i32`), a lock or a channel (its
/// address, `usize`), or something of the program's own (`u64`): the type says which. See
/// [`Probe::closed`].
#[inline]
#[track_caller]
pub fn closed(resource: impl Into<Resource>) {
    if let Some(probe) = probe() {
        probe.closed(resource);
    }
}

/// The coroutine that runs on this thread, else the thread, holds a lock (its address, `usize`) or
/// something of the program's own (`u64`) from now on: the type says which. See [`Probe::acquired`].
#[inline]
#[track_caller]
pub fn acquired(resource: impl Into<Resource>) {
    if let Some(probe) = probe() {
        probe.acquired(resource);
    }
}

/// Like [`acquired`], at this place, where the caller is no line of the user's. See [`Probe::acquired_at`].
#[inline]
pub fn acquired_at(resource: impl Into<Resource>, place: &'static Location<'static>) {
    if let Some(probe) = probe() {
        probe.acquired_at(resource, place);
    }
}

/// That, by a name of the same type, is about to be given back. See [`Probe::released`].
#[inline]
#[track_caller]
pub fn released(resource: impl Into<Resource>) {
    if let Some(probe) = probe() {
        probe.released(resource);
    }
}

/// This thread is about to end. See [`Probe::thread_ends`].
pub fn thread_ends() {
    if let Some(probe) = probe() {
        probe.thread_ends();
    }
}

impl Task {
    /// A coroutine comes into being; the caller is where it is spawned.
    #[track_caller]
    pub fn born(name: &str) -> Task {
        Task::born_as(name, Kind::Unknown, Location::caller())
    }

    /// A coroutine of some kind, spawned at `place`.
    pub fn born_as(name: &str, kind: Kind, place: &'static Location<'static>) -> Task {
        match probe() {
            Some(probe) => probe.born_as(name, kind, place),
            None => Task::mute(),
        }
    }
}

impl Wait {
    /// For a time: this long from now, as [`timer`](Wait::timer) says it. The clock is read if somebody
    /// records.
    #[track_caller]
    pub fn timer_in(time: Duration) -> Self {
        let time_ns = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        Wait::timer(probe().map_or(0, |_| kernel_ns().saturating_add(time_ns)))
    }
}

#[expect(unsafe_code, reason = "vouches for the thread-local memory")]
// SAFETY: `local` returns thread-local storage, which belongs to one thread from its first call of the
// probe to its end; no other platform returns it. No method leaves the thread or its stack.
unsafe impl Platform for Linux {
    #[inline]
    fn now_ns() -> u64 {
        now_ns(session::clock_header())
    }

    #[inline(always)]
    fn ns_at_once(header: &Header) -> Option<u64> {
        counted_ns(header)
    }

    #[inline]
    fn thread() -> u64 {
        Linux::thread_in(attachment::<Linux>())
    }

    #[inline]
    fn thread_in(attachment: u32) -> u64 {
        let known = thread::local().identity.load(Ordering::Relaxed);
        if known >> 32 == u64::from(attachment) {
            known & 0xFFFF_FFFF
        } else {
            ask_thread_id(attachment)
        }
    }

    /// By its priority, which is the quickest to ask for, and which anybody may; where no call may be made
    /// it is not known to be gone.
    fn is_gone(thread: u32) -> bool {
        let may_ask = session::current().is_some_and(|session| !session.forbids_calls);
        let thread = Pid::from_raw(thread as i32).filter(|_| may_ask);
        thread.is_some_and(|it| getpriority_process(Some(it)) == Err(Errno::SRCH))
    }

    #[cold]
    fn ring() {
        if let Some(session) = session::current() {
            session.ring();
        }
    }

    #[inline]
    fn attachment_word() -> &'static AtomicU32 {
        session::attachment_word()
    }

    #[inline]
    fn probe() -> Option<&'static Probe<Linux>> {
        session::current().map(|session| &session.probe)
    }

    #[inline]
    unsafe fn local() -> Option<&'static Local> {
        Some(thread::local())
    }
}

/// By the processor's counter if there is a calibration, else by the kernel.
#[inline]
fn now_ns(header: Option<&Header>) -> u64 {
    header
        .and_then(counted_ns)
        .unwrap_or_else(|| uncounted_ns(header))
}

/// Attempts to read a calibration that the recorder may just be replacing.
const ATTEMPTS: usize = 2;

/// Slow path: there is no calibration, or the recorder is replacing it. In a time namespace, the
/// kernel's time is of another clock, so the kernel is asked only if there is none.
#[cold]
fn uncounted_ns(header: Option<&Header>) -> u64 {
    let again = (0..ATTEMPTS).find_map(|_| header.and_then(counted_ns));
    again.unwrap_or_else(kernel_ns)
}

#[inline(always)]
fn counted_ns(header: &Header) -> Option<u64> {
    clock::read(header)?.ns_at(clock::ticks())
}

/// CLOCK_MONOTONIC by way of the vDSO.
fn kernel_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

#[cold]
fn ask_thread_id(attachment: u32) -> u64 {
    let tid = rustix::thread::gettid().as_raw_nonzero().get() as u64;
    let word = u64::from(attachment) << 32 | tid;
    thread::local().identity.store(word, Ordering::Relaxed);
    tid
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    extern crate std;

    use std::sync::atomic::AtomicBool;
    use std::thread;
    use std::time::Duration;

    use crate::protocol::clock::Calibration;

    use super::*;

    /// No clock of the kernel is so far.
    const FAR_NS: u64 = 1 << 62;

    // CTP-26
    #[test]
    fn a_calibration_that_is_replaced_is_read_again() {
        let (header, is_over) = (Header::default(), AtomicBool::new(false));
        let publish = || {
            let calibration = Calibration {
                ticks: clock::ticks() - 1_000_000,
                ns: FAR_NS,
                mult: 1 << 62,
            };
            clock::publish(&header, &calibration);
        };
        publish();
        thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    publish();
                    thread::sleep(Duration::from_micros(1));
                }
            });
            let is_counted = (0..2_000_000).all(|_| FAR_NS <= now_ns(Some(&header)));
            is_over.store(true, Ordering::Relaxed);
            assert!(is_counted, "the kernel was asked");
        });
    }
}

//! The Linux platform: its clock, its threads, and the doorbell.

use core::sync::atomic::AtomicU32;

use rustix::io::Errno;
use rustix::process::{Pid, getpriority_process};

use super::clock::{counted_ns, now_ns};
use super::{Linux, attach, freeze, session, thread};
use crate::memory::layout::Header;
use crate::platform::{Local, Platform, Probe, attachment};
use crate::sync::Ordering;

#[expect(unsafe_code, reason = "vouches for the thread-local memory")]
// SAFETY: `local` returns thread-local storage, which belongs to one thread from its first call of
// the probe to its end; no other platform returns it. No method leaves the thread or its stack.
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

    /// Asks for the thread's priority, which is the quickest query, and always permitted. Where no
    /// system call may be made, the thread counts as alive.
    fn has_exited(thread: u32) -> bool {
        let may_ask = session::current().is_some_and(|session| !session.forbids_calls);
        let thread = Pid::from_raw(thread as i32).filter(|_| may_ask);
        thread.is_some_and(|thread| getpriority_process(Some(thread)) == Err(Errno::SRCH))
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

    #[cold]
    fn wait_while(is_frozen: impl Fn() -> bool) -> bool {
        freeze::wait_while(is_frozen)
    }

    #[inline]
    fn probe() -> Option<&'static Probe<Linux>> {
        session::current().map(|session| &session.probe)
    }

    #[inline(always)]
    fn is_attach_requested() -> bool {
        attach::REQUEST.is_made()
    }

    #[inline]
    unsafe fn local() -> Option<&'static Local> {
        Some(thread::local())
    }
}

#[cold]
fn ask_thread_id(attachment: u32) -> u64 {
    let tid = rustix::thread::gettid().as_raw_nonzero().get() as u64;
    let word = u64::from(attachment) << 32 | tid;
    thread::local().identity.store(word, Ordering::Relaxed);
    tid
}

//! What a target provides. `linux/` implements Linux; a bare-metal program brings its own
//! implementation.
#![allow(
    unsafe_code,
    reason = "the trait is unsafe to implement, and its thread-local memory is requested in a single place"
)]

use core::sync::atomic::{AtomicU32, Ordering};

use super::local::Local;
use super::probe::Probe;
use crate::memory::layout::Header;
use crate::sync::HAS_LANES;

/// The interface between the probe and the platform that it runs on. Every method must be cheap,
/// must not block (except [`wait_while`](Platform::wait_while)) and must not panic.
///
/// On bare metal `now_ns` reads a timer, `thread` returns the number of the core, and `ring` does
/// nothing, because no recorder sleeps there: a debugger reads the memory, or a dump is taken
/// afterwards.
///
/// # Safety
///
/// The probe keeps references for each thread in the [`Local`] that [`local`](Platform::local) returns,
/// and follows them without a lock. An implementation promises:
///
/// 1. **One thread at a time.** A `Local` is used by one thread (on bare metal: one core) and by
///    the signal or interrupt handlers that interrupt that thread and return to it. Two threads or
///    cores never get the same `Local`, not even one after the other, unless the first thread has
///    ended. An executor may move a coroutine to another thread, because the probe asks again in
///    each call.
/// 2. **One platform.** A `Local` is returned by one `Platform` only.
/// 3. **Permanent.** A `Local` never moves, and is neither freed nor reused, as long as its thread
///    can call the probe.
/// 4. **No switch inside.** No method switches to another stack or moves the caller to another
///    thread.
///
/// Without an implementation of `local` (the default returns `None`) there is nothing to promise.
/// With a single core and no threads, a static `Local` keeps all four promises.
///
/// A platform that lets two threads share a `Local` therefore does not compile without `unsafe`:
///
/// ```compile_fail
/// # use ctp_nostd::{Local, Platform};
/// static LOCAL: Local = Local::new();
/// struct Board;
/// impl Platform for Board { // `unsafe` is missing
///     fn now_ns() -> u64 { 0 }
///     fn thread() -> u64 { 0 }
///     fn ring() {}
///     unsafe fn local() -> Option<&'static Local> { Some(&LOCAL) }
/// }
/// ```
/// ```
/// # use ctp_nostd::{Local, Platform};
/// static LOCAL: Local = Local::new();
/// struct Board;
/// // SAFETY: the board has one core, and no other platform returns this static.
/// unsafe impl Platform for Board {
///     fn now_ns() -> u64 { 0 }
///     fn thread() -> u64 { 0 }
///     fn ring() {}
///     unsafe fn local() -> Option<&'static Local> { Some(&LOCAL) }
/// }
/// ```
pub unsafe trait Platform: 'static {
    /// Nanoseconds on a clock that never goes back.
    fn now_ns() -> u64;

    /// Like [`now_ns`](Platform::now_ns), but only if that needs no more than this header;
    /// otherwise `None`. An event tries this first, because a call makes the code around it slower.
    #[inline]
    fn ns_at_once(header: &Header) -> Option<u64> {
        let _ = header;
        Some(Self::now_ns())
    }

    /// The calling thread (or core); on Linux the kernel's thread id.
    fn thread() -> u64;

    /// Wakes the recorder. Called at most once per sleep of the recorder.
    fn ring();

    /// A word that changes when this program is no longer the program that attached (after a fork);
    /// handles made under another value are inert. 0 where nothing is attached: no handle is made
    /// under 0. Once the program has attached, this is the same word for as long as the program
    /// runs, because each handle reads it at each event.
    #[doc(hidden)]
    #[inline]
    fn attachment_word() -> &'static AtomicU32 {
        static SINGLE: AtomicU32 = AtomicU32::new(1);
        &SINGLE
    }

    /// Like [`thread`](Platform::thread), for a caller that has just read the attachment.
    #[inline]
    fn thread_in(attachment: u32) -> u64 {
        let _ = attachment;
        Self::thread()
    }

    /// Like [`thread`](Platform::thread), for any event but the first of its thread.
    #[inline(always)]
    fn thread_of(local: &Local) -> u64 {
        if HAS_LANES {
            local.thread.load(Ordering::Relaxed)
        } else {
            Self::thread() // a thread requests no lane, so nothing has stored the id
        }
    }

    /// Whether this thread of the program has exited. If true, another thread may take its lane.
    fn has_exited(thread: u32) -> bool {
        let _ = thread;
        false
    }

    /// Waits until `is_frozen` returns false, for at most [`LIMIT`](crate::freeze::LIMIT). Returns
    /// false if the time is over. A coroutine waits there while the recorder copies its stack.
    ///
    /// The default returns true at once, so that no coroutine waits: on bare metal, no recorder copies
    /// stacks while the program runs.
    #[inline]
    fn wait_while(is_frozen: impl Fn() -> bool) -> bool {
        let _ = is_frozen;
        true
    }

    /// The attached program, in which [wakers](crate::waker::Waker) find the lane of their thread.
    /// Without it, only the station records a wake.
    #[doc(hidden)]
    #[inline]
    fn probe() -> Option<&'static Probe<Self>>
    where
        Self: Sized,
    {
        None
    }

    /// Whether a recorder has asked the program to attach while it runs. Then coroutines that are
    /// not recorded try to attach the program when they run.
    #[doc(hidden)]
    #[inline(always)]
    fn is_attach_requested() -> bool {
        false
    }

    /// The memory of the calling thread, if the platform has any. Without it, a wake is not
    /// attributed to the coroutine that wakes, and [`waits_for`](crate::Probe::waits_for) has no
    /// effect. On a single core, a static is enough. Two probes with lanes need a platform each, or
    /// different attachments.
    ///
    /// # Safety
    ///
    /// The caller uses the reference on this thread only, and drops it before the thread ends and
    /// before the next switch of stacks: after a switch the coroutine may continue in another
    /// thread.
    ///
    /// ```compile_fail
    /// # use ctp_nostd::{Linux, Platform};
    /// // The reference would outlive the thread.
    /// let local = std::thread::spawn(|| <Linux as Platform>::local()).join();
    /// ```
    #[inline]
    unsafe fn local() -> Option<&'static Local> {
        None
    }
}

/// The memory of the calling thread. No caller keeps the reference: each call of the probe asks
/// again.
#[inline(always)]
pub(crate) fn local<P: Platform>() -> Option<&'static Local> {
    // SAFETY: this function is private to the crate. Its callers (the event path and the handles)
    // use the reference within one call of the probe, which runs on one thread and one stack from
    // beginning to end, and never store it.
    unsafe { P::local() }
}

/// The current attachment.
#[inline]
pub(crate) fn attachment<P: Platform>() -> u32 {
    P::attachment_word().load(Ordering::Acquire)
}

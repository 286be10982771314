//! Calls for a program that has attached. Without a recorder, each call is one or two branches.

use core::panic::Location;
use core::time::Duration;

use super::clock::kernel_ns;
use super::{Linux, Task, session};
use crate::handle::Kind;
use crate::handle::coroutine::Origin;
use crate::platform::Probe;
use crate::protocol::intern::call_site::CallSite;
use crate::protocol::wait::{Resource, Wait};

/// The probe of this program, if a recorder records the program. In the fork of an attached program,
/// the first call requests memory for the fork.
#[inline]
pub fn probe() -> Option<Probe<Linux>> {
    session::current().map(|session| session.probe)
}

/// Announces what the coroutine that runs on this thread waits for. A leaf future calls this before
/// it returns `Pending`. See [`Probe::waits_for`].
///
/// ```
/// use std::pin::Pin;
/// use std::task::{Context, Poll};
///
/// struct Received<'c> {
///     channel: &'c Channel,
///     wait: ctp_nostd::Wait,
/// }
///
/// impl Channel {
///     #[track_caller] // the report shows the line of the caller
///     fn receive(&self) -> Received<'_> {
///         let address = std::ptr::from_ref(self).addr();
///         Received { channel: self, wait: ctp_nostd::Wait::channel(address) }
///     }
/// }
///
/// impl Future for Received<'_> {
///     type Output = u32;
///     fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<u32> {
///         match self.channel.take_or_register(context.waker()) {
///             Some(message) => Poll::Ready(message),
///             None => {
///                 ctp_nostd::waits_for(self.wait);
///                 Poll::Pending
///             }
///         }
///     }
/// }
/// # struct Channel;
/// # impl Channel {
/// #     fn take_or_register(&self, _: &std::task::Waker) -> Option<u32> { None }
/// # }
/// # let polled = std::pin::pin!(Channel.receive()).poll(&mut Context::from_waker(std::task::Waker::noop()));
/// # assert!(polled.is_pending());
/// ```
#[inline]
pub fn waits_for<S: CallSite>(wait: Wait<S>) {
    if let Some(probe) = probe() {
        probe.waits_for(wait);
    }
}

/// Records that a resource, for which coroutines may wait, is closed. The type says what the
/// resource is: a descriptor (`i32`), the address of a lock or a channel (`usize`), or something
/// defined by the program (`u64`). See [`Probe::closed`].
#[inline]
#[track_caller]
pub fn closed(resource: impl Into<Resource>) {
    if let Some(probe) = probe() {
        probe.closed(resource);
    }
}

/// Records that the coroutine that runs on this thread, or else the thread, holds a resource from
/// now on. The type says what the resource is: the address of a lock (`usize`), or something
/// defined by the program (`u64`). See [`Probe::acquired`].
///
/// ```
/// # let lock = std::sync::Mutex::new(0);
/// let address = std::ptr::from_ref(&lock).addr(); // the same as in `Wait::lock`
/// let guard = lock.lock();
/// ctp_nostd::acquired(address); // just after the lock was taken
/// // ...
/// ctp_nostd::released(address); // just before the lock is released
/// drop(guard);
/// ```
#[inline]
#[track_caller]
pub fn acquired(resource: impl Into<Resource>) {
    if let Some(probe) = probe() {
        probe.acquired(resource);
    }
}

/// Like [`acquired`], at this site, for callers that are not user code. See [`Probe::acquired_at`].
#[inline]
pub fn acquired_at<S: CallSite>(resource: impl Into<Resource>, place: S) {
    if let Some(probe) = probe() {
        probe.acquired_at(resource, place);
    }
}

/// Like [`acquired`], for a holder of a lock that others may hold at the same time, such as a reader
/// of an `RwLock`. See [`Probe::acquired_shared`].
#[inline]
#[track_caller]
pub fn acquired_shared(resource: impl Into<Resource>) {
    if let Some(probe) = probe() {
        probe.acquired_shared(resource);
    }
}

/// Like [`acquired_shared`], at this site, for callers that are not user code. See
/// [`Probe::acquired_at`].
#[inline]
pub fn acquired_shared_at<S: CallSite>(resource: impl Into<Resource>, place: S) {
    if let Some(probe) = probe() {
        probe.acquired_shared_at(resource, place);
    }
}

/// Records that a resource is about to be released. The resource must have the same type and number as
/// in the call of [`acquired`]. See [`Probe::released`].
#[inline]
#[track_caller]
pub fn released(resource: impl Into<Resource>) {
    if let Some(probe) = probe() {
        probe.released(resource);
    }
}

/// Announces that this thread is about to end. See [`Probe::thread_ends`].
pub fn thread_ends() {
    if let Some(probe) = probe() {
        probe.thread_ends();
    }
}

impl Task {
    /// Records the birth of a coroutine; the caller is the spawn site.
    ///
    /// ```
    /// use ctp_nostd::{Task, Wait};
    ///
    /// let trace = Task::born("session");
    /// let waker = trace.waker();
    /// trace.run();
    /// trace.suspend(Wait::readable(17));
    /// waker.wake(); // before the coroutine is queued
    /// trace.run();
    /// drop(trace); // the coroutine ended
    /// ```
    #[track_caller]
    pub fn born(name: &str) -> Task {
        Task::born_as(name, Kind::Unknown, Location::caller())
    }

    /// Records the birth of a coroutine of this kind, spawned at `place`.
    pub fn born_as<S: CallSite>(name: &str, kind: Kind, place: S) -> Task {
        match probe() {
            Some(probe) => probe.born_as(name, kind, place),
            None => Task::unrecorded(Origin {
                place: place.into(),
                kind,
                type_name: "",
            }),
        }
    }

    /// Records the birth of a future of this type.
    pub(crate) fn future_born(
        name: &str,
        type_name: &'static str,
        place: &'static Location<'static>,
    ) -> Task {
        let kind = Kind::Future;
        match probe() {
            Some(probe) => probe.born_as(name, kind, place),
            None => Task::unrecorded(Origin {
                place: place.into(),
                kind,
                type_name,
            }),
        }
    }
}

impl Wait {
    /// Waits for this long from now, as a [`timer`](Wait::timer). Reads the clock only if the
    /// program is recorded.
    #[track_caller]
    pub fn timer_in(time: Duration) -> Self {
        let time_ns = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        Wait::timer(probe().map_or(0, |_| kernel_ns().saturating_add(time_ns)))
    }
}

//! What a program calls that has attached. Without a recorder each call is one branch.

use core::panic::Location;
use core::time::Duration;

use super::clock::kernel_ns;
use super::{Linux, Task, session};
use crate::handle::Kind;
use crate::platform::Probe;
use crate::protocol::wait::{Resource, Wait};

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

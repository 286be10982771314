//! The probe on Linux: it attaches as the environment or a request says; after that, events make
//! almost no system calls. This is the only layer that makes system calls.

mod attach;
mod auxv;
mod calls;
mod clock;
mod environment;
mod freeze;
mod memory;
mod not_attached;
mod platform;
mod session;
mod socket;
#[cfg(feature = "alloc")]
pub(crate) mod stack;
mod stderr;
mod thread;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod weak_symbol;

use crate::handle::coroutine::Coroutine;
use crate::handle::waker;

pub use attach::attach;
pub use calls::{
    acquired, acquired_at, acquired_shared, acquired_shared_at, closed, probe, released,
    thread_ends, waits_for,
};
#[cfg(feature = "alloc")]
pub(crate) use thread::{local, symbol};

/// Linux, in a process with thread-local storage (that is, with any libc).
#[derive(Debug)]
pub struct Linux;

/// A coroutine's trace on Linux. See [`Coroutine`] for what its calls mean.
pub type Task = Coroutine<Linux>;

/// Records that a [`Task`] is woken.
pub type Waker = waker::Waker<Linux>;

//! The atomics that every protocol uses: those of `core`, or loom's under the model checker.
//!
//! Words that no other process reads use the atomics of `core` directly, because a static cannot
//! hold loom's.

pub(crate) mod unlocked;

#[cfg(not(loom))]
pub(crate) use core::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering, fence};
#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering, fence};

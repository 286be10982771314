//! The atomics of every protocol: those of `core`, or loom's when a model is checked.
//!
//! Words that only this program sees use `core`'s at once: a static cannot hold loom's.

pub(crate) mod unlocked;

#[cfg(not(loom))]
pub(crate) use core::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering, fence};
#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering, fence};

//! The atomics that every protocol uses: those of `core`, or loom's under the model checker.
//!
//! | the target has | `AtomicU32` | words of 64 bits |
//! | --- | --- | --- |
//! | atomics of 64 bits | of `core` | `sync/wide.rs`: a word of the processor |
//! | atomics of 32 bits | of `core` | `sync/split.rs`: two halves |
//! | no compare-and-swap | `sync/locked.rs`: of `core`, and critical sections | `sync/split.rs` |
//!
//! `--cfg ctp_split_words` selects the halves on any target, for tests.
//!
//! Words that no other process reads are those of [`private`], because a static cannot hold loom's.

#[cfg(not(target_has_atomic = "32"))]
mod locked;
pub(crate) mod private;
#[macro_use]
pub(crate) mod unlocked;

#[cfg_attr(
    any(ctp_split_words, not(target_has_atomic = "64")),
    path = "sync/split.rs"
)]
#[cfg_attr(
    all(target_has_atomic = "64", not(ctp_split_words)),
    path = "sync/wide.rs"
)]
mod word;

#[cfg(all(not(loom), target_has_atomic = "32"))]
pub use core::sync::atomic::AtomicU32;
#[cfg(not(loom))]
pub(crate) use core::sync::atomic::{AtomicU8, Ordering, fence};
#[cfg(not(target_has_atomic = "32"))]
pub use locked::AtomicU32;
#[cfg(loom)]
pub use loom::sync::atomic::AtomicU32;
#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicU8, Ordering, fence};

/// What a caller that claims a word finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Claim {
    /// The word was 0, and has the caller's value now.
    Claimed,
    /// The word had this value before.
    Same,
    /// The word has another value.
    Other,
}

/// The upper half of a [`StandaloneU64`] while a writer of halves changes the word.
pub const CHANGING: u32 = u32::MAX;

pub use word::{AtomicU64, SequenceU64, StandaloneU64};
pub(crate) use word::{HAS_LANES, begin_change, claim, end_change, exchange, is_changing, set};

//! What a target provides, and what the probe remembers for a program and for a thread, as plain
//! data.

mod attached;
mod local;
pub(crate) mod mode;
#[cfg(feature = "alloc")]
mod polled;
mod probe;
mod target;

pub(crate) use attached::{Attached, AttachedOnce};
pub use local::Local;
#[cfg(feature = "alloc")]
pub(crate) use polled::{Limits, Polled, Recorded, SavedPoll};
pub use probe::{Probe, ProbeLayout};
pub use target::Platform;
pub(crate) use target::{attachment, local};

//! Traced futures: how they are polled, by which wakers, and the functions that await each other there.

#[cfg(feature = "alloc")]
mod callers;
#[cfg(feature = "alloc")]
mod functions;
#[cfg(feature = "alloc")]
mod held;
#[cfg(feature = "alloc")]
mod latest_walk;
#[cfg(feature = "alloc")]
mod leaf;
#[cfg(not(feature = "alloc"))]
mod no_wakers;
#[cfg(feature = "alloc")]
mod polling;
mod traced;
#[cfg(feature = "alloc")]
mod wakers;
#[cfg(feature = "alloc")]
mod walks;
#[cfg(feature = "alloc")]
mod wrapped;

#[cfg(feature = "alloc")]
pub use leaf::waits_for_in;
pub use traced::{Traced, TracedExt};

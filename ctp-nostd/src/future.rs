//! Traced futures: how they are polled, and with which wakers.

mod traced;
#[cfg(feature = "alloc")]
mod wakers;
#[cfg(not(feature = "alloc"))]
#[path = "future/no_wakers.rs"]
mod wakers;

pub use traced::{Traced, TracedExt};
#[cfg(feature = "alloc")]
pub use wakers::waits_for_in;

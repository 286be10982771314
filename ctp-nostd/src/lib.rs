//! The probe: records what each coroutine does in shared memory, without std.
#![no_std]

pub mod alloc;
#[cfg(not(loom))]
mod bare;
pub mod clock;
mod coroutine;
pub mod create;
#[cfg(not(loom))]
pub mod dialect;
pub mod doorbell;
#[cfg(feature = "linux")]
mod future;
pub mod inspect;
pub mod intern;
pub mod layout;
#[cfg(feature = "linux")]
mod linux;
mod platform;
mod probe;
mod region;
pub mod site;
pub mod slot;
mod sync;
mod wait;
pub mod wake;
mod waker;

#[cfg(not(loom))]
pub use bare::Memory;
pub use coroutine::{Coroutine, FLAG_TELLS_WAKES, Kind};
#[cfg(feature = "linux")]
pub use future::{Traced, TracedExt};
#[cfg(feature = "linux")]
pub use linux::{Linux, Task, Waker, attach, probe, waits_for};
pub use platform::{Local, Platform};
pub use probe::Probe;
pub use region::{Refused, Region};
pub use wait::{Wait, WaitKind};

//! The shared memory: its words, how they come to be there, and a checked view of them.

pub mod alloc;
pub mod audit;
#[cfg(not(loom))]
mod bare;
pub mod create;
pub mod inspect;
pub mod layout;
mod raw;
mod region;
pub mod request;
pub mod station_copy;

#[cfg(not(loom))]
pub use bare::Memory;
pub use region::{Refused, Region, ShortLanes};

//! The shared memory: its words, how a process gets it, and a checked view of it.

pub mod alloc;
pub mod layout;
mod raw;
mod refused;
mod region;
pub mod request;

pub(crate) use raw::MappedMemory;
pub use refused::Refused;
pub use region::{CompactRegion, Region, RegionOf, ShortLanes};

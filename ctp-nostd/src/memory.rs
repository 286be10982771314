//! The shared memory: its words, how they come to be there, and a checked view of them.

pub mod alloc;
pub mod layout;
mod raw;
mod region;
pub mod request;

pub use region::{Refused, Region, ShortLanes};

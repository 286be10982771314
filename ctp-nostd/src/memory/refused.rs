//! Why memory is refused.

use core::fmt;

use crate::memory::layout::{MAGIC, VERSION};

/// Why memory is not accepted as cTP memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refused {
    /// The memory does not start on a 1 KiB boundary.
    Misaligned,
    /// The memory is shorter than its header, or than the stations it declares: (found, needed)
    /// bytes.
    TooShort(usize, usize),
    /// The memory does not start with the magic of cTP.
    Magic(u64),
    /// The memory is of another version of cTP.
    Version(u32),
    /// The memory has no stations.
    NoStations,
}

impl fmt::Display for Refused {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::Misaligned => write!(out, "memory is not aligned to 1024 bytes"),
            Refused::TooShort(found, needed) => {
                write!(out, "memory has {found} bytes, {needed} are needed")
            }
            Refused::Magic(found) => write!(out, "magic is {found:#018x}, not {MAGIC:#018x}"),
            Refused::Version(found) => write!(out, "cTP version is {found}, not {VERSION}"),
            Refused::NoStations => write!(out, "memory has room for 0 coroutines"),
        }
    }
}

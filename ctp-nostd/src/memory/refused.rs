//! Why memory is refused.

use core::fmt;

use crate::memory::layout::{MAGIC, VERSION};

/// Why some memory is not taken for cTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refused {
    /// It does not start on a 1 KiB boundary.
    Misaligned,
    /// It is shorter than its header, or than the stations it promises: (found, needed) bytes.
    TooShort(usize, usize),
    /// It does not start with the magic of cTP.
    Magic(u64),
    /// It is of another version of cTP.
    Version(u32),
    /// It has no stations.
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

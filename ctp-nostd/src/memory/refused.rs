//! Why memory is refused.

use core::fmt;

use crate::memory::layout::{Compact, Header, Layout as _, MAGIC, VERSION};

/// Why memory is not accepted as cTP memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refused {
    /// The memory does not start on a boundary of 256 bytes.
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
    /// The header of a compact memory states stations of this other size in bytes.
    StationBytes(u32),
    /// The layout of a compact memory has this other hash: the probe is of another version.
    LayoutHash(u64),
}

impl fmt::Display for Refused {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::Misaligned => {
                write!(
                    out,
                    "memory is not aligned to {} bytes",
                    align_of::<Header>()
                )
            }
            Refused::TooShort(found, needed) => {
                write!(out, "memory has {found} bytes, {needed} are needed")
            }
            Refused::Magic(found) => write!(out, "magic is {found:#018x}, not {MAGIC:#018x}"),
            Refused::Version(found) => write!(out, "cTP version is {found}, not {VERSION}"),
            Refused::NoStations => write!(out, "memory has room for 0 coroutines"),
            Refused::StationBytes(found) => {
                let expected = Compact::STATION_BYTES;
                write!(out, "stations have {found} bytes, not {expected}")
            }
            Refused::LayoutHash(found) => {
                let expected = Compact::HASH;
                write!(out, "layout hash is {found:#018x}, not {expected:#018x}")
            }
        }
    }
}

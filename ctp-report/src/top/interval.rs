//! The time over which rates are computed.

use ctp_trace::record::Nanos;

/// An interval in the time of the recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interval {
    /// The end.
    pub end: Nanos,
    /// The length.
    pub length: Nanos,
}

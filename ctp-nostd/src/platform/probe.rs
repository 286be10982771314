//! The attached program, as plain data: what an event needs to know of its recording. The
//! operations are in `event/` and `handle/`.

use core::marker::PhantomData;

use super::mode::RecordingMode;
use crate::memory::Region;
use crate::protocol::aggregate::Bins;
use crate::protocol::lane::RingMark;

/// A program that writes into a recorder's memory. `P` is the platform that it runs on.
///
/// Each coroutine has a copy. An event is fast if it loads few cache lines, so the fields that an
/// event reads come first, next to each other.
#[derive(Debug)]
#[repr(C)]
pub struct Probe<P> {
    pub(crate) attachment: u32,
    pub(crate) attach_id: u16,
    pub(crate) mode: RecordingMode,
    /// The recorder orders events and its own sleep (see [`crate::doorbell`]), so events need no
    /// fence.
    pub(crate) is_ordered: bool,
    /// Identifies a thread's ring as belonging to this attachment.
    pub(crate) ring_mark: RingMark,
    /// The lane word of a thread that needs no lane.
    pub(crate) laneless_word: u64,
    /// Starts with the reference to the header.
    pub(crate) region: Region<'static>,
    /// The bins of this recording's aggregates, if there are any. Constant during a recording.
    pub(crate) bins: Bins,
    pub(crate) has_bins: bool,
    pub(crate) platform: PhantomData<fn() -> P>,
}

impl<P> Clone for Probe<P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P> Copy for Probe<P> {}

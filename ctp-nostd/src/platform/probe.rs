//! The attached program, as plain data: what an event asks of its recording. What a program can do with it
//! is in `event/` and `handle/`.

use core::marker::PhantomData;

use super::mode::RecordingMode;
use crate::memory::Region;
use crate::protocol::aggregate::Bins;
use crate::protocol::lane::RingMark;

/// A program that writes into a recorder's memory. `P` is the place it runs in.
///
/// Each coroutine has one, and an event is quick if little of that has to come into the processor's
/// cache: so what it asks for stands first, and next to each other.
#[derive(Debug)]
#[repr(C)]
pub struct Probe<P> {
    pub(crate) attachment: u32,
    pub(crate) attach_id: u16,
    pub(crate) mode: RecordingMode,
    /// The recorder orders events and its sleep, so that no event needs a fence.
    pub(crate) is_ordered: bool,
    /// By which a thread's ring is known to be of this attachment.
    pub(crate) ring_mark: RingMark,
    /// The word of a thread that needs no lane.
    pub(crate) laneless_word: u64,
    /// Its header comes first.
    pub(crate) region: Region<'static>,
    /// Those of the aggregates that this recording keeps, if it does. That does not change while it
    /// lasts.
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

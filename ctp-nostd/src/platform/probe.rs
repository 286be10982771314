//! The attached program, as plain data: what an event needs to know of its recording. The
//! operations are in `event/` and `handle/`.

use core::marker::PhantomData;

use super::mode::RecordingMode;
use super::target::Platform;
use crate::memory::RegionOf;
use crate::memory::layout::{Compact, CompactWithRing, Full, Layout, RingWords};
use crate::protocol::aggregate::Bins;
use crate::protocol::lane::{Payload, RingMark};

/// A program that writes into a recorder's memory. `P` is the platform that it runs on, and `L` is the
/// layout of the memory.
///
/// Each coroutine has a copy. An event is fast if it loads few cache lines, so the fields that an
/// event reads come first, next to each other.
#[derive(Debug)]
#[repr(C)]
pub struct Probe<P, L: Layout = Full> {
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
    pub(crate) region: RegionOf<'static, L>,
    /// The bins of this recording's aggregates, if there are any. Constant during a recording.
    pub(crate) bins: Bins,
    pub(crate) has_bins: bool,
    pub(crate) platform: PhantomData<fn() -> P>,
}

impl<P, L: Layout> Clone for Probe<P, L> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P, L: Layout> Copy for Probe<P, L> {}

/// A layout in which a probe writes.
pub trait ProbeLayout: Layout {
    /// The program that a recorder attached, whose memory always has the full layout.
    #[doc(hidden)]
    fn attached<P: Platform>() -> Option<&'static Probe<P, Self>>;

    /// Adds a record for this [owner](Payload::owner_bits) to the ring of the memory, if there is a ring.
    #[doc(hidden)]
    #[inline(always)]
    fn keep(_: Self::Ring, owner_bits: u64, at_ns: u64, payload: impl FnOnce() -> Payload) {
        let _ = (owner_bits, at_ns, payload);
    }
}

impl ProbeLayout for Full {
    #[inline(always)]
    fn attached<P: Platform>() -> Option<&'static Probe<P>> {
        P::probe()
    }
}

impl ProbeLayout for Compact {
    #[inline(always)]
    fn attached<P: Platform>() -> Option<&'static Probe<P, Self>> {
        None
    }
}

impl ProbeLayout for CompactWithRing {
    #[inline(always)]
    fn attached<P: Platform>() -> Option<&'static Probe<P, Self>> {
        None
    }

    #[inline(always)]
    fn keep(
        ring: Option<RingWords>,
        owner_bits: u64,
        at_ns: u64,
        payload: impl FnOnce() -> Payload,
    ) {
        if let Some(ring) = ring {
            ring.push(owner_bits, at_ns, payload());
        }
    }
}

//! Where coroutines are born: a [`Probe`] is one attached program.

use core::marker::PhantomData;
use core::panic::Location;

use crate::event::{announce, laneless_word};
use crate::memory::Region;
use crate::platform::mode::{ANY, USUAL, USUAL_FLIGHT};
use crate::platform::{Platform, Probe, attachment, local};
use crate::protocol::lane::{DeedKind, Payload, RingMark};
use crate::protocol::wait::{Resource, Wait};

impl<P: Platform> Probe<P> {
    /// A probe on this memory. `attach_id` tells apart the processes that share it.
    pub fn new(region: Region<'static>, attach_id: u16) -> Self {
        Self::attached(region, attach_id, attachment::<P>())
    }

    /// A probe on this memory, of an attachment that is about to be the platform's.
    pub(crate) fn attached(region: Region<'static>, attach_id: u16, attachment: u32) -> Self {
        let bins = region.header.bins().filter(|_| region.extended);
        Probe {
            region,
            attach_id,
            attachment,
            ring_mark: RingMark::of(attachment),
            laneless_word: laneless_word(attachment),
            is_ordered: false,
            bins: bins.unwrap_or_default(),
            has_bins: bins.is_some(),
            mode: ANY,
            platform: PhantomData,
        }
    }

    /// This probe, in a process that the recorder's `membarrier` reaches (or that nobody
    /// needs to ring for): its events need no fence, see [`crate::doorbell`].
    pub fn ordered_by_recorder(self, is_ordered: bool) -> Self {
        let Region {
            extended,
            is_overwritten,
            lanes,
            ..
        } = self.region;
        let mode = match (is_overwritten, self.has_bins) {
            (false, false) => USUAL,
            (true, true) => USUAL_FLIGHT,
            _ => ANY,
        };
        let is_known = is_ordered && extended && !lanes.is_empty();
        Probe {
            is_ordered,
            mode: if is_known { mode } else { ANY },
            ..self
        }
    }

    /// A leaf future is about to return `Pending`: says what the coroutine that runs here waits
    /// for. Its next suspend carries it. Of several in one run the last is kept, and marked. It is void
    /// once another one runs on this thread, or this one ends, or waits for what it says itself.
    #[inline]
    pub fn waits_for(self, wait: Wait) {
        let Some(local) = local::<P>().filter(|_| self.is_live()) else {
            return;
        };
        announce::note(local, self.site(wait.place), &wait);
    }

    /// Something is gone for which coroutines may wait: nothing that still comes of it will resume
    /// them, so they will wait for ever unless somebody wakes them now. Call it just before the call
    /// that closes or frees it: afterwards its number may be another's, whose coroutines it would be
    /// told of. Of a file with several numbers tell the last one by which it is waited for. The caller
    /// is where. Its type says what it is: an `i32` a descriptor, a `usize` the address of a lock or a
    /// channel, a `u64` something of the program's own, even if it is an address.
    #[track_caller]
    pub fn closed(self, resource: impl Into<Resource>) {
        let Resource { kind, number } = resource.into();
        if self.is_live() && !self.region.header.is_stopped() {
            self.tell(Payload {
                kind: DeedKind::Close as u8,
                wait_kind: kind as u8,
                site: self.site(Location::caller()).0,
                arg: number,
                ..Payload::default()
            });
        }
    }
}

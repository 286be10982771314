//! Calls that record what threads do: announced waits, closed resources, and held locks.

use core::marker::PhantomData;
use core::panic::Location;

use crate::event::{CurrentCoroutine, announce, laneless_word};
use crate::memory::{RegionOf, layout};
use crate::platform::mode::{ANY, USUAL, USUAL_FLIGHT};
use crate::platform::{Platform, Probe, ProbeLayout, attachment, local};
use crate::protocol::intern::call_site::CallSite;
use crate::protocol::lane::{
    HELD_BY_COROUTINE, HELD_BY_THREAD, HELD_BY_UNKNOWN, HELD_SHARED, Payload, RingMark,
    ThreadEventKind,
};
use crate::protocol::wait::{Resource, Wait};

impl<P: Platform, L: ProbeLayout> Probe<P, L> {
    /// Creates a probe on this memory. `attach_id` distinguishes the processes that share it.
    pub fn new(region: RegionOf<'static, L>, attach_id: u16) -> Self {
        Self::attached(region, attach_id, attachment::<P>())
    }

    /// Creates a probe on this memory, for an attachment that is about to become the platform's.
    pub(crate) fn attached(region: RegionOf<'static, L>, attach_id: u16, attachment: u32) -> Self {
        let bins = region.header.bins().filter(|_| region.is_extended);
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

    /// Sets whether events can do without a fence. They can if the recorder's `membarrier` reaches
    /// this process, or if the process never wakes the recorder. See [`crate::doorbell`].
    pub fn ordered_by_recorder(self, is_ordered: bool) -> Self {
        let RegionOf {
            is_extended,
            is_overwritten,
            lanes,
            ..
        } = self.region;
        let mode = match (is_overwritten, self.has_bins) {
            (false, false) => USUAL,
            (true, true) => USUAL_FLIGHT,
            _ => ANY,
        };
        let is_known = is_ordered && is_extended && !lanes.is_empty();
        Probe {
            is_ordered,
            mode: if is_known { mode } else { ANY },
            ..self
        }
    }

    /// Announces what the coroutine that runs here waits for. A leaf future calls this before it
    /// returns `Pending`, and the coroutine's next suspend carries the wait. Of several
    /// announcements in one run the last is kept, and marked. The announcement is discarded when
    /// another coroutine runs on this thread, or when this coroutine ends or suspends with a wait
    /// of its own.
    #[inline]
    pub fn waits_for<S: CallSite>(self, wait: Wait<S>) {
        let Some(local) = local::<P>().filter(|_| self.is_live()) else {
            return;
        };
        announce::announce(local, self.site(wait.place), &wait);
    }

    /// Records that a resource, for which coroutines may wait, is closed. From now on, the resource
    /// resumes none of these coroutines, so they wait for ever unless they are woken now.
    ///
    /// Call this just before the call that closes or frees the resource: afterwards its number may
    /// belong to another resource, and the record would affect the wrong coroutines. For a file
    /// with several descriptors, name the last descriptor that coroutines wait for. The caller is
    /// recorded as the site.
    ///
    /// The type says what the resource is: an `i32` is a descriptor, a `usize` is the address of a
    /// lock or a channel, and a `u64` is a number that the program defines, even if it is an address.
    #[track_caller]
    pub fn closed(self, resource: impl Into<Resource>) {
        self.closed_at(resource, Location::caller());
    }

    /// Like [`closed`](Self::closed), at this site.
    pub fn closed_at<S: CallSite>(self, resource: impl Into<Resource>, place: S) {
        let Resource { kind, number } = resource.into();
        if self.is_live() && !self.region.header.is_stopped() {
            self.emit_record(Payload {
                kind: ThreadEventKind::Close as u8,
                wait_kind: kind as u8,
                site: self.site(place).0,
                arg: number,
                ..Payload::default()
            });
        }
    }

    /// Records that the coroutine that runs on this thread holds a lock from now on. If no
    /// coroutine runs here, the thread holds it. Call this just after the lock was taken, on every
    /// path that can take it. The caller is recorded as the site. A lock is named by its address as
    /// a `usize`; a `u64` names something else.
    ///
    /// The trace reports the holder at the end of the recording as the cause for coroutines that
    /// [wait](crate::Wait::lock) for the lock. So record only resources that nothing but the holder
    /// can release: a lock, but not a semaphore that others may increment. The readers of a lock
    /// that can be shared call [`acquired_shared`](Probe::acquired_shared) instead.
    ///
    /// If a guard moves to another coroutine, or out of a coroutine that ends, call
    /// [`released`](Probe::released) here and `acquired` there. If a guard may be in the output of
    /// a `traced()` future, the holder is unknown from then on, until the lock is released.
    #[inline]
    #[track_caller]
    pub fn acquired(self, resource: impl Into<Resource>) {
        self.acquired_at(resource, Location::caller());
    }

    /// Like [`acquired`](Self::acquired), at this site. Meant for callers that are not user code,
    /// such as a future that takes a lock. Pass the user's line that made the future, as for its
    /// [`Wait`].
    #[inline]
    pub fn acquired_at<S: CallSite>(self, resource: impl Into<Resource>, place: S) {
        self.emit_hold(ThreadEventKind::Acquire, 0, resource.into(), place);
    }

    /// Like [`acquired`](Self::acquired), for a holder of a lock that others may hold at the same
    /// time, such as a reader of an `RwLock`. Each holder calls [`released`](Self::released). The
    /// trace then reports a deadlock through readers, and does not consider the lock free while a
    /// reader holds it. A coroutine that waits for the lock while only readers hold it is assumed
    /// to need all of them to release the lock, directly or behind a writer in the queue.
    #[inline]
    #[track_caller]
    pub fn acquired_shared(self, resource: impl Into<Resource>) {
        self.acquired_shared_at(resource, Location::caller());
    }

    /// Like [`acquired_shared`](Self::acquired_shared), at this site. See
    /// [`acquired_at`](Self::acquired_at).
    #[inline]
    pub fn acquired_shared_at<S: CallSite>(self, resource: impl Into<Resource>, place: S) {
        self.emit_hold(
            ThreadEventKind::Acquire,
            HELD_SHARED,
            resource.into(),
            place,
        );
    }

    /// Records that the resource is released. Pass a value of the same type as to
    /// [`acquired`](Probe::acquired). Call this just before the release, so that the next event of that
    /// lock is recorded later. A resource that was not
    /// [`acquired`](Probe::acquired) during the recording is ignored.
    #[inline]
    #[track_caller]
    pub fn released(self, resource: impl Into<Resource>) {
        self.released_at(resource, Location::caller());
    }

    /// Like [`released`](Self::released), at this site.
    #[inline]
    pub fn released_at<S: CallSite>(self, resource: impl Into<Resource>, place: S) {
        self.emit_hold(ThreadEventKind::Release, 0, resource.into(), place);
    }

    #[inline(never)]
    fn emit_hold<S: CallSite>(
        self,
        kind: ThreadEventKind,
        mark: u64,
        resource: Resource,
        place: S,
    ) {
        if !self.is_live() || self.region.header.is_stopped() {
            return;
        }
        let (held_by, holder) = match CurrentCoroutine::find::<P, L>(self.region.stations) {
            CurrentCoroutine::NoCoroutine => (HELD_BY_THREAD, None),
            CurrentCoroutine::Coroutine(word) => (HELD_BY_COROUTINE, Some(word)),
            CurrentCoroutine::Unknown => (HELD_BY_UNKNOWN, None),
        };
        self.emit_record(Payload {
            kind: kind as u8,
            wait_kind: resource.kind as u8,
            uses: holder.map_or(0, layout::uses_of) as u8,
            station: holder.and_then(layout::station_of).unwrap_or(0),
            n: held_by | mark,
            site: self.site(place).0,
            arg: resource.number,
        });
    }
}

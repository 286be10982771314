//! Where coroutines are born: a [`Probe`] is one attached program.

use core::marker::PhantomData;
use core::panic::Location;

use crate::event;
use crate::event::announce;
use crate::handle::coroutine::{Coroutine, Kind};
use crate::memory::Region;
use crate::memory::alloc;
use crate::platform::mode::{ANY, RecordingMode, USUAL, USUAL_FLIGHT};
use crate::platform::{Platform, attachment, local};
use crate::protocol::aggregate::Bins;
use crate::protocol::chain::{self, Chain};
use crate::protocol::control;
use crate::protocol::doorbell;
use crate::protocol::intern::site::{self, SiteWord};
use crate::protocol::intern::{self, Entry};
use crate::protocol::lane::RingMark;
use crate::protocol::slot::EventKind;
use crate::protocol::wait::Wait;
use crate::sync::Ordering;

/// Ids of chains, by their hashes.
static CHAINS: site::Cache = site::Cache::new();

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
    bins: Bins,
    has_bins: bool,
    platform: PhantomData<fn() -> P>,
}

impl<P> Clone for Probe<P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P> Copy for Probe<P> {}

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
            laneless_word: event::laneless_word(attachment),
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

    /// Those of this recording's aggregates, if it keeps some.
    #[inline(always)]
    pub(crate) fn bins<const MODE: RecordingMode>(&self) -> Option<Bins> {
        let has_bins = match MODE {
            USUAL => false,
            USUAL_FLIGHT => true,
            _ => self.has_bins,
        };
        has_bins.then_some(self.bins)
    }

    /// A coroutine comes into being; the caller is where it is spawned.
    #[track_caller]
    pub fn born(self, name: &str) -> Coroutine<P> {
        self.born_as(name, Kind::Unknown, Location::caller())
    }

    /// A coroutine of some kind, spawned at `place`.
    pub fn born_as(
        self,
        name: &str,
        kind: Kind,
        place: &'static Location<'static>,
    ) -> Coroutine<P> {
        match self.is_live().then(|| self.seat()).flatten() {
            Some(index) => Coroutine::occupy(self, index, kind, self.name(name, place)),
            None => Coroutine::mute(),
        }
    }

    /// What is kept out: 0, nothing.
    #[inline(always)]
    pub(crate) fn control_word(&self) -> u32 {
        self.region.header.kind_mask.load(Ordering::Relaxed)
    }

    /// Does the recorder want no such event now, by this word that is not 0?
    #[inline(always)]
    pub(crate) fn keeps_out(&self, word: u32, kind: EventKind) -> bool {
        control::keeps_out(word, kind, || self.thread())
    }

    #[cold]
    #[inline(never)]
    fn thread(&self) -> u64 {
        P::thread_in(self.attachment)
    }

    /// The time, if that takes no call.
    #[inline(always)]
    pub(crate) fn ns_at_once<const MODE: RecordingMode>(&self) -> Option<u64> {
        let Region {
            header, extended, ..
        } = self.region;
        (MODE != ANY || extended)
            .then(|| P::ns_at_once(header))
            .flatten()
    }

    /// Rings if the recorder sleeps.
    #[inline(always)]
    pub(crate) fn call_recorder<const MODE: RecordingMode>(&self) {
        let sleeping = &self.region.header.tracer_sleeping;
        let must_ring = match MODE != ANY || self.is_ordered {
            true => doorbell::must_ring_ordered(sleeping),
            false => doorbell::must_ring(sleeping),
        };
        if must_ring {
            P::ring();
        }
    }

    /// Is this still the program that attached? Not in a fork of it.
    pub(crate) fn is_live(self) -> bool {
        attachment::<P>() == self.attachment
    }

    /// A station that somebody has left, else one that nobody had yet.
    fn seat(self) -> Option<u32> {
        let Region {
            header,
            stations,
            free,
            ..
        } = self.region;
        let max = stations.len() as u32;
        alloc::take_back(&header.free_head, &header.free_tail, free)
            .filter(|index| *index < max)
            .or_else(|| alloc::claim(&header.allocated_count, max, &header.refused))
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

    /// The word that stands for this line of the program in an event.
    #[inline(always)]
    pub(crate) fn site(&self, place: &'static Location<'static>) -> SiteWord {
        let pointer = core::ptr::from_ref(place).addr() as u64;
        site::cached(pointer, self.attachment, || self.line_site(place))
    }

    #[cold]
    #[inline(never)]
    fn line_site(&self, place: &'static Location<'static>) -> u32 {
        self.intern_site(&Entry::source(place))
    }

    /// The word that stands for this function in an event. Not cached by its address: the linker
    /// may give one address to functions that differ only in their names.
    #[cfg(feature = "linux")]
    pub(crate) fn function_site(self, addr: u64, name: &str) -> SiteWord {
        SiteWord::from_id(self.intern_site(&Entry::function(addr, name)))
    }

    /// The id in the table of chains of the one with this hash, which is made if it is new.
    #[inline(always)]
    pub(crate) fn chain(&self, hash: u64, make: impl FnOnce() -> Chain) -> u32 {
        CHAINS.id(hash >> 16, self.attachment, || self.intern_chain(&make()))
    }

    #[cold]
    #[inline(never)]
    fn intern_chain(&self, chain: &Chain) -> u32 {
        let id = chain::intern(self.region.chains, self.attach_id, chain);
        self.count_if_unnamed(id)
    }

    /// The word of an event for a wait at `site` that began at the end of this chain, which was
    /// found when nobody had announced that site yet.
    pub(crate) fn site_in_chain(&self, site: SiteWord, chain: u32) -> SiteWord {
        let table = self.region.chains;
        let chain = match chain::lookup(table, chain) {
            Some(found) if site.interned() != 0 && found.site != site.interned() => {
                let chain = Chain {
                    site: site.interned(),
                    ..found
                };
                self.chain(chain.hash(), || chain)
            }
            Some(_) => chain,
            None => 0,
        };
        match self.region.site_of_chain(chain) {
            0 => site,
            id => SiteWord::from_id(id),
        }
    }

    fn intern_site(self, entry: &Entry<'_>) -> u32 {
        let id = intern::intern(self.region.sites, self.attach_id, entry);
        self.count_if_unnamed(id)
    }

    fn name(self, name: &str, place: &'static Location<'static>) -> u32 {
        if !self.region.extended {
            return 0;
        }
        let entry = Entry::name(name, self.site(place).interned());
        let id = intern::intern(self.region.names, self.attach_id, &entry);
        self.count_if_unnamed(id)
    }

    fn count_if_unnamed(self, id: u32) -> u32 {
        if id == 0 && self.region.extended {
            self.region.header.unnamed.fetch_add(1, Ordering::Relaxed);
        }
        id
    }
}

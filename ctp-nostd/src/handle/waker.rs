//! The handle that records a coroutine's wakes.

use core::panic::Location;

use crate::event::CurrentCoroutine;
use crate::event::StationHandle;
use crate::memory::layout::{Full, Layout, StationOf, WAKER_IS_THREAD};
use crate::platform::Attached;
use crate::platform::Probe;
use crate::platform::mode::{RecordingMode, in_mode};
use crate::platform::{Platform, ProbeLayout, attachment};
use crate::protocol::intern::call_site::CallSite;
use crate::protocol::intern::site::SiteWord;
use crate::protocol::lane::{Payload, ThreadEventKind};
#[cfg(feature = "alloc")]
use crate::protocol::live_wakers;
use crate::protocol::wake;
#[cfg(feature = "alloc")]
use crate::sync::AtomicU32;
use crate::sync::Ordering;

/// Records that a coroutine is woken. Any thread may hold a waker, even after the coroutine's end.
///
/// Only a recorder gets the sites of wakes: static memory keeps how many wakes there were, and source and
/// time of the latest.
pub struct Waker<P: 'static, L: Layout = Full> {
    target: Attached<WakeTarget<L>>,
    /// Used to find the lane of the thread that wakes.
    probe: Option<&'static Probe<P, L>>,
}

/// The coroutine to wake: an owner of a station.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WakeTarget<L: Layout> {
    station: &'static StationOf<L>,
    /// All stations of the region.
    stations: &'static [StationOf<L>],
    /// The ring of the memory, if the layout has a ring.
    ring: L::Ring,
    /// Identifies the coroutine in a lane record.
    owner_bits: u64,
    generation: u32,
}

impl<P: 'static, L: Layout> Clone for Waker<P, L> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P: 'static, L: Layout> Copy for Waker<P, L> {}

impl<P: 'static, L: Layout> core::fmt::Debug for Waker<P, L> {
    fn fmt(&self, out: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let generation = self.target.get().map(|target| target.generation);
        out.debug_tuple("Waker").field(&generation).finish()
    }
}

impl<P: Platform, L: ProbeLayout> Waker<P, L> {
    /// A waker that records nothing.
    pub const fn mute() -> Self {
        Waker {
            target: Attached::detached(),
            probe: None,
        }
    }

    pub(crate) fn of(handle: &StationHandle<P, L>) -> Self {
        let attachment = handle.probe.attachment;
        let target = WakeTarget {
            station: handle.station,
            stations: handle.probe.region.stations,
            ring: handle.probe.region.ring,
            owner_bits: handle.owner_bits,
            generation: handle.generation,
        };
        Waker {
            target: Attached::new::<P>(attachment, target),
            probe: L::attached::<P>().filter(|probe| probe.attachment == attachment),
        }
    }

    /// Records that the coroutine is about to be made ready; the caller is the site of the wake.
    /// Call this *before* the coroutine is queued. Otherwise a recorder may see the coroutine queued,
    /// and no wake (see [`crate::wake`]). A coroutine that consumes a wake, such as a permit,
    /// without being suspended must [run](crate::Coroutine::run) again.
    #[inline]
    #[track_caller]
    pub fn wake(&self) {
        self.wake_at(Location::caller());
    }

    /// Like [`wake`](Self::wake), from this site. For a runtime that knows which line of the program
    /// caused the wake.
    #[inline]
    pub fn wake_at<S: CallSite>(&self, place: S) {
        let Some(target) = self.target() else { return };
        match self.recording_probe() {
            Some(probe) => {
                in_mode!(probe, MODE => target.wake_at_call_site::<MODE, P, S>(probe, place));
            }
            None => target.wake_without_recorder::<P>(),
        }
    }

    /// The coroutine to wake, if it still owns its station.
    #[inline(always)]
    pub(crate) fn target(&self) -> Option<&WakeTarget<L>> {
        self.target.live().filter(|target| target.owns_station())
    }

    /// The recorder's probe, if wakes are recorded now.
    #[inline(always)]
    pub(crate) fn recording_probe(&self) -> Option<&'static Probe<P, L>> {
        self.probe.filter(|probe| !probe.region.header.is_stopped())
    }

    /// The recorder's probe. `None` in a forked child, and for static memory.
    #[cfg(feature = "alloc")]
    #[inline]
    pub(crate) fn live_probe(&self) -> Option<&'static Probe<P, L>> {
        self.target.live()?;
        self.probe
    }

    /// Counts wakers of the coroutine in its station.
    #[cfg(feature = "alloc")]
    #[inline(always)]
    pub(crate) fn counter(&self) -> LiveWakerCounter<L> {
        LiveWakerCounter(self.target)
    }
}

/// Access to the count of wakers in a coroutine's station. It may outlive the waker.
#[cfg(feature = "alloc")]
pub(crate) struct LiveWakerCounter<L: Layout = Full>(Attached<WakeTarget<L>>);

#[cfg(feature = "alloc")]
impl<L: Layout> LiveWakerCounter<L> {
    /// Adds a waker.
    pub fn add(&self) {
        if let Some((word, generation)) = self.word_and_generation() {
            live_wakers::add(word, generation);
        }
    }

    /// Removes a waker, after everything that the waker did.
    pub fn subtract(&self) {
        if let Some((word, generation)) = self.word_and_generation() {
            live_wakers::subtract(word, generation);
        }
    }

    fn word_and_generation(&self) -> Option<(&'static AtomicU32, u32)> {
        let target = self.0.live()?;
        Some((&target.station.wakers_live, target.generation))
    }
}

impl<L: ProbeLayout> WakeTarget<L> {
    #[inline(never)]
    fn wake_at_call_site<const MODE: RecordingMode, P: Platform, S: CallSite>(
        &self,
        probe: &Probe<P, L>,
        place: S,
    ) {
        self.record_wake::<MODE, P>(probe, || probe.site(place));
    }

    /// Records a wake from the site with this id in the table; 0: unknown.
    #[cfg(feature = "alloc")]
    #[inline(always)]
    pub fn wake_at_site_id<P: Platform>(&self, probe: &Probe<P, L>, site: u32) {
        in_mode!(probe, MODE => self.wake_at_site_id_in::<MODE, P>(probe, site));
    }

    #[cfg(feature = "alloc")]
    #[inline(never)]
    fn wake_at_site_id_in<const MODE: RecordingMode, P: Platform>(
        &self,
        probe: &Probe<P, L>,
        site: u32,
    ) {
        self.record_wake::<MODE, P>(probe, || SiteWord::in_lane(site));
    }

    /// Records the wake in the station, and in the lane of the waking thread.
    #[inline(always)]
    fn record_wake<const MODE: RecordingMode, P: Platform>(
        &self,
        probe: &Probe<P, L>,
        site: impl FnOnce() -> SiteWord,
    ) {
        let Some(count) = self.advance() else { return };
        let by = self.source::<P>(probe.attachment);
        let site = site().0;
        let at_ns =
            probe.emit_record_for::<MODE>(self.owner_bits, || wake_payload(count, by, site));
        self.store_wake(by, at_ns);
    }

    /// Records the wake in the station, and in the ring of the memory if there is a ring. The site would cost
    /// a search in the table of sites, and is left out. Programs that a recorder attached rarely come here, so
    /// the function is cold.
    #[cold]
    pub fn wake_without_recorder<P: Platform>(&self) {
        let Some(count) = self.advance() else { return };
        let (by, at_ns) = (self.source::<P>(attachment::<P>()), P::now_ns());
        let site = SiteWord::default().0;
        L::keep(self.ring, self.owner_bits, at_ns, || {
            wake_payload(count, by, site)
        });
        self.store_wake(by, at_ns);
    }

    /// Counts the wake. `None` if the station belongs to another coroutine by now.
    #[inline(always)]
    fn advance(&self) -> Option<u32> {
        wake::advance(&self.station.wake, self.generation)
    }

    /// Stores source and time of the wake, unless the station belongs to another coroutine by now.
    #[inline(always)]
    fn store_wake(&self, by: u32, at_ns: u64) {
        if self.owns_station() {
            self.station.waker.store(by, Ordering::Relaxed);
            self.station.wake_ts.store_shared(at_ns);
        }
    }

    /// Whether the station still belongs to the coroutine.
    #[inline(always)]
    fn owns_station(&self) -> bool {
        self.station.generation.load(Ordering::Relaxed) == self.generation
    }

    /// The coroutine that runs on this thread, or else the thread; 0 if not known.
    #[inline(always)]
    fn source<P: Platform>(&self, attachment: u32) -> u32 {
        match CurrentCoroutine::find::<P, L>(self.stations) {
            CurrentCoroutine::Coroutine(coroutine_word) => coroutine_word,
            CurrentCoroutine::NoCoroutine => WAKER_IS_THREAD | P::thread_in(attachment) as u32,
            CurrentCoroutine::Unknown => 0,
        }
    }
}

/// The record of wake number `count`.
#[inline(always)]
fn wake_payload(count: u32, by: u32, site: u64) -> Payload {
    Payload {
        kind: ThreadEventKind::Wake as u8,
        n: count.into(),
        site,
        arg: by.into(),
        ..Payload::default()
    }
}

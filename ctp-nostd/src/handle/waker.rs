//! The handle with which a coroutine's wakes are told.

use core::panic::Location;

use crate::event::RunsHere;
use crate::event::Seat;
use crate::memory::layout::{Station, WAKER_IS_THREAD};
use crate::platform::Attached;
use crate::platform::Probe;
use crate::platform::mode::{RecordingMode, in_mode};
use crate::platform::{Platform, attachment};
use crate::protocol::intern::site::SiteWord;
use crate::protocol::lane::{DeedKind, Payload};
#[cfg(feature = "alloc")]
use crate::protocol::live;
use crate::protocol::wake;
#[cfg(feature = "alloc")]
use crate::sync::AtomicU32;
use crate::sync::Ordering;

/// Tells that a coroutine is woken. Any thread may hold one, also after the coroutine's end.
pub struct Waker<P: 'static> {
    target: Attached<Target>,
    /// Where it finds the lane of the thread that wakes.
    probe: Option<&'static Probe<P>>,
}

/// Who is woken: an occupant of one of the stations.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target {
    station: &'static Station,
    /// All of them.
    stations: &'static [Station],
    /// What stands for the coroutine in a lane's record.
    whose: u64,
    generation: u32,
}

impl<P: 'static> Clone for Waker<P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P: 'static> Copy for Waker<P> {}

impl<P: 'static> core::fmt::Debug for Waker<P> {
    fn fmt(&self, out: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let generation = self.target.get().map(|target| target.generation);
        out.debug_tuple("Waker").field(&generation).finish()
    }
}

impl<P: Platform> Waker<P> {
    /// A waker that tells nothing.
    pub const fn mute() -> Self {
        Waker {
            target: Attached::nothing(),
            probe: None,
        }
    }

    pub(crate) fn of(seat: &Seat<P>) -> Self {
        let attachment = seat.probe.attachment;
        let target = Target {
            station: seat.station,
            stations: seat.probe.region.stations,
            whose: seat.whose,
            generation: seat.generation,
        };
        Waker {
            target: Attached::under::<P>(attachment, target),
            probe: P::probe().filter(|it| it.attachment == attachment),
        }
    }

    /// The coroutine is about to be made ready; the caller is where. Call this *before* it is
    /// queued: the other order would call a coroutine not woken that is (see [`crate::wake`]). One
    /// that uses up a wake without being suspended in between, as a permit,
    /// [runs](crate::Coroutine::run) anew.
    #[inline]
    #[track_caller]
    pub fn wake(&self) {
        self.wake_at(Location::caller());
    }

    /// Like [`wake`](Self::wake), from this place: the runtime may know better which line of the program it
    /// is.
    #[inline]
    pub fn wake_at(&self, place: &'static Location<'static>) {
        let Some(target) = self.target() else { return };
        match self.recording() {
            Some(probe) => in_mode!(probe, MODE => target.wake_at::<MODE, P>(probe, place)),
            None => target.wake_alone::<P>(),
        }
    }

    /// Who is to be woken, if it is still there.
    #[inline(always)]
    pub(crate) fn target(&self) -> Option<&Target> {
        self.target.live().filter(|it| it.is_there())
    }

    /// Who makes records of wakes now, if anybody does.
    #[inline(always)]
    pub(crate) fn recording(&self) -> Option<&'static Probe<P>> {
        self.probe.filter(|it| !it.region.header.is_stopped())
    }

    /// Who records, if that is who recorded when it was made.
    #[cfg(feature = "alloc")]
    #[inline]
    pub(crate) fn live_probe(&self) -> Option<&'static Probe<P>> {
        self.target.live()?;
        self.probe
    }

    /// Where those are counted who can wake the coroutine.
    #[cfg(feature = "alloc")]
    #[inline(always)]
    pub(crate) fn count(&self) -> Count {
        Count(self.target)
    }
}

/// Those who can wake one coroutine.
#[cfg(feature = "alloc")]
pub(crate) struct Count(Attached<Target>);

#[cfg(feature = "alloc")]
impl Count {
    /// One more.
    pub fn add(&self) {
        if let Some((word, generation)) = self.live() {
            live::add(word, generation);
        }
    }

    /// One less, which did before whatever it did.
    pub fn subtract(&self) {
        if let Some((word, generation)) = self.live() {
            live::subtract(word, generation);
        }
    }

    /// There is one alone.
    pub fn is_one(&self) -> bool {
        let count = self
            .live()
            .and_then(|(word, generation)| live::count(word, generation));
        count == Some(1)
    }

    fn live(&self) -> Option<(&'static AtomicU32, u32)> {
        let target = self.0.live()?;
        Some((&target.station.wakers_live, target.generation))
    }
}

impl Target {
    #[inline(never)]
    fn wake_at<const MODE: RecordingMode, P: Platform>(
        &self,
        probe: &Probe<P>,
        place: &'static Location<'static>,
    ) {
        self.wake_as::<MODE, P>(probe, || probe.site(place));
    }

    /// From a site with this id in the table, or from none.
    #[cfg(feature = "alloc")]
    #[inline(always)]
    pub fn wake_from<P: Platform>(&self, probe: &Probe<P>, site: u32) {
        in_mode!(probe, MODE => self.wake_from_as::<MODE, P>(probe, site));
    }

    #[cfg(feature = "alloc")]
    #[inline(never)]
    fn wake_from_as<const MODE: RecordingMode, P: Platform>(&self, probe: &Probe<P>, site: u32) {
        self.wake_as::<MODE, P>(probe, || SiteWord::in_lane(site));
    }

    /// With a record in the lane of the thread that wakes.
    #[inline(always)]
    fn wake_as<const MODE: RecordingMode, P: Platform>(
        &self,
        probe: &Probe<P>,
        site: impl FnOnce() -> SiteWord,
    ) {
        let Some(count) = self.advance() else { return };
        let by = self.who::<P>(probe.attachment);
        let site = site().0;
        let payload = || Payload {
            kind: DeedKind::Wake as u8,
            n: count.into(),
            site,
            arg: by.into(),
            ..Payload::default()
        };
        let at_ns = probe.tell_as::<MODE>(self.whose, payload);
        self.is_woken(by, at_ns);
    }

    /// In the station alone.
    #[cold]
    pub fn wake_alone<P: Platform>(&self) {
        if self.advance().is_some() {
            self.is_woken(self.who::<P>(attachment::<P>()), P::now_ns());
        }
    }

    /// Counts the wake. Nothing if the station has another occupant by now.
    #[inline(always)]
    fn advance(&self) -> Option<u32> {
        wake::advance(&self.station.wake, self.generation)
    }

    /// The next occupant may have come meanwhile.
    #[inline(always)]
    fn is_woken(&self, by: u32, at_ns: u64) {
        if self.is_there() {
            self.station.waker.store(by, Ordering::Relaxed);
            self.station.wake_ts.store(at_ns, Ordering::Relaxed);
        }
    }

    #[inline(always)]
    fn is_there(&self) -> bool {
        self.station.generation.load(Ordering::Relaxed) == self.generation
    }

    /// The coroutine that runs on this thread, else the thread; 0 where that is not known.
    #[inline(always)]
    fn who<P: Platform>(&self, attachment: u32) -> u32 {
        match RunsHere::find::<P>(self.stations) {
            RunsHere::Coroutine(seat_word) => seat_word,
            RunsHere::Nobody => WAKER_IS_THREAD | P::thread_in(attachment) as u32,
            RunsHere::Unsure => 0,
        }
    }
}

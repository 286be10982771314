//! The handle with which a coroutine's wakes are told.

#[cfg(feature = "alloc")]
use core::marker::PhantomData;
use core::panic::Location;

use crate::lane::{Deed, Payload};
use crate::layout::{Station, WAKER_IS_THREAD};
#[cfg(feature = "alloc")]
use crate::live;
use crate::platform::Platform;
use crate::probe::Probe;
use crate::runs_here::RunsHere;
use crate::seat::Seat;
use crate::site::SiteWord;
#[cfg(feature = "alloc")]
use crate::sync::AtomicU32;
use crate::sync::Ordering;
use crate::wake;

/// Tells that a coroutine is woken. Any thread may hold one, also after the coroutine's end.
pub struct Waker<P: 'static> {
    target: Option<Target>,
    attachment: u32,
    /// Where it finds the lane of the thread that wakes.
    probe: Option<&'static Probe<P>>,
}

/// Who is woken: an occupant of one of the stations.
#[derive(Clone, Copy, Debug)]
struct Target {
    station: &'static Station,
    /// All of them.
    stations: &'static [Station],
    index: u32,
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
        let generation = self.target.map(|target| target.generation);
        out.debug_tuple("Waker").field(&generation).finish()
    }
}

impl<P: Platform> Waker<P> {
    /// Tells nothing.
    pub const fn mute() -> Self {
        Waker {
            target: None,
            attachment: 0,
            probe: None,
        }
    }

    pub(crate) fn of(seat: &Seat<P>) -> Self {
        let target = Target {
            station: seat.station,
            stations: seat.probe.region.stations,
            index: seat.index,
            generation: seat.generation,
        };
        Waker {
            target: Some(target),
            attachment: seat.probe.attachment,
            probe: P::probe().filter(|it| it.attachment == seat.probe.attachment),
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

    /// The same, where the runtime knows better which line of the program it is.
    #[inline]
    pub fn wake_at(&self, place: &'static Location<'static>) {
        if let Some(target) = self.live_target() {
            target.wake(self.attachment, self.probe, |probe| probe.site(place));
        }
    }

    /// The same, where the line has to be found.
    #[cfg(feature = "alloc")]
    #[inline(always)]
    pub(crate) fn wake_from(&self, site: impl FnOnce(&Probe<P>) -> SiteWord) {
        if let Some(target) = self.live_target() {
            target.wake(self.attachment, self.probe, site);
        }
    }

    /// Who records, if that is who recorded when it was made.
    #[cfg(feature = "alloc")]
    #[inline]
    pub(crate) fn live_probe(&self) -> Option<&'static Probe<P>> {
        self.live_target()?;
        self.probe
    }

    /// Where those are counted who can wake the coroutine.
    #[cfg(feature = "alloc")]
    #[inline(always)]
    pub(crate) fn count(&self) -> Count<P> {
        Count {
            word: self.target.as_ref().map(|it| &it.station.wakers_live),
            generation: self.target.as_ref().map_or(0, |it| it.generation),
            attachment: self.attachment,
            platform: PhantomData,
        }
    }

    /// Nothing in a fork of the program that made it.
    #[inline]
    fn live_target(&self) -> Option<&Target> {
        let target = self.target.as_ref();
        target.filter(|_| P::attachment() == self.attachment)
    }
}

/// Those who can wake one coroutine.
#[cfg(feature = "alloc")]
pub(crate) struct Count<P> {
    word: Option<&'static AtomicU32>,
    generation: u32,
    attachment: u32,
    platform: PhantomData<P>,
}

#[cfg(feature = "alloc")]
impl<P: Platform> Count<P> {
    /// One more.
    pub fn add(&self) {
        if let Some(word) = self.live_word() {
            live::add(word, self.generation);
        }
    }

    /// One less, which did before whatever it did.
    pub fn subtract(&self) {
        if let Some(word) = self.live_word() {
            live::subtract(word, self.generation);
        }
    }

    /// There is one alone.
    pub fn is_one(&self) -> bool {
        let count = |word| live::count(word, self.generation);
        self.live_word().and_then(count) == Some(1)
    }

    fn live_word(&self) -> Option<&'static AtomicU32> {
        self.word.filter(|_| P::attachment() == self.attachment)
    }
}

impl Target {
    #[inline]
    fn wake<P: Platform>(
        &self,
        attachment: u32,
        probe: Option<&Probe<P>>,
        site: impl FnOnce(&Probe<P>) -> SiteWord,
    ) {
        let station = self.station;
        if station.generation.load(Ordering::Relaxed) != self.generation {
            return;
        }
        let Some(count) = wake::advance(&station.wake, self.generation) else {
            return;
        };
        let by = who::<P>(self.stations, attachment);
        let tell = |probe: &Probe<P>| {
            probe.tell(Payload {
                kind: Deed::Wake as u8,
                uses: (self.generation / 2) as u8,
                station: self.index,
                n: count.into(),
                site: site(probe).0,
                arg: by.into(),
                ..Payload::default()
            })
        };
        let probe = probe.filter(|probe| !probe.region.header.is_stopped());
        let at_ns = probe.map_or_else(P::now_ns, tell);
        // The next occupant may have come meanwhile.
        if station.generation.load(Ordering::Relaxed) == self.generation {
            station.waker.store(by, Ordering::Relaxed);
            station.wake_ts.store(at_ns, Ordering::Relaxed);
        }
    }
}

/// The coroutine that runs on this thread, else the thread; 0 where that is not known.
#[inline]
fn who<P: Platform>(stations: &[Station], attachment: u32) -> u32 {
    match RunsHere::find::<P>(stations) {
        RunsHere::Coroutine(seat_word) => seat_word,
        RunsHere::Nobody => WAKER_IS_THREAD | P::thread_in(attachment) as u32,
        RunsHere::Unsure => 0,
    }
}

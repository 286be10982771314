//! The handle that a coroutine owns: its life is the handle's life.

use core::cell::Cell;

use crate::aggregate::Bins;
use crate::control;
use crate::lane::Payload;
#[cfg(feature = "alloc")]
use crate::layout::FLAG_COUNTS_WAKERS;
use crate::layout::{EXT_REV, FLAG_TELLS_WAKES, SLOTS, Station, seat_word};
use crate::platform::{Local, Platform};
use crate::probe::Probe;
use crate::site::SiteWord;
use crate::slot::{self, Epoch, EventKind, Tail};
use crate::sync::{Ordering, fence};
use crate::thread_lane::Place;
use crate::unlocked;
use crate::wait::{Wait, WaitKind};
use crate::wake;
use crate::waker::Waker;

/// What sort of coroutine; its code is stored in the station.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
#[non_exhaustive]
pub enum Kind {
    /// Not told.
    #[default]
    Unknown = 0,
    /// A future that is polled.
    Future = 1,
    /// It has a stack of its own.
    Stackful = 2,
    /// A plain thread.
    Thread = 3,
    /// A task on bare metal.
    Bare = 4,
}

/// A coroutine's trace. It belongs to the coroutine and moves between threads with it; dropping
/// it is the coroutine's death.
///
/// One that was made while nobody records, or after a fork, is mute: every call is one branch.
#[derive(Debug)]
pub struct Coroutine<P: Platform> {
    seat: Option<Seat<P>>,
    wake_seen: Cell<u16>,
    /// Whose place in this thread's `current` word it took.
    previous: Cell<u64>,
}

/// A station and what its occupant needs at every event.
#[derive(Debug)]
struct Seat<P> {
    probe: Probe<P>,
    station: &'static Station,
    index: u32,
    generation: u32,
}

/// An event that has its index `n`, its time, its place in the lane, and what its kind carries
/// besides.
struct Begun {
    n: u64,
    at: u64,
    place: Option<Place>,
    mark: u8,
    /// Events of the same coroutine that were begun and not told of.
    amid: u32,
}

/// Events of a coroutine that may be amid another one of the same: with that one, and the one
/// before it, as many as there are slots.
const MOST_AMID: u32 = SLOTS as u32 - 2;

impl<P: Platform> Coroutine<P> {
    /// A trace that records nothing.
    pub const fn mute() -> Self {
        Coroutine {
            seat: None,
            wake_seen: Cell::new(0),
            previous: Cell::new(0),
        }
    }

    /// Takes a station that was just claimed.
    pub(crate) fn occupy(probe: Probe<P>, index: u32, kind: Kind, meta: u32) -> Self {
        let station = &probe.region.stations[index as usize];
        let generation = station.generation.load(Ordering::Relaxed).wrapping_add(2) & !1;
        let seat = Seat {
            probe,
            station,
            index,
            generation,
        };
        seat.move_in(kind, meta);
        seat.event(EventKind::Birth, Epoch::default);
        Coroutine {
            seat: Some(seat),
            wake_seen: Cell::new(0),
            previous: Cell::new(0),
        }
    }

    /// The id that [`Wait::coroutine`] wants; 0 if it is mute. (Reports number coroutines anew, from 1.)
    pub fn id(&self) -> u64 {
        self.live_seat().map_or(0, Seat::probe_id)
    }

    /// It runs from now on, on this thread.
    #[inline]
    pub fn run(&self) {
        if let Some(seat) = self.live_seat() {
            self.run_in(seat);
        }
    }

    /// Apart, so that the branch of those that nobody records is in the caller.
    fn run_in(&self, seat: &Seat<P>) {
        self.wake_seen.set(wake::seen(&seat.station.wake));
        if let Some(local) = P::local() {
            self.enter(seat, local);
        }
        let tail = Tail {
            wake_seen: self.wake_seen.get(),
            ..Tail::default()
        };
        seat.event(EventKind::Run, || Epoch {
            tail,
            ..Epoch::default()
        });
    }

    /// It waits from now on. Call it before anybody can resume it elsewhere.
    #[inline]
    pub fn suspend(&self, wait: Wait) {
        if let Some(seat) = self.live_seat() {
            self.suspend_in(seat, wait);
        }
    }

    fn suspend_in(&self, seat: &Seat<P>, wait: Wait) {
        let site = || seat.probe.site(wait.place);
        self.suspend_at(seat, site, wait.code(), wait.resource);
    }

    /// It waits from now on, for what a leaf future [announced](Probe::waits_for) since the run
    /// began; without any, nothing is known of the wait but its length.
    #[inline]
    pub fn suspend_noted(&self) {
        self.suspend_noted_or(SiteWord::default());
    }

    /// The same; without any announcement it waits for something unknown at `otherwise`.
    #[inline]
    pub(crate) fn suspend_noted_or(&self, otherwise: SiteWord) {
        let Some(seat) = self.live_seat() else { return };
        match P::local().and_then(noted) {
            Some((site, code, arg)) => self.suspend_at(seat, || site, code, arg),
            None => self.suspend_at(seat, || otherwise, WaitKind::Unknown as u8, 0),
        }
    }

    /// A handle with which anybody, on any thread, tells that this coroutine is woken. From the
    /// first one on, a coroutine that was not woken is known not to be.
    pub fn waker(&self) -> Waker<P> {
        let Some(seat) = self.live_seat() else {
            return Waker::mute();
        };
        let flags = seat.station.flags.load(Ordering::Relaxed) | FLAG_TELLS_WAKES;
        seat.station.flags.store(flags, Ordering::Relaxed);
        Waker::new(
            seat.station,
            seat.index,
            seat.generation,
            seat.probe.attachment,
        )
    }

    /// Does anybody record it?
    #[cfg(feature = "alloc")]
    pub(crate) fn is_recorded(&self) -> bool {
        self.live_seat().is_some()
    }

    /// As [`waker`](Coroutine::waker), of one whose wakers are counted.
    #[cfg(feature = "alloc")]
    pub(crate) fn counted_waker(&self) -> Option<Waker<P>> {
        let waker = self.waker();
        let station = self.live_seat()?.station;
        let flags = station.flags.load(Ordering::Relaxed) | FLAG_COUNTS_WAKERS;
        station.flags.store(flags, Ordering::Relaxed);
        Some(waker)
    }

    /// The site is looked up only if the event is kept.
    #[inline]
    fn suspend_at(&self, seat: &Seat<P>, site: impl FnOnce() -> SiteWord, code: u8, arg: u64) {
        if let Some(local) = P::local() {
            self.leave(seat, local);
        }
        seat.event(EventKind::Suspend, || Epoch {
            addr: core::ptr::from_ref(self).addr() as u64,
            site: site().0,
            arg,
            tail: Tail {
                wait_kind: code,
                wake_seen: self.wake_seen.get(),
                ..Tail::default()
            },
            ..Epoch::default()
        });
    }

    /// It is the one that runs here, and what an earlier one announced is void.
    #[inline]
    fn enter(&self, seat: &Seat<P>, local: &Local) {
        let running = local.current.load(Ordering::Relaxed);
        if running != seat.word() {
            self.previous.set(running);
            local.current.store(seat.word(), Ordering::Relaxed);
        }
        local.noted_kind.store(0, Ordering::Relaxed);
    }

    /// The one inside of which it ran runs on; if it did not run here, nothing changes.
    #[inline]
    fn leave(&self, seat: &Seat<P>, local: &Local) {
        if local.current.load(Ordering::Relaxed) == seat.word() {
            local.current.store(self.previous.get(), Ordering::Relaxed);
        }
    }

    #[inline]
    fn live_seat(&self) -> Option<&Seat<P>> {
        let seat = self.seat.as_ref()?;
        (P::attachment() == seat.probe.attachment).then_some(seat)
    }
}

impl<P: Platform> Drop for Coroutine<P> {
    fn drop(&mut self) {
        let Some(seat) = self.live_seat() else { return };
        if let Some(local) = P::local() {
            self.leave(seat, local);
        }
        seat.event(EventKind::Death, Epoch::default);
        seat.station.is_dead.store(1, Ordering::Release);
    }
}

/// Takes what a leaf future announced.
#[inline]
fn noted(local: &Local) -> Option<(SiteWord, u8, u64)> {
    let code = local.noted_kind.load(Ordering::Relaxed).checked_sub(1)?;
    local.noted_kind.store(0, Ordering::Relaxed);
    let site = SiteWord(local.noted_site.load(Ordering::Relaxed));
    Some((site, code as u8, local.noted_arg.load(Ordering::Relaxed)))
}

impl<P: Platform> Seat<P> {
    /// What stands for this coroutine in the word of its thread.
    #[inline]
    fn word(&self) -> u64 {
        seat_word(self.index, self.generation).into()
    }

    /// Fills in line 0 of the station. `generation` is odd meanwhile.
    fn move_in(&self, kind: Kind, meta: u32) {
        let station = self.station;
        let odd = self.generation.wrapping_sub(1);
        station.generation.store(odd, Ordering::Relaxed);
        fence(Ordering::Release); // pairs with the fence of `identity`
        let base_n = station.event_head.load(Ordering::Relaxed);
        station.base_n.store(base_n, Ordering::Relaxed);
        station.begun.store(base_n as u32, Ordering::Relaxed);
        station.dropped_nested.store(0, Ordering::Relaxed);
        station.probe_id.store(self.probe_id(), Ordering::Relaxed);
        station.birth_ts.store(P::now_ns(), Ordering::Relaxed);
        station.flags.store(0, Ordering::Relaxed);
        station.state.store(0, Ordering::Relaxed);
        station.dropped_filtered.store(0, Ordering::Relaxed);
        station.waker.store(0, Ordering::Relaxed);
        station.wake_ts.store(0, Ordering::Relaxed);
        station.kind.store(kind as u8, Ordering::Relaxed);
        station
            .wake
            .store(wake::word(self.generation), Ordering::Relaxed);
        station
            .wakers_live
            .store(wake::word(self.generation), Ordering::Relaxed);
        station
            .owner
            .store(self.probe.attach_id.into(), Ordering::Relaxed);
        station.meta.store(meta, Ordering::Relaxed);
        station.is_dead.store(0, Ordering::Relaxed);
        if self.probe.bins.is_some() {
            station.clear_aggregates();
        }
        if self.probe.region.extended {
            station.ext_rev.store(EXT_REV, Ordering::Relaxed);
        }
        station.generation.store(self.generation, Ordering::Release);
    }

    /// Unique in a recording: {attach id 16 | use of the station 24 | station + 1, 24}.
    fn probe_id(&self) -> u64 {
        let uses = u64::from(self.generation / 2) & 0xFF_FFFF;
        u64::from(self.probe.attach_id) << 48 | uses << 24 | (u64::from(self.index) + 1)
    }

    /// Completes the epoch, publishes it as the next event in the station and in the thread's
    /// lane, and rings if the recorder sleeps, unless a filter keeps it out. The head comes last:
    /// what it counts is in both.
    ///
    /// ```text
    ///   E1 begun -> n                      a handler that comes before E3 and records an event of
    ///   E2 time, place in the lane         this coroutine makes E3 fail; one that comes later finds
    ///   E3 begun: n -> n + 1  (one step)   n taken, and its event is complete before this one is
    ///   E4 slot n, record
    ///   E5 head = begun, by the outermost, for the events inside of it too
    /// ```
    #[inline(always)] // so that what the callers know of the epoch does not go through memory
    fn event(&self, kind: EventKind, epoch: impl FnOnce() -> Epoch) {
        let station = self.station;
        if self.probe.keeps_out(kind) {
            return station.leave_out(kind);
        }
        let mut epoch = epoch();
        let Some(begun) = self.begin(kind) else {
            return;
        };
        let Begun { n, at, .. } = begun;
        epoch.timestamp = at;
        epoch.tid = P::thread_in(self.probe.attachment);
        epoch.generation = self.generation;
        epoch.tail.kind = kind as u8 | begun.mark;
        epoch.tail.is_active = !matches!(kind, EventKind::Suspend);
        slot::publish(&station.slots[slot::index_of(n)], n, &epoch);
        if let Some(place) = begun.place {
            place.commit(at, self.record(kind, n, &epoch));
        }
        self.complete(n, begun.amid);
        self.probe.call_recorder();
    }

    /// The next event; nothing if too many came amid one, or if it is kept out after all.
    #[inline(always)] // what it gives does not go through memory, either
    fn begin(&self, kind: EventKind) -> Option<Begun> {
        let station = self.station;
        loop {
            let head = station.event_head.load(Ordering::Relaxed);
            let begun = station.begun.load(Ordering::Relaxed); // E1
            let amid = begun.wrapping_sub(head as u32);
            if amid > 0 && station.event_head.load(Ordering::Relaxed) != head {
                continue; // handlers came between the looks at the two words
            }
            if amid > MOST_AMID {
                self.too_many_amid(amid, head)?;
                continue;
            }
            let last_ts = station.last_ts.load(Ordering::Relaxed);
            let state = station.state.load(Ordering::Relaxed);
            let (at, place) = self.probe.reserve(|| P::now_ns().max(last_ts)); // E2
            station.last_ts.store(at, Ordering::Relaxed); // a handler from here on is later
            if control::enter(&station.begun, begun) {
                // E3
                if self.probe.keeps_out(kind) && control::withdraw(&station.begun, begun) {
                    return self.leave_out_late(kind, place, at);
                }
                return Some(Begun {
                    n: head.wrapping_add(amid.into()),
                    at,
                    place,
                    mark: control::take_mark(&station.state, state),
                    amid,
                });
            }
            self.give_way(place, at);
        }
    }

    /// A handler has begun and ended an event meanwhile: this one begins anew, after it.
    #[cold]
    fn give_way(&self, place: Option<Place>, at: u64) {
        if let Some(place) = place {
            place.void(at);
        }
        let station = self.station;
        let latest = station.begun.load(Ordering::Relaxed).wrapping_sub(1);
        let (latest_at, _) = slot::when_and_what(&station.slots[slot::index_of(latest.into())]);
        let mut last_ts = station.last_ts.load(Ordering::Relaxed);
        while last_ts < latest_at && !unlocked::exchange(&station.last_ts, last_ts, latest_at) {
            last_ts = station.last_ts.load(Ordering::Relaxed);
        }
    }

    /// A filter came into force when the event had a place already.
    #[cold]
    fn leave_out_late(&self, kind: EventKind, place: Option<Place>, at: u64) -> Option<Begun> {
        if let Some(place) = place {
            place.void(at);
        }
        self.station.leave_out(kind);
        None
    }

    /// Counts an event that is left out: gives nothing. More than that there never are: then somebody
    /// else has written one of the words, and it goes on from the head.
    #[cold]
    fn too_many_amid(&self, amid: u32, head: u64) -> Option<()> {
        let station = self.station;
        if amid == MOST_AMID + 1 {
            station.dropped_nested.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        station.begun.store(head as u32, Ordering::Relaxed);
        Some(())
    }

    /// Event `n` is in its slot and in its lane. One that came amid another leaves the rest to that.
    #[inline(always)]
    fn complete(&self, n: u64, amid: u32) {
        if amid > 0 {
            return;
        }
        if let Some(bins) = self.probe.bins {
            self.account(n, bins);
        }
        let head = n.wrapping_add(1);
        self.station.event_head.store(head, Ordering::Release); // E5
        if self.station.begun.load(Ordering::Relaxed) != head as u32 {
            self.complete_those_amid(head);
        }
    }

    /// The events that came amid the one before `head` are added to the aggregates, one after the
    /// other, and told of.
    #[cold]
    fn complete_those_amid(&self, mut head: u64) {
        let station = self.station;
        // One that has come after E5, and found nothing untold, has told of itself.
        while station.event_head.load(Ordering::Relaxed) == head {
            let begun = station.begun.load(Ordering::Relaxed);
            let complete = head.wrapping_add(begun.wrapping_sub(head as u32).into());
            if head == complete {
                return;
            }
            while head != complete {
                if let Some(bins) = self.probe.bins {
                    self.account(head, bins);
                }
                head = head.wrapping_add(1);
            }
            station.event_head.store(head, Ordering::Release); // E5
        }
    }

    /// Event `n` ended a wait or a run, which the event before began.
    #[inline]
    fn account(&self, n: u64, bins: Bins) {
        let slots = &self.station.slots;
        let (began_at, before) = slot::when_and_what(&slots[slot::index_of(n.wrapping_sub(1))]);
        let (ended_at, kind) = slot::when_and_what(&slots[slot::index_of(n)]);
        let ns = ended_at.saturating_sub(began_at);
        self.station.account(before, kind, ns, bins);
    }

    /// The same event as a lane has it.
    #[inline]
    fn record(&self, kind: EventKind, n: u64, epoch: &Epoch) -> Payload {
        Payload {
            kind: epoch.tail.kind,
            wait_kind: epoch.tail.wait_kind,
            uses: (self.generation / 2) as u8,
            station: self.index,
            n,
            site: epoch.site,
            arg: match kind {
                EventKind::Run => epoch.tail.wake_seen.into(),
                _ => epoch.arg,
            },
        }
    }
}

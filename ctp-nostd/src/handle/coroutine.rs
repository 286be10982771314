//! The handle that a coroutine owns: its life is the handle's life.

use core::cell::Cell;

use crate::event::EventPayload;
use crate::event::Seat;
use crate::event::announce;
use crate::handle::waker::Waker;
#[cfg(feature = "alloc")]
use crate::memory::layout::FLAG_COUNTS_WAKERS;
use crate::memory::layout::FLAG_TELLS_WAKES;
use crate::platform::Probe;
use crate::platform::mode::{RecordingMode, in_mode};
use crate::platform::{Attached, Local, Platform, local};
use crate::protocol::chain::FoundChain;
use crate::protocol::intern::site::SiteWord;
use crate::protocol::live;
use crate::protocol::slot::EventKind;
use crate::protocol::wait::{WAIT_ONE_OF_SEVERAL, Wait, WaitKind};
use crate::protocol::wake;
use crate::sync::Ordering;

/// What led to a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LedBy {
    /// It was woken.
    Wake,
    /// Who runs it has other reasons.
    Otherwise,
}

/// A coroutine's trace. It belongs to the coroutine and moves between threads with it; dropping
/// it is the coroutine's death.
///
/// One that was made while nobody records, or after a fork, is mute: every call is one branch.
#[derive(Debug)]
#[repr(C)]
pub struct Coroutine<P: Platform> {
    /// Whose place in this thread's `current` word it took.
    previous: Cell<u32>,
    /// The wake word of its station when its last run began, see [`crate::wake`].
    seen: Cell<u32>,
    /// It is over, and what it held may be in what it gave to another one.
    has_given_out: Cell<bool>,
    /// What an event needs comes first in there.
    seat: Attached<Seat<P>>,
}

impl<P: Platform> Coroutine<P> {
    /// A trace that records nothing.
    pub const fn mute() -> Self {
        Coroutine {
            seat: Attached::nothing(),
            seen: Cell::new(0),
            previous: Cell::new(0),
            has_given_out: Cell::new(false),
        }
    }

    /// The trace of a coroutine that has taken a seat.
    pub(super) fn of(seat: Seat<P>) -> Self {
        let attachment = seat.probe.attachment;
        Coroutine {
            seen: Cell::new(wake::word(seat.generation)),
            seat: Attached::under::<P>(attachment, seat),
            previous: Cell::new(0),
            has_given_out: Cell::new(false),
        }
    }

    /// The id that [`Wait::coroutine`] wants; 0 if it is mute. (Reports number coroutines anew, from 1.)
    pub fn id(&self) -> u64 {
        self.seat.live().map_or(0, Seat::probe_id)
    }

    /// It runs from now on, on this thread, until [`suspend`](Self::suspend) or its drop. A thread that
    /// ends before says so by [`thread_ends`](Probe::thread_ends).
    #[inline(always)] // else, where there are several callers, what is kept out costs a call
    pub fn run(&self) {
        self.runs();
    }

    /// Like [`run`](Self::run), and says what led to this run; nothing if nobody records.
    #[inline(always)]
    pub(crate) fn runs(&self) -> Option<LedBy> {
        self.seat.live().map(|seat| self.run_in(seat))
    }

    #[inline(always)]
    fn run_in(&self, seat: &Seat<P>) -> LedBy {
        let local = local::<P>();
        let led_by = self.enter(seat, local);
        if seat.keeps(seat.probe.control_word(), EventKind::Run) {
            seat.tell_run(local, self.wake_seen());
        }
        led_by
    }

    /// It waits from now on. Call it before anybody can resume it elsewhere.
    #[inline(always)] // as above
    pub fn suspend(&self, wait: Wait) {
        let Some(seat) = self.seat.live() else { return };
        let local = local::<P>();
        self.leave(seat, local);
        if seat.keeps(seat.probe.control_word(), EventKind::Suspend) {
            seat.tell_suspend(local, wait, self.addr(), self.wake_seen());
        }
    }

    /// It waits from now on, and `next` runs in its stead, on this thread: a [`suspend`](Self::suspend)
    /// and a [`run`](Self::run) at one time, for less than the two calls. Call it right before the
    /// switch of stacks, and before anybody can resume this one elsewhere.
    #[inline]
    pub fn switch_to(&self, wait: Wait, next: &Self) {
        match self.seat.live() {
            Some(seat) => in_mode!(seat.probe, MODE => self.switch_as::<MODE>(wait, next)),
            None => next.runs_alone(),
        }
    }

    /// Of one that is recorded.
    #[inline(never)]
    fn switch_as<const MODE: RecordingMode>(&self, wait: Wait, next: &Self) {
        let (Some(seat), Some(next_seat)) = (self.seat.get(), next.seat.live()) else {
            return self.suspends_alone(wait);
        };
        let local = local::<P>();
        if let Some(local) = local {
            self.gives_place(seat, next, next_seat, local);
        }
        next.sees(next_seat);
        let control = seat.probe.control_word();
        if control != 0 {
            return self.switch_under(control, seat, wait, next, next_seat);
        }
        let site = seat.probe.site(wait.place);
        let waits = || {
            let (code, seen) = (wait.code(), self.wake_seen());
            EventPayload::wait(site, code, wait.resource, self.addr(), seen)
        };
        let runs = || EventPayload::run(next.wake_seen());
        seat.switch::<MODE>(next_seat, local, || [waits(), runs()]);
    }

    /// In the stead of one that is not recorded.
    #[cold]
    #[inline(never)]
    fn runs_alone(&self) {
        self.run();
    }

    /// One runs in its stead that is not recorded.
    #[cold]
    #[inline(never)]
    fn suspends_alone(&self, wait: Wait) {
        self.suspend(wait);
    }

    /// Both events are judged by the one word.
    #[cold]
    #[inline(never)]
    fn switch_under(
        &self,
        control: u32,
        seat: &Seat<P>,
        wait: Wait,
        next: &Self,
        next_seat: &Seat<P>,
    ) {
        let runs = next_seat.keeps(control, EventKind::Run);
        if seat.keeps(control, EventKind::Suspend) {
            seat.tell_suspend(local::<P>(), wait, self.addr(), self.wake_seen());
        }
        if runs {
            next_seat.tell_run(local::<P>(), next.wake_seen());
        }
    }

    /// It waits from now on, for what a leaf future [announced](Probe::waits_for) since the run
    /// began; without any, nothing is known of the wait but its length.
    #[inline]
    pub fn suspend_noted(&self) {
        self.suspend_noted_or(SiteWord::default(), FoundChain::default());
    }

    /// Like [`suspend_noted`](Self::suspend_noted), but without any announcement it waits for something
    /// unknown at `otherwise`. Either way its place is the end of the chain that was `found`, if it is
    /// certain that it is of this wait.
    #[inline]
    pub(crate) fn suspend_noted_or(&self, otherwise: SiteWord, found: FoundChain) {
        let Some(seat) = self.seat.live() else {
            return;
        };
        let local = local::<P>();
        let (site, code, arg) = match local.and_then(announce::take) {
            Some((site, code, arg)) => {
                let site = match found.is_one_of_several() || found.chain == 0 {
                    true => site,
                    false => seat.probe.site_in_chain(site, found.chain),
                };
                (site, code | mark_of_wakers(seat), arg)
            }
            None => unannounced(&seat.probe, otherwise, found),
        };
        self.leave(seat, local);
        self.tell_the_one_around(local);
        if seat.keeps(seat.probe.control_word(), EventKind::Suspend) {
            let wait = (site, code, arg);
            seat.tell_wait(local, wait, self.addr(), self.wake_seen());
        }
    }

    /// A handle with which anybody, on any thread, tells that this coroutine is woken. From the
    /// first one on, a coroutine that was not woken is known not to be.
    pub fn waker(&self) -> Waker<P> {
        let Some(seat) = self.seat.live() else {
            return Waker::mute();
        };
        let flags = seat.station.flags.load(Ordering::Relaxed) | FLAG_TELLS_WAKES;
        seat.station.flags.store(flags, Ordering::Relaxed);
        Waker::of(seat)
    }

    /// It is over, and gives somebody something in which a lock may be that it holds: its death says so.
    #[cfg(feature = "linux")]
    pub(crate) fn gives_out(&self) {
        self.has_given_out.set(true);
    }

    /// Does anybody record it?
    #[cfg(feature = "alloc")]
    pub(crate) fn is_recorded(&self) -> bool {
        self.seat.live().is_some()
    }

    /// As [`waker`](Coroutine::waker), of one whose wakers are counted.
    #[cfg(feature = "alloc")]
    pub(crate) fn counted_waker(&self) -> Option<Waker<P>> {
        let waker = self.waker();
        let station = self.seat.live()?.station;
        let flags = station.flags.load(Ordering::Relaxed) | FLAG_COUNTS_WAKERS;
        station.flags.store(flags, Ordering::Relaxed);
        Some(waker)
    }

    /// Wakes until its last run, modulo 2^16.
    #[inline(always)]
    fn wake_seen(&self) -> u16 {
        wake::carried(self.seen.get())
    }

    /// What cTP v1 has for its frame.
    #[inline(always)]
    fn addr(&self) -> u64 {
        core::ptr::from_ref(self).addr() as u64
    }

    /// It is the one that runs here, and what an earlier one announced is void.
    #[inline(always)]
    fn enter(&self, seat: &Seat<P>, local: Option<&Local>) -> LedBy {
        if let Some(local) = local {
            self.takes(local, seat);
        }
        self.sees(seat)
    }

    #[inline(always)]
    fn sees(&self, seat: &Seat<P>) -> LedBy {
        let seen = wake::seen(&seat.station.wake);
        match self.seen.replace(seen) == seen {
            true => LedBy::Otherwise,
            false => LedBy::Wake,
        }
    }

    /// It leaves, and the next one takes its place: mostly both have run inside of the same one, or of
    /// none.
    #[inline(always)]
    fn gives_place(&self, seat: &Seat<P>, next: &Self, next_seat: &Seat<P>, local: &Local) {
        let runs_here = local.current.load(Ordering::Relaxed) as u32 == seat.word;
        if runs_here && self.previous.get() == next.previous.get() {
            local
                .current
                .store(next_seat.word.into(), Ordering::Relaxed);
        } else {
            self.leave(seat, Some(local));
            next.takes(local, next_seat);
        }
    }

    /// Mostly the place is nobody's, as before; and a look takes less than to store what is there already.
    #[inline(always)]
    fn takes(&self, local: &Local, seat: &Seat<P>) {
        let running = local.current.load(Ordering::Relaxed) as u32;
        if running != self.previous.get() && running != seat.word {
            self.previous.set(running); // it is never the previous of itself
        }
        local.current.store(seat.word.into(), Ordering::Relaxed);
    }

    /// The one inside of which it ran runs on; if it did not run here, nothing changes.
    #[inline(always)]
    fn leave(&self, seat: &Seat<P>, local: Option<&Local>) {
        let Some(local) = local else { return };
        if local.current.load(Ordering::Relaxed) as u32 == seat.word {
            local
                .current
                .store(self.previous.get().into(), Ordering::Relaxed);
        }
    }

    /// The one inside of which it was polled knows.
    #[inline(always)]
    fn tell_the_one_around(&self, local: Option<&Local>) {
        if let Some(local) = local.filter(|_| self.previous.get() != 0) {
            announce::one_inside_waits(local);
        }
    }
}

impl<P: Platform> Drop for Coroutine<P> {
    fn drop(&mut self) {
        let Some(seat) = self.seat.live() else {
            return;
        };
        self.leave(seat, local::<P>());
        seat.milestone(EventPayload {
            arg: self.has_given_out.get().into(),
            ..EventPayload::only(EventKind::Death)
        });
        seat.station.is_dead.store(1, Ordering::Release);
    }
}

/// Where several somethings have a waker of it, what was announced may not be all.
#[inline]
fn mark_of_wakers<P: Platform>(seat: &Seat<P>) -> u8 {
    match live::count(&seat.station.wakers_live, seat.generation) {
        Some(2..) => WAIT_ONE_OF_SEVERAL,
        _ => 0,
    }
}

/// A wait of which no leaf future said anything.
#[inline]
fn unannounced<P: Platform>(
    probe: &Probe<P>,
    otherwise: SiteWord,
    found: FoundChain,
) -> (SiteWord, u8, u64) {
    let mark = match found.is_one_of_several() {
        true => WAIT_ONE_OF_SEVERAL,
        false => 0,
    };
    let site = match probe.region.site_of_chain(found.chain) {
        0 => otherwise,
        id => SiteWord::from_id(id),
    };
    (site, WaitKind::Unknown as u8 | mark, 0)
}

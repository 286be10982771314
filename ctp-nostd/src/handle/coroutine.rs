//! The handle that a coroutine owns. The life of the handle is the life of the coroutine.

mod stackful;

use core::cell::Cell;

pub use stackful::StackPosition;

use super::birth::Kind;
use crate::event::EventPayload;
use crate::event::StationHandle;
use crate::event::announce;
use crate::handle::waker::Waker;
#[cfg(feature = "alloc")]
use crate::memory::layout::FLAG_COUNTS_WAKERS;
use crate::memory::layout::{FLAG_RECORDS_WAKES, Full};
use crate::platform::Probe;
use crate::platform::mode::{RecordingMode, in_mode};
use crate::platform::{Attached, AttachedOnce, Local, Platform, ProbeLayout, local};
use crate::protocol::chain::FoundWait;
use crate::protocol::intern::call_site::{CallSite, StoredCallSite};
use crate::protocol::intern::site::SiteWord;
use crate::protocol::live_wakers;
use crate::protocol::slot::EventKind;
use crate::protocol::wait::{WAIT_ONE_OF_SEVERAL, Wait};
use crate::protocol::wake;
use crate::sync::Ordering;

/// What caused a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunCause {
    /// The coroutine was woken.
    Wake,
    /// The executor had another reason.
    Other,
}

/// A coroutine's trace. It belongs to the coroutine and moves between threads with it; dropping it
/// records the coroutine's death.
///
/// A trace is inert if it was made without a recorder, and in a forked child: then every call is one
/// or two branches. If a recorder attaches to the program later, the trace begins at the next run.
#[derive(Debug)]
#[repr(C)]
pub struct Coroutine<P: Platform, L: ProbeLayout = Full> {
    /// The coroutine that this coroutine replaced in the thread's `current` word.
    previous: Cell<u32>,
    /// The wake word of the station when the coroutine's last run began, see [`crate::wake`].
    seen: Cell<u32>,
    /// The coroutine has returned a value that may hold its lock guards.
    may_return_lock: Cell<bool>,
    /// How much of the coroutine's life is recorded.
    knowledge: Cell<Knowledge>,
    /// The fields that an event needs come first in the handle.
    handle: AttachedOnce<StationHandle<P, L>>,
    /// Where the coroutine was spawned, if it is not recorded yet.
    origin: Cell<Option<Origin>>,
}

/// What a trace remembers between two events of its coroutine, in addition to the station.
#[cfg(not(loom))]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Progress {
    /// The wake word of the station when the coroutine's last run began.
    pub seen: u32,
    /// The coroutine that this coroutine replaced in the thread's `current` word.
    pub previous: u32,
}

/// Whether the whole life of a coroutine is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Knowledge {
    /// From its birth on.
    WholeLife,
    /// From some run on. Wakers that were made before are not recorded.
    SinceARun,
}

/// What is remembered of a coroutine that was born without a recorder.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin {
    pub place: StoredCallSite,
    pub kind: Kind,
    /// The name of its type; empty if not known.
    pub type_name: &'static str,
}

impl<P: Platform, L: ProbeLayout> Coroutine<P, L> {
    /// A trace that never records anything.
    pub const fn mute() -> Self {
        Coroutine {
            handle: AttachedOnce::new(Attached::detached()),
            origin: Cell::new(None),
            knowledge: Cell::new(Knowledge::WholeLife),
            seen: Cell::new(0),
            previous: Cell::new(0),
            may_return_lock: Cell::new(false),
        }
    }

    /// A trace that records nothing until a recorder attaches to the program.
    #[cfg(feature = "linux")]
    pub(crate) fn unrecorded(origin: Origin) -> Self {
        let mute = Self::mute();
        mute.origin.set(Some(origin));
        mute
    }

    /// The trace of a coroutine that owns a station now.
    pub(super) fn of(handle: StationHandle<P, L>) -> Self {
        let mute = Self::mute();
        mute.fill(handle);
        mute
    }

    /// The trace of a coroutine whose owner kept only the index of the station and the [`Progress`].
    #[cfg(not(loom))]
    pub(crate) fn resumed(handle: StationHandle<P, L>, progress: Progress) -> Self {
        let trace = Self::of(handle);
        trace.seen.set(progress.seen);
        trace.previous.set(progress.previous);
        trace
    }

    /// Gives up the trace while the coroutine lives on.
    #[cfg(not(loom))]
    pub(crate) fn into_progress(self) -> Progress {
        let progress = Progress {
            seen: self.seen.get(),
            previous: self.previous.get(),
        };
        core::mem::forget(self); // a drop would record the coroutine's death
        progress
    }

    fn fill(&self, handle: StationHandle<P, L>) {
        self.seen.set(wake::word(handle.generation));
        let attachment = handle.probe.attachment;
        self.handle.fill(Attached::new::<P>(attachment, handle));
    }

    /// The id that [`Wait::coroutine`] takes; 0 if the trace is inert. (Reports use their own
    /// numbers, from 1.)
    pub fn id(&self) -> u64 {
        self.handle.live().map_or(0, StationHandle::probe_id)
    }

    /// Records that the coroutine runs from now on, on this thread, until
    /// [`suspend`](Self::suspend) or its drop. A thread that ends earlier must call
    /// [`thread_ends`](Probe::thread_ends).
    #[inline(always)] // otherwise, with several callers, a dropped event costs a call
    pub fn run(&self) {
        self.runs();
    }

    /// Like [`run`](Self::run), and returns the cause of this run; `None` without a recorder.
    #[inline(always)]
    pub(crate) fn runs(&self) -> Option<RunCause> {
        match self.handle.live() {
            Some(handle) => Some(self.run_in(handle)),
            None if P::is_attach_requested() => self.run_late(),
            None => None,
        }
    }

    /// Records a run of a coroutine that was born without a recorder.
    #[cold]
    #[inline(never)]
    fn run_late(&self) -> Option<RunCause> {
        let probe = L::attached::<P>()?;
        // Taken before the station is claimed, so that a signal handler does not claim another.
        let origin = self.origin.take()?;
        let handle = probe.claim_late(&origin)?;
        self.knowledge.set(Knowledge::SinceARun);
        self.fill(handle);
        self.handle.live().map(|handle| self.run_in(handle))
    }

    #[inline(always)]
    fn run_in(&self, handle: &StationHandle<P, L>) -> RunCause {
        let local = local::<P>();
        let cause = self.enter(handle, local);
        if handle.keeps(handle.probe.control_word(), EventKind::Run) {
            handle.emit_run(local, self.wake_seen());
        }
        cause
    }

    /// Records that the coroutine waits from now on. Call this before another thread can resume the
    /// coroutine.
    #[inline(always)] // as for `run`
    pub fn suspend<S: CallSite>(&self, wait: Wait<S>) {
        let Some(handle) = self.handle.live() else {
            return;
        };
        let local = local::<P>();
        self.clear_current(handle, local);
        if handle.keeps(handle.probe.control_word(), EventKind::Suspend) {
            handle.emit_suspend(local, wait, self.addr(), self.wake_seen());
        }
    }

    /// Records that the coroutine waits from now on, and that `next` runs in its place, on this
    /// thread: a [`suspend`](Self::suspend) and a [`run`](Self::run) at the same time, which costs
    /// less than the two calls. Call this right before the switch of stacks, and before another
    /// thread can resume this coroutine.
    #[inline]
    pub fn switch_to<S: CallSite>(&self, wait: Wait<S>, next: &Self) {
        match self.handle.live() {
            Some(handle) => in_mode!(handle.probe, MODE => self.switch_as::<MODE, S>(wait, next)),
            None => next.runs_alone(),
        }
    }

    /// Records a switch from this coroutine, which is recorded.
    #[inline(never)]
    fn switch_as<const MODE: RecordingMode, S: CallSite>(&self, wait: Wait<S>, next: &Self) {
        let (Some(handle), Some(next_handle)) = (self.handle.get(), next.handle.live()) else {
            return self.switch_to_unrecorded(wait, next);
        };
        let local = local::<P>();
        if let Some(local) = local {
            self.replace_current(handle, next, next_handle, local);
        }
        next.read_wakes(next_handle);
        let control = handle.probe.control_word();
        if control != 0 {
            return self.switch_under(control, handle, wait, next, next_handle);
        }
        let site = handle.probe.site(wait.place);
        handle.switch::<MODE>(next_handle, local, || {
            let (code, seen) = (wait.code(), self.wake_seen());
            let waits = EventPayload::wait(site, code, wait.resource, self.addr(), seen);
            [waits, EventPayload::run(next.wake_seen())]
        });
    }

    /// Records only the run: the coroutine replaces a coroutine that is not recorded.
    #[cold]
    #[inline(never)]
    fn runs_alone(&self) {
        self.run();
    }

    /// Records a switch to a coroutine that is not recorded so far, as two calls.
    #[cold]
    #[inline(never)]
    fn switch_to_unrecorded<S: CallSite>(&self, wait: Wait<S>, next: &Self) {
        self.suspend(wait);
        next.run();
    }

    /// Records a switch under a filter. Both events are judged by the same control word.
    #[cold]
    #[inline(never)]
    fn switch_under<S: CallSite>(
        &self,
        control: u32,
        handle: &StationHandle<P, L>,
        wait: Wait<S>,
        next: &Self,
        next_handle: &StationHandle<P, L>,
    ) {
        let runs = next_handle.keeps(control, EventKind::Run);
        if handle.keeps(control, EventKind::Suspend) {
            handle.emit_suspend(local::<P>(), wait, self.addr(), self.wake_seen());
        }
        if runs {
            next_handle.emit_run(local::<P>(), next.wake_seen());
        }
    }

    /// Records that the coroutine waits from now on, for the wait that a leaf future
    /// [announced](Probe::waits_for) since the run began. Without an announcement, only the length
    /// of the wait is known.
    #[inline]
    pub fn suspend_announced(&self) {
        self.suspend_announced_or(SiteWord::default(), FoundWait::default());
    }

    /// Like [`suspend_announced`](Self::suspend_announced), but without an announcement the wait is for
    /// something unknown at `otherwise`. In both cases, if the chain that was `found` certainly belongs
    /// to this wait, the site is the end of that chain.
    #[inline]
    pub(crate) fn suspend_announced_or(&self, otherwise: SiteWord, found: FoundWait) {
        let Some(handle) = self.handle.live() else {
            return;
        };
        let local = local::<P>();
        let announced = local.and_then(|local| announce::take(local, found.wakers));
        let (site, code, arg) = match announced {
            Some((site, code, arg)) => {
                let site = if found.is_one_of_several || found.chain == 0 {
                    site
                } else {
                    handle.probe.site_in_chain(site, found.chain)
                };
                (site, code | mark_for_wakers(handle), arg)
            }
            None => unannounced(&handle.probe, otherwise, found),
        };
        self.clear_current(handle, local);
        self.announce_to_outer(local);
        if handle.keeps(handle.probe.control_word(), EventKind::Suspend) {
            let wait = (site, code, arg);
            handle.emit_wait(local, wait, self.addr(), self.wake_seen());
        }
    }

    /// Returns a handle that records wakes of this coroutine, from any thread. From the first waker
    /// on, the trace can say that the coroutine was not woken.
    pub fn waker(&self) -> Waker<P, L> {
        let Some(handle) = self.handle.live() else {
            return Waker::mute();
        };
        // Otherwise, a waker that was made before the recording may wake the coroutine without a
        // record.
        if self.is_whole() {
            let flags = handle.station.flags.load(Ordering::Relaxed) | FLAG_RECORDS_WAKES;
            handle.station.flags.store(flags, Ordering::Relaxed);
        }
        Waker::of(handle)
    }

    /// Whether the whole life of the coroutine is recorded.
    pub(crate) fn is_whole(&self) -> bool {
        self.knowledge.get() == Knowledge::WholeLife
    }

    /// Notes that the coroutine has returned a value that may hold a lock guard. Its death records this.
    #[cfg(feature = "linux")]
    pub(crate) fn mark_lock_returned(&self) {
        self.may_return_lock.set(true);
    }

    /// Whether the coroutine is recorded.
    #[cfg(feature = "alloc")]
    pub(crate) fn is_recorded(&self) -> bool {
        self.handle.live().is_some()
    }

    /// Like [`waker`](Coroutine::waker), and marks that the wakers of this coroutine are counted.
    /// `None` if the coroutine is not recorded.
    #[cfg(feature = "alloc")]
    pub(crate) fn counted_waker(&self) -> Option<Waker<P, L>> {
        let waker = self.waker();
        let station = self.handle.live()?.station;
        let flags = station.flags.load(Ordering::Relaxed) | FLAG_COUNTS_WAKERS;
        station.flags.store(flags, Ordering::Relaxed);
        Some(waker)
    }

    /// Wakes until the last run, modulo 2^16.
    #[inline(always)]
    fn wake_seen(&self) -> u16 {
        wake::carried(self.seen.get())
    }

    /// The frame address of cTP v1.
    #[inline(always)]
    fn addr(&self) -> u64 {
        core::ptr::from_ref(self).addr() as u64
    }

    /// Makes this coroutine the thread's current coroutine, which discards earlier announcements.
    #[inline(always)]
    fn enter(&self, handle: &StationHandle<P, L>, local: Option<&Local>) -> RunCause {
        if let Some(local) = local {
            self.set_current(local, handle);
        }
        self.read_wakes(handle)
    }

    #[inline(always)]
    fn read_wakes(&self, handle: &StationHandle<P, L>) -> RunCause {
        let seen = wake::seen(&handle.station.wake);
        if self.seen.replace(seen) == seen {
            RunCause::Other
        } else {
            RunCause::Wake
        }
    }

    /// Makes `next` the current coroutine of this thread in place of this coroutine. Usually both
    /// run inside of the same outer coroutine, or of none.
    #[inline(always)]
    fn replace_current(
        &self,
        handle: &StationHandle<P, L>,
        next: &Self,
        next_handle: &StationHandle<P, L>,
        local: &Local,
    ) {
        let runs_here = local.current.load(Ordering::Relaxed) as u32 == handle.word;
        if runs_here && self.previous.get() == next.previous.get() {
            local
                .current
                .store(next_handle.word.into(), Ordering::Relaxed);
        } else {
            self.clear_current(handle, Some(local));
            next.set_current(local, next_handle);
        }
    }

    /// Makes this coroutine the thread's current coroutine, and remembers the coroutine that was
    /// current before. Usually that is the same as last time, and a load is cheaper than a store.
    #[inline(always)]
    fn set_current(&self, local: &Local, handle: &StationHandle<P, L>) {
        let running = local.current.load(Ordering::Relaxed) as u32;
        if running != self.previous.get() && running != handle.word {
            self.previous.set(running); // no coroutine is its own previous coroutine
        }
        local.current.store(handle.word.into(), Ordering::Relaxed);
    }

    /// Makes the outer coroutine the thread's current coroutine again. Does nothing if this coroutine
    /// did not run here.
    #[inline(always)]
    fn clear_current(&self, handle: &StationHandle<P, L>, local: Option<&Local>) {
        let Some(local) = local else { return };
        if local.current.load(Ordering::Relaxed) as u32 == handle.word {
            local
                .current
                .store(self.previous.get().into(), Ordering::Relaxed);
        }
    }

    /// Notes for the outer coroutine, which polled this coroutine, that this coroutine waits.
    #[inline(always)]
    fn announce_to_outer(&self, local: Option<&Local>) {
        if let Some(local) = local.filter(|_| self.previous.get() != 0) {
            announce::mark_inner_wait(local);
        }
    }
}

impl<P: Platform, L: ProbeLayout> Drop for Coroutine<P, L> {
    fn drop(&mut self) {
        let Some(handle) = self.handle.live() else {
            return;
        };
        self.clear_current(handle, local::<P>());
        handle.milestone(EventPayload {
            arg: self.may_return_lock.get().into(),
            ..EventPayload::only(EventKind::Death)
        });
        handle.station.is_dead.store(1, Ordering::Release);
    }
}

/// If several things hold a waker of the coroutine, the announcement may not cover all waits.
#[inline]
fn mark_for_wakers<P: Platform, L: ProbeLayout>(handle: &StationHandle<P, L>) -> u8 {
    match live_wakers::count(&handle.station.wakers_live, handle.generation) {
        Some(2..) => WAIT_ONE_OF_SEVERAL,
        _ => 0,
    }
}

/// A wait that no leaf future announced.
#[inline]
fn unannounced<P: Platform, L: ProbeLayout>(
    probe: &Probe<P, L>,
    otherwise: SiteWord,
    found: FoundWait,
) -> (SiteWord, u8, u64) {
    let mark = if found.is_one_of_several {
        WAIT_ONE_OF_SEVERAL
    } else {
        0
    };
    let site = match probe.region.site_of_chain(found.chain) {
        0 => otherwise,
        id => SiteWord::from_id(id),
    };
    (site, found.wakers.code() | mark, found.argument)
}

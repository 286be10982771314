//! Control: the recorder stops, filters and resumes recording while the program emits events.
//!
//! ```text
//!   probe, at each event                          recorder
//!   K1 kind_mask: kept?          (relaxed)        C1 kind_mask = new          (relaxed)
//!   K2 begun: n -> n + 1         (one step)       C2 fence                    (seq-cst)
//!   K3 fence                     (seq-cst)        C3 every station: is its head behind
//!   K4 kind_mask: still kept?    (relaxed)           `begun`?                 (acquire, pairs with K5)
//!      else begun: n + 1 -> n                        read again, until the deadline
//!   K5 the event; head = begun   (release)        C4 read what is there, acknowledge
//! ```
//! Either K4 sees C1, or C3 sees K2 and waits for K5. So once C3 finds no event in progress, every
//! event that was judged by an older word is published, and C4 reads it. All later events are
//! judged by the new word. K1 alone is not enough: it only saves the other steps for events that
//! are dropped.
//!
//! As in [`crate::doorbell`], K3 shrinks to a compiler fence where C2 is followed by `membarrier`.
//! A process that the kernel did not register for `membarrier` is outside this argument. For such a
//! process the recorder waits a millisecond. No memory model guarantees that this suffices, but
//! every store buffer drains within that time.
//!
//! K4 does not take the event back if a signal handler has recorded an event of the same coroutine
//! since K2. In that case the handler's event was judged by an older word after K2, C3 waits for
//! both events, and both are kept.
//!
//! **A single word.** An event needs nothing but `kind_mask`, so each load sees one complete
//! version. The word 0 means no control: one load, one branch. The other words of the header only
//! show the current state to observers, and no probe reads them.
//!
//! **Dropped events** take no number and no time, and are in no slot and no lane. So kept events are
//! numbered without gaps, and an event that is absent on purpose cannot be mistaken for a lost
//! event. A dropped event is counted in `dropped_filtered`, and `state` records its kind, which says
//! what the coroutine does now. The next kept event carries [`AFTER_FILTERED`], so readers do not
//! take the time between its neighbours for a single wait or run. If the recording ends before such
//! an event, only `state` describes the present, and no verdict is built on earlier events.
//!
//! **Births and deaths** pass every filter, but are dropped while recording is stopped. During that
//! time the station itself records the birth, and `is_dead` the death. Threads do not record wakes
//! and closes during that time either; the wake counts continue.

use core::sync::atomic::compiler_fence;

use crate::memory::layout::{Header, Layout, StandaloneU64, Station, StationOf};
pub use crate::protocol::slot::AFTER_FILTERED;
use crate::protocol::slot::{self, EventKind};
use crate::sync::{AtomicU32, Ordering, fence, unlocked};

/// Bits of `state`, with [`AFTER_FILTERED`]: the kind of the latest event, if it was dropped.
/// `state` 0: the latest event was kept.
const KIND: u32 = 7;

/// Bit of `kind_mask`: all events are dropped. Bit k: events of kind k are dropped.
const STOPPED: u32 = 1;
/// Bit of `kind_mask`: drops nothing; before a run, the owner looks for a request (`freeze.rs`). Set
/// and cleared independently of the filter.
pub(crate) const FREEZES: u32 = 1 << 5;
/// Upper bits of `kind_mask`: the only thread from which runs and suspends are kept, or 0.
const THREAD_SHIFT: u32 = 8;
/// Thread ids in `kind_mask` are smaller than this.
pub const THREAD_LIMIT: u32 = 1 << (u32::BITS - THREAD_SHIFT);

/// A filter of events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Control {
    /// Drops all events.
    pub stopped: bool,
    /// Drops runs.
    pub without_runs: bool,
    /// Drops suspends.
    pub without_suspends: bool,
    /// Keeps runs and suspends of this thread only, by its id below [`THREAD_LIMIT`]; 0: of all
    /// threads.
    pub only_thread: u32,
}

impl Control {
    /// The value for the header's `kind_mask`. 0 keeps all events.
    pub const fn to_word(self) -> u32 {
        let stopped = if self.stopped { STOPPED } else { 0 };
        let runs = (self.without_runs as u32) << EventKind::Run as u32;
        let suspends = (self.without_suspends as u32) << EventKind::Suspend as u32;
        stopped | runs | suspends | self.only_thread << THREAD_SHIFT
    }

    /// Whether this filter drops any events.
    pub const fn is_in_force(self) -> bool {
        self.to_word() != 0
    }
}

/// Probe: starts the event after `n` events. Returns false if a handler has started an event in the
/// meantime.
#[inline(always)]
pub fn enter(started: &AtomicU32, n: u32) -> bool {
    let has_started = unlocked::exchange_u32(started, n, n.wrapping_add(1)); // K2
    compiler_fence(Ordering::SeqCst); // K3 as far as the compiler goes
    has_started
}

/// Probe: takes the event back, because it is dropped after all. Returns false if a handler has
/// started another event since; then both events are kept.
#[cold]
pub fn withdraw(started: &AtomicU32, n: u32) -> bool {
    unlocked::exchange_u32(started, n.wrapping_add(1), n) // K4
}

/// Probe: whether `word`, which is not 0, drops an event of this kind. Calls `thread`, which returns
/// the thread id, only if the word filters by thread.
#[inline(always)]
pub fn keeps_out(word: u32, kind: EventKind, thread: impl FnOnce() -> u64) -> bool {
    if word & (STOPPED | 1 << kind as u32) != 0 {
        return true;
    }
    let only = word >> THREAD_SHIFT;
    let is_step = matches!(kind, EventKind::Run | EventKind::Suspend);
    is_step && only != 0 && u64::from(only) != thread()
}

/// Probe: returns the mark that a kept event carries: [`AFTER_FILTERED`] if the event before was
/// dropped, otherwise 0. `before` is the `state` from before the event, which is reset to 0. If an
/// event of a signal handler was dropped in the meantime, `state` stays, and the next kept event
/// carries the mark for that.
#[inline(always)]
pub fn take_mark(state: &AtomicU32, before: u32) -> u8 {
    if before != 0 {
        unlocked::exchange_u32(state, before, 0);
    }
    before as u8 & AFTER_FILTERED
}

/// Probe: records that the event was dropped.
#[inline(always)]
pub fn leave_out(state: &AtomicU32, dropped: &AtomicU32, kind: EventKind) {
    unlocked::count(dropped);
    let after = kind as u32 | u32::from(AFTER_FILTERED);
    state.store(after, Ordering::Release); // pairs with the load in `hidden_kind`
}

/// Recorder: whether an event of this coroutine is between K2 and K5. `begun` is read first, so the
/// head may be ahead of that value.
pub fn is_inside(started: &AtomicU32, head: &StandaloneU64) -> bool {
    let started = started.load(Ordering::Acquire); // C3
    let head = head.load(Ordering::Acquire); // C3, pairs with K5
    started.wrapping_sub(head as u32).cast_signed() > 0
}

impl Header {
    /// Whether recording is stopped: neither events nor thread events are recorded.
    #[inline]
    pub(crate) fn is_stopped(&self) -> bool {
        self.kind_mask.load(Ordering::Relaxed) & STOPPED != 0
    }

    /// Recorder: takes step C1. The caller takes C2.
    pub fn command(&self, control: Control) {
        self.replace_filter(control.to_word()); // C1
        let is_on = u32::from(!control.stopped);
        self.tracing_on.store(is_on, Ordering::Relaxed);
        self.control_generation.fetch_add(1, Ordering::Relaxed);
    }

    /// Replaces all bits but [`FREEZES`], which other threads may change at the same time.
    fn replace_filter(&self, filter: u32) {
        let (done, not) = (Ordering::Relaxed, Ordering::Relaxed);
        let mut before = self.kind_mask.load(Ordering::Relaxed);
        while let Err(other) =
            self.kind_mask
                .compare_exchange_weak(before, filter | before & FREEZES, done, not)
        {
            before = other;
        }
    }
}

impl<L: Layout> StationOf<L> {
    /// Owner: records that an event of this kind was dropped.
    #[inline(always)]
    pub fn leave_out(&self, kind: EventKind) {
        leave_out(&self.state, &self.dropped_filtered, kind);
        fence(Ordering::Release); // CO4 of `suspended_stack.rs`
    }
}

impl Station {
    /// Whether an event of this station is in progress.
    pub fn is_inside(&self) -> bool {
        is_inside(&self.begun, &self.event_head)
    }

    /// Whether the latest event was a death, even if a filter dropped it.
    pub fn has_ended(&self) -> bool {
        let latest = self.slot_of(self.event_head().wrapping_sub(1));
        let (_, kind) = slot::time_and_kind(latest);
        let kind = u32::from(kind & !AFTER_FILTERED);
        self.hidden_kind().unwrap_or(kind) == EventKind::Death as u32
    }

    /// Events of the coroutine that a filter dropped, modulo 2^32.
    pub fn filtered(&self) -> u32 {
        self.dropped_filtered.load(Ordering::Relaxed)
    }

    /// The kind of the coroutine's latest event, if a filter dropped it.
    pub fn hidden_kind(&self) -> Option<u32> {
        let state = self.state.load(Ordering::Acquire);
        (state & u32::from(AFTER_FILTERED) != 0).then_some(state & KIND)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const KINDS: [EventKind; 4] = [
        EventKind::Birth,
        EventKind::Run,
        EventKind::Suspend,
        EventKind::Death,
    ];

    fn kept(control: Control, thread: u64) -> [bool; 4] {
        let word = control.to_word();
        KINDS.map(|kind| word == 0 || !keeps_out(word, kind, || thread))
    }

    // LT-10
    #[test]
    fn event_around_a_kept_handler_event_is_not_withdrawn() {
        let started = AtomicU32::new(u32::MAX);
        assert!(enter(&started, u32::MAX));
        assert!(enter(&started, 0), "the event of a handler");
        assert!(!withdraw(&started, u32::MAX));
        let inside = |head| is_inside(&started, &StandaloneU64::new(head));
        assert!(inside(u64::MAX) && inside(1 << 32) && !inside((1 << 32) + 1));
        assert!(!inside((1 << 32) + 9), "the head was read later");
    }

    // LT-11
    #[test]
    fn next_kept_event_is_marked_after_dropped_events() {
        let station = Station::default();
        assert_eq!(take_mark(&station.state, 0), 0);
        station.leave_out(EventKind::Death);
        assert_eq!(station.filtered(), 1);
        assert!(station.has_ended());
        let before = station.state.load(Ordering::Relaxed);
        assert_eq!(take_mark(&station.state, before), AFTER_FILTERED);
        assert_eq!(station.hidden_kind(), None);
        assert!(!station.has_ended());
        station.leave_out(EventKind::Run);
        assert_eq!(
            take_mark(&station.state, 0),
            0,
            "dropped in a handler since"
        );
        assert_eq!(station.hidden_kind(), Some(EventKind::Run as u32));
    }

    // LT-11
    #[test]
    fn filter_keeps_births_deaths_and_the_named_kinds() {
        let all = Control::default();
        assert_eq!(kept(all, 7), [true; 4]);
        let stopped = Control {
            stopped: true,
            ..all
        };
        assert_eq!(kept(stopped, 7), [false; 4]);
        let without_runs = Control {
            without_runs: true,
            ..all
        };
        assert_eq!(kept(without_runs, 7), [true, false, true, true]);
        let without_suspends = Control {
            without_suspends: true,
            ..all
        };
        assert_eq!(kept(without_suspends, 7), [true, true, false, true]);
        let only_thread = Control {
            only_thread: THREAD_LIMIT - 1,
            ..all
        };
        assert_eq!(kept(only_thread, 7), [true, false, false, true]);
        assert_eq!(kept(only_thread, u64::from(THREAD_LIMIT) - 1), [true; 4]);
    }
}

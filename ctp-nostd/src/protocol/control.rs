//! Control: the recorder stops recording, filters events and resumes, while they flow. Both halves.
//!
//! ```text
//!   probe, at each event                          recorder
//!   K1 kind_mask: kept?          (relaxed)        C1 kind_mask = new          (relaxed)
//!   K2 begun: n -> n + 1         (one step)       C2 fence                    (seq-cst)
//!   K3 fence                     (seq-cst)        C3 every station: is its head behind
//!   K4 kind_mask: still kept?    (relaxed)           what is begun?           (acquire, pairs with K5)
//!      else begun: n + 1 -> n                        look again, as long as there is patience
//!   K5 the event; head = begun   (release)        C4 read what is there, acknowledge
//! ```
//! Either K4 sees C1, or C3 sees K2 and waits for K5. So when nobody is inside any more, whoever
//! was judged by an older word has published, and C4 reads it; all later events are judged by the
//! new word. K1 alone would not do: it only spares what is kept out the rest. As in
//! [`crate::doorbell`], K3 shrinks to a compiler fence where C2 is followed by
//! `membarrier`. A process that the kernel did not register for that is outside of the argument:
//! for it the recorder lets a millisecond pass, which no memory model demands and every store
//! buffer keeps.
//!
//! K4 takes nothing back if a signal handler has recorded an event of the same coroutine since K2:
//! then that one was judged by an older word after K2, C3 waits for both, and both are kept.
//!
//! **One word.** All that an event needs to know is in `kind_mask`, so that each load picks one
//! version, whole. 0 is the word of a memory that nobody controls: one load, one branch. The other
//! words of the header tell onlookers what is in force, and no probe reads them.
//!
//! **What is kept out** takes no number and no time, and is in no slot and no lane: what is kept is
//! numbered without gaps, and nothing that is absent on purpose can be taken for lost. It is
//! counted in `dropped_filtered`, and `state` tells that the coroutine did something unseen, and
//! what it does now. The next event that is kept carries [`AFTER_FILTERED`], so nobody takes the
//! time between its neighbours for one wait or one run. When the recording ends before such an
//! event, `state` is all that is known of the present, and no verdict is built on what came before.
//!
//! **Births and deaths** are kept by every filter, but not while recording is stopped: then the
//! station itself tells who was born, and `is_dead` who is over. Nor do threads tell then whom they
//! wake and what they close; wakes are counted all the same.

use core::sync::atomic::compiler_fence;

use crate::memory::layout::{Header, Station};
pub use crate::protocol::slot::AFTER_FILTERED;
use crate::protocol::slot::{self, EventKind};
use crate::sync::{AtomicU32, AtomicU64, Ordering, unlocked};

/// In `state`, with [`AFTER_FILTERED`]: the kind of the latest event, which was kept out. 0: it was
/// not.
const KIND: u32 = 7;

/// In `kind_mask`: no event is kept. Bit k: none of kind k is.
const STOPPED: u32 = 1;
/// Above it in `kind_mask`: the only thread whose runs and suspends are kept, or 0.
const THREAD_SHIFT: u32 = 8;
/// Ids of threads are smaller.
pub const THREAD_LIMIT: u32 = 1 << (u32::BITS - THREAD_SHIFT);

/// Which events are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Control {
    /// No events at all.
    pub stopped: bool,
    /// No runs.
    pub without_runs: bool,
    /// No suspends.
    pub without_suspends: bool,
    /// Runs and suspends of this thread only, by its id below [`THREAD_LIMIT`]; 0: of all.
    pub only_thread: u32,
}

impl Control {
    /// As stored; 0 keeps everything.
    pub const fn to_word(self) -> u32 {
        let stopped = if self.stopped { STOPPED } else { 0 };
        let runs = (self.without_runs as u32) << EventKind::Run as u32;
        let suspends = (self.without_suspends as u32) << EventKind::Suspend as u32;
        stopped | runs | suspends | self.only_thread << THREAD_SHIFT
    }

    /// Is anything kept out?
    pub const fn is_in_force(self) -> bool {
        self.to_word() != 0
    }
}

/// Probe: the event after so many begun ones begins. False if a handler has begun one meanwhile.
#[inline(always)]
pub fn enter(begun: &AtomicU32, n: u32) -> bool {
    let has_begun = unlocked::exchange_u32(begun, n, n.wrapping_add(1)); // K2
    compiler_fence(Ordering::SeqCst); // K3 as far as the compiler goes
    has_begun
}

/// Probe: it is kept out after all. False if a handler has begun another one since: then both are
/// kept.
#[cold]
pub fn withdraw(begun: &AtomicU32, n: u32) -> bool {
    unlocked::exchange_u32(begun, n.wrapping_add(1), n) // K4
}

/// Probe: does this word, which is not 0, keep out such an event? The thread is asked for only if
/// that matters.
#[inline(always)]
pub fn keeps_out(word: u32, kind: EventKind, thread: impl FnOnce() -> u64) -> bool {
    if word & (STOPPED | 1 << kind as u32) != 0 {
        return true;
    }
    let only = word >> THREAD_SHIFT;
    let is_step = matches!(kind, EventKind::Run | EventKind::Suspend);
    is_step && only != 0 && u64::from(only) != thread()
}

/// Probe: what the kind of an event carries that is kept; `state` was read before it began. What a
/// handler had kept out since then is left to the next one.
#[inline(always)]
pub fn take_mark(state: &AtomicU32, before: u32) -> u8 {
    if before != 0 {
        unlocked::exchange_u32(state, before, 0);
    }
    before as u8 & AFTER_FILTERED
}

/// Probe: the event was kept out.
#[inline(always)]
pub fn leave_out(state: &AtomicU32, dropped: &AtomicU32, kind: EventKind) {
    unlocked::count(dropped);
    let after = kind as u32 | u32::from(AFTER_FILTERED);
    state.store(after, Ordering::Release); // pairs with whoever reads it
}

/// Recorder: is an event of this coroutine being judged again or written? The head may be ahead of
/// `begun`, which is read before it.
pub fn is_inside(begun: &AtomicU32, head: &AtomicU64) -> bool {
    let begun = begun.load(Ordering::Acquire); // C3
    let head = head.load(Ordering::Acquire); // C3, pairs with K5
    begun.wrapping_sub(head as u32).cast_signed() > 0
}

impl Header {
    /// Is nothing to be told now, neither events nor what threads do?
    #[inline]
    pub(crate) fn is_stopped(&self) -> bool {
        self.kind_mask.load(Ordering::Relaxed) & STOPPED != 0
    }

    /// Recorder: C1. C2 is the caller's.
    pub fn command(&self, control: Control) {
        self.kind_mask.store(control.to_word(), Ordering::Relaxed); // C1
        let is_on = u32::from(!control.stopped);
        self.tracing_on.store(is_on, Ordering::Relaxed);
        self.control_generation.fetch_add(1, Ordering::Relaxed);
    }
}

impl Station {
    /// The owner: an event of this kind was kept out.
    #[inline(always)]
    pub(crate) fn leave_out(&self, kind: EventKind) {
        leave_out(&self.state, &self.dropped_filtered, kind);
    }

    /// Is one of its events being written?
    pub fn is_inside(&self) -> bool {
        is_inside(&self.begun, &self.event_head)
    }

    /// Was its latest event a death, be it kept out or not?
    pub fn has_ended(&self) -> bool {
        let latest = self.slot_of(self.event_head().wrapping_sub(1));
        let (_, kind) = slot::when_and_what(latest);
        let kind = u32::from(kind & !AFTER_FILTERED);
        self.hidden_kind().unwrap_or(kind) == EventKind::Death as u32
    }

    /// Events of its occupant that were kept out by a filter, modulo 2^32.
    pub fn filtered(&self) -> u32 {
        self.dropped_filtered.load(Ordering::Relaxed)
    }

    /// The kind of its occupant's latest event, if a filter kept that out.
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
    fn an_event_amid_which_another_one_was_kept_is_not_taken_back() {
        let begun = AtomicU32::new(u32::MAX);
        assert!(enter(&begun, u32::MAX));
        assert!(enter(&begun, 0), "a handler's");
        assert!(!withdraw(&begun, u32::MAX));
        let inside = |head| is_inside(&begun, &AtomicU64::new(head));
        assert!(inside(u64::MAX) && inside(1 << 32) && !inside((1 << 32) + 1));
        assert!(!inside((1 << 32) + 9), "the head was read later");
    }

    // LT-11
    #[test]
    fn the_next_event_that_is_kept_tells_that_others_were_not() {
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
        assert_eq!(take_mark(&station.state, 0), 0, "a handler's, since");
        assert_eq!(station.hidden_kind(), Some(EventKind::Run as u32));
    }

    // LT-11
    #[test]
    fn a_filter_keeps_what_it_says_and_every_birth_and_death() {
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

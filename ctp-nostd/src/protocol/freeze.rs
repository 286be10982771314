//! Freezes: a coroutine waits before its next run, for a bounded time, while the recorder copies its
//! stack.
//!
//! ```text
//!   owner, at a run                             recorder, after three refused copies
//!   K1  kind_mask: has FREEZES?                 GR1 freeze = {held | generation | number}
//!   GO1 freeze: held, for this generation?      GR2 kind_mask: sets FREEZES
//!   GO2 waits until the word changes,           GR3 copies: CR1 to CR5 of `suspended_stack.rs`
//!       [`LIMIT`] at most                       GR4 freeze: request -> head      (one step)
//!   GO3 after the limit, freeze: request -> 0   GR5 kind_mask: clears FREEZES
//!       (one step); clears FREEZES, counts
//!   GO4 the run: CO3 and the steps after it
//! ```
//! **A freeze decides only how likely a copy succeeds, never whether a copy is valid.** The owner
//! takes GO1 to GO3 before CO3. While it waits, neither the head nor the stack above the stack pointer
//! of CO1 changes, so CR5 accepts the copy. An owner that has missed GR1 or GR2, or that has waited up
//! to the limit, takes CO3, and CR5 refuses the copy. Therefore every step above is relaxed, and no
//! side needs a fence or `membarrier`: a late owner costs a copy.
//!
//! **Without a freeze**, a run executes no additional instruction: K1 of `control.rs` finds 0. While
//! FREEZES is set, all events of the program take the steps of a filter that drops nothing.
//!
//! **A request ends once**: GR4 and GO3 change the word from the same value, so one of them fails. A
//! request of an earlier coroutine of the station names another generation, and GO1 ignores it.
//!
//! **A recorder that is killed** leaves requests behind. The first owner that waits up to the limit
//! clears FREEZES, so the next runs find no filter, in every thread.
//!
//! **Progress**: GR4 leaves the head in the word, and GR1 refuses to begin at the same head. So the
//! coroutine has had at least one event between two requests.
//!
//! **Signal handlers** may record while the owner waits: it holds no lock, and an event that it has
//! begun does not exist. A handler that runs the same coroutine waits for the same request.
//!
//! A run that a filter drops does not wait, nor does a death. Both make the copy invalid.

use core::time::Duration;

use crate::memory::layout::{Header, Layout, Station, StationOf};
use crate::protocol::control::FREEZES;
use crate::sync::Ordering;

/// The longest wait of a run.
pub const LIMIT: Duration = Duration::from_millis(50);

/// Bit of `freeze`: a request is in force. Without this bit, the rest is the event head at which the
/// latest request was withdrawn, modulo 2^31.
const HELD: u32 = 1 << 31;
/// In a request, the generation of the coroutine starts at this bit.
const GENERATION_SHIFT: u32 = 16;

/// A request to a coroutine: the `freeze` word of its station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Freeze(u32);

impl Freeze {
    /// `number` distinguishes this request from others to the same coroutine.
    fn new(generation: u32, number: u16) -> Self {
        Freeze(Self::coroutine_bits(generation) | u32::from(number))
    }

    /// The bits of each request to the coroutine of this generation, modulo 2^16.
    const fn coroutine_bits(generation: u32) -> u32 {
        HELD | ((generation / 2) << GENERATION_SHIFT)
    }
}

/// The owner's half.
impl<L: Layout> StationOf<L> {
    /// Owner: GO1. The request to the coroutine of this generation, if there is one.
    pub fn freeze(&self, generation: u32) -> Option<Freeze> {
        let word = self.freeze.load(Ordering::Relaxed); // GO1
        let coroutine = word >> GENERATION_SHIFT << GENERATION_SHIFT;
        (coroutine == Freeze::coroutine_bits(generation)).then_some(Freeze(word))
    }

    /// Owner: whether the request is still in force.
    pub fn is_held(&self, freeze: Freeze) -> bool {
        self.freeze.load(Ordering::Relaxed) == freeze.0 // GO2
    }

    /// Owner: ends a request that has been in force up to the limit.
    #[cold]
    pub fn break_freeze(&self, freeze: Freeze, header: &Header) {
        let (done, not) = (Ordering::Relaxed, Ordering::Relaxed);
        let broken = self.freeze.compare_exchange(freeze.0, 0, done, not); // GO3
        if broken.is_ok() {
            header.kind_mask.fetch_and(!FREEZES, Ordering::Relaxed); // GO3
            header.broken_freezes.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// The recorder's half.
impl Station {
    /// Recorder: GR1. Returns `None` if the coroutine has had no event since the latest request.
    pub fn request_freeze(&self, generation: u32, number: u16) -> Option<Freeze> {
        let latest = self.freeze.load(Ordering::Relaxed);
        if latest == self.head_bits() {
            return None;
        }
        let freeze = Freeze::new(generation, number);
        self.freeze.store(freeze.0, Ordering::Relaxed); // GR1
        Some(freeze)
    }

    /// Recorder: GR4. Returns false if the owner has ended the request.
    pub fn withdraw_freeze(&self, freeze: Freeze) -> bool {
        let (done, not) = (Ordering::Relaxed, Ordering::Relaxed);
        let head = self.head_bits();
        let withdrawn = self.freeze.compare_exchange(freeze.0, head, done, not); // GR4
        withdrawn.is_ok()
    }

    fn head_bits(&self) -> u32 {
        self.event_head.load(Ordering::Relaxed) as u32 & !HELD
    }
}

impl Header {
    /// Recorder: GR2. From now on, runs look for requests.
    pub fn begin_freezes(&self) {
        self.kind_mask.fetch_or(FREEZES, Ordering::Relaxed); // GR2
    }

    /// Recorder: GR5. No request is in force any more.
    pub fn end_freezes(&self) {
        self.kind_mask.fetch_and(!FREEZES, Ordering::Relaxed); // GR5
    }

    /// Whether runs look for requests.
    pub fn has_freezes(&self) -> bool {
        self.kind_mask.load(Ordering::Relaxed) & FREEZES != 0
    }
}

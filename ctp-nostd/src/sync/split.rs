//! Words of 64 bits for targets without atomics of that size: two halves of 32 bits, the lower half
//! first. `wide.rs` has the same types for all other targets, so the memory is the same.
//!
//! There are three kinds of words, by what keeps a reader from a mixture of two values:
//!
//! 1. [`AtomicU64`]: another word does. The payload of a slot is guarded by its sequence number, a
//!    statistic by its latch (only the copy that the latch hides is ever half-written), the identity
//!    of a coroutine by its generation, a name or a site by `ready`. The words of the header do not
//!    change.
//! 2. [`SequenceU64`]: its own lower half does.
//! 3. [`StandaloneU64`]: its own upper half does. These are `event_head`, `last_ts` and `wake_ts`.
//!
//! ```text
//!   sequence: writer                           reader
//!   W1 low = odd            (relaxed)          R1 low -> before, high      (acquire, W4)
//!   W2 fence                (release)          R2 payload                  (relaxed)
//!   W3 payload, high        (relaxed)          R3 fence                    (acquire, W2)
//!   W4 low = even           (release)          R4 low -> after, high       (relaxed)
//! ```
//! The upper half is a part of the payload of `slot.rs`: R1 and R4 read it between the lower halves
//! of R1 and R4. So the numbers before and after can be equal and even only if no writer was
//! between W1 and W4.
//!
//! ```text
//!   standalone: writer                         reader
//!       the upper half stays: only SW2         SR1 high -> before          (acquire, SW3)
//!   SW1 high = 2^32 - 1     (relaxed)          SR2 low                     (acquire, SW2)
//!   SW2 low = new           (release)          SR3 high -> after           (relaxed)
//!   SW3 high = new          (release)              whole if before = after, and not 2^32 - 1
//! ```
//! If SR2 sees SW2, then SR3 sees SW1 or later. If SR1 sees SW3, then SR2 sees SW2 or later. A value
//! does not become smaller, so an upper half that is the same at SR1 and SR3 has not changed in
//! between.
//! Times in nanoseconds and counts never reach an upper half of 2^32 - 1.
//!
//! A writer that dies between SW1 and SW3, or that is halted there while memory is dumped, leaves the
//! word marked, and [`repair`](crate::half_written::repair) replaces the word. An interrupt handler
//! that comes there finds no whole value: it takes the time of its clock, and an event of the
//! same coroutine is counted as too deeply nested. This can happen once in 2^32 events or
//! nanoseconds.
//!
//! Several writers of a word (`wake_ts`) take turns: SW1 is a compare-and-swap, and a writer that
//! finds the word marked, or finds a larger upper half, leaves the word alone.

use core::sync::atomic::compiler_fence;

use super::{AtomicU32, CHANGING, Claim, Ordering, private};

/// Whether threads can have lanes. Lanes need a compare-and-swap of 64 bits.
pub(crate) const HAS_LANES: bool = false;

/// A word that other words guard.
pub type AtomicU64 = Halves<AtomicU32>;

/// A word that only one thread and its signal handlers write, and that no other process reads.
pub(crate) type PrivateU64 = Halves<private::AtomicU32>;

/// The operations of a half.
pub trait Half {
    /// Reads the half.
    fn load(&self, order: Ordering) -> u32;
    /// Writes the half.
    fn store(&self, value: u32, order: Ordering);
}

macro_rules! half {
    ($atomic:ty) => {
        impl Half for $atomic {
            #[inline(always)]
            fn load(&self, order: Ordering) -> u32 {
                <$atomic>::load(self, order)
            }

            #[inline(always)]
            fn store(&self, value: u32, order: Ordering) {
                <$atomic>::store(self, value, order);
            }
        }
    };
}
half!(private::AtomicU32);
#[cfg(loom)]
half!(AtomicU32);

/// Two halves, which are read and written one after the other.
#[derive(Debug, Default)]
#[repr(C, align(8))]
pub struct Halves<H> {
    low: H,
    high: H,
}

impl Halves<private::AtomicU32> {
    /// A word with this value.
    pub const fn new(value: u64) -> Self {
        Halves {
            low: private::AtomicU32::new(value as u32),
            high: private::AtomicU32::new((value >> 32) as u32),
        }
    }
}

#[cfg(loom)]
impl Halves<AtomicU32> {
    /// A word with this value.
    pub fn new(value: u64) -> Self {
        Halves {
            low: AtomicU32::new(value as u32),
            high: AtomicU32::new((value >> 32) as u32),
        }
    }
}

impl<H: Half> Halves<H> {
    /// Reads the lower half, then the upper half.
    #[inline(always)]
    pub fn load(&self, order: Ordering) -> u64 {
        let low = self.low.load(order);
        whole(self.high.load(Ordering::Relaxed), low)
    }

    /// Writes the upper half, then the lower half.
    #[inline(always)]
    pub fn store(&self, value: u64, order: Ordering) {
        self.high.store((value >> 32) as u32, Ordering::Relaxed);
        self.low.store(value as u32, order);
    }
}

/// Operations that are not atomic here: a handler may come in between. They are used for the word
/// of a thread's lane, which is always the same word here, because there are no lanes.
impl PrivateU64 {
    /// Replaces the value if it is `current`. Returns the value before, as `Err` if it differs.
    pub fn compare_exchange(
        &self,
        current: u64,
        new: u64,
        done: Ordering,
        not: Ordering,
    ) -> Result<u64, u64> {
        let before = self.load(not);
        if before != current {
            return Err(before);
        }
        self.store(new, done);
        Ok(before)
    }

    /// Replaces the value, and returns the value before.
    pub fn swap(&self, value: u64, order: Ordering) -> u64 {
        let before = self.load(Ordering::Relaxed);
        self.store(value, order);
        before
    }

    /// Sets bits, and returns the value before.
    pub fn fetch_or(&self, bits: u64, order: Ordering) -> u64 {
        let before = self.load(Ordering::Relaxed);
        self.store(before | bits, order);
        before
    }
}

/// Changes `word` from `old` to `new`, in two steps. It is used for the heads of lanes, of which
/// there are none here.
pub(crate) fn exchange(word: &AtomicU64, old: u64, new: u64) -> bool {
    let is_same = word.load(Ordering::Relaxed) == old;
    if is_same {
        word.store(new, Ordering::Relaxed);
    }
    is_same
}

/// Sets `bits` in the upper half of a `word`, of which no other bit is ever set.
#[inline(always)]
pub(crate) fn set(word: &PrivateU64, bits: u64) {
    word.high.store((bits >> 32) as u32, Ordering::Relaxed);
}

/// Changes a word from 0 to `value`, of which neither half is 0. While another caller is between the
/// two halves, the upper half alone decides whether its value is the same.
#[inline(always)]
pub(crate) fn claim(word: &AtomicU64, value: u64) -> Claim {
    let (low, high) = (value as u32, (value >> 32) as u32);
    let outcome = match word.high.load(Ordering::Relaxed) {
        0 => word
            .high
            .compare_exchange(0, high, Ordering::Relaxed, Ordering::Relaxed),
        present => Err(present),
    };
    match outcome {
        Ok(_) => {
            word.low.store(low, Ordering::Relaxed);
            Claim::Claimed
        }
        Err(other) if other != high => Claim::Other,
        Err(_) if [0, low].contains(&word.low.load(Ordering::Relaxed)) => Claim::Same,
        Err(_) => Claim::Other,
    }
}

/// Whether [`begin_change`] has marked this word.
#[inline(always)]
pub(crate) fn is_changing(word: &AtomicU64) -> bool {
    word.high.load(Ordering::Relaxed) == CHANGING
}

/// Marks a word whose record changes.
#[inline(always)]
pub(crate) fn begin_change(word: &AtomicU64) {
    word.high.store(CHANGING, Ordering::Relaxed);
}

/// Stores the value of a word that is marked: the lower half, then the upper half in place of the mark.
#[inline(always)]
pub(crate) fn end_change(word: &AtomicU64, value: u64) {
    word.low.store(value as u32, Ordering::Relaxed);
    word.high.store((value >> 32) as u32, Ordering::Release);
}

#[inline(always)]
fn whole(high: u32, low: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

/// The sequence number of a [seqlock](crate::slot): its lower half is odd while its payload changes.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct SequenceU64(AtomicU64);

impl SequenceU64 {
    /// Writer: stores the lower half of the odd number, before the payload changes.
    #[inline(always)]
    pub fn begin(&self, odd: u64) {
        self.0.low.store(odd as u32, Ordering::Relaxed); // W1
    }

    /// Writer: stores the even number, after the payload has changed.
    #[inline(always)]
    pub fn store(&self, even: u64, order: Ordering) {
        self.0.store(even, order); // W3 and W4
    }

    /// Reader: reads the number. The payload is whole if the number is even, and the same before
    /// and after.
    #[inline(always)]
    pub fn load(&self, order: Ordering) -> u64 {
        self.0.load(order) // R1, R4
    }
}

/// How often a reader tries. A writer on another core is between SW1 and SW3 for a few instructions.
const TRIES: usize = if cfg!(loom) { 2 } else { 16 };

/// A time or a count that no other word guards. It does not become smaller.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct StandaloneU64(AtomicU64);

impl StandaloneU64 {
    /// A word with this value.
    pub fn new(value: u64) -> Self {
        StandaloneU64(AtomicU64::new(value))
    }

    /// The only writer: writes the word.
    #[inline]
    pub fn store(&self, value: u64, _: Ordering) {
        let Halves { low, high } = &self.0;
        let new_high = (value >> 32) as u32;
        if high.load(Ordering::Relaxed) == new_high {
            return low.store(value as u32, Ordering::Release); // SW2
        }
        high.store(CHANGING, Ordering::Relaxed); // SW1
        low.store(value as u32, Ordering::Release); // SW2, pairs with SR2
        high.store(new_high, Ordering::Release); // SW3, pairs with SR1
    }

    /// One of several writers: writes the word. This has no effect if another writer is writing a
    /// value, or has written a later value.
    #[inline]
    pub fn store_shared(&self, value: u64) {
        let Halves { low, high } = &self.0;
        let (before, new_high) = (high.load(Ordering::Relaxed), (value >> 32) as u32);
        if new_high < before {
            return; // also if `before` is the mark
        }
        let (done, not) = (Ordering::Acquire, Ordering::Relaxed);
        if high.compare_exchange(before, CHANGING, done, not).is_err() {
            return; // SW1
        }
        low.store(value as u32, Ordering::Release); // SW2
        high.store(new_high, Ordering::Release); // SW3, pairs with SW1 of the next writer
    }

    /// The only writer, and interrupt handlers: replaces the value `old`. False, without effect, if
    /// a handler has changed the word. A handler that comes within this call may be undone: its
    /// value was not larger than the clock, nor is the next value smaller.
    pub fn replace(&self, old: u64, new: u64) -> bool {
        let is_same = self.load_whole(Ordering::Relaxed) == Some(old);
        if is_same {
            self.store(new, Ordering::Relaxed);
        }
        is_same
    }

    /// Reads the word. The upper half is 2^32 - 1 if a writer is in the middle of a change.
    #[inline]
    pub fn load(&self, order: Ordering) -> u64 {
        let marked = u64::from(CHANGING) << 32;
        self.load_whole(order).unwrap_or(marked)
    }

    /// The only writer, and handlers that interrupt the writer: reads the word. `None` if the caller has
    /// interrupted a change, or a handler has changed the upper half meanwhile. A handler runs to its end
    /// before the writer continues, so the order of the loads in the program is enough.
    #[inline(always)]
    pub fn load_own(&self) -> Option<u64> {
        let Halves { low, high } = &self.0;
        let before = high.load(Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
        let low = low.load(Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
        let after = high.load(Ordering::Relaxed);
        (before == after && before != CHANGING).then(|| whole(before, low))
    }

    /// Reads the word. `None` if a writer is in the middle of a change.
    #[inline(never)] // a loop that only slow paths need
    pub fn load_whole(&self, _: Ordering) -> Option<u64> {
        (0..TRIES).find_map(|_| self.load_once())
    }

    #[inline]
    fn load_once(&self) -> Option<u64> {
        let Halves { low, high } = &self.0;
        let before = high.load(Ordering::Acquire); // SR1, pairs with SW3
        let low = low.load(Ordering::Acquire); // SR2, pairs with SW2
        let after = high.load(Ordering::Relaxed); // SR3
        (before == after && before != CHANGING).then(|| whole(before, low))
    }
}

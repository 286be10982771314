//! The seqlock of a slot: [`publish`] and [`read`], the two halves of the protocol.
//!
//! ```text
//!   writer (one at a time)                  reader (any number, any process)
//!   W1 seq = odd            (relaxed)       R1 seq -> before      (acquire, pairs with W4)
//!   W2 fence                (release)       R2 payload -> copy    (relaxed)
//!   W3 payload              (relaxed)       R3 fence              (acquire, pairs with W2)
//!   W4 seq = even           (release)       R4 seq -> after       (relaxed)
//!                                           whole if before = after and even
//! ```
//! If R2 sees a word of W3, then the fences W2 and R3 make R4 see W1 or later, so the copy is
//! refused. A release *store* at W1 would not keep W3 behind it, and an acquire *load* at R4
//! would not keep R2 before it: a model checker finds the torn read when either fence is missing.
//!
//! Event `n` of a station is in slot `n mod 8`, or `n mod 2` in a compact station. Its sequence
//! numbers are computed from `n`, never from what the memory holds, so a writer that dies in the
//! middle does no lasting harm.

use crate::memory::layout::{Full, Layout, SLOTS, Slot};
use crate::sync::{Ordering, fence};

/// The kind of an event, as stored in a slot. Zero comes from a v1 peer, which stores only
/// `is_active`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum EventKind {
    /// The coroutine was created.
    Birth = 1,
    /// The coroutine starts or resumes running.
    Run = 2,
    /// The coroutine suspends and waits.
    Suspend = 3,
    /// The coroutine ended.
    Death = 4,
}

/// Added to the kind of a slot or a record: a filter dropped events between the coroutine's
/// previous event and this one.
pub const AFTER_FILTERED: u8 = 0x10;

/// Payload of an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Epoch {
    /// Nanoseconds on the monotonic clock.
    pub timestamp: u64,
    /// Kernel id of the thread.
    pub tid: u64,
    /// cTP v1: address of the suspended coroutine's frame, 0 in a run.
    pub addr: u64,
    /// Bit 63: the rest is an interned site id; otherwise an address, or 0.
    pub site: u64,
    /// The resource that a suspend waits for. In a death: 1 if the coroutine returned a value that
    /// may hold a lock guard, else 0.
    pub arg: u64,
    /// The generation of the station, which identifies the coroutine among all that have used the station.
    pub generation: u32,
    /// The last eight bytes.
    pub tail: Tail,
}

/// The last eight bytes of a slot, stored as one word: kind, wait kind, wakes seen (16 bits), three
/// bytes for the user, and cTP v1's `is_active` in the highest byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tail {
    /// An [`EventKind`], 0 from a v1 peer.
    pub kind: u8,
    /// The code of a [`crate::WaitKind`], with the marks of the wait.
    pub wait_kind: u8,
    /// Low bits of the wake count when the latest run began.
    pub wake_seen: u16,
    /// Free for the user.
    pub user: [u8; 3],
    /// cTP v1: is the coroutine running? False only after a suspend.
    pub is_active: bool,
}

impl Tail {
    /// The word in which the tail is stored.
    pub fn to_word(self) -> u64 {
        let [low, high] = self.wake_seen.to_le_bytes();
        let [a, b, c] = self.user;
        u64::from_le_bytes([
            self.kind,
            self.wait_kind,
            low,
            high,
            a,
            b,
            c,
            self.is_active.into(),
        ])
    }

    /// Decodes a stored word; every word is valid.
    pub fn from_word(word: u64) -> Self {
        let [kind, wait_kind, low, high, a, b, c, active] = word.to_le_bytes();
        Tail {
            kind,
            wait_kind,
            wake_seen: u16::from_le_bytes([low, high]),
            user: [a, b, c],
            is_active: active != 0,
        }
    }
}

/// The slot of event `n`.
pub const fn index_of(n: u64) -> usize {
    (n % SLOTS as u64) as usize
}

/// The slot of event `n` in a station of this layout.
#[inline(always)]
pub const fn index_in<L: Layout>(n: u64) -> usize {
    (n % L::SLOTS) as usize
}

/// Sequence number of a slot while event `n` is written: 1 in the first lap, then 3, 5 and so on.
const fn writing_seq<L: Layout>(n: u64) -> u64 {
    (n / (L::SLOTS / 2)) | 1
}

/// Sequence number of a slot once event `n` is complete: 2 in the first lap, then 4, 6 and so on.
pub const fn final_seq(n: u64) -> u64 {
    final_seq_in::<Full>(n)
}

/// As [`final_seq`], in a station of this layout.
pub const fn final_seq_in<L: Layout>(n: u64) -> u64 {
    writing_seq::<L>(n).wrapping_add(1)
}

/// The event that a complete `seq` (even, not 0) in slot `index` denotes.
pub const fn event_of(index: usize, seq: u64) -> u64 {
    event_in::<Full>(index, seq)
}

/// As [`event_of`], in a station of this layout.
pub const fn event_in<L: Layout>(index: usize, seq: u64) -> u64 {
    (seq / 2 - 1)
        .wrapping_mul(L::SLOTS)
        .wrapping_add(index as u64)
}

/// Writes event `n`. Only the coroutine's current owner may call this.
#[inline]
pub fn publish(slot: &Slot, n: u64, epoch: &Epoch) {
    publish_in::<Full>(slot, n, epoch);
}

/// As [`publish`], into a slot of a station of this layout.
#[inline(always)]
pub fn publish_in<L: Layout>(slot: &Slot, n: u64, epoch: &Epoch) {
    let writing = writing_seq::<L>(n);
    slot.seq.begin(writing); // W1
    fence(Ordering::Release); // W2, pairs with R3
    store(slot, epoch); // W3
    slot.seq.store(writing.wrapping_add(1), Ordering::Release); // W4, pairs with R1
}

/// The result of reading a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlotReading {
    /// The slot has never been written.
    Empty,
    /// A whole event with its sequence number.
    Whole(u64, Epoch),
    /// A writer is active, or died while it wrote. Contains the odd sequence number.
    Writing(u64),
    /// The slot changed during the read: try again.
    Changed,
}

/// Reads a slot once, without waiting.
#[inline]
pub fn read(slot: &Slot) -> SlotReading {
    let (before, epoch, after) = copy(slot);
    match before {
        0 => SlotReading::Empty,
        odd if odd % 2 == 1 => SlotReading::Writing(odd),
        even if even == after => SlotReading::Whole(even, epoch),
        _ => SlotReading::Changed,
    }
}

/// Returns the sequence number before, the payload, and the sequence number after. Meant for
/// dialects in which an odd number has no special meaning.
#[inline]
pub fn copy(slot: &Slot) -> (u64, Epoch, u64) {
    let before = slot.seq.load(Ordering::Acquire); // R1, pairs with W4
    let epoch = load(slot); // R2
    fence(Ordering::Acquire); // R3, pairs with W2
    (before, epoch, slot.seq.load(Ordering::Relaxed)) // R4
}

/// Owner: the time and kind of the event in this slot.
#[inline]
pub(crate) fn time_and_kind(slot: &Slot) -> (u64, u8) {
    let tail = slot.tail.load(Ordering::Relaxed);
    (slot.timestamp.load(Ordering::Relaxed), tail as u8)
}

/// The kind of the event in this slot without the filter mark, and the thread id.
#[inline]
pub(crate) fn kind_and_thread(slot: &Slot) -> (u8, u64) {
    let kind = slot.tail.load(Ordering::Relaxed) as u8 & !AFTER_FILTERED;
    (kind, slot.tid.load(Ordering::Relaxed))
}

/// Recorder: writes an event into a slot of a copied station. No other thread may access the slot.
pub(crate) fn restore(slot: &Slot, seq: u64, epoch: &Epoch) {
    store(slot, epoch);
    slot.seq.store(seq, Ordering::Release);
}

#[inline]
fn store(slot: &Slot, epoch: &Epoch) {
    slot.timestamp.store(epoch.timestamp, Ordering::Relaxed);
    slot.tid.store(epoch.tid, Ordering::Relaxed);
    slot.addr.store(epoch.addr, Ordering::Relaxed);
    slot.site.store(epoch.site, Ordering::Relaxed);
    slot.arg.store(epoch.arg, Ordering::Relaxed);
    slot.generation.store(epoch.generation, Ordering::Relaxed);
    slot.tail.store(epoch.tail.to_word(), Ordering::Relaxed);
}

#[inline]
fn load(slot: &Slot) -> Epoch {
    Epoch {
        timestamp: slot.timestamp.load(Ordering::Relaxed),
        tid: slot.tid.load(Ordering::Relaxed),
        addr: slot.addr.load(Ordering::Relaxed),
        site: slot.site.load(Ordering::Relaxed),
        arg: slot.arg.load(Ordering::Relaxed),
        generation: slot.generation.load(Ordering::Relaxed),
        tail: Tail::from_word(slot.tail.load(Ordering::Relaxed)),
    }
}

//! The ring of a memory after each instruction of a record, and with a handler after each instruction
//! that fills the whole ring. In each record, the time and the argument are the same number.

use ctp_nostd::RingMemory;
use ctp_nostd::history::is_whole;

use super::*;

const LENGTH: u32 = 8;

/// Without optimisation, a record takes many more instructions, and not each of them is tried.
const STEP: usize = if cfg!(debug_assertions) { 13 } else { 1 };

static RING: RingMemory<1, { LENGTH as usize }, 2> = RingMemory::new();

thread_local! {
    static CLOCK: Cell<u64> = const { Cell::new(0) };
    /// The instruction after which the handler comes, counted down.
    static COUNTDOWN: Cell<u32> = const { Cell::new(0) };
}

/// A board on which each record has the next time.
struct Ticks;

// SAFETY: there is no `Local`.
unsafe impl Platform for Ticks {
    fn now_ns() -> u64 {
        CLOCK.get()
    }

    fn thread() -> u64 {
        0
    }

    fn ring() {}

    fn attachment_word() -> &'static AtomicU32 {
        static NUMBER: AtomicU32 = AtomicU32::new(11);
        &NUMBER
    }
}

/// Records the closing of a resource. Its number is the time.
fn record() {
    let number = CLOCK.get() + 1;
    CLOCK.set(number);
    RING.probe::<Ticks>().closed(number);
}

/// The words of a record as a dump has them, with the number of the record.
fn dumped() -> impl Iterator<Item = (u32, [u64; 4])> {
    let (base, bytes) = RING.extent();
    // SAFETY: a static that this thread alone uses. The handler interrupts it.
    let words = unsafe { std::slice::from_raw_parts(base as *const u64, bytes / 8) };
    let [head, records] = [0x1C0, 0x230].map(|span| words[span / 8] as usize / 8);
    let end = words[head] as u32;
    let latest = (1..=LENGTH).filter_map(move |back| end.checked_sub(back));
    latest.map(move |h| {
        let at = records + 4 * (h % LENGTH) as usize;
        (h, std::array::from_fn(|index| words[at + index]))
    })
}

/// How many of the latest records are whole, or `None` if a whole record has words of two records.
fn whole() -> Option<u32> {
    let mut count = 0;
    for (h, [commit, at, _, number]) in dumped() {
        if is_whole(commit, h, LENGTH) {
            if at != number || at == 0 {
                return None;
            }
            count += 1;
        }
    }
    Some(count)
}

fn ring_is_right() -> bool {
    // The record in progress has taken the place of the oldest.
    whole().is_some_and(|count| LENGTH - 1 <= count)
}

fn fill_after_countdown() -> bool {
    let left = COUNTDOWN.get();
    COUNTDOWN.set(left.wrapping_sub(1));
    if left == 0 {
        let number = CLOCK.get();
        (0..LENGTH + 3).for_each(|_| record());
        CLOCK.set(number); // the interrupted record has yet to read its time
    }
    whole().is_some()
}

/// One test, because both use the same ring.
// CTP-27, CTP-30
#[test]
fn no_record_of_a_ring_is_mixed_with_another() {
    (0..2 * LENGTH).for_each(|_| record());
    for _ in 0..2 * LENGTH {
        assert_at_each_instruction(ring_is_right, &record);
    }
    assert_eq!(whole(), Some(LENGTH));
    for instruction in (0..4_000).step_by(STEP) {
        COUNTDOWN.set(instruction);
        assert_at_each_instruction(fill_after_countdown, &record);
        assert!(
            whole().is_some(),
            "a handler after instruction {instruction}"
        );
        // Where the countdown has not ended, the handler has come after each instruction of the call.
        if COUNTDOWN.get() <= instruction {
            return;
        }
    }
    panic!("a record takes fewer instructions");
}

//! The latest walk up a thread's stack from where a waker was cloned or called, kept: as long as the stack
//! reads as it did then, those who call are the same, and need not be found one after the other.
//!
//! ```text
//!   keep                                   recall
//!   Y1 turn: even -> odd                   Z1 turn is even
//!   Y2 key, records, chain                 Z2 the same key? does each record read as it is kept?
//!   Y3 turn: odd -> even                   Z3 turn is what it was
//! ```
//! Only the thread itself comes here, and its signal handlers. One that comes amid Y1 to Y3 keeps nothing;
//! one that keeps something amid Z1 to Z3 is noticed.
//!
//! A walk is kept once it has found the same chain as the one before that was not kept: who clones or wakes
//! in several places by turns would keep each of them in vain. A walk that has found none is kept too: in a
//! program without frame pointers that register may point into the stack for as long.
#![allow(
    unsafe_code,
    reason = "reads frame records where a walk has found them"
)]

use core::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering, compiler_fence};

use crate::linux::stack::walk::{Alike, Here, Record};

/// What a walk depends on, besides the records that it finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    /// {attachment 32 | id of the site that a chain stands for 32}.
    pub whose: u64,
    pub here: Here,
    /// Up to here the stack can be read.
    pub end: usize,
    /// Frame pointer of the last one.
    pub base: usize,
    /// Where the call is known to return to, else 0.
    pub caller: usize,
}

/// Of one thread. A walk past more records is not kept.
#[derive(Debug)]
pub(crate) struct LatestWalk<const MOST: usize> {
    turn: AtomicU32,
    /// The chain that was found.
    chain: AtomicU32,
    /// What tells a walk that was not kept from others.
    passed: AtomicU32,
    pc: AtomicUsize,
    fp: AtomicUsize,
    sp: AtomicUsize,
    end: AtomicUsize,
    base: AtomicUsize,
    caller: AtomicUsize,
    whose: AtomicU64,
    count: AtomicUsize,
    /// The two words of each, as they stand in the stack.
    records: [[AtomicUsize; 2]; MOST],
}

impl<const MOST: usize> LatestWalk<MOST> {
    /// None yet: no function has a frame pointer of 0.
    pub const fn new() -> Self {
        LatestWalk {
            turn: AtomicU32::new(0),
            chain: AtomicU32::new(0),
            passed: AtomicU32::new(0),
            pc: AtomicUsize::new(0),
            fp: AtomicUsize::new(0),
            sp: AtomicUsize::new(0),
            end: AtomicUsize::new(0),
            base: AtomicUsize::new(0),
            caller: AtomicUsize::new(0),
            whose: AtomicU64::new(0),
            count: AtomicUsize::new(0),
            records: [const { [const { AtomicUsize::new(0) }; 2] }; MOST],
        }
    }

    /// The chain, or 0 for none, that such a walk would find now, if it would pass the very records that are kept.
    ///
    /// # Safety
    /// - This is the latest walk of the thread that asks, and `key.here` a function of it that goes on.
    #[inline(always)]
    pub unsafe fn recall(&self, key: &Key) -> Option<u32> {
        let turn = self.turn.load(Ordering::Relaxed); // Z1
        compiler_fence(Ordering::SeqCst);
        if !self.is_of(key) {
            return None;
        }
        let count = self.count.load(Ordering::Relaxed).min(MOST);
        let (mut alike, mut fp) = (Alike::new(), key.here.fp);
        for kept in &self.records[..count] {
            // SAFETY: a walk with this key, from the same place in the same stack, has found each record
            // above that place, and below an end up to which that stack can be read as long as the
            // thread lives. A handler that keeps another walk amid this has found its own there.
            unsafe { alike.look(fp, kept) };
            fp = kept[0].load(Ordering::Relaxed);
        }
        let chain = self.chain.load(Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
        let is_undisturbed = self.turn.load(Ordering::Relaxed) == turn; // Z3
        (alike.are() && is_undisturbed && turn.is_multiple_of(2)).then_some(chain)
    }

    /// Whether the kept walk has this key.
    #[inline(always)]
    pub fn is_of(&self, key: &Key) -> bool {
        let is = |word: &AtomicUsize, value| word.load(Ordering::Relaxed) == value;
        is(&self.fp, key.here.fp)
            && is(&self.sp, key.here.sp)
            && is(&self.pc, key.here.pc)
            && is(&self.end, key.end)
            && is(&self.base, key.base)
            && is(&self.caller, key.caller)
            && self.whose.load(Ordering::Relaxed) == key.whose
    }

    /// Makes the kept walk match no key: no function has a stack pointer of 0.
    #[cold]
    pub fn forget(&self) {
        self.sp.store(0, Ordering::Relaxed);
    }

    /// A walk was not kept, began there, and has found this chain. Did the one before?
    pub fn is_passed_again(&self, here: &Here, chain: u32) -> bool {
        let walk = (here.fp as u32).rotate_left(16) ^ chain;
        let before = self.passed.load(Ordering::Relaxed);
        self.passed.store(walk, Ordering::Relaxed);
        before == walk
    }

    /// This is the latest walk, if there is room for all the records that it passed.
    #[cold]
    pub fn keep(&self, key: &Key, records: &[Record], chain: u32) {
        let turn = self.turn.load(Ordering::Relaxed);
        if !turn.is_multiple_of(2) || MOST < records.len() {
            return;
        }
        self.turn.store(turn.wrapping_add(1), Ordering::Relaxed); // Y1
        compiler_fence(Ordering::SeqCst);
        self.fill(key, records, chain); // Y2
        compiler_fence(Ordering::SeqCst);
        self.turn.store(turn.wrapping_add(2), Ordering::Relaxed); // Y3
    }

    fn fill(&self, key: &Key, records: &[Record], chain: u32) {
        self.whose.store(key.whose, Ordering::Relaxed);
        self.caller.store(key.caller, Ordering::Relaxed);
        self.pc.store(key.here.pc, Ordering::Relaxed);
        self.fp.store(key.here.fp, Ordering::Relaxed);
        self.sp.store(key.here.sp, Ordering::Relaxed);
        self.end.store(key.end, Ordering::Relaxed);
        self.base.store(key.base, Ordering::Relaxed);
        self.count.store(records.len(), Ordering::Relaxed);
        self.chain.store(chain, Ordering::Relaxed);
        for (kept, record) in self.records.iter().zip(records) {
            kept[0].store(record.next, Ordering::Relaxed);
            kept[1].store(record.returns_to, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: usize = 6;
    const NOTHING: Record = Record {
        next: 0,
        returns_to: 0,
    };

    /// Makes frame records of these words, each below the next, and gives the key of a walk that passes
    /// them.
    fn link(stack: &mut [Record; 5]) -> Key {
        let places = stack.as_ptr_range();
        for (index, record) in stack.iter_mut().enumerate() {
            let next = places.start.wrapping_add(index + 1);
            *record = Record {
                next: next.addr(),
                returns_to: 100 + index,
            };
        }
        let fp = places.start.addr();
        Key {
            whose: 1,
            here: Here { pc: 7, fp, sp: fp },
            end: places.end.addr(),
            base: 0,
            caller: 100,
        }
    }

    fn recall(walk: &LatestWalk<MOST>, key: &Key) -> Option<u32> {
        // SAFETY: these records are borrowed, or the key is not that which is kept.
        unsafe { walk.recall(key) }
    }

    // CT-13
    #[test]
    fn a_stack_that_reads_as_it_did_has_the_same_chain_and_any_other_none() {
        let (walk, mut stack) = (LatestWalk::<MOST>::new(), [NOTHING; 5]);
        let key = link(&mut stack);
        assert_eq!(recall(&walk, &key), None);
        walk.keep(&key, &stack, 9);
        assert_eq!(recall(&walk, &key), Some(9));
        for index in 0..stack.len() {
            let Record { next, returns_to } = stack[index];
            for (next, returns_to) in [(next, returns_to + 1), (next ^ 16, returns_to)] {
                link(&mut stack);
                stack[index] = Record { next, returns_to };
                assert_eq!(recall(&walk, &key), None, "{index}");
            }
        }
        link(&mut stack);
        assert_eq!(recall(&walk, &key), Some(9));
    }

    #[test]
    fn it_is_that_of_its_key_alone() {
        let (walk, mut stack) = (LatestWalk::<MOST>::new(), [NOTHING; 5]);
        let key = link(&mut stack);
        walk.keep(&key, &stack, 9);
        let here = |pc, fp, sp| Key {
            here: Here { pc, fp, sp },
            ..key
        };
        let Here { pc, fp, sp } = key.here;
        let others = [
            Key { whose: 2, ..key },
            Key { caller: 0, ..key },
            Key {
                end: key.end + 16,
                ..key
            },
            Key { base: fp, ..key },
            here(pc + 1, fp, sp),
            here(pc, fp + 16, sp),
            here(pc, fp, sp - 16),
        ];
        for other in &others {
            assert_eq!(recall(&walk, other), None, "{other:?}");
        }
        assert_eq!(recall(&walk, &key), Some(9));
    }

    #[test]
    fn a_walk_is_kept_at_the_second_time_in_a_row_and_if_it_is_short() {
        let (walk, mut stack) = (LatestWalk::<MOST>::new(), [NOTHING; 5]);
        let here = Here {
            pc: 1,
            fp: 4096,
            sp: 4000,
        };
        let found = [5, 5, 6, 5, 5, 5, 0, 0];
        let again = found.map(|chain| walk.is_passed_again(&here, chain));
        assert_eq!(again, [false, true, false, false, true, true, false, true]);
        let higher = Here { fp: 4112, ..here };
        let by_turns = [here, higher, here].map(|here| walk.is_passed_again(&here, 5));
        assert_eq!(by_turns, [false; 3]);
        let key = link(&mut stack);
        walk.keep(&key, &[stack[0]; MOST + 1], 9);
        assert_eq!(recall(&walk, &key), None);
    }

    #[test]
    fn a_forgotten_walk_is_not_recalled() {
        let (walk, mut stack) = (LatestWalk::<MOST>::new(), [NOTHING; 5]);
        let key = link(&mut stack);
        walk.keep(&key, &stack, 9);
        walk.forget();
        assert_eq!(recall(&walk, &key), None);
        walk.keep(&key, &stack, 8);
        assert_eq!(recall(&walk, &key), Some(8));
    }

    // CTP-30
    #[test]
    fn a_handler_amid_that_keeps_nothing_and_is_told_nothing() {
        let (walk, mut stack) = (LatestWalk::<MOST>::new(), [NOTHING; 5]);
        let key = link(&mut stack);
        walk.keep(&key, &stack, 9);
        walk.turn.fetch_add(1, Ordering::Relaxed); // Y1
        assert_eq!(recall(&walk, &key), None);
        walk.keep(&key, &stack, 8);
        walk.turn.fetch_add(1, Ordering::Relaxed); // Y3
        assert_eq!(recall(&walk, &key), Some(9));
    }
}

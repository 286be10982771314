//! The latest walk up a thread's stack from the call of a waker. As long as the stack reads as it
//! did then, the callers are the same, and need not be found again one after the other.
//!
//! ```text
//!   keep                                   recall
//!   Y1 turn: even -> odd                   Z1 turn is even
//!   Y2 key, records, chain                 Z2 the same key? does each record read as kept?
//!   Y3 turn: odd -> even                   Z3 turn is unchanged
//! ```
//! Only the thread itself and its signal handlers use this. A handler that interrupts Y1 to Y3
//! keeps nothing. A handler that keeps a walk during Z1 to Z3 is noticed.
//!
//! A walk is kept only if the previous walk that was not kept found the same chain. Otherwise, a
//! thread that alternates between several call sites would keep walks that are never recalled. A
//! walk that has found no chain is kept too: in a program without frame pointers, the register of
//! the frame pointer may point to the same place in the stack for many calls.
#![allow(
    unsafe_code,
    reason = "reads frame records where a walk has found them"
)]

use core::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering, compiler_fence};

use crate::linux::stack::walk::{FramePosition, FrameRecord, RecordsMatch};

/// What a walk depends on, apart from the records that it finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    /// {attachment 32 | id of the site that a chain replaces 32}.
    pub scope: u64,
    pub here: FramePosition,
    /// The stack is readable up to here.
    pub end: usize,
    /// Frame pointer of the last frame.
    pub base: usize,
    /// The return address of the leaf's call of `clone`; 0 if unknown, or for a wake.
    pub caller: usize,
}

/// The latest walk of a thread. A walk over more than `MAX_RECORDS` records is not kept.
#[derive(Debug)]
pub(crate) struct LatestWalk<const MAX_RECORDS: usize> {
    turn: AtomicU32,
    /// The chain that was found.
    chain: AtomicU32,
    /// A fingerprint of the latest walk that was not kept.
    last_unkept: AtomicU32,
    pc: AtomicUsize,
    fp: AtomicUsize,
    sp: AtomicUsize,
    end: AtomicUsize,
    base: AtomicUsize,
    caller: AtomicUsize,
    scope: AtomicU64,
    count: AtomicUsize,
    /// The two words of each record, as on the stack.
    records: [[AtomicUsize; 2]; MAX_RECORDS],
}

impl<const MAX_RECORDS: usize> LatestWalk<MAX_RECORDS> {
    /// No walk yet: no function has a frame pointer of 0.
    pub const fn new() -> Self {
        LatestWalk {
            turn: AtomicU32::new(0),
            chain: AtomicU32::new(0),
            last_unkept: AtomicU32::new(0),
            pc: AtomicUsize::new(0),
            fp: AtomicUsize::new(0),
            sp: AtomicUsize::new(0),
            end: AtomicUsize::new(0),
            base: AtomicUsize::new(0),
            caller: AtomicUsize::new(0),
            scope: AtomicU64::new(0),
            count: AtomicUsize::new(0),
            records: [const { [const { AtomicUsize::new(0) }; 2] }; MAX_RECORDS],
        }
    }

    /// The chain that a walk with this key would find now, 0 for no chain. `None` if such a walk
    /// may pass other records than the kept walk.
    ///
    /// # Safety
    /// - This is the latest walk of the calling thread, and `key.here` is an active function of
    ///   that thread.
    #[inline(always)]
    pub unsafe fn recall(&self, key: &Key) -> Option<u32> {
        let turn = self.turn.load(Ordering::Relaxed); // Z1
        compiler_fence(Ordering::SeqCst);
        if !self.has_key(key) {
            return None;
        }
        let count = self.count.load(Ordering::Relaxed).min(MAX_RECORDS);
        let (mut matches, mut fp) = (RecordsMatch::new(), key.here.fp);
        for kept in &self.records[..count] {
            // SAFETY: a walk with this key, from the same place in the same stack, has found each
            // record above that place, and below an end up to which that stack is readable as long
            // as the thread lives. A handler that interrupts this and keeps another walk has found
            // its own records there.
            unsafe { matches.compare(fp, kept) };
            fp = kept[0].load(Ordering::Relaxed);
        }
        let chain = self.chain.load(Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
        let is_undisturbed = self.turn.load(Ordering::Relaxed) == turn; // Z3
        (matches.are_equal() && is_undisturbed && turn.is_multiple_of(2)).then_some(chain)
    }

    /// Whether the kept walk has this key.
    #[inline(always)]
    pub fn has_key(&self, key: &Key) -> bool {
        let is = |word: &AtomicUsize, value| word.load(Ordering::Relaxed) == value;
        is(&self.fp, key.here.fp)
            && is(&self.sp, key.here.sp)
            && is(&self.pc, key.here.pc)
            && is(&self.end, key.end)
            && is(&self.base, key.base)
            && is(&self.caller, key.caller)
            && self.scope.load(Ordering::Relaxed) == key.scope
    }

    /// Makes the kept walk match no key: no function has a stack pointer of 0.
    #[cold]
    pub fn forget(&self) {
        self.sp.store(0, Ordering::Relaxed);
    }

    /// Notes that a walk that was not kept began at `here` and found this chain. Returns whether
    /// the walk noted before did the same.
    pub fn is_repeated(&self, here: &FramePosition, chain: u32) -> bool {
        let walk = (here.fp as u32).rotate_left(16) ^ chain;
        let before = self.last_unkept.load(Ordering::Relaxed);
        self.last_unkept.store(walk, Ordering::Relaxed);
        before == walk
    }

    /// Keeps this walk as the latest, if there is room for all its records.
    #[cold]
    pub fn keep(&self, key: &Key, records: &[FrameRecord], chain: u32) {
        let turn = self.turn.load(Ordering::Relaxed);
        if !turn.is_multiple_of(2) || MAX_RECORDS < records.len() {
            return;
        }
        self.turn.store(turn.wrapping_add(1), Ordering::Relaxed); // Y1
        compiler_fence(Ordering::SeqCst);
        self.fill(key, records, chain); // Y2
        compiler_fence(Ordering::SeqCst);
        self.turn.store(turn.wrapping_add(2), Ordering::Relaxed); // Y3
    }

    fn fill(&self, key: &Key, records: &[FrameRecord], chain: u32) {
        self.scope.store(key.scope, Ordering::Relaxed);
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

    const MAX_RECORDS: usize = 6;
    const NOTHING: FrameRecord = FrameRecord {
        next: 0,
        returns_to: 0,
    };

    /// Turns these words into frame records, each below the next, and returns the key of a walk
    /// over them.
    fn link(stack: &mut [FrameRecord; 5]) -> Key {
        let places = stack.as_ptr_range();
        for (index, record) in stack.iter_mut().enumerate() {
            let next = places.start.wrapping_add(index + 1);
            *record = FrameRecord {
                next: next.addr(),
                returns_to: 100 + index,
            };
        }
        let fp = places.start.addr();
        Key {
            scope: 1,
            here: FramePosition { pc: 7, fp, sp: fp },
            end: places.end.addr(),
            base: 0,
            caller: 100,
        }
    }

    fn recall(walk: &LatestWalk<MAX_RECORDS>, key: &Key) -> Option<u32> {
        // SAFETY: the records are borrowed, or the key does not match.
        unsafe { walk.recall(key) }
    }

    // CT-13
    #[test]
    fn only_an_unchanged_stack_recalls_the_chain() {
        let (walk, mut stack) = (LatestWalk::<MAX_RECORDS>::new(), [NOTHING; 5]);
        let key = link(&mut stack);
        assert_eq!(recall(&walk, &key), None);
        walk.keep(&key, &stack, 9);
        assert_eq!(recall(&walk, &key), Some(9));
        for index in 0..stack.len() {
            let FrameRecord { next, returns_to } = stack[index];
            for (next, returns_to) in [(next, returns_to + 1), (next ^ 16, returns_to)] {
                link(&mut stack);
                stack[index] = FrameRecord { next, returns_to };
                assert_eq!(recall(&walk, &key), None, "{index}");
            }
        }
        link(&mut stack);
        assert_eq!(recall(&walk, &key), Some(9));
    }

    #[test]
    fn walk_is_recalled_for_the_key_only() {
        let (walk, mut stack) = (LatestWalk::<MAX_RECORDS>::new(), [NOTHING; 5]);
        let key = link(&mut stack);
        walk.keep(&key, &stack, 9);
        let here = |pc, fp, sp| Key {
            here: FramePosition { pc, fp, sp },
            ..key
        };
        let FramePosition { pc, fp, sp } = key.here;
        let others = [
            Key { scope: 2, ..key },
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
    fn repeated_short_walk_is_kept() {
        let (walk, mut stack) = (LatestWalk::<MAX_RECORDS>::new(), [NOTHING; 5]);
        let here = FramePosition {
            pc: 1,
            fp: 4096,
            sp: 4000,
        };
        let found = [5, 5, 6, 5, 5, 5, 0, 0];
        let again = found.map(|chain| walk.is_repeated(&here, chain));
        assert_eq!(again, [false, true, false, false, true, true, false, true]);
        let higher = FramePosition { fp: 4112, ..here };
        let by_turns = [here, higher, here].map(|here| walk.is_repeated(&here, 5));
        assert_eq!(by_turns, [false; 3]);
        let key = link(&mut stack);
        walk.keep(&key, &[stack[0]; MAX_RECORDS + 1], 9);
        assert_eq!(recall(&walk, &key), None);
    }

    #[test]
    fn forgotten_walk_is_not_recalled() {
        let (walk, mut stack) = (LatestWalk::<MAX_RECORDS>::new(), [NOTHING; 5]);
        let key = link(&mut stack);
        walk.keep(&key, &stack, 9);
        walk.forget();
        assert_eq!(recall(&walk, &key), None);
        walk.keep(&key, &stack, 8);
        assert_eq!(recall(&walk, &key), Some(8));
    }

    // CTP-30
    #[test]
    fn interrupting_handler_neither_keeps_nor_recalls() {
        let (walk, mut stack) = (LatestWalk::<MAX_RECORDS>::new(), [NOTHING; 5]);
        let key = link(&mut stack);
        walk.keep(&key, &stack, 9);
        walk.turn.fetch_add(1, Ordering::Relaxed); // Y1
        assert_eq!(recall(&walk, &key), None);
        walk.keep(&key, &stack, 8);
        walk.turn.fetch_add(1, Ordering::Relaxed); // Y3
        assert_eq!(recall(&walk, &key), Some(9));
    }
}

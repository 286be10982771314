//! Which thread gets which lane.
//!
//! Usually a thread takes the first lane that was never used. If many lanes are in use, it may
//! first check whether some of them are free, because each lane in use costs the recorder time and
//! memory. To check whether a thread has exited takes a system call, so checks are saved up. Each
//! of the first threads saves one check for later threads, each later thread saves a quarter of a
//! check, and each lane that is found free saves three.
//!
//! So where threads stay alive, most threads check no lane. Where threads come and go, at most
//! about twice as many lanes are in use as threads live at a time. As soon as more than a third of
//! the lanes belong to dead threads, checks gain more checks than they cost, because they pass over
//! the lanes in strides and do not meet all lanes of living threads in a row.
//!
//! Where lanes are overwritten, `lane/oldest.rs` chooses the lane.

use core::ops::Range;

use crate::memory::layout::Lane;
use crate::sync::{AtomicU32, Ordering};

/// The number of unused lanes that the recorder prepares for new threads, each time it runs.
pub const LANES_AHEAD: u32 = 16;

/// Whether the recorder should prepare lanes soon, now that a thread took the lane with this number. True for every
/// eighth lane: to wake the recorder takes longer than a thread's first event.
pub(crate) const fn should_prepare_lanes(number: u32) -> bool {
    number.is_multiple_of(LANES_AHEAD / 2)
}

/// Value of a lane's thread word: a thread had the lane, and has given it back.
pub(crate) const GIVEN_BACK: u32 = u32::MAX;

/// While no more lanes than this are in use, and others are left, a thread makes no checks.
const FEW_LANES: usize = 15;

/// The cost of a check, in quarters.
const CHECK_COST: u16 = 4;

/// Saved by a thread that comes while few lanes are in use, and by any other thread.
const SAVED_WHILE_FEW: u16 = CHECK_COST;
const SAVED_BY_ANY: u16 = 1;

/// Saved by a check that finds a free lane.
const SAVED_BY_FIND: u16 = 3 * CHECK_COST;

/// The savings are capped here.
const MAX_SAVED: u16 = 32 * CHECK_COST;

/// Maximum number of checks that a thread makes at once while unused lanes are left.
const MAX_CHECKS_AT_ONCE: u16 = 8;

/// Distance from a checked lane to the next. A prime, so that all lanes are visited whatever their
/// number.
const STRIDE: usize = 40_487;

/// Checks per attempt once all lanes have been used, and the number of oldest lanes that are tried
/// where lanes are overwritten.
pub(super) const CHECKS_PER_ATTEMPT: usize = 16;

/// Further checks at a thread's first attempt.
const CHECKS_AT_FIRST_ATTEMPT: usize = 128;

/// All lanes of a memory, by number: the long lanes, then the short lanes. Lanes are taken in
/// order.
#[derive(Clone, Copy, Debug)]
pub struct Pool<'m> {
    /// Lanes with room for many records.
    pub long: &'m [Lane],
    /// Lanes with room for fewer records.
    pub short: &'m [Lane],
    /// State that searching threads leave to the next search.
    pub turn: &'m AtomicU32,
}

/// State that threads in search of a lane leave to the next search: a hint, which may have any
/// value.
#[derive(Clone, Copy, Debug)]
struct Turn {
    /// Number of strides to the first lane to check.
    next: u16,
    /// Checks that may be made, in quarters.
    saved: u16,
}

impl Turn {
    fn of(word: u32) -> Self {
        Turn {
            next: word as u16,
            saved: (word >> 16) as u16,
        }
    }

    fn save(&mut self, more: u16) {
        self.saved = self.saved.saturating_add(more).min(MAX_SAVED);
    }

    /// How many checks a new thread may make.
    fn checks(&self) -> usize {
        (self.saved / CHECK_COST).min(MAX_CHECKS_AT_ONCE).into()
    }

    fn word(self) -> u32 {
        u32::from(self.saved) << 16 | u32::from(self.next)
    }
}

/// A thread's request for a lane, and what the thread knows.
#[derive(Clone, Copy, Debug)]
pub struct LaneRequest<G, I> {
    /// Kernel id of the thread.
    pub thread: u32,
    /// Attach id of the thread's probe. Another copy of the probe in the same program has lanes of
    /// its own.
    pub owner: u32,
    /// How often the thread has requested a lane before.
    pub attempts: u32,
    /// Whether this thread of the process has exited.
    pub has_exited: G,
    /// Writes a record into the lane with this number: from here on, the lane belongs to the
    /// thread. False if there is no room.
    pub introduce: I,
}

impl<'m> Pool<'m> {
    /// The number of lanes.
    pub fn count(&self) -> usize {
        self.long.len().saturating_add(self.short.len())
    }

    /// The lane with this number.
    pub fn get(&self, number: usize) -> Option<&'m Lane> {
        self.long
            .get(number)
            .or_else(|| self.short.get(number.checked_sub(self.long.len())?))
    }

    /// How many lanes were ever taken, by binary search.
    pub(crate) fn used(&self) -> usize {
        match self.long.partition_point(is_used) {
            long if long < self.long.len() => long,
            long => long.saturating_add(self.short.partition_point(is_used)),
        }
    }
}

impl<G: Fn(u32) -> bool, I: Fn(usize) -> bool> LaneRequest<G, I> {
    /// Takes a lane: a free lane among some that were used before, or else the first lane that was
    /// never used. Only the first attempt also checks many more lanes.
    pub fn claim(&self, pool: Pool<'_>) -> Option<usize> {
        let used = pool.used();
        let mut turn = Turn::of(pool.turn.load(Ordering::Relaxed));
        let more = if self.attempts == 0 {
            CHECKS_AT_FIRST_ATTEMPT
        } else {
            0
        };
        turn.save(if used <= FEW_LANES {
            SAVED_WHILE_FEW
        } else {
            SAVED_BY_ANY
        });
        let found = if pool.count() <= used {
            self.check_used(pool, used, CHECKS_PER_ATTEMPT, &mut turn)
        } else if used <= FEW_LANES {
            self.known_free(pool, used)
        } else {
            self.check_used(pool, used, turn.checks(), &mut turn)
        };
        let found = found.or_else(|| self.fresh(pool, used..pool.count()));
        let found = found.or_else(|| self.check_used(pool, used, more, &mut turn));
        pool.turn.store(turn.word(), Ordering::Relaxed);
        found
    }

    /// Takes the first of these lanes that was never used.
    pub(super) fn fresh(&self, pool: Pool<'_>, numbers: Range<usize>) -> Option<usize> {
        let mut fresh =
            numbers.filter(|number| pool.get(*number).is_some_and(|lane| !is_used(lane)));
        fresh.find(|number| self.has_taken(pool, *number))
    }

    /// Takes the first lane, of those in use, that is free without a check.
    fn known_free(&self, pool: Pool<'_>, used: usize) -> Option<usize> {
        let mut free = (0..used).filter(|number| {
            pool.get(*number)
                .is_some_and(|lane| self.is_known_free(lane))
        });
        free.find(|number| self.has_taken(pool, *number))
    }

    /// Checks `count` of the lanes in use, each at most once, and takes the first free lane.
    fn check_used(
        &self,
        pool: Pool<'_>,
        used: usize,
        count: usize,
        turn: &mut Turn,
    ) -> Option<usize> {
        for _ in 0..count.min(used) {
            let strides = usize::from(turn.next).checked_rem(used)?;
            let number = strides.wrapping_mul(STRIDE).checked_rem(used)?;
            turn.next = strides.saturating_add(1) as u16;
            turn.saved = turn.saved.saturating_sub(CHECK_COST);
            if self.has_taken(pool, number) {
                turn.save(SAVED_BY_FIND);
                return Some(number);
            }
        }
        None
    }

    /// Takes this lane, if it is free. Exactly one of the competing threads gets it. If the thread
    /// cannot be introduced, the lane is given back.
    pub(super) fn has_taken(&self, pool: Pool<'_>, number: usize) -> bool {
        let lane = pool.get(number).filter(|lane| self.take(lane));
        let is_introduced = lane.is_some() && (self.introduce)(number);
        if let Some(lane) = lane.filter(|_| !is_introduced) {
            give_back(lane);
        }
        is_introduced
    }

    fn take(&self, lane: &Lane) -> bool {
        let (taken, not) = (Ordering::AcqRel, Ordering::Relaxed);
        let is_taken = self
            .free_holder(lane)
            .map(|holder| {
                lane.thread
                    .compare_exchange(holder, self.thread, taken, not)
            })
            .is_some_and(|result| result.is_ok());
        if is_taken {
            lane.owner.store(self.owner, Ordering::Relaxed);
        }
        is_taken
    }

    /// The previous holder of a lane that is free for this thread.
    fn free_holder(&self, lane: &Lane) -> Option<u32> {
        let holder = lane.thread.load(Ordering::Relaxed);
        let is_free = holder == 0 || self.is_free_unchecked(lane, holder);
        (is_free || (self.has_exited)(holder)).then_some(holder)
    }

    /// Whether the lane was used before, and is free without a check.
    pub(super) fn is_known_free(&self, lane: &Lane) -> bool {
        self.is_free_unchecked(lane, lane.thread.load(Ordering::Relaxed))
    }

    fn is_free_unchecked(&self, lane: &Lane, holder: u32) -> bool {
        holder == GIVEN_BACK || self.is_own(lane, holder)
    }

    /// Whether the lane belonged to an earlier thread with the same id. If the lane belongs to another
    /// copy of the probe, that thread may be this thread.
    fn is_own(&self, lane: &Lane, holder: u32) -> bool {
        holder == self.thread && lane.owner.load(Ordering::Relaxed) == self.owner
    }
}

/// Thread: releases the lane, and writes no more into it.
pub fn give_back(lane: &Lane) {
    lane.thread.store(GIVEN_BACK, Ordering::Release); // pairs with the exchange of `take`
}

fn is_used(lane: &Lane) -> bool {
    lane.thread.load(Ordering::Relaxed) != 0
}

#[cfg(all(test, not(loom)))]
pub(super) mod tests {
    use core::cell::Cell;

    use super::*;

    /// A pool with four long lanes; the others are short.
    pub fn pool<'m>(lanes: &'m [Lane], turn: &'m AtomicU32) -> Pool<'m> {
        let (long, short) = lanes.split_at(4);
        Pool { long, short, turn }
    }

    pub fn request<G: Fn(u32) -> bool>(
        thread: u32,
        has_exited: G,
    ) -> LaneRequest<G, impl Fn(usize) -> bool> {
        LaneRequest {
            thread,
            owner: 1,
            attempts: 0,
            has_exited,
            introduce: |_| true,
        }
    }

    // LT-13
    #[test]
    fn lane_without_room_for_a_begin_stays_free() {
        let lanes: [Lane; 4] = Default::default();
        let turn = AtomicU32::new(0);
        give_back(&lanes[0]);
        let claim = |thread, introduce: fn(usize) -> bool| {
            let request = LaneRequest {
                thread,
                owner: 1,
                attempts: 0,
                has_exited: |_| false,
                introduce,
            };
            request.claim(pool(&lanes, &turn))
        };
        assert_eq!(claim(1, |number| number != 0), Some(1));
        assert_eq!(claim(2, |_| true), Some(0));
    }

    // LT-12
    #[test]
    fn second_probe_copy_gets_own_lane() {
        let lanes: [Lane; 4] = Default::default();
        let turn = AtomicU32::new(0);
        let claim = |owner| {
            let request = LaneRequest {
                owner,
                ..request(1, |_| false)
            };
            request.claim(pool(&lanes, &turn))
        };
        assert_eq!([1, 2].map(claim), [Some(0), Some(1)]);
        assert_eq!(claim(1), Some(0), "a later thread with that id");
    }

    /// A hundred lanes, and the number of checks.
    struct LanePool {
        lanes: [Lane; 100],
        turn: AtomicU32,
        checks: Cell<usize>,
    }

    impl LanePool {
        fn unused() -> Self {
            LanePool {
                lanes: core::array::from_fn(|_| Lane::default()),
                turn: AtomicU32::new(0),
                checks: Cell::new(0),
            }
        }

        /// The lane that a thread got, and how many threads it checked.
        fn claim(&self, thread: u32, attempts: u32, exited: Range<u32>) -> (Option<usize>, usize) {
            self.checks.set(0);
            let request = LaneRequest {
                attempts,
                ..request(thread, |thread| {
                    self.checks.set(self.checks.get() + 1);
                    exited.contains(&thread)
                })
            };
            let found = request.claim(pool(&self.lanes, &self.turn));
            (found, self.checks.get())
        }

        fn used(&self) -> usize {
            pool(&self.lanes, &self.turn).used()
        }
    }

    // LT-12
    #[test]
    fn most_threads_make_no_checks_while_lanes_are_unused() {
        let lane_pool = LanePool::unused();
        let claim = |thread| {
            let (found, checks) = lane_pool.claim(thread, 0, 0..0);
            assert_eq!(found, Some(thread as usize - 1));
            checks
        };
        let checks: [usize; 100] = core::array::from_fn(|index| claim(index as u32 + 1));
        let (few, more) = checks.split_at(FEW_LANES + 1);
        assert!(few.iter().all(|checks| *checks == 0));
        assert!(
            more.iter()
                .all(|checks| *checks <= MAX_CHECKS_AT_ONCE.into())
        );
        let with_checks = more.iter().filter(|checks| **checks != 0).count();
        assert!(
            with_checks <= 2 + more.len() / usize::from(CHECK_COST),
            "{more:?}"
        );
    }

    // LT-12
    #[test]
    fn few_checks_per_attempt_cover_all_lanes_over_time() {
        let lane_pool = LanePool::unused();
        (1..=100).for_each(|thread| assert!(lane_pool.claim(thread, 0, 0..0).0.is_some()));
        let all = (None, CHECKS_PER_ATTEMPT + 100);
        assert_eq!(lane_pool.claim(1000, 0, 0..0), all, "at its first");
        assert_eq!(lane_pool.claim(1000, 1, 0..0), (None, CHECKS_PER_ATTEMPT));
        let attempts = 1..=100_u32.div_ceil(CHECKS_PER_ATTEMPT as u32);
        let mut found = attempts.map(|look| lane_pool.claim(1000, look, 77..78).0);
        assert!(found.any(|number| number == Some(76)));
    }

    // LT-13
    #[test]
    fn lanes_in_use_are_at_most_twice_the_live_threads() {
        let lane_pool = LanePool::unused();
        for thread in 1..=10_000 {
            let exited = 0..thread.max(8) - 7;
            assert!(lane_pool.claim(thread, 0, exited).0.is_some());
        }
        assert_eq!(lane_pool.used(), 16, "eight at a time");
        for thread in 10_001..10_030 {
            lane_pool.claim(thread, 0, 0..10_000);
        }
        for thread in 10_030..=20_000 {
            lane_pool.claim(thread, 0, 10_030..thread.max(10_037) - 7);
        }
        let living = 1 + 29 + 8;
        assert!(lane_pool.used() <= 2 * living, "{} used", lane_pool.used());
    }
}

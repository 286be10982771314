//! Which thread gets which lane, where lanes are overwritten.
//!
//! Old records are worth keeping there, and a long lane keeps the most. So a thread takes the first
//! long lane that was never used. If there is none, it reads the time of the latest record in each
//! long lane, which takes no system call, and tries some of the oldest lanes in order of age. So
//! the lane of the thread that died longest ago is reused first, unless as many living threads have
//! been idle for even longer.
//!
//! If those fail, the thread tries the oldest of the lanes that were given back, which need no
//! check. After that it continues as where lanes are not overwritten: it checks lanes in strides,
//! which pass all lanes before they come to a lane again. So the most recent records are not the
//! first to be overwritten then either.

use core::mem::swap;

use super::claim::{CHECKS_PER_ATTEMPT, LaneRequest, Pool};
use crate::memory::layout::Lane;

/// The lanes with the oldest latest records, in order of age: {time of that record, lane number}.
struct Oldest([(u64, usize); CHECKS_PER_ATTEMPT]);

impl<G: Fn(u32) -> bool, I: Fn(usize) -> bool> LaneRequest<G, I> {
    /// Takes a lane where lanes are overwritten: a long lane that was never used, or else, of the
    /// free lanes, the lane with the oldest `latest` record, as far as a few checks can tell.
    pub fn claim_oldest(&self, pool: Pool<'_>, latest: impl Fn(usize) -> u64) -> Option<usize> {
        if let Some(fresh) = self.fresh(pool, pool.used()..pool.long.len()) {
            return Some(fresh);
        }
        let oldest = Oldest::of(pool.long, |_| true, &latest);
        if let Some(found) = self.first_of(pool, oldest) {
            return Some(found);
        }
        let oldest_free = Oldest::of(pool.long, |lane| self.is_known_free(lane), &latest);
        self.first_of(pool, oldest_free)
            .or_else(|| self.claim(pool))
    }

    /// Takes the first of these lanes that is free. Another thread may be quicker; then the next
    /// lane is tried.
    fn first_of(&self, pool: Pool<'_>, oldest: Oldest) -> Option<usize> {
        let mut numbers = oldest.0.into_iter().map(|(_, number)| number);
        numbers.find(|number| self.has_taken(pool, *number))
    }
}

impl Oldest {
    /// Marks an unused entry: no lane has such a number, and all lanes are older.
    const NO_LANE: (u64, usize) = (u64::MAX, usize::MAX);

    fn of(
        lanes: &[Lane],
        is_wanted: impl Fn(&Lane) -> bool,
        latest: impl Fn(usize) -> u64,
    ) -> Self {
        let mut oldest = Oldest([Self::NO_LANE; CHECKS_PER_ATTEMPT]);
        for (number, lane) in lanes.iter().enumerate() {
            if is_wanted(lane) {
                oldest.keep((latest(number), number));
            }
        }
        oldest
    }

    /// Inserts the lane in order, if it is among the oldest; the youngest is dropped.
    fn keep(&mut self, mut lane: (u64, usize)) {
        // Of a thousand lanes, most are not among the oldest.
        if self.0.last().is_some_and(|youngest| *youngest <= lane) {
            return;
        }
        for kept in &mut self.0 {
            if lane < *kept {
                swap(&mut lane, kept);
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use core::cell::Cell;
    use core::ops::Range;

    use super::*;
    use crate::protocol::lane::claim::tests::{pool, request};
    use crate::protocol::lane::give_back;
    use crate::sync::{AtomicU32, Ordering};

    const LATEST: [u64; 4] = [40, 10, 30, 20];

    /// The lane that a thread got, and how many threads it checked.
    type Claim = (Option<usize>, usize);

    fn claim_of(lanes: &[Lane], thread: u32, exited: &[u32]) -> Option<usize> {
        let turn = AtomicU32::new(0);
        let request = request(thread, |thread| exited.contains(&thread));
        request.claim_oldest(pool(lanes, &turn), |index| LATEST[index])
    }

    // LT-14
    #[test]
    fn lane_of_the_longest_dead_thread_is_reused_first() {
        let lanes: [Lane; 4] = Default::default();
        for thread in 1..=4 {
            let index = claim_of(&lanes, thread, &[1, 2, 3, 4]);
            assert_eq!(index, Some(thread as usize - 1), "unused lanes first");
        }
        assert_eq!(claim_of(&lanes, 5, &[]), None);
        give_back(&lanes[2]);
        assert_eq!(claim_of(&lanes, 6, &[1, 4]), Some(3));
        assert_eq!(claim_of(&lanes, 7, &[1, 4]), Some(2));
        assert_eq!(claim_of(&lanes, 8, &[1, 4]), Some(0));
        assert_eq!(
            claim_of(&lanes, 9, &[1, 4]),
            None,
            "the last thread is alive"
        );
    }

    // LT-12, LT-14
    #[test]
    fn short_lanes_are_taken_if_all_long_lanes_are_in_use() {
        let lanes: [Lane; 6] = Default::default();
        for thread in 1..=6 {
            let index = claim_of(&lanes, thread, &[]);
            assert_eq!(index, Some(thread as usize - 1));
        }
        assert_eq!(claim_of(&lanes, 7, &[]), None);
        assert_eq!(claim_of(&lanes, 7, &[6]), Some(5));
    }

    // LT-14
    #[test]
    fn oldest_lanes_are_sorted_for_any_input_order() {
        let lanes: [Lane; 100] = core::array::from_fn(|_| Lane::default());
        let oldest = Oldest::of(&lanes, |_| true, |number| number as u64 * 37 % 100);
        let kept = oldest.0.map(|(age, _)| age);
        assert_eq!(kept, core::array::from_fn(|index| index as u64));
    }

    /// A hundred long lanes, and the number of checks. Threads that came earlier have been idle for
    /// longer.
    struct LanePool {
        lanes: [Lane; 100],
        turn: AtomicU32,
        checks: Cell<usize>,
    }

    impl LanePool {
        /// A pool of lanes that are all in use: the first by thread 1, and so on.
        fn all_in_use() -> Self {
            let lane_pool = LanePool {
                lanes: core::array::from_fn(|_| Lane::default()),
                turn: AtomicU32::new(0),
                checks: Cell::new(0),
            };
            for thread in 1..=100 {
                let claimed = lane_pool.claim(thread, 0, 0..0);
                assert_eq!(claimed, (Some(thread as usize - 1), 0));
            }
            lane_pool
        }

        fn claim(&self, thread: u32, attempts: u32, exited: Range<u32>) -> Claim {
            self.checks.set(0);
            let request = LaneRequest {
                attempts,
                ..request(thread, |thread| {
                    self.checks.set(self.checks.get() + 1);
                    exited.contains(&thread)
                })
            };
            let found = request.claim_oldest(self.pool(), |number| self.holder(number).into());
            (found, self.checks.get())
        }

        fn pool(&self) -> Pool<'_> {
            Pool {
                long: &self.lanes,
                short: &[],
                turn: &self.turn,
            }
        }

        fn holder(&self, number: usize) -> u32 {
            self.lanes[number].thread.load(Ordering::Relaxed)
        }
    }

    // LT-12
    #[test]
    fn few_checks_are_made_if_all_threads_live() {
        let lane_pool = LanePool::all_in_use();
        let all = 2 * CHECKS_PER_ATTEMPT + 100;
        assert_eq!(lane_pool.claim(1000, 0, 0..0), (None, all), "at its first");
        assert_eq!(
            lane_pool.claim(1000, 16, 0..0),
            (None, 2 * CHECKS_PER_ATTEMPT)
        );
    }

    // LT-14
    #[test]
    fn longest_dead_thread_is_found_among_few_idle_threads() {
        let lane_pool = LanePool::all_in_use();
        let idle = CHECKS_PER_ATTEMPT as u32 - 1;
        let exited = idle + 1..50;
        for dead in exited.clone() {
            let claimed = lane_pool.claim(1000 + dead, 0, exited.clone());
            assert_eq!(claimed, (Some(dead as usize - 1), CHECKS_PER_ATTEMPT));
        }
        assert_eq!(
            lane_pool.claim(2000, 0, exited).0,
            None,
            "all other threads live"
        );
    }

    // LT-12, LT-14
    #[test]
    fn free_lanes_are_found_behind_many_idle_threads() {
        let lane_pool = LanePool::all_in_use();
        give_back(&lane_pool.lanes[77]);
        let given_back = lane_pool.claim(1000, 0, 50..51);
        assert_eq!(given_back, (Some(77), CHECKS_PER_ATTEMPT));
        let (exited, checks) = lane_pool.claim(1001, 0, 50..51);
        assert_eq!(exited, Some(49));
        assert!(checks <= 2 * CHECKS_PER_ATTEMPT + 100);
    }

    // LT-14
    #[test]
    fn next_oldest_lane_is_taken_after_a_lost_race() {
        let lane_pool = LanePool::all_in_use();
        let found = request(1000, |thread| {
            if thread == 1 {
                lane_pool.lanes[0].thread.store(2000, Ordering::Relaxed);
            }
            true
        })
        .claim_oldest(lane_pool.pool(), |number| number as u64);
        assert_eq!(found, Some(1));
    }

    // LT-12, LT-14
    #[test]
    fn short_lived_threads_make_a_single_check_each() {
        let lane_pool = LanePool::all_in_use();
        for thread in 101..=10_000 {
            let longest_dead = (thread as usize - 1) % 100;
            let claimed = lane_pool.claim(thread, 0, 0..thread - 7);
            assert_eq!(claimed, (Some(longest_dead), 1), "eight live at a time");
        }
    }
}

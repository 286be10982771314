//! Which thread has which lane.
//!
//! A thread asks of a few lanes that were taken before whether one is free, because those in use cost
//! the recorder looks and memory; then it takes the first one that nobody had. To ask whether a
//! thread is gone takes a system call, so it never asks of all: where many threads live, those that
//! come one after the other ask of different lanes, and together find what is free.

use crate::layout::Lane;
use crate::sync::Ordering;

/// In the word of the thread: it had one, and has given it back.
pub(crate) const GIVEN_BACK: u32 = u32::MAX;

/// Of how many lanes that are in use a thread asks first.
const ASKED_AT_MOST: usize = 16;

/// Of how many more where nobody has had none.
const ASKED_AT_LAST: usize = 128;

/// All lanes of a memory, by number: the long ones, then the short ones. None is taken before those
/// in front of it have been.
#[derive(Clone, Copy, Debug)]
pub struct Pool<'m> {
    /// With room for much.
    pub long: &'m [Lane],
    /// With room for less.
    pub short: &'m [Lane],
}

/// A thread without a lane, and what it knows.
#[derive(Clone, Copy, Debug)]
pub struct Claimant<G, I> {
    /// Its kernel id.
    pub thread: u32,
    /// How often it has looked for one.
    pub looks: u32,
    /// Is that thread of this process gone?
    pub is_gone: G,
    /// Says in the lane with this number whose it is now, if there is room for that.
    pub introduce: I,
}

impl<'m> Pool<'m> {
    /// How many there are.
    pub fn count(&self) -> usize {
        self.long.len().saturating_add(self.short.len())
    }

    /// The lane with this number.
    pub fn get(&self, number: usize) -> Option<&'m Lane> {
        let short = || self.short.get(number.checked_sub(self.long.len())?);
        self.long.get(number).or_else(short)
    }

    /// How many were ever taken, found in as many steps as that number has bits.
    fn used(&self) -> usize {
        let of = |lanes: &[Lane]| lanes.partition_point(is_used);
        match of(self.long) {
            long if long < self.long.len() => long,
            long => long.saturating_add(of(self.short)),
        }
    }
}

impl<G: Fn(u32) -> bool, I: Fn(usize) -> bool> Claimant<G, I> {
    /// Takes a lane: of some that were taken before one that is free, else the first that nobody had.
    /// Only at its first look it also asks of many more.
    pub fn claim(&self, pool: Pool<'_>) -> Option<usize> {
        let used = pool.used();
        let first = self.turn(used);
        let some = window(used, first, ASKED_AT_MOST);
        let is_fresh = |number: &usize| pool.get(*number).is_some_and(|lane| !is_used(lane));
        let fresh = (used..pool.count()).filter(is_fresh);
        let more = match self.looks {
            0 => window(used, first.saturating_add(ASKED_AT_MOST), ASKED_AT_LAST),
            _ => window(0, 0, 0),
        };
        some.chain(fresh)
            .chain(more)
            .find(|number| self.has_taken(pool, *number))
    }

    /// The same where lanes are written over and the old ones are worth keeping: a long one that
    /// nobody had, else of those whose thread is gone the one whose `latest` record is the oldest.
    pub fn claim_oldest(&self, pool: Pool<'_>, latest: impl Fn(usize) -> u64) -> Option<usize> {
        let all = || pool.long.iter().enumerate();
        let mine = |number: &usize| self.has_taken(pool, *number);
        let is_free = |(_, lane): &(usize, &Lane)| self.free_of(lane).is_some();
        let fresh = all().filter(|(_, lane)| !is_used(lane));
        let oldest = || {
            let free = all().filter(is_free).map(|(number, _)| number);
            free.min_by_key(|number| latest(*number))
        };
        let fresh = fresh.map(|(number, _)| number).find(mine);
        // Another thread may be quicker; then that lane is no more free.
        let found = fresh.or_else(|| all().find_map(|_| oldest().filter(mine)));
        found.or_else(|| self.claim(pool))
    }

    /// Where it begins to ask: at the first lane while they are few.
    fn turn(&self, used: usize) -> usize {
        let turn = self.thread.wrapping_add(self.looks) as usize;
        match used <= ASKED_AT_MOST {
            true => 0,
            false => turn.wrapping_mul(ASKED_AT_MOST) % used,
        }
    }

    /// Exactly one of those who want a lane gets it.
    fn has_taken(&self, pool: Pool<'_>, number: usize) -> bool {
        let take = |lane: &Lane| {
            let holder = self.free_of(lane)?;
            let (taken, not) = (Ordering::AcqRel, Ordering::Relaxed);
            let word = &lane.thread;
            word.compare_exchange(holder, self.thread, taken, not).ok()
        };
        pool.get(number).and_then(take).is_some() && (self.introduce)(number)
    }

    /// The holder that a lane has had until now, if it is free for this thread.
    fn free_of(&self, lane: &Lane) -> Option<u32> {
        let holder = lane.thread.load(Ordering::Relaxed);
        let is_free = [0, self.thread, GIVEN_BACK].contains(&holder) || (self.is_gone)(holder);
        is_free.then_some(holder)
    }
}

/// The thread, which writes no more into it.
pub fn give_back(lane: &Lane) {
    lane.thread.store(GIVEN_BACK, Ordering::Release); // pairs with the exchange of `has_taken`
}

fn is_used(lane: &Lane) -> bool {
    lane.thread.load(Ordering::Relaxed) != 0
}

/// So many numbers below `used`, from `first` on and round, none of them twice.
fn window(used: usize, first: usize, count: usize) -> impl Iterator<Item = usize> {
    let numbers = first..first.saturating_add(count.min(used));
    numbers.map(move |number| number.checked_rem(used).unwrap_or(0))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const LATEST: [u64; 4] = [40, 10, 30, 20];

    fn claim_of(lanes: &[Lane], thread: u32, gone: &[u32]) -> Option<usize> {
        let pool = Pool {
            long: &lanes[..4],
            short: &lanes[4..],
        };
        let claimant = Claimant {
            thread,
            looks: 0,
            is_gone: |thread| gone.contains(&thread),
            introduce: |_| true,
        };
        claimant.claim_oldest(pool, |index| LATEST[index])
    }

    // LT-14
    #[test]
    fn of_threads_that_are_gone_the_longest_dead_gives_up_its_lane_first() {
        let lanes: [Lane; 4] = Default::default();
        for thread in 1..=4 {
            let index = claim_of(&lanes, thread, &[1, 2, 3, 4]);
            assert_eq!(
                index,
                Some(thread as usize - 1),
                "first those that nobody had"
            );
        }
        assert_eq!(claim_of(&lanes, 5, &[]), None);
        give_back(&lanes[2]);
        assert_eq!(claim_of(&lanes, 6, &[1, 4]), Some(3));
        assert_eq!(claim_of(&lanes, 7, &[1, 4]), Some(2));
        assert_eq!(claim_of(&lanes, 8, &[1, 4]), Some(0));
        assert_eq!(claim_of(&lanes, 9, &[1, 4]), None, "one is alive");
    }

    // LT-12, LT-14
    #[test]
    fn where_all_long_lanes_are_of_living_threads_short_ones_are_taken() {
        let lanes: [Lane; 6] = Default::default();
        for thread in 1..=6 {
            let index = claim_of(&lanes, thread, &[]);
            assert_eq!(index, Some(thread as usize - 1));
        }
        assert_eq!(claim_of(&lanes, 7, &[]), None);
        assert_eq!(claim_of(&lanes, 7, &[6]), Some(5));
    }

    /// Of a hundred lanes, all of which threads have; gives how often it asked.
    fn look_of(thread: u32, looks: u32, gone: &[u32]) -> (Option<usize>, usize) {
        let lanes: [Lane; 100] = core::array::from_fn(|_| Lane::default());
        let numbers = lanes.iter().zip(1..);
        numbers.for_each(|(lane, number)| lane.thread.store(number, Ordering::Relaxed));
        let asked = core::cell::Cell::new(0);
        let pool = Pool {
            long: &lanes[..10],
            short: &lanes[10..],
        };
        let claimant = Claimant {
            thread,
            looks,
            is_gone: |thread| {
                asked.set(asked.get() + 1);
                gone.contains(&thread)
            },
            introduce: |_| true,
        };
        (claimant.claim(pool), asked.get())
    }

    // LT-12
    #[test]
    fn a_thread_asks_of_few_lanes_at_each_look_and_in_the_end_of_all() {
        assert_eq!(look_of(1000, 0, &[]), (None, ASKED_AT_MOST + 100));
        assert_eq!(look_of(1000, 0, &[77]).0, Some(76));
        assert_eq!(look_of(1000, 1, &[]), (None, ASKED_AT_MOST));
        let looks = 1..100_u32.div_ceil(ASKED_AT_MOST as u32) * 4;
        let mut found = looks.map(|look| look_of(1000, look, &[77]).0);
        assert!(found.any(|number| number == Some(76)));
    }
}

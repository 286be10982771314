//! Which thread has which lane.

use crate::layout::Lane;
use crate::sync::Ordering;

/// In the word of the thread: it had one, and has given it back.
pub(crate) const GIVEN_BACK: u32 = u32::MAX;

/// How many lanes that are in use are asked for while there are others that nobody has had: to
/// ask whether a thread is gone takes a system call.
const ASKED_AT_MOST: usize = 16;

/// A thread without a lane takes one: that of a thread that is gone, else one that nobody had.
/// `is_gone` tells of a thread of this process; `introduce` says in the lane whose it is now, if
/// there is room for that.
pub fn claim(
    lanes: &[Lane],
    thread: u32,
    is_gone: impl Fn(u32) -> bool,
    introduce: impl Fn(usize) -> bool,
) -> Option<usize> {
    let is_used = |(_, lane): &(usize, &Lane)| lane.thread.load(Ordering::Relaxed) != 0;
    let all = || lanes.iter().enumerate();
    let asked_at_once = all().take(ASKED_AT_MOST).filter(is_used);
    let fresh = all().filter(|lane| !is_used(lane));
    let asked_at_last = all().skip(ASKED_AT_MOST).filter(is_used);
    asked_at_once
        .chain(fresh)
        .chain(asked_at_last)
        .find(|(index, lane)| take(lane, thread, &is_gone) && introduce(*index))
        .map(|(index, _)| index)
}

/// The same where lanes are written over and the old ones are worth keeping: a lane that nobody
/// had, else of those whose thread is gone the one whose `latest` record is the oldest.
pub fn claim_oldest(
    lanes: &[Lane],
    thread: u32,
    is_gone: impl Fn(u32) -> bool,
    latest: impl Fn(usize) -> u64,
    introduce: impl Fn(usize) -> bool,
) -> Option<usize> {
    let all = || lanes.iter().enumerate();
    let is_fresh = |(_, lane): &(usize, &Lane)| lane.thread.load(Ordering::Relaxed) == 0;
    let is_free = |(_, lane): &(usize, &Lane)| free_of(lane, thread, &is_gone).is_some();
    let mine = |(index, lane): &(usize, &Lane)| take(lane, thread, &is_gone) && introduce(*index);
    let fresh = all().filter(is_fresh).find(mine);
    let oldest = || {
        all()
            .filter(is_free)
            .min_by_key(|(index, _)| latest(*index))
    };
    // Another thread may be quicker; then that lane is no more free.
    let found = fresh.or_else(|| all().find_map(|_| oldest().filter(mine)));
    found.map(|(index, _)| index)
}

/// The thread, which writes no more into it.
pub fn give_back(lane: &Lane) {
    lane.thread.store(GIVEN_BACK, Ordering::Release); // pairs with the exchange of `take`
}

/// The holder that a lane has had until now, if it is free for this thread.
fn free_of(lane: &Lane, thread: u32, is_gone: &impl Fn(u32) -> bool) -> Option<u32> {
    let holder = lane.thread.load(Ordering::Relaxed);
    let is_free = [0, thread, GIVEN_BACK].contains(&holder) || is_gone(holder);
    is_free.then_some(holder)
}

/// Exactly one of those who want it gets it.
fn take(lane: &Lane, thread: u32, is_gone: &impl Fn(u32) -> bool) -> bool {
    free_of(lane, thread, is_gone).is_some_and(|holder| {
        lane.thread
            .compare_exchange(holder, thread, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok()
    })
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const LATEST: [u64; 4] = [40, 10, 30, 20];

    fn claim_of(lanes: &[Lane], thread: u32, gone: &[u32]) -> Option<usize> {
        let is_gone = |thread| gone.contains(&thread);
        claim_oldest(lanes, thread, is_gone, |index| LATEST[index], |_| true)
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
}

//! Counting wakers: who finds none left finds what the last one did.

use ctp_nostd::holders::{Holders, Left};
use ctp_nostd::{live, wake};
use loom::sync::Arc;
use loom::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use loom::sync::atomic::{AtomicBool, AtomicU32};
use loom::thread;

use crate::check;

const GENERATION: u32 = 2;

struct Station {
    wake: AtomicU32,
    wakers: AtomicU32,
    /// Means nothing: where each thread may have to wait for the others. Loom forgets a load that
    /// came before the load of a compare-and-swap loop, and takes the loop for undisturbed.
    turn: AtomicU32,
}

impl Station {
    fn new() -> Arc<Self> {
        Arc::new(Station {
            wake: AtomicU32::new(wake::word(GENERATION)),
            wakers: AtomicU32::new(wake::word(GENERATION)),
            turn: AtomicU32::new(0),
        })
    }

    fn take_turn(&self) {
        self.turn.swap(1, Relaxed);
    }

    fn wake_and_drop(&self) {
        assert!(wake::advance(&self.wake, GENERATION).is_some()); // L1
        self.take_turn();
        live::subtract(&self.wakers, GENERATION); // L3
    }

    fn drop_and_wake(&self) {
        live::subtract(&self.wakers, GENERATION);
        self.take_turn();
        assert!(wake::advance(&self.wake, GENERATION).is_some());
    }
}

/// A poll has left its only waker to a thread, which clones it and drops the clone, then wakes and
/// drops it. The recorder looks meanwhile.
fn none_is_left_only_after_the_wake(wake: fn(&Station)) {
    check(move || {
        let station = Station::new();
        live::add(&station.wakers, GENERATION);
        let waking = Arc::clone(&station);
        let waker = thread::spawn(move || {
            live::add(&waking.wakers, GENERATION);
            waking.take_turn();
            live::subtract(&waking.wakers, GENERATION);
            wake(&waking);
            waking.take_turn();
        });
        station.take_turn();
        let wakers = live::count(&station.wakers, GENERATION); // R1
        let wakes = wake::count(station.wake.load(Acquire)); // R2
        assert!(wakers != Some(0) || wakes == 1, "nobody could wake it");
        waker.join().expect("it does not panic");
        assert_eq!(live::count(&station.wakers, GENERATION), Some(0));
    });
}

// CT-15
#[test]
fn a_coroutine_without_wakers_was_woken_or_never_will_be() {
    none_is_left_only_after_the_wake(Station::wake_and_drop);
}

#[test]
#[should_panic = "nobody could wake it"]
fn without_the_wake_first_it_looks_abandoned() {
    none_is_left_only_after_the_wake(Station::drop_and_wake);
}

/// What a future's wakers share, and the count in the station.
struct Future {
    station: Arc<Station>,
    holders: Holders,
    /// Its poll has ended with a suspend.
    is_suspended: AtomicBool,
    /// Dropped clones, where that is counted wrongly.
    dropped: AtomicU32,
}

impl Future {
    /// One that somebody has so many clones of.
    fn with_clones(clones: usize) -> Arc<Self> {
        let future = Arc::new(Future {
            station: Station::new(),
            holders: Holders::new(),
            is_suspended: AtomicBool::new(false),
            dropped: AtomicU32::new(0),
        });
        (0..clones).for_each(|_| future.clone_one());
        future
    }

    fn clone_one(&self) {
        if self.holders.add() {
            live::add(&self.station.wakers, GENERATION); // H2
        }
    }

    fn drop_one(&self) {
        let are_left = self.holders.subtract_from_several();
        if !are_left && self.holders.subtract() != Left::Clones {
            live::subtract(&self.station.wakers, GENERATION); // H4
        }
    }

    fn wakers(&self) -> Option<u32> {
        live::count(&self.station.wakers, GENERATION)
    }
}

/// One thread wakes and drops its clone, another one drops the other, and the recorder looks.
fn the_last_one_tells_what_all_did(drop_one: fn(&Future)) {
    check(move || {
        let future = Future::with_clones(2);
        let threads = [true, false].map(|wakes| {
            let its = Arc::clone(&future);
            thread::spawn(move || {
                if wakes {
                    assert!(wake::advance(&its.station.wake, GENERATION).is_some());
                }
                its.station.take_turn();
                drop_one(&its);
            })
        });
        future.station.take_turn();
        let wakers = future.wakers(); // R1
        let wakes = wake::count(future.station.wake.load(Acquire)); // R2
        assert!(wakers != Some(0) || wakes == 1, "nobody could wake it");
        for thread in threads {
            thread.join().expect("it does not panic");
        }
        assert_eq!(
            (future.wakers(), future.holders.let_go()),
            (Some(0), Left::Nobody)
        );
    });
}

// CT-15
#[test]
fn who_drops_the_last_clone_tells_of_the_wakes_of_all() {
    the_last_one_tells_what_all_did(Future::drop_one);
}

#[test]
#[should_panic = "nobody could wake it"]
fn without_order_among_those_who_drop_it_looks_abandoned() {
    the_last_one_tells_what_all_did(|future| {
        // H3 as if it were relaxed: which is the last one is told by a word that brings nothing.
        if future.dropped.fetch_add(1, Relaxed) == 1 {
            live::subtract(&future.station.wakers, GENERATION);
        }
        future.holders.subtract();
    });
}

/// The last clone is dropped while a poll takes a new one and suspends.
fn a_poll_that_takes_one_has_one(clone_one: fn(&Future)) {
    check(move || {
        let future = Future::with_clones(1);
        let dropping = Arc::clone(&future);
        let waker = thread::spawn(move || dropping.drop_one());
        let polling = Arc::clone(&future);
        let poll = thread::spawn(move || {
            clone_one(&polling);
            polling.station.take_turn();
            polling.is_suspended.store(true, Release);
        });
        future.station.take_turn();
        let is_suspended = future.is_suspended.load(Acquire);
        assert!(!is_suspended || future.wakers() != Some(0), "it has one");
        waker.join().expect("it does not panic");
        poll.join().expect("it does not panic");
        assert_eq!(future.wakers(), Some(1), "it has one");
    });
}

// CT-15
#[test]
fn a_suspended_coroutine_that_has_given_a_waker_is_never_without() {
    a_poll_that_takes_one_has_one(Future::clone_one);
}

#[test]
#[should_panic = "it has one"]
fn without_a_count_of_each_first_clone_it_looks_abandoned() {
    a_poll_that_takes_one_has_one(|future| {
        if future.holders.add() && future.wakers() == Some(0) {
            live::add(&future.station.wakers, GENERATION);
        }
    });
}

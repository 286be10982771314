//! Counting wakers: a reader that finds none left also finds what the last waker did.

use ctp_nostd::{live_wakers, wake};
use loom::sync::Arc;
use loom::sync::atomic::AtomicU32;
use loom::sync::atomic::Ordering::{Acquire, Relaxed};
use loom::thread;

use crate::check;

pub const GENERATION: u32 = 2;

pub struct Station {
    pub wake: AtomicU32,
    pub wakers: AtomicU32,
    /// Has no meaning in the protocol. Marks where each thread may have to wait for the others,
    /// because loom forgets a load that came before the load of a compare-and-swap loop, and takes
    /// the loop for undisturbed.
    turn: AtomicU32,
}

impl Station {
    pub fn new() -> Arc<Self> {
        Arc::new(Station {
            wake: AtomicU32::new(wake::word(GENERATION)),
            wakers: AtomicU32::new(wake::word(GENERATION)),
            turn: AtomicU32::new(0),
        })
    }

    pub fn take_turn(&self) {
        self.turn.swap(1, Relaxed);
    }

    /// The recorder's check, where there is at most one wake.
    pub fn check(&self) {
        self.take_turn();
        let wakers = live_wakers::count(&self.wakers, GENERATION); // J1
        let wakes = wake::count(self.wake.load(Acquire)); // J2
        assert!(wakers != Some(0) || wakes == 1, "no waker and no wake");
    }

    pub fn wake(&self) {
        assert!(wake::advance(&self.wake, GENERATION).is_some()); // L1
        self.take_turn();
    }

    fn wake_and_drop(&self) {
        self.wake();
        live_wakers::subtract(&self.wakers, GENERATION); // L3
    }

    fn drop_and_wake(&self) {
        live_wakers::subtract(&self.wakers, GENERATION);
        self.take_turn();
        self.wake();
    }
}

/// A poll has left its only waker to a thread. The thread clones it and drops the clone, then wakes
/// and drops it, while the recorder checks.
fn no_waker_is_left_only_after_the_wake(wake: fn(&Station)) {
    check(move || {
        let station = Station::new();
        live_wakers::add(&station.wakers, GENERATION);
        let waking = Arc::clone(&station);
        let waker = thread::spawn(move || {
            live_wakers::add(&waking.wakers, GENERATION);
            waking.take_turn();
            live_wakers::subtract(&waking.wakers, GENERATION);
            wake(&waking);
            waking.take_turn();
        });
        station.check();
        waker.join().expect("the thread does not panic");
        assert_eq!(live_wakers::count(&station.wakers, GENERATION), Some(0));
    });
}

// CT-15
#[test]
fn coroutine_without_wakers_was_woken_or_is_stuck() {
    no_waker_is_left_only_after_the_wake(Station::wake_and_drop);
}

#[test]
#[should_panic = "no waker and no wake"]
fn without_the_wake_first_a_coroutine_looks_abandoned() {
    no_waker_is_left_only_after_the_wake(Station::drop_and_wake);
}

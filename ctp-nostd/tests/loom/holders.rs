//! Counting the clones of a future's waker. A reader that finds none left finds what the last clone
//! did, and a future that waits with a clone is counted with one.

use ctp_nostd::holders::{FollowUp, Holders};
use ctp_nostd::live_wakers;
use loom::sync::Arc;
use loom::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use loom::sync::atomic::{AtomicBool, AtomicU32};
use loom::thread;

use crate::check;
use crate::live_wakers::{GENERATION, Station};

/// The data that a future's wakers share, and the count in the station.
pub struct Future {
    pub station: Arc<Station>,
    pub holders: Holders,
    /// The future should be polled.
    is_queued: AtomicBool,
    /// The latest poll has ended with a suspend.
    is_suspended: AtomicBool,
    /// Dropped clones, in the models with a wrong count.
    dropped: AtomicU32,
    /// How often the data was freed.
    freed: AtomicU32,
}

impl Future {
    /// A future with this many clones.
    pub fn with_clones(clones: usize) -> Arc<Self> {
        let future = Arc::new(Future {
            station: Station::new(),
            holders: Holders::new(),
            is_queued: AtomicBool::new(false),
            is_suspended: AtomicBool::new(false),
            dropped: AtomicU32::new(0),
            freed: AtomicU32::new(0),
        });
        (0..clones).for_each(|_| future.add_clone());
        future
    }

    pub fn add_clone(&self) {
        if self.holders.add() {
            live_wakers::add(&self.station.wakers, GENERATION); // H2
            self.holders.set_counted(); // H3
        }
    }

    pub fn drop_clone(&self) {
        if !self.holders.subtract_if_others() {
            self.do_follow_up(self.holders.subtract());
        }
    }

    fn wake_and_drop_clone(&self) {
        self.station.wake();
        self.drop_clone();
    }

    /// The wake itself uses up the clone, and queues the future for a poll.
    pub fn wake_by_clone(&self) {
        self.station.wake(); // L1
        let is_only_clone = self.holders.begin_wake(); // H8
        self.is_queued.swap(true, AcqRel); // L2
        self.station.take_turn();
        if is_only_clone {
            self.do_follow_up(self.holders.end_wake()) // H9
        } else {
            self.drop_clone()
        }
    }

    /// The same in the order of a wake by reference, and a drop that leaves the last clone counted.
    fn wake_and_drop_as_woken(&self) {
        self.station.wake();
        self.is_queued.swap(true, AcqRel);
        self.station.take_turn();
        assert!(self.holders.begin_wake());
        self.do_follow_up(self.holders.end_wake());
    }

    /// If such a wake has queued the future: a poll that takes no clone.
    pub fn poll_if_woken(&self) {
        if self.is_woken() {
            self.end_poll();
        }
    }

    /// True if the future was queued; the caller polls it.
    pub fn is_woken(&self) -> bool {
        self.is_queued.swap(false, AcqRel)
    }

    pub fn is_freed_once(&self) -> bool {
        self.freed.load(Acquire) == 1
    }

    /// After all clones are gone: no clone is counted, and the future is dropped.
    pub fn is_over(&self) {
        self.poll_if_woken();
        assert_eq!(self.wakers(), Some(0), "a waker is still counted");
        self.release();
        assert!(self.is_freed_once());
    }

    pub fn release(&self) {
        self.do_follow_up(self.holders.release());
    }

    fn do_follow_up(&self, follow_up: FollowUp) {
        if follow_up.uncount {
            live_wakers::subtract(&self.station.wakers, GENERATION); // H5, H7
        }
        if follow_up.free {
            self.freed.fetch_add(1, Relaxed);
        }
    }

    pub fn end_poll(&self) {
        self.do_follow_up(self.holders.end_poll().0); // H6
        self.suspend();
    }

    pub fn suspend(&self) {
        self.station.take_turn();
        self.is_suspended.store(true, Release);
    }

    pub fn wakers(&self) -> Option<u32> {
        live_wakers::count(&self.station.wakers, GENERATION)
    }
}

/// Runs two threads, while the recorder runs the third function.
fn run(future: &Arc<Future>, threads: [fn(&Future); 2], recorder: impl Fn(&Future)) {
    let threads = threads.map(|does| {
        let shared = Arc::clone(future);
        thread::spawn(move || {
            shared.station.take_turn();
            does(&shared);
        })
    });
    recorder(future);
    for thread in threads {
        thread.join().expect("the thread does not panic");
    }
}

/// One thread wakes and drops its clone, another thread drops the other clone, and the recorder
/// checks.
fn last_drop_orders_all_wakes(threads: [fn(&Future); 2]) {
    check(move || {
        let future = Future::with_clones(2);
        run(&future, threads, |future| future.station.check());
        assert_eq!(future.wakers(), Some(0));
        assert!(future.holders.release().free);
    });
}

// CT-15
#[test]
fn last_drop_publishes_the_wakes_of_all_clones() {
    last_drop_orders_all_wakes([Future::wake_and_drop_clone, Future::drop_clone]);
}

// CT-15
#[test]
fn used_clone_publishes_the_wake() {
    check(|| {
        let future = Future::with_clones(2);
        let threads = [Future::wake_by_clone, Future::drop_clone];
        run(&future, threads, |future| future.station.check());
        future.end_poll();
        assert_eq!(future.wakers(), Some(0));
        assert!(future.holders.release().free);
    });
}

#[test]
#[should_panic = "no waker and no wake"]
fn without_order_among_drops_a_future_looks_abandoned() {
    // H4 as if it were relaxed: the word that identifies the last clone orders nothing.
    fn drop_clone(future: &Future) {
        if future.dropped.fetch_add(1, Relaxed) == 1 {
            live_wakers::subtract(&future.station.wakers, GENERATION);
        }
        future.holders.subtract();
    }
    fn wake_and_drop_clone(future: &Future) {
        future.station.wake();
        drop_clone(future);
    }
    last_drop_orders_all_wakes([wake_and_drop_clone, drop_clone]);
}

/// A wake uses up the only clone while a poll ends that takes none, and the recorder checks.
fn poll_without_a_clone_sees_the_wake(wake: fn(&Future), end_poll: fn(&Future)) {
    check(move || {
        let future = Future::with_clones(1);
        let threads = [wake, end_poll];
        run(&future, threads, |future| future.station.check());
        end_poll(&future);
        assert_eq!(future.wakers(), Some(0), "a waker is still counted");
    });
}

// CT-15
#[test]
fn future_without_waker_was_woken_by_the_last() {
    poll_without_a_clone_sees_the_wake(Future::wake_by_clone, Future::end_poll);
}

#[test]
#[should_panic = "no waker and no wake"]
fn without_order_at_the_poll_end_a_future_looks_abandoned() {
    // H8 as if it were relaxed: the word that says that the clone is used up orders nothing.
    fn wake_by_clone(future: &Future) {
        future.station.wake();
        future.dropped.swap(1, Relaxed);
    }
    fn end_poll(future: &Future) {
        if future.dropped.swap(0, Relaxed) == 1 {
            live_wakers::subtract(&future.station.wakers, GENERATION);
        }
        future.suspend();
    }
    poll_without_a_clone_sees_the_wake(wake_by_clone, end_poll);
}

#[test]
#[should_panic = "a waker is still counted"]
fn without_the_check_at_the_poll_end_a_waker_is_counted() {
    poll_without_a_clone_sees_the_wake(Future::wake_by_clone, Future::suspend);
}

/// A wake that uses up the only clone causes a poll that takes none and suspends. If the count was
/// not settled by then, another poll follows.
fn polled_future_without_clone_has_no_waker(wake: fn(&Future)) {
    check(move || {
        let future = Future::with_clones(1);
        run(&future, [wake, Future::poll_if_woken], |_| {});
        if !future.is_suspended.load(Acquire) {
            future.end_poll();
        }
        assert_eq!(future.wakers(), Some(0), "a waker is still counted");
    });
}

// CT-15
#[test]
fn woken_future_without_clone_has_no_waker() {
    polled_future_without_clone_has_no_waker(Future::wake_by_clone);
}

#[test]
#[should_panic = "a waker is still counted"]
fn without_the_early_claim_a_waker_is_counted() {
    polled_future_without_clone_has_no_waker(Future::wake_and_drop_as_woken);
}

/// The last clone goes while a poll takes a new clone and suspends.
fn poll_with_a_clone_has_a_waker(goes: fn(&Future), poll: fn(&Future)) {
    check(move || {
        let future = Future::with_clones(1);
        run(&future, [goes, poll], |future| {
            future.station.take_turn();
            let is_suspended = future.is_suspended.load(Acquire);
            assert!(
                !is_suspended || future.wakers() != Some(0),
                "a waker exists"
            );
        });
        assert_eq!(future.wakers(), Some(1), "a waker exists");
    });
}

fn poll_and_clone(future: &Future) {
    future.add_clone();
    future.end_poll();
}

// CT-15
#[test]
fn suspended_future_with_a_clone_has_a_waker() {
    poll_with_a_clone_has_a_waker(Future::drop_clone, poll_and_clone);
    poll_with_a_clone_has_a_waker(Future::wake_by_clone, poll_and_clone);
}

#[test]
#[should_panic = "a waker exists"]
fn without_counting_first_clones_a_future_looks_abandoned() {
    poll_with_a_clone_has_a_waker(Future::drop_clone, |future| {
        if future.holders.add() && future.wakers() == Some(0) {
            live_wakers::add(&future.station.wakers, GENERATION);
        }
        future.suspend();
    });
}

/// The only clone wakes. The resulting poll takes another clone, which goes while the wake may
/// still be in progress.
fn next_clone_was_the_last(poll: fn(&Future)) {
    check(move || {
        let future = Future::with_clones(1);
        run(&future, [Future::wake_by_clone, poll], |_| {});
        if !future.is_suspended.load(Acquire) {
            future.end_poll();
        }
        assert_eq!(future.wakers(), Some(0), "a waker is still counted");
        assert!(future.holders.release().free);
    });
}

/// If the future was woken: polls it, and lets the new clone do this.
fn poll_and_clone_then(goes: fn(&Future), future: &Future) {
    if future.is_woken() {
        poll_and_clone(future);
        assert_eq!(future.wakers(), Some(1), "a waker exists");
        goes(future);
    }
}

// CT-15
#[test]
fn clone_dropped_during_the_previous_wake_was_the_last() {
    next_clone_was_the_last(|future| poll_and_clone_then(Future::drop_clone, future));
}

// CT-15
#[test]
fn clone_that_wakes_during_another_wake_was_the_last() {
    fn wakes(future: &Future) {
        future.wake_by_clone();
        future.end_poll();
    }
    next_clone_was_the_last(|future| poll_and_clone_then(wakes, future));
}

#[test]
fn last_holder_frees_and_leaves_nothing_counted() {
    for goes in [Future::drop_clone, Future::wake_by_clone] {
        check(move || {
            let future = Future::with_clones(1);
            run(&future, [goes, Future::release], |_| {});
            assert_eq!(future.freed.load(Acquire), 1);
            assert_eq!(future.wakers(), Some(0));
        });
    }
}

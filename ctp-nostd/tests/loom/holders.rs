//! Counting the clones of a future's waker: who finds none left finds what the last one did, and
//! who waits with one has one.

use ctp_nostd::holders::{FollowUp, Holders};
use ctp_nostd::live;
use loom::sync::Arc;
use loom::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use loom::sync::atomic::{AtomicBool, AtomicU32};
use loom::thread;

use crate::check;
use crate::live::{GENERATION, Station};

/// What a future's wakers share, and the count in the station.
pub struct Future {
    pub station: Arc<Station>,
    pub holders: Holders,
    /// It is to be polled.
    is_queued: AtomicBool,
    /// Its poll has ended with a suspend.
    is_suspended: AtomicBool,
    /// Dropped clones, where that is counted wrongly.
    dropped: AtomicU32,
    /// Those who found that nobody is left.
    freed: AtomicU32,
}

impl Future {
    /// One that somebody has so many clones of.
    pub fn with_clones(clones: usize) -> Arc<Self> {
        let future = Arc::new(Future {
            station: Station::new(),
            holders: Holders::new(),
            is_queued: AtomicBool::new(false),
            is_suspended: AtomicBool::new(false),
            dropped: AtomicU32::new(0),
            freed: AtomicU32::new(0),
        });
        (0..clones).for_each(|_| future.clone_one());
        future
    }

    pub fn clone_one(&self) {
        if self.holders.add() {
            live::add(&self.station.wakers, GENERATION); // H2
            self.holders.set_counted(); // H3
        }
    }

    pub fn drop_one(&self) {
        if !self.holders.subtract_if_others() {
            self.do_follow_up(self.holders.subtract());
        }
    }

    fn wake_and_drop_one(&self) {
        self.station.wake();
        self.drop_one();
    }

    /// The wake itself uses it up, and has it polled.
    pub fn wake_by_one(&self) {
        self.station.wake(); // L1
        let is_only_one = self.holders.begin_wake(); // H8
        self.is_queued.swap(true, AcqRel); // L2
        self.station.take_turn();
        match is_only_one {
            true => self.do_follow_up(self.holders.end_wake()), // H9
            false => self.drop_one(),
        }
    }

    /// The same in the order of a wake by reference, and a drop that leaves the last one counted.
    fn wake_and_drop_as_woken(&self) {
        self.station.wake();
        self.is_queued.swap(true, AcqRel);
        self.station.take_turn();
        assert!(self.holders.begin_wake());
        self.do_follow_up(self.holders.end_wake());
    }

    /// The poll that such a wake leads to, if it came to that, takes none.
    pub fn poll_if_woken(&self) {
        if self.is_woken() {
            self.end_poll();
        }
    }

    /// It is to be polled, by who asks.
    pub fn is_woken(&self) -> bool {
        self.is_queued.swap(false, AcqRel)
    }

    pub fn is_freed_once(&self) -> bool {
        self.freed.load(Acquire) == 1
    }

    /// All who had one are through: nobody is counted, and it goes.
    pub fn is_over(&self) {
        self.poll_if_woken();
        assert_eq!(self.wakers(), Some(0), "it waits without");
        self.release();
        assert!(self.is_freed_once());
    }

    pub fn release(&self) {
        self.do_follow_up(self.holders.release());
    }

    fn do_follow_up(&self, follow_up: FollowUp) {
        if follow_up.uncount {
            live::subtract(&self.station.wakers, GENERATION); // H5, H7
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
        live::count(&self.station.wakers, GENERATION)
    }
}

/// Two threads, while the recorder does what the third function does.
fn run(future: &Arc<Future>, threads: [fn(&Future); 2], recorder: impl Fn(&Future)) {
    let threads = threads.map(|does| {
        let its = Arc::clone(future);
        thread::spawn(move || {
            its.station.take_turn();
            does(&its);
        })
    });
    recorder(future);
    for thread in threads {
        thread.join().expect("it does not panic");
    }
}

/// One thread wakes and drops its clone, another one drops the other, and the recorder attempts.
fn the_last_one_tells_what_all_did(threads: [fn(&Future); 2]) {
    check(move || {
        let future = Future::with_clones(2);
        run(&future, threads, |future| future.station.look());
        assert_eq!(future.wakers(), Some(0));
        assert!(future.holders.release().free);
    });
}

// CT-15
#[test]
fn who_drops_the_last_clone_tells_of_the_wakes_of_all() {
    the_last_one_tells_what_all_did([Future::wake_and_drop_one, Future::drop_one]);
}

// CT-15
#[test]
fn who_uses_up_one_of_two_clones_tells_of_its_wake() {
    check(|| {
        let future = Future::with_clones(2);
        let threads = [Future::wake_by_one, Future::drop_one];
        run(&future, threads, |future| future.station.look());
        future.end_poll();
        assert_eq!(future.wakers(), Some(0));
        assert!(future.holders.release().free);
    });
}

#[test]
#[should_panic = "nobody could wake it"]
fn without_order_among_those_who_drop_it_looks_abandoned() {
    // H4 as if it were relaxed: which is the last one is told by a word that brings nothing.
    fn drop_one(future: &Future) {
        if future.dropped.fetch_add(1, Relaxed) == 1 {
            live::subtract(&future.station.wakers, GENERATION);
        }
        future.holders.subtract();
    }
    fn wake_and_drop_one(future: &Future) {
        future.station.wake();
        drop_one(future);
    }
    the_last_one_tells_what_all_did([wake_and_drop_one, drop_one]);
}

/// The only clone is used up by a wake while a poll ends that takes none, and the recorder attempts.
fn a_poll_that_takes_none_tells_of_the_wake(wake: fn(&Future), end_poll: fn(&Future)) {
    check(move || {
        let future = Future::with_clones(1);
        let threads = [wake, end_poll];
        run(&future, threads, |future| future.station.look());
        end_poll(&future);
        assert_eq!(future.wakers(), Some(0), "it waits without");
    });
}

// CT-15
#[test]
fn who_waits_without_a_waker_has_been_woken_by_the_last_one() {
    a_poll_that_takes_none_tells_of_the_wake(Future::wake_by_one, Future::end_poll);
}

#[test]
#[should_panic = "nobody could wake it"]
fn without_order_at_the_end_of_a_poll_it_looks_abandoned() {
    // H8 as if it were relaxed: that the clone is used up is told by a word that brings nothing.
    fn wake_by_one(future: &Future) {
        future.station.wake();
        future.dropped.swap(1, Relaxed);
    }
    fn end_poll(future: &Future) {
        if future.dropped.swap(0, Relaxed) == 1 {
            live::subtract(&future.station.wakers, GENERATION);
        }
        future.suspend();
    }
    a_poll_that_takes_none_tells_of_the_wake(wake_by_one, end_poll);
}

#[test]
#[should_panic = "it waits without"]
fn without_a_look_at_the_end_of_a_poll_one_that_has_none_seems_to_have_one() {
    a_poll_that_takes_none_tells_of_the_wake(Future::wake_by_one, Future::suspend);
}

/// A wake that uses up the only clone has the future polled, which takes none, and waits. If that was
/// not told apart by then, there is another poll to come.
fn who_was_polled_and_took_none_has_none(wake: fn(&Future)) {
    check(move || {
        let future = Future::with_clones(1);
        run(&future, [wake, Future::poll_if_woken], |_| {});
        if !future.is_suspended.load(Acquire) {
            future.end_poll();
        }
        assert_eq!(future.wakers(), Some(0), "it waits without");
    });
}

// CT-15
#[test]
fn who_was_woken_and_polled_and_waits_without_a_waker_is_known_to() {
    who_was_polled_and_took_none_has_none(Future::wake_by_one);
}

#[test]
#[should_panic = "it waits without"]
fn without_the_clone_used_up_before_the_wake_one_that_has_none_seems_to_have_one() {
    who_was_polled_and_took_none_has_none(Future::wake_and_drop_as_woken);
}

/// The last clone goes while a poll takes a new one and suspends.
fn a_poll_that_takes_one_has_one(goes: fn(&Future), poll: fn(&Future)) {
    check(move || {
        let future = Future::with_clones(1);
        run(&future, [goes, poll], |future| {
            future.station.take_turn();
            let is_suspended = future.is_suspended.load(Acquire);
            assert!(!is_suspended || future.wakers() != Some(0), "it has one");
        });
        assert_eq!(future.wakers(), Some(1), "it has one");
    });
}

fn poll_that_takes_one(future: &Future) {
    future.clone_one();
    future.end_poll();
}

// CT-15
#[test]
fn a_suspended_coroutine_that_has_given_a_waker_is_never_without() {
    a_poll_that_takes_one_has_one(Future::drop_one, poll_that_takes_one);
    a_poll_that_takes_one_has_one(Future::wake_by_one, poll_that_takes_one);
}

#[test]
#[should_panic = "it has one"]
fn without_a_count_of_each_first_clone_it_looks_abandoned() {
    a_poll_that_takes_one_has_one(Future::drop_one, |future| {
        if future.holders.add() && future.wakers() == Some(0) {
            live::add(&future.station.wakers, GENERATION);
        }
        future.suspend();
    });
}

/// The only clone wakes. The poll which that leads to takes another one, which goes while the wake may
/// still go on.
fn the_next_one_was_the_last(poll: fn(&Future)) {
    check(move || {
        let future = Future::with_clones(1);
        run(&future, [Future::wake_by_one, poll], |_| {});
        if !future.is_suspended.load(Acquire) {
            future.end_poll();
        }
        assert_eq!(future.wakers(), Some(0), "it waits without");
        assert!(future.holders.release().free);
    });
}

/// If it was woken, and then the clone does that.
fn poll_that_takes_one_which(goes: fn(&Future), future: &Future) {
    if future.is_woken() {
        poll_that_takes_one(future);
        assert_eq!(future.wakers(), Some(1), "it has one");
        goes(future);
    }
}

// CT-15
#[test]
fn a_clone_that_is_dropped_while_the_one_before_still_wakes_was_the_last() {
    the_next_one_was_the_last(|future| poll_that_takes_one_which(Future::drop_one, future));
}

// CT-15
#[test]
fn a_clone_that_wakes_while_the_one_before_still_does_was_the_last() {
    fn wakes(future: &Future) {
        future.wake_by_one();
        future.end_poll();
    }
    the_next_one_was_the_last(|future| poll_that_takes_one_which(wakes, future));
}

#[test]
fn whoever_goes_last_frees_it_and_leaves_nothing_counted() {
    for goes in [Future::drop_one, Future::wake_by_one] {
        check(move || {
            let future = Future::with_clones(1);
            run(&future, [goes, Future::release], |_| {});
            assert_eq!(future.freed.load(Acquire), 1);
            assert_eq!(future.wakers(), Some(0));
        });
    }
}

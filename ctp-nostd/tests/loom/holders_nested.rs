//! Other clones of a future's waker, while the previously only clone wakes.

use loom::sync::Arc;
use loom::sync::atomic::AtomicU32;
use loom::sync::atomic::Ordering::AcqRel;
use loom::thread::{self, JoinHandle};

use crate::check;
use crate::holders::Future;

fn spawn(future: &Arc<Future>, does: impl FnOnce(&Future) + 'static) -> JoinHandle<()> {
    let shared = Arc::clone(future);
    thread::spawn(move || does(&shared))
}

fn join(threads: [JoinHandle<()>; 2]) {
    for thread in threads {
        thread.join().expect("the thread does not panic");
    }
}

/// The only clone wakes, while a poll takes another clone, which ends on a thread of its own. The
/// wake causes a poll that takes none.
fn new_clone_goes_during_the_wake(goes: fn(&Future), end_poll: fn(&Future)) {
    check(move || {
        let future = Future::with_clones(1);
        let wakes = spawn(&future, Future::wake_by_clone);
        future.add_clone();
        let other = spawn(&future, goes);
        end_poll(&future);
        if future.is_woken() {
            end_poll(&future);
        }
        join([wakes, other]);
        future.is_over();
    });
}

// CT-15
#[test]
fn no_waker_is_counted_after_a_drop_during_the_wake() {
    new_clone_goes_during_the_wake(Future::drop_clone, Future::end_poll);
}

// CT-15
#[test]
fn no_waker_is_counted_after_two_concurrent_wakes() {
    new_clone_goes_during_the_wake(Future::wake_by_clone, Future::end_poll);
}

#[test]
#[should_panic = "a waker is still counted"]
fn without_the_poll_count_a_waker_stays_counted() {
    new_clone_goes_during_the_wake(Future::drop_clone, |future| match future.holders.clones() {
        0 => future.end_poll(),
        _ => future.suspend(),
    });
}

/// The same, and the future is dropped during all that.
#[test]
fn last_holder_frees_the_data_during_a_wake() {
    for goes in [Future::drop_clone, Future::wake_by_clone] {
        check(move || {
            let future = Future::with_clones(1);
            let wakes = spawn(&future, Future::wake_by_clone);
            future.add_clone();
            let other = spawn(&future, goes);
            future.end_poll();
            future.release();
            join([wakes, other]);
            assert!(future.is_freed_once() && future.wakers() == Some(0));
        });
    }
}

/// The same as the first model; a future with an unused clone is never without a waker.
fn unused_clone_is_counted(goes: fn(&Future)) {
    check(move || {
        let future = Future::with_clones(1);
        let wakes = spawn(&future, Future::wake_by_clone);
        future.add_clone();
        future.end_poll();
        let started = Arc::new(AtomicU32::new(0));
        let starting = Arc::clone(&started);
        let other = spawn(&future, move |future| {
            starting.swap(1, AcqRel);
            goes(future);
        });
        future.poll_if_woken();
        let wakers = future.wakers();
        let is_whole = started.fetch_add(0, AcqRel) == 0;
        assert!(!is_whole || wakers != Some(0), "a waker exists");
        join([wakes, other]);
        future.is_over();
    });
}

// CT-15
#[test]
fn unused_clone_is_counted_during_the_wake() {
    unused_clone_is_counted(Future::drop_clone);
    unused_clone_is_counted(Future::wake_by_clone);
    unused_clone_is_counted(|future| {
        future.add_clone();
        future.drop_clone();
        future.wake_by_clone();
    });
}

/// Two threads of one poll take a clone each, during the wake of the previous clone.
fn two_clones_are_taken_at_once(goes: fn(&Future)) {
    check(move || {
        let future = Future::with_clones(1);
        let wakes = spawn(&future, Future::wake_by_clone);
        let other = spawn(&future, Future::add_clone);
        future.add_clone();
        other.join().expect("the thread does not panic");
        future.end_poll();
        assert_ne!(future.wakers(), Some(0), "two wakers exist");
        goes(&future);
        assert_ne!(future.wakers(), Some(0), "a waker exists");
        goes(&future);
        future.poll_if_woken();
        wakes.join().expect("the thread does not panic");
        future.is_over();
    });
}

// CT-15
#[test]
fn two_concurrent_clones_count_as_a_waker() {
    two_clones_are_taken_at_once(Future::drop_clone);
    two_clones_are_taken_at_once(Future::wake_by_clone);
}

//! Other clones of a future's waker, while the only one that there was wakes.

use loom::sync::Arc;
use loom::sync::atomic::AtomicU32;
use loom::sync::atomic::Ordering::AcqRel;
use loom::thread::{self, JoinHandle};

use crate::check;
use crate::holders::Future;

fn beside(future: &Arc<Future>, does: impl FnOnce(&Future) + 'static) -> JoinHandle<()> {
    let its = Arc::clone(future);
    thread::spawn(move || does(&its))
}

fn join(threads: [JoinHandle<()>; 2]) {
    for thread in threads {
        thread.join().expect("it does not panic");
    }
}

/// The only clone wakes, while a poll goes on that takes another one, which goes on a thread of its own.
/// The wake leads to a poll that takes none.
fn another_one_goes(goes: fn(&Future), end_poll: fn(&Future)) {
    check(move || {
        let future = Future::with_clones(1);
        let wakes = beside(&future, Future::wake_by_one);
        future.clone_one();
        let other = beside(&future, goes);
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
fn who_waits_without_is_known_to_though_another_one_was_dropped_amid_the_wake() {
    another_one_goes(Future::drop_one, Future::end_poll);
}

// CT-15
#[test]
fn who_waits_without_is_known_to_though_another_one_woke_amid_the_wake() {
    another_one_goes(Future::wake_by_one, Future::end_poll);
}

#[test]
#[should_panic = "it waits without"]
fn without_a_change_where_one_of_several_is_used_up_one_that_has_none_seems_to_have_one() {
    another_one_goes(Future::drop_one, |future| match future.holders.clones() {
        0 => future.end_poll(),
        _ => future.suspend(),
    });
}

/// The same, and the future is dropped amid all that.
#[test]
fn whoever_goes_last_amid_a_wake_frees_it() {
    for goes in [Future::drop_one, Future::wake_by_one] {
        check(move || {
            let future = Future::with_clones(1);
            let wakes = beside(&future, Future::wake_by_one);
            future.clone_one();
            let other = beside(&future, goes);
            future.end_poll();
            future.release();
            join([wakes, other]);
            assert!(future.is_freed_once() && future.wakers() == Some(0));
        });
    }
}

/// The same as the first, and who waits with one that nobody has begun to use has one.
fn one_that_is_not_begun_is_counted(goes: fn(&Future)) {
    check(move || {
        let future = Future::with_clones(1);
        let wakes = beside(&future, Future::wake_by_one);
        future.clone_one();
        future.end_poll();
        let begun = Arc::new(AtomicU32::new(0));
        let begins = Arc::clone(&begun);
        let other = beside(&future, move |future| {
            begins.swap(1, AcqRel);
            goes(future);
        });
        future.poll_if_woken();
        let wakers = future.wakers();
        let is_whole = begun.fetch_add(0, AcqRel) == 0;
        assert!(!is_whole || wakers != Some(0), "it has one");
        join([wakes, other]);
        future.is_over();
    });
}

// CT-15
#[test]
fn who_waits_with_another_one_is_never_without_amid_the_wake() {
    one_that_is_not_begun_is_counted(Future::drop_one);
    one_that_is_not_begun_is_counted(Future::wake_by_one);
    one_that_is_not_begun_is_counted(|future| {
        future.clone_one();
        future.drop_one();
        future.wake_by_one();
    });
}

/// Two threads of one poll take one each, amid the wake of the one before.
fn two_are_taken_at_once(goes: fn(&Future)) {
    check(move || {
        let future = Future::with_clones(1);
        let wakes = beside(&future, Future::wake_by_one);
        let other = beside(&future, Future::clone_one);
        future.clone_one();
        other.join().expect("it does not panic");
        future.end_poll();
        assert_ne!(future.wakers(), Some(0), "it has two");
        goes(&future);
        assert_ne!(future.wakers(), Some(0), "it has one");
        goes(&future);
        future.poll_if_woken();
        wakes.join().expect("it does not panic");
        future.is_over();
    });
}

// CT-15
#[test]
fn of_two_that_are_taken_at_once_one_is_counted() {
    two_are_taken_at_once(Future::drop_one);
    two_are_taken_at_once(Future::wake_by_one);
}

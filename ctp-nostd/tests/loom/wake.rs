//! Counting wakes, with a scheduler whose queue holds one coroutine.

use ctp_nostd::wake;
use ctp_trace::verdict::wakes_since;
use loom::sync::atomic::AtomicU32;
use loom::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use loom::sync::{Arc, Mutex};
use loom::thread;

use crate::check;

const GENERATION: u32 = 2;
const RUNNING: u32 = u32::MAX;

struct Scheduler {
    queued: Mutex<bool>,
    wake: AtomicU32,
    /// What the latest suspend carries.
    suspended: AtomicU32,
}

impl Scheduler {
    fn new() -> Arc<Self> {
        Arc::new(Scheduler {
            queued: Mutex::new(false),
            wake: AtomicU32::new(wake::word(GENERATION)),
            suspended: AtomicU32::new(RUNNING),
        })
    }

    fn run(&self, poll: impl FnOnce()) {
        self.suspended.store(RUNNING, Relaxed);
        let seen = wake::seen(&self.wake); // B1
        poll(); // B2
        self.suspended.store(wake::carried(seen).into(), Release); // B3
    }

    fn pop(&self) -> bool {
        std::mem::take(&mut *self.queued.lock().expect("nobody panics"))
    }

    fn push(&self) {
        *self.queued.lock().expect("nobody panics") = true; // N3
    }

    fn count(&self) {
        assert!(wake::advance(&self.wake, GENERATION).is_some()); // N1
    }

    /// The recorder: what it says of the coroutine must be what is true of it.
    fn verdict(&self) {
        let queued = self.queued.lock().expect("nobody panics");
        let suspended = self.suspended.load(Acquire);
        let word = self.wake.load(Acquire);
        if *queued && suspended != RUNNING {
            let is_woken = wakes(word, suspended).is_some_and(|wakes| 0 < wakes);
            assert!(is_woken, "said not woken");
        }
    }

    fn last_verdict(&self) {
        self.verdict();
        let word = self.wake.load(Acquire);
        let suspended = self.suspended.load(Acquire);
        let queued = self.pop();
        assert!(
            queued || wakes(word, suspended) == Some(0),
            "said not to run"
        );
    }
}

/// What the rule says of one that suspended with these.
fn wakes(word: u32, suspended: u32) -> Option<u64> {
    wakes_since(wake::count(word), suspended as u16)
}

fn a_wake_is_told(wakers: usize, wake: fn(&Scheduler)) {
    check(move || {
        let scheduler = Scheduler::new();
        let waker = |_| {
            let scheduler = Arc::clone(&scheduler);
            thread::spawn(move || wake(&scheduler))
        };
        let mut threads = Vec::new();
        scheduler.run(|| threads = (0..wakers).map(waker).collect()); // they come from the poll
        if scheduler.pop() {
            scheduler.run(|| {});
        }
        scheduler.verdict();
        for thread in threads {
            thread.join().expect("a waker does not panic");
        }
        scheduler.last_verdict();
    });
}

// CT-15
#[test]
fn a_woken_coroutine_is_said_to_be_woken() {
    a_wake_is_told(1, |scheduler| {
        scheduler.count();
        scheduler.push();
    });
}

#[test]
#[should_panic = "said not"]
fn without_the_count_first_it_is_said_not_to_be() {
    a_wake_is_told(1, |scheduler| {
        scheduler.push();
        scheduler.count();
    });
}

/// Where this protocol ends: the first waker counts, the second counts and queues, the coroutine
/// runs and suspends, and only then the first queues it. See `protocol/wake.rs`.
#[test]
#[should_panic = "said not woken"]
fn of_two_wakers_at_once_one_may_not_be_seen() {
    a_wake_is_told(2, |scheduler| {
        scheduler.count();
        scheduler.push();
    });
}

/// Counting and queueing in one step: the queue's own lock is held.
#[test]
fn two_wakers_that_count_under_the_queues_lock_are_both_seen() {
    a_wake_is_told(2, |scheduler| {
        let mut queued = scheduler.queued.lock().expect("nobody panics");
        scheduler.count();
        *queued = true;
    });
}

fn a_stale_wake_never_counts(advance: fn(&AtomicU32, u32) -> Option<u32>) {
    check(move || {
        let word = Arc::new(AtomicU32::new(wake::word(GENERATION)));
        let stale = Arc::clone(&word);
        let waker = thread::spawn(move || advance(&stale, GENERATION));
        // The next occupant moves in. It stores; loom, which does not order a store and a
        // compare-and-swap that read what was before it, needs a swap.
        word.swap(wake::word(GENERATION + 2), Relaxed);
        waker.join().expect("a waker does not panic");
        assert_eq!(word.load(Relaxed), wake::word(GENERATION + 2), "counted");
    });
}

// CTP-22
#[test]
fn a_wake_of_the_previous_occupant_does_not_count() {
    a_stale_wake_never_counts(wake::advance);
}

#[test]
#[should_panic = "counted"]
fn without_the_generation_it_counts() {
    a_stale_wake_never_counts(|word, _| Some(word.fetch_add(1, Release)));
}

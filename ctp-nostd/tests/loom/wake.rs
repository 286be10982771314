//! Counting wakes: the recorder never states that a woken coroutine was not woken.

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
        std::mem::take(&mut *self.queued.lock().expect("no thread panics"))
    }

    fn push(&self) {
        *self.queued.lock().expect("no thread panics") = true; // N3
    }

    fn count(&self) {
        assert!(wake::advance(&self.wake, GENERATION).is_some()); // N1
    }

    /// The recorder: its verdict about the coroutine must be true.
    fn verdict(&self) {
        let queued = self.queued.lock().expect("no thread panics");
        let suspended = self.suspended.load(Acquire);
        let word = self.wake.load(Acquire);
        if *queued && suspended != RUNNING {
            let is_woken = wakes(word, suspended).is_some_and(|wakes| 0 < wakes);
            assert!(is_woken, "reported not woken");
        }
    }

    fn last_verdict(&self) {
        self.verdict();
        let word = self.wake.load(Acquire);
        let suspended = self.suspended.load(Acquire);
        let queued = self.pop();
        assert!(
            queued || wakes(word, suspended) == Some(0),
            "reported not to run"
        );
    }
}

/// The wakes by the rule, for a coroutine that suspended with these words.
fn wakes(word: u32, suspended: u32) -> Option<u64> {
    wakes_since(wake::count(word), suspended as u16)
}

fn wake_is_reported(wakers: usize, wake: fn(&Scheduler)) {
    check(move || {
        let scheduler = Scheduler::new();
        let waker = |_| {
            let scheduler = Arc::clone(&scheduler);
            thread::spawn(move || wake(&scheduler))
        };
        let mut threads = Vec::new();
        scheduler.run(|| threads = (0..wakers).map(waker).collect()); // the wakes come from the poll
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
fn woken_coroutine_is_reported_as_woken() {
    wake_is_reported(1, |scheduler| {
        scheduler.count();
        scheduler.push();
    });
}

#[test]
#[should_panic = "reported not"]
fn without_the_count_first_the_wake_is_missed() {
    wake_is_reported(1, |scheduler| {
        scheduler.push();
        scheduler.count();
    });
}

/// The limit of this protocol: the first waker counts, the second counts and queues, the coroutine
/// runs and suspends, and only then the first queues it. See `protocol/wake.rs`.
#[test]
#[should_panic = "reported not woken"]
fn concurrent_wakers_can_hide_a_wake() {
    wake_is_reported(2, |scheduler| {
        scheduler.count();
        scheduler.push();
    });
}

/// Counts and queues in a single step, under the queue's own lock.
#[test]
fn wakers_that_count_under_the_queue_lock_are_seen() {
    wake_is_reported(2, |scheduler| {
        let mut queued = scheduler.queued.lock().expect("no thread panics");
        scheduler.count();
        *queued = true;
    });
}

fn stale_wake_never_counts(advance: fn(&AtomicU32, u32) -> Option<u32>) {
    check(move || {
        let word = Arc::new(AtomicU32::new(wake::word(GENERATION)));
        let stale = Arc::clone(&word);
        let waker = thread::spawn(move || advance(&stale, GENERATION));
        // The next coroutine moves in. The probe stores; this model swaps, because loom does not
        // order a store before a compare-and-swap that read the previous value.
        word.swap(wake::word(GENERATION + 2), Relaxed);
        waker.join().expect("a waker does not panic");
        assert_eq!(word.load(Relaxed), wake::word(GENERATION + 2), "counted");
    });
}

// CTP-22
#[test]
fn wake_of_the_previous_owner_does_not_count() {
    stale_wake_never_counts(wake::advance);
}

#[test]
#[should_panic = "counted"]
fn without_the_generation_a_stale_wake_counts() {
    stale_wake_never_counts(|word, _| Some(word.fetch_add(1, Release)));
}

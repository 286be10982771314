//! Stopping: the recorder commands, orders, waits until no event is being written, and acknowledges.

use std::cell::Cell;

use ctp_nostd::control::{self, Control};
use ctp_nostd::layout::StandaloneU64;
use ctp_nostd::slot::EventKind::Run;
use loom::sync::Arc;
use loom::sync::atomic::AtomicU32;
use loom::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use loom::thread;

use crate::check;
use crate::membarrier::Membarrier;

/// The words of a coroutine and of the header.
#[derive(Default)]
struct Words {
    state: AtomicU32,
    kind_mask: AtomicU32,
    dropped: AtomicU32,
    begun: AtomicU32,
    /// Represents slots and lanes too.
    head: StandaloneU64,
    barrier: Membarrier,
}

const STOP: Control = Control {
    stopped: true,
    without_runs: false,
    without_suspends: false,
    only_thread: 0,
};

/// Positions at which the interrupt may hit an event.
const PLACES: usize = 4;

/// How much of the real protocol the model keeps.
#[derive(Clone, Copy)]
struct Kept {
    /// The event is judged again after it has announced its start.
    judges_again: bool,
    /// The recorder issues a membarrier.
    orders: bool,
    /// The recorder checks for events in progress after its command, not before.
    commands_first: bool,
}

const ALL: Kept = Kept {
    judges_again: true,
    orders: true,
    commands_first: true,
};

impl Words {
    /// Like `StationHandle::event`, hit by the interrupt at one position, or after the event.
    fn event(&self, kept: Kept, hit: usize) {
        let is_due = Cell::new(kept.orders);
        let interrupt = |place| {
            if place == hit && is_due.take() {
                self.barrier.interrupt();
            }
        };
        if self.is_kept(kept, &interrupt) {
            self.head.store(1, Release);
        } else {
            control::leave_out(&self.state, &self.dropped, Run);
        }
        (0..PLACES).for_each(interrupt);
    }

    /// Is the event kept?
    fn is_kept(&self, kept: Kept, interrupt: &dyn Fn(usize)) -> bool {
        let is_requested = || {
            let word = self.kind_mask.load(Relaxed);
            word == 0 || !control::keeps_out(word, Run, || 0)
        };
        interrupt(0);
        if !is_requested() {
            return false;
        }
        interrupt(1);
        assert!(control::enter(&self.begun, 0));
        interrupt(2);
        if kept.judges_again && !is_requested() {
            assert!(control::withdraw(&self.begun, 0));
            return false;
        }
        interrupt(3);
        true
    }

    fn wait_until_no_event_is_in_progress(&self) {
        while control::is_inside(&self.begun, &self.head) {
            thread::yield_now();
        }
    }

    /// What the recorder reads before it acknowledges.
    fn stop(&self, kept: Kept) -> u64 {
        if !kept.commands_first {
            self.wait_until_no_event_is_in_progress();
        }
        self.kind_mask.store(STOP.to_word(), Relaxed); // as `Header::command`
        if kept.orders {
            self.barrier.issue();
        }
        if kept.commands_first {
            self.wait_until_no_event_is_in_progress();
        }
        self.head.load(Acquire)
    }
}

fn no_event_follows_the_acknowledgement(kept: Kept, hit: usize) {
    check(move || {
        let words = Arc::new(Words::default());
        let probe = Arc::clone(&words);
        let probe = thread::spawn(move || probe.event(kept, hit));
        let read = words.stop(kept);
        probe.join().expect("a probe does not panic");
        let (head, dropped) = (words.head.load(Relaxed), words.dropped.load(Relaxed));
        assert_eq!(read, head, "an event came after the acknowledgement");
        assert_eq!(head + u64::from(dropped), 1, "kept or counted, not both");
    });
}

// LT-10, LT-11
#[test]
fn each_event_is_kept_or_counted_before_the_acknowledgement() {
    (0..PLACES).for_each(|hit| no_event_follows_the_acknowledgement(ALL, hit));
}

#[test]
#[should_panic = "after the acknowledgement"]
fn without_the_membarrier_an_event_comes_later() {
    let kept = Kept {
        orders: false,
        ..ALL
    };
    no_event_follows_the_acknowledgement(kept, 0);
}

#[test]
#[should_panic = "after the acknowledgement"]
fn without_judging_again_an_event_comes_later() {
    let kept = Kept {
        judges_again: false,
        ..ALL
    };
    no_event_follows_the_acknowledgement(kept, 1);
}

#[test]
#[should_panic = "after the acknowledgement"]
fn without_the_command_first_an_event_comes_later() {
    let kept = Kept {
        commands_first: false,
        ..ALL
    };
    no_event_follows_the_acknowledgement(kept, 3);
}

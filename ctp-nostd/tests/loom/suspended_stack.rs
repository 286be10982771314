//! A stack that is copied from outside while the coroutine may go on.

use ctp_nostd::layout::Station;
use ctp_nostd::slot::{self, Epoch, EventKind, Tail};
use ctp_nostd::suspended_stack::SuspendedStack;
use loom::sync::Arc;
use loom::sync::atomic::AtomicU64;
use loom::sync::atomic::Ordering::Relaxed;
use loom::thread;

use crate::check;

/// How the coroutine's run is recorded.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Run {
    /// As an event.
    Kept,
    /// Not at all, because a filter drops it.
    Dropped,
    /// As an event without the fence of the slot.
    Unfenced,
}

#[derive(Default)]
pub struct Coroutine {
    pub station: Station,
    /// A word of its stack.
    pub stack: AtomicU64,
}

impl Coroutine {
    /// Event `n`, with this kind and `addr`.
    pub fn event(&self, n: u64, kind: EventKind, addr: u64) {
        let tail = Tail {
            kind: kind as u8,
            ..Tail::default()
        };
        let epoch = Epoch {
            addr,
            tail,
            ..Epoch::default()
        };
        assert!(self.station.begin_event(n));
        slot::publish(self.station.slot_of(n), n, &epoch);
        self.station.publish_events(n + 1);
    }

    /// Event `n`: suspends at the position `at`, which is on the stack too.
    pub fn suspend(&self, n: u64, at: u64) {
        let addr = self.station.store_position(at, 2 * at, at);
        self.event(n, EventKind::Suspend, addr);
    }

    /// Goes on, changes its stack, and suspends elsewhere.
    pub fn go_on(&self, run: Run) {
        let next = match run {
            Run::Kept => {
                self.event(1, EventKind::Run, 0);
                2
            }
            Run::Dropped => {
                self.station.leave_out(EventKind::Run);
                1
            }
            Run::Unfenced => {
                assert!(self.station.begin_event(1));
                self.station.publish_events(2);
                2
            }
        };
        self.stack.store(2, Relaxed);
        self.suspend(next, 2);
    }

    /// A position, and the stack that was copied there.
    pub fn read(&self, is_checked: bool) -> Option<(SuspendedStack, u64)> {
        let position = SuspendedStack::read(&self.station).ok()?;
        let copy = self.stack.load(Relaxed);
        (!is_checked || position.is_still(&self.station)).then_some((position, copy))
    }
}

fn copied_stack_is_that_of_the_position(run: Run, is_checked: bool) {
    check(move || {
        let coroutine = Arc::new(Coroutine::default());
        coroutine.stack.store(1, Relaxed);
        coroutine.suspend(0, 1);
        let owner = Arc::clone(&coroutine);
        let owner = thread::spawn(move || owner.go_on(run));
        if let Some((position, copy)) = coroutine.read(is_checked) {
            let expected = (copy, 2 * copy, copy);
            assert_eq!((position.pc, position.sp, position.fp), expected, "a mix");
        }
        owner.join().expect("an owner does not panic");
    });
}

// STB-06, STB-26
#[test]
fn copied_stack_is_never_a_mix() {
    copied_stack_is_that_of_the_position(Run::Kept, true);
}

// STB-26
#[test]
fn dropped_run_invalidates_a_copied_stack() {
    copied_stack_is_that_of_the_position(Run::Dropped, true);
}

#[test]
#[should_panic = "a mix"]
fn without_the_owners_fence_a_copied_stack_is_mixed() {
    copied_stack_is_that_of_the_position(Run::Unfenced, true);
}

#[test]
#[should_panic = "a mix"]
fn without_the_check_a_copied_stack_is_mixed() {
    copied_stack_is_that_of_the_position(Run::Kept, false);
}

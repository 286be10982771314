//! Runs that wait while the recorder copies a stack.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use ctp_nostd::layout::Station;
use ctp_nostd::suspended_stack::{NoStack, SuspendedStack};
use ctp_nostd::{Coroutine, Local, Memory, Platform, Region, Wait};

use super::dump;

/// Defines a board that counts waits. A wait ends because the copy is complete, or else at the limit.
macro_rules! waiting_board {
    ($name:ident, $number:literal) => {
        struct $name;

        impl $name {
            fn memory() -> &'static Memory<2> {
                static MEMORY: Memory<2> = Memory::new();
                &MEMORY
            }

            fn waits() -> &'static AtomicU32 {
                static WAITS: AtomicU32 = AtomicU32::new(0);
                &WAITS
            }

            fn is_copied() -> &'static AtomicBool {
                static IS_COPIED: AtomicBool = AtomicBool::new(true);
                &IS_COPIED
            }
        }

        #[expect(unsafe_code, reason = "vouches for the `Local` of its threads")]
        // SAFETY: one thread uses this platform, and no other platform has its `Local`.
        unsafe impl Platform for $name {
            fn now_ns() -> u64 {
                static CLOCK: AtomicU64 = AtomicU64::new(1000);
                CLOCK.fetch_add(10, Ordering::Relaxed)
            }

            fn thread() -> u64 {
                $number
            }

            fn ring() {}

            fn attachment_word() -> &'static AtomicU32 {
                static NUMBER: AtomicU32 = AtomicU32::new($number);
                &NUMBER
            }

            fn wait_while(is_frozen: impl Fn() -> bool) -> bool {
                assert!(is_frozen(), "a wait without a request");
                Self::waits().fetch_add(1, Ordering::Relaxed);
                Self::is_copied().load(Ordering::Relaxed)
            }

            unsafe fn local() -> Option<&'static Local> {
                static LOCAL: Local = Local::new();
                Some(&LOCAL)
            }
        }
    };
}

/// What a reader learns about a stack.
fn answer(station: &Station) -> Result<(), NoStack> {
    SuspendedStack::read(station).map(|_| ())
}

/// Requests that the coroutine of this station waits.
fn freeze(region: &Region<'_>, station: usize) -> Option<ctp_nostd::freeze::Freeze> {
    let station = &region.stations[station];
    let generation = station.identity().map_or(0, |known| known.generation);
    station.request_freeze(generation, 1)
}

waiting_board!(Selected, 31);

// STB-07
#[test]
fn only_a_run_of_the_frozen_coroutine_waits() {
    let region = dump(Selected::memory());
    let [task, other] =
        ["task", "other"].map(|name| Selected::memory().probe::<Selected>().born(name));
    let waits = || Selected::waits().load(Ordering::Relaxed);
    task.run();
    task.suspend_with_stack(Wait::to_yield());
    region.header.begin_freezes();
    assert!(freeze(&region, 0).is_some());
    other.run();
    other.suspend(Wait::to_yield());
    task.suspend_with_stack(Wait::to_yield());
    assert_eq!(waits(), 0);
    task.run();
    assert_eq!(waits(), 1);
    task.suspend(Wait::to_yield());
    other.switch_to(Wait::to_yield(), &task);
    assert_eq!(waits(), 2, "a run in place of another coroutine");
    region.header.end_freezes();
    task.run();
    assert_eq!(waits(), 2, "the recorder has ended all requests");
}

waiting_board!(Late, 32);

// STB-10
#[test]
fn run_that_waited_too_long_ends_the_request() {
    let region = dump(Late::memory());
    let task = Late::memory().probe::<Late>().born("task");
    task.run();
    Late::is_copied().store(false, Ordering::Relaxed);
    region.header.begin_freezes();
    let request = freeze(&region, 0).expect("a request");
    task.run();
    assert_eq!(region.header.counters().broken_freezes, 1);
    assert!(!region.header.has_freezes(), "no run looks for requests");
    assert!(
        !region.stations[0].withdraw_freeze(request),
        "ended already"
    );
    region.header.begin_freezes();
    task.run();
    assert_eq!(Late::waits().load(Ordering::Relaxed), 1);
}

waiting_board!(Reused, 33);

// STB-09
#[test]
fn request_to_an_earlier_coroutine_delays_no_other() {
    let region = dump(Reused::memory());
    let task = Reused::memory().probe::<Reused>().born("task");
    task.run();
    region.header.begin_freezes();
    assert!(freeze(&region, 0).is_some());
    drop(task);
    region.header.limit_claims(0); // the station is free again
    let next = Reused::memory().probe::<Reused>().born("next");
    assert_ne!(region.stations[0].identity(), None);
    next.run();
    assert_eq!(Reused::waits().load(Ordering::Relaxed), 0);
}

waiting_board!(Progressing, 34);

// STB-11
#[test]
fn coroutine_has_an_event_between_two_requests() {
    let region = dump(Progressing::memory());
    let task = Progressing::memory().probe::<Progressing>().born("task");
    let request = |task: &Coroutine<Progressing>| {
        task.suspend(Wait::to_yield());
        freeze(&region, 0).expect("a request")
    };
    let first = request(&task);
    assert!(region.stations[0].withdraw_freeze(first));
    assert_eq!(freeze(&region, 0), None);
    task.run();
    assert!(freeze(&region, 0).is_some());
}

waiting_board!(Unchanged, 35);

// STB-02
#[test]
fn request_and_withdrawal_change_no_state() {
    let region = dump(Unchanged::memory());
    let station = &region.stations[0];
    let check = |state: &str| {
        let (before, head) = (answer(station), station.event_head());
        region.header.begin_freezes();
        let request = freeze(&region, 0);
        assert_eq!(answer(station), before, "{state}, during a request");
        if let Some(request) = request {
            assert!(station.withdraw_freeze(request), "{state}");
        }
        region.header.end_freezes();
        assert_eq!(
            (answer(station), station.event_head()),
            (before, head),
            "{state}"
        );
    };
    check("never used");
    let task = Unchanged::memory().probe::<Unchanged>().born("task");
    check("created");
    task.run();
    check("running");
    task.suspend_with_stack(Wait::to_yield());
    check("suspended");
    drop(task);
    check("ended");
}

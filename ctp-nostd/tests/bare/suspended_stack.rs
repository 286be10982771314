//! Where a coroutine waits on a stack of its own.

use std::hint::black_box;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use ctp_nostd::control::Control;
use ctp_nostd::layout::Station;
use ctp_nostd::suspended_stack::{NoStack, SuspendedStack};
use ctp_nostd::{Coroutine, Local, Memory, Platform, Wait};

use super::dump;

/// Whether this processor's registers are stored.
const IS_STORED: bool = cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));
/// The size of the code of `wait_here` is less than this.
const CODE_BYTES: usize = 4096;

board!(Waiting, 21, 1);

/// Suspends, and returns an address in the frame of this function.
#[inline(never)]
fn wait_here(task: &Coroutine<Waiting>) -> usize {
    let local = black_box(7_u64);
    task.suspend_with_stack(Wait::readable(3));
    std::ptr::from_ref(black_box(&local)).addr()
}

#[test]
fn position_is_that_of_the_caller() {
    if !IS_STORED {
        return;
    }
    let region = dump(Waiting::memory());
    let task = Waiting::memory().probe::<Waiting>().born("task");
    task.run();
    let outer = 0_u64;
    let inner = wait_here(&task);
    let found = SuspendedStack::read(&region.stations[0]).expect("it waits");
    let function = wait_here as *const () as usize;
    assert!((function..function + CODE_BYTES).contains(&(found.pc as usize)));
    assert!(found.sp as usize <= inner && found.sp.is_multiple_of(8));
    assert!((found.sp as usize) < std::ptr::from_ref(black_box(&outer)).addr());
    assert!(found.is_still(&region.stations[0]));
}

board!(Answering, 22, 1);

/// What a reader is told.
fn answer(station: &Station) -> Result<(), NoStack> {
    SuspendedStack::read(station).map(|_| ())
}

// STB-03, STB-23
#[test]
fn reader_learns_why_there_is_no_stack() {
    let region = dump(Answering::memory());
    let station = &region.stations[0];
    assert_eq!(answer(station), Err(NoStack::NeverRan));
    let task = Answering::memory().probe::<Answering>().born("task");
    assert_eq!(answer(station), Err(NoStack::NeverRan));
    task.run();
    assert_eq!(answer(station), Err(NoStack::Runs));
    task.suspend(Wait::to_yield());
    assert_eq!(answer(station), Err(NoStack::NotStored));
    task.run();
    task.suspend_with_stack(Wait::to_yield());
    assert_eq!(
        answer(station),
        if IS_STORED {
            Ok(())
        } else {
            Err(NoStack::NotStored)
        }
    );
    task.run();
    assert_eq!(answer(station), Err(NoStack::Runs));
    task.run();
    assert_eq!(answer(station), Err(NoStack::Runs), "started again");
    task.suspend(Wait::to_yield());
    assert_eq!(
        answer(station),
        Err(NoStack::NotStored),
        "not the position of the wait before"
    );
    drop(task);
    assert_eq!(answer(station), Err(NoStack::Ended));
}

board!(Changing, 23, 1);

// STB-09, STB-26
#[test]
fn every_event_invalidates_the_position() {
    if !IS_STORED {
        return;
    }
    let region = dump(Changing::memory());
    let station = &region.stations[0];
    let task = Changing::memory().probe::<Changing>().born("task");
    let wait = || {
        task.suspend_with_stack(Wait::to_yield());
        SuspendedStack::read(station).expect("it waits")
    };
    let first = wait();
    assert!(first.is_still(station));
    task.run();
    assert!(!first.is_still(station));
    let second = wait();
    assert!(!first.is_still(station) && second.is_still(station));
    let third = wait();
    assert!(!second.is_still(station), "suspended twice");
    region.header.command(Control {
        without_runs: true,
        ..Control::default()
    });
    assert!(third.is_still(station));
    task.run();
    assert!(!third.is_still(station), "a run that the filter drops");
    assert_eq!(answer(station), Err(NoStack::Filtered));
    region.header.command(Control::default());
    let last = wait();
    drop(task);
    assert!(!last.is_still(station));
    region.header.limit_claims(0); // the station is free again
    let next = Changing::memory().probe::<Changing>().born("next");
    assert!(!last.is_still(station), "another coroutine has the station");
    assert_eq!(answer(station), Err(NoStack::NeverRan));
    next.suspend_with_stack(Wait::to_yield());
    assert!(!last.is_still(station));
    assert_ne!(answer_generation(station), last.generation);
}

fn answer_generation(station: &Station) -> u32 {
    SuspendedStack::read(station).expect("it waits").generation
}

//! The source of a wake, and the wakes that a coroutine has seen.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use ctp_nostd::control::Control;
use ctp_nostd::inspect::WokenBy;
use ctp_nostd::layout::coroutine_word;
use ctp_nostd::{Local, Memory, Platform, Wait};
use ctp_trace::verdict::wakes_since;

use super::{dump, events, waker_of};

board!(Nested, 4, 3);

// CT-15
#[test]
fn a_wake_names_the_coroutine_that_runs() {
    let region = dump(Nested::memory());
    let probe = Nested::memory().probe::<Nested>();
    let [outer, inner, woken] = ["outer", "inner", "woken"].map(|name| probe.born(name));
    let waker = woken.waker();
    let wake = || {
        waker.wake();
        waker_of(&region.stations[2])
    };
    assert_eq!(wake(), WokenBy::Thread(4), "no coroutine runs");
    outer.run();
    assert_eq!(wake(), WokenBy::Coroutine(coroutine_word(0, 2)));
    inner.run();
    inner.run();
    assert_eq!(wake(), WokenBy::Coroutine(coroutine_word(1, 2)));
    inner.suspend(Wait::unknown());
    assert_eq!(
        wake(),
        WokenBy::Coroutine(coroutine_word(0, 2)),
        "the outer coroutine continues"
    );
    woken.suspend(Wait::unknown());
    assert_eq!(
        wake(),
        WokenBy::Coroutine(coroutine_word(0, 2)),
        "a coroutine that did not run changes nothing"
    );
    inner.run();
    drop(inner);
    assert_eq!(
        wake(),
        WokenBy::Coroutine(coroutine_word(0, 2)),
        "also after the end of the inner coroutine"
    );
    outer.suspend(Wait::unknown());
    assert_eq!(wake(), WokenBy::Thread(4));
    assert_eq!(region.stations[2].wakes().count, 7);
}

board!(Late, 14, 4);

// CT-15
#[test]
fn waiting_coroutine_is_never_the_waker() {
    let region = dump(Late::memory());
    let probe = Late::memory().probe::<Late>();
    let [first, second, third, woken] =
        ["first", "second", "third", "woken"].map(|name| probe.born(name));
    let waker = woken.waker();
    let wake = || {
        waker.wake();
        waker_of(&region.stations[3])
    };
    first.run();
    second.run(); // in place of the first, which reports its wait only after that
    first.suspend(Wait::unknown());
    assert_eq!(wake(), WokenBy::Coroutine(coroutine_word(1, 2)));
    second.suspend(Wait::unknown());
    assert_eq!(
        wake(),
        WokenBy::Unknown,
        "the first coroutine waits, after an earlier run"
    );
    third.run();
    assert_eq!(wake(), WokenBy::Coroutine(coroutine_word(2, 2)));
    third.suspend(Wait::unknown());
    first.run();
    assert_eq!(wake(), WokenBy::Coroutine(coroutine_word(0, 2)));
    drop(first);
    assert_eq!(wake(), WokenBy::Thread(14));
}

board!(Hidden, 15, 2);

#[test]
fn dropped_run_does_not_identify_the_waker() {
    let region = dump(Hidden::memory());
    let probe = Hidden::memory().probe::<Hidden>();
    let [runner, woken] = ["runner", "woken"].map(|name| probe.born(name));
    let waker = woken.waker();
    let wake = || {
        waker.wake();
        waker_of(&region.stations[1])
    };
    let control = |control: Control| region.header.command(control);
    control(Control {
        without_runs: true,
        ..Control::default()
    });
    runner.run();
    assert_eq!(wake(), WokenBy::Unknown);
    control(Control::default());
    runner.suspend(Wait::unknown());
    runner.run();
    assert_eq!(wake(), WokenBy::Coroutine(coroutine_word(0, 2)));
}

board!(Woken, 5, 2);

// CT-15
#[test]
fn suspend_carries_the_wakes_of_the_run() {
    let region = dump(Woken::memory());
    let task = Woken::memory().probe::<Woken>().born("sleeper");
    let station = &region.stations[0];
    let is_woken = || {
        let (_, last) = *events(station).last().expect("an event");
        let wakes = wakes_since(station.wakes().count, last.tail.wake_seen);
        wakes.expect("none is forgotten") != 0
    };
    assert!(!station.identity().expect("a coroutine").records_wakes);
    let waker = task.waker();
    assert!(station.identity().expect("a coroutine").records_wakes);
    task.run();
    task.suspend(Wait::unknown());
    assert!(!is_woken());
    waker.wake();
    assert!(is_woken());
    task.run();
    waker.wake(); // while it runs
    task.suspend(Wait::unknown());
    assert!(is_woken());
    task.run();
    task.suspend(Wait::unknown());
    assert!(!is_woken());
    task.run();
    waker.wake();
    task.run(); // continues by that wake, which then is owed no run
    task.suspend(Wait::unknown());
    assert!(!is_woken());
}

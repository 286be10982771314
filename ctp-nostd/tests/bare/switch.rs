//! A switch: two events at the same time.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use ctp_nostd::control::Control;
use ctp_nostd::inspect::WokenBy;
use ctp_nostd::layout::coroutine_word;
use ctp_nostd::{Coroutine, Local, Memory, Platform, Wait};

use super::{BIRTH, RUN, SUSPEND, dump, events, kinds, line_of, waker_of};

board!(Handing, 11, 2);

#[test]
fn switch_is_a_suspend_and_a_run_at_the_same_time() {
    let region = dump(Handing::memory());
    let probe = Handing::memory().probe::<Handing>();
    let [from, to] = ["from", "to"].map(|name| probe.born(name));
    from.run(); // this thread requests a lane, which takes the slow path
    to.waker().wake();
    let before = Handing::clock().load(Ordering::Relaxed);
    let (wait, line) = (Wait::readable(9), line!());
    from.switch_to(wait, &to);
    let reads = (Handing::clock().load(Ordering::Relaxed) - before) / 10;
    assert_eq!(reads, 1, "of the clock");

    let [left, entered] = [0, 1].map(|index| {
        let station = &region.stations[index];
        (kinds(station), events(station).pop().expect("an event").1)
    });
    assert_eq!(left.0, [BIRTH, RUN, SUSPEND]);
    assert_eq!(entered.0, [BIRTH, RUN]);
    assert_eq!(left.1.timestamp, entered.1.timestamp);
    assert_eq!((left.1.tail.wait_kind, left.1.arg), (1, 9));
    assert_eq!(line_of(&region, left.1.site), (file!().to_owned(), line));
    assert_eq!(entered.1.tail.wake_seen, 1);
    from.waker().wake();
    let to_word = coroutine_word(1, 2);
    assert_eq!(waker_of(&region.stations[0]), WokenBy::Coroutine(to_word));
}

board!(Filtered, 12, 2);

// LT-11
#[test]
fn switch_events_are_each_kept_or_counted() {
    let region = dump(Filtered::memory());
    let probe = Filtered::memory().probe::<Filtered>();
    let [from, to] = ["from", "to"].map(|name| probe.born(name));
    let switch_under = |without_runs, without_suspends| {
        region.header.command(Control {
            without_runs,
            without_suspends,
            ..Control::default()
        });
        from.switch_to(Wait::to_yield(), &to);
        [0, 1].map(|index| {
            let station = &region.stations[index];
            (station.event_head(), station.filtered())
        })
    };
    assert_eq!(switch_under(true, false), [(2, 0), (1, 1)]);
    assert_eq!(switch_under(false, true), [(2, 1), (2, 1)]);
    assert_eq!(switch_under(true, true), [(2, 2), (2, 2)]);
    assert_eq!(switch_under(false, false), [(3, 2), (3, 2)]);
    region.header.command(Control::default());
}

board!(Alone, 13, 1);

#[test]
fn switch_with_an_inert_trace_is_a_single_event() {
    let station = &dump(Alone::memory()).stations[0];
    let task = Alone::memory().probe::<Alone>().born("task");
    Coroutine::mute().switch_to(Wait::to_yield(), &task);
    task.switch_to(Wait::to_yield(), &Coroutine::mute());
    task.switch_to(Wait::to_yield(), &task);
    assert_eq!(kinds(station), [BIRTH, RUN, SUSPEND, SUSPEND, RUN]);
}

//! Handlers that record events of the very coroutine amid whose event they came.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use ctp_nostd::{Coroutine, Local, Platform, Probe, Wait};
use ctp_record::harvest::Harvest;
use ctp_trace::record::{Event, Tally};

use crate::desk::{Nowhere, Tray, events_in, tallies_in};
use crate::lanes::memory;

/// A place where a handler may come whenever it is asked for the time or the thread, that is,
/// before and after an event has its number.
struct Interrupted;

type Task = &'static Coroutine<Interrupted>;

thread_local! {
    static NOW: Cell<u64> = const { Cell::new(0) };
    static LOCAL: Cell<Option<&'static Local>> = const { Cell::new(None) };
    static TASK: Cell<Option<Task>> = const { Cell::new(None) };
    /// After so many questions comes a handler, after so many more the next one.
    static COMING: RefCell<VecDeque<u32>> = const { RefCell::new(VecDeque::new()) };
    static HANDLED: Cell<u64> = const { Cell::new(0) };
    /// A recorder that looks when a handler comes, and before it returns.
    static LOOK: Cell<Option<Box<dyn FnMut()>>> = const { Cell::new(None) };
}

/// True if a handler is to come now.
fn is_due() -> bool {
    COMING.with_borrow_mut(|coming| match coming.front_mut() {
        Some(0) => coming.pop_front().is_some(),
        Some(questions) => {
            *questions -= 1;
            false
        }
        None => false,
    })
}

fn perhaps_a_handler() {
    if let Some(task) = TASK.get().filter(|_| is_due()) {
        HANDLED.set(HANDLED.get() + 1);
        let mut look = LOOK.take();
        look.iter_mut().for_each(|look| look());
        task.run();
        look.iter_mut().for_each(|look| look());
    }
}

#[expect(unsafe_code, reason = "vouches for the `Local` of its threads")]
// SAFETY: the `Local` is that of the calling thread.
unsafe impl Platform for Interrupted {
    fn now_ns() -> u64 {
        perhaps_a_handler();
        NOW.set(NOW.get() + 1);
        NOW.get()
    }

    fn thread() -> u64 {
        perhaps_a_handler();
        1
    }

    fn thread_of(_: &Local) -> u64 {
        Self::thread()
    }

    fn ring() {}

    unsafe fn local() -> Option<&'static Local> {
        LOCAL.get()
    }
}

/// One cycle of a coroutine, with handlers: its events, its account, and how many handlers came.
fn a_cycle(lanes: u32, coming: &[u32]) -> (Vec<Event>, Tally, u64) {
    let region = memory(lanes);
    let (mut nowhere, mut tray) = (Nowhere::default(), Tray::default());
    let mut harvest = Harvest::new(0);
    LOCAL.set(Some(Box::leak(Box::default())));
    HANDLED.set(0);
    let probe: Probe<Interrupted> = Probe::new(region, 1);
    let task: Task = Box::leak(Box::new(probe.born("it")));
    harvest.pass(&region, &mut nowhere, &mut tray);
    TASK.set(Some(task));
    COMING.set(coming.iter().copied().collect());
    task.run();
    task.suspend(Wait::user(8));
    TASK.set(None);
    harvest.finish(&region, &mut nowhere, &mut tray);
    (events_in(&tray.0), tallies_in(&tray.0)[0], HANDLED.get())
}

/// All events are there, each once, in order, and at no time before the one before.
fn is_whole(lanes: u32, coming: &[u32]) {
    let (events, tally, handlers) = a_cycle(lanes, coming);
    let numbers: Vec<u64> = events.iter().map(|event| event.n).collect();
    let all = 3 + handlers;
    assert_eq!(numbers, (0..all).collect::<Vec<u64>>(), "{coming:?}");
    assert!(events.is_sorted_by_key(|event| event.at), "{coming:?}");
    assert_eq!(
        (tally.attempted, tally.torn, tally.inexact),
        (all, None, false)
    );
}

// CTP-30
#[test]
fn a_handler_may_come_at_any_moment_of_an_event_of_its_own_coroutine() {
    for lanes in [0, 1] {
        for first in 0..8 {
            is_whole(lanes, &[first]);
            (0..8).for_each(|second| is_whole(lanes, &[first, second]));
        }
    }
    // The three events and six of handlers are more than slots hold.
    for first in 0..4 {
        for second in 0..4 {
            (0..4).for_each(|third| is_whole(1, &[first, second, third, 0, 1, 2]));
        }
    }
}

// CTP-30
#[test]
fn handlers_amid_each_other_are_served_six_deep_and_counted_beyond() {
    // The first question of an event is before it has its number, the second one after.
    for handlers in 0..=6 {
        is_whole(1, &vec![1; handlers]);
    }
    let (events, tally, handlers) = a_cycle(1, &[1; 7]);
    let numbers: Vec<u64> = events.iter().map(|event| event.n).collect();
    assert_eq!(numbers, (0..3 + 6).collect::<Vec<u64>>());
    assert_eq!(
        (handlers, tally.attempted, tally.recorded),
        (7, 3 + 7, 3 + 6)
    );
    assert!(!tally.inexact);
}

/// A switch from one coroutine to another, with handlers that record events of either: the numbers of
/// each one's events, and how many there were.
fn a_switch(lanes: u32, coming: &[u32], of_the_next: bool) -> [(Vec<u64>, u64); 2] {
    let region = memory(lanes);
    let (mut nowhere, mut tray) = (Nowhere::default(), Tray::default());
    let mut harvest = Harvest::new(0);
    LOCAL.set(Some(Box::leak(Box::default())));
    HANDLED.set(0);
    let probe: Probe<Interrupted> = Probe::new(region, 1);
    let [from, to]: [Task; 2] = [(); 2].map(|()| &*Box::leak(Box::new(probe.born("one of two"))));
    from.run();
    TASK.set(Some(if of_the_next { to } else { from }));
    COMING.set(coming.iter().copied().collect());
    from.switch_to(Wait::user(8), to);
    TASK.set(None);
    harvest.pass(&region, &mut nowhere, &mut tray);
    harvest.finish(&region, &mut nowhere, &mut tray);
    let events = events_in(&tray.0);
    let mut handled = [3, 2];
    handled[usize::from(of_the_next)] += HANDLED.get();
    let mut each = [(Vec::new(), handled[0]), (Vec::new(), handled[1])];
    for (index, (numbers, _)) in each.iter_mut().enumerate() {
        let its = |event: &&Event| event.coroutine.0 == index as u32 + 1;
        let its: Vec<&Event> = events.iter().filter(its).collect();
        assert!(its.is_sorted_by_key(|event| event.at), "{coming:?}");
        numbers.extend(its.iter().map(|event| event.n));
    }
    each
}

// CTP-30
#[test]
fn a_handler_may_come_at_any_moment_of_a_switch() {
    let questions = (0..8).flat_map(|first| (0..8).map(move |second| [first, second]));
    for (coming, of_the_next) in questions.flat_map(|it| [(it, false), (it, true)]) {
        for lanes in [0, 1] {
            for (numbers, all) in a_switch(lanes, &coming, of_the_next) {
                assert_eq!(numbers, (0..all).collect::<Vec<u64>>(), "{coming:?}");
            }
        }
    }
}

// CTP-30, LT-07
#[test]
fn an_event_of_a_handler_makes_sense_where_the_one_amid_which_it_came_found_no_room() {
    let region = memory(1);
    LOCAL.set(Some(Box::leak(Box::default())));
    let probe: Probe<Interrupted> = Probe::new(region, 1);
    let task: Task = Box::leak(Box::new(probe.born("it")));
    // Of 128 records one says whose they are, and one is the birth.
    for _ in 0..63 {
        task.run();
        task.suspend(Wait::user(8));
    }
    let told = Rc::new(RefCell::new((Harvest::new(0), Tray::default())));
    let its = told.clone();
    let drain = move || {
        let (harvest, tray) = &mut *its.borrow_mut();
        for _ in 0..3 {
            harvest.pass(&region, &mut Nowhere::default(), tray);
        }
    };
    TASK.set(Some(task));
    COMING.set([1].into());
    LOOK.set(Some(Box::new(drain)));
    task.run();
    TASK.set(None);
    let (harvest, tray) = &*told.borrow();
    let numbers = events_in(&tray.0).into_iter().map(|event| event.n);
    let expected = (0..127).chain([128]);
    assert_eq!(
        numbers.collect::<Vec<u64>>(),
        expected.collect::<Vec<u64>>()
    );
    let totals = harvest.totals();
    assert_eq!((totals.lost, totals.quarantined), (1, 0));
}

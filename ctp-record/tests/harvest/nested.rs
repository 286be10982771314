//! Signal handlers that interrupt an event and record events of the same coroutine.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use ctp_nostd::{Coroutine, Local, Platform, Probe, Wait};
use ctp_record::harvest::Harvest;
use ctp_trace::record::{Event, EventCounts};

use crate::lanes::memory;
use crate::test_memory::{RecordBuffer, SingleProcess, events_in, tallies_in};

/// A platform on which a handler may run whenever the time or the thread is asked for: before and after an
/// event gets its number.
struct Interrupted;

type Task = &'static Coroutine<Interrupted>;

thread_local! {
    static NOW: Cell<u64> = const { Cell::new(0) };
    static LOCAL: Cell<Option<&'static Local>> = const { Cell::new(None) };
    static TASK: Cell<Option<Task>> = const { Cell::new(None) };
    /// For each handler, after how many further calls of the platform it runs.
    static PENDING_HANDLERS: RefCell<VecDeque<u32>> = const { RefCell::new(VecDeque::new()) };
    static HANDLED: Cell<u64> = const { Cell::new(0) };
    /// A reader that runs a pass when a handler starts and before the handler returns.
    static READER: Cell<Option<Box<dyn FnMut()>>> = const { Cell::new(None) };
}

/// Whether a handler is to run now.
fn is_due() -> bool {
    PENDING_HANDLERS.with_borrow_mut(|pending| match pending.front_mut() {
        Some(0) => pending.pop_front().is_some(),
        Some(questions) => {
            *questions -= 1;
            false
        }
        None => false,
    })
}

fn maybe_run_handler() {
    if let Some(task) = TASK.get().filter(|_| is_due()) {
        HANDLED.set(HANDLED.get() + 1);
        let mut look = READER.take();
        look.iter_mut().for_each(|look| look());
        task.run();
        look.iter_mut().for_each(|look| look());
    }
}

#[expect(unsafe_code, reason = "vouches for the `Local` of its threads")]
// SAFETY: the `Local` belongs to the calling thread.
unsafe impl Platform for Interrupted {
    fn now_ns() -> u64 {
        maybe_run_handler();
        NOW.set(NOW.get() + 1);
        NOW.get()
    }

    fn thread() -> u64 {
        maybe_run_handler();
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

/// Runs a cycle with handlers. Returns the events, the account, and the number of handlers.
fn a_cycle(lanes: u32, pending: &[u32]) -> (Vec<Event>, EventCounts, u64) {
    let region = memory(lanes);
    let (mut outside, mut buffer) = (SingleProcess::default(), RecordBuffer::default());
    let mut harvest = Harvest::new(0);
    LOCAL.set(Some(Box::leak(Box::default())));
    HANDLED.set(0);
    let probe: Probe<Interrupted> = Probe::new(region, 1);
    let task: Task = Box::leak(Box::new(probe.born("task")));
    harvest.pass(&region, &mut outside, &mut buffer);
    TASK.set(Some(task));
    PENDING_HANDLERS.set(pending.iter().copied().collect());
    task.run();
    task.suspend(Wait::user(8));
    TASK.set(None);
    harvest.finish(&region, &mut outside, &mut buffer);
    (
        events_in(&buffer.0),
        tallies_in(&buffer.0)[0],
        HANDLED.get(),
    )
}

/// Asserts that all events are there, once, in order, and with times that never go back.
fn is_whole(lanes: u32, pending: &[u32]) {
    let (events, event_counts, handlers) = a_cycle(lanes, pending);
    let numbers: Vec<u64> = events.iter().map(|event| event.n).collect();
    let all = 3 + handlers;
    assert_eq!(numbers, (0..all).collect::<Vec<u64>>(), "{pending:?}");
    assert!(events.is_sorted_by_key(|event| event.at), "{pending:?}");
    assert_eq!(
        (
            event_counts.attempted,
            event_counts.torn,
            event_counts.inexact
        ),
        (all, None, false)
    );
}

// CTP-30
#[test]
fn handler_may_interrupt_an_event_at_any_moment() {
    for lanes in [0, 1] {
        for first in 0..8 {
            is_whole(lanes, &[first]);
            (0..8).for_each(|second| is_whole(lanes, &[first, second]));
        }
    }
    // The three events and those of six handlers are more than the slots hold.
    for first in 0..4 {
        for second in 0..4 {
            (0..4).for_each(|third| is_whole(1, &[first, second, third, 0, 1, 2]));
        }
    }
}

// CTP-30
#[test]
fn six_nested_handlers_are_recorded_and_more_are_counted() {
    // An event calls the platform once before it has its number, and once after.
    for handlers in 0..=6 {
        is_whole(1, &vec![1; handlers]);
    }
    let (events, event_counts, handlers) = a_cycle(1, &[1; 7]);
    let numbers: Vec<u64> = events.iter().map(|event| event.n).collect();
    assert_eq!(numbers, (0..3 + 6).collect::<Vec<u64>>());
    assert_eq!(
        (handlers, event_counts.attempted, event_counts.recorded),
        (7, 3 + 7, 3 + 6)
    );
    assert!(!event_counts.inexact);
}

/// Switches from a coroutine to another, with handlers that record events of either. Returns for both the
/// numbers of their events and how many there were.
fn a_switch(lanes: u32, pending: &[u32], of_the_next: bool) -> [(Vec<u64>, u64); 2] {
    let region = memory(lanes);
    let (mut outside, mut buffer) = (SingleProcess::default(), RecordBuffer::default());
    let mut harvest = Harvest::new(0);
    LOCAL.set(Some(Box::leak(Box::default())));
    HANDLED.set(0);
    let probe: Probe<Interrupted> = Probe::new(region, 1);
    let [from, to]: [Task; 2] = [(); 2].map(|()| &*Box::leak(Box::new(probe.born("one of two"))));
    from.run();
    TASK.set(Some(if of_the_next { to } else { from }));
    PENDING_HANDLERS.set(pending.iter().copied().collect());
    from.switch_to(Wait::user(8), to);
    TASK.set(None);
    harvest.pass(&region, &mut outside, &mut buffer);
    harvest.finish(&region, &mut outside, &mut buffer);
    let events = events_in(&buffer.0);
    let mut handled = [3, 2];
    handled[usize::from(of_the_next)] += HANDLED.get();
    let mut each = [(Vec::new(), handled[0]), (Vec::new(), handled[1])];
    for (index, (numbers, _)) in each.iter_mut().enumerate() {
        let own = |event: &&Event| event.coroutine.0 == index as u32 + 1;
        let own: Vec<&Event> = events.iter().filter(own).collect();
        assert!(own.is_sorted_by_key(|event| event.at), "{pending:?}");
        numbers.extend(own.iter().map(|event| event.n));
    }
    each
}

// CTP-30
#[test]
fn handler_may_interrupt_a_switch_at_any_moment() {
    let questions = (0..8).flat_map(|first| (0..8).map(move |second| [first, second]));
    for (pending, of_the_next) in questions.flat_map(|pending| [(pending, false), (pending, true)])
    {
        for lanes in [0, 1] {
            for (numbers, all) in a_switch(lanes, &pending, of_the_next) {
                assert_eq!(numbers, (0..all).collect::<Vec<u64>>(), "{pending:?}");
            }
        }
    }
}

// CTP-30, LT-07
#[test]
fn nested_event_is_read_though_the_outer_event_found_no_room() {
    let region = memory(1);
    LOCAL.set(Some(Box::leak(Box::default())));
    let probe: Probe<Interrupted> = Probe::new(region, 1);
    let task: Task = Box::leak(Box::new(probe.born("task")));
    // Of 128 records, the first states the thread and the second is the birth.
    for _ in 0..63 {
        task.run();
        task.suspend(Wait::user(8));
    }
    let shared = Rc::new(RefCell::new((Harvest::new(0), RecordBuffer::default())));
    let reader = shared.clone();
    let drain = move || {
        let (harvest, buffer) = &mut *reader.borrow_mut();
        for _ in 0..3 {
            harvest.pass(&region, &mut SingleProcess::default(), buffer);
        }
    };
    TASK.set(Some(task));
    PENDING_HANDLERS.set([1].into());
    READER.set(Some(Box::new(drain)));
    task.run();
    TASK.set(None);
    let (harvest, buffer) = &*shared.borrow();
    let numbers = events_in(&buffer.0).into_iter().map(|event| event.n);
    let expected = (0..127).chain([128]);
    assert_eq!(
        numbers.collect::<Vec<u64>>(),
        expected.collect::<Vec<u64>>()
    );
    let totals = harvest.totals();
    assert_eq!((totals.lost, totals.quarantined), (1, 0));
}

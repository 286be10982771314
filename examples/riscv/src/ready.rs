//! The tasks that are ready to run, and the wakers that make them ready.

use core::cell::{Cell, RefCell};
use core::ptr;
use core::task::{RawWaker, RawWakerVTable, Waker};

use critical_section::Mutex;
use ctp_nostd::waker;
use heapless::Deque;

use crate::Layout;
use crate::account::ACCOUNTS;
use crate::board::Board;
use crate::tasks::TASKS;

/// How many tasks can be ready at a time. The fault: an interrupt may wake five tasks.
const ROOM: usize = 4;

/// The numbers of the tasks that are ready, in the order of their wakes.
static QUEUE: Mutex<RefCell<Deque<usize, ROOM>>> = Mutex::new(RefCell::new(Deque::new()));

/// The handles that record the wakes of the tasks.
static TRACES: Mutex<Cell<[Trace; TASKS]>> = Mutex::new(Cell::new([Trace::mute(); TASKS]));

type Trace = waker::Waker<Board, Layout>;

/// Sets the handles that record the wakes of the tasks.
pub fn record_wakes(traces: [Trace; TASKS]) {
    critical_section::with(|section| TRACES.borrow(section).set(traces));
}

/// Takes the task that has been ready for the longest time.
pub fn take_first() -> Option<usize> {
    critical_section::with(|section| QUEUE.borrow_ref_mut(section).pop_front())
}

/// A waker of the task with this number.
pub fn waker_of(task: usize) -> Waker {
    // SAFETY: the functions of the table keep the rules of `RawWaker`. They use the pointer as a number
    // only, so a waker owns nothing and may be used at any time.
    unsafe { Waker::new(ptr::without_provenance(task), &VTABLE) }
}

const VTABLE: RawWakerVTable =
    RawWakerVTable::new(|task| RawWaker::new(task, &VTABLE), wake, wake, |_| ());

fn wake(task: *const ()) {
    let task = task.addr();
    critical_section::with(|section| {
        TRACES.borrow(section).get()[task].wake();
        ACCOUNTS[task].wake();
        // The fault: without room, the task never becomes ready.
        let _ = QUEUE.borrow_ref_mut(section).push_back(task);
    });
}

//! Signals from the timer's interrupt handler to tasks.

use core::cell::{Cell, RefCell};
use core::future::{Future, poll_fn};
use core::task::{Poll, Waker};

use cortex_m::interrupt::{self, Mutex};
use ctp_nostd::Wait;

use crate::{CTP, board};

/// Raised every millisecond, for a task each.
pub static TICKS: [Tick; 4] = [const { Tick::new() }; 4];

/// The receiver of frames.
pub static FRAMES: Frames = Frames::new();

/// The number of the interrupt in the trace.
const FRAME_INTERRUPT: u64 = 43;

/// A flag, and the waker of the task that waits for it.
pub struct Tick {
    is_raised: Mutex<Cell<bool>>,
    waker: Mutex<RefCell<Option<Waker>>>,
}

impl Tick {
    const fn new() -> Self {
        Tick {
            is_raised: Mutex::new(Cell::new(false)),
            waker: Mutex::new(RefCell::new(None)),
        }
    }

    /// The interrupt handler.
    pub fn raise(&self) {
        let waker = interrupt::free(|section| {
            self.is_raised.borrow(section).set(true);
            self.waker.borrow(section).take()
        });
        waker.inspect(Waker::wake_by_ref);
    }

    /// Waits for the next tick.
    pub fn next(&self) -> impl Future<Output = ()> {
        poll_fn(|context| {
            interrupt::free(|section| {
                if self.is_raised.borrow(section).take() {
                    return Poll::Ready(());
                }
                let waker = context.waker().clone();
                self.waker.borrow(section).replace(Some(waker));
                Poll::Pending
            })
        })
    }
}

/// Frames that no task has taken yet, and the waker of the task that takes them.
pub struct Frames {
    count: Mutex<Cell<u32>>,
    waker: Mutex<RefCell<Option<Waker>>>,
}

impl Frames {
    const fn new() -> Self {
        Frames {
            count: Mutex::new(Cell::new(0)),
            waker: Mutex::new(RefCell::new(None)),
        }
    }

    /// The number of frames that no task has taken.
    pub fn count(&self) -> u32 {
        interrupt::free(|section| self.count.borrow(section).get())
    }

    /// The interrupt handler: the task is woken for the first frame, and then takes all of them.
    pub fn receive(&self) {
        let waker = interrupt::free(|section| {
            let count = self.count.borrow(section);
            count.set(count.get() + 1);
            let is_first = count.get() == 1;
            is_first
                .then(|| self.waker.borrow(section).take())
                .flatten()
        });
        waker.inspect(Waker::wake_by_ref);
    }

    /// Waits for frames; the caller is the site of the wait. If there are none, the poll checks the
    /// receiver for this long.
    #[track_caller]
    pub fn received(&'static self, check_ms: u32) -> impl Future<Output = ()> {
        let frames = poll_fn(move |context| {
            if interrupt::free(|section| self.count.borrow(section).take()) != 0 {
                return Poll::Ready(());
            }
            let end = board::now_ms() + check_ms;
            while board::now_ms() < end {}
            // The fault: a first frame that was received since the count was read wakes no task.
            let waker = context.waker().clone();
            interrupt::free(|section| self.waker.borrow(section).replace(Some(waker)));
            Poll::Pending
        });
        CTP.traced_as(Wait::user(FRAME_INTERRUPT), frames)
    }
}

//! A signal from an interrupt handler to a task.

use core::cell::{Cell, RefCell};
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};

use cortex_m::interrupt::{self, Mutex};
use ctp_nostd::Wait;

use crate::{CTP, board};

/// Raised every millisecond.
pub static TIMER: Signal = Signal::new(15);
/// Raised when a frame is received.
pub static FRAMES: Signal = Signal::new(43);

/// A flag, and the waker of the task that waits for it.
pub struct Signal {
    /// The number of the interrupt.
    number: u64,
    is_raised: Mutex<Cell<bool>>,
    waker: Mutex<RefCell<Option<Waker>>>,
}

/// A task that waits for a signal.
pub struct Received {
    signal: &'static Signal,
    wait: Wait,
    /// How long the poll goes on after the waker was stored.
    check_ms: u32,
}

impl Signal {
    const fn new(number: u64) -> Self {
        Signal {
            number,
            is_raised: Mutex::new(Cell::new(false)),
            waker: Mutex::new(RefCell::new(None)),
        }
    }

    /// The interrupt handler: raises the flag, and wakes the task.
    pub fn raise(&self) {
        let waker = interrupt::free(|section| {
            self.is_raised.borrow(section).set(true);
            self.waker.borrow(section).take()
        });
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Waits until the flag is raised; the caller is the site of the wait.
    #[track_caller]
    pub fn received(&'static self) -> Received {
        Received {
            signal: self,
            wait: Wait::user(self.number),
            check_ms: 0,
        }
    }
}

impl Received {
    /// Lets the poll that finds no signal check the receiver for this long.
    pub fn with_check(self, check_ms: u32) -> Self {
        Received { check_ms, ..self }
    }
}

impl Future for Received {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let signal = self.signal;
        let is_raised = interrupt::free(|section| {
            let waker = context.waker().clone();
            signal.waker.borrow(section).replace(Some(waker));
            signal.is_raised.borrow(section).take()
        });
        if is_raised {
            return Poll::Ready(());
        }
        CTP.probe::<board::Board>().waits_for(self.wait);
        let end = board::now_ms() + self.check_ms;
        while board::now_ms() < end {}
        Poll::Pending
    }
}

//! Alarms: the timer's interrupt handler wakes each task at the time for which the task waits.

use core::cell::RefCell;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};

use critical_section::Mutex;
use ctp_nostd::Wait;

use crate::CTP;
use crate::board::{self, Board, NS_PER_MS};

/// An alarm for each task that waits for a time.
pub static ALARMS: [Alarm; 5] = [const { Alarm::new() }; 5];

/// The time at which a task is to be woken, and its waker.
pub struct Alarm(Mutex<RefCell<Option<Setting>>>);

struct Setting {
    due_ms: u64,
    waker: Waker,
}

/// Waits until a time.
pub struct Due {
    alarm: &'static Alarm,
    due_ms: u64,
    wait: Wait,
}

/// Wakes each task that waits for this time or an earlier one. Called by the interrupt handler.
pub fn wake_due(now_ms: u64) {
    for alarm in &ALARMS {
        if let Some(waker) = alarm.take_due(now_ms) {
            waker.wake();
        }
    }
}

impl Alarm {
    const fn new() -> Self {
        Alarm(Mutex::new(RefCell::new(None)))
    }

    /// Waits for the next multiple of this many milliseconds; the caller is the site of the wait.
    #[track_caller]
    pub fn next(&'static self, every_ms: u64) -> Due {
        let due_ms = (board::now_ms() / every_ms + 1) * every_ms;
        Due {
            alarm: self,
            due_ms,
            wait: Wait::timer(due_ms * NS_PER_MS),
        }
    }

    fn set(&self, due_ms: u64, waker: Waker) {
        let setting = Setting { due_ms, waker };
        critical_section::with(|section| self.0.replace(section, Some(setting)));
    }

    fn take_due(&self, now_ms: u64) -> Option<Waker> {
        let due = critical_section::with(|section| {
            let mut setting = self.0.borrow_ref_mut(section);
            setting.take_if(|setting| setting.due_ms <= now_ms)
        });
        due.map(|setting| setting.waker)
    }
}

impl Future for Due {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.due_ms <= board::now_ms() {
            return Poll::Ready(());
        }
        CTP.probe::<Board>().waits_for(self.wait);
        self.alarm.set(self.due_ms, context.waker().clone());
        Poll::Pending
    }
}

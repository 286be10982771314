//! The tasks.

use core::future::poll_fn;
use core::task::Poll;

use ctp_nostd::Wait;

use crate::alarm::Alarm;
use crate::board::{self, Board};
use crate::{CTP, account};

/// The number of tasks.
pub const TASKS: usize = NAMES.len();

/// The names of the tasks, in the order of their numbers.
pub const NAMES: [&str; 6] = ["control", "sensor", "display", "blink", "radio", "log"];

/// The number of the task `log`, which the executor wakes every second.
pub const LOG: usize = 5;

/// How long the tasks run.
const WATCHED_MS: u64 = 5_000;

/// How often the radio listens. Once in 864 ms, all other alarms are due at the same time.
const LISTEN_EVERY_MS: u64 = 27;

/// Works once in so many milliseconds, for ever.
pub async fn periodic(alarm: &'static Alarm, every_ms: u64) {
    loop {
        alarm.next(every_ms).await;
    }
}

/// Listens for frames.
pub async fn radio(alarm: &'static Alarm) {
    loop {
        alarm.next(LISTEN_EVERY_MS).await; // the wakeup is lost here
    }
}

/// Prints the account of all tasks at the end, and halts. So this task is running in the dump.
pub async fn log() {
    while board::now_ms() < WATCHED_MS {
        second().await;
    }
    board::stop_timer();
    account::print();
    loop {
        riscv::asm::wfi();
    }
}

/// Waits until the executor wakes the task.
async fn second() {
    let mut has_waited = false;
    poll_fn(|_| {
        if has_waited {
            return Poll::Ready(());
        }
        has_waited = true;
        CTP.probe::<Board>().waits_for(Wait::user(0));
        Poll::Pending
    })
    .await;
}

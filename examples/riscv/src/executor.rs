//! The executor: polls the tasks that are ready, and sleeps until an interrupt makes a task ready.

use core::future::Future;
use core::panic::Location;
use core::pin::Pin;
use core::task::Context;

use ctp_nostd::{Coroutine, Kind, Probe};

use crate::Layout;
use crate::account::ACCOUNTS;
use crate::board::{self, Board};
use crate::ready;
use crate::tasks::{LOG, NAMES, TASKS};

/// A task and its trace.
pub struct Task<'f> {
    number: usize,
    trace: Coroutine<Board, Layout>,
    future: Pin<&'f mut dyn Future<Output = ()>>,
}

impl<'f> Task<'f> {
    /// The task with this number, which has not run yet.
    #[track_caller]
    pub fn new(
        probe: Probe<Board, Layout>,
        number: usize,
        future: Pin<&'f mut dyn Future<Output = ()>>,
    ) -> Self {
        Task {
            number,
            trace: probe.born_as(NAMES[number], Kind::Future, Location::caller()),
            future,
        }
    }

    /// Runs the task up to its next wait. No task ends.
    fn poll(&mut self) {
        let account = &ACCOUNTS[self.number];
        self.trace.run();
        account.run();
        let waker = ready::waker_of(self.number);
        let _ = self.future.as_mut().poll(&mut Context::from_waker(&waker));
        self.trace.suspend_announced();
        account.suspend();
    }
}

/// Runs the tasks, and wakes the task `log` every second.
pub fn run(mut tasks: [Task<'_>; TASKS]) -> ! {
    ready::record_wakes(tasks.each_ref().map(|task| task.trace.waker()));
    tasks.iter_mut().for_each(Task::poll);
    loop {
        let next_second_ms = (board::now_ms() / 1_000 + 1) * 1_000;
        while board::now_ms() < next_second_ms {
            poll_ready(&mut tasks);
            riscv::asm::wfi(); // a task that became ready since the poll waits for a millisecond at most
        }
        poll_ready(&mut tasks);
        ready::waker_of(LOG).wake();
    }
}

/// Runs the tasks that are ready, until there are none.
fn poll_ready(tasks: &mut [Task<'_>; TASKS]) {
    while let Some(number) = ready::take_first() {
        tasks[number].poll();
    }
}

//! A coroutine that blocks its thread while it runs on a stack of its own.

use std::hint::black_box;
use std::thread;
use std::time::Duration;

use corosensei::{Coroutine, Yielder};
use ctp_nostd::{Task, Wait};

use crate::Green;

/// How long the coroutine blocks its thread. Longer than any test.
const TIME: Duration = Duration::from_secs(3600);

/// A coroutine that waits once, and then blocks its thread.
pub struct Blocked {
    task: &'static Task,
    coroutine: Coroutine<(), (), ()>,
}

/// Makes the coroutine with this number, which has not run yet.
pub fn start(number: u32) -> (u32, Blocked) {
    let task: &'static Task = Box::leak(Box::new(Task::born("blocker")));
    let coroutine = Coroutine::new(move |yielder: &Yielder<(), ()>, ()| {
        task.suspend_with_stack(Wait::to_yield());
        yielder.suspend(());
        serve();
    });
    (number + 1, Blocked { task, coroutine })
}

#[inline(never)]
fn serve() {
    block_here();
    black_box(());
}

#[inline(never)]
fn block_here() {
    thread::sleep(TIME);
    black_box(());
}

impl Green for Blocked {
    fn task(&self) -> &'static Task {
        self.task
    }

    fn resume(&mut self) {
        self.coroutine.resume(());
    }
}

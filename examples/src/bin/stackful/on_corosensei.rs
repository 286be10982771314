//! Coroutines of the library corosensei.

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, Yielder};
use ctp_nostd::Task;

use crate::Green;
use crate::chain::session;

/// The size of a stack.
const STACK_BYTES: usize = 16 << 10;

/// A coroutine of corosensei.
pub struct Corosensei {
    task: &'static Task,
    coroutine: Coroutine<(), (), ()>,
}

/// Makes the coroutine with this number, which has not run yet.
pub fn start(number: u32) -> (u32, Corosensei) {
    let task: &'static Task = Box::leak(Box::new(Task::born("session")));
    let stack = DefaultStack::new(STACK_BYTES).expect("memory for a stack");
    let body = move |yielder: &Yielder<(), ()>, ()| {
        session(task, number, &|| yielder.suspend(()));
    };
    let coroutine = Coroutine::with_stack(stack, body);
    (number, Corosensei { task, coroutine })
}

impl Green for Corosensei {
    fn task(&self) -> &'static Task {
        self.task
    }

    fn resume(&mut self) {
        self.coroutine.resume(());
    }
}

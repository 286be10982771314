//! Coroutines of the library generator, with which the runtime `may` switches stacks.

use std::cell::RefCell;

use ctp_nostd::Task;
use generator::{Gn, LocalGenerator, Scope};

use crate::Green;
use crate::chain::session;

/// The size of a stack, in words.
const STACK_WORDS: usize = 4 << 10;

/// A generator that runs a coroutine.
pub struct Generator {
    task: &'static Task,
    generator: LocalGenerator<'static, (), ()>,
}

/// Makes the coroutine with this number, which has not run yet.
pub fn start(number: u32) -> (u32, Generator) {
    let task: &'static Task = Box::leak(Box::new(Task::born("session")));
    let body = move |scope: Scope<'_, '_, (), ()>| {
        let scope = RefCell::new(scope);
        session(task, number, &|| {
            scope.borrow_mut().yield_with(());
        });
    };
    let generator = Gn::new_scoped_opt_local(STACK_WORDS, body);
    (number, Generator { task, generator })
}

impl Green for Generator {
    fn task(&self) -> &'static Task {
        self.task
    }

    fn resume(&mut self) {
        self.generator.resume();
    }
}

//! Coroutines made with the context functions of the C library.
#![expect(unsafe_code, reason = "switches stacks by functions of C")]

use std::cell::Cell;
use std::ptr;

use ctp_nostd::Task;

use crate::Green;
use crate::chain::session;

/// The size of a stack.
const STACK_BYTES: usize = 32 << 10;

/// A coroutine with a context of its own.
pub struct UContext(*mut Shared);

/// What the coroutine and its scheduler share.
struct Shared {
    task: &'static Task,
    number: u32,
    scheduler: libc::ucontext_t,
    coroutine: libc::ucontext_t,
}

thread_local! {
    /// The coroutine that starts on this thread.
    static STARTING: Cell<*mut Shared> = const { Cell::new(ptr::null_mut()) };
}

/// Makes the coroutine with this number, which has not run yet.
pub fn start(number: u32) -> (u32, UContext) {
    let task: &'static Task = Box::leak(Box::new(Task::born("session")));
    let stack: &'static mut [u8] = Box::leak(vec![0; STACK_BYTES].into_boxed_slice());
    // SAFETY: a context of zeros is a valid place for `getcontext`, which fills it in. The stack lives as long as the
    // program.
    let shared = unsafe {
        let mut shared = Box::new(Shared {
            task,
            number,
            scheduler: std::mem::zeroed(),
            coroutine: std::mem::zeroed(),
        });
        assert_eq!(libc::getcontext(&raw mut shared.coroutine), 0);
        shared.coroutine.uc_stack.ss_sp = stack.as_mut_ptr() as _;
        shared.coroutine.uc_stack.ss_size = STACK_BYTES;
        libc::makecontext(&raw mut shared.coroutine, begin, 0);
        Box::into_raw(shared)
    };
    (number, UContext(shared))
}

/// The first function of every coroutine.
extern "C" fn begin() {
    let shared = STARTING.get();
    // SAFETY: `resume` has stored the coroutine that starts, which is never freed. Only one of the two contexts runs
    // at a time.
    unsafe {
        session((*shared).task, (*shared).number, &|| {
            libc::swapcontext(&raw mut (*shared).coroutine, &raw const (*shared).scheduler);
        });
    }
}

impl Green for UContext {
    fn task(&self) -> &'static Task {
        // SAFETY: the coroutine is never freed.
        unsafe { (*self.0).task }
    }

    fn resume(&mut self) {
        STARTING.set(self.0);
        // SAFETY: as in `begin`.
        unsafe {
            libc::swapcontext(&raw mut (*self.0).scheduler, &raw const (*self.0).coroutine);
        }
    }
}

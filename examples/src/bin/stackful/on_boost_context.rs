//! Coroutines on stacks that Boost.Context switches. The library is loaded when the program starts, so that nothing of
//! Boost is needed to build it.
#![expect(unsafe_code, reason = "switches stacks by functions of Boost")]

use std::cell::Cell;
use std::ffi::{CStr, CString};
use std::ptr;

use ctp_nostd::Task;

use crate::Green;
use crate::chain::session;

/// The size of a stack.
const STACK_BYTES: usize = 32 << 10;

/// Something in memory.
type Address = *mut u8;
/// Where a suspended stack goes on.
type Context = Address;

/// What a switch returns: the stack that was left, and the argument of the switch.
#[repr(C)]
struct Transfer {
    from: Context,
    argument: Address,
}

type Begin = extern "C" fn(Transfer) -> !;
type Make = unsafe extern "C" fn(stack_end: Address, bytes: usize, begin: Begin) -> Context;
type Jump = unsafe extern "C" fn(to: Context, argument: Address) -> Transfer;

/// The functions of the library.
#[derive(Clone, Copy)]
pub struct Library {
    make: Make,
    jump: Jump,
}

impl Library {
    /// Loads the shared library at this path.
    pub fn load(path: &str) -> Self {
        let path = CString::new(path).expect("no zero in a path");
        // SAFETY: a path that ends with 0.
        let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW) };
        assert!(!library.is_null(), "the library can be loaded");
        let symbol = |name: &CStr| {
            // SAFETY: a loaded library, and a name that ends with 0.
            let function = unsafe { libc::dlsym(library, name.as_ptr()) };
            assert!(!function.is_null(), "the library has {name:?}");
            function as Address
        };
        // SAFETY: the functions have these types in Boost 1.61 and later. The library is never unloaded.
        unsafe {
            Library {
                make: std::mem::transmute::<Address, Make>(symbol(c"make_fcontext")),
                jump: std::mem::transmute::<Address, Jump>(symbol(c"jump_fcontext")),
            }
        }
    }
}

/// A coroutine with a stack of its own.
pub struct OnBoost(&'static Shared);

/// What the coroutine and its scheduler share.
struct Shared {
    task: &'static Task,
    number: u32,
    jump: Jump,
    scheduler: Cell<Context>,
    coroutine: Cell<Context>,
}

/// Makes the coroutine with this number, which has not run yet.
pub fn start(library: Library, number: u32) -> (u32, OnBoost) {
    let stack: &'static mut [u8] = Box::leak(vec![0; STACK_BYTES].into_boxed_slice());
    let end = stack.as_mut_ptr_range().end as Address;
    // SAFETY: the stack lives as long as the program, and has this size below its end.
    let context = unsafe { (library.make)(end, STACK_BYTES, begin) };
    let shared = Shared {
        task: Box::leak(Box::new(Task::born("session"))),
        number,
        jump: library.jump,
        scheduler: Cell::new(ptr::null_mut()),
        coroutine: Cell::new(context),
    };
    (number, OnBoost(Box::leak(Box::new(shared))))
}

/// The first function of every coroutine.
extern "C" fn begin(transfer: Transfer) -> ! {
    // SAFETY: `resume` passes a coroutine, which is never freed.
    let shared = unsafe { &*(transfer.argument as *const Shared) };
    shared.scheduler.set(transfer.from);
    session(shared.task, shared.number, &|| {
        // SAFETY: the scheduler waits in `resume`, on the thread that runs this.
        let transfer = unsafe { (shared.jump)(shared.scheduler.get(), ptr::null_mut()) };
        shared.scheduler.set(transfer.from);
    });
    unreachable!("a session does not end")
}

impl Green for OnBoost {
    fn task(&self) -> &'static Task {
        self.0.task
    }

    fn resume(&mut self) {
        let argument = ptr::from_ref(self.0) as *mut Shared as Address;
        // SAFETY: the coroutine waits, and only this thread resumes it.
        let transfer = unsafe { (self.0.jump)(self.0.coroutine.get(), argument) };
        self.0.coroutine.set(transfer.from);
    }
}

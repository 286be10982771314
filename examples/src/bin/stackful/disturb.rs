//! Threads that throw exceptions, and load and unload a library, all the time.
#![allow(unsafe_code, reason = "loads a library and calls its function")]

use std::ffi::{CString, c_int};
use std::panic::{catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

/// Functions that an exception leaves.
const DEPTH: c_int = 8;

/// Panics that were caught.
static PANICS: AtomicU64 = AtomicU64::new(0);
/// Exceptions that the library has thrown and caught, each after it was loaded again.
static EXCEPTIONS: AtomicU64 = AtomicU64::new(0);

/// Starts the threads. The library is at this path.
pub fn start(path: &str) {
    let path = CString::new(path).expect("no zero in a path");
    thread::spawn(|| {
        loop {
            assert!(catch_unwind(|| leave(DEPTH)).is_err());
            PANICS.fetch_add(1, Ordering::Relaxed);
        }
    });
    thread::spawn(move || {
        loop {
            load_and_throw(&path);
            EXCEPTIONS.fetch_add(1, Ordering::Relaxed);
        }
    });
}

/// What the threads have done so far, as numbers.
pub fn counts() -> String {
    let counts = [&PANICS, &EXCEPTIONS].map(|count| count.load(Ordering::Relaxed));
    format!("{} {}\n", counts[0], counts[1])
}

#[inline(never)]
fn leave(depth: c_int) {
    if depth == 0 {
        resume_unwind(Box::new(depth)); // without the message of a panic
    }
    leave(depth - 1);
    std::hint::black_box(depth);
}

fn load_and_throw(path: &CString) {
    // SAFETY: a path that ends with 0.
    let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW) };
    assert!(!library.is_null(), "the library can be loaded");
    // SAFETY: a loaded library, and a name that ends with 0.
    let function = unsafe { libc::dlsym(library, c"throw_and_catch".as_ptr()) };
    assert!(!function.is_null(), "the library has the function");
    // SAFETY: the function has this type.
    let function: extern "C" fn(c_int) -> c_int = unsafe { std::mem::transmute(function) };
    assert_eq!(function(DEPTH), 1);
    // SAFETY: loaded above; no thread runs its code.
    unsafe { libc::dlclose(library) };
}

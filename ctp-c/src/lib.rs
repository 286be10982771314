//! The probe for programs in C and C++.
//!
//! These functions record the same events as [`ctp_nostd`], in the same memory. `include/ctp.h` is
//! generated from this crate by cbindgen, and `include/ctp.hpp` adds coroutines of C++20.
//!
//! No function unwinds or allocates. Null pointers, coroutines that were never born or have died, and
//! copies of their handles are permitted everywhere: such a call records nothing. [`handle`] explains
//! how.
#![no_std]

pub mod handle;

pub mod coroutine;

pub mod waker;

pub mod program;

pub mod kinds;
mod text;

use core::panic::PanicInfo;

unsafe extern "C" {
    safe fn abort() -> !;
}

/// Ends the program, because a panic must not reach a function of C.
#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    abort()
}

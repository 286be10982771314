//! The C functions that make wakers, and record their wakes.

use core::ffi::c_char;

use crate::handle::{self, CoroutineHandle, WakerHandle};
use crate::text;

/// Returns the waker of this coroutine. Make it before the coroutine first waits: from then on, the trace can
/// say that the coroutine was not woken.
///
/// # Safety
///
/// `coroutine` is null, or a handle that no other thread writes.
// SAFETY: all functions of this library begin with `ctp_`, and `ctp.h` declares them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ctp_waker_of(coroutine: *const CoroutineHandle) -> WakerHandle {
    // SAFETY: as required of the caller.
    let task = unsafe { handle::living(coroutine) };
    task.map_or(WakerHandle::mute(), |task| WakerHandle::of(task.waker()))
}

/// Records that the coroutine is about to be made ready. Call this before the coroutine is queued:
/// the other order would report a woken coroutine as not woken.
///
/// # Safety
///
/// `waker` is null, or a waker that no other thread writes. `file` is null, or a string that never
/// changes and lives as long as the process.
// SAFETY: as above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ctp_wake_at(waker: *const WakerHandle, file: *const c_char, line: u32) {
    // SAFETY: null, or a waker of the caller.
    let handle = unsafe { waker.as_ref() };
    if let Some(waker) = handle.and_then(WakerHandle::waker) {
        // SAFETY: as required of the caller.
        waker.wake_at(unsafe { text::line_of(file, line) });
    }
}

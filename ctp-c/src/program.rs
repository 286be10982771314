//! The C functions that are not about a single coroutine: attach, the end of a thread, closed resources, and locks.

use core::ffi::c_char;

use crate::{kinds, text};

/// Attaches to the recorder that started this program, and does nothing without a recorder. Returns
/// true if events are recorded from now on. Call this first in main, before there are threads. If
/// attaching fails, one line on standard error says why.
// SAFETY: all functions of this library begin with `ctp_`, and `ctp.h` declares them.
#[unsafe(no_mangle)]
pub extern "C" fn ctp_attach() -> bool {
    ctp_nostd::attach()
}

/// Records that this thread is about to end, so that another thread can use its buffer at once.
// SAFETY: as above.
#[unsafe(no_mangle)]
pub extern "C" fn ctp_thread_ends() {
    ctp_nostd::thread_ends();
}

/// Records that a resource is closed, so that its waiters must be woken now or wait for ever. Call
/// this just before the call that closes the resource. `wait` and `resource` are those of the waits.
///
/// # Safety
///
/// `file` is null, or a string that never changes and lives as long as the process.
// SAFETY: as above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ctp_closed_at(wait: u32, resource: u64, file: *const c_char, line: u32) {
    if let Some(probe) = ctp_nostd::probe() {
        // SAFETY: as required of the caller.
        probe.closed_at(kinds::resource(wait, resource), unsafe {
            text::line_of(file, line)
        });
    }
}

/// Records that the coroutine that runs on this thread, or else the thread, holds a lock from now on.
/// Call this just after the lock was taken.
///
/// # Safety
///
/// As for `ctp_closed_at`.
// SAFETY: as above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ctp_acquired_at(wait: u32, resource: u64, file: *const c_char, line: u32) {
    if let Some(probe) = ctp_nostd::probe() {
        // SAFETY: as required of the caller.
        probe.acquired_at(kinds::resource(wait, resource), unsafe {
            text::line_of(file, line)
        });
    }
}

/// Like ctp_acquired, for a lock that others may hold at the same time, as readers do.
///
/// # Safety
///
/// As for `ctp_closed_at`.
// SAFETY: as above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ctp_acquired_shared_at(
    wait: u32,
    resource: u64,
    file: *const c_char,
    line: u32,
) {
    if let Some(probe) = ctp_nostd::probe() {
        // SAFETY: as required of the caller.
        let place = unsafe { text::line_of(file, line) };
        probe.acquired_shared_at(kinds::resource(wait, resource), place);
    }
}

/// Records that the lock is released. Call this just before the release.
///
/// # Safety
///
/// As for `ctp_closed_at`.
// SAFETY: as above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ctp_released_at(wait: u32, resource: u64, file: *const c_char, line: u32) {
    if let Some(probe) = ctp_nostd::probe() {
        // SAFETY: as required of the caller.
        probe.released_at(kinds::resource(wait, resource), unsafe {
            text::line_of(file, line)
        });
    }
}

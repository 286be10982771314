//! The C functions that record the events of a coroutine: its birth, runs, waits and death.

use core::ffi::c_char;

use ctp_nostd::call_site::ForeignFunction;
use ctp_nostd::{StackPosition, Task, Wait};

use crate::handle::{self, CoroutineHandle};
use crate::kinds::{self, wait_code};
use crate::text;

/// Records the birth of a coroutine. The coroutine that runs on this thread is its parent. `name` may
/// be NULL and is copied; use few different names, because the table of names is limited. The previous
/// content of the handle is ignored: if a coroutine lived there, it never dies in the trace.
///
/// # Safety
///
/// `coroutine` is null, or a handle that no other thread uses. `name` is null or a string. `file` is
/// null, or a string that never changes and lives as long as the process.
// SAFETY: all functions of this library begin with `ctp_`, and `ctp.h` declares them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ctp_born_at(
    coroutine: *mut CoroutineHandle,
    name: *const c_char,
    kind: u32,
    file: *const c_char,
    line: u32,
) {
    if coroutine.is_null() {
        return;
    }
    // SAFETY: as required of the caller.
    unsafe {
        let (name, place) = (text::name_of(name), text::line_of(file, line));
        handle::put(
            coroutine,
            Task::born_as(name, kinds::coroutine_kind(kind), place),
        );
    }
}

/// Like ctp_born_at, but the place of the birth is a function of the program. `function` is the address
/// of its first instruction, or 0 if the place is not known. A report shows the line where the function
/// begins.
///
/// # Safety
///
/// `coroutine` is null, or a handle that no other thread uses. `name` is null or a string.
// SAFETY: as above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ctp_born_in(
    coroutine: *mut CoroutineHandle,
    name: *const c_char,
    kind: u32,
    function: u64,
) {
    if coroutine.is_null() {
        return;
    }
    let place = ForeignFunction::at(function);
    // SAFETY: as required of the caller.
    unsafe {
        let name = text::name_of(name);
        handle::put(
            coroutine,
            Task::born_as(name, kinds::coroutine_kind(kind), place),
        );
    }
}

/// Records that the coroutine runs from now on, on this thread, until it suspends or dies. Call this
/// before the switch to the coroutine.
///
/// # Safety
///
/// `coroutine` is null, or a handle that no other thread uses.
// SAFETY: as above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ctp_run(coroutine: *mut CoroutineHandle) {
    // SAFETY: as required of the caller.
    if let Some(task) = unsafe { handle::living(coroutine) } {
        task.run();
    }
}

/// Records that the coroutine waits from now on. Call this before another thread can resume the
/// coroutine. `wait` is CTP_READABLE or another kind of wait, with CTP_IDLE or CTP_SEVERAL added
/// if they apply. `resource` is the number of that kind.
///
/// # Safety
///
/// As for `ctp_run`. `file` is null, or a string that never changes and lives as long as the process.
// SAFETY: as above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ctp_suspend_at(
    coroutine: *mut CoroutineHandle,
    wait: u32,
    resource: u64,
    file: *const c_char,
    line: u32,
) {
    // SAFETY: as required of the caller.
    if let Some(task) = unsafe { handle::living(coroutine) } {
        // SAFETY: as required of the caller.
        let place = unsafe { text::line_of(file, line) };
        task.suspend(Wait::of_code(wait_code(wait), resource, place));
    }
}

/// Like ctp_suspend, for a coroutine with a stack of its own. Call this in the function that then
/// switches to another stack. `position` is the program counter, the stack pointer and the frame pointer
/// of that function, or null.
///
/// # Safety
///
/// As for `ctp_suspend_at`. `position` is null, or points to three numbers.
// SAFETY: as above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ctp_suspend_stack_at(
    coroutine: *mut CoroutineHandle,
    wait: u32,
    resource: u64,
    position: *const u64,
    file: *const c_char,
    line: u32,
) {
    // SAFETY: as required of the caller.
    let Some(task) = (unsafe { handle::living(coroutine) }) else {
        return;
    };
    // SAFETY: as required of the caller. A position is three numbers.
    let position = unsafe { (position as *const StackPosition).as_ref() };
    // SAFETY: as required of the caller.
    let place = unsafe { text::line_of(file, line) };
    let wait = Wait::of_code(wait_code(wait), resource, place);
    match position {
        Some(position) => task.suspend_at_position(wait, position),
        None => task.suspend(wait),
    }
}

/// Records that the coroutine waits from now on, and that `next` runs in its place. Equals a ctp_suspend
/// and a ctp_run at the same time, but costs less than the two calls. If one of the two coroutines is
/// not recorded, the event of the other is still recorded.
///
/// # Safety
///
/// As for `ctp_suspend_at`, for both handles.
// SAFETY: as above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ctp_switch_at(
    coroutine: *mut CoroutineHandle,
    wait: u32,
    resource: u64,
    next: *mut CoroutineHandle,
    file: *const c_char,
    line: u32,
) {
    // SAFETY: as required of the caller.
    let (task, next_task) = unsafe { (handle::living(coroutine), handle::living(next)) };
    // SAFETY: as required of the caller.
    let place = unsafe { text::line_of(file, line) };
    let wait = Wait::of_code(wait_code(wait), resource, place);
    match (task, next_task) {
        (Some(task), Some(next)) if !core::ptr::eq(task, next) => task.switch_to(wait, next),
        (task, next) => {
            task.into_iter().for_each(|task| task.suspend(wait));
            next.into_iter().for_each(Task::run);
        }
    }
}

/// Records that the coroutine has ended. The handle is then a handle without a coroutine. Call this also
/// when a suspended coroutine is cancelled. The call may be made on any thread.
///
/// # Safety
///
/// As for `ctp_run`.
// SAFETY: as above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ctp_died(coroutine: *mut CoroutineHandle) {
    // SAFETY: as required of the caller.
    drop(unsafe { handle::take(coroutine) });
}

/// Moves a living coroutine to another handle, so that the memory of the first can be freed. The previous
/// content of `to` is ignored.
///
/// # Safety
///
/// Both are null, or handles that no other thread uses.
// SAFETY: as above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ctp_move(to: *mut CoroutineHandle, from: *mut CoroutineHandle) {
    if to.is_null() {
        return;
    }
    // SAFETY: as required of the caller.
    if let Some(task) = unsafe { handle::take(from) } {
        // SAFETY: as required of the caller.
        unsafe { handle::put(to, task) };
    }
}

/// Returns the number that names this coroutine in waits of kind CTP_COROUTINE, or 0 if the coroutine is
/// not recorded.
///
/// # Safety
///
/// As for `ctp_run`.
// SAFETY: as above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ctp_id(coroutine: *const CoroutineHandle) -> u64 {
    // SAFETY: as required of the caller.
    unsafe { handle::living(coroutine) }.map_or(0, Task::id)
}

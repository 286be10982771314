//! Waking, with the line of the runtime that does it: the standard library's wakers pass no caller
//! on to the task.

use std::cell::Cell;
use std::panic::Location;
use std::task::Waker;

thread_local! {
    static PLACE: Cell<Option<&'static Location<'static>>> = const { Cell::new(None) };
}

/// Wakes; the caller is where.
#[track_caller]
pub(crate) fn wake(waker: Waker) {
    let before = PLACE.replace(Some(Location::caller()));
    waker.wake();
    PLACE.set(before);
}

/// Where the wake that goes on here was called. One by somebody else than this runtime is only
/// known to have come to the caller.
#[track_caller]
pub(crate) fn place() -> &'static Location<'static> {
    PLACE.get().unwrap_or(Location::caller())
}

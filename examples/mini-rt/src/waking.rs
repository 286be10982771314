//! Waking, with the line of the runtime that wakes: the standard library's wakers do not pass a
//! caller on to the task.

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

/// The caller of the current wake. For a foreign wake only the call into this runtime is known.
#[track_caller]
pub(crate) fn place() -> &'static Location<'static> {
    PLACE.get().unwrap_or(Location::caller())
}

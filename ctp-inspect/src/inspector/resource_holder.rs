//! What holds a registered waker: an IO driver, a timer, a lock or channel, a task. This follows from the resource for
//! which the future waits.

use ctp_trace::record::{Resource, WakerHolder};

use crate::awaits::RegisteredWaker;

/// What holds the waker that a future has registered; `None` if unknown.
pub fn holder_of(waker: &RegisteredWaker) -> Option<WakerHolder> {
    if waker.is_own {
        return Some(WakerHolder::Own);
    }
    match waker.resource {
        Resource::Readable(fd) | Resource::Writable(fd) => Some(WakerHolder::Io(Some(fd))),
        Resource::Timer(_) => Some(WakerHolder::Timer),
        Resource::Mutex(at)
        | Resource::RwLock(at)
        | Resource::Semaphore(at)
        | Resource::Channel(at)
        | Resource::Room(at)
        | Resource::Notify(at) => Some(WakerHolder::Sync(at)),
        Resource::Task(task) => Some(WakerHolder::Task(task)),
        _ => None,
    }
}

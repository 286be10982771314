//! Finds the lock of a guard of smol's locks, which are those of the crate `async-lock`.

use ctp_trace::record::Resource;

use crate::awaits::view::{TargetView, TypedValue};

/// The bit in the state of a mutex or reader-writer lock that is set while the lock is held exclusively.
const LOCKED: u64 = 1;

/// The lock of a guard, and whether the guard holds the lock exclusively. `None` if the lock is free, or if the guard is
/// of another type.
pub(super) fn lock_of(
    view: &TargetView<'_>,
    guard: TypedValue,
    path: &str,
) -> Option<(Resource, bool)> {
    let lock = view
        .member(guard, "lock")
        .or_else(|| view.member(guard, "__0"));
    let lock = view.target(lock?)?;
    let address = lock.address;
    match path.rsplit("::").next()? {
        "MutexGuard" | "MutexGuardArc" => {
            is_locked(view, lock)?.then_some((Resource::Mutex(address), true))
        }
        "RwLockWriteGuard" => is_locked(view, lock)?.then_some((Resource::RwLock(address), true)),
        "RwLockReadGuard" => Some((Resource::RwLock(address), false)),
        "SemaphoreGuard" => Some((Resource::Semaphore(address), false)),
        _ => None,
    }
}

fn is_locked(view: &TargetView<'_>, lock: TypedValue) -> Option<bool> {
    let state = view.number(view.member(lock, "state")?)?;
    Some(state & LOCKED != 0)
}

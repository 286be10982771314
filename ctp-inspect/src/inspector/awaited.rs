//! What holds the wakers of a task, by what the task awaits.

use ctp_trace::record::{Resource, TaskWait, WakerHolder};

/// The holders of all wakers, if each of them belongs to a known future that waits. Otherwise
/// `holders`, which were found by where the wakers lie.
pub fn holders(holders: Vec<WakerHolder>, waits: &[TaskWait], wakers: u32) -> Vec<WakerHolder> {
    let registered = waits.iter().filter(|wait| wait.has_waker == Some(true));
    let by_waits: Option<Vec<_>> = registered.map(|wait| holder(wait.resource)).collect();
    let complete = by_waits.filter(|by_waits| by_waits.len() == wakers as usize);
    complete.unwrap_or(holders)
}

/// What wakes a future that waits for a resource.
fn holder(resource: Resource) -> Option<WakerHolder> {
    match resource {
        Resource::Readable(fd) | Resource::Writable(fd) => Some(WakerHolder::Io(Some(fd))),
        Resource::Timer(_) => Some(WakerHolder::Timer),
        Resource::Mutex(at)
        | Resource::RwLock(at)
        | Resource::Semaphore(at)
        | Resource::Channel(at)
        | Resource::Notify(at) => Some(WakerHolder::Sync(at)),
        Resource::Task(task) => Some(WakerHolder::Task(task)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(resource: Resource, has_waker: Option<bool>) -> TaskWait {
        TaskWait {
            resource,
            has_waker,
            ..TaskWait::default()
        }
    }

    #[test]
    fn waits_name_the_holders_if_all_wakers_are_theirs() {
        let unknown = vec![WakerHolder::Unknown];
        let mutex = wait(Resource::Mutex(8), Some(true));
        let readable = wait(Resource::Readable(5), Some(true));
        let (sync, io) = (WakerHolder::Sync(8), WakerHolder::Io(Some(5)));
        let by = |waits: &[_], wakers| holders(unknown.clone(), waits, wakers);
        let both = [mutex, readable];
        assert_eq!(by(&both[..1], 1), [sync]);
        assert_eq!(by(&both, 2), [sync, io]);
        // Another waker is left, or the future has none, or does not say.
        assert_eq!(by(&both[..1], 2), unknown);
        for has_waker in [None, Some(false)] {
            assert_eq!(by(&[wait(Resource::Mutex(8), has_waker)], 1), unknown);
        }
        let other = wait(Resource::Unknown, Some(true));
        assert_eq!(by(&[other], 1), unknown);
    }
}

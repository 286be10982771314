//! Reads futures of the crates around smol: `async-lock`, `async-channel`, `async-io` and `event-listener`.

use ctp_trace::record::Resource;

use super::{Awaited, LeafReader};
use crate::awaits::known::SmolLeaf;
use crate::awaits::search::{find_where, owned_of};
use crate::awaits::view::{TargetView, TypedValue};
use crate::awaits::waker::{Registered, registered_waker};
use crate::awaits::wakers::WakerSearch;

/// The values of `dir` in a future that waits until a descriptor is readable or writable.
const READ: u64 = 0;
const WRITE: u64 = 1;
/// What an `EventListener` has in its box.
const LISTENER: &str = "event_listener::InnerListener";
const READY: &str = "async_io::reactor::Ready";
const SOURCE: &str = "async_io::reactor::Source";
/// The maximum number of references in a row from a future to what it waits for.
const MAX_REFERENCES: u32 = 3;

impl LeafReader<'_> {
    /// A future of one of these crates. Each registers a waker whenever it waits.
    pub(super) fn smol(&self, future: TypedValue, leaf: SmolLeaf) -> Awaited {
        match leaf {
            SmolLeaf::Timer => self.timer(future),
            SmolLeaf::Ready => self.ready(future),
            SmolLeaf::Read => self.stream(future, READ),
            SmolLeaf::Write => self.stream(future, WRITE),
            _ => {
                let resource = smol_resource(self.view, future, leaf);
                Awaited::registered(resource, self.listener_waker(future))
            }
        }
    }

    /// The waker in the `EventListener` of a future. From event-listener 5 on, the listener is in a box that the future
    /// owns. Before, the listener is in memory that is not read, so nothing is known of the waker.
    fn listener_waker(&self, future: TypedValue) -> Option<Registered> {
        match self.own_wakers(future)?[..] {
            [] => {
                let listeners = owned_of(self.view, future, LISTENER)?;
                (!listeners.is_empty()).then_some(Registered::No)
            }
            [waker] => registered_waker(self.view, waker, self.owner),
            _ => None,
        }
    }

    /// A timer keeps a copy of the waker that it has registered.
    fn timer(&self, timer: TypedValue) -> Awaited {
        if self.is_endless_timer(timer) {
            return Awaited::unknown();
        }
        let deadline = self.view.member(timer, "when");
        let deadline = deadline.and_then(|deadline| self.instant(deadline));
        let copy = self.view.member(timer, "id_and_waker");
        let waker = copy.and_then(|copy| match self.own_wakers(copy)?[..] {
            [] => Some(Registered::No),
            [waker] => registered_waker(self.view, waker, self.owner),
            _ => None,
        });
        Awaited::registered(deadline.map(Resource::Timer), waker)
    }

    /// The wakers that a value owns, also in boxes. `None` if the search was cut.
    fn own_wakers(&self, value: TypedValue) -> Option<Vec<TypedValue>> {
        owned_of(self.view, value, "core::task::wake::RawWaker")
    }

    /// A future that waits until a descriptor is ready.
    fn ready(&self, future: TypedValue) -> Awaited {
        let Some(ready) = part_of(self.view, future, READY, 0) else {
            return Awaited::unknown();
        };
        let source = part_of(self.view, ready, SOURCE, MAX_REFERENCES);
        let resource = source.and_then(|source| self.source_resource(ready, source));
        let waker = source.and_then(|source| self.source_waker(source));
        Awaited::registered(resource, waker)
    }

    fn source_resource(&self, ready: TypedValue, source: TypedValue) -> Option<Resource> {
        let registration = self.view.member(source, "registration")?;
        let raw = self.view.number(self.view.member(registration, "raw")?)?;
        let descriptor = u32::try_from(raw).ok()?;
        let direction = self.view.number(self.view.member(ready, "dir")?)?;
        Some(if direction == WRITE {
            Resource::Writable(descriptor)
        } else {
            Resource::Readable(descriptor)
        })
    }

    /// The waker among those of a descriptor. Both directions have wakers, and a task uses one at a time.
    fn source_waker(&self, source: TypedValue) -> Option<Registered> {
        let found = WakerSearch::new(self.view, self.owner, self.tasks).run([source]);
        match found.wakers.first() {
            Some(waker) => Some(Registered::At(self.data_of(*waker)?)),
            None if found.is_cut => None,
            None => Some(Registered::No),
        }
    }

    /// The word of a waker that has the address of the task.
    fn data_of(&self, waker: u64) -> Option<u64> {
        let words = [waker, waker.checked_add(8)?];
        let mut words = words.into_iter();
        words.find(|at| {
            let word = self.view.pages.word(*at);
            word.is_some_and(|word| self.owner.is_woken_by(word))
        })
    }

    /// An operation on a stream. The stream keeps the future that waits until the descriptor is ready. A future for the
    /// other direction may be left from an earlier operation.
    fn stream(&self, operation: TypedValue, direction: u64) -> Awaited {
        let found = find_where(self.view, operation, &|of| of.path == READY, MAX_REFERENCES);
        let mut found = found.unwrap_or_default();
        found.retain(|ready| {
            let of = self.view.member(*ready, "dir");
            of.and_then(|of| self.view.number(of)) == Some(direction)
        });
        match found[..] {
            [ready] => Awaited {
                // A stream of another library may wait for something else.
                always_registers: false,
                ..self.ready(ready)
            },
            _ => Awaited::unknown(),
        }
    }

    /// Whether a future is a timer that is never due.
    pub(super) fn is_endless_timer(&self, future: TypedValue) -> bool {
        let time = self.view.member(future, "when");
        let time = time.and_then(|time| self.view.variant_name(time));
        time.is_some_and(|(variant, _)| variant == "None")
    }
}

/// The lock, semaphore or channel of a future.
fn smol_resource(view: &TargetView<'_>, future: TypedValue, leaf: SmolLeaf) -> Option<Resource> {
    let (path, resource): (_, fn(u64) -> Resource) = match leaf {
        SmolLeaf::Lock => ("async_lock::mutex::Mutex", Resource::Mutex),
        SmolLeaf::RwLock => ("async_lock::rwlock::raw::RawRwLock", Resource::RwLock),
        SmolLeaf::Acquire => ("async_lock::semaphore::Semaphore", Resource::Semaphore),
        SmolLeaf::Receive => ("async_channel::Channel", Resource::Channel),
        SmolLeaf::Send => ("async_channel::Channel", Resource::Room),
        _ => return None,
    };
    let found = part_of(view, future, path, MAX_REFERENCES)?;
    Some(resource(found.address))
}

/// The first part of a value that has the type with this path. The part is in the value, or behind references.
fn part_of(
    view: &TargetView<'_>,
    from: TypedValue,
    path: &str,
    references: u32,
) -> Option<TypedValue> {
    let found = find_where(view, from, &|of| of.path == path, references)?;
    found.first().copied()
}

//! Reads futures of tokio that wait for descriptors.

use ctp_trace::record::Resource;

use super::{Awaited, LeafReader};
use crate::awaits::known::Direction;
use crate::awaits::search::{find, find_where};
use crate::awaits::view::TypedValue;
use crate::awaits::waker::{Registered, registered_waker};
use crate::types::layout::Type;

/// The end of the path of the type that contains a descriptor.
const STREAM: &str = "::poll_evented::PollEvented";
/// The maximum number of references in a row from an operation to its stream.
const MAX_REFERENCES: u32 = 4;
/// The bits of an `Interest`.
const READABLE: u64 = 1;
const WRITABLE: u64 = 2;

impl LeafReader<'_> {
    /// The future behind `readable`, `accept` and similar functions.
    pub(super) fn readiness(&self, readiness: TypedValue) -> Awaited {
        let waiter = self
            .view
            .member(readiness, "waiter")
            .map(|waiter| self.view.unwrapped(waiter));
        let waker = waiter.and_then(|waiter| {
            registered_waker(self.view, self.view.member(waiter, "waker")?, self.owner)
        });
        let resource = self.readiness_resource(readiness, waiter);
        Awaited::registered(resource, waker)
    }

    fn readiness_resource(
        &self,
        readiness: TypedValue,
        waiter: Option<TypedValue>,
    ) -> Option<Resource> {
        let scheduled = self.shared(readiness, "scheduled_io")?;
        let descriptor = self.descriptor(scheduled)?;
        match self.view.number(self.view.member(waiter?, "interest")?)? {
            READABLE => Some(Resource::Readable(descriptor)),
            WRITABLE => Some(Resource::Writable(descriptor)),
            _ => None,
        }
    }

    /// An operation such as `read`, which polls the stream itself.
    pub(super) fn operation(&self, operation: TypedValue, direction: Direction) -> Awaited {
        let streams = find(self.view, operation, STREAM, MAX_REFERENCES);
        let Some(&[stream]) = streams.as_deref() else {
            return Awaited::unknown();
        };
        let scheduled = self.scheduled(stream);
        let descriptor = self.descriptor_in(stream);
        let has_own = scheduled.and_then(|scheduled| self.stream_waker(scheduled, direction));
        let waker = scheduled.and_then(|scheduled| self.either_waker(scheduled));
        // A stream of another library may wait for something else, such as a timer.
        let waker = waker.filter(|waker| waker.is_some() || self.is_of_tokio(operation));
        let resource = descriptor.map(|descriptor| match direction {
            Direction::Read => Resource::Readable(descriptor),
            Direction::Write => Resource::Writable(descriptor),
        });
        Awaited {
            // A stream around the descriptor, such as TLS, may wait for the other direction.
            resource: resource
                .filter(|_| has_own.is_some_and(Registered::is_some))
                .unwrap_or_default(),
            waker,
            always_registers: false,
        }
    }

    /// Whether only types of tokio and of the standard library are between an operation and its stream.
    fn is_of_tokio(&self, operation: TypedValue) -> bool {
        let ends = find_where(self.view, operation, &is_stream_or_foreign, MAX_REFERENCES);
        ends.is_some_and(|ends| ends.iter().all(|end| !is_foreign(&self.view.path(*end))))
    }

    fn scheduled(&self, stream: TypedValue) -> Option<TypedValue> {
        let registration = self.view.member(stream, "registration")?;
        let shared = self.view.member(registration, "shared")?;
        // In tokio before 1.23, a slab contains the value.
        self.view.target(shared).or_else(|| {
            self.view
                .member(self.shared_value(shared, "value")?, "value")
        })
    }

    /// The waker for either direction: for reading, or else for writing.
    fn either_waker(&self, scheduled: TypedValue) -> Option<Registered> {
        match self.stream_waker(scheduled, Direction::Read)? {
            Registered::No => self.stream_waker(scheduled, Direction::Write),
            reads => Some(reads),
        }
    }

    fn stream_waker(&self, scheduled: TypedValue, direction: Direction) -> Option<Registered> {
        let waiters = find(self.view, scheduled, "::scheduled_io::Waiters", 0)?;
        let name = match direction {
            Direction::Read => "reader",
            Direction::Write => "writer",
        };
        let waker = self.view.member(*waiters.first()?, name)?;
        registered_waker(self.view, waker, self.owner)
    }

    /// The descriptor with this `ScheduledIo`.
    fn descriptor(&self, scheduled: u64) -> Option<u32> {
        let watched = self.descriptors.get(&scheduled).copied();
        watched.or_else(|| self.borrowed_descriptor(scheduled))
    }

    /// The descriptor of a stream that the bodies around the future borrow.
    fn borrowed_descriptor(&self, scheduled: u64) -> Option<u32> {
        let mut bodies = self.around.iter().rev();
        bodies.find_map(|(_, body)| {
            let streams = find(self.view, *body, STREAM, MAX_REFERENCES)?;
            let mut streams = streams.into_iter();
            let stream = streams.find(|stream| {
                self.scheduled(*stream)
                    .is_some_and(|of| of.address == scheduled)
            })?;
            self.descriptor_in(stream)
        })
    }

    /// The descriptor of a stream.
    fn descriptor_in(&self, stream: TypedValue) -> Option<u32> {
        let descriptors = find(self.view, stream, "::fd::owned::OwnedFd", 0)?;
        let &[descriptor] = descriptors.as_slice() else {
            return None;
        };
        let number = self.view.number(descriptor)?;
        u32::try_from(number)
            .ok()
            .filter(|number| *number <= i32::MAX as u32)
    }
}

fn is_stream_or_foreign(of: &Type) -> bool {
    of.path.ends_with(STREAM) || is_foreign(&of.path)
}

/// Whether a type is neither of tokio nor of the standard library.
fn is_foreign(path: &str) -> bool {
    let is_plain = path.starts_with(['&', '*', '(', '[']) || !path.contains("::");
    let known = ["tokio::", "core::", "alloc::", "std::"];
    !is_plain && !known.iter().any(|library| path.starts_with(library))
}

//! What is held, and by whom: a lock that coroutines wait for has somebody who can give it back.

use core::panic::Location;

use crate::event::RunsHere;
use crate::memory::layout;
use crate::platform::Platform;
use crate::platform::Probe;
use crate::protocol::lane::{
    DeedKind, HELD_BY_COROUTINE, HELD_BY_THREAD, HELD_BY_UNKNOWN, Payload,
};
use crate::protocol::wait::Resource;

impl<P: Platform> Probe<P> {
    /// The coroutine that runs on this thread holds a lock from now on; if none runs here, the
    /// thread does. Call it just after the lock was taken, in every way in which it can be. The
    /// caller is where. A lock is named by its address as a `usize`; as a `u64` it is something else.
    ///
    /// Whoever holds it at the end of the recording is said to keep those that
    /// [wait](crate::Wait::lock) for it, so tell only of what nobody else can give back: a lock, and
    /// not a semaphore to which others may add; of one that can be shared, only of who has it alone.
    /// A guard that goes to another coroutine, or out of one that ends, is
    /// [`released`](Probe::released) here and acquired there. Of one that may be in the output of a
    /// `traced()` future, it is not known who has it from then on, until it is released.
    #[inline]
    #[track_caller]
    pub fn acquired(self, resource: impl Into<Resource>) {
        self.acquired_at(resource, Location::caller());
    }

    /// Like [`acquired`](Self::acquired), at this place, where the caller is no line of the user's: a future
    /// that takes a lock was made at one, as its [`Wait`](crate::Wait) was.
    #[inline]
    pub fn acquired_at(self, resource: impl Into<Resource>, place: &'static Location<'static>) {
        self.tell_hold(DeedKind::Acquire, resource.into(), place);
    }

    /// It is given back, by a name of the same type. Call it just before, so that what comes next of
    /// that lock is told later.
    /// What was not [`acquired`](Probe::acquired) while anybody recorded is passed over.
    #[inline]
    #[track_caller]
    pub fn released(self, resource: impl Into<Resource>) {
        self.tell_hold(DeedKind::Release, resource.into(), Location::caller());
    }

    #[inline(never)]
    fn tell_hold(self, deed: DeedKind, resource: Resource, place: &'static Location<'static>) {
        if !self.is_live() || self.region.header.is_stopped() {
            return;
        }
        let (told, holder) = match RunsHere::find::<P>(self.region.stations) {
            RunsHere::Nobody => (HELD_BY_THREAD, None),
            RunsHere::Coroutine(word) => (HELD_BY_COROUTINE, Some(word)),
            RunsHere::Unsure => (HELD_BY_UNKNOWN, None),
        };
        self.tell(Payload {
            kind: deed as u8,
            wait_kind: resource.kind as u8,
            uses: holder.map_or(0, layout::uses_of) as u8,
            station: holder.and_then(layout::station_of).unwrap_or(0),
            n: told,
            site: self.site(place).0,
            arg: resource.number,
        });
    }
}

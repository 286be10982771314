//! Records the birth of a coroutine, and returns its handle.

use core::panic::Location;

#[cfg(not(loom))]
use super::coroutine::Progress;
use super::coroutine::{Coroutine, Origin};
#[cfg(not(loom))]
use super::waker::Waker;
use crate::event::{EventPayload, StationHandle};
use crate::memory::{RegionOf, alloc};
use crate::platform::{Platform, Probe, ProbeLayout};
use crate::protocol::intern::call_site::CallSite;
use crate::protocol::intern::{self, Entry};
use crate::protocol::slot::EventKind;

/// The kind of coroutine; its code is stored in the station.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
#[non_exhaustive]
pub enum Kind {
    /// The program did not name a kind.
    #[default]
    Unknown = 0,
    /// A future that is polled.
    Future = 1,
    /// A coroutine with a stack of its own.
    Stackful = 2,
    /// A plain thread.
    Thread = 3,
    /// A task on bare metal.
    Bare = 4,
}

/// The time of birth of a coroutine that lived before the recorder attached.
const BEFORE: u64 = 0;

impl<P: Platform, L: ProbeLayout> Probe<P, L> {
    /// Records the birth of a coroutine; the caller is the spawn site.
    #[track_caller]
    pub fn born(self, name: &str) -> Coroutine<P, L> {
        self.born_as(name, Kind::Unknown, Location::caller())
    }

    /// Records the birth of a coroutine of this kind, spawned at `place`.
    pub fn born_as<S: CallSite>(self, name: &str, kind: Kind, place: S) -> Coroutine<P, L> {
        match self.is_live().then(|| self.claim_station()).flatten() {
            Some(index) => self.move_in(index, kind, self.name(name, place)),
            None => Coroutine::mute(),
        }
    }

    /// A new coroutine moves into a station that was just claimed. `meta` is the id of its name, 0 if
    /// it has no name.
    pub(crate) fn move_in(self, index: u32, kind: Kind, meta: u32) -> Coroutine<P, L> {
        let handle = StationHandle::move_in(self, index, kind as u8, meta, P::now_ns());
        handle.milestone(EventPayload::only(EventKind::Birth));
        Coroutine::of(handle)
    }

    /// The trace of the living coroutine in a station, for an owner that kept only the [`Progress`].
    #[cfg(not(loom))]
    pub(crate) fn trace_of(self, index: u32, progress: Progress) -> Coroutine<P, L> {
        Coroutine::resumed(StationHandle::of_station(self, index), progress)
    }

    /// Records wakes of the coroutine in a station.
    #[cfg(not(loom))]
    pub(crate) fn waker_of(self, index: u32) -> Waker<P, L> {
        Waker::of(&StationHandle::of_station(self, index))
    }

    /// A station for a coroutine that was born before the recorder attached, so that the time of its
    /// birth is not known.
    pub(super) fn claim_late(self, origin: &Origin) -> Option<StationHandle<P, L>> {
        let index = self.is_live().then(|| self.claim_station()).flatten()?;
        let meta = self.name(origin.type_name, origin.place);
        let kind = origin.kind as u8;
        let handle = StationHandle::move_in(self, index, kind, meta, BEFORE);
        handle.milestone(EventPayload::only(EventKind::Birth));
        Some(handle)
    }

    /// Claims a station that was put back, or else a station that was never used.
    pub(crate) fn claim_station(self) -> Option<u32> {
        let RegionOf {
            header,
            stations,
            free,
            ..
        } = self.region;
        self.ring_if_short(|| self.region.is_short_of_stations());
        let max = stations.len() as u32;
        alloc::take_back(&header.free_head, &header.free_tail, free)
            .filter(|index| *index < max)
            .or_else(|| alloc::claim(&header.allocated_count, max, &header.refused))
    }

    fn name<S: CallSite>(self, name: &str, place: S) -> u32 {
        if self.region.is_extended {
            self.name_at(name, self.site(place).interned())
        } else {
            0
        }
    }

    /// The id of this name with this spawn site, 0 if the table is full. Site 0 is unknown.
    pub(crate) fn name_at(self, name: &str, site: u32) -> u32 {
        let entry = Entry::name(name, site);
        let id = intern::intern(self.region.names, self.attach_id, &entry);
        self.count_if_unnamed(id)
    }
}

//! The context of a pass: the memory that is read, what is needed from outside it, and the sink.

use ctp_nostd::Region;
use ctp_nostd::inspect::Identity;
use ctp_nostd::layout::Station;

use super::{Outside, Sink, StationProcess};
use crate::session::pace::PassOutcome;

/// The context of a pass.
pub(crate) struct Pass<'p> {
    pub(crate) region: &'p Region<'p>,
    pub(crate) outside: &'p mut dyn Outside,
    pub(crate) sink: &'p mut dyn Sink,
    pub(crate) found: PassOutcome,
}

impl<'p> Pass<'p> {
    /// Creates the context of a pass, which has found nothing yet.
    pub(crate) fn over(
        region: &'p Region<'p>,
        outside: &'p mut dyn Outside,
        sink: &'p mut dyn Sink,
    ) -> Self {
        Pass {
            region,
            outside,
            sink,
            found: PassOutcome::default(),
        }
    }
}

impl Pass<'_> {
    /// What identifies a station's process: an attached process, or the thread id that a v1 peer wrote to a slot.
    pub(super) fn peer_of(&self, station: &Station, identity: &Identity) -> StationProcess {
        if !identity.is_extended {
            let known_tid = station
                .slots()
                .iter()
                .map(|slot| ctp_nostd::slot::copy(slot).1.tid)
                .find(|tid| *tid != 0);
            return known_tid.map_or(StationProcess::Unknown, StationProcess::Thread);
        }
        self.peer_attached(identity.owner)
    }

    /// The process with this attach id.
    pub(super) fn peer_attached(&self, attach_id: u32) -> StationProcess {
        (attach_id as usize)
            .checked_sub(1)
            .and_then(|row| self.region.attaches.get(row))
            .and_then(|row| row.pid())
            .map_or(StationProcess::Unknown, StationProcess::Process)
    }
}

//! Turns the end of an awaited coroutine into a [`Closing`], as if a resource had been closed under its
//! waiters. The end and the wait may come in either order.

use super::closings::{Closing, Resource, resource};
use crate::hash::Map;
use crate::model::coroutine::Coroutine;
use crate::record::{Event, EventKind, ProcessId, WaitKind};

/// Maximum number of awaited coroutines that are remembered. Beyond this number, all are forgotten, and those
/// that wait for them are not resumed by their ends.
const AWAITED: usize = 1 << 16;

/// Maximum number of ends that are remembered for later waits. Beyond this number, all are forgotten.
const ENDED: usize = 1 << 14;

/// The awaited coroutines, and the ends of coroutines.
#[derive(Clone, Debug, Default)]
pub(in crate::model) struct Joins {
    /// Coroutines that others await.
    awaited: Map<Resource, ()>,
    /// Coroutines that ended recently.
    ended: Map<Resource, Closing>,
}

impl Joins {
    /// Notes that the coroutine with this id has not ended: a probe may reuse the id of an ended coroutine.
    pub(in crate::model) fn note_birth(&mut self, process: ProcessId, probe_id: u64) {
        if let Some(joined) = resource(process, WaitKind::Coroutine, probe_id) {
            self.ended.remove(&joined);
        }
    }

    /// Takes an event of a coroutine. Returns the end of an awaited coroutine if both the end and the
    /// wait have been seen.
    #[inline]
    pub(in crate::model) fn note_event(
        &mut self,
        coroutine: &Coroutine,
        event: &Event,
    ) -> Option<(Resource, Closing)> {
        match (event.kind, event.wait) {
            (EventKind::Death, _) => self.note_death(coroutine, event),
            (EventKind::Suspend, WaitKind::Coroutine) => self.note_join(coroutine, event),
            _ => None,
        }
    }

    fn note_join(&mut self, coroutine: &Coroutine, suspend: &Event) -> Option<(Resource, Closing)> {
        let joined = joined_resource(coroutine, suspend.arg)?;
        if let Some(closing) = self.ended.get(&joined) {
            return Some((joined, *closing));
        }
        if self.awaited.len() == AWAITED {
            self.awaited.clear();
        }
        self.awaited.insert(joined, ());
        None
    }

    fn note_death(&mut self, coroutine: &Coroutine, death: &Event) -> Option<(Resource, Closing)> {
        let joined = joined_resource(coroutine, coroutine.probe_id)?;
        let closing = Closing {
            at: death.at,
            tid: death.tid,
            ended: Some((coroutine.id, coroutine.name)),
            ..Closing::default()
        };
        if self.ended.len() == ENDED {
            self.ended.clear();
        }
        self.ended.insert(joined, closing);
        self.awaited.remove(&joined).map(|()| (joined, closing))
    }
}

/// The coroutine with this id in the same process, as a resource; an id of 0 means none.
fn joined_resource(coroutine: &Coroutine, probe_id: u64) -> Option<Resource> {
    resource(coroutine.process, WaitKind::Coroutine, probe_id).filter(|_| probe_id != 0)
}

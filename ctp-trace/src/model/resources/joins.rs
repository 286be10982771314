//! Coroutines that end, and those that wait for that. An end is to who waits for it what a closing is
//! to who waits for a descriptor.

use super::closings::{Closing, Resource, resource};
use crate::hash::Map;
use crate::model::coroutine::Coroutine;
use crate::record::{Event, EventKind, ProcessId, WaitKind};

/// Coroutines that are awaited of which it is known.
const AWAITED: usize = 1 << 16;

/// Ends that are known to who comes later. When there are more they are forgotten.
const ENDED: usize = 1 << 14;

#[derive(Clone, Debug, Default)]
pub(in crate::model) struct Joins {
    /// Those for whose end somebody began to wait.
    awaited: Map<Resource, ()>,
    /// The latest that have ended.
    ended: Map<Resource, Closing>,
}

impl Joins {
    /// Whoever has this id now has not ended: a probe may use it again.
    pub(in crate::model) fn born(&mut self, process: ProcessId, probe_id: u64) {
        let joined = resource(process, WaitKind::Coroutine, probe_id);
        joined.map(|joined| self.ended.remove(&joined));
    }

    /// Something happens to this one. If so somebody waits for an end that has come: that end.
    #[inline]
    pub(in crate::model) fn event(
        &mut self,
        coroutine: &Coroutine,
        event: &Event,
    ) -> Option<(Resource, Closing)> {
        match (event.kind, event.wait) {
            (EventKind::Death, _) => self.ends(coroutine, event),
            (EventKind::Suspend, WaitKind::Coroutine) => self.waits(coroutine, event),
            _ => None,
        }
    }

    fn waits(&mut self, coroutine: &Coroutine, suspend: &Event) -> Option<(Resource, Closing)> {
        let joined = joined(coroutine, suspend.arg)?;
        if let Some(closing) = self.ended.get(&joined) {
            return Some((joined, *closing));
        }
        if self.awaited.len() == AWAITED {
            self.awaited.clear();
        }
        self.awaited.insert(joined, ());
        None
    }

    fn ends(&mut self, coroutine: &Coroutine, death: &Event) -> Option<(Resource, Closing)> {
        let joined = joined(coroutine, coroutine.probe_id)?;
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

/// The one of the same process with this id; 0 is that of nobody.
fn joined(coroutine: &Coroutine, probe_id: u64) -> Option<Resource> {
    resource(coroutine.process, WaitKind::Coroutine, probe_id).filter(|_| probe_id != 0)
}

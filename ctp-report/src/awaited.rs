//! Whose end a coroutine waits for: programs number each other in their own way, pages do as the
//! recorder does.

use std::collections::BTreeMap;

use ctp_trace::Census;
use ctp_trace::record::{CoroutineId, ProcessId, WaitKind};

/// Those whose end somebody waits for, by the number that their program gave them.
#[derive(Debug, Default)]
pub struct Awaited(BTreeMap<(ProcessId, u64), CoroutineId>);

impl Awaited {
    /// Those that are alive, and those that ended without waking who waits for that.
    pub fn of(census: &Census) -> Self {
        let all = census.coroutines();
        let wait = |id| census.get(id)?.suspend().copied();
        let is_join = |id| wait(id).is_some_and(|it| it.wait == WaitKind::Coroutine);
        if !all.iter().any(|one| is_join(one.id)) {
            return Awaited::default();
        }
        let closings = census.closings().into_iter();
        let ended = closings.filter_map(|(id, closing)| {
            let (other, _) = closing.ended?;
            Some(((census.get(id)?.process, wait(id)?.arg), other))
        });
        let alive = all.iter().filter(|one| one.is_alive() && one.probe_id != 0);
        let alive = alive.map(|one| ((one.process, one.probe_id), one.id));
        Awaited(ended.chain(alive).collect())
    }

    /// The one that this process numbers so.
    pub fn get(&self, process: ProcessId, number: u64) -> Option<CoroutineId> {
        self.0.get(&(process, number)).copied()
    }
}

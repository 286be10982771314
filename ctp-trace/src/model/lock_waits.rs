//! Which waits are for locks. A lock is never meant to be held for long.

use super::TraceModel;
use super::coroutine::Coroutine;
use super::holds::Holding;
use super::resources::closings;
use crate::record::{WaitKind, Waker};

impl TraceModel {
    /// Whether the coroutine waits for a lock that should be released soon. A resource that several
    /// coroutines hold at once is a semaphore, which may be held for long. A semaphore counts only if every
    /// holder is known, and waits or has ended.
    pub(super) fn waits_for_lock(&self, coroutine: &Coroutine) -> bool {
        let wait = coroutine
            .suspend()
            .filter(|wait| wait.wait == WaitKind::Lock);
        let resource =
            wait.and_then(|wait| closings::resource(coroutine.process, wait.wait, wait.arg));
        let Some(resource) = resource else {
            return false;
        };
        match self.holds.all_holders(&resource) {
            None => true,
            Some(holders) if !holders.are_several => true,
            Some(holders) => {
                holders.are_known
                    && holders
                        .holders
                        .iter()
                        .all(|holder| self.is_inactive(holder))
            }
        }
    }

    /// Whether the holder waits or has ended.
    fn is_inactive(&self, holder: &Holding) -> bool {
        let Waker::Coroutine(id) = holder.by else {
            return false;
        };
        holder.ended.is_some() || self.get(id).is_some_and(|of| of.suspend().is_some())
    }
}

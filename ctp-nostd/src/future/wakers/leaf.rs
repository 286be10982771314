//! Announcements of leaf futures in the poll of a traced future.

use core::task::Context;

use super::wrapped_ref::clones;
use crate::event::announce;
use crate::linux::{self, probe};
use crate::protocol::wait::Wait;

/// Like [`waits_for`](crate::waits_for), in the poll of a [`traced`](crate::TracedExt::traced)
/// future with this context. Needs the feature `alloc`.
///
/// If a future in between polls the leaf with a waker of its own, as `FuturesUnordered` does, the
/// wait is marked as [one of several](Wait::one_of_several). The same happens if a waker is dropped
/// later in that poll: the leaf may be dropped, and another leaf may wait.
///
/// Call this last, once the waker is stored. If drops later leave fewer wakers than there are now,
/// and a waker is cloned after that, this announcement is discarded.
#[inline]
pub fn waits_for_in(wait: Wait, context: &Context<'_>) {
    let Some(probe) = probe() else { return };
    let (local, waker) = (linux::local(), context.waker());
    if local.polled.is_by_another(waker.data().addr()) {
        return probe.waits_for(wait.one_of_several());
    }
    probe.waits_for(wait);
    announce::set_waker_count(local, clones(waker));
}

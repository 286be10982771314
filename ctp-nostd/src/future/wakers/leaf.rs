//! What a leaf future announces in the poll of a traced one.

use core::task::Context;

use super::held::clones;
use crate::event::announce;
use crate::linux::{self, probe};
use crate::protocol::wait::Wait;

/// Like [`waits_for`](crate::waits_for), in the poll of a [`traced`](crate::TracedExt::traced) future with this context. Where a
/// future in between polls the leaf by a waker of its own, as `FuturesUnordered` does, that is noticed,
/// and the wait marked as [one of several](Wait::one_of_several). So it is where a waker is dropped
/// later in that poll: the leaf may be dropped, and another one wait; if fewer are left than there are
/// now, and one is taken after that, what was said here is forgotten. So call it last, once the waker is
/// where it is kept. With the feature `alloc`.
#[inline]
pub fn waits_for_in(wait: Wait, context: &Context<'_>) {
    let Some(probe) = probe() else { return };
    let (local, waker) = (linux::local(), context.waker());
    if local.polled.is_by_another(waker.data().addr()) {
        return probe.waits_for(wait.one_of_several());
    }
    probe.waits_for(wait);
    announce::beside_clones(local, clones(waker));
}

//! Which coroutine runs on this thread: the last coroutine that was recorded to run here, if its
//! latest event is a run here.
//!
//! A runtime may report the run of the next coroutine before it reports the wait of the previous
//! coroutine, and on another thread. Then the coroutine that this thread remembers is already waiting,
//! and wakes and locks on this thread must not be attributed to it. So the coroutine's own latest event
//! decides: while the coroutine runs here, no other thread can write its events.

use crate::memory::layout::{Layout, StationOf, is_use, station_of, uses_of};
use crate::platform::{Local, Platform, local};
use crate::protocol::slot::{self, EventKind};
use crate::sync::{Ordering, fence};

/// The coroutine that runs on the calling thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CurrentCoroutine {
    /// No coroutine.
    NoCoroutine,
    /// The coroutine with this coroutine word.
    Coroutine(u32),
    /// Not known.
    Unknown,
}

impl CurrentCoroutine {
    /// Reads the coroutine that the thread remembers, and checks the latest event of that coroutine.
    #[inline(always)]
    pub fn find<P: Platform, L: Layout>(stations: &[StationOf<L>]) -> Self {
        let Some(local) = local::<P>() else {
            return CurrentCoroutine::NoCoroutine;
        };
        let word = local.current.load(Ordering::Relaxed) as u32;
        if word == 0 {
            return CurrentCoroutine::NoCoroutine;
        }
        let station = station_of(word).and_then(|index| stations.get(index as usize));
        if station.is_some_and(|station| station.is_run_by::<P>(word, local)) {
            CurrentCoroutine::Coroutine(word)
        } else {
            CurrentCoroutine::Unknown
        }
    }
}

impl<L: Layout> StationOf<L> {
    /// Whether the latest event of this coroutine is a run on this thread. False if that event was
    /// dropped or is being written.
    #[inline(always)]
    fn is_run_by<P: Platform>(&self, word: u32, local: &Local) -> bool {
        let head = self.event_head.load(Ordering::Acquire); // pairs with E5 of `event/fast_path.rs`
        let latest = self.slot_of(head.wrapping_sub(1));
        let (kind, thread) = slot::kind_and_thread(latest);
        let is_own = is_use(self.generation.load(Ordering::Relaxed), uses_of(word));
        let is_latest = self.begun.load(Ordering::Relaxed) == head as u32
            && self.state.load(Ordering::Relaxed) == 0;
        // The head is unchanged, so no later event has reused that slot.
        fence(Ordering::Acquire);
        kind == EventKind::Run as u8
            && thread == P::thread_of(local)
            && is_own
            && is_latest
            && self.event_head.load(Ordering::Relaxed) == head
    }
}

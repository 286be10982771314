//! Who runs on this thread: whoever last said so here, if what that one did last is to run here.
//!
//! A runtime may say that the next one runs before it says that the one before waits, or say that on
//! another thread. What the thread remembers is then one that waits by now, and must neither be
//! given the wakes that are called here nor the locks that are taken. So its own latest event is
//! asked: of one that runs here, nobody else can write any.

use crate::memory::layout::{Station, is_use, station_of, uses_of};
use crate::platform::{Local, Platform, local};
use crate::protocol::slot::{self, EventKind};
use crate::sync::{Ordering, fence};

/// Who runs on the calling thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunsHere {
    /// No coroutine.
    Nobody,
    /// The one with this seat word.
    Coroutine(u32),
    /// That cannot be known.
    Unsure,
}

impl RunsHere {
    /// Asks the thread, and the station of the one that it names.
    #[inline(always)]
    pub fn find<P: Platform>(stations: &[Station]) -> Self {
        let Some(local) = local::<P>() else {
            return RunsHere::Nobody;
        };
        let word = local.current.load(Ordering::Relaxed) as u32;
        if word == 0 {
            return RunsHere::Nobody;
        }
        let station = station_of(word).and_then(|index| stations.get(index as usize));
        match station.is_some_and(|it| it.is_run_by::<P>(word, local)) {
            true => RunsHere::Coroutine(word),
            false => RunsHere::Unsure,
        }
    }
}

impl Station {
    /// Is the latest event of this occupant a run on this thread? No if that was kept out or left out,
    /// or is being written.
    #[inline(always)]
    fn is_run_by<P: Platform>(&self, word: u32, local: &Local) -> bool {
        let head = self.event_head.load(Ordering::Acquire); // pairs with E5 of `event/fast_path.rs`
        let latest = &self.slots[slot::index_of(head.wrapping_sub(1))];
        let (kind, thread) = slot::what_and_where(latest);
        let is_its = is_use(self.generation.load(Ordering::Relaxed), uses_of(word));
        let is_latest = self.begun.load(Ordering::Relaxed) == head as u32
            && self.state.load(Ordering::Relaxed) == 0;
        // Where the head is what it was, nobody has come round to that slot.
        fence(Ordering::Acquire);
        kind == EventKind::Run as u8
            && thread == P::thread_of(local)
            && is_its
            && is_latest
            && self.event_head.load(Ordering::Relaxed) == head
    }
}

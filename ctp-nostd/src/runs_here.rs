//! Who runs on this thread: whoever last said so here, if what that one did last is to run here.
//!
//! A runtime may say that the next one runs before it says that the one before waits, or say that on
//! another thread. What the thread remembers is then one that waits by now, and must neither be
//! given the wakes that are called here nor the locks that are taken. So its own latest event is
//! asked: of one that runs here, nobody else can write any.

use crate::layout::{Station, seat_word, station_of};
use crate::platform::Platform;
use crate::slot::{self, EventKind};
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
    #[inline]
    pub fn find<P: Platform>(stations: &[Station]) -> Self {
        match P::local().map(|local| local.current.load(Ordering::Relaxed)) {
            None | Some(0) => RunsHere::Nobody,
            Some(word) if runs_on(stations, word as u32, P::thread()) => {
                RunsHere::Coroutine(word as u32)
            }
            Some(_) => RunsHere::Unsure,
        }
    }
}

/// Is the latest event of this coroutine a run on this thread? No if that was kept out or left out, or
/// is being written.
fn runs_on(stations: &[Station], word: u32, thread: u64) -> bool {
    let station = station_of(word).and_then(|index| Some((index, stations.get(index as usize)?)));
    let Some((index, station)) = station else {
        return false;
    };
    let head = station.event_head.load(Ordering::Acquire); // pairs with E5 of `seat.rs`
    let latest = &station.slots[slot::index_of(head.wrapping_sub(1))];
    let is_run = slot::what_and_where(latest) == (EventKind::Run as u8, thread);
    let is_latest = station.begun.load(Ordering::Relaxed) == head as u32
        && station.state.load(Ordering::Relaxed) == 0;
    let is_its = seat_word(index, station.generation.load(Ordering::Relaxed)) == word;
    // Where the head is what it was, nobody has come round to that slot.
    fence(Ordering::Acquire);
    is_run && is_latest && is_its && station.event_head.load(Ordering::Relaxed) == head
}

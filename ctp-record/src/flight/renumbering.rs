//! Converts records of lanes to the stations of an image, in which each coroutine has its own station.

use ctp_nostd::inspect::WokenBy;
use ctp_nostd::lane::{
    Copied, HELD_BY_COROUTINE, HELD_BY_UNKNOWN, HELD_SHARED, Payload, ThreadEventKind,
};
use ctp_nostd::layout::coroutine_word;

use super::attribution::{Attribution, RecordOwner};

/// Maps the stations of a memory to those of its image.
#[derive(Clone, Copy, Debug)]
pub struct Renumbering<'n> {
    /// Which coroutine had which station of the memory.
    pub attribution: &'n Attribution,
    /// By coroutine: its station in the image, if it has one, and the station's generation.
    pub stations: &'n [Option<(u32, u32)>],
}

impl Renumbering<'_> {
    /// Converts a record. `None` if its coroutine is not in the image, or if the record was cancelled.
    pub fn record(&self, copied: &Copied) -> Option<Copied> {
        let (at, payload) = copied.read();
        let payload = match ThreadEventKind::from_code(payload.kind) {
            None => self.event(at, payload)?,
            Some(ThreadEventKind::Wake) => self.wake(at, payload)?,
            Some(ThreadEventKind::Acquire | ThreadEventKind::Release) => self.hold(at, payload),
            Some(ThreadEventKind::Cancelled) => return None,
            Some(
                ThreadEventKind::Begin
                | ThreadEventKind::End
                | ThreadEventKind::Close
                | ThreadEventKind::Loss,
            ) => payload,
        };
        Some(Copied::of(at, &payload))
    }

    /// Converts the word for the coroutine or thread that woke a coroutine at that time, see [`WokenBy`].
    pub fn waker(&self, at: u64, word: u32) -> u32 {
        match WokenBy::from_word(word) {
            WokenBy::Unknown | WokenBy::Thread(_) => word,
            WokenBy::Coroutine(slot) => self
                .attribution
                .coroutine_of_word(at, slot)
                .and_then(|which| self.stations[which])
                .map_or(0, |(station, generation)| {
                    coroutine_word(station, generation)
                }),
        }
    }

    fn event(&self, at: u64, payload: Payload) -> Option<Payload> {
        match self.attribution.owner_of_event(at, &payload) {
            RecordOwner::Coroutine(which, _) => self.of(which, payload),
            RecordOwner::Later | RecordOwner::Unknown => None,
        }
    }

    fn wake(&self, at: u64, payload: Payload) -> Option<Payload> {
        let thread_event = self.of(
            self.attribution.coroutine_of_thread_event(at, &payload)?,
            payload,
        )?;
        Some(Payload {
            arg: self.waker(at, payload.arg as u32).into(),
            ..thread_event
        })
    }

    /// Converts a thread event about a lock. A holder that is not in the image becomes unknown.
    fn hold(&self, at: u64, payload: Payload) -> Payload {
        let mark = payload.n & HELD_SHARED;
        if payload.n != HELD_BY_COROUTINE | mark {
            return payload;
        }
        let holder = self.attribution.coroutine_of_thread_event(at, &payload);
        let known = holder.and_then(|which| self.of(which, payload));
        known.unwrap_or(Payload {
            n: HELD_BY_UNKNOWN | mark,
            ..payload
        })
    }

    fn of(&self, which: usize, payload: Payload) -> Option<Payload> {
        let (station, generation) = self.stations[which]?;
        Some(Payload {
            station,
            uses: (generation / 2) as u8,
            ..payload
        })
    }
}

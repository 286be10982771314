//! The recorded wakes of a coroutine, and what they say about its wait.

use super::waits::Waits;
use crate::model::wakers::Woken;
use crate::record::{Event, Nanos, Wake};
use crate::verdict::{WakeEvidence, wakes_since};

/// A wake this close to the start of a run may have come before or after the count was read.
const CLOSE_CALL: Nanos = Nanos(1_000_000);

/// A larger number of wakes is indistinguishable from wakes before the wait: a suspend has only the low 16
/// bits of the count.
const MANY_WAKES: u64 = 1 << 15;

/// The known wakes and wakers of a coroutine.
#[derive(Clone, Debug, Default)]
pub struct Wakes {
    /// The latest wake word.
    pub word: Option<Wake>,
    /// The latest call of `wake()` that a thread recorded.
    pub call: Option<Woken>,
    /// The first known wake since the wait began; 0 if there is none.
    pub(super) first: Nanos,
    /// How many wakers of the coroutine are alive, if known.
    pub wakers: Option<u32>,
}

impl Wakes {
    /// Takes the latest wake word. `suspend` is the current wait, if there is one. The word was read
    /// after the events, so it may belong to the wait before the last.
    pub(super) fn note_word(&mut self, wake: &Wake, suspend: Option<&Event>) {
        self.word = Some(*wake);
        if self.since(suspend).is_some_and(|wakes| 0 < wakes) {
            self.note_first(wake.at, suspend);
        }
    }

    /// Takes a call of `wake()`.
    pub(super) fn note_call(&mut self, call: Woken, suspend: Option<&Event>) {
        self.call = Some(call);
        // The call may have been counted before the last run and dated after it.
        if suspend
            .is_some_and(|wait| wakes_since(call.count, wait.wake_seen).is_some_and(|n| 0 < n))
        {
            self.note_first(call.at, suspend);
        }
    }

    fn note_first(&mut self, at: Nanos, suspend: Option<&Event>) {
        let is_of_this_wait = suspend.is_some_and(|wait| wait.at <= at);
        if is_of_this_wait && self.first == Nanos(0) {
            self.first = at;
        }
    }

    /// Corrects a wake word that was read after the current wait to its state during that wait. Count and
    /// time are those of the latest recorded call since the last run. Without such a call, the count is
    /// the count that the coroutine had seen, and the time is that of the previous wake word. If calls
    /// are not recorded, the time of the word stays, which leaves open whether there was a wake.
    pub(in crate::model) fn as_of_wait(&self, word: &Wake, wait: &Event, has_calls: bool) -> Wake {
        let is_later =
            |call: &Woken| wakes_since(call.count, wait.wake_seen).is_some_and(|n| 0 < n);
        let known = word.count & !u32::from(u16::MAX) | u32::from(wait.wake_seen);
        let (count, at) = match self.call {
            Some(call) if is_later(&call) => (call.count, call.at),
            _ if has_calls => (known, self.word.map_or(Nanos(0), |before| before.at)),
            _ => (known, word.at),
        };
        Wake { count, at, ..*word }
    }

    /// Times of the latest wake, according to the word and to the call.
    #[inline]
    pub(super) fn times(&self) -> impl Iterator<Item = Nanos> {
        let times = [self.word.map(|word| word.at), self.call.map(|call| call.at)];
        times.into_iter().flatten()
    }

    /// Wake counts, according to the latest word and to the latest call.
    #[inline]
    pub(super) fn counts(&self) -> impl Iterator<Item = u32> {
        let counts = [
            self.word.map(|word| word.count),
            self.call.map(|call| call.count),
        ];
        counts.into_iter().flatten()
    }

    /// The time of the latest wake, as recorded by its thread, otherwise by the station.
    pub fn at(&self, wake: &Wake) -> Nanos {
        self.call_of(wake).map_or(wake.at, |call| call.at)
    }

    /// The call of this wake, if its thread recorded the call. The latest recorded call may be of
    /// another wake.
    pub fn call_of(&self, wake: &Wake) -> Option<Woken> {
        self.call.filter(|woken| woken.count == wake.count)
    }

    /// Wakes since the last run, if the coroutine waits. Very many wakes look like none, because only
    /// half of the count is kept. Then the latest wake is dated within the wait, and the result is
    /// `MANY_WAKES`.
    pub(super) fn since(&self, suspend: Option<&Event>) -> Option<u64> {
        let (wake, suspend) = (self.word?, suspend?);
        wakes_since(wake.count, suspend.wake_seen)
            .or_else(|| (suspend.at < self.at(&wake)).then_some(MANY_WAKES))
    }

    /// The evidence from wakes. `None` if the word was read too early: its count is behind what the
    /// coroutine itself had seen.
    pub(super) fn evidence(&self, suspend: Option<&Event>, waits: &Waits) -> Option<WakeEvidence> {
        let (wake, suspend) = (self.word?, suspend?);
        let wakes = self.since(Some(suspend))?;
        let (at, ran_at) = ((0 < wake.count).then(|| self.at(&wake)), waits.ran_at);
        let close = |ran: Nanos| at.is_some_and(|at| ran.0.abs_diff(at.0) <= CLOSE_CALL.0);
        // The wake was dated late, or 65 536 wakes have come since: a coroutine keeps only half of the count.
        let is_later = |ran: Nanos| !close(ran) && at.is_some_and(|at| ran < at);
        let spent = waits.was_ended_by_single_wake(suspend);
        // A wake is counted first and dated later, so a new wake may carry the date of an old one.
        let is_old = |at: &Nanos| 0 < wakes && ran_at.is_some_and(|ran| *at < ran);
        Some(WakeEvidence {
            woken: 0 < wakes,
            at: at.filter(|at| !is_old(at)),
            first: Some(self.first).filter(|at| *at != Nanos(0)),
            close_call: match wakes {
                0 => ran_at.is_some_and(|ran| !spent && close(ran) || is_later(ran)),
                _ => ran_at.is_some_and(close),
            },
        })
    }
}

//! Converts codes of the shared memory to types of the trace. Every code is checked.

use ctp_nostd::WaitKind as Stored;
use ctp_nostd::control::AFTER_FILTERED;
use ctp_nostd::dialect::Dialect as Numbering;
use ctp_nostd::inspect::{Identity, WakeState, WokenBy};
use ctp_nostd::lane::Payload;
use ctp_nostd::slot::Epoch;
use ctp_nostd::{WAIT_EARLIER_WAKER, WAIT_IDLE, WAIT_ONE_OF_SEVERAL, WAIT_UNREGISTERED};
use ctp_trace::record::{
    Birth, CoroutineId, CoroutineKind, Dialect, Event, EventKind, Nanos, PollWakers, WaitKind,
    WaitMarks, Waker,
};

use super::emit::ProbeKind;

/// The kind of a slot's event; `None` if the slot cannot hold an event.
pub(super) fn kind_of_slot(epoch: &Epoch, source: ProbeKind) -> Option<EventKind> {
    let kind = match (source, epoch.tail.is_active) {
        (ProbeKind::Ours, _) => kind_of_lane(epoch.tail.kind),
        (ProbeKind::V1Peer, true) => Some(EventKind::Run),
        (ProbeKind::V1Peer, false) => Some(EventKind::Suspend),
    };
    kind.filter(|_| epoch.timestamp != 0)
}

/// The kind of event of a lane's record; `None` if the record is no event.
pub(super) fn kind_of_lane(code: u8) -> Option<EventKind> {
    match code & !AFTER_FILTERED {
        1 => Some(EventKind::Birth),
        2 => Some(EventKind::Run),
        3 => Some(EventKind::Suspend),
        4 => Some(EventKind::Death),
        _ => None,
    }
}

/// Fills in the details of an event from its argument, its wait code, and the number of wakes seen. A run has
/// seen the wakes before it began, a suspend those that the run before it had seen. A death's argument states
/// whether the coroutine returned a value that may hold a lock guard.
#[inline(always)]
pub(super) fn describe(event: &mut Event, arg: u64, wait: u8, wakes_seen: u16) {
    match event.kind {
        EventKind::Birth => {}
        EventKind::Run => event.wake_seen = wakes_seen,
        EventKind::Suspend => {
            event.wait = wait_kind(wait);
            event.marks = wait_marks(wait);
            event.arg = arg;
            event.wake_seen = wakes_seen;
        }
        EventKind::Death => event.arg = u64::from(arg != 0),
    }
}

/// The marks in a wait code.
fn wait_marks(code: u8) -> WaitMarks {
    WaitMarks {
        idle: code & WAIT_IDLE != 0,
        has_others: code & WAIT_ONE_OF_SEVERAL != 0,
        wakers: match code & !(WAIT_IDLE | WAIT_ONE_OF_SEVERAL) {
            WAIT_UNREGISTERED => PollWakers::Unregistered,
            WAIT_EARLIER_WAKER => PollWakers::Earlier,
            _ => PollWakers::Taken,
        },
    }
}

pub(super) fn wait_kind(code: u8) -> WaitKind {
    match Stored::from_code(code) {
        Stored::Readable => WaitKind::Readable,
        Stored::Writable => WaitKind::Writable,
        Stored::Timer => WaitKind::Timer,
        Stored::Lock => WaitKind::Lock,
        Stored::Channel => WaitKind::Channel,
        Stored::Coroutine => WaitKind::Coroutine,
        Stored::User => WaitKind::User,
        Stored::Yield => WaitKind::Yield,
        _ => WaitKind::Unknown,
    }
}

/// The birth of a coroutine, as line 0 of its station states it.
pub(super) fn birth(identity: &Identity, v1_numbering: Option<Numbering>, at: Nanos) -> Birth {
    Birth {
        generation: identity.generation,
        probe_id: identity.probe_id,
        at,
        dialect: match v1_numbering {
            None => Dialect::Extended,
            Some(Numbering::PerSlot) => Dialect::V1PerSlot,
            Some(Numbering::PerStation) => Dialect::V1PerStation,
        },
        kind: match identity.kind {
            1 => CoroutineKind::Future,
            2 => CoroutineKind::Stackful,
            3 => CoroutineKind::Thread,
            4 => CoroutineKind::Bare,
            _ => CoroutineKind::Unknown,
        },
        lived_before: v1_numbering.is_none() && identity.birth_ts == 0,
        ..Birth::default()
    }
}

/// The growth of a lane's count of losses, modulo 2^32. A count that goes back is damaged or was read
/// during an update, and adds nothing.
pub(super) fn newly_lost(reported: u32, now: u32) -> u32 {
    let more = now.wrapping_sub(reported);
    if more > u32::MAX / 2 { 0 } else { more }
}

/// The distance from event `n` to a record's event; negative if the record's event precedes `n`. The record
/// has only the low bits of the event's index, so the nearest event with these bits is assumed.
#[inline]
pub(super) fn distance(n: u64, payload: &Payload) -> i64 {
    let unknown = u64::BITS - payload.n_bits();
    (payload.n.wrapping_sub(n) << unknown).cast_signed() >> unknown
}

/// The wakes of a coroutine born at `birth_ts`. The state may have been written by a late waker of the
/// coroutine that had the station before. Then waker and time are dropped.
pub(super) fn own_wakes(state: WakeState, birth_ts: u64) -> WakeState {
    if state.at_ns < birth_ts {
        WakeState {
            by: WokenBy::Unknown,
            at_ns: 0,
            ..state
        }
    } else {
        state
    }
}

/// The waker; `seated` returns the coroutine of a [coroutine word](ctp_nostd::layout::coroutine_word).
pub(super) fn waker(by: WokenBy, seated: impl FnOnce(u32) -> Option<CoroutineId>) -> Waker {
    match by {
        WokenBy::Unknown => Waker::Foreign,
        WokenBy::Thread(tid) => Waker::Thread(tid),
        WokenBy::Coroutine(word) => seated(word).map_or(Waker::Foreign, Waker::Coroutine),
    }
}

/// The death of a v1 peer, which marks its station as dead without an event.
pub(super) fn v1_death(coroutine: CoroutineId, n: u64, at: Nanos) -> Event {
    Event {
        coroutine,
        n,
        at,
        kind: EventKind::Death,
        ..Event::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // LT-07
    #[test]
    fn count_of_losses_wraps_but_never_goes_back() {
        assert_eq!([newly_lost(7, 7), newly_lost(7, 10)], [0, 3]);
        assert_eq!(newly_lost(u32::MAX - 1, 3), 5, "the count wraps");
        assert_eq!([newly_lost(10, 7), newly_lost(3, u32::MAX)], [0, 0]);
    }
}
